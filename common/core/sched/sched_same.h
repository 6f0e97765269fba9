/*
 * sched_same.h - pods that rules about other pods cannot tell apart; internal to the scheduler.
 *
 * Pods of one class and number of labels (labelset.h) are a pair, and what concerns one concerns
 * all. So texts are put together once for each, not for each pod.
 */
#ifndef KARP_CORE_SCHED_SAME_H
#define KARP_CORE_SCHED_SAME_H

#include "common/core/labelset.h"

struct owner;

struct same_pair {
    const struct pod_class *cls;
    uint32_t labels;   /* their number */
    uint32_t class_at; /* of the scheduler's classes, plus 1; 0: not known, or each its own */
    const struct owner *owner; /* rules that the pods have (sched_topo.c) */
    bool alone;                /* one pod that is not asked about again */
};

struct same_pods {
    struct arena *a;
    struct same_pair *pairs;
    uint32_t n_pairs, cap_pairs;
    struct labelset_slots slots;
};

/* The number of the pair; of one that is alone always the next. */
uint32_t same_pair(struct same_pods *t, const struct pod_class *cls, uint32_t labels, bool alone);

#endif
