/* test_fate.c - what becomes of a DisruptionRequest (agent/consent/fate.h), read off a store. */
#include "agent/consent/fate.h"

#include "agent/consent/consent.h"
#include "agent/store/store.h"
#include "agent/work/gate.h"
#include "common/base/jsonx.h"
#include "common/base/yamlx.h"
#include "common/core/consent/approval.h"
#include "fakeagent.h"
#include "storepaths.h"
#include "unit.h"

/* The clock says 2026-01-05T09:16:40Z. */
#define NOW_IN "2026-01-05T09:16:41Z"
#define NOW_OUT "2026-01-05T09:16:40Z"

#define META(name, at)                                                                             \
    "metadata: {name: " name ", uid: u-" name ", resourceVersion: '200', creationTimestamp: '" at  \
    "'}"
#define POOL                                                                                       \
    "{kind: NodePool, metadata: {name: p, uid: u-p, resourceVersion: '200', annotations: "         \
    "{karp.dev/disruption-approval: Required}}}\n---\n"
#define CLAIM(name)                                                                                \
    "{kind: NodeClaim, metadata: {name: " name ", uid: u-" name                                    \
    ", resourceVersion: '200', labels: {karpenter.sh/nodepool: p}}}\n---\n"
#define PLAN(out, price)                                                                           \
    "reason: Underutilized, nodePools: [p], candidates: [" out                                     \
    "], replacements: [{nodePool: p, capacityTypes: [spot], pricePerHour: '" price                 \
    "'}], savingsPerHour: '0.3', planDigest: d"
#define A "{nodeClaim: a, uid: u-a, pricePerHour: '1'}"
#define B "{nodeClaim: b, uid: u-b, pricePerHour: '1'}"
#define REQ_AT(name, at, plan, spec, status)                                                       \
    "{kind: DisruptionRequest, " META(name, at) ", spec: {" plan ", " spec "}, status: {" status   \
                                                "}}\n---\n"
#define EXPIRES(at) "expiresAt: '" at "'"
#define LASTS EXPIRES(NOW_IN)
#define REQ(spec, status) REQ_AT("r", "2026-01-05T09:00:00Z", PLAN(A, "0.5"), spec, status)
#define OLD(spec, status) REQ_AT("s", "2026-01-05T08:00:00Z", PLAN(A, "0.5"), spec, status)
#define YES "decision: Approved, decidedBy: alice"
#define NO "decision: Denied, decidedBy: bob, note: later"
#define GRANT(spec)                                                                                \
    "{kind: DisruptionGrant, metadata: {name: g, uid: u-g, resourceVersion: '200'}, spec: "        \
    "{grantedBy: carol, " spec "}}\n---\n"
/* Another one, to which somebody said no. */
#define DENIED(out, from)                                                                          \
    REQ_AT("q", "2026-01-05T08:30:00Z", PLAN(out, "0.5"), LASTS ", " NO ", supersedes: " from,     \
           "phase: Denied")
#define HERE POOL CLAIM("a")
/* A node of another pool. */
#define ELSEWHERE                                                                                  \
    POOL "{kind: NodeClaim, metadata: {name: a, uid: u-a, resourceVersion: '200', labels: "        \
         "{karpenter.sh/nodepool: q}}}\n---\n"

