/*
 * historylook.h - what ConfigMaps karp-history, karp-observed and karp-offerings say, for
 * expectations and invariants.
 */
#ifndef KARP_SIM_HISTORYLOOK_H
#define KARP_SIM_HISTORYLOOK_H

#include "tests/sim/kube/api.h"

/* Entries all of whose fields named in `want` have these texts; NULL or an empty map: all. A list
 * of the entry counts as its number of elements. */
size_t historylook_count(const struct sim_api *api, const json_t *want);
/* Likewise of karp-observed. */
size_t historylook_observed(const struct sim_api *api, const json_t *want);
/* What its days add up to, "would.launched": nodes, pods, dollars; -1 if it is not there. */
double historylook_sum(const struct sim_api *api, const char *path);
/* Likewise what the agent wants looked at, in karp-offerings. */
size_t historylook_attention(const struct sim_api *api, const json_t *want);
/* Entries of that NodeClaim. */
size_t historylook_of(const struct sim_api *api, const char *claim_uid);

#endif
