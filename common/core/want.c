/* want.c - see want.h. */
#include "want.h"

/* Rules that contradict each other leave a label that must be there no value. */
static bool impossible(const struct req *r)
{
    return req_is_empty(r) && !req_negative(r);
}

bool want_possible(const struct reqset *set)
{
    for (uint32_t i = 0; i < set->n; i++) {
        if (impossible(&set->v[i])) {
            return false;
        }
    }
    return true;
}

const struct req *want_impossible(const struct symtab *t, const struct reqset *set)
{
    const struct req *ret = NULL;
    for (uint32_t i = 0; i < set->n; i++) {
        if (impossible(&set->v[i]) && (ret == NULL || sym_cmp(t, set->v[i].key, ret->key) < 0)) {
            ret = &set->v[i];
        }
    }
    return ret;
}

bool want_build(struct arena *a, const struct symtab *t, const struct pod_class *cls,
                const struct affinity_term *required, const struct affinity_term *preferred,
                struct reqset *ret)
{
    const struct affinity_term *terms[] = {required, preferred};
    *ret = cls->selector;
    for (size_t i = 0; i < ARRAY_LEN(terms); i++) {
        if (terms[i] != NULL && terms[i]->invalid) {
            return false;
        }
        if (terms[i] != NULL) {
            *ret = reqset_merge(a, t, ret, &terms[i]->reqs);
        }
    }
    return want_possible(ret);
}

bool want_any_host(const struct req *host)
{
    return host->complement && !host->has_gte && !host->has_lte;
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
        return have->n > 0 || req_negative(w);
    }
    struct arena_mark mark = arena_mark(scratch);
    struct req both = req_intersect(scratch, t, have, w);
    bool ret = req_equal(&both, have);
    arena_rewind(scratch, mark);
    return ret;
}

bool want_met(struct arena *scratch, const struct symtab *t, const struct reqset *labels,
              const struct reqset *want)
{
    for (uint32_t i = 0; i < want->n; i++) {
        const struct req *w = &want->v[i];
        const struct req *have = reqset_get(labels, w->key);
        if (have == NULL ? !req_negative(w) : !covers(scratch, t, w, have)) {
            return false;
        }
    }
    return true;
}
