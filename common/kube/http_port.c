#include "http_port.h"

#include "auth.h"
#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/net/handle.h"
#include "common/net/http.h"
#include "status.h"

#define HEADERS_MAX 64u
#define GROUPS_MAX (HEADERS_MAX - 8u)

struct kube_http {
    struct loop *loop;
    const struct kube_config *cfg;
    struct kube_auth *auth;
    struct http *http;
    struct kube_port port;
    struct handles calls;
    char *impersonate[GROUPS_MAX + 2]; /* headers */
    size_t n_impersonate;
    kube_trace_fn trace;
    void *trace_arg;
    bool have_skew;
    int64_t skew_ns;
};

/* A request or a watch from the asking to the answer. */
struct kube_call {
    struct kube_auth_waiter waiter; /* first: found again from it */
    struct kube_http *k;
    uint64_t handle, http_handle;
    struct timer timer; /* carries a failure to start into the next turn */
    const char *method; /* one of the constants below */
    char *path, *content_type, *body;
    size_t body_n;
    int64_t timeout_ns;
    bool is_watch, retried;
    uint64_t generation; /* of the credential that was sent */
    struct err err;      /* why it could not start, or what ended a watch */
    kube_done_fn done;
    kube_event_fn event;
    kube_end_fn end;
    void *arg;
};

/* ---- the end of a call ----------------------------------------------------------------------- */

/* Takes the call out of everything that can find it. */
static void call_detach(struct kube_call *c)
{
    struct kube_http *k = c->k;
    kube_auth_unwait(&c->waiter);
    timer_stop(loop_timers(k->loop), &c->timer);
    http_cancel(k->http, c->http_handle);
    handles_give(&k->calls, c->handle);
}

static void call_free(struct kube_call *c)
{
    free(c->path);
    free(c->content_type);
    free(c->body);
    free(c);
}

/* Tells the asker, who may free the port. */
static void call_finish(struct kube_call *c, const struct kube_resp *resp)
{
    call_detach(c);
    if (c->is_watch) {
        c->end(c->arg, &resp->err);
    } else {
        c->done(c->arg, resp);
    }
    call_free(c);
}

static void call_fail(struct kube_call *c, const struct err *why)
{
    struct kube_resp resp = {.err = *why};
    call_finish(c, &resp);
}

static void on_fail_timer(void *arg)
{
    struct kube_call *c = arg;
    struct err why = c->err;
    call_fail(c, &why);
}

static void call_fail_later(struct kube_call *c)
{
    struct loop *l = c->k->loop;
    timer_set(loop_timers(l), &c->timer, clock_mono(loop_clock(l)), on_fail_timer, c);
}

/* ---- sending --------------------------------------------------------------------------------- */

static void on_answer(void *arg, const struct http_resp *http);
static void on_line(void *arg, const char *line, size_t n);

struct headers {
    const char *v[HEADERS_MAX];
    size_t n;
    char *own[2];
};

static void make_headers(const struct kube_call *c, const struct kube_cred *cred, struct headers *h)
{
    const struct kube_http *k = c->k;
    h->n = 0;
    h->own[0] = cred->token ? xasprintf("Authorization: Bearer %s", cred->token) : NULL;
    h->own[1] = c->body ? xasprintf("Content-Type: %s",
                                    c->content_type ? c->content_type : "application/json")
                        : NULL;
    h->v[h->n++] = "Accept: application/json";
    for (size_t i = 0; i < ARRAY_LEN(h->own); i++) {
        if (h->own[i]) {
            h->v[h->n++] = h->own[i];
        }
    }
    for (size_t i = 0; i < k->n_impersonate; i++) {
        h->v[h->n++] = k->impersonate[i];
    }
}

static void call_transmit(struct kube_call *c, const struct kube_cred *cred)
{
    struct kube_http *k = c->k;
    const struct kube_config *cfg = k->cfg;
    struct headers h;
    make_headers(c, cred, &h);
    AUTO_FREE char *url = xasprintf("%s%s", cfg->server, c->path);
    struct http_tls tls = {
        .ca_pem = cfg->ca_pem,
        .ca_n = cfg->ca_n,
        .cert_pem = cred->cert_pem,
        .key_pem = cred->key_pem,
        .cert_n = cred->cert_n,
        .key_n = cred->key_n,
        .server_name = cfg->tls_server_name,
        .insecure = cfg->insecure,
    };
    struct http_req req = {
        .method = c->method,
        .url = url,
        .headers = h.v,
        .n_headers = h.n,
        .body = c->body,
        .body_n = c->body_n,
        .timeout_ns = c->timeout_ns,
        .body_max = KUBE_BODY_MAX,
        .gzip = !c->is_watch && !cfg->disable_compression,
        .proxy = cfg->proxy_url,
        .user = cred->username,
        .password = cred->password,
        .tls = str_starts(cfg->server, "https://") ? &tls : NULL,
        .line = c->is_watch ? on_line : NULL,
        .line_max = KUBE_WATCH_LINE_MAX,
    };
    c->generation = cred->generation;
    c->http_handle = http_request(k->http, &req, on_answer, c);
    for (size_t i = 0; i < ARRAY_LEN(h.own); i++) {
        free(h.own[i]);
    }
}

