#include "unit.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/yamlx.h"

#include <stdbool.h>

static json_t *parse_all(const char *text, struct err *e)
{
    return yamlx_parse_all(text, strlen(text), "test.yaml", NULL, e);
}

/* ---- plain scalars: value as canonical JSON, each checked against sigs.k8s.io/yaml ----------- */

static const struct {
    const char *plain, *json;
} scalars[] = {
    {"yes", "true"},
    {"Yes", "true"},
    {"YES", "true"},
    {"yEs", "\"yEs\""},
    {"y", "true"},
    {"on", "true"},
    {"On", "true"},
    {"true", "true"},
    {"TRUE", "true"},
    {"tRUE", "\"tRUE\""},
    {"no", "false"},
    {"NO", "false"},
    {"n", "false"},
    {"off", "false"},
    {"False", "false"},
    {"~", "null"},
    {"null", "null"},
    {"Null", "null"},
    {"NULL", "null"},
    {"nULL", "\"nULL\""},
    {"0", "0"},
    {"-0", "0"},
    {"+12", "12"},
    {"-12", "-12"},
    {"00", "0"},
    {"0777", "511"},
    {"-0777", "-511"},
    {"08", "8"},
    {"0o7", "7"},
    {"0O17", "15"},
    {"0o8", "\"0o8\""},
    {"0x1F", "31"},
    {"0X1f", "31"},
    {"-0x1f", "-31"},
    {"0xg", "\"0xg\""},
    {"0x", "\"0x\""},
    {"0b101", "5"},
    {"0b2", "\"0b2\""},
    {"1_000", "1000"},
    {"1__0", "10"},
    {"1_", "1"},
    {"_1", "\"_1\""},
    {"1,000", "\"1,000\""},
    {"9223372036854775807", "9223372036854775807"},
    {"-9223372036854775808", "-9223372036854775808"},
    {"0x7fffffffffffffff", "9223372036854775807"},
    {"18446744073709551616", "18446744073709552000"},
    {"0x1ffffffffffffffff", "\"0x1ffffffffffffffff\""},
    {"1.5", "1.5"},
    {"-.5", "-0.5"},
    {".5", "0.5"},
    {"._5", "\"._5\""},
    {".5_0", "0.5"},
    {"5.", "5"},
    {"1.0", "1"},
    {"1e3", "1000"},
    {"1E+3", "1000"},
    {"1.5e-3", "0.0015"},
    {"1e22", "1e+22"},
    {"1e", "\"1e\""},
    {"1e400", "\"1e400\""},
    {"1e-400", "0"},
    {".", "\".\""},
    {".e3", "\".e3\""},
    {"+", "\"+\""},
    {"inf", "\"inf\""},
    {"NaN", "\"NaN\""},
    {"+.nan", "\"+.nan\""},
    {"1.2.3", "\"1.2.3\""},
    {"1.32", "1.32"},
    {"10.0.0.1", "\"10.0.0.1\""},
    {"100m", "\"100m\""},
    {"1Gi", "\"1Gi\""},
    {"12abc", "\"12abc\""},
    {"1:30", "\"1:30\""},
    {"190:20:30.15", "\"190:20:30.15\""},
    {"2001-01-01", "\"2001-01-01\""},
    {"2026-01-05T09:00:00Z", "\"2026-01-05T09:00:00Z\""},
    {"2001-12-14 21:59:43.10 -5", "\"2001-12-14 21:59:43.10 -5\""},
    {"=", "\"=\""},
    {"<<", "\"<<\""},
    {"a b", "\"a b\""},
    {"http://x/y", "\"http://x/y\""},
    {"x#y", "\"x#y\""},
    {"x #y", "\"x\""},
    {"\"yes\"", "\"yes\""},
    {"'1'", "\"1\""},
    {"'it''s'", "\"it's\""},
    {"\"\\x41\\u00e9\\t\\\"\\/\"", "\"A\xc3\xa9\\t\\\"/\""},
    {"\"a\\0b\"", "\"a\\u0000b\""},
    {"!!str 12", "\"12\""},
    {"! 12", "\"12\""},
    {"!!int \"12\"", "12"},
    {"!!float 12", "12"},
    {"!!float 1.5", "1.5"},
    {"!!bool \"yes\"", "true"},
    {"!!null ''", "null"},
};

