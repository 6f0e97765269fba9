/*
 * lifecycle.h - a NodeClaim from its launch to its first pod.
 *
 * One look at a claim takes the first step that is due:
 *   finalizer       there before anything else (claims made by hand)
 *   launch timeout  5 min without Launched=True: the claim is deleted (liveness.c)
 *   registration    its Node joined: sync and register it (registration.c)
 *   registration    timeout, 15 min or as told: the claim is deleted (liveness.c)
 *   node lost       registered, but its Node is no more: Registered is Unknown again, and the
 *                   registration timeout runs anew
 *   node set back   registered, but its Node has the taint of one that is not, or lacks the label:
 *                   synced again
 *   initialization  the Node can take pods (initialization.c); later, its Node lacks the label:
 *                   labelled again once it can
 * Launching itself is launcher.h's, finalizing termination.h's. Every step reads the store and
 * writes one patch with optimistic lock, whose answer wakes the claim again; nothing is remembered.
 * Claims of other providers' classes are left alone.
 *
 * Conditions, reasons and the root Ready are Karpenter's.
 */
#ifndef KARP_AGENT_LIFECYCLE_H
#define KARP_AGENT_LIFECYCLE_H

#include "agent/runtime.h"
#include "agent/work/cond.h"
#include "agent/work/queue.h"

#define LAUNCH_TIMEOUT_NS (5 * NS_PER_MIN)
#define NODE_LOST_NS (5 * NS_PER_MIN) /* since it registered: until then gc.h may know more */

struct lifecycle;
struct nodeclaim;
struct node;

struct lifecycle *lifecycle_new(struct runtime *rt);
void lifecycle_free(struct lifecycle *l);
void lifecycle_start(struct lifecycle *l);

/* One look, as its steps see it. */
struct claim_look {
    struct runtime *rt;
    struct queue *q;
    const struct nodeclaim *nc;
    const struct node *node; /* the only one with its providerID, or NULL */
    uint32_t n_nodes;
    int64_t now_ns; /* wall */
};

/* Steps: true if the look ends with *ret. */
bool registration_step(const struct claim_look *look, enum queue_verdict *ret);
bool initialization_step(const struct claim_look *look, enum queue_verdict *ret);
bool initialization_again_step(const struct claim_look *look, enum queue_verdict *ret);
bool liveness_launch_step(const struct claim_look *look, enum queue_verdict *ret);
bool liveness_registration_step(const struct claim_look *look, enum queue_verdict *ret);

/* Writes the edited conditions with Ready, and status.nodeName unless NULL; false if nothing
 * changes. then (may be NULL) runs with the answer, ctx is the runtime. */
typedef void (*lifecycle_then_fn)(void *ctx, const char *key, const struct kube_resp *resp);
bool lifecycle_write(const struct claim_look *look, struct cond_edit *e, const char *node_name,
                     lifecycle_then_fn then, enum queue_verdict *ret);

#endif
