/* claim_termination.c - NodeClaims that are being deleted; see termination.h. */
#include "agent/claim/claim.h"
#include "agent/claim/launcher.h"
#include "agent/claim/reaper.h"
#include "agent/cloud/cloud.h"
#include "agent/history/history.h"
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
#include "termination.h"

#define BACKOFF_NS (1 * NS_PER_S)
#define BACKOFF_MAX_NS (60 * NS_PER_S)

struct claim_termination {
    const struct ending *e;
    struct queue *q;
    struct metric_family *terminated, *took, *instance;
};

static const double took_buckets[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048};

static enum queue_verdict patch(struct claim_termination *c, const struct nodeclaim *nc,
                                const char *sub, json_t *body, work_then_fn then)
{
    struct work w = {c->e->rt, c->q, nc->m.name, then, c};
    return work_patch(&w, KIND_NODE_CLAIM, NULL, nc->m.name, sub, body, nc->m.resource_version);
}

/* ---- deadline ----------------------------------------------------------------------------------
 */

static void say_deadline(struct runtime *rt, const struct nodeclaim *nc, const char *at)
{
    const struct node *n = store_node_by_provider_id(rt->store, nc->provider_id, NULL);
    struct events_subject claim = {KIND_NODE_CLAIM, NULL, nc->m.name, nc->m.uid};
    events_warning(rt->events, &claim, "TerminationGracePeriodExpiring",
                   "All pods will be deleted by %s", at);
    if (n) {
        struct events_subject node = {KIND_NODE, NULL, n->m.name, n->m.uid};
        events_warning(rt->events, &node, "TerminationGracePeriodExpiring",
                       "All pods will be deleted by %s", at);
    }
}

static bool deadline_step(struct claim_termination *c, const struct nodeclaim *nc,
                          enum queue_verdict *ret)
{
    if (nc->termination_grace_ns == DURATION_ABSENT || nc->termination_grace_ns == DURATION_NEVER ||
        kvs_get(&nc->m.annotations, ANN_TERMINATION_TIME)) {
        return false;
    }
    char at[TIMEFMT_TEXT];
    int64_t at_ns;
    if (__builtin_add_overflow(nc->m.deleted_ns, nc->termination_grace_ns, &at_ns)) {
        return false; /* later than time can tell */
    }
    timefmt_rfc3339(at_ns, at);
    say_deadline(c->e->rt, nc, at);
    log_info(c->e->rt->log, "annotated nodeclaim", "NodeClaim", nc->m.name, ANN_TERMINATION_TIME,
             at);
    *ret = patch(c, nc, "",
                 json_pack("{s:{s:{s:s}}}", "metadata", "annotations", ANN_TERMINATION_TIME, at),
                 NULL);
    return true;
}

/* ---- nodes -------------------------------------------------------------------------------------
 */

static bool registered(const struct nodeclaim *nc, const struct node *n)
{
    return claim_is(nc, "Registered") || labels_get(&n->m.labels, L_REGISTERED) == V_TRUE;
}

/* True while Nodes of the claim are there: deletes them one after the other. */
static bool nodes_step(struct claim_termination *c, const struct nodeclaim *nc,
                       enum queue_verdict *ret)
{
    struct runtime *rt = c->e->rt;
    bool any = false;
    for (MAP_EACH(store_all(rt->store, STORE_NODE), e)) {
        const struct node *n = map_value(e);
        if (!*nc->provider_id || !str_eq(n->provider_id, nc->provider_id) || !registered(nc, n)) {
            continue;
        }
        any = true;
        if (!n->m.deleted_ns) {
            struct work w = {rt, c->q, nc->m.name, NULL, NULL};
            queue_add(c->q, nc->m.name); /* there may be more */
            *ret = work_delete(&w, KIND_NODE, NULL, n->m.name, n->m.uid);
            return true;
        }
    }
    *ret = QUEUE_OK; /* a Node's end wakes the claim */
    return any;
}

/* ---- instance ----------------------------------------------------------------------------------
 */

static bool instance_step(struct claim_termination *c, const struct nodeclaim *nc,
                          enum queue_verdict *ret)
{
    const char *id = cloud_instance_id(nc->provider_id);
    bool taken = false;
    *ret = QUEUE_OK;
    if (!launcher_settled(c->e->rt, nc)) {
        queue_add_after(c->q, nc->m.name, LAUNCHER_POLL_NS);
        return true;
    }
    if (!id ||
        reaper_end(c->e->reaper, id, termination_launched_ns(nc), c->q, nc->m.name, &taken)) {
        return false;
    }
    if (taken && !claim_is(nc, "InstanceTerminating")) {
        struct cond_edit e;
        cond_begin(&e, &nc->conditions, &nc->m, clock_wall(c->e->rt->clock));
        cond_set(&e, "InstanceTerminating", STATUS_TRUE, NULL, NULL);
        *ret = patch(c, nc, "status", json_pack("{s:{s:o}}", "status", "conditions", cond_json(&e)),
                     NULL);
    }
    return true;
}

/* ---- finalizer ---------------------------------------------------------------------------------
 */

