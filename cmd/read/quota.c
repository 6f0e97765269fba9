/* quota.c - see quota.h. */
#include "quota.h"

#include "common/base/jsonx.h"
#include "common/base/quantity.h"
#include "common/base/str.h"

struct line {
    const json_t *quota; /* the object, borrowed */
    const char *name, *key, *text;
    enum resource res; /* RES_FIXED: see ext */
    sym ext;
    bool limits;  /* of what is allowed, not of what is asked for */
    bool compute; /* cpu or memory: each container has to say */
    bool ever;    /* count/pods: pods that are over count as well */
    int64_t hard, used;
};

struct quota {
    struct arena *a;
    struct decoder *d;
    struct line *v;
    uint32_t n, cap;
};

/* A pod's requests and limits, as quotas count them. */
struct demand {
    struct resources requests, limits;
};

/* ---- scopes ---------------------------------------------------------------------------------- */

static bool says_any(const json_t *list)
{
    static const char *const counted[] = {"cpu", "memory"};
    for (size_t i = 0; i < ARRAY_LEN(counted); i++) {
        const json_t *v = json_object_get(list, counted[i]);
        int64_t n = json_integer_value(v);
        if (n != 0 || (json_is_string(v) && quantity_parse_milli(json_string_value(v), &n) && n)) {
            return true;
        }
    }
    return false;
}

static bool asks(const json_t *o)
{
    const json_t *r = jsonx_obj(o, "resources");
    return says_any(jsonx_obj(r, "requests")) || says_any(jsonx_obj(r, "limits"));
}

/* The QoS class: nobody in it asks for anything. */
static bool best_effort(const json_t *spec)
{
    static const char *const lists[] = {"containers", "initContainers"};
    bool any = asks(spec);
    for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
        size_t i;
        json_t *c;
        json_array_foreach (jsonx_arr(spec, lists[l]), i, c) {
            any = any || asks(c);
        }
    }
    return !any;
}

static bool crosses(const json_t *term)
{
    return json_array_size(jsonx_arr(term, "namespaces")) > 0 ||
           json_is_object(json_object_get(term, "namespaceSelector"));
}

static bool crosses_namespaces(const json_t *spec)
{
    static const char *const kinds[] = {"affinity.podAffinity", "affinity.podAntiAffinity"};
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        const json_t *o = jsonx_obj(spec, kinds[k]);
        size_t i;
        json_t *t;
        json_array_foreach (jsonx_arr(o, "requiredDuringSchedulingIgnoredDuringExecution"), i, t) {
            if (crosses(t)) {
                return true;
            }
        }
        json_array_foreach (jsonx_arr(o, "preferredDuringSchedulingIgnoredDuringExecution"), i, t) {
            if (crosses(jsonx_obj(t, "podAffinityTerm"))) {
                return true;
            }
        }
    }
    return false;
}

static bool listed(const json_t *values, const char *s)
{
    size_t i;
    json_t *v;
    json_array_foreach ((json_t *)(uintptr_t)values, i, v) {
        if (str_eq(json_string_value(v), s)) {
            return true;
        }
    }
    return false;
}

static bool of_priority(const json_t *spec, const char *op, const json_t *values)
{
    const char *name = jsonx_str_or(spec, "priorityClassName", "");
    return str_eq(op, "In")             ? *name && listed(values, name)
           : str_eq(op, "NotIn")        ? !*name || !listed(values, name)
           : str_eq(op, "DoesNotExist") ? !*name
                                        : *name != '\0';
}

static bool in_scope(const json_t *spec, const char *scope, const char *op, const json_t *values)
{
    bool ends = jsonx_int(spec, "activeDeadlineSeconds", -1) >= 0;
    return str_eq(scope, "Terminating")                 ? ends
           : str_eq(scope, "NotTerminating")            ? !ends
           : str_eq(scope, "BestEffort")                ? best_effort(spec)
           : str_eq(scope, "NotBestEffort")             ? !best_effort(spec)
           : str_eq(scope, "PriorityClass")             ? of_priority(spec, op, values)
           : str_eq(scope, "CrossNamespacePodAffinity") ? crosses_namespaces(spec)
                                                        : false;
}

