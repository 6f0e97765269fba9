/* runtime.c - see runtime.h. */
#include "runtime.h"

void runtime_end(struct runtime *rt, const struct err *why)
{
    if (rt->ended) {
        return;
    }
    rt->ended = true;
    rt->ended_why = *why;
    log_error(rt->log, "the agent cannot go on", "error", why->msg);
}
