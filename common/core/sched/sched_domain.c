/* sched_domain.c - which places the rules about other pods leave; see sched_topo.h. */
#include "common/core/labels.h"
#include "common/core/want.h"
#include "sched_int.h"

/* ---- values of a key ---------------------------------------------------------------------------
 */

struct values {
    sym *v;
    uint32_t n;
};

static void add(struct values *set, sym value)
{
    for (uint32_t i = 0; i < set->n; i++) {
        if (set->v[i] == value) {
            return;
        }
    }
    if (set->n < TOPO_MAX_VALUES) {
        set->v[set->n++] = value;
    }
}

static void sort_by_string(const struct sched *s, struct values *set)
{
    for (uint32_t i = 1; i < set->n; i++) {
        sym one = set->v[i];
        uint32_t j = i;
        for (; j > 0 && sym_cmp(s->syms, set->v[j - 1], one) > 0; j--) {
            set->v[j] = set->v[j - 1];
        }
        set->v[j] = one;
    }
}

static void zone_values(const struct sched_pool *p, const uint64_t *types, struct offer_mask offer,
                        sym key, struct values *set)
{
    const struct catalog *c = p->tm.catalog;
    for (uint32_t z = 0; z < catalog_n_zones(c); z++) {
        struct offer_mask one = {offer.zones & UINT64_C(1) << z, offer.cts};
        sym value = key == L_ZONE ? catalog_zone(c, z) : catalog_zone_id(c, z);
        if (one.zones != 0 && value != SYM_NONE && offerings_any(p->in->offerings, one, types)) {
            add(set, value);
        }
    }
}

static void capacity_type_values(const struct sched_pool *p, const uint64_t *types,
                                 struct offer_mask offer, struct values *set)
{
    for (unsigned ct = 0; ct < CT_COUNT; ct++) {
        struct offer_mask one = {offer.zones, offer.cts & 1u << ct};
        if (one.cts != 0 && offerings_any(p->in->offerings, one, types)) {
            add(set, capacity_type_sym((enum capacity_type)ct));
        }
    }
}

static void type_values(const struct sched *s, const struct sched_pool *p, const uint64_t *types,
                        struct offer_mask offer, const struct req *r, sym key, struct values *set)
{
    const struct catalog *c = p->tm.catalog;
    uint32_t words = catalog_words(c);
    uint64_t bits[CATALOG_WORDS_MAX] = {0};
    memcpy(bits, types, words * sizeof(*bits));
    offerings_narrow(p->in->offerings, offer, bits);
    for (int i = bits_next(bits, words, 0); i >= 0; i = bits_next(bits, words, (uint32_t)i + 1)) {
        const struct req *l = catalog_label(c, (uint32_t)i, key);
        for (uint32_t v = 0; l != NULL && v < l->n; v++) {
            if (r == NULL || req_has(s->syms, r, l->values[v])) {
                add(set, l->values[v]);
            }
        }
    }
}

uint32_t sched_topo_values(struct sched *s, const struct sched_pool *p, const struct reqset *reqs,
                           const uint64_t *types, struct offer_mask offer, sym key, sym *ret)
{
    struct values set = {ret, 0};
    const struct req *r = reqset_get(reqs, key);
    if (key == L_ZONE || key == L_ZONE_ID) {
        zone_values(p, types, offer, key, &set);
    } else if (key == L_CAPACITY_TYPE) {
        capacity_type_values(p, types, offer, &set);
    } else if (r != NULL && !r->complement) {
        for (uint32_t i = 0; i < r->n; i++) {
            add(&set, r->values[i]);
        }
    } else if (catalog_knows_key(p->tm.catalog, key)) {
        type_values(s, p, types, offer, r, key, &set);
    }
    sort_by_string(s, &set);
    return set.n;
}

/* ---- the domains of a spread --------------------------------------------------------------------
 */

