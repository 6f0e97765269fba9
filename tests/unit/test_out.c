/* test_out.c - formats, tables, terminals, money (cmd/out.h, table.h, term.h, money.h). */
#include "cmd/out.h"
#include "cmd/status/money.h"
#include "cmd/table.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

/* ---- -o -------------------------------------------------------------------------------------- */

#define ALL (OUT_TABLE | OUT_WIDE | OUT_JSON | OUT_YAML | OUT_NAME | OUT_JSONPATH)

static const struct {
    const char *text;
    unsigned allowed;
    int format; /* -1 = refused */
    const char *message_or_template;
} formats[] = {
    {NULL, ALL, OUT_TABLE, NULL},
    {"", ALL, OUT_TABLE, NULL},
    {"json", ALL, OUT_JSON, NULL},
    {"yaml", ALL, OUT_YAML, NULL},
    {"wide", ALL, OUT_WIDE, NULL},
    {"name", ALL, OUT_NAME, NULL},
    {"jsonpath={.a}", ALL, OUT_JSONPATH, "{.a}"},
    {"jsonpath={.a=b}", ALL, OUT_JSONPATH, "{.a=b}"},
    {"jsonpath", ALL, -1, "template format specified but no template given"},
    {"jsonpath=", ALL, -1, "template format specified but no template given"},
    {"jso", ALL, -1, "allowed formats are: json,jsonpath,name,wide,yaml"},
    {"json=x", ALL, -1, "unable to match a printer"},
    {"wide", OUT_JSON | OUT_YAML, -1, "\"wide\", allowed formats are: json,yaml"},
};

START_TEST(output_formats)
{
    struct out_spec spec;
    struct err err = ERR_INIT;
    int rc = out_parse(formats[_i].text, formats[_i].allowed, &spec, &err);
    if (formats[_i].format < 0) {
        ck_assert_int_eq(rc, -1);
        ck_assert_msg(str_contains(err.msg, formats[_i].message_or_template), "%s", err.msg);
        return;
    }
    ck_assert_int_eq(rc, 0);
    ck_assert_int_eq((int)spec.format, formats[_i].format);
    ck_assert(str_eq(spec.template, formats[_i].message_or_template));
}
END_TEST

static const struct {
    enum out_format format;
    const char *template, *want; /* want NULL = an error */
} reports[] = {
    {OUT_JSON, NULL,
     "{\n    \"kind\": \"T\",\n    \"a\": [\n        1,\n        \"x\"\n    ]\n}\n"},
    {OUT_YAML, NULL, "kind: T\na:\n- 1\n- x\n"},
    {OUT_JSONPATH, "{.kind}", "T"},
    {OUT_JSONPATH, "{.a[*]}", "1 x"},
    {OUT_JSONPATH, "{.a[", NULL},
};

START_TEST(output_reports)
{
    struct out_spec spec = {reports[_i].format, reports[_i].template};
    struct err err = ERR_INIT;
    AUTO_BUF struct buf out;
    AUTO_JSON json_t *o = json_pack("{s:s, s:[i, s]}", "kind", "T", "a", 1, "x");
    buf_init(&out, 1000);
    int rc = out_report(&spec, o, &out, &err);
    if (!reports[_i].want) {
        ck_assert_int_eq(rc, -1);
        ck_assert(str_starts(err.msg, "-o jsonpath"));
        return;
    }
    ck_assert_int_eq(rc, 0);
    ck_assert_str_eq(out.p, reports[_i].want);
}
END_TEST

START_TEST(output_limit)
{
    struct out_spec spec = {OUT_JSON, NULL};
    struct err err = ERR_INIT;
    AUTO_BUF struct buf out;
    AUTO_JSON json_t *o = json_pack("{s:s}", "kind", "a text that is too long");
    buf_init(&out, 16);
    ck_assert_int_eq(out_report(&spec, o, &out, &err), -1);
    ck_assert_int_eq(err.kind, ERR_LIMIT);
}
END_TEST

/* A reader that has gone is silent, a full disk is not. */
START_TEST(output_flush)
{
    struct err err = ERR_INIT;
    AUTO_BUF struct buf out;
    int fds[2];
    (void)signal(SIGPIPE, SIG_IGN);
    buf_init(&out, 1000);
    buf_puts(&out, "text");
    ck_assert_int_eq(pipe(fds), 0);
    close(fds[0]);
    FILE *gone = fdopen(fds[1], "w");
    ck_assert_int_eq(out_flush(gone, &out, &err), 0);
    fclose(gone);
    FILE *full = fopen("/dev/full", "w");
    if (full) {
        ck_assert_int_eq(out_flush(full, &out, &err), -1);
        ck_assert_int_eq(err.os, ENOSPC);
        fclose(full);
    }
}
END_TEST

