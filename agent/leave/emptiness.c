/* emptiness.c - see emptiness.h. */
#include "emptiness.h"

#include "agent/claim/claim.h"
#include "agent/cloud/cloud.h"
#include "agent/observe/observer.h"
#include "agent/plan/poolgate.h"
#include "agent/store/store.h"
#include "agent/work/gate.h"
#include "agent/work/metrics.h"
#include "command.h"
#include "common/base/alloc.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/core/consent/approval.h"
#include "common/core/disrupt/candidate.h"
#include "common/kube/events.h"
#include "holds.h"
#include "nodefacts.h"
#include "spared.h"

/* A node that was decided on and has its quiet time. */
struct waiting {
    char *uid;
    int64_t ripe_ns; /* monotonic */
};

struct emptiness {
    struct runtime *rt;
    struct map *waiting; /* claim → struct waiting */
    struct map *said;    /* observe: claims already named */
    struct timer soon, period, ripe;
    struct metric_family *eligible;
};

static void ripe(void *arg);
static void flip(struct emptiness *e);

static int64_t now_of(const struct emptiness *e)
{
    return clock_mono(e->rt->clock);
}

static void waiting_drop(struct emptiness *e, const char *claim)
{
    struct waiting *w = map_del(e->waiting, claim);
    if (w) {
        free(w->uid);
        free(w);
    }
}

/* ---- what the core asks ------------------------------------------------------------------------
 */

static const struct waiting *waiting_of(const struct emptiness *e, const struct snapshot_node *n)
{
    const struct waiting *w = map_get(e->waiting, n->claim->m.name);
    return w && str_eq(w->uid, n->claim->m.uid) ? w : NULL;
}

static bool nominated(void *ctx, const struct snapshot_node *n, const char **ret_pod)
{
    const struct emptiness *e = ctx;
    return nodefacts_nominated(e->rt, n, ret_pod) ||
           (n->claim && observer_removed(e->rt->observer, n->claim));
}

static bool in_command(void *ctx, const struct snapshot_node *n)
{
    const struct emptiness *e = ctx;
    return nodefacts_in_command(e->rt, n) || (n->claim && waiting_of(e, n));
}

static bool launches_failing(void *ctx, const struct snapshot_pool *p)
{
    const struct emptiness *e = ctx;
    return nodefacts_launches_failing(e->rt, p);
}

static const char *held(void *ctx, const struct snapshot_node *n)
{
    const struct emptiness *e = ctx;
    return nodefacts_held(e->rt, n);
}

static int64_t let_go_until(void *ctx, const struct snapshot_node *n, enum disruption_reason reason)
{
    const struct emptiness *e = ctx;
    return nodefacts_let_go_until(e->rt, n, reason);
}

/* The second decision is only about nodes whose quiet time is over. */
static bool not_ripe_or_nominated(void *ctx, const struct snapshot_node *n, const char **ret_pod)
{
    const struct emptiness *e = ctx;
    const struct waiting *w = waiting_of(e, n);
    return !w || w->ripe_ns > now_of(e) || nominated(ctx, n, ret_pod);
}

/* Empty waits only where it is named. */
static bool waits_for_approval(const struct emptiness *e, const struct snapshot_node *n)
{
    return approval_of(n->pool->np, e->rt->opt->approval) & DISRUPT_EMPTY;
}

static void say_unapproved(struct emptiness *e, const struct snapshot_node *n)
{
    const struct events_subject about[] = {
        {KIND_NODE, NULL, n->node->m.name, n->node->m.uid},
        {KIND_NODE_CLAIM, NULL, n->claim->m.name, n->claim->m.uid}};
    for (size_t i = 0; i < ARRAY_LEN(about); i++) {
        events_normal(e->rt->events, &about[i], "DisruptionBlocked",
                      "Cannot disrupt Node: its removal waits for a decision (%s)", ANN_APPROVAL);
    }
}

static bool in_group(void *ctx, const struct snapshot_node *n)
{
    const struct emptiness *e = ctx;
    return nodefacts_in_command(e->rt, n);
}

/* ---- deciding ----------------------------------------------------------------------------------
 */

static bool may_decide(const struct emptiness *e)
{
    const struct runtime *rt = e->rt;
    bool skewed = runtime_clock_skewed(e->rt);
    attention_set(e->rt, "ClockSkew", skewed);
    return rt->opt->mode != MODE_PROVISION && store_synced(rt->store) && cloud_ready(rt->cloud) &&
           (rt->opt->mode == MODE_OBSERVE || gate_open(rt->gate)) && !cloud_failing(rt->cloud) &&
           !skewed;
}

