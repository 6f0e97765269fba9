/* replicaset.c - the ReplicaSet controller and its ranking of victims; see workloads.h */
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "workloads_part.h"

#define WHO "replicaset-controller"

/* ---- ranking ----------------------------------------------------------------------------------
 */

static int64_t time_at(const json_t *o, const char *path)
{
    int64_t ns;
    const char *s = jsonx_str(o, path);
    return s && timefmt_parse_rfc3339(s, &ns) ? ns : 0;
}

static int64_t restarts(const json_t *pod)
{
    int64_t most = 0;
    size_t i;
    json_t *c;
    json_array_foreach (jsonx_at(pod, "status.containerStatuses"), i, c) {
        int64_t n = jsonx_int(c, "restartCount", 0);
        most = n > most ? n : most;
    }
    return most;
}

static int64_t deletion_cost(const json_t *pod)
{
    int64_t cost;
    const json_t *v = json_object_get(jsonx_at(pod, "metadata.annotations"),
                                      "controller.kubernetes.io/pod-deletion-cost");
    const char *s = json_string_value(v);
    return s && str_parse_i64(s, &cost) ? cost : 0;
}

void sim_victim_read(const json_t *pod, struct sim_victim *ret)
{
    const char *phase = jsonx_str_or(pod, "status.phase", "Pending");
    *ret = (struct sim_victim){
        .pod = pod,
        .uid = jsonx_str_or(pod, "metadata.uid", ""),
        .assigned = sim_pod_node(pod)[0] != '\0',
        .ready = sim_pod_ready(pod),
        .phase = str_eq(phase, "Pending")   ? 0
                 : str_eq(phase, "Unknown") ? 1
                                            : 2,
        .cost = deletion_cost(pod),
        .restarts = restarts(pod),
        .created_wall_ns = time_at(pod, "metadata.creationTimestamp"),
    };
    if (ret->ready) {
        ret->ready_wall_ns = time_at(sim_cond(pod, "Ready"), "lastTransitionTime");
    }
}

