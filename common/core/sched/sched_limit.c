/*
 * sched_limit.c - limits of pools, and making room under them.
 *
 * A claim reserves, per limited resource, the largest capacity among its types, because any of them
 * may be launched. When the next claim does not fit beside these reservations, open claims give up
 * types: of the resource that is short, the claim with the greatest reservation loses the types
 * that make it up, and so on until there is room. What cannot be cut (minValues, the pods' own
 * needs) stays. If it does not help, nothing is cut.
 */
#include "sched_int.h"

/* ---- what is left ---------------------------------------------------------------------------- */

/* ret becomes the greater of both per resource. Types of one class have the same extended resources
 * as a rule, so that a new array is rarely needed. */
static void raise(struct arena *a, struct resources *ret, const struct resources *to)
{
    bool new_ext = false;
    for (int r = 0; r < RES_FIXED; r++) {
        ret->v[r] = to->v[r] > ret->v[r] ? to->v[r] : ret->v[r];
    }
    for (uint32_t i = 0; i < to->n_ext && !new_ext; i++) {
        new_ext = to->ext[i].amount > resources_get_ext(ret, to->ext[i].name);
    }
    if (new_ext) {
        *ret = resources_max(a, ret, to);
    }
}

/* Extended resources only where some are limited. */
static struct resources largest(struct sched *s, const struct sched_pool *p, const uint64_t *types)
{
    const struct catalog *c = p->tm.catalog;
    struct resources ret = {0};
    uint32_t words = catalog_words(c);
    catalog_most(c, types, p->in->np->limits.v, ret.v);
    for (int i = p->in->np->limits.n_ext > 0 ? bits_next(types, words, 0) : -1; i >= 0;
         i = bits_next(types, words, (uint32_t)i + 1)) {
        raise(s->a, &ret, catalog_capacity(c, (uint32_t)i));
    }
    return ret;
}

/* The pool's sum of fixed resources follows what its claims reserve. */
static const struct resources *reserve_of(struct sched *s, struct sched_open *c)
{
    if (c->reserve_stale) {
        struct resources was = c->reserve;
        c->reserve = largest(s, c->pool, c->types);
        for (int r = 0; r < RES_FIXED; r++) {
            c->pool->reserved[r] += c->reserve.v[r] - was.v[r];
        }
        c->reserve_stale = false;
        c->least_stale = true;
    }
    return &c->reserve;
}

/* Per fixed resource the least capacity: no cut can get below it. */
static const int64_t *least_of(struct sched *s, struct sched_open *c)
{
    (void)reserve_of(s, c);
    if (c->least_stale) {
        catalog_least(c->pool->tm.catalog, c->types, c->pool->in->np->limits.v, c->least);
        c->least_stale = false;
    }
    return c->least;
}

void sched_limit_touch(struct sched_open *c)
{
    if (!c->stale_listed) {
        c->stale_listed = true;
        c->next_stale = c->pool->stale;
        c->pool->stale = c;
    }
    c->reserve_stale = true;
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
        ext[i].amount =
            l->amount < 0 ? -1 : at_least_0(l->amount - resources_get_ext(used, l->name));
    }
    left.ext = ext;
    return left;
}

void sched_limit_refresh(struct sched *s, struct sched_pool *p)
{
    while (p->stale != NULL) {
        struct sched_open *c = p->stale;
        p->stale = c->next_stale;
        c->stale_listed = false;
        (void)reserve_of(s, c);
    }
}

struct resources sched_limit_left(struct sched *s, struct sched_pool *p)
{
    const struct resources *limits = &p->in->np->limits;
    struct resources used = p->in_use;
    used.n_ext = limits->n_ext > 0 ? used.n_ext : 0; /* what is not limited is not summed up */
    sched_limit_refresh(s, p);
    for (int r = 0; r < RES_FIXED; r++) {
        used.v[r] += p->reserved[r];
    }
    for (uint32_t i = 0; limits->n_ext > 0 && i < s->n_claims; i++) {
        struct resources ext = {.n_ext = s->claims[i]->reserve.n_ext,
                                .ext = s->claims[i]->reserve.ext};
        if (s->claims[i]->pool == p) {
            used = resources_add(s->a, &used, &ext, 1);
        }
    }
    return subtract(s->a, limits, &used);
}

/* ---- making room ----------------------------------------------------------------------------- */

