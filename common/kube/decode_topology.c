/*
 * Topology spread constraints and pod affinity, and their part of a class's canonical text. A
 * selector that is absent selects nothing, as kube-scheduler reads it; one that cannot be read
 * likewise.
 */
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/core/labels.h"
#include "decode_priv.h"

#define TOPOLOGY_MAX 256u /* constraints or terms of one kind */

/* ---- selectors ------------------------------------------------------------------------------- */

/* Strings of a list, sorted and unique. */
static const char *const *read_strings(struct arena *a, const json_t *list, uint32_t *ret_n)
{
    size_t n = json_array_size(list), kept = 0, i;
    const char **v = ARENA_NEW_N(a, const char *, n < DECODE_LIST_MAX ? n : DECODE_LIST_MAX);
    json_t *s;
    json_array_foreach ((json_t *)(uintptr_t)list, i, s) {
        if (json_is_string(s) && kept < DECODE_LIST_MAX) {
            v[kept++] = arena_strdup(a, json_string_value(s));
        }
    }
    n = 0;
    if (kept > 1) {
        qsort(v, kept, sizeof(*v), str_qsort_cmp);
    }
    for (i = 0; i < kept; i++) {
        if (n == 0 || !str_eq(v[n - 1], v[i])) {
            v[n++] = v[i];
        }
    }
    *ret_n = (uint32_t)n;
    return v;
}

static bool read_expr(struct arena *a, const json_t *o, struct selector_expr *ret)
{
    const char *key = jsonx_str_or(o, "key", "");
    if (!*key || !selector_op_parse(jsonx_str(o, "operator"), &ret->op)) {
        return false;
    }
    bool listed = ret->op == SELECTOR_IN || ret->op == SELECTOR_NOT_IN;
    ret->key = arena_strdup(a, key);
    ret->values = listed ? read_strings(a, json_object_get(o, "values"), &ret->n) : NULL;
    return !listed || ret->n > 0;
}

struct selector decode_selector(struct arena *a, const json_t *o)
{
    const json_t *labels = json_object_get(o, "matchLabels");
    const json_t *list = json_object_get(o, "matchExpressions");
    size_t max = json_object_size(labels) + json_array_size(list);
    struct selector ret = {.nothing = !json_is_object(o) || max > DECODE_LIST_MAX};
    if (ret.nothing) {
        return ret;
    }
    struct selector_expr *v = ARENA_NEW_N(a, struct selector_expr, max);
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)labels, name, value) {
        const char **one = ARENA_NEW(a, const char *);
        *one = arena_strdup(a, json_is_string(value) ? json_string_value(value) : "");
        v[ret.n++] = (struct selector_expr){arena_strdup(a, name), SELECTOR_IN, one, 1};
    }
    size_t i;
    json_array_foreach ((json_t *)(uintptr_t)list, i, value) {
        ret.nothing |= !read_expr(a, value, &v[ret.n++]);
    }
    if (ret.nothing) {
        return (struct selector){.nothing = true};
    }
    selector_sort(v, ret.n);
    ret.v = v;
    return ret;
}

static sym read_key(struct decoder *d, const json_t *o)
{
    return sym_intern(d->t, labels_normalize(jsonx_str_or(o, "topologyKey", "")));
}

/* ---- spread ---------------------------------------------------------------------------------- */

static int32_t positive(const json_t *o, const char *key, int32_t d)
{
    int64_t v = jsonx_int(o, key, d);
    return v < 1 ? d : v > INT32_MAX ? INT32_MAX : (int32_t)v;
}

static struct spread read_spread(struct decoder *d, struct arena *a, const json_t *o)
{
    struct spread s = {
        .key = read_key(d, o),
        .max_skew = positive(o, "maxSkew", 1),
        .min_domains = positive(o, "minDomains", 0),
        .soft = str_eq(jsonx_str(o, "whenUnsatisfiable"), "ScheduleAnyway"),
        .honor_affinity = !str_eq(jsonx_str(o, "nodeAffinityPolicy"), "Ignore"),
        .honor_taints = str_eq(jsonx_str(o, "nodeTaintsPolicy"), "Honor"),
        .sel = decode_selector(a, json_object_get(o, "labelSelector")),
    };
    s.match_keys = read_strings(a, json_object_get(o, "matchLabelKeys"), &s.n_match_keys);
    return s;
}

static int read_spreads(struct decoder *d, struct arena *a, struct pod_class *c, const json_t *spec,
                        struct err *reterr)
{
    const json_t *list;
    if (decode_arr(spec, "topologySpreadConstraints", &list, reterr)) {
        return -1;
    }
    size_t n = json_array_size(list), i;
    if (n > TOPOLOGY_MAX) {
        return err_set(reterr, ERR_LIMIT, "topologySpreadConstraints: more than %u", TOPOLOGY_MAX);
    }
    struct spread *v = ARENA_NEW_N(a, struct spread, n);
    json_t *o;
    json_array_foreach (list, i, o) {
        v[i] = read_spread(d, a, o);
    }
    c->spreads = v;
    c->n_spreads = (uint32_t)n;
    return 0;
}

/* ---- affinity -------------------------------------------------------------------------------- */

