/*
 * creator.h - orders become NodeClaims: the one place that creates them.
 *
 * An order is sent when its turn comes, at most CREATOR_OPEN_MAX at once, and only if no brake
 * holds it (brake.h, asked at that moment). What was created is remembered before its asker is
 * told: the brake counts it, its pods are planned there (intents.h), the launcher knows it.
 * Karpenter's nodeclaims_created_total counts it.
 *
 * `done` runs once per order, never before creator_send has returned: with the claim's name, or
 * with NULL and why not. The order is good for the call; it belongs to the creator and goes then.
 */
#ifndef KARP_AGENT_CREATOR_H
#define KARP_AGENT_CREATOR_H

#include "agent/runtime.h"
#include "order.h"

#define CREATOR_OPEN_MAX 50
#define CREATOR_ORDERS_MAX 100000

struct creator;

typedef void (*creator_fn)(void *arg, const struct order *o, const char *claim, const char *why);

struct creator *creator_new(struct runtime *rt);
void creator_free(struct creator *c); /* nobody is told any more */
void creator_start(struct creator *c);

/* Takes the order. reason: label of nodeclaims_created_total; a literal. */
void creator_send(struct creator *c, struct order *o, const char *reason, creator_fn done,
                  void *arg);
/* Launches that the brake has left now; -1 = any number. */
int64_t creator_launches_left(struct creator *c);
/* The pool's claims exceed its limits. */
bool creator_over_limits(struct creator *c, const char *pool);

#endif
