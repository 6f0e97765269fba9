/* ec2_instance.c - instances: describe, terminate, tag (ec2.h) */
#include "common/base/hash.h"
#include "common/base/str.h"
#include "ec2_wire.h"

void ec2_encode_describe_instances(struct form *f, const struct ec2_describe_instances *req)
{
    form_init(f, "DescribeInstances", EC2_VERSION);
    ec2_put_strings(f, "InstanceId", &req->ids);
    ec2_put_filters(f, &req->filters);
    ec2_put_page(f, req->max_results, req->next_token);
}

static void get_identity(const struct xml *x, struct ec2_instance *i)
{
    i->id = ec2_text(x, "instanceId");
    i->image_id = ec2_text(x, "imageId");
    i->type = ec2_text(x, "instanceType");
    i->state = ec2_text(x, "instanceState/name");
    i->lifecycle = ec2_text(x, "instanceLifecycle");
    i->spot_request_id = ec2_text(x, "spotInstanceRequestId");
    i->client_token = ec2_text(x, "clientToken");
    i->launch_wall_ns = xml_time(x, "launchTime", 0);
    i->state_reason_code = ec2_text(x, "stateReason/code");
    i->state_reason = ec2_text(x, "stateReason/message");
    i->iam_profile_arn = ec2_text(x, "iamInstanceProfile/arn");
    i->reservation_id = ec2_text(x, "capacityReservationId");
    i->reservation_preference =
        ec2_text(x, "capacityReservationSpecification/capacityReservationPreference");
}

static void get_place(struct arena *a, const struct xml *x, struct ec2_instance *i)
{
    i->subnet_id = ec2_text(x, "subnetId");
    i->vpc_id = ec2_text(x, "vpcId");
    i->zone = ec2_text(x, "placement/availabilityZone");
    i->zone_id = ec2_text(x, "placement/availabilityZoneId");
    i->tenancy = ec2_text(x, "placement/tenancy");
    i->placement_group_id = ec2_text(x, "placement/groupId");
    i->partition = xml_int(x, "placement/partitionNumber", 0);
    i->private_dns_name = ec2_text(x, "privateDnsName");
    i->private_ip = ec2_text(x, "privateIpAddress");
    i->group_ids = ec2_get_strings(a, x, "groupSet", "groupId");
    i->interface_types = ec2_get_strings(a, x, "networkInterfaceSet", "interfaceType");
    i->tags = ec2_get_tags(a, x);
}

static size_t count_instances(const struct xml *reservations)
{
    size_t n = 0;
    for (XML_EACH(reservations, "item", r)) {
        n += xml_count(r, "instancesSet", "item");
    }
    return n;
}

int ec2_parse_describe_instances(struct arena *a, const char *body, size_t n,
                                 struct ec2_instances *ret, struct err *reterr)
{
    const struct xml *root =
        ec2_root(a, body, n, "DescribeInstancesResponse", "reservationSet", reterr);
    if (!root) {
        return -1;
    }
    const struct xml *reservations = xml_at(root, "reservationSet");
    struct ec2_instance *v = ARENA_NEW_N(a, struct ec2_instance, count_instances(reservations));
    size_t count = 0;
    for (XML_EACH(reservations, "item", r)) {
        for (XML_EACH(xml_at(r, "instancesSet"), "item", it)) {
            struct ec2_instance *i = &v[count++];
            get_identity(it, i);
            get_place(a, it, i);
            if (!i->id || !i->state) {
                return err_set(reterr, ERR_INVALID, "EC2 listed an instance without id or state");
            }
        }
    }
    *ret = (struct ec2_instances){v, count, ec2_text(root, "nextToken")};
    return 0;
}

void ec2_encode_describe_status(struct form *f, const struct ec2_describe_status *req)
{
    form_init(f, "DescribeInstanceStatus", EC2_VERSION);
    ec2_put_filters(f, &req->filters);
    ec2_put_page(f, req->max_results, req->next_token);
}

