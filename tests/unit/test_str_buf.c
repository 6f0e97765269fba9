/* test_str_buf.c - strict parsing and matching (str), growable bytes (buf), heap helpers (alloc) */
#include "unit.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/str.h"

static const struct {
    const char *s;
    bool ok;
    int64_t value;
} int_rows[] = {
    {"0", true, 0},
    {"-0", true, 0},
    {"007", true, 7},
    {"-12", true, -12},
    {"9223372036854775807", true, INT64_MAX},
    {"-9223372036854775808", true, INT64_MIN},
    {"9223372036854775808", false, 0},
    {"-9223372036854775809", false, 0},
    {"99999999999999999999999999", false, 0},
    {"", false, 0},
    {"-", false, 0},
    {"+1", false, 0},
    {" 1", false, 0},
    {"1 ", false, 0},
    {"1.0", false, 0},
    {"0x10", false, 0},
    {"--1", false, 0},
    {NULL, false, 0},
};

START_TEST(parses_integers)
{
    int64_t v = 77;
    ck_assert_int_eq(str_parse_i64(int_rows[_i].s, &v), int_rows[_i].ok);
    ck_assert_int_eq(v, int_rows[_i].ok ? int_rows[_i].value : 77);
}
END_TEST

static const struct {
    int64_t n;
    const char *s;
} number_rows[] = {
    {0, "0"},
    {7, "7"},
    {-10, "-10"},
    {1234567890, "1234567890"},
    {INT64_MAX, "9223372036854775807"},
    {INT64_MIN, "-9223372036854775808"},
};

START_TEST(writes_integers)
{
    char text[STR_I64_TEXT];
    ck_assert_str_eq(str_from_i64(number_rows[_i].n, text), number_rows[_i].s);
}
END_TEST

static const struct {
    const char *s;
    bool ok;
    double value;
} float_rows[] = {
    {"0.5", true, 0.5},  {"-2", true, -2},    {"+1.25", true, 1.25},  {".5", true, 0.5},
    {"5.", true, 5},     {"1e3", true, 1000}, {"1.5E-1", true, 0.15}, {"", false, 0},
    {".", false, 0},     {"e5", false, 0},    {"1e", false, 0},       {"1e+", false, 0},
    {"inf", false, 0},   {"NaN", false, 0},   {"0x1p3", false, 0},    {"1e999", false, 0},
    {"1.2.3", false, 0}, {" 1", false, 0},    {"1 ", false, 0},       {"1,5", false, 0},
    {NULL, false, 0},
};

START_TEST(parses_decimals)
{
    double v = 77;
    ck_assert_int_eq(str_parse_f64(float_rows[_i].s, &v), float_rows[_i].ok);
    ck_assert_double_eq(v, float_rows[_i].ok ? float_rows[_i].value : 77);
}
END_TEST

static const struct {
    const char *s;
    bool ok, value;
} bool_rows[] = {
    {"true", true, true}, {"false", true, false}, {"True", false, false},
    {"1", false, false},  {"", false, false},     {NULL, false, false},
};

START_TEST(parses_booleans)
{
    bool v = false;
    ck_assert_int_eq(str_parse_bool(bool_rows[_i].s, &v), bool_rows[_i].ok);
    ck_assert_int_eq(v, bool_rows[_i].value);
}
END_TEST

static const struct {
    const char *pattern, *s;
    bool match;
} glob_rows[] = {
    {"", "", true},
    {"", "a", false},
    {"*", "", true},
    {"*", "abc", true},
    {"m5.*", "m5.large", true},
    {"m5.*", "m5a.large", false},
    {"*.metal", "c5.metal", true},
    {"*.metal", "c5.metal-24xl", false},
    {"a*b*c", "a1b2b3c", true},
    {"a*b*c", "a1b2b3", false},
    {"?", "", false},
    {"?5*", "m5.large", true},
    {"a?c", "abc", true},
    {"a?c", "ac", false},
    {"**", "x", true},
    {"*a", "aaab", false},
    {"[a]", "a", false},
    {"[a]", "[a]", true},
    {NULL, "a", false},
    {"a", NULL, false},
    {"*aab*", "aaaaab", true},
};

START_TEST(globs)
{
    ck_assert_int_eq(str_glob(glob_rows[_i].pattern, glob_rows[_i].s), glob_rows[_i].match);
}
END_TEST

/* Exponential matchers do not come back from this one. */
START_TEST(glob_is_not_exponential)
{
    char text[2001];
    memset(text, 'a', 2000);
    text[2000] = '\0';
    ck_assert(!str_glob("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", text));
}
END_TEST

