#include "fixture.h"
#include "unit.h"

#include "common/base/timefmt.h"
#include "common/base/tzone.h"
#include "common/core/disrupt/budget.h"

#define ALWAYS NULL, DURATION_ABSENT
#define HOURS(n) ((n)*3600 * FIX_S)

/* What Karpenter allows. 2026-01-05 is a Monday. */
static const struct row {
    const char *name;
    struct budget b[3];
    uint32_t n;
    enum disruption_reason reason;
    int64_t nodes;
    const char *now;
    int32_t allowed;
} rows[] = {
    {"none", {{NULL}}, 0, DISRUPT_EMPTY, 10, "2026-01-05T12:00:00Z", BUDGET_UNLIMITED},
    {"number", {{"3", 0, ALWAYS}}, 1, DISRUPT_EMPTY, 10, "2026-01-05T12:00:00Z", 3},
    {"zero", {{"0", 0, ALWAYS}}, 1, DISRUPT_EMPTY, 10, "2026-01-05T12:00:00Z", 0},
    {"percent", {{"20%", 0, ALWAYS}}, 1, DISRUPT_EMPTY, 10, "2026-01-05T12:00:00Z", 2},
    {"percent rounds up", {{"10%", 0, ALWAYS}}, 1, DISRUPT_EMPTY, 11, "2026-01-05T12:00:00Z", 2},
    {"10% of one", {{"10%", 0, ALWAYS}}, 1, DISRUPT_EMPTY, 1, "2026-01-05T12:00:00Z", 1},
    {"percent of none", {{"10%", 0, ALWAYS}}, 1, DISRUPT_EMPTY, 0, "2026-01-05T12:00:00Z", 0},
    {"0%", {{"0%", 0, ALWAYS}}, 1, DISRUPT_EMPTY, 50, "2026-01-05T12:00:00Z", 0},
    {"100%", {{"100%", 0, ALWAYS}}, 1, DISRUPT_EMPTY, 7, "2026-01-05T12:00:00Z", 7},
    {"the least of several",
     {{"10", 0, ALWAYS}, {"30%", 0, ALWAYS}, {"5", 0, ALWAYS}},
     3,
     DISRUPT_EMPTY,
     10,
     "2026-01-05T12:00:00Z",
     3},
    {"own reason",
     {{"1", DISRUPT_EMPTY, ALWAYS}, {"5", DISRUPT_DRIFTED, ALWAYS}},
     2,
     DISRUPT_EMPTY,
     10,
     "2026-01-05T12:00:00Z",
     1},
    {"other reason",
     {{"1", DISRUPT_EMPTY, ALWAYS}},
     1,
     DISRUPT_DRIFTED,
     10,
     "2026-01-05T12:00:00Z",
     BUDGET_UNLIMITED},
    {"one of its reasons",
     {{"1", DISRUPT_EMPTY | DISRUPT_DRIFTED, ALWAYS}},
     1,
     DISRUPT_DRIFTED,
     10,
     "2026-01-05T12:00:00Z",
     1},
    {"all reasons with one of its own",
     {{"4", 0, ALWAYS}, {"2", DISRUPT_UNDERUTILIZED, ALWAYS}},
     2,
     DISRUPT_UNDERUTILIZED,
     10,
     "2026-01-05T12:00:00Z",
     2},
    {"inside the window",
     {{"0", 0, "0 9 * * 1-5", HOURS(8)}},
     1,
     DISRUPT_EMPTY,
     10,
     "2026-01-05T12:00:00Z",
     0},
    {"at its start",
     {{"0", 0, "0 9 * * 1-5", HOURS(8)}},
     1,
     DISRUPT_EMPTY,
     10,
     "2026-01-05T09:00:00Z",
     0},
    {"before the window",
     {{"0", 0, "0 9 * * 1-5", HOURS(8)}},
     1,
     DISRUPT_EMPTY,
     10,
     "2026-01-05T08:59:59Z",
     BUDGET_UNLIMITED},
    {"after the window",
     {{"0", 0, "0 9 * * 1-5", HOURS(8)}},
     1,
     DISRUPT_EMPTY,
     10,
     "2026-01-05T17:00:01Z",
     BUDGET_UNLIMITED},
    {"another day",
     {{"0", 0, "0 9 * * 1-5", HOURS(8)}},
     1,
     DISRUPT_EMPTY,
     10,
     "2026-01-04T12:00:00Z",
     BUDGET_UNLIMITED},
    {"UTC", {{"0", 0, "0 23 * * *", HOURS(2)}}, 1, DISRUPT_EMPTY, 10, "2026-01-06T00:30:00Z", 0},
    {"longer than its recurrence",
     {{"0", 0, "@hourly", HOURS(3)}},
     1,
     DISRUPT_EMPTY,
     10,
     "2026-01-05T12:59:00Z",
     0},
    {"inactive beside active",
     {{"0", 0, "0 9 * * *", HOURS(1)}, {"6", 0, ALWAYS}},
     2,
     DISRUPT_EMPTY,
     10,
     "2026-01-05T12:00:00Z",
     6},
    {"broken schedule",
     {{"5", 0, "@every never", HOURS(1)}},
     1,
     DISRUPT_EMPTY,
     10,
     "2026-01-05T12:00:00Z",
     0},
    {"schedule without duration",
     {{"5", 0, "@hourly", DURATION_ABSENT}},
     1,
     DISRUPT_EMPTY,
     10,
     "2026-01-05T12:00:00Z",
     0},
    {"duration without schedule",
     {{"5", 0, NULL, HOURS(1)}},
     1,
     DISRUPT_EMPTY,
     10,
     "2026-01-05T12:00:00Z",
     0},
    {"broken value", {{"five", 0, ALWAYS}}, 1, DISRUPT_EMPTY, 10, "2026-01-05T12:00:00Z", 0},
    {"no value", {{NULL, 0, ALWAYS}}, 1, DISRUPT_EMPTY, 10, "2026-01-05T12:00:00Z", 0},
    {"only a percent sign", {{"%", 0, ALWAYS}}, 1, DISRUPT_EMPTY, 10, "2026-01-05T12:00:00Z", 0},
    {"negative", {{"-1", 0, ALWAYS}}, 1, DISRUPT_EMPTY, 10, "2026-01-05T12:00:00Z", 0},
    {"over 100%", {{"101%", 0, ALWAYS}}, 1, DISRUPT_EMPTY, 10, "2026-01-05T12:00:00Z", 0},
    {"far too much",
     {{"99999999999999999999", 0, ALWAYS}},
     1,
     DISRUPT_EMPTY,
     10,
     "2026-01-05T12:00:00Z",
     BUDGET_UNLIMITED},
    {"broken and other reason",
     {{"five", DISRUPT_DRIFTED, ALWAYS}},
     1,
     DISRUPT_EMPTY,
     10,
     "2026-01-05T12:00:00Z",
     BUDGET_UNLIMITED},
};

