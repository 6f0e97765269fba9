/* Preemption in the simulated kube-scheduler; see tests/sim/kube/sched/sched_preempt.h. Two nodes
 * a and b with four cores each; pods of classes low (0), mid (10) and high (100). */
#include "simrig.h"

struct tenant {
    const char *name, *node;
    int cpu, priority;
};

struct row {
    const char *what;
    struct tenant there[6];
    int cpu, priority;
    const char *policy;  /* preemptionPolicy, NULL = the default */
    const char *pdb;     /* name of the pods that may not be disrupted, NULL = none */
    const char *node;    /* where the new pod gets; "" = nowhere */
    const char *victims; /* names that are gone then, each with a blank behind */
    const char *part;    /* of the message, if it gets nowhere */
};

static const struct row rows[] = {
    {"room without anybody's going", {{"l", "a", 2, 0}}, 4, 100, NULL, NULL, "b", "", NULL},
    {"the lower one goes",
     {{"l", "a", 4, 0}, {"m", "b", 4, 10}},
     4,
     100,
     NULL,
     NULL,
     "a",
     "l ",
     NULL},
    {"equals stay",
     {{"x", "a", 4, 100}, {"y", "b", 4, 100}},
     4,
     100,
     NULL,
     NULL,
     "",
     "",
     "preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod."},
    {"policy Never",
     {{"x", "a", 4, 0}, {"y", "b", 4, 0}},
     4,
     100,
     "Never",
     NULL,
     "",
     "",
     "preemption: not eligible due to preemptionPolicy=Never."},
    {"no more than needed",
     {{"l1", "a", 1, 0}, {"l2", "a", 1, 0}, {"l3", "a", 2, 0}, {"m", "b", 4, 100}},
     2,
     100,
     NULL,
     NULL,
     "a",
     "l3 ",
     NULL},
    {"the more important stay",
     {{"l", "a", 2, 0}, {"m", "a", 2, 10}, {"x", "b", 4, 100}},
     2,
     100,
     NULL,
     NULL,
     "a",
     "l ",
     NULL},
    {"the least important first",
     {{"m", "a", 4, 10}, {"l1", "b", 2, 0}, {"l2", "b", 2, 0}},
     4,
     100,
     NULL,
     NULL,
     "b",
     "l1 l2 ",
     NULL},
    {"fewer of the same",
     {{"l1", "a", 2, 0}, {"l2", "a", 2, 0}, {"l3", "b", 4, 0}},
     4,
     100,
     NULL,
     NULL,
     "b",
     "l3 ",
     NULL},
    {"rather no budget", {{"g", "a", 4, 0}, {"m", "b", 4, 10}}, 4, 100, NULL, "g", "b", "m ", NULL},
    {"a budget is only a wish",
     {{"g", "a", 4, 0}, {"x", "b", 4, 100}},
     4,
     100,
     NULL,
     "g",
     "a",
     "g ",
     NULL},
    {"of one node those without budget",
     {{"g", "a", 2, 0}, {"l", "a", 2, 0}, {"x", "b", 4, 100}},
     2,
     100,
     NULL,
     "g",
     "a",
     "l ",
     NULL},
    {"too large for any node",
     {{"l", "a", 1, 0}},
     5,
     100,
     NULL,
     NULL,
     "",
     "",
     "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."},
};

static void make_class(struct sim_world *w, int priority)
{
    AUTO_FREE char *text = xasprintf("{'apiVersion':'scheduling.k8s.io/v1','kind':'PriorityClass',"
                                     "'metadata':{'name':'p%d'},'value':%d}",
                                     priority, priority);
    rig_apply(w, text);
}

static void make_pod(struct sim_world *w, const struct tenant *t, const char *policy)
{
    AUTO_FREE char *how = policy ? xasprintf("'preemptionPolicy':'%s',", policy) : xstrdup("");
    AUTO_FREE char *on = t->node ? xasprintf("'nodeName':'%s',", t->node) : xstrdup("");
    AUTO_FREE char *text = xasprintf(
        "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'%s','labels':{'name':'%s'}},'spec':{"
        "%s%s'priorityClassName':'p%d','terminationGracePeriodSeconds':5,'containers':[{'name':"
        "'c','resources':{'requests':{'cpu':'%d'}}}]}}",
        t->name, t->name, on, how, t->priority, t->cpu);
    rig_apply(w, text);
}

static struct sim_world *make_world(void)
{
    struct sim_world *w = rig_world(1);
    static const int priorities[] = {0, 10, 100, 1000};
    for (size_t i = 0; i < ARRAY_LEN(priorities); i++) {
        make_class(w, priorities[i]);
    }
    rig_node(w, "a", "{'cpu':'4','memory':'16Gi','pods':'110'}", NULL, NULL);
    rig_node(w, "b", "{'cpu':'4','memory':'16Gi','pods':'110'}", NULL, NULL);
    rig_run(w, 5 * NS_PER_S);
    return w;
}

