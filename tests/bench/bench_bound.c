/*
 * bench_bound.c - see bench.h.
 *
 * The dual of the linear programme has one unknown per row: what one unit of it is worth. Whatever
 * worths are found, scaled down until no offering is worth more than it costs, prove a bound; so
 * rounding can only make it looser, never wrong.
 */
#include "bench.h"

#include "common/base/alloc.h"
#include "common/base/str.h"
#include "common/core/labels.h"
#include "common/core/template.h"

#include <math.h>

enum { ROW_CPU, ROW_MEMORY, ROW_PODS, ROW_NODES, ROWS };

#define PIVOTS_MAX 10000
#define GROUPS_MAX 256
#define TINY 1e-12

struct column {
    double a[ROWS], price; /* $/h */
};

/* ---- the simplex method on four rows --------------------------------------------------------- */

struct simplex {
    const struct column *v;
    uint32_t n;
    double inverse[ROWS][ROWS]; /* of the basis */
    double price[ROWS], x[ROWS];
};

/* Every demand is 1; the first basis is artificial and dearer than any fleet. */
static void begin(struct simplex *s, const struct column *v, uint32_t n)
{
    *s = (struct simplex){.v = v, .n = n};
    for (int i = 0; i < ROWS; i++) {
        s->inverse[i][i] = s->x[i] = 1;
        s->price[i] = 1e9;
    }
}

static void worths(const struct simplex *s, double *ret)
{
    for (int k = 0; k < ROWS; k++) {
        ret[k] = 0;
        for (int i = 0; i < ROWS; i++) {
            ret[k] += s->price[i] * s->inverse[i][k];
        }
    }
}

/* The column that gains most, a surplus of row i as -1 - i; false if none gains. */
static bool entering(const struct simplex *s, const double *y, struct column *ret)
{
    double best = -1e-9;
    bool any = false;
    for (int i = 0; i < ROWS; i++) {
        if (y[i] < best) {
            best = y[i];
            any = true;
            *ret = (struct column){.price = 0};
            ret->a[i] = -1;
        }
    }
    for (uint32_t j = 0; j < s->n; j++) {
        double gain = s->v[j].price;
        for (int i = 0; i < ROWS; i++) {
            gain -= y[i] * s->v[j].a[i];
        }
        if (gain < best) {
            best = gain;
            any = true;
            *ret = s->v[j];
        }
    }
    return any;
}

static bool pivot(struct simplex *s, const struct column *in)
{
    double d[ROWS];
    int out = -1;
    for (int i = 0; i < ROWS; i++) {
        d[i] = 0;
        for (int k = 0; k < ROWS; k++) {
            d[i] += s->inverse[i][k] * in->a[k];
        }
        if (d[i] > TINY && (out < 0 || s->x[i] / d[i] < s->x[out] / d[out])) {
            out = i;
        }
    }
    if (out < 0) {
        return false;
    }
    double amount = s->x[out] / d[out];
    for (int i = 0; i < ROWS; i++) {
        s->x[i] = i == out ? amount : s->x[i] - amount * d[i];
        for (int k = 0; k < ROWS && i != out; k++) {
            s->inverse[i][k] -= d[i] / d[out] * s->inverse[out][k];
        }
    }
    for (int k = 0; k < ROWS; k++) {
        s->inverse[out][k] /= d[out];
    }
    s->price[out] = in->price;
    return true;
}

/* What the worths prove, 0 if nothing. */
static double proven(const struct simplex *s, const double *y)
{
    double sum = 0, scale = 1, w[ROWS];
    for (int i = 0; i < ROWS; i++) {
        w[i] = y[i] > 0 ? y[i] : 0;
        sum += w[i];
    }
    for (uint32_t j = 0; j < s->n; j++) {
        double worth = 0;
        for (int i = 0; i < ROWS; i++) {
            worth += w[i] * s->v[j].a[i];
        }
        if (worth > 0) {
            scale = fmin(scale, s->v[j].price / worth);
        }
    }
    return sum * scale;
}

