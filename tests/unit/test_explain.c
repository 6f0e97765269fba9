/* test_explain.c - explain pod and simulate as reports, on small clusters (common/core/explain.h,
 * cmd/explain/podview.h, cmd/disrupt/plan.h), and the text of refusals. */
#include "cmdrun.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/core/explain.h"
#include "common/core/labels.h"

/* ---- a cluster ------------------------------------------------------------------------------- */

#define OFFER(ct, zone, price)                                                                     \
    "{\"available\": true, \"price\": " price ", \"requirements\": ["                              \
    "{\"key\": \"karpenter.sh/capacity-type\", \"operator\": \"In\", \"values\": [\"" ct "\"]},"   \
    "{\"key\": \"topology.kubernetes.io/zone\", \"operator\": \"In\", \"values\": [\"" zone        \
    "\"]}]}"
#define TYPE(name, arch, cpu, mem, price)                                                          \
    "{\"name\": \"" name "\", \"capacity\": {\"cpu\": \"" cpu "\", \"memory\": \"" mem             \
    "\", \"pods\": \"10\"}, \"allocatable\": {\"cpu\": \"" cpu "\", \"memory\": \"" mem            \
    "\", \"pods\": \"10\"}, \"requirements\": [{\"key\": \"kubernetes.io/arch\", \"operator\": "   \
    "\"In\", \"values\": [\"" arch                                                                 \
    "\"]}, {\"key\": \"kubernetes.io/os\", \"operator\": \"In\", \"values\": [\"linux\"]}],"       \
    "\"offerings\": [" OFFER("on-demand", "a", price) "," OFFER("on-demand", "b", price) "]}"

static const char types[] =
    "[" TYPE("s", "amd64", "2", "4Gi", "0.1") "," TYPE("m", "amd64", "4", "8Gi", "0.2") "," TYPE(
        "l", "amd64", "8", "16Gi", "0.4") "," TYPE("arm", "arm64", "4", "8Gi", "0.15") "]";

#define POOL(name, spec, template)                                                                 \
    "---\napiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: " name "}\nspec:\n" spec   \
    "  template:\n    spec:\n      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, "  \
    "name: d}\n" template
#define NODE(name, cpu, extra)                                                                     \
    "---\napiVersion: v1\nkind: Node\nmetadata:\n  name: " name                                    \
    "\n  labels: {kubernetes.io/arch: amd64, kubernetes.io/os: linux}\nspec: {providerID: \"" name \
    "\"" extra "}\nstatus: {capacity: {cpu: \"" cpu "\", memory: 32Gi, pods: \"10\"}, "            \
    "allocatable: {cpu: \"" cpu "\", memory: 32Gi, pods: \"10\"}}\n"
#define POD(spec)                                                                                  \
    "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: default}\nspec:\n" spec
#define ASKS(cpu, mem)                                                                             \
    "  containers: [{name: c, resources: {requests: {cpu: \"" cpu "\", memory: " mem "}}}]\n"
#define DAEMON(cpu)                                                                                \
    "---\napiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: ds, namespace: default}\nspec: "  \
    "{template: {spec: {containers: [{name: c, resources: {requests: {cpu: \"" cpu "\"}}}]}}}\n"

/* A pod p on a cluster: the verdict, each pool as "name code", the funnel of the first one as
 * "step left", what its nearest type lacks, the groups of nodes as "code count nearest". */
