/*
 * volumes.h - which nodes still have VolumeAttachments, asked for only while nodes drain.
 *
 * One LIST serves everybody who asks within VOLUMES_FRESH_NS. It is read by node only: whose volume
 * an attachment is does not matter here (node_termination.c stops waiting when only pods that are
 * not drained are left with volumes).
 */
#ifndef KARP_AGENT_VOLUMES_H
#define KARP_AGENT_VOLUMES_H

#include "agent/runtime.h"
#include "agent/work/queue.h"

#define VOLUMES_FRESH_NS (1 * NS_PER_S)
#define VOLUMES_MAX 200000

struct volumes;

enum volumes_answer {
    VOLUMES_ASKING, /* key will be added to q */
    VOLUMES_NONE,
    VOLUMES_ATTACHED
};

struct volumes *volumes_new(struct runtime *rt);
void volumes_free(struct volumes *v);
/* since_ns: monotonic; an answer from before it does not count. ret_first: a name for messages. */
enum volumes_answer volumes_ask(struct volumes *v, const char *node_name, int64_t since_ns,
                                struct queue *q, const char *key, const char **ret_first);

#endif
