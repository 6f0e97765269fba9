/* improve_search.c - which pods go where; see improve_int.h.
 *
 * A bin gets cheaper when it fits a cheaper type. Three ways to get there: one pod goes where there
 * is room, or changes places with a smaller one (or one of another shape), and no other bin gets
 * dearer; the same with a bin that gets dearer by less than what is saved; several pods go, one
 * after the other, and perhaps all.
 */
#include "improve_int.h"

#define DEPTH 4u     /* cheaper types that are aimed at */
#define FAR_DEPTH 6u /* for several pods: half as dear, and half again … */
#define MOVES_MAX 64u

/* What it takes to bring the bin down to a type. */
struct aim {
    struct improve_bay *bay;
    struct improve_bin *b;
    uint32_t rank;
    int64_t over[RES_FIXED]; /* must go, per dimension; negative: may come */
    int64_t must[RES_FIXED]; /* the same without what may come */
    uint64_t coarse;         /* the same, packed */
    int64_t saves;
    uint32_t self; /* of the bay's bins */
};

static void take_aim(const struct improve *m, struct aim *a)
{
    for (uint32_t d = 0; d < m->lanes; d++) {
        int64_t room = a->rank == IMPROVE_NONE ? 0 : a->bay->menu.room[a->rank][d];
        a->over[d] = a->b->used[d] - room;
        a->must[d] = a->over[d] > 0 ? a->over[d] : 0;
    }
    a->coarse = improve_pack_need(m, a->must);
    a->saves = improve_price(a->bay, a->b->rank) - improve_price(a->bay, a->rank);
}

/* A type for the partner: its own, or dearer by less than what is saved. */
struct partner {
    struct improve_bin *b;
    const int64_t *slack;
    int64_t grown[RES_FIXED]; /* the slack where it grows */
};

/* A walk over the other bins that one is compared with: those behind it in the bay. */
struct walk {
    uint64_t need; /* packed */
    uint32_t at;   /* where to go on */
    uint32_t left; /* bins from there on */
    uint32_t base; /* of bits: bins that may have room for the need */
    uint32_t bits;
};

static struct walk walk_begin(const struct aim *a, uint64_t need)
{
    uint32_t others = a->bay->n_bins - 1;
    return (struct walk){.need = need,
                         .at = a->self + 1 < a->bay->n_bins ? a->self + 1 : 0,
                         .left = others < IMPROVE_PARTNERS ? others : IMPROVE_PARTNERS};
}

/* A stretch of bins, without a branch for each. */
static void look_ahead(const struct aim *a, struct walk *w)
{
    const uint64_t *v = a->bay->coarse + w->at;
    uint32_t n = w->left < 32 ? w->left : 32, behind = a->bay->n_bins - w->at;
    n = n < behind ? n : behind;
    w->base = w->at;
    for (uint32_t i = 0; i < n; i++) {
        w->bits |= (uint32_t)improve_may_fit(v[i], w->need) << i;
    }
    w->left -= n;
    w->at = n < behind ? w->at + n : 0;
}

/* The next place of a bin that may have room; false at the end. */
static bool walk_next(const struct aim *a, struct walk *w, uint32_t *ret)
{
    while (w->bits == 0) {
        if (w->left == 0) {
            return false;
        }
        look_ahead(a, w);
    }
    *ret = w->base + (uint32_t)__builtin_ctz(w->bits);
    w->bits &= w->bits - 1;
    return true;
}

static const int64_t *slack_at(const struct improve *m, const struct improve_bay *bay, uint32_t at)
{
    return bay->slack + (size_t)at * m->lanes;
}

/* The partner has room for what must go, with its own type or the dearer one. */
static bool has_slack(const struct improve *m, const struct aim *a, uint32_t at, uint32_t rank,
                      struct partner *p)
{
    p->b = &m->bins[a->bay->bins[at]];
    p->slack = slack_at(m, a->bay, at);
    if (rank != p->b->rank) {
        for (uint32_t d = 0; d < m->lanes; d++) {
            p->grown[d] = a->bay->menu.room[rank][d] - p->b->used[d];
        }
        p->slack = p->grown;
    }
    return improve_fits(m->lanes, p->slack, a->must);
}

static bool goes(const struct improve *m, const struct aim *a, const struct partner *p,
                 const int64_t *out, const int64_t *in)
{
    int64_t lacking = 0;
    for (uint32_t d = 0; d < m->lanes; d++) {
        int64_t moved = out[d] - (in != NULL ? in[d] : 0);
        lacking |= (moved - a->over[d]) | (p->slack[d] - moved);
    }
    return lacking >= 0;
}