static const struct {
    const char *cluster;
    const char *verdict, *pools, *funnel, *nearest, *nodes;
} rows[] = {
    {POOL("a", "", "") POD(ASKS("1", "1Gi")), "Schedulable", "a Schedulable",
     "PoolNotReady 4, Resources 4, Offering 4", "s", ""},
    /* its own node is what the limit let in, and no other pool's obstacle is its own */
    {POOL("a", "  limits: {cpu: \"2\"}\n", "") POD(ASKS("1", "1Gi")), "Schedulable",
     "a Schedulable", "PoolNotReady 4, Resources 4, Offering 4, Limit 1", "s", ""},
    {POOL("a", "  limits: {nodes: \"1\"}\n", "") NODE("n1", "1", "") POD(ASKS("3", "1Gi")),
     "Schedulable", "a Schedulable",
     "PoolNotReady 4, Resources 3, Offering 3, NodeLimit 3, Limit 3", "arm", "Resources 1 n1"},
    {POD(ASKS("1", "1Gi")), "NoPool", "", "", "", ""},
    /* the funnel, and how much is short of what: all that is short */
    {POOL("a", "", "") POD(ASKS("9", "20Gi")), "Resources", "a Resources",
     "PoolNotReady 4, Resources 0", "l cpu 1 memory 4Gi", ""},
    {POOL("a", "", "") DAEMON("1") POD(ASKS("7500m", "1Gi")), "Resources", "a Resources",
     "PoolNotReady 4, Resources 0", "l cpu 500m", ""},
    {POOL("a", "", "") POD("  nodeSelector: {kubernetes.io/arch: arm64}\n" ASKS("5", "1Gi")),
     "Resources", "a Resources", "PoolNotReady 4, Requirement 1, Resources 0", "arm cpu 1", ""},
    {POOL("a", "", "")
         POD("  nodeSelector: {kubernetes.io/arch: arm64, topology.kubernetes.io/zone: z}\n" ASKS(
             "1", "1Gi")),
     "Requirement", "a Requirement", "PoolNotReady 4, Requirement 1, Requirement 0", "", ""},
    {POOL("a", "", "") POD("  nodeSelector: {example.com/x: v}\n" ASKS("1", "1Gi")), "UnknownLabel",
     "a UnknownLabel", "PoolNotReady 4, UnknownLabel 0", "", ""},
    {POOL("a", "", "      taints: [{key: k, value: v, effect: NoSchedule}]\n")
         POD(ASKS("1", "1Gi")),
     "Taint", "a Taint", "PoolNotReady 4, Taint 0", "", ""},
    {POOL("a", "  limits: {cpu: \"3\"}\n", "") POD(ASKS("3", "1Gi")), "Limit", "a Limit",
     "PoolNotReady 4, Resources 3, Offering 3, Limit 0", "arm cpu 1", ""},
    {POOL("a", "  limits: {nodes: \"0\"}\n", "") POD(ASKS("3", "1Gi")), "NodeLimit", "a NodeLimit",
     "PoolNotReady 4, Resources 3, Offering 3, NodeLimit 0", "arm", ""},
    {POOL("a", "",
          "      requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [s, "
          "m, l], minValues: 3}]\n") POD(ASKS("3", "1Gi")),
     "MinValues", "a MinValues", "PoolNotReady 3, Resources 2, Offering 2, MinValues 0", "m", ""},
    /* nearest pool first, then by weight */
    {POOL("a", "", "      taints: [{key: k, effect: NoSchedule}]\n")
         POOL("b", "  weight: 5\n", "      taints: [{key: k, effect: NoSchedule}]\n")
             POOL("c", "", "") POD(ASKS("9", "1Gi")),
     "Resources", "c Resources, b Taint, a Taint", "PoolNotReady 4, Resources 0", "l cpu 1", ""},
    /* of two terms the one that gets furthest */
    {POOL("a", "", "")
         POD("  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
             "{nodeSelectorTerms: [{matchExpressions: [{key: example.com/x, operator: Exists}]}, "
             "{matchExpressions: [{key: kubernetes.io/arch, operator: In, values: "
             "[amd64]}]}]}}}\n" ASKS("9", "1Gi")),
     "Resources", "a Resources", "PoolNotReady 4, Requirement 3, Resources 0", "l cpu 1", ""},
    /* existing nodes: the one that lacks the least, and those that take none */
    {NODE("n1", "2", "") NODE("n2", "3", "") NODE("n3", "8", ", unschedulable: true")
         NODE("n4", "8", ", taints: [{key: k, effect: NoSchedule}]") POD(ASKS("4", "1Gi")),
     "NoPool", "", "", "", "Resources 2 n2, Taint 1 n3, Taint 1 n4"},
    {NODE("n1", "2", "") POD("  nodeSelector: {kubernetes.io/arch: arm64}\n" ASKS("1", "1Gi")),
     "NoPool", "", "", "", "Requirement 1 n1"},
    {NODE("n1", "2", "") POD(ASKS("1", "1Gi")), "FitsExisting", "", "", "", "FitsExisting 1 n1"},
    {NODE("n1", "2", "") NODE("n2", "1", "") NODE("n3", "2", "") POD(ASKS("2", "1Gi")),
     "FitsExisting", "", "", "", "FitsExisting 2 n1, Resources 1 n2"},
    /* room everywhere, and a pod that is refused whatever the place */
    {NODE("n1", "2", "") POOL("a", "", "")
         POD("  resourceClaims: [{name: gpu}]\n" ASKS("1", "1Gi")),
     "ResourceClaim", "a ResourceClaim", "ResourceClaim 0", "", "ResourceClaim 1 n1"},
    /* pod level */
    {POOL("a", "", "") POD("  schedulingGates: [{name: g}]\n" ASKS("1", "1Gi")), "Gated",
     "a Schedulable", "PoolNotReady 4, Resources 4, Offering 4", "s", ""},
    /* bound: what the nodes would say if it came now; the room it takes is its own */
    {POOL("a", "", "") POD("  nodeName: n1\n" ASKS("2", "1Gi")) NODE("n1", "2", "")
         NODE("n2", "1", ""),
     "FitsExisting", "a Schedulable", "PoolNotReady 4, Resources 4, Offering 4", "s",
     "FitsExisting 1 n1, Resources 1 n2"},
};

