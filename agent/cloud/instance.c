/*
 * instance.c - instances: describe, list, terminate, tag (aws-ec2.md §3.10).
 *
 * EC2 shows a new instance late. One that this process launched, or that a claim has had for less
 * than INSTANCE_YOUNG_NS, is not "gone" because EC2 does not know it: such an answer is turned into
 * ERR_UNAVAILABLE here, for everybody.
 */
#include "cloud_int.h"
#include "common/base/alloc.h"
#include "common/base/str.h"

#define LIST_MAX 200000 /* instances of one list */
#define PAGES_MAX 1000

enum instance_job { JOB_LIST, JOB_FIND, JOB_GET };

struct look {
    struct job j;
    enum instance_job what;
    cloud_list_fn list;
    cloud_done_fn done;
    void *arg;
    const char *key; /* claim UID or instance id */
    struct instance *v;
    uint32_t n, cap, pages;
    const char *token;
};

static const char *const alive[] = {"pending", "running", "stopping", "stopped", "shutting-down"};

/* ---- young ones
 * ---------------------------------------------------------------------------------- */

void instances_init(struct cloud *c)
{
    c->instances.young = map_new(INSTANCE_YOUNG_MAX);
}

void instances_done(struct cloud *c)
{
    for (MAP_EACH(c->instances.young, e)) {
        free(map_value(e));
    }
    map_free(c->instances.young);
}

/* In the order of their launches: the oldest stand first. */
static void forget_grown_up(struct cloud *c)
{
    int64_t now_ns = cloud_mono(c);
    for (MAP_EACH(c->instances.young, e)) {
        struct young *y = map_value(e);
        if (now_ns - y->answered_ns < INSTANCE_YOUNG_NS) {
            return;
        }
        map_del(c->instances.young, map_key(e));
        free(y);
    }
}

void instance_launched(struct cloud *c, const char *id, int64_t sent_wall_ns)
{
    forget_grown_up(c);
    struct young *y = NEW(struct young);
    *y = (struct young){sent_wall_ns, cloud_wall(c), cloud_mono(c)};
    bool full = false;
    free(map_put(c->instances.young, id, y, &full));
    if (full) {
        free(y);
    }
}

/* A claim that has had it for less than the time. */
static bool young_by_claim(const struct cloud *c, const char *id)
{
    for (MAP_EACH(store_all(c->rt->store, STORE_CLAIM), e)) {
        const struct nodeclaim *nc = map_value(e);
        const struct condition *launched = condition_find(&nc->conditions, "Launched");
        if (str_eq(cloud_instance_id(nc->provider_id), id)) {
            return launched && cloud_wall(c) - launched->transition_ns < INSTANCE_YOUNG_NS;
        }
    }
    return false;
}

static bool is_young(struct cloud *c, const char *id)
{
    forget_grown_up(c);
    return map_has(c->instances.young, id) || young_by_claim(c, id);
}

static void not_visible_yet(struct err *err, const char *id)
{
    err_set(err, ERR_UNAVAILABLE, "EC2 does not show the new instance %s yet", id);
}

/* ---- the clock
 * ----------------------------------------------------------------------------------- */

/* EC2's launch time lies between the request and its answer, by a clock that is right. */
static void learn_skew(struct cloud *c, const struct ec2_instance *i)
{
    const struct young *y = map_get(c->instances.young, i->id);
    if (!y || !i->launch_wall_ns) {
        return;
    }
    /* EC2 tells whole seconds. */
    int64_t before = y->sent_wall_ns - NS_PER_S, after = y->answered_wall_ns + NS_PER_S;
    int64_t skew = i->launch_wall_ns < before  ? before - i->launch_wall_ns
                   : i->launch_wall_ns > after ? after - i->launch_wall_ns
                                               : 0;
    if (skew > -SKEW_MAX_NS && skew < SKEW_MAX_NS) {
        c->instances.skew_ns = skew;
    }
}

int64_t cloud_clock_skew_ns(const struct cloud *c)
{
    return c->instances.skew_ns;
}

/* ---- failing calls
 * -------------------------------------------------------------------------------- */

static bool as_such(const struct err *err)
{
    switch (err->kind) {
    case ERR_UNAVAILABLE:
    case ERR_THROTTLED:
    case ERR_TIMEOUT:
    case ERR_FORBIDDEN:
    case ERR_UNAUTHENTICATED:
        return true;
    default:
        return false;
    }
}

void instance_note_call(struct cloud *c, bool launch, const struct err *err)
{
    int64_t *at = launch ? &c->instances.launch_failed_ns : &c->instances.terminate_failed_ns;
    int64_t now_ns = cloud_mono(c);
    *at = as_such(err) ? (now_ns > 0 ? now_ns : 1) : 0;
}