/* None of the amounts that must go is more than the pod has. */
static bool enough(const struct improve *m, const struct aim *a, const int64_t *out)
{
    return improve_fits(m->lanes, out, a->over);
}

/* What may come in exchange, packed: no more than is left of the aim, no less than the partner is
 * short of. */
struct range {
    uint64_t most, least;
};

static struct range exchange(const struct improve *m, const struct aim *a, const struct partner *p,
                             const int64_t *out)
{
    int64_t most[RES_FIXED], least[RES_FIXED];
    for (uint32_t d = 0; d < IMPROVE_LANES; d++) {
        most[d] = out[d] - a->over[d];
        least[d] = out[d] - p->slack[d];
    }
    return (struct range){improve_pack_room(m, most), improve_pack_need(m, least)};
}

static uint32_t last(const struct improve_lot *l)
{
    return l->pods[l->n - 1];
}

/* One pod of the lot goes, and perhaps one of the partner's comes. */
static bool trade(struct improve *m, const struct aim *a, struct partner *p,
                  const struct improve_lot *out)
{
    const struct improve_kind *ko = &m->kinds[out->kind];
    struct improve_bin *from = a->b, *to = p->b;
    uint32_t out_kind = out->kind, out_pod = last(out);
    m->looks++;
    if (goes(m, a, p, ko->need, NULL) &&
        improve_host_ok(m, to, out_kind, out_pod, IMPROVE_NONE, IMPROVE_NONE)) {
        improve_move(m, from, to, out_kind, out_pod);
        return true;
    }
    m->looks += to->n_lots;
    struct range range = exchange(m, a, p, ko->need);
    for (uint32_t i = 0; i < to->n_lots; i++) {
        const struct improve_lot *in = &to->lots[i];
        if (!improve_may_fit(range.most, in->coarse) ||
            !improve_may_fit(in->coarse_up, range.least) || m->kinds[in->kind].fixed ||
            !goes(m, a, p, ko->need, m->kinds[in->kind].need)) {
            continue;
        }
        uint32_t in_kind = in->kind, in_pod = last(in);
        if (in_kind != out_kind && improve_host_ok(m, to, out_kind, out_pod, in_kind, in_pod) &&
            improve_host_ok(m, from, in_kind, in_pod, out_kind, out_pod)) {
            improve_move(m, from, to, out_kind, out_pod);
            improve_move(m, to, from, in_kind, in_pod);
            return true;
        }
    }
    return false;
}

static bool trade_with(struct improve *m, const struct aim *a, struct partner *p)
{
    for (uint32_t i = 0; i < a->b->n_lots; i++) {
        const struct improve_lot *out = &a->b->lots[i];
        if (!improve_may_fit(out->coarse_up, a->coarse)) {
            continue;
        }
        const struct improve_kind *k = &m->kinds[out->kind];
        if (!k->fixed && enough(m, a, k->need) && trade(m, a, p, out)) {
            improve_rerank(m, a->b);
            improve_rerank(m, p->b);
            return true;
        }
    }
    m->looks += a->b->n_lots;
    return false;
}

/* The dearest type that the partner may get. */
static bool grown(struct improve *m, const struct aim *a, const struct improve_bin *b,
                  uint32_t *ret)
{
    const struct improve_menu *menu = &a->bay->menu;
    int64_t below = improve_price(a->bay, b->rank) + a->saves;
    uint32_t i = b->rank;
    while (i + 1 < menu->n && menu->price[i + 1] < below) {
        i++;
    }
    while (i > b->rank && !improve_menu_allows(m, a->bay, i, improve_most(a->bay, b))) {
        i--;
    }
    m->looks++;
    *ret = i;
    return i > b->rank;
}

static bool aim_as_is(struct improve *m, struct aim *a)
{
    struct walk w = walk_begin(a, a->coarse);
    for (uint32_t at; walk_next(a, &w, &at);) {
        struct partner p;
        uint32_t rank = m->bins[a->bay->bins[at]].rank;
        if (rank != IMPROVE_NONE && has_slack(m, a, at, rank, &p) && trade_with(m, a, &p)) {
            return true;
        }
    }
    return false;
}

