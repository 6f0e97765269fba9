/* sched_values.c - minValues: how many different values of a label the types still offer. */
#include "common/core/labels.h"
#include "sched_int.h"

#define VALUES_MAX 64 /* minValues is at most 50 */

/* Places are values of offerings: one counts if a type can be had there. */
static uint32_t count_zones(const struct sched_pool *p, const uint64_t *types,
                            struct offer_mask offer, uint32_t enough)
{
    const struct catalog *c = p->tm.catalog;
    uint32_t n = 0, words = catalog_words(c);
    for (uint32_t z = 0; z < catalog_n_zones(c) && n < enough; z++) {
        if (!(offer.zones >> z & 1)) {
            continue;
        }
        uint64_t bits[CATALOG_WORDS_MAX] = {0};
        memcpy(bits, types, words * sizeof(*bits));
        offerings_narrow(p->in->offerings, (struct offer_mask){UINT64_C(1) << z, offer.cts}, bits);
        n += bits_any(bits, words);
    }
    return n;
}

static uint32_t count_capacity_types(const struct sched_pool *p, const uint64_t *types,
                                     struct offer_mask offer)
{
    uint32_t n = 0, words = catalog_words(p->tm.catalog);
    for (unsigned ct = 0; ct < CT_COUNT; ct++) {
        if (!(offer.cts >> ct & 1)) {
            continue;
        }
        uint64_t bits[CATALOG_WORDS_MAX] = {0};
        memcpy(bits, types, words * sizeof(*bits));
        offerings_narrow(p->in->offerings, (struct offer_mask){offer.zones, 1u << ct}, bits);
        n += bits_any(bits, words);
    }
    return n;
}

struct values {
    sym v[VALUES_MAX];
    uint32_t n;
};

static void values_add(struct values *set, sym v, uint32_t enough)
{
    for (uint32_t i = 0; i < set->n; i++) {
        if (set->v[i] == v) {
            return;
        }
    }
    if (set->n < enough && set->n < VALUES_MAX) {
        set->v[set->n++] = v;
    }
}

static uint32_t count_labels(const struct sched *s, const struct sched_pool *p, const struct req *r,
                             const uint64_t *types, uint32_t enough)
{
    const struct catalog *c = p->tm.catalog;
    struct values seen = {.n = 0};
    uint32_t words = catalog_words(c);
    for (int i = bits_next(types, words, 0); i >= 0 && seen.n < enough;
         i = bits_next(types, words, (uint32_t)i + 1)) {
        const struct req *l = catalog_label(c, (uint32_t)i, r->key);
        for (uint32_t v = 0; l != NULL && v < l->n; v++) {
            if (req_has(s->syms, r, l->values[v])) {
                values_add(&seen, l->values[v], enough);
            }
        }
    }
    return seen.n;
}

uint32_t sched_values_count(const struct sched *s, const struct sched_pool *p, const struct req *r,
                            const uint64_t *types, struct offer_mask offer, uint32_t enough)
{
    if (r->key == L_INSTANCE_TYPE) {
        uint32_t n = bits_count(types, catalog_words(p->tm.catalog));
        return n < enough ? n : enough;
    }
    if (r->key == L_ZONE || r->key == L_ZONE_ID) {
        return count_zones(p, types, offer, enough);
    }
    if (r->key == L_CAPACITY_TYPE) {
        return count_capacity_types(p, types, offer);
    }
    if (!catalog_knows_key(p->tm.catalog, r->key)) {
        /* A label that the pool gives: what it lists is what there is. */
        return r->complement ? 0 : r->n;
    }
    return count_labels(s, p, r, types, enough);
}

const struct req *sched_values_short(const struct sched *s, const struct sched_pool *p,
                                     const struct reqset *reqs, const uint64_t *types,
                                     struct offer_mask offer)
{
    const struct req *ret = NULL;
    for (uint32_t i = 0; i < reqs->n; i++) {
        const struct req *r = &reqs->v[i];
        if (r->min_values == 0 ||
            sched_values_count(s, p, r, types, offer, r->min_values) >= r->min_values) {
            continue;
        }
        if (ret == NULL || sym_cmp(s->syms, r->key, ret->key) < 0) {
            ret = r;
        }
    }
    return ret;
}

bool sched_values_ok(const struct sched *s, const struct sched_pool *p, const struct reqset *reqs,
                     const uint64_t *types, struct offer_mask offer)
{
    return s->opt.min_values == MIN_VALUES_BEST_EFFORT ||
           sched_values_short(s, p, reqs, types, offer) == NULL;
}
