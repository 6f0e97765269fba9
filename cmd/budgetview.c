/* budgetview.c - see budgetview.h. */
#include "budgetview.h"

#include "common/base/cron.h"

#define BOUNDARIES_MAX 1000 /* looked at for one row */

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

/* When the window of any budget next opens or closes after t; INT64_MAX if none does. */
static int64_t next_boundary(const struct nodepool *np, int64_t t)
{
    int64_t ret = INT64_MAX;
    for (uint32_t i = 0; i < np->n_budgets; i++) {
        const struct budget *b = &np->budgets[i];
        struct cron cron;
        if (!b->schedule || b->duration_ns <= 0 || b->duration_ns > BUDGET_HORIZON_NS * 60 ||
            cron_parse(b->schedule, &cron, NULL) != 0) {
            continue;
        }
        int64_t opens = cron_next(&cron, t), hit = cron_next(&cron, t - b->duration_ns);
        int64_t closes = hit == INT64_MAX ? hit : hit + b->duration_ns;
        ret = opens < ret ? opens : ret;
        ret = closes < ret ? closes : ret;
    }
    return ret;
}

static void find_change(const struct nodepool *np, int64_t now_ns, struct budget_row *row)
{
    int64_t t = now_ns;
    for (int i = 0; i < BOUNDARIES_MAX && row->nodes > 0; i++) {
        t = next_boundary(np, t);
        if (t > now_ns + BUDGET_HORIZON_NS) {
            return;
        }
        bool open = budget_allowed(np, row->reason, row->nodes, t) > 0;
        if (open != (row->allowed > 0)) {
            row->opens_ns = open ? t : 0;
            row->closes_ns = open ? 0 : t;
            return;
        }
    }
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
        find_change(np, now_ns, &ret[i]);
    }
}
