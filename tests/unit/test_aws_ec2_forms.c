/* test_aws_ec2_forms.c - the exact form of EC2's calls (aws/ec2.h) */
#include "common/aws/ec2.h"
#include "unit.h"

#define V "&Version=2016-11-15"
#define STRINGS(...)                                                                               \
    {                                                                                              \
        (const char *const[]){__VA_ARGS__}, ARRAY_LEN(((const char *const[]){__VA_ARGS__}))        \
    }

static const struct ec2_tag two_tags[] = {{"karpenter.sh/nodepool", "default"}, {"Name", ""}};
static const struct ec2_filter two_filters[] = {
    {"tag:karpenter.sh/discovery", STRINGS("demo", "other")},
    {"tag-key", STRINGS("karpenter.sh/nodepool")},
};
#define TWO_FILTERS                                                                                \
    {                                                                                              \
        two_filters, 2                                                                             \
    }
#define FORM_FILTERS                                                                               \
    "&Filter.1.Name=tag%3Akarpenter.sh%2Fdiscovery&Filter.1.Value.1=demo&Filter.1.Value.2=other"   \
    "&Filter.2.Name=tag-key&Filter.2.Value.1=karpenter.sh%2Fnodepool"

/* ---- encoding -------------------------------------------------------------------------------- */

static void fleet(struct form *f)
{
    static const struct ec2_override overrides[] = {
        {"m5.large", "subnet-1", "eu-west-1a", "ami-1", 96000000000},
        {"c5.large", NULL, "eu-west-1b", NULL, -1},
    };
    static const struct ec2_fleet_config configs[] = {
        {.template_name = "karpenter.k8s.aws/1", .overrides = overrides, .n_overrides = 2},
        {.template_id = "lt-2", .template_version = "3", .overrides = overrides, .n_overrides = 1},
    };
    static const struct ec2_tag_spec specs[] = {
        {"instance", {two_tags, 2}},
        {"volume", {NULL, 0}},
        {"fleet", {two_tags, 1}},
    };
    const struct ec2_create_fleet req = {
        .client_token = "tok-1",
        .context = "ctx",
        .target_type = "spot",
        .target_capacity = 1,
        .spot_strategy = "price-capacity-optimized",
        .on_demand_strategy = "lowest-price",
        .configs = configs,
        .n_configs = 2,
        .tags = {specs, 3},
    };
    ec2_encode_create_fleet(f, &req);
}

static void fleet_probe(struct form *f)
{
    const struct ec2_create_fleet req = {
        .dry_run = true,
        .target_type = "reserved-capacity",
        .target_capacity = 2,
        .reservation_types = STRINGS("interruptible-capacity-reservation"),
    };
    ec2_encode_create_fleet(f, &req);
}

static void template_al2023(struct form *f)
{
    static const struct ec2_block_device device = {
        .device_name = "/dev/xvda",
        .volume_type = "gp3",
        .size_gib = 20,
        .encrypted = 1,
        .delete_on_termination = 1,
    };
    const struct ec2_interface interface = {
        .group_ids = STRINGS("sg-1", "sg-2"),
        .associate_public_ip = -1,
        .primary_ipv6 = -1,
        .ipv4_prefixes = -1,
        .ipv6_prefixes = -1,
        .ipv6_addresses = -1,
    };
    static const struct ec2_tag_spec own = {"launch-template", {two_tags, 1}};
    static const struct ec2_tag_spec data[] = {
        {"network-interface", {two_tags, 1}},
        {"spot-instances-request", {two_tags, 1}},
    };
    const struct ec2_create_template req = {
        .client_token = "tok-2",
        .name = "karpenter.k8s.aws/77",
        .tags = {&own, 1},
        .image_id = "ami-1",
        .user_data_b64 = "TUlNRQ==",
        .instance_profile = "KarpenterNode",
        .monitoring = 0,
        .devices = &device,
        .n_devices = 1,
        .metadata = {"enabled", "required", "disabled", "disabled", 1},
        .interfaces = &interface,
        .n_interfaces = 1,
        .tenancy = "default",
        .reservation_preference = "none",
        .data_tags = {data, 2},
    };
    ec2_encode_create_template(f, &req);
}

