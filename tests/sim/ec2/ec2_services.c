/* ec2_services.c - SSM, EKS, IAM and STS, as far as a node autoscaler asks them. */
#include "ec2_priv.h"

#define XML_IAM "https://iam.amazonaws.com/doc/2010-05-08/"
#define XML_STS "https://sts.amazonaws.com/doc/2011-06-15/"

/* ---- SSM ------------------------------------------------------------------------------------ */

/* What lies between two fixed parts of s, copied; false if s does not have them. */
static bool between(const char *s, const char *before, const char *after, char *dst, size_t size)
{
    size_t n = strlen(s), b = strlen(before), a = strlen(after);
    if (n < a + b || !str_starts(s, before) || !str_ends(s, after) || n - a - b >= size) {
        return false;
    }
    memcpy(dst, s + b, n - a - b);
    dst[n - a - b] = 0;
    return true;
}

/* The first path element of s; *s moves behind it. */
static bool element(const char **s, char *dst, size_t size)
{
    size_t n = strcspn(*s, "/");
    if (n == 0 || n >= size) {
        return false;
    }
    memcpy(dst, *s, n);
    dst[n] = 0;
    *s += n + ((*s)[n] == '/');
    return true;
}

/* Any release that is not known is the first one: alias versions always resolve. */
static const struct simec2_image *release_or_first(const struct simec2 *e, const char *family,
                                                   const char *arch, const char *variant,
                                                   const char *release)
{
    const struct simec2_image *m = simec2_image_release(e, family, arch, variant, release);
    return m ? m : simec2_image_release(e, family, arch, variant, e->images[0]->release);
}

/* /aws/service/eks/optimized-ami/K/amazon-linux-2023/ARCH/VARIANT/{recommended,NAME}/image_id */
static const struct simec2_image *al2023(const struct simec2 *e, const char *name)
{
    char head[128], rest[256], arch[32], variant[32], last[128], want[128], release[64];
    snprintf(head, sizeof(head), "/aws/service/eks/optimized-ami/%s/amazon-linux-2023/",
             e->opts.k8s_version);
    if (!between(name, head, "/image_id", rest, sizeof(rest))) {
        return NULL;
    }
    const char *s = rest;
    if (!element(&s, arch, sizeof(arch)) || !element(&s, variant, sizeof(variant)) ||
        !element(&s, last, sizeof(last)) || *s) {
        return NULL;
    }
    if (str_eq(last, "recommended")) {
        return simec2_image_newest(e, "al2023", arch, variant);
    }
    snprintf(want, sizeof(want), "amazon-eks-node-al2023-%s-%s-%s-", arch, variant,
             e->opts.k8s_version);
    return between(last, want, "", release, sizeof(release))
               ? release_or_first(e, "al2023", arch, variant, release)
               : NULL;
}

/* /aws/service/bottlerocket/aws-k8s-K[-nvidia]/ARCH/VERSION/image_id */
static const struct simec2_image *bottlerocket(const struct simec2 *e, const char *name)
{
    char rest[256], flavour[64], plain[64], arch[32], version[64];
    if (!between(name, "/aws/service/bottlerocket/", "/image_id", rest, sizeof(rest))) {
        return NULL;
    }
    const char *s = rest;
    if (!element(&s, flavour, sizeof(flavour)) || !element(&s, arch, sizeof(arch)) ||
        !element(&s, version, sizeof(version)) || *s) {
        return NULL;
    }
    snprintf(plain, sizeof(plain), "aws-k8s-%s", e->opts.k8s_version);
    if (!str_starts(flavour, plain)) {
        return NULL;
    }
    const char *suffix = flavour + strlen(plain);
    if (*suffix && !str_eq(suffix, "-nvidia")) {
        return NULL;
    }
    const char *variant = *suffix ? "nvidia" : "standard";
    return str_eq(version, "latest") ? simec2_image_newest(e, "bottlerocket", arch, variant)
                                     : release_or_first(e, "bottlerocket", arch, variant, version);
}

void simec2_get_parameter(struct simec2_call *c)
{
    const char *name = jsonx_str(c->json, "Name");
    if (!name || !*name) {
        simec2_fail(c, "ValidationException", "Name is required");
        return;
    }
    const char *value = json_string_value(json_object_get(c->e->parameters, name));
    if (!value) {
        const struct simec2_image *m = al2023(c->e, name);
        m = m ? m : bottlerocket(c->e, name);
        value = m ? m->id : NULL;
    }
    if (!value) {
        simec2_fail(c, "ParameterNotFound", "Parameter %s not found.", name);
        return;
    }
    simec2_json(c, json_pack("{s:{s:s, s:s, s:s, s:i, s:s}}", "Parameter", "Name", name, "Type",
                             "String", "Value", value, "Version", 1, "DataType", "text"));
}

