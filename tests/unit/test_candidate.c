#include "plantest.h"

#include "common/core/disrupt/candidate.h"

/* What the callbacks answer. */
struct says {
    unsigned let_go_for; /* bits of disruption_reason */
    int64_t let_go_until_ns;
    bool nominated, in_command, failing;
};

static bool says_nominated(void *ctx, const struct snapshot_node *n UNUSED,
                           const char **ret_pod UNUSED)
{
    return ((const struct says *)ctx)->nominated;
}

static bool says_in_command(void *ctx, const struct snapshot_node *n UNUSED)
{
    return ((const struct says *)ctx)->in_command;
}

static int64_t says_let_go_until(void *ctx, const struct snapshot_node *n UNUSED,
                                 enum disruption_reason reason)
{
    const struct says *s = ctx;
    return s->let_go_for & (unsigned)reason ? s->let_go_until_ns : 0;
}

static bool says_failing(void *ctx, const struct snapshot_pool *p UNUSED)
{
    return ((const struct says *)ctx)->failing;
}

/* One node that may go, and what each row does to it. */
struct setting {
    struct fix *f;
    struct nodepool *np;
    struct node *node;
    struct nodeclaim *nc, *other;
    struct node_usage *usage;
    struct says says;
};

static void annotate(struct fix *f, struct meta *m, const char *value)
{
    struct kv *kv = ARENA_NEW(&f->a, struct kv);
    *kv = (struct kv){ANN_DO_NOT_DISRUPT, value};
    m->annotations = (struct kvs){kv, 1};
}

static void set_nothing(struct setting *w UNUSED)
{
}

static void set_no_claim(struct setting *w)
{
    w->f->in.n_claims = 0;
}

static void set_no_pool(struct setting *w)
{
    w->f->in.n_pools = 0;
}

static void set_label_missing(struct setting *w)
{
    w->node->m.labels = fix_labels(w->f, "karpenter.sh/registered=true");
}

static void set_condition_missing(struct setting *w)
{
    w->nc->conditions.n = 2;
}

static void set_no_node(struct setting *w)
{
    w->f->in.n_nodes = 0;
}

static void set_deleting(struct setting *w)
{
    w->nc->m.deleted_ns = FIX_NOW;
}

static void set_disrupted_taint(struct setting *w)
{
    w->node->taints = fix_taints(w->f, "karpenter.sh/disrupted:NoSchedule");
}

static void set_in_command(struct setting *w)
{
    w->says.in_command = true;
}

static void set_nominated(struct setting *w)
{
    w->says.nominated = true;
}

static void set_do_not_disrupt(struct setting *w)
{
    annotate(w->f, &w->node->m, "true");
}

static void set_do_not_disrupt_claim(struct setting *w)
{
    annotate(w->f, &w->nc->m, "yes, please");
}

static void set_do_disrupt(struct setting *w)
{
    annotate(w->f, &w->node->m, "false");
}

static void set_do_not_disrupt_pod(struct setting *w)
{
    w->usage->do_not_disrupt = 1;
}

static void set_never(struct setting *w)
{
    w->np->consolidate_after_ns = DURATION_NEVER;
}

static void set_static(struct setting *w)
{
    w->np->is_static = true;
}

static void set_pod(struct setting *w)
{
    w->usage->pods = 1;
}

static void set_terminating_pod(struct setting *w)
{
    w->usage->waiting_evict = 1;
}

static void set_daemon_only(struct setting *w)
{
    w->usage->requested = w->usage->daemon_requested = fix_res(500, 100, 3);
}

static void set_when_empty(struct setting *w)
{
    w->np->policy = POLICY_EMPTY;
}

static void set_unknown_field(struct setting *w)
{
    w->np->unknown_field = "spec.newer";
}

static void set_failing(struct setting *w)
{
    w->says.failing = true;
}

static void set_waiting(struct setting *w)
{
    w->nc->last_pod_event_ns = FIX_NOW - 10 * FIX_S;
}

static void set_waited(struct setting *w)
{
    w->nc->last_pod_event_ns = FIX_NOW - 30 * FIX_S;
}

