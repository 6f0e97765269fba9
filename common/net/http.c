#include "http.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/str.h"
#include "handle.h"
#include "http_easy.h"

#include <strings.h>

#define LIBCURL_MIN 0x075600 /* 7.86.0 */
#define RETRY_AFTER_MAX_S 3600
#define STREAM_SLACK (8u << 20) /* curl hands over at most some 1.6 MB between two turns */

enum call_state { CALL_QUEUED, CALL_ACTIVE, CALL_FAILED };

struct http_call {
    struct loop_transfer transfer;
    struct timer timer; /* carries a failure to start into the next turn */
    struct http *h;
    uint64_t handle;
    struct http_easy easy;
    enum call_state state;
    struct http_call *next, **prev; /* queue */
    http_done_fn done;
    void (*line)(void *arg, const char *line, size_t n);
    void *arg;
    size_t line_max;
    size_t tail_n;   /* bytes since the last newline */
    struct buf body; /* or lines that wait */
    struct buf headers;
    struct err err; /* ours, beside what curl says */
    int64_t begin_ns;
    bool *gone; /* set while a callback runs that may cancel */
    char detail[CURL_ERROR_SIZE];
};

struct http {
    struct loop *loop;
    char *user_agent;
    struct handles calls;
    size_t n_active;
    struct http_call *queue, **queue_tail;
};

/* ---- the queue ------------------------------------------------------------------------------- */

static void queue_push(struct http *h, struct http_call *call)
{
    call->next = NULL;
    call->prev = h->queue_tail;
    *h->queue_tail = call;
    h->queue_tail = &call->next;
}

static void queue_remove(struct http *h, struct http_call *call)
{
    *call->prev = call->next;
    if (call->next) {
        call->next->prev = call->prev;
    } else {
        h->queue_tail = call->prev;
    }
}

static void call_finish(struct http_call *call, CURLcode code);

static void on_failed(void *arg)
{
    call_finish(arg, CURLE_OK);
}

static void call_fail_later(struct http_call *call)
{
    struct loop *l = call->h->loop;
    call->state = CALL_FAILED;
    timer_set(loop_timers(l), &call->timer, clock_mono(loop_clock(l)), on_failed, call);
}

static void call_start(struct http_call *call)
{
    call->begin_ns = clock_mono(loop_clock(call->h->loop));
    if (loop_transfer_add(call->h->loop, &call->transfer, &call->err)) {
        call_fail_later(call);
        return;
    }
    call->state = CALL_ACTIVE;
    call->h->n_active += call->line ? 0 : 1;
}

static void queue_run(struct http *h)
{
    while (h->queue && h->n_active < HTTP_MAX_ACTIVE) {
        struct http_call *call = h->queue;
        queue_remove(h, call);
        call_start(call);
    }
}

/* Takes the call out of everything that can find it. */
static void call_detach(struct http_call *call, bool transfer_runs)
{
    struct http *h = call->h;
    switch (call->state) {
    case CALL_QUEUED:
        queue_remove(h, call);
        break;
    case CALL_ACTIVE:
        if (transfer_runs) {
            loop_transfer_del(h->loop, &call->transfer);
        }
        h->n_active -= call->line ? 0 : 1;
        break;
    case CALL_FAILED:
        timer_stop(loop_timers(h->loop), &call->timer);
        break;
    }
    handles_give(&h->calls, call->handle);
}

static void call_free(struct http_call *call)
{
    if (call->gone) {
        *call->gone = true;
    }
    http_easy_done(&call->easy);
    buf_done(&call->body);
    buf_done(&call->headers);
    free(call);
}

/* ---- curl's callbacks: nothing may be cancelled in here -------------------------------------- */

static size_t fail_limit(struct http_call *call, const char *what, size_t max)
{
    err_set(&call->err, ERR_LIMIT, "%s is longer than %zu bytes", what, max);
    return 0; /* curl ends the transfer with CURLE_WRITE_ERROR */
}

