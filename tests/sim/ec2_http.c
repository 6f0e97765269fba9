/*
 * ec2_http.c - see ec2_http.h.
 *
 * libmicrohttpd runs without threads: its epoll descriptor hangs in the loop. A request is
 * suspended while the cloud has it and resumed with the answer.
 */
#include "ec2_http.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

/* Late answers are the cloud's to give; here nothing times out before. */
#define PATIENCE_NS NS_PER_H

enum step { READING, WAITING, ANSWERED };

struct request {
    struct ec2_http *h;
    struct request *next, *prev;
    struct MHD_Connection *con;
    char *uri; /* as received */
    const char *method;
    struct buf body;
    enum step step;
    bool suspended;
    uint64_t call; /* of the port, 0 = none */
    /* the answer */
    int status; /* 0 = close the connection */
    char *out;
    size_t out_n;
    const char *content_type;
    char error_type[96]; /* JSON services */
};

struct ec2_http {
    struct loop *loop;
    struct simec2 *cloud;
    struct simec2_port *port;
    struct MHD_Daemon *daemon;
    const char *region;
    const struct sigv4_key *keys;
    size_t n_keys;
    int epoll_fd;
    uint16_t tcp_port;
    struct timer again;
    struct request *requests;
    bool closing;
};

/* ---- driving libmicrohttpd ------------------------------------------------------------------ */

static void run(void *arg)
{
    struct ec2_http *h = arg;
    MHD_UNSIGNED_LONG_LONG ms = 0;
    MHD_run(h->daemon);
    if (MHD_get_timeout(h->daemon, &ms) == MHD_YES) {
        int64_t wait_ns = (int64_t)(ms < 1000 ? ms : 1000) * NS_PER_MS;
        timer_set(loop_timers(h->loop), &h->again, clock_mono(loop_clock(h->loop)) + wait_ns, run,
                  h);
    }
}

static void on_epoll(void *arg, int fd UNUSED, unsigned events UNUSED)
{
    run(arg);
}

static void run_soon(struct ec2_http *h)
{
    if (!h->closing) {
        timer_set(loop_timers(h->loop), &h->again, clock_mono(loop_clock(h->loop)), run, h);
    }
}

/* ---- answers -------------------------------------------------------------------------------- */

static void take(struct request *r, int status, const char *type, const char *body, size_t n)
{
    r->status = status;
    r->content_type = type;
    free(r->out);
    r->out = xmalloc(n + 1);
    memcpy(r->out, body, n);
    r->out[n] = 0;
    r->out_n = n;
    r->step = ANSWERED;
}

static void take_json(struct request *r, int status, json_t *steal)
{
    AUTO_FREE char *text = jsonx_dump(steal);
    json_decref(steal);
    take(r, status, "application/json", text, strlen(text));
}

static enum MHD_Result send_answer(struct request *r)
{
    if (r->status == 0) {
        return MHD_NO;
    }
    struct MHD_Response *resp =
        MHD_create_response_from_buffer(r->out_n, r->out, MHD_RESPMEM_MUST_COPY);
    if (!resp) {
        return MHD_NO;
    }
    MHD_add_response_header(resp, "Content-Type", r->content_type);
    if (r->error_type[0]) {
        MHD_add_response_header(resp, "x-amzn-ErrorType", r->error_type);
    }
    if (str_ends(r->error_type, "QueueDoesNotExist")) {
        MHD_add_response_header(resp, "x-amzn-query-error",
                                "AWS.SimpleQueueService.NonExistentQueue;Sender");
    }
    enum MHD_Result ok = MHD_queue_response(r->con, (unsigned)r->status, resp);
    MHD_destroy_response(resp);
    return ok;
}

static const char *content_type_of(const char *service)
{
    return str_eq(service, "ec2")                                 ? "text/xml;charset=UTF-8"
           : str_eq(service, "iam") || str_eq(service, "sts")     ? "text/xml"
           : str_eq(service, "ssm") || str_eq(service, "pricing") ? "application/x-amz-json-1.1"
           : str_eq(service, "sqs")                               ? "application/x-amz-json-1.0"
                                                                  : "application/json";
}

