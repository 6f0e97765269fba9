/*
 * mailbox.h - the interruption queue: its messages as they come, and their end.
 *
 *     one long poll → full? more of them at once, up to MAILBOX_POLLS_MAX → empty? one again
 *
 * A long poll costs nothing while nothing comes and answers at once when something does; the loop
 * never waits for it. Each message is handed to `read` once per receipt; what read returns decides:
 * a message that is done with is deleted, in batches that are gathered for MAILBOX_GATHER_NS; one
 * that is kept stays hidden for MAILBOX_VISIBILITY_S and then comes again, unless mailbox_delete
 * was called for its receipt meanwhile. A deletion that fails is forgotten: the message comes
 * again.
 *
 * Only who may write polls (a poll hides messages from everybody else, so the gate counts it as a
 * write), and only once the claims are known: before that every notice would be a stranger's.
 * Failures back off to MAILBOX_BACKOFF_MAX_NS and are logged when they begin and when they end. A
 * queue that does not exist is looked for again, for ever.
 */
#ifndef KARP_AGENT_MAILBOX_H
#define KARP_AGENT_MAILBOX_H

#include "agent/runtime.h"
#include "common/aws/sqs.h"

#define MAILBOX_POLLS_MAX 10
#define MAILBOX_DELETES_MAX 10 /* calls at once */
#define MAILBOX_RECEIPTS_MAX 10000
#define MAILBOX_VISIBILITY_S 20
#define MAILBOX_GATHER_NS (50 * NS_PER_MS)
#define MAILBOX_LOOK_NS (1 * NS_PER_S) /* until somebody who may not poll asks again */
#define MAILBOX_BACKOFF_NS (1 * NS_PER_S)
#define MAILBOX_BACKOFF_MAX_NS (30 * NS_PER_S)
#define MAILBOX_ARENA_MAX (4u << 20)

struct mailbox;

/* True: done with it. The message is good for the call. */
typedef bool (*mailbox_read_fn)(void *ctx, const struct sqs_message *m);
/* Messages were received again after the queue could not be read for gap_ns; at the first time
 * NS_NEVER. Runs before they are read. */
typedef void (*mailbox_gap_fn)(void *ctx, int64_t gap_ns);

struct mailbox *mailbox_new(struct runtime *rt, const char *queue_name, mailbox_read_fn read,
                            mailbox_gap_fn gap, void *ctx);
void mailbox_free(struct mailbox *m);
void mailbox_start(struct mailbox *m);
/* A message that was kept is done with now. */
void mailbox_delete(struct mailbox *m, const char *receipt);

#endif
