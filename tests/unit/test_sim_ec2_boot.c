/* test_sim_ec2_boot - user data, and the Node that comes of it. */
#include "simec2_rig.h"

#define HEAD "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n"
#define CLUSTER                                                                                    \
    "  cluster: {name: sim, apiServerEndpoint: \"https://api.sim:6443\", certificateAuthority: "   \
    "c2ltdWxhdGVkIGNlcnRpZmljYXRlIGF1dGhvcml0eQ==, cidr: 10.96.0.0/16}\n"
#define MIME "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n"
#define PART "--//\nContent-Type: application/node.eks.aws\n\n"
#define END "\n--//--\n"

/* why NULL: it is fine; else a piece of the reason. */
static const struct text_row {
    const char *name, *text, *why;
} text_rows[] = {
    {"good", MIME PART HEAD CLUSTER END, NULL},
    {"good, as JSON",
     MIME PART "{\"apiVersion\": \"node.eks.aws/v1alpha1\", \"kind\": \"NodeConfig\", \"spec\": "
               "{\"cluster\": {\"name\": \"sim\", \"apiServerEndpoint\": \"x\", "
               "\"certificateAuthority\": \"y\", \"cidr\": \"z\"}}}" END,
     NULL},
    {"a shell part before",
     MIME "--//\nContent-Type: text/x-shellscript; charset=\"us-ascii\"\n\n"
          "#!/bin/sh\necho --// x\n" PART HEAD CLUSTER END,
     NULL},
    {"boundary without quotes, folded header",
     "MIME-Version: 1.0\nContent-Type: multipart/mixed;\n boundary=//\n\n" PART HEAD CLUSTER END,
     NULL},
    {"unknown members of the kubelet's config are its own affair",
     MIME PART HEAD CLUSTER "  kubelet: {config: {shutdownGracePeriod: 45s}}\n" END, NULL},
    {"empty", "", "no user data"},
    {"a script", "#!/bin/sh\necho\n", "no MIME"},
    {"NodeConfig without MIME", HEAD CLUSTER, "no MIME"},
    {"only a shell part", MIME "--//\nContent-Type: text/x-shellscript\n\n#!/bin/sh\n" END,
     "no application/node.eks.aws"},
    {"not ended", MIME PART HEAD CLUSTER, "does not end"},
    {"other boundary",
     MIME "--==\nContent-Type: application/node.eks.aws\n\n" HEAD CLUSTER "--==--\n", "no part"},
    {"empty part", MIME PART END, "is empty"},
    {"broken YAML", MIME PART "a: [" END, "NodeConfig"},
    {"other kind", MIME PART "apiVersion: v1\nkind: Pod\n" END, "NodeConfig"},
    {"unknown field of the spec", MIME PART HEAD CLUSTER "  kublet: {}\n" END,
     "unknown field \"spec.kublet\""},
    {"unknown field of the cluster", MIME PART HEAD "  cluster: {name: sim, endpoint: x}\n" END,
     "\"spec.cluster.endpoint\""},
    {"no cidr",
     MIME PART HEAD "  cluster: {name: a, apiServerEndpoint: b, certificateAuthority: c}\n" END,
     "spec.cluster.cidr is missing"},
    {"no cluster", MIME PART HEAD "  kubelet: {}\n" END, "spec.cluster.name is missing"},
    {"maxPods as a text", MIME PART HEAD CLUSTER "  kubelet: {config: {maxPods: \"58\"}}\n" END,
     "maxPods"},
    {"negative maxPods", MIME PART HEAD CLUSTER "  kubelet: {config: {maxPods: -1}}\n" END,
     "maxPods"},
    {"clusterDNS as a text",
     MIME PART HEAD CLUSTER "  kubelet: {config: {clusterDNS: 10.96.0.10}}\n" END, "clusterDNS"},
    {"reservation that is no quantity",
     MIME PART HEAD CLUSTER "  kubelet: {config: {kubeReserved: {cpu: lots}}}\n" END,
     "kubeReserved.cpu"},
    {"percentage where none may be",
     MIME PART HEAD CLUSTER "  kubelet: {config: {systemReserved: {memory: 5%}}}\n" END,
     "systemReserved.memory"},
    {"label of kubernetes.io",
     MIME PART HEAD CLUSTER "  kubelet: {flags: [\"--node-labels=a=b,x.kubernetes.io/y=z\"]}\n" END,
     "x.kubernetes.io/y"},
    {"label of node-restriction",
     MIME PART HEAD CLUSTER
     "  kubelet: {flags: [\"--node-labels=node-restriction.kubernetes.io/y=z\"]}\n" END,
     "refuses to start"},
    {"labels kubelet may set",
     MIME PART HEAD CLUSTER "  kubelet: {flags: [\"--node-labels=topology.kubernetes.io/zone=a,"
                            "node.kubernetes.io/x=1,kubernetes.io/arch=amd64,k8s.iox/y=\"]}\n" END,
     NULL},
    {"label without value", MIME PART HEAD CLUSTER "  kubelet: {flags: [--node-labels=a]}\n" END,
     "not key=value"},
    {"label with a bad value",
     MIME PART HEAD CLUSTER "  kubelet: {flags: [\"--node-labels=a=b c\"]}\n" END,
     "no valid label"},
    {"taint without effect",
     MIME PART HEAD CLUSTER "  kubelet: {config: {registerWithTaints: [{key: a}]}}\n" END,
     "taint a"},
    {"taint with a wrong effect",
     MIME PART HEAD CLUSTER
     "  kubelet: {config: {registerWithTaints: [{key: a, effect: NoRun}]}}\n" END,
     "taint a"},
    {"taints as a map",
     MIME PART HEAD CLUSTER "  kubelet: {config: {registerWithTaints: {a: b}}}\n" END, "no list"},
    {"no flag", MIME PART HEAD CLUSTER "  kubelet: {flags: [hello]}\n" END, "no flag"},
};