/* A claim of the pool with what would be left of its types. */
struct cut {
    struct sched_open *claim;
    uint64_t *types; /* the claim's own until they are changed */
    struct resources reserve;
    bool stuck; /* gives no more of the resource at hand */
    bool changed;
};

struct cuts {
    struct cut *v;
    uint32_t n;
    struct resources used; /* by nodes, the new one and all reservations */
};

static struct cuts cuts_begin(struct sched *s, const struct sched_pool *p,
                              const struct resources *need)
{
    struct cuts ret = {.v = ARENA_NEW_N(s->a, struct cut, s->n_claims)};
    ret.used = resources_add(s->a, &p->in_use, need, 1);
    for (uint32_t i = 0; i < s->n_claims; i++) {
        struct sched_open *c = s->claims[i];
        if (c->pool == p) {
            struct cut *cut = &ret.v[ret.n++];
            cut->claim = c;
            cut->types = c->types;
            cut->reserve = *reserve_of(s, c);
            ret.used = resources_add(s->a, &ret.used, &cut->reserve, 1);
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

/* The first resource of which the claims and the new node take too much, extended ones by name; -1
 * if none. */
static int short_resource(const struct symtab *t, const struct resources *limits,
                          const struct cuts *cuts, const struct resources *need)
{
    int ret = -1;
    for (int r = 0; r < RES_FIXED + (int)limits->n_ext; r++) {
        if (limit_of(limits, r) < 0 || amount(&cuts->used, limits, r) <= limit_of(limits, r) ||
            amount(need, limits, r) <= 0) {
            continue;
        }
        if (r < RES_FIXED) {
            return r;
        }
        if (ret < 0 ||
            sym_cmp(t, limits->ext[r - RES_FIXED].name, limits->ext[ret - RES_FIXED].name) < 0) {
            ret = r;
        }
    }
    return ret;
}

/* Would there be too little even if every claim kept its smallest type only? Then there is no point
 * in cutting; it is the usual answer at a limit, so it has to be cheap. */
static bool hopeless(struct sched *s, const struct sched_pool *p, const struct resources *need)
{
    const int64_t *limits = p->in->np->limits.v;
    for (int r = 0; r < RES_FIXED; r++) {
        if (limits[r] < 0 || need->v[r] <= 0) {
            continue;
        }
        int64_t used = p->in_use.v[r];
        bool over = __builtin_add_overflow(used, need->v[r], &used);
        for (uint32_t i = 0; i < s->n_claims && !over; i++) {
            struct sched_open *c = s->claims[i];
            if (c->pool == p) {
                over = __builtin_add_overflow(used, least_of(s, c)[r], &used);
            }
        }
        if (over || used > limits[r]) {
            return true;
        }
    }
    return false;
}

/* Takes the types away that make up the claim's reservation of the resource. False if none or too
 * few would be left. */
static bool cut_top(struct sched *s, struct cuts *cuts, struct cut *cut,
                    const struct resources *limits, int which)
{
    const struct sched_pool *p = cut->claim->pool;
    const struct catalog *c = p->tm.catalog;
    uint32_t words = catalog_words(c);
    if (cut->claim->reservation != SCHED_NO_CLAIM) {
        return false; /* its types are those of reservations that count on it */
    }
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
    cut->types = arena_memdup(s->a, left, words * sizeof(*left));
    cuts->used = resources_add(s->a, &cuts->used, &cut->reserve, -1);
    cut->reserve = largest(s, p, left);
    cut->changed = true;
    cuts->used = resources_add(s->a, &cuts->used, &cut->reserve, 1);
    return true;
}

/* Cuts one step for the resource, at the claim that reserves most of it and can give. */
static bool cut_one(struct sched *s, struct cuts *cuts, const struct resources *limits, int which)
{
    for (;;) {
        struct cut *best = NULL;
        for (uint32_t i = 0; i < cuts->n; i++) {
            struct cut *c = &cuts->v[i];
            if (!c->stuck && (best == NULL || amount(&c->reserve, limits, which) >
                                                  amount(&best->reserve, limits, which))) {
                best = c;
            }
        }
        if (best == NULL) {
            return false;
        }
        if (cut_top(s, cuts, best, limits, which)) {
            return true;
        }
        best->stuck = true;
    }
}

static void unstick(struct cuts *cuts)
{
    for (uint32_t i = 0; i < cuts->n; i++) {
        cuts->v[i].stuck = false;
    }
}

/* Can claims give so much that a node of this capacity has room? Then they do. */
static bool make_room_for(struct sched *s, struct sched_pool *p, const struct resources *need)
{
    const struct resources *limits = &p->in->np->limits;
    if (hopeless(s, p, need)) {
        return false;
    }
    struct cuts cuts = cuts_begin(s, p, need);
    int which, last = -1;
    while ((which = short_resource(s->syms, limits, &cuts, need)) >= 0) {
        if (which != last) {
            unstick(&cuts);
            last = which;
        }
        if (!cut_one(s, &cuts, limits, which)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < cuts.n; i++) {
        struct sched_open *c = cuts.v[i].claim;
        if (cuts.v[i].changed) {
            memcpy(c->types, cuts.v[i].types, catalog_words(p->tm.catalog) * sizeof(*c->types));
            sched_limit_touch(c);
        }
    }
    return true;
}

/* What failed once fails for ever, and so does whatever needs no less: claims only narrow. */
static bool known_to_fail(const struct sched_pool *p, const struct resources *need)
{
    const struct resources *limits = &p->in->np->limits;
    if (!p->room_failed || limits->n_ext > 0) {
        return false;
    }
    for (int r = 0; r < RES_FIXED; r++) {
        if (limits->v[r] >= 0 && need->v[r] < p->failed_need[r]) {
            return false;
        }
    }
    return true;
}

static bool try_room_for(struct sched *s, struct sched_pool *p, const struct resources *need)
{
    if (known_to_fail(p, need)) {
        return false;
    }
    if (make_room_for(s, p, need)) {
        return true;
    }
    p->room_failed = true;
    memcpy(p->failed_need, need->v, sizeof(p->failed_need));
    return false;
}

/* The capacity to reserve for a claim of the types from ranked[0] on, as few as minValues allow. */
static bool least_need(struct sched *s, const struct sched_pool *p, const struct sched_trial *t,
                       const uint32_t *ranked, uint32_t n, struct resources *ret)
{
    uint64_t types[CATALOG_WORDS_MAX] = {0};
    for (uint32_t i = 0; i < n; i++) {
        bits_set(types, ranked[i]);
        if (sched_values_ok(s, p, &t->reqs, types, t->offer)) {
            *ret = largest(s, p, types);
            return true;
        }
    }
    return false;
}

void sched_limit_at_first(struct sched *s, const struct sched_pool *p, uint64_t *types)
{
    const struct nodepool *np = p->in->np;
    if (!np->has_limits) {
        return;
    }
    if (np->limit_nodes >= 0 && p->in->nodes_in_use >= np->limit_nodes) {
        memset(types, 0, catalog_words(p->tm.catalog) * sizeof(*types));
        return;
    }
    struct resources most = subtract(s->a, &np->limits, &p->in->in_use);
    catalog_narrow_limit(p->tm.catalog, &most, types);
}

/* Tries the cheapest types first. */
static bool make_room(struct sched *s, struct sched_pool *p, const struct sched_trial *t)
{
    const struct catalog *c = p->tm.catalog;
    uint64_t types[CATALOG_WORDS_MAX] = {0};
    uint32_t ranked[SCHED_MAX_ROOM_TYPES];
    memcpy(types, t->types, catalog_words(c) * sizeof(*types));
    sched_limit_at_first(s, p, types);
    uint32_t n =
        offerings_rank(p->in->offerings, types, t->offer, false, ranked, SCHED_MAX_ROOM_TYPES);
    bool done = false;
    for (uint32_t i = 0; i < n && i < SCHED_MAX_ROOM_TRIES && !done; i++) {
        struct arena_mark mark = arena_mark(s->a);
        struct resources need;
        done = least_need(s, p, t, ranked + i, n - i, &need) && try_room_for(s, p, &need);
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
    if (np->has_limits && np->limit_nodes >= 0 && p->nodes_in_use + p->opened >= np->limit_nodes) {
        return ROOM_NODE_LIMIT;
    }
    if (np->has_limits && !within(s, p, t) &&
        !(make && !brake && make_room(s, p, t) && within(s, p, t))) {
        return ROOM_LIMIT;
    }
    return brake ? ROOM_BRAKE : ROOM_YES;
}
