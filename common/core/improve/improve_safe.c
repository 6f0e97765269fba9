/* improve_safe.c - what kube-scheduler will make of the claims; see improve_int.h.
 *
 * The scheduler knows no plan: it binds the pods in the order of priority and age, each to the node
 * of the best score. Played here is a small model of it: all pods that the pass has placed, on one
 * node per bin, of the type planned, on the claims that were left alone, and on the nodes that the
 * pass has used; filters are room, what the claim is sure to have, and hard rules about hosts;
 * scores are LeastAllocated and BalancedAllocation. Of many nodes it looks at the first that fit,
 * beginning where the last look ended, as the scheduler samples. A pod with rules about zones goes
 * to zones like its own. A pod that finds no node makes the node larger where that is cheapest, and
 * all is played again, until every pod finds a place.
 *
 * Nodes are there all at once in one round; in the next they come one after the other (or in waves)
 * in an order of chance, as pods of the same age do, and what waits fills them as they come.
 */
#include "common/core/want.h"
#include "improve_play.h"

/* Rounds: so that about so many pods are replayed, within bounds. */
#define REPLAYED 4000u
#define ROUNDS_MIN 2u
#define ROUNDS_MAX 96u
/* Rounds without growth that are enough where there are more than ROUNDS_MIN. */
#define QUIET_ROUNDS 24u
/* From the second round on scores are off by up to so much, which stands for all that is not played
 * here, and for the choice among equals. */
#define NOISE 8u
/* Nodes that fit and are compared for a pod: so that there are about so many, within bounds. */
#define COMPARED 10000u
#define SAMPLE_MIN 12u
#define SAMPLE_MAX 100u
#define SCALE_BITS 20
#define MEMORY_BITS 20
#define BAYS_FEW 8u
/* Waves in which nodes come: the fewer pods, the closer to one by one. */
#define WAVED 16000u
#define WAVES_MIN 8u
#define WAVES_MAX 64u
#define PODS_PER_STEP 64u
#define TROOPS_PER_STEP 2048u

enum { SAFE_SORT, SAFE_PREPARE, SAFE_TROOPS, SAFE_PLAY };

static void find_rules(const struct improve *m, const struct improve_kind *k,
                       struct host_rules *ret)
{
    const struct topo_class *t = k->k->topo;
    ret->at_home = improve_stays(k->k);
    if (!k->hosts) {
        return;
    }
    ret->limits = ARENA_NEW_N(m->s->a, struct host_limit, t->n_uses);
    ret->counted = ARENA_NEW_N(m->s->a, uint32_t, t->n_counted);
    for (uint32_t i = 0; i < t->n_uses; i++) {
        const struct topo_use *u = &t->uses[i];
        bool on = u->g->host && u->soft == TOPO_HARD && u->g->kind != TOPO_SHARE;
        if (on && u->g->kind == TOPO_AFFINITY) {
            ret->at_home = true;
        } else if (on) {
            int64_t n = u->g->kind == TOPO_SPREAD ? (int64_t)u->g->max_skew - u->self : 0;
            ret->limits[ret->n_limits++] = (struct host_limit){u->g->number - 1, n};
        }
    }
    for (uint32_t i = 0; i < t->n_counted; i++) {
        if (t->counted[i]->host) {
            ret->counted[ret->n_counted++] = t->counted[i]->number - 1;
        }
    }
}

static void find_scored(const struct improve *m, struct improve_safe *r)
{
    r->cpu = r->memory = -1;
    for (uint32_t d = 0; d < m->n_dims; d++) {
        r->cpu = m->dims[d] == RES_CPU ? (int)d : r->cpu;
        r->memory = m->dims[d] == RES_MEMORY ? (int)d : r->memory;
    }
}

/* Pods of like kinds that are planned in one bay are taken by the same places. Those that follow a
 * fixed place into its zones are each by itself. A few more; true at the end. */
static bool find_troops(struct improve *m, struct improve_safe *r)
{
    uint32_t left = r->n_pods - r->at, some = left < TROOPS_PER_STEP ? left : TROOPS_PER_STEP;
    for (uint32_t i = 0; i < some; i++, r->at++) {
        struct arrival *p = &r->pods[r->at];
        bool alone = p->bay == IMPROVE_NONE && m->kinds[p->kind].zonal;
        p->troop =
            alone ? IMPROVE_NONE : improve_sieve_troop(m, &r->sieve, r->like[p->kind], p->bay);
    }
    m->looks += some * 2;
    return r->at == r->n_pods;
}

