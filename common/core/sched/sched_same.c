/* sched_same.c - see sched_same.h */
#include "sched_same.h"

#include "common/base/str.h"

#include <string.h>

#define MULTIPLY UINT64_C(0x9E3779B97F4A7C15)
#define SLOTS_MIN 64u

/* ---- hashes ---------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * MULTIPLY;
    return h ^ h >> 32;
}

static uint64_t mix_text(uint64_t h, const char *s)
{
    size_t n = strlen(s);
    h = mix(h, n);
    for (; n >= 8; n -= 8, s += 8) {
        uint64_t word;
        memcpy(&word, s, sizeof(word));
        h = mix(h, word);
    }
    uint64_t rest = 0;
    for (size_t i = 0; i < n; i++) {
        rest = rest << 8 | (unsigned char)s[i];
    }
    return mix(h, rest);
}

static uint32_t hash_labels(const struct pod *p)
{
    uint64_t h = mix_text(p->labels.n, p->m.ns);
    for (uint32_t i = 0; i < p->labels.n; i++) {
        h = mix_text(mix_text(h, p->labels.v[i].key), p->labels.v[i].value);
    }
    return (uint32_t)(h >> 32);
}

/* By address: it only finds, so addresses order nothing. */
static uint32_t hash_pair(const struct pod_class *cls, uint32_t labels)
{
    return (uint32_t)(mix(mix(labels, (uintptr_t)cls), 0) >> 32);
}

/* Room for one more; false if the slots had to be made anew and are empty. */
static bool slots_room(struct arena *a, struct same_slots *s, uint32_t n)
{
    if (n * 2 < s->n) {
        return true;
    }
    s->n = s->n ? s->n * 4 : SLOTS_MIN;
    s->v = ARENA_NEW_N(a, uint32_t, s->n);
    return false;
}

/* ---- labels ---------------------------------------------------------------------------------- */

static bool alike(const struct pod *x, const struct pod *y)
{
    bool ret = x->labels.n == y->labels.n && str_eq(x->m.ns, y->m.ns);
    for (uint32_t i = 0; i < x->labels.n && ret; i++) {
        const struct kv *a = &x->labels.v[i], *b = &y->labels.v[i];
        ret = str_eq(a->key, b->key) && str_eq(a->value, b->value);
    }
    return ret;
}

static uint32_t *label_slot(const struct same_pods *t, const struct pod *p)
{
    const struct same_slots *s = &t->label_slots;
    uint32_t i = hash_labels(p) & (s->n - 1);
    while (s->v[i] != 0 && !alike(t->labels[s->v[i] - 1], p)) {
        i = (i + 1) & (s->n - 1);
    }
    return &s->v[i];
}

uint32_t same_labels(struct same_pods *t, const struct pod *p)
{
    bool ready = slots_room(t->a, &t->label_slots, t->n_labels);
    for (uint32_t i = 0; i < t->n_labels && !ready; i++) {
        *label_slot(t, t->labels[i]) = i + 1;
    }
    uint32_t *slot = label_slot(t, p);
    if (*slot == 0) {
        ARENA_GROW(t->a, t->labels, t->n_labels, t->cap_labels);
        t->labels[t->n_labels++] = p;
        *slot = t->n_labels;
    }
    return *slot - 1;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static uint32_t *pair_slot(const struct same_pods *t, const struct pod_class *cls, uint32_t labels)
{
    const struct same_slots *s = &t->pair_slots;
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

uint32_t same_pair(struct same_pods *t, const struct pod *p, bool alone)
{
    uint32_t labels = same_labels(t, p);
    if (alone) {
        return pair_new(t, p->cls, labels, true);
    }
    bool ready = slots_room(t->a, &t->pair_slots, t->n_pairs);
    for (uint32_t i = 0; i < t->n_pairs && !ready; i++) {
        if (!t->pairs[i].alone) {
            *pair_slot(t, t->pairs[i].cls, t->pairs[i].labels) = i + 1;
        }
    }
    uint32_t *slot = pair_slot(t, p->cls, labels);
    if (*slot == 0) {
        *slot = pair_new(t, p->cls, labels, false) + 1;
    }
    return *slot - 1;
}
