/* test_req.c - operators, the algebra of two requirements, compatibility, the written form */
#include "unit.h"

#include "common/core/labels.h"
#include "common/core/req.h"

#define VALUES_MAX 8

/* A requirement as a row writes it: operator and values, NULL-terminated. */
struct written {
    enum req_op op;
    const char *values[VALUES_MAX];
};

static struct symtab *syms;
static struct arena mem;

static void setup(void)
{
    syms = labels_symtab_new();
    arena_init(&mem, 0, SIZE_MAX);
}

static void teardown(void)
{
    arena_done(&mem);
    symtab_free(syms);
}

static uint32_t intern_all(const char *const *from, sym *to)
{
    uint32_t n = 0;
    while (n < VALUES_MAX && from[n]) {
        to[n] = sym_intern(syms, from[n]);
        n++;
    }
    return n;
}

static int make(const char *key, const struct written *w, struct req *ret, struct err *e)
{
    sym values[VALUES_MAX];
    uint32_t n = intern_all(w->values, values);
    return req_make(&mem, syms, sym_intern(syms, key), w->op, values, n, 0, ret, e);
}

static struct req must_make(const char *key, const struct written *w)
{
    struct err e = ERR_INIT;
    struct req r;
    ck_assert_msg(make(key, w, &r, &e) == 0, "%s", e.msg);
    return r;
}

static void check_text(const struct req *r, unsigned max, const char *expected)
{
    struct buf b;
    buf_init(&b, 65536);
    req_fmt(syms, r, max, &b);
    ck_assert_str_eq(b.p, expected);
    buf_done(&b);
}

/* ---- operators
 * ------------------------------------------------------------------------------------- */

static const char *const op_texts[] = {"In", "NotIn", "Exists", "DoesNotExist",
                                       "Gt", "Lt",    "Gte",    "Lte"};

START_TEST(operators_are_spelt_as_in_kubernetes)
{
    enum req_op op;
    ck_assert(req_op_parse(op_texts[_i], &op));
    ck_assert_int_eq(op, _i);
    ck_assert_str_eq(req_op_name(op), op_texts[_i]);
    ck_assert(!req_op_parse("in", &op));
    ck_assert(!req_op_parse("", &op));
    ck_assert(!req_op_parse(NULL, &op));
}
END_TEST

static const struct {
    struct written w;
    const char *error; /* NULL: fine */
    const char *text;
    enum req_op op;
    bool empty;
} makes[] = {
    {{REQ_IN, {"b", "a", "b"}}, NULL, "k In [a b]", REQ_IN, false},
    {{REQ_IN, {NULL}}, "operator In takes at least one value", NULL, 0, false},
    {{REQ_NOT_IN, {"b", "a"}}, NULL, "k NotIn [a b]", REQ_NOT_IN, false},
    {{REQ_NOT_IN, {NULL}}, NULL, "k Exists", REQ_EXISTS, false},
    {{REQ_EXISTS, {NULL}}, NULL, "k Exists", REQ_EXISTS, false},
    {{REQ_EXISTS, {"x"}}, NULL, "k Exists", REQ_EXISTS, false},
    {{REQ_DOES_NOT_EXIST, {NULL}}, NULL, "k DoesNotExist", REQ_DOES_NOT_EXIST, true},
    {{REQ_GT, {"4"}}, NULL, "k Gte 5", REQ_EXISTS, false},
    {{REQ_GTE, {"4"}}, NULL, "k Gte 4", REQ_EXISTS, false},
    {{REQ_LT, {"4"}}, NULL, "k Lte 3", REQ_EXISTS, false},
    {{REQ_LTE, {"4"}}, NULL, "k Lte 4", REQ_EXISTS, false},
    {{REQ_LT, {"0"}}, NULL, "k Lte -1", REQ_EXISTS, false},
    {{REQ_GT, {"9223372036854775806"}}, NULL, "k Gte 9223372036854775807", REQ_EXISTS, false},
    {{REQ_GT, {"9223372036854775807"}}, NULL, "k DoesNotExist", REQ_DOES_NOT_EXIST, true},
    {{REQ_GT, {"9223372036854775808"}}, "not \"9223372036854775808\"", NULL, 0, false},
    {{REQ_GT, {"-1"}},
     "operator Gt takes a whole number that is not negative, not \"-1\"",
     NULL,
     0,
     false},
    {{REQ_LTE, {"four"}},
     "operator Lte takes a whole number that is not negative, not \"four\"",
     NULL,
     0,
     false},
    {{REQ_GTE, {"1.5"}}, "not \"1.5\"", NULL, 0, false},
    {{REQ_GTE, {NULL}}, "operator Gte takes exactly one value, not 0", NULL, 0, false},
    {{REQ_LT, {"1", "2"}}, "operator Lt takes exactly one value, not 2", NULL, 0, false},
};

