/* nodepools.c - see nodepools.h. */
#include "nodepools.h"

#include "agent/claim/claim.h"
#include "agent/claim/reghealth.h"
#include "agent/disrupt/churnguard.h"
#include "agent/disrupt/driftguard.h"
#include "agent/store/observed.h"
#include "agent/store/store.h"
#include "agent/work/cond.h"
#include "agent/work/metrics.h"
#include "agent/work/queue.h"
#include "agent/work/render.h"
#include "agent/work/work.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/core/sched/sched.h"
#include "common/kube/events.h"
#include "ineffective.h"

#define BACKOFF_NS (1 * NS_PER_S)
#define BACKOFF_MAX_NS (60 * NS_PER_S)
#define COUNT_BYTES (1u << 20)

struct nodepools {
    struct runtime *rt;
    struct queue *q;
    struct map *counted; /* pool → text of what was written last */
    struct metric_family *usage, *limit;
};

/* ---- hash --------------------------------------------------------------------------------------
 */

static bool stamped(const struct kvs *annotations)
{
    return str_eq(kvs_get(annotations, ANN_POOL_HASH_VERSION), HASH_VERSION);
}

/* The first of the pool's claims with another version, by the store's order. */
static const struct nodeclaim *unstamped_claim(const struct nodepools *p, const struct nodepool *np)
{
    for (MAP_EACH(store_all(p->rt->store, STORE_CLAIM), e)) {
        const struct nodeclaim *nc = map_value(e);
        if (str_eq(nc->pool, np->m.name) && store_ours(&nc->class_ref) && !nc->m.deleted_ns &&
            !nc->problem && !stamped(&nc->m.annotations)) {
            return nc;
        }
    }
    return NULL;
}

static json_t *stamp(const char *hash)
{
    json_t *patch =
        json_pack("{s:{s:{s:s}}}", "metadata", "annotations", ANN_POOL_HASH_VERSION, HASH_VERSION);
    if (hash) {
        json_object_set_new(jsonx_at(patch, "metadata.annotations"), ANN_POOL_HASH,
                            json_string(hash));
    }
    return patch;
}

static bool hash_step(struct nodepools *p, const struct nodepool *np, enum queue_verdict *ret)
{
    const char *have = kvs_get(&np->m.annotations, ANN_POOL_HASH);
    struct work w = {p->rt, p->q, np->m.name, NULL, NULL};
    if (!np->hash || np->problem) {
        return false;
    }
    const struct nodeclaim *nc = unstamped_claim(p, np);
    if (nc) {
        const char *hash = claim_is(nc, "Drifted") ? NULL : np->hash;
        queue_add(p->q, np->m.name); /* and then the next one */
        *ret = work_patch(&w, KIND_NODE_CLAIM, NULL, nc->m.name, "", stamp(hash),
                          nc->m.resource_version);
        return true;
    }
    if (stamped(&np->m.annotations) && str_eq(have, np->hash)) {
        return false;
    }
    *ret = work_patch(&w, KIND_NODE_POOL, NULL, np->m.name, "", stamp(np->hash),
                      np->m.resource_version);
    return true;
}

/* ---- conditions --------------------------------------------------------------------------------
 */

static void set_class_ready(struct cond_edit *e, const struct nodeclass *c)
{
    if (!c) {
        cond_set(e, "NodeClassReady", STATUS_FALSE, "NodeClassNotFound",
                 "NodeClass not found on cluster");
        return;
    }
    if (c->m.deleted_ns) {
        cond_set(e, "NodeClassReady", STATUS_FALSE, "NodeClassTerminating",
                 "NodeClass is terminating");
        return;
    }
    const struct condition *ready = condition_find(&c->conditions, "Ready");
    if (!ready || (ready->observed_generation && ready->observed_generation < c->m.generation)) {
        cond_set(e, "NodeClassReady", STATUS_UNKNOWN, "NodeClassReadinessUnknown",
                 "Node Class Readiness Unknown");
    } else if (ready->status == STATUS_TRUE) {
        cond_set(e, "NodeClassReady", STATUS_TRUE, NULL, NULL);
    } else {
        const char *reason = *ready->reason ? ready->reason : "NodeClassReadinessUnknown";
        cond_set(e, "NodeClassReady", ready->status, reason, ready->message);
    }
}

