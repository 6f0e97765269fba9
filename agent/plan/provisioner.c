/* provisioner.c - see provisioner.h. */
#include "provisioner.h"

#include "agent/cloud/cloud.h"
#include "agent/observe/observer.h"
#include "agent/store/intents.h"
#include "agent/store/store.h"
#include "agent/work/gate.h"
#include "agent/work/marker.h"
#include "agent/work/metrics.h"
#include "batch.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/core/sched/sched.h"
#include "creator.h"
#include "order.h"
#include "picture.h"
#include "provision_report.h"

enum stage { STAGE_IDLE, STAGE_DECIDING, STAGE_CREATING };

struct provisioner {
    struct runtime *rt;
    struct batch *batch;
    struct provision_report *report;
    enum stage stage;
    bool wanted;
    struct timer wait, slice, again;
    /* the open decision */
    struct arena mem;
    struct snapshot snap;
    struct snapshot_work *picture; /* NULL: the snapshot is there */
    struct sched *sched;           /* NULL: not begun */
    int64_t begun_ns;
    uint32_t made; /* claims of the result that orders were made of */
    size_t open;   /* orders that are not answered yet */
    /* After ends over all pods at once: one workload at a time. */
    bool each;
    char alone[64];      /* the workload; "" = none: before the first */
    char alone_pod[512]; /* one of it; "" = the decision is about all pods, or none */
    bool proven;         /* without pods it went well */
    /* UIDs of pods that the last decision did not get to, sorted */
    char **first;
    uint32_t n_first;
};

static void kick(void *arg);
static void creates_done(struct provisioner *p);

static int64_t now_of(const struct provisioner *p)
{
    return clock_mono(p->rt->clock);
}

/* ---- triggers ----------------------------------------------------------------------------------
 */

static void on_batch(void *ctx)
{
    struct provisioner *p = ctx;
    p->wanted = true;
    kick(p);
}

static void on_pod(void *arg, const char *key, const void *before, const void *now)
{
    struct provisioner *p = arg;
    const struct pod *was = before, *is = now;
    (void)key;
    if (!is || !pod_provisionable(is)) {
        return;
    }
    /* One that was passed over again counts anew as soon as its place has been taken by another. */
    if (!(was && pod_provisionable(was)) || !intents_planned(p->rt->intents, is)) {
        batch_trigger(p->batch, is->m.uid);
    }
}

static void trigger_all(struct provisioner *p)
{
    for (MAP_EACH(store_provisionable(p->rt->store), e)) {
        const struct pod *pod = map_value(e);
        if (!intents_planned(p->rt->intents, pod)) {
            batch_trigger(p->batch, pod->m.uid);
        }
    }
}

static void trigger_leaving(struct provisioner *p)
{
    for (MAP_EACH(store_all(p->rt->store, STORE_NODE), e)) {
        const struct node *n = map_value(e);
        const struct node_usage *u = store_usage(p->rt->store, n->m.name);
        if (u && u->reschedulable && store_leaving(p->rt->store, n)) {
            batch_trigger(p->batch, n->m.uid);
        }
    }
}

static void on_again(void *arg)
{
    struct provisioner *p = arg;
    trigger_all(p);
    trigger_leaving(p);
    timer_set(&p->rt->timers, &p->again, now_of(p) + PROVISION_RETRIGGER_NS, on_again, p);
}

/* Its pods are planned elsewhere at once, not at the next re-trigger. */
static void on_node(void *arg, const char *key, const void *before, const void *now)
{
    struct provisioner *p = arg;
    const struct node *was = before, *is = now;
    (void)key;
    if (is && is->m.deleted_ns && !(was && was->m.deleted_ns)) {
        batch_trigger(p->batch, is->m.uid);
    }
}

/* A pod may have waited for it. */
static void on_volume(void *arg, const char *key, const void *before, const void *now)
{
    struct provisioner *p = arg;
    const struct pvc *is = now;
    (void)key;
    (void)before;
    if (is && map_count(store_provisionable(p->rt->store)) > 0) {
        batch_trigger(p->batch, is->m.uid);
    }
}

static bool pool_ready(const struct nodepool *np)
{
    return np && condition_true(&np->conditions, "Ready");
}

static void on_pool(void *arg, const char *key, const void *before, const void *now)
{
    (void)key;
    if (pool_ready(now) && !pool_ready(before)) {
        trigger_all(arg);
    }
}

/* ---- marks -------------------------------------------------------------------------------------
 */

static bool mark(struct provisioner *p)
{
    return marker_decide(p->rt->marker, p->each ? MARKER_PROVISION_NONE : MARKER_PROVISION,
                         *p->alone_pod ? p->alone_pod : NULL);
}

/* What the next decision is about: all pods, or, where the process has ended over those, first
 * none, then one workload after the other. False: that was the last. */
