/* test_sim_ec2 - fleets, tokens, life cycle and calls about instances of the simulated cloud. */
#include "simec2_rig.h"

/* ---- allocation ----------------------------------------------------------------------------- */

static const struct alloc_row {
    const char *name, *step, *kind;
    int n;
    const char *pools, *more;
    const char *won;    /* "TYPE ZONE xN,…" in the answer's order */
    const char *errors; /* "CODE TYPE ZONE,…" */
} alloc_rows[] = {
    {"cheapest on-demand", "{}", "on-demand", 1, "m5.large us-west-2a,c5.large us-west-2a", "",
     "c5.large us-west-2a x1", ""},
    {"spot is 40% everywhere: cheapest type, first zone", "{}", "spot", 1,
     "m5.large us-west-2b,c5.large us-west-2c,c5.large us-west-2b", "", "c5.large us-west-2b x1",
     ""},
    {"a cheaper zone", "{\"prices\": {\"spot\": {\"c5.large\": {\"us-west-2c\": 0.01}}}}", "spot",
     1, "c5.large us-west-2b,c5.large us-west-2c", "", "c5.large us-west-2c x1", ""},
    {"sold out in one zone", "{\"outOfCapacity\": [{\"type\": \"c5.large\", \"zone\": \"*2a\"}]}",
     "on-demand", 1, "c5.large us-west-2a,c5.large us-west-2b", "", "c5.large us-west-2b x1",
     "InsufficientInstanceCapacity c5.large us-west-2a"},
    {"spot sold out, other type wins",
     "{\"outOfCapacity\": [{\"capacityType\": \"spot\", \"type\": \"c5.*\"}]}", "spot", 1,
     "c5.large us-west-2a,m5.large us-west-2a", "", "m5.large us-west-2a x1",
     "UnfulfillableCapacity c5.large us-west-2a"},
    {"spot sold out does not touch on-demand",
     "{\"outOfCapacity\": [{\"capacityType\": \"spot\"}]}", "on-demand", 1, "c5.large us-west-2a",
     "", "c5.large us-west-2a x1", ""},
    {"all sold out", "{\"outOfCapacity\": [{}]}", "on-demand", 1,
     "c5.large us-west-2a,m5.large us-west-2b", "", "",
     "InsufficientInstanceCapacity c5.large us-west-2a,InsufficientInstanceCapacity m5.large "
     "us-west-2b"},
    {"two left, then the next pool", "{\"outOfCapacity\": [{\"type\": \"c5.large\", \"left\": 2}]}",
     "on-demand", 3, "c5.large us-west-2a,m5.large us-west-2a", "",
     "c5.large us-west-2a x2,m5.large us-west-2a x1",
     "InsufficientInstanceCapacity c5.large us-west-2a"},
    {"partly fulfilled", "{\"outOfCapacity\": [{\"left\": 1}]}", "on-demand", 2,
     "c5.large us-west-2a", "", "c5.large us-west-2a x1",
     "InsufficientInstanceCapacity c5.large us-west-2a"},
    {"priority beats price", "{}", "on-demand", 1, "m5.large us-west-2a,c5.large us-west-2a",
     "&OnDemandOptions.AllocationStrategy=prioritized&"
     "LaunchTemplateConfigs.1.Overrides.1.Priority=1&"
     "LaunchTemplateConfigs.1.Overrides.2.Priority=2",
     "m5.large us-west-2a x1", ""},
    {"unknown type", "{}", "on-demand", 1, "zz9.large us-west-2a,c5.large us-west-2a", "",
     "c5.large us-west-2a x1", "InvalidFleetConfiguration zz9.large us-west-2a"},
    {"unknown zone", "{}", "on-demand", 1, "c5.large us-west-2z", "", "",
     "InvalidFleetConfiguration c5.large us-west-2z"},
    {"the image is of the other architecture", "{}", "on-demand", 1, "m6g.large us-west-2a", "", "",
     "InvalidParameterValue m6g.large us-west-2a"},
    {"no such image", "{}", "on-demand", 1, "c5.large us-west-2a",
     "&LaunchTemplateConfigs.1.Overrides.1.ImageId=ami-nothing", "",
     "InvalidAMIID.NotFound c5.large us-west-2a"},
    {"zone by subnet", "{}", "on-demand", 1, "c5.large us-west-2b",
     "&LaunchTemplateConfigs.1.Overrides.1.SubnetId=subnet-00000000000000002",
     "c5.large us-west-2b x1", ""},
    {"subnet of another zone", "{}", "on-demand", 1, "c5.large us-west-2b",
     "&LaunchTemplateConfigs.1.Overrides.1.SubnetId=subnet-00000000000000001", "",
     "InvalidFleetConfiguration c5.large us-west-2b"},
    {"no such subnet", "{}", "on-demand", 1, "c5.large us-west-2b",
     "&LaunchTemplateConfigs.1.Overrides.1.SubnetId=subnet-1", "",
     "InvalidSubnetID.NotFound c5.large us-west-2b"},
    {"quota", "{\"fail\": {\"action\": \"CreateFleet\", \"code\": \"VcpuLimitExceeded\"}}",
     "on-demand", 1, "c5.large us-west-2a,m5.large us-west-2a", "", "",
     "VcpuLimitExceeded c5.large us-west-2a,VcpuLimitExceeded m5.large us-west-2a"},
    {"restocked", "{\"outOfCapacity\": [{}], \"restock\": true}", "on-demand", 1,
     "c5.large us-west-2a", "", "c5.large us-west-2a x1", ""},
};

