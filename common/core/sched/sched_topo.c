/* sched_topo.c - groups, and which pods they concern; see sched_topo.h. */
#include "sched_topo.h"

#include "common/base/sort.h"
#include "common/base/str.h"
#include "common/core/labels.h"
#include "common/core/want.h"
#include "sched_int.h"
#include "sched_match.h"

static struct text *text_of(struct sched *s)
{
    return text_begin(&s->topo.table->texts);
}

static struct text_entry *entry_of(struct sched *s)
{
    return text_entry(&s->topo.table->texts);
}

/* ---- texts ----------------------------------------------------------------------------------- */

static void put_selector(struct text *b, const struct selector *sel)
{
    text_str(b, sel->nothing ? "-" : "+");
    text_num(b, sel->n);
    for (uint32_t i = 0; i < sel->n; i++) {
        const struct selector_expr *e = &sel->v[i];
        text_str(b, e->key);
        text_num(b, (uint64_t)e->op);
        text_num(b, e->n);
        for (uint32_t v = 0; v < e->n; v++) {
            text_str(b, e->values[v]);
        }
    }
}

static void put_group(struct text *b, const struct topo_group *g)
{
    text_str(b, "g");
    text_num(b, (uint64_t)g->kind);
    text_num(b, g->key);
    text_num(b, (uint64_t)g->max_skew);
    text_num(b, (uint64_t)g->min_domains);
    text_num(b,
             (g->all_ns ? 4u : 0u) + (g->honor_affinity ? 2u : 0u) + (g->honor_taints ? 1u : 0u));
    text_ptr(b, g->filter);
    text_str(b, g->owner_uid ? g->owner_uid : "");
    text_num(b, g->n_keys);
    for (uint32_t i = 0; i < g->n_keys; i++) {
        text_num(b, g->keys[i]);
    }
    put_selector(b, &g->sel);
    for (uint32_t i = 0; i < g->n_namespaces; i++) {
        text_str(b, g->namespaces[i]);
    }
}

/* The group of that rule; a new one if there is none. */
static struct topo_group *group_of(struct sched *s, const struct topo_group *rule)
{
    put_group(text_of(s), rule);
    struct text_entry *e = entry_of(s);
    if (e->value == NULL) {
        struct topo_group *g = arena_memdup(s->a, rule, sizeof(*rule));
        g->host = g->key == L_HOSTNAME;
        ARENA_GROW(s->a, s->topo.groups, s->topo.n_groups, s->topo.cap_groups);
        g->at = s->topo.n_groups;
        s->topo.groups[s->topo.n_groups++] = g;
        match_group(s, g);
        e->value = g;
    }
    return e->value;
}

/* ---- namespaces ------------------------------------------------------------------------------ */

static void own_namespace(struct sched *s, const char *ns, struct topo_group *g)
{
    const char **one = ARENA_NEW(s->a, const char *);
    *one = ns;
    g->namespaces = one;
    g->n_namespaces = 1;
}

/* Named ones and those whose labels match; the pod's own if neither is said. */
static void term_namespaces(struct sched *s, const struct pod_term *t, const char *ns,
                            struct topo_group *g)
{
    if (t->n_namespaces == 0 && !t->has_ns_sel) {
        own_namespace(s, ns, g);
        return;
    }
    g->all_ns = t->has_ns_sel && !t->ns_sel.nothing && t->ns_sel.n == 0;
    if (g->all_ns) {
        return;
    }
    uint32_t n = 0, at = 0;
    const struct snapshot *snap = s->snap;
    const char **v = ARENA_NEW_N(s->a, const char *, t->n_namespaces + snap->n_namespaces);
    for (uint32_t i = 0; i < t->n_namespaces; i++) {
        v[n++] = t->namespaces[i];
    }
    for (uint32_t i = 0; t->has_ns_sel && i < snap->n_namespaces; i++) {
        if (selector_matches(&t->ns_sel, &snap->namespaces[i]->labels)) {
            v[n++] = snap->namespaces[i]->m.name;
        }
    }
    sort_items(v, n, sizeof(*v), str_qsort_cmp);
    for (uint32_t i = 0; i < n; i++) {
        if (at == 0 || !str_eq(v[at - 1], v[i])) {
            v[at++] = v[i];
        }
    }
    g->namespaces = v;
    g->n_namespaces = at;
}

