/* api_port.c - requests through a kube_port, the call log, dispatch by verb; see api.h */
#include "api_store.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/kube/status.h"

/* ---- the log ----------------------------------------------------------------------------------
 */

static void count(struct sim_api *a, const char *who, const char *what)
{
    AUTO_FREE char *key = xasprintf("%s\n%s", who, what);
    uint64_t *n = map_get(a->counts, key);
    if (!n) {
        bool full = false;
        n = NEW(uint64_t);
        map_put(a->counts, key, n, &full);
        if (full) {
            BUG("call log is full");
        }
    }
    (*n)++;
}

static bool is_write(const char *verb)
{
    return !str_eq(verb, "get") && !str_eq(verb, "list") && !str_eq(verb, "watch");
}

void sim_log_call(struct sim_op *op)
{
    AUTO_FREE char *resource =
        op->sub[0] ? xasprintf("%s/%s", op->kind->plural, op->sub) : xstrdup(op->kind->plural);
    AUTO_FREE char *what = xasprintf("%s %s", op->verb, resource);
    count(op->a, "", what);
    count(op->a, op->who, what);
    if (is_write(op->verb)) {
        count(op->a, "", "*");
        count(op->a, op->who, "*");
    }
    if (op->a->hooks.served) {
        struct sim_call c = {op->who,  op->verb,   resource,          op->ns,
                             op->name, op->status, is_write(op->verb)};
        op->a->hooks.served(op->a->hooks.ctx, &c);
    }
}

static uint64_t counted(const struct sim_api *a, const char *who, const char *what)
{
    AUTO_FREE char *key = xasprintf("%s\n%s", who ? who : "", what);
    const uint64_t *n = map_get(a->counts, key);
    return n ? *n : 0;
}

uint64_t sim_api_calls(const struct sim_api *a, const char *who, const char *what)
{
    return counted(a, who, what);
}

uint64_t sim_api_writes(const struct sim_api *a, const char *who)
{
    return counted(a, who, "*");
}

/* ---- dispatch ---------------------------------------------------------------------------------
 */

struct verb {
    const char *name;
    int (*run)(struct sim_op *op);
};

static const struct verb verbs[] = {
    {"get", sim_op_get},
    {"list", sim_op_list},
    {"create", sim_op_create},
    {"update", sim_op_update},
    {"patch", sim_op_patch},
    {"delete", sim_op_delete},
    {"bind", sim_op_bind},
    {"evict", sim_op_evict},
    {"deletecollection", sim_op_delete_collection},
};

/* Subresources that are made, not patched. */
static const char *effective_verb(const struct sim_op *op)
{
    bool pod = op->kind->id == SIM_POD && str_eq(op->verb, "create");
    return pod && str_eq(op->sub, "binding")    ? "bind"
           : pod && str_eq(op->sub, "eviction") ? "evict"
                                                : op->verb;
}

void sim_op_run(struct sim_op *op)
{
    const char *verb = effective_verb(op);
    bool known_sub = op->sub[0] == '\0' || !str_eq(verb, "create");
    op->status = 0;
    for (size_t i = 0; known_sub && i < ARRAY_LEN(verbs); i++) {
        if (str_eq(verb, verbs[i].name)) {
            verbs[i].run(op);
        }
    }
    if (op->status == 0) {
        sim_fail(op, 405, "MethodNotAllowed",
                 "the server does not allow this method on the requested resource");
    }
    sim_log_call(op);
    json_decref(op->body);
    op->body = NULL;
}

/* ---- one request ------------------------------------------------------------------------------
 */

/* NULL if the method does not go with the path. */
static const char *verb_of(const char *method, const struct sim_path *p)
{
    bool named = p->name[0] != '\0';
    if (str_eq(method, "GET")) {
        return named ? "get" : "list";
    }
    if (str_eq(method, "POST")) {
        return !named || p->sub[0] ? "create" : NULL;
    }
    if (str_eq(method, "DELETE")) {
        return named ? "delete" : "deletecollection";
    }
    return !named                    ? NULL
           : str_eq(method, "PUT")   ? "update"
           : str_eq(method, "PATCH") ? "patch"
                                     : NULL;
}

