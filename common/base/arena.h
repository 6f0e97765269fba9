/*
 * arena.h - a bump allocator: one per decision, request or stored object, dropped as a whole.
 *
 * Memory is zeroed and aligned to 16 bytes. An arena never fails: the cap given at the start is
 * soft. Crossing it raises arena_over(), which resumable work looks at between steps to end as
 * "truncated"; so one huge input cannot take the machine, and no caller needs a check per
 * allocation. Pointers stay valid until reset, rewind past them, or done.
 *
 * Under ASan freed and not yet given-out space is poisoned.
 */
#ifndef KARP_BASE_ARENA_H
#define KARP_BASE_ARENA_H

#include "compat.h"

#include <stdarg.h>
#include <stdbool.h>

struct arena_chunk;

struct arena {
    struct arena_chunk *head; /* chunk in use, older ones behind it */
    size_t used_bytes;        /* given out, without alignment waste */
    size_t max_bytes;         /* soft cap */
    size_t chunk_bytes;       /* size of the first chunk; each next one doubles up to 256 KiB */
};

struct arena_mark {
    struct arena_chunk *chunk;
    size_t offset;
    size_t used_bytes;
};

/* Nothing is allocated until the first use. first_chunk_bytes 0 means 4096. */
void arena_init(struct arena *a, size_t first_chunk_bytes, size_t max_bytes);
/* Frees all; the arena may be used again as after arena_init. NULL is fine. */
void arena_done(struct arena *a);
/* Forgets all allocations, keeps one chunk. */
void arena_reset(struct arena *a);

void *arena_alloc(struct arena *a, size_t size);
void *arena_alloc_n(struct arena *a, size_t count, size_t size); /* overflow aborts */
char *arena_strdup(struct arena *a, const char *s);              /* NULL gives NULL */
char *arena_strndup(struct arena *a, const char *s, size_t n);
void *arena_memdup(struct arena *a, const void *p, size_t size); /* size 0 gives NULL */
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF(2, 3);

struct arena_mark arena_mark(const struct arena *a);
void arena_rewind(struct arena *a, struct arena_mark mark);

bool arena_over(const struct arena *a);
/* Bytes held from the heap, for the memory gauges. */
size_t arena_held_bytes(const struct arena *a);

#define ARENA_NEW(a, type) ((type *)arena_alloc((a), sizeof(type)))
#define ARENA_NEW_N(a, type, n) ((type *)arena_alloc_n((a), (n), sizeof(type)))

/* As ARRAY_GROW, in an arena: the old array stays behind until the arena goes. */
#define ARENA_GROW(a, items, n, cap)                                                               \
    do {                                                                                           \
        if ((n) >= (cap)) {                                                                        \
            size_t grow_cap_ = (cap) ? (size_t)(cap)*2 : 8;                                        \
            void *grow_new_ = arena_alloc_n((a), grow_cap_, sizeof(*(items)));                     \
            if ((n) > 0) {                                                                         \
                memcpy(grow_new_, (items), (size_t)(n) * sizeof(*(items)));                        \
            }                                                                                      \
            (items) = grow_new_;                                                                   \
            (cap) = (__typeof__(cap))grow_cap_;                                                    \
        }                                                                                          \
    } while (0)

#endif