/* ---- rules of a class ------------------------------------------------------------------------ */

/* Classes of one spec, namespace and values of matchLabelKeys have the same rules. */
struct owner {
    struct topo_use *uses;
    uint32_t n_uses, cap_uses;
    struct topo_group **inverse; /* of its required anti-affinity */
    uint32_t n_inverse, cap_inverse;
};

static bool has_rules(const struct pod_class *c)
{
    return c->n_spreads + c->affinity.n + c->anti_affinity.n + c->prefer_affinity.n +
               c->avoid_affinity.n >
           0;
}

static void owner_use(struct sched *s, struct owner *o, const struct topo_group *rule,
                      enum topo_soft soft, uint32_t rank)
{
    ARENA_GROW(s->a, o->uses, o->n_uses, o->cap_uses);
    o->uses[o->n_uses++] = (struct topo_use){.g = group_of(s, rule), .soft = soft, .rank = rank};
}

static struct topo_group term_rule(struct sched *s, const struct pod *p, const struct pod_term *t,
                                   enum topo_kind kind)
{
    struct topo_group g = {.kind = kind, .key = t->key};
    struct selector sel =
        selector_with(s->a, &t->sel, &p->labels, t->match_keys, t->n_match_keys, SELECTOR_IN);
    g.sel = selector_with(s->a, &sel, &p->labels, t->mismatch_keys, t->n_mismatch_keys,
                          SELECTOR_NOT_IN);
    term_namespaces(s, t, p->m.ns, &g);
    return g;
}

static void owner_terms(struct sched *s, struct owner *o, const struct pod *p,
                        const struct pod_terms *terms, enum topo_kind kind, enum topo_soft soft)
{
    for (uint32_t i = 0; i < terms->n; i++) {
        struct topo_group rule = term_rule(s, p, &terms->v[i], kind);
        owner_use(s, o, &rule, soft, i);
    }
}

static void owner_inverse(struct sched *s, struct owner *o, const struct pod *p)
{
    for (uint32_t i = 0; i < p->cls->anti_affinity.n; i++) {
        struct topo_group rule = term_rule(s, p, &p->cls->anti_affinity.v[i], TOPO_INVERSE);
        ARENA_GROW(s->a, o->inverse, o->n_inverse, o->cap_inverse);
        o->inverse[o->n_inverse++] = group_of(s, &rule);
    }
}

/* Does the class ask for labels of nodes at all? Then it is its own node filter. */
static bool filters(const struct pod_class *c, const struct spread *sp)
{
    return (sp->honor_affinity && (c->selector.n > 0 || c->n_required > 0)) || sp->honor_taints;
}

/* ---- default constraints ----------------------------------------------------------------------
 */

struct selectors {
    const struct selector **v;
    uint32_t n, cap;
};

/* Selectors of Services in the namespace that begin with this label. */
static struct text_entry *services_at(struct sched *s, const char *ns, const char *key,
                                      const char *value)
{
    struct text *b = text_of(s);
    text_str(b, "s");
    text_str(b, ns);
    text_str(b, key);
    text_str(b, value);
    return entry_of(s);
}

static void index_services(struct sched *s)
{
    for (uint32_t i = 0; i < s->snap->n_services; i++) {
        const struct service *svc = s->snap->services[i];
        if (svc->sel.nothing || svc->sel.n == 0) {
            continue;
        }
        struct text_entry *e =
            services_at(s, svc->m.ns, svc->sel.v[0].key, svc->sel.v[0].values[0]);
        e->value = e->value != NULL ? e->value : ARENA_NEW(s->a, struct selectors);
        struct selectors *list = e->value;
        if (list->n == 0 || selector_cmp(list->v[list->n - 1], &svc->sel) != 0) {
            ARENA_GROW(s->a, list->v, list->n, list->cap);
            list->v[list->n++] = &svc->sel;
        }
    }
}

