/* attach.c - volumes attached to nodes, and what nodes say of their driver; see volumes.h */
#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "common/base/jsonx.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "tests/sim/kube/sched/sched_cache.h"
#include "volumes.h"
#include "workloads_part.h"

#define WHO_CONTROLLER "attachdetach-controller"
#define WHO_ATTACHER "ebs-csi-attacher"
#define WHO_DRIVER "ebs-csi-node"
#define FINALIZER "external-attacher/ebs-csi-aws-com"
#define LOOK_NS (5 * NS_PER_MS)

/* One VolumeAttachment. */
struct attached {
    struct sim_attach *a;
    char *name, *volume, *node;
    bool leaving;        /* it is being deleted */
    int64_t unwanted_ns; /* since when no pod wants it; -1 = one does */
    struct timer timer;
};

struct sim_attach {
    struct sim_world *w;
    bool off;
    struct map *all;       /* VolumeAttachment name -> struct attached */
    struct map *of_volume; /* volume -> (VolumeAttachment name -> struct attached) */
    struct map *users;     /* "NS/CLAIM" -> (pod uid -> self): bound to a node, not over */
    struct map *due;       /* volumes to look at */
    struct map *held;      /* nodes */
    struct map *drivers;   /* node -> struct driver */
    struct timer timer;
};

static void on_timer(void *arg);

static const char *text_at(const json_t *o, const char *path)
{
    return jsonx_str_or(o, path, "");
}

static void look_after(struct sim_attach *a, int64_t delay_ns)
{
    int64_t at = vclock_now(&a->w->clock) + delay_ns;
    if (!a->off && (!timer_pending(&a->timer) || a->timer.at_ns > at)) {
        timer_set(&a->w->clock.timers, &a->timer, at, on_timer, a);
    }
}

static void look(struct sim_attach *a, const char *volume)
{
    map_put(a->due, volume, a, NULL);
    look_after(a, LOOK_NS);
}

/* ---- the attacher -----------------------------------------------------------------------------
 */

static void on_attached(void *arg)
{
    struct attached *t = arg;
    sim_api_patch(t->a->w->api, WHO_ATTACHER, SIM_VOLUMEATTACHMENT, "status", NULL, t->name,
                  json_pack("{s:{s:b}}", "status", "attached", 1), NULL, NULL);
}

static void on_detached(void *arg)
{
    struct attached *t = arg;
    AUTO_FREE char *name = xstrdup(t->name);
    if (!map_has(t->a->held, t->node)) {
        sim_api_patch(t->a->w->api, WHO_ATTACHER, SIM_VOLUMEATTACHMENT, "", NULL, name,
                      json_pack("{s:{s:[]}}", "metadata", "finalizers"), NULL, NULL);
    }
}

static void attached_new(struct sim_attach *a, const json_t *o)
{
    struct attached *t = NEW(struct attached);
    t->a = a;
    t->name = xstrdup(text_at(o, "metadata.name"));
    t->volume = xstrdup(text_at(o, "spec.source.persistentVolumeName"));
    t->node = xstrdup(text_at(o, "spec.nodeName"));
    t->unwanted_ns = -1;
    map_put(a->all, t->name, t, NULL);
    struct map *set = map_get(a->of_volume, t->volume);
    if (!set) {
        set = map_new(SIM_NODES_MAX);
        map_put(a->of_volume, t->volume, set, NULL);
    }
    map_put(set, t->name, t, NULL);
    vclock_set(&a->w->clock, &t->timer, SIM_ATTACH_NS, on_attached, t);
}

static void attached_free(struct attached *t)
{
    timer_stop(&t->a->w->clock.timers, &t->timer);
    free(t->name);
    free(t->volume);
    free(t->node);
    free(t);
}

static void attached_gone(struct sim_attach *a, struct attached *t)
{
    struct map *set = map_get(a->of_volume, t->volume);
    map_del(set, t->name);
    if (map_count(set) == 0) {
        map_del(a->of_volume, t->volume);
        map_free(set);
    }
    map_del(a->all, t->name);
    look(a, t->volume);
    attached_free(t);
}

/* An etcd restore can take back the order to detach, or that it was attached. */
static void set_back(struct sim_attach *a, struct attached *t, const json_t *o)
{
    if (t->leaving) {
        t->leaving = false;
        timer_stop(&a->w->clock.timers, &t->timer);
        look(a, t->volume);
    }
    if (!jsonx_bool(o, "status.attached", false) && !timer_pending(&t->timer)) {
        vclock_set(&a->w->clock, &t->timer, SIM_ATTACH_NS, on_attached, t);
    }
}

