/*
 * candidate.h - may this node be disrupted, and if not, what is in the way.
 *
 * Gates are tried in the order of REASONS_NODE (reason.h), but UnknownFields, which pods have too,
 * after Policy; the first that fails is the answer. Today's reason is Empty: a node that carries no
 * reschedulable pod, whose claim has been Consolidatable (quiet for consolidateAfter), for which no
 * pending pod is planned, and whose pool's budget has room. A node with any bound pod that is
 * neither DaemonSet's nor static is not empty, whatever its disruption cost (Karpenter can delete
 * nodes whose pods all have negative cost).
 */
#ifndef KARP_CORE_CANDIDATE_H
#define KARP_CORE_CANDIDATE_H

#include "snapshot.h"

struct candidate_in {
    const struct snapshot *snap;
    bool (*nominated)(void *ctx, const struct snapshot_node *n);  /* pods are expected on it */
    bool (*in_command)(void *ctx, const struct snapshot_node *n); /* being removed already */
    bool (*launches_failing)(void *ctx, const struct snapshot_pool *p);
    void *ctx;
};

/* REASON_Empty, or the code of the gate that fails (with operands). */
struct reason candidate_empty(const struct candidate_in *in, const struct snapshot_node *n);

/* When consolidateAfter has passed for the claim: wall clock, NS_NEVER if never, 0 if the claim is
 * not initialized. Reference: lastPodEventTime, else the Initialized transition. */
int64_t candidate_consolidatable_at(const struct nodepool *np, const struct nodeclaim *nc);

struct empty_plan {
    const struct snapshot_node **nodes; /* pool, then name */
    uint32_t n;
};

/* All empty nodes that budgets allow to leave now, in order pool, then name. */
struct empty_plan candidate_empty_plan(struct arena *a, const struct candidate_in *in);

#endif
