/* consolidate.c - who may go, and one search after the other; see consolidate.h. */
#include "consolidate.h"

#include "common/base/hash.h"
#include "common/base/sort.h"
#include "common/base/str.h"
#include "common/core/labels.h"
#include "common/core/plan.h"
#include "consolidate_int.h"

void consolidate_options_default(struct consolidate_options *o)
{
    *o = (struct consolidate_options){.reasons = DISRUPT_EMPTY | DISRUPT_UNDERUTILIZED,
                                      .spot_min_types = 15,
                                      .balanced_permyriad = 5000};
    sched_options_default(&o->sched);
}

const char *consolidate_kind_name(enum step_kind k)
{
    static const char *const names[] = {"empty", "delete", "replace"};
    return names[k];
}

/* ---- who may go --------------------------------------------------------------------------------
 */

static int cmp_node(const void *x, const void *y)
{
    const struct snapshot_node *a = *(const struct snapshot_node *const *)x;
    const struct snapshot_node *b = *(const struct snapshot_node *const *)y;
    int c = str_cmp(a->pool->np->m.name, b->pool->np->m.name);
    c = c != 0 ? c : str_cmp(a->name, b->name);
    return c != 0 ? c : str_cmp(a->claim->m.name, b->claim->m.name);
}

static bool told(const struct consolidate *c, const struct snapshot_node *n)
{
    return n->claim != NULL && n->pool != NULL &&
           (c->opt.selected == NULL || c->opt.selected(c->opt.selected_ctx, n));
}

/* The gates for one reason; held nodes are candidates, too. */
static bool passes(struct consolidate *c, struct cand *x, enum disruption_reason reason)
{
    c->in.reason = x->reason = reason;
    x->why = candidate_check_but_held(&c->in, x->node);
    x->candidate = x->why.code == REASON_NONE;
    return x->candidate;
}

static bool not_asked_for(struct consolidate *c, struct cand *x)
{
    if ((c->opt.reasons & ~(unsigned)DISRUPT_DRIFTED) != 0 ||
        (c->in.reason == DISRUPT_DRIFTED && x->drift.reason != NULL)) {
        return false;
    }
    if (passes(c, x, DISRUPT_DRIFTED)) {
        x->candidate = false;
        x->why = (struct reason){.code = REASON_Policy,
                                 .text = "only drifted nodes were asked for, and it is not",
                                 .short_of = {.res = RES_FIXED}};
    }
    return true;
}

/* The reason that the node is a candidate for, or would be. */
static void judge(struct consolidate *c, struct cand *x)
{
    bool empty = candidate_is_empty(&c->in, x->node), drifted = false;
    enum drift_source from = c->opt.upstream ? DRIFT_CONDITION : DRIFT_COMPUTED;
    if ((c->opt.reasons & DISRUPT_DRIFTED) != 0) {
        x->drift = drift_of(c->a, c->snap, x->node, from);
        drifted = x->drift.reason != NULL;
    }
    if (empty && (c->opt.reasons & DISRUPT_EMPTY) != 0 && passes(c, x, DISRUPT_EMPTY)) {
        return;
    }
    if (drifted) {
        (void)passes(c, x, DISRUPT_DRIFTED);
    } else if (!not_asked_for(c, x)) {
        bool full = !empty && (c->opt.reasons & DISRUPT_UNDERUTILIZED) != 0;
        (void)passes(c, x, full ? DISRUPT_UNDERUTILIZED : DISRUPT_EMPTY);
    }
}

static void price(struct consolidate *c, struct cand *x)
{
    const struct candidate_pods *at = &c->index.nodes[x->node - c->snap->nodes];
    x->price = candidate_price(x->node, &x->type);
    x->price_why = candidate_price_gate(&c->in, x->node);
    x->raw = 1000000 + at->cost_micro;
    x->disruption = candidate_disruption(&c->in, x->node);
}

