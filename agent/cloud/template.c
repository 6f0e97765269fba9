/*
 * template.c - launch templates: one per distinct content, named by it, deleted when unused.
 *
 * A template is never changed: other content is another name. The hash of the encoded content is
 * the name, so that two agents, or one before and after a crash, agree without asking each other.
 */
#include "agent/work/gate.h"
#include "cloud_int.h"
#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "common/base/str.h"

#define NAME_HEX 16
#define NAMES_PER_CALL 100

void templates_init(struct cloud *c)
{
    c->templates.known = map_new(TEMPLATES_MAX);
    c->templates.asking = map_new(TEMPLATES_MAX);
}

void templates_done(struct cloud *c)
{
    for (MAP_EACH(c->templates.known, e)) {
        free(map_value(e));
    }
    map_free(c->templates.known);
    map_free(c->templates.asking);
}

void templates_used(struct cloud *c, const char *name)
{
    int64_t *at = map_get(c->templates.known, name);
    if (!at) {
        at = NEW(int64_t);
        bool full = false;
        map_put(c->templates.known, name, at, &full);
        if (full) {
            free(at);
            return;
        }
    }
    *at = cloud_mono(c);
}

void templates_forget(struct cloud *c, const char *name)
{
    free(map_del(c->templates.known, name));
}

void template_name(struct arena *a, struct ec2_create_template *req)
{
    AUTO_FORM struct form f = {0};
    char hex[SHA256_HEX];
    req->name = req->client_token = NULL;
    ec2_encode_create_template(&f, req);
    hash_sha256_hex(f.body.p, f.body.n, hex);
    req->name = arena_printf(a, TEMPLATE_PREFIX "%.*s", NAME_HEX, hex);
    /* No ClientToken: the name already makes the call idempotent (AlreadyExists), and a token would
     * be answered with the template that was deleted in the meantime. */
}

/* ---- ensuring ----------------------------------------------------------------------------------
 */

struct ensuring {
    struct job *j;
    templates_fn done;
    const struct ec2_create_template *v;
    size_t n;
    bool *there;
    size_t pending;
    struct err err;
};

struct creating {
    struct ensuring *s;
    const char *name;
};

static void ensuring_end(struct ensuring *s)
{
    struct map *asking = s->j->c->templates.asking;
    for (size_t i = 0; i < s->n; i++) {
        if (map_get(asking, s->v[i].name) == s) {
            map_del(asking, s->v[i].name);
        }
    }
    s->done(s->j, &s->err);
}

static void ensured(struct ensuring *s)
{
    for (size_t i = 0; i < s->n && s->err.kind == ERR_NONE; i++) {
        templates_used(s->j->c, s->v[i].name);
    }
    ensuring_end(s);
}

static void on_created(struct job *j, void *ctx, const struct aws_result *res)
{
    struct creating *k = ctx;
    struct ensuring *s = k->s;
    if (res->err.kind == ERR_NONE || res->err.kind == ERR_EXISTS) {
        templates_used(j->c, k->name);
    } else if (s->err.kind == ERR_NONE) {
        s->err = res->err;
    }
    if (--s->pending == 0) {
        ensured(s);
    }
}

static void create_missing(struct ensuring *s)
{
    struct job *j = s->j;
    for (size_t i = 0; i < s->n; i++) {
        s->pending += s->there[i] ? 0 : 1;
    }
    if (s->pending == 0) {
        ensured(s);
        return;
    }
    for (size_t i = 0; i < s->n; i++) {
        if (s->there[i]) {
            continue;
        }
        AUTO_FORM struct form f = {0};
        struct creating *k = ARENA_NEW(&j->mem, struct creating);
        *k = (struct creating){s, s->v[i].name};
        ec2_encode_create_template(&f, &s->v[i]);
        job_aws_form(j, "ec2", &f, true, on_created, k);
    }
}

static void found(struct ensuring *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++) {
        if (str_eq(s->v[i].name, name)) {
            s->there[i] = true;
        }
    }
}

