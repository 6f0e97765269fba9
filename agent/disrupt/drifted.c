/* drifted.c - see drifted.h. */
#include "drifted.h"

#include "agent/claim/claim.h"
#include "agent/cloud/cloud.h"
#include "agent/plan/poolgate.h"
#include "agent/store/store.h"
#include "agent/work/cond.h"
#include "agent/work/gate.h"
#include "agent/work/queue.h"
#include "agent/work/work.h"
#include "common/base/alloc.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/core/disrupt/drift.h"
#include "driftguard.h"

#define CONDITION "Drifted"
#define BACKOFF_NS (1 * NS_PER_S)
#define BACKOFF_MAX_NS (60 * NS_PER_S)

static const char *const by_network[] = {"SecurityGroupDrift", "SubnetDrift"};

/* What was found of a claim. */
struct finding {
    char *uid;
    const char *reason; /* a literal; NULL = it does not drift */
    char *text;
};

struct drifted {
    struct runtime *rt;
    struct queue *q;
    struct map *findings; /* claim → struct finding: to be written */
    struct timer soon, period;
};

static void look(void *arg);

static void look_soon(struct drifted *d)
{
    if (!timer_pending(&d->soon)) {
        timer_set(&d->rt->timers, &d->soon, clock_mono(d->rt->clock) + DRIFTED_SOON_NS, look, d);
    }
}

/* ---- writing -----------------------------------------------------------------------------------
 */

static void finding_drop(struct drifted *d, const char *claim)
{
    struct finding *f = map_del(d->findings, claim);
    if (f) {
        free(f->uid);
        free(f->text);
        free(f);
    }
}

static enum queue_verdict handle(void *ctx, const char *key)
{
    struct drifted *d = ctx;
    const struct nodeclaim *nc = store_claim(d->rt->store, key);
    const struct finding *f = map_get(d->findings, key);
    if (!nc || !f || nc->m.deleted_ns || !str_eq(f->uid, nc->m.uid)) {
        finding_drop(d, key);
        return QUEUE_OK;
    }
    struct cond_edit e;
    cond_begin(&e, &nc->conditions, &nc->m, clock_wall(d->rt->clock));
    if (f->reason) {
        cond_set(&e, CONDITION, STATUS_TRUE, f->reason, f->text);
    } else {
        cond_clear(&e, CONDITION);
    }
    if (!e.changed) {
        finding_drop(d, key);
        return QUEUE_OK;
    }
    json_t *patch = json_pack("{s:{s:o}}", "status", "conditions", cond_json(&e));
    struct work w = {d->rt, d->q, key, NULL, NULL};
    return work_patch(&w, KIND_NODE_CLAIM, NULL, key, "status", patch, nc->m.resource_version);
}

static void put(struct drifted *d, const struct nodeclaim *nc, const struct drift *found)
{
    const struct condition *have = condition_find(&nc->conditions, CONDITION);
    bool is = have && have->status == STATUS_TRUE;
    if (found->reason ? is && str_eq(have->reason, found->reason) : !have) {
        finding_drop(d, nc->m.name); /* one that waits to be written is out of date */
        return;
    }
    struct finding *f = NEW(struct finding);
    bool full = false;
    f->uid = xstrdup(nc->m.uid);
    f->reason = found->reason;
    f->text = xstrdup(found->text ? found->text : "");
    finding_drop(d, nc->m.name);
    map_put(d->findings, nc->m.name, f, &full);
    if (full) {
        free(f->uid);
        free(f->text);
        free(f);
        return; /* the next look finds it again */
    }
    queue_add(d->q, nc->m.name);
}

/* ---- looking -----------------------------------------------------------------------------------
 */

struct tally {
    uint32_t drifted, nodes;
};

/* What was found out once holds until it is known again. */
static struct drift network_as_said(const struct nodeclaim *nc)
{
    const struct condition *c = condition_find(&nc->conditions, CONDITION);
    for (size_t i = 0; c && c->status == STATUS_TRUE && i < ARRAY_LEN(by_network); i++) {
        if (str_eq(c->reason, by_network[i])) {
            return (struct drift){by_network[i], c->message, c->transition_ns};
        }
    }
    return (struct drift){NULL, NULL, 0};
}

