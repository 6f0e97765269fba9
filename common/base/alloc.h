/*
 * alloc.h - heap memory that never answers NULL.
 *
 * Out of memory aborts: the kubelet restarts the agent, the shell is back with a message. That is
 * sound because everything read from outside is capped first. xmalloc(0) is valid and non-NULL.
 * Sizes with a count are checked for overflow. All memory is freed with free().
 */
#ifndef KARP_BASE_ALLOC_H
#define KARP_BASE_ALLOC_H

#include "compat.h"

void *xmalloc(size_t size) MUST_CHECK;
void *xcalloc(size_t count, size_t size) MUST_CHECK;
/* Grows or shrinks to count*size bytes; new bytes are undefined. */
void *xreallocarray(void *p, size_t count, size_t size) MUST_CHECK;
char *xstrdup(const char *s) MUST_CHECK; /* NULL gives NULL */
char *xstrndup(const char *s, size_t n) MUST_CHECK;
char *xasprintf(const char *fmt, ...) PRINTF(1, 2) MUST_CHECK;

#define NEW(type) ((type *)xcalloc(1, sizeof(type)))
#define NEW_N(type, n) ((type *)xcalloc((n), sizeof(type)))

/*
 * Makes room for one more element in a growable heap array: items/count/capacity triple.
 * ARRAY_GROW(list->items, list->n, list->cap); list->items[list->n++] = x;
 */
#define ARRAY_GROW(items, n, cap)                                                                  \
    do {                                                                                           \
        if ((n) >= (cap)) {                                                                        \
            (cap) = (cap) ? (cap)*2 : 8;                                                           \
            (items) = xreallocarray((items), (cap), sizeof(*(items)));                             \
        }                                                                                          \
    } while (0)

/* For CLEANUP(cleanup_free): frees and forgets a heap pointer of any type. */
void cleanup_free(void *pp);
#define AUTO_FREE CLEANUP(cleanup_free)

#endif