/* Labels that all Services ask for which select the pod; no expressions if none does. */
static struct selector services_of(struct sched *s, const struct pod *p)
{
    struct selector_expr *v = NULL;
    uint32_t n = 0, cap = 0, at = 0;
    for (uint32_t i = 0; s->snap->n_services > 0 && i < p->labels.n; i++) {
        const struct kv *l = &p->labels.v[i];
        const struct selectors *list = services_at(s, p->m.ns, l->key, l->value)->value;
        for (uint32_t k = 0; list != NULL && k < list->n; k++) {
            for (uint32_t e = 0; selector_matches(list->v[k], &p->labels) && e < list->v[k]->n;
                 e++) {
                ARENA_GROW(s->a, v, n, cap);
                v[n++] = list->v[k]->v[e];
            }
        }
    }
    selector_sort(v, n);
    for (uint32_t i = 0; i < n; i++) {
        if (at == 0 || !str_eq(v[at - 1].key, v[i].key)) {
            v[at++] = v[i];
        }
    }
    return (struct selector){.v = v, .n = at};
}

/* Which pods the default constraints of one are about: those of its owner, or of its namespace
 * where it has none, that the Services select which select it. */
struct about {
    const char *owner_uid; /* NULL: anybody's */
    struct selector sel;
};

static const char *default_owner(const struct pod *p)
{
    static const char *const kinds[] = {"ReplicaSet", "StatefulSet", "ReplicationController"};
    for (uint32_t i = 0; i < p->m.n_owners; i++) {
        const struct owner_ref *o = &p->m.owners[i];
        for (size_t k = 0; o->controller && k < ARRAY_LEN(kinds); k++) {
            if (str_eq(o->kind, kinds[k])) {
                return o->uid;
            }
        }
    }
    return NULL;
}

/* False if the pod has no default constraints. */
static bool default_about(struct sched *s, const struct pod *p, struct about *ret)
{
    if (s->opt.n_default_spreads == 0 || p->cls->n_spreads > 0) {
        return false;
    }
    *ret = (struct about){default_owner(p), services_of(s, p)};
    return ret->owner_uid != NULL || ret->sel.n > 0;
}

/* Groups of an owner's default constraints; they count pods whatever these declare themselves. */
static struct groups *by_owner(struct sched *s, const char *uid)
{
    struct text *b = text_of(s);
    text_str(b, "u");
    text_str(b, uid);
    struct text_entry *e = entry_of(s);
    if (e->value == NULL) {
        e->value = ARENA_NEW(s->a, struct groups);
    }
    return e->value;
}

static void add_group(struct sched *s, struct groups *list, struct topo_group *g)
{
    if (!match_in_list(list->v, list->n, g)) {
        ARENA_GROW(s->a, list->v, list->n, list->cap);
        list->v[list->n++] = g;
    }
}

/* The keys of the spreads of one kind but host names, which every node has. */
static const sym *spread_keys(struct sched *s, const struct spread *spreads, uint32_t n, bool soft,
                              uint32_t *ret_n)
{
    sym *v = ARENA_NEW_N(s->a, sym, n);
    *ret_n = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (spreads[i].soft == soft && spreads[i].key != L_HOSTNAME) {
            v[(*ret_n)++] = spreads[i].key;
        }
    }
    return v;
}

