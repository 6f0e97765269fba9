/* Launch templates: what is in them, how types share them, when they go. */
#include "cloudrig.h"

#include "common/base/hash.h"
#include "fixture.h"

static void rig_ready(struct rig *r, const char *cls)
{
    rig_init(r);
    cloud_start(r->cloud);
    rig_put(r, rig_class(cls));
    rig_run(r, 3 * NS_PER_S);
}

/* The launch of a claim, as EC2 would be asked. */
static void build(struct rig *r, struct arena *a, const char *claim, struct launch_ask *ret)
{
    struct err err = ERR_INIT;
    struct plan plan;
    rig_put(r, rig_claim(claim));
    const struct nodeclaim *nc = store_claim(r->rt->store, "claim");
    const struct nodeclass *cls = store_class(r->rt->store, "default");
    struct market *m = market_of(r->cloud, cls, &err);
    ck_assert_msg(m != NULL, "%s", err.msg);
    const struct plan_in in = {.syms = r->rt->syms,
                               .catalog = m->catalog,
                               .offerings = m->offerings,
                               .reqs = &nc->reqs,
                               .requests = &nc->requests,
                               .max_types = PLAN_TYPES_MAX};
    plan_make(a, &in, &plan);
    ck_assert_uint_gt(plan.n_types, 0);
    ck_assert_msg(launch_ask_build(r->cloud, a, nc, cls, m, &plan, ret, &err) == 0, "%s", err.msg);
    ck_assert_uint_gt(ret->n, 0);
}

/* "Name=Value" must stand in the encoded request (values are escaped as in a form). */
#define T "LaunchTemplateData."
static const struct {
    const char *name, *cls, *claim;
    const char *with[8], *without[4];
} contents[] = {
    {.name = "plain",
     .with = {"TagSpecification.1.ResourceType=launch-template", T "IamInstanceProfile.Name=nodes",
              T "BlockDeviceMapping.1.DeviceName=%2Fdev%2Fxvda",
              T "BlockDeviceMapping.1.Ebs.VolumeSize=20", T "MetadataOptions.HttpTokens=required&",
              T "MetadataOptions.InstanceMetadataTags=disabled",
              T "CapacityReservationSpecification.CapacityReservationPreference=none",
              T "TagSpecification.2.ResourceType=spot-instances-request"},
     .without = {"Monitoring", "SecurityGroupId.2", T "SecurityGroupId", "AssociatePublicIp"}},
    {.name = "on-demand asks for no spot tags",
     .claim = "{\"spec\":{\"requirements\":[{\"key\":\"karpenter.sh/capacity-type\",\"operator\":"
              "\"In\",\"values\":[\"on-demand\"]}]}}",
     .with = {T "TagSpecification.1.ResourceType=network-interface", T "Placement.Tenancy=default"},
     .without = {"spot-instances-request"}},
    {.name = "dedicated",
     .claim = "{\"spec\":{\"requirements\":[{\"key\":\"karpenter.k8s.aws/instance-tenancy\","
              "\"operator\":\"In\",\"values\":[\"dedicated\"]}]}}",
     .with = {T "Placement.Tenancy=dedicated"}},
    {.name = "volumes, rounded up to GiB",
     .cls = "{\"spec\":{\"blockDeviceMappings\":[{\"deviceName\":\"/dev/xvda\",\"ebs\":"
            "{\"volumeSize\":\"100G\",\"volumeType\":\"io2\",\"iops\":5000,\"encrypted\":false,"
            "\"deleteOnTermination\":true,\"kmsKeyID\":\"key\"}}]}}",
     .with = {T "BlockDeviceMapping.1.Ebs.VolumeSize=94",
              T "BlockDeviceMapping.1.Ebs.VolumeType=io2", T "BlockDeviceMapping.1.Ebs.Iops=5000",
              T "BlockDeviceMapping.1.Ebs.Encrypted=false",
              T "BlockDeviceMapping.1.Ebs.DeleteOnTermination=true",
              T "BlockDeviceMapping.1.Ebs.KmsKeyId=key"},
     .without = {"Throughput", "SnapshotId"}},
    {.name = "network",
     .cls = "{\"spec\":{\"associatePublicIPAddress\":false,\"ipPrefixCount\":2,"
            "\"connectionTracking\":{\"udpTimeout\":45},\"detailedMonitoring\":true}}",
     .with = {T "NetworkInterface.1.AssociatePublicIpAddress=false",
              T "NetworkInterface.1.DeviceIndex=0", T "NetworkInterface.1.Ipv4PrefixCount=2",
              T "NetworkInterface.1.ConnectionTrackingSpecification.UdpTimeout=45",
              T "Monitoring.Enabled=true"},
     .without = {"Ipv6Prefix", "NetworkCardIndex", "NetworkInterface.2"}},
    {.name = "metadata",
     .cls = "{\"spec\":{\"metadataOptions\":{\"httpEndpoint\":\"enabled\","
            "\"httpPutResponseHopLimit\":2,\"httpTokens\":\"optional\"}}}",
     .with = {T "MetadataOptions.HttpTokens=optional",
              T "MetadataOptions.HttpPutResponseHopLimit=2",
              T "MetadataOptions.HttpProtocolIpv6=disabled"}},
    {.name = "the user's tags, ours over them",
     .cls = "{\"spec\":{\"tags\":{\"team\":\"a\"}}}",
     .with = {"TagSpecification.1.Tag.6.Key=team", "TagSpecification.1.Tag.6.Value=a",
              "TagSpecification.1.Tag.1.Key=eks%3Aeks-cluster-name",
              "TagSpecification.1.Tag.2.Key=karp.dev%2Fcluster-uid"}},
    {.name = "Custom has no volumes and no user data of its own",
     .cls = "{\"spec\":{\"amiFamily\":\"Custom\",\"amiSelectorTerms\":[{\"tags\":{\"a\":\"b\"}}]}}",
     .with = {T "ImageId=ami-"},
     .without = {"BlockDeviceMapping", "UserData"}},
};

