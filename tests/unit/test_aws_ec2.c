/* test_aws_ec2.c - what is read from EC2's answers (aws/ec2.h) */
#include "common/aws/ec2.h"
#include "common/base/str.h"
#include "unit.h"

#define XML "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
#define NS " xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\">\n  <requestId>r-1</requestId>\n"
#define TAG_SET(k, v) "<tagSet><item><key>" k "</key><value>" v "</value></item></tagSet>"

static struct arena arena;

static void begin(void)
{
    arena_init(&arena, 0, 16u << 20);
}

static void end(void)
{
    arena_done(&arena);
}

static const char fleet_answer[] = XML
    "<CreateFleetResponse" NS "<fleetId>fleet-1</fleetId><errorSet><item>"
    "<launchTemplateAndOverrides><launchTemplateSpecification>"
    "<launchTemplateId>lt-1</launchTemplateId><launchTemplateName>n/1</launchTemplateName>"
    "<version>1</version></launchTemplateSpecification><overrides>"
    "<instanceType>m5.large</instanceType><subnetId>subnet-a</subnetId>"
    "<availabilityZone>eu-west-1a</availabilityZone><imageId>ami-1</imageId></overrides>"
    "</launchTemplateAndOverrides><lifecycle>spot</lifecycle>"
    "<errorCode>InsufficientInstanceCapacity</errorCode>"
    "<errorMessage>no m5.large &amp; so on</errorMessage></item></errorSet>"
    "<fleetInstanceSet><item><launchTemplateAndOverrides><launchTemplateSpecification>"
    "<launchTemplateId>lt-1</launchTemplateId><version>1</version></launchTemplateSpecification>"
    "<overrides><instanceType>c5.large</instanceType><subnetId>subnet-b</subnetId>"
    "<availabilityZone>eu-west-1b</availabilityZone>"
    "<availabilityZoneId>euw1-az2</availabilityZoneId><maxPrice/></overrides>"
    "</launchTemplateAndOverrides><lifecycle>spot</lifecycle>"
    "<instanceIds><item>i-1</item><item>i-2</item></instanceIds>"
    "<instanceType>c5.large</instanceType></item></fleetInstanceSet></CreateFleetResponse>";

START_TEST(reads_fleets)
{
    begin();
    struct ec2_fleet f;
    ck_assert_int_eq(
        ec2_parse_create_fleet(&arena, fleet_answer, sizeof(fleet_answer) - 1, &f, NULL), 0);
    ck_assert_str_eq(f.fleet_id, "fleet-1");
    ck_assert_uint_eq(f.n_errors, 1);
    ck_assert_str_eq(f.errors[0].code, "InsufficientInstanceCapacity");
    ck_assert_str_eq(f.errors[0].message, "no m5.large & so on");
    ck_assert_str_eq(f.errors[0].lifecycle, "spot");
    ck_assert_str_eq(f.errors[0].choice.template_name, "n/1");
    ck_assert_str_eq(f.errors[0].choice.instance_type, "m5.large");
    ck_assert_str_eq(f.errors[0].choice.subnet_id, "subnet-a");
    ck_assert_str_eq(f.errors[0].choice.zone, "eu-west-1a");
    ck_assert_str_eq(f.errors[0].choice.image_id, "ami-1");
    ck_assert_uint_eq(f.n_instances, 1);
    ck_assert_uint_eq(f.instances[0].ids.n, 2);
    ck_assert_str_eq(f.instances[0].ids.v[0], "i-1");
    ck_assert_str_eq(f.instances[0].ids.v[1], "i-2");
    ck_assert_str_eq(f.instances[0].lifecycle, "spot");
    ck_assert_str_eq(f.instances[0].instance_type, "c5.large");
    ck_assert_str_eq(f.instances[0].choice.zone_id, "euw1-az2");
    ck_assert_str_eq(f.instances[0].choice.template_id, "lt-1");
    ck_assert_str_eq(f.instances[0].choice.template_version, "1");
    ck_assert_ptr_null(f.instances[0].choice.template_name);
    ck_assert_ptr_null(f.instances[0].choice.image_id);
    end();
}
END_TEST