static void edit_conditions(struct nodepools *p, const struct nodepool *np, struct cond_edit *e,
                            char message[COND_ROOT_MESSAGE])
{
    static const char *const dependents[] = {"ValidationSucceeded", "NodeClassReady", NULL};
    cond_begin(e, &np->conditions, &np->m, clock_wall(p->rt->clock));
    if (np->problem) {
        cond_set(e, "ValidationSucceeded", STATUS_FALSE, "NodePoolValidationFailed", np->problem);
    } else {
        cond_set(e, "ValidationSucceeded", STATUS_TRUE, NULL, NULL);
    }
    if (np->unknown_field) {
        cond_set(e, "UnknownFields", STATUS_TRUE, "UnknownFields", np->unknown_field);
    } else {
        cond_clear(e, "UnknownFields");
    }
    if (ineffective_in(p->rt->ineffective, np->m.name)) {
        cond_set(
            e, "LaunchIneffective", STATUS_TRUE, "LaunchIneffective",
            "Nodes launched for some pods bound none of them: none are launched for those now; "
            "the pods' Events say FailedScheduling");
    } else {
        cond_clear(e, "LaunchIneffective");
    }
    if (np->budget_tz_problem) {
        cond_set(e, "BudgetTimezoneUnknown", STATUS_TRUE, "BudgetTimezoneUnknown",
                 np->budget_tz_problem);
    } else {
        cond_clear(e, "BudgetTimezoneUnknown");
    }
    reghealth_conditions(p->rt->reghealth, np, e);
    driftguard_conditions(p->rt->driftguard, np, e);
    churnguard_conditions(p->rt->churnguard, np, e);
    observed_conditions(p->rt->observed, np, e);
    set_class_ready(e, store_class(p->rt->store, np->class_ref.name));
    cond_root(e, dependents, np->m.created_ns, message);
}

/* ---- counters ----------------------------------------------------------------------------------
 */

struct count {
    struct arena mem;
    struct resources sum;
    int64_t nodes;
};

static void count_claim(const struct nodepools *p, struct count *c, const struct nodeclaim *nc)
{
    const struct node *n = store_node_by_provider_id(p->rt->store, nc->provider_id, NULL);
    if (nc->m.deleted_ns || (n && store_leaving(p->rt->store, n))) {
        return;
    }
    const struct resources *have = n && claim_is(nc, "Initialized") ? &n->capacity : &nc->capacity;
    c->sum = resources_add(&c->mem, &c->sum, have, 1);
    c->nodes++;
}

static json_t *count_json(const struct nodepools *p, const struct count *c)
{
    static const char *const zero[] = {"cpu", "memory", "pods", "ephemeral-storage"};
    json_t *o = render_resources(p->rt->syms, &c->sum);
    for (size_t i = 0; i < ARRAY_LEN(zero); i++) {
        if (!json_object_get(o, zero[i])) {
            json_object_set_new(o, zero[i], json_string("0"));
        }
    }
    char nodes[24];
    snprintf(nodes, sizeof(nodes), "%lld", (long long)c->nodes);
    json_object_set_new(o, "nodes", json_string(nodes));
    return json_pack("{s:o, s:I}", "resources", o, "nodes", (json_int_t)c->nodes);
}

