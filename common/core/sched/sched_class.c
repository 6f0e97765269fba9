/* sched_class.c - classes and the ways a class can be asked for. */
#include "common/base/str.h"
#include "common/core/labels.h"
#include "common/core/want.h"
#include "sched_int.h"

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

static void claim_set_clear(struct claim_set *set)
{
    if (set->n > 0) {
        memset(set->words, 0, set->n_words * sizeof(*set->words));
        set->n = 0;
    }
}

/* ---- ways ------------------------------------------------------------------------------------ */

static uint32_t at_most(uint32_t n, uint32_t max)
{
    return n < max ? n : max;
}

/*
 * Ways in the order they are tried: every required term (with every alternative of the volumes)
 * under all preferences; then with one preference less, as Karpenter gives them up: preferred pod
 * affinity, preferred anti-affinity and preferred node affinity, each from the heaviest, then soft
 * spreads in their order, then PreferNoSchedule is tolerated. Of node affinity one preference at a
 * time is asked for, of the others all that are left. Karpenter drops required terms for good on
 * the way to the preferences, so that a term can be lost that would do without them; this order
 * loses none.
 */
enum { SOFT_AFFINITY, SOFT_ANTI, SOFT_SPREAD };

/* Its own or those by default. */
static uint32_t soft_spreads(const struct sched_class *k)
{
    uint32_t n = 0;
    for (uint32_t i = 0; k->topo != NULL && i < k->topo->n_uses; i++) {
        n += k->topo->uses[i].soft == TOPO_SOFT_SPREAD;
    }
    return n;
}

static void class_init(const struct sched *s, struct sched_class *k, const struct pod_class *cls)
{
    bool ignore = s->opt.preference == PREFERENCE_IGNORE;
    k->cls = cls;
    k->n_volume = k->volume && k->volume->need.n_alternatives ? k->volume->need.n_alternatives : 1;
    k->n_required = (cls->n_required ? at_most(cls->n_required, SCHED_MAX_REQUIRED) : 1);
    k->n_required = at_most(k->n_required, SCHED_MAX_REQUIRED / k->n_volume) * k->n_volume;
    uint32_t room = SCHED_MAX_WAYS / k->n_required; /* levels */
    room -= 1 + (s->any_prefer_taint && !ignore);
    k->n_preferred = ignore ? 0 : at_most(cls->n_preferred, room);
    room -= k->n_preferred;
    uint32_t soft[] = {cls->prefer_affinity.n, cls->avoid_affinity.n, soft_spreads(k)};
    uint32_t levels = 1 + (s->any_prefer_taint && !ignore) + k->n_preferred;
    for (size_t i = 0; i < ARRAY_LEN(soft); i++) {
        k->n_soft[i] = ignore ? 0 : at_most(soft[i], room);
        room -= k->n_soft[i];
        levels += k->n_soft[i];
    }
    k->n_asks = levels * k->n_required;
    k->asks = ARENA_NEW_N(s->a, struct sched_ask *, k->n_asks);
    k->changes = sched_topo_changes(k->topo);
}

static uint32_t take(uint32_t *level, uint32_t n)
{
    uint32_t ret = *level < n ? *level : n;
    *level -= ret;
    return ret;
}

/* What the level gives up; of preferences that no way looks at, all. */
static void give_up(const struct sched_class *k, uint32_t level, struct sched_ask *ask,
                    uint32_t *ret_preferred)
{
    const struct pod_class *cls = k->cls;
    ask->level.affinity = cls->prefer_affinity.n - k->n_soft[SOFT_AFFINITY];
    ask->level.anti = cls->avoid_affinity.n - k->n_soft[SOFT_ANTI];
    ask->level.spread = soft_spreads(k) - k->n_soft[SOFT_SPREAD];
    ask->level.affinity += take(&level, k->n_soft[SOFT_AFFINITY]);
    ask->level.anti += take(&level, k->n_soft[SOFT_ANTI]);
    *ret_preferred = take(&level, k->n_preferred);
    ask->level.spread += take(&level, k->n_soft[SOFT_SPREAD]);
    ask->tolerate_prefer = level > 0;
}

bool sched_ineffective(const struct sched *s, const struct pod_class *cls,
                       const struct sched_pool *p)
{
    for (uint32_t i = 0; i < s->snap->n_ineffective; i++) {
        const struct snapshot_ineffective *in = &s->snap->ineffective[i];
        if (in->cls == cls && str_eq(in->pool, p->in->np->m.name)) {
            return true;
        }
    }
    return false;
}

void sched_ask_forget_pools(const struct sched *s, const struct pod_class *cls,
                            struct sched_ask *ask)
{
    for (uint32_t p = 0; p < s->n_pools; p++) {
        ask->pool_refused[p] = sched_ineffective(s, cls, &s->pools[p]);
    }
}