static void set_resp(struct kube_resp *r, int code, json_t *body)
{
    *r = (struct kube_resp){.status = code, .body = body};
    if (code < 200 || code > 299) {
        kube_status_err(&r->err, code, body, "", 0);
    }
}

static void refuse(struct kube_resp *r, int code, const char *reason, const char *message)
{
    set_resp(r, code, sim_status_new(code, reason, message));
}

/* Serves a parsed request; body is stolen. */
static void serve(struct sim_api *a, const char *who, const char *method, struct sim_path *p,
                  const char *content_type, json_t *body, struct kube_resp *ret)
{
    const char *verb = verb_of(method, p);
    if (!verb) {
        json_decref(body);
        refuse(ret, 405, "MethodNotAllowed",
               "the server does not allow this method on the requested resource");
        return;
    }
    if (str_eq(verb, "patch") && !str_eq(content_type, KUBE_MERGE_PATCH)) {
        json_decref(body);
        refuse(ret, 415, "UnsupportedMediaType",
               "the body of the request was in an unknown format - accepted media types include: "
               "application/merge-patch+json");
        return;
    }
    struct sim_op op = {.a = a,
                        .who = who,
                        .verb = verb,
                        .kind = p->kind,
                        .ns = p->ns,
                        .name = p->name,
                        .sub = p->sub,
                        .body = body,
                        .path = p,
                        .dry_run = p->dry_run};
    sim_op_run(&op);
    set_resp(ret, op.status, op.out);
}

/* A request's path, read once. */
struct place {
    char *text;
    struct sim_path path; /* if code is 0 */
    int code;             /* of sim_path_parse */
    struct err why;
};

static void place_read(struct place *ret, const char *text)
{
    *ret = (struct place){.text = xstrdup(text), .why = ERR_INIT};
    ret->code = sim_path_parse(text, &ret->path, &ret->why);
}

static void place_done(struct place *p)
{
    sim_path_done(&p->path);
    free(p->text);
}

static void serve_at(struct sim_api *a, const char *who, const char *method, struct place *p,
                     const char *content_type, json_t *body, struct kube_resp *ret)
{
    json_t *discovery = str_eq(method, "GET") ? sim_discovery(p->text) : NULL;
    if (discovery) {
        json_decref(body);
        set_resp(ret, 200, discovery);
    } else if (p->code) {
        json_decref(body);
        refuse(ret, p->code, p->code == 404 ? "NotFound" : "BadRequest", p->why.msg);
    } else {
        serve(a, who, method, &p->path, content_type, body, ret);
    }
}

void sim_api_call(struct sim_api *a, const char *who, const struct kube_req *req,
                  struct kube_resp *ret)
{
    struct place p;
    place_read(&p, req->path);
    json_t *body = req->body ? json_deep_copy(req->body) : NULL;
    serve_at(a, who, req->method, &p, req->content_type, body, ret);
    place_done(&p);
}

void sim_api_resp_done(struct kube_resp *r)
{
    json_decref(r->body);
    r->body = NULL;
}

/* ---- the port ---------------------------------------------------------------------------------
 */

struct sim_request {
    uint64_t handle;
    struct sim_api *a;
    struct sim_port *port; /* NULL: the asker is gone */
    char *who, *method, *content_type;
    struct place place;
    json_t *body;
    int64_t deadline_ns; /* when the asker gives up */
    kube_done_fn done;
    void *arg;
    struct kube_resp resp;
    bool answering;
    struct timer timer;
    struct sim_request *prev, *next;
};

