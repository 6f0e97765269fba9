#include "unit.h"

#include "common/base/clock.h"
#include "common/base/timefmt.h"

#include <stdbool.h>

#define S NS_PER_S
#define M NS_PER_MIN
#define H NS_PER_H
#define D (24 * NS_PER_H)

/* ---- RFC 3339 -------------------------------------------------------------------------------- */

static const struct {
    const char *text;
    int64_t ns;
} stamps[] = {
    {"1970-01-01T00:00:00Z", 0},
    {"1970-01-01T00:00:01Z", S},
    {"1970-01-01T01:00:00+01:00", 0},
    {"1970-01-01T00:00:00-01:00", H},
    {"2026-01-05T09:00:00Z", 1767603600 * S},
    {"2026-01-05T11:30:00+02:30", 1767603600 * S},
    {"2026-01-05T09:00:00.5Z", 1767603600 * S + 500000000},
    {"2026-01-05T09:00:00.123456789Z", 1767603600 * S + 123456789},
    {"2026-01-05T09:00:00.1234567899Z", 1767603600 * S + 123456789},
    {"2026-01-05T09:00:00.000000Z", 1767603600 * S},
    {"2000-02-29T23:59:59Z", 951868799 * S},
    {"2100-02-28T23:59:59Z", 4107542399 * S},
    {"2261-12-31T23:59:59.999999999Z", 9214646399 * S + 999999999},
    {"1970-01-02T00:00:00+23:59", 60 * S},
};

START_TEST(test_stamp)
{
    int64_t ns = -1;
    ck_assert_msg(timefmt_parse_rfc3339(stamps[_i].text, &ns), "%s", stamps[_i].text);
    ck_assert_msg(ns == stamps[_i].ns, "%s: %lld", stamps[_i].text, (long long)ns);
}
END_TEST

static const char *const bad_stamps[] = {
    NULL,
    "",
    "2026",
    "2026-01-05",
    "2026-01-05T09:00:00",
    "2026-01-05T09:00Z",
    "2026-01-05 09:00:00Z",
    "2026-01-05t09:00:00Z",
    "2026-01-05T09:00:00z",
    "2026-01-05T09:00:00Z ",
    " 2026-01-05T09:00:00Z",
    "2026-1-05T09:00:00Z",
    "2026-13-05T09:00:00Z",
    "2026-00-05T09:00:00Z",
    "2026-01-00T09:00:00Z",
    "2026-01-32T09:00:00Z",
    "2026-02-29T09:00:00Z",
    "2100-02-29T00:00:00Z",
    "2026-04-31T00:00:00Z",
    "2026-01-05T24:00:00Z",
    "2026-01-05T09:60:00Z",
    "2026-01-05T09:00:60Z",
    "2026-01-05T09:00:00.Z",
    "2026-01-05T09:00:00,5Z",
    "2026-01-05T09:00:00+0100",
    "2026-01-05T09:00:00+1:00",
    "2026-01-05T09:00:00+24:00",
    "2026-01-05T09:00:00+01:60",
    "2026-01-05T09:00:00+01:00Z",
    "1969-12-31T23:59:59Z",
    "1970-01-01T00:00:00+00:01",
    "2262-01-01T00:00:00Z",
    "0000-00-00T00:00:00Z",
    "-026-01-05T09:00:00Z",
    "2026-01-05T09:00:-1Z",
    "99999-01-05T09:00:00Z",
};

START_TEST(test_bad_stamp)
{
    int64_t ns = 42;
    ck_assert(!timefmt_parse_rfc3339(bad_stamps[_i], &ns));
    ck_assert_int_eq(ns, 42);
}
END_TEST

