#include "fixture.h"
#include "unit.h"

#include "common/core/ec2type.h"
#include "common/core/hostport.h"

#include <time.h>

/* ---- helpers --------------------------------------------------------------------------------- */

/* One line per claim and placement, refusals behind: what two runs must agree on. */
static const char *summary(struct fix *f, const struct sched_result *r)
{
    struct buf out;
    buf_init(&out, 1 << 24);
    for (uint32_t i = 0; i < r->n_existing; i++) {
        buf_printf(&out, "%s>%s\n", r->existing[i].pod->m.name, r->existing[i].node->name);
    }
    for (uint32_t i = 0; i < r->n_claims; i++) {
        const struct sched_claim *c = &r->claims[i];
        buf_printf(&out, "claim %s %s types %u cpu %lld price %lld ds %lld:", c->pool->np->m.name,
                   fix_type_name(f, c, 0), c->n_types, (long long)c->requests.v[RES_CPU],
                   (long long)c->price_pusd_h, (long long)c->daemon_overhead.v[RES_CPU]);
        for (uint32_t p = 0; p < c->n_pods; p++) {
            buf_printf(&out, " %s", c->pods[p]->m.name);
        }
        for (uint32_t k = 0; k < c->reqs.n; k++) {
            buf_puts(&out, "; ");
            req_fmt(f->syms, &c->reqs.v[k], 99, &out);
        }
        buf_putc(&out, '\n');
    }
    for (uint32_t i = 0; i < r->n_refused; i++) {
        buf_printf(&out, "no %s:", r->refused[i].pod->m.name);
        for (uint32_t p = 0; p < r->refused[i].n_pools; p++) {
            buf_printf(&out, " %s=", r->refused[i].pools[p].pool->np->m.name);
            reason_fmt(f->syms, &r->refused[i].pools[p].reason, &out);
        }
        buf_putc(&out, '\n');
    }
    const char *ret = arena_strdup(&f->a, out.p);
    buf_done(&out);
    return ret;
}

static const char *req_text(struct fix *f, const struct reqset *s, sym key)
{
    struct buf out;
    const struct req *r = reqset_get(s, key);
    buf_init(&out, 1 << 16);
    if (r != NULL) {
        req_fmt(f->syms, r, 99, &out);
    }
    const char *ret = arena_strdup(&f->a, out.p);
    buf_done(&out);
    return ret;
}

static const char *reason_text(struct fix *f, const struct reason *r)
{
    struct buf out;
    buf_init(&out, 1 << 16);
    reason_fmt(f->syms, r, &out);
    const char *ret = arena_strdup(&f->a, out.p);
    buf_done(&out);
    return ret;
}

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

static struct catalog *real_catalog(struct fix *f, struct offerings **ret)
{
    struct ec2_class cls;
    ec2_class_default(&cls);
    sym zones[8];
    uint32_t n = 0;
    const char *const *names = ec2_builtin_zones("us-east-1");
    for (; names[n] != NULL && n < 8; n++) {
        zones[n] = fix_sym(f, names[n]);
    }
    const sym ids[8] = {SYM_NONE};
    struct ec2_catalog_in in = {
        .syms = f->syms, .region = "us-east-1", .cls = &cls, .zones = {zones, ids, n}};
    struct err err = ERR_INIT;
    struct catalog *c = ec2_catalog(&f->a, &in, &err);
    ck_assert_msg(c != NULL, "%s", err.msg);
    struct offerings *o = offerings_new(c);
    for (uint32_t t = 0; t < catalog_n_types(c); t++) {
        const char *name = sym_str(f->syms, catalog_type_name(c, t));
        int64_t price = ec2_builtin_price(name);
        uint64_t offered = ec2_builtin_offered("us-east-1", name);
        for (uint32_t z = 0; z < n && price != PRICE_UNKNOWN; z++) {
            if (offered >> z & 1) {
                offerings_set_price(o, t, z, CT_ON_DEMAND, price);
                offerings_set_price(o, t, z, CT_SPOT, price / 5 * 2);
            }
        }
    }
    *ret = o;
    return c;
}

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

/* ---- host ports ------------------------------------------------------------------------------ */

static const struct host_port tcp_8080 = {8080, 0, ""};
static const struct host_port udp_8080 = {8080, 1, ""};
static const struct host_port local_8080 = {8080, 0, "127.0.0.1"};
static const struct host_port other_8080 = {8080, 0, "10.0.0.1"};

static const struct port_case {
    const char *name;
    const struct host_port *daemon, *pod;
    uint32_t pods, claims, refused;
} port_cases[] = {
    {"same port as a DaemonSet", &tcp_8080, &tcp_8080, 1, 0, 1},
    {"other protocol", &udp_8080, &tcp_8080, 1, 1, 0},
    {"all addresses cover one", &local_8080, &tcp_8080, 1, 0, 1},
    {"other address", &local_8080, &other_8080, 1, 1, 0},
    {"one pod of a port per node", NULL, &tcp_8080, 3, 3, 0},
};

START_TEST(test_host_ports)
{
    const struct port_case *c = &port_cases[_i];
    struct fix *f = fix_new();
    fix_pool(f, "main", "");
    struct pod_class *ds = fix_daemonset(f, "proxy", 10, 10);
    ds->host_ports = c->daemon;
    ds->n_host_ports = c->daemon != NULL;
    struct pod_class *cls = fix_class(f, 100, 100);
    cls->host_ports = c->pod;
    cls->n_host_ports = 1;
    fix_pods(f, cls, c->pods, "p");
    const struct sched_result *r = fix_schedule(f, 1000000);
    ck_assert_msg(r->n_claims == c->claims && r->n_refused == c->refused, "%s: %s", c->name,
                  summary(f, r));
    if (c->refused > 0) {
        ck_assert_int_eq(r->refused[0].reason.code, REASON_HostPort);
        ck_assert_str_eq(
            reason_text(f, &r->refused[0].reason),
            "its host port is taken: 8080/TCP is taken by DaemonSet kube-system/proxy");
    }
    fix_done(f);
}
END_TEST