/* What one required term of the class (or none) could get from the pool. */
static void pool_domains(struct sched *s, const struct sched_pool *p, const struct pod_class *cls,
                         const struct affinity_term *term, sym key, struct values *set)
{
    struct reqset want;
    uint64_t types[CATALOG_WORDS_MAX] = {0};
    const struct catalog *c = p->tm.catalog;
    if (!want_build(s->a, s->syms, cls, term, NULL, &want)) {
        return;
    }
    want = reqset_without(s->a, &want, L_HOSTNAME);
    if (!reqset_compatible(s->syms, &p->tm.reqs, &want, true, NULL, NULL)) {
        return;
    }
    struct reqset reqs = reqset_merge(s->a, s->syms, &p->tm.reqs, &want);
    memcpy(types, p->tm.types, catalog_words(c) * sizeof(*types));
    for (uint32_t i = 0; i < want.n; i++) {
        template_narrow(c, s->syms, reqset_get(&reqs, want.v[i].key), types);
    }
    sched_limit_at_first(s, p, types);
    if (!bits_any(types, catalog_words(c))) {
        return;
    }
    sym values[TOPO_MAX_VALUES];
    struct offer_mask offer = offerings_mask(c, s->syms, &reqs);
    uint32_t n = sched_topo_values(s, p, &reqs, types, offer, key, values);
    for (uint32_t i = 0; i < n; i++) {
        add(set, values[i]);
    }
}

bool sched_topo_has_keys(const struct topo_group *g, const struct reqset *labels)
{
    for (uint32_t i = 0; i < g->n_keys; i++) {
        const struct req *r = reqset_get(labels, g->keys[i]);
        if (r == NULL || req_negative(r)) {
            return false;
        }
    }
    return true;
}

/* Nodes of the pool, or some of them, have the keys of all spreads beside the group's. */
static bool pool_has_keys(const struct sched_pool *p, const struct reqset *reqs,
                          const struct topo_group *g)
{
    for (uint32_t i = 0; i < g->n_keys; i++) {
        const struct req *r = reqset_get(reqs, g->keys[i]);
        if ((r == NULL || req_negative(r)) && !catalog_knows_key(p->tm.catalog, g->keys[i])) {
            return false;
        }
    }
    return true;
}

static void domains_of_pools(struct sched *s, const struct pod_class *cls,
                             const struct topo_group *g, struct values *set)
{
    for (uint32_t i = 0; i < s->n_pools; i++) {
        const struct sched_pool *p = &s->pools[i];
        if (!p->usable || !pool_has_keys(p, &p->tm.reqs, g) ||
            taints_refuse(&p->in->np->taints, &cls->tolerations, false) != NULL) {
            continue;
        }
        if (cls->n_required == 0) {
            pool_domains(s, p, cls, NULL, g->key, set);
        }
        for (uint32_t t = 0; t < cls->n_required; t++) {
            pool_domains(s, p, cls, &cls->required[t], g->key, set);
        }
    }
}

static void domains_of_nodes(struct sched *s, const struct topo_group *g, struct values *set)
{
    for (uint32_t i = 0; i < s->snap->n_nodes; i++) {
        const struct snapshot_node *n = &s->snap->nodes[i];
        const struct req *r = reqset_get(&n->labels, g->key);
        if (!n->leaving && r != NULL && !r->complement && r->n == 1 &&
            sched_topo_includes(s, g, n)) {
            add(set, r->values[0]);
        }
    }
}

/* Found out when first needed. cls is the class that has the rule. */
static void learn_domains(struct sched *s, const struct pod_class *cls, struct topo_use *u)
{
    sym values[TOPO_MAX_VALUES];
    struct values set = {values, 0};
    domains_of_nodes(s, u->g, &set);
    domains_of_pools(s, cls, u->g, &set);
    for (uint32_t i = 0; i < set.n; i++) {
        sched_topo_add_domain(s, u->g, set.v[i]);
    }
    u->domains = arena_memdup(s->keep, set.v, set.n * sizeof(*set.v));
    u->n_domains = u->cap_domains = set.n;
    u->known = true;
}

/* The only value of the key that a node of the claim can come to have, or SYM_NONE. */
static sym settled(const struct sched_open *c, sym key)
{
    const struct catalog *cat = c->pool->tm.catalog;
    uint64_t zones = c->offer.zones;
    if ((key == L_ZONE || key == L_ZONE_ID) && zones != 0 && (zones & (zones - 1)) == 0) {
        uint32_t z = (uint32_t)__builtin_ctzll(zones);
        return key == L_ZONE ? catalog_zone(cat, z) : catalog_zone_id(cat, z);
    }
    if (key == L_CAPACITY_TYPE && c->offer.cts != 0 && (c->offer.cts & (c->offer.cts - 1)) == 0) {
        return capacity_type_sym((enum capacity_type)__builtin_ctz(c->offer.cts));
    }
    const struct req *r = reqset_get(&c->reqs, key);
    return r ? req_single(r) : SYM_NONE;
}

