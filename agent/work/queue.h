/*
 * queue.h - level-triggered work: "look at this object again", any number of times.
 *
 * A queue belongs to one controller. queue_add says a key wants a look now (or later); while a look
 * has a request in flight (the handler returned QUEUE_BUSY), further adds wait and run once when
 * queue_done comes: one request in flight per object and controller. queue_done tells what is
 * next: done, look again after a time, or failed (back-off doubles from base to cap with jitter;
 * success resets it; a wish that came meanwhile is served at once, but not one that the handler
 * itself had made: it was for the case of success). Keys are forgotten when done. The order between
 * keys is the order they became due: exact in replays.
 */
#ifndef KARP_AGENT_QUEUE_H
#define KARP_AGENT_QUEUE_H

#include "agent/store/store.h"
#include "common/base/compat.h"

#include <stdbool.h>

#define QUEUE_MAX_KEYS 100000
#define QUEUE_WAIT_MAX_NS (INT64_C(120) * 1000000000)

struct queue;
struct runtime;

enum queue_verdict {
    QUEUE_OK,   /* nothing more to do until somebody adds the key */
    QUEUE_BUSY, /* a request is in flight; queue_done will be called */
    QUEUE_FAIL  /* try again after the back-off */
};

typedef enum queue_verdict (*queue_fn)(void *ctx, const char *key);

/* Keys are those of the store's objects of this kind: one that is set aside (marker.h) is not
 * looked at. */
struct queue *queue_new(struct runtime *rt, const char *name, enum store_kind of,
                        int64_t backoff_base_ns, int64_t backoff_cap_ns, queue_fn fn, void *ctx);
void queue_free(struct queue *q);
void queue_add(struct queue *q, const char *key);
/* No later than after delay_ns from now; an earlier appointment stays. Never later than after
 * QUEUE_WAIT_MAX_NS: a delay that was worked out from a wall clock must not outlive its error. */
void queue_add_after(struct queue *q, const char *key, int64_t delay_ns);
/* Ends a QUEUE_BUSY look: OK, or FAIL for the back-off (retry_after_ns > 0 overrides it). */
void queue_done(struct queue *q, const char *key, enum queue_verdict verdict,
                int64_t retry_after_ns);
/* Gives the key's present look heap memory (a request's context): freed by queue_done, after the
 * handler if it ended by itself, or with the queue, so that nothing leaks when an agent dies
 * between a request and its answer. Only from within the handler or while BUSY; replaces what was
 * there. */
void queue_attach(struct queue *q, const char *key, void *mem);
/* The key waits for a look (also in back-off) or has one under way. */
bool queue_has(const struct queue *q, const char *key);
size_t queue_depth(const struct queue *q);

#endif
