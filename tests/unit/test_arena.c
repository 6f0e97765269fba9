/* test_arena.c - alignment, zeroing, marks, the soft cap */
#include "unit.h"

#include "common/base/arena.h"

static const size_t sizes[] = {0, 1, 15, 16, 17, 100, 4096, 5000, 300000, 3000000};

static bool is_zero(const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i]) {
            return false;
        }
    }
    return true;
}

START_TEST(gives_zeroed_aligned_memory)
{
    struct arena a;
    arena_init(&a, 0, SIZE_MAX);
    ck_assert_uint_eq(arena_held_bytes(&a), 0);
    /* The second round gets memory the first one wrote to. */
    for (int round = 0; round < 2; round++) {
        for (int k = 0; k < 50; k++) {
            unsigned char *p = arena_alloc(&a, sizes[_i]);
            ck_assert_ptr_nonnull(p);
            ck_assert_uint_eq((uintptr_t)p % 16, 0);
            ck_assert(is_zero(p, sizes[_i]));
            memset(p, 0xa5, sizes[_i]);
        }
        ck_assert_uint_eq(a.used_bytes, 50 * sizes[_i]);
        ck_assert_uint_ge(arena_held_bytes(&a), 50 * sizes[_i]);
        arena_reset(&a);
        ck_assert_uint_eq(a.used_bytes, 0);
        ck_assert_uint_le(arena_held_bytes(&a), 300 * 1024);
    }
    arena_done(&a);
    ck_assert_uint_eq(arena_held_bytes(&a), 0);
    arena_done(NULL);
}
END_TEST

START_TEST(allocations_do_not_overlap)
{
    struct arena a;
    unsigned char *p[500];
    arena_init(&a, 64, SIZE_MAX);
    for (size_t i = 0; i < 500; i++) {
        p[i] = arena_alloc(&a, i);
        memset(p[i], (int)(i & 0xff), i);
    }
    for (size_t i = 0; i < 500; i++) {
        for (size_t k = 0; k < i; k++) {
            ck_assert_uint_eq(p[i][k], i & 0xff);
        }
    }
    arena_done(&a);
}
END_TEST

static const struct {
    size_t max, first, second;
    bool over_first, over_second;
} cap_rows[] = {
    {100, 60, 40, false, false},
    {100, 60, 41, false, true},
    {100, 101, 0, true, true},
    {0, 0, 1, false, true},
    {SIZE_MAX, 100000, 100000, false, false},
};

START_TEST(cap_is_soft)
{
    struct arena a;
    arena_init(&a, 0, cap_rows[_i].max);
    ck_assert(!arena_over(&a));
    ck_assert_ptr_nonnull(arena_alloc(&a, cap_rows[_i].first));
    ck_assert_int_eq(arena_over(&a), cap_rows[_i].over_first);
    struct arena_mark mark = arena_mark(&a);
    ck_assert_ptr_nonnull(arena_alloc(&a, cap_rows[_i].second));
    ck_assert_int_eq(arena_over(&a), cap_rows[_i].over_second);
    arena_rewind(&a, mark);
    ck_assert_int_eq(arena_over(&a), cap_rows[_i].over_first);
    arena_reset(&a);
    ck_assert(!arena_over(&a));
    arena_done(&a);
}
END_TEST

START_TEST(rewinds)
{
    struct arena a;
    arena_init(&a, 128, SIZE_MAX);
    struct arena_mark empty = arena_mark(&a);
    char *kept = arena_strdup(&a, "kept");
    struct arena_mark mark = arena_mark(&a);
    size_t held = arena_held_bytes(&a);
    for (int round = 0; round < 100; round++) {
        memset(arena_alloc(&a, 10), 1, 10);
        memset(arena_alloc(&a, 5000), 1, 5000);
        arena_rewind(&a, mark);
        ck_assert_uint_eq(arena_held_bytes(&a), held);
        ck_assert_uint_eq(a.used_bytes, 5);
    }
    ck_assert_str_eq(kept, "kept");
    ck_assert(is_zero(arena_alloc(&a, 32), 32));
    arena_rewind(&a, empty);
    ck_assert_uint_eq(a.used_bytes, 0);
    arena_done(&a);
}
END_TEST

START_TEST(copies)
{
    struct arena a;
    arena_init(&a, 0, SIZE_MAX);
    ck_assert_ptr_null(arena_strdup(&a, NULL));
    ck_assert_ptr_null(arena_memdup(&a, NULL, 0));
    ck_assert_str_eq(arena_strndup(&a, "abcdef", 3), "abc");
    ck_assert_str_eq(arena_strndup(&a, "ab", 300), "ab");
    ck_assert_int_eq(memcmp(arena_memdup(&a, "a\0b", 3), "a\0b", 3), 0);
    ck_assert_str_eq(arena_printf(&a, "%s=%d", "x", 5), "x=5");
    for (int width = 250; width < 260; width++) {
        char *p = arena_printf(&a, "%*d", width, 7);
        ck_assert_uint_eq(strlen(p), (size_t)width);
        ck_assert_int_eq(p[width - 1], '7');
    }
    arena_done(&a);
}
END_TEST

START_TEST(array_grows)
{
    struct arena a;
    arena_init(&a, 0, SIZE_MAX);
    uint32_t *items = NULL;
    uint32_t n = 0;
    uint32_t cap = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        ARENA_GROW(&a, items, n, cap);
        items[n++] = i;
    }
    for (uint32_t i = 0; i < 1000; i++) {
        ck_assert_uint_eq(items[i], i);
    }
    ck_assert_uint_eq(cap, 1024);
    arena_done(&a);
}
END_TEST

UNIT_MAIN("arena", UNIT_CASES(gives_zeroed_aligned_memory, sizes),
          UNIT_TEST(allocations_do_not_overlap), UNIT_CASES(cap_is_soft, cap_rows),
          UNIT_TEST(rewinds), UNIT_TEST(copies), UNIT_TEST(array_grows))
