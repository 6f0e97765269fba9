/*
 * launcher.h - one instance per NodeClaim, whatever fails in between (outcomes as Karpenter's).
 *
 * A claim without Launched=True is launched by one CreateFleet whose ClientToken comes from the
 * claim's UID and its annotation karp.dev/launch-attempt. Asking again with the same attempt is
 * harmless: EC2 answers what it answered before. The attempt advances, under optimistic lock, only
 * when it is certain that the last one made no instance.
 *
 *  - A claim that this process has not created itself, or that was seen while it might not write,
 *    is first looked for by tag: a process before us may have launched it. Found: adopted. That a
 *    watch shows it as new means nothing: the watch may be behind what the last leader has done.
 *    Whose a claim is that a watch tells of while creations of ours are on their way shows when
 *    all of those have been answered: so long it waits.
 *  - For the same reason the attempt of such a claim is written, as the watch shows it, under
 *    optimistic lock before it is asked: an attempt that is no longer the claim's would be a second
 *    launch.
 *  - No answer (or IdempotentParameterMismatch): look by tag every LAUNCHER_LOOK_NS and adopt; only
 *    LAUNCHER_ABSENT_NS of consistent absence count as "there is none", for EC2 shows new
 *    instances late.
 *  - Nothing is launched before the claim has its finalizer, nor while a Hold with scope All is
 *    about its pool (leave/holds.h).
 *  - An instance that is known is remembered until the claim says so: labels first, then the status
 *    with Launched=True. A patch that fails is repeated; nothing is launched again.
 *  - NO_CAPACITY: Warning event InsufficientCapacityError, the claim is deleted (its pods are
 *    planned anew). Class not ready: deleted likewise. REFUSED: Launched=Unknown with reason and
 *    message, the attempt advances, back-off 1 s to 60 s.
 *  - A claim that is being deleted launches nothing any more; if something may have been launched
 *    it is looked for in the same way, and its providerID is written, so that the termination
 *    finds it.
 */
#ifndef KARP_AGENT_LAUNCHER_H
#define KARP_AGENT_LAUNCHER_H

#include "agent/runtime.h"
#include "common/core/model.h"

#define LAUNCHER_LOOK_NS (3 * NS_PER_S)
#define LAUNCHER_ABSENT_NS (60 * NS_PER_S)
#define LAUNCHER_POLL_NS (1 * NS_PER_S) /* waiting for the Lease, the cloud, a class */
#define LAUNCHER_BACKOFF_NS (1 * NS_PER_S)
#define LAUNCHER_BACKOFF_MAX_NS (60 * NS_PER_S)

struct launcher;

struct launcher *launcher_new(struct runtime *rt); /* sets rt->launcher */
void launcher_free(struct launcher *l);
void launcher_start(struct launcher *l);

/*
 * This process creates a claim, and has the answer: with its name and UID, there is no instance
 * yet; with NULL, nothing was created as far as is known. Every creation that is begun is answered
 * once, with the number that it was given.
 */
uint64_t launcher_creating(struct launcher *l);
void launcher_created(struct launcher *l, uint64_t creation, const char *name, const char *uid);

/*
 * May a claim that is being deleted go as far as launching is concerned? True if it has a
 * providerID (then the termination knows what to terminate) or certainly has no instance. False:
 * ask again after LAUNCHER_POLL_NS, or when the claim changes.
 */
bool launcher_settled(const struct runtime *rt, const struct nodeclaim *nc);

#endif
