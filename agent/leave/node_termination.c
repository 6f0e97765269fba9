/* node_termination.c - Nodes that are being deleted; see termination.h. */
#include "agent/claim/claim.h"
#include "agent/claim/reaper.h"
#include "agent/cloud/cloud.h"
#include "agent/history/why.h"
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
#include "common/base/timefmt.h"
#include "common/kube/events.h"
#include "drain.h"
#include "notice.h"
#include "pace.h"
#include "termination.h"
#include "volumes.h"

#define BACKOFF_NS (100 * NS_PER_MS)
#define BACKOFF_MAX_NS (10 * NS_PER_S)
#define LB_LABEL "node.kubernetes.io/exclude-from-external-load-balancers"
#define LB_VALUE "karpenter"
#define MESSAGE_MAX 256

struct node_termination {
    const struct ending *e;
    struct queue *q;
    struct map *tainted; /* node → struct mark */
    struct metric_family *terminated, *drained, *took, *lifetime;
};

/* What this process knows of a node that leaves: since when it was tainted and drained
 * (monotonic), and that its instance was ordered to end. */
struct mark {
    int64_t tainted_ns, drained_ns;
    bool ending;
};

#define MIN_S 60
#define HOUR_S 3600
#define DAY_S 86400
static const double life_buckets[] = {
    15 * MIN_S, 30 * MIN_S, HOUR_S,    2 * HOUR_S, 4 * HOUR_S, 8 * HOUR_S, 12 * HOUR_S, DAY_S,
    2 * DAY_S,  3 * DAY_S,  5 * DAY_S, 7 * DAY_S,  10 * DAY_S, 14 * DAY_S, 21 * DAY_S,  30 * DAY_S,
};

/* One look at a node. */
struct node_look {
    struct node_termination *t;
    struct runtime *rt;
    const struct node *n;
    const struct nodeclaim *nc; /* NULL: none */
    struct mark *mark;
    int64_t deadline_ns; /* wall, 0 = none */
};

static bool past_deadline(const struct node_look *k)
{
    return k->deadline_ns != 0 && drain_now_ns(k->t->e->drain) >= k->deadline_ns;
}

/* ---- conditions of the claim -------------------------------------------------------------------
 */

/* True if a patch was needed: the look ends with *ret. Only one status per type at a time. */
static bool condition_step(const struct node_look *k, const char *type, enum status status,
                           const char *reason, const char *message, enum queue_verdict *ret)
{
    const struct nodeclaim *nc = k->nc;
    struct cond_edit e;
    if (!nc || (condition_status(&nc->conditions, type) == status &&
                str_eq(condition_find(&nc->conditions, type)->reason, reason ? reason : type))) {
        return false;
    }
    cond_begin(&e, &nc->conditions, &nc->m, clock_wall(k->rt->clock));
    cond_set(&e, type, status, reason, message);
    struct work w = {k->rt, k->t->q, k->n->m.name, NULL, NULL};
    queue_add(k->t->q, k->n->m.name); /* go on then: claims do not wake nodes */
    *ret = work_patch(&w, KIND_NODE_CLAIM, NULL, nc->m.name, "status",
                      json_pack("{s:{s:o}}", "status", "conditions", cond_json(&e)),
                      nc->m.resource_version);
    return true;
}

/* ---- steps -------------------------------------------------------------------------------------
 */

static bool claim_step(const struct node_look *k, enum queue_verdict *ret)
{
    if (!k->nc || k->nc->m.deleted_ns) {
        return false;
    }
    struct work w = {k->rt, k->t->q, k->n->m.name, NULL, NULL};
    queue_add(k->t->q, k->n->m.name);
    if (why_step(&w, k->nc, k->n->ready == STATUS_TRUE ? WHY_NODE_DELETED : WHY_NODE_LOST, ret)) {
        return true;
    }
    *ret = work_delete(&w, KIND_NODE_CLAIM, NULL, k->nc->m.name, k->nc->m.uid);
    return true;
}