/* A refusal that never reaches the cloud, in the service's own shape. */
static void refuse(struct request *r, const char *service, int status, const char *code,
                   const char *why)
{
    AUTO_BUF struct buf b;
    char message[256];
    str_copy(message, sizeof(message), why);
    for (char *p = message; (p = strpbrk(p, "<&>\"\\")); p++) {
        *p = '?'; /* header names may hold anything */
    }
    buf_init(&b, 8192);
    const char *type = content_type_of(service);
    if (str_eq(service, "ec2")) {
        buf_printf(&b,
                   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Response><Errors><Error><Code>%s"
                   "</Code><Message>%s</Message></Error></Errors><RequestID>0</RequestID>"
                   "</Response>",
                   code, message);
    } else if (str_starts(type, "text/xml")) {
        buf_printf(&b,
                   "<ErrorResponse><Error><Type>Sender</Type><Code>%s</Code><Message>%s</Message>"
                   "</Error><RequestId>0</RequestId></ErrorResponse>",
                   code, message);
    } else {
        AUTO_JSON json_t *o = json_pack("{s:s, s:s}", "__type", code, "message", message);
        AUTO_FREE char *text = jsonx_dump(o);
        buf_puts(&b, text);
        str_copy(r->error_type, sizeof(r->error_type), code);
    }
    take(r, status, type, b.p, b.n);
}

static void on_answer(void *arg, const struct aws_resp *resp)
{
    struct request *r = arg;
    r->call = 0;
    take(r, resp->err.kind == ERR_NONE ? resp->status : 0, r->content_type, resp->body,
         resp->body_n);
    if (resp->status >= 400 && resp->body_n > 0 && resp->body[0] == '{') {
        AUTO_JSON json_t *o = jsonx_parse(resp->body, resp->body_n, "answer", NULL);
        str_copy(r->error_type, sizeof(r->error_type), jsonx_str_or(o, "__type", ""));
    }
    if (r->suspended) {
        r->suspended = false;
        MHD_resume_connection(r->con);
        run_soon(r->h);
    }
}

/* ---- requests ------------------------------------------------------------------------------- */

struct header_list {
    struct sigv4_header v[SIGV4_HEADERS_MAX];
    size_t n;
};

static enum MHD_Result add_header(void *arg, enum MHD_ValueKind kind UNUSED, const char *key,
                                  const char *value)
{
    struct header_list *l = arg;
    if (l->n < ARRAY_LEN(l->v)) {
        l->v[l->n++] = (struct sigv4_header){key, value ? value : ""};
    }
    return MHD_YES;
}

static bool signature_ok(struct request *r, const char *path, const char *query,
                         struct sigv4_result *ret)
{
    static const struct {
        int status;
        const char *ec2, *others;
        int others_status;
    } refusals[] = {
        [SIGV4_OK] = {200, "", "", 200},
        [SIGV4_MISSING] = {403, "AuthFailure", "MissingAuthenticationToken", 403},
        [SIGV4_MALFORMED] = {400, "IncompleteSignature", "IncompleteSignature", 400},
        [SIGV4_UNKNOWN_KEY] = {401, "AuthFailure", "InvalidClientTokenId", 403},
        [SIGV4_BAD_TOKEN] = {401, "AuthFailure", "InvalidClientTokenId", 403},
        [SIGV4_SKEWED] = {400, "RequestExpired", "SignatureDoesNotMatch", 403},
        [SIGV4_MISMATCH] = {403, "SignatureDoesNotMatch", "SignatureDoesNotMatch", 403},
    };
    struct ec2_http *h = r->h;
    struct header_list headers = {.n = 0};
    MHD_get_connection_values(r->con, MHD_HEADER_KIND, add_header, &headers);
    const struct sigv4_request req = {.method = r->method,
                                      .path = path,
                                      .query = query,
                                      .headers = headers.v,
                                      .n_headers = headers.n,
                                      .body = r->body.p,
                                      .body_n = r->body.n};
    simec2_sigv4_verify(&req, h->keys, h->n_keys, clock_wall(loop_clock(h->loop)), ret);
    bool global = str_eq(ret->service, "iam") || str_eq(ret->service, "pricing");
    if (ret->verdict == SIGV4_OK && h->region && !global && !str_eq(ret->region, h->region)) {
        ret->verdict = SIGV4_MISMATCH;
        snprintf(ret->why, sizeof(ret->why), "Credential should be scoped to region %s", h->region);
    }
    if (ret->verdict != SIGV4_OK) {
        const char *service = ret->service[0] ? ret->service : "ec2";
        bool ec2 = str_eq(service, "ec2");
        refuse(r, service,
               ec2 ? refusals[ret->verdict].status : refusals[ret->verdict].others_status,
               ec2 ? refusals[ret->verdict].ec2 : refusals[ret->verdict].others, ret->why);
    }
    return ret->verdict == SIGV4_OK;
}