START_TEST(user_data)
{
    const struct text_row *row = &text_rows[_i];
    struct simec2_userdata u;
    struct err err = ERR_INIT;
    AUTO_FREE char *b64 = base64_encode(row->text, strlen(row->text));
    int rc = simec2_userdata_parse(b64, &u, &err);
    ck_assert_msg(rc == (row->why ? -1 : 0), "%s: %s", row->name, err.msg);
    ck_assert_msg(!row->why || strstr(err.msg, row->why), "%s: %s", row->name, err.msg);
    simec2_userdata_done(&u);
}
END_TEST

START_TEST(not_base64)
{
    struct simec2_userdata u;
    struct err err = ERR_INIT;
    ck_assert_int_eq(simec2_userdata_parse("!!", &u, &err), -1);
    ck_assert(strstr(err.msg, "base64") != NULL);
    simec2_userdata_done(&u);
}
END_TEST

/* Later parts win, flags add up, taints come from both places. */
START_TEST(parts_are_merged)
{
    static const char text[] =
        MIME PART HEAD "  cluster: {name: other}\n  kubelet:\n    config: {maxPods: 10, "
                       "clusterDNS: [1.2.3.4]}\n    flags: [\"--node-labels=user=1,team=x\"]\n" //
                       "\n" PART HEAD CLUSTER
                       "  kubelet:\n    config:\n      maxPods: 20\n      registerWithTaints:\n"
                       "      - {key: a, value: b, effect: NoSchedule}\n"
                       "    flags:\n    - --node-labels=\"team=y\"\n"
                       "    - --register-with-taints=c=d:NoExecute,e:PreferNoSchedule\n" END;
    struct simec2_userdata u;
    struct err err = ERR_INIT;
    AUTO_FREE char *b64 = base64_encode(text, strlen(text));
    ck_assert_msg(simec2_userdata_parse(b64, &u, &err) == 0, "%s", err.msg);
    ck_assert_str_eq(u.cluster, "sim");
    ck_assert_int_eq(u.max_pods, 20);
    AUTO_FREE char *labels = jsonx_canonical(u.labels);
    ck_assert_str_eq(labels, "{\"team\":\"y\",\"user\":\"1\"}");
    AUTO_FREE char *taints = jsonx_canonical(u.taints);
    ck_assert_str_eq(taints, "[{\"effect\":\"NoSchedule\",\"key\":\"a\",\"value\":\"b\"},"
                             "{\"effect\":\"NoExecute\",\"key\":\"c\",\"value\":\"d\"},"
                             "{\"effect\":\"PreferNoSchedule\",\"key\":\"e\"}]");
    ck_assert_str_eq(json_string_value(json_array_get(json_object_get(u.kubelet, "clusterDNS"), 0)),
                     "1.2.3.4");
    simec2_userdata_done(&u);
}
END_TEST