static void begin_cands(struct consolidate *c)
{
    const struct snapshot *s = c->snap;
    const struct snapshot_node **nodes =
        ARENA_NEW_N(c->a, const struct snapshot_node *, s->n_nodes);
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        if (told(c, &s->nodes[i])) {
            nodes[c->n_cands++] = &s->nodes[i];
        }
    }
    sort_items(nodes, c->n_cands, sizeof(*nodes), cmp_node);
    c->cands = ARENA_NEW_N(c->a, struct cand, c->n_cands);
    c->of_node = ARENA_NEW_N(c->a, struct cand *, s->n_nodes);
    for (uint32_t i = 0; i < c->n_cands; i++) {
        struct cand *x = &c->cands[i];
        *x = (struct cand){.node = nodes[i], .step = NO_STEP};
        c->of_node[x->node - s->nodes] = x;
        judge(c, x);
        price(c, x);
    }
}

static int cmp_place(const void *x, const void *y)
{
    return snapshot_pod_cmp(*(const struct pod *const *)x, *(const struct pod *const *)y);
}

/* Pods of candidates, node by node, each node's in the order of placing. */
static void begin_moving(struct consolidate *c)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->n_cands; i++) {
        const struct cand *x = &c->cands[i];
        n += x->candidate ? c->index.nodes[x->node - c->snap->nodes].n_moving : 0;
    }
    c->moving = ARENA_NEW_N(c->a, const struct pod *, n);
    c->of_pod = ARENA_NEW_N(c->a, struct cand *, n);
    uint32_t *numbers = ARENA_NEW_N(c->a, uint32_t, n);
    for (uint32_t i = 0; i < c->n_cands; i++) {
        struct cand *x = &c->cands[i];
        const struct candidate_pods *at = &c->index.nodes[x->node - c->snap->nodes];
        const struct pod **from = c->moving + c->n_moving;
        x->pods = numbers + c->n_moving;
        for (uint32_t p = 0; x->candidate && p < at->n; p++) {
            if (pod_reschedulable(at->pods[p])) {
                from[x->n_pods++] = at->pods[p];
            }
        }
        sort_items(from, x->n_pods, sizeof(*from), cmp_place);
        for (uint32_t p = 0; p < x->n_pods; p++, c->n_moving++) {
            numbers[c->n_moving] = c->snap->n_pods + c->n_moving;
            c->of_pod[c->n_moving] = x;
        }
    }
}

/* ---- workloads ------------------------------------------------------------------------------- */

static struct workload *workload_of(const struct consolidate *c, const char *uid)
{
    uint32_t mask = c->n_workloads - 1;
    uint32_t i = (uint32_t)hash_fnv1a(uid, strlen(uid)) & mask;
    while (c->workloads[i].uid != NULL && !str_eq(c->workloads[i].uid, uid)) {
        i = (i + 1) & mask;
    }
    return &c->workloads[i];
}

static void count_pod(struct consolidate *c, const struct pod *p)
{
    if (pod_active(p) && p->owner_uid[0] != '\0') {
        struct workload *w = workload_of(c, p->owner_uid);
        w->uid = p->owner_uid;
        w->pods++;
    }
}

static void begin_workloads(struct consolidate *c)
{
    c->n_workloads = 16;
    while (c->n_workloads < 2 * (c->snap->n_bound + c->snap->n_pods)) {
        c->n_workloads *= 2;
    }
    c->workloads = ARENA_NEW_N(c->a, struct workload, c->n_workloads);
    for (uint32_t i = 0; i < c->snap->n_bound; i++) {
        count_pod(c, c->snap->bound[i].pod);
    }
    for (uint32_t i = 0; i < c->snap->n_pods; i++) {
        count_pod(c, c->snap->pods[i]);
    }
}

uint32_t keep_replicas(const struct consolidate *c, const struct pod *p)
{
    return p->owner_uid[0] != '\0' ? workload_of(c, p->owner_uid)->pods : 1;
}

