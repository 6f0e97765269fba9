/* improve.c - from the claims of a pass to bins and back, and whose turn is next; see improve.h. */
#include "common/base/sort.h"
#include "improve_int.h"

#define CLAIMS_PER_STEP 64u
#define LOOKS_PER_POD 40u
#define LOOKS_BESIDE UINT64_C(200000) /* for all pods together */
#define LOOKS_PER_MOVE 8u             /* that putting a pod somewhere takes as long as */

enum { STAGE_LOAD, STAGE_SEARCH, STAGE_REPLAY, STAGE_WRITE };

/* ---- packed amounts -------------------------------------------------------------------------- */

#define PACKED_MAX INT64_C(0x7fff)

static uint64_t pack(const struct improve *m, const int64_t *v, bool up)
{
    uint64_t ret = 0;
    for (uint32_t d = 0; d < IMPROVE_LANES; d++) {
        int64_t more = up ? (INT64_C(1) << m->shift[d]) - 1 : 0;
        int64_t n = v[d] <= 0 ? 0 : (v[d] + more) >> m->shift[d];
        ret |= (uint64_t)(n < PACKED_MAX ? n : PACKED_MAX) << 16 * d;
    }
    return ret;
}

uint64_t improve_pack_room(const struct improve *m, const int64_t *v)
{
    return pack(m, v, true) | IMPROVE_GUARDS;
}

uint64_t improve_pack_need(const struct improve *m, const int64_t *v)
{
    return pack(m, v, false);
}

static void find_shifts(struct improve *m)
{
    int64_t most[IMPROVE_LANES] = {0};
    for (uint32_t i = 0; i < m->n_bays; i++) {
        const struct improve_menu *menu = &m->bays[i].menu;
        for (uint32_t k = 0; k < menu->n * IMPROVE_LANES; k++) {
            int64_t room = menu->room[k / IMPROVE_LANES][k % IMPROVE_LANES];
            most[k % IMPROVE_LANES] =
                room > most[k % IMPROVE_LANES] ? room : most[k % IMPROVE_LANES];
        }
    }
    for (uint32_t d = 0; d < IMPROVE_LANES; d++) {
        while (most[d] >> m->shift[d] >= PACKED_MAX) {
            m->shift[d]++;
        }
    }
}

/* ---- kinds ----------------------------------------------------------------------------------- */

bool improve_stays(const struct sched_class *k)
{
    return k->volume != NULL || k->cls->n_host_ports > 0 || k->cls->requests.n_ext > 0;
}

uint32_t improve_kind(struct improve *m, uint32_t class_at, uint32_t way)
{
    struct sched *s = m->s;
    uint32_t *first = &m->kind_of_class[class_at];
    for (uint32_t i = *first; i != 0; i = m->kinds[i - 1].next) {
        if (m->kinds[i - 1].way == way) {
            return i - 1;
        }
    }
    ARENA_GROW(s->a, m->kinds, m->n_kinds, m->cap_kinds);
    struct improve_kind *k = &m->kinds[m->n_kinds++];
    *k = (struct improve_kind){.k = &s->classes[class_at], .way = way, .next = *first};
    k->ask = sched_ask(s, k->k, way);
    k->fixed = improve_stays(k->k);
    for (uint32_t d = 0; d < m->n_dims; d++) {
        k->need[d] = k->k->cls->requests.v[m->dims[d]];
    }
    k->coarse = improve_pack_need(m, k->need);
    k->coarse_up = improve_pack_room(m, k->need);
    improve_host_kind(m, k);
    *first = m->n_kinds;
    return m->n_kinds - 1;
}

/* ---- bays ------------------------------------------------------------------------------------ */

static bool alike(const struct sched_open *x, const struct sched_open *y)
{
    if (x->pool != y->pool || x->cts != y->cts || x->offer.zones != y->offer.zones ||
        x->offer.cts != y->offer.cts || x->reqs.n != y->reqs.n) {
        return false;
    }
    for (uint32_t i = 0; i < x->reqs.n; i++) {
        if (x->reqs.v[i].key != y->reqs.v[i].key || !req_equal(&x->reqs.v[i], &y->reqs.v[i])) {
            return false;
        }
    }
    return true;
}

static uint32_t hash_of(const struct improve *m, const struct sched_open *c)
{
    uint64_t h = (uint64_t)(c->pool - m->s->pools) + c->offer.zones * UINT64_C(1000003) +
                 c->offer.cts * UINT64_C(7919);
    for (uint32_t i = 0; i < c->reqs.n; i++) {
        const struct req *r = &c->reqs.v[i];
        h = (h ^ r->key) * UINT64_C(0x9E3779B97F4A7C15);
        h = (h ^ (r->n > 0 ? r->values[0] : 0) ^ (uint64_t)r->n << 32) *
            UINT64_C(0x9E3779B97F4A7C15);
    }
    return (uint32_t)(h >> 32);
}

