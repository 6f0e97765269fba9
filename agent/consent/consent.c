/* consent.c - the requests themselves: followed, ended, deleted; see consent.h. */
#include "consent_int.h"

#include "agent/claim/claim.h"
#include "agent/store/store.h"
#include "agent/work/cond.h"
#include "agent/work/gate.h"
#include "agent/work/work.h"
#include "common/base/alloc.h"
#include "common/base/sort.h"
#include "common/base/str.h"
#include "common/core/consent/approval.h"
#include "common/kube/events.h"
#include "fate.h"

static int64_t now_of(const struct consent *c)
{
    return clock_mono(c->rt->clock);
}

static void look(void *arg);

void consent_soon(struct consent *c)
{
    int64_t at_ns = now_of(c) + CONSENT_SOON_NS;
    if (!timer_pending(&c->timer) || c->timer.at_ns > at_ns) {
        timer_set(&c->rt->timers, &c->timer, at_ns, look, c);
    }
}

static void forget(struct consent *c, const char *name)
{
    struct note *n = map_del(c->notes, name);
    if (n) {
        free(n->uid);
        free(n);
    }
}

struct note *consent_note(struct consent *c, const struct dreq *r)
{
    struct note *n = map_get(c->notes, r->m.name);
    bool full = false;
    if (n && str_eq(n->uid, r->m.uid)) {
        return n;
    }
    forget(c, r->m.name);
    n = NEW(struct note);
    n->uid = xstrdup(r->m.uid);
    n->told = r->phase;
    n->filed = r->observed_generation != 0;
    map_put(c->notes, r->m.name, n, &full);
    if (full) {
        BUG("more DisruptionRequests than the store holds");
    }
    return n;
}

/* ---- status ------------------------------------------------------------------------------------
 */

static bool in_command(const struct consent *c, const struct dreq *r)
{
    for (uint32_t i = 0; i < r->n_candidates; i++) {
        if (fate_claim(c->rt, &r->candidates[i]) &&
            commands_has(c->rt->commands, r->candidates[i].claim)) {
            return true;
        }
    }
    return false;
}

/* Executing, and nobody carries it out though he had time to. */
static bool abandoned(const struct consent *c, const struct dreq *r, const struct note *n)
{
    int64_t since_ns = n->begun_ns > c->writes_ns ? n->begun_ns : c->writes_ns;
    return r->phase == DREQ_EXECUTING && !in_command(c, r) &&
           now_of(c) - since_ns > CONSENT_START_NS;
}

static bool may_begin(const struct consent *c, const struct note *n, const struct fate *f)
{
    return n->asked && now_of(c) - n->asked_ns < CONSENT_ASKED_NS && f->phase == DREQ_APPROVED &&
           f->answer.from_ns <= clock_wall(c->rt->clock);
}

static void set_conditions(struct cond_edit *e, const struct dreq *r, const struct note *n,
                           const struct fate *f)
{
    bool over = f->phase > DREQ_EXECUTING, yes = f->answer.what == DREQ_YES;
    const char *no = f->answer.what == DREQ_NO ? "Denied" : f->answer.reason;
    if (!over && f->phase != DREQ_EXECUTING) {
        cond_set(e, "Approved", yes ? STATUS_TRUE : STATUS_FALSE, yes ? f->answer.reason : no,
                 f->answer.grant      ? f->answer.grant
                 : f->answer.inherits ? f->answer.inherits
                                      : "");
    } else if (f->phase == DREQ_DENIED) {
        cond_set(e, "Approved", STATUS_FALSE, "Denied", r->note);
    }
    if (n->judged && !over) {
        cond_set(e, "Valid", n->valid ? STATUS_TRUE : STATUS_FALSE,
                 n->valid ? "PlanHolds" : "PlanChanged", n->valid ? "" : n->why);
    }
    cond_set(e, "Executing", f->phase == DREQ_EXECUTING ? STATUS_TRUE : STATUS_FALSE,
             f->phase == DREQ_EXECUTING ? "Begun"
             : over                     ? "Over"
             : r->started_ns            ? "Undone"
                                        : "Waiting",
             "");
    cond_set(e, "Complete", over ? STATUS_TRUE : STATUS_FALSE,
             over ? dreq_phase_name(f->phase) : "Open", over ? f->why : "");
}

