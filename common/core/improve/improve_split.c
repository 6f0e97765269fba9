/* improve_split.c - one node more, where a pool asks for the cheapest; see improve.h.
 *
 * A bin becomes two of the same bay that together cost a tenth less at least. They hold what was
 * together before, so rules about hosts hold, and nothing lies closer together on a node or in a
 * zone than it did; that no workload has more pods on one type is seen to where that may be spot.
 */
#include "common/base/str.h"
#include "improve_int.h"

#define SPLIT_TYPES 16u /* that are tried for the new bin */
#define SPLIT_PODS_MAX 512u
#define WORKLOADS_MAX 32u

struct split {
    uint32_t kind[SPLIT_PODS_MAX], pod[SPLIT_PODS_MAX];
    uint32_t n;
    uint32_t rank, left_rank; /* of the new bin, and of what is left */
    int64_t price;
};

static bool may_split(const struct improve *m, const struct improve_bay *bay,
                      const struct improve_bin *b)
{
    const struct sched_pool *p = bay->pool;
    int64_t most = p->in->max_new_nodes;
    return p->placement == PLACEMENT_CHEAPEST && !p->in->np->has_limits && p->n_reservations == 0 &&
           (most < 0 || p->opened < most) && m->n_bins < m->cap_bins &&
           bay->n_bins < bay->cap_lined && b->rank != IMPROVE_NONE;
}

/* As many pods as fit the type, in the order of the bin; false if none or all do. */
static bool fill(struct improve *m, const struct improve_bay *bay, const struct improve_bin *b,
                 uint32_t rank, struct split *x)
{
    int64_t room[RES_FIXED], left[RES_FIXED] = {0};
    uint32_t all = 0;
    memcpy(room, bay->menu.room[rank], sizeof(room));
    x->n = 0;
    for (uint32_t i = 0; i < b->n_lots; i++) {
        const struct improve_lot *l = &b->lots[i];
        const struct improve_kind *k = &m->kinds[l->kind];
        all += l->n;
        for (uint32_t p = 0; p < l->n; p++) {
            bool goes = !k->fixed && x->n < SPLIT_PODS_MAX && improve_fits(m->lanes, room, k->need);
            for (uint32_t d = 0; d < m->lanes; d++) {
                room[d] -= goes ? k->need[d] : 0;
                left[d] += goes ? 0 : k->need[d];
            }
            if (goes) {
                x->kind[x->n] = l->kind;
                x->pod[x->n++] = l->pods[p];
            }
        }
    }
    m->looks += all;
    if (x->n == 0 || x->n == all) {
        return false;
    }
    x->rank = rank;
    x->left_rank = improve_menu_find(m, bay, 0, left, NULL);
    x->price = improve_price(bay, rank) + improve_price(bay, x->left_rank);
    return x->left_rank != IMPROVE_NONE;
}

/* Pods of the owner on bins of that type; those that move count for `rank`. */
static uint32_t on_type(const struct improve *m, const struct improve_bay *bay, const char *owner,
                        uint32_t rank, const struct improve_bin *without)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < bay->n_bins; i++) {
        const struct improve_bin *b = &m->bins[bay->bins[i]];
        for (uint32_t l = 0; l < b->n_lots && b->rank == rank && b != without; l++) {
            for (uint32_t p = 0; p < b->lots[l].n; p++) {
                n += str_eq(m->s->snap->pods[b->lots[l].pods[p]]->owner_uid, owner);
            }
        }
    }
    return n;
}

static bool moves(const struct split *x, uint32_t pod)
{
    for (uint32_t i = 0; i < x->n; i++) {
        if (x->pod[i] == pod) {
            return true;
        }
    }
    return false;
}

/* The workload has no more pods on the types of the two than it had on that of the one. */
static bool no_closer(struct improve *m, const struct improve_bay *bay, const struct improve_bin *b,
                      const struct split *x, const char *owner)
{
    uint32_t here = 0, gone = 0;
    for (uint32_t l = 0; l < b->n_lots; l++) {
        for (uint32_t p = 0; p < b->lots[l].n; p++) {
            uint32_t pod = b->lots[l].pods[p];
            bool its = str_eq(m->s->snap->pods[pod]->owner_uid, owner);
            here += its;
            gone += its && moves(x, pod);
        }
    }
    m->looks += (uint64_t)bay->n_pods * 3;
    uint32_t before = here + on_type(m, bay, owner, b->rank, b);
    uint32_t there = gone + on_type(m, bay, owner, x->rank, b);
    uint32_t stays = here - gone + on_type(m, bay, owner, x->left_rank, b);
    if (x->rank == x->left_rank) {
        there += here - gone;
    }
    return there <= before && stays <= before;
}

static bool spreads_out(struct improve *m, const struct improve_bay *bay,
                        const struct improve_bin *b, const struct split *x)
{
    const char *seen[WORKLOADS_MAX];
    uint32_t n = 0;
    if ((bay->like->offer.cts & 1u << CT_SPOT) == 0) {
        return true;
    }
    for (uint32_t l = 0; l < b->n_lots; l++) {
        for (uint32_t p = 0; p < b->lots[l].n; p++) {
            const char *owner = m->s->snap->pods[b->lots[l].pods[p]]->owner_uid;
            bool known = owner[0] == '\0';
            for (uint32_t i = 0; i < n && !known; i++) {
                known = str_eq(seen[i], owner);
            }
            if (known) {
                continue;
            }
            if (n == WORKLOADS_MAX || !no_closer(m, bay, b, x, owner)) {
                return false;
            }
            seen[n++] = owner;
        }
    }
    return true;
}

static void carry_out(struct improve *m, struct improve_bay *bay, struct improve_bin *b,
                      const struct split *x)
{
    struct improve_bin *one = &m->bins[m->n_bins];
    *one = (struct improve_bin){
        .c = sched_open_beside(m->s, b->c), .bay = b->bay, .was = IMPROVE_NONE};
    bay->bins[bay->n_bins] = m->n_bins++;
    improve_line_up_one(m, bay, bay->n_bins++);
    for (uint32_t i = 0; i < x->n; i++) {
        improve_move(m, b, one, x->kind[i], x->pod[i]);
    }
    improve_rerank(m, b);
    improve_rerank(m, one);
}

bool improve_split(struct improve *m, struct improve_bay *bay, struct improve_bin *b)
{
    if (!may_split(m, bay, b)) {
        return false;
    }
    struct split best = {.n = 0}, x;
    uint32_t stride = b->rank / SPLIT_TYPES + 1;
    best.price = improve_price(bay, b->rank) / 10 * 9 + 1;
    for (uint32_t r = 0; r < b->rank; r += stride) {
        if (fill(m, bay, b, r, &x) && x.price < best.price) {
            best = x;
        }
    }
    if (best.n == 0 || !spreads_out(m, bay, b, &best)) {
        return false;
    }
    carry_out(m, bay, b, &best);
    return true;
}
