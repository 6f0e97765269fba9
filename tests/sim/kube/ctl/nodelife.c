/*
 * nodelife.c - what happens to nodes and their pods when a kubelet says something or nothing:
 *  - node lifecycle controller: taints not-ready / unreachable follow the Ready condition; 40 s
 *    after a kubelet's last word all its conditions become Unknown;
 *  - taint eviction: pods that do not tolerate a NoExecute taint are deleted, those that tolerate
 *    it for some seconds after them;
 *  - pod GC: 40 s after a Node is gone, the pods that were on it are deleted for good;
 *  - cloud controller manager: the Node of a silent kubelet is deleted once its instance exists no
 *    more.
 * Nodes that no kubelet of ours stands behind are left alone by all but taint eviction and pod GC.
 */
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "workloads_part.h"

#define WHO_LIFE "node-controller"
#define WHO_TAINT "taint-eviction-controller"
#define WHO_PODGC "pod-garbage-collector"
#define WHO_CLOUD "cloud-node-lifecycle-controller"
#define MONITOR_NS (5 * NS_PER_S)
#define GRACE_NS (40 * NS_PER_S)
#define QUARANTINE_NS (40 * NS_PER_S)

/* A pod that has to leave its node at a time. */
struct doom {
    struct sim_nodelife *l;
    char *uid;
    int64_t at_ns;
    struct timer timer;
};

struct sim_nodelife {
    struct sim_workloads *c;
    struct map *dooms;   /* pod uid -> doom */
    struct map *missing; /* node name -> int64_t *, since when pods are on it without it */
    struct timer monitor, podgc;
};

static struct vclock *clock_of(const struct sim_nodelife *l)
{
    return &l->c->w->clock;
}

/* ---- taints follow conditions
 * --------------------------------------------------------------------- */

static const char *const condition_taints[] = {"node.kubernetes.io/not-ready",
                                               "node.kubernetes.io/unreachable"};

static bool is_condition_taint(const json_t *taint)
{
    for (size_t i = 0; i < ARRAY_LEN(condition_taints); i++) {
        if (str_eq(jsonx_str(taint, "key"), condition_taints[i])) {
            return true;
        }
    }
    return false;
}

static const json_t *taint_in(const json_t *taints, const char *key, const char *effect)
{
    size_t i;
    json_t *t;
    json_array_foreach ((json_t *)taints, i, t) {
        if (str_eq(jsonx_str(t, "key"), key) && str_eq(jsonx_str(t, "effect"), effect)) {
            return t;
        }
    }
    return NULL;
}

static void add_taint(json_t *out, const json_t *old, const char *key, const char *effect,
                      int64_t now_wall_ns)
{
    const json_t *kept = taint_in(old, key, effect);
    char now[TIMEFMT_TEXT];
    timefmt_rfc3339(now_wall_ns, now);
    json_array_append_new(
        out, kept ? json_incref((json_t *)kept)
                  : json_pack("{s:s, s:s, s:s}", "key", key, "effect", effect, "timeAdded", now));
}

static void fit_taints(struct sim_nodelife *l, const json_t *node)
{
    const char *ready = sim_cond_status(node, "Ready");
    const json_t *old = jsonx_at(node, "spec.taints");
    const char *key = str_eq(ready, "False")     ? condition_taints[0]
                      : str_eq(ready, "Unknown") ? condition_taints[1]
                                                 : NULL;
    json_t *out = json_array();
    size_t i;
    json_t *t;
    json_array_foreach ((json_t *)old, i, t) {
        if (!is_condition_taint(t)) {
            json_array_append(out, t);
        }
    }
    if (key) {
        int64_t now = vclock_wall(clock_of(l));
        add_taint(out, old, key, "NoSchedule", now);
        add_taint(out, old, key, "NoExecute", now);
    }
    bool same = json_equal(out, old) || (!old && json_array_size(out) == 0);
    if (same) {
        json_decref(out);
        return;
    }
    sim_api_patch(l->c->w->api, WHO_LIFE, SIM_NODE, "", NULL, jsonx_str(node, "metadata.name"),
                  json_pack("{s:{s:o}}", "spec", "taints", out), NULL, NULL);
}

