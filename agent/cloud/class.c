/*
 * class.c - the EC2NodeClass controller.
 *
 * One look at a class makes one step: finalizer and hash, hashes of claims of another version,
 * questions to EC2 whose time has come, status. Deleting: nothing while NodeClaims use it, then its
 * launch templates go, then the finalizer.
 */
#include "agent/work/gate.h"
#include "agent/work/render.h"
#include "agent/work/work.h"
#include "cloud_int.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/kube/events.h"

#define CLASS_BACKOFF_NS (1 * NS_PER_S)
#define CLASS_BACKOFF_MAX_NS (60 * NS_PER_S)
#define CLASS_CLOSED_NS (5 * NS_PER_S)     /* while we may not write */
#define CLASS_WAITING_NS (10 * NS_PER_MIN) /* for NodeClaims; their end wakes it, too */
#define NAMES_SHOWN 5

/* ---- entries -----------------------------------------------------------------------------------
 */

struct class_entry *class_entry(const struct cloud *c, const char *name)
{
    return map_get(c->classes.entries, name);
}

static void entry_reset(struct class_entry *e)
{
    if (e->job) {
        job_end(e->job);
        e->job = NULL;
    }
    resolved_clear(&e->res);
    json_decref(e->spec);
    e->spec = NULL;
    free(e->uid);
    e->uid = NULL;
}

static void entry_free(struct cloud *c, struct class_entry *e)
{
    entry_reset(e);
    if (e->market) {
        market_unref(c, e->market);
    }
    free(e->name);
    free(e);
}

static void entry_drop(struct cloud *c, const char *name)
{
    struct class_entry *e = map_del(c->classes.entries, name);
    if (e) {
        entry_free(c, e);
    }
    map_del(c->classes.removing, name);
}

/* For the present generation; NULL if there are too many. */
static struct class_entry *entry_of(struct cloud *c, const struct nodeclass *cls)
{
    struct class_entry *e = class_entry(c, cls->m.name);
    if (!e) {
        e = NEW(struct class_entry);
        e->name = xstrdup(cls->m.name);
        bool full = false;
        map_put(c->classes.entries, cls->m.name, e, &full);
        if (full) {
            entry_free(c, e);
            return NULL;
        }
    }
    if (!e->spec || e->generation != cls->m.generation || !str_eq(e->uid, cls->m.uid)) {
        entry_reset(e);
        e->uid = xstrdup(cls->m.uid);
        e->generation = cls->m.generation;
        e->spec = jsonx_parse(cls->spec, strlen(cls->spec), "spec", NULL);
        e->spec = e->spec ? e->spec : json_object();
    }
    return e;
}

/* ---- metadata ----------------------------------------------------------------------------------
 */

static struct work work_on(struct cloud *c, const char *key)
{
    return (struct work){.rt = c->rt, .q = c->classes.queue, .key = key};
}

static bool stamped(const struct meta *m, const char *hash)
{
    return str_eq(kvs_get(&m->annotations, ANN_CLASS_HASH_VERSION), HASH_VERSION) &&
           (!hash || str_eq(kvs_get(&m->annotations, ANN_CLASS_HASH), hash));
}

/* Finalizer and hash; NULL if both are there. */
static json_t *metadata_patch(const struct nodeclass *cls)
{
    json_t *m = json_object();
    if (!meta_has_finalizer(&cls->m, FINALIZER_CLASS)) {
        json_object_set_new(m, "finalizers", render_finalizers(&cls->m, FINALIZER_CLASS, NULL));
    }
    if (!stamped(&cls->m, cls->hash)) {
        json_object_set_new(m, "annotations",
                            json_pack("{s:s, s:s}", ANN_CLASS_HASH, cls->hash,
                                      ANN_CLASS_HASH_VERSION, HASH_VERSION));
    }
    if (json_object_size(m) == 0) {
        json_decref(m);
        return NULL;
    }
    return json_pack("{s:o}", "metadata", m);
}

static bool uses(const struct nodeclaim *nc, const char *cls)
{
    return store_ours(&nc->class_ref) && str_eq(nc->class_ref.name, cls);
}

/* A claim whose hash is of another version: it is stamped anew, not drifted. One that has drifted
 * already keeps its hash. */
static const struct nodeclaim *unstamped_claim(const struct cloud *c, const char *cls)
{
    for (MAP_EACH(store_all(c->rt->store, STORE_CLAIM), e)) {
        const struct nodeclaim *nc = map_value(e);
        if (uses(nc, cls) && !nc->m.deleted_ns && !nc->problem && !stamped(&nc->m, NULL)) {
            return nc;
        }
    }
    return NULL;
}