/* errorSet and fleetInstanceSet of an answer as the rows have them. */
static void summary(const char *xml, struct buf *won, struct buf *errors)
{
    char type[256], zone[256], code[256];
    const char *split = strstr(xml, "<fleetInstanceSet>");
    ck_assert(split != NULL);
    size_t n_errors = rig_times(xml, "<errorCode>");
    for (size_t i = 0; i < n_errors; i++) {
        buf_printf(errors, "%s%s %s %s", i > 0 ? "," : "", rig_tag(xml, "errorCode", i, code),
                   rig_tag(xml, "instanceType", i, type),
                   rig_tag(xml, "availabilityZone", i, zone));
    }
    const char *p = split;
    for (size_t i = 0; (p = strstr(p, "<launchTemplateAndOverrides>")); i++) {
        const char *end = strstr(p, "</instanceIds>");
        AUTO_FREE char *item = xstrndup(p, (size_t)(end - p));
        buf_printf(won, "%s%s %s x%zu", i > 0 ? "," : "", rig_tag(item, "instanceType", 0, type),
                   rig_tag(item, "availabilityZone", 0, zone), rig_times(item, "<item>i-"));
        p = end;
    }
}

START_TEST(fleet_allocation)
{
    const struct alloc_row *row = &alloc_rows[_i];
    struct rig r;
    rig_init(&r, NULL);
    rig_template(&r, "lt1", "x86_64", NULL);
    rig_step(&r, row->step);
    const char *xml = rig_fleet(&r, row->kind, row->n, row->pools, row->more);
    AUTO_BUF struct buf won, errors;
    buf_init(&won, 4096);
    buf_init(&errors, 4096);
    ck_assert_msg(r.status == 200, "%s: %s", row->name, xml);
    summary(xml, &won, &errors);
    ck_assert_msg(str_eq(won.p, row->won), "%s: won %s", row->name, won.p);
    ck_assert_msg(str_eq(errors.p, row->errors), "%s: errors %s", row->name, errors.p);
    rig_done(&r);
}
END_TEST

/* ---- refusals of whole calls ---------------------------------------------------------------- */

#define FLEET "Type=instant&TargetCapacitySpecification.TotalTargetCapacity=1&"
#define LT1 "LaunchTemplateConfigs.1.LaunchTemplateSpecification.LaunchTemplateName=lt1&"
#define OV1 "LaunchTemplateConfigs.1.Overrides.1."