/* ---- tables ---------------------------------------------------------------------------------- */

static const struct table_column three[] = {
    {"NAME", false, false}, {"N", false, false}, {"$/H", true, false}, {"MORE", false, true}};

static const struct {
    unsigned width;
    bool heads, wide;
    const char *want;
} tables[] = {
    {0, true, false,
     "NAME        N         $/H\n"
     "a           1       0.500\n"
     "long-name   1000   12.000\n"},
    {0, false, false,
     "a           1       0.500\n"
     "long-name   1000   12.000\n"},
    {0, true, true,
     "NAME        N         $/H   MORE\n"
     "a           1       0.500   <none>\n"
     "long-name   1000   12.000   x\n"},
    {20, true, false,
     "NAME        N\n"
     "a           1\n"
     "long-name   1000\n"},
    {5, true, false, "NAME\na\nlong-name\n"},
    {5, true, true,
     "NAME        N         $/H   MORE\n"
     "a           1       0.500   <none>\n"
     "long-name   1000   12.000   x\n"},
};

START_TEST(table_layout)
{
    struct arena a;
    struct table t;
    struct term term = {.width = tables[_i].width};
    AUTO_BUF struct buf out;
    arena_init(&a, 0, SIZE_MAX);
    buf_init(&out, 10000);
    table_init(&t, &a, three, ARRAY_LEN(three));
    table_cell(&t, "a");
    table_cellf(&t, "%d", 1);
    table_cell(&t, "0.500");
    table_cell(&t, NULL);
    table_cell(&t, "long-name");
    table_cellf(&t, "%d", 1000);
    table_cell(&t, "12.000");
    table_cell(&t, "x");
    table_write(&t, &term, tables[_i].heads, tables[_i].wide, &out);
    ck_assert_str_eq(out.p, tables[_i].want);
    arena_done(&a);
}
END_TEST

/* Colours take no room; characters count once, whatever their bytes. */
START_TEST(table_colors)
{
    struct arena a;
    struct table t;
    struct term term = {.color = true};
    AUTO_BUF struct buf out;
    arena_init(&a, 0, SIZE_MAX);
    buf_init(&out, 10000);
    table_init(&t, &a, three, 2);
    table_cell_color(&t, COLOR_RED, "\u00e9\u00e9\u00e9\u00e9");
    table_cell(&t, "1");
    table_write(&t, &term, true, false, &out);
    ck_assert_str_eq(out.p, "NAME   N\n\033[31m\u00e9\u00e9\u00e9\u00e9\033[0m   1\n");
    arena_done(&a);
}
END_TEST

static const struct {
    const char *in, *want;
} unsafe[] = {
    {"plain \u00e9", "plain \u00e9"},
    {"a\033[2Jb", "a [2Jb"},
    {"a\r\nb\tc", "a  b c"},
    {"a\x7f", "a "},
    {"\xc2\x9bx", " x"},
    {"a\xffz", "a?z"},
    {"\xc3", "?"},
    {"", ""},
};

START_TEST(safe_texts)
{
    struct arena a;
    arena_init(&a, 0, SIZE_MAX);
    ck_assert_str_eq(text_safe(&a, unsafe[_i].in), unsafe[_i].want);
    arena_done(&a);
}
END_TEST

/* ---- terminals ------------------------------------------------------------------------------- */

static const struct {
    struct term_env env;
    const char *when;
    bool ascii;
    bool color, utf8;
    unsigned width;
} terms[] = {
    {{.tty = true, .tty_columns = 80, .lang = "en_US.UTF-8"}, "auto", false, true, true, 80},
    {{.tty = true, .lang = "en_US.UTF-8"}, "auto", true, true, false, 0},
    {{.tty = true, .no_color = "1"}, "auto", false, false, false, 0},
    {{.tty = true, .no_color = ""}, "auto", false, true, false, 0},
    {{.tty = true, .no_color = "1"}, "always", false, true, false, 0},
    {{.tty = true, .term = "dumb"}, "auto", false, false, false, 0},
    {{.tty = true}, "never", false, false, false, 0},
    {{.tty = false}, "auto", false, false, false, 0},
    {{.tty = false}, "always", false, true, false, 0},
    {{.tty = true, .tty_columns = 80, .columns = "120"}, "auto", false, true, false, 120},
    {{.columns = "120"}, "auto", false, false, false, 120},
    {{.columns = "wide"}, "auto", false, false, false, 0},
    {{.columns = "-5"}, "auto", false, false, false, 0},
    {{.lc_all = "C", .lang = "en_US.UTF-8"}, "auto", false, false, false, 0},
    {{.lc_ctype = "C.utf8", .lang = "C"}, "auto", false, false, true, 0},
};