static bool taint_step(const struct node_look *k, enum queue_verdict *ret)
{
    const struct node *n = k->n;
    const struct symtab *t = k->rt->syms;
    bool tainted = false, excluded = false;
    json_t *taints = json_array();
    for (uint32_t i = 0; i < n->taints.n; i++) {
        const struct taint *x = &n->taints.v[i];
        bool ours = str_eq(sym_str(t, x->key), TAINT_DISRUPTED);
        tainted |= ours && x->effect == EFFECT_NO_SCHEDULE;
        if (!ours) {
            json_array_append_new(taints, render_taint(t, x));
        }
    }
    sym label = sym_find(t, LB_LABEL);
    excluded = label && str_eq(node_label(k->rt, n, label), LB_VALUE);
    if (tainted && !k->mark->tainted_ns) {
        k->mark->tainted_ns = clock_mono(k->rt->clock);
    }
    if (tainted && excluded) {
        json_decref(taints);
        return false;
    }
    json_array_append_new(taints,
                          json_pack("{s:s, s:s}", "key", TAINT_DISRUPTED, "effect", "NoSchedule"));
    json_t *patch = json_pack("{s:{s:{s:s}}, s:{s:o}}", "metadata", "labels", LB_LABEL, LB_VALUE,
                              "spec", "taints", taints);
    struct work w = {k->rt, k->t->q, n->m.name, NULL, NULL};
    *ret = work_patch(&w, KIND_NODE, NULL, n->m.name, "", patch, n->m.resource_version);
    return true;
}

static void say_draining(const struct node_look *k, uint32_t waiting)
{
    struct events_subject about = {KIND_NODE, NULL, k->n->m.name, k->n->m.uid};
    events_post(k->rt->events, &about, true, "FailedDraining", "waiting", 0,
                "Failed to drain node, %u pods are waiting to be evicted", waiting);
}

static bool turn_step(const struct node_look *k, enum queue_verdict *ret)
{
    enum pace_answer answer = pace_ask(k->t->e->pace, k->n, k->nc);
    if (answer == PACE_DRAIN) {
        return false;
    }
    if (answer == PACE_BEGIN && condition_step(k, "Drained", STATUS_UNKNOWN, "Draining", "", ret)) {
        return true;
    }
    queue_add_after(k->t->q, k->n->m.name, TERMINATION_POLL_NS);
    *ret = QUEUE_OK;
    return true;
}

/* Looks at the pods anew each time, for some may have come after the node was drained, until its
 * instance was ordered to end. */
static bool drain_step(const struct node_look *k, enum queue_verdict *ret)
{
    if (k->mark->ending || (k->nc && claim_is(k->nc, "InstanceTerminating"))) {
        return false;
    }
    uint32_t waiting = drain_round(k->t->e->drain, k->n, k->deadline_ns);
    int64_t now_ns = clock_mono(k->rt->clock);
    int64_t quiet_ns = k->mark->tainted_ns + TERMINATION_DRAIN_MIN_NS - now_ns;
    if (waiting > 0 || quiet_ns > 0) {
        if (condition_step(k, "Drained", STATUS_UNKNOWN, "Draining", "", ret)) {
            return true;
        }
        if (waiting > 0) {
            say_draining(k, waiting);
        }
        bool short_wait = waiting == 0 && quiet_ns < TERMINATION_POLL_NS;
        queue_add_after(k->t->q, k->n->m.name, short_wait ? quiet_ns : TERMINATION_POLL_NS);
        *ret = QUEUE_OK;
        return true;
    }
    if (!k->mark->drained_ns) {
        k->mark->drained_ns = now_ns;
        metric_add(k->t->drained, LABELS(node_label(k->rt, k->n, L_NODEPOOL)), 1);
    }
    return condition_step(k, "Drained", STATUS_TRUE, NULL, NULL, ret);
}

/* Pods that stay until the machine ends keep their volumes: those are not waited for. */
static bool pods_stay(const struct node_look *k)
{
    const struct map *pods = store_pods_on(k->rt->store, k->n->m.name);
    if (!pods) {
        return false;
    }
    for (MAP_EACH(pods, e)) {
        const struct pod *p = map_value(e);
        if (!pod_terminal(p) && (p->cls->hard & HARD_VOLUME)) {
            return true;
        }
    }
    return false;
}

