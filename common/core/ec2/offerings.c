/*
 * offerings.c - prices and stock per (type, zone, capacity type), see catalog.h
 *
 * Two price tables of one shape, laid out by type, capacity type, zone: `price` as it was set, and
 * `ask`, which is ASK_NONE where nothing can be had now, so that looking for the cheapest is a
 * minimum and no more. `available` holds the same as bitsets over types.
 */
#include "catalog.h"
#include "common/core/labels.h"

#define ASK_NONE INT64_MAX

struct offerings {
    struct arena mem;
    uint64_t generation;
    uint32_t n_types, words, n_zones;
    int64_t *price, *ask;
    uint64_t *available; /* by capacity type, zone: bits over types */
    uint64_t *sold_out;
    uint64_t *no_image; /* bits over types */
    struct reservation *reservations;
    uint32_t n_reservations, cap_reservations;
};

static size_t cells_n(const struct offerings *o)
{
    return (size_t)o->n_types * CT_COUNT * o->n_zones;
}

static size_t bits_n(const struct offerings *o)
{
    return (size_t)CT_COUNT * o->n_zones * o->words;
}

static size_t cell_of(const struct offerings *o, uint32_t type, uint32_t zone,
                      enum capacity_type ct)
{
    return ((size_t)type * CT_COUNT + ct) * o->n_zones + zone;
}

static size_t bits_of(const struct offerings *o, uint32_t zone, enum capacity_type ct)
{
    return ((size_t)ct * o->n_zones + zone) * o->words;
}

static void check_place(const struct offerings *o, uint32_t type, uint32_t zone,
                        enum capacity_type ct)
{
    if (type >= o->n_types || zone >= o->n_zones || (unsigned)ct >= CT_COUNT) {
        BUG("offering of type %u in zone %u, capacity type %d", type, zone, (int)ct);
    }
}

static struct offerings *make(uint32_t n_types, uint32_t words, uint32_t n_zones)
{
    struct arena mem;
    arena_init(&mem, 0, SIZE_MAX);
    struct offerings *o = ARENA_NEW(&mem, struct offerings);
    o->mem = mem;
    o->n_types = n_types;
    o->words = words;
    o->n_zones = n_zones;
    o->price = ARENA_NEW_N(&o->mem, int64_t, cells_n(o));
    o->ask = ARENA_NEW_N(&o->mem, int64_t, cells_n(o));
    o->available = ARENA_NEW_N(&o->mem, uint64_t, bits_n(o));
    o->sold_out = ARENA_NEW_N(&o->mem, uint64_t, bits_n(o));
    o->no_image = ARENA_NEW_N(&o->mem, uint64_t, words);
    return o;
}

struct offerings *offerings_new(const struct catalog *c)
{
    struct offerings *o = make(catalog_n_types(c), catalog_words(c), catalog_n_zones(c));
    for (size_t i = 0; i < cells_n(o); i++) {
        o->price[i] = PRICE_UNKNOWN;
        o->ask[i] = ASK_NONE;
    }
    return o;
}

struct offerings *offerings_copy(const struct offerings *o)
{
    struct offerings *copy = make(o->n_types, o->words, o->n_zones);
    copy->generation = o->generation;
    memcpy(copy->price, o->price, cells_n(o) * sizeof(*o->price));
    memcpy(copy->ask, o->ask, cells_n(o) * sizeof(*o->ask));
    memcpy(copy->available, o->available, bits_n(o) * sizeof(*o->available));
    memcpy(copy->sold_out, o->sold_out, bits_n(o) * sizeof(*o->sold_out));
    memcpy(copy->no_image, o->no_image, o->words * sizeof(*o->no_image));
    copy->reservations =
        arena_memdup(&copy->mem, o->reservations, o->n_reservations * sizeof(*o->reservations));
    copy->n_reservations = copy->cap_reservations = o->n_reservations;
    return copy;
}

void offerings_free(struct offerings *o)
{
    if (o) {
        struct arena mem = o->mem; /* o itself lies in it */
        arena_done(&mem);
    }
}

uint64_t offerings_generation(const struct offerings *o)
{
    return o->generation;
}

void offerings_set_generation(struct offerings *o, uint64_t generation)
{
    o->generation = generation;
}

static void refresh(struct offerings *o, uint32_t type, uint32_t zone, enum capacity_type ct)
{
    size_t cell = cell_of(o, type, zone, ct), bits = bits_of(o, zone, ct);
    bool available = o->price[cell] != PRICE_UNKNOWN && !bits_test(o->sold_out + bits, type);
    o->ask[cell] = available ? o->price[cell] : ASK_NONE;
    if (available) {
        bits_set(o->available + bits, type);
    } else {
        bits_clear(o->available + bits, type);
    }
}