static void bay_types(struct improve *m, struct improve_bay *bay)
{
    struct sched *s = m->s;
    const struct template *tm = &bay->pool->tm;
    const struct resources none = {0};
    bay->bits = arena_memdup(s->a, tm->types, catalog_words(tm->catalog) * sizeof(*tm->types));
    for (uint32_t i = 0; i < bay->like->reqs.n; i++) {
        template_narrow(tm->catalog, s->syms, &bay->like->reqs.v[i], bay->bits);
    }
    offerings_narrow(bay->pool->in->offerings, bay->like->offer, bay->bits);
    sched_fit_types(s, tm, &none, bay->bits);
}

static uint32_t bay_of(struct improve *m, const struct sched_open *c)
{
    uint32_t i = hash_of(m, c) & (m->n_slots - 1);
    while (m->slots[i] != 0 && !alike(m->bays[m->slots[i] - 1].like, c)) {
        i = (i + 1) & (m->n_slots - 1);
    }
    if (m->slots[i] == 0) {
        ARENA_GROW(m->s->a, m->bays, m->n_bays, m->cap_bays);
        struct improve_bay *bay = &m->bays[m->n_bays];
        *bay = (struct improve_bay){.pool = c->pool, .like = c};
        bay_types(m, bay);
        improve_menu_make(m, bay);
        m->slots[i] = ++m->n_bays;
    }
    return m->slots[i] - 1;
}

/* ---- bins ------------------------------------------------------------------------------------ */

static struct improve_lot *lot_of(struct improve *m, struct improve_bin *b, uint32_t kind)
{
    for (uint32_t i = 0; i < b->n_lots; i++) {
        if (b->lots[i].kind == kind) {
            return &b->lots[i];
        }
    }
    ARENA_GROW(m->s->a, b->lots, b->n_lots, b->cap_lots);
    const struct improve_kind *k = &m->kinds[kind];
    b->lots[b->n_lots] =
        (struct improve_lot){.kind = kind, .coarse = k->coarse, .coarse_up = k->coarse_up};
    return &b->lots[b->n_lots++];
}

static void use(const struct improve *m, struct improve_bin *b, const int64_t *need, int64_t times)
{
    for (uint32_t d = 0; d < m->lanes; d++) {
        b->used[d] += times * need[d];
    }
    for (uint32_t d = 0; d < m->lanes && b->slack != NULL; d++) {
        b->slack[d] -= times * need[d];
    }
    if (b->slack != NULL) {
        *b->coarse = improve_pack_room(m, b->slack);
    }
}

static void put(struct improve *m, struct improve_bin *b, uint32_t kind, uint32_t pod)
{
    struct improve_lot *l = lot_of(m, b, kind);
    ARENA_GROW(m->s->a, l->pods, l->n, l->cap);
    uint32_t i = l->n++;
    for (; i > 0 && l->pods[i - 1] > pod; i--) {
        l->pods[i] = l->pods[i - 1];
    }
    l->pods[i] = pod;
    use(m, b, m->kinds[kind].need, 1);
}

static void take_out(struct improve *m, struct improve_bin *b, uint32_t kind, uint32_t pod)
{
    struct improve_lot *l = lot_of(m, b, kind);
    uint32_t i = 0;
    while (i < l->n && l->pods[i] != pod) {
        i++;
    }
    memmove(&l->pods[i], &l->pods[i + 1], (l->n - i - 1) * sizeof(*l->pods));
    use(m, b, m->kinds[kind].need, -1);
    if (--l->n == 0) {
        uint32_t at = (uint32_t)(l - b->lots);
        memmove(&b->lots[at], &b->lots[at + 1], (b->n_lots - at - 1) * sizeof(*b->lots));
        b->n_lots--;
    }
}

void improve_move(struct improve *m, struct improve_bin *from, struct improve_bin *to,
                  uint32_t kind, uint32_t pod)
{
    take_out(m, from, kind, pod);
    put(m, to, kind, pod);
    improve_host_moved(m, kind, from->c, to->c);
    from->changed = to->changed = true;
}

const int64_t *improve_most(const struct improve_bay *bay, const struct improve_bin *b)
{
    return bay->pool->in->np->has_limits ? b->most : NULL;
}