static void add(char *dst, size_t size, const char *fmt, const char *a, const char *b)
{
    size_t n = strlen(dst);
    snprintf(dst + n, size - n, fmt, n ? ", " : "", a, b);
}

static void check_first(const json_t *pool, const char *funnel, const char *nearest)
{
    char got[512] = "", number[24];
    size_t i;
    json_t *step, *v;
    const char *key;
    json_array_foreach (jsonx_arr(pool, "funnel"), i, step) {
        snprintf(number, sizeof(number), "%d", (int)jsonx_int(step, "left", -1));
        add(got, sizeof(got), "%s%s %s", jsonx_str(step, "step"), number);
    }
    ck_assert_str_eq(got, funnel);
    snprintf(got, sizeof(got), "%s", jsonx_str_or(pool, "nearest.instanceType", ""));
    json_object_foreach (jsonx_obj(pool, "nearest.short"), key, v) {
        size_t n = strlen(got);
        snprintf(got + n, sizeof(got) - n, " %s %s", key, json_string_value(v));
    }
    ck_assert_str_eq(got, nearest);
}

static void check_nodes(const json_t *report, const char *want)
{
    char got[512] = "", text[64];
    size_t i;
    json_t *g;
    json_array_foreach (jsonx_arr(report, "existingNodes"), i, g) {
        snprintf(text, sizeof(text), "%d %s", (int)jsonx_int(g, "count", -1),
                 jsonx_str(g, "nearest.node"));
        add(got, sizeof(got), "%s%s %s", jsonx_str(g, "code"), text);
    }
    ck_assert_str_eq(got, want);
}

START_TEST(test_explanations)
{
    char cluster[64], catalog[64], pools[512] = "";
    size_t i;
    json_t *p;
    cmdrun_file(cluster, rows[_i].cluster);
    cmdrun_file(catalog, types);
    const char *args[] = {"pod", "p", "--snapshot", cluster, "--catalog", catalog, "-ojson", NULL};
    json_t *report = cmdrun_json(&cmd_explain_info, args);
    ck_assert_str_eq(jsonx_str(report, "kind"), "PodExplanation");
    ck_assert_str_eq(jsonx_str(report, "verdict.code"), rows[_i].verdict);
    json_array_foreach (jsonx_arr(report, "nodePools"), i, p) {
        add(pools, sizeof(pools), "%s%s %s", jsonx_str(p, "name"), jsonx_str(p, "code"));
    }
    ck_assert_str_eq(pools, rows[_i].pools);
    check_first(json_array_get(jsonx_arr(report, "nodePools"), 0), rows[_i].funnel,
                rows[_i].nearest);
    check_nodes(report, rows[_i].nodes);
    json_decref(report);
    unlink(cluster);
    unlink(catalog);
}
END_TEST