static bool choose(struct provisioner *p, struct picture_in *in)
{
    p->each = marker_rests(p->rt->marker, MARKER_PROVISION);
    p->alone_pod[0] = '\0';
    in->only = p->each ? p->alone : NULL;
    if (!p->each || !p->proven) {
        return true;
    }
    const struct pod *pod = picture_next(p->rt, &p->mem, p->alone);
    str_copy(p->alone, sizeof(p->alone), pod ? picture_workload(pod) : "");
    snprintf(p->alone_pod, sizeof(p->alone_pod), "%.250s/%.250s", pod ? pod->m.ns : "",
             pod ? pod->m.name : "");
    return pod != NULL;
}

/* ---- deciding ----------------------------------------------------------------------------------
 */

static bool may_begin(const struct provisioner *p)
{
    const struct runtime *rt = p->rt;
    return store_synced(rt->store) && cloud_ready(rt->cloud) && !store_frozen(rt->store) &&
           (rt->opt->mode == MODE_OBSERVE || gate_open(rt->gate));
}

static void forget_first(struct provisioner *p)
{
    for (uint32_t i = 0; i < p->n_first; i++) {
        free(p->first[i]);
    }
    free(p->first);
    p->first = NULL;
    p->n_first = 0;
}

/* Pods that the decision did not get to come first in the next one. */
static void remember_first(struct provisioner *p, const struct sched_result *r)
{
    forget_first(p);
    if (r->n_undecided == 0) {
        return;
    }
    p->first = NEW_N(char *, r->n_undecided);
    for (uint32_t i = 0; i < r->n_undecided; i++) {
        p->first[p->n_first++] = xstrdup(r->undecided[i]->m.uid);
    }
    qsort(p->first, p->n_first, sizeof(*p->first), str_qsort_cmp);
}

static const char *target_name(const struct snapshot_node *n)
{
    return n->claim ? n->claim->m.name : n->name;
}

static void end_decision(struct provisioner *p)
{
    p->wanted = p->wanted || (p->each && (*p->alone || !p->proven)); /* the next workload */
    p->proven = p->proven || p->each;
    p->picture = NULL;
    p->sched = NULL;
    arena_done(&p->mem);
    store_thaw(p->rt->store);
    p->stage = STAGE_CREATING;
    creates_done(p);
}

/* False: the process is over, or the pod was set aside meanwhile. */
static bool begin_turn(struct provisioner *p)
{
    bool ok = mark(p);
    if (!ok && !p->rt->ended) {
        end_decision(p);
    }
    return ok;
}

static void apply_existing(struct provisioner *p, const struct sched_result *r)
{
    if (p->rt->opt->mode == MODE_OBSERVE) {
        return;
    }
    int64_t until_ns = now_of(p) + intents_window_ns(p->rt);
    for (uint32_t i = 0; i < r->n_existing; i++) {
        const struct snapshot_node *n = r->existing[i].node;
        const struct pod *pod = r->existing[i].pod;
        const char *key = arena_printf(&p->mem, "%s/%s", pod->m.ns, pod->m.name);
        intents_put(p->rt->intents, target_name(n), key, pod->m.uid);
        store_nominate(p->rt->store, n->name, until_ns);
        provision_report_nominated(p->report, pod, n);
    }
}

static void on_created(void *arg, const struct order *o, const char *claim, const char *why)
{
    struct provisioner *p = arg;
    (void)why;
    for (uint32_t i = 0; claim && i < o->n_pods; i++) {
        provision_report_ordered(p->report, &o->pods[i], claim);
    }
    if (claim) {
        provision_report_created(p->report, o, claim);
    }
    p->open--;
    creates_done(p);
}

static void send(struct provisioner *p, struct order *o)
{
    if (p->rt->opt->mode == MODE_OBSERVE) {
        observer_launches(p->rt->observer, o);
        order_free(o);
        return;
    }
    p->open++;
    creator_send(p->rt->creator, o, "provisioned", on_created, p);
}

static void orders_slice(void *arg);

/* In slices, like the decision: an order may name hundreds of types. */
static void make_orders(struct provisioner *p)
{
    const struct sched_result *r = sched_result(p->sched);
    int64_t start_ns = now_of(p);
    while (p->made < r->n_claims && now_of(p) - start_ns < PROVISION_SLICE_NS) {
        struct err err = ERR_INIT;
        struct order *o = order_new(p->rt, &r->claims[p->made++], &err);
        if (o) {
            send(p, o);
        } else {
            log_error(p->rt->log, "cannot make a NodeClaim", "error", err.msg);
        }
    }
    if (p->made < r->n_claims) {
        timer_set(&p->rt->timers, &p->slice, now_of(p), orders_slice, p);
    } else {
        end_decision(p);
    }
}

