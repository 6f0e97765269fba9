/*
 * ec2_sqs.c - one standard queue: visible, in flight, visible again, deleted; gone after 5 minutes.
 *
 * A ReceiveMessage that finds nothing stays open (ec2_call.c) until a message comes, one becomes
 * visible again, or its wait is over. A receipt handle is the message's number and how often it was
 * received; as in the real service, an old handle deletes just as well.
 */
#include "ec2_priv.h"

#include <mbedtls/md5.h>

#define SQS_BODY_MAX (256u << 10)
#define BATCH_MAX 10

void simec2_message_done(struct simec2_message *m)
{
    free(m->body);
}

static void queue_url(const struct simec2 *e, char dst[256])
{
    snprintf(dst, 256, "https://sqs.%.40s.amazonaws.com/%.20s/%.100s", e->opts.region,
             e->opts.account, e->opts.queue);
}

static void no_queue(struct simec2_call *c)
{
    simec2_fail(c, "com.amazonaws.sqs#QueueDoesNotExist", "The specified queue does not exist.");
}

/* The URL's last part names the queue, so that any host leads here. False: the call failed. */
static bool right_queue(struct simec2_call *c)
{
    const char *url = jsonx_str(c->json, "QueueUrl");
    const char *name = url ? strrchr(url, '/') : NULL;
    bool ok = *c->e->opts.queue && name && str_eq(name + 1, c->e->opts.queue);
    if (!ok) {
        no_queue(c);
    }
    return ok;
}

void simec2_get_queue_url(struct simec2_call *c)
{
    char url[256];
    if (!*c->e->opts.queue || !str_eq(jsonx_str(c->json, "QueueName"), c->e->opts.queue)) {
        no_queue(c);
        return;
    }
    queue_url(c->e, url);
    simec2_json(c, json_pack("{s:s}", "QueueUrl", url));
}

/* ---- the list ------------------------------------------------------------------------------- */

static void drop(struct simec2 *e, size_t i)
{
    simec2_message_done(&e->messages[i]);
    e->n_messages--;
    memmove(e->messages + i, e->messages + i + 1,
            (e->n_messages - i) * sizeof(struct simec2_message));
}

static void drop_old(struct simec2 *e)
{
    while (e->n_messages > 0 && e->messages[0].sent_mono_ns + MESSAGE_LIFE_NS <= simec2_mono(e)) {
        drop(e, 0);
    }
}

size_t simec2_queue_len(const struct simec2 *e)
{
    size_t n = 0;
    for (size_t i = 0; i < e->n_messages; i++) {
        n += e->messages[i].sent_mono_ns + MESSAGE_LIFE_NS > simec2_mono(e);
    }
    return n;
}

bool simec2_queue_send(struct simec2 *e, const char *text)
{
    drop_old(e);
    if (!*e->opts.queue || e->n_messages >= SIMEC2_MAX_MESSAGES || strlen(text) > SQS_BODY_MAX) {
        return false;
    }
    ARRAY_GROW(e->messages, e->n_messages, e->cap_messages);
    e->messages[e->n_messages++] = (struct simec2_message){.body = xstrdup(text),
                                                           .seq = ++e->ids,
                                                           .sent_mono_ns = simec2_mono(e),
                                                           .sent_wall_ns = simec2_wall(e),
                                                           .visible_ns = simec2_mono(e)};
    simec2_queue_wake(e);
    return true;
}

/* ---- receive -------------------------------------------------------------------------------- */

static json_t *take(struct simec2 *e, struct simec2_message *m, int64_t visibility_ns)
{
    uint8_t md5[16];
    char hex[33], id[48], handle[64], sent[32], count[16];
    struct simec2_inst *warned = *m->warns ? simec2_inst_find(e, m->warns) : NULL;
    if (warned) {
        warned->pub.notice_read = true;
    }
    m->receives++;
    m->visible_ns = simec2_mono(e) + visibility_ns;
    mbedtls_md5_ret((const unsigned char *)m->body, strlen(m->body), md5);
    for (size_t i = 0; i < sizeof(md5); i++) {
        snprintf(hex + 2 * i, 3, "%02x", md5[i]);
    }
    snprintf(id, sizeof(id), "00000000-0000-4000-9000-%012llx", (unsigned long long)m->seq);
    snprintf(handle, sizeof(handle), "%llu#%u", (unsigned long long)m->seq, m->receives);
    snprintf(sent, sizeof(sent), "%lld", (long long)(m->sent_wall_ns / NS_PER_MS));
    snprintf(count, sizeof(count), "%u", m->receives);
    return json_pack("{s:s, s:s, s:s, s:s, s:{s:s, s:s}}", "MessageId", id, "ReceiptHandle", handle,
                     "MD5OfBody", hex, "Body", m->body, "Attributes", "SentTimestamp", sent,
                     "ApproximateReceiveCount", count);
}

bool simec2_receive(struct simec2 *e, const struct simec2_receive *r, struct buf *out,
                    int64_t *ret_again_ns)
{
    int64_t now_ns = simec2_mono(e), again_ns = r->deadline_ns;
    drop_old(e);
    AUTO_JSON json_t *list = json_array();
    for (size_t i = 0; i < e->n_messages && (int64_t)json_array_size(list) < r->max; i++) {
        struct simec2_message *m = &e->messages[i];
        if (m->visible_ns > now_ns) {
            again_ns = m->visible_ns < again_ns ? m->visible_ns : again_ns;
        } else {
            json_array_append_new(list, take(e, m, r->visibility_ns));
        }
    }
    if (json_array_size(list) == 0 && now_ns < r->deadline_ns) {
        *ret_again_ns = again_ns;
        return false;
    }
    AUTO_JSON json_t *o = json_object();
    if (json_array_size(list) > 0) {
        json_object_set(o, "Messages", list);
    }
    AUTO_FREE char *text = jsonx_dump(o);
    buf_puts(out, text);
    return true;
}

