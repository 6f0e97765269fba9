/* consolidator.c - see consolidator.h. */
#include "consolidator.h"

#include "agent/claim/claim.h"
#include "agent/cloud/cloud.h"
#include "agent/consent/consent.h"
#include "agent/leave/command.h"
#include "agent/leave/holds.h"
#include "agent/leave/nodefacts.h"
#include "agent/leave/spared.h"
#include "agent/observe/observer.h"
#include "agent/plan/creator.h"
#include "agent/plan/picture.h"
#include "agent/store/store.h"
#include "agent/work/gate.h"
#include "agent/work/marker.h"
#include "agent/work/metrics.h"
#include "common/base/alloc.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/core/consent/approval.h"
#include "common/kube/events.h"
#include "driftguard.h"
#include "proposal.h"

enum stage {
    STAGE_IDLE,
    STAGE_DECIDING,
    STAGE_QUIET,
    STAGE_AGAIN, /* the whole plan, after the quiet time */
    STAGE_ALONE  /* only what was not found in it */
};

struct consolidator {
    struct runtime *rt;
    enum stage stage, then; /* then: after STAGE_QUIET */
    struct proposals proposals;
    struct timer soon, period, slice, quiet;
    bool again;        /* the stage, because requests are being marked as begun */
    bool flipped;      /* since the last decision began */
    bool gives_way;    /* pods wait */
    unsigned yields;   /* in a row */
    int64_t begun_ns;  /* of the decision, monotonic */
    int64_t next_ns;   /* not before */
    int64_t looked_ns; /* when the last decision ended; 0 = never */
    struct map *said;  /* observe: steps that were told, by digest */
    /* the open decision */
    bool open;
    struct arena mem;
    struct snapshot snap;
    struct consolidate *pass;
    struct metric_family *eligible;
};

static void look(void *arg);
static void slice(void *arg);

static int64_t now_of(const struct consolidator *c)
{
    return clock_mono(c->rt->clock);
}

static void look_at(struct consolidator *c, int64_t at_ns)
{
    at_ns = at_ns > c->next_ns ? at_ns : c->next_ns;
    if (!timer_pending(&c->soon) || c->soon.at_ns > at_ns) {
        timer_set(&c->rt->timers, &c->soon, at_ns, look, c);
    }
}

static void look_soon(struct consolidator *c)
{
    look_at(c, now_of(c) + CONSOLIDATOR_SOON_NS);
}

/* ---- what the core asks ------------------------------------------------------------------------
 */

static bool pool_has(const struct snapshot_pool *p, const char *condition)
{
    return p && condition_true(&p->np->conditions, condition);
}

static bool launches_failing(void *ctx, const struct snapshot_pool *p)
{
    return nodefacts_launches_failing(ctx, p) || pool_has(p, "LaunchIneffective") ||
           pool_has(p, "RegistrationFailing");
}

static int64_t churn_until(void *ctx UNUSED, const struct snapshot_node *n)
{
    return n->pool ? candidate_churn_until(n->pool->np) : 0;
}

static bool price_suspect(void *ctx, const struct snapshot_pool *p UNUSED)
{
    const struct runtime *rt = ctx;
    return metrics_sum(rt->metrics, "karp_attention", LABELS("code", "PriceSuspect")) > 0;
}

static bool drift_suspect(void *ctx UNUSED, const struct snapshot_pool *p)
{
    return pool_has(p, "DriftSuspect") || pool_has(p, "DriftHalted");
}

static bool lacking(void *ctx, const struct snapshot_node *n)
{
    const struct consolidator *c = ctx;
    return n->claim && proposals_lack(&c->proposals, n->claim);
}

/* ---- which steps may start ---------------------------------------------------------------------
 */

/* Empty nodes are emptiness.h's, also those that are about to be: their last pods are on their way
 * out; but where they wait for a decision they are ours. Asked-for replacements are replacer.h's.
 */
