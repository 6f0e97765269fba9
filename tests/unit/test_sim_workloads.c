/* Controllers, kubelets and node life of the simulated world; see tests/sim/kube/workloads.h,
 * kubelet.h
 */
#include "simrig.h"

/* ---- the ranking of victims -------------------------------------------------------------------
 */

/* Two pods; the first is the one to go. Times in seconds before now. */
struct victim_row {
    const char *what;
    struct sim_victim first, second;
};

#define AGO(s) (RIG_START_NS - (s)*NS_PER_S)
#define USUAL .assigned = true, .ready = true, .phase = 2

static const struct victim_row victims[] = {
    {"not assigned",
     {.uid = "b", .assigned = false, .phase = 2, .ready = true},
     {.uid = "a", USUAL, .rank = 9}},
    {"pending before running",
     {.uid = "b", .assigned = true, .phase = 0, .ready = true},
     {.uid = "a", USUAL, .cost = -5}},
    {"unknown before running",
     {.uid = "b", .assigned = true, .phase = 1, .ready = true},
     {.uid = "a", USUAL, .cost = -5}},
    {"pending before unknown",
     {.uid = "b", .assigned = true, .phase = 0},
     {.uid = "a", .assigned = true, .phase = 1}},
    {"not ready before ready",
     {.uid = "b", .assigned = true, .phase = 2, .ready = false},
     {.uid = "a", USUAL, .cost = -5}},
    {"lower cost", {.uid = "b", USUAL, .cost = -5}, {.uid = "a", USUAL, .cost = 0, .rank = 9}},
    {"more of them on the node",
     {.uid = "b", USUAL, .rank = 3, .ready_wall_ns = AGO(900)},
     {.uid = "a", USUAL, .rank = 2, .ready_wall_ns = AGO(1)}},
    {"ready for a shorter time",
     {.uid = "b", USUAL, .ready_wall_ns = AGO(10)},
     {.uid = "a", USUAL, .ready_wall_ns = AGO(1000), .restarts = 7}},
    {"within a step of the logarithm the uid",
     {.uid = "a", USUAL, .ready_wall_ns = AGO(1000), .restarts = 0},
     {.uid = "b", USUAL, .ready_wall_ns = AGO(999), .restarts = 7}},
    {"ready since when is not known",
     {.uid = "b", USUAL, .ready_wall_ns = 0},
     {.uid = "a", USUAL, .ready_wall_ns = AGO(1)}},
    {"more restarts",
     {.uid = "b", USUAL, .ready_wall_ns = AGO(9), .restarts = 2, .created_wall_ns = AGO(900)},
     {.uid = "a", USUAL, .ready_wall_ns = AGO(9), .restarts = 1, .created_wall_ns = AGO(10)}},
    {"younger",
     {.uid = "b", USUAL, .created_wall_ns = AGO(10)},
     {.uid = "a", USUAL, .created_wall_ns = AGO(900)}},
    {"equal but for the uid",
     {.uid = "a", USUAL, .created_wall_ns = AGO(10)},
     {.uid = "b", USUAL, .created_wall_ns = AGO(10)}},
};

START_TEST(ranks_victims)
{
    const struct victim_row *row = &victims[_i];
    struct sim_victim v[2] = {row->first, row->second};
    sim_victim_sort(v, 2, RIG_START_NS);
    ck_assert_msg(str_eq(v[0].uid, row->first.uid), "%s", row->what);
    v[0] = row->second;
    v[1] = row->first;
    sim_victim_sort(v, 2, RIG_START_NS);
    ck_assert_msg(str_eq(v[0].uid, row->first.uid), "%s, the other way round", row->what);
}
END_TEST

