/* reaper.c - see reaper.h. */
#include "reaper.h"

#include "agent/cloud/cloud.h"
#include "agent/store/store.h"
#include "agent/work/wakes.h"
#include "common/base/alloc.h"
#include "common/base/map.h"
#include "common/base/str.h"

#define FAIL_MIN_NS (2 * NS_PER_S)
#define FAIL_MAX_NS (60 * NS_PER_S)

struct grave {
    struct reaper *r;
    char *id;
    bool end;   /* to be terminated, not only looked at */
    bool taken; /* EC2 took the order */
    bool seen;  /* EC2 knew it once */
    bool busy, gone;
    unsigned absent;
    int64_t launched_ns;          /* wall */
    int64_t began_ns, ordered_ns; /* monotonic */
    int64_t pause_ns;             /* after a failure */
    struct timer timer;
    struct wakes wakes;
};

struct reaper {
    struct runtime *rt;
    struct map *graves;
};

static void ask(void *arg);

static int64_t now_of(const struct grave *g)
{
    return clock_mono(g->r->rt->clock);
}

static void later(struct grave *g, int64_t ns)
{
    timer_set(&g->r->rt->timers, &g->timer, now_of(g) + ns, ask, g);
}

static void grave_free(struct grave *g)
{
    timer_stop(&g->r->rt->timers, &g->timer);
    wakes_done(&g->wakes);
    free(g->id);
    free(g);
}

static void forget(void *arg)
{
    struct grave *g = arg;
    map_del(g->r->graves, g->id);
    grave_free(g);
}

/* ---- answers -----------------------------------------------------------------------------------
 */

static void on_absent(struct grave *g)
{
    int64_t age_ns = clock_wall(g->r->rt->clock) - g->launched_ns;
    /* However wrong the clock is: after a minute of asking it is no longer young. */
    bool young = age_ns < REAPER_YOUNG_NS && now_of(g) - g->began_ns < REAPER_YOUNG_NS;
    if (!g->seen && !g->taken && young) {
        later(g, REAPER_POLL_NS);
        return;
    }
    if (++g->absent < 2) {
        later(g, REAPER_PROOF_NS);
        return;
    }
    g->gone = true;
    timer_set(&g->r->rt->timers, &g->timer, now_of(g) + REAPER_KEEP_NS, forget, g);
    wakes_run(&g->wakes);
}

static void on_failure(struct grave *g, const char *what, const struct err *err)
{
    log_error(g->r->rt->log, what, "id", g->id, "error", err->msg);
    g->pause_ns = g->pause_ns ? g->pause_ns * 2 : FAIL_MIN_NS;
    g->pause_ns = g->pause_ns < FAIL_MAX_NS ? g->pause_ns : FAIL_MAX_NS;
    int64_t ns = err->retry_after_ns > g->pause_ns ? err->retry_after_ns : g->pause_ns;
    later(g, entropy_jitter(g->r->rt->entropy, ns, 20));
}

static void on_terminated(void *arg, const struct err *err)
{
    struct grave *g = arg;
    g->busy = false;
    if (err->kind == ERR_NOT_FOUND) {
        on_absent(g);
    } else if (err->kind != ERR_NONE) {
        on_failure(g, "cannot terminate instance", err);
    } else {
        if (!g->taken) {
            log_info(g->r->rt->log, "terminating instance", "id", g->id);
        }
        g->taken = true;
        g->pause_ns = 0;
        g->ordered_ns = now_of(g);
        later(g, REAPER_POLL_NS);
        wakes_run(&g->wakes);
    }
}

static bool runs(const struct instance *i)
{
    return !str_eq(i->state, "shutting-down") && !str_eq(i->state, "terminated");
}

static void on_looked(void *arg, const struct err *err, const struct instance *list, uint32_t n)
{
    struct grave *g = arg;
    g->busy = false;
    if (err->kind == ERR_NOT_FOUND || (err->kind == ERR_NONE && n == 0)) {
        on_absent(g);
        return;
    }
    if (err->kind != ERR_NONE) {
        on_failure(g, "cannot describe instance", err);
        return;
    }
    g->seen = true;
    g->absent = 0;
    g->pause_ns = 0;
    if (g->taken && runs(&list[0]) && now_of(g) - g->ordered_ns > REAPER_AGAIN_NS) {
        g->taken = false;
    }
    bool slow = now_of(g) - g->began_ns > REAPER_AGAIN_NS;
    later(g, slow ? REAPER_POLL_SLOW_NS : REAPER_POLL_NS);
}

/* ---- asking ------------------------------------------------------------------------------------
 */

static void ask(void *arg)
{
    struct grave *g = arg;
    g->busy = true;
    if (g->end && !g->taken && g->absent == 0) {
        cloud_terminate(g->r->rt->cloud, g->id, on_terminated, g);
    } else {
        cloud_get(g->r->rt->cloud, g->id, on_looked, g);
    }
}

static struct grave *grave_of(struct reaper *r, const char *id, int64_t launched_ns)
{
    struct grave *g = map_get(r->graves, id);
    if (g) {
        return g;
    }
    g = NEW(struct grave);
    g->r = r;
    g->id = xstrdup(id);
    g->launched_ns = launched_ns;
    g->began_ns = now_of(g);
    bool full = false;
    map_put(r->graves, id, g, &full);
    if (full) {
        free(g->id);
        free(g);
        return NULL;
    }
    return g;
}

static bool want(struct reaper *r, const char *id, int64_t launched_ns, bool end, struct queue *q,
                 const char *key, bool *ret_taken)
{
    struct grave *g = grave_of(r, id, launched_ns);
    bool begin = g && !g->busy && !timer_pending(&g->timer);
    if (!g) {
        queue_add_after(q, key, REAPER_POLL_SLOW_NS);
        return false;
    }
    if (end && !g->end) {
        g->end = true;
        g->began_ns = now_of(g);
        begin = !g->busy && !g->gone;
    }
    if (ret_taken) {
        *ret_taken = g->taken || g->gone;
    }
    if (g->gone) {
        return true;
    }
    wakes_add(&g->wakes, q, key);
    if (begin) {
        timer_stop(&r->rt->timers, &g->timer);
        ask(g);
    }
    return false;
}

bool reaper_end(struct reaper *r, const char *instance_id, int64_t launched_ns, struct queue *q,
                const char *key, bool *ret_taken)
{
    return want(r, instance_id, launched_ns, true, q, key, ret_taken);
}

bool reaper_look(struct reaper *r, const char *instance_id, int64_t launched_ns, struct queue *q,
                 const char *key)
{
    return want(r, instance_id, launched_ns, false, q, key, NULL);
}

struct reaper *reaper_new(struct runtime *rt)
{
    struct reaper *r = NEW(struct reaper);
    r->rt = rt;
    r->graves = map_new(STORE_MAX_OBJECTS);
    return r;
}

void reaper_free(struct reaper *r)
{
    if (!r) {
        return;
    }
    for (MAP_EACH(r->graves, e)) {
        grave_free(map_value(e));
    }
    map_free(r->graves);
    free(r);
}
