/*
 * sort.h - qsort for what is in order already more often than not: lists of the API server are, by
 * name. Nothing at all (NULL, 0) is fine. Ties are left to the order's being total, as with qsort.
 */
#ifndef KARP_BASE_SORT_H
#define KARP_BASE_SORT_H

#include "compat.h"

typedef int sort_cmp_fn(const void *a, const void *b);

static inline void sort_items(void *items, size_t n, size_t size, sort_cmp_fn *cmp)
{
    const char *v = items;
    for (size_t i = 1; i < n; i++) {
        if (cmp(v + (i - 1) * size, v + i * size) > 0) {
            qsort(items, n, size, cmp);
            return;
        }
    }
}

#endif
