/*
 * daemonset.c - the DaemonSet controller: one pod on every node that its template selects and whose
 * taints it tolerates, bound by kube-scheduler through node affinity on metadata.name. Pods get the
 * tolerations upstream adds. An update replaces maxUnavailable pods at a time. See workloads.h.
 */
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "workloads_part.h"

#define WHO "daemon-set-controller"
#define HASH_LABEL "controller-revision-hash"

/* ---- the pod -----------------------------------------------------------------------------------
 */

static void add_tolerations(json_t *spec)
{
    static const struct {
        const char *key, *effect;
        bool host_network_only;
    } added[] = {
        {"node.kubernetes.io/not-ready", "NoExecute", false},
        {"node.kubernetes.io/unreachable", "NoExecute", false},
        {"node.kubernetes.io/disk-pressure", "NoSchedule", false},
        {"node.kubernetes.io/memory-pressure", "NoSchedule", false},
        {"node.kubernetes.io/pid-pressure", "NoSchedule", false},
        {"node.kubernetes.io/unschedulable", "NoSchedule", false},
        {"node.kubernetes.io/network-unavailable", "NoSchedule", true},
    };
    json_t *list = json_object_get(spec, "tolerations");
    if (!list) {
        list = json_array();
        json_object_set_new(spec, "tolerations", list);
    }
    for (size_t i = 0; i < ARRAY_LEN(added); i++) {
        if (!added[i].host_network_only || jsonx_bool(spec, "hostNetwork", false)) {
            json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "key", added[i].key,
                                                  "operator", "Exists", "effect", added[i].effect));
        }
    }
}

/* Replaces the required node affinity by the one node, as
 * util.ReplaceDaemonSetPodNodeNameNodeAffinity does; what the template demands was checked before.
 */
static void pin_to(json_t *spec, const char *node)
{
    jsonx_set_new(spec, "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution",
                  json_pack("{s:[{s:[{s:s, s:s, s:[s]}]}]}", "nodeSelectorTerms", "matchFields",
                            "key", "metadata.name", "operator", "In", "values", node));
}

static json_t *daemon_pod(const json_t *ds, const char *node, const char *hash)
{
    AUTO_FREE char *prefix = xasprintf("%s-", jsonx_str_or(ds, "metadata.name", ""));
    json_t *pod = sim_pod_from(jsonx_at(ds, "spec.template"), ds, prefix);
    json_t *spec = json_object_get(pod, "spec");
    add_tolerations(spec);
    pin_to(spec, node);
    jsonx_set_new(pod, "metadata.labels." HASH_LABEL, json_string(hash));
    return pod;
}

/* ---- where --------------------------------------------------------------------------------------
 */

struct wanted {
    bool run, stay;
};

/* spec: the template's, with the tolerations added. */
static struct wanted should_run(const json_t *spec, const json_t *node)
{
    struct wanted w = {false, false};
    const json_t *tolerations = json_object_get(spec, "tolerations");
    const json_t *taints = jsonx_at(node, "spec.taints");
    if (sim_node_selected(spec, node)) {
        w.run = !sim_untolerated(tolerations, taints, "NoSchedule", "NoExecute", NULL);
        w.stay = !sim_untolerated(tolerations, taints, "NoExecute", NULL, NULL);
    }
    return w;
}

/* The node a daemon pod is for, also before it is bound. */
static const char *node_of(const json_t *pod)
{
    if (sim_pod_node(pod)[0]) {
        return sim_pod_node(pod);
    }
    const json_t *terms = jsonx_at(pod, "spec.affinity.nodeAffinity."
                                        "requiredDuringSchedulingIgnoredDuringExecution."
                                        "nodeSelectorTerms");
    const json_t *field =
        json_array_get(json_object_get(json_array_get(terms, 0), "matchFields"), 0);
    const char *name = json_string_value(json_array_get(json_object_get(field, "values"), 0));
    return name ? name : "";
}

/* ---- reconcile ----------------------------------------------------------------------------------
 */

struct round {
    struct sim_workloads *c;
    json_t *ds;
    json_t *spec;    /* see should_run */
    json_t *pods;    /* array */
    json_t *live;    /* node -> its pod */
    json_t *leaving; /* node -> true: one is still on its way out */
    char hash[16];
    json_int_t desired, current, ready, available, updated;
};