START_TEST(terminals)
{
    struct term t;
    term_init(&t, &terms[_i].env, terms[_i].when, terms[_i].ascii);
    ck_assert_int_eq(t.color, terms[_i].color);
    ck_assert_int_eq(t.utf8, terms[_i].utf8);
    ck_assert_uint_eq(t.width, terms[_i].width);
}
END_TEST

static const struct {
    int64_t part, whole;
    bool utf8;
    const char *want;
} bars[] = {
    {0, 100, false, "....."},
    {50, 100, false, "###.."},
    {100, 100, false, "#####"},
    {500, 100, false, "#####"},
    {5, 0, false, "....."},
    {-5, 100, false, "....."},
    {9, 100, false, "....."},
    {10, 100, false, "#...."},
    {INT64_MAX, INT64_MAX, false, "#####"},
    {40, 100, true, "\u2588\u2588\u2591\u2591\u2591"},
};

START_TEST(bar)
{
    struct term t = {.utf8 = bars[_i].utf8};
    AUTO_BUF struct buf out;
    buf_init(&out, 100);
    term_bar(&t, bars[_i].part, bars[_i].whole, 5, &out);
    ck_assert_str_eq(out.p, bars[_i].want);
}
END_TEST

/* ---- money ----------------------------------------------------------------------------------- */

#define USD INT64_C(1000000000000)

static const struct {
    int64_t pusd_h;
    const char *hour, *month, *exact;
} amounts[] = {
    {0, "0.000", "0", "0"},
    {USD * 96 / 1000, "0.096", "70", "0.096"},
    {USD * 4812 / 1000, "4.812", "3,513", "4.812"},
    {-USD * 300 / 1000, "-0.300", "-219", "-0.3"},
    {USD / 2000, "0.001", "0", "0.0005"},
    {USD / 2000 - 1, "0.000", "0", "0.0005"},
    {USD * 2000, "2000.000", "1,460,000", "2000"},
    {149, "0.000", "0", "0.0000000001"},
    {49, "0.000", "0", "0"},
    {-149, "0.000", "0", "-0.0000000001"},
};

START_TEST(money_texts)
{
    char text[MONEY_TEXT];
    ck_assert_str_eq(money_hour(amounts[_i].pusd_h, text), amounts[_i].hour);
    ck_assert_str_eq(money_month(amounts[_i].pusd_h, text), amounts[_i].month);
    ck_assert_str_eq(money_exact(amounts[_i].pusd_h, text), amounts[_i].exact);
}
END_TEST

static const struct {
    const char *json;
    int64_t want; /* -1 = refused */
} readings[] = {
    {"0.096", 96000000000},
    {"\"0.0960000000\"", 96000000000},
    {"1", USD},
    {"0", 0},
    {"0.3147483648", 314748364800},
    {"55.04", USD * 5504 / 100},
    {"-0.1", -1},
    {"1e300", -1},
    {"\"x\"", -1},
    {"\"-1\"", -1},
    {"null", -1},
    {"true", -1},
    {"[1]", -1},
    {"\"9999999\"", -1},
    {"1000000", USD * 1000000},
};

START_TEST(money_reading)
{
    struct err err = ERR_INIT;
    int64_t got = -1;
    AUTO_JSON json_t *v = jsonx_parse(readings[_i].json, strlen(readings[_i].json), "test", &err);
    ck_assert_int_eq(money_read(v, &got), readings[_i].want >= 0);
    ck_assert_int_eq(got, readings[_i].want);
}
END_TEST

UNIT_MAIN("out", UNIT_CASES(output_formats, formats), UNIT_CASES(output_reports, reports),
          UNIT_TEST(output_limit), UNIT_TEST(output_flush), UNIT_CASES(table_layout, tables),
          UNIT_TEST(table_colors), UNIT_CASES(safe_texts, unsafe), UNIT_CASES(terminals, terms),
          UNIT_CASES(bar, bars), UNIT_CASES(money_texts, amounts),
          UNIT_CASES(money_reading, readings))
