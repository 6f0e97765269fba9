/* sched_final.c - from an open claim to what is launched. */
#include "common/base/sort.h"
#include "common/core/labels.h"
#include "sched_int.h"

/* ---- values for labels ----------------------------------------------------------------------- */

static sym least_value(const struct symtab *t, const struct req *r)
{
    sym ret = SYM_NONE;
    for (uint32_t i = 0; i < r->n; i++) {
        if (ret == SYM_NONE || sym_cmp(t, r->values[i], ret) < 0) {
            ret = r->values[i];
        }
    }
    return ret;
}

/* The least number within the bounds that is not excluded, as text. */
static const char *number_value(struct arena *a, const struct symtab *t, const struct req *r)
{
    int64_t from = r->has_gte && r->gte > 0 ? r->gte : 0;
    for (uint32_t i = 0; i <= r->n; i++) {
        int64_t v;
        if (__builtin_add_overflow(from, (int64_t)i, &v) || (r->has_lte && v > r->lte)) {
            return NULL;
        }
        const char *text = arena_printf(a, "%lld", (long long)v);
        sym known = sym_find(t, text);
        if (known == SYM_NONE || req_has(t, r, known)) {
            return text;
        }
    }
    return NULL;
}

const char *sched_label_value(struct arena *a, const struct symtab *t, const struct req *r)
{
    if (!r->complement) {
        return r->n > 0 ? sym_str(t, least_value(t, r)) : NULL;
    }
    if (!r->has_gte && !r->has_lte && req_has(t, r, V_TRUE)) {
        return "true";
    }
    return number_value(a, t, r);
}

/* A requirement that the instance type, the offering or Kubernetes will settle. */
static bool settled_elsewhere(const struct sched_pool *p, sym key)
{
    return labels_well_known(key) || key == L_NODEPOOL || key == L_EC2NODECLASS ||
           catalog_knows_key(p->tm.catalog, key);
}

static struct req concrete(struct sched *s, const struct sched_pool *p, const struct req *r)
{
    if (settled_elsewhere(p, r->key) || req_single(r) != SYM_NONE || r->min_values > 0 ||
        req_negative(r)) {
        return *r;
    }
    const char *text = sched_label_value(s->a, s->syms, r);
    sym value = text ? sym_find(s->syms, text) : SYM_NONE;
    if (value == SYM_NONE) {
        return *r;
    }
    return (struct req){.key = r->key, .n = 1, .values = arena_memdup(s->a, &value, sizeof(value))};
}

/* ---- choosing types -------------------------------------------------------------------------- */

/* Types of the ranking that minValues need, cheapest first: each brings a value still missing. */
static void needed_types(struct sched *s, const struct sched_open *c, const struct req *r,
                         const uint32_t *ranked, uint32_t n, uint64_t *needed)
{
    uint32_t have = 0;
    uint64_t seen[CATALOG_WORDS_MAX] = {0};
    for (uint32_t i = 0; i < n && have < r->min_values; i++) {
        bits_set(seen, ranked[i]);
        uint32_t now = sched_values_count(s, c->pool, r, seen, c->offer, r->min_values);
        if (now > have) {
            bits_set(needed, ranked[i]);
            have = now;
        }
    }
}

/* The cheapest max_types, with those among them that minValues need; in order of price. */
static uint32_t choose_types(struct sched *s, const struct sched_open *c, uint32_t *ranked)
{
    uint64_t needed[CATALOG_WORDS_MAX] = {0};
    uint32_t words = catalog_words(c->pool->tm.catalog), max = s->opt.max_types;
    uint32_t n = offerings_rank(c->pool->in->offerings, c->types, c->offer, false, ranked,
                                catalog_n_types(c->pool->tm.catalog));
    if (max == 0 || n <= max) {
        return n;
    }
    for (uint32_t i = 0; i < c->reqs.n; i++) {
        if (c->reqs.v[i].min_values > 0) {
            needed_types(s, c, &c->reqs.v[i], ranked, n, needed);
        }
    }
    uint32_t must = bits_count(needed, words), kept = 0;
    uint32_t others = max > must ? max - must : 0;
    for (uint32_t i = 0; i < n && kept < max; i++) {
        bool need = bits_test(needed, ranked[i]);
        if (need || others > 0) {
            others -= !need;
            ranked[kept++] = ranked[i];
        }
    }
    return kept;
}