static void look_at(struct drifted *d, struct arena *a, const struct snapshot *s,
                    struct tally *pools)
{
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const struct snapshot_node *n = &s->nodes[i];
        if (!n->claim || !n->pool || n->claim->m.deleted_ns || !claim_is(n->claim, "Initialized")) {
            continue;
        }
        struct tally *t = &pools[n->pool - s->pools];
        struct drift found = drift_of(a, s, n, DRIFT_AFRESH);
        if (str_eq(found.reason, "Replace")) {
            found = (struct drift){NULL, NULL, 0};
        }
        if (!found.reason && cloud_network(d->rt->cloud, a, n->claim, &found) == NETWORK_UNKNOWN) {
            found = network_as_said(n->claim);
        }
        t->nodes++;
        t->drifted += found.reason != NULL;
        if (d->rt->opt->mode != MODE_OBSERVE) {
            put(d, n->claim, &found);
        }
    }
}

static bool may_look(const struct drifted *d)
{
    struct runtime *rt = d->rt;
    return store_synced(rt->store) && cloud_ready(rt->cloud) &&
           (rt->opt->mode == MODE_OBSERVE || gate_open(rt->gate)) && !runtime_clock_skewed(rt);
}

static void look(void *arg)
{
    struct drifted *d = arg;
    struct runtime *rt = d->rt;
    struct arena mem;
    struct snapshot_in si;
    struct snapshot snap;
    if (!may_look(d)) {
        return; /* the period comes again */
    }
    if (store_frozen(rt->store)) {
        look_soon(d);
        return;
    }
    arena_init(&mem, 64 << 10, DRIFTED_ARENA_MAX);
    store_freeze(rt->store);
    store_snapshot_in(rt->store, &mem, &si);
    si.n_pods = si.n_bound = 0;
    poolgate_pools(rt, &mem, 0, &si);
    snapshot_build(&mem, &si, &snap);
    struct tally *pools = ARENA_NEW_N(&mem, struct tally, snap.n_pools);
    look_at(d, &mem, &snap, pools);
    for (uint32_t i = 0; i < snap.n_pools; i++) {
        driftguard_counted(rt->driftguard, snap.pools[i].np, pools[i].drifted, pools[i].nodes);
    }
    store_thaw(rt->store);
    arena_done(&mem);
}

/* ---- triggers ----------------------------------------------------------------------------------
 */

static void on_period(void *arg)
{
    struct drifted *d = arg;
    timer_set(&d->rt->timers, &d->period, clock_mono(d->rt->clock) + DRIFTED_PERIOD_NS, on_period,
              d);
    look(d);
}

static void on_pool(void *arg, const char *key UNUSED, const void *before, const void *now)
{
    const struct nodepool *was = before, *is = now;
    if (!was || !is || was->m.generation != is->m.generation) {
        look_soon(arg);
    }
}

/* Its images stand in its status. */
static void on_class(void *arg, const char *key UNUSED, const void *before UNUSED,
                     const void *now UNUSED)
{
    look_soon(arg);
}

static void on_claim(void *arg, const char *key, const void *before, const void *now)
{
    const struct nodeclaim *was = before, *is = now;
    if (!is) {
        finding_drop(arg, key);
    } else if (claim_is(is, "Initialized") && !(was && claim_is(was, "Initialized"))) {
        look_soon(arg);
    }
}

/* ---- life --------------------------------------------------------------------------------------
 */

struct drifted *drifted_new(struct runtime *rt)
{
    struct drifted *d = NEW(struct drifted);
    d->rt = rt;
    d->findings = map_new(STORE_MAX_OBJECTS);
    d->q = queue_new(rt, "nodeclaim.drifted", STORE_CLAIM, BACKOFF_NS, BACKOFF_MAX_NS, handle, d);
    store_subscribe(rt->store, STORE_POOL, on_pool, d);
    store_subscribe(rt->store, STORE_CLASS, on_class, d);
    store_subscribe(rt->store, STORE_CLAIM, on_claim, d);
    return d;
}

void drifted_free(struct drifted *d)
{
    if (!d) {
        return;
    }
    timer_stop(&d->rt->timers, &d->soon);
    timer_stop(&d->rt->timers, &d->period);
    queue_free(d->q);
    for (MAP_EACH(d->findings, e)) {
        finding_drop(d, map_key(e));
    }
    map_free(d->findings);
    free(d);
}

void drifted_start(struct drifted *d)
{
    timer_set(&d->rt->timers, &d->period, clock_mono(d->rt->clock), on_period, d);
}
