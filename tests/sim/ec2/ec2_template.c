/* ec2_template.c - launch templates, and the dry run of RunInstances. */
#include "common/base/hash.h"
#include "ec2_priv.h"

#define TOKEN_MAX_CHARS 64

void simec2_template_unref(struct simec2_template *t)
{
    if (!t || --t->refs > 0) {
        return;
    }
    simec2_userdata_done(&t->ud);
    json_decref(t->tags);
    json_decref(t->instance_tags);
    struct arena mem = t->mem; /* t lives in it */
    arena_done(&mem);
}

struct simec2_template *simec2_template_find(struct simec2 *e, const char *name, const char *id)
{
    if (name) {
        return map_get(e->templates, name);
    }
    for (MAP_EACH(e->templates, m)) {
        struct simec2_template *t = map_value(m);
        if (str_eq(t->id, id)) {
            return t;
        }
    }
    return NULL;
}

size_t simec2_n_templates(const struct simec2 *e)
{
    return map_count(e->templates);
}

void simec2_tag_specs(const struct simec2_call *c, const char *prefix, const char *resource_type,
                      json_t *dst)
{
    for (int i = 1; simec2_param_any(c, "%sTagSpecification.%d.", prefix, i); i++) {
        if (!str_eq(simec2_param(c, "%sTagSpecification.%d.ResourceType", prefix, i),
                    resource_type)) {
            continue;
        }
        for (int k = 1;; k++) {
            const char *key = simec2_param(c, "%sTagSpecification.%d.Tag.%d.Key", prefix, i, k);
            const char *value = simec2_param(c, "%sTagSpecification.%d.Tag.%d.Value", prefix, i, k);
            if (!key) {
                break;
            }
            json_object_set_new(dst, key, json_string(value ? value : ""));
        }
    }
}

static void not_found(struct simec2_call *c, const char *name, const char *id)
{
    if (name) {
        simec2_fail(c, "InvalidLaunchTemplateName.NotFoundException",
                    "The specified launch template, with template name %s, does not exist.", name);
    } else {
        simec2_fail(c, "InvalidLaunchTemplateId.NotFound",
                    "The specified launch template, with template ID %s, does not exist.",
                    id ? id : "(none)");
    }
}

struct simec2_template *simec2_template_named(struct simec2_call *c, const char *prefix)
{
    const char *name = simec2_param(c, "%sLaunchTemplateName", prefix);
    const char *id = simec2_param(c, "%sLaunchTemplateId", prefix);
    const char *version = *prefix ? simec2_param(c, "%sVersion", prefix) : NULL;
    if ((name != NULL) == (id != NULL)) {
        simec2_fail(c, "InvalidParameterCombination",
                    "Exactly one of launch template name and ID must be given");
        return NULL;
    }
    if (version && !str_eq(version, "$Latest") && !str_eq(version, "$Default") &&
        !str_eq(version, "1")) {
        simec2_fail(c, "InvalidLaunchTemplateId.VersionNotFound",
                    "Could not find launch template version %s", version);
        return NULL;
    }
    struct simec2_template *t = simec2_template_find(c->e, name, id);
    if (!t) {
        not_found(c, name, id);
    }
    return t;
}

/* ---- tokens --------------------------------------------------------------------------------- */

static uint64_t params_hash(const struct simec2_call *c)
{
    uint64_t h = 0;
    for (size_t i = 0; i < c->form.n; i++) {
        const struct simec2_param *p = &c->form.v[i];
        if (!str_eq(p->key, "ClientToken")) {
            uint64_t pair[3] = {h, hash_fnv1a(p->key, strlen(p->key)),
                                hash_fnv1a(p->value, strlen(p->value))};
            h = hash_fnv1a(pair, sizeof(pair));
        }
    }
    return h;
}

void simec2_token_free(struct simec2_token *t)
{
    free(t->key);
    free(t->body);
    free(t);
}

