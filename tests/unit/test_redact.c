/* test_redact.c - a redacted snapshot tells nothing and decides alike (cmd/read/redact.h). */
#include "cmdrun.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"

#define SECRET "hunter2"
#define CONSOLIDATE "tests/golden/consolidate" /* from the top of the tree */

/* Every name in here begins with acme. Two pools, a pod for each, one for none, one for a node. */
static const char cluster[] =
    "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: acme-a}\nspec:\n  weight: 3\n"
    "  limits: {cpu: \"40\"}\n  template:\n    metadata: {labels: {acme.io/disk: acme-ssd, "
    "acme.io/rank: \"7\"}}\n    spec:\n      nodeClassRef: {group: karpenter.k8s.aws, kind: "
    "EC2NodeClass, name: acme-c}\n      requirements: [{key: karpenter.k8s.aws/instance-family, "
    "operator: In, values: [m5, c5]}]\n---\n"
    "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: acme-b}\nspec:\n  template:\n"
    "    spec:\n      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: acme-c}\n"
    "      taints: [{key: acme.io/team, value: acme-t, effect: NoSchedule}]\n"
    "      requirements: [{key: karpenter.k8s.aws/instance-family, operator: In, values: [r5]}]\n"
    "---\n"
    "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: acme-c}\nspec:\n"
    "  amiSelectorTerms: [{alias: al2023@latest}]\n  role: acme-role\n  userData: " SECRET "\n"
    "  subnetSelectorTerms: [{tags: {acme-tag: acme-v}}]\n"
    "  securityGroupSelectorTerms: [{name: acme-sg}]\nstatus:\n"
    "  subnets: [{id: subnet-acme, zone: us-east-1b}, {id: subnet-acme2, zone: us-east-1c}]\n---\n"
    "apiVersion: v1\nkind: Node\nmetadata: {name: acme-n1, labels: {acme.io/disk: acme-hdd, "
    "kubernetes.io/hostname: acme-n1, kubernetes.io/os: linux}}\nspec: {providerID: "
    "aws:///us-east-1b/i-acme}\nstatus: {capacity: {cpu: \"4\", memory: 8Gi, pods: \"20\", "
    "acme.io/fuse: \"3\"}, allocatable: {cpu: \"4\", memory: 8Gi, pods: \"20\", acme.io/fuse: "
    "\"3\"}}\n---\n"
    "apiVersion: v1\nkind: Pod\nmetadata: {name: acme-p1, namespace: acme-ns}\nspec: "
    "{nodeSelector: {acme.io/disk: acme-ssd}, affinity: {nodeAffinity: "
    "{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: "
    "[{key: acme.io/rank, operator: Gt, values: [\"6\"]}]}]}}}, containers: [{name: acme, image: "
    "acme/x, env: [{name: P, value: " SECRET "}], resources: {requests: {cpu: \"3\"}}}]}\n---\n"
    "apiVersion: v1\nkind: Pod\nmetadata: {name: acme-p2, namespace: acme-ns}\nspec: "
    "{tolerations: [{key: acme.io/team, value: acme-t}], nodeSelector: "
    "{karpenter.sh/nodepool: acme-b}, containers: [{name: acme, args: [" SECRET "], resources: "
    "{requests: {memory: 30Gi}}}]}\n---\n"
    "apiVersion: v1\nkind: Pod\nmetadata: {name: acme-p3, namespace: acme-ns}\nspec: "
    "{containers: [{name: acme, resources: {requests: {cpu: \"300\"}}}]}\n---\n"
    "apiVersion: v1\nkind: Pod\nmetadata: {name: acme-p4, namespace: acme-ns, annotations: "
    "{acme.io/note: " SECRET "}}\nspec: {nodeSelector: {kubernetes.io/hostname: acme-n1}, "
    "containers: [{name: acme, resources: {requests: {acme.io/fuse: \"2\"}}}]}\n---\n"
    "apiVersion: v1\nkind: Service\nmetadata: {name: acme-s, namespace: acme-ns}\nspec: "
    "{clusterIP: 10.9.9.9, selector: {acme.io/app: acme-web, app.kubernetes.io/name: acme-shop}, "
    "ports: [{name: acme, port: 80}]}\nstatus: {loadBalancer: {ingress: [{ip: 10.8.8.8}]}}\n---\n"
    "apiVersion: v1\nkind: LimitRange\nmetadata: {name: acme-l, namespace: acme-ds}\nspec: "
    "{limits: "
    "[{type: Container, defaultRequest: {cpu: 700m}}]}\n---\n"
    "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: acme-q, namespace: acme-ns}\nspec: "
    "{hard: {requests.cpu: \"9\", requests.acme.io/fuse: \"1\"}}\n---\n"
    "apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: acme-vm}\nhandler: "
    "acme\noverhead: {podFixed: {memory: 1Gi}}\n---\n"
    "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: acme-d, namespace: acme-ds}\nspec: "
    "{template: {spec: {runtimeClassName: acme-vm, tolerations: [{operator: Exists}], containers: "
    "[{name: acme}]}}}\n---\n"
    "apiVersion: v1\nkind: Secret\nmetadata: {name: acme}\nstringData: {p: " SECRET "}\n";

