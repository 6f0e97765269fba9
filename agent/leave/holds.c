/* holds.c - see holds.h. */
#include "holds.h"

#include "agent/store/store.h"
#include "agent/work/gate.h"
#include "agent/work/queue.h"
#include "agent/work/work.h"
#include "common/base/alloc.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/core/consent/hold.h"
#include "common/kube/events.h"

struct holds {
    struct runtime *rt;
    struct queue *over; /* those that have run out */
    struct timer timer;
};

/* ---- what others ask ---------------------------------------------------------------------------
 */

/* The first by name of those in force that `about` says yes to. */
static const struct hold *
find(struct runtime *rt, bool (*about)(const struct hold *h, const void *what), const void *what)
{
    const struct map *all = store_all(rt->store, STORE_HOLD);
    const struct hold *first = NULL;
    if (map_count(all) == 0) {
        return NULL;
    }
    int64_t now_ns = runtime_clock_skewed(rt) ? 0 : clock_wall(rt->clock);
    for (MAP_EACH(all, e)) {
        const struct hold *h = map_value(e);
        if (hold_in_force(h, now_ns) && (!first || str_cmp(h->m.name, first->m.name) < 0) &&
            about(h, what)) {
            first = h;
        }
    }
    return first;
}

static bool about_claim(const struct hold *h, const void *what)
{
    const struct nodeclaim *nc = what;
    return hold_is_about(h, nc->pool, nc->m.name, nc->node_name);
}

static bool about_launches(const struct hold *h, const void *what)
{
    return hold_is_about_launches(h, what);
}

const char *hold_stops(struct runtime *rt, const struct nodeclaim *nc)
{
    if (!store_holds_known(rt->store)) {
        return "Holds cannot be read";
    }
    const struct hold *h = find(rt, about_claim, nc);
    return h ? h->text : NULL;
}

const char *hold_stops_node(struct runtime *rt, const struct snapshot_node *n)
{
    return n->claim ? hold_stops(rt, n->claim) : NULL;
}

const char *hold_launches(struct runtime *rt, const char *pool)
{
    const struct hold *h = find(rt, about_launches, pool);
    return h ? h->text : NULL;
}

/* ---- the objects -------------------------------------------------------------------------------
 */

static bool is_over(const struct holds *hs, const struct hold *h)
{
    return h->m.deleted_ns == 0 && h->until_ns <= clock_wall(hs->rt->clock);
}

static void on_deleted(void *ctx, const char *key, const struct kube_resp *resp)
{
    struct holds *hs = ctx;
    if (resp->err.kind == ERR_NONE) {
        log_info(hs->rt->log, "deleted a Hold whose time has passed", "Hold", key);
    }
}

static enum queue_verdict handle(void *ctx, const char *key)
{
    struct holds *hs = ctx;
    struct runtime *rt = hs->rt;
    const struct hold *h = map_get(store_all(rt->store, STORE_HOLD), key);
    if (!h || !is_over(hs, h) || !gate_open(rt->gate) || runtime_clock_skewed(rt)) {
        return QUEUE_OK;
    }
    struct work w = {rt, hs->over, key, on_deleted, hs};
    return work_delete_at(&w, KIND_HOLD, NULL, key, h->m.uid, h->m.resource_version);
}

static void say_invalid(struct holds *hs, const struct hold *h)
{
    struct events_subject about = {KIND_HOLD, NULL, h->m.name, h->m.uid};
    if (h->problem) {
        events_warning(hs->rt->events, &about, "InvalidHold", "%s: it stops %s%s%s%s", h->problem,
                       h->target == HOLD_CLUSTER ? "everything" : hold_target_name(h->target),
                       *h->name ? " " : "", h->name,
                       h->until_ns == HOLD_WITHOUT_END ? " until it is deleted" : "");
    }
}

static void look(void *arg)
{
    struct holds *hs = arg;
    struct runtime *rt = hs->rt;
    timer_set(&rt->timers, &hs->timer, clock_mono(rt->clock) + HOLDS_LOOK_NS, look, hs);
    if (!gate_open(rt->gate)) {
        return;
    }
    for (MAP_EACH(store_all(rt->store, STORE_HOLD), e)) {
        say_invalid(hs, map_value(e));
        if (is_over(hs, map_value(e))) {
            queue_add(hs->over, map_key(e));
        }
    }
}

/* ---- life --------------------------------------------------------------------------------------
 */

struct holds *holds_new(struct runtime *rt)
{
    struct holds *hs = NEW(struct holds);
    hs->rt = rt;
    hs->over =
        queue_new(rt, "hold.end", STORE_HOLD, HOLDS_BACKOFF_NS, HOLDS_BACKOFF_MAX_NS, handle, hs);
    return hs;
}

void holds_free(struct holds *hs)
{
    if (hs) {
        timer_stop(&hs->rt->timers, &hs->timer);
        queue_free(hs->over);
        free(hs);
    }
}

void holds_start(struct holds *hs)
{
    look(hs);
}