static const char templates_answer[] = XML
    "<DescribeLaunchTemplatesResponse" NS "<launchTemplates><item>"
    "<createTime>2026-01-05T09:00:00.000Z</createTime><createdBy>arn:aws:iam::1:root</createdBy>"
    "<defaultVersionNumber>1</defaultVersionNumber><latestVersionNumber>1</latestVersionNumber>"
    "<launchTemplateId>lt-1</launchTemplateId><launchTemplateName>n/1</launchTemplateName>" TAG_SET(
        "k", "v") "</item><item><launchTemplateId>lt-2</launchTemplateId>"
                  "<launchTemplateName>n/2</launchTemplateName></item></launchTemplates>"
                  "<nextToken>more</nextToken></DescribeLaunchTemplatesResponse>";

START_TEST(reads_templates)
{
    begin();
    struct ec2_templates t;
    ck_assert_int_eq(ec2_parse_describe_templates(&arena, templates_answer,
                                                  sizeof(templates_answer) - 1, &t, NULL),
                     0);
    ck_assert_uint_eq(t.n, 2);
    ck_assert_str_eq(t.v[0].id, "lt-1");
    ck_assert_str_eq(t.v[0].name, "n/1");
    ck_assert_int_eq(t.v[0].created_wall_ns, INT64_C(1767603600) * 1000000000);
    ck_assert_str_eq(ec2_tag(&t.v[0].tags, "k"), "v");
    ck_assert_ptr_null(ec2_tag(&t.v[0].tags, "K"));
    ck_assert_int_eq(t.v[1].created_wall_ns, 0);
    ck_assert_uint_eq(t.v[1].tags.n, 0);
    ck_assert_str_eq(t.next_token, "more");
    end();
}
END_TEST

static const char instances_answer[] =
    XML "<DescribeInstancesResponse" NS "<reservationSet><item><reservationId>r-1</reservationId>"
        "<ownerId>111122223333</ownerId><groupSet/><instancesSet><item>"
        "<instanceId>i-1</instanceId><imageId>ami-1</imageId>"
        "<instanceState><code>16</code><name>running</name></instanceState>"
        "<privateDnsName>ip-10-0-0-5.eu-west-1.compute.internal</privateDnsName>"
        "<instanceType>m5.large</instanceType><launchTime>2026-01-05T09:00:00.000Z</launchTime>"
        "<placement><availabilityZone>eu-west-1a</availabilityZone>"
        "<availabilityZoneId>euw1-az1</availabilityZoneId><groupName/><groupId>pg-1</groupId>"
        "<partitionNumber>3</partitionNumber><tenancy>default</tenancy></placement>"
        "<subnetId>subnet-1</subnetId><vpcId>vpc-1</vpcId>"
        "<privateIpAddress>10.0.0.5</privateIpAddress>"
        "<groupSet><item><groupId>sg-1</groupId><groupName>a</groupName></item>"
        "<item><groupId>sg-2</groupId><groupName>b</groupName></item></groupSet>"
        "<instanceLifecycle>spot</instanceLifecycle>"
        "<spotInstanceRequestId>sir-1</spotInstanceRequestId><clientToken>tok</clientToken>"
        "<tagSet><item><key>karpenter.sh/nodepool</key><value>default</value></item>"
        "<item><key>Name</key><value/></item></tagSet>"
        "<networkInterfaceSet><item><networkInterfaceId>eni-1</networkInterfaceId>"
        "<interfaceType>interface</interfaceType></item></networkInterfaceSet>"
        "<iamInstanceProfile><arn>arn:aws:iam::1:instance-profile/p</arn><id>A</id>"
        "</iamInstanceProfile></item></instancesSet></item>"
        "<item><reservationId>r-2</reservationId><instancesSet><item><instanceId>i-2</instanceId>"
        "<instanceState><code>48</code><name>terminated</name></instanceState>"
        "<stateReason><code>Client.UserInitiatedShutdown</code><message>by user</message>"
        "</stateReason><capacityReservationId>cr-1</capacityReservationId>"
        "<capacityReservationSpecification><capacityReservationPreference>open"
        "</capacityReservationPreference></capacityReservationSpecification></item><item>"
        "<instanceId>i-3</instanceId><instanceState><name>pending</name></instanceState></item>"
        "</instancesSet></item></reservationSet><nextToken>page-2</nextToken>"
        "</DescribeInstancesResponse>";

