/*
 * api_watch.c - watches: a place in a kind's history, and a timer; see api_store.h.
 *
 * A watch does not queue: it remembers the next event it has not delivered and reads the history
 * from there, so it can only be late, never out of order. If the history moved past it, it is gone.
 */
#include "api_store.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/kube/status.h"

struct sim_watch {
    uint64_t handle;
    struct sim_api *a;
    const struct sim_port *port;
    char *path_text;
    struct sim_path path;
    struct jsonsel labels, fields;
    uint64_t cursor;
    bool running;
    bool busy, dead; /* in a callback; closed meanwhile */
    bool broken;     /* its process stands still and will hear of it then */
    kube_event_fn event;
    kube_end_fn end;
    void *arg;
    struct timer pump, bookmark, timeout;
    struct sim_watch *next;
};

/* ---- life -------------------------------------------------------------------------------------
 */

static void watch_free_now(struct sim_watch *w)
{
    free(w->path_text);
    sim_path_done(&w->path);
    jsonsel_done(&w->labels);
    jsonsel_done(&w->fields);
    free(w);
}

/* Takes the watch out of the world; its memory goes when no callback of it is running. */
static void watch_close(struct sim_watch *w)
{
    struct sim_watch **at = &w->a->watches;
    while (*at && *at != w) {
        at = &(*at)->next;
    }
    if (*at) {
        *at = w->next;
    }
    struct timers *t = &w->a->clock->timers;
    timer_stop(t, &w->pump);
    timer_stop(t, &w->bookmark);
    timer_stop(t, &w->timeout);
    w->dead = true;
    if (!w->busy) {
        watch_free_now(w);
    }
}

static void watch_end(struct sim_watch *w, const struct err *why)
{
    kube_end_fn end = w->end;
    void *arg = w->arg;
    watch_close(w);
    end(arg, why);
}

static void end_with_status(struct sim_watch *w, int code, json_t *status)
{
    struct err e = ERR_INIT;
    kube_status_err(&e, code, status, "", 0);
    json_decref(status);
    watch_end(w, &e);
}

static void end_gone(struct sim_watch *w, int64_t wanted)
{
    struct sim_op op = {.a = w->a, .kind = w->path.kind, .ns = "", .name = "", .sub = ""};
    sim_fail_version(&op, wanted);
    end_with_status(w, 410, op.out);
}

/* ---- delivery ---------------------------------------------------------------------------------
 */

static bool wants(const struct sim_watch *w, const json_t *o)
{
    return o && (w->path.ns[0] == '\0' || str_eq(sim_meta(o, "namespace"), w->path.ns)) &&
           jsonsel_match_labels(&w->labels, jsonx_at(o, "metadata.labels")) &&
           jsonsel_match_fields(&w->fields, o);
}

/* The last state that the selector saw, at the version at which it left its sight. */
static json_t *left_sight(const struct sim_event *ev)
{
    json_t *o = sim_own(ev->before);
    json_object_set(json_object_get(o, "metadata"), "resourceVersion",
                    jsonx_at(ev->after, "metadata.resourceVersion"));
    return o;
}

static void deliver(struct sim_watch *w, const struct sim_event *ev)
{
    bool before = wants(w, ev->before);
    bool after = ev->type != KUBE_DELETED && wants(w, ev->after);
    if (!before && !after) {
        return;
    }
    enum kube_event_type type = !after ? KUBE_DELETED : !before ? KUBE_ADDED : KUBE_MODIFIED;
    json_t *object = !after && ev->type != KUBE_DELETED ? left_sight(ev) : json_incref(ev->after);
    if (w->a->hooks.told) {
        w->a->hooks.told(w->a->hooks.ctx);
    }
    w->event(w->arg, type, object);
    json_decref(object);
}

