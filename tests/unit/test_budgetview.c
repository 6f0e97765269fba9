/* test_budgetview.c - a pool's budgets now and when that changes (cmd/explain/budgetview.h). */
#include "cmd/explain/budgetview.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "unit.h"

#define H (INT64_C(3600) * 1000000000)
#define NOW "2026-01-05T14:00:00Z" /* a Monday */

/* Up to two budgets; what Underutilized may do, and when that changes ("" = never soon). */
static const struct {
    struct budget budgets[2];
    uint32_t n;
    int64_t nodes, disrupting;
    int64_t allowed, remaining;
    const char *opens, *closes;
} rows[] = {
    {{{"10%", 0, NULL, DURATION_ABSENT}}, 1, 11, 0, 2, 2, "", ""},
    {{{"10%", 0, NULL, DURATION_ABSENT}}, 1, 11, 1, 2, 1, "", ""},
    {{{"10%", 0, NULL, DURATION_ABSENT}}, 1, 11, 5, 2, 0, "", ""},
    {{{"10%", 0, NULL, DURATION_ABSENT}}, 1, 0, 0, 0, 0, "", ""},
    /* never more than there are nodes, also without any budget */
    {{{"50", 0, NULL, DURATION_ABSENT}}, 1, 3, 0, 3, 3, "", ""},
    {{{NULL, 0, NULL, 0}}, 0, 3, 1, 3, 2, "", ""},
    /* other reasons do not count */
    {{{"0", DISRUPT_DRIFTED, NULL, DURATION_ABSENT}}, 1, 3, 0, 3, 3, "", ""},
    {{{"0", DISRUPT_UNDERUTILIZED, NULL, DURATION_ABSENT}}, 1, 3, 0, 0, 0, "", ""},
    /* frozen from 8 to 22 */
    {{{"0", 0, "0 8 * * *", 14 * H}}, 1, 3, 0, 0, 0, "2026-01-05T22:00:00Z", ""},
    /* frozen from 15 on */
    {{{"0", 0, "0 15 * * *", 2 * H}}, 1, 3, 0, 3, 3, "", "2026-01-05T15:00:00Z"},
    /* two windows that touch: open again only after the second */
    {{{"0", 0, "0 8 * * *", 8 * H}, {"0", 0, "0 16 * * *", 4 * H}},
     2,
     3,
     0,
     0,
     0,
     "2026-01-05T20:00:00Z",
     ""},
    /* frozen until a window of another budget ends within one without end */
    {{{"0", 0, "0 8 * * *", 14 * H}, {"0", 0, NULL, DURATION_ABSENT}}, 2, 3, 0, 0, 0, "", ""},
    /* the weekend is within the horizon, next month is not */
    {{{"0", 0, "0 0 * * 6", 48 * H}}, 1, 3, 0, 3, 3, "", "2026-01-10T00:00:00Z"},
    {{{"0", 0, "0 0 1 * *", 24 * H}}, 1, 3, 0, 3, 3, "", ""},
    /* what cannot be read allows nothing */
    {{{"lots", 0, NULL, DURATION_ABSENT}}, 1, 3, 0, 0, 0, "", ""},
    {{{"1", 0, "every day", H}}, 1, 3, 0, 0, 0, "", ""},
};

static const char *time_text(int64_t ns, char *dst)
{
    return ns ? timefmt_rfc3339(ns, dst) : "";
}

START_TEST(budgets)
{
    struct nodepool np = {.budgets = rows[_i].budgets, .n_budgets = rows[_i].n};
    struct budget_row got[BUDGET_REASONS];
    int64_t now;
    char text[TIMEFMT_TEXT];
    ck_assert(timefmt_parse_rfc3339(NOW, &now));
    budget_rows(&np, rows[_i].nodes, rows[_i].disrupting, now, got);
    ck_assert_str_eq(budget_reason_name(got[0].reason), "Underutilized");
    ck_assert_str_eq(budget_reason_name(got[1].reason), "Empty");
    ck_assert_str_eq(budget_reason_name(got[2].reason), "Drifted");
    ck_assert_int_eq(got[0].nodes, rows[_i].nodes);
    ck_assert_int_eq(got[0].allowed, rows[_i].allowed);
    ck_assert_int_eq(got[0].remaining, rows[_i].remaining);
    ck_assert_str_eq(time_text(got[0].opens_ns, text), rows[_i].opens);
    ck_assert_str_eq(time_text(got[0].closes_ns, text), rows[_i].closes);
}
END_TEST

UNIT_MAIN("budgetview", UNIT_CASES(budgets, rows))
