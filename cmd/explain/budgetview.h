/*
 * budgetview.h - a pool's budgets as rows: what may leave now, and when that changes.
 */
#ifndef KARP_CMD_BUDGETVIEW_H
#define KARP_CMD_BUDGETVIEW_H

#include "common/core/disrupt/budget.h"

#define BUDGET_REASONS 3

struct budget_row {
    enum disruption_reason reason;
    /* nodes of the pool that count; allowed and remaining are never more */
    int64_t nodes, allowed, disrupting, remaining;
    int64_t opens_ns;  /* allowed is 0 now and more from then on; 0 = not within the horizon */
    int64_t closes_ns; /* allowed is more than 0 now and 0 from then on */
};

const char *budget_reason_name(enum disruption_reason r);
/* Underutilized, Empty, Drifted, in this order. */
void budget_rows(const struct nodepool *np, int64_t nodes, int64_t disrupting, int64_t now_ns,
                 struct budget_row ret[BUDGET_REASONS]);

#endif
