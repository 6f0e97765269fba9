/*
 * claim.h - what several controllers ask about a NodeClaim, and the counters they share.
 */
#ifndef KARP_AGENT_CLAIM_H
#define KARP_AGENT_CLAIM_H

#include "agent/runtime.h"
#include "common/core/model.h"

/* Reasons of karpenter_nodeclaims_disrupted_total. */
#define DISRUPTED_EMPTY "empty"
#define DISRUPTED_LAUNCH_TIMEOUT "launch_timeout"
#define DISRUPTED_REGISTRATION_TIMEOUT "registration_timeout"

/* The condition of that type is True. */
static inline bool claim_is(const struct nodeclaim *nc, const char *condition)
{
    return condition_true(&nc->conditions, condition);
}

/* A label's value, "" if it has none. */
const char *claim_label(const struct runtime *rt, const struct nodeclaim *nc, sym key);
const char *node_label(const struct runtime *rt, const struct node *n, sym key);
/* $/h of its offering; PRICE_UNKNOWN while it has no instance, or no price. */
int64_t claim_price(const struct runtime *rt, const struct nodeclaim *nc);
/* nodeclaims_disrupted_total: somebody of ours has just ordered its deletion. */
void claim_count_disrupted(struct runtime *rt, const struct nodeclaim *nc, const char *reason);
/* karp_attention{code}: something a person should look at. */
void attention_set(struct runtime *rt, const char *code, bool on);
/* Does the node carry that taint? */
bool node_has_taint(const struct runtime *rt, const struct node *n, const char *key);

#endif
