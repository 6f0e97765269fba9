/* bench_least.c - the fewest pods that a plan of some saving moves; see bench.h. */
#include "bench_bound.h"

#include "common/base/alloc.h"

#include <math.h>

#define STATES_MAX (INT64_C(1) << 28) /* of the knapsack: nodes times pods */

struct least {
    struct arena a;
    const struct snapshot *s;
    const struct consolidate_result *res;
    struct bound_group apart;
    struct load *loads; /* per node of the snapshot */
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

static struct load *loads_of(struct arena *a, const struct snapshot *s,
                             const struct bound_group *apart)
{
    struct load *v = ARENA_NEW_N(a, struct load, s->n_nodes);
    for (uint32_t i = 0; i < s->n_bound; i++) {
        struct load *l = &v[s->bound[i].node - s->nodes];
        if (pod_reschedulable(s->bound[i].pod)) {
            l->pods++;
            l->used = resources_add(a, &l->used, &s->bound[i].pod->cls->requests, 1);
        }
        l->apart = l->apart || bound_in_group(apart, s->bound[i].pod);
    }
    return v;
}

static struct bound_group group_of(struct arena *a, const struct snapshot *s)
{
    const struct pod **pods = ARENA_NEW_N(a, const struct pod *, s->n_bound);
    for (uint32_t i = 0; i < s->n_bound; i++) {
        pods[i] = s->bound[i].pod;
    }
    return bound_largest_group(pods, s->n_bound);
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

/* ---- pods that are alike: whole nodes ---------------------------------------------------------
 */

/* What each of them asks for; false if two differ. */
static bool alike(const struct least *l, double *ret, bool *ret_apart)
{
    const struct pod *first = NULL;
    for (uint32_t i = 0; i < l->s->n_bound; i++) {
        const struct pod *p = l->s->bound[i].pod;
        if (!pod_reschedulable(p)) {
            continue;
        }
        first = first != NULL ? first : p;
        if (!resources_equal(&p->cls->requests, &first->cls->requests) ||
            bound_in_group(&l->apart, p) != bound_in_group(&l->apart, first)) {
            return false;
        }
    }
    if (first != NULL) {
        bound_put(&first->cls->requests, 1, ret);
        *ret_apart = bound_in_group(&l->apart, first);
    }
    return first != NULL;
}

/* So many such pods have room. */
static int64_t takes(const double *room, const double *pod, bool apart)
{
    double n = apart ? 1 : 1e9;
    for (int r = ROW_CPU; r <= ROW_PODS; r++) {
        n = pod[r] > 0 ? fmin(n, floor(fmax(room[r], 0) / pod[r] + 1e-9)) : n;
    }
    return (int64_t)n;
}

/* Per number of pods, the least that new nodes for them cost. */
static int64_t *prices_of(struct least *l, const double *pod, bool apart, int64_t pods)
{
    int64_t *ret = xcalloc((size_t)pods + 1, sizeof(*ret));
    for (int64_t m = 1; m <= pods; m++) {
        ret[m] = INT64_MAX / 2;
        for (uint32_t i = 0; i < l->n_menu; i++) {
            int64_t n = takes(l->menu[i].a, pod, apart);
            int64_t price = llround(l->menu[i].cost * PUSD_PER_USD) + ret[m > n ? m - n : 0];
            ret[m] = n > 0 && price < ret[m] ? price : ret[m];
        }
    }
    return ret;
}

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
    double pod[LP_ROWS] = {0};
    bool apart = false;
    int64_t pods = 0, room = 0, m = 0;
    if (!alike(l, pod, &apart)) {
        return 0;
    }
    for (uint32_t i = 0; i < l->s->n_nodes; i++) {
        double free[LP_ROWS] = {0};
        bound_put(&l->s->nodes[i].free, 1, free);
        room += apart && l->loads[i].apart ? 0 : takes(free, pod, apart);
        pods += (int64_t)l->loads[i].pods;
    }
    if (pods * (l->n_menu + l->res->n_nodes) > STATES_MAX) {
        return 0;
    }
    int64_t *prices = prices_of(l, pod, apart, pods), *worth = worth_of(l, pods);
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
    l.apart = group_of(&l.a, s);
    l.loads = loads_of(&l.a, s, &l.apart);
    l.menu = bound_menu(&l.a, s, s->n_bound, &l.n_menu);
    int64_t programme = by_programme(&l), knapsack = by_knapsack(&l);
    arena_done(&l.a);
    return programme > knapsack ? programme : knapsack;
}
