/* labelset.c - see labelset.h */
#include "labelset.h"

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

bool labelset_room(struct arena *a, struct labelset_slots *s, uint32_t n)
{
    if (n * 2 < s->n) {
        return true;
    }
    s->n = s->n ? s->n * 4 : SLOTS_MIN;
    s->v = ARENA_NEW_N(a, uint32_t, s->n);
    return false;
}

/* ---- numbers ----------------------------------------------------------------------------------
 */

static bool alike(const struct pod *x, const struct pod *y)
{
    bool ret = x->labels.n == y->labels.n && str_eq(x->m.ns, y->m.ns);
    for (uint32_t i = 0; i < x->labels.n && ret; i++) {
        const struct kv *a = &x->labels.v[i], *b = &y->labels.v[i];
        ret = str_eq(a->key, b->key) && str_eq(a->value, b->value);
    }
    return ret;
}

static uint32_t *label_slot(const struct labelsets *t, const struct pod *p)
{
    const struct labelset_slots *s = &t->slots;
    uint32_t i = hash_labels(p) & (s->n - 1);
    while (s->v[i] != 0 && !alike(t->first[s->v[i] - 1], p)) {
        i = (i + 1) & (s->n - 1);
    }
    return &s->v[i];
}

uint32_t labelset_of(struct labelsets *t, const struct pod *p)
{
    bool ready = labelset_room(t->a, &t->slots, t->n);
    for (uint32_t i = 0; i < t->n && !ready; i++) {
        *label_slot(t, t->first[i]) = i + 1;
    }
    uint32_t *slot = label_slot(t, p);
    if (*slot == 0) {
        ARENA_GROW(t->a, t->first, t->n, t->cap);
        t->first[t->n++] = p;
        *slot = t->n;
    }
    return *slot - 1;
}
