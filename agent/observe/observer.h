/*
 * observer.h - mode observe keeps a record: ConfigMap karp-observed (sums.h), beside karp-offerings
 * the only thing that such an agent writes.
 *
 * What it would have done, told by whoever decides:
 *   launches   a pod's place on a new node counts once, as long as the pod waits; a planned node
 *              that holds pods counted before counts only by what it costs more than theirs did
 *   removals   a NodeClaim counts once: when its quiet time is over and it would still go, or when
 *              somebody else removes it while it has its quiet time (both wanted the same). From
 *              then on it is leaving for those who decide (observer_leaving), so that its pods take
 *              the room that they would have taken; budgets that are open do not hold others up
 *              because of it
 *   saved      what counted nodes whose removal saves money cost from then on, until they go, or
 *              until a new pod comes onto them, which would have wanted a node
 * What was done, seen in NodeClaims of ours, whoever wrote them:
 *   launches   a NodeClaim has an instance
 *   removals   a NodeClaim with an instance is being deleted, or gone
 *
 * Counting begins once the record of a process before us is read, the store is synced and prices
 * are there. NodeClaims that came since that record was written count, pods that waited then do
 * not. What happened while no agent ran is not seen otherwise, nor saved. A launch that others
 * order before we have decided shows as theirs alone: provisioner.h decides early for that.
 *
 * Pools and classes are ready when whoever is in charge says so: where nobody is, nothing would be
 * launched.
 *
 * Entries have, as far as is known: uid, nodeClaim, node, nodePool, instanceType (of a planned node
 * the first), types (how many it may be), zone, capacityType, pods, reason, pricePerHour,
 * replacementPricePerHour (a node's share, by its price, of what replaces it and others).
 *
 * Written at most every OBSERVER_PAUSE_NS, at least every OBSERVER_PERIOD_NS. The last writer wins:
 * there is one observing agent. A failure is logged once until it heals.
 *
 * In other modes there is none: rt->observer is NULL.
 */
#ifndef KARP_AGENT_OBSERVER_H
#define KARP_AGENT_OBSERVER_H

#include "agent/runtime.h"
#include "common/base/arena.h"
#include "common/core/model.h"

#include <stdbool.h>

#define OBSERVER_CONFIG_MAP "karp-observed"
#define OBSERVER_KEY "observed.json"
#define OBSERVER_LOOK_NS (2 * NS_PER_S)
#define OBSERVER_PAUSE_NS (10 * NS_PER_S)
#define OBSERVER_PERIOD_NS NS_PER_MIN
#define OBSERVER_GAP_NS (5 * NS_PER_MIN)  /* of longer ones nothing is known to be saved */
#define OBSERVER_QUIET_NS (20 * NS_PER_S) /* as long as quiet times, and a little */

struct observer;
struct order;

struct observer *observer_new(struct runtime *rt);
void observer_free(struct observer *o);
void observer_start(struct observer *o);

/* The provisioner would create it. */
void observer_launches(struct observer *o, const struct order *order);

/* Claims that would go together, and what would come for them. */
struct observer_step {
    const char *reason; /* a literal */
    const struct nodeclaim *const *out;
    uint32_t n_out;
    uint32_t n_in;
    int64_t price_in_pusd_h;
};

/* Decided on; it has its quiet time. */
void observer_intends(struct observer *o, const struct observer_step *s);
/* It would go now. */
void observer_removes(struct observer *o, const struct observer_step *s);

/* It has been counted. o may be NULL. */
bool observer_removed(const struct observer *o, const struct nodeclaim *nc);
/* Names of the claims that would be gone, sorted, in a. o may be NULL. */
const char *const *observer_leaving(const struct observer *o, struct arena *a, uint32_t *ret_n);

#endif
