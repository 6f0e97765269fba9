/* sched_same.c - see sched_same.h */
#include "sched_same.h"

#define MULTIPLY UINT64_C(0x9E3779B97F4A7C15)

/* By address: it only finds, so addresses order nothing. */
static uint32_t hash_pair(const struct pod_class *cls, uint32_t labels)
{
    uint64_t h = (((uintptr_t)cls >> 4) + labels * UINT64_C(0x1000003)) * MULTIPLY;
    return (uint32_t)(h >> 32);
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static uint32_t *pair_slot(const struct same_pods *t, const struct pod_class *cls, uint32_t labels)
{
    const struct labelset_slots *s = &t->slots;
    uint32_t i = hash_pair(cls, labels) & (s->n - 1);
    while (s->v[i] != 0 &&
           (t->pairs[s->v[i] - 1].cls != cls || t->pairs[s->v[i] - 1].labels != labels)) {
        i = (i + 1) & (s->n - 1);
    }
    return &s->v[i];
}

static uint32_t pair_new(struct same_pods *t, const struct pod_class *cls, uint32_t labels,
                         bool alone)
{
    ARENA_GROW(t->a, t->pairs, t->n_pairs, t->cap_pairs);
    t->pairs[t->n_pairs] = (struct same_pair){.cls = cls, .labels = labels, .alone = alone};
    return t->n_pairs++;
}

uint32_t same_pair(struct same_pods *t, const struct pod_class *cls, uint32_t labels, bool alone)
{
    if (alone) {
        return pair_new(t, cls, labels, true);
    }
    bool ready = labelset_room(t->a, &t->slots, t->n_pairs);
    for (uint32_t i = 0; i < t->n_pairs && !ready; i++) {
        if (!t->pairs[i].alone) {
            *pair_slot(t, t->pairs[i].cls, t->pairs[i].labels) = i + 1;
        }
    }
    uint32_t *slot = pair_slot(t, cls, labels);
    if (*slot == 0) {
        *slot = pair_new(t, cls, labels, false) + 1;
    }
    return *slot - 1;
}
