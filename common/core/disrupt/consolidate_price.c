/* consolidate_price.c - is a trial worth it; see consolidate.h. */
#include "budget.h"
#include "common/base/str.h"
#include "common/core/labels.h"
#include "consolidate_int.h"

#define PERMYRIAD 10000
#define MIB_SHIFT 20

/* ---- numbers ----------------------------------------------------------------------------------
 */

#define ONE (INT64_C(1) << 20)

/* a / b in parts of ONE; amounts are halved until there is room. */
static int64_t ratio(int64_t a, int64_t b)
{
    while (a >= INT64_C(1) << 42) {
        a >>= 1;
        b >>= 1;
    }
    return b > 0 ? a * ONE / b : INT64_MAX;
}

/* A part of an amount. */
static int64_t part_of(int64_t amount, int64_t part)
{
    return (amount >> 10) * part >> 10;
}

/* ---- options of pools ------------------------------------------------------------------------ */

bool consolidate_parse_saving(const char *text, struct min_saving *ret)
{
    int64_t whole = 0, part = 0, unit = PUSD_PER_USD;
    const char *c = text;
    for (; *c >= '0' && *c <= '9' && whole < 1000000; c++) {
        whole = whole * 10 + (*c - '0');
    }
    if (c == text || whole >= 1000000) {
        return false;
    }
    if (c[0] == '%' && c[1] == '\0') {
        *ret = (struct min_saving){.permyriad = whole > 100 ? 100 * 100 : (uint32_t)whole * 100};
        return whole <= 100;
    }
    if (*c == '.') {
        const char *from = ++c;
        for (; *c >= '0' && *c <= '9' && unit > 1; c++) {
            unit /= 10;
            part += unit * (*c - '0');
        }
        if (c == from) {
            return false;
        }
    }
    *ret = (struct min_saving){.pusd_h = whole * PUSD_PER_USD + part};
    return *c == '\0';
}

/* Keeps bits that are (not) among those of mask. */
static void keep_bits(uint64_t *bits, const uint64_t *mask, bool among, uint32_t words)
{
    for (uint32_t i = 0; i < words; i++) {
        bits[i] &= among ? mask[i] : ~mask[i];
    }
}

static void pool_rules(struct consolidate *c, struct pool_rules *r)
{
    const struct kvs *ann = &r->pool->np->m.annotations;
    const char *saving = kvs_get(ann, ANN_MIN_SAVING), *back = kvs_get(ann, ANN_RETURN_TO_WEIGHT);
    r->min_saving = c->opt.min_saving;
    if (saving != NULL && !consolidate_parse_saving(saving, &r->min_saving)) {
        r->min_saving_unreadable = true;
    }
    r->return_to_weight = back != NULL ? str_eq(back, "true") : c->opt.return_to_weight;
    r->exotic = r->pool->catalog != NULL ? catalog_exotic(r->pool->catalog) : NULL;
}

/* Memory counts in MiB. */
static int64_t units(enum resource r, int64_t amount)
{
    return r == RES_MEMORY || r == RES_EPHEMERAL_STORAGE ? amount >> MIB_SHIFT : amount;
}

/* A type that a pool can launch now, and its cheapest offering. */
struct priced {
    const struct resources *have;
    int64_t price;
};

struct priced_list {
    struct priced *v;
    uint32_t n, cap;
};

static void list_priced(struct consolidate *c, const struct sched_pool *p, struct priced_list *ret)
{
    const struct catalog *cat = p->tm.catalog;
    uint32_t words = catalog_words(cat);
    struct offer_mask m = offerings_mask(cat, c->s->syms, &p->tm.reqs);
    for (int t = bits_next(p->tm.types, words, 0); t >= 0;
         t = bits_next(p->tm.types, words, (uint32_t)t + 1)) {
        int64_t price = offerings_cheapest(p->in->offerings, (uint32_t)t, m, NULL, NULL);
        if (price != PRICE_UNKNOWN) {
            ARENA_GROW(c->a, ret->v, ret->n, ret->cap);
            ret->v[ret->n++] = (struct priced){catalog_allocatable(cat, (uint32_t)t), price};
        }
    }
}

/*
 * What pods cost at least, wherever they go: rates per unit of each resource such that no type is
 * cheaper than all it has at these rates (duals of the linear programme of buying capacity). One
 * resource alone, and cpu and memory in some proportions.
 */
