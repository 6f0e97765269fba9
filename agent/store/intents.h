/*
 * intents.h - which pending pods are planned where: the memory between a plan and its binding.
 *
 * kube-scheduler binds pods, the agent only expects it to. Until it happens
 *  - a pod that is planned is not planned again (its room is taken off its target instead),
 *  - a node whose pods are still on the way is not empty.
 * A target is a NodeClaim's name, or a Node's name where there is no claim. An intent ends when the
 * pod is bound, gone or no longer to be placed; when the target is gone, is leaving or has lost its
 * Node; when it is ready and what is bound to it leaves the pod no room; or when it has been
 * initialized (or is an old node) for the window and the pod still waits: then the plan was wrong
 * and the pod is planned anew.
 *
 * A cache: lost with the process, pods are then simply planned again, onto claims in flight first.
 */
#ifndef KARP_AGENT_INTENTS_H
#define KARP_AGENT_INTENTS_H

#include "agent/runtime.h"
#include "common/core/snapshot.h"

#define INTENTS_MAX 500000

struct intents;

struct intents *intents_new(struct runtime *rt); /* subscribes to the store */
void intents_free(struct intents *it);
/* key "ns/name". Replaces an older intent of the pod. */
void intents_put(struct intents *it, const char *target, const char *pod_key, const char *pod_uid);
/* The pod has a living intent; drops one that has ended. */
bool intents_planned(struct intents *it, const struct pod *p);
/* Where a pod that is to be placed has its place: nowhere yet, on a target that is still coming up,
 * or on one that can take it. */
enum intents_place { INTENTS_NOWHERE, INTENTS_COMING, INTENTS_READY };
enum intents_place intents_place(struct intents *it, const struct pod *p);
/* Pods that are still expected on the target (claim or node name). */
uint32_t intents_expected(struct intents *it, const char *target);
/* Their requests in sum, in a. */
struct resources intents_requests(struct intents *it, const char *target, struct arena *a);
/* Every pod with a living intent and its target, in a. */
const struct snapshot_planned *intents_all(struct intents *it, struct arena *a, uint32_t *ret_n);
/* How long an initialized target is waited for: as Karpenter's nomination window. */
int64_t intents_window_ns(const struct runtime *rt);

#endif
