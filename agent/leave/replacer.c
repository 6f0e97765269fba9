/* replacer.c - see replacer.h. */
#include "replacer.h"

#include "agent/claim/claim.h"
#include "agent/cloud/cloud.h"
#include "agent/observe/observer.h"
#include "agent/plan/creator.h"
#include "agent/plan/picture.h"
#include "agent/store/store.h"
#include "agent/work/gate.h"
#include "agent/work/marker.h"
#include "command.h"
#include "common/base/alloc.h"
#include "common/base/map.h"
#include "common/base/price.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/core/disrupt/candidate.h"
#include "common/kube/events.h"
#include "expiration.h"
#include "holds.h"
#include "nodefacts.h"
#include "spared.h"

struct replacer {
    struct runtime *rt;
    struct timer period, soon, slice;
    /* the open placement */
    bool open;
    struct arena mem;
    struct snapshot snap;
    struct sched *sched;
    char *claim; /* whose node leaves in it */
};

static void look(void *arg);

static int64_t now_of(const struct replacer *r)
{
    return clock_mono(r->rt->clock);
}

static void look_soon(struct replacer *r)
{
    if (!timer_pending(&r->soon)) {
        timer_set(&r->rt->timers, &r->soon, now_of(r) + REPLACER_SOON_NS, look, r);
    }
}

/* ---- who is to be replaced ---------------------------------------------------------------------
 */

static bool asked_for(const struct kvs *annotations, const struct nodeclaim *nc)
{
    const char *text = kvs_get(annotations, ANN_REPLACE);
    int64_t at_ns;
    return text && timefmt_parse_rfc3339(text, &at_ns) && nc->m.created_ns < at_ns;
}

enum want { WANT_NOTHING, WANT_ASKED, WANT_EXPIRED };

static enum want want_of(const struct replacer *r, const struct nodeclaim *nc)
{
    const struct nodepool *np = store_pool(r->rt->store, nc->pool);
    if (nc->m.deleted_ns || !np || !store_ours(&nc->class_ref) ||
        commands_has(r->rt->commands, nc->m.name) || observer_removed(r->rt->observer, nc)) {
        return WANT_NOTHING;
    }
    if (asked_for(&nc->m.annotations, nc) || asked_for(&np->m.annotations, nc)) {
        return WANT_ASKED;
    }
    return expiration_of(r->rt->opt, np, nc).replace_ns <= clock_wall(r->rt->clock) ? WANT_EXPIRED
                                                                                    : WANT_NOTHING;
}

static bool any_wanted(struct replacer *r)
{
    for (MAP_EACH(store_all(r->rt->store, STORE_CLAIM), e)) {
        if (want_of(r, map_value(e)) != WANT_NOTHING &&
            !spared_has(r->rt->spared, SPARED_ASKED, map_value(e))) {
            return true;
        }
    }
    return false;
}

/* ---- may it leave ------------------------------------------------------------------------------
 */

static void say_blocked(struct replacer *r, const struct snapshot_node *n, const char *why)
{
    struct events_subject node = {KIND_NODE, NULL, n->node->m.name, n->node->m.uid};
    struct events_subject claim = {KIND_NODE_CLAIM, NULL, n->claim->m.name, n->claim->m.uid};
    events_normal(r->rt->events, &node, "DisruptionBlocked", "%s", why);
    events_normal(r->rt->events, &claim, "DisruptionBlocked", "%s", why);
}

struct choice {
    const struct snapshot_node *node;
    enum want want;
    bool moves; /* pods */
};

/* Asked for before expired, without pods before with pods, then the oldest. */
static bool goes_before(const struct choice *a, const struct choice *b)
{
    const struct meta *x = &a->node->claim->m, *y = &b->node->claim->m;
    if (a->want != b->want) {
        return a->want < b->want;
    }
    if (a->moves != b->moves) {
        return b->moves;
    }
    return x->created_ns != y->created_ns ? x->created_ns < y->created_ns
                                          : str_cmp(x->name, y->name) < 0;
}