static void lower(struct consolidate *c, const struct priced_list *list, uint32_t which,
                  enum resource r)
{
    int64_t *rates = c->rates[which], least = INT64_MAX;
    for (uint32_t i = 0; i < list->n; i++) {
        const struct priced *p = &list->v[i];
        int64_t amount = units(r, p->have->v[r]);
        if (amount > 0) {
            int64_t left =
                p->price - (r == RES_MEMORY ? (p->have->v[RES_CPU] + 1) * rates[RES_CPU] : 0);
            int64_t rate = left > 0 ? left / (amount + 1) : 0;
            least = rate < least ? rate : least;
        }
    }
    rates[r] = least == INT64_MAX ? 0 : least;
}

void price_rates(struct consolidate *c)
{
    struct arena_mark mark = arena_mark(c->a);
    struct priced_list list = {0};
    for (uint32_t i = 0; i < c->s->n_pools; i++) {
        if (c->s->pools[i].usable && c->s->pools[i].in->offerings != NULL) {
            list_priced(c, &c->s->pools[i], &list);
        }
    }
    memset(c->rates, 0, sizeof(c->rates));
    for (uint32_t r = 0; r < RES_FIXED; r++) {
        lower(c, &list, r, (enum resource)r);
    }
    for (uint32_t i = 1; i < CONSOLIDATE_MIXES; i++) {
        uint32_t which = RES_FIXED + i - 1;
        c->rates[which][RES_CPU] = c->rates[RES_CPU][RES_CPU] * i / CONSOLIDATE_MIXES;
        lower(c, &list, which, RES_MEMORY);
    }
    arena_rewind(c->a, mark);
}

void price_pools(struct consolidate *c)
{
    for (uint32_t i = 0; i < c->snap->n_pools; i++) {
        c->pools[i].pool = &c->snap->pools[i];
        pool_rules(c, &c->pools[i]);
    }
}

static int64_t bounded_mul(int64_t a, int64_t b)
{
    int64_t ret;
    return __builtin_mul_overflow(a, b, &ret) ? INT64_MAX / 2 : ret;
}

int64_t price_potential(const struct consolidate *c, const struct cand *x)
{
    int64_t sum[RES_FIXED] = {0}, least = 0;
    for (uint32_t i = 0; i < x->n_pods; i++) {
        const int64_t *v = c->s->pods[x->pods[i]]->cls->requests.v;
        for (int r = 0; r < RES_FIXED; r++) {
            sum[r] += v[r];
        }
    }
    for (int r = 0; r < RES_FIXED; r++) {
        sum[r] = units((enum resource)r, sum[r]);
        int64_t cost = bounded_mul(sum[r], c->rates[r][r]);
        least = cost > least ? cost : least;
    }
    for (size_t i = RES_FIXED; i < ARRAY_LEN(c->rates); i++) {
        int64_t cost = bounded_mul(sum[RES_CPU], c->rates[i][RES_CPU]) +
                       bounded_mul(sum[RES_MEMORY], c->rates[i][RES_MEMORY]);
        least = cost > least ? cost : least;
    }
    return x->price_why.code == REASON_NONE ? x->price - least : 0;
}

int64_t price_most(const struct consolidate *c)
{
    int64_t ret = 0;
    for (uint32_t i = 0; i < c->n_cands; i++) {
        const struct cand *x = &c->cands[i];
        if (x->candidate && x->price != PRICE_UNKNOWN) {
            ret += x->potential > 0 ? x->potential : 0;
        }
    }
    return ret;
}

/* ---- cheapest -------------------------------------------------------------------------------- */

static const struct price_order *order_of(struct consolidate *c, const struct snapshot_pool *p,
                                          struct offer_mask offer)
{
    for (struct price_order *o = c->orders; o != NULL; o = o->next) {
        if (o->pool == p && o->offer.zones == offer.zones && o->offer.cts == offer.cts) {
            return o;
        }
    }
    uint64_t all[CATALOG_WORDS_MAX] = {0};
    struct price_order *o = ARENA_NEW(c->a, struct price_order);
    uint32_t n = catalog_n_types(p->catalog);
    *o = (struct price_order){.pool = p, .offer = offer, .next = c->orders};
    o->types = ARENA_NEW_N(c->a, uint32_t, n);
    o->prices = ARENA_NEW_N(c->a, int64_t, n);
    catalog_all(p->catalog, all);
    const uint64_t *exotic = c->pools[p - c->snap->pools].exotic;
    uint32_t words = catalog_words(p->catalog);
    keep_bits(all, exotic, false, words);
    o->n = offerings_rank(p->offerings, all, offer, false, o->types, n);
    catalog_all(p->catalog, all);
    keep_bits(all, exotic, true, words);
    o->n += offerings_rank(p->offerings, all, offer, false, o->types + o->n, n - o->n);
    for (uint32_t i = 0; i < o->n; i++) {
        o->prices[i] = offerings_cheapest(p->offerings, o->types[i], offer, NULL, NULL);
    }
    c->orders = o;
    return o;
}