static bool has_domain(const struct topo_use *u, sym value)
{
    for (uint32_t i = 0; i < u->n_domains; i++) {
        if (u->domains[i] == value) {
            return true;
        }
    }
    return false;
}

static bool claim_included(struct sched *s, const struct topo_group *g, const struct sched_open *c);

/* All zones that a new node can come to be in are domains already, as nearly always. */
static bool zones_known(const struct sched *s, struct topo_use *u)
{
    const struct catalog *cat = s->catalog;
    sym key = u->g->key;
    if ((key != L_ZONE && key != L_ZONE_ID) || s->whatif != NULL || cat == NULL) {
        return false;
    }
    for (uint64_t left = u->zones_from == u->n_domains ? 0 : s->zones; left != 0;
         left &= left - 1) {
        uint32_t z = (uint32_t)__builtin_ctzll(left);
        if (!has_domain(u, key == L_ZONE ? catalog_zone(cat, z) : catalog_zone_id(cat, z))) {
            return false;
        }
    }
    u->zones_from = u->n_domains;
    return u->n_domains > 0;
}

/* The count of the emptiest domain; 0 while there are fewer than minDomains. */
static uint32_t least_of(struct sched *s, struct topo_use *u)
{
    (void)s;
    if (u->least_stamp == u->g->stamp + 1) {
        return u->least;
    }
    uint32_t least = u->n_domains > 0 ? UINT32_MAX : 0;
    for (uint32_t i = 0; i < u->n_domains; i++) {
        uint32_t n = sched_topo_count_in(u->g, u->domains[i]);
        least = n < least ? n : least;
    }
    if (u->g->min_domains > 0 && u->n_domains < (uint32_t)u->g->min_domains) {
        least = 0;
    }
    u->least = least;
    u->least_stamp = u->g->stamp + 1;
    return least;
}

/* Claims opened since the last look: each will be a node like those that are there. */
static void learn_claims(struct sched *s, struct topo_use *u)
{
    if (s->whatif != NULL && whatif_refresh_use(s, u)) {
        u->claims_seen = 0;
    }
    if (zones_known(s, u)) {
        u->claims_seen = s->n_claims;
    }
    for (; u->claims_seen < s->n_claims; u->claims_seen++) {
        const struct sched_open *c = s->claims[u->claims_seen];
        sym value = settled(c, u->g->key);
        if (value == SYM_NONE || has_domain(u, value) || !claim_included(s, u->g, c)) {
            continue;
        }
        uint32_t least = least_of(s, u);
        if (s->whatif != NULL) {
            whatif_save_domains(s, u);
        }
        ARENA_GROW(s->a, u->domains, u->n_domains, u->cap_domains);
        u->domains[u->n_domains++] = value;
        u->least_stamp = 0;
        uint32_t now = least_of(s, u);
        u->lost += now < least ? least - now : 0;
    }
}

void sched_topo_learn(struct sched *s, const struct pod_class *cls, const struct topo_class *k)
{
    for (uint32_t i = 0; k != NULL && i < k->n_uses; i++) {
        struct topo_use *u = &k->uses[i];
        if (u->g->kind != TOPO_SPREAD || u->g->host) {
            continue;
        }
        if (!u->known) {
            learn_domains(s, cls, u);
        }
        learn_claims(s, u);
    }
}

/* ---- one rule, one domain
 * ------------------------------------------------------------------------ */

/* No pod that any of its required terms asks for is anywhere, and it is one itself: the first of
 * its kind goes where it likes. A preferred term stands for itself. */
static bool first_of_its_kind(const struct topo_class *k, const struct topo_use *u)
{
    if (u->soft != TOPO_HARD) {
        return u->self && u->g->total == 0;
    }
    for (uint32_t i = 0; i < k->n_uses; i++) {
        const struct topo_use *o = &k->uses[i];
        if (o->g->kind == TOPO_AFFINITY && o->soft == TOPO_HARD && (!o->self || o->g->total != 0)) {
            return false;
        }
    }
    return true;
}

