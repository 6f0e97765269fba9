/* sched_news.c - what the scheduler hears of nodes, pods and volumes; see sched_part.h */
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "sched_part.h"

/* ---- news --------------------------------------------------------------------------------------
 */

/* What of a node a scheduling decision can depend on. */
static bool node_matters(const json_t *a, const json_t *b)
{
    return !a || !json_equal(json_object_get(a, "spec"), json_object_get(b, "spec")) ||
           !json_equal(jsonx_at(a, "metadata.labels"), jsonx_at(b, "metadata.labels")) ||
           !json_equal(jsonx_at(a, "status.allocatable"), jsonx_at(b, "status.allocatable"));
}

static void on_node(struct sim_sched *s, const struct sim_change *c)
{
    bool gone = c->type == KUBE_DELETED;
    struct sim_sched_node *n =
        sim_cluster_node(&s->cluster, jsonx_str_or(c->after, "metadata.name", ""));
    bool matters = gone || node_matters(c->before, c->after);
    sim_cluster_set_node(&s->cluster, n, gone ? NULL : c->after);
    if (matters) {
        sim_sched_epoch_moved(s);
    }
}

static void pod_forget(struct sim_sched *s, struct sim_sched_pod *p)
{
    struct sim_sched_node *n = p->node;
    sim_sched_dequeue(s, p);
    s->n_binding -= p->binding;
    if (n) {
        sim_cluster_unplace(&s->cluster, p);
        sim_cluster_drop_idle(&s->cluster, n);
    }
    if (n || p->nominated) {
        sim_sched_epoch_moved(s);
    }
    map_del(s->cluster.pods, p->uid);
    sim_cluster_pod_free(&s->cluster, p);
}

static bool is_ours_to_place(const json_t *pod)
{
    return sim_pod_node(pod)[0] == '\0' && !sim_pod_terminating(pod) &&
           str_eq(jsonx_str(pod, "spec.schedulerName"), "default-scheduler") &&
           json_array_size(jsonx_at(pod, "spec.schedulingGates")) == 0;
}

/* A pod that is placed can let in others that look for company or for an even spread. */
static bool somebody_waits_for_pods(const struct sim_sched *s)
{
    for (MAP_EACH(s->cluster.pods, e)) {
        const struct sim_sched_pod *p = map_value(e);
        if (p->topological && p->pending && !p->active) {
            return true;
        }
    }
    return false;
}

/* The pod is bound to a node now: by us (then it stands there already) or by somebody else. */
static void pod_bound(struct sim_sched *s, struct sim_sched_pod *p, json_t *pod)
{
    struct sim_sched_node *n = sim_cluster_node(&s->cluster, sim_pod_node(pod));
    bool was_terminating = p->terminating;
    sim_sched_dequeue(s, p);
    s->n_binding -= p->binding;
    p->binding = false;
    sim_cluster_nominate(&s->cluster, p, NULL);
    if (p->node && p->node != n) {
        sim_cluster_unplace(&s->cluster, p);
    }
    if (p->node) {
        sim_cluster_pod_refresh(&s->cluster, p, pod);
    } else {
        sim_cluster_pod_read(p, pod);
        sim_cluster_place(&s->cluster, p, n);
        if (somebody_waits_for_pods(s)) {
            sim_sched_epoch_moved(s);
        }
    }
    if (p->terminating && !was_terminating && somebody_waits_for_pods(s)) {
        sim_sched_epoch_moved(s);
    }
}

static bool reads_anew(const struct sim_sched_pod *p, const json_t *pod)
{
    return !p->obj ||
           !sim_json_same(json_object_get(p->obj, "spec"), json_object_get(pod, "spec")) ||
           !sim_json_same(jsonx_at(p->obj, "metadata.labels"), jsonx_at(pod, "metadata.labels"));
}

static void pod_queued(struct sim_sched *s, struct sim_sched_pod *p, json_t *pod)
{
    bool changed = reads_anew(p, pod);
    if (p->binding) {
        return; /* it stands somewhere already; only its volumes are missing */
    }
    if (changed) {
        sim_cluster_pod_read(p, pod);
    } else {
        json_decref(p->obj);
        p->obj = json_incref(pod);
    }
    sim_cluster_nominate(&s->cluster, p, jsonx_str_or(pod, "status.nominatedNodeName", ""));
    if (p == s->current) {
        return;
    }
    if (!p->pending) {
        sim_sched_enqueue(s, p);
    } else if (changed && !p->active) {
        sim_sched_dequeue(s, p);
        sim_sched_enqueue(s, p);
    }
}

static void on_pod(struct sim_sched *s, const struct sim_change *c)
{
    struct sim_sched_pod *p = map_get(s->cluster.pods, jsonx_str_or(c->after, "metadata.uid", ""));
    bool bound = sim_pod_node(c->after)[0] != '\0';
    bool gone = c->type == KUBE_DELETED || sim_pod_over(c->after);
    if (gone || (!bound && !is_ours_to_place(c->after))) {
        if (p) {
            pod_forget(s, p);
        }
        return;
    }
    if (p && !bound && c->before && sim_pod_node(c->before)[0] != '\0') {
        pod_forget(s, p); /* an etcd restore took it off its node: it holds nothing there */
        p = NULL;
    }
    if (!p) {
        p = sim_cluster_pod_new(&s->cluster, c->after);
    }
    if (bound) {
        pod_bound(s, p, c->after);
    } else {
        pod_queued(s, p, c->after);
    }
}

static void on_attachment(struct sim_sched *s, const struct sim_change *c)
{
    const char *volume = jsonx_str(c->after, "spec.source.persistentVolumeName");
    if (volume && c->type != KUBE_MODIFIED) {
        sim_cluster_attach(&s->cluster, jsonx_str_or(c->after, "spec.nodeName", ""), volume,
                           c->type == KUBE_ADDED);
        sim_sched_epoch_moved(s);
    }
}

void sim_sched_on_change(void *ctx, const struct sim_change *c)
{
    struct sim_sched *s = ctx;
    switch (c->kind) {
    case SIM_POD:
        on_pod(s, c);
        break;
    case SIM_NODE:
        on_node(s, c);
        break;
    case SIM_VOLUMEATTACHMENT:
        on_attachment(s, c);
        break;
    case SIM_PVC:
    case SIM_PV:
    case SIM_STORAGECLASS:
    case SIM_CSINODE:
    case SIM_NAMESPACE:
        sim_sched_epoch_moved(s);
        sim_sched_kick_bind(s);
        break;
    default:
        break;
    }
}