/* What the budgets of each pool leave; counted once, for thousands of nodes may ask. */
struct rooms {
    struct budget_room *v; /* parallel to the snapshot's pools */
    bool *known;
};

static bool has_room(const struct candidate_in *in, struct rooms *rooms,
                     const struct snapshot_pool *p)
{
    size_t i = (size_t)(p - in->snap->pools);
    if (!rooms->known[i]) {
        rooms->known[i] = true;
        rooms->v[i] = candidate_room(in, p, in->snap->now_ns);
    }
    return rooms->v[i].disrupting < rooms->v[i].allowed;
}

static bool may_leave(struct replacer *r, const struct candidate_in *in, struct rooms *rooms,
                      const struct snapshot_node *n)
{
    struct reason why = candidate_check(in, n);
    if (why.code == REASON_NONE) {
        return has_room(in, rooms, n->pool);
    }
    if (n->node && n->claim && why.code != REASON_Deleting) {
        const char *by = why.code == REASON_Held ? why.text : reason_name(why.code);
        say_blocked(r, n, arena_printf(&r->mem, "Cannot disrupt Node: %s", by));
    }
    return false;
}

/* The first that may leave now; .node NULL if there is none. */
static struct choice choose(struct replacer *r)
{
    struct choice best = {.node = NULL};
    struct candidate_index index;
    candidate_index_build(&r->mem, &r->snap, &index);
    const struct candidate_in in = {.snap = &r->snap,
                                    .index = &index,
                                    .reason = DISRUPT_DRIFTED,
                                    .a = &r->mem,
                                    .facts = {.ctx = r->rt,
                                              .nominated = nodefacts_nominated,
                                              .in_command = nodefacts_in_command,
                                              .launches_failing = nodefacts_launches_failing,
                                              .held = nodefacts_held}};
    struct rooms rooms = {ARENA_NEW_N(&r->mem, struct budget_room, r->snap.n_pools),
                          ARENA_NEW_N(&r->mem, bool, r->snap.n_pools)};
    for (uint32_t i = 0; i < r->snap.n_nodes; i++) {
        const struct snapshot_node *n = &r->snap.nodes[i];
        struct choice c = {.node = n,
                           .want = n->claim ? want_of(r, n->claim) : WANT_NOTHING,
                           .moves = index.nodes[i].n_moving > 0};
        if (c.want != WANT_NOTHING && !spared_has(r->rt->spared, SPARED_ASKED, n->claim) &&
            (!best.node || goes_before(&c, &best)) && may_leave(r, &in, &rooms, n)) {
            best = c;
        }
    }
    return best;
}

/* ---- the command -------------------------------------------------------------------------------
 */

static void on_end(void *ctx, const char *node, const char *claim, enum command_end how)
{
    struct replacer *r = ctx;
    const struct nodeclaim *nc = store_claim(r->rt->store, claim);
    (void)node;
    if (how == COMMAND_REMOVED) {
        spared_drop(r->rt->spared, SPARED_ASKED, claim);
    } else if (nc) {
        spared_put(r->rt->spared, SPARED_ASKED, nc);
    }
    look_soon(r);
}

static void start(struct replacer *r, const struct snapshot_node *n, struct order **in,
                  uint32_t n_in, const struct sched_placement *moves, uint32_t n_moves)
{
    const struct command_spec spec = {.reason = DISRUPT_DRIFTED,
                                      .type = "",
                                      .out = &n,
                                      .n_out = 1,
                                      .in = in,
                                      .n_in = n_in,
                                      .moves = moves,
                                      .n_moves = n_moves,
                                      .end = on_end,
                                      .ctx = r};
    if (r->rt->opt->mode == MODE_OBSERVE) {
        struct observer_step s = {.reason =
                                      want_of(r, n->claim) == WANT_EXPIRED ? "Expired" : "Replaced",
                                  .out = &n->claim,
                                  .n_out = 1,
                                  .n_in = n_in};
        for (uint32_t i = 0; i < n_in; i++) {
            price_add(&s.price_in_pusd_h, in[i]->price_pusd_h);
        }
        observer_removes(r->rt->observer, &s);
        log_info(r->rt->log, "would disrupt node(s)", "reason", "drifted", "decision",
                 n_in ? "replace" : "delete", "Node", n->name, "NodeClaim", n->claim->m.name,
                 "NodePool", n->pool->np->m.name);
        for (uint32_t i = 0; i < n_in; i++) {
            order_free(in[i]);
        }
        spared_put(r->rt->spared, SPARED_ASKED, n->claim);
        return;
    }
    command_start(r->rt->commands, &spec);
}

