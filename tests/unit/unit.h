/*
 * unit.h - the little that every unit test shares (over check).
 *
 * A suite is a file tests/unit/test_NAME.c: START_TEST bodies, mostly loops over a static table,
 * and one UNIT_MAIN at the end. UNIT_CASES(fn, rows) runs fn once for each row: in it _i is the
 * row's number. Adding a case means adding a row. Files belong under unit_path: that folder is
 * removed whole when the suite has ended, however its tests did.
 */
#ifndef KARP_TESTS_UNIT_H
#define KARP_TESTS_UNIT_H

#include "common/base/compat.h"

#include <check.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

/* One test case function with how many rows it has (1 = no table). */
struct unit_case {
    const char *name;
    const TTest *test;
    int rows;
};

#define UNIT_TEST(fn)                                                                              \
    {                                                                                              \
#fn, fn, 1                                                                                 \
    }
#define UNIT_CASES(fn, table)                                                                      \
    {                                                                                              \
#fn, fn, (int)ARRAY_LEN(table)                                                             \
    }

/* The suite's own folder; made and removed by unit_run. */
static char unit_folder[] = "/tmp/karp-unit-XXXXXX";

/* A template for mkstemp or mkdtemp. */
static inline void unit_path(char *dst, size_t size, const char *name)
{
    int n = snprintf(dst, size, "%s/%s-XXXXXX", unit_folder, name);
    ck_assert(n > 0 && (size_t)n < size);
}

static inline int unit_remove(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static inline int unit_run(const char *suite, const struct unit_case *cases, size_t n)
{
    Suite *s = suite_create(suite);
    for (size_t i = 0; i < n; i++) {
        TCase *tc = tcase_create(cases[i].name);
        tcase_set_timeout(tc, 300);
        tcase_add_loop_test(tc, cases[i].test, 0, cases[i].rows);
        suite_add_tcase(s, tc);
    }
    SRunner *sr = srunner_create(s);
    if (!mkdtemp(unit_folder)) {
        perror(unit_folder);
        return 1;
    }
    srunner_run_all(sr, CK_ENV);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    nftw(unit_folder, unit_remove, 16, FTW_DEPTH | FTW_PHYS);
    return failed ? 1 : 0;
}

#define UNIT_MAIN(suite, ...)                                                                      \
    int main(void)                                                                                 \
    {                                                                                              \
        const struct unit_case cases[] = {__VA_ARGS__};                                            \
        return unit_run(suite, cases, ARRAY_LEN(cases));                                           \
    }

#endif
