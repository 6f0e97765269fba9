/* test_consolidate_detail.c - what a plan tells beside who goes (core/disrupt/consolidate.h,
 * plan.h). */
#include "plantest.h"

#include "common/core/plan.h"

static struct fleet fl;

static const struct consolidate_result *plan(const char *world)
{
    f_build(&fl, world);
    return consolidate_result(f_plan(&fl));
}

static const struct consolidate *run(const char *world, struct consolidate **ret)
{
    f_build(&fl, world);
    *ret = f_run(&fl, UINT64_MAX);
    return *ret;
}

/* ---- steps ----------------------------------------------------------------------------------- */

START_TEST(test_step)
{
    const struct consolidate_result *r = plan(
        "fleet: [{name: n1, type: c.4xlarge}, {name: n2}]\n"
        "pods: [{node: n1, name: w2, owner: rs, cpu: 700}, {node: n1, name: w1, owner: rs, cpu: "
        "600}, {node: n1, name: one, owner: solo, cpu: 100}, {node: n1, name: naked, cpu: 50}, "
        "{node: n1, name: ds, kind: DaemonSet, cpu: 10}, {node: n2, cpu: 3700, owner: x}]");
    ck_assert_uint_eq(r->n_steps, 1);
    const struct consolidate_step *st = &r->steps[0];
    ck_assert_uint_eq(st->id, 1);
    ck_assert_int_eq(st->kind, STEP_REPLACE);
    ck_assert_int_eq(st->reason, DISRUPT_UNDERUTILIZED);
    ck_assert_uint_eq(st->n_moves, 4);
    static const char *const names[] = {"naked", "one", "w1", "w2"};
    for (uint32_t i = 0; i < 4; i++) {
        ck_assert_str_eq(st->moves[i].pod->m.name, names[i]);
        ck_assert_str_eq(st->moves[i].from->name, "n1");
    }
    ck_assert_uint_eq(st->n_singles, 2);
    ck_assert_str_eq(st->singles[0]->m.name, "naked");
    ck_assert_str_eq(st->singles[1]->m.name, "one");
    ck_assert_uint_eq(st->n_naked, 1);
    ck_assert_str_eq(st->naked[0]->m.name, "naked");
    ck_assert_int_eq(st->price_out_pusd_h, 800 * (PUSD_PER_USD / 1000));
    ck_assert_int_eq(st->price_in_pusd_h, 100 * (PUSD_PER_USD / 1000));
    ck_assert_int_eq(st->saving_pusd_h, 700 * (PUSD_PER_USD / 1000));
    ck_assert_int_eq(st->in[0].worst_pusd_h < st->price_out_pusd_h, 1);
    ck_assert(st->score > 0 && st->disruption_micro > 0);
    ck_assert_uint_eq(st->out[0].pods_moved, 4);
    ck_assert_int_eq(r->price_pusd_h, PUSD_PER_USD);
    ck_assert_int_eq(r->saving_pusd_h, st->saving_pusd_h);
    ck_assert_uint_eq(r->nodes_out, 1);
    ck_assert_uint_eq(r->nodes_in, 1);
    ck_assert_uint_eq(r->pods_moved, 4);
    ck_assert(r->work_units > 0 && !r->truncated);
    f_done(&fl);
}
END_TEST

START_TEST(test_given_up)
{
    const struct consolidate_result *r =
        plan("pools: [{name: main, reqs: 'node.kubernetes.io/instance-type In c.2xlarge; "
             "karpenter.sh/capacity-type In on-demand'}]\n"
             "fleet: [{name: n1, type: c.2xlarge}, {name: n2, type: c.2xlarge}]\n"
             "pods: [{node: n1, count: 9, cpu: 100, labels: {app: dns}, spec: {affinity: "
             "{podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, "
             "podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: "
             "{app: dns}}}}]}}}}, {node: n2, count: 20, cpu: 100}]");
    ck_assert_uint_eq(r->n_steps, 1);
    ck_assert_uint_eq(r->steps[0].n_in, 0);
    ck_assert_uint_eq(r->steps[0].n_given_up, 8); /* the first one has n2 to itself */
    ck_assert_str_eq(r->steps[0].given_up[0].rule,
                     "preferred pod anti-affinity over kubernetes.io/hostname: app In [dns]");
    f_done(&fl);
}
END_TEST

