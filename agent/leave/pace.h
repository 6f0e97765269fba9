/*
 * pace.h - claims that are deleted because their NodePool was: they do not all leave at once.
 *
 * Whoever deletes a NodePool deletes its claims with it: the garbage collector follows the owner
 * references, hundreds at a time. Nobody decided on those one by one, so their nodes are tainted at
 * once but drained in turn (ours; Karpenter drains them together): so many at a time as the pool's
 * budgets for Drifted allowed when it was last seen, after a restart PACE_SHARE_PERCENT of the
 * claims that are left, always at least one. A turn begins with places for the node's pods: they
 * are planned, and evicted once the nodes that they are planned on are there (pods that find no
 * place within PACE_NOWHERE_NS are not waited for, and nothing longer than PACE_COMING_NS). It ends
 * when the instance has been ordered to end. Pods of a node that waits for its turn stay, and
 * nothing is launched for them yet.
 *
 * It does not wait whose machine is taken away or whose termination deadline is near
 * (store_ends_soon), nor what has no Node. A claim whose turn has begun has the condition Drained;
 * that is how a process that comes after knows.
 *
 * Of a deleted pool is a claim whose pool is not there, is being deleted, or is younger than the
 * claim (one of the same name was made anew). Claims that are deleted for themselves while their
 * pool is there are drained at once, as ever.
 */
#ifndef KARP_AGENT_PACE_H
#define KARP_AGENT_PACE_H

#include "agent/runtime.h"
#include "common/core/model.h"

#define PACE_SHARE_PERCENT 10
#define PACE_NOWHERE_NS (30 * NS_PER_S)
#define PACE_COMING_NS (10 * NS_PER_MIN)

struct pace;

struct pace *pace_new(struct runtime *rt); /* subscribes to pools and claims */
void pace_free(struct pace *p);

enum pace_answer {
    PACE_WAIT,
    PACE_BEGIN, /* it is its turn: the claim is to have the condition Drained, Unknown */
    PACE_DRAIN
};
enum pace_answer pace_ask(struct pace *p, const struct node *n, const struct nodeclaim *nc);
/* The claim waits, or will, for its turn: what the store says alone. */
bool pace_waits(const struct runtime *rt, const struct nodeclaim *nc);

#endif