/* ---- begin ----------------------------------------------------------------------------------- */

struct consolidate *consolidate_begin(struct arena *a, const struct snapshot *s,
                                      const struct candidate_facts *facts,
                                      const struct consolidate_options *o)
{
    struct consolidate *c = ARENA_NEW(a, struct consolidate);
    c->a = a;
    c->snap = s;
    c->opt = *o;
    candidate_index_build(a, s, &c->index);
    c->in = (struct candidate_in){.snap = s,
                                  .index = &c->index,
                                  .min_node_life_ns = o->min_node_life_ns,
                                  .any_policy = o->any_policy,
                                  .a = a};
    c->in.facts = facts != NULL ? *facts : c->in.facts;
    c->pools = ARENA_NEW_N(a, struct pool_rules, s->n_pools);
    price_pools(c);
    begin_cands(c);
    begin_moving(c);
    begin_workloads(c);
    verdict_budgets(c);
    c->s = whatif_begin(a, s, &o->sched, c->moving, c->n_moving);
    price_rates(c);
    return c;
}

/* ---- after pending pods have their places ------------------------------------------------------
 */

static void block(struct cand *x, struct reason why)
{
    x->candidate = false;
    x->why = why;
}

static void begin_nominated(struct consolidate *c)
{
    for (uint32_t i = 0; i < c->s->result.n_existing; i++) {
        const struct sched_placement *p = &c->s->existing[i];
        struct cand *x = c->of_node[p->node - c->snap->nodes];
        if (x == NULL || (!x->candidate && verdict_gate_of(x->why.code) <= (int)GATE_Nominated)) {
            continue;
        }
        struct reason r = {.code = REASON_Nominated, .short_of = {.res = RES_FIXED}};
        r.object = arena_printf(c->a, "%s/%s", p->pod->m.ns, p->pod->m.name);
        block(x, r);
    }
}

/* An amount per unit of disruption, for comparing. */
static int64_t per_disruption(int64_t pusd_h, int64_t micro)
{
    __extension__ __int128 ratio = (__int128)(pusd_h > 0 ? pusd_h : 0) << 20;
    ratio /= micro > 0 ? micro : 1;
    return ratio < INT64_MAX ? (int64_t)ratio : INT64_MAX;
}

static int cmp_by_price(const void *x, const void *y)
{
    const struct cand *a = *(const struct cand *const *)x, *b = *(const struct cand *const *)y;
    if (a->price_rank != b->price_rank) {
        return a->price_rank > b->price_rank ? -1 : 1;
    }
    return a < b ? -1 : a > b; /* one array: by pool, then name */
}

static int cmp_by_potential(const void *x, const void *y)
{
    const struct cand *a = *(const struct cand *const *)x, *b = *(const struct cand *const *)y;
    if (a->potential_rank != b->potential_rank) {
        return a->potential_rank > b->potential_rank ? -1 : 1;
    }
    return a < b ? -1 : a > b; /* one array: by pool, then name */
}

static int cmp_drifted(const void *x, const void *y)
{
    const struct cand *a = *(const struct cand *const *)x, *b = *(const struct cand *const *)y;
    if ((a->n_pods == 0) != (b->n_pods == 0)) {
        return a->n_pods == 0 ? -1 : 1;
    }
    if (a->drift.since_ns != b->drift.since_ns) {
        return a->drift.since_ns < b->drift.since_ns ? -1 : 1;
    }
    return a < b ? -1 : a > b;
}

/* Nodes that stay for sure are filled first, then candidates, the best to keep first; drifted and
 * empty ones last. */
static void begin_ranks(struct consolidate *c)
{
    c->ranks = ARENA_NEW_N(c->a, uint32_t, c->snap->n_nodes);
    for (uint32_t i = 0; i < c->n_ratio; i++) {
        c->ranks[c->ratio[i]->node - c->snap->nodes] = c->n_ratio - i;
    }
    for (uint32_t i = 0; i < c->n_cands; i++) {
        const struct cand *x = &c->cands[i];
        if (x->candidate && x->reason != DISRUPT_UNDERUTILIZED) {
            c->ranks[x->node - c->snap->nodes] = c->n_ratio + 1;
        }
    }
}

