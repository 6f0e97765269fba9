#include "unit.h"

#include "common/base/alloc.h"
#include "common/base/jsonpath.h"
#include "common/base/jsonx.h"

static const char object[] =
    "{\"kind\":\"Node\",\"metadata\":{\"name\":\"n1\",\"labels\":{\"app.kubernetes.io/name\":\"x\","
    "\"b\":\"c\"}},\"spec\":{\"n\":3,\"f\":1.5,\"t\":true,\"z\":null,\"empty\":[],\"e\":{},"
    "\"list\":[{\"type\":\"Ready\",\"status\":\"True\",\"v\":1},"
    "{\"type\":\"Disk\",\"status\":\"False\",\"v\":10,\"sub\":{\"name\":\"in\"}},{\"v\":2}],"
    "\"nums\":[1,2,3,4,5],\"nested\":[[\"a\",\"b\"],[\"c\"]],\"m\":{\"a\":{\"name\":\"m1\"},"
    "\"b\":{\"name\":\"m2\"}},\"odd=key\":7,\"str\":\"<x> & \\\"y\\\"\"}}";

static json_t *root(void)
{
    json_t *v = jsonx_parse(object, strlen(object), "object", NULL);
    ck_assert_ptr_nonnull(v);
    return v;
}

/* ---- templates ------------------------------------------------------------------------------- */

/* What kubectl prints, unless the row says so. */
static const struct {
    const char *tmpl, *text;
} rendered[] = {
    {"{.kind}", "Node"},
    {"{.spec.n}", "3"},
    {"{.spec.f} {.spec.t} {.spec.z}", "1.5 true null"},
    {"{.spec.empty}{.spec.e}", "[]{}"},
    {"{.spec.list[0]}", "{\"status\":\"True\",\"type\":\"Ready\",\"v\":1}"},
    {"{.spec.list[*].type}", "Ready Disk"},
    {"{.spec.list.*.v}", "1 10 2"},
    {"{.spec.list[-1].v}", "2"},
    {"{.spec.nums}", "[1,2,3,4,5]"},
    {"{.spec.nums[*]}", "1 2 3 4 5"},
    {"{.spec.nums[1:3]}", "2 3"},
    {"{.spec.nums[-2:]}", "4 5"},
    {"{.spec.nums[:2]}", "1 2"},
    {"{.spec.nums[-2:-1]}", "4"},
    {"{.spec.nums[0:5:2]}", "1 3 5"},
    {"{.spec.nums[::2]}", "1 3 5"},
    {"{.spec.nums[0,2]}", "1 3"},
    {"{.spec['n','f']}", "3 1.5"},
    {"{['kind']}", "Node"},
    {"{.metadata.labels.app\\.kubernetes\\.io/name}", "x"},
    {"{.metadata.labels['app\\.kubernetes\\.io/name']}", "x"},
    {"{..name}", "n1 in m1 m2"},
    {"{.spec..name}", "in m1 m2"},
    {"{..list[0].v}", "1"},
    {"{.spec.m.*.name}", "m1 m2"},
    {"{.spec.nested[*][0]}", "a c"},
    {"{.spec.nested[*][*]}", "a b c"},
    {"{.spec.list[?(@.type==\"Ready\")].status}", "True"},
    {"{.spec.list[?(@.type=='Ready')].status}", "True"},
    {"{.spec.list[?( @.type == \"Ready\" )].status}", "True"},
    {"{.spec.list[?(@.type!=\"Ready\")].v}", "10"},
    {"{.spec.list[?(@.v>1)].v}", "10 2"},
    {"{.spec.list[?(@.v>=2)].v}", "10 2"},
    {"{.spec.list[?(@.v<2)].v}", "1"},
    {"{.spec.list[?(@.v<=2)].v}", "1 2"},
    {"{.spec.list[?(@.sub)].v}", "10"},
    {"{.spec.list[?(@.sub.name==\"in\")].v}", "10"},
    {"{.spec.list[?(@.nope==\"x\")].v}", ""},
    {"{.spec.nums[?(@>2)]}", "3 4 5"},
    {"{range .spec.list[*]}{.v}{\"\\t\"}{.type}{\"\\n\"}{end}", "1\tReady\n10\tDisk\n2\t\n"},
    {"{range .spec.nested[*]}[{range @[*]}{@},{end}]{end}", "[a,b,][c,]"},
    {"{range .spec.list[*]}{$.kind}{@.v},{end}", "1,10,2,"},
    {"{range .nope[*]}x{end}", ""},
    {"{.nope}", ""},
    {"{.nope.x[0]}", ""},
    {"{.spec.n.x}", ""},
    {"{.spec.str}", "<x> & \"y\""},
    {"{ .spec.n }", "3"},
    {"{$.kind} {@.kind}", "Node Node"},
    {"{\"a\\n\\\"b\"}x{'q'}", "a\n\"bxq"},
    {"a } {.kind}}", "a } Node}"},
    {"{.spec.nums[3:1]}", ""},
    /* Kinder than kubectl. */
    {"{.spec.nums[9]}{.spec.nums[-9]}", ""},
    {"{.spec.nums[2:99]}", "3 4 5"},
    {"{.spec.nums[-99:2]}", "1 2"},
    {"{.spec.nums[0:5:9223372036854775807]}", "1"},
    {"{.spec.nums[-9223372036854775808]}", ""},
    {"{.spec.t[0]}{.spec.m[0]}{.spec.m[?(@.name)]}", ""},
    {"{.metadata.labels['app.kubernetes.io/name']}", "x"},
    {"{.spec[\"n\"]}", "3"},
    {"{.spec.list[?(@.v==1.0)].type}", "Ready"},
    {"{.spec.list[?(@.v==\"1\")].type}", ""},
    {"{.spec.list[?(@.v!=\"1\")].v}", "1 10 2"},
    {"{.spec.list[?(@.v==@.v)].v}", "1 10 2"},
    {"{.spec.list[?(\"Ready\"==@.type)].v}", "1"},
    {"{.spec.list[?(@.sub==null)].v}", ""},
    {"{.spec.nested[?(@[?(@==\"c\")])]}", "[\"c\"]"},
    {"{.spec.odd=key}", "7"},
    {".spec.n", "3"},
    {"spec.n", "3"},
    {" .spec.n ", "3"},
    {"{.spec.list.[0].v}", "1"},
};