/* ---- taint eviction
 * ------------------------------------------------------------------------------- */

static void doom_free(struct doom *d)
{
    timer_stop(&clock_of(d->l)->timers, &d->timer);
    free(d->uid);
    free(d);
}

static void doom_drop(struct sim_nodelife *l, const char *uid)
{
    struct doom *d = map_del(l->dooms, uid);
    if (d) {
        doom_free(d);
    }
}

static void on_doom(void *arg)
{
    struct doom *d = arg;
    struct sim_nodelife *l = d->l;
    if (l->c->stopped) {
        vclock_set(clock_of(l), &d->timer, MONITOR_NS, on_doom, d);
        return;
    }
    /* A pod that is gone at once takes its doom along. */
    AUTO_FREE char *uid = xstrdup(d->uid);
    doom_drop(l, uid);
    const json_t *pod = sim_api_get_uid(l->c->w->api, uid, NULL);
    if (pod && !sim_pod_terminating(pod)) {
        sim_api_delete(l->c->w->api, WHO_TAINT, SIM_POD, jsonx_str(pod, "metadata.namespace"),
                       jsonx_str(pod, "metadata.name"), uid, -1, NULL, NULL);
    }
}

/* How long the pod tolerates the taint: 0 not at all, NS_NEVER for ever. */
static int64_t tolerated_ns(const json_t *pod, const json_t *taint)
{
    int64_t shortest = NS_NEVER;
    bool any = false;
    size_t i;
    json_t *t;
    json_array_foreach (jsonx_at(pod, "spec.tolerations"), i, t) {
        json_t *one = json_pack("[O]", t);
        if (sim_tolerates(one, taint)) {
            int64_t s = jsonx_int(t, "tolerationSeconds", -1);
            any = true;
            shortest = s >= 0 && s * NS_PER_S < shortest ? s * NS_PER_S : shortest;
        }
        json_decref(one);
    }
    return any ? shortest : 0;
}

/* When the pod must leave because of the node's taints. */
static int64_t doom_ns(const struct sim_nodelife *l, const json_t *node, const json_t *pod)
{
    int64_t soonest = NS_NEVER, now = vclock_now(clock_of(l));
    size_t i;
    json_t *taint;
    json_array_foreach (jsonx_at(node, "spec.taints"), i, taint) {
        if (!str_eq(jsonx_str(taint, "effect"), "NoExecute")) {
            continue;
        }
        int64_t tolerated = tolerated_ns(pod, taint), added;
        const char *text = jsonx_str(taint, "timeAdded");
        if (tolerated == NS_NEVER) {
            continue;
        }
        int64_t from =
            text && timefmt_parse_rfc3339(text, &added) ? added - clock_of(l)->start_wall_ns : now;
        int64_t at = tolerated == 0 ? now : from + tolerated;
        soonest = at < soonest ? at : soonest;
    }
    return soonest;
}

static void fit_doom(struct sim_nodelife *l, const json_t *node, const json_t *pod)
{
    const char *uid = jsonx_str_or(pod, "metadata.uid", "");
    int64_t at = sim_pod_active(pod) ? doom_ns(l, node, pod) : NS_NEVER;
    struct doom *d = map_get(l->dooms, uid);
    if (at == NS_NEVER) {
        doom_drop(l, uid);
        return;
    }
    if (d && d->at_ns <= at) {
        return;
    }
    if (!d) {
        d = NEW(struct doom);
        d->l = l;
        d->uid = xstrdup(uid);
        map_put(l->dooms, uid, d, NULL);
    }
    d->at_ns = at;
    timer_set(&clock_of(l)->timers, &d->timer, at, on_doom, d);
}

static bool has_no_execute(const json_t *node)
{
    size_t i;
    json_t *t;
    json_array_foreach (jsonx_at(node, "spec.taints"), i, t) {
        if (str_eq(jsonx_str(t, "effect"), "NoExecute")) {
            return true;
        }
    }
    return false;
}