static void put_or_null(json_t *o, const char *key, const char *text)
{
    json_object_set_new(o, key, text && *text ? json_string(text) : json_null());
}

static json_t *status_of(struct consent *c, const struct dreq *r, const struct fate *f,
                         const struct cond_edit *e)
{
    int64_t now_ns = clock_wall(c->rt->clock);
    json_t *s = json_pack("{s:s, s:o, s:I}", "phase", dreq_phase_name(f->phase), "conditions",
                          cond_json(e), "observedGeneration", (json_int_t)r->m.generation);
    if (r->decision != DREQ_UNDECIDED && !r->decided_ns) {
        json_object_set_new(s, "decidedAt", render_time(now_ns));
    }
    if (f->phase == DREQ_EXECUTING && r->phase != DREQ_EXECUTING) {
        json_object_set_new(s, "startedAt", render_time(now_ns));
    }
    if (f->phase > DREQ_EXECUTING) {
        json_object_set_new(s, "endedAt", render_time(now_ns));
    }
    if (f->superseded_by) {
        json_object_set_new(s, "supersededBy", json_string(f->superseded_by));
    }
    if (r->phase != DREQ_EXECUTING && f->phase <= DREQ_EXECUTING) {
        bool yes = f->answer.what == DREQ_YES;
        put_or_null(s, "grant", yes ? f->answer.grant : NULL);
        put_or_null(s, "approvedBy", yes ? f->answer.by : NULL);
    }
    return json_pack("{s:o}", "status", s);
}

static void tell(struct consent *c, const struct dreq *r, struct note *n)
{
    struct events_subject about = {KIND_DISRUPTION_REQUEST, NULL, r->m.name, r->m.uid};
    const struct condition *over = condition_find(&r->conditions, "Complete");
    const char *by = *r->grant ? r->grant : *r->approved_by ? r->approved_by : r->decided_by;
    if (!n->filed) {
        n->filed = true;
        events_normal(c->rt->events, &about, "Filed", "Waits for a decision: %u node(s) leave",
                      r->n_candidates);
    }
    if (n->told == r->phase) {
        return;
    }
    n->told = r->phase;
    if (r->phase > DREQ_EXECUTING) {
        events_normal(c->rt->events, &about, dreq_phase_name(r->phase), "%s",
                      over && over->message ? over->message : "");
    } else {
        events_normal(c->rt->events, &about, dreq_phase_name(r->phase), "%s%s%s",
                      *r->grant ? "by grant "
                      : *by     ? "by "
                                : "",
                      by, "");
    }
    log_info(c->rt->log, "DisruptionRequest", "DisruptionRequest", r->m.name, "phase",
             dreq_phase_name(r->phase), "by", by);
}

static void on_written(void *ctx, const char *key, const struct kube_resp *resp)
{
    struct consent *c = ctx;
    const struct dreq *r = fate_request(c->rt, key);
    struct note *n = map_get(c->notes, key);
    bool doubtful = err_transient(&resp->err);
    if (n && n->begins) {
        n->begins = n->asked = false;
        n->begun_ns = now_of(c);
        c->grants_ns = doubtful ? now_of(c) + CONSENT_ASKED_NS : 0;
    }
    if (r && n && resp->err.kind == ERR_NONE) {
        tell(c, r, n);
    }
}

static enum queue_verdict write_status(struct consent *c, const struct dreq *r, struct note *n,
                                       const struct fate *f)
{
    struct cond_edit e;
    cond_begin(&e, &r->conditions, &r->m, clock_wall(c->rt->clock));
    set_conditions(&e, r, n, f);
    const char *grant = f->answer.grant ? f->answer.grant : "";
    bool other_grant = f->phase < DREQ_EXECUTING && !str_eq(grant, r->grant);
    if (f->phase == r->phase && !e.changed && r->observed_generation && !other_grant) {
        return QUEUE_OK;
    }
    struct work w = {c->rt, c->q, r->m.name, on_written, c};
    return work_patch(&w, KIND_DISRUPTION_REQUEST, NULL, r->m.name, "status",
                      status_of(c, r, f, &e), r->m.resource_version);
}

