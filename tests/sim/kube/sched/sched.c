/* sched.c - queue, cache and cycle of the simulated kube-scheduler; see sched.h */
#include "tests/sim/kube/sched.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/jsonx.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "sched_fit.h"
#include "sched_part.h"
#include "sched_preempt.h"
#include "sched_why.h"
#include "tests/sim/kube/world.h"

#define WHO "kube-scheduler"
#define MESSAGE_MAX 4096
/* What the plug-ins say that are asked after the filters: DynamicResources, then preemption. */
#define POST_FILTERS " no new claims to deallocate, preemption: "
#define CLASSES_MAX 100000u

static void on_cycle(void *arg);
static void on_wake(void *arg);
static void on_bind(void *arg);
static void on_backoff_over(void *arg);

/* ---- queue ------------------------------------------------------------------------------------
 */

static bool goes_before(const struct sim_sched_pod *a, const struct sim_sched_pod *b)
{
    return a->priority != b->priority ? a->priority > b->priority : a->seq < b->seq;
}

static void active_add(struct sim_sched *s, struct sim_sched_pod *p)
{
    size_t low = 0, high = s->n_active;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (goes_before(s->active[mid], p)) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    ARRAY_GROW(s->active, s->n_active, s->cap_active);
    memmove(s->active + low + 1, s->active + low, (s->n_active - low) * sizeof(*s->active));
    s->active[low] = p;
    s->n_active++;
    p->active = true;
}

static void active_cut(struct sim_sched *s, const struct sim_sched_pod *p)
{
    for (size_t i = 0; i < s->n_active; i++) {
        if (s->active[i] == p) {
            memmove(s->active + i, s->active + i + 1, (s->n_active - i - 1) * sizeof(*s->active));
            s->n_active--;
            return;
        }
    }
}

/* Waits for news. */
static void asleep_add(struct sim_sched *s, struct sim_sched_pod *p)
{
    ARRAY_GROW(s->asleep, s->n_asleep, s->cap_asleep);
    s->asleep[s->n_asleep++] = p;
    p->asleep = s->n_asleep;
}

static void asleep_cut(struct sim_sched *s, struct sim_sched_pod *p)
{
    struct sim_sched_pod *last = s->asleep[--s->n_asleep];
    s->asleep[p->asleep - 1] = last;
    last->asleep = p->asleep;
    p->asleep = 0;
}

static size_t n_waiting(const struct sim_sched *s)
{
    return s->n_asleep + s->backoffs.n;
}

void sim_sched_dequeue(struct sim_sched *s, struct sim_sched_pod *p)
{
    if (p->pending && p->active) {
        active_cut(s, p);
    } else if (p->pending && p->asleep) {
        asleep_cut(s, p);
    }
    timer_stop(&s->backoffs, &p->backoff);
    p->pending = p->active = false;
}

static void kick_cycle(struct sim_sched *s)
{
    if (!s->stopped && s->n_active > 0 && !timer_pending(&s->cycle)) {
        vclock_set(&s->w->clock, &s->cycle, SIM_SCHED_CYCLE_NS, on_cycle, s);
    }
}

void sim_sched_enqueue(struct sim_sched *s, struct sim_sched_pod *p)
{
    p->pending = true;
    p->sched = s;
    p->seq = ++s->seq;
    active_add(s, p);
    kick_cycle(s);
}

/* Something happened that could help those that wait. */
void sim_sched_epoch_moved(struct sim_sched *s)
{
    s->epoch++;
    while (s->n_asleep > 0) {
        struct sim_sched_pod *p = s->asleep[--s->n_asleep];
        p->asleep = 0;
        timer_set(&s->backoffs, &p->backoff, p->next_try_ns, on_backoff_over, p);
    }
    if (!s->stopped && s->backoffs.n > 0) {
        vclock_set(&s->w->clock, &s->wake, SIM_SCHED_CYCLE_NS, on_wake, s);
    }
}

static void on_backoff_over(void *arg)
{
    struct sim_sched_pod *p = arg;
    active_add(p->sched, p);
}