START_TEST(content)
{
    struct rig r;
    struct arena a;
    struct launch_ask ask;
    AUTO_FORM struct form f = {0};
    rig_ready(&r, contents[_i].cls);
    arena_init(&a, 0, 64u << 20);
    build(&r, &a, contents[_i].claim, &ask);
    ec2_encode_create_template(&f, &ask.templates[0]);
    for (size_t i = 0; i < 8 && contents[_i].with[i]; i++) {
        ck_assert_msg(str_contains(f.body.p, contents[_i].with[i]), "%s: no %s in %s",
                      contents[_i].name, contents[_i].with[i], f.body.p);
    }
    for (size_t i = 0; i < 4 && contents[_i].without[i]; i++) {
        ck_assert_msg(!str_contains(f.body.p, contents[_i].without[i]), "%s: %s in %s",
                      contents[_i].name, contents[_i].without[i], f.body.p);
    }
    arena_done(&a);
    rig_done(&r);
}
END_TEST

/* Claims of one pool share templates; what a node boots with makes another one. */
static const struct {
    const char *name, *cls, *claim;
    bool same;
} namings[] = {
    {"nothing else", NULL, NULL, true},
    {"another size of the claim", NULL, "{\"spec\":{\"resources\":{\"requests\":{\"cpu\":\"2\"}}}}",
     true},
    {"another claim", NULL, "{\"metadata\":{\"uid\":\"claim-2\"}}", true},
    {"a taint", NULL, "{\"spec\":{\"taints\":[{\"key\":\"a\",\"effect\":\"NoSchedule\"}]}}", false},
    {"a label", NULL, "{\"metadata\":{\"labels\":{\"intent\":\"other\"}}}", false},
    {"another pool", NULL, "{\"metadata\":{\"labels\":{\"karpenter.sh/nodepool\":\"p\"}}}", false},
    {"user data", "{\"spec\":{\"userData\":\"#!/bin/sh\"}}", NULL, false},
    {"kubelet", "{\"spec\":{\"kubelet\":{\"cpuCFSQuota\":false}}}", NULL, false},
    {"tags", "{\"spec\":{\"tags\":{\"a\":\"b\"}}}", NULL, false},
    {"profile", "{\"spec\":{\"instanceProfile\":\"other\"}}", NULL, false},
};