START_TEST(test_scalar)
{
    char text[200], want[200];
    struct err e = ERR_INIT;
    (void)snprintf(text, sizeof(text), "a: %s\n", scalars[_i].plain);
    (void)snprintf(want, sizeof(want), "[{\"a\":%s}]", scalars[_i].json);
    json_t *docs = parse_all(text, &e);
    ck_assert_msg(docs != NULL, "%s: %s", text, e.msg);
    char *json = jsonx_canonical(docs);
    ck_assert_str_eq(json, want);
    free(json);
    json_decref(docs);
}
END_TEST

/* ---- documents ------------------------------------------------------------------------------- */

static const struct {
    const char *yaml, *json, *lines;
} texts[] = {
    {"", "[]", "[]"},
    {"# only a comment\n", "[]", "[]"},
    {"---\n", "[]", "[]"},
    {"---\n---\n...\n", "[]", "[]"},
    {"null\n", "[]", "[]"},
    {"a: 1", "[{\"a\":1}]", "[1]"},
    {"\xef\xbb\xbf"
     "a: 1\n",
     "[{\"a\":1}]", "[1]"},
    {"a: 1\r\nb: 2\r\n", "[{\"a\":1,\"b\":2}]", "[1]"},
    {"# c\n---\n# c\na: 1\n---\n\n---\nb: 2\n...\n---\n- 3\n", "[{\"a\":1},{\"b\":2},[3]]",
     "[4,8,11]"},
    {"%YAML 1.1\n---\na: 1\n", "[{\"a\":1}]", "[3]"},
    {"3", "[3]", "[1]"},
    {"a:\n- b\n- c:\n    d\n", "[{\"a\":[\"b\",{\"c\":\"d\"}]}]", "[1]"},
    {"- - a\n  - b\n-\n- {}\n- []\n", "[[[\"a\",\"b\"],null,{},[]]]", "[1]"},
    {"a: {b: [1, 'x', {c: d}], e}\n", "[{\"a\":{\"b\":[1,\"x\",{\"c\":\"d\"}],\"e\":null}}]",
     "[1]"},
    {"[a: b]\n", "[[{\"a\":\"b\"}]]", "[1]"},
    {"a: |\n  x\n   y\n\nb: >-\n  x\n  y\n", "[{\"a\":\"x\\n y\\n\",\"b\":\"x y\"}]", "[1]"},
    {"a: |+\n  x\n\n", "[{\"a\":\"x\\n\\n\"}]", "[1]"},
    {"? |\n  k\n: v\n", "[{\"k\\n\":\"v\"}]", "[1]"},
    {"1: a\ntrue: b\n0x10: c\n'': d\n", "[{\"\":\"d\",\"1\":\"a\",\"16\":\"c\",\"true\":\"b\"}]",
     "[1]"},
    {"on: push\n", "[{\"true\":\"push\"}]", "[1]"},
    {"\"on\": push\n", "[{\"on\":\"push\"}]", "[1]"},
    {"!!map {a: !!seq [1]}\n", "[{\"a\":[1]}]", "[1]"},
    {"a: &x [1, 2]\nb: *x\n", "[{\"a\":[1,2],\"b\":[1,2]}]", "[1]"},
    {"a: &x 1\nb: &x 2\nc: *x\n", "[{\"a\":1,\"b\":2,\"c\":2}]", "[1]"},
    {"a: &x\nb: *x\n", "[{\"a\":null,\"b\":null}]", "[1]"},
    /* JSON */
    {"{\"a\":\"\\ud83d\\ude00\"}", "[{\"a\":\"\xf0\x9f\x98\x80\"}]", "[1]"},
    {"\n\n  {\"a\": [1,\n2]}\n", "[{\"a\":[1,2]}]", "[3]"},
    {"[]", "[[]]", "[1]"},
    {"{\"a\":18446744073709551616}", "[{\"a\":18446744073709552000}]", "[1]"},
    {"{\"a\": 1}\n---\n{\"b\":\t2}\n", "[{\"a\":1},{\"b\":2}]", "[1,3]"},
    {"{\"a\": 1} # comment\n", "[{\"a\":1}]", "[1]"},
};

