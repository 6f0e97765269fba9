/* One pass: classes, pools, order, limits, minValues, DaemonSets, nodes that exist. What is
 * refused and why: test_sched_refuse; the pass as a whole: test_sched_pass. */
#include "schedtest.h"

/* ---- one class, one pool -----------------------------------------------------------------------
 */

static const struct shape {
    const char *name, *pool, *selector;
    int64_t cpu_milli, mem_mib;
    uint32_t pods;
    uint32_t claims;
    const char *first_type; /* of the first claim */
    uint32_t pods_of_first;
} shapes[] = {
    {"smallest that holds all", "", "", 1000, 1536, 10, 1, "c.4xlarge", 10},
    {"two nodes when one is too small", "", "", 1000, 1536, 40, 2, "c.8xlarge", 31},
    {"memory decides", "", "", 500, 14 * 1024, 2, 1, "r.xlarge", 2},
    {"arch by pool", "kubernetes.io/arch In arm64", "", 500, 512, 1, 1, "t.large", 1},
    {"arch by pod", "", "kubernetes.io/arch In arm64", 500, 512, 1, 1, "t.large", 1},
    {"type bounds of the pod", "", "karpenter.k8s.aws/instance-cpu Gt 4", 500, 512, 1, 1,
     "t.2xlarge", 1},
    {"type bounds of the pool", "karpenter.k8s.aws/instance-cpu Gte 8; kubernetes.io/arch In amd64",
     "", 500, 512, 1, 1, "c.2xlarge", 1},
    {"both bounds", "karpenter.k8s.aws/instance-cpu Gt 4", "karpenter.k8s.aws/instance-cpu Lt 9",
     500, 512, 1, 1, "t.2xlarge", 1},
    {"below a bound", "kubernetes.io/arch In amd64; karpenter.k8s.aws/instance-cpu Lte 2", "", 1000,
     512, 4, 4, "c.large", 1},
    {"custom label of the pool", "team In a,b", "team In b", 500, 512, 1, 1, "t.large", 1},
    {"custom label not asked for", "team In a,b", "team NotIn a", 500, 512, 1, 1, "t.large", 1},
    {"without a label", "", "team DoesNotExist", 500, 512, 1, 1, "t.large", 1},
    {"GPU by label", "", "karpenter.k8s.aws/instance-gpu-name Exists", 500, 512, 1, 1, "g.xlarge",
     1},
    {"no GPU by label", "kubernetes.io/arch In amd64",
     "karpenter.k8s.aws/instance-gpu-name DoesNotExist", 500, 20480, 1, 1, "r.xlarge", 1},
    {"pool by name", "", "karpenter.sh/nodepool In main", 500, 512, 1, 1, "t.large", 1},
    {"region that only the pool tells", "topology.kubernetes.io/region In here",
     "topology.kubernetes.io/region In here", 500, 512, 1, 1, "t.large", 1},
    {"any host", "", "kubernetes.io/hostname Exists", 500, 512, 1, 1, "t.large", 1},
    {"not that host", "", "kubernetes.io/hostname NotIn n1", 500, 512, 1, 1, "t.large", 1},
};

START_TEST(test_shapes)
{
    const struct shape *c = &shapes[_i];
    struct fix *f = fix_new();
    fix_pool(f, "main", c->pool);
    struct pod_class *cls = fix_class(f, c->cpu_milli, c->mem_mib);
    cls->selector = fix_reqs(f, c->selector);
    fix_pods(f, cls, c->pods, "p");
    const struct sched_result *r = fix_schedule(f, 1000000);
    ck_assert_msg(r->n_refused == 0, "%s: %s", c->name, summary(f, r));
    ck_assert_msg(r->n_claims == c->claims, "%s: %s", c->name, summary(f, r));
    ck_assert_msg(str_eq(fix_type_name(f, &r->claims[0], 0), c->first_type), "%s: %s", c->name,
                  summary(f, r));
    ck_assert_msg(r->claims[0].n_pods == c->pods_of_first, "%s: %s", c->name, summary(f, r));
    ck_assert(!r->truncated);
    fix_done(f);
}
END_TEST

/* ---- what stands in a claim --------------------------------------------------------------------
 */

