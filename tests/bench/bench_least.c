/* bench_least.c - the fewest pods that a plan of some saving moves; see bench.h. */
#include "bench_bound.h"

#include "common/base/alloc.h"

#include <math.h>

struct least {
    struct arena a;
    const struct snapshot *s;
    const struct consolidate_result *res;
    const struct pod **moving;
    uint32_t n_moving;
    struct bound_group apart; /* among them */
    struct load *loads;       /* per node of the snapshot */
    struct lp_column *menu;
    uint32_t n_menu;
};

/* ---- what there is --------------------------------------------------------------------------- */

/* A node by its pods that would move, and whether the group of pods that exclude each other has one
 * there. */
struct load {
    double pods;
    struct resources used;
    bool apart;
};

static void begin(struct least *l)
{
    const struct snapshot *s = l->s;
    l->moving = ARENA_NEW_N(&l->a, const struct pod *, s->n_bound);
    l->loads = ARENA_NEW_N(&l->a, struct load, s->n_nodes);
    for (uint32_t i = 0; i < s->n_bound; i++) {
        const struct pod *p = s->bound[i].pod;
        if (pod_reschedulable(p)) {
            struct load *at = &l->loads[s->bound[i].node - s->nodes];
            l->moving[l->n_moving++] = p;
            at->pods++;
            at->used = resources_add(&l->a, &at->used, &p->cls->requests, 1);
        }
    }
    l->apart = bound_largest_group(l->moving, l->n_moving);
    for (uint32_t i = 0; i < s->n_bound; i++) {
        struct load *at = &l->loads[s->bound[i].node - s->nodes];
        at->apart = at->apart || bound_in_group(&l->apart, s->bound[i].pod);
    }
    l->menu = bound_menu(&l->a, s, l->n_moving, &l->n_menu);
}

static int64_t price_of(const struct node_verdict *n)
{
    return n->price_pusd_h != PRICE_UNKNOWN ? n->price_pusd_h : 0;
}

/* ---- whatever the pods are: nodes in fractions ------------------------------------------------
 */

/*
 * A column per node that may leave, in part: it costs its pods. They and its free room are missed
 * in the fleet's room, which new nodes add to; and no host takes two pods that exclude each other.
 */
static int64_t by_programme(struct least *l)
{
    double demand[LP_ROWS] = {[ROW_SAVING] = (double)l->res->saving_pusd_h / PUSD_PER_USD};
    uint32_t n = l->n_menu;
    struct lp_column *v = ARENA_NEW_N(&l->a, struct lp_column, n + l->res->n_nodes);
    for (uint32_t i = 0; i < n; i++) {
        v[i] = l->menu[i];
        v[i].a[ROW_SAVING] = -v[i].cost;
        v[i].cost = 0;
    }
    for (uint32_t i = 0; i < l->s->n_nodes; i++) {
        bound_put(&l->s->nodes[i].free, -1, demand);
        demand[ROW_NODES] -= !l->loads[i].apart;
    }
    for (uint32_t i = 0; i < l->res->n_nodes; i++) {
        const struct node_verdict *out = &l->res->nodes[i];
        const struct load *load = &l->loads[out->node - l->s->nodes];
        v[n] = (struct lp_column){.a = {[ROW_NODES] = -1}, .cost = load->pods, .most = 1};
        v[n].a[ROW_SAVING] = (double)price_of(out) / PUSD_PER_USD;
        bound_put(&load->used, -1, v[n].a);
        bound_put(&out->node->free, -1, v[n++].a);
    }
    return (int64_t)ceil(lp_least(v, n, demand) - 1e-6);
}

/* ---- whole nodes, for pods that are no larger -------------------------------------------------
 */

/* Per number of pods, the most that nodes which carry no more than these cost. */
static int64_t *worth_of(const struct least *l, int64_t pods)
{
    int64_t *ret = xcalloc((size_t)pods + 1, sizeof(*ret));
    for (uint32_t i = 0; i < l->res->n_nodes; i++) {
        int64_t n = (int64_t)l->loads[l->res->nodes[i].node - l->s->nodes].pods;
        for (int64_t m = pods; m >= n; m--) {
            int64_t with = ret[m - n] + price_of(&l->res->nodes[i]);
            ret[m] = with > ret[m] ? with : ret[m];
        }
    }
    return ret;
}

/* Two knapsacks: nodes of the most money for their pods leave, the cheapest ones take what finds no
 * room in the fleet as it is. */
static int64_t by_knapsack(struct least *l)
{
    struct bound_pod p;
    int64_t pods = 0, room = 0, m = 0;
    bound_smallest(l->moving, l->n_moving, &p);
    for (uint32_t i = 0; i < l->s->n_nodes; i++) {
        double free[LP_ROWS] = {0};
        bound_put(&l->s->nodes[i].free, 1, free);
        room += p.apart && l->loads[i].apart ? 0 : bound_takes(free, &p);
        pods += (int64_t)l->loads[i].pods;
    }
    int64_t *prices = bound_prices(l->menu, l->n_menu, &p, pods);
    if (prices == NULL || pods * l->res->n_nodes > BOUND_STATES_MAX) {
        free(prices);
        return 0;
    }
    int64_t *worth = worth_of(l, pods);
    while (m < pods && worth[m] - prices[m > room ? m - room : 0] < l->res->saving_pusd_h) {
        m++;
    }
    free(prices);
    free(worth);
    return m;
}

/* ---- both ------------------------------------------------------------------------------------ */

int64_t bench_least_moves(const struct snapshot *s, const struct consolidate_result *res)
{
    struct least l = {.s = s, .res = res};
    arena_init(&l.a, 64u << 10, SIZE_MAX);
    begin(&l);
    int64_t programme = by_programme(&l), knapsack = by_knapsack(&l);
    arena_done(&l.a);
    return programme > knapsack ? programme : knapsack;
}
