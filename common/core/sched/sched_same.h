/*
 * sched_same.h - pods that rules about other pods cannot tell apart; internal to the scheduler.
 *
 * Pods of one namespace with the same labels have a number: whom selectors select, and what
 * matchLabelKeys stand for, follows from it. Pods of one number and class are a pair, and what
 * concerns one concerns all. So texts are put together once for each, not for each pod.
 */
#ifndef KARP_CORE_SCHED_SAME_H
#define KARP_CORE_SCHED_SAME_H

#include "common/core/model.h"

struct owner;
struct groups;

struct same_pair {
    const struct pod_class *cls;
    uint32_t labels;   /* their number */
    uint32_t class_at; /* of the scheduler's classes, plus 1; 0: not known, or each its own */
    const struct owner *owner; /* rules that the pods have (sched_topo.c) */
    bool alone;                /* one pod that is not asked about again */
};

/* Which of so many hash to the same place; grows. */
struct same_slots {
    uint32_t *v; /* numbers plus 1 */
    uint32_t n;
};

struct same_pods {
    struct arena *a;
    const struct pod **labels; /* per number: the first pod of these labels */
    uint32_t n_labels, cap_labels;
    struct same_pair *pairs;
    uint32_t n_pairs, cap_pairs;
    struct same_slots label_slots, pair_slots;
};

/* The number of the pod's namespace and labels; the next one if they are new. */
uint32_t same_labels(struct same_pods *t, const struct pod *p);
/* The number of the pod's pair; of one that is alone always the next. */
uint32_t same_pair(struct same_pods *t, const struct pod *p, bool alone);

#endif
