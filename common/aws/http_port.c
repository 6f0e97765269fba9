/* http_port.c - see http_port.h */
#include "http_port.h"

#include "common/base/alloc.h"
#include "common/base/str.h"
#include "endpoint.h"

#define SERVICES_MAX 16
#define HEADER_MAX 256

/* A request that is parked, under way, or about to end with an error. */
struct sent {
    struct sent *prev, *next;
    struct aws_http *port;
    uint64_t handle;
    uint64_t below; /* of net/http; 0 = not there */
    struct aws_req req;
    bool parked; /* waits for credentials; then req owns its strings */
    struct timer timer;
    struct err err;
    aws_done_fn done;
    void *arg;
};

struct aws_http {
    struct aws_port face;
    struct http *http;
    struct timers *timers;
    const struct clock *clock;
    const struct creds_provider *creds;
    uint64_t refresh; /* handle of the refresh that is under way */
    char *ca_pem;
    struct http_tls tls;
    struct endpoint endpoints[SERVICES_MAX]; /* as endpoint_services; url "" = there is none */
    struct sent *first, *last;
    size_t n;
    uint64_t handles;
};

/* ---- requests: birth and death --------------------------------------------------------------- */

static struct sent *link_sent(struct aws_http *h, aws_done_fn done, void *arg)
{
    struct sent *s = NEW(struct sent);
    s->port = h;
    s->handle = ++h->handles;
    s->done = done;
    s->arg = arg;
    s->prev = h->last;
    *(h->last ? &h->last->next : &h->first) = s;
    h->last = s;
    h->n++;
    return s;
}

static void unlink_sent(struct sent *s)
{
    struct aws_http *h = s->port;
    timer_stop(h->timers, &s->timer);
    *(s->prev ? &s->prev->next : &h->first) = s->next;
    *(s->next ? &s->next->prev : &h->last) = s->prev;
    h->n--;
}

/* Parked requests have copies of everything, in free-able form. */
static void park(struct sent *s, const struct aws_req *r)
{
    s->parked = true;
    s->req = *r;
    s->req.service = xstrdup(r->service);
    s->req.action = xstrdup(r->action);
    s->req.method = xstrdup(r->method);
    s->req.path = xstrdup(r->path);
    s->req.body = r->body ? xstrndup(r->body, r->body_n) : NULL;
}

static void unpark(struct sent *s)
{
    const char *const own[] = {
        s->req.service, s->req.action, s->req.method, s->req.path, s->req.body,
    };
    for (size_t i = 0; s->parked && i < ARRAY_LEN(own); i++) {
        free((void *)(uintptr_t)own[i]);
    }
    s->parked = false;
}

static void free_sent(struct sent *s)
{
    unpark(s);
    free(s);
}

static void drop_sent(struct sent *s)
{
    if (s->below) {
        http_cancel(s->port->http, s->below);
    }
    unlink_sent(s);
    free_sent(s);
}

/* done may close or free the port: nothing of it is touched afterwards. */
static void finish(struct sent *s, const struct aws_resp *resp)
{
    unlink_sent(s);
    s->done(s->arg, resp);
    free_sent(s);
}

static void on_failed(void *arg)
{
    struct sent *s = arg;
    const struct aws_resp resp = {.err = s->err, .body = ""};
    finish(s, &resp);
}

static void fail_later(struct sent *s, const struct err *e)
{
    s->err = *e;
    timer_set(s->port->timers, &s->timer, clock_mono(s->port->clock), on_failed, s);
}

/* ---- sending --------------------------------------------------------------------------------- */

static void on_http(void *arg, const struct http_resp *r)
{
    const struct aws_resp resp = {
        .err = r->err,
        .status = r->err.kind == ERR_NONE ? r->status : 0,
        .body = r->body,
        .body_n = r->body_n,
        .date_ns = r->err.kind == ERR_NONE ? r->date_ns : 0,
    };
    finish(arg, &resp);
}

