/*
 * plan.c - which types, in which zones, of which capacity type one launch asks for: Karpenter's
 * filters in its order, over what is to be had right now.
 *
 * Ours: the capacity type is chosen before the list is cut to the cheapest, so that dear types of
 * the chosen one are not pushed out by cheap ones of the other.
 */
#include "cloud_int.h"
#include "common/base/str.h"
#include "common/core/template.h"

struct planner {
    struct arena *a;
    const struct plan_in *in;
    struct offer_mask mask;
    uint64_t bits[CATALOG_WORDS_MAX];
    bool min_values;
    int64_t spot_limit_pusd_h; /* spot dearer than that is no offering; PRICE_UNKNOWN = none */
};

/* ---- filters ------------------------------------------------------------------------------------
 */

static bool compatible(struct planner *p)
{
    const struct plan_in *in = p->in;
    catalog_all(in->catalog, p->bits);
    for (uint32_t i = 0; i < in->reqs->n; i++) {
        template_narrow(in->catalog, in->syms, &in->reqs->v[i], p->bits);
        p->min_values |= in->reqs->v[i].min_values > 0;
    }
    catalog_narrow_fit(in->catalog, in->requests, p->bits);
    p->mask = offerings_mask(in->catalog, in->syms, in->reqs);
    offerings_narrow(in->offerings, p->mask, p->bits);
    return bits_any(p->bits, catalog_words(in->catalog));
}

/* Metal and accelerators stay out where something plain will do. */
static void drop_exotic(struct planner *p)
{
    uint64_t plain[CATALOG_WORDS_MAX];
    const uint64_t *exotic = catalog_exotic(p->in->catalog);
    uint32_t words = catalog_words(p->in->catalog);
    memcpy(plain, p->bits, sizeof(plain));
    for (uint32_t i = 0; i < words; i++) {
        plain[i] &= ~exotic[i];
    }
    if (!p->min_values && bits_any(plain, words)) {
        memcpy(p->bits, plain, sizeof(plain));
    }
}

static struct offer_mask only(struct offer_mask m, enum capacity_type ct)
{
    m.cts &= 1u << ct;
    return m;
}

/* Spot is not worth more than the cheapest on-demand offering. */
static void limit_spot(struct planner *p)
{
    struct offer_mask m = only(p->mask, CT_ON_DEMAND);
    uint32_t words = catalog_words(p->in->catalog);
    p->spot_limit_pusd_h = PRICE_UNKNOWN;
    if (p->min_values || !(p->mask.cts >> CT_SPOT & 1)) {
        return;
    }
    for (int t = bits_next(p->bits, words, 0); t >= 0;
         t = bits_next(p->bits, words, (uint32_t)t + 1)) {
        int64_t price = offerings_cheapest(p->in->offerings, (uint32_t)t, m, NULL, NULL);
        if (price != PRICE_UNKNOWN &&
            (p->spot_limit_pusd_h == PRICE_UNKNOWN || price < p->spot_limit_pusd_h)) {
            p->spot_limit_pusd_h = price;
        }
    }
}

/* Zones in which the type is to be had, and the best price. */
static uint64_t zones_of(const struct planner *p, uint32_t type, enum capacity_type ct,
                         int64_t *ret_price)
{
    uint64_t zones = 0;
    *ret_price = PRICE_UNKNOWN;
    for (uint32_t z = 0; z < catalog_n_zones(p->in->catalog); z++) {
        if (!((p->mask.zones >> z) & 1) || !offerings_available(p->in->offerings, type, z, ct)) {
            continue;
        }
        int64_t price = offerings_price(p->in->offerings, type, z, ct);
        if (ct == CT_SPOT && p->spot_limit_pusd_h != PRICE_UNKNOWN &&
            price > p->spot_limit_pusd_h) {
            continue;
        }
        zones |= UINT64_C(1) << z;
        *ret_price = *ret_price == PRICE_UNKNOWN || price < *ret_price ? price : *ret_price;
    }
    return zones;
}