static void template_everything(struct form *f)
{
    static const struct ec2_block_device device = {
        .device_name = "/dev/sdb",
        .volume_type = "io2",
        .kms_key_id = "key",
        .snapshot_id = "snap-1",
        .iops = 3000,
        .throughput = 250,
        .init_rate = 100,
        .encrypted = 0,
        .delete_on_termination = -1,
    };
    static const struct ec2_interface interface = {
        .card_index = 1,
        .device_index = 2,
        .send_card_index = true,
        .type = "efa-only",
        .associate_public_ip = 0,
        .primary_ipv6 = 1,
        .ipv4_prefixes = 3,
        .ipv6_prefixes = 4,
        .ipv6_addresses = 5,
        .tcp_established_s = 60,
        .udp_stream_s = 61,
        .udp_s = 30,
    };
    const struct ec2_create_template req = {
        .name = "n",
        .dry_run = true,
        .monitoring = 1,
        .devices = &device,
        .n_devices = 1,
        .interfaces = &interface,
        .n_interfaces = 1,
        .placement_group_id = "pg-1",
        .partition = 2,
        .reservation_preference = "capacity-reservations-only",
        .reservation_id = "cr-1",
        .market_type = "capacity-block",
        .nested_virtualization = "enabled",
        .enclave = true,
    };
    ec2_encode_create_template(f, &req);
}

static void describe_templates(struct form *f)
{
    const struct ec2_describe_templates req = {
        .names = STRINGS("a/1", "b"),
        .ids = STRINGS("lt-1"),
        .filters = TWO_FILTERS,
        .max_results = EC2_PAGE_TEMPLATES,
        .next_token = "t+/=",
    };
    ec2_encode_describe_templates(f, &req);
}

static void delete_by_name(struct form *f)
{
    ec2_encode_delete_template(f, "n/1", "lt-1");
}

static void delete_by_id(struct form *f)
{
    ec2_encode_delete_template(f, NULL, "lt-1");
}

static void instances_by_id(struct form *f)
{
    const struct ec2_describe_instances req = {.ids = STRINGS("i-1", "i-2")};
    ec2_encode_describe_instances(f, &req);
}

static void instances_by_filter(struct form *f)
{
    const struct ec2_describe_instances req = {
        .filters = TWO_FILTERS, .max_results = EC2_PAGE_INSTANCES, .next_token = "n"};
    ec2_encode_describe_instances(f, &req);
}

static void status(struct form *f)
{
    const struct ec2_describe_status req = {
        .filters = TWO_FILTERS, .max_results = EC2_PAGE_STATUSES, .next_token = "n"};
    ec2_encode_describe_status(f, &req);
}

static void console(struct form *f)
{
    ec2_encode_console(f, "i-1");
}

static void terminate(struct form *f)
{
    const struct ec2_strings ids = STRINGS("i-1", "i-2");
    ec2_encode_terminate_instances(f, &ids);
}

static void tag(struct form *f)
{
    const struct ec2_strings ids = STRINGS("i-1");
    const struct ec2_tags tags = {two_tags, 2};
    ec2_encode_create_tags(f, &ids, &tags);
}

static void subnets(struct form *f)
{
    const struct ec2_describe req = {
        .ids = STRINGS("subnet-1"), .filters = TWO_FILTERS, .max_results = 500, .next_token = "n"};
    ec2_encode_describe_subnets(f, &req);
}

static void groups(struct form *f)
{
    const struct ec2_describe req = {.ids = STRINGS("sg-1"), .names = STRINGS("nodes")};
    ec2_encode_describe_groups(f, &req);
}

