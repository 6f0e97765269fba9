/* want.c - see want.h. */
#include "want.h"

bool want_negative(const struct req *r)
{
    if (r->has_gte || r->has_lte) {
        return false;
    }
    enum req_op op = req_op(r);
    return op == REQ_NOT_IN || op == REQ_DOES_NOT_EXIST;
}

/* An empty result is honest only if both sides are content without the label. */
static bool join(struct arena *a, const struct symtab *t, struct reqset *into,
                 const struct reqset *more)
{
    for (uint32_t i = 0; i < more->n; i++) {
        const struct req *y = &more->v[i];
        const struct req *x = reqset_get(into, y->key);
        if (x == NULL || (want_negative(x) && want_negative(y))) {
            continue;
        }
        if (!req_intersects(t, x, y)) {
            return false;
        }
    }
    *into = reqset_merge(a, t, into, more);
    return true;
}

bool want_build(struct arena *a, const struct symtab *t, const struct pod_class *cls,
                const struct affinity_term *required, const struct affinity_term *preferred,
                struct reqset *ret)
{
    struct reqset set = cls->selector;
    if (required != NULL && (required->invalid || !join(a, t, &set, &required->reqs))) {
        return false;
    }
    if (preferred != NULL && (preferred->invalid || !join(a, t, &set, &preferred->reqs))) {
        return false;
    }
    *ret = set;
    return true;
}

/* Is every value of have one that w allows? */
static bool covers(struct arena *scratch, const struct symtab *t, const struct req *w,
                   const struct req *have)
{
    if (!have->complement) {
        for (uint32_t i = 0; i < have->n; i++) {
            if (!req_has(t, w, have->values[i])) {
                return false;
            }
        }
        return have->n > 0 || want_negative(w);
    }
    struct arena_mark mark = arena_mark(scratch);
    struct req both = req_intersect(scratch, t, have, w);
    struct req alone = *have;
    both.min_values = alone.min_values = 0;
    bool ret = req_equal(&both, &alone);
    arena_rewind(scratch, mark);
    return ret;
}

bool want_met(struct arena *scratch, const struct symtab *t, const struct reqset *labels,
              const struct reqset *want)
{
    for (uint32_t i = 0; i < want->n; i++) {
        const struct req *w = &want->v[i];
        const struct req *have = reqset_get(labels, w->key);
        if (have == NULL ? !want_negative(w) : !covers(scratch, t, w, have)) {
            return false;
        }
    }
    return true;
}