START_TEST(test_claim_content)
{
    struct fix *f = fix_new();
    fix_pool(f, "main",
             "karpenter.sh/capacity-type In spot,on-demand; kubernetes.io/arch In amd64; team "
             "Exists; size Gte 7; rank NotIn x; tier In z,y; karpenter.k8s.aws/instance-cpu Gt 3");
    fix_sym(f, "7");
    struct pod_class *cls = fix_class(f, 3500, 1024);
    cls->selector = fix_reqs(f, "topology.kubernetes.io/zone In zone-b");
    fix_pods(f, cls, 1, "p");
    const struct sched_result *r = fix_schedule(f, 1000000);
    ck_assert_uint_eq(r->n_claims, 1);
    const struct sched_claim *c = &r->claims[0];
    const struct {
        sym key;
        const char *text;
    } want[] = {
        {L_CAPACITY_TYPE, "karpenter.sh/capacity-type In [on-demand spot]"},
        {L_ZONE, "topology.kubernetes.io/zone In [zone-b]"},
        {L_NODEPOOL, "karpenter.sh/nodepool In [main]"},
        {L_REGISTERED, ""},
        {L_INITIALIZED, ""},
        {L_HOSTNAME, ""},
        {L_INSTANCE_TYPE, "node.kubernetes.io/instance-type In [c.2xlarge c.4xlarge c.8xlarge "
                          "c.xlarge g.xlarge r.xlarge]"},
        {fix_sym(f, "team"), "team In [true]"},
        {fix_sym(f, "size"), "size In [7]"},
        {L_CPU, "karpenter.k8s.aws/instance-cpu Gte 4"}, /* the type settles it */
        {fix_sym(f, "rank"), "rank NotIn [x]"},
        {fix_sym(f, "tier"), "tier In [y]"},
    };
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        ck_assert_str_eq(req_text(f, &c->reqs, want[i].key), want[i].text);
    }
    ck_assert_str_eq(fix_type_name(f, c, 0), "c.xlarge");
    ck_assert_str_eq(fix_type_name(f, c, 1), "r.xlarge");
    ck_assert_int_eq(c->price_pusd_h, 80 * PUSD_PER_USD / 1000);
    ck_assert_int_eq(c->requests.v[RES_CPU], 3500);
    ck_assert_int_eq(c->requests.v[RES_PODS], 1);
    ck_assert_uint_eq(c->offer.zones, 2);
    ck_assert_uint_eq(c->offer.cts, 1u << CT_SPOT | 1u << CT_ON_DEMAND);
    fix_done(f);
}
END_TEST

static const struct label_value {
    const char *req, *value;
} label_values[] = {
    {"k In b,a", "a"}, {"k Exists", "true"}, {"k NotIn true", "0"}, {"k NotIn true,0", "1"},
    {"k Gt 7", "8"},   {"k Lt 3", "0"},      {"k Lt 0", NULL},      {"k DoesNotExist", NULL},
};

START_TEST(test_label_value)
{
    struct fix *f = fix_new();
    struct reqset set = fix_reqs(f, label_values[_i].req);
    const char *v = sched_label_value(&f->a, f->syms, &set.v[0]);
    ck_assert_msg(str_eq(v, label_values[_i].value), "%s: %s", label_values[_i].req, v ? v : "-");
    fix_done(f);
}
END_TEST

START_TEST(test_max_types)
{
    struct fix *f = fix_new();
    fix_pool(f, "main", "kubernetes.io/arch Exists min 2");
    fix_pods(f, fix_class(f, 100, 100), 1, "p");
    f->opt.max_types = 3;
    const struct sched_result *r = fix_schedule(f, 1000000);
    const struct sched_claim *c = &r->claims[0];
    ck_assert_uint_eq(c->n_types, 3);
    ck_assert_str_eq(fix_type_name(f, c, 0), "t.large");
    ck_assert_str_eq(fix_type_name(f, c, 1), "c.large");
    ck_assert_str_eq(fix_type_name(f, c, 2), "t.xlarge");
    ck_assert(!c->min_values_relaxed);
    fix_done(f);
}
END_TEST

/* The cheapest two are of one architecture; minValues bring the other in. */
START_TEST(test_max_types_min_values)
{
    struct fix *f = fix_new();
    fix_pool(f, "main", "kubernetes.io/arch Exists min 2; karpenter.k8s.aws/instance-cpu In 8,16");
    fix_pods(f, fix_class(f, 100, 100), 1, "p");
    offerings_set_price(f->offerings,
                        (uint32_t)catalog_find_type(f->catalog, fix_sym(f, "t.2xlarge")), 0,
                        CT_SPOT, 5 * PUSD_PER_USD);
    f->opt.max_types = 2;
    struct pod_class *cls = fix_class(f, 100, 100);
    cls->selector = fix_reqs(f, "topology.kubernetes.io/zone In zone-a; karpenter.sh/capacity-type "
                                "In spot");
    f->in.n_pods = 0;
    fix_pods(f, cls, 1, "p");
    const struct sched_result *r = fix_schedule(f, 1000000);
    ck_assert_uint_eq(r->claims[0].n_types, 2);
    ck_assert_str_eq(fix_type_name(f, &r->claims[0], 0), "c.2xlarge");
    ck_assert_str_eq(fix_type_name(f, &r->claims[0], 1), "t.2xlarge");
    fix_done(f);
}
END_TEST

/* What minValues need takes up part of the places; the cheapest others have the rest. */
START_TEST(test_max_types_and_others)
{
    struct fix *f = fix_new();
    fix_pool(f, "main", "kubernetes.io/arch Exists min 2; karpenter.k8s.aws/instance-cpu In 4,8");
    static const char *const dear[] = {"t.xlarge", "t.2xlarge"};
    for (size_t i = 0; i < ARRAY_LEN(dear); i++) {
        int type = catalog_find_type(f->catalog, fix_sym(f, dear[i]));
        for (uint32_t zone = 0; zone < 3; zone++) {
            offerings_set_price(f->offerings, (uint32_t)type, zone, CT_SPOT, 5 * PUSD_PER_USD);
            offerings_set_price(f->offerings, (uint32_t)type, zone, CT_ON_DEMAND, 5 * PUSD_PER_USD);
        }
    }
    fix_pods(f, fix_class(f, 100, 100), 1, "p");
    f->opt.max_types = 3;
    const struct sched_claim *c = &fix_schedule(f, 1000000)->claims[0];
    ck_assert_uint_eq(c->n_types, 3);
    ck_assert_str_eq(fix_type_name(f, c, 0), "c.xlarge");
    ck_assert_str_eq(fix_type_name(f, c, 1), "r.xlarge");
    ck_assert_str_eq(fix_type_name(f, c, 2), "t.2xlarge");
    ck_assert(!c->min_values_relaxed);
    fix_done(f);
}
END_TEST

