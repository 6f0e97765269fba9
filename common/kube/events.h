/*
 * events.h - Events for people: said once, not a thousand times.
 *
 *  - The same key within its window (2 minutes unless said otherwise, as Karpenter's recorder) is
 *    dropped; after it the existing Event is patched with count and lastTimestamp, or written anew
 *    if the server no longer has it.
 *  - A token bucket bounds what all sources write together: EVENTS_BURST at once, then
 *    EVENTS_PER_S. What does not fit is dropped and counted, never queued.
 *  - At most EVENTS_KEYS_MAX keys are remembered, of what was written; the one not heard of for
 *    longest goes first.
 *  - Nothing waits for an Event and nothing fails because of one. Messages are cut at
 *    EVENTS_MESSAGE_MAX bytes.
 *
 * Events are core/v1, component and reportingComponent "karp", in the namespace of the object they
 * are about, "default" for cluster-scoped ones.
 */
#ifndef KARP_KUBE_EVENTS_H
#define KARP_KUBE_EVENTS_H

#include "client.h"
#include "common/base/clock.h"
#include "common/base/entropy.h"

#define EVENTS_WINDOW_NS (INT64_C(120) * 1000000000)
#define EVENTS_BURST 50
#define EVENTS_PER_S 10
#define EVENTS_KEYS_MAX 4096u
#define EVENTS_MESSAGE_MAX 1024u
#define EVENTS_IN_FLIGHT_MAX 64u
#define EVENTS_COMPONENT "karp"

struct events;

struct events_subject {
    enum kube_kind kind;
    const char *ns, *name, *uid; /* ns "" or NULL for cluster-scoped */
};

struct events_env {
    const struct kube_client *client;
    const struct clock *clock;
    struct entropy *entropy;
    const char *host; /* reportingInstance: the agent's pod name */
};

/* All of env is borrowed. */
struct events *events_new(const struct events_env *env);
void events_free(struct events *e); /* open requests are cancelled; NULL is fine */

/*
 * One Event about `about`. dedupe tells apart what should be told apart beside subject and reason
 * (NULL = the message); window_ns 0 = EVENTS_WINDOW_NS.
 */
void events_post(struct events *e, const struct events_subject *about, bool warning,
                 const char *reason, const char *dedupe, int64_t window_ns, const char *fmt, ...)
    PRINTF(7, 8);
#define events_normal(e, about, reason, ...)                                                       \
    events_post((e), (about), false, (reason), NULL, 0, __VA_ARGS__)
#define events_warning(e, about, reason, ...)                                                      \
    events_post((e), (about), true, (reason), NULL, 0, __VA_ARGS__)

/* False switches writing off (stand-by, observe): posts are dropped without a trace. */
void events_enable(struct events *e, bool on);

struct events_stats {
    uint64_t written, deduplicated, limited, failed;
};
struct events_stats events_stats(const struct events *e);

#endif