/* What was begun with it came to nothing. */
static void set_let_go(struct setting *w)
{
    w->says.let_go_for = DISRUPT_EMPTY;
    w->says.let_go_until_ns = FIX_NOW + 20 * FIX_S;
}

static void set_let_go_over(struct setting *w)
{
    set_let_go(w);
    w->says.let_go_until_ns = FIX_NOW;
}

static void set_let_go_otherwise(struct setting *w)
{
    set_let_go(w);
    w->says.let_go_for = DISRUPT_UNDERUTILIZED | DISRUPT_DRIFTED;
}

static void set_budget(struct setting *w)
{
    static const struct budget none[] = {{"0", DISRUPT_EMPTY, NULL, DURATION_ABSENT}};
    w->np->budgets = none;
    w->np->n_budgets = 1;
}

static void set_budget_of_others(struct setting *w)
{
    static const struct budget none[] = {
        {"0", DISRUPT_DRIFTED | DISRUPT_UNDERUTILIZED, NULL, DURATION_ABSENT}};
    w->np->budgets = none;
    w->np->n_budgets = 1;
}

/* Not ready, it uses up the one that may go. */
static void set_not_ready(struct setting *w)
{
    static const struct budget one[] = {{"1", 0, NULL, DURATION_ABSENT}};
    w->np->budgets = one;
    w->np->n_budgets = 1;
    w->node->ready = STATUS_FALSE;
}

/* Another one has lost its Node, and its claim is still there: that uses up the one that may go. */
static void set_other_lost(struct setting *w)
{
    static const struct budget one[] = {{"1", 0, NULL, DURATION_ABSENT}};
    w->np->budgets = one;
    w->np->n_budgets = 1;
    w->other = fix_claim(w->f, "lost", "main");
    fix_condition(w->f, &w->other->conditions, "Registered");
    fix_condition(w->f, &w->other->conditions, "Initialized");
}

/* Its instance is ending, so budgets do not count it at all. */
static void set_other_ending(struct setting *w)
{
    set_other_lost(w);
    fix_condition(w->f, &w->other->conditions, "InstanceTerminating");
}

/* It never had one: it is launching. */
static void set_other_launching(struct setting *w)
{
    set_other_lost(w);
    w->other->conditions.n = 0;
}

/* The earlier gate answers. */
static void set_pod_and_nominated(struct setting *w)
{
    set_pod(w);
    set_nominated(w);
}

static void set_waiting_and_failing(struct setting *w)
{
    set_waiting(w);
    set_failing(w);
}

static const struct gate {
    void (*set)(struct setting *w);
    enum reason_code code;
} gates[] = {
    {set_nothing, REASON_Empty},
    {set_no_claim, REASON_NotManaged},
    {set_no_pool, REASON_NotManaged},
    {set_label_missing, REASON_NotInitialized},
    {set_condition_missing, REASON_NotInitialized},
    {set_no_node, REASON_NotInitialized},
    {set_deleting, REASON_Deleting},
    {set_disrupted_taint, REASON_Deleting},
    {set_in_command, REASON_Deleting},
    {set_nominated, REASON_Nominated},
    {set_do_not_disrupt, REASON_DoNotDisruptNode},
    {set_do_not_disrupt_claim, REASON_DoNotDisruptNode},
    {set_do_disrupt, REASON_Empty},
    {set_do_not_disrupt_pod, REASON_DoNotDisruptPod},
    {set_never, REASON_Policy},
    {set_static, REASON_Policy},
    {set_pod, REASON_Policy},
    {set_terminating_pod, REASON_Policy},
    {set_daemon_only, REASON_Empty},
    {set_when_empty, REASON_Empty},
    {set_unknown_field, REASON_UnknownFields},
    {set_failing, REASON_LaunchesFailing},
    {set_waiting, REASON_Waiting},
    {set_waited, REASON_Empty},
    {set_let_go, REASON_Waiting},
    {set_let_go_over, REASON_Empty},
    {set_let_go_otherwise, REASON_Empty},
    {set_budget, REASON_Budget},
    {set_budget_of_others, REASON_Empty},
    {set_not_ready, REASON_Budget},
    {set_other_lost, REASON_Budget},
    {set_other_ending, REASON_Empty},
    {set_other_launching, REASON_Empty},
    {set_pod_and_nominated, REASON_Nominated},
    {set_waiting_and_failing, REASON_LaunchesFailing},
};