static void note_read(struct cloud *c, const struct err *err)
{
    if (err->kind != ERR_CANCELLED) {
        c->instances.reads_fail = as_such(err);
    }
}

bool cloud_failing(const struct cloud *c)
{
    if (c->instances.reads_fail) {
        return true; /* whoever cannot be asked cannot be told either */
    }
    int64_t now_ns = cloud_mono(c);
    const int64_t at[] = {c->instances.launch_failed_ns, c->instances.terminate_failed_ns};
    for (size_t i = 0; i < ARRAY_LEN(at); i++) {
        if (at[i] && now_ns - at[i] < FAILING_NS) {
            return true;
        }
    }
    return false;
}

/* ---- describing
 * ----------------------------------------------------------------------------------- */

static const char *tag_of(const struct ec2_instance *i, const char *key)
{
    const char *v = ec2_tag(&i->tags, key);
    return v ? v : "";
}

static const char *text(const char *s)
{
    return s ? s : "";
}

static struct instance describe(const struct ec2_instance *i)
{
    return (struct instance){
        .id = i->id,
        .type = text(i->type),
        .zone = text(i->zone),
        .zone_id = text(i->zone_id),
        .image_id = text(i->image_id),
        .subnet_id = text(i->subnet_id),
        .state = text(i->state),
        .claim_uid = tag_of(i, TAG_CLAIM_UID),
        .cluster_uid = tag_of(i, TAG_CLUSTER_UID),
        .cluster = tag_of(i, TAG_CLUSTER),
        .pool = tag_of(i, TAG_POOL),
        .cls = tag_of(i, TAG_CLASS),
        .claim = tag_of(i, TAG_CLAIM),
        .name_tag = tag_of(i, "Name"),
        .ct = i->spot_request_id ? CT_SPOT : CT_ON_DEMAND,
        .launched_ns = i->launch_wall_ns,
    };
}

/* Lists are of this very cluster; a look by id is of whatever has the id. */
static bool wanted(const struct look *k, const struct instance *i)
{
    if (str_eq(i->state, "terminated")) {
        return false;
    }
    return k->what == JOB_GET || (str_eq(i->cluster_uid, k->j.c->rt->cluster_uid) &&
                                  str_eq(i->cluster, k->j.c->rt->opt->cluster_name));
}

static void look_end(struct look *k, const struct err *err)
{
    k->list(k->arg, err, err->kind == ERR_NONE ? k->v : NULL, err->kind == ERR_NONE ? k->n : 0);
    job_end(&k->j);
}

static void ask_page(struct look *k);

static void on_page(struct job *j, void *ctx UNUSED, const struct aws_result *res)
{
    struct look *k = (struct look *)j;
    struct ec2_instances page = {.n = 0};
    struct err err = res->err;
    note_read(j->c, &err);
    if (k->what == JOB_GET && err.kind == ERR_NOT_FOUND) {
        err_clear(&err);
    } else if (err.kind == ERR_NONE) {
        ec2_parse_describe_instances(&j->mem, res->body, res->body_n, &page, &err);
    }
    for (size_t i = 0; err.kind == ERR_NONE && i < page.n; i++) {
        struct instance in = describe(&page.v[i]);
        learn_skew(j->c, &page.v[i]);
        if (wanted(k, &in)) {
            ARENA_GROW(&j->mem, k->v, k->n, k->cap);
            k->v[k->n++] = in;
        }
    }
    if (err.kind == ERR_NONE && page.next_token) {
        k->token = page.next_token;
        if (++k->pages < PAGES_MAX && k->n < LIST_MAX) {
            ask_page(k);
            return;
        }
        err_set(&err, ERR_LIMIT, "EC2 lists more than %u instances", k->n);
    }
    if (err.kind == ERR_NONE && k->what == JOB_GET && page.n == 0 && is_young(j->c, k->key)) {
        not_visible_yet(&err, k->key);
    }
    look_end(k, &err);
}

