/*
 * sqs.h - the calls to one SQS queue, as pure functions (cf. services.h).
 *
 * Protocol: JSON 1.0, POST, X-Amz-Target AmazonSQS.<action> (endpoint.h); the action is the name of
 * the encoder in SQS's spelling: GetQueueUrl, ReceiveMessage, DeleteMessageBatch. Encoders write
 * the body into a buf the caller has initialized, results live in the arena.
 *
 * A received message is hidden from other receivers for the visibility timeout and comes back if it
 * is not deleted in that time: with another receipt, the one to delete it by. So nothing is lost by
 * a receiver that dies, and everything may come twice.
 */
#ifndef KARP_AWS_SQS_H
#define KARP_AWS_SQS_H

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/base/err.h"

#define SQS_BATCH_MAX 10  /* messages of one call, SQS's own limit */
#define SQS_WAIT_MAX_S 20 /* of a long poll, likewise */

struct sqs_message {
    const char *id, *receipt;
    const char *body; /* any text */
    size_t body_n;
    int64_t sent_wall_ns; /* 0 = not told */
};

struct sqs_messages {
    const struct sqs_message *v;
    size_t n;
};

struct sqs_receive {
    const char *queue_url;
    int max; /* 1 … SQS_BATCH_MAX */
    int64_t visibility_s, wait_s;
};

void sqs_encode_get_queue_url(struct buf *b, const char *queue_name);
int sqs_parse_get_queue_url(struct arena *a, const char *body, size_t n, const char **ret_url,
                            struct err *reterr);

void sqs_encode_receive(struct buf *b, const struct sqs_receive *req);
/* An answer without Messages is an empty one. A message without receipt or body is left out: it
 * can be neither read nor deleted. */
int sqs_parse_receive(struct arena *a, const char *body, size_t n, struct sqs_messages *ret,
                      struct err *reterr);

/* At most SQS_BATCH_MAX receipts; they are told apart by their place. */
void sqs_encode_delete_batch(struct buf *b, const char *queue_url, const char *const *receipts,
                             size_t n);
/* How many were deleted; *ret_why is the first failure's code and message, NULL if there is none.
 */
int sqs_parse_delete_batch(struct arena *a, const char *body, size_t n, size_t *ret_deleted,
                           const char **ret_why, struct err *reterr);

#endif