static void on_attachment(struct sim_attach *a, const struct sim_change *c)
{
    struct attached *t = map_get(a->all, text_at(c->after, "metadata.name"));
    if (c->type == KUBE_ADDED) {
        attached_new(a, c->after);
    } else if (t && c->type == KUBE_DELETED) {
        attached_gone(a, t);
    } else if (t && !t->leaving && jsonx_str(c->after, "metadata.deletionTimestamp")) {
        t->leaving = true;
        vclock_set(&a->w->clock, &t->timer, SIM_DETACH_NS, on_detached, t);
    } else if (t && !jsonx_str(c->after, "metadata.deletionTimestamp")) {
        set_back(a, t, c->after);
    }
}

void sim_attach_hold(struct sim_attach *a, const char *node, bool hold)
{
    if (hold) {
        map_put(a->held, node, a, NULL);
        return;
    }
    map_del(a->held, node);
    for (MAP_EACH(a->all, e)) {
        struct attached *t = map_value(e);
        if (t->leaving && str_eq(t->node, node)) {
            vclock_set(&a->w->clock, &t->timer, SIM_DETACH_NS, on_detached, t);
        }
    }
}

/* ---- the controller ---------------------------------------------------------------------------
 */

/* Nodes on which pods want the claim's volume: node -> true. */
static json_t *wanted_on(const struct sim_attach *a, const json_t *volume)
{
    const json_t *ref = jsonx_at(volume, "spec.claimRef");
    AUTO_FREE char *key = xasprintf("%s/%s", text_at(ref, "namespace"), text_at(ref, "name"));
    const struct map *set = map_get(a->users, key);
    json_t *out = json_object();
    if (set) {
        for (MAP_EACH(set, e)) {
            const json_t *pod = sim_api_get_uid(a->w->api, map_key(e), NULL);
            if (pod) {
                json_object_set_new(out, sim_pod_node(pod), json_true());
            }
        }
    }
    return out;
}

static bool one_node_only(const json_t *volume)
{
    size_t i;
    json_t *m;
    json_array_foreach (jsonx_at(volume, "spec.accessModes"), i, m) {
        const char *s = json_string_value(m);
        if (s && (str_eq(s, "ReadWriteMany") || str_eq(s, "ReadOnlyMany"))) {
            return false;
        }
    }
    return true;
}

/* The kubelet has unmounted it, or had its time. */
static bool may_detach(struct attached *t)
{
    int64_t silent, now = vclock_now(&t->a->w->clock);
    enum sim_node_state state = sim_kubelet_state(t->a->w->kubelet, t->node, &silent);
    if (t->unwanted_ns < 0) {
        t->unwanted_ns = now;
    }
    if (state == SIM_NODE_READY || state == SIM_NODE_STARTING ||
        now >= t->unwanted_ns + SIM_FORCE_DETACH_NS) {
        return true;
    }
    look_after(t->a, t->unwanted_ns + SIM_FORCE_DETACH_NS - now);
    return false;
}

/* Deletes what nobody wants; true if all that is left is wanted. */
static bool detach_unwanted(struct sim_attach *a, const char *volume, const json_t *wanted)
{
    const struct map *set = map_get(a->of_volume, volume);
    AUTO_JSON json_t *drop = json_array();
    bool clean = true;
    if (!set) {
        return true;
    }
    for (MAP_EACH(set, e)) {
        struct attached *t = map_value(e);
        if (json_object_get(wanted, t->node) && !t->leaving) {
            continue;
        }
        clean = false;
        if (!t->leaving && may_detach(t)) {
            json_array_append_new(drop, json_string(t->name));
        } else if (!t->leaving) {
            map_put(a->due, volume, a, NULL);
        }
    }
    size_t i;
    json_t *name;
    json_array_foreach (drop, i, name) {
        sim_api_delete(a->w->api, WHO_CONTROLLER, SIM_VOLUMEATTACHMENT, NULL,
                       json_string_value(name), NULL, -1, NULL, NULL);
    }
    return clean;
}

static bool is_attached_to(const struct sim_attach *a, const char *volume, const char *node)
{
    const struct map *set = map_get(a->of_volume, volume);
    if (set) {
        for (MAP_EACH(set, e)) {
            struct attached *t = map_value(e);
            if (str_eq(t->node, node)) {
                t->unwanted_ns = -1;
                return true;
            }
        }
    }
    return false;
}

