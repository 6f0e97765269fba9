/* What a pass refuses, with its reason, and what it gives up before it does: host ports,
 * relaxation, refusals. */
#include "schedtest.h"

#include "common/core/sched/hostport.h"

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

/* g.xlarge has a GPU; no image of the class runs on it. */
static void set_no_image(struct fix *f, struct pod_class *cls)
{
    cls->selector = fix_reqs(f, "karpenter.k8s.aws/instance-gpu-name Exists");
    uint32_t type = (uint32_t)catalog_find_type(f->catalog, fix_sym(f, "g.xlarge"));
    offerings_set_no_image(f->offerings, type);
    for (uint32_t zone = 0; zone < 3; zone++) {
        offerings_set_price(f->offerings, type, zone, CT_ON_DEMAND, PRICE_UNKNOWN);
        offerings_set_price(f->offerings, type, zone, CT_SPOT, PRICE_UNKNOWN);
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
    {set_no_image, REASON_NoImage,
     "no machine image fits: EC2NodeClass default has none for amd64 with accelerators"},
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

UNIT_MAIN("sched_refuse", UNIT_CASES(test_host_ports, port_cases),
          UNIT_TEST(test_host_ports_on_nodes), UNIT_CASES(test_relaxation, relax_cases),
          UNIT_CASES(test_prefer_no_schedule, prefer_taint_cases), UNIT_TEST(test_reasonable),
          UNIT_CASES(test_refusals, refusal_cases), UNIT_TEST(test_nearest_pool_first),
          UNIT_TEST(test_no_reasons_when_off))
