/* preference.c - see preference.h. */
#include "preference.h"

#include "common/base/sort.h"
#include "common/base/str.h"
#include "labels.h"
#include "want.h"

#define VALUES_SHOWN 5u

/* A node, or a claim of the plan. */
struct place {
    const struct reqset *labels;
    const struct taints *taints;
    bool stays;
};

/* A pod that lies somewhere in the end. */
struct member {
    const struct pod *pod;
    uint32_t place;
};

struct outcome {
    struct arena *a;
    const struct snapshot *s;
    struct place *places;
    uint32_t n_places;
    struct member *members; /* those that the plan placed come first */
    uint32_t n_members, n_placed;
    struct preference_lost *lost;
    uint32_t n_lost, cap_lost;
    /* Of the crowd that is looked at, for all members. */
    bool *in;
    uint32_t *domains, *open_places;
};

/* ---- where everything lies ------------------------------------------------------------------- */

static void add_places(struct outcome *o, const struct sched_result *r)
{
    o->n_places = o->s->n_nodes + r->n_claims;
    o->places = ARENA_NEW_N(o->a, struct place, o->n_places);
    for (uint32_t i = 0; i < o->s->n_nodes; i++) {
        const struct snapshot_node *n = &o->s->nodes[i];
        o->places[i] = (struct place){&n->labels, &n->taints, !n->leaving};
    }
    for (uint32_t i = 0; i < r->n_claims; i++) {
        o->places[o->s->n_nodes + i] =
            (struct place){&r->claims[i].reqs, &r->claims[i].pool->np->taints, true};
    }
}

static void add_members(struct outcome *o, const struct sched_result *r)
{
    uint32_t n = r->n_existing + o->s->n_bound;
    for (uint32_t i = 0; i < r->n_claims; i++) {
        n += r->claims[i].n_pods;
    }
    o->members = ARENA_NEW_N(o->a, struct member, n);
    n = 0;
    for (uint32_t i = 0; i < r->n_existing; i++) {
        o->members[n++] =
            (struct member){r->existing[i].pod, (uint32_t)(r->existing[i].node - o->s->nodes)};
    }
    for (uint32_t i = 0; i < r->n_claims; i++) {
        for (uint32_t p = 0; p < r->claims[i].n_pods; p++) {
            o->members[n++] = (struct member){r->claims[i].pods[p], o->s->n_nodes + i};
        }
    }
    o->n_placed = n;
    for (uint32_t i = 0; i < o->s->n_bound; i++) {
        const struct snapshot_bound *b = &o->s->bound[i];
        if (pod_active(b->pod)) {
            o->members[n++] = (struct member){b->pod, (uint32_t)(b->node - o->s->nodes)};
        }
    }
    o->n_members = n;
    o->in = ARENA_NEW_N(o->a, bool, n);
    o->domains = ARENA_NEW_N(o->a, uint32_t, n);
    o->open_places = ARENA_NEW_N(o->a, uint32_t, n);
}

static void lose(struct outcome *o, const struct pod *pod, enum preference_kind kind,
                 uint32_t index, const struct taint *taint)
{
    ARENA_GROW(o->a, o->lost, o->n_lost, o->cap_lost);
    o->lost[o->n_lost++] = (struct preference_lost){pod, kind, index, taint};
}

/* ---- about the place itself ------------------------------------------------------------------ */

static bool likes(const struct outcome *o, const struct place *p, const struct affinity_term *t)
{
    struct arena_mark mark = arena_mark(o->a);
    bool met = want_met(o->a, o->s->syms, p->labels, &t->reqs);
    arena_rewind(o->a, mark);
    return met;
}

