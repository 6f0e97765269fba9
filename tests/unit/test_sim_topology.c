/* The simulated kube-scheduler's rules about other pods: affinity, spread, host ports; see
 * tests/sim/kube/sched/. Nodes a and b lie in zone z1, c in z2, d has no zone. */
#include "simrig.h"

struct placed {
    const char *node, *ns, *labels, *spec; /* ns NULL = default, spec NULL = nothing more */
};

struct row {
    const char *what;
    struct placed there[4];
    const char *labels, *spec; /* of the pod at hand */
    const char *nodes;         /* those it may go to, any of them; "" = none */
    const char *part;          /* of the message, NULL = whatever */
};

#define BOX "'containers':[{'name':'c'}]"
#define TERM(key, app) "{'topologyKey':'" key "','labelSelector':{'matchLabels':{'app':'" app "'}}}"
#define ZONE "topology.kubernetes.io/zone"
#define HOST "kubernetes.io/hostname"
#define WITH(t)                                                                                    \
    "'affinity':{'podAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[" t "]}}"
#define WITHOUT(t)                                                                                 \
    "'affinity':{'podAntiAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[" t "]}}"
#define LIKES(t)                                                                                   \
    "'affinity':{'podAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':50,"  \
    "'podAffinityTerm':" t "}]}}"
#define DISLIKES(t)                                                                                \
    "'affinity':{'podAntiAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':[{'weight'"  \
    ":50,'podAffinityTerm':" t "}]}}"
#define SPREAD(key, skew, more)                                                                    \
    "'topologySpreadConstraints':[{'topologyKey':'" key "','maxSkew':" #skew                       \
    ",'whenUnsatisfiable':'DoNotSchedule','labelSelector':{'matchLabels':{'app':'x'}}" more "}]"
#define X "{'app':'x'}"
#define PORT(n, more)                                                                              \
    "'containers':[{'name':'c','ports':[{'containerPort':80,'hostPort':" #n more "}]}]"