START_TEST(test_render)
{
    struct err e = ERR_INIT;
    struct buf b;
    json_t *v = root();
    buf_init(&b, 1u << 20);
    ck_assert_msg(jsonpath_render(v, rendered[_i].tmpl, &b, &e) == 0, "%s", e.msg);
    ck_assert_str_eq(b.p, rendered[_i].text);
    buf_done(&b);
    json_decref(v);
}
END_TEST

static const struct {
    const char *tmpl, *part;
} broken[] = {
    {"", "empty"},
    {"   ", "empty"},
    {"{", "} expected"},
    {"{.kind", "} expected"},
    {"{{.kind}}", "} expected"},
    {"{.kind .spec}", "} expected"},
    {"{.spec.n,.spec.f}", "} expected"},
    {"{.a.}", "name expected"},
    {"{.a...b}", "name expected"},
    {"{....}", "name expected"},
    {"{.spec.nums[", "index or quoted key"},
    {"{.spec.nums[]}", "index or quoted key"},
    {"{.spec.nums[a]}", "index or quoted key"},
    {"{.spec.nums[1,]}", "index or quoted key"},
    {"{.spec.nums[*}", "not closed with ]"},
    {"{.spec.nums[1}", "not closed with ]"},
    {"{.spec.nums[1:2:3:4]}", "not closed with ]"},
    {"{.spec.nums[-]}", "not a number"},
    {"{.spec.nums[1-2]}", "not a number"},
    {"{.spec.nums[9223372036854775808]}", "not a number"},
    {"{.spec.nums[0:5:0]}", "step must be positive"},
    {"{.spec.nums[0:5:-1]}", "step must be positive"},
    {"{\"a", "quotes are not closed"},
    {"{\"a\\", "escape"},
    {"{\"a\\q\"}", "escape"},
    {"{['a]}", "quotes are not closed"},
    {"{.spec.list[?(@.type==\"Ready\"].v}", "not closed with )"},
    {"{.spec.list[?(@.a || @.b)]}", "not closed with )"},
    {"{.spec.list[?(@.a in ['x'])]}", "not closed with )"},
    {"{.spec.list[?@.a]}", "needs ("},
    {"{.spec.list[?()]}", "filter needs @.path"},
    {"{.spec.list[?(@.a==)]}", "filter needs @.path"},
    {"{.spec.list[?(@.a==xyz)]}", "filter needs @.path"},
    {"{.spec.list[?(@.a==1.2.3)]}", "not a number"},
    {"{.spec.list[?(@.v==1)}", "not closed with ]"},
    {"{.spec.list[?(@.*==1)]}", "not several"},
    {"{.spec.list[?(1==@.*)]}", "not several"},
    {"{range .spec.list[*]}{.v}", "range without end"},
    {"{range .spec.list[*]", "} expected"},
    {"{end}", "end without range"},
    {"{range .a}{end}{end}", "end without range"},
    {"{\"a\" .b}", "} expected"},
    {".a b", "unexpected character"},
    {"a}", "unexpected character"},
};

