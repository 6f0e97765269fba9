/* observer.c - see observer.h. */
#include "observer.h"

#include "agent/claim/claim.h"
#include "agent/cloud/cloud.h"
#include "agent/history/why.h"
#include "agent/plan/order.h"
#include "agent/store/store.h"
#include "agent/work/gate.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/map.h"
#include "common/base/price.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/core/ec2/catalog.h"
#include "sums.h"

#define BY_KARP "karp"
#define BY_OTHERS "others"
#define LAUNCH "launch"
#define REMOVE "remove"

/* A claim that would go. */
struct removal {
    const char *reason;
    uint32_t n_in;
    int64_t price_in_pusd_h; /* its share */
    int64_t saving_pusd_h;
    int64_t until_ns; /* monotonic: the end of its quiet time */
    bool counted, over;
};

struct observer {
    struct runtime *rt;
    struct kube_client client;
    struct timer timer;
    uint64_t open;        /* request in flight, 0 = none */
    struct sums *sums;    /* NULL: to be read */
    struct map *pods;     /* UID of a pod that waits → its share of a counted launch, int64_t */
    struct map *removals; /* UID of a claim → struct removal */
    bool counting;
    bool pending; /* something was counted since the last write */
    bool complained;
    int64_t before_ns;  /* wall: until then a process before us has counted; 0 = never */
    int64_t saved_ns;   /* monotonic: until then savings are counted */
    int64_t written_ns; /* monotonic; 0 = never */
};

static int64_t mono(const struct observer *o)
{
    return clock_mono(o->rt->clock);
}

static void add(struct observer *o, enum sum which, int64_t n)
{
    sums_add(o->sums, clock_wall(o->rt->clock), which, n);
    o->pending = true;
}

/* ---- entries -----------------------------------------------------------------------------------
 */

static json_t *entry_of(const struct observer *o, const char *by, const char *action)
{
    char now[TIMEFMT_TEXT];
    return json_pack("{s:s, s:s, s:s}", "time", timefmt_rfc3339(clock_wall(o->rt->clock), now),
                     "by", by, "action", action);
}

static void put(json_t *e, const char *key, const char *text)
{
    if (text && *text) {
        json_object_set_new(e, key, json_string(text));
    }
}

static void put_price(json_t *e, const char *key, int64_t pusd_h)
{
    char text[PRICE_TEXT];
    if (pusd_h >= 0 && pusd_h != PRICE_UNKNOWN) {
        put(e, key, price_text(pusd_h, text));
    }
}

static json_t *claim_entry(const struct observer *o, const char *by, const char *action,
                           const struct nodeclaim *nc, int64_t price_pusd_h)
{
    json_t *e = entry_of(o, by, action);
    put(e, "uid", nc->m.uid);
    put(e, "nodeClaim", nc->m.name);
    put(e, "node", nc->node_name);
    put(e, "nodePool", nc->pool);
    put(e, "instanceType", claim_label(o->rt, nc, L_INSTANCE_TYPE));
    put(e, "zone", claim_label(o->rt, nc, L_ZONE));
    put(e, "capacityType", claim_label(o->rt, nc, L_CAPACITY_TYPE));
    put_price(e, "pricePerHour", price_pusd_h);
    return e;
}

static int64_t known(int64_t price_pusd_h)
{
    return price_pusd_h == PRICE_UNKNOWN || price_pusd_h < 0 ? 0 : price_pusd_h;
}

/* ---- what would be launched --------------------------------------------------------------------
 */

static bool counted_before_us(const struct observer *o, const struct order_pod *op)
{
    const struct pod *p = store_pod(o->rt->store, op->ns, op->name);
    return p && !*p->node_name && o->before_ns && p->m.created_ns <= o->before_ns;
}

static void remember_pod(struct observer *o, const char *uid, int64_t share_pusd_h)
{
    bool full = false;
    int64_t *share = NEW(int64_t);
    *share = share_pusd_h;
    int64_t *was = map_put(o->pods, uid, share, &full);
    free(full ? share : was);
}

