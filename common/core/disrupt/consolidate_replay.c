/*
 * consolidate_replay.c - the finished plan from the start, on a picture of its own.
 *
 * Every move is asked of the placement again, in the order of the steps, without anything that the
 * search remembered. Steps are wanted in the order of their score; they were found in another one,
 * and only if they hold in the wanted order is it taken.
 */
#include "common/base/sort.h"
#include "consolidate_int.h"

static bool to_node(struct consolidate *c, const struct found_move *m, struct sched_class *k,
                    struct sched_ask *ask)
{
    struct sched_node *n = whatif_node(c->s, m->node);
    bool for_good;
    if (n == NULL || !sched_node_takes(c->s, n, k, ask, &for_good)) {
        return false;
    }
    sched_node_add(c->s, n, k);
    return true;
}

static bool holds(struct sched *s, struct sched_open *o, const struct step_in *in)
{
    if (in->claim.reservation != NULL && !sched_reserve_pin(s, o, in->claim.reservation)) {
        return false;
    }
    for (uint32_t i = 0; i < in->claim.n_types; i++) {
        if (!bits_test(o->types, in->claim.types[i])) {
            return false;
        }
    }
    return (in->claim.offer.zones & ~o->offer.zones) == 0 &&
           (in->claim.offer.cts & ~o->offer.cts) == 0;
}

static bool move(struct consolidate *c, const struct found *f, const struct found_move *m,
                 uint32_t *number)
{
    struct sched *s = c->s;
    struct sched_class *k = &s->classes[s->class_of[m->pod]];
    if (m->node == NULL) {
        const struct step_in *in = &f->out.in[m->claim];
        return sched_put(s, in->pool, m->pod, m->way, in->claim.reservation, &number[m->claim]);
    }
    sched_learn(s, k);
    struct sched_ask *ask = sched_ask(s, k, m->way);
    sched_ask_refresh(s, k, ask);
    return to_node(c, m, k, ask);
}

/* The pods of one member, in the order of placing; who waits for another one comes again. */
static bool play_member(struct consolidate *c, const struct found *f, const struct cand *x,
                        uint32_t *number)
{
    const struct found_move *m = f->moves;
    uint32_t left = x->n_pods, done = 0;
    bool *placed = ARENA_NEW_N(c->a, bool, x->n_pods);
    while (x->n_pods > 0 && m->pod != x->pods[0]) {
        m++;
    }
    for (bool progress = true; left > 0 && progress; left = x->n_pods - done) {
        progress = false;
        for (uint32_t i = 0; i < x->n_pods; i++) {
            if (!placed[i] && move(c, f, &m[i], number)) {
                placed[i] = progress = true;
                done++;
            }
        }
    }
    return done == x->n_pods;
}

static bool play(struct consolidate *c, const struct found *f)
{
    struct sched *s = c->s;
    uint32_t *number = ARENA_NEW_N(c->a, uint32_t, f->out.n_in);
    struct resources *reserve = ARENA_NEW_N(c->a, struct resources, f->out.n_in);
    const struct snapshot_node **left =
        ARENA_NEW_N(c->a, const struct snapshot_node *, f->n_members);
    memset(number, 0xff, f->out.n_in * sizeof(*number));
    whatif_begin_trial(s, f->out.n_in);
    for (uint32_t i = 0; i < f->n_members; i++) {
        const struct cand *x = f->members[i];
        left[i] = x->node;
        whatif_remove(s, x->node, x->pods, x->n_pods);
        if (!play_member(c, f, x, number)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < f->out.n_in; i++) {
        if (number[i] == UINT32_MAX || !holds(s, s->claims[number[i]], &f->out.in[i])) {
            return false;
        }
        reserve[number[i]] = f->reserve[i];
    }
    whatif_keep(s, left, f->n_members, reserve);
    return true;
}

static int cmp_score(const void *x, const void *y)
{
    const struct found *a = *(const struct found *const *)x, *b = *(const struct found *const *)y;
    if (a->out.reason != b->out.reason &&
        (a->out.reason == DISRUPT_DRIFTED || b->out.reason == DISRUPT_DRIFTED)) {
        return a->out.reason == DISRUPT_DRIFTED ? 1 : -1;
    }
    if (a->out.score != b->out.score && a->out.reason != DISRUPT_DRIFTED) {
        return a->out.score > b->out.score ? -1 : 1;
    }
    return a < b ? -1 : a > b; /* one array: as they were found */
}

static void take(struct consolidate *c, const struct found *const *order, uint32_t n)
{
    uint32_t max = c->opt.max_steps;
    c->result.cut_short = max != 0 && n > max;
    n = c->result.cut_short ? max : n;
    struct consolidate_step *v = ARENA_NEW_N(c->a, struct consolidate_step, n);
    for (uint32_t i = 0; i < c->n_cands; i++) {
        struct cand *x = &c->cands[i];
        if (x->step != NO_STEP) {
            x->step = NO_STEP;
            x->why = (struct reason){.code = REASON_Consolidatable};
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        v[i] = order[i]->out;
        v[i].id = i + 1;
        for (uint32_t m = 0; m < order[i]->n_members; m++) {
            order[i]->members[m]->step = (int32_t)i;
        }
    }
    c->result.steps = v;
    c->result.n_steps = n;
}

void replay_begin(struct consolidate *c)
{
    const struct found **order = ARENA_NEW_N(c->a, const struct found *, c->n_found);
    for (uint32_t i = 0; i < c->n_found; i++) {
        order[i] = &c->found[i];
    }
    sort_items(order, c->n_found, sizeof(*order), cmp_score);
    c->replay.order = order;
    c->replay.ok = 0;
}

bool replay_again(struct consolidate *c)
{
    if (c->replay.ok == c->n_found || c->replay.as_found) {
        return false;
    }
    for (uint32_t i = 0; i < c->n_found; i++) {
        c->replay.order[i] = &c->found[i];
    }
    c->replay.as_found = true;
    c->replay.ok = 0;
    return true;
}

bool replay_step(struct consolidate *c)
{
    if (c->replay.ok < c->n_found && play(c, c->replay.order[c->replay.ok])) {
        c->replay.ok++;
        c->units++;
        return true;
    }
    return false;
}

void replay_take(struct consolidate *c)
{
    take(c, c->replay.order, c->replay.ok);
}