/* One at a time by grants, so that none lets more go than it may. */
static bool begin(struct consent *c, const struct dreq *r, struct note *n, struct fate *f)
{
    if (f->answer.grant && c->grants_ns > now_of(c)) {
        queue_add_after(c->q, r->m.name, CONSENT_SOON_NS);
        return false;
    }
    c->grants_ns = f->answer.grant ? now_of(c) + CONSENT_ASKED_NS : c->grants_ns;
    n->begins = true;
    f->phase = DREQ_EXECUTING;
    return true;
}

static enum queue_verdict follow(struct consent *c, const struct dreq *r)
{
    struct note *n = consent_note(c, r);
    struct fate f = fate_of(c->rt, r, abandoned(c, r, n));
    if (n->failed && r->phase == DREQ_EXECUTING && f.phase == DREQ_EXECUTING) {
        f.phase = DREQ_FAILED;
        snprintf(f.why, sizeof(f.why), "a replacement came to nothing or was not ready in time");
    }
    if (may_begin(c, n, &f)) {
        if (!begin(c, r, n, &f)) {
            return QUEUE_OK;
        }
    } else {
        n->asked = false;
    }
    enum queue_verdict v = write_status(c, r, n, &f);
    n->begins &= v == QUEUE_BUSY;
    return v;
}

static int64_t ended_of(const struct dreq *r)
{
    return r->ended_ns ? r->ended_ns : r->m.created_ns;
}

/* Its nodes count for the grant's rate. */
static bool counts(const struct consent *c, const struct dreq *r)
{
    return *r->grant && r->started_ns > clock_wall(c->rt->clock) - FATE_RATE_NS;
}

/* Nothing else that is known can change what becomes of it. */
static bool has_expired(const struct consent *c, const struct dreq *r)
{
    return r->phase < DREQ_EXECUTING && r->expires_ns <= clock_wall(c->rt->clock);
}

static enum queue_verdict handle(void *ctx, const char *key)
{
    struct consent *c = ctx;
    struct runtime *rt = c->rt;
    const struct dreq *r = fate_request(rt, key);
    if (!r) {
        forget(c, key);
        return QUEUE_OK;
    }
    if (r->m.deleted_ns || !gate_open(rt->gate) || !store_synced(rt->store) ||
        runtime_clock_skewed(rt)) {
        return QUEUE_OK; /* the period comes again */
    }
    if (dreq_open(r)) {
        return store_requests_known(rt->store) || has_expired(c, r) ? follow(c, r) : QUEUE_OK;
    }
    bool over = ended_of(r) <= clock_wall(rt->clock) - CONSENT_KEEP_NS;
    if (!over && (ended_of(r) > c->purge_ns || counts(c, r))) {
        return QUEUE_OK;
    }
    struct work w = {rt, c->q, key, NULL, NULL};
    return work_delete_at(&w, KIND_DISRUPTION_REQUEST, NULL, key, r->m.uid, r->m.resource_version);
}

/* ---- now and then ------------------------------------------------------------------------------
 */

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Closed ones that ended by then are too many. */
static int64_t purge_before(const struct map *all)
{
    int64_t *v = NEW_N(int64_t, map_count(all)), ret = INT64_MIN;
    size_t n = 0;
    for (MAP_EACH(all, e)) {
        const struct dreq *r = map_value(e);
        if (!dreq_open(r)) {
            v[n++] = ended_of(r);
        }
    }
    if (n > CONSENT_CLOSED_MAX) {
        sort_items(v, n, sizeof(*v), by_time);
        ret = v[n - CONSENT_CLOSED_MAX - 1];
    }
    free(v);
    return ret;
}

