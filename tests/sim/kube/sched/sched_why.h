/*
 * sched_why.h - why a pod fits nowhere, in the words of kube-scheduler's FitError: how many nodes
 * have which reason against it, sorted by text.
 */
#ifndef KARP_SIM_SCHED_WHY_H
#define KARP_SIM_SCHED_WHY_H

#include "common/base/buf.h"
#include "sched_fit.h"

struct sim_tally {
    char text[SIM_WHYNOT_TEXT + 24]; /* "3 Insufficient cpu" when printed */
    char reason[SIM_WHYNOT_TEXT];
    size_t count;
};

/* A zeroed one is empty; items is freed by the owner. */
struct sim_tallies {
    struct sim_tally *items;
    size_t n, cap;
};

void sim_tally_add(struct sim_tallies *t, const char *reason, size_t count);
/* Each reason once; ctx is a struct sim_tallies. */
void sim_tally_whynot(void *ctx, const struct sim_whynot *why);
/* "0/3 nodes are available: 1 ..., 2 ...." */
void sim_tallies_print(struct sim_tallies *t, size_t nodes, struct buf *b);

#endif