/* Its place in the order, or n. */
static uint32_t first_of(const struct price_order *o, const uint64_t *types)
{
    uint32_t i = 0;
    while (i < o->n && !bits_test(types, o->types[i])) {
        i++;
    }
    return i;
}

/* Exotic types come last: they are launched only where nothing plain will do. */
int64_t price_cheapest(struct consolidate *c, const struct snapshot_pool *p, const uint64_t *types,
                       struct offer_mask offer)
{
    const struct price_order *o = order_of(c, p, offer);
    uint32_t i = first_of(o, types);
    return i < o->n ? o->prices[i] : PRICE_UNKNOWN;
}

sym price_cheapest_type(struct consolidate *c, const struct snapshot_pool *p, const uint64_t *types,
                        struct offer_mask offer)
{
    const struct price_order *o = order_of(c, p, offer);
    uint32_t i = first_of(o, types);
    return i < o->n ? catalog_type_name(p->catalog, o->types[i]) : SYM_NONE;
}

/* A reservation costs what it costs. */
static int64_t claim_price(struct consolidate *c, const struct sched_open *o)
{
    const struct reservation *r = sched_reserve_of(o);
    return r != NULL ? r->price_pusd_h : price_cheapest(c, o->pool->in, o->types, o->offer);
}

int64_t price_of_claims(struct consolidate *c)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < c->s->n_claims; i++) {
        int64_t price = claim_price(c, c->s->claims[i]);
        if (price == PRICE_UNKNOWN) {
            return PRICE_UNKNOWN;
        }
        sum += price;
    }
    return sum;
}

/* ---- narrowing ------------------------------------------------------------------------------- */

/* The dearest offering of the type inside the mask; PRICE_UNKNOWN if there is none. */
static int64_t dearest(const struct offerings *o, uint32_t type, struct offer_mask m)
{
    int64_t ret = PRICE_UNKNOWN;
    for (unsigned ct = 0; ct < CT_COUNT; ct++) {
        for (uint64_t left = m.cts >> ct & 1 ? m.zones : 0; left != 0; left &= left - 1) {
            uint32_t zone = (uint32_t)__builtin_ctzll(left);
            if (offerings_available(o, type, zone, (enum capacity_type)ct)) {
                int64_t price = offerings_price(o, type, zone, (enum capacity_type)ct);
                ret = price > ret ? price : ret;
            }
        }
    }
    return ret;
}

/* Types whose every offering inside the mask is at most cap. */
static void within(const struct offerings *o, const struct catalog *cat, const uint64_t *types,
                   struct offer_mask m, int64_t cap, uint64_t *ret)
{
    uint32_t words = catalog_words(cat);
    memset(ret, 0, words * sizeof(*ret));
    for (int t = bits_next(types, words, 0); t >= 0; t = bits_next(types, words, (uint32_t)t + 1)) {
        int64_t price = dearest(o, (uint32_t)t, m);
        if (price != PRICE_UNKNOWN && price <= cap) {
            bits_set(ret, (uint32_t)t);
        }
    }
}

/* Zones of the mask in which some type is to be had for at most cap. */
static uint64_t cheap_zones(const struct offerings *o, const struct catalog *cat,
                            const uint64_t *types, struct offer_mask m, int64_t cap)
{
    uint64_t ret = 0;
    uint32_t words = catalog_words(cat);
    for (uint32_t z = 0; z < catalog_n_zones(cat); z++) {
        struct offer_mask one = {m.zones & UINT64_C(1) << z, m.cts};
        for (int t = one.zones != 0 ? bits_next(types, words, 0) : -1; t >= 0;
             t = bits_next(types, words, (uint32_t)t + 1)) {
            int64_t price = offerings_cheapest(o, (uint32_t)t, one, NULL, NULL);
            if (price != PRICE_UNKNOWN && price <= cap) {
                ret |= one.zones;
                break;
            }
        }
    }
    return ret;
}

