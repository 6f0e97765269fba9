/*
 * ineffective.h - launches that help nobody stop.
 *
 * What the agent believes of a type may be wrong (memory, a device that never shows, a taint that
 * somebody adds): then the node it launched for a pod cannot take it, the next one neither, and so
 * on for ever. A launch has helped a class of pods when one of the class is bound to its node. It
 * counts against the class, in its pool, when its node has been initialized for the intents' window
 * or is gone again, has bound none of the class, and pods of the class still wait; not when its
 * Node was lost (lifecycle.h). With INEFFECTIVE_MAX of those, nothing is launched for the class in
 * that pool (REASON_LaunchIneffective), and the pool's condition LaunchIneffective is True. A pod
 * of the class being bound anywhere starts the count anew, and after each INEFFECTIVE_RETRY_NS one
 * more launch is tried: of a plan's orders that serve nobody else the first goes out. Others are
 * served.
 *
 * A cache: empty after a restart.
 */
#ifndef KARP_AGENT_INEFFECTIVE_H
#define KARP_AGENT_INEFFECTIVE_H

#include "agent/runtime.h"
#include "common/core/snapshot.h"
#include "order.h"

#define INEFFECTIVE_MAX 3
#define INEFFECTIVE_RETRY_NS (30 * NS_PER_MIN)
#define INEFFECTIVE_LOOK_NS (10 * NS_PER_S)

struct ineffective;

struct ineffective *ineffective_new(struct runtime *rt); /* subscribes to claims and pods */
void ineffective_free(struct ineffective *it);

/* NULL: go ahead. Else why not, for the log: all that it serves is held back, and not to be tried
 * now. */
const char *ineffective_refuses(const struct ineffective *it, const struct order *o);
/* The claim is being created: what it serves is tried, and held back again. */
void ineffective_take(struct ineffective *it, const struct order *o);
/* It was not created after all. */
void ineffective_give_back(struct ineffective *it, const struct order *o);
/* The order's claim was created under this name. */
void ineffective_launched(struct ineffective *it, const struct order *o, const char *claim);
/* Adds what must not be launched for to a decision's input; texts in a. */
void ineffective_put(struct ineffective *it, struct arena *a, struct snapshot_in *in);

/* Something is held back in that pool. */
bool ineffective_in(const struct ineffective *it, const char *pool);
/* Told of a pool for which that answer has changed. One listener. */
void ineffective_listen(struct ineffective *it, void (*fn)(void *ctx, const char *pool), void *ctx);

#endif