static const struct refusal_row {
    const char *action, *body;
    int status;
    const char *code;
} refusal_rows[] = {
    {"CreateFleet",
     FLEET LT1 OV1 "InstanceType=c5.large&" OV1 "AvailabilityZone=us-west-2a&DryRun=true", 412,
     "DryRunOperation"},
    {"CreateFleet",
     FLEET "LaunchTemplateConfigs.1.LaunchTemplateSpecification.LaunchTemplateName=no", 400,
     "InvalidLaunchTemplateName.NotFoundException"},
    {"CreateFleet",
     FLEET "LaunchTemplateConfigs.1.LaunchTemplateSpecification.LaunchTemplateId=lt-0", 400,
     "InvalidLaunchTemplateId.NotFound"},
    {"CreateFleet", FLEET LT1, 400, "MissingParameter"},
    {"CreateFleet", "Type=maintain", 400, "UnsupportedOperation"},
    {"CreateFleet", "Type=instant", 400, "InvalidTargetCapacitySpecification"},
    {"CreateFleet", FLEET "SpotPrice=1", 400, "UnknownParameter"},
    {"CreateFleet", FLEET LT1 "LaunchTemplateConfigs.1.LaunchTemplateSpecification.Version=7", 400,
     "InvalidLaunchTemplateId.VersionNotFound"},
    {"CreateFleet", FLEET "OnDemandOptions.AllocationStrategy=fastest", 400,
     "InvalidParameterValue"},
    {"CreateFleet", FLEET LT1 OV1 "Priority=x", 400, "InvalidParameterValue"},
    {"CreateLaunchTemplate", "LaunchTemplateName=lt1&LaunchTemplateData.ImageId=ami-1", 400,
     "InvalidLaunchTemplateName.AlreadyExistsException"},
    {"CreateLaunchTemplate", "LaunchTemplateName=x&LaunchTemplateData.ImageId=ami-1", 400,
     "InvalidLaunchTemplateName.MalformedException"},
    {"CreateLaunchTemplate", "LaunchTemplateName=lt2", 400, "MissingParameter"},
    {"CreateLaunchTemplate", "LaunchTemplateName=lt2&LaunchTemplateData.UserData=%21%21", 400,
     "InvalidUserData.Malformed"},
    {"CreateLaunchTemplate", "LaunchTemplateName=lt2&LaunchTemplateData.ImageId=a&DryRun=true", 412,
     "DryRunOperation"},
    {"CreateLaunchTemplate",
     "LaunchTemplateName=lt2&LaunchTemplateData.NetworkInterface.1.SecurityGroupId.1=sg-9", 400,
     "InvalidGroup.NotFound"},
    {"CreateLaunchTemplate",
     "LaunchTemplateName=lt2&LaunchTemplateData.NetworkInterface.1.DeviceIndex=0&"
     "LaunchTemplateData.SecurityGroupId.1=sg-00000000000000001",
     400, "InvalidParameterCombination"},
    {"CreateLaunchTemplate", "LaunchTemplateName=lt2&LaunchTemplateData.SpotPrice=1", 400,
     "UnknownParameter"},
    {"DeleteLaunchTemplate", "LaunchTemplateName=lt9", 400,
     "InvalidLaunchTemplateName.NotFoundException"},
    {"DescribeLaunchTemplates", "LaunchTemplateName.1=lt1&LaunchTemplateName.2=lt9", 400,
     "InvalidLaunchTemplateName.NotFoundException"},
    {"DescribeInstances", "InstanceId.1=i-00000000000000abc", 400, "InvalidInstanceID.NotFound"},
    {"DescribeInstances", "InstanceId.1=nonsense", 400, "InvalidInstanceID.Malformed"},
    {"DescribeInstances", "InstanceId.1=i-0&MaxResults=10", 400, "InvalidParameterCombination"},
    {"DescribeInstances", "MaxResults=4", 400, "InvalidParameterValue"},
    {"DescribeInstances", "NextToken=abc", 400, "InvalidNextToken"},
    {"DescribeInstances", "Filter.1.Name=colour&Filter.1.Value.1=red", 400,
     "InvalidParameterValue"},
    {"DescribeInstances", "Filter.1.Name=tag-key", 400, "InvalidParameterValue"},
    {"DescribeInstances", "Filters.1.Name=tag-key", 400, "UnknownParameter"},
    {"DescribeInstances", "Filter.01.Name=tag-key", 400, "UnknownParameter"},
    {"DescribeInstances", "a=%zz", 400, "MalformedQueryString"},
    {"DescribeInstances", "a=%ff", 400, "MalformedQueryString"},
    {"DescribeInstances", "MaxResults=10&MaxResults=20", 400, "MalformedQueryString"},
    {"DescribeInstances", "DryRun=true", 412, "DryRunOperation"},
    {"TerminateInstances", "InstanceId.1=i-00000000000000abc", 400, "InvalidInstanceID.NotFound"},
    {"TerminateInstances", "", 400, "MissingParameter"},
    {"CreateTags", "ResourceId.1=i-00000000000000abc&Tag.1.Key=a&Tag.1.Value=b", 400,
     "InvalidInstanceID.NotFound"},
    {"CreateTags", "Tag.1.Key=a", 400, "MissingParameter"},
    {"DescribeSubnets", "SubnetId.1=subnet-9", 400, "InvalidSubnetID.NotFound"},
    {"DescribeSecurityGroups", "GroupId.1=sg-9", 400, "InvalidGroup.NotFound"},
    {"DescribeImages", "ImageId.1=ami-9", 400, "InvalidAMIID.NotFound"},
    {"DescribeInstanceTypes", "DryRun=true", 412, "DryRunOperation"},
    {"DescribeInstanceTypes", "InstanceType.1=zz9.large", 400, "InvalidInstanceType"},
    {"DescribeInstanceTypeOfferings", "", 400, "InvalidParameterValue"},
    {"DescribeCapacityReservations", "CapacityReservationId.1=cr-1", 400,
     "InvalidCapacityReservationId.NotFound"},
    {"DescribePlacementGroups", "GroupName.1=x", 400, "InvalidPlacementGroup.Unknown"},
    {"RunInstances", "LaunchTemplate.LaunchTemplateName=lt1&InstanceType=c5.large&DryRun=true", 412,
     "DryRunOperation"},
    {"RunInstances", "LaunchTemplate.LaunchTemplateName=lt1&InstanceType=m6g.large&DryRun=true",
     400, "InvalidParameterValue"},
    {"RunInstances",
     "LaunchTemplate.LaunchTemplateName=lt1&InstanceType=c5.large&DryRun=true&"
     "NetworkInterface.1.SubnetId=subnet-9",
     400, "InvalidSubnetID.NotFound"},
    {"RunInstances", "LaunchTemplate.LaunchTemplateName=lt1&InstanceType=c5.large", 400,
     "UnsupportedOperation"},
    {"RebootInstances", "InstanceId.1=i-1", 400, "InvalidAction"},
};

