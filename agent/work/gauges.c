/* gauges.c - see gauges.h. */
#include "gauges.h"

#include "agent/claim/claim.h"
#include "agent/cloud/cloud.h"
#include "agent/store/store.h"
#include "common/base/alloc.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/core/disrupt/budget.h"
#include "common/kube/events.h"
#include "metrics.h"
#include "statemetrics.h"

struct gauges {
    struct runtime *rt;
    struct timer timer;
    struct statemetrics *state;
    int64_t synced_ns; /* monotonic: when the store was last seen synced, first the start */
    struct metric_family *nodes, *unsynced, *utilization, *allowed, *consuming, *cost;
};

static const struct {
    enum disruption_reason reason;
    const char *name;
} reasons[] = {{DISRUPT_UNDERUTILIZED, "Underutilized"},
               {DISRUPT_EMPTY, "Empty"},
               {DISRUPT_DRIFTED, "Drifted"}};

static void utilization(struct gauges *g)
{
    static const enum resource shown[] = {RES_CPU, RES_MEMORY, RES_PODS};
    double used[RES_FIXED] = {0}, have[RES_FIXED] = {0};
    for (MAP_EACH(store_all(g->rt->store, STORE_NODE), e)) {
        const struct node *n = map_value(e);
        const struct node_usage *u = store_usage(g->rt->store, map_key(e));
        for (int r = 0; r < RES_FIXED; r++) {
            have[r] += (double)n->allocatable.v[r];
            used[r] += u ? (double)u->requested.v[r] : 0;
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(shown); i++) {
        enum resource r = shown[i];
        metric_set(g->utilization, LABELS(resource_name(r)),
                   have[r] > 0 ? used[r] / have[r] * 100 : 0);
    }
}

/* The pool's nodes as budgets count them, and those that use a budget up. */
static void count(const struct gauges *g, const char *pool, int64_t *nodes, int64_t *leaving)
{
    *nodes = *leaving = 0;
    for (MAP_EACH(store_all(g->rt->store, STORE_CLAIM), e)) {
        const struct nodeclaim *nc = map_value(e);
        const struct node *n = store_node_by_provider_id(g->rt->store, nc->provider_id, NULL);
        if (!str_eq(nc->pool, pool) || !claim_is(nc, "Initialized") ||
            claim_is(nc, "InstanceTerminating") || (!n && !nodeclaim_had_node(nc))) {
            continue;
        }
        ++*nodes;
        *leaving += !n || n->ready != STATUS_TRUE || store_leaving(g->rt->store, n);
    }
}

static void say_blocked(struct gauges *g, const struct nodepool *np)
{
    struct events_subject about = {KIND_NODE_POOL, NULL, np->m.name, np->m.uid};
    events_post(g->rt->events, &about, false, "DisruptionBlocked", "Empty", NS_PER_MIN,
                "No allowed disruptions for disruption reason Empty due to blocking budget");
}

static void budgets(struct gauges *g)
{
    int64_t now_ns = clock_wall(g->rt->clock);
    for (MAP_EACH(store_all(g->rt->store, STORE_POOL), e)) {
        const struct nodepool *np = map_value(e);
        int64_t nodes, leaving;
        if (np->is_static || !store_ours(&np->class_ref)) {
            continue;
        }
        count(g, np->m.name, &nodes, &leaving);
        for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
            int64_t allowed = budget_allowed(np, reasons[i].reason, nodes, now_ns);
            if (allowed == 0 && nodes > 0 && reasons[i].reason == DISRUPT_EMPTY) {
                say_blocked(g, np);
            }
            allowed -= leaving;
            metric_set(g->allowed, LABELS(np->m.name, reasons[i].name),
                       (double)(allowed > 0 ? allowed : 0));
            metric_set(g->consuming, LABELS(np->m.name, reasons[i].name), (double)leaving);
        }
    }
}

/* $/h of the pools' launched claims by their offerings' prices. */
static void costs(struct gauges *g)
{
    metric_reset(g->cost);
    for (MAP_EACH(store_all(g->rt->store, STORE_POOL), p)) {
        const struct nodepool *np = map_value(p);
        if (store_ours(&np->class_ref)) {
            metric_set(g->cost, LABELS(np->m.name), 0);
        }
    }
    for (MAP_EACH(store_all(g->rt->store, STORE_CLAIM), e)) {
        const struct nodeclaim *nc = map_value(e);
        if (!store_ours(&nc->class_ref) || !*nc->provider_id ||
            !store_pool(g->rt->store, nc->pool)) {
            continue;
        }
        int64_t price = claim_price(g->rt, nc);
        metric_add(g->cost, LABELS(nc->pool), price > 0 ? (double)price / 1e12 : 0);
    }
}

static void refresh(void *arg)
{
    struct gauges *g = arg;
    int64_t now_ns = clock_mono(g->rt->clock);
    g->synced_ns = store_synced(g->rt->store) ? now_ns : g->synced_ns;
    metric_set(g->unsynced, NULL, (double)(now_ns - g->synced_ns) / NS_PER_S);
    costs(g);
    metric_set(g->nodes, NULL, (double)map_count(store_all(g->rt->store, STORE_NODE)));
    metric_reset(g->allowed);
    metric_reset(g->consuming);
    utilization(g);
    budgets(g);
    timer_set(&g->rt->timers, &g->timer, clock_mono(g->rt->clock) + GAUGES_PERIOD_NS, refresh, g);
}

struct gauges *gauges_new(struct runtime *rt)
{
    struct gauges *g = NEW(struct gauges);
    struct metrics *m = rt->metrics;
    g->rt = rt;
    g->nodes = metrics_family(m, "karpenter_cluster_state_node_count", "Nodes in the store.",
                              METRIC_GAUGE, NULL, NULL, 0);
    g->unsynced =
        metrics_family(m, "karpenter_cluster_state_unsynced_time_seconds",
                       "How long the store has not been synced.", METRIC_GAUGE, NULL, NULL, 0);
    g->cost = metrics_family(m, "karpenter_nodepools_cost_total",
                             "$/h of the pool's nodes by their offerings' prices.", METRIC_GAUGE,
                             LABELS("nodepool"), NULL, 0);
    g->state = statemetrics_new(rt);
    g->utilization = metrics_family(m, "karpenter_cluster_utilization_percent",
                                    "Requested of allocatable, all nodes.", METRIC_GAUGE,
                                    LABELS("resource_type"), NULL, 0);
    g->allowed = metrics_family(m, "karpenter_nodepools_allowed_disruptions",
                                "Nodes that the pool's budgets let go now.", METRIC_GAUGE,
                                LABELS("nodepool", "reason"), NULL, 0);
    g->consuming = metrics_family(m, "karpenter_nodepools_nodes_consuming_budgets",
                                  "Nodes on their way out or not ready.", METRIC_GAUGE,
                                  LABELS("nodepool", "reason"), NULL, 0);
    return g;
}

void gauges_free(struct gauges *g)
{
    if (g) {
        timer_stop(&g->rt->timers, &g->timer);
        statemetrics_free(g->state);
        free(g);
    }
}

void gauges_start(struct gauges *g)
{
    g->synced_ns = clock_mono(g->rt->clock);
    refresh(g);
}