/* ---- who is not the scheduler's business ----------------------------------------------------- */

static const struct pod_gate {
    bool gated;
    const char *node, *nominated;
    enum pod_owner owner;
    bool not_by_us;
    enum reason_code code;
} pod_gates[] = {
    {false, "", "", POWNER_JOB, false, REASON_NONE},
    {true, "", "n1", POWNER_NODE, true, REASON_Gated},
    {false, "", "n1", POWNER_NODE, true, REASON_Preempting},
    {false, "n1", "n1", POWNER_JOB, false, REASON_NONE},
    {false, "", "", POWNER_DAEMONSET, true, REASON_DaemonSetPod},
    {false, "", "", POWNER_NODE, true, REASON_StaticPod},
    {false, "", "", POWNER_NONE, true, REASON_NotScheduledByUs},
};

START_TEST(test_pod_gates)
{
    struct pod_class cls = {.not_by_us = pod_gates[_i].not_by_us};
    struct pod pod = {.cls = &cls,
                      .gated = pod_gates[_i].gated,
                      .node_name = pod_gates[_i].node,
                      .nominated_node = pod_gates[_i].nominated,
                      .owner = pod_gates[_i].owner};
    ck_assert_str_eq(reason_name(sched_pod_gate(&pod)), reason_name(pod_gates[_i].code));
}
END_TEST

/* ---- ten pods on EC2's real types ------------------------------------------------------------ */

START_TEST(test_b1)
{
    struct fix *f = fix_new();
    struct offerings *o;
    struct catalog *c = real_catalog(f, &o);
    struct nodepool *np = fix_pool(f, "default",
                                   "karpenter.sh/capacity-type In spot; kubernetes.io/arch In "
                                   "amd64; intent In apps");
    f->pools[0].catalog = c;
    f->pools[0].offerings = o;
    np->has_limits = true;
    np->limits = fix_res(1000 * 1000, 1000 * 1024, -1);
    for (int i = RES_EPHEMERAL_STORAGE; i < RES_FIXED; i++) {
        np->limits.v[i] = -1;
    }
    struct pod_class *cls = fix_class(f, 1000, 1536);
    cls->selector = fix_reqs(f, "intent In apps");
    fix_daemonset(f, "aws-node", 50, 0);
    fix_daemonset(f, "kube-proxy", 100, 0);
    fix_pods(f, cls, 10, "inflate");
    const struct sched_result *r = fix_schedule(f, 100);
    ck_assert_uint_eq(r->n_claims, 1);
    ck_assert_uint_eq(r->claims[0].n_pods, 10);
    ck_assert_int_eq(r->claims[0].requests.v[RES_CPU], 10150);
    ck_assert_int_eq(catalog_capacity(c, r->claims[0].types[0])->v[RES_CPU], 16000);
    ck_assert_str_eq(req_text(f, &r->claims[0].reqs, L_CAPACITY_TYPE),
                     "karpenter.sh/capacity-type In [spot]");
    ck_assert_uint_gt(r->claims[0].n_types, 100);
    ck_assert_uint_le(r->claims[0].n_types, 600);
    catalog_free(c);
    offerings_free(o);
    fix_done(f);
}
END_TEST

/* ---- pools
 * --------------------------------------------------------------------------------------- */

static const struct pool_choice {
    const char *name, *selector, *want;
    int64_t cpu_milli;
} pool_choices[] = {
    {"heaviest first", "", "arm", 500},
    {"the second takes what the first cannot", "kubernetes.io/arch In amd64", "mixed", 500},
    {"too large for the first", "", "mixed", 20000},
    {"same weight: name descending", "team Exists", "team-b", 500},
};

START_TEST(test_pools_by_weight)
{
    struct fix *f = fix_new();
    fix_pool(f, "team-a", "team In a,b")->weight = 1;
    fix_pool(f, "mixed", "")->weight = 10;
    fix_pool(f, "arm", "kubernetes.io/arch In arm64")->weight = 20;
    fix_pool(f, "team-b", "team In a,b")->weight = 1;
    fix_pool(f, "static", "")->weight = 99;
    ((struct nodepool *)f->pools[4].pool)->is_static = true;
    struct pod_class *cls = fix_class(f, pool_choices[_i].cpu_milli, 512);
    cls->selector = fix_reqs(f, pool_choices[_i].selector);
    fix_pods(f, cls, 1, "p");
    const struct sched_result *r = fix_schedule(f, 1000000);
    ck_assert_msg(r->n_claims == 1, "%s: %s", pool_choices[_i].name, summary(f, r));
    ck_assert_str_eq(r->claims[0].pool->np->m.name, pool_choices[_i].want);
    fix_done(f);
}
END_TEST

/* ---- order of pods ----------------------------------------------------------------------------
 */

