/*
 * poolgate.h - which pools pods may be planned into: what the pool itself says, on top of
 * cloud_pools.
 */
#ifndef KARP_AGENT_POOLGATE_H
#define KARP_AGENT_POOLGATE_H

#include "agent/runtime.h"
#include "common/core/snapshot.h"

/* cloud_pools, then closes pools that are deleted, not Ready, unreadable or have a claim or
 * node that is set aside (PoolNotReady), have fields that this version does not know
 * (UnknownFields), or launch nothing by a Hold (Held); all get max_new_nodes, and at most what
 * reghealth.h lets a failing one have. Texts in a, or good until the store's thaw. */
void poolgate_pools(struct runtime *rt, struct arena *a, int64_t max_new_nodes,
                    struct snapshot_in *in);

#endif