/* The cheapest fifteen, all of them cheaper than the node. */
START_TEST(test_spot_types)
{
    const struct consolidate_result *r =
        plan("pools: [{name: main, reqs: ''}]\noptions: {spotToSpot: true, spotMinTypes: 5}\n"
             "fleet: [{name: n1, type: c.8xlarge, ct: spot}]\npods: [{node: n1, cpu: 1500}]");
    ck_assert_uint_eq(r->n_steps, 1);
    const struct step_in *in = &r->steps[0].in[0];
    ck_assert_uint_eq(in->claim.n_types, 5);
    ck_assert_uint_eq(in->claim.offer.cts, 1u << CT_SPOT);
    int64_t last = 0;
    for (uint32_t i = 0; i < 5; i++) {
        int64_t price = offerings_cheapest(in->pool->offerings, in->claim.types[i], in->claim.offer,
                                           NULL, NULL);
        ck_assert(price >= last && price < r->steps[0].price_out_pusd_h);
        last = price;
    }
    f_done(&fl);
}
END_TEST

/* A claim that may be spot in the cheap zone only is told to be there. */
START_TEST(test_zone_pinned)
{
    const struct consolidate_result *r =
        plan("pools: [{name: main, reqs: 'node.kubernetes.io/instance-type In c.xlarge'}]\n"
             "prices: [{type: c.xlarge, ct: spot, usd: 0.22}, "
             "{type: c.xlarge, ct: spot, zone: zone-b, usd: 0.08}]\n"
             "fleet: [{name: n1}]\npods: [{node: n1, cpu: 3000}]");
    ck_assert_uint_eq(r->n_steps, 1);
    const struct sched_claim *claim = &r->steps[0].in[0].claim;
    ck_assert_uint_eq(claim->offer.zones, 2);
    ck_assert_str_eq(sym_str(fl.w.f->syms, req_single(reqset_get(&claim->reqs, L_ZONE))), "zone-b");
    ck_assert_str_eq(sym_str(fl.w.f->syms, req_single(reqset_get(&claim->reqs, L_CAPACITY_TYPE))),
                     "spot");
    f_done(&fl);
}
END_TEST

/* ---- order -------------------------------------------------------------------------------------
 */

START_TEST(test_order)
{
    const struct consolidate_result *r = plan(
        "fleet: [{name: little, type: c.xlarge}, {name: much, type: c.8xlarge}, {name: none}]\n"
        "pods: [{node: little, cpu: 1800}, {node: much, cpu: 1800, spec: {nodeSelector: "
        "{topology.kubernetes.io/zone: zone-b}}}]");
    ck_assert_str_eq(f_steps(&fl, r), "replace much > c.large on-demand; empty none; "
                                      "replace little > c.large on-demand");
    for (uint32_t i = 1; i < r->n_steps; i++) {
        ck_assert(r->steps[i - 1].score >= r->steps[i].score);
    }
    f_done(&fl);
}
END_TEST

/* ---- budgets -----------------------------------------------------------------------------------
 */

START_TEST(test_budgets)
{
    const struct consolidate_result *r =
        plan("pools: [{name: b, budgets: [{nodes: '10%'}]}, {name: a, budgets: [{nodes: '0', "
             "schedule: '0 9 * * *', duration: 8h}, {nodes: '1', reason: Drifted}]}]\n"
             "fleet: [{name: x, pool: b, count: 3}, {name: z, pool: b, notReady: true}]");
    ck_assert_uint_eq(r->n_budgets, 6);
    const struct plan_budget *b = &r->budgets[3];
    ck_assert_str_eq(b->pool->np->m.name, "b");
    ck_assert_int_eq(b->reason, DISRUPT_UNDERUTILIZED);
    ck_assert_int_eq(b->nodes, 4);
    ck_assert_int_eq(b->allowed, 1);
    ck_assert_int_eq(b->disrupting, 1);
    ck_assert_int_eq(b->remaining, 0);
    ck_assert_str_eq(r->budgets[0].pool->np->m.name, "a");
    ck_assert_int_eq(r->budgets[0].nodes, 0);
    f_done(&fl);
}
END_TEST

