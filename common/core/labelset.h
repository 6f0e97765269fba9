/*
 * labelset.h - pods of one namespace with the same labels, by number.
 *
 * Whom selectors select, and what matchLabelKeys stand for, follows from the number, so that it is
 * found out once for each. There are few: those of a workload's pods are the same, unless each pod
 * has a name among its labels.
 */
#ifndef KARP_CORE_LABELSET_H
#define KARP_CORE_LABELSET_H

#include "model.h"

/* Which of so many hash to the same place; grows. */
struct labelset_slots {
    uint32_t *v; /* numbers plus 1 */
    uint32_t n;
};

struct labelsets {
    struct arena *a;
    const struct pod **first; /* per number: the first pod of these labels */
    uint32_t n, cap;
    struct labelset_slots slots;
};

/* The number of the pod's namespace and labels; the next one if they are new. */
uint32_t labelset_of(struct labelsets *t, const struct pod *p);

/* Room for one more beside n; false if the slots had to be made anew and are empty. */
bool labelset_room(struct arena *a, struct labelset_slots *s, uint32_t n);

#endif
