/*
 * historylook.h - what ConfigMap karp-history says, for expectations and invariants.
 */
#ifndef KARP_SIM_HISTORYLOOK_H
#define KARP_SIM_HISTORYLOOK_H

#include "kube/api.h"

/* Entries all of whose fields named in `want` have these texts; NULL or an empty map: all. A list
 * of the entry counts as its number of elements. */
size_t historylook_count(const struct sim_api *api, const json_t *want);
/* Entries of that NodeClaim. */
size_t historylook_of(const struct sim_api *api, const char *claim_uid);

#endif