/* Back to the queue with those whose back-off is over; a timer for the first of the others. */
static void on_wake(void *arg)
{
    struct sim_sched *s = arg;
    int64_t now = vclock_now(&s->w->clock);
    while (timers_run_one(&s->backoffs, now)) {
    }
    if (s->backoffs.n > 0) {
        timer_set(&s->w->clock.timers, &s->wake, timers_next_ns(&s->backoffs), on_wake, s);
    }
    kick_cycle(s);
}

static int64_t backoff(unsigned attempts)
{
    int64_t ns = SIM_SCHED_BACKOFF_MIN_NS;
    for (unsigned i = 1; i < attempts && ns < SIM_SCHED_BACKOFF_MAX_NS; i++) {
        ns *= 2;
    }
    return ns < SIM_SCHED_BACKOFF_MAX_NS ? ns : SIM_SCHED_BACKOFF_MAX_NS;
}

void sim_sched_kick_bind(struct sim_sched *s)
{
    if (s->n_binding > 0 && !s->stopped) {
        vclock_set(&s->w->clock, &s->bind, SIM_SCHED_CYCLE_NS, on_bind, s);
    }
}

/* ---- one cycle
 * -------------------------------------------------------------------------------------- */

struct trial {
    struct sim_sched_node **feasible, **hopeful; /* hopeful: if other pods went */
    size_t n, n_hopeful, nodes;
    struct sim_tallies reasons, preempting;
};

static void try_node(const struct sim_cycle *cy, struct sim_sched_node *n, struct trial *t)
{
    struct sim_whynot why;
    if (sim_fit_nominated(cy, n, &why)) {
        t->feasible[t->n++] = n;
        return;
    }
    sim_tally_whynot(&t->reasons, &why);
    if (!why.final) {
        t->hopeful[t->n_hopeful++] = n;
    }
}

static void try_nodes(struct sim_sched *s, const struct sim_cycle *cy, struct trial *t)
{
    const struct sim_sched_pod *p = cy->p;
    struct sim_sched_node *first = p->nominated ? map_get(s->cluster.nodes, p->nominated) : NULL;
    t->feasible = NEW_N(struct sim_sched_node *, map_count(s->cluster.nodes) + 1);
    t->hopeful = NEW_N(struct sim_sched_node *, map_count(s->cluster.nodes) + 1);
    struct sim_whynot why;
    if (first && first->obj && sim_fit_nominated(cy, first, &why)) {
        t->feasible[t->n++] = first;
        return;
    }
    struct sim_node_order *o = &s->order;
    sim_node_order_refresh(o, &s->cluster);
    size_t enough = sim_sample_size(o->n), begin = o->n > SIM_SAMPLE_ALL ? o->start % o->n : 0;
    for (; t->nodes < o->n && t->n < enough; t->nodes++) {
        try_node(cy, o->v[(begin + t->nodes) % o->n], t);
    }
}

/* As kube-scheduler's FitError; preemption: what came of it, NULL = the tallies of the trial. */
static char *trial_message(struct trial *t, const char *refused, const char *preemption)
{
    AUTO_BUF struct buf b = {0};
    if (t->nodes == 0) {
        return xstrdup("no nodes available to schedule pods");
    }
    buf_init(&b, MESSAGE_MAX);
    if (refused) {
        buf_printf(&b, "0/%zu nodes are available: %s.", t->nodes, refused);
    } else {
        sim_tallies_print(&t->reasons, t->nodes, &b);
    }
    if (preemption) {
        buf_printf(&b, "%s%s", preemption[0] ? POST_FILTERS : "", preemption);
    } else {
        buf_puts(&b, POST_FILTERS);
        sim_tallies_print(&t->preempting, t->nodes, &b);
    }
    return buf_take(&b);
}

static void trial_done(struct trial *t)
{
    free(t->feasible);
    free(t->hopeful);
    free(t->reasons.items);
    free(t->preempting.items);
}

/* The best of the feasible nodes; chance among equals. */
static struct sim_sched_node *choose(struct sim_sched *s, const struct sim_cycle *cy,
                                     const struct trial *t)
{
    if (t->n == 1) {
        return t->feasible[0];
    }
    AUTO_FREE int64_t *score = NEW_N(int64_t, t->n);
    sim_score(cy, t->feasible, t->n, score);
    size_t best = 0, equals = 1;
    for (size_t i = 1; i < t->n; i++) {
        if (score[i] > score[best]) {
            best = i;
            equals = 1;
        } else if (score[i] == score[best] && entropy_below(&s->chance, ++equals) == 0) {
            best = i;
        }
    }
    return t->feasible[best];
}