static bool allowed(struct sched *s, const struct topo_class *k, struct topo_use *u, sym value)
{
    uint32_t n = sched_topo_count_in(u->g, value);
    switch (u->g->kind) {
    case TOPO_AFFINITY:
        return n > 0 || first_of_its_kind(k, u);
    case TOPO_ANTI:
    case TOPO_INVERSE:
        return n == 0;
    case TOPO_SPREAD:
        return (int64_t)n + u->self - least_of(s, u) <= u->g->max_skew;
    case TOPO_SHARE:
        break;
    }
    return true;
}

/* The most pods of a workload on one node: its share, rounded up, at least one. */
static uint32_t share_cap(const struct sched *s, const struct topo_group *g,
                          const struct sched_pool *p)
{
    uint64_t share = p ? p->max_share_permyriad : s->opt.max_share_permyriad;
    uint64_t cap = (share * g->replicas + 9999) / 10000;
    return share == 0 ? UINT32_MAX : cap < 1 ? 1 : (uint32_t)cap;
}

bool sched_topo_host_ok(struct sched *s, const struct topo_class *k, const struct topo_use *u,
                        uint32_t host, const struct sched_pool *p)
{
    uint32_t n = host < u->g->cap_hosts ? u->g->hosts[host] : 0;
    switch (u->g->kind) {
    case TOPO_AFFINITY:
        return n > 0 || first_of_its_kind(k, u);
    case TOPO_ANTI:
    case TOPO_INVERSE:
        return n == 0;
    case TOPO_SPREAD:
        return (int64_t)n + u->self <= u->g->max_skew;
    case TOPO_SHARE:
        return n < share_cap(s, u->g, p);
    }
    return true;
}

const struct topo_use *sched_topo_host(struct sched *s, const struct topo_class *k,
                                       const struct topo_level *l, uint32_t host,
                                       const struct sched_pool *p)
{
    for (uint32_t i = 0; k != NULL && i < k->n_uses; i++) {
        const struct topo_use *u = &k->uses[i];
        if (u->g->host && sched_topo_in_force(u, l) && !sched_topo_host_ok(s, k, u, host, p)) {
            return u;
        }
    }
    return NULL;
}

/* ---- nodes
 * ---------------------------------------------------------------------------------------- */

/* A node whose label may still become one of several values does only if all would. */
static bool node_allowed(struct sched *s, const struct topo_class *k, struct topo_use *u,
                         const struct snapshot_node *n)
{
    const struct req *r = reqset_get(&n->labels, u->g->key);
    bool anti = u->g->kind == TOPO_ANTI || u->g->kind == TOPO_INVERSE;
    if (r == NULL || r->complement || r->n == 0) {
        return anti;
    }
    for (uint32_t i = 0; i < r->n; i++) {
        if (!allowed(s, k, u, r->values[i])) {
            return false;
        }
    }
    return true;
}

static bool may_change(const struct topo_use *u)
{
    return u->g->kind == TOPO_AFFINITY || (u->g->kind == TOPO_SPREAD && !u->g->host);
}

/* In what-ifs pods leave, so that only what a host has on itself stays. */
static bool lasts(const struct sched *s, const struct topo_use *u)
{
    return !may_change(u) && (s->whatif == NULL || u->g->host);
}

const struct topo_use *sched_topo_node(struct sched *s, const struct topo_class *k,
                                       const struct topo_level *l, const struct sched_node *n,
                                       bool *ret_for_good)
{
    const struct topo_use *broken = NULL;
    for (uint32_t i = 0; k != NULL && i < k->n_uses; i++) {
        struct topo_use *u = &k->uses[i];
        if (!sched_topo_in_force(u, l)) {
            continue;
        }
        bool ok = u->g->host ? sched_topo_host_ok(s, k, u, n->host, n->pool)
                             : node_allowed(s, k, u, n->in);
        if (!ok) {
            broken = u;
            *ret_for_good = lasts(s, u);
            if (*ret_for_good) {
                return broken;
            }
        }
    }
    return broken;
}

/* ---- claims
 * --------------------------------------------------------------------------------------- */

/* Other pods of this pass depend on where the one that the group counts lies. */
static bool pinned(const struct topo_class *k, const struct topo_group *g)
{
    bool own = false;
    for (uint32_t i = 0; i < k->n_uses && !own; i++) {
        own = k->uses[i].g == g;
    }
    bool anti = g->kind == TOPO_ANTI || g->kind == TOPO_INVERSE;
    return !g->host && g->wanted > (anti && own ? 1u : 0u);
}

