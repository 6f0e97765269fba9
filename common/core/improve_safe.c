/* improve_safe.c - what kube-scheduler will make of the claims; see improve_int.h.
 *
 * The scheduler knows no plan: it binds the pods in the order of priority and age, each to the node
 * of the best score. Played here is a small model of it: pods of the bins on one node per bin, of
 * the type planned; filters are room, what the claim is sure to have, and hard rules about hosts;
 * scores are LeastAllocated and BalancedAllocation. Of many nodes it looks at the first that fit,
 * beginning where the last look ended, as the scheduler samples. A pod with rules about zones goes
 * to zones like its own. A pod that finds no node makes the node larger where that is cheapest, and
 * all is played again, until every pod finds a place.
 */
#include "common/base/sort.h"
#include "improve_int.h"

#define ROUNDS_MAX 3u
#define SCALE_BITS 20
#define MEMORY_BITS 20
#define PODS_PER_STEP 64u
#define SAMPLE 20u /* nodes that fit and are compared */

struct arrival {
    uint32_t pod, kind, bin;
};

struct improve_safe {
    struct arrival *pods;
    uint32_t n_pods;
    int64_t *left;       /* room per bin and dimension */
    uint32_t **counts;   /* per bin and rule about hosts; NULL: no pod yet that any concerns */
    int64_t (*scale)[2]; /* per bin: of cpu and memory */
    uint32_t *open;      /* bins that have room for the smallest pod */
    uint32_t n_open, start;
    int64_t least[RES_FIXED];
    uint8_t *accepts; /* kind × bay: 0 not known, 1 no, 2 yes */
    uint32_t at, round;
    bool grown;
    int cpu, memory; /* dimensions, -1: nobody asks */
};

/* ---- who comes when -------------------------------------------------------------------------- */

struct turn {
    int64_t priority, created;
    struct arrival a;
};

static int cmp_turn(const void *x, const void *y)
{
    const struct turn *a = x, *b = y;
    if (a->priority != b->priority) {
        return a->priority > b->priority ? -1 : 1;
    }
    if (a->created != b->created) {
        return a->created < b->created ? -1 : 1;
    }
    return a->a.pod < b->a.pod ? -1 : a->a.pod > b->a.pod;
}

static void line_up(struct improve *m, struct improve_safe *r)
{
    struct sched *s = m->s;
    struct turn *v = ARENA_NEW_N(s->a, struct turn, s->snap->n_pods);
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_bins; i++) {
        const struct improve_bin *b = &m->bins[i];
        for (uint32_t l = 0; l < b->n_lots; l++) {
            for (uint32_t p = 0; p < b->lots[l].n; p++) {
                const struct pod *pod = s->snap->pods[b->lots[l].pods[p]];
                v[n++] = (struct turn){pod->cls->priority,
                                       pod->m.created_ns,
                                       {b->lots[l].pods[p], b->lots[l].kind, i}};
            }
        }
    }
    sort_items(v, n, sizeof(*v), cmp_turn);
    r->pods = ARENA_NEW_N(s->a, struct arrival, n);
    r->n_pods = n;
    for (uint32_t i = 0; i < n; i++) {
        r->pods[i] = v[i].a;
    }
}

