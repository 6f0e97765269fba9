/* sched_place.c - does this class fit here, and putting it there. */
#include "common/base/sort.h"
#include "common/core/labels.h"
#include "common/core/want.h"
#include "hostport.h"
#include "sched_int.h"

/* ---- nodes that exist ------------------------------------------------------------------------ */

bool sched_node_takes(struct sched *s, const struct sched_node *n, const struct sched_class *k,
                      const struct sched_ask *ask, bool *ret_for_good)
{
    const struct pod_class *cls = k->cls;
    int64_t volumes, limit;
    *ret_for_good = true;
    return resources_fit(&cls->requests, &n->free, NULL) &&
           taints_refuse(&n->in->taints, &cls->tolerations, !ask->tolerate_prefer) == NULL &&
           hostports_clash(cls->host_ports, cls->n_host_ports, n->ports, n->n_ports) == NULL &&
           sched_volume_over_node(s, n, k->volume, &volumes, &limit) == NULL &&
           want_met(s->a, s->syms, &n->in->labels, &ask->reqs) &&
           sched_topo_node(s, k->topo, &ask->level, n, ret_for_good) == NULL;
}

static void take_ports(struct sched *s, struct host_port **ports, uint32_t *n, uint32_t *cap,
                       const struct pod_class *cls)
{
    for (uint32_t i = 0; i < cls->n_host_ports; i++) {
        ARENA_GROW(s->a, *ports, *n, *cap);
        (*ports)[(*n)++] = cls->host_ports[i];
    }
}

void sched_node_add(struct sched *s, struct sched_node *n, const struct sched_class *k)
{
    if (s->whatif != NULL) {
        whatif_save_node(s, n);
    }
    n->free = resources_add(s->a, &n->free, &k->cls->requests, -1);
    take_ports(s, &n->ports, &n->n_ports, &n->ports_cap, k->cls);
    sched_volume_add(s, &n->volumes, k->volume);
    sched_topo_on_node(s, k->topo, n);
}

/* ---- claims ---------------------------------------------------------------------------------- */

struct sched_open sched_blank(struct sched_pool *p)
{
    /* The cast is harmless: a blank claim is only read. */
    return (struct sched_open){.pool = p,
                               .index = SCHED_NO_CLAIM,
                               .cts = p->n_reservations > 0 ? ~SCHED_RESERVED : ~0u,
                               .reservation = SCHED_NO_CLAIM,
                               .reqs = p->tm.reqs,
                               .types = (uint64_t *)p->tm.types};
}

/* Only a reservation gives a node the labels of one. */
static bool wants_reservation(const struct reqset *reqs)
{
    for (uint32_t i = 0; i < reqs->n; i++) {
        if (sched_reserve_key(reqs->v[i].key) && !req_negative(&reqs->v[i])) {
            return true;
        }
    }
    return false;
}

/* Requirements of the claim with those of the way, and the types that they leave. */
static enum sched_step narrow(struct sched *s, const struct sched_open *c,
                              const struct sched_ask *ask, struct sched_trial *t)
{
    const struct catalog *cat = c->pool->tm.catalog;
    uint32_t words = catalog_words(cat);
    if (ask->claim_reqs.n == 0 && c->index != SCHED_NO_CLAIM) {
        return STEP_TAKEN; /* what others asked for holds */
    }
    t->reqs = reqset_merge(s->a, s->syms, &c->reqs, &ask->claim_reqs);
    t->offer = offerings_mask(cat, s->syms, &t->reqs);
    for (uint32_t i = 0; i < ask->claim_reqs.n; i++) {
        template_narrow(cat, s->syms, reqset_get(&t->reqs, ask->claim_reqs.v[i].key), t->types);
    }
    if (!bits_any(t->types, words) || t->offer.zones == 0 || t->offer.cts == 0 ||
        (c->cts != SCHED_RESERVED && wants_reservation(&t->reqs))) {
        return STEP_TYPES;
    }
    t->offer.cts &= c->cts;
    return STEP_TAKEN;
}

bool sched_group_clash(const struct overhead_group *g, const struct pod_class *cls,
                       const struct daemonset **ret_ds, const struct host_port **ret_port)
{
    for (uint32_t i = 0; cls->n_host_ports > 0 && i < g->n_daemonsets; i++) {
        const struct pod_class *ds = g->daemonsets[i]->cls;
        const struct host_port *p =
            hostports_clash(cls->host_ports, cls->n_host_ports, ds->host_ports, ds->n_host_ports);
        if (p != NULL) {
            *ret_ds = g->daemonsets[i];
            *ret_port = p;
            return true;
        }
    }
    return false;
}

