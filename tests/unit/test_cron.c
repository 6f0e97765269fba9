#include "unit.h"

#include "common/base/clock.h"
#include "common/base/cron.h"
#include "common/base/timefmt.h"

static int64_t at(const char *stamp)
{
    int64_t ns = -1;
    ck_assert_msg(timefmt_parse_rfc3339(stamp, &ns), "%s", stamp);
    return ns;
}

/* 2026-01-05 is a Monday. next NULL: never. Checked against robfig/cron 3.0.1. */
static const struct {
    const char *cron, *from, *next;
} hits[] = {
    {"* * * * *", "2026-01-05T09:00:00Z", "2026-01-05T09:01:00Z"},
    {"* * * * *", "2026-01-05T09:00:00.000000001Z", "2026-01-05T09:01:00Z"},
    {"* * * * *", "2026-01-05T09:00:59.999999999Z", "2026-01-05T09:01:00Z"},
    {"*/15 * * * *", "2026-01-05T09:00:00Z", "2026-01-05T09:15:00Z"},
    {"*/15 * * * *", "2026-01-05T09:45:00Z", "2026-01-05T10:00:00Z"},
    {"5/15 * * * *", "2026-01-05T09:00:00Z", "2026-01-05T09:05:00Z"},
    {"5/15 * * * *", "2026-01-05T09:50:00Z", "2026-01-05T10:05:00Z"},
    {"10-20/5 * * * *", "2026-01-05T09:15:00Z", "2026-01-05T09:20:00Z"},
    {"0,30 9,17 * * *", "2026-01-05T09:30:00Z", "2026-01-05T17:00:00Z"},
    {"0 9 * * mon-fri", "2026-01-05T08:59:59Z", "2026-01-05T09:00:00Z"},
    {"0 9 * * mon-fri", "2026-01-09T09:00:00Z", "2026-01-12T09:00:00Z"},
    {"0 9 * * MON-Fri", "2026-01-09T09:00:00Z", "2026-01-12T09:00:00Z"},
    {"0 9 * * 1-5", "2026-01-09T09:00:00Z", "2026-01-12T09:00:00Z"},
    {"0 0 * * sun", "2026-01-05T00:00:00Z", "2026-01-11T00:00:00Z"},
    {"0 0 * * 0", "2026-01-05T00:00:00Z", "2026-01-11T00:00:00Z"},
    {"0 0 1 * *", "2026-01-05T00:00:00Z", "2026-02-01T00:00:00Z"},
    {"0 0 31 * *", "2026-01-31T00:00:00Z", "2026-03-31T00:00:00Z"},
    {"0 0 29 2 *", "2026-01-05T00:00:00Z", "2028-02-29T00:00:00Z"},
    {"0 0 29 2 *", "2096-03-01T00:00:00Z", NULL},
    {"0 0 30 2 *", "2026-01-05T00:00:00Z", NULL},
    {"0 0 31 apr,jun *", "2026-01-05T00:00:00Z", NULL},
    {"0 0 * jan *", "2026-02-01T00:00:00Z", "2027-01-01T00:00:00Z"},
    /* Both days restricted: either one. */
    {"0 0 13 * fri", "2026-01-05T00:00:00Z", "2026-01-09T00:00:00Z"},
    {"0 0 13 * fri", "2026-01-09T00:00:00Z", "2026-01-13T00:00:00Z"},
    /* A star, with or without the step 1 or a list around it, does not restrict. */
    {"0 0 13 * *", "2026-01-05T00:00:00Z", "2026-01-13T00:00:00Z"},
    {"0 0 13 * ?", "2026-01-05T00:00:00Z", "2026-01-13T00:00:00Z"},
    {"0 0 */1 * fri", "2026-01-05T00:00:00Z", "2026-01-09T00:00:00Z"},
    {"0 0 *,1 * fri", "2026-01-05T00:00:00Z", "2026-01-09T00:00:00Z"},
    /* A step does: every other day, or Friday. */
    {"0 0 */2 * fri", "2026-01-08T00:00:00Z", "2026-01-09T00:00:00Z"},
    {"0 0 */2 * fri", "2026-01-09T00:00:00Z", "2026-01-11T00:00:00Z"},
    {"@yearly", "2026-01-05T00:00:00Z", "2027-01-01T00:00:00Z"},
    {"@annually", "2026-01-05T00:00:00Z", "2027-01-01T00:00:00Z"},
    {"@monthly", "2026-01-05T00:00:00Z", "2026-02-01T00:00:00Z"},
    {"@weekly", "2026-01-05T00:00:00Z", "2026-01-11T00:00:00Z"},
    {"@daily", "2026-01-05T00:00:00Z", "2026-01-06T00:00:00Z"},
    {"@midnight", "2026-01-05T12:00:00Z", "2026-01-06T00:00:00Z"},
    {"@hourly", "2026-01-05T00:00:00Z", "2026-01-05T01:00:00Z"},
    {"  @hourly  ", "2026-01-05T00:00:00Z", "2026-01-05T01:00:00Z"},
    {"\t0  0\t1 1 * ", "2026-01-05T00:00:00Z", "2027-01-01T00:00:00Z"},
    {"59 23 31 12 *", "2026-12-31T23:59:00Z", "2027-12-31T23:59:00Z"},
    /* Oddities of robfig's parser. */
    {"1,,2 * * * *", "2026-01-05T09:00:00Z", "2026-01-05T09:01:00Z"},
    {", * * * *", "2026-01-05T09:00:00Z", NULL},
    {"*-7 * * * *", "2026-01-05T09:00:00Z", "2026-01-05T09:01:00Z"},
    {"+5 * * * *", "2026-01-05T09:00:00Z", "2026-01-05T09:05:00Z"},
    {"*/100 * * * *", "2026-01-05T09:00:00Z", "2026-01-05T10:00:00Z"},
};