struct improve_safe *improve_safe_begin(struct improve *m)
{
    struct arena *a = m->s->a;
    struct improve_safe *r = ARENA_NEW(a, struct improve_safe);
    line_up(m, r);
    r->left = ARENA_NEW_N(a, int64_t, (size_t)m->n_bins * m->n_dims);
    r->scale = arena_alloc_n(a, m->n_bins, sizeof(*r->scale));
    r->counts = ARENA_NEW_N(a, uint32_t *, m->n_bins);
    r->open = ARENA_NEW_N(a, uint32_t, m->n_bins);
    r->accepts = ARENA_NEW_N(a, uint8_t, (size_t)m->n_kinds * m->n_bays);
    r->cpu = r->memory = -1;
    for (uint32_t d = 0; d < m->n_dims; d++) {
        r->least[d] = INT64_MAX;
        r->cpu = m->dims[d] == RES_CPU ? (int)d : r->cpu;
        r->memory = m->dims[d] == RES_MEMORY ? (int)d : r->memory;
    }
    for (uint32_t i = 0; i < r->n_pods; i++) {
        for (uint32_t d = 0; d < m->n_dims; d++) {
            int64_t need = m->kinds[r->pods[i].kind].need[d];
            r->least[d] = need < r->least[d] ? need : r->least[d];
        }
    }
    for (uint32_t i = 0; i < m->n_bins; i++) {
        memcpy(m->bins[i].size, m->bins[i].used, sizeof(m->bins[i].size));
    }
    return r;
}

static const int64_t *room_of(const struct improve *m, uint32_t bin)
{
    return m->bays[m->bins[bin].bay].menu.room[m->bins[bin].rank];
}

static int64_t *left_of(const struct improve *m, const struct improve_safe *r, uint32_t bin)
{
    return r->left + (size_t)bin * m->n_dims;
}

static int64_t used_of(const struct improve *m, const struct improve_safe *r, uint32_t bin,
                       uint32_t d)
{
    return room_of(m, bin)[d] - left_of(m, r, bin)[d];
}

/* So that a score needs no division; memory in MiB. */
static void find_scale(const struct improve *m, struct improve_safe *r, uint32_t bin)
{
    int64_t cpu = r->cpu < 0 ? 0 : room_of(m, bin)[r->cpu];
    int64_t memory = r->memory < 0 ? 0 : room_of(m, bin)[r->memory] >> MEMORY_BITS;
    r->scale[bin][0] = cpu > 0 ? (INT64_C(10000) << SCALE_BITS) / cpu : 0;
    r->scale[bin][1] = memory > 0 ? (INT64_C(10000) << SCALE_BITS) / memory : 0;
}

static void begin_round(struct improve *m, struct improve_safe *r)
{
    r->n_open = r->start = 0;
    r->grown = false;
    for (uint32_t i = 0; i < m->n_bins; i++) {
        if (r->counts[i] != NULL) {
            memset(r->counts[i], 0, m->n_groups * sizeof(*r->counts[i]));
        }
        if (m->bins[i].rank != IMPROVE_NONE) {
            memcpy(left_of(m, r, i), room_of(m, i), m->n_dims * sizeof(*r->left));
            find_scale(m, r, i);
            r->open[r->n_open++] = i;
        }
    }
}

/* ---- filters --------------------------------------------------------------------------------- */

/* Whatever node the claim becomes, it has what the way asks for. */
static bool sure_of(struct improve *m, const struct sched_open *c, const struct sched_ask *ask)
{
    struct arena_mark mark = arena_mark(m->s->a);
    bool ret = !ask->impossible && !ask->pinned;
    for (uint32_t i = 0; i < ask->claim_reqs.n && ret; i++) {
        const struct req *want = &ask->claim_reqs.v[i], *have = reqset_get(&c->reqs, want->key);
        if (have == NULL) {
            ret = req_negative(want) && !catalog_knows_key(c->pool->tm.catalog, want->key);
        } else {
            struct req both = req_intersect(m->s->a, m->s->syms, have, want);
            ret = req_equal(&both, have) && !req_is_empty(&both);
        }
    }
    arena_rewind(m->s->a, mark);
    return ret;
}

static bool find_accepts(struct improve *m, const struct arrival *p, const struct improve_bin *b)
{
    const struct improve_kind *k = &m->kinds[p->kind];
    const struct sched_open *c = m->bays[b->bay].like;
    if (taints_refuse(&c->pool->in->np->taints, &k->k->cls->tolerations, false) != NULL) {
        return false;
    }
    for (uint32_t i = k->k->n_asks - k->k->n_required; i < k->k->n_asks; i++) {
        if (sure_of(m, c, sched_ask(m->s, k->k, i))) {
            return true;
        }
    }
    return false;
}

