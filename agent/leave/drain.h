/*
 * drain.h - pods leave a node that is being deleted.
 *
 * Waited for are pods that are neither terminal nor static, do not tolerate karpenter.sh/disrupted
 * and are not stuck terminating (a minute past their deletion time). They are evicted in four
 * groups, each when the one before it is empty: ordinary pods, ordinary DaemonSet pods, critical
 * pods, critical DaemonSet pods (critical by priorityClassName, or by a priority of
 * DRAIN_CRITICAL_PRIORITY and more). A pod that must not be disrupted
 * is waited for and not evicted.
 *
 * Evictions go through the eviction API with the pod's UID; 429 (a PodDisruptionBudget) backs off
 * from 100 ms to 10 s. With a deadline a pod is deleted outright when only its own grace period is
 * left, so that it is gone in time; evictions of pods under the same PodDisruptionBudgets then wait
 * for DRAIN_SETTLE_NS, since the status of those knows of the deletion a moment later and would
 * allow one more. While this machine's clock is off (runtime_clock_skewed) no deadline has come, no
 * pod is stuck and no protection by do-not-disrupt has run out.
 *
 * Events: Evicted, Disrupted (pods), FailedDraining (node).
 */
#ifndef KARP_AGENT_DRAIN_H
#define KARP_AGENT_DRAIN_H

#include "agent/runtime.h"
#include "common/core/model.h"

#define DRAIN_STUCK_NS (60 * NS_PER_S)
#define DRAIN_SETTLE_NS (2 * NS_PER_S)
#define DRAIN_CRITICAL_PRIORITY 2000000000 /* Kubernetes keeps it and more for its own classes */

struct drain;

struct drain *drain_new(struct runtime *rt);
void drain_free(struct drain *d);
/* One round for the node: orders what is due and returns how many pods are waited for. deadline_ns:
 * wall, 0 = none. */
uint32_t drain_round(struct drain *d, const struct node *n, int64_t deadline_ns);
/* The wall clock for what happens because of an age; 0 while the clock is off. */
int64_t drain_now_ns(const struct drain *d);
/* The end of the node's claim by its annotation, wall; 0 = none. */
int64_t drain_deadline_ns(const struct nodeclaim *nc);

#endif
