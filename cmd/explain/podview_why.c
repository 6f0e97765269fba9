/* podview_why.c - what a pod asks of its place, and from where that comes. */
#include "podview.h"

#include "cmd/screen.h"
#include "common/base/str.h"
#include "common/core/labels.h"
#include "common/core/volume.h"

#define TEXT_MAX_BYTES 4096u
#define DOMAINS_MAX 64u
#define DOMAINS_SHOWN 8u

/* ---- labels that the node must have ---------------------------------------------------------- */

struct asks {
    struct podview_ask *v;
    size_t n, cap;
};

static void add(const struct podview *v, struct asks *l, const struct reqset *set,
                const char *source)
{
    if (set->n > 0) {
        ARENA_GROW(&v->s->a, l->v, l->n, l->cap);
        l->v[l->n++] = (struct podview_ask){set, source};
    }
}

static const char *of(const struct podview *v, const char *what, uint32_t i, uint32_t n)
{
    return n == 1 ? what : arena_printf(&v->s->a, "%s, term %u of %u", what, i + 1, n);
}

/* "volume data-0 (PV pv-8c1f)" */
static const char *volume_name(const struct podview *v, const char *claim)
{
    const struct snapshot *s = &v->s->d.snap;
    for (uint32_t i = 0; i < s->n_pvcs; i++) {
        const struct pvc *c = s->pvcs[i];
        if (str_eq(c->m.ns, v->pod->m.ns) && str_eq(c->m.name, claim) && *c->volume_name) {
            return arena_printf(&v->s->a, "volume %s (PV %s)", claim, c->volume_name);
        }
    }
    return arena_printf(&v->s->a, "volume %s", claim);
}

/* Each volume by itself, so that it can be named. */
static void add_volumes(const struct podview *v, struct asks *l)
{
    for (uint32_t i = 0; i < v->pod->n_volumes; i++) {
        struct pod one = *v->pod;
        struct volume_need need;
        one.volumes = &v->pod->volumes[i];
        one.n_volumes = 1;
        volume_need(&v->s->a, &v->s->d.snap, &one, &need);
        const char *name = volume_name(v, v->pod->volumes[i].claim);
        for (uint32_t k = 0; need.problem == REASON_NONE && k < need.n_alternatives; k++) {
            add(v, l, &need.alternatives[k], of(v, name, k, need.n_alternatives));
        }
    }
}

const struct podview_ask *podview_asks(const struct podview *v, size_t *ret_n)
{
    struct asks l = {NULL, 0, 0};
    const struct pod_class *cls = v->pod->cls;
    add(v, &l, &cls->selector, "nodeSelector");
    for (uint32_t i = 0; i < cls->n_required; i++) {
        add(v, &l, &cls->required[i].reqs, of(v, "nodeAffinity", i, cls->n_required));
    }
    add_volumes(v, &l);
    *ret_n = l.n;
    return l.v;
}

const char *podview_pool_text(const struct podview *v, const struct explain_pool *p)
{
    if (p->reason.code != REASON_NONE) {
        return report_reason(&v->s->a, v->s, &p->reason);
    }
    return v->claim && v->claim->pool == p->pool ? "launches a node for it"
                                                 : "could launch a node for it";
}

/* ---- rules about other pods ------------------------------------------------------------------ */

struct domains {
    sym v[DOMAINS_MAX];
    uint32_t count[DOMAINS_MAX];
    uint32_t n;
};

/* Its number, UINT32_MAX for what is one too many; by string. */
static uint32_t domain_at(const struct podview *v, struct domains *d, sym value)
{
    uint32_t i = 0;
    while (i < d->n && sym_cmp(v->s->w.syms, d->v[i], value) < 0) {
        i++;
    }
    if (i < d->n && d->v[i] == value) {
        return i;
    }
    if (d->n == DOMAINS_MAX) {
        return UINT32_MAX;
    }
    memmove(&d->v[i + 1], &d->v[i], (d->n - i) * sizeof(*d->v));
    memmove(&d->count[i + 1], &d->count[i], (d->n - i) * sizeof(*d->count));
    d->v[i] = value;
    d->count[i] = 0;
    d->n++;
    return i;
}

static sym value_of(const struct snapshot_node *n, sym key)
{
    const struct req *r = n ? reqset_get(&n->labels, key) : NULL;
    return r ? req_single(r) : SYM_NONE;
}

/* Pods that the spread is about, per domain, as they lie now. */
static void count_spread(const struct podview *v, const struct spread *sp, struct domains *d)
{
    const struct snapshot *s = &v->s->d.snap;
    struct selector sel = selector_with(&v->s->a, &sp->sel, &v->pod->labels, sp->match_keys,
                                        sp->n_match_keys, SELECTOR_IN);
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        sym value = s->nodes[i].leaving ? SYM_NONE : value_of(&s->nodes[i], sp->key);
        if (value != SYM_NONE) {
            (void)domain_at(v, d, value);
        }
    }
    for (uint32_t i = 0; i < s->n_bound; i++) {
        const struct pod *p = s->bound[i].pod;
        sym value = value_of(s->bound[i].node, sp->key);
        uint32_t at = value == SYM_NONE || !pod_active(p) || !str_eq(p->m.ns, v->pod->m.ns) ||
                              !selector_matches(&sel, &p->labels)
                          ? UINT32_MAX
                          : domain_at(v, d, value);
        if (at != UINT32_MAX) {
            d->count[at]++;
        }
    }
}