START_TEST(test_host_ports_on_nodes)
{
    struct fix *f = fix_new();
    fix_node(f, "a", "", "");
    fix_node(f, "b", "", "pick=me");
    fix_node(f, "c", "", "");
    struct node_usage *u = fix_usage(f, 0);
    u->host_ports = &tcp_8080;
    u->n_host_ports = 1;
    struct pod_class *ds = fix_daemonset(f, "proxy", 10, 10);
    ds->selector = fix_reqs(f, "pick In me");
    ds->host_ports = &tcp_8080;
    ds->n_host_ports = 1;
    struct pod_class *cls = fix_class(f, 100, 100);
    cls->host_ports = &tcp_8080;
    cls->n_host_ports = 1;
    fix_pods(f, cls, 2, "p");
    const struct sched_result *r = fix_schedule(f, 1000000);
    ck_assert_uint_eq(r->n_existing, 1);
    ck_assert_str_eq(r->existing[0].node->name, "c");
    ck_assert_uint_eq(r->n_refused, 1);
    fix_done(f);
}
END_TEST

/* ---- relaxation ------------------------------------------------------------------------------ */

static const struct relax_case {
    const char *name;
    const char *required[3], *preferred[3];
    enum preference_policy policy;
    const char *zone; /* the claim's, NULL = refused */
} relax_cases[] = {
    {"first term",
     {"topology.kubernetes.io/zone In zone-a"},
     {NULL},
     PREFERENCE_RESPECT,
     "topology.kubernetes.io/zone In [zone-a]"},
    {"second term",
     {"team In x", "topology.kubernetes.io/zone In zone-b"},
     {NULL},
     PREFERENCE_RESPECT,
     "topology.kubernetes.io/zone In [zone-b]"},
    {"no term", {"team In x", "team In y"}, {NULL}, PREFERENCE_RESPECT, NULL},
    {"a term that contradicts itself", {"team In x; team In y"}, {NULL}, PREFERENCE_RESPECT, NULL},
    {"a label that nothing gives, and not this value",
     {"team Exists; team NotIn x"},
     {NULL},
     PREFERENCE_RESPECT,
     NULL},
    {"heaviest preference",
     {NULL},
     {"topology.kubernetes.io/zone In zone-c", "topology.kubernetes.io/zone In zone-a"},
     PREFERENCE_RESPECT,
     "topology.kubernetes.io/zone In [zone-c]"},
    {"lighter preference",
     {NULL},
     {"team In x", "topology.kubernetes.io/zone In zone-a"},
     PREFERENCE_RESPECT,
     "topology.kubernetes.io/zone In [zone-a]"},
    {"no preference", {NULL}, {"team In x"}, PREFERENCE_RESPECT, ""},
    {"preference ignored",
     {NULL},
     {"topology.kubernetes.io/zone In zone-a"},
     PREFERENCE_IGNORE,
     ""},
    {"preference shapes a needed claim",
     {NULL},
     {"topology.kubernetes.io/zone In zone-a"},
     PREFERENCE_REASONABLE,
     "topology.kubernetes.io/zone In [zone-a]"},
    {"both terms and the preference",
     {"team In x", "topology.kubernetes.io/zone In zone-a,zone-b"},
     {"topology.kubernetes.io/zone In zone-b,zone-c"},
     PREFERENCE_RESPECT,
     "topology.kubernetes.io/zone In [zone-b]"},
    {"a term is not lost on the way to no preference",
     {"topology.kubernetes.io/zone In zone-a", "team In x"},
     {"team In y"},
     PREFERENCE_RESPECT,
     "topology.kubernetes.io/zone In [zone-a]"},
};

static uint32_t terms(struct fix *f, const char *const *texts, const struct affinity_term **ret)
{
    struct affinity_term *v = ARENA_NEW_N(&f->a, struct affinity_term, 3);
    uint32_t n = 0;
    for (; n < 3 && texts[n] != NULL; n++) {
        v[n] = (struct affinity_term){.weight = 10 - (int)n, .reqs = fix_reqs(f, texts[n])};
    }
    *ret = v;
    return n;
}

START_TEST(test_relaxation)
{
    const struct relax_case *c = &relax_cases[_i];
    struct fix *f = fix_new();
    fix_pool(f, "main", "");
    f->opt.preference = c->policy;
    struct pod_class *cls = fix_class(f, 100, 100);
    cls->n_required = terms(f, c->required, &cls->required);
    cls->n_preferred = terms(f, c->preferred, &cls->preferred);
    fix_pods(f, cls, 2, "p");
    const struct sched_result *r = fix_schedule(f, 1000000);
    ck_assert_msg((r->n_claims == 1) == (c->zone != NULL), "%s: %s", c->name, summary(f, r));
    if (c->zone != NULL) {
        ck_assert_uint_eq(r->claims[0].n_pods, 2);
        ck_assert_msg(str_eq(req_text(f, &r->claims[0].reqs, L_ZONE), c->zone), "%s: %s", c->name,
                      summary(f, r));
    }
    fix_done(f);
}
END_TEST

static const struct prefer_taint_case {
    enum preference_policy policy;
    uint32_t claims;
    const char *pool;
} prefer_taint_cases[] = {{PREFERENCE_RESPECT, 1, "plain"}, {PREFERENCE_IGNORE, 1, "soft"}};

