/* test_lease.c - leader election and stand-by against a scripted API server. */
#include "unit.h"

#include "agent/lead/lease.h"
#include "agent/lead/standby.h"
#include "agent/work/gate.h"
#include "common/base/jsonx.h"
#include "common/base/timefmt.h"
#include "fakeagent.h"

#define LEASES "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
#define OURS "karp-agent-pod-0-abcde"

struct rig {
    struct fake *f;
    struct lease *lease;
    struct standby *standby;
};

static struct rig rig_new(void)
{
    struct rig r = {.f = fake_new()};
    r.f->rt.gate = gate_new(&r.f->rt, &r.f->kube, &r.f->aws);
    r.f->rt.kube = gate_kube(r.f->rt.gate);
    r.lease = lease_new(&r.f->rt);
    r.standby = standby_new(&r.f->rt);
    return r;
}

static void rig_free(struct rig *r)
{
    standby_free(r->standby);
    lease_free(r->lease);
    gate_free(r->f->rt.gate);
    fake_free(r->f);
}

static json_t *lease_json(const char *holder, const char *rv, int64_t renewed_wall_ns)
{
    char at[TIMEFMT_TEXT];
    timefmt_rfc3339_micro(renewed_wall_ns, at);
    return json_pack("{s:s, s:{s:s, s:s, s:s}, s:{s:s, s:i, s:s, s:i}}", "kind", "Lease",
                     "metadata", "name", "karpenter-leader-election", "namespace", "kube-system",
                     "resourceVersion", rv, "spec", "holderIdentity", holder,
                     "leaseDurationSeconds", 15, "renewTime", at, "leaseTransitions", 3);
}

static struct fake_call *must_find(struct rig *r, const char *method)
{
    struct fake_call *c = fake_find(r->f, method, LEASES);
    ck_assert_msg(c != NULL, "no open %s of the Lease", method);
    return c;
}

/* Answers the open write with what it wanted to write. */
static void grant(struct rig *r, const char *method)
{
    struct fake_call *c = must_find(r, method);
    json_t *body = json_deep_copy(c->body);
    jsonx_set_new(body, "metadata.resourceVersion", json_string("100"));
    fake_answer(c, 200, ERR_NONE, body);
}

static void lead(struct rig *r)
{
    gate_set_standby(r->f->rt.gate, false);
    lease_start(r->lease);
    fake_run(r->f, 0);
    fake_answer(must_find(r, "GET"), 404, ERR_NOT_FOUND, NULL);
    grant(r, "POST");
    ck_assert(lease_leading(r->lease));
}

START_TEST(creates)
{
    struct rig r = rig_new();
    gate_set_standby(r.f->rt.gate, false);
    lease_start(r.lease);
    fake_run(r.f, 0);
    fake_answer(must_find(&r, "GET"), 404, ERR_NOT_FOUND, NULL);
    struct fake_call *c = must_find(&r, "POST");
    ck_assert_str_eq(jsonx_str(c->body, "spec.holderIdentity"), OURS);
    ck_assert_int_eq(jsonx_int(c->body, "spec.leaseDurationSeconds", 0), 15);
    ck_assert_int_eq(jsonx_int(c->body, "spec.leaseTransitions", -1), 0);
    ck_assert(!gate_open(r.f->rt.gate));
    int64_t asked_ns = r.f->now_ns;
    fake_run(r.f, 3 * NS_PER_S); /* a slow answer: time counts from the request */
    grant(&r, "POST");
    ck_assert(gate_open(r.f->rt.gate));
    fake_run(r.f, asked_ns + LEASE_RENEW_NS - r.f->now_ns - 1);
    ck_assert(gate_open(r.f->rt.gate));
    rig_free(&r);
}
END_TEST

/* Somebody's Lease as it is read, and whether we take it at once or after that long. */
static const struct {
    const char *holder;
    int64_t taken_after_s; /* since it was first seen */
    int64_t transitions;
} take_rows[] = {
    {"karp-agent-other-xyz", 15, 4},
    {"", 0, 4}, /* given back */
    {OURS, 0, 3},
};

