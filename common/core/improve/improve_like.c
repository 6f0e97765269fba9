/* improve_like.c - kinds that the replay takes for one; see improve_play.h. */
#include "improve_play.h"

#define MULTIPLY UINT64_C(0x9E3779B97F4A7C15)

/* ---- equal ----------------------------------------------------------------------------------- */

static bool same_reqs(const struct reqset *x, const struct reqset *y)
{
    bool ret = x->n == y->n;
    for (uint32_t i = 0; i < x->n && ret && x->v != y->v; i++) {
        ret = req_equal(&x->v[i], &y->v[i]);
    }
    return ret;
}

static bool same_terms(const struct pod_class *x, const struct pod_class *y)
{
    bool ret = x->n_required == y->n_required;
    for (uint32_t i = 0; i < x->n_required && ret; i++) {
        ret = x->required[i].invalid == y->required[i].invalid &&
              same_reqs(&x->required[i].reqs, &y->required[i].reqs);
    }
    return ret;
}

static bool same_tolerations(const struct tolerations *x, const struct tolerations *y)
{
    bool ret = x->n == y->n;
    for (uint32_t i = 0; i < x->n && ret; i++) {
        const struct toleration *a = &x->v[i], *b = &y->v[i];
        ret = a->key == b->key && a->value == b->value && a->exists == b->exists &&
              a->effect == b->effect;
    }
    return ret;
}

static bool same_limits(const struct host_rules *x, const struct host_rules *y)
{
    bool ret = x->n_limits == y->n_limits && x->at_home == y->at_home;
    for (uint32_t i = 0; i < x->n_limits && ret; i++) {
        ret = x->limits[i].group == y->limits[i].group && x->limits[i].n == y->limits[i].n;
    }
    return ret;
}

static bool alike(const struct improve *m, const struct improve_safe *r, uint32_t x, uint32_t y)
{
    const struct improve_kind *kx = &m->kinds[x], *ky = &m->kinds[y];
    const struct pod_class *cx = kx->k->cls, *cy = ky->k->cls;
    return kx->zonal == ky->zonal && same_limits(&r->rules[x], &r->rules[y]) &&
           (cx == cy || (same_reqs(&cx->selector, &cy->selector) && same_terms(cx, cy) &&
                         same_tolerations(&cx->tolerations, &cy->tolerations))) &&
           kx->k->volume == ky->k->volume;
}

/* ---- found again ----------------------------------------------------------------------------- */

static uint64_t mix(uint64_t h, uint64_t n)
{
    h = (h ^ n) * MULTIPLY;
    return h ^ h >> 29;
}

static uint64_t mix_reqs(uint64_t h, const struct reqset *reqs)
{
    for (uint32_t i = 0; i < reqs->n; i++) {
        h = mix(mix(h, reqs->v[i].key), reqs->v[i].n > 0 ? reqs->v[i].values[0] : 0);
    }
    return h;
}

static uint32_t hash_of(const struct improve *m, const struct improve_safe *r, uint32_t kind)
{
    const struct pod_class *c = m->kinds[kind].k->cls;
    const struct host_rules *rules = &r->rules[kind];
    uint64_t h = mix(mix(c->n_required, c->tolerations.n), rules->n_limits);
    h = mix_reqs(h, &c->selector);
    for (uint32_t i = 0; i < c->n_required; i++) {
        h = mix_reqs(h, &c->required[i].reqs);
    }
    for (uint32_t i = 0; i < rules->n_limits; i++) {
        h = mix(h, rules->limits[i].group);
    }
    return (uint32_t)(h >> 32);
}

void improve_like_find(struct improve *m, struct improve_safe *r)
{
    struct arena *a = m->s->a;
    r->like = ARENA_NEW_N(a, uint32_t, m->n_kinds);
    struct arena_mark mark = arena_mark(a);
    uint32_t mask = 15;
    while (mask < m->n_kinds * 2) {
        mask = mask * 2 + 1;
    }
    uint32_t *slots = ARENA_NEW_N(a, uint32_t, mask + 1);
    for (uint32_t i = 0; i < m->n_kinds; i++) {
        uint32_t at = hash_of(m, r, i) & mask;
        while (slots[at] != 0 && !alike(m, r, slots[at] - 1, i)) {
            at = (at + 1) & mask;
        }
        slots[at] = slots[at] == 0 ? i + 1 : slots[at];
        r->like[i] = slots[at] - 1;
    }
    arena_rewind(a, mark);
}
