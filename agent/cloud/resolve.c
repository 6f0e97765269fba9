/*
 * resolve.c - what an EC2NodeClass's selectors select, asked of EC2, SSM and IAM.
 *
 * A run is a list of questions, worked off one after the other: per tag term one call, all ids of a
 * part in one. A question that fails ends its part for this run: what the part gave
 * before stays, and it is asked again after a back-off.
 */
#include "cloud_int.h"
#include "common/aws/services.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"

#define SUBNETS_REFRESH_NS (1 * NS_PER_MIN)
#define GROUPS_REFRESH_NS (1 * NS_PER_MIN)
#define IMAGES_REFRESH_NS (5 * NS_PER_MIN)
#define IMAGES_NONE_NS (1 * NS_PER_MIN)
#define PROFILE_REFRESH_NS (15 * NS_PER_MIN)
#define PROFILE_NONE_NS (1 * NS_PER_MIN)
#define RESERVATIONS_REFRESH_NS (1 * NS_PER_MIN)
#define RESOLVE_RETRY_MAX_NS (1 * NS_PER_MIN)

enum question { ASK_DESCRIBE, ASK_PARAMETER, ASK_PROFILE };

struct ask {
    enum question what;
    enum resolve_part part;
    struct ec2_describe req;
    const char *name;    /* of a parameter or profile */
    const char *variant; /* of a parameter's image */
    bool own_parameter;  /* the user's: its value must be an image id */
};

struct variant_of {
    const char *image_id, *variant;
};

struct resolving {
    struct job j;
    char *cls;
    struct resolved *into;
    resolve_done_fn done;
    const json_t *spec; /* borrowed from the class's entry, which ends the job before it goes */
    struct ask *asks;
    uint32_t n_asks, cap_asks, at;
    unsigned parts;
    bool failed[PART_COUNT];
    int64_t asked_ns; /* monotonic */
    /* collected, in the job's arena */
    struct ec2_subnet *subnets;
    struct ec2_group *groups;
    struct image_in *images;
    struct variant_of *variants;
    uint32_t n_subnets, cap_subnets, n_groups, cap_groups, n_images, cap_images;
    struct ec2_reservation *reservations;
    uint32_t n_variants, cap_variants, n_reservations, cap_reservations;
};

/* ---- what was resolved --------------------------------------------------------------------------
 */

static void clear_subnets(struct resolved *r)
{
    for (uint32_t i = 0; i < r->n_subnets; i++) {
        free(r->subnets[i].id);
        free(r->subnets[i].zone);
        free(r->subnets[i].zone_id);
    }
    free(r->subnets);
    r->subnets = NULL;
    r->n_subnets = 0;
}

void resolved_clear(struct resolved *r)
{
    clear_subnets(r);
    json_decref(r->groups);
    json_decref(r->images);
    json_decref(r->reservations);
    free(r->profile);
    free(r->profile_why);
    *r = (struct resolved){.n_subnets = 0};
}

/* ---- the questions ------------------------------------------------------------------------------
 */

static struct ask *add_ask(struct resolving *g, enum question what, enum resolve_part part)
{
    ARENA_GROW(&g->j.mem, g->asks, g->n_asks, g->cap_asks);
    struct ask *q = &g->asks[g->n_asks++];
    *q = (struct ask){.what = what, .part = part};
    return q;
}

static struct ec2_strings one_string(struct arena *a, const char *s)
{
    const char **v = ARENA_NEW_N(a, const char *, 1);
    v[0] = arena_strdup(a, s);
    return (struct ec2_strings){v, 1};
}

static void add_filter(struct arena *a, struct ec2_filter *v, size_t *n, const char *name,
                       struct ec2_strings values)
{
    v[(*n)++] = (struct ec2_filter){arena_strdup(a, name), values};
}

/* "tag:K" = V, or for any value "tag-key" = K. */
static void add_tags(struct arena *a, const json_t *tags, struct ec2_filter *v, size_t *n)
{
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)tags, key, value) {
        const char *text = json_string_value(value);
        if (str_eq(text, "*")) {
            add_filter(a, v, n, "tag-key", one_string(a, key));
        } else {
            add_filter(a, v, n, arena_printf(a, "tag:%s", key), one_string(a, text ? text : ""));
        }
    }
}