/* FIX_NOW is 2023-11-14 22:13:20 UTC, a Tuesday. */
START_TEST(test_budgets_at)
{
    struct consolidate *c;
    f_build(&fl,
            "pools: [{name: main, budgets: [{nodes: '0', schedule: '0 9 * * *', duration: 8h}]}]\n"
            "fleet: [{name: n1}]");
    c = f_run(&fl, UINT64_MAX);
    const struct consolidate_result *r = consolidate_result(c);
    ck_assert_uint_eq(r->steps[0].n_held_by, 0);
    ck_assert_int_eq(r->budgets[0].closes_ns, FIX_NOW + (10 * 3600 + 46 * 60 + 40) * FIX_S);
    fl.opt.budgets_ns = FIX_NOW + 11 * 3600 * FIX_S;
    r = consolidate_result(f_run(&fl, UINT64_MAX));
    ck_assert_uint_eq(r->steps[0].n_held_by, 1);
    ck_assert_int_eq(r->steps[0].held_by[0].code, REASON_Budget);
    ck_assert_int_eq(r->budgets[0].opens_ns, FIX_NOW + (18 * 3600 + 46 * 60 + 40) * FIX_S);
    ck_assert_int_eq(r->steps[0].held_by[0].until_ns, r->budgets[0].opens_ns);
    f_done(&fl);
}
END_TEST

/* ---- gates -------------------------------------------------------------------------------------
 */

START_TEST(test_gates)
{
    struct consolidate *c;
    struct candidate_gate g[GATE_COUNT];
    (void)run(
        "pools: [{name: main, after: 1h, reqs: 'node.kubernetes.io/instance-type In c.xlarge; "
        "karpenter.sh/capacity-type In on-demand', budgets: [{nodes: '1'}]}]\n"
        "fleet: [{name: full}, {name: gone}, {name: young, quiet: 20m}]\n"
        "pods: [{node: full, cpu: 3500, labels: {app: db}}, {node: young, cpu: 3500}]\n"
        "pdbs: [{name: b, match: {app: db}, min: 0}]",
        &c);
    const struct consolidate_result *r = consolidate_result(c);
    ck_assert_str_eq(f_steps(&fl, r), "empty gone");
    consolidate_gates(c, r->nodes[0].node, g);
    for (int id = 0; id < GATE_COUNT; id++) {
        ck_assert_int_eq(g[id].pass, id != GATE_NotCheaper);
        ck_assert_int_eq(g[id].reason.code, candidate_gate_code((enum candidate_gate_id)id));
        ck_assert_int_eq(g[id].asked, id <= GATE_NotCheaper || id >= GATE_Denied);
    }
    ck_assert_str_eq(g[GATE_PDB].reason.object2, "default/b");
    ck_assert_int_eq(g[GATE_PDB].reason.limit, 1);
    ck_assert_int_eq(g[GATE_Waiting].reason.since_ns, FIX_NOW - 7200 * FIX_S);
    ck_assert_int_eq(g[GATE_Budget].reason.limit, 1);
    consolidate_gates(c, r->nodes[1].node, g);
    for (int id = 0; id < GATE_COUNT; id++) {
        ck_assert(g[id].pass);
    }
    consolidate_gates(c, r->nodes[2].node, g);
    ck_assert(!g[GATE_Waiting].pass && !g[GATE_PodsDoNotFit].asked && g[GATE_PDB].pass);
    ck_assert_int_eq(g[GATE_Waiting].reason.until_ns, FIX_NOW + 2400 * FIX_S);
    f_done(&fl);
}
END_TEST

/* A node that is not ours has gates, too. */
START_TEST(test_foreign_node)
{
    struct candidate_gate g[GATE_COUNT];
    f_build(&fl, "fleet: [{name: n1}]");
    fl.w.f->in.n_claims = 0;
    const struct snapshot *s = fix_snapshot(fl.w.f);
    struct consolidate *c = consolidate_begin(&fl.w.f->a, s, NULL, &fl.opt);
    ck_assert(consolidate_step(c, UINT64_MAX));
    ck_assert_uint_eq(consolidate_result(c)->n_nodes, 0);
    consolidate_gates(c, &s->nodes[0], g);
    ck_assert(!g[GATE_NotManaged].pass && g[GATE_NotManaged].asked);
    ck_assert(g[GATE_Waiting].pass && !g[GATE_Waiting].asked);
    f_done(&fl);
}
END_TEST

/* ---- bounds ------------------------------------------------------------------------------------
 */

START_TEST(test_truncated)
{
    struct consolidate *c;
    (void)run("options: {maxUnits: 3}\nfleet: [{name: m, count: 9}]", &c);
    const struct consolidate_result *r = consolidate_result(c);
    ck_assert(r->truncated);
    ck_assert(r->n_steps > 0 && r->n_steps < 9);
    f_done(&fl);
}
END_TEST