static void check_first_instance(const struct ec2_instance *i)
{
    ck_assert_str_eq(i->id, "i-1");
    ck_assert_str_eq(i->image_id, "ami-1");
    ck_assert_str_eq(i->type, "m5.large");
    ck_assert_str_eq(i->state, "running");
    ck_assert_str_eq(i->lifecycle, "spot");
    ck_assert_str_eq(i->spot_request_id, "sir-1");
    ck_assert_str_eq(i->client_token, "tok");
    ck_assert_str_eq(i->zone, "eu-west-1a");
    ck_assert_str_eq(i->zone_id, "euw1-az1");
    ck_assert_str_eq(i->tenancy, "default");
    ck_assert_str_eq(i->placement_group_id, "pg-1");
    ck_assert_int_eq(i->partition, 3);
    ck_assert_str_eq(i->subnet_id, "subnet-1");
    ck_assert_str_eq(i->vpc_id, "vpc-1");
    ck_assert_str_eq(i->private_ip, "10.0.0.5");
    ck_assert_str_eq(i->private_dns_name, "ip-10-0-0-5.eu-west-1.compute.internal");
    ck_assert_str_eq(i->iam_profile_arn, "arn:aws:iam::1:instance-profile/p");
    ck_assert_int_eq(i->launch_wall_ns, INT64_C(1767603600) * 1000000000);
    ck_assert_uint_eq(i->group_ids.n, 2);
    ck_assert_str_eq(i->group_ids.v[1], "sg-2");
    ck_assert_uint_eq(i->interface_types.n, 1);
    ck_assert_str_eq(i->interface_types.v[0], "interface");
    ck_assert_uint_eq(i->tags.n, 2);
    ck_assert_str_eq(ec2_tag(&i->tags, "Name"), "");
}

START_TEST(reads_instances)
{
    begin();
    struct ec2_instances got;
    ck_assert_int_eq(ec2_parse_describe_instances(&arena, instances_answer,
                                                  sizeof(instances_answer) - 1, &got, NULL),
                     0);
    ck_assert_uint_eq(got.n, 3);
    check_first_instance(&got.v[0]);
    ck_assert_str_eq(got.v[1].id, "i-2");
    ck_assert_str_eq(got.v[1].state_reason_code, "Client.UserInitiatedShutdown");
    ck_assert_str_eq(got.v[1].state_reason, "by user");
    ck_assert_str_eq(got.v[1].reservation_id, "cr-1");
    ck_assert_str_eq(got.v[1].reservation_preference, "open");
    ck_assert_ptr_null(got.v[1].spot_request_id);
    ck_assert_ptr_null(got.v[1].lifecycle);
    ck_assert_str_eq(got.v[2].state, "pending");
    ck_assert_int_eq(got.v[2].launch_wall_ns, 0);
    ck_assert_str_eq(got.next_token, "page-2");
    end();
}
END_TEST

#define CHECK(tag, status, since)                                                                  \
    "<" tag "><status>" status "</status><details><item><name>reachability</name>" since           \
    "</item></details></" tag ">"
#define SINCE(t) "<impairedSince>" t "</impairedSince>"

