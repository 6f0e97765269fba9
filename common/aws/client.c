/* client.c - see client.h */
#include "client.h"

#include "common/base/alloc.h"
#include "form.h"

#include <errno.h>

struct open_call {
    struct open_call *prev, *next;
    struct aws_client *client;
    uint64_t handle;
    const struct aws_service *service;
    char *action, *method, *path, *body;
    size_t body_n;
    int64_t timeout_ns;
    bool repeatable;
    bool unknown; /* an attempt failed that may have taken effect */
    int attempts;
    uint64_t port_handle; /* 0 = nothing below the port */
    int64_t date_ns;      /* of the last answer */
    struct timer timer;   /* the pause, or the end of a call that never started */
    struct err err;       /* of a call that never started */
    aws_result_fn done;
    void *arg;
};

struct aws_client {
    struct aws_port port;
    struct timers *timers;
    const struct clock *clock;
    struct entropy entropy;
    struct open_call *first, *last;
    size_t n;
    uint64_t handles;
};

struct aws_client *aws_client_new(const struct aws_port *port, struct timers *timers,
                                  const struct clock *clock, struct entropy entropy)
{
    struct aws_client *c = NEW(struct aws_client);
    c->port = *port;
    c->timers = timers;
    c->clock = clock;
    c->entropy = entropy;
    return c;
}

size_t aws_client_open(const struct aws_client *c)
{
    return c->n;
}

/* ---- the list of open calls ------------------------------------------------------------------ */

static struct open_call *link_call(struct aws_client *c)
{
    struct open_call *o = NEW(struct open_call);
    o->client = c;
    o->handle = ++c->handles;
    o->prev = c->last;
    *(c->last ? &c->last->next : &c->first) = o;
    c->last = o;
    c->n++;
    return o;
}

/* From here on the client knows nothing of the call, nor the call of the client. */
static void unlink_call(struct open_call *o)
{
    struct aws_client *c = o->client;
    timer_stop(c->timers, &o->timer);
    *(o->prev ? &o->prev->next : &c->first) = o->next;
    *(o->next ? &o->next->prev : &c->last) = o->prev;
    c->n--;
    o->client = NULL;
}

static void free_call(struct open_call *o)
{
    free(o->action);
    free(o->method);
    free(o->path);
    free(o->body);
    free(o);
}

static void drop_call(struct open_call *o)
{
    struct aws_client *c = o->client;
    uint64_t below = o->port_handle;
    unlink_call(o);
    free_call(o);
    if (below) {
        c->port.cancel(c->port.ctx, below);
    }
}

void aws_client_free(struct aws_client *c)
{
    if (!c) {
        return;
    }
    while (c->first) {
        drop_call(c->first);
    }
    free(c);
}

void aws_cancel(struct aws_client *c, uint64_t handle)
{
    for (struct open_call *o = c->first; o; o = o->next) {
        if (o->handle == handle) {
            drop_call(o);
            return;
        }
    }
}

/* ---- one call's life ------------------------------------------------------------------------- */

/* done may end the client: nothing of it is touched afterwards. */
static void finish(struct open_call *o, const struct err *err, const char *body, size_t body_n)
{
    struct aws_result res = {
        .err = *err,
        .body = body ? body : "",
        .body_n = body ? body_n : 0,
        .attempts = o->attempts,
        .date_ns = o->date_ns,
        .unknown = o->unknown && err->kind != ERR_NONE,
    };
    unlink_call(o);
    o->done(o->arg, &res);
    free_call(o);
}

static void on_never_started(void *arg)
{
    struct open_call *o = arg;
    finish(o, &o->err, NULL, 0);
}

/* Whether a request without an answer certainly never reached the service. */
static bool never_sent(const struct err *e)
{
    if (e->kind == ERR_UNAVAILABLE) {
        return e->os == ECONNREFUSED || e->os == EHOSTUNREACH || e->os == ENETUNREACH ||
               e->os == EADDRNOTAVAIL;
    }
    return e->kind != ERR_TIMEOUT && e->kind != ERR_LIMIT;
}

