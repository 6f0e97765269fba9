/* ec2_describe.c - subnets, security groups, images, reservations, offerings, spot prices (ec2.h)
 */
#include "ec2_wire.h"

static int missing(const char *what, struct err *reterr)
{
    return err_set(reterr, ERR_INVALID, "EC2 listed %s without its name", what);
}

/* ---- subnets --------------------------------------------------------------------------------- */

void ec2_encode_describe_subnets(struct form *f, const struct ec2_describe *req)
{
    form_init(f, "DescribeSubnets", EC2_VERSION);
    ec2_put_strings(f, "SubnetId", &req->ids);
    ec2_put_filters(f, &req->filters);
    ec2_put_page(f, req->max_results, req->next_token);
}

int ec2_parse_describe_subnets(struct arena *a, const char *body, size_t n, struct ec2_subnets *ret,
                               struct err *reterr)
{
    const struct xml *root = ec2_root(a, body, n, "DescribeSubnetsResponse", "subnetSet", reterr);
    if (!root) {
        return -1;
    }
    struct ec2_subnet *v = ARENA_NEW_N(a, struct ec2_subnet, xml_count(root, "subnetSet", "item"));
    size_t count = 0;
    for (XML_EACH(xml_at(root, "subnetSet"), "item", it)) {
        struct ec2_subnet *s = &v[count++];
        *s = (struct ec2_subnet){
            .id = ec2_text(it, "subnetId"),
            .zone = ec2_text(it, "availabilityZone"),
            .zone_id = ec2_text(it, "availabilityZoneId"),
            .vpc_id = ec2_text(it, "vpcId"),
            .free_ips = xml_int(it, "availableIpAddressCount", 0),
            .map_public_ip = xml_bool(it, "mapPublicIpOnLaunch", false),
            .tags = ec2_get_tags(a, it),
        };
        if (!s->id || !s->zone) {
            return missing("a subnet", reterr);
        }
    }
    *ret = (struct ec2_subnets){v, count, ec2_text(root, "nextToken")};
    return 0;
}

/* ---- security groups ------------------------------------------------------------------------- */

void ec2_encode_describe_groups(struct form *f, const struct ec2_describe *req)
{
    form_init(f, "DescribeSecurityGroups", EC2_VERSION);
    ec2_put_strings(f, "GroupId", &req->ids);
    ec2_put_strings(f, "GroupName", &req->names);
    ec2_put_filters(f, &req->filters);
    ec2_put_page(f, req->max_results, req->next_token);
}

int ec2_parse_describe_groups(struct arena *a, const char *body, size_t n, struct ec2_groups *ret,
                              struct err *reterr)
{
    const struct xml *root =
        ec2_root(a, body, n, "DescribeSecurityGroupsResponse", "securityGroupInfo", reterr);
    if (!root) {
        return -1;
    }
    struct ec2_group *v =
        ARENA_NEW_N(a, struct ec2_group, xml_count(root, "securityGroupInfo", "item"));
    size_t count = 0;
    for (XML_EACH(xml_at(root, "securityGroupInfo"), "item", it)) {
        struct ec2_group *g = &v[count++];
        *g = (struct ec2_group){
            .id = ec2_text(it, "groupId"),
            .name = ec2_text(it, "groupName"),
            .vpc_id = ec2_text(it, "vpcId"),
            .tags = ec2_get_tags(a, it),
        };
        if (!g->id) {
            return missing("a security group", reterr);
        }
    }
    *ret = (struct ec2_groups){v, count, ec2_text(root, "nextToken")};
    return 0;
}

/* ---- images ---------------------------------------------------------------------------------- */

void ec2_encode_describe_images(struct form *f, const struct ec2_describe *req)
{
    form_init(f, "DescribeImages", EC2_VERSION);
    ec2_put_strings(f, "ImageId", &req->ids);
    ec2_put_strings(f, "Owner", &req->owners);
    ec2_put_filters(f, &req->filters);
    if (req->include_deprecated) {
        form_bool(f, "IncludeDeprecated", true);
    }
    ec2_put_page(f, req->max_results, req->next_token);
}

int ec2_parse_describe_images(struct arena *a, const char *body, size_t n, struct ec2_images *ret,
                              struct err *reterr)
{
    const struct xml *root = ec2_root(a, body, n, "DescribeImagesResponse", "imagesSet", reterr);
    if (!root) {
        return -1;
    }
    struct ec2_image *v = ARENA_NEW_N(a, struct ec2_image, xml_count(root, "imagesSet", "item"));
    size_t count = 0;
    for (XML_EACH(xml_at(root, "imagesSet"), "item", it)) {
        struct ec2_image *i = &v[count++];
        *i = (struct ec2_image){
            .id = ec2_text(it, "imageId"),
            .name = ec2_text(it, "name"),
            .owner_id = ec2_text(it, "imageOwnerId"),
            .architecture = ec2_text(it, "architecture"),
            .state = ec2_text(it, "imageState"),
            .created_wall_ns = xml_time(it, "creationDate", 0),
            .deprecated_wall_ns = xml_time(it, "deprecationTime", 0),
            .tags = ec2_get_tags(a, it),
        };
        if (!i->id) {
            return missing("an image", reterr);
        }
    }
    *ret = (struct ec2_images){v, count, ec2_text(root, "nextToken")};
    return 0;
}