START_TEST(test_next)
{
    struct cron c;
    struct err e = ERR_INIT;
    ck_assert_msg(cron_parse(hits[_i].cron, &c, &e) == 0, "%s", e.msg);
    int64_t next = cron_next(&c, NULL, at(hits[_i].from));
    if (!hits[_i].next) {
        ck_assert(next == NS_NEVER);
        ck_assert(!cron_active(&c, NULL, NS_PER_H, at(hits[_i].from)));
        return;
    }
    char text[TIMEFMT_TEXT];
    ck_assert_str_eq(timefmt_rfc3339(next, text), hits[_i].next);
    ck_assert(next == at(hits[_i].next));
}
END_TEST

static const struct {
    const char *cron, *part; /* of the message */
} refused[] = {
    {"", "0 fields"},
    {" ", "0 fields"},
    {"* * * *", "4 fields"},
    {"* * * * * *", "6 fields"},
    {"60 * * * *", "minute \"60\": out of range"},
    {"* 24 * * *", "hour \"24\": out of range"},
    {"* * 0 * *", "day of month \"0\": out of range"},
    {"* * 32 * *", "out of range"},
    {"* * * 0 *", "month \"0\""},
    {"* * * 13 *", "month \"13\""},
    {"* * * * 7", "day of week \"7\""},
    {"5-1 * * * *", "out of range"},
    {"-1 * * * *", "neither"},
    {"1-2-3 * * * *", "too many hyphens"},
    {"1/2/3 * * * *", "too many slashes"},
    {"*/0 * * * *", "out of range"},
    {"*/ * * * *", "step is not a number"},
    {"*/x * * * *", "step is not a number"},
    {"*/-1 * * * *", "step is not a number"},
    {"1- * * * *", "neither"},
    {"x * * * *", "neither"},
    {"1.5 * * * *", "neither"},
    {"** * * * *", "neither"},
    {"* * * january *", "neither"},
    {"* * * * monday", "neither"},
    {"mon * * * *", "neither"},
    {"99999999999999999999 * * * *", "out of range"},
    {"4294967297 * * * *", "out of range"},
    {"0-4294967297 * * * *", "out of range"},
    {"@Daily", "unknown name"},
    {"@every 5m", "unknown name"},
    {"@daily *", "unknown name"},
    {"@", "unknown name"},
    {"@reboot", "unknown name"},
    {"TZ=UTC * * * * *", "6 fields"},
    {"\xff\xfe * * * *", "neither"},
};