START_TEST(reads_statuses)
{
    static const char answer[] = XML
        "<DescribeInstanceStatusResponse" NS "<instanceStatusSet>"
        "<item><instanceId>i-1</instanceId>" CHECK("systemStatus", "ok", "") CHECK(
            "instanceStatus", "impaired",
            SINCE(
                "2026-01-05T09:00:00Z")) "</item><item><instanceId>i-2</instanceId><eventsSet>"
                                         "<item><code>instance-reboot</"
                                         "code><description>[Completed] done</description></item>"
                                         "<item><code>instance-retirement</code><description>soon</"
                                         "description></item>"
                                         "<item><description>no code</description></item>"
                                         "<item><code>instance-stop</code><description>[Canceled] "
                                         "no</description></item>"
                                         "</eventsSet>" CHECK("systemStatus", "impaired", "") CHECK(
                                             "instanceStatus", "insufficient-data",
                                             "") "</item></instanceStatusSet><nextToken>t</"
                                                 "nextToken></DescribeInstanceStatusResponse>";
    static const char nobody[] =
        XML "<DescribeInstanceStatusResponse" NS "<instanceStatusSet><item/></instanceStatusSet>"
            "</DescribeInstanceStatusResponse>";
    begin();
    struct ec2_instance_statuses got;
    ck_assert_int_eq(ec2_parse_describe_status(&arena, answer, sizeof(answer) - 1, &got, NULL), 0);
    ck_assert_uint_eq(got.n, 2);
    ck_assert_str_eq(got.v[0].id, "i-1");
    ck_assert(got.v[0].instance_bad && !got.v[0].system_bad);
    ck_assert_int_eq(got.v[0].instance_since_ns, INT64_C(1767603600) * 1000000000);
    ck_assert_uint_eq(got.v[0].events.n, 0);
    ck_assert(!got.v[1].instance_bad && got.v[1].system_bad);
    ck_assert_int_eq(got.v[1].system_since_ns, 0);
    ck_assert_uint_eq(got.v[1].events.n, 1);
    ck_assert_str_eq(got.v[1].events.v[0], "instance-retirement");
    ck_assert_str_eq(got.next_token, "t");
    ck_assert_int_eq(ec2_parse_describe_status(&arena, nobody, sizeof(nobody) - 1, &got, NULL), -1);
    end();
}
END_TEST