static void measure(struct consent *c, const struct map *all)
{
    int64_t now_ns = clock_wall(c->rt->clock), oldest_ns = now_ns;
    uint32_t n = 0;
    for (MAP_EACH(all, e)) {
        const struct dreq *r = map_value(e);
        if (dreq_open(r) && r->phase == DREQ_PENDING) {
            n++;
            oldest_ns = r->m.created_ns < oldest_ns ? r->m.created_ns : oldest_ns;
        }
    }
    metric_set(c->pending, NULL, n);
    metric_set(c->oldest, NULL, (double)((now_ns - oldest_ns) / NS_PER_S));
}

static void say_invalid(struct consent *c)
{
    for (MAP_EACH(store_all(c->rt->store, STORE_DREQ), e)) {
        const struct dreq *r = map_value(e);
        struct events_subject about = {KIND_DISRUPTION_REQUEST, NULL, r->m.name, r->m.uid};
        if (r->problem && dreq_open(r)) {
            events_warning(c->rt->events, &about, "InvalidRequest", "%s: nothing is approved",
                           r->problem);
        }
    }
    for (MAP_EACH(store_all(c->rt->store, STORE_DGRANT), e)) {
        const struct dgrant *g = map_value(e);
        struct events_subject about = {KIND_DISRUPTION_GRANT, NULL, g->m.name, g->m.uid};
        if (g->problem) {
            events_warning(c->rt->events, &about, "InvalidGrant", "%s: it covers nothing",
                           g->problem);
        }
    }
}

static bool asked_for(const struct consent *c)
{
    for (MAP_EACH(store_all(c->rt->store, STORE_POOL), e)) {
        if (approval_of(map_value(e), c->rt->opt->approval)) {
            return true;
        }
    }
    return false;
}

static void look(void *arg)
{
    struct consent *c = arg;
    struct runtime *rt = c->rt;
    const struct map *all = store_all(rt->store, STORE_DREQ);
    timer_set(&rt->timers, &c->timer, now_of(c) + CONSENT_LOOK_NS, look, c);
    attention_set(rt, "RequestsUnreadable",
                  store_synced(rt->store) && !store_requests_known(rt->store) && asked_for(c));
    measure(c, all);
    if (!gate_open(rt->gate) || !store_synced(rt->store)) {
        c->writes_ns = now_of(c); /* nor were commands recovered until now */
        return;
    }
    say_invalid(c);
    c->purge_ns = purge_before(all);
    for (MAP_EACH(all, e)) {
        queue_add(c->q, map_key(e));
    }
}

static void on_request(void *arg, const char *key, const void *before UNUSED, const void *now)
{
    if (!now) {
        forget(arg, key);
    }
    consent_soon(arg);
}

static void on_grant(void *arg, const char *key UNUSED, const void *before UNUSED,
                     const void *now UNUSED)
{
    consent_soon(arg);
}

/* ---- life --------------------------------------------------------------------------------------
 */

struct consent *consent_new(struct runtime *rt)
{
    struct consent *c = NEW(struct consent);
    c->rt = rt;
    c->purge_ns = INT64_MIN;
    c->notes = map_new(STORE_MAX_CONSENT + 1);
    c->q = queue_new(rt, "disruptionrequest", STORE_DREQ, CONSENT_BACKOFF_NS,
                     CONSENT_BACKOFF_MAX_NS, handle, c);
    c->pending =
        metrics_family(rt->metrics, "karp_requests_pending",
                       "DisruptionRequests that wait for a decision.", METRIC_GAUGE, NULL, NULL, 0);
    c->oldest =
        metrics_family(rt->metrics, "karp_requests_oldest_seconds",
                       "How long the oldest of them has waited.", METRIC_GAUGE, NULL, NULL, 0);
    store_subscribe(rt->store, STORE_DREQ, on_request, c);
    store_subscribe(rt->store, STORE_DGRANT, on_grant, c);
    rt->consent = c;
    return c;
}

void consent_free(struct consent *c)
{
    if (!c) {
        return;
    }
    timer_stop(&c->rt->timers, &c->timer);
    queue_free(c->q);
    for (MAP_EACH(c->notes, e)) {
        forget(c, map_key(e));
    }
    map_free(c->notes);
    c->rt->consent = NULL;
    free(c);
}

void consent_start(struct consent *c)
{
    c->writes_ns = now_of(c);
    look(c);
}
