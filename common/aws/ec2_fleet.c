/* ec2_fleet.c - CreateFleet (ec2.h) */
#include "ec2_wire.h"

static void put_override(struct form *f, size_t index, const struct ec2_override *o)
{
    form_begin_item(f, "Overrides", index);
    form_str(f, "InstanceType", o->instance_type);
    form_str(f, "SubnetId", o->subnet_id);
    form_str(f, "AvailabilityZone", o->zone);
    form_str(f, "ImageId", o->image_id);
    if (o->priority_pusd_h >= 0) {
        char text[PRICE_TEXT];
        form_str(f, "Priority", price_text(o->priority_pusd_h, text));
    }
    form_end(f);
}

static void put_config(struct form *f, size_t index, const struct ec2_fleet_config *c)
{
    form_begin_item(f, "LaunchTemplateConfigs", index);
    form_begin(f, "LaunchTemplateSpecification");
    form_str(f, "LaunchTemplateName", c->template_name);
    form_str(f, "LaunchTemplateId", c->template_name ? NULL : c->template_id);
    form_str(f, "Version", c->template_version ? c->template_version : "$Latest");
    form_end(f);
    for (size_t i = 0; i < c->n_overrides; i++) {
        put_override(f, i + 1, &c->overrides[i]);
    }
    form_end(f);
}

static void put_options(struct form *f, const struct ec2_create_fleet *req)
{
    form_str(f, "SpotOptions.AllocationStrategy", req->spot_strategy);
    form_str(f, "OnDemandOptions.AllocationStrategy", req->on_demand_strategy);
    ec2_put_strings(f, "ReservedCapacityOptions.ReservationType", &req->reservation_types);
    form_begin(f, "TargetCapacitySpecification");
    form_i64(f, "TotalTargetCapacity", req->target_capacity);
    form_str(f, "DefaultTargetCapacityType", req->target_type);
    form_end(f);
}

void ec2_encode_create_fleet(struct form *f, const struct ec2_create_fleet *req)
{
    form_init(f, "CreateFleet", EC2_VERSION);
    if (req->dry_run) {
        form_bool(f, "DryRun", true);
    }
    form_str(f, "ClientToken", req->client_token);
    form_str(f, "Type", "instant");
    form_str(f, "Context", req->context);
    put_options(f, req);
    for (size_t i = 0; i < req->n_configs; i++) {
        put_config(f, i + 1, &req->configs[i]);
    }
    ec2_put_tag_specs(f, &req->tags);
}

static struct ec2_fleet_choice get_choice(const struct xml *item)
{
    const struct xml *t = xml_at(item, "launchTemplateAndOverrides/launchTemplateSpecification");
    const struct xml *o = xml_at(item, "launchTemplateAndOverrides/overrides");
    return (struct ec2_fleet_choice){
        .template_name = ec2_text(t, "launchTemplateName"),
        .template_id = ec2_text(t, "launchTemplateId"),
        .template_version = ec2_text(t, "version"),
        .instance_type = ec2_text(o, "instanceType"),
        .subnet_id = ec2_text(o, "subnetId"),
        .zone = ec2_text(o, "availabilityZone"),
        .zone_id = ec2_text(o, "availabilityZoneId"),
        .image_id = ec2_text(o, "imageId"),
    };
}

static void get_instances(struct arena *a, const struct xml *root, struct ec2_fleet *ret)
{
    struct ec2_fleet_instances *v =
        ARENA_NEW_N(a, struct ec2_fleet_instances, xml_count(root, "fleetInstanceSet", "item"));
    for (XML_EACH(xml_at(root, "fleetInstanceSet"), "item", it)) {
        v[ret->n_instances++] = (struct ec2_fleet_instances){
            .choice = get_choice(it),
            .lifecycle = ec2_text(it, "lifecycle"),
            .instance_type = ec2_text(it, "instanceType"),
            .ids = ec2_get_strings(a, it, "instanceIds", ""),
        };
    }
    ret->instances = v;
}

static void get_errors(struct arena *a, const struct xml *root, struct ec2_fleet *ret)
{
    struct ec2_fleet_error *v =
        ARENA_NEW_N(a, struct ec2_fleet_error, xml_count(root, "errorSet", "item"));
    for (XML_EACH(xml_at(root, "errorSet"), "item", it)) {
        v[ret->n_errors++] = (struct ec2_fleet_error){
            .choice = get_choice(it),
            .lifecycle = ec2_text(it, "lifecycle"),
            .code = ec2_text(it, "errorCode"),
            .message = ec2_text(it, "errorMessage"),
        };
    }
    ret->errors = v;
}

int ec2_parse_create_fleet(struct arena *a, const char *body, size_t n, struct ec2_fleet *ret,
                           struct err *reterr)
{
    const struct xml *root = ec2_root(a, body, n, "CreateFleetResponse", NULL, reterr);
    if (!root) {
        return -1;
    }
    struct ec2_fleet fleet = {.fleet_id = ec2_text(root, "fleetId")};
    get_instances(a, root, &fleet);
    get_errors(a, root, &fleet);
    *ret = fleet;
    return 0;
}