/* Pods that were on the nodes before this pass. */
static void find_counts(struct improve *m, struct improve_safe *r)
{
    struct topo *t = &m->s->topo;
    for (uint32_t i = 0; i < r->n_fixed && m->n_groups > 0; i++) {
        struct fixed *f = &r->fixed[i];
        f->counts = f->node ? ARENA_NEW_N(m->s->a, uint32_t, m->n_groups) : NULL;
        for (uint32_t g = 0; g < t->n_groups && f->node; g++) {
            const struct topo_group *group = t->groups[g];
            if (group->number > 0 && f->node->host < group->cap_hosts) {
                f->counts[group->number - 1] = group->hosts[f->node->host];
            }
        }
    }
    for (uint32_t i = 0; i < r->n_pods && r->n_fixed > 0; i++) {
        const struct arrival *p = &r->pods[i];
        const struct host_rules *rules = &r->rules[p->kind];
        uint32_t *counts = p->place < m->n_bins ? NULL : r->fixed[p->place - m->n_bins].counts;
        for (uint32_t g = 0; counts != NULL && g < rules->n_counted; g++) {
            counts[rules->counted[g]] -= counts[rules->counted[g]] > 0;
        }
    }
}

/* The fewer pods, the more thorough. */
static uint32_t within(uint32_t all, uint32_t n_pods, uint32_t min, uint32_t max)
{
    uint32_t n = n_pods > 0 ? all / n_pods : max;
    return n < min ? min : n > max ? max : n;
}

struct improve_safe *improve_safe_begin(struct improve *m)
{
    struct arena *a = m->s->a;
    struct improve_safe *r = ARENA_NEW(a, struct improve_safe);
    improve_turn_begin(m, r);
    return r;
}

static void prepare(struct improve *m, struct improve_safe *r)
{
    struct arena *a = m->s->a;
    uint32_t n = r->n_places;
    r->left = ARENA_NEW_N(a, int64_t, (size_t)n * m->lanes);
    r->waiting = ARENA_NEW_N(a, uint32_t, r->n_pods);
    r->scale = arena_alloc_n(a, n, sizeof(*r->scale));
    r->counts = ARENA_NEW_N(a, uint32_t *, n);
    r->bay = ARENA_NEW_N(a, uint32_t, n);
    r->room = ARENA_NEW_N(a, const int64_t *, n);
    r->accepts = ARENA_NEW_N(a, uint8_t, (size_t)m->n_kinds * m->n_bays);
    r->fixed_accepts = ARENA_NEW_N(a, uint8_t, (size_t)m->n_kinds * r->n_fixed);
    r->rules = ARENA_NEW_N(a, struct host_rules, m->n_kinds);
    r->rounds = within(REPLAYED, r->n_pods, ROUNDS_MIN, ROUNDS_MAX);
    r->sample = within(COMPARED, r->n_pods, SAMPLE_MIN, SAMPLE_MAX);
    find_scored(m, r);
    r->total_pusd_h = improve_total(m);
    for (uint32_t i = 0; i < m->n_kinds; i++) {
        find_rules(m, &m->kinds[i], &r->rules[i]);
    }
    improve_like_find(m, r);
    improve_sieve_begin(m, &r->sieve, r->n_places);
    for (uint32_t i = 0; i < n; i++) {
        bool bin = i < m->n_bins;
        r->bay[i] = bin ? m->bins[i].bay : IMPROVE_NONE;
        r->room[i] = bin ? NULL : r->fixed[i - m->n_bins].room;
    }
    for (uint32_t i = 0; i < m->n_bins; i++) {
        memcpy(m->bins[i].size, m->bins[i].used, sizeof(m->bins[i].size));
    }
    find_counts(m, r);
    m->looks += m->n_kinds * 4;
    r->at = 0;
}

static int64_t *left_of(const struct improve *m, const struct improve_safe *r, uint32_t bin)
{
    return r->left + (size_t)bin * m->lanes;
}

static int64_t used_of(const struct improve *m, const struct improve_safe *r, uint32_t place,
                       uint32_t d)
{
    return r->room[place][d] - left_of(m, r, place)[d];
}

