/* The EC2NodeClass controller against a simulated EC2: status, conditions, hash, deletion. */
#include "cloudrig.h"

/* Conditions in the order of `types`. */
static const char *const types[] = {"AMIsReady",           "SubnetsReady",
                                    "SecurityGroupsReady", "InstanceProfileReady",
                                    "ValidationSucceeded", "Ready"};

static const struct {
    const char *name, *patch, *step;
    const char *want[ARRAY_LEN(types)];
    const char *message; /* part of ValidationSucceeded's or InstanceProfileReady's */
} rows[] = {
    {.name = "plain", .want = {"True", "True", "True", "True", "True", "True"}},
    {.name = "role with a profile of its name",
     .patch = "{\"spec\":{\"instanceProfile\":null,\"role\":\"path/node-role\"}}",
     .want = {"True", "True", "True", "True", "True", "True"}},
    {.name = "role without a profile",
     .patch = "{\"spec\":{\"instanceProfile\":null,\"role\":\"sim_missing\"}}",
     .want = {"True", "True", "True", "False InstanceProfileNotFound", "False DependenciesNotReady",
              "False UnhealthyDependents"},
     .message = "set spec.instanceProfile"},
    {.name = "profile that does not exist",
     .patch = "{\"spec\":{\"instanceProfile\":\"sim_missing\"}}",
     .want = {"True", "True", "True", "False InstanceProfileNotFound", "False DependenciesNotReady",
              "False UnhealthyDependents"},
     .message = "sim_missing does not exist"},
    {.name = "no subnet",
     .patch = "{\"spec\":{\"subnetSelectorTerms\":[{\"id\":\"subnet-0ff\"}]}}",
     .want = {"True", "False SubnetsNotFound", "True", "True", "False DependenciesNotReady",
              "False UnhealthyDependents"}},
    {.name = "no security group",
     .patch = "{\"spec\":{\"securityGroupSelectorTerms\":[{\"name\":\"none\"}]}}",
     .want = {"True", "True", "False SecurityGroupsNotFound", "True", "False DependenciesNotReady",
              "False UnhealthyDependents"}},
    {.name = "security group by name",
     .patch = "{\"spec\":{\"securityGroupSelectorTerms\":[{\"name\":\"nodes\"}]}}",
     .want = {"True", "True", "True", "True", "True", "True"}},
    {.name = "no image",
     .patch = "{\"spec\":{\"amiFamily\":\"AL2023\",\"amiSelectorTerms\":[{\"id\":\"ami-0ff\"}]}}",
     .want = {"False AMINotFound", "True", "True", "True", "False DependenciesNotReady",
              "False UnhealthyDependents"}},
    {.name = "images by tag",
     .patch =
         "{\"spec\":{\"amiFamily\":\"AL2023\",\"amiSelectorTerms\":[{\"tags\":{\"a\":\"b\"}}]}}",
     .want = {"True", "True", "True", "True", "True", "True"}},
    {.name = "a release that EC2 has no image of is still named by SSM",
     .patch = "{\"spec\":{\"amiSelectorTerms\":[{\"alias\":\"al2023@v20240807\"}]}}",
     .want = {"True", "True", "True", "True", "True", "True"}},
    {.name = "a family of a later version",
     .patch = "{\"spec\":{\"amiSelectorTerms\":[{\"alias\":\"bottlerocket@latest\"}]}}",
     .want = {"False AMINotFound", "True", "True", "True", "False UnsupportedConfiguration",
              "False UnhealthyDependents"},
     .message = "amiFamily Bottlerocket is not supported"},
    {.name = "placement group",
     .patch = "{\"spec\":{\"placementGroupSelector\":{\"name\":\"pg\"}}}",
     .want = {"True", "True", "True", "True", "False UnsupportedConfiguration",
              "False UnhealthyDependents"},
     .message = "spec.placementGroupSelector"},
    {.name = "kubelet",
     .patch = "{\"spec\":{\"kubelet\":{\"maxPods\":-1,\"evictionHard\":{\"memory.free\":\"1\"}}}}",
     .want = {"True", "True", "True", "True", "False InvalidKubeletConfiguration",
              "False UnhealthyDependents"},
     .message = "kubelet.evictionHard.memory.free is unknown; kubelet.maxPods is no integer"},
    {.name = "a tag that is ours",
     .patch = "{\"spec\":{\"tags\":{\"karpenter.sh/nodepool\":\"x\"}}}",
     .want = {"True", "True", "True", "True", "False TagValidationFailed",
              "False UnhealthyDependents"},
     .message = "karpenter.sh/nodepool"},
    {.name = "capacity that is no quantity",
     .patch = "{\"metadata\":{\"annotations\":{\"karp.dev/capacity\":\"{\\\"a/b\\\":1}\"}}}",
     .want = {"True", "True", "True", "True", "False InvalidCapacityAnnotation",
              "False UnhealthyDependents"},
     .message = "karp.dev/capacity: a/b is no quantity"},
    {.name = "EC2 fails for a while",
     .step = "{\"fail\":{\"action\":\"ec2:DescribeSubnets\",\"code\":\"InternalError\","
             "\"times\":3}}",
     .want = {"True", "True", "True", "True", "True", "True"}},
    {.name = "EC2 does not let us look",
     .step = "{\"fail\":{\"action\":\"ec2:DescribeSubnets\",\"code\":\"UnauthorizedOperation\","
             "\"times\":100}}",
     .want = {"True", "Unknown ResolutionFailed", "True", "True", "Unknown DependenciesNotReady",
              "Unknown ReconcilingDependents"}},
    {.name = "an answer cut short",
     .step = "{\"cut\":{\"action\":\"ec2:DescribeImages\",\"times\":1}}",
     .want = {"True", "True", "True", "True", "True", "True"}},
    {.name = "the cluster is not to be described",
     .step = "{\"fail\":{\"action\":\"eks:DescribeCluster\",\"code\":\"AccessDeniedException\","
             "\"times\":100}}",
     .want = {"Unknown ResolutionFailed", "True", "True", "True",
              "False ClusterCIDRResolutionFailed", "False UnhealthyDependents"}},
    {.name = "a field of a newer version",
     .patch = "{\"spec\":{\"newField\":1}}",
     .want = {"True", "True", "True", "True", "True", "True"}},
};

