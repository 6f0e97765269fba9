#include "loop.h"

#include "common/base/alloc.h"

#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

struct loop_fd {
    int fd;
    unsigned events;
    loop_fd_fn fn; /* NULL: removed, goes at the end of the turn */
    void *arg;
};

struct loop {
    CURLM *multi;
    const struct clock *clock;
    struct timers timers;
    struct loop_fd fds[LOOP_FDS_MAX];
    size_t n_fds;
    struct loop_transfer *ready;
    struct loop_transfer **ready_tail;
    bool stop;
    /* signals */
    int signal_fd; /* -1 = none */
    sigset_t old_mask;
    loop_signal_fn signal_fn;
    void *signal_arg;
};

struct loop *loop_new(const struct clock *clock, struct err *reterr)
{
    /* Idempotent and counted since 7.84; the first caller initialises TLS. */
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        err_set(reterr, ERR_BUG, "libcurl cannot be initialised");
        return NULL;
    }
    CURLM *multi = curl_multi_init();
    if (!multi) {
        curl_global_cleanup();
        err_set(reterr, ERR_BUG, "libcurl gives no multi handle");
        return NULL;
    }
    struct loop *l = NEW(struct loop);
    l->multi = multi;
    l->clock = clock ? clock : &clock_real;
    l->ready_tail = &l->ready;
    l->signal_fd = -1;
    timers_init(&l->timers);
    /* One connection per request: HTTP/2 is off anyway. */
    curl_multi_setopt(multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, LOOP_IDLE_CONNECTIONS);
    return l;
}

void loop_free(struct loop *l)
{
    if (!l) {
        return;
    }
    if (l->signal_fd >= 0) {
        close(l->signal_fd);
        pthread_sigmask(SIG_SETMASK, &l->old_mask, NULL);
    }
    timers_done(&l->timers);
    curl_multi_cleanup(l->multi);
    curl_global_cleanup();
    free(l);
}

struct timers *loop_timers(struct loop *l)
{
    return &l->timers;
}

const struct clock *loop_clock(const struct loop *l)
{
    return l->clock;
}

/* ---- descriptors and signals ----------------------------------------------------------------- */

int loop_fd_add(struct loop *l, int fd, unsigned events, loop_fd_fn fn, void *arg,
                struct err *reterr)
{
    if (l->n_fds >= LOOP_FDS_MAX) {
        return err_set(reterr, ERR_LIMIT, "more than %u descriptors in one loop", LOOP_FDS_MAX);
    }
    l->fds[l->n_fds++] = (struct loop_fd){.fd = fd, .events = events, .fn = fn, .arg = arg};
    return 0;
}

void loop_fd_del(struct loop *l, int fd)
{
    for (size_t i = 0; i < l->n_fds; i++) {
        if (l->fds[i].fd == fd && l->fds[i].fn) {
            l->fds[i].fn = NULL;
            return;
        }
    }
}

static void sweep_fds(struct loop *l)
{
    size_t kept = 0;
    for (size_t i = 0; i < l->n_fds; i++) {
        if (l->fds[i].fn) {
            l->fds[kept++] = l->fds[i];
        }
    }
    l->n_fds = kept;
}

static void on_signal_fd(void *arg, int fd, unsigned events UNUSED)
{
    struct loop *l = arg;
    struct signalfd_siginfo info;
    while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        l->signal_fn(l->signal_arg, (int)info.ssi_signo);
    }
}

int loop_signals(struct loop *l, const int *signos, size_t n, loop_signal_fn fn, void *arg,
                 struct err *reterr)
{
    if (l->signal_fd >= 0) {
        return err_set(reterr, ERR_BUG, "loop_signals called twice");
    }
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < n; i++) {
        sigaddset(&set, signos[i]);
    }
    if (pthread_sigmask(SIG_BLOCK, &set, &l->old_mask) != 0) {
        return err_set(reterr, ERR_BUG, "blocking signals failed");
    }
    int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd < 0) {
        int os = errno;
        pthread_sigmask(SIG_SETMASK, &l->old_mask, NULL);
        err_set(reterr, ERR_BUG, "signalfd: %s", strerror(os));
        return -1;
    }
    l->signal_fn = fn;
    l->signal_arg = arg;
    if (loop_fd_add(l, fd, LOOP_IN, on_signal_fd, l, reterr)) {
        close(fd);
        pthread_sigmask(SIG_SETMASK, &l->old_mask, NULL);
        return -1;
    }
    l->signal_fd = fd;
    return 0;
}

/* ---- transfers ------------------------------------------------------------------------------- */

int loop_transfer_add(struct loop *l, struct loop_transfer *t, struct err *reterr)
{
    curl_easy_setopt(t->easy, CURLOPT_PRIVATE, t);
    CURLMcode code = curl_multi_add_handle(l->multi, t->easy);
    if (code != CURLM_OK) {
        return err_set(reterr, ERR_BUG, "libcurl: %s", curl_multi_strerror(code));
    }
    return 0;
}

