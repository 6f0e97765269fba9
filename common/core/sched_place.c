/* sched_place.c - does this class fit here, and putting it there. */
#include "hostport.h"
#include "labels.h"
#include "sched_int.h"
#include "want.h"

/* ---- nodes that exist ------------------------------------------------------------------------ */

bool sched_node_takes(struct sched *s, const struct sched_node *n, const struct sched_class *k,
                      const struct sched_ask *ask)
{
    const struct pod_class *cls = k->cls;
    return resources_fit(&cls->requests, &n->free, NULL) &&
           taints_refuse(&n->in->taints, &cls->tolerations, !ask->tolerate_prefer) == NULL &&
           hostports_clash(cls->host_ports, cls->n_host_ports, n->ports, n->n_ports) == NULL &&
           want_met(s->a, s->syms, &n->in->labels, &ask->reqs);
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
    n->free = resources_add(s->a, &n->free, &k->cls->requests, -1);
    take_ports(s, &n->ports, &n->n_ports, &n->ports_cap, k->cls);
}

/* ---- claims ---------------------------------------------------------------------------------- */

struct sched_open sched_blank(struct sched_pool *p)
{
    /* The cast is harmless: a blank claim is only read. */
    return (struct sched_open){.pool = p,
                               .index = SCHED_NO_CLAIM,
                               .reqs = p->tm.reqs,
                               .types = (uint64_t *)p->tm.types,
                               .reserve_stale = true};
}

/* Requirements of the claim with those of the way, and the types that they leave. */
static enum sched_step narrow(struct sched *s, const struct sched_open *c,
                              const struct sched_ask *ask, struct sched_trial *t)
{
    const struct catalog *cat = c->pool->tm.catalog;
    uint32_t words = catalog_words(cat);
    t->reqs = reqset_merge(s->a, s->syms, &c->reqs, &ask->claim_reqs);
    t->offer = offerings_mask(cat, s->syms, &t->reqs);
    for (uint32_t i = 0; i < ask->claim_reqs.n; i++) {
        template_narrow(cat, s->syms, reqset_get(&t->reqs, ask->claim_reqs.v[i].key), t->types);
    }
    return bits_any(t->types, words) && t->offer.zones != 0 && t->offer.cts != 0 ? STEP_TAKEN
                                                                                 : STEP_TYPES;
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

/* Types that hold the pods and the DaemonSets of their group. */
static void narrow_fit(struct sched *s, const struct template *tm, const struct resources *requests,
                       uint64_t *types)
{
    uint32_t words = catalog_words(tm->catalog);
    uint64_t ret[CATALOG_WORDS_MAX] = {0};
    for (uint32_t g = 0; g < tm->n_groups; g++) {
        uint64_t bits[CATALOG_WORDS_MAX] = {0}, any = 0;
        for (uint32_t w = 0; w < words; w++) {
            bits[w] = types[w] & tm->groups[g].types[w];
            any |= bits[w];
        }
        if (any == 0) {
            continue;
        }
        struct arena_mark mark = arena_mark(s->a);
        struct resources need = resources_add(s->a, requests, &tm->groups[g].sum, 1);
        catalog_narrow_fit(tm->catalog, &need, bits);
        arena_rewind(s->a, mark);
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

static enum sched_step try_types(struct sched *s, const struct sched_open *c,
                                 const struct pod_class *cls, struct sched_trial *t)
{
    const struct template *tm = &c->pool->tm;
    uint32_t words = catalog_words(tm->catalog);
    uint64_t left[CATALOG_WORDS_MAX] = {0};
    memcpy(left, t->types, words * sizeof(*left));
    narrow_ports(tm, cls, left);
    sched_trace_note(s, REASON_HostPort, left, words);
    if (hostports_clash(cls->host_ports, cls->n_host_ports, c->ports, c->n_ports) != NULL ||
        !keep(t->types, left, words)) {
        return STEP_PORTS;
    }
    narrow_fit(s, tm, &t->requests, left);
    sched_trace_note(s, REASON_Resources, left, words);
    if (!keep(t->types, left, words)) {
        return STEP_FIT;
    }
    offerings_narrow(c->pool->in->offerings, t->offer, left);
    sched_trace_note(s, REASON_Offering, left, words);
    if (!keep(t->types, left, words)) {
        return STEP_OFFERING;
    }
    return sched_values_ok(s, c->pool, &t->reqs, t->types, t->offer) ? STEP_TAKEN : STEP_MIN_VALUES;
}

enum sched_step sched_claim_try(struct sched *s, const struct sched_open *c,
                                const struct sched_class *k, const struct sched_ask *ask,
                                struct sched_trial *t)
{
    bool known = c->index != SCHED_NO_CLAIM && claim_set_has(&ask->accepted, c->index);
    memcpy(t->types, c->types, catalog_words(c->pool->tm.catalog) * sizeof(*t->types));
    t->reqs = c->reqs;
    t->offer = c->offer;
    t->requests = resources_add(s->a, &c->requests, &k->cls->requests, 1);
    if (!known) {
        enum sched_step step = try_labels(s, c, k, ask, t);
        if (step != STEP_TAKEN) {
            return step;
        }
    }
    return try_types(s, c, k->cls, t);
}

void sched_claim_add(struct sched *s, struct sched_open *c, const struct sched_class *k,
                     const struct sched_trial *t, const struct pod *pod)
{
    c->reqs = t->reqs;
    c->offer = t->offer;
    c->requests = t->requests;
    memcpy(c->types, t->types, catalog_words(c->pool->tm.catalog) * sizeof(*c->types));
    c->reserve_stale = true;
    ARENA_GROW(s->a, c->pods, c->n_pods, c->pods_cap);
    c->pods[c->n_pods++] = pod;
    take_ports(s, &c->ports, &c->n_ports, &c->ports_cap, k->cls);
}