/* Where the cheapest offering of all types lies. */
static int64_t cheapest_place(const struct offerings *o, const struct catalog *cat,
                              const uint64_t *types, struct offer_mask m, struct offer_mask *ret)
{
    int64_t best = PRICE_UNKNOWN;
    uint32_t words = catalog_words(cat);
    for (int t = bits_next(types, words, 0); t >= 0; t = bits_next(types, words, (uint32_t)t + 1)) {
        uint32_t zone;
        enum capacity_type ct;
        int64_t price = offerings_cheapest(o, (uint32_t)t, m, &zone, &ct);
        if (price != PRICE_UNKNOWN && (best == PRICE_UNKNOWN || price < best)) {
            best = price;
            *ret = (struct offer_mask){UINT64_C(1) << zone, 1u << ct};
        }
    }
    return best;
}

static void settle_zones(struct consolidate *c, struct sched_open *o, uint64_t zones)
{
    const struct catalog *cat = o->pool->tm.catalog;
    sym values[CATALOG_MAX_ZONES];
    uint32_t n = 0;
    for (uint32_t z = 0; z < catalog_n_zones(cat); z++) {
        if (zones >> z & 1) {
            sym v = catalog_zone(cat, z);
            uint32_t at = n++;
            for (; at > 0 && values[at - 1] > v; at--) {
                values[at] = values[at - 1];
            }
            values[at] = v;
        }
    }
    struct req r = {
        .key = L_ZONE, .n = n, .values = arena_memdup(c->s->a, values, n * sizeof(*values))};
    o->reqs = reqset_add(c->s->a, c->s->syms, &o->reqs, &r);
}

/* The claim's types without exotic ones, if anything plain is left. */
static void launchable(const struct consolidate *c, const struct sched_open *o, uint64_t *ret)
{
    uint32_t words = catalog_words(o->pool->tm.catalog);
    memcpy(ret, o->types, words * sizeof(*ret));
    keep_bits(ret, c->pools[o->pool->in - c->snap->pools].exotic, false, words);
    offerings_narrow(o->pool->in->offerings, o->offer, ret);
    if (!bits_any(ret, words)) {
        memcpy(ret, o->types, words * sizeof(*ret));
    }
}

/*
 * Leaves the claim what costs at most cap however it is launched: one capacity type (the one of the
 * cheapest offering, so that a failed spot launch becomes nothing dearer), zones in which there is
 * such an offering, and types that are within it in all of them; if that is too little, the
 * cheapest zone alone. Returns how many types are left, 0 with the claim as it was.
 */
static uint32_t narrow(struct consolidate *c, struct sched_open *o, int64_t cap)
{
    const struct catalog *cat = o->pool->tm.catalog;
    const struct offerings *off = o->pool->in->offerings;
    struct offer_mask best, m;
    uint64_t kept[CATALOG_WORDS_MAX];
    if (sched_reserve_of(o) != NULL) {
        return sched_reserve_of(o)->price_pusd_h <= cap; /* it can become nothing else */
    }
    uint64_t types[CATALOG_WORDS_MAX];
    launchable(c, o, types);
    int64_t least = cheapest_place(off, cat, types, o->offer, &best);
    if (least == PRICE_UNKNOWN || least > cap) {
        return 0;
    }
    m = (struct offer_mask){o->offer.zones, best.cts};
    m.zones = cheap_zones(off, cat, types, m, cap);
    within(off, cat, types, m, cap, kept);
    if (!bits_any(kept, catalog_words(cat)) || !sched_values_ok(c->s, o->pool, &o->reqs, kept, m)) {
        m = best;
        within(off, cat, types, m, cap, kept);
        if (!sched_values_ok(c->s, o->pool, &o->reqs, kept, m)) {
            return 0;
        }
    }
    if ((o->offer.zones & ~m.zones) != 0) {
        settle_zones(c, o, m.zones);
    }
    o->offer = m;
    memcpy(o->types, kept, catalog_words(cat) * sizeof(*kept));
    return bits_count(kept, catalog_words(cat));
}

/* ---- rules ----------------------------------------------------------------------------------- */

static const struct pool_rules *rules_of(const struct consolidate *c, const struct cand *x)
{
    return &c->pools[x->node->pool - c->snap->pools];
}

