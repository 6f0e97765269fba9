#include "httpd.h"

#include "common/base/alloc.h"
#include "common/base/str.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>

struct httpd {
    struct loop *loop;
    struct MHD_Daemon *daemon;
    struct agent *const *agent;
    struct timer timer; /* for connections that time out while nothing else happens */
    int epoll_fd;
};

static void arm(struct httpd *h);

static void run(struct httpd *h)
{
    MHD_run(h->daemon);
    arm(h);
}

static void on_timer(void *arg)
{
    run(arg);
}

static void on_ready(void *arg, int fd, unsigned events)
{
    (void)fd;
    (void)events;
    run(arg);
}

static void arm(struct httpd *h)
{
    MHD_UNSIGNED_LONG_LONG wait_ms;
    if (MHD_get_timeout(h->daemon, &wait_ms) == MHD_YES) {
        int64_t at = clock_mono(loop_clock(h->loop)) + (int64_t)wait_ms * NS_PER_MS;
        timer_set(loop_timers(h->loop), &h->timer, at, on_timer, h);
    } else {
        timer_stop(loop_timers(h->loop), &h->timer);
    }
}

static enum MHD_Result reply(struct MHD_Connection *c, int status, const char *type,
                             const char *body, size_t n)
{
    struct MHD_Response *r =
        MHD_create_response_from_buffer(n, (void *)(uintptr_t)body, MHD_RESPMEM_MUST_COPY);
    if (!r) {
        return MHD_NO;
    }
    MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    enum MHD_Result queued = MHD_queue_response(c, (unsigned)status, r);
    MHD_destroy_response(r);
    return queued;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *c, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_n, void **state)
{
    struct httpd *h = arg;
    (void)version;
    (void)upload;
    (void)state;
    if (*upload_n > 0) {
        *upload_n = 0;
        return MHD_YES;
    }
    if (!str_eq(method, "GET") && !str_eq(method, "HEAD")) {
        return reply(c, MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain", "GET only\n", 9);
    }
    AUTO_BUF struct buf body;
    buf_init(&body, HTTPD_BODY_MAX);
    int status = MHD_HTTP_SERVICE_UNAVAILABLE;
    if (*h->agent) {
        status = agent_http(*h->agent, url, &body);
    }
    const char *type = str_eq(url, "/metrics") ? "text/plain; version=0.0.4; charset=utf-8"
                                               : "text/plain; charset=utf-8";
    return reply(c, status, type, body.p, body.n);
}

static struct MHD_Daemon *start(struct httpd *h, const char *address, int port)
{
    unsigned flags = MHD_USE_EPOLL | MHD_USE_TURBO;
    struct sockaddr_in6 any6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    const struct sockaddr *sa = (const struct sockaddr *)&v4;
    bool all = !address || !*address;
    if (all) {
        v4.sin_addr.s_addr = htonl(INADDR_ANY);
    } else if (inet_pton(AF_INET, address, &v4.sin_addr) != 1) {
        if (inet_pton(AF_INET6, address, &any6.sin6_addr) != 1) {
            errno = EINVAL;
            return NULL;
        }
        flags |= MHD_USE_IPv6;
        sa = (const struct sockaddr *)&any6;
    }
    struct MHD_Daemon *d = NULL;
    if (all) {
        d = MHD_start_daemon(flags | MHD_USE_DUAL_STACK, (uint16_t)port, NULL, NULL, on_request, h,
                             MHD_OPTION_CONNECTION_LIMIT, (unsigned)HTTPD_MAX_CONNECTIONS,
                             MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HTTPD_IDLE_S,
                             MHD_OPTION_SOCK_ADDR, (const struct sockaddr *)&any6, MHD_OPTION_END);
    }
    if (d) {
        return d;
    }
    return MHD_start_daemon(flags, (uint16_t)port, NULL, NULL, on_request, h,
                            MHD_OPTION_CONNECTION_LIMIT, (unsigned)HTTPD_MAX_CONNECTIONS,
                            MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HTTPD_IDLE_S,
                            MHD_OPTION_SOCK_ADDR, sa, MHD_OPTION_END);
}

struct httpd *httpd_new(struct loop *loop, const char *address, int port,
                        struct agent *const *agent, struct err *reterr)
{
    struct httpd *h = NEW(struct httpd);
    h->loop = loop;
    h->agent = agent;
    errno = 0;
    h->daemon = start(h, address, port);
    if (!h->daemon) {
        err_set(reterr, ERR_UNAVAILABLE, "cannot listen on %s port %d: %s",
                address && *address ? address : "any address,", port,
                errno ? strerror(errno) : "refused");
        free(h);
        return NULL;
    }
    h->epoll_fd = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    if (loop_fd_add(loop, h->epoll_fd, LOOP_IN, on_ready, h, reterr) < 0) {
        MHD_stop_daemon(h->daemon);
        free(h);
        return NULL;
    }
    return h;
}

void httpd_free(struct httpd *h)
{
    if (!h) {
        return;
    }
    timer_stop(loop_timers(h->loop), &h->timer);
    loop_fd_del(h->loop, h->epoll_fd);
    MHD_stop_daemon(h->daemon);
    free(h);
}