/* Is there anything to decide? A cheap look that saves most snapshots. */
static bool any_empty(const struct emptiness *e)
{
    for (MAP_EACH(store_all(e->rt->store, STORE_CLAIM), it)) {
        const struct nodeclaim *nc = map_value(it);
        const struct node_usage *u =
            *nc->node_name ? store_usage(e->rt->store, nc->node_name) : NULL;
        if (claim_is(nc, "Initialized") && !nc->m.deleted_ns && !(u && u->pods)) {
            return true;
        }
    }
    return false;
}

struct decision {
    struct arena mem;
    struct snapshot snap;
    struct empty_plan plan;
};

static void decide(struct emptiness *e, struct candidate_in *in, struct decision *d)
{
    struct snapshot_in si;
    arena_init(&d->mem, 64 << 10, EMPTINESS_ARENA_MAX);
    store_freeze(e->rt->store);
    store_snapshot_in(e->rt->store, &d->mem, &si);
    poolgate_pools(e->rt, &d->mem, 0, &si);
    snapshot_build(&d->mem, &si, &d->snap);
    in->snap = &d->snap;
    in->reason = DISRUPT_EMPTY;
    in->facts.launches_failing = launches_failing;
    in->facts.held = held;
    in->facts.let_go_until = let_go_until;
    in->facts.ctx = e;
    d->plan = candidate_empty_plan(&d->mem, in);
}

/* After the quiet time: an annotation may have come meanwhile. */
static void leave_out_unapproved(const struct emptiness *e, struct decision *d)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->plan.n; i++) {
        if (!waits_for_approval(e, d->plan.nodes[i])) {
            d->plan.nodes[n++] = d->plan.nodes[i];
        }
    }
    d->plan.n = n;
}

static void decision_done(struct emptiness *e, struct decision *d)
{
    store_thaw(e->rt->store);
    arena_done(&d->mem);
}

static bool wait_for(struct emptiness *e, const struct nodeclaim *nc, int64_t ns)
{
    struct waiting *w = NEW(struct waiting);
    bool full = false;
    *w = (struct waiting){.uid = xstrdup(nc->m.uid), .ripe_ns = now_of(e) + ns};
    waiting_drop(e, nc->m.name);
    map_put(e->waiting, nc->m.name, w, &full);
    if (full) {
        free(w->uid);
        free(w);
        return false;
    }
    if (!timer_pending(&e->ripe) || e->ripe.at_ns > w->ripe_ns) {
        timer_set(&e->rt->timers, &e->ripe, w->ripe_ns, ripe, e);
    }
    return true;
}

static struct observer_step step_of(const struct snapshot_node *n)
{
    return (struct observer_step){.reason = "Empty", .out = &n->claim, .n_out = 1};
}

static void wait_quiet(struct emptiness *e, const struct snapshot_node *n)
{
    if (!wait_for(e, n->claim, EMPTINESS_QUIET_NS)) {
        return;
    }
    if (e->rt->observer) {
        const struct observer_step s = step_of(n);
        observer_intends(e->rt->observer, &s);
    }
    log_debug(e->rt->log, "node is empty, waiting before its removal", "Node", n->name, "NodeClaim",
              n->claim->m.name);
}

static void look(struct emptiness *e)
{
    if (!may_decide(e) || !any_empty(e)) {
        metric_set(e->eligible, LABELS("empty"), 0);
        return;
    }
    if (store_frozen(e->rt->store)) {
        flip(e); /* after the decision that is open */
        return;
    }
    struct candidate_in in = {.facts = {.nominated = nominated, .in_command = in_command}};
    struct decision d;
    decide(e, &in, &d);
    metric_set(e->eligible, LABELS("empty"), d.plan.n);
    for (uint32_t i = 0; i < d.plan.n; i++) {
        if (waits_for_approval(e, d.plan.nodes[i])) {
            say_unapproved(e, d.plan.nodes[i]);
        } else {
            wait_quiet(e, d.plan.nodes[i]);
        }
    }
    decision_done(e, &d);
}

/* ---- after the quiet time ----------------------------------------------------------------------
 */

static void would_remove(struct emptiness *e, const struct snapshot_node *n)
{
    const struct observer_step s = step_of(n);
    observer_removes(e->rt->observer, &s);
    if (!map_has(e->said, n->claim->m.uid)) {
        map_put(e->said, n->claim->m.uid, e, NULL);
        log_info(e->rt->log, "would disrupt node(s)", "reason", "empty", "decision", "delete",
                 "Node", n->name, "NodeClaim", n->claim->m.name, "NodePool", n->pool->np->m.name);
    }
}

static void next_ripe(struct emptiness *e)
{
    int64_t next_ns = NS_NEVER, now_ns = now_of(e);
    for (MAP_EACH(e->waiting, it)) {
        const struct waiting *w = map_value(it);
        if (w->ripe_ns <= now_ns) {
            waiting_drop(e, map_key(it));
        } else if (w->ripe_ns < next_ns) {
            next_ns = w->ripe_ns;
        }
    }
    if (next_ns != NS_NEVER) {
        timer_set(&e->rt->timers, &e->ripe, next_ns, ripe, e);
    }
}

