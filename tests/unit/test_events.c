#include "unit.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/kube/events.h"

/* A port that keeps every request open until the test answers it. */
#define OPEN_MAX 128u

struct sent {
    char method[8], path[400];
    json_t *body;
    kube_done_fn done;
    void *arg;
    bool open;
};

static struct {
    struct kube_port port;
    struct kube_client client;
    struct clock clock;
    struct entropy entropy;
    uint64_t seed;
    int64_t now_ns;
    struct sent sent[OPEN_MAX];
    size_t n;
    struct events *e;
} f;

static uint64_t fake_request(void *ctx UNUSED, const struct kube_req *req, kube_done_fn done,
                             void *arg)
{
    ck_assert_uint_lt(f.n, OPEN_MAX);
    struct sent *s = &f.sent[f.n++];
    str_copy(s->method, sizeof(s->method), req->method);
    str_copy(s->path, sizeof(s->path), req->path);
    s->body = json_deep_copy(req->body);
    s->done = done;
    s->arg = arg;
    s->open = true;
    return f.n;
}

static void fake_cancel(void *ctx UNUSED, uint64_t handle)
{
    ck_assert(f.sent[handle - 1].open);
    f.sent[handle - 1].open = false;
}

static int64_t fake_now(void *ctx UNUSED)
{
    return f.now_ns;
}

static void begin(void)
{
    memset(&f, 0, sizeof(f));
    f.port = (struct kube_port){fake_request, NULL, fake_cancel, NULL, NULL};
    f.client = (struct kube_client){.port = &f.port, .field_manager = "karp-agent"};
    f.clock = (struct clock){fake_now, fake_now, NULL};
    f.now_ns = 1000 * NS_PER_S;
    f.entropy = entropy_seeded(&f.seed);
    struct events_env env = {&f.client, &f.clock, &f.entropy, "karp-agent-0"};
    f.e = events_new(&env);
}

static void end(void)
{
    events_free(f.e);
    for (size_t i = 0; i < f.n; i++) {
        ck_assert(!f.sent[i].open);
        json_decref(f.sent[i].body);
    }
}

static void answer(size_t i, enum err_kind kind)
{
    struct kube_resp resp = {.status = kind == ERR_NONE ? 201 : 404};
    resp.err.kind = kind;
    ck_assert(f.sent[i].open);
    f.sent[i].open = false;
    f.sent[i].done(f.sent[i].arg, &resp);
}

static const struct events_subject pod = {KIND_POD, "shop", "web-1", "u1"};
static const struct events_subject node = {KIND_NODE, "", "n1", "u2"};