/* Types whose DaemonSets leave the class's host ports free. */
static void narrow_ports(const struct template *tm, const struct pod_class *cls, uint64_t *types)
{
    const struct daemonset *ds;
    const struct host_port *port;
    for (uint32_t g = 0; cls->n_host_ports > 0 && g < tm->n_groups; g++) {
        if (sched_group_clash(&tm->groups[g], cls, &ds, &port)) {
            for (uint32_t w = 0; w < catalog_words(tm->catalog); w++) {
                types[w] &= ~tm->groups[g].types[w];
            }
        }
    }
}

/* Of a group the types that hold the pods beside its DaemonSets. */
static void fit_group(struct sched *s, const struct template *tm, const struct overhead_group *g,
                      const struct resources *requests, uint64_t *bits)
{
    struct arena_mark mark = arena_mark(s->a);
    struct resources need = resources_add(s->a, requests, &g->sum, 1);
    catalog_narrow_fit(tm->catalog, &need, bits);
    arena_rewind(s->a, mark);
}

void sched_fit_types(struct sched *s, const struct template *tm, const struct resources *requests,
                     uint64_t *types)
{
    uint32_t words = catalog_words(tm->catalog);
    if (tm->n_groups == 1) { /* of all types */
        fit_group(s, tm, &tm->groups[0], requests, types);
        return;
    }
    uint64_t ret[CATALOG_WORDS_MAX] = {0};
    for (uint32_t g = 0; g < tm->n_groups; g++) {
        uint64_t bits[CATALOG_WORDS_MAX], any = 0;
        for (uint32_t w = 0; w < words; w++) {
            bits[w] = types[w] & tm->groups[g].types[w];
            any |= bits[w];
        }
        if (any == 0) {
            continue;
        }
        fit_group(s, tm, &tm->groups[g], requests, bits);
        for (uint32_t w = 0; w < words; w++) {
            ret[w] |= bits[w];
        }
    }
    memcpy(types, ret, words * sizeof(*types));
}

static enum sched_step try_labels(struct sched *s, const struct sched_open *c,
                                  const struct sched_class *k, const struct sched_ask *ask,
                                  struct sched_trial *t)
{
    const struct taints *taints = &c->pool->in->np->taints;
    if (taints_refuse(taints, &k->cls->tolerations, !ask->tolerate_prefer) != NULL) {
        return STEP_TAINT;
    }
    if (ask->pinned || !reqset_compatible(s->syms, &c->reqs, &ask->claim_reqs, true, NULL, NULL)) {
        return STEP_LABELS;
    }
    return narrow(s, c, ask, t);
}

/* Takes over what a step left, unless that is nothing. */
static bool keep(uint64_t *types, const uint64_t *left, uint32_t words)
{
    if (!bits_any(left, words)) {
        return false;
    }
    memcpy(types, left, words * sizeof(*types));
    return true;
}

/* Types that hold the class beside what is there, whatever rules about other pods say. */
static enum sched_step try_room(struct sched *s, const struct sched_open *c,
                                const struct sched_class *k, struct sched_trial *t)
{
    const struct template *tm = &c->pool->tm;
    const struct pod_class *cls = k->cls;
    uint32_t words = catalog_words(tm->catalog);
    uint64_t left[CATALOG_WORDS_MAX];
    memcpy(left, t->types, words * sizeof(*left));
    sched_volume_narrow(s, c, k->volume, left, NULL);
    if (k->volume != NULL) {
        sched_trace_note(s, REASON_VolumeLimit, left, words);
    }
    if (!keep(t->types, left, words)) {
        return STEP_VOLUMES;
    }
    narrow_ports(tm, cls, left);
    sched_trace_note(s, REASON_HostPort, left, words);
    if (hostports_clash(cls->host_ports, cls->n_host_ports, c->ports, c->n_ports) != NULL ||
        !keep(t->types, left, words)) {
        return STEP_PORTS;
    }
    sched_fit_types(s, tm, &t->requests, left);
    sched_trace_note(s, REASON_Resources, left, words);
    return keep(t->types, left, words) ? STEP_TAKEN : STEP_FIT;
}