START_TEST(makes_from_the_written_form)
{
    struct err e = ERR_INIT;
    struct req r;
    int rc = make("k", &makes[_i].w, &r, &e);
    if (makes[_i].error) {
        ck_assert_int_eq(rc, -1);
        ck_assert_int_eq(e.kind, ERR_INVALID);
        ck_assert_msg(strstr(e.msg, makes[_i].error) != NULL, "%s", e.msg);
        return;
    }
    ck_assert_int_eq(rc, 0);
    check_text(&r, 0, makes[_i].text);
    ck_assert_int_eq(req_op(&r), makes[_i].op);
    ck_assert_int_eq(req_is_empty(&r), makes[_i].empty);
    ck_assert_int_eq(req_negative(&r),
                     makes[_i].op == REQ_NOT_IN || makes[_i].w.op == REQ_DOES_NOT_EXIST);
}
END_TEST

START_TEST(refuses_too_many_values)
{
    struct err e = ERR_INIT;
    struct req r;
    sym *values = ARENA_NEW_N(&mem, sym, REQ_MAX_VALUES + 1);
    for (uint32_t i = 0; i <= REQ_MAX_VALUES; i++) {
        values[i] = i + 1;
    }
    ck_assert_int_eq(req_make(&mem, syms, 1, REQ_IN, values, REQ_MAX_VALUES, 0, &r, &e), 0);
    ck_assert_uint_eq(r.n, REQ_MAX_VALUES);
    ck_assert_int_eq(req_make(&mem, syms, 1, REQ_IN, values, REQ_MAX_VALUES + 1, 0, &r, &e), -1);
    ck_assert_int_eq(e.kind, ERR_LIMIT);
}
END_TEST

/* ---- two of them
 * -------------------------------------------------------------------------------------- */

