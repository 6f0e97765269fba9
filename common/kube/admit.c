/* admit.c - see admit.h. */
#include "admit.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/map.h"
#include "common/base/str.h"

struct admission {
    struct map *limit_ranges; /* ns/name to spec.limits */
    struct map *runtimes;     /* name to the object */
    struct map *priorities;
};

struct admission *admission_new(void)
{
    struct admission *a = NEW(struct admission);
    a->limit_ranges = map_new(ADMISSION_MAX);
    a->runtimes = map_new(ADMISSION_MAX);
    a->priorities = map_new(ADMISSION_MAX);
    return a;
}

static void free_all(struct map *m)
{
    for (MAP_EACH(m, e)) {
        json_decref(map_value(e));
    }
    map_free(m);
}

void admission_free(struct admission *a)
{
    if (!a) {
        return;
    }
    free_all(a->limit_ranges);
    free_all(a->runtimes);
    free_all(a->priorities);
    free(a);
}

static struct map *map_of(struct admission *a, enum kube_kind k)
{
    switch (k) {
    case KIND_LIMIT_RANGE:
        return a->limit_ranges;
    case KIND_RUNTIME_CLASS:
        return a->runtimes;
    case KIND_PRIORITY_CLASS:
        return a->priorities;
    default:
        return NULL;
    }
}

void admission_put(struct admission *a, enum kube_kind k, const json_t *o)
{
    struct map *m = map_of(a, k);
    const char *name = jsonx_str(o, "metadata.name");
    if (!m || !name) {
        return;
    }
    AUTO_FREE char *key = k == KIND_LIMIT_RANGE
                              ? xasprintf("%s/%s", jsonx_str_or(o, "metadata.namespace", ""), name)
                              : xstrdup(name);
    const json_t *part = k == KIND_LIMIT_RANGE ? jsonx_arr(o, "spec.limits") : o;
    json_t *copy = part ? json_deep_copy(part) : json_array();
    bool full = false;
    json_decref(map_put(m, key, copy, &full));
    if (full) {
        json_decref(copy);
    }
}

void admission_drop(struct admission *a, enum kube_kind k, const char *name)
{
    struct map *m = map_of(a, k);
    if (m) {
        json_decref(map_del(m, name));
    }
}

void admission_forget(struct admission *a, enum kube_kind k)
{
    struct map *m = map_of(a, k);
    for (MAP_EACH(m, e)) {
        json_decref(map_value(e));
    }
    map_clear(m);
}

/* ---- requests -------------------------------------------------------------------------------- */

static json_t *object_in(json_t *o, const char *key)
{
    json_t *v = json_object_get(o, key);
    if (!json_is_object(v)) {
        (void)json_object_set_new(o, key, json_object());
        v = json_object_get(o, key);
    }
    return v;
}

/* Adds what is missing; a limit stands in for a request before anything else. */
static void fill(json_t *container, const json_t *from)
{
    const char *name;
    json_t *v;
    if (!json_is_object(container) || json_object_size(from) == 0) {
        return;
    }
    json_t *requests = object_in(object_in(container, "resources"), "requests");
    const json_t *limits = jsonx_obj(container, "resources.limits");
    json_object_foreach ((json_t *)(uintptr_t)from, name, v) {
        if (!json_object_get(requests, name) && !json_object_get(limits, name)) {
            (void)json_object_set(requests, name, v);
        }
    }
}

static void fill_from_item(json_t *containers, const json_t *item)
{
    static const char *const from[] = {"defaultRequest", "default", "max", "min"};
    size_t i;
    json_t *c;
    json_array_foreach (containers, i, c) {
        for (size_t k = 0; k < ARRAY_LEN(from); k++) {
            fill(c, jsonx_obj(item, from[k]));
        }
    }
}

static bool of_namespace(const struct map_entry *e, const char *ns)
{
    size_t n = strlen(ns);
    return strncmp(map_key(e), ns, n) == 0 && map_key(e)[n] == '/';
}