static bool is_ours(const struct consolidator *c, const struct consolidate_step *s)
{
    for (uint32_t i = 0; i < s->n_out; i++) {
        if (str_eq(s->out[i].drift, "Replace")) {
            return false;
        }
    }
    return s->reason == DISRUPT_EMPTY ? consent_needed(c->rt, s)
                                      : s->reason == DISRUPT_DRIFTED || s->n_moves > 0;
}

static bool in_peace(const struct consolidator *c, const struct consolidate_step *s)
{
    for (uint32_t i = 0; i < s->n_out; i++) {
        const struct nodeclaim *nc = s->out[i].node->claim;
        if (spared_until(c->rt->spared, nc, s->reason) ||
            commands_has(c->rt->commands, nc->m.name)) {
            return true;
        }
    }
    return false;
}

static void say_unapproved(struct consolidator *c, const struct consolidate_step *s)
{
    for (uint32_t i = 0; i < s->n_out; i++) {
        const struct snapshot_node *n = s->out[i].node;
        const struct events_subject about[] = {
            {KIND_NODE, NULL, n->node->m.name, n->node->m.uid},
            {KIND_NODE_CLAIM, NULL, n->claim->m.name, n->claim->m.uid}};
        for (size_t k = 0; k < ARRAY_LEN(about); k++) {
            events_normal(c->rt->events, &about[k], "DisruptionBlocked",
                          "Cannot disrupt Node: its disruption waits for a decision (%s)",
                          ANN_APPROVAL);
        }
    }
}

/* An observer's steps never end: an open budget holds none of them up. */
static bool is_held(const struct consolidator *c, const struct consolidate_step *s)
{
    for (uint32_t i = 0; i < s->n_held_by; i++) {
        const struct reason *r = &s->held_by[i];
        if (!c->rt->observer || r->code != REASON_Budget || r->limit == 0) {
            return true;
        }
    }
    return false;
}

static bool may_start(const struct consolidator *c, const struct consolidate_step *s)
{
    return is_ours(c, s) && !is_held(c, s) && !consent_needed(c->rt, s) && !in_peace(c, s);
}

static const char *pool_of(const struct consolidate_step *s)
{
    return s->out[0].node->pool->np->m.name;
}

struct turn {
    const struct consolidate_step *step;
    uint32_t nth; /* of its pool */
};

static int by_turn(const void *a, const void *b)
{
    const struct turn *x = a, *y = b;
    if (x->nth != y->nth) {
        return x->nth < y->nth ? -1 : 1;
    }
    int c = str_cmp(pool_of(x->step), pool_of(y->step));
    return c ? c : x->step->id < y->step->id ? -1 : 1;
}

/* Pools by turns, within each in the plan's order. In the decision's arena. */
static struct turn *turns_of(struct consolidator *c, const struct consolidate_result *r,
                             uint32_t *ret_n)
{
    struct turn *v = ARENA_NEW_N(&c->mem, struct turn, r->n_steps);
    uint32_t *of_pool = ARENA_NEW_N(&c->mem, uint32_t, c->snap.n_pools);
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n_steps; i++) {
        const struct consolidate_step *s = &r->steps[i];
        if (is_ours(c, s) && consent_needed(c->rt, s)) {
            say_unapproved(c, s);
        }
        if (may_start(c, s)) {
            v[n++] = (struct turn){s, of_pool[s->out[0].node->pool - c->snap.pools]++};
        }
    }
    if (n > 1) {
        qsort(v, n, sizeof(*v), by_turn);
    }
    *ret_n = n;
    return v;
}

/* ---- carrying out ------------------------------------------------------------------------------
 */

/* Let go: left in peace, for what a command finds the store may not show yet. */
static void ended(struct consolidator *c, enum spared_as as, const char *claim,
                  enum command_end how)
{
    const struct nodeclaim *nc = store_claim(c->rt->store, claim);
    if (how == COMMAND_REMOVED) {
        spared_drop(c->rt->spared, as, claim);
    } else if (nc) {
        spared_put(c->rt->spared, as, nc);
    }
    consent_ended(c->rt->consent, claim, how);
    c->flipped = true;
    look_soon(c);
}

static void on_end(void *ctx, const char *node UNUSED, const char *claim, enum command_end how)
{
    ended(ctx, SPARED_PLANNED, claim, how);
}

