/* improve_host.c - rules between pods of one host; see improve_int.h.
 *
 * Hard rules must hold when the pods are bound in their turn, as the pass itself went: a spread
 * looks at the pods that came before, not at those after. Anti-affinity and shares are the same in
 * any order. A preference of a pod that is there already is not taken away either.
 */
#include "improve_int.h"

/* Pods of a rule in one bin that are put in order; where there are more nothing is moved. */
#define MEMBERS_MAX 64

static bool in_force(const struct improve_kind *k, const struct topo_use *u)
{
    return u->g->host && sched_topo_in_force(u, &k->ask->level);
}

/* Groups are numbered before anybody asks. */
static bool bit(uint64_t bits, const struct topo_group *g)
{
    return g->number > 0 && (bits >> (g->number - 1) & 1) != 0;
}

static const struct topo_use *own(const struct improve_kind *k, const struct topo_group *g)
{
    if (!k->hosts || (g->number <= 64 && !bit(k->owns, g))) {
        return NULL;
    }
    for (uint32_t i = 0; i < k->k->topo->n_uses; i++) {
        if (k->k->topo->uses[i].g == g && in_force(k, &k->k->topo->uses[i])) {
            return &k->k->topo->uses[i];
        }
    }
    return NULL;
}

static bool is_counted(const struct improve_kind *k, const struct topo_group *g)
{
    if (!k->hosts || g->number <= 64) {
        return k->hosts && bit(k->counts, g);
    }
    for (uint32_t i = 0; i < k->k->topo->n_counted; i++) {
        if (k->k->topo->counted[i] == g) {
            return true;
        }
    }
    return false;
}

static void note(struct improve *m, struct topo_group *g, uint64_t *bits)
{
    g->number = g->number == 0 ? ++m->n_groups : g->number;
    if (g->number <= 64) {
        *bits |= UINT64_C(1) << (g->number - 1);
    }
}

void improve_host_kind(struct improve *m, struct improve_kind *k)
{
    const struct topo_class *t = k->k->topo;
    for (uint32_t i = 0; t != NULL && i < t->n_uses; i++) {
        const struct topo_use *u = &t->uses[i];
        k->zonal = k->zonal || (!u->g->host && u->soft == TOPO_HARD);
        if (in_force(k, u)) {
            k->hosts = true;
            note(m, u->g, &k->owns);
            k->fixed = k->fixed || t->uses[i].g->kind == TOPO_AFFINITY;
        }
    }
    for (uint32_t i = 0; t != NULL && i < t->n_counted; i++) {
        struct topo_group *g = t->counted[i];
        if (g->host) {
            k->hosts = true;
            note(m, g, &k->counts);
            k->fixed = k->fixed || g->kind == TOPO_AFFINITY;
        }
    }
}

/* ---- spreads --------------------------------------------------------------------------------- */

struct member {
    uint32_t turn;
    bool owner, self, counted;
};

struct members {
    struct member v[MEMBERS_MAX];
    uint32_t n, owners;
    bool over;
};

static void add_member(struct members *l, const struct improve_kind *k, const struct topo_group *g,
                       uint32_t pod)
{
    const struct topo_use *u = own(k, g);
    bool c = is_counted(k, g);
    if (u == NULL && !c) {
        return;
    }
    if (l->n == MEMBERS_MAX) {
        l->over = true;
        return;
    }
    uint32_t i = l->n++;
    for (; i > 0 && l->v[i - 1].turn > pod; i--) {
        l->v[i] = l->v[i - 1];
    }
    l->v[i] = (struct member){pod, u != NULL, u != NULL && u->self, c};
    l->owners += u != NULL;
}

static bool in_turn(const struct members *l, const struct topo_group *g)
{
    int64_t seen = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        if (l->v[i].owner && seen + l->v[i].self > g->max_skew) {
            return false;
        }
        seen += l->v[i].counted;
    }
    return true;
}

