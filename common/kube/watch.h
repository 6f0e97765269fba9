/*
 * watch.h - a reflector: keeps an owner's copy of one kind up to date, for ever.
 *
 * LIST in pages, then WATCH from that list's resourceVersion with bookmarks and a timeoutSeconds of
 * 5 to 10 minutes at random. What the owner hears:
 *
 *     list_begin, object*, list_end      the objects that exist; after list_end everything that was
 *                                        known before list_begin and not named since is gone
 *     object / removed …                 each change, in the server's order
 *
 * Nothing is lost and nothing comes out of order. list_begin may come again before list_end (a list
 * that had to start over). Between list_begin and list_end the old copy is still the best there is.
 *
 *  - Orderly end, or a break: WATCH again from the last resourceVersion seen (events and
 *    bookmarks).
 *  - 410, as answer or as ERROR event: LIST again.
 *  - Neither event nor bookmark for WATCH_STALL_NS: the connection is taken for dead and replaced.
 *  - Failures back off from 0.8 s to 30 s: a step that doubles, of which half is at random; never
 *    sooner than the server asks. Two minutes without a failure reset that. The first 410 in two
 *    minutes is answered at once.
 *  - WATCH_TRIES failed watches in a row without a word: LIST again (a restored etcd may know
 *    nothing of our resourceVersion).
 *
 * The owner frees the watch; callbacks may do it. It borrows client, timers, clock and entropy.
 */
#ifndef KARP_KUBE_WATCH_H
#define KARP_KUBE_WATCH_H

#include "client.h"
#include "common/base/clock.h"
#include "common/base/entropy.h"
#include "common/base/timer.h"

#define WATCH_STALL_NS (INT64_C(150) * 1000000000)
#define WATCH_BACKOFF_MIN_NS (INT64_C(800) * 1000000)
#define WATCH_BACKOFF_MAX_NS (INT64_C(30) * 1000000000)
#define WATCH_HEALTHY_NS (INT64_C(120) * 1000000000)
#define WATCH_TRIES 5u
#define WATCH_TIMEOUT_MIN_S 300
#define WATCH_TIMEOUT_MAX_S 600

struct watch_cb {
    void (*list_begin)(void *arg);
    void (*object)(void *arg, json_t *object);  /* listed, added or modified; borrowed */
    void (*removed)(void *arg, json_t *object); /* its last state */
    void (*list_end)(void *arg);
    void (*failed)(void *arg, const struct err *why); /* may be NULL: a try failed; backing off */
};

struct watch_env {
    const struct kube_client *client;
    struct timers *timers;
    const struct clock *clock;
    struct entropy *entropy;
};

struct watch;

/* Starts at once. opts (NULL = none): ns, selectors and page size (limit) only; copied. */
struct watch *watch_new(const struct watch_env *env, enum kube_kind k,
                        const struct kube_list_opts *opts, const struct watch_cb *cb, void *arg);
void watch_free(struct watch *w); /* NULL is fine */

/* A first list has been completed. Stays true; see watch_error for how it goes now. */
bool watch_synced(const struct watch *w);
/* The last failure if the watch is not healthy now, else NULL: a watch is healthy from the first
 * event, bookmark or orderly end after a failure, or a complete list, on. */
const struct err *watch_error(const struct watch *w);
/* Monotonic time of the last word from the server (event, bookmark, page); 0 = never. */
int64_t watch_heard_ns(const struct watch *w);

#endif
