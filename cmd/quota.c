/* quota.c - see quota.h. */
#include "quota.h"

#include "common/base/jsonx.h"
#include "common/base/quantity.h"
#include "common/base/str.h"

struct line {
    const char *quota, *key, *text;
    enum resource res; /* RES_FIXED: see ext */
    sym ext;
    bool ever; /* count/pods: pods that are over count as well */
    int64_t hard, used;
};

struct quota {
    struct arena *a;
    struct decoder *d;
    struct line *v;
    uint32_t n, cap;
};

static int64_t amount(const struct resources *r, const struct line *l)
{
    return l->res < RES_FIXED ? r->v[l->res] : resources_get_ext(r, l->ext);
}

/* No amount is below 0 and sums stop at the most there is, so that none wraps around. */
static void use(struct line *l, const struct resources *r)
{
    int64_t one = amount(r, l);
    if (one > 0 && __builtin_add_overflow(l->used, one, &l->used)) {
        l->used = INT64_MAX;
    }
}

/* What of a pod the key counts; false for what is not looked at. */
static bool resource_of(struct quota *q, const char *key, struct line *l)
{
    static const char *const plain[] = {"cpu", "memory", "ephemeral-storage"};
    bool asked = str_starts(key, "requests.");
    const char *name = asked ? key + strlen("requests.") : key;
    l->res = RES_FIXED;
    if (str_eq(key, "pods") || str_eq(key, "count/pods")) {
        l->res = RES_PODS;
        l->ever = key[0] == 'c';
        return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
        asked = asked || str_eq(name, plain[i]);
    }
    if (!asked || str_eq(name, "storage")) {
        return false;
    }
    if (!resource_parse(name, &l->res)) {
        l->ext = sym_intern(decoder_symtab(q->d), name);
    }
    return true;
}

static void add_quota(struct quota *q, const struct object *o)
{
    const char *key;
    json_t *v;
    if (json_array_size(jsonx_arr(o->o, "spec.scopes")) > 0 ||
        jsonx_obj(o->o, "spec.scopeSelector")) {
        return;
    }
    json_object_foreach (jsonx_obj(o->o, "spec.hard"), key, v) {
        struct line l = {.quota = arena_strdup(q->a, o->name), .key = arena_strdup(q->a, key)};
        char digits[32];
        (void)snprintf(digits, sizeof(digits), "%lld", (long long)json_integer_value(v));
        l.text = arena_strdup(q->a, json_is_integer(v) ? digits : json_string_value(v));
        if (l.text && resource_of(q, key, &l) &&
            (l.res == RES_CPU ? quantity_parse_milli(l.text, &l.hard)
                              : quantity_parse(l.text, &l.hard))) {
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
    int c = str_cmp(a->quota, b->quota);
    return c ? c : str_cmp(a->key, b->key);
}

static struct resources requests_of(struct quota *q, const json_t *pod)
{
    struct resources r = {.n_ext = 0};
    if (decode_pod_requests(q->d, q->a, pod, false, &r, NULL) != 0) {
        r = (struct resources){.n_ext = 0};
    }
    r.v[RES_PODS] = 1; /* it is one, whatever it asks for */
    return r;
}

struct quota *quota_new(struct arena *a, struct decoder *d, const struct objects *s, const char *ns)
{
    struct quota *q = ARENA_NEW(a, struct quota);
    *q = (struct quota){.a = a, .d = d};
    for (size_t i = 0; i < objects_n(s); i++) {
        const struct object *o = objects_at(s, i);
        if (o->kind == KIND_RESOURCE_QUOTA && str_eq(o->ns, ns)) {
            add_quota(q, o);
        }
    }
    if (q->n > 1) {
        qsort(q->v, q->n, sizeof(*q->v), line_cmp);
    }
    for (size_t i = 0; q->n > 0 && i < objects_n(s); i++) {
        const struct object *o = objects_at(s, i);
        if (o->kind != KIND_POD || !str_eq(o->ns, ns)) {
            continue;
        }
        struct resources r = requests_of(q, o->o);
        for (uint32_t k = 0; k < q->n; k++) {
            if (q->v[k].ever || !is_over(o)) {
                use(&q->v[k], &r);
            }
        }
    }
    return q;
}

const char *quota_take(struct quota *q, const json_t *pod)
{
    if (q->n == 0) {
        return NULL;
    }
    struct resources r = requests_of(q, pod);
    for (uint32_t i = 0; i < q->n; i++) {
        const struct line *l = &q->v[i];
        int64_t one = amount(&r, l);
        if (one > 0 && (l->hard < one || l->used > l->hard - one)) {
            return arena_printf(q->a, "resourcequota %s: %s %s", l->quota, l->key, l->text);
        }
    }
    for (uint32_t i = 0; i < q->n; i++) {
        use(&q->v[i], &r);
    }
    return NULL;
}
