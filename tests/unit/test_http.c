#include "rawserver.h"

#include "common/net/handle.h"
#include "common/net/http.h"

#include <microhttpd.h>
#include <signal.h>
#include <zlib.h>

static struct loop *loop;
static struct raw_server server;
static struct http *http;

/* What came back from one request. */
static struct {
    bool done;
    unsigned n_done;
    struct err err;
    int status;
    char body[256];
    size_t body_n;
    int64_t retry_after_ns, date_ns;
    char header[64];
    struct buf lines; /* "a|b|" */
    uint64_t handle;
    const char *cancel_on; /* line that makes the asker cancel */
    bool free_in_done;
} got;

static void on_done(void *arg UNUSED, const struct http_resp *r)
{
    got.done = true;
    got.n_done++;
    got.err = r->err;
    got.status = r->status;
    got.body_n = r->body_n;
    str_copy(got.body, sizeof(got.body), r->body);
    got.retry_after_ns = r->retry_after_ns;
    got.date_ns = r->date_ns;
    if (!http_header(r, "x-test", got.header, sizeof(got.header))) {
        got.header[0] = '\0';
    }
    http_cancel(http, got.handle); /* finished: ignored */
    if (got.free_in_done) {
        http_free(http);
        http = NULL;
    }
}

static void on_line(void *arg UNUSED, const char *line, size_t n)
{
    ck_assert_uint_eq(strlen(line), n);
    buf_printf(&got.lines, "%s|", line);
    if (got.cancel_on && str_eq(got.cancel_on, line)) {
        http_cancel(http, got.handle);
    }
}

static enum raw_then answer(struct raw_server *s, struct buf *out);

static void begin(void)
{
    memset(&got, 0, sizeof(got));
    buf_init(&got.lines, 1u << 20);
    struct err err = ERR_INIT;
    loop = loop_new(NULL, &err);
    ck_assert_msg(loop != NULL, "%s", err.msg);
    raw_start(&server, loop, answer);
    http = http_new(loop, "karp-test/1", &err);
    ck_assert_msg(http != NULL, "%s", err.msg);
}

static void end(void)
{
    http_free(http);
    raw_stop(&server);
    loop_free(loop);
    buf_done(&got.lines);
}