/* Let go: left in peace, for what the last look found the store may not show yet. */
static void on_end(void *ctx, const char *node, const char *claim, enum command_end how)
{
    struct emptiness *e = ctx;
    const struct nodeclaim *nc = store_claim(e->rt->store, claim);
    (void)node;
    if (nc && how != COMMAND_REMOVED) {
        spared_put_briefly(e->rt->spared, SPARED_EMPTY, nc);
    }
}

static void remove_nodes(struct emptiness *e, const struct snapshot_node *const *nodes, uint32_t n)
{
    const struct command_spec spec = {.reason = DISRUPT_EMPTY,
                                      .type = "empty",
                                      .independent = true,
                                      .out = nodes,
                                      .n_out = n < COMMAND_MEMBERS_MAX ? n : COMMAND_MEMBERS_MAX,
                                      .end = on_end,
                                      .ctx = e};
    command_start(e->rt->commands, &spec);
}

static void ripe(void *arg)
{
    struct emptiness *e = arg;
    if (store_frozen(e->rt->store)) {
        timer_set(&e->rt->timers, &e->ripe, now_of(e) + EMPTINESS_SOON_NS, ripe, e);
        return;
    }
    if (may_decide(e)) {
        struct candidate_in in = {
            .facts = {.nominated = not_ripe_or_nominated, .in_command = in_group}};
        struct decision d;
        decide(e, &in, &d);
        leave_out_unapproved(e, &d);
        if (e->rt->opt->mode == MODE_OBSERVE) {
            for (uint32_t i = 0; i < d.plan.n; i++) {
                would_remove(e, d.plan.nodes[i]);
            }
        } else if (d.plan.n > 0) {
            remove_nodes(e, d.plan.nodes, d.plan.n);
        }
        decision_done(e, &d);
    }
    next_ripe(e);
}

/* ---- triggers ----------------------------------------------------------------------------------
 */

static void on_soon(void *arg)
{
    look(arg);
}

static void flip(struct emptiness *e)
{
    if (!timer_pending(&e->soon)) {
        timer_set(&e->rt->timers, &e->soon, now_of(e) + EMPTINESS_SOON_NS, on_soon, e);
    }
}

static void on_period(void *arg)
{
    struct emptiness *e = arg;
    timer_set(&e->rt->timers, &e->period, now_of(e) + EMPTINESS_PERIOD_NS, on_period, e);
    look(e);
}

/* Only what can make a node empty. */
static void on_pod(void *arg, const char *key, const void *before, const void *now)
{
    const struct pod *was = before, *is = now;
    (void)key;
    if (was && *was->node_name && (!is || (pod_terminal(is) && !pod_terminal(was)))) {
        flip(arg);
    }
}

static void on_claim(void *arg, const char *key, const void *before, const void *now)
{
    struct emptiness *e = arg;
    (void)before;
    if (!now) {
        waiting_drop(e, key);
    }
    flip(e);
}

static void on_pool(void *arg, const char *key, const void *before, const void *now)
{
    const struct nodepool *was = before, *is = now;
    (void)key;
    if (!was || !is || was->m.generation != is->m.generation) {
        flip(arg);
    }
}

/* ---- life --------------------------------------------------------------------------------------
 */

struct emptiness *emptiness_new(struct runtime *rt)
{
    struct emptiness *e = NEW(struct emptiness);
    e->rt = rt;
    e->waiting = map_new(STORE_MAX_OBJECTS);
    e->said = map_new(EMPTINESS_SAID_MAX);
    e->eligible = metrics_family(rt->metrics, "karpenter_voluntary_disruption_eligible_nodes",
                                 "Nodes that could be disrupted now, by reason.", METRIC_GAUGE,
                                 LABELS("reason"), NULL, 0);
    store_subscribe(rt->store, STORE_POD, on_pod, e);
    store_subscribe(rt->store, STORE_CLAIM, on_claim, e);
    store_subscribe(rt->store, STORE_POOL, on_pool, e);
    return e;
}

void emptiness_free(struct emptiness *e)
{
    if (!e) {
        return;
    }
    timer_stop(&e->rt->timers, &e->soon);
    timer_stop(&e->rt->timers, &e->period);
    timer_stop(&e->rt->timers, &e->ripe);
    for (MAP_EACH(e->waiting, it)) {
        waiting_drop(e, map_key(it));
    }
    map_free(e->waiting);
    map_free(e->said);
    free(e);
}

void emptiness_start(struct emptiness *e)
{
    timer_set(&e->rt->timers, &e->period, now_of(e), on_period, e);
}