static void find_slack(const struct improve *m, struct improve_bin *b)
{
    for (uint32_t d = 0; d < m->lanes; d++) {
        b->slack[d] = b->rank == IMPROVE_NONE ? INT64_MIN / 2
                                              : m->bays[b->bay].menu.room[b->rank][d] - b->used[d];
    }
    *b->coarse = improve_pack_room(m, b->slack);
}

void improve_rerank(struct improve *m, struct improve_bin *b)
{
    const struct improve_bay *bay = &m->bays[b->bay];
    b->rank =
        b->n_lots == 0 ? IMPROVE_NONE : improve_menu_find(m, bay, 0, b->used, improve_most(bay, b));
    if (b->slack != NULL) {
        find_slack(m, b);
    }
}

static void put_apart(struct improve *m, struct improve_bay *bay)
{
    uint32_t *v = ARENA_NEW_N(m->s->a, uint32_t, bay->cap_lined), n = 0;
    uint32_t stride = bay->n_bins > IMPROVE_PARTNERS ? bay->n_bins / IMPROVE_PARTNERS : 1;
    for (uint32_t from = 0; from < stride; from++) {
        for (uint32_t i = from; i < bay->n_bins; i += stride) {
            v[n++] = bay->bins[i];
        }
    }
    bay->bins = v;
}

void improve_line_up_one(struct improve *m, struct improve_bay *bay, uint32_t at)
{
    struct improve_bin *b = &m->bins[bay->bins[at]];
    b->coarse = &bay->coarse[at];
    b->slack = bay->slack + (size_t)at * m->lanes;
    if (b->n_lots == 0) {
        b->rank = IMPROVE_NONE;
    }
    find_slack(m, b);
    for (uint32_t l = 0; l < b->n_lots; l++) {
        b->lots[l].coarse = m->kinds[b->lots[l].kind].coarse;
        b->lots[l].coarse_up = m->kinds[b->lots[l].kind].coarse_up;
    }
}

static void line_up(struct improve *m, struct improve_bay *bay)
{
    bay->cap_lined = bay->n_bins * (bay->pool->placement == PLACEMENT_CHEAPEST ? 2 : 1);
    put_apart(m, bay);
    bay->slack = ARENA_NEW_N(m->s->a, int64_t, (size_t)bay->cap_lined * m->lanes);
    bay->coarse = ARENA_NEW_N(m->s->a, uint64_t, bay->cap_lined);
    for (uint32_t i = 0; i < bay->n_bins; i++) {
        improve_line_up_one(m, bay, i);
    }
}

/* Every bin and kind is known. */
static void loaded(struct improve *m)
{
    find_shifts(m);
    for (uint32_t i = 0; i < m->n_kinds; i++) {
        m->kinds[i].coarse = improve_pack_need(m, m->kinds[i].need);
        m->kinds[i].coarse_up = improve_pack_room(m, m->kinds[i].need);
    }
    for (uint32_t i = 0; i < m->n_bays; i++) {
        line_up(m, &m->bays[i]);
    }
}

static bool left_alone(const struct sched_open *c)
{
    bool alone = c->pool->placement == PLACEMENT_BASELINE || c->reservation != SCHED_NO_CLAIM ||
                 c->n_ports > 0 || c->requests.n_ext > 0 || c->volumes.n > 0 ||
                 c->volumes.n_shared > 0 || c->n_pods == 0;
    for (uint32_t i = 0; i < c->reqs.n; i++) {
        alone = alone || c->reqs.v[i].min_values > 0;
    }
    return alone;
}

static void load(struct improve *m, struct sched_open *c)
{
    struct sched *s = m->s;
    struct improve_bin *b = &m->bins[m->n_bins];
    const struct nodepool *np = c->pool->in->np;
    if (left_alone(c)) {
        m->alone[m->n_alone] = c;
        m->n_alone += c->n_pods > 0;
        return;
    }
    *b = (struct improve_bin){.c = c, .bay = bay_of(m, c)};
    for (uint32_t i = 0; i < c->n_pods; i++) {
        put(m, b, improve_kind(m, s->class_of[c->taken[i].pod], c->taken[i].way), c->taken[i].pod);
    }
    for (int r = 0; np->has_limits && r < RES_FIXED; r++) {
        b->most[r] = np->limits.v[r] < 0 ? -1 : c->reserve.v[r];
    }
    improve_rerank(m, b);
    if (b->rank == IMPROVE_NONE) {
        m->alone[m->n_alone++] = c;
        return;
    }
    b->was = b->rank;
    struct improve_bay *bay = &m->bays[b->bay];
    ARENA_GROW(s->a, bay->bins, bay->n_bins, bay->cap_bins);
    bay->bins[bay->n_bins++] = m->n_bins++;
    bay->n_pods += c->n_pods;
    m->n_pods += c->n_pods;
    m->looks += c->n_pods * LOOKS_PER_MOVE;
}