static void on_described(struct job *j, void *ctx, const struct aws_result *res)
{
    struct ensuring *s = ctx;
    struct ec2_templates page;
    s->err = res->err;
    if (s->err.kind != ERR_NONE ||
        ec2_parse_describe_templates(&j->mem, res->body, res->body_n, &page, &s->err) < 0) {
        ensuring_end(s);
        return;
    }
    for (size_t i = 0; i < page.n; i++) {
        found(s, page.v[i].name);
    }
    create_missing(s);
}

/* One question about all that are not known: those it does not name are to be made. */
static void describe_unknown(struct ensuring *s, const char *const *names, size_t n)
{
    AUTO_FORM struct form form = {0};
    const struct ec2_filter f = {"launch-template-name", {names, n}};
    const struct ec2_describe_templates req = {.filters = {&f, 1},
                                               .max_results = EC2_PAGE_TEMPLATES};
    ec2_encode_describe_templates(&form, &req);
    job_aws_form(s->j, "ec2", &form, true, on_described, s);
}

bool templates_asked(const struct cloud *c, const struct ec2_create_template *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (map_has(c->templates.asking, v[i].name)) {
            return true;
        }
    }
    return false;
}

void templates_ensure(struct job *j, const struct ec2_create_template *v, size_t n,
                      templates_fn done)
{
    struct ensuring *s = ARENA_NEW(&j->mem, struct ensuring);
    *s = (struct ensuring){.j = j, .done = done, .v = v, .n = n};
    s->there = ARENA_NEW_N(&j->mem, bool, n);
    const char **unknown = ARENA_NEW_N(&j->mem, const char *, n);
    size_t n_unknown = 0;
    for (size_t i = 0; i < n; i++) {
        s->there[i] = map_has(j->c->templates.known, v[i].name);
        if (!s->there[i] && n_unknown < NAMES_PER_CALL) {
            unknown[n_unknown++] = v[i].name;
            map_put(j->c->templates.asking, v[i].name, s, NULL);
        }
    }
    if (n_unknown > 0) {
        describe_unknown(s, unknown, n_unknown);
    } else {
        ensured(s);
    }
}

/* ---- deleting ----------------------------------------------------------------------------------
 */

struct sweep {
    struct job j;
    const char **names; /* to be deleted */
    size_t n, cap, at;
    const char *token;
    char *cls; /* all of a class, NULL: those unused */
    templates_gone_fn gone;
    struct err err;
};

static void sweep_drop(struct job *j)
{
    free(((struct sweep *)j)->cls);
}

static void add_name(struct sweep *s, const char *name)
{
    ARENA_GROW(&s->j.mem, s->names, s->n, s->cap);
    s->names[s->n++] = arena_strdup(&s->j.mem, name);
}

static void sweep_begin(struct job *j);

static void sweep_end(struct sweep *s)
{
    struct cloud *c = s->j.c;
    if (!s->cls) {
        s->n = s->at = s->cap = 0;
        s->names = NULL;
        s->token = NULL;
        arena_reset(&s->j.mem);
        job_later(&s->j, TEMPLATE_SWEEP_NS, sweep_begin);
        return;
    }
    templates_gone_fn gone = s->gone;
    char *cls = s->cls;
    struct err err = s->err;
    s->cls = NULL;
    job_end(&s->j);
    gone(c, cls, &err);
    free(cls);
}

static void delete_next(struct sweep *s);

static void on_deleted(struct job *j, void *ctx UNUSED, const struct aws_result *res)
{
    struct sweep *s = (struct sweep *)j;
    const char *name = s->names[s->at++];
    if (res->err.kind == ERR_NONE || res->err.kind == ERR_NOT_FOUND) {
        templates_forget(j->c, name);
    } else {
        s->err = res->err;
        if (res->err.kind != ERR_CANCELLED) {
            log_error(j->c->rt->log, "cannot delete launch template", "name", name, "error",
                      res->err.msg);
        }
    }
    delete_next(s);
}