START_TEST(refusals)
{
    const struct refusal_row *row = &refusal_rows[_i];
    struct rig r;
    char code[256];
    rig_init(&r, NULL);
    rig_template(&r, "lt1", "x86_64", NULL);
    const char *xml = rig_ec2(&r, row->action, row->body);
    ck_assert_msg(r.answered && r.status == row->status &&
                      str_eq(rig_tag(xml, "Code", 0, code), row->code),
                  "%s %s: %d %s", row->action, row->body, r.status, xml);
    ck_assert_uint_eq(simec2_n_instances(r.e), 0);
    ck_assert_uint_eq(simec2_n_templates(r.e), 1);
    rig_done(&r);
}
END_TEST

START_TEST(version_and_action_are_checked)
{
    struct rig r;
    char code[256];
    rig_init(&r, NULL);
    const char *xml =
        rig_call(&r, "ec2", "DescribeSubnets", "Action=DescribeSubnets&Version=2014-01-01");
    ck_assert_str_eq(rig_tag(xml, "Code", 0, code), "NoSuchVersion");
    xml = rig_call(&r, "ec2", "DescribeSubnets", "Action=DescribeImages&Version=2016-11-15");
    ck_assert_str_eq(rig_tag(xml, "Code", 0, code), "InvalidAction");
    rig_done(&r);
}
END_TEST

/* ---- tokens --------------------------------------------------------------------------------- */

