/*
 * brake.h - what keeps a wrong decision from becoming a large bill: the last look before a create.
 *
 *  - --max-launches-per-minute: a token bucket, full at start.
 *  - --max-cost-per-hour: no launch lifts the managed fleet's price above it. A running node counts
 *    with its offering's price, a claim on its way with its cheapest offering's.
 *  - The pool's limits, read again from the newest pool and the newest store (Karpenter re-reads
 *    them too): a claim on its way counts with the largest capacity of its types, and what replaces
 *    another together with it as command.h says.
 *  - A pool whose nodes do not join launches one at a time (reghealth.h).
 *  - A Hold with scope All (leave/holds.h) that came since the decision.
 * A brake that holds sets karp_attention{code="LaunchBrake"}; the pods are tried again later.
 */
#ifndef KARP_AGENT_BRAKE_H
#define KARP_AGENT_BRAKE_H

#include "agent/runtime.h"
#include "order.h"

struct brake;

struct brake *brake_new(struct runtime *rt); /* subscribes to claims */
void brake_free(struct brake *b);

/* Launches that the bucket holds now; -1 = any number. */
int64_t brake_launches_left(struct brake *b);
/* NULL: go ahead. Else why not, for the log. */
const char *brake_refuses(struct brake *b, const struct order *o);
/* The pool's claims exceed its limits as they are. */
bool brake_over_limits(struct brake *b, const char *pool);
/* The claim is being created: takes from the bucket. */
void brake_take(struct brake *b);
/* It was created under this name: counts until it is launched or gone. */
void brake_created(struct brake *b, const char *claim, const struct order *o);
/* It was not created after all. */
void brake_give_back(struct brake *b);

#endif
