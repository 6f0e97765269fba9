/* repair.c - see repair.h. */
#include "repair.h"

#include "agent/claim/claim.h"
#include "agent/observe/observer.h"
#include "agent/store/store.h"
#include "agent/work/cond.h"
#include "agent/work/gate.h"
#include "agent/work/metrics.h"
#include "command.h"
#include "common/base/alloc.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/core/sched/sched.h"
#include "common/kube/events.h"
#include "depart.h"
#include "holds.h"

#define ZONES_MAX 16 /* of one cohort; nodes of further ones count in the last */

struct repair {
    struct runtime *rt;
    struct depart *depart;
    struct timer timer;
    struct metric_family *repaired;
};

/* ---- what is broken ----------------------------------------------------------------------------
 */

static const struct policy {
    const char *condition;
    enum status bad;
    int64_t toleration_ns;
} policies[] = {
    {"Ready", STATUS_FALSE, 30 * NS_PER_MIN},
    {"Ready", STATUS_UNKNOWN, 30 * NS_PER_MIN},
    {"AcceleratedHardwareReady", STATUS_FALSE, 10 * NS_PER_MIN},
    {"StorageReady", STATUS_FALSE, 30 * NS_PER_MIN},
    {"NetworkingReady", STATUS_FALSE, 30 * NS_PER_MIN},
    {"KernelReady", STATUS_FALSE, 30 * NS_PER_MIN},
    {"ContainerRuntimeReady", STATUS_FALSE, 30 * NS_PER_MIN},
};

const struct condition *repair_bad(const struct node *n, int64_t *ret_due_ns)
{
    const struct condition *first = NULL;
    *ret_due_ns = NS_NEVER;
    for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
        const struct condition *c = condition_find(&n->conditions, policies[i].condition);
        if (!c || c->status != policies[i].bad || c->transition_ns <= 0) {
            continue; /* since nobody knows when is not for long */
        }
        int64_t due_ns = c->transition_ns + policies[i].toleration_ns;
        if (!first || due_ns < *ret_due_ns) {
            first = c;
            *ret_due_ns = due_ns;
        }
    }
    return first;
}

static bool carries_pods(const struct repair *r, const struct node *n)
{
    const struct map *pods = store_pods_on(r->rt->store, n->m.name);
    if (!pods) {
        return false;
    }
    for (MAP_EACH(pods, e)) {
        const struct pod *p = map_value(e);
        if (!pod_terminal(p) && p->owner != POWNER_DAEMONSET && p->owner != POWNER_NODE) {
            return true;
        }
    }
    return false;
}

/* Long here, never fit for use, and nobody waits for it. */
static const struct condition *never_ready(const struct repair *r, const struct node *n,
                                           const struct nodeclaim *nc, int64_t now_ns)
{
    const struct condition *c = condition_find(&nc->conditions, "Initialized");
    int64_t since_ns = cond_since(&nc->conditions, "Registered", 0);
    bool late = c && c->status != STATUS_TRUE && claim_is(nc, "Registered") && since_ns > 0 &&
                now_ns - since_ns >= REPAIR_UNINITIALIZED_NS;
    return late && !carries_pods(r, n) && !command_expected(r->rt, n, nc) ? c : NULL;
}

/* ---- the breaker -------------------------------------------------------------------------------
 */

enum repair_verdict repair_judge(const struct repair_zone *zones, uint32_t n, uint32_t permyriad)
{
    uint64_t nodes = 0, unhealthy = 0;
    uint32_t hit = 0, down = 0;
    for (uint32_t i = 0; i < n; i++) {
        nodes += zones[i].nodes;
        unhealthy += zones[i].unhealthy;
        hit += zones[i].unhealthy > 0;
        down += zones[i].unhealthy > 1 && zones[i].unhealthy == zones[i].nodes;
    }
    if (n > 1 && hit == 1 && down == 1) {
        return REPAIR_ZONE;
    }
    return unhealthy <= (nodes * permyriad + 9999) / 10000 ? REPAIR_YES : REPAIR_TOO_MANY;
}