static bool volumes_step(const struct node_look *k, enum queue_verdict *ret)
{
    const char *first = NULL, *name = k->n->m.name;
    if (past_deadline(k)) {
        return condition_step(k, "VolumesDetached", STATUS_FALSE, "TerminationGracePeriodElapsed",
                              "", ret);
    }
    if (pods_stay(k)) {
        return false;
    }
    /* Proven once, it need not be asked again while the instance ends. */
    if (k->nc && claim_is(k->nc, "VolumesDetached")) {
        return false;
    }
    *ret = QUEUE_OK;
    switch (volumes_ask(k->t->e->volumes, name, k->mark->drained_ns, k->t->q, name, &first)) {
    case VOLUMES_ASKING:
        return true;
    case VOLUMES_NONE:
        return condition_step(k, "VolumesDetached", STATUS_TRUE, NULL, NULL, ret);
    case VOLUMES_ATTACHED:
        break;
    }
    char message[MESSAGE_MAX];
    snprintf(message, sizeof(message), "Awaiting deletion of bound volumeattachments (%.150s)",
             first);
    struct events_subject about = {KIND_NODE, NULL, name, k->n->m.uid};
    events_normal(k->rt->events, &about, "AwaitingVolumeDetachment", "%s", message);
    if (!condition_step(k, "VolumesDetached", STATUS_UNKNOWN, "AwaitingVolumeDetachment", message,
                        ret)) {
        queue_add_after(k->t->q, name, TERMINATION_POLL_NS);
    }
    return true;
}

static bool instance_step(const struct node_look *k, enum queue_verdict *ret)
{
    const char *id = cloud_instance_id(k->n->provider_id);
    bool taken = false;
    *ret = QUEUE_OK;
    k->mark->ending = true;
    if (!id || reaper_end(k->t->e->reaper, id, termination_launched_ns(k->nc), k->t->q,
                          k->n->m.name, &taken)) {
        return false;
    }
    if (taken) {
        condition_step(k, "InstanceTerminating", STATUS_TRUE, NULL, NULL, ret);
    }
    return true;
}

static void count_end(struct node_termination *t, const json_t *node)
{
    const json_t *labels = jsonx_obj(node, "metadata.labels");
    const char *pool = json_string_value(json_object_get(labels, "karpenter.sh/nodepool"));
    const char *zone = json_string_value(json_object_get(labels, "topology.kubernetes.io/zone"));
    int64_t now_ns = clock_wall(t->e->rt->clock), at_ns;
    pool = pool ? pool : "";
    metric_add(t->terminated, LABELS(pool, zone ? zone : ""), 1);
    if (timefmt_parse_rfc3339(jsonx_str_or(node, "metadata.deletionTimestamp", ""), &at_ns)) {
        metric_observe(t->took, LABELS(pool), (double)(now_ns - at_ns) / NS_PER_S);
    }
    if (timefmt_parse_rfc3339(jsonx_str_or(node, "metadata.creationTimestamp", ""), &at_ns)) {
        metric_observe(t->lifetime, LABELS(pool), (double)(now_ns - at_ns) / NS_PER_S);
    }
}

static void on_finalized(void *ctx, const char *key, const struct kube_resp *resp)
{
    struct node_termination *t = ctx;
    if (resp->err.kind == ERR_NONE) {
        log_info(t->e->rt->log, "deleted node", "Node", key);
        count_end(t, resp->body);
    }
}

static enum queue_verdict finalize(const struct node_look *k)
{
    const struct node *n = k->n;
    struct work w = {k->rt, k->t->q, n->m.name, on_finalized, k->t};
    return work_patch(&w, KIND_NODE, NULL, n->m.name, "",
                      json_pack("{s:{s:o}}", "metadata", "finalizers",
                                render_finalizers(&n->m, NULL, FINALIZER_TERMINATION)),
                      n->m.resource_version);
}

/* ---- the look ----------------------------------------------------------------------------------
 */

static struct mark *mark_of(struct node_termination *t, const char *name)
{
    struct mark *m = map_get(t->tainted, name);
    if (!m) {
        bool full = false;
        m = NEW(struct mark);
        map_put(t->tainted, name, m, &full);
        if (full) {
            free(m);
            return NULL;
        }
    }
    return m;
}

static bool managed(const struct runtime *rt, const struct node *n, const struct nodeclaim *nc)
{
    return nc ? store_ours(&nc->class_ref) : *node_label(rt, n, L_EC2NODECLASS) != '\0';
}

/* EC2 has said that the instance ends, so what its Node says of itself may be old. */
static bool told_to_end(const struct nodeclaim *nc)
{
    const struct condition *c = nc ? condition_find(&nc->conditions, "DisruptionReason") : NULL;
    return c && c->status == STATUS_TRUE &&
           str_eq(c->reason, notice_names(NOTICE_TERMINATED)->mark);
}

