/*
 * loop.h - one thread's event loop: curl_multi_poll, a timer heap, signals and extra descriptors.
 *
 * A loop is an object: two may live in one process, each on its own thread. It owns the curl multi
 * handle, the timers and the signal descriptor; it borrows clock and extra descriptors. Everything
 * it calls back runs inside loop_run, on the caller's thread, one callback at a time. A callback
 * may add and remove anything, itself included, and may stop the loop; it must not run it again.
 *
 * One turn: wait until the next timer, at most LOOP_WAIT_MAX_NS; then finished transfers, ready
 * descriptors (in the order they were added), and all timers that were due when the turn began, at
 * most LOOP_TIMERS_PER_TURN, so that a timer which sets itself to "now" never starves the sockets.
 *
 * Lag is the time a turn spent in callbacks: how late everything else was.
 */
#ifndef KARP_NET_LOOP_H
#define KARP_NET_LOOP_H

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/base/timer.h"

#include <stdbool.h>

#define LOOP_FDS_MAX 128u
#define LOOP_IDLE_CONNECTIONS 64L /* kept open for reuse */
#define LOOP_TIMERS_PER_TURN 10000u
#define LOOP_WAIT_MAX_NS (INT64_C(60) * 1000000000)

/* What a descriptor is watched for, and what it is ready for (errors count as LOOP_IN). */
enum loop_events { LOOP_IN = 1, LOOP_OUT = 2 };

struct loop;

typedef void (*loop_fd_fn)(void *arg, int fd, unsigned events);
typedef void (*loop_signal_fn)(void *arg, int signo);

/* The clock is borrowed and must be a real one: waiting happens in the kernel. NULL = clock_real.
 */
struct loop *loop_new(const struct clock *clock, struct err *reterr);
/* Transfers must be gone (http_free); pending timers become not pending. NULL is fine. */
void loop_free(struct loop *l);

struct timers *loop_timers(struct loop *l);
const struct clock *loop_clock(const struct loop *l);

/* Watches a descriptor that the caller keeps open until loop_fd_del. ERR_LIMIT past LOOP_FDS_MAX.
 */
int loop_fd_add(struct loop *l, int fd, unsigned events, loop_fd_fn fn, void *arg,
                struct err *reterr);
/* Unknown descriptors are ignored. No callback for fd after this. */
void loop_fd_del(struct loop *l, int fd);

/* Blocks the signals for the calling thread and delivers them to fn from within loop_run. Once per
 * loop. loop_free restores the thread's mask. */
int loop_signals(struct loop *l, const int *signos, size_t n, loop_signal_fn fn, void *arg,
                 struct err *reterr);

/* Runs until loop_stop; -1 only if waiting itself fails. */
int loop_run(struct loop *l, struct err *reterr);
/* One turn that waits at most max_wait_ns. For tests and for drivers with their own end. */
int loop_turn(struct loop *l, int64_t max_wait_ns, struct err *reterr);
/* The turn at hand is the last of loop_run. Called before loop_run it ends that at once. */
void loop_stop(struct loop *l);

/* ---- for http.c only ------------------------------------------------------------------------- */

/* A transfer: embedded in its owner, zeroed at first; CURLOPT_PRIVATE of its handle is the loop's.
 */
struct loop_transfer {
    void *easy; /* CURL * */
    /* The transfer ended and has been taken off the loop. code is a CURLcode. */
    void (*done)(struct loop_transfer *t, int code);
    /* After loop_transfer_ready, in the same turn but outside of curl's own callbacks. */
    void (*ready)(struct loop_transfer *t);
    struct loop_transfer *next_ready, **prev_ready; /* the loop's */
};

int loop_transfer_add(struct loop *l, struct loop_transfer *t, struct err *reterr);
/* Takes a running transfer off; neither done nor ready will be called. Not from within curl's own
 * callbacks, which is what ready is for. */
void loop_transfer_del(struct loop *l, struct loop_transfer *t);
/* To be called from curl's callbacks: there is something to hand over. */
void loop_transfer_ready(struct loop *l, struct loop_transfer *t);

#endif