/* The quota is about such pods. */
static bool concerns(const json_t *quota, const json_t *spec)
{
    size_t i;
    json_t *v;
    json_array_foreach (jsonx_arr(quota, "spec.scopes"), i, v) {
        if (!in_scope(spec, json_string_value(v), "Exists", NULL)) {
            return false;
        }
    }
    json_array_foreach (jsonx_arr(quota, "spec.scopeSelector.matchExpressions"), i, v) {
        if (!in_scope(spec, jsonx_str(v, "scopeName"), jsonx_str(v, "operator"),
                      jsonx_arr(v, "values"))) {
            return false;
        }
    }
    return true;
}

/* ---- amounts --------------------------------------------------------------------------------- */

static int64_t amount(const struct demand *r, const struct line *l)
{
    const struct resources *of = l->limits ? &r->limits : &r->requests;
    return l->res < RES_FIXED ? of->v[l->res] : resources_get_ext(of, l->ext);
}

/* No amount is below 0 and sums stop at the most there is, so that none wraps around. */
static void use(struct line *l, const struct demand *r)
{
    int64_t one = amount(r, l);
    if (one > 0 && __builtin_add_overflow(l->used, one, &l->used)) {
        l->used = INT64_MAX;
    }
}

static struct resources sum_of(struct quota *q, const json_t *pod)
{
    struct resources r = {.n_ext = 0};
    if (decode_pod_requests(q->d, q->a, pod, false, &r, NULL) != 0) {
        r = (struct resources){.n_ext = 0};
    }
    r.v[RES_PODS] = 1; /* it is one, whatever it asks for */
    return r;
}

/* The object's limits in place of its requests. */
static void swap_in_limits(json_t *o)
{
    json_t *resources = jsonx_obj(o, "resources"), *limits = jsonx_obj(resources, "limits");
    if (resources && limits) {
        (void)json_object_set(resources, "requests", limits);
    } else if (resources) {
        (void)json_object_del(resources, "requests");
    }
}

/* Limits sum up as requests do. Overhead is added only where there is a limit. */
static struct resources limits_of(struct quota *q, const json_t *pod)
{
    static const char *const lists[] = {"containers", "initContainers"};
    json_t *spec = json_deep_copy(jsonx_obj(pod, "spec"));
    AUTO_JSON json_t *copy = json_pack("{s:o*}", "spec", spec);
    swap_in_limits(spec);
    for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
        size_t i;
        json_t *c;
        json_array_foreach (jsonx_arr(spec, lists[l]), i, c) {
            swap_in_limits(c);
        }
    }
    struct resources with = sum_of(q, copy);
    if (json_object_get(spec, "overhead")) {
        (void)json_object_del(spec, "overhead");
        struct resources without = sum_of(q, copy);
        for (int r = 0; r < RES_FIXED; r++) {
            with.v[r] = without.v[r] > 0 ? with.v[r] : 0;
        }
    }
    return with;
}

static struct demand demand_of(struct quota *q, const json_t *pod)
{
    return (struct demand){sum_of(q, pod), limits_of(q, pod)};
}

/* ---- quotas ---------------------------------------------------------------------------------- */

/* What of a pod the key counts; false for what is not looked at. */
static bool resource_of(struct quota *q, const char *key, struct line *l)
{
    static const char *const plain[] = {"cpu", "memory", "ephemeral-storage"};
    bool asked = str_starts(key, "requests.");
    l->limits = str_starts(key, "limits.");
    const char *name = asked       ? key + strlen("requests.")
                       : l->limits ? key + strlen("limits.")
                                   : key;
    l->res = RES_FIXED;
    if (str_eq(key, "pods") || str_eq(key, "count/pods")) {
        l->res = RES_PODS;
        l->ever = key[0] == 'c';
        return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
        asked = asked || str_eq(name, plain[i]);
    }
    if ((!asked && !l->limits) || str_eq(name, "storage")) {
        return false;
    }
    l->compute = str_eq(name, "cpu") || str_eq(name, "memory");
    if (!resource_parse(name, &l->res)) {
        l->ext = sym_intern(decoder_symtab(q->d), name);
    }
    return true;
}

static bool parse_amount(const struct line *l, const char *text, int64_t *ret)
{
    return text &&
           (l->res == RES_CPU ? quantity_parse_milli(text, ret) : quantity_parse(text, ret));
}

static const char *text_of(struct arena *a, const json_t *v)
{
    char digits[32];
    (void)snprintf(digits, sizeof(digits), "%lld", (long long)json_integer_value(v));
    return arena_strdup(a, json_is_integer(v) ? digits : json_string_value(v));
}