START_TEST(test_allowed)
{
    const struct row *c = &rows[_i];
    struct nodepool np = {.budgets = c->b, .n_budgets = c->n};
    int64_t now;
    ck_assert(timefmt_parse_rfc3339(c->now, &now));
    int32_t got = budget_allowed(&np, c->reason, c->nodes, now);
    ck_assert_msg(got == c->allowed, "%s: %d, not %d", c->name, got, c->allowed);
}
END_TEST

/* No node from 2:30 on for so many hours, local time, on the days when clocks change. */
static const struct zone_row {
    const char *zone;
    int64_t hours;
    const char *now;
    bool open;
    const char *opens, *closes;
} zone_rows[] = {
    {"Europe/Berlin", 1, "2024-03-30T01:30:00Z", false, "2024-03-30T02:30:00Z", NULL},
    /* 2:30 is passed over: from the change on */
    {"Europe/Berlin", 1, "2024-03-31T00:59:59Z", true, NULL, "2024-03-31T01:00:00Z"},
    {"Europe/Berlin", 1, "2024-03-31T01:00:00Z", false, "2024-03-31T02:00:00Z", NULL},
    {"Europe/Berlin", 1, "2024-03-31T02:00:00Z", true, NULL, "2024-04-01T00:30:00Z"},
    /* 2:30 comes twice */
    {"Europe/Berlin", 1, "2024-10-27T00:29:59Z", true, NULL, "2024-10-27T00:30:00Z"},
    {"Europe/Berlin", 1, "2024-10-27T01:29:59Z", false, "2024-10-27T02:30:00Z", NULL},
    {"Europe/Berlin", 1, "2024-10-27T02:29:59Z", false, "2024-10-27T02:30:00Z", NULL},
    {"Europe/Berlin", 1, "2024-10-27T02:30:00Z", true, NULL, "2024-10-28T01:30:00Z"},
    {"America/New_York", 6, "2026-03-08T06:59:59Z", true, NULL, "2026-03-08T07:00:00Z"},
    {"America/New_York", 6, "2026-03-08T12:59:59Z", false, "2026-03-08T13:00:00Z", NULL},
    {"UTC", 1, "2024-03-31T02:30:00Z", false, "2024-03-31T03:30:00Z", NULL},
    /* nothing is known of it: nothing goes, for how long cannot be said */
    {"Mars/Base", 1, "2024-03-31T12:00:00Z", false, NULL, NULL},
};

static int64_t at(const char *s)
{
    int64_t ns = 0;
    ck_assert(s == NULL || timefmt_parse_rfc3339(s, &ns));
    return ns;
}

START_TEST(test_zone)
{
    const struct zone_row *c = &zone_rows[_i];
    struct budget b = {"0", 0, "30 2 * * *", HOURS(c->hours)};
    struct nodepool np = {.budgets = &b, .n_budgets = 1};
    struct err err = ERR_INIT;
    int64_t opens, closes;
    arena_init(&np.mem, 0, SIZE_MAX);
    np.budget_tz = tzone_load(&np.mem, TZONE_FOLDER, c->zone, &err);
    np.budget_tz_problem = np.budget_tz ? NULL : err.msg;
    int32_t got = budget_allowed(&np, DISRUPT_EMPTY, 10, at(c->now));
    ck_assert_msg((got > 0) == c->open, "%s at %s: %d", c->zone, c->now, got);
    budget_change(&np, DISRUPT_EMPTY, 10, at(c->now), &opens, &closes);
    ck_assert_int_eq(opens, at(c->opens));
    ck_assert_int_eq(closes, at(c->closes));
    arena_done(&np.mem);
}
END_TEST

/* A budget without a schedule is in force whatever the zone. */
START_TEST(test_unknown_zone_untimed)
{
    struct budget b = {"3", 0, ALWAYS};
    struct nodepool np = {.budgets = &b, .n_budgets = 1, .budget_tz_problem = "not known"};
    ck_assert_int_eq(budget_allowed(&np, DISRUPT_EMPTY, 10, 0), 3);
}
END_TEST

UNIT_MAIN("budget", UNIT_CASES(test_allowed, rows), UNIT_CASES(test_zone, zone_rows),
          UNIT_TEST(test_unknown_zone_untimed))