void simec2_receive_message(struct simec2_call *c)
{
    int64_t max = jsonx_int(c->json, "MaxNumberOfMessages", 1);
    int64_t visibility = jsonx_int(c->json, "VisibilityTimeout", 30);
    int64_t wait = jsonx_int(c->json, "WaitTimeSeconds", 0);
    if (!right_queue(c)) {
        return;
    }
    if (max < 1 || max > 10 || visibility < 0 || visibility > 43200 || wait < 0 || wait > 20) {
        simec2_fail(c, "com.amazonaws.sqs#InvalidParameterValue",
                    "A number of the request is out of range.");
        return;
    }
    c->receive = (struct simec2_receive){.on = true,
                                         .deadline_ns = simec2_mono(c->e) + wait * NS_PER_S,
                                         .max = max,
                                         .visibility_ns = visibility * NS_PER_S};
}

/* ---- delete, send --------------------------------------------------------------------------- */

/* False: it is no receipt handle. */
static bool delete_one(struct simec2 *e, const char *handle)
{
    char seq[32];
    int64_t n;
    size_t len = handle ? strcspn(handle, "#") : 0;
    if (len == 0 || len >= sizeof(seq) || handle[len] != '#') {
        return false;
    }
    memcpy(seq, handle, len);
    seq[len] = 0;
    if (str_parse_i64(seq, &n)) {
        for (size_t i = 0; i < e->n_messages; i++) {
            if (e->messages[i].seq == (uint64_t)n) {
                drop(e, i);
                break;
            }
        }
    }
    return true;
}

void simec2_delete_message(struct simec2_call *c)
{
    if (!right_queue(c)) {
        return;
    }
    if (!delete_one(c->e, jsonx_str(c->json, "ReceiptHandle"))) {
        simec2_fail(c, "com.amazonaws.sqs#ReceiptHandleIsInvalid",
                    "The input receipt handle is invalid.");
        return;
    }
    simec2_json(c, json_object());
}

void simec2_delete_messages(struct simec2_call *c)
{
    const json_t *entries = jsonx_arr(c->json, "Entries");
    size_t i;
    json_t *entry;
    if (!right_queue(c)) {
        return;
    }
    if (json_array_size(entries) < 1 || json_array_size(entries) > BATCH_MAX) {
        bool none = json_array_size(entries) < 1;
        simec2_fail(c,
                    none ? "com.amazonaws.sqs#EmptyBatchRequest"
                         : "com.amazonaws.sqs#TooManyEntriesInBatchRequest",
                    "A batch has 1 to 10 entries.");
        return;
    }
    json_t *done = json_array(), *failed = json_array();
    json_array_foreach (entries, i, entry) {
        const char *id = jsonx_str_or(entry, "Id", "");
        if (delete_one(c->e, jsonx_str(entry, "ReceiptHandle"))) {
            json_array_append_new(done, json_pack("{s:s}", "Id", id));
        } else {
            json_array_append_new(failed, json_pack("{s:s, s:s, s:s, s:b}", "Id", id, "Code",
                                                    "ReceiptHandleIsInvalid", "Message",
                                                    "The input receipt handle is invalid.",
                                                    "SenderFault", 1));
        }
    }
    simec2_json(c, json_pack("{s:o, s:o}", "Successful", done, "Failed", failed));
}

void simec2_send_message(struct simec2_call *c)
{
    const char *body = jsonx_str(c->json, "MessageBody");
    if (!right_queue(c)) {
        return;
    }
    if (!body || !*body || !simec2_queue_send(c->e, body)) {
        simec2_fail(c, "com.amazonaws.sqs#InvalidMessageContents",
                    "The message is empty or too long, or the queue is full.");
        return;
    }
    char id[48];
    snprintf(id, sizeof(id), "00000000-0000-4000-9000-%012llx", (unsigned long long)c->e->ids);
    simec2_json(c, json_pack("{s:s}", "MessageId", id));
}

/* ---- messages of a step ---------------------------------------------------------------------- */

static int one_message(struct simec2 *e, const json_t *m, bool act, struct err *reterr)
{
    const json_t *body = json_object_get(m, "body");
    if (!json_is_string(body) && !json_is_object(body)) {
        return err_set(reterr, ERR_INVALID, "ec2.messages: body: must be a text or a map");
    }
    char *text AUTO_FREE =
        json_is_string(body) ? xstrdup(json_string_value(body)) : jsonx_dump(body);
    for (int64_t k = jsonx_int(m, "times", 1); act && k > 0; k--) {
        if (!simec2_queue_send(e, text)) {
            return err_set(reterr, ERR_INVALID, "ec2.messages: the queue does not take so many");
        }
    }
    return 0;
}

int simec2_step_messages(struct simec2 *e, const json_t *v, bool act, struct err *reterr)
{
    if (!json_is_array(v)) {
        return err_set(reterr, ERR_INVALID, "ec2.messages: must be a list");
    }
    for (size_t i = 0; i < json_array_size(v); i++) {
        if (one_message(e, json_array_get(v, i), act, reterr) < 0) {
            return -1;
        }
    }
    return 0;
}