static const struct row rows[] = {
    {"with: same zone", {{"a", NULL, X, NULL}}, NULL, WITH(TERM(ZONE, "x")), "ab", NULL},
    {"with: same node", {{"b", NULL, X, NULL}}, NULL, WITH(TERM(HOST, "x")), "b", NULL},
    {"with: nobody there",
     {{NULL}},
     NULL,
     WITH(TERM(ZONE, "x")),
     "",
     "4 node(s) didn't match pod affinity rules."},
    {"with: the first of its kind, where there is a zone",
     {{NULL}},
     X,
     WITH(TERM(ZONE, "x")),
     "abc",
     NULL},
    {"with: all terms of one pod",
     {{"a", NULL, "{'app':'x','t':'1'}", NULL}, {"c", NULL, "{'app':'y'}", NULL}},
     NULL,
     WITH(TERM(ZONE, "x") "," TERM(ZONE, "y")),
     "",
     "didn't match pod affinity rules"},
    {"with: another namespace does not count",
     {{"a", "other", X, NULL}},
     NULL,
     WITH(TERM(ZONE, "x")),
     "",
     "didn't match pod affinity rules"},
    {"with: namespaces by name",
     {{"a", "other", X, NULL}},
     NULL,
     WITH("{'topologyKey':'" ZONE "','namespaces':['other'],'labelSelector':{'matchLabels':" X
          "}}"),
     "ab",
     NULL},
    {"with: namespaces by label",
     {{"c", "other", X, NULL}},
     NULL,
     WITH("{'topologyKey':'" ZONE "','namespaceSelector':{'matchLabels':{'team':'o'}},"
          "'labelSelector':{'matchLabels':" X "}}"),
     "c",
     NULL},
    {"with: all namespaces",
     {{"c", "other", X, NULL}},
     NULL,
     WITH("{'topologyKey':'" ZONE "','namespaceSelector':{},'labelSelector':{'matchLabels':" X
          "}}"),
     "c",
     NULL},
    {"with: matchLabelKeys",
     {{"a", NULL, "{'app':'x','v':'1'}", NULL}, {"c", NULL, "{'app':'x','v':'2'}", NULL}},
     "{'v':'2'}",
     WITH("{'topologyKey':'" ZONE "','matchLabelKeys':['v'],'labelSelector':{'matchLabels':" X
          "}}"),
     "c",
     NULL},
    {"with: mismatchLabelKeys",
     {{"a", NULL, "{'app':'x','v':'1'}", NULL}, {"c", NULL, "{'app':'x','v':'2'}", NULL}},
     "{'v':'2'}",
     WITH("{'topologyKey':'" ZONE "','mismatchLabelKeys':['v'],'labelSelector':{'matchLabels':" X
          "}}"),
     "ab",
     NULL},
    {"without: not on that node",
     {{"a", NULL, X, NULL}},
     NULL,
     WITHOUT(TERM(HOST, "x")),
     "bcd",
     NULL},
    {"without: not in that zone",
     {{"a", NULL, X, NULL}},
     NULL,
     WITHOUT(TERM(ZONE, "x")),
     "cd",
     NULL},
    {"without: one everywhere",
     {{"a", NULL, X, NULL}, {"b", NULL, X, NULL}, {"c", NULL, X, NULL}, {"d", NULL, X, NULL}},
     X,
     WITHOUT(TERM(HOST, "x")),
     "",
     "4 node(s) didn't match pod anti-affinity rules."},
    {"the other one's without",
     {{"a", NULL, "{'app':'y'}", WITHOUT(TERM(HOST, "x"))}},
     X,
     NULL,
     "bcd",
     NULL},
    {"the other one's without, by zone",
     {{"a", NULL, "{'app':'y'}", WITHOUT(TERM(ZONE, "x"))}},
     X,
     NULL,
     "cd",
     NULL},
    {"the other one's without speaks of others",
     {{"a", NULL, "{'app':'y'}", WITHOUT(TERM(HOST, "x"))}},
     "{'app':'z'}",
     NULL,
     "abcd",
     NULL},
    {"the other one's without, in its own namespace only",
     {{"a", "other", "{'app':'y'}", WITHOUT(TERM(HOST, "x"))}},
     X,
     NULL,
     "abcd",
     NULL},
    {"likes: same zone", {{"c", NULL, X, NULL}}, NULL, LIKES(TERM(ZONE, "x")), "c", NULL},
    {"dislikes: another zone",
     {{"a", NULL, X, NULL}, {"d", NULL, "{'app':'y'}", NULL}, {"d", NULL, "{'app':'y'}", NULL}},
     NULL,
     DISLIKES(TERM(ZONE, "x")),
     "cd",
     NULL},
    {"the other one likes it near",
     {{"b", NULL, "{'app':'y'}", LIKES(TERM(HOST, "x"))}},
     X,
     NULL,
     "b",
     NULL},
    {"the other one needs it near",
     {{"b", NULL, "{'app':'x'}", WITH(TERM(HOST, "x"))}},
     X,
     NULL,
     "b",
     NULL},
    {"the other one dislikes it near",
     {{"a", NULL, "{'app':'y'}", DISLIKES(TERM(ZONE, "x"))}},
     X,
     NULL,
     "cd",
     NULL},
    {"spread: the emptier zone", {{"a", NULL, X, NULL}}, X, SPREAD(ZONE, 1, ""), "c", NULL},
    {"spread: skew 2 lets it be", {{"a", NULL, X, NULL}}, X, SPREAD(ZONE, 2, ""), "abc", NULL},
    {"spread: a pod that does not count itself",
     {{"a", NULL, X, NULL}},
     NULL,
     SPREAD(ZONE, 1, ""),
     "abc",
     NULL},
    {"spread: nodes without the key are out",
     {{"a", NULL, X, NULL}, {"c", NULL, X, NULL}, {"c", NULL, X, NULL}},
     X,
     SPREAD(ZONE, 1, ""),
     "ab",
     NULL},
    {"spread: says what is wrong",
     {{"a", NULL, X, NULL}},
     X,
     SPREAD(ZONE, 1, "") ",'nodeSelector':{'pick':'ab'}",
     "ab",
     NULL},
    {"spread: hosts",
     {{"a", NULL, X, NULL}, {"b", NULL, X, NULL}, {"c", NULL, X, NULL}},
     X,
     SPREAD(HOST, 1, ""),
     "d",
     NULL},
    {"spread: minDomains not there: the least is none",
     {{"a", NULL, X, NULL}, {"c", NULL, X, NULL}},
     X,
     SPREAD(ZONE, 1, ",'minDomains':3"),
     "",
     "1 node(s) didn't match pod topology spread constraints (missing required label), 3 node(s) "
     "didn't match pod topology spread constraints."},
    {"spread: minDomains there",
     {{"a", NULL, X, NULL}, {"c", NULL, X, NULL}},
     X,
     SPREAD(ZONE, 1, ",'minDomains':2"),
     "abc",
     NULL},
    {"spread: own nodes only count (Honor)",
     {{"a", NULL, X, NULL}},
     X,
     SPREAD(HOST, 1, "") ",'nodeSelector':{'pick':'ab'}",
     "b",
     NULL},
    {"spread: all nodes count (Ignore)",
     {{"a", NULL, X, NULL}, {"b", NULL, X, NULL}},
     X,
     SPREAD(HOST, 1, ",'nodeAffinityPolicy':'Ignore'") ",'nodeSelector':{'pick':'ab'}",
     "",
     "2 node(s) didn't match pod topology spread constraints."},
    {"spread: matchLabelKeys",
     {{"a", NULL, "{'app':'x','v':'1'}", NULL}},
     "{'app':'x','v':'2'}",
     SPREAD(ZONE, 1, ",'matchLabelKeys':['v']"),
     "abc",
     NULL},
    {"spread: other namespaces do not count",
     {{"a", "other", X, NULL}},
     X,
     SPREAD(ZONE, 1, ""),
     "abc",
     NULL},
    {"spread as a wish",
     {{"a", NULL, X, NULL}, {"b", NULL, X, NULL}},
     X,
     "'topologySpreadConstraints':[{'topologyKey':'" ZONE "','maxSkew':1,'whenUnsatisfiable':"
     "'ScheduleAnyway','labelSelector':{'matchLabels':{'app':'x'}}}]",
     "c",
     NULL},
    {"port taken",
     {{"a", NULL, X, PORT(80, "")}, {"b", NULL, X, PORT(80, "")}},
     NULL,
     PORT(80, ""),
     "cd",
     NULL},
    {"port taken everywhere",
     {{"a", NULL, X, PORT(80, "")}, {"b", NULL, X, PORT(80, "")}},
     NULL,
     PORT(80, "") ",'nodeSelector':{'pick':'ab'}",
     "",
     "2 node(s) didn't have free ports for the requested pod ports,"},
    {"port of another protocol",
     {{"a", NULL, X, PORT(80, ",'protocol':'UDP'")}},
     NULL,
     PORT(80, "") ",'nodeSelector':{'pick':'ab'}",
     "ab",
     NULL},
    {"port of two addresses",
     {{"a", NULL, X, PORT(80, ",'hostIP':'10.0.0.1'")}},
     NULL,
     PORT(80, ",'hostIP':'10.0.0.2'") ",'nodeSelector':{'pick':'ab'}",
     "ab",
     NULL},
    {"port of all addresses",
     {{"a", NULL, X, PORT(80, ",'hostIP':'10.0.0.1'")}, {"b", NULL, X, PORT(80, "")}},
     NULL,
     PORT(80, ",'hostIP':'0.0.0.0'") ",'nodeSelector':{'pick':'ab'}",
     "",
     "free ports"},
};