START_TEST(test_gates)
{
    struct fix *f = fix_new();
    struct setting w = {.f = f};
    w.np = fix_pool(f, "main", "");
    w.np->consolidate_after_ns = 30 * FIX_S;
    w.node = fix_node(f, "n1", "main", "");
    w.nc = fix_claim_of(f, w.node, "main");
    w.usage = fix_usage(f, 0);
    gates[_i].set(&w);
    struct candidate_in in = {.snap = fix_snapshot(f),
                              .reason = DISRUPT_EMPTY,
                              .facts = {.ctx = &w.says,
                                        .nominated = says_nominated,
                                        .in_command = says_in_command,
                                        .launches_failing = says_failing,
                                        .let_go_until = says_let_go_until}};
    const struct snapshot_node *n = &in.snap->nodes[0];
    struct reason r = candidate_empty(&in, n);
    ck_assert_str_eq(reason_name(r.code), reason_name(gates[_i].code));
    ck_assert_uint_eq(candidate_empty_plan(&f->a, &in).n, r.code == REASON_Empty ? 1 : 0);
    if (r.code == REASON_Waiting) {
        ck_assert_int_eq(r.until_ns, FIX_NOW + 20 * FIX_S);
    }
    fix_done(f);
}
END_TEST

static const struct at_row {
    int64_t after, last_event;
    bool initialized;
    int64_t at;
} at_rows[] = {
    {0, 0, true, FIX_NOW - 3600 * FIX_S},
    {60 * FIX_S, 0, true, FIX_NOW - 3540 * FIX_S},
    {60 * FIX_S, FIX_NOW, true, FIX_NOW + 60 * FIX_S},
    {DURATION_ABSENT, FIX_NOW, true, FIX_NOW},
    {DURATION_NEVER, FIX_NOW, true, INT64_MAX},
    {INT64_MAX - 1, FIX_NOW, true, INT64_MAX},
    {0, FIX_NOW, false, 0},
    {DURATION_NEVER, FIX_NOW, false, 0},
};

START_TEST(test_consolidatable_at)
{
    const struct at_row *c = &at_rows[_i];
    struct fix *f = fix_new();
    struct nodepool *np = fix_pool(f, "main", "");
    struct nodeclaim *nc = fix_claim(f, "c", "main");
    np->consolidate_after_ns = c->after;
    nc->last_pod_event_ns = c->last_event;
    if (c->initialized) {
        fix_condition(f, &nc->conditions, "Initialized");
    }
    ck_assert_int_eq(candidate_consolidatable_at(np, nc), c->at);
    fix_done(f);
}
END_TEST

/* Budgets hold for the plan as a whole, per pool; what leaves already counts. */
START_TEST(test_plan)
{
    static const struct budget two[] = {{"2", 0, NULL, DURATION_ABSENT}};
    static const struct budget half[] = {{"50%", 0, NULL, DURATION_ABSENT}};
    struct fix *f = fix_new();
    struct nodepool *b = fix_pool(f, "b-pool", ""), *a = fix_pool(f, "a-pool", "");
    struct nodepool *c = fix_pool(f, "c-pool", "");
    a->budgets = two;
    b->budgets = half;
    a->n_budgets = b->n_budgets = 1;
    b->weight = 10;
    for (int i = 9; i >= 0; i--) {
        const char *pool = i < 4 ? "a-pool" : i < 9 ? "b-pool" : "c-pool";
        struct node *n = fix_node(f, arena_printf(&f->a, "n%d", i), pool, "");
        fix_claim_of(f, n, pool)->m.deleted_ns = i == 5 ? FIX_NOW : 0;
    }
    fix_usage(f, 9)->pods = 1; /* n0 */
    ck_assert_ptr_nonnull(c);
    struct candidate_in in = {.snap = fix_snapshot(f), .reason = DISRUPT_EMPTY};
    struct empty_plan plan = candidate_empty_plan(&f->a, &in);
    /* Of b-pool's five nodes three may go; one is going. */
    static const char *const want[] = {"n1", "n2", "n4", "n6", "n9"};
    ck_assert_uint_eq(plan.n, ARRAY_LEN(want));
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        ck_assert_str_eq(plan.nodes[i]->name, want[i]);
    }
    fix_done(f);
}
END_TEST