START_TEST(takes)
{
    struct rig r = rig_new();
    gate_set_standby(r.f->rt.gate, false);
    lease_start(r.lease);
    int64_t begin_ns = r.f->now_ns, took_ns = -1;
    fake_run(r.f, 0);
    for (int i = 0; i < 20 && took_ns < 0; i++) {
        struct fake_call *get = fake_find(r.f, "GET", LEASES);
        if (get) { /* its renewTime is years old by our clock: that does not count */
            fake_answer(get, 200, ERR_NONE, lease_json(take_rows[_i].holder, "7", NS_PER_S));
        }
        if (fake_find(r.f, "PUT", LEASES)) {
            took_ns = r.f->now_ns;
        } else {
            fake_run(r.f, 1 * NS_PER_S);
        }
    }
    ck_assert_int_ge(took_ns - begin_ns, take_rows[_i].taken_after_s * NS_PER_S);
    ck_assert_int_le(took_ns - begin_ns, (take_rows[_i].taken_after_s + 5) * NS_PER_S);
    struct fake_call *put = must_find(&r, "PUT");
    ck_assert_str_eq(jsonx_str(put->body, "metadata.resourceVersion"), "7");
    ck_assert_int_eq(jsonx_int(put->body, "spec.leaseTransitions", -1), take_rows[_i].transitions);
    grant(&r, "PUT");
    ck_assert(lease_leading(r.lease));
    rig_free(&r);
}
END_TEST

START_TEST(renews_every_2s)
{
    struct rig r = rig_new();
    lead(&r);
    for (int i = 0; i < 30; i++) {
        fake_run(r.f, LEASE_RETRY_NS);
        grant(&r, "PUT");
        ck_assert(gate_open(r.f->rt.gate));
    }
    ck_assert(!r.f->rt.ended);
    rig_free(&r);
}
END_TEST

/* The renewals of a leader go wrong in one way or another. */
static const struct {
    int status;
    enum err_kind kind;    /* of every PUT */
    const char *read_back; /* holder that a GET then shows, NULL = GETs fail too */
    bool ends;
    int64_t within_s;
} lose_rows[] = {
    {500, ERR_UNAVAILABLE, NULL, true, 10},
    {0, ERR_TIMEOUT, NULL, true, 10},
    {409, ERR_CONFLICT, "karp-agent-other-xyz", true, 5},
    {409, ERR_CONFLICT, OURS, true, 10}, /* every PUT conflicts: never renewed */
};

START_TEST(loses)
{
    struct rig r = rig_new();
    lead(&r);
    int64_t begin_ns = r.f->now_ns;
    for (int i = 0; i < 40 && !r.f->rt.ended; i++) {
        fake_run(r.f, NS_PER_S / 2);
        struct fake_call *c = fake_find(r.f, "PUT", LEASES);
        if (c) {
            fake_answer(c, lose_rows[_i].status, lose_rows[_i].kind, NULL);
        }
        c = fake_find(r.f, "GET", LEASES);
        if (c && lose_rows[_i].read_back) {
            fake_answer(c, 200, ERR_NONE, lease_json(lose_rows[_i].read_back, "9", FAKE_WALL_NS));
        } else if (c) {
            fake_answer(c, 500, ERR_UNAVAILABLE, NULL);
        }
    }
    ck_assert(r.f->rt.ended == lose_rows[_i].ends);
    ck_assert(!gate_open(r.f->rt.gate));
    ck_assert_int_le(r.f->now_ns - begin_ns, lose_rows[_i].within_s * NS_PER_S);
    rig_free(&r);
}
END_TEST

static void count_up(void *arg)
{
    ++*(int *)arg;
}

START_TEST(gives_back)
{
    struct rig r = rig_new();
    int released = 0;
    lead(&r);
    lease_release(r.lease, count_up, &released);
    ck_assert(!gate_open(r.f->rt.gate));
    struct fake_call *c = must_find(&r, "PUT");
    ck_assert_str_eq(jsonx_str(c->body, "spec.holderIdentity"), "");
    ck_assert_int_eq(jsonx_int(c->body, "spec.leaseDurationSeconds", 0), 1);
    grant(&r, "PUT");
    ck_assert_int_eq(released, 1);
    fake_run(r.f, 60 * NS_PER_S);
    ck_assert(!r.f->rt.ended && !fake_find(r.f, "PUT", LEASES) && !fake_find(r.f, "GET", LEASES));
    rig_free(&r);
}
END_TEST

START_TEST(gives_back_nothing)
{
    struct rig r = rig_new();
    int released = 0;
    gate_set_standby(r.f->rt.gate, false);
    lease_start(r.lease);
    fake_run(r.f, 0);
    lease_release(r.lease, count_up, &released);
    ck_assert_int_eq(released, 0);
    fake_run(r.f, NS_PER_MS);
    ck_assert_int_eq(released, 1);
    rig_free(&r);
}
END_TEST

START_TEST(not_used)
{
    struct rig r = rig_new();
    r.f->opt.mode = _i == 0 ? MODE_OBSERVE : MODE_FULL;
    r.f->opt.leader_election = _i == 0;
    gate_set_standby(r.f->rt.gate, false);
    lease_start(r.lease);
    fake_run(r.f, 60 * NS_PER_S);
    ck_assert_uint_eq(r.f->n, 0);
    rig_free(&r);
}
END_TEST
static const int not_used_rows[2] = {0, 1};