/* ---- writing back ---------------------------------------------------------------------------- */

static int cmp_taken(const void *x, const void *y)
{
    uint32_t a = ((const struct sched_taken *)x)->pod, b = ((const struct sched_taken *)y)->pod;
    return a < b ? -1 : a > b;
}

static void write_types(struct improve *m, struct improve_bin *b)
{
    struct sched *s = m->s;
    struct sched_open *c = b->c;
    const struct improve_bay *bay = &m->bays[b->bay];
    const struct catalog *cat = c->pool->tm.catalog;
    uint64_t bits[CATALOG_WORDS_MAX] = {0};
    if (b->n_lots > 0) {
        memcpy(bits, bay->bits, catalog_words(cat) * sizeof(*bits));
        struct resources size = c->requests;
        for (uint32_t d = 0; m->safe != NULL && d < m->n_dims; d++) {
            size.v[m->dims[d]] = b->size[d];
        }
        sched_fit_types(s, &c->pool->tm, &size, bits);
    }
    if (c->pool->in->np->has_limits) {
        struct resources most = {.n_ext = 0};
        memcpy(most.v, b->most, sizeof(most.v));
        catalog_narrow_limit(cat, &most, bits);
        sched_limit_touch(c);
    }
    memcpy(c->types, bits, catalog_words(cat) * sizeof(*bits));
}

/* Pods in the order of their turns. */
static void write_back(struct improve *m, struct improve_bin *b)
{
    struct sched *s = m->s;
    struct sched_open *c = b->c;
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->n_lots; i++) {
        n += b->lots[i].n;
    }
    c->taken = ARENA_NEW_N(s->a, struct sched_taken, n);
    c->pods = ARENA_NEW_N(s->a, const struct pod *, n);
    c->n_pods = c->pods_cap = c->taken_cap = n;
    n = 0;
    for (uint32_t i = 0; i < b->n_lots; i++) {
        for (uint32_t p = 0; p < b->lots[i].n; p++) {
            c->taken[n++] = (struct sched_taken){b->lots[i].pods[p], m->kinds[b->lots[i].kind].way};
        }
    }
    sort_items(c->taken, n, sizeof(*c->taken), cmp_taken);
    for (uint32_t i = 0; i < n; i++) {
        c->pods[i] = s->snap->pods[c->taken[i].pod];
    }
    for (uint32_t d = 0; d < m->n_dims; d++) {
        c->requests.v[m->dims[d]] = b->used[d];
    }
    c->pool->opened -= n == 0;
    m->looks += n * LOOKS_PER_MOVE;
    write_types(m, b);
}

