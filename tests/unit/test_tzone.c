#include "common/base/clock.h"
#include "common/base/cron.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/base/tzone.h"
#include "unit.h"

static int64_t at(const char *s)
{
    int64_t ns;
    ck_assert_msg(timefmt_parse_rfc3339(s, &ns), "%s", s);
    return ns;
}

/* A file of version 2 with no transitions, whose rule is what is tested. */
static const struct tzone *of_rule(struct arena *a, const char *rule)
{
    static uint8_t data[512];
    size_t n = 0;
    memset(data, 0, sizeof(data));
    for (int i = 0; i < 2; i++) {
        memcpy(data + n, "TZif2", 5);
        data[n + 39] = 1; /* one type */
        data[n + 43] = 1; /* one char */
        n += 44 + 6 + 1;
    }
    n += (size_t)snprintf((char *)data + n, sizeof(data) - n, "\n%s\n", rule);
    struct err err = ERR_INIT;
    return tzone_parse(a, data, n, &err);
}

static const struct rule_row {
    const char *rule, *utc;
    int64_t minutes; /* ahead of UTC */
} rules[] = {
    {"CET-1CEST,M3.5.0,M10.5.0/3", "2024-01-01T00:00:00Z", 60},
    {"CET-1CEST,M3.5.0,M10.5.0/3", "2024-03-31T00:59:59Z", 60},
    {"CET-1CEST,M3.5.0,M10.5.0/3", "2024-03-31T01:00:00Z", 120},
    {"CET-1CEST,M3.5.0,M10.5.0/3", "2024-10-27T00:59:59Z", 120},
    {"CET-1CEST,M3.5.0,M10.5.0/3", "2024-10-27T01:00:00Z", 60},
    {"CET-1CEST,M3.5.0,M10.5.0/3", "2200-07-01T00:00:00Z", 120},
    {"EST5EDT,M3.2.0,M11.1.0", "2024-03-10T06:59:59Z", -300},
    {"EST5EDT,M3.2.0,M11.1.0", "2024-03-10T07:00:00Z", -240},
    {"EST5EDT,M3.2.0,M11.1.0", "2024-11-03T06:00:00Z", -300},
    {"AEST-10AEDT,M10.1.0,M4.1.0/3", "2024-01-15T00:00:00Z", 660},
    {"AEST-10AEDT,M10.1.0,M4.1.0/3", "2024-07-15T00:00:00Z", 600},
    {"<+0545>-5:45", "2024-01-01T00:00:00Z", 345},
    {"UTC0", "2024-01-01T00:00:00Z", 0},
    {"XXX0YYY,J60,J300", "2024-02-29T23:00:00Z", 0}, /* J60 is March 1st, leap year or not */
    {"XXX0YYY,J60,J300", "2024-03-01T02:00:00Z", 60},
    {"XXX0YYY,59,300", "2024-02-29T02:00:00Z", 60}, /* 59 is February 29th in a leap year */
    {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2024-03-31T00:59:59Z", -120},
    {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2024-03-31T01:00:00Z", -60},
};

START_TEST(test_rules)
{
    struct arena a;
    arena_init(&a, 0, SIZE_MAX);
    const struct tzone *tz = of_rule(&a, rules[_i].rule);
    ck_assert_msg(tz != NULL, "%s", rules[_i].rule);
    ck_assert_msg(tzone_offset_ns(tz, at(rules[_i].utc)) == rules[_i].minutes * NS_PER_MIN,
                  "%s at %s: %lld", rules[_i].rule, rules[_i].utc,
                  (long long)(tzone_offset_ns(tz, at(rules[_i].utc)) / NS_PER_MIN));
    arena_done(&a);
}
END_TEST

static const char *const bad_rules[] = {"X",
                                        "CET",
                                        "CET-1CEST",
                                        "CET-1CEST,M3.5.0",
                                        "CET-1CEST,M13.5.0,M10.5.0",
                                        "CET-200",
                                        "CET-30",
                                        "CET-1CEST,J0,J300",
                                        "CET-1CEST,M3.6.0,M10.5.0",
                                        "CET-1CEST,M3.5.7,M10.5.0",
                                        "CET-1CEST,J366,J1x",
                                        "<CET-1",
                                        "CET-1CEST,M3.5.0,M10.5.0 "};

START_TEST(test_bad_rules)
{
    struct arena a;
    arena_init(&a, 0, SIZE_MAX);
    ck_assert_msg(of_rule(&a, bad_rules[_i]) == NULL, "%s", bad_rules[_i]);
    arena_done(&a);
}
END_TEST

/* Cut anywhere, or with any byte changed, a file is refused or read; it never crashes. */
START_TEST(test_broken_files)
{
    struct arena a;
    arena_init(&a, 0, SIZE_MAX);
    uint8_t data[160];
    size_t n = 0;
    memset(data, 0, sizeof(data));
    for (int i = 0; i < 2; i++) {
        memcpy(data + n, "TZif2", 5);
        data[n + 35] = 1; /* one transition */
        data[n + 39] = 1;
        data[n + 43] = 1;
        n += 44 + (i ? 8u : 4u) + 1 + 6 + 1;
    }
    n += (size_t)snprintf((char *)data + n, sizeof(data) - n, "\nUTC0\n");
    ck_assert_ptr_nonnull(tzone_parse(&a, data, n, NULL));
    for (size_t i = 0; i < n; i++) {
        ck_assert_ptr_null(tzone_parse(&a, data, i, NULL));
        uint8_t was = data[i];
        data[i] = 0xff;
        const struct tzone *tz = tzone_parse(&a, data, n, NULL);
        (void)tzone_offset_ns(tz, at("2024-01-01T00:00:00Z"));
        data[i] = was;
    }
    arena_done(&a);
}
END_TEST

static const char *const bad_names[] = {
    "", "/etc/passwd", "../passwd", "Europe/../x", "No/Such_One", "a b", "Europe/Berlin\n"};

START_TEST(test_bad_names)
{
    struct arena a;
    struct err err = ERR_INIT;
    arena_init(&a, 0, SIZE_MAX);
    ck_assert_ptr_null(tzone_load(&a, TZONE_FOLDER, bad_names[_i], &err));
    ck_assert_int_eq(err.kind, ERR_INVALID);
    ck_assert_ptr_nonnull(tzone_load(&a, "/nowhere", "UTC", &err));
    arena_done(&a);
}
END_TEST

/* Hits of a schedule in local time, on the days when clocks change. */
static const struct hit_row {
    const char *cron, *from, *next;
} hits[] = {
    {"0 9 * * *", "2024-01-10T00:00:00Z", "2024-01-10T08:00:00Z"},
    {"0 9 * * *", "2024-07-10T00:00:00Z", "2024-07-10T07:00:00Z"},
    {"0 9 * * *", "2024-03-30T08:00:00Z", "2024-03-31T07:00:00Z"},
    {"0 9 * * *", "2024-10-26T07:00:00Z", "2024-10-27T08:00:00Z"},
    /* 2:30 does not come on the 31st: the clocks go from 2:00 to 3:00 then */
    {"30 2 * * *", "2024-03-30T02:00:00Z", "2024-03-31T01:00:00Z"},
    {"30 2 * * *", "2024-03-31T01:00:00Z", "2024-04-01T00:30:00Z"},
    {"*/15 * * * *", "2024-03-31T00:45:00Z", "2024-03-31T01:00:00Z"},
    {"*/15 * * * *", "2024-03-31T01:00:00Z", "2024-03-31T01:15:00Z"},
    {"0 2 * * 0", "2024-03-25T00:00:00Z", "2024-03-31T01:00:00Z"},
    {"0 3 * * 0", "2024-03-25T00:00:00Z", "2024-03-31T01:00:00Z"},
    {"30 2 * * 1", "2024-03-30T00:00:00Z", "2024-04-01T00:30:00Z"},
    /* it comes twice */
    {"30 2 * * *", "2024-10-26T12:00:00Z", "2024-10-27T00:30:00Z"},
    {"30 2 * * *", "2024-10-27T00:30:00Z", "2024-10-27T01:30:00Z"},
    {"30 2 * * *", "2024-10-27T01:30:00Z", "2024-10-28T01:30:00Z"},
    {"0 * * * *", "2024-10-27T00:00:00Z", "2024-10-27T01:00:00Z"},
    {"0 * * * *", "2024-10-27T01:00:00Z", "2024-10-27T02:00:00Z"},
    {"0 3 * * *", "2024-10-26T12:00:00Z", "2024-10-27T02:00:00Z"},
    {"0 12 29 2 *", "2024-03-01T00:00:00Z", "2028-02-29T11:00:00Z"},
    {"0 0 * * 1", "2024-01-10T00:00:00Z", "2024-01-14T23:00:00Z"}, /* Monday in Berlin */
};

START_TEST(test_hits)
{
    struct arena a;
    struct cron c;
    arena_init(&a, 0, SIZE_MAX);
    const struct tzone *tz = of_rule(&a, "CET-1CEST,M3.5.0,M10.5.0/3");
    ck_assert_int_eq(cron_parse(hits[_i].cron, &c, NULL), 0);
    char got[TIMEFMT_TEXT];
    ck_assert_str_eq(timefmt_rfc3339(cron_next(&c, tz, at(hits[_i].from)), got), hits[_i].next);
    arena_done(&a);
}
END_TEST

/* 9:00 to 17:00 in Berlin. */
START_TEST(test_window)
{
    struct arena a;
    struct cron c;
    arena_init(&a, 0, SIZE_MAX);
    const struct tzone *tz = of_rule(&a, "CET-1CEST,M3.5.0,M10.5.0/3");
    ck_assert_int_eq(cron_parse("0 9 * * *", &c, NULL), 0);
    ck_assert(!cron_active(&c, tz, 8 * NS_PER_H, at("2024-07-10T06:59:59Z")));
    ck_assert(cron_active(&c, tz, 8 * NS_PER_H, at("2024-07-10T07:00:00Z")));
    ck_assert(cron_active(&c, tz, 8 * NS_PER_H, at("2024-07-10T14:59:59Z")));
    ck_assert(!cron_active(&c, tz, 8 * NS_PER_H, at("2024-07-10T15:00:00Z")));
    ck_assert(cron_next(&c, tz, INT64_MAX) == NS_NEVER);
    ck_assert(cron_next(&c, tz, INT64_MIN) < 0);
    arena_done(&a);
}
END_TEST

/* Minute by minute: a hit is a minute whose local time the schedule has, or the one at which the
 * clocks were put forward over such a time. Rules with half an hour, and of the southern half. */
static const struct around_row {
    const char *rule, *cron, *from;
} around[] = {
    {"CET-1CEST,M3.5.0,M10.5.0/3", "*/20 * * * *", "2024-03-30T20:00:00Z"},
    {"CET-1CEST,M3.5.0,M10.5.0/3", "7 1-3 * * *", "2024-03-30T20:00:00Z"},
    {"CET-1CEST,M3.5.0,M10.5.0/3", "7 1-3 * * *", "2024-10-26T20:00:00Z"},
    {"EST5EDT,M3.2.0,M11.1.0", "0,30 2 * * *", "2024-03-09T12:00:00Z"},
    {"EST5EDT,M3.2.0,M11.1.0", "0,30 1 * * 0", "2024-11-02T12:00:00Z"},
    {"<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "*/10 1-2 * * *", "2024-04-06T00:00:00Z"},
    {"<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "*/10 1-2 * * *", "2024-10-05T00:00:00Z"},
    {"<-03>3<-02>,M3.5.0/-2,M10.5.0/-1", "0 22-23 * * *", "2024-03-29T20:00:00Z"},
    {"UTC0", "*/7 * * * *", "2024-03-30T20:00:00Z"},
};

static bool has_minute(const struct cron *c, int64_t local_ns)
{
    return cron_next(c, NULL, local_ns - 1) == local_ns;
}

static bool is_hit(const struct cron *c, const struct tzone *tz, int64_t wall_ns)
{
    int64_t before = tzone_offset_ns(tz, wall_ns - 1), now = tzone_offset_ns(tz, wall_ns);
    for (int64_t skipped = before; skipped < now; skipped += NS_PER_MIN) {
        if (has_minute(c, wall_ns + skipped)) {
            return true;
        }
    }
    return has_minute(c, wall_ns + now);
}

START_TEST(test_around_changes)
{
    struct arena a;
    struct cron c;
    arena_init(&a, 0, SIZE_MAX);
    const struct tzone *tz = of_rule(&a, around[_i].rule);
    ck_assert_int_eq(cron_parse(around[_i].cron, &c, NULL), 0);
    int64_t from = at(around[_i].from), hit = from - 1;
    for (int64_t t = from; t < from + 48 * NS_PER_H; t += NS_PER_MIN) {
        if (is_hit(&c, tz, t)) {
            hit = cron_next(&c, tz, hit);
            ck_assert_msg(hit == t, "%s in %s: %lld, not %lld", around[_i].cron, around[_i].rule,
                          (long long)hit, (long long)t);
        }
    }
    ck_assert(cron_next(&c, tz, hit) >= from + 48 * NS_PER_H);
    arena_done(&a);
}
END_TEST

/* The system's files, with the changes of years past and the rule for those to come. */
static const struct file_row {
    const char *name, *utc;
    int64_t minutes;
    const char *next;
} files[] = {
    {"Europe/Berlin", "2024-03-31T00:59:59Z", 60, "2024-03-31T01:00:00Z"},
    {"Europe/Berlin", "2024-03-31T01:00:00Z", 120, "2024-10-27T01:00:00Z"},
    {"Europe/Berlin", "2080-07-01T00:00:00Z", 120, "2080-10-27T01:00:00Z"},
    {"America/New_York", "2026-03-08T06:59:59Z", -300, "2026-03-08T07:00:00Z"},
    {"America/New_York", "2026-11-01T06:00:00Z", -300, "2027-03-14T07:00:00Z"},
    {"America/New_York", "1999-07-01T00:00:00Z", -240, "1999-10-31T06:00:00Z"},
    {"Asia/Kolkata", "2026-01-05T00:00:00Z", 330, NULL},
};

START_TEST(test_files)
{
    struct arena a;
    struct err err = ERR_INIT;
    char got[TIMEFMT_TEXT];
    arena_init(&a, 0, SIZE_MAX);
    const struct tzone *tz = tzone_load(&a, TZONE_FOLDER, files[_i].name, &err);
    ck_assert_msg(tz != NULL, "%s (package tzdata)", err.msg);
    ck_assert_int_eq(tzone_offset_ns(tz, at(files[_i].utc)), files[_i].minutes * NS_PER_MIN);
    int64_t next = tzone_next_change(tz, at(files[_i].utc));
    ck_assert_str_eq(next == NS_NEVER ? "" : timefmt_rfc3339(next, got),
                     files[_i].next ? files[_i].next : "");
    arena_done(&a);
}
END_TEST

/* Times that no calendar has. */
START_TEST(test_extremes)
{
    struct arena a;
    arena_init(&a, 0, SIZE_MAX);
    const struct tzone *tz = of_rule(&a, "CET-1CEST,M3.5.0,M10.5.0/3");
    (void)tzone_offset_ns(tz, INT64_MIN);
    (void)tzone_offset_ns(tz, INT64_MAX);
    ck_assert(tzone_next_change(tz, INT64_MIN) < 0);
    ck_assert(tzone_next_change(tz, INT64_MAX) == NS_NEVER);
    ck_assert(tzone_next_change(NULL, 0) == NS_NEVER);
    arena_done(&a);
}
END_TEST

UNIT_MAIN("tzone", UNIT_CASES(test_rules, rules), UNIT_CASES(test_bad_rules, bad_rules),
          UNIT_TEST(test_broken_files), UNIT_CASES(test_bad_names, bad_names),
          UNIT_CASES(test_hits, hits), UNIT_TEST(test_window),
          UNIT_CASES(test_around_changes, around), UNIT_CASES(test_files, files),
          UNIT_TEST(test_extremes))