/* ---- stand-by ----------------------------------------------------------------------------------
 */

/* A Lease in some namespace as the lists show it: holder, age of its renewTime, moving or not. */
static const struct {
    const char *holder;
    int64_t age_s;
    bool moves; /* renewTime follows the clock, at that age */
    bool standby;
} standby_rows[] = {
    {NULL, 0, false, false},
    {"karpenter-7d9f-abc_uuid", 2, true, true},
    {"karpenter-7d9f-abc_uuid", 60, false, false}, /* stale */
    {"karpenter-7d9f-abc_uuid", 60, true, true},   /* clocks differ, but it lives */
    {"karpenter-7d9f-abc_uuid", -100, true, true}, /* from the future */
    {"karpenter-7d9f-abc_uuid", -100, false, false},
    {"karp-agent-other-xyz", 2, true, false}, /* one of us */
    {"", 2, true, false},
};

static void answer_lists(struct rig *r, int row, int64_t begin_wall_ns, int64_t for_ns)
{
    int64_t until_ns = r->f->now_ns + for_ns;
    while (r->f->now_ns < until_ns) {
        struct fake_call *c = fake_find(r->f, "GET", "/apis/coordination.k8s.io/v1/leases");
        if (c) {
            ck_assert_ptr_nonnull(strstr(c->path, "karpenter-leader-election"));
            int64_t base_ns = standby_rows[row].moves ? clock_wall(r->f->rt.clock) : begin_wall_ns;
            json_t *items = json_array();
            if (standby_rows[row].holder) {
                json_array_append_new(items,
                                      lease_json(standby_rows[row].holder, "7",
                                                 base_ns - standby_rows[row].age_s * NS_PER_S));
            }
            fake_answer(c, 200, ERR_NONE, json_pack("{s:o}", "items", items));
        }
        fake_run(r->f, NS_PER_S / 2);
    }
}

START_TEST(stands_by)
{
    struct rig r = rig_new();
    standby_start(r.standby);
    ck_assert(gate_standby(r.f->rt.gate)); /* until it is known */
    answer_lists(&r, _i, clock_wall(r.f->rt.clock), 90 * NS_PER_S);
    ck_assert(gate_standby(r.f->rt.gate) == standby_rows[_i].standby);
    ck_assert(metrics_sum(r.f->rt.metrics, "karp_standby", NULL) == standby_rows[_i].standby);
    rig_free(&r);
}
END_TEST

/* The other one goes: its Lease grows stale and we take over. */
START_TEST(takes_over)
{
    struct rig r = rig_new();
    standby_start(r.standby);
    lease_start(r.lease);
    answer_lists(&r, 1, 0, 60 * NS_PER_S);
    ck_assert(gate_standby(r.f->rt.gate));
    ck_assert_ptr_null(fake_find(r.f, "GET", LEASES)); /* not even a look at our own */
    answer_lists(&r, 0, 0, 10 * NS_PER_S);
    ck_assert(!gate_standby(r.f->rt.gate));
    must_find(&r, "GET");
    rig_free(&r);
}
END_TEST

START_TEST(list_fails)
{
    struct rig r = rig_new();
    standby_start(r.standby);
    for (int i = 0; i < 3; i++) {
        fake_answer(fake_find(r.f, "GET", "/apis/coordination.k8s.io/v1/leases"), 403,
                    ERR_FORBIDDEN, NULL);
        fake_run(r.f, STANDBY_AGAIN_NS);
    }
    ck_assert(gate_standby(r.f->rt.gate)); /* the safe side */
    rig_free(&r);
}
END_TEST

START_TEST(leader_stands_by)
{
    struct rig r = rig_new();
    lead(&r);
    gate_set_standby(r.f->rt.gate, true);
    fake_run(r.f, 60 * NS_PER_S);
    ck_assert(!lease_leading(r.lease) && !r.f->rt.ended);
    ck_assert_ptr_null(fake_find(r.f, "PUT", LEASES));
    rig_free(&r);
}
END_TEST

UNIT_MAIN("lease", UNIT_TEST(creates), UNIT_CASES(takes, take_rows), UNIT_TEST(renews_every_2s),
          UNIT_CASES(loses, lose_rows), UNIT_TEST(gives_back), UNIT_TEST(gives_back_nothing),
          UNIT_CASES(not_used, not_used_rows), UNIT_CASES(stands_by, standby_rows),
          UNIT_TEST(takes_over), UNIT_TEST(list_fails), UNIT_TEST(leader_stands_by))