/* ---- requirements ---------------------------------------------------------------------------- */

static int cmp_sym(const void *x, const void *y)
{
    sym a = *(const sym *)x, b = *(const sym *)y;
    return a < b ? -1 : a > b;
}

static struct req type_req(struct sched *s, const struct catalog *c, const struct sched_claim *f,
                           const struct req *old)
{
    sym *names = ARENA_NEW_N(s->a, sym, f->n_types);
    for (uint32_t i = 0; i < f->n_types; i++) {
        names[i] = catalog_type_name(c, f->types[i]);
    }
    sort_items(names, f->n_types, sizeof(*names), cmp_sym);
    return (struct req){.key = L_INSTANCE_TYPE,
                        .n = f->n_types,
                        .min_values = old ? old->min_values : 0,
                        .values = names};
}

/* Capacity types in which a kept type can be had; the mask is narrowed to them. */
static struct req capacity_type_req(struct sched *s, const struct sched_open *c,
                                    const uint64_t *types, struct offer_mask *offer,
                                    const struct req *old)
{
    uint32_t words = catalog_words(c->pool->tm.catalog), n = 0;
    sym *names = ARENA_NEW_N(s->a, sym, CT_COUNT);
    unsigned cts = 0;
    for (unsigned ct = 0; ct < CT_COUNT; ct++) {
        uint64_t bits[CATALOG_WORDS_MAX] = {0};
        memcpy(bits, types, words * sizeof(*bits));
        struct offer_mask one = {offer->zones, offer->cts & 1u << ct};
        if (one.cts == 0) {
            continue;
        }
        offerings_narrow(c->pool->in->offerings, one, bits);
        if (bits_any(bits, words)) {
            cts |= one.cts;
            names[n++] = capacity_type_sym((enum capacity_type)ct);
        }
    }
    offer->cts = cts;
    sort_items(names, n, sizeof(*names), cmp_sym);
    return (struct req){
        .key = L_CAPACITY_TYPE, .n = n, .min_values = old ? old->min_values : 0, .values = names};
}

/* A claim for reserved capacity is for one reservation, and lies in its zone. */
static struct reqset in_reservation(struct sched *s, const struct catalog *cat,
                                    const struct reqset *set, const struct reservation *r)
{
    sym zone = catalog_zone(cat, r->zone);
    struct req reqs[] = {{.key = L_RESERVATION_ID, .n = 1, .values = &r->id},
                         {.key = L_ZONE, .n = 1, .values = &zone}};
    struct reqset ret = *set;
    for (size_t i = 0; i < ARRAY_LEN(reqs); i++) {
        ret = reqset_add(s->a, s->syms, &ret, &reqs[i]);
    }
    return ret;
}

/* What stands in the NodeClaim: without the simulation's own labels, with types and capacity
 * types as lists, minValues lowered to what there is under BestEffort. */
static void final_reqs(struct sched *s, const struct sched_open *c, const struct sched_like *like,
                       struct sched_claim *f)
{
    struct req *v = ARENA_NEW_N(s->a, struct req, c->reqs.n + 2);
    uint32_t n = 0;
    struct req own[] = {like->capacity_types, like->types};
    for (uint32_t i = 0; i < c->reqs.n; i++) {
        const struct req *r = &c->reqs.v[i];
        if (r->key != L_REGISTERED && r->key != L_INITIALIZED && r->key != L_HOSTNAME &&
            r->key != L_CAPACITY_TYPE && r->key != L_INSTANCE_TYPE) {
            v[n++] = concrete(s, c->pool, r);
        }
    }
    struct reqset set = {v, n};
    for (size_t i = 0; i < ARRAY_LEN(own); i++) {
        set = reqset_add(s->a, s->syms, &set, &own[i]);
    }
    if (f->reservation != NULL) {
        set = in_reservation(s, c->pool->tm.catalog, &set, f->reservation);
    }
    struct req *all = arena_memdup(s->a, set.v, set.n * sizeof(*all));
    for (uint32_t i = 0; i < set.n; i++) {
        uint32_t have = all[i].min_values == 0 ? 0
                                               : sched_values_count(s, c->pool, &all[i], like->left,
                                                                    f->offer, all[i].min_values);
        if (have < all[i].min_values) {
            all[i].min_values = (uint16_t)have;
            f->min_values_relaxed = true;
        }
    }
    f->reqs = (struct reqset){all, set.n};
}

