/*
 * sched_reserve.c - capacity reservations: which claim gets which.
 *
 * A claim is opened for reserved capacity where a reservation has room for it, else without. As
 * long as it is open it may come to lie in any reservation that suits it, but never may more claims
 * be open than could all be given one at once: each holds a unit, and may be moved to another
 * reservation to make room. So nothing is given twice and nobody waits for the next pass (Karpenter
 * lets a claim hold a unit of every reservation that suits it, and lets pods wait that find none
 * left).
 */
#include "common/core/labels.h"
#include "sched_int.h"

bool sched_reserve_key(sym key)
{
    return key == L_RESERVATION_ID || key == L_RESERVATION_TYPE ||
           key == L_RESERVATION_INTERRUPTIBLE;
}

/* ---- begin ----------------------------------------------------------------------------------- */

static uint32_t reservation_of(struct sched *s, const struct reservation *in)
{
    for (uint32_t i = 0; i < s->n_reservations; i++) {
        if (s->reservations[i].id == in->id) {
            struct sched_reservation *r = &s->reservations[i];
            r->left = in->count < r->left ? in->count : r->left; /* the most cautious of several */
            return i;
        }
    }
    ARENA_GROW(s->a, s->reservations, s->n_reservations, s->reservations_cap);
    s->reservations[s->n_reservations] =
        (struct sched_reservation){.id = in->id, .left = in->count};
    return s->n_reservations++;
}

static bool cheaper(const struct sched *s, const struct reservation *x, const struct reservation *y)
{
    if (x->price_pusd_h != y->price_pusd_h) {
        return x->price_pusd_h < y->price_pusd_h;
    }
    return x->type != y->type ? x->type < y->type : sym_cmp(s->syms, x->id, y->id) < 0;
}

static void begin_pool(struct sched *s, struct sched_pool *p)
{
    uint32_t n;
    const struct reservation *v = offerings_reservations(p->in->offerings, &n);
    p->reservations = ARENA_NEW_N(s->a, struct pool_reservation, n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = p->n_reservations++;
        for (; at > 0 && cheaper(s, &v[i], p->reservations[at - 1].in); at--) {
            p->reservations[at] = p->reservations[at - 1];
        }
        p->reservations[at] = (struct pool_reservation){&v[i], 0};
    }
    for (uint32_t i = 0; i < n; i++) {
        p->reservations[i].at = reservation_of(s, p->reservations[i].in);
    }
}

/* Claims that were not launched yet have theirs coming. */
static void take_promised(struct sched *s)
{
    for (uint32_t i = 0; s->n_reservations > 0 && i < s->snap->n_nodes; i++) {
        const struct snapshot_node *n = &s->snap->nodes[i];
        const struct req *r = n->launched ? NULL : reqset_get(&n->labels, L_RESERVATION_ID);
        for (uint32_t k = 0; r != NULL && k < s->n_reservations; k++) {
            struct sched_reservation *v = &s->reservations[k];
            v->left -= req_single(r) == v->id && v->left > 0;
        }
    }
}

void sched_reserve_begin(struct sched *s)
{
    for (uint32_t i = 0; i < s->n_pools; i++) {
        if (s->pools[i].in->offerings != NULL && s->pools[i].in->catalog != NULL) {
            begin_pool(s, &s->pools[i]);
        }
    }
    take_promised(s);
}

/* ---- who gets which -------------------------------------------------------------------------- */

/* What looks for a reservation: an open claim, or what one would be. */
struct seeker {
    const struct sched_pool *p;
    const uint64_t *types;
    struct offer_mask offer;
    const struct reqset *reqs;
};

static bool allows(const struct sched *s, const struct reqset *reqs, sym key, sym value)
{
    const struct req *r = reqset_get(reqs, key);
    return r == NULL || (value != SYM_NONE && req_has(s->syms, r, value));
}

/* Is a claim of that one type what minValues of the pool and the pods ask for? */
static bool enough_values(struct sched *s, const struct sched_pool *p, const struct reqset *reqs,
                          const struct reservation *r)
{
    uint64_t types[CATALOG_WORDS_MAX] = {0};
    struct offer_mask m = {UINT64_C(1) << r->zone, 1u << CT_RESERVED};
    bits_set(types, r->type);
    return sched_values_ok(s, p, reqs, types, m);
}

