/* consolidate_search.c - nodes by themselves, and sets grown around a seed. */
#include "common/core/labels.h"
#include "consolidate_int.h"

/* ---- one node -------------------------------------------------------------------------------- */

/* What the pool that comes nearest has against a new node for the class. */
static const char *obstacle(struct consolidate *c, struct sched_class *k)
{
    struct sched *s = c->s;
    struct reason nearest = {.code = REASON_NONE}, r;
    for (uint32_t i = 0; i < s->n_pools; i++) {
        sched_obstacle(s, &s->pools[i], k, &r);
        if (r.code == REASON_NONE) {
            return "more new nodes than leave would be needed";
        }
        nearest = r.code > nearest.code ? r : nearest;
    }
    struct buf b;
    buf_init(&b, 4096);
    reason_fmt(s->syms, &nearest, &b);
    const char *ret = arena_strdup(c->a, b.n > 0 ? b.p : "there is no NodePool");
    buf_done(&b);
    return ret;
}

/* Its pods found no place: the last one that was refused, and why if a new node was allowed. */
static struct reason no_room(struct consolidate *c, bool explain)
{
    const struct sched *s = c->s;
    uint32_t last = s->result.n_refused - 1;
    struct reason r = {.code = REASON_PodsDoNotFit, .short_of = {.res = RES_FIXED}};
    const struct pod *p = s->refused[last].pod;
    r.object = arena_printf(c->a, "%s/%s", p->m.ns, p->m.name);
    if (explain) {
        r.text = obstacle(c, &c->s->classes[s->refused_class[last]]);
    }
    return r;
}

static bool free_to_go(const struct cand *x)
{
    return x->step == NO_STEP && !x->received;
}

static bool leave(struct consolidate *c, const struct cand *x)
{
    c->units++;
    return whatif_leave(c->s, x->node, x->pods, x->n_pods);
}

/* Tries the node alone with so many new ones; keeps the step if it is worth it, else says why not.
 */
static bool try_alone(struct consolidate *c, struct cand *x, uint32_t max_new, bool keep,
                      struct worth *ret)
{
    whatif_begin_trial(c->s, max_new);
    struct whatif_mark start = whatif_mark(c->s);
    bool fits = leave(c, x);
    bool drifted = x->reason == DISRUPT_DRIFTED;
    *ret = (struct worth){.ok = false};
    if (!fits) {
        ret->why = no_room(c, max_new > 0);
    } else if (drifted) {
        int64_t in = price_of_claims(c);
        ret->ok = true;
        ret->out = x->price != PRICE_UNKNOWN ? x->price : 0;
        ret->in = in != PRICE_UNKNOWN ? in : 0;
    } else {
        *ret = price_worth(c, &x, 1, keep);
    }
    if (ret->ok && keep) {
        enum step_kind kind = c->s->n_claims > 0 ? STEP_REPLACE : STEP_DELETE;
        kind = x->reason == DISRUPT_EMPTY ? STEP_EMPTY : kind;
        keep_step(c, &x, 1, kind, x->reason, ret);
        return true;
    }
    whatif_undo(c->s, &start);
    return ret->ok;
}

/* An empty node goes without anybody being asked. */
bool search_empty(struct consolidate *c)
{
    for (; c->at < c->n_cands; c->at++) {
        struct cand *x = &c->cands[c->at];
        if (x->candidate && x->reason == DISRUPT_EMPTY) {
            struct worth w = {.ok = true, .out = x->price != PRICE_UNKNOWN ? x->price : 0};
            whatif_begin_trial(c->s, 0);
            (void)whatif_leave(c->s, x->node, NULL, 0);
            keep_step(c, &x, 1, STEP_EMPTY, DISRUPT_EMPTY, &w);
            c->at++;
            c->units++;
            return true;
        }
    }
    return false;
}

bool search_drift(struct consolidate *c)
{
    if (c->at >= c->n_drifted) {
        return false;
    }
    struct cand *x = c->drifted[c->at++];
    struct worth w;
    if (free_to_go(x) && !try_alone(c, x, UINT32_MAX, true, &w)) {
        x->why = w.why;
    }
    return true;
}