/* ---- EKS ------------------------------------------------------------------------------------ */

void simec2_describe_cluster(struct simec2_call *c)
{
    const struct simec2_opts *o = &c->e->opts;
    if (!str_starts(c->path, "/clusters/") || !str_eq(c->path + 10, o->cluster)) {
        simec2_fail(c, "ResourceNotFoundException", "No cluster found for name: %s.",
                    str_starts(c->path, "/clusters/") ? c->path + 10 : c->path);
        return;
    }
    char arn[256];
    snprintf(arn, sizeof(arn), "arn:aws:eks:%s:%s:cluster/%s", o->region, o->account, o->cluster);
    simec2_json(c, json_pack("{s:{s:s, s:s, s:s, s:s, s:s, s:{s:s}, s:{s:s, s:s}, s:s}}", "cluster",
                             "name", o->cluster, "arn", arn, "version", o->k8s_version, "endpoint",
                             o->endpoint, "status", "ACTIVE", "certificateAuthority", "data",
                             o->ca_b64, "kubernetesNetworkConfig", "serviceIpv4Cidr",
                             o->service_cidr, "ipFamily", "ipv4", "platformVersion", "eks.1"));
}

/* ---- IAM ------------------------------------------------------------------------------------ */

/*
 * Any instance profile exists, with a role of its own name, but for those that a controller names
 * after its cluster (CLUSTER_…): they exist when they have been created.
 */
static json_t *profile_find(const struct simec2 *e, const char *name)
{
    char prefix[160];
    json_t *p = name ? map_get(e->profiles, name) : NULL;
    if (p) {
        return json_incref(p);
    }
    snprintf(prefix, sizeof(prefix), "%.100s_", e->opts.cluster);
    if (!name || !*name || str_starts(name, prefix)) {
        return NULL;
    }
    return json_pack("{s:s, s:s, s:s, s:{}}", "name", name, "path", "/", "role", name, "tags");
}

static void no_profile(struct simec2_call *c, const char *name)
{
    simec2_fail(c, "NoSuchEntity", "Instance Profile %s cannot be found.", name ? name : "");
}

static void write_role(struct simec2_call *c, const char *role)
{
    struct buf *b = &c->out;
    put_str(b, "Path", "/");
    put_str(b, "RoleName", role);
    AUTO_FREE char *arn = xasprintf("arn:aws:iam::%s:role/%s", c->e->opts.account, role);
    put_str(b, "Arn", arn);
    put_str(b, "RoleId", "AROA0000000000000ROLE");
    put_time(b, "CreateDate", c->e->prices_since_ns);
}

static void write_profile(struct simec2_call *c, const char *tag, const json_t *p)
{
    struct buf *b = &c->out;
    const char *name = jsonx_str_or(p, "name", ""), *path = jsonx_str_or(p, "path", "/");
    const char *role = jsonx_str_or(p, "role", "");
    put_open(b, tag);
    put_str(b, "Path", path);
    put_str(b, "InstanceProfileName", name);
    put_str(b, "InstanceProfileId", "AIPA00000000000PROFIL");
    AUTO_FREE char *arn =
        xasprintf("arn:aws:iam::%s:instance-profile%s%s", c->e->opts.account, path, name);
    put_str(b, "Arn", arn);
    put_open(b, "Roles");
    if (*role) {
        put_open(b, "member");
        write_role(c, role);
        put_close(b, "member");
    }
    put_close(b, "Roles");
    put_time(b, "CreateDate", c->e->prices_since_ns);
    put_close(b, tag);
}

void simec2_get_profile(struct simec2_call *c)
{
    const char *name = simec2_param(c, "InstanceProfileName");
    AUTO_JSON json_t *p = profile_find(c->e, name);
    if (!p) {
        no_profile(c, name);
        return;
    }
    simec2_query_begin(c, XML_IAM);
    write_profile(c, "InstanceProfile", p);
    simec2_query_end(c);
}

