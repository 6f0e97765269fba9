/* consolidate_keep.c - from a trial to a step of the plan. */
#include "common/base/sort.h"
#include "common/base/str.h"
#include "common/core/labels.h"
#include "common/core/plan.h"
#include "consolidate_int.h"

static int cmp_name(const struct pod *a, const struct pod *b)
{
    int c = str_cmp(a->m.ns, b->m.ns);
    return c != 0 ? c : str_cmp(a->m.name, b->m.name);
}

static int cmp_move(const void *x, const void *y)
{
    return cmp_name(((const struct step_move *)x)->pod, ((const struct step_move *)y)->pod);
}

static int cmp_number(const void *x, const void *y)
{
    uint32_t a = ((const struct found_move *)x)->pod, b = ((const struct found_move *)y)->pod;
    return a < b ? -1 : a > b;
}

static int cmp_out(const void *x, const void *y)
{
    const struct snapshot_node *a = ((const struct step_out *)x)->node;
    const struct snapshot_node *b = ((const struct step_out *)y)->node;
    int c = str_cmp(a->pool->np->m.name, b->pool->np->m.name);
    return c != 0 ? c : str_cmp(a->name, b->name);
}

static int cmp_preference(const void *x, const void *y)
{
    const struct step_preference *a = x, *b = y;
    int c = cmp_name(a->pod, b->pod);
    return c != 0 ? c : str_cmp(a->rule, b->rule);
}

/* ---- what leaves -------------------------------------------------------------------------------
 */

static void put_out(struct consolidate *c, struct found *f)
{
    struct step_out *v = ARENA_NEW_N(c->a, struct step_out, f->n_members);
    for (uint32_t i = 0; i < f->n_members; i++) {
        const struct cand *x = f->members[i];
        v[i] = (struct step_out){x->node, x->price, x->n_pods, x->drift.reason};
        f->out.disruption_micro += x->disruption;
    }
    sort_items(v, f->n_members, sizeof(*v), cmp_out);
    f->out.out = v;
    f->out.n_out = f->n_members;
}

/* ---- what comes ------------------------------------------------------------------------------ */

/* Pools by name, then as opened: the order of claims in the step. */
static uint32_t *claim_order(struct consolidate *c)
{
    struct sched *s = c->s;
    uint32_t *v = ARENA_NEW_N(c->a, uint32_t, s->n_claims);
    for (uint32_t i = 0; i < s->n_claims; i++) {
        const char *name = s->claims[i]->pool->in->np->m.name;
        uint32_t at = i;
        for (; at > 0 && str_cmp(s->claims[v[at - 1]]->pool->in->np->m.name, name) > 0; at--) {
            v[at] = v[at - 1];
        }
        v[at] = i;
    }
    return v;
}

static int64_t worst_price(const struct step_in *in)
{
    int64_t ret = PRICE_UNKNOWN;
    const struct offerings *o = in->pool->offerings;
    if (in->claim.reservation != NULL) {
        return in->claim.reservation->price_pusd_h;
    }
    for (uint32_t t = 0; t < in->claim.n_types; t++) {
        for (unsigned ct = 0; ct < CT_COUNT; ct++) {
            uint64_t zones = in->claim.offer.cts >> ct & 1 ? in->claim.offer.zones : 0;
            for (; zones != 0; zones &= zones - 1) {
                uint32_t z = (uint32_t)__builtin_ctzll(zones);
                enum capacity_type how = (enum capacity_type)ct;
                if (z < catalog_n_zones(in->pool->catalog) &&
                    offerings_available(o, in->claim.types[t], z, how)) {
                    int64_t price = offerings_price(o, in->claim.types[t], z, how);
                    ret = price > ret ? price : ret;
                }
            }
        }
    }
    return ret;
}

static void own_resources(struct arena *a, struct resources *r)
{
    r->ext = arena_memdup(a, r->ext, r->n_ext * sizeof(*r->ext));
}

