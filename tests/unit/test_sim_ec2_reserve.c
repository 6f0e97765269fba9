/* The simulated EC2: capacity reservations, placement groups, quotas; see
 * tests/sim/ec2/ec2_reserve.c. */
#include "simec2_rig.h"

#define RESERVATION                                                                                \
    "{\"capacityReservations\": [{\"id\": \"cr-1\", \"type\": \"c5.large\", \"zone\": "            \
    "\"us-west-2a\", \"count\": 1, \"open\": %s, \"for\": \"1h\", \"tags\": {\"team\": \"a\"}}]}"
#define PREFERENCE                                                                                 \
    "LaunchTemplateData.CapacityReservationSpecification.CapacityReservationPreference="
#define TARGET                                                                                     \
    "LaunchTemplateData.CapacityReservationSpecification.CapacityReservationTarget."               \
    "CapacityReservationId=cr-1"
#define GROUP "LaunchTemplateData.Placement.GroupId=pg-1"

static void template(struct rig *r, const char *more)
{
    char image[64];
    rig_image(r, "x86_64", image);
    AUTO_FREE char *body =
        xasprintf("LaunchTemplateName=lt1&LaunchTemplateData.ImageId=%s&%s", image, more);
    rig_ec2(r, "CreateLaunchTemplate", body);
    ck_assert_msg(r->status == 200, "%s", r->body);
}

/* Two instances of c5.large in us-west-2a are asked for, one after the other. */
static const struct {
    const char *what, *template, *open, *kind;
    bool sold_out;
    int launched, reserved;
    const char *code; /* of the last refusal */
} uses[] = {
    {"nothing said: the open one first", "", "true", "on-demand", false, 2, 1, ""},
    {"open to nobody", "", "false", "on-demand", false, 2, 0, ""},
    {"it needs no stock", "", "true", "on-demand", true, 1, 1, "InsufficientInstanceCapacity"},
    {"none wanted", PREFERENCE "none", "true", "on-demand", false, 2, 0, ""},
    {"nothing else wanted", PREFERENCE "capacity-reservations-only", "true", "on-demand", false, 1,
     1, "ReservationCapacityExceeded"},
    {"this one", PREFERENCE "capacity-reservations-only&" TARGET, "false", "on-demand", true, 1, 1,
     "ReservationCapacityExceeded"},
    {"not for spot", "", "true", "spot", false, 2, 0, ""},
};

START_TEST(uses_reservations)
{
    struct rig r;
    char code[256] = "", id[256];
    rig_init(&r, NULL);
    AUTO_FREE char *step = xasprintf(RESERVATION, uses[_i].open);
    rig_step(&r, step);
    template(&r, uses[_i].template);
    if (uses[_i].sold_out) {
        rig_step(&r, "{\"outOfCapacity\": [{\"type\": \"c5.large\"}]}");
    }
    for (int i = 0; i < 2; i++) {
        rig_tag(rig_fleet(&r, uses[_i].kind, 1, "c5.large us-west-2a", ""), "errorCode", 0, code);
    }
    ck_assert_str_eq(code, uses[_i].code);
    ck_assert_msg(simec2_n_instances(r.e) == (size_t)uses[_i].launched, "%s", uses[_i].what);
    const char *xml = rig_ec2(&r, "DescribeInstances", "");
    ck_assert_msg(rig_times(xml, "<capacityReservationId>cr-1<") == (size_t)uses[_i].reserved, "%s",
                  uses[_i].what);
    xml =
        rig_ec2(&r, "DescribeCapacityReservations", "Filter.1.Name=tag%3Ateam&Filter.1.Value.1=a");
    ck_assert_str_eq(rig_tag(xml, "availableInstanceCount", 0, id), uses[_i].reserved ? "0" : "1");
    /* What ends gives its place back. */
    simec2_kill(r.e, simec2_instance_at(r.e, 0)->id);
    rig_pass(&r, NS_PER_MIN);
    xml = rig_ec2(&r, "DescribeCapacityReservations", "CapacityReservationId.1=cr-1");
    ck_assert_str_eq(rig_tag(xml, "availableInstanceCount", 0, id), "1");
    rig_done(&r);
}
END_TEST

START_TEST(reservations_end)
{
    struct rig r;
    char code[256];
    rig_init(&r, NULL);
    AUTO_FREE char *step = xasprintf(RESERVATION, "true");
    rig_step(&r, step);
    template(&r, TARGET);
    rig_pass(&r, 2 * NS_PER_H);
    const char *xml = rig_ec2(&r, "DescribeCapacityReservations", "");
    ck_assert_uint_eq(rig_times(xml, "<item>"), 0);
    rig_tag(rig_fleet(&r, "on-demand", 1, "c5.large us-west-2a", ""), "errorCode", 0, code);
    ck_assert_str_eq(code, "InvalidCapacityReservationId.NotFound");
    /* Another type is another matter from the start. */
    rig_step(&r, step);
    rig_tag(rig_fleet(&r, "on-demand", 1, "c5.xlarge us-west-2a", ""), "errorCode", 0, code);
    ck_assert_str_eq(code, "InvalidCapacityReservationId.NotFound");
    rig_fleet(&r, "on-demand", 1, "c5.large us-west-2a", "");
    ck_assert_uint_eq(simec2_n_instances(r.e), 1);
    rig_done(&r);
}
END_TEST