START_TEST(reads_victims)
{
    json_t *pod = rig_json(
        "{'metadata':{'uid':'u','creationTimestamp':'2026-01-05T08:00:00Z','annotations':{"
        "'controller.kubernetes.io/pod-deletion-cost':'-3'}},'spec':{'nodeName':'n'},'status':{"
        "'phase':'Running','containerStatuses':[{'restartCount':1},{'restartCount':4}],"
        "'conditions':[{'type':'Ready','status':'True','lastTransitionTime':"
        "'2026-01-05T08:59:50Z'}]}}");
    struct sim_victim v;
    sim_victim_read(pod, &v);
    ck_assert(v.assigned && v.ready && v.phase == 2 && v.cost == -3 && v.restarts == 4);
    ck_assert_int_eq(v.ready_wall_ns, AGO(10));
    ck_assert_int_eq(v.created_wall_ns, AGO(3600));
    json_decref(pod);
}
END_TEST

/* With 15 + 5 pods, 20 -> 10 leaves 5 + 5; 7 + 3 becomes 2 + 3. */
struct scale_in_row {
    int large, small, after;
    size_t left_large, left_small;
};

static const struct scale_in_row scale_ins[] = {{15, 5, 10, 5, 5}, {7, 3, 5, 2, 3}};

START_TEST(scales_in_where_most_are)
{
    const struct scale_in_row *row = &scale_ins[_i];
    struct sim_world *w = rig_world(1);
    rig_node(w, "large", RIG_BIG, NULL, NULL);
    rig_run(w, 5 * NS_PER_S);
    rig_deployment(w, "d", row->large, "1");
    rig_run(w, 60 * NS_PER_S);
    rig_patch(w, SIM_NODE, "large", "{'spec':{'unschedulable':true}}");
    rig_node(w, "small", RIG_BIG, NULL, NULL);
    rig_deployment(w, "d", row->large + row->small, "1");
    rig_run(w, 600 * NS_PER_S);
    ck_assert_uint_eq(rig_pods(w, "large", "Running"), (size_t)row->large);
    ck_assert_uint_eq(rig_pods(w, "small", "Running"), (size_t)row->small);
    rig_deployment(w, "d", row->after, "1");
    rig_run(w, 60 * NS_PER_S);
    ck_assert_uint_eq(rig_pods(w, "large", NULL), row->left_large);
    ck_assert_uint_eq(rig_pods(w, "small", NULL), row->left_small);
    sim_world_free(w);
}
END_TEST

/* ---- Deployment ---------------------------------------------------------------------------------
 */

START_TEST(deployment_makes_pods_and_tells)
{
    struct sim_world *w = rig_world(1);
    rig_node(w, "n", RIG_BIG, NULL, NULL);
    rig_deployment(w, "d", 3, "1");
    rig_run(w, 10 * NS_PER_S);
    const json_t *d = sim_api_get(w->api, SIM_DEPLOYMENT, "default", "d");
    ck_assert_int_eq(jsonx_int(d, "status.readyReplicas", 0), 3);
    ck_assert_int_eq(jsonx_int(d, "status.observedGeneration", 0), 1);
    ck_assert_str_eq(sim_cond_status(d, "Available"), "True");
    const json_t *pod = sim_api_at(w->api, SIM_POD, 0);
    const json_t *ref = sim_controller(pod);
    ck_assert_str_eq(jsonx_str_or(ref, "kind", ""), "ReplicaSet");
    ck_assert(str_starts(jsonx_str_or(pod, "metadata.name", ""), "d-"));
    ck_assert_str_eq(jsonx_str_or(pod, "status.startTime", ""), "2026-01-05T09:00:01Z");
    /* A pod that is deleted is made anew. */
    AUTO_FREE char *name = xstrdup(jsonx_str_or(pod, "metadata.name", ""));
    sim_api_delete(w->api, "test", SIM_POD, "default", name, NULL, -1, NULL, NULL);
    rig_run(w, 10 * NS_PER_S);
    ck_assert_uint_eq(rig_pods(w, "n", "Running"), 3);
    ck_assert(!sim_api_get(w->api, SIM_POD, "default", name));
    /* And all go with the Deployment. */
    sim_api_delete(w->api, "test", SIM_DEPLOYMENT, "default", "d", NULL, -1, NULL, NULL);
    rig_run(w, 40 * NS_PER_S);
    ck_assert_uint_eq(sim_api_count(w->api, SIM_POD), 0);
    ck_assert_uint_eq(sim_api_count(w->api, SIM_REPLICASET), 0);
    sim_world_free(w);
}
END_TEST

