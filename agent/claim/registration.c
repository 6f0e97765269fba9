/* registration.c - a claim's Node has joined; see lifecycle.h. */
#include "agent/store/store.h"
#include "agent/work/metrics.h"
#include "agent/work/render.h"
#include "agent/work/work.h"
#include "claim.h"
#include "common/base/alloc.h"
#include "common/base/str.h"
#include "common/kube/events.h"
#include "lifecycle.h"

static bool set_and_write(const struct claim_look *look, enum status status, const char *reason,
                          const char *message, enum queue_verdict *ret)
{
    struct cond_edit e;
    cond_begin(&e, &look->nc->conditions, &look->nc->m, look->now_ns);
    cond_set(&e, "Registered", status, reason, message);
    return lifecycle_write(look, &e, NULL, NULL, ret);
}

/* ---- the Node ----------------------------------------------------------------------------------
 */

static void sync_labels(const struct claim_look *look, json_t *meta)
{
    const struct labels *l = &look->nc->m.labels;
    const struct symtab *t = look->rt->syms;
    json_t *labels = json_object();
    for (uint32_t i = 0; i < l->n; i++) {
        if (labels_get(&look->node->m.labels, l->v[i].key) != l->v[i].value) {
            json_object_set_new(labels, sym_str(t, l->v[i].key),
                                json_string(sym_str(t, l->v[i].value)));
        }
    }
    json_object_set_new(labels, sym_str(t, L_REGISTERED), json_string("true"));
    json_object_set_new(meta, "labels", labels);
}

static void sync_annotations(const struct claim_look *look, json_t *meta)
{
    const struct kvs *a = &look->nc->m.annotations;
    json_t *ann = json_object();
    for (uint32_t i = 0; i < a->n; i++) {
        if (!str_eq(kvs_get(&look->node->m.annotations, a->v[i].key), a->v[i].value)) {
            json_object_set_new(ann, a->v[i].key, json_string(a->v[i].value));
        }
    }
    if (json_object_size(ann)) {
        json_object_set_new(meta, "annotations", ann);
    } else {
        json_decref(ann);
    }
}

static void sync_owner(const struct claim_look *look, json_t *meta)
{
    const struct meta *m = &look->node->m;
    for (uint32_t i = 0; i < m->n_owners; i++) {
        if (str_eq(m->owners[i].uid, look->nc->m.uid)) {
            return;
        }
    }
    json_t *owners = render_owners(m);
    json_array_append_new(
        owners, render_owner("karpenter.sh/v1", "NodeClaim", look->nc->m.name, look->nc->m.uid));
    json_object_set_new(meta, "ownerReferences", owners);
}

static bool among(const struct taint *t, const struct taints *of)
{
    for (uint32_t i = 0; i < of->n; i++) {
        if (taint_matches(&of->v[i], t)) {
            return true;
        }
    }
    return false;
}

static void put_taints(const struct claim_look *look, json_t *list, const struct taints *from,
                       const struct taints *but)
{
    for (uint32_t i = 0; i < from->n; i++) {
        bool out = str_eq(sym_str(look->rt->syms, from->v[i].key), TAINT_UNREGISTERED);
        if (!out && !among(&from->v[i], but)) {
            json_array_append_new(list, render_taint(look->rt->syms, &from->v[i]));
        }
    }
}

/* The Node's own first, then the claim's that are not there yet, by key and effect. */
static json_t *sync_taints(const struct claim_look *look)
{
    static const struct taints none;
    const struct taints *own = &look->node->taints;
    json_t *list = json_array();
    put_taints(look, list, own, &none);
    if (labels_get(&look->node->m.labels, L_DO_NOT_SYNC_TAINTS) != V_TRUE) {
        put_taints(look, list, &look->nc->taints, own);
        put_taints(look, list, &look->nc->startup_taints, own);
    }
    return list;
}

static json_t *sync_patch(const struct claim_look *look)
{
    json_t *meta = json_object();
    sync_labels(look, meta);
    sync_annotations(look, meta);
    sync_owner(look, meta);
    if (!meta_has_finalizer(&look->node->m, FINALIZER_TERMINATION)) {
        json_object_set_new(meta, "finalizers",
                            render_finalizers(&look->node->m, FINALIZER_TERMINATION, NULL));
    }
    return json_pack("{s:o, s:{s:o}}", "metadata", meta, "spec", "taints", sync_taints(look));
}

static void warn_no_taint(const struct claim_look *look)
{
    if (claim_is(look->nc, "Registered") ||
        node_has_taint(look->rt, look->node, TAINT_UNREGISTERED)) {
        return;
    }
    struct events_subject about = {KIND_NODE_CLAIM, NULL, look->nc->m.name, look->nc->m.uid};
    events_warning(look->rt->events, &about, "UnregisteredTaintMissing",
                   "Missing %s taint which prevents pods from being scheduled before the node is "
                   "registered",
                   TAINT_UNREGISTERED);
}

static enum queue_verdict sync_node(const struct claim_look *look)
{
    warn_no_taint(look);
    struct work w = {look->rt, look->q, look->nc->m.name, NULL, NULL};
    const struct meta *m = &look->node->m;
    return work_patch(&w, KIND_NODE, NULL, m->name, "", sync_patch(look), m->resource_version);
}

/* ---- the claim ---------------------------------------------------------------------------------
 */

static void on_registered(void *ctx, const char *key, const struct kube_resp *resp)
{
    struct runtime *rt = ctx;
    const struct nodeclaim *nc = store_claim(rt->store, key);
    if (resp->err.kind != ERR_NONE || !nc) {
        return;
    }
    metric_add(metrics_family(rt->metrics, "karpenter_nodes_created_total",
                              "Nodes that registered.", METRIC_COUNTER, LABELS("nodepool", "zone"),
                              NULL, 0),
               LABELS(nc->pool, claim_label(rt, nc, L_ZONE)), 1);
    log_info(rt->log, "registered nodeclaim", "NodeClaim", nc->m.name, "Node", nc->node_name,
             "provider-id", nc->provider_id);
}

bool registration_step(const struct claim_look *look, enum queue_verdict *ret)
{
    if (look->n_nodes == 0) {
        return set_and_write(look, STATUS_UNKNOWN, "NodeNotFound",
                             "Node not registered with cluster", ret);
    }
    if (look->n_nodes > 1) {
        return set_and_write(look, STATUS_FALSE, "MultipleNodesFound",
                             "Invariant violated, matched multiple nodes", ret);
    }
    if (look->node->m.deleted_ns) {
        return false;
    }
    if (labels_get(&look->node->m.labels, L_REGISTERED) != V_TRUE ||
        node_has_taint(look->rt, look->node, TAINT_UNREGISTERED)) {
        *ret = sync_node(look);
        return true;
    }
    struct cond_edit e;
    cond_begin(&e, &look->nc->conditions, &look->nc->m, look->now_ns);
    cond_set(&e, "Registered", STATUS_TRUE, NULL, NULL);
    return lifecycle_write(look, &e, look->node->m.name, on_registered, ret);
}