static uint32_t add_key(sym *keys, uint32_t n, sym key)
{
    for (uint32_t i = 0; i < n; i++) {
        if (keys[i] == key) {
            return n;
        }
    }
    if (n < TOPO_MAX_KEYS) {
        keys[n++] = key;
    }
    return n;
}

uint32_t sched_topo_keys(const struct topo_class *k, const struct topo_level *l, sym *ret)
{
    uint32_t n = 0;
    for (uint32_t i = 0; k != NULL && i < k->n_uses; i++) {
        if (!k->uses[i].g->host && sched_topo_in_force(&k->uses[i], l)) {
            n = add_key(ret, n, k->uses[i].g->key);
        }
    }
    for (uint32_t i = 0; k != NULL && i < k->n_counted; i++) {
        if (pinned(k, k->counted[i])) {
            n = add_key(ret, n, k->counted[i]->key);
        }
    }
    return n;
}

/* Where the fewest pods are that decide about it; then by string. */
static void sort_by_count(const struct topo_group *g, sym *values, uint32_t n)
{
    for (uint32_t i = 1; g != NULL && i < n; i++) {
        sym one = values[i];
        uint32_t c = sched_topo_count_in(g, one), j = i;
        for (; j > 0 && sched_topo_count_in(g, values[j - 1]) > c; j--) {
            values[j] = values[j - 1];
        }
        values[j] = one;
    }
}

/* By whose counts a domain is chosen: the first spread in force, else the first pinned one. */
static const struct topo_group *chooser(const struct topo_class *k, const struct topo_level *l,
                                        sym key, bool *ret_choose)
{
    const struct topo_group *ret = NULL;
    *ret_choose = false;
    for (uint32_t i = 0; i < k->n_uses; i++) {
        const struct topo_use *u = &k->uses[i];
        bool here = u->g->key == key && sched_topo_in_force(u, l);
        if (here && u->g->kind == TOPO_SPREAD) {
            ret = ret ? ret : u->g;
            *ret_choose = true;
        } else if (here && u->g->kind == TOPO_AFFINITY && first_of_its_kind(k, u)) {
            *ret_choose = true;
        }
    }
    for (uint32_t i = 0; i < k->n_counted; i++) {
        const struct topo_group *g = k->counted[i];
        if (g->key == key && pinned(k, g)) {
            *ret_choose = true;
            ret = ret == NULL && g->kind == TOPO_SPREAD ? g : ret;
        }
    }
    return ret;
}

uint32_t sched_topo_allow(struct sched *s, const struct topo_class *k, const struct topo_level *l,
                          sym key, sym *values, uint32_t n, bool *ret_choose,
                          const struct topo_use **ret_use)
{
    for (uint32_t i = 0; i < k->n_uses; i++) {
        struct topo_use *u = &k->uses[i];
        bool anti = u->g->kind == TOPO_ANTI || u->g->kind == TOPO_INVERSE;
        uint32_t kept = 0;
        if (u->g->key != key || u->g->host || !sched_topo_in_force(u, l)) {
            continue;
        }
        for (uint32_t v = 0; v < n; v++) {
            if (allowed(s, k, u, values[v])) {
                values[kept++] = values[v];
            }
        }
        if (kept == 0 && !(anti && n == 0)) {
            *ret_use = u;
            return 0;
        }
        n = kept;
    }
    const struct topo_group *by = chooser(k, l, key, ret_choose);
    sort_by_count(by, values, n);
    return n;
}

/* ---- counting what was placed
 * ----------------------------------------------------------------------- */

void sched_topo_on_node(struct sched *s, const struct topo_class *k, const struct sched_node *n)
{
    for (uint32_t i = 0; k != NULL && i < k->n_counted; i++) {
        sched_topo_count_on(s, k->counted[i], n->in, n->host);
    }
}

/* May a node of the claim be one that the group counts? Its labels are narrowed enough to tell. */
static bool claim_included(struct sched *s, const struct topo_group *g, const struct sched_open *c)
{
    if (!pool_has_keys(c->pool, &c->reqs, g)) {
        return false;
    }
    if (g->filter == NULL) {
        return true;
    }
    if (g->honor_taints &&
        taints_refuse(&c->pool->in->np->taints, &g->filter->tolerations, false) != NULL) {
        return false;
    }
    bool met = !g->honor_affinity;
    const struct pod_class *f = g->filter;
    for (uint32_t i = 0; i < (f->n_required ? f->n_required : 1) && !met; i++) {
        struct arena_mark mark = arena_mark(s->a);
        struct reqset want;
        met = want_build(s->a, s->syms, f, f->n_required ? &f->required[i] : NULL, NULL, &want) &&
              reqset_compatible(s->syms, &c->reqs, &want, true, NULL, NULL);
        arena_rewind(s->a, mark);
    }
    return met;
}