/* X-Amz-Target and Content-Type as the protocol wants them; the number of headers. */
static size_t put_headers(const struct aws_service *service, const struct aws_req *r,
                          char lines[2][HEADER_MAX], const char *headers[2])
{
    const char *type = "application/json";
    size_t n = 0;
    if (service->protocol == AWS_EC2_QUERY || service->protocol == AWS_QUERY) {
        type = "application/x-www-form-urlencoded; charset=utf-8";
    } else if (service->target) {
        type = service->protocol == AWS_JSON_1_0 ? "application/x-amz-json-1.0"
                                                 : "application/x-amz-json-1.1";
        snprintf(lines[n], HEADER_MAX, "X-Amz-Target: %s.%s", service->target, r->action);
        n++;
    }
    if (!str_eq(r->method, "GET")) {
        snprintf(lines[n], HEADER_MAX, "Content-Type: %s", type);
        n++;
    }
    for (size_t i = 0; i < n; i++) {
        headers[i] = lines[i];
    }
    return n;
}

static void send_now(struct sent *s, const struct aws_req *r, const struct creds *c)
{
    struct aws_http *h = s->port;
    const struct aws_service *service = endpoint_service(r->service);
    size_t n_services;
    const struct endpoint *e = &h->endpoints[service - endpoint_services(&n_services)];
    char lines[2][HEADER_MAX];
    const char *headers[2];
    bool get = str_eq(r->method, "GET");
    const struct http_sigv4 sign = {
        e->region, service->name, c->access_key_id, c->secret_access_key, c->session_token,
    };
    AUTO_FREE char *url = xasprintf("%s%s", e->url, r->path);
    const struct http_req req = {
        .method = r->method,
        .url = url,
        .headers = headers,
        .n_headers = put_headers(service, r, lines, headers),
        .body = get       ? NULL
                : r->body ? r->body
                          : "",
        .body_n = get ? 0 : r->body_n,
        .timeout_ns = r->timeout_ns ? r->timeout_ns : AWS_TIMEOUT_NS,
        .body_max = AWS_BODY_MAX,
        .tls = &h->tls,
        .sigv4 = &sign,
    };
    s->below = http_request(h->http, &req, on_http, s);
}

/* ---- credentials ----------------------------------------------------------------------------- */

/* 0 with credentials that have not ended. Every other outcome is a matter of authentication,
 * whatever the provider calls it: a NOT_FOUND from here would read like one of EC2. */
static int usable(struct aws_http *h, struct creds *ret, struct err *reterr)
{
    struct err e = ERR_INIT;
    if (creds_get(h->creds, ret, &e) < 0) {
        return err_set(reterr, ERR_UNAUTHENTICATED, "%s", e.msg);
    }
    if (ret->expires_wall_ns <= clock_wall(h->clock)) {
        return err_set(reterr, ERR_UNAUTHENTICATED, "the AWS credentials (%s) have expired",
                       h->creds->name);
    }
    return 0;
}

/* The requests that waited go on in their order, with whatever credentials there are now. */
static void on_refreshed(void *arg, const struct err *why)
{
    struct aws_http *h = arg;
    struct creds c;
    struct err e = ERR_INIT;
    h->refresh = 0;
    bool ok = usable(h, &c, &e) == 0;
    if (!ok && why->kind != ERR_NONE) {
        err_set(&e, ERR_UNAUTHENTICATED, "%s", why->msg);
    }
    /* Neither branch calls back, so the list stays as it is. */
    for (struct sent *s = h->first; s; s = s->next) {
        if (s->parked && ok) {
            send_now(s, &s->req, &c);
            unpark(s);
        } else if (s->parked) {
            fail_later(s, &e);
            unpark(s);
        }
    }
}

static bool refreshing(struct aws_http *h)
{
    if (!h->refresh && h->creds->refresh) {
        h->refresh = h->creds->refresh(h->creds->ctx, on_refreshed, h);
    }
    return h->refresh != 0;
}

/* Stale credentials that still count are renewed beside the request, others before it. Asking for a
 * refresh may move what get lent, so the get that counts comes after it. */