START_TEST(reads_consoles)
{
#define CONSOLE(more)                                                                              \
    XML "<GetConsoleOutputResponse" NS "<instanceId>i-1</instanceId>" more                         \
        "</GetConsoleOutputResponse>"
    static const struct {
        const char *body, *text;
    } rows[] = {
        {CONSOLE("<timestamp>2026-01-05T09:00:00Z</timestamp><output>YQ0K\nYg==</output>"),
         "a\r\nb"},
        {CONSOLE("<output/>"), ""},
        {CONSOLE(""), ""},
        {CONSOLE("<output>*</output>"), NULL},
        {XML "<GetConsoleOutputResponse" NS "</GetConsoleOutputResponse>", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *got = NULL;
        begin();
        int rc = ec2_parse_console(&arena, rows[i].body, strlen(rows[i].body), &got, NULL);
        ck_assert_int_eq(rc, rows[i].text ? 0 : -1);
        ck_assert(!rows[i].text || str_eq(got, rows[i].text));
        end();
    }
}
END_TEST

START_TEST(reads_tags)
{
    static const char yes[] = XML "<CreateTagsResponse" NS "<return>true</return>"
                                  "</CreateTagsResponse>";
    static const char no[] = XML "<CreateTagsResponse" NS "<return>false</return>"
                                 "</CreateTagsResponse>";
    static const char silent[] = XML "<CreateTagsResponse" NS "</CreateTagsResponse>";
    begin();
    ck_assert_int_eq(ec2_parse_create_tags(&arena, yes, sizeof(yes) - 1, NULL), 0);
    ck_assert_int_eq(ec2_parse_create_tags(&arena, silent, sizeof(silent) - 1, NULL), 0);
    ck_assert_int_eq(ec2_parse_create_tags(&arena, no, sizeof(no) - 1, NULL), -1);
    end();
}
END_TEST

START_TEST(reads_what_a_class_selects)
{
    static const char s[] =
        XML "<DescribeSubnetsResponse" NS "<subnetSet><item><subnetId>subnet-1</subnetId>"
            "<state>available</state><vpcId>vpc-1</vpcId>"
            "<availableIpAddressCount>4091</availableIpAddressCount>"
            "<availabilityZone>eu-west-1a</availabilityZone>"
            "<availabilityZoneId>euw1-az1</availabilityZoneId>"
            "<mapPublicIpOnLaunch>true</mapPublicIpOnLaunch>" TAG_SET(
                "k", "v") "</item></subnetSet><nextToken/></DescribeSubnetsResponse>";
    static const char g[] =
        XML "<DescribeSecurityGroupsResponse" NS "<securityGroupInfo><item><groupId>sg-1</groupId>"
            "<groupName>nodes</groupName><vpcId>vpc-1</vpcId>" TAG_SET(
                "k", "v") "</item></securityGroupInfo></DescribeSecurityGroupsResponse>";
    static const char i[] =
        XML "<DescribeImagesResponse" NS "<imagesSet><item><imageId>ami-1</imageId>"
            "<imageState>available</imageState><imageOwnerId>602401143452</imageOwnerId>"
            "<creationDate>2026-01-05T09:00:00.000Z</creationDate>"
            "<deprecationTime>2028-01-05T09:00:00.000Z</deprecationTime>"
            "<architecture>arm64</architecture><name>amazon-eks-node-al2023</name>"
            "</item><item><imageId>ami-2</imageId></item></imagesSet></DescribeImagesResponse>";
    begin();
    struct ec2_subnets subnet;
    ck_assert_int_eq(ec2_parse_describe_subnets(&arena, s, sizeof(s) - 1, &subnet, NULL), 0);
    ck_assert_uint_eq(subnet.n, 1);
    ck_assert_str_eq(subnet.v[0].zone_id, "euw1-az1");
    ck_assert_int_eq(subnet.v[0].free_ips, 4091);
    ck_assert(subnet.v[0].map_public_ip);
    ck_assert_str_eq(ec2_tag(&subnet.v[0].tags, "k"), "v");
    ck_assert_ptr_null(subnet.next_token);
    struct ec2_groups group;
    ck_assert_int_eq(ec2_parse_describe_groups(&arena, g, sizeof(g) - 1, &group, NULL), 0);
    ck_assert_uint_eq(group.n, 1);
    ck_assert_str_eq(group.v[0].name, "nodes");
    ck_assert_str_eq(group.v[0].vpc_id, "vpc-1");
    struct ec2_images image;
    ck_assert_int_eq(ec2_parse_describe_images(&arena, i, sizeof(i) - 1, &image, NULL), 0);
    ck_assert_uint_eq(image.n, 2);
    ck_assert_str_eq(image.v[0].architecture, "arm64");
    ck_assert_str_eq(image.v[0].name, "amazon-eks-node-al2023");
    ck_assert_int_eq(image.v[0].created_wall_ns, INT64_C(1767603600) * 1000000000);
    ck_assert_int_gt(image.v[0].deprecated_wall_ns, image.v[0].created_wall_ns);
    ck_assert_int_eq(image.v[1].deprecated_wall_ns, 0);
    end();
}
END_TEST

START_TEST(reads_offerings_and_prices)
{
    static const char o[] =
        XML "<DescribeInstanceTypeOfferingsResponse" NS "<instanceTypeOfferingSet>"
            "<item><instanceType>m5.large</instanceType><location>eu-west-1a</location>"
            "<locationType>availability-zone</locationType></item></instanceTypeOfferingSet>"
            "<nextToken>n</nextToken></DescribeInstanceTypeOfferingsResponse>";
    static const char p[] =
        XML "<DescribeSpotPriceHistoryResponse" NS "<spotPriceHistorySet>"
            "<item><instanceType>m5.large</instanceType>"
            "<productDescription>Linux/UNIX</productDescription><spotPrice>0.035700</spotPrice>"
            "<timestamp>2026-01-05T09:00:00.000Z</timestamp>"
            "<availabilityZone>eu-west-1a</availabilityZone></item>"
            "<item><instanceType>m5.large</instanceType><spotPrice>-1</spotPrice>"
            "<availabilityZone>eu-west-1b</availabilityZone></item>"
            "<item><instanceType>m5.large</instanceType><spotPrice>0.0</spotPrice>"
            "<availabilityZone>eu-west-1b</availabilityZone></item>"
            "<item><spotPrice>0.1</spotPrice></item></spotPriceHistorySet><nextToken></nextToken>"
            "</DescribeSpotPriceHistoryResponse>";
    begin();
    struct ec2_offerings off;
    ck_assert_int_eq(ec2_parse_describe_offerings(&arena, o, sizeof(o) - 1, &off, NULL), 0);
    ck_assert_uint_eq(off.n, 1);
    ck_assert_str_eq(off.v[0].location, "eu-west-1a");
    ck_assert_str_eq(off.next_token, "n");
    struct ec2_spot_prices spot;
    ck_assert_int_eq(ec2_parse_describe_spot_prices(&arena, p, sizeof(p) - 1, &spot, NULL), 0);
    ck_assert_uint_eq(spot.n, 1);
    ck_assert_uint_eq(spot.n_skipped, 3);
    ck_assert_int_eq(spot.v[0].price_pusd_h, 35700000000);
    ck_assert_str_eq(spot.v[0].zone, "eu-west-1a");
    ck_assert_int_eq(spot.v[0].wall_ns, INT64_C(1767603600) * 1000000000);
    ck_assert_ptr_null(spot.next_token);
    end();
}
END_TEST

/* ---- what is no answer ----------------------------------------------------------------------- */

static int try_fleet(const char *p, size_t n, struct err *e)
{
    struct ec2_fleet r;
    return ec2_parse_create_fleet(&arena, p, n, &r, e);
}

static int try_instances(const char *p, size_t n, struct err *e)
{
    struct ec2_instances r;
    return ec2_parse_describe_instances(&arena, p, n, &r, e);
}

static int try_subnets(const char *p, size_t n, struct err *e)
{
    struct ec2_subnets r;
    return ec2_parse_describe_subnets(&arena, p, n, &r, e);
}

static int try_reservations(const char *p, size_t n, struct err *e)
{
    struct ec2_reservations r;
    return ec2_parse_describe_reservations(&arena, p, n, &r, e);
}

static const struct {
    int (*parse)(const char *p, size_t n, struct err *e);
    const char *body;
} no_answers[] = {
    {try_fleet, ""},
    {try_fleet, "<DescribeInstancesResponse/>"},
    {try_fleet, "<html><body>Service Unavailable</body></html>"},
    {try_instances, "<DescribeInstancesResponse/>"},
    {try_instances, "<DescribeInstancesResponse><reservationSet><item><instancesSet><item>"
                    "<instanceId/><instanceState><name>running</name></instanceState></item>"
                    "</instancesSet></item></reservationSet></DescribeInstancesResponse>"},
    {try_instances, "<DescribeInstancesResponse><reservationSet><item><instancesSet><item>"
                    "<instanceId>i-1</instanceId></item></instancesSet></item></reservationSet>"
                    "</DescribeInstancesResponse>"},
    {try_subnets, "<DescribeSubnetsResponse><subnetSet><item><subnetId>s</subnetId></item>"
                  "</subnetSet></DescribeSubnetsResponse>"},
    {try_subnets, "<DescribeSubnetsResponse><requestId>x</requestId></DescribeSubnetsResponse>"},
    {try_reservations, "<DescribeCapacityReservationsResponse/>"},
    {try_reservations,
     "<DescribeCapacityReservationsResponse><capacityReservationSet><item><instanceType>m5.large"
     "</instanceType></item></capacityReservationSet></DescribeCapacityReservationsResponse>"},
};

START_TEST(reads_reservations)
{
    static const char s[] =
        XML "<DescribeCapacityReservationsResponse" NS
            "<capacityReservationSet><item><capacityReservationId>cr-1</capacityReservationId>"
            "<ownerId>111122223333</ownerId><instanceType>p5.48xlarge</instanceType>"
            "<availabilityZone>eu-west-1a</availabilityZone><totalInstanceCount>4"
            "</totalInstanceCount><availableInstanceCount>3</availableInstanceCount>"
            "<instanceMatchCriteria>targeted</instanceMatchCriteria>"
            "<reservationType>capacity-block</reservationType><interruptible>true</interruptible>"
            "<endDate>2026-01-05T09:00:00.000Z</endDate></item><item><capacityReservationId>cr-2"
            "</capacityReservationId><instanceType>m5.large</instanceType><availabilityZone>"
            "eu-west-1b</availabilityZone></item></capacityReservationSet><nextToken>n</nextToken>"
            "</DescribeCapacityReservationsResponse>";
    begin();
    struct ec2_reservations r;
    ck_assert_int_eq(ec2_parse_describe_reservations(&arena, s, sizeof(s) - 1, &r, NULL), 0);
    ck_assert_uint_eq(r.n, 2);
    ck_assert_str_eq(r.v[0].id, "cr-1");
    ck_assert_str_eq(r.v[0].owner_id, "111122223333");
    ck_assert_str_eq(r.v[0].instance_type, "p5.48xlarge");
    ck_assert_str_eq(r.v[0].zone, "eu-west-1a");
    ck_assert_str_eq(r.v[0].match, "targeted");
    ck_assert_str_eq(r.v[0].kind, "capacity-block");
    ck_assert_int_eq(r.v[0].available, 3);
    ck_assert(r.v[0].interruptible && !r.v[1].interruptible);
    ck_assert_int_eq(r.v[0].end_wall_ns, INT64_C(1767603600) * 1000000000);
    ck_assert(!r.v[1].kind && r.v[1].available == 0 && r.v[1].end_wall_ns == 0);
    ck_assert_str_eq(r.next_token, "n");
    end();
}
END_TEST

START_TEST(no_answer_is_an_error)
{
    begin();
    struct err e = ERR_INIT;
    ck_assert_int_eq(no_answers[_i].parse(no_answers[_i].body, strlen(no_answers[_i].body), &e),
                     -1);
    ck_assert_int_eq(e.kind, ERR_INVALID);
    ck_assert(e.msg[0]);
    end();
}
END_TEST

START_TEST(empty_lists_are_answers)
{
    static const char none[] = "<DescribeInstancesResponse><reservationSet/>"
                               "</DescribeInstancesResponse>";
    begin();
    struct ec2_instances got = {.n = 9};
    ck_assert_int_eq(ec2_parse_describe_instances(&arena, none, sizeof(none) - 1, &got, NULL), 0);
    ck_assert_uint_eq(got.n, 0);
    ck_assert_ptr_null(got.next_token);
    end();
}
END_TEST

START_TEST(cut_short_is_never_half_an_answer)
{
    for (size_t n = 0; n < sizeof(instances_answer) - 1; n++) {
        begin();
        ck_assert_int_eq(try_instances(instances_answer, n, NULL), -1);
        if (n < sizeof(fleet_answer) - 1) {
            ck_assert_int_eq(try_fleet(fleet_answer, n, NULL), -1);
        }
        end();
    }
}
END_TEST

UNIT_MAIN("aws_ec2", UNIT_TEST(reads_fleets), UNIT_TEST(reads_templates),
          UNIT_TEST(reads_instances), UNIT_TEST(reads_statuses), UNIT_TEST(reads_consoles),
          UNIT_TEST(reads_tags), UNIT_TEST(reads_what_a_class_selects),
          UNIT_TEST(reads_reservations), UNIT_TEST(reads_offerings_and_prices),
          UNIT_CASES(no_answer_is_an_error, no_answers), UNIT_TEST(empty_lists_are_answers),
          UNIT_TEST(cut_short_is_never_half_an_answer))