static void attach(struct sim_attach *a, const json_t *volume, const char *node)
{
    const char *name = text_at(volume, "metadata.name");
    AUTO_FREE char *text = xasprintf("%s\n%s\n%s", name, text_at(volume, "spec.csi.driver"), node);
    char va[64];
    snprintf(va, sizeof(va), "csi-%016llx", (unsigned long long)hash_fnv1a(text, strlen(text)));
    sim_api_create(a->w->api, WHO_CONTROLLER, SIM_VOLUMEATTACHMENT,
                   json_pack("{s:{s:s, s:[s]}, s:{s:s, s:s, s:{s:s}}}", "metadata", "name", va,
                             "finalizers", FINALIZER, "spec", "attacher",
                             text_at(volume, "spec.csi.driver"), "nodeName", node, "source",
                             "persistentVolumeName", name),
                   NULL, NULL);
}

static void tend(struct sim_attach *a, const char *name)
{
    AUTO_JSON json_t *volume = json_incref((json_t *)sim_api_get(a->w->api, SIM_PV, NULL, name));
    AUTO_JSON json_t *wanted = volume ? wanted_on(a, volume) : json_object();
    bool clean = detach_unwanted(a, name, wanted);
    if (!volume || !jsonx_at(volume, "spec.csi")) {
        return;
    }
    const char *node;
    json_t *yes;
    bool single = one_node_only(volume);
    json_object_foreach (wanted, node, yes) {
        bool free_to = !single || (clean && !map_has(a->of_volume, name));
        if (!is_attached_to(a, name, node) && free_to &&
            sim_api_get(a->w->api, SIM_NODE, NULL, node)) {
            attach(a, volume, node);
        }
    }
}

static void on_timer(void *arg)
{
    struct sim_attach *a = arg;
    struct map *due = a->due;
    a->due = map_new(SIM_API_OBJECTS_MAX);
    for (MAP_EACH(due, e)) {
        tend(a, map_key(e));
    }
    map_free(due);
}

/* ---- pods that use volumes --------------------------------------------------------------------
 */

static void use(struct sim_attach *a, const json_t *pod, const char *claim, bool on)
{
    const char *ns = text_at(pod, "metadata.namespace"), *uid = text_at(pod, "metadata.uid");
    AUTO_FREE char *key = xasprintf("%s/%s", ns, claim);
    struct map *set = map_get(a->users, key);
    if (on && !set) {
        set = map_new(SIM_API_OBJECTS_MAX);
        map_put(a->users, key, set, NULL);
    }
    bool had = set && map_has(set, uid);
    if (on && !had) {
        map_put(set, uid, set, NULL);
    } else if (!on && had) {
        map_del(set, uid);
        if (map_count(set) == 0) {
            map_del(a->users, key);
            map_free(set);
        }
    }
    const char *volume =
        had != on ? jsonx_str(sim_api_get(a->w->api, SIM_PVC, ns, claim), "spec.volumeName") : NULL;
    if (volume) {
        look(a, volume);
    }
}

static void on_pod(struct sim_attach *a, const struct sim_change *c)
{
    char text[512];
    size_t i;
    json_t *volume;
    bool on = c->type != KUBE_DELETED && !sim_pod_over(c->after) && sim_pod_node(c->after)[0];
    json_array_foreach (jsonx_at(c->after, "spec.volumes"), i, volume) {
        const char *claim = sim_claim_of(c->after, volume, text, sizeof(text));
        if (claim) {
            use(a, c->after, claim, on);
        }
    }
}

bool sim_volumes_attached(const struct sim_api *a, const json_t *pod)
{
    char text[512];
    size_t i;
    json_t *v;
    json_array_foreach (jsonx_at(pod, "spec.volumes"), i, v) {
        const char *claim = sim_claim_of(pod, v, text, sizeof(text));
        if (!claim) {
            continue;
        }
        const char *volume =
            jsonx_str_or(sim_api_get(a, SIM_PVC, text_at(pod, "metadata.namespace"), claim),
                         "spec.volumeName", "");
        bool attached = false;
        for (size_t k = 0; k < sim_api_count(a, SIM_VOLUMEATTACHMENT); k++) {
            const json_t *o = sim_api_at(a, SIM_VOLUMEATTACHMENT, k);
            attached =
                attached || (str_eq(text_at(o, "spec.source.persistentVolumeName"), volume) &&
                             str_eq(text_at(o, "spec.nodeName"), sim_pod_node(pod)) &&
                             jsonx_bool(o, "status.attached", false) &&
                             !jsonx_str(o, "metadata.deletionTimestamp"));
        }
        /* A volume that is no CSI volume needs no attaching. */
        if (!attached && jsonx_at(sim_api_get(a, SIM_PV, NULL, volume), "spec.csi")) {
            return false;
        }
    }
    return true;
}

