/* expiration.c - see expiration.h. */
#include "expiration.h"

#include "agent/claim/claim.h"
#include "agent/observe/observer.h"
#include "agent/store/store.h"
#include "agent/work/gate.h"
#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/kube/events.h"
#include "depart.h"
#include "holds.h"

struct expiration {
    struct runtime *rt;
    struct depart *depart;
    struct timer timer;
};

/* ---- when -------------------------------------------------------------------------------------
 */

static int64_t plus(int64_t a, int64_t b)
{
    int64_t ret;
    return __builtin_add_overflow(a, b, &ret) ? NS_NEVER : ret;
}

/* Forceful, Budgeted, or neither of them. */
static bool mode_of(const struct agent_options *o, const struct nodepool *np, bool *ret_budgeted,
                    int64_t *ret_delay_ns)
{
    const char *mode = np ? kvs_get(&np->m.annotations, ANN_EXPIRATION) : NULL;
    const char *delay = np ? kvs_get(&np->m.annotations, ANN_EXPIRATION_MAX_DELAY) : NULL;
    *ret_budgeted = mode ? str_eq(mode, "Budgeted") : o->expiration_budgeted;
    *ret_delay_ns = o->expiration_max_delay_ns;
    if (mode && !*ret_budgeted && !str_eq(mode, "Forceful")) {
        return false;
    }
    return !delay || (timefmt_parse_duration(delay, ret_delay_ns) && *ret_delay_ns >= 0);
}

struct expiration_times expiration_of(const struct agent_options *o, const struct nodepool *np,
                                      const struct nodeclaim *nc)
{
    struct expiration_times ret = {NS_NEVER, NS_NEVER};
    bool budgeted;
    int64_t delay_ns;
    if (nc->expire_after_ns <= 0 || nc->expire_after_ns == DURATION_NEVER ||
        !mode_of(o, np, &budgeted, &delay_ns)) {
        return ret;
    }
    ret.delete_ns = plus(nc->m.created_ns, nc->expire_after_ns);
    if (budgeted) {
        uint64_t spread = (uint64_t)nc->expire_after_ns / 100 * EXPIRATION_JITTER_PERCENT;
        uint64_t early = hash_fnv1a(nc->m.uid, strlen(nc->m.uid)) % (spread + 1);
        ret.replace_ns = ret.delete_ns == NS_NEVER ? NS_NEVER : ret.delete_ns - (int64_t)early;
        ret.delete_ns = plus(ret.delete_ns, delay_ns);
    }
    return ret;
}

/* ---- deleting ---------------------------------------------------------------------------------
 */

/* Of one pool. */
struct cohort {
    const struct nodeclaim **due; /* oldest first */
    size_t n_due, cap;
    size_t n, leaving; /* those that stay or are due; those that are due and on their way */
};

static void cohort_free(struct cohort *c)
{
    free(c->due);
    free(c);
}

static int by_age(const void *a, const void *b)
{
    const struct nodeclaim *x = *(const struct nodeclaim *const *)a;
    const struct nodeclaim *y = *(const struct nodeclaim *const *)b;
    if (x->m.created_ns != y->m.created_ns) {
        return x->m.created_ns < y->m.created_ns ? -1 : 1;
    }
    return str_cmp(x->m.name, y->m.name);
}

static void say_invalid(struct expiration *e)
{
    bool budgeted;
    int64_t delay_ns;
    for (MAP_EACH(store_all(e->rt->store, STORE_POOL), it)) {
        const struct nodepool *np = map_value(it);
        if (store_ours(&np->class_ref) && !mode_of(e->rt->opt, np, &budgeted, &delay_ns)) {
            struct events_subject about = {KIND_NODE_POOL, NULL, np->m.name, np->m.uid};
            events_warning(e->rt->events, &about, "InvalidAnnotation",
                           "%s or %s cannot be read: no node of the pool expires", ANN_EXPIRATION,
                           ANN_EXPIRATION_MAX_DELAY);
        }
    }
}

static bool held(struct expiration *e, const struct nodeclaim *nc)
{
    struct events_subject about = {KIND_NODE_CLAIM, NULL, nc->m.name, nc->m.uid};
    const char *by = hold_stops(e->rt, nc);
    if (by) {
        events_normal(e->rt->events, &about, "DisruptionBlocked", "Cannot disrupt NodeClaim: %s",
                      by);
    }
    return by != NULL;
}

