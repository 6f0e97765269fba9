/* The text that AL2023 nodes boot from, exactly, and as nodeadm reads it. */
#include "agent/cloud/cloud_int.h"
#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "fixture.h"
#include "tests/sim/ec2/ec2.h"
#include "unit.h"

#define HEAD "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n"
#define TAIL "--//--\n"
#define CLUSTER                                                                                    \
    "--//\nContent-Type: application/node.eks.aws\n\n"                                             \
    "apiVersion: node.eks.aws/v1alpha1\n"                                                          \
    "kind: NodeConfig\n"                                                                           \
    "spec:\n"                                                                                      \
    "  cluster:\n"                                                                                 \
    "    apiServerEndpoint: https://api.example:6443\n"                                            \
    "    certificateAuthority: Q0E=\n"                                                             \
    "    cidr: 10.96.0.0/16\n"                                                                     \
    "    name: sim\n"
#define UNREGISTERED                                                                               \
    "      - effect: NoExecute\n"                                                                  \
    "        key: karpenter.sh/unregistered\n"
#define FLAGS                                                                                      \
    "    flags:\n"                                                                                 \
    "    - '--node-labels=\"intent=apps,karpenter.sh/nodepool=default\"'\n"
#define PLAIN                                                                                      \
    CLUSTER "  kubelet:\n"                                                                         \
            "    config:\n"                                                                        \
            "      clusterDNS:\n"                                                                  \
            "      - 10.96.0.10\n"                                                                 \
            "      maxPods: 58\n"                                                                  \
            "      registerWithTaints:\n" UNREGISTERED FLAGS

static const struct {
    const char *name, *user, *kubelet, *taints, *startup;
    bool no_dns, raid0, custom;
    const char *text, *error;
} rows[] = {
    {.name = "plain", .text = HEAD PLAIN TAIL},
    {.name = "user data is a script",
     .user = "#!/bin/sh\necho hello",
     .text = HEAD "--//\nContent-Type: text/x-shellscript; charset=\"us-ascii\"\n\n"
                  "#!/bin/sh\necho hello\n" PLAIN TAIL},
    {.name = "user data is a NodeConfig",
     .user = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n"
             "    config: {maxPods: 7}\n",
     .text = HEAD "--//\nContent-Type: application/node.eks.aws\n\n"
                  "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n"
                  "    config: {maxPods: 7}\n" PLAIN TAIL},
    {.name = "user data is MIME: its parts come first, as they are",
     .user = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"BOUNDARY\"\n\n"
             "--BOUNDARY\nContent-Type: text/x-shellscript\n\necho one\n\n"
             "--BOUNDARY\nContent-Type: text/x-shellscript\n\necho two\n--BOUNDARY--\n",
     .text = HEAD "--//\nContent-Type: text/x-shellscript\n\necho one\n\n"
                  "--//\nContent-Type: text/x-shellscript\n\necho two\n" PLAIN TAIL},
    {.name = "MIME with our own boundary, carriage returns and no quotes",
     .user = "Content-Type: multipart/mixed; boundary=//\r\nMIME-Version: 1.0\r\n\r\n"
             "--//\r\nContent-Type: text/x-shellscript\r\n\r\necho one\r\n--//--\r\n",
     .text = HEAD "--//\nContent-Type: text/x-shellscript\r\n\r\necho one\r\n" PLAIN TAIL},
    {.name = "a single part with headers",
     .user = "Content-Type: text/cloud-config\n\npackages: [jq]\n",
     .text = HEAD "--//\nContent-Type: text/cloud-config\n\npackages: [jq]\n" PLAIN TAIL},
    {.name = "MIME without an end",
     .user = "Content-Type: multipart/mixed; boundary=X\n\n--X\nContent-Type: text/plain\n\na\n",
     .error = "spec.userData: the MIME message does not end"},
    {.name = "MIME without a body",
     .user = "Content-Type: multipart/mixed; boundary=X\n",
     .error = "spec.userData: the MIME headers do not end"},
    {.name = "kubelet settings; clusterDNS and maxPods of its own",
     .kubelet = "{\"systemReserved\":{\"cpu\":\"100m\"},\"clusterDNS\":[\"10.0.0.2\"],"
                "\"evictionHard\":{\"memory.available\":\"5%\"},\"maxPods\":110}",
     .text = HEAD CLUSTER "  kubelet:\n"
                          "    config:\n"
                          "      clusterDNS:\n"
                          "      - 10.0.0.2\n"
                          "      evictionHard:\n"
                          "        memory.available: 5%\n"
                          "      maxPods: 58\n"
                          "      registerWithTaints:\n" UNREGISTERED "      systemReserved:\n"
                          "        cpu: 100m\n" FLAGS TAIL},
    {.name = "taints of the claim, then startup taints, then unregistered",
     .taints = "team=a:NoSchedule, gpu:PreferNoSchedule",
     .startup = "cilium=wait:NoExecute",
     .no_dns = true,
     .raid0 = true,
     .text = HEAD CLUSTER "  instance:\n"
                          "    localStorage:\n"
                          "      strategy: RAID0\n"
                          "  kubelet:\n"
                          "    config:\n"
                          "      maxPods: 58\n"
                          "      registerWithTaints:\n"
                          "      - effect: NoSchedule\n"
                          "        key: team\n"
                          "        value: a\n"
                          "      - effect: PreferNoSchedule\n"
                          "        key: gpu\n"
                          "      - effect: NoExecute\n"
                          "        key: cilium\n"
                          "        value: wait\n" UNREGISTERED FLAGS TAIL},
    {.name = "unregistered is not doubled",
     .startup = "karpenter.sh/unregistered:NoExecute",
     .text = HEAD PLAIN TAIL},
    {.name = "Custom: as it stands", .user = "anything", .custom = true, .text = "anything"},
    {.name = "Custom: nothing", .custom = true, .text = ""},
};