struct rollout_row {
    const char *strategy;
    size_t least_ready, most_pods;
};

static const struct rollout_row rollouts[] = {
    {"{'type':'RollingUpdate','rollingUpdate':{'maxSurge':1,'maxUnavailable':0}}", 4, 5},
    {"{'type':'RollingUpdate','rollingUpdate':{'maxSurge':0,'maxUnavailable':1}}", 3, 4},
    {"{'type':'RollingUpdate','rollingUpdate':{'maxSurge':'25%','maxUnavailable':'25%'}}", 3, 5},
    {"{'type':'Recreate'}", 0, 4},
};

/* A new pod counts only when it has been ready for 30 s: four of them, one at a time. */
START_TEST(takes_its_time)
{
    struct sim_world *w = rig_world(1);
    rig_node(w, "n", RIG_BIG, NULL, NULL);
    rig_deployment(w, "d", 4, "1");
    rig_patch(w, SIM_DEPLOYMENT, "d",
              "{'spec':{'strategy':{'rollingUpdate':{'maxSurge':1,'maxUnavailable':0}}}}");
    rig_run(w, 60 * NS_PER_S);
    const json_t *d = sim_api_get(w->api, SIM_DEPLOYMENT, "default", "d");
    ck_assert_int_eq(jsonx_int(d, "status.availableReplicas", 0), 4);
    rig_patch(w, SIM_DEPLOYMENT, "d",
              "{'spec':{'minReadySeconds':30,'template':{'metadata':{'labels':{'v':'2'}}}}}");
    rig_run(w, 20 * NS_PER_S);
    d = sim_api_get(w->api, SIM_DEPLOYMENT, "default", "d");
    ck_assert_int_eq(jsonx_int(d, "status.updatedReplicas", 0), 1);
    ck_assert_int_eq(jsonx_int(d, "status.readyReplicas", 0), 5);
    ck_assert_int_eq(jsonx_int(d, "status.availableReplicas", 0), 4);
    rig_run(w, 90 * NS_PER_S);
    d = sim_api_get(w->api, SIM_DEPLOYMENT, "default", "d");
    ck_assert_int_le(jsonx_int(d, "status.updatedReplicas", 0), 4);
    ck_assert_int_eq(jsonx_int(d, "status.replicas", 0), 5);
    rig_run(w, 40 * NS_PER_S);
    d = sim_api_get(w->api, SIM_DEPLOYMENT, "default", "d");
    ck_assert_int_eq(jsonx_int(d, "status.replicas", 0), 4);
    ck_assert_int_eq(jsonx_int(d, "status.availableReplicas", 0), 4);
    sim_world_free(w);
}
END_TEST

static void count_pods(const struct sim_world *w, size_t *ret_ready, size_t *ret_active)
{
    *ret_ready = *ret_active = 0;
    for (size_t i = 0; i < sim_api_count(w->api, SIM_POD); i++) {
        const json_t *p = sim_api_at(w->api, SIM_POD, i);
        if (!sim_pod_over(p) && !sim_pod_terminating(p)) {
            (*ret_active)++;
            *ret_ready += str_eq(sim_cond_status(p, "Ready"), "True");
        }
    }
}