START_TEST(test_priority_first)
{
    /* The limit leaves room for one node of 4 vCPU. */
    struct fix *f = fix_new();
    struct nodepool *np = fix_pool(f, "main", "kubernetes.io/arch In amd64");
    np->has_limits = true;
    np->limits.v[RES_CPU] = 4000;
    struct pod_class *batch = fix_class(f, 3000, 512), *api = fix_class(f, 2000, 512);
    batch->priority = -10;
    api->priority = 1000;
    fix_pods(f, batch, 1, "batch");
    fix_pods(f, api, 1, "api");
    const struct sched_result *r = fix_schedule(f, 1000000);
    ck_assert_uint_eq(r->n_claims, 1);
    ck_assert_str_eq(r->claims[0].pods[0]->m.name, "api-00000");
    ck_assert_uint_eq(r->n_refused, 1);
    ck_assert_str_eq(r->refused[0].pod->m.name, "batch-00000");
    ck_assert_int_eq(r->refused[0].reason.code, REASON_Limit);
    fix_done(f);
}
END_TEST

START_TEST(test_no_pod_waits)
{
    struct fix *f = fix_new();
    fix_pool(f, "main", "");
    struct pod_class *huge = fix_class(f, 500000, 512);
    huge->priority = 5;
    fix_pods(f, huge, 3, "huge");
    fix_pods(f, fix_class(f, 500, 512), 3, "small");
    const struct sched_result *r = fix_schedule(f, 1000000);
    ck_assert_uint_eq(r->n_claims, 1);
    ck_assert_uint_eq(r->claims[0].n_pods, 3);
    ck_assert_uint_eq(r->n_refused, 3);
    ck_assert_int_eq(r->refused[2].reason.code, REASON_Resources);
    fix_done(f);
}
END_TEST

START_TEST(test_fewest_pods_first)
{
    /* Two claims are open (their pods exclude each other's zone); the third class goes in turn to
     * the one with fewer pods, the older on a tie. */
    struct fix *f = fix_new();
    fix_pool(f, "main", "karpenter.k8s.aws/instance-cpu In 32");
    struct pod_class *a = fix_class(f, 3000, 64), *b = fix_class(f, 2000, 64);
    a->selector = fix_reqs(f, "topology.kubernetes.io/zone In zone-a");
    b->selector = fix_reqs(f, "topology.kubernetes.io/zone In zone-b");
    fix_pods(f, a, 2, "a");
    fix_pods(f, b, 1, "b");
    fix_pods(f, fix_class(f, 100, 64), 4, "c");
    const struct sched_result *r = fix_schedule(f, 1000000);
    ck_assert_uint_eq(r->n_claims, 2);
    ck_assert_uint_eq(r->claims[0].n_pods, 4);
    ck_assert_uint_eq(r->claims[1].n_pods, 3);
    ck_assert_str_eq(r->claims[1].pods[1]->m.name, "c-00000");
    ck_assert_str_eq(r->claims[0].pods[2]->m.name, "c-00001");
    fix_done(f);
}
END_TEST

/* Older stays before younger also where the older one has caught up. */
START_TEST(test_older_first_on_a_tie)
{
    struct fix *f = fix_new();
    fix_pool(f, "main", "karpenter.k8s.aws/instance-cpu In 32");
    struct pod_class *a = fix_class(f, 3000, 64), *b = fix_class(f, 2000, 64);
    a->selector = fix_reqs(f, "topology.kubernetes.io/zone In zone-a");
    b->selector = fix_reqs(f, "topology.kubernetes.io/zone In zone-b");
    fix_pods(f, a, 1, "a");
    fix_pods(f, b, 2, "b");
    fix_pods(f, fix_class(f, 100, 64), 2, "c");
    const struct sched_result *r = fix_schedule(f, 1000000);
    ck_assert_uint_eq(r->n_claims, 2);
    ck_assert_uint_eq(r->claims[0].n_pods, 3);
    ck_assert_uint_eq(r->claims[1].n_pods, 2);
    fix_done(f);
}
END_TEST

/* ---- limits
 * ---------------------------------------------------------------------------------------- */

