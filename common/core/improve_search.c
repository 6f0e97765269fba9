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
#define PARTNERS_MAX 128u /* other bins that one is compared with */

/* What it takes to bring the bin down to a type. */
struct aim {
    struct improve_bay *bay;
    struct improve_bin *b;
    uint32_t rank;
    int64_t over[RES_FIXED]; /* must go, per dimension; negative: may come */
    int64_t saves;
    uint32_t self; /* of the bay's bins */
};

static void take_aim(const struct improve *m, struct aim *a)
{
    for (uint32_t d = 0; d < m->n_dims; d++) {
        int64_t room = a->rank == IMPROVE_NONE ? 0 : a->bay->menu.room[a->rank][d];
        a->over[d] = a->b->used[d] - room;
    }
    a->saves = improve_price(a->bay, a->b->rank) - improve_price(a->bay, a->rank);
}

/* A type for the partner: its own, or dearer by less than what is saved. */
struct partner {
    struct improve_bin *b;
    int64_t slack[RES_FIXED];
};

/* The n-th other bin that one is compared with. Claims that were opened together are full of like
 * pods, so it looks far and wide. */
static uint32_t partner_at(const struct aim *a, uint32_t n)
{
    uint32_t bins = a->bay->n_bins, stride = bins > PARTNERS_MAX ? bins / PARTNERS_MAX : 1;
    uint32_t at = a->self + n * stride;
    return at >= bins ? at - bins : at;
}

static bool has_slack(const struct improve *m, const struct aim *a, struct improve_bin *b,
                      uint32_t rank, struct partner *p)
{
    p->b = b;
    for (uint32_t d = 0; d < m->n_dims; d++) {
        p->slack[d] = a->bay->menu.room[rank][d] - b->used[d];
        if (p->slack[d] < a->over[d] || p->slack[d] < 0) {
            return false;
        }
    }
    return true;
}

static bool goes(const struct improve *m, const struct aim *a, const struct partner *p,
                 const int64_t *out, const int64_t *in)
{
    for (uint32_t d = 0; d < m->n_dims; d++) {
        int64_t moved = out[d] - (in != NULL ? in[d] : 0);
        if (moved < a->over[d] || moved > p->slack[d]) {
            return false;
        }
    }
    return true;
}

/* None of the amounts that must go is more than the pod has. */
static bool enough(const struct improve *m, const struct aim *a, const int64_t *out)
{
    for (uint32_t d = 0; d < m->n_dims; d++) {
        if (out[d] < a->over[d]) {
            return false;
        }
    }
    return true;
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
    for (uint32_t i = 0; i < to->n_lots; i++) {
        const struct improve_lot *in = &to->lots[i];
        if (m->kinds[in->kind].fixed || !goes(m, a, p, ko->need, m->kinds[in->kind].need)) {
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

static bool aim_at(struct improve *m, struct aim *a, bool grow)
{
    take_aim(m, a);
    for (uint32_t n = 1; n < a->bay->n_bins && n <= PARTNERS_MAX; n++) {
        uint32_t at = partner_at(a, n);
        struct improve_bin *b = &m->bins[a->bay->bins[at]];
        struct partner p;
        uint32_t rank = b->rank;
        if (rank == IMPROVE_NONE || (grow && !grown(m, a, b, &rank)) ||
            !has_slack(m, a, b, rank, &p)) {
            continue;
        }
        if (trade_with(m, a, &p)) {
            return true;
        }
    }
    m->looks += PARTNERS_MAX / 2;
    return false;
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

static bool room_for(const struct improve *m, const struct improve_bay *bay,
                     const struct improve_bin *b, const int64_t *need)
{
    for (uint32_t d = 0; d < m->n_dims; d++) {
        if (b->used[d] + need[d] > bay->menu.room[b->rank][d]) {
            return false;
        }
    }
    return true;
}

static struct improve_bin *taker(struct improve *m, const struct aim *a, uint32_t kind,
                                 uint32_t pod)
{
    for (uint32_t n = 1; n < a->bay->n_bins && n <= PARTNERS_MAX; n++) {
        uint32_t at = partner_at(a, n);
        struct improve_bin *b = &m->bins[a->bay->bins[at]];
        if (b->rank != IMPROVE_NONE && room_for(m, a->bay, b, m->kinds[kind].need) &&
            improve_host_ok(m, b, kind, pod, IMPROVE_NONE, IMPROVE_NONE)) {
            m->looks += n / 2;
            return b;
        }
    }
    m->looks += PARTNERS_MAX / 2;
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
    for (uint32_t n = 1; n < a->bay->n_bins && n <= PARTNERS_MAX; n++) {
        uint32_t at = partner_at(a, n);
        struct partner p = {.b = &m->bins[a->bay->bins[at]]};
        bool full = p.b->rank == IMPROVE_NONE;
        for (uint32_t d = 0; d < m->n_dims && !full; d++) {
            p.slack[d] = a->bay->menu.room[p.b->rank][d] - p.b->used[d];
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

/* To a type that costs half, or half of that, at last to none. */
static bool go_far(struct improve *m, struct aim *a)
{
    uint32_t from = a->b->rank;
    a->rank = IMPROVE_NONE;
    if (a->bay->n_bins < 2) {
        return false;
    }
    if (shed(m, a, false)) {
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
    default:
        return step_down(m, &a, BY_SEVERAL);
    }
}
