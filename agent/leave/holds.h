/*
 * holds.h - Holds (core/consent/hold.h) are obeyed: who may not leave now, and which pools launch
 * nothing.
 *
 * Whoever removes a node by our own decision asks hold_stops, when he decides and once more right
 * before the deletion is sent: emptiness, replacer, expiration, depart.h's orders of theirs, and
 * command.h at every look, so that a Hold which comes before the deletion undoes the command.
 * Interruption handling and what others delete never ask. A pool that hold_launches names is closed
 * for pods (poolgate.h), gets no NodeClaim (brake.h), and what was created for it is not launched
 * yet (launcher.h).
 *
 * A Hold counts with the watch event that shows it, and ends by the agent's clock. While the clocks
 * differ (runtime.h) one that has run out counts on. Until Holds were listed once, and when nothing
 * has been heard of them for a minute, every node is held, but launches go on by what is known. A
 * server that does not know the kind has none; the watch begins within half a minute of its
 * installation.
 *
 * Of the objects themselves: those that have run out are deleted (under the version that was read,
 * so that one which is prolonged stays), those that cannot be read in full have an Event
 * InvalidHold.
 */
#ifndef KARP_AGENT_HOLDS_H
#define KARP_AGENT_HOLDS_H

#include "agent/runtime.h"
#include "common/core/snapshot.h"

#define HOLDS_LOOK_NS (5 * NS_PER_S)
#define HOLDS_BACKOFF_NS (1 * NS_PER_S)
#define HOLDS_BACKOFF_MAX_NS (1 * NS_PER_MIN)

struct holds;

/* NULL, or what stops every voluntary end of the node: "hold night by alice until …: reason" of the
 * first by name. Good until the store changes, or its thaw. */
const char *hold_stops(struct runtime *rt, const struct nodeclaim *nc);
/* The same as candidate_facts.held (core/disrupt/candidate.h). */
const char *hold_stops_node(struct runtime *rt, const struct snapshot_node *n);
/* NULL, or what keeps new nodes from the pool (name; "" = of no pool). */
const char *hold_launches(struct runtime *rt, const char *pool);

struct holds *holds_new(struct runtime *rt);
void holds_free(struct holds *h);
void holds_start(struct holds *h);

#endif