static void count_on_claim(struct sched *s, struct topo_group *g, const struct sched_open *c)
{
    sym values[TOPO_MAX_VALUES];
    if (g->kind == TOPO_SPREAD && !claim_included(s, g, c)) {
        return;
    }
    if (g->host) {
        sched_topo_bump_host(s, g, s->n_nodes + s->n_closed + c->index);
        return;
    }
    uint32_t n = sched_topo_values(s, c->pool, &c->reqs, c->types, c->offer, g->key, values);
    bool anti = g->kind == TOPO_ANTI || g->kind == TOPO_INVERSE;
    for (uint32_t i = 0; (n == 1 || anti) && i < n; i++) {
        sched_topo_bump(s, g, values[i]);
    }
}

void sched_topo_on_claim(struct sched *s, const struct topo_class *k, const struct sched_open *c)
{
    for (uint32_t i = 0; k != NULL && i < k->n_counted; i++) {
        count_on_claim(s, k->counted[i], c);
    }
}

/* ---- what may change
 * --------------------------------------------------------------------------------- */

bool sched_topo_changes(const struct topo_class *k)
{
    for (uint32_t i = 0; k != NULL && i < k->n_uses; i++) {
        if (may_change(&k->uses[i])) {
            return true;
        }
    }
    return false;
}

uint64_t sched_topo_state(struct sched *s, const struct topo_class *k)
{
    uint64_t ret = 0;
    for (uint32_t i = 0; k != NULL && i < k->n_uses; i++) {
        struct topo_use *u = &k->uses[i];
        if (u->g->kind == TOPO_AFFINITY) {
            ret += u->g->opened;
        } else if (u->g->kind == TOPO_SPREAD && !u->g->host) {
            ret += least_of(s, u) + u->lost;
        }
    }
    return ret;
}

/* ---- why not
 * ------------------------------------------------------------------------------------------ */

static const enum reason_code codes[] = {
    [TOPO_AFFINITY] = REASON_PodAffinity,    [TOPO_ANTI] = REASON_PodAntiAffinity,
    [TOPO_INVERSE] = REASON_PodAntiAffinity, [TOPO_SPREAD] = REASON_TopologySpread,
    [TOPO_SHARE] = REASON_MaxShare,
};

static const char *selector_text(struct arena *a, const struct selector *sel)
{
    struct buf b;
    buf_init(&b, 512);
    selector_fmt(sel, &b);
    const char *ret = arena_strdup(a, b.p);
    buf_done(&b);
    return ret;
}

void sched_topo_reason(struct sched *s, const struct topo_use *u, struct reason *r)
{
    const struct topo_group *g = u->g;
    const char *who = g->owner_uid ? "its workload" : selector_text(s->a, &g->sel);
    const char *key = sym_str(s->syms, g->key);
    *r = (struct reason){.code = codes[g->kind], .key = g->key, .short_of = {.res = RES_FIXED}};
    switch (g->kind) {
    case TOPO_AFFINITY:
        r->text = arena_printf(s->a, "%s with a pod of %s within reach",
                               g->host ? "no node" : arena_printf(s->a, "no %s", key), who);
        break;
    case TOPO_ANTI:
        r->text = arena_printf(s->a, "every %s within reach has a pod of %s", key, who);
        break;
    case TOPO_INVERSE:
        r->text =
            arena_printf(s->a, "pods in every %s within reach keep pods of %s away", key, who);
        break;
    case TOPO_SPREAD:
        r->limit = g->max_skew;
        r->count = least_of(s, (struct topo_use *)(uintptr_t)u);
        r->text = arena_printf(s->a, "over %s, maxSkew %d, the emptiest of %u has %lld of %s", key,
                               (int)g->max_skew, (unsigned)u->n_domains, (long long)r->count, who);
        break;
    case TOPO_SHARE:
        r->count = g->replicas;
        r->text = arena_printf(s->a, "of its %u replicas", (unsigned)g->replicas);
        break;
    }
}
