/* test_reaper.c - "gone" needs proof: two answers by id, and none that may only be early. */
#include "unit.h"

#include "agent/claim/reaper.h"
#include "agent/cloud/cloud.h"
#include "fakeagent.h"

/* EC2 as a script: each call takes the next letter.
 *   T terminate: o taken, n not known, e fails      G get: r runs, s shuts down, a absent, e fails
 */
static struct {
    const char *next;
    char trace[256]; /* "T@s " "G@s " */
    struct fake *f;
    cloud_done_fn done;
    cloud_list_fn list;
    void *arg;
} ec2;

static char step(const char *what)
{
    char line[32];
    snprintf(line, sizeof(line), "%s@%lld ", what,
             (long long)((ec2.f->now_ns - 1000 * NS_PER_S) / NS_PER_S));
    strncat(ec2.trace, line, sizeof(ec2.trace) - strlen(ec2.trace) - 1);
    return *ec2.next ? *ec2.next++ : 'a';
}

void cloud_terminate(struct cloud *c, const char *instance_id, cloud_done_fn done, void *arg)
{
    (void)c;
    ck_assert_str_eq(instance_id, "i-1");
    ec2.done = done;
    ec2.arg = arg;
}

void cloud_get(struct cloud *c, const char *instance_id, cloud_list_fn done, void *arg)
{
    (void)c;
    ck_assert_str_eq(instance_id, "i-1");
    ec2.list = done;
    ec2.arg = arg;
}

/* Answers what is open. */
static void answer(void)
{
    struct err err = ERR_INIT;
    if (ec2.done) {
        cloud_done_fn done = ec2.done;
        char c = step("T");
        ec2.done = NULL;
        if (c != 'o') {
            err_set(&err, c == 'n' ? ERR_NOT_FOUND : ERR_UNAVAILABLE, "made up");
        }
        done(ec2.arg, &err);
    } else if (ec2.list) {
        cloud_list_fn list = ec2.list;
        char c = step("G");
        struct instance i = {.id = "i-1", .state = c == 's' ? "shutting-down" : "running"};
        ec2.list = NULL;
        if (c == 'e') {
            err_set(&err, ERR_THROTTLED, "made up");
        }
        list(ec2.arg, &err, &i, c == 'a' || c == 'e' ? 0 : 1);
    }
}

static enum queue_verdict woken(void *ctx, const char *key)
{
    (void)key;
    ++*(int *)ctx;
    return QUEUE_OK;
}

static const struct {
    bool look;     /* reaper_look instead of reaper_end */
    int64_t age_s; /* of the instance; -1 = long ago */
    const char *script, *trace;
} rows[] = {
    {false, -1, "osaa", "T@0 G@2 G@4 G@5 "},
    {false, -1, "na", "T@0 G@1 "},
    {false, -1, "oaa", "T@0 G@2 G@3 "},
    {false, -1, "oasaa", "T@0 G@2 G@3 G@5 G@6 "}, /* one answer is no proof */
    {true, -1, "aa", "G@0 G@1 "},
    /* Too young to be missed: not before the minute is over. */
    {false, 50, "nnnnnna", "T@0 T@2 T@4 T@6 T@8 T@10 G@11 "},
    {true, 58, "aaa", "G@0 G@2 G@3 "},
    {false, 58, "oaa", "T@0 G@2 G@3 "}, /* EC2 knew it: it is no ghost */
};

START_TEST(proof)
{
    struct fake *f = fake_new();
    struct reaper *r = reaper_new(&f->rt);
    int wakes = 0;
    struct queue *q = queue_new(&f->rt, "test", STORE_CLAIM, NS_PER_S, NS_PER_S, woken, &wakes);
    ec2.next = rows[_i].script;
    ec2.trace[0] = '\0';
    ec2.f = f;
    ec2.done = NULL;
    ec2.list = NULL;
    int64_t launched_ns =
        rows[_i].age_s < 0 ? 0 : clock_wall(f->rt.clock) - rows[_i].age_s * NS_PER_S;
    bool gone = false;
    for (int i = 0; i < 100 && !gone; i++) {
        gone = rows[_i].look ? reaper_look(r, "i-1", launched_ns, q, "k")
                             : reaper_end(r, "i-1", launched_ns, q, "k", NULL);
        answer();
        if (!gone) {
            fake_run(f, NS_PER_S);
            answer();
        }
    }
    ck_assert(gone);
    fake_run(f, 0);
    ck_assert_str_eq(ec2.trace, rows[_i].trace);
    ck_assert_int_ge(wakes, 1);
    queue_free(q);
    reaper_free(r);
    fake_free(f);
}
END_TEST

/* Failures back off and are tried again; an instance that goes on running is ordered again. */
START_TEST(stubborn)
{
    struct fake *f = fake_new();
    struct reaper *r = reaper_new(&f->rt);
    int wakes = 0;
    bool taken = false;
    struct queue *q = queue_new(&f->rt, "test", STORE_CLAIM, NS_PER_S, NS_PER_S, woken, &wakes);
    ec2.next = "eeeorrrrrrrrrrrrrrrrrroaa";
    ec2.trace[0] = '\0';
    ec2.f = f;
    ec2.done = NULL;
    ec2.list = NULL;
    int i = 0;
    for (; i < 300 && !reaper_end(r, "i-1", 0, q, "k", &taken); i++) {
        answer();
        fake_run(f, NS_PER_S);
    }
    ck_assert_int_lt(i, 300);
    ck_assert(taken);
    ck_assert_str_eq(ec2.next, "");
    queue_free(q);
    reaper_free(r);
    fake_free(f);
}
END_TEST

/* An agent may die with questions open. */
START_TEST(dies)
{
    struct fake *f = fake_new();
    struct reaper *r = reaper_new(&f->rt);
    int wakes = 0;
    struct queue *q = queue_new(&f->rt, "test", STORE_CLAIM, NS_PER_S, NS_PER_S, woken, &wakes);
    reaper_end(r, "i-1", 0, q, "k", NULL);
    reaper_free(r);
    queue_free(q);
    fake_free(f);
}
END_TEST

UNIT_MAIN("reaper", UNIT_CASES(proof, rows), UNIT_TEST(stubborn), UNIT_TEST(dies))