/* A node that is bad, or due. */
struct patient {
    const struct node *n;
    const struct nodeclaim *nc;
    const struct condition *why;
    bool due;
};

/* The nodes of one pool, or all. */
struct cohort {
    const char *zone_names[ZONES_MAX];
    struct repair_zone zones[ZONES_MAX];
    uint32_t n_zones;
    struct patient *v;
    size_t n, cap;
};

static void cohort_free(struct cohort *c)
{
    free(c->v);
    free(c);
}

static struct repair_zone *zone_of(struct cohort *c, const char *name)
{
    for (uint32_t i = 0; i < c->n_zones; i++) {
        if (str_eq(c->zone_names[i], name)) {
            return &c->zones[i];
        }
    }
    if (c->n_zones < ZONES_MAX) {
        c->zone_names[c->n_zones++] = name;
    }
    return &c->zones[c->n_zones - 1];
}

static void sort_in(const struct repair *r, struct cohort *c, const struct patient *p)
{
    struct repair_zone *z = zone_of(c, node_label(r->rt, p->n, L_ZONE));
    z->nodes++;
    if (p->why) {
        z->unhealthy++;
        ARRAY_GROW(c->v, c->n, c->cap);
        c->v[c->n++] = *p;
    }
}

static struct cohort *cohort_of(struct map *cohorts, const char *pool)
{
    struct cohort *c = map_get(cohorts, pool);
    if (!c) {
        c = NEW(struct cohort);
        map_put(cohorts, pool, c, NULL);
    }
    return c;
}

static void look_at(const struct repair *r, struct map *cohorts, const struct nodeclaim *nc)
{
    const struct node *n = store_node_by_provider_id(r->rt->store, nc->provider_id, NULL);
    int64_t now_ns = clock_wall(r->rt->clock), due_ns;
    if (!n || !store_ours(&nc->class_ref)) {
        return;
    }
    struct patient p = {.n = n, .nc = nc, .why = repair_bad(n, &due_ns)};
    p.due = p.why && due_ns <= now_ns;
    if (!p.why) {
        p.why = never_ready(r, n, nc, now_ns);
        p.due = p.why != NULL;
    }
    sort_in(r, cohort_of(cohorts, ""), &p);
    if (*nc->pool) {
        sort_in(r, cohort_of(cohorts, nc->pool), &p);
    }
}

/* ---- what is done ------------------------------------------------------------------------------
 */

static void say_blocked(const struct repair *r, const struct patient *p, const struct cohort *c,
                        enum repair_verdict how, const char *held)
{
    struct events_subject node = {KIND_NODE, NULL, p->n->m.name, p->n->m.uid};
    struct events_subject claim = {KIND_NODE_CLAIM, NULL, p->nc->m.name, p->nc->m.uid};
    char why[200];
    if (held) {
        snprintf(why, sizeof(why), "%.180s", held);
    } else if (how == REPAIR_ZONE) {
        snprintf(why, sizeof(why),
                 "zone: all of its nodes in %.60s are unhealthy, and none elsewhere",
                 node_label(r->rt, p->n, L_ZONE));
    } else {
        uint32_t nodes = 0;
        for (uint32_t i = 0; i < c->n_zones; i++) {
            nodes += c->zones[i].nodes;
        }
        snprintf(why, sizeof(why), "%zu of its %u nodes are unhealthy, more than %s allows", c->n,
                 nodes, ANN_REPAIR_THRESHOLD);
    }
    const char *pool = *p->nc->pool ? p->nc->pool : "the cluster";
    events_post(r->rt->events, &node, true, "NodeRepairBlocked", "", REPAIR_SAID_NS,
                "Not repairing for %s: %s in %s", p->why->type, why, pool);
    events_post(r->rt->events, &claim, true, "NodeRepairBlocked", "", REPAIR_SAID_NS,
                "Not repairing for %s: %s in %s", p->why->type, why, pool);
}