/* A plan without the names in it. */
static char *shape(const char *path)
{
    const char *args[] = {"--snapshot", path, "-ojson", NULL};
    json_t *plan = cmdrun_json(&cmd_simulate_info, args), *one, *v;
    json_t *out = json_array();
    size_t i, k;
    json_array_append(out, json_object_get(plan, "summary"));
    json_array_foreach (jsonx_arr(plan, "claims"), i, one) {
        static const char *const kept[] = {"weight", "instanceTypes", "zones", "requests",
                                           "pricePerHour"};
        for (k = 0; k < ARRAY_LEN(kept); k++) {
            json_array_append(out, json_object_get(one, kept[k]));
        }
        json_array_append_new(out,
                              json_integer((json_int_t)json_array_size(jsonx_arr(one, "pods"))));
    }
    json_array_foreach (jsonx_arr(plan, "unschedulable"), i, one) {
        json_array_append(out, json_object_get(one, "code"));
        json_array_foreach (jsonx_arr(one, "nodePools"), k, v) {
            json_array_append(out, json_object_get(v, "code"));
        }
    }
    char *ret = json_dumps(out, JSON_INDENT(1));
    json_decref(out);
    json_decref(plan);
    return ret;
}

static void take(const char *path, bool redact, struct cmdrun *ret)
{
    const char *args[] = {"--snapshot", path, redact ? "--redact" : NULL, NULL};
    cmdrun(&cmd_snapshot_info, args, NULL, ret);
    ck_assert_msg(ret->rc == 0, "%s", ret->err.msg);
}

/* The cluster above, and some with volumes, claims and all the rest, from the top of the tree. */
static const struct {
    const char *path; /* NULL: the one above */
    const char *says;
} alike[] = {
    {NULL, "\"placedOnNew\": 2"},
    {"tests/golden/explain-why/cluster.yaml", "\"VolumeZone\""},
    {"tests/golden/status-two-pools/cluster.yaml", "\"Limit\""},
    {"tests/golden/mixed-arch/cluster.yaml", "\"newNodes\": 2"},
};

START_TEST(decides_alike)
{
    char path[64], plain[64], redacted[64];
    struct cmdrun r[2];
    cmdrun_file(path, cluster);
    const char *from = alike[_i].path ? alike[_i].path : path;
    take(from, false, &r[0]);
    take(from, true, &r[1]);
    cmdrun_file(plain, r[0].out);
    cmdrun_file(redacted, r[1].out);
    char *a = shape(from), *b = shape(plain), *c = shape(redacted);
    ck_assert_str_eq(a, b);
    ck_assert_str_eq(a, c);
    ck_assert_msg(str_contains(a, alike[_i].says), "%s", a);
    free(a);
    free(b);
    free(c);
    unlink(path);
    unlink(plain);
    unlink(redacted);
    cmdrun_done(&r[0]);
    cmdrun_done(&r[1]);
}
END_TEST

/* The same steps for the same money, the same nodes stay for the same reasons. */
static char *plan_shape(const char *path)
{
    const char *args[] = {"--dry-run",  "--reason=All",
                          "--snapshot", path,
                          "--prices",   CONSOLIDATE "/prices.json",
                          "--at",       "2026-11-30T14:00:03Z",
                          "-ojson",     NULL};
    static const char *const kept[] = {"type",       "reason", "savingsPerHour",
                                       "allowedNow", "heldBy", "score"};
    json_t *plan = cmdrun_json(&cmd_consolidate_info, args), *out = json_array(), *one;
    size_t i, k;
    json_array_append(out, json_object_get(plan, "summary"));
    json_array_append_new(out,
                          json_integer((json_int_t)json_array_size(jsonx_arr(plan, "budgets"))));
    json_array_foreach (jsonx_arr(plan, "actions"), i, one) {
        for (k = 0; k < ARRAY_LEN(kept); k++) {
            json_array_append(out, json_object_get(one, kept[k]));
        }
    }
    json_array_foreach (jsonx_arr(plan, "blocked"), i, one) {
        json_array_append(out, json_object_get(one, "code"));
    }
    char *ret = json_dumps(out, JSON_INDENT(1));
    json_decref(out);
    json_decref(plan);
    return ret;
}

START_TEST(consolidates_alike)
{
    char redacted[64];
    struct cmdrun r;
    take(CONSOLIDATE "/cluster.yaml", true, &r);
    ck_assert_msg(!str_contains(r.out, "kafka"), "%s", r.out);
    cmdrun_file(redacted, r.out);
    char *a = plan_shape(CONSOLIDATE "/cluster.yaml"), *b = plan_shape(redacted);
    ck_assert_str_eq(a, b);
    ck_assert_msg(str_contains(a, "\"PDB\""), "%s", a);
    free(a);
    free(b);
    unlink(redacted);
    cmdrun_done(&r);
}
END_TEST

START_TEST(tells_nothing)
{
    char path[64];
    struct cmdrun r;
    cmdrun_file(path, cluster);
    take(path, false, &r);
    ck_assert_msg(str_contains(r.out, "acme-p1"), "%s", r.out);
    cmdrun_done(&r);
    take(path, true, &r);
    ck_assert_msg(!str_contains(r.out, "acme"), "%s", r.out);
    ck_assert_msg(!str_contains(r.out, SECRET), "%s", r.out);
    ck_assert_msg(str_contains(r.out, "us-east-1b"), "%s", r.out);
    cmdrun_done(&r);
    unlink(path);
}
END_TEST

/* Where programs put their secrets nothing is left in the plain snapshot either; an annotation is
 * what its owner has shown to every reader. */
START_TEST(plain_has_no_secrets)
{
    char path[64];
    struct cmdrun r;
    cmdrun_file(path, cluster);
    take(path, false, &r);
    const char *first = strstr(r.out, SECRET);
    ck_assert_ptr_nonnull(first);
    ck_assert_msg(!str_contains(first + 1, SECRET), "%s", r.out);
    ck_assert_msg(!str_contains(r.out, "kind: Secret"), "%s", r.out);
    cmdrun_done(&r);
    unlink(path);
}
END_TEST

UNIT_MAIN("redact", UNIT_CASES(decides_alike, alike), UNIT_TEST(consolidates_alike),
          UNIT_TEST(tells_nothing), UNIT_TEST(plain_has_no_secrets))
