/* claims.c - claims and the volumes they get; see volumes.h */
#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "common/base/jsonx.h"
#include "common/base/map.h"
#include "common/base/quantity.h"
#include "common/base/str.h"
#include "tests/sim/kube/jsonsel.h"
#include "tests/sim/kube/sched/sched_cache.h"
#include "volumes.h"

#define WHO_BINDER "persistentvolume-binder"
#define WHO_PROVISIONER "ebs-csi-provisioner"
#define WHO_PROTECTION "pvc-protection-controller"
#define WHO_EPHEMERAL "ephemeral-volume-controller"
#define PROTECTION "kubernetes.io/pvc-protection"
#define ZONE "topology.kubernetes.io/zone"
#define LOOK_NS (5 * NS_PER_MS)

struct sim_claims {
    struct sim_world *w;
    bool off;
    struct map *due;   /* "c/NS/NAME", "v/NAME", "p/NS/NAME" -> self: to be looked at */
    struct map *users; /* "NS/CLAIM" -> (pod uid -> self), pods that are not over */
    struct map *makes; /* claim uid -> struct make */
    struct timer timer;
};

/* A volume that is being made, or taken away. */
struct make {
    struct sim_claims *v;
    char *key, *ns, *name; /* of the claim; of the volume with ns NULL */
    struct timer timer;
};

static void on_timer(void *arg);

static const char *text_at(const json_t *o, const char *path)
{
    return jsonx_str_or(o, path, "");
}

static const char *annotation(const json_t *o, const char *key)
{
    return json_string_value(json_object_get(jsonx_at(o, "metadata.annotations"), key));
}

static void look(struct sim_claims *v, char kind, const char *ns, const char *name)
{
    AUTO_FREE char *key = xasprintf("%c/%s/%s", kind, ns, name);
    map_put(v->due, key, v, NULL);
    if (!v->off && !timer_pending(&v->timer)) {
        vclock_set(&v->w->clock, &v->timer, LOOK_NS, on_timer, v);
    }
}

/* ---- suiting ----------------------------------------------------------------------------------
 */

static int64_t bytes_at(const json_t *o, const char *path)
{
    int64_t n;
    const char *s = jsonx_str(o, path);
    return s && quantity_parse(s, &n) ? n : 0;
}

static bool has_modes(const json_t *have, const json_t *want)
{
    size_t i, k;
    json_t *w, *h;
    json_array_foreach ((json_t *)want, i, w) {
        bool found = false;
        json_array_foreach ((json_t *)have, k, h) {
            found = found || json_equal(h, w);
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

bool sim_volume_suits(const json_t *volume, const json_t *claim)
{
    const json_t *ref = jsonx_at(volume, "spec.claimRef");
    const json_t *selector = jsonx_at(claim, "spec.selector");
    bool promised =
        ref && (!str_eq(text_at(ref, "name"), text_at(claim, "metadata.name")) ||
                !str_eq(text_at(ref, "namespace"), text_at(claim, "metadata.namespace")));
    return !promised && !jsonx_str(volume, "metadata.deletionTimestamp") &&
           !str_eq(text_at(volume, "status.phase"), "Released") &&
           str_eq(text_at(volume, "spec.storageClassName"),
                  text_at(claim, "spec.storageClassName")) &&
           bytes_at(volume, "spec.capacity.storage") >=
               bytes_at(claim, "spec.resources.requests.storage") &&
           has_modes(jsonx_at(volume, "spec.accessModes"), jsonx_at(claim, "spec.accessModes")) &&
           (!selector || jsonsel_match_selector(selector, jsonx_at(volume, "metadata.labels")));
}

json_t *sim_claim_ref(const json_t *claim)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s}", "apiVersion", "v1", "kind",
                     "PersistentVolumeClaim", "namespace", text_at(claim, "metadata.namespace"),
                     "name", text_at(claim, "metadata.name"), "uid",
                     text_at(claim, "metadata.uid"));
}

/* ---- binding ----------------------------------------------------------------------------------
 */

static void set_volume_phase(struct sim_claims *v, const json_t *volume, const char *phase)
{
    if (!str_eq(text_at(volume, "status.phase"), phase)) {
        sim_api_patch(v->w->api, WHO_BINDER, SIM_PV, "status", NULL,
                      text_at(volume, "metadata.name"),
                      json_pack("{s:{s:s}}", "status", "phase", phase), NULL, NULL);
    }
}

