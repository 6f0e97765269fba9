/* test_log.c - the text of records, escaping, the cap of a line */
#include "unit.h"

#include "common/base/alloc.h"
#include "common/base/log.h"

#include <jansson.h>

#define HEAD                                                                                       \
    "{\"level\":\"INFO\",\"time\":\"2026-01-05T09:00:00.042Z\",\"logger\":\"karp\",\"message\":"

struct sink {
    char text[LOG_LINE_MAX + 1];
    size_t n;
    int lines;
};

static void keep(void *ctx, const char *line, size_t n)
{
    struct sink *s = ctx;
    ck_assert_uint_le(n, LOG_LINE_MAX);
    memcpy(s->text, line, n);
    s->text[n] = '\0';
    s->n = n;
    s->lines++;
}

static int64_t fixed_ns(UNUSED void *ctx)
{
    return INT64_C(1767603600042999999);
}

static const struct clock fixed_clock = {fixed_ns, fixed_ns, NULL};

static struct log logger(struct sink *s)
{
    return (struct log){LOG_INFO_LEVEL, "karp", &fixed_clock, keep, s};
}

static const struct {
    const char *value, *want;
} rows[] = {
    {"plain", "\"plain\""},
    {"", "\"\""},
    {NULL, "null"},
    {"5", "\"5\""},
    {"a\"b\\c", "\"a\\\"b\\\\c\""},
    {"\n\r\t\b\f", "\"\\n\\r\\t\\b\\f\""},
    {"\x01\x1f\x7f", "\"\\u0001\\u001f\\u007f\""},
    {"</a>&", "\"</a>&\""},
    {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
    {"a\xff"
     "b",
     "\"a\\ufffdb\""},
    {"\xc3", "\"\\ufffd\""},
    {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""},
    {"\xc0\xaf", "\"\\ufffd\\ufffd\""},
};

START_TEST(escapes)
{
    struct sink s = {.n = 0};
    struct log l = logger(&s);
    log_info(&l, "m", "key", rows[_i].value, "after", "x");
    char want[512];
    snprintf(want, sizeof(want), HEAD "\"m\",\"key\":%s,\"after\":\"x\"}\n", rows[_i].want);
    ck_assert_str_eq(s.text, want);
}
END_TEST

START_TEST(numbers)
{
    struct sink s = {.n = 0};
    struct log l = logger(&s);
    log_info(&l, "a \"b\"", "n\n", log_n(-5), "max", log_n(INT64_MAX), "min", log_n(INT64_MIN));
    ck_assert_str_eq(s.text, HEAD "\"a \\\"b\\\"\",\"n\\n\":-5,\"max\":9223372036854775807,"
                                  "\"min\":-9223372036854775808}\n");
    log_info(&l, "m");
    ck_assert_str_eq(s.text, HEAD "\"m\"}\n");
    log_info(&l, NULL);
    ck_assert_str_eq(s.text, HEAD "null}\n");
}
END_TEST

START_TEST(eight_numbers_at_a_time)
{
    const char *n[8];
    for (int i = 0; i < 8; i++) {
        n[i] = log_n(i);
    }
    for (int i = 0; i < 8; i++) {
        ck_assert_int_eq(atoi(n[i]), i);
    }
}
END_TEST

static const struct {
    enum log_level least, level;
    int lines;
    const char *name;
} level_rows[] = {
    {LOG_DEBUG_LEVEL, LOG_DEBUG_LEVEL, 1, "\"level\":\"DEBUG\""},
    {LOG_INFO_LEVEL, LOG_DEBUG_LEVEL, 0, ""},
    {LOG_INFO_LEVEL, LOG_ERROR_LEVEL, 1, "\"level\":\"ERROR\""},
    {LOG_ERROR_LEVEL, LOG_INFO_LEVEL, 0, ""},
};

START_TEST(levels)
{
    struct sink s = {.n = 0};
    struct log l = logger(&s);
    l.level = level_rows[_i].least;
    log_event(&l, level_rows[_i].level, "m", (char *)NULL);
    ck_assert_int_eq(s.lines, level_rows[_i].lines);
    ck_assert_ptr_nonnull(strstr(s.text, level_rows[_i].name));
    log_error((struct log *)NULL, "nobody listens");
}
END_TEST

static const char *const units[] = {"x", "\"", "\x01", "\xff", "\xc3\xa9", "\xf0\x9f\x98\x80"};

/* Every length around the cap, in the key, in the value and in the message. */
START_TEST(long_lines_stay_json)
{
    size_t unit = strlen(units[_i]);
    AUTO_FREE char *text = NEW_N(char, 4 * LOG_LINE_MAX + 8);
    struct sink s = {.n = 0};
    struct log l = logger(&s);
    for (size_t n = 0; n < LOG_LINE_MAX + 50; n += n < 16 || n % 2000 > 1900 ? 1 : 13) {
        for (size_t i = 0; i < n && n < 16; i++) {
            memcpy(text + i * unit, units[_i], unit);
        }
        size_t len = n < 16 ? n * unit : 0;
        for (; len < n; len += unit) {
            memcpy(text + len, units[_i], unit);
        }
        text[len] = '\0';
        log_info(&l, n % 3 == 0 ? text : "m", n % 3 == 1 ? text : "k", n % 3 == 2 ? text : "v", "n",
                 log_n(1), "last", NULL);
        ck_assert_int_eq(s.text[s.n - 1], '\n');
        ck_assert_ptr_eq(strchr(s.text, '\n'), s.text + s.n - 1);
        json_error_t e;
        json_t *v = json_loadb(s.text, s.n, 0, &e);
        ck_assert_msg(v != NULL, "length %zu: %s", n, e.text);
        ck_assert_str_eq(json_string_value(json_object_get(v, "logger")), "karp");
        json_decref(v);
    }
}
END_TEST

START_TEST(cut_value_ends_with_an_ellipsis)
{
    AUTO_FREE char *text = NEW_N(char, LOG_LINE_MAX + 1);
    memset(text, 'x', LOG_LINE_MAX);
    struct sink s = {.n = 0};
    struct log l = logger(&s);
    log_info(&l, "m", "first", "1", "long", text, "late", "2");
    ck_assert_ptr_nonnull(strstr(s.text, "\"first\":\"1\""));
    ck_assert_ptr_null(strstr(s.text, "late"));
    ck_assert_str_eq(s.text + s.n - 7, "x\xe2\x80\xa6\"}\n");
    ck_assert_uint_gt(s.n, LOG_LINE_MAX - 8);
}
END_TEST

static const struct {
    const char *s;
    bool ok;
    enum log_level level;
} parse_rows[] = {
    {"debug", true, LOG_DEBUG_LEVEL}, {"info", true, LOG_INFO_LEVEL},
    {"error", true, LOG_ERROR_LEVEL}, {"INFO", false, LOG_INFO_LEVEL},
    {"", false, LOG_INFO_LEVEL},      {NULL, false, LOG_INFO_LEVEL},
};

START_TEST(parses_levels)
{
    enum log_level level = LOG_INFO_LEVEL;
    ck_assert_int_eq(log_level_parse(parse_rows[_i].s, &level), parse_rows[_i].ok);
    ck_assert_int_eq(level, parse_rows[_i].level);
}
END_TEST

START_TEST(writes_to_a_file)
{
    FILE *f = tmpfile();
    ck_assert_ptr_nonnull(f);
    struct log l = {LOG_INFO_LEVEL, "karp", &fixed_clock, log_write_file, f};
    log_info(&l, "m", "k", "v");
    rewind(f);
    char line[256] = "";
    ck_assert_ptr_nonnull(fgets(line, sizeof(line), f));
    ck_assert_str_eq(line, HEAD "\"m\",\"k\":\"v\"}\n");
    fclose(f);
}
END_TEST

UNIT_MAIN("log", UNIT_CASES(escapes, rows), UNIT_TEST(numbers), UNIT_TEST(eight_numbers_at_a_time),
          UNIT_CASES(levels, level_rows), UNIT_CASES(long_lines_stay_json, units),
          UNIT_TEST(cut_value_ends_with_an_ellipsis), UNIT_CASES(parses_levels, parse_rows),
          UNIT_TEST(writes_to_a_file))