static void check_message(struct rig *r, const char *part)
{
    const json_t *list = jsonx_arr(rig_object(r, "default"), "status.conditions");
    bool found = part == NULL;
    size_t i;
    json_t *c;
    json_array_foreach ((json_t *)(uintptr_t)list, i, c) {
        found |= part && str_contains(jsonx_str_or(c, "message", ""), part);
    }
    AUTO_FREE char *text = jsonx_dump(list);
    ck_assert_msg(found, "no message with %s in %s", part, text);
}

START_TEST(conditions)
{
    struct rig r;
    char got[256];
    rig_init(&r);
    if (rows[_i].step) {
        rig_step(&r, rows[_i].step);
    }
    cloud_start(r.cloud);
    rig_put(&r, rig_class(rows[_i].patch));
    rig_run(&r, 40 * NS_PER_S);
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        ck_assert_msg(str_eq(rig_condition(&r, "default", types[i], got), rows[_i].want[i]),
                      "%s: %s is %s, not %s", rows[_i].name, types[i], got, rows[_i].want[i]);
    }
    check_message(&r, rows[_i].message);
    bool newer = str_contains(rows[_i].name, "newer version");
    ck_assert_str_eq(rig_condition(&r, "default", "UnknownFields", got), newer ? "True" : "absent");
    rig_done(&r);
}
END_TEST

