#include "unit.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"

#include <math.h>

static json_t *parse(const char *text)
{
    struct err e = ERR_INIT;
    json_t *v = jsonx_parse(text, strlen(text), "test", &e);
    ck_assert_msg(v != NULL, "%s: %s", text, e.msg);
    return v;
}

/* ---- reading --------------------------------------------------------------------------------- */

static const struct {
    const char *text, *canonical;
} good[] = {
    {"{}", "{}"},
    {"[]", "[]"},
    {"null", "null"},
    {"true", "true"},
    {" false ", "false"},
    {"\"\"", "\"\""},
    {"0", "0"},
    {"-0", "0"},
    {"-0.0", "0"},
    {"1.0", "1"},
    {"1e3", "1000"},
    {"0.1", "0.1"},
    {"1e21", "1e+21"},
    {"1e20", "100000000000000000000"},
    {"123456789012345680000", "123456789012345680000"},
    {"1e-6", "0.000001"},
    {"1e-7", "1e-7"},
    {"9223372036854775807", "9223372036854775807"},
    {"-9223372036854775808", "-9223372036854775808"},
    {"9007199254740993", "9007199254740993"},
    {"9223372036854775808", "9223372036854776000"},
    {"{\"a\":[1,-2,1.5,18446744073709551616,{\"b\":0,\"c\":\"x\"}]}",
     "{\"a\":[1,-2,1.5,18446744073709552000,{\"b\":0,\"c\":\"x\"}]}"},
    {"{\"b\":1,\"a\":2}", "{\"a\":2,\"b\":1}"},
    {"{\"a\":1,\"a\":2}", "{\"a\":2}"},
    {"{\"aa\":1,\"a\":2,\"\":3}", "{\"\":3,\"a\":2,\"aa\":1}"},
    {"{\"b\":{\"d\":[3,{\"z\":1,\"y\":2}],\"c\":null}}",
     "{\"b\":{\"c\":null,\"d\":[3,{\"y\":2,\"z\":1}]}}"},
    {"\"\\u0000\\u0001\\u001f\\b\\t\\n\\f\\r\\\"\\\\\\/\"",
     "\"\\u0000\\u0001\\u001f\\b\\t\\n\\f\\r\\\"\\\\/\""},
    {"\"\\u007f\\u00e9\\u2028<>&\"", "\"\x7f\xc3\xa9\xe2\x80\xa8<>&\""},
    {"\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\""},
    /* RFC 8785, 3.2.3: the order is that of UTF-16 units. */
    {"{\"\\u20ac\":1,\"\\r\":2,\"\\ufb33\":3,\"1\":4,\"\\ud83d\\ude00\":5,\"\\u0080\":6,"
     "\"\\u00f6\":7}",
     "{\"\\r\":2,\"1\":4,\"\xc2\x80\":6,\"\xc3\xb6\":7,\"\xe2\x82\xac\":1,"
     "\"\xf0\x9f\x98\x80\":5,\"\xef\xac\xb3\":3}"},
    {"{\"\\ue000\":1,\"\\ud800\\udc00\":2,\"\\ud7ff\":3}",
     "{\"\xed\x9f\xbf\":3,\"\xf0\x90\x80\x80\":2,\"\xee\x80\x80\":1}"},
};

START_TEST(test_canonical)
{
    json_t *v = parse(good[_i].text);
    char *text = jsonx_canonical(v);
    ck_assert_str_eq(text, good[_i].canonical);
    json_t *again = parse(text);
    char *text2 = jsonx_canonical(again);
    ck_assert_str_eq(text2, text);
    free(text);
    free(text2);
    json_decref(again);
    json_decref(v);
}
END_TEST

