/*
 * sched.c - the pass: one pod after the other, each from place to place.
 *
 * A pod's way is cut into legs, each one way of asking (sched_class.c) at one kind of place: nodes
 * that exist, claims opened by this pass, a new claim. sched_step goes on where it stopped: pod,
 * leg and position on the leg are all there is to remember. Places that have refused the way before
 * are passed over without counting.
 */
#include "common/base/price.h"
#include "common/core/improve/improve.h"
#include "sched_int.h"

#define PODS_AHEAD 4u

enum reason_code sched_pod_gate(const struct pod *p)
{
    if (p->gated) {
        return REASON_Gated;
    }
    /* A bound pod may keep the name from the time when it preempted others. */
    if (p->nominated_node[0] != '\0' && p->node_name[0] == '\0') {
        return REASON_Preempting;
    }
    if (p->owner == POWNER_DAEMONSET) {
        return REASON_DaemonSetPod;
    }
    if (p->owner == POWNER_NODE) {
        return REASON_StaticPod;
    }
    return p->cls->not_by_us ? REASON_NotScheduledByUs : REASON_NONE;
}

/* ---- placing --------------------------------------------------------------------------------- */

enum leg_kind { LEG_NODES, LEG_CLAIMS, LEG_NEW, LEG_NONE };

/* The leg's kind of place, and which way of asking. With Reasonable preferences no new claim is
 * opened before every way has been tried on the places there are. */
static enum leg_kind leg_of(const struct sched *s, const struct sched_class *k, uint32_t leg,
                            uint32_t *ret_ask)
{
    if (s->opt.preference != PREFERENCE_REASONABLE) {
        *ret_ask = leg / 3;
        return *ret_ask < k->n_asks ? (enum leg_kind)(leg % 3) : LEG_NONE;
    }
    if (leg < 2 * k->n_asks) {
        *ret_ask = leg / 2;
        return (enum leg_kind)(leg % 2);
    }
    *ret_ask = leg - 2 * k->n_asks;
    return *ret_ask < k->n_asks ? LEG_NEW : LEG_NONE;
}

/* Classes of pods that will be asked soon lie anywhere. */
static void prefetch_classes(const struct sched *s)
{
    if (s->at + 2 * PODS_AHEAD < s->n_queue) {
        __builtin_prefetch(&s->classes[s->class_of[s->queue[s->at + 2 * PODS_AHEAD]]]);
    }
    if (s->at + PODS_AHEAD < s->n_queue) {
        const struct sched_class *k = &s->classes[s->class_of[s->queue[s->at + PODS_AHEAD]]];
        __builtin_prefetch(k->asks);
        __builtin_prefetch(&k->cls->requests);
    }
}

static void next_pod(struct sched *s)
{
    s->at++;
    s->pod = s->at < s->n_queue ? s->queue[s->at] : 0;
    s->leg = s->pos = 0;
    prefetch_classes(s);
}

static void placed(struct sched *s)
{
    s->progress = true;
    next_pod(s);
}

static void next_leg(struct sched *s)
{
    s->leg++;
    s->pos = 0;
}

/* Each try_… tries at most one place and returns whether it did; false: the leg is over. */

static bool try_node(struct sched *s, struct sched_class *k, struct sched_ask *ask, uint32_t way)
{
    while (ask->next_node < s->n_nodes && claim_set_has(&ask->nodes_refused, ask->next_node)) {
        ask->next_node++;
        s->idle++;
    }
    if (s->whatif != NULL) {
        ask->next_node = whatif_next_node(s, ask);
    }
    if (ask->next_node >= s->n_nodes) {
        return false;
    }
    struct sched_node *n = &s->nodes[ask->next_node];
    bool for_good;
    if (!sched_node_takes(s, n, k, ask, &for_good)) {
        if (k->changes && for_good) {
            claim_set_add(s->a, &ask->nodes_refused, ask->next_node);
        }
        if (s->whatif != NULL && for_good) {
            whatif_node_refused(s, ask, ask->next_node);
        }
        ask->next_node++;
        return true;
    }
    sched_node_add(s, n, k);
    s->existing_taken[s->result.n_existing] = (struct sched_taken){s->pod, way};
    s->existing[s->result.n_existing++] = (struct sched_placement){s->pods[s->pod], n->in};
    placed(s);
    return true;
}