static const char *label_of(const json_t *object, const char *key)
{
    const char *v = json_string_value(json_object_get(jsonx_obj(object, "metadata.labels"), key));
    return v ? v : "";
}

static void observe_since(const struct claim_termination *c, struct metric_family *f,
                          const char *pool, const char *from)
{
    int64_t from_ns;
    if (from && timefmt_parse_rfc3339(from, &from_ns)) {
        metric_observe(f, LABELS(pool), (double)(clock_wall(c->e->rt->clock) - from_ns) / NS_PER_S);
    }
}

/* By the claim as it was in the end: the store may not have it any more. */
static void count_end(const struct claim_termination *c, const json_t *claim)
{
    const char *pool = label_of(claim, "karpenter.sh/nodepool");
    size_t i;
    json_t *cond;
    metric_add(c->terminated,
               LABELS(pool, label_of(claim, "karpenter.sh/capacity-type"),
                      label_of(claim, "topology.kubernetes.io/zone")),
               1);
    observe_since(c, c->took, pool, jsonx_str(claim, "metadata.deletionTimestamp"));
    json_array_foreach (jsonx_at(claim, "status.conditions"), i, cond) {
        if (str_eq(jsonx_str(cond, "type"), "InstanceTerminating")) {
            observe_since(c, c->instance, pool, jsonx_str(cond, "lastTransitionTime"));
        }
    }
}

static void on_finalized(void *ctx, const char *key, const struct kube_resp *resp)
{
    struct claim_termination *c = ctx;
    if (resp->err.kind == ERR_NONE) {
        log_info(c->e->rt->log, "deleted nodeclaim", "NodeClaim", key);
        count_end(c, resp->body);
    }
}

static enum queue_verdict finalize(struct claim_termination *c, const struct nodeclaim *nc)
{
    return patch(c, nc, "",
                 json_pack("{s:{s:o}}", "metadata", "finalizers",
                           render_finalizers(&nc->m, NULL, FINALIZER_TERMINATION)),
                 on_finalized);
}

static enum queue_verdict handle(void *ctx, const char *key)
{
    struct claim_termination *c = ctx;
    struct runtime *rt = c->e->rt;
    const struct nodeclaim *nc = store_claim(rt->store, key);
    enum queue_verdict ret = QUEUE_OK;
    if (!nc || !nc->m.deleted_ns || !store_ours(&nc->class_ref) ||
        !meta_has_finalizer(&nc->m, FINALIZER_TERMINATION) || rt->opt->mode == MODE_OBSERVE) {
        return QUEUE_OK;
    }
    if (!termination_may_act(rt)) {
        queue_add_after(c->q, key, TERMINATION_POLL_NS);
        return QUEUE_OK;
    }
    if (deadline_step(c, nc, &ret) || nodes_step(c, nc, &ret) || instance_step(c, nc, &ret)) {
        return ret;
    }
    return history_kept(rt->history, nc, c->q, key) ? finalize(c, nc) : QUEUE_OK;
}

/* ---- triggers ----------------------------------------------------------------------------------
 */

static void on_claim(void *arg, const char *key, const void *before, const void *now)
{
    struct claim_termination *c = arg;
    (void)before;
    if (now && ((const struct nodeclaim *)now)->m.deleted_ns) {
        queue_add(c->q, key);
    }
}

static void on_node(void *arg, const char *key, const void *before, const void *now)
{
    struct claim_termination *c = arg;
    const struct node *n = now ? now : before;
    const struct nodeclaim *nc = store_claim_by_provider_id(c->e->rt->store, n->provider_id);
    (void)key;
    if (nc && nc->m.deleted_ns) {
        queue_add(c->q, nc->m.name);
    }
}

struct claim_termination *claim_termination_new(const struct ending *e)
{
    struct claim_termination *c = NEW(struct claim_termination);
    struct runtime *rt = e->rt;
    c->e = e;
    c->q =
        queue_new(rt, "nodeclaim.termination", STORE_CLAIM, BACKOFF_NS, BACKOFF_MAX_NS, handle, c);
    c->terminated = metrics_family(rt->metrics, "karpenter_nodeclaims_terminated_total",
                                   "NodeClaims that were finalized.", METRIC_COUNTER,
                                   LABELS("nodepool", "capacity_type", "zone"), NULL, 0);
    c->took = metrics_family(rt->metrics, "karpenter_nodeclaims_termination_duration_seconds",
                             "From the deletion of a NodeClaim to its end.", METRIC_HISTOGRAM,
                             LABELS("nodepool"), took_buckets, ARRAY_LEN(took_buckets));
    c->instance =
        metrics_family(rt->metrics, "karpenter_nodeclaims_instance_termination_duration_seconds",
                       "From the order to end an instance to its end.", METRIC_HISTOGRAM,
                       LABELS("nodepool"), took_buckets, ARRAY_LEN(took_buckets) - 1);
    store_subscribe(rt->store, STORE_CLAIM, on_claim, c);
    store_subscribe(rt->store, STORE_NODE, on_node, c);
    return c;
}

void claim_termination_free(struct claim_termination *c)
{
    if (c) {
        queue_free(c->q);
        free(c);
    }
}