/* Labels of Kubernetes' own domains are not kubelet's to set: the last two stay out. */
static const char *const labels[][2] = {{"karpenter.sh/nodepool", "default"},
                                        {"intent", "apps"},
                                        {"topology.kubernetes.io/zone", "us-west-2a"},
                                        {"node-restriction.kubernetes.io/x", "y"}};

static void build(struct fix *f, int row, struct buf *out, struct err *err)
{
    struct taints taints = fix_taints(f, rows[row].taints);
    struct taints startup = fix_taints(f, rows[row].startup);
    struct label v[ARRAY_LEN(labels)];
    for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
        v[i] = (struct label){fix_sym(f, labels[i][0]), fix_sym(f, labels[i][1])};
    }
    AUTO_JSON json_t *kubelet = rows[row].kubelet ? json_loads(rows[row].kubelet, 0, NULL) : NULL;
    const struct userdata_in in = {.syms = f->syms,
                                   .cluster = "sim",
                                   .endpoint = "https://api.example:6443",
                                   .ca_b64 = "Q0E=",
                                   .cidr = "10.96.0.0/16",
                                   .dns_ip = rows[row].no_dns ? NULL : "10.96.0.10",
                                   .user = rows[row].user,
                                   .kubelet = kubelet,
                                   .custom = rows[row].custom,
                                   .raid0 = rows[row].raid0,
                                   .max_pods = 58,
                                   .taints = &taints,
                                   .startup_taints = &startup,
                                   .labels = v,
                                   .n_labels = ARRAY_LEN(labels)};
    userdata_build(&in, out, err);
}

static void readable(const char *text)
{
    struct simec2_userdata u;
    struct err err = ERR_INIT;
    AUTO_FREE char *b64 = base64_encode(text, strlen(text));
    ck_assert_msg(simec2_userdata_parse(b64, &u, &err) == 0, "%s", err.msg);
    ck_assert_int_eq(u.max_pods, 58);
    ck_assert_str_eq(json_string_value(json_object_get(u.labels, "intent")), "apps");
    simec2_userdata_done(&u);
}

START_TEST(text_is)
{
    struct fix *f = fix_new();
    struct err err = ERR_INIT;
    AUTO_BUF struct buf b;
    buf_init(&b, 1u << 20);
    build(f, _i, &b, &err);
    if (rows[_i].error) {
        ck_assert_str_eq(err.msg, rows[_i].error);
    } else {
        ck_assert_msg(err.kind == ERR_NONE, "%s: %s", rows[_i].name, err.msg);
        ck_assert_msg(str_eq(b.p, rows[_i].text), "%s:\n%s", rows[_i].name, b.p);
        if (!rows[_i].custom) {
            readable(b.p);
        }
    }
    fix_done(f);
}
END_TEST

START_TEST(too_long)
{
    struct fix *f = fix_new();
    struct err err = ERR_INIT;
    AUTO_BUF struct buf b;
    AUTO_FREE char *user = xcalloc(1, EC2_USER_DATA_MAX + 1);
    memset(user, '#', EC2_USER_DATA_MAX);
    buf_init(&b, 1u << 20);
    const struct taints none = {NULL, 0};
    const struct userdata_in in = {
        .syms = f->syms, .cluster = "sim", .user = user, .taints = &none, .startup_taints = &none};
    ck_assert_int_eq(userdata_build(&in, &b, &err), -1);
    ck_assert_int_eq(err.kind, ERR_LIMIT);
    ck_assert_str_eq(launch_reason(err.msg), "UserDataSizeLimitExceeded");
    fix_done(f);
}
END_TEST

static const struct {
    const char *key;
    bool allowed;
} label_rows[] = {
    {"intent", true},
    {"example.com/a", true},
    {"karpenter.sh/nodepool", true},
    {"notkubernetes.io/a", true},
    {"kubernetes.io/arch", false},
    {"topology.kubernetes.io/zone", false},
    {"topology.k8s.aws/zone-id", true},
    {"k8s.io/a", false},
    {"x.k8s.io/a", false},
};

START_TEST(label_allowed)
{
    ck_assert_msg(userdata_label_allowed(label_rows[_i].key) == label_rows[_i].allowed, "%s",
                  label_rows[_i].key);
}
END_TEST

UNIT_MAIN("userdata", UNIT_CASES(text_is, rows), UNIT_TEST(too_long),
          UNIT_CASES(label_allowed, label_rows))