static void request_free(struct sim_request *r)
{
    if (r->prev) {
        r->prev->next = r->next;
    } else {
        r->a->requests = r->next;
    }
    if (r->next) {
        r->next->prev = r->prev;
    }
    timer_stop(&r->a->clock->timers, &r->timer);
    free(r->who);
    free(r->method);
    free(r->content_type);
    place_done(&r->place);
    json_decref(r->body);
    json_decref(r->resp.body);
    free(r);
}

/* What the hooks are told about a request; the strings are r's. */
static struct sim_call call_of(const struct sim_request *r, char *resource, size_t size)
{
    const struct sim_path *p = &r->place.path;
    const char *verb = verb_of(r->method, p);
    snprintf(resource, size, "%s%s%s", p->kind->plural, p->sub[0] ? "/" : "", p->sub);
    verb = verb ? verb : "";
    return (struct sim_call){r->who,  verb,           resource,      p->ns,
                             p->name, r->resp.status, is_write(verb)};
}

/* Asks a hook about the request, if its path can be read. */
static int ask_fault(struct sim_request *r, int64_t *extra_ns)
{
    char resource[160];
    if (!r->a->hooks.fault || r->place.code) {
        return 0;
    }
    struct sim_call c = call_of(r, resource, sizeof(resource));
    return r->a->hooks.fault(r->a->hooks.ctx, &c, extra_ns);
}

static void tell_answered(struct sim_request *r)
{
    char resource[160];
    if (r->a->hooks.answered && !r->place.code) {
        struct sim_call c = call_of(r, resource, sizeof(resource));
        r->a->hooks.answered(r->a->hooks.ctx, &c);
    }
}

static void answer(void *arg)
{
    struct sim_request *r = arg;
    if (r->port && r->port->frozen_until_ns > vclock_now(r->a->clock)) {
        timer_set(&r->a->clock->timers, &r->timer, r->port->frozen_until_ns, answer, r);
        return;
    }
    r->answering = true;
    if (r->port) {
        tell_answered(r);
    }
    /* The hook may have closed the port. */
    kube_done_fn done = r->port ? r->done : NULL;
    void *done_arg = r->arg;
    struct kube_resp resp = r->resp;
    r->resp.body = NULL;
    request_free(r);
    if (done) {
        done(done_arg, &resp);
    }
    json_decref(resp.body);
}

static const char *fault_reason(int code)
{
    return code == 409   ? "Conflict"
           : code == 429 ? "TooManyRequests"
           : code == 403 ? "Forbidden"
           : code == 503 ? "ServiceUnavailable"
           : code == 504 ? "Timeout"
                         : "InternalError";
}

static void give_up(void *arg)
{
    struct sim_request *r = arg;
    json_decref(r->resp.body);
    r->resp = (struct kube_resp){0};
    err_set(&r->resp.err, ERR_TIMEOUT, "%s %s: no answer in time", r->method, r->place.text);
    answer(r);
}

static void lose(struct sim_request *r)
{
    json_decref(r->resp.body);
    r->resp = (struct kube_resp){0};
    err_set(&r->resp.err, ERR_UNAVAILABLE, "%s %s: connection reset by peer", r->method,
            r->place.text);
}

static void take_effect(void *arg)
{
    struct sim_request *r = arg;
    int64_t extra = 0;
    int fault = ask_fault(r, &extra);
    if (fault > 0) {
        refuse(&r->resp, fault, fault_reason(fault), "injected fault");
    } else if (fault != SIM_FAULT_REFUSED) {
        serve_at(r->a, r->who, r->method, &r->place, r->content_type, r->body, &r->resp);
        r->body = NULL;
    }
    /* As the Date header: whole seconds. */
    r->resp.date_ns = vclock_wall(r->a->clock) / NS_PER_S * NS_PER_S;
    if (fault < 0) {
        lose(r);
    }
    if (!r->port) {
        request_free(r);
        return;
    }
    int64_t at = vclock_now(r->a->clock) + r->a->delays.latency_ns / 2 + extra;
    bool late = at > r->deadline_ns;
    timer_set(&r->a->clock->timers, &r->timer, late ? r->deadline_ns : at, late ? give_up : answer,
              r);
}