static int call_status(const struct http_call *call)
{
    long status = 0;
    curl_easy_getinfo(call->easy.easy, CURLINFO_RESPONSE_CODE, &status);
    return (int)status;
}

static bool call_streams(const struct http_call *call)
{
    return call->line && call_status(call) / 100 == 2;
}

static size_t on_header(char *p, size_t size, size_t n, void *arg)
{
    struct http_call *call = arg;
    n *= size;
    if (n >= 5 && memcmp(p, "HTTP/", 5) == 0) {
        buf_reset(&call->headers); /* after 100 Continue or a proxy's answer */
        return n;
    }
    if (buf_put(&call->headers, p, n)) {
        return fail_limit(call, "the answer's header", HTTP_HEADERS_MAX);
    }
    return n;
}

static size_t on_stream(struct http_call *call, const char *p, size_t n)
{
    const char *last = memrchr(p, '\n', n);
    const char *first = memchr(p, '\n', n);
    size_t head_n = first ? (size_t)(first - p) : n;
    if (call->tail_n + head_n > call->line_max) {
        return fail_limit(call, "a line", call->line_max);
    }
    call->tail_n = last ? n - (size_t)(last + 1 - p) : call->tail_n + n;
    if (buf_put(&call->body, p, n)) {
        return fail_limit(call, "a line", call->line_max);
    }
    if (last) {
        loop_transfer_ready(call->h->loop, &call->transfer);
    }
    return n;
}

static size_t on_body(char *p, size_t size, size_t n, void *arg)
{
    struct http_call *call = arg;
    n *= size;
    if (call_streams(call)) {
        return on_stream(call, p, n);
    }
    if (buf_put(&call->body, p, n)) {
        return fail_limit(call, "the answer", call->body.max);
    }
    return n;
}

/* ---- handing over ---------------------------------------------------------------------------- */

/* Hands over all complete lines. True if the call was cancelled on the way. */
static bool deliver_lines(struct http_call *call)
{
    bool gone = false;
    call->gone = &gone;
    size_t at = 0;
    char *end;
    while ((end = memchr(call->body.p + at, '\n', call->body.n - at)) != NULL) {
        *end = '\0';
        size_t begin = at, n = (size_t)(end - call->body.p) - at;
        at += n + 1;
        if (n > 0 && call->body.p[begin + n - 1] == '\r') {
            call->body.p[begin + --n] = '\0';
        }
        if (n == 0) {
            continue;
        }
        call->line(call->arg, call->body.p + begin, n);
        if (gone) {
            return true;
        }
    }
    call->gone = NULL;
    buf_consume(&call->body, at);
    return false;
}

static void on_ready(struct loop_transfer *t)
{
    (void)deliver_lines((struct http_call *)(void *)t);
}

static int64_t call_date_ns(const struct http_resp *resp)
{
    char text[64];
    time_t s = http_header(resp, "Date", text, sizeof(text)) ? curl_getdate(text, NULL) : -1;
    return s > 0 ? (int64_t)s * NS_PER_S : 0;
}

static int64_t call_retry_after_ns(const struct http_call *call)
{
    curl_off_t s = 0;
    curl_easy_getinfo(call->easy.easy, CURLINFO_RETRY_AFTER, &s);
    s = s < 0 ? 0 : s > RETRY_AFTER_MAX_S ? RETRY_AFTER_MAX_S : s;
    return s * NS_PER_S;
}

static void call_finish(struct http_call *call, CURLcode code)
{
    struct http *h = call->h;
    struct http_resp resp = {.err = call->err, .status = call_status(call)};
    if (code != CURLE_OK && resp.err.kind == ERR_NONE) {
        http_easy_err(&resp.err, call->easy.easy, code, call->detail);
    }
    bool streamed = call_streams(call);
    resp.body = streamed || !call->body.p ? "" : call->body.p;
    resp.body_n = streamed ? 0 : call->body.n;
    resp.headers = call->headers.p ? call->headers.p : "";
    resp.date_ns = call_date_ns(&resp);
    resp.retry_after_ns = call_retry_after_ns(call);
    resp.took_ns = call->begin_ns ? clock_mono(loop_clock(h->loop)) - call->begin_ns : 0;
    /* From here on nobody else knows the call; done may even free the client. */
    call_detach(call, false);
    queue_run(h);
    call->done(call->arg, &resp);
    call_free(call);
}

