/* test_render.c - model to JSON: requirements, resources, taints, finalizers. */
#include "unit.h"

#include "agent/work/render.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/core/labels.h"

static void check(json_t *v, const char *want)
{
    AUTO_FREE char *text = jsonx_canonical(v);
    ck_assert_str_eq(text, want);
    json_decref(v);
}

static const struct {
    struct resources r;
    const char *want;
} resource_rows[] = {
    {{.v = {0}}, "{}"},
    {{.v = {[RES_CPU] = 1500}}, "{\"cpu\":\"1500m\"}"},
    {{.v = {[RES_CPU] = 16000, [RES_MEMORY] = INT64_C(24) << 30, [RES_PODS] = 10}},
     "{\"cpu\":\"16\",\"memory\":\"24Gi\",\"pods\":\"10\"}"},
    {{.v = {[RES_NVIDIA_GPU] = 2}}, "{\"nvidia.com/gpu\":\"2\"}"},
};

START_TEST(resources)
{
    struct symtab *t = labels_symtab_new();
    check(render_resources(t, &resource_rows[_i].r), resource_rows[_i].want);
    struct res_ext ext[] = {{sym_intern(t, "example.com/fuse"), 3}};
    struct resources more = resource_rows[_i].r;
    more.ext = ext;
    more.n_ext = 1;
    AUTO_JSON json_t *o = render_resources(t, &more);
    ck_assert_str_eq(json_string_value(json_object_get(o, "example.com/fuse")), "3");
    symtab_free(t);
}
END_TEST

/* A requirement on one key, built from what is written, and written again. */
static const struct {
    enum req_op op;
    const char *values[3];
    uint16_t min_values;
    const char *want; /* of key "k" */
} req_rows[] = {
    {REQ_IN, {"b", "a"}, 0, "[{\"key\":\"k\",\"operator\":\"In\",\"values\":[\"a\",\"b\"]}]"},
    {REQ_IN,
     {"b", "a"},
     2,
     "[{\"key\":\"k\",\"minValues\":2,\"operator\":\"In\",\"values\":[\"a\",\"b\"]}]"},
    {REQ_NOT_IN, {"a"}, 0, "[{\"key\":\"k\",\"operator\":\"NotIn\",\"values\":[\"a\"]}]"},
    {REQ_EXISTS, {NULL}, 0, "[{\"key\":\"k\",\"operator\":\"Exists\"}]"},
    {REQ_DOES_NOT_EXIST, {NULL}, 0, "[{\"key\":\"k\",\"operator\":\"DoesNotExist\"}]"},
    {REQ_GT, {"3"}, 0, "[{\"key\":\"k\",\"operator\":\"Gte\",\"values\":[\"4\"]}]"},
    {REQ_LTE, {"8"}, 0, "[{\"key\":\"k\",\"operator\":\"Lte\",\"values\":[\"8\"]}]"},
    {REQ_GTE,
     {"2"},
     3,
     "[{\"key\":\"k\",\"minValues\":3,\"operator\":\"Exists\"},"
     "{\"key\":\"k\",\"operator\":\"Gte\",\"values\":[\"2\"]}]"},
};

START_TEST(requirements)
{
    struct symtab *t = labels_symtab_new();
    struct arena a;
    arena_init(&a, 0, 1 << 16);
    sym key = sym_intern(t, "k"), values[3];
    uint32_t n = 0;
    for (; n < 3 && req_rows[_i].values[n]; n++) {
        values[n] = sym_intern(t, req_rows[_i].values[n]);
    }
    struct req r;
    ck_assert_int_eq(
        req_make(&a, t, key, req_rows[_i].op, values, n, req_rows[_i].min_values, &r, NULL), 0);
    struct reqset s = {&r, 1};
    check(render_requirements(t, &s, NULL), req_rows[_i].want);
    sym skip[] = {key, SYM_NONE};
    check(render_requirements(t, &s, skip), "[]");
    arena_done(&a);
    symtab_free(t);
}
END_TEST

/* Keys come by string, whatever their numbers. */
START_TEST(order)
{
    struct symtab *t = labels_symtab_new();
    struct req v[] = {{.key = sym_intern(t, "z"), .complement = true},
                      {.key = sym_intern(t, "a"), .complement = true}};
    struct reqset s = {v, 2};
    check(render_requirements(t, &s, NULL),
          "[{\"key\":\"a\",\"operator\":\"Exists\"},{\"key\":\"z\",\"operator\":\"Exists\"}]");
    symtab_free(t);
}
END_TEST

static const struct {
    const char *add, *remove, *want;
} finalizer_rows[] = {
    {"c", NULL, "[\"a\",\"b\",\"c\"]"},
    {"a", NULL, "[\"b\",\"a\"]"},
    {NULL, "a", "[\"b\"]"},
    {NULL, "x", "[\"a\",\"b\"]"},
};

START_TEST(finalizers)
{
    static const char *const have[] = {"a", "b"};
    struct meta m = {.finalizers = have, .n_finalizers = 2};
    check(render_finalizers(&m, finalizer_rows[_i].add, finalizer_rows[_i].remove),
          finalizer_rows[_i].want);
}
END_TEST

START_TEST(taints)
{
    struct symtab *t = labels_symtab_new();
    struct taint v[] = {{sym_intern(t, "team"), sym_intern(t, "x"), EFFECT_NO_EXECUTE},
                        {sym_intern(t, "bare"), V_EMPTY, EFFECT_PREFER_NO_SCHEDULE}};
    check(render_taint(t, &v[0]), "{\"effect\":\"NoExecute\",\"key\":\"team\",\"value\":\"x\"}");
    check(render_taint(t, &v[1]), "{\"effect\":\"PreferNoSchedule\",\"key\":\"bare\"}");
    symtab_free(t);
}
END_TEST

UNIT_MAIN("render", UNIT_CASES(resources, resource_rows), UNIT_CASES(requirements, req_rows),
          UNIT_TEST(order), UNIT_CASES(finalizers, finalizer_rows), UNIT_TEST(taints))