static void owner_spreads(struct sched *s, struct owner *o, const struct pod *p, bool soft)
{
    uint32_t rank = 0, n_keys;
    struct about about;
    bool by_default = default_about(s, p, &about);
    const struct spread *v = by_default ? s->opt.default_spreads : p->cls->spreads;
    uint32_t n = by_default ? s->opt.n_default_spreads : p->cls->n_spreads;
    const sym *keys = spread_keys(s, v, n, soft, &n_keys);
    for (uint32_t i = 0; i < n; i++) {
        const struct spread *sp = &v[i];
        if (sp->soft != soft) {
            continue;
        }
        struct topo_group g = {.kind = TOPO_SPREAD,
                               .key = sp->key,
                               .max_skew = sp->max_skew,
                               .min_domains = sp->min_domains,
                               .honor_affinity = sp->honor_affinity,
                               .honor_taints = sp->honor_taints,
                               .keys = keys,
                               .n_keys = n_keys};
        g.filter = filters(p->cls, sp) ? p->cls : NULL;
        g.owner_uid = by_default ? about.owner_uid : NULL;
        g.sel = by_default ? about.sel
                           : selector_with(s->a, &sp->sel, &p->labels, sp->match_keys,
                                           sp->n_match_keys, SELECTOR_IN);
        own_namespace(s, p->m.ns, &g);
        owner_use(s, o, &g, soft ? TOPO_SOFT_SPREAD : TOPO_HARD, rank++);
        if (g.owner_uid != NULL) {
            add_group(s, by_owner(s, g.owner_uid), o->uses[o->n_uses - 1].g);
        }
    }
}

static void put_match_keys(struct text *b, const struct pod *p, const char *const *keys, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const char *v = kvs_get(&p->labels, keys[i]);
        text_str(b, keys[i]);
        text_str(b, v ? v : "");
    }
}

static void put_terms_keys(struct text *b, const struct pod *p, const struct pod_terms *terms)
{
    for (uint32_t i = 0; i < terms->n; i++) {
        put_match_keys(b, p, terms->v[i].match_keys, terms->v[i].n_match_keys);
        put_match_keys(b, p, terms->v[i].mismatch_keys, terms->v[i].n_mismatch_keys);
    }
}

/* The entry of pods with these rules; only what is bound to others' rules when `bound`. */
static struct text_entry *owner_entry(struct sched *s, const struct pod *p, bool is_bound)
{
    const struct pod_class *c = p->cls;
    struct about about;
    bool by_default = !is_bound && default_about(s, p, &about);
    struct text *b = text_of(s);
    text_str(b, is_bound ? "b" : "o");
    text_ptr(b, c);
    text_str(b, p->m.ns);
    if (by_default) {
        text_str(b, about.owner_uid ? about.owner_uid : "");
        put_selector(b, &about.sel);
    }
    for (uint32_t i = 0; i < c->n_spreads; i++) {
        put_match_keys(b, p, c->spreads[i].match_keys, c->spreads[i].n_match_keys);
    }
    put_terms_keys(b, p, &c->affinity);
    put_terms_keys(b, p, &c->anti_affinity);
    put_terms_keys(b, p, &c->prefer_affinity);
    put_terms_keys(b, p, &c->avoid_affinity);
    return entry_of(s);
}

static const struct owner *owner_of(struct sched *s, const struct pod *p)
{
    struct text_entry *e = owner_entry(s, p, false);
    if (e->value != NULL) {
        return e->value;
    }
    struct owner *o = ARENA_NEW(s->a, struct owner);
    const struct pod_class *c = p->cls;
    owner_terms(s, o, p, &c->affinity, TOPO_AFFINITY, TOPO_HARD);
    owner_terms(s, o, p, &c->anti_affinity, TOPO_ANTI, TOPO_HARD);
    owner_spreads(s, o, p, false);
    if (s->opt.preference != PREFERENCE_IGNORE) {
        owner_terms(s, o, p, &c->prefer_affinity, TOPO_AFFINITY, TOPO_SOFT_AFFINITY);
        owner_terms(s, o, p, &c->avoid_affinity, TOPO_ANTI, TOPO_SOFT_ANTI);
        owner_spreads(s, o, p, true);
    }
    owner_inverse(s, o, p);
    e->value = o;
    return o;
}

