/*
 * gc.c - the garbage collector of owner references, as upstream's: an object whose owners are all
 * gone is deleted in the background; of several owners those that are gone are struck from the
 * list. Finalizer foregroundDeletion: dependents first, then the owner; orphan: the references are
 * removed, then the owner goes. What lies in a namespace that was deleted goes too. See
 * workloads.h.
 *
 * Events older than an hour go as well, as by the API server's --event-ttl.
 *
 * Work is a queue of UIDs to look at; a UID may be an owner, a dependent, or both.
 */
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "workloads_part.h"

#define WHO "generic-garbage-collector"
#define DELAY_NS (20 * NS_PER_MS)
#define EVENT_TTL_NS (1 * NS_PER_H)
#define EVENT_SWEEP_NS (10 * NS_PER_MIN)

struct sim_gc {
    struct sim_world *w;
    struct map *dependents; /* owner uid -> (dependent uid -> self) */
    struct map *queue;      /* uid -> self, in order */
    struct map *namespaces; /* names of those that were deleted */
    bool off;
    struct timer timer, sweep;
};

static const json_t *refs_of(const json_t *obj)
{
    return jsonx_at(obj, "metadata.ownerReferences");
}

static const char *uid_of(const json_t *obj)
{
    return jsonx_str_or(obj, "metadata.uid", "");
}

static bool has_finalizer(const json_t *obj, const char *name)
{
    size_t i;
    json_t *f;
    json_array_foreach (jsonx_at(obj, "metadata.finalizers"), i, f) {
        if (str_eq(json_string_value(f), name)) {
            return true;
        }
    }
    return false;
}

static void arm_sweep(struct sim_gc *g);

/* ---- following ----------------------------------------------------------------------------------
 */

static void on_timer(void *arg);

static void arm(struct sim_gc *g)
{
    bool work = map_count(g->queue) > 0 || map_count(g->namespaces) > 0;
    if (work && !g->off && !timer_pending(&g->timer)) {
        vclock_set(&g->w->clock, &g->timer, DELAY_NS, on_timer, g);
    }
}

static void look_at(struct sim_gc *g, const char *uid)
{
    map_put(g->queue, uid, g, NULL);
    arm(g);
}

static void add_dependent(struct sim_gc *g, const char *owner, const char *uid)
{
    struct map *set = map_get(g->dependents, owner);
    if (!set) {
        set = map_new(SIM_API_OBJECTS_MAX);
        map_put(g->dependents, owner, set, NULL);
    }
    map_put(set, uid, g, NULL);
}

static void drop_dependent(struct sim_gc *g, const char *owner, const char *uid)
{
    struct map *set = map_get(g->dependents, owner);
    if (!set) {
        return;
    }
    map_del(set, uid);
    if (map_count(set) == 0) {
        map_del(g->dependents, owner);
        map_free(set);
    }
}

static void follow_refs(struct sim_gc *g, const struct sim_change *c)
{
    size_t i;
    json_t *ref;
    const char *uid = uid_of(c->after);
    const json_t *before = c->before ? refs_of(c->before) : NULL;
    const json_t *after = c->type == KUBE_DELETED ? NULL : refs_of(c->after);
    if (before == after) {
        return;
    }
    json_array_foreach ((json_t *)before, i, ref) {
        drop_dependent(g, jsonx_str_or(ref, "uid", ""), uid);
    }
    json_array_foreach ((json_t *)after, i, ref) {
        const char *owner = jsonx_str_or(ref, "uid", "");
        add_dependent(g, owner, uid);
        if (!sim_api_get_uid(g->w->api, owner, NULL)) {
            look_at(g, uid);
        }
    }
}

/* Those that may be affected by the object's end. */
static void on_deleted(struct sim_gc *g, const struct sim_change *c)
{
    const struct map *set = map_get(g->dependents, uid_of(c->after));
    if (set) {
        for (MAP_EACH(set, e)) {
            look_at(g, map_key(e));
        }
    }
    size_t i;
    json_t *ref;
    json_array_foreach ((json_t *)refs_of(c->after), i, ref) {
        look_at(g, jsonx_str_or(ref, "uid", ""));
    }
    if (c->kind == SIM_NAMESPACE) {
        map_put(g->namespaces, jsonx_str_or(c->after, "metadata.name", ""), g, NULL);
        arm(g);
    }
}