/* So that a score needs no division; memory in MiB. */
static void find_scale(struct improve_safe *r, uint32_t place)
{
    int64_t cpu = r->cpu < 0 ? 0 : r->room[place][r->cpu];
    int64_t memory = r->memory < 0 ? 0 : r->room[place][r->memory] >> MEMORY_BITS;
    r->scale[place][0] = cpu > 0 ? (INT64_C(10000) << SCALE_BITS) / cpu : 0;
    r->scale[place][1] = memory > 0 ? (INT64_C(10000) << SCALE_BITS) / memory : 0;
}

static void begin_place(const struct improve *m, struct improve_safe *r, uint32_t i)
{
    const uint32_t *before = i < m->n_bins ? NULL : r->fixed[i - m->n_bins].counts;
    if (before != NULL && r->counts[i] == NULL) {
        r->counts[i] = ARENA_NEW_N(m->s->a, uint32_t, m->n_groups);
    }
    if (before != NULL) {
        memcpy(r->counts[i], before, m->n_groups * sizeof(*before));
    } else if (r->counts[i] != NULL) {
        memset(r->counts[i], 0, m->n_groups * sizeof(*r->counts[i]));
    }
    if (i < m->n_bins) {
        const struct improve_bin *b = &m->bins[i];
        r->room[i] = b->rank == IMPROVE_NONE ? NULL : m->bays[b->bay].menu.room[b->rank];
    }
    if (r->room[i] != NULL) {
        memcpy(left_of(m, r, i), r->room[i], m->lanes * sizeof(*r->left));
        find_scale(r, i);
    }
}

/* Nodes that exist are there before any other. */
static void begin_wave(struct improve_safe *r)
{
    for (uint32_t i = 0; i < r->n_places; i++) {
        bool node = r->bay[i] == IMPROVE_NONE && r->fixed[i - (r->n_places - r->n_fixed)].node;
        uint32_t wave = node ? 0 : (uint32_t)((uint64_t)improve_chance(r, i) * r->n_waves >> 32);
        if (wave == r->wave && r->room[i] != NULL) {
            improve_sieve_open(&r->sieve, i);
        }
    }
    improve_sieve_opened(&r->sieve);
    r->at = r->still = 0;
}