static int cmp_u32(const void *x, const void *y)
{
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return a < b ? -1 : a > b;
}

struct kinded {
    struct cand *cand;
    uint32_t *classes; /* of its pods, sorted */
    uint64_t hash;
};

static int cmp_kinded(const void *x, const void *y)
{
    const struct kinded *a = x, *b = y;
    if (a->hash != b->hash) {
        return a->hash < b->hash ? -1 : 1;
    }
    if (a->cand->n_pods != b->cand->n_pods) {
        return a->cand->n_pods < b->cand->n_pods ? -1 : 1;
    }
    return a->cand->n_pods > 0
               ? memcmp(a->classes, b->classes, a->cand->n_pods * sizeof(*a->classes))
               : 0;
}

/* Nodes with pods of the same classes are of one kind. Numbers of kinds order nothing. */
static void begin_kinds(struct consolidate *c)
{
    struct kinded *v = ARENA_NEW_N(c->a, struct kinded, c->n_ratio);
    for (uint32_t i = 0; i < c->n_ratio; i++) {
        struct cand *x = c->ratio[i];
        v[i] = (struct kinded){x, ARENA_NEW_N(c->a, uint32_t, x->n_pods), 0};
        for (uint32_t p = 0; p < x->n_pods; p++) {
            v[i].classes[p] = c->s->class_of[x->pods[p]];
        }
        sort_items(v[i].classes, x->n_pods, sizeof(*v[i].classes), cmp_u32);
        v[i].hash = hash_fnv1a(v[i].classes, x->n_pods * sizeof(*v[i].classes));
    }
    sort_items(v, c->n_ratio, sizeof(*v), cmp_kinded);
    for (uint32_t i = 0; i < c->n_ratio; i++) {
        c->n_kinds += i == 0 || cmp_kinded(&v[i - 1], &v[i]) != 0;
        v[i].cand->kind = c->n_kinds - 1;
    }
}

static void begin_search(struct consolidate *c)
{
    begin_nominated(c);
    c->ratio = ARENA_NEW_N(c->a, struct cand *, c->n_cands);
    c->sets = ARENA_NEW_N(c->a, struct cand *, c->n_cands);
    c->drifted = ARENA_NEW_N(c->a, struct cand *, c->n_cands);
    for (uint32_t i = 0; i < c->n_cands; i++) {
        struct cand *x = &c->cands[i];
        x->potential = x->candidate ? price_potential(c, x) : 0;
        x->price_rank = per_disruption(x->price, x->disruption);
        x->potential_rank = per_disruption(x->potential, x->disruption);
        if (x->candidate && x->reason == DISRUPT_UNDERUTILIZED) {
            c->ratio[c->n_ratio++] = x;
            if (x->potential > 0) {
                c->sets[c->n_sets++] = x;
            }
        } else if (x->candidate && x->reason == DISRUPT_DRIFTED) {
            c->drifted[c->n_drifted++] = x;
        }
    }
    sort_items(c->ratio, c->n_ratio, sizeof(*c->ratio), cmp_by_price);
    sort_items(c->sets, c->n_sets, sizeof(*c->sets), cmp_by_potential);
    sort_items(c->drifted, c->n_drifted, sizeof(*c->drifted), cmp_drifted);
    begin_kinds(c);
    begin_ranks(c);
    c->g.nodes = ARENA_NEW_N(c->a, struct grown, c->n_sets);
    c->g.same.members = ARENA_NEW_N(c->a, struct cand *, c->n_sets);
    c->g.refused = ARENA_NEW_N(c->a, uint8_t, c->n_kinds);
    c->g.failed = ARENA_NEW_N(c->a, int64_t, c->n_kinds);
    c->fresh = arena_memdup(c->a, c->cands, c->n_cands * sizeof(*c->cands));
}