/* "phase, answer's reason, by, why" of request r. */
static const struct {
    const char *objects, *want;
    bool abandoned;
} rows[] = {
    {HERE REQ(LASTS, ""), "Pending Waiting", false},
    {HERE REQ(LASTS ", " YES, ""), "Approved Decision alice", false},
    {HERE REQ(LASTS ", " NO, ""), "Denied Decision bob: later", false},
    {HERE REQ(EXPIRES(NOW_OUT), ""), "Expired Waiting: its time passed without a decision", false},
    {HERE REQ(EXPIRES(NOW_OUT) ", " YES, ""),
     "Expired Decision alice: its time passed before it could be carried out", false},
    {HERE REQ(LASTS ", " YES ", notBefore: tomorrow", ""), "Pending Invalid", false},
    /* The world moves. */
    {POOL REQ(LASTS ", " YES, ""), "Superseded Decision alice: NodeClaim a is gone or going",
     false},
    {POOL "{kind: NodeClaim, metadata: {name: a, uid: another, resourceVersion: '200', labels: "
          "{karpenter.sh/nodepool: p}}}\n---\n" REQ(LASTS ", " YES, ""),
     "Superseded Decision alice: NodeClaim a is gone or going", false},
    {CLAIM("a") REQ(LASTS ", " YES, ""),
     "Superseded Decision alice: its pools ask for no decision any more", false},
    {HERE REQ(LASTS, "") REQ_AT("t", "2026-01-05T09:00:01Z", PLAN(A ", " B, "0.5"), LASTS, ""),
     "Superseded Waiting: another plan for its nodes was filed: t", false},
    {HERE REQ(LASTS, "") REQ_AT("q", "2026-01-05T08:59:59Z", PLAN(A, "0.5"), LASTS, ""),
     "Pending Waiting", false},
    {HERE REQ(LASTS, "") REQ_AT("t", "2026-01-05T09:00:01Z", PLAN(B, "0.5"), LASTS, ""),
     "Pending Waiting", false},
    {HERE REQ(LASTS, "")
         REQ_AT("t", "2026-01-05T09:00:01Z", PLAN(A, "0.5"), LASTS, "phase: Denied"),
     "Pending Waiting", false},
    {HERE REQ(LASTS ", " YES, "conditions: [{type: Valid, status: 'False', lastTransitionTime: "
                              "'2026-01-05T09:06:40Z'}]"),
     "Superseded Decision alice: the plan has not held for 10 minutes", false},
    {HERE REQ(LASTS ", " YES, "conditions: [{type: Valid, status: 'False', lastTransitionTime: "
                              "'2026-01-05T09:06:41Z'}]"),
     "Approved Decision alice", false},
    /* Being carried out. */
    {HERE REQ(EXPIRES(NOW_OUT) ", " YES, "phase: Executing"), "Executing Decision alice", false},
    {HERE REQ(LASTS ", " YES, "phase: Executing"), "Approved Decision alice", true},
    {HERE REQ(EXPIRES(NOW_OUT) ", " YES, "phase: Executing"),
     "Expired Decision alice: its time passed before it could be carried out", true},
    {POOL REQ(LASTS ", " YES, "phase: Executing"), "Succeeded Decision alice: 1 node left", false},
    {HERE REQ_AT("r", "2026-01-05T09:00:00Z", PLAN(A ", " B, "0.5"), LASTS ", " YES,
                 "phase: Executing"),
     "Failed Decision alice: 1 of 2 nodes left, the rest stays", true},
    {HERE REQ_AT("r", "2026-01-05T09:00:00Z", PLAN(A ", " B, "0.5"), LASTS ", " YES,
                 "phase: Executing"),
     "Executing Decision alice", false},
    /* Over is over. */
    {HERE REQ(LASTS ", " YES, "phase: Superseded"), "Superseded Decision alice", false},
    {HERE REQ(LASTS ", " YES, "phase: Failed"), "Failed Decision alice", false},
    /* Inherited. */
    {HERE OLD(LASTS ", " YES, "phase: Superseded") REQ(LASTS ", supersedes: s", ""),
     "Approved Inherited alice", false},
    {HERE OLD(LASTS, "phase: Superseded") REQ(LASTS ", supersedes: s", ""), "Pending Waiting",
     false},
    {HERE OLD(LASTS ", " NO, "phase: Superseded") REQ(LASTS ", supersedes: s", ""),
     "Pending Waiting", false},
    {HERE OLD(LASTS ", " YES, "phase: Succeeded") REQ(LASTS ", supersedes: s", ""),
     "Pending Waiting", false},
    {HERE OLD(EXPIRES(NOW_OUT) ", " YES, "phase: Superseded") REQ(LASTS ", supersedes: s", ""),
     "Pending Waiting", false},
    {HERE REQ(LASTS ", supersedes: s", ""), "Pending Waiting", false},
    {HERE OLD(LASTS ", " YES, "phase: Superseded")
         REQ_AT("r", "2026-01-05T09:00:00Z", PLAN(A, "0.51"), LASTS ", supersedes: s", ""),
     "Pending Waiting", false},
    {HERE OLD(LASTS ", " YES, "phase: Superseded") REQ(LASTS ", " NO ", supersedes: s", ""),
     "Denied Decision bob: later", false},
    {HERE OLD(LASTS ", " YES, "phase: Superseded") REQ(LASTS ", supersedes: s", "")
         DENIED(A ", " B, "s"),
     "Pending Waiting", false},
    {HERE OLD(LASTS ", " YES, "phase: Superseded") REQ(LASTS ", supersedes: s", "") DENIED(B, "s"),
     "Approved Inherited alice", false},
    {HERE OLD(LASTS ", " YES, "phase: Superseded") REQ(LASTS ", supersedes: s", "") DENIED(A, "x"),
     "Approved Inherited alice", false},
    /* Granted. */
    {HERE GRANT("pools: [p], reasons: [Underutilized]") REQ(LASTS, ""), "Approved Grant carol",
     false},
    {HERE GRANT("pools: [p], reasons: [Underutilized]") REQ(LASTS ", " NO, ""),
     "Denied Decision bob: later", false},
    {HERE GRANT("pools: [q], reasons: [Underutilized]") REQ(LASTS, ""), "Pending Waiting", false},
    {HERE GRANT("pools: [p], reasons: [Drifted, Empty]") REQ(LASTS, ""), "Pending Waiting", false},
    /* What leaves and what comes counts, whatever the list of pools says. */
    {ELSEWHERE
     "{kind: NodePool, metadata: {name: q, uid: u-q, resourceVersion: '200', annotations: "
     "{karp.dev/disruption-approval: Required}}}\n---\n" GRANT(
         "pools: [p], reasons: [Underutilized]") REQ(LASTS, ""),
     "Pending Waiting", false},
    {HERE GRANT("pools: [p], reasons: [Underutilized]")
         REQ_AT("r", "2026-01-05T09:00:00Z",
                "reason: Underutilized, nodePools: [p], candidates: [" A
                "], replacements: [{nodePool: q}], savingsPerHour: '0.3', planDigest: d",
                LASTS, ""),
     "Pending Waiting", false},
    {HERE GRANT("pools: [p], reasons: [Underutilized], expiresAt: '" NOW_OUT "'") REQ(LASTS, ""),
     "Pending Waiting", false},
    {HERE GRANT("pools: [p], reasons: [Underutilized], schedule: '0 9 * * *', duration: 17m")
         REQ(LASTS, ""),
     "Approved Grant carol", false},
    {HERE GRANT("pools: [p], reasons: [Underutilized], schedule: '0 9 * * *', duration: 16m")
         REQ(LASTS, ""),
     "Pending Waiting", false},
    {HERE GRANT("pools: [p], reasons: [Underutilized], maxNodesPerHour: 1")
         OLD(LASTS, "phase: Succeeded, grant: g, startedAt: '2026-01-05T08:16:40Z'") REQ(LASTS, ""),
     "Approved Grant carol", false},
    {HERE GRANT("pools: [p], reasons: [Underutilized], maxNodesPerHour: 1")
         OLD(LASTS, "phase: Succeeded, grant: g, startedAt: '2026-01-05T08:16:41Z'") REQ(LASTS, ""),
     "Pending Waiting", false},
    {HERE GRANT("pools: [p], reasons: [Underutilized], maxNodesPerHour: 2")
         OLD(LASTS, "phase: Succeeded, grant: g, startedAt: '2026-01-05T08:16:41Z'") REQ(LASTS, ""),
     "Approved Grant carol", false},
    {HERE GRANT("pools: [p], reasons: [Underutilized], maxNodesPerHour: 1") OLD(
         LASTS, "phase: Succeeded, grant: other, startedAt: '2026-01-05T08:16:41Z'") REQ(LASTS, ""),
     "Approved Grant carol", false},
};