/* Both sides point at each other. claim and volume are borrowed; the store moves on under them. */
static void bind(struct sim_claims *v, const json_t *claim, const json_t *volume)
{
    AUTO_JSON json_t *c = json_incref((json_t *)claim), *pv = json_incref((json_t *)volume);
    const char *ns = text_at(c, "metadata.namespace"), *name = text_at(c, "metadata.name");
    const char *pv_name = text_at(pv, "metadata.name");
    if (!jsonx_at(pv, "spec.claimRef.uid")) {
        sim_api_patch(v->w->api, WHO_BINDER, SIM_PV, "", NULL, pv_name,
                      json_pack("{s:{s:o}}", "spec", "claimRef", sim_claim_ref(c)), NULL, NULL);
    }
    set_volume_phase(v, pv, "Bound");
    if (!str_eq(text_at(c, "spec.volumeName"), pv_name)) {
        sim_api_patch(v->w->api, WHO_BINDER, SIM_PVC, "", ns, name,
                      json_pack("{s:{s:{s:s}}, s:{s:s}}", "metadata", "annotations",
                                "pv.kubernetes.io/bind-completed", "yes", "spec", "volumeName",
                                pv_name),
                      NULL, NULL);
    }
    sim_api_patch(v->w->api, WHO_BINDER, SIM_PVC, "status", ns, name,
                  json_pack("{s:{s:s, s:O?, s:O?}}", "status", "phase", "Bound", "accessModes",
                            jsonx_at(pv, "spec.accessModes"), "capacity",
                            jsonx_at(pv, "spec.capacity")),
                  NULL, NULL);
}

static const json_t *suiting_volume(const struct sim_claims *v, const json_t *claim, bool promised)
{
    for (size_t i = 0; i < sim_api_count(v->w->api, SIM_PV); i++) {
        const json_t *pv = sim_api_at(v->w->api, SIM_PV, i);
        if (sim_volume_suits(pv, claim) && (!promised || jsonx_at(pv, "spec.claimRef"))) {
            return pv;
        }
    }
    return NULL;
}

/* ---- provisioning -----------------------------------------------------------------------------
 */

static void make_free(struct make *m)
{
    timer_stop(&m->v->w->clock.timers, &m->timer);
    free(m->key);
    free(m->ns);
    free(m->name);
    free(m);
}

static void make_later(struct sim_claims *v, const char *key, const char *ns, const char *name,
                       int64_t delay_ns, void (*fn)(void *))
{
    if (map_has(v->makes, key)) {
        return;
    }
    struct make *m = NEW(struct make);
    m->v = v;
    m->key = xstrdup(key);
    m->ns = ns ? xstrdup(ns) : NULL;
    m->name = xstrdup(name);
    map_put(v->makes, key, m, NULL);
    vclock_set(&v->w->clock, &m->timer, delay_ns, fn, m);
}

static void make_over(struct make *m)
{
    map_del(m->v->makes, m->key);
    make_free(m);
}

static json_t *zone_affinity(const json_t *node)
{
    const char *zone = json_string_value(json_object_get(jsonx_at(node, "metadata.labels"), ZONE));
    return zone ? json_pack("{s:{s:[{s:[{s:s, s:s, s:[s]}]}]}}", "required", "nodeSelectorTerms",
                            "matchExpressions", "key", ZONE, "operator", "In", "values", zone)
                : NULL;
}

static json_t *new_volume(const json_t *claim, const json_t *class, const json_t *node)
{
    const char *uid = text_at(claim, "metadata.uid");
    AUTO_FREE char *name = xasprintf("pvc-%s", uid);
    char handle[32];
    snprintf(handle, sizeof(handle), "vol-%016llx",
             (unsigned long long)hash_fnv1a(uid, strlen(uid)));
    return json_pack(
        "{s:{s:s, s:{s:s}}, s:{s:O?, s:O?, s:{s:s, s:s, s:s}, s:s, s:s, s:s, s:o, s:o*}}",
        "metadata", "name", name, "annotations", "pv.kubernetes.io/provisioned-by", SIM_EBS_DRIVER,
        "spec", "capacity", jsonx_at(claim, "spec.resources.requests"), "accessModes",
        jsonx_at(claim, "spec.accessModes"), "csi", "driver", text_at(class, "provisioner"),
        "volumeHandle", handle, "fsType", "ext4", "storageClassName",
        text_at(class, "metadata.name"), "persistentVolumeReclaimPolicy",
        jsonx_str_or(class, "reclaimPolicy", "Delete"), "volumeMode",
        jsonx_str_or(claim, "spec.volumeMode", "Filesystem"), "claimRef", sim_claim_ref(claim),
        "nodeAffinity", zone_affinity(node));
}

