/*
 * pdblook.h - was a pod evicted against its PodDisruptionBudget? For the invariant Pdb.
 */
#ifndef KARP_SIM_PDBLOOK_H
#define KARP_SIM_PDBLOOK_H

#include "tests/sim/kube/api.h"

/* True if fewer ready pods than the budget wants are left without this one, as it was before; dst
 * says how many. What is wanted is worked out from the status, since only controllers know how many
 * pods there should be; what is there is counted. */
bool pdb_broken(const struct sim_api *api, const json_t *pdb, const json_t *pod, char *dst,
                size_t size);

#endif