/* Fewest pods first, as Karpenter, which leaves open which of several with as many. Here the
 * oldest: it was opened for the largest pods, so that large ones come to lie with large ones. Where
 * there are many on each, the one with the least cpu: such claims end up alike, and none gets a
 * step of size larger than the others by chance. */
static bool claim_before(const struct sched_open *x, const struct sched_open *y)
{
    int64_t cpu_x = x->requests.v[RES_CPU], cpu_y = y->requests.v[RES_CPU];
    if ((x->max_price == 0) != (y->max_price == 0)) {
        return x->max_price != 0; /* what-if: it costs no more than it does */
    }
    if (x->n_pods != y->n_pods) {
        return x->n_pods < y->n_pods;
    }
    if (x->n_pods >= SCHED_MANY_PODS && cpu_x != cpu_y) {
        return cpu_x < cpu_y;
    }
    return x->index < y->index;
}

/* Of the places from..to of the order the first whose claim comes after that one. */
static uint32_t order_find(const struct sched *s, uint32_t from, uint32_t to, uint32_t claim)
{
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (claim_before(s->claims[s->order[middle]], s->claims[claim])) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

/* The claim at a place of the order has one pod more. */
static void reorder(struct sched *s, uint32_t at)
{
    uint32_t moved = s->order[at], to = order_find(s, at + 1, s->n_claims, moved) - 1;
    memmove(&s->order[at], &s->order[at + 1], (to - at) * sizeof(*s->order));
    s->order[to] = moved;
}

/* A claim for reserved capacity keeps a unit of some reservation; what would lose it the last goes
 * elsewhere, for good, because units only become fewer (in what-ifs until the next mark). */
static bool still_reserved(struct sched *s, struct sched_open *c, struct sched_trial *t,
                           uint32_t *ret)
{
    if (c->reservation == SCHED_NO_CLAIM) {
        return true;
    }
    t->for_now = false;
    return sched_reserve_find(s, c, t, ret);
}

/* The first place from there on whose claim is not in the set. */
static uint32_t pass_over(const struct sched *s, const struct claim_set *set, uint32_t at)
{
    const uint32_t *order = s->order, n = s->n_claims;
    const uint64_t *words = set->words;
    uint32_t n_words = set->n_words;
    while (at < n && order[at] / 64 < n_words && bits_test(words, order[at])) {
        at++;
    }
    return at;
}

static bool try_claim(struct sched *s, struct sched_class *k, struct sched_ask *ask, uint32_t way)
{
    if (ask->refused.n + ask->refused_now.n >= s->n_claims) {
        return false;
    }
    uint32_t from = s->pos;
    s->pos = pass_over(s, &ask->refused, s->pos);
    while (s->pos < s->n_claims && claim_set_has(&ask->refused_now, s->order[s->pos])) {
        s->pos = pass_over(s, &ask->refused, s->pos + 1);
    }
    s->idle += s->pos - from;
    if (s->pos >= s->n_claims) {
        return false;
    }
    struct sched_open *c = s->claims[s->order[s->pos]];
    struct sched_trial t;
    struct arena_mark mark = arena_mark(s->a);
    uint32_t reservation = SCHED_NO_CLAIM;
    if (sched_claim_try(s, c, k, ask, &t) != STEP_TAKEN ||
        (s->whatif != NULL && !whatif_accepts(s, c, &t)) ||
        !still_reserved(s, c, &t, &reservation)) {
        arena_rewind(s->a, mark);
        claim_set_add(s->a, t.for_now ? &ask->refused_now : &ask->refused, c->index);
        s->pos++;
        return true;
    }
    claim_set_add(s->a, &ask->accepted, c->index);
    sched_claim_add(s, c, k, &t, (struct sched_taken){s->pod, way});
    if (reservation != SCHED_NO_CLAIM) {
        sched_reserve_take(s, c, reservation);
    }
    reorder(s, s->pos);
    placed(s);
    return true;
}

static struct sched_open *open_claim(struct sched *s, struct sched_pool *p)
{
    struct sched_open *c = ARENA_NEW(s->a, struct sched_open);
    uint32_t words = catalog_words(p->tm.catalog);
    *c = sched_blank(p);
    c->types = ARENA_NEW_N(s->a, uint64_t, words);
    c->index = s->n_claims;
    ARENA_GROW(s->a, s->order, s->n_claims, s->order_cap);
    ARENA_GROW(s->a, s->claims, s->n_claims, s->claims_cap);
    s->claims[s->n_claims++] = c;
    p->opened++;
    return c;
}

struct sched_open *sched_open_beside(struct sched *s, const struct sched_open *like)
{
    struct sched_open *c = open_claim(s, like->pool);
    c->cts = like->cts;
    c->reqs = like->reqs;
    c->offer = like->offer;
    memcpy(c->types, like->types, catalog_words(like->pool->tm.catalog) * sizeof(*c->types));
    return c;
}

static void order_new(struct sched *s, uint32_t index)
{
    uint32_t n = s->n_claims - 1, at = order_find(s, 0, n, index);
    memmove(&s->order[at + 1], &s->order[at], (n - at) * sizeof(*s->order));
    s->order[at] = index;
}

/* Would a new claim of the pool find reserved capacity? Then the trial is of that. */
static bool try_reserved(struct sched *s, struct sched_pool *p, struct sched_class *k,
                         struct sched_ask *ask, struct sched_trial *t, uint32_t *ret)
{
    struct sched_open blank = sched_blank(p);
    blank.cts = SCHED_RESERVED;
    return p->n_reservations > 0 && sched_claim_try(s, &blank, k, ask, t) == STEP_TAKEN &&
           sched_reserve_find(s, &blank, t, ret) &&
           sched_limit_room(s, p, t, s->whatif == NULL) == ROOM_YES &&
           sched_reserve_find(s, &blank, t, ret);
}

/* A refusal that depends on nothing but the class and the pool. */
static bool stable_step(const struct sched_pool *p, enum sched_step step)
{
    return p->n_reservations == 0 &&
           (step == STEP_TAINT || step == STEP_LABELS || step == STEP_TYPES ||
            step == STEP_VOLUMES || step == STEP_PORTS || step == STEP_FIT);
}

static bool try_new(struct sched *s, struct sched_class *k, struct sched_ask *ask, uint32_t way)
{
    if (s->whatif != NULL && !whatif_may_open(s)) {
        return false;
    }
    while (s->pos < s->n_pools && (!s->pools[s->pos].usable || ask->pool_refused[s->pos] ||
                                   ask->pool_refused_now[s->pos])) {
        s->pos++;
        s->idle++;
    }
    if (s->pos >= s->n_pools) {
        return false;
    }
    struct sched_pool *p = &s->pools[s->pos];
    struct sched_trial t;
    uint32_t reservation;
    sched_limit_refresh(s, p);
    struct arena_mark mark = arena_mark(s->a);
    bool reserved = try_reserved(s, p, k, ask, &t, &reservation);
    if (!reserved) {
        arena_rewind(s->a, mark);
    }
    struct sched_open blank = sched_blank(p);
    enum sched_step step = reserved ? STEP_TAKEN : sched_claim_try(s, &blank, k, ask, &t);
    if (!reserved &&
        (step != STEP_TAKEN || sched_limit_room(s, p, &t, s->whatif == NULL) != ROOM_YES)) {
        bool for_now = t.for_now || (s->whatif != NULL && !stable_step(p, step));
        arena_rewind(s->a, mark);
        (for_now ? ask->pool_refused_now : ask->pool_refused)[s->pos++] = true;
        return true;
    }
    struct sched_open *c = open_claim(s, p);
    if (reserved) {
        c->cts = SCHED_RESERVED;
        sched_reserve_take(s, c, reservation);
    }
    claim_set_add(s->a, &ask->accepted, c->index);
    sched_claim_add(s, c, k, &t, (struct sched_taken){s->pod, way});
    order_new(s, c->index);
    placed(s);
    return true;
}

static void refuse_pod(struct sched *s, enum reason_code gate)
{
    /* Beyond a what-if, which begins anew with none. */
    ARENA_GROW(s->keep, s->refused_class, s->result.n_refused, s->cap_refused_class);
    ARENA_GROW(s->keep, s->refused, s->result.n_refused, s->cap_refused);
    uint32_t i = s->result.n_refused++;
    s->refused[i] = (struct sched_refusal){.pod = s->pods[s->pod], .reason.code = gate};
    s->refused_class[i] = s->class_of[s->pod];
    next_pod(s);
}

/* The class found no place. Where rules about other pods could let it in later, its pods are tried
 * once more when the others have been placed. */
static void no_place(struct sched *s, struct sched_class *k)
{
    k->refused = true;
    if (!k->changes) {
        refuse_pod(s, REASON_NONE);
        return;
    }
    k->refused_state = sched_topo_state(s, k->topo);
    s->again[s->n_again++] = s->pod;
    next_pod(s);
}

static bool hopeless(struct sched *s, const struct sched_class *k)
{
    return (k->cls->hard & HARD_RESOURCE_CLAIM) != 0 ||
           (k->volume != NULL && k->volume->need.problem != REASON_NONE) ||
           (k->refused && (!k->changes || sched_topo_state(s, k->topo) == k->refused_state));
}

void sched_learn(struct sched *s, struct sched_class *k)
{
    sched_topo_learn(s, k->cls, k->topo);
    if (!k->learned) {
        sched_volume_learn(s, k->volume);
        k->learned = true;
    }
}

/* Returns the units used: 1 if a place was tried. */
static uint64_t place(struct sched *s)
{
    struct sched_class *k = &s->classes[s->class_of[s->pod]];
    uint32_t i;
    enum leg_kind kind = leg_of(s, k, s->leg, &i);
    if (s->leg == 0 && s->pos == 0) {
        /* Pods that move were bound once. */
        bool asks = s->pod < s->snap->n_pods;
        enum reason_code gate = asks ? (enum reason_code)s->snap->gates[s->pod] : REASON_NONE;
        if (gate != REASON_NONE) {
            refuse_pod(s, gate);
            return 0;
        }
        sched_learn(s, k);
    }
    if (s->whatif != NULL) {
        whatif_refresh_class(s, k);
    }
    if (kind == LEG_NONE || (s->leg == 0 && s->pos == 0 && hopeless(s, k))) {
        no_place(s, k);
        return 0;
    }
    struct sched_ask *ask = sched_ask(s, k, i);
    bool tried = false;
    sched_ask_refresh(s, k, ask);
    if (!ask->impossible) {
        tried = kind == LEG_NODES    ? try_node(s, k, ask, i)
                : kind == LEG_CLAIMS ? try_claim(s, k, ask, i)
                                     : try_new(s, k, ask, i);
    }
    if (!tried) {
        next_leg(s);
    }
    return tried;
}

static bool exhausted(const struct sched *s)
{
    return (s->opt.max_units != 0 && s->result.work_units >= s->opt.max_units) || arena_over(s->a);
}

/* ---- after placing --------------------------------------------------------------------------- */

static void truncate_pass(struct sched *s)
{
    uint32_t n = s->n_queue - s->at;
    const struct pod **v = ARENA_NEW_N(s->a, const struct pod *, n + s->n_again);
    for (uint32_t i = 0; i < n + s->n_again; i++) {
        v[i] = s->pods[i < n ? s->queue[s->at + i] : s->again[i - n]];
    }
    s->result.truncated = true;
    s->result.undecided = v;
    s->result.n_undecided = n + s->n_again;
    s->at = s->n_queue;
    s->n_again = 0;
}

/* Every pod has had its turn: those that found no place have another if some did since. */
static void next_round(struct sched *s)
{
    uint32_t *done = s->queue;
    s->queue = s->again;
    s->n_queue = s->n_again;
    s->again = done;
    s->n_again = s->at = 0;
    s->pod = s->n_queue > 0 ? s->queue[0] : 0;
    bool last = !s->progress;
    s->progress = false;
    while (last && s->at < s->n_queue) {
        refuse_pod(s, REASON_NONE);
    }
}

static struct sched_pool *pool_of(struct sched *s, const struct snapshot_pool *in)
{
    for (uint32_t i = 0; i < s->n_pools; i++) {
        if (s->pools[i].in == in) {
            return &s->pools[i];
        }
    }
    BUG("pool %s opens no claims", in->np->m.name);
}

bool sched_put(struct sched *s, const struct snapshot_pool *pool, uint32_t pod, uint32_t way,
               const struct reservation *reservation, uint32_t *claim)
{
    struct sched_class *k = &s->classes[s->class_of[pod]];
    struct sched_pool *p = pool_of(s, pool);
    struct sched_ask *ask = sched_ask(s, k, way);
    bool open = *claim != UINT32_MAX;
    struct sched_open blank = sched_blank(p), *c = open ? s->claims[*claim] : &blank;
    struct sched_trial t;
    blank.cts = reservation != NULL ? SCHED_RESERVED : blank.cts;
    sched_learn(s, k);
    sched_ask_refresh(s, k, ask);
    sched_limit_refresh(s, p);
    if (sched_claim_try(s, c, k, ask, &t) != STEP_TAKEN ||
        (!open && sched_limit_room(s, p, &t, false) != ROOM_YES)) {
        return false;
    }
    if (!open) {
        c = open_claim(s, p);
        c->cts = blank.cts;
    }
    *claim = c->index;
    claim_set_add(s->a, &ask->accepted, c->index);
    sched_claim_add(s, c, k, &t, (struct sched_taken){pod, way});
    return true;
}

bool sched_place_all(struct sched *s, const uint32_t *pods, uint32_t n)
{
    uint32_t refused = s->result.n_refused;
    if (n > 0) {
        memcpy(s->queue, pods, n * sizeof(*pods));
    }
    s->n_queue = n;
    s->n_again = s->at = s->leg = s->pos = 0;
    s->pod = n > 0 ? pods[0] : 0;
    s->progress = false;
    while (s->result.n_refused == refused) {
        if (s->at < s->n_queue) {
            uint64_t used = place(s);
            s->idle += used == 0;
            s->result.work_units += used + s->idle / SCHED_IDLE_PER_UNIT;
            s->idle %= SCHED_IDLE_PER_UNIT;
        } else if (s->n_again > 0) {
            next_round(s);
        } else {
            return true;
        }
    }
    return false;
}

/* The next refused pod, or if its class has to be explained first, that to one pool. */
static uint64_t refuse(struct sched *s)
{
    struct sched_refusal *r = &s->refused[s->done];
    struct sched_class *k = &s->classes[s->refused_class[s->done]];
    if (r->reason.code == REASON_NONE && s->opt.record_reasons) {
        if (k->refusal == NULL) {
            sched_refuse(s, k);
            return SCHED_UNITS_REFUSE;
        }
        const struct pod *pod = r->pod;
        *r = *k->refusal;
        r->pod = pod;
    }
    s->done++;
    return 0;
}

/* One claim by itself can only become two. */
static bool improvable(const struct sched *s)
{
    bool any = false;
    for (uint32_t i = 0; i < s->n_pools && !s->result.truncated; i++) {
        enum placement p = s->pools[i].placement;
        any = any || (p == PLACEMENT_CHEAPEST && s->n_claims > 0) ||
              (p == PLACEMENT_COMPATIBLE && s->n_claims > 1);
    }
    return any;
}

static uint64_t improve(struct sched *s)
{
    bool done = true;
    uint64_t units = 0;
    if (improvable(s) && s->improve == NULL) {
        s->improve = improve_begin(s);
    }
    if (s->improve != NULL) {
        units = improve_step(s->improve, &done);
    }
    if (done) {
        s->final = ARENA_NEW_N(s->a, struct sched_claim, s->n_claims);
        s->stage = STAGE_FINISH;
        s->done = 0;
    }
    return units;
}

static void finish(struct sched *s)
{
    s->result.existing = s->existing;
    s->result.claims = s->final;
    s->result.refused = s->refused;
    for (uint32_t i = 0; i < s->result.n_claims; i++) {
        price_add(&s->result.price_pusd_h, s->final[i].price_pusd_h);
    }
    s->result.baseline_pusd_h = s->result.tight_pusd_h = s->result.price_pusd_h;
    if (s->improve != NULL) {
        s->result.baseline_pusd_h += improve_saved_pusd_h(s->improve, s->opt.tight);
        s->result.tight_pusd_h = s->result.baseline_pusd_h - improve_saved_pusd_h(s->improve, true);
        s->result.n_stranded = improve_stranded(s->improve);
    }
    s->stage = STAGE_DONE;
}

/* Moves on by one thing; returns the units that it was worth. */
static uint64_t advance(struct sched *s)
{
    switch (s->stage) {
    case STAGE_RULES:
    case STAGE_CLASSES:
        sched_begin_step(s);
        return 1;
    case STAGE_COUNT:
        s->stage = sched_topo_count(s) ? STAGE_PLACE : STAGE_COUNT;
        return s->topo.on && s->stage == STAGE_COUNT;
    case STAGE_PLACE:
        if (s->at < s->n_queue && exhausted(s)) {
            truncate_pass(s);
        }
        if (s->at < s->n_queue) {
            return place(s);
        }
        if (s->n_again > 0) {
            next_round(s);
            return 0;
        }
        s->stage = STAGE_REFUSE;
        s->done = 0;
        return 0;
    case STAGE_REFUSE:
        if (s->done < s->result.n_refused) {
            return refuse(s);
        }
        s->stage = STAGE_IMPROVE;
        return 0;
    case STAGE_IMPROVE:
        return improve(s);
    case STAGE_FINISH:
        if (s->done < s->n_claims) {
            if (s->claims[s->done]->n_pods > 0) {
                sched_final(s, s->claims[s->done], &s->final[s->result.n_claims++]);
            }
            s->done++;
            return SCHED_UNITS_FINISH;
        }
        finish(s);
        return 0;
    case STAGE_DONE:
        break;
    }
    return 0;
}

bool sched_step_placing(struct sched *s, uint64_t units)
{
    while (units > 0 && (s->stage == STAGE_COUNT || s->stage == STAGE_PLACE)) {
        uint64_t used = advance(s) + 1;
        s->result.work_units += used - 1;
        units -= used < units ? used : units;
    }
    return s->stage != STAGE_COUNT && s->stage != STAGE_PLACE;
}

bool sched_step(struct sched *s, uint64_t units)
{
    while (units > 0 && s->stage != STAGE_DONE) {
        uint64_t used = advance(s);
        s->idle += used == 0;
        used += s->idle / SCHED_IDLE_PER_UNIT;
        s->idle %= SCHED_IDLE_PER_UNIT;
        s->result.work_units += used;
        units -= used < units ? used : units;
    }
    return s->stage == STAGE_DONE;
}

const struct sched_result *sched_result(struct sched *s)
{
    if (s->stage != STAGE_DONE) {
        BUG("the pass is not over");
    }
    return &s->result;
}
