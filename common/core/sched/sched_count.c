/* sched_count.c - pods per domain and per host; see sched_topo.h. */
#include "sched_topo.h"

#include "common/core/want.h"
#include "sched_int.h"

/* Where the domain is, or would stand. */
static uint32_t place_of(const struct topo_group *g, sym value)
{
    uint32_t lo = 0, hi = g->n_domains;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (g->domains[mid].value < value) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

uint32_t sched_topo_count_in(const struct topo_group *g, sym value)
{
    uint32_t at = place_of(g, value);
    return at < g->n_domains && g->domains[at].value == value ? g->domains[at].count : 0;
}

static struct topo_domain *domain(struct sched *s, struct topo_group *g, sym value)
{
    uint32_t lo = place_of(g, value);
    if (lo < g->n_domains && g->domains[lo].value == value) {
        return &g->domains[lo];
    }
    ARENA_GROW(s->keep, g->domains, g->n_domains, g->cap_domains);
    memmove(&g->domains[lo + 1], &g->domains[lo], (g->n_domains - lo) * sizeof(*g->domains));
    g->n_domains++;
    g->domains[lo] = (struct topo_domain){value, 0};
    return &g->domains[lo];
}

void sched_topo_add_domain(struct sched *s, struct topo_group *g, sym value)
{
    (void)domain(s, g, value);
}

static void counted(struct topo_group *g, uint32_t now)
{
    g->total++;
    g->stamp++;
    g->opened += now == 1;
}

void sched_topo_bump(struct sched *s, struct topo_group *g, sym value)
{
    if (s->whatif != NULL) {
        whatif_note_count(s, g, value, 1);
    }
    counted(g, ++domain(s, g, value)->count);
}

/* The stamp goes on: what was computed from other counts is out of date. */
void sched_topo_shift(struct sched *s, struct topo_group *g, uint32_t at, int delta)
{
    if (!g->host) {
        domain(s, g, at)->count += (uint32_t)delta;
    } else if (at != SCHED_NO_CLAIM) {
        g->hosts[at] += (uint32_t)delta;
    }
    g->total += (uint64_t)delta;
    g->stamp++;
}

static void grow_hosts(struct sched *s, struct topo_group *g, uint32_t host)
{
    if (host < g->cap_hosts) {
        return;
    }
    uint32_t cap = g->cap_hosts ? g->cap_hosts * 2 : 64;
    while (host >= cap) {
        cap *= 2;
    }
    uint32_t *hosts = ARENA_NEW_N(s->keep, uint32_t, cap);
    if (g->cap_hosts > 0) {
        memcpy(hosts, g->hosts, g->cap_hosts * sizeof(*hosts));
    }
    g->hosts = hosts;
    g->cap_hosts = cap;
}

void sched_topo_bump_host(struct sched *s, struct topo_group *g, uint32_t host)
{
    if (s->whatif != NULL) {
        whatif_note_count(s, g, host, 1);
    }
    grow_hosts(s, g, host);
    counted(g, ++g->hosts[host]);
}

/* Pods that a spread does not include are counted nowhere. */
void sched_topo_move_host(struct sched *s, struct topo_group *g, uint32_t from, uint32_t to)
{
    if (from < g->cap_hosts && g->hosts[from] > 0) {
        grow_hosts(s, g, to);
        g->hosts[from]--;
        g->hosts[to]++;
    }
}

static bool wants_labels(struct sched *s, const struct pod_class *c, const struct reqset *labels)
{
    bool met = false;
    for (uint32_t i = 0; i < (c->n_required ? c->n_required : 1) && !met; i++) {
        struct arena_mark mark = arena_mark(s->a);
        struct reqset reqs;
        met = want_build(s->a, s->syms, c, c->n_required ? &c->required[i] : NULL, NULL, &reqs) &&
              want_met(s->a, s->syms, labels, &reqs);
        arena_rewind(s->a, mark);
    }
    return met;
}

bool sched_topo_includes(struct sched *s, const struct topo_group *g, const struct snapshot_node *n)
{
    if (!sched_topo_has_keys(g, &n->labels)) {
        return false;
    }
    if (g->filter == NULL) {
        return true;
    }
    if (g->honor_taints && taints_refuse(&n->taints, &g->filter->tolerations, false) != NULL) {
        return false;
    }
    return !g->honor_affinity || wants_labels(s, g->filter, &n->labels);
}

void sched_topo_count_on(struct sched *s, struct topo_group *g, const struct snapshot_node *n,
                         uint32_t host)
{
    if (g->kind == TOPO_SPREAD && !sched_topo_includes(s, g, n)) {
        return;
    }
    if (g->host) {
        if (host != SCHED_NO_CLAIM) {
            sched_topo_bump_host(s, g, host);
        } else {
            g->total++; /* on a node that takes nothing */
        }
        return;
    }
    const struct req *r = reqset_get(&n->labels, g->key);
    bool anti = g->kind == TOPO_ANTI || g->kind == TOPO_INVERSE;
    for (uint32_t i = 0; r != NULL && !r->complement && (r->n == 1 || anti) && i < r->n; i++) {
        sched_topo_bump(s, g, r->values[i]);
    }
}

static void take_off(struct sched *s, struct topo_group *g, uint32_t at)
{
    if (s->whatif != NULL) {
        whatif_note_count(s, g, at, -1);
    }
    sched_topo_shift(s, g, at, -1);
}

void sched_topo_off_node(struct sched *s, const struct topo_class *k, const struct snapshot_node *n)
{
    uint32_t host = s->host_of[n - s->snap->nodes];
    for (uint32_t i = 0; k != NULL && i < k->n_counted; i++) {
        struct topo_group *g = k->counted[i];
        const struct req *r = reqset_get(&n->labels, g->key);
        bool anti = g->kind == TOPO_ANTI || g->kind == TOPO_INVERSE;
        if (g->kind == TOPO_SPREAD && !sched_topo_includes(s, g, n)) {
            continue;
        }
        if (g->host) {
            take_off(s, g, host);
            continue;
        }
        for (uint32_t v = 0; r != NULL && !r->complement && (r->n == 1 || anti) && v < r->n; v++) {
            take_off(s, g, r->values[v]);
        }
    }
}