START_TEST(test_prefer_no_schedule)
{
    struct fix *f = fix_new();
    struct nodepool *soft = fix_pool(f, "soft", "");
    soft->weight = 10;
    soft->taints = fix_taints(f, "a:PreferNoSchedule");
    fix_pool(f, "plain", "");
    f->opt.preference = prefer_taint_cases[_i].policy;
    fix_pods(f, fix_class(f, 100, 100), 1, "p");
    ck_assert_str_eq(fix_schedule(f, 1000)->claims[0].pool->np->m.name,
                     prefer_taint_cases[_i].pool);
    /* With nothing else it is tolerated in the end. */
    f->in.n_pools = 1;
    ck_assert_uint_eq(fix_schedule(f, 1000)->n_claims, 1);
    fix_done(f);
}
END_TEST

/* Reasonable: a preference does not open a node while the hard rules need none. */
START_TEST(test_reasonable)
{
    static const struct {
        enum preference_policy policy;
        uint32_t claims, existing;
    } rows[] = {{PREFERENCE_RESPECT, 1, 0}, {PREFERENCE_REASONABLE, 0, 1}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fix *f = fix_new();
        const char *const preferred[3] = {"topology.kubernetes.io/zone In zone-c"};
        fix_pool(f, "main", "");
        fix_node(f, "n1", "main", "topology.kubernetes.io/zone=zone-a");
        f->opt.preference = rows[i].policy;
        struct pod_class *cls = fix_class(f, 100, 100);
        cls->n_preferred = terms(f, preferred, &cls->preferred);
        fix_pods(f, cls, 1, "p");
        const struct sched_result *r = fix_schedule(f, 1000);
        ck_assert_uint_eq(r->n_claims, rows[i].claims);
        ck_assert_uint_eq(r->n_existing, rows[i].existing);
        fix_done(f);
    }
}
END_TEST

/* ---- refusals -------------------------------------------------------------------------------- */

static void set_gated(struct fix *f, struct pod_class *cls UNUSED)
{
    ((struct pod *)f->pods[0])->gated = true;
}

static void set_not_by_us(struct fix *f UNUSED, struct pod_class *cls)
{
    cls->not_by_us = true;
}

static void set_no_pool(struct fix *f, struct pod_class *cls UNUSED)
{
    f->in.n_pools = 0;
}

static void set_closed(struct fix *f, struct pod_class *cls UNUSED)
{
    f->pools[0].closed = REASON_PoolNotReady;
    f->pools[0].closed_text = "NodeClassNotFound";
}

static void set_ineffective(struct fix *f, struct pod_class *cls)
{
    static struct snapshot_ineffective v[2];
    v[0] = (struct snapshot_ineffective){cls, "other"};
    v[1] = (struct snapshot_ineffective){cls, "main"};
    f->in.ineffective = v;
    f->in.n_ineffective = 2;
}

static void set_no_subnet(struct fix *f, struct pod_class *cls UNUSED)
{
    f->pools[0].closed = REASON_NoSubnet;
}

/* An obstacle of the pod comes before a later one of the pool. */
static void set_no_subnet_and_large(struct fix *f, struct pod_class *cls)
{
    set_no_subnet(f, cls);
    cls->requests.v[RES_CPU] = 31950;
}

static void set_no_catalog(struct fix *f, struct pod_class *cls UNUSED)
{
    f->pools[0].catalog = NULL;
}

static void set_unknown_field(struct fix *f, struct pod_class *cls UNUSED)
{
    ((struct nodepool *)f->pools[0].pool)->unknown_field = "spec.newer";
}

static void set_deleting(struct fix *f, struct pod_class *cls UNUSED)
{
    ((struct nodepool *)f->pools[0].pool)->m.deleted_ns = FIX_NOW;
}

static void set_taint(struct fix *f, struct pod_class *cls UNUSED)
{
    ((struct nodepool *)f->pools[0].pool)->taints = fix_taints(f, "gpu=true:NoSchedule");
}

static void set_unknown_label(struct fix *f, struct pod_class *cls)
{
    cls->selector = fix_reqs(f, "team In a");
}

static void set_requirement(struct fix *f, struct pod_class *cls)
{
    ((struct nodepool *)f->pools[0].pool)->reqs = fix_reqs(f, "kubernetes.io/arch In amd64");
    cls->selector = fix_reqs(f, "kubernetes.io/arch In arm64");
}

static void set_requirement_types(struct fix *f, struct pod_class *cls)
{
    cls->selector = fix_reqs(f, "karpenter.k8s.aws/instance-cpu Gt 400; kubernetes.io/os In linux");
}

static void set_requirement_zone(struct fix *f, struct pod_class *cls)
{
    cls->selector = fix_reqs(f, "topology.kubernetes.io/zone In mars");
}

static void set_contradiction(struct fix *f, struct pod_class *cls)
{
    struct affinity_term *term = ARENA_NEW(&f->a, struct affinity_term);
    term->reqs = fix_reqs(f, "topology.kubernetes.io/zone In zone-a");
    cls->selector = fix_reqs(f, "topology.kubernetes.io/zone In zone-b");
    cls->required = term;
    cls->n_required = 1;
}

static void set_invalid_term(struct fix *f, struct pod_class *cls)
{
    struct affinity_term *term = ARENA_NEW(&f->a, struct affinity_term);
    term->invalid = true;
    cls->required = term;
    cls->n_required = 1;
}

static void set_host(struct fix *f, struct pod_class *cls)
{
    cls->selector = fix_reqs(f, "kubernetes.io/hostname In n7");
}

