/*
 * plan.h - digests of plans: the same for every driver of the core.
 *
 * Both are hex SHA-256 of RFC 8785 (canonical JSON) texts, so that whoever has the machine output
 * can compute them again:
 *  - of a step: {"candidates":[{"name","uid"}] by name of the NodeClaim,
 *    "replacements":[{"capacityTypes","nodePool"}]};
 *  - of a plan: its actions as `consolidate -o json` has them, without id, planDigest,
 *    pricePerHour, savingsPerHour, score, allowedNow and heldBy.
 */
#ifndef KARP_CORE_PLAN_H
#define KARP_CORE_PLAN_H

#include "common/base/hash.h"
#include "common/core/disrupt/consolidate.h"

#define PLAN_MAX_TYPES 60 /* instance types of a new node that are told */
#define PLAN_MAX_TEXT ((size_t)1 << 30)

void plan_step_digest(struct arena *a, const struct snapshot *s,
                      const struct consolidate_step *step, char ret[SHA256_HEX]);
void plan_digest(const struct snapshot *s, const struct consolidate_step *steps, uint32_t n,
                 char ret[SHA256_HEX]);
/* The text behind plan_digest, for tests and checkers. */
void plan_text(const struct snapshot *s, const struct consolidate_step *steps, uint32_t n,
               struct buf *out);

#endif