START_TEST(test_broken)
{
    struct err e = ERR_INIT;
    struct buf b;
    json_t *v = root();
    buf_init(&b, 1u << 20);
    ck_assert_msg(jsonpath_render(v, broken[_i].tmpl, &b, &e) == -1, "%s: %s", broken[_i].tmpl,
                  b.p);
    ck_assert_int_eq(e.kind, ERR_INVALID);
    ck_assert_msg(strstr(e.msg, broken[_i].part) != NULL, "%s: %s", broken[_i].tmpl, e.msg);
    ck_assert_int_eq(jsonpath_render(v, broken[_i].tmpl, &b, NULL), -1);
    buf_done(&b);
    json_decref(v);
}
END_TEST

/* ---- bare paths ------------------------------------------------------------------------------ */

static const struct {
    const char *path, *json; /* NULL: an error */
} found[] = {
    {"kind", "[\"Node\"]"},
    {".kind", "[\"Node\"]"},
    {"$.kind", "[\"Node\"]"},
    {"{.kind}", "[\"Node\"]"},
    {"{ kind }", "[\"Node\"]"},
    {".spec.list[*].v", "[1,10,2]"},
    {".spec.list[?(@.type==\"Disk\")].status", "[\"False\"]"},
    {".spec.z", "[null]"},
    {".spec.e", "[{}]"},
    {".nope", "[]"},
    {".nope[0].x", "[]"},
    {".spec.nums[7]", "[]"},
    {"['metadata'].labels['app.kubernetes.io/name']", "[\"x\"]"},
    {"metadata.labels.app\\.kubernetes\\.io/name", "[\"x\"]"},
    {"..sub", "[{\"name\":\"in\"}]"},
    {"", NULL},
    {"{.kind", NULL},
    {"{.kind}x", NULL},
    {"{.kind}{.spec}", NULL},
    {".kind]", NULL},
    {"a[", NULL},
};

START_TEST(test_find)
{
    struct err e = ERR_INIT;
    json_t *v = root(), *hits = jsonpath_find(v, found[_i].path, &e);
    if (!found[_i].json) {
        ck_assert_ptr_null(hits);
        ck_assert_int_eq(e.kind, ERR_INVALID);
    } else {
        ck_assert_msg(hits != NULL, "%s", e.msg);
        char *text = jsonx_canonical(hits);
        ck_assert_str_eq(text, found[_i].json);
        free(text);
    }
    json_decref(hits);
    json_decref(v);
}
END_TEST

START_TEST(test_find_outlives_root)
{
    json_t *v = root(), *hits = jsonpath_find(v, ".metadata.name", NULL);
    json_decref(v);
    ck_assert_str_eq(json_string_value(json_array_get(hits, 0)), "n1");
    json_decref(hits);
    hits = jsonpath_find(NULL, ".a", NULL);
    ck_assert_uint_eq(json_array_size(hits), 0);
    json_decref(hits);
}
END_TEST