static enum queue_verdict stamp_claim(struct cloud *c, const char *key, const char *hash,
                                      const struct nodeclaim *nc)
{
    json_t *a = json_pack("{s:s}", ANN_CLASS_HASH_VERSION, HASH_VERSION);
    if (!condition_true(&nc->conditions, "Drifted")) {
        json_object_set_new(a, ANN_CLASS_HASH, json_string(hash));
    }
    struct work w = work_on(c, key);
    queue_add(c->classes.queue, key);
    return work_patch(&w, KIND_NODE_CLAIM, NULL, nc->m.name, "",
                      json_pack("{s:{s:o}}", "metadata", "annotations", a), nc->m.resource_version);
}

/* ---- deleting -------------------------------------------------------------------------------- */

enum removal { REMOVAL_NONE, REMOVAL_BUSY, REMOVAL_DONE };

static enum removal removal_state(const struct cloud *c, const char *name)
{
    const void *m = map_get(c->classes.removing, name);
    return m == &c->classes.busy   ? REMOVAL_BUSY
           : m == &c->classes.done ? REMOVAL_DONE
                                   : REMOVAL_NONE;
}

static void on_templates_gone(struct cloud *c, const char *cls, const struct err *err)
{
    if (err->kind == ERR_NONE) {
        map_put(c->classes.removing, cls, &c->classes.done, NULL);
        queue_add(c->classes.queue, cls);
        return;
    }
    map_del(c->classes.removing, cls);
    log_error(c->rt->log, "cannot delete launch templates", "nodeclass", cls, "error", err->msg);
    queue_add_after(c->classes.queue, cls, CLASS_CLOSED_NS);
}

static void say_waiting(struct cloud *c, const struct nodeclass *cls, const char *names, uint32_t n)
{
    const struct events_subject about = {KIND_EC2_NODE_CLASS, NULL, cls->m.name, cls->m.uid};
    events_normal(c->rt->events, &about, "WaitingOnNodeClaimTermination",
                  "Waiting on NodeClaim termination for %s%s", names,
                  n > NAMES_SHOWN ? " and others" : "");
}

static uint32_t users_of(const struct cloud *c, const char *cls, char *names, size_t size)
{
    uint32_t n = 0;
    size_t at = 0;
    names[0] = '\0';
    for (MAP_EACH(store_all(c->rt->store, STORE_CLAIM), e)) {
        const struct nodeclaim *nc = map_value(e);
        if (!uses(nc, cls)) {
            continue;
        }
        if (n++ < NAMES_SHOWN && at < size) {
            int w = snprintf(names + at, size - at, "%s%s", at ? ", " : "", nc->m.name);
            at += w > 0 ? (size_t)w : 0;
        }
    }
    return n;
}

static enum queue_verdict look_deleting(struct cloud *c, const struct nodeclass *cls)
{
    const char *name = cls->m.name;
    char names[512];
    if (!meta_has_finalizer(&cls->m, FINALIZER_CLASS) || !store_synced(c->rt->store)) {
        queue_add_after(c->classes.queue, name, CLASS_CLOSED_NS);
        return QUEUE_OK;
    }
    uint32_t n = users_of(c, name, names, sizeof(names));
    if (n > 0) {
        say_waiting(c, cls, names, n);
        queue_add_after(c->classes.queue, name, CLASS_WAITING_NS);
        return QUEUE_OK;
    }
    switch (removal_state(c, name)) {
    case REMOVAL_NONE:
        map_put(c->classes.removing, name, &c->classes.busy, NULL);
        templates_delete_of(c, name, on_templates_gone);
        return QUEUE_OK;
    case REMOVAL_BUSY:
        return QUEUE_OK;
    case REMOVAL_DONE:
        break;
    }
    struct work w = work_on(c, name);
    json_t *list = render_finalizers(&cls->m, NULL, FINALIZER_CLASS);
    return work_patch(&w, KIND_EC2_NODE_CLASS, NULL, name, "",
                      json_pack("{s:{s:o}}", "metadata", "finalizers", list),
                      cls->m.resource_version);
}

/* ---- looking --------------------------------------------------------------------------------- */

static void on_resolved(struct cloud *c, const char *cls)
{
    struct class_entry *e = class_entry(c, cls);
    if (e) {
        e->job = NULL;
        queue_add(c->classes.queue, cls);
    }
}

static unsigned parts_due(const struct cloud *c, const struct class_entry *e)
{
    unsigned parts = 0;
    for (int i = 0; i < PART_COUNT; i++) {
        parts |= e->res.due_ns[i] <= cloud_mono(c) ? 1u << i : 0;
    }
    return parts;
}