/* ---- cutting --------------------------------------------------------------------------------- */

static int type_cmp(const void *a, const void *b)
{
    const struct plan_type *x = a, *y = b;
    if (x->price_pusd_h != y->price_pusd_h) {
        return x->price_pusd_h < y->price_pusd_h ? -1 : 1;
    }
    if (x->type != y->type) {
        return x->type < y->type ? -1 : 1;
    }
    return x->zones < y->zones ? -1 : x->zones > y->zones;
}

static struct plan_type *collect(struct planner *p, enum capacity_type ct, uint32_t *ret_n)
{
    uint32_t words = catalog_words(p->in->catalog), n = 0;
    struct plan_type *v = ARENA_NEW_N(p->a, struct plan_type, bits_count(p->bits, words));
    for (int t = bits_next(p->bits, words, 0); t >= 0;
         t = bits_next(p->bits, words, (uint32_t)t + 1)) {
        struct plan_type pt = {.type = (uint32_t)t};
        pt.zones = zones_of(p, pt.type, ct, &pt.price_pusd_h);
        if (pt.zones) {
            v[n++] = pt;
        }
    }
    if (n > 0) {
        qsort(v, n, sizeof(*v), type_cmp);
    }
    *ret_n = n;
    return v;
}

/* ---- reserved capacity ------------------------------------------------------------------------
 */

static bool allows(const struct planner *p, sym key, sym value)
{
    const struct req *r = reqset_get(p->in->reqs, key);
    return !r || (value != SYM_NONE && req_has(p->in->syms, r, value));
}

static bool usable(const struct planner *p, const struct reservation *r)
{
    return r->count > 0 && bits_test(p->bits, r->type) && ((p->mask.zones >> r->zone) & 1) &&
           allows(p, L_RESERVATION_ID, r->id) && allows(p, L_RESERVATION_TYPE, r->kind) &&
           allows(p, L_RESERVATION_INTERRUPTIBLE, r->interruptible ? V_TRUE : V_FALSE);
}

static bool is_block(const struct planner *p, const struct reservation *r)
{
    return str_eq(sym_str(p->in->syms, r->kind), "capacity-block");
}

/* One launch asks for one kind: plain before blocks before what may be interrupted. */
static int kind_of(const struct planner *p, const struct reservation *r)
{
    return r->interruptible ? 2 : is_block(p, r) ? 1 : 0;
}

/* Those of one place: the one with most room. */
static bool better(const struct planner *p, const struct reservation *x,
                   const struct reservation *y)
{
    return x->count != y->count ? x->count > y->count : sym_cmp(p->in->syms, x->id, y->id) < 0;
}

static const struct reservation *cheapest_of(const struct planner *p, const struct reservation *v,
                                             uint32_t n)
{
    const struct reservation *best = NULL;
    for (uint32_t i = 0; i < n; i++) {
        if (!usable(p, &v[i])) {
            continue;
        }
        bool cheaper = best && v[i].price_pusd_h < best->price_pusd_h;
        bool same = best && v[i].price_pusd_h == best->price_pusd_h;
        if (!best || cheaper || (same && kind_of(p, &v[i]) < kind_of(p, best))) {
            best = &v[i];
        }
    }
    return best;
}

static struct plan_type *place_of(struct plan_type *v, uint32_t n, const struct reservation *r)
{
    for (uint32_t i = 0; i < n; i++) {
        if (v[i].reservation.type == r->type && v[i].reservation.zone == r->zone) {
            return &v[i];
        }
    }
    return NULL;
}

/* Of the kind of the cheapest, per type and zone the one with most room; of blocks one alone, since
 * a launch takes one of them. */