/* What explain says of a pod is what simulate says of it. */
START_TEST(test_one_truth)
{
    char cluster[64], catalog[64];
    cmdrun_file(cluster, rows[_i].cluster);
    cmdrun_file(catalog, types);
    const char *args[] = {"pod", "p", "--snapshot", cluster, "--catalog", catalog, "-ojson", NULL};
    json_t *one = cmdrun_json(&cmd_explain_info, args);
    json_t *plan = cmdrun_json(&cmd_simulate_info, args + 2);
    const json_t *refused = json_array_get(jsonx_arr(plan, "unschedulable"), 0);
    if (refused) {
        ck_assert_str_eq(jsonx_str(refused, "code"), jsonx_str(one, "verdict.code"));
        ck_assert(json_equal(jsonx_arr(refused, "existingNodes"), jsonx_arr(one, "existingNodes")));
        ck_assert_uint_eq(json_array_size(jsonx_arr(refused, "nodePools")),
                          json_array_size(jsonx_arr(one, "nodePools")));
    } else {
        int64_t placed = jsonx_int(plan, "summary.placedOnExisting", 0) +
                         jsonx_int(plan, "summary.placedOnNew", 0);
        ck_assert_int_eq(placed, jsonx_int(plan, "summary.pods", -1));
    }
    json_decref(one);
    json_decref(plan);
    unlink(cluster);
    unlink(catalog);
}
END_TEST

/* The --set that explain proposes against a limit gives the pod its home. */
static const char *const limited[] = {
    POOL("a", "  limits: {cpu: \"3\"}\n", "") POD(ASKS("3", "1Gi")),
    POOL("a", "  limits: {cpu: 100m, memory: 1Gi}\n", "") POD(ASKS("7", "9Gi")),
    POOL("a", "  limits: {nodes: \"0\"}\n", "") POD(ASKS("3", "1Gi")),
};

