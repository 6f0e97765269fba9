/* gate.c - the fence around every write; see gate.h. */
#include "gate.h"

#include "agent/runtime.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "metrics.h"

enum call_kind { CALL_KUBE, CALL_WATCH, CALL_AWS };

/* A request or watch that is open. A refused one never went below and waits for its timer. */
struct call {
    struct gate *g;
    struct call *next, **prev;
    uint64_t handle, below;
    enum call_kind kind;
    bool write, removes, creates, refused;
    int64_t sent_ns; /* wall */
    char name[64];   /* "PATCH", "ec2:CreateFleet": for metrics */
    kube_done_fn kube_done;
    kube_event_fn event;
    kube_end_fn end;
    aws_done_fn aws_done;
    void *arg;
    struct timer timer;
};

struct gate {
    struct runtime *rt;
    const struct kube_port *kube;
    const struct aws_port *aws;
    struct call *first;
    uint64_t handles;
    int64_t deadline_ns;
    bool standby;
    int64_t offset_ns; /* of the API server's wall clock to our monotonic one */
    int64_t ours_ns;   /* of our own wall clock, when last looked */
    int64_t jumped_ns; /* monotonic; 0 = since the last word from the server there was no jump */
    void (*observe)(void *ctx, json_t *object);
    void *observe_ctx;
    struct metric_family *kube_requests, *aws_requests, *refused;
};

struct gate *gate_new(struct runtime *rt, const struct kube_port *kube, const struct aws_port *aws)
{
    struct gate *g = NEW(struct gate);
    g->rt = rt;
    g->kube = kube;
    g->aws = aws;
    g->offset_ns = g->ours_ns = clock_wall(rt->clock) - clock_mono(rt->clock);
    /* Closed until standby.c knows that nobody else is in charge. */
    g->standby = rt->opt->mode != MODE_OBSERVE;
    if (rt->metrics) {
        g->kube_requests = metrics_family(rt->metrics, "client_go_request_total",
                                          "Requests to the API server by method and status code.",
                                          METRIC_COUNTER, LABELS("method", "code"), NULL, 0);
        g->aws_requests = metrics_family(rt->metrics, "karp_aws_requests_total",
                                         "Requests to AWS by service, action and status code.",
                                         METRIC_COUNTER, LABELS("call", "code"), NULL, 0);
        g->refused = metrics_family(rt->metrics, "karp_gate_refused_total",
                                    "Writes that were not sent because this agent must not write.",
                                    METRIC_COUNTER, LABELS("call"), NULL, 0);
    }
    return g;
}

/* ---- open calls -------------------------------------------------------------------------------
 */

static struct call *call_new(struct gate *g, enum call_kind kind, void *arg)
{
    struct call *c = NEW(struct call);
    c->g = g;
    c->kind = kind;
    c->arg = arg;
    c->handle = ++g->handles;
    c->next = g->first;
    c->prev = &g->first;
    if (c->next) {
        c->next->prev = &c->next;
    }
    g->first = c;
    return c;
}

static void call_unlink(struct call *c)
{
    timer_stop(&c->g->rt->timers, &c->timer);
    *c->prev = c->next;
    if (c->next) {
        c->next->prev = c->prev;
    }
}

static void gate_cancel(struct gate *g, uint64_t handle)
{
    for (struct call *c = g->first; c; c = c->next) {
        if (c->handle == handle) {
            call_unlink(c);
            if (!c->refused && c->kind == CALL_AWS) {
                g->aws->cancel(g->aws->ctx, c->below);
            } else if (!c->refused) {
                g->kube->cancel(g->kube->ctx, c->below);
            }
            free(c);
            return;
        }
    }
}

static void gate_close(struct gate *g, bool aws)
{
    for (struct call *c = g->first, *next; c; c = next) {
        next = c->next;
        if ((c->kind == CALL_AWS) == aws) {
            gate_cancel(g, c->handle);
        }
    }
}

void gate_free(struct gate *g)
{
    if (!g) {
        return;
    }
    gate_close(g, false);
    gate_close(g, true);
    g->kube->close(g->kube->ctx);
    g->aws->close(g->aws->ctx);
    free(g);
}

static void count(struct metric_family *f, const char *name, int status)
{
    if (f) {
        char code[16];
        snprintf(code, sizeof(code), "%d", status);
        metric_add(f, LABELS(name, code), 1);
    }
}