static void drop_first(struct simec2 *e, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        map_del(e->tokens, e->token_fifo[i]->key);
        simec2_token_free(e->token_fifo[i]);
    }
    e->n_tokens -= n;
    memmove(e->token_fifo, e->token_fifo + n, e->n_tokens * sizeof(struct simec2_token *));
}

static void drop_old(struct simec2 *e)
{
    size_t n = 0;
    while (n < e->n_tokens && e->token_fifo[n]->made_ns + TOKEN_LIFE_NS <= simec2_mono(e)) {
        n++;
    }
    if (n == 0 && e->n_tokens >= SIMEC2_MAX_TOKENS) {
        n = 1;
    }
    if (n > 0) {
        drop_first(e, n);
    }
}

static void token_key(const struct simec2_call *c, const char *token, char dst[160])
{
    snprintf(dst, 160, "%s:%.*s", c->action->name, TOKEN_MAX_CHARS, token);
}

int simec2_token_check(struct simec2_call *c, const char *token)
{
    if (!token) {
        return 0;
    }
    if (strlen(token) > TOKEN_MAX_CHARS || !*token) {
        simec2_fail(c, "InvalidParameterValue", "A client token has 1 to %d characters",
                    TOKEN_MAX_CHARS);
        return -1;
    }
    char key[160];
    token_key(c, token, key);
    drop_old(c->e);
    const struct simec2_token *t = map_get(c->e->tokens, key);
    if (!t) {
        return 0;
    }
    if (t->params_hash != params_hash(c)) {
        simec2_fail(c, "IdempotentParameterMismatch",
                    "The request uses the same client token as a previous, but non-identical "
                    "request.");
        return -1;
    }
    buf_put(&c->out, t->body, t->body_n);
    return 1;
}

void simec2_token_keep(struct simec2_call *c, const char *token)
{
    if (!token) {
        return;
    }
    char key[160];
    token_key(c, token, key);
    struct simec2 *e = c->e;
    struct simec2_token *t = NEW(struct simec2_token);
    t->key = xstrdup(key);
    t->params_hash = params_hash(c);
    t->body = xmalloc(c->out.n + 1);
    memcpy(t->body, c->out.p, c->out.n + 1);
    t->body_n = c->out.n;
    t->made_ns = simec2_mono(e);
    ARRAY_GROW(e->token_fifo, e->n_tokens, e->cap_tokens);
    e->token_fifo[e->n_tokens++] = t;
    map_put(e->tokens, key, t, NULL);
}

/* ---- reading a template --------------------------------------------------------------------- */

static bool name_ok(const char *name)
{
    size_t n = name ? strlen(name) : 0;
    return n >= 3 && n <= 128 &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789().-/_") ==
               n;
}

static bool user_data_ok(struct simec2_call *c, const char *b64)
{
    if (!b64) {
        return true;
    }
    size_t n = 0;
    AUTO_FREE uint8_t *raw = base64_decode(b64, &n);
    if (!raw) {
        simec2_fail(c, "InvalidUserData.Malformed", "Invalid BASE64 encoding of user data.");
        return false;
    }
    if (n > USER_DATA_MAX) {
        simec2_fail(c, "InvalidUserData.Malformed", "User data is limited to %d bytes",
                    USER_DATA_MAX);
        return false;
    }
    return true;
}

static const char *const *copy_list(struct arena *a, const char *const *list, size_t n)
{
    const char **dst = ARENA_NEW_N(a, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        dst[i] = arena_strdup(a, list[i]);
    }
    return dst;
}