void offerings_set_price(struct offerings *o, uint32_t type, uint32_t zone, enum capacity_type ct,
                         int64_t price_pusd_h)
{
    check_place(o, type, zone, ct);
    if (price_pusd_h < 0) {
        price_pusd_h = PRICE_UNKNOWN;
    } else if (price_pusd_h == ASK_NONE) {
        price_pusd_h = ASK_NONE - 1;
    }
    o->price[cell_of(o, type, zone, ct)] = price_pusd_h;
    refresh(o, type, zone, ct);
}

void offerings_set_available(struct offerings *o, uint32_t type, uint32_t zone,
                             enum capacity_type ct, bool available)
{
    check_place(o, type, zone, ct);
    if (available) {
        bits_clear(o->sold_out + bits_of(o, zone, ct), type);
    } else {
        bits_set(o->sold_out + bits_of(o, zone, ct), type);
    }
    refresh(o, type, zone, ct);
}

/* A class without subnets has no zones. */
static void check_type(const struct offerings *o, uint32_t type)
{
    if (type >= o->n_types) {
        BUG("type %u of %u", type, o->n_types);
    }
}

void offerings_set_no_image(struct offerings *o, uint32_t type)
{
    check_type(o, type);
    bits_set(o->no_image, type);
}

bool offerings_no_image(const struct offerings *o, uint32_t type)
{
    check_type(o, type);
    return bits_test(o->no_image, type);
}

int64_t offerings_price(const struct offerings *o, uint32_t type, uint32_t zone,
                        enum capacity_type ct)
{
    check_place(o, type, zone, ct);
    return o->price[cell_of(o, type, zone, ct)];
}

bool offerings_available(const struct offerings *o, uint32_t type, uint32_t zone,
                         enum capacity_type ct)
{
    check_place(o, type, zone, ct);
    return bits_test(o->available + bits_of(o, zone, ct), type);
}

bool offerings_add_reservation(struct offerings *o, const struct reservation *r)
{
    check_place(o, r->type, r->zone, CT_RESERVED);
    if (o->n_reservations >= OFFERINGS_MAX_RESERVATIONS) {
        return false;
    }
    ARENA_GROW(&o->mem, o->reservations, o->n_reservations, o->cap_reservations);
    o->reservations[o->n_reservations++] = *r;
    int64_t now = offerings_price(o, r->type, r->zone, CT_RESERVED);
    if (r->count > 0 && (now == PRICE_UNKNOWN || r->price_pusd_h < now)) {
        offerings_set_price(o, r->type, r->zone, CT_RESERVED, r->price_pusd_h);
    }
    return true;
}

const struct reservation *offerings_reservations(const struct offerings *o, uint32_t *ret_n)
{
    *ret_n = o->n_reservations;
    return o->reservations;
}

/* ---- masks -------------------------------------------------------------------------------------
 */