/* ---- capacity reservations ------------------------------------------------------------------- */

void ec2_encode_describe_reservations(struct form *f, const struct ec2_describe *req)
{
    form_init(f, "DescribeCapacityReservations", EC2_VERSION);
    ec2_put_strings(f, "CapacityReservationId", &req->ids);
    ec2_put_filters(f, &req->filters);
    ec2_put_page(f, req->max_results, req->next_token);
}

int ec2_parse_describe_reservations(struct arena *a, const char *body, size_t n,
                                    struct ec2_reservations *ret, struct err *reterr)
{
    const struct xml *root = ec2_root(a, body, n, "DescribeCapacityReservationsResponse",
                                      "capacityReservationSet", reterr);
    if (!root) {
        return -1;
    }
    struct ec2_reservation *v =
        ARENA_NEW_N(a, struct ec2_reservation, xml_count(root, "capacityReservationSet", "item"));
    size_t count = 0;
    for (XML_EACH(xml_at(root, "capacityReservationSet"), "item", it)) {
        struct ec2_reservation *r = &v[count++];
        *r = (struct ec2_reservation){
            .id = ec2_text(it, "capacityReservationId"),
            .instance_type = ec2_text(it, "instanceType"),
            .zone = ec2_text(it, "availabilityZone"),
            .owner_id = ec2_text(it, "ownerId"),
            .match = ec2_text(it, "instanceMatchCriteria"),
            .kind = ec2_text(it, "reservationType"),
            .available = xml_int(it, "availableInstanceCount", 0),
            .end_wall_ns = xml_time(it, "endDate", 0),
            .interruptible = xml_bool(it, "interruptible", false),
        };
        if (!r->id || !r->instance_type || !r->zone) {
            return missing("a capacity reservation", reterr);
        }
    }
    *ret = (struct ec2_reservations){v, count, ec2_text(root, "nextToken")};
    return 0;
}

/* ---- offerings ------------------------------------------------------------------------------- */

void ec2_encode_describe_offerings(struct form *f, const struct ec2_filters *filters,
                                   int64_t max_results, const char *next_token)
{
    form_init(f, "DescribeInstanceTypeOfferings", EC2_VERSION);
    form_str(f, "LocationType", "availability-zone");
    ec2_put_filters(f, filters);
    ec2_put_page(f, max_results, next_token);
}

int ec2_parse_describe_offerings(struct arena *a, const char *body, size_t n,
                                 struct ec2_offerings *ret, struct err *reterr)
{
    const struct xml *root = ec2_root(a, body, n, "DescribeInstanceTypeOfferingsResponse",
                                      "instanceTypeOfferingSet", reterr);
    if (!root) {
        return -1;
    }
    struct ec2_offering *v =
        ARENA_NEW_N(a, struct ec2_offering, xml_count(root, "instanceTypeOfferingSet", "item"));
    size_t count = 0;
    for (XML_EACH(xml_at(root, "instanceTypeOfferingSet"), "item", it)) {
        struct ec2_offering *o = &v[count++];
        *o = (struct ec2_offering){ec2_text(it, "instanceType"), ec2_text(it, "location")};
        if (!o->instance_type || !o->location) {
            return missing("an offering", reterr);
        }
    }
    *ret = (struct ec2_offerings){v, count, ec2_text(root, "nextToken")};
    return 0;
}

/* ---- spot prices ----------------------------------------------------------------------------- */

void ec2_encode_describe_spot_prices(struct form *f, const struct ec2_describe_spot_prices *req)
{
    static const char *const linux[] = {"Linux/UNIX", "Linux/UNIX (Amazon VPC)"};
    const struct ec2_strings both = {linux, ARRAY_LEN(linux)};
    form_init(f, "DescribeSpotPriceHistory", EC2_VERSION);
    form_time(f, "StartTime", req->start_wall_ns);
    ec2_put_strings(f, "InstanceType", &req->instance_types);
    ec2_put_strings(f, "ProductDescription", req->products.n ? &req->products : &both);
    ec2_put_filters(f, &req->filters);
    ec2_put_page(f, req->max_results, req->next_token);
}

int ec2_parse_describe_spot_prices(struct arena *a, const char *body, size_t n,
                                   struct ec2_spot_prices *ret, struct err *reterr)
{
    const struct xml *root =
        ec2_root(a, body, n, "DescribeSpotPriceHistoryResponse", "spotPriceHistorySet", reterr);
    if (!root) {
        return -1;
    }
    struct ec2_spot_price *v =
        ARENA_NEW_N(a, struct ec2_spot_price, xml_count(root, "spotPriceHistorySet", "item"));
    struct ec2_spot_prices got = {.v = v, .next_token = ec2_text(root, "nextToken")};
    for (XML_EACH(xml_at(root, "spotPriceHistorySet"), "item", it)) {
        struct ec2_spot_price p = {
            .instance_type = ec2_text(it, "instanceType"),
            .zone = ec2_text(it, "availabilityZone"),
            .wall_ns = xml_time(it, "timestamp", 0),
        };
        if (p.instance_type && p.zone && price_parse(xml_text(it, "spotPrice"), &p.price_pusd_h) &&
            p.price_pusd_h > 0) {
            v[got.n++] = p;
        } else {
            got.n_skipped++;
        }
    }
    *ret = got;
    return 0;
}