static void images(struct form *f)
{
    const struct ec2_describe req = {
        .ids = STRINGS("ami-1"),
        .owners = STRINGS("self", "amazon"),
        .include_deprecated = true,
        .max_results = EC2_PAGE_IMAGES,
    };
    ec2_encode_describe_images(f, &req);
}

static void reservations(struct form *f)
{
    const struct ec2_describe req = {
        .filters = TWO_FILTERS, .max_results = EC2_PAGE_RESERVATIONS, .next_token = "n"};
    ec2_encode_describe_reservations(f, &req);
}

static void reservation_by_id(struct form *f)
{
    const struct ec2_describe req = {.ids = STRINGS("cr-1")};
    ec2_encode_describe_reservations(f, &req);
}

static void offerings(struct form *f)
{
    ec2_encode_describe_offerings(f, NULL, EC2_PAGE_OFFERINGS, "n");
}

static void spot_prices(struct form *f)
{
    const struct ec2_describe_spot_prices req = {
        .start_wall_ns = INT64_C(1767603600) * 1000000000, .max_results = 2000, .next_token = "n"};
    ec2_encode_describe_spot_prices(f, &req);
}

static void spot_prices_of(struct form *f)
{
    const struct ec2_describe_spot_prices req = {
        .start_wall_ns = INT64_C(1767603600) * 1000000000,
        .products = STRINGS("Windows"),
        .instance_types = STRINGS("m5.large"),
    };
    ec2_encode_describe_spot_prices(f, &req);
}