static uint64_t zones_all(uint32_t n)
{
    return n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

struct offer_mask offerings_mask(const struct catalog *c, const struct symtab *t,
                                 const struct reqset *reqs)
{
    struct offer_mask m = {.zones = zones_all(catalog_n_zones(c)), .cts = (1u << CT_COUNT) - 1};
    const struct req *zone = reqset_get(reqs, L_ZONE);
    const struct req *zone_id = reqset_get(reqs, L_ZONE_ID);
    const struct req *ct = reqset_get(reqs, L_CAPACITY_TYPE);
    for (uint32_t i = 0; (zone || zone_id) && i < catalog_n_zones(c); i++) {
        sym id = catalog_zone_id(c, i);
        bool ok = !zone || req_has(t, zone, catalog_zone(c, i));
        ok &= !zone_id || (id != SYM_NONE && req_has(t, zone_id, id));
        m.zones &= ~((uint64_t)!ok << i);
    }
    for (unsigned i = 0; ct && i < CT_COUNT; i++) {
        bool ok = req_has(t, ct, capacity_type_sym((enum capacity_type)i));
        m.cts &= ~((unsigned)!ok << i);
    }
    return m;
}

void offerings_narrow(const struct offerings *o, struct offer_mask m, uint64_t *bits)
{
    const uint64_t *from[CT_COUNT * CATALOG_MAX_ZONES];
    uint32_t n = 0;
    for (unsigned ct = 0; ct < CT_COUNT; ct++) {
        uint64_t left = m.cts >> ct & 1 ? m.zones & zones_all(o->n_zones) : 0;
        for (; left != 0; left &= left - 1) {
            uint32_t zone = (uint32_t)__builtin_ctzll(left);
            from[n++] = o->available + bits_of(o, zone, (enum capacity_type)ct);
        }
    }
    for (uint32_t i = 0; i < o->words; i++) {
        uint64_t any = 0;
        for (uint32_t k = 0; k < n; k++) {
            any |= from[k][i];
        }
        bits[i] &= any;
    }
}

bool offerings_any(const struct offerings *o, struct offer_mask m, const uint64_t *bits)
{
    for (unsigned ct = 0; ct < CT_COUNT; ct++) {
        uint64_t left = m.cts >> ct & 1 ? m.zones & zones_all(o->n_zones) : 0;
        for (; left != 0; left &= left - 1) {
            uint32_t zone = (uint32_t)__builtin_ctzll(left);
            const uint64_t *available = o->available + bits_of(o, zone, (enum capacity_type)ct);
            for (uint32_t i = 0; i < o->words; i++) {
                if ((bits[i] & available[i]) != 0) {
                    return true;
                }
            }
        }
    }
    return false;
}

int64_t offerings_cheapest(const struct offerings *o, uint32_t type, struct offer_mask m,
                           uint32_t *ret_zone, enum capacity_type *ret_ct)
{
    const int64_t *ask = o->ask + cell_of(o, type, 0, CT_RESERVED);
    int64_t best = ASK_NONE;
    uint32_t best_zone = 0;
    unsigned best_ct = 0;
    for (unsigned ct = 0; ct < CT_COUNT; ct++, ask += o->n_zones) {
        if (!(m.cts >> ct & 1)) {
            continue;
        }
        for (uint64_t left = m.zones & zones_all(o->n_zones); left; left &= left - 1) {
            uint32_t zone = (uint32_t)__builtin_ctzll(left);
            if (ask[zone] < best) {
                best = ask[zone];
                best_zone = zone;
                best_ct = ct;
            }
        }
    }
    if (best == ASK_NONE) {
        return PRICE_UNKNOWN;
    }
    if (ret_zone) {
        *ret_zone = best_zone;
    }
    if (ret_ct) {
        *ret_ct = (enum capacity_type)best_ct;
    }
    return best;
}

/* ---- ranking ------------------------------------------------------------------------------------
 */

struct ranked {
    int64_t price;
    uint32_t type;
};

static bool before(const struct ranked *x, const struct ranked *y)
{
    return x->price != y->price ? x->price < y->price : x->type < y->type;
}

static void merge(const struct ranked *from, uint32_t lo, uint32_t mid, uint32_t hi,
                  struct ranked *to)
{
    uint32_t i = lo, j = mid;
    for (uint32_t k = lo; k < hi; k++) {
        bool left = i < mid && (j == hi || !before(&from[j], &from[i]));
        to[k] = left ? from[i++] : from[j++];
    }
}

/* Merge sort without a callback: this is the hot end of opening a claim. Returns the array that
 * holds the result, v or spare. */
static struct ranked *sort_ranked(struct ranked *v, struct ranked *spare, uint32_t n)
{
    for (uint32_t width = 1; width < n; width *= 2) {
        for (uint32_t lo = 0; lo < n; lo += 2 * width) {
            uint32_t mid = n - lo < width ? n : lo + width;
            uint32_t hi = n - lo < 2 * width ? n : lo + 2 * width;
            merge(v, lo, mid, hi, spare);
        }
        struct ranked *swap = v;
        v = spare;
        spare = swap;
    }
    return v;
}

uint32_t offerings_rank(const struct offerings *o, const uint64_t *bits, struct offer_mask m,
                        bool with_unpriced, uint32_t *out, uint32_t max)
{
    struct ranked a[CATALOG_MAX_TYPES], b[CATALOG_MAX_TYPES];
    uint32_t n = 0;
    for (int i = bits_next(bits, o->words, 0); i >= 0;
         i = bits_next(bits, o->words, (uint32_t)i + 1)) {
        int64_t price = offerings_cheapest(o, (uint32_t)i, m, NULL, NULL);
        if (price != PRICE_UNKNOWN || with_unpriced) {
            a[n].price = price == PRICE_UNKNOWN ? ASK_NONE : price;
            a[n++].type = (uint32_t)i;
        }
    }
    const struct ranked *sorted = sort_ranked(a, b, n);
    uint32_t written = n < max ? n : max;
    for (uint32_t i = 0; i < written; i++) {
        out[i] = sorted[i].type;
    }
    return written;
}

enum capacity_type capacity_type_of(sym value)
{
    switch (value) {
    case V_RESERVED:
        return CT_RESERVED;
    case V_SPOT:
        return CT_SPOT;
    case V_ON_DEMAND:
        return CT_ON_DEMAND;
    default:
        return CT_COUNT;
    }
}

sym capacity_type_sym(enum capacity_type ct)
{
    switch (ct) {
    case CT_RESERVED:
        return V_RESERVED;
    case CT_SPOT:
        return V_SPOT;
    case CT_ON_DEMAND:
        return V_ON_DEMAND;
    default:
        return SYM_NONE;
    }
}
