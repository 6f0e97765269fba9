/* test_notice.c - what messages of the interruption queue say (leave/notice.h) */
#include "agent/leave/notice.h"
#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/str.h"
#include "unit.h"

#define EC2(type, detail)                                                                          \
    "{'version':'0','source':'aws.ec2','detail-type':'" type                                       \
    "','time':'2026-03-01T10:00:00Z','resources':['arn:aws:ec2:eu-west-1:1:instance/i-x'],"        \
    "'detail':" detail "}"
#define HEALTH(detail)                                                                             \
    "{'version':'0','source':'aws.health','detail-type':'AWS Health Event','detail':" detail "}"
#define ID "'instance-id':'i-0a'"
#define STATE(s) EC2("EC2 Instance State-change Notification", "{" ID ",'state':'" s "'}")
#define SPOT "EC2 Spot Instance Interruption Warning"

static const struct {
    const char *text;
    int kind; /* -1 = cannot be read */
    const char *ids;
} rows[] = {
    {EC2(SPOT, "{" ID ",'instance-action':'terminate'}"), NOTICE_SPOT, "i-0a "},
    {EC2(SPOT, "{" ID ",'instance-action':'hibernate'}"), NOTICE_SPOT, "i-0a "},
    {EC2("EC2 Instance Rebalance Recommendation", "{" ID "}"), NOTICE_REBALANCE, "i-0a "},
    {EC2("EC2 Capacity Reservation Instance Interruption Warning", "{" ID "}"), NOTICE_RESERVATION,
     "i-0a "},
    {STATE("stopping"), NOTICE_STOPPED, "i-0a "},
    {STATE("Stopped"), NOTICE_STOPPED, "i-0a "},
    {STATE("SHUTTING-DOWN"), NOTICE_TERMINATED, "i-0a "},
    {STATE("terminated"), NOTICE_TERMINATED, "i-0a "},
    {STATE("running"), NOTICE_NONE, ""},
    {STATE("pending"), NOTICE_NONE, ""},
    {HEALTH("{'service':'EC2','eventTypeCategory':'scheduledChange','affectedEntities':["
            "{'entityValue':'i-1'},{'entityValue':'vol-2'},{'entityValue':7},7,"
            "{'entityValue':'i-3'}]}"),
     NOTICE_SCHEDULED, "i-1 i-3 "},
    {HEALTH("{'service':'EC2','eventTypeCategory':'issue','affectedEntities':["
            "{'entityValue':'i-1'}]}"),
     NOTICE_NONE, ""},
    {HEALTH("{'service':'RDS','eventTypeCategory':'scheduledChange'}"), NOTICE_NONE, ""},
    /* Of another version, source or type. */
    {"{'version':'1','source':'aws.ec2','detail-type':'" SPOT "','detail':{" ID "}}", NOTICE_NONE,
     ""},
    {"{'version':'0','source':'aws.s3','detail-type':'" SPOT "','detail':{" ID "}}", NOTICE_NONE,
     ""},
    {EC2("EC2 Fleet Error", "{" ID "}"), NOTICE_NONE, ""},
    {"{}", NOTICE_NONE, ""},
    {"{'version':0,'source':[],'detail-type':null,'detail':7}", NOTICE_NONE, ""},
    /* A notice about nobody. */
    {EC2(SPOT, "{}"), -1, ""},
    {EC2(SPOT, "{'instance-id':7}"), -1, ""},
    {EC2(SPOT, "{'instance-id':'vol-1'}"), -1, ""},
    {EC2(SPOT, "7"), -1, ""},
    {HEALTH("{'service':'EC2','eventTypeCategory':'scheduledChange'}"), -1, ""},
    {"", -1, ""},
    {"hello", -1, ""},
    {"[]", -1, ""},
    {"7", -1, ""},
    {"{'version':'0'", -1, ""},
    {"[[[[[[[[[[", -1, ""},
};

static int parse(struct arena *a, const char *text, size_t n, struct notice *ret)
{
    char *copy AUTO_FREE = xstrndup(text, n);
    for (char *p = copy; *p; p++) {
        *p = *p == '\'' ? '"' : *p;
    }
    return notice_parse(a, copy, n, ret, NULL);
}

START_TEST(reads)
{
    struct arena a;
    struct notice n;
    char ids[200] = "";
    arena_init(&a, 0, 1u << 20);
    int rc = parse(&a, rows[_i].text, strlen(rows[_i].text), &n);
    ck_assert_int_eq(rc, rows[_i].kind < 0 ? -1 : 0);
    ck_assert_int_eq((int)n.kind, rows[_i].kind < 0 ? NOTICE_NONE : rows[_i].kind);
    for (size_t i = 0; i < n.n_instances; i++) {
        snprintf(ids + strlen(ids), sizeof(ids) - strlen(ids), "%s ", n.instances[i]);
    }
    ck_assert_str_eq(ids, rows[_i].ids);
    ck_assert_int_eq(n.time_ns,
                     strstr(rows[_i].text, "10:00:00Z") ? INT64_C(1772359200) * NS_PER_S : 0);
    arena_done(&a);
}
END_TEST

/* Cut anywhere, it is no notice. */
START_TEST(cut_short)
{
    const char *text = rows[0].text;
    for (size_t n = 0; n < strlen(text); n++) {
        struct arena a;
        struct notice got;
        arena_init(&a, 0, 1u << 20);
        ck_assert_int_eq(parse(&a, text, n, &got), -1);
        ck_assert_int_eq((int)got.kind, NOTICE_NONE);
        arena_done(&a);
    }
}
END_TEST

/* More instances than anybody names. */
START_TEST(capped)
{
    struct arena a;
    struct notice n;
    AUTO_BUF struct buf b = {0};
    buf_init(&b, 1u << 20);
    buf_puts(&b, "{'version':'0','source':'aws.health','detail-type':'AWS Health Event','detail':{"
                 "'service':'EC2','eventTypeCategory':'scheduledChange','affectedEntities':[");
    for (int i = 0; i < NOTICE_INSTANCES_MAX + 5; i++) {
        buf_printf(&b, "%s{'entityValue':'i-%d'}", i ? "," : "", i);
    }
    buf_puts(&b, "]}}");
    arena_init(&a, 0, 1u << 20);
    ck_assert_int_eq(parse(&a, b.p, b.n, &n), 0);
    ck_assert_uint_eq(n.n_instances, NOTICE_INSTANCES_MAX);
    arena_done(&a);
}
END_TEST

START_TEST(marks)
{
    ck_assert(notice_mark_ends_soon("SpotInterrupted"));
    ck_assert(notice_mark_ends_soon("InstanceUnhealthy"));
    ck_assert(!notice_mark_ends_soon("ScheduledChange"));
    ck_assert(!notice_mark_ends_soon("Rebalance"));
    ck_assert(!notice_mark_ends_soon("Empty"));
    ck_assert(!notice_mark_ends_soon(""));
    ck_assert(!notice_mark_ends_soon(NULL));
    for (int i = 0; i < NOTICE_KINDS; i++) {
        ck_assert_ptr_nonnull(notice_names(i)->metric);
    }
}
END_TEST

UNIT_MAIN("notice", UNIT_CASES(reads, rows), UNIT_TEST(cut_short), UNIT_TEST(capped),
          UNIT_TEST(marks))