static const struct limit_case {
    const char *name, *reqs;
    int64_t cpu_milli; /* -1 = none */
    int64_t mem_gib;   /* -1 = none */
    int64_t nodes, max_new;
    int64_t pod_cpu;
    uint32_t pods;
    uint32_t claims, refused;
    enum reason_code code;
    int64_t reserve_max; /* sum over claims of the greatest cpu, at most */
    bool apart;          /* no two pods in one zone */
} limit_cases[] = {
    {"within", "", 64000, -1, -1, -1, 10000, 3, 1, 0, REASON_NONE, 32000, false},
    {"cut so that two fit", "", 64000, -1, -1, -1, 20000, 2, 2, 0, REASON_NONE, 64000, false},
    {"cut the large types of the first", "", 48000, -1, -1, -1, 15000, 3, 2, 0, REASON_NONE, 48000,
     false},
    {"cut again and again", "karpenter.k8s.aws/instance-cpu In 2,32", 64000, -1, -1, -1, 1500, 3, 1,
     0, REASON_NONE, 64000, false},
    {"one too many", "", 32000, -1, -1, -1, 20000, 2, 1, 1, REASON_Limit, 32000, false},
    {"by memory", "kubernetes.io/arch In amd64", -1, 96, -1, -1, 15000, 3, 2, 0, REASON_NONE, 48000,
     false},
    {"nothing left", "", 0, -1, -1, -1, 100, 1, 0, 1, REASON_Limit, 0, false},
    {"nodes", "", -1, -1, 2, -1, 20000, 3, 2, 1, REASON_NodeLimit, 64000, false},
    {"nodes zero", "", -1, -1, 0, -1, 100, 1, 0, 1, REASON_NodeLimit, 0, false},
    {"brake", "", -1, -1, -1, 1, 20000, 3, 1, 2, REASON_LaunchBrake, 32000, false},
    {"minValues keep the large types", "node.kubernetes.io/instance-type Exists min 2", 32000, -1,
     -1, -1, 14000, 4, 1, 3, REASON_Limit, 32000, false},
    {"two zones", "", 32000, -1, -1, -1, 100, 2, 2, 0, REASON_NONE, 32000, true},
    {"three zones", "", 32000, -1, -1, -1, 100, 3, 3, 0, REASON_NONE, 32000, true},
    {"three zones, just", "", 6000, -1, -1, -1, 100, 3, 3, 0, REASON_NONE, 6000, true},
    {"three zones, one too many", "", 5000, -1, -1, -1, 100, 3, 2, 1, REASON_Limit, 5000, true},
    {"zones by memory", "kubernetes.io/arch In amd64", -1, 16, -1, -1, 100, 3, 3, 0, REASON_NONE,
     8000, true},
    {"zones by both", "", 12000, 24, -1, -1, 100, 3, 3, 0, REASON_NONE, 12000, true},
    {"minValues stop the cut", "node.kubernetes.io/instance-type Exists min 3", 7000, -1, -1, -1,
     100, 2, 1, 1, REASON_Limit, 7000, true},
    {"minValues let the cut", "node.kubernetes.io/instance-type Exists min 3", 8000, -1, -1, -1,
     100, 2, 2, 0, REASON_NONE, 8000, true},
    {"the brake is no reason to cut", "", 32000, -1, -1, 1, 100, 2, 1, 1, REASON_Limit, 32000,
     true},
};

START_TEST(test_limits)
{
    const struct limit_case *c = &limit_cases[_i];
    struct fix *f = fix_new();
    struct nodepool *np = fix_pool(f, "main", c->reqs);
    np->has_limits = true;
    np->limits.v[RES_CPU] = c->cpu_milli;
    np->limits.v[RES_MEMORY] = c->mem_gib < 0 ? -1 : c->mem_gib * FIX_GIB;
    np->limit_nodes = c->nodes;
    f->pools[0].max_new_nodes = c->max_new;
    struct pod_class *cls = fix_class(f, c->pod_cpu, 512);
    for (uint32_t i = 0; i < c->pods; i++) {
        if (c->apart) {
            cls = fix_class(f, c->pod_cpu, 512);
            cls->selector = fix_reqs(
                f, arena_printf(&f->a, "topology.kubernetes.io/zone In zone-%c", 'a' + (char)i));
        }
        fix_pod(f, cls, arena_printf(&f->a, "p-%u", i));
    }
    const struct sched_result *r = fix_schedule(f, 1000000);
    ck_assert_msg(r->n_claims == c->claims && r->n_refused == c->refused, "%s: %s", c->name,
                  summary(f, r));
    int64_t reserve = 0;
    for (uint32_t i = 0; i < r->n_claims; i++) {
        int64_t most = 0;
        for (uint32_t t = 0; t < r->claims[i].n_types; t++) {
            int64_t cpu = catalog_capacity(f->catalog, r->claims[i].types[t])->v[RES_CPU];
            most = cpu > most ? cpu : most;
        }
        reserve += most;
    }
    ck_assert_msg(reserve <= c->reserve_max, "%s: reserves %lld", c->name, (long long)reserve);
    if (c->refused > 0) {
        ck_assert_msg(r->refused[0].reason.code == c->code, "%s: %s", c->name, summary(f, r));
    }
    fix_done(f);
}
END_TEST

/* No room could be made for the large pod; a smaller one still gets its. */
START_TEST(test_limit_room_for_less)
{
    static const int64_t cpus[] = {9000, 17000, 100};
    struct fix *f = fix_new();
    struct nodepool *np = fix_pool(f, "main", "");
    np->has_limits = true;
    np->limits.v[RES_CPU] = 32000;
    for (int i = 0; i < 3; i++) {
        struct pod_class *cls = fix_class(f, cpus[i], 512);
        cls->priority = -i;
        cls->selector =
            fix_reqs(f, arena_printf(&f->a, "topology.kubernetes.io/zone In zone-%c", 'a' + i));
        fix_pod(f, cls, arena_printf(&f->a, "p-%d", i));
    }
    const struct sched_result *r = fix_schedule(f, 1000000);
    ck_assert_msg(r->n_claims == 2 && r->n_refused == 1, "%s", summary(f, r));
    ck_assert_str_eq(r->refused[0].pod->m.name, "p-1");
    ck_assert_uint_eq(r->claims[0].n_types, 1);
    ck_assert_str_eq(fix_type_name(f, &r->claims[0], 0), "c.4xlarge");
    fix_done(f);
}
END_TEST