static uint64_t port_request(void *ctx, const struct kube_req *req, kube_done_fn done, void *arg)
{
    struct sim_port *p = ctx;
    struct sim_api *a = p->a;
    struct sim_request *r = NEW(struct sim_request);
    r->handle = ++a->next_handle;
    r->a = a;
    r->port = p;
    r->who = xstrdup(p->who);
    r->method = xstrdup(req->method);
    place_read(&r->place, req->path);
    r->content_type = xstrdup(req->content_type);
    r->body = req->body ? json_deep_copy(req->body) : NULL;
    r->deadline_ns =
        vclock_now(a->clock) + (req->timeout_ns > 0 ? req->timeout_ns : KUBE_TIMEOUT_NS);
    r->done = done;
    r->arg = arg;
    r->next = a->requests;
    if (r->next) {
        r->next->prev = r;
    }
    a->requests = r;
    vclock_set(a->clock, &r->timer, a->delays.latency_ns - a->delays.latency_ns / 2, take_effect,
               r);
    return r->handle;
}

static uint64_t port_watch(void *ctx, const char *path, kube_event_fn event, kube_end_fn end,
                           void *arg)
{
    return sim_watch_open(ctx, path, event, end, arg);
}

/* The asker hears nothing more; what is on its way takes effect all the same. */
static void abandon(struct sim_request *r)
{
    bool answered = r->resp.status != 0 || r->resp.err.kind != ERR_NONE;
    r->port = NULL;
    if (answered && !r->answering) {
        request_free(r);
    }
}

static void port_cancel(void *ctx, uint64_t handle)
{
    struct sim_port *p = ctx;
    if (sim_watch_cancel(p->a, p, handle)) {
        return;
    }
    for (struct sim_request *r = p->a->requests; r; r = r->next) {
        if (r->handle == handle && r->port == p) {
            abandon(r);
            return;
        }
    }
}

static void port_close(void *ctx)
{
    struct sim_port *p = ctx;
    struct sim_request *next;
    sim_watch_close_port(p->a, p);
    for (struct sim_request *r = p->a->requests; r; r = next) {
        next = r->next;
        if (r->port == p) {
            abandon(r);
        }
    }
}

struct kube_port *sim_api_port(struct sim_api *a, const char *who)
{
    struct sim_port *p = NEW(struct sim_port);
    p->a = a;
    p->who = xstrdup(who);
    p->port = (struct kube_port){.request = port_request,
                                 .watch = port_watch,
                                 .cancel = port_cancel,
                                 .close = port_close,
                                 .ctx = p};
    p->next = a->ports;
    a->ports = p;
    return &p->port;
}

void sim_api_port_freeze(struct kube_port *port, int64_t until_ns)
{
    struct sim_port *p = port->ctx;
    p->frozen_until_ns = until_ns;
}

size_t sim_api_port_open(const struct kube_port *port)
{
    const struct sim_port *p = port->ctx;
    size_t n = sim_watch_count(p->a, p);
    for (const struct sim_request *r = p->a->requests; r; r = r->next) {
        n += r->port == p;
    }
    return n;
}

void sim_api_port_free(struct sim_api *a, struct kube_port *port)
{
    struct sim_port *p = port->ctx;
    struct sim_port **at = &a->ports;
    port_close(p);
    while (*at && *at != p) {
        at = &(*at)->next;
    }
    if (*at) {
        *at = p->next;
    }
    free(p->who);
    free(p);
}

void sim_port_free_all(struct sim_api *a)
{
    while (a->ports) {
        sim_api_port_free(a, &a->ports->port);
    }
    while (a->requests) {
        request_free(a->requests);
    }
}