static enum sched_step try_offerings(struct sched *s, const struct sched_open *c,
                                     struct sched_trial *t)
{
    uint32_t words = catalog_words(c->pool->tm.catalog);
    uint64_t left[CATALOG_WORDS_MAX];
    memcpy(left, t->types, words * sizeof(*left));
    offerings_narrow(c->pool->in->offerings, t->offer, left);
    sched_trace_note(s, REASON_Offering, left, words);
    if (!keep(t->types, left, words)) {
        return STEP_OFFERING;
    }
    return sched_values_ok(s, c->pool, &t->reqs, t->types, t->offer) ? STEP_TAKEN : STEP_MIN_VALUES;
}

/* ---- domains -----------------------------------------------------------------------------------
 */

/* The search for domains, key by key. */
struct search {
    struct sched *s;
    const struct sched_open *c;
    const struct sched_class *k;
    const struct sched_ask *ask;
    sym keys[TOPO_MAX_KEYS];
    uint32_t n_keys;
    uint32_t choices; /* left */
    sym values[TOPO_MAX_KEYS][TOPO_MAX_VALUES];
};

static enum sched_step step_of(const struct topo_use *u)
{
    static const enum sched_step steps[] = {
        [TOPO_AFFINITY] = STEP_AFFINITY,     [TOPO_ANTI] = STEP_ANTI_AFFINITY,
        [TOPO_INVERSE] = STEP_ANTI_AFFINITY, [TOPO_SPREAD] = STEP_SPREAD,
        [TOPO_SHARE] = STEP_SHARE,
    };
    return steps[u->g->kind];
}

static int cmp_sym(const void *x, const void *y)
{
    sym a = *(const sym *)x, b = *(const sym *)y;
    return a < b ? -1 : a > b;
}

/* Leaves the claim these values of the key. */
static bool settle(struct search *q, struct sched_trial *t, sym key, const sym *values, uint32_t n)
{
    struct sched *s = q->s;
    const struct catalog *cat = q->c->pool->tm.catalog;
    sym *v = arena_memdup(s->a, values, n * sizeof(*v));
    sort_items(v, n, sizeof(*v), cmp_sym);
    struct req r = {.key = key, .n = n, .values = v};
    t->reqs = reqset_add(s->a, s->syms, &t->reqs, &r);
    t->offer = offerings_mask(cat, s->syms, &t->reqs);
    t->offer.cts &= q->c->cts;
    template_narrow(cat, s->syms, reqset_get(&t->reqs, key), t->types);
    return bits_any(t->types, catalog_words(cat)) && t->offer.zones != 0 && t->offer.cts != 0;
}

static enum sched_step search(struct search *q, uint32_t i, struct sched_trial *t);

/* One value after the other until the rest agrees. */
static enum sched_step choose(struct search *q, uint32_t i, struct sched_trial *t,
                              const sym *values, uint32_t n)
{
    enum sched_step ret = STEP_TYPES;
    const struct sched_trial from = *t;
    struct sched_trial one, best = from;
    for (uint32_t v = 0; v < n && (q->choices > 0 || v == 0); v++) {
        q->choices -= q->choices > 0;
        one = from;
        enum sched_step step =
            settle(q, &one, q->keys[i], &values[v], 1) ? search(q, i + 1, &one) : STEP_OFFERING;
        if (step == STEP_TAKEN) {
            *t = one;
            return step;
        }
        if (step > ret) {
            ret = step;
            best = one;
        }
    }
    *t = best;
    return ret;
}

static enum sched_step search(struct search *q, uint32_t i, struct sched_trial *t)
{
    struct sched *s = q->s;
    if (i == q->n_keys) {
        return try_offerings(s, q->c, t);
    }
    sym *values = q->values[i];
    const struct topo_use *broken = NULL;
    bool one = false;
    uint32_t had =
        sched_topo_values(s, q->c->pool, &t->reqs, t->types, t->offer, q->keys[i], values);
    uint32_t n =
        sched_topo_allow(s, q->k->topo, &q->ask->level, q->keys[i], values, had, &one, &broken);
    if (broken != NULL) {
        t->broken = broken;
        return step_of(broken);
    }
    if (n == 0) {
        return search(q, i + 1, t);
    }
    const struct req *r = reqset_get(&t->reqs, q->keys[i]);
    bool settled = had == 1 && r != NULL && req_single(r) != SYM_NONE;
    if (one && !settled) {
        return choose(q, i, t, values, n);
    }
    if (n < had && !settle(q, t, q->keys[i], values, n)) {
        return STEP_OFFERING;
    }
    return search(q, i + 1, t);
}

