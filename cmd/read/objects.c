/* objects.c - see objects.h. */
#include "objects.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/map.h"
#include "common/base/str.h"

#include <strings.h>

struct objects {
    struct object *v;
    size_t n, cap;
    struct map *index; /* "kind/ns/name" → 1 + place */
};

struct objects *objects_new(void)
{
    struct objects *s = NEW(struct objects);
    s->index = map_new(OBJECTS_KEPT_MAX);
    return s;
}

void objects_free(struct objects *s)
{
    if (!s) {
        return;
    }
    for (size_t i = 0; i < s->n; i++) {
        json_decref(s->v[i].o);
    }
    free(s->v);
    map_free(s->index);
    free(s);
}

static char *key_of(enum kube_kind k, const char *ns, const char *name)
{
    return xasprintf("%d/%s/%s", (int)k, ns, name);
}

/* With kind and apiVersion, which items of a list may lack. */
static json_t *with_type(enum kube_kind k, const json_t *o)
{
    if (json_object_get(o, "kind")) {
        return json_incref((json_t *)(uintptr_t)o);
    }
    json_t *typed = json_pack("{s:s, s:s}", "apiVersion", kube_kind(k)->api_version, "kind",
                              kube_kind(k)->kind);
    if (!typed || json_object_update(typed, (json_t *)(uintptr_t)o) != 0) {
        BUG("an object refuses its kind");
    }
    return typed;
}

static void set(struct object *at, enum kube_kind k, json_t *o)
{
    json_decref(at->o);
    *at = (struct object){k, jsonx_str_or(o, "metadata.namespace", ""),
                          jsonx_str_or(o, "metadata.name", ""), o};
}

struct objects *objects_clone(const struct objects *s)
{
    struct objects *ret = objects_new();
    for (size_t i = 0; i < s->n; i++) {
        objects_put(ret, s->v[i].kind, s->v[i].o);
    }
    return ret;
}

void objects_put(struct objects *s, enum kube_kind k, const json_t *o)
{
    AUTO_FREE char *key =
        key_of(k, jsonx_str_or(o, "metadata.namespace", ""), jsonx_str_or(o, "metadata.name", ""));
    size_t at = (size_t)(uintptr_t)map_get(s->index, key);
    if (at > 0) {
        set(&s->v[at - 1], k, with_type(k, o));
        return;
    }
    bool full = false;
    (void)map_put(s->index, key, (void *)(uintptr_t)(s->n + 1), &full);
    if (full) {
        return;
    }
    ARRAY_GROW(s->v, s->n, s->cap);
    s->v[s->n] = (struct object){.o = NULL};
    set(&s->v[s->n++], k, with_type(k, o));
}

const struct object *objects_find(const struct objects *s, enum kube_kind k, const char *ns,
                                  const char *name)
{
    AUTO_FREE char *key = key_of(k, ns, name);
    size_t at = (size_t)(uintptr_t)map_get(s->index, key);
    return at ? &s->v[at - 1] : NULL;
}

json_t *objects_edit(struct objects *s, const struct object *at)
{
    struct object *own = &s->v[at - s->v];
    json_t *copy = json_deep_copy(own->o);
    if (!copy) {
        BUG("an object cannot be copied");
    }
    set(own, own->kind, copy);
    return copy;
}

static void reindex(struct objects *s)
{
    map_clear(s->index);
    for (size_t i = 0; i < s->n; i++) {
        AUTO_FREE char *key = key_of(s->v[i].kind, s->v[i].ns, s->v[i].name);
        (void)map_put(s->index, key, (void *)(uintptr_t)(i + 1), NULL);
    }
}

/* The last one takes the place that has become free. */
void objects_del(struct objects *s, enum kube_kind k, const char *ns, const char *name)
{
    AUTO_FREE char *key = key_of(k, ns, name);
    size_t at = (size_t)(uintptr_t)map_del(s->index, key);
    if (at == 0) {
        return;
    }
    json_decref(s->v[at - 1].o);
    s->v[at - 1] = s->v[--s->n];
    if (at - 1 < s->n) {
        AUTO_FREE char *moved = key_of(s->v[at - 1].kind, s->v[at - 1].ns, s->v[at - 1].name);
        (void)map_put(s->index, moved, (void *)(uintptr_t)at, NULL);
    }
}

void objects_forget(struct objects *s, enum kube_kind k)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (s->v[i].kind == k) {
            json_decref(s->v[i].o);
        } else {
            s->v[n++] = s->v[i];
        }
    }
    if (n != s->n) {
        s->n = n;
        reindex(s);
    }
}

static int object_cmp(const void *x, const void *y)
{
    const struct object *a = x, *b = y;
    if (a->kind != b->kind) {
        return a->kind < b->kind ? -1 : 1;
    }
    int c = str_cmp(a->ns, b->ns);
    return c ? c : str_cmp(a->name, b->name);
}

void objects_sort(struct objects *s)
{
    if (s->n > 1) {
        qsort(s->v, s->n, sizeof(*s->v), object_cmp);
    }
    reindex(s);
}

size_t objects_n(const struct objects *s)
{
    return s->n;
}

const struct object *objects_at(const struct objects *s, size_t i)
{
    return &s->v[i];
}

bool objects_kind(const char *word, enum kube_kind *ret)
{
    static const struct {
        const char *name;
        enum kube_kind kind;
    } shorts[] = {
        {"po", KIND_POD},
        {"no", KIND_NODE},
        {"ns", KIND_NAMESPACE},
        {"cm", KIND_CONFIG_MAP},
        {"pv", KIND_PERSISTENT_VOLUME},
        {"pvc", KIND_PERSISTENT_VOLUME_CLAIM},
        {"sc", KIND_STORAGE_CLASS},
        {"ds", KIND_DAEMON_SET},
        {"deploy", KIND_DEPLOYMENT},
        {"rs", KIND_REPLICA_SET},
        {"sts", KIND_STATEFUL_SET},
        {"pdb", KIND_POD_DISRUPTION_BUDGET},
        {"limits", KIND_LIMIT_RANGE},
        {"quota", KIND_RESOURCE_QUOTA},
        {"pc", KIND_PRIORITY_CLASS},
        {"ec2nc", KIND_EC2_NODE_CLASS},
        {"dreq", KIND_DISRUPTION_REQUEST},
    };
    for (int k = 0; k < KIND_COUNT; k++) {
        const struct kube_kind_info *info = kube_kind((enum kube_kind)k);
        if (strcasecmp(word, info->kind) == 0 || strcasecmp(word, info->plural) == 0) {
            *ret = (enum kube_kind)k;
            return true;
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(shorts); i++) {
        if (strcasecmp(word, shorts[i].name) == 0) {
            *ret = shorts[i].kind;
            return true;
        }
    }
    return false;
}
