/* test_sym.c - interning, ids of the fixed list, cached integers, order */
#include "unit.h"

#include "common/base/alloc.h"
#include "common/base/sym.h"

static const char *const fixed[] = {"karpenter.sh/nodepool", "", "kubernetes.io/arch"};

START_TEST(fixed_ids_are_constant)
{
    struct symtab *t = symtab_new(fixed, ARRAY_LEN(fixed));
    ck_assert_uint_eq(symtab_count(t), 3);
    for (sym i = 0; i < 3; i++) {
        ck_assert_uint_eq(sym_find(t, fixed[i]), i + 1);
        ck_assert_uint_eq(sym_intern(t, fixed[i]), i + 1);
        ck_assert_str_eq(sym_str(t, i + 1), fixed[i]);
    }
    ck_assert_uint_eq(sym_intern(t, "next"), 4);
    symtab_free(t);
    symtab_free(NULL);
}
END_TEST

START_TEST(none_is_no_string)
{
    struct symtab *t = symtab_new(NULL, 0);
    ck_assert_uint_eq(symtab_count(t), 0);
    ck_assert_uint_eq(sym_intern(t, NULL), SYM_NONE);
    ck_assert_uint_eq(sym_intern_n(t, NULL, 3), SYM_NONE);
    ck_assert_uint_eq(sym_find(t, NULL), SYM_NONE);
    ck_assert_uint_eq(sym_find(t, ""), SYM_NONE);
    ck_assert_uint_eq(sym_find(t, "x"), SYM_NONE);
    ck_assert_str_eq(sym_str(t, SYM_NONE), "");
    sym empty = sym_intern(t, "");
    ck_assert_uint_eq(empty, 1);
    ck_assert_uint_eq(sym_find(t, ""), empty);
    symtab_free(t);
}
END_TEST

static const struct {
    const char *s;
    size_t n;
    const char *want;
} cut_rows[] = {
    {"abcdef", 3, "abc"}, {"abc", 3, "abc"}, {"abc", 99, "abc"},
    {"ab\0cd", 5, "ab"},  {"abc", 0, ""},
};

START_TEST(interns_a_part)
{
    struct symtab *t = symtab_new(NULL, 0);
    sym s = sym_intern_n(t, cut_rows[_i].s, cut_rows[_i].n);
    ck_assert_str_eq(sym_str(t, s), cut_rows[_i].want);
    ck_assert_uint_eq(sym_intern(t, cut_rows[_i].want), s);
    symtab_free(t);
}
END_TEST

static const struct {
    const char *s;
    bool ok;
    int64_t value;
} int_rows[] = {
    {"0", true, 0},
    {"8", true, 8},
    {"+8", true, 8},
    {"-8", true, -8},
    {"0032", true, 32},
    {"9223372036854775807", true, INT64_MAX},
    {"-9223372036854775808", true, INT64_MIN},
    {"9223372036854775808", false, 0},
    {"", false, 0},
    {"+", false, 0},
    {"-", false, 0},
    {"+-8", false, 0},
    {"++8", false, 0},
    {"8.0", false, 0},
    {"1_000", false, 0},
    {" 8", false, 0},
    {"8Gi", false, 0},
    {"m5.large", false, 0},
};

START_TEST(knows_integers)
{
    struct symtab *t = symtab_new(NULL, 0);
    int64_t v = 77;
    ck_assert_int_eq(sym_int(t, sym_intern(t, int_rows[_i].s), &v), int_rows[_i].ok);
    ck_assert_int_eq(v, int_rows[_i].ok ? int_rows[_i].value : 77);
    ck_assert(!sym_int(t, SYM_NONE, &v));
    symtab_free(t);
}
END_TEST

/* Every length up to 31, differing in the last byte only, and enough of them to grow many times. */
START_TEST(many)
{
    enum { N = 50000 };
    struct symtab *t = symtab_new(fixed, ARRAY_LEN(fixed));
    sym *ids = NEW_N(sym, N);
    const char **strs = NEW_N(const char *, N);
    char text[64];
    for (int i = 0; i < N; i++) {
        int n = snprintf(text, sizeof(text), "%*d", i % 32, i);
        ids[i] = sym_intern_n(t, text, (size_t)n);
        strs[i] = sym_str(t, ids[i]);
        ck_assert_uint_le(ids[i], symtab_count(t));
    }
    for (int i = 0; i < N; i++) {
        snprintf(text, sizeof(text), "%*d", i % 32, i);
        ck_assert_uint_eq(sym_find(t, text), ids[i]);
        ck_assert_uint_eq(sym_intern(t, text), ids[i]);
        ck_assert_str_eq(sym_str(t, ids[i]), text);
        ck_assert_ptr_eq(sym_str(t, ids[i]), strs[i]);
    }
    ck_assert_uint_eq(symtab_count(t), N + 3);
    free(ids);
    free(strs);
    symtab_free(t);
}
END_TEST

static const struct {
    const char *a, *b;
    int cmp;
} order_rows[] = {
    {NULL, NULL, 0}, {NULL, "", -1}, {"", "a", -1}, {"b", "a", 1}, {"a", "a", 0}, {"10", "9", -1},
};

START_TEST(orders_by_string)
{
    struct symtab *t = symtab_new(NULL, 0);
    sym a = sym_intern(t, order_rows[_i].a);
    sym b = sym_intern(t, order_rows[_i].b);
    ck_assert_int_eq(sym_cmp(t, a, b), order_rows[_i].cmp);
    ck_assert_int_eq(sym_cmp(t, b, a), -order_rows[_i].cmp);
    symtab_free(t);
}
END_TEST

UNIT_MAIN("sym", UNIT_TEST(fixed_ids_are_constant), UNIT_TEST(none_is_no_string),
          UNIT_CASES(interns_a_part, cut_rows), UNIT_CASES(knows_integers, int_rows),
          UNIT_TEST(many), UNIT_CASES(orders_by_string, order_rows))