static void start(struct sent *s, const struct aws_req *r)
{
    struct aws_http *h = s->port;
    struct creds c;
    struct err e = ERR_INIT;
    bool ok = usable(h, &c, NULL) == 0;
    bool renewing = (!ok || creds_stale(&c, clock_wall(h->clock))) && refreshing(h);
    if (usable(h, &c, &e) == 0) {
        send_now(s, r, &c);
    } else if (renewing) {
        park(s, r);
    } else {
        fail_later(s, &e);
    }
}

/* ---- the port -------------------------------------------------------------------------------- */

static int check_req(const struct aws_http *h, const struct aws_req *r, struct err *reterr)
{
    const struct aws_service *service = endpoint_service(r->service);
    size_t n;
    if (h->n > AWS_HTTP_OPEN_MAX) {
        return err_set(reterr, ERR_LIMIT, "more than %u open AWS requests", AWS_HTTP_OPEN_MAX);
    }
    if (!service) {
        return err_set(reterr, ERR_INVALID, "unknown AWS service \"%s\"", r->service);
    }
    if (!h->endpoints[service - endpoint_services(&n)].url[0]) {
        return err_set(reterr, ERR_INVALID, "this region has no service %s", r->service);
    }
    if (r->path[0] != '/') {
        return err_set(reterr, ERR_INVALID, "not a path: %s", r->path);
    }
    return 0;
}

static uint64_t http_port_request(void *ctx, const struct aws_req *req, aws_done_fn done, void *arg)
{
    struct aws_http *h = ctx;
    struct sent *s = link_sent(h, done, arg);
    struct err e = ERR_INIT;
    if (check_req(h, req, &e) < 0) {
        fail_later(s, &e);
    } else {
        start(s, req);
    }
    return s->handle;
}

static void http_port_cancel(void *ctx, uint64_t handle)
{
    struct aws_http *h = ctx;
    for (struct sent *s = h->first; s; s = s->next) {
        if (s->handle == handle) {
            drop_sent(s);
            return;
        }
    }
}

static void http_port_close(void *ctx)
{
    struct aws_http *h = ctx;
    while (h->first) {
        drop_sent(h->first);
    }
    if (h->refresh) {
        h->creds->cancel(h->creds->ctx, h->refresh);
        h->refresh = 0;
    }
}

static int resolve_all(struct aws_http *h, const struct aws_http_config *config, struct err *reterr)
{
    size_t n;
    const struct aws_service *services = endpoint_services(&n);
    if (n > SERVICES_MAX) {
        BUG("more than %d AWS services", SERVICES_MAX);
    }
    for (size_t i = 0; i < n; i++) {
        struct err e = ERR_INIT;
        if (endpoint_resolve(&services[i], config->region, config->env, config->env_ctx,
                             &h->endpoints[i], &e) < 0 &&
            e.kind != ERR_NOT_FOUND) {
            if (reterr) {
                *reterr = e;
            }
            return -1;
        }
    }
    return 0;
}

struct aws_http *aws_http_new(struct http *http, struct timers *timers, const struct clock *clock,
                              const struct aws_http_config *config,
                              const struct creds_provider *creds, struct err *reterr)
{
    struct aws_http *h = NEW(struct aws_http);
    h->face = (struct aws_port){http_port_request, http_port_cancel, http_port_close, h};
    h->http = http;
    h->timers = timers;
    h->clock = clock;
    h->creds = creds;
    if (config->ca_pem) {
        h->ca_pem = xstrndup(config->ca_pem, config->ca_n);
        h->tls = (struct http_tls){.ca_pem = h->ca_pem, .ca_n = config->ca_n};
    }
    if (resolve_all(h, config, reterr) < 0) {
        aws_http_free(h);
        return NULL;
    }
    return h;
}

void aws_http_free(struct aws_http *h)
{
    if (!h) {
        return;
    }
    http_port_close(h);
    free(h->ca_pem);
    free(h);
}

const struct aws_port *aws_http_port(struct aws_http *h)
{
    return &h->face;
}