void simec2_create_profile(struct simec2_call *c)
{
    const char *name = simec2_param(c, "InstanceProfileName");
    const char *path = simec2_param(c, "Path");
    if (!name || !*name || strlen(name) > 128) {
        simec2_fail(c, "ValidationError", "1 to 128 characters make an instance profile's name");
        return;
    }
    if (map_has(c->e->profiles, name)) {
        simec2_fail(c, "EntityAlreadyExists", "Instance Profile %s already exists.", name);
        return;
    }
    json_t *p = json_pack("{s:s, s:s, s:s}", "name", name, "path", path ? path : "/", "role", "");
    bool full = false;
    map_put(c->e->profiles, name, p, &full);
    if (full) {
        json_decref(p);
        simec2_fail(c, "LimitExceeded", "Cannot exceed quota for InstanceProfilesPerAccount");
        return;
    }
    simec2_query_begin(c, XML_IAM);
    write_profile(c, "InstanceProfile", p);
    simec2_query_end(c);
}

/* One that was created; NULL: the call has failed. */
static json_t *own_profile(struct simec2_call *c)
{
    const char *name = simec2_param(c, "InstanceProfileName");
    json_t *p = name ? map_get(c->e->profiles, name) : NULL;
    if (!p) {
        no_profile(c, name);
    }
    return p;
}

static void done(struct simec2_call *c)
{
    simec2_query_begin(c, XML_IAM);
    simec2_query_end(c);
}

void simec2_delete_profile(struct simec2_call *c)
{
    json_t *p = own_profile(c);
    if (!p) {
        return;
    }
    if (*jsonx_str_or(p, "role", "")) {
        simec2_fail(c, "DeleteConflict", "Cannot delete entity, must remove roles first.");
        return;
    }
    map_del(c->e->profiles, jsonx_str(p, "name"));
    json_decref(p);
    done(c);
}

void simec2_add_role(struct simec2_call *c)
{
    json_t *p = own_profile(c);
    const char *role = simec2_param(c, "RoleName");
    if (!p) {
        return;
    }
    if (!role || !*role || strchr(role, '/')) {
        simec2_fail(c, "ValidationError", "The specified value for roleName is invalid.");
    } else if (*jsonx_str_or(p, "role", "")) {
        simec2_fail(c, "LimitExceeded",
                    "Cannot exceed quota for InstanceSessionsPerInstanceProfile: 1");
    } else {
        json_object_set_new(p, "role", json_string(role));
        done(c);
    }
}

void simec2_remove_role(struct simec2_call *c)
{
    json_t *p = own_profile(c);
    const char *role = simec2_param(c, "RoleName");
    if (!p) {
        return;
    }
    if (!role || !str_eq(jsonx_str_or(p, "role", ""), role)) {
        simec2_fail(c, "NoSuchEntity", "The role with name %s cannot be found.", role ? role : "");
        return;
    }
    json_object_set_new(p, "role", json_string(""));
    done(c);
}

void simec2_list_profiles(struct simec2_call *c)
{
    const char *prefix = simec2_param(c, "PathPrefix");
    simec2_query_begin(c, XML_IAM);
    put_open(&c->out, "InstanceProfiles");
    for (MAP_EACH(c->e->profiles, m)) {
        const json_t *p = map_value(m);
        if (!prefix || str_starts(jsonx_str_or(p, "path", "/"), prefix)) {
            write_profile(c, "member", p);
        }
    }
    put_close(&c->out, "InstanceProfiles");
    put_bool(&c->out, "IsTruncated", false);
    simec2_query_end(c);
}

void simec2_get_role(struct simec2_call *c)
{
    const char *role = simec2_param(c, "RoleName");
    if (!role || !*role) {
        simec2_fail(c, "ValidationError", "RoleName is required");
        return;
    }
    simec2_query_begin(c, XML_IAM);
    put_open(&c->out, "Role");
    write_role(c, role);
    put_close(&c->out, "Role");
    simec2_query_end(c);
}

/* ---- STS ------------------------------------------------------------------------------------ */

void simec2_get_caller_identity(struct simec2_call *c)
{
    struct buf *b = &c->out;
    simec2_query_begin(c, XML_STS);
    buf_printf(b, "<Arn>arn:aws:sts::%s:assumed-role/karp-agent/session</Arn>", c->e->opts.account);
    put_str(b, "UserId", "AROA0000000000000ROLE:session");
    put_str(b, "Account", c->e->opts.account);
    simec2_query_end(c);
}