static bool impaired(const struct xml *x, const char *check, int64_t *ret_since_ns)
{
    const struct xml *c = xml_at(x, check);
    for (XML_EACH(xml_at(c, "details"), "item", it)) {
        int64_t since_ns = xml_time(it, "impairedSince", 0);
        if (since_ns && (!*ret_since_ns || since_ns < *ret_since_ns)) {
            *ret_since_ns = since_ns;
        }
    }
    return str_eq(xml_text(c, "status"), "impaired");
}

static struct ec2_strings events_to_come(struct arena *a, const struct xml *x)
{
    const char **v = ARENA_NEW_N(a, const char *, xml_count(x, "eventsSet", "item"));
    size_t n = 0;
    for (XML_EACH(xml_at(x, "eventsSet"), "item", it)) {
        const char *code = ec2_text(it, "code"), *text = xml_text_or(it, "description", "");
        if (code && !str_starts(text, "[Completed]") && !str_starts(text, "[Canceled]")) {
            v[n++] = code;
        }
    }
    return (struct ec2_strings){v, n};
}

int ec2_parse_describe_status(struct arena *a, const char *body, size_t n,
                              struct ec2_instance_statuses *ret, struct err *reterr)
{
    const struct xml *root =
        ec2_root(a, body, n, "DescribeInstanceStatusResponse", "instanceStatusSet", reterr);
    if (!root) {
        return -1;
    }
    struct ec2_instance_status *v =
        ARENA_NEW_N(a, struct ec2_instance_status, xml_count(root, "instanceStatusSet", "item"));
    size_t count = 0;
    for (XML_EACH(xml_at(root, "instanceStatusSet"), "item", it)) {
        struct ec2_instance_status *s = &v[count++];
        s->id = ec2_text(it, "instanceId");
        s->instance_bad = impaired(it, "instanceStatus", &s->instance_since_ns);
        s->system_bad = impaired(it, "systemStatus", &s->system_since_ns);
        s->events = events_to_come(a, it);
        if (!s->id) {
            return err_set(reterr, ERR_INVALID, "EC2 listed the status of an instance without id");
        }
    }
    *ret = (struct ec2_instance_statuses){v, count, ec2_text(root, "nextToken")};
    return 0;
}

void ec2_encode_terminate_instances(struct form *f, const struct ec2_strings *ids)
{
    form_init(f, "TerminateInstances", EC2_VERSION);
    ec2_put_strings(f, "InstanceId", ids);
}

void ec2_encode_console(struct form *f, const char *instance_id)
{
    form_init(f, "GetConsoleOutput", EC2_VERSION);
    form_str(f, "InstanceId", instance_id);
}

int ec2_parse_console(struct arena *a, const char *body, size_t n, const char **ret,
                      struct err *reterr)
{
    const struct xml *root = ec2_root(a, body, n, "GetConsoleOutputResponse", "instanceId", reterr);
    size_t size = 0;
    if (!root) {
        return -1;
    }
    uint8_t *text = base64_decode(xml_text_or(root, "output", ""), &size);
    if (!text) {
        return err_set(reterr, ERR_INVALID, "EC2's console output is not base64");
    }
    *ret = arena_strndup(a, (const char *)text, size);
    free(text);
    return 0;
}

void ec2_encode_create_tags(struct form *f, const struct ec2_strings *ids,
                            const struct ec2_tags *tags)
{
    form_init(f, "CreateTags", EC2_VERSION);
    ec2_put_strings(f, "ResourceId", ids);
    ec2_put_tags(f, tags);
}

int ec2_parse_create_tags(struct arena *a, const char *body, size_t n, struct err *reterr)
{
    const struct xml *root = ec2_root(a, body, n, "CreateTagsResponse", NULL, reterr);
    if (!root) {
        return -1;
    }
    if (!str_eq(xml_text_or(root, "return", "true"), "true")) {
        return err_set(reterr, ERR_INVALID, "EC2 did not confirm the tags");
    }
    return 0;
}