static const struct {
    struct written x, y;
    const char *text; /* of the intersection, either way round */
} pairs[] = {
    /* In */
    {{REQ_IN, {"a", "b"}}, {REQ_IN, {"b", "c"}}, "k In [b]"},
    {{REQ_IN, {"a", "b"}}, {REQ_IN, {"b", "a"}}, "k In [a b]"},
    {{REQ_IN, {"a"}}, {REQ_IN, {"c"}}, "k DoesNotExist"},
    {{REQ_IN, {"a", "b"}}, {REQ_NOT_IN, {"b", "c"}}, "k In [a]"},
    {{REQ_IN, {"a"}}, {REQ_NOT_IN, {"a"}}, "k DoesNotExist"},
    {{REQ_IN, {"a", "b"}}, {REQ_EXISTS, {NULL}}, "k In [a b]"},
    {{REQ_IN, {"a"}}, {REQ_DOES_NOT_EXIST, {NULL}}, "k DoesNotExist"},
    {{REQ_IN, {"3", "4", "5", "x"}}, {REQ_GT, {"4"}}, "k In [5]"},
    {{REQ_IN, {"3", "4", "5", "x"}}, {REQ_GTE, {"4"}}, "k In [4 5]"},
    {{REQ_IN, {"3", "4", "5", "x"}}, {REQ_LT, {"4"}}, "k In [3]"},
    {{REQ_IN, {"3", "4", "5", "x"}}, {REQ_LTE, {"4"}}, "k In [3 4]"},
    {{REQ_IN, {"x"}}, {REQ_LTE, {"4"}}, "k DoesNotExist"},
    /* NotIn */
    {{REQ_NOT_IN, {"a", "b"}}, {REQ_NOT_IN, {"b", "c"}}, "k NotIn [a b c]"},
    {{REQ_NOT_IN, {"a"}}, {REQ_EXISTS, {NULL}}, "k NotIn [a] and Exists"},
    {{REQ_NOT_IN, {"a"}}, {REQ_DOES_NOT_EXIST, {NULL}}, "k DoesNotExist"},
    {{REQ_NOT_IN, {"4", "5", "x"}}, {REQ_GT, {"4"}}, "k NotIn [5] and Gte 5"},
    {{REQ_NOT_IN, {"4", "5", "x"}}, {REQ_GTE, {"4"}}, "k NotIn [4 5] and Gte 4"},
    {{REQ_NOT_IN, {"4", "5", "x"}}, {REQ_LT, {"5"}}, "k NotIn [4] and Lte 4"},
    {{REQ_NOT_IN, {"4", "5", "x"}}, {REQ_LTE, {"3"}}, "k Lte 3"},
    /* Exists, DoesNotExist */
    {{REQ_EXISTS, {NULL}}, {REQ_EXISTS, {NULL}}, "k Exists"},
    {{REQ_EXISTS, {NULL}}, {REQ_DOES_NOT_EXIST, {NULL}}, "k DoesNotExist"},
    {{REQ_EXISTS, {NULL}}, {REQ_GT, {"4"}}, "k Gte 5"},
    {{REQ_EXISTS, {NULL}}, {REQ_LT, {"4"}}, "k Lte 3"},
    {{REQ_EXISTS, {NULL}}, {REQ_GTE, {"4"}}, "k Gte 4"},
    {{REQ_EXISTS, {NULL}}, {REQ_LTE, {"4"}}, "k Lte 4"},
    {{REQ_DOES_NOT_EXIST, {NULL}}, {REQ_DOES_NOT_EXIST, {NULL}}, "k DoesNotExist"},
    {{REQ_DOES_NOT_EXIST, {NULL}}, {REQ_GT, {"4"}}, "k DoesNotExist"},
    {{REQ_DOES_NOT_EXIST, {NULL}}, {REQ_LT, {"4"}}, "k DoesNotExist"},
    {{REQ_DOES_NOT_EXIST, {NULL}}, {REQ_GTE, {"4"}}, "k DoesNotExist"},
    {{REQ_DOES_NOT_EXIST, {NULL}}, {REQ_LTE, {"4"}}, "k DoesNotExist"},
    /* bounds */
    {{REQ_GT, {"4"}}, {REQ_GT, {"7"}}, "k Gte 8"},
    {{REQ_GT, {"4"}}, {REQ_GTE, {"4"}}, "k Gte 5"},
    {{REQ_GTE, {"4"}}, {REQ_GTE, {"6"}}, "k Gte 6"},
    {{REQ_LT, {"4"}}, {REQ_LT, {"7"}}, "k Lte 3"},
    {{REQ_LT, {"4"}}, {REQ_LTE, {"4"}}, "k Lte 3"},
    {{REQ_LTE, {"4"}}, {REQ_LTE, {"6"}}, "k Lte 4"},
    {{REQ_GT, {"4"}}, {REQ_LT, {"9"}}, "k Gte 5 and Lte 8"},
    {{REQ_GT, {"4"}}, {REQ_LTE, {"9"}}, "k Gte 5 and Lte 9"},
    {{REQ_GTE, {"4"}}, {REQ_LT, {"9"}}, "k Gte 4 and Lte 8"},
    {{REQ_GTE, {"4"}}, {REQ_LTE, {"4"}}, "k Gte 4 and Lte 4"},
    {{REQ_GT, {"4"}}, {REQ_LT, {"5"}}, "k DoesNotExist"},
    {{REQ_GTE, {"5"}}, {REQ_LTE, {"4"}}, "k DoesNotExist"},
};

START_TEST(intersects_either_way_round)
{
    struct req x = must_make("k", &pairs[_i].x), y = must_make("k", &pairs[_i].y);
    struct req xy = req_intersect(&mem, syms, &x, &y), yx = req_intersect(&mem, syms, &y, &x);
    check_text(&xy, 0, pairs[_i].text);
    check_text(&yx, 0, pairs[_i].text);
    ck_assert(req_equal(&xy, &yx));
    ck_assert_int_eq(req_intersects(syms, &x, &y), !req_is_empty(&xy));
    ck_assert_int_eq(req_intersects(syms, &y, &x), !req_is_empty(&xy));
}
END_TEST