START_TEST(event_object)
{
    begin();
    events_warning(f.e, &pod, "FailedScheduling", "no pool fits: %d tried", 3);
    ck_assert_uint_eq(f.n, 1);
    ck_assert_str_eq(f.sent[0].method, "POST");
    ck_assert_str_eq(f.sent[0].path, "/api/v1/namespaces/shop/events?fieldManager=karp-agent");
    const json_t *o = f.sent[0].body;
    static const struct {
        const char *path, *want;
    } rows[] = {
        {"apiVersion", "v1"},
        {"kind", "Event"},
        {"metadata.namespace", "shop"},
        {"involvedObject.kind", "Pod"},
        {"involvedObject.apiVersion", "v1"},
        {"involvedObject.name", "web-1"},
        {"involvedObject.namespace", "shop"},
        {"involvedObject.uid", "u1"},
        {"reason", "FailedScheduling"},
        {"message", "no pool fits: 3 tried"},
        {"type", "Warning"},
        {"source.component", "karp"},
        {"reportingComponent", "karp"},
        {"reportingInstance", "karp-agent-0"},
        {"firstTimestamp", "1970-01-01T00:16:40Z"},
        {"lastTimestamp", "1970-01-01T00:16:40Z"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *got = jsonx_str(o, rows[i].path);
        ck_assert_msg(str_eq(got, rows[i].want), "%s is %s", rows[i].path, got);
    }
    ck_assert_int_eq(jsonx_int(o, "count", 0), 1);
    ck_assert(str_starts(jsonx_str(o, "metadata.name"), "web-1."));
    answer(0, ERR_NONE);
    events_normal(f.e, &node, "Launched", "x");
    ck_assert(str_starts(f.sent[1].path, "/api/v1/namespaces/default/events"));
    ck_assert_ptr_null(jsonx_at(f.sent[1].body, "involvedObject.namespace"));
    ck_assert_str_eq(jsonx_str(f.sent[1].body, "type"), "Normal");
    answer(1, ERR_NONE);
    ck_assert_uint_eq(events_stats(f.e).written, 2);
    end();
}
END_TEST

/* Two posts; is the second one dropped as a repetition? */
struct dedupe_row {
    const char *name;
    const struct events_subject *about[2];
    const char *reason[2], *dedupe[2], *message[2];
    int64_t window_ns, after_ns;
    bool dropped;
};

static const struct events_subject other_pod = {KIND_POD, "shop", "web-2", "u3"};
static const struct events_subject reborn_pod = {KIND_POD, "shop", "web-1", "u9"};

static const struct dedupe_row dedupe_rows[] = {
    {"the same", {&pod, &pod}, {"R", "R"}, {NULL, NULL}, {"m", "m"}, 0, 119, true},
    {"after the window", {&pod, &pod}, {"R", "R"}, {NULL, NULL}, {"m", "m"}, 0, 120, false},
    {"own window", {&pod, &pod}, {"R", "R"}, {NULL, NULL}, {"m", "m"}, 900 * NS_PER_S, 899, true},
    {"another message", {&pod, &pod}, {"R", "R"}, {NULL, NULL}, {"m", "k"}, 0, 1, false},
    {"another message, same key", {&pod, &pod}, {"R", "R"}, {"d", "d"}, {"m", "k"}, 0, 1, true},
    {"another key", {&pod, &pod}, {"R", "R"}, {"d", "e"}, {"m", "m"}, 0, 1, false},
    {"another reason", {&pod, &pod}, {"R", "S"}, {"d", "d"}, {"m", "m"}, 0, 1, false},
    {"another object", {&pod, &other_pod}, {"R", "R"}, {"d", "d"}, {"m", "m"}, 0, 1, false},
    {"the same name again", {&pod, &reborn_pod}, {"R", "R"}, {"d", "d"}, {"m", "m"}, 0, 1, false},
};

START_TEST(dedupe_row)
{
    const struct dedupe_row *r = &dedupe_rows[_i];
    begin();
    for (int i = 0; i < 2; i++) {
        events_post(f.e, r->about[i], false, r->reason[i], r->dedupe[i], r->window_ns, "%s",
                    r->message[i]);
        if (i == 0) {
            answer(0, ERR_NONE);
            f.now_ns += r->after_ns * NS_PER_S;
        }
    }
    ck_assert_msg(f.n == (r->dropped ? 1 : 2), "%s: %zu requests", r->name, f.n);
    ck_assert_uint_eq(events_stats(f.e).deduplicated, r->dropped ? 1 : 0);
    end();
}
END_TEST

START_TEST(counted_up)
{
    begin();
    events_normal(f.e, &node, "R", "m");
    AUTO_FREE char *name = xstrdup(jsonx_str(f.sent[0].body, "metadata.name"));
    answer(0, ERR_NONE);
    f.now_ns += 300 * NS_PER_S;
    events_normal(f.e, &node, "R", "m");
    ck_assert_str_eq(f.sent[1].method, "PATCH");
    ck_assert(str_contains(f.sent[1].path, name));
    ck_assert_int_eq(jsonx_int(f.sent[1].body, "count", 0), 2);
    ck_assert_str_eq(jsonx_str(f.sent[1].body, "lastTimestamp"), "1970-01-01T00:21:40Z");
    ck_assert_ptr_null(jsonx_at(f.sent[1].body, "firstTimestamp"));
    answer(1, ERR_NOT_FOUND); /* it has lived its hour: said anew */
    ck_assert_str_eq(f.sent[2].method, "POST");
    ck_assert_int_eq(jsonx_int(f.sent[2].body, "count", 0), 1);
    answer(2, ERR_NONE);
    f.now_ns += 300 * NS_PER_S;
    events_normal(f.e, &node, "R", "m");
    ck_assert_int_eq(jsonx_int(f.sent[3].body, "count", 0), 2);
    answer(3, ERR_UNAVAILABLE);
    ck_assert_uint_eq(events_stats(f.e).failed, 1);
    events_normal(f.e, &node, "R", "m"); /* nobody heard the last one: not a repetition */
    ck_assert_uint_eq(f.n, 5);
    end(); /* the last one is still on its way */
}
END_TEST

START_TEST(limited)
{
    begin();
    for (int i = 0; i < 100; i++) {
        events_normal(f.e, &node, "R", "message %d", i);
        if (f.n > 0 && f.sent[f.n - 1].open) {
            answer(f.n - 1, ERR_NONE);
        }
    }
    ck_assert_uint_eq(f.n, EVENTS_BURST);
    ck_assert_uint_eq(events_stats(f.e).limited, 100 - EVENTS_BURST);
    events_normal(f.e, &node, "R", "message 99"); /* dropped ones were not said: no repetition */
    ck_assert_uint_eq(events_stats(f.e).limited, 101 - EVENTS_BURST);
    f.now_ns += NS_PER_S;
    for (int i = 0; i < 20; i++) {
        events_normal(f.e, &node, "R", "later %d", i);
    }
    ck_assert_uint_eq(f.n, EVENTS_BURST + EVENTS_PER_S);
    end();
}
END_TEST

START_TEST(in_flight)
{
    begin();
    for (unsigned i = 0; i < EVENTS_IN_FLIGHT_MAX + 5; i++) {
        f.now_ns += NS_PER_S;
        events_normal(f.e, &node, "R", "message %u", i);
    }
    ck_assert_uint_eq(f.n, EVENTS_IN_FLIGHT_MAX);
    ck_assert_uint_eq(events_stats(f.e).limited, 5);
    end();
}
END_TEST

/* Told within a day; answered at once, with the request forgotten. */
static size_t told(const char *message)
{
    size_t before = f.n;
    f.now_ns += 100 * NS_PER_MS;
    events_post(f.e, &pod, false, "R", NULL, 24 * NS_PER_H, "%s", message);
    size_t n = f.n - before;
    while (f.n > before) {
        answer(f.n - 1, ERR_NONE);
        json_decref(f.sent[--f.n].body);
    }
    return n;
}

START_TEST(forgets_the_oldest)
{
    begin();
    char text[32];
    for (unsigned i = 0; i < EVENTS_KEYS_MAX; i++) {
        snprintf(text, sizeof(text), "message %u", i);
        ck_assert_uint_eq(told(text), 1);
    }
    ck_assert_uint_eq(told("message 0"), 0); /* heard of again: now the newest */
    ck_assert_uint_eq(told("one more"), 1);  /* pushes out message 1 */
    ck_assert_uint_eq(told("message 0"), 0);
    ck_assert_uint_eq(told("message 1"), 1);
    end();
}
END_TEST

/* Thousands that find no room in the bucket do not push out what was told. */
START_TEST(limited_are_not_remembered)
{
    begin();
    ck_assert_uint_eq(told("said"), 1);
    for (unsigned i = 0; i < 3 * EVENTS_KEYS_MAX; i++) {
        events_normal(f.e, &pod, "R", "message %u", i);
    }
    f.now_ns += 60 * NS_PER_S;
    ck_assert_uint_eq(told("said"), 0);
    end();
}
END_TEST

START_TEST(message_is_cut)
{
    begin();
    char text[3000];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    text[5] = (char)0xff;
    events_normal(f.e, &pod, "R", "%s", text);
    const char *got = jsonx_str(f.sent[0].body, "message");
    ck_assert_ptr_nonnull(got);
    ck_assert_uint_eq(strlen(got), EVENTS_MESSAGE_MAX);
    ck_assert(str_ends(got, "\xe2\x80\xa6"));
    ck_assert_int_eq(got[5], '?');
    end();
}
END_TEST

START_TEST(long_name)
{
    begin();
    char name[254];
    memset(name, 'a', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    memset(name + 195, '-', 10);
    struct events_subject about = {KIND_NODE, NULL, name, "u"};
    events_normal(f.e, &about, "R", "m");
    const char *got = jsonx_str(f.sent[0].body, "metadata.name");
    ck_assert_uint_le(strlen(got), 253);
    ck_assert(!str_contains(got, "-."));
    ck_assert_str_eq(jsonx_str(f.sent[0].body, "involvedObject.name"), name);
    end();
}
END_TEST

START_TEST(switched_off)
{
    begin();
    events_enable(f.e, false);
    events_normal(f.e, &pod, "R", "m");
    ck_assert_uint_eq(f.n, 0);
    events_enable(f.e, true);
    events_normal(f.e, &pod, "R", "m");
    ck_assert_uint_eq(f.n, 1);
    end();
}
END_TEST

UNIT_MAIN("events", UNIT_TEST(event_object), UNIT_CASES(dedupe_row, dedupe_rows),
          UNIT_TEST(counted_up), UNIT_TEST(limited), UNIT_TEST(in_flight),
          UNIT_TEST(forgets_the_oldest), UNIT_TEST(limited_are_not_remembered),
          UNIT_TEST(message_is_cut), UNIT_TEST(long_name), UNIT_TEST(switched_off))