static void set_no_host(struct fix *f, struct pod_class *cls)
{
    cls->selector = fix_reqs(f, "kubernetes.io/hostname DoesNotExist");
}

static void set_host_number(struct fix *f, struct pod_class *cls)
{
    cls->selector = fix_reqs(f, "kubernetes.io/hostname Gt 3");
}

static void set_contradictory_term(struct fix *f, struct pod_class *cls)
{
    struct affinity_term *term = ARENA_NEW(&f->a, struct affinity_term);
    term->reqs = fix_reqs(f, "team In a; team In b");
    cls->required = term;
    cls->n_required = 1;
}

/* The first term fails early, the second late. */
static void set_two_terms(struct fix *f, struct pod_class *cls)
{
    struct affinity_term *terms = ARENA_NEW_N(&f->a, struct affinity_term, 2);
    terms[0].reqs = fix_reqs(f, "team In a");
    terms[1].reqs = fix_reqs(f, "karpenter.k8s.aws/instance-cpu In 2");
    cls->required = terms;
    cls->n_required = 2;
    cls->requests.v[RES_CPU] = 1960;
}

static void set_two_terms_back(struct fix *f, struct pod_class *cls)
{
    set_two_terms(f, cls);
    struct affinity_term *terms = arena_memdup(&f->a, cls->required, 2 * sizeof(*terms));
    terms[0] = cls->required[1];
    terms[1] = cls->required[0];
    cls->required = terms;
}

static void set_resource_claim(struct fix *f UNUSED, struct pod_class *cls)
{
    cls->hard = HARD_RESOURCE_CLAIM | HARD_VOLUME;
}

static void set_unknown_resource(struct fix *f, struct pod_class *cls)
{
    struct res_ext *ext = ARENA_NEW(&f->a, struct res_ext);
    *ext = (struct res_ext){fix_sym(f, "example.com/fuse"), 1};
    cls->requests.ext = ext;
    cls->requests.n_ext = 1;
}

static void set_large(struct fix *f, struct pod_class *cls)
{
    fix_daemonset(f, "ds", 990, 0);
    ((struct nodepool *)f->pools[0].pool)->reqs =
        fix_reqs(f, "karpenter.k8s.aws/instance-cpu In 2; kubernetes.io/arch In amd64");
    cls->requests.v[RES_CPU] = 970;
}

static void set_sold_out(struct fix *f, struct pod_class *cls)
{
    cls->selector = fix_reqs(f, "topology.kubernetes.io/zone In zone-a; karpenter.sh/capacity-type "
                                "In spot; kubernetes.io/arch In arm64");
    for (uint32_t t = 0; t < catalog_n_types(f->catalog); t++) {
        offerings_set_available(f->offerings, t, 0, CT_SPOT, false);
    }
}

static const struct refusal_case {
    void (*set)(struct fix *f, struct pod_class *cls);
    enum reason_code code;
    const char *text;
} refusal_cases[] = {
    {set_gated, REASON_Gated, "waits for its scheduling gates"},
    {set_not_by_us, REASON_NotScheduledByUs, "asks for nodes without a NodePool"},
    {set_no_pool, REASON_NoPool, "there is no NodePool"},
    {set_closed, REASON_PoolNotReady, "the pool is not ready: NodeClassNotFound"},
    {set_no_catalog, REASON_PoolNotReady,
     "the pool is not ready: its instance types are not known"},
    {set_deleting, REASON_PoolNotReady, "the pool is not ready: it is being deleted"},
    {set_unknown_field, REASON_UnknownFields, "a field of a newer version is set: spec.newer"},
    {set_ineffective, REASON_LaunchIneffective, "nodes launched for it did not help"},
    {set_no_subnet, REASON_NoSubnet, "no subnet fits"},
    {set_no_subnet_and_large, REASON_Resources, "short of 50m cpu (31950m > 31900m of c.8xlarge)"},
    {set_taint, REASON_Taint, "does not tolerate taint gpu=true:NoSchedule"},
    {set_unknown_label, REASON_UnknownLabel,
     "label team is given by nothing in the pool, asked for is team In [a]"},
    {set_requirement, REASON_Requirement,
     "asks for kubernetes.io/arch In [arm64], there is kubernetes.io/arch In [amd64]"},
    {set_requirement_types, REASON_Requirement,
     "asks for karpenter.k8s.aws/instance-cpu Gte 401, which nothing in the pool has"},
    {set_requirement_zone, REASON_Requirement,
     "asks for topology.kubernetes.io/zone In [mars], which nothing in the pool has"},
    {set_contradiction, REASON_Requirement, "its node selector and affinity contradict each other"},
    {set_invalid_term, REASON_Requirement, "its node affinity has a term that karp does not take"},
    {set_host, REASON_Requirement,
     "asks for kubernetes.io/hostname In [n7], which nothing in the pool has"},
    {set_no_host, REASON_Requirement, NULL},
    {set_host_number, REASON_Requirement, NULL},
    {set_contradictory_term, REASON_Requirement,
     "its node selector and affinity contradict each other"},
    {set_two_terms, REASON_Resources, "short of 60m cpu (1960m > 1900m of c.large)"},
    {set_two_terms_back, REASON_Resources, "short of 60m cpu (1960m > 1900m of c.large)"},
    {set_resource_claim, REASON_ResourceClaim,
     "asks for a ResourceClaim: this version does not place pods that ask for it"},
    {set_unknown_resource, REASON_ResourceUnknown,
     "resource example.com/fuse is provided by no instance type of the pool"},
    {set_large, REASON_Resources,
     "short of 60m cpu (pod 970m + daemonsets 990m > 1900m of c.large)"},
    {set_sold_out, REASON_Offering,
     "none of 3 fitting instance types can be had, nearest is t.large"},
};