/* ---- preemption ---------------------------------------------------------------------------------
 */

static void evict_victim(struct sim_sched *s, const struct sim_sched_pod *p,
                         const struct sim_sched_pod *victim)
{
    char message[256];
    AUTO_FREE char *ns = xstrdup(victim->ns);
    AUTO_FREE char *name = xstrdup(victim->name);
    AUTO_FREE char *uid = xstrdup(victim->uid);
    snprintf(message, sizeof(message), "%s: preempting to accommodate a higher priority pod", WHO);
    json_t *conditions =
        sim_cond_set(jsonx_at(victim->obj, "status.conditions"), "DisruptionTarget", "True",
                     "PreemptionByScheduler", message, vclock_wall(&s->w->clock));
    sim_note(s->w, "pod %s makes room for %s", name, p->name);
    sim_api_patch(s->w->api, WHO, SIM_POD, "status", ns, name,
                  json_pack("{s:{s:o}}", "status", "conditions", conditions), NULL, NULL);
    sim_api_delete(s->w->api, WHO, SIM_POD, ns, name, uid, -1, NULL, NULL);
}

static void set_nominated(struct sim_sched *s, const struct sim_sched_pod *p, const char *node)
{
    AUTO_FREE char *ns = xstrdup(p->ns);
    AUTO_FREE char *name = xstrdup(p->name);
    if (str_eq(jsonx_str_or(p->obj, "status.nominatedNodeName", ""), node ? node : "")) {
        return;
    }
    sim_api_patch(s->w->api, WHO, SIM_POD, "status", ns, name,
                  json_pack("{s:{s:s?}}", "status", "nominatedNodeName", node), NULL, NULL);
}

/* Pods of lower priority that were promised the node look for another. */
static void clear_lower_nominees(struct sim_sched *s, const struct sim_sched_pod *p,
                                 const char *node)
{
    for (MAP_EACH(s->cluster.pods, e)) {
        struct sim_sched_pod *other = map_value(e);
        if (other != p && other->nominated && other->priority < p->priority &&
            str_eq(other->nominated, node)) {
            set_nominated(s, other, NULL);
        }
    }
}

static void execute(struct sim_sched *s, struct sim_sched_pod *p, const struct sim_preemption *r)
{
    AUTO_FREE char *node = xstrdup(r->node->name);
    AUTO_FREE char **uids = NEW_N(char *, r->n + 1);
    for (size_t i = 0; i < r->n; i++) {
        uids[i] = xstrdup(r->victims[i]->uid);
    }
    clear_lower_nominees(s, p, node);
    set_nominated(s, p, node);
    for (size_t i = 0; i < r->n; i++) {
        const struct sim_sched_pod *victim = map_get(s->cluster.pods, uids[i]);
        if (victim) {
            evict_victim(s, p, victim);
        }
        free(uids[i]);
    }
}

static void note_unhelpful(struct trial *t, const struct sim_preemption *r)
{
    size_t final = t->nodes - t->n_hopeful;
    if (r->no_victims > 0) {
        sim_tally_add(&t->preempting, "No preemption victims found for incoming pod",
                      r->no_victims);
    }
    if (final > 0) {
        sim_tally_add(&t->preempting, "Preemption is not helpful for scheduling", final);
    }
}

/* NULL: it did not help, t->preempting says why; else what there is to say about it. */
static const char *preempt(struct sim_sched *s, struct sim_sched_pod *p, struct trial *t)
{
    struct sim_preemption r = {0};
    if (str_eq(jsonx_str(p->obj, "spec.preemptionPolicy"), "Never")) {
        return "not eligible due to preemptionPolicy=Never.";
    }
    if (sim_preempt_waits(&s->cluster, p)) {
        return "not eligible due to a terminating pod on the nominated node.";
    }
    if (sim_cluster_has_lower(&s->cluster, p->priority)) {
        sim_preempt(&s->cluster, p, t->hopeful, t->n_hopeful, sim_tally_whynot, &t->preempting, &r);
    } else {
        r.no_victims = t->n_hopeful;
    }
    bool helps = r.node != NULL;
    if (helps) {
        execute(s, p, &r);
    } else {
        note_unhelpful(t, &r);
        set_nominated(s, p, NULL);
    }
    sim_preemption_done(&r);
    return helps ? "" : NULL;
}