START_TEST(status_lists)
{
    struct rig r;
    rig_init(&r);
    cloud_start(r.cloud);
    rig_put(&r, rig_class(NULL));
    rig_run(&r, 5 * NS_PER_S);
    const json_t *o = rig_object(&r, "default");
    const json_t *subnet = json_array_get(jsonx_arr(o, "status.subnets"), 0);
    const json_t *group = json_array_get(jsonx_arr(o, "status.securityGroups"), 0);
    const json_t *amis = jsonx_arr(o, "status.amis");
    ck_assert_uint_eq(json_array_size(jsonx_arr(o, "status.subnets")), 4);
    ck_assert(str_starts(jsonx_str_or(subnet, "id", ""), "subnet-"));
    ck_assert(str_starts(jsonx_str_or(subnet, "zone", ""), "us-west-2"));
    ck_assert(*jsonx_str_or(subnet, "zoneID", ""));
    ck_assert_str_eq(jsonx_str_or(group, "name", ""), "nodes");
    ck_assert_uint_gt(json_array_size(amis), 1);
    ck_assert_str_eq(jsonx_str_or(o, "status.instanceProfile", ""), "nodes");
    ck_assert_uint_eq(json_array_size(jsonx_arr(o, "metadata.finalizers")), 1);
    const json_t *a = jsonx_obj(o, "metadata.annotations");
    ck_assert_str_eq(json_string_value(json_object_get(a, ANN_CLASS_HASH_VERSION)), HASH_VERSION);
    ck_assert_uint_eq(json_string_length(json_object_get(a, ANN_CLASS_HASH)), 16);
    rig_done(&r);
}
END_TEST

/* Nothing changes: nothing is written, however often it is looked at. */
START_TEST(writes_only_changes)
{
    struct rig r;
    rig_init(&r);
    cloud_start(r.cloud);
    rig_put(&r, rig_class(NULL));
    rig_run(&r, 5 * NS_PER_S);
    size_t patches = r.patches;
    rig_run(&r, 12 * NS_PER_MIN);
    ck_assert_uint_eq(r.patches, patches);
    ck_assert_uint_ge(simec2_calls(r.ec2, "ec2", "DescribeSubnets"), 8);
    ck_assert_uint_le(simec2_calls(r.ec2, "ec2", "DescribeSubnets"), 20);
    rig_step(&r, "{\"fail\":{\"action\":\"ec2:DescribeSubnets\",\"code\":\"InternalError\","
                 "\"times\":100}}");
    rig_run(&r, 5 * NS_PER_MIN);
    ck_assert_uint_eq(r.patches, patches); /* what was found stays found */
    rig_done(&r);
}
END_TEST

/* Claims of another hash version are stamped, with the hash unless they have drifted already. */
START_TEST(claims_are_stamped)
{
    struct rig r;
    rig_init(&r);
    cloud_start(r.cloud);
    json_t *old = rig_claim("{\"metadata\":{\"annotations\":{"
                            "\"karpenter.k8s.aws/ec2nodeclass-hash\":\"123\","
                            "\"karpenter.k8s.aws/ec2nodeclass-hash-version\":\"v6\"}}}");
    json_t *drifted = json_deep_copy(old);
    jsonx_set_new(drifted, "metadata.name", json_string("drifted"));
    jsonx_set_new(drifted, "metadata.uid", json_string("claim-2"));
    jsonx_set_new(drifted, "status.conditions",
                  json_pack("[{s:s, s:s}]", "type", "Drifted", "status", "True"));
    rig_put(&r, old);
    rig_put(&r, drifted);
    rig_put(&r, rig_class(NULL));
    rig_run(&r, 5 * NS_PER_S);
    const json_t *cls = jsonx_obj(rig_object(&r, "default"), "metadata.annotations");
    const json_t *a = jsonx_obj(rig_object(&r, "claim"), "metadata.annotations");
    const json_t *b = jsonx_obj(rig_object(&r, "drifted"), "metadata.annotations");
    ck_assert_str_eq(json_string_value(json_object_get(a, ANN_CLASS_HASH)),
                     json_string_value(json_object_get(cls, ANN_CLASS_HASH)));
    ck_assert_str_eq(json_string_value(json_object_get(a, ANN_CLASS_HASH_VERSION)), HASH_VERSION);
    ck_assert_str_eq(json_string_value(json_object_get(b, ANN_CLASS_HASH)), "123");
    ck_assert_str_eq(json_string_value(json_object_get(b, ANN_CLASS_HASH_VERSION)), HASH_VERSION);
    rig_done(&r);
}
END_TEST

/* ---- images -------------------------------------------------------------------------------------
 */

#define DAY (24 * NS_PER_H)

