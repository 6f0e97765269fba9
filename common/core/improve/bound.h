/*
 * bound.h - the least that the new nodes of a plan can cost, whoever plans them.
 *
 * Give every resource a weight. A node that costs p and has room a for pods (allocatable less
 * DaemonSets) carries pods of a weighted sum of at most w·a, so a pod that asks for r costs at
 * least p·(w·r)/(w·a) on the cheapest of the types that it could get. Summed over the pods that is
 * below the price of every plan that puts these pods on new nodes of these pools at these prices,
 * whatever the weights. The largest such sum is looked for: from each resource alone, moving weight
 * between them. It is the dual of the linear program that covers the requests. A pod alone on the
 * cheapest node that can carry it is a bound as well; the larger of both counts.
 *
 * Rules that bind pods of a kind to different hosts (required anti-affinity, hard spread over host
 * names) count as a resource of which a node has few. Everything else that is left out (other rules
 * between pods, preferences, limits, minValues, whole nodes) can only make a plan dearer.
 *
 * The search has a budget of its own, so that it stays cheap for any input; then the bound is lower
 * than it could be, and still one. Rounding goes down.
 */
#ifndef KARP_CORE_BOUND_H
#define KARP_CORE_BOUND_H

#include "common/core/sched/sched.h"

/* s: a pass that is over. 0 if it opens no claims. Scratch memory is the pass's arena, given back.
 */
int64_t bound_new_capacity_pusd_h(struct sched *s);

#endif