/* ---- step --------------------------------------------------------------------------------------
 */

/*
 * Orders of searching. Nodes that can simply go are looked for first: that is the best in most
 * clusters. Where nodes are dearer than they need be (on-demand with spot at hand), filling them up
 * is not; then sets, or sets and single nodes, are replaced first, without filling any. The best
 * plan is taken, of equal ones the first.
 */
#define REST PHASE_SHOW, PHASE_DELETE, PHASE_ALONE, PHASE_REPLACE, PHASE_STAYS, PHASE_END
static const enum phase orders[][14] = {
    {PHASE_SETTLE, PHASE_EMPTY, PHASE_DRIFT, PHASE_DELETE, PHASE_ALONE, PHASE_SEED, PHASE_REPLACE,
     PHASE_STAYS, PHASE_END},
    {PHASE_SETTLE, PHASE_EMPTY, PHASE_DRIFT, PHASE_HIDE, PHASE_ALONE, PHASE_SEED, REST},
    {PHASE_SETTLE, PHASE_EMPTY, PHASE_DRIFT, PHASE_HIDE, PHASE_ALONE, PHASE_SEED, PHASE_REPLACE,
     REST},
    {PHASE_SETTLE, PHASE_REPLAY},
};
#undef REST
#define REPLAY (ARRAY_LEN(orders) - 1)

static uint64_t spent(const struct consolidate *c)
{
    return c->units + c->s->result.work_units;
}

static size_t peak(const struct consolidate *c)
{
    size_t now = whatif_held_bytes(c->s);
    return now > c->peak_bytes ? now : c->peak_bytes;
}

static void next_phase(struct consolidate *c)
{
    c->phase = orders[c->try][++c->step];
    c->at = 0;
}

static void hide(struct consolidate *c, bool hidden)
{
    for (uint32_t i = 0; i < c->n_ratio; i++) {
        if (c->ratio[i]->step == NO_STEP) {
            whatif_hide(c->s, c->ratio[i]->node, hidden);
        }
    }
}

static int64_t saving_of(const struct consolidate *c)
{
    int64_t ret = 0;
    for (uint32_t i = 0; i < c->n_found; i++) {
        ret += c->found[i].out.saving_pusd_h;
    }
    return ret;
}

/* Keeps the better of this search and those before. */
static void compare(struct consolidate *c)
{
    int64_t saving = saving_of(c);
    if (c->try == 0 || saving > c->best.saving) {
        c->best = (struct attempt){c->found, c->n_found, NULL, saving, c->same};
    }
}

/* A picture of its own for what comes now: another search, or the replay. */
static void begin_picture(struct consolidate *c, uint32_t try)
{
    c->units = spent(c);
    c->peak_bytes = peak(c);
    whatif_end(c->s);
    c->s = whatif_begin(c->a, c->snap, &c->opt.sched, c->moving, c->n_moving);
    c->try = try;
    c->step = 0;
    c->phase = PHASE_SETTLE;
}

static void begin_again(struct consolidate *c)
{
    if (c->best.cands == NULL) {
        c->best.cands = arena_memdup(c->a, c->cands, c->n_cands * sizeof(*c->cands));
    }
    c->found = NULL;
    c->n_found = c->cap_found = 0;
    c->same = NULL;
    if (c->n_cands > 0) {
        memcpy(c->cands, c->fresh, c->n_cands * sizeof(*c->cands));
    }
    memset(c->g.failed, 0, c->n_kinds * sizeof(*c->g.failed));
    begin_picture(c, c->try + 1);
}

static void begin_replay(struct consolidate *c)
{
    c->found = c->best.found;
    c->n_found = c->best.n_found;
    if (c->best.cands != NULL && c->n_cands > 0) {
        memcpy(c->cands, c->best.cands, c->n_cands * sizeof(*c->cands));
    }
    replay_begin(c);
    begin_picture(c, REPLAY);
}