static void deliver_present(struct sim_watch *w)
{
    const struct sim_table *t = &w->a->tables[w->path.kind->id];
    size_t n = t->n;
    struct sim_event *now = NEW_N(struct sim_event, n + 1);
    for (size_t i = 0; i < n; i++) {
        now[i] = (struct sim_event){.type = KUBE_ADDED, .after = json_incref(t->items[i]->obj)};
    }
    for (size_t i = 0; i < n; i++) {
        if (!w->dead) {
            deliver(w, &now[i]);
        }
        json_decref(now[i].after);
    }
    free(now);
}

static void deliver_bookmark(struct sim_watch *w, bool initial_end)
{
    char version[24];
    snprintf(version, sizeof(version), "%lld", (long long)w->a->version);
    json_t *o = json_pack("{s:s, s:s, s:{s:s}}", "kind", w->path.kind->kind, "apiVersion",
                          w->path.kind->api_version, "metadata", "resourceVersion", version);
    if (initial_end) {
        json_object_set_new(json_object_get(o, "metadata"), "annotations",
                            json_pack("{s:s}", "k8s.io/initial-events-end", "true"));
    }
    w->event(w->arg, KUBE_BOOKMARK, o);
    json_decref(o);
}

static void pump(void *arg);

static int64_t latency_ns(const struct sim_watch *w)
{
    const struct sim_table *t = &w->a->tables[w->path.kind->id];
    bool lags = vclock_now(w->a->clock) < t->lag_until_ns;
    return w->a->delays.watch_latency_ns + (lags ? t->lag_ns : 0);
}

static void pump_at(struct sim_watch *w, int64_t event_ns)
{
    int64_t at = event_ns + latency_ns(w);
    int64_t now = vclock_now(w->a->clock);
    timer_set(&w->a->clock->timers, &w->pump, at > now ? at : now, pump, w);
}

/* Delivers the next event if it is due; false when there is none (the timer is set if one will
 * be) or the watch has ended. */
static bool pump_one(struct sim_watch *w)
{
    struct sim_table *t = &w->a->tables[w->path.kind->id];
    if (w->cursor < t->first_seq) {
        return false;
    }
    if (w->cursor >= t->next_seq) {
        return false;
    }
    struct sim_event ev = t->ring[w->cursor % t->ring_cap];
    if (ev.at_ns + latency_ns(w) > vclock_now(w->a->clock)) {
        pump_at(w, ev.at_ns);
        return false;
    }
    w->cursor++;
    json_incref(ev.before);
    json_incref(ev.after);
    deliver(w, &ev);
    json_decref(ev.before);
    json_decref(ev.after);
    return !w->dead;
}

/* While its process stands still, a watch's timer waits for the process. */
static bool stands_still(struct sim_watch *w, struct timer *tm, void (*fn)(void *))
{
    bool still = w->port->frozen_until_ns > vclock_now(w->a->clock);
    if (still) {
        timer_set(&w->a->clock->timers, tm, w->port->frozen_until_ns, fn, w);
    }
    return still;
}

static void pump(void *arg)
{
    struct sim_watch *w = arg;
    if (stands_still(w, &w->pump, pump)) {
        return;
    }
    const struct sim_table *t = &w->a->tables[w->path.kind->id];
    w->busy = true;
    while (pump_one(w)) {
    }
    w->busy = false;
    if (w->dead) {
        watch_free_now(w);
    } else if (w->cursor < t->first_seq) {
        end_gone(w, t->lost_version);
    }
}

void sim_watch_wake(struct sim_api *a, enum sim_kind_id kind)
{
    for (struct sim_watch *w = a->watches; w; w = w->next) {
        if (w->running && w->path.kind->id == kind && !timer_pending(&w->pump)) {
            pump_at(w, vclock_now(a->clock));
        }
    }
}

