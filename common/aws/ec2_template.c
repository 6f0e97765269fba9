/* ec2_template.c - launch templates (ec2.h) */
#include "ec2_wire.h"

static void put_device(struct form *f, size_t index, const struct ec2_block_device *d)
{
    form_begin_item(f, "BlockDeviceMapping", index);
    form_str(f, "DeviceName", d->device_name);
    form_begin(f, "Ebs");
    ec2_put_tristate(f, "Encrypted", d->encrypted);
    ec2_put_tristate(f, "DeleteOnTermination", d->delete_on_termination);
    ec2_put_i64(f, "Iops", d->iops, 0);
    form_str(f, "KmsKeyId", d->kms_key_id);
    form_str(f, "SnapshotId", d->snapshot_id);
    ec2_put_i64(f, "VolumeSize", d->size_gib, 0);
    form_str(f, "VolumeType", d->volume_type);
    ec2_put_i64(f, "Throughput", d->throughput, 0);
    ec2_put_i64(f, "VolumeInitializationRate", d->init_rate, 0);
    form_end(f);
    form_end(f);
}

static void put_tracking(struct form *f, const struct ec2_interface *i)
{
    form_begin(f, "ConnectionTrackingSpecification");
    ec2_put_i64(f, "TcpEstablishedTimeout", i->tcp_established_s, 0);
    ec2_put_i64(f, "UdpStreamTimeout", i->udp_stream_s, 0);
    ec2_put_i64(f, "UdpTimeout", i->udp_s, 0);
    form_end(f);
}

static void put_interface(struct form *f, size_t index, const struct ec2_interface *i)
{
    form_begin_item(f, "NetworkInterface", index);
    ec2_put_tristate(f, "AssociatePublicIpAddress", i->associate_public_ip);
    form_i64(f, "DeviceIndex", i->device_index);
    if (i->send_card_index) {
        form_i64(f, "NetworkCardIndex", i->card_index);
    }
    form_str(f, "InterfaceType", i->type);
    ec2_put_strings(f, "SecurityGroupId", &i->group_ids);
    ec2_put_i64(f, "Ipv4PrefixCount", i->ipv4_prefixes, -1);
    ec2_put_i64(f, "Ipv6PrefixCount", i->ipv6_prefixes, -1);
    ec2_put_i64(f, "Ipv6AddressCount", i->ipv6_addresses, -1);
    ec2_put_tristate(f, "PrimaryIpv6", i->primary_ipv6);
    put_tracking(f, i);
    form_end(f);
}

static void put_metadata(struct form *f, const struct ec2_metadata_options *m)
{
    form_begin(f, "MetadataOptions");
    form_str(f, "HttpTokens", m->http_tokens);
    ec2_put_i64(f, "HttpPutResponseHopLimit", m->hop_limit, 0);
    form_str(f, "HttpEndpoint", m->http_endpoint);
    form_str(f, "HttpProtocolIpv6", m->http_protocol_ipv6);
    form_str(f, "InstanceMetadataTags", m->instance_metadata_tags);
    form_end(f);
}

static void put_placement(struct form *f, const struct ec2_create_template *req)
{
    form_begin(f, "Placement");
    form_str(f, "Tenancy", req->tenancy);
    form_str(f, "GroupId", req->placement_group_id);
    ec2_put_i64(f, "PartitionNumber", req->partition, 0);
    form_end(f);
    form_begin(f, "CapacityReservationSpecification");
    form_str(f, "CapacityReservationPreference", req->reservation_preference);
    form_str(f, "CapacityReservationTarget.CapacityReservationId", req->reservation_id);
    form_end(f);
}

static void put_data(struct form *f, const struct ec2_create_template *req)
{
    form_begin(f, "LaunchTemplateData");
    form_str(f, "ImageId", req->image_id);
    form_str(f, "UserData", req->user_data_b64);
    form_str(f, "IamInstanceProfile.Name", req->instance_profile);
    ec2_put_tristate(f, "Monitoring.Enabled", req->monitoring);
    for (size_t i = 0; i < req->n_devices; i++) {
        put_device(f, i + 1, &req->devices[i]);
    }
    for (size_t i = 0; i < req->n_interfaces; i++) {
        put_interface(f, i + 1, &req->interfaces[i]);
    }
    put_metadata(f, &req->metadata);
    put_placement(f, req);
    if (req->enclave) {
        form_bool(f, "EnclaveOptions.Enabled", true);
    }
    form_str(f, "CpuOptions.NestedVirtualization", req->nested_virtualization);
    form_str(f, "InstanceMarketOptions.MarketType", req->market_type);
    ec2_put_tag_specs(f, &req->data_tags);
    form_end(f);
}

void ec2_encode_create_template(struct form *f, const struct ec2_create_template *req)
{
    form_init(f, "CreateLaunchTemplate", EC2_VERSION);
    if (req->dry_run) {
        form_bool(f, "DryRun", true);
    }
    form_str(f, "ClientToken", req->client_token);
    form_str(f, "LaunchTemplateName", req->name);
    ec2_put_tag_specs(f, &req->tags);
    put_data(f, req);
}

void ec2_encode_describe_templates(struct form *f, const struct ec2_describe_templates *req)
{
    form_init(f, "DescribeLaunchTemplates", EC2_VERSION);
    ec2_put_strings(f, "LaunchTemplateId", &req->ids);
    ec2_put_strings(f, "LaunchTemplateName", &req->names);
    ec2_put_filters(f, &req->filters);
    ec2_put_page(f, req->max_results, req->next_token);
}

void ec2_encode_delete_template(struct form *f, const char *name, const char *id)
{
    form_init(f, "DeleteLaunchTemplate", EC2_VERSION);
    form_str(f, "LaunchTemplateName", name);
    form_str(f, "LaunchTemplateId", name ? NULL : id);
}

static int get_template(struct arena *a, const struct xml *x, struct ec2_template *ret,
                        struct err *reterr)
{
    struct ec2_template t = {
        .id = ec2_text(x, "launchTemplateId"),
        .name = ec2_text(x, "launchTemplateName"),
        .created_wall_ns = xml_time(x, "createTime", 0),
        .tags = ec2_get_tags(a, x),
    };
    if (!t.id || !t.name) {
        return err_set(reterr, ERR_INVALID, "EC2 named a launch template without id or name");
    }
    *ret = t;
    return 0;
}

int ec2_parse_describe_templates(struct arena *a, const char *body, size_t n,
                                 struct ec2_templates *ret, struct err *reterr)
{
    const struct xml *root =
        ec2_root(a, body, n, "DescribeLaunchTemplatesResponse", "launchTemplates", reterr);
    if (!root) {
        return -1;
    }
    struct ec2_template *v =
        ARENA_NEW_N(a, struct ec2_template, xml_count(root, "launchTemplates", "item"));
    size_t count = 0;
    for (XML_EACH(xml_at(root, "launchTemplates"), "item", it)) {
        if (get_template(a, it, &v[count++], reterr) < 0) {
            return -1;
        }
    }
    *ret = (struct ec2_templates){v, count, ec2_text(root, "nextToken")};
    return 0;
}
