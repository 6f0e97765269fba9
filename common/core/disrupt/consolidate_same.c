/*
 * consolidate_same.c - fewer nodes at the same price: nothing to be done for money's sake, but
 * worth a word, because every node carries its DaemonSets.
 */
#include "common/base/sort.h"
#include "consolidate_int.h"

static bool same_price(int64_t a, int64_t b)
{
    int64_t d = a > b ? a - b : b - a;
    return d < CONSOLIDATE_LEAST_PUSD_H;
}

/* The set at hand would do as well with fewer nodes, and only its price is against it. */
void same_note(struct consolidate *c, int64_t in)
{
    struct growth *g = &c->g;
    struct sched *s = c->s;
    if (in == PRICE_UNKNOWN || !same_price(in, g->out) || s->n_claims >= g->n ||
        s->result.n_existing > 0) {
        return;
    }
    for (uint32_t i = 0; i < g->n; i++) {
        g->same.members[i] = g->nodes[i].cand;
    }
    if (price_worth(c, g->same.members, g->n, false).why.code != REASON_NotCheaper) {
        return;
    }
    g->same.n = g->n;
    g->same.n_in = s->n_claims;
    g->same.price = g->out;
    for (uint32_t i = 0; i < s->n_claims; i++) {
        const struct sched_open *o = s->claims[i];
        g->same.in[i].pool = o->pool->in;
        g->same.in[i].type = price_cheapest_type(c, o->pool->in, o->types, o->offer);
        if (sched_reserve_of(o) != NULL || g->same.in[i].type == SYM_NONE) {
            g->same.n = 0;
        }
    }
}

/* Nothing better was made of the set. */
void same_keep(struct consolidate *c)
{
    const struct same_set *from = &c->g.same;
    if (from->n > 0) {
        struct same_set *set = arena_memdup(c->a, from, sizeof(*from));
        set->members = arena_memdup(c->a, from->members, from->n * sizeof(struct cand *));
        set->next = c->same;
        c->same = set;
    }
}

/* All of them stay as they are, and none is in another hint. */
static bool stands(const struct same_set *set)
{
    for (uint32_t i = 0; i < set->n; i++) {
        const struct cand *x = set->members[i];
        if (!x->candidate || x->step != NO_STEP || x->received || x->hinted) {
            return false;
        }
    }
    return true;
}

static int cmp_cand(const void *x, const void *y)
{
    const struct cand *a = *(const struct cand *const *)x, *b = *(const struct cand *const *)y;
    return a < b ? -1 : a > b; /* one array: by pool, then name */
}

static void put(struct consolidate *c, const struct same_set *set, struct same_price *ret)
{
    const struct snapshot_node **out = ARENA_NEW_N(c->a, const struct snapshot_node *, set->n);
    sort_items(set->members, set->n, sizeof(struct cand *), cmp_cand);
    for (uint32_t i = 0; i < set->n; i++) {
        set->members[i]->hinted = true;
        out[i] = set->members[i]->node;
    }
    *ret = (struct same_price){
        .out = out, .n_out = set->n, .in = set->in, .n_in = set->n_in, .price_pusd_h = set->price};
}

void same_take(struct consolidate *c)
{
    uint32_t n = 0;
    for (const struct same_set *set = c->best.same; set != NULL; set = set->next) {
        n++;
    }
    const struct same_set **v = ARENA_NEW_N(c->a, const struct same_set *, n);
    struct same_price *ret = ARENA_NEW_N(c->a, struct same_price, n);
    uint32_t at = n;
    for (const struct same_set *set = c->best.same; set != NULL; set = set->next) {
        v[--at] = set; /* as they were found */
    }
    for (uint32_t i = 0; i < n; i++) {
        if (stands(v[i])) {
            put(c, v[i], &ret[c->result.n_same++]);
        }
    }
    c->result.same = ret;
}
