/* pace.c - see pace.h. */
#include "pace.h"

#include "agent/claim/claim.h"
#include "agent/store/intents.h"
#include "agent/store/store.h"
#include "common/base/alloc.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/core/disrupt/budget.h"
#include "common/kube/events.h"

struct pace {
    struct runtime *rt;
    struct map *allowed; /* name of a pool that is gone → int64_t */
    struct map *turns;   /* claim → struct turn */
};

struct turn {
    int64_t since_ns; /* monotonic */
    char pool[];
};

static const struct nodepool *owner_of(const struct runtime *rt, const struct nodeclaim *nc)
{
    const struct nodepool *np = store_pool(rt->store, nc->pool);
    return np && !np->m.deleted_ns && np->m.created_ns <= nc->m.created_ns ? np : NULL;
}

static bool orphaned(const struct runtime *rt, const struct nodeclaim *nc)
{
    return nc->m.deleted_ns && *nc->pool && store_ours(&nc->class_ref) &&
           store_listed(rt->store, STORE_POOL) && !owner_of(rt, nc);
}

static bool begun(const struct nodeclaim *nc)
{
    return condition_find(&nc->conditions, "Drained") || claim_is(nc, "InstanceTerminating");
}

bool pace_waits(const struct runtime *rt, const struct nodeclaim *nc)
{
    return orphaned(rt, nc) && !begun(nc) && !store_ends_soon(rt->store, nc);
}

/* ---- how many ----------------------------------------------------------------------------------
 */

static int64_t claims_of(const struct pace *p, const char *pool)
{
    int64_t n = 0;
    for (MAP_EACH(store_all(p->rt->store, STORE_CLAIM), e)) {
        n += str_eq(((const struct nodeclaim *)map_value(e))->pool, pool);
    }
    return n;
}

static void allow(struct pace *p, const char *pool, int64_t n)
{
    int64_t *v = map_get(p->allowed, pool);
    if (!v) {
        bool full = false;
        v = NEW(int64_t);
        map_put(p->allowed, pool, v, &full);
        if (full) {
            free(v);
            return;
        }
    }
    *v = n > 1 ? n : 1;
}

static int64_t by_budget(const struct pace *p, const struct nodepool *np)
{
    return budget_allowed(np, DISRUPT_DRIFTED, claims_of(p, np->m.name), clock_wall(p->rt->clock));
}

static int64_t allowed_of(struct pace *p, const char *pool)
{
    const struct nodepool *np = store_pool(p->rt->store, pool);
    if (np && np->m.deleted_ns) {
        allow(p, pool, by_budget(p, np)); /* it goes after its claims */
    } else if (!map_has(p->allowed, pool)) {
        allow(p, pool, (claims_of(p, pool) * PACE_SHARE_PERCENT + 99) / 100);
    }
    const int64_t *v = map_get(p->allowed, pool);
    return v ? *v : 1;
}

static int64_t leaving(const struct pace *p, const char *pool)
{
    int64_t n = 0;
    for (MAP_EACH(p->turns, e)) {
        n += str_eq(((const struct turn *)map_value(e))->pool, pool);
    }
    return n;
}

/* ---- turns -------------------------------------------------------------------------------------
 */

static void say_waits(struct pace *p, const struct nodeclaim *nc, int64_t most)
{
    struct events_subject about = {KIND_NODE_CLAIM, NULL, nc->m.name, nc->m.uid};
    events_normal(p->rt->events, &about, "DisruptionBlocked",
                  "NodePool %s is gone: its nodes are drained %lld at a time", nc->pool,
                  (long long)most);
}

static struct turn *take_turn(struct pace *p, const struct nodeclaim *nc)
{
    struct turn *t = map_get(p->turns, nc->m.name);
    bool full = false;
    if (t) {
        return t;
    }
    size_t n = strlen(nc->pool) + 1;
    t = xcalloc(1, sizeof(*t) + n);
    t->since_ns = clock_mono(p->rt->clock);
    memcpy(t->pool, nc->pool, n);
    map_put(p->turns, nc->m.name, t, &full);
    if (full) {
        free(t);
        return NULL;
    }
    return t;
}

/* Some of its pods have no place to go to yet, and it is worth waiting. */
static bool pods_wait(const struct pace *p, const struct node *n, int64_t since_ns)
{
    const struct map *pods = store_pods_on(p->rt->store, n->m.name);
    int64_t waited_ns = clock_mono(p->rt->clock) - since_ns;
    for (const struct map_entry *e = pods ? map_first(pods) : NULL; e; e = map_next(e)) {
        const struct pod *pod = map_value(e);
        if (!pod_active(pod) || !store_must_move(p->rt->store, pod, n)) {
            continue;
        }
        enum intents_place place = intents_place(p->rt->intents, pod);
        if (waited_ns < (place == INTENTS_COMING    ? PACE_COMING_NS
                         : place == INTENTS_NOWHERE ? PACE_NOWHERE_NS
                                                    : 0)) {
            return true;
        }
    }
    return false;
}

enum pace_answer pace_ask(struct pace *p, const struct node *n, const struct nodeclaim *nc)
{
    if (!nc || !orphaned(p->rt, nc) || store_ends_soon(p->rt->store, nc)) {
        return PACE_DRAIN;
    }
    if (!begun(nc) && !map_has(p->turns, nc->m.name)) {
        int64_t most = allowed_of(p, nc->pool);
        if (leaving(p, nc->pool) >= most) {
            say_waits(p, nc, most);
            return PACE_WAIT;
        }
    }
    const struct turn *t = take_turn(p, nc);
    if (!begun(nc)) {
        return PACE_BEGIN;
    }
    return t && pods_wait(p, n, t->since_ns) ? PACE_WAIT : PACE_DRAIN;
}

/* Drains that a process before us began count, too. */
static void on_claim(void *arg, const char *key, const void *before, const void *now)
{
    struct pace *p = arg;
    const struct nodeclaim *nc = now;
    (void)before;
    if (!nc || claim_is(nc, "InstanceTerminating")) {
        free(map_del(p->turns, key));
    } else if (nc->m.deleted_ns && begun(nc)) {
        (void)take_turn(p, nc);
    }
}

static void on_pool(void *arg, const char *key, const void *before, const void *now)
{
    struct pace *p = arg;
    if (before && !now) {
        allow(p, key, by_budget(p, before));
    }
}

struct pace *pace_new(struct runtime *rt)
{
    struct pace *p = NEW(struct pace);
    p->rt = rt;
    p->allowed = map_new(STORE_MAX_OBJECTS);
    p->turns = map_new(STORE_MAX_OBJECTS);
    store_subscribe(rt->store, STORE_POOL, on_pool, p);
    store_subscribe(rt->store, STORE_CLAIM, on_claim, p);
    return p;
}

static void values_free(struct map *m)
{
    for (MAP_EACH(m, e)) {
        free(map_value(e));
    }
    map_free(m);
}

void pace_free(struct pace *p)
{
    if (p) {
        values_free(p->turns);
        values_free(p->allowed);
        free(p);
    }
}
