/*
 * held.h - which Holds an agent must have heard of: those that have said what they say for
 * HELD_GRACE_NS and go on for as long.
 */
#ifndef KARP_SIM_HELD_H
#define KARP_SIM_HELD_H

#include "tests/sim/kube/world.h"

#define HELD_GRACE_NS (5 * NS_PER_S)

struct sim_held;

struct sim_held *held_new(const struct sim_world *w);
void held_free(struct sim_held *h);
/* To be told of every change of a Hold. */
void held_change(struct sim_held *h, const struct sim_change *c);
/* The name of one that an agent's change of a claim is against: it creates the claim where launches
 * are held; it deletes it by its own decision (removal), or says of one that goes that it has
 * expired or is repaired, and the node was held then. NULL if there is none. */
const char *held_against(const struct sim_held *h, const struct sim_change *c, bool removal);
/* Some pool, or the cluster, is to launch nothing now. */
bool held_launches(const struct sim_held *h);

#endif
