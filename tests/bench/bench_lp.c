/*
 * bench_lp.c - see bench_lp.h.
 *
 * The simplex method, revised, with bounds: few rows, any number of columns. The dual has one
 * unknown per row, what one unit of it is worth. Whatever worths are found prove a bound, so that
 * rounding and an early end make it looser, never wrong.
 */
#include "bench_lp.h"

#include "common/base/alloc.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PIVOTS_MAX 20000
#define TINY 1e-11
#define GAIN 1e-9      /* less is rounding */
#define ARTIFICIAL 1e9 /* dearer than anything */

struct basic {
    int64_t column; /* -1 - i: the surplus of row i, or what stands in for it at first */
    double cost, most, x;
};

struct simplex {
    const struct lp_column *v;
    uint32_t n;
    double demand[LP_ROWS];
    double inverse[LP_ROWS][LP_ROWS]; /* of the basis */
    struct basic basis[LP_ROWS];
    bool *full; /* columns outside the basis that are at their most */
};

static void begin(struct simplex *s)
{
    for (int i = 0; i < LP_ROWS; i++) {
        bool wanted = s->demand[i] > 0;
        s->inverse[i][i] = wanted ? 1 : -1;
        s->basis[i] = (struct basic){-1 - i, wanted ? ARTIFICIAL : 0, INFINITY, fabs(s->demand[i])};
    }
}

static void worths(const struct simplex *s, double *ret)
{
    for (int k = 0; k < LP_ROWS; k++) {
        ret[k] = 0;
        for (int i = 0; i < LP_ROWS; i++) {
            ret[k] += s->basis[i].cost * s->inverse[i][k];
        }
    }
}

/* Of one unit of the column at these worths, what it costs too much. */
static double reduced(const struct lp_column *c, const double *y)
{
    double ret = c->cost;
    for (int i = 0; i < LP_ROWS; i++) {
        ret -= y[i] * c->a[i];
    }
    return ret;
}

struct entering {
    struct lp_column col;
    int64_t at;
    double way; /* 1: from nothing, -1: from its most */
};

/* What gains most; false if nothing does. */
static bool enter(const struct simplex *s, const double *y, struct entering *ret)
{
    double best = GAIN;
    *ret = (struct entering){.way = 0};
    for (int i = 0; i < LP_ROWS; i++) {
        if (-y[i] > best) {
            best = -y[i];
            *ret = (struct entering){{.most = INFINITY}, -1 - i, 1};
            ret->col.a[i] = -1;
        }
    }
    for (uint32_t j = 0; j < s->n; j++) {
        double d = reduced(&s->v[j], y), gain = s->full[j] ? d : -d;
        if (gain > best) {
            best = gain;
            *ret = (struct entering){s->v[j], j, s->full[j] ? -1 : 1};
        }
    }
    return ret->way != 0;
}

static void exchange(struct simplex *s, int out, const double *d, const struct entering *e,
                     double value)
{
    for (int i = 0; i < LP_ROWS; i++) {
        for (int k = 0; k < LP_ROWS && i != out; k++) {
            s->inverse[i][k] -= d[i] / d[out] * s->inverse[out][k];
        }
    }
    for (int k = 0; k < LP_ROWS; k++) {
        s->inverse[out][k] /= d[out];
    }
    s->basis[out] = (struct basic){e->at, e->col.cost, e->col.most, value};
}

/* As far as nothing falls below 0 or rises above its most; false if there is no end. */
static bool pivot(struct simplex *s, const struct entering *e)
{
    double d[LP_ROWS], amount = e->col.most;
    int out = -1;
    bool rises = false;
    for (int i = 0; i < LP_ROWS; i++) {
        d[i] = 0;
        for (int k = 0; k < LP_ROWS; k++) {
            d[i] += s->inverse[i][k] * e->col.a[k];
        }
        double falls = d[i] * e->way, x = s->basis[i].x;
        double end = falls > TINY    ? x / falls
                     : falls < -TINY ? (s->basis[i].most - x) / -falls
                                     : INFINITY;
        if (end < amount) {
            amount = end > 0 ? end : 0;
            out = i;
            rises = falls < 0;
        }
    }
    if (isinf(amount)) {
        return false;
    }
    for (int i = 0; i < LP_ROWS; i++) {
        s->basis[i].x -= amount * e->way * d[i];
    }
    if (out < 0) {
        s->full[e->at] = !s->full[e->at];
        return true;
    }
    int64_t left = s->basis[out].column;
    if (left >= 0) {
        s->full[left] = rises;
    }
    exchange(s, out, d, e, e->way > 0 ? amount : e->col.most - amount);
    if (e->at >= 0) {
        s->full[e->at] = false;
    }
    return true;
}

/* What the worths prove. */
static double proven(const struct simplex *s, const double *y)
{
    double w[LP_ROWS], sum = 0;
    for (int i = 0; i < LP_ROWS; i++) {
        w[i] = y[i] > 0 ? y[i] : 0;
        sum += w[i] * s->demand[i];
    }
    for (uint32_t j = 0; j < s->n; j++) {
        double d = reduced(&s->v[j], w);
        sum += d < 0 ? d * s->v[j].most : 0;
    }
    return sum;
}

/* Rows of like size. */
static void scale(struct lp_column *v, uint32_t n, double *demand)
{
    for (int i = 0; i < LP_ROWS; i++) {
        double most = 0;
        for (uint32_t j = 0; j < n; j++) {
            most = fmax(most, fabs(v[j].a[i]));
        }
        for (uint32_t j = 0; j < n && most > 0; j++) {
            v[j].a[i] /= most;
        }
        demand[i] = most > 0 ? demand[i] / most : 0;
    }
}

double lp_least(const struct lp_column *v, uint32_t n, const double *demand)
{
    struct simplex s = {.n = n};
    struct entering e;
    double y[LP_ROWS], best = 0;
    struct lp_column *own = xcalloc((size_t)n + 1, sizeof(*own));
    s.full = xcalloc((size_t)n + 1, sizeof(*s.full));
    memcpy(own, v, n * sizeof(*own));
    memcpy(s.demand, demand, sizeof(s.demand));
    scale(own, n, s.demand);
    s.v = own;
    begin(&s);
    for (int i = 0; i < PIVOTS_MAX; i++) {
        worths(&s, y);
        best = fmax(best, proven(&s, y));
        if (!enter(&s, y, &e) || !pivot(&s, &e)) {
            break;
        }
    }
    free(s.full);
    free(own);
    return best;
}
