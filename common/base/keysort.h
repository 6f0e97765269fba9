/*
 * keysort.h - puts a large array in order by numbers, a part at a time.
 *
 * qsort of pointers looks at memory that lies anywhere, twice for each comparison. Here what is
 * compared lies in the items, so each object is looked at once, to make its key. Where keys are
 * equal, `tie` is asked, which looks at the objects; without it the smaller `at` comes first. The
 * order must be total.
 *
 *     struct keysort k;
 *     keysort_begin(&k, a, n_max);
 *     keysort_add(&k, at)->key[0] = …;           up to n_max times
 *     while (!keysort_step(&k)) { }              a step is a few thousand items or a pass over all
 *     k.v[0 … k.n - 1].at                        in order
 */
#ifndef KARP_BASE_KEYSORT_H
#define KARP_BASE_KEYSORT_H

#include "arena.h"

#include <stdint.h>

#define KEYSORT_WORDS 5u

struct keysort_item {
    uint64_t key[KEYSORT_WORDS]; /* the first word that differs decides */
    uint32_t at;
};

struct keysort {
    struct keysort_item *v, *spare;
    uint32_t n;
    uint32_t done, run; /* items in runs, and how long these are */
    /* Like that of qsort, about numbers. */
    int (*tie)(const void *ctx, uint32_t x, uint32_t y);
    const void *ctx;
};

void keysort_begin(struct keysort *k, struct arena *a, uint32_t n_max);
/* All words are 0. */
static inline struct keysort_item *keysort_add(struct keysort *k, uint32_t at)
{
    k->v[k->n].at = at;
    return &k->v[k->n++];
}
/* True at the end. */
bool keysort_step(struct keysort *k);

/* Words that stand in the order of signed numbers, and of texts by their beginning. */
static inline uint64_t keysort_i64(int64_t n)
{
    return (uint64_t)n ^ UINT64_C(1) << 63;
}
uint64_t keysort_text(const char *s); /* NULL is like "" */

#endif
