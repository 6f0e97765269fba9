/* mailbox.c - see mailbox.h. */
#include "mailbox.h"

#include "agent/store/store.h"
#include "agent/work/gate.h"
#include "agent/work/metrics.h"
#include "common/aws/client.h"
#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/str.h"

#define BODY_MAX (1u << 20) /* of a request: receipts are about 400 bytes */
#define POLL_TIMEOUT_NS (30 * NS_PER_S)

/* One call at a time. */
struct slot {
    struct mailbox *m;
    uint64_t call; /* 0 = free */
    size_t n;      /* receipts that it deletes */
};

struct mailbox {
    struct runtime *rt;
    const char *name;
    mailbox_read_fn read;
    mailbox_gap_fn gap;
    void *ctx;
    char *url;
    struct slot ask; /* for the URL */
    struct slot polls[MAILBOX_POLLS_MAX], deletes[MAILBOX_DELETES_MAX];
    unsigned wanted;   /* polls that should be open */
    bool heard;        /* something was received once */
    int64_t heard_ns;  /* and when the last time */
    unsigned failures; /* in a row */
    char **receipts;   /* to be deleted */
    size_t n_receipts, cap_receipts;
    struct timer pump, gather;
    struct metric_family *deleted;
};

static void pump(void *arg);

static int64_t now_of(const struct mailbox *m)
{
    return clock_mono(m->rt->clock);
}

static void pump_after(struct mailbox *m, int64_t ns)
{
    timer_set(&m->rt->timers, &m->pump, now_of(m) + ns, pump, m);
}

static void send(struct slot *s, const char *action, struct buf *body, int64_t timeout_ns,
                 aws_result_fn done)
{
    const struct aws_call call = {.service = "sqs",
                                  .action = action,
                                  .body = body->p,
                                  .body_n = body->n,
                                  .timeout_ns = timeout_ns,
                                  .repeatable = true};
    s->call = aws_call(s->m->rt->awsc, &call, done, s);
}

/* ---- failing ----------------------------------------------------------------------------------
 */

static void failed(struct mailbox *m, const struct err *err)
{
    if (err->kind == ERR_CANCELLED) { /* the gate closed meanwhile */
        pump_after(m, MAILBOX_LOOK_NS);
        return;
    }
    if (m->failures++ == 0) {
        log_error(m->rt->log, "cannot read the interruption queue", "queue", m->name, "error",
                  err->msg);
    }
    if (err->kind == ERR_NOT_FOUND) {
        free(m->url); /* made anew, it may have another one */
        m->url = NULL;
    }
    int64_t ns = MAILBOX_BACKOFF_NS;
    for (unsigned i = 1; i < m->failures && ns < MAILBOX_BACKOFF_MAX_NS; i++) {
        ns *= 2;
    }
    m->wanted = 1;
    pump_after(m, entropy_jitter(m->rt->entropy,
                                 ns < MAILBOX_BACKOFF_MAX_NS ? ns : MAILBOX_BACKOFF_MAX_NS, 20));
}

static void succeeded(struct mailbox *m)
{
    if (m->failures > 0) {
        log_info(m->rt->log, "the interruption queue can be read again", "queue", m->name);
    }
    m->failures = 0;
}

/* ---- deleting ---------------------------------------------------------------------------------
 */

static void flush(void *arg);

static void on_deleted(void *arg, const struct aws_result *res)
{
    struct slot *s = arg;
    struct mailbox *m = s->m;
    struct arena mem;
    struct err err = res->err;
    size_t deleted = 0;
    const char *why = NULL;
    s->call = 0;
    arena_init(&mem, 1024, MAILBOX_ARENA_MAX);
    if (err.kind == ERR_NONE) {
        sqs_parse_delete_batch(&mem, res->body, res->body_n, &deleted, &why, &err);
    }
    if (err.kind != ERR_NONE) {
        why = err.msg;
    }
    if (why) {
        log_debug(m->rt->log, "messages were not deleted and will come again", "error", why);
    }
    metric_add(m->deleted, NULL, (double)deleted);
    arena_done(&mem);
    flush(m);
}

static void drop_receipts(struct mailbox *m, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(m->receipts[i]);
    }
    m->n_receipts -= n;
    if (m->n_receipts > 0) {
        memmove(m->receipts, m->receipts + n, m->n_receipts * sizeof(*m->receipts));
    }
}

static void delete_some(struct slot *s)
{
    struct mailbox *m = s->m;
    size_t n = m->n_receipts < SQS_BATCH_MAX ? m->n_receipts : SQS_BATCH_MAX;
    AUTO_BUF struct buf b;
    buf_init(&b, BODY_MAX);
    sqs_encode_delete_batch(&b, m->url, (const char *const *)m->receipts, n);
    drop_receipts(m, n);
    send(s, "DeleteMessageBatch", &b, 0, on_deleted);
}

/* Sends what waits, in as many calls as may be open. */
static void flush(void *arg)
{
    struct mailbox *m = arg;
    for (size_t i = 0; i < MAILBOX_DELETES_MAX && m->n_receipts > 0 && m->url; i++) {
        if (!m->deletes[i].call) {
            delete_some(&m->deletes[i]);
        }
    }
}

void mailbox_delete(struct mailbox *m, const char *receipt)
{
    if (m->n_receipts >= MAILBOX_RECEIPTS_MAX) {
        return; /* it comes again */
    }
    ARRAY_GROW(m->receipts, m->n_receipts, m->cap_receipts);
    m->receipts[m->n_receipts++] = xstrdup(receipt);
    int64_t due_ns = now_of(m) + (m->n_receipts < SQS_BATCH_MAX ? MAILBOX_GATHER_NS : 0);
    if (!timer_pending(&m->gather) || m->gather.at_ns > due_ns) {
        timer_set(&m->rt->timers, &m->gather, due_ns, flush, m);
    }
}

