/*
 * improve.h - cheaper new capacity than first fit gives, never dearer.
 *
 * Works on the claims of a pass that has placed its pods. Claims that differ in nothing but their
 * pods (pool, requirements, zones, capacity types) exchange them while that makes the sum of their
 * prices less: a pod goes where there is room, two change places, a claim is emptied; and where the
 * pool says Cheapest, a claim becomes two (improve_split.c), else there are never more claims than
 * before. Nothing that the pass decided otherwise is touched: a pod stays with its pool, its zone,
 * the preferences that it was placed with, on new capacity. Rules about hosts hold in the order of
 * the pods' turns.
 *
 * Left alone are claims of pools that are not to be made cheaper, of reserved capacity or with
 * minValues, volumes, host ports or extended resources, and pods that rules tie to others on their
 * host. A pool's limits are kept because no claim comes to reserve more than before.
 *
 * That is the tight plan. It is worth what kube-scheduler makes of it, so it is played through, and
 * nodes are made larger until every pod finds one, or no more would be saved (improve_safe.c). If
 * then more pods would go on waiting than with the claims as they were, they stay as they were.
 *
 * The work is bounded by a budget per pod, and cut into steps; slicing does not change the result.
 */
#ifndef KARP_CORE_IMPROVE_H
#define KARP_CORE_IMPROVE_H

#include <stdbool.h>
#include <stdint.h>

struct sched;
struct improve;

struct improve *improve_begin(struct sched *s);
/* Returns the units used; *ret_done when there is nothing left to do. Then the claims are as they
 * should be. */
uint64_t improve_step(struct improve *m, bool *ret_done);
/* At the end: how much less the claims cost than before, by the tight plan or as they are now. */
int64_t improve_saved_pusd_h(const struct improve *m, bool tight);
/* Pods that the scheduler would have found no node for, had the tight plan been left as it was. */
uint32_t improve_stranded(const struct improve *m);

#endif
