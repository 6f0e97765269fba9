/* keysort.c - see keysort.h. */
#include "keysort.h"

#include <string.h>

#define RUN 2048u /* items of a step; their runs lie in the processor's cache */
#define SHORT 8u

void keysort_begin(struct keysort *k, struct arena *a, uint32_t n_max)
{
    *k = (struct keysort){.v = ARENA_NEW_N(a, struct keysort_item, n_max)};
    k->spare = ARENA_NEW_N(a, struct keysort_item, n_max);
}

uint64_t keysort_text(const char *s)
{
    uint64_t ret = 0;
    for (unsigned i = 0; s != NULL && i < 8 && s[i] != '\0'; i++) {
        ret |= (uint64_t)(unsigned char)s[i] << (56 - 8 * i);
    }
    return ret;
}

static bool before(const struct keysort *k, const struct keysort_item *x,
                   const struct keysort_item *y)
{
    for (uint32_t i = 0; i < KEYSORT_WORDS; i++) {
        if (x->key[i] != y->key[i]) {
            return x->key[i] < y->key[i];
        }
    }
    return k->tie != NULL ? k->tie(k->ctx, x->at, y->at) < 0 : x->at < y->at;
}

static void sort_short(const struct keysort *k, struct keysort_item *v, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        struct keysort_item one = v[i];
        uint32_t to = i;
        for (; to > 0 && before(k, &one, &v[to - 1]); to--) {
            v[to] = v[to - 1];
        }
        v[to] = one;
    }
}

/* Two runs in order become one. */
static void merge(const struct keysort *k, const struct keysort_item *v, uint32_t n,
                  uint32_t middle, struct keysort_item *to)
{
    if (middle >= n || !before(k, &v[middle], &v[middle - 1])) {
        memcpy(to, v, n * sizeof(*v));
        return;
    }
    for (uint32_t i = 0, a = 0, b = middle; i < n; i++) {
        bool first = b == n || (a < middle && !before(k, &v[b], &v[a]));
        to[i] = v[first ? a++ : b++];
    }
}

/* All runs of the n items two by two, from one array to the other. */
static void merge_all(const struct keysort *k, const struct keysort_item *v, uint32_t n,
                      uint32_t run, struct keysort_item *to)
{
    for (uint32_t i = 0; i < n; i += 2 * run) {
        uint32_t both = n - i < 2 * run ? n - i : 2 * run;
        merge(k, v + i, both, run, to + i);
    }
}

static void sort_run(const struct keysort *k, uint32_t from, uint32_t n)
{
    struct keysort_item *v = k->v + from, *to = k->spare + from;
    for (uint32_t i = 0; i < n; i += SHORT) {
        sort_short(k, v + i, n - i < SHORT ? n - i : SHORT);
    }
    for (uint32_t run = SHORT; run < n; run *= 2) {
        merge_all(k, v, n, run, to);
        struct keysort_item *sorted = to;
        to = v;
        v = sorted;
    }
    if (v != k->v + from) {
        memcpy(to, v, n * sizeof(*v));
    }
}

bool keysort_step(struct keysort *k)
{
    if (k->run == 0 && k->done < k->n) {
        uint32_t left = k->n - k->done, n = left < RUN ? left : RUN;
        sort_run(k, k->done, n);
        k->done += n;
        return k->n <= RUN;
    }
    k->run = k->run == 0 ? RUN : k->run * 2;
    if (k->run >= k->n) {
        return true;
    }
    merge_all(k, k->v, k->n, k->run, k->spare);
    struct keysort_item *sorted = k->spare;
    k->spare = k->v;
    k->v = sorted;
    return k->run * 2 >= k->n;
}
