/*
 * statefulset.c - the StatefulSet controller. Pods are NAME-0, NAME-1, …; each has the claims of
 * volumeClaimTemplates (TEMPLATE-NAME-0), which outlive it. OrderedReady: one after the other up,
 * each once the one before is ready, one after the other down, from the highest; Parallel: all at
 * once. RollingUpdate replaces pods of an old revision from the highest ordinal down to partition,
 * the next once the last is ready; OnDelete replaces those that are deleted. See workloads.h.
 */
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "workloads_part.h"

#define WHO "statefulset-controller"
#define HASH_LABEL "controller-revision-hash"
#define NAME_LABEL "statefulset.kubernetes.io/pod-name"
#define INDEX_LABEL "apps.kubernetes.io/pod-index"
#define REPLICAS_MAX 10000

struct round {
    struct sim_workloads *c;
    json_t *set;
    const char *ns, *name;
    char hash[16];
    int64_t want, start; /* ordinals [start, start + want) */
    bool parallel;
    json_t *by_ordinal; /* "0" -> pod, whatever state it is in */
    int64_t highest;    /* ordinal there is, -1 = none */
    json_int_t have, ready, available, updated;
};

/* ---- pods and claims --------------------------------------------------------------------------
 */

static json_t *claim_of(const struct round *r, const json_t *template, int64_t ordinal)
{
    json_t *claim = json_deep_copy(template);
    AUTO_FREE char *name = xasprintf("%s-%s-%lld", jsonx_str_or(template, "metadata.name", ""),
                                     r->name, (long long)ordinal);
    jsonx_set_new(claim, "metadata.name", json_string(name));
    jsonx_set_new(claim, "metadata.namespace", json_string(r->ns));
    json_t *labels = jsonx_at(r->set, "spec.selector.matchLabels");
    if (labels) {
        json_t *own = jsonx_at(claim, "metadata.labels");
        json_t *all = own ? json_copy(own) : json_object();
        json_object_update(all, labels);
        jsonx_set_new(claim, "metadata.labels", all);
    }
    return claim;
}

/* Makes the claims that are missing, and gives the pod's spec a volume for each. */
static void add_claims(const struct round *r, json_t *spec, int64_t ordinal)
{
    size_t i;
    json_t *template;
    json_t *templates = jsonx_at(r->set, "spec.volumeClaimTemplates");
    json_array_foreach (templates, i, template) {
        const char *volume = jsonx_str_or(template, "metadata.name", "");
        json_t *claim = claim_of(r, template, ordinal);
        AUTO_FREE char *name = xstrdup(jsonx_str_or(claim, "metadata.name", ""));
        if (!json_object_get(spec, "volumes")) {
            json_object_set_new(spec, "volumes", json_array());
        }
        json_array_append_new(json_object_get(spec, "volumes"),
                              json_pack("{s:s, s:{s:s}}", "name", volume, "persistentVolumeClaim",
                                        "claimName", name));
        if (sim_api_get(r->c->w->api, SIM_PVC, r->ns, name)) {
            json_decref(claim);
        } else {
            sim_api_create(r->c->w->api, WHO, SIM_PVC, claim, NULL, NULL);
        }
    }
}

static void make_pod(const struct round *r, int64_t ordinal)
{
    char index[24];
    AUTO_FREE char *name = xasprintf("%s-%lld", r->name, (long long)ordinal);
    json_t *pod = sim_pod_from(jsonx_at(r->set, "spec.template"), r->set, "");
    json_t *meta = json_object_get(pod, "metadata"), *spec = json_object_get(pod, "spec");
    json_object_del(meta, "generateName");
    json_object_set_new(meta, "name", json_string(name));
    json_t *labels = json_object_get(meta, "labels");
    if (!labels) {
        labels = json_object();
        json_object_set_new(meta, "labels", labels);
    }
    snprintf(index, sizeof(index), "%lld", (long long)ordinal);
    json_object_set_new(labels, HASH_LABEL, json_string(r->hash));
    json_object_set_new(labels, NAME_LABEL, json_string(name));
    json_object_set_new(labels, INDEX_LABEL, json_string(index));
    json_object_set_new(spec, "hostname", json_string(name));
    add_claims(r, spec, ordinal);
    sim_api_create(r->c->w->api, WHO, SIM_POD, pod, NULL, NULL);
}

static void drop(const struct round *r, const json_t *pod)
{
    sim_api_delete(r->c->w->api, WHO, SIM_POD, r->ns, jsonx_str(pod, "metadata.name"),
                   jsonx_str(pod, "metadata.uid"), -1, "Background", NULL);
}

static bool is_old(const struct round *r, const json_t *pod)
{
    const json_t *label = json_object_get(jsonx_at(pod, "metadata.labels"), HASH_LABEL);
    return !str_eq(json_string_value(label), r->hash);
}