static void on_empty_end(void *ctx, const char *node UNUSED, const char *claim,
                         enum command_end how)
{
    ended(ctx, SPARED_EMPTY, claim, how);
}

/* Drift of a pool whose replacements fail is halted (driftguard.h). */
static void on_drift_end(void *ctx, const char *node, const char *claim, enum command_end how)
{
    struct consolidator *c = ctx;
    const struct nodeclaim *nc = store_claim(c->rt->store, claim);
    if (nc && how == COMMAND_IN_VAIN) {
        driftguard_failed(c->rt->driftguard, nc->pool, node, commands_trouble(c->rt->commands));
    } else if (nc && how == COMMAND_REMOVED) {
        driftguard_replaced(c->rt->driftguard, nc->pool);
    }
    on_end(ctx, node, claim, how);
}

static void orders_free(struct order **v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        order_free(v[i]);
    }
}

/* NULL if one of them cannot be made. */
static struct order **make_orders(struct consolidator *c, const struct consolidate_step *s)
{
    struct order **v = ARENA_NEW_N(&c->mem, struct order *, s->n_in);
    for (uint32_t i = 0; i < s->n_in; i++) {
        struct err err = ERR_INIT;
        v[i] = order_new(c->rt, &s->in[i].claim, &err);
        if (!v[i]) {
            log_error(c->rt->log, "cannot make a NodeClaim", "error", err.msg);
            orders_free(v, i);
            return NULL;
        }
    }
    return v;
}

static struct sched_placement *placements(struct consolidator *c, const struct consolidate_step *s,
                                          uint32_t *ret_n)
{
    struct sched_placement *v = ARENA_NEW_N(&c->mem, struct sched_placement, s->n_moves);
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_moves; i++) {
        if (s->moves[i].to) {
            v[n++] = (struct sched_placement){s->moves[i].pod, s->moves[i].to};
        }
    }
    *ret_n = n;
    return v;
}

static void say_begins(struct consolidator *c, const struct consolidate_step *s, const char *what)
{
    char usd[32];
    snprintf(usd, sizeof(usd), "%.4f", (double)s->saving_pusd_h / (double)PUSD_PER_USD);
    log_info(c->rt->log, what, "reason", s->reason == DISRUPT_DRIFTED ? "drifted" : "underutilized",
             "decision", s->n_in ? "replace" : "delete", "Node", s->out[0].node->name, "NodePool",
             pool_of(s), "nodes", log_n(s->n_out), "replacements", log_n(s->n_in), "pods",
             log_n(s->n_moves), "savingsPerHour", usd, "plan", s->digest);
}

typedef void (*observer_fn)(struct observer *, const struct observer_step *);

static void tell_observer(struct consolidator *c, const struct consolidate_step *s, observer_fn fn)
{
    const struct nodeclaim **out = ARENA_NEW_N(&c->mem, const struct nodeclaim *, s->n_out);
    for (uint32_t i = 0; i < s->n_out; i++) {
        out[i] = s->out[i].node->claim;
    }
    const struct observer_step step = {.reason = s->reason == DISRUPT_DRIFTED ? "Drifted"
                                                                              : "Underutilized",
                                       .out = out,
                                       .n_out = s->n_out,
                                       .n_in = s->n_in,
                                       .price_in_pusd_h = s->price_in_pusd_h};
    fn(c->rt->observer, &step);
}

static void would_start(struct consolidator *c, const struct consolidate_step *s)
{
    tell_observer(c, s, observer_removes);
    if (!map_has(c->said, s->digest)) {
        map_put(c->said, s->digest, c, NULL);
        say_begins(c, s, "would disrupt node(s)");
    }
}

static void spare(struct consolidator *c, const struct consolidate_step *s)
{
    for (uint32_t i = 0; i < s->n_out; i++) {
        spared_put(c->rt->spared, SPARED_PLANNED, s->out[i].node->claim);
    }
}