static void unlink_ready(struct loop *l, struct loop_transfer *t)
{
    if (!t->prev_ready) {
        return;
    }
    *t->prev_ready = t->next_ready;
    if (t->next_ready) {
        t->next_ready->prev_ready = t->prev_ready;
    } else {
        l->ready_tail = t->prev_ready;
    }
    t->next_ready = NULL;
    t->prev_ready = NULL;
}

void loop_transfer_del(struct loop *l, struct loop_transfer *t)
{
    unlink_ready(l, t);
    curl_multi_remove_handle(l->multi, t->easy);
}

void loop_transfer_ready(struct loop *l, struct loop_transfer *t)
{
    if (t->prev_ready) {
        return;
    }
    t->next_ready = NULL;
    t->prev_ready = l->ready_tail;
    *l->ready_tail = t;
    l->ready_tail = &t->next_ready;
}

static void run_ready(struct loop *l)
{
    while (l->ready) {
        struct loop_transfer *t = l->ready;
        unlink_ready(l, t);
        t->ready(t);
    }
}

static void run_finished(struct loop *l)
{
    CURLMsg *msg;
    int left;
    while ((msg = curl_multi_info_read(l->multi, &left)) != NULL) {
        if (msg->msg != CURLMSG_DONE) {
            continue;
        }
        /* The message goes with its handle: take all of it first. */
        CURLcode code = msg->data.result;
        CURL *easy = msg->easy_handle;
        char *private = NULL;
        curl_easy_getinfo(easy, CURLINFO_PRIVATE, &private);
        struct loop_transfer *t = (struct loop_transfer *)(void *)private;
        loop_transfer_del(l, t);
        t->done(t, (int)code);
    }
}

/* ---- turns ----------------------------------------------------------------------------------- */

static unsigned ready_events(short revents)
{
    unsigned events = 0;
    if (revents & ~CURL_WAIT_POLLOUT) { /* libcurl folds POLLERR and POLLHUP into POLLIN */
        events |= LOOP_IN;
    }
    if (revents & CURL_WAIT_POLLOUT) {
        events |= LOOP_OUT;
    }
    return events;
}

static void run_fds(struct loop *l, const struct curl_waitfd *waits, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct loop_fd *f = &l->fds[i];
        if (f->fn && waits[i].revents) {
            f->fn(f->arg, f->fd, ready_events(waits[i].revents));
        }
    }
}

static void run_timers(struct loop *l)
{
    int64_t now_ns = clock_mono(l->clock);
    for (unsigned i = 0; i < LOOP_TIMERS_PER_TURN; i++) {
        if (!timers_run_one(&l->timers, now_ns)) {
            return;
        }
    }
}

/* Milliseconds until the next timer, rounded up: waking early would spin. */
static int wait_ms(const struct loop *l, int64_t max_wait_ns)
{
    int64_t wait_ns = max_wait_ns < LOOP_WAIT_MAX_NS ? max_wait_ns : LOOP_WAIT_MAX_NS;
    int64_t next_ns = timers_next_ns(&l->timers);
    if (next_ns != NS_NEVER) {
        int64_t until_ns = next_ns - clock_mono(l->clock);
        wait_ns = until_ns < wait_ns ? until_ns : wait_ns;
    }
    if (wait_ns <= 0) {
        return 0;
    }
    return (int)((wait_ns + NS_PER_MS - 1) / NS_PER_MS);
}

int loop_turn(struct loop *l, int64_t max_wait_ns, struct err *reterr)
{
    struct curl_waitfd waits[LOOP_FDS_MAX];
    sweep_fds(l);
    size_t n = l->n_fds;
    for (size_t i = 0; i < n; i++) {
        waits[i] = (struct curl_waitfd){.fd = l->fds[i].fd};
        waits[i].events = (short)(((l->fds[i].events & LOOP_IN) ? CURL_WAIT_POLLIN : 0) |
                                  ((l->fds[i].events & LOOP_OUT) ? CURL_WAIT_POLLOUT : 0));
    }
    CURLMcode code = curl_multi_poll(l->multi, waits, (unsigned)n, wait_ms(l, max_wait_ns), NULL);
    if (code != CURLM_OK) {
        return err_set(reterr, ERR_BUG, "waiting: %s", curl_multi_strerror(code));
    }
    int running;
    code = curl_multi_perform(l->multi, &running);
    if (code != CURLM_OK) {
        return err_set(reterr, ERR_BUG, "libcurl: %s", curl_multi_strerror(code));
    }
    run_ready(l);
    run_finished(l);
    run_fds(l, waits, n);
    run_timers(l);
    return 0;
}

int loop_run(struct loop *l, struct err *reterr)
{
    while (!l->stop) {
        if (loop_turn(l, LOOP_WAIT_MAX_NS, reterr)) {
            return -1;
        }
    }
    l->stop = false;
    return 0;
}

void loop_stop(struct loop *l)
{
    l->stop = true;
}
