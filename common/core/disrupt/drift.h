/*
 * drift.h - does a claim still agree with what its pool and class ask for?
 *
 * First match wins, as Karpenter: NodePoolDrifted, NodeClassDrift (hashes), RequirementsDrifted,
 * InstanceTypeNotFound, AMIDrift; and before them all what a person asked for with
 * karp.dev/replace.
 *
 *  - Hashes are compared only if both sides carry our version (HASH_VERSION); hashes of another
 *    controller are never compared, those objects are re-stamped.
 *  - A requirement is compared with the claim's label; where the claim has none, with what its
 *    instance type says (ours: a key that a pool adds later does not make nodes drift that meet
 *    it). Labels that others put on the Node do not matter.
 *  - InstanceTypeNotFound needs a claim older than an hour, and a catalog.
 *  - AMIDrift: the image the claim runs is not among those of the class that go with its type.
 * SecurityGroupDrift and SubnetDrift are found out by the agent, which alone knows where instances
 * are (disrupt/drifted.h): here they come with the condition.
 * A claim that was not launched does not drift, nor does one whose pool or class is gone or
 * leaving, and none in its first reconcile (the claim must be initialized).
 */
#ifndef KARP_CORE_DRIFT_H
#define KARP_CORE_DRIFT_H

#include "common/core/snapshot.h"

struct drift {
    const char *reason; /* NULL: not drifted; else "NodePoolDrifted", … or "Replace" */
    const char *text;   /* what differs, for people; in the arena */
    int64_t since_ns;   /* of the condition, 0 if it was found out here */
};

enum drift_source {
    DRIFT_CONDITION, /* only the claim's condition Drifted: another controller is in charge */
    DRIFT_COMPUTED,  /* the condition, or found out here */
    DRIFT_AFRESH     /* found out here, whatever the condition says */
};

struct drift drift_of(struct arena *a, const struct snapshot *s, const struct snapshot_node *n,
                      enum drift_source source);

#endif