bool search_delete(struct consolidate *c)
{
    if (c->at >= c->n_ratio) {
        return false;
    }
    struct cand *x = c->ratio[c->at++];
    struct worth w;
    if (free_to_go(x) && !try_alone(c, x, 0, true, &w)) {
        x->why = w.why;
    }
    return true;
}

/* What replacing the node by itself would save; nothing is kept yet. */
bool search_alone(struct consolidate *c)
{
    if (c->at >= c->n_ratio) {
        return false;
    }
    struct cand *x = c->ratio[c->at++];
    struct worth w;
    if (!free_to_go(x)) {
        return true;
    }
    if (x->price_why.code != REASON_NONE) {
        x->why = x->price_why;
        return true;
    }
    x->sure = try_alone(c, x, 1, false, &w);
    x->alone = x->sure ? w.saving : 0;
    if (!x->sure) {
        x->why = w.why;
    }
    return true;
}

bool search_replace(struct consolidate *c)
{
    if (c->at >= c->n_ratio) {
        return false;
    }
    struct cand *x = c->ratio[c->at++];
    struct worth w;
    if (x->sure && free_to_go(x) && !try_alone(c, x, 1, true, &w)) {
        x->why = w.why;
    }
    return true;
}

/* ---- nodes that stay ---------------------------------------------------------------------------
 */

/* Own pods and those that were moved to them, for nodes that got some. */
static void begin_stays(struct consolidate *c)
{
    for (uint32_t i = 0; i < c->n_ratio; i++) {
        c->ratio[i]->n_got = c->ratio[i]->n_pods;
    }
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t f = 0; f < c->n_found; f++) {
            for (uint32_t m = 0; m < c->found[f].n_moves; m++) {
                const struct found_move *mv = &c->found[f].moves[m];
                struct cand *x = mv->node ? c->of_node[mv->node - c->snap->nodes] : NULL;
                if (x != NULL && pass == 1 && x->got != NULL) {
                    ((uint32_t *)(uintptr_t)x->got)[x->n_got] = mv->pod;
                }
                if (x != NULL) {
                    x->n_got++;
                }
            }
        }
        for (uint32_t i = 0; pass == 0 && i < c->n_ratio; i++) {
            struct cand *x = c->ratio[i];
            uint32_t *v = x->received ? ARENA_NEW_N(c->a, uint32_t, x->n_got) : NULL;
            if (v != NULL && x->n_pods > 0) {
                memcpy(v, x->pods, x->n_pods * sizeof(*v));
            }
            x->got = v;
            x->n_got = x->n_pods;
        }
    }
}

/* A node that got pods stays in this plan. If that is the only reason, pods are expected on it. */
bool search_stays(struct consolidate *c)
{
    if (c->at == 0) {
        begin_stays(c);
    }
    while (c->at < c->n_ratio && (!c->ratio[c->at]->received || c->ratio[c->at]->step != NO_STEP)) {
        c->at++;
    }
    if (c->at >= c->n_ratio) {
        return false;
    }
    struct cand *x = c->ratio[c->at++];
    struct cand all = *x;
    struct worth w;
    all.pods = x->got;
    all.n_pods = x->n_got;
    if (try_alone(c, &all, 1, false, &w)) {
        x->why = (struct reason){.code = REASON_Nominated, .short_of = {.res = RES_FIXED}};
        const struct pod *p = c->s->pods[x->got[x->n_pods]];
        x->why.object = arena_printf(c->a, "%s/%s", p->m.ns, p->m.name);
    } else {
        x->why = w.why;
    }
    return true;
}

/* ---- sets ------------------------------------------------------------------------------------ */

static int64_t ever(const struct consolidate *c, const struct cand *x)
{
    return c->pools[x->node->pool - c->snap->pools].ever;
}