static void set_gauges(const struct nodepools *p, const struct nodepool *np, const struct count *c)
{
    metric_forget(p->limit, "nodepool", np->m.name); /* a limit may have been taken off */
    for (int i = 0; i < RES_FIXED; i++) {
        double unit = i == RES_CPU ? 1000 : 1;
        const char *name = resource_name((enum resource)i);
        if (c->sum.v[i] || i <= RES_PODS) {
            metric_set(p->usage, LABELS(name, np->m.name), (double)c->sum.v[i] / unit);
        }
        if (np->has_limits && np->limits.v[i] >= 0) {
            metric_set(p->limit, LABELS(name, np->m.name), (double)np->limits.v[i] / unit);
        }
    }
    metric_set(p->usage, LABELS("nodes", np->m.name), (double)c->nodes);
    if (np->has_limits && np->limit_nodes >= 0) {
        metric_set(p->limit, LABELS("nodes", np->m.name), (double)np->limit_nodes);
    }
}

static json_t *count_pool(const struct nodepools *p, const struct nodepool *np)
{
    struct count c = {.nodes = 0};
    arena_init(&c.mem, 0, COUNT_BYTES);
    for (MAP_EACH(store_all(p->rt->store, STORE_CLAIM), e)) {
        const struct nodeclaim *nc = map_value(e);
        if (str_eq(nc->pool, np->m.name) && store_ours(&nc->class_ref)) {
            count_claim(p, &c, nc);
        }
    }
    json_t *o = count_json(p, &c);
    set_gauges(p, np, &c);
    arena_done(&c.mem);
    return o;
}

/* ---- the look ----------------------------------------------------------------------------------
 */

static void on_written(void *ctx, const char *key, const struct kube_resp *resp)
{
    struct nodepools *p = ctx;
    if (resp->err.kind != ERR_NONE) {
        free(map_del(p->counted, key));
    }
}

static enum queue_verdict status_step(struct nodepools *p, const struct nodepool *np)
{
    struct cond_edit e;
    char message[COND_ROOT_MESSAGE];
    edit_conditions(p, np, &e, message);
    json_t *status = count_pool(p, np);
    const struct nodeclass *cls = store_class(p->rt->store, np->class_ref.name);
    if (cls) {
        json_object_set_new(status, "nodeClassObservedGeneration", json_integer(cls->m.generation));
    }
    AUTO_FREE char *text = jsonx_canonical(status);
    AUTO_FREE char *want = xasprintf("%s %s", np->m.uid, text);
    if (!e.changed && str_eq(map_get(p->counted, np->m.name), want)) {
        json_decref(status);
        return QUEUE_OK;
    }
    json_object_set_new(status, "conditions", cond_json(&e));
    free(map_put(p->counted, np->m.name, xstrdup(want), NULL));
    struct work w = {p->rt, p->q, np->m.name, on_written, p};
    return work_patch(&w, KIND_NODE_POOL, NULL, np->m.name, "status",
                      json_pack("{s:o}", "status", status), np->m.resource_version);
}

static void say_unreadable(const struct nodepools *p, const struct nodepool *np)
{
    struct events_subject about = {KIND_NODE_POOL, NULL, np->m.name, np->m.uid};
    const char *placement = kvs_get(&np->m.annotations, ANN_PLACEMENT);
    const char *share = kvs_get(&np->m.annotations, ANN_MAX_SHARE);
    enum placement how;
    uint32_t permyriad;
    if (placement && !sched_parse_placement(placement, &how)) {
        events_post(p->rt->events, &about, true, "InvalidAnnotation", ANN_PLACEMENT, 0,
                    "%s cannot be read: no more nodes than Karpenter's are made", ANN_PLACEMENT);
    }
    if (share && !sched_parse_share(share, &permyriad)) {
        events_post(p->rt->events, &about, true, "InvalidAnnotation", ANN_MAX_SHARE, 0,
                    "%s cannot be read: the flag's counts", ANN_MAX_SHARE);
    }
}

static enum queue_verdict handle(void *ctx, const char *key)
{
    struct nodepools *p = ctx;
    const struct nodepool *np = store_pool(p->rt->store, key);
    enum queue_verdict ret = QUEUE_OK;
    if (!np) {
        free(map_del(p->counted, key));
        metric_forget(p->usage, "nodepool", key);
        metric_forget(p->limit, "nodepool", key);
        return QUEUE_OK;
    }
    if (np->m.deleted_ns || np->is_static || !store_ours(&np->class_ref) ||
        p->rt->opt->mode == MODE_OBSERVE) {
        return QUEUE_OK;
    }
    if (!store_synced(p->rt->store)) {
        queue_add_after(p->q, key, NODEPOOL_COUNT_NS);
        return QUEUE_OK;
    }
    say_unreadable(p, np);
    if (hash_step(p, np, &ret)) {
        return ret;
    }
    return status_step(p, np);
}