START_TEST(rolls_over)
{
    const struct rollout_row *row = &rollouts[_i];
    struct sim_world *w = rig_world(1);
    rig_node(w, "n", RIG_BIG, NULL, NULL);
    rig_deployment(w, "d", 4, "1");
    AUTO_FREE char *strategy = xasprintf("{'spec':{'strategy':%s}}", row->strategy);
    if (str_contains(strategy, "Recreate")) {
        rig_patch(w, SIM_DEPLOYMENT, "d", "{'spec':{'strategy':{'rollingUpdate':null}}}");
    }
    rig_patch(w, SIM_DEPLOYMENT, "d", strategy);
    rig_run(w, 60 * NS_PER_S);
    rig_patch(w, SIM_DEPLOYMENT, "d",
              "{'spec':{'template':{'spec':{'containers':[{'name':'c','resources':{'requests':{"
              "'cpu':'2'}}}]}}}}");
    size_t least = 99, most = 0, ready, active;
    int64_t end = vclock_now(&w->clock) + 120 * NS_PER_S;
    while (vclock_step(&w->clock, end)) {
        count_pods(w, &ready, &active);
        least = ready < least ? ready : least;
        most = active > most ? active : most;
    }
    ck_assert_uint_eq(least, row->least_ready);
    ck_assert_uint_eq(most, row->most_pods);
    ck_assert_uint_eq(rig_pods(w, "n", "Running"), 4);
    for (size_t i = 0; i < sim_api_count(w->api, SIM_POD); i++) {
        const json_t *c =
            json_array_get(jsonx_at(sim_api_at(w->api, SIM_POD, i), "spec.containers"), 0);
        ck_assert_str_eq(jsonx_str_or(c, "resources.requests.cpu", ""), "2");
    }
    const json_t *d = sim_api_get(w->api, SIM_DEPLOYMENT, "default", "d");
    ck_assert_int_eq(jsonx_int(d, "status.updatedReplicas", 0), 4);
    ck_assert_uint_eq(sim_api_count(w->api, SIM_REPLICASET), 2);
    sim_world_free(w);
}
END_TEST

/* ---- DaemonSet
 * ------------------------------------------------------------------------------------ */

static void make_daemonset(struct sim_world *w, const char *more_spec)
{
    AUTO_FREE char *text = xasprintf(
        "{'apiVersion':'apps/v1','kind':'DaemonSet','metadata':{'name':'ds'},'spec':{"
        "'selector':{'matchLabels':{'app':'ds'}},'template':{'metadata':{'labels':{'app':'ds'}},"
        "'spec':{%s'containers':[{'name':'c','resources':{'requests':{'cpu':'1'}}}]}}}}",
        more_spec);
    rig_apply(w, text);
}

struct daemon_row {
    const char *what, *spec, *labels, *taints;
    size_t pods;
};

static const struct daemon_row daemons[] = {
    {"everywhere", "", NULL, NULL, 1},
    {"not where it is not tolerated", "", NULL, "[{'key':'k','effect':'NoSchedule'}]", 0},
    {"not before registration", "", NULL,
     "[{'key':'karpenter.sh/unregistered','effect':'NoExecute'}]", 0},
    {"where it is tolerated", "'tolerations':[{'operator':'Exists'}],", NULL,
     "[{'key':'k','effect':'NoExecute'}]", 1},
    {"not where it is not selected", "'nodeSelector':{'a':'b'},", NULL, NULL, 0},
    {"where it is selected", "'nodeSelector':{'a':'b'},", "{'a':'b'}", NULL, 1},
};

START_TEST(daemons_run_where_they_should)
{
    const struct daemon_row *row = &daemons[_i];
    struct sim_world *w = rig_world(1);
    make_daemonset(w, row->spec);
    rig_node(w, "n", RIG_BIG, row->labels, row->taints);
    rig_run(w, 10 * NS_PER_S);
    ck_assert_msg(rig_pods(w, "n", "Running") == row->pods, "%s", row->what);
    const json_t *ds = sim_api_get(w->api, SIM_DAEMONSET, "default", "ds");
    ck_assert_int_eq(jsonx_int(ds, "status.numberReady", -1), (int64_t)row->pods);
    ck_assert_int_eq(jsonx_int(ds, "status.desiredNumberScheduled", -1), (int64_t)row->pods);
    sim_world_free(w);
}
END_TEST