static void make_nodes(struct sim_world *w)
{
    rig_node(w, "a", RIG_BIG, "{'" ZONE "':'z1','pick':'ab'}", NULL);
    rig_node(w, "b", RIG_BIG, "{'" ZONE "':'z1','pick':'ab'}", NULL);
    rig_node(w, "c", RIG_BIG, "{'" ZONE "':'z2'}", NULL);
    rig_node(w, "d", RIG_BIG, NULL, NULL);
    rig_patch(w, SIM_NODE, "d", "{'metadata':{'labels':{'" ZONE "':null}}}");
    rig_run(w, 5 * NS_PER_S);
}

static void make_pod(struct sim_world *w, const char *name, const char *node, const char *ns,
                     const char *labels, const char *spec)
{
    bool boxed = spec && strstr(spec, "'containers'");
    AUTO_FREE char *on = node ? xasprintf("'nodeName':'%s',", node) : xstrdup("");
    AUTO_FREE char *text = xasprintf(
        "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'%s','namespace':'%s','labels':%s},"
        "'spec':{%s%s%s%s}}",
        name, ns ? ns : "default", labels ? labels : "{}", on, spec ? spec : "",
        spec && !boxed ? "," : "", boxed ? "" : BOX);
    rig_apply(w, text);
}

START_TEST(knows_other_pods)
{
    const struct row *row = &rows[_i];
    struct sim_world *w = rig_world((uint64_t)_i + 1);
    rig_apply(w, "{'apiVersion':'v1','kind':'Namespace','metadata':{'name':'other','labels':{"
                 "'team':'o'}}}");
    make_nodes(w);
    for (size_t i = 0; i < ARRAY_LEN(row->there) && row->there[i].node; i++) {
        const struct placed *p = &row->there[i];
        char name[16];
        snprintf(name, sizeof(name), "there-%zu", i);
        make_pod(w, name, p->node, p->ns, p->labels, p->spec);
    }
    rig_run(w, 2 * NS_PER_S);
    make_pod(w, "new", NULL, NULL, row->labels, row->spec);
    rig_run(w, 2 * NS_PER_S);
    const json_t *pod = sim_api_get(w->api, SIM_POD, "default", "new");
    const char *node = sim_pod_node(pod);
    const char *message = jsonx_str_or(sim_cond(pod, "PodScheduled"), "message", "");
    ck_assert_msg(row->nodes[0] ? node[0] && strstr(row->nodes, node) : !node[0],
                  "%s: on \"%s\", wanted \"%s\"; %s", row->what, node, row->nodes, message);
    ck_assert_msg(!row->part || strstr(message, row->part), "%s: %s", row->what, message);
    sim_world_free(w);
}
END_TEST