static void call_send(struct kube_call *c)
{
    struct kube_cred cred;
    int rc = kube_auth_get(c->k->auth, &cred, &c->err);
    if (rc > 0) {
        call_transmit(c, &cred);
    } else if (rc == 0) {
        kube_auth_wait(c->k->auth, &c->waiter);
    } else {
        call_fail_later(c);
    }
}

static void on_cred_ready(struct kube_auth_waiter *w)
{
    call_send((struct kube_call *)(void *)w);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void note_answer(struct kube_call *c, const struct http_resp *http)
{
    struct kube_http *k = c->k;
    if (http->date_ns && !c->is_watch) {
        /* Written up to a second and up to the whole transfer ago: take the middle of both. */
        int64_t then_ns = clock_wall(loop_clock(k->loop)) - http->took_ns / 2;
        k->skew_ns = http->date_ns + NS_PER_S / 2 - then_ns;
        k->have_skew = true;
    }
    if (k->trace) {
        k->trace(k->trace_arg, c->method, c->path, http->status, http->took_ns);
    }
}

/* A 401: once more with another credential, if there is a chance for one. */
static bool try_again(struct kube_call *c, const struct http_resp *http)
{
    if (http->err.kind != ERR_NONE || http->status != 401 || c->retried ||
        !kube_auth_refused(c->k->auth, c->generation)) {
        return false;
    }
    c->retried = true;
    call_send(c);
    return true;
}

static void answer_err(struct err *e, const struct http_resp *http)
{
    AUTO_JSON json_t *body =
        http->body_n ? jsonx_parse(http->body, http->body_n, "answer", NULL) : NULL;
    kube_status_err(e, http->status, body, body ? NULL : http->body, http->body_n);
    if (!e->retry_after_ns) {
        e->retry_after_ns = http->retry_after_ns;
    }
}

static void on_answer(void *arg, const struct http_resp *http)
{
    struct kube_call *c = arg;
    c->http_handle = 0;
    note_answer(c, http);
    if (try_again(c, http)) {
        return;
    }
    struct kube_resp resp = {
        .err = http->err, .status = http->status, .date_ns = c->is_watch ? 0 : http->date_ns};
    AUTO_JSON json_t *body = NULL;
    if (http->err.kind == ERR_NONE && http->status / 100 != 2) {
        answer_err(&resp.err, http);
    } else if (http->err.kind == ERR_NONE && http->body_n > 0 && !c->is_watch) {
        struct err err = ERR_INIT;
        body = jsonx_parse(http->body, http->body_n, "the API server's answer", &err);
        if (!body) {
            err_set(&resp.err, ERR_UNAVAILABLE, "%s", err.msg);
        }
    }
    if (resp.err.kind != ERR_NONE) {
        resp.err.http = resp.err.http ? resp.err.http : http->status;
    }
    resp.body = body;
    call_finish(c, &resp);
}

/* ---- watch lines ----------------------------------------------------------------------------- */

static bool event_type(const char *s, enum kube_event_type *ret)
{
    static const char *const names[] = {
        [KUBE_ADDED] = "ADDED",
        [KUBE_MODIFIED] = "MODIFIED",
        [KUBE_DELETED] = "DELETED",
        [KUBE_BOOKMARK] = "BOOKMARK",
    };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_eq(s, names[i])) {
            *ret = (enum kube_event_type)i;
            return true;
        }
    }
    return false;
}

static void on_line(void *arg, const char *line, size_t n)
{
    struct kube_call *c = arg;
    struct err err = ERR_INIT;
    enum kube_event_type type;
    AUTO_JSON json_t *o = jsonx_parse(line, n, "watch event", &err);
    json_t *object = json_object_get(o, "object");
    const char *name = jsonx_str(o, "type");
    if (json_is_object(object) && event_type(name, &type)) {
        c->event(c->arg, type, object);
        return; /* c may be gone */
    }
    if (str_eq(name, "ERROR")) {
        kube_status_err(&err, 0, object, NULL, 0);
    } else if (err.kind == ERR_NONE) {
        err_set(&err, ERR_UNAVAILABLE, "watch event of type \"%s\" is not understood",
                name ? name : "");
    } else {
        err.kind = ERR_UNAVAILABLE;
    }
    call_fail(c, &err);
}

/* ---- the port -------------------------------------------------------------------------------- */

