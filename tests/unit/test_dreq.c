/* test_dreq.c - DisruptionRequests: what is read of them (kube/decode.h), and what an approved one
 * covers (core/consent/dreq.h). */
#include "common/core/consent/dreq.h"

#include "common/core/consent/approval.h"
#include "common/core/ec2/catalog.h"
#include "decodetest.h"

#define OUT "{nodeClaim: a, uid: u-a, node: n-a, pricePerHour: '0.4'}"
#define SPEC                                                                                       \
    "reason: Underutilized, nodePools: [p], candidates: [" OUT "], "                               \
    "replacements: [{nodePool: p, capacityTypes: [on-demand], instanceTypes: [m5.large], "         \
    "pricePerHour: '0.1'}], podCount: 3, warnings: ['single replica: x/one'], "                    \
    "savingsPerHour: '0.3', planDigest: d1, expiresAt: '2026-01-06T09:00:00Z'"
#define WITH(rest) "{metadata: {name: dr-1}, spec: {" SPEC ", " rest "}}"
#define FILED(generation, rest)                                                                    \
    "{metadata: {name: dr-1, generation: " generation "}, spec: {" SPEC ", " rest "}}"
#define ALONE(spec, status) "{metadata: {name: dr-1}, spec: {" spec "}, status: {" status "}}"

/* "reason phase decision by | out in saving | problem" */
static const struct {
    const char *object, *want;
} rows[] = {
    {WITH("note: n"), "Underutilized Pending - | 400 100 300"},
    {WITH("decision: Approved, decidedBy: alice"), "Underutilized Pending yes alice | 400 100 300"},
    {WITH("decision: Denied, decidedBy: bob"), "Underutilized Pending no bob | 400 100 300"},
    {WITH("decision: null"), "Underutilized Pending - | 400 100 300"},
    {WITH("notBefore: '2026-01-05T22:00:00Z'"), "Underutilized Pending - | 400 100 300"},
    {ALONE(SPEC, "phase: Executing"), "Underutilized Executing - | 400 100 300"},
    {ALONE(SPEC, "phase: Superseded"), "Underutilized Superseded - | 400 100 300"},
    {ALONE("reason: Drifted, candidates: [" OUT "], savingsPerHour: '-0.1', "
           "expiresAt: '2026-01-06T09:00:00Z'",
           ""),
     "Drifted Pending - | 400 0 -100"},
    /* What cannot be read is never approved. */
    {WITH("decision: yes"), "Underutilized Pending no | 400 100 300 | spec.decision is neither "
                            "Approved nor Denied"},
    {WITH("decision: [Approved]"), "Underutilized Pending no | 400 100 300 | spec.decision is "
                                   "neither Approved nor Denied"},
    {ALONE(
         "reason: Empty, candidates: [{nodeClaim: a, uid: b, pricePerHour: '9000000'}, {nodeClaim: "
         "c, uid: d, pricePerHour: '9000000'}], savingsPerHour: '0', expiresAt: "
         "'2026-01-06T09:00:00Z'",
         ""),
     "Empty Pending - | 9223372036 0 0"},
    {FILED("1", "decision: Approved, decidedBy: eve"),
     "Underutilized Pending yes eve | 400 100 300 | it was filed with a decision"},
    {FILED("1", "decision: null"), "Underutilized Pending - | 400 100 300"},
    {FILED("2", "decision: Approved, decidedBy: alice"),
     "Underutilized Pending yes alice | 400 100 300"},
    {WITH("notBefore: tonight"),
     "Underutilized Pending - | 400 100 300 | spec.notBefore is not a time"},
    {ALONE(SPEC, "phase: Sleeping"),
     "Underutilized Pending - | 400 100 300 | status.phase is not known"},
    {ALONE("reason: Expired, candidates: [" OUT "], expiresAt: '2026-01-06T09:00:00Z'", ""),
     " Pending - | 400 0 0 | spec.reason is none of Underutilized, Drifted and Empty"},
    {ALONE("reason: Empty, candidates: [], expiresAt: '2026-01-06T09:00:00Z'", ""),
     "Empty Pending - | 0 0 0 | spec.candidates: none, or too many"},
    {ALONE("reason: Empty, candidates: [{nodeClaim: a}], expiresAt: '2026-01-06T09:00:00Z'", ""),
     "Empty Pending - | 0 0 0 | spec.candidates: nodeClaim and uid must be said"},
    {ALONE("reason: Empty, candidates: [{nodeClaim: a, uid: b, pricePerHour: 0.4}], expiresAt: "
           "'2026-01-06T09:00:00Z'",
           ""),
     "Empty Pending - | 0 0 0 | spec.candidates: a pricePerHour is no amount of dollars"},
    {ALONE("reason: Empty, candidates: [" OUT "], savingsPerHour: '0'", ""),
     "Empty Pending - | 400 0 0 | spec.expiresAt is not a time"},
    {ALONE("reason: Empty, candidates: [" OUT "], expiresAt: '2026-01-06T09:00:00Z'", ""),
     "Empty Pending - | 400 0 0 | spec.savingsPerHour is not said"},
    {"{metadata: {name: dr-1}}", " Pending - | 0 0 0 | spec.reason is none of Underutilized, "
                                 "Drifted and Empty"},
};