static const struct {
    const char *a, *b;
    int cmp;
    bool starts, ends, contains;
} pair_rows[] = {
    {"abc", "abc", 0, true, true, true},      {"abc", "ab", 1, true, false, true},
    {"abc", "bc", -1, false, true, true},     {"abc", "b", -1, false, false, true},
    {"abc", "", 1, true, true, true},         {"", "a", -1, false, false, false},
    {"abc", "abcd", -1, false, false, false}, {NULL, NULL, 0, false, false, false},
    {NULL, "", -1, false, false, false},      {"", NULL, 1, false, false, false},
    {"\xff", "a", 1, false, false, false},
};

START_TEST(compares)
{
    const char *a = pair_rows[_i].a;
    const char *b = pair_rows[_i].b;
    ck_assert_int_eq(str_cmp(a, b), pair_rows[_i].cmp);
    ck_assert_int_eq(str_cmp(b, a), -pair_rows[_i].cmp);
    ck_assert_int_eq(str_qsort_cmp(&a, &b), pair_rows[_i].cmp);
    ck_assert_int_eq(str_eq(a, b), pair_rows[_i].cmp == 0);
    ck_assert_int_eq(str_starts(a, b), pair_rows[_i].starts);
    ck_assert_int_eq(str_ends(a, b), pair_rows[_i].ends);
    ck_assert_int_eq(str_contains(a, b), pair_rows[_i].contains);
}
END_TEST

static const struct {
    const char *s;
    size_t n, len;
} utf8_rows[] = {
    {"a", 1, 1},
    {"\xc3\xa9", 2, 2},
    {"\xe2\x82\xac", 3, 3},
    {"\xf0\x9f\x98\x80", 4, 4},
    {"\xf4\x8f\xbf\xbf", 4, 4},
    {"\xc3\xa9", 1, 0},         /* cut */
    {"\xe2\x82", 2, 0},         /* cut */
    {"\x80", 1, 0},             /* tail without head */
    {"\xc0\xaf", 2, 0},         /* overlong */
    {"\xe0\x80\xaf", 3, 0},     /* overlong */
    {"\xf0\x80\x80\xaf", 4, 0}, /* overlong */
    {"\xed\xa0\x80", 3, 0},     /* surrogate */
    {"\xf4\x90\x80\x80", 4, 0}, /* beyond U+10FFFF */
    {"\xf8\x88\x80\x80\x80", 5, 0},
    {"\xff", 1, 0},
    {"\xe2\x28\xa1", 3, 0},
};

START_TEST(knows_utf8)
{
    ck_assert_uint_eq(str_utf8_len(utf8_rows[_i].s, utf8_rows[_i].n), utf8_rows[_i].len);
}
END_TEST

static const struct {
    const char *s;
    size_t size;
    const char *want;
} copy_rows[] = {
    {"abc", 8, "abc"},
    {"abc", 4, "abc"},
    {"abc", 3, "ab"},
    {"abc", 1, ""},
    {NULL, 4, ""},
    {"a\xc3\xa9", 4, "a\xc3\xa9"},
    {"a\xc3\xa9", 3, "a"},
    {"\xe2\x82\xac", 3, ""},
    {"\xf0\x9f\x98\x80x", 5, "\xf0\x9f\x98\x80"},
    {"\x80\x80\x80\x80\x80", 6, "\x80\x80\x80\x80\x80"},
};

START_TEST(copies)
{
    char dst[9];
    memset(dst, '#', sizeof(dst));
    str_copy(dst, copy_rows[_i].size, copy_rows[_i].s);
    ck_assert_str_eq(dst, copy_rows[_i].want);
    ck_assert_int_eq(dst[copy_rows[_i].size], '#');
}
END_TEST

START_TEST(copy_into_nothing)
{
    char dst = '#';
    str_copy(&dst, 0, "abc");
    ck_assert_int_eq(dst, '#');
}
END_TEST

START_TEST(buf_grows)
{
    AUTO_BUF struct buf b;
    buf_init(&b, 100000);
    ck_assert_str_eq(b.p, "");
    for (int i = 0; i < 10000; i++) {
        ck_assert_int_eq(buf_printf(&b, "%04d,", i), 0);
    }
    ck_assert_uint_eq(b.n, 50000);
    ck_assert_uint_eq(strlen(b.p), 50000);
    ck_assert_int_eq(memcmp(b.p + 5 * 4321, "4321,4322,", 10), 0);
    buf_consume(&b, 49990);
    ck_assert_str_eq(b.p, "9998,9999,");
    buf_consume(&b, 999);
    ck_assert_str_eq(b.p, "");
}
END_TEST