START_TEST(test_text)
{
    struct err e = ERR_INIT;
    json_t *lines = NULL;
    json_t *docs = yamlx_parse_all(texts[_i].yaml, strlen(texts[_i].yaml), "t", &lines, &e);
    ck_assert_msg(docs != NULL, "%s: %s", texts[_i].yaml, e.msg);
    char *json = jsonx_canonical(docs), *line_json = jsonx_canonical(lines);
    ck_assert_str_eq(json, texts[_i].json);
    ck_assert_str_eq(line_json, texts[_i].lines);
    free(json);
    free(line_json);
    json_decref(docs);
    json_decref(lines);
}
END_TEST

/* An alias is a copy: changing one does not change the other. */
START_TEST(test_alias_is_copy)
{
    json_t *docs = parse_all("a: &x {k: [1]}\nb: *x\n", NULL);
    json_t *doc = json_array_get(docs, 0);
    jsonx_set_new(doc, "a.k", json_integer(2));
    ck_assert_ptr_nonnull(jsonx_arr(doc, "b.k"));
    json_decref(docs);
}
END_TEST

static const struct {
    const char *yaml;
    enum err_kind kind;
    const char *part;
} broken[] = {
    {"a: 1\na: 2\n", ERR_INVALID, "line 2, column 1: key \"a\" is there twice"},
    {"1: a\n'1': b\n", ERR_INVALID, "twice"},
    {"yes: a\ntrue: b\n", ERR_INVALID, "twice"},
    {"{\"a\":1,\"a\":2}", ERR_INVALID, "line 1, column 8: key \"a\" is there twice"},
    {"x:\n  {\"a\":1,\n   \"a\":2}", ERR_INVALID, "line 3"},
    {"a: b: c\n", ERR_INVALID, "line 1"},
    {"a: [1, 2\n", ERR_INVALID, "line 2"},
    {"a: {b: 1\n", ERR_INVALID, "line"},
    {"\ta: 1\n", ERR_INVALID, "line 1"},
    {"a:\n\t- b\n", ERR_INVALID, "line 2"},
    {"a: 1\n b: 2\n", ERR_INVALID, "line 2"},
    {"a: - b\n", ERR_INVALID, "line 1"},
    {"a: @x\n", ERR_INVALID, "line 1"},
    {"a: `x\n", ERR_INVALID, "line 1"},
    {"a: %x\n", ERR_INVALID, "line 1"},
    {"a: \"x\n", ERR_INVALID, "line"},
    {"a: 'x\n", ERR_INVALID, "line"},
    {"a: \"\\q\"\n", ERR_INVALID, "line 1"},
    {"a: \"\\ud800\"\n", ERR_INVALID, "line 1"},
    {"a: *x\n", ERR_INVALID, "line 1, column 4: alias to an unknown anchor"},
    {"a: &x 1\n---\nb: *x\n", ERR_INVALID, "line 3, column 4: alias to an unknown anchor"},
    {"a: &x [*x]\n", ERR_INVALID, "contains itself"},
    {"&x a: *x\n", ERR_INVALID, "anchors on keys"},
    {"? [a]\n: b\n", ERR_INVALID, "a key must be a scalar"},
    {"? {a: b}\n: c\n", ERR_INVALID, "a key must be a scalar"},
    {"~: a\n", ERR_INVALID, "null cannot be a key"},
    {"? \n: a\n", ERR_INVALID, "null cannot be a key"},
    {"1.30: a\n", ERR_INVALID, "put it in quotes"},
    {".inf: a\n", ERR_INVALID, "put it in quotes"},
    {"\"a\\0b\": c\n", ERR_INVALID, "NUL"},
    {"a: &x {b: 1}\nc:\n  <<: *x\n", ERR_INVALID, "line 3, column 3: merge keys (<<)"},
    {"a: .inf\n", ERR_INVALID, "line 1, column 4: .inf and .nan"},
    {"- -.INF\n", ERR_INVALID, ".inf and .nan"},
    {"a: .NaN\n", ERR_INVALID, ".inf and .nan"},
    {"a: !foo b\n", ERR_INVALID, "tag"},
    {"a: !!binary aGk=\n", ERR_INVALID, "tag"},
    {"a: !!int x\n", ERR_INVALID, "tag"},
    {"a: !!int 1.5\n", ERR_INVALID, "tag"},
    {"a: !!bool 1\n", ERR_INVALID, "tag"},
    {"a: !!float .inf\n", ERR_INVALID, ".inf"},
    {"!!set {a}\n", ERR_INVALID, "tag"},
    {"a: !!map [1]\n", ERR_INVALID, "tag"},
    {"a: \xff\xfe\n", ERR_INVALID, "line 1"},
    {"a: \xc3(\n", ERR_INVALID, "byte"},
    {"a: \x01\n", ERR_INVALID, "byte"},
    {"%YAML 3.0\n---\na: 1\n", ERR_INVALID, "line 1"},
    {"%FOO\na: 1\n", ERR_INVALID, "line"},
    {"a: 1\n... x\n", ERR_INVALID, "line 2"},
    {"a: 1\n--- b: 2\n", ERR_INVALID, "line 2"},
    {"{", ERR_INVALID, "line"},
    {"{}}", ERR_INVALID, "line 1"},
    {"{} {}", ERR_INVALID, "line 1"},
    {"[1,,2]", ERR_INVALID, "line 1"},
};

