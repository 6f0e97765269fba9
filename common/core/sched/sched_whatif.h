/*
 * sched_whatif.h - the placement asked "what if these nodes were gone", again and again, on one
 * picture of the cluster; internal to the core.
 *
 * Life: begin; settle until true: pending pods and those of leaving nodes get their places, as in
 * an ordinary pass; start; then any number of trials. In a trial nodes leave one after the other
 * and their pods are placed on nodes that stay and on at most so many new claims; a mark can be
 * gone back to, and the trial as a whole is kept or dropped. What is kept is the picture that later
 * trials start from: nodes only fill up, claims of it are closed to others.
 *
 * Everything that a trial changes is in an undo log or copied at the mark; memory of a trial lies
 * in a work space of its own. What a class has learned about a node in the picture (too full, wrong
 * labels, rules about that host) is true for all later trials and is kept, so that each class is
 * tried against each node once; what depends on other pods elsewhere is forgotten between trials.
 * Nodes that leave count against their pool's limits until the trial is kept: for a while both are
 * there.
 *
 * Preferences about other pods are given up before a claim is opened (PREFERENCE_REASONABLE).
 */
#ifndef KARP_CORE_SCHED_WHATIF_H
#define KARP_CORE_SCHED_WHATIF_H

#include "sched_int.h"

struct whatif_mark {
    struct arena_mark mem;
    struct whatif_entry *log;
    uint32_t n_log, cap_log;
    uint32_t n_existing, n_refused, n_claims;
    struct sched_open **claims;
    uint32_t claims_cap, order_cap;
    uint32_t *order, *order_was;
    struct sched_open *claims_was;
    struct sched_pool *pools_was;
    struct sched_reservation *reservations_was;
};

/* moving: pods bound to nodes that may leave; their numbers follow those of the snapshot's. Only a
 * little lies in the arena, the rest in memory that whatif_end gives back. */
struct sched *whatif_begin(struct arena *a, const struct snapshot *snap,
                           const struct sched_options *o, const struct pod *const *moving,
                           uint32_t n_moving);
/* Works for at most `units` more; true when pending pods are placed. */
bool whatif_settle(struct sched *s, uint64_t units);
/* No trial before this. ranks: per node of the snapshot, numbers not much larger than nodes are
 * many; lower ones are filled first, equal ones by name. Nodes that are not initialized take
 * nothing. */
void whatif_start(struct sched *s, const uint32_t *ranks);
/* Gives everything back; results that are to stay were put into another arena. NULL is fine. */
void whatif_end(struct sched *s);
size_t whatif_held_bytes(const struct sched *s);

/* How to find the cheapest offering of some types; PRICE_UNKNOWN if there is none. */
typedef int64_t whatif_price_fn(void *ctx, const struct snapshot_pool *p, const uint64_t *types,
                                struct offer_mask offer);
/* From now on no claim of the trial may become dearer than it is. */
void whatif_freeze_prices(struct sched *s, whatif_price_fn *price, void *ctx);

/* Between trials: the node takes nothing, or does again. */
void whatif_hide(struct sched *s, const struct snapshot_node *n, bool hidden);

void whatif_begin_trial(struct sched *s, uint32_t max_new);
void whatif_allow_new(struct sched *s, uint32_t max_new);
struct whatif_mark whatif_mark(struct sched *s);
void whatif_undo(struct sched *s, const struct whatif_mark *m);
/* The node leaves; its pods (numbers, in the order of placing) look for places. False: one found
 * none (s->refused[s->result.n_refused - 1]), and the trial is to be gone back. */
bool whatif_leave(struct sched *s, const struct snapshot_node *n, const uint32_t *pods,
                  uint32_t n_pods);
/* The first half of it: nobody looks for a place yet. */
void whatif_remove(struct sched *s, const struct snapshot_node *n, const uint32_t *pods,
                   uint32_t n_pods);
/* The node as it stands; NULL if it takes nothing. */
struct sched_node *whatif_node(struct sched *s, const struct snapshot_node *n);
/* Pods were placed on the node in this trial. */
bool whatif_touched(const struct sched *s, const struct snapshot_node *n);
/* Makes the trial part of the picture. reserve: per claim, what it counts against limits. */
void whatif_keep(struct sched *s, const struct snapshot_node *const *left, uint32_t n_left,
                 const struct resources *reserve);

#endif
