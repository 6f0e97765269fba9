/* admit.c - see admit.h. */
#include "admit.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/map.h"
#include "common/base/quantity.h"
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

/* Adds missing requests; a limit stands in for a request before anything else. */
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

static void fill_limits(json_t *container, const json_t *from)
{
    const char *name;
    json_t *v;
    if (!json_is_object(container) || json_object_size(from) == 0) {
        return;
    }
    json_t *limits = object_in(object_in(container, "resources"), "limits");
    json_object_foreach ((json_t *)(uintptr_t)from, name, v) {
        if (!json_object_get(limits, name)) {
            (void)json_object_set(limits, name, v);
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
        fill_limits(c, jsonx_obj(item, "default"));
        fill_limits(c, jsonx_obj(item, "max"));
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

/* The namespace's, by name; to be freed. */
static const struct map_entry **limit_ranges(const struct admission *a, const char *ns,
                                             size_t *ret_n)
{
    const struct map_entry **v = NEW_N(const struct map_entry *, map_count(a->limit_ranges) + 1);
    size_t n = 0;
    for (MAP_EACH(a->limit_ranges, e)) {
        if (of_namespace(e, ns)) {
            v[n++] = e;
        }
    }
    if (n > 1) {
        qsort(v, n, sizeof(*v), cmp_entry);
    }
    *ret_n = n;
    return v;
}

static void fill_from_limit_ranges(const struct admission *a, const char *ns, json_t *spec)
{
    size_t n;
    AUTO_FREE const struct map_entry **v = limit_ranges(a, ns, &n);
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

/* ---- what a LimitRange refuses --------------------------------------------------------------- */

struct amount {
    bool there;
    int64_t milli;
};

/* Of one resource: what is asked for and allowed, by whom ("container main", "the pod"). */
struct use {
    const char *who, *resource;
    struct amount request, limit;
};

static struct amount amount_of(const json_t *list, const char *name)
{
    struct amount ret = {false, 0};
    const json_t *v = json_object_get(list, name);
    char digits[32];
    (void)snprintf(digits, sizeof(digits), "%lld", (long long)json_integer_value(v));
    const char *text = json_is_integer(v) ? digits : json_string_value(v);
    ret.there = text && quantity_parse_milli(text, &ret.milli);
    return ret;
}

static void add_amount(struct amount *sum, struct amount one)
{
    sum->there |= one.there;
    if (one.there && __builtin_add_overflow(sum->milli, one.milli, &sum->milli)) {
        sum->milli = INT64_MAX;
    }
}

static void most(struct amount *m, struct amount one)
{
    m->there |= one.there;
    m->milli = one.milli > m->milli ? one.milli : m->milli;
}

static struct amount of_pod(const json_t *spec, const char *list, const char *name)
{
    struct amount sum = {false, 0}, init = {false, 0};
    size_t i;
    json_t *c;
    json_array_foreach (jsonx_arr(spec, "containers"), i, c) {
        add_amount(&sum, amount_of(jsonx_obj(jsonx_obj(c, "resources"), list), name));
    }
    json_array_foreach (jsonx_arr(spec, "initContainers"), i, c) {
        struct amount one = amount_of(jsonx_obj(jsonx_obj(c, "resources"), list), name);
        if (str_eq(jsonx_str(c, "restartPolicy"), "Always")) {
            add_amount(&sum, one);
        } else {
            most(&init, one);
        }
    }
    most(&sum, init);
    return sum;
}

static bool too_little(const struct use *u, struct amount least, const char *text, struct buf *why)
{
    if (!u->request.there) {
        buf_printf(why, "%s has no %s request, the minimum is %s", u->who, u->resource, text);
    } else if (u->request.milli < least.milli) {
        buf_printf(why, "%s request of %s is under the minimum %s", u->resource, u->who, text);
    } else if (u->limit.there && u->limit.milli < least.milli) {
        buf_printf(why, "%s limit of %s is under the minimum %s", u->resource, u->who, text);
    } else {
        return false;
    }
    return true;
}

static bool too_much(const struct use *u, struct amount max, const char *text, struct buf *why)
{
    if (!u->limit.there) {
        buf_printf(why, "%s has no %s limit, the maximum is %s", u->who, u->resource, text);
    } else if (u->limit.milli > max.milli) {
        buf_printf(why, "%s limit of %s is over the maximum %s", u->resource, u->who, text);
    } else if (u->request.there && u->request.milli > max.milli) {
        buf_printf(why, "%s request of %s is over the maximum %s", u->resource, u->who, text);
    } else {
        return false;
    }
    return true;
}

static bool too_far_apart(const struct use *u, struct amount ratio, const char *text,
                          struct buf *why)
{
    bool both = u->request.there && u->request.milli != 0 && u->limit.there && u->limit.milli != 0;
    if (!both) {
        buf_printf(why, "%s needs a %s request and a limit, which may be %s times as much", u->who,
                   u->resource, text);
        return true;
    }
    if ((__int128)u->limit.milli * 1000 > (__int128)ratio.milli * u->request.milli) {
        buf_printf(why, "%s limit of %s is more than %s times the request", u->resource, u->who,
                   text);
        return true;
    }
    return false;
}

/* What of a LimitRange's item stands under the key; container NULL: for the whole pod. */
static bool breaks(const json_t *item, const json_t *spec, const json_t *container, struct buf *why)
{
    static const struct {
        const char *key;
        bool (*broken)(const struct use *u, struct amount than, const char *text, struct buf *why);
    } rules[] = {{"min", too_little}, {"max", too_much}, {"maxLimitRequestRatio", too_far_apart}};
    AUTO_FREE char *who = container ? xasprintf("container %s", jsonx_str_or(container, "name", ""))
                                    : xstrdup("the pod");
    const json_t *own = jsonx_obj(container, "resources");
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        const char *name;
        json_t *v;
        json_object_foreach (jsonx_obj(item, rules[i].key), name, v) {
            struct amount than = amount_of(jsonx_obj(item, rules[i].key), name);
            struct use u = {who, name,
                            container ? amount_of(jsonx_obj(own, "requests"), name)
                                      : of_pod(spec, "requests", name),
                            container ? amount_of(jsonx_obj(own, "limits"), name)
                                      : of_pod(spec, "limits", name)};
            char text[32];
            (void)snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(v));
            if (than.there &&
                rules[i].broken(&u, than, json_is_string(v) ? json_string_value(v) : text, why)) {
                return true;
            }
        }
    }
    return false;
}

static bool item_refuses(const json_t *item, const json_t *spec, struct buf *why)
{
    static const char *const lists[] = {"containers", "initContainers"};
    const char *type = jsonx_str_or(item, "type", "");
    if (str_eq(type, "Pod")) {
        return breaks(item, spec, NULL, why);
    }
    for (size_t l = 0; str_eq(type, "Container") && l < ARRAY_LEN(lists); l++) {
        size_t i;
        json_t *c;
        json_array_foreach (jsonx_arr(spec, lists[l]), i, c) {
            if (json_is_object(c) && breaks(item, spec, c, why)) {
                return true;
            }
        }
    }
    return false;
}

bool admission_refuses(const struct admission *a, const char *ns, const json_t *spec,
                       struct buf *why)
{
    size_t n;
    AUTO_FREE const struct map_entry **v = limit_ranges(a, ns, &n);
    for (size_t i = 0; i < n; i++) {
        size_t k;
        json_t *item;
        json_array_foreach ((json_t *)map_value(v[i]), k, item) {
            buf_reset(why);
            buf_printf(why, "limitrange %s: ", map_key(v[i]) + strlen(ns) + 1);
            if (item_refuses(item, spec, why)) {
                return true;
            }
        }
    }
    buf_reset(why);
    return false;
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
        (void)json_object_set(spec, "priorityClassName", jsonx_at(class, "metadata.name"));
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