/* The instance is gone though nobody asked for it: there is nobody to drain. */
static bool lost(const struct node_look *k)
{
    const char *id = cloud_instance_id(k->n->provider_id);
    return id && (k->n->ready != STATUS_TRUE || told_to_end(k->nc)) &&
           reaper_look(k->t->e->reaper, id, termination_launched_ns(k->nc), k->t->q, k->n->m.name);
}

static enum queue_verdict handle(void *ctx, const char *key)
{
    struct node_termination *t = ctx;
    struct runtime *rt = t->e->rt;
    struct node_look k = {.t = t, .rt = rt, .n = store_node(rt->store, key)};
    enum queue_verdict ret = QUEUE_OK;
    if (!k.n || !k.n->m.deleted_ns || !meta_has_finalizer(&k.n->m, FINALIZER_TERMINATION) ||
        rt->opt->mode == MODE_OBSERVE) {
        return QUEUE_OK;
    }
    k.nc = store_claim_by_provider_id(rt->store, k.n->provider_id);
    k.mark = mark_of(t, key);
    if (!managed(rt, k.n, k.nc)) {
        return QUEUE_OK;
    }
    if (!termination_may_act(rt) || !k.mark) {
        queue_add_after(t->q, key, TERMINATION_POLL_NS);
        return QUEUE_OK;
    }
    k.deadline_ns = drain_deadline_ns(k.nc);
    if (claim_step(&k, &ret)) {
        return ret;
    }
    if (lost(&k)) {
        return finalize(&k);
    }
    if (taint_step(&k, &ret) || turn_step(&k, &ret) || drain_step(&k, &ret) ||
        volumes_step(&k, &ret) || instance_step(&k, &ret)) {
        return ret;
    }
    return finalize(&k);
}

/* ---- triggers ----------------------------------------------------------------------------------
 */

static void on_node(void *arg, const char *key, const void *before, const void *now)
{
    struct node_termination *t = arg;
    const struct node *was = before, *is = now;
    if (!is || (was && !str_eq(was->m.uid, is->m.uid))) {
        free(map_del(t->tainted, key)); /* one of the same name knows nothing of its past */
    }
    if (is && is->m.deleted_ns) {
        queue_add(t->q, key);
    }
}

static void on_pod(void *arg, const char *key, const void *before, const void *now)
{
    struct node_termination *t = arg;
    const struct pod *p = now ? now : before;
    const struct node *n = *p->node_name ? store_node(t->e->rt->store, p->node_name) : NULL;
    (void)key;
    if (n && n->m.deleted_ns) {
        queue_add(t->q, n->m.name);
    }
}

struct node_termination *node_termination_new(const struct ending *e)
{
    struct node_termination *t = NEW(struct node_termination);
    struct runtime *rt = e->rt;
    t->e = e;
    t->q = queue_new(rt, "node.termination", STORE_NODE, BACKOFF_NS, BACKOFF_MAX_NS, handle, t);
    t->tainted = map_new(STORE_MAX_OBJECTS);
    t->terminated = metrics_family(rt->metrics, "karpenter_nodes_terminated_total",
                                   "Nodes that were finalized.", METRIC_COUNTER,
                                   LABELS("nodepool", "zone"), NULL, 0);
    t->drained =
        metrics_family(rt->metrics, "karpenter_nodes_drained_total", "Nodes that were drained.",
                       METRIC_COUNTER, LABELS("nodepool"), NULL, 0);
    t->took = metrics_family(rt->metrics, "karpenter_nodes_termination_duration_seconds",
                             "From the deletion of a Node to its end.", METRIC_SUMMARY,
                             LABELS("nodepool"), NULL, 0);
    t->lifetime = metrics_family(rt->metrics, "karpenter_nodes_lifetime_duration_seconds",
                                 "From the creation of a Node to its end.", METRIC_HISTOGRAM,
                                 LABELS("nodepool"), life_buckets, ARRAY_LEN(life_buckets));
    store_subscribe(rt->store, STORE_NODE, on_node, t);
    store_subscribe(rt->store, STORE_POD, on_pod, t);
    return t;
}

void node_termination_free(struct node_termination *t)
{
    if (!t) {
        return;
    }
    queue_free(t->q);
    for (MAP_EACH(t->tainted, e)) {
        free(map_value(e));
    }
    map_free(t->tainted);
    free(t);
}
