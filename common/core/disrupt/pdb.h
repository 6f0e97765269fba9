/*
 * pdb.h - PodDisruptionBudgets: which one holds a pod, and how many of its pods may go.
 *
 * What a budget allows is the lesser of what its status says and of its own arithmetic over the
 * pods seen, because either may be behind. A budget that could not be read, or whose status is of
 * an older generation, allows nothing. As Kubernetes: percentages round up; a pod under more than
 * one budget cannot be evicted at all; a running pod that is not ready may go, with AlwaysAllow
 * always, else while the budget is met (status and arithmetic) and something is desired; a pod that
 * does not run yet is never held.
 *
 * Permanent: a budget that allows nothing even when all its pods are healthy (maxUnavailable 0,
 * minAvailable 100% or not less than the pods there are to be).
 */
#ifndef KARP_CORE_PDB_H
#define KARP_CORE_PDB_H

#include "common/core/snapshot.h"

struct pdb_state {
    const struct pdb *pdb;
    const char *name; /* "ns/name" */
    int64_t expected; /* pods there are to be: by status, at least those seen */
    int64_t healthy, desired;
    int64_t allowed;
    bool permanent; /* and then allowed is 0 */
    bool met;       /* healthy ≥ desired > 0: unhealthy pods may go */
};

/* The budget that selects a pod, NULL if none; more: there are others. */
struct pdb_hit {
    const struct pdb_state *pdb;
    bool more;
};

/* Budgets of a snapshot with what each allows. */
struct pdb_index {
    const struct pdb_state *v; /* by namespace and name */
    uint32_t n;
    bool unknown; /* budgets could not be read */
};

void pdb_index_build(struct arena *a, const struct snapshot *s, struct pdb_index *ret);

struct pdb_hit pdb_of(const struct pdb_index *x, const struct pod *p);

/* REASON_NONE, MultiplePDB, PDBPermanent or PDB. */
enum reason_code pdb_check(const struct pdb_index *x, const struct pod *p, struct pdb_hit hit);

#endif
