/*
 * depart.h - a NodeClaim must go, whatever budgets say: its machine is taken away, its time is up,
 * or its replacements are there.
 *
 *   say       why, for the history (why.h)
 *   delete    the claim, with its UID as precondition: from here on termination.h drains it, and
 *             its pods are planned elsewhere at the same time
 *   deadline  with `now`: annotation karpenter.sh/nodeclaim-termination-timestamp = now, so that
 *             nothing waits for pods (as Karpenter for unhealthy instances; it does so first, which
 *             leaves a live claim with a deadline in the past if the deletion never comes)
 *   mark      with `mark`: condition DisruptionReason=True with that reason. It is what says after
 *             a restart that the machine ends by itself (notice_mark_ends_soon), so that pods which
 *             cannot be evicted get a new place as well (store_must_move)
 *
 * The deletion comes before the mark: minutes count, and a claim that goes unmarked loses little.
 * With `urgent` it comes before everything else, and the mark tells the history.
 * Only a mark of our own decision (command.h) is replaced first: the deletion is not its. Each step
 * is one write that is tried until it is accepted (back-off from 250 ms to 5 s); an order is
 * settled when all are, or when the claim is gone. When this agent may no longer write, orders are
 * dropped unsettled, and so is one that its `stops` objects to before the deletion is accepted: a
 * Hold (holds.h), a decision that was taken back. Whoever gave them knows how they come again.
 *
 * Counted in nodeclaims_disrupted_total; Event TerminatingOnInterruption for interruptions.
 */
#ifndef KARP_AGENT_DEPART_H
#define KARP_AGENT_DEPART_H

#include "agent/runtime.h"
#include "common/core/model.h"

#define DEPART_BACKOFF_NS (250 * NS_PER_MS)
#define DEPART_BACKOFF_MAX_NS (5 * NS_PER_S)

struct depart;

/* Literals. */
struct departure {
    const char *metric; /* reason of nodeclaims_disrupted_total */
    const char *mark;   /* NULL: none */
    bool interruption;  /* says TerminatingOnInterruption */
    bool now;           /* nothing waits */
    bool urgent;        /* deleted before anything is said; whoever orders it will do so again */
    const char *code;   /* in the history; NULL: the mark */
    /* Asked until the deletion is accepted: NULL, or why the claim stays. May be NULL itself. */
    const char *(*stops)(struct runtime *rt, const struct nodeclaim *nc);
};

/* settled: every step was accepted, or the claim is no more. May be NULL. */
typedef void (*depart_fn)(void *ctx, const char *claim, bool settled);

struct depart *depart_new(struct runtime *rt, const char *name, depart_fn end, void *ctx);
void depart_free(struct depart *d);
/* An order for a claim that has one already takes its place, unless it says less. */
void depart_order(struct depart *d, const struct nodeclaim *nc, const struct departure *why);
bool depart_has(const struct depart *d, const char *claim);

#endif