static void fit_dooms(struct sim_nodelife *l, const json_t *node)
{
    if (map_count(l->dooms) == 0 && !has_no_execute(node)) {
        return;
    }
    json_t *pods = sim_index_collect(&l->c->pods_on, jsonx_str_or(node, "metadata.name", ""), true);
    size_t i;
    json_t *pod;
    json_array_foreach (pods, i, pod) {
        fit_doom(l, node, pod);
    }
    json_decref(pods);
}

void sim_nodelife_reconcile(struct sim_workloads *c, const char *ns UNUSED, const char *name)
{
    const json_t *node = sim_api_get(c->w->api, SIM_NODE, NULL, name);
    int64_t since;
    if (!node) {
        return;
    }
    json_incref((json_t *)node);
    if (sim_kubelet_state(c->w->kubelet, name, &since) != SIM_NODE_UNKNOWN) {
        fit_taints(c->life, node);
    }
    json_decref((json_t *)node);
    node = sim_api_get(c->w->api, SIM_NODE, NULL, name);
    if (node) {
        json_incref((json_t *)node);
        fit_dooms(c->life, node);
        json_decref((json_t *)node);
    }
}

/* ---- silence
 * -------------------------------------------------------------------------------------- */

static void make_unknown(struct sim_nodelife *l, const json_t *node)
{
    int64_t now = vclock_wall(clock_of(l));
    json_t *list = json_incref(jsonx_at(node, "status.conditions"));
    static const char *const types[] = {"MemoryPressure", "DiskPressure", "PIDPressure", "Ready"};
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        json_t *next = sim_cond_set(list, types[i], "Unknown", "NodeStatusUnknown",
                                    "Kubelet stopped posting node status.", now);
        json_decref(list);
        list = next;
    }
    sim_note(l->c->w, "node %s unreachable", jsonx_str_or(node, "metadata.name", ""));
    sim_api_patch(l->c->w->api, WHO_LIFE, SIM_NODE, "status", NULL,
                  jsonx_str(node, "metadata.name"),
                  json_pack("{s:{s:o}}", "status", "conditions", list), NULL, NULL);
}

/* The cloud knows the node's machine as one that is no more. */
static bool instance_gone(const struct sim_nodelife *l, const json_t *node)
{
    const struct sim_cloud *cloud = &l->c->w->cloud;
    const char *provider = jsonx_str(node, "spec.providerID");
    return provider && cloud->exists && !cloud->exists(cloud->ctx, provider);
}

/* True while the node needs watching on. */
static bool tend_silent(struct sim_nodelife *l, const json_t *node)
{
    const char *name = jsonx_str_or(node, "metadata.name", "");
    int64_t since = 0;
    enum sim_node_state state = sim_kubelet_state(l->c->w->kubelet, name, &since);
    bool unknown = str_eq(sim_cond_status(node, "Ready"), "Unknown");
    if (state == SIM_NODE_UNKNOWN && instance_gone(l, node)) {
        state = SIM_NODE_GONE; /* a restore brought it back */
    }
    if (state != SIM_NODE_SILENT && state != SIM_NODE_GONE) {
        return false;
    }
    if (!unknown && vclock_now(clock_of(l)) - since >= GRACE_NS) {
        make_unknown(l, node);
        return true;
    }
    bool ready = str_eq(sim_cond_status(node, "Ready"), "True");
    if (state == SIM_NODE_GONE && !ready && !jsonx_str(node, "metadata.deletionTimestamp")) {
        sim_api_delete(l->c->w->api, WHO_CLOUD, SIM_NODE, NULL, name, NULL, -1, NULL, NULL);
    }
    return true;
}

static json_t *all_nodes(const struct sim_nodelife *l)
{
    json_t *out = json_array();
    for (size_t i = 0; i < sim_api_count(l->c->w->api, SIM_NODE); i++) {
        json_array_append(out, (json_t *)sim_api_at(l->c->w->api, SIM_NODE, i));
    }
    return out;
}

static void on_monitor(void *arg)
{
    struct sim_nodelife *l = arg;
    bool more = false;
    size_t i;
    json_t *node;
    json_t *nodes = all_nodes(l);
    json_array_foreach (nodes, i, node) {
        more = tend_silent(l, node) || more;
    }
    json_decref(nodes);
    if (more) {
        sim_nodelife_watch(l);
    }
}