static const struct {
    int64_t ns;
    const char *text, *micro, *basic;
} printed[] = {
    {0, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z", "19700101T000000Z"},
    {1767603600 * S + 123456789, "2026-01-05T09:00:00Z", "2026-01-05T09:00:00.123456Z",
     "20260105T090000Z"},
    {951868799 * S, "2000-02-29T23:59:59Z", "2000-02-29T23:59:59.000000Z", "20000229T235959Z"},
    {951868800 * S, "2000-03-01T00:00:00Z", "2000-03-01T00:00:00.000000Z", "20000301T000000Z"},
    {4102444800 * S - 1, "2099-12-31T23:59:59Z", "2099-12-31T23:59:59.999999Z", "20991231T235959Z"},
    {INT64_MAX, "2262-04-11T23:47:16Z", "2262-04-11T23:47:16.854775Z", "22620411T234716Z"},
    {-1, "1969-12-31T23:59:59Z", "1969-12-31T23:59:59.999999Z", "19691231T235959Z"},
    {INT64_MIN, "1677-09-21T00:12:43Z", "1677-09-21T00:12:43.145224Z", "16770921T001243Z"},
};

START_TEST(test_print)
{
    char text[TIMEFMT_TEXT];
    ck_assert_str_eq(timefmt_rfc3339(printed[_i].ns, text), printed[_i].text);
    ck_assert_str_eq(timefmt_rfc3339_micro(printed[_i].ns, text), printed[_i].micro);
    ck_assert_str_eq(timefmt_basic(printed[_i].ns, text), printed[_i].basic);
}
END_TEST

/* Each day of two centuries goes through the calendar and back. */
START_TEST(test_calendar)
{
    int weekday = 4;
    for (int64_t day = 0; day < 73000; day++) {
        struct timefmt_civil c;
        timefmt_split(day * D + 86399 * S, &c);
        ck_assert_int_eq(timefmt_days(c.year, c.month, c.day), day);
        ck_assert_int_eq(c.weekday, weekday);
        ck_assert_int_eq(c.hour * 10000 + c.minute * 100 + c.second, 235959);
        weekday = (weekday + 1) % 7;
    }
}
END_TEST

/* ---- durations ------------------------------------------------------------------------------- */

static const struct {
    const char *text;
    int64_t ns;
} durations[] = {
    {"0", 0},
    {"-0", 0},
    {"+0", 0},
    {"0s", 0},
    {"1ns", 1},
    {"1us", 1000},
    {"1\xc2\xb5s", 1000},
    {"1\xce\xbcs", 1000},
    {"1ms", 1000000},
    {"1s", S},
    {"1m", M},
    {"1h", H},
    {"+5s", 5 * S},
    {"-5s", -5 * S},
    {"1h30m", 90 * M},
    {"1.5h", 90 * M},
    {".5s", S / 2},
    {"1.s", S},
    {"1h0m0.5s", H + S / 2},
    {"5m5m", 10 * M},
    {"30m1h", 90 * M},
    {"720h", 30 * D},
    {"1.0000000001s", S},
    {"0.3333333333333333333h", 20 * M},
    {"0.100000000000000000000h", 6 * M},
    {"0.9223372036854775807h", 3320413933267},
    {"9223372036854775807ns", INT64_MAX},
    {"-9223372036854775808ns", INT64_MIN},
    {"-9223372036854775.808us", INT64_MIN},
    {"2562047h47m16.854775807s", INT64_MAX},
    {"-2562047h47m16.854775808s", INT64_MIN},
};

START_TEST(test_duration)
{
    int64_t ns = 42;
    ck_assert_msg(timefmt_parse_duration(durations[_i].text, &ns), "%s", durations[_i].text);
    ck_assert_msg(ns == durations[_i].ns, "%s: %lld", durations[_i].text, (long long)ns);
    ck_assert(timefmt_parse_duration_days(durations[_i].text, &ns));
    ck_assert(ns == durations[_i].ns);
}
END_TEST

static const char *const bad_durations[] = {
    NULL,
    "",
    "-",
    "+",
    "1",
    "00",
    "s",
    ".s",
    "-.s",
    ".",
    "1.5",
    "1x",
    "1S",
    "1H",
    "1 h",
    " 1h",
    "1h ",
    "1h 30m",
    "--1s",
    "1h-30m",
    "1e3s",
    "0x1s",
    "1d",
    "1hh",
    "1min",
    "1.2.3s",
    "\xc2\xb5s",
    "1\xc2s",
    "9223372036854775808ns",
    "-9223372036854775809ns",
    "9223372036854775807ns1ns",
    "9223372036854775808ns9223372036854775808ns",
    "-9223372036854775808ns1ns",
    "2562048h",
    "99999999999999999999999999999h",
    "Never",
};

START_TEST(test_bad_duration)
{
    int64_t ns = 42;
    ck_assert(!timefmt_parse_duration(bad_durations[_i], &ns));
    ck_assert_int_eq(ns, 42);
}
END_TEST

START_TEST(test_days)
{
    int64_t ns = 42;
    ck_assert(timefmt_parse_duration_days("30d", &ns) && ns == 30 * D);
    ck_assert(timefmt_parse_duration_days("1.5d", &ns) && ns == 36 * H);
    ck_assert(timefmt_parse_duration_days("-2d3h4m", &ns) && ns == -(2 * D + 3 * H + 4 * M));
    ck_assert(!timefmt_parse_duration_days("1D", &ns));
    ck_assert(!timefmt_parse_duration_days("1dd", &ns));
    ck_assert(!timefmt_parse_duration_days("106752d", &ns));
    ck_assert(!timefmt_parse_duration_days("1w", &ns));
}
END_TEST

static const struct {
    int64_t ns;
    const char *duration, *age;
} shown[] = {
    {0, "0s", "0s"},
    {1, "1ns", "0s"},
    {1100, "1.1\xc2\xb5s", "0s"},
    {2200000, "2.2ms", "0s"},
    {999999999, "999.999999ms", "0s"},
    {S, "1s", "1s"},
    {3300000000, "3.3s", "3s"},
    {59 * S + 1, "59.000000001s", "59s"},
    {M, "1m0s", "60s"},
    {119 * S, "1m59s", "119s"},
    {120 * S, "2m0s", "2m"},
    {121 * S, "2m1s", "2m1s"},
    {10 * M - S, "9m59s", "9m59s"},
    {10 * M + S, "10m1s", "10m"},
    {3 * H - S, "2h59m59s", "179m"},
    {3 * H, "3h0m0s", "3h"},
    {3 * H + M, "3h1m0s", "3h1m"},
    {8 * H - S, "7h59m59s", "7h59m"},
    {8 * H + M, "8h1m0s", "8h"},
    {48 * H - S, "47h59m59s", "47h"},
    {48 * H, "48h0m0s", "2d"},
    {51 * H, "51h0m0s", "2d3h"},
    {8 * D - S, "191h59m59s", "7d23h"},
    {8 * D + H, "193h0m0s", "8d"},
    {730 * D - S, "17519h59m59s", "729d"},
    {730 * D, "17520h0m0s", "2y"},
    {731 * D, "17544h0m0s", "2y1d"},
    {8 * 365 * D - S, "70079h59m59s", "7y364d"},
    {8 * 365 * D + D, "70104h0m0s", "8y"},
    {-1, "-1ns", "0s"},
    {-90 * M, "-1h30m0s", "0s"},
    {INT64_MAX, "2562047h47m16.854775807s", "292y"},
    {INT64_MIN, "-2562047h47m16.854775808s", "0s"},
};

START_TEST(test_show)
{
    char text[TIMEFMT_TEXT];
    int64_t back = 42;
    ck_assert_str_eq(timefmt_age(shown[_i].ns, text), shown[_i].age);
    ck_assert_str_eq(timefmt_duration(shown[_i].ns, text), shown[_i].duration);
    ck_assert(timefmt_parse_duration(text, &back));
    ck_assert(back == shown[_i].ns);
}
END_TEST

UNIT_MAIN("timefmt", UNIT_CASES(test_stamp, stamps), UNIT_CASES(test_bad_stamp, bad_stamps),
          UNIT_CASES(test_print, printed), UNIT_TEST(test_calendar),
          UNIT_CASES(test_duration, durations), UNIT_CASES(test_bad_duration, bad_durations),
          UNIT_TEST(test_days), UNIT_CASES(test_show, shown))
