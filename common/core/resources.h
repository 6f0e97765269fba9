/*
 * resources.h - amounts of resources as a vector.
 *
 * cpu in thousandths, everything else in whole units (bytes, counts). The resources that EC2 nodes
 * have stand at fixed places; others (example.com/fuse) follow in `ext`, sorted by symbol id and
 * unique. A missing resource is 0. Arithmetic saturates at int64.
 */
#ifndef KARP_CORE_RESOURCES_H
#define KARP_CORE_RESOURCES_H

#include "common/base/arena.h"
#include "common/base/sym.h"

#include <stdbool.h>

enum resource {
    RES_CPU, /* cpu_milli */
    RES_MEMORY,
    RES_EPHEMERAL_STORAGE,
    RES_PODS,
    RES_POD_ENI,
    RES_PRIVATE_IPV4,
    RES_EFA,
    RES_NVIDIA_GPU,
    RES_AMD_GPU,
    RES_GAUDI,
    RES_NEURON,
    RES_NEURONCORE,
    RES_FIXED
};

#define RES_EXT_MAX 64 /* extended resources of one object beyond the fixed ones */

struct res_ext {
    sym name;
    int64_t amount;
};

struct resources {
    int64_t v[RES_FIXED];
    uint32_t n_ext;
    const struct res_ext *ext;
};

/* "cpu", "memory", "vpc.amazonaws.com/pod-eni", … */
const char *resource_name(enum resource r);
bool resource_parse(const char *name, enum resource *ret);

int64_t resources_get_ext(const struct resources *r, sym name);
/* x + y; y scaled by times (may be negative). Ext arrays are new ones in a. */
struct resources resources_add(struct arena *a, const struct resources *x,
                               const struct resources *y, int64_t times);
/* Per resource the greater of both. */
struct resources resources_max(struct arena *a, const struct resources *x,
                               const struct resources *y);
bool resources_is_zero(const struct resources *r);
bool resources_equal(const struct resources *x, const struct resources *y);

/* One resource of which `need` asks more than there is; the greatest shortage relative to the need
 * is reported first. */
struct res_short {
    enum resource res; /* RES_FIXED: see ext */
    sym ext;
    int64_t need, have;
};

/* Karpenter's Fits: every resource of need ≤ have, and nothing in have is negative. On refusal
 * *ret_short (may be NULL) is filled. A need of zero or less asks for nothing. Among extended
 * resources that are equally short the lower symbol id is reported: for anything that is shown,
 * ask resources_shortage. */
bool resources_fit(const struct resources *need, const struct resources *have,
                   struct res_short *ret_short);
/* The same question with a visible order: ties go to the lower enum resource, then to the extended
 * resource whose name comes first. True, with *ret filled, if something is short. */
bool resources_shortage(const struct symtab *t, const struct resources *need,
                        const struct resources *have, struct res_short *ret);

#endif