static bool aim_growing(struct improve *m, struct aim *a)
{
    struct walk w = walk_begin(a, 0);
    for (uint32_t at; walk_next(a, &w, &at);) {
        const struct improve_bin *b = &m->bins[a->bay->bins[at]];
        struct partner p;
        uint32_t rank = b->rank;
        if (rank != IMPROVE_NONE && grown(m, a, b, &rank) && has_slack(m, a, at, rank, &p) &&
            trade_with(m, a, &p)) {
            return true;
        }
    }
    return false;
}

static bool aim_at(struct improve *m, struct aim *a, bool grow)
{
    take_aim(m, a);
    m->looks += IMPROVE_PARTNERS / 2;
    return grow ? aim_growing(m, a) : aim_as_is(m, a);
}

static bool shed(struct improve *m, struct aim *a, bool swaps);

/* By one trade without a partner that grows, by one with, or by several. */
enum how { BY_ONE, BY_GROWING, BY_SEVERAL };

static bool step_down(struct improve *m, struct aim *a, enum how how)
{
    uint32_t tried = 0;
    int64_t price = improve_price(a->bay, a->b->rank);
    for (uint32_t r = a->b->rank; r-- > 0 && tried < DEPTH;) {
        if (a->bay->menu.price[r] == price ||
            !improve_menu_allows(m, a->bay, r, improve_most(a->bay, a->b))) {
            continue;
        }
        tried++;
        a->rank = r;
        if (how == BY_SEVERAL ? shed(m, a, true) : aim_at(m, a, how == BY_GROWING)) {
            return true;
        }
    }
    return false;
}

/* ---- several pods ---------------------------------------------------------------------------- */

struct moved {
    struct improve_bin *to;
    uint32_t kind, pod;
    uint32_t in_kind, in; /* who came instead; IMPROVE_NONE: nobody */
};

static struct improve_bin *taker(struct improve *m, const struct aim *a, uint32_t kind,
                                 uint32_t pod)
{
    const struct improve_kind *k = &m->kinds[kind];
    struct walk w = walk_begin(a, k->coarse);
    for (uint32_t at; walk_next(a, &w, &at);) {
        struct improve_bin *b = &m->bins[a->bay->bins[at]];
        if (improve_fits(m->lanes, slack_at(m, a->bay, at), k->need) &&
            improve_host_ok(m, b, kind, pod, IMPROVE_NONE, IMPROVE_NONE)) {
            m->looks += (IMPROVE_PARTNERS - w.left) / 2;
            return b;
        }
    }
    m->looks += IMPROVE_PARTNERS / 2;
    return NULL;
}

/* One pod goes that has something of what must; false if none can. */
static bool shed_one(struct improve *m, const struct aim *a, struct moved *ret)
{
    for (uint32_t i = 0; i < a->b->n_lots; i++) {
        const struct improve_lot *lot = &a->b->lots[i];
        const struct improve_kind *k = &m->kinds[lot->kind];
        bool helps = false;
        for (uint32_t d = 0; d < m->n_dims; d++) {
            helps = helps || (a->over[d] > 0 && k->need[d] > 0);
        }
        if (k->fixed || !helps) {
            continue;
        }
        struct moved one = {NULL, lot->kind, last(lot), IMPROVE_NONE, IMPROVE_NONE};
        one.to = taker(m, a, one.kind, one.pod);
        if (one.to != NULL) {
            improve_move(m, a->b, one.to, one.kind, one.pod);
            *ret = one;
            return true;
        }
    }
    return false;
}

/* The change brings the bin nearer to its aim, and what is within it stays so. */
static bool nearer(const struct improve *m, const struct aim *a, const struct partner *p,
                   const int64_t *out, const int64_t *in)
{
    bool ret = false;
    for (uint32_t d = 0; d < m->n_dims; d++) {
        int64_t moved = out[d] - in[d], over = a->over[d];
        if (moved > p->slack[d] || moved < (over < 0 ? over : 0)) {
            return false;
        }
        ret = ret || (over > 0 && moved > 0);
    }
    return ret;
}

