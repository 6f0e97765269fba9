/* api.c - the store of the simulated API server, and the world's typed way in; see api.h */
#include "api.h"

#include "api_store.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/kube/status.h"

/* ---- values -----------------------------------------------------------------------------------
 */

json_t *sim_own(const json_t *obj)
{
    json_t *copy = json_copy((json_t *)obj);
    json_t *meta = json_object_get(obj, "metadata");
    json_object_set_new(copy, "metadata", meta ? json_copy(meta) : json_object());
    return copy;
}

json_t *sim_merge(json_t *target, json_t *patch)
{
    if (!json_is_object(patch)) {
        return json_incref(patch);
    }
    json_t *out = json_is_object(target) ? json_copy(target) : json_object();
    const char *key;
    json_t *value;
    json_object_foreach (patch, key, value) {
        if (json_is_null(value)) {
            json_object_del(out, key);
        } else {
            json_object_set_new(out, key, sim_merge(json_object_get(target, key), value));
        }
    }
    return out;
}

void sim_set(json_t *obj, const char *key, json_t *value)
{
    if (value) {
        json_object_set_new(obj, key, value);
    } else {
        json_object_del(obj, key);
    }
}

const char *sim_meta(const json_t *obj, const char *key)
{
    const char *s = json_string_value(json_object_get(json_object_get(obj, "metadata"), key));
    return s ? s : "";
}

bool sim_has_finalizer(const json_t *obj)
{
    return json_array_size(jsonx_at(obj, "metadata.finalizers")) > 0;
}

/* ---- tables -----------------------------------------------------------------------------------
 */

static char *key_of(const struct sim_kind *k, const char *ns, const char *name)
{
    return k->flags & SIM_KIND_NAMESPACED ? xasprintf("%s/%s", ns, name) : xstrdup(name);
}