static double solve(const struct column *v, uint32_t n)
{
    struct simplex s;
    struct column in;
    double y[ROWS], best = 0;
    begin(&s, v, n);
    for (int i = 0; i < PIVOTS_MAX; i++) {
        worths(&s, y);
        best = fmax(best, proven(&s, y));
        if (!entering(&s, y, &in) || !pivot(&s, &in)) {
            break;
        }
    }
    return best;
}

/* ---- rows ------------------------------------------------------------------------------------ */

struct group {
    const struct selector *sel;
    const char *ns;
    uint32_t n;
};

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

/* Pods with the same term that all of them match: each needs a host of its own. */
static uint32_t least_nodes(const struct pod *const *pods, uint32_t n)
{
    struct group groups[GROUPS_MAX];
    uint32_t n_groups = 0, most = 1;
    for (uint32_t i = 0; i < n; i++) {
        const struct selector *sel = excludes_like(pods[i]);
        uint32_t g = 0;
        while (sel && g < n_groups &&
               (!str_eq(groups[g].ns, pods[i]->m.ns) || selector_cmp(groups[g].sel, sel) != 0)) {
            g++;
        }
        if (!sel || g == GROUPS_MAX) {
            continue;
        }
        if (g == n_groups) {
            groups[n_groups++] = (struct group){.sel = sel, .ns = pods[i]->m.ns};
        }
        groups[g].n++;
        most = groups[g].n > most ? groups[g].n : most;
    }
    return most;
}

static void demands(const struct pod *const *pods, uint32_t n, double *ret)
{
    memset(ret, 0, ROWS * sizeof(*ret));
    for (uint32_t i = 0; i < n; i++) {
        const struct resources *r = &pods[i]->cls->requests;
        ret[ROW_CPU] += (double)r->v[RES_CPU];
        ret[ROW_MEMORY] += (double)r->v[RES_MEMORY];
        ret[ROW_PODS] += (double)r->v[RES_PODS];
    }
    ret[ROW_NODES] = n > 0 ? least_nodes(pods, n) : 0;
    for (int i = 0; i < ROWS; i++) {
        ret[i] = ret[i] > 0 ? ret[i] : 1e-9;
    }
}

static uint32_t add_pool(struct arena *a, const struct snapshot *s, const struct snapshot_pool *p,
                         const double *demand, struct column *ret)
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
        const struct resources *r = catalog_allocatable(p->catalog, i);
        ret[n++] =
            (struct column){.a = {(double)r->v[RES_CPU] / demand[ROW_CPU],
                                  (double)r->v[RES_MEMORY] / demand[ROW_MEMORY],
                                  (double)r->v[RES_PODS] / demand[ROW_PODS], 1 / demand[ROW_NODES]},
                            .price = (double)price / PUSD_PER_USD};
    }
    return n;
}

int64_t bench_bound(const struct snapshot *s, const struct pod *const *pods, uint32_t n)
{
    struct arena a;
    uint32_t max = 0, n_columns = 0;
    double demand[ROWS];
    arena_init(&a, 64u << 10, SIZE_MAX);
    for (uint32_t i = 0; i < s->n_pools; i++) {
        max += s->pools[i].catalog ? catalog_n_types(s->pools[i].catalog) : 0;
    }
    struct column *v = ARENA_NEW_N(&a, struct column, max);
    demands(pods, n, demand);
    for (uint32_t i = 0; i < s->n_pools; i++) {
        if (s->pools[i].catalog && s->pools[i].closed == REASON_NONE) {
            n_columns += add_pool(&a, s, &s->pools[i], demand, v + n_columns);
        }
    }
    double best = n > 0 && n_columns > 0 ? solve(v, n_columns) : 0;
    arena_done(&a);
    return (int64_t)(best * PUSD_PER_USD);
}
