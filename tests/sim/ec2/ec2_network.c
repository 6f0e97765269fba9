/* ec2_network.c - subnets, the security group, images. */
#include "ec2_priv.h"

/* Ids that must all be known, or the call fails with `code`. */
static bool among(const char *const *ids, size_t n, const char *id)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(ids[i], id)) {
            return true;
        }
    }
    return n == 0;
}

/* ---- subnets -------------------------------------------------------------------------------- */

static const char *subnet_attr(const void *obj, const char *name, size_t i)
{
    const struct simec2_subnet *s = obj;
    if (i > 0) {
        return NULL;
    }
    return str_eq(name, "subnet-id")              ? s->id
           : str_eq(name, "availability-zone")    ? s->zone
           : str_eq(name, "availability-zone-id") ? s->zone_id
           : str_eq(name, "vpc-id")               ? SIMEC2_VPC_ID
           : str_eq(name, "state")                ? "available"
                                                  : NULL;
}

/* What is shown of something that any tag matches. */
static void write_tags(struct simec2_call *c, const json_t *tags, const char *name)
{
    if (tags) {
        put_tags(&c->out, tags);
        return;
    }
    AUTO_JSON json_t *shown =
        json_pack("{s:s, s:s}", "Name", name, "karpenter.sh/discovery", c->e->opts.cluster);
    put_tags(&c->out, shown);
}

static void write_subnet(struct simec2_call *c, uint32_t z)
{
    const struct simec2_subnet *s = &c->e->subnets[z];
    struct buf *b = &c->out;
    put_open(b, "item");
    put_str(b, "subnetId", s->id);
    put_str(b, "state", "available");
    put_str(b, "vpcId", SIMEC2_VPC_ID);
    buf_printf(b, "<cidrBlock>10.%u.0.0/16</cidrBlock>", z);
    put_i64(b, "availableIpAddressCount", s->free_ips > 0 ? s->free_ips : 0);
    put_str(b, "availabilityZone", s->zone);
    put_str(b, "availabilityZoneId", s->zone_id);
    put_bool(b, "mapPublicIpOnLaunch", false);
    put_str(b, "ownerId", c->e->opts.account);
    write_tags(c, s->tags, s->id);
    put_close(b, "item");
}

void simec2_describe_subnets(struct simec2_call *c)
{
    size_t n_ids;
    struct simec2_filters f;
    struct simec2_page page;
    const char *const *ids = simec2_param_list(c, &n_ids, "SubnetId");
    if (!simec2_filters(c, "subnet-id availability-zone availability-zone-id vpc-id state", &f) ||
        !simec2_page(c, 5, 1000, &page)) {
        return;
    }
    for (size_t i = 0; i < n_ids; i++) {
        if (!simec2_subnet_find(c->e, ids[i])) {
            simec2_fail(c, "InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", ids[i]);
            return;
        }
    }
    simec2_xml_begin(c);
    put_open(&c->out, "subnetSet");
    size_t shown = 0;
    uint64_t z = page.from;
    for (; z < c->e->n_zones && shown < page.limit; z++) {
        const struct simec2_subnet *s = &c->e->subnets[z];
        if (among(ids, n_ids, s->id) && simec2_filter_match(&f, s->tags, subnet_attr, s)) {
            write_subnet(c, (uint32_t)z);
            shown++;
        }
    }
    put_close(&c->out, "subnetSet");
    put_str(&c->out, "nextToken", z < c->e->n_zones ? simec2_page_token(c, z) : NULL);
    simec2_xml_end(c);
}

/* ---- security groups ------------------------------------------------------------------------ */

struct group {
    const char *id, *name;
    bool extra;
};
static const struct group groups[] = {{SIMEC2_GROUP_ID, SIMEC2_GROUP_NAME, false},
                                      {SIMEC2_EXTRA_ID, SIMEC2_EXTRA_NAME, true}};

static const char *group_attr(const void *obj, const char *name, size_t i)
{
    const struct group *g = obj;
    if (i > 0) {
        return NULL;
    }
    return str_eq(name, "group-id")     ? g->id
           : str_eq(name, "group-name") ? g->name
           : str_eq(name, "vpc-id")     ? SIMEC2_VPC_ID
                                        : NULL;
}

static bool groups_exist(struct simec2_call *c, const char *const *list, bool by_name)
{
    for (size_t i = 0; list[i]; i++) {
        bool there = false;
        for (size_t k = 0; k < ARRAY_LEN(groups); k++) {
            there |= str_eq(list[i], by_name ? groups[k].name : groups[k].id);
        }
        if (!there) {
            simec2_fail(c, "InvalidGroup.NotFound", "The security group '%s' does not exist",
                        list[i]);
            return false;
        }
    }
    return true;
}

static void write_group(struct simec2_call *c, const struct group *g, const json_t *tags)
{
    struct buf *b = &c->out;
    put_open(b, "item");
    put_str(b, "ownerId", c->e->opts.account);
    put_str(b, "groupId", g->id);
    put_str(b, "groupName", g->name);
    put_str(b, "groupDescription", "nodes of the cluster");
    put_str(b, "vpcId", SIMEC2_VPC_ID);
    write_tags(c, tags, g->name);
    put_close(b, "item");
}