START_TEST(test_refusals)
{
    const struct refusal_case *c = &refusal_cases[_i];
    struct fix *f = fix_new();
    fix_pool(f, "main", "");
    fix_node(f, "node", "", "")->allocatable = fix_res(0, 0, 58);
    struct pod_class *cls = fix_class(f, 100, 100);
    fix_pods(f, cls, 2, "p");
    c->set(f, cls);
    const struct sched_result *r = fix_schedule(f, 1000000);
    ck_assert_msg(r->n_refused > 0, "%s", summary(f, r));
    ck_assert_str_eq(reason_name(r->refused[0].reason.code), reason_name(c->code));
    if (c->text != NULL) {
        ck_assert_str_eq(reason_text(f, &r->refused[0].reason), c->text);
    }
    bool pod_level = c->code <= REASON_NotScheduledByUs || c->code == REASON_NoPool;
    ck_assert_uint_eq(r->refused[0].n_pools, pod_level ? 0 : 1);
    fix_done(f);
}
END_TEST

START_TEST(test_nearest_pool_first)
{
    /* Six pools: three tainted, one at its limit, one without stock, one too small. */
    struct fix *f = fix_new();
    struct nodepool *np;
    fix_daemonset(f, "ds", 990, 0);
    for (int i = 0; i < 3; i++) {
        np = fix_pool(f, arena_printf(&f->a, "taint-%d", i), "");
        np->taints = fix_taints(f, "gpu=true:NoSchedule");
        np->weight = 50 + i;
    }
    np = fix_pool(f, "batch", "karpenter.k8s.aws/instance-cpu In 4; kubernetes.io/arch In amd64");
    np->has_limits = true;
    np->limits.v[RES_CPU] = 3000;
    fix_pool(f, "zone-c", "topology.kubernetes.io/zone In zone-c");
    fix_pool(f, "small", "karpenter.k8s.aws/instance-cpu In 2");
    for (uint32_t t = 0; t < catalog_n_types(f->catalog); t++) {
        offerings_set_available(f->offerings, t, 2, CT_SPOT, false);
        offerings_set_available(f->offerings, t, 2, CT_ON_DEMAND, false);
    }
    fix_pods(f, fix_class(f, 1000, 100), 1, "p");
    const struct sched_result *r = fix_schedule(f, 1000000);
    static const char *const want[] = {"batch", "zone-c", "small", "taint-2", "taint-1", "taint-0"};
    ck_assert_uint_eq(r->n_refused, 1);
    ck_assert_uint_eq(r->refused[0].n_pools, 6);
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        ck_assert_str_eq(r->refused[0].pools[i].pool->np->m.name, want[i]);
    }
    ck_assert_int_eq(r->refused[0].reason.code, REASON_Limit);
    ck_assert_str_eq(reason_text(f, &r->refused[0].pools[2].reason),
                     "short of 90m cpu (pod 1 + daemonsets 990m > 1900m of c.large)");
    fix_done(f);
}
END_TEST

START_TEST(test_no_reasons_when_off)
{
    struct fix *f = fix_new();
    fix_pool(f, "main", "");
    f->opt.record_reasons = false;
    fix_pods(f, fix_class(f, 900000, 100), 1, "p");
    const struct sched_result *r = fix_schedule(f, 1000000);
    ck_assert_uint_eq(r->n_refused, 1);
    ck_assert_uint_eq(r->refused[0].n_pools, 0);
    fix_done(f);
}
END_TEST

/* ---- slicing, order, size ---------------------------------------------------------------------
 */

/* A mixed world: everything above at once. */
static void mixed(struct fix *f, uint32_t pods)
{
    static const char *const selectors[] = {"",
                                            "kubernetes.io/arch In arm64",
                                            "topology.kubernetes.io/zone In zone-a,zone-b",
                                            "team In a",
                                            "team NotIn a",
                                            "karpenter.k8s.aws/instance-cpu Gt 4",
                                            "nowhere Exists",
                                            "karpenter.sh/capacity-type In on-demand"};
    struct nodepool *np = fix_pool(f, "limited", "");
    np->weight = 5;
    np->has_limits = true;
    np->limits.v[RES_CPU] = 96000;
    np->limit_nodes = 7;
    fix_pool(f, "team", "team In a,b");
    fix_pool(f, "plain", "kubernetes.io/arch In amd64")->taints =
        fix_taints(f, "x:PreferNoSchedule");
    fix_daemonset(f, "all", 50, 64);
    fix_daemonset(f, "arm", 150, 64)->selector = fix_reqs(f, "kubernetes.io/arch In arm64");
    for (int i = 0; i < 5; i++) {
        struct node *n = fix_node(f, arena_printf(&f->a, "node-%d", i), "plain",
                                  "topology.kubernetes.io/zone=zone-a, kubernetes.io/arch=amd64");
        fix_claim_of(f, n, "plain");
    }
    struct pod_class *cls[16];
    for (int i = 0; i < 16; i++) {
        cls[i] = fix_class(f, 100 + 250 * (i % 7), 128 << (i % 4));
        cls[i]->selector = fix_reqs(f, selectors[i % 8]);
        cls[i]->priority = i % 3;
    }
    for (uint32_t i = 0; i < pods; i++) {
        struct pod *p = fix_pod(f, cls[i % 16], arena_printf(&f->a, "pod-%05u", i));
        p->m.created_ns -= (i * 7919) % 1000;
    }
}

