/*
 * work.h - one write that ends a look: what nearly every controller does with its decision.
 *
 * A handler of a queue decides on one step, sends it with one of these and returns their verdict.
 * The answer ends the look at the key: success as OK (the store has the new state by then and its
 * subscribers have added the key again), a conflict after a moment (the newer version is on its
 * way), everything else by the queue's back-off or as the server asks; "it is gone" too, since the
 * watch may be minutes behind and the store shows the object until then. Failures
 * are logged once per look, at debug level when they are ordinary.
 */
#ifndef KARP_AGENT_WORK_H
#define KARP_AGENT_WORK_H

#include "agent/runtime.h"
#include "queue.h"

#include <jansson.h>

#define WORK_CONFLICT_NS (50 * NS_PER_MS)
#define WORK_REFUSED_NS (2 * NS_PER_S)
#define WORK_FORBIDDEN_NS (30 * NS_PER_S)

/* Runs before the look ends; resp as of the port. */
typedef void (*work_then_fn)(void *ctx, const char *key, const struct kube_resp *resp);

struct work {
    struct runtime *rt;
    struct queue *q;
    const char *key;
    work_then_fn then; /* may be NULL */
    void *ctx;
};

/* The patch's reference is taken. sub "" = none. rv NULL = no lock. Fails at once for an object
 * that is set aside (marker.h). */
enum queue_verdict work_patch(const struct work *w, enum kube_kind kind, const char *ns,
                              const char *name, const char *sub, json_t *patch, const char *rv);
/* With the UID as precondition. */
enum queue_verdict work_delete(const struct work *w, enum kube_kind kind, const char *ns,
                               const char *name, const char *uid);
/* And only in that version. */
enum queue_verdict work_delete_at(const struct work *w, enum kube_kind kind, const char *ns,
                                  const char *name, const char *uid, const char *rv);

/* How long to wait after this failure before the next look: > 0 overrides the back-off. */
int64_t work_retry_ns(const struct err *e);

#endif