/* ---- the placement -----------------------------------------------------------------------------
 */

static void close_decision(struct replacer *r)
{
    if (r->open) {
        r->open = false;
        r->sched = NULL;
        arena_done(&r->mem);
        store_thaw(r->rt->store);
        free(r->claim);
        r->claim = NULL;
    }
}

static void open_decision(struct replacer *r, const char *claim)
{
    const struct picture_in in = {.launches_left = creator_launches_left(r->rt->creator),
                                  .leaving = &claim,
                                  .n_leaving = claim ? 1 : 0};
    r->open = true;
    arena_init(&r->mem, 64 << 10, REPLACER_ARENA_MAX);
    store_freeze(r->rt->store);
    r->claim = xstrdup(claim);
    (void)marker_decide(r->rt->marker, MARKER_REPLACE, NULL);
    picture_build(r->rt, &r->mem, &in, &r->snap);
    marker_done(r->rt->marker);
}

static bool is_its(const struct snapshot_node *n, const struct pod *p)
{
    return str_eq(p->node_name, n->node->m.name);
}

/* NULL, or why its pods have no place to go to. */
static const char *no_place(const struct snapshot_node *n, const struct sched_result *res)
{
    for (uint32_t i = 0; i < res->n_refused; i++) {
        if (is_its(n, res->refused[i].pod)) {
            return "Cannot disrupt Node: its pods have no other place";
        }
    }
    for (uint32_t i = 0; i < res->n_undecided; i++) {
        if (is_its(n, res->undecided[i])) {
            return "Cannot disrupt Node: no place was found for its pods in time";
        }
    }
    for (uint32_t i = 0; i < res->n_existing; i++) {
        if (is_its(n, res->existing[i].pod) && !res->existing[i].node->initialized) {
            return "Cannot disrupt Node: its pods would wait for a node that is still coming up";
        }
    }
    return NULL;
}

static bool has_pod_of(const struct snapshot_node *n, const struct sched_claim *sc)
{
    for (uint32_t i = 0; i < sc->n_pods; i++) {
        if (is_its(n, sc->pods[i])) {
            return true;
        }
    }
    return false;
}

/* False: one of them cannot be made. */
static bool make_orders(struct replacer *r, const struct snapshot_node *n,
                        const struct sched_result *res, struct order **v, uint32_t *ret_n)
{
    for (uint32_t i = 0; i < res->n_claims; i++) {
        struct err err = ERR_INIT;
        if (!has_pod_of(n, &res->claims[i])) {
            continue; /* of pending pods alone: the provisioner's */
        }
        struct order *o = order_new(r->rt, &res->claims[i], &err);
        if (!o) {
            log_error(r->rt->log, "cannot make a NodeClaim", "error", err.msg);
            return false;
        }
        v[(*ret_n)++] = o;
    }
    return true;
}

static void act(struct replacer *r, const struct snapshot_node *n, const struct sched_result *res)
{
    struct sched_placement *moves = ARENA_NEW_N(&r->mem, struct sched_placement, res->n_existing);
    struct order **in = ARENA_NEW_N(&r->mem, struct order *, res->n_claims);
    uint32_t n_moves = 0, n_in = 0;
    const char *why = no_place(n, res);
    if (!why && !make_orders(r, n, res, in, &n_in)) {
        why = "Cannot disrupt Node: its replacement cannot be made";
    }
    if (why) {
        for (uint32_t i = 0; i < n_in; i++) {
            order_free(in[i]);
        }
        say_blocked(r, n, why);
        spared_put(r->rt->spared, SPARED_ASKED, n->claim);
        return;
    }
    for (uint32_t i = 0; i < res->n_existing; i++) {
        if (is_its(n, res->existing[i].pod)) {
            moves[n_moves++] = res->existing[i];
        }
    }
    start(r, n, in, n_in, moves, n_moves);
}

