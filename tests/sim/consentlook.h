/*
 * consentlook.h - did anybody agree to a claim's deletion? Read off the objects alone, in other
 * words than the agent's.
 */
#ifndef KARP_SIM_CONSENTLOOK_H
#define KARP_SIM_CONSENTLOOK_H

#include "tests/sim/kube/api.h"

/*
 * NULL, or why not: a DisruptionRequest that names the claim by UID for that reason has to be
 * Executing, begun before it ran out and not before the time that its approval says; and it is
 * approved itself, or supersedes one that was, names no node and no dearer replacements beside
 * those, or names a DisruptionGrant that there is, for all its pools and that reason, which has let
 * no more go within the hour than it may.
 */
const char *consentlook_lacks(const struct sim_api *api, const json_t *claim, const char *reason);

#endif