static const char *const bad[] = {
    "",
    " ",
    "{",
    "[",
    "]",
    "{}}",
    "{} {}",
    "[1,]",
    "[,1]",
    "[1 2]",
    "{\"a\"}",
    "{\"a\":}",
    "{\"a\":1,}",
    "{a:1}",
    "{'a':1}",
    "{1:1}",
    "{\"a\\u0000\":1}",
    "nul",
    "True",
    "NaN",
    "Infinity",
    "-",
    "01",
    "+1",
    "1.",
    ".5",
    "1e",
    "0x10",
    "1e400",
    "\"",
    "\"\\x\"",
    "\"\\u12\"",
    "\"\\ud800\"",
    "\"\\udc00\"",
    "\"\n\"",
    "\"\xff\"",
    "\"\xc0\x80\"",
    "\"\xed\xa0\x80\"",
    "\xef\xbb\xbf{}",
    "// c\n{}",
};

START_TEST(test_bad)
{
    struct err e = ERR_INIT;
    ck_assert_ptr_null(jsonx_parse(bad[_i], strlen(bad[_i]), "pods page 2", &e));
    ck_assert_int_eq(e.kind, ERR_INVALID);
    ck_assert_msg(strncmp(e.msg, "pods page 2: line ", 18) == 0, "%s", e.msg);
    ck_assert_ptr_null(jsonx_parse(bad[_i], strlen(bad[_i]), "x", NULL));
}
END_TEST

START_TEST(test_nul_bytes)
{
    struct err e = ERR_INIT;
    ck_assert_ptr_null(jsonx_parse("{}\0", 3, "x", &e));
    ck_assert_ptr_null(jsonx_parse("\0", 1, "x", &e));
    json_t *v = jsonx_parse("[1]]", 3, "x", &e); /* what lies behind its bytes is not read */
    ck_assert_uint_eq(json_array_size(v), 1);
    json_decref(v);
}
END_TEST

static char *nested(int n, const char *open, const char *mid, const char *close)
{
    size_t size = (size_t)n * (strlen(open) + strlen(close)) + strlen(mid) + 1;
    char *text = xmalloc(size), *p = text;
    for (int i = 0; i < n; i++) {
        p += snprintf(p, size - (size_t)(p - text), "%s", open);
    }
    p += snprintf(p, size - (size_t)(p - text), "%s", mid);
    for (int i = 0; i < n; i++) {
        p += snprintf(p, size - (size_t)(p - text), "%s", close);
    }
    return text;
}

static const struct {
    int n;
    const char *open, *mid, *close;
    enum err_kind want;
} depths[] = {
    {JSONX_MAX_DEPTH, "[", "1", "]", ERR_NONE},
    {JSONX_MAX_DEPTH + 1, "[", "1", "]", ERR_LIMIT},
    {JSONX_MAX_DEPTH, "{\"a\":", "1", "}", ERR_NONE},
    {JSONX_MAX_DEPTH + 1, "{\"a\":", "1", "}", ERR_LIMIT},
    {JSONX_MAX_DEPTH / 2, "[{\"a\":", "1", "}]", ERR_NONE},
    {JSONX_MAX_DEPTH / 2 + 1, "[{\"a\":", "1", "}]", ERR_LIMIT},
    {100000, "[", "", "", ERR_LIMIT},
    {1000, "{\"a\":[", "", "", ERR_LIMIT},
    {1000, "]", "", "", ERR_INVALID},
};

START_TEST(test_depth)
{
    struct err e = ERR_INIT;
    char *text = nested(depths[_i].n, depths[_i].open, depths[_i].mid, depths[_i].close);
    json_t *v = jsonx_parse(text, strlen(text), "x", &e);
    ck_assert_int_eq(e.kind, depths[_i].want);
    ck_assert(!v == (e.kind != ERR_NONE));
    json_decref(v);
    free(text);
}
END_TEST

static const struct {
    const char *text;
    unsigned depth;
} text_depths[] = {
    {"", 0},          {"1", 0},          {"[]", 1},     {"[[],{}]", 2}, {"\"[[[\"", 0},
    {"\"\\\"[\"", 0}, {"[\"\\\\\"[", 2}, {"]]]]][", 1}, {"\"\\", 0},    {"[\"[\\", 1},
};

START_TEST(test_text_depth)
{
    ck_assert_uint_eq(jsonx_text_depth(text_depths[_i].text, strlen(text_depths[_i].text)),
                      text_depths[_i].depth);
}
END_TEST

/* ---- numbers --------------------------------------------------------------------------------- */

