/* test_aws_sqs.c - the queue's wire (aws/sqs.h) */
#include "common/aws/sqs.h"
#include "common/base/clock.h"
#include "unit.h"

static struct arena arena;

START_TEST(encodes)
{
    static const char *const receipts[] = {"r\"1", "r2"};
    const struct sqs_receive req = {
        .queue_url = "https://q/1/n", .max = 10, .visibility_s = 20, .wait_s = 20};
    AUTO_BUF struct buf b = {0};
    buf_init(&b, 1000);
    sqs_encode_get_queue_url(&b, "karp");
    ck_assert_str_eq(b.p, "{\"QueueName\":\"karp\"}");
    buf_reset(&b);
    sqs_encode_receive(&b, &req);
    ck_assert_str_eq(b.p, "{\"QueueUrl\":\"https://q/1/n\",\"MaxNumberOfMessages\":10,"
                          "\"VisibilityTimeout\":20,\"WaitTimeSeconds\":20,"
                          "\"AttributeNames\":[\"SentTimestamp\"]}");
    buf_reset(&b);
    sqs_encode_delete_batch(&b, "https://q/1/n", receipts, 2);
    ck_assert_str_eq(b.p, "{\"QueueUrl\":\"https://q/1/n\",\"Entries\":["
                          "{\"Id\":\"0\",\"ReceiptHandle\":\"r\\\"1\"},"
                          "{\"Id\":\"1\",\"ReceiptHandle\":\"r2\"}]}");
}
END_TEST

#define MESSAGE(receipt, body, sent)                                                               \
    "{\"MessageId\":\"m\",\"ReceiptHandle\":\"" receipt "\",\"Body\":\"" body                      \
    "\",\"Attributes\":{\"SentTimestamp\":\"" sent "\"}}"

static const struct {
    const char *body;
    int n; /* -1 = refused */
    const char *first;
    int64_t sent_ns;
} received[] = {
    {"{}", 0, "", 0},
    {"{\"Messages\":null}", 0, "", 0},
    {"{\"Messages\":[]}", 0, "", 0},
    {"{\"Messages\":[" MESSAGE("r", "hello", "1700000000123") "]}", 1, "hello",
     INT64_C(1700000000123) * NS_PER_MS},
    {"{\"Messages\":[" MESSAGE("r", "", "") "," MESSAGE("s", "x", "1") "]}", 2, "", 0},
    {"{\"Messages\":[" MESSAGE("r", "x", "9223372036854775807") "]}", 1, "x", 0},
    {"{\"Messages\":[" MESSAGE("r", "x", "-5") "]}", 1, "x", 0},
    {"{\"Messages\":[" MESSAGE("", "no receipt", "1") "]}", 0, "", 0},
    {"{\"Messages\":[{\"ReceiptHandle\":\"r\"},{\"ReceiptHandle\":\"r\",\"Body\":{}},7,null]}", 0,
     "", 0},
    {"[]", -1, "", 0},
    {"", -1, "", 0},
    {"{\"Messages\":[", -1, "", 0},
};

START_TEST(receives)
{
    struct sqs_messages got = {0};
    struct err e = ERR_INIT;
    arena_init(&arena, 0, 1u << 20);
    int rc = sqs_parse_receive(&arena, received[_i].body, strlen(received[_i].body), &got, &e);
    ck_assert_int_eq(rc, received[_i].n < 0 ? -1 : 0);
    ck_assert_int_eq(e.kind, rc ? ERR_INVALID : ERR_NONE);
    if (rc == 0) {
        ck_assert_uint_eq(got.n, (size_t)received[_i].n);
    }
    if (got.n > 0) {
        ck_assert_str_eq(got.v[0].body, received[_i].first);
        ck_assert_uint_eq(got.v[0].body_n, strlen(received[_i].first));
        ck_assert_int_eq(got.v[0].sent_wall_ns, received[_i].sent_ns);
    }
    arena_done(&arena);
}
END_TEST

static const struct {
    const char *body;
    int deleted; /* -1 = refused */
    const char *why;
} deletes[] = {
    {"{\"Successful\":[{\"Id\":\"0\"},{\"Id\":\"1\"}]}", 2, NULL},
    {"{\"Successful\":[{\"Id\":\"0\"}],\"Failed\":[{\"Id\":\"1\",\"Code\":\"InternalError\","
     "\"Message\":\"oh\",\"SenderFault\":false}]}",
     1, "InternalError: oh"},
    {"{\"Failed\":[{}]}", 0, "(no code): "},
    {"{}", 0, NULL},
    {"7", -1, NULL},
};

START_TEST(deleted)
{
    size_t n = 99;
    const char *why = "x";
    const char *body = deletes[_i].body;
    arena_init(&arena, 0, 1u << 20);
    int rc = sqs_parse_delete_batch(&arena, body, strlen(body), &n, &why, NULL);
    ck_assert_int_eq(rc, deletes[_i].deleted < 0 ? -1 : 0);
    if (rc == 0) {
        ck_assert_uint_eq(n, (size_t)deletes[_i].deleted);
        ck_assert_pstr_eq(why, deletes[_i].why);
    }
    arena_done(&arena);
}
END_TEST

START_TEST(urls)
{
    static const char body[] = "{\"QueueUrl\":\"https://sqs/1/karp\"}";
    const char *url = NULL;
    arena_init(&arena, 0, 1u << 20);
    ck_assert_int_eq(sqs_parse_get_queue_url(&arena, body, sizeof(body) - 1, &url, NULL), 0);
    ck_assert_str_eq(url, "https://sqs/1/karp");
    for (size_t n = 0; n < sizeof(body) - 1; n++) {
        ck_assert_int_eq(sqs_parse_get_queue_url(&arena, body, n, &url, NULL), -1);
    }
    ck_assert_int_eq(sqs_parse_get_queue_url(&arena, "{\"QueueUrl\":\"\"}", 15, &url, NULL), -1);
    arena_done(&arena);
}
END_TEST

UNIT_MAIN("aws_sqs", UNIT_TEST(encodes), UNIT_CASES(receives, received),
          UNIT_CASES(deleted, deletes), UNIT_TEST(urls))