START_TEST(token_replay)
{
    struct rig r;
    char first[256], second[256], code[256];
    rig_init(&r, NULL);
    rig_template(&r, "lt1", "x86_64", NULL);
    rig_tag(rig_fleet(&r, "spot", 1, "c5.large us-west-2a", "&ClientToken=abc"), "fleetId", 0,
            first);
    rig_tag(rig_fleet(&r, "spot", 1, "c5.large us-west-2a", "&ClientToken=abc"), "fleetId", 0,
            second);
    ck_assert_str_eq(first, second);
    ck_assert_int_eq(r.answered_ns, 4 * NS_PER_S);
    ck_assert_uint_eq(simec2_n_instances(r.e), 1);
    const char *xml = rig_fleet(&r, "spot", 2, "c5.large us-west-2a", "&ClientToken=abc");
    ck_assert_str_eq(rig_tag(xml, "Code", 0, code), "IdempotentParameterMismatch");
    ck_assert_uint_eq(simec2_n_instances(r.e), 1);
    rig_fleet(&r, "spot", 1, "c5.large us-west-2a", "&ClientToken=abd");
    ck_assert_uint_eq(simec2_n_instances(r.e), 2);
    rig_fleet(&r, "spot", 1, "c5.large us-west-2a", "");
    rig_fleet(&r, "spot", 1, "c5.large us-west-2a", "");
    ck_assert_uint_eq(simec2_n_instances(r.e), 4);
    rig_pass(&r, 24 * NS_PER_H);
    rig_fleet(&r, "spot", 1, "c5.large us-west-2a", "&ClientToken=abc");
    ck_assert_uint_eq(simec2_n_instances(r.e), 5);
    rig_done(&r);
}
END_TEST

/* A fleet without instances is an answer too: the same token brings it again after a restock. */
START_TEST(token_of_an_empty_fleet)
{
    struct rig r;
    rig_init(&r, NULL);
    rig_template(&r, "lt1", "x86_64", NULL);
    rig_step(&r, "{\"outOfCapacity\": [{\"for\": \"1m\"}]}");
    rig_fleet(&r, "spot", 1, "c5.large us-west-2a", "&ClientToken=abc");
    rig_pass(&r, NS_PER_MIN);
    const char *xml = rig_fleet(&r, "spot", 1, "c5.large us-west-2a", "&ClientToken=abc");
    ck_assert_uint_eq(rig_times(xml, "UnfulfillableCapacity"), 1);
    ck_assert_uint_eq(simec2_n_instances(r.e), 0);
    rig_fleet(&r, "spot", 1, "c5.large us-west-2a", "&ClientToken=abd");
    ck_assert_uint_eq(simec2_n_instances(r.e), 1);
    rig_done(&r);
}
END_TEST

/* ---- life ----------------------------------------------------------------------------------- */

static enum simec2_state state_of(const struct rig *r, size_t i)
{
    return simec2_instance_at(r->e, i)->state;
}