/* ---- the Node ------------------------------------------------------------------------------- */

/* The Node of one instance of the type, or NULL and why. */
static json_t *boot_one(struct rig *r, const char *type, const char *config)
{
    AUTO_FREE char *pool = xasprintf("%s us-west-2a", type);
    rig_template(r, "lt1", strstr(type, "g.") ? "arm64" : "x86_64", config);
    rig_fleet(r, "on-demand", 1, pool, "");
    ck_assert_uint_eq(simec2_n_instances(r->e), 1);
    rig_pass(r, 30 * NS_PER_S);
    return r->node;
}

static const char *amount(const json_t *node, const char *map, const char *name)
{
    json_t *o = json_object_get(json_object_get(node, "status"), map);
    return json_string_value(json_object_get(o, name));
}

START_TEST(the_node)
{
    struct rig r;
    rig_init(&r, NULL);
    json_t *node = boot_one(&r, "m5.large", NULL);
    ck_assert(node != NULL);
    ck_assert(simec2_instance_at(r.e, 0)->joined);
    static const struct {
        const char *label, *value;
    } labels[] = {
        {"karpenter.sh/nodepool", "default"},
        {"team", "a"},
        {"kubernetes.io/arch", "amd64"},
        {"kubernetes.io/os", "linux"},
        {"kubernetes.io/hostname", "ip-10-0-0-16"},
        {"node.kubernetes.io/instance-type", "m5.large"},
        {"topology.kubernetes.io/zone", "us-west-2a"},
        {"topology.kubernetes.io/region", "us-west-2"},
        {"topology.k8s.aws/zone-id", "usw2-az1"},
    };
    json_t *got = json_object_get(json_object_get(node, "metadata"), "labels");
    for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
        ck_assert_str_eq(json_string_value(json_object_get(got, labels[i].label)), labels[i].value);
    }
    AUTO_FREE char *id = xasprintf("aws:///us-west-2a/%s", simec2_instance_at(r.e, 0)->id);
    ck_assert_str_eq(jsonx_str(node, "spec.providerID"), id);
    AUTO_FREE char *taints = jsonx_canonical(jsonx_arr(node, "spec.taints"));
    ck_assert_str_eq(taints,
                     "[{\"effect\":\"NoExecute\",\"key\":\"karpenter.sh/unregistered\"},"
                     "{\"effect\":\"NoSchedule\",\"key\":\"node.kubernetes.io/not-ready\"}]");
    rig_done(&r);
}
END_TEST

/* Capacity and allocatable; config NULL: the good one, which sets maxPods 58. */
static const struct amount_row {
    const char *type, *config, *map, *name, *value;
} amount_rows[] = {
    {"m5.large", NULL, "capacity", "cpu", "2"},
    {"m5.large", NULL, "allocatable", "cpu", "1930m"},
    {"m5.large", NULL, "capacity", "memory", "7758848Ki"}, /* 7577Mi */
    {"m5.large", NULL, "allocatable", "pods", "58"},
    {"m5.large", NULL, "allocatable", "memory", "6742016Ki"},             /* 7577-893-100 Mi */
    {"m5.large", NULL, "allocatable", "ephemeral-storage", "17825792Ki"}, /* 17Gi */
    {"m5.large", HEAD CLUSTER, "allocatable", "pods", "29"},
    {"m5.large", HEAD CLUSTER, "allocatable", "memory", "7068672Ki"}, /* 6903Mi */
    {"m5.large", HEAD CLUSTER "  kubelet: {config: {kubeReserved: {cpu: 200m, memory: 1Gi}}}\n",
     "allocatable", "cpu", "1800m"},
    {"m5.large", HEAD CLUSTER "  kubelet: {config: {kubeReserved: {cpu: 200m, memory: 1Gi}}}\n",
     "allocatable", "memory", "6607872Ki"}, /* 7577-1024-100 Mi */
    {"m5.large", HEAD CLUSTER "  kubelet: {config: {evictionHard: {memory.available: 10%}}}\n",
     "allocatable", "memory", "6395187Ki"},                               /* 7577-574-757.7 Mi */
    {"c6g.xlarge", NULL, "capacity", "memory", "7698432Ki"},              /* 7518Mi */
    {"c5a.4xlarge", HEAD CLUSTER, "allocatable", "memory", "29497491Ki"}, /* measured 28.131Gi */
    {"g5.xlarge", HEAD CLUSTER, "capacity", "nvidia.com/gpu", "1"},
    {"m5d.large", HEAD CLUSTER "  instance: {localStorage: {strategy: RAID0}}\n", "capacity",
     "ephemeral-storage", "73242187Ki"}, /* 75 GB */
};