START_TEST(test_broken)
{
    struct err e = ERR_INIT;
    json_t *lines = NULL;
    const char *text = broken[_i].yaml;
    json_t *docs = yamlx_parse_all(text, strlen(text), "test.yaml", &lines, &e);
    ck_assert_msg(docs == NULL, "%s", text);
    ck_assert_ptr_null(lines);
    ck_assert_int_eq(e.kind, broken[_i].kind);
    ck_assert_msg(strncmp(e.msg, "test.yaml: line ", 16) == 0, "%s", e.msg);
    ck_assert_msg(strstr(e.msg, broken[_i].part) != NULL, "%s: %s", text, e.msg);
    ck_assert_ptr_null(parse_all(text, NULL));
}
END_TEST

/* ---- caps ------------------------------------------------------------------------------------ */

static char *repeat(const char *part, size_t n, const char *end)
{
    struct buf b;
    buf_init(&b, 64u << 20);
    for (size_t i = 0; i < n; i++) {
        buf_puts(&b, part);
    }
    buf_puts(&b, end);
    char *text = buf_take(&b);
    buf_done(&b);
    return text;
}

static const struct {
    const char *part;
    size_t n;
    const char *end;
    enum err_kind want;
} deep[] = {
    {"- ", YAMLX_MAX_DEPTH, "x", ERR_NONE},
    {"- ", YAMLX_MAX_DEPTH + 1, "x", ERR_LIMIT},
    {"- ", 20000, "x", ERR_LIMIT},
    {"? ", YAMLX_MAX_DEPTH + 1, "x", ERR_INVALID},
    {"[", YAMLX_MAX_DEPTH + 1, "", ERR_LIMIT},
    {"{a: ", YAMLX_MAX_DEPTH + 1, "", ERR_LIMIT},
    {"{\"a\":", 100000, "", ERR_LIMIT},
    {"[", 100000, "", ERR_LIMIT},
};

START_TEST(test_deep)
{
    struct err e = ERR_INIT;
    char *text = repeat(deep[_i].part, deep[_i].n, deep[_i].end);
    json_t *docs = parse_all(text, &e);
    ck_assert_msg(e.kind == deep[_i].want, "%d %s", (int)e.kind, e.msg);
    ck_assert(!docs == (e.kind != ERR_NONE));
    json_decref(docs);
    free(text);
}
END_TEST