/* Query: Action=NAME in the form; JSON: behind the dot of X-Amz-Target; EKS: by path. */
static void action_of(struct request *r, const char *service, const char *path, char *dst,
                      size_t size)
{
    const char *target = MHD_lookup_connection_value(r->con, MHD_HEADER_KIND, "X-Amz-Target");
    const char *dot = target ? strrchr(target, '.') : NULL;
    const char *form = str_starts(r->body.p, "Action=") ? r->body.p : strstr(r->body.p, "&Action=");
    snprintf(dst, size, "Unknown");
    if (str_eq(service, "eks")) {
        str_copy(dst, size, str_starts(path, "/clusters/") ? "DescribeCluster" : "Unknown");
    } else if (dot) {
        str_copy(dst, size, dot + 1);
    } else if (form) {
        form = strchr(form, '=') + 1;
        snprintf(dst, size, "%.*s", (int)strcspn(form, "&"), form);
    }
}

/* An X-Amz-Target must belong to the service of the scope. */
static bool target_ok(struct request *r, const char *service)
{
    static const struct {
        const char *service, *prefix;
    } table[] = {{"ssm", "AmazonSSM."}, {"sqs", "AmazonSQS."}, {"pricing", "AWSPriceListService."}};
    const char *target = MHD_lookup_connection_value(r->con, MHD_HEADER_KIND, "X-Amz-Target");
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        if (str_eq(table[i].service, service)) {
            return target && str_starts(target, table[i].prefix);
        }
    }
    return true;
}

static void serve(struct request *r, char *path, const char *query)
{
    struct sigv4_result s;
    char action[64];
    if (!signature_ok(r, path, query, &s)) {
        return;
    }
    if (query && *query) {
        refuse(r, s.service, 400, "MalformedQueryString", "Here nothing is asked in a query");
        return;
    }
    if (!target_ok(r, s.service)) {
        refuse(r, s.service, 400, "UnknownOperationException", "X-Amz-Target names no operation");
        return;
    }
    action_of(r, s.service, path, action, sizeof(action));
    struct aws_port *p = simec2_port_aws(r->h->port);
    const struct aws_req req = {.service = s.service,
                                .action = action,
                                .method = r->method,
                                .path = path,
                                .body = r->body.p,
                                .body_n = r->body.n,
                                .timeout_ns = PATIENCE_NS};
    r->content_type = content_type_of(s.service);
    r->step = WAITING;
    r->call = p->request(p->ctx, &req, on_answer, r);
}

/* ---- /_control ------------------------------------------------------------------------------ */

static void control_post(struct request *r, const char *what)
{
    struct err err = ERR_INIT;
    if (str_eq(what, "/send")) {
        bool ok = simec2_queue_send(r->h->cloud, r->body.p);
        take_json(r, ok ? 200 : 400, json_object());
        return;
    }
    AUTO_JSON json_t *step = jsonx_parse(r->body.p, r->body.n, "step", &err);
    if (!*what && step && simec2_step(r->h->cloud, step, &err) == 0) {
        take_json(r, 200, json_object());
    } else {
        take_json(r, 400, json_pack("{s:s}", "error", err.msg[0] ? err.msg : "no such control"));
    }
}