START_TEST(daemons_follow_nodes_and_templates)
{
    struct sim_world *w = rig_world(1);
    make_daemonset(w, "");
    rig_node(w, "a", RIG_BIG, NULL, NULL);
    rig_node(w, "b", RIG_BIG, NULL, NULL);
    rig_run(w, 10 * NS_PER_S);
    ck_assert_uint_eq(rig_pods(w, "a", "Running") + rig_pods(w, "b", "Running"), 2);
    /* A cordon does not move them, NoExecute does. */
    rig_patch(w, SIM_NODE, "a", "{'spec':{'unschedulable':true}}");
    rig_run(w, 10 * NS_PER_S);
    ck_assert_uint_eq(rig_pods(w, "a", "Running"), 1);
    rig_patch(w, SIM_NODE, "a", "{'spec':{'taints':[{'key':'x','effect':'NoExecute'}]}}");
    rig_run(w, 10 * NS_PER_S);
    ck_assert_uint_eq(rig_pods(w, "a", NULL), 0);
    rig_patch(w, SIM_NODE, "a", "{'spec':{'taints':null,'unschedulable':null}}");
    rig_run(w, 10 * NS_PER_S);
    rig_patch(w, SIM_DAEMONSET, "ds",
              "{'spec':{'template':{'spec':{'containers':[{'name':'c','resources':{'requests':{"
              "'cpu':'2'}}}]}}}}");
    size_t least = 99, ready, active;
    int64_t end = vclock_now(&w->clock) + 60 * NS_PER_S;
    while (vclock_step(&w->clock, end)) {
        count_pods(w, &ready, &active);
        least = ready < least ? ready : least;
    }
    ck_assert_uint_eq(least, 1); /* one at a time */
    ck_assert_uint_eq(rig_pods(w, "a", "Running") + rig_pods(w, "b", "Running"), 2);
    for (size_t i = 0; i < sim_api_count(w->api, SIM_POD); i++) {
        const json_t *c =
            json_array_get(jsonx_at(sim_api_at(w->api, SIM_POD, i), "spec.containers"), 0);
        ck_assert_str_eq(jsonx_str_or(c, "resources.requests.cpu", ""), "2");
    }
    sim_world_free(w);
}
END_TEST

/* ---- kubelet: pods
 * ---------------------------------------------------------------------------------- */

static void make_pod(struct sim_world *w, const char *annotations, const char *container)
{
    AUTO_FREE char *text =
        xasprintf("{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p','annotations':{%s}},"
                  "'spec':{'nodeName':'n','containers':[{'name':'c'%s}]}}",
                  annotations, container);
    rig_apply(w, text);
}

static const char *state(const struct sim_world *w)
{
    const json_t *p = sim_api_get(w->api, SIM_POD, "default", "p");
    return !p                                                ? "gone"
           : sim_pod_terminating(p)                          ? "terminating"
           : str_eq(sim_cond_status(p, "Ready"), "True")     ? "ready"
           : jsonx_str_or(p, "status.reason", "")[0] != '\0' ? jsonx_str(p, "status.reason")
                                                             : jsonx_str(p, "status.phase");
}

/* The pod's state so many seconds after its creation; deleted after 10 s if del is set. */
struct pod_row {
    const char *what, *annotations, *container;
    bool del;
    int at_s;
    const char *state;
};

#define PRE_STOP_EXEC ",'lifecycle':{'preStop':{'exec':{'command':['/bin/sh','-c','sleep 20']}}}"
#define PRE_STOP_SLEEP ",'lifecycle':{'preStop':{'sleep':{'seconds':20}}}"
#define DEAF "'sim.karp.dev/ignore-sigterm':'true'"

static const struct pod_row pods[] = {
    {"starting", "", "", false, 0, "Pending"},
    {"started", "", "", false, 2, "ready"},
    {"not ready yet", "'sim.karp.dev/ready-after':'5s'", "", false, 5, "Running"},
    {"ready later", "'sim.karp.dev/ready-after':'5s'", "", false, 7, "ready"},
    {"runs", "'sim.karp.dev/run-for':'30s'", "", false, 30, "ready"},
    {"has run", "'sim.karp.dev/run-for':'30s'", "", false, 32, "Succeeded"},
    {"exits at SIGTERM", "", "", true, 11, "gone"},
    {"in its preStop", "", PRE_STOP_EXEC, true, 29, "terminating"},
    {"after its preStop", "", PRE_STOP_EXEC, true, 31, "gone"},
    {"in its sleep", "", PRE_STOP_SLEEP, true, 29, "terminating"},
    {"after its sleep", "", PRE_STOP_SLEEP, true, 31, "gone"},
    {"deaf", DEAF, "", true, 39, "terminating"},
    {"killed", DEAF, "", true, 41, "gone"},
    {"does not fit", "", ",'resources':{'requests':{'cpu':'17'}}", false, 1, "OutOfcpu"},
    {"does not fit either", "", ",'resources':{'requests':{'memory':'65Gi'}}", false, 1,
     "OutOfmemory"},
};

