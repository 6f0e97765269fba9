/*
 * gc.h - garbage collection: instances without a NodeClaim, and NodeClaims whose instance is gone
 * (periods as Karpenter; the brakes are ours).
 *
 * Every GC_FAST_NS for the first GC_FAST_ROUNDS rounds, then every GC_SLOW_NS. A round lists EC2
 * first and then all NodeClaims, completely and by quorum, so that a claim made in between counts.
 *
 * An instance is an orphan if it has this cluster's name and UID in its tags, no claim of that list
 * has its id or (not yet launched) its claim UID, it has been there longer than GC_YOUNG_NS (an
 * instance whose claim has another one: longer than the launcher waits for late ones), and no Ready
 * Node has its providerID. More than max(1, 5%) of the listed instances at once: nothing is
 * terminated, karp_attention{code="GarbageCollectionHalted"} is set until it is no longer so, and
 * `status` shows which they are, since when and what they cost. Nor is anything terminated while
 * our clock is off.
 *
 * A registered claim is lost if its instance is not listed, two by-id answers GC_PROOF_NS apart say
 * that EC2 does not know it, and its Node is absent or not Ready. It is deleted.
 */
#ifndef KARP_AGENT_GC_H
#define KARP_AGENT_GC_H

#include "agent/runtime.h"

#define GC_FAST_NS (10 * NS_PER_S)
#define GC_FAST_ROUNDS 20
#define GC_SLOW_NS (2 * NS_PER_MIN)
#define GC_YOUNG_NS (30 * NS_PER_S)
#define GC_TWIN_NS (3 * NS_PER_MIN)
#define GC_PROOF_NS (5 * NS_PER_S)
#define GC_ORPHANS_PERCENT 5
#define GC_ORPHANS_NAMED 3u

struct gc;

struct gc *gc_new(struct runtime *rt);
void gc_free(struct gc *g);
void gc_start(struct gc *g);
/* Which orphans are not terminated, for people; NULL while it is not halted. g may be NULL. */
const char *gc_halted(const struct gc *g);

#endif
