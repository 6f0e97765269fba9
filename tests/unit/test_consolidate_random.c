/*
 * Random fleets, judged by a second, naive reading of the plan: pods are put where it says, step by
 * step, and every rule is asked again with counts taken anew. Each plan must be the same whatever
 * the slices and the order of the input.
 */
#include "randomfleet.h"

#define WORLDS 500
#define PODS_MAX 2048
#define PLACES_MAX 512

/* ---- judging one ------------------------------------------------------------------------------
 */

/* Where a pod of the fleet is now. Places are nodes, then new ones as they come. */
struct judge {
    struct fleet *fl;
    const struct pod *pods[PODS_MAX];
    int at[PODS_MAX];
    bool moved[PODS_MAX];
    int n_pods;
    struct place {
        const struct snapshot_node *node;
        const struct step_in *in;
        bool gone, got;
    } places[PLACES_MAX];
    int n_places;
    bool pending; /* pods that are no part of what is judged */
};

static int place_of(const struct judge *j, const struct snapshot_node *n)
{
    for (int i = 0; i < j->n_places; i++) {
        if (j->places[i].node == n) {
            return i;
        }
    }
    ck_abort_msg("no such node");
}

static int pod_of(const struct judge *j, const struct pod *p)
{
    for (int i = 0; i < j->n_pods; i++) {
        if (j->pods[i] == p) {
            return i;
        }
    }
    ck_abort_msg("no such pod");
}

static void judge_begin(struct judge *j, const struct snapshot *s)
{
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        j->places[j->n_places++] = (struct place){.node = &s->nodes[i]};
    }
    for (uint32_t i = 0; i < s->n_bound; i++) {
        j->pods[j->n_pods] = s->bound[i].pod;
        j->at[j->n_pods++] = place_of(j, s->bound[i].node);
    }
}

/* The zone of a place; -1 where it is open. */
static int zone_of(const struct judge *j, int place)
{
    const struct place *p = &j->places[place];
    const struct symtab *t = j->fl->w.f->syms;
    if (p->node != NULL) {
        const struct req *r = reqset_get(&p->node->labels, L_ZONE);
        return catalog_find_zone(j->fl->w.f->catalog, req_single(r));
    }
    (void)t;
    uint64_t z = p->in->claim.offer.zones & 7;
    return z == 1 ? 0 : z == 2 ? 1 : z == 4 ? 2 : -1;
}

static const struct resources *room_of(const struct judge *j, int place)
{
    const struct place *p = &j->places[place];
    return p->node != NULL ? &p->node->allocatable
                           : catalog_allocatable(p->in->pool->catalog, p->in->claim.types[0]);
}

static void judge_room(struct judge *j, int place)
{
    struct resources sum = {.n_ext = 0};
    for (int i = 0; i < j->n_pods; i++) {
        if (j->at[i] == place) {
            sum = resources_add(&j->fl->w.f->a, &sum, &j->pods[i]->cls->requests, 1);
        }
    }
    ck_assert_msg(resources_fit(&sum, room_of(j, place), NULL), "too much");
}

static bool same_app(const struct pod *a, const struct pod *b)
{
    return str_eq(kvs_get(&a->labels, "app"), kvs_get(&b->labels, "app"));
}

/* How many of its kind lie at the place, or in its zone, the pod among them. */
static int count(const struct judge *j, int pod, bool host)
{
    int n = 0;
    for (int i = 0; i < j->n_pods; i++) {
        bool here =
            host ? j->at[i] == j->at[pod]
                 : zone_of(j, j->at[i]) == zone_of(j, j->at[pod]) && zone_of(j, j->at[pod]) >= 0;
        n += here && j->at[i] >= 0 && same_app(j->pods[i], j->pods[pod]);
    }
    return n;
}

static int fewest(const struct judge *j, int pod)
{
    int n[3] = {0, 0, 0};
    for (int i = 0; i < j->n_pods; i++) {
        int z = j->at[i] >= 0 ? zone_of(j, j->at[i]) : -1;
        if (z >= 0 && same_app(j->pods[i], j->pods[pod])) {
            n[z]++;
        }
    }
    const struct req *own = reqset_get(&j->pods[pod]->cls->selector, L_ZONE);
    int ret = INT32_MAX;
    for (int z = 0; z < 3; z++) {
        sym name = catalog_zone(j->fl->w.f->catalog, (uint32_t)z);
        if (own == NULL || req_has(j->fl->w.f->syms, own, name)) {
            ret = n[z] < ret ? n[z] : ret;
        }
    }
    return ret;
}

static void judge_rules(struct judge *j, int pod, bool alone)
{
    const struct pod *p = j->pods[pod];
    const struct req *zone = reqset_get(&p->cls->selector, L_ZONE);
    if (zone != NULL) {
        int z = zone_of(j, j->at[pod]);
        ck_assert_msg(z >= 0 && req_has(j->fl->w.f->syms, zone,
                                        catalog_zone(j->fl->w.f->catalog, (uint32_t)z)),
                      "%s in a wrong zone", p->m.name);
    }
    for (uint32_t i = 0; i < p->cls->anti_affinity.n; i++) {
        bool host = p->cls->anti_affinity.v[i].key == L_HOSTNAME;
        ck_assert_msg(count(j, pod, host) <= 1, "%s beside its kind", p->m.name);
    }
    for (uint32_t i = 0; i < p->cls->n_spreads; i++) {
        const struct spread *sp = &p->cls->spreads[i];
        if (sp->key == L_HOSTNAME) {
            ck_assert_msg(count(j, pod, true) <= sp->max_skew, "%s: skew", p->m.name);
        } else if (alone) {
            ck_assert_msg(count(j, pod, false) - fewest(j, pod) <= sp->max_skew, "%s: zone skew",
                          p->m.name);
        }
    }
}