/* A node whose instance is terminating neither counts nor uses the budget up. */
START_TEST(test_terminating_instance_is_not_counted)
{
    static const struct budget one[] = {{"1", 0, NULL, DURATION_ABSENT}};
    struct fix *f = fix_new();
    struct nodepool *np = fix_pool(f, "main", "");
    np->budgets = one;
    np->n_budgets = 1;
    fix_claim_of(f, fix_node(f, "n1", "main", ""), "main");
    struct nodeclaim *nc = fix_claim_of(f, fix_node(f, "n2", "main", ""), "main");
    nc->m.deleted_ns = FIX_NOW;
    struct candidate_in in = {.snap = fix_snapshot(f), .reason = DISRUPT_EMPTY};
    ck_assert_uint_eq(candidate_empty_plan(&f->a, &in).n, 0);
    fix_condition(f, &nc->conditions, "InstanceTerminating");
    in.snap = fix_snapshot(f);
    ck_assert_uint_eq(candidate_empty_plan(&f->a, &in).n, 1);
    fix_done(f);
}
END_TEST

/* ---- pods --------------------------------------------------------------------------------------
 */

/* do-not-disrupt on one pod of the node, for three reasons of disruption. */
static const struct pod_row {
    const char *name, *pod;
    const char *underutilized, *drifted, *drifted_with_grace;
} pod_rows[] = {
    {"true", "annotations: {karpenter.sh/do-not-disrupt: 'true'}", "DoNotDisruptPod",
     "DoNotDisruptPod", ""},
    {"a duration that is not over", "age: 3h, annotations: {karpenter.sh/do-not-disrupt: 4h}",
     "DoNotDisruptPod", "DoNotDisruptPod", ""},
    {"one that is", "age: 5h, annotations: {karpenter.sh/do-not-disrupt: 4h}", "", "", ""},
    {"false", "annotations: {karpenter.sh/do-not-disrupt: 'false'}", "", "", ""},
    {"nonsense", "annotations: {karpenter.sh/do-not-disrupt: x}", "", "", ""},
    {"a DaemonSet's pod, too",
     "kind: DaemonSet, annotations: {karpenter.sh/do-not-disrupt: 'true'}", "DoNotDisruptPod",
     "DoNotDisruptPod", ""},
    {"terminating within its grace",
     "deleted: 6h, annotations: {karpenter.sh/do-not-disrupt: 'true'}", "DoNotDisruptPod",
     "DoNotDisruptPod", ""},
    {"terminating, and it is over",
     "deleted: 0s, annotations: {karpenter.sh/do-not-disrupt: 'true'}", "", "", ""},
    {"a budget that allows nothing", "labels: {app: db}", "PDBPermanent", "PDBPermanent", ""},
    {"but the pod is not evicted: it tolerates everything",
     "labels: {app: db}, spec: {tolerations: [{operator: Exists}]}", "", "", ""},
    {"but the pod is leaving", "labels: {app: db}, deleted: 30s", "", "", ""},
    {"two budgets", "labels: {app: db, more: '1'}", "MultiplePDB", "MultiplePDB", ""},
    {"no controller: shown, not in the way", "name: naked", "", "", ""},
};

static const char *check(struct fleet *fl, enum disruption_reason reason)
{
    struct fix *f = fl->w.f;
    struct candidate_index x;
    const struct snapshot *s = fix_snapshot(f);
    candidate_index_build(&f->a, s, &x);
    struct candidate_in in = {.snap = s, .index = &x, .reason = reason, .a = &f->a};
    return reason_name(candidate_check(&in, &s->nodes[0]).code);
}