/* Every requirement of the table against every other: membership is the law. */
static const char *const universe[] = {"a", "b", "c", "x", "3",  "4",
                                       "5", "6", "8", "9", "05", "zz"};

static void check_membership(const struct written *wx, const struct written *wy)
{
    struct req x = must_make("k", wx), y = must_make("k", wy);
    struct req both = req_intersect(&mem, syms, &x, &y);
    bool any = false;
    for (size_t i = 0; i < ARRAY_LEN(universe); i++) {
        sym v = sym_intern(syms, universe[i]);
        bool in = req_has(syms, &x, v) && req_has(syms, &y, v);
        ck_assert_int_eq(req_has(syms, &both, v), in);
        any |= in;
    }
    if (any) {
        ck_assert(req_intersects(syms, &x, &y));
    }
    ck_assert_int_eq(req_intersects(syms, &x, &y), !req_is_empty(&both));
    /* A node without the label is a member, too. */
    ck_assert_int_eq(req_negative(&both), req_negative(&x) && req_negative(&y));
}

START_TEST(intersection_is_membership_in_both)
{
    for (size_t j = 0; j < ARRAY_LEN(pairs); j++) {
        check_membership(&pairs[_i].x, &pairs[j].x);
        check_membership(&pairs[_i].x, &pairs[j].y);
        check_membership(&pairs[_i].y, &pairs[j].y);
    }
}
END_TEST

START_TEST(bounds_and_exclusions_stay_together)
{
    struct req a = must_make("k", &(struct written){REQ_NOT_IN, {"5", "6"}});
    struct req b = must_make("k", &(struct written){REQ_GTE, {"4"}});
    struct req c = must_make("k", &(struct written){REQ_LTE, {"6"}});
    struct req r = req_intersect(&mem, syms, &a, &b);
    r = req_intersect(&mem, syms, &r, &c);
    ck_assert(req_has(syms, &r, sym_intern(syms, "4")));
    ck_assert(!req_has(syms, &r, sym_intern(syms, "5")));
    ck_assert(!req_has(syms, &r, sym_intern(syms, "7")));
    ck_assert(!req_has(syms, &r, sym_intern(syms, "four")));
    check_text(&r, 0, "k NotIn [5 6] and Gte 4 and Lte 6");
    struct req d = must_make("k", &(struct written){REQ_IN, {"4", "5", "9"}});
    r = req_intersect(&mem, syms, &r, &d);
    check_text(&r, 0, "k In [4]");
    ck_assert(!r.has_gte && !r.has_lte);
    ck_assert_uint_eq(req_single(&r), sym_intern(syms, "4"));
    ck_assert_uint_eq(req_single(&d), SYM_NONE);
    ck_assert_uint_eq(req_single(&b), SYM_NONE);
}
END_TEST

START_TEST(min_values_is_the_greater)
{
    struct req x = must_make("k", &(struct written){REQ_EXISTS, {NULL}});
    struct req y = must_make("k", &(struct written){REQ_IN, {"a"}});
    x.min_values = 3;
    y.min_values = 2;
    ck_assert_uint_eq(req_intersect(&mem, syms, &x, &y).min_values, 3);
    ck_assert_uint_eq(req_intersect(&mem, syms, &y, &x).min_values, 3);
    ck_assert(!req_equal(&x, &y));
}
END_TEST

START_TEST(too_many_exclusions_admit_nothing)
{
    struct err e = ERR_INIT;
    struct req x, y, r;
    sym *values = ARENA_NEW_N(&mem, sym, REQ_MAX_VALUES + 1);
    for (uint32_t i = 0; i <= REQ_MAX_VALUES; i++) {
        values[i] = i + 1;
    }
    ck_assert_int_eq(req_make(&mem, syms, 1, REQ_NOT_IN, values, REQ_MAX_VALUES, 0, &x, &e), 0);
    ck_assert_int_eq(req_make(&mem, syms, 1, REQ_NOT_IN, values + 1, REQ_MAX_VALUES, 0, &y, &e), 0);
    r = req_intersect(&mem, syms, &x, &x);
    ck_assert_uint_eq(r.n, REQ_MAX_VALUES);
    r = req_intersect(&mem, syms, &x, &y);
    ck_assert(req_is_empty(&r));
}
END_TEST