static int order(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

/* Whole part of log2 of an age, -1 for none. */
static int log_age(int64_t at_ns, int64_t now_ns)
{
    int64_t age = now_ns - at_ns;
    int log = -1;
    for (; age > 0; age >>= 1) {
        log++;
    }
    return log;
}

/* Younger first, by steps of the logarithm; the UID within one. 0 if the times are equal. */
static int order_times(int64_t a_ns, int64_t b_ns, const struct sim_victim *a,
                       const struct sim_victim *b, int64_t now_ns)
{
    if (a_ns == b_ns) {
        return 0;
    }
    /* A time that is not known counts as the youngest. */
    if (a_ns == 0 || b_ns == 0) {
        return a_ns == 0 ? -1 : 1;
    }
    int by_log = log_age(a_ns, now_ns) - log_age(b_ns, now_ns);
    return by_log ? by_log : strcmp(a->uid, b->uid);
}

int sim_victim_order(const struct sim_victim *a, const struct sim_victim *b, int64_t now)
{
    int c;
    if (a->assigned != b->assigned) {
        return a->assigned ? 1 : -1;
    }
    if ((c = order(a->phase, b->phase)) != 0) {
        return c;
    }
    if (a->ready != b->ready) {
        return a->ready ? 1 : -1;
    }
    if ((c = order(a->cost, b->cost)) != 0 || (c = order(b->rank, a->rank)) != 0) {
        return c;
    }
    if (a->ready && (c = order_times(a->ready_wall_ns, b->ready_wall_ns, a, b, now)) != 0) {
        return c;
    }
    if ((c = order(b->restarts, a->restarts)) != 0 ||
        (c = order_times(a->created_wall_ns, b->created_wall_ns, a, b, now)) != 0) {
        return c;
    }
    return 0;
}

/* Upstream leaves equals as they are; a total order keeps replays exact. */
static int victim_cmp(const void *pa, const void *pb, void *arg)
{
    const struct sim_victim *a = pa, *b = pb;
    int c = sim_victim_order(a, b, *(const int64_t *)arg);
    return c ? c : strcmp(a->uid, b->uid);
}

void sim_victim_sort(struct sim_victim *v, size_t n, int64_t now_wall_ns)
{
    qsort_r(v, n, sizeof(*v), victim_cmp, &now_wall_ns);
}

/* ---- related pods per node ----------------------------------------------------------------------
 */

/* Adds to counts, per node, the active pods of the ReplicaSet. */
static void count_nodes(const struct sim_workloads *c, const char *uid, json_t *counts)
{
    json_t *pods = sim_index_collect(&c->pods_of, uid, true);
    size_t i;
    json_t *pod;
    json_array_foreach (pods, i, pod) {
        const char *node = sim_pod_node(pod);
        if (node[0]) {
            json_int_t n = json_integer_value(json_object_get(counts, node));
            json_object_set_new(counts, node, json_integer(n + 1));
        }
    }
    json_decref(pods);
}

/* Active pods per node of all ReplicaSets with the same controller; none at all if it has none. */
static json_t *related_counts(const struct sim_workloads *c, const json_t *rs)
{
    json_t *counts = json_object();
    const json_t *owner = sim_controller(rs);
    if (!owner) {
        return counts;
    }
    json_t *sets = sim_index_collect(&c->sets_of, jsonx_str_or(owner, "uid", ""), false);
    size_t i;
    json_t *set;
    json_array_foreach (sets, i, set) {
        count_nodes(c, jsonx_str_or(set, "metadata.uid", ""), counts);
    }
    json_decref(sets);
    return counts;
}

/* ---- reconcile ----------------------------------------------------------------------------------
 */

static void make_pods(struct sim_workloads *c, const json_t *rs, int64_t n)
{
    AUTO_FREE char *prefix = xasprintf("%s-", jsonx_str_or(rs, "metadata.name", ""));
    for (int64_t i = 0; i < n; i++) {
        json_t *pod = sim_pod_from(jsonx_at(rs, "spec.template"), rs, prefix);
        if (sim_api_create(c->w->api, WHO, SIM_POD, pod, NULL, NULL)) {
            return;
        }
    }
}

static void remove_pods(struct sim_workloads *c, const json_t *rs, const json_t *active, size_t n)
{
    size_t count = json_array_size(active), i;
    json_t *pod;
    AUTO_FREE struct sim_victim *v = NEW_N(struct sim_victim, count + 1);
    json_t *ranks = related_counts(c, rs);
    json_array_foreach ((json_t *)active, i, pod) {
        sim_victim_read(pod, &v[i]);
        v[i].rank = (int)json_integer_value(json_object_get(ranks, sim_pod_node(pod)));
    }
    json_decref(ranks);
    sim_victim_sort(v, count, vclock_wall(&c->w->clock));
    for (i = 0; i < n && i < count; i++) {
        sim_api_delete(c->w->api, WHO, SIM_POD, jsonx_str(v[i].pod, "metadata.namespace"),
                       jsonx_str(v[i].pod, "metadata.name"), v[i].uid, -1, "Background", NULL);
    }
}

/* Those of the ready ones that have been so for minReadySeconds. */
static int64_t count_available(struct sim_workloads *c, const json_t *rs, int64_t ready)
{
    if (jsonx_int(rs, "spec.minReadySeconds", 0) <= 0) {
        return ready;
    }
    AUTO_JSON json_t *pods =
        sim_index_collect(&c->pods_of, jsonx_str_or(rs, "metadata.uid", ""), true);
    int64_t n = 0;
    size_t i;
    json_t *pod;
    json_array_foreach (pods, i, pod) {
        n += sim_pod_available(c, SIM_REPLICASET, rs, pod);
    }
    return n;
}

static void update_status(struct sim_workloads *c, const json_t *rs)
{
    int64_t active, ready;
    sim_index_count(&c->pods_of, jsonx_str_or(rs, "metadata.uid", ""), &active, &ready);
    int64_t available = count_available(c, rs, ready);
    sim_status_update(c, WHO, rs,
                      json_pack("{s:I, s:I, s:I, s:I, s:I}", "replicas", (json_int_t)active,
                                "fullyLabeledReplicas", (json_int_t)active, "readyReplicas",
                                (json_int_t)ready, "availableReplicas", (json_int_t)available,
                                "observedGeneration",
                                (json_int_t)jsonx_int(rs, "metadata.generation", 0)));
}

void sim_replicaset_reconcile(struct sim_workloads *c, const char *ns, const char *name)
{
    const json_t *stored = sim_api_get(c->w->api, SIM_REPLICASET, ns, name);
    if (!stored || jsonx_str(stored, "metadata.deletionTimestamp")) {
        return;
    }
    json_t *rs = json_incref((json_t *)stored);
    sim_adopt(c, WHO, rs);
    const char *uid = jsonx_str_or(rs, "metadata.uid", "");
    int64_t have, ready, want = jsonx_int(rs, "spec.replicas", 0);
    sim_index_count(&c->pods_of, uid, &have, &ready);
    if (have < want) {
        make_pods(c, rs, want - have);
    } else if (have > want) {
        json_t *active = sim_index_collect(&c->pods_of, uid, true);
        remove_pods(c, rs, active, (size_t)(have - want));
        json_decref(active);
    }
    update_status(c, rs);
    json_decref(rs);
}