/* The only value that the claim's requirement leaves, or NULL; how many there are. */
static const char *required(const struct order *order, const char *key, size_t *ret_n)
{
    const json_t *reqs = jsonx_arr(order->body, "spec.requirements");
    for (size_t i = 0; i < json_array_size(reqs); i++) {
        const json_t *r = json_array_get(reqs, i), *values = jsonx_arr(r, "values");
        if (str_eq(jsonx_str(r, "key"), key) && str_eq(jsonx_str(r, "operator"), "In")) {
            *ret_n = json_array_size(values);
            return *ret_n == 1 ? json_string_value(json_array_get(values, 0)) : NULL;
        }
    }
    *ret_n = 0;
    return NULL;
}

static void note_launch(struct observer *o, const struct order *order, uint32_t fresh)
{
    size_t n;
    char first[64];
    json_t *e = entry_of(o, BY_KARP, LAUNCH);
    put(e, "nodePool", order->pool);
    snprintf(first, sizeof(first), "%.*s", (int)strcspn(order->types, ", "), order->types);
    put(e, "instanceType", first);
    (void)required(order, sym_str(o->rt->syms, L_INSTANCE_TYPE), &n);
    json_object_set_new(e, "types", json_integer((json_int_t)n));
    put(e, "zone", required(order, sym_str(o->rt->syms, L_ZONE), &n));
    put(e, "capacityType", required(order, sym_str(o->rt->syms, L_CAPACITY_TYPE), &n));
    json_object_set_new(e, "pods", json_integer(fresh));
    put_price(e, "pricePerHour", order->price_pusd_h);
    sums_note(o->sums, e);
}

void observer_launches(struct observer *o, const struct order *order)
{
    uint32_t fresh = 0, old = 0;
    int64_t paid = 0, price = known(order->price_pusd_h);
    for (uint32_t i = 0; o->counting && i < order->n_pods; i++) {
        const int64_t *share = map_get(o->pods, order->pods[i].uid);
        bool is_old = share || counted_before_us(o, &order->pods[i]);
        paid += share ? *share : 0;
        old += is_old;
        fresh += !is_old;
    }
    if (fresh == 0) {
        return;
    }
    for (uint32_t i = 0; i < order->n_pods; i++) {
        remember_pod(o, order->pods[i].uid, price / order->n_pods);
    }
    add(o, WOULD_LAUNCH, old == 0);
    add(o, WOULD_LAUNCH_PODS, fresh);
    add(o, WOULD_LAUNCH_PUSD_H, price > paid ? price - paid : 0);
    note_launch(o, order, fresh);
}

/* A node that would have gone is used again: nothing is saved any more. */
static void comes_onto(struct observer *o, const struct pod *p)
{
    const struct node *n = store_node(o->rt->store, p->node_name);
    const struct nodeclaim *nc =
        n && pod_reschedulable(p) ? store_claim_by_provider_id(o->rt->store, n->provider_id) : NULL;
    struct removal *r = nc ? map_get(o->removals, nc->m.uid) : NULL;
    if (r && r->counted) {
        r->over = true;
    }
}

static void on_pod(void *arg, const char *key UNUSED, const void *before, const void *now)
{
    struct observer *o = arg;
    const struct pod *was = before, *is = now;
    bool bound = is && *is->node_name && !(was && *was->node_name);
    if (was && (!is || bound)) {
        free(map_del(o->pods, was->m.uid)); /* its place is taken, or wanted by nobody */
    }
    if (bound && o->counting) {
        comes_onto(o, is);
    }
}

/* ---- what would be removed ---------------------------------------------------------------------
 */

static struct removal *removal_of(struct observer *o, const struct nodeclaim *nc)
{
    struct removal *r = map_get(o->removals, nc->m.uid);
    bool full = false;
    if (!r) {
        r = NEW(struct removal);
        map_put(o->removals, nc->m.uid, r, &full);
    }
    if (full) {
        free(r);
        return NULL;
    }
    return r;
}