static int cmp_entry(const void *x, const void *y)
{
    return str_cmp(map_key(*(const struct map_entry *const *)x),
                   map_key(*(const struct map_entry *const *)y));
}

static void fill_from_limit_ranges(const struct admission *a, const char *ns, json_t *spec)
{
    size_t n = 0;
    AUTO_FREE const struct map_entry **v =
        NEW_N(const struct map_entry *, map_count(a->limit_ranges) + 1);
    for (MAP_EACH(a->limit_ranges, e)) {
        if (of_namespace(e, ns)) {
            v[n++] = e;
        }
    }
    if (n > 1) {
        qsort(v, n, sizeof(*v), cmp_entry);
    }
    for (size_t i = 0; i < n; i++) {
        size_t k;
        json_t *item;
        json_array_foreach ((json_t *)map_value(v[i]), k, item) {
            if (str_eq(jsonx_str(item, "type"), "Container")) {
                fill_from_item(json_object_get(spec, "containers"), item);
                fill_from_item(json_object_get(spec, "initContainers"), item);
            }
        }
    }
}

/* ---- classes --------------------------------------------------------------------------------- */

static void apply_runtime(const struct admission *a, json_t *spec)
{
    const char *name = jsonx_str(spec, "runtimeClassName"), *key;
    const json_t *class = name ? map_get(a->runtimes, name) : NULL;
    const json_t *overhead = jsonx_obj(class, "overhead.podFixed");
    const json_t *selector = jsonx_obj(class, "scheduling.nodeSelector");
    size_t i;
    json_t *v;
    if (overhead && !json_object_get(spec, "overhead")) {
        (void)json_object_set_new(spec, "overhead", json_deep_copy(overhead));
    }
    json_object_foreach ((json_t *)(uintptr_t)selector, key, v) {
        (void)json_object_set(object_in(spec, "nodeSelector"), key, v);
    }
    json_array_foreach (jsonx_arr(class, "scheduling.tolerations"), i, v) {
        if (!json_is_array(json_object_get(spec, "tolerations"))) {
            (void)json_object_set_new(spec, "tolerations", json_array());
        }
        (void)json_array_append(json_object_get(spec, "tolerations"), v);
    }
}

/* The default class of those that say they are it: the lowest value, as the API server. */
static const json_t *default_priority(const struct admission *a)
{
    const json_t *ret = NULL;
    for (MAP_EACH(a->priorities, e)) {
        const json_t *o = map_value(e);
        if (jsonx_bool(o, "globalDefault", false) &&
            (!ret || jsonx_int(o, "value", 0) < jsonx_int(ret, "value", 0))) {
            ret = o;
        }
    }
    return ret;
}

static void apply_priority(const struct admission *a, json_t *spec)
{
    static const struct {
        const char *name;
        int64_t value;
    } system[] = {{"system-node-critical", 2000001000}, {"system-cluster-critical", 2000000000}};
    const char *name = jsonx_str_or(spec, "priorityClassName", "");
    const json_t *class = *name ? map_get(a->priorities, name) : default_priority(a);
    if (json_is_integer(json_object_get(spec, "priority"))) {
        return;
    }
    if (class) {
        (void)json_object_set_new(spec, "priority", json_integer(jsonx_int(class, "value", 0)));
    }
    for (size_t i = 0; !class && i < ARRAY_LEN(system); i++) {
        if (str_eq(name, system[i].name)) {
            (void)json_object_set_new(spec, "priority", json_integer(system[i].value));
        }
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

bool admission_any(const struct admission *a, const char *ns)
{
    for (MAP_EACH(a->limit_ranges, e)) {
        if (of_namespace(e, ns)) {
            return true;
        }
    }
    return map_count(a->runtimes) + map_count(a->priorities) > 0;
}

void admission_apply(const struct admission *a, const char *ns, json_t *spec)
{
    if (!json_is_object(spec)) {
        return;
    }
    fill_from_limit_ranges(a, ns, spec);
    apply_runtime(a, spec);
    apply_priority(a, spec);
}
