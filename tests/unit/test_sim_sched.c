/* The simulated kube-scheduler: filters, scores, order, back-off; see tests/sim/kube/sched.h. */
#include "simrig.h"
#include "tests/sim/kube/sched/sched_order.h"

static void make_pod(struct sim_world *w, const char *name, const char *spec)
{
    AUTO_FREE char *text = xasprintf(
        "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'%s'},'spec':{%s}}", name, spec);
    rig_apply(w, text);
}

#define ONE_CPU "'containers':[{'name':'c','resources':{'requests':{'cpu':'1'}}}]"

static const json_t *pod(const struct sim_world *w, const char *name)
{
    const json_t *p = sim_api_get(w->api, SIM_POD, "default", name);
    ck_assert(p != NULL);
    return p;
}

/* ---- filters ----------------------------------------------------------------------------------
 */

struct filter_row {
    const char *what, *pod, *labels, *taints, *capacity;
    const char *reason; /* NULL: it fits */
};

#define SMALL "{'cpu':'2','memory':'4Gi','pods':'10'}"

static const struct filter_row filters[] = {
    {"fits", ONE_CPU, NULL, NULL, SMALL, NULL},
    {"cpu", "'containers':[{'name':'c','resources':{'requests':{'cpu':'2001m'}}}]", NULL, NULL,
     SMALL, "1 Insufficient cpu."},
    {"limits are requests", "'containers':[{'name':'c','resources':{'limits':{'cpu':'3'}}}]", NULL,
     NULL, SMALL, "1 Insufficient cpu."},
    {"cpu and memory",
     "'containers':[{'name':'c','resources':{'requests':{'cpu':'3','memory':'5Gi'}}}]", NULL, NULL,
     SMALL, "1 Insufficient cpu, 1 Insufficient memory."},
    {"init containers count by their peak",
     "'initContainers':[{'name':'i','resources':{'requests':{'cpu':'3'}}}]," ONE_CPU, NULL, NULL,
     SMALL, "1 Insufficient cpu."},
    {"side containers add up",
     "'initContainers':[{'name':'i','restartPolicy':'Always','resources':{'requests':{"
     "'cpu':'1500m'}}}]," ONE_CPU,
     NULL, NULL, SMALL, "1 Insufficient cpu."},
    {"overhead", "'overhead':{'cpu':'1500m'}," ONE_CPU, NULL, NULL, SMALL, "1 Insufficient cpu."},
    {"pods", ONE_CPU, NULL, NULL, "{'cpu':'2','memory':'4Gi','pods':'0'}", "1 Too many pods."},
    {"extended", "'containers':[{'name':'c','resources':{'requests':{'nvidia.com/gpu':'1'}}}]",
     NULL, NULL, SMALL, "1 Insufficient nvidia.com/gpu."},
    {"extended there", "'containers':[{'name':'c','resources':{'requests':{'x.io/g':'1'}}}]", NULL,
     NULL, "{'cpu':'2','memory':'4Gi','pods':'9','x.io/g':'1'}", NULL},
    {"selector", "'nodeSelector':{'intent':'apps'}," ONE_CPU, NULL, NULL, SMALL,
     "1 node(s) didn't match Pod's node affinity/selector."},
    {"selector there", "'nodeSelector':{'intent':'apps'}," ONE_CPU, "{'intent':'apps'}", NULL,
     SMALL, NULL},
    {"affinity: one of the terms",
     "'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{"
     "'nodeSelectorTerms':[{'matchExpressions':[{'key':'a','operator':'Exists'}]},"
     "{'matchExpressions':[{'key':'n','operator':'Gt','values':['4']}]}]}}}," ONE_CPU,
     "{'n':'5'}", NULL, SMALL, NULL},
    {"affinity: none of the terms",
     "'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{"
     "'nodeSelectorTerms':[{'matchExpressions':[{'key':'n','operator':'NotIn','values':['5']}]}"
     "]}}}," ONE_CPU,
     "{'n':'5'}", NULL, SMALL, "1 node(s) didn't match Pod's node affinity/selector."},
    {"taint", ONE_CPU, NULL, "[{'key':'k','value':'v','effect':'NoSchedule'}]", SMALL,
     "1 node(s) had untolerated taint(s)."},
    {"taint tolerated", "'tolerations':[{'key':'k','operator':'Equal','value':'v'}]," ONE_CPU, NULL,
     "[{'key':'k','value':'v','effect':'NoSchedule'}]", SMALL, NULL},
    {"taint not by that value", "'tolerations':[{'key':'k','value':'w'}]," ONE_CPU, NULL,
     "[{'key':'k','value':'v','effect':'NoSchedule'}]", SMALL,
     "1 node(s) had untolerated taint(s)."},
    {"all tolerated", "'tolerations':[{'operator':'Exists'}]," ONE_CPU, NULL,
     "[{'key':'k','value':'v','effect':'NoExecute'}]", SMALL, NULL},
    {"a wish is no filter", ONE_CPU, NULL, "[{'key':'k','effect':'PreferNoSchedule'}]", SMALL,
     NULL},
};