static const struct {
    const char *strategy, *second_zone;
    int asked, there; /* in us-west-2a; then one more in the second zone */
    const char *code;
} groups[] = {
    {"spread", "us-west-2b", 8, 8, ""},
    {"cluster", "us-west-2b", 3, 3, "InvalidFleetConfiguration"},
    {"cluster", "us-west-2a", 3, 4, ""},
    {"partition", "us-west-2b", 9, 10, ""},
};

START_TEST(keeps_to_groups)
{
    struct rig r;
    char text[256];
    rig_init(&r, NULL);
    AUTO_FREE char *step =
        xasprintf("{\"placementGroups\": [{\"id\": \"pg-1\", \"name\": \"g\", \"strategy\": "
                  "\"%s\", \"partitions\": 3}]}",
                  groups[_i].strategy);
    template(&r, GROUP);
    rig_tag(rig_fleet(&r, "spot", 1, "c5.large us-west-2a", ""), "errorCode", 0, text);
    ck_assert_str_eq(text, "InvalidPlacementGroup.Unknown");
    rig_step(&r, step);
    rig_fleet(&r, "spot", groups[_i].asked, "c5.large us-west-2a", "");
    AUTO_FREE char *pool = xasprintf("c5.large %s", groups[_i].second_zone);
    rig_tag(rig_fleet(&r, "spot", 1, pool, ""), "errorCode", 0, text);
    ck_assert_str_eq(text, groups[_i].code);
    ck_assert_uint_eq(simec2_n_instances(r.e), (size_t)groups[_i].there);
    const char *xml = rig_ec2(&r, "DescribePlacementGroups", "GroupName.1=g");
    ck_assert_str_eq(rig_tag(xml, "strategy", 0, text), groups[_i].strategy);
    xml = rig_ec2(&r, "DescribeInstances", "");
    ck_assert_uint_eq(rig_times(xml, "<groupId>pg-1<"), (size_t)groups[_i].there);
    rig_done(&r);
}
END_TEST

START_TEST(keeps_to_quotas)
{
    struct rig r;
    char code[256];
    rig_init(&r, NULL);
    template(&r, "");
    rig_step(&r, "{\"quota\": {\"onDemandVcpu\": 5}}");
    rig_tag(rig_fleet(&r, "on-demand", 3, "c5.large us-west-2a", ""), "errorCode", 0, code);
    ck_assert_str_eq(code, "VcpuLimitExceeded");
    ck_assert_uint_eq(simec2_n_instances(r.e), 2);
    rig_fleet(&r, "spot", 1, "c5.large us-west-2a", "");
    ck_assert_uint_eq(simec2_n_instances(r.e), 3);
    rig_step(&r, "{\"quota\": {\"onDemandVcpu\": 0, \"spotVcpu\": 2}}");
    rig_tag(rig_fleet(&r, "spot", 1, "c5.large us-west-2a", ""), "errorCode", 0, code);
    ck_assert_str_eq(code, "MaxSpotInstanceCountExceeded");
    rig_fleet(&r, "on-demand", 1, "c5.4xlarge us-west-2a", "");
    ck_assert_uint_eq(simec2_n_instances(r.e), 4);
    rig_done(&r);
}
END_TEST

static const char *const wrong[] = {
    "{\"capacityReservations\": [{\"id\": \"1\", \"type\": \"c5.large\", \"zone\": \"us-west-2a\", "
    "\"count\": 1}]}",
    "{\"capacityReservations\": [{\"id\": \"cr-1\", \"type\": \"c5.large\", \"zone\": \"moon\", "
    "\"count\": 1}]}",
    "{\"capacityReservations\": [{\"id\": \"cr-1\", \"type\": \"c5.large\", \"zone\": "
    "\"us-west-2a\", \"count\": -1}]}",
    "{\"placementGroups\": [{\"id\": \"pg-1\", \"name\": \"g\", \"strategy\": \"heap\"}]}",
    "{\"placementGroups\": [{\"id\": \"pg-1\"}]}",
    "{\"quota\": {\"onDemandVcpu\": \"many\"}}",
    "{\"quota\": {}}",
    "{\"quota\": {\"vcpu\": 1}}",
};

START_TEST(wrong_steps)
{
    struct rig r;
    struct err err = ERR_INIT;
    rig_init(&r, NULL);
    AUTO_JSON json_t *v = jsonx_parse(wrong[_i], strlen(wrong[_i]), "step", &err);
    ck_assert(v && simec2_step(r.e, v, &err) < 0);
    ck_assert_int_eq(err.kind, ERR_INVALID);
    rig_done(&r);
}
END_TEST

UNIT_MAIN("sim_ec2_reserve", UNIT_CASES(uses_reservations, uses), UNIT_TEST(reservations_end),
          UNIT_CASES(keeps_to_groups, groups), UNIT_TEST(keeps_to_quotas),
          UNIT_CASES(wrong_steps, wrong))