static void make_pdb(struct sim_world *w, const char *name)
{
    AUTO_FREE char *text = xasprintf(
        "{'apiVersion':'policy/v1','kind':'PodDisruptionBudget','metadata':{'name':'b'},'spec':{"
        "'minAvailable':1,'selector':{'matchLabels':{'name':'%s'}}}}",
        name);
    rig_apply(w, text);
}

static const json_t *pod(const struct sim_world *w, const char *name)
{
    return sim_api_get(w->api, SIM_POD, "default", name);
}

START_TEST(makes_room)
{
    const struct row *row = &rows[_i];
    struct sim_world *w = make_world();
    if (row->pdb) {
        make_pdb(w, row->pdb);
    }
    for (size_t i = 0; i < ARRAY_LEN(row->there) && row->there[i].name; i++) {
        make_pod(w, &row->there[i], NULL);
        rig_run(w, NS_PER_S);
    }
    rig_run(w, 5 * NS_PER_S);
    const struct tenant new = {"new", NULL, row->cpu, row->priority};
    make_pod(w, &new, row->policy);
    rig_run(w, 30 * NS_PER_S);
    const json_t *c = sim_cond(pod(w, "new"), "PodScheduled");
    const char *message = jsonx_str_or(c, "message", "");
    ck_assert_msg(str_eq(sim_pod_node(pod(w, "new")), row->node), "%s: on \"%s\": %s", row->what,
                  sim_pod_node(pod(w, "new")), message);
    ck_assert_msg(!row->part || str_ends(message, row->part), "%s: %s", row->what, message);
    for (size_t i = 0; i < ARRAY_LEN(row->there) && row->there[i].name; i++) {
        AUTO_FREE char *word = xasprintf("%s ", row->there[i].name);
        ck_assert_msg(!pod(w, row->there[i].name) == !!strstr(row->victims, word), "%s: %s",
                      row->what, row->there[i].name);
    }
    sim_world_free(w);
}
END_TEST

/* The victim hears why, the pod is promised the node, and nobody of lower rank takes it meanwhile;
 * while the victim is on its way out nobody else has to go. */
START_TEST(promises_are_kept)
{
    struct sim_world *w = make_world();
    const struct tenant low = {"low", "a", 4, 0}, top = {"top", "b", 4, 1000};
    const struct tenant high = {"high", NULL, 4, 100}, mid = {"mid", NULL, 4, 10};
    make_pod(w, &low, NULL);
    make_pod(w, &top, NULL);
    rig_run(w, 5 * NS_PER_S);
    rig_patch(w, SIM_POD, "low",
              "{'metadata':{'annotations':{'sim.karp.dev/ignore-sigterm':'true'}}}");
    make_pod(w, &high, NULL);
    rig_run(w, NS_PER_S);
    ck_assert_str_eq(jsonx_str_or(pod(w, "high"), "status.nominatedNodeName", ""), "a");
    ck_assert_str_eq(sim_pod_node(pod(w, "high")), "");
    const json_t *c = sim_cond(pod(w, "low"), "DisruptionTarget");
    ck_assert_str_eq(jsonx_str_or(c, "reason", ""), "PreemptionByScheduler");
    ck_assert(sim_pod_terminating(pod(w, "low")));
    make_pod(w, &mid, NULL);
    rig_run(w, 30 * NS_PER_S);
    ck_assert_str_eq(sim_pod_node(pod(w, "high")), "a");
    ck_assert_str_eq(sim_pod_node(pod(w, "mid")), "");
    ck_assert(pod(w, "top") != NULL);
    ck_assert_uint_eq(sim_api_calls(w->api, "kube-scheduler", "delete pods"), 1);
    sim_world_free(w);
}
END_TEST

/* A node that appears is taken by whoever fits; the promise is no duty. */
START_TEST(another_place_will_do)
{
    struct sim_world *w = make_world();
    const struct tenant low = {"low", "a", 4, 0}, top = {"top", "b", 4, 1000};
    const struct tenant high = {"high", NULL, 4, 100};
    make_pod(w, &low, NULL);
    make_pod(w, &top, NULL);
    rig_run(w, 5 * NS_PER_S);
    rig_patch(w, SIM_POD, "low",
              "{'metadata':{'annotations':{'sim.karp.dev/ignore-sigterm':'true'}}}");
    make_pod(w, &high, NULL);
    rig_run(w, NS_PER_S);
    rig_node(w, "c", RIG_BIG, NULL, NULL);
    rig_run(w, 30 * NS_PER_S);
    ck_assert_str_eq(sim_pod_node(pod(w, "high")), "c");
    sim_world_free(w);
}
END_TEST

UNIT_MAIN("sim_preempt", UNIT_CASES(makes_room, rows), UNIT_TEST(promises_are_kept),
          UNIT_TEST(another_place_will_do))