static void orders_slice(void *arg)
{
    struct provisioner *p = arg;
    if (begin_turn(p)) {
        make_orders(p);
        marker_done(p->rt->marker);
    }
}

static void finish(struct provisioner *p)
{
    const struct sched_result *r = sched_result(p->sched);
    provision_report_result(p->report, &p->snap, r, now_of(p) - p->begun_ns);
    apply_existing(p, r);
    p->wanted = p->wanted || r->n_undecided > 0;
    remember_first(p, r);
    p->made = 0;
    make_orders(p);
}

/* The snapshot is there; false if it leaves nothing to decide. */
static bool begin_pass(struct provisioner *p)
{
    p->picture = NULL;
    if (p->snap.n_pods == 0 && !p->each) {
        return false;
    }
    struct sched_options o;
    picture_options(p->rt, &p->mem, &o);
    o.max_types = PROVISION_TYPES_MAX;
    o.record_reasons = true;
    p->sched = sched_begin(&p->mem, &p->snap, &o);
    return true;
}

/* First the snapshot, then the pass. */
static void slice(void *arg)
{
    struct provisioner *p = arg;
    int64_t start_ns = now_of(p);
    bool done = false;
    if (!begin_turn(p)) {
        return;
    }
    do {
        if (p->picture == NULL) {
            done = sched_step(p->sched, PROVISION_SLICE_UNITS);
        } else if (snapshot_step(p->picture) && !begin_pass(p)) {
            marker_done(p->rt->marker);
            provision_report_nothing(p->report);
            end_decision(p);
            return;
        }
    } while (!done && now_of(p) - start_ns < PROVISION_SLICE_NS);
    if (done) {
        finish(p);
    } else {
        timer_set(&p->rt->timers, &p->slice, now_of(p), slice, p);
    }
    marker_done(p->rt->marker);
}

static void begin(struct provisioner *p)
{
    struct picture_in in = {.launches_left = creator_launches_left(p->rt->creator),
                            .first = (const char *const *)p->first,
                            .n_first = p->n_first};
    p->wanted = false;
    p->begun_ns = now_of(p);
    arena_init(&p->mem, 64 << 10, PROVISION_ARENA_MAX);
    store_freeze(p->rt->store);
    p->stage = STAGE_DECIDING;
    if (!choose(p, &in)) {
        end_decision(p);
        return;
    }
    if (!begin_turn(p)) {
        return;
    }
    p->picture = picture_begin(p->rt, &p->mem, &in, &p->snap);
    marker_done(p->rt->marker);
    /* The nodes have taken this turn's time. */
    timer_set(&p->rt->timers, &p->slice, now_of(p), slice, p);
}

static void kick(void *arg)
{
    struct provisioner *p = arg;
    if (!p->wanted || p->stage != STAGE_IDLE) {
        return;
    }
    if (may_begin(p)) {
        begin(p);
    } else {
        timer_set(&p->rt->timers, &p->wait, now_of(p) + PROVISION_WAIT_NS, kick, p);
    }
}

/* All that was ordered is answered: on to what was triggered meanwhile. */
static void creates_done(struct provisioner *p)
{
    if (p->open == 0 && p->stage == STAGE_CREATING) {
        p->stage = STAGE_IDLE;
        timer_set(&p->rt->timers, &p->wait, now_of(p), kick, p);
    }
}

/* ---- life --------------------------------------------------------------------------------------
 */

struct provisioner *provisioner_new(struct runtime *rt)
{
    struct provisioner *p = NEW(struct provisioner);
    p->rt = rt;
    /* An observer decides ahead of whoever it observes. */
    int ahead = rt->opt->mode == MODE_OBSERVE ? 2 : 1;
    p->batch =
        batch_new(rt, rt->opt->batch_idle_ns / ahead, rt->opt->batch_max_ns / ahead, on_batch, p);
    p->report = provision_report_new(rt);
    store_subscribe(rt->store, STORE_POD, on_pod, p);
    store_subscribe(rt->store, STORE_NODE, on_node, p);
    store_subscribe(rt->store, STORE_POOL, on_pool, p);
    store_subscribe(rt->store, STORE_PVC, on_volume, p);
    return p;
}

void provisioner_free(struct provisioner *p)
{
    if (!p) {
        return;
    }
    timer_stop(&p->rt->timers, &p->wait);
    timer_stop(&p->rt->timers, &p->slice);
    timer_stop(&p->rt->timers, &p->again);
    if (p->stage == STAGE_DECIDING) {
        arena_done(&p->mem);
        store_thaw(p->rt->store);
    }
    forget_first(p);
    provision_report_free(p->report);
    batch_free(p->batch);
    free(p);
}

void provisioner_start(struct provisioner *p)
{
    on_again(p);
}