static void delete_next(struct sweep *s)
{
    int64_t limit_ns = cloud_mono(s->j.c) - TEMPLATE_UNUSED_NS;
    while (s->at < s->n && !s->cls) {
        const int64_t *used = map_get(s->j.c->templates.known, s->names[s->at]);
        if (used && *used <= limit_ns) {
            break;
        }
        s->at++; /* used since it was put on the list */
    }
    if (s->at == s->n) {
        sweep_end(s);
        return;
    }
    AUTO_FORM struct form f = {0};
    ec2_encode_delete_template(&f, s->names[s->at], NULL);
    job_aws_form(&s->j, "ec2", &f, true, on_deleted, NULL);
}

static void delete_unused(struct sweep *s)
{
    int64_t limit_ns = cloud_mono(s->j.c) - TEMPLATE_UNUSED_NS;
    for (MAP_EACH(s->j.c->templates.known, e)) {
        const int64_t *used = map_value(e);
        if (*used <= limit_ns) {
            add_name(s, map_key(e));
        }
    }
    delete_next(s);
}

/* Templates of another cluster of the same name are not ours; those of Karpenter have no UID. */
static bool ours(const struct sweep *s, const struct ec2_template *t)
{
    const char *uid = ec2_tag(&t->tags, TAG_CLUSTER_UID);
    return uid ? str_eq(uid, s->j.c->rt->cluster_uid) : s->cls != NULL;
}

static void list_page(struct sweep *s);

static void on_listed(struct job *j, void *ctx UNUSED, const struct aws_result *res)
{
    struct sweep *s = (struct sweep *)j;
    struct ec2_templates page;
    struct err err = res->err;
    if (err.kind != ERR_NONE ||
        ec2_parse_describe_templates(&j->mem, res->body, res->body_n, &page, &err) < 0) {
        s->err = err;
        sweep_end(s);
        return;
    }
    for (size_t i = 0; i < page.n; i++) {
        if (!ours(s, &page.v[i])) {
            continue;
        }
        if (s->cls) {
            add_name(s, page.v[i].name);
        } else if (!map_has(j->c->templates.known, page.v[i].name)) {
            templates_used(j->c, page.v[i].name); /* from now on it may grow old */
        }
    }
    s->token = page.next_token;
    if (s->token) {
        list_page(s);
    } else if (s->cls) {
        delete_next(s);
    } else {
        j->c->templates.next_list_ns = cloud_mono(j->c) + TEMPLATE_LIST_NS;
        delete_unused(s);
    }
}

static void list_page(struct sweep *s)
{
    AUTO_FORM struct form form = {0};
    struct cloud *c = s->j.c;
    const char *cluster[] = {c->rt->opt->cluster_name}, *cls[] = {s->cls};
    const struct ec2_filter f[] = {{"tag:" TAG_CLUSTER, {cluster, 1}},
                                   {"tag:" TAG_CLASS, {cls, 1}}};
    const struct ec2_describe_templates req = {
        .filters = {f, s->cls ? 2 : 1}, .max_results = EC2_PAGE_TEMPLATES, .next_token = s->token};
    ec2_encode_describe_templates(&form, &req);
    job_aws_form(&s->j, "ec2", &form, true, on_listed, NULL);
}

static void sweep_begin(struct job *j)
{
    struct sweep *s = (struct sweep *)j;
    struct cloud *c = j->c;
    if (s->cls) {
        list_page(s);
    } else if (!gate_open(c->rt->gate) || !c->rt->cluster_uid) {
        job_later(j, TEMPLATE_SWEEP_NS, sweep_begin);
    } else if (cloud_mono(c) >= c->templates.next_list_ns) {
        list_page(s);
    } else {
        delete_unused(s);
    }
}

void templates_start(struct cloud *c)
{
    struct sweep *s = job_new(c, sizeof(*s), sweep_drop);
    job_later(&s->j, TEMPLATE_SWEEP_NS, sweep_begin);
}

void templates_delete_of(struct cloud *c, const char *cls, templates_gone_fn gone)
{
    struct sweep *s = job_new(c, sizeof(*s), sweep_drop);
    s->cls = xstrdup(cls);
    s->gone = gone;
    job_later(&s->j, 0, sweep_begin);
}