static const json_t *class_of(const struct sim_claims *v, const json_t *claim)
{
    return sim_api_get(v->w->api, SIM_STORAGECLASS, NULL, text_at(claim, "spec.storageClassName"));
}

static void on_provision(void *arg)
{
    struct make *m = arg;
    struct sim_claims *v = m->v;
    const json_t *claim = sim_api_get(v->w->api, SIM_PVC, m->ns, m->name);
    const json_t *class = claim ? class_of(v, claim) : NULL;
    const char *chosen = claim ? annotation(claim, SIM_SELECTED_NODE) : NULL;
    const json_t *node = chosen ? sim_api_get(v->w->api, SIM_NODE, NULL, chosen) : NULL;
    bool wanted = class && !jsonx_str(claim, "metadata.deletionTimestamp") &&
                  text_at(claim, "spec.volumeName")[0] == '\0';
    if (wanted && chosen && !node) {
        sim_api_patch(v->w->api, WHO_PROVISIONER, SIM_PVC, "", m->ns, m->name,
                      json_pack("{s:{s:{s:n}}}", "metadata", "annotations", SIM_SELECTED_NODE),
                      NULL, NULL);
    } else if (wanted) {
        sim_api_create(v->w->api, WHO_PROVISIONER, SIM_PV, new_volume(claim, class, node), NULL,
                       NULL);
        look(v, 'c', m->ns, m->name);
    }
    make_over(m);
}

static bool can_provision(const json_t *class)
{
    const char *provisioner = text_at(class, "provisioner");
    return provisioner[0] && !str_eq(provisioner, "kubernetes.io/no-provisioner");
}

static void tend_unbound(struct sim_claims *v, const json_t *claim)
{
    const json_t *class = class_of(v, claim);
    bool waits = str_eq(text_at(class, "volumeBindingMode"), "WaitForFirstConsumer");
    const json_t *volume = suiting_volume(v, claim, waits);
    if (volume) {
        bind(v, claim, volume);
        return;
    }
    if (!str_eq(text_at(claim, "status.phase"), "Pending")) {
        sim_api_patch(v->w->api, WHO_BINDER, SIM_PVC, "status",
                      text_at(claim, "metadata.namespace"), text_at(claim, "metadata.name"),
                      json_pack("{s:{s:s}}", "status", "phase", "Pending"), NULL, NULL);
        return; /* the change leads here again */
    }
    if (can_provision(class) && (!waits || annotation(claim, SIM_SELECTED_NODE))) {
        make_later(v, text_at(claim, "metadata.uid"), text_at(claim, "metadata.namespace"),
                   text_at(claim, "metadata.name"), SIM_PROVISION_NS, on_provision);
    }
}

/* ---- protection and reclaim -------------------------------------------------------------------
 */

static bool in_use(const struct sim_claims *v, const json_t *claim)
{
    AUTO_FREE char *key =
        xasprintf("%s/%s", text_at(claim, "metadata.namespace"), text_at(claim, "metadata.name"));
    return map_has(v->users, key);
}

static void release_claim(struct sim_claims *v, const json_t *claim)
{
    json_t *left = json_array();
    size_t i;
    json_t *f;
    json_array_foreach (jsonx_at(claim, "metadata.finalizers"), i, f) {
        if (!str_eq(json_string_value(f), PROTECTION)) {
            json_array_append(left, f);
        }
    }
    sim_api_patch(v->w->api, WHO_PROTECTION, SIM_PVC, "", text_at(claim, "metadata.namespace"),
                  text_at(claim, "metadata.name"),
                  json_pack("{s:{s:o}}", "metadata", "finalizers", left), NULL, NULL);
}