START_TEST(life_of_an_instance)
{
    struct rig r;
    char text[256];
    rig_init(&r, NULL);
    rig_template(&r, "lt1", "x86_64", NULL);
    rig_fleet(&r, "spot", 1, "c5.large us-west-2a", "");
    const struct simec2_instance *x = simec2_instance_at(r.e, 0);
    AUTO_FREE char *id = xstrdup(x->id);
    ck_assert_int_eq(state_of(&r, 0), SIMEC2_PENDING);
    ck_assert_str_eq(x->node_name, "ip-10-0-0-16");
    rig_pass(&r, 30 * NS_PER_S - 1);
    ck_assert_uint_eq(r.boots, 0);
    rig_pass(&r, 1);
    ck_assert_uint_eq(r.boots, 1);
    ck_assert_int_eq(state_of(&r, 0), SIMEC2_RUNNING);
    ck_assert(simec2_find_node(r.e, "ip-10-0-0-16") == x);
    ck_assert_int_eq(simec2_cost_pusd_h(r.e), INT64_C(85000000000) * 4 / 10);
    AUTO_FREE char *by_id = xasprintf("InstanceId.1=%s", id);
    const char *xml = rig_ec2(&r, "TerminateInstances", by_id);
    ck_assert_str_eq(rig_tag(xml, "name", 0, text), "shutting-down");
    ck_assert_str_eq(rig_tag(xml, "name", 1, text), "running");
    ck_assert_uint_eq(r.downs, 1);
    rig_pass(&r, 5 * NS_PER_S - 1);
    ck_assert_int_eq(state_of(&r, 0), SIMEC2_SHUTTING_DOWN);
    rig_pass(&r, 1);
    ck_assert_int_eq(state_of(&r, 0), SIMEC2_TERMINATED);
    ck_assert_uint_eq(r.gones, 1);
    xml = rig_ec2(&r, "TerminateInstances", by_id);
    ck_assert_str_eq(rig_tag(xml, "name", 0, text), "terminated");
    ck_assert_uint_eq(r.downs, 1);
    rig_pass(&r, NS_PER_H);
    ck_assert_uint_eq(simec2_n_instances(r.e), 0);
    xml = rig_ec2(&r, "DescribeInstances", by_id);
    ck_assert_str_eq(rig_tag(xml, "Code", 0, text), "InvalidInstanceID.NotFound");
    rig_done(&r);
}
END_TEST

START_TEST(terminated_before_it_booted)
{
    struct rig r;
    rig_init(&r, NULL);
    rig_template(&r, "lt1", "x86_64", NULL);
    rig_fleet(&r, "on-demand", 1, "c5.large us-west-2a", "");
    ck_assert(simec2_kill(r.e, simec2_instance_at(r.e, 0)->id));
    ck_assert(!simec2_kill(r.e, simec2_instance_at(r.e, 0)->id));
    rig_pass(&r, NS_PER_MIN);
    ck_assert_int_eq(state_of(&r, 0), SIMEC2_TERMINATED);
    ck_assert_uint_eq(r.boots + r.downs + r.gones, 0);
    rig_done(&r);
}
END_TEST

START_TEST(described_as_launched)
{
    struct rig r;
    char text[256];
    rig_init(&r, NULL);
    rig_template(&r, "lt1", "x86_64", NULL);
    rig_fleet(&r, "spot", 1, "c5.large us-west-2b", "");
    const char *xml = rig_ec2(&r, "DescribeInstances", "");
    static const struct {
        const char *tag, *text;
    } rows[] = {
        {"instanceType", "c5.large"},
        {"availabilityZone", "us-west-2b"},
        {"availabilityZoneId", "usw2-az2"},
        {"subnetId", "subnet-00000000000000002"},
        {"groupId", "sg-00000000000000001"},
        {"instanceLifecycle", "spot"},
        {"launchTime", "2026-01-05T09:00:00.000Z"},
        {"privateDnsName", "ip-10-1-0-16.us-west-2.compute.internal"},
        {"arn", "arn:aws:iam::111122223333:instance-profile/node"},
        {"name", "pending"},
        {"tenancy", "default"},
        {"interfaceType", "interface"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ck_assert_str_eq(rig_tag(xml, rows[i].tag, 0, text), rows[i].text);
    }
    ck_assert_uint_eq(rig_times(xml, "<spotInstanceRequestId>sir-"), 1);
    ck_assert_uint_eq(rig_times(xml, "<key>karpenter.sh/nodepool</key><value>default</value>"), 1);
    rig_fleet(&r, "on-demand", 1, "c5.large us-west-2a", "");
    xml = rig_ec2(&r, "DescribeInstances",
                  "Filter.1.Name=availability-zone&Filter.1.Value.1=us-west-2a");
    ck_assert_uint_eq(rig_times(xml, "<instanceId>"), 1);
    ck_assert_uint_eq(rig_times(xml, "<spotInstanceRequestId>"), 0);
    rig_done(&r);
}
END_TEST

START_TEST(filters_and_tags)
{
    static const struct {
        const char *body;
        size_t n;
    } rows[] = {
        {"", 3},
        {"Filter.1.Name=tag%3Akarpenter.sh%2Fnodepool&Filter.1.Value.1=default", 3},
        {"Filter.1.Name=tag%3Akarpenter.sh%2Fnodepool&Filter.1.Value.1=def*", 3},
        {"Filter.1.Name=tag%3Akarpenter.sh%2Fnodepool&Filter.1.Value.1=other", 0},
        {"Filter.1.Name=tag-key&Filter.1.Value.1=Name", 1},
        {"Filter.1.Name=tag%3AName&Filter.1.Value.1=n+1", 1},
        {"Filter.1.Name=tag-key&Filter.1.Value.1=karpenter.sh%2Fnodepool&"
         "Filter.2.Name=instance-state-name&Filter.2.Value.1=running&Filter.2.Value.2=pending",
         2},
        {"Filter.1.Name=instance-state-name&Filter.1.Value.1=shutting-down", 1},
        {"Filter.1.Name=instance-type&Filter.1.Value.1=m5.*", 1},
        {"Filter.1.Name=instance-lifecycle&Filter.1.Value.1=spot", 0},
    };
    struct rig r;
    rig_init(&r, NULL);
    rig_template(&r, "lt1", "x86_64", NULL);
    rig_fleet(&r, "on-demand", 2, "c5.large us-west-2a", "");
    rig_fleet(&r, "on-demand", 1, "m5.large us-west-2a", "");
    AUTO_FREE char *tag = xasprintf("ResourceId.1=%s&Tag.1.Key=Name&Tag.1.Value=n%%201",
                                    simec2_instance_at(r.e, 0)->id);
    ck_assert_uint_eq(rig_times(rig_ec2(&r, "CreateTags", tag), "<return>true</return>"), 1);
    AUTO_FREE char *kill = xasprintf("InstanceId.1=%s", simec2_instance_at(r.e, 1)->id);
    rig_ec2(&r, "TerminateInstances", kill);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *xml = rig_ec2(&r, "DescribeInstances", rows[i].body);
        ck_assert_msg(rig_times(xml, "<instanceId>") == rows[i].n, "%s: %s", rows[i].body, xml);
    }
    rig_done(&r);
}
END_TEST