static struct reason refusal(enum reason_code code, int64_t count, int64_t limit)
{
    return (struct reason){
        .code = code, .count = count, .limit = limit, .short_of = {.res = RES_FIXED}};
}

/* What a step has to save; INT64_MAX if a pool's wish cannot be read. */
static int64_t least_saving(const struct consolidate *c, struct cand *const *members, uint32_t n,
                            int64_t out)
{
    int64_t ret = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct pool_rules *r = rules_of(c, members[i]);
        int64_t share = out / PERMYRIAD * r->min_saving.permyriad +
                        out % PERMYRIAD * r->min_saving.permyriad / PERMYRIAD;
        int64_t ask = share > r->min_saving.pusd_h ? share : r->min_saving.pusd_h;
        ask = r->min_saving_unreadable ? INT64_MAX : ask;
        ret = ask > ret ? ask : ret;
    }
    return ret;
}

static bool spot(const struct cand *x)
{
    const struct req *r = reqset_get(&x->node->labels, L_CAPACITY_TYPE);
    return r != NULL && req_single(r) == V_SPOT;
}

static bool all_spot(struct cand *const *members, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!spot(members[i])) {
            return false;
        }
    }
    return true;
}

static bool may_be_spot(const struct consolidate *c)
{
    for (uint32_t i = 0; i < c->s->n_claims; i++) {
        const struct sched_open *o = c->s->claims[i];
        struct offer_mask m = {o->offer.zones, o->offer.cts & 1u << CT_SPOT};
        uint64_t bits[CATALOG_WORDS_MAX] = {0};
        memcpy(bits, o->types, catalog_words(o->pool->tm.catalog) * sizeof(*bits));
        if (m.cts != 0) {
            offerings_narrow(o->pool->in->offerings, m, bits);
        }
        if (m.cts != 0 && bits_any(bits, catalog_words(o->pool->tm.catalog))) {
            return true;
        }
    }
    return false;
}

/* The claim could become the same again as this node. */
static bool could_be(const struct sched_open *o, const struct cand *x)
{
    const struct req *zone = reqset_get(&x->node->labels, L_ZONE);
    const struct req *ct = reqset_get(&x->node->labels, L_CAPACITY_TYPE);
    const struct catalog *cat = o->pool->in->catalog;
    int z = zone != NULL ? catalog_find_zone(cat, req_single(zone)) : -1;
    enum capacity_type how = ct != NULL ? capacity_type_of(req_single(ct)) : CT_COUNT;
    return x->type >= 0 && x->node->pool->catalog == cat && z >= 0 && how != CT_COUNT &&
           bits_test(o->types, (uint32_t)x->type) && (o->offer.zones >> z & 1) != 0 &&
           (o->offer.cts >> how & 1) != 0;
}

/* Merging several into one like one of them is a delete in disguise: only what is cheaper helps. */
static int64_t below_same_type(const struct sched_open *o, struct cand *const *members, uint32_t n,
                               int64_t cap)
{
    for (uint32_t i = 0; n > 1 && i < n; i++) {
        if (members[i]->price - 1 < cap && could_be(o, members[i])) {
            cap = members[i]->price - 1;
        }
    }
    return cap;
}

/* Every claim gets its part of what the step may cost, by its cheapest price. */
static uint32_t narrow_all(struct consolidate *c, struct cand *const *members, uint32_t n,
                           int64_t in, int64_t total)
{
    uint32_t least = UINT32_MAX;
    int64_t left = total - in, cheap_left = in;
    for (uint32_t i = 0; i < c->s->n_claims; i++) {
        struct sched_open *o = c->s->claims[i];
        int64_t cheap = claim_price(c, o);
        bool last = i + 1 == c->s->n_claims || cheap_left <= 0;
        int64_t share = last ? left : part_of(left, ratio(cheap, cheap_left));
        int64_t cap = below_same_type(o, members, n, cheap + share);
        uint32_t types = narrow(c, o, cap);
        least = types < least ? types : least;
        left -= share;
        cheap_left -= cheap;
    }
    return least;
}

