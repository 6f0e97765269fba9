/* test_map.c - a script of operations a row, the map's contents in order afterwards */
#include "unit.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/map.h"

/* A script: "+k" puts, "-k" removes, "!" clears; keys are letters, values count up from 1. */
static const struct {
    size_t max;
    const char *script, *want;
    int n_full;
} rows[] = {
    {9, "", "", 0},
    {9, "+c+a+b", "c1 a2 b3 ", 0},
    {9, "+c+a+b-a", "c1 b3 ", 0},
    {9, "+c+a-c+c", "a2 c3 ", 0},
    {9, "+c+a+c", "c3 a2 ", 0},
    {9, "-x+a-x", "a1 ", 0},
    {2, "+a+b+c", "a1 b2 ", 1},
    {2, "+a+b+a", "a3 b2 ", 0},
    {2, "+a+b+c-a+c", "b2 c4 ", 1},
    {0, "+a", "", 1},
    {9, "+a+b!+b", "b3 ", 0},
    {9, "!", "", 0},
};

static int run(struct map *m, const char *script)
{
    static int values[10];
    int n_full = 0;
    int n = 0;
    for (; *script; script++) {
        if (*script == '!') {
            map_clear(m);
            continue;
        }
        char op = *script++;
        char key[2] = {*script, '\0'};
        void *before = map_get(m, key);
        bool full = false;
        if (op == '-') {
            ck_assert_ptr_eq(map_del(m, key), before);
            ck_assert(!map_has(m, key));
            continue;
        }
        values[n] = n + 1;
        ck_assert_ptr_eq(map_put(m, key, &values[n], &full), before);
        ck_assert_ptr_eq(map_get(m, key), full ? NULL : &values[n]);
        n_full += full;
        n++;
    }
    return n_full;
}

START_TEST(scripts)
{
    struct map *m = map_new(rows[_i].max);
    ck_assert_int_eq(run(m, rows[_i].script), rows[_i].n_full);
    AUTO_BUF struct buf got;
    buf_init(&got, 1000);
    for (MAP_EACH(m, e)) {
        buf_printf(&got, "%s%d ", map_key(e), *(int *)map_value(e));
    }
    ck_assert_str_eq(got.p, rows[_i].want);
    ck_assert_uint_eq(map_count(m), strlen(rows[_i].want) / 3);
    map_free(m);
}
END_TEST

START_TEST(removes_while_iterating)
{
    struct map *m = map_new(1000);
    char key[16];
    for (int i = 0; i < 1000; i++) {
        snprintf(key, sizeof(key), "key-%d", i);
        map_put(m, key, m, NULL);
    }
    int seen = 0;
    for (MAP_EACH(m, e)) {
        snprintf(key, sizeof(key), "key-%d", seen++);
        ck_assert_str_eq(map_key(e), key);
        if (seen % 3 != 0) {
            ck_assert_ptr_eq(map_del(m, key), m);
        }
    }
    ck_assert_int_eq(seen, 1000);
    ck_assert_uint_eq(map_count(m), 333);
    for (MAP_EACH(m, e)) {
        AUTO_FREE char *copy = xstrdup(map_key(e));
        map_del(m, copy);
    }
    ck_assert_uint_eq(map_count(m), 0);
    ck_assert_ptr_null(map_first(m));
    map_free(m);
}
END_TEST

/* A NULL value is there all the same; a NULL key never is. */
START_TEST(null_values_and_keys)
{
    struct map *m = map_new(5);
    ck_assert_ptr_null(map_put(m, "a", NULL, NULL));
    ck_assert(map_has(m, "a"));
    ck_assert(!map_has(m, NULL));
    ck_assert_ptr_null(map_del(m, NULL));
    ck_assert_uint_eq(map_count(m), 1);
    map_free(m);
    map_free(NULL);
}
END_TEST

START_TEST(deletes_by_its_own_key)
{
    struct map *m = map_new(5);
    map_put(m, "a", m, NULL);
    map_put(m, "b", m, NULL);
    for (MAP_EACH(m, e)) {
        ck_assert_ptr_eq(map_del(m, map_key(e)), m);
    }
    ck_assert_uint_eq(map_count(m), 0);
    map_free(m);
}
END_TEST

UNIT_MAIN("map", UNIT_CASES(scripts, rows), UNIT_TEST(removes_while_iterating),
          UNIT_TEST(null_values_and_keys), UNIT_TEST(deletes_by_its_own_key))