/* ---- CSINodes ---------------------------------------------------------------------------------
 */

struct driver {
    struct sim_attach *a;
    char *node;
};

static json_t *csi_node(const json_t *node)
{
    int64_t count = SIM_CSI_VOLUMES;
    const char *told = json_string_value(
        json_object_get(jsonx_at(node, "metadata.annotations"), "sim.karp.dev/volumes"));
    if (told && !str_parse_i64(told, &count)) {
        count = SIM_CSI_VOLUMES;
    }
    const char *name = text_at(node, "metadata.name");
    const char *slash = strrchr(text_at(node, "spec.providerID"), '/');
    return json_pack("{s:{s:s, s:[{s:s, s:s, s:s, s:s}]}, s:{s:[{s:s, s:s, s:[s], s:{s:I}}]}}",
                     "metadata", "name", name, "ownerReferences", "apiVersion", "v1", "kind",
                     "Node", "name", name, "uid", text_at(node, "metadata.uid"), "spec", "drivers",
                     "name", SIM_EBS_DRIVER, "nodeID", slash ? slash + 1 : name, "topologyKeys",
                     "topology.kubernetes.io/zone", "allocatable", "count", (json_int_t)count);
}

static void on_driver(void *arg)
{
    struct driver *d = arg;
    const json_t *node = sim_api_get(d->a->w->api, SIM_NODE, NULL, d->node);
    if (node) {
        sim_api_create(d->a->w->api, WHO_DRIVER, SIM_CSINODE, csi_node(node), NULL, NULL);
    }
}

static void driver_free(struct driver *d)
{
    free(d->node);
    free(d);
}

/* A driver's record stays for the life of the world: the timer that made it may be pending. */
static void on_node(struct sim_attach *a, const struct sim_change *c)
{
    int64_t silent;
    const char *name = text_at(c->after, "metadata.name");
    bool ready = c->type != KUBE_DELETED && str_eq(sim_cond_status(c->after, "Ready"), "True");
    bool was = c->before && str_eq(sim_cond_status(c->before, "Ready"), "True");
    if (ready && !was && sim_kubelet_state(a->w->kubelet, name, &silent) != SIM_NODE_UNKNOWN &&
        !sim_api_get(a->w->api, SIM_CSINODE, NULL, name)) {
        struct driver *d = map_get(a->drivers, name);
        if (!d) {
            d = NEW(struct driver);
            d->a = a;
            d->node = xstrdup(name);
            map_put(a->drivers, name, d, NULL);
        }
        vclock_after(&a->w->clock, SIM_CSI_DRIVER_NS, on_driver, d);
    }
}

/* ---- life -------------------------------------------------------------------------------------
 */

void sim_attach_change(struct sim_attach *a, const struct sim_change *c)
{
    if (c->kind == SIM_POD) {
        on_pod(a, c);
    } else if (c->kind == SIM_VOLUMEATTACHMENT) {
        on_attachment(a, c);
    } else if (c->kind == SIM_NODE) {
        on_node(a, c);
    } else if (c->kind == SIM_PV && c->type == KUBE_MODIFIED) {
        look(a, text_at(c->after, "metadata.name"));
    }
}

void sim_attach_run(struct sim_attach *a, bool on)
{
    a->off = !on;
    timer_stop(&a->w->clock.timers, &a->timer);
    if (on && map_count(a->due) > 0) {
        look_after(a, LOOK_NS);
    }
}

struct sim_attach *sim_attach_new(struct sim_world *w)
{
    struct sim_attach *a = NEW(struct sim_attach);
    a->w = w;
    a->all = map_new(SIM_API_OBJECTS_MAX);
    a->of_volume = map_new(SIM_API_OBJECTS_MAX);
    a->users = map_new(SIM_API_OBJECTS_MAX);
    a->due = map_new(SIM_API_OBJECTS_MAX);
    a->held = map_new(SIM_NODES_MAX);
    a->drivers = map_new(SIM_API_OBJECTS_MAX);
    return a;
}

static void free_sets(struct map *sets)
{
    for (MAP_EACH(sets, e)) {
        map_free(map_value(e));
    }
    map_free(sets);
}

void sim_attach_free(struct sim_attach *a)
{
    timer_stop(&a->w->clock.timers, &a->timer);
    for (MAP_EACH(a->all, t)) {
        attached_free(map_value(t));
    }
    for (MAP_EACH(a->drivers, d)) {
        driver_free(map_value(d));
    }
    free_sets(a->of_volume);
    free_sets(a->users);
    map_free(a->all);
    map_free(a->due);
    map_free(a->held);
    map_free(a->drivers);
    free(a);
}