/* ---- one pod ------------------------------------------------------------------------------------
 */

static void refusal_free(struct sim_refusal *r)
{
    if (r) {
        free(r->message);
        free(r);
    }
}

static void remember(struct sim_sched *s, const char *class, const char *message)
{
    if (map_count(s->refusals) >= CLASSES_MAX) {
        for (MAP_EACH(s->refusals, e)) {
            refusal_free(map_value(e));
        }
        map_clear(s->refusals);
    }
    struct sim_refusal *r = NEW(struct sim_refusal);
    r->epoch = s->epoch;
    r->message = xstrdup(message);
    refusal_free(map_put(s->refusals, class, r, NULL));
}

/* Back to the waiting, and said so in the pod's status. */
static void put_off(struct sim_sched *s, struct sim_sched_pod *p, const char *message)
{
    p->active = false;
    p->pending = true;
    p->attempts++;
    p->next_try_ns = vclock_now(&s->w->clock) + backoff(p->attempts);
    asleep_add(s, p);
    const json_t *old = sim_cond(p->obj, "PodScheduled");
    if (str_eq(jsonx_str(old, "message"), message) && str_eq(jsonx_str(old, "status"), "False")) {
        return;
    }
    json_t *conditions = sim_cond_set(jsonx_at(p->obj, "status.conditions"), "PodScheduled",
                                      "False", "Unschedulable", message, vclock_wall(&s->w->clock));
    AUTO_FREE char *ns = xstrdup(p->ns);
    AUTO_FREE char *name = xstrdup(p->name);
    sim_api_patch(s->w->api, WHO, SIM_POD, "status", ns, name,
                  json_pack("{s:{s:o}}", "status", "conditions", conditions), NULL, NULL);
}

static void bind_to_node(struct sim_sched *s, struct sim_sched_pod *p)
{
    struct err e;
    AUTO_FREE char *uid = xstrdup(p->uid);
    AUTO_FREE char *node = xstrdup(p->node->name);
    if (sim_api_bind(s->w->api, WHO, p->ns, p->name, node, &e) &&
        (p = map_get(s->cluster.pods, uid)) && p->node) {
        /* It is being deleted or was bound by somebody else: the change will tell. */
        sim_cluster_unplace(&s->cluster, p);
    }
}

static void assume_and_bind(struct sim_sched *s, struct sim_sched_pod *p, struct sim_sched_node *n)
{
    sim_cluster_place(&s->cluster, p, n);
    if (!p->claims) {
        bind_to_node(s, p);
        return;
    }
    p->binding = true;
    p->bind_until_ns = vclock_now(&s->w->clock) + SIM_SCHED_BIND_NS;
    s->n_binding++;
    sim_volumes_bind(&s->cluster, WHO, p, n);
    sim_sched_kick_bind(s);
}

/* Volumes that did not come: the pod gives its place back and starts anew. */
static void give_up_binding(struct sim_sched *s, struct sim_sched_pod *p)
{
    sim_cluster_unplace(&s->cluster, p);
    put_off(s, p,
            "running PreBind plugin \"VolumeBinding\": binding volumes: context deadline "
            "exceeded");
    sim_sched_epoch_moved(s);
}

static void on_bind(void *arg)
{
    struct sim_sched *s = arg;
    int64_t next = NS_NEVER, now = vclock_now(&s->w->clock);
    AUTO_FREE char **uids = NEW_N(char *, s->n_binding + 1);
    size_t n = 0;
    for (MAP_EACH(s->cluster.pods, e)) {
        struct sim_sched_pod *p = map_value(e);
        bool done = p->binding && (now >= p->bind_until_ns ||
                                   sim_volumes_binding(&s->cluster, p) != SIM_BINDING_WAITS);
        if (done) {
            uids[n++] = xstrdup(p->uid);
        } else if (p->binding) {
            next = p->bind_until_ns < next ? p->bind_until_ns : next;
        }
    }
    for (size_t i = 0; i < n; i++) {
        struct sim_sched_pod *p = map_get(s->cluster.pods, uids[i]);
        free(uids[i]);
        if (!p || !p->binding) {
            continue;
        }
        p->binding = false;
        s->n_binding--;
        if (sim_volumes_binding(&s->cluster, p) == SIM_BINDING_DONE) {
            bind_to_node(s, p);
        } else {
            give_up_binding(s, p);
        }
    }
    if (s->n_binding > 0 && next != NS_NEVER && !timer_pending(&s->bind)) {
        timer_set(&s->w->clock.timers, &s->bind, next, on_bind, s);
    }
}

