/* test_entropy.c - bounds, spread and shape of chance */
#include "unit.h"

#include "common/base/entropy.h"

static const uint64_t bounds[] = {
    1, 2, 3, 10, 27, UINT64_C(1) << 63, (UINT64_C(1) << 63) + 1, UINT64_MAX};

START_TEST(below_its_bound)
{
    uint64_t state = 42;
    struct entropy seeded = entropy_seeded(&state);
    struct entropy sys = entropy_system();
    for (int k = 0; k < 1000; k++) {
        ck_assert_uint_lt(entropy_below(&seeded, bounds[_i]), bounds[_i]);
        ck_assert_uint_lt(entropy_below(&sys, bounds[_i]), bounds[_i]);
    }
}
END_TEST

START_TEST(reaches_every_value)
{
    uint64_t state = 7;
    struct entropy e = entropy_seeded(&state);
    int seen[10] = {0};
    for (int k = 0; k < 10000; k++) {
        seen[entropy_below(&e, 10)]++;
    }
    for (int i = 0; i < 10; i++) {
        ck_assert_int_gt(seen[i], 800);
        ck_assert_int_lt(seen[i], 1200);
    }
}
END_TEST

static const struct {
    int64_t base;
    unsigned percent;
    int64_t min, max;
} jitter_rows[] = {
    {1000, 0, 1000, 1000}, {1000, 10, 900, 1100}, {1000, 100, 0, 2000},
    {1000, 500, 0, 2000},  {0, 50, 0, 0},         {-5, 50, -5, -5},
    {1, 50, 1, 1},         {199, 50, 100, 298},   {INT64_MAX, 100, 0, INT64_MAX},
};

START_TEST(jitters)
{
    uint64_t state = 3;
    struct entropy e = entropy_seeded(&state);
    for (int k = 0; k < 2000; k++) {
        int64_t ns = entropy_jitter(&e, jitter_rows[_i].base, jitter_rows[_i].percent);
        ck_assert_int_ge(ns, jitter_rows[_i].min);
        ck_assert_int_le(ns, jitter_rows[_i].max);
    }
}
END_TEST

/* The first outputs for seed 1234567, as published with the generator. */
START_TEST(seeded_is_repeatable)
{
    uint64_t state = 1234567;
    struct entropy e = entropy_seeded(&state);
    ck_assert_uint_eq(e.next(e.ctx), UINT64_C(6457827717110365317));
    ck_assert_uint_eq(e.next(e.ctx), UINT64_C(3203168211198807973));
}
END_TEST

START_TEST(suffixes)
{
    struct entropy e = entropy_system();
    char s[8];
    memset(s, '#', sizeof(s));
    entropy_suffix(&e, s, 5);
    ck_assert_uint_eq(strlen(s), 5);
    ck_assert_uint_eq(strspn(s, "bcdfghjklmnpqrstvwxz2456789"), 5);
    ck_assert_int_eq(s[6], '#');
    entropy_suffix(&e, s, 0);
    ck_assert_str_eq(s, "");
}
END_TEST

START_TEST(uuids)
{
    struct entropy e = entropy_system();
    char a[37];
    char b[37];
    for (int k = 0; k < 200; k++) {
        entropy_uuid(&e, a);
        entropy_uuid(&e, b);
        ck_assert_str_ne(a, b);
        ck_assert_uint_eq(strlen(a), 36);
        ck_assert_uint_eq(strspn(a, "0123456789abcdef-"), 36);
        ck_assert(a[8] == '-' && a[13] == '-' && a[18] == '-' && a[23] == '-');
        ck_assert_int_eq(a[14], '4');
        ck_assert_ptr_nonnull(strchr("89ab", a[19]));
    }
}
END_TEST

UNIT_MAIN("entropy", UNIT_CASES(below_its_bound, bounds), UNIT_TEST(reaches_every_value),
          UNIT_CASES(jitters, jitter_rows), UNIT_TEST(seeded_is_repeatable), UNIT_TEST(suffixes),
          UNIT_TEST(uuids))
