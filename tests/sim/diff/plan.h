/*
 * plan.h - what the decision core makes of a cluster, and that it makes the same of it whatever the
 * slices of its steps, the order of the objects, and the order in which names were met first.
 *
 * Objects are decoded and decided on as `kubectl karp simulate` does (cmd/disrupt/decide.h), so a
 * plan here is the one that is seen there with the same flags.
 */
#ifndef KARP_SIM_DIFF_PLAN_H
#define KARP_SIM_DIFF_PLAN_H

#include "cluster.h"
#include "cmd/disrupt/decide.h"

struct diff_plan {
    struct cmd_opts opts;
    struct kube_env env;
    struct cmd cmd;
    struct world world;
    struct prices *prices;
    struct decision decision;
    const struct sched_result *result;
    char *text; /* everything that is in the result */
};

/* How to come to the plan. */
struct diff_way {
    const char *placement; /* Baseline, Compatible or Cheapest */
    uint64_t slice;        /* units per step; 0: of changing size */
    uint64_t shuffle;      /* seed; 0: objects in their order */
};

/* On failure (objects that cannot be decoded) nothing is left behind. */
int diff_plan_make(const struct diff_cluster *c, const struct diff_way *way, struct diff_plan *ret,
                   struct err *reterr);
void diff_plan_done(struct diff_plan *p);

/* NULL if other ways lead to the same plan, else which one does not and how the plans differ
 * (heap). */
char *diff_plan_differs(const struct diff_cluster *c, const struct diff_plan *p);

#endif