static const char *method_of(const char *s)
{
    static const char *const known[] = {"GET", "POST", "PATCH", "PUT", "DELETE"};
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (str_eq(s, known[i])) {
            return known[i];
        }
    }
    return NULL;
}

static struct kube_call *call_new(struct kube_http *k, const char *method, const char *path,
                                  void *arg)
{
    struct kube_call *c = NEW(struct kube_call);
    bool full = k->calls.n >= KUBE_HTTP_OPEN_MAX;
    c->k = k;
    c->handle = handles_take(&k->calls, c);
    c->waiter.ready = on_cred_ready;
    c->method = method_of(method);
    c->path = xstrdup(path);
    c->arg = arg;
    if (full) {
        err_set(&c->err, ERR_LIMIT, "more than %u requests are open", KUBE_HTTP_OPEN_MAX);
    } else if (!c->method || path[0] != '/') {
        err_set(&c->err, ERR_BUG, "bad request: %s %s", method, path);
    }
    return c;
}

static void call_begin(struct kube_call *c)
{
    if (c->err.kind != ERR_NONE) {
        call_fail_later(c);
    } else {
        call_send(c);
    }
}

static uint64_t port_request(void *ctx, const struct kube_req *req, kube_done_fn done, void *arg)
{
    struct kube_call *c = call_new(ctx, req->method, req->path, arg);
    c->done = done;
    c->timeout_ns = req->timeout_ns ? req->timeout_ns : KUBE_TIMEOUT_NS;
    c->content_type = xstrdup(req->content_type);
    if (req->body) {
        c->body = jsonx_dump(req->body);
        c->body_n = strlen(c->body);
    }
    call_begin(c);
    return c->handle;
}

static uint64_t port_watch(void *ctx, const char *path, kube_event_fn event, kube_end_fn end,
                           void *arg)
{
    struct kube_call *c = call_new(ctx, "GET", path, arg);
    c->is_watch = true;
    c->event = event;
    c->end = end;
    call_begin(c);
    return c->handle;
}

static void port_cancel(void *ctx, uint64_t handle)
{
    struct kube_http *k = ctx;
    struct kube_call *c = handles_find(&k->calls, handle);
    if (c) {
        call_detach(c);
        call_free(c);
    }
}

static void port_close(void *ctx)
{
    struct kube_http *k = ctx;
    struct kube_call *c;
    for (uint32_t i = 0; (c = handles_next(&k->calls, &i)) != NULL;) {
        call_detach(c);
        call_free(c);
    }
}

static void add_impersonation(struct kube_http *k)
{
    const struct kube_config *cfg = k->cfg;
    if (!cfg->as) {
        return;
    }
    k->impersonate[k->n_impersonate++] = xasprintf("Impersonate-User: %s", cfg->as);
    if (cfg->as_uid) {
        k->impersonate[k->n_impersonate++] = xasprintf("Impersonate-Uid: %s", cfg->as_uid);
    }
    for (size_t i = 0; i < cfg->n_as_groups; i++) {
        k->impersonate[k->n_impersonate++] = xasprintf("Impersonate-Group: %s", cfg->as_groups[i]);
    }
}

struct kube_http *kube_http_new(struct loop *l, const struct kube_config *cfg,
                                const char *user_agent, struct err *reterr)
{
    if (cfg->n_as_groups > GROUPS_MAX) {
        err_set(reterr, ERR_LIMIT, "more than %u groups to impersonate", GROUPS_MAX);
        return NULL;
    }
    struct http *http = http_new(l, user_agent, reterr);
    if (!http) {
        return NULL;
    }
    struct kube_http *k = NEW(struct kube_http);
    k->loop = l;
    k->cfg = cfg;
    k->http = http;
    k->auth = kube_auth_new(l, cfg);
    handles_init(&k->calls);
    add_impersonation(k);
    k->port = (struct kube_port){
        .request = port_request,
        .watch = port_watch,
        .cancel = port_cancel,
        .close = port_close,
        .ctx = k,
    };
    return k;
}

void kube_http_free(struct kube_http *k)
{
    if (!k) {
        return;
    }
    port_close(k);
    handles_done(&k->calls);
    kube_auth_free(k->auth);
    http_free(k->http);
    for (size_t i = 0; i < k->n_impersonate; i++) {
        free(k->impersonate[i]);
    }
    free(k);
}

const struct kube_port *kube_http_port(struct kube_http *k)
{
    return &k->port;
}

void kube_http_trace(struct kube_http *k, kube_trace_fn fn, void *arg)
{
    k->trace = fn;
    k->trace_arg = arg;
}

bool kube_http_skew_ns(const struct kube_http *k, int64_t *ret)
{
    *ret = k->skew_ns;
    return k->have_skew;
}