static void tend_claim(struct sim_claims *v, const char *ns, const char *name)
{
    const json_t *claim = sim_api_get(v->w->api, SIM_PVC, ns, name);
    if (!claim) {
        return;
    }
    const char *volume = text_at(claim, "spec.volumeName");
    if (jsonx_str(claim, "metadata.deletionTimestamp")) {
        if (!in_use(v, claim)) {
            release_claim(v, claim);
        }
    } else if (volume[0] == '\0') {
        tend_unbound(v, claim);
    } else if (!str_eq(text_at(claim, "status.phase"), "Bound")) {
        const json_t *pv = sim_api_get(v->w->api, SIM_PV, NULL, volume);
        if (pv) {
            bind(v, claim, pv);
        }
    }
}

static bool is_attached(const struct sim_claims *v, const char *volume)
{
    for (size_t i = 0; i < sim_api_count(v->w->api, SIM_VOLUMEATTACHMENT); i++) {
        const json_t *a = sim_api_at(v->w->api, SIM_VOLUMEATTACHMENT, i);
        if (str_eq(text_at(a, "spec.source.persistentVolumeName"), volume)) {
            return true;
        }
    }
    return false;
}

static void on_reclaim(void *arg)
{
    struct make *m = arg;
    if (is_attached(m->v, m->name)) {
        vclock_set(&m->v->w->clock, &m->timer, SIM_RECLAIM_NS, on_reclaim, m);
        return;
    }
    sim_api_delete(m->v->w->api, WHO_PROVISIONER, SIM_PV, NULL, m->name, NULL, -1, NULL, NULL);
    make_over(m);
}

static void tend_volume(struct sim_claims *v, const char *name)
{
    const json_t *pv = sim_api_get(v->w->api, SIM_PV, NULL, name);
    const json_t *ref = pv ? jsonx_at(pv, "spec.claimRef") : NULL;
    if (!pv || jsonx_str(pv, "metadata.deletionTimestamp")) {
        return;
    }
    if (!ref) {
        set_volume_phase(v, pv, "Available");
        return;
    }
    const json_t *claim =
        sim_api_get(v->w->api, SIM_PVC, text_at(ref, "namespace"), text_at(ref, "name"));
    const char *uid = text_at(ref, "uid");
    if (claim && (!uid[0] || str_eq(uid, text_at(claim, "metadata.uid")))) {
        look(v, 'c', text_at(ref, "namespace"), text_at(ref, "name"));
        return;
    }
    if (uid[0]) {
        AUTO_JSON json_t *keep = json_incref((json_t *)pv);
        set_volume_phase(v, keep, "Released");
        if (str_eq(text_at(keep, "spec.persistentVolumeReclaimPolicy"), "Delete")) {
            make_later(v, text_at(keep, "metadata.uid"), NULL, name, SIM_RECLAIM_NS, on_reclaim);
        }
    }
}

/* ---- ephemeral volumes ------------------------------------------------------------------------
 */

static json_t *ephemeral_claim(const json_t *pod, const json_t *volume, const char *name)
{
    const json_t *template = jsonx_at(volume, "ephemeral.volumeClaimTemplate");
    json_t *meta = json_object_get(template, "metadata");
    json_t *copy = meta ? json_deep_copy(meta) : json_object();
    json_object_set_new(copy, "name", json_string(name));
    json_object_set_new(copy, "namespace", json_string(text_at(pod, "metadata.namespace")));
    json_object_set_new(copy, "ownerReferences",
                        json_pack("[{s:s, s:s, s:s, s:s, s:b, s:b}]", "apiVersion", "v1", "kind",
                                  "Pod", "name", text_at(pod, "metadata.name"), "uid",
                                  text_at(pod, "metadata.uid"), "controller", 1,
                                  "blockOwnerDeletion", 1));
    return json_pack("{s:o, s:o?}", "metadata", copy, "spec",
                     json_deep_copy(json_object_get(template, "spec")));
}

static void tend_pod(struct sim_claims *v, const char *ns, const char *name)
{
    char text[512];
    size_t i;
    json_t *volume;
    AUTO_JSON json_t *pod = json_incref((json_t *)sim_api_get(v->w->api, SIM_POD, ns, name));
    if (!pod || sim_pod_terminating(pod)) {
        return;
    }
    json_array_foreach (jsonx_at(pod, "spec.volumes"), i, volume) {
        const char *claim = sim_claim_of(pod, volume, text, sizeof(text));
        if (json_object_get(volume, "ephemeral") && !sim_api_get(v->w->api, SIM_PVC, ns, claim)) {
            sim_api_create(v->w->api, WHO_EPHEMERAL, SIM_PVC, ephemeral_claim(pod, volume, claim),
                           NULL, NULL);
        }
    }
}