START_TEST(amounts)
{
    const struct amount_row *row = &amount_rows[_i];
    struct rig r;
    rig_init(&r, NULL);
    json_t *node = boot_one(&r, row->type, row->config);
    ck_assert(node != NULL);
    const char *got = amount(node, row->map, row->name);
    ck_assert_msg(str_eq(got, row->value), "%s %s %s: %s", row->type, row->map, row->name, got);
    rig_done(&r);
}
END_TEST

/* ---- instances that never join -------------------------------------------------------------- */

#define WITH(name, ep, ca, cidr)                                                                   \
    HEAD "  cluster: {name: " name ", apiServerEndpoint: \"" ep "\", certificateAuthority: " ca    \
         ", cidr: " cidr "}\n"
#define EP "https://api.sim:6443"
#define CA "c2ltdWxhdGVkIGNlcnRpZmljYXRlIGF1dGhvcml0eQ=="

static const struct lost_row {
    const char *config, *why;
} lost_rows[] = {
    {WITH("other", EP, CA, "10.96.0.0/16"), "cluster.name"},
    {WITH("sim", "https://elsewhere", CA, "10.96.0.0/16"), "https://elsewhere"},
    {WITH("sim", EP, "b3RoZXI=", "10.96.0.0/16"), "certificateAuthority"},
    {WITH("sim", EP, CA, "172.20.0.0/16"), "172.20.0.0/16"},
    {"nonsense", "NodeConfig"},
    {HEAD CLUSTER "  kubelet: {config: {kubeReserved: {memory: 900Gi}}}\n", "more is reserved"},
};

START_TEST(never_joins)
{
    const struct lost_row *row = &lost_rows[_i];
    struct rig r;
    rig_init(&r, NULL);
    ck_assert(boot_one(&r, "m5.large", row->config) == NULL);
    const struct simec2_instance *x = simec2_instance_at(r.e, 0);
    ck_assert_int_eq(x->state, SIMEC2_RUNNING);
    ck_assert(!x->joined);
    ck_assert_msg(x->why_not_joined && strstr(x->why_not_joined, row->why), "%s",
                  x->why_not_joined);
    simec2_kill(r.e, x->id);
    rig_pass(&r, NS_PER_MIN);
    ck_assert_uint_eq(r.downs + r.gones, 0);
    rig_done(&r);
}
END_TEST

START_TEST(told_not_to_boot)
{
    struct rig r;
    rig_init(&r, NULL);
    rig_template(&r, "lt1", "x86_64", NULL);
    rig_step(&r, "{\"noBoot\": {\"times\": 2}}");
    rig_fleet(&r, "on-demand", 3, "m5.large us-west-2a", "");
    rig_pass(&r, NS_PER_MIN);
    ck_assert_uint_eq(r.boots, 1);
    rig_done(&r);
}
END_TEST

UNIT_MAIN("sim_ec2_boot", UNIT_CASES(user_data, text_rows), UNIT_TEST(not_base64),
          UNIT_TEST(parts_are_merged), UNIT_TEST(the_node), UNIT_CASES(amounts, amount_rows),
          UNIT_CASES(never_joins, lost_rows), UNIT_TEST(told_not_to_boot))