/* As Karpenter: a step's share of the pool's price against its share of the pool's disruption. */
static bool balanced(const struct consolidate *c, struct cand *const *members, uint32_t n,
                     const struct worth *w, struct reason *ret)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct pool_rules *r = rules_of(c, members[i]);
        int64_t out = 0, raw = 0;
        if (r->pool->np->policy != POLICY_BALANCED) {
            continue;
        }
        for (uint32_t k = 0; k < n; k++) {
            bool here = members[k]->node->pool == r->pool;
            out += here && members[k]->price != PRICE_UNKNOWN ? members[k]->price : 0;
            raw += here ? members[k]->raw : 0;
        }
        int64_t score = 0;
        if (w->saving > 0 && w->out > 0 && r->cost > 0 && r->raw > 0 && raw > 0) {
            int64_t saved = part_of(w->saving, ratio(out, w->out));
            int64_t score_one = ratio(ratio(saved, r->cost), ratio(raw, r->raw));
            score = score_one < INT64_MAX / PERMYRIAD ? score_one * PERMYRIAD / ONE : INT64_MAX;
        }
        if (score < c->opt.balanced_permyriad) {
            *ret = refusal(REASON_NotBalanced, score, c->opt.balanced_permyriad);
            return false;
        }
    }
    return true;
}

/* Every new node is of a heavier pool than those that want to get back to one. */
static bool goes_back(const struct consolidate *c, struct cand *const *members, uint32_t n)
{
    bool any = false;
    for (uint32_t i = 0; i < n; i++) {
        if (!rules_of(c, members[i])->return_to_weight) {
            return false;
        }
        for (uint32_t k = 0; k < c->s->n_claims; k++) {
            any = true;
            if (c->s->claims[k]->pool->in->np->weight <= members[i]->node->pool->np->weight) {
                return false;
            }
        }
    }
    return any;
}

static struct worth no(enum reason_code code, int64_t count, int64_t limit)
{
    return (struct worth){.why = refusal(code, count, limit)};
}

static struct worth replacement(struct consolidate *c, struct cand *const *members, uint32_t n,
                                struct worth w, int64_t least, bool final)
{
    bool from_spot = all_spot(members, n) && may_be_spot(c);
    int64_t ask = least > CONSOLIDATE_LEAST_PUSD_H ? least : CONSOLIDATE_LEAST_PUSD_H;
    for (uint32_t i = 0; i < n; i++) {
        if (members[i]->price_why.code != REASON_NONE) {
            return (struct worth){.why = members[i]->price_why};
        }
    }
    w.in = price_of_claims(c);
    if (from_spot && !c->opt.spot_to_spot) {
        return no(REASON_SpotToSpot, 0, 0);
    }
    w.return_to_weight =
        goes_back(c, members, n) && w.in != PRICE_UNKNOWN && w.in <= w.out && w.out - w.in < ask;
    if (w.in == PRICE_UNKNOWN || (w.out - w.in < CONSOLIDATE_LEAST_PUSD_H && !w.return_to_weight)) {
        return no(REASON_NotCheaper, w.in, w.out);
    }
    w.saving = w.out - w.in;
    ask = w.return_to_weight ? 0 : ask;
    if (w.saving < ask) {
        return no(REASON_TooSmallSaving, w.saving, least);
    }
    if (!final) {
        return w;
    }
    uint32_t types = narrow_all(c, members, n, w.in, w.out - ask);
    if (types == 0) {
        return no(REASON_NotCheaper, w.in, w.out);
    }
    if (from_spot && n == 1 && types < c->opt.spot_min_types) {
        return no(REASON_SpotToSpot, types, c->opt.spot_min_types);
    }
    w.in = price_of_claims(c);
    w.saving = w.out - w.in;
    w.cut_types = from_spot && n == 1 ? c->opt.spot_min_types : 0;
    return w;
}

struct worth price_worth(struct consolidate *c, struct cand *const *members, uint32_t n, bool final)
{
    struct worth w = {.ok = false};
    for (uint32_t i = 0; i < n; i++) {
        w.out += members[i]->price != PRICE_UNKNOWN ? members[i]->price : 0;
    }
    int64_t least = least_saving(c, members, n, w.out);
    if (c->s->n_claims > 0) {
        w = replacement(c, members, n, w, least, final);
    } else {
        w.saving = w.out;
        if (w.saving < least) {
            w.why = refusal(REASON_TooSmallSaving, w.saving, least);
        }
    }
    w.ok = w.why.code == REASON_NONE;
    if (w.ok && !w.return_to_weight && final) {
        w.ok = balanced(c, members, n, &w, &w.why);
    }
    return w;
}
