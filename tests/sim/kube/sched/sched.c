/* sched.c - queue, cache and cycle of the simulated kube-scheduler; see sched.h */
#include "tests/sim/kube/sched.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/hash.h"
#include "common/base/jsonx.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "sched_fit.h"
#include "tests/sim/kube/world.h"

#define WHO "kube-scheduler"
#define MESSAGE_MAX 4096
#define CLASSES_MAX 100000u

/* A class that fits nowhere until something changes: epoch tells since when. */
struct refusal {
    uint64_t epoch;
    char *message;
};

struct sim_sched {
    struct sim_world *w;
    uint64_t chance_state;
    struct entropy chance;
    struct map *nodes; /* name -> sim_sched_node */
    struct map *pods;  /* uid -> sim_sched_pod: pending or placed */
    struct sim_sched_pod **active;
    size_t n_active, cap_active;
    struct sim_sched_pod **waiting;
    size_t n_waiting, cap_waiting;
    struct map *refusals; /* class hash in hex -> refusal */
    uint64_t epoch;       /* moves when something happened that could make a pod fit */
    uint64_t seq;
    bool stopped;
    struct timer cycle, wake;
};

static void on_cycle(void *arg);
static void on_wake(void *arg);

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

static void cut(struct sim_sched_pod **list, size_t *n, const struct sim_sched_pod *p)
{
    for (size_t i = 0; i < *n; i++) {
        if (list[i] == p) {
            memmove(list + i, list + i + 1, (*n - i - 1) * sizeof(*list));
            (*n)--;
            return;
        }
    }
}

static void dequeue(struct sim_sched *s, struct sim_sched_pod *p)
{
    if (p->pending && p->active) {
        cut(s->active, &s->n_active, p);
    } else if (p->pending) {
        cut(s->waiting, &s->n_waiting, p);
    }
    p->pending = p->active = false;
}

static void kick_cycle(struct sim_sched *s)
{
    if (!s->stopped && s->n_active > 0 && !timer_pending(&s->cycle)) {
        vclock_set(&s->w->clock, &s->cycle, SIM_SCHED_CYCLE_NS, on_cycle, s);
    }
}

static void enqueue(struct sim_sched *s, struct sim_sched_pod *p)
{
    p->pending = true;
    p->seq = ++s->seq;
    active_add(s, p);
    kick_cycle(s);
}

/* Something happened that could help those that wait. */
static void epoch_moved(struct sim_sched *s)
{
    s->epoch++;
    if (!s->stopped && s->n_waiting > 0) {
        vclock_set(&s->w->clock, &s->wake, SIM_SCHED_CYCLE_NS, on_wake, s);
    }
}

