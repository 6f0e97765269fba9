/*
 * termination.h - NodeClaims and Nodes that are being deleted, until nothing is left of them.
 *
 * A claim (claim_termination.c):
 *   deadline    with a terminationGracePeriod: annotated once
 *   nodes       if it was registered: its Nodes are deleted and waited for
 *   instance    ended and proven gone (reaper.h); a claim without providerID goes when the launcher
 *               says that nothing was launched
 *   history     its entry is written (history.h)
 *   finalizer   removed
 * A Node (node_termination.c), if it is ours:
 *   claim       is deleted too
 *   gone        its instance proven gone, and it is not Ready or EC2 told of the end: finalizer
 *               removed at once (a machine of the same address may want the Node's name)
 *   taint       karpenter.sh/disrupted:NoSchedule and the load balancers' exclusion label
 *   turn        those whose NodePool was deleted wait for it (pace.h)
 *   drain       drain.h; then at least 5 s must have passed since the taint was first seen, within
 *               which kube-scheduler may still bind something
 *   volumes     attachments are waited for
 *   instance    ended and proven gone
 *   finalizer   removed
 * Every step is one write or one question; each look starts from what the store says. Progress
 * shows as conditions of the claim: Drained, VolumesDetached, InstanceTerminating.
 */
#ifndef KARP_AGENT_TERMINATION_H
#define KARP_AGENT_TERMINATION_H

#include "agent/runtime.h"

#define TERMINATION_DRAIN_MIN_NS (5 * NS_PER_S)
#define TERMINATION_POLL_NS (1 * NS_PER_S)

struct drain;
struct nodeclaim;
struct pace;
struct queue;
struct reaper;
struct termination;
struct volumes;

struct termination *termination_new(struct runtime *rt);
void termination_free(struct termination *t);
void termination_start(struct termination *t);

/* What both halves share. */
struct ending {
    struct runtime *rt;
    struct reaper *reaper;
    struct drain *drain;
    struct volumes *volumes;
    struct pace *pace;
};

struct claim_termination;
struct claim_termination *claim_termination_new(const struct ending *e);
void claim_termination_free(struct claim_termination *c);

struct node_termination;
struct node_termination *node_termination_new(const struct ending *e);
void node_termination_free(struct node_termination *n);

/* The kinds that matter here are known and writing is allowed. The others need not be: what cannot
 * be listed must not keep nodes from ending. */
bool termination_may_act(const struct runtime *rt);

/* When the claim's instance was launched, wall; 0 = long ago or never. */
int64_t termination_launched_ns(const struct nodeclaim *nc);

#endif