static bool suits(struct sched *s, const struct seeker *k, const struct reservation *r)
{
    return bits_test(k->types, r->type) && (k->offer.zones >> r->zone & 1) &&
           allows(s, k->reqs, L_RESERVATION_ID, r->id) &&
           allows(s, k->reqs, L_RESERVATION_TYPE, r->kind) &&
           allows(s, k->reqs, L_RESERVATION_INTERRUPTIBLE, r->interruptible ? V_TRUE : V_FALSE) &&
           enough_values(s, k->p, k->reqs, r);
}

static bool find(struct sched *s, const struct seeker *k, bool *seen, uint32_t *ret);

/* Moves one of those that hold a unit of it elsewhere. */
static bool make_room(struct sched *s, uint32_t at, bool *seen)
{
    for (uint32_t i = 0; i < s->n_claims; i++) {
        struct sched_open *c = s->claims[i];
        struct seeker k = {c->pool, c->types, c->offer, &c->reqs};
        uint32_t to;
        if (c->reservation == at && find(s, &k, seen, &to)) {
            c->reservation = to;
            s->reservations[to].held++;
            s->reservations[at].held--;
            return true;
        }
    }
    return false;
}

/* A reservation with a unit to spare, others having been moved if none is free. Nothing is moved
 * unless one is found; each is looked at once, which also bounds the depth. */
static bool find(struct sched *s, const struct seeker *k, bool *seen, uint32_t *ret)
{
    for (int moving = 0; moving < 2; moving++) {
        for (uint32_t i = 0; i < k->p->n_reservations; i++) {
            const struct pool_reservation *r = &k->p->reservations[i];
            struct sched_reservation *v = &s->reservations[r->at];
            bool free = v->held < v->left;
            if (seen[r->at] || free == moving || v->left == 0 || !suits(s, k, r->in)) {
                continue;
            }
            seen[r->at] = true;
            if (free || make_room(s, r->at, seen)) {
                *ret = r->at;
                return true;
            }
        }
    }
    return false;
}

static const struct reservation *of_pool(const struct sched_pool *p, uint32_t at)
{
    for (uint32_t i = 0; i < p->n_reservations; i++) {
        if (p->reservations[i].at == at) {
            return p->reservations[i].in;
        }
    }
    return NULL;
}

bool sched_reserve_find(struct sched *s, struct sched_open *c, const struct sched_trial *t,
                        uint32_t *ret)
{
    struct seeker k = {c->pool, t->types, t->offer, &t->reqs};
    uint32_t now = c->reservation;
    if (now != SCHED_NO_CLAIM && suits(s, &k, of_pool(c->pool, now))) {
        *ret = now;
        return true;
    }
    struct arena_mark mark = arena_mark(s->a);
    bool *seen = ARENA_NEW_N(s->a, bool, s->n_reservations);
    /* Its own unit is free for others while it looks for another. */
    if (now != SCHED_NO_CLAIM) {
        s->reservations[now].held--;
        c->reservation = SCHED_NO_CLAIM;
    }
    bool found = find(s, &k, seen, ret);
    if (now != SCHED_NO_CLAIM) {
        s->reservations[now].held++;
        c->reservation = now;
    }
    arena_rewind(s->a, mark);
    return found;
}

void sched_reserve_take(struct sched *s, struct sched_open *c, uint32_t at)
{
    if (c->reservation == at) {
        return;
    }
    if (c->reservation != SCHED_NO_CLAIM) {
        s->reservations[c->reservation].held--;
    }
    c->reservation = at;
    s->reservations[at].held++;
}

bool sched_reserve_pin(struct sched *s, struct sched_open *c, const struct reservation *want)
{
    struct seeker k = {c->pool, c->types, c->offer, &c->reqs};
    for (uint32_t i = 0; i < c->pool->n_reservations; i++) {
        const struct pool_reservation *r = &c->pool->reservations[i];
        if (r->in == want && suits(s, &k, want)) {
            const struct sched_reservation *v = &s->reservations[r->at];
            bool room = c->reservation == r->at || v->held < v->left;
            if (room) {
                sched_reserve_take(s, c, r->at);
            }
            return room;
        }
    }
    return false;
}

const struct reservation *sched_reserve_of(const struct sched_open *c)
{
    return c->reservation == SCHED_NO_CLAIM ? NULL : of_pool(c->pool, c->reservation);
}