/* ---- triggers ----------------------------------------------------------------------------------
 */

static void on_pool(void *arg, const char *key, const void *before, const void *now)
{
    struct nodepools *p = arg;
    (void)before;
    (void)now;
    queue_add(p->q, key);
}

static void on_class_told(void *arg, const char *key)
{
    struct nodepools *p = arg;
    for (MAP_EACH(store_all(p->rt->store, STORE_POOL), e)) {
        const struct nodepool *np = map_value(e);
        if (str_eq(np->class_ref.name, key)) {
            queue_add(p->q, map_key(e));
        }
    }
}

static void on_class(void *arg, const char *key, const void *before, const void *now)
{
    (void)before;
    (void)now;
    on_class_told(arg, key);
}

static void on_claim(void *arg, const char *key, const void *before, const void *now)
{
    struct nodepools *p = arg;
    const struct nodeclaim *nc = now ? now : before;
    (void)key;
    if (*nc->pool) {
        queue_add_after(p->q, nc->pool, NODEPOOL_COUNT_NS);
    }
}

static void on_node(void *arg, const char *key, const void *before, const void *now)
{
    struct nodepools *p = arg;
    const struct node *n = now ? now : before;
    const char *pool = node_label(p->rt, n, L_NODEPOOL);
    (void)key;
    if (*pool) {
        queue_add_after(p->q, pool, NODEPOOL_COUNT_NS);
    }
}

static void on_told(void *ctx, const char *pool)
{
    struct nodepools *p = ctx;
    queue_add(p->q, pool);
}

struct nodepools *nodepools_new(struct runtime *rt)
{
    struct nodepools *p = NEW(struct nodepools);
    p->rt = rt;
    p->q = queue_new(rt, "nodepool", STORE_POOL, BACKOFF_NS, BACKOFF_MAX_NS, handle, p);
    p->counted = map_new(STORE_MAX_OBJECTS);
    p->usage = metrics_family(rt->metrics, "karpenter_nodepools_usage",
                              "What the pool's nodes have in sum.", METRIC_GAUGE,
                              LABELS("resource_type", "nodepool"), NULL, 0);
    p->limit = metrics_family(rt->metrics, "karpenter_nodepools_limit", "The pool's limits.",
                              METRIC_GAUGE, LABELS("resource_type", "nodepool"), NULL, 0);
    ineffective_listen(rt->ineffective, on_told, p);
    reghealth_listen(rt->reghealth, on_told, p);
    driftguard_listen(rt->driftguard, on_told, p);
    churnguard_listen(rt->churnguard, on_told, p);
    observed_listen(rt->observed, on_class_told, p);
    store_subscribe(rt->store, STORE_POOL, on_pool, p);
    store_subscribe(rt->store, STORE_CLASS, on_class, p);
    store_subscribe(rt->store, STORE_CLAIM, on_claim, p);
    store_subscribe(rt->store, STORE_NODE, on_node, p);
    return p;
}

void nodepools_free(struct nodepools *p)
{
    if (!p) {
        return;
    }
    ineffective_listen(p->rt->ineffective, NULL, NULL);
    reghealth_listen(p->rt->reghealth, NULL, NULL);
    driftguard_listen(p->rt->driftguard, NULL, NULL);
    churnguard_listen(p->rt->churnguard, NULL, NULL);
    observed_listen(p->rt->observed, NULL, NULL);
    queue_free(p->q);
    for (MAP_EACH(p->counted, e)) {
        free(map_value(e));
    }
    map_free(p->counted);
    free(p);
}

void nodepools_start(struct nodepools *p)
{
    (void)p;
}
