/* runtime.c - see runtime.h. */
#include "runtime.h"

#include "agent/cloud/cloud.h"
#include "agent/work/gate.h"
#include "agent/work/walltime.h"

static bool off(int64_t skew_ns)
{
    return skew_ns > RUNTIME_SKEW_NS || skew_ns < -RUNTIME_SKEW_NS;
}

bool runtime_clock_skewed(struct runtime *rt)
{
    return walltime_skewed(rt->walltime) || (rt->gate && off(gate_clock_skew_ns(rt->gate))) ||
           (rt->cloud && off(cloud_clock_skew_ns(rt->cloud)));
}

void runtime_end(struct runtime *rt, const struct err *why)
{
    if (rt->ended) {
        return;
    }
    rt->ended = true;
    rt->ended_why = *why;
    log_error(rt->log, "the agent cannot go on", "error", why->msg);
}