static void ask_page(struct look *k)
{
    AUTO_FORM struct form form = {0};
    const char *cluster[] = {k->j.c->rt->opt->cluster_name};
    const char *pool[] = {TAG_POOL}, *cls[] = {TAG_CLASS}, *key[] = {k->key};
    const struct ec2_filter state = {"instance-state-name", {alive, ARRAY_LEN(alive)}};
    const struct ec2_filter listing[] = {
        state, {"tag-key", {pool, 1}}, {"tag-key", {cls, 1}}, {"tag:" TAG_CLUSTER, {cluster, 1}}};
    const struct ec2_filter finding[] = {state, {"tag:" TAG_CLAIM_UID, {key, 1}}};
    struct ec2_describe_instances req = {.next_token = k->token};
    if (k->what == JOB_GET) {
        req.ids = (struct ec2_strings){key, 1};
    } else {
        req.max_results = EC2_PAGE_INSTANCES;
        req.filters = k->what == JOB_LIST ? (struct ec2_filters){listing, ARRAY_LEN(listing)}
                                          : (struct ec2_filters){finding, ARRAY_LEN(finding)};
    }
    ec2_encode_describe_instances(&form, &req);
    job_aws_form(&k->j, "ec2", &form, true, on_page, NULL);
}

static void no_cluster(struct job *j)
{
    struct err err = ERR_INIT;
    err_set(&err, ERR_UNAVAILABLE, "the cluster's UID is not known yet");
    look_end((struct look *)j, &err);
}

static void look_begin(struct cloud *c, enum instance_job what, const char *key, cloud_list_fn fn,
                       void *arg)
{
    struct look *k = job_new(c, sizeof(*k), NULL);
    k->what = what;
    k->list = fn;
    k->arg = arg;
    k->key = arena_strdup(&k->j.mem, key);
    if (what != JOB_GET && !c->rt->cluster_uid) {
        job_later(&k->j, 0, no_cluster);
        return;
    }
    ask_page(k);
}

void cloud_list(struct cloud *c, cloud_list_fn done, void *arg)
{
    look_begin(c, JOB_LIST, NULL, done, arg);
}

void cloud_find(struct cloud *c, const char *claim_uid, cloud_list_fn done, void *arg)
{
    look_begin(c, JOB_FIND, claim_uid, done, arg);
}

void cloud_get(struct cloud *c, const char *instance_id, cloud_list_fn done, void *arg)
{
    look_begin(c, JOB_GET, instance_id, done, arg);
}

/* ---- terminating and tagging
 * ------------------------------------------------------------------------ */

static void on_terminated(struct job *j, void *ctx UNUSED, const struct aws_result *res)
{
    struct look *k = (struct look *)j;
    struct err err = res->err;
    if (err.kind != ERR_CANCELLED) {
        instance_note_call(j->c, false, &err);
    }
    if (err.kind == ERR_NOT_FOUND && is_young(j->c, k->key)) {
        not_visible_yet(&err, k->key);
    }
    k->done(k->arg, &err);
    job_end(j);
}

void cloud_terminate(struct cloud *c, const char *instance_id, cloud_done_fn done, void *arg)
{
    struct look *k = job_new(c, sizeof(*k), NULL);
    AUTO_FORM struct form f = {0};
    k->done = done;
    k->arg = arg;
    k->key = arena_strdup(&k->j.mem, instance_id);
    const struct ec2_strings ids = {&k->key, 1};
    ec2_encode_terminate_instances(&f, &ids);
    job_aws_form(&k->j, "ec2", &f, true, on_terminated, NULL);
}

static void on_tagged(struct job *j, void *ctx UNUSED, const struct aws_result *res)
{
    struct look *k = (struct look *)j;
    struct err err = res->err;
    if (err.kind == ERR_NONE) {
        ec2_parse_create_tags(&j->mem, res->body, res->body_n, &err);
    }
    k->done(k->arg, &err);
    job_end(j);
}

void cloud_tag(struct cloud *c, const char *instance_id, const struct kv *tags, uint32_t n,
               cloud_done_fn done, void *arg)
{
    struct look *k = job_new(c, sizeof(*k), NULL);
    AUTO_FORM struct form f = {0};
    struct ec2_tag *v = ARENA_NEW_N(&k->j.mem, struct ec2_tag, n);
    for (uint32_t i = 0; i < n; i++) {
        v[i] = (struct ec2_tag){tags[i].key, tags[i].value};
    }
    k->done = done;
    k->arg = arg;
    const struct ec2_strings ids = {&instance_id, 1};
    const struct ec2_tags list = {v, n};
    ec2_encode_create_tags(&f, &ids, &list);
    job_aws_form(&k->j, "ec2", &f, true, on_tagged, NULL);
}

const char *cloud_instance_id(const char *provider_id)
{
    static const char scheme[] = "aws:///";
    if (!provider_id || !str_starts(provider_id, scheme)) {
        return NULL;
    }
    const char *slash = strchr(provider_id + sizeof(scheme) - 1, '/');
    return slash && str_starts(slash + 1, "i-") ? slash + 1 : NULL;
}