static void drop(struct sim_workloads *c, const json_t *pod)
{
    sim_api_delete(c->w->api, WHO, SIM_POD, jsonx_str(pod, "metadata.namespace"),
                   jsonx_str(pod, "metadata.name"), jsonx_str(pod, "metadata.uid"), -1,
                   "Background", NULL);
}

static bool is_old(const struct round *r, const json_t *pod)
{
    const json_t *label = json_object_get(jsonx_at(pod, "metadata.labels"), HASH_LABEL);
    return !str_eq(json_string_value(label), r->hash);
}

/* Sorts the pods by node; failed ones, doubles, and those of missing nodes are deleted. */
static void sort_pods(struct round *r)
{
    size_t i;
    json_t *pod;
    json_array_foreach (r->pods, i, pod) {
        const char *node = node_of(pod);
        bool stray = !sim_api_get(r->c->w->api, SIM_NODE, NULL, node);
        if (sim_pod_terminating(pod)) {
            json_object_set_new(r->leaving, node, json_true());
        } else if (stray || sim_pod_over(pod) || json_object_get(r->live, node)) {
            drop(r->c, pod);
            json_object_set_new(r->leaving, node, json_true());
        } else {
            json_object_set(r->live, node, pod);
        }
    }
}

static void tend_node(struct round *r, const json_t *node)
{
    const char *name = jsonx_str_or(node, "metadata.name", "");
    struct wanted w = should_run(r->spec, node);
    const json_t *pod = json_object_get(r->live, name);
    r->desired += w.run;
    if (pod && !w.run && !w.stay) {
        drop(r->c, pod);
    } else if (pod) {
        r->current++;
        r->ready += sim_pod_ready(pod);
        r->available += sim_pod_available(r->c, SIM_DAEMONSET, r->ds, pod);
        r->updated += !is_old(r, pod);
    } else if (w.run && !json_object_get(r->leaving, name)) {
        sim_api_create(r->c->w->api, WHO, SIM_POD, daemon_pod(r->ds, name, r->hash), NULL, NULL);
    }
}

/* Old pods go as long as no more than maxUnavailable are missing. */
static void roll(struct round *r)
{
    const json_t *max = jsonx_at(r->ds, "spec.updateStrategy.rollingUpdate.maxUnavailable");
    int64_t room = sim_int_or_percent(max, r->desired, true, 1) - (r->desired - r->available);
    if (str_eq(jsonx_str(r->ds, "spec.updateStrategy.type"), "OnDelete")) {
        return;
    }
    const char *node;
    json_t *pod;
    json_object_foreach (r->live, node, pod) {
        bool free_of_charge = !sim_pod_available(r->c, SIM_DAEMONSET, r->ds, pod);
        if (is_old(r, pod) && (free_of_charge || room > 0)) {
            room -= free_of_charge ? 0 : 1;
            drop(r->c, pod);
        }
    }
}

static void update_status(struct round *r)
{
    sim_status_update(
        r->c, WHO, r->ds,
        json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "desiredNumberScheduled", r->desired,
                  "currentNumberScheduled", r->current, "numberMisscheduled", (json_int_t)0,
                  "numberReady", r->ready, "numberAvailable", r->available, "numberUnavailable",
                  r->desired - r->available, "updatedNumberScheduled", r->updated,
                  "observedGeneration", (json_int_t)jsonx_int(r->ds, "metadata.generation", 0)));
}

void sim_daemonset_reconcile(struct sim_workloads *c, const char *ns, const char *name)
{
    const json_t *stored = sim_api_get(c->w->api, SIM_DAEMONSET, ns, name);
    if (!stored || jsonx_str(stored, "metadata.deletionTimestamp")) {
        return;
    }
    struct round r = {.c = c, .ds = json_incref((json_t *)stored)};
    sim_adopt(c, WHO, r.ds);
    r.spec = json_deep_copy(jsonx_at(r.ds, "spec.template.spec"));
    r.pods = sim_index_collect(&c->pods_of, jsonx_str_or(r.ds, "metadata.uid", ""), false);
    r.live = json_object();
    r.leaving = json_object();
    add_tolerations(r.spec);
    sim_template_hash(jsonx_at(r.ds, "spec.template"), r.hash);
    sort_pods(&r);
    for (size_t i = 0; i < sim_api_count(c->w->api, SIM_NODE); i++) {
        tend_node(&r, sim_api_at(c->w->api, SIM_NODE, i));
    }
    roll(&r);
    update_status(&r);
    json_decref(r.leaving);
    json_decref(r.live);
    json_decref(r.pods);
    json_decref(r.spec);
    json_decref(r.ds);
}