static void first_name(const char *cls, const char *claim, char dst[64])
{
    struct rig r;
    struct arena a;
    struct launch_ask ask;
    rig_ready(&r, cls);
    arena_init(&a, 0, 64u << 20);
    build(&r, &a, claim, &ask);
    str_copy(dst, 64, ask.templates[0].name);
    ck_assert(str_starts(dst, "karpenter.k8s.aws/"));
    arena_done(&a);
    rig_done(&r);
}

START_TEST(naming)
{
    char plain[64], other[64];
    first_name(NULL, NULL, plain);
    first_name(namings[_i].cls, namings[_i].claim, other);
    ck_assert_msg(str_eq(plain, other) == namings[_i].same, "%s: %s and %s", namings[_i].name,
                  plain, other);
}
END_TEST

/* Types are together that boot alike; each override has an image, a zone and its subnet. */
START_TEST(grouping)
{
    struct rig r;
    struct arena a;
    struct launch_ask ask;
    size_t n = 0;
    rig_ready(&r, NULL);
    arena_init(&a, 0, 64u << 20);
    build(&r, &a, NULL, &ask);
    ck_assert_uint_gt(ask.n, 1);
    for (uint32_t i = 0; i < ask.n; i++) {
        for (uint32_t k = 0; k < i; k++) {
            ck_assert_str_ne(ask.templates[i].name, ask.templates[k].name);
        }
        int32_t pods = -1;
        struct ec2_class ec;
        ec2_class_default(&ec);
        for (size_t k = 0; k < ask.configs[i].n_overrides; k++, n++) {
            const struct ec2_override *o = &ask.configs[i].overrides[k];
            int32_t own = ec2_max_pods(&ec2_facts[ec2_find_fact(o->instance_type)], &ec);
            ck_assert(pods < 0 || own == pods);
            pods = own;
            ck_assert(str_starts(o->subnet_id, "subnet-") && str_starts(o->zone, "us-west-2"));
            ck_assert_str_eq(o->image_id, ask.templates[i].image_id);
            ck_assert_int_gt(o->priority_pusd_h, 0);
        }
    }
    ck_assert_uint_gt(n, 60);
    ck_assert_str_eq(ec2_tag(&ask.instance_tags, TAG_CLAIM_UID), "claim-1");
    ck_assert(ec2_tag(&ask.tags, TAG_CLAIM_UID) == NULL);
    arena_done(&a);
    rig_done(&r);
}
END_TEST

/* With maxPods given every type of one architecture boots alike. */
START_TEST(one_group)
{
    struct rig r;
    struct arena a;
    struct launch_ask ask;
    rig_ready(&r, "{\"spec\":{\"kubelet\":{\"maxPods\":110}}}");
    arena_init(&a, 0, 64u << 20);
    build(&r, &a,
          "{\"spec\":{\"requirements\":[{\"key\":\"karpenter.k8s.aws/instance-category\","
          "\"operator\":\"In\",\"values\":[\"c\",\"m\"]},{\"key\":\"kubernetes.io/arch\","
          "\"operator\":\"In\",\"values\":[\"amd64\"]}]}}",
          &ask);
    ck_assert_uint_eq(ask.n, 1);
    AUTO_FREE uint8_t *text = base64_decode(ask.templates[0].user_data_b64, &(size_t){0});
    ck_assert(str_contains((const char *)text, "maxPods: 110"));
    arena_done(&a);
    rig_done(&r);
}
END_TEST

