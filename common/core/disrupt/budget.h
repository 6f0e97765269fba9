/*
 * budget.h - how many nodes of a pool may leave now.
 *
 * The minimum over the pool's budgets that apply to the reason and are active now; percentages of
 * the pool's nodes round up, as Karpenter; a budget that cannot be read allows nothing. Schedules
 * are in UTC, or in the pool's time zone (ours); in one that is not known they allow nothing.
 */
#ifndef KARP_CORE_BUDGET_H
#define KARP_CORE_BUDGET_H

#include "common/core/model.h"

#define BUDGET_UNLIMITED INT32_MAX
#define BUDGET_HORIZON_NS (INT64_C(8) * 24 * 3600 * 1000000000)

/* nodes: managed, initialized nodes of the pool. */
int32_t budget_allowed(const struct nodepool *np, enum disruption_reason reason, int64_t nodes,
                       int64_t now_ns);

/* The most that may ever leave at once: what budgets without a schedule allow. */
int32_t budget_ever(const struct nodepool *np, enum disruption_reason reason, int64_t nodes);

/* When what is allowed next turns from nothing to something (*ret_opens_ns) or the other way
 * (*ret_closes_ns) after now, 0 each if not within BUDGET_HORIZON_NS. */
void budget_change(const struct nodepool *np, enum disruption_reason reason, int64_t nodes,
                   int64_t now_ns, int64_t *ret_opens_ns, int64_t *ret_closes_ns);

#endif
