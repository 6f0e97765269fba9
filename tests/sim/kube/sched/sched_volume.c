/* sched_volume.c - see sched_volume.h */
#include "sched_volume.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "tests/sim/kube/jsonsel.h"
#include "tests/sim/kube/work/volumes.h"

/* ---- claims of a pod --------------------------------------------------------------------------
 */

static void refuse(struct sim_pod_volumes *v, const char *fmt, const char *a)
{
    if (v->refused[0] == '\0') {
        snprintf(v->refused, sizeof(v->refused), fmt, a);
    }
}

static void read_unbound(struct sim_cluster *c, struct sim_pod_volumes *v,
                         struct sim_pod_volume *one)
{
    const char *class = jsonx_str_or(one->claim, "spec.storageClassName", "");
    one->class = (json_t *)sim_api_get(c->api, SIM_STORAGECLASS, NULL, class);
    if (!str_eq(jsonx_str(one->class, "volumeBindingMode"), "WaitForFirstConsumer")) {
        refuse(v, "pod has unbound immediate PersistentVolumeClaims%s", "");
    }
}

static void read_claim(struct sim_cluster *c, const struct sim_sched_pod *p, const char *name,
                       struct sim_pod_volumes *v)
{
    struct sim_pod_volume one = {.claim = (json_t *)sim_api_get(c->api, SIM_PVC, p->ns, name)};
    if (!one.claim) {
        refuse(v, "persistentvolumeclaim \"%s\" not found", name);
        return;
    }
    if (jsonx_str(one.claim, "metadata.deletionTimestamp")) {
        refuse(v, "persistentvolumeclaim \"%s\" is being deleted", name);
    }
    const char *volume = jsonx_str_or(one.claim, "spec.volumeName", "");
    if (volume[0]) {
        one.volume = (json_t *)sim_api_get(c->api, SIM_PV, NULL, volume);
    } else {
        read_unbound(c, v, &one);
    }
    AUTO_FREE char *key = xasprintf("%s/%s", p->ns, name);
    const json_t *modes = jsonx_at(one.claim, "spec.accessModes");
    v->once_taken =
        v->once_taken || (str_eq(json_string_value(json_array_get(modes, 0)), "ReadWriteOncePod") &&
                          map_has(c->claims, key));
    if (v->n < SIM_POD_VOLUMES_MAX) {
        v->v[v->n++] = one;
    }
}

void sim_volumes_read(struct sim_cluster *c, const struct sim_sched_pod *p,
                      struct sim_pod_volumes *ret)
{
    char text[512];
    size_t i;
    json_t *volume;
    ret->n = 0;
    ret->once_taken = false;
    ret->refused[0] = '\0';
    if (!p->claims) {
        return;
    }
    json_array_foreach (jsonx_at(p->obj, "spec.volumes"), i, volume) {
        const char *name = sim_claim_of(p->obj, volume, text, sizeof(text));
        if (name) {
            read_claim(c, p, name, ret);
        }
    }
}

/* ---- attach limits ----------------------------------------------------------------------------
 */

static const char *driver_of(const struct sim_cluster *c, const json_t *claim)
{
    const char *volume = jsonx_str_or(claim, "spec.volumeName", "");
    if (volume[0]) {
        return jsonx_str_or(sim_api_get(c->api, SIM_PV, NULL, volume), "spec.csi.driver", "");
    }
    const char *class = jsonx_str_or(claim, "spec.storageClassName", "");
    return jsonx_str_or(sim_api_get(c->api, SIM_STORAGECLASS, NULL, class), "provisioner", "");
}

/* The volume's own name; of a claim that is not bound yet, one that stands for it. */
static char *volume_name(const json_t *claim)
{
    const char *volume = jsonx_str_or(claim, "spec.volumeName", "");
    return volume[0] ? xstrdup(volume)
                     : xasprintf("%s/%s", jsonx_str_or(claim, "metadata.namespace", ""),
                                 jsonx_str_or(claim, "metadata.name", ""));
}