static void judge_money(const struct consolidate_step *st)
{
    int64_t out = 0, worst = 0, in = 0;
    for (uint32_t i = 0; i < st->n_out; i++) {
        out += st->out[i].price_pusd_h;
    }
    for (uint32_t i = 0; i < st->n_in; i++) {
        in += st->in[i].price_pusd_h;
        worst += st->in[i].worst_pusd_h;
    }
    ck_assert_int_eq(st->saving_pusd_h, out - in);
    ck_assert_msg(st->n_in <= st->n_out, "more come than go");
    ck_assert_msg(worst < out, "may become dearer");
}

static void judge_step(struct judge *j, const struct consolidate_step *st)
{
    int first_new = j->n_places;
    for (uint32_t i = 0; i < st->n_in; i++) {
        j->places[j->n_places++] = (struct place){.in = &st->in[i]};
    }
    for (uint32_t i = 0; i < st->n_out; i++) {
        struct place *p = &j->places[place_of(j, st->out[i].node)];
        ck_assert_msg(!p->gone && !p->got, "%s is not to go", st->out[i].node->name);
        p->gone = true;
    }
    for (uint32_t i = 0; i < st->n_moves; i++) {
        const struct step_move *m = &st->moves[i];
        int pod = pod_of(j, m->pod);
        ck_assert(!j->moved[pod] && j->places[j->at[pod]].node == m->from);
        j->at[pod] = m->to != NULL ? place_of(j, m->to) : first_new + (int)m->to_new;
        j->moved[pod] = true;
        ck_assert_msg(!j->places[j->at[pod]].gone, "moved to a node that goes");
        ck_assert(m->to == NULL || (m->to->target && m->to->initialized));
        j->places[j->at[pod]].got = true;
    }
    for (int i = 0; i < j->n_pods; i++) {
        ck_assert_msg(!j->places[j->at[i]].gone, "%s was left", j->pods[i]->m.name);
    }
    for (uint32_t i = 0; i < st->n_moves; i++) {
        int pod = pod_of(j, st->moves[i].pod);
        judge_room(j, j->at[pod]);
        judge_rules(j, pod, st->n_out == 1 && !j->pending);
    }
    judge_money(st);
}

/* Pods under a budget that allows nothing are where they were. */
static void judge_protected(struct judge *j, const struct draw *d)
{
    for (int i = 0; i < j->n_pods; i++) {
        int app = atoi(kvs_get(&j->pods[i]->labels, "app") + 1);
        ck_assert_msg(!j->moved[i] || !d->apps[app].protects, "%s is protected",
                      j->pods[i]->m.name);
    }
}

/* All steps together take no more units than there are. */
static void judge_reservations(const struct judge *j, const struct consolidate_result *r)
{
    int used[RESERVATIONS] = {0};
    for (uint32_t i = 0; i < r->n_steps; i++) {
        for (uint32_t k = 0; k < r->steps[i].n_in; k++) {
            const struct sched_claim *claim = &r->steps[i].in[k].claim;
            if (claim->reservation == NULL) {
                continue;
            }
            int at = atoi(sym_str(j->fl->w.f->syms, claim->reservation->id) + 3);
            ck_assert(claim->n_types == 1 && claim->types[0] == claim->reservation->type);
            ck_assert(claim->offer.zones == UINT64_C(1) << claim->reservation->zone);
            ck_assert_msg(++used[at] <= at + 1, "cr-%d given %d times", at, used[at]);
        }
    }
}

START_TEST(test_random)
{
    static struct fleet fl;
    static struct judge j;
    struct draw d;
    draw(&d, (uint64_t)_i);
    f_build(&fl, d.text.p);
    struct consolidate *c = f_plan(&fl);
    const struct consolidate_result *r = consolidate_result(c);
    /* The last plan looks at the snapshot that it was made from: judge a plan of its own. */
    memset(&j, 0, sizeof(j));
    j.fl = &fl;
    j.pending = fl.w.f->in.n_pods > 0;
    const struct snapshot *s = fix_snapshot(fl.w.f);
    c = consolidate_begin(&fl.w.f->a, s, &fl.facts, &fl.opt);
    ck_assert(consolidate_step(c, UINT64_MAX));
    ck_assert_str_eq(consolidate_result(c)->digest, r->digest);
    r = consolidate_result(c);
    judge_begin(&j, s);
    for (uint32_t i = 0; i < r->n_steps; i++) {
        judge_step(&j, &r->steps[i]);
    }
    judge_protected(&j, &d);
    judge_reservations(&j, r);
    draw_done(&d);
    f_done(&fl);
}
END_TEST

static const int worlds[WORLDS];

UNIT_MAIN("consolidate_random", UNIT_CASES(test_random, worlds))
