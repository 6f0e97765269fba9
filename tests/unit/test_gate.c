/* test_gate.c - the fence: which calls pass when, and what a refused one hears. */
#include "unit.h"

#include "agent/work/gate.h"
#include "common/base/timefmt.h"
#include "fakeagent.h"

struct heard {
    int n;
    enum err_kind kind;
    int observed;
};

static void on_kube(void *arg, const struct kube_resp *resp)
{
    struct heard *h = arg;
    h->n++;
    h->kind = resp->err.kind;
}

static void on_aws(void *arg, const struct aws_resp *resp)
{
    struct heard *h = arg;
    h->n++;
    h->kind = resp->err.kind;
}

static void on_observe(void *ctx, json_t *object)
{
    struct heard *h = ctx;
    (void)object;
    h->observed++;
}

enum state { OPEN, MODE, STANDBY, NO_LEASE, LATE, NO_ELECTION };

static void set_state(struct fake *f, struct gate *g, enum state s)
{
    gate_set_standby(g, s == STANDBY);
    gate_set_deadline(g, s == NO_LEASE ? 0 : f->now_ns + (s == LATE ? 0 : NS_PER_S));
    f->opt.mode = s == MODE ? MODE_OBSERVE : MODE_FULL;
    if (s == NO_ELECTION) {
        f->opt.leader_election = false;
        gate_set_deadline(g, 0);
    }
}

static const struct {
    const char *method, *action, *body; /* a kube method or an AWS action with its form */
    enum state state;
    bool passes;
} pass_rows[] = {
    {"GET", NULL, NULL, OPEN, true},
    {"GET", NULL, NULL, STANDBY, true},
    {"GET", NULL, NULL, NO_LEASE, true},
    {"GET", NULL, NULL, MODE, true},
    {"POST", NULL, NULL, OPEN, true},
    {"PATCH", NULL, NULL, OPEN, true},
    {"PUT", NULL, NULL, OPEN, true},
    {"DELETE", NULL, NULL, OPEN, true},
    {"POST", NULL, NULL, STANDBY, false},
    {"PATCH", NULL, NULL, NO_LEASE, false},
    {"PATCH", NULL, NULL, LATE, false},
    {"PUT", NULL, NULL, MODE, false},
    {"DELETE", NULL, NULL, STANDBY, false},
    {"POST", NULL, NULL, NO_ELECTION, true},
    {NULL, "CreateFleet", "Action=CreateFleet", OPEN, true},
    {NULL, "CreateFleet", "Action=CreateFleet", STANDBY, false},
    {NULL, "CreateFleet", "Action=CreateFleet&DryRun=true", STANDBY, true},
    {NULL, "CreateFleet", "Action=CreateFleet&DryRun=true&X=1", NO_LEASE, true},
    {NULL, "CreateFleet", "Action=CreateFleet&DryRun=trueish", NO_LEASE, false},
    {NULL, "TerminateInstances", "Action=TerminateInstances", NO_LEASE, false},
    {NULL, "DescribeInstances", "Action=DescribeInstances", STANDBY, true},
    {NULL, "GetParameter", "{}", STANDBY, true},
    {NULL, "ListInstanceProfiles", "", MODE, true},
    {NULL, "ReceiveMessage", "{}", STANDBY, false},
    {NULL, "ReceiveMessage", "{}", MODE, false},
    {NULL, "ReceiveMessage", "{}", OPEN, true},
    {NULL, "DeleteMessage", "{}", STANDBY, false},
};

static void ask(struct gate *g, const char *method, const char *action, const char *body,
                struct heard *h)
{
    struct kube_port kube = gate_kube(g);
    struct aws_port aws = gate_aws(g);
    if (method) {
        struct kube_req req = {.method = method, .path = "/api/v1/nodes/a"};
        ck_assert_uint_ne(kube.request(kube.ctx, &req, on_kube, h), 0);
    } else {
        struct aws_req req = {.service = "ec2",
                              .action = action,
                              .method = "POST",
                              .path = "/",
                              .body = body,
                              .body_n = strlen(body)};
        ck_assert_uint_ne(aws.request(aws.ctx, &req, on_aws, h), 0);
    }
}

START_TEST(passes)
{
    struct fake *f = fake_new();
    struct gate *g = gate_new(&f->rt, &f->kube, &f->aws);
    struct heard h = {0};
    set_state(f, g, pass_rows[_i].state);
    ask(g, pass_rows[_i].method, pass_rows[_i].action, pass_rows[_i].body, &h);
    ck_assert_int_eq(h.n, 0); /* never before the call returns */
    ck_assert_uint_eq(f->n, pass_rows[_i].passes ? 1 : 0);
    fake_run(f, NS_PER_MS);
    ck_assert_int_eq(h.n, pass_rows[_i].passes ? 0 : 1);
    ck_assert_int_eq(h.kind, pass_rows[_i].passes ? ERR_NONE : ERR_CANCELLED);
    ck_assert(metrics_sum(f->rt.metrics, "karp_gate_refused_total", NULL) ==
              (pass_rows[_i].passes ? 0 : 1));
    gate_free(g);
    ck_assert(f->closed && f->aws_closed);
    fake_free(f);
}
END_TEST