/* ---- coming and going ------------------------------------------------------------------------ */

static void on_launch(void *arg, const struct launch_result *r)
{
    *(enum launch_outcome *)arg = r->outcome;
}

static void launch(struct rig *r, int64_t attempt)
{
    enum launch_outcome o = LAUNCH_UNKNOWN;
    cloud_launch(r->cloud, store_claim(r->rt->store, "claim"), attempt, on_launch, &o);
    rig_run(r, 5 * NS_PER_S);
    ck_assert_int_eq(o, LAUNCH_OK);
}

START_TEST(unused_ones_go)
{
    struct rig r;
    rig_ready(&r, NULL);
    rig_put(&r, rig_claim(NULL));
    launch(&r, 1);
    size_t n = simec2_n_templates(r.ec2);
    ck_assert_uint_gt(n, 1);
    rig_run(&r, 8 * NS_PER_MIN);
    ck_assert_uint_eq(simec2_n_templates(r.ec2), n);
    launch(&r, 2); /* used again: they stay */
    rig_run(&r, 8 * NS_PER_MIN);
    ck_assert_uint_eq(simec2_n_templates(r.ec2), n);
    rig_run(&r, 5 * NS_PER_MIN);
    ck_assert_uint_eq(simec2_n_templates(r.ec2), 0);
    rig_done(&r);
}
END_TEST

/* A process before us left them. */
START_TEST(left_ones_go)
{
    struct rig r;
    rig_ready(&r, NULL);
    rig_put(&r, rig_claim(NULL));
    launch(&r, 1);
    ck_assert_uint_gt(simec2_n_templates(r.ec2), 1);
    cloud_free(r.cloud);
    r.rt->cloud = r.cloud = NULL;
    store_free(r.rt->store); /* with its subscribers */
    r.rt->store = store_new(r.rt);
    store_start(r.rt->store);
    r.rt->cloud = r.cloud = cloud_new(r.rt);
    cloud_start(r.cloud);
    rig_run(&r, 15 * NS_PER_MIN);
    ck_assert_uint_eq(simec2_n_templates(r.ec2), 0);
    rig_done(&r);
}
END_TEST

/* The class waits for its claims; then its templates go, then its finalizer. */
START_TEST(class_goes)
{
    struct rig r;
    rig_ready(&r, NULL);
    rig_put(&r, rig_claim(NULL));
    launch(&r, 1);
    json_t *cls = rig_object(&r, "default");
    jsonx_set_new(cls, "metadata.deletionTimestamp", json_string("2026-01-05T09:00:10Z"));
    rig_store(&r, cls);
    rig_run(&r, 10 * NS_PER_S);
    ck_assert_uint_gt(simec2_n_templates(r.ec2), 1);
    ck_assert_uint_eq(json_array_size(jsonx_arr(cls, "metadata.finalizers")), 1);
    json_t *claim = rig_object(&r, "claim");
    jsonx_set_new(claim, "metadata.deletionTimestamp", json_string("2026-01-05T09:00:20Z"));
    jsonx_set_new(claim, "metadata.finalizers", json_array());
    rig_store(&r, claim);
    rig_run(&r, 10 * NS_PER_S);
    ck_assert_uint_eq(simec2_n_templates(r.ec2), 0);
    ck_assert_uint_eq(json_array_size(jsonx_arr(cls, "metadata.finalizers")), 0);
    rig_done(&r);
}
END_TEST

UNIT_MAIN("template", UNIT_CASES(content, contents), UNIT_CASES(naming, namings),
          UNIT_TEST(grouping), UNIT_TEST(one_group), UNIT_TEST(unused_ones_go),
          UNIT_TEST(left_ones_go), UNIT_TEST(class_goes))