/* The claim outlives the picture that it was found on. */
static void own_claim(struct arena *a, struct sched_claim *claim, const struct sched_open *o)
{
    struct req *v = arena_memdup(a, claim->reqs.v, claim->reqs.n * sizeof(*v));
    for (uint32_t i = 0; i < claim->reqs.n; i++) {
        v[i].values = arena_memdup(a, v[i].values, v[i].n * sizeof(*v[i].values));
    }
    claim->reqs.v = v;
    claim->pods = arena_memdup(a, o->pods, o->n_pods * sizeof(*o->pods));
    own_resources(a, &claim->requests);
    own_resources(a, &claim->daemon_overhead);
}

static void put_in(struct consolidate *c, struct found *f, const uint32_t *order, uint32_t cut)
{
    struct sched *s = c->s;
    struct step_in *v = ARENA_NEW_N(c->a, struct step_in, s->n_claims);
    uint32_t max = s->opt.max_types;
    f->reserve = ARENA_NEW_N(c->a, struct resources, s->n_claims);
    s->opt.max_types = cut != 0 && (max == 0 || cut < max) ? cut : max;
    for (uint32_t i = 0; i < s->n_claims; i++) {
        struct step_in *in = &v[i];
        struct sched_open *o = s->claims[order[i]];
        in->pool = o->pool->in;
        sched_final(s, o, &in->claim);
        own_claim(c->a, &in->claim, o);
        in->price_pusd_h = in->claim.price_pusd_h;
        in->worst_pusd_h = worst_price(in);
        for (uint32_t t = 0; t < in->claim.n_types; t++) {
            const struct resources *r = catalog_capacity(in->pool->catalog, in->claim.types[t]);
            f->reserve[order[i]] = resources_max(c->a, &f->reserve[order[i]], r);
        }
    }
    s->opt.max_types = max;
    f->out.in = v;
    f->out.n_in = s->n_claims;
}

/* ---- moves -------------------------------------------------------------------------------------
 */

static struct cand *from_of(const struct consolidate *c, uint32_t pod)
{
    return c->of_pod[pod - c->snap->n_pods];
}

static void put_moves(struct consolidate *c, struct found *f, const uint32_t *order)
{
    struct sched *s = c->s;
    uint32_t n = s->result.n_existing, at = 0;
    for (uint32_t i = 0; i < s->n_claims; i++) {
        n += s->claims[i]->n_pods;
    }
    struct step_move *v = ARENA_NEW_N(c->a, struct step_move, n);
    f->moves = ARENA_NEW_N(c->a, struct found_move, n);
    for (uint32_t i = 0; i < s->result.n_existing; i++) {
        const struct sched_taken t = s->existing_taken[i];
        const struct snapshot_node *to = s->existing[i].node;
        struct cand *host = c->of_node[to - c->snap->nodes];
        if (host != NULL) {
            host->received = true;
        }
        f->moves[at] = (struct found_move){t.pod, t.way, 0, to};
        v[at++] = (struct step_move){s->pods[t.pod], from_of(c, t.pod)->node, to, 0};
    }
    for (uint32_t i = 0; i < s->n_claims; i++) {
        const struct sched_open *o = s->claims[order[i]];
        for (uint32_t p = 0; p < o->n_pods; p++) {
            const struct sched_taken t = o->taken[p];
            f->moves[at] = (struct found_move){t.pod, t.way, i, NULL};
            v[at++] = (struct step_move){s->pods[t.pod], from_of(c, t.pod)->node, NULL, i};
        }
    }
    sort_items(v, n, sizeof(*v), cmp_move);
    sort_items(f->moves, n, sizeof(*f->moves), cmp_number);
    f->n_moves = f->out.n_moves = n;
    f->out.moves = v;
}

/* ---- what people should know -------------------------------------------------------------------
 */

static void put_people(struct consolidate *c, struct found *f)
{
    const struct pod **singles = ARENA_NEW_N(c->a, const struct pod *, f->n_moves);
    const struct pod **naked = ARENA_NEW_N(c->a, const struct pod *, f->n_moves);
    for (uint32_t i = 0; i < f->n_moves; i++) {
        const struct pod *p = f->out.moves[i].pod;
        if (p->owner_uid[0] == '\0') {
            naked[f->out.n_naked++] = p;
        }
        if (keep_replicas(c, p) <= 1) {
            singles[f->out.n_singles++] = p;
        }
    }
    f->out.singles = singles;
    f->out.naked = naked;
}