START_TEST(filters_nodes)
{
    const struct filter_row *row = &filters[_i];
    struct sim_world *w = rig_world(1);
    rig_node(w, "n", row->capacity, row->labels, row->taints);
    rig_run(w, 5 * NS_PER_S);
    make_pod(w, "p", row->pod);
    rig_run(w, NS_PER_S);
    const json_t *p = pod(w, "p");
    const json_t *c = sim_cond(p, "PodScheduled");
    ck_assert_msg((sim_pod_node(p)[0] == '\0') == (row->reason != NULL), "%s", row->what);
    ck_assert_str_eq(sim_cond_status(p, "PodScheduled"), row->reason ? "False" : "True");
    if (row->reason) {
        const char *message = jsonx_str_or(c, "message", "");
        ck_assert_str_eq(jsonx_str_or(c, "reason", ""), "Unschedulable");
        ck_assert(str_starts(message, "0/1 nodes are available: "));
        ck_assert_msg(str_starts(message + strlen("0/1 nodes are available: "), row->reason),
                      "%s: %s", row->what, message);
    }
    sim_world_free(w);
}
END_TEST

START_TEST(says_that_there_is_no_node)
{
    struct sim_world *w = rig_world(1);
    make_pod(w, "p", ONE_CPU);
    make_pod(w, "gated", "'schedulingGates':[{'name':'g'}]," ONE_CPU);
    make_pod(w, "foreign", "'schedulerName':'other'," ONE_CPU);
    rig_run(w, NS_PER_S);
    ck_assert_str_eq(jsonx_str_or(sim_cond(pod(w, "p"), "PodScheduled"), "message", ""),
                     "no nodes available to schedule pods");
    ck_assert(!sim_cond(pod(w, "gated"), "PodScheduled"));
    ck_assert(!sim_cond(pod(w, "foreign"), "PodScheduled"));
    ck_assert_uint_eq(sim_sched_pending(w->sched), 1);
    /* A node comes: the first one only. The gate opens: the second. */
    rig_node(w, "n", RIG_BIG, NULL, NULL);
    rig_run(w, 5 * NS_PER_S);
    ck_assert_str_eq(sim_pod_node(pod(w, "p")), "n");
    rig_patch(w, SIM_POD, "gated", "{'spec':{'schedulingGates':null}}");
    rig_run(w, NS_PER_S);
    ck_assert_str_eq(sim_pod_node(pod(w, "gated")), "n");
    ck_assert_str_eq(sim_pod_node(pod(w, "foreign")), "");
    sim_world_free(w);
}
END_TEST

/* Of 150 nodes 100 that fit are enough; the next cycle goes on behind them. */
START_TEST(samples_large_clusters)
{
    struct sim_world *w = rig_world(1);
    for (int i = 0; i < 150; i++) {
        char name[16];
        snprintf(name, sizeof(name), "n%03d", i);
        rig_node(w, name, i == 120 ? RIG_BIG : SMALL, NULL, NULL);
    }
    rig_run(w, 5 * NS_PER_S);
    make_pod(w, "first", ONE_CPU);
    make_pod(w, "second", ONE_CPU);
    rig_run(w, NS_PER_S);
    ck_assert_str_ne(sim_pod_node(pod(w, "first")), "");
    ck_assert_str_ne(sim_pod_node(pod(w, "first")), "n120");
    ck_assert_str_eq(sim_pod_node(pod(w, "second")), "n120");
    /* One that fits on the last node only is found all the same. */
    make_pod(w, "large", "'containers':[{'name':'c','resources':{'requests':{'cpu':'9'}}}]");
    rig_run(w, NS_PER_S);
    ck_assert_str_eq(sim_pod_node(pod(w, "large")), "n120");
    sim_world_free(w);
}
END_TEST

START_TEST(takes_half_and_less_of_more)
{
    static const struct {
        size_t nodes, enough;
    } rows[] = {{1, 1}, {100, 100}, {101, 100}, {250, 120}, {1000, 420}, {5000, 500}, {10000, 500}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ck_assert_uint_eq(sim_sample_size(rows[i].nodes), rows[i].enough);
    }
}
END_TEST

/* ---- scores -------------------------------------------------------------------------------------
 */