START_TEST(test_json_depth)
{
    struct err e = ERR_INIT;
    char *open = repeat("[", YAMLX_MAX_DEPTH, ""), *close = repeat("]", YAMLX_MAX_DEPTH, "");
    char *text = xasprintf("%s%s", open, close), *deeper = xasprintf("[%s]", text);
    json_t *docs = parse_all(text, &e);
    ck_assert_msg(docs != NULL, "%s", e.msg);
    json_decref(docs);
    ck_assert_ptr_null(parse_all(deeper, &e));
    ck_assert_int_eq(e.kind, ERR_LIMIT);
    free(open);
    free(close);
    free(text);
    free(deeper);
}
END_TEST

/* Each level is ten times the one before: 10^9 values from a few lines. */
START_TEST(test_alias_bomb)
{
    struct err e = ERR_INIT;
    struct buf b;
    buf_init(&b, 1u << 20);
    buf_puts(&b, "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for (int i = 1; i < 10; i++) {
        buf_printf(&b, "a%d: &a%d [", i, i);
        for (int j = 0; j < 10; j++) {
            buf_printf(&b, "%s*a%d", j ? "," : "", i - 1);
        }
        buf_puts(&b, "]\n");
    }
    ck_assert_ptr_null(parse_all(b.p, &e));
    ck_assert_int_eq(e.kind, ERR_LIMIT);
    ck_assert_msg(strstr(e.msg, "too many values") != NULL, "%s", e.msg);
    buf_done(&b);
}
END_TEST

/* A chain of aliases must not build what the depth cap forbids. */
START_TEST(test_alias_depth)
{
    struct err e = ERR_INIT;
    struct buf b;
    buf_init(&b, 1u << 20);
    buf_puts(&b, "a0: &a0 [x]\n");
    for (int i = 1; i < 2000; i++) {
        buf_printf(&b, "a%d: &a%d [*a%d]\n", i, i, i - 1);
    }
    ck_assert_ptr_null(parse_all(b.p, &e));
    ck_assert_int_eq(e.kind, ERR_LIMIT);
    ck_assert_msg(strstr(e.msg, "nested too deeply") != NULL, "%s", e.msg);
    buf_done(&b);
}
END_TEST

/* A long text is not multiplied without end, either. */
START_TEST(test_alias_text)
{
    struct err e = ERR_INIT;
    char *word = repeat("x", 1000000, ""), *uses = repeat("- *w\n", 1000, "");
    char *text = xasprintf("- &w %s\n%s", word, uses);
    ck_assert_ptr_null(parse_all(text, &e));
    ck_assert_int_eq(e.kind, ERR_LIMIT);
    free(word);
    free(uses);
    free(text);
}
END_TEST

/* ---- writing --------------------------------------------------------------------------------- */

static const struct {
    const char *json, *yaml;
} emitted[] = {
    {"{}", "{}\n"},
    {"[]", "[]\n"},
    {"null", "null\n"},
    {"true", "true\n"},
    {"3", "3\n"},
    {"1.5", "1.5\n"},
    {"1e21", "1.0e+21\n"},
    {"\"x\"", "x\n"},
    {"{\"b\":1,\"a\":{\"c\":[],\"d\":{}}}", "b: 1\na:\n  c: []\n  d: {}\n"},
    {"{\"a\":[1,{\"b\":2,\"c\":[3]},[4,[5]],{}]}",
     "a:\n- 1\n- b: 2\n  c:\n  - 3\n- - 4\n  - - 5\n- {}\n"},
    {"[{\"a\":{\"b\":1}}]", "- a:\n    b: 1\n"},
    {"{\"a\":\"line\\nnext\\n\"}", "a: |\n  line\n  next\n"},
    {"{\"a\":\"line\\nnext\"}", "a: |-\n  line\n  next\n"},
    {"{\"a\":\"line\\n\\n\"}", "a: |+\n  line\n\n"},
    {"[[\"x\\ny\"]]", "- - |-\n    x\n    y\n"},
    {"\"x\\n\\ny\"", "|-\n  x\n\n  y\n"},
    {"{\"a\":\" x\\ny\"}", "a: \" x\\ny\"\n"},
    {"{\"a\":\"x\\ty\\nz\"}", "a: \"x\\ty\\nz\"\n"},
    {"{\"a\":\"\\u0000\\u0001\\u007f\\u0085\\u2028\\ufeff\"}",
     "a: \"\\x00\\x01\\x7f\\x85\\u2028\\ufeff\"\n"},
    {"{\"a\":\"\\u00e9\\ud83d\\ude00\"}", "a: \xc3\xa9\xf0\x9f\x98\x80\n"},
    {"{\"a\":\"{\\\"x\\\":1}\"}", "a: '{\"x\":1}'\n"},
    {"{\"a\":\"it's \\\"q\\\": x\"}", "a: 'it''s \"q\": x'\n"},
    {"{\"yes\":\"no\",\"1\":\"1\",\"\":\"\"}", "\"yes\": \"no\"\n\"1\": \"1\"\n\"\": \"\"\n"},
};

