/* A step is known again after its quiet time, or is not. */
#include "agent/disrupt/proposal.h"
#include "common/base/str.h"
#include "unit.h"

static struct nodeclaim claims[] = {{.m = {.name = "a", .uid = "1"}},
                                    {.m = {.name = "b", .uid = "2"}},
                                    {.m = {.name = "b", .uid = "3"}}};
static struct snapshot_node nodes[] = {
    {.claim = &claims[0]}, {.claim = &claims[1]}, {.claim = &claims[2]}};

static struct consolidate_step step(const struct step_out *out, uint32_t n, int64_t in,
                                    int64_t saving)
{
    return (struct consolidate_step){.reason = DISRUPT_UNDERUTILIZED,
                                     .out = out,
                                     .n_out = n,
                                     .n_in = in != 0,
                                     .price_in_pusd_h = in,
                                     .saving_pusd_h = saving};
}

static const struct {
    const char *what;
    unsigned out[2]; /* nodes, from 1 */
    enum disruption_reason reason;
    int64_t in, saving;
    uint32_t singles;
    bool known, holds;
} rows[] = {
    {"the same", {1, 2}, DISRUPT_UNDERUTILIZED, 1000, 5000, 1, true, true},
    {"cheaper", {1, 2}, DISRUPT_UNDERUTILIZED, 900, 5100, 1, true, true},
    {"dearer", {1, 2}, DISRUPT_UNDERUTILIZED, 1001, 5000, 1, true, false},
    {"four fifths of the saving", {1, 2}, DISRUPT_UNDERUTILIZED, 1000, 4000, 1, true, true},
    {"less", {1, 2}, DISRUPT_UNDERUTILIZED, 1000, 3900, 1, true, false},
    {"one single replica less", {1, 2}, DISRUPT_UNDERUTILIZED, 1000, 5000, 0, true, true},
    {"one single replica more", {1, 2}, DISRUPT_UNDERUTILIZED, 1000, 5000, 2, true, false},
    {"one node less", {1, 0}, DISRUPT_UNDERUTILIZED, 1000, 5000, 1, false, false},
    {"another node of that name", {1, 3}, DISRUPT_UNDERUTILIZED, 1000, 5000, 1, false, false},
    {"another reason", {1, 2}, DISRUPT_DRIFTED, 1000, 5000, 1, false, false},
};

START_TEST(is_known_again)
{
    const struct step_out was[] = {{.node = &nodes[0]}, {.node = &nodes[1]}};
    struct step_out now[2];
    uint32_t n = 0;
    struct proposals p = {NULL, 0, 0};
    struct consolidate_step s = step(was, 2, 1000, 5000);
    s.n_singles = 1;
    proposals_add(&p, &s);
    for (; n < 2 && rows[_i].out[n] != 0; n++) {
        now[n] = (struct step_out){.node = &nodes[rows[_i].out[n] - 1]};
    }
    struct consolidate_step again = step(now, n, rows[_i].in, rows[_i].saving);
    again.reason = rows[_i].reason;
    again.n_singles = rows[_i].singles;
    struct proposal *q = proposals_of(&p, &again);
    ck_assert_msg((q != NULL) == rows[_i].known, "%s", rows[_i].what);
    ck_assert_msg(q == NULL || proposal_holds(q, &again) == rows[_i].holds, "%s", rows[_i].what);
    ck_assert(proposals_lack(&p, &claims[1]) && !proposals_lack(&p, &claims[2]));
    p.v[0].found = true;
    ck_assert(!proposals_lack(&p, &claims[1]) && proposals_all_found(&p));
    proposals_clear(&p);
}
END_TEST

/* What drifts goes at any price. */
START_TEST(drift_is_not_about_money)
{
    const struct step_out out[] = {{.node = &nodes[0]}};
    struct proposals p = {NULL, 0, 0};
    struct consolidate_step s = step(out, 1, 1000, 0);
    s.reason = DISRUPT_DRIFTED;
    proposals_add(&p, &s);
    s.price_in_pusd_h = 9000;
    s.saving_pusd_h = -8000;
    ck_assert(proposal_holds(&p.v[0], &s));
    proposals_clear(&p);
}
END_TEST

/* What was approved is known by its nodes, and stands beside a step of the plan that has the same:
 * whichever is not found yet is meant. */
START_TEST(from_a_request)
{
    const struct dreq_candidate one = {.claim = "a", .uid = claims[0].m.uid};
    const struct dreq r = {.m = {.name = "dr-1"},
                           .reason = DISRUPT_UNDERUTILIZED,
                           .candidates = &one,
                           .n_candidates = 1};
    const struct step_out out[] = {{.node = &nodes[0]}}, other[] = {{.node = &nodes[1]}};
    struct proposals p = {NULL, 0, 0};
    struct consolidate_step s = step(out, 1, 1000, 5000), t = step(other, 1, 1000, 5000);
    proposals_add(&p, &s)->files = true;
    proposals_add_request(&p, &r);
    ck_assert_ptr_null(proposals_of(&p, &t));
    ck_assert(proposals_of(&p, &s) == &p.v[0] && !p.v[0].request);
    p.v[0].found = true;
    ck_assert(proposals_of(&p, &s) == &p.v[1] && str_eq(p.v[1].request, "dr-1"));
    ck_assert(proposals_lack(&p, &claims[0]));
    p.v[1].found = true;
    ck_assert(proposals_of(&p, &s) && proposals_all_found(&p));
    proposals_clear(&p);
}
END_TEST

UNIT_MAIN("proposal", UNIT_CASES(is_known_again, rows), UNIT_TEST(drift_is_not_about_money),
          UNIT_TEST(from_a_request))
