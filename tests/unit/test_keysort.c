/* test_keysort.c - arrays of all lengths around a run's, with many equal keys */
#include "unit.h"

#include "common/base/keysort.h"

#define N_MAX 9001u

static uint32_t chance(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Rows: how many, how many different keys a word has, and whether they are in order already. */
static const struct {
    uint32_t n, keys;
    bool ordered;
} rows[] = {
    {0, 1, false},    {1, 1, false},    {2, 2, false},       {7, 3, false},        {8, 1, false},
    {9, 100, false},  {2047, 3, false}, {2048, 9, false},    {2049, 9, false},     {4096, 2, false},
    {4097, 1, false}, {8192, 5, false}, {N_MAX, 100, false}, {N_MAX, 1000, false}, {N_MAX, 7, true},
};

static int backwards(const void *ctx, uint32_t x, uint32_t y)
{
    (void)ctx;
    return x > y ? -1 : x < y;
}

static void make(struct keysort *k, struct arena *a, int row)
{
    uint32_t state = (uint32_t)row + 1;
    keysort_begin(k, a, rows[row].n);
    for (uint32_t i = 0; i < rows[row].n; i++) {
        struct keysort_item *item = keysort_add(k, i);
        item->key[0] = rows[row].ordered ? i : chance(&state) % rows[row].keys;
        item->key[KEYSORT_WORDS - 1] = rows[row].ordered ? 0 : chance(&state) % rows[row].keys;
    }
}

static void assert_sorted(const struct keysort *k, uint32_t n, bool back)
{
    bool seen[N_MAX] = {false};
    ck_assert_uint_eq(k->n, n);
    for (uint32_t i = 0; i < n; i++) {
        const struct keysort_item *x = &k->v[i == 0 ? 0 : i - 1], *y = &k->v[i];
        ck_assert(!seen[y->at]);
        seen[y->at] = true;
        uint64_t a = x->key[0] << 32 | x->key[KEYSORT_WORDS - 1];
        uint64_t b = y->key[0] << 32 | y->key[KEYSORT_WORDS - 1];
        ck_assert_uint_le(a, b);
        ck_assert(i == 0 || a < b || (back ? x->at > y->at : x->at < y->at));
    }
}

START_TEST(sorts)
{
    struct arena a;
    for (int back = 0; back < 2; back++) {
        struct keysort k;
        arena_init(&a, 0, SIZE_MAX);
        make(&k, &a, _i);
        k.tie = back ? backwards : NULL;
        while (!keysort_step(&k)) {
        }
        assert_sorted(&k, rows[_i].n, back);
        arena_done(&a);
    }
}
END_TEST

/* Words follow the order of what they were made of. */
START_TEST(words)
{
    static const int64_t numbers[] = {INT64_MIN, -5, -1, 0, 1, 5, INT64_MAX};
    static const char *const texts[] = {"", "a", "aa", "ab", "abcdefgh", "b", "\xc3\xa4"};
    for (size_t i = 1; i < ARRAY_LEN(numbers); i++) {
        ck_assert_uint_lt(keysort_i64(numbers[i - 1]), keysort_i64(numbers[i]));
    }
    for (size_t i = 1; i < ARRAY_LEN(texts); i++) {
        ck_assert_uint_lt(keysort_text(texts[i - 1]), keysort_text(texts[i]));
    }
    ck_assert_uint_eq(keysort_text(NULL), 0);
    ck_assert_uint_eq(keysort_text("abcdefgh-x"), keysort_text("abcdefgh-y"));
}
END_TEST

UNIT_MAIN("keysort", UNIT_CASES(sorts, rows), UNIT_TEST(words))