static void add_quota(struct quota *q, const struct object *o, enum quota_use how)
{
    const char *key;
    json_t *v;
    const json_t *used = jsonx_obj(o->o, "status.used");
    json_object_foreach (jsonx_obj(o->o, "spec.hard"), key, v) {
        struct line l = {.quota = o->o,
                         .name = arena_strdup(q->a, o->name),
                         .key = arena_strdup(q->a, key),
                         .text = text_of(q->a, v)};
        if (l.text && resource_of(q, key, &l) && parse_amount(&l, l.text, &l.hard) &&
            (how == QUOTA_COUNTED ||
             parse_amount(&l, text_of(q->a, json_object_get(used, key)), &l.used))) {
            ARENA_GROW(q->a, q->v, q->n, q->cap);
            q->v[q->n++] = l;
        }
    }
}

static bool is_over(const struct object *pod)
{
    const char *phase = jsonx_str_or(pod->o, "status.phase", "");
    return str_eq(phase, "Succeeded") || str_eq(phase, "Failed");
}

static int line_cmp(const void *x, const void *y)
{
    const struct line *a = x, *b = y;
    int c = str_cmp(a->name, b->name);
    return c ? c : str_cmp(a->key, b->key);
}

static void count_pod(struct quota *q, const struct object *o)
{
    const struct demand r = demand_of(q, o->o);
    for (uint32_t k = 0; k < q->n; k++) {
        struct line *l = &q->v[k];
        if ((l->ever || !is_over(o)) && concerns(l->quota, jsonx_obj(o->o, "spec"))) {
            use(l, &r);
        }
    }
}

struct quota *quota_new(struct arena *a, struct decoder *d, const struct objects *s, const char *ns,
                        enum quota_use how)
{
    struct quota *q = ARENA_NEW(a, struct quota);
    *q = (struct quota){.a = a, .d = d};
    for (size_t i = 0; i < objects_n(s); i++) {
        const struct object *o = objects_at(s, i);
        if (o->kind == KIND_RESOURCE_QUOTA && str_eq(o->ns, ns)) {
            add_quota(q, o, how);
        }
    }
    if (q->n > 1) {
        qsort(q->v, q->n, sizeof(*q->v), line_cmp);
    }
    for (size_t i = 0; q->n > 0 && how == QUOTA_COUNTED && i < objects_n(s); i++) {
        const struct object *o = objects_at(s, i);
        if (o->kind == KIND_POD && str_eq(o->ns, ns)) {
            count_pod(q, o);
        }
    }
    return q;
}

/* ---- a pod more ------------------------------------------------------------------------------ */

/* The first container that does not say what the quota counts; NULL: all do. */
static const char *silent(const struct line *l, const json_t *spec)
{
    static const char *const lists[] = {"containers", "initContainers"};
    const char *dot = strchr(l->key, '.'), *list = l->limits ? "limits" : "requests";
    for (size_t k = 0; l->compute && k < ARRAY_LEN(lists); k++) {
        size_t i;
        json_t *c;
        json_array_foreach (jsonx_arr(spec, lists[k]), i, c) {
            const json_t *said = jsonx_obj(jsonx_obj(c, "resources"), list);
            if (!json_object_get(said, dot ? dot + 1 : l->key)) {
                return jsonx_str_or(c, "name", "");
            }
        }
    }
    return NULL;
}

static const char *refuses(struct quota *q, const struct line *l, const json_t *spec,
                           const struct demand *r)
{
    int64_t one = amount(r, l);
    const char *container = silent(l, spec);
    if (container) {
        return arena_printf(q->a, "resourcequota %s: container %s must say %s", l->name, container,
                            l->key);
    }
    return one > 0 && (l->hard < one || l->used > l->hard - one)
               ? arena_printf(q->a, "resourcequota %s: %s %s", l->name, l->key, l->text)
               : NULL;
}

const char *quota_take(struct quota *q, const json_t *pod)
{
    if (q->n == 0) {
        return NULL;
    }
    const json_t *spec = jsonx_obj(pod, "spec");
    const struct demand r = demand_of(q, pod);
    for (uint32_t i = 0; i < q->n; i++) {
        const char *why = concerns(q->v[i].quota, spec) ? refuses(q, &q->v[i], spec, &r) : NULL;
        if (why) {
            return why;
        }
    }
    for (uint32_t i = 0; i < q->n; i++) {
        if (concerns(q->v[i].quota, spec)) {
            use(&q->v[i], &r);
        }
    }
    return NULL;
}
