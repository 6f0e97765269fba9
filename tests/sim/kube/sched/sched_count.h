/*
 * sched_count.h - numbers per topology domain (sched_cache.h): an array that grows, 0 where nothing
 * was added. A zeroed one is empty.
 */
#ifndef KARP_SIM_SCHED_COUNT_H
#define KARP_SIM_SCHED_COUNT_H

#include "common/base/alloc.h"

#include <stdbool.h>

struct sim_count {
    int64_t *v;
    size_t n;
    bool any; /* something was added */
};

static inline void sim_count_add(struct sim_count *c, int domain, int64_t amount)
{
    if (domain < 0) {
        return;
    }
    if ((size_t)domain >= c->n) {
        size_t n = (size_t)domain * 2 + 16;
        c->v = xreallocarray(c->v, n, sizeof(*c->v));
        memset(c->v + c->n, 0, (n - c->n) * sizeof(*c->v));
        c->n = n;
    }
    c->v[domain] += amount;
    c->any = true;
}

static inline int64_t sim_count_get(const struct sim_count *c, int domain)
{
    return domain >= 0 && (size_t)domain < c->n ? c->v[domain] : 0;
}

static inline void sim_count_done(struct sim_count *c)
{
    free(c->v);
}

#endif