/* ---- following --------------------------------------------------------------------------------
 */

static void use(struct sim_claims *v, const json_t *pod, const char *claim, bool on)
{
    const char *ns = text_at(pod, "metadata.namespace"), *uid = text_at(pod, "metadata.uid");
    AUTO_FREE char *key = xasprintf("%s/%s", ns, claim);
    struct map *set = map_get(v->users, key);
    if (on && !set) {
        set = map_new(SIM_API_OBJECTS_MAX);
        map_put(v->users, key, set, NULL);
    }
    if (on) {
        map_put(set, uid, set, NULL);
    } else if (set) {
        map_del(set, uid);
        if (map_count(set) == 0) {
            map_del(v->users, key);
            map_free(set);
            look(v, 'c', ns, claim);
        }
    }
}

static void on_pod(struct sim_claims *v, const struct sim_change *c)
{
    char text[512];
    size_t i;
    json_t *volume;
    bool on = c->type != KUBE_DELETED && !sim_pod_over(c->after);
    json_array_foreach (jsonx_at(c->after, "spec.volumes"), i, volume) {
        const char *claim = sim_claim_of(c->after, volume, text, sizeof(text));
        if (claim) {
            use(v, c->after, claim, on);
        }
        if (json_object_get(volume, "ephemeral") && c->type == KUBE_ADDED) {
            look(v, 'p', text_at(c->after, "metadata.namespace"),
                 text_at(c->after, "metadata.name"));
        }
    }
}

void sim_claims_change(struct sim_claims *v, const struct sim_change *c)
{
    if (c->kind == SIM_POD) {
        on_pod(v, c);
    } else if (c->kind == SIM_PVC) {
        look(v, 'c', text_at(c->after, "metadata.namespace"), text_at(c->after, "metadata.name"));
        if (c->type == KUBE_DELETED && text_at(c->after, "spec.volumeName")[0]) {
            look(v, 'v', "", text_at(c->after, "spec.volumeName"));
        }
    } else if (c->kind == SIM_PV && c->type != KUBE_DELETED) {
        look(v, 'v', "", text_at(c->after, "metadata.name"));
    }
}

static void tend(struct sim_claims *v, const char *key)
{
    const char *slash = strchr(key + 2, '/');
    AUTO_FREE char *ns = xstrndup(key + 2, (size_t)(slash - key - 2));
    (key[0] == 'c'   ? tend_claim(v, ns, slash + 1)
     : key[0] == 'v' ? tend_volume(v, slash + 1)
                     : tend_pod(v, ns, slash + 1));
}

static void on_timer(void *arg)
{
    struct sim_claims *v = arg;
    struct map *due = v->due;
    v->due = map_new(SIM_API_OBJECTS_MAX);
    for (MAP_EACH(due, e)) {
        tend(v, map_key(e));
    }
    map_free(due);
}

/* ---- life -------------------------------------------------------------------------------------
 */

struct sim_claims *sim_claims_new(struct sim_world *w)
{
    struct sim_claims *v = NEW(struct sim_claims);
    v->w = w;
    v->due = map_new(SIM_API_OBJECTS_MAX);
    v->users = map_new(SIM_API_OBJECTS_MAX);
    v->makes = map_new(SIM_API_OBJECTS_MAX);
    return v;
}

void sim_claims_free(struct sim_claims *v)
{
    timer_stop(&v->w->clock.timers, &v->timer);
    for (MAP_EACH(v->users, u)) {
        map_free(map_value(u));
    }
    for (MAP_EACH(v->makes, m)) {
        make_free(map_value(m));
    }
    map_free(v->users);
    map_free(v->makes);
    map_free(v->due);
    free(v);
}

void sim_claims_run(struct sim_claims *v, bool on)
{
    v->off = !on;
    timer_stop(&v->w->clock.timers, &v->timer);
    if (on && map_count(v->due) > 0) {
        vclock_set(&v->w->clock, &v->timer, LOOK_NS, on_timer, v);
    }
}
