/* test_resources.c - arithmetic on resource vectors and what fits */
#include "unit.h"

#include "common/core/labels.h"
#include "common/core/resources.h"

#define EXT_MAX 4

/* cpu, memory, then extended resources by name; name NULL ends. */
struct amounts {
    int64_t cpu, mem;
    struct {
        const char *name;
        int64_t amount;
    } ext[EXT_MAX];
};

static struct symtab *syms;
static struct arena mem;

static int ext_cmp(const void *a, const void *b)
{
    const struct res_ext *x = a, *y = b;
    return (x->name > y->name) - (x->name < y->name);
}

static struct resources make(const struct amounts *from)
{
    struct res_ext *ext = ARENA_NEW_N(&mem, struct res_ext, EXT_MAX);
    struct resources r = {.ext = ext};
    r.v[RES_CPU] = from->cpu;
    r.v[RES_MEMORY] = from->mem;
    for (int i = 0; i < EXT_MAX && from->ext[i].name; i++) {
        ext[r.n_ext++] = (struct res_ext){sym_intern(syms, from->ext[i].name), from->ext[i].amount};
    }
    qsort(ext, r.n_ext, sizeof(*ext), ext_cmp);
    return r;
}

static const char *const names[] = {"cpu",
                                    "memory",
                                    "ephemeral-storage",
                                    "pods",
                                    "vpc.amazonaws.com/pod-eni",
                                    "vpc.amazonaws.com/PrivateIPv4Address",
                                    "vpc.amazonaws.com/efa",
                                    "nvidia.com/gpu",
                                    "amd.com/gpu",
                                    "habana.ai/gaudi",
                                    "aws.amazon.com/neuron",
                                    "aws.amazon.com/neuroncore"};

START_TEST(names_go_both_ways)
{
    enum resource r;
    ck_assert_int_eq(ARRAY_LEN(names), RES_FIXED);
    ck_assert(resource_parse(names[_i], &r));
    ck_assert_int_eq(r, _i);
    ck_assert_str_eq(resource_name(r), names[_i]);
    ck_assert(!resource_parse("example.com/fuse", &r));
    ck_assert(!resource_parse(NULL, &r));
}
END_TEST

static const struct {
    struct amounts x, y;
    int64_t times;
    struct amounts sum, max;
} sums[] = {
    {{1, 2, {{0}}}, {10, 20, {{0}}}, 1, {11, 22, {{0}}}, {10, 20, {{0}}}},
    {{1, 2, {{0}}}, {10, 20, {{0}}}, -1, {-9, -18, {{0}}}, {10, 20, {{0}}}},
    {{100, 2, {{0}}}, {10, 20, {{0}}}, 3, {130, 62, {{0}}}, {100, 20, {{0}}}},
    {{INT64_MAX, INT64_MIN, {{0}}},
     {1, -1, {{0}}},
     1,
     {INT64_MAX, INT64_MIN, {{0}}},
     {INT64_MAX, -1, {{0}}}},
    {{0, 0, {{0}}},
     {INT64_MAX, INT64_MIN, {{0}}},
     1000,
     {INT64_MAX, INT64_MIN, {{0}}},
     {INT64_MAX, 0, {{0}}}},
    {{0, 0, {{"a", 1}, {"b", 2}}},
     {0, 0, {{"b", 5}, {"c", 6}}},
     2,
     {0, 0, {{"a", 1}, {"b", 12}, {"c", 12}}},
     {0, 0, {{"a", 1}, {"b", 5}, {"c", 6}}}},
    {{0, 0, {{"a", 1}}}, {0, 0, {{0}}}, 1, {0, 0, {{"a", 1}}}, {0, 0, {{"a", 1}}}},
    {{0, 0, {{0}}}, {0, 0, {{"a", 1}}}, -1, {0, 0, {{"a", -1}}}, {0, 0, {{"a", 1}}}},
    {{0, 0, {{"a", 1}}}, {0, 0, {{"a", 1}}}, -1, {0, 0, {{0}}}, {0, 0, {{"a", 1}}}},
};

START_TEST(adds_and_takes_the_greater)
{
    struct resources x = make(&sums[_i].x), y = make(&sums[_i].y);
    struct resources sum = make(&sums[_i].sum), max = make(&sums[_i].max);
    struct resources got = resources_add(&mem, &x, &y, sums[_i].times);
    ck_assert(resources_equal(&got, &sum));
    ck_assert_int_eq(resources_is_zero(&got), resources_is_zero(&sum));
    got = resources_max(&mem, &x, &y);
    ck_assert(resources_equal(&got, &max));
    for (uint32_t i = 1; i < got.n_ext; i++) {
        ck_assert_uint_lt(got.ext[i - 1].name, got.ext[i].name);
    }
}
END_TEST

