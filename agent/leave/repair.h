/*
 * repair.h - nodes that are broken and do not heal go (feature gate NodeRepair, off by default).
 *
 * Broken is, as Karpenter on EC2, a Node with one of these conditions for so long:
 *
 *     Ready                                                            False, Unknown   30 min
 *     AcceleratedHardwareReady                                         False            10 min
 *     StorageReady, NetworkingReady, KernelReady, ContainerRuntimeReady  False          30 min
 *
 * and (ours) one that registered, is not initialized REPAIR_UNINITIALIZED_NS later, and has neither
 * pods (but for those of DaemonSets and static ones) nor any planned for it.
 *
 * The breaker, by pool: while more nodes are unhealthy than karp.dev/repair-threshold
 * (--repair-threshold, 20%) of the pool's, rounded up, the pool keeps all of them, for what looks
 * like many broken machines is usually one broken network (as Karpenter, where 20% is fixed).
 * Unhealthy is who has a bad condition, however short. Nor does a whole zone go (ours): where every
 * node of one zone is unhealthy, more than one of them, and no node of another, nothing is wrong
 * with the machines. A claim without a pool is judged among all nodes. An annotation that cannot be
 * read repairs nothing.
 *
 * The claim is deleted and its time is up at once: nothing waits for pods that nobody may be there
 * to stop; budgets, PodDisruptionBudgets and do-not-disrupt do not count (depart.h). Nothing is
 * repaired while the clocks differ, and no node that is held (holds.h).
 *
 * Event NodeRepairBlocked (15 min); metric nodeclaims_unhealthy_disrupted_total.
 */
#ifndef KARP_AGENT_REPAIR_H
#define KARP_AGENT_REPAIR_H

#include "agent/runtime.h"
#include "common/core/model.h"

#define REPAIR_LOOK_NS (10 * NS_PER_S)
#define REPAIR_UNINITIALIZED_NS (30 * NS_PER_MIN)
#define REPAIR_SAID_NS (15 * NS_PER_MIN)
#define ANN_REPAIR_THRESHOLD "karp.dev/repair-threshold"

struct repair;

struct repair *repair_new(struct runtime *rt);
void repair_free(struct repair *r);
void repair_start(struct repair *r);

/* The bad condition of the node whose time comes first, NULL if it has none; *ret_due_ns: when,
 * wall. */
const struct condition *repair_bad(const struct node *n, int64_t *ret_due_ns);

/* One zone of a pool. */
struct repair_zone {
    uint32_t nodes, unhealthy;
};
enum repair_verdict { REPAIR_YES, REPAIR_TOO_MANY, REPAIR_ZONE };
enum repair_verdict repair_judge(const struct repair_zone *zones, uint32_t n, uint32_t permyriad);

#endif