START_TEST(test_advice_helps)
{
    static const char before[] = "kubectl karp simulate --set ";
    char cluster[64], catalog[64], set[256];
    cmdrun_file(cluster, limited[_i]);
    cmdrun_file(catalog, types);
    const char *args[16] = {"pod",       "p",     "--snapshot", cluster,
                            "--catalog", catalog, "-ojson",     NULL};
    json_t *one = cmdrun_json(&cmd_explain_info, args);
    const json_t *all = jsonx_arr(one, "advice");
    const char *advice = json_string_value(json_array_get(all, json_array_size(all) - 1));
    ck_assert_msg(advice && str_starts(advice, before), "%s", advice ? advice : "none");
    snprintf(set, sizeof(set), "%s", advice + strlen(before));
    size_t n = 7;
    char *rest = NULL;
    for (char *word = strtok_r(set, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        size_t len = strlen(word);
        if (str_eq(word, "--set")) {
            continue;
        }
        if (word[0] == '\'') {
            word[len - 1] = '\0';
            word++;
        }
        args[n++] = "--set";
        args[n++] = word;
    }
    json_t *plan = cmdrun_json(&cmd_simulate_info, args + 2);
    ck_assert_int_eq(jsonx_int(plan, "summary.unschedulable", -1), 0);
    ck_assert_int_eq(jsonx_int(plan, "summary.placedOnNew", -1), 1);
    json_decref(one);
    json_decref(plan);
    unlink(cluster);
    unlink(catalog);
}
END_TEST

/* ---- refusals as one text -------------------------------------------------------------------- */

#define POOLS_MAX 64

/* Pools with a code each, and what is said within so many bytes. */
static const struct {
    enum reason_code codes[4];
    size_t n, max;
    const char *text;
} texts[] = {
    {{REASON_NoPool}, 0, 1000, "there is no NodePool"},
    {{REASON_NoSubnet}, 1, 1000, "nodepool p00: no subnet fits"},
    {{REASON_NoSubnet, REASON_NoImage},
     2,
     1000,
     "nodepool p00: no subnet fits; nodepool p01: no machine image fits"},
    {{REASON_NoSubnet, REASON_NoImage, REASON_NoSubnet},
     3,
     1000,
     "nodepools p00, p02: no subnet fits; nodepool p01: no machine image fits"},
    /* the first is always told */
    {{REASON_NoSubnet, REASON_NoImage, REASON_NoAddresses},
     3,
     10,
     "nodepool p00: no subnet fits; and 2 more nodepools"},
};

START_TEST(test_refusal_text)
{
    struct nodepool np[POOLS_MAX];
    struct snapshot_pool pools[POOLS_MAX];
    struct sched_pool_refusal v[POOLS_MAX];
    char names[POOLS_MAX][32];
    struct symtab *t = labels_symtab_new();
    AUTO_BUF struct buf out;
    memset(np, 0, sizeof(np));
    memset(pools, 0, sizeof(pools));
    memset(v, 0, sizeof(v));
    for (size_t i = 0; i < texts[_i].n; i++) {
        snprintf(names[i], sizeof(names[i]), "p%02zu", i);
        np[i].m.name = names[i];
        pools[i].np = &np[i];
        v[i].pool = &pools[i];
        v[i].reason.code = texts[_i].codes[i];
    }
    struct sched_refusal r = {
        .reason.code = texts[_i].codes[0], .pools = v, .n_pools = (uint32_t)texts[_i].n};
    buf_init(&out, 4096);
    explain_refusal_fmt(t, &r, texts[_i].max, &out);
    ck_assert_str_eq(out.p, texts[_i].text);
    symtab_free(t);
}
END_TEST

/* However many pools there are, an Event has room for it. */
START_TEST(test_refusal_is_short)
{
    struct nodepool np[POOLS_MAX];
    struct snapshot_pool pools[POOLS_MAX];
    struct sched_pool_refusal v[POOLS_MAX];
    char names[POOLS_MAX][96], why[POOLS_MAX][256];
    struct symtab *t = labels_symtab_new();
    AUTO_BUF struct buf out;
    memset(np, 0, sizeof(np));
    memset(pools, 0, sizeof(pools));
    memset(v, 0, sizeof(v));
    for (size_t i = 0; i < POOLS_MAX; i++) {
        memset(why[i], 'a' + (int)(i % (_i ? 2 : 26)), sizeof(why[i]) - 1);
        why[i][sizeof(why[i]) - 1] = '\0';
        snprintf(names[i], sizeof(names[i]), "a-rather-long-name-of-a-pool-%02zu", i);
        np[i].m.name = names[i];
        pools[i].np = &np[i];
        v[i].pool = &pools[i];
        v[i].reason = (struct reason){.code = REASON_PoolNotReady, .text = why[i]};
    }
    struct sched_refusal r = {.reason = v[0].reason, .pools = v, .n_pools = POOLS_MAX};
    buf_init(&out, 1u << 16);
    explain_refusal_fmt(t, &r, 1000, &out);
    ck_assert_uint_le(out.n, 1000);
    ck_assert_msg(str_contains(out.p, "more"), "%s", out.p);
    symtab_free(t);
}
END_TEST

UNIT_MAIN("explain", UNIT_CASES(test_explanations, rows), UNIT_CASES(test_one_truth, rows),
          UNIT_CASES(test_advice_helps, limited), UNIT_CASES(test_refusal_text, texts),
          {"test_refusal_is_short", test_refusal_is_short, 2})