/* Members of the set from x's pool. */
static int64_t of_pool(const struct consolidate *c, const struct cand *x)
{
    int64_t n = 0;
    for (uint32_t i = 0; i < c->g.n; i++) {
        n += c->g.nodes[i].cand->node->pool == x->node->pool;
    }
    return n;
}

/* Its pool's budgets never let one more go at once. Two are looked at all the same: they may be as
 * dear as one. */
static bool too_many(const struct consolidate *c, const struct cand *x)
{
    return of_pool(c, x) + 1 > (ever(c, x) > 2 ? ever(c, x) : 2);
}

static bool never_at_once(const struct consolidate *c)
{
    for (uint32_t i = 0; i < c->g.n; i++) {
        const struct cand *x = c->g.nodes[i].cand;
        if (ever(c, x) < 2 && of_pool(c, x) > ever(c, x)) {
            return true;
        }
    }
    return false;
}

static bool add(struct consolidate *c, struct cand *x)
{
    struct growth *g = &c->g;
    struct whatif_mark before = whatif_mark(c->s);
    if (!leave(c, x)) {
        whatif_undo(c->s, &before);
        return false;
    }
    g->nodes[g->n++] = (struct grown){x, before};
    g->out += x->price;
    g->potential += x->potential;
    x->in_set = g->serial;
    return true;
}

/* Of what its members could save at most so much is enough to look no further. */
static bool good_enough(const struct best *b)
{
    return b->saving > 0 && b->saving >= b->potential - b->potential / 32;
}

/* y saves more of what its members could than x, and not just a little more. */
static bool clearly_better(const struct best *x, const struct best *y)
{
    __extension__ __int128 a = (__int128)x->saving * y->potential * 33;
    __extension__ __int128 b = (__int128)y->saving * x->potential * 32;
    return y->saving > 0 && (x->saving <= 0 || b > a);
}

/* y saves no less than x of what its members could. */
static bool no_worse(const struct best *x, const struct best *y)
{
    __extension__ __int128 a = (__int128)x->saving * y->potential;
    __extension__ __int128 b = (__int128)y->saving * x->potential;
    return y->saving > 0 && (x->saving <= 0 || b >= a);
}

static void note_best(struct consolidate *c)
{
    struct growth *g = &c->g;
    int64_t in = price_of_claims(c);
    struct best b = {g->n, g->out - in, g->potential};
    if (in != PRICE_UNKNOWN && c->s->n_claims <= g->n && !never_at_once(c) &&
        (c->try > 0 ? no_worse(&g->now, &b) : b.saving > g->now.saving)) {
        g->now = b;
    }
    same_note(c, in);
}

static bool seed_known_to_fail(const struct consolidate *c, const struct cand *x)
{
    return x->price <= c->g.failed[x->kind];
}

/* A set begins with the next candidate that has not been in one. */
bool search_seed(struct consolidate *c)
{
    struct growth *g = &c->g;
    while (c->at < c->n_sets &&
           (!free_to_go(c->sets[c->at]) || seed_known_to_fail(c, c->sets[c->at]))) {
        c->at++;
    }
    if (c->at >= c->n_sets) {
        return false;
    }
    g->seed = c->sets[c->at];
    g->n = g->at = g->misses = 0;
    g->out = g->potential = 0;
    g->now = g->best = g->from = (struct best){0, 0, 0};
    g->from_n = g->same.n = 0;
    g->max_new = 1;
    g->serial++;
    memset(g->refused, 0, c->n_kinds * sizeof(*g->refused));
    whatif_begin_trial(c->s, CONSOLIDATE_MAX_NEW);
    g->start = whatif_mark(c->s);
    bool ok = add(c, g->seed);
    g->max_new = c->s->n_claims > 1 ? c->s->n_claims : 1;
    whatif_allow_new(c->s, g->max_new);
    if (!ok) {
        g->failed[g->seed->kind] = g->seed->price;
        whatif_undo(c->s, &g->start);
        c->at++;
        return true;
    }
    if (c->try > 0) {
        note_best(c);
    }
    c->phase = PHASE_GROW;
    return true;
}