/* ---- sets
 * ------------------------------------------------------------------------------------------------
 */

START_TEST(sets_add_merge_and_drop)
{
    struct reqset s = {.n = 0}, t = {.n = 0};
    struct req ab = must_make("k1", &(struct written){REQ_IN, {"a", "b"}});
    struct req bc = must_make("k1", &(struct written){REQ_IN, {"b", "c"}});
    struct req other = must_make("k2", &(struct written){REQ_EXISTS, {NULL}});
    struct req arch = must_make("kubernetes.io/arch", &(struct written){REQ_IN, {"amd64"}});
    s = reqset_add(&mem, syms, &s, &other);
    s = reqset_add(&mem, syms, &s, &ab);
    t = reqset_add(&mem, syms, &t, &arch);
    t = reqset_add(&mem, syms, &t, &bc);
    struct reqset before = s;
    struct reqset m = reqset_merge(&mem, syms, &s, &t);
    ck_assert_uint_eq(m.n, 3);
    ck_assert_uint_eq(m.v[0].key, L_ARCH);
    ck_assert(m.v[0].key < m.v[1].key && m.v[1].key < m.v[2].key);
    check_text(reqset_get(&m, ab.key), 0, "k1 In [b]");
    check_text(reqset_get(&before, ab.key), 0, "k1 In [a b]");
    ck_assert_ptr_null(reqset_get(&s, L_ARCH));
    s = reqset_add(&mem, syms, &s, &bc);
    check_text(reqset_get(&s, ab.key), 0, "k1 In [b]");
    ck_assert_uint_eq(s.n, 2);
    m = reqset_without(&mem, &m, ab.key);
    ck_assert_uint_eq(m.n, 2);
    ck_assert_ptr_null(reqset_get(&m, ab.key));
    ck_assert_ptr_nonnull(reqset_get(&m, other.key));
    m = reqset_without(&mem, &m, L_ZONE);
    ck_assert_uint_eq(m.n, 2);
    m = reqset_without(&mem, &m, L_ARCH);
    m = reqset_without(&mem, &m, other.key);
    ck_assert_uint_eq(m.n, 0);
    ck_assert_uint_eq(reqset_merge(&mem, syms, &m, &s).n, 2);
    ck_assert_uint_eq(reqset_merge(&mem, syms, &s, &m).n, 2);
}
END_TEST

START_TEST(an_added_requirement_may_go)
{
    struct reqset s = {.n = 0};
    sym value = V_SPOT;
    struct req r = {.key = L_CAPACITY_TYPE, .n = 1, .values = &value};
    s = reqset_add(&mem, syms, &s, &r);
    value = V_ON_DEMAND;
    ck_assert_uint_eq(req_single(reqset_get(&s, L_CAPACITY_TYPE)), V_SPOT);
}
END_TEST

/* ---- compatibility
 * ------------------------------------------------------------------------------------------ */

#define ARCH "kubernetes.io/arch"
#define ZONE "topology.kubernetes.io/zone"

/* What one side says about up to two keys; key NULL ends. */
struct said {
    const char *key;
    struct written w;
};