struct sched_ask *sched_ask(struct sched *s, struct sched_class *k, uint32_t i)
{
    if (k->asks[i] != NULL) {
        return k->asks[i];
    }
    struct arena *a = s->a;
    s->a = s->keep;
    struct sched_ask *ask = ARENA_NEW(s->a, struct sched_ask);
    uint32_t term = i % k->n_required / k->n_volume, volume = i % k->n_volume, preferred;
    const struct pod_class *cls = k->cls;
    give_up(k, i / k->n_required, ask, &preferred);
    ask->tolerate_prefer = ask->tolerate_prefer || s->opt.preference == PREFERENCE_IGNORE;
    ask->impossible =
        !want_build(s->a, s->syms, cls, cls->n_required ? &cls->required[term] : NULL,
                    preferred < k->n_preferred ? &cls->preferred[preferred] : NULL, &ask->reqs);
    if (!ask->impossible && k->volume != NULL && k->volume->need.n_alternatives > 0) {
        ask->volume_reqs = &k->volume->need.alternatives[volume];
        ask->reqs = reqset_merge(s->a, s->syms, &ask->reqs, ask->volume_reqs);
        ask->impossible = ask->volume_conflict = !want_possible(&ask->reqs);
    }
    if (!ask->impossible) {
        const struct req *host = reqset_get(&ask->reqs, L_HOSTNAME);
        ask->pinned = host != NULL && !want_any_host(host);
        ask->claim_reqs = reqset_without(s->a, &ask->reqs, L_HOSTNAME);
    }
    ask->pool_refused = ARENA_NEW_N(s->a, bool, s->n_pools);
    sched_ask_forget_pools(s, cls, ask);
    ask->pool_refused_now = ARENA_NEW_N(s->a, bool, s->n_pools);
    k->asks[i] = ask;
    s->a = a;
    return ask;
}

void sched_ask_refresh(struct sched *s, const struct sched_class *k, struct sched_ask *ask)
{
    if (s->whatif != NULL) {
        whatif_refresh_ask(s, ask);
    }
    uint64_t state = k->changes ? sched_topo_state(s, k->topo) : 0;
    if (state == ask->state) {
        return;
    }
    ask->state = state;
    ask->next_node = 0;
    claim_set_clear(&ask->refused_now);
    memset(ask->pool_refused_now, 0, s->n_pools * sizeof(*ask->pool_refused_now));
}

/* ---- grouping -------------------------------------------------------------------------------- */

struct class_key {
    const struct pod_class *cls;
    const struct topo_class *topo;
    const struct volume_class *volume;
};

/* Open addressing over addresses; it only finds, so addresses order nothing. */
static uint32_t *slot_of(uint32_t *slots, uint32_t mask, const struct sched_class *classes,
                         const struct class_key *key)
{
    uint64_t h = (uint64_t)(uintptr_t)key->cls * UINT64_C(0x9E3779B97F4A7C15);
    h = (h ^ (uint64_t)(uintptr_t)key->topo) * UINT64_C(0x9E3779B97F4A7C15);
    h = (h ^ (uint64_t)(uintptr_t)key->volume) * UINT64_C(0x9E3779B97F4A7C15);
    uint32_t i = (uint32_t)(h >> 32) & mask;
    while (slots[i] != 0) {
        const struct sched_class *k = &classes[slots[i] - 1];
        if (k->cls == key->cls && k->topo == key->topo && k->volume == key->volume) {
            break;
        }
        i = (i + 1) & mask;
    }
    return &slots[i];
}

void sched_classes_begin(struct sched *s)
{
    s->class_slots = 16;
    while (s->class_slots < s->n_pods * 2) {
        s->class_slots *= 2;
    }
    s->by_key = ARENA_NEW_N(s->a, uint32_t, s->class_slots);
    s->class_of = ARENA_NEW_N(s->a, uint32_t, s->n_pods);
}

static uint32_t class_at(struct sched *s, uint32_t pod, bool counted)
{
    const struct pod *p = s->pods[pod];
    struct class_key key = {p->cls, sched_topo_class(s, pod, counted), sched_volume_class(s, p)};
    uint32_t *slot = slot_of(s->by_key, s->class_slots - 1, s->classes, &key);
    if (*slot == 0) {
        ARENA_GROW(s->a, s->classes, s->n_classes, s->cap_classes);
        struct sched_class *k = &s->classes[s->n_classes];
        k->topo = key.topo;
        k->volume = key.volume;
        class_init(s, k, key.cls);
        *slot = ++s->n_classes;
    }
    return *slot - 1;
}

bool sched_classes_step(struct sched *s, uint32_t some)
{
    for (uint32_t i = 0; i < some && s->classed < s->n_pods; i++, s->classed++) {
        uint32_t pod = s->classed, known = sched_topo_known(s, pod);
        bool counted = pod >= s->snap->n_pods; /* with what is bound */
        s->class_of[pod] = known != SCHED_NO_CLAIM ? known : class_at(s, pod, counted);
        if (known == SCHED_NO_CLAIM) {
            sched_topo_found(s, pod, s->class_of[pod]);
        } else if (!counted) {
            sched_topo_want(s, s->classes[known].topo, 1);
        }
    }
    return s->classed >= s->n_pods;
}