/* Of a bound pod only the inverse of its anti-affinity matters to others. */
static const struct owner *bound_owner(struct sched *s, const struct pod *p)
{
    struct text_entry *e = owner_entry(s, p, true);
    if (e->value == NULL) {
        struct owner *o = ARENA_NEW(s->a, struct owner);
        owner_inverse(s, o, p);
        e->value = o;
    }
    return e->value;
}

/* ---- shares ---------------------------------------------------------------------------------- */

static bool shares(const struct sched *s)
{
    if (s->opt.max_share_permyriad > 0) {
        return true;
    }
    for (uint32_t i = 0; i < s->n_pools; i++) {
        if (s->pools[i].max_share_permyriad > 0) {
            return true;
        }
    }
    return false;
}

static struct topo_group *share_of(struct sched *s, const struct pod *p)
{
    if (!s->topo.shares || p->owner_uid[0] == '\0') {
        return NULL;
    }
    struct topo_group rule = {
        .kind = TOPO_SHARE, .key = L_HOSTNAME, .sel = {.nothing = true}, .owner_uid = p->owner_uid};
    return group_of(s, &rule);
}

/* ---- what concerns a pod --------------------------------------------------------------------- */

static void class_count(struct sched *s, struct topo_class *k, uint32_t *cap, struct topo_group *g)
{
    if (!match_in_list(k->counted, k->n_counted, g)) {
        ARENA_GROW(s->a, k->counted, k->n_counted, *cap);
        k->counted[k->n_counted++] = g;
    }
}

/* Rules that others have about the pod come in no order of their own. */
static bool before(const struct sched *s, const struct topo_group *x, const struct topo_group *y)
{
    int c = sym_cmp(s->syms, x->key, y->key);
    return c != 0 ? c < 0 : selector_cmp(&x->sel, &y->sel) < 0;
}

static void add_inverse(struct sched *s, struct topo_class *k, uint32_t from, struct topo_group *g)
{
    uint32_t i = k->n_uses++;
    for (; i > from && before(s, g, k->uses[i - 1].g); i--) {
        k->uses[i] = k->uses[i - 1];
    }
    k->uses[i] = (struct topo_use){.g = g};
}

/* Groups of default constraints about pods of its owner: count it if their selector matches. */
static const struct groups *default_groups(struct sched *s, const struct pod *p)
{
    static const struct groups none;
    bool any = s->opt.n_default_spreads > 0 && p->owner_uid[0] != '\0';
    return any ? by_owner(s, p->owner_uid) : &none;
}

/* Their selectors are among those that make equal lists of groups m. */
static struct groups matching(struct sched *s, const struct groups *v, const struct pod *p)
{
    struct groups ret = {NULL, 0, 0};
    for (uint32_t i = 0; i < v->n; i++) {
        if (selector_matches(&v->v[i]->sel, &p->labels)) {
            add_group(s, &ret, v->v[i]);
        }
    }
    return ret;
}

static struct topo_class *class_new(struct sched *s, const struct pod *p, const struct owner *o,
                                    const struct groups *m, struct topo_group *share)
{
    struct topo_class *k = ARENA_NEW(s->a, struct topo_class);
    const struct groups mine = matching(s, default_groups(s, p), p), *defaults = &mine;
    uint32_t cap = 0;
    k->uses = ARENA_NEW_N(s->a, struct topo_use, o->n_uses + m->n + 1);
    for (uint32_t i = 0; i < o->n_uses; i++) {
        k->uses[k->n_uses] = o->uses[i];
        k->uses[k->n_uses++].self = match_in_list(m->v, m->n, o->uses[i].g) ||
                                    match_in_list(defaults->v, defaults->n, o->uses[i].g);
    }
    for (uint32_t i = 0; i < defaults->n; i++) {
        class_count(s, k, &cap, defaults->v[i]);
    }
    for (uint32_t i = 0; i < m->n; i++) {
        if (m->v[i]->kind == TOPO_INVERSE) {
            add_inverse(s, k, o->n_uses, m->v[i]);
        } else {
            class_count(s, k, &cap, m->v[i]);
        }
    }
    for (uint32_t i = 0; i < o->n_inverse; i++) {
        class_count(s, k, &cap, o->inverse[i]);
    }
    if (share != NULL) {
        k->uses[k->n_uses++] = (struct topo_use){.g = share, .self = true};
        class_count(s, k, &cap, share);
    }
    return k;
}