START_TEST(test_pods)
{
    const struct pod_row *row = &pod_rows[_i];
    static struct fleet fl;
    char world[2048];
    (void)snprintf(world, sizeof(world),
                   "fleet: [{name: n1, conditions: [Drifted]}]\n"
                   "pods: [{node: n1, cpu: 100}, {node: n1, cpu: 100, %s}]\n"
                   "pdbs: [{name: b, match: {app: db}, max: 0}, {name: c, match: {more: '1'}}]",
                   row->pod);
    f_build(&fl, world);
    ck_assert_msg(str_eq(check(&fl, DISRUPT_UNDERUTILIZED), row->underutilized), "%s: %s",
                  row->name, check(&fl, DISRUPT_UNDERUTILIZED));
    ck_assert_msg(str_eq(check(&fl, DISRUPT_DRIFTED), row->drifted), "%s: %s", row->name,
                  check(&fl, DISRUPT_DRIFTED));
    fl.claims[0]->termination_grace_ns = 3600 * FIX_S;
    ck_assert_msg(str_eq(check(&fl, DISRUPT_DRIFTED), row->drifted_with_grace), "%s", row->name);
    ck_assert_msg(str_eq(check(&fl, DISRUPT_UNDERUTILIZED), row->underutilized), "%s", row->name);
    f_done(&fl);
}
END_TEST

/* ---- costs -------------------------------------------------------------------------------------
 */

static const struct cost_row {
    int32_t deletion, priority;
    int64_t micro;
} cost_rows[] = {
    {0, 0, 1000000},
    {1 << 27, 0, 2000000},
    {-(1 << 27), 0, 0},
    {0, 1 << 25, 2000000},
    {INT32_MAX, 2000000000, 10000000},
    {INT32_MIN, INT32_MIN, -10000000},
    {-(1 << 26), -(1 << 24), 0},
};

START_TEST(test_pod_cost)
{
    const struct cost_row *row = &cost_rows[_i];
    struct pod_class cls = {.priority = row->priority};
    struct pod p = {.cls = &cls, .deletion_cost = row->deletion};
    ck_assert_int_eq(candidate_pod_cost(&p), row->micro);
}
END_TEST

static int64_t disruption(const char *node, const char *pods)
{
    static struct fleet fl;
    char world[1024];
    (void)snprintf(world, sizeof(world), "fleet: [{name: n1, %s}]\npods: [%s]", node, pods);
    f_build(&fl, world);
    struct candidate_index x;
    const struct snapshot *s = fix_snapshot(fl.w.f);
    candidate_index_build(&fl.w.f->a, s, &x);
    struct candidate_in in = {.snap = s, .index = &x, .a = &fl.w.f->a};
    int64_t ret = candidate_disruption(&in, &s->nodes[0]);
    f_done(&fl);
    return ret;
}

/* Age and fill count half each at most; pods count for what they are. */
START_TEST(test_disruption)
{
    ck_assert_int_eq(disruption("age: 0s", ""), 1000000);
    ck_assert_int_eq(disruption("age: 7d", ""), 1500000);
    ck_assert_int_eq(disruption("age: 70d", ""), 1500000);
    ck_assert_int_eq(disruption("age: 0s", "{node: n1, cpu: 3900}"), 3000000);
    ck_assert_int_eq(disruption("age: 7d", "{node: n1, cpu: 3900}"), 4000000);
    ck_assert_int_eq(disruption("age: 0s", "{node: n1, cpu: 0, kind: DaemonSet}"), 1000000);
    ck_assert(disruption("age: 0s", "{node: n1, count: 2, cpu: 10}") >
              disruption("age: 0s", "{node: n1, cpu: 20}"));
}
END_TEST

UNIT_MAIN("candidate", UNIT_CASES(test_gates, gates), UNIT_CASES(test_consolidatable_at, at_rows),
          UNIT_TEST(test_plan), UNIT_TEST(test_terminating_instance_is_not_counted),
          UNIT_CASES(test_pods, pod_rows), UNIT_CASES(test_pod_cost, cost_rows),
          UNIT_TEST(test_disruption))