START_TEST(a_missing_resource_is_zero)
{
    struct resources none = make(&(struct amounts){0, 0, {{0}}});
    struct resources zero = make(&(struct amounts){0, 0, {{"a", 0}}});
    struct resources one = make(&(struct amounts){0, 0, {{"a", 1}, {"b", 0}}});
    ck_assert(resources_is_zero(&none) && resources_is_zero(&zero));
    ck_assert(!resources_is_zero(&one));
    ck_assert(resources_equal(&none, &zero) && resources_equal(&zero, &none));
    ck_assert(!resources_equal(&none, &one) && !resources_equal(&one, &none));
    ck_assert_int_eq(resources_get_ext(&one, sym_intern(syms, "a")), 1);
    ck_assert_int_eq(resources_get_ext(&one, sym_intern(syms, "nobody")), 0);
}
END_TEST

static const struct {
    const char *name;
    struct amounts need, have;
    bool ok;
    const char *short_of; /* "cpu", "memory" or an extended name */
    int64_t short_need, short_have;
} fits[] = {
    {"exactly", {100, 200, {{0}}}, {100, 200, {{0}}}, true, NULL, 0, 0},
    {"cpu short", {101, 200, {{0}}}, {100, 200, {{0}}}, false, "cpu", 101, 100},
    {"greatest share first", {110, 200, {{0}}}, {100, 100, {{0}}}, false, "memory", 200, 100},
    {"tie goes to the lower", {200, 400, {{0}}}, {100, 200, {{0}}}, false, "cpu", 200, 100},
    {"large numbers",
     {INT64_MAX, INT64_MAX, {{0}}},
     {INT64_MAX - 1, INT64_MAX - 2, {{0}}},
     false,
     "memory",
     INT64_MAX,
     INT64_MAX - 2},
    {"zero need of nothing", {0, 0, {{"a", 0}}}, {0, 0, {{0}}}, true, NULL, 0, 0},
    {"ext missing", {1, 1, {{"a", 1}}}, {9, 9, {{0}}}, false, "a", 1, 0},
    {"ext short", {1, 1, {{"a", 4}}}, {9, 9, {{"a", 3}}}, false, "a", 4, 3},
    {"ext enough", {1, 1, {{"a", 3}}}, {9, 9, {{"a", 3}}}, true, NULL, 0, 0},
    {"negative what nobody asks", {1, 0, {{0}}}, {9, -1, {{0}}}, false, "memory", 0, -1},
    {"negative ext nobody asks", {1, 1, {{0}}}, {9, 9, {{"a", -1}}}, false, "a", 0, -1},
    {"ext tie by name", {0, 0, {{"z", 2}, {"m", 2}}}, {9, 9, {{0}}}, false, "m", 2, 0},
    {"worse than fixed", {10, 0, {{"z", 2}}}, {9, 9, {{0}}}, false, "z", 2, 0},
};

START_TEST(fits_or_says_what_is_short)
{
    sym_intern(syms, "z"); /* id order is not the order of strings */
    struct resources need = make(&fits[_i].need), have = make(&fits[_i].have);
    struct res_short s = {.need = -7};
    ck_assert_msg(resources_fit(&need, &have, NULL) == fits[_i].ok, "%s", fits[_i].name);
    ck_assert_int_eq(resources_fit(&need, &have, &s), fits[_i].ok);
    if (fits[_i].ok) {
        ck_assert_int_eq(s.need, -7);
    } else {
        ck_assert_int_eq(s.need - s.have, fits[_i].short_need - fits[_i].short_have);
    }
    ck_assert_int_eq(resources_shortage(syms, &need, &have, &s), !fits[_i].ok);
    if (!fits[_i].ok) {
        ck_assert_str_eq(s.res == RES_FIXED ? sym_str(syms, s.ext) : resource_name(s.res),
                         fits[_i].short_of);
        ck_assert_int_eq(s.need, fits[_i].short_need);
        ck_assert_int_eq(s.have, fits[_i].short_have);
    }
}
END_TEST

int main(void)
{
    const struct unit_case cases[] = {
        UNIT_CASES(names_go_both_ways, names),
        UNIT_CASES(adds_and_takes_the_greater, sums),
        UNIT_TEST(a_missing_resource_is_zero),
        UNIT_CASES(fits_or_says_what_is_short, fits),
    };
    syms = labels_symtab_new();
    arena_init(&mem, 0, SIZE_MAX);
    int rc = unit_run("resources", cases, ARRAY_LEN(cases));
    arena_done(&mem);
    symtab_free(syms);
    return rc;
}