static const struct {
    const char *name;
    struct said have[2], want[2];
    bool allow, ok;
    const char *key;
    bool unknown;
} compat[] = {
    {"nothing wanted", {{ARCH, {REQ_IN, {"amd64"}}}}, {{NULL, {0}}}, false, true, NULL, false},
    {"common value",
     {{ARCH, {REQ_IN, {"amd64", "arm64"}}}},
     {{ARCH, {REQ_IN, {"arm64"}}}},
     false,
     true,
     NULL,
     false},
    {"no common value",
     {{ARCH, {REQ_IN, {"amd64"}}}},
     {{ARCH, {REQ_IN, {"arm64"}}}},
     true,
     false,
     ARCH,
     false},
    {"well-known, not defined",
     {{NULL, {0}}},
     {{ARCH, {REQ_IN, {"arm64"}}}},
     true,
     true,
     NULL,
     false},
    {"well-known, strict", {{NULL, {0}}}, {{ARCH, {REQ_IN, {"arm64"}}}}, false, false, ARCH, true},
    {"hostname is not well-known",
     {{NULL, {0}}},
     {{"kubernetes.io/hostname", {REQ_IN, {"h"}}}},
     true,
     false,
     "kubernetes.io/hostname",
     true},
    {"custom In", {{NULL, {0}}}, {{"team", {REQ_IN, {"a"}}}}, true, false, "team", true},
    {"custom Exists", {{NULL, {0}}}, {{"team", {REQ_EXISTS, {NULL}}}}, true, false, "team", true},
    {"custom Gt", {{NULL, {0}}}, {{"team", {REQ_GT, {"1"}}}}, true, false, "team", true},
    {"custom Lt", {{NULL, {0}}}, {{"team", {REQ_LT, {"1"}}}}, true, false, "team", true},
    {"custom NotIn", {{NULL, {0}}}, {{"team", {REQ_NOT_IN, {"a"}}}}, false, true, NULL, false},
    {"custom DoesNotExist",
     {{NULL, {0}}},
     {{"team", {REQ_DOES_NOT_EXIST, {NULL}}}},
     false,
     true,
     NULL,
     false},
    {"defined, DoesNotExist wanted",
     {{"team", {REQ_IN, {"a"}}}},
     {{"team", {REQ_DOES_NOT_EXIST, {NULL}}}},
     true,
     false,
     "team",
     false},
    {"both DoesNotExist",
     {{"team", {REQ_DOES_NOT_EXIST, {NULL}}}},
     {{"team", {REQ_DOES_NOT_EXIST, {NULL}}}},
     true,
     true,
     NULL,
     false},
    {"NotIn and DoesNotExist",
     {{"team", {REQ_NOT_IN, {"a"}}}},
     {{"team", {REQ_DOES_NOT_EXIST, {NULL}}}},
     true,
     true,
     NULL,
     false},
    {"DoesNotExist and NotIn",
     {{"team", {REQ_DOES_NOT_EXIST, {NULL}}}},
     {{"team", {REQ_NOT_IN, {"a"}}}},
     true,
     true,
     NULL,
     false},
    {"Exists and NotIn, not defined",
     {{NULL, {0}}},
     {{"team", {REQ_EXISTS, {NULL}}}, {"team", {REQ_NOT_IN, {"a"}}}},
     true,
     false,
     "team",
     true},
    {"Gt and NotIn, not defined",
     {{NULL, {0}}},
     {{"team", {REQ_NOT_IN, {"7"}}}, {"team", {REQ_GT, {"5"}}}},
     true,
     false,
     "team",
     true},
    {"Exists and NotIn, defined",
     {{"team", {REQ_IN, {"a", "b"}}}},
     {{"team", {REQ_EXISTS, {NULL}}}, {"team", {REQ_NOT_IN, {"a"}}}},
     true,
     true,
     NULL,
     false},
    {"Exists and NotIn, must not exist",
     {{"team", {REQ_DOES_NOT_EXIST, {NULL}}}},
     {{"team", {REQ_EXISTS, {NULL}}}, {"team", {REQ_NOT_IN, {"a"}}}},
     true,
     false,
     "team",
     false},
    {"contradiction is not DoesNotExist",
     {{NULL, {0}}},
     {{"team", {REQ_IN, {"a"}}}, {"team", {REQ_IN, {"b"}}}},
     true,
     false,
     "team",
     true},
    {"DoesNotExist and Exists",
     {{"team", {REQ_DOES_NOT_EXIST, {NULL}}}},
     {{"team", {REQ_EXISTS, {NULL}}}},
     true,
     false,
     "team",
     false},
    {"Exists and DoesNotExist",
     {{"team", {REQ_EXISTS, {NULL}}}},
     {{"team", {REQ_DOES_NOT_EXIST, {NULL}}}},
     true,
     false,
     "team",
     false},
    {"bounds that miss",
     {{"size", {REQ_GT, {"4"}}}},
     {{"size", {REQ_LT, {"5"}}}},
     true,
     false,
     "size",
     false},
    {"number within bounds",
     {{"size", {REQ_IN, {"6"}}}},
     {{"size", {REQ_GT, {"5"}}}},
     true,
     true,
     NULL,
     false},
    {"unknown before different",
     {{ARCH, {REQ_IN, {"amd64"}}}},
     {{ARCH, {REQ_IN, {"arm64"}}}, {"zebra", {REQ_IN, {"a"}}}},
     true,
     false,
     "zebra",
     true},
    {"first by string",
     {{"zebra", {REQ_IN, {"b"}}}, {"ape", {REQ_IN, {"b"}}}},
     {{"zebra", {REQ_IN, {"a"}}}, {"ape", {REQ_IN, {"a"}}}},
     true,
     false,
     "ape",
     false},
    {"first unknown by string",
     {{NULL, {0}}},
     {{"zebra", {REQ_IN, {"a"}}}, {"ape", {REQ_IN, {"a"}}}},
     true,
     false,
     "ape",
     true},
};

