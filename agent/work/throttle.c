/* throttle.c - see throttle.h. */
#include "throttle.h"

#include "agent/runtime.h"
#include "common/base/alloc.h"
#include "common/base/str.h"

#define OURS (UINT64_C(1) << 63) /* in handles: a request that had to wait */

enum class { CLASS_OTHER, CLASS_EVICTION, CLASS_EVENT, CLASSES };

/* A request that waits, or has waited and is under way. */
struct held {
    struct throttle *t;
    struct held *next, **prev;
    uint64_t handle, below; /* below 0: it waits */
    char *method, *path, *content_type;
    json_t *body;
    int64_t timeout_ns;
    kube_done_fn done;
    void *arg;
};

struct throttle {
    struct runtime *rt;
    struct kube_port below;
    int64_t cost_ns, credit_ns, most_ns; /* a request takes cost_ns */
    int64_t filled_ns;
    struct held *first[CLASSES], **end[CLASSES];
    struct held *sent;
    size_t n;
    uint64_t handles;
    struct timer timer;
};

/* ---- tokens ------------------------------------------------------------------------------------
 */

static bool take(struct throttle *t)
{
    int64_t now_ns = clock_mono(t->rt->clock), gained_ns = now_ns - t->filled_ns;
    t->filled_ns = now_ns;
    t->credit_ns = gained_ns > t->most_ns - t->credit_ns ? t->most_ns : t->credit_ns + gained_ns;
    if (t->credit_ns < t->cost_ns) {
        return false;
    }
    t->credit_ns -= t->cost_ns;
    return true;
}

static void pump(void *arg);

static void pump_later(struct throttle *t)
{
    if (t->n > 0 && !timer_pending(&t->timer)) {
        int64_t wait_ns = t->cost_ns - t->credit_ns;
        timer_set(&t->rt->timers, &t->timer, clock_mono(t->rt->clock) + (wait_ns > 0 ? wait_ns : 0),
                  pump, t);
    }
}

/* ---- holding -----------------------------------------------------------------------------------
 */

/* "/api/v1/namespaces/NS/pods/NAME/eviction" and "/api/v1/namespaces/NS/events…" */
static enum class class_of(const struct kube_req *req) {
    static const char in[] = "/api/v1/namespaces/", pods[] = "/pods/", events[] = "/events";
    const char *ns = str_starts(req->path, in) ? req->path + sizeof(in) - 1 : NULL;
    const char *kind = ns ? strchr(ns, '/') : NULL;
    if (!kind || str_eq(req->method, "GET")){return CLASS_OTHER;}
if (str_starts(kind, pods))
{
    const char *sub = strchr(kind + sizeof(pods) - 1, '/');
    return sub && str_starts(sub, "/eviction") ? CLASS_EVICTION : CLASS_OTHER;
}
return str_starts(kind, events) ? CLASS_EVENT : CLASS_OTHER;
}

static void held_free(struct held *h)
{
    free(h->method);
    free(h->path);
    free(h->content_type);
    json_decref(h->body);
    free(h);
}

/* Off the list that it is on. */
static void unlink_held(struct throttle *t, struct held *h)
{
    for (int c = 0; c < CLASSES; c++) {
        if (t->end[c] == &h->next) {
            t->end[c] = h->prev;
        }
    }
    *h->prev = h->next;
    if (h->next) {
        h->next->prev = h->prev;
    }
    h->next = NULL;
    h->prev = NULL;
}

static void on_done(void *arg, const struct kube_resp *resp)
{
    struct held *h = arg;
    unlink_held(h->t, h);
    h->done(h->arg, resp);
    held_free(h);
}

static void send(struct throttle *t, struct held *h)
{
    const struct kube_req req = {.method = h->method,
                                 .path = h->path,
                                 .body = h->body,
                                 .content_type = h->content_type,
                                 .timeout_ns = h->timeout_ns};
    unlink_held(t, h);
    t->n--;
    h->next = t->sent;
    h->prev = &t->sent;
    if (h->next) {
        h->next->prev = &h->next;
    }
    t->sent = h;
    h->below = t->below.request(t->below.ctx, &req, on_done, h);
    json_decref(h->body);
    h->body = NULL;
}