/* False: its replacements cannot be made. */
static bool start(struct consolidator *c, const struct consolidate_step *s)
{
    if (c->rt->opt->mode == MODE_OBSERVE) {
        would_start(c, s);
        return true;
    }
    struct order **in = make_orders(c, s);
    if (!in) {
        spare(c, s);
        return false;
    }
    const struct snapshot_node **out = ARENA_NEW_N(&c->mem, const struct snapshot_node *, s->n_out);
    for (uint32_t i = 0; i < s->n_out; i++) {
        out[i] = s->out[i].node;
    }
    struct command_spec spec = {.reason = s->reason,
                                .type = s->reason == DISRUPT_DRIFTED ? ""
                                        : s->reason == DISRUPT_EMPTY ? "empty"
                                        : s->n_out > 1               ? "multi"
                                                                     : "single",
                                .plan = s->digest,
                                .out = out,
                                .n_out = s->n_out,
                                .in = in,
                                .n_in = s->n_in,
                                .end = s->reason == DISRUPT_DRIFTED ? on_drift_end
                                       : s->reason == DISRUPT_EMPTY ? on_empty_end
                                                                    : on_end,
                                .ctx = c};
    spec.moves = placements(c, s, &spec.n_moves);
    say_begins(c, s, "begins to disrupt node(s)");
    command_start(c->rt->commands, &spec);
    return true;
}

/* ---- the decision ------------------------------------------------------------------------------
 */

static void close_decision(struct consolidator *c)
{
    if (c->open) {
        c->open = false;
        consolidate_end(c->pass);
        c->pass = NULL;
        arena_done(&c->mem);
        store_thaw(c->rt->store);
    }
}

static void options_of(struct consolidator *c, struct consolidate_options *ret)
{
    const struct agent_options *o = c->rt->opt;
    consolidate_options_default(ret);
    picture_options(c->rt, &c->mem, &ret->sched);
    ret->reasons = DISRUPT_EMPTY | DISRUPT_UNDERUTILIZED | DISRUPT_DRIFTED;
    ret->spot_to_spot = o->gate_spot_to_spot;
    ret->spot_min_types = (uint32_t)o->spot_min_types;
    ret->min_saving = o->min_saving;
    ret->min_node_life_ns = o->min_node_life_ns;
    ret->return_to_weight = o->return_to_weight;
    if (c->stage == STAGE_ALONE) {
        ret->selected = lacking;
        ret->selected_ctx = c;
    }
}

static void open_decision(struct consolidator *c, enum stage stage)
{
    /* Brakes do not shape the plan: they bound how much of it begins. */
    struct picture_in in = {.launches_left = -1};
    const struct candidate_facts facts = {.ctx = c->rt,
                                          .nominated = nodefacts_nominated,
                                          .in_command = nodefacts_in_command,
                                          .launches_failing = launches_failing,
                                          .held = nodefacts_held,
                                          .churn_until = churn_until,
                                          .let_go_until = nodefacts_let_go_until,
                                          .price_suspect = price_suspect,
                                          .drift_suspect = drift_suspect};
    struct consolidate_options o;
    c->stage = stage;
    c->open = true;
    c->flipped = c->flipped && stage != STAGE_DECIDING;
    c->gives_way = false;
    c->begun_ns = now_of(c);
    arena_init(&c->mem, 64 << 10, CONSOLIDATOR_ARENA_MAX);
    store_freeze(c->rt->store);
    in.leaving = observer_leaving(c->rt->observer, &c->mem, &in.n_leaving);
    (void)marker_decide(c->rt->marker, MARKER_CONSOLIDATE, NULL);
    picture_build(c->rt, &c->mem, &in, &c->snap);
    options_of(c, &o);
    c->pass = consolidate_begin(&c->mem, &c->snap, &facts, &o);
    marker_done(c->rt->marker);
    timer_set(&c->rt->timers, &c->slice, now_of(c), slice, c);
}

static bool may_decide(const struct consolidator *c)
{
    struct runtime *rt = c->rt;
    return rt->opt->mode != MODE_PROVISION && store_synced(rt->store) && cloud_ready(rt->cloud) &&
           (rt->opt->mode == MODE_OBSERVE || gate_open(rt->gate)) && !cloud_failing(rt->cloud) &&
           !runtime_clock_skewed(rt) && !marker_rests(rt->marker, MARKER_CONSOLIDATE);
}

