/* sched_class.c - classes and the ways a class can be asked for. */
#include "labels.h"
#include "sched_int.h"
#include "want.h"

/* ---- sets of claims -------------------------------------------------------------------------- */

bool claim_set_has(const struct claim_set *set, uint32_t claim)
{
    return claim / 64 < set->n_words && bits_test(set->words, claim);
}

void claim_set_add(struct arena *a, struct claim_set *set, uint32_t claim)
{
    if (claim / 64 >= set->n_words) {
        uint32_t n = set->n_words ? set->n_words * 2 : 1;
        while (claim / 64 >= n) {
            n *= 2;
        }
        uint64_t *words = ARENA_NEW_N(a, uint64_t, n);
        if (set->n_words > 0) {
            memcpy(words, set->words, set->n_words * sizeof(*words));
        }
        set->words = words;
        set->n_words = n;
    }
    set->n += !bits_test(set->words, claim);
    bits_set(set->words, claim);
}

/* ---- ways ------------------------------------------------------------------------------------ */

static uint32_t at_most(uint32_t n, uint32_t max)
{
    return n < max ? n : max;
}

/*
 * Ways in the order they are tried: every required term with the heaviest preference, then with the
 * next, then with none, then tolerating PreferNoSchedule. Karpenter drops required terms for good
 * on the way to the preferences, so that a term can be lost that would do without them; this order
 * loses none.
 */
static void class_init(const struct sched *s, struct sched_class *k, const struct pod_class *cls)
{
    bool ignore = s->opt.preference == PREFERENCE_IGNORE;
    k->cls = cls;
    k->n_required = cls->n_required ? at_most(cls->n_required, SCHED_MAX_REQUIRED) : 1;
    uint32_t last = 1 + (s->any_prefer_taint && !ignore); /* levels without a preference */
    k->n_preferred = ignore ? 0 : at_most(cls->n_preferred, SCHED_MAX_WAYS / k->n_required - last);
    uint32_t levels = k->n_preferred + last;
    k->n_asks = levels * k->n_required;
    k->asks = ARENA_NEW_N(s->a, struct sched_ask *, k->n_asks);
}

struct sched_ask *sched_ask(struct sched *s, struct sched_class *k, uint32_t i)
{
    if (k->asks[i] != NULL) {
        return k->asks[i];
    }
    struct sched_ask *ask = ARENA_NEW(s->a, struct sched_ask);
    uint32_t level = i / k->n_required, term = i % k->n_required;
    const struct pod_class *cls = k->cls;
    ask->impossible =
        !want_build(s->a, s->syms, cls, cls->n_required ? &cls->required[term] : NULL,
                    level < k->n_preferred ? &cls->preferred[level] : NULL, &ask->reqs);
    ask->tolerate_prefer = level > k->n_preferred || s->opt.preference == PREFERENCE_IGNORE;
    if (!ask->impossible) {
        const struct req *host = reqset_get(&ask->reqs, L_HOSTNAME);
        ask->pinned = host != NULL && !want_any_host(host);
        ask->claim_reqs = reqset_without(s->a, &ask->reqs, L_HOSTNAME);
    }
    ask->pool_refused = ARENA_NEW_N(s->a, bool, s->n_pools);
    k->asks[i] = ask;
    return ask;
}

/* ---- grouping -------------------------------------------------------------------------------- */

/* Open addressing over the addresses of classes; it only finds, so addresses order nothing. */
static uint32_t *slot_of(uint32_t *slots, uint32_t mask, const struct sched_class *classes,
                         const struct pod_class *cls)
{
    uint64_t h = (uint64_t)(uintptr_t)cls * UINT64_C(0x9E3779B97F4A7C15);
    uint32_t i = (uint32_t)(h >> 32) & mask;
    while (slots[i] != 0 && classes[slots[i] - 1].cls != cls) {
        i = (i + 1) & mask;
    }
    return &slots[i];
}

void sched_classes_init(struct sched *s)
{
    uint32_t n = s->snap->n_pods, size = 16, cap = 0;
    while (size < n * 2) {
        size *= 2;
    }
    uint32_t *slots = ARENA_NEW_N(s->a, uint32_t, size);
    s->class_of = ARENA_NEW_N(s->a, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) {
        const struct pod_class *cls = s->snap->pods[i]->cls;
        uint32_t *slot = slot_of(slots, size - 1, s->classes, cls);
        if (*slot == 0) {
            ARENA_GROW(s->a, s->classes, s->n_classes, cap);
            class_init(s, &s->classes[s->n_classes], cls);
            *slot = ++s->n_classes;
        }
        s->class_of[i] = *slot - 1;
    }
}