/* ---- receiving --------------------------------------------------------------------------------
 */

static bool may_poll(const struct mailbox *m)
{
    const struct runtime *rt = m->rt;
    return gate_open(rt->gate) && store_listed(rt->store, STORE_CLAIM) &&
           store_listed(rt->store, STORE_NODE);
}

static void take(struct mailbox *m, const struct sqs_messages *list)
{
    int64_t now_ns = now_of(m);
    m->gap(m->ctx, m->heard ? now_ns - m->heard_ns : NS_NEVER);
    m->heard = true;
    m->heard_ns = now_ns;
    for (size_t i = 0; i < list->n; i++) {
        if (m->read(m->ctx, &list->v[i])) {
            mailbox_delete(m, list->v[i].receipt);
        }
    }
    if (list->n > SQS_BATCH_MAX / 2) { /* an answer need not be full */
        m->wanted = m->wanted * 2 < MAILBOX_POLLS_MAX ? m->wanted * 2 : MAILBOX_POLLS_MAX;
    } else if (list->n == 0) {
        m->wanted = 1;
    }
}

static void on_received(void *arg, const struct aws_result *res)
{
    struct slot *s = arg;
    struct mailbox *m = s->m;
    struct sqs_messages list;
    struct err err = res->err;
    struct arena mem;
    s->call = 0;
    arena_init(&mem, 16 << 10, MAILBOX_ARENA_MAX);
    if (err.kind != ERR_NONE || sqs_parse_receive(&mem, res->body, res->body_n, &list, &err) < 0) {
        failed(m, &err);
    } else {
        succeeded(m);
        if (may_poll(m)) { /* else they come again, to whoever may */
            take(m, &list);
        }
        /* Not at once: there are other things to do between two answers. */
        pump_after(m, 0);
    }
    arena_done(&mem);
}

static void open_poll(struct slot *s)
{
    AUTO_BUF struct buf b;
    buf_init(&b, BODY_MAX);
    const struct sqs_receive req = {.queue_url = s->m->url,
                                    .max = SQS_BATCH_MAX,
                                    .visibility_s = MAILBOX_VISIBILITY_S,
                                    .wait_s = SQS_WAIT_MAX_S};
    sqs_encode_receive(&b, &req);
    send(s, "ReceiveMessage", &b, POLL_TIMEOUT_NS, on_received);
}

static void on_url(void *arg, const struct aws_result *res)
{
    struct slot *s = arg;
    struct mailbox *m = s->m;
    struct err err = res->err;
    const char *url = NULL;
    struct arena mem;
    s->call = 0;
    arena_init(&mem, 1024, MAILBOX_ARENA_MAX);
    if (err.kind == ERR_NONE) {
        sqs_parse_get_queue_url(&mem, res->body, res->body_n, &url, &err);
    }
    if (url) {
        m->url = xstrdup(url);
        pump_after(m, 0);
    } else {
        failed(m, &err);
    }
    arena_done(&mem);
}

static void ask_url(struct mailbox *m)
{
    AUTO_BUF struct buf b;
    buf_init(&b, BODY_MAX);
    if (!m->ask.call) {
        sqs_encode_get_queue_url(&b, m->name);
        send(&m->ask, "GetQueueUrl", &b, 0, on_url);
    }
}

static void pump(void *arg)
{
    struct mailbox *m = arg;
    if (!may_poll(m)) {
        pump_after(m, MAILBOX_LOOK_NS);
        return;
    }
    if (!m->url) {
        ask_url(m);
        return;
    }
    unsigned open = 0;
    for (size_t i = 0; i < MAILBOX_POLLS_MAX; i++) {
        open += m->polls[i].call != 0;
    }
    for (size_t i = 0; i < MAILBOX_POLLS_MAX && open < m->wanted; i++) {
        if (!m->polls[i].call) {
            open_poll(&m->polls[i]);
            open++;
        }
    }
}

/* ---- life --------------------------------------------------------------------------------------
 */

struct mailbox *mailbox_new(struct runtime *rt, const char *queue_name, mailbox_read_fn read,
                            mailbox_gap_fn gap, void *ctx)
{
    struct mailbox *m = NEW(struct mailbox);
    *m = (struct mailbox){
        .rt = rt, .name = queue_name, .read = read, .gap = gap, .ctx = ctx, .wanted = 1};
    m->ask.m = m;
    for (size_t i = 0; i < MAILBOX_POLLS_MAX; i++) {
        m->polls[i].m = m;
    }
    for (size_t i = 0; i < MAILBOX_DELETES_MAX; i++) {
        m->deletes[i].m = m;
    }
    m->deleted = metrics_family(rt->metrics, "karpenter_interruption_deleted_messages_total",
                                "Messages deleted from the interruption queue.", METRIC_COUNTER,
                                NULL, NULL, 0);
    return m;
}

static void cancel(struct slot *s)
{
    if (s->call) {
        aws_cancel(s->m->rt->awsc, s->call);
    }
}

void mailbox_free(struct mailbox *m)
{
    if (!m) {
        return;
    }
    timer_stop(&m->rt->timers, &m->pump);
    timer_stop(&m->rt->timers, &m->gather);
    cancel(&m->ask);
    for (size_t i = 0; i < MAILBOX_POLLS_MAX; i++) {
        cancel(&m->polls[i]);
    }
    for (size_t i = 0; i < MAILBOX_DELETES_MAX; i++) {
        cancel(&m->deletes[i]);
    }
    drop_receipts(m, m->n_receipts);
    free(m->receipts);
    free(m->url);
    free(m);
}

void mailbox_start(struct mailbox *m)
{
    pump_after(m, 0);
}
