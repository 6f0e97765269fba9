/*
 * drifted.h - the condition Drifted of NodeClaims: True with the reason while the core finds that
 * the claim does not agree with what its pool and class ask for (core/disrupt/drift.h), or the
 * cloud that its instance lies in other subnets or security groups than its class now has
 * (SecurityGroupDrift, SubnetDrift; cloud.h: cloud_network), absent otherwise. The plugin takes the
 * condition's word for the latter, since no object tells where an instance is. A replacement that a
 * person asked for (karp.dev/replace) is no drift of that kind and is not written.
 *
 * All claims are looked at soon after a pool, a class or a claim changed, and every
 * DRIFTED_PERIOD_NS; what was found goes to driftguard.h too. Mode observe writes nothing.
 */
#ifndef KARP_AGENT_DRIFTED_H
#define KARP_AGENT_DRIFTED_H

#include "agent/runtime.h"

#define DRIFTED_SOON_NS (1 * NS_PER_S)
#define DRIFTED_PERIOD_NS (30 * NS_PER_S)
#define DRIFTED_ARENA_MAX ((size_t)256 << 20)

struct drifted;

struct drifted *drifted_new(struct runtime *rt);
void drifted_free(struct drifted *d);
void drifted_start(struct drifted *d);

#endif
