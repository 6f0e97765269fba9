/* api_restore.c - an etcd restore: the store as it was some time ago; see api.h */
#include "api_store.h"
#include "common/base/alloc.h"
#include "common/base/str.h"

#define WHO "etcd"
#define VERSION_BUMP                                                                               \
    1000000 /* nothing that was ever handed out can meet a version of the new life */

/* What an object was, or NULL if it was not. */
struct past {
    char *ns, *name;
    json_t *was;
};

struct pasts {
    struct past *v;
    size_t n, cap;
    struct map *by_key; /* "ns/name" → index + 1 */
};

/* Events are undone from the newest on, so the last one noted for a key is the one that counts. */
static void undo(struct pasts *p, const struct sim_event *ev)
{
    const char *ns = sim_meta(ev->after, "namespace"), *name = sim_meta(ev->after, "name");
    AUTO_FREE char *key = xasprintf("%s/%s", ns, name);
    uintptr_t at = (uintptr_t)map_get(p->by_key, key);
    if (!at) {
        ARRAY_GROW(p->v, p->n, p->cap);
        p->v[p->n++] = (struct past){xstrdup(ns), xstrdup(name), NULL};
        at = p->n;
        map_put(p->by_key, key, (void *)at, NULL);
    }
    struct past *x = &p->v[at - 1];
    json_decref(x->was);
    x->was = ev->before ? json_incref(ev->before) : NULL;
}

/* Puts the very object back that was stored then: its version must be the old one. */
static void set_past(struct sim_entry *e, json_t *was)
{
    json_decref(e->obj);
    e->obj = json_incref(was);
    str_parse_i64(sim_meta(was, "resourceVersion"), &e->version);
}

static bool bring_back(struct sim_op *op, const struct past *x)
{
    struct sim_entry *e = sim_store_find(op->a, op->kind->id, x->ns, x->name);
    if (e && x->was && e->obj == x->was) {
        return false;
    }
    if (e && (!x->was || !str_eq(e->uid, sim_meta(x->was, "uid")))) {
        sim_store_remove(op, e, sim_own(e->obj));
        e = NULL;
        if (!x->was) {
            return true;
        }
    }
    if (!x->was) {
        return false; /* came and went since */
    }
    if (e) {
        sim_store_put(op, e, sim_own(x->was));
    } else {
        e = sim_store_add(op, sim_own(x->was));
    }
    set_past(e, x->was);
    return true;
}

static size_t restore_kind(struct sim_api *a, enum sim_kind_id kind, int64_t at_ns)
{
    const struct sim_table *t = &a->tables[kind];
    struct pasts p = {.by_key = map_new(2 * (size_t)SIM_API_HISTORY_MAX)};
    size_t changed = 0;
    for (uint64_t s = t->next_seq; s > t->first_seq; s--) {
        const struct sim_event *ev = &t->ring[(s - 1) % t->ring_cap];
        if (ev->at_ns <= at_ns) {
            break;
        }
        undo(&p, ev);
    }
    for (size_t i = 0; i < p.n; i++) {
        struct sim_op op = {.a = a,
                            .who = WHO,
                            .verb = "restore",
                            .kind = sim_kind(kind),
                            .ns = p.v[i].ns,
                            .name = p.v[i].name,
                            .sub = ""};
        changed += bring_back(&op, &p.v[i]);
    }
    for (size_t i = 0; i < p.n; i++) {
        free(p.v[i].ns);
        free(p.v[i].name);
        json_decref(p.v[i].was);
    }
    free(p.v);
    map_free(p.by_key);
    return changed;
}

size_t sim_api_restore(struct sim_api *a, int64_t ago_ns)
{
    int64_t now_ns = vclock_now(a->clock), at_ns = now_ns > ago_ns ? now_ns - ago_ns : 0;
    size_t changed = 0;
    for (int k = 0; k < SIM_KINDS; k++) {
        changed += restore_kind(a, (enum sim_kind_id)k, at_ns);
    }
    a->version += VERSION_BUMP;
    sim_api_compact(a);
    sim_api_break_watches(a);
    return changed;
}
