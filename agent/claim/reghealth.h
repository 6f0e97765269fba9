/*
 * reghealth.h - do a pool's nodes join? What its last launches say, and what follows from it.
 *
 * Told are claims that registered, that never launched, and that launched and never registered
 * (lifecycle.h). Claims that went for other reasons (no stock, a user's deletion, a Node that was
 * there and is gone) say nothing.
 *
 *  - NodeRegistrationHealthy on the NodePool, as Karpenter: over the last REGHEALTH_RING of them,
 *    False with at least half of the ring failed (reason RegistrationFailed, or why it was not
 *    launched), else True with a good one among them, else Unknown. A new generation of the pool or
 *    its class empties the ring. It stops nothing.
 *  - RegistrationFailing (ours): the last REGHEALTH_FAILING all launched and never registered. Each
 *    such instance was paid for in vain, so the pool then launches one claim at a time and at most
 *    one per registration timeout, until one registers or somebody changes the pool or its class.
 *    Other pools are not slowed. The condition's message is the newest failure, what usually is
 *    behind it, and the last lines of its console, if we may read it.
 *
 * A cache. A process starts from what the two conditions of the pool say, so a restart neither
 * forgets nor hurries: a slowed pool's next launch is counted from when the condition turned True.
 */
#ifndef KARP_AGENT_REGHEALTH_H
#define KARP_AGENT_REGHEALTH_H

#include "agent/runtime.h"
#include "agent/work/cond.h"

#define REGHEALTH_RING 4
#define REGHEALTH_FAILING 3
#define ANN_REGISTRATION_TIMEOUT "karp.dev/registration-timeout"

struct nodeclaim;
struct nodepool;
struct reghealth;

struct reghealth *reghealth_new(struct runtime *rt); /* subscribes to claims, pools and classes */
void reghealth_free(struct reghealth *h);

/* The claim's deletion was ordered because it came to nothing. */
void reghealth_failed(struct reghealth *h, const struct nodeclaim *nc);
/* What the machine of a claim that never registered last said on its console: part of the messages
 * while that is the newest failure. */
void reghealth_console(struct reghealth *h, const char *claim, const char *text);
/* How many claims the pool may have created now: -1 = any number, else 0 or 1. */
int64_t reghealth_launches_left(struct reghealth *h, const struct nodepool *np);
/* Puts the two conditions. Texts are borrowed until the next change of the pool's health. */
void reghealth_conditions(struct reghealth *h, const struct nodepool *np, struct cond_edit *e);
/* Told of a pool whose conditions have changed. One listener. */
void reghealth_listen(struct reghealth *h, void (*fn)(void *ctx, const char *pool), void *ctx);

/* How long a launched claim of the pool may take to register; np may be NULL. */
int64_t reghealth_timeout_ns(const struct agent_options *o, const struct nodepool *np);

#endif