START_TEST(test_emit)
{
    struct err e = ERR_INIT;
    struct buf b;
    buf_init(&b, 1u << 20);
    json_t *v = jsonx_parse(emitted[_i].json, strlen(emitted[_i].json), "x", &e);
    ck_assert_msg(v != NULL, "%s", e.msg);
    ck_assert_int_eq(yamlx_emit(v, &b, &e), 0);
    ck_assert_str_eq(b.p, emitted[_i].yaml);
    json_decref(v);
    buf_done(&b);
}
END_TEST

/* Strings that must come back as themselves; quoted tells whether they may stand bare. */
static const struct {
    const char *text;
    bool bare;
} strings[] = {
    {"plain", true},
    {"two words", true},
    {"a-b_c.d/e", true},
    {"m5.large", true},
    {"us-east-1a", true},
    {"10.0.0.1", true},
    {"1.32.4", true},
    {"100m", true},
    {"1Gi", true},
    {"a:b", true},
    {"a#b", true},
    {"-x", true},
    {"http://x/?a=b&c", true},
    {"it's", true},
    {"", false},
    {" ", false},
    {" x", false},
    {"x ", false},
    {"x:", false},
    {"a: b", false},
    {"a #b", false},
    {"#a", false},
    {"-", false},
    {"- a", false},
    {"--", false},
    {"---", false},
    {"...", false},
    {"?", false},
    {"? a", false},
    {":", false},
    {"[a", false},
    {"{a", false},
    {"]", false},
    {"&a", false},
    {"*a", false},
    {"!a", false},
    {"|", false},
    {">", false},
    {"%a", false},
    {"@a", false},
    {"`a", false},
    {"'a", false},
    {"\"a", false},
    {",a", false},
    {"=", false},
    {"<<", false},
    {"~", false},
    {"null", false},
    {"true", false},
    {"True", false},
    {"yes", false},
    {"No", false},
    {"on", false},
    {"y", false},
    {"N", false},
    {"1", false},
    {"-1", false},
    {"+1", false},
    {"0x1f", false},
    {"0o17", false},
    {"017", false},
    {"0b1", false},
    {"1_000", false},
    {"1.5", false},
    {"1.32", false},
    {"1e3", false},
    {".5", false},
    {".inf", false},
    {".nan", false},
    {"1:30", false},
    {"190:20:30.15", false},
    {"2026-01-05", false},
    {"2026-01-05T09:00:00Z", false},
    {"\t", false},
    {"a\tb", false},
    {"\r\n", false},
    {"a\rb", false},
    {"\n", false},
    {"\n\n", false},
    {"a\n", false},
    {"a\n\n", false},
    {"a\n b\n", false},
    {"a\n\tb", false},
    {"a \nb", false},
    {"a\n---\nb", false},
    {"#a\nb", false},
    {"- a\n- b\n", false},
    {"\xc2\x85", false},
    {"\xe2\x80\xa9", false},
    {"\xef\xbf\xbf", false},
    {"\x7f", false},
    {"\xc2\xa0", true},
};