/* Where key stands, or would stand. */
static size_t table_place(const struct sim_table *t, const char *key, bool *ret_found)
{
    size_t low = 0, high = t->n;
    *ret_found = false;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int c = strcmp(t->items[mid]->key, key);
        if (c == 0) {
            *ret_found = true;
            return mid;
        }
        if (c < 0) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

struct sim_entry *sim_store_find(const struct sim_api *a, enum sim_kind_id kind, const char *ns,
                                 const char *name)
{
    AUTO_FREE char *key = key_of(sim_kind(kind), ns ? ns : "", name ? name : "");
    bool found;
    size_t i = table_place(&a->tables[kind], key, &found);
    return found ? a->tables[kind].items[i] : NULL;
}

static void event_done(struct sim_event *ev)
{
    json_decref(ev->before);
    json_decref(ev->after);
}

static void history_drop_first(struct sim_table *t)
{
    struct sim_event *ev = &t->ring[t->first_seq % t->ring_cap];
    t->lost_version = ev->version;
    event_done(ev);
    t->first_seq++;
}

static void history_grow(struct sim_table *t)
{
    size_t cap = t->ring_cap ? t->ring_cap * 2 : 64;
    struct sim_event *ring = NEW_N(struct sim_event, cap);
    for (uint64_t s = t->first_seq; s < t->next_seq; s++) {
        ring[s % cap] = t->ring[s % t->ring_cap];
    }
    free(t->ring);
    t->ring = ring;
    t->ring_cap = cap;
}

static void history_add(struct sim_table *t, const struct sim_event *ev)
{
    if (t->next_seq - t->first_seq >= SIM_API_HISTORY_MAX) {
        history_drop_first(t);
    }
    if (t->next_seq - t->first_seq >= t->ring_cap) {
        history_grow(t);
    }
    struct sim_event *slot = &t->ring[t->next_seq % t->ring_cap];
    *slot = *ev;
    slot->seq = t->next_seq++;
    json_incref(slot->before);
    json_incref(slot->after);
}

static void publish(struct sim_op *op, enum sim_kind_id kind, enum kube_event_type type,
                    json_t *before, json_t *after)
{
    struct sim_api *a = op->a;
    struct sim_event ev = {.at_ns = vclock_now(a->clock),
                           .version = a->version,
                           .type = type,
                           .before = before,
                           .after = after};
    history_add(&a->tables[kind], &ev);
    sim_watch_wake(a, kind);
    struct sim_change c = {kind, type, a->version, before, after, op->who};
    for (size_t i = 0; i < a->n_subs; i++) {
        a->subs[i].fn(a->subs[i].ctx, &c);
    }
}

static int64_t stamp_version(struct sim_api *a, json_t *obj)
{
    char text[24];
    snprintf(text, sizeof(text), "%lld", (long long)++a->version);
    json_object_set_new(json_object_get(obj, "metadata"), "resourceVersion", json_string(text));
    return a->version;
}

struct sim_entry *sim_store_add(struct sim_op *op, json_t *obj)
{
    struct sim_api *a = op->a;
    struct sim_table *t = &a->tables[op->kind->id];
    struct sim_entry *e = NEW(struct sim_entry);
    e->kind = op->kind->id;
    e->key = key_of(op->kind, op->ns, sim_meta(obj, "name"));
    const char *slash = strrchr(e->key, '/');
    e->name = op->kind->flags & SIM_KIND_NAMESPACED && slash ? slash + 1 : e->key;
    e->uid = xstrdup(sim_meta(obj, "uid"));
    e->obj = obj;
    e->version = stamp_version(a, obj);
    bool found;
    size_t i = table_place(t, e->key, &found);
    ARRAY_GROW(t->items, t->n, t->cap);
    memmove(t->items + i + 1, t->items + i, (t->n - i) * sizeof(*t->items));
    t->items[i] = e;
    t->n++;
    map_put(a->by_uid, e->uid, e, NULL);
    publish(op, e->kind, KUBE_ADDED, NULL, obj);
    return e;
}

void sim_store_put(struct sim_op *op, struct sim_entry *e, json_t *obj)
{
    json_t *before = e->obj;
    e->obj = obj;
    e->version = stamp_version(op->a, obj);
    publish(op, e->kind, KUBE_MODIFIED, before, obj);
    json_decref(before);
}

static void entry_free(struct sim_entry *e)
{
    json_decref(e->obj);
    free(e->key);
    free(e->uid);
    free(e);
}

void sim_store_remove(struct sim_op *op, struct sim_entry *e, json_t *obj)
{
    struct sim_table *t = &op->a->tables[e->kind];
    bool found;
    size_t i = table_place(t, e->key, &found);
    memmove(t->items + i, t->items + i + 1, (t->n - i - 1) * sizeof(*t->items));
    t->n--;
    map_del(op->a->by_uid, e->uid);
    stamp_version(op->a, obj);
    publish(op, e->kind, KUBE_DELETED, e->obj, obj);
    json_decref(obj);
    entry_free(e);
}

/* ---- life -------------------------------------------------------------------------------------
 */

static void create_namespace(struct sim_api *a, const char *name)
{
    json_t *ns = json_pack("{s:{s:s}}", "metadata", "name", name);
    sim_api_create(a, "system:apiserver", SIM_NAMESPACE, ns, NULL, NULL);
}

struct sim_api *sim_api_new(struct vclock *clock)
{
    struct sim_api *a = NEW(struct sim_api);
    a->clock = clock;
    a->chance_state = vclock_fork(clock, "api");
    a->chance = entropy_seeded(&a->chance_state);
    a->by_uid = map_new((size_t)SIM_API_OBJECTS_MAX * 4);
    a->counts = map_new(100000);
    a->delays.latency_ns = SIM_API_LATENCY_NS;
    a->delays.watch_latency_ns = SIM_API_WATCH_LATENCY_NS;
    for (size_t k = 0; k < SIM_KINDS; k++) {
        a->tables[k].first_seq = a->tables[k].next_seq = 1;
    }
    static const char *const names[] = {"default", "kube-node-lease", "kube-public", "kube-system"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        create_namespace(a, names[i]);
    }
    return a;
}

static void table_done(struct sim_table *t)
{
    for (size_t i = 0; i < t->n; i++) {
        entry_free(t->items[i]);
    }
    free(t->items);
    while (t->first_seq < t->next_seq) {
        history_drop_first(t);
    }
    free(t->ring);
}

void sim_api_free(struct sim_api *a)
{
    if (!a) {
        return;
    }
    sim_watch_free_all(a);
    sim_port_free_all(a);
    for (size_t k = 0; k < SIM_KINDS; k++) {
        table_done(&a->tables[k]);
    }
    for (size_t i = 0; i < SIM_API_PAGES_MAX; i++) {
        json_decref(a->pages[i].items);
    }
    for (MAP_EACH(a->counts, e)) {
        free(map_value(e));
    }
    map_free(a->counts);
    map_free(a->by_uid);
    free(a);
}

int64_t sim_api_version(const struct sim_api *a)
{
    return a->version;
}

struct sim_api_delays *sim_api_delays(struct sim_api *a)
{
    return &a->delays;
}

void sim_api_set_hooks(struct sim_api *a, const struct sim_api_hooks *hooks)
{
    a->hooks = hooks ? *hooks : (struct sim_api_hooks){0};
}

void sim_api_subscribe(struct sim_api *a, sim_change_fn fn, void *ctx)
{
    if (a->n_subs >= SIM_API_SUBSCRIBERS_MAX) {
        BUG("more than %d subscribers", SIM_API_SUBSCRIBERS_MAX);
    }
    a->subs[a->n_subs++] = (struct sim_subscriber){fn, ctx};
}

void sim_api_unsubscribe(struct sim_api *a, const void *ctx)
{
    size_t kept = 0;
    for (size_t i = 0; i < a->n_subs; i++) {
        if (a->subs[i].ctx != ctx) {
            a->subs[kept++] = a->subs[i];
        }
    }
    a->n_subs = kept;
}

void sim_api_compact(struct sim_api *a)
{
    for (size_t k = 0; k < SIM_KINDS; k++) {
        struct sim_table *t = &a->tables[k];
        while (t->first_seq < t->next_seq) {
            history_drop_first(t);
        }
        t->lost_version = a->version;
    }
    for (size_t i = 0; i < SIM_API_PAGES_MAX; i++) {
        json_decref(a->pages[i].items);
        a->pages[i] = (struct sim_pages){0};
    }
}

/* ---- typed calls ------------------------------------------------------------------------------
 */

const json_t *sim_api_get(const struct sim_api *a, enum sim_kind_id kind, const char *ns,
                          const char *name)
{
    const struct sim_entry *e = sim_store_find(a, kind, ns, name);
    return e ? e->obj : NULL;
}

const json_t *sim_api_get_uid(const struct sim_api *a, const char *uid, enum sim_kind_id *ret_kind)
{
    const struct sim_entry *e = map_get(a->by_uid, uid);
    if (e && ret_kind) {
        *ret_kind = e->kind;
    }
    return e ? e->obj : NULL;
}

size_t sim_api_count(const struct sim_api *a, enum sim_kind_id kind)
{
    return a->tables[kind].n;
}

const json_t *sim_api_at(const struct sim_api *a, enum sim_kind_id kind, size_t i)
{
    return a->tables[kind].items[i]->obj;
}

/* Turns the op's answer into the callers' terms and releases it. */
static int finish(struct sim_op *op, json_t **ret, struct err *reterr)
{
    int code = op->status;
    if (code < 200 || code > 299) {
        struct err e = ERR_INIT;
        kube_status_err(&e, code, op->out, "", 0);
        if (reterr) {
            *reterr = e;
        }
        json_decref(op->out);
        return -1;
    }
    if (ret) {
        *ret = op->out;
    } else {
        json_decref(op->out);
    }
    return 0;
}

int sim_api_create(struct sim_api *a, const char *who, enum sim_kind_id kind, json_t *obj,
                   json_t **ret, struct err *reterr)
{
    const char *ns = sim_meta(obj, "namespace");
    const struct sim_kind *k = sim_kind(kind);
    AUTO_FREE char *in = xstrdup(!(k->flags & SIM_KIND_NAMESPACED) ? "" : ns[0] ? ns : "default");
    struct sim_op op = {.a = a,
                        .who = who,
                        .verb = "create",
                        .kind = k,
                        .ns = in,
                        .name = "",
                        .sub = "",
                        .body = obj};
    sim_op_run(&op);
    return finish(&op, ret, reterr);
}

int sim_api_patch(struct sim_api *a, const char *who, enum sim_kind_id kind, const char *sub,
                  const char *ns, const char *name, json_t *patch, json_t **ret, struct err *reterr)
{
    struct sim_op op = {.a = a,
                        .who = who,
                        .verb = "patch",
                        .kind = sim_kind(kind),
                        .ns = ns ? ns : "",
                        .name = name,
                        .sub = sub,
                        .body = patch};
    sim_op_run(&op);
    return finish(&op, ret, reterr);
}

int sim_api_delete(struct sim_api *a, const char *who, enum sim_kind_id kind, const char *ns,
                   const char *name, const char *uid, int64_t grace_s, const char *propagation,
                   struct err *reterr)
{
    json_t *body = json_object();
    if (grace_s >= 0) {
        json_object_set_new(body, "gracePeriodSeconds", json_integer(grace_s));
    }
    if (uid) {
        json_object_set_new(body, "preconditions", json_pack("{s:s}", "uid", uid));
    }
    if (propagation) {
        json_object_set_new(body, "propagationPolicy", json_string(propagation));
    }
    struct sim_op op = {.a = a,
                        .who = who,
                        .verb = "delete",
                        .kind = sim_kind(kind),
                        .ns = ns ? ns : "",
                        .name = name,
                        .sub = "",
                        .body = body};
    sim_op_run(&op);
    return finish(&op, NULL, reterr);
}

int sim_api_bind(struct sim_api *a, const char *who, const char *ns, const char *pod,
                 const char *node, struct err *reterr)
{
    struct sim_op op = {.a = a,
                        .who = who,
                        .verb = "create",
                        .kind = sim_kind(SIM_POD),
                        .ns = ns,
                        .name = pod,
                        .sub = "binding",
                        .body = json_pack("{s:{s:s}}", "target", "name", node)};
    sim_op_run(&op);
    return finish(&op, NULL, reterr);
}

int sim_api_apply(struct sim_api *a, const char *who, const json_t *obj, json_t **ret,
                  struct err *reterr)
{
    const struct sim_kind *k = sim_kind_of(obj);
    if (!k) {
        return err_set(reterr, ERR_INVALID, "no kind %s in %s is served",
                       jsonx_str_or(obj, "kind", "?"), jsonx_str_or(obj, "apiVersion", "?"));
    }
    const char *ns = sim_meta(obj, "namespace");
    const char *name = sim_meta(obj, "name");
    json_t *copy = json_deep_copy(obj);
    if (name[0] == '\0' || !sim_store_find(a, k->id, ns[0] ? ns : "default", name)) {
        return sim_api_create(a, who, k->id, copy, ret, reterr);
    }
    return sim_api_patch(a, who, k->id, "", ns[0] ? ns : "default", name, copy, ret, reterr);
}
