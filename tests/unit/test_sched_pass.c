/* What holds for a pass as a whole: slicing, order of its input, size, random worlds. */
#include "schedtest.h"

#include "common/core/improve/bound.h"
#include "common/core/sched/hostport.h"

#include <time.h>

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
    struct sched *s = fix_pass(f, 1000000);
    const char *first = summary(f, sched_result(s));
    int64_t bound = bound_new_capacity_pusd_h(s);
    for (int i = 0; i < 5; i++) {
        shuffle(f->pods, f->in.n_pods, sizeof(*f->pods), &seed);
        shuffle(f->nodes, f->in.n_nodes, sizeof(*f->nodes), &seed);
        shuffle(f->claims, f->in.n_claims, sizeof(*f->claims), &seed);
        shuffle(f->daemonsets, f->in.n_daemonsets, sizeof(*f->daemonsets), &seed);
        shuffle(f->pools, f->in.n_pools, sizeof(*f->pools), &seed);
        s = fix_pass(f, 1000000);
        ck_assert_str_eq(summary(f, sched_result(s)), first);
        ck_assert_int_eq(bound_new_capacity_pusd_h(s), bound);
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

static const struct host_port one_port = {8080, 0, ""};

/* Likewise claims that have refused. */
START_TEST(test_passing_over_claims_counts)
{
    struct fix *f = fix_new();
    fix_pool(f, "main", "");
    struct pod_class *cls = fix_class(f, 100, 100);
    cls->host_ports = &one_port;
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
    struct sched *s = fix_pass(f, 1 + pick(&seed, 20));
    const struct sched_result *r = sched_result(s);
    uint32_t placed = r->n_existing + r->n_refused;
    int64_t price = 0, bound = bound_new_capacity_pusd_h(s);
    for (uint32_t i = 0; i < r->n_claims; i++) {
        check_claim(f, &r->claims[i]);
        check_limits(f, r, r->claims[i].pool);
        placed += r->claims[i].n_pods;
        price += r->claims[i].price_pusd_h;
    }
    ck_assert_int_le(bound, price);
    ck_assert_int_ge(bound, price / 8);
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

UNIT_MAIN("sched_pass", UNIT_TEST(test_slices), UNIT_TEST(test_input_order),
          UNIT_TEST(test_truncated), UNIT_TEST(test_passing_over_counts),
          UNIT_TEST(test_passing_over_claims_counts), UNIT_TEST(test_many_ways),
          UNIT_TEST(test_every_pod_once), UNIT_CASES(test_random_worlds, seeds),
          UNIT_CASES(test_five_thousand, size_rows))