static void on_bookmark(void *arg)
{
    struct sim_watch *w = arg;
    if (stands_still(w, &w->bookmark, on_bookmark)) {
        return;
    }
    vclock_set(w->a->clock, &w->bookmark, SIM_API_BOOKMARK_NS, on_bookmark, w);
    /* A bookmark promises that everything up to it has been delivered. */
    if (w->cursor != w->a->tables[w->path.kind->id].next_seq) {
        return;
    }
    w->busy = true;
    deliver_bookmark(w, false);
    w->busy = false;
    if (w->dead) {
        watch_free_now(w);
    }
}

static void on_timeout(void *arg)
{
    struct err none = ERR_INIT;
    struct sim_watch *w = arg;
    if (!stands_still(w, &w->timeout, on_timeout)) {
        watch_end(w, &none);
    }
}

/* ---- opening ----------------------------------------------------------------------------------
 */

static void log_watch(struct sim_watch *w, int status)
{
    struct sim_op op = {.a = w->a,
                        .who = w->port->who,
                        .verb = "watch",
                        .kind = w->path.kind,
                        .ns = w->path.ns,
                        .name = w->path.name,
                        .sub = "",
                        .status = status};
    sim_log_call(&op);
}

/* The first event after version; 0 if history no longer reaches back that far. */
static uint64_t seek(const struct sim_table *t, int64_t version)
{
    if (version < t->lost_version) {
        return 0;
    }
    uint64_t s = t->first_seq;
    while (s < t->next_seq && t->ring[s % t->ring_cap].version <= version) {
        s++;
    }
    return s;
}

static void start_timers(struct sim_watch *w)
{
    if (w->path.bookmarks) {
        vclock_set(w->a->clock, &w->bookmark, SIM_API_BOOKMARK_NS, on_bookmark, w);
    }
    int64_t timeout =
        w->path.timeout_s > 0 ? w->path.timeout_s * NS_PER_S : SIM_API_WATCH_TIMEOUT_NS;
    vclock_set(w->a->clock, &w->timeout, timeout, on_timeout, w);
}

/* Sets the cursor; without a version everything present comes first. */
static void start_at(struct sim_watch *w)
{
    struct sim_table *t = &w->a->tables[w->path.kind->id];
    int64_t version = 0;
    if (w->path.version && w->path.version[0] && !str_parse_i64(w->path.version, &version)) {
        json_t *s = sim_status_new(400, "BadRequest", "invalid resource version");
        end_with_status(w, 400, s);
        return;
    }
    w->cursor = version > 0 && !w->path.initial_events ? seek(t, version) : t->next_seq;
    if (w->cursor == 0) {
        end_gone(w, version);
        return;
    }
    start_timers(w);
    w->running = true;
    w->busy = true;
    if (version == 0 || w->path.initial_events) {
        deliver_present(w);
        if (!w->dead && w->path.initial_events) {
            deliver_bookmark(w, true);
        }
    }
    w->busy = false;
    if (w->dead) {
        watch_free_now(w);
    } else if (w->cursor < t->next_seq && !timer_pending(&w->pump)) {
        pump_at(w, vclock_now(w->a->clock));
    }
}

/* The hook may close the watch: then it is freed here. False if it has ended. */
static bool tell_answered(struct sim_watch *w, const struct sim_call *c)
{
    if (!w->a->hooks.answered) {
        return true;
    }
    w->busy = true;
    w->a->hooks.answered(w->a->hooks.ctx, c);
    w->busy = false;
    if (w->dead) {
        watch_free_now(w);
        return false;
    }
    return true;
}