static void begin_round(struct improve *m, struct improve_safe *r)
{
    r->start = 0;
    r->grown = false;
    improve_sieve_round(m, &r->sieve, r->round == 0);
    for (uint32_t i = 0; i < r->n_places; i++) {
        begin_place(m, r, i);
    }
    improve_turn_round(m, r);
    r->wave = 0;
    uint32_t most = within(WAVED, r->n_pods, WAVES_MIN, WAVES_MAX);
    r->n_waves = r->round % 2 == 0 ? 1 : m->n_bins * 2 < most ? m->n_bins * 2 : most;
    r->enough = r->n_waves > 1 ? (r->sample + 2) / 3 : r->sample;
    begin_wave(r);
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

static bool find_accepts(struct improve *m, const struct improve_kind *k,
                         const struct sched_open *c)
{
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

static bool node_accepts(struct improve *m, const struct improve_kind *k,
                         const struct sched_node *n)
{
    struct sched *s = m->s;
    if (taints_refuse(&n->in->taints, &k->k->cls->tolerations, false) != NULL) {
        return false;
    }
    for (uint32_t i = k->k->n_asks - k->k->n_required; i < k->k->n_asks; i++) {
        const struct sched_ask *ask = sched_ask(s, k->k, i);
        if (!ask->impossible && want_met(s->a, s->syms, &n->in->labels, &ask->reqs)) {
            return true;
        }
    }
    return false;
}

/* Zones that the node of the pod's plan can come to be in; 0: it is there. */
static uint64_t zones_of(const struct improve *m, const struct improve_safe *r, uint32_t place)
{
    const struct sched_open *c =
        place < m->n_bins ? m->bins[place].c : r->fixed[place - m->n_bins].c;
    return c != NULL ? c->offer.zones : 0;
}

static bool accepts_fixed(struct improve *m, struct improve_safe *r, const struct arrival *p,
                          uint32_t at)
{
    uint32_t like = r->like[p->kind];
    const struct improve_kind *k = &m->kinds[like];
    const struct fixed *f = &r->fixed[at];
    uint8_t *known = &r->fixed_accepts[(size_t)like * r->n_fixed + at];
    if (*known == 0) {
        bool yes = f->node ? node_accepts(m, k, f->node) : find_accepts(m, k, f->c);
        *known = yes ? 2 : 1;
    }
    return *known == 2;
}

static bool accepts_bay(struct improve *m, struct improve_safe *r, uint32_t kind, uint32_t bay)
{
    uint8_t *known = &r->accepts[(size_t)kind * m->n_bays + bay];
    if (*known == 0) {
        *known = find_accepts(m, &m->kinds[kind], m->bays[bay].like) ? 2 : 1;
    }
    return *known == 2;
}

static bool accepts(struct improve *m, struct improve_safe *r, const struct arrival *p,
                    uint32_t place)
{
    uint32_t bay = r->bay[place];
    if (place == p->place || (bay != IMPROVE_NONE && bay == p->bay)) {
        return true;
    }
    if (m->kinds[p->kind].zonal && zones_of(m, r, p->place) != zones_of(m, r, place)) {
        return false;
    }
    return bay == IMPROVE_NONE ? accepts_fixed(m, r, p, place - m->n_bins)
                               : accepts_bay(m, r, r->like[p->kind], bay);
}

/* Bays that do not take a troop, found out beforehand where they are few. */
static void find_takers(struct improve *m, struct improve_safe *r)
{
    struct improve_sieve *v = &r->sieve;
    if (m->n_bays > BAYS_FEW) {
        return;
    }
    uint64_t *bins = ARENA_NEW_N(m->s->a, uint64_t, (size_t)m->n_bays * v->n_words);
    for (uint32_t i = 0; i < m->n_bins; i++) {
        bits_set(bins + (size_t)r->bay[i] * v->n_words, i);
    }
    for (uint32_t i = 0; i < v->n_troops; i++) {
        const struct improve_troop *t = &v->troop[i];
        uint64_t *base = v->base + (size_t)i * v->n_words;
        for (uint32_t b = 0; b < m->n_bays; b++) {
            bool away = m->kinds[t->kind].zonal &&
                        m->bays[t->bay].like->offer.zones != m->bays[b].like->offer.zones;
            bool takes = b == t->bay || (!away && accepts_bay(m, r, t->kind, b));
            for (uint32_t w = 0; w < v->n_words && !takes; w++) {
                base[w] &= ~bins[(size_t)b * v->n_words + w];
            }
        }
    }
}

/* Of the first bays, for one pod, asked once. */
struct bay_memo {
    uint64_t asked, yes;
};

static bool accepts_memo(struct improve *m, struct improve_safe *r, const struct arrival *p,
                         uint32_t place, struct bay_memo *memo)
{
    uint32_t bay = r->bay[place];
    if (bay >= 64) {
        return accepts(m, r, p, place);
    }
    if ((memo->asked >> bay & 1) == 0) {
        memo->asked |= UINT64_C(1) << bay;
        memo->yes |= (uint64_t)accepts(m, r, p, place) << bay;
    }
    return (memo->yes >> bay & 1) != 0;
}

static bool hosts_ok(const struct improve_safe *r, const struct arrival *p, uint32_t place)
{
    const struct host_rules *rules = &r->rules[p->kind];
    const uint32_t *counts = r->counts[place];
    if (rules->at_home && place != p->place) {
        return false;
    }
    for (uint32_t i = 0; i < rules->n_limits; i++) {
        if ((int64_t)(counts ? counts[rules->limits[i].group] : 0) > rules->limits[i].n) {
            return false;
        }
    }
    return true;
}

/* ---- scores ---------------------------------------------------------------------------------- */

/* What the pod leaves of cpu and of memory, in ten thousandths of the place's room. */
static int64_t noise(const struct improve_safe *r, uint32_t place)
{
    uint32_t h = (place * 2654435761u) ^ (r->round * 40503u) ^ (r->at * 2246822519u);
    h = (h ^ h >> 15) * 2246822519u;
    return (h >> 16) % NOISE;
}

static int64_t score(const struct improve_safe *r, uint32_t place, const int64_t *left,
                     const int64_t *need)
{
    int64_t cpu = 10000, memory = 10000;
    if (r->cpu >= 0) {
        cpu = ((left[r->cpu] - need[r->cpu]) * r->scale[place][0]) >> SCALE_BITS;
    }
    if (r->memory >= 0) {
        int64_t mib = (left[r->memory] - need[r->memory]) >> MEMORY_BITS;
        memory = (mib * r->scale[place][1]) >> SCALE_BITS;
    }
    int64_t apart = cpu > memory ? cpu - memory : memory - cpu;
    return (cpu / 100 + memory / 100) / 2 + (10000 - apart / 2) / 100;
}

/* ---- one pod --------------------------------------------------------------------------------- */

static void bind(const struct improve *m, struct improve_safe *r, const struct arrival *p,
                 uint32_t place)
{
    const struct host_rules *rules = &r->rules[p->kind];
    uint32_t **counts = &r->counts[place];
    int64_t *left = left_of(m, r, place);
    for (uint32_t d = 0; d < m->lanes; d++) {
        left[d] -= m->kinds[p->kind].need[d];
    }
    for (uint32_t i = 0; i < rules->n_counted; i++) {
        *counts = *counts ? *counts : ARENA_NEW_N(m->s->a, uint32_t, m->n_groups);
        (*counts)[rules->counted[i]]++;
    }
}

struct choice {
    uint32_t place, found;
    int64_t score;
    struct bay_memo bays;
};

static bool takes(struct improve *m, struct improve_safe *r, const struct arrival *p,
                  uint32_t place, struct choice *c)
{
    if (!improve_fits(m->lanes, left_of(m, r, place), m->kinds[p->kind].need)) {
        improve_sieve_full(m, &r->sieve, p->kind, place, left_of(m, r, place));
        return false;
    }
    if (!hosts_ok(r, p, place) || !accepts_memo(m, r, p, place, &c->bays)) {
        improve_sieve_refused(&r->sieve, p->troop, place);
        return false;
    }
    return true;
}

/* Looks at the places from..to; returns where the next look begins. */
static uint32_t look(struct improve *m, struct improve_safe *r, const struct arrival *p,
                     uint32_t from, uint32_t to, struct choice *c)
{
    const int64_t *need = m->kinds[p->kind].need;
    const uint64_t *room = improve_sieve_by_size(&r->sieve, p->kind);
    const uint64_t *take = improve_sieve_by_troop(&r->sieve, p->troop);
    uint64_t own = UINT64_C(1) << p->place % 64, behind = ~UINT64_C(0) << from % 64;
    m->looks += (to - from) / 256;
    for (uint32_t w = from / 64; w * 64 < to; w++, behind = ~UINT64_C(0)) {
        uint64_t bits = room[w] & (take[w] | (w == p->place / 64 ? own : 0)) & behind;
        bits &= to - w * 64 < 64 ? (UINT64_C(1) << to % 64) - 1 : ~UINT64_C(0);
        for (; bits != 0; bits &= bits - 1) {
            uint32_t place = w * 64 + (uint32_t)__builtin_ctzll(bits);
            m->looks++;
            if (!takes(m, r, p, place, c)) {
                continue;
            }
            int64_t now =
                score(r, place, left_of(m, r, place), need) + (r->round > 0 ? noise(r, place) : 0);
            if (c->place == IMPROVE_NONE || now > c->score ||
                (now == c->score && place < c->place)) {
                c->place = place;
                c->score = now;
            }
            if (++c->found == r->enough) {
                return place + 1;
            }
        }
    }
    return to;
}

/* The place of the best score; IMPROVE_NONE if the pod fits nowhere. */
static uint32_t best_place(struct improve *m, struct improve_safe *r, const struct arrival *p)
{
    struct choice c = {.place = IMPROVE_NONE};
    if (improve_sieve_hopeless(&r->sieve, p->kind, p->troop)) {
        (void)look(m, r, p, p->place, p->place + 1, &c);
        return c.place;
    }
    uint32_t start = r->start < r->n_places ? r->start : 0;
    r->start = look(m, r, p, start, r->n_places, &c);
    if (c.found < r->enough) {
        r->start = look(m, r, p, 0, start, &c);
    }
    if (c.found == 0) {
        improve_sieve_lost(&r->sieve, p->kind, p->troop);
    }
    return c.place;
}

/* The pod has found no node: one gets larger, where that costs least. */
static void grow_one(struct improve *m, struct improve_safe *r, const struct arrival *p)
{
    uint32_t best = IMPROVE_NONE, best_rank = IMPROVE_NONE;
    int64_t least = INT64_MAX, want[RES_FIXED] = {0};
    const uint64_t *take = improve_sieve_by_troop(&r->sieve, p->troop);
    for (uint32_t i = 0; i < m->n_bins; i++) {
        struct improve_bin *b = &m->bins[i];
        struct improve_bay *bay = &m->bays[b->bay];
        if (b->rank == IMPROVE_NONE || (i != p->place && !bits_test(take, i)) ||
            !hosts_ok(r, p, i) || !accepts(m, r, p, i)) {
            continue;
        }
        for (uint32_t d = 0; d < m->n_dims; d++) {
            int64_t now = used_of(m, r, i, d) + m->kinds[p->kind].need[d];
            want[d] = now > b->size[d] ? now : b->size[d];
        }
        uint32_t rank = improve_menu_find(m, bay, b->rank, want, improve_most(bay, b));
        int64_t more = rank == IMPROVE_NONE
                           ? INT64_MAX
                           : improve_price(bay, rank) - improve_price(bay, b->rank);
        if (more < least) {
            least = more;
            best = i;
            best_rank = rank;
        }
    }
    bool dear = best != IMPROVE_NONE && r->total_pusd_h + least >= m->baseline_pusd_h;
    r->capped = r->capped || dear;
    if (best == IMPROVE_NONE || dear) {
        return; /* rules about hosts may be against it, however large they are */
    }
    struct improve_bin *b = &m->bins[best];
    r->total_pusd_h += least;
    for (uint32_t d = 0; d < m->n_dims; d++) {
        int64_t used = used_of(m, r, best, d), now = used + m->kinds[p->kind].need[d];
        b->size[d] = now > b->size[d] ? now : b->size[d];
        left_of(m, r, best)[d] = m->bays[b->bay].menu.room[best_rank][d] - used;
    }
    b->rank = best_rank;
    r->room[best] = m->bays[b->bay].menu.room[best_rank];
    find_scale(r, best);
    improve_sieve_larger(&r->sieve, best);
    b->changed = r->grown = true;
    bind(m, r, p, best);
}

/* The pod's turn. */
static void seek(struct improve *m, struct improve_safe *r, uint32_t pod)
{
    const struct arrival *p = &r->pods[pod];
    uint32_t place = best_place(m, r, p);
    m->looks += 4;
    if (place != IMPROVE_NONE) {
        bind(m, r, p, place);
    } else if (r->wave + 1 < r->n_waves) {
        r->waiting[r->still++] = pod;
    } else {
        m->stranded += r->round == 0 && r->play == PLAY_GROW;
        r->lost++;
        if (r->play == PLAY_GROW) {
            grow_one(m, r, p);
        }
    }
}

static void swap_ranks(struct improve *m)
{
    for (uint32_t i = 0; i < m->n_bins; i++) {
        struct improve_bin *b = &m->bins[i];
        uint32_t rank = b->rank;
        b->rank = b->was;
        b->was = rank;
    }
}

/* True if it is known whether the plan is good. */
static bool next_play(struct improve *m, struct improve_safe *r)
{
    uint32_t lost = r->lost;
    r->round = r->lost = 0;
    switch (r->play) {
    case PLAY_GROW:
        r->play = PLAY_PLAN;
        return !r->capped;
    case PLAY_PLAN:
        r->lost_plan = lost;
        r->play = PLAY_BASELINE;
        swap_ranks(m);
        return false;
    default:
        swap_ranks(m);
        r->failed = r->lost_plan > lost;
        return true;
    }
}

/* Some pods' turns; true when all rounds are over. */
static bool play(struct improve *m, struct improve_safe *r)
{
    for (uint32_t i = 0; i < PODS_PER_STEP && r->at < r->n_waiting; i++, r->at++) {
        seek(m, r, r->waiting[r->at]);
    }
    if (r->at < r->n_waiting) {
        return false;
    }
    r->n_waiting = r->still;
    if (++r->wave < r->n_waves) {
        begin_wave(r);
        return false;
    }
    r->round++;
    r->quiet = r->grown ? 0 : r->quiet + 1;
    bool enough = r->play == PLAY_GROW && r->quiet >= (r->rounds > ROUNDS_MIN ? QUIET_ROUNDS : 1);
    if ((enough || r->round == r->rounds) && next_play(m, r)) {
        return true;
    }
    begin_round(m, r);
    return false;
}

bool improve_safe_step(struct improve *m, struct improve_safe *r)
{
    switch (r->stage) {
    case SAFE_SORT:
        if (improve_turn_sort(m, r)) {
            r->stage = SAFE_PREPARE;
        }
        return false;
    case SAFE_PREPARE:
        prepare(m, r);
        r->stage = SAFE_TROOPS;
        return false;
    case SAFE_TROOPS:
        if (find_troops(m, r)) {
            improve_sieve_ready(m, &r->sieve);
            find_takers(m, r);
            begin_round(m, r);
            r->stage = SAFE_PLAY;
        }
        return false;
    default:
        return play(m, r);
    }
}

bool improve_safe_failed(const struct improve_safe *r)
{
    return r->failed;
}