static void finish(struct consolidate *c)
{
    c->result.work_units = spent(c);
    c->result.peak_bytes = peak(c);
    whatif_end(c->s);
    c->s = NULL;
    replay_take(c);
    same_take(c);
    verdict_all(c);
    c->phase = PHASE_DONE;
}

/* Is so little left to be saved that another order of searching is not worth it? */
static bool enough(const struct consolidate *c)
{
    int64_t most = price_most(c);
    return c->try + 1 >= REPLAY || c->n_ratio < 2 || c->result.truncated ||
           spent(c) >= CONSOLIDATE_MAX_AGAIN || c->best.saving >= most - most / 20;
}

static bool search(struct consolidate *c)
{
    switch (c->phase) {
    case PHASE_EMPTY:
        return search_empty(c);
    case PHASE_DRIFT:
        return search_drift(c);
    case PHASE_DELETE:
        return search_delete(c);
    case PHASE_ALONE:
        return search_alone(c);
    case PHASE_SEED:
        return search_seed(c);
    case PHASE_GROW:
        return search_grow(c);
    case PHASE_REPLACE:
        return search_replace(c);
    case PHASE_STAYS:
        return search_stays(c);
    case PHASE_HIDE:
    case PHASE_SHOW:
        hide(c, c->phase == PHASE_HIDE);
        return false;
    case PHASE_SETTLE:
    case PHASE_END:
    case PHASE_REPLAY:
    case PHASE_DONE:
        break;
    }
    return false;
}

static void play(struct consolidate *c)
{
    if (replay_step(c)) {
        return;
    }
    if (replay_again(c)) {
        begin_picture(c, REPLAY);
    } else {
        finish(c);
    }
}

/* Work units are over: the search ends with what it has. */
static void truncate_search(struct consolidate *c)
{
    c->result.truncated = true;
    if (c->phase == PHASE_GROW) {
        whatif_undo(c->s, &c->g.start);
    }
    c->phase = PHASE_END;
}

static bool settle(struct consolidate *c, uint64_t units)
{
    if (!whatif_settle(c->s, units)) {
        return false;
    }
    if (c->ranks == NULL) {
        begin_search(c);
    }
    whatif_start(c->s, c->ranks);
    next_phase(c);
    return true;
}

/* One thing; false: the units were not enough for it. */
static bool advance(struct consolidate *c, uint64_t units)
{
    bool over = c->opt.max_units != 0 && spent(c) >= c->opt.max_units;
    if (c->phase == PHASE_SETTLE) {
        return settle(c, units);
    }
    if (c->phase == PHASE_REPLAY) {
        play(c);
    } else if (c->phase == PHASE_END) {
        compare(c);
        if (enough(c)) {
            begin_replay(c);
        } else {
            begin_again(c);
        }
    } else if (over || arena_over(c->a)) {
        truncate_search(c);
    } else if (!search(c)) {
        next_phase(c);
    }
    return true;
}

bool consolidate_step(struct consolidate *c, uint64_t units)
{
    while (c->phase != PHASE_DONE && units > 0) {
        uint64_t before = spent(c);
        if (!advance(c, units)) {
            return false;
        }
        uint64_t used = c->phase != PHASE_DONE ? spent(c) - before + 1 : 1;
        units -= used < units ? used : units;
    }
    return c->phase == PHASE_DONE;
}

const struct consolidate_result *consolidate_result(struct consolidate *c)
{
    if (c->phase != PHASE_DONE) {
        BUG("the search is not over");
    }
    if (c->result.digest[0] == '\0') {
        verdict_digests(c);
    }
    return &c->result;
}

void consolidate_end(struct consolidate *c)
{
    if (c != NULL && c->s != NULL) {
        whatif_end(c->s);
        c->s = NULL;
    }
}
