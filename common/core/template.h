/*
 * template.h - a new node of a pool before any pod narrows it: requirements, instance types, and
 * what DaemonSets will take of it.
 *
 * DaemonSets differ by instance type (one runs on GPU nodes only), so types with the same set of
 * them form a group; each has its own overhead and host ports. A DaemonSet belongs to a type if it
 * tolerates the pool's taints (PreferNoSchedule and startup taints aside), the pool's requirements
 * agree with it, and the type's labels do; its required node-affinity terms are ORed.
 */
#ifndef KARP_CORE_TEMPLATE_H
#define KARP_CORE_TEMPLATE_H

#include "common/core/ec2/catalog.h"

struct overhead_group {
    uint64_t *types; /* bitset */
    struct resources sum;
    const struct daemonset **daemonsets;
    uint32_t n_daemonsets;
};

struct template
{
    const struct catalog *catalog;
    struct reqset reqs;    /* the pool's, its name and class, registered and initialized */
    const uint64_t *types; /* what reqs leave of the catalog, offerings aside */
    const struct overhead_group *groups; /* a partition of the catalog's types */
    uint32_t n_groups;
};

void template_build(struct arena *a, const struct symtab *t, const struct nodepool *np,
                    const struct catalog *c, const struct daemonset *const *daemonsets,
                    uint32_t n_daemonsets, struct template *ret);

const struct overhead_group *template_group(const struct template *tm, uint32_t type);
/* Per resource the least overhead among the groups that have a type in bits. */
struct resources template_least_overhead(struct arena *a, const struct template *tm,
                                         const uint64_t *bits);

/*
 * bits &= types that r allows. A type that does not have the label is kept if the label is a custom
 * one (the pool gives it), and dropped if it is well-known and asked for.
 */
void template_narrow(const struct catalog *c, const struct symtab *t, const struct req *r,
                     uint64_t *bits);

bool bits_any(const uint64_t *bits, uint32_t words);

#endif
