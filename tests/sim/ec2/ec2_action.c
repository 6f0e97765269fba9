/* ec2_action.c - which actions there are, and how a request becomes a call to one of them. */
#include "ec2_priv.h"

#define FILTER "Filter.#.Name Filter.#.Value.# "
#define PAGED "MaxResults NextToken "
#define TAG_SPEC                                                                                   \
    "TagSpecification.#.ResourceType TagSpecification.#.Tag.#.Key TagSpecification.#.Tag.#.Value "

static const char create_fleet[] =
    "ClientToken DryRun Type Context "
    "SpotOptions.AllocationStrategy "
    "OnDemandOptions.AllocationStrategy "
    "TargetCapacitySpecification.TotalTargetCapacity "
    "TargetCapacitySpecification.DefaultTargetCapacityType "
    "LaunchTemplateConfigs.#.LaunchTemplateSpecification.LaunchTemplateId "
    "LaunchTemplateConfigs.#.LaunchTemplateSpecification.LaunchTemplateName "
    "LaunchTemplateConfigs.#.LaunchTemplateSpecification.Version "
    "LaunchTemplateConfigs.#.Overrides.#.InstanceType "
    "LaunchTemplateConfigs.#.Overrides.#.SubnetId "
    "LaunchTemplateConfigs.#.Overrides.#.AvailabilityZone "
    "LaunchTemplateConfigs.#.Overrides.#.ImageId "
    "LaunchTemplateConfigs.#.Overrides.#.Priority " TAG_SPEC;
static const char create_template[] =
    "ClientToken DryRun LaunchTemplateName VersionDescription " TAG_SPEC;
static const char run_instances[] =
    "ClientToken DryRun MinCount MaxCount SubnetId LaunchTemplate.LaunchTemplateName "
    "LaunchTemplate.LaunchTemplateId LaunchTemplate.Version ";

const char simec2_launch_params[] =
    "ImageId InstanceType UserData KeyName EbsOptimized "
    "IamInstanceProfile.Name IamInstanceProfile.Arn Monitoring.Enabled SecurityGroupId.# "
    "BlockDeviceMapping.#.DeviceName "
    "BlockDeviceMapping.#.Ebs.DeleteOnTermination "
    "BlockDeviceMapping.#.Ebs.Encrypted "
    "BlockDeviceMapping.#.Ebs.Iops "
    "BlockDeviceMapping.#.Ebs.KmsKeyId "
    "BlockDeviceMapping.#.Ebs.SnapshotId "
    "BlockDeviceMapping.#.Ebs.Throughput "
    "BlockDeviceMapping.#.Ebs.VolumeInitializationRate "
    "BlockDeviceMapping.#.Ebs.VolumeSize "
    "BlockDeviceMapping.#.Ebs.VolumeType "
    "NetworkInterface.#.AssociatePublicIpAddress "
    "NetworkInterface.#.DeleteOnTermination "
    "NetworkInterface.#.DeviceIndex "
    "NetworkInterface.#.NetworkCardIndex "
    "NetworkInterface.#.InterfaceType "
    "NetworkInterface.#.SecurityGroupId.# "
    "NetworkInterface.#.SubnetId "
    "NetworkInterface.#.Ipv4PrefixCount "
    "NetworkInterface.#.Ipv6AddressCount "
    "NetworkInterface.#.Ipv6PrefixCount "
    "NetworkInterface.#.PrimaryIpv6 "
    "NetworkInterface.#.ConnectionTrackingSpecification.TcpEstablishedTimeout "
    "NetworkInterface.#.ConnectionTrackingSpecification.UdpStreamTimeout "
    "NetworkInterface.#.ConnectionTrackingSpecification.UdpTimeout "
    "MetadataOptions.HttpEndpoint MetadataOptions.HttpTokens "
    "MetadataOptions.HttpPutResponseHopLimit MetadataOptions.HttpProtocolIpv6 "
    "MetadataOptions.InstanceMetadataTags "
    "Placement.Tenancy Placement.GroupId Placement.PartitionNumber Placement.AvailabilityZone "
    "EnclaveOptions.Enabled CpuOptions.NestedVirtualization InstanceMarketOptions.MarketType "
    "CapacityReservationSpecification.CapacityReservationPreference "
    "CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId " TAG_SPEC;

#define EC2(name, run, params)                                                                     \
    {                                                                                              \
        "ec2", name, STYLE_EC2, run, "DryRun " params, NULL                                        \
    }