static void control(struct request *r, const char *what)
{
    const struct simec2 *e = r->h->cloud;
    if (str_eq(r->method, "POST")) {
        control_post(r, what);
    } else if (str_eq(what, "/instances")) {
        take_json(r, 200, simec2_list(e));
    } else if (str_eq(what, "/calls")) {
        take_json(r, 200, simec2_call_counts(e));
    } else if (str_eq(what, "/queue")) {
        take_json(r, 200, json_pack("{s:i}", "messages", (int)simec2_queue_len(e)));
    } else {
        take_json(r, 404, json_pack("{s:s}", "error", "no such control"));
    }
}

/* ---- libmicrohttpd's callbacks -------------------------------------------------------------- */

static void *on_uri(void *cls, const char *uri, struct MHD_Connection *con)
{
    struct ec2_http *h = cls;
    struct request *r = NEW(struct request);
    r->h = h;
    r->con = con;
    r->uri = xstrdup(uri);
    buf_init(&r->body, EC2_HTTP_BODY_MAX);
    r->next = h->requests;
    if (r->next) {
        r->next->prev = r;
    }
    h->requests = r;
    return r;
}

static void request_free(struct request *r)
{
    if (r->call) {
        struct aws_port *p = simec2_port_aws(r->h->port);
        p->cancel(p->ctx, r->call);
    }
    *(r->prev ? &r->prev->next : &r->h->requests) = r->next;
    if (r->next) {
        r->next->prev = r->prev;
    }
    buf_done(&r->body);
    free(r->uri);
    free(r->out);
    free(r);
}

static void on_completed(void *cls UNUSED, struct MHD_Connection *con UNUSED, void **req_cls,
                         enum MHD_RequestTerminationCode code UNUSED)
{
    if (*req_cls) {
        request_free(*req_cls);
        *req_cls = NULL;
    }
}

static void dispatch(struct request *r)
{
    char *query = strchr(r->uri, '?');
    if (query) {
        *query++ = 0;
    }
    if (r->body.over) {
        refuse(r, "ec2", 413, "RequestEntityTooLarge", "The request is too large");
    } else if (str_starts(r->uri, "/_control")) {
        control(r, r->uri + strlen("/_control"));
    } else {
        serve(r, r->uri, query);
    }
}

static enum MHD_Result on_request(void *cls UNUSED, struct MHD_Connection *con,
                                  const char *url UNUSED, const char *method,
                                  const char *version UNUSED, const char *data, size_t *data_n,
                                  void **req_cls)
{
    struct request *r = *req_cls;
    if (!r->method) { /* headers only so far */
        r->method = method;
        return MHD_YES;
    }
    if (*data_n > 0) {
        buf_put(&r->body, data, *data_n);
        *data_n = 0;
        return MHD_YES;
    }
    if (r->step == READING) {
        dispatch(r);
    }
    if (r->step == WAITING) {
        if (!r->suspended) {
            r->suspended = true;
            MHD_suspend_connection(con);
        }
        return MHD_YES;
    }
    return send_answer(r);
}

/* ---- life ----------------------------------------------------------------------------------- */