START_TEST(runs_pods)
{
    const struct pod_row *row = &pods[_i];
    struct sim_world *w = rig_world(1);
    rig_node(w, "n", RIG_BIG, NULL, NULL);
    rig_run(w, 5 * NS_PER_S);
    make_pod(w, row->annotations, row->container);
    int64_t start = vclock_now(&w->clock);
    if (row->del) {
        vclock_run_to(&w->clock, start + 10 * NS_PER_S);
        sim_api_delete(w->api, "test", SIM_POD, "default", "p", NULL, -1, NULL, NULL);
    }
    vclock_run_to(&w->clock, start + row->at_s * NS_PER_S);
    ck_assert_msg(str_eq(state(w), row->state), "%s: %s", row->what, state(w));
    sim_world_free(w);
}
END_TEST

START_TEST(a_shorter_grace_ends_it_sooner)
{
    struct sim_world *w = rig_world(1);
    rig_node(w, "n", RIG_BIG, NULL, NULL);
    make_pod(w, DEAF, "");
    rig_run(w, 10 * NS_PER_S);
    sim_api_delete(w->api, "test", SIM_POD, "default", "p", NULL, -1, NULL, NULL);
    rig_run(w, 5 * NS_PER_S);
    sim_api_delete(w->api, "test", SIM_POD, "default", "p", NULL, 7, NULL, NULL);
    rig_run(w, 1 * NS_PER_S);
    ck_assert_str_eq(state(w), "terminating");
    rig_run(w, 2 * NS_PER_S);
    ck_assert_str_eq(state(w), "gone");
    sim_world_free(w);
}
END_TEST

/* ---- kubelet: nodes
 * ----------------------------------------------------------------------------------- */

static size_t taints(const struct sim_world *w, const char *key)
{
    size_t n = 0, i;
    json_t *t;
    json_array_foreach (jsonx_at(sim_api_get(w->api, SIM_NODE, NULL, "n"), "spec.taints"), i, t) {
        n += str_eq(jsonx_str(t, "key"), key);
    }
    return n;
}

START_TEST(a_node_comes_up)
{
    struct sim_world *w = rig_world(1);
    rig_node(w, "n", RIG_BIG, "{'intent':'apps'}", "[{'key':'k','effect':'NoSchedule'}]");
    const json_t *n = sim_api_get(w->api, SIM_NODE, NULL, "n");
    const json_t *labels = jsonx_at(n, "metadata.labels");
    ck_assert_str_eq(sim_cond_status(n, "Ready"), "False");
    ck_assert_uint_eq(taints(w, "node.kubernetes.io/not-ready"), 1);
    ck_assert_str_eq(json_string_value(json_object_get(labels, "topology.kubernetes.io/zone")),
                     "us-west-2a");
    ck_assert_str_eq(json_string_value(json_object_get(labels, "kubernetes.io/hostname")), "n");
    ck_assert_str_eq(json_string_value(json_object_get(labels, "intent")), "apps");
    rig_run(w, NS_PER_S / 2);
    ck_assert_uint_eq(taints(w, "node.kubernetes.io/not-ready"), 2);
    rig_run(w, NS_PER_S);
    n = sim_api_get(w->api, SIM_NODE, NULL, "n");
    ck_assert_str_eq(sim_cond_status(n, "Ready"), "True");
    ck_assert_uint_eq(taints(w, "node.kubernetes.io/not-ready"), 0);
    ck_assert_uint_eq(taints(w, "k"), 1);
    struct sim_node_spec again = {.name = "n", .provider_id = "x", .ready_ns = -1};
    struct err e = ERR_INIT;
    ck_assert_int_eq(sim_node_register(w, &again, &e), -1);
    ck_assert_int_eq(e.kind, ERR_EXISTS);
    sim_world_free(w);
}
END_TEST