/* As ECMAScript's String(x). */
static const struct {
    double v;
    const char *text;
} reals[] = {
    {0.0, "0"},
    {-0.0, "0"},
    {1.0, "1"},
    {-1.5, "-1.5"},
    {0.1, "0.1"},
    {0.30000000000000004, "0.30000000000000004"},
    {1.0 / 3, "0.3333333333333333"},
    {123456.789, "123456.789"},
    {5e-324, "5e-324"},
    {-5e-324, "-5e-324"},
    {2.2250738585072014e-308, "2.2250738585072014e-308"},
    {1.7976931348623157e308, "1.7976931348623157e+308"},
    {9007199254740992.0, "9007199254740992"},
    {9007199254740994.0, "9007199254740994"},
    {1e21, "1e+21"},
    {999999999999999900000.0, "999999999999999900000"},
    {1e20, "100000000000000000000"},
    {1e-6, "0.000001"},
    {1e-7, "1e-7"},
    {1.5e-7, "1.5e-7"},
    {0.00001234, "0.00001234"},
    {1e23, "1e+23"},
    {9.5e22, "9.5e+22"},
    /* Powers of two whose shortest text is not their rounded text. */
    {9.5367431640625e-7, "9.5367431640625e-7"},
    {5.684341886080802e-14, "5.684341886080802e-14"},
    {4.656612873077393e-10, "4.656612873077393e-10"},
    {2.9802322387695312e-8, "2.9802322387695312e-8"},
    {1.7800590868057611e-307, "1.7800590868057611e-307"},
    {9.8813129168249309e-324, "1e-323"},
    {4.4501477170144028e-308, "4.450147717014403e-308"},
};

START_TEST(test_real)
{
    char text[JSONX_REAL_TEXT];
    ck_assert_str_eq(jsonx_fmt_real(reals[_i].v, text), reals[_i].text);
    ck_assert(strtod(text, NULL) == reals[_i].v);
}
END_TEST

START_TEST(test_real_round_trip)
{
    char text[JSONX_REAL_TEXT];
    uint64_t x = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        double v;
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        memcpy(&v, &x, sizeof(v));
        if (isfinite(v)) {
            ck_assert(strtod(jsonx_fmt_real(v, text), NULL) == v);
        }
    }
    for (int e = -1074; e < 1024; e++) {
        ck_assert(strtod(jsonx_fmt_real(ldexp(1, e), text), NULL) == ldexp(1, e));
    }
    ck_assert_str_eq(jsonx_fmt_real(HUGE_VAL, text), "0");
}
END_TEST

/* ---- getters and setters --------------------------------------------------------------------- */

START_TEST(test_getters)
{
    json_t *o = parse("{\"a\":{\"b\":{\"s\":\"x\",\"i\":7,\"r\":1.5,\"t\":true,\"f\":false,"
                      "\"n\":null,\"l\":[1],\"o\":{}}},\"x.y\":1,\"\":{\"\":2}}");
    ck_assert_ptr_eq(jsonx_at(o, ""), o);
    ck_assert_ptr_null(jsonx_at(NULL, "a.b"));
    ck_assert_ptr_null(jsonx_at(o, "a.c.d"));
    ck_assert_ptr_null(jsonx_at(o, "a.b.s.t"));
    ck_assert_ptr_null(jsonx_at(o, "a.b.l.0"));
    ck_assert_ptr_null(jsonx_at(o, "x.y"));
    ck_assert(json_is_null(jsonx_at(o, "a.b.n")));
    ck_assert_str_eq(jsonx_str(o, "a.b.s"), "x");
    ck_assert_ptr_null(jsonx_str(o, "a.b.i"));
    ck_assert_ptr_null(jsonx_str(o, "a.b.none"));
    ck_assert_str_eq(jsonx_str_or(o, "a.b.i", "d"), "d");
    ck_assert_str_eq(jsonx_str_or(o, "a.b.s", "d"), "x");
    ck_assert_int_eq(jsonx_int(o, "a.b.i", -1), 7);
    ck_assert_int_eq(jsonx_int(o, "a.b.r", -1), -1);
    ck_assert_int_eq(jsonx_int(o, "a.b.s", -1), -1);
    ck_assert_int_eq(jsonx_int(NULL, "a", 3), 3);
    ck_assert(jsonx_bool(o, "a.b.t", false));
    ck_assert(!jsonx_bool(o, "a.b.f", true));
    ck_assert(jsonx_bool(o, "a.b.n", true));
    ck_assert(jsonx_bool(o, "a.b.i", true));
    ck_assert_ptr_nonnull(jsonx_obj(o, "a.b.o"));
    ck_assert_ptr_null(jsonx_obj(o, "a.b.l"));
    ck_assert_ptr_nonnull(jsonx_arr(o, "a.b.l"));
    ck_assert_ptr_null(jsonx_arr(o, "a.b.o"));
    json_decref(o);
}
END_TEST

