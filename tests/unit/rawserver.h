/*
 * rawserver.h - a server on loopback that answers with exactly the bytes a test wants, right or
 * wrong, from within the test's own loop.
 *
 * It reads a request up to the end of its body (Content-Length) and asks `answer` for the bytes and
 * for what to do then. Requests are kept as they came.
 */
#ifndef KARP_TESTS_RAWSERVER_H
#define KARP_TESTS_RAWSERVER_H

#include "unit.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/str.h"
#include "common/net/loop.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#define RAW_CONNS 80

enum raw_then { RAW_KEEP, RAW_CLOSE, RAW_RESET };

struct raw_server {
    struct loop *loop;
    int fd, port;
    struct raw_conn {
        struct raw_server *s;
        int fd; /* -1 = free */
        struct buf in;
    } conns[RAW_CONNS];
    unsigned n_conns, n_open, n_requests; /* connections ever, now; requests ever */
    struct buf last;                      /* the last request, as it came */
    char path[512];                       /* its path */
    /* Puts the answer to the request (path, last) into out; empty = say nothing. */
    enum raw_then (*answer)(struct raw_server *s, struct buf *out);
};

static inline void raw_close(struct raw_conn *c, bool reset)
{
    if (reset) {
        struct linger now = {1, 0};
        (void)setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    }
    loop_fd_del(c->s->loop, c->fd);
    close(c->fd);
    c->fd = -1;
    c->s->n_open--;
    buf_done(&c->in);
}

/* Bytes of the first whole request, 0 if it is not whole yet. */
static inline size_t raw_request_n(const struct buf *in)
{
    const char *end = memmem(in->p, in->n, "\r\n\r\n", 4);
    if (!end) {
        return 0;
    }
    const char *length = strcasestr(in->p, "\ncontent-length:");
    size_t body_n = length && length < end ? (size_t)atoi(length + 16) : 0;
    size_t n = (size_t)(end - in->p) + 4 + body_n;
    return n <= in->n ? n : 0;
}

static inline void raw_answer(struct raw_conn *c, size_t n)
{
    struct raw_server *s = c->s;
    buf_reset(&s->last);
    buf_put(&s->last, c->in.p, n);
    buf_consume(&c->in, n);
    s->n_requests++;
    const char *from = strchr(s->last.p, ' ');
    size_t path_n = from ? strcspn(from + 1, " ") : 0;
    (void)snprintf(s->path, sizeof(s->path), "%.*s", (int)path_n, from ? from + 1 : "");
    struct buf out;
    buf_init(&out, 4u << 20);
    enum raw_then then = s->answer(s, &out);
    if (out.n) {
        (void)!send(c->fd, out.p, out.n, MSG_NOSIGNAL);
    }
    buf_done(&out);
    if (then != RAW_KEEP) {
        raw_close(c, then == RAW_RESET);
    }
}

static inline void raw_on_data(void *arg, int fd, unsigned events UNUSED)
{
    struct raw_conn *c = arg;
    char block[16384];
    ssize_t got = recv(fd, block, sizeof(block), 0);
    if (got <= 0) {
        raw_close(c, false);
        return;
    }
    buf_put(&c->in, block, (size_t)got);
    for (size_t n; c->fd >= 0 && (n = raw_request_n(&c->in)) > 0;) {
        raw_answer(c, n);
    }
}

static inline void raw_on_accept(void *arg, int fd, unsigned events UNUSED)
{
    struct raw_server *s = arg;
    for (size_t i = 0; i < RAW_CONNS; i++) {
        struct raw_conn *c = &s->conns[i];
        if (c->fd < 0) {
            c->s = s;
            c->fd = accept(fd, NULL, NULL);
            ck_assert_int_ge(c->fd, 0);
            buf_init(&c->in, 8u << 20);
            ck_assert_int_eq(loop_fd_add(s->loop, c->fd, LOOP_IN, raw_on_data, c, NULL), 0);
            s->n_conns++;
            s->n_open++;
            return;
        }
    }
    ck_abort_msg("too many connections");
}

static inline void raw_start(struct raw_server *s, struct loop *l,
                             enum raw_then (*answer)(struct raw_server *, struct buf *))
{
    memset(s, 0, sizeof(*s));
    s->loop = l;
    s->answer = answer;
    buf_init(&s->last, 8u << 20);
    for (size_t i = 0; i < RAW_CONNS; i++) {
        s->conns[i].fd = -1;
    }
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(a);
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(s->fd, 0);
    ck_assert_int_eq(bind(s->fd, (struct sockaddr *)&a, n), 0);
    ck_assert_int_eq(listen(s->fd, 128), 0);
    ck_assert_int_eq(getsockname(s->fd, (struct sockaddr *)&a, &n), 0);
    s->port = ntohs(a.sin_port);
    ck_assert_int_eq(loop_fd_add(l, s->fd, LOOP_IN, raw_on_accept, s, NULL), 0);
}

static inline void raw_stop(struct raw_server *s)
{
    for (size_t i = 0; i < RAW_CONNS; i++) {
        if (s->conns[i].fd >= 0) {
            raw_close(&s->conns[i], false);
        }
    }
    loop_fd_del(s->loop, s->fd);
    close(s->fd);
    buf_done(&s->last);
}

/* Has the last request this header line (without case)? */
static inline bool raw_has(const struct raw_server *s, const char *line)
{
    return strcasestr(s->last.p, line) != NULL;
}

static inline void raw_reply(struct buf *out, int status, const char *headers, const char *body)
{
    buf_printf(out, "HTTP/1.1 %d X\r\n%sContent-Length: %zu\r\n\r\n%s", status, headers,
               strlen(body), body);
}

/* Turns until *flag, at most 10 s. */
static inline void raw_run_until(struct loop *l, const bool *flag)
{
    int64_t end_ns = clock_mono(loop_clock(l)) + 10 * NS_PER_S;
    while (!*flag) {
        ck_assert_msg(clock_mono(loop_clock(l)) < end_ns, "it did not happen in 10 s");
        ck_assert_int_eq(loop_turn(l, 100 * NS_PER_MS, NULL), 0);
    }
}

/* Turns for a while: what must not happen would happen in it. */
static inline void raw_run_for(struct loop *l, int64_t ns)
{
    int64_t end_ns = clock_mono(loop_clock(l)) + ns;
    while (clock_mono(loop_clock(l)) < end_ns) {
        ck_assert_int_eq(loop_turn(l, 5 * NS_PER_MS, NULL), 0);
    }
}

#endif
