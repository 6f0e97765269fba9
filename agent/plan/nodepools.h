/*
 * nodepools.h - what the agent says about NodePools: conditions, counters, hash.
 *
 *  - ValidationSucceeded, NodeClassReady and the root Ready; UnknownFields, True while the spec has
 *    a field that this version does not know; LaunchIneffective (ineffective.h);
 *    NodeRegistrationHealthy and RegistrationFailing (reghealth.h); DriftSuspect and DriftHalted
 *    (disrupt/driftguard.h); ChurnGuard (disrupt/churnguard.h); CapacityMismatch
 *    (store/observed.h); BudgetTimezoneUnknown, True while schedules of the pool's budgets are
 *    in a zone that is not known here.
 *  - status.resources and status.nodes: what the pool's nodes and claims have that are not leaving,
 *    about a second behind.
 *  - annotation karpenter.sh/nodepool-hash of version karp1. Where another version stands, the
 *    pool's claims are stamped anew first (with the pool's hash, unless they are Drifted already),
 *    then the pool: a takeover drifts nothing.
 *
 * An Event InvalidAnnotation where karp.dev/placement or karp.dev/max-share cannot be read: then
 * the flag's word counts, but Cheapest as Compatible.
 *
 * Static pools and pools of other providers' classes are left alone. Patches only on change; what
 * was counted last is a cache, so a restart writes each pool's counters once.
 */
#ifndef KARP_AGENT_NODEPOOLS_H
#define KARP_AGENT_NODEPOOLS_H

#include "agent/runtime.h"

#define NODEPOOL_COUNT_NS (1 * NS_PER_S)

struct nodepools;

struct nodepools *nodepools_new(struct runtime *rt);
void nodepools_free(struct nodepools *p);
void nodepools_start(struct nodepools *p);

#endif