START_TEST(a_silent_kubelet_is_noticed_and_forgiven)
{
    struct sim_world *w = rig_world(1);
    rig_node(w, "n", RIG_BIG, NULL, NULL);
    rig_deployment(w, "d", 1, "1");
    rig_run(w, 10 * NS_PER_S);
    sim_kubelet_stop(w->kubelet, "n");
    rig_run(w, 38 * NS_PER_S);
    ck_assert_str_eq(sim_cond_status(sim_api_get(w->api, SIM_NODE, NULL, "n"), "Ready"), "True");
    rig_run(w, 10 * NS_PER_S);
    ck_assert_str_eq(sim_cond_status(sim_api_get(w->api, SIM_NODE, NULL, "n"), "Ready"), "Unknown");
    ck_assert_uint_eq(taints(w, "node.kubernetes.io/unreachable"), 2);
    sim_kubelet_start(w->kubelet, "n");
    rig_run(w, NS_PER_S);
    ck_assert_str_eq(sim_cond_status(sim_api_get(w->api, SIM_NODE, NULL, "n"), "Ready"), "True");
    ck_assert_uint_eq(taints(w, "node.kubernetes.io/unreachable"), 0);
    /* Its pod tolerated the taint for 300 s and was kept; the next time it does not come back. */
    rig_run(w, 600 * NS_PER_S);
    ck_assert_uint_eq(rig_pods(w, "n", "Running"), 1);
    sim_kubelet_stop(w->kubelet, "n");
    rig_run(w, 330 * NS_PER_S);
    ck_assert_uint_eq(rig_pods(w, "", NULL), 0);
    rig_run(w, 30 * NS_PER_S);
    ck_assert_uint_eq(rig_pods(w, "", "Pending"), 1);
    ck_assert_uint_eq(rig_pods(w, "n", NULL), 1); /* terminating: nobody confirms */
    sim_world_free(w);
}
END_TEST

START_TEST(a_node_without_instance_goes)
{
    struct sim_world *w = rig_world(1);
    rig_node(w, "n", RIG_BIG, NULL, NULL);
    rig_deployment(w, "d", 2, "1");
    rig_run(w, 10 * NS_PER_S);
    sim_node_gone(w, "aws:///us-west-2a/i-n");
    rig_run(w, 60 * NS_PER_S);
    ck_assert(!sim_api_get(w->api, SIM_NODE, NULL, "n"));
    ck_assert_uint_eq(rig_pods(w, "n", NULL), 2);
    rig_run(w, 60 * NS_PER_S);
    ck_assert_uint_eq(rig_pods(w, "n", NULL), 0);
    ck_assert_uint_eq(rig_pods(w, "", "Pending"), 2);
    /* The name may be taken again. */
    rig_node(w, "n", RIG_BIG, NULL, NULL);
    rig_run(w, 20 * NS_PER_S);
    ck_assert_uint_eq(rig_pods(w, "n", "Running"), 2);
    sim_world_free(w);
}
END_TEST

static bool exists(void *ctx, const char *provider_id UNUSED)
{
    return *(bool *)ctx;
}

START_TEST(a_node_with_an_instance_stays)
{
    struct sim_world *w = rig_world(1);
    bool there = true;
    w->cloud = (struct sim_cloud){exists, &there};
    rig_node(w, "n", RIG_BIG, NULL, NULL);
    rig_run(w, 10 * NS_PER_S);
    sim_node_stop(w, "aws:///us-west-2a/i-n");
    rig_run(w, 300 * NS_PER_S);
    ck_assert_str_eq(sim_cond_status(sim_api_get(w->api, SIM_NODE, NULL, "n"), "Ready"), "Unknown");
    there = false;
    rig_run(w, 10 * NS_PER_S);
    ck_assert(!sim_api_get(w->api, SIM_NODE, NULL, "n"));
    sim_world_free(w);
}
END_TEST

/* ---- budgets and namespaces
 * ------------------------------------------------------------------------------ */

