/*
 * expiration.h - nodes have a time to live: spec.expireAfter of their claim.
 *
 * Forceful (default, as Karpenter): at creation + expireAfter the claim is deleted, whatever
 * budgets say; the drain still honours what drains honour. Ours: where more than
 * EXPIRATION_SHARE_PERCENT of a pool (at least two) are due at once, at most so many leave at a
 * time, the oldest first, so that a pool that was made in an hour does not go in an hour.
 *
 * Budgeted (karp.dev/expiration: Budgeted on the pool, or --expiration; ours): from a time on that
 * lies up to EXPIRATION_JITTER_PERCENT of expireAfter before, by the claim's UID, so that nodes of
 * one age do not go as one, the node is to be replaced (replacer.h): replacement first, within the
 * pool's budgets for Drifted. What could not be replaced until expireAfter plus
 * karp.dev/expiration-max-delay (--expiration-max-delay, 72h) is then deleted as above.
 *
 * A value that cannot be read disrupts nothing, and the pool has an Event InvalidAnnotation.
 * Nothing expires while the clocks differ or the mode is not full (observe tells observer.h), and
 * no node that is held (holds.h); afterwards its time has come as that of all others.
 */
#ifndef KARP_AGENT_EXPIRATION_H
#define KARP_AGENT_EXPIRATION_H

#include "agent/runtime.h"
#include "common/core/model.h"

#define EXPIRATION_LOOK_NS (5 * NS_PER_S)
#define EXPIRATION_SHARE_PERCENT 10
#define EXPIRATION_SHARE_MIN 2
#define EXPIRATION_JITTER_PERCENT 10
#define ANN_EXPIRATION "karp.dev/expiration"
#define ANN_EXPIRATION_MAX_DELAY "karp.dev/expiration-max-delay"

struct expiration;

struct expiration *expiration_new(struct runtime *rt);
void expiration_free(struct expiration *e);
void expiration_start(struct expiration *e);

/* Wall time from which on it is to be replaced (NS_NEVER: not by a replacement), and at which it is
 * deleted. np may be NULL. */
struct expiration_times {
    int64_t replace_ns, delete_ns;
};
struct expiration_times expiration_of(const struct agent_options *o, const struct nodepool *np,
                                      const struct nodeclaim *nc);

#endif