static const struct {
    const char *name;
    struct image_in in[4];
    const char *ids; /* of the result, in order */
} image_rows[] = {
    {"newest first",
     {{"ami-1", "a", "x86_64", NULL, 1 * DAY, 0}, {"ami-2", "b", "arm64", NULL, 2 * DAY, 0}},
     "ami-2 ami-1"},
    {"one per architecture: the newer",
     {{"ami-1", "a", "x86_64", NULL, 1 * DAY, 0}, {"ami-2", "b", "x86_64", NULL, 2 * DAY, 0}},
     "ami-2"},
    {"not deprecated beats newer",
     {{"ami-1", "a", "x86_64", NULL, 1 * DAY, 0}, {"ami-2", "b", "x86_64", NULL, 2 * DAY, 3 * DAY}},
     "ami-1"},
    {"deprecated in the future is not deprecated",
     {{"ami-1", "a", "x86_64", NULL, 1 * DAY, 0}, {"ami-2", "b", "x86_64", NULL, 2 * DAY, 9 * DAY}},
     "ami-2"},
    {"same age: the greater name",
     {{"ami-1", "b", "x86_64", NULL, 1 * DAY, 0}, {"ami-2", "a", "x86_64", NULL, 1 * DAY, 0}},
     "ami-1"},
    {"variants stand beside each other",
     {{"ami-1", "a", "x86_64", "standard", 1 * DAY, 0},
      {"ami-2", "b", "x86_64", "nvidia", 1 * DAY, 0},
      {"ami-3", "c", "x86_64", "neuron", 1 * DAY, 0}},
     "ami-3 ami-2 ami-1"},
    {"an architecture of nobody's",
     {{"ami-1", "a", "i386", NULL, 1 * DAY, 0}, {"ami-2", "b", "x86_64_mac", NULL, 1 * DAY, 0}},
     ""},
};

START_TEST(images)
{
    size_t n = 0;
    while (n < 4 && image_rows[_i].in[n].id) {
        n++;
    }
    AUTO_BUF struct buf b;
    buf_init(&b, 4096);
    AUTO_JSON json_t *list = images_status(image_rows[_i].in, n, 5 * DAY);
    for (size_t i = 0; i < json_array_size(list); i++) {
        buf_printf(&b, "%s%s", i ? " " : "", jsonx_str(json_array_get(list, i), "id"));
    }
    ck_assert_msg(str_eq(b.p, image_rows[_i].ids), "%s: %s", image_rows[_i].name, b.p);
}
END_TEST

START_TEST(image_requirements)
{
    const struct image_in v[] = {{"ami-1", "a", "x86_64", "standard", 1, 0},
                                 {"ami-2", "b", "arm64", "nvidia", 2, 0},
                                 {"ami-3", "c", "x86_64", "neuron", 3, 4}};
    AUTO_JSON json_t *list = images_status(v, ARRAY_LEN(v), 5);
    AUTO_FREE char *text = jsonx_canonical(list);
    ck_assert_str_eq(
        text, "[{\"deprecated\":true,\"id\":\"ami-3\",\"name\":\"c\",\"requirements\":[{\"key\":"
              "\"kubernetes.io/arch\",\"operator\":\"In\",\"values\":[\"amd64\"]},{\"key\":"
              "\"karpenter.k8s.aws/instance-accelerator-count\",\"operator\":\"Exists\"}]},"
              "{\"id\":\"ami-2\",\"name\":\"b\",\"requirements\":[{\"key\":\"kubernetes.io/arch\","
              "\"operator\":\"In\",\"values\":[\"arm64\"]},{\"key\":"
              "\"karpenter.k8s.aws/instance-gpu-count\",\"operator\":\"Exists\"}]},"
              "{\"id\":\"ami-1\",\"name\":\"a\",\"requirements\":[{\"key\":\"kubernetes.io/arch\","
              "\"operator\":\"In\",\"values\":[\"amd64\"]},{\"key\":"
              "\"karpenter.k8s.aws/instance-gpu-count\",\"operator\":\"DoesNotExist\"},{\"key\":"
              "\"karpenter.k8s.aws/instance-accelerator-count\",\"operator\":\"DoesNotExist\"}]}]");
}
END_TEST

UNIT_MAIN("class", UNIT_CASES(conditions, rows), UNIT_TEST(status_lists),
          UNIT_TEST(writes_only_changes), UNIT_TEST(claims_are_stamped),
          UNIT_CASES(images, image_rows), UNIT_TEST(image_requirements))
