/*
 * instance.c - instances: list, tag, and what is remembered of calls.
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

struct look {
    struct job j;
    cloud_list_fn list;
    cloud_done_fn done;
    void *arg;
    struct instance *v;
    uint32_t n, cap, pages;
    const char *token;
};

static const char *const alive[] = {"pending", "running", "stopping", "stopped", "shutting-down"};

/* ---- young ones ------------------------------------------------------------------------------ */

void instances_init(struct cloud *c)
{
    c->instances.young = map_new(INSTANCE_YOUNG_MAX);
    c->instances.skew_offset_ns = cloud_wall(c) - cloud_mono(c);
}

void instances_done(struct cloud *c)
{
    for (MAP_EACH(c->instances.young, e)) {
        free(map_value(e));
    }
    map_free(c->instances.young);
    for (int i = 0; i < BY_KINDS; i++) {
        free(c->instances.waiting[i].v);
    }
}

/* In the order of their launches: the oldest stand first. */
static void forget_grown_up(struct cloud *c)
{
    int64_t now_ns = cloud_mono(c);
    for (MAP_EACH(c->instances.young, e)) {
        int64_t *answered_ns = map_value(e);
        if (now_ns - *answered_ns < INSTANCE_YOUNG_NS) {
            return;
        }
        map_del(c->instances.young, map_key(e));
        free(answered_ns);
    }
}

void instance_launched(struct cloud *c, const char *id)
{
    forget_grown_up(c);
    int64_t *answered_ns = NEW(int64_t);
    bool full = false;
    *answered_ns = cloud_mono(c);
    free(map_put(c->instances.young, id, answered_ns, &full));
    if (full) {
        free(answered_ns);
    }
}

/* A claim that has had it for less than the time. */
static bool young_by_claim(const struct cloud *c, const char *id)
{
    int64_t now_ns = cloud_wall(c) - cloud_clock_skew_ns(c);
    for (MAP_EACH(store_all(c->rt->store, STORE_CLAIM), e)) {
        const struct nodeclaim *nc = map_value(e);
        const struct condition *launched = condition_find(&nc->conditions, "Launched");
        if (str_eq(cloud_instance_id(nc->provider_id), id)) {
            return launched && now_ns - launched->transition_ns < INSTANCE_YOUNG_NS;
        }
    }
    return false;
}

bool instance_is_young(struct cloud *c, const char *id)
{
    forget_grown_up(c);
    return map_has(c->instances.young, id) || young_by_claim(c, id);
}

void instance_not_visible(struct err *err, const char *id)
{
    err_set(err, ERR_UNAVAILABLE, "EC2 does not show the new instance %s yet", id);
}

/* ---- the clock ------------------------------------------------------------------------------- */

static int64_t offset_ns(const struct cloud *c)
{
    return cloud_wall(c) - cloud_mono(c);
}

/* The service's time lies between the request and its answer, by a clock that is right. */
void instance_note_date(struct cloud *c, int64_t date_ns, int64_t took_ns)
{
    if (!date_ns) {
        return;
    }
    /* It tells whole seconds. */
    int64_t after = cloud_wall(c) + NS_PER_S, before = after - took_ns - 2 * NS_PER_S;
    c->instances.skew_ns = date_ns < before  ? before - date_ns
                           : date_ns > after ? after - date_ns
                                             : 0;
    c->instances.skew_offset_ns = offset_ns(c);
}

/* A step of our clock since it was compared counts at once. */
int64_t cloud_clock_skew_ns(const struct cloud *c)
{
    return c->instances.skew_ns + offset_ns(c) - c->instances.skew_offset_ns;
}

/* ---- failing calls --------------------------------------------------------------------------- */

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

/* ---- describing ------------------------------------------------------------------------------ */

static const char *tag_of(const struct ec2_instance *i, const char *key)
{
    const char *v = ec2_tag(&i->tags, key);
    return v ? v : "";
}

static const char *text(const char *s)
{
    return s ? s : "";
}

