/* improve_sieve.c - places that may still take a pod in a round of the replay; see improve_int.h.
 */
#include "improve_int.h"

#define WORDS_MAX (UINT64_C(1) << 20) /* of sizes and of troops, each */

/* ---- sizes ----------------------------------------------------------------------------------- */

/* What all kinds need at least: the size of those that there is no room to keep one for. */
static void find_least(const struct improve *m, int64_t *ret)
{
    for (uint32_t d = 0; d < m->n_dims; d++) {
        ret[d] = INT64_MAX;
        for (uint32_t i = 0; i < m->n_kinds; i++) {
            ret[d] = m->kinds[i].need[d] < ret[d] ? m->kinds[i].need[d] : ret[d];
        }
    }
}

static uint32_t *size_slot(const struct improve *m, const struct improve_sieve *v, uint32_t *slots,
                           uint32_t mask, const int64_t *need)
{
    uint64_t h = 0;
    for (uint32_t d = 0; d < m->n_dims; d++) {
        h = (h ^ (uint64_t)need[d]) * UINT64_C(0x9E3779B97F4A7C15);
    }
    uint32_t i = (uint32_t)(h >> 32) & mask;
    while (slots[i] != 0 && memcmp(v->sizes[slots[i] - 1], need, m->n_dims * sizeof(*need)) != 0) {
        i = (i + 1) & mask;
    }
    return &slots[i];
}

static void find_sizes(struct improve *m, struct improve_sieve *v)
{
    struct arena *a = m->s->a;
    uint64_t most = WORDS_MAX / (v->n_words + 1) + 1;
    uint32_t mask = 15;
    while (mask < m->n_kinds * 2) {
        mask = mask * 2 + 1;
    }
    v->cap_sizes = m->n_kinds < most ? m->n_kinds + 1 : (uint32_t)most;
    v->sizes = arena_alloc_n(a, v->cap_sizes, sizeof(*v->sizes));
    v->size_of = ARENA_NEW_N(a, uint32_t, m->n_kinds);
    find_least(m, v->sizes[v->n_sizes++]);
    struct arena_mark mark = arena_mark(a);
    uint32_t *slots = ARENA_NEW_N(a, uint32_t, mask + 1);
    for (uint32_t i = 0; i < m->n_kinds; i++) {
        uint32_t *slot = size_slot(m, v, slots, mask, m->kinds[i].need);
        if (*slot == 0 && v->n_sizes < v->cap_sizes) {
            memcpy(v->sizes[v->n_sizes], m->kinds[i].need, sizeof(*v->sizes));
            *slot = ++v->n_sizes;
        }
        v->size_of[i] = *slot == 0 ? 0 : *slot - 1;
    }
    arena_rewind(a, mark);
}

/* ---- troops ---------------------------------------------------------------------------------- */

void improve_sieve_begin(struct improve *m, struct improve_sieve *v, uint32_t n_places)
{
    *v = (struct improve_sieve){.n_places = n_places, .n_words = (n_places + 63) / 64};
    find_sizes(m, v);
    v->troops = ARENA_NEW_N(m->s->a, uint32_t, m->n_kinds);
}

uint32_t improve_sieve_troop(struct improve *m, struct improve_sieve *v, uint32_t kind,
                             uint32_t bay)
{
    for (uint32_t i = v->troops[kind]; i != 0; i = v->troop[i - 1].next) {
        if (v->troop[i - 1].bay == bay) {
            return i - 1;
        }
    }
    if ((uint64_t)(v->n_troops + 1) * v->n_words > WORDS_MAX) {
        return IMPROVE_NONE;
    }
    ARENA_GROW(m->s->a, v->troop, v->n_troops, v->cap_troops);
    v->troop[v->n_troops] = (struct improve_troop){kind, bay, v->troops[kind]};
    v->troops[kind] = ++v->n_troops;
    return v->n_troops - 1;
}

void improve_sieve_ready(struct improve *m, struct improve_sieve *v)
{
    v->open = ARENA_NEW_N(m->s->a, uint64_t, (size_t)v->n_sizes * v->n_words);
    v->take = ARENA_NEW_N(m->s->a, uint64_t, (size_t)v->n_troops * v->n_words);
    v->base = ARENA_NEW_N(m->s->a, uint64_t, (size_t)v->n_troops * v->n_words);
    memset(v->base, 0xff, (size_t)v->n_troops * v->n_words * sizeof(*v->base));
    v->fresh = ARENA_NEW_N(m->s->a, uint64_t, v->n_words);
    v->all = ARENA_NEW_N(m->s->a, uint64_t, v->n_words);
    memset(v->all, 0xff, v->n_words * sizeof(*v->all));
    if ((uint64_t)v->n_sizes * v->n_troops <= WORDS_MAX) {
        v->lost = ARENA_NEW_N(m->s->a, uint32_t, (size_t)v->n_sizes * v->n_troops);
    }
}

/* ---- a round --------------------------------------------------------------------------------- */

/* What rules about hosts have refused is asked again. */
void improve_sieve_round(const struct improve *m, struct improve_sieve *v, bool first)
{
    size_t bytes = v->n_words * sizeof(*v->open);
    memset(v->open, 0, v->n_sizes * bytes);
    for (uint32_t i = 0; i < v->n_troops; i++) {
        size_t at = (size_t)i * v->n_words;
        if (first || m->kinds[v->troop[i].kind].hosts) {
            memcpy(v->take + at, v->base + at, bytes);
        }
    }
}

void improve_sieve_open(struct improve_sieve *v, uint32_t place)
{
    bits_set(v->fresh, place);
}

void improve_sieve_opened(struct improve_sieve *v)
{
    v->time++;
    for (uint32_t i = 0; i < v->n_sizes; i++) {
        uint64_t *open = v->open + (size_t)i * v->n_words;
        for (uint32_t w = 0; w < v->n_words; w++) {
            open[w] |= v->fresh[w];
        }
    }
    memset(v->fresh, 0, v->n_words * sizeof(*v->fresh));
}

void improve_sieve_larger(struct improve_sieve *v, uint32_t place)
{
    v->time++;
    for (uint32_t i = 0; i < v->n_sizes; i++) {
        bits_set(v->open + (size_t)i * v->n_words, place);
    }
}

void improve_sieve_full(const struct improve *m, struct improve_sieve *v, uint32_t kind,
                        uint32_t place, const int64_t *left)
{
    uint32_t size = v->size_of[kind];
    if (!improve_fits(m->lanes, left, v->sizes[size])) {
        bits_clear(v->open + (size_t)size * v->n_words, place);
    }
}

void improve_sieve_refused(struct improve_sieve *v, uint32_t troop, uint32_t place)
{
    if (troop != IMPROVE_NONE) {
        bits_clear(v->take + (size_t)troop * v->n_words, place);
    }
}

/* Of size 0 are pods of several sizes. */
static uint32_t *lost_at(const struct improve_sieve *v, uint32_t kind, uint32_t troop)
{
    uint32_t size = v->size_of[kind];
    bool kept = v->lost != NULL && size != 0 && troop != IMPROVE_NONE;
    return kept ? &v->lost[(size_t)size * v->n_troops + troop] : NULL;
}

void improve_sieve_lost(struct improve_sieve *v, uint32_t kind, uint32_t troop)
{
    uint32_t *at = lost_at(v, kind, troop);
    if (at != NULL) {
        *at = v->time;
    }
}

bool improve_sieve_hopeless(const struct improve_sieve *v, uint32_t kind, uint32_t troop)
{
    const uint32_t *at = lost_at(v, kind, troop);
    return at != NULL && *at == v->time;
}