/* -1 if the pod's name is none of the set's. */
static int64_t ordinal_of(const struct round *r, const json_t *pod)
{
    int64_t n;
    const char *name = jsonx_str_or(pod, "metadata.name", "");
    size_t len = strlen(r->name);
    bool ours = strncmp(name, r->name, len) == 0 && name[len] == '-';
    return ours && str_parse_i64(name + len + 1, &n) && n >= 0 ? n : -1;
}

static json_t *pod_at(const struct round *r, int64_t ordinal)
{
    char key[24];
    snprintf(key, sizeof(key), "%lld", (long long)ordinal);
    return json_object_get(r->by_ordinal, key);
}

/* ---- one round --------------------------------------------------------------------------------
 */

static bool runs_well(const struct round *r, const json_t *pod)
{
    return pod && !sim_pod_terminating(pod) &&
           sim_pod_available(r->c, SIM_STATEFULSET, r->set, pod);
}

/* Up: false if a pod has to be waited for before anything else may happen. */
static bool fill(const struct round *r)
{
    for (int64_t i = r->start; i < r->start + r->want; i++) {
        const json_t *pod = pod_at(r, i);
        if (pod && sim_pod_over(pod) && !sim_pod_terminating(pod)) {
            drop(r, pod);
        } else if (!pod) {
            make_pod(r, i);
        }
        if (!r->parallel && !runs_well(r, pod)) {
            return false;
        }
    }
    return true;
}

/* Down, from the highest; false if one is on its way. */
static bool shrink(const struct round *r)
{
    for (int64_t i = r->highest; i >= 0; i--) {
        const json_t *pod = i < r->start || i >= r->start + r->want ? pod_at(r, i) : NULL;
        if (pod && !sim_pod_terminating(pod)) {
            drop(r, pod);
        }
        if (pod && !r->parallel) {
            return false;
        }
    }
    return true;
}

static void roll(const struct round *r)
{
    int64_t from = jsonx_int(r->set, "spec.updateStrategy.rollingUpdate.partition", 0);
    if (str_eq(jsonx_str(r->set, "spec.updateStrategy.type"), "OnDelete")) {
        return;
    }
    for (int64_t i = r->start + r->want; i-- > r->start + from;) {
        const json_t *pod = pod_at(r, i);
        if (pod && is_old(r, pod) && !sim_pod_terminating(pod)) {
            drop(r, pod);
            return;
        }
        if (!runs_well(r, pod)) {
            return;
        }
    }
}

static void sort_pods(struct round *r)
{
    AUTO_JSON json_t *pods =
        sim_index_collect(&r->c->pods_of, jsonx_str_or(r->set, "metadata.uid", ""), false);
    size_t i;
    json_t *pod;
    json_array_foreach (pods, i, pod) {
        char key[24];
        int64_t n = ordinal_of(r, pod);
        if (n < 0 || n >= REPLICAS_MAX) {
            continue;
        }
        snprintf(key, sizeof(key), "%lld", (long long)n);
        json_object_set(r->by_ordinal, key, pod);
        r->highest = n > r->highest ? n : r->highest;
        r->have++;
        r->ready += sim_pod_ready(pod) && !sim_pod_terminating(pod);
        r->available += runs_well(r, pod);
        r->updated += !is_old(r, pod);
    }
}

static void update_status(const struct round *r)
{
    sim_status_update(r->c, WHO, r->set,
                      json_pack("{s:I, s:I, s:I, s:I, s:I, s:s, s:I}", "replicas", r->have,
                                "readyReplicas", r->ready, "availableReplicas", r->available,
                                "updatedReplicas", r->updated, "currentReplicas", r->updated,
                                "updateRevision", r->hash, "observedGeneration",
                                (json_int_t)jsonx_int(r->set, "metadata.generation", 0)));
}

void sim_statefulset_reconcile(struct sim_workloads *c, const char *ns, const char *name)
{
    const json_t *stored = sim_api_get(c->w->api, SIM_STATEFULSET, ns, name);
    if (!stored || jsonx_str(stored, "metadata.deletionTimestamp")) {
        return;
    }
    sim_adopt(c, WHO, stored);
    struct round r = {
        .c = c, .set = json_incref((json_t *)stored), .ns = ns, .name = name, .highest = -1};
    r.want = jsonx_int(r.set, "spec.replicas", 1);
    r.want = r.want > REPLICAS_MAX ? REPLICAS_MAX : r.want;
    r.start = jsonx_int(r.set, "spec.ordinals.start", 0);
    r.parallel = str_eq(jsonx_str(r.set, "spec.podManagementPolicy"), "Parallel");
    r.by_ordinal = json_object();
    sim_template_hash(jsonx_at(r.set, "spec.template"), r.hash);
    sort_pods(&r);
    if (fill(&r) && shrink(&r)) {
        roll(&r);
    }
    update_status(&r);
    json_decref(r.by_ordinal);
    json_decref(r.set);
}