void sim_nodelife_watch(struct sim_nodelife *l)
{
    if (!l->c->stopped && !timer_pending(&l->monitor)) {
        vclock_set(clock_of(l), &l->monitor, MONITOR_NS, on_monitor, l);
    }
}

/* ---- pods without a node
 * ---------------------------------------------------------------------------- */

static void on_podgc(void *arg);

static void note_missing(struct sim_nodelife *l, const char *node)
{
    if (!map_has(l->missing, node)) {
        int64_t *since = NEW(int64_t);
        *since = vclock_now(clock_of(l));
        map_put(l->missing, node, since, NULL);
    }
    if (!timer_pending(&l->podgc)) {
        vclock_set(clock_of(l), &l->podgc, QUARANTINE_NS, on_podgc, l);
    }
}

static void drop_pods_of(struct sim_nodelife *l, const char *node)
{
    json_t *pods = sim_index_collect(&l->c->pods_on, node, false);
    size_t i;
    json_t *pod;
    json_array_foreach (pods, i, pod) {
        sim_api_delete(l->c->w->api, WHO_PODGC, SIM_POD, jsonx_str(pod, "metadata.namespace"),
                       jsonx_str(pod, "metadata.name"), jsonx_str(pod, "metadata.uid"), 0, NULL,
                       NULL);
    }
    json_decref(pods);
}

static void on_podgc(void *arg)
{
    struct sim_nodelife *l = arg;
    int64_t now = vclock_now(clock_of(l)), next = NS_NEVER;
    if (l->c->stopped) {
        vclock_set(clock_of(l), &l->podgc, QUARANTINE_NS, on_podgc, l);
        return;
    }
    for (MAP_EACH(l->missing, e)) {
        AUTO_FREE char *node = xstrdup(map_key(e));
        int64_t at = *(int64_t *)map_value(e) + QUARANTINE_NS;
        bool back = sim_api_get(l->c->w->api, SIM_NODE, NULL, node) != NULL;
        if (!back && now < at) {
            next = at < next ? at : next;
            continue;
        }
        free(map_del(l->missing, node));
        if (!back) {
            drop_pods_of(l, node);
        }
    }
    if (next != NS_NEVER) {
        timer_set(&clock_of(l)->timers, &l->podgc, next, on_podgc, l);
    }
}

/* ---- life
 * ------------------------------------------------------------------------------------------- */

void sim_nodelife_change(struct sim_nodelife *l, const struct sim_change *c)
{
    const char *name = jsonx_str_or(c->after, "metadata.name", "");
    if (c->kind == SIM_NODE && c->type == KUBE_DELETED && sim_index_set(&l->c->pods_on, name)) {
        note_missing(l, name);
    }
    if (c->kind == SIM_NODE && c->type != KUBE_DELETED && str_eq(c->who, "etcd")) {
        sim_nodelife_watch(l);
    }
    if (c->kind != SIM_POD) {
        return;
    }
    const char *node = sim_pod_node(c->after);
    if (c->type == KUBE_DELETED) {
        doom_drop(l, jsonx_str_or(c->after, "metadata.uid", ""));
    } else if (node[0] && (!c->before || sim_pod_node(c->before)[0] == '\0')) {
        if (sim_api_get(l->c->w->api, SIM_NODE, NULL, node)) {
            sim_workloads_mark(l->c, SIM_NODE, "", node);
        } else {
            note_missing(l, node);
        }
    }
}

struct sim_nodelife *sim_nodelife_new(struct sim_workloads *c)
{
    struct sim_nodelife *l = NEW(struct sim_nodelife);
    l->c = c;
    l->dooms = map_new(SIM_API_OBJECTS_MAX);
    l->missing = map_new(SIM_NODES_MAX * 4);
    return l;
}

void sim_nodelife_free(struct sim_nodelife *l)
{
    timer_stop(&clock_of(l)->timers, &l->monitor);
    timer_stop(&clock_of(l)->timers, &l->podgc);
    for (MAP_EACH(l->dooms, e)) {
        doom_free(map_value(e));
    }
    for (MAP_EACH(l->missing, m)) {
        free(map_value(m));
    }
    map_free(l->dooms);
    map_free(l->missing);
    free(l);
}