static bool accepts(struct improve *m, struct improve_safe *r, const struct arrival *p,
                    const struct improve_bin *b)
{
    uint32_t bay = b->bay;
    if (bay == m->bins[p->bin].bay) {
        return true;
    }
    if (m->kinds[p->kind].zonal &&
        m->bins[p->bin].c->offer.zones != m->bays[bay].like->offer.zones) {
        return false;
    }
    uint8_t *known = &r->accepts[(size_t)p->kind * m->n_bays + bay];
    if (*known == 0) {
        *known = find_accepts(m, p, b) ? 2 : 1;
    }
    return *known == 2;
}

static bool hosts_ok(struct improve *m, struct improve_safe *r, const struct arrival *p,
                     uint32_t bin)
{
    const struct improve_kind *k = &m->kinds[p->kind];
    const struct topo_class *t = k->k->topo;
    for (uint32_t i = 0; k->hosts && i < t->n_uses; i++) {
        const struct topo_use *u = &t->uses[i];
        if (!u->g->host || u->soft != TOPO_HARD || u->g->kind == TOPO_SHARE) {
            continue;
        }
        if (u->g->kind == TOPO_AFFINITY) {
            if (bin != p->bin) {
                return false;
            }
            continue;
        }
        uint32_t n = r->counts[bin] ? r->counts[bin][u->g->number - 1] : 0;
        if (u->g->kind == TOPO_SPREAD ? (int64_t)n + u->self > u->g->max_skew : n > 0) {
            return false;
        }
    }
    return true;
}

static bool has_room(const struct improve *m, const int64_t *left, const int64_t *need)
{
    for (uint32_t d = 0; d < m->n_dims; d++) {
        if (need[d] > left[d]) {
            return false;
        }
    }
    return true;
}

/* ---- scores ---------------------------------------------------------------------------------- */

/* Of the bin's room, in ten thousandths. */
static int64_t parts(const struct improve *m, const struct improve_safe *r, uint32_t bin, int d,
                     const int64_t *need)
{
    if (d < 0) {
        return 0;
    }
    bool memory = d == r->memory;
    int64_t now = used_of(m, r, bin, (uint32_t)d) + need[d];
    return ((memory ? now >> MEMORY_BITS : now) * r->scale[bin][memory]) >> SCALE_BITS;
}

static int64_t score(const struct improve *m, const struct improve_safe *r, uint32_t bin,
                     const int64_t *need)
{
    int64_t cpu = parts(m, r, bin, r->cpu, need), memory = parts(m, r, bin, r->memory, need);
    int64_t apart = cpu > memory ? cpu - memory : memory - cpu;
    return ((10000 - cpu) / 100 + (10000 - memory) / 100) / 2 + (10000 - apart / 2) / 100;
}

/* ---- one pod --------------------------------------------------------------------------------- */

static void bind(struct improve *m, struct improve_safe *r, const struct arrival *p, uint32_t bin)
{
    uint32_t **counts = &r->counts[bin];
    for (uint32_t d = 0; d < m->n_dims; d++) {
        left_of(m, r, bin)[d] -= m->kinds[p->kind].need[d];
    }
    const struct topo_class *t = m->kinds[p->kind].k->topo;
    for (uint32_t i = 0; m->kinds[p->kind].hosts && i < t->n_counted; i++) {
        if (t->counted[i]->host) {
            *counts = *counts ? *counts : ARENA_NEW_N(m->s->a, uint32_t, m->n_groups);
            (*counts)[t->counted[i]->number - 1]++;
        }
    }
}