/* With Respect a preference counts like a requirement until it is given up. */
void sched_topo_want(const struct sched *s, const struct topo_class *k, int times)
{
    bool soft_too = s->opt.preference == PREFERENCE_RESPECT;
    for (uint32_t i = 0; k != NULL && i < k->n_uses; i++) {
        if (soft_too || k->uses[i].soft == TOPO_HARD) {
            k->uses[i].g->wanted += (uint32_t)times;
        }
    }
}

static struct same_pair *pair_at(struct sched *s, uint32_t pod)
{
    return &s->topo.same.pairs[s->topo.pair_of[pod]];
}

static const struct groups *matches_at(struct sched *s, uint32_t pod)
{
    const struct groups **at = &s->topo.matches[pair_at(s, pod)->labels];
    *at = *at != NULL ? *at : match_pod(s, s->pods[pod]);
    return *at;
}

const struct topo_class *sched_topo_class(struct sched *s, uint32_t pod, bool bound)
{
    if (!s->topo.on) {
        return NULL;
    }
    const struct pod *p = s->pods[pod];
    const struct owner *o = pair_at(s, pod)->owner;
    const struct groups *m = matches_at(s, pod);
    const struct groups *defaults = default_groups(s, p);
    struct topo_group *share = share_of(s, p);
    if (o->n_uses + m->n + o->n_inverse + defaults->n == 0 && share == NULL) {
        return NULL;
    }
    struct text *b = text_of(s);
    text_str(b, "c");
    text_ptr(b, o);
    text_ptr(b, m);
    text_ptr(b, defaults);
    text_ptr(b, share);
    struct text_entry *e = entry_of(s);
    if (e->value == NULL) {
        e->value = class_new(s, p, o, m, share);
    }
    if (!bound) {
        sched_topo_want(s, e->value, 1);
    }
    if (share != NULL && !bound) {
        share->replicas++;
    }
    return e->value;
}

uint32_t sched_topo_known(struct sched *s, uint32_t pod)
{
    uint32_t at = s->topo.on ? pair_at(s, pod)->class_at : 0;
    return at == 0 ? SCHED_NO_CLAIM : at - 1;
}

void sched_topo_found(struct sched *s, uint32_t pod, uint32_t class_at)
{
    if (s->topo.on && !pair_at(s, pod)->alone) {
        pair_at(s, pod)->class_at = class_at + 1;
    }
}

/* Defaults are about owners, not labels alone, and shares likewise. */
static bool any_rules(struct sched *s)
{
    const struct snapshot *snap = s->snap;
    struct about about;
    bool any = s->topo.shares || snap->rules || snap->bound_rules;
    for (uint32_t i = snap->n_pods; !any && i < s->n_pods; i++) {
        any = has_rules(s->pods[i]->cls);
    }
    for (uint32_t i = 0; !any && s->opt.n_default_spreads > 0 && i < s->n_pods; i++) {
        any = default_about(s, s->pods[i], &about);
    }
    return any && s->n_pods > 0;
}

void sched_topo_begin(struct sched *s)
{
    s->topo.table = ARENA_NEW(s->a, struct topo_table);
    s->topo.table->texts.text.a = s->topo.same.a = s->topo.labels.a = s->a;
    if (s->opt.n_default_spreads > 0) {
        index_services(s);
    }
    s->topo.shares = shares(s);
    s->topo.on = any_rules(s);
    s->topo.pair_of = s->topo.on ? ARENA_NEW_N(s->a, uint32_t, s->n_pods) : NULL;
}