START_TEST(test_limit_counts_use)
{
    struct fix *f = fix_new();
    struct nodepool *np = fix_pool(f, "main", "kubernetes.io/arch In amd64");
    np->has_limits = true;
    np->limits.v[RES_CPU] = 8000;
    struct node *n = fix_node(f, "n1", "main", "");
    fix_claim_of(f, n, "main");
    fix_pods(f, fix_class(f, 7000, 512), 1, "big");
    fix_pods(f, fix_class(f, 3500, 512), 2, "mid");
    const struct sched_result *r = fix_schedule(f, 1000000);
    ck_assert_uint_eq(r->n_existing, 1);
    ck_assert_uint_eq(r->n_claims, 1);
    ck_assert_str_eq(fix_type_name(f, &r->claims[0], 0), "c.xlarge");
    ck_assert_uint_eq(r->n_refused, 1);
    ck_assert_str_eq(reason_text(f, &r->refused[0].reason),
                     "needs cpu 8 for c.2xlarge, 0 left of limit 8");
    fix_done(f);
}
END_TEST

/* ---- minValues ------------------------------------------------------------------------------- */

static const struct min_case {
    const char *name, *reqs, *selector;
    enum min_values_policy policy;
    uint32_t claims;
    bool relaxed;
    const char *text; /* of the refusal, or the requirement that was relaxed */
} min_cases[] = {
    {"types met", "node.kubernetes.io/instance-type Exists min 3", "", MIN_VALUES_STRICT, 1, false,
     NULL},
    {"types not met", "node.kubernetes.io/instance-type Exists min 11", "", MIN_VALUES_STRICT, 0,
     false, "minValues 11 for node.kubernetes.io/instance-type, 10 left"},
    {"types relaxed", "node.kubernetes.io/instance-type Exists min 11", "", MIN_VALUES_BEST_EFFORT,
     1, true, NULL},
    {"zone strict", "topology.kubernetes.io/zone In zone-b,zone-c min 2",
     "topology.kubernetes.io/zone In zone-b", MIN_VALUES_STRICT, 0, false,
     "minValues 2 for topology.kubernetes.io/zone, 1 left"},
    {"zone relaxed", "topology.kubernetes.io/zone In zone-b,zone-c min 2",
     "topology.kubernetes.io/zone In zone-b", MIN_VALUES_BEST_EFFORT, 1, true, NULL},
    {"label of the pool", "team In a,b min 2", "team Exists", MIN_VALUES_STRICT, 1, false, NULL},
    {"label of the pool narrowed", "team In a,b min 2", "team In b", MIN_VALUES_STRICT, 0, false,
     "minValues 2 for team, 1 left"},
    {"arch met", "kubernetes.io/arch Exists min 2", "", MIN_VALUES_STRICT, 1, false, NULL},
    {"arch not met", "kubernetes.io/arch Exists min 2", "kubernetes.io/arch In arm64",
     MIN_VALUES_STRICT, 0, false, "minValues 2 for kubernetes.io/arch, 1 left"},
    {"capacity types", "karpenter.sh/capacity-type Exists min 2", "", MIN_VALUES_STRICT, 1, false,
     NULL},
    {"capacity types not met", "karpenter.sh/capacity-type Exists min 3", "", MIN_VALUES_STRICT, 0,
     false, "minValues 3 for karpenter.sh/capacity-type, 2 left"},
};

START_TEST(test_min_values)
{
    const struct min_case *c = &min_cases[_i];
    struct fix *f = fix_new();
    fix_pool(f, "main", c->reqs);
    f->opt.min_values = c->policy;
    struct pod_class *cls = fix_class(f, 500, 512);
    cls->selector = fix_reqs(f, c->selector);
    fix_pods(f, cls, 1, "p");
    const struct sched_result *r = fix_schedule(f, 1000000);
    ck_assert_msg(r->n_claims == c->claims, "%s: %s", c->name, summary(f, r));
    if (c->claims > 0) {
        ck_assert_msg(r->claims[0].min_values_relaxed == c->relaxed, "%s", c->name);
    } else {
        ck_assert_int_eq(r->refused[0].reason.code, REASON_MinValues);
        ck_assert_str_eq(reason_text(f, &r->refused[0].reason), c->text);
    }
    fix_done(f);
}
END_TEST

/* A pod joins a claim only while minValues last: two nodes of two types each. */
START_TEST(test_min_values_split)
{
    struct fix *f = fix_new();
    fix_pool(f, "main",
             "node.kubernetes.io/instance-type Exists min 2; kubernetes.io/arch In amd64");
    fix_pods(f, fix_class(f, 9000, 512), 3, "p");
    const struct sched_result *r = fix_schedule(f, 1000000);
    ck_assert_uint_eq(r->n_claims, 3);
    ck_assert_uint_eq(r->claims[0].n_types, 2);
    fix_done(f);
}
END_TEST

/* ---- DaemonSets ------------------------------------------------------------------------------ */