static int64_t page_size(enum resolve_part part)
{
    return part == PART_SUBNETS        ? EC2_PAGE_SUBNETS
           : part == PART_GROUPS       ? EC2_PAGE_GROUPS
           : part == PART_RESERVATIONS ? EC2_PAGE_RESERVATIONS
                                       : EC2_PAGE_IMAGES;
}

/* A question with room for n filters beside those of the part. */
static struct ec2_filter *add_describe(struct resolving *g, enum resolve_part part, size_t n)
{
    struct ask *q = add_ask(g, ASK_DESCRIBE, part);
    struct ec2_filter *v = ARENA_NEW_N(&g->j.mem, struct ec2_filter, n + 1);
    q->req.max_results = page_size(part);
    q->req.filters.v = v;
    if (part == PART_IMAGES) {
        q->req.include_deprecated = true;
        add_filter(&g->j.mem, v, &q->req.filters.n, "state", one_string(&g->j.mem, "available"));
    } else if (part == PART_RESERVATIONS) {
        add_filter(&g->j.mem, v, &q->req.filters.n, "state", one_string(&g->j.mem, "active"));
    }
    return v;
}

static void add_values(struct resolving *g, enum resolve_part part, const char *filter,
                       const char *const *values, size_t n)
{
    if (n == 0) {
        return;
    }
    struct ec2_filter *v = add_describe(g, part, 1);
    add_filter(&g->j.mem, v, &g->asks[g->n_asks - 1].req.filters.n, filter,
               (struct ec2_strings){values, n});
}

/* Values of a field over all terms. */
static size_t collect(struct resolving *g, const json_t *terms, const char *field,
                      const char *const **ret)
{
    const char **v = ARENA_NEW_N(&g->j.mem, const char *, json_array_size(terms));
    size_t n = 0, i;
    json_t *term;
    json_array_foreach ((json_t *)(uintptr_t)terms, i, term) {
        const char *s = jsonx_str(term, field);
        if (s && *s) {
            v[n++] = arena_strdup(&g->j.mem, s);
        }
    }
    *ret = v;
    return n;
}

static void ask_network(struct resolving *g, enum resolve_part part, const char *key,
                        const char *id_filter, const char *name_filter)
{
    const json_t *terms = jsonx_arr(g->spec, key);
    const char *const *v;
    size_t i;
    json_t *term;
    json_array_foreach ((json_t *)(uintptr_t)terms, i, term) {
        const json_t *tags = jsonx_obj(term, "tags");
        if (json_object_size(tags) > 0) {
            struct ec2_filter *f = add_describe(g, part, json_object_size(tags));
            add_tags(&g->j.mem, tags, f, &g->asks[g->n_asks - 1].req.filters.n);
        }
    }
    size_t n = collect(g, terms, "id", &v);
    add_values(g, part, id_filter, v, n);
    if (name_filter) {
        n = collect(g, terms, "name", &v);
        add_values(g, part, name_filter, v, n);
    }
}

/* One term by tags, name and owner. */
static void ask_images_term(struct resolving *g, const json_t *term)
{
    struct arena *a = &g->j.mem;
    const json_t *tags = jsonx_obj(term, "tags");
    const char *name = jsonx_str_or(term, "name", ""), *owner = jsonx_str_or(term, "owner", "");
    if (json_object_size(tags) == 0 && !*name && !*owner) {
        return;
    }
    struct ec2_filter *f = add_describe(g, PART_IMAGES, json_object_size(tags) + 1);
    struct ec2_describe *req = &g->asks[g->n_asks - 1].req;
    add_tags(a, tags, f, &req->filters.n);
    if (*name) {
        add_filter(a, f, &req->filters.n, "name", one_string(a, name));
    }
    static const char *const own_and_amazon[] = {"self", "amazon"};
    if (*owner) {
        req->owners = one_string(a, owner);
    } else if (*name) {
        req->owners = (struct ec2_strings){own_and_amazon, ARRAY_LEN(own_and_amazon)};
    }
}

