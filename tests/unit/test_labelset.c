/* test_labelset.c - which pods have the same labels */
#include "unit.h"

#include "common/core/labelset.h"

#define MANY 3000

/* Rows: namespace and labels ("k=v k=v"), and the number. */
static const struct {
    const char *ns;
    struct kv v[3];
    uint32_t n, number;
} rows[] = {
    {"a", {{"app", "web"}}, 1, 0},
    {"a", {{"app", "web"}}, 1, 0},
    {"b", {{"app", "web"}}, 1, 1},
    {"a", {{"app", "api"}}, 1, 2},
    {"a", {{"apps", "web"}}, 1, 3},
    {"a", {{NULL, NULL}}, 0, 4},
    {"a", {{"app", "web"}, {"tier", "x"}}, 2, 5},
    {"a", {{"app", "webtier"}, {"", "x"}}, 2, 6},
    {"a", {{"app", "a-value-of-more-than-one-word-1"}}, 1, 7},
    {"a", {{"app", "a-value-of-more-than-one-word-2"}}, 1, 8},
    {"a", {{"app", "a-value-of-more-than-one-word-1"}}, 1, 7},
    {"b", {{NULL, NULL}}, 0, 9},
};

START_TEST(numbers)
{
    struct arena a;
    struct pod pods[ARRAY_LEN(rows)] = {0};
    arena_init(&a, 0, SIZE_MAX);
    struct labelsets t = {.a = &a};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        pods[i].m.ns = rows[i].ns;
        pods[i].labels = (struct kvs){rows[i].v, rows[i].n};
        ck_assert_uint_eq(labelset_of(&t, &pods[i]), rows[i].number);
    }
    arena_done(&a);
}
END_TEST

/* More than there are slots at first: the numbers stay. */
START_TEST(many)
{
    struct arena a;
    arena_init(&a, 0, SIZE_MAX);
    struct labelsets t = {.a = &a};
    struct pod *pods = ARENA_NEW_N(&a, struct pod, MANY);
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < MANY; i++) {
            struct kv *v = ARENA_NEW(&a, struct kv);
            *v = (struct kv){"name", arena_printf(&a, "web-%u", (unsigned)i)};
            pods[i].m.ns = "default";
            pods[i].labels = (struct kvs){v, 1};
            ck_assert_uint_eq(labelset_of(&t, &pods[i]), i);
        }
    }
    ck_assert_uint_eq(t.n, MANY);
    arena_done(&a);
}
END_TEST

UNIT_MAIN("labelset", UNIT_TEST(numbers), UNIT_TEST(many))
