/*
 * driftguard.h - drift that is not to be believed, or does not work, waits: two conditions of a
 * NodePool, which keep its drifted nodes where they are (candidate.h, gate DriftSuspect).
 *
 *  - DriftSuspect: more than a fifth of the pool's nodes (and more than one) drift, and neither the
 *    NodePool nor its EC2NodeClass was changed in the last DRIFTGUARD_CHANGE_NS: images that were
 *    replaced, a takeover, a mistake. True for DRIFTGUARD_WAIT_NS, in which somebody may look, or
 *    change one of the two, or ask for replacement himself; then False (reason Waited; or
 *    GenerationChanged) as long as the mass lasts, so that neither a restart nor the roll-out's own
 *    course raises it again. Absent where no mass drifts.
 *  - DriftHalted: DRIFTGUARD_FAILURES replacements of drifted nodes in a row came to nothing. True
 *    until the NodePool or its EC2NodeClass changes, or DRIFTGUARD_HALT_NS are over: then one is
 *    tried, and the next failure halts again. The message is the last failure.
 *
 * What the API server has is the memory: both conditions go on through a restart. Failures that did
 * not halt yet are forgotten with the process.
 */
#ifndef KARP_AGENT_DRIFTGUARD_H
#define KARP_AGENT_DRIFTGUARD_H

#include "agent/runtime.h"
#include "agent/work/cond.h"
#include "common/core/model.h"

#define DRIFTGUARD_SHARE 5 /* one part in so many */
#define DRIFTGUARD_CHANGE_NS NS_PER_H
#define DRIFTGUARD_WAIT_NS NS_PER_H
#define DRIFTGUARD_FAILURES 2
#define DRIFTGUARD_HALT_NS (4 * NS_PER_H)

struct driftguard;

struct driftguard *driftguard_new(struct runtime *rt);
void driftguard_free(struct driftguard *g);

/* So many of the pool's nodes drift. */
void driftguard_counted(struct driftguard *g, const struct nodepool *np, uint32_t drifted,
                        uint32_t nodes);
/* A drifted node of the pool was replaced, or its replacement came to nothing; why may be "". */
void driftguard_replaced(struct driftguard *g, const char *pool);
void driftguard_failed(struct driftguard *g, const char *pool, const char *node, const char *why);

/* Puts the two conditions; texts are good until the next call. */
void driftguard_conditions(struct driftguard *g, const struct nodepool *np, struct cond_edit *e);
/* Told of a pool whose conditions may have changed. One listener. */
void driftguard_listen(struct driftguard *g, void (*fn)(void *ctx, const char *pool), void *ctx);

#endif
