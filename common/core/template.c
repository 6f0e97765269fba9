/* template.c - see template.h. */
#include "template.h"

#include "labels.h"
#include "want.h"

bool bits_any(const uint64_t *bits, uint32_t words)
{
    for (uint32_t w = 0; w < words; w++) {
        if (bits[w] != 0) {
            return true;
        }
    }
    return false;
}

/* Labels that a node gets from its claim, reservation and region, never from its type. */
static bool not_by_type(sym key)
{
    return key == L_RESERVATION_ID || key == L_RESERVATION_TYPE ||
           key == L_RESERVATION_INTERRUPTIBLE || key == L_NODEPOOL || key == L_EC2NODECLASS ||
           key == L_REGISTERED || key == L_INITIALIZED || key == L_DO_NOT_SYNC_TAINTS ||
           key == L_HOSTNAME;
}

void template_narrow(const struct catalog *c, const struct symtab *t, const struct req *r,
                     uint64_t *bits)
{
    if (not_by_type(r->key)) {
        return;
    }
    /* A catalog that does not tell its region has the pool's. */
    bool strict = labels_well_known(r->key) && r->key != L_REGION && !req_negative(r);
    catalog_narrow(c, t, r, strict, bits);
}

/* In [value]; a name that nobody interned is in no requirement, so that "exists" says enough. */
static struct req one_value(struct arena *a, sym key, sym value)
{
    struct req r = {.key = key, .complement = value == SYM_NONE};
    if (value != SYM_NONE) {
        r.values = arena_memdup(a, &value, sizeof(value));
        r.n = 1;
    }
    return r;
}

static struct reqset template_reqs(struct arena *a, const struct symtab *t,
                                   const struct nodepool *np)
{
    struct req own[] = {
        one_value(a, L_NODEPOOL, sym_find(t, np->m.name ? np->m.name : "")),
        one_value(a, L_EC2NODECLASS, sym_find(t, np->class_ref.name ? np->class_ref.name : "")),
        one_value(a, L_REGISTERED, V_TRUE),
        one_value(a, L_INITIALIZED, V_TRUE),
    };
    struct reqset set = np->reqs;
    for (size_t i = 0; i < ARRAY_LEN(own); i++) {
        set = reqset_add(a, t, &set, &own[i]);
    }
    return set;
}

/* ret |= types on which this way of the DaemonSet's runs. */
static void daemonset_way(struct arena *a, const struct symtab *t, const struct template *tm,
                          const struct pod_class *cls, const struct affinity_term *term,
                          uint64_t *ret)
{
    struct reqset want;
    uint32_t words = catalog_words(tm->catalog);
    if (!want_build(a, t, cls, term, NULL, &want)) {
        return;
    }
    const struct req *host = reqset_get(&want, L_HOSTNAME);
    if (host != NULL && !want_any_host(host)) {
        return; /* made for a node that exists */
    }
    want = reqset_without(a, &want, L_HOSTNAME);
    if (!reqset_compatible(t, &tm->reqs, &want, true, NULL, NULL)) {
        return;
    }
    uint64_t bits[CATALOG_WORDS_MAX] = {0};
    catalog_all(tm->catalog, bits);
    for (uint32_t i = 0; i < want.n; i++) {
        template_narrow(tm->catalog, t, &want.v[i], bits);
    }
    for (uint32_t w = 0; w < words; w++) {
        ret[w] |= bits[w];
    }
}

static bool daemonset_types(struct arena *a, const struct symtab *t, const struct template *tm,
                            const struct nodepool *np, const struct pod_class *cls, uint64_t *ret)
{
    if (taints_refuse(&np->taints, &cls->tolerations, false) != NULL) {
        return false;
    }
    if (cls->n_required == 0) {
        daemonset_way(a, t, tm, cls, NULL, ret);
    }
    for (uint32_t i = 0; i < cls->n_required; i++) {
        daemonset_way(a, t, tm, cls, &cls->required[i], ret);
    }
    return bits_any(ret, catalog_words(tm->catalog));
}

static void group_add(struct arena *a, struct overhead_group *g, const struct daemonset *ds)
{
    const struct daemonset **list = ARENA_NEW_N(a, const struct daemonset *, g->n_daemonsets + 1);
    if (g->n_daemonsets > 0) {
        memcpy(list, g->daemonsets, g->n_daemonsets * sizeof(*list));
    }
    list[g->n_daemonsets++] = ds;
    g->daemonsets = list;
    g->sum = resources_add(a, &g->sum, &ds->cls->requests, 1);
}