static void on_done(struct loop_transfer *t, int code)
{
    struct http_call *call = (struct http_call *)(void *)t;
    /* Off the loop already, but a line callback may still cancel: then it must not be taken off
     * again, which libcurl would answer with a mere error code. */
    if (call_streams(call) && deliver_lines(call)) {
        return;
    }
    call_finish(call, (CURLcode)code);
}

/* ---- the client ------------------------------------------------------------------------------ */

struct http *http_new(struct loop *l, const char *user_agent, struct err *reterr)
{
    const curl_version_info_data *v = curl_version_info(CURLVERSION_NOW);
    if (v->version_num < LIBCURL_MIN) {
        err_set(reterr, ERR_INVALID, "libcurl %s is too old: 7.86.0 or newer is needed",
                v->version);
        return NULL;
    }
    struct http *h = NEW(struct http);
    h->loop = l;
    h->user_agent = xstrdup(user_agent);
    h->queue_tail = &h->queue;
    handles_init(&h->calls);
    return h;
}

void http_free(struct http *h)
{
    if (!h) {
        return;
    }
    struct http_call *call;
    for (uint32_t i = 0; (call = handles_next(&h->calls, &i)) != NULL;) {
        call_detach(call, true);
        call_free(call);
    }
    handles_done(&h->calls);
    free(h->user_agent);
    free(h);
}

static void call_options(struct http_call *call, const struct http_req *req)
{
    CURL *easy = call->easy.easy;
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->detail);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, call);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
    call->transfer.easy = easy;
    call->transfer.done = on_done;
    call->transfer.ready = on_ready;
    call->line = req->line;
    call->line_max = req->line_max ? req->line_max : HTTP_LINE_MAX;
    size_t body_max = req->body_max ? req->body_max : HTTP_BODY_MAX;
    buf_init(&call->body, req->line ? call->line_max + STREAM_SLACK : body_max);
    buf_init(&call->headers, HTTP_HEADERS_MAX);
}

uint64_t http_request(struct http *h, const struct http_req *req, http_done_fn done, void *arg)
{
    struct http_call *call = NEW(struct http_call);
    call->h = h;
    call->done = done;
    call->arg = arg;
    bool full = h->calls.n >= HTTP_MAX_OPEN;
    call->handle = handles_take(&h->calls, call);
    if (full) {
        err_set(&call->err, ERR_LIMIT, "more than %u requests are open", HTTP_MAX_OPEN);
        call_fail_later(call);
    } else if (http_easy_init(&call->easy, req, h->user_agent, &call->err)) {
        call_fail_later(call);
    } else {
        call_options(call, req);
        if (req->line) {
            call_start(call);
        } else {
            queue_push(h, call);
            queue_run(h);
        }
    }
    return call->handle;
}

void http_cancel(struct http *h, uint64_t handle)
{
    struct http_call *call = handles_find(&h->calls, handle);
    if (!call) {
        return;
    }
    call_detach(call, true);
    call_free(call);
    queue_run(h);
}

size_t http_open_count(const struct http *h)
{
    return h->calls.n;
}

bool http_header(const struct http_resp *r, const char *name, char *dst, size_t size)
{
    size_t name_n = strlen(name);
    for (const char *p = r->headers; p && *p; p = strchr(p, '\n'), p = p ? p + 1 : NULL) {
        if (strncasecmp(p, name, name_n) != 0 || p[name_n] != ':') {
            continue;
        }
        p += name_n + 1;
        p += strspn(p, " \t");
        size_t n = strcspn(p, "\r\n");
        n = n < size - 1 ? n : size - 1;
        memcpy(dst, p, n);
        dst[n] = '\0';
        return true;
    }
    return false;
}
