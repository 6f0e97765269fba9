/*
 * ec2_call.c - ports and open requests.
 *
 * A request is run when it arrives; its answer waits in a struct simec2_open for its timer. So
 * `done` never runs before request() returned, and what a call did stays done when its asker goes.
 */
#include "ec2_priv.h"

/* ---- counting -----------------------------------------------------------------------------------
 */

static struct simec2_count *count_of(struct simec2 *e, const char *service, const char *action)
{
    char key[96];
    snprintf(key, sizeof(key), "%.20s:%.70s", service, action);
    struct simec2_count *n = map_get(e->counts, key);
    if (!n) {
        n = NEW(struct simec2_count);
        bool full = false;
        map_put(e->counts, key, n, &full);
        if (full) {
            BUG("the simulated cloud was asked for too many different actions");
        }
    }
    return n;
}

/* ---- open requests ------------------------------------------------------------------------------
 */

static void open_unlink(struct simec2_open *o)
{
    struct simec2_port *p = o->port;
    *(o->prev ? &o->prev->next : &p->first) = o->next;
    *(o->next ? &o->next->prev : &p->last) = o->prev;
}

static void open_free(struct simec2_open *o)
{
    if (o->port->e) {
        timer_stop(o->port->e->timers, &o->timer);
    }
    open_unlink(o);
    free(o->body);
    free(o);
}

static struct simec2_open *open_find(struct simec2_port *p, uint64_t handle)
{
    struct simec2_open *o = p->first;
    while (o && o->handle != handle) {
        o = o->next;
    }
    return o;
}

static bool port_alive(const struct simec2 *e, const struct simec2_port *port)
{
    const struct simec2_port *p = e->ports;
    while (p && p != port) {
        p = p->next;
    }
    return p != NULL;
}

/* True if the asker died of the answer: everything of it may be gone. */
static bool asker_dies(struct simec2 *e, struct simec2_open *o)
{
    struct simec2_port *port = o->port;
    uint64_t handle = o->handle;
    uint64_t n = ++count_of(e, o->service, o->action)->answered;
    bool dead =
        e->hooks.answered && e->hooks.answered(e->hooks.ctx, port, o->service, o->action, n);
    if (!port_alive(e, port) || !open_find(port, handle)) {
        return true;
    }
    if (dead) {
        open_free(o);
    }
    return dead;
}

static void answer(struct simec2_open *o)
{
    struct simec2 *e = o->port->e;
    if (asker_dies(e, o)) {
        return;
    }
    timer_stop(e->timers, &o->timer);
    open_unlink(o);
    struct aws_resp resp = {.err = o->err,
                            .status = o->status,
                            .body = o->body ? o->body : "",
                            .body_n = o->body_n,
                            .date_ns = o->err.kind == ERR_NONE ? simec2_wall(e) : 0};
    o->done(o->arg, &resp);
    free(o->body);
    free(o);
}

static void on_due(void *arg)
{
    struct simec2_open *o = arg;
    struct simec2 *e = o->port->e;
    if (o->port->frozen_until_ns > simec2_mono(e)) {
        timer_set(e->timers, &o->timer, o->port->frozen_until_ns, on_due, o);
        return;
    }
    if (o->receive.on) {
        int64_t again_ns = 0;
        AUTO_BUF struct buf out;
        buf_init(&out, BODY_MAX);
        if (!simec2_receive(e, &o->receive, &out, &again_ns)) {
            timer_set(e->timers, &o->timer, again_ns, on_due, o);
            return;
        }
        free(o->body);
        o->status = 200;
        o->body_n = out.n;
        o->body = buf_take(&out);
    }
    answer(o);
}

/* A message came: receivers are asked in order of their ports and of arrival. */
void simec2_queue_wake(struct simec2 *e)
{
    for (struct simec2_port *p = e->ports; p; p = p->next) {
        for (struct simec2_open *o = p->first; o; o = o->next) {
            if (o->receive.on) {
                timer_set(e->timers, &o->timer, simec2_mono(e), on_due, o);
            }
        }
    }
}

/* ---- requests ------------------------------------------------------------------------------- */