static void start(void *arg)
{
    struct sim_watch *w = arg;
    struct err e = ERR_INIT;
    if (stands_still(w, &w->pump, start)) {
        return;
    }
    int code = sim_path_parse(w->path_text, &w->path, &e);
    if (code) {
        w->path.kind = NULL;
        end_with_status(w, code,
                        sim_status_new(code, code == 404 ? "NotFound" : "BadRequest", e.msg));
        return;
    }
    if (sim_path_selectors(&w->path, &w->labels, &w->fields, &e)) {
        end_with_status(w, 400, sim_status_new(400, "BadRequest", e.msg));
        return;
    }
    AUTO_FREE char *who = xstrdup(w->port->who);
    struct sim_call c = {who, "watch", w->path.kind->plural, w->path.ns, "", 0, false};
    int64_t extra = 0;
    int fault = w->a->hooks.fault ? w->a->hooks.fault(w->a->hooks.ctx, &c, &extra) : 0;
    fault = fault < 0 ? 503 : fault;
    c.status = fault ? fault : 200;
    log_watch(w, c.status);
    if (!tell_answered(w, &c)) {
        return;
    }
    if (fault) {
        end_with_status(w, fault, sim_status_new(fault, "InternalError", "injected fault"));
        return;
    }
    start_at(w);
}

uint64_t sim_watch_open(struct sim_port *p, const char *path, kube_event_fn event, kube_end_fn end,
                        void *arg)
{
    struct sim_watch *w = NEW(struct sim_watch);
    w->handle = ++p->a->next_handle;
    w->a = p->a;
    w->port = p;
    w->path_text = xstrdup(path);
    w->event = event;
    w->end = end;
    w->arg = arg;
    struct sim_watch **at = &p->a->watches;
    while (*at) {
        at = &(*at)->next;
    }
    *at = w;
    vclock_set(p->a->clock, &w->pump, p->a->delays.latency_ns, start, w);
    return w->handle;
}

bool sim_watch_cancel(struct sim_api *a, const struct sim_port *p, uint64_t handle)
{
    for (struct sim_watch *w = a->watches; w; w = w->next) {
        if (w->handle == handle && w->port == p) {
            watch_close(w);
            return true;
        }
    }
    return false;
}

void sim_watch_close_port(struct sim_api *a, const struct sim_port *p)
{
    struct sim_watch *next;
    for (struct sim_watch *w = a->watches; w; w = next) {
        next = w->next;
        if (w->port == p) {
            watch_close(w);
        }
    }
}

size_t sim_watch_count(const struct sim_api *a, const struct sim_port *p)
{
    size_t n = 0;
    for (const struct sim_watch *w = a->watches; w; w = w->next) {
        n += w->port == p;
    }
    return n;
}

void sim_watch_free_all(struct sim_api *a)
{
    while (a->watches) {
        watch_close(a->watches);
    }
}

static void on_broken(void *arg)
{
    struct sim_watch *w = arg;
    struct err e = ERR_INIT;
    if (!stands_still(w, &w->timeout, on_broken)) {
        err_set(&e, ERR_UNAVAILABLE, "connection reset by peer");
        watch_end(w, &e);
    }
}

/* From now on the watch hears nothing but its end. */
static void watch_break(struct sim_watch *w)
{
    w->broken = true;
    w->running = false;
    timer_stop(&w->a->clock->timers, &w->pump);
    timer_stop(&w->a->clock->timers, &w->bookmark);
    on_broken(w);
}

void sim_api_break_watches(struct sim_api *a)
{
    /* Ending one may open new ones, which come behind. */
    uint64_t last = a->next_handle;
    for (;;) {
        struct sim_watch *w = a->watches;
        while (w && w->broken) {
            w = w->next;
        }
        if (!w || w->handle > last) {
            return;
        }
        watch_break(w);
    }
}

static void on_lag_over(void *arg)
{
    struct sim_api *a = arg;
    for (struct sim_watch *w = a->watches; w; w = w->next) {
        if (w->running) {
            pump_at(w, vclock_now(a->clock));
        }
    }
}

void sim_api_lag_watches(struct sim_api *a, enum sim_kind_id kind, int64_t by_ns, int64_t for_ns)
{
    struct sim_table *t = &a->tables[kind];
    t->lag_ns = by_ns;
    t->lag_until_ns = vclock_now(a->clock) + for_ns;
    vclock_after(a->clock, for_ns, on_lag_over, a);
}