static int64_t next_due_ns(const struct cloud *c, const struct class_entry *e)
{
    int64_t next = NS_NEVER, now_ns = cloud_mono(c);
    for (int i = 0; i < PART_COUNT; i++) {
        next = e->res.due_ns[i] < next ? e->res.due_ns[i] : next;
    }
    return next > now_ns ? next - now_ns : 0;
}

/* Subnets, groups, images and profile have been asked for once. */
static bool tried(const struct class_entry *e)
{
    for (int i = 0; i < PART_COUNT; i++) {
        if (!e->res.have[i] && e->res.err[i].kind == ERR_NONE) {
            return false;
        }
    }
    return true;
}

static enum queue_verdict look_writes(struct cloud *c, const struct nodeclass *cls,
                                      struct class_entry *e)
{
    const char *name = cls->m.name;
    struct work w = work_on(c, name);
    json_t *patch = metadata_patch(cls);
    if (patch) {
        return work_patch(&w, KIND_EC2_NODE_CLASS, NULL, name, "", patch, cls->m.resource_version);
    }
    patch = tried(e) ? class_status_patch(c, cls, e) : NULL;
    if (patch) {
        return work_patch(&w, KIND_EC2_NODE_CLASS, NULL, name, "status", patch,
                          cls->m.resource_version);
    }
    /* Last: a claim that cannot be written does not hold up its class. */
    const struct nodeclaim *nc = unstamped_claim(c, name);
    return nc ? stamp_claim(c, name, cls->hash, nc) : QUEUE_OK;
}

static enum queue_verdict look(void *ctx, const char *key)
{
    struct cloud *c = ctx;
    const struct nodeclass *cls = store_class(c->rt->store, key);
    if (!cls) {
        entry_drop(c, key);
        return QUEUE_OK;
    }
    bool open = gate_open(c->rt->gate);
    if (cls->m.deleted_ns) {
        if (open) {
            return look_deleting(c, cls);
        }
        queue_add_after(c->classes.queue, key, CLASS_CLOSED_NS);
        return QUEUE_OK;
    }
    struct class_entry *e = entry_of(c, cls);
    if (!e) {
        return QUEUE_OK;
    }
    unsigned parts = e->job ? 0 : parts_due(c, e);
    if (parts && c->home.asked) {
        e->job = resolve_start(c, key, e->spec, parts, &e->res, on_resolved);
    }
    enum queue_verdict v = open ? look_writes(c, cls, e) : QUEUE_OK;
    /* Also while a write is under way: one that changes nothing wakes nobody. */
    if (!e->job && c->home.asked) {
        queue_add_after(c->classes.queue, key, next_due_ns(c, e));
    }
    if (v == QUEUE_OK && !open) {
        queue_add_after(c->classes.queue, key, CLASS_CLOSED_NS);
    }
    return v;
}

/* ---- life ------------------------------------------------------------------------------------ */

static void on_class(void *arg, const char *key, const void *before, const void *now)
{
    struct cloud *c = arg;
    (void)before;
    (void)now;
    queue_add(c->classes.queue, key);
}

/* Only what a class waits for: a claim to be stamped, and the end of one. */
static void on_claim(void *arg, const char *key, const void *before, const void *now)
{
    struct cloud *c = arg;
    const struct nodeclaim *nc = now ? now : before;
    (void)key;
    if (store_ours(&nc->class_ref) && (!now || !stamped(&nc->m, NULL))) {
        queue_add(c->classes.queue, nc->class_ref.name);
    }
}

void classes_init(struct cloud *c)
{
    c->classes.entries = map_new(CLASSES_MAX);
    c->classes.removing = map_new(CLASSES_MAX);
    c->classes.queue =
        queue_new(c->rt, "nodeclass", STORE_CLASS, CLASS_BACKOFF_NS, CLASS_BACKOFF_MAX_NS, look, c);
    store_subscribe(c->rt->store, STORE_CLASS, on_class, c);
    store_subscribe(c->rt->store, STORE_CLAIM, on_claim, c);
}

void classes_start(struct cloud *c)
{
    classes_wake(c);
}

void classes_wake(struct cloud *c)
{
    for (MAP_EACH(store_all(c->rt->store, STORE_CLASS), e)) {
        queue_add(c->classes.queue, map_key(e));
    }
}

void classes_done(struct cloud *c)
{
    queue_free(c->classes.queue);
    for (MAP_EACH(c->classes.entries, e)) {
        entry_free(c, map_value(e));
    }
    map_free(c->classes.entries);
    map_free(c->classes.removing);
}