static long milli(int64_t pusd)
{
    return (long)(pusd / (PUSD_PER_USD / 1000));
}

START_TEST(read)
{
    static const char *const said[] = {"-", "yes", "no"};
    struct err err = ERR_INIT;
    AUTO_BUF struct buf b;
    begin();
    buf_init(&b, 4096);
    AUTO_JSON json_t *o = parse(rows[_i].object);
    struct dreq *r = decode_dreq(decoder, o, &err);
    ck_assert_msg(r != NULL, "%s", err.msg);
    buf_printf(&b, "%s %s %s%s%s | %ld %ld %ld", approval_reason_name(r->reason),
               dreq_phase_name(r->phase), said[r->decision], *r->decided_by ? " " : "",
               r->decided_by, milli(dreq_price_out(r)), milli(dreq_price_in(r)),
               milli(r->saving_pusd_h));
    buf_printf(&b, "%s%s", r->problem ? " | " : "", r->problem ? r->problem : "");
    ck_assert_str_eq(b.p, rows[_i].want);
    decode_dreq_free(r);
    end();
}
END_TEST

/* Of the request above; what it may do then. */
static const struct {
    enum disruption_reason reason;
    const char *uid, *pool, *capacity, *single;
    long in, saving; /* thousandths of a dollar */
    bool for_weight;
    const char *want;
} risks[] = {
    {DISRUPT_UNDERUTILIZED, "u-a", "p", "on-demand", "x/one", 100, 300, false, NULL},
    {DISRUPT_UNDERUTILIZED, "u-a", "p", "on-demand", NULL, 50, 350, false, NULL},
    {DISRUPT_UNDERUTILIZED, "u-a", "p", "on-demand", NULL, 100, 240, false, NULL},
    {DISRUPT_UNDERUTILIZED, "u-a", "p", "on-demand", NULL, 100, 239, false,
     "it saves less than 80% of what was approved"},
    {DISRUPT_UNDERUTILIZED, "u-a", "p", "on-demand", NULL, 100, 1, true, NULL},
    {DISRUPT_UNDERUTILIZED, "u-a", "p", "on-demand", NULL, 101, 299, false,
     "the replacements are dearer than approved"},
    {DISRUPT_UNDERUTILIZED, "u-a", "p", "spot", NULL, 50, 350, false,
     "a replacement is of another pool or capacity type than approved"},
    {DISRUPT_UNDERUTILIZED, "u-a", "q", "on-demand", NULL, 50, 350, false,
     "a replacement is of another pool or capacity type than approved"},
    {DISRUPT_UNDERUTILIZED, "u-b", "p", "on-demand", NULL, 100, 300, false,
     "a node leaves that was not approved"},
    {DISRUPT_UNDERUTILIZED, "u-a", "p", "on-demand", "x/two", 100, 300, false,
     "a single replica moves that was not approved"},
    {DISRUPT_DRIFTED, "u-a", "p", "on-demand", NULL, 100, 300, false,
     "its reason is not the one approved"},
};