static const char *key_name(const struct podview *v, sym key)
{
    const char *name = sym_str(v->s->w.syms, key), *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

/* "topologySpread zone maxSkew 1: now a 4, b 3 (here), c 4" */
static void put_spread(const struct podview *v, const struct spread *sp, struct buf *out)
{
    struct domains d = {.n = 0};
    sym here = value_of(v->node, sp->key);
    buf_printf(out, "topologySpread %s maxSkew %d%s", key_name(v, sp->key), (int)sp->max_skew,
               sp->soft ? " ScheduleAnyway" : "");
    if (sp->key == L_HOSTNAME) {
        return;
    }
    count_spread(v, sp, &d);
    for (uint32_t i = 0; i < d.n && i < DOMAINS_SHOWN; i++) {
        buf_printf(out, "%s%s %u%s", i ? ", " : ": now ", sym_str(v->s->w.syms, d.v[i]), d.count[i],
                   d.v[i] == here ? " (here)" : "");
    }
    if (d.n > DOMAINS_SHOWN) {
        buf_printf(out, " and %u more", d.n - DOMAINS_SHOWN);
    }
}

static void put_term(const struct podview *v, const struct pod_term *t, const char *what,
                     struct buf *out)
{
    buf_printf(out, "%s%s %s: ", t->weight ? "preferred " : "", what, key_name(v, t->key));
    selector_fmt(&t->sel, out);
}

static void put_line(const struct podview *v, const char *title, bool first, const char *text,
                     struct buf *out)
{
    buf_printf(out, "%s", first ? title : "               ");
    screen_wrap(&v->s->c->term, &v->s->a, 15, text, out);
    buf_putc(out, '\n');
}

void podview_put_asked(const struct podview *v, struct buf *out)
{
    const struct pod_class *c = v->pod->cls;
    const struct {
        const struct pod_terms *terms;
        const char *what;
    } all[] = {{&c->affinity, "podAffinity"},
               {&c->anti_affinity, "podAntiAffinity"},
               {&c->prefer_affinity, "podAffinity"},
               {&c->avoid_affinity, "podAntiAffinity"}};
    bool first = true;
    for (uint32_t i = 0; i < c->n_spreads; i++, first = false) {
        AUTO_BUF struct buf text;
        buf_init(&text, TEXT_MAX_BYTES);
        put_spread(v, &c->spreads[i], &text);
        put_line(v, "   asked by    ", first, text.p, out);
    }
    for (size_t k = 0; k < ARRAY_LEN(all); k++) {
        for (uint32_t i = 0; i < all[k].terms->n; i++, first = false) {
            AUTO_BUF struct buf text;
            buf_init(&text, TEXT_MAX_BYTES);
            put_term(v, &all[k].terms->v[i], all[k].what, &text);
            put_line(v, "   asked by    ", first, text.p, out);
        }
    }
}

/* ---- other nodes ----------------------------------------------------------------------------- */

static bool takes(const struct explain_nodes *g)
{
    return g->reason.code == REASON_FitsExisting || g->reason.code == REASON_WaitingForNode;
}

/* Its own node is one of the group. */
static bool has_own(const struct explain_nodes *g, const struct snapshot_node *own)
{
    if (own->target) {
        return takes(g) && own->initialized == (g->reason.code == REASON_FitsExisting);
    }
    return g->reason.code == REASON_Taint && g->reason.taint == NULL; /* cordoned */
}

void podview_put_others(const struct podview *v, const struct snapshot_node *own, struct buf *out)
{
    struct arena *a = &v->s->a;
    AUTO_BUF struct buf text;
    uint32_t would = 0;
    bool found = false;
    if (!v->e || v->leaving) {
        return;
    }
    buf_init(&text, TEXT_MAX_BYTES);
    for (uint32_t i = 0; i < v->e->n_nodes; i++) {
        const struct explain_nodes *g = &v->e->nodes[i];
        bool own_too = !found && has_own(g, own);
        uint32_t n = g->count - own_too;
        found = found || own_too;
        would += takes(g) ? n : 0;
        if (n > 0 && !takes(g)) {
            buf_printf(&text, "; %u: %s", n,
                       g->reason.code == REASON_Resources
                           ? "not enough room"
                           : report_nodes_reason(a, v->s->w.syms, g));
        }
    }
    if (would == 0 && text.n == 0) {
        return;
    }
    const char *how_many = would ? arena_printf(a, "%u", would) : "no";
    put_line(v, "   others      ", true,
             arena_printf(a, "%s more would take it now%s", how_many, text.n ? text.p : ""), out);
}