static void count_removal(struct observer *o, const struct nodeclaim *nc, struct removal *r)
{
    int64_t price = claim_price(o->rt, nc);
    r->counted = true;
    r->over = nc->m.deleted_ns != 0;
    r->saving_pusd_h = known(price) - r->price_in_pusd_h;
    add(o, WOULD_REMOVE, 1);
    add(o, WOULD_REMOVE_PUSD_H, known(price));
    add(o, WOULD_REPLACE, r->n_in);
    add(o, WOULD_REPLACE_PUSD_H, r->price_in_pusd_h);
    json_t *e = claim_entry(o, BY_KARP, REMOVE, nc, price);
    put(e, "reason", r->reason);
    if (r->price_in_pusd_h > 0) {
        put_price(e, "replacementPricePerHour", r->price_in_pusd_h);
    }
    sums_note(o->sums, e);
}

/* What replaces several nodes falls to each by its price, so that none seems to cost money that the
 * others save. */
static void step(struct observer *o, const struct observer_step *s, bool now)
{
    int64_t in = known(s->price_in_pusd_h), total = 0, before = 0;
    for (uint32_t i = 0; o->counting && i < s->n_out; i++) {
        price_add(&total, claim_price(o->rt, s->out[i]));
    }
    for (uint32_t i = 0; o->counting && i < s->n_out; i++) {
        int64_t from = before;
        struct removal *r = removal_of(o, s->out[i]);
        price_add(&before, claim_price(o->rt, s->out[i]));
        if (!r || r->counted) {
            continue;
        }
        r->reason = s->reason;
        r->n_in = i == 0 ? s->n_in : 0;
        r->price_in_pusd_h =
            total > 0 ? sums_share(in, from, before, total) : sums_share(in, i, i + 1, s->n_out);
        r->until_ns = mono(o) + OBSERVER_QUIET_NS;
        if (now) {
            count_removal(o, s->out[i], r);
        }
    }
}

void observer_intends(struct observer *o, const struct observer_step *s)
{
    step(o, s, false);
}

void observer_removes(struct observer *o, const struct observer_step *s)
{
    step(o, s, true);
}

bool observer_removed(const struct observer *o, const struct nodeclaim *nc)
{
    const struct removal *r = o ? map_get(o->removals, nc->m.uid) : NULL;
    return r && r->counted;
}

const char *const *observer_leaving(const struct observer *o, struct arena *a, uint32_t *ret_n)
{
    const char **v = ARENA_NEW_N(a, const char *, o ? map_count(o->removals) : 0);
    *ret_n = 0;
    for (const struct map_entry *e = o ? map_first(o->removals) : NULL; e; e = map_next(e)) {
        const struct removal *r = map_value(e);
        const struct nodeclaim *nc = store_claim_by_uid(o->rt->store, map_key(e));
        if (nc && r->counted && !r->over) {
            v[(*ret_n)++] = nc->m.name;
        }
    }
    if (*ret_n > 1) {
        qsort(v, *ret_n, sizeof(*v), str_qsort_cmp);
    }
    return v;
}

/* Of nodes that would have gone and are still there. */
static void count_saved(struct observer *o)
{
    int64_t now_ns = mono(o), past_s = (now_ns - o->saved_ns) / NS_PER_S, sum = 0;
    if (now_ns - o->saved_ns > OBSERVER_GAP_NS) {
        o->saved_ns = now_ns;
        return;
    }
    for (MAP_EACH(o->removals, e)) {
        const struct removal *r = map_value(e);
        if (r->counted && !r->over && r->saving_pusd_h > 0) {
            price_add(&sum, r->saving_pusd_h / 3600 * past_s);
        }
    }
    o->saved_ns += past_s * NS_PER_S;
    sums_add(o->sums, clock_wall(o->rt->clock), WOULD_SAVE_PUSD, sum);
}

/* ---- what is done ------------------------------------------------------------------------------
 */

static bool has_instance(const struct nodeclaim *nc)
{
    return nc && *nc->provider_id && store_ours(&nc->class_ref);
}

static void others_launched(struct observer *o, const struct nodeclaim *nc)
{
    int64_t price = claim_price(o->rt, nc);
    add(o, DID_LAUNCH, 1);
    add(o, DID_LAUNCH_PUSD_H, known(price));
    sums_note(o->sums, claim_entry(o, BY_OTHERS, LAUNCH, nc, price));
}

