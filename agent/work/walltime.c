/* walltime.c - see walltime.h. */
#include "walltime.h"

#include "agent/claim/lifecycle.h"
#include "common/base/alloc.h"
#include "gate.h"

#define QUESTION_TIMEOUT_NS (5 * NS_PER_S)

struct walltime {
    struct runtime *rt;
    const struct clock *machine;
    struct clock clock;
    int64_t offset_ns; /* wall minus mono */
    struct timer timer;
    uint64_t open;
    int64_t asked_mono_ns;
    unsigned tries; /* without an answer since the start */
    bool known;
};

static int64_t corrected_wall(void *ctx)
{
    const struct walltime *w = ctx;
    return clock_mono(w->machine) + w->offset_ns;
}

static int64_t machine_mono(void *ctx)
{
    const struct walltime *w = ctx;
    return clock_mono(w->machine);
}

static int64_t machine_offset(const struct walltime *w)
{
    return clock_wall(w->machine) - clock_mono(w->machine);
}

/* ---- asking ------------------------------------------------------------------------------------
 */

/* How much later than the server an offset is, given that the server's clock said second `said`
 * between the question and now; 0 if they agree. */
static int64_t ahead_ns(const struct walltime *w, int64_t offset_ns, int64_t said_ns)
{
    int64_t asked_ns = w->asked_mono_ns + offset_ns;
    int64_t answered_ns = clock_mono(w->machine) + offset_ns;
    if (asked_ns - said_ns >= NS_PER_S + WALLTIME_SLACK_NS) {
        return asked_ns - said_ns;
    }
    return said_ns - answered_ns > WALLTIME_SLACK_NS ? answered_ns - said_ns : 0;
}

static void learn(struct walltime *w, int64_t said_ns)
{
    int64_t machine = machine_offset(w);
    if (ahead_ns(w, machine, said_ns) == 0) {
        w->offset_ns = machine;
        return;
    }
    int64_t off_ns = ahead_ns(w, w->offset_ns, said_ns);
    if (off_ns != 0) {
        log_error(w->rt->log, "the clock differs from the API server's", "seconds ahead",
                  log_n(off_ns / NS_PER_S));
        w->offset_ns -= off_ns;
    }
}

static void ask(void *arg);

static void on_answer(void *arg, const struct kube_resp *resp)
{
    struct walltime *w = arg;
    w->open = 0;
    bool told = resp->date_ns != 0;
    if (told) {
        learn(w, resp->date_ns);
        gate_clock_told(w->rt->gate);
    }
    w->tries += !told && resp->status != 0 ? 1 : 0;
    w->known = w->known || told || w->tries >= WALLTIME_TRIES;
    int64_t wait_ns = told || w->known ? WALLTIME_PERIOD_NS : WALLTIME_RETRY_NS;
    timer_set(&w->rt->timers, &w->timer, clock_mono(w->machine) + wait_ns, ask, w);
}

static void ask(void *arg)
{
    struct walltime *w = arg;
    struct kube_req req = {.method = "GET", .path = "/version", .timeout_ns = QUESTION_TIMEOUT_NS};
    const struct kube_port *port = gate_raw_kube(w->rt->gate);
    w->asked_mono_ns = clock_mono(w->machine);
    w->open = port->request(port->ctx, &req, on_answer, w);
}

/* ---- life --------------------------------------------------------------------------------------
 */

struct walltime *walltime_new(struct runtime *rt, const struct clock *machine)
{
    struct walltime *w = NEW(struct walltime);
    w->rt = rt;
    w->machine = machine;
    w->offset_ns = machine_offset(w);
    w->clock = (struct clock){corrected_wall, machine_mono, w};
    rt->clock = &w->clock;
    rt->walltime = w;
    return w;
}

void walltime_free(struct walltime *w)
{
    free(w);
}

void walltime_stop(struct walltime *w)
{
    const struct kube_port *port = gate_raw_kube(w->rt->gate);
    timer_stop(&w->rt->timers, &w->timer);
    if (w->open) {
        port->cancel(port->ctx, w->open);
        w->open = 0;
    }
}

void walltime_start(struct walltime *w)
{
    ask(w);
}

bool walltime_known(const struct walltime *w)
{
    return !w || w->known;
}

bool walltime_skewed(const struct walltime *w)
{
    int64_t off_ns = w ? machine_offset(w) - w->offset_ns : 0;
    return off_ns > RUNTIME_SKEW_NS || off_ns < -RUNTIME_SKEW_NS;
}