static const struct simec2_action actions[] = {
    {"ec2", "CreateFleet", STYLE_EC2, simec2_create_fleet, create_fleet, NULL},
    {"ec2", "CreateLaunchTemplate", STYLE_EC2, simec2_create_template, create_template,
     "LaunchTemplateData."},
    EC2("DescribeLaunchTemplates", simec2_describe_templates,
        "LaunchTemplateId.# LaunchTemplateName.# " FILTER PAGED),
    EC2("DeleteLaunchTemplate", simec2_delete_template, "LaunchTemplateId LaunchTemplateName "),
    {"ec2", "RunInstances", STYLE_EC2, simec2_run_instances, run_instances, ""},
    EC2("DescribeInstances", simec2_describe_instances, "InstanceId.# " FILTER PAGED),
    EC2("DescribeInstanceStatus", simec2_describe_status,
        "InstanceId.# IncludeAllInstances " FILTER PAGED),
    EC2("GetConsoleOutput", simec2_console, "InstanceId Latest "),
    EC2("TerminateInstances", simec2_terminate_instances, "InstanceId.# Force SkipOsShutdown "),
    EC2("CreateTags", simec2_create_tags, "ResourceId.# Tag.#.Key Tag.#.Value "),
    EC2("DescribeSubnets", simec2_describe_subnets, "SubnetId.# " FILTER PAGED),
    EC2("DescribeSecurityGroups", simec2_describe_groups, "GroupId.# GroupName.# " FILTER PAGED),
    EC2("DescribeImages", simec2_describe_images,
        "ImageId.# Owner.# ExecutableBy.# IncludeDeprecated IncludeDisabled " FILTER PAGED),
    EC2("DescribeInstanceTypes", simec2_describe_types, "InstanceType.# " FILTER PAGED),
    EC2("DescribeInstanceTypeOfferings", simec2_describe_offerings, "LocationType " FILTER PAGED),
    EC2("DescribeSpotPriceHistory", simec2_describe_spot_prices,
        "StartTime EndTime InstanceType.# ProductDescription.# AvailabilityZone " FILTER PAGED),
    EC2("DescribeCapacityReservations", simec2_describe_reservations,
        "CapacityReservationId.# " FILTER PAGED),
    EC2("DescribePlacementGroups", simec2_describe_placement_groups,
        "GroupId.# GroupName.# " FILTER),
    {"iam", "GetInstanceProfile", STYLE_QUERY, simec2_get_profile, "InstanceProfileName", NULL},
    {"iam", "CreateInstanceProfile", STYLE_QUERY, simec2_create_profile,
     "InstanceProfileName Path Tags.member.#.Key Tags.member.#.Value", NULL},
    {"iam", "DeleteInstanceProfile", STYLE_QUERY, simec2_delete_profile, "InstanceProfileName",
     NULL},
    {"iam", "ListInstanceProfiles", STYLE_QUERY, simec2_list_profiles, "PathPrefix Marker MaxItems",
     NULL},
    {"iam", "AddRoleToInstanceProfile", STYLE_QUERY, simec2_add_role,
     "InstanceProfileName RoleName", NULL},
    {"iam", "RemoveRoleFromInstanceProfile", STYLE_QUERY, simec2_remove_role,
     "InstanceProfileName RoleName", NULL},
    {"iam", "GetRole", STYLE_QUERY, simec2_get_role, "RoleName", NULL},
    {"sts", "GetCallerIdentity", STYLE_QUERY, simec2_get_caller_identity, "", NULL},
    {"ssm", "GetParameter", STYLE_JSON, simec2_get_parameter, NULL, NULL},
    {"pricing", "GetProducts", STYLE_JSON, simec2_get_products, NULL, NULL},
    {"sqs", "GetQueueUrl", STYLE_JSON, simec2_get_queue_url, NULL, NULL},
    {"sqs", "ReceiveMessage", STYLE_JSON, simec2_receive_message, NULL, NULL},
    {"sqs", "DeleteMessage", STYLE_JSON, simec2_delete_message, NULL, NULL},
    {"sqs", "DeleteMessageBatch", STYLE_JSON, simec2_delete_messages, NULL, NULL},
    {"sqs", "SendMessage", STYLE_JSON, simec2_send_message, NULL, NULL},
    {"eks", "DescribeCluster", STYLE_REST, simec2_describe_cluster, NULL, NULL},
};

