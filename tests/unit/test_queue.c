/* test_queue.c - work queues: order, back-off, one look at a time. */
#include "unit.h"

#include "agent/work/queue.h"
#include "fakeagent.h"

struct probe {
    struct fake *f;
    struct queue *q;
    char trace[1024]; /* "key@ms " for every look */
    enum queue_verdict verdict;
    const char *again; /* added from within the handler */
    int64_t again_ns;
    bool done_inside;
};

static enum queue_verdict look(void *ctx, const char *key)
{
    struct probe *p = ctx;
    char line[64];
    snprintf(line, sizeof(line), "%s@%lld ", key,
             (long long)((p->f->now_ns - 1000 * NS_PER_S) / NS_PER_MS));
    strncat(p->trace, line, sizeof(p->trace) - strlen(p->trace) - 1);
    if (p->again) {
        queue_add_after(p->q, p->again, p->again_ns);
        p->again = NULL;
    }
    if (p->done_inside) {
        queue_done(p->q, key, p->verdict, 0);
        return QUEUE_BUSY;
    }
    return p->verdict;
}

static struct probe begin(void)
{
    struct probe p = {.f = fake_new()};
    return p;
}

static void queue_of(struct probe *p)
{
    p->q = queue_new(&p->f->rt, "test", STORE_CLAIM, 1 * NS_PER_S, 60 * NS_PER_S, look, p);
}

static void end(struct probe *p)
{
    queue_free(p->q);
    fake_free(p->f);
}

/* What is added when ("key+ms", '!' runs the queue for 1 s) and what is then seen. */
static const struct {
    const char *adds, *trace;
} order_rows[] = {
    {"a b c", "a@0 b@0 c@0 "}, {"a a a", "a@0 "},
    {"b a", "b@0 a@0 "},       {"a+500 b+100 c", "c@0 b@100 a@500 "},
    {"a+100 a+500", "a@100 "}, /* an earlier appointment stays */
    {"a+500 a+100", "a@100 "}, {"a+500 a", "a@0 "},
    {"a ! a", "a@0 a@1000 "}, /* forgotten when done */
};

START_TEST(order)
{
    struct probe p = begin();
    queue_of(&p);
    char text[64];
    str_copy(text, sizeof(text), order_rows[_i].adds);
    char *save = NULL;
    for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
        char *plus = strchr(w, '+');
        if (*w == '!') {
            fake_run(p.f, NS_PER_S);
        } else if (plus) {
            *plus = '\0';
            queue_add_after(p.q, w, atoi(plus + 1) * NS_PER_MS);
        } else {
            queue_add(p.q, w);
        }
    }
    fake_run(p.f, NS_PER_S);
    ck_assert_str_eq(p.trace, order_rows[_i].trace);
    ck_assert_uint_eq(queue_depth(p.q), 0);
    end(&p);
}
END_TEST

START_TEST(busy_collects)
{
    struct probe p = begin();
    queue_of(&p);
    p.verdict = QUEUE_BUSY;
    queue_add(p.q, "a");
    fake_run(p.f, NS_PER_S);
    ck_assert(queue_has(p.q, "a"));
    queue_add(p.q, "a");
    queue_add(p.q, "a");
    fake_run(p.f, NS_PER_S);
    ck_assert_str_eq(p.trace, "a@0 ");
    p.verdict = QUEUE_OK;
    queue_done(p.q, "a", QUEUE_OK, 0);
    fake_run(p.f, NS_PER_S);
    ck_assert_str_eq(p.trace, "a@0 a@2000 ");
    queue_done(p.q, "a", QUEUE_OK, 0); /* not busy: ignored */
    queue_done(p.q, "other", QUEUE_OK, 0);
    ck_assert(!queue_has(p.q, "a"));
    end(&p);
}
END_TEST

/* Back-off doubles within jitter, stops at the cap, and success forgets it. */
START_TEST(backoff)
{
    struct probe p = begin();
    queue_of(&p);
    p.verdict = QUEUE_FAIL;
    queue_add(p.q, "a");
    int64_t expect_ns = NS_PER_S;
    fake_run(p.f, 0);
    for (int i = 0; i < 10; i++) {
        int64_t pause_ns = timers_next_ns(&p.f->rt.timers) - p.f->now_ns;
        ck_assert_int_ge(pause_ns, expect_ns * 8 / 10);
        ck_assert_int_le(pause_ns, expect_ns * 12 / 10);
        fake_run(p.f, pause_ns);
        expect_ns = expect_ns * 2 > 60 * NS_PER_S ? 60 * NS_PER_S : expect_ns * 2;
    }
    p.verdict = QUEUE_OK;
    fake_run(p.f, 100 * NS_PER_S);
    ck_assert_uint_eq(queue_depth(p.q), 0);
    p.verdict = QUEUE_FAIL;
    queue_add(p.q, "a");
    fake_run(p.f, 0);
    ck_assert_int_le(timers_next_ns(&p.f->rt.timers) - p.f->now_ns, 12 * NS_PER_S / 10);
    end(&p);
}
END_TEST