/* ---- refusing ----------------------------------------------------------------------------------
 */

bool gate_open(const struct gate *g)
{
    const struct agent_options *o = g->rt->opt;
    if (o->mode == MODE_OBSERVE || g->standby || g->rt->ended) {
        return false;
    }
    return !o->leader_election || clock_mono(g->rt->clock) < g->deadline_ns;
}

static void answer_refused(void *arg)
{
    struct call *c = arg;
    call_unlink(c);
    if (c->g->refused) {
        metric_add(c->g->refused, LABELS(c->name), 1);
    }
    if (c->kind == CALL_AWS) {
        struct aws_resp resp = {.err = ERR_INIT};
        err_set(&resp.err, ERR_CANCELLED, "%s: this agent must not write now", c->name);
        c->aws_done(c->arg, &resp);
    } else {
        struct kube_resp resp = {.err = ERR_INIT};
        err_set(&resp.err, ERR_CANCELLED, "%s: this agent must not write now", c->name);
        c->kube_done(c->arg, &resp);
    }
    free(c);
}

static uint64_t refuse(struct call *c)
{
    c->refused = true;
    timer_set(&c->g->rt->timers, &c->timer, clock_mono(c->g->rt->clock), answer_refused, c);
    return c->handle;
}

/* ---- the API server ----------------------------------------------------------------------------
 */

/* What a delete answers is the object's last state unless something still holds it. */
static bool still_there(const struct call *c, const json_t *object)
{
    if (!c->removes) {
        return true;
    }
    const json_t *meta = json_object_get(object, "metadata");
    return json_array_size(json_object_get(meta, "finalizers")) > 0 ||
           json_integer_value(json_object_get(meta, "deletionGracePeriodSeconds")) > 0;
}

/* The server tells whole seconds, and the time of the request lies somewhere between. */
static void learn_clock(struct gate *g, const struct call *c, const json_t *object)
{
    const char *text = jsonx_str(object, "metadata.creationTimestamp");
    int64_t created_ns, now_ns = clock_wall(g->rt->clock), mono_ns = clock_mono(g->rt->clock);
    if (!text || !timefmt_parse_rfc3339(text, &created_ns)) {
        return;
    }
    bool right = created_ns >= c->sent_ns - NS_PER_S && created_ns <= now_ns + NS_PER_S;
    g->offset_ns = (right ? now_ns : created_ns) - mono_ns;
    g->ours_ns = now_ns - mono_ns;
    g->jumped_ns = 0;
}

void gate_clock_told(struct gate *g)
{
    g->ours_ns = clock_wall(g->rt->clock) - clock_mono(g->rt->clock);
    g->offset_ns = g->ours_ns;
    g->jumped_ns = 0;
}

int64_t gate_clock_skew_ns(struct gate *g)
{
    int64_t mono_ns = clock_mono(g->rt->clock), ours_ns = clock_wall(g->rt->clock) - mono_ns;
    int64_t moved_ns = ours_ns - g->ours_ns;
    if (moved_ns > RUNTIME_SKEW_NS || moved_ns < -RUNTIME_SKEW_NS) {
        g->jumped_ns = mono_ns;
    }
    g->ours_ns = ours_ns;
    if (g->jumped_ns && mono_ns - g->jumped_ns > GATE_JUMP_NS) {
        g->offset_ns = ours_ns;
        g->jumped_ns = 0;
    }
    int64_t skew_ns = ours_ns - g->offset_ns;
    return skew_ns > NS_PER_S || skew_ns < -NS_PER_S ? skew_ns : 0;
}

static void kube_done(void *arg, const struct kube_resp *resp)
{
    struct call *c = arg;
    struct gate *g = c->g;
    call_unlink(c);
    count(g->kube_requests, c->name, resp->status);
    if (c->write && resp->err.kind == ERR_NONE && resp->body && g->observe &&
        still_there(c, resp->body)) {
        g->observe(g->observe_ctx, resp->body);
    }
    if (c->creates && resp->err.kind == ERR_NONE && resp->body) {
        learn_clock(g, c, resp->body);
    }
    c->kube_done(c->arg, resp);
    free(c);
}

