/*
 * empty_group.h - removing empty nodes that were decided on: taint, mark, look again, delete.
 *
 *   taint   karpenter.sh/disrupted:NoSchedule on each Node, under the version that was decided on
 *   mark    condition DisruptionReason=True, reason Empty, on each NodeClaim
 *   look    one LIST of pods, answered by quorum, taken after the last taint was in place: a member
 *           with any pod that is not a DaemonSet's, static or terminal is let go, and so is one
 *           whose node, claim or pool changed or that pods are planned for
 *   delete  the NodeClaims, with their UID as precondition
 *
 * Members that are let go keep their taint for the moment; taint_sweep.h takes it off, as it does
 * after a crash. Groups are independent of each other.
 */
#ifndef KARP_AGENT_EMPTY_GROUP_H
#define KARP_AGENT_EMPTY_GROUP_H

#include "agent/runtime.h"
#include "common/core/snapshot.h"

#define EMPTY_GROUP_MAX 1000
#define EMPTY_GROUP_SELECT_MAX 3 /* more members: list all pods once, not one node each */

struct empty_groups;

/* Runs for every member that was not removed. doubtful: its deletion may have happened, the answer
 * was lost; then the taint is better left until the store shows what is true. */
typedef void (*empty_let_go_fn)(void *ctx, const char *node, const char *claim, bool doubtful);

struct empty_groups *empty_groups_new(struct runtime *rt, empty_let_go_fn let_go, void *ctx);
void empty_groups_free(struct empty_groups *g);
/* Starts removing these nodes; what is needed of them is copied. At most EMPTY_GROUP_MAX. */
void empty_groups_start(struct empty_groups *g, const struct snapshot_node *const *nodes,
                        uint32_t n);
/* The claim is being removed by a group. */
bool empty_groups_has(const struct empty_groups *g, const char *claim);

/* Pods are expected on the node. */
bool empty_expected(struct runtime *rt, const struct node *n, const struct nodeclaim *nc);

#endif