static struct dreq_risk risk_of(int i, struct dreq_replacement *in)
{
    *in = (struct dreq_replacement){
        .pool = risks[i].pool, .capacity_types = &risks[i].capacity, .n_capacity_types = 1};
    return (struct dreq_risk){.reason = risks[i].reason,
                              .uids = &risks[i].uid,
                              .n_uids = 1,
                              .in = in,
                              .n_in = 1,
                              .price_out_pusd_h = 400 * (PUSD_PER_USD / 1000),
                              .price_in_pusd_h = risks[i].in * (PUSD_PER_USD / 1000),
                              .saving_pusd_h = risks[i].saving * (PUSD_PER_USD / 1000),
                              .singles = &risks[i].single,
                              .n_singles = risks[i].single != NULL,
                              .for_weight = risks[i].for_weight};
}

START_TEST(covers)
{
    begin();
    AUTO_JSON json_t *o = parse(WITH("note: n"));
    struct dreq *r = decode_dreq(decoder, o, NULL);
    struct dreq_replacement in;
    struct dreq_risk risk = risk_of(_i, &in);
    const char *why = dreq_exceeds(r, &risk);
    ck_assert_msg(str_eq(why ? why : "", risks[_i].want ? risks[_i].want : ""), "%s",
                  why ? why : "it is covered");
    decode_dreq_free(r);
    end();
}
END_TEST

/* More replacements than approved; fewer nodes, which need save their share only. */
START_TEST(covers_a_part)
{
    begin();
    AUTO_JSON json_t *o =
        parse("{metadata: {name: d}, spec: {reason: Underutilized, candidates: [" OUT
              ", {nodeClaim: b, uid: u-b, node: n-b, pricePerHour: '0.4'}], savingsPerHour: '0.8', "
              "expiresAt: '2026-01-06T09:00:00Z'}}");
    struct dreq *r = decode_dreq(decoder, o, NULL);
    struct dreq_replacement in;
    struct dreq_risk risk = risk_of(0, &in);
    ck_assert_str_eq(dreq_exceeds(r, &risk), "a single replica moves that was not approved");
    risk.n_singles = 0;
    ck_assert_str_eq(dreq_exceeds(r, &risk), "there are more replacements than approved");
    risk.n_in = 0;
    risk.price_in_pusd_h = 0;
    risk.saving_pusd_h = 320 * (PUSD_PER_USD / 1000);
    ck_assert_ptr_null(dreq_exceeds(r, &risk));
    risk.saving_pusd_h--;
    ck_assert_ptr_nonnull(dreq_exceeds(r, &risk));
    risk.saving_pusd_h++;
    r->problem = "spec.decision";
    ck_assert_ptr_nonnull(dreq_exceeds(r, &risk));
    decode_dreq_free(r);
    end();
}
END_TEST

static const struct {
    enum dreq_phase phase;
    int64_t expires_ns, deleted_ns;
    bool open, expired;
} times[] = {
    {DREQ_PENDING, 11, 0, true, false},    {DREQ_PENDING, 10, 0, true, true},
    {DREQ_APPROVED, 10, 0, true, true},    {DREQ_EXECUTING, 10, 0, true, false},
    {DREQ_SUCCEEDED, 10, 0, false, false}, {DREQ_DENIED, 11, 0, false, false},
    {DREQ_PENDING, 11, 5, false, false},
};

START_TEST(open_and_expired)
{
    const struct dreq r = {.phase = times[_i].phase,
                           .expires_ns = times[_i].expires_ns,
                           .m.deleted_ns = times[_i].deleted_ns};
    ck_assert_int_eq(dreq_open(&r), times[_i].open);
    ck_assert_int_eq(dreq_expired(&r, 10), times[_i].expired);
}
END_TEST

UNIT_MAIN("dreq", UNIT_CASES(read, rows), UNIT_CASES(covers, risks), UNIT_TEST(covers_a_part),
          UNIT_CASES(open_and_expired, times))