static bool swap_nearer(struct improve *m, const struct aim *a, const struct partner *p,
                        const struct improve_lot *out, struct moved *ret)
{
    const struct improve_kind *ko = &m->kinds[out->kind];
    m->looks += p->b->n_lots;
    for (uint32_t i = 0; i < p->b->n_lots; i++) {
        const struct improve_lot *in = &p->b->lots[i];
        const struct improve_kind *ki = &m->kinds[in->kind];
        struct moved one = {p->b, out->kind, last(out), in->kind, last(in)};
        if (in->kind != out->kind && !ki->fixed && nearer(m, a, p, ko->need, ki->need) &&
            improve_host_ok(m, p->b, one.kind, one.pod, one.in_kind, one.in) &&
            improve_host_ok(m, a->b, one.in_kind, one.in, one.kind, one.pod)) {
            improve_move(m, a->b, p->b, one.kind, one.pod);
            improve_move(m, p->b, a->b, one.in_kind, one.in);
            *ret = one;
            return true;
        }
    }
    return false;
}

static bool swap_one(struct improve *m, const struct aim *a, struct moved *ret)
{
    struct walk w = walk_begin(a, 0);
    for (uint32_t at; walk_next(a, &w, &at);) {
        struct partner p = {.b = &m->bins[a->bay->bins[at]], .slack = slack_at(m, a->bay, at)};
        bool full = p.b->rank == IMPROVE_NONE;
        for (uint32_t d = 0; d < m->n_dims && !full; d++) {
            full = a->over[d] > 0 && p.slack[d] <= 0;
        }
        m->looks++;
        for (uint32_t i = 0; i < a->b->n_lots && !full; i++) {
            if (!m->kinds[a->b->lots[i].kind].fixed && swap_nearer(m, a, &p, &a->b->lots[i], ret)) {
                return true;
            }
        }
    }
    return false;
}

static bool still_over(const struct improve *m, const struct aim *a)
{
    for (uint32_t d = 0; d < m->n_dims; d++) {
        if (a->over[d] > 0) {
            return true;
        }
    }
    return false;
}

static bool shed(struct improve *m, struct aim *a, bool swaps)
{
    struct moved moves[MOVES_MAX];
    uint32_t n = 0;
    take_aim(m, a);
    while (still_over(m, a) && n < MOVES_MAX &&
           (shed_one(m, a, &moves[n]) || (swaps && swap_one(m, a, &moves[n])))) {
        take_aim(m, a);
        n++;
    }
    bool done = !still_over(m, a);
    while (!done && n > 0) {
        n--;
        improve_move(m, moves[n].to, a->b, moves[n].kind, moves[n].pod);
        if (moves[n].in != IMPROVE_NONE) {
            improve_move(m, a->b, moves[n].to, moves[n].in_kind, moves[n].in);
        }
    }
    if (done) {
        improve_rerank(m, a->b);
        for (uint32_t i = 0; i < n; i++) {
            improve_rerank(m, moves[i].to);
        }
    }
    return done;
}

/* Each pod by itself could go; else they cannot all. */
static bool all_could_go(struct improve *m, const struct aim *a)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < a->b->n_lots; i++) {
        const struct improve_lot *lot = &a->b->lots[i];
        n += lot->n;
        if (n > MOVES_MAX || m->kinds[lot->kind].fixed ||
            taker(m, a, lot->kind, last(lot)) == NULL) {
            return false;
        }
    }
    return true;
}

/* To a type that costs half, or half of that, at last to none. */
static bool go_far(struct improve *m, struct aim *a)
{
    uint32_t from = a->b->rank;
    a->rank = IMPROVE_NONE;
    if (a->bay->n_bins < 2) {
        return false;
    }
    if (all_could_go(m, a) && shed(m, a, false)) {
        return true;
    }
    uint32_t tried = 0;
    int64_t below = improve_price(a->bay, from);
    for (uint32_t r = 0; r < from && tried < FAR_DEPTH; r++) {
        if (a->bay->menu.price[r] * (FAR_DEPTH + 1) < below * (int64_t)(tried + 1) ||
            !improve_menu_allows(m, a->bay, r, improve_most(a->bay, a->b))) {
            continue;
        }
        tried++;
        a->rank = r;
        if (a->bay->menu.price[r] < below && shed(m, a, false)) {
            return true;
        }
    }
    return false;
}

bool improve_one(struct improve *m, struct improve_bay *bay, struct improve_bin *b, uint32_t way)
{
    struct aim a = {.bay = bay, .b = b, .self = m->bin};
    m->looks++;
    if (b->rank == IMPROVE_NONE) {
        return false;
    }
    switch (way) {
    case 0:
        return step_down(m, &a, BY_ONE);
    case 1:
        return go_far(m, &a);
    case 2:
        return step_down(m, &a, BY_GROWING);
    case 3:
        return step_down(m, &a, BY_SEVERAL);
    default:
        return improve_split(m, bay, b);
    }
}