/* Security groups and interface types: of the first network interface, else of the template. */
static bool read_network(struct simec2_call *c, const char *p, struct simec2_template *t)
{
    size_t direct_n, n;
    const char *const *direct = simec2_param_list(c, &direct_n, "%sSecurityGroupId", p);
    const char *const *groups = simec2_param_list(c, &n, "%sNetworkInterface.1.SecurityGroupId", p);
    bool nics = simec2_param_any(c, "%sNetworkInterface.1.", p);
    if (nics && direct_n > 0) {
        simec2_fail(c, "InvalidParameterCombination",
                    "Network interfaces and an instance-level security groups may not be "
                    "specified on the same request");
        return false;
    }
    t->groups = copy_list(&t->mem, nics ? groups : direct, nics ? n : direct_n);
    t->n_groups = nics ? n : direct_n;
    for (size_t i = 0; i < t->n_groups; i++) {
        if (!simec2_is_group(t->groups[i])) {
            simec2_fail(c, "InvalidGroup.NotFound", "The security group '%s' does not exist",
                        t->groups[i]);
            return false;
        }
    }
    size_t k = 0;
    while (simec2_param_any(c, "%sNetworkInterface.%zu.", p, k + 1)) {
        k++;
    }
    const char **types = ARENA_NEW_N(&t->mem, const char *, k + 1);
    for (size_t i = 0; i < k; i++) {
        const char *type = simec2_param(c, "%sNetworkInterface.%zu.InterfaceType", p, i + 1);
        types[i] = arena_strdup(&t->mem, type ? type : "interface");
    }
    t->interface_types = types;
    t->n_interfaces = k;
    return true;
}

static bool read_volumes(struct simec2_call *c, const char *p, struct simec2_template *t)
{
    for (int i = 1; simec2_param_any(c, "%sBlockDeviceMapping.%d.", p, i); i++) {
        const char *size = simec2_param(c, "%sBlockDeviceMapping.%d.Ebs.VolumeSize", p, i);
        const char *dev = simec2_param(c, "%sBlockDeviceMapping.%d.DeviceName", p, i);
        int64_t gib = 0;
        if (!dev || (size && (!str_parse_i64(size, &gib) || gib < 1 || gib > 65536))) {
            simec2_fail(c, "InvalidBlockDeviceMapping", "Block device mapping %d is invalid", i);
            return false;
        }
        if (i == 1 || str_eq(dev, "/dev/xvda")) {
            t->root_gib = gib;
        }
    }
    return true;
}

/* NULL: the call has failed. The template is not in the table yet. */
static struct simec2_template *read_template(struct simec2_call *c, const char *prefix)
{
    struct arena mem;
    arena_init(&mem, 1024, 4u << 20);
    struct simec2_template *t = ARENA_NEW(&mem, struct simec2_template);
    t->mem = mem;
    t->refs = 1;
    t->tags = json_object();
    t->instance_tags = json_object();
    t->image_id = arena_strdup(&t->mem, simec2_param(c, "%sImageId", prefix));
    t->instance_type = arena_strdup(&t->mem, simec2_param(c, "%sInstanceType", prefix));
    t->user_data = arena_strdup(&t->mem, simec2_param(c, "%sUserData", prefix));
    t->profile = arena_strdup(&t->mem, simec2_param(c, "%sIamInstanceProfile.Name", prefix));
    t->reservation_preference =
        arena_strdup(&t->mem, simec2_param(c,
                                           "%sCapacityReservationSpecification."
                                           "CapacityReservationPreference",
                                           prefix));
    t->reservation_id =
        arena_strdup(&t->mem, simec2_param(c,
                                           "%sCapacityReservationSpecification."
                                           "CapacityReservationTarget.CapacityReservationId",
                                           prefix));
    t->group_id = arena_strdup(&t->mem, simec2_param(c, "%sPlacement.GroupId", prefix));
    t->tenancy = arena_strdup(&t->mem, simec2_param(c, "%sPlacement.Tenancy", prefix));
    simec2_tag_specs(c, prefix, "instance", t->instance_tags);
    if (!user_data_ok(c, t->user_data) || !read_network(c, prefix, t) ||
        !read_volumes(c, prefix, t)) {
        simec2_template_unref(t);
        return NULL;
    }
    return t;
}

/* ---- answers -------------------------------------------------------------------------------- */