/* -1 = no limit. */
static int64_t limit_of(const struct sim_cluster *c, const char *node, const char *driver)
{
    size_t i;
    json_t *d;
    json_array_foreach (jsonx_at(sim_api_get(c->api, SIM_CSINODE, NULL, node), "spec.drivers"), i,
                        d) {
        if (str_eq(jsonx_str(d, "name"), driver)) {
            return jsonx_int(d, "allocatable.count", -1);
        }
    }
    return -1;
}

static void add_pod_volumes(const struct sim_cluster *c, const struct sim_sched_pod *p,
                            const char *driver, struct map *set)
{
    char text[512];
    size_t i;
    json_t *volume;
    json_array_foreach (jsonx_at(p->obj, "spec.volumes"), i, volume) {
        const char *name = sim_claim_of(p->obj, volume, text, sizeof(text));
        const json_t *claim = name ? sim_api_get(c->api, SIM_PVC, p->ns, name) : NULL;
        if (claim && str_eq(driver_of(c, claim), driver)) {
            AUTO_FREE char *key = volume_name(claim);
            map_put(set, key, set, NULL);
        }
    }
}

/* Volumes of the driver that the node has or will have, with the pod's. */
static size_t volumes_with(const struct sim_cluster *c, const struct sim_pod_volumes *v,
                           const struct sim_sched_node *n, const char *driver)
{
    struct map *set = map_new(SIM_API_OBJECTS_MAX);
    for (size_t i = 0; n->n_claim_pods > 0 && i < n->n_pods; i++) {
        if (n->pods[i]->claims) {
            add_pod_volumes(c, n->pods[i], driver, set);
        }
    }
    if (n->attached) {
        for (MAP_EACH(n->attached, e)) {
            map_put(set, map_key(e), set, NULL);
        }
    }
    size_t had = map_count(set);
    for (size_t i = 0; i < v->n; i++) {
        if (str_eq(driver_of(c, v->v[i].claim), driver)) {
            AUTO_FREE char *key = volume_name(v->v[i].claim);
            map_put(set, key, set, NULL);
        }
    }
    size_t has = map_count(set);
    map_free(set);
    return has > had ? has : 0; /* nothing new asks for no room */
}

static bool over_limit(const struct sim_cluster *c, const struct sim_pod_volumes *v,
                       const struct sim_sched_node *n)
{
    for (size_t i = 0; i < v->n; i++) {
        const char *driver = driver_of(c, v->v[i].claim);
        int64_t limit = limit_of(c, n->name, driver);
        if (limit >= 0 && (int64_t)volumes_with(c, v, n, driver) > limit) {
            return true;
        }
    }
    return false;
}

/* ---- binding ----------------------------------------------------------------------------------
 */

static bool node_in_terms(const json_t *terms, const json_t *node)
{
    size_t i;
    json_t *term;
    json_array_foreach ((json_t *)terms, i, term) {
        if (jsonsel_match_node_term(term, node)) {
            return true;
        }
    }
    return !terms;
}

static bool volume_reaches(const json_t *volume, const json_t *node)
{
    return node_in_terms(jsonx_at(volume, "spec.nodeAffinity.required.nodeSelectorTerms"), node);
}

/* allowedTopologies of a class: terms of key and values. */
static bool class_reaches(const json_t *class, const json_t *node)
{
    const json_t *allowed = json_object_get(class, "allowedTopologies");
    const json_t *labels = jsonx_at(node, "metadata.labels");
    size_t i, k;
    json_t *term, *expr;
    bool any = json_array_size(allowed) == 0;
    json_array_foreach ((json_t *)allowed, i, term) {
        bool all = true;
        json_array_foreach (json_object_get(term, "matchLabelExpressions"), k, expr) {
            json_t *as_in = json_pack("{s:O?, s:s, s:O?}", "key", json_object_get(expr, "key"),
                                      "operator", "In", "values", json_object_get(expr, "values"));
            all = all && jsonsel_match_expr(as_in, labels);
            json_decref(as_in);
        }
        any = any || all;
    }
    return any;
}

static const json_t *free_volume(const struct sim_cluster *c, const struct sim_pod_volume *v,
                                 const json_t *node)
{
    for (size_t i = 0; i < sim_api_count(c->api, SIM_PV); i++) {
        const json_t *volume = sim_api_at(c->api, SIM_PV, i);
        if (sim_volume_suits(volume, v->claim) && volume_reaches(volume, node)) {
            return volume;
        }
    }
    return NULL;
}