struct budget_row {
    const char *spec;
    int64_t desired, allowed;
};

/* Four ready pods of one Deployment of five, the fifth pending. */
static const struct budget_row budgets[] = {
    {"'minAvailable':3", 3, 1},      {"'minAvailable':5", 5, 0},   {"'minAvailable':'50%'", 3, 1},
    {"'maxUnavailable':1", 4, 0},    {"'maxUnavailable':2", 3, 1}, {"'maxUnavailable':'20%'", 4, 0},
    {"'maxUnavailable':'30%'", 3, 1}};

START_TEST(counts_budgets)
{
    struct sim_world *w = rig_world(1);
    rig_node(w, "n", "{'cpu':'4','memory':'64Gi','pods':'110'}", NULL, NULL);
    rig_deployment(w, "d", 5, "1");
    AUTO_FREE char *pdb =
        xasprintf("{'apiVersion':'policy/v1','kind':'PodDisruptionBudget','metadata':{'name':'b'},"
                  "'spec':{%s,'selector':{'matchLabels':{'app':'d'}}}}",
                  budgets[_i].spec);
    rig_apply(w, pdb);
    rig_run(w, 10 * NS_PER_S);
    const json_t *b = sim_api_get(w->api, SIM_PDB, "default", "b");
    ck_assert_int_eq(jsonx_int(b, "status.currentHealthy", -1), 4);
    ck_assert_int_eq(jsonx_int(b, "status.expectedPods", -1), 5);
    ck_assert_int_eq(jsonx_int(b, "status.desiredHealthy", -1), budgets[_i].desired);
    ck_assert_int_eq(jsonx_int(b, "status.disruptionsAllowed", -1), budgets[_i].allowed);
    sim_world_free(w);
}
END_TEST

START_TEST(controllers_can_be_stopped)
{
    struct sim_world *w = rig_world(1);
    rig_node(w, "n", RIG_BIG, NULL, NULL);
    rig_run(w, 5 * NS_PER_S);
    sim_workloads_stop(w->workloads);
    rig_deployment(w, "d", 2, "1");
    rig_run(w, 60 * NS_PER_S);
    ck_assert_uint_eq(sim_api_count(w->api, SIM_POD), 0);
    sim_workloads_start(w->workloads);
    rig_run(w, 5 * NS_PER_S);
    ck_assert_uint_eq(rig_pods(w, "n", "Running"), 2);
    sim_world_free(w);
}
END_TEST

START_TEST(a_namespace_takes_its_content_along)
{
    struct sim_world *w = rig_world(1);
    rig_apply(w, "{'apiVersion':'v1','kind':'Namespace','metadata':{'name':'team'}}");
    rig_apply(w,
              "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'m','namespace':'team'}}");
    sim_api_delete(w->api, "test", SIM_NAMESPACE, NULL, "team", NULL, -1, NULL, NULL);
    rig_run(w, NS_PER_S);
    ck_assert(!sim_api_get(w->api, SIM_CONFIGMAP, "team", "m"));
    sim_world_free(w);
}
END_TEST

UNIT_MAIN("sim_workloads", UNIT_CASES(ranks_victims, victims), UNIT_TEST(reads_victims),
          UNIT_CASES(scales_in_where_most_are, scale_ins),
          UNIT_TEST(deployment_makes_pods_and_tells), UNIT_CASES(rolls_over, rollouts),
          UNIT_TEST(takes_its_time), UNIT_CASES(daemons_run_where_they_should, daemons),
          UNIT_TEST(daemons_follow_nodes_and_templates), UNIT_CASES(runs_pods, pods),
          UNIT_TEST(a_shorter_grace_ends_it_sooner), UNIT_TEST(a_node_comes_up),
          UNIT_TEST(a_silent_kubelet_is_noticed_and_forgiven),
          UNIT_TEST(a_node_without_instance_goes), UNIT_TEST(a_node_with_an_instance_stays),
          UNIT_CASES(counts_budgets, budgets), UNIT_TEST(controllers_can_be_stopped),
          UNIT_TEST(a_namespace_takes_its_content_along))