/* What an unknown service or action is answered in. */
static const struct simec2_action nothing[] = {
    {"ec2", "Unknown", STYLE_EC2, NULL, "", NULL},
    {"iam", "Unknown", STYLE_QUERY, NULL, "", NULL},
    {"sts", "Unknown", STYLE_QUERY, NULL, "", NULL},
    {"eks", "Unknown", STYLE_REST, NULL, NULL, NULL},
    {"", "Unknown", STYLE_JSON, NULL, NULL, NULL},
};

const struct simec2_action *simec2_action_find(const char *service, const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        if (str_eq(actions[i].service, service) && str_eq(actions[i].name, name)) {
            return &actions[i];
        }
    }
    return NULL;
}

static const struct simec2_action *no_action(const char *service)
{
    size_t i = 0;
    while (i + 1 < ARRAY_LEN(nothing) && !str_eq(nothing[i].service, service)) {
        i++;
    }
    return &nothing[i];
}

static const char *version_of(const char *service)
{
    return str_eq(service, "ec2")   ? "2016-11-15"
           : str_eq(service, "iam") ? "2010-05-08"
                                    : "2011-06-15";
}

/* Action, Version, unknown names. False: failed. */
static bool read_form(struct simec2_call *c, const struct aws_req *req)
{
    struct err err = ERR_INIT;
    if (simec2_params_parse(&c->mem, req->body ? req->body : "", req->body_n, &c->form, &err) < 0) {
        simec2_fail(c, "MalformedQueryString", "%s", err.msg);
        return false;
    }
    const char *action = simec2_param(c, "Action"), *version = simec2_param(c, "Version");
    if (!str_eq(action, c->action->name)) {
        simec2_fail(c, "InvalidAction", "The action %s is not valid for this web service.",
                    action ? action : "(none)");
        return false;
    }
    if (!str_eq(version, version_of(c->action->service))) {
        simec2_fail(c, "NoSuchVersion", "The requested version (%s) of service %s does not exist",
                    version ? version : "none", c->action->service);
        return false;
    }
    const char *unknown = simec2_param_unknown(c);
    if (unknown) {
        simec2_fail(c, "UnknownParameter", "The parameter %s is not recognized", unknown);
    }
    return !unknown;
}

static bool read_json(struct simec2_call *c, const struct aws_req *req)
{
    struct err err = ERR_INIT;
    c->json = jsonx_parse(req->body ? req->body : "", req->body_n, "request", &err);
    if (!c->json || !json_is_object(c->json)) {
        simec2_fail(c, "SerializationException", "%s", err.msg[0] ? err.msg : "no JSON object");
        return false;
    }
    return true;
}

static bool read_request(struct simec2_call *c, const struct aws_req *req)
{
    bool rest = c->action->style == STYLE_REST;
    if (!str_eq(req->method, rest ? "GET" : "POST") || (!rest && !str_eq(req->path, "/"))) {
        simec2_fail(c, "InvalidAction", "%s %s is not how this service is asked", req->method,
                    req->path);
        return false;
    }
    switch (c->action->style) {
    case STYLE_EC2:
    case STYLE_QUERY:
        return read_form(c, req);
    case STYLE_JSON:
        return read_json(c, req);
    case STYLE_REST:
        c->path = arena_strdup(&c->mem, req->path);
        return true;
    }
    return false;
}

static bool reading(const struct simec2_action *a)
{
    return str_starts(a->name, "Describe");
}

void simec2_run(struct simec2_call *c, const struct aws_req *req)
{
    c->action = simec2_action_find(req->service, req->action);
    if (!c->action) {
        c->action = no_action(req->service);
        simec2_fail(c, "InvalidAction", "The action %s is not valid for this web service.",
                    req->action);
        return;
    }
    if (c->fault->kind == SIMEC2_ERROR && !simec2_item_fault(c)) {
        simec2_fail(c, c->fault->code, "Injected: %s", c->fault->code);
        return;
    }
    if (!read_request(c, req)) {
        return;
    }
    /* What only reads has nothing to validate before a dry run ends. */
    if (c->action->style == STYLE_EC2 && reading(c->action) && simec2_param_bool(c, "DryRun")) {
        simec2_fail(c, "DryRunOperation", "Request would have succeeded, but DryRun flag is set.");
        return;
    }
    c->action->run(c);
}
