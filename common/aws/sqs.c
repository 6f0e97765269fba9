/* sqs.c - see sqs.h. */
#include "sqs.h"

#include "common/base/clock.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"

#include <stdlib.h>

static void put(struct buf *b, json_t *o)
{
    char *text = jsonx_dump(o);
    buf_puts(b, text);
    free(text);
    json_decref(o);
}

void sqs_encode_get_queue_url(struct buf *b, const char *queue_name)
{
    put(b, json_pack("{s:s}", "QueueName", queue_name));
}

int sqs_parse_get_queue_url(struct arena *a, const char *body, size_t n, const char **ret_url,
                            struct err *reterr)
{
    AUTO_JSON json_t *o = jsonx_parse(body, n, "GetQueueUrl", reterr);
    const char *url = o ? jsonx_str(o, "QueueUrl") : NULL;
    if (!o) {
        return -1;
    }
    if (!url || !*url) {
        return err_set(reterr, ERR_INVALID, "GetQueueUrl: the answer has no URL");
    }
    *ret_url = arena_strdup(a, url);
    return 0;
}

void sqs_encode_receive(struct buf *b, const struct sqs_receive *req)
{
    put(b,
        json_pack("{s:s, s:i, s:I, s:I, s:[s]}", "QueueUrl", req->queue_url, "MaxNumberOfMessages",
                  req->max, "VisibilityTimeout", (json_int_t)req->visibility_s, "WaitTimeSeconds",
                  (json_int_t)req->wait_s, "AttributeNames", "SentTimestamp"));
}

/* Milliseconds since 1970, as text. */
static int64_t sent_ns(const json_t *message)
{
    const char *text = jsonx_str(message, "Attributes.SentTimestamp");
    int64_t ms, ns;
    bool ok = text && str_parse_i64(text, &ms) && !__builtin_mul_overflow(ms, NS_PER_MS, &ns);
    return ok && ns > 0 ? ns : 0;
}

int sqs_parse_receive(struct arena *a, const char *body, size_t n, struct sqs_messages *ret,
                      struct err *reterr)
{
    AUTO_JSON json_t *o = jsonx_parse(body, n, "ReceiveMessage", reterr);
    if (!json_is_object(o)) {
        return o ? err_set(reterr, ERR_INVALID, "ReceiveMessage: the answer is no object") : -1;
    }
    const json_t *list = jsonx_arr(o, "Messages");
    struct sqs_message *v = ARENA_NEW_N(a, struct sqs_message, json_array_size(list));
    size_t i, count = 0;
    json_t *m;
    json_array_foreach (list, i, m) {
        const json_t *text = json_object_get(m, "Body");
        const char *receipt = jsonx_str(m, "ReceiptHandle");
        if (!json_is_string(text) || !receipt || !*receipt) {
            continue;
        }
        size_t len = json_string_length(text);
        v[count++] = (struct sqs_message){
            .id = arena_strdup(a, jsonx_str_or(m, "MessageId", "")),
            .receipt = arena_strdup(a, receipt),
            .body = arena_strndup(a, json_string_value(text), len),
            .body_n = len,
            .sent_wall_ns = sent_ns(m),
        };
    }
    *ret = (struct sqs_messages){v, count};
    return 0;
}

void sqs_encode_delete_batch(struct buf *b, const char *queue_url, const char *const *receipts,
                             size_t n)
{
    json_t *entries = json_array();
    for (size_t i = 0; i < n && i < SQS_BATCH_MAX; i++) {
        char id[8];
        snprintf(id, sizeof(id), "%zu", i);
        json_array_append_new(entries,
                              json_pack("{s:s, s:s}", "Id", id, "ReceiptHandle", receipts[i]));
    }
    put(b, json_pack("{s:s, s:o}", "QueueUrl", queue_url, "Entries", entries));
}

int sqs_parse_delete_batch(struct arena *a, const char *body, size_t n, size_t *ret_deleted,
                           const char **ret_why, struct err *reterr)
{
    AUTO_JSON json_t *o = jsonx_parse(body, n, "DeleteMessageBatch", reterr);
    if (!json_is_object(o)) {
        return o ? err_set(reterr, ERR_INVALID, "DeleteMessageBatch: the answer is no object") : -1;
    }
    const json_t *failed = json_array_get(jsonx_arr(o, "Failed"), 0);
    *ret_deleted = json_array_size(jsonx_arr(o, "Successful"));
    *ret_why = failed ? arena_printf(a, "%s: %s", jsonx_str_or(failed, "Code", "(no code)"),
                                     jsonx_str_or(failed, "Message", ""))
                      : NULL;
    return 0;
}