/* What a class that was refused hears again as long as nothing moved; NULL if it must be tried.
 * With pods of lower priority around every pod makes room for itself. */
static const char *known_refusal(const struct sim_sched *s, const struct sim_sched_pod *p,
                                 const char *class)
{
    const struct sim_refusal *known = map_get(s->refusals, class);
    bool same = known && known->epoch == s->epoch && !p->nominated &&
                !sim_cluster_has_lower(&s->cluster, p->priority);
    return same ? known->message : NULL;
}

static size_t nodes_there(const struct sim_sched *s)
{
    return sim_api_count(s->w->api, SIM_NODE);
}

static void refuse(struct sim_sched *s, struct sim_sched_pod *p, struct trial *t,
                   const char *refused, const char *class)
{
    AUTO_FREE char *uid = xstrdup(p->uid);
    t->nodes = nodes_there(s);
    if (refused && t->nodes > 0) {
        sim_tally_add(&t->preempting, "Preemption is not helpful for scheduling", t->nodes);
    }
    const char *preempted = refused || t->nodes == 0 ? NULL : preempt(s, p, t);
    AUTO_FREE char *message = trial_message(t, refused, preempted);
    if ((p = map_get(s->cluster.pods, uid))) {
        if (!preempted) {
            remember(s, class, message);
        }
        put_off(s, p, message);
    }
}

static void schedule_one(struct sim_sched *s, struct sim_sched_pod *p)
{
    char class[20];
    snprintf(class, sizeof(class), "%016llx", (unsigned long long)p->class_hash);
    const char *known = known_refusal(s, p, class);
    p->pending = p->active = false;
    if (known) {
        put_off(s, p, known);
        return;
    }
    struct trial t = {0};
    struct sim_cycle cy;
    struct sim_sched_node *best = NULL;
    bool may = sim_cycle_begin(&cy, &s->cluster, p);
    if (may) {
        try_nodes(s, &cy, &t);
        best = t.n > 0 ? choose(s, &cy, &t) : NULL;
        s->order.start += t.nodes;
    }
    sim_cycle_end(&cy);
    if (best) {
        assume_and_bind(s, p, best);
    } else {
        refuse(s, p, &t, may ? NULL : cy.volumes.refused, class);
    }
    trial_done(&t);
}

static void on_cycle(void *arg)
{
    struct sim_sched *s = arg;
    if (s->n_active == 0) {
        return;
    }
    struct sim_sched_pod *p = s->active[0];
    active_cut(s, p);
    s->current = p;
    schedule_one(s, p);
    s->current = NULL;
    kick_cycle(s);
}

/* ---- asking -------------------------------------------------------------------------------------
 */

static struct sim_sched_pod *waiting_pod(const struct sim_sched *s, const char *ns,
                                         const char *name)
{
    for (MAP_EACH(s->cluster.pods, e)) {
        struct sim_sched_pod *p = map_value(e);
        if (p->pending && str_eq(p->ns, ns) && str_eq(p->name, name)) {
            return p;
        }
    }
    return NULL;
}

static json_t *best_nodes(const struct sim_cycle *cy, const struct trial *t)
{
    json_t *out = json_array();
    AUTO_FREE int64_t *score = NEW_N(int64_t, t->n + 1);
    int64_t best = INT64_MIN;
    sim_score(cy, t->feasible, t->n, score);
    for (size_t i = 0; i < t->n; i++) {
        best = score[i] > best ? score[i] : best;
    }
    for (size_t i = 0; i < t->n; i++) {
        if (score[i] == best) {
            json_array_append_new(out, json_string(t->feasible[i]->name));
        }
    }
    return out;
}

