/*
 * sched_preempt.h - the plug-in DefaultPreemption: which pods of lower priority would have to go so
 * that a pod that fits nowhere fits somewhere.
 *
 * Per node all pods of lower priority are taken away; if the pod fits then, they are given back one
 * by one, first those whose going would violate a PodDisruptionBudget, the more important ones
 * first, as long as it still fits. Of the nodes the one wins with the fewest violations, then the
 * least important most important victim, the smallest sum of priorities, the fewest victims, the
 * youngest most important victim; then the first by name.
 */
#ifndef KARP_SIM_SCHED_PREEMPT_H
#define KARP_SIM_SCHED_PREEMPT_H

#include "sched_fit.h"

#define SIM_PREEMPTION_RANKS 5

struct sim_preemption {
    struct sim_sched_node *node; /* NULL: it would not help */
    struct sim_sched_pod **victims;
    size_t n;
    /* How good it is, the least first: budgets violated, highest priority of a victim, sum of
     * priorities, victims, and the later the most important of them began. */
    int64_t rank[SIM_PREEMPTION_RANKS];
    size_t no_victims; /* nodes that have nobody to take away */
    size_t no_fit;     /* nodes where it did not fit even so; why tells the reasons of all */
};

/* Told of every node where the pod would not fit even without the victims. */
typedef void (*sim_preempt_fn)(void *ctx, const struct sim_whynot *why);

/* nodes: those whose trial ended without `final`. ret must be freed by sim_preemption_done. */
void sim_preempt(struct sim_cluster *c, struct sim_sched_pod *p,
                 struct sim_sched_node *const *nodes, size_t n, sim_preempt_fn no, void *ctx,
                 struct sim_preemption *ret);
void sim_preemption_done(struct sim_preemption *r);
/* By rank: < 0 if a is better. */
int sim_preemption_order(const struct sim_preemption *a, const struct sim_preemption *b);
/* Whether a victim of an earlier preemption is still on its way out on the nominated node. */
bool sim_preempt_waits(const struct sim_cluster *c, const struct sim_sched_pod *p);

#endif