void sim_gc_change(struct sim_gc *g, const struct sim_change *c)
{
    if (c->kind == SIM_EVENT) {
        arm_sweep(g);
    }
    if (c->type == KUBE_DELETED) {
        on_deleted(g, c);
    } else if (jsonx_str(c->after, "metadata.deletionTimestamp")) {
        look_at(g, uid_of(c->after));
    }
    follow_refs(g, c);
}

/* ---- acting -------------------------------------------------------------------------------------
 */

struct target {
    enum sim_kind_id kind;
    json_t *obj;
};

/* A reference to the object, with its kind; obj NULL if there is none. */
static struct target fetch(const struct sim_gc *g, const char *uid)
{
    struct target t = {SIM_KINDS, NULL};
    t.obj = json_incref((json_t *)sim_api_get_uid(g->w->api, uid, &t.kind));
    return t;
}

static void delete_target(struct sim_gc *g, const struct target *t)
{
    sim_api_delete(g->w->api, WHO, t->kind, jsonx_str_or(t->obj, "metadata.namespace", ""),
                   jsonx_str_or(t->obj, "metadata.name", ""), uid_of(t->obj), -1, "Background",
                   NULL);
}

static void patch_meta(struct sim_gc *g, const struct target *t, const char *key, json_t *value)
{
    sim_api_patch(g->w->api, WHO, t->kind, "", jsonx_str_or(t->obj, "metadata.namespace", ""),
                  jsonx_str_or(t->obj, "metadata.name", ""),
                  json_pack("{s:{s:o}}", "metadata", key, value), NULL, NULL);
}

static void drop_finalizer(struct sim_gc *g, const struct target *t, const char *name)
{
    json_t *kept = json_array();
    size_t i;
    json_t *f;
    json_array_foreach (jsonx_at(t->obj, "metadata.finalizers"), i, f) {
        if (!str_eq(json_string_value(f), name)) {
            json_array_append(kept, f);
        }
    }
    patch_meta(g, t, "finalizers", kept);
}

/* The object's references to owners other than gone (NULL: other than those that are gone). */
static json_t *remaining_refs(const struct sim_gc *g, const json_t *obj, const char *gone)
{
    json_t *kept = json_array();
    size_t i;
    json_t *ref;
    json_array_foreach ((json_t *)refs_of(obj), i, ref) {
        const char *uid = jsonx_str_or(ref, "uid", "");
        bool keep = gone ? !str_eq(uid, gone) : sim_api_get_uid(g->w->api, uid, NULL) != NULL;
        if (keep) {
            json_array_append(kept, ref);
        }
    }
    return kept;
}

static void tend_dependent(struct sim_gc *g, const struct target *t)
{
    size_t had = json_array_size(refs_of(t->obj));
    if (had == 0 || jsonx_str(t->obj, "metadata.deletionTimestamp")) {
        return;
    }
    json_t *kept = remaining_refs(g, t->obj, NULL);
    if (json_array_size(kept) == 0) {
        json_decref(kept);
        delete_target(g, t);
    } else if (json_array_size(kept) < had) {
        patch_meta(g, t, "ownerReferences", kept);
    } else {
        json_decref(kept);
    }
}

/* The dependents' UIDs as a new array: acting on them changes the set. */
static json_t *dependents_of(const struct sim_gc *g, const json_t *owner)
{
    json_t *out = json_array();
    const struct map *set = map_get(g->dependents, uid_of(owner));
    if (set) {
        for (MAP_EACH(set, e)) {
            json_array_append_new(out, json_string(map_key(e)));
        }
    }
    return out;
}

static void tend_owner(struct sim_gc *g, const struct target *t)
{
    bool foreground = has_finalizer(t->obj, "foregroundDeletion");
    bool orphan = has_finalizer(t->obj, "orphan");
    if (!jsonx_str(t->obj, "metadata.deletionTimestamp") || (!foreground && !orphan)) {
        return;
    }
    json_t *uids = dependents_of(g, t->obj);
    size_t i, n = json_array_size(uids);
    json_t *uid;
    json_array_foreach (uids, i, uid) {
        struct target d = fetch(g, json_string_value(uid));
        if (d.obj && orphan) {
            patch_meta(g, &d, "ownerReferences", remaining_refs(g, d.obj, uid_of(t->obj)));
        } else if (d.obj && !jsonx_str(d.obj, "metadata.deletionTimestamp")) {
            delete_target(g, &d);
        }
        json_decref(d.obj);
    }
    json_decref(uids);
    if (orphan) {
        drop_finalizer(g, t, "orphan");
    } else if (n == 0) {
        drop_finalizer(g, t, "foregroundDeletion");
    }
}