/* Whoever is in charge may have been faster. */
static void would_expire(struct expiration *e, const struct nodeclaim *nc)
{
    const struct nodepool *np = store_pool(e->rt->store, nc->pool);
    int64_t at_ns = expiration_of(e->rt->opt, np, nc).delete_ns;
    bool gone_before = nc->m.deleted_ns && nc->m.deleted_ns < at_ns;
    if (at_ns <= clock_wall(e->rt->clock) && !gone_before && !hold_stops(e->rt, nc)) {
        const struct observer_step s = {.reason = "Expired", .out = &nc, .n_out = 1};
        observer_removes(e->rt->observer, &s);
    }
}

static void sort_in(struct expiration *e, struct map *cohorts, const struct nodeclaim *nc)
{
    const struct nodepool *np = store_pool(e->rt->store, nc->pool);
    bool due = expiration_of(e->rt->opt, np, nc).delete_ns <= clock_wall(e->rt->clock);
    struct cohort *c = map_get(cohorts, nc->pool);
    if (!c) {
        c = NEW(struct cohort);
        map_put(cohorts, nc->pool, c, NULL);
    }
    c->n += nc->m.deleted_ns == 0;
    if (due && (nc->m.deleted_ns || depart_has(e->depart, nc->m.name))) {
        c->leaving++;
    } else if (due && !held(e, nc)) {
        ARRAY_GROW(c->due, c->n_due, c->cap);
        c->due[c->n_due++] = nc;
    }
}

static void let_go(struct expiration *e, struct cohort *c)
{
    static const struct departure why = {
        .metric = "expired", .mark = "Expired", .stops = hold_stops};
    size_t most = (c->n * EXPIRATION_SHARE_PERCENT + 99) / 100;
    most = most > EXPIRATION_SHARE_MIN ? most : EXPIRATION_SHARE_MIN;
    if (c->n_due > 0) {
        qsort(c->due, c->n_due, sizeof(*c->due), by_age);
    }
    for (size_t i = 0; i < c->n_due && c->leaving < most; i++) {
        c->leaving++;
        depart_order(e->depart, c->due[i], &why);
    }
}

static void observe(struct expiration *e)
{
    for (MAP_EACH(store_all(e->rt->store, STORE_CLAIM), it)) {
        const struct nodeclaim *nc = map_value(it);
        if (store_ours(&nc->class_ref)) {
            would_expire(e, nc);
        }
    }
}

static void look(void *arg)
{
    struct expiration *e = arg;
    struct runtime *rt = e->rt;
    timer_set(&rt->timers, &e->timer, clock_mono(rt->clock) + EXPIRATION_LOOK_NS, look, e);
    if (rt->observer && store_synced(rt->store) && !runtime_clock_skewed(rt)) {
        observe(e);
        return;
    }
    if (!store_synced(rt->store) || !gate_open(rt->gate) || runtime_clock_skewed(rt)) {
        return;
    }
    say_invalid(e);
    struct map *cohorts = map_new(STORE_MAX_OBJECTS);
    for (MAP_EACH(store_all(rt->store, STORE_CLAIM), it)) {
        const struct nodeclaim *nc = map_value(it);
        if (store_ours(&nc->class_ref)) {
            sort_in(e, cohorts, nc);
        }
    }
    for (MAP_EACH(cohorts, it)) {
        let_go(e, map_value(it));
        cohort_free(map_value(it));
    }
    map_free(cohorts);
}

struct expiration *expiration_new(struct runtime *rt)
{
    struct expiration *e = NEW(struct expiration);
    e->rt = rt;
    e->depart = depart_new(rt, "nodeclaim.expiration", NULL, NULL);
    return e;
}

void expiration_free(struct expiration *e)
{
    if (e) {
        timer_stop(&e->rt->timers, &e->timer);
        depart_free(e->depart);
        free(e);
    }
}

void expiration_start(struct expiration *e)
{
    if (e->rt->opt->mode != MODE_PROVISION) {
        look(e);
    }
}