/* Counts of pods per host as they were; the claims have not been touched. */
static void take_back(struct improve *m)
{
    struct sched *s = m->s;
    uint32_t *home = ARENA_NEW_N(s->a, uint32_t, s->snap->n_pods);
    for (uint32_t i = 0; i < m->n_bins; i++) {
        for (uint32_t p = 0; p < m->bins[i].c->n_pods; p++) {
            home[m->bins[i].c->taken[p].pod] = i;
        }
    }
    for (uint32_t i = 0; i < m->n_bins; i++) {
        /* One that was opened for it stays empty. */
        m->bins[i].c->pool->opened -= m->bins[i].c->n_pods == 0;
        for (uint32_t l = 0; l < m->bins[i].n_lots; l++) {
            const struct improve_lot *lot = &m->bins[i].lots[l];
            for (uint32_t p = 0; p < lot->n; p++) {
                improve_host_moved(m, lot->kind, m->bins[i].c, m->bins[home[lot->pods[p]]].c);
            }
        }
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void find_dims(struct improve *m)
{
    for (int r = 0; r < RES_FIXED; r++) {
        bool any = false;
        for (uint32_t i = 0; i < m->s->n_classes && !any; i++) {
            any = m->s->classes[i].cls->requests.v[r] != 0;
        }
        if (any) {
            m->dims[m->n_dims++] = (enum resource)r;
        }
    }
    m->lanes = (m->n_dims + IMPROVE_LANES - 1) / IMPROVE_LANES * IMPROVE_LANES;
}

struct improve *improve_begin(struct sched *s)
{
    struct improve *m = ARENA_NEW(s->a, struct improve);
    m->s = s;
    find_dims(m);
    m->kind_of_class = ARENA_NEW_N(s->a, uint32_t, s->n_classes);
    m->cap_bins = s->n_claims * 2;
    m->bins = ARENA_NEW_N(s->a, struct improve_bin, m->cap_bins);
    m->alone = ARENA_NEW_N(s->a, const struct sched_open *, s->n_claims);
    m->n_slots = 16;
    while (m->n_slots < s->n_claims * 2) {
        m->n_slots *= 2;
    }
    m->slots = ARENA_NEW_N(s->a, uint32_t, m->n_slots);
    for (uint32_t p = 0; p < s->n_pools; p++) {
        sched_limit_refresh(s, &s->pools[p]);
    }
    return m;
}

static void next_bay(struct improve *m)
{
    m->bay++;
    m->bin = m->way = 0;
    m->found = m->found_any = false;
}

/* One bin's turn. The ways take turns too, each until it finds nothing; a bay is done when a whole
 * round of them found nothing. */
static void search(struct improve *m)
{
    struct improve_bay *bay = &m->bays[m->bay];
    if (m->bin == 0 && m->way == 0 && bay->budget == 0) {
        bay->budget = bay->n_pods * (LOOKS_PER_POD + LOOKS_BESIDE / m->n_pods);
    }
    uint64_t before = m->looks;
    if (improve_one(m, bay, &m->bins[bay->bins[m->bin]], m->way)) {
        m->found = m->found_any = true;
    } else {
        m->bin++;
    }
    uint64_t used = m->looks - before;
    bay->budget = used < bay->budget ? bay->budget - used : 0;
    if (bay->budget == 0) {
        next_bay(m);
    } else if (m->bin == bay->n_bins) {
        m->bin = 0;
        m->way += !m->found;
        m->found = false;
        if (m->way == IMPROVE_WAYS) {
            bool again = m->found_any;
            m->way = 0;
            m->found_any = false;
            if (!again) {
                next_bay(m);
            }
        }
    }
}

int64_t improve_total(const struct improve *m)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < m->n_bins; i++) {
        sum += improve_price(&m->bays[m->bins[i].bay], m->bins[i].rank);
    }
    return sum;
}

/* Only a plan that the scheduler can fill is worth it, and only if it is still cheaper. */
static bool replay(struct improve *m)
{
    if (m->safe != NULL && !improve_safe_step(m, m->safe)) {
        return false;
    }
    m->safe_pusd_h = improve_total(m);
    m->stage = STAGE_WRITE;
    m->at = 0;
    if (m->safe_pusd_h >= m->baseline_pusd_h || (m->safe != NULL && improve_safe_failed(m->safe))) {
        m->safe_pusd_h = m->baseline_pusd_h;
        take_back(m);
        return true;
    }
    return false;
}

static bool move_on(struct improve *m)
{
    struct sched *s = m->s;
    switch (m->stage) {
    case STAGE_LOAD:
        for (uint32_t i = 0; i < CLAIMS_PER_STEP && m->at < s->n_claims; i++) {
            load(m, s->claims[m->at++]);
        }
        if (m->at == s->n_claims) {
            loaded(m);
            m->stage = STAGE_SEARCH;
            m->baseline_pusd_h = improve_total(m);
        }
        return false;
    case STAGE_SEARCH:
        while (m->bay < m->n_bays && m->bays[m->bay].n_bins == 0) {
            next_bay(m);
        }
        if (m->bay < m->n_bays) {
            search(m);
            return false;
        }
        m->tight_pusd_h = m->safe_pusd_h = improve_total(m);
        m->stage = STAGE_REPLAY;
        if (m->tight_pusd_h >= m->baseline_pusd_h) {
            return true; /* nothing was found */
        }
        m->safe = m->s->opt.tight ? NULL : improve_safe_begin(m);
        return false;
    case STAGE_REPLAY:
        return replay(m);
    case STAGE_WRITE:
        for (uint32_t i = 0; i < CLAIMS_PER_STEP && m->at < m->n_bins; i++, m->at++) {
            if (m->bins[m->at].changed) {
                write_back(m, &m->bins[m->at]);
            }
        }
        return m->at == m->n_bins;
    default:
        return true;
    }
}

int64_t improve_saved_pusd_h(const struct improve *m, bool tight)
{
    return m->baseline_pusd_h - (tight ? m->tight_pusd_h : m->safe_pusd_h);
}

uint32_t improve_stranded(const struct improve *m)
{
    return m->stranded;
}

uint64_t improve_step(struct improve *m, bool *ret_done)
{
    *ret_done = move_on(m);
    uint64_t units = m->looks / IMPROVE_LOOKS_PER_UNIT;
    m->looks %= IMPROVE_LOOKS_PER_UNIT;
    return units;
}