static bool busy(const struct consolidator *c)
{
    return store_frozen(c->rt->store) || commands_opening(c->rt->commands) ||
           consent_busy(c->rt->consent);
}

/* ---- after a decision --------------------------------------------------------------------------
 */

static void on_quiet(void *arg)
{
    struct consolidator *c = arg;
    if (!may_decide(c)) {
        proposals_clear(&c->proposals);
        c->again = false;
        c->stage = STAGE_IDLE;
        return; /* the period comes again */
    }
    if (busy(c)) {
        timer_set(&c->rt->timers, &c->quiet, now_of(c) + CONSOLIDATOR_SOON_NS, on_quiet, c);
        return;
    }
    open_decision(c, c->then);
}

static void quiet_until(struct consolidator *c, enum stage then, int64_t at_ns)
{
    c->stage = STAGE_QUIET;
    c->then = then;
    timer_set(&c->rt->timers, &c->quiet, at_ns, on_quiet, c);
}

/* What needs a decision: asked for once it has been found again; and what has been approved. */
static void propose_with_consent(struct consolidator *c, const struct consolidate_result *r)
{
    struct consent *consent = c->rt->consent;
    consent_look(consent, &c->mem, &c->snap, r);
    for (uint32_t i = 0; i < r->n_steps && c->proposals.n < CONSOLIDATOR_STEPS_MAX; i++) {
        const struct consolidate_step *s = &r->steps[i];
        if (is_ours(c, s) && consent_needed(c->rt, s) &&
            consent_wants(consent, &c->mem, &c->snap, s)) {
            proposals_add(&c->proposals, s)->files = true;
        }
    }
    consent_propose(consent, &c->proposals);
}

static void propose(struct consolidator *c, const struct consolidate_result *r)
{
    int64_t left = c->rt->opt->mode == MODE_OBSERVE ? -1 : creator_launches_left(c->rt->creator);
    uint32_t n;
    const struct turn *v = turns_of(c, r, &n);
    for (uint32_t i = 0; i < n && c->proposals.n < CONSOLIDATOR_STEPS_MAX; i++) {
        const struct consolidate_step *s = v[i].step;
        if (left >= 0 && s->n_in > left) {
            continue;
        }
        left -= left >= 0 ? s->n_in : 0;
        proposals_add(&c->proposals, s);
        if (c->rt->observer) {
            tell_observer(c, s, observer_intends);
        }
        log_debug(c->rt->log, "step decided on, waiting before it begins", "Node",
                  s->out[0].node->name, "nodes", log_n(s->n_out), "replacements", log_n(s->n_in));
    }
    propose_with_consent(c, r);
}

static void ask_for(struct consolidator *c, struct proposal *p, const struct consolidate_step *s)
{
    p->found = true;
    if (consent_wants(c->rt->consent, &c->mem, &c->snap, s)) {
        consent_file(c->rt->consent, &c->mem, &c->snap, s);
    }
}

/* Marked as begun first, and when that is answered looked for once more. What steps before it use
 * up of a budget may never be approved: then it is looked at by itself. True if it begins. */
static bool begin_approved(struct consolidator *c, struct proposal *p,
                           const struct consolidate_step *s, bool behind)
{
    struct consent *consent = c->rt->consent;
    if (!consent_covers(consent, &c->mem, &c->snap, p->request, s)) {
        p->found = true; /* the next plan asks anew */
    } else if (s->n_held_by > 0 || behind || in_peace(c, s)) {
        p->waits = p->found = c->stage == STAGE_ALONE;
    } else if (consent_begun(consent, p->request)) {
        p->found = true;
        return start(c, s);
    } else if (!p->asked) {
        p->asked = c->again = true;
        consent_begin(consent, p->request);
    } else {
        p->waits = p->found = true; /* it could not be marked */
    }
    return false;
}