static struct plan_type *collect_reserved(struct planner *p, uint32_t *ret_n)
{
    uint32_t n_in, n = 0;
    const struct reservation *in = offerings_reservations(p->in->offerings, &n_in);
    const struct reservation *first = cheapest_of(p, in, n_in);
    struct plan_type *v = ARENA_NEW_N(p->a, struct plan_type, n_in);
    for (uint32_t i = 0; i < n_in; i++) {
        const struct reservation *r = &in[i];
        if (!usable(p, r) || kind_of(p, r) != kind_of(p, first) || (is_block(p, r) && r != first)) {
            continue;
        }
        struct plan_type *at = place_of(v, n, r);
        if (!at) {
            at = &v[n++];
        } else if (!better(p, r, &at->reservation)) {
            continue;
        }
        *at = (struct plan_type){r->type, UINT64_C(1) << r->zone, r->price_pusd_h, *r};
    }
    if (n > 0) {
        qsort(v, n, sizeof(*v), type_cmp);
    }
    *ret_n = n;
    return v;
}

/* The type's value of the key, SYM_NONE if it has none. */
static sym value_of(const struct planner *p, uint32_t type, sym key)
{
    const struct req *r = catalog_label(p->in->catalog, type, key);
    return r && r->n > 0 ? r->values[0] : SYM_NONE;
}

static bool seen(const struct planner *p, const struct plan_type *v, const bool *needed, uint32_t n,
                 sym key, sym value)
{
    for (uint32_t i = 0; i < n; i++) {
        if (needed[i] && value_of(p, v[i].type, key) == value) {
            return true;
        }
    }
    return false;
}

/* The cheapest types with which the key has min_values different values. */
static void mark_needed(const struct planner *p, const struct req *r, const struct plan_type *v,
                        uint32_t n, bool *needed)
{
    uint32_t have = 0;
    bool *own = ARENA_NEW_N(p->a, bool, n);
    for (uint32_t i = 0; i < n && have < r->min_values; i++) {
        sym value = value_of(p, v[i].type, r->key);
        if (value != SYM_NONE && !seen(p, v, own, i, r->key, value)) {
            own[i] = needed[i] = true;
            have++;
        }
    }
}

/* To the cheapest max, with those that minValues need. */
static uint32_t cut(struct planner *p, struct plan_type *v, uint32_t n, uint32_t max)
{
    if (n <= max) {
        return n;
    }
    bool *needed = ARENA_NEW_N(p->a, bool, n);
    uint32_t must = 0, kept = 0;
    for (uint32_t i = 0; i < p->in->reqs->n; i++) {
        if (p->in->reqs->v[i].min_values > 0) {
            mark_needed(p, &p->in->reqs->v[i], v, n, needed);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        must += needed[i];
    }
    uint32_t others = max > must ? max - must : 0;
    for (uint32_t i = 0; i < n; i++) {
        if (needed[i] || others > 0) {
            others -= needed[i] ? 0 : 1;
            v[kept++] = v[i];
        }
    }
    return kept;
}

void plan_make(struct arena *a, const struct plan_in *in, struct plan *ret)
{
    struct planner p = {.a = a, .in = in};
    *ret = (struct plan){.ct = CT_ON_DEMAND};
    if (!compatible(&p)) {
        return;
    }
    drop_exotic(&p);
    limit_spot(&p);
    ret->spot_allowed = (p.mask.cts >> CT_SPOT) & 1;
    static const enum capacity_type order[] = {CT_RESERVED, CT_SPOT, CT_ON_DEMAND};
    for (size_t i = 0; i < ARRAY_LEN(order) && ret->n_types == 0; i++) {
        if ((p.mask.cts >> order[i]) & 1) {
            ret->ct = order[i];
            struct plan_type *v = order[i] == CT_RESERVED ? collect_reserved(&p, &ret->n_types)
                                                          : collect(&p, order[i], &ret->n_types);
            ret->n_types = cut(&p, v, ret->n_types, in->max_types);
            ret->types = v;
        }
    }
}