/* The snapshot knows the labels of its own pods, where these have rules. */
static uint32_t labels_of(struct sched *s, uint32_t pod)
{
    bool known = s->snap->labels != NULL && s->n_pods == s->snap->n_pods;
    return known ? s->snap->labels[pod] : labelset_of(&s->topo.labels, s->pods[pod]);
}

static void rules_of(struct sched *s, uint32_t pod)
{
    bool own = s->topo.shares || s->opt.n_default_spreads > 0;
    bool placed = pod < s->snap->n_pods, may = !placed || s->snap->volumes;
    bool alone = own || (may && s->pods[pod]->n_volumes > 0);
    const struct pod_class *cls = placed ? s->snap->classes[pod] : s->pods[pod]->cls;
    uint32_t pair = same_pair(&s->topo.same, cls, labels_of(s, pod), alone);
    s->topo.pair_of[pod] = pair;
    if (s->topo.same.pairs[pair].owner == NULL) {
        s->topo.same.pairs[pair].owner = owner_of(s, s->pods[pod]);
    }
    if (own) {
        (void)share_of(s, s->pods[pod]);
    }
}

bool sched_topo_rules(struct sched *s, uint32_t some)
{
    const struct snapshot *snap = s->snap;
    uint32_t n = s->topo.on ? s->n_pods + snap->n_bound : 0, *at = &s->topo.ruled;
    for (uint32_t i = 0; i < some && *at < n; i++, ++*at) {
        if (*at < s->n_pods) {
            rules_of(s, *at);
            continue;
        }
        const struct pod *p = snap->bound[*at - s->n_pods].pod;
        if (p->cls->anti_affinity.n > 0 && pod_active(p)) {
            (void)bound_owner(s, p);
        }
    }
    if (*at >= n && s->topo.on) {
        uint32_t known = s->snap->n_labels, more = s->topo.labels.n;
        s->topo.matches = ARENA_NEW_N(s->a, const struct groups *, known > more ? known : more);
    }
    return *at >= n;
}

bool sched_topo_in_force(const struct topo_use *u, const struct topo_level *l)
{
    switch (u->soft) {
    case TOPO_SOFT_AFFINITY:
        return u->rank >= l->affinity;
    case TOPO_SOFT_ANTI:
        return u->rank >= l->anti;
    case TOPO_SOFT_SPREAD:
        return u->rank >= l->spread;
    case TOPO_HARD:
        break;
    }
    return true;
}

/* ---- what is bound ----------------------------------------------------------------------------
 */

static void count_bound(struct sched *s, const struct snapshot_bound *b)
{
    const struct groups *m = match_pod(s, b->pod);
    const struct owner *o = b->pod->cls->anti_affinity.n > 0 ? bound_owner(s, b->pod) : NULL;
    uint32_t host = s->host_of[b->node - s->snap->nodes];
    struct topo_group *share = share_of(s, b->pod);
    const struct groups *defaults = default_groups(s, b->pod);
    for (uint32_t g = 0; g < defaults->n; g++) {
        if (selector_matches(&defaults->v[g]->sel, &b->pod->labels)) {
            sched_topo_count_on(s, defaults->v[g], b->node, host);
        }
    }
    for (uint32_t g = 0; g < m->n; g++) {
        if (m->v[g]->kind != TOPO_INVERSE) {
            sched_topo_count_on(s, m->v[g], b->node, host);
        }
    }
    for (uint32_t g = 0; o != NULL && g < o->n_inverse; g++) {
        sched_topo_count_on(s, o->inverse[g], b->node, host);
    }
    if (share != NULL) {
        share->replicas++;
        sched_topo_count_on(s, share, b->node, host);
    }
}

bool sched_topo_count(struct sched *s)
{
    uint32_t n = s->topo.on ? s->snap->n_bound : 0;
    for (uint32_t i = 0; i < TOPO_COUNT_PER_UNIT && s->topo.at < n; i++, s->topo.at++) {
        const struct snapshot_bound *b = &s->snap->bound[s->topo.at];
        if (pod_active(b->pod)) {
            count_bound(s, b);
        }
    }
    return s->topo.at >= n;
}