/* A step assumes those before it: behind one that stays nothing begins but what holds alone. */
static void carry_out(struct consolidator *c, const struct consolidate_result *r)
{
    bool behind = false;
    for (uint32_t i = 0; i < r->n_steps; i++) {
        const struct consolidate_step *s = &r->steps[i];
        struct proposal *p = proposals_of(&c->proposals, s);
        bool begins = false;
        if (p && !p->found && p->files) {
            ask_for(c, p, s);
        } else if (p && !p->found && p->request) {
            begins = begin_approved(c, p, s, behind);
        } else if (p && !p->found && proposal_holds(p, s) && may_start(c, s)) {
            p->behind = behind;
            p->found = !behind || c->stage == STAGE_ALONE; /* the next plan has it, or not */
            begins = !behind && start(c, s);
        }
        behind |= !begins && s->n_moves > 0;
    }
}

/* What did not hold the second time, either. */
static void spare_rest(struct consolidator *c)
{
    for (uint32_t i = 0; i < c->proposals.n; i++) {
        const struct proposal *p = &c->proposals.v[i];
        if (p->request && (!p->found || p->waits)) {
            consent_rest(c->rt->consent, p->request, !p->found);
        }
        for (uint32_t k = 0; !p->found && !p->request && !p->files && k < p->n; k++) {
            const struct nodeclaim *nc = store_claim(c->rt->store, p->claims[k]);
            if (nc && str_eq(nc->m.uid, p->uids[k])) {
                (p->behind ? spared_put_briefly : spared_put)(c->rt->spared, SPARED_PLANNED, nc);
            }
        }
    }
}

static void rest(struct consolidator *c)
{
    proposals_clear(&c->proposals);
    c->stage = STAGE_IDLE;
    c->looked_ns = now_of(c);
    if (c->flipped) {
        look_soon(c);
    }
}

static void count_eligible(struct consolidator *c, const struct consolidate_result *r)
{
    uint32_t under = 0, drifted = 0;
    for (uint32_t i = 0; i < r->n_steps; i++) {
        under += r->steps[i].reason == DISRUPT_UNDERUTILIZED ? r->steps[i].n_out : 0;
        drifted += r->steps[i].reason == DISRUPT_DRIFTED ? r->steps[i].n_out : 0;
    }
    metric_set(c->eligible, LABELS("underutilized"), under);
    metric_set(c->eligible, LABELS("drifted"), drifted);
}

static void decided(struct consolidator *c)
{
    const struct consolidate_result *r = consolidate_result(c->pass);
    enum stage stage = c->stage;
    int64_t took_ns = now_of(c) - c->begun_ns;
    c->yields = 0;
    c->next_ns = now_of(c) + 4 * took_ns;
    if (stage == STAGE_DECIDING) {
        count_eligible(c, r);
        propose(c, r);
        close_decision(c);
        if (c->proposals.n == 0) {
            rest(c);
            return;
        }
        quiet_until(c, STAGE_AGAIN, now_of(c) + CONSOLIDATOR_QUIET_NS);
        return;
    }
    carry_out(c, r);
    close_decision(c);
    c->flipped = true;
    if (c->again) {
        c->again = false;
        quiet_until(c, stage, now_of(c)); /* once it is known whether they may begin */
        return;
    }
    if (stage == STAGE_AGAIN && !proposals_all_found(&c->proposals)) {
        quiet_until(c, STAGE_ALONE, now_of(c)); /* once commands are open that were begun */
        return;
    }
    spare_rest(c);
    rest(c);
}

/* Pods wait: the decision is made again when theirs has been. */
static void give_way(struct consolidator *c)
{
    c->yields++;
    c->flipped = true;
    close_decision(c);
    if (c->stage == STAGE_DECIDING) {
        c->stage = STAGE_IDLE;
        look_soon(c);
    } else {
        quiet_until(c, c->stage, now_of(c) + CONSOLIDATOR_SOON_NS);
    }
}