static enum sched_step try_domains(struct sched *s, const struct sched_open *c,
                                   const struct sched_class *k, const struct sched_ask *ask,
                                   struct sched_trial *t)
{
    struct search q;
    q.s = s;
    q.c = c;
    q.k = k;
    q.ask = ask;
    q.choices = TOPO_MAX_CHOICES;
    q.n_keys = sched_topo_keys(k->topo, &ask->level, q.keys);
    if (q.n_keys == 0) {
        return try_offerings(s, c, t);
    }
    t->for_now = k->changes;
    return search(&q, 0, t);
}

/* Rules about hosts alone: cheap, so they are asked first. */
static enum sched_step try_host(struct sched *s, const struct sched_open *c,
                                const struct sched_class *k, const struct sched_ask *ask,
                                struct sched_trial *t)
{
    uint32_t host =
        c->index == SCHED_NO_CLAIM ? SCHED_NO_CLAIM : s->n_nodes + s->n_closed + c->index;
    t->broken = sched_topo_host(s, k->topo, &ask->level, host, c->pool);
    if (t->broken == NULL) {
        return STEP_TAKEN;
    }
    t->for_now = t->broken->g->kind == TOPO_AFFINITY;
    return step_of(t->broken);
}

/* Resources are asked for first because that is cheap and for good; but a rule about other pods
 * that no new node meets is the earlier reason. */
static enum sched_step rule_before_fit(struct sched *s, const struct sched_open *c,
                                       const struct sched_class *k, const struct sched_ask *ask,
                                       struct sched_trial *t)
{
    struct sched_trial any_size = *t;
    enum sched_step step = try_domains(s, c, k, ask, &any_size);
    if (step < STEP_AFFINITY || step > STEP_SHARE) {
        return STEP_FIT;
    }
    t->broken = any_size.broken;
    return step;
}

enum sched_step sched_claim_try(struct sched *s, const struct sched_open *c,
                                const struct sched_class *k, const struct sched_ask *ask,
                                struct sched_trial *t)
{
    bool open = c->index != SCHED_NO_CLAIM;
    bool known = open && claim_set_has(&ask->accepted, c->index);
    t->for_now = false;
    enum sched_step host = try_host(s, c, k, ask, t);
    if (open && host != STEP_TAKEN) {
        return host;
    }
    memcpy(t->types, c->types, catalog_words(c->pool->tm.catalog) * sizeof(*t->types));
    t->reqs = c->reqs;
    t->offer = c->offer;
    t->requests = resources_add(s->a, &c->requests, &k->cls->requests, 1);
    enum sched_step step = known ? STEP_TAKEN : try_labels(s, c, k, ask, t);
    if (step != STEP_TAKEN) {
        t->for_now = false;
        return step;
    }
    step = try_room(s, c, k, t);
    if (host != STEP_TAKEN && (step == STEP_TAKEN || step > host)) {
        return host;
    }
    if (step != STEP_TAKEN) {
        t->for_now = false;
        return step == STEP_FIT && !open ? rule_before_fit(s, c, k, ask, t) : step;
    }
    return try_domains(s, c, k, ask, t);
}

void sched_claim_add(struct sched *s, struct sched_open *c, const struct sched_class *k,
                     const struct sched_trial *t, struct sched_taken taken)
{
    c->reqs = t->reqs;
    c->offer = t->offer;
    c->requests = t->requests;
    memcpy(c->types, t->types, catalog_words(c->pool->tm.catalog) * sizeof(*c->types));
    if (c->pool->in->np->has_limits) {
        sched_limit_touch(c);
    }
    ARENA_GROW(s->a, c->pods, c->n_pods, c->pods_cap);
    ARENA_GROW(s->a, c->taken, c->n_pods, c->taken_cap);
    c->taken[c->n_pods] = taken;
    c->pods[c->n_pods++] = s->pods[taken.pod];
    take_ports(s, &c->ports, &c->n_ports, &c->ports_cap, k->cls);
    sched_volume_add(s, &c->volumes, k->volume);
    sched_topo_on_claim(s, k->topo, c);
}