static void write_template(struct simec2_call *c, const struct simec2_template *t, const char *tag)
{
    struct buf *b = &c->out;
    put_open(b, tag);
    put_str(b, "launchTemplateId", t->id);
    put_str(b, "launchTemplateName", t->name);
    put_time(b, "createTime", t->created_ns);
    buf_printf(b, "<createdBy>arn:aws:iam::%s:root</createdBy>", c->e->opts.account);
    put_i64(b, "defaultVersionNumber", 1);
    put_i64(b, "latestVersionNumber", 1);
    put_tags(b, t->tags);
    put_close(b, tag);
}

static bool may_create(struct simec2_call *c, const char *name)
{
    if (!name_ok(name)) {
        simec2_fail(c, "InvalidLaunchTemplateName.MalformedException",
                    "A launch template name must be between 3 and 128 characters, and may contain "
                    "letters, numbers, and the following characters: - ( ) . / _");
    } else if (map_has(c->e->templates, name)) {
        simec2_fail(c, "InvalidLaunchTemplateName.AlreadyExistsException",
                    "Launch template name already in use.");
    } else if (map_count(c->e->templates) >= SIMEC2_MAX_TEMPLATES) {
        simec2_fail(c, "LaunchTemplateLimitExceeded", "There are too many launch templates");
    } else {
        return true;
    }
    return false;
}

void simec2_create_template(struct simec2_call *c)
{
    const char *name = simec2_param(c, "LaunchTemplateName");
    const char *token = simec2_param(c, "ClientToken");
    if (simec2_token_check(c, token) != 0 || !may_create(c, name)) {
        return;
    }
    if (!simec2_param_any(c, "LaunchTemplateData.")) {
        simec2_fail(c, "MissingParameter",
                    "The request must contain the parameter LaunchTemplateData");
        return;
    }
    struct simec2_template *t = read_template(c, "LaunchTemplateData.");
    if (!t) {
        return;
    }
    if (simec2_param_bool(c, "DryRun")) {
        simec2_template_unref(t);
        simec2_fail(c, "DryRunOperation", "Request would have succeeded, but DryRun flag is set.");
        return;
    }
    char id[32];
    simec2_id(c->e, "lt", id);
    t->id = arena_strdup(&t->mem, id);
    t->name = arena_strdup(&t->mem, name);
    t->created_ns = simec2_wall(c->e);
    simec2_tag_specs(c, "", "launch-template", t->tags);
    map_put(c->e->templates, t->name, t, NULL);
    simec2_xml_begin(c);
    write_template(c, t, "launchTemplate");
    simec2_xml_end(c);
    simec2_token_keep(c, token);
}

void simec2_delete_template(struct simec2_call *c)
{
    struct simec2_template *t = simec2_template_named(c, "");
    if (!t) {
        return;
    }
    if (simec2_param_bool(c, "DryRun")) {
        simec2_fail(c, "DryRunOperation", "Request would have succeeded, but DryRun flag is set.");
        return;
    }
    simec2_xml_begin(c);
    write_template(c, t, "launchTemplate");
    simec2_xml_end(c);
    map_del(c->e->templates, t->name);
    simec2_template_unref(t);
}

static const char *template_attr(const void *obj, const char *name, size_t i)
{
    const struct simec2_template *t = obj;
    return i > 0 ? NULL : str_eq(name, "launch-template-name") ? t->name : NULL;
}

static bool listed(const char *const *list, size_t n, const char *s)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(list[i], s)) {
            return true;
        }
    }
    return n == 0;
}

static bool all_exist(struct simec2_call *c, const char *const *names, const char *const *ids)
{
    for (size_t i = 0; names[i]; i++) {
        if (!simec2_template_find(c->e, names[i], NULL)) {
            simec2_fail(c, "InvalidLaunchTemplateName.NotFoundException",
                        "At least one of the launch templates specified in the request does not "
                        "exist.");
            return false;
        }
    }
    for (size_t i = 0; ids[i]; i++) {
        if (!simec2_template_find(c->e, NULL, ids[i])) {
            not_found(c, NULL, ids[i]);
            return false;
        }
    }
    return true;
}