static void ask_parameter_of(struct resolving *g, const char *name, const char *variant, bool own)
{
    struct ask *q = add_ask(g, ASK_PARAMETER, PART_IMAGES);
    q->name = arena_strdup(&g->j.mem, name);
    q->variant = variant;
    q->own_parameter = own;
}

static void ask_alias(struct resolving *g, const char *alias)
{
    const char *paths[8], *variants[8];
    const char *at = strchr(alias, '@'), *minor = g->j.c->home.version;
    if (!str_starts(alias, "al2023@")) {
        return; /* ValidationSucceeded says that it is not supported */
    }
    if (!minor) {
        g->failed[PART_IMAGES] = true;
        err_set(&g->into->err[PART_IMAGES], ERR_UNAVAILABLE,
                "the version of Kubernetes is not known yet");
        return;
    }
    size_t n = images_al2023_paths(&g->j.mem, at + 1, minor, paths, variants);
    for (size_t i = 0; i < n; i++) {
        ask_parameter_of(g, paths[i], variants[i], false);
    }
}

static void ask_images(struct resolving *g)
{
    const json_t *terms = jsonx_arr(g->spec, "amiSelectorTerms");
    const char *const *ids;
    size_t i;
    json_t *term;
    json_array_foreach ((json_t *)(uintptr_t)terms, i, term) {
        const char *alias = jsonx_str_or(term, "alias", "");
        const char *parameter = jsonx_str_or(term, "ssmParameter", "");
        if (*alias) {
            ask_alias(g, alias);
        } else if (*parameter) {
            ask_parameter_of(g, parameter, NULL, true);
        } else {
            ask_images_term(g, term);
        }
    }
    size_t n = collect(g, terms, "id", &ids);
    add_values(g, PART_IMAGES, "image-id", ids, n);
    /* What the parameters name is filled in when its turn comes. */
    if (g->n_asks > 0 && g->asks[g->n_asks - 1].part == PART_IMAGES) {
        add_describe(g, PART_IMAGES, 1);
        g->asks[g->n_asks - 1].variant = "";
    }
}

/* The last segment: a role may come with its path. */
static const char *profile_name(const json_t *spec, bool *ret_role)
{
    const char *profile = jsonx_str_or(spec, "instanceProfile", "");
    const char *role = jsonx_str_or(spec, "role", "");
    const char *slash = strrchr(role, '/');
    *ret_role = !*profile;
    return *profile ? profile : slash ? slash + 1 : role;
}

static void put_text(char **dst, const char *s)
{
    free(*dst);
    *dst = s ? xstrdup(s) : NULL;
}

static void profile_is(struct resolving *g, const char *name, const char *why)
{
    put_text(&g->into->profile, name);
    put_text(&g->into->profile_why, why);
}

static void ask_profile(struct resolving *g)
{
    bool role;
    const char *name = profile_name(g->spec, &role);
    if (!g->j.c->rt->opt->isolated_vpc) {
        add_ask(g, ASK_PROFILE, PART_PROFILE)->name = arena_strdup(&g->j.mem, name);
    } else if (role) {
        profile_is(g, NULL,
                   "spec.role needs IAM, which an isolated VPC cannot reach: set "
                   "spec.instanceProfile");
    } else {
        profile_is(g, name, NULL);
    }
}

/* One id at a time: EC2 fails the whole question for one that it does not know. */
static void ask_reservations(struct resolving *g)
{
    size_t i;
    json_t *term;
    json_array_foreach (jsonx_arr(g->spec, "capacityReservationSelectorTerms"), i, term) {
        struct arena *a = &g->j.mem;
        const json_t *tags = jsonx_obj(term, "tags");
        const char *id = jsonx_str_or(term, "id", ""), *owner = jsonx_str_or(term, "ownerID", "");
        const char *match = jsonx_str_or(term, "instanceMatchCriteria", "");
        struct ec2_filter *f = add_describe(g, PART_RESERVATIONS, json_object_size(tags) + 2);
        struct ec2_describe *req = &g->asks[g->n_asks - 1].req;
        if (*id) {
            req->ids = one_string(a, id);
            req->max_results = 0;
        }
        add_tags(a, tags, f, &req->filters.n);
        if (*owner) {
            add_filter(a, f, &req->filters.n, "owner-id", one_string(a, owner));
        }
        if (*match) {
            add_filter(a, f, &req->filters.n, "instance-match-criteria", one_string(a, match));
        }
    }
}