static char *url_of(const char *path)
{
    return xasprintf("http://127.0.0.1:%d%s", server.port, path);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void gzip_into(struct buf *out, size_t zeros)
{
    AUTO_FREE char *plain = xmalloc(zeros);
    memset(plain, 'z', zeros);
    AUTO_FREE Bytef *packed = xmalloc(zeros + 1000);
    z_stream z = {.next_in = (Bytef *)plain,
                  .avail_in = (uInt)zeros,
                  .next_out = packed,
                  .avail_out = (uInt)zeros + 1000};
    ck_assert_int_eq(deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    buf_printf(out, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %lu\r\n\r\n",
               z.total_out);
    buf_put(out, packed, z.total_out);
    deflateEnd(&z);
}

static enum raw_then answer_odd(struct raw_server *s, struct buf *out)
{
    if (str_eq(s->path, "/short")) {
        buf_puts(out, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this");
        return RAW_CLOSE;
    }
    if (str_eq(s->path, "/chunked-short")) {
        buf_puts(out, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
        return RAW_CLOSE;
    }
    if (str_eq(s->path, "/garbage")) {
        buf_puts(out, "what is this?\r\n\r\n");
        return RAW_CLOSE;
    }
    if (str_eq(s->path, "/headers")) {
        buf_puts(out, "HTTP/1.1 200 OK\r\n");
        for (int i = 0; i < 700; i++) {
            buf_printf(out, "X-%d: %0*d\r\n", i, 100, i);
        }
        buf_puts(out, "Content-Length: 0\r\n\r\n");
    }
    if (str_eq(s->path, "/reset")) {
        return RAW_RESET;
    }
    if (str_eq(s->path, "/nothing")) {
        return RAW_CLOSE;
    }
    if (str_eq(s->path, "/gzip")) {
        gzip_into(out, 200);
    } else if (str_eq(s->path, "/bomb")) {
        gzip_into(out, 10u << 20);
    } else if (str_eq(s->path, "/continue")) {
        buf_puts(out,
                 "HTTP/1.1 100 Continue\r\nX-Test: no\r\n\r\nHTTP/1.1 200 OK\r\nX-Test: yes\r\n"
                 "Content-Length: 2\r\n\r\nok");
    }
    return RAW_KEEP; /* others hang */
}

static enum raw_then answer_lines(struct raw_server *s, struct buf *out)
{
    buf_puts(out, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    if (str_eq(s->path, "/lines/plain")) {
        buf_puts(out, "4\r\na\nbc\r\n3\r\nd\n\n\r\n6\r\ne\r\nhal\r\n0\r\n\r\n");
    } else if (str_eq(s->path, "/lines/open")) {
        buf_puts(out, "4\r\na\nb\n\r\n"); /* and then nothing */
    } else if (str_eq(s->path, "/lines/break")) {
        buf_puts(out, "4\r\na\nb\n\r\n");
        return RAW_RESET;
    } else if (str_eq(s->path, "/lines/long")) {
        buf_puts(out, "2\r\na\n\r\n20\r\n0123456789012345678901234567890\n\r\n0\r\n\r\n");
    }
    return RAW_KEEP;
}

static enum raw_then answer(struct raw_server *s, struct buf *out)
{
    if (str_starts(s->path, "/lines/")) {
        return answer_lines(s, out);
    }
    if (str_eq(s->path, "/hello")) {
        raw_reply(out, 200, "X-Test: \t value here\r\nDate: Mon, 05 Jan 2026 09:00:00 GMT\r\n",
                  "hello");
    } else if (str_eq(s->path, "/empty")) {
        raw_reply(out, 204, "", "");
    } else if (str_eq(s->path, "/busy")) {
        raw_reply(out, 429, "Retry-After: 7\r\n", "slow down");
    } else if (str_eq(s->path, "/busy-for-ever")) {
        raw_reply(out, 503, "Retry-After: 999999\r\n", "");
    } else if (str_eq(s->path, "/moved")) {
        raw_reply(out, 302, "Location: /hello\r\n", "");
    } else {
        return answer_odd(s, out);
    }
    return RAW_KEEP;
}

/* ---- one request, one answer ----------------------------------------------------------------- */

struct row {
    const char *path;
    size_t body_max, line_max;
    int64_t timeout_ns;
    bool gzip, lines;
    enum err_kind kind;
    int status;
    const char *body; /* NULL = not looked at */
    const char *heard;
};

#define SOON (300 * NS_PER_MS)

static const struct row rows[] = {
    {.path = "/hello", .status = 200, .body = "hello"},
    {.path = "/empty", .status = 204, .body = ""},
    {.path = "/busy", .status = 429, .body = "slow down"},
    {.path = "/moved", .status = 302, .body = ""},
    {.path = "/hello", .body_max = 4, .kind = ERR_LIMIT, .status = 200},
    {.path = "/hello", .body_max = 5, .status = 200, .body = "hello"},
    {.path = "/short", .kind = ERR_UNAVAILABLE, .status = 200},
    {.path = "/chunked-short", .kind = ERR_UNAVAILABLE, .status = 200},
    {.path = "/garbage", .kind = ERR_UNAVAILABLE},
    {.path = "/headers", .kind = ERR_LIMIT, .status = 200},
    {.path = "/reset", .kind = ERR_UNAVAILABLE},
    {.path = "/nothing", .kind = ERR_UNAVAILABLE},
    {.path = "/hang", .timeout_ns = SOON, .kind = ERR_TIMEOUT},
    {.path = "/lines/open", .timeout_ns = SOON, .kind = ERR_TIMEOUT, .status = 200},
    {.path = "/continue", .status = 200, .body = "ok"},
    {.path = "/gzip", .gzip = true, .body_max = 200, .status = 200},
    {.path = "/gzip", .gzip = true, .body_max = 199, .kind = ERR_LIMIT, .status = 200},
    {.path = "/bomb", .gzip = true, .body_max = 1u << 20, .kind = ERR_LIMIT, .status = 200},
    {.path = "/lines/plain", .lines = true, .status = 200, .body = "", .heard = "a|bcd|e|"},
    {.path = "/lines/break", .lines = true, .kind = ERR_UNAVAILABLE, .status = 200, .heard = NULL},
    {.path = "/lines/long",
     .lines = true,
     .line_max = 31,
     .status = 200,
     .heard = "a|0123456789012345678901234567890|"},
    {.path = "/lines/long",
     .lines = true,
     .line_max = 30,
     .kind = ERR_LIMIT,
     .status = 200,
     .heard = "a|"},
    {.path = "/busy", .lines = true, .status = 429, .body = "slow down", .heard = ""},
    {.path = "/hang", .lines = true, .timeout_ns = SOON, .kind = ERR_TIMEOUT, .heard = ""},
};

START_TEST(answer_row)
{
    const struct row *r = &rows[_i];
    begin();
    AUTO_FREE char *url = url_of(r->path);
    struct http_req req = {
        .url = url,
        .timeout_ns = r->timeout_ns ? r->timeout_ns : 5 * NS_PER_S,
        .body_max = r->body_max,
        .gzip = r->gzip,
        .line = r->lines ? on_line : NULL,
        .line_max = r->line_max,
        .proxy = "",
    };
    got.handle = http_request(http, &req, on_done, NULL);
    ck_assert_uint_ne(got.handle, 0);
    ck_assert(!got.done);
    raw_run_until(loop, &got.done);
    ck_assert_msg(got.err.kind == r->kind, "%s: %s %s", r->path, err_kind_name(got.err.kind),
                  got.err.msg);
    ck_assert_msg(got.status == r->status, "%s: %d", r->path, got.status);
    if (r->kind != ERR_NONE) {
        ck_assert_uint_gt(strlen(got.err.msg), 5);
    }
    if (r->body) {
        ck_assert_str_eq(got.body, r->body);
    }
    if (r->heard) {
        ck_assert_str_eq(got.lines.p, r->heard);
    }
    ck_assert_uint_eq(got.n_done, 1);
    ck_assert_uint_eq(http_open_count(http), 0);
    end();
}
END_TEST

static void ask(const char *path)
{
    AUTO_FREE char *url = url_of(path);
    struct http_req req = {.url = url, .timeout_ns = 5 * NS_PER_S, .proxy = ""};
    got.done = false;
    got.handle = http_request(http, &req, on_done, NULL);
}

START_TEST(answer_headers)
{
    begin();
    ask("/hello");
    raw_run_until(loop, &got.done);
    ck_assert_str_eq(got.header, "value here");
    ck_assert_int_eq(got.date_ns, INT64_C(1767603600) * NS_PER_S);
    ck_assert(raw_has(&server, "\r\nUser-Agent: karp-test/1\r\n"));
    ask("/continue");
    raw_run_until(loop, &got.done);
    ck_assert_str_eq(got.header, "yes"); /* not those of the interim answer */
    ask("/busy");
    raw_run_until(loop, &got.done);
    ck_assert_int_eq(got.retry_after_ns, 7 * NS_PER_S);
    ask("/busy-for-ever");
    raw_run_until(loop, &got.done);
    ck_assert_int_eq(got.retry_after_ns, NS_PER_H);
    ck_assert_uint_eq(server.n_conns, 1); /* four requests over one connection */
    end();
}
END_TEST

START_TEST(refused)
{
    begin();
    AUTO_FREE char *url = url_of("/hello");
    raw_stop(&server);
    struct http_req req = {.url = url, .proxy = ""};
    http_request(http, &req, on_done, NULL);
    raw_run_until(loop, &got.done);
    ck_assert_int_eq(got.err.kind, ERR_UNAVAILABLE);
    ck_assert_int_eq(got.status, 0);
    ck_assert(str_contains(got.err.msg, "127.0.0.1"));
    raw_start(&server, loop, answer);
    end();
}
END_TEST

/* ---- requests that cannot even start --------------------------------------------------------- */

static const struct http_sigv4 keys = {"eu-west-1", "ec2", "AK", "SK", "TOKEN"};
static const struct http_sigv4 no_region = {NULL, "ec2", "AK", "SK", NULL};
static const struct http_tls named = {.server_name = "bad name"};

struct bad_row {
    const char *name, *method, *path, *body, *header;
    const struct http_sigv4 *sigv4;
    const struct http_tls *tls;
    const char *fault;
};

static const struct bad_row bad_rows[] = {
    {.name = "scheme", .path = "gopher://x/"},
    {.name = "no host", .path = "http://"},
    {.name = "line break", .path = "http://x/", .header = "A: b\r\nC: d", .fault = "line break"},
    {.name = "server name", .path = "https://x/", .tls = &named, .fault = "server name"},
    {.name = "signed PUT",
     .method = "PUT",
     .path = "http://x/",
     .body = "b",
     .sigv4 = &keys,
     .fault = "only GET and POST"},
    {.name = "signed POST without body",
     .method = "POST",
     .path = "http://x/",
     .sigv4 = &keys,
     .fault = "needs a body"},
    {.name = "signed GET with body",
     .method = "GET",
     .path = "http://x/",
     .body = "b",
     .sigv4 = &keys,
     .fault = "needs a body"},
    {.name = "signed query", .path = "http://x/?a=b", .sigv4 = &keys, .fault = "or a query"},
    {.name = "signed path", .path = "http://x/a%20b", .sigv4 = &keys, .fault = "reserved"},
    {.name = "signed plus", .path = "http://x/a+b", .sigv4 = &keys, .fault = "reserved"},
    {.name = "signed suppression",
     .path = "http://x/",
     .header = "Accept:",
     .sigv4 = &keys,
     .fault = "without value"},
    {.name = "signed blank",
     .path = "http://x/",
     .header = "Accept:  ",
     .sigv4 = &keys,
     .fault = "without value"},
    {.name = "signed date",
     .path = "http://x/",
     .header = "X-Amz-Date: 20260101T000000Z",
     .sigv4 = &keys,
     .fault = "date"},
    {.name = "no region", .path = "http://x/", .sigv4 = &no_region, .fault = "region"},
};

START_TEST(bad_row)
{
    const struct bad_row *r = &bad_rows[_i];
    begin();
    struct http_req req = {
        .method = r->method,
        .url = r->path,
        .headers = &r->header,
        .n_headers = r->header ? 1 : 0,
        .body = r->body,
        .body_n = r->body ? strlen(r->body) : 0,
        .sigv4 = r->sigv4,
        .tls = r->tls,
        .proxy = "",
    };
    http_request(http, &req, on_done, NULL);
    ck_assert(!got.done); /* never before the call has returned */
    raw_run_until(loop, &got.done);
    ck_assert_msg(got.err.kind == ERR_INVALID, "%s: %s", r->name, got.err.msg);
    if (r->fault) {
        ck_assert_msg(str_contains(got.err.msg, r->fault), "%s: %s", r->name, got.err.msg);
    }
    ck_assert_uint_eq(server.n_conns, 0);
    end();
}
END_TEST

START_TEST(signed_post)
{
    begin();
    AUTO_FREE char *url = url_of("/hello");
    static const char *const headers[] = {"Content-Type: application/x-www-form-urlencoded"};
    struct http_req req = {.method = "POST",
                           .url = url,
                           .headers = headers,
                           .n_headers = 1,
                           .body = "Action=X",
                           .body_n = 8,
                           .sigv4 = &keys,
                           .proxy = ""};
    http_request(http, &req, on_done, NULL);
    raw_run_until(loop, &got.done);
    ck_assert_int_eq(got.status, 200);
    ck_assert(raw_has(&server, "Authorization: AWS4-HMAC-SHA256 Credential=AK/"));
    ck_assert(raw_has(&server, "/eu-west-1/ec2/aws4_request"));
    ck_assert(raw_has(&server, "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token"));
    ck_assert(raw_has(&server, "\r\nX-Amz-Security-Token: TOKEN\r\n"));
    ck_assert(raw_has(&server, "\r\n\r\nAction=X"));
    end();
}
END_TEST

START_TEST(basic_and_tls_name)
{
    begin();
    AUTO_FREE char *url = url_of("/hello");
    static const struct http_tls name = {.server_name = "api.internal"};
    struct http_req req = {.url = url, .user = "bob", .password = "x", .tls = &name, .proxy = ""};
    http_request(http, &req, on_done, NULL);
    raw_run_until(loop, &got.done);
    ck_assert_int_eq(got.status, 200);
    ck_assert(raw_has(&server, "\r\nAuthorization: Basic Ym9iOng=\r\n"));
    ck_assert(raw_has(&server, "\r\nHost: api.internal:"));
    end();
}
END_TEST

/* ---- cancelling ------------------------------------------------------------------------------ */

START_TEST(cancelled)
{
    begin();
    ask("/hang");
    raw_run_for(loop, 50 * NS_PER_MS);
    http_cancel(http, got.handle);
    http_cancel(http, got.handle);
    http_cancel(http, 0);
    http_cancel(http, UINT64_MAX);
    raw_run_for(loop, 50 * NS_PER_MS);
    ck_assert(!got.done);
    ck_assert_uint_eq(server.n_open, 0); /* the connection was dropped, too */
    end();
}
END_TEST

START_TEST(cancelled_in_a_line)
{
    begin();
    AUTO_FREE char *url = url_of("/lines/plain");
    struct http_req req = {.url = url, .line = on_line, .proxy = ""};
    got.cancel_on = "bcd";
    got.handle = http_request(http, &req, on_done, NULL);
    raw_run_for(loop, 200 * NS_PER_MS);
    ck_assert_str_eq(got.lines.p, "a|bcd|");
    ck_assert(!got.done);
    end();
}
END_TEST

START_TEST(freed_in_done)
{
    begin();
    for (int i = 0; i < 100; i++) {
        ask("/hang"); /* running and queued ones go without a word */
    }
    http_cancel(http, got.handle);
    AUTO_FREE char *url = url_of("/lines/plain");
    struct http_req req = {.url = url, .line = on_line, .proxy = ""};
    got.free_in_done = true;
    http_request(http, &req, on_done, NULL);
    raw_run_until(loop, &got.done);
    raw_run_for(loop, 20 * NS_PER_MS);
    ck_assert_uint_eq(got.n_done, 1);
    end();
}
END_TEST

/* ---- many ------------------------------------------------------------------------------------ */

static unsigned n_answered, most_open;
static bool all_answered;

static void on_one_of_many(void *arg, const struct http_resp *r)
{
    ck_assert_int_eq(r->status, 200);
    most_open = server.n_open > most_open ? server.n_open : most_open;
    n_answered++;
    all_answered = n_answered == (unsigned)(uintptr_t)arg;
}

START_TEST(queued)
{
    begin();
    n_answered = most_open = 0;
    all_answered = false;
    AUTO_FREE char *url = url_of("/hello");
    struct http_req req = {.url = url, .proxy = "", .timeout_ns = 5 * NS_PER_S};
    for (int i = 0; i < 500; i++) {
        http_request(http, &req, on_one_of_many, (void *)(uintptr_t)500);
    }
    ck_assert_uint_eq(http_open_count(http), 500);
    raw_run_until(loop, &all_answered);
    ck_assert_uint_le(most_open, HTTP_MAX_ACTIVE);
    ck_assert_uint_ge(most_open, 2);
    end();
}
END_TEST

START_TEST(handles)
{
    struct handles h;
    int things[3];
    handles_init(&h);
    uint64_t a = handles_take(&h, &things[0]);
    uint64_t b = handles_take(&h, &things[1]);
    ck_assert(a != 0 && b != 0 && a != b);
    ck_assert_ptr_eq(handles_find(&h, a), &things[0]);
    handles_give(&h, a);
    ck_assert_ptr_null(handles_find(&h, a));
    uint64_t c = handles_take(&h, &things[2]); /* has a's place, not its number */
    ck_assert_uint_ne(c, a);
    ck_assert_ptr_null(handles_find(&h, a));
    ck_assert_ptr_eq(handles_find(&h, c), &things[2]);
    ck_assert_ptr_null(handles_find(&h, 0));
    ck_assert_ptr_null(handles_find(&h, 12345));
    ck_assert_uint_eq(h.n, 2);
    uint32_t from = 0;
    ck_assert_ptr_nonnull(handles_next(&h, &from));
    ck_assert_ptr_nonnull(handles_next(&h, &from));
    ck_assert_ptr_null(handles_next(&h, &from));
    handles_done(&h);
}
END_TEST

/* ---- an independent server: every method arrives as it should -------------------------------- */

struct upload {
    char body[64];
    size_t n;
};

static enum MHD_Result mhd_answer(void *arg UNUSED, struct MHD_Connection *c, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *data_n, void **state)
{
    if (!*state) {
        *state = NEW(struct upload);
        return MHD_YES;
    }
    struct upload *u = *state;
    if (*data_n) {
        ck_assert_uint_lt(u->n + *data_n, sizeof(u->body));
        memcpy(u->body + u->n, data, *data_n);
        u->n += *data_n;
        *data_n = 0;
        return MHD_YES;
    }
    const char *type = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Content-Type");
    char *text = xasprintf("%s %s %s [%s] %s", method, url, version, type ? type : "", u->body);
    struct MHD_Response *r =
        MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_COPY);
    enum MHD_Result rc = MHD_queue_response(c, 200, r);
    MHD_destroy_response(r);
    free(text);
    return rc;
}

static void mhd_completed(void *arg UNUSED, struct MHD_Connection *c UNUSED, void **state,
                          enum MHD_RequestTerminationCode code UNUSED)
{
    free(*state);
}

static void on_mhd(void *arg, int fd UNUSED, unsigned events UNUSED)
{
    (void)MHD_run(arg);
}

struct method_row {
    const char *method, *body, *want;
};

static const struct method_row method_rows[] = {
    {"GET", NULL, "GET /x HTTP/1.1 [text/test] "},
    {"POST", "abc", "POST /x HTTP/1.1 [text/test] abc"},
    {"POST", NULL, "POST /x HTTP/1.1 [text/test] "},
    {"PUT", "abc", "PUT /x HTTP/1.1 [text/test] abc"},
    {"PATCH", "{}", "PATCH /x HTTP/1.1 [text/test] {}"},
    {"DELETE", "{}", "DELETE /x HTTP/1.1 [text/test] {}"},
    {"DELETE", NULL, "DELETE /x HTTP/1.1 [text/test] "},
};

START_TEST(method_row)
{
    const struct method_row *r = &method_rows[_i];
    begin();
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct MHD_Daemon *d =
        MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, mhd_answer, NULL, MHD_OPTION_SOCK_ADDR, &a,
                         MHD_OPTION_NOTIFY_COMPLETED, mhd_completed, NULL, MHD_OPTION_END);
    ck_assert_ptr_nonnull(d);
    int fd = MHD_get_daemon_info(d, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    int port = MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT)->port;
    ck_assert_int_eq(loop_fd_add(loop, fd, LOOP_IN, on_mhd, d, NULL), 0);
    AUTO_FREE char *url = xasprintf("http://127.0.0.1:%d/x", port);
    static const char *const headers[] = {"Content-Type: text/test"};
    struct http_req req = {.method = r->method,
                           .url = url,
                           .headers = headers,
                           .n_headers = 1,
                           .body = r->body,
                           .body_n = r->body ? strlen(r->body) : 0,
                           .proxy = ""};
    http_request(http, &req, on_done, NULL);
    raw_run_until(loop, &got.done);
    ck_assert_str_eq(got.body, r->want);
    loop_fd_del(loop, fd);
    http_free(http);
    http = NULL;
    MHD_stop_daemon(d);
    end();
}
END_TEST

/* ---- the loop -------------------------------------------------------------------------------- */

static int last_signal;
static unsigned n_ticks;
static struct timer tick;

static void on_signal(void *arg, int signo)
{
    last_signal = signo;
    loop_stop(arg);
}

static void on_tick(void *arg)
{
    struct loop *l = arg;
    n_ticks++;
    timer_set(loop_timers(l), &tick, clock_mono(loop_clock(l)), on_tick, l); /* at once again */
    if (n_ticks == 10) {
        raise(SIGUSR1);
    }
}

START_TEST(loop_signals_and_timers)
{
    last_signal = 0;
    n_ticks = 0;
    memset(&tick, 0, sizeof(tick));
    struct loop *l = loop_new(NULL, NULL);
    static const int signos[] = {SIGUSR1};
    ck_assert_int_eq(loop_signals(l, signos, 1, on_signal, l, NULL), 0);
    struct err err = ERR_INIT;
    ck_assert_int_eq(loop_signals(l, signos, 1, on_signal, l, &err), -1);
    timer_set(loop_timers(l), &tick, clock_mono(loop_clock(l)), on_tick, l);
    ck_assert_int_eq(loop_run(l, NULL), 0); /* the timer does not starve the signal */
    ck_assert_int_eq(last_signal, SIGUSR1);
    timer_stop(loop_timers(l), &tick);
    loop_free(l);
    sigset_t now;
    ck_assert_int_eq(sigprocmask(SIG_BLOCK, NULL, &now), 0);
    ck_assert_int_eq(sigismember(&now, SIGUSR1), 0);
}
END_TEST

static void ignore_fd(void *arg UNUSED, int fd UNUSED, unsigned events UNUSED)
{
}

START_TEST(loop_fd_limit)
{
    struct loop *l = loop_new(NULL, NULL);
    struct err err = ERR_INIT;
    for (unsigned i = 0; i < LOOP_FDS_MAX; i++) {
        ck_assert_int_eq(loop_fd_add(l, 0, LOOP_IN, ignore_fd, NULL, NULL), 0);
    }
    ck_assert_int_eq(loop_fd_add(l, 0, LOOP_IN, ignore_fd, NULL, &err), -1);
    ck_assert_int_eq(err.kind, ERR_LIMIT);
    loop_fd_del(l, 77); /* unknown */
    loop_free(l);
}
END_TEST

UNIT_MAIN("http", UNIT_CASES(answer_row, rows), UNIT_TEST(answer_headers), UNIT_TEST(refused),
          UNIT_CASES(bad_row, bad_rows), UNIT_TEST(signed_post), UNIT_TEST(basic_and_tls_name),
          UNIT_TEST(cancelled), UNIT_TEST(cancelled_in_a_line), UNIT_TEST(freed_in_done),
          UNIT_TEST(queued), UNIT_TEST(handles), UNIT_CASES(method_row, method_rows),
          UNIT_TEST(loop_signals_and_timers), UNIT_TEST(loop_fd_limit))