/* ---- caps ------------------------------------------------------------------------------------ */

static char *repeat(const char *part, size_t n)
{
    size_t len = strlen(part);
    char *text = xcalloc(n * len + 1, 1);
    for (size_t i = 0; i < n; i++) {
        memcpy(text + i * len, part, len);
    }
    return text;
}

static const struct {
    const char *part;
    size_t n;
    enum err_kind want;
} hostile[] = {
    {"a", JSONPATH_MAX_TEXT + 1, ERR_LIMIT},
    {"a", JSONPATH_MAX_TEXT, ERR_NONE},
    {".a", JSONPATH_MAX_TEXT / 2, ERR_NONE},
    {"[0]", JSONPATH_MAX_TEXT / 3, ERR_NONE},
    {"a[?(@.", JSONPATH_MAX_NESTING + 1, ERR_INVALID},
    {"a[?(@.", 2000, ERR_INVALID},
    {"{range .a}", JSONPATH_MAX_NESTING + 1, ERR_INVALID},
    {"{range .a}", 1500, ERR_INVALID},
    {"\\", 1000, ERR_NONE},
    {"..*", 12, ERR_LIMIT},
    {"..", 30, ERR_INVALID},
    {"[*]", 30, ERR_NONE},
};

START_TEST(test_hostile)
{
    struct err e = ERR_INIT;
    struct buf b;
    /* 16 levels of two members each: ..* squares it again and again. */
    json_t *v = json_object();
    for (int i = 0; i < 16; i++) {
        json_t *outer = json_pack("{s:O,s:o}", "a", v, "b", json_deep_copy(v));
        json_decref(v);
        v = outer;
    }
    char *text = repeat(hostile[_i].part, hostile[_i].n);
    buf_init(&b, 1u << 24);
    int rc = jsonpath_render(v, text, &b, &e);
    ck_assert_msg(e.kind == hostile[_i].want, "%d %s", (int)e.kind, e.msg);
    ck_assert_int_eq(rc, e.kind == ERR_NONE ? 0 : -1);
    buf_done(&b);
    free(text);
    json_decref(v);
}
END_TEST

START_TEST(test_output_cap)
{
    struct err e = ERR_INIT;
    struct buf b;
    json_t *v = root();
    buf_init(&b, 10);
    ck_assert_int_eq(jsonpath_render(v, "{range ..*}{range ..*}{@}{end}{end}", &b, &e), -1);
    ck_assert_int_eq(e.kind, ERR_LIMIT);
    buf_reset(&b);
    ck_assert_int_eq(jsonpath_render(v, "twelve bytes{.nope}", &b, &e), -1);
    ck_assert_int_eq(e.kind, ERR_LIMIT);
    buf_done(&b);
    json_decref(v);
}
END_TEST

START_TEST(test_mutations)
{
    static const char tmpl[] = "{range .spec.list[?(@.v>=1)]}{.type}{\"\\n\"}{['a','b'][1:2]}{end}";
    static const char bytes[] = "\0 .[](){}*?@$\"'\\:,-=<!a1";
    char copy[sizeof(tmpl)];
    json_t *v = root();
    int good = 0;
    for (size_t i = 0; i < sizeof(tmpl) - 1; i++) {
        for (size_t j = 0; j < sizeof(bytes) - 1; j++) {
            struct buf b;
            memcpy(copy, tmpl, sizeof(tmpl));
            copy[i] = bytes[j];
            buf_init(&b, 1u << 16);
            good += jsonpath_render(v, copy, &b, NULL) == 0;
            buf_done(&b);
        }
    }
    ck_assert_int_gt(good, 0);
    json_decref(v);
}
END_TEST

UNIT_MAIN("jsonpath", UNIT_CASES(test_render, rendered), UNIT_CASES(test_broken, broken),
          UNIT_CASES(test_find, found), UNIT_TEST(test_find_outlives_root),
          UNIT_CASES(test_hostile, hostile), UNIT_TEST(test_output_cap), UNIT_TEST(test_mutations))
