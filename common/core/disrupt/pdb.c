/* pdb.c - see pdb.h. */
#include "pdb.h"

#include "common/base/str.h"

/* ---- which budget ---------------------------------------------------------------------------- */

/* The first budget of the namespace. */
static uint32_t first_of(const struct pdb_index *x, const char *ns)
{
    uint32_t lo = 0, hi = x->n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (str_cmp(x->v[mid].pdb->m.ns, ns) < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

struct pdb_hit pdb_of(const struct pdb_index *x, const struct pod *p)
{
    struct pdb_hit ret = {NULL, false};
    for (uint32_t i = first_of(x, p->m.ns); i < x->n && str_eq(x->v[i].pdb->m.ns, p->m.ns); i++) {
        if (!selector_matches(&x->v[i].pdb->sel, &p->labels)) {
            continue;
        }
        if (ret.pdb != NULL) {
            ret.more = true;
            break;
        }
        ret.pdb = &x->v[i];
    }
    return ret;
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

/* Percentages round up. */
static int64_t amount_of(struct pdb_amount a, int64_t of)
{
    return a.percent ? (a.value * of + 99) / 100 : a.value;
}

struct seen {
    int64_t pods, healthy;
};

static void count(const struct pdb_index *x, struct seen *seen, const struct pod *p)
{
    if (!pod_active(p)) {
        return;
    }
    for (uint32_t i = first_of(x, p->m.ns); i < x->n && str_eq(x->v[i].pdb->m.ns, p->m.ns); i++) {
        if (selector_matches(&x->v[i].pdb->sel, &p->labels)) {
            seen[i].pods++;
            seen[i].healthy += p->ready;
        }
    }
}

static void wish(struct pdb_state *st, int64_t pods)
{
    const struct pdb *b = st->pdb;
    bool counts_pods = b->min_available.set && !b->min_available.percent;
    st->expected = counts_pods || !b->has_status || b->expected <= 0 ? pods : b->expected;
    if (b->max_unavailable.set) {
        st->desired = st->expected - amount_of(b->max_unavailable, st->expected);
    } else {
        st->desired = amount_of(b->min_available, st->expected);
    }
    st->desired = st->desired < 0 ? 0 : st->desired;
}

static bool current(const struct pdb *b)
{
    return b->problem == NULL && b->has_status && b->observed_generation >= b->m.generation;
}

static void judge(struct pdb_state *st, const struct seen *seen)
{
    const struct pdb *b = st->pdb;
    wish(st, seen->pods);
    st->healthy = seen->healthy;
    if (!current(b)) {
        return;
    }
    int64_t own = st->expected > 0 ? st->healthy - st->desired : 0;
    st->permanent = st->expected > 0 && st->desired >= st->expected;
    st->allowed = b->allowed < own ? b->allowed : own;
    st->allowed = st->permanent || st->allowed < 0 ? 0 : st->allowed;
    st->met = st->desired > 0 && st->healthy >= st->desired && b->healthy >= b->desired;
}

void pdb_index_build(struct arena *a, const struct snapshot *s, struct pdb_index *ret)
{
    struct pdb_state *v = ARENA_NEW_N(a, struct pdb_state, s->n_pdbs);
    struct seen *seen = ARENA_NEW_N(a, struct seen, s->n_pdbs);
    *ret = (struct pdb_index){.v = v, .n = s->n_pdbs, .unknown = s->pdbs_unknown};
    for (uint32_t i = 0; i < s->n_pdbs; i++) {
        v[i].pdb = s->pdbs[i];
        v[i].name = arena_printf(a, "%s/%s", s->pdbs[i]->m.ns, s->pdbs[i]->m.name);
    }
    for (uint32_t i = 0; i < s->n_bound && s->n_pdbs > 0; i++) {
        count(ret, seen, s->bound[i].pod);
    }
    for (uint32_t i = 0; i < s->n_pods && s->n_pdbs > 0; i++) {
        count(ret, seen, s->pods[i]);
    }
    for (uint32_t i = 0; i < s->n_pdbs; i++) {
        judge(&v[i], &seen[i]);
    }
}

/* ---- one pod --------------------------------------------------------------------------------- */

enum reason_code pdb_check(const struct pdb_index *x, const struct pod *p, struct pdb_hit hit)
{
    if (x->unknown) {
        return REASON_PDB;
    }
    if (hit.pdb == NULL || p->phase == POD_PENDING) {
        return REASON_NONE;
    }
    if (hit.more) {
        return REASON_MultiplePDB;
    }
    if (!p->ready && current(hit.pdb->pdb) && (hit.pdb->pdb->always_allow || hit.pdb->met)) {
        return REASON_NONE;
    }
    if (hit.pdb->permanent) {
        return REASON_PDBPermanent;
    }
    return hit.pdb->allowed > 0 ? REASON_NONE : REASON_PDB;
}