/* Karpenter says why in a condition, karp in an annotation. */
static void others_removed(struct observer *o, const struct nodeclaim *nc)
{
    char code[WHY_CODE];
    int64_t price = claim_price(o->rt, nc);
    const struct condition *mark = condition_find(&nc->conditions, "DisruptionReason");
    struct removal *r = map_get(o->removals, nc->m.uid);
    if (r && !r->counted && mono(o) <= r->until_ns) {
        count_removal(o, nc, r);
    }
    if (r) {
        r->over = true;
    }
    add(o, DID_REMOVE, 1);
    add(o, DID_REMOVE_PUSD_H, known(price));
    json_t *e = claim_entry(o, BY_OTHERS, REMOVE, nc, price);
    put(e, "reason",
        mark && mark->status == STATUS_TRUE ? mark->reason : why_of(o->rt, nc, code).code);
    sums_note(o->sums, e);
}

static void on_claim(void *arg, const char *key UNUSED, const void *before, const void *now)
{
    struct observer *o = arg;
    const struct nodeclaim *was = before, *is = now;
    if (was && is && !str_eq(was->m.uid, is->m.uid)) {
        on_claim(o, key, was, NULL);
        was = NULL;
    }
    if (o->counting && has_instance(is) && !has_instance(was)) {
        others_launched(o, is);
    }
    const struct nodeclaim *nc = is ? is : was;
    if (o->counting && has_instance(nc) && was && !was->m.deleted_ns && (!is || is->m.deleted_ns)) {
        others_removed(o, nc);
    }
    if (!is && was) {
        free(map_del(o->removals, was->m.uid));
    }
}

/* ---- beginning ---------------------------------------------------------------------------------
 */

static int64_t price_at(const json_t *e, const char *key)
{
    int64_t ret;
    return price_parse(jsonx_str_or(e, key, ""), &ret) ? ret : 0;
}

/* A pod has come onto its node since then. */
static bool used_since(const struct observer *o, const struct nodeclaim *nc, const json_t *entry)
{
    int64_t at_ns = 0;
    const struct map *pods = store_pods_on(o->rt->store, nc->node_name);
    (void)timefmt_parse_rfc3339(jsonx_str_or(entry, "time", ""), &at_ns);
    for (const struct map_entry *e = pods ? map_first(pods) : NULL; e; e = map_next(e)) {
        const struct pod *p = map_value(e);
        if (pod_reschedulable(p) && p->m.created_ns > at_ns) {
            return true;
        }
    }
    return false;
}

/* What a process before us has counted of it. */
static void resume(struct observer *o, const struct nodeclaim *nc)
{
    const json_t *e = sums_entry(o->sums, BY_KARP, REMOVE, nc->m.uid);
    struct removal *r = e ? removal_of(o, nc) : NULL;
    if (r) {
        r->counted = true;
        r->over = nc->m.deleted_ns != 0 || used_since(o, nc, e);
        r->saving_pusd_h = price_at(e, "pricePerHour") - price_at(e, "replacementPricePerHour");
    }
}

static void begin(struct observer *o)
{
    o->counting = true;
    o->saved_ns = mono(o);
    o->before_ns = sums_written_ns(o->sums);
    for (MAP_EACH(store_all(o->rt->store, STORE_CLAIM), it)) {
        const struct nodeclaim *nc = map_value(it);
        resume(o, nc);
        if (has_instance(nc) && o->before_ns && nc->m.created_ns > o->before_ns) {
            others_launched(o, nc);
        }
    }
}

/* ---- reading and writing -----------------------------------------------------------------------
 */

static void complain(struct observer *o, const struct err *why)
{
    if (!o->complained && why->kind != ERR_CANCELLED) {
        o->complained = true;
        log_error(o->rt->log, "cannot keep the record of what was observed", "ConfigMap",
                  OBSERVER_CONFIG_MAP, "namespace", o->rt->opt->ns, "error", why->msg);
    }
}