/* ---- many pods --------------------------------------------------------------------------------
 */

static void make_deployment(struct sim_world *w, int replicas, const char *spec)
{
    AUTO_FREE char *text = xasprintf(
        "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'d'},'spec':{'replicas':%d,"
        "'selector':{'matchLabels':{'app':'x'}},'template':{'metadata':{'labels':{'app':'x'}},"
        "'spec':{%s%s" BOX "}}}}",
        replicas, spec, spec[0] ? "," : "");
    rig_apply(w, text);
}

START_TEST(spreads_a_deployment)
{
    struct sim_world *w = rig_world(3);
    make_nodes(w);
    make_deployment(w, 9, SPREAD(ZONE, 1, ""));
    rig_run(w, 5 * NS_PER_S);
    size_t z1 = rig_pods(w, "a", NULL) + rig_pods(w, "b", NULL), z2 = rig_pods(w, "c", NULL);
    ck_assert_uint_eq(z1 + z2, 9);
    ck_assert_uint_le(z1 > z2 ? z1 - z2 : z2 - z1, 1);
    sim_world_free(w);
}
END_TEST

/* One per node, and the one too many finds its place when a node appears. */
START_TEST(one_per_node)
{
    struct sim_world *w = rig_world(3);
    make_nodes(w);
    make_deployment(w, 5, WITHOUT(TERM(HOST, "x")));
    rig_run(w, 5 * NS_PER_S);
    ck_assert_uint_eq(rig_pods(w, "", NULL), 1);
    for (const char *n = "abcd"; *n; n++) {
        char name[2] = {*n, '\0'};
        ck_assert_uint_eq(rig_pods(w, name, NULL), 1);
    }
    rig_node(w, "e", RIG_BIG, NULL, NULL);
    rig_run(w, 15 * NS_PER_S);
    ck_assert_uint_eq(rig_pods(w, "e", NULL), 1);
    sim_world_free(w);
}
END_TEST

/* Who waits for company is tried again when it comes. */
START_TEST(company_arrives)
{
    struct sim_world *w = rig_world(3);
    make_nodes(w);
    make_pod(w, "waits", NULL, NULL, NULL, WITH(TERM(ZONE, "x")));
    rig_run(w, 30 * NS_PER_S);
    ck_assert_uint_eq(sim_sched_pending(w->sched), 1);
    make_pod(w, "company", "c", NULL, X, NULL);
    rig_run(w, 15 * NS_PER_S);
    ck_assert_str_eq(sim_pod_node(sim_api_get(w->api, SIM_POD, "default", "waits")), "c");
    sim_world_free(w);
}
END_TEST

/* Terminating pods do not count for spread, nor do those that lost the label. */
START_TEST(leavers_do_not_count)
{
    struct sim_world *w = rig_world(3);
    make_nodes(w);
    make_pod(w, "one", "a", NULL, X, "'terminationGracePeriodSeconds':3600");
    make_pod(w, "two", "c", NULL, X, NULL);
    rig_run(w, 5 * NS_PER_S);
    rig_patch(w, SIM_POD, "one",
              "{'metadata':{'annotations':{'sim.karp.dev/ignore-sigterm':'true'}}}");
    sim_api_delete(w->api, "test", SIM_POD, "default", "one", NULL, -1, NULL, NULL);
    rig_run(w, 5 * NS_PER_S);
    make_pod(w, "three", NULL, NULL, X, SPREAD(ZONE, 1, ""));
    rig_run(w, 5 * NS_PER_S);
    const char *node = sim_pod_node(sim_api_get(w->api, SIM_POD, "default", "three"));
    ck_assert_msg(node[0] == 'a' || node[0] == 'b', "on %s", node);
    rig_patch(w, SIM_POD, "two", "{'metadata':{'labels':{'app':'y'}}}");
    make_pod(w, "four", NULL, NULL, X, SPREAD(ZONE, 1, ""));
    rig_run(w, 5 * NS_PER_S);
    ck_assert_str_eq(sim_pod_node(sim_api_get(w->api, SIM_POD, "default", "four")), "c");
    sim_world_free(w);
}
END_TEST

UNIT_MAIN("sim_topology", UNIT_CASES(knows_other_pods, rows), UNIT_TEST(spreads_a_deployment),
          UNIT_TEST(one_per_node), UNIT_TEST(company_arrives), UNIT_TEST(leavers_do_not_count))
