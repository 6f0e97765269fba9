#include "unit.h"

#include "common/base/quantity.h"

#include <stdbool.h>

/* Values as k8s.io/apimachinery gives them, apart from clamping (there they wrap). */
static const struct {
    const char *text;
    int64_t milli, whole;
} parsed[] = {
    {"0", 0, 0},
    {"-0", 0, 0},
    {"+0", 0, 0},
    {"00", 0, 0},
    {"1", 1000, 1},
    {"+1", 1000, 1},
    {"-1", -1000, -1},
    {"0001", 1000, 1},
    {"1.", 1000, 1},
    {".5", 500, 1},
    {"-.5", -500, -1},
    {"0.5", 500, 1},
    {"1.5", 1500, 2},
    {"100m", 100, 1},
    {"1500m", 1500, 2},
    {"1999m", 1999, 2},
    {"2000m", 2000, 2},
    {"-1500m", -1500, -2},
    {"0.1m", 1, 1},
    {"1u", 1, 1},
    {"999u", 1, 1},
    {"1001u", 2, 1},
    {"1n", 1, 1},
    {"0n", 0, 0},
    {"0.0000000001", 1, 1},
    {"1000000n", 1, 1},
    {"1000001n", 2, 1},
    {"1k", 1000000, 1000},
    {"1M", 1000000000, 1000000},
    {"1G", 1000000000000, 1000000000},
    {"1T", 1000000000000000, 1000000000000},
    {"1P", 1000000000000000000, 1000000000000000},
    {"1E", INT64_MAX, 1000000000000000000},
    {"1Ki", 1024000, 1024},
    {"1Mi", 1048576000, 1048576},
    {"1Gi", 1073741824000, 1073741824},
    {"1Ti", 1099511627776000, 1099511627776},
    {"1Pi", 1125899906842624000, 1125899906842624},
    {"1Ei", INT64_MAX, 1152921504606846976},
    {"7Ei", INT64_MAX, 8070450532247928832},
    {"8Ei", INT64_MAX, INT64_MAX},
    {"-8Ei", INT64_MIN, INT64_MIN},
    {"1.5Gi", 1610612736000, 1610612736},
    {"0.5Ki", 512000, 512},
    {"0.1Ki", 102400, 103},
    {"0.1Mi", 104857600, 104858},
    {"-0.1Mi", -104857600, -104858},
    {"0.0000000001Gi", 108, 1},
    {"1e3", 1000000, 1000},
    {"1E3", 1000000, 1000},
    {"1e+3", 1000000, 1000},
    {"1e-3", 1, 1},
    {"1e-4", 1, 1},
    {"123.456e2", 12345600, 12346},
    {"1e0", 1000, 1},
    {"0e9999", 0, 0},
    {"1e9999", INT64_MAX, INT64_MAX},
    {"-1e9999", INT64_MIN, INT64_MIN},
    {"1e-9999", 1, 1},
    {"-1e-9999", -1, -1},
    {"1e99999999999999999999", INT64_MAX, INT64_MAX},
    {"1e-99999999999999999999", 1, 1},
    {"9223372036854775807", INT64_MAX, INT64_MAX},
    {"9223372036854775806", INT64_MAX, 9223372036854775806},
    {"9223372036854775808", INT64_MAX, INT64_MAX},
    {"-9223372036854775807", INT64_MIN, -INT64_MAX},
    {"9223372036854775807m", INT64_MAX, 9223372036854776},
    {"9223372036854775806.5", INT64_MAX, INT64_MAX},
    {"9223372036854775.807", INT64_MAX, 9223372036854776},
    {"9223372036854775.8071", INT64_MAX, 9223372036854776},
    {"99999999999999999999999999999999999999999999", INT64_MAX, INT64_MAX},
    {"0.00000000000000000000000000000000000000000001", 1, 1},
    {"1000000000000000000000000000000000000000000e-42", 1000, 1},
    {"0.000000000000000000000000000001e30", 1000, 1},
};

START_TEST(test_parse)
{
    int64_t milli = 7, whole = 7;
    ck_assert_msg(quantity_parse_milli(parsed[_i].text, &milli), "%s", parsed[_i].text);
    ck_assert_msg(quantity_parse(parsed[_i].text, &whole), "%s", parsed[_i].text);
    ck_assert_msg(milli == parsed[_i].milli, "%s: milli %lld", parsed[_i].text, (long long)milli);
    ck_assert_msg(whole == parsed[_i].whole, "%s: whole %lld", parsed[_i].text, (long long)whole);
}
END_TEST

static const char *const refused[] = {
    NULL,    "",      " ",     "+",    "-",     ".",     "-.",       "Ki",    "m",      "e3",
    ".e3",   " 1",    "1 ",    "1 Gi", "1K",    "1ki",   "1kI",      "1mi",   "1i",     "1KiB",
    "1GiGi", "1b",    "1e",    "1E+",  "1e3.5", "1e3Ki", "1Kie3",    "1e 3",  "--1",    "+-1",
    "1-",    "1.2.3", "1..2",  "0x10", "1_000", "1,5",   "infinity", "nan",   "1\n",    "1m5",
    "1.1.M", "1+1",   ".5i",   "aoeu", "1\xc2", "\t1",   "1e+-3",    "1e--3", "1e\xff", "1u1",
    "1EE",   "1Eie",  "1e1e1", "١",    "1mm",   "1N",    "1U",       "1g",    "1t",     "1p",
};