static bool can_provision(const struct sim_pod_volume *v, const json_t *node)
{
    const char *provisioner = jsonx_str_or(v->class, "provisioner", "");
    return provisioner[0] && !str_eq(provisioner, "kubernetes.io/no-provisioner") &&
           class_reaches(v->class, node);
}

const char *sim_volumes_fit(struct sim_cluster *c, const struct sim_sched_pod *p,
                            const struct sim_pod_volumes *v, const struct sim_sched_node *n,
                            bool *ret_final)
{
    *ret_final = false;
    if (!p->claims) {
        return NULL;
    }
    if (v->once_taken) {
        return "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
               "already in-use by another pod";
    }
    if (over_limit(c, v, n)) {
        return "node(s) exceed max volume count";
    }
    *ret_final = true;
    for (size_t i = 0; i < v->n; i++) {
        const struct sim_pod_volume *one = &v->v[i];
        if (one->volume && !volume_reaches(one->volume, n->obj)) {
            return "node(s) didn't match PersistentVolume's node affinity";
        }
        if (!one->volume && jsonx_str(one->claim, "spec.volumeName")) {
            return "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";
        }
        if (!one->volume && !free_volume(c, one, n->obj) && !can_provision(one, n->obj)) {
            return "node(s) didn't find available persistent volumes to bind";
        }
    }
    return NULL;
}

static void bind_one(struct sim_cluster *c, const char *who, const struct sim_pod_volume *v,
                     const struct sim_sched_node *n)
{
    const json_t *volume = free_volume(c, v, n->obj);
    if (volume) {
        AUTO_FREE char *name = xstrdup(jsonx_str_or(volume, "metadata.name", ""));
        sim_api_patch(c->api, who, SIM_PV, "", NULL, name,
                      json_pack("{s:{s:o}}", "spec", "claimRef", sim_claim_ref(v->claim)), NULL,
                      NULL);
        return;
    }
    AUTO_FREE char *ns = xstrdup(jsonx_str_or(v->claim, "metadata.namespace", ""));
    AUTO_FREE char *name = xstrdup(jsonx_str_or(v->claim, "metadata.name", ""));
    sim_api_patch(c->api, who, SIM_PVC, "", ns, name,
                  json_pack("{s:{s:{s:s}}}", "metadata", "annotations", SIM_SELECTED_NODE, n->name),
                  NULL, NULL);
}

bool sim_volumes_bind(struct sim_cluster *c, const char *who, const struct sim_sched_pod *p,
                      const struct sim_sched_node *n)
{
    struct sim_pod_volumes v;
    sim_volumes_read(c, p, &v);
    bool any = false;
    for (size_t i = 0; i < v.n; i++) {
        any = any || !v.v[i].volume;
        json_incref(v.v[i].claim);
        json_incref(v.v[i].class);
    }
    for (size_t i = 0; i < v.n; i++) {
        if (!v.v[i].volume) {
            bind_one(c, who, &v.v[i], n);
        }
        json_decref(v.v[i].claim);
        json_decref(v.v[i].class);
    }
    return any;
}

static bool is_under_way(const struct sim_pod_volume *v)
{
    return json_object_get(jsonx_at(v->claim, "metadata.annotations"), SIM_SELECTED_NODE) ||
           jsonx_str_or(v->claim, "spec.volumeName", "")[0];
}

enum sim_binding sim_volumes_binding(struct sim_cluster *c, const struct sim_sched_pod *p)
{
    struct sim_pod_volumes v;
    sim_volumes_read(c, p, &v);
    enum sim_binding state = v.refused[0] ? SIM_BINDING_FAILED : SIM_BINDING_DONE;
    for (size_t i = 0; i < v.n && state != SIM_BINDING_FAILED; i++) {
        bool bound = v.v[i].volume && str_eq(jsonx_str(v.v[i].claim, "status.phase"), "Bound");
        if (!bound) {
            state = is_under_way(&v.v[i]) || free_volume(c, &v.v[i], p->node->obj)
                        ? SIM_BINDING_WAITS
                        : SIM_BINDING_FAILED;
        }
    }
    return state;
}