/* ---- answers ------------------------------------------------------------------------------------
 */

static void next(struct resolving *g);

static struct ask *current(struct resolving *g)
{
    return &g->asks[g->at];
}

static void part_failed(struct resolving *g, const struct err *err)
{
    enum resolve_part part = current(g)->part;
    g->failed[part] = true;
    g->into->err[part] = *err;
    g->at++;
    next(g);
}

static void add_images(struct resolving *g, const struct ec2_images *page)
{
    for (size_t i = 0; i < page->n && g->n_images < RESOLVE_MAX; i++) {
        const struct ec2_image *m = &page->v[i];
        struct image_in in = {.id = m->id,
                              .name = m->name ? m->name : "",
                              .arch = m->architecture,
                              .created_ns = m->created_wall_ns,
                              .deprecated_ns = m->deprecated_wall_ns};
        for (uint32_t k = 0; k < g->n_variants && !in.variant; k++) {
            if (str_eq(g->variants[k].image_id, m->id)) {
                in.variant = g->variants[k].variant;
            }
        }
        ARENA_GROW(&g->j.mem, g->images, g->n_images, g->cap_images);
        g->images[g->n_images++] = in;
    }
}

static int take_page(struct resolving *g, const struct aws_result *res, const char **ret_token,
                     struct err *err)
{
    struct arena *a = &g->j.mem;
    if (current(g)->part == PART_SUBNETS) {
        struct ec2_subnets page;
        if (ec2_parse_describe_subnets(a, res->body, res->body_n, &page, err) < 0) {
            return -1;
        }
        for (size_t i = 0; i < page.n && g->n_subnets < RESOLVE_MAX; i++) {
            ARENA_GROW(a, g->subnets, g->n_subnets, g->cap_subnets);
            g->subnets[g->n_subnets++] = page.v[i];
        }
        *ret_token = page.next_token;
    } else if (current(g)->part == PART_GROUPS) {
        struct ec2_groups page;
        if (ec2_parse_describe_groups(a, res->body, res->body_n, &page, err) < 0) {
            return -1;
        }
        for (size_t i = 0; i < page.n && g->n_groups < RESOLVE_MAX; i++) {
            ARENA_GROW(a, g->groups, g->n_groups, g->cap_groups);
            g->groups[g->n_groups++] = page.v[i];
        }
        *ret_token = page.next_token;
    } else if (current(g)->part == PART_RESERVATIONS) {
        struct ec2_reservations page;
        if (ec2_parse_describe_reservations(a, res->body, res->body_n, &page, err) < 0) {
            return -1;
        }
        for (size_t i = 0; i < page.n && g->n_reservations < RESOLVE_MAX; i++) {
            ARENA_GROW(a, g->reservations, g->n_reservations, g->cap_reservations);
            g->reservations[g->n_reservations++] = page.v[i];
        }
        *ret_token = page.next_token;
    } else {
        struct ec2_images page;
        if (ec2_parse_describe_images(a, res->body, res->body_n, &page, err) < 0) {
            return -1;
        }
        add_images(g, &page);
        *ret_token = page.next_token;
    }
    return 0;
}

static void on_page(struct job *j, void *ctx UNUSED, const struct aws_result *res)
{
    struct resolving *g = (struct resolving *)j;
    struct err err = res->err;
    const char *token = NULL;
    if (err.kind == ERR_NOT_FOUND && current(g)->part == PART_RESERVATIONS) {
        g->at++; /* one that has ended: the others are still to be had */
        next(g);
        return;
    }
    if (err.kind != ERR_NONE || take_page(g, res, &token, &err) < 0) {
        part_failed(g, &err);
        return;
    }
    current(g)->req.next_token = token;
    if (!token) {
        g->at++;
    }
    next(g);
}