struct score_row {
    const char *what, *pod;
    const char *a_labels, *a_taints, *a_capacity; /* node b is plain */
    const char *best;
};

#define MEDIUM "{'cpu':'8','memory':'32Gi','pods':'110'}"

static const struct score_row scores[] = {
    {"more free", ONE_CPU, NULL, NULL, "{'cpu':'16','memory':'64Gi','pods':'110'}", "a"},
    {"less free", ONE_CPU, NULL, NULL, "{'cpu':'4','memory':'16Gi','pods':'110'}", "b"},
    {"avoids what it is asked to avoid", ONE_CPU, NULL, "[{'key':'k','effect':'PreferNoSchedule'}]",
     "{'cpu':'16','memory':'64Gi','pods':'110'}", "b"},
    {"prefers what it is asked to prefer",
     "'affinity':{'nodeAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':["
     "{'weight':5,'preference':{'matchExpressions':[{'key':'a','operator':'Exists'}]}}]}}," ONE_CPU,
     "{'a':'1'}", NULL, "{'cpu':'4','memory':'16Gi','pods':'110'}", "a"},
};

START_TEST(scores_nodes)
{
    const struct score_row *row = &scores[_i];
    struct sim_world *w = rig_world(1);
    rig_node(w, "a", row->a_capacity, row->a_labels, row->a_taints);
    rig_node(w, "b", MEDIUM, NULL, NULL);
    rig_run(w, 5 * NS_PER_S);
    make_pod(w, "p", row->pod);
    rig_run(w, NS_PER_S);
    ck_assert_msg(str_eq(sim_pod_node(pod(w, "p")), row->best), "%s: %s", row->what,
                  sim_pod_node(pod(w, "p")));
    sim_world_free(w);
}
END_TEST

START_TEST(spreads_over_equals)
{
    struct sim_world *w = rig_world(7);
    rig_node(w, "a", RIG_BIG, NULL, NULL);
    rig_node(w, "b", RIG_BIG, NULL, NULL);
    rig_run(w, 5 * NS_PER_S);
    rig_deployment(w, "d", 20, "1");
    rig_run(w, 5 * NS_PER_S);
    ck_assert_uint_eq(rig_pods(w, "a", "Running"), 10);
    ck_assert_uint_eq(rig_pods(w, "b", "Running"), 10);
    sim_world_free(w);
}
END_TEST

START_TEST(never_overcommits)
{
    struct sim_world *w = rig_world(3);
    rig_node(w, "a", RIG_BIG, NULL, NULL);
    rig_node(w, "b", RIG_BIG, NULL, NULL);
    rig_run(w, 5 * NS_PER_S);
    rig_deployment(w, "d", 40, "1");
    rig_run(w, 5 * NS_PER_S);
    ck_assert_uint_eq(rig_pods(w, "a", "Running"), 16);
    ck_assert_uint_eq(rig_pods(w, "b", "Running"), 16);
    ck_assert_uint_eq(rig_pods(w, "", "Pending"), 8);
    ck_assert_uint_eq(sim_sched_pending(w->sched), 8);
    sim_world_free(w);
}
END_TEST

/* ---- order and back-off
 * --------------------------------------------------------------------------- */

START_TEST(priority_goes_first)
{
    struct sim_world *w = rig_world(1);
    sim_sched_stop(w->sched);
    rig_node(w, "n", "{'cpu':'1','memory':'4Gi','pods':'110'}", NULL, NULL);
    make_pod(w, "low", ONE_CPU);
    make_pod(w, "high", "'priorityClassName':'system-node-critical'," ONE_CPU);
    rig_run(w, 5 * NS_PER_S);
    ck_assert_str_eq(sim_pod_node(pod(w, "high")), "");
    sim_sched_start(w->sched);
    rig_run(w, 5 * NS_PER_S);
    ck_assert_str_eq(sim_pod_node(pod(w, "high")), "n");
    ck_assert_str_eq(sim_pod_node(pod(w, "low")), "");
    ck_assert_int_eq(jsonx_int(pod(w, "high"), "spec.priority", 0), 2000001000);
    sim_world_free(w);
}
END_TEST