static void note(struct consolidate *c, struct found *f, uint32_t *cap, const struct pod *p,
                 const char *rule)
{
    struct step_preference *v = (struct step_preference *)(uintptr_t)f->out.given_up;
    ARENA_GROW(c->a, v, f->out.n_given_up, *cap);
    v[f->out.n_given_up++] = (struct step_preference){p, rule};
    f->out.given_up = v;
}

static const char *rule_text(struct consolidate *c, const struct topo_use *u)
{
    struct buf b;
    buf_init(&b, 4096);
    if (u->g->owner_uid != NULL) {
        buf_puts(&b, "its workload"); /* a default constraint */
    } else {
        selector_fmt(&u->g->sel, &b);
    }
    const char *key = sym_str(c->s->syms, u->g->key);
    const char *what = u->soft == TOPO_SOFT_SPREAD     ? "soft spread"
                       : u->soft == TOPO_SOFT_AFFINITY ? "preferred pod affinity"
                                                       : "preferred pod anti-affinity";
    const char *ret = arena_printf(c->a, "%s over %s: %s", what, key, b.p != NULL ? b.p : "");
    buf_done(&b);
    return ret;
}

/* Soft rules about other pods that the way had let go. Node affinity is judged by the place. */
static void put_given_up(struct consolidate *c, struct found *f)
{
    uint32_t cap = 0;
    for (uint32_t i = 0; i < f->n_moves; i++) {
        const struct found_move *m = &f->moves[i];
        struct sched_class *k = &c->s->classes[c->s->class_of[m->pod]];
        const struct sched_ask *ask = k->asks[m->way];
        for (uint32_t u = 0; k->topo != NULL && u < k->topo->n_uses; u++) {
            if (!sched_topo_in_force(&k->topo->uses[u], &ask->level)) {
                note(c, f, &cap, c->s->pods[m->pod], rule_text(c, &k->topo->uses[u]));
            }
        }
    }
    sort_items((struct step_preference *)(uintptr_t)f->out.given_up, f->out.n_given_up,
               sizeof(*f->out.given_up), cmp_preference);
}

/* ---- the step ----------------------------------------------------------------------------------
 */

/* Millionths of a dollar per hour and unit of disruption. */
static int64_t score_of(int64_t saving, int64_t disruption)
{
    int64_t milli = disruption / 1000;
    return saving / 1000 / (milli > 0 ? milli : 1);
}

void keep_step(struct consolidate *c, struct cand **members, uint32_t n, enum step_kind kind,
               enum disruption_reason reason, const struct worth *w)
{
    ARENA_GROW(c->a, c->found, c->n_found, c->cap_found);
    struct found *f = &c->found[c->n_found];
    struct arena *work = c->s->a;
    const struct snapshot_node **left = ARENA_NEW_N(c->a, const struct snapshot_node *, n);
    *f = (struct found){.members = arena_memdup(c->a, members, n * sizeof(struct cand *)),
                        .n_members = n};
    c->s->a = c->a;
    f->out = (struct consolidate_step){.kind = kind,
                                       .reason = reason,
                                       .price_out_pusd_h = w->out,
                                       .price_in_pusd_h = w->in,
                                       .saving_pusd_h = w->out - w->in,
                                       .return_to_weight = w->return_to_weight};
    const uint32_t *order = claim_order(c);
    put_out(c, f);
    put_in(c, f, order, w->cut_types);
    put_moves(c, f, order);
    put_people(c, f);
    put_given_up(c, f);
    f->out.score = score_of(f->out.saving_pusd_h, f->out.disruption_micro);
    for (uint32_t i = 0; i < n; i++) {
        members[i]->step = (int32_t)c->n_found;
        left[i] = members[i]->node;
    }
    c->n_found++;
    c->s->a = work;
    whatif_keep(c->s, left, n, f->reserve);
}