static void take_answer(struct simec2_open *o, struct simec2_call *c)
{
    o->status = c->status ? c->status : 200;
    o->receive = c->receive;
    o->body_n = c->out.n;
    if (c->fault->kind == SIMEC2_CUT_ANSWER) {
        o->body_n /= 2;
        c->out.p[o->body_n] = 0;
    }
    o->body = buf_take(&c->out);
    if (c->fault->kind == SIMEC2_LOST_ANSWER) {
        err_set(&o->err, ERR_UNAVAILABLE, "connection closed before the answer");
    }
}

/* Runs the request, fills o; when it is to be answered, in ns from now. */
static int64_t run(struct simec2 *e, struct simec2_open *o, const struct aws_req *req)
{
    struct simec2_fault fault = simec2_fault_for(e, o->service, o->action);
    if (fault.kind == SIMEC2_REFUSED) {
        err_set(&o->err, ERR_UNAVAILABLE, "connection refused");
        return fault.delay_ns;
    }
    struct aws_req r = *req;
    r.service = o->service;
    r.action = o->action;
    struct simec2_call c = {.e = e, .fault = &fault};
    arena_init(&c.mem, 4096, BODY_MAX);
    buf_init(&c.out, BODY_MAX);
    simec2_run(&c, &r);
    take_answer(o, &c);
    int64_t delay_ns = c.delay_ns + fault.delay_ns;
    buf_done(&c.out);
    json_decref(c.json);
    arena_done(&c.mem);
    return delay_ns;
}

static void lose_answer(struct simec2_open *o)
{
    free(o->body);
    o->body = NULL;
    o->body_n = 0;
    o->status = 0;
    o->receive.on = false;
}

static uint64_t port_request(void *ctx, const struct aws_req *req, aws_done_fn done, void *arg)
{
    struct simec2_port *p = ctx;
    struct simec2 *e = p->e;
    if (!e) {
        return ++p->orphans;
    }
    uint64_t handle = ++e->handles;
    struct simec2_open *o = NEW(struct simec2_open);
    *o = (struct simec2_open){
        .prev = p->last, .port = p, .handle = handle, .done = done, .arg = arg};
    str_copy(o->service, sizeof(o->service), req->service ? req->service : "");
    str_copy(o->action, sizeof(o->action), req->action ? req->action : "");
    *(p->last ? &p->last->next : &p->first) = o;
    p->last = o;
    count_of(e, o->service, o->action)->arrived++;
    e->calls++;
    int64_t delay_ns = run(e, o, req);
    int64_t timeout_ns = req->timeout_ns > 0 ? req->timeout_ns : AWS_TIMEOUT_NS;
    if (delay_ns >= timeout_ns) {
        delay_ns = timeout_ns;
        lose_answer(o);
        err_set(&o->err, ERR_TIMEOUT, "no answer within %lld s",
                (long long)(timeout_ns / NS_PER_S));
    } else if (o->err.kind != ERR_NONE) {
        lose_answer(o);
    }
    timer_set(e->timers, &o->timer, simec2_mono(e) + delay_ns, on_due, o);
    return handle;
}

static void port_cancel(void *ctx, uint64_t handle)
{
    struct simec2_open *o = open_find(ctx, handle);
    if (o) {
        open_free(o);
    }
}

static void port_close(void *ctx)
{
    struct simec2_port *p = ctx;
    while (p->first) {
        open_free(p->first);
    }
}

/* ---- ports --------------------------------------------------------------------------------------
 */

struct simec2_port *simec2_port_new(struct simec2 *e)
{
    struct simec2_port *p = NEW(struct simec2_port);
    p->e = e;
    p->aws = (struct aws_port){port_request, port_cancel, port_close, p};
    struct simec2_port **end = &e->ports, *last = NULL;
    while (*end) {
        last = *end;
        end = &last->next;
    }
    *end = p;
    p->prev = last;
    return p;
}

void simec2_port_freeze(struct simec2_port *p, int64_t until_ns)
{
    p->frozen_until_ns = until_ns;
}

struct aws_port *simec2_port_aws(struct simec2_port *p)
{
    return &p->aws;
}

/* Off the cloud's list; nothing can be asked through it any more. */
void simec2_port_detach(struct simec2_port *p)
{
    port_close(p);
    if (!p->e) {
        return;
    }
    *(p->prev ? &p->prev->next : &p->e->ports) = p->next;
    if (p->next) {
        p->next->prev = p->prev;
    }
    p->e = NULL;
    p->next = p->prev = NULL;
}

void simec2_port_free(struct simec2_port *p)
{
    if (p) {
        simec2_port_detach(p);
        free(p);
    }
}