/* How a busy look ends, and when the next one comes. */
static const struct {
    enum queue_verdict verdict;
    int64_t retry_ms;
    bool again;
    int64_t least_ms, most_ms; /* until the next look; -1 = none */
} done_rows[] = {
    {QUEUE_OK, 0, false, -1, -1},
    {QUEUE_OK, 0, true, 0, 0},
    {QUEUE_FAIL, 0, false, 800, 1200},
    {QUEUE_FAIL, 0, true, 0, 0},
    {QUEUE_FAIL, 5000, false, 5000, 5000},
    {QUEUE_FAIL, 5000, true, 5000, 5000}, /* the server asked for it */
};

START_TEST(done)
{
    struct probe p = begin();
    queue_of(&p);
    p.verdict = QUEUE_BUSY;
    queue_add(p.q, "a");
    fake_run(p.f, 0);
    if (done_rows[_i].again) {
        queue_add(p.q, "a");
    }
    queue_done(p.q, "a", done_rows[_i].verdict, done_rows[_i].retry_ms * NS_PER_MS);
    int64_t next_ns = timers_next_ns(&p.f->rt.timers);
    if (done_rows[_i].least_ms < 0) {
        ck_assert_int_eq(next_ns, NS_NEVER);
    } else {
        ck_assert_int_ge(next_ns - p.f->now_ns, done_rows[_i].least_ms * NS_PER_MS);
        ck_assert_int_le(next_ns - p.f->now_ns, done_rows[_i].most_ms * NS_PER_MS);
    }
    end(&p);
}
END_TEST

/* What the handler wanted after its success does not undo the back-off of its failure. */
START_TEST(failure_keeps_its_backoff)
{
    struct probe p = begin();
    queue_of(&p);
    p.verdict = QUEUE_BUSY;
    p.again = "a";
    queue_add(p.q, "a");
    fake_run(p.f, 0);
    queue_done(p.q, "a", QUEUE_FAIL, 0);
    ck_assert_int_ge(timers_next_ns(&p.f->rt.timers) - p.f->now_ns, 800 * NS_PER_MS);
    p.again = "a";
    fake_run(p.f, 2 * NS_PER_S);
    queue_done(p.q, "a", QUEUE_OK, 0);
    ck_assert_int_le(timers_next_ns(&p.f->rt.timers) - p.f->now_ns, 0);
    end(&p);
}
END_TEST

START_TEST(handler_adds_itself)
{
    struct probe p = begin();
    queue_of(&p);
    p.again = "a";
    p.again_ns = 3 * NS_PER_S;
    queue_add(p.q, "a");
    fake_run(p.f, 10 * NS_PER_S);
    ck_assert_str_eq(p.trace, "a@0 a@3000 ");
    end(&p);
}
END_TEST

START_TEST(done_from_within)
{
    struct probe p = begin();
    queue_of(&p);
    p.done_inside = true;
    queue_add(p.q, "a");
    fake_run(p.f, NS_PER_S);
    ck_assert_str_eq(p.trace, "a@0 ");
    ck_assert_uint_eq(queue_depth(p.q), 0);
    end(&p);
}
END_TEST

/* Memory of a look goes with it, with its replacement, and with the queue (LSan looks). */
START_TEST(attached)
{
    struct probe p = begin();
    queue_of(&p);
    p.verdict = QUEUE_BUSY;
    queue_add(p.q, "a");
    queue_add(p.q, "b");
    fake_run(p.f, 0);
    queue_attach(p.q, "a", xmalloc(10));
    queue_attach(p.q, "a", xmalloc(20));
    queue_done(p.q, "a", QUEUE_OK, 0);
    queue_attach(p.q, "b", xmalloc(30));
    end(&p);
}
END_TEST

UNIT_MAIN("queue", UNIT_CASES(order, order_rows), UNIT_TEST(busy_collects), UNIT_TEST(backoff),
          UNIT_CASES(done, done_rows), UNIT_TEST(failure_keeps_its_backoff),
          UNIT_TEST(handler_adds_itself), UNIT_TEST(done_from_within), UNIT_TEST(attached))
