/*
 * sched_limit.c - limits of pools, and making room under them.
 *
 * A claim reserves, per limited resource, the largest capacity among its types, because any of them
 * may be launched. When the next claim does not fit beside these reservations, open claims give up
 * types: of the resource that is short, the claim with the greatest reservation loses the types that
 * make it up, and so on until there is room. What cannot be cut (minValues, the pods' own needs)
 * stays. If it does not help, nothing is cut.
 */
#include "sched_int.h"

/* ---- what is left ---------------------------------------------------------------------------- */

static struct resources largest(struct sched *s, const struct catalog *c, const uint64_t *types)
{
    struct resources ret = {0};
    uint32_t words = catalog_words(c);
    for (int i = bits_next(types, words, 0); i >= 0; i = bits_next(types, words, (uint32_t)i + 1)) {
        ret = resources_max(s->a, &ret, catalog_capacity(c, (uint32_t)i));
    }
    return ret;
}

static const struct resources *reserve_of(struct sched *s, struct sched_open *c)
{
    if (c->reserve_stale) {
        c->reserve = largest(s, c->pool->tm.catalog, c->types);
        c->reserve_stale = false;
    }
    return &c->reserve;
}

static int64_t at_least_0(int64_t v)
{
    return v > 0 ? v : 0;
}

/* limit − used where there is a limit. */
static struct resources subtract(struct arena *a, const struct resources *limits,
                                 const struct resources *used)
{
    struct resources left = *limits;
    struct res_ext *ext = ARENA_NEW_N(a, struct res_ext, limits->n_ext);
    for (int i = 0; i < RES_FIXED; i++) {
        left.v[i] = limits->v[i] < 0 ? -1 : at_least_0(limits->v[i] - used->v[i]);
    }
    for (uint32_t i = 0; i < limits->n_ext; i++) {
        const struct res_ext *l = &limits->ext[i];
        ext[i].name = l->name;
        ext[i].amount = l->amount < 0 ? -1 : at_least_0(l->amount - resources_get_ext(used, l->name));
    }
    left.ext = ext;
    return left;
}

void sched_limit_refresh(struct sched *s, const struct sched_pool *p)
{
    for (uint32_t i = 0; p->in->np->has_limits && i < s->n_claims; i++) {
        if (s->claims[i]->pool == p) {
            (void)reserve_of(s, s->claims[i]);
        }
    }
}

struct resources sched_limit_left(struct sched *s, const struct sched_pool *p)
{
    struct resources used = p->in->in_use;
    for (uint32_t i = 0; i < s->n_claims; i++) {
        if (s->claims[i]->pool == p) {
            used = resources_add(s->a, &used, reserve_of(s, s->claims[i]), 1);
        }
    }
    return subtract(s->a, &p->in->np->limits, &used);
}

/* ---- making room ----------------------------------------------------------------------------- */

/* A claim of the pool with what would be left of its types. */
struct cut {
    struct sched_open *claim;
    uint64_t *types;
    struct resources reserve;
};

struct cuts {
    struct cut *v;
    uint32_t n;
};

static struct cuts cuts_begin(struct sched *s, const struct sched_pool *p)
{
    struct cuts ret = {ARENA_NEW_N(s->a, struct cut, s->n_claims), 0};
    uint32_t words = catalog_words(p->tm.catalog);
    for (uint32_t i = 0; i < s->n_claims; i++) {
        struct sched_open *c = s->claims[i];
        if (c->pool == p) {
            ret.v[ret.n++] =
                (struct cut){c, arena_memdup(s->a, c->types, words * sizeof(*c->types)),
                             *reserve_of(s, c)};
        }
    }
    return ret;
}

/* One limited resource: a fixed one, or the i-th of limits.ext. */
static int64_t amount(const struct resources *r, const struct resources *limits, int which)
{
    return which < RES_FIXED ? r->v[which]
                             : resources_get_ext(r, limits->ext[which - RES_FIXED].name);
}

static int64_t limit_of(const struct resources *limits, int which)
{
    return which < RES_FIXED ? limits->v[which] : limits->ext[which - RES_FIXED].amount;
}

/* The first resource of which the claims and one more node of `need` take too much; -1 if none. */
static int short_resource(struct sched *s, const struct sched_pool *p, const struct cuts *cuts,
                          const struct resources *need)
{
    const struct resources *limits = &p->in->np->limits;
    struct resources used = resources_add(s->a, &p->in->in_use, need, 1);
    for (uint32_t i = 0; i < cuts->n; i++) {
        used = resources_add(s->a, &used, &cuts->v[i].reserve, 1);
    }
    for (int r = 0; r < RES_FIXED + (int)limits->n_ext; r++) {
        if (limit_of(limits, r) >= 0 && amount(&used, limits, r) > limit_of(limits, r) &&
            amount(need, limits, r) > 0) {
            return r;
        }
    }
    return -1;
}

/* Takes the types away that make up the claim's reservation of the resource. False if none or too
 * few would be left. */