static void judge_place(struct outcome *o, const struct member *m)
{
    const struct pod_class *cls = m->pod->cls;
    const struct place *p = &o->places[m->place];
    for (uint32_t i = 0; i < cls->n_preferred; i++) {
        const struct affinity_term *t = &cls->preferred[i];
        if (!t->invalid && !likes(o, p, t)) {
            lose(o, m->pod, PREFER_NODE, i, NULL);
        }
    }
    for (uint32_t i = 0; i < p->taints->n; i++) {
        struct taints one = {&p->taints->v[i], 1};
        if (one.v->effect == EFFECT_PREFER_NO_SCHEDULE &&
            taints_refuse(&one, &cls->tolerations, true) != NULL) {
            lose(o, m->pod, PREFER_NO_TAINT, i, one.v);
        }
    }
}

/* ---- about other pods ------------------------------------------------------------------------ */

/* Pods that a term is about: how many lie in which domain. The lists are the outcome's: one crowd
 * is looked at after the other. */
struct crowd {
    sym key;
    bool *in;          /* per member */
    uint32_t *domains; /* of members whose domain is known, sorted */
    uint32_t n;
    uint32_t *open_places; /* of members whose domain is open */
    uint32_t n_open;
    uint32_t total;
};

/* A number per domain, 0 if the place does not have the label or may still get one of several. */
static uint32_t domain_of(const struct outcome *o, uint32_t place, sym key)
{
    if (key == L_HOSTNAME) {
        return place + 1;
    }
    const struct req *r = reqset_get(o->places[place].labels, key);
    return r == NULL ? 0 : (uint32_t)req_single(r);
}

/* May come to lie in one of several domains. */
static bool is_open(const struct outcome *o, uint32_t place, sym key)
{
    const struct req *r = reqset_get(o->places[place].labels, key);
    return key != L_HOSTNAME && place >= o->s->n_nodes &&
           (r == NULL ? labels_well_known(key) : req_single(r) == SYM_NONE);
}

/* The domain is one that the open place may come to lie in. */
static bool may_lie(const struct outcome *o, uint32_t place, sym key, uint32_t domain)
{
    const struct req *r = reqset_get(o->places[place].labels, key);
    return r == NULL || req_has(o->s->syms, r, (sym)domain);
}

static bool sees_namespace(const struct outcome *o, const struct pod_term *t, const char *own,
                           const char *ns)
{
    if (t->n_namespaces == 0 && !t->has_ns_sel) {
        return str_eq(own, ns);
    }
    for (uint32_t i = 0; i < t->n_namespaces; i++) {
        if (str_eq(t->namespaces[i], ns)) {
            return true;
        }
    }
    if (!t->has_ns_sel || t->ns_sel.nothing) {
        return false;
    }
    for (uint32_t i = 0; t->ns_sel.n > 0 && i < o->s->n_namespaces; i++) {
        if (str_eq(o->s->namespaces[i]->m.name, ns)) {
            return selector_matches(&t->ns_sel, &o->s->namespaces[i]->labels);
        }
    }
    return t->ns_sel.n == 0;
}

static int number_cmp(const void *x, const void *y)
{
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return a < b ? -1 : a > b;
}

static void gather(const struct outcome *o, struct crowd *c)
{
    c->domains = o->domains;
    c->open_places = o->open_places;
    for (uint32_t i = 0; i < o->n_members; i++) {
        if (!c->in[i]) {
            continue;
        }
        uint32_t place = o->members[i].place, domain = domain_of(o, place, c->key);
        c->total++;
        if (domain != 0) {
            c->domains[c->n++] = domain;
        } else if (is_open(o, place, c->key)) {
            c->open_places[c->n_open++] = place;
        }
    }
    sort_items(c->domains, c->n, sizeof(*c->domains), number_cmp);
}