START_TEST(tries_again_when_room_appears)
{
    struct sim_world *w = rig_world(1);
    rig_node(w, "n", "{'cpu':'1','memory':'4Gi','pods':'110'}", NULL, NULL);
    rig_run(w, 5 * NS_PER_S);
    make_pod(w, "first", ONE_CPU);
    rig_run(w, 5 * NS_PER_S);
    make_pod(w, "second", ONE_CPU);
    rig_run(w, 5 * NS_PER_S);
    ck_assert_str_eq(sim_pod_node(pod(w, "second")), "");
    uint64_t tries = sim_api_calls(w->api, "kube-scheduler", "patch pods/status");
    /* Nothing happens, nothing is tried. */
    rig_run(w, 60 * NS_PER_S);
    ck_assert_uint_eq(sim_api_calls(w->api, "kube-scheduler", "patch pods/status"), tries);
    sim_api_delete(w->api, "test", SIM_POD, "default", "first", NULL, -1, NULL, NULL);
    rig_run(w, 2 * NS_PER_S);
    ck_assert_str_eq(sim_pod_node(pod(w, "second")), "n");
    sim_world_free(w);
}
END_TEST

START_TEST(cordon_and_relabel_are_news)
{
    struct sim_world *w = rig_world(1);
    rig_node(w, "n", RIG_BIG, NULL, NULL);
    rig_run(w, 5 * NS_PER_S);
    rig_patch(w, SIM_NODE, "n", "{'spec':{'unschedulable':true}}");
    make_pod(w, "p", "'nodeSelector':{'x':'y'}," ONE_CPU);
    rig_run(w, 5 * NS_PER_S);
    ck_assert(str_contains(jsonx_str_or(sim_cond(pod(w, "p"), "PodScheduled"), "message", ""),
                           "1 node(s) were unschedulable"));
    rig_patch(w, SIM_NODE, "n", "{'spec':{'unschedulable':null}}");
    rig_run(w, 5 * NS_PER_S);
    ck_assert(str_contains(jsonx_str_or(sim_cond(pod(w, "p"), "PodScheduled"), "message", ""),
                           "affinity/selector"));
    rig_patch(w, SIM_NODE, "n", "{'metadata':{'labels':{'x':'y'}}}");
    rig_run(w, 11 * NS_PER_S);
    ck_assert_str_eq(sim_pod_node(pod(w, "p")), "n");
    sim_world_free(w);
}
END_TEST

/* The same seed gives the same placement, another seed another one. */
static void placement(uint64_t seed, char dst[64])
{
    struct sim_world *w = rig_world(seed);
    rig_node(w, "a", RIG_BIG, NULL, NULL);
    rig_node(w, "b", RIG_BIG, NULL, NULL);
    rig_run(w, 5 * NS_PER_S);
    for (int i = 0; i < 16; i++) {
        char name[16];
        snprintf(name, sizeof(name), "p%d", i);
        make_pod(w, name, "'containers':[{'name':'c'}]");
        rig_run(w, NS_PER_S);
        dst[i] = sim_pod_node(pod(w, name))[0];
    }
    dst[16] = '\0';
    sim_world_free(w);
}

START_TEST(chance_comes_from_the_seed)
{
    char a[64], b[64], c[64];
    placement(1, a);
    placement(1, b);
    placement(2, c);
    ck_assert_str_eq(a, b);
    ck_assert_str_ne(a, c);
}
END_TEST

/* The Node is older and the pod unbound again: the kubelet says Ready anew, and what the pod held
 * is free. */
START_TEST(a_restore_takes_back_a_binding)
{
    struct sim_world *w = rig_world(1);
    make_pod(w, "all", "'containers':[{'name':'c','resources':{'requests':{'cpu':'2'}}}]");
    rig_run(w, 10 * NS_PER_S);
    rig_node(w, "n", SMALL, NULL, NULL);
    rig_run(w, 20 * NS_PER_S);
    ck_assert_str_eq(sim_pod_node(pod(w, "all")), "n");
    ck_assert_uint_gt(sim_api_restore(w->api, 19500 * NS_PER_MS), 0);
    ck_assert_str_eq(sim_pod_node(pod(w, "all")), "");
    rig_run(w, 9 * NS_PER_S);
    ck_assert_str_eq(sim_pod_node(pod(w, "all")), "");
    rig_run(w, 30 * NS_PER_S);
    ck_assert_str_eq(sim_pod_node(pod(w, "all")), "n");
    sim_world_free(w);
}
END_TEST

UNIT_MAIN("sim_sched", UNIT_CASES(filters_nodes, filters), UNIT_TEST(says_that_there_is_no_node),
          UNIT_TEST(samples_large_clusters), UNIT_TEST(takes_half_and_less_of_more),
          UNIT_CASES(scores_nodes, scores), UNIT_TEST(spreads_over_equals),
          UNIT_TEST(never_overcommits), UNIT_TEST(priority_goes_first),
          UNIT_TEST(tries_again_when_room_appears), UNIT_TEST(cordon_and_relabel_are_news),
          UNIT_TEST(chance_comes_from_the_seed), UNIT_TEST(a_restore_takes_back_a_binding))