START_TEST(test_refuse)
{
    int64_t v = 42;
    int c = 42;
    ck_assert(!quantity_parse(refused[_i], &v));
    ck_assert(!quantity_parse_milli(refused[_i], &v));
    ck_assert(!quantity_cmp(refused[_i], "1", &c));
    ck_assert(!quantity_cmp("1", refused[_i], &c));
    ck_assert_int_eq(v, 42);
    ck_assert_int_eq(c, 42);
}
END_TEST

START_TEST(test_length)
{
    char text[QUANTITY_PARSE_MAX + 2];
    int64_t v;
    memset(text, '9', sizeof(text));
    text[QUANTITY_PARSE_MAX] = '\0';
    ck_assert(quantity_parse(text, &v));
    ck_assert(v == INT64_MAX);
    memcpy(text + QUANTITY_PARSE_MAX - 2, "Ei", 2);
    ck_assert(quantity_parse_milli(text, &v));
    ck_assert(v == INT64_MAX);
    memcpy(text, "0.", 2);
    ck_assert(quantity_parse(text, &v));
    ck_assert(v == 1152921504606846976);
    text[QUANTITY_PARSE_MAX] = '0';
    text[QUANTITY_PARSE_MAX + 1] = '\0';
    ck_assert(!quantity_parse(text, &v));
}
END_TEST

static const struct {
    const char *a, *b;
    int want;
} compared[] = {
    {"1", "1", 0},
    {"1", "1000m", 0},
    {"1", "1001m", -1},
    {"1Gi", "1024Mi", 0},
    {"1Gi", "1G", 1},
    {"1Gi", "1073741824", 0},
    {"1Gi", "1073741824.000000001", -1},
    {"0", "-0", 0},
    {"-1", "1", -1},
    {"-2", "-1", -1},
    {"1n", "0", 1},
    {"0.1n", "1n", 0},
    {"0.1n", "0", 1},
    {"1e3", "1k", 0},
    {"100E", "1000E", 0},
    {"9223372036854775807", "9223372036854775806", 1},
    {"-100E", "100E", -1},
    {"1.5Ki", "1536", 0},
};

START_TEST(test_cmp)
{
    int c = 42;
    ck_assert(quantity_cmp(compared[_i].a, compared[_i].b, &c));
    ck_assert_int_eq(c, compared[_i].want);
    ck_assert(quantity_cmp(compared[_i].b, compared[_i].a, &c));
    ck_assert_int_eq(c, -compared[_i].want);
}
END_TEST

enum how { MILLI, BYTES, COUNT };

static const struct {
    enum how how;
    int64_t n;
    const char *text;
} printed[] = {
    {MILLI, 0, "0"},
    {MILLI, 1, "1m"},
    {MILLI, 1500, "1500m"},
    {MILLI, 2000, "2"},
    {MILLI, 12000, "12"},
    {MILLI, 100000, "100"},
    {MILLI, 1000000, "1k"},
    {MILLI, 1500000, "1500"},
    {MILLI, -250, "-250m"},
    {MILLI, -2000, "-2"},
    {MILLI, INT64_MAX, "9223372036854775807m"},
    {MILLI, INT64_MIN, "-9223372036854775808m"},
    {MILLI, 1000000000000000000, "1P"},
    {BYTES, 0, "0"},
    {BYTES, 1, "1"},
    {BYTES, 1000, "1000"},
    {BYTES, 1023, "1023"},
    {BYTES, 1024, "1Ki"},
    {BYTES, 1536, "1536"},
    {BYTES, 1610612736, "1536Mi"},
    {BYTES, 21474836480, "20Gi"},
    {BYTES, 1099511627776, "1Ti"},
    {BYTES, 1125899906842624, "1Pi"},
    {BYTES, 1152921504606846976, "1Ei"},
    {BYTES, -1073741824, "-1Gi"},
    {BYTES, INT64_MAX, "9223372036854775807"},
    {BYTES, INT64_MIN, "-8Ei"},
    {COUNT, 0, "0"},
    {COUNT, 110, "110"},
    {COUNT, 1000, "1k"},
    {COUNT, 1100, "1100"},
    {COUNT, 1000000, "1M"},
    {COUNT, -5000, "-5k"},
    {COUNT, 1000000000000000000, "1E"},
    {COUNT, 9000000000000000000, "9E"},
};

START_TEST(test_print)
{
    char text[QUANTITY_TEXT];
    int64_t n = printed[_i].n, back = 0;
    bool ok = false;
    switch (printed[_i].how) {
    case MILLI:
        ck_assert_str_eq(quantity_fmt_milli(n, text), printed[_i].text);
        ok = quantity_parse_milli(text, &back);
        break;
    case BYTES:
        ck_assert_str_eq(quantity_fmt_bytes(n, text), printed[_i].text);
        ok = quantity_parse(text, &back);
        break;
    case COUNT:
        ck_assert_str_eq(quantity_fmt_count(n, text), printed[_i].text);
        ok = quantity_parse(text, &back);
        break;
    }
    ck_assert(ok);
    ck_assert(back == n);
}
END_TEST

UNIT_MAIN("quantity", UNIT_CASES(test_parse, parsed), UNIT_CASES(test_refuse, refused),
          UNIT_TEST(test_length), UNIT_CASES(test_cmp, compared), UNIT_CASES(test_print, printed))