START_TEST(test_slices)
{
    static const uint64_t slices[] = {1, 2, 7, 1000000};
    const char *first = NULL;
    uint64_t units = 0;
    struct fix *f = fix_new();
    mixed(f, 400);
    for (size_t i = 0; i < ARRAY_LEN(slices); i++) {
        const struct sched_result *r = fix_schedule(f, slices[i]);
        const char *text = summary(f, r);
        if (first == NULL) {
            first = text;
            units = r->work_units;
            ck_assert_uint_gt(r->n_claims, 3);
            ck_assert_uint_gt(r->n_existing, 3);
            ck_assert_uint_gt(r->n_refused, 3);
        }
        ck_assert_str_eq(text, first);
        ck_assert_uint_eq(r->work_units, units);
    }
    fix_done(f);
}
END_TEST

static void shuffle(void *items, uint32_t n, size_t size, uint64_t *seed)
{
    char *v = items, tmp[64];
    for (uint32_t i = n; i > 1; i--) {
        *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint32_t j = (uint32_t)(*seed >> 33) % i;
        memcpy(tmp, v + (i - 1) * size, size);
        memcpy(v + (i - 1) * size, v + j * size, size);
        memcpy(v + j * size, tmp, size);
    }
}

START_TEST(test_input_order)
{
    struct fix *f = fix_new();
    uint64_t seed = 42;
    mixed(f, 400);
    const char *first = summary(f, fix_schedule(f, 1000000));
    for (int i = 0; i < 5; i++) {
        shuffle(f->pods, f->in.n_pods, sizeof(*f->pods), &seed);
        shuffle(f->nodes, f->in.n_nodes, sizeof(*f->nodes), &seed);
        shuffle(f->claims, f->in.n_claims, sizeof(*f->claims), &seed);
        shuffle(f->daemonsets, f->in.n_daemonsets, sizeof(*f->daemonsets), &seed);
        shuffle(f->pools, f->in.n_pools, sizeof(*f->pools), &seed);
        ck_assert_str_eq(summary(f, fix_schedule(f, 1000000)), first);
    }
    fix_done(f);
}
END_TEST

START_TEST(test_truncated)
{
    struct fix *f = fix_new();
    mixed(f, 400);
    f->opt.max_units = 50;
    const struct sched_result *r = fix_schedule(f, 3);
    ck_assert(r->truncated);
    uint32_t placed = r->n_existing + r->n_refused;
    for (uint32_t i = 0; i < r->n_claims; i++) {
        placed += r->claims[i].n_pods;
    }
    ck_assert_uint_gt(placed, 0);
    ck_assert_uint_gt(r->n_undecided, 0);
    ck_assert_uint_eq(placed + r->n_undecided, 400);
    fix_done(f);
}
END_TEST

/* Ways that every pod passes over again are work, too: a step must not take for ever on them. */
START_TEST(test_passing_over_counts)
{
    struct fix *f = fix_new();
    fix_pool(f, "main", "");
    struct pod_class *cls = fix_class(f, 10, 10);
    struct affinity_term *v = ARENA_NEW_N(&f->a, struct affinity_term, 200);
    for (int i = 0; i < 200; i++) {
        v[i].reqs = fix_reqs(f, i < 199 ? arena_printf(&f->a, "team In t%d", i) : "");
    }
    cls->required = v;
    cls->n_required = 200;
    fix_pods(f, cls, 50, "p");
    const struct sched_result *r = fix_schedule(f, 1);
    /* 199 ways are tried at the pool and at the only claim; each pod passes over three legs of
     * each. */
    uint64_t tries = 2 * 199 + 50 + 20, passed = 50 * 199 * 3;
    ck_assert_uint_eq(r->n_claims, 1);
    ck_assert_uint_eq(r->n_refused, 0);
    ck_assert_uint_ge(r->work_units, tries + passed / 256);
    f->opt.max_units = tries;
    r = fix_schedule(f, 1);
    ck_assert(r->truncated && r->n_undecided > 0);
    fix_done(f);
}
END_TEST

/* Likewise claims that have refused. */
START_TEST(test_passing_over_claims_counts)
{
    struct fix *f = fix_new();
    fix_pool(f, "main", "");
    struct pod_class *cls = fix_class(f, 100, 100);
    cls->host_ports = &tcp_8080;
    cls->n_host_ports = 1;
    fix_pods(f, cls, 300, "p");
    const struct sched_result *r = fix_schedule(f, 1);
    /* Each pod tries the newest claim, passes over the others, and opens one. */
    uint64_t tries = 299 + 300 + 300 * 20, passed = 298 * 299 / 2;
    ck_assert_uint_eq(r->n_claims, 300);
    ck_assert_uint_ge(r->work_units, tries + passed / 256);
    fix_done(f);
}
END_TEST

/* Required terms are never given up for preferences, however many there are. */
START_TEST(test_many_ways)
{
    struct fix *f = fix_new();
    fix_pool(f, "main", "");
    struct pod_class *cls = fix_class(f, 10, 10);
    struct affinity_term *v = ARENA_NEW_N(&f->a, struct affinity_term, 300);
    for (int i = 0; i < 300; i++) {
        v[i].reqs = fix_reqs(f, arena_printf(&f->a, "team In t%d", i));
    }
    v[255].reqs = fix_reqs(f, "");
    struct affinity_term *soft = ARENA_NEW_N(&f->a, struct affinity_term, 300);
    for (int i = 0; i < 300; i++) {
        soft[i].reqs = fix_reqs(f, arena_printf(&f->a, "rack In r%d", i));
    }
    cls->required = v;
    cls->preferred = soft;
    cls->n_required = cls->n_preferred = 300;
    fix_pods(f, cls, 3, "p");
    const struct sched_result *r = fix_schedule(f, 1000000);
    ck_assert_uint_eq(r->n_claims, 1);
    ck_assert_uint_eq(r->claims[0].n_pods, 3);
    ck_assert_uint_lt(r->work_units, 3000);
    fix_done(f);
}
END_TEST