void simec2_describe_groups(struct simec2_call *c)
{
    size_t n_ids, n_names;
    struct simec2_filters f;
    struct simec2_page page;
    const char *const *ids = simec2_param_list(c, &n_ids, "GroupId");
    const char *const *names = simec2_param_list(c, &n_names, "GroupName");
    if (!simec2_filters(c, "group-id group-name vpc-id", &f) || !simec2_page(c, 5, 1000, &page) ||
        !groups_exist(c, ids, false) || !groups_exist(c, names, true)) {
        return;
    }
    AUTO_JSON json_t *extra = json_pack("{s:s}", "Name", SIMEC2_EXTRA_NAME);
    simec2_xml_begin(c);
    put_open(&c->out, "securityGroupInfo");
    for (size_t i = 0; page.from == 0 && i < ARRAY_LEN(groups); i++) {
        const json_t *tags = groups[i].extra ? extra : c->e->group_tags;
        if (among(ids, n_ids, groups[i].id) && among(names, n_names, groups[i].name) &&
            simec2_filter_match(&f, tags, group_attr, &groups[i])) {
            write_group(c, &groups[i], tags);
        }
    }
    put_close(&c->out, "securityGroupInfo");
    simec2_xml_end(c);
}

/* ---- images --------------------------------------------------------------------------------- */

#define AMAZON_ACCOUNT "602401143452"

static const char *image_attr(const void *obj, const char *name, size_t i)
{
    const struct simec2_image *m = obj;
    if (i > 0) {
        return NULL;
    }
    const struct {
        const char *name, *value;
    } attrs[] = {
        {"image-id", m->id},       {"name", m->name},         {"architecture", m->arch},
        {"state", "available"},    {"owner-alias", "amazon"}, {"owner-id", AMAZON_ACCOUNT},
        {"image-type", "machine"}, {"is-public", "true"},     {"virtualization-type", "hvm"},
    };
    for (size_t k = 0; k < ARRAY_LEN(attrs); k++) {
        if (str_eq(attrs[k].name, name)) {
            return attrs[k].value;
        }
    }
    return NULL;
}

static bool owner_ok(const struct simec2_call *c, const char *const *owners, size_t n)
{
    /* Images without tags of their own play the account's too. */
    return among(owners, n, "amazon") || among(owners, n, AMAZON_ACCOUNT) ||
           among(owners, n, "self") || among(owners, n, c->e->opts.account);
}

/* An image without tags of its own answers to any tag if it is the newest al2023 standard one. */
static bool image_matches(const struct simec2_call *c, const struct simec2_image *m,
                          const struct simec2_filters *f)
{
    AUTO_JSON json_t *none = json_object();
    bool any = !m->tags && str_eq(m->variant, "standard") &&
               m == simec2_image_newest(c->e, "al2023", m->arch, "standard");
    return simec2_filter_match(f, m->tags ? m->tags : any ? NULL : none, image_attr, m);
}

static void write_image(struct simec2_call *c, const struct simec2_image *m)
{
    struct buf *b = &c->out;
    put_open(b, "item");
    put_str(b, "imageId", m->id);
    put_str(b, "imageState", "available");
    put_str(b, "imageOwnerId", AMAZON_ACCOUNT);
    put_time(b, "creationDate", m->created_ns);
    put_bool(b, "isPublic", true);
    put_str(b, "architecture", m->arch);
    put_str(b, "imageType", "machine");
    put_str(b, "imageOwnerAlias", "amazon");
    put_str(b, "name", m->name);
    put_str(b, "rootDeviceType", "ebs");
    put_str(b, "rootDeviceName", "/dev/xvda");
    put_str(b, "virtualizationType", "hvm");
    put_str(b, "hypervisor", "xen");
    if (m->deprecated_ns) {
        put_time(b, "deprecationTime", m->deprecated_ns);
    }
    if (m->tags) {
        put_tags(b, m->tags);
    }
    put_close(b, "item");
}

static bool images_exist(struct simec2_call *c, const char *const *ids)
{
    for (size_t i = 0; ids[i]; i++) {
        if (!simec2_image_find(c->e, ids[i])) {
            simec2_fail(c, "InvalidAMIID.NotFound", "The image id '[%s]' does not exist", ids[i]);
            return false;
        }
    }
    return true;
}

void simec2_describe_images(struct simec2_call *c)
{
    struct simec2 *e = c->e;
    size_t n_ids, n_owners, shown = 0;
    struct simec2_filters f;
    struct simec2_page page;
    const char *const *ids = simec2_param_list(c, &n_ids, "ImageId");
    const char *const *owners = simec2_param_list(c, &n_owners, "Owner");
    if (!simec2_filters(c,
                        "image-id name architecture state owner-alias owner-id image-type "
                        "is-public virtualization-type",
                        &f) ||
        !simec2_page(c, 1, 1000, &page) || !images_exist(c, ids)) {
        return;
    }
    bool old = simec2_param_bool(c, "IncludeDeprecated");
    simec2_xml_begin(c);
    put_open(&c->out, "imagesSet");
    uint64_t i = page.from;
    for (; i < e->n_images && shown < page.limit; i++) {
        const struct simec2_image *m = e->images[i];
        bool gone = m->deprecated_ns && m->deprecated_ns <= simec2_wall(e) && !old && n_ids == 0;
        if (!gone && among(ids, n_ids, m->id) && owner_ok(c, owners, n_owners) &&
            image_matches(c, m, &f)) {
            write_image(c, m);
            shown++;
        }
    }
    put_close(&c->out, "imagesSet");
    put_str(&c->out, "nextToken", i < e->n_images ? simec2_page_token(c, i) : NULL);
    simec2_xml_end(c);
}
