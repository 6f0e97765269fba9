/*
 * reaper.h - instances end, and it is proven that they have.
 *
 * Node and claim both wait for the same instance; the reaper asks EC2 once for both. "Gone" takes
 * two answers by id, a second or more apart, that EC2 does not know the instance or has terminated
 * it. An instance that was launched within the last minute and was never seen may only not be
 * visible yet: then the answers must come after that minute.
 *
 * TerminateInstances is sent until it is taken, then the instance is looked at every 2 s, later
 * every 5 s; one that still runs 30 s afterwards is ordered again. Failures back off.
 * All of it is a cache: a restart asks again.
 */
#ifndef KARP_AGENT_REAPER_H
#define KARP_AGENT_REAPER_H

#include "agent/runtime.h"
#include "agent/work/queue.h"

#define REAPER_POLL_NS (2 * NS_PER_S)
#define REAPER_POLL_SLOW_NS (5 * NS_PER_S) /* after 30 s */
#define REAPER_PROOF_NS (1 * NS_PER_S)
#define REAPER_AGAIN_NS (30 * NS_PER_S)
#define REAPER_YOUNG_NS (60 * NS_PER_S)
#define REAPER_KEEP_NS (10 * NS_PER_MIN) /* remembered as gone */

struct reaper;

struct reaper *reaper_new(struct runtime *rt);
void reaper_free(struct reaper *r);

/* The instance is to end. launched_ns: wall, 0 = long ago. True once it is proven gone; until then
 * key is added to q when it is. *ret_taken (may be NULL): EC2 has taken the order. */
bool reaper_end(struct reaper *r, const char *instance_id, int64_t launched_ns, struct queue *q,
                const char *key, bool *ret_taken);
/* Only looks: true once it is proven gone. */
bool reaper_look(struct reaper *r, const char *instance_id, int64_t launched_ns, struct queue *q,
                 const char *key);

#endif