static const struct {
    size_t max;
    const char *first, *second;
    int rc_first, rc_second;
    const char *want;
} max_rows[] = {
    {6, "abc", "def", 0, 0, "abcdef"}, {5, "abc", "def", 0, -1, "abc"},
    {2, "abc", "d", -1, -1, ""},       {0, "", "", 0, 0, ""},
    {0, "a", "", -1, -1, ""},          {3, "abc", "", 0, 0, "abc"},
};

START_TEST(buf_keeps_its_maximum)
{
    AUTO_BUF struct buf puts;
    AUTO_BUF struct buf prints;
    buf_init(&puts, max_rows[_i].max);
    buf_init(&prints, max_rows[_i].max);
    ck_assert_int_eq(buf_puts(&puts, max_rows[_i].first), max_rows[_i].rc_first);
    ck_assert_int_eq(buf_puts(&puts, max_rows[_i].second), max_rows[_i].rc_second);
    ck_assert_int_eq(buf_printf(&prints, "%s", max_rows[_i].first), max_rows[_i].rc_first);
    ck_assert_int_eq(buf_printf(&prints, "%s", max_rows[_i].second), max_rows[_i].rc_second);
    ck_assert_str_eq(puts.p, max_rows[_i].want);
    ck_assert_str_eq(prints.p, max_rows[_i].want);
    ck_assert_int_eq(puts.over, max_rows[_i].rc_second < 0);
    ck_assert_int_eq(prints.over, max_rows[_i].rc_second < 0);
    buf_reset(&puts);
    ck_assert(!puts.over && puts.n == 0);
}
END_TEST

START_TEST(buf_hands_over)
{
    AUTO_BUF struct buf b;
    buf_init(&b, 10);
    buf_putc(&b, 'x');
    buf_put(&b, "\0y", 2);
    AUTO_FREE char *s = buf_take(&b);
    ck_assert_int_eq(memcmp(s, "x\0y", 4), 0);
    ck_assert_uint_eq(b.n, 0);
    ck_assert_int_eq(buf_puts(&b, "0123456789"), 0);
    ck_assert_str_eq(b.p, "0123456789");
}
END_TEST

START_TEST(buf_zeroed)
{
    struct buf b = {0};
    ck_assert_int_eq(buf_puts(&b, "a"), -1);
    ck_assert_int_eq(buf_printf(&b, "%d", 1), -1);
    buf_reset(&b);
    buf_consume(&b, 3);
    buf_done(&b);
    buf_done(&b);
    ck_assert_ptr_null(b.p);
}
END_TEST

START_TEST(heap_helpers)
{
    AUTO_FREE char *none = xstrdup(NULL);
    AUTO_FREE char *cut = xstrndup("abcdef", 3);
    AUTO_FREE char *short_one = xstrndup("ab", 30);
    AUTO_FREE char *printed = xasprintf("%s-%d", "n", 7);
    AUTO_FREE void *empty = xmalloc(0);
    ck_assert_ptr_null(none);
    ck_assert_str_eq(cut, "abc");
    ck_assert_str_eq(short_one, "ab");
    ck_assert_str_eq(printed, "n-7");
    ck_assert_ptr_nonnull(empty);
    int *items = NULL;
    size_t n = 0;
    size_t cap = 0;
    for (int i = 0; i < 1000; i++) {
        ARRAY_GROW(items, n, cap);
        items[n++] = i;
    }
    ck_assert_int_eq(items[0] + items[999], 999);
    cleanup_free(&items);
    ck_assert_ptr_null(items);
}
END_TEST

UNIT_MAIN("str_buf", UNIT_CASES(parses_integers, int_rows),
          UNIT_CASES(writes_integers, number_rows), UNIT_CASES(parses_decimals, float_rows),
          UNIT_CASES(parses_booleans, bool_rows), UNIT_CASES(globs, glob_rows),
          UNIT_TEST(glob_is_not_exponential), UNIT_CASES(compares, pair_rows),
          UNIT_CASES(knows_utf8, utf8_rows), UNIT_CASES(copies, copy_rows),
          UNIT_TEST(copy_into_nothing), UNIT_TEST(buf_grows),
          UNIT_CASES(buf_keeps_its_maximum, max_rows), UNIT_TEST(buf_hands_over),
          UNIT_TEST(buf_zeroed), UNIT_TEST(heap_helpers))