START_TEST(paging)
{
    struct rig r;
    char token[256], id[256];
    size_t pages = 0, seen = 0;
    rig_init(&r, NULL);
    rig_template(&r, "lt1", "x86_64", NULL);
    rig_fleet(&r, "on-demand", 12, "c5.large us-west-2a", "");
    AUTO_FREE char *body = xstrdup("MaxResults=5");
    do {
        const char *xml = rig_ec2(&r, "DescribeInstances", body);
        size_t n = rig_times(xml, "<instanceId>");
        for (size_t i = 0; i < n; i++) {
            ck_assert_str_eq(rig_tag(xml, "instanceId", i, id),
                             simec2_instance_at(r.e, seen + i)->id);
        }
        seen += n;
        pages++;
        rig_tag(xml, "nextToken", 0, token);
        free(body);
        AUTO_BUF struct buf b;
        buf_init(&b, 1024);
        buf_puts(&b, "MaxResults=5&NextToken=");
        rig_escape(&b, token);
        body = buf_take(&b);
    } while (*token && pages < 10);
    ck_assert_uint_eq(pages, 3);
    ck_assert_uint_eq(seen, 12);
    rig_done(&r);
}
END_TEST

START_TEST(late_visibility)
{
    struct rig r;
    char code[256];
    rig_init(&r, NULL);
    rig_template(&r, "lt1", "x86_64", NULL);
    rig_step(&r, "{\"hide\": {\"for\": \"20s\"}}");
    rig_fleet(&r, "on-demand", 1, "c5.large us-west-2a", "");
    AUTO_FREE char *by_id = xasprintf("InstanceId.1=%s", simec2_instance_at(r.e, 0)->id);
    ck_assert_uint_eq(rig_times(rig_ec2(&r, "DescribeInstances", ""), "<instanceId>"), 0);
    ck_assert_str_eq(rig_tag(rig_ec2(&r, "DescribeInstances", by_id), "Code", 0, code),
                     "InvalidInstanceID.NotFound");
    rig_pass(&r, 18 * NS_PER_S); /* the answer took two */
    ck_assert_uint_eq(rig_times(rig_ec2(&r, "DescribeInstances", by_id), "<instanceId>"), 1);
    rig_done(&r);
}
END_TEST