/* ---- claims that are alike ------------------------------------------------------------------- */

static bool has_min_values(const struct sched_open *c)
{
    for (uint32_t i = 0; i < c->reqs.n; i++) {
        if (c->reqs.v[i].min_values > 0) {
            return true;
        }
    }
    return false;
}

static uint32_t slot_of(const struct sched *s, const struct sched_open *c)
{
    uint64_t h = (uint64_t)(c->pool - s->pools) + c->offer.zones * 31 + c->offer.cts;
    for (uint32_t w = 0; w < catalog_words(c->pool->tm.catalog); w++) {
        h = (h ^ c->types[w]) * UINT64_C(0x9E3779B97F4A7C15);
    }
    return (uint32_t)(h >> 32) % SCHED_LIKE_SLOTS;
}

static bool alike(const struct sched_like *l, const struct sched_open *c)
{
    return l->pool == c->pool && l->offer_from.zones == c->offer.zones &&
           l->offer_from.cts == c->offer.cts &&
           memcmp(l->from, c->types, catalog_words(c->pool->tm.catalog) * sizeof(*c->types)) == 0;
}

/* Types in order, and what follows from them. */
static struct sched_like *like_new(struct sched *s, const struct sched_open *c)
{
    const struct catalog *cat = c->pool->tm.catalog;
    uint32_t *ranked = ARENA_NEW_N(s->a, uint32_t, catalog_n_types(cat));
    struct sched_like *l = ARENA_NEW(s->a, struct sched_like);
    struct sched_claim f = {.types = ranked, .offer = c->offer};
    l->pool = c->pool;
    l->offer_from = c->offer;
    l->from = arena_memdup(s->a, c->types, catalog_words(cat) * sizeof(*c->types));
    l->left = ARENA_NEW_N(s->a, uint64_t, catalog_words(cat));
    f.n_types = choose_types(s, c, ranked);
    l->reservation = sched_reserve_of(c);
    if (l->reservation != NULL) {
        ranked[0] = l->reservation->type;
        f.n_types = 1;
        f.offer = (struct offer_mask){UINT64_C(1) << l->reservation->zone, SCHED_RESERVED};
    }
    for (uint32_t i = 0; i < f.n_types; i++) {
        bits_set(l->left, ranked[i]);
    }
    l->ranked = ranked;
    l->n = f.n_types;
    l->capacity_types =
        capacity_type_req(s, c, l->left, &f.offer, reqset_get(&c->reqs, L_CAPACITY_TYPE));
    l->types = type_req(s, cat, &f, reqset_get(&c->reqs, L_INSTANCE_TYPE));
    l->offer = f.offer;
    l->least = template_least_overhead(s->a, &c->pool->tm, l->left);
    l->price_pusd_h = l->reservation != NULL ? l->reservation->price_pusd_h
                                             : offerings_cheapest(c->pool->in->offerings, ranked[0],
                                                                  f.offer, NULL, NULL);
    return l;
}

static const struct sched_like *like_of(struct sched *s, const struct sched_open *c)
{
    /* What-ifs change max_types, and their memory. */
    if (s->whatif != NULL || c->reservation != SCHED_NO_CLAIM || has_min_values(c)) {
        return like_new(s, c);
    }
    struct sched_like **slot = &s->likes[slot_of(s, c)], *l = *slot;
    while (l != NULL && !alike(l, c)) {
        l = l->next;
    }
    if (l == NULL) {
        l = like_new(s, c);
        l->next = *slot;
        *slot = l;
    }
    return l;
}

void sched_final(struct sched *s, struct sched_open *c, struct sched_claim *ret)
{
    const struct sched_like *l = like_of(s, c);
    *ret = (struct sched_claim){.pool = c->pool->in,
                                .offer = l->offer,
                                .pods = c->pods,
                                .n_pods = c->n_pods,
                                .types = l->ranked,
                                .n_types = l->n,
                                .reservation = l->reservation,
                                .price_pusd_h = l->price_pusd_h};
    final_reqs(s, c, l, ret);
    ret->requests = resources_add(s->a, &c->requests, &l->least, 1);
    ret->daemon_overhead = template_group(&c->pool->tm, l->ranked[0])->sum;
}