static void slice(void *arg)
{
    struct consolidator *c = arg;
    int64_t start_ns = now_of(c);
    bool done = false;
    if (c->gives_way && c->yields < CONSOLIDATOR_YIELDS_MAX) {
        give_way(c);
        return;
    }
    (void)marker_decide(c->rt->marker, MARKER_CONSOLIDATE, NULL);
    do {
        done = consolidate_step(c->pass, CONSOLIDATOR_SLICE_UNITS);
    } while (!done && now_of(c) - start_ns < CONSOLIDATOR_SLICE_NS);
    if (done) {
        decided(c);
    } else {
        timer_set(&c->rt->timers, &c->slice, now_of(c), slice, c);
    }
    marker_done(c->rt->marker);
}

/* ---- triggers ----------------------------------------------------------------------------------
 */

/* A cheap look that saves most decisions. */
static bool any_node(const struct consolidator *c)
{
    for (MAP_EACH(store_all(c->rt->store, STORE_CLAIM), e)) {
        const struct nodeclaim *nc = map_value(e);
        if (!nc->m.deleted_ns && claim_is(nc, "Initialized")) {
            return true;
        }
    }
    return false;
}

static void look(void *arg)
{
    struct consolidator *c = arg;
    if (c->stage != STAGE_IDLE || !may_decide(c) || !any_node(c)) {
        return; /* the period comes again */
    }
    if (busy(c) || now_of(c) < c->next_ns) {
        look_soon(c);
        return;
    }
    open_decision(c, STAGE_DECIDING);
}

/* What depends on time alone is looked at now and then. */
static void on_period(void *arg)
{
    struct consolidator *c = arg;
    timer_set(&c->rt->timers, &c->period, now_of(c) + CONSOLIDATOR_PERIOD_NS, on_period, c);
    if (c->flipped || now_of(c) - c->looked_ns >= CONSOLIDATOR_IDLE_NS) {
        look(c);
    }
}

static void flip(struct consolidator *c)
{
    c->flipped = true;
    if (c->stage == STAGE_IDLE) {
        look_soon(c);
    }
}

/* Bound, gone, or on its way out; and whoever waits goes first. */
static void on_pod(void *arg, const char *key UNUSED, const void *before, const void *now)
{
    struct consolidator *c = arg;
    const struct pod *was = before, *is = now;
    bool on_node = (was && *was->node_name) || (is && *is->node_name);
    bool active = is && pod_active(is);
    if (on_node &&
        (!was || !is || *was->node_name != *is->node_name || pod_active(was) != active)) {
        flip(c);
    }
    if (!was && is && !*is->node_name && c->open) {
        c->gives_way = true;
    }
}

static void on_object(void *arg, const char *key UNUSED, const void *before UNUSED,
                      const void *now UNUSED)
{
    flip(arg);
}

/* ---- life --------------------------------------------------------------------------------------
 */

struct consolidator *consolidator_new(struct runtime *rt)
{
    static const enum store_kind kinds[] = {STORE_CLAIM, STORE_POOL, STORE_CLASS, STORE_PDB,
                                            STORE_HOLD,  STORE_DREQ, STORE_DGRANT};
    struct consolidator *c = NEW(struct consolidator);
    c->rt = rt;
    c->said = map_new(CONSOLIDATOR_SAID_MAX);
    c->eligible = metrics_family(rt->metrics, "karpenter_voluntary_disruption_eligible_nodes",
                                 "Nodes that could be disrupted now, by reason.", METRIC_GAUGE,
                                 LABELS("reason"), NULL, 0);
    store_subscribe(rt->store, STORE_POD, on_pod, c);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        store_subscribe(rt->store, kinds[i], on_object, c);
    }
    return c;
}

void consolidator_free(struct consolidator *c)
{
    if (!c) {
        return;
    }
    timer_stop(&c->rt->timers, &c->soon);
    timer_stop(&c->rt->timers, &c->period);
    timer_stop(&c->rt->timers, &c->slice);
    timer_stop(&c->rt->timers, &c->quiet);
    close_decision(c);
    proposals_clear(&c->proposals);
    map_free(c->said);
    free(c);
}

void consolidator_start(struct consolidator *c)
{
    timer_set(&c->rt->timers, &c->period, now_of(c), on_period, c);
}