START_TEST(test_daemonset_per_type)
{
    struct fix *f = fix_new();
    fix_pool(f, "main", "team In a; karpenter.k8s.aws/instance-cpu In 4");
    fix_daemonset(f, "everywhere", 100, 100);
    fix_daemonset(f, "gpu", 1000, 100)->selector =
        fix_reqs(f, "karpenter.k8s.aws/instance-gpu-name Exists");
    fix_daemonset(f, "elsewhere", 3000, 100)->selector = fix_reqs(f, "team In b");
    fix_daemonset(f, "one-host", 3000, 100)->selector = fix_reqs(f, "kubernetes.io/hostname In n1");
    fix_daemonset(f, "no-host", 3000, 100)->selector =
        fix_reqs(f, "kubernetes.io/hostname DoesNotExist");
    struct pod_class *arm = fix_daemonset(f, "arm-or-nothing", 600, 100);
    struct affinity_term *terms = ARENA_NEW_N(&f->a, struct affinity_term, 2);
    terms[0].reqs = fix_reqs(f, "nowhere Exists");
    terms[1].reqs = fix_reqs(f, "kubernetes.io/arch In arm64");
    arm->required = terms;
    arm->n_required = 2;
    fix_pods(f, fix_class(f, 3300, 512), 1, "p");
    const struct sched_result *r = fix_schedule(f, 1000000);
    ck_assert_uint_eq(r->n_claims, 1);
    const struct sched_claim *c = &r->claims[0];
    /* 3900m allocatable: GPU (1100m) and arm (700m) types are too small. */
    ck_assert_str_eq(req_text(f, &c->reqs, L_INSTANCE_TYPE),
                     "node.kubernetes.io/instance-type In [c.xlarge r.xlarge]");
    ck_assert_int_eq(c->daemon_overhead.v[RES_CPU], 100);
    ck_assert_int_eq(c->daemon_overhead.v[RES_PODS], 1);
    ck_assert_int_eq(c->requests.v[RES_CPU], 3400);
    ck_assert_int_eq(c->requests.v[RES_PODS], 2);
    fix_done(f);
}
END_TEST

START_TEST(test_daemonset_least_overhead)
{
    struct fix *f = fix_new();
    fix_pool(f, "main", "karpenter.k8s.aws/instance-cpu In 4");
    fix_daemonset(f, "gpu", 300, 100)->selector =
        fix_reqs(f, "karpenter.k8s.aws/instance-gpu-name Exists");
    fix_daemonset(f, "taint", 300, 100)->tolerations = fix_tolerations(f, "a"); /* soft is no bar */
    struct pod_class *late = fix_daemonset(f, "when-initialized", 50, 100);
    late->tolerations = fix_tolerations(f, "*");
    late->selector = fix_reqs(f, "karpenter.sh/registered In true; karpenter.sh/initialized In "
                                 "true; kubernetes.io/hostname NotIn n1");
    ((struct nodepool *)f->pools[0].pool)->taints =
        fix_taints(f, "a=b:NoSchedule, soft:PreferNoSchedule");
    struct pod_class *cls = fix_class(f, 500, 512);
    cls->tolerations = fix_tolerations(f, "a, soft");
    fix_pods(f, cls, 1, "p");
    const struct sched_result *r = fix_schedule(f, 1000000);
    ck_assert_uint_eq(r->n_claims, 1);
    ck_assert_int_eq(r->claims[0].requests.v[RES_CPU], 850);
    fix_done(f);
}
END_TEST

/* ---- nodes that exist ------------------------------------------------------------------------ */

static const struct node_case {
    const char *name;
    const char *labels, *taints; /* of the node */
    const char *selector, *tolerations;
    int64_t used_cpu, pod_cpu;
    bool placed;
} node_cases[] = {
    {"fits", "", "", "", "", 0, 3000, true},
    {"full", "", "", "", "", 2000, 3000, false},
    {"exactly", "", "", "", "", 1000, 3000, true},
    {"tainted", "", "a=b:NoSchedule", "", "", 0, 100, false},
    {"tolerated", "", "a=b:NoSchedule", "", "a=b:NoSchedule", 0, 100, true},
    {"tolerated by existence", "", "a=b:NoExecute", "", "a", 0, 100, true},
    {"soft taint in the end", "", "a:PreferNoSchedule", "", "", 0, 100, true},
    {"other value", "", "a=b:NoSchedule", "", "a=c:NoSchedule", 0, 100, false},
    {"label there", "disk=ssd", "", "disk In ssd", "", 0, 100, true},
    {"label differs", "disk=hdd", "", "disk In ssd", "", 0, 100, false},
    {"label absent", "", "", "disk In ssd", "", 0, 100, false},
    {"well-known label absent", "", "", "karpenter.k8s.aws/instance-size In 24xlarge", "", 0, 100,
     false},
    {"label must be absent", "", "", "disk DoesNotExist", "", 0, 100, true},
    {"label must differ", "disk=hdd", "", "disk NotIn ssd", "", 0, 100, true},
    {"label must be there and differ", "disk=hdd", "", "disk Exists; disk NotIn ssd", "", 0, 100,
     true},
    {"label must be there and differ, absent", "", "", "disk Exists; disk NotIn ssd", "", 0, 100,
     false},
    {"number must differ, absent", "", "", "gen Gt 5; gen NotIn 7", "", 0, 100, false},
    {"two values at once, absent", "", "", "disk In ssd; disk In hdd", "", 0, 100, false},
    {"number", "gen=6", "", "gen Gt 5", "", 0, 100, true},
    {"not a number", "gen=six", "", "gen Gt 5", "", 0, 100, false},
    {"host name", "", "", "kubernetes.io/hostname In n1", "", 0, 100, true},
    {"other host name", "", "", "kubernetes.io/hostname In n2", "", 0, 100, false},
};

