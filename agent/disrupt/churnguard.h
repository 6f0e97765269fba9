/*
 * churnguard.h - two that move the same pods to and fro stop: the condition ChurnGuard of a
 * NodePool, which keeps consolidation from its nodes (candidate.h).
 *
 * A Descheduler spreads what consolidation packs, or an operator deletes pods by a rule of its own:
 * neither ends by itself. So moves are counted per owner of pods (ReplicaSet, StatefulSet, …): a
 * pod that is taken from a node of one of our pools, and for which its owner makes another one of
 * the same revision within CHURNGUARD_ANSWER_NS of its mark or of its end. A move is ours if the
 * node leaves by a command of ours; it is somebody else's if nothing leaves: the node is neither
 * leaving, cordoned (a person drains it) nor lost, and the pod was deleted or evicted, not
 * preempted. What scaling takes is no move: nothing comes for it.
 *
 * CHURNGUARD_MOVES moves of one owner's pods within CANDIDATE_CHURN_NS (core/disrupt/candidate.h),
 * one of ours and CHURNGUARD_OTHERS of others at least, make the condition True in the pools that
 * they were taken from, for CANDIDATE_CHURN_NS; its message says whose pods, how often, and who
 * else it may be. Then the count of that owner begins anew. Empty and drifted nodes go on leaving.
 *
 * The condition outlives the process, moves that were counted do not. At most CHURNGUARD_OWNERS
 * owners are counted at a time.
 */
#ifndef KARP_AGENT_CHURNGUARD_H
#define KARP_AGENT_CHURNGUARD_H

#include "agent/runtime.h"
#include "agent/work/cond.h"
#include "common/core/model.h"

#define CHURNGUARD_MOVES 3
#define CHURNGUARD_OTHERS 2
#define CHURNGUARD_ANSWER_NS (10 * NS_PER_S)
#define CHURNGUARD_LOOK_NS (30 * NS_PER_S)
#define CHURNGUARD_OWNERS 10000

struct churnguard;

struct churnguard *churnguard_new(struct runtime *rt); /* subscribes to pods and pools */
void churnguard_free(struct churnguard *g);

/* Puts the condition. Texts are good until the next change. */
void churnguard_conditions(struct churnguard *g, const struct nodepool *np, struct cond_edit *e);
/* Told of a pool whose condition may have changed. One listener. */
void churnguard_listen(struct churnguard *g, void (*fn)(void *ctx, const char *pool), void *ctx);

#endif