START_TEST(closed_at_first)
{
    struct fake *f = fake_new();
    struct gate *g = gate_new(&f->rt, &f->kube, &f->aws);
    gate_set_deadline(g, f->now_ns + NS_PER_S);
    ck_assert(!gate_open(g));
    gate_set_standby(g, false);
    ck_assert(gate_open(g));
    fake_run(f, NS_PER_S);
    ck_assert(!gate_open(g));
    gate_free(g);
    fake_free(f);
}
END_TEST

/* The clock is set by `jump` s, then the server creates something with a creation time `ahead` s
 * before our clock (0: it creates nothing), then `wait` s pass; the skew that is known then. */
static const struct {
    int jump, ahead, wait, skew;
} skew_rows[] = {
    {0, 0, 0, 0},      {3600, 0, 0, 3600},      {-3600, 0, 60, -3600},
    {3600, 0, 601, 0}, /* nothing says that it was wrong */
    {0, 90, 0, 90},    {0, 90, 1000, 90},       {0, -90, 0, -90},
    {0, 1, 0, 0},      {3600, 3600, 700, 3600},
};

START_TEST(skew)
{
    struct fake *f = fake_new();
    struct gate *g = gate_new(&f->rt, &f->kube, &f->aws);
    struct heard h = {0};
    set_state(f, g, NO_ELECTION);
    f->wall_shift_ns = skew_rows[_i].jump * NS_PER_S;
    gate_clock_skew_ns(g);
    if (skew_rows[_i].ahead) {
        char at[TIMEFMT_TEXT];
        timefmt_rfc3339(fake_wall(f) - skew_rows[_i].ahead * NS_PER_S, at);
        ask(g, "POST", NULL, NULL, &h);
        fake_answer(&f->calls[0], 201, ERR_NONE,
                    json_pack("{s:{s:s}}", "metadata", "creationTimestamp", at));
    }
    fake_run(f, skew_rows[_i].wait * NS_PER_S);
    int64_t wrong_ns = gate_clock_skew_ns(g) - skew_rows[_i].skew * NS_PER_S;
    ck_assert(wrong_ns > -NS_PER_S && wrong_ns < NS_PER_S);
    gate_free(g);
    fake_free(f);
}
END_TEST

/* Which answers are shown to the observer. */
static const struct {
    const char *method;
    int status;
    enum err_kind kind;
    const char *body;
    int observed;
} observe_rows[] = {
    {"PATCH", 200, ERR_NONE, "{\"kind\":\"Node\"}", 1},
    {"POST", 201, ERR_NONE, "{\"kind\":\"NodeClaim\"}", 1},
    {"GET", 200, ERR_NONE, "{\"kind\":\"Node\"}", 0},
    {"PATCH", 409, ERR_CONFLICT, "{\"kind\":\"Status\"}", 0},
    {"DELETE", 200, ERR_NONE, "{\"kind\":\"NodeClaim\",\"metadata\":{\"name\":\"a\"}}", 0},
    {"DELETE", 200, ERR_NONE, "{\"metadata\":{\"finalizers\":[\"x\"]}}", 1},
    {"DELETE", 200, ERR_NONE, "{\"metadata\":{\"deletionGracePeriodSeconds\":30}}", 1},
    {"DELETE", 200, ERR_NONE, "{\"metadata\":{\"deletionGracePeriodSeconds\":0}}", 0},
};

START_TEST(observes)
{
    struct fake *f = fake_new();
    struct gate *g = gate_new(&f->rt, &f->kube, &f->aws);
    struct heard h = {0};
    set_state(f, g, OPEN);
    gate_set_observer(g, on_observe, &h);
    ask(g, observe_rows[_i].method, NULL, NULL, &h);
    fake_answer(&f->calls[0], observe_rows[_i].status, observe_rows[_i].kind,
                fake_json(observe_rows[_i].body));
    ck_assert_int_eq(h.n, 1);
    ck_assert_int_eq(h.observed, observe_rows[_i].observed);
    gate_free(g);
    fake_free(f);
}
END_TEST

START_TEST(cancels)
{
    struct fake *f = fake_new();
    struct gate *g = gate_new(&f->rt, &f->kube, &f->aws);
    struct kube_port kube = gate_kube(g);
    struct kube_req req = {.method = "PATCH", .path = "/x"};
    struct heard h = {0};
    uint64_t refused = kube.request(kube.ctx, &req, on_kube, &h);
    set_state(f, g, OPEN);
    uint64_t sent = kube.request(kube.ctx, &req, on_kube, &h);
    kube.cancel(kube.ctx, refused);
    kube.cancel(kube.ctx, refused);
    kube.cancel(kube.ctx, 12345);
    ck_assert(f->calls[0].open);
    kube.cancel(kube.ctx, sent);
    ck_assert(!f->calls[0].open);
    fake_run(f, NS_PER_S);
    ck_assert_int_eq(h.n, 0);
    /* what is open when the agent dies is dropped unheard */
    ask(g, "PATCH", NULL, NULL, &h);
    ask(g, NULL, "DescribeInstances", "", &h);
    gate_free(g);
    ck_assert_int_eq(h.n, 0);
    fake_free(f);
}
END_TEST

UNIT_MAIN("gate", UNIT_CASES(passes, pass_rows), UNIT_TEST(closed_at_first),
          UNIT_CASES(skew, skew_rows), UNIT_CASES(observes, observe_rows), UNIT_TEST(cancels))