START_TEST(test_existing_node)
{
    const struct node_case *c = &node_cases[_i];
    struct fix *f = fix_new();
    struct node *n = fix_node(f, "n1", "", c->labels);
    n->taints = fix_taints(f, c->taints);
    fix_usage(f, 0)->requested = fix_res(c->used_cpu, 0, 1);
    struct pod_class *cls = fix_class(f, c->pod_cpu, 512);
    cls->selector = fix_reqs(f, c->selector);
    cls->tolerations = fix_tolerations(f, c->tolerations);
    fix_pods(f, cls, 1, "p");
    const struct sched_result *r = fix_schedule(f, 1000000);
    ck_assert_msg((r->n_existing == 1) == c->placed, "%s: %s", c->name, summary(f, r));
    ck_assert_uint_eq(r->n_refused, c->placed ? 0 : 1);
    fix_done(f);
}
END_TEST

START_TEST(test_existing_order)
{
    /* Initialized first, then by name, each until full; then a new claim. */
    struct fix *f = fix_new();
    fix_pool(f, "main", "");
    fix_node(f, "c", "main", "");
    fix_node(f, "b", "main", "");
    struct node *a = fix_node(f, "a", "main", "");
    a->m.labels = fix_labels(f, "karpenter.sh/nodepool=main, karpenter.sh/registered=true");
    fix_claim_of(f, a, "main");
    fix_pods(f, fix_class(f, 3000, 512), 4, "p");
    const struct sched_result *r = fix_schedule(f, 1000000);
    ck_assert_uint_eq(r->n_existing, 3);
    ck_assert_str_eq(r->existing[0].node->name, "b");
    ck_assert_str_eq(r->existing[1].node->name, "c");
    ck_assert_str_eq(r->existing[2].node->name, "a");
    ck_assert_uint_eq(r->n_claims, 1);
    fix_done(f);
}
END_TEST

/* The claims of a pass, written down and read back before their launch, carry the same pods. */
START_TEST(test_in_flight_reused)
{
    struct fix *f = fix_new();
    fix_pool(f, "main", "team Exists; karpenter.sh/capacity-type In spot,on-demand");
    fix_daemonset(f, "all", 100, 100);
    fix_daemonset(f, "gpu", 500, 100)->selector =
        fix_reqs(f, "karpenter.k8s.aws/instance-gpu-name Exists");
    struct pod_class *zonal = fix_class(f, 700, 512), *wide = fix_class(f, 600, 512);
    zonal->selector = fix_reqs(f, "topology.kubernetes.io/zone In zone-a,zone-b; "
                                  "karpenter.k8s.aws/instance-cpu Gt 3");
    wide->selector = fix_reqs(f, "karpenter.k8s.aws/instance-cpu Gt 2");
    fix_pods(f, zonal, 30, "z");
    fix_pods(f, wide, 40, "w");
    const struct sched_result *first = fix_schedule(f, 1000000);
    ck_assert_uint_eq(first->n_refused, 0);
    ck_assert_uint_ge(first->n_claims, 2);
    for (uint32_t i = 0; i < first->n_claims; i++) {
        struct nodeclaim *nc = fix_claim(f, arena_printf(&f->a, "main-%u", i), "main");
        nc->reqs = first->claims[i].reqs;
        nc->requests = first->claims[i].requests;
    }
    const struct sched_result *again = fix_schedule(f, 1000000);
    ck_assert_msg(again->n_claims == 0, "%s", summary(f, again));
    ck_assert_uint_eq(again->n_existing, 70);
    /* One more pod is another claim's. */
    fix_pods(f, wide, 1, "x");
    ck_assert_uint_eq(fix_schedule(f, 1000000)->n_claims, 1);
    fix_done(f);
}
END_TEST

UNIT_MAIN("sched", UNIT_CASES(test_shapes, shapes), UNIT_TEST(test_claim_content),
          UNIT_CASES(test_label_value, label_values), UNIT_TEST(test_max_types),
          UNIT_TEST(test_max_types_min_values), UNIT_TEST(test_max_types_and_others),
          UNIT_CASES(test_pod_gates, pod_gates), UNIT_TEST(test_older_first_on_a_tie),
          UNIT_TEST(test_b1), UNIT_CASES(test_pools_by_weight, pool_choices),
          UNIT_TEST(test_priority_first), UNIT_TEST(test_no_pod_waits),
          UNIT_TEST(test_fewest_pods_first), UNIT_CASES(test_limits, limit_cases),
          UNIT_TEST(test_limit_room_for_less), UNIT_TEST(test_limit_counts_use),
          UNIT_CASES(test_min_values, min_cases), UNIT_TEST(test_min_values_split),
          UNIT_TEST(test_daemonset_per_type), UNIT_TEST(test_daemonset_least_overhead),
          UNIT_CASES(test_existing_node, node_cases), UNIT_TEST(test_existing_order),
          UNIT_TEST(test_in_flight_reused))
