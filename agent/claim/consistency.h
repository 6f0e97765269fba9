/*
 * consistency.h - is the machine what was ordered?
 *
 * Every CONSISTENCY_PERIOD_NS the Node of each initialized claim is held against it, as Karpenter:
 * of every resource that the claim's pods ask for, the Node must have at least CONSISTENCY_PERCENT
 * of the capacity that was expected. If not, condition ConsistentStateFound is False
 * (ConsistencyCheckFailed) and the claim has an Event FailedConsistencyCheck. It tells, and nothing
 * follows from it.
 */
#ifndef KARP_AGENT_CONSISTENCY_H
#define KARP_AGENT_CONSISTENCY_H

#include "agent/runtime.h"
#include "common/core/model.h"

#define CONSISTENCY_PERIOD_NS (10 * NS_PER_MIN)
#define CONSISTENCY_PERCENT 90
#define CONSISTENCY_TEXT 256

struct consistency;

struct consistency *consistency_new(struct runtime *rt);
void consistency_free(struct consistency *c);
void consistency_start(struct consistency *c);

/* False: the node lacks something, *text says what. */
bool consistency_holds(const struct symtab *t, const struct nodeclaim *nc, const struct node *n,
                       char text[CONSISTENCY_TEXT]);

#endif