/* The bin of the best score; IMPROVE_NONE if the pod fits nowhere. Full ones are put aside. */
static uint32_t best_bin(struct improve *m, struct improve_safe *r, const struct arrival *p)
{
    const int64_t *need = m->kinds[p->kind].need;
    uint32_t best = IMPROVE_NONE, found = 0, at = r->start < r->n_open ? r->start : 0;
    int64_t best_score = 0;
    for (uint32_t n = r->n_open; n > 0 && found < SAMPLE; n--) {
        uint32_t bin = r->open[at];
        m->looks++;
        bool room = has_room(m, left_of(m, r, bin), need);
        if (!room && !has_room(m, left_of(m, r, bin), r->least)) {
            r->open[at] = r->open[--r->n_open];
            at = at < r->n_open ? at : 0;
            continue;
        }
        at = at + 1 < r->n_open ? at + 1 : 0;
        if (!room || !hosts_ok(m, r, p, bin) || !accepts(m, r, p, &m->bins[bin])) {
            continue;
        }
        found++;
        int64_t now = score(m, r, bin, need);
        if (best == IMPROVE_NONE || now > best_score || (now == best_score && bin < best)) {
            best = bin;
            best_score = now;
        }
    }
    r->start = at;
    return best;
}

/* Has room again, or still. */
static void reopen(struct improve_safe *r, uint32_t bin)
{
    for (uint32_t i = 0; i < r->n_open; i++) {
        if (r->open[i] == bin) {
            return;
        }
    }
    r->open[r->n_open++] = bin;
}

/* The pod has found no node: one gets larger, where that costs least. */
static void grow_one(struct improve *m, struct improve_safe *r, const struct arrival *p)
{
    uint32_t best = IMPROVE_NONE, best_rank = IMPROVE_NONE;
    int64_t least = INT64_MAX, want[RES_FIXED];
    for (uint32_t i = 0; i < m->n_bins; i++) {
        struct improve_bin *b = &m->bins[i];
        struct improve_bay *bay = &m->bays[b->bay];
        if (b->rank == IMPROVE_NONE || !accepts(m, r, p, b) || !hosts_ok(m, r, p, i)) {
            continue;
        }
        for (uint32_t d = 0; d < m->n_dims; d++) {
            int64_t now = used_of(m, r, i, d) + m->kinds[p->kind].need[d];
            want[d] = now > b->size[d] ? now : b->size[d];
        }
        uint32_t rank = improve_menu_find(m, bay, want, improve_most(bay, b));
        int64_t more = rank == IMPROVE_NONE
                           ? INT64_MAX
                           : improve_price(bay, rank) - improve_price(bay, b->rank);
        if (more < least) {
            least = more;
            best = i;
            best_rank = rank;
        }
    }
    if (best == IMPROVE_NONE) {
        return;
    }
    struct improve_bin *b = &m->bins[best];
    for (uint32_t d = 0; d < m->n_dims; d++) {
        int64_t used = used_of(m, r, best, d), now = used + m->kinds[p->kind].need[d];
        b->size[d] = now > b->size[d] ? now : b->size[d];
        left_of(m, r, best)[d] = m->bays[b->bay].menu.room[best_rank][d] - used;
    }
    b->rank = best_rank;
    find_scale(m, r, best);
    b->changed = r->grown = true;
    reopen(r, best);
    bind(m, r, p, best);
}

bool improve_safe_step(struct improve *m, struct improve_safe *r)
{
    if (r->at == 0) {
        begin_round(m, r);
    }
    for (uint32_t i = 0; i < PODS_PER_STEP && r->at < r->n_pods; i++, r->at++) {
        uint32_t bin = best_bin(m, r, &r->pods[r->at]);
        if (bin != IMPROVE_NONE) {
            bind(m, r, &r->pods[r->at], bin);
        } else {
            m->stranded += r->round == 0;
            grow_one(m, r, &r->pods[r->at]);
        }
    }
    if (r->at < r->n_pods) {
        return false;
    }
    r->at = 0;
    r->round++;
    return !r->grown || r->round == ROUNDS_MAX || improve_total(m) > m->baseline_pusd_h;
}