/* Back to the queue with those whose back-off is over; a timer for the first of the others. */
static void on_wake(void *arg)
{
    struct sim_sched *s = arg;
    int64_t now = vclock_now(&s->w->clock), next = NS_NEVER;
    size_t kept = 0;
    for (size_t i = 0; i < s->n_waiting; i++) {
        struct sim_sched_pod *p = s->waiting[i];
        bool news = p->tried_epoch != s->epoch;
        if (news && p->next_try_ns <= now) {
            active_add(s, p);
            continue;
        }
        next = news && p->next_try_ns < next ? p->next_try_ns : next;
        s->waiting[kept++] = p;
    }
    s->n_waiting = kept;
    if (next != NS_NEVER) {
        timer_set(&s->w->clock.timers, &s->wake, next, on_wake, s);
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

/* ---- cache: nodes -------------------------------------------------------------------------------
 */

static struct sim_sched_node *node_named(struct sim_sched *s, const char *name)
{
    struct sim_sched_node *n = map_get(s->nodes, name);
    if (!n) {
        n = NEW(struct sim_sched_node);
        n->name = xstrdup(name);
        map_put(s->nodes, name, n, NULL);
    }
    return n;
}

static void node_drop_if_idle(struct sim_sched *s, struct sim_sched_node *n)
{
    if (!n->obj && n->n_pods == 0) {
        map_del(s->nodes, n->name);
        free(n->name);
        free(n);
    }
}

static bool has_effect(const json_t *taints)
{
    size_t i;
    json_t *t;
    json_array_foreach ((json_t *)taints, i, t) {
        if (!str_eq(jsonx_str(t, "effect"), "PreferNoSchedule")) {
            return true;
        }
    }
    return false;
}

/* What of a node a scheduling decision can depend on. */
static bool node_matters(const json_t *a, const json_t *b)
{
    return !a || !json_equal(json_object_get(a, "spec"), json_object_get(b, "spec")) ||
           !json_equal(jsonx_at(a, "metadata.labels"), jsonx_at(b, "metadata.labels")) ||
           !json_equal(jsonx_at(a, "status.allocatable"), jsonx_at(b, "status.allocatable"));
}

static void on_node(struct sim_sched *s, const struct sim_change *c)
{
    struct sim_sched_node *n = node_named(s, jsonx_str_or(c->after, "metadata.name", ""));
    json_decref(n->obj);
    n->obj = NULL;
    if (c->type == KUBE_DELETED) {
        node_drop_if_idle(s, n);
        epoch_moved(s);
        return;
    }
    n->obj = json_incref(c->after);
    n->unschedulable = jsonx_bool(n->obj, "spec.unschedulable", false);
    n->tainted = has_effect(jsonx_at(n->obj, "spec.taints"));
    sim_res_read(jsonx_at(n->obj, "status.allocatable"), &n->allocatable);
    if (node_matters(c->before, c->after)) {
        epoch_moved(s);
    }
}

/* ---- cache: pods
 * ---------------------------------------------------------------------------------- */

static uint64_t class_of(const json_t *pod)
{
    AUTO_FREE char *spec = jsonx_dump(json_object_get(pod, "spec"));
    const json_t *labels = jsonx_at(pod, "metadata.labels");
    AUTO_FREE char *text = labels ? jsonx_dump(labels) : xstrdup("");
    AUTO_FREE char *all =
        xasprintf("%s\n%s\n%s", jsonx_str_or(pod, "metadata.namespace", ""), text, spec);
    return hash_fnv1a(all, strlen(all));
}

static void pod_read(struct sim_sched_pod *p, json_t *pod)
{
    const json_t *spec = json_object_get(pod, "spec");
    json_decref(p->obj);
    p->obj = json_incref(pod);
    sim_res_pod(spec, &p->req);
    sim_res_pod_nonzero(spec, &p->nonzero_cpu_milli, &p->nonzero_mem_bytes);
    p->picky = json_object_get(spec, "nodeSelector") || jsonx_at(spec, "affinity.nodeAffinity");
    p->priority = jsonx_int(spec, "priority", 0);
}

static void take_place(struct sim_sched_pod *p, struct sim_sched_node *n, int sign)
{
    sim_res_add(&n->used, &p->req, sign);
    n->used_nonzero_cpu_milli += sign * p->nonzero_cpu_milli;
    n->used_nonzero_mem_bytes += sign * p->nonzero_mem_bytes;
    n->n_pods += (size_t)sign;
    p->node = sign > 0 ? n : NULL;
}

static void pod_free(struct sim_sched_pod *p)
{
    json_decref(p->obj);
    free(p->uid);
    free(p->ns);
    free(p->name);
    free(p);
}

static void pod_forget(struct sim_sched *s, struct sim_sched_pod *p)
{
    struct sim_sched_node *n = p->node;
    dequeue(s, p);
    if (n) {
        take_place(p, n, -1);
        node_drop_if_idle(s, n);
        epoch_moved(s);
    }
    map_del(s->pods, p->uid);
    pod_free(p);
}

static bool is_ours_to_place(const json_t *pod)
{
    return sim_pod_node(pod)[0] == '\0' && !sim_pod_terminating(pod) &&
           str_eq(jsonx_str(pod, "spec.schedulerName"), "default-scheduler") &&
           json_array_size(jsonx_at(pod, "spec.schedulingGates")) == 0;
}

static struct sim_sched_pod *pod_new(struct sim_sched *s, json_t *pod)
{
    struct sim_sched_pod *p = NEW(struct sim_sched_pod);
    p->uid = xstrdup(jsonx_str_or(pod, "metadata.uid", ""));
    p->ns = xstrdup(jsonx_str_or(pod, "metadata.namespace", ""));
    p->name = xstrdup(jsonx_str_or(pod, "metadata.name", ""));
    map_put(s->pods, p->uid, p, NULL);
    return p;
}

/* The pod is bound to a node now: by us (then it stands there already) or by somebody else. */
static void pod_bound(struct sim_sched *s, struct sim_sched_pod *p, json_t *pod)
{
    struct sim_sched_node *n = node_named(s, sim_pod_node(pod));
    dequeue(s, p);
    if (p->node && p->node != n) {
        take_place(p, p->node, -1);
    }
    if (!p->node) {
        pod_read(p, pod);
        take_place(p, n, 1);
    }
}

static void pod_queued(struct sim_sched *s, struct sim_sched_pod *p, json_t *pod)
{
    bool changed =
        !p->obj || !json_equal(json_object_get(p->obj, "spec"), json_object_get(pod, "spec"));
    if (changed) {
        pod_read(p, pod);
        p->class_hash = class_of(pod);
    } else {
        json_decref(p->obj);
        p->obj = json_incref(pod);
    }
    if (!p->pending) {
        enqueue(s, p);
    } else if (changed && !p->active) {
        dequeue(s, p);
        enqueue(s, p);
    }
}

static void on_pod(struct sim_sched *s, const struct sim_change *c)
{
    struct sim_sched_pod *p = map_get(s->pods, jsonx_str_or(c->after, "metadata.uid", ""));
    bool bound = sim_pod_node(c->after)[0] != '\0';
    bool gone = c->type == KUBE_DELETED || sim_pod_over(c->after);
    if (gone || (!bound && !is_ours_to_place(c->after))) {
        if (p) {
            pod_forget(s, p);
        }
        return;
    }
    if (!p) {
        p = pod_new(s, c->after);
    }
    if (bound) {
        pod_bound(s, p, c->after);
    } else {
        pod_queued(s, p, c->after);
    }
}

static void on_change(void *ctx, const struct sim_change *c)
{
    if (c->kind == SIM_POD) {
        on_pod(ctx, c);
    } else if (c->kind == SIM_NODE) {
        on_node(ctx, c);
    }
}

/* ---- one cycle
 * -------------------------------------------------------------------------------------- */

struct tally {
    char text[SIM_WHYNOT_TEXT + 24]; /* "3 Insufficient cpu" when done */
    char reason[SIM_WHYNOT_TEXT];
    size_t count;
};

struct trial {
    struct sim_sched_node **feasible;
    size_t n, nodes;
    struct tally *tallies;
    size_t n_tallies, cap_tallies;
};

static void trial_note(struct trial *t, const struct sim_whynot *why)
{
    for (size_t r = 0; r < why->n; r++) {
        size_t i = 0;
        while (i < t->n_tallies && !str_eq(t->tallies[i].reason, why->reasons[r])) {
            i++;
        }
        if (i == t->n_tallies) {
            ARRAY_GROW(t->tallies, t->n_tallies, t->cap_tallies);
            t->tallies[i] = (struct tally){.count = 0};
            str_copy(t->tallies[i].reason, SIM_WHYNOT_TEXT, why->reasons[r]);
            t->n_tallies++;
        }
        t->tallies[i].count++;
    }
}

static void try_nodes(struct sim_sched *s, const struct sim_sched_pod *p, struct trial *t)
{
    struct sim_whynot why;
    t->feasible = NEW_N(struct sim_sched_node *, map_count(s->nodes) + 1);
    for (MAP_EACH(s->nodes, e)) {
        struct sim_sched_node *n = map_value(e);
        if (!n->obj) {
            continue;
        }
        t->nodes++;
        if (sim_fit(p, n, &why)) {
            t->feasible[t->n++] = n;
        } else {
            trial_note(t, &why);
        }
    }
}

static int tally_cmp(const void *a, const void *b)
{
    return strcmp(((const struct tally *)a)->text, ((const struct tally *)b)->text);
}

/* "0/3 nodes are available: 1 …, 2 …. preemption: …", as kube-scheduler's FitError. */
static char *trial_message(struct trial *t)
{
    AUTO_BUF struct buf b = {0};
    if (t->nodes == 0) {
        return xstrdup("no nodes available to schedule pods");
    }
    for (size_t i = 0; i < t->n_tallies; i++) {
        snprintf(t->tallies[i].text, sizeof(t->tallies[i].text), "%zu %s", t->tallies[i].count,
                 t->tallies[i].reason);
    }
    qsort(t->tallies, t->n_tallies, sizeof(*t->tallies), tally_cmp);
    buf_init(&b, MESSAGE_MAX);
    buf_printf(&b, "0/%zu nodes are available: ", t->nodes);
    for (size_t i = 0; i < t->n_tallies; i++) {
        buf_printf(&b, "%s%s", i ? ", " : "", t->tallies[i].text);
    }
    buf_printf(&b,
               ". preemption: 0/%zu nodes are available: %zu Preemption is not helpful for "
               "scheduling.",
               t->nodes, t->nodes);
    return buf_take(&b);
}

static void trial_done(struct trial *t)
{
    free(t->feasible);
    free(t->tallies);
}

/* The best of the feasible nodes; chance among equals. */
static struct sim_sched_node *choose(struct sim_sched *s, const struct sim_sched_pod *p,
                                     const struct trial *t)
{
    AUTO_FREE int64_t *score = NEW_N(int64_t, t->n);
    sim_score(p, t->feasible, t->n, score);
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

static void refusal_free(struct refusal *r)
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
    struct refusal *r = NEW(struct refusal);
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
    p->tried_epoch = s->epoch;
    p->next_try_ns = vclock_now(&s->w->clock) + backoff(p->attempts);
    ARRAY_GROW(s->waiting, s->n_waiting, s->cap_waiting);
    s->waiting[s->n_waiting++] = p;
    const json_t *old = sim_cond(p->obj, "PodScheduled");
    if (str_eq(jsonx_str(old, "message"), message) && str_eq(jsonx_str(old, "status"), "False")) {
        return;
    }
    json_t *conditions = sim_cond_set(jsonx_at(p->obj, "status.conditions"), "PodScheduled",
                                      "False", "Unschedulable", message, vclock_wall(&s->w->clock));
    sim_api_patch(s->w->api, WHO, SIM_POD, "status", p->ns, p->name,
                  json_pack("{s:{s:o}}", "status", "conditions", conditions), NULL, NULL);
}

static void assume_and_bind(struct sim_sched *s, struct sim_sched_pod *p, struct sim_sched_node *n)
{
    struct err e;
    take_place(p, n, 1);
    if (sim_api_bind(s->w->api, WHO, p->ns, p->name, n->name, &e)) {
        /* It is being deleted or was bound by somebody else: the change will tell. */
        take_place(p, n, -1);
    }
}

static void schedule_one(struct sim_sched *s, struct sim_sched_pod *p)
{
    char class[20];
    snprintf(class, sizeof(class), "%016llx", (unsigned long long)p->class_hash);
    const struct refusal *known = map_get(s->refusals, class);
    p->pending = p->active = false;
    if (known && known->epoch == s->epoch) {
        put_off(s, p, known->message);
        return;
    }
    struct trial t = {0};
    try_nodes(s, p, &t);
    if (t.n > 0) {
        assume_and_bind(s, p, choose(s, p, &t));
    } else {
        AUTO_FREE char *message = trial_message(&t);
        remember(s, class, message);
        put_off(s, p, message);
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
    cut(s->active, &s->n_active, p);
    schedule_one(s, p);
    kick_cycle(s);
}

/* ---- life
 * ------------------------------------------------------------------------------------------- */

struct sim_sched *sim_sched_new(struct sim_world *w)
{
    struct sim_sched *s = NEW(struct sim_sched);
    s->w = w;
    s->chance_state = vclock_fork(&w->clock, "sched");
    s->chance = entropy_seeded(&s->chance_state);
    s->nodes = map_new(SIM_API_OBJECTS_MAX * 2);
    s->pods = map_new(SIM_API_OBJECTS_MAX * 2);
    s->refusals = map_new(CLASSES_MAX);
    sim_api_subscribe(w->api, on_change, s);
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
    for (MAP_EACH(s->pods, p)) {
        pod_free(map_value(p));
    }
    for (MAP_EACH(s->nodes, e)) {
        struct sim_sched_node *n = map_value(e);
        json_decref(n->obj);
        free(n->name);
        free(n);
    }
    for (MAP_EACH(s->refusals, r)) {
        refusal_free(map_value(r));
    }
    map_free(s->pods);
    map_free(s->nodes);
    map_free(s->refusals);
    free(s->active);
    free(s->waiting);
    free(s);
}

void sim_sched_stop(struct sim_sched *s)
{
    s->stopped = true;
    timer_stop(&s->w->clock.timers, &s->cycle);
    timer_stop(&s->w->clock.timers, &s->wake);
}

void sim_sched_start(struct sim_sched *s)
{
    s->stopped = false;
    kick_cycle(s);
    epoch_moved(s);
}

uint64_t sim_sched_pending(const struct sim_sched *s)
{
    return s->n_active + s->n_waiting;
}