START_TEST(test_round_trip)
{
    const char *s = strings[_i].text;
    struct err e = ERR_INIT;
    struct buf b;
    buf_init(&b, 1u << 20);
    json_t *v = json_pack("[s,{s:s},[[s]],{s:[{s:[s]}]}]", s, s, s, s, s, s, s);
    ck_assert_int_eq(yamlx_emit(v, &b, &e), 0);
    json_t *docs = yamlx_parse_all(b.p, b.n, "x", NULL, &e);
    ck_assert_msg(docs != NULL, "%s: %s", b.p, e.msg);
    ck_assert_msg(json_equal(json_array_get(docs, 0), v), "%s", b.p);
    size_t n = strlen(s);
    bool bare = strncmp(b.p, "- ", 2) == 0 && strncmp(b.p + 2, s, n) == 0 && b.p[2 + n] == '\n';
    ck_assert_int_eq(bare, strings[_i].bare);
    json_decref(docs);
    json_decref(v);
    buf_done(&b);
}
END_TEST

START_TEST(test_long_key)
{
    struct err e = ERR_INIT;
    struct buf b;
    buf_init(&b, 1u << 20);
    char *key = repeat("k", 5000, "");
    json_t *v = json_pack("{s:i,s:[{s:{s:i}}]}", key, 1, "x", key, key, 2);
    ck_assert_int_eq(yamlx_emit(v, &b, &e), 0);
    json_t *docs = yamlx_parse_all(b.p, b.n, "x", NULL, &e);
    ck_assert_msg(docs != NULL, "%s", e.msg);
    ck_assert(json_equal(json_array_get(docs, 0), v));
    json_decref(docs);
    json_decref(v);
    free(key);
    buf_done(&b);
}
END_TEST

START_TEST(test_emit_limits)
{
    struct err e = ERR_INIT;
    struct buf b;
    json_t *v = json_integer(1);
    buf_init(&b, 1u << 20);
    for (int i = 0; i < JSONX_MAX_DEPTH + 1; i++) {
        json_t *outer = json_array();
        json_array_append_new(outer, v);
        v = outer;
    }
    ck_assert_int_eq(yamlx_emit(v, &b, &e), -1);
    ck_assert_int_eq(e.kind, ERR_LIMIT);
    buf_done(&b);
    buf_init(&b, 10);
    ck_assert_int_eq(yamlx_emit(json_array_get(v, 0), &b, &e), -1);
    ck_assert_int_eq(e.kind, ERR_LIMIT);
    buf_done(&b);
    json_decref(v);
}
END_TEST

/* Every prefix, and every text with one byte changed: never a crash, a hang or a leak. */
START_TEST(test_mutations)
{
    static const char text[] = "a: &x [1, 'y', \"\\x41\", {b: ~}]\n? c\n: |\n  d\n--- !!map\n"
                               "e: *x\n... # f\n%YAML 1.1\n---\n- >+\n g\n\n- !!int 0x1\n";
    static const char bytes[] = "\0\n\t -:?[]{},&*!|>'\"%@#\\\x80\xff";
    char copy[sizeof(text)];
    int good = 0;
    for (size_t i = 0; i < sizeof(text) - 1; i++) {
        memcpy(copy, text, sizeof(text));
        for (size_t j = 0; j < sizeof(bytes); j++) {
            copy[i] = bytes[j];
            json_t *docs = yamlx_parse_all(copy, sizeof(text) - 1, "x", NULL, NULL);
            good += docs != NULL;
            json_decref(docs);
        }
        json_decref(yamlx_parse_all(text, i, "x", NULL, NULL));
    }
    ck_assert_int_gt(good, 0);
}
END_TEST

UNIT_MAIN("yamlx", UNIT_CASES(test_scalar, scalars), UNIT_CASES(test_text, texts),
          UNIT_TEST(test_alias_is_copy), UNIT_CASES(test_broken, broken),
          UNIT_CASES(test_deep, deep), UNIT_TEST(test_json_depth), UNIT_TEST(test_alias_bomb),
          UNIT_TEST(test_alias_depth), UNIT_TEST(test_alias_text), UNIT_CASES(test_emit, emitted),
          UNIT_CASES(test_round_trip, strings), UNIT_TEST(test_long_key),
          UNIT_TEST(test_emit_limits), UNIT_TEST(test_mutations))