static struct reqset set_of(const struct said *s)
{
    struct reqset ret = {.n = 0};
    for (int i = 0; i < 2 && s[i].key; i++) {
        struct req r = must_make(s[i].key, &s[i].w);
        ret = reqset_add(&mem, syms, &ret, &r);
    }
    return ret;
}

START_TEST(compatible_as_karpenter_says)
{
    struct reqset have = set_of(compat[_i].have), want = set_of(compat[_i].want);
    sym key = SYM_NONE;
    bool unknown = false;
    bool ok = reqset_compatible(syms, &have, &want, compat[_i].allow, &key, &unknown);
    ck_assert_msg(ok == compat[_i].ok, "%s", compat[_i].name);
    ck_assert_int_eq(reqset_compatible(syms, &have, &want, compat[_i].allow, NULL, NULL), ok);
    if (!ok) {
        ck_assert_str_eq(sym_str(syms, key), compat[_i].key);
        ck_assert_int_eq(unknown, compat[_i].unknown);
    }
}
END_TEST

/* ---- writing
 * ----------------------------------------------------------------------------------------------------
 */

static const struct {
    struct written w;
    unsigned max;
    const char *text;
} texts[] = {
    {{REQ_IN, {"c", "a", "b", "d"}}, 0, "k In [a b c d]"},
    {{REQ_IN, {"c", "a", "b", "d"}}, 4, "k In [a b c d]"},
    {{REQ_IN, {"c", "a", "b", "d"}}, 3, "k In [a b c and 1 more]"},
    {{REQ_IN, {"c", "a", "b", "d"}}, 1, "k In [a and 3 more]"},
    {{REQ_NOT_IN, {"c", "a"}}, 1, "k NotIn [a and 1 more]"},
    {{REQ_IN, {""}}, 1, "k In []"},
};

START_TEST(writes_values_by_string)
{
    /* Ids in the opposite order of the strings. */
    sym_intern(syms, "d");
    sym_intern(syms, "c");
    sym_intern(syms, "b");
    struct req r = must_make("k", &texts[_i].w);
    check_text(&r, texts[_i].max, texts[_i].text);
}
END_TEST

int main(void)
{
    const struct unit_case cases[] = {
        UNIT_CASES(operators_are_spelt_as_in_kubernetes, op_texts),
        UNIT_CASES(makes_from_the_written_form, makes),
        UNIT_TEST(refuses_too_many_values),
        UNIT_CASES(intersects_either_way_round, pairs),
        UNIT_CASES(intersection_is_membership_in_both, pairs),
        UNIT_TEST(bounds_and_exclusions_stay_together),
        UNIT_TEST(min_values_is_the_greater),
        UNIT_TEST(too_many_exclusions_admit_nothing),
        UNIT_TEST(sets_add_merge_and_drop),
        UNIT_TEST(an_added_requirement_may_go),
        UNIT_CASES(compatible_as_karpenter_says, compat),
        UNIT_CASES(writes_values_by_string, texts),
    };
    setup();
    int rc = unit_run("req", cases, ARRAY_LEN(cases));
    teardown();
    return rc;
}