/* Splits every group into those of `with` and the rest; the former get the DaemonSet. */
static void split(struct arena *a, struct template *tm, struct overhead_group **groups,
                  uint32_t *cap, const struct daemonset *ds, const uint64_t *with)
{
    uint32_t words = catalog_words(tm->catalog), n = tm->n_groups;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t in[CATALOG_WORDS_MAX] = {0}, out[CATALOG_WORDS_MAX] = {0};
        for (uint32_t w = 0; w < words; w++) {
            in[w] = (*groups)[i].types[w] & with[w];
            out[w] = (*groups)[i].types[w] & ~with[w];
        }
        if (!bits_any(in, words)) {
            continue;
        }
        if (bits_any(out, words)) {
            ARENA_GROW(a, *groups, tm->n_groups, *cap);
            struct overhead_group *rest = &(*groups)[tm->n_groups++];
            *rest = (*groups)[i];
            rest->types = arena_memdup(a, out, words * sizeof(*out));
            memcpy((*groups)[i].types, in, words * sizeof(*in));
        }
        group_add(a, &(*groups)[i], ds);
    }
}

void template_build(struct arena *a, const struct symtab *t, const struct nodepool *np,
                    const struct catalog *c, const struct daemonset *const *daemonsets,
                    uint32_t n_daemonsets, struct template *ret)
{
    uint32_t words = catalog_words(c), cap = 8;
    uint64_t *types = ARENA_NEW_N(a, uint64_t, words), *all = ARENA_NEW_N(a, uint64_t, words);
    struct overhead_group *groups = ARENA_NEW_N(a, struct overhead_group, cap);
    *ret = (struct template){.catalog = c, .reqs = template_reqs(a, t, np), .types = types};
    catalog_all(c, types);
    catalog_all(c, all);
    for (uint32_t i = 0; i < ret->reqs.n; i++) {
        template_narrow(c, t, &ret->reqs.v[i], types);
    }
    groups[ret->n_groups++] = (struct overhead_group){.types = all};
    for (uint32_t i = 0; i < n_daemonsets; i++) {
        uint64_t with[CATALOG_WORDS_MAX] = {0};
        if (daemonset_types(a, t, ret, np, daemonsets[i]->cls, with)) {
            split(a, ret, &groups, &cap, daemonsets[i], with);
        }
    }
    ret->groups = groups;
}

const struct overhead_group *template_group(const struct template *tm, uint32_t type)
{
    for (uint32_t i = 0; i < tm->n_groups; i++) {
        if (bits_test(tm->groups[i].types, type)) {
            return &tm->groups[i];
        }
    }
    BUG("type %u is in no group", type);
}

static struct resources least(struct arena *a, const struct resources *x, const struct resources *y)
{
    struct resources ret = *x;
    for (int i = 0; i < RES_FIXED; i++) {
        ret.v[i] = x->v[i] < y->v[i] ? x->v[i] : y->v[i];
    }
    struct res_ext *ext = ARENA_NEW_N(a, struct res_ext, x->n_ext);
    ret.n_ext = 0;
    for (uint32_t i = 0; i < x->n_ext; i++) {
        int64_t other = resources_get_ext(y, x->ext[i].name);
        int64_t amount = other < x->ext[i].amount ? other : x->ext[i].amount;
        if (amount > 0) {
            ext[ret.n_ext++] = (struct res_ext){x->ext[i].name, amount};
        }
    }
    ret.ext = ext;
    return ret;
}

struct resources template_least_overhead(struct arena *a, const struct template *tm,
                                         const uint64_t *bits)
{
    uint32_t words = catalog_words(tm->catalog);
    struct resources ret = {0};
    bool first = true;
    for (uint32_t i = 0; i < tm->n_groups; i++) {
        bool any = false;
        for (uint32_t w = 0; w < words && !any; w++) {
            any = (tm->groups[i].types[w] & bits[w]) != 0;
        }
        if (any) {
            ret = first ? tm->groups[i].sum : least(a, &ret, &tm->groups[i].sum);
            first = false;
        }
    }
    return ret;
}