START_TEST(test_set)
{
    AUTO_JSON json_t *o = parse("{\"a\":1,\"b\":{\"c\":2}}");
    jsonx_set_new(o, "b.d.e", json_integer(3));
    jsonx_set_new(o, "b.c", json_integer(4));
    jsonx_set_new(o, "a.x", json_string("y"));
    jsonx_set_new(o, "n", json_null());
    char *text = jsonx_dump(o);
    ck_assert_str_eq(text, "{\"a\":{\"x\":\"y\"},\"b\":{\"c\":4,\"d\":{\"e\":3}},\"n\":null}");
    free(text);
}
END_TEST

START_TEST(test_dump)
{
    AUTO_JSON json_t *o = parse("{\"b\":1,\"a\":[1.50,true,\"x\\ny\"],\"0\":{}}");
    char *text = jsonx_dump(o);
    ck_assert_str_eq(text, "{\"b\":1,\"a\":[1.5,true,\"x\\ny\"],\"0\":{}}");
    free(text);
    text = jsonx_dump(NULL);
    ck_assert_str_eq(text, "null");
    free(text);
}
END_TEST

/* ---- patches --------------------------------------------------------------------------------- */

/* The appendix of RFC 7386, as far as both are objects, and more. */
static const struct {
    const char *target, *patch, *result;
} patches[] = {
    {"{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
    {"{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}"},
    {"{\"a\":\"b\"}", "{\"a\":null}", "{}"},
    {"{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}"},
    {"{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
    {"{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}"},
    {"{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}"},
    {"{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}"},
    {"{\"e\":null}", "{\"a\":1}", "{\"a\":1,\"e\":null}"},
    {"{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}"},
    {"{\"a\":1}", "{\"a\":{\"b\":2}}", "{\"a\":{\"b\":2}}"},
    {"{\"a\":{\"b\":2}}", "{\"a\":{}}", "{\"a\":{\"b\":2}}"},
    {"{\"a\":{\"b\":2}}", "{}", "{\"a\":{\"b\":2}}"},
    {"{\"a\":1}", "{\"z\":null}", "{\"a\":1}"},
    {"{\"a\":1}", "[1]", "{\"a\":1}"},
    {"[1]", "{\"a\":1}", "[1]"},
};

START_TEST(test_merge)
{
    json_t *target = parse(patches[_i].target), *patch = parse(patches[_i].patch);
    char *before = jsonx_canonical(patch);
    jsonx_merge_patch(target, patch);
    char *text = jsonx_canonical(target), *after = jsonx_canonical(patch);
    ck_assert_str_eq(text, patches[_i].result);
    ck_assert_str_eq(after, before);
    free(text);
    free(before);
    free(after);
    json_decref(target);
    json_decref(patch);
}
END_TEST

UNIT_MAIN("jsonx", UNIT_CASES(test_canonical, good), UNIT_CASES(test_bad, bad),
          UNIT_TEST(test_nul_bytes), UNIT_CASES(test_depth, depths),
          UNIT_CASES(test_text_depth, text_depths), UNIT_CASES(test_real, reals),
          UNIT_TEST(test_real_round_trip), UNIT_TEST(test_getters), UNIT_TEST(test_set),
          UNIT_TEST(test_dump), UNIT_CASES(test_merge, patches))
