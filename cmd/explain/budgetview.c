/* budgetview.c - see budgetview.h. */
#include "budgetview.h"

const char *budget_reason_name(enum disruption_reason r)
{
    switch (r) {
    case DISRUPT_UNDERUTILIZED:
        return "Underutilized";
    case DISRUPT_EMPTY:
        return "Empty";
    case DISRUPT_DRIFTED:
        return "Drifted";
    }
    BUG("no such reason: %d", (int)r);
}

void budget_rows(const struct nodepool *np, int64_t nodes, int64_t disrupting, int64_t now_ns,
                 struct budget_row ret[BUDGET_REASONS])
{
    static const enum disruption_reason reasons[BUDGET_REASONS] = {DISRUPT_UNDERUTILIZED,
                                                                   DISRUPT_EMPTY, DISRUPT_DRIFTED};
    for (int i = 0; i < BUDGET_REASONS; i++) {
        int64_t allowed = budget_allowed(np, reasons[i], nodes, now_ns);
        allowed = allowed > nodes ? nodes : allowed;
        int64_t left = allowed > disrupting ? allowed - disrupting : 0;
        ret[i] = (struct budget_row){.reason = reasons[i],
                                     .nodes = nodes,
                                     .allowed = allowed,
                                     .disrupting = disrupting,
                                     .remaining = left};
        if (nodes > 0) {
            budget_change(np, reasons[i], nodes, now_ns, &ret[i].opens_ns, &ret[i].closes_ns);
        }
    }
}