static int template_cmp(const void *a, const void *b)
{
    const struct simec2_template *x = *(struct simec2_template *const *)a;
    const struct simec2_template *y = *(struct simec2_template *const *)b;
    return strcmp(x->id, y->id); /* ids grow with time */
}

void simec2_describe_templates(struct simec2_call *c)
{
    size_t n_names, n_ids, n = 0;
    struct simec2_filters filters;
    struct simec2_page page;
    const char *const *names = simec2_param_list(c, &n_names, "LaunchTemplateName");
    const char *const *ids = simec2_param_list(c, &n_ids, "LaunchTemplateId");
    if (!simec2_filters(c, "launch-template-name", &filters) || !simec2_page(c, 1, 200, &page) ||
        !all_exist(c, names, ids)) {
        return;
    }
    struct simec2_template **v =
        ARENA_NEW_N(&c->mem, struct simec2_template *, map_count(c->e->templates) + 1);
    for (MAP_EACH(c->e->templates, m)) {
        struct simec2_template *t = map_value(m);
        if (listed(names, n_names, t->name) && listed(ids, n_ids, t->id) &&
            simec2_filter_match(&filters, t->tags, template_attr, t)) {
            v[n++] = t;
        }
    }
    qsort(v, n, sizeof(*v), template_cmp);
    simec2_xml_begin(c);
    put_open(&c->out, "launchTemplates");
    size_t i = (size_t)page.from;
    for (; i < n && i - page.from < page.limit; i++) {
        write_template(c, v[i], "item");
    }
    put_close(&c->out, "launchTemplates");
    put_str(&c->out, "nextToken", i < n ? simec2_page_token(c, i) : NULL);
    simec2_xml_end(c);
}

/* ---- RunInstances --------------------------------------------------------------------------- */

static bool type_fits_image(struct simec2_call *c, const char *type, const char *image_id)
{
    int fact = type ? ec2_find_fact(type) : -1;
    const struct simec2_image *image = image_id ? simec2_image_find(c->e, image_id) : NULL;
    if (fact < 0) {
        simec2_fail(c, "InvalidParameterValue", "Invalid value '%s' for InstanceType.",
                    type ? type : "");
    } else if (!image) {
        simec2_fail(c, "InvalidAMIID.NotFound", "The image id '[%s]' does not exist",
                    image_id ? image_id : "");
    } else if (str_eq(image->arch, "arm64") != str_eq(ec2_facts[fact].arch, "arm64")) {
        simec2_fail(c, "InvalidParameterValue",
                    "The architecture '%s' of the specified instance type does not match the "
                    "architecture '%s' of the specified AMI.",
                    str_eq(ec2_facts[fact].arch, "arm64") ? "arm64" : "x86_64", image->arch);
    } else {
        return true;
    }
    return false;
}

static const char *first_subnet(struct simec2_call *c)
{
    const char *s = simec2_param(c, "NetworkInterface.1.SubnetId");
    return s ? s : simec2_param(c, "SubnetId");
}

void simec2_run_instances(struct simec2_call *c)
{
    struct simec2_template *own = read_template(c, "");
    if (!own) {
        return;
    }
    struct simec2_template *t = NULL;
    bool named = simec2_param_any(c, "LaunchTemplate.");
    if (named) {
        t = simec2_template_named(c, "LaunchTemplate.");
    }
    if (!named || t) {
        const char *type = own->instance_type ? own->instance_type : t ? t->instance_type : NULL;
        const char *image = own->image_id ? own->image_id : t ? t->image_id : NULL;
        const char *subnet = first_subnet(c);
        if (subnet && !simec2_subnet_find(c->e, subnet)) {
            simec2_fail(c, "InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", subnet);
        } else if (type_fits_image(c, type, image)) {
            simec2_fail(c,
                        simec2_param_bool(c, "DryRun") ? "DryRunOperation" : "UnsupportedOperation",
                        simec2_param_bool(c, "DryRun")
                            ? "Request would have succeeded, but DryRun flag is set."
                            : "Here instances come from CreateFleet only.");
        }
    }
    simec2_template_unref(own);
}