static void on_read(void *arg, const struct kube_resp *resp)
{
    struct observer *o = arg;
    struct err err = ERR_INIT;
    o->open = 0;
    if (resp->err.kind != ERR_NONE && resp->err.kind != ERR_NOT_FOUND) {
        complain(o, &resp->err);
        return;
    }
    const json_t *data = jsonx_obj(resp->body, "data");
    o->sums = sums_read(json_string_value(json_object_get(data, OBSERVER_KEY)),
                        clock_wall(o->rt->clock), &err);
    if (err.kind != ERR_NONE) {
        log_error(o->rt->log, "the record of what was observed begins anew", "error", err.msg);
    }
}

static void on_written(void *arg, const struct kube_resp *resp)
{
    struct observer *o = arg;
    o->open = 0;
    if (resp->err.kind == ERR_NONE) {
        o->complained = false;
        return;
    }
    o->pending = true;
    complain(o, &resp->err);
}

static json_t *data_json(struct observer *o)
{
    AUTO_FREE char *text = sums_text(o->sums, clock_wall(o->rt->clock));
    return json_pack("{s:{s:s}}", "data", OBSERVER_KEY, text);
}

static void on_patched(void *arg, const struct kube_resp *resp)
{
    struct observer *o = arg;
    if (resp->err.kind != ERR_NOT_FOUND) {
        on_written(arg, resp);
        return;
    }
    AUTO_JSON json_t *body = data_json(o);
    json_object_set_new(body, "metadata", json_pack("{s:s}", "name", OBSERVER_CONFIG_MAP));
    o->open = kube_create(&o->client, KIND_CONFIG_MAP, o->rt->opt->ns, body, on_written, o);
}

static void write_record(struct observer *o)
{
    AUTO_JSON json_t *body = data_json(o);
    o->pending = false;
    o->written_ns = mono(o);
    o->open = kube_patch(&o->client, KIND_CONFIG_MAP, o->rt->opt->ns, OBSERVER_CONFIG_MAP, NULL,
                         body, NULL, on_patched, o);
}

static void look(void *arg)
{
    struct observer *o = arg;
    int64_t now_ns = mono(o), age_ns = now_ns - o->written_ns;
    timer_set(&o->rt->timers, &o->timer, now_ns + OBSERVER_LOOK_NS, look, o);
    if (!o->sums) {
        if (!o->open) {
            o->open = kube_get(&o->client, KIND_CONFIG_MAP, o->rt->opt->ns, OBSERVER_CONFIG_MAP,
                               on_read, o);
        }
        return;
    }
    if (!o->counting && store_synced(o->rt->store) && cloud_ready(o->rt->cloud)) {
        begin(o);
    }
    if (!o->counting) {
        return;
    }
    count_saved(o);
    if (!o->open && (o->written_ns == 0 || age_ns >= OBSERVER_PERIOD_NS ||
                     (o->pending && age_ns >= OBSERVER_PAUSE_NS))) {
        write_record(o);
    }
}

/* ---- life --------------------------------------------------------------------------------------
 */

struct observer *observer_new(struct runtime *rt)
{
    if (rt->opt->mode != MODE_OBSERVE) {
        return NULL;
    }
    struct observer *o = NEW(struct observer);
    o->rt = rt;
    o->client =
        (struct kube_client){.port = gate_raw_kube(rt->gate), .field_manager = "karp-agent"};
    o->pods = map_new(STORE_MAX_PODS);
    o->removals = map_new(STORE_MAX_OBJECTS);
    store_subscribe(rt->store, STORE_CLAIM, on_claim, o);
    store_subscribe(rt->store, STORE_POD, on_pod, o);
    rt->observer = o;
    return o;
}

void observer_free(struct observer *o)
{
    if (!o) {
        return;
    }
    o->rt->observer = NULL;
    timer_stop(&o->rt->timers, &o->timer);
    kube_cancel(&o->client, o->open);
    for (MAP_EACH(o->pods, e)) {
        free(map_value(e));
    }
    for (MAP_EACH(o->removals, e)) {
        free(map_value(e));
    }
    map_free(o->pods);
    map_free(o->removals);
    sums_free(o->sums);
    free(o);
}

void observer_start(struct observer *o)
{
    if (o) {
        look(o);
    }
}