static struct fake *world(const char *objects)
{
    struct fake *f = fake_new();
    struct err err = ERR_INIT;
    size_t i;
    json_t *o;
    AUTO_JSON json_t *docs = yamlx_parse_all(objects, strlen(objects), "row", NULL, &err);
    ck_assert_msg(docs != NULL, "%s", err.msg);
    f->rt.store = store_new(&f->rt);
    store_start(f->rt.store);
    fake_run(f, 0);
    for (int k = 0; k < STORE_KINDS; k++) {
        struct fake_call *c = fake_find(f, "GET", store_paths[k]);
        if (c) {
            fake_answer(
                c, 200, ERR_NONE,
                json_pack("{s:{s:s}, s:[]}", "metadata", "resourceVersion", "100", "items"));
        }
    }
    fake_run(f, 0);
    json_array_foreach (docs, i, o) {
        store_observe(f->rt.store, o);
    }
    return f;
}

static void world_free(struct fake *f)
{
    store_free(f->rt.store);
    fake_free(f);
}

START_TEST(follows)
{
    char text[512];
    struct fake *f = world(rows[_i].objects);
    const struct dreq *r = fate_request(&f->rt, "r");
    ck_assert_ptr_nonnull(r);
    struct fate got = fate_of(&f->rt, r, rows[_i].abandoned);
    snprintf(text, sizeof(text), "%s %s%s%s%s%s", dreq_phase_name(got.phase), got.answer.reason,
             *got.answer.by ? " " : "", got.answer.by, *got.why ? ": " : "", got.why);
    ck_assert_str_eq(text, rows[_i].want);
    world_free(f);
}
END_TEST