/* A parameter that does not exist is skipped: not every release has every variant. */
static void on_parameter(struct job *j, void *ctx UNUSED, const struct aws_result *res)
{
    struct resolving *g = (struct resolving *)j;
    struct err err = res->err;
    struct ssm_parameter p;
    if (err.kind != ERR_NONE && err.kind != ERR_NOT_FOUND) {
        part_failed(g, &err);
        return;
    }
    if (err.kind == ERR_NONE) {
        if (ssm_parse_get_parameter(&j->mem, res->body, res->body_n, &p, &err) < 0) {
            part_failed(g, &err);
            return;
        }
        if (str_starts(p.value, "ami-")) {
            ARENA_GROW(&j->mem, g->variants, g->n_variants, g->cap_variants);
            g->variants[g->n_variants++] = (struct variant_of){p.value, current(g)->variant};
        } else if (current(g)->own_parameter) {
            err_set(&err, ERR_INVALID, "SSM parameter %s holds no image id", current(g)->name);
            part_failed(g, &err);
            return;
        }
    }
    g->at++;
    next(g);
}

static void on_profile(struct job *j, void *ctx UNUSED, const struct aws_result *res)
{
    struct resolving *g = (struct resolving *)j;
    struct err err = res->err;
    struct iam_instance_profile p;
    bool role;
    const char *name = profile_name(g->spec, &role);
    char why[512];
    if (err.kind == ERR_NOT_FOUND && role) {
        snprintf(why, sizeof(why),
                 "there is no instance profile named like role %s; create one with that role, or "
                 "set spec.instanceProfile to one that has it",
                 name);
        profile_is(g, NULL, why);
    } else if (err.kind == ERR_NOT_FOUND) {
        snprintf(why, sizeof(why), "instance profile %s does not exist", name);
        profile_is(g, NULL, why);
    } else if (err.kind == ERR_FORBIDDEN && !role) {
        profile_is(g, name, NULL); /* we may not look; EC2 will say if it is wrong */
    } else if (err.kind != ERR_NONE ||
               iam_parse_get_instance_profile(&j->mem, res->body, res->body_n, &p, &err) < 0) {
        part_failed(g, &err);
        return;
    } else if (role && !str_eq(p.role_name, name)) {
        snprintf(why, sizeof(why),
                 "instance profile %s has role %s, not %s; set spec.instanceProfile to one that "
                 "has it",
                 name, p.role_name ? p.role_name : "none", name);
        profile_is(g, NULL, why);
    } else {
        profile_is(g, name, NULL);
    }
    g->at++;
    next(g);
}

/* ---- asking -------------------------------------------------------------------------------------
 */

static void ask_page(struct resolving *g, struct ask *q)
{
    AUTO_FORM struct form f = {0};
    if (q->part == PART_SUBNETS) {
        ec2_encode_describe_subnets(&f, &q->req);
    } else if (q->part == PART_GROUPS) {
        ec2_encode_describe_groups(&f, &q->req);
    } else if (q->part == PART_RESERVATIONS) {
        ec2_encode_describe_reservations(&f, &q->req);
    } else {
        ec2_encode_describe_images(&f, &q->req);
    }
    job_aws_form(&g->j, "ec2", &f, true, on_page, NULL);
}

static void ask_parameter(struct resolving *g, const struct ask *q)
{
    AUTO_BUF struct buf b;
    buf_init(&b, AWS_REQUEST_MAX);
    ssm_encode_get_parameter(&b, q->name);
    const struct aws_call call = {
        .service = "ssm", .action = "GetParameter", .body = b.p, .body_n = b.n, .repeatable = true};
    job_aws(&g->j, &call, on_parameter, NULL);
}

/* The question about the images that parameters named; false if there are none. */
static bool fill_named(struct resolving *g, struct ask *q)
{
    const char **ids = ARENA_NEW_N(&g->j.mem, const char *, g->n_variants);
    for (uint32_t i = 0; i < g->n_variants; i++) {
        ids[i] = g->variants[i].image_id;
    }
    struct ec2_filter *v = arena_alloc_n(&g->j.mem, 2, sizeof(*v));
    v[0] = q->req.filters.v[0];
    q->req.filters = (struct ec2_filters){v, 1};
    add_filter(&g->j.mem, v, &q->req.filters.n, "image-id",
               (struct ec2_strings){ids, g->n_variants});
    q->variant = NULL;
    return g->n_variants > 0;
}

