/* bench_bound.c - what no plan can undercut, as linear programmes; see bench.h. */
#include "bench_bound.h"

#include "common/base/alloc.h"
#include "common/base/str.h"
#include "common/core/labels.h"
#include "common/core/template.h"

#include <math.h>

#define GROUPS_MAX 256

/* ---- pods that exclude each other ------------------------------------------------------------ */

/* The term by which the pod keeps its like from its host. */
static const struct selector *excludes_like(const struct pod *p)
{
    const struct pod_terms *t = &p->cls->anti_affinity;
    for (uint32_t i = 0; i < t->n; i++) {
        const struct pod_term *m = &t->v[i];
        if (m->key == L_HOSTNAME && m->n_namespaces == 0 && !m->has_ns_sel &&
            m->n_match_keys == 0 && m->n_mismatch_keys == 0 &&
            selector_matches(&m->sel, &p->labels)) {
            return &m->sel;
        }
    }
    return NULL;
}

bool bound_in_group(const struct bound_group *g, const struct pod *p)
{
    const struct selector *sel = excludes_like(p);
    return sel && g->n > 0 && str_eq(g->ns, p->m.ns) && selector_cmp(g->sel, sel) == 0;
}

struct bound_group bound_largest_group(const struct pod *const *pods, uint32_t n)
{
    struct bound_group groups[GROUPS_MAX], most = {.n = 0};
    uint32_t n_groups = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct selector *sel = excludes_like(pods[i]);
        uint32_t g = 0;
        while (sel && g < n_groups && !bound_in_group(&groups[g], pods[i])) {
            g++;
        }
        if (!sel || g == GROUPS_MAX) {
            continue;
        }
        if (g == n_groups) {
            groups[n_groups++] = (struct bound_group){.sel = sel, .ns = pods[i]->m.ns};
        }
        groups[g].n++;
        most = groups[g].n > most.n ? groups[g] : most;
    }
    return most;
}

/* ---- new nodes ------------------------------------------------------------------------------- */

void bound_put(const struct resources *r, double factor, double *ret)
{
    ret[ROW_CPU] += factor * (double)r->v[RES_CPU];
    ret[ROW_MEMORY] += factor * (double)r->v[RES_MEMORY];
    ret[ROW_PODS] += factor * (double)r->v[RES_PODS];
}

static uint32_t add_pool(struct arena *a, const struct snapshot *s, const struct snapshot_pool *p,
                         double most, struct lp_column *ret)
{
    struct template tm;
    uint32_t n = 0;
    template_build(a, s->syms, p->np, p->catalog, s->daemonsets, s->n_daemonsets, &tm);
    struct offer_mask mask = offerings_mask(p->catalog, s->syms, &tm.reqs);
    for (uint32_t i = 0; i < catalog_n_types(p->catalog); i++) {
        int64_t price = offerings_cheapest(p->offerings, i, mask, NULL, NULL);
        if (!bits_test(tm.types, i) || price == PRICE_UNKNOWN) {
            continue;
        }
        ret[n] = (struct lp_column){.cost = (double)price / PUSD_PER_USD, .most = most};
        bound_put(catalog_allocatable(p->catalog, i), 1, ret[n].a);
        ret[n++].a[ROW_NODES] = 1;
    }
    return n;
}

struct lp_column *bound_menu(struct arena *a, const struct snapshot *s, uint32_t most,
                             uint32_t *ret_n)
{
    uint32_t max = 0;
    for (uint32_t i = 0; i < s->n_pools; i++) {
        max += s->pools[i].catalog ? catalog_n_types(s->pools[i].catalog) : 0;
    }
    struct lp_column *v = ARENA_NEW_N(a, struct lp_column, max);
    *ret_n = 0;
    for (uint32_t i = 0; i < s->n_pools; i++) {
        if (s->pools[i].catalog && s->pools[i].closed == REASON_NONE) {
            *ret_n += add_pool(a, s, &s->pools[i], most, v + *ret_n);
        }
    }
    return v;
}

/* ---- whole nodes ----------------------------------------------------------------------------- */

void bound_smallest(const struct pod *const *pods, uint32_t n, struct bound_pod *ret)
{
    *ret = (struct bound_pod){.apart = n > 0 && bound_largest_group(pods, n).n == n};
    for (uint32_t i = 0; i < n; i++) {
        double one[LP_ROWS] = {0};
        bound_put(&pods[i]->cls->requests, 1, one);
        for (int r = 0; r < LP_ROWS; r++) {
            ret->asks[r] = i == 0 ? one[r] : fmin(ret->asks[r], one[r]);
        }
    }
}

int64_t bound_takes(const double *room, const struct bound_pod *p)
{
    double n = p->apart ? 1 : 1e9;
    for (int r = ROW_CPU; r <= ROW_PODS; r++) {
        n = p->asks[r] > 0 ? fmin(n, floor(fmax(room[r], 0) / p->asks[r] + 1e-9)) : n;
    }
    return (int64_t)n;
}

int64_t *bound_prices(const struct lp_column *menu, uint32_t n_menu, const struct bound_pod *p,
                      int64_t pods)
{
    if (pods * n_menu > BOUND_STATES_MAX) {
        return NULL;
    }
    int64_t *ret = xcalloc((size_t)pods + 1, sizeof(*ret));
    for (int64_t m = 1; m <= pods; m++) {
        ret[m] = INT64_MAX / 2;
        for (uint32_t i = 0; i < n_menu; i++) {
            int64_t n = bound_takes(menu[i].a, p);
            int64_t price = llround(menu[i].cost * PUSD_PER_USD) + ret[m > n ? m - n : 0];
            ret[m] = n > 0 && price < ret[m] ? price : ret[m];
        }
    }
    return ret;
}

/* ---- the least price of a fleet -------------------------------------------------------------- */

static int64_t by_programme(const struct lp_column *menu, uint32_t n_menu,
                            const struct pod *const *pods, uint32_t n)
{
    double demand[LP_ROWS] = {0};
    uint32_t apart = bound_largest_group(pods, n).n;
    for (uint32_t i = 0; i < n; i++) {
        bound_put(&pods[i]->cls->requests, 1, demand);
    }
    demand[ROW_NODES] = apart > 0 ? apart : n > 0;
    return (int64_t)(lp_least(menu, n_menu, demand) * PUSD_PER_USD);
}

static int64_t by_knapsack(const struct lp_column *menu, uint32_t n_menu,
                           const struct pod *const *pods, uint32_t n)
{
    struct bound_pod p;
    bound_smallest(pods, n, &p);
    int64_t *prices = bound_prices(menu, n_menu, &p, n);
    int64_t ret = prices != NULL ? prices[n] : 0;
    free(prices);
    return ret;
}

int64_t bench_bound(const struct snapshot *s, const struct pod *const *pods, uint32_t n)
{
    struct arena a;
    uint32_t n_menu;
    arena_init(&a, 64u << 10, SIZE_MAX);
    /* No node of a cheapest fleet is without a pod. */
    struct lp_column *menu = bound_menu(&a, s, n, &n_menu);
    int64_t ret = n_menu > 0 ? by_programme(menu, n_menu, pods, n) : 0;
    int64_t whole = n_menu > 0 ? by_knapsack(menu, n_menu, pods, n) : 0;
    arena_done(&a);
    return whole > ret && whole < INT64_MAX / 2 ? whole : ret;
}
