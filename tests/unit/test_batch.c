/* test_batch.c - when a window closes: triggers at milliseconds, idle 100 ms, at most 300 ms. */
#include "unit.h"

#include "agent/plan/batch.h"
#include "common/base/str.h"
#include "fakeagent.h"

struct probe {
    struct fake *f;
    char trace[256]; /* "@ms " for every close */
};

static void closed(void *ctx)
{
    struct probe *p = ctx;
    size_t n = strlen(p->trace);
    snprintf(p->trace + n, sizeof(p->trace) - n, "@%lld ",
             (long long)((p->f->now_ns - 1000 * NS_PER_S) / NS_PER_MS));
}

static const struct {
    const char *triggers, *closes; /* "uid@ms " in order */
} rows[] = {
    {"", ""},
    {"a@0", "@100 "},
    {"a@0 b@60 c@120", "@220 "},             /* each new one restarts the idle time */
    {"a@0 a@60 a@90", "@100 "},              /* the same does not */
    {"a@0 b@80 c@160 d@240 e@290", "@300 "}, /* and there is an end */
    {"a@0 a@150", "@100 @250 "},             /* a new window knows none of the old */
    {"a@0 b@80 c@160 d@240 e@310", "@300 @410 "},
};

START_TEST(window)
{
    struct probe p = {.f = fake_new()};
    struct batch *b = batch_new(&p.f->rt, 100 * NS_PER_MS, 300 * NS_PER_MS, closed, &p);
    char text[256];
    snprintf(text, sizeof(text), "%s", rows[_i].triggers);
    int64_t at_ms = 0;
    for (char *save, *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        char *at = strchr(word, '@');
        *at = '\0';
        fake_run(p.f, (atoi(at + 1) - at_ms) * NS_PER_MS);
        at_ms = atoi(at + 1);
        batch_trigger(b, word);
    }
    fake_run(p.f, NS_PER_S);
    ck_assert_msg(str_eq(p.trace, rows[_i].closes), "%s: %s", rows[_i].triggers, p.trace);
    batch_free(b);
    fake_free(p.f);
}
END_TEST

/* Enough to fill nodes close it at once. */
START_TEST(enough)
{
    struct probe p = {.f = fake_new()};
    struct batch *b = batch_new(&p.f->rt, 100 * NS_PER_MS, 300 * NS_PER_MS, closed, &p);
    for (int i = 0; i < BATCH_ENOUGH; i++) {
        char uid[16];
        snprintf(uid, sizeof(uid), "%d", i);
        batch_trigger(b, uid);
    }
    fake_run(p.f, NS_PER_S);
    ck_assert_str_eq(p.trace, "@0 ");
    batch_free(b);
    fake_free(p.f);
}
END_TEST

UNIT_MAIN("batch", UNIT_CASES(window, rows), UNIT_TEST(enough))