static void resolving_end(struct resolving *g);

static void next(struct resolving *g)
{
    while (g->at < g->n_asks) {
        struct ask *q = current(g);
        bool skip =
            g->failed[q->part] || (q->what == ASK_DESCRIBE && q->variant && !fill_named(g, q));
        if (!skip) {
            break;
        }
        g->at++;
    }
    if (g->at == g->n_asks) {
        resolving_end(g);
        return;
    }
    struct ask *q = current(g);
    if (q->what == ASK_DESCRIBE) {
        ask_page(g, q);
    } else if (q->what == ASK_PARAMETER) {
        ask_parameter(g, q);
    } else {
        AUTO_FORM struct form f = {0};
        iam_encode_get_instance_profile(&f, q->name);
        job_aws_form(&g->j, "iam", &f, true, on_profile, NULL);
    }
}

/* ---- the end --------------------------------------------------------------------------------- */

static int subnet_cmp(const void *a, const void *b)
{
    const struct ec2_subnet *x = a, *y = b;
    if (x->free_ips != y->free_ips) {
        return x->free_ips > y->free_ips ? -1 : 1;
    }
    return str_cmp(x->id, y->id);
}

static void commit_subnets(struct resolving *g)
{
    struct resolved *r = g->into;
    clear_subnets(r);
    if (g->n_subnets > 0) {
        qsort(g->subnets, g->n_subnets, sizeof(*g->subnets), subnet_cmp);
    }
    r->subnets = NEW_N(struct res_subnet, g->n_subnets);
    for (uint32_t i = 0; i < g->n_subnets; i++) {
        const struct ec2_subnet *s = &g->subnets[i];
        if (i > 0 && str_eq(s->id, g->subnets[i - 1].id)) {
            continue; /* two terms may select the same */
        }
        r->subnets[r->n_subnets++] = (struct res_subnet){.id = xstrdup(s->id),
                                                         .zone = xstrdup(s->zone ? s->zone : ""),
                                                         .zone_id = xstrdup(s->zone_id),
                                                         .free_ips = s->free_ips};
    }
}

static int group_cmp(const void *a, const void *b)
{
    return str_cmp(((const struct ec2_group *)a)->id, ((const struct ec2_group *)b)->id);
}

static void commit_groups(struct resolving *g)
{
    json_t *list = json_array();
    if (g->n_groups > 0) {
        qsort(g->groups, g->n_groups, sizeof(*g->groups), group_cmp);
    }
    for (uint32_t i = 0; i < g->n_groups; i++) {
        const struct ec2_group *s = &g->groups[i];
        if (i == 0 || !str_eq(s->id, g->groups[i - 1].id)) {
            json_array_append_new(
                list, json_pack("{s:s, s:s}", "id", s->id, "name", s->name ? s->name : ""));
        }
    }
    json_decref(g->into->groups);
    g->into->groups = list;
}

static int reservation_cmp(const void *a, const void *b)
{
    return str_cmp(((const struct ec2_reservation *)a)->id,
                   ((const struct ec2_reservation *)b)->id);
}

static json_t *reservation_json(const struct ec2_reservation *r, int64_t now_ns)
{
    char end[TIMEFMT_TEXT];
    const char *kind = r->kind ? r->kind : "default";
    bool expiring = str_eq(kind, "capacity-block") && r->end_wall_ns &&
                    r->end_wall_ns - now_ns < RESERVE_EXPIRING_NS;
    json_t *o = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:s}", "id", r->id, "instanceType", r->instance_type,
        "availabilityZone", r->zone, "ownerID", r->owner_id ? r->owner_id : "",
        "instanceMatchCriteria", r->match ? r->match : "targeted", "reservationType", kind,
        "interruptible", r->interruptible, "state", expiring ? "expiring" : "active");
    if (r->end_wall_ns) {
        json_object_set_new(o, "endTime", json_string(timefmt_rfc3339(r->end_wall_ns, end)));
    }
    return o;
}