START_TEST(addresses_run_out)
{
    struct rig r;
    char free_ips[256];
    rig_init(&r, NULL);
    rig_template(&r, "lt1", "x86_64", NULL);
    for (int i = 0; i < 4; i++) {
        rig_fleet(&r, "on-demand", 1000, "c5.large us-west-2a", "");
    }
    rig_tag(rig_ec2(&r, "DescribeSubnets", ""), "availableIpAddressCount", 0, free_ips);
    ck_assert_str_eq(free_ips, "0");
    const char *xml = rig_fleet(&r, "on-demand", 1, "c5.large us-west-2a,c5.large us-west-2b", "");
    ck_assert_uint_eq(rig_times(xml, "<errorCode>InsufficientFreeAddressesInSubnet"), 1);
    ck_assert_uint_eq(rig_times(xml, "<item>i-"), 1);
    rig_done(&r);
}
END_TEST

START_TEST(counting)
{
    static const struct {
        const char *match;
        size_t n;
    } rows[] = {
        {"{}", 3},
        {"{\"state\": \"pending\"}", 2},
        {"{\"state\": \"running\"}", 1},
        {"{\"type\": \"m5.*\"}", 1},
        {"{\"capacityType\": \"spot\"}", 1},
        {"{\"zone\": \"us-west-2b\"}", 1},
        {"{\"clusterUID\": \"other\"}", 1},
        {"{\"clusterUID\": \"none\"}", 0},
    };
    struct rig r;
    struct err err = ERR_INIT;
    rig_init(&r, NULL);
    rig_template(&r, "lt1", "x86_64", NULL);
    rig_fleet(&r, "on-demand", 1, "c5.large us-west-2a", "");
    rig_fleet(&r, "spot", 1, "m5.large us-west-2a", "");
    rig_step(&r, "{\"foreign\": [{\"type\": \"c5.large\", \"zone\": \"us-west-2b\", "
                 "\"clusterUID\": \"other\"}]}");
    rig_pass(&r, 0);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_JSON json_t *m = jsonx_parse(rows[i].match, strlen(rows[i].match), "match", NULL);
        size_t n = 99;
        ck_assert_int_eq(simec2_count(r.e, m, &n, &err), 0);
        ck_assert_msg(n == rows[i].n, "%s: %zu", rows[i].match, n);
    }
    AUTO_JSON json_t *bad = json_pack("{s:s}", "colour", "red");
    size_t n;
    ck_assert_int_eq(simec2_count(r.e, bad, &n, &err), -1);
    ck_assert_uint_eq(simec2_calls(r.e, "ec2", "CreateFleet"), 2);
    ck_assert_uint_eq(simec2_calls(r.e, "ec2", NULL), 3);
    ck_assert_uint_eq(simec2_calls(r.e, NULL, NULL), 4);
    AUTO_JSON json_t *list = simec2_list(r.e);
    ck_assert_uint_eq(json_array_size(list), 3);
    ck_assert_str_eq(jsonx_str(json_array_get(list, 1), "capacityType"), "spot");
    /* on-demand 0.085 and spot 0.0384; the foreign one costs somebody else. */
    ck_assert_int_eq(simec2_cost_pusd_h(r.e), INT64_C(123400000000));
    rig_done(&r);
}
END_TEST

UNIT_MAIN("sim_ec2", UNIT_CASES(fleet_allocation, alloc_rows), UNIT_CASES(refusals, refusal_rows),
          UNIT_TEST(version_and_action_are_checked), UNIT_TEST(token_replay),
          UNIT_TEST(token_of_an_empty_fleet), UNIT_TEST(life_of_an_instance),
          UNIT_TEST(terminated_before_it_booted), UNIT_TEST(described_as_launched),
          UNIT_TEST(filters_and_tags), UNIT_TEST(paging), UNIT_TEST(late_visibility),
          UNIT_TEST(addresses_run_out), UNIT_TEST(counting))