#define LTD "&LaunchTemplateData."
#define LTC "&LaunchTemplateConfigs."
static const struct {
    void (*encode)(struct form *f);
    const char *form;
} forms[] = {
    {fleet,
     "Action=CreateFleet" V "&ClientToken=tok-1&Type=instant&Context=ctx"
     "&SpotOptions.AllocationStrategy=price-capacity-optimized"
     "&OnDemandOptions.AllocationStrategy=lowest-price"
     "&TargetCapacitySpecification.TotalTargetCapacity=1"
     "&TargetCapacitySpecification.DefaultTargetCapacityType=spot" LTC
     "1.LaunchTemplateSpecification.LaunchTemplateName=karpenter.k8s.aws%2F1" LTC
     "1.LaunchTemplateSpecification.Version=%24Latest" LTC "1.Overrides.1.InstanceType=m5.large" LTC
     "1.Overrides.1.SubnetId=subnet-1" LTC "1.Overrides.1.AvailabilityZone=eu-west-1a" LTC
     "1.Overrides.1.ImageId=ami-1" LTC "1.Overrides.1.Priority=0.096" LTC
     "1.Overrides.2.InstanceType=c5.large" LTC "1.Overrides.2.AvailabilityZone=eu-west-1b" LTC
     "2.LaunchTemplateSpecification.LaunchTemplateId=lt-2" LTC
     "2.LaunchTemplateSpecification.Version=3" LTC "2.Overrides.1.InstanceType=m5.large" LTC
     "2.Overrides.1.SubnetId=subnet-1" LTC "2.Overrides.1.AvailabilityZone=eu-west-1a" LTC
     "2.Overrides.1.ImageId=ami-1" LTC "2.Overrides.1.Priority=0.096"
     "&TagSpecification.1.ResourceType=instance"
     "&TagSpecification.1.Tag.1.Key=karpenter.sh%2Fnodepool&TagSpecification.1.Tag.1.Value=default"
     "&TagSpecification.1.Tag.2.Key=Name&TagSpecification.1.Tag.2.Value="
     "&TagSpecification.2.ResourceType=fleet"
     "&TagSpecification.2.Tag.1.Key=karpenter.sh%2Fnodepool"
     "&TagSpecification.2.Tag.1.Value=default"},
    {fleet_probe, "Action=CreateFleet" V "&DryRun=true&Type=instant"
                  "&ReservedCapacityOptions.ReservationType.1=interruptible-capacity-reservation"
                  "&TargetCapacitySpecification.TotalTargetCapacity=2"
                  "&TargetCapacitySpecification.DefaultTargetCapacityType=reserved-capacity"},
    {template_al2023,
     "Action=CreateLaunchTemplate" V "&ClientToken=tok-2"
     "&LaunchTemplateName=karpenter.k8s.aws%2F77&TagSpecification.1.ResourceType=launch-template"
     "&TagSpecification.1.Tag.1.Key=karpenter.sh%2Fnodepool"
     "&TagSpecification.1.Tag.1.Value=default" LTD "ImageId=ami-1" LTD "UserData=TUlNRQ%3D%3D" LTD
     "IamInstanceProfile.Name=KarpenterNode" LTD "Monitoring.Enabled=false" LTD
     "BlockDeviceMapping.1.DeviceName=%2Fdev%2Fxvda" LTD
     "BlockDeviceMapping.1.Ebs.Encrypted=true" LTD
     "BlockDeviceMapping.1.Ebs.DeleteOnTermination=true" LTD
     "BlockDeviceMapping.1.Ebs.VolumeSize=20" LTD "BlockDeviceMapping.1.Ebs.VolumeType=gp3" LTD
     "NetworkInterface.1.DeviceIndex=0" LTD "NetworkInterface.1.SecurityGroupId.1=sg-1" LTD
     "NetworkInterface.1.SecurityGroupId.2=sg-2" LTD "MetadataOptions.HttpTokens=required" LTD
     "MetadataOptions.HttpPutResponseHopLimit=1" LTD "MetadataOptions.HttpEndpoint=enabled" LTD
     "MetadataOptions.HttpProtocolIpv6=disabled" LTD
     "MetadataOptions.InstanceMetadataTags=disabled" LTD "Placement.Tenancy=default" LTD
     "CapacityReservationSpecification.CapacityReservationPreference=none" LTD
     "TagSpecification.1.ResourceType=network-interface" LTD
     "TagSpecification.1.Tag.1.Key=karpenter.sh%2Fnodepool" LTD
     "TagSpecification.1.Tag.1.Value=default" LTD
     "TagSpecification.2.ResourceType=spot-instances-request" LTD
     "TagSpecification.2.Tag.1.Key=karpenter.sh%2Fnodepool" LTD
     "TagSpecification.2.Tag.1.Value=default"},
    {template_everything,
     "Action=CreateLaunchTemplate" V "&DryRun=true&LaunchTemplateName=n" LTD
     "Monitoring.Enabled=true" LTD "BlockDeviceMapping.1.DeviceName=%2Fdev%2Fsdb" LTD
     "BlockDeviceMapping.1.Ebs.Encrypted=false" LTD "BlockDeviceMapping.1.Ebs.Iops=3000" LTD
     "BlockDeviceMapping.1.Ebs.KmsKeyId=key" LTD "BlockDeviceMapping.1.Ebs.SnapshotId=snap-1" LTD
     "BlockDeviceMapping.1.Ebs.VolumeType=io2" LTD "BlockDeviceMapping.1.Ebs.Throughput=250" LTD
     "BlockDeviceMapping.1.Ebs.VolumeInitializationRate=100" LTD
     "NetworkInterface.1.AssociatePublicIpAddress=false" LTD "NetworkInterface.1.DeviceIndex=2" LTD
     "NetworkInterface.1.NetworkCardIndex=1" LTD "NetworkInterface.1.InterfaceType=efa-only" LTD
     "NetworkInterface.1.Ipv4PrefixCount=3" LTD "NetworkInterface.1.Ipv6PrefixCount=4" LTD
     "NetworkInterface.1.Ipv6AddressCount=5" LTD "NetworkInterface.1.PrimaryIpv6=true" LTD
     "NetworkInterface.1.ConnectionTrackingSpecification.TcpEstablishedTimeout=60" LTD
     "NetworkInterface.1.ConnectionTrackingSpecification.UdpStreamTimeout=61" LTD
     "NetworkInterface.1.ConnectionTrackingSpecification.UdpTimeout=30" LTD
     "Placement.GroupId=pg-1" LTD "Placement.PartitionNumber=2" LTD
     "CapacityReservationSpecification.CapacityReservationPreference"
     "=capacity-reservations-only" LTD
     "CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId=cr-1" LTD
     "EnclaveOptions.Enabled=true" LTD "CpuOptions.NestedVirtualization=enabled" LTD
     "InstanceMarketOptions.MarketType=capacity-block"},
    {describe_templates,
     "Action=DescribeLaunchTemplates" V "&LaunchTemplateId.1=lt-1&LaunchTemplateName.1=a%2F1"
     "&LaunchTemplateName.2=b" FORM_FILTERS "&MaxResults=200&NextToken=t%2B%2F%3D"},
    {delete_by_name, "Action=DeleteLaunchTemplate" V "&LaunchTemplateName=n%2F1"},
    {delete_by_id, "Action=DeleteLaunchTemplate" V "&LaunchTemplateId=lt-1"},
    {instances_by_id, "Action=DescribeInstances" V "&InstanceId.1=i-1&InstanceId.2=i-2"},
    {instances_by_filter, "Action=DescribeInstances" V FORM_FILTERS "&MaxResults=250&NextToken=n"},
    {status, "Action=DescribeInstanceStatus" V FORM_FILTERS "&MaxResults=1000&NextToken=n"},
    {console, "Action=GetConsoleOutput" V "&InstanceId=i-1"},
    {terminate, "Action=TerminateInstances" V "&InstanceId.1=i-1&InstanceId.2=i-2"},
    {tag, "Action=CreateTags" V "&ResourceId.1=i-1&Tag.1.Key=karpenter.sh%2Fnodepool"
          "&Tag.1.Value=default&Tag.2.Key=Name&Tag.2.Value="},
    {subnets,
     "Action=DescribeSubnets" V "&SubnetId.1=subnet-1" FORM_FILTERS "&MaxResults=500&NextToken=n"},
    {groups, "Action=DescribeSecurityGroups" V "&GroupId.1=sg-1&GroupName.1=nodes"},
    {images, "Action=DescribeImages" V "&ImageId.1=ami-1&Owner.1=self&Owner.2=amazon"
             "&IncludeDeprecated=true&MaxResults=1000"},
    {reservations,
     "Action=DescribeCapacityReservations" V FORM_FILTERS "&MaxResults=1000&NextToken=n"},
    {reservation_by_id, "Action=DescribeCapacityReservations" V "&CapacityReservationId.1=cr-1"},
    {offerings, "Action=DescribeInstanceTypeOfferings" V
                "&LocationType=availability-zone&MaxResults=1000&NextToken=n"},
    {spot_prices, "Action=DescribeSpotPriceHistory" V "&StartTime=2026-01-05T09%3A00%3A00Z"
                  "&ProductDescription.1=Linux%2FUNIX"
                  "&ProductDescription.2=Linux%2FUNIX%20%28Amazon%20VPC%29"
                  "&MaxResults=2000&NextToken=n"},
    {spot_prices_of, "Action=DescribeSpotPriceHistory" V "&StartTime=2026-01-05T09%3A00%3A00Z"
                     "&InstanceType.1=m5.large&ProductDescription.1=Windows"},
};

START_TEST(encodes)
{
    AUTO_FORM struct form f = {0};
    forms[_i].encode(&f);
    ck_assert_str_eq(f.body.p, forms[_i].form);
    ck_assert_uint_eq(f.depth, 0);
}
END_TEST

UNIT_MAIN("aws_ec2_forms", UNIT_CASES(encodes, forms))
