/* budget.c - see budget.h. */
#include "budget.h"

#include "common/base/cron.h"
#include "common/base/str.h"

/* A budget that is not in force allows anything; one that cannot be read, nothing. */
enum active { INACTIVE, ACTIVE, UNREADABLE };

static enum active budget_active(const struct nodepool *np, const struct budget *b, int64_t now_ns)
{
    struct cron cron;
    bool timed = b->duration_ns != DURATION_ABSENT;
    if (b->schedule == NULL) {
        return timed ? UNREADABLE : ACTIVE;
    }
    if (!timed || b->duration_ns < 0 || np->budget_tz_problem != NULL ||
        cron_parse(b->schedule, &cron, NULL) != 0) {
        return UNREADABLE;
    }
    return cron_active(&cron, np->budget_tz, b->duration_ns, now_ns) ? ACTIVE : INACTIVE;
}

static int32_t clamp(int64_t v)
{
    return v > BUDGET_UNLIMITED ? BUDGET_UNLIMITED : (int32_t)v;
}

static bool all_digits(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (s[i] < '0' || s[i] > '9') {
            return false;
        }
    }
    return n > 0;
}

/* "5" or "10%" of nodes, rounded up. 0 if it is neither. */
static int32_t budget_nodes(const char *s, int64_t nodes)
{
    size_t n = s ? strlen(s) : 0;
    bool percent = n > 0 && s[n - 1] == '%';
    size_t digits = percent ? n - 1 : n;
    if (!all_digits(s, digits)) {
        return 0;
    }
    int64_t v = 0;
    for (size_t i = 0; i < digits; i++) {
        v = v * 10 + (s[i] - '0');
        if (v > BUDGET_UNLIMITED) {
            return percent ? 0 : BUDGET_UNLIMITED;
        }
    }
    if (!percent) {
        return (int32_t)v;
    }
    if (v > 100) {
        return 0;
    }
    return clamp(nodes / 100 * v + (nodes % 100 * v + 99) / 100);
}

int32_t budget_allowed(const struct nodepool *np, enum disruption_reason reason, int64_t nodes,
                       int64_t now_ns)
{
    int32_t ret = BUDGET_UNLIMITED;
    for (uint32_t i = 0; i < np->n_budgets; i++) {
        const struct budget *b = &np->budgets[i];
        if (b->reasons != 0 && (b->reasons & (unsigned)reason) == 0) {
            continue;
        }
        enum active active = budget_active(np, b, now_ns);
        int32_t allowed = active == ACTIVE     ? budget_nodes(b->nodes, nodes < 0 ? 0 : nodes)
                          : active == INACTIVE ? BUDGET_UNLIMITED
                                               : 0;
        ret = allowed < ret ? allowed : ret;
    }
    return ret;
}

int32_t budget_ever(const struct nodepool *np, enum disruption_reason reason, int64_t nodes)
{
    int32_t ret = BUDGET_UNLIMITED;
    for (uint32_t i = 0; i < np->n_budgets; i++) {
        const struct budget *b = &np->budgets[i];
        bool speaks = b->reasons == 0 || (b->reasons & (unsigned)reason) != 0;
        if (speaks && b->schedule == NULL) {
            int32_t allowed = budget_nodes(b->nodes, nodes < 0 ? 0 : nodes);
            ret = allowed < ret ? allowed : ret;
        }
    }
    return ret;
}

/* ---- when it changes ---------------------------------------------------------------------------
 */

#define BOUNDARIES_MAX 1000 /* looked at for one answer */

/* When the window of any budget next opens or closes after t; INT64_MAX if none does. */
static int64_t next_boundary(const struct nodepool *np, int64_t t)
{
    int64_t ret = INT64_MAX;
    for (uint32_t i = 0; i < np->n_budgets; i++) {
        const struct budget *b = &np->budgets[i];
        struct cron cron;
        if (b->schedule == NULL || b->duration_ns <= 0 || b->duration_ns > BUDGET_HORIZON_NS * 60 ||
            cron_parse(b->schedule, &cron, NULL) != 0) {
            continue;
        }
        int64_t opens = cron_next(&cron, np->budget_tz, t);
        int64_t hit = cron_next(&cron, np->budget_tz, t - b->duration_ns);
        int64_t closes = hit == INT64_MAX ? hit : hit + b->duration_ns;
        ret = opens < ret ? opens : ret;
        ret = closes < ret ? closes : ret;
    }
    return ret;
}

void budget_change(const struct nodepool *np, enum disruption_reason reason, int64_t nodes,
                   int64_t now_ns, int64_t *ret_opens_ns, int64_t *ret_closes_ns)
{
    int64_t t = now_ns;
    bool was = budget_allowed(np, reason, nodes, now_ns) > 0;
    *ret_opens_ns = *ret_closes_ns = 0;
    for (int i = 0; i < BOUNDARIES_MAX && nodes > 0; i++) {
        t = next_boundary(np, t);
        if (t > now_ns + BUDGET_HORIZON_NS) {
            return;
        }
        bool open = budget_allowed(np, reason, nodes, t) > 0;
        if (open != was) {
            *(open ? ret_opens_ns : ret_closes_ns) = t;
            return;
        }
    }
}