static void empty_namespace(struct sim_gc *g, const char *ns)
{
    for (size_t k = 0; k < SIM_KINDS; k++) {
        enum sim_kind_id kind = (enum sim_kind_id)k;
        json_t *names = json_array();
        for (size_t i = 0; i < sim_api_count(g->w->api, kind); i++) {
            const json_t *o = sim_api_at(g->w->api, kind, i);
            if (str_eq(jsonx_str(o, "metadata.namespace"), ns)) {
                json_array_append_new(names, json_string(jsonx_str(o, "metadata.name")));
            }
        }
        size_t i;
        json_t *name;
        json_array_foreach (names, i, name) {
            sim_api_delete(g->w->api, WHO, kind, ns, json_string_value(name), NULL, -1,
                           "Background", NULL);
        }
        json_decref(names);
    }
}

static void on_timer(void *arg)
{
    struct sim_gc *g = arg;
    struct map *due = g->queue, *namespaces = g->namespaces;
    g->queue = map_new(SIM_API_OBJECTS_MAX * 4);
    g->namespaces = map_new(SIM_API_OBJECTS_MAX);
    for (MAP_EACH(namespaces, ns)) {
        empty_namespace(g, map_key(ns));
    }
    for (MAP_EACH(due, e)) {
        struct target t = fetch(g, map_key(e));
        if (t.obj) {
            tend_owner(g, &t);
        }
        json_decref(t.obj);
        t = fetch(g, map_key(e));
        if (t.obj) {
            tend_dependent(g, &t);
        }
        json_decref(t.obj);
    }
    map_free(due);
    map_free(namespaces);
    arm(g);
}

/* ---- events
 * -------------------------------------------------------------------------------------- */

static void on_sweep(void *arg);

static void arm_sweep(struct sim_gc *g)
{
    if (!timer_pending(&g->sweep) && sim_api_count(g->w->api, SIM_EVENT) > 0) {
        vclock_set(&g->w->clock, &g->sweep, EVENT_SWEEP_NS, on_sweep, g);
    }
}

static bool expired(const struct sim_gc *g, const json_t *event)
{
    int64_t at;
    const char *created = jsonx_str_or(event, "metadata.creationTimestamp", "");
    const char *last = jsonx_str_or(event, "lastTimestamp", created);
    return timefmt_parse_rfc3339(last, &at) && vclock_wall(&g->w->clock) >= at + EVENT_TTL_NS;
}

static void on_sweep(void *arg)
{
    struct sim_gc *g = arg;
    for (size_t i = sim_api_count(g->w->api, SIM_EVENT); i-- > 0;) {
        json_t *event = json_incref((json_t *)sim_api_at(g->w->api, SIM_EVENT, i));
        if (expired(g, event)) {
            sim_api_delete(g->w->api, "etcd", SIM_EVENT, jsonx_str(event, "metadata.namespace"),
                           jsonx_str(event, "metadata.name"), NULL, -1, NULL, NULL);
        }
        json_decref(event);
    }
    arm_sweep(g);
}

/* ---- life ---------------------------------------------------------------------------------------
 */

struct sim_gc *sim_gc_new(struct sim_world *w)
{
    struct sim_gc *g = NEW(struct sim_gc);
    g->w = w;
    g->dependents = map_new(SIM_API_OBJECTS_MAX * 4);
    g->queue = map_new(SIM_API_OBJECTS_MAX * 4);
    g->namespaces = map_new(SIM_API_OBJECTS_MAX);
    return g;
}

void sim_gc_free(struct sim_gc *g)
{
    timer_stop(&g->w->clock.timers, &g->timer);
    timer_stop(&g->w->clock.timers, &g->sweep);
    for (MAP_EACH(g->dependents, e)) {
        map_free(map_value(e));
    }
    map_free(g->dependents);
    map_free(g->queue);
    map_free(g->namespaces);
    free(g);
}

void sim_gc_run(struct sim_gc *g, bool on)
{
    g->off = !on;
    if (!on) {
        timer_stop(&g->w->clock.timers, &g->timer);
    }
    arm(g);
}