static void pump(void *arg)
{
    struct throttle *t = arg;
    for (int c = 0; c < CLASSES; c++) {
        while (t->first[c] && take(t)) {
            send(t, t->first[c]);
        }
    }
    pump_later(t);
}

static uint64_t hold(struct throttle *t, const struct kube_req *req, kube_done_fn done, void *arg)
{
    enum class c = class_of(req);
    struct held *h = NEW(struct held);
    *h = (struct held){.t = t,
                       .handle = OURS | ++t->handles,
                       .method = xstrdup(req->method),
                       .path = xstrdup(req->path),
                       .content_type = req->content_type ? xstrdup(req->content_type) : NULL,
                       .body = req->body ? json_deep_copy(req->body) : NULL,
                       .timeout_ns = req->timeout_ns,
                       .done = done,
                       .arg = arg,
                       .prev = t->end[c]};
    *t->end[c] = h;
    t->end[c] = &h->next;
    t->n++;
    pump_later(t);
    return h->handle;
}

/* ---- the port ----------------------------------------------------------------------------------
 */

static uint64_t request(void *ctx, const struct kube_req *req, kube_done_fn done, void *arg)
{
    struct throttle *t = ctx;
    bool full = t->n >= THROTTLE_HELD_MAX;
    /* Nobody overtakes who is of the same class or a better one. */
    bool waits = t->cost_ns > 0 && !full;
    for (int c = 0; waits && c <= (int)class_of(req); c++) {
        if (t->first[c]) {
            return hold(t, req, done, arg);
        }
    }
    if (waits && !take(t)) {
        return hold(t, req, done, arg);
    }
    return t->below.request(t->below.ctx, req, done, arg);
}

static uint64_t watch(void *ctx, const char *path, kube_event_fn event, kube_end_fn end, void *arg)
{
    struct throttle *t = ctx;
    return t->below.watch(t->below.ctx, path, event, end, arg);
}

static struct held *find(struct throttle *t, uint64_t handle)
{
    for (int c = 0; c <= CLASSES; c++) {
        for (struct held *h = c < CLASSES ? t->first[c] : t->sent; h; h = h->next) {
            if (h->handle == handle) {
                return h;
            }
        }
    }
    return NULL;
}

static void drop(struct throttle *t, struct held *h)
{
    unlink_held(t, h);
    if (h->below) {
        t->below.cancel(t->below.ctx, h->below);
    } else {
        t->n--;
    }
    held_free(h);
}

static void cancel(void *ctx, uint64_t handle)
{
    struct throttle *t = ctx;
    struct held *h = handle & OURS ? find(t, handle) : NULL;
    if (h) {
        drop(t, h);
    } else if (!(handle & OURS)) {
        t->below.cancel(t->below.ctx, handle);
    }
}

static void drop_all(struct throttle *t)
{
    for (int c = 0; c < CLASSES; c++) {
        while (t->first[c]) {
            drop(t, t->first[c]);
        }
    }
    while (t->sent) {
        drop(t, t->sent);
    }
}

static void close_port(void *ctx)
{
    struct throttle *t = ctx;
    drop_all(t);
    t->below.close(t->below.ctx);
}

struct kube_port throttle_kube(struct throttle *t)
{
    return (struct kube_port){
        .request = request, .watch = watch, .cancel = cancel, .close = close_port, .ctx = t};
}

struct throttle *throttle_new(struct runtime *rt, const struct kube_port *below)
{
    struct throttle *t = NEW(struct throttle);
    double qps = rt->opt->kube_qps;
    int burst = rt->opt->kube_burst > 1 ? rt->opt->kube_burst : 1;
    t->rt = rt;
    t->below = *below;
    t->cost_ns = qps > 0 ? (int64_t)((double)NS_PER_S / qps) : 0;
    t->most_ns = t->credit_ns = t->cost_ns * burst;
    t->filled_ns = clock_mono(rt->clock);
    for (int c = 0; c < CLASSES; c++) {
        t->end[c] = &t->first[c];
    }
    return t;
}

void throttle_free(struct throttle *t)
{
    if (t) {
        timer_stop(&t->rt->timers, &t->timer);
        drop_all(t);
        free(t);
    }
}