/* "127.0.0.1:8080" or "[::1]:0", loopback only. */
static int read_address(const char *text, struct sockaddr_storage *ret, socklen_t *ret_n,
                        struct err *reterr)
{
    char host[64];
    const char *colon = strrchr(text, ':');
    int64_t port;
    if (!colon || !str_parse_i64(colon + 1, &port) || port < 0 || port > 65535 ||
        (size_t)(colon - text) >= sizeof(host)) {
        return err_set(reterr, ERR_INVALID, "--listen %s: must be ADDRESS:PORT", text);
    }
    snprintf(host, sizeof(host), "%.*s", (int)(colon - text), text);
    *ret = (struct sockaddr_storage){0};
    if (str_eq(host, "127.0.0.1") || str_eq(host, "localhost")) {
        struct sockaddr_in *in = (struct sockaddr_in *)ret;
        in->sin_family = AF_INET;
        in->sin_port = htons((uint16_t)port);
        in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        *ret_n = sizeof(*in);
    } else if (str_eq(host, "[::1]")) {
        struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;
        in6->sin6_family = AF_INET6;
        in6->sin6_port = htons((uint16_t)port);
        in6->sin6_addr = in6addr_loopback;
        *ret_n = sizeof(*in6);
    } else {
        return err_set(reterr, ERR_INVALID, "--listen %s: only loopback is served", text);
    }
    return 0;
}

static int listen_on(const char *text, uint16_t *ret_port, struct err *reterr)
{
    struct sockaddr_storage a;
    socklen_t n = 0;
    int one = 1;
    if (read_address(text, &a, &n, reterr) < 0) {
        return -1;
    }
    int fd = socket(a.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0 ||
        bind(fd, (struct sockaddr *)&a, n) < 0 || listen(fd, 512) < 0 ||
        getsockname(fd, (struct sockaddr *)&a, &n) < 0) {
        err_set(reterr, ERR_UNAVAILABLE, "listen on %s: %s", text, strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
        return -1;
    }
    *ret_port = ntohs(a.ss_family == AF_INET ? ((struct sockaddr_in *)&a)->sin_port
                                             : ((struct sockaddr_in6 *)&a)->sin6_port);
    return fd;
}

/* True if the daemon runs; it owns fd then. */
static bool start(struct ec2_http *h, int fd, struct err *reterr)
{
    h->daemon =
        MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, h,
                         MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
                         EC2_HTTP_CONNECTIONS, MHD_OPTION_URI_LOG_CALLBACK, on_uri, h,
                         MHD_OPTION_NOTIFY_COMPLETED, on_completed, h, MHD_OPTION_END);
    if (!h->daemon) {
        err_set(reterr, ERR_UNAVAILABLE, "libmicrohttpd does not start");
        return false;
    }
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    h->epoll_fd = info ? info->epoll_fd : -1;
    if (h->epoll_fd < 0 || loop_fd_add(h->loop, h->epoll_fd, LOOP_IN, on_epoll, h, reterr) < 0) {
        MHD_stop_daemon(h->daemon);
        h->daemon = NULL;
        return false;
    }
    return true;
}

struct ec2_http *ec2_http_new(struct loop *l, struct simec2 *cloud, const struct ec2_http_opts *o,
                              struct err *reterr)
{
    struct ec2_http *h = NEW(struct ec2_http);
    *h = (struct ec2_http){
        .loop = l, .cloud = cloud, .region = o->region, .keys = o->keys, .n_keys = o->n_keys};
    int fd = listen_on(o->listen, &h->tcp_port, reterr);
    if (fd < 0 || !start(h, fd, reterr)) {
        free(h);
        return NULL;
    }
    h->port = simec2_port_new(cloud);
    run_soon(h);
    return h;
}

void ec2_http_free(struct ec2_http *h)
{
    if (!h) {
        return;
    }
    h->closing = true;
    struct aws_port *p = simec2_port_aws(h->port);
    p->close(p->ctx);
    for (struct request *r = h->requests; r; r = r->next) {
        r->call = 0;
        if (r->suspended) {
            r->suspended = false;
            r->step = ANSWERED; /* without an answer: the connection is closed */
            MHD_resume_connection(r->con);
        }
    }
    MHD_run(h->daemon);
    loop_fd_del(h->loop, h->epoll_fd);
    timer_stop(loop_timers(h->loop), &h->again);
    MHD_stop_daemon(h->daemon);
    while (h->requests) { /* whose headers were never complete: nobody told their end */
        request_free(h->requests);
    }
    simec2_port_free(h->port);
    free(h);
}

uint16_t ec2_http_tcp_port(const struct ec2_http *h)
{
    return h->tcp_port;
}