static bool cut_top(struct sched *s, struct cut *cut, const struct resources *limits, int which)
{
    const struct sched_pool *p = cut->claim->pool;
    const struct catalog *c = p->tm.catalog;
    uint32_t words = catalog_words(c);
    int64_t top = amount(&cut->reserve, limits, which);
    uint64_t left[CATALOG_WORDS_MAX] = {0};
    memcpy(left, cut->types, words * sizeof(*left));
    for (int i = bits_next(left, words, 0); i >= 0; i = bits_next(left, words, (uint32_t)i + 1)) {
        if (amount(catalog_capacity(c, (uint32_t)i), limits, which) >= top) {
            bits_clear(left, (uint32_t)i);
        }
    }
    /* BestEffort relaxes minValues where nothing else helps; cutting is no such case. */
    if (!bits_any(left, words) ||
        sched_values_short(s, p, &cut->claim->reqs, left, cut->claim->offer) != NULL) {
        return false;
    }
    memcpy(cut->types, left, words * sizeof(*left));
    cut->reserve = largest(s, c, left);
    return true;
}

/* Cuts one step for the resource, at the claim that reserves most of it and can give. */
static bool cut_one(struct sched *s, const struct cuts *cuts, const struct resources *limits,
                    int which, bool *stuck)
{
    for (;;) {
        struct cut *best = NULL;
        for (uint32_t i = 0; i < cuts->n; i++) {
            struct cut *c = &cuts->v[i];
            if (!stuck[i] && (best == NULL || amount(&c->reserve, limits, which) >
                                                  amount(&best->reserve, limits, which))) {
                best = c;
            }
        }
        if (best == NULL) {
            return false;
        }
        if (cut_top(s, best, limits, which)) {
            return true;
        }
        stuck[best - cuts->v] = true;
    }
}

/* Can claims give so much that a node of this capacity has room? Then they do. */
static bool make_room_for(struct sched *s, struct sched_pool *p, const struct resources *need)
{
    const struct resources *limits = &p->in->np->limits;
    struct cuts cuts = cuts_begin(s, p);
    int which, last = -1;
    bool *stuck = ARENA_NEW_N(s->a, bool, cuts.n);
    while ((which = short_resource(s, p, &cuts, need)) >= 0) {
        if (which != last) {
            memset(stuck, 0, cuts.n * sizeof(*stuck));
            last = which;
        }
        if (!cut_one(s, &cuts, limits, which, stuck)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < cuts.n; i++) {
        struct sched_open *c = cuts.v[i].claim;
        memcpy(c->types, cuts.v[i].types,
               catalog_words(p->tm.catalog) * sizeof(*c->types));
        c->reserve_stale = true;
    }
    return true;
}

/* The capacity to reserve for a claim of the types from ranked[0] on, as few as minValues allow. */
static bool least_need(struct sched *s, const struct sched_pool *p, const struct sched_trial *t,
                       const uint32_t *ranked, uint32_t n, struct resources *ret)
{
    uint64_t types[CATALOG_WORDS_MAX] = {0};
    for (uint32_t i = 0; i < n; i++) {
        bits_set(types, ranked[i]);
        if (sched_values_ok(s, p, &t->reqs, types, t->offer)) {
            *ret = largest(s, p->tm.catalog, types);
            return true;
        }
    }
    return false;
}

/* Tries the cheapest types first. */
static bool make_room(struct sched *s, struct sched_pool *p, const struct sched_trial *t)
{
    const struct catalog *c = p->tm.catalog;
    uint64_t types[CATALOG_WORDS_MAX] = {0};
    uint32_t ranked[SCHED_MAX_ROOM_TYPES];
    memcpy(types, t->types, catalog_words(c) * sizeof(*types));
    struct resources most = subtract(s->a, &p->in->np->limits, &p->in->in_use);
    catalog_narrow_limit(c, &most, types);
    uint32_t n = offerings_rank(p->in->offerings, types, t->offer, false, ranked,
                                SCHED_MAX_ROOM_TYPES);
    bool done = false;
    for (uint32_t i = 0; i < n && i < SCHED_MAX_ROOM_TRIES && !done; i++) {
        struct arena_mark mark = arena_mark(s->a);
        struct resources need;
        done = least_need(s, p, t, ranked + i, n - i, &need) && make_room_for(s, p, &need);
        arena_rewind(s->a, mark);
    }
    return done;
}

/* Leaves the types within the limits; false (and no change) if none or too few. */
static bool within(struct sched *s, struct sched_pool *p, struct sched_trial *t)
{
    uint32_t words = catalog_words(p->tm.catalog);
    uint64_t types[CATALOG_WORDS_MAX] = {0};
    memcpy(types, t->types, words * sizeof(*types));
    struct resources left = sched_limit_left(s, p);
    catalog_narrow_limit(p->tm.catalog, &left, types);
    if (!bits_any(types, words) || !sched_values_ok(s, p, &t->reqs, types, t->offer)) {
        return false;
    }
    memcpy(t->types, types, words * sizeof(*types));
    return true;
}

enum sched_room sched_limit_room(struct sched *s, struct sched_pool *p, struct sched_trial *t,
                                 bool make)
{
    const struct nodepool *np = p->in->np;
    bool brake = p->in->max_new_nodes >= 0 && p->opened >= p->in->max_new_nodes;
    if (np->has_limits && np->limit_nodes >= 0 &&
        p->in->nodes_in_use + p->opened >= np->limit_nodes) {
        return ROOM_NODE_LIMIT;
    }
    if (np->has_limits && !within(s, p, t) &&
        !(make && !brake && make_room(s, p, t) && within(s, p, t))) {
        return ROOM_LIMIT;
    }
    return brake ? ROOM_BRAKE : ROOM_YES;
}