static uint64_t kube_request(void *ctx, const struct kube_req *req, kube_done_fn done, void *arg)
{
    struct gate *g = ctx;
    struct call *c = call_new(g, CALL_KUBE, arg);
    c->kube_done = done;
    c->write = !str_eq(req->method, "GET");
    c->removes = str_eq(req->method, "DELETE");
    c->creates = str_eq(req->method, "POST");
    c->sent_ns = clock_wall(g->rt->clock);
    str_copy(c->name, sizeof(c->name), req->method);
    if (c->write && !gate_open(g)) {
        return refuse(c);
    }
    c->below = g->kube->request(g->kube->ctx, req, kube_done, c);
    return c->handle;
}

static void watch_event(void *arg, enum kube_event_type type, json_t *object)
{
    struct call *c = arg;
    c->event(c->arg, type, object);
}

static void watch_end(void *arg, const struct err *why)
{
    struct call *c = arg;
    call_unlink(c);
    c->end(c->arg, why);
    free(c);
}

static uint64_t kube_watch(void *ctx, const char *path, kube_event_fn event, kube_end_fn end,
                           void *arg)
{
    struct gate *g = ctx;
    struct call *c = call_new(g, CALL_WATCH, arg);
    c->event = event;
    c->end = end;
    c->below = g->kube->watch(g->kube->ctx, path, watch_event, watch_end, c);
    return c->handle;
}

static void port_cancel(void *ctx, uint64_t handle)
{
    gate_cancel(ctx, handle);
}

static void kube_close(void *ctx)
{
    gate_close(ctx, false);
}

struct kube_port gate_kube(struct gate *g)
{
    return (struct kube_port){.request = kube_request,
                              .watch = kube_watch,
                              .cancel = port_cancel,
                              .close = kube_close,
                              .ctx = g};
}

const struct kube_port *gate_raw_kube(const struct gate *g)
{
    return g->kube;
}

/* ---- AWS ---------------------------------------------------------------------------------------
 */

/* The parameter DryRun=true of a form; in a value "=" would be escaped. */
static bool is_dry_run(const struct aws_req *req)
{
    static const char param[] = "&DryRun=true";
    const char *at = req->body ? memmem(req->body, req->body_n, param, sizeof(param) - 1) : NULL;
    if (!at) {
        return false;
    }
    const char *end = at + sizeof(param) - 1;
    return end == req->body + req->body_n || *end == '&';
}

static bool aws_writes(const struct aws_req *req)
{
    static const char *const reading[] = {"Describe", "Get", "List"};
    for (size_t i = 0; i < ARRAY_LEN(reading); i++) {
        if (str_starts(req->action, reading[i])) {
            return false;
        }
    }
    return !is_dry_run(req);
}

static void aws_done(void *arg, const struct aws_resp *resp)
{
    struct call *c = arg;
    call_unlink(c);
    count(c->g->aws_requests, c->name, resp->status);
    c->aws_done(c->arg, resp);
    free(c);
}

static uint64_t aws_request(void *ctx, const struct aws_req *req, aws_done_fn done, void *arg)
{
    struct gate *g = ctx;
    struct call *c = call_new(g, CALL_AWS, arg);
    c->aws_done = done;
    c->write = aws_writes(req);
    snprintf(c->name, sizeof(c->name), "%s:%s", req->service, req->action);
    if (c->write && !gate_open(g)) {
        return refuse(c);
    }
    c->below = g->aws->request(g->aws->ctx, req, aws_done, c);
    return c->handle;
}

static void aws_close(void *ctx)
{
    gate_close(ctx, true);
}

struct aws_port gate_aws(struct gate *g)
{
    return (struct aws_port){
        .request = aws_request, .cancel = port_cancel, .close = aws_close, .ctx = g};
}

/* ---- state -------------------------------------------------------------------------------------
 */

void gate_set_deadline(struct gate *g, int64_t deadline_ns)
{
    g->deadline_ns = deadline_ns;
}

void gate_set_standby(struct gate *g, bool standby)
{
    g->standby = standby;
}

bool gate_standby(const struct gate *g)
{
    return g->standby;
}

void gate_set_observer(struct gate *g, void (*observe)(void *ctx, json_t *object), void *ctx)
{
    g->observe = observe;
    g->observe_ctx = ctx;
}