START_TEST(test_every_pod_once)
{
    struct fix *f = fix_new();
    mixed(f, 1000);
    const struct sched_result *r = fix_schedule(f, 1000000);
    uint32_t n = r->n_existing + r->n_refused + r->n_undecided;
    for (uint32_t i = 0; i < r->n_claims; i++) {
        struct resources sum = r->claims[i].daemon_overhead;
        for (uint32_t p = 0; p < r->claims[i].n_pods; p++) {
            sum = resources_add(&f->a, &sum, &r->claims[i].pods[p]->cls->requests, 1);
        }
        ck_assert(
            resources_fit(&sum, catalog_allocatable(f->catalog, r->claims[i].types[0]), NULL));
        n += r->claims[i].n_pods;
    }
    ck_assert_uint_eq(n, 1000);
    fix_done(f);
}
END_TEST

/* ---- random worlds: what must hold whatever the input --------------------------------------- */

static uint32_t pick(uint64_t *seed, uint32_t n)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33) % n;
}

static void random_world(struct fix *f, uint64_t *seed)
{
    static const char *const reqs[] = {"",
                                       "kubernetes.io/arch In amd64",
                                       "node.kubernetes.io/instance-type Exists min 2",
                                       "team In a,b",
                                       "topology.kubernetes.io/zone In zone-a,zone-b min 2",
                                       "karpenter.k8s.aws/instance-cpu Lt 9"};
    static const char *const asks[] = {"",
                                       "kubernetes.io/arch In arm64",
                                       "team NotIn a",
                                       "topology.kubernetes.io/zone In zone-b",
                                       "karpenter.k8s.aws/instance-cpu Gt 3",
                                       "team In b"};
    for (uint32_t i = 0, n = 1 + pick(seed, 3); i < n; i++) {
        struct nodepool *np = fix_pool(f, arena_printf(&f->a, "pool-%u", i), reqs[pick(seed, 6)]);
        np->weight = (int32_t)pick(seed, 3);
        np->has_limits = pick(seed, 4) > 0;
        np->limits.v[RES_CPU] = pick(seed, 2) ? INT64_C(8000) * pick(seed, 24) : -1;
        np->limits.v[RES_MEMORY] = pick(seed, 2) ? 16 * FIX_GIB * pick(seed, 24) : -1;
        np->limit_nodes = pick(seed, 3) ? -1 : (int64_t)pick(seed, 6);
        f->pools[i].max_new_nodes = pick(seed, 4) ? -1 : (int64_t)pick(seed, 5);
    }
    for (uint32_t i = 0, n = pick(seed, 4); i < n; i++) {
        fix_node(f, arena_printf(&f->a, "node-%u", i), "pool-0",
                 "topology.kubernetes.io/zone=zone-b");
    }
    fix_daemonset(f, "all", 100, 64);
    fix_daemonset(f, "arm", 300, 64)->selector = fix_reqs(f, "kubernetes.io/arch In arm64");
    f->opt.min_values = pick(seed, 2) ? MIN_VALUES_STRICT : MIN_VALUES_BEST_EFFORT;
    for (uint32_t i = 0, n = 1 + pick(seed, 12); i < n; i++) {
        struct pod_class *cls =
            fix_class(f, 100 * (1 + pick(seed, 60)), 128 * (1 + pick(seed, 40)));
        cls->selector = fix_reqs(f, asks[pick(seed, 6)]);
        cls->priority = (int32_t)pick(seed, 2);
        fix_pods(f, cls, 1 + pick(seed, 12), arena_printf(&f->a, "p%u", i));
    }
}

static void check_claim(struct fix *f, const struct sched_claim *c)
{
    struct resources sum = {.n_ext = 0};
    for (uint32_t p = 0; p < c->n_pods; p++) {
        sum = resources_add(&f->a, &sum, &c->pods[p]->cls->requests, 1);
        ck_assert(
            reqset_compatible(f->syms, &c->reqs, &c->pods[p]->cls->selector, true, NULL, NULL));
    }
    for (uint32_t t = 0; t < c->n_types; t++) {
        ck_assert(resources_fit(&sum, catalog_allocatable(f->catalog, c->types[t]), NULL));
        ck_assert_int_ne(offerings_cheapest(f->offerings, c->types[t], c->offer, NULL, NULL),
                         PRICE_UNKNOWN);
    }
    const struct req *types = reqset_get(&c->reqs, L_INSTANCE_TYPE);
    ck_assert_uint_eq(types->n, c->n_types);
    ck_assert_uint_ge(types->n, types->min_values);
    ck_assert(f->opt.min_values == MIN_VALUES_BEST_EFFORT || !c->min_values_relaxed);
}

/* The largest types of all claims of the pool stay within its limits. */
static void check_limits(struct fix *f, const struct sched_result *r, const struct snapshot_pool *p)
{
    struct resources used = p->in_use;
    int64_t nodes = 0;
    for (uint32_t i = 0; i < r->n_claims; i++) {
        struct resources most = {.n_ext = 0};
        for (uint32_t t = 0; r->claims[i].pool == p && t < r->claims[i].n_types; t++) {
            most = resources_max(&f->a, &most, catalog_capacity(f->catalog, r->claims[i].types[t]));
        }
        used = resources_add(&f->a, &used, &most, 1);
        nodes += r->claims[i].pool == p;
    }
    ck_assert(p->max_new_nodes < 0 || nodes <= p->max_new_nodes);
    if (!p->np->has_limits || nodes == 0) {
        return;
    }
    ck_assert(p->np->limit_nodes < 0 || p->nodes_in_use + nodes <= p->np->limit_nodes);
    for (int i = 0; i < RES_FIXED; i++) {
        ck_assert(p->np->limits.v[i] < 0 || used.v[i] <= p->np->limits.v[i]);
    }
}

