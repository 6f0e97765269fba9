/*
 * budget.h - how many nodes of a pool may leave now.
 *
 * The minimum over the pool's budgets that apply to the reason and are active now; percentages of
 * the pool's nodes round up, as Karpenter; a budget that cannot be read allows nothing.
 */
#ifndef KARP_CORE_BUDGET_H
#define KARP_CORE_BUDGET_H

#include "model.h"

#define BUDGET_UNLIMITED INT32_MAX

/* nodes: managed, initialized nodes of the pool. */
int32_t budget_allowed(const struct nodepool *np, enum disruption_reason reason, int64_t nodes,
                       int64_t now_ns);

#endif