static bool spread_ok(struct improve *m, const struct improve_bin *b, const struct topo_group *g,
                      uint32_t kind, uint32_t pod, uint32_t out)
{
    struct members l = {.n = 0};
    add_member(&l, &m->kinds[kind], g, pod);
    bool any = l.owners > 0;
    for (uint32_t i = 0; i < b->n_lots && !any; i++) {
        any = own(&m->kinds[b->lots[i].kind], g) != NULL;
    }
    m->looks += b->n_lots;
    for (uint32_t i = 0; i < b->n_lots && any && !l.over; i++) {
        const struct improve_lot *lot = &b->lots[i];
        const struct improve_kind *k = &m->kinds[lot->kind];
        for (uint32_t p = 0; k->hosts && p < lot->n && !l.over; p++) {
            if (lot->pods[p] != out) {
                add_member(&l, k, g, lot->pods[p]);
            }
        }
    }
    return !l.over && in_turn(&l, g);
}

/* ---- the others ------------------------------------------------------------------------------ */

/* Somebody who stays in the bin keeps pods of the group away, if only as a preference. */
static bool kept_off(const struct improve *m, const struct improve_bin *b,
                     const struct topo_group *g, uint32_t out_kind)
{
    for (uint32_t i = 0; i < b->n_lots; i++) {
        bool leaves = b->lots[i].kind == out_kind && b->lots[i].n == 1;
        if (!leaves && own(&m->kinds[b->lots[i].kind], g) != NULL) {
            return true;
        }
    }
    return false;
}

static bool use_ok(struct improve *m, const struct improve_bin *b, const struct improve_kind *k,
                   const struct topo_use *u, uint32_t out_kind)
{
    uint32_t host = m->s->n_nodes + b->c->index;
    bool leaves = out_kind != IMPROVE_NONE && is_counted(&m->kinds[out_kind], u->g) &&
                  host < u->g->cap_hosts && u->g->hosts[host] > 0;
    if (!leaves) {
        return sched_topo_host_ok(m->s, k->k->topo, u, host, b->c->pool);
    }
    u->g->hosts[host]--;
    bool ok = sched_topo_host_ok(m->s, k->k->topo, u, host, b->c->pool);
    u->g->hosts[host]++;
    return ok;
}

bool improve_host_ok(struct improve *m, const struct improve_bin *b, uint32_t kind, uint32_t pod,
                     uint32_t out_kind, uint32_t out)
{
    const struct improve_kind *k = &m->kinds[kind];
    const struct topo_class *t = k->k->topo;
    for (uint32_t i = 0; k->hosts && i < t->n_uses; i++) {
        const struct topo_use *u = &t->uses[i];
        bool ok =
            !in_force(k, u) || (u->g->kind == TOPO_SPREAD ? spread_ok(m, b, u->g, kind, pod, out)
                                                          : use_ok(m, b, k, u, out_kind));
        if (!ok) {
            return false;
        }
    }
    for (uint32_t i = 0; k->hosts && i < t->n_counted; i++) {
        const struct topo_group *g = t->counted[i];
        if (!g->host) {
            continue;
        }
        if ((g->kind == TOPO_SPREAD && !spread_ok(m, b, g, kind, pod, out)) ||
            (g->kind == TOPO_ANTI && kept_off(m, b, g, out_kind))) {
            return false;
        }
    }
    return true;
}

void improve_host_moved(struct improve *m, uint32_t kind, const struct sched_open *from,
                        const struct sched_open *to)
{
    const struct improve_kind *k = &m->kinds[kind];
    for (uint32_t i = 0; k->hosts && i < k->k->topo->n_counted; i++) {
        if (k->k->topo->counted[i]->host) {
            sched_topo_move_host(m->s, k->k->topo->counted[i], m->s->n_nodes + from->index,
                                 m->s->n_nodes + to->index);
        }
    }
}