START_TEST(test_random_worlds)
{
    uint64_t seed = (uint64_t)_i + 1;
    struct fix *f = fix_new();
    random_world(f, &seed);
    const struct sched_result *r = fix_schedule(f, 1 + pick(&seed, 20));
    uint32_t placed = r->n_existing + r->n_refused;
    for (uint32_t i = 0; i < r->n_claims; i++) {
        check_claim(f, &r->claims[i]);
        check_limits(f, r, r->claims[i].pool);
        placed += r->claims[i].n_pods;
    }
    for (uint32_t i = 0; i < r->n_refused; i++) {
        const struct reason *why = &r->refused[i].reason;
        ck_assert_int_ne(why->code, REASON_NONE);
        ck_assert_msg(why->code != REASON_Limit || why->short_of.need > 0, "%s", summary(f, r));
    }
    ck_assert_uint_eq(placed, f->in.n_pods);
    fix_done(f);
}
END_TEST

static const int seeds[200];

static double cpu_seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

/* Many classes on many small nodes: 500 kinds of pods, 500 nodes that exist, hundreds of claims. */
static void large(struct fix *f)
{
    struct pod_class *cls[500];
    fix_pool(f, "small", "karpenter.k8s.aws/instance-cpu In 4,8; kubernetes.io/arch In amd64");
    fix_daemonset(f, "all", 50, 64);
    fix_daemonset(f, "gpu", 50, 64)->selector =
        fix_reqs(f, "karpenter.k8s.aws/instance-gpu-name Exists");
    for (int i = 0; i < 500; i++) {
        fix_node(f, arena_printf(&f->a, "node-%03d", i), "small",
                 "topology.kubernetes.io/zone=us-east-1a, kubernetes.io/arch=amd64");
    }
    for (int i = 0; i < 500; i++) {
        cls[i] = fix_class(f, 400 + 13 * (i % 97), 256 + 64 * (i % 31));
        cls[i]->selector = fix_reqs(f, i % 5 == 0   ? "topology.kubernetes.io/zone In us-east-1b"
                                       : i % 7 == 0 ? "karpenter.k8s.aws/instance-family NotIn m5"
                                                    : "");
    }
    for (uint32_t i = 0; i < 5000; i++) {
        fix_pod(f, cls[i % 500], arena_printf(&f->a, "pod-%05u", i));
    }
}

/* How much there is to place, and whether the pool's limit lets it. */
static const struct size_row {
    int64_t limit_cpu_milli; /* -1 = none */
    bool refused;
    enum min_values_policy min_values;
    const char *reqs;
} size_rows[] = {
    {-1, false, MIN_VALUES_STRICT, ""},
    {3000 * 1000, true, MIN_VALUES_STRICT, ""},
    {3000 * 1000, true, MIN_VALUES_STRICT, "karpenter.k8s.aws/instance-family Exists min 5"},
};

START_TEST(test_five_thousand)
{
    const struct size_row *row = &size_rows[_i];
    struct fix *f = fix_new();
    struct offerings *o;
    struct catalog *c = real_catalog(f, &o);
    large(f);
    f->pools[0].catalog = c;
    f->pools[0].offerings = o;
    struct nodepool *np = (struct nodepool *)f->pools[0].pool;
    struct reqset more = fix_reqs(f, row->reqs);
    np->reqs = reqset_merge(&f->a, f->syms, &np->reqs, &more);
    np->has_limits = row->limit_cpu_milli >= 0;
    np->limits.v[RES_CPU] = row->limit_cpu_milli;
    double from = cpu_seconds();
    const struct sched_result *r = fix_schedule(f, 1000000000);
    double took = cpu_seconds() - from;
    if (getenv("KARP_TIMES") != NULL) {
        fprintf(stderr, "5000 pods: %.3f s, %u claims, %u refused, %llu units, %zu KiB\n", took,
                r->n_claims, r->n_refused, (unsigned long long)r->work_units,
                f->a.used_bytes / 1024);
    }
    /* Generous, for sanitizers and loaded machines; it is a tenth of a second. */
    ck_assert_msg(took < 5, "%.3f s", took);
    ck_assert(!r->truncated);
    ck_assert((r->n_refused > 0) == row->refused);
    ck_assert_uint_gt(r->n_claims, 100);
    catalog_free(c);
    offerings_free(o);
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
          UNIT_TEST(test_in_flight_reused), UNIT_CASES(test_host_ports, port_cases),
          UNIT_TEST(test_host_ports_on_nodes), UNIT_CASES(test_relaxation, relax_cases),
          UNIT_CASES(test_prefer_no_schedule, prefer_taint_cases), UNIT_TEST(test_reasonable),
          UNIT_CASES(test_refusals, refusal_cases), UNIT_TEST(test_nearest_pool_first),
          UNIT_TEST(test_no_reasons_when_off), UNIT_TEST(test_slices), UNIT_TEST(test_input_order),
          UNIT_TEST(test_truncated), UNIT_TEST(test_passing_over_counts),
          UNIT_TEST(test_passing_over_claims_counts), UNIT_TEST(test_many_ways),
          UNIT_TEST(test_every_pod_once), UNIT_CASES(test_random_worlds, seeds),
          UNIT_CASES(test_five_thousand, size_rows))