static struct crowd crowd_of_term(const struct outcome *o, const struct pod *p,
                                  const struct pod_term *t)
{
    struct crowd c = {.key = t->key, .in = o->in};
    struct arena_mark mark = arena_mark(o->a);
    struct selector sel =
        selector_with(o->a, &t->sel, &p->labels, t->match_keys, t->n_match_keys, SELECTOR_IN);
    sel = selector_with(o->a, &sel, &p->labels, t->mismatch_keys, t->n_mismatch_keys,
                        SELECTOR_NOT_IN);
    for (uint32_t i = 0; i < o->n_members; i++) {
        const struct pod *m = o->members[i].pod;
        c.in[i] = selector_matches(&sel, &m->labels) && sees_namespace(o, t, p->m.ns, m->m.ns);
    }
    arena_rewind(o->a, mark);
    gather(o, &c);
    return c;
}

/* The first place in the sorted domains that is not below. */
static uint32_t lower(const struct crowd *c, uint32_t domain)
{
    uint32_t lo = 0, hi = c->n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (c->domains[mid] < domain) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

static uint32_t count_in(const struct crowd *c, uint32_t domain)
{
    return lower(c, domain + 1) - lower(c, domain);
}

static uint32_t count_at(const struct crowd *c, uint32_t place)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->n_open; i++) {
        n += c->open_places[i] == place;
    }
    return n;
}

static bool is_near(const struct outcome *o, const struct crowd *c, uint32_t member)
{
    uint32_t place = o->members[member].place, self = c->in[member];
    uint32_t domain = domain_of(o, place, c->key);
    uint32_t here = domain != 0 ? count_in(c, domain) : count_at(c, place);
    return here > self || (self && c->total == 1);
}

/* Another pod of the crowd may come to lie in the same domain. */
static bool may_meet(const struct outcome *o, const struct crowd *c, uint32_t member)
{
    uint32_t place = o->members[member].place, self = c->in[member];
    uint32_t domain = domain_of(o, place, c->key);
    bool open = is_open(o, place, c->key);
    if (domain != 0 && count_in(c, domain) > self) {
        return true;
    }
    if (domain == 0 && !open) {
        return false; /* no label, no domain */
    }
    for (uint32_t i = 0; open && i < c->n; i++) {
        if (may_lie(o, place, c->key, c->domains[i])) {
            return true;
        }
    }
    for (uint32_t i = 0; !open && i < c->n_open; i++) {
        if (may_lie(o, c->open_places[i], c->key, domain)) {
            return true;
        }
    }
    return open && c->n_open > self;
}

/* ---- spread ---------------------------------------------------------------------------------- */

static bool asked_for(const struct outcome *o, const struct pod_class *cls, const struct place *p)
{
    struct arena_mark mark = arena_mark(o->a);
    bool met = false;
    for (uint32_t i = 0; i < (cls->n_required ? cls->n_required : 1) && !met; i++) {
        struct reqset want;
        met = want_build(o->a, o->s->syms, cls, cls->n_required ? &cls->required[i] : NULL, NULL,
                         &want) &&
              want_met(o->a, o->s->syms, p->labels, &want);
    }
    arena_rewind(o->a, mark);
    return met;
}

static bool included(const struct outcome *o, const struct pod_class *cls, const struct spread *sp,
                     const struct place *p)
{
    if (!p->stays ||
        (sp->honor_taints && taints_refuse(p->taints, &cls->tolerations, false) != NULL)) {
        return false;
    }
    bool asks = cls->selector.n > 0 || cls->n_required > 0;
    return !sp->honor_affinity || !asks || asked_for(o, cls, p);
}

/* The crowd of a spread, and the count of the emptiest domain. */
static struct crowd crowd_of_spread(const struct outcome *o, const struct pod *p,
                                    const struct spread *sp, uint32_t *ret_least)
{
    struct crowd c = {.key = sp->key, .in = o->in};
    struct arena_mark mark = arena_mark(o->a);
    bool *in = ARENA_NEW_N(o->a, bool, o->n_places);
    struct selector sel =
        selector_with(o->a, &sp->sel, &p->labels, sp->match_keys, sp->n_match_keys, SELECTOR_IN);
    for (uint32_t i = 0; i < o->n_places; i++) {
        in[i] = included(o, p->cls, sp, &o->places[i]);
    }
    for (uint32_t i = 0; i < o->n_members; i++) {
        const struct member *m = &o->members[i];
        c.in[i] = in[m->place] && str_eq(m->pod->m.ns, p->m.ns) &&
                  selector_matches(&sel, &m->pod->labels);
    }
    gather(o, &c);
    *ret_least = UINT32_MAX;
    for (uint32_t i = 0; i < o->n_places; i++) {
        uint32_t domain = in[i] ? domain_of(o, i, c.key) : 0;
        uint32_t n = domain != 0 ? count_in(&c, domain) : UINT32_MAX;
        *ret_least = n < *ret_least ? n : *ret_least;
    }
    arena_rewind(o->a, mark);
    return c;
}