/* A 5xx with a code that means something else (no capacity) is a clear refusal. */
static bool may_have_happened(const struct aws_resp *resp, const struct err *e)
{
    return resp->err.kind != ERR_NONE ? !never_sent(e) : e->kind == ERR_UNAVAILABLE;
}

static int64_t pause_ns(struct aws_client *c, int attempts)
{
    int64_t most = AWS_BACKOFF_NS;
    for (int i = 1; i < attempts && most < AWS_BACKOFF_MAX_NS; i++) {
        most *= 2;
    }
    most = most < AWS_BACKOFF_MAX_NS ? most : AWS_BACKOFF_MAX_NS;
    return (int64_t)entropy_below(&c->entropy, (uint64_t)most + 1);
}

static void send_call(void *arg);

static void on_answer(void *arg, const struct aws_resp *resp)
{
    struct open_call *o = arg;
    struct aws_client *c = o->client;
    o->port_handle = 0;
    o->date_ns = resp->date_ns;
    struct err e = resp->err;
    if (e.kind == ERR_NONE) {
        aws_classify(o->service->protocol, resp->status, resp->body, resp->body_n, &e);
    }
    bool maybe = may_have_happened(resp, &e);
    o->unknown = o->unknown || maybe;
    int64_t now_ns = clock_mono(c->clock);
    if (err_transient(&e) && o->attempts < AWS_ATTEMPTS_MAX && (o->repeatable || !maybe)) {
        timer_set(c->timers, &o->timer, now_ns + pause_ns(c, o->attempts), send_call, o);
        return;
    }
    finish(o, &e, resp->body, resp->body_n);
}

static void send_call(void *arg)
{
    struct open_call *o = arg;
    struct aws_client *c = o->client;
    const struct aws_req req = {
        .service = o->service->name,
        .action = o->action,
        .method = o->method,
        .path = o->path,
        .body = o->body,
        .body_n = o->body_n,
        .timeout_ns = o->timeout_ns,
    };
    o->attempts++;
    o->port_handle = c->port.request(c->port.ctx, &req, on_answer, o);
}

static int check_call(const struct aws_client *c, const struct aws_call *call, struct err *reterr)
{
    if (c->n > AWS_CALLS_MAX) {
        return err_set(reterr, ERR_LIMIT, "more than %d open AWS calls", AWS_CALLS_MAX);
    }
    if (call->body_n > AWS_REQUEST_MAX) {
        return err_set(reterr, ERR_LIMIT, "request for %s is larger than %u bytes", call->action,
                       AWS_REQUEST_MAX);
    }
    if (!endpoint_service(call->service)) {
        return err_set(reterr, ERR_INVALID, "unknown AWS service \"%s\"",
                       call->service ? call->service : "");
    }
    return 0;
}

uint64_t aws_call(struct aws_client *c, const struct aws_call *call, aws_result_fn done, void *arg)
{
    struct open_call *o = link_call(c);
    o->done = done;
    o->arg = arg;
    if (check_call(c, call, &o->err) < 0) {
        timer_set(c->timers, &o->timer, clock_mono(c->clock), on_never_started, o);
        return o->handle;
    }
    o->service = endpoint_service(call->service);
    o->action = xstrdup(call->action);
    o->method = xstrdup(call->method ? call->method : "POST");
    o->path = xstrdup(call->path ? call->path : "/");
    o->body = call->body ? xstrndup(call->body, call->body_n) : NULL;
    o->body_n = call->body ? call->body_n : 0;
    o->timeout_ns = call->timeout_ns;
    o->repeatable = call->repeatable;
    send_call(o);
    return o->handle;
}

uint64_t aws_call_form(struct aws_client *c, const char *service, const struct form *f,
                       bool repeatable, aws_result_fn done, void *arg)
{
    const struct aws_call call = {
        .service = service,
        .action = f->action,
        .body = f->body.p,
        /* An incomplete form must not be sent: it asks for something else. */
        .body_n = form_over(f) ? AWS_REQUEST_MAX + 1 : f->body.n,
        .repeatable = repeatable,
    };
    return aws_call(c, &call, done, arg);
}