/* As Karpenter: in a reservation by chance (an open one) is on demand. */
struct instance instance_of(const struct ec2_instance *i)
{
    bool reserved = i->reservation_id && !i->spot_request_id &&
                    str_eq(i->reservation_preference, "capacity-reservations-only");
    return (struct instance){
        .id = i->id,
        .type = text(i->type),
        .zone = text(i->zone),
        .zone_id = text(i->zone_id),
        .image_id = text(i->image_id),
        .subnet_id = text(i->subnet_id),
        .groups = i->group_ids.v,
        .n_groups = (uint32_t)i->group_ids.n,
        .state = text(i->state),
        .claim_uid = tag_of(i, TAG_CLAIM_UID),
        .cluster_uid = tag_of(i, TAG_CLUSTER_UID),
        .cluster = tag_of(i, TAG_CLUSTER),
        .pool = tag_of(i, TAG_POOL),
        .cls = tag_of(i, TAG_CLASS),
        .claim = tag_of(i, TAG_CLAIM),
        .name_tag = tag_of(i, "Name"),
        .ct = i->spot_request_id ? CT_SPOT
              : reserved         ? CT_RESERVED
                                 : CT_ON_DEMAND,
        .reservation_id = reserved ? i->reservation_id : NULL,
        .reservation_kind = !reserved                                ? NULL
                            : str_eq(i->lifecycle, "capacity-block") ? "capacity-block"
                                                                     : "default",
        .interruptible = reserved && str_eq(i->lifecycle, "interruptible-capacity-reservation"),
        .launched_ns = i->launch_wall_ns,
    };
}

bool instance_is_ours(const struct cloud *c, const struct instance *i)
{
    return !str_eq(i->state, "terminated") && str_eq(i->cluster_uid, c->rt->cluster_uid) &&
           str_eq(i->cluster, c->rt->opt->cluster_name);
}

struct ec2_filter instance_alive(void)
{
    return (struct ec2_filter){"instance-state-name", {alive, ARRAY_LEN(alive)}};
}

static void look_end(struct look *k, const struct err *err)
{
    calls_note(k->j.c, "List", k->j.began_ns, err->kind != ERR_NONE, "");
    if (err->kind == ERR_NONE) {
        network_listed(k->j.c, &k->j.mem, k->v, k->n);
    }
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
    if (err.kind == ERR_NONE) {
        ec2_parse_describe_instances(&j->mem, res->body, res->body_n, &page, &err);
    }
    for (size_t i = 0; err.kind == ERR_NONE && i < page.n; i++) {
        struct instance in = instance_of(&page.v[i]);
        if (instance_is_ours(j->c, &in)) {
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
    look_end(k, &err);
}

static void ask_page(struct look *k)
{
    AUTO_FORM struct form form = {0};
    const char *cluster[] = {k->j.c->rt->opt->cluster_name};
    const char *pool[] = {TAG_POOL}, *cls[] = {TAG_CLASS};
    const struct ec2_filter filters[] = {instance_alive(),
                                         {"tag-key", {pool, 1}},
                                         {"tag-key", {cls, 1}},
                                         {"tag:" TAG_CLUSTER, {cluster, 1}}};
    const struct ec2_describe_instances req = {
        .filters = {filters, ARRAY_LEN(filters)},
        .max_results = EC2_PAGE_INSTANCES,
        .next_token = k->token,
    };
    ec2_encode_describe_instances(&form, &req);
    job_aws_form(&k->j, "ec2", &form, true, on_page, NULL);
}

static void no_cluster(struct job *j)
{
    struct err err = ERR_INIT;
    err_set(&err, ERR_UNAVAILABLE, "the cluster's UID is not known yet");
    look_end((struct look *)j, &err);
}

void cloud_list(struct cloud *c, cloud_list_fn done, void *arg)
{
    struct look *k = job_new(c, sizeof(*k), NULL);
    k->list = done;
    k->arg = arg;
    if (!c->rt->cluster_uid) {
        job_later(&k->j, 0, no_cluster);
        return;
    }
    ask_page(k);
}

/* ---- tagging -----------------------------------------------------------------------------------
 */

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