static bool is_spread(const struct outcome *o, const struct crowd *c, uint32_t member,
                      const struct spread *sp, uint32_t least)
{
    uint32_t domain = domain_of(o, o->members[member].place, c->key);
    return domain != 0 && (int64_t)count_in(c, domain) - least <= sp->max_skew;
}

/* ---- pods with the same rules ---------------------------------------------------------------- */

static bool has_rules(const struct pod_class *c)
{
    bool soft = c->prefer_affinity.n + c->avoid_affinity.n > 0;
    for (uint32_t i = 0; i < c->n_spreads && !soft; i++) {
        soft = c->spreads[i].soft;
    }
    return soft;
}

static bool same_values(const struct pod *x, const struct pod *y, const char *const *keys,
                        uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const char *a = kvs_get(&x->labels, keys[i]), *b = kvs_get(&y->labels, keys[i]);
        if ((a == NULL) != (b == NULL) || (a != NULL && !str_eq(a, b))) {
            return false;
        }
    }
    return true;
}

static bool same_terms(const struct pod *x, const struct pod *y, const struct pod_terms *terms)
{
    for (uint32_t i = 0; i < terms->n; i++) {
        const struct pod_term *t = &terms->v[i];
        if (!same_values(x, y, t->match_keys, t->n_match_keys) ||
            !same_values(x, y, t->mismatch_keys, t->n_mismatch_keys)) {
            return false;
        }
    }
    return true;
}

/* Their rules are about the same pods. */
static bool same_rules(const struct pod *x, const struct pod *y)
{
    const struct pod_class *c = x->cls;
    if (c != y->cls || !str_eq(x->m.ns, y->m.ns) || !same_terms(x, y, &c->prefer_affinity) ||
        !same_terms(x, y, &c->avoid_affinity)) {
        return false;
    }
    for (uint32_t i = 0; i < c->n_spreads; i++) {
        if (!same_values(x, y, c->spreads[i].match_keys, c->spreads[i].n_match_keys)) {
            return false;
        }
    }
    return true;
}

static void judge_spread(struct outcome *o, const uint32_t *group, uint32_t n, uint32_t index)
{
    const struct pod *p = o->members[group[0]].pod;
    const struct spread *sp = &p->cls->spreads[index];
    uint32_t least;
    const struct crowd c = crowd_of_spread(o, p, sp, &least);
    for (uint32_t i = 0; i < n; i++) {
        if (!is_spread(o, &c, group[i], sp, least)) {
            lose(o, o->members[group[i]].pod, PREFER_SPREAD, index, NULL);
        }
    }
}

static void judge_terms(struct outcome *o, const uint32_t *group, uint32_t n,
                        const struct pod_terms *terms, enum preference_kind kind)
{
    for (uint32_t t = 0; t < terms->n; t++) {
        const struct crowd c = crowd_of_term(o, o->members[group[0]].pod, &terms->v[t]);
        for (uint32_t i = 0; i < n; i++) {
            bool met = kind == PREFER_NEAR ? is_near(o, &c, group[i]) : !may_meet(o, &c, group[i]);
            if (!met) {
                lose(o, o->members[group[i]].pod, kind, t, NULL);
            }
        }
    }
}