static void slice(void *arg)
{
    struct replacer *r = arg;
    int64_t start_ns = now_of(r);
    bool done = false;
    (void)marker_decide(r->rt->marker, MARKER_REPLACE, NULL);
    do {
        done = sched_step(r->sched, REPLACER_SLICE_UNITS);
    } while (!done && now_of(r) - start_ns < REPLACER_SLICE_NS);
    marker_done(r->rt->marker);
    if (!done) {
        timer_set(&r->rt->timers, &r->slice, now_of(r), slice, r);
        return;
    }
    const struct snapshot_node *n = snapshot_find(&r->snap, r->claim);
    if (n && n->node) {
        act(r, n, sched_result(r->sched));
    }
    close_decision(r);
    look_soon(r);
}

static void place(struct replacer *r)
{
    struct sched_options o;
    picture_options(r->rt, &r->mem, &o);
    o.max_types = REPLACER_TYPES_MAX;
    (void)marker_decide(r->rt->marker, MARKER_REPLACE, NULL);
    r->sched = sched_begin(&r->mem, &r->snap, &o);
    marker_done(r->rt->marker);
    timer_set(&r->rt->timers, &r->slice, now_of(r), slice, r);
}

/* ---- looking -----------------------------------------------------------------------------------
 */

static bool may_decide(const struct replacer *r)
{
    struct runtime *rt = r->rt;
    return rt->opt->mode != MODE_PROVISION && store_synced(rt->store) && cloud_ready(rt->cloud) &&
           (rt->opt->mode == MODE_OBSERVE || gate_open(rt->gate)) && !cloud_failing(rt->cloud) &&
           !runtime_clock_skewed(rt) && !marker_rests(rt->marker, MARKER_REPLACE) && !r->open;
}

static void look(void *arg)
{
    struct replacer *r = arg;
    struct runtime *rt = r->rt;
    if (!may_decide(r) || !any_wanted(r)) {
        return; /* the period comes again */
    }
    if (store_frozen(rt->store) || commands_opening(rt->commands)) {
        look_soon(r);
        return;
    }
    open_decision(r, NULL);
    struct choice c = choose(r);
    if (!c.node) {
        close_decision(r);
        return;
    }
    if (!c.moves) {
        start(r, c.node, NULL, 0, NULL, 0);
        close_decision(r);
        look_soon(r);
        return;
    }
    AUTO_FREE char *claim = xstrdup(c.node->claim->m.name);
    close_decision(r);
    open_decision(r, claim);
    place(r);
}

static void on_period(void *arg)
{
    struct replacer *r = arg;
    timer_set(&r->rt->timers, &r->period, now_of(r) + REPLACER_PERIOD_NS, on_period, r);
    look(r);
}

static void on_claim(void *arg, const char *key, const void *before, const void *now)
{
    struct replacer *r = arg;
    const struct nodeclaim *was = before, *is = now;
    (void)key;
    if (is && was && kvs_get(&is->m.annotations, ANN_REPLACE) &&
        !kvs_get(&was->m.annotations, ANN_REPLACE)) {
        look_soon(r);
    }
}

struct replacer *replacer_new(struct runtime *rt)
{
    struct replacer *r = NEW(struct replacer);
    r->rt = rt;
    store_subscribe(rt->store, STORE_CLAIM, on_claim, r);
    return r;
}

void replacer_free(struct replacer *r)
{
    if (!r) {
        return;
    }
    timer_stop(&r->rt->timers, &r->period);
    timer_stop(&r->rt->timers, &r->soon);
    timer_stop(&r->rt->timers, &r->slice);
    close_decision(r);
    free(r);
}

void replacer_start(struct replacer *r)
{
    timer_set(&r->rt->timers, &r->period, now_of(r), on_period, r);
}