static void commit_reservations(struct resolving *g)
{
    struct cloud *c = g->j.c;
    json_t *list = json_array();
    if (g->n_reservations > 0) {
        qsort(g->reservations, g->n_reservations, sizeof(*g->reservations), reservation_cmp);
    }
    for (uint32_t i = 0; i < g->n_reservations; i++) {
        const struct ec2_reservation *r = &g->reservations[i];
        if (i == 0 || !str_eq(r->id, g->reservations[i - 1].id)) {
            json_array_append_new(list, reservation_json(r, cloud_wall(c)));
            reserve_told(c, r->id, r->available, g->asked_ns);
        }
    }
    json_decref(g->into->reservations);
    g->into->reservations = list;
}

static int64_t period_ns(const struct resolved *r, enum resolve_part part)
{
    switch (part) {
    case PART_SUBNETS:
        return SUBNETS_REFRESH_NS;
    case PART_GROUPS:
        return GROUPS_REFRESH_NS;
    case PART_IMAGES:
        return json_array_size(r->images) ? IMAGES_REFRESH_NS : IMAGES_NONE_NS;
    case PART_RESERVATIONS:
        return RESERVATIONS_REFRESH_NS;
    default:
        return r->profile ? PROFILE_REFRESH_NS : PROFILE_NONE_NS;
    }
}

static void commit(struct resolving *g, enum resolve_part part)
{
    struct resolved *r = g->into;
    struct cloud *c = g->j.c;
    int64_t now_ns = cloud_mono(c);
    if (g->failed[part]) {
        r->due_ns[part] = now_ns + cloud_backoff(c, ++r->failures[part], RESOLVE_RETRY_MAX_NS);
        return;
    }
    if (part == PART_SUBNETS) {
        commit_subnets(g);
    } else if (part == PART_GROUPS) {
        commit_groups(g);
    } else if (part == PART_IMAGES) {
        json_decref(r->images);
        r->images = images_status(g->images, g->n_images, cloud_wall(c));
    } else if (part == PART_RESERVATIONS) {
        commit_reservations(g);
    }
    r->have[part] = true;
    r->failures[part] = 0;
    err_clear(&r->err[part]);
    r->due_ns[part] = now_ns + entropy_jitter(c->rt->entropy, period_ns(r, part), 10);
}

static void resolving_end(struct resolving *g)
{
    struct cloud *c = g->j.c;
    resolve_done_fn done = g->done;
    for (int part = 0; part < PART_COUNT; part++) {
        if (g->parts & (1u << part)) {
            commit(g, (enum resolve_part)part);
        }
    }
    char *cls = g->cls;
    g->cls = NULL;
    job_end(&g->j);
    done(c, cls);
    free(cls);
}

static void resolving_drop(struct job *j)
{
    free(((struct resolving *)j)->cls);
}

static void begin(struct job *j)
{
    struct resolving *g = (struct resolving *)j;
    g->asked_ns = cloud_mono(j->c);
    next(g);
}

struct job *resolve_start(struct cloud *c, const char *cls, const json_t *spec, unsigned parts,
                          struct resolved *into, resolve_done_fn done)
{
    struct resolving *g = job_new(c, sizeof(*g), resolving_drop);
    g->cls = xstrdup(cls);
    g->into = into;
    g->done = done;
    g->spec = spec;
    g->parts = parts;
    if (parts & (1u << PART_SUBNETS)) {
        ask_network(g, PART_SUBNETS, "subnetSelectorTerms", "subnet-id", NULL);
    }
    if (parts & (1u << PART_GROUPS)) {
        ask_network(g, PART_GROUPS, "securityGroupSelectorTerms", "group-id", "group-name");
    }
    if (parts & (1u << PART_IMAGES)) {
        ask_images(g);
    }
    if (parts & (1u << PART_PROFILE)) {
        ask_profile(g);
    }
    if ((parts & (1u << PART_RESERVATIONS)) && reserve_selected(c, spec)) {
        ask_reservations(g);
    }
    job_later(&g->j, 0, begin);
    return &g->j;
}