static void judge_group(struct outcome *o, const uint32_t *group, uint32_t n)
{
    const struct pod_class *c = o->members[group[0]].pod->cls;
    judge_terms(o, group, n, &c->prefer_affinity, PREFER_NEAR);
    judge_terms(o, group, n, &c->avoid_affinity, PREFER_APART);
    for (uint32_t i = 0; i < c->n_spreads; i++) {
        if (c->spreads[i].soft) {
            judge_spread(o, group, n, i);
        }
    }
}

static void judge_others(struct outcome *o)
{
    uint32_t *left = ARENA_NEW_N(o->a, uint32_t, o->n_placed), n = 0;
    uint32_t *group = ARENA_NEW_N(o->a, uint32_t, o->n_placed);
    for (uint32_t i = 0; i < o->n_placed; i++) {
        if (has_rules(o->members[i].pod->cls)) {
            left[n++] = i;
        }
    }
    while (n > 0) {
        uint32_t n_group = 0, kept = 0;
        const struct pod *first = o->members[left[0]].pod;
        for (uint32_t i = 0; i < n; i++) {
            if (same_rules(first, o->members[left[i]].pod)) {
                group[n_group++] = left[i];
            } else {
                left[kept++] = left[i];
            }
        }
        n = kept;
        judge_group(o, group, n_group);
    }
}

/* ---- the answer ------------------------------------------------------------------------------ */

static int lost_cmp(const void *x, const void *y)
{
    const struct preference_lost *a = x, *b = y;
    int c = str_cmp(a->pod->m.ns, b->pod->m.ns);
    c = c != 0 ? c : str_cmp(a->pod->m.name, b->pod->m.name);
    c = c != 0 ? c : (int)a->kind - (int)b->kind;
    return c != 0 ? c : a->index < b->index ? -1 : a->index > b->index;
}

uint32_t preference_lost(struct arena *a, const struct snapshot *s, const struct sched_result *r,
                         const struct preference_lost **ret)
{
    struct outcome o = {.a = a, .s = s};
    add_places(&o, r);
    add_members(&o, r);
    for (uint32_t i = 0; i < o.n_placed; i++) {
        judge_place(&o, &o.members[i]);
    }
    judge_others(&o);
    sort_items(o.lost, o.n_lost, sizeof(*o.lost), lost_cmp);
    *ret = o.lost;
    return o.n_lost;
}

static void term_fmt(const struct symtab *t, const struct pod_term *term, const char *what,
                     struct buf *out)
{
    buf_printf(out, "preferred pod %s of weight %d over %s: ", what, (int)term->weight,
               sym_str(t, term->key));
    selector_fmt(&term->sel, out);
}

void preference_fmt(const struct symtab *t, const struct preference_lost *p, struct buf *out)
{
    const struct pod_class *c = p->pod->cls;
    switch (p->kind) {
    case PREFER_NODE:
        buf_printf(out,
                   "preferred node affinity of weight %d: ", (int)c->preferred[p->index].weight);
        for (uint32_t i = 0; i < c->preferred[p->index].reqs.n; i++) {
            buf_puts(out, i ? " and " : "");
            req_fmt(t, &c->preferred[p->index].reqs.v[i], VALUES_SHOWN, out);
        }
        return;
    case PREFER_NEAR:
        term_fmt(t, &c->prefer_affinity.v[p->index], "affinity", out);
        return;
    case PREFER_APART:
        term_fmt(t, &c->avoid_affinity.v[p->index], "anti-affinity", out);
        return;
    case PREFER_SPREAD:
        buf_printf(out, "spread over %s, maxSkew %d, ScheduleAnyway: ",
                   sym_str(t, c->spreads[p->index].key), (int)c->spreads[p->index].max_skew);
        selector_fmt(&c->spreads[p->index].sel, out);
        return;
    case PREFER_NO_TAINT:
        buf_puts(out, "does not tolerate taint ");
        taint_fmt(t, p->taint, out);
        return;
    }
}