/* An Executing one goes on while its approval stands. */
static const struct {
    const char *objects;
    bool want;
} stands[] = {
    {HERE REQ(LASTS ", " YES, "phase: Executing"), true},
    {HERE REQ(EXPIRES(NOW_OUT) ", " YES, "phase: Executing"), true},
    {HERE REQ(LASTS ", " YES, "phase: Approved"), false},
    {HERE REQ(LASTS, "phase: Executing"), false},
    {HERE REQ(LASTS ", " NO, "phase: Executing"), false},
    {HERE OLD(LASTS ", " YES, "phase: Superseded") REQ(LASTS ", supersedes: s", "phase: Executing"),
     true},
    {HERE OLD(LASTS ", " NO, "phase: Superseded") REQ(LASTS ", supersedes: s", "phase: Executing"),
     false},
    {HERE GRANT("pools: [p], reasons: [Underutilized]") REQ(LASTS, "phase: Executing, grant: g"),
     true},
    {HERE GRANT("pools: [p], reasons: [Underutilized]")
         REQ(LASTS ", " NO, "phase: Executing, grant: g"),
     false},
    {HERE REQ(LASTS, "phase: Executing, grant: g"), false},
    {HERE GRANT("pools: [q], reasons: [Underutilized]") REQ(LASTS, "phase: Executing, grant: g"),
     false},
    {ELSEWHERE GRANT("pools: [p], reasons: [Underutilized]")
         REQ(LASTS, "phase: Executing, grant: g"),
     false},
    {HERE OLD(LASTS ", " YES, "phase: Superseded") REQ(LASTS ", supersedes: s", "phase: Executing")
         DENIED(A, "s"),
     false},
    {HERE GRANT("pools: [p], reasons: [Underutilized], expiresAt: '" NOW_OUT "'")
         REQ(LASTS, "phase: Executing, grant: g"),
     false},
    {HERE GRANT("pools: [p], reasons: [Underutilized], schedule: '0 8 * * *', duration: 1h")
         REQ(LASTS, "phase: Executing, grant: g"),
     true},
};

START_TEST(approval_stands)
{
    struct fake *f = world(stands[_i].objects);
    ck_assert_int_eq(fate_stands(&f->rt, fate_request(&f->rt, "r")), stands[_i].want);
    world_free(f);
}
END_TEST

/* More requests than are kept: what is over goes, what has run out is closed, all else waits. */
static const struct {
    const char *request;
    const char *method; /* of what is written; NULL: nothing */
} crowded[] = {
    {REQ(LASTS, ""), NULL},
    {REQ(LASTS ", " YES, ""), NULL},
    {REQ(EXPIRES(NOW_OUT), ""), "PATCH"},
    {REQ(EXPIRES(NOW_OUT) ", " YES, "phase: Approved"), "PATCH"},
    {REQ(EXPIRES(NOW_OUT) ", " YES, "phase: Executing"), NULL},
    {REQ(EXPIRES(NOW_OUT), "phase: Denied, endedAt: '2026-01-04T09:16:41Z'"), NULL},
    {REQ(EXPIRES(NOW_OUT), "phase: Denied, endedAt: '2026-01-04T09:16:40Z'"), "DELETE"},
};

START_TEST(crowd)
{
    struct fake *f = world(crowded[_i].request);
    f->opt.leader_election = false;
    f->rt.gate = gate_new(&f->rt, &f->kube, &f->aws);
    gate_set_standby(f->rt.gate, false);
    static const char other[] = REQ(LASTS, "");
    AUTO_JSON json_t *docs = yamlx_parse_all(other, strlen(other), "other", NULL, NULL);
    ck_assert_ptr_nonnull(docs);
    for (int i = 0; i < STORE_MAX_CONSENT; i++) {
        char name[16];
        snprintf(name, sizeof(name), "dr-%05d", i);
        AUTO_JSON json_t *o = json_deep_copy(json_array_get(docs, 0));
        json_object_set_new(
            o, "metadata",
            json_pack("{s:s, s:s, s:s}", "name", name, "uid", name, "resourceVersion", "200"));
        store_observe(f->rt.store, o);
    }
    ck_assert(!store_requests_known(f->rt.store));
    struct consent *c = consent_new(&f->rt);
    consent_start(c);
    fake_run(f, 0);
    const char *path = "/apis/karp.dev/v1alpha1/disruptionrequests/r";
    ck_assert(!fake_find(f, "PATCH", path) == !str_eq(crowded[_i].method, "PATCH"));
    ck_assert(!fake_find(f, "DELETE", path) == !str_eq(crowded[_i].method, "DELETE"));
    consent_free(c);
    gate_free(f->rt.gate);
    f->rt.gate = NULL;
    world_free(f);
}
END_TEST

UNIT_MAIN("fate", UNIT_CASES(follows, rows), UNIT_CASES(approval_stands, stands),
          UNIT_CASES(crowd, crowded))