static int64_t sum_alone(const struct growth *g)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < g->best.n; i++) {
        sum += g->nodes[i].cand->alone;
    }
    return sum;
}

/* The best of the sets that the seed grew through, if it beats its members one by one. */
static bool take_best(struct consolidate *c)
{
    struct growth *g = &c->g;
    if (g->best.n < 2 || g->best.saving <= sum_alone(g)) {
        whatif_undo(c->s, &g->start);
        return false;
    }
    if (g->best.n < g->n) {
        whatif_undo(c->s, &g->nodes[g->best.n].before);
    }
    struct cand **members = ARENA_NEW_N(c->a, struct cand *, g->best.n);
    for (uint32_t i = 0; i < g->best.n; i++) {
        members[i] = g->nodes[i].cand;
    }
    struct worth w = price_worth(c, members, g->best.n, true);
    if (!w.ok) {
        g->seed->why = g->seed->sure ? g->seed->why : w.why;
        whatif_undo(c->s, &g->start);
        return false;
    }
    enum step_kind kind = c->s->n_claims > 0 ? STEP_REPLACE : STEP_DELETE;
    keep_step(c, members, g->best.n, kind, DISRUPT_UNDERUTILIZED, &w);
    return true;
}

static void grown(struct consolidate *c)
{
    struct growth *g = &c->g;
    if (!take_best(c)) {
        same_keep(c);
        g->failed[g->seed->kind] = g->seed->price;
        c->at++;
    }
    c->phase = PHASE_SEED;
}

static int64_t cheapest(void *ctx, const struct snapshot_pool *p, const uint64_t *types,
                        struct offer_mask offer)
{
    return price_cheapest(ctx, p, types, offer);
}

static void shrink(struct growth *g, uint32_t n)
{
    while (g->n > n) {
        struct cand *x = g->nodes[--g->n].cand;
        x->in_set = 0;
        g->out -= x->price;
        g->potential -= x->potential;
    }
}

/* Where the share counts, it does not come back once a set has grown far beyond its best. */
static uint32_t most_nodes(const struct consolidate *c)
{
    uint32_t far = c->g.now.n + CONSOLIDATE_MAX_BEYOND;
    return c->try > 0 && c->g.now.n > 0 && far < CONSOLIDATE_MAX_SET ? far : CONSOLIDATE_MAX_SET;
}

/* The set gets one node more. When no other fits, it may have another new node, unless what it
 * saves is near to all that its members could: then those there are keep the size that was best.
 * More new nodes must be clearly better, because small steps are safer. */
bool search_grow(struct consolidate *c)
{
    struct growth *g = &c->g;
    while (g->at < c->n_sets && g->misses < CONSOLIDATE_MAX_MISSES && g->n < most_nodes(c)) {
        struct cand *x = c->sets[g->at++];
        if (!free_to_go(x) || g->refused[x->kind] == g->max_new || x->in_set == g->serial ||
            whatif_touched(c->s, x->node) || too_many(c, x)) {
            continue;
        }
        if (add(c, x)) {
            g->misses = 0;
            note_best(c);
        } else {
            g->misses++;
            g->refused[x->kind] = (uint8_t)g->max_new;
        }
        return true;
    }
    if (clearly_better(&g->best, &g->now)) {
        g->best = g->now;
    }
    bool moved_on = g->now.n > 0 ? g->now.n > g->from.n : g->n > g->from_n;
    if (good_enough(&g->best) || c->s->n_claims >= CONSOLIDATE_MAX_NEW || !moved_on) {
        grown(c);
        return true;
    }
    g->from = g->now;
    if (g->now.n > 0) {
        if (g->now.n < g->n) {
            whatif_undo(c->s, &g->nodes[g->now.n].before);
            shrink(g, g->now.n);
        }
        whatif_freeze_prices(c->s, cheapest, c);
    }
    g->max_new = c->s->n_claims + 1;
    g->at = g->misses = 0;
    g->from_n = g->n;
    whatif_allow_new(c->s, g->max_new);
    return true;
}