static struct pod_term read_term(struct decoder *d, struct arena *a, const json_t *o,
                                 int32_t weight)
{
    const json_t *ns_sel = json_object_get(o, "namespaceSelector");
    struct pod_term t = {
        .weight = weight,
        .key = read_key(d, o),
        .sel = decode_selector(a, json_object_get(o, "labelSelector")),
        .has_ns_sel = json_is_object(ns_sel),
    };
    if (t.has_ns_sel) {
        t.ns_sel = decode_selector(a, ns_sel);
    }
    t.namespaces = read_strings(a, json_object_get(o, "namespaces"), &t.n_namespaces);
    t.match_keys = read_strings(a, json_object_get(o, "matchLabelKeys"), &t.n_match_keys);
    t.mismatch_keys = read_strings(a, json_object_get(o, "mismatchLabelKeys"), &t.n_mismatch_keys);
    return t;
}

/* Heaviest first; of the same weight in the order they were given. */
static void insert(struct pod_term *v, uint32_t n, struct pod_term t)
{
    uint32_t i = n;
    while (i > 0 && v[i - 1].weight < t.weight) {
        v[i] = v[i - 1];
        i--;
    }
    v[i] = t;
}

static int read_terms(struct decoder *d, struct arena *a, const json_t *o, bool preferred,
                      struct pod_terms *ret, struct err *reterr)
{
    const char *key = preferred ? "preferredDuringSchedulingIgnoredDuringExecution"
                                : "requiredDuringSchedulingIgnoredDuringExecution";
    const json_t *list;
    *ret = (struct pod_terms){NULL, 0};
    if (decode_arr(o, key, &list, reterr)) {
        return -1;
    }
    size_t n = json_array_size(list), i;
    if (n > TOPOLOGY_MAX) {
        return err_set(reterr, ERR_LIMIT, "%s: more than %u", key, TOPOLOGY_MAX);
    }
    struct pod_term *v = ARENA_NEW_N(a, struct pod_term, n);
    json_t *t;
    json_array_foreach (list, i, t) {
        int64_t weight = preferred ? jsonx_int(t, "weight", 0) : 0;
        if (preferred && (weight < 1 || weight > 100)) {
            continue; /* counts for nothing */
        }
        const json_t *term = preferred ? json_object_get(t, "podAffinityTerm") : t;
        insert(v, ret->n++, read_term(d, a, term, (int32_t)weight));
    }
    ret->v = v;
    return 0;
}

int decode_topology(struct decoder *d, struct arena *a, struct pod_class *c, const json_t *spec,
                    struct err *reterr)
{
    const json_t *affinity, *with, *against;
    if (read_spreads(d, a, c, spec, reterr) || decode_obj(spec, "affinity", &affinity, reterr) ||
        decode_obj(affinity, "podAffinity", &with, reterr) ||
        decode_obj(affinity, "podAntiAffinity", &against, reterr)) {
        return -1;
    }
    return read_terms(d, a, with, false, &c->affinity, reterr) ||
                   read_terms(d, a, with, true, &c->prefer_affinity, reterr) ||
                   read_terms(d, a, against, false, &c->anti_affinity, reterr) ||
                   read_terms(d, a, against, true, &c->avoid_affinity, reterr)
               ? -1
               : 0;
}

/* ---- canonical text -------------------------------------------------------------------------- */

void decode_put_str(struct buf *b, const char *s)
{
    buf_printf(b, "%zu:%s", strlen(s), s);
}

static void put_strings(struct buf *b, const char *const *v, uint32_t n)
{
    buf_putc(b, '[');
    for (uint32_t i = 0; i < n; i++) {
        decode_put_str(b, v[i]);
    }
    buf_putc(b, ']');
}

static void put_selector(struct buf *b, const struct selector *s)
{
    buf_puts(b, s->nothing ? "{-" : "{");
    for (uint32_t i = 0; i < s->n; i++) {
        decode_put_str(b, s->v[i].key);
        buf_printf(b, "/%d", (int)s->v[i].op);
        put_strings(b, s->v[i].values, s->v[i].n);
    }
    buf_putc(b, '}');
}

static void put_terms(struct buf *b, const struct symtab *t, const char *name,
                      const struct pod_terms *terms)
{
    for (uint32_t i = 0; i < terms->n; i++) {
        const struct pod_term *p = &terms->v[i];
        buf_printf(b, "(%s%d ", name, (int)p->weight);
        decode_put_str(b, sym_str(t, p->key));
        put_selector(b, &p->sel);
        put_strings(b, p->namespaces, p->n_namespaces);
        if (p->has_ns_sel) {
            put_selector(b, &p->ns_sel);
        }
        put_strings(b, p->match_keys, p->n_match_keys);
        put_strings(b, p->mismatch_keys, p->n_mismatch_keys);
        buf_putc(b, ')');
    }
}

void decode_topology_key(struct buf *b, const struct symtab *t, const struct pod_class *c)
{
    for (uint32_t i = 0; i < c->n_spreads; i++) {
        const struct spread *s = &c->spreads[i];
        buf_printf(b, "(spread %d %d %d%d%d ", (int)s->max_skew, (int)s->min_domains, s->soft,
                   s->honor_affinity, s->honor_taints);
        decode_put_str(b, sym_str(t, s->key));
        put_selector(b, &s->sel);
        put_strings(b, s->match_keys, s->n_match_keys);
        buf_putc(b, ')');
    }
    put_terms(b, t, "with ", &c->affinity);
    put_terms(b, t, "against ", &c->anti_affinity);
    put_terms(b, t, "prefer ", &c->prefer_affinity);
    put_terms(b, t, "avoid ", &c->avoid_affinity);
}