static json_t *room_json(const struct sim_preemption *r)
{
    json_t *victims = json_array();
    for (size_t i = 0; i < r->n; i++) {
        json_array_append_new(victims, json_string(r->victims[i]->name));
    }
    return json_pack("{s:s, s:o}", "node", r->node->name, "victims", victims);
}

/* The best preemptions, as equals; NULL if none helps: t->preempting says why. */
static json_t *best_room(struct sim_sched *s, struct sim_sched_pod *p, struct trial *t)
{
    struct sim_preemption best = {0}, all = {0};
    json_t *out = NULL;
    for (size_t i = 0; i < t->n_hopeful; i++) {
        struct sim_preemption r;
        sim_preempt(&s->cluster, p, &t->hopeful[i], 1, sim_tally_whynot, &t->preempting, &r);
        all.no_victims += r.no_victims;
        int by = r.node && out ? sim_preemption_order(&r, &best) : -1;
        if (r.node && by < 0) {
            json_decref(out);
            out = json_array();
            best = r;
        }
        if (r.node && by <= 0) {
            json_array_append_new(out, room_json(&r));
        }
        sim_preemption_done(&r);
    }
    if (!out) {
        note_unhelpful(t, &all);
    }
    return out;
}

json_t *sim_sched_would(struct sim_sched *s, const char *ns, const char *pod, json_t **ret_room,
                        char **ret_why)
{
    struct sim_sched_pod *p = waiting_pod(s, ns, pod);
    struct trial t = {0};
    struct sim_cycle cy;
    *ret_why = NULL;
    *ret_room = NULL;
    if (!p) {
        return NULL;
    }
    bool may = sim_cycle_begin(&cy, &s->cluster, p);
    if (may) {
        try_nodes(s, &cy, &t);
    }
    json_t *out = best_nodes(&cy, &t);
    sim_cycle_end(&cy);
    if (t.n == 0) {
        t.nodes = nodes_there(s);
        *ret_room = best_room(s, p, &t);
        *ret_why = *ret_room ? NULL : trial_message(&t, may ? NULL : cy.volumes.refused, NULL);
    }
    trial_done(&t);
    return out;
}

/* ---- life
 * ------------------------------------------------------------------------------------------- */

struct sim_sched *sim_sched_new(struct sim_world *w)
{
    struct sim_sched *s = NEW(struct sim_sched);
    s->w = w;
    s->chance_state = vclock_fork(&w->clock, "sched");
    s->chance = entropy_seeded(&s->chance_state);
    sim_cluster_init(&s->cluster, w->api);
    timers_init(&s->backoffs);
    s->refusals = map_new(CLASSES_MAX);
    sim_api_subscribe(w->api, sim_sched_on_change, s);
    return s;
}

void sim_sched_free(struct sim_sched *s)
{
    if (!s) {
        return;
    }
    sim_api_unsubscribe(s->w->api, s);
    timer_stop(&s->w->clock.timers, &s->cycle);
    timer_stop(&s->w->clock.timers, &s->wake);
    timer_stop(&s->w->clock.timers, &s->bind);
    for (MAP_EACH(s->refusals, r)) {
        refusal_free(map_value(r));
    }
    map_free(s->refusals);
    sim_node_order_done(&s->order);
    timers_done(&s->backoffs);
    sim_cluster_done(&s->cluster);
    free(s->active);
    free(s->asleep);
    free(s);
}

void sim_sched_default_spreads(struct sim_sched *s, json_t *list)
{
    json_decref(s->cluster.default_spreads);
    s->cluster.default_spreads = json_incref(list);
}

void sim_sched_stop(struct sim_sched *s)
{
    s->stopped = true;
    timer_stop(&s->w->clock.timers, &s->cycle);
    timer_stop(&s->w->clock.timers, &s->wake);
    timer_stop(&s->w->clock.timers, &s->bind);
}

void sim_sched_start(struct sim_sched *s)
{
    s->stopped = false;
    kick_cycle(s);
    sim_sched_kick_bind(s);
    sim_sched_epoch_moved(s);
}

bool sim_sched_stopped(const struct sim_sched *s)
{
    return s->stopped;
}

uint64_t sim_sched_pending(const struct sim_sched *s)
{
    return s->n_active + n_waiting(s);
}
