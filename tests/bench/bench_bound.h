/*
 * bench_bound.h - what bounds are made of: rows, what can be bought, pods that exclude each other.
 */
#ifndef KARP_BENCH_BOUND_H
#define KARP_BENCH_BOUND_H

#include "bench.h"
#include "bench_lp.h"

enum { ROW_CPU, ROW_MEMORY, ROW_PODS, ROW_NODES, ROW_SAVING };

/* Pods with the same term, which all of them match: each needs a host of its own. */
struct bound_group {
    const struct selector *sel;
    const char *ns;
    uint32_t n;
};

/* The largest one, n 0 if there is none. */
struct bound_group bound_largest_group(const struct pod *const *pods, uint32_t n);
bool bound_in_group(const struct bound_group *g, const struct pod *p);

/* Adds so many times what it is to the rows of cpu, memory and pods. */
void bound_put(const struct resources *r, double factor, double *ret);

/* What can be bought: a column per pool and type at its cheapest price, of which at most so many
 * are. */
struct lp_column *bound_menu(struct arena *a, const struct snapshot *s, uint32_t most,
                             uint32_t *ret_n);

/* A pod that is nowhere larger than any of the pods: where they are alike, each of them. */
struct bound_pod {
    double asks[LP_ROWS];
    bool apart; /* each needs a host of its own */
};

void bound_smallest(const struct pod *const *pods, uint32_t n, struct bound_pod *ret);
/* How many of them the room holds. */
int64_t bound_takes(const double *room, const struct bound_pod *p);

#define BOUND_STATES_MAX (INT64_C(1) << 28) /* of a knapsack */

/* Per number of such pods, 0 to pods, the least that whole nodes for them cost; to be freed. NULL:
 * too many to tell. */
int64_t *bound_prices(const struct lp_column *menu, uint32_t n_menu, const struct bound_pod *p,
                      int64_t pods);

#endif