static void repair(struct repair *r, const struct patient *p)
{
    static const struct departure why = {
        .metric = "unhealthy", .mark = "Unhealthy", .now = true, .stops = hold_stops};
    const struct nodeclaim *nc = p->nc;
    if (r->rt->observer) {
        const struct observer_step s = {.reason = "Unhealthy", .out = &nc, .n_out = 1};
        observer_removes(r->rt->observer, &s);
        return;
    }
    if (depart_has(r->depart, nc->m.name)) {
        return;
    }
    metric_add(
        r->repaired,
        LABELS(p->why->type, nc->pool, claim_label(r->rt, nc, L_CAPACITY_TYPE), nc->image_id), 1);
    log_info(r->rt->log, "repairing node", "Node", p->n->m.name, "NodeClaim", nc->m.name,
             "condition", p->why->type, "reason", p->why->reason);
    depart_order(r->depart, nc, &why);
}

/* False: the pool's word cannot be read. */
static bool threshold_of(const struct repair *r, const char *pool, uint32_t *ret_permyriad)
{
    const struct nodepool *np = store_pool(r->rt->store, pool);
    const char *own = np ? kvs_get(&np->m.annotations, ANN_REPAIR_THRESHOLD) : NULL;
    *ret_permyriad = r->rt->opt->repair_threshold_permyriad;
    if (!own || sched_parse_share(own, ret_permyriad)) {
        return true;
    }
    struct events_subject about = {KIND_NODE_POOL, NULL, np->m.name, np->m.uid};
    events_warning(r->rt->events, &about, "InvalidAnnotation",
                   "%s cannot be read: no node of the pool is repaired", ANN_REPAIR_THRESHOLD);
    return false;
}

/* In the cohort "" only who has no pool of his own is decided on. */
static void decide(struct repair *r, const char *pool, const struct cohort *c)
{
    uint32_t permyriad;
    if (c->n == 0 || !threshold_of(r, pool, &permyriad)) {
        return;
    }
    enum repair_verdict how = repair_judge(c->zones, c->n_zones, permyriad);
    for (size_t i = 0; i < c->n; i++) {
        const struct patient *p = &c->v[i];
        if (!p->due || p->nc->m.deleted_ns || p->n->m.deleted_ns || !str_eq(p->nc->pool, pool)) {
            continue;
        }
        const char *held = hold_stops(r->rt, p->nc);
        if (how == REPAIR_YES && !held) {
            repair(r, p);
        } else {
            say_blocked(r, p, c, how, held);
        }
    }
}

static void look(void *arg)
{
    struct repair *r = arg;
    struct runtime *rt = r->rt;
    timer_set(&rt->timers, &r->timer, clock_mono(rt->clock) + REPAIR_LOOK_NS, look, r);
    bool may = rt->observer || gate_open(rt->gate);
    if (!store_synced(rt->store) || !may || runtime_clock_skewed(rt)) {
        return;
    }
    struct map *cohorts = map_new(STORE_MAX_OBJECTS);
    for (MAP_EACH(store_all(rt->store, STORE_CLAIM), e)) {
        look_at(r, cohorts, map_value(e));
    }
    for (MAP_EACH(cohorts, c)) {
        decide(r, map_key(c), map_value(c));
        cohort_free(map_value(c));
    }
    map_free(cohorts);
}

struct repair *repair_new(struct runtime *rt)
{
    struct repair *r = NEW(struct repair);
    r->rt = rt;
    r->depart = depart_new(rt, "node.health", NULL, NULL);
    r->repaired =
        metrics_family(rt->metrics, "karpenter_nodeclaims_unhealthy_disrupted_total",
                       "NodeClaims disrupted because their node was broken.", METRIC_COUNTER,
                       LABELS("condition", "nodepool", "capacity_type", "image_id"), NULL, 0);
    return r;
}

void repair_free(struct repair *r)
{
    if (r) {
        timer_stop(&r->rt->timers, &r->timer);
        depart_free(r->depart);
        free(r);
    }
}

void repair_start(struct repair *r)
{
    if (r->rt->opt->gate_node_repair && r->rt->opt->mode != MODE_PROVISION) {
        look(r);
    }
}