START_TEST(test_refuse)
{
    struct cron c = {.minute = 42};
    struct err e = ERR_INIT;
    ck_assert_int_eq(cron_parse(refused[_i].cron, &c, &e), -1);
    ck_assert_int_eq(e.kind, ERR_INVALID);
    ck_assert_msg(strstr(e.msg, refused[_i].part) != NULL, "%s: %s", refused[_i].cron, e.msg);
    ck_assert_int_eq(c.minute, 42);
    ck_assert_int_eq(cron_parse(refused[_i].cron, &c, NULL), -1);
}
END_TEST

START_TEST(test_long_text)
{
    char text[CRON_TEXT_MAX + 2];
    struct cron c;
    struct err e = ERR_INIT;
    memset(text, ',', sizeof(text));
    memcpy(text, "1 * * * 1", 9);
    text[CRON_TEXT_MAX] = '\0';
    ck_assert_int_eq(cron_parse(text, &c, &e), 0);
    text[CRON_TEXT_MAX] = ',';
    text[CRON_TEXT_MAX + 1] = '\0';
    ck_assert_int_eq(cron_parse(text, &c, &e), -1);
}
END_TEST

static const struct {
    const char *cron, *now;
    int64_t duration_ns;
    int want;
} windows[] = {
    {"0 9 * * *", "2026-01-05T08:59:59Z", 8 * NS_PER_H, 0},
    {"0 9 * * *", "2026-01-05T09:00:00Z", 8 * NS_PER_H, 1},
    {"0 9 * * *", "2026-01-05T16:59:59.999999999Z", 8 * NS_PER_H, 1},
    {"0 9 * * *", "2026-01-05T17:00:00Z", 8 * NS_PER_H, 0},
    {"0 9 * * *", "2026-01-05T17:00:00Z", 24 * NS_PER_H, 1},
    {"@daily", "2026-01-05T17:00:00Z", 24 * NS_PER_H, 1},
    {"0 9 * * mon", "2026-01-06T10:00:00Z", 2 * NS_PER_H, 0},
    {"0 9 * * mon", "2026-01-06T10:00:00Z", 26 * NS_PER_H, 1},
    {"0 9 * * *", "2026-01-05T09:00:00Z", 0, 0},
    {"0 9 * * *", "2026-01-05T09:00:00Z", -NS_PER_H, 0},
    {"0 9 * * *", "2026-01-05T09:00:00Z", INT64_MIN, 0},
    {"0 9 * * *", "2026-01-05T09:00:00Z", INT64_MAX, 1},
    {"0 0 30 2 *", "2026-01-05T09:00:00Z", INT64_MAX, 0},
};

START_TEST(test_active)
{
    struct cron c;
    ck_assert_int_eq(cron_parse(windows[_i].cron, &c, NULL), 0);
    ck_assert_int_eq(cron_active(&c, NULL, windows[_i].duration_ns, at(windows[_i].now)),
                     windows[_i].want);
}
END_TEST

START_TEST(test_ends_of_time)
{
    struct cron c;
    ck_assert_int_eq(cron_parse("* * * * *", &c, NULL), 0);
    ck_assert(cron_next(&c, NULL, INT64_MAX) == NS_NEVER);
    ck_assert(cron_next(&c, NULL, INT64_MAX - 1) == NS_NEVER);
    ck_assert(cron_next(&c, NULL, INT64_MIN) < 0);
    ck_assert(cron_next(&c, NULL, -1) == 0);
    ck_assert(cron_next(&c, NULL, -NS_PER_MIN) == 0);
    ck_assert(cron_active(&c, NULL, INT64_MAX, INT64_MIN) == 0);
}
END_TEST

UNIT_MAIN("cron", UNIT_CASES(test_next, hits), UNIT_CASES(test_refuse, refused),
          UNIT_TEST(test_long_text), UNIT_CASES(test_active, windows), UNIT_TEST(test_ends_of_time))
