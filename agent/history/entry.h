/*
 * entry.h - one line of the history: a NodeClaim that had an instance and leaves.
 *
 *   time          when it left: its instance was ordered to end
 *   orderedAt     when its deletion was ordered
 *   uid           the NodeClaim's; one entry each
 *   nodeClaim, node, nodePool, instanceType, zone, capacityType   as far as they are known
 *   reason, actor, message   why.h
 *   command       ID of the command that replaced it (leave/command.h)
 *   planDigest    of the plan's step that was carried out (core/plan.h), as `consolidate` prints it
 *   request, grant, approvedBy   where it waited for a decision: the DisruptionRequest, the
 *                 DisruptionGrant that covered it, and who approved, or wrote the grant
 *   replacedBy    the NodeClaims that came for it and the others of the command, at most
 *                 ENTRY_REPLACEMENTS_MAX by name
 *   pricePerHour, replacementPricePerHour   of it, and of all that came for the command; absent
 *                 where a price is not known
 *
 * Made from what the API server has, so that any process tells the same of one claim.
 */
#ifndef KARP_AGENT_ENTRY_H
#define KARP_AGENT_ENTRY_H

#include "agent/runtime.h"
#include "common/core/model.h"

#include <jansson.h>

#define ENTRY_REPLACEMENTS_MAX 10u

/* The claim had an instance of ours. */
bool entry_due(const struct nodeclaim *nc);
/* New reference. */
json_t *entry_new(struct runtime *rt, const struct nodeclaim *nc);

#endif
