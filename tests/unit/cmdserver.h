/*
 * cmdserver.h - a small API server for commands: a thread that answers each request from a function
 * of the test's and writes down what it was asked.
 */
#ifndef KARP_TESTS_CMDSERVER_H
#define KARP_TESTS_CMDSERVER_H

#include "cmdrun.h"
#include "unit.h"

#include "common/base/clock.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#define CMDSERVER_LOG_MAX (64u << 10)
#define CMDSERVER_REQUEST_MAX 8192u

#define LIST(kind, version, items)                                                                 \
    "{\"kind\": \"" kind "List\", \"apiVersion\": \"" version                                      \
    "\", \"metadata\": {\"resourceVersion\": \"5\"}, \"items\": [" items "]}"

struct server {
    /* The body of the answer to this request, which begins with its line. */
    const char *(*answer)(const struct server *s, const char *request, int *ret_status);
    const char *forbid; /* the test's own: paths that begin so are not allowed; NULL = none */
    bool bodies;        /* log those of requests too, each on a line of its own */
    int fd;
    pthread_t thread;
    char log[CMDSERVER_LOG_MAX]; /* request lines; read after the end */
    size_t n;
};

static inline void server_log(struct server *s, const char *text, size_t n)
{
    if (n > 0 && s->n + n + 2 < CMDSERVER_LOG_MAX) {
        memcpy(s->log + s->n, text, n);
        s->n += n;
        s->log[s->n++] = '\n';
        s->log[s->n] = '\0';
    }
}

static inline void server_reply(struct server *s, int fd, const char *request)
{
    char head[200];
    int status;
    const char *end = strstr(request, "\r\n\r\n");
    server_log(s, request, strcspn(request, "\r\n"));
    if (s->bodies) {
        server_log(s, end + 4, strlen(end + 4));
    }
    const char *body = s->answer(s, request, &status);
    int n = snprintf(head, sizeof(head),
                     "HTTP/1.1 %d X\r\nContent-Type: application/json\r\nConnection: close\r\n"
                     "Content-Length: %zu\r\n\r\n",
                     status, strlen(body));
    (void)(send(fd, head, (size_t)n, MSG_NOSIGNAL) == n &&
           send(fd, body, strlen(body), MSG_NOSIGNAL) > 0);
}

/* Up to the end of its body. */
static inline bool server_is_whole(const char *request, size_t n)
{
    const char *end = strstr(request, "\r\n\r\n");
    const char *length = strcasestr(request, "\ncontent-length:");
    size_t body_n = length && length < end ? (size_t)atoi(length + 16) : 0;
    return end && n >= (size_t)(end - request) + 4 + body_n;
}

static inline void *server_run(void *arg)
{
    struct server *s = arg;
    for (int fd; (fd = accept(s->fd, NULL, NULL)) >= 0; close(fd)) {
        char request[CMDSERVER_REQUEST_MAX];
        size_t n = 0;
        for (ssize_t got; n < sizeof(request) - 1 &&
                          (got = read(fd, request + n, sizeof(request) - 1 - n)) > 0;) {
            n += (size_t)got;
            request[n] = '\0';
            if (server_is_whole(request, n)) {
                server_reply(s, fd, request);
                break;
            }
        }
    }
    return NULL;
}

/* The rest of *s is the caller's to set before. */
static inline void server_start(struct server *s, char url[64])
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    s->fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(s->fd, (struct sockaddr *)&at, len), 0);
    ck_assert_int_eq(listen(s->fd, 64), 0);
    ck_assert_int_eq(getsockname(s->fd, (struct sockaddr *)&at, &len), 0);
    ck_assert_int_eq(pthread_create(&s->thread, NULL, server_run, s), 0);
    snprintf(url, 64, "http://127.0.0.1:%d", ntohs(at.sin_port));
}

static inline void server_stop(struct server *s)
{
    shutdown(s->fd, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->fd);
}

/* ---- commands that write ----------------------------------------------------------------------
 */

struct ran {
    struct cmdrun r;
    int code;
    char *log; /* what the server was asked, bodies too */
};

/* types: what the person at the terminal does; NULL = there is none. forbid: see struct server. */
static inline void
ran_typing(const struct cmd_info *info, const char *const *args, const char *types,
           const char *(*answer)(const struct server *s, const char *request, int *ret_status),
           const char *forbid, struct ran *ret)
{
    struct server *s = calloc(1, sizeof(*s));
    char url[64];
    s->answer = answer;
    s->forbid = forbid;
    s->bodies = true;
    server_start(s, url);
    cmdrun_typing(info, args, url, types, &ret->r, &ret->code);
    server_stop(s);
    ret->log = strdup(s->log);
    free(s);
}

static inline void ran_done(struct ran *x)
{
    cmdrun_done(&x->r);
    free(x->log);
}

/* Who may be in charge: another controller, one of ours, nobody; and what a command that writes
 * makes of it. */
static const struct {
    const char *holder;
    int code;
    const char *said;
} leads[] = {
    {"ip-10-0-0-1_karpenter", 3, "refused: ip-10-0-0-1_karpenter is in charge"},
    {"karp-agent-x-1", 0, ""},
    {"", 0, "no agent is in charge"},
};

/* The list of Leases with one that he has renewed right now. */
static inline void server_leases(char *ret, size_t n, const char *holder)
{
    char now[TIMEFMT_TEXT];
    snprintf(ret, n,
             LIST("Lease", "coordination.k8s.io/v1",
                  "{\"metadata\": {\"name\": \"karpenter-leader-election\", \"namespace\": "
                  "\"kube-system\"}, \"spec\": {\"holderIdentity\": \"%s\", \"renewTime\": "
                  "\"%s\", \"leaseDurationSeconds\": 15}}"),
             holder, timefmt_rfc3339_micro(clock_wall(&clock_real), now));
}

#endif
