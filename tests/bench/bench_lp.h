/*
 * bench_lp.h - small linear programmes: what cannot be undercut.
 */
#ifndef KARP_BENCH_LP_H
#define KARP_BENCH_LP_H

#include <stdint.h>

#define LP_ROWS 5

struct lp_column {
    double a[LP_ROWS], cost;
    double most; /* finite */
};

/* No choice of 0 <= x <= most with at least the demand in every row (sum of a·x) costs less; 0 at
 * least, so costs are not negative. Demands may be. */
double lp_least(const struct lp_column *v, uint32_t n, const double *demand);

#endif