/* Given up half-way: nothing is left behind. */
START_TEST(test_given_up_half_way)
{
    f_build(&fl, "fleet: [{name: m, count: 9, type: c.2xlarge}]\npods: [{each: m, cpu: 900}]");
    for (uint64_t i = 0; i < 40; i++) {
        struct consolidate *c =
            consolidate_begin(&fl.w.f->a, fix_snapshot(fl.w.f), &fl.facts, &fl.opt);
        for (uint64_t k = 0; k < i; k++) {
            (void)consolidate_step(c, 1);
        }
        consolidate_end(c);
    }
    consolidate_end(NULL);
    f_done(&fl);
}
END_TEST

/* ---- digests -----------------------------------------------------------------------------------
 */

START_TEST(test_digest)
{
    const struct consolidate_result *r = plan(
        "fleet: [{name: n1, type: c.4xlarge}]\npods: [{node: n1, cpu: 1500, name: \"a\\\"b\"}]");
    struct buf b;
    buf_init(&b, 1 << 20);
    plan_text(fix_snapshot(fl.w.f), r->steps, r->n_steps, &b);
    ck_assert_str_eq(
        b.p,
        "[{\"interruptsSingleReplicas\":[\"default/a\\\"b\"],\"moves\":[{\"from\":\"n1\",\"pod\":"
        "\"default/a\\\"b\",\"to\":\"new-0\"}],\"nodesIn\":[{\"capacityTypes\":[\"on-demand\"],"
        "\"instanceTypes\":[\"c.large\",\"c.xlarge\",\"r.xlarge\",\"c.2xlarge\"],\"nodePool\":"
        "\"main\",\"zones\":[\"zone-a\",\"zone-b\",\"zone-c\"]}],\"nodesOut\":[{\"capacityType\":"
        "\"on-demand\",\"instanceType\":\"c.4xlarge\",\"node\":\"n1\",\"nodeClaim\":\"claim-n1\","
        "\"nodePool\":\"main\",\"podsMoved\":1,\"zone\":\"zone-a\"}],\"reason\":\"Underutilized\","
        "\"type\":\"replace\"}]");
    char hex[SHA256_HEX];
    hash_sha256_hex(b.p, b.n, hex);
    ck_assert_str_eq(hex, r->digest);
    static const char step[] = "{\"candidates\":[{\"name\":\"claim-n1\",\"uid\":\"uid-claim-n1\"}],"
                               "\"replacements\":[{\"capacityTypes\":[\"on-demand\"],\"nodePool\":"
                               "\"main\"}]}";
    hash_sha256_hex(step, strlen(step), hex);
    ck_assert_str_eq(hex, r->steps[0].digest);
    buf_done(&b);
    f_done(&fl);
}
END_TEST

/* ---- options -----------------------------------------------------------------------------------
 */

static const struct saving_row {
    const char *text;
    bool ok;
    uint32_t permyriad;
    int64_t pusd_h;
} savings[] = {
    {"10%", true, 1000, 0},
    {"0%", true, 0, 0},
    {"100%", true, 10000, 0},
    {"101%", false, 0, 0},
    {"0.02", true, 0, 20 * (PUSD_PER_USD / 1000)},
    {"1", true, 0, PUSD_PER_USD},
    {"0.000000000001", true, 0, 1},
    {"0.0000000000001", false, 0, 0},
    {"", false, 0, 0},
    {"%", false, 0, 0},
    {".5", false, 0, 0},
    {"1.", false, 0, 0},
    {"-1", false, 0, 0},
    {"1e3", false, 0, 0},
    {"1000000", false, 0, 0},
    {"5 %", false, 0, 0},
};

START_TEST(test_parse_saving)
{
    const struct saving_row *row = &savings[_i];
    struct min_saving got = {0, 0};
    ck_assert_msg(consolidate_parse_saving(row->text, &got) == row->ok, "%s", row->text);
    if (row->ok) {
        ck_assert_uint_eq(got.permyriad, row->permyriad);
        ck_assert_int_eq(got.pusd_h, row->pusd_h);
    }
}
END_TEST

UNIT_MAIN("consolidate_detail", UNIT_TEST(test_step), UNIT_TEST(test_given_up),
          UNIT_TEST(test_spot_types), UNIT_TEST(test_zone_pinned), UNIT_TEST(test_order),
          UNIT_TEST(test_budgets), UNIT_TEST(test_budgets_at), UNIT_TEST(test_gates),
          UNIT_TEST(test_foreign_node), UNIT_TEST(test_truncated),
          UNIT_TEST(test_given_up_half_way), UNIT_TEST(test_digest),
          UNIT_CASES(test_parse_saving, savings))
