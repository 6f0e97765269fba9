/* Limits where more than one pool or more than cpu and memory matter; the rest is in test_sched. */
#include "fixture.h"
#include "unit.h"

static struct nodepool *limited(struct fix *f, const char *name, const char *reqs,
                                int64_t cpu_milli)
{
    struct nodepool *np = fix_pool(f, name, reqs);
    np->has_limits = true;
    np->limits.v[RES_CPU] = cpu_milli;
    return np;
}

static const struct sched_claim *claim_of(const struct sched_result *r, const char *pool)
{
    for (uint32_t i = 0; i < r->n_claims; i++) {
        if (str_eq(r->claims[i].pool->np->m.name, pool)) {
            return &r->claims[i];
        }
    }
    return NULL;
}

static void place_pod(struct fix *f, const char *name, int64_t cpu_milli, const char *selector)
{
    struct pod_class *cls = fix_class(f, cpu_milli, 64);
    cls->selector = fix_reqs(f, selector);
    fix_pod(f, cls, name);
}

/* What one pool has opened takes nothing from another's limit. */
START_TEST(test_pools_have_limits_of_their_own)
{
    struct fix *f = fix_new();
    limited(f, "arm", "kubernetes.io/arch In arm64", 8000);
    limited(f, "amd", "kubernetes.io/arch In amd64", 32000);
    place_pod(f, "first", 15500, "kubernetes.io/arch In arm64; team NotIn x");
    place_pod(f, "arm", 1600, "kubernetes.io/arch In arm64");
    place_pod(f, "amd", 1500, "kubernetes.io/arch In amd64; karpenter.k8s.aws/instance-cpu Gt 8");
    const struct sched_result *r = fix_schedule(f, 1000000);
    ck_assert_uint_eq(r->n_claims, 2);
    ck_assert_uint_eq(r->n_refused, 1);
    ck_assert_uint_eq(claim_of(r, "arm")->n_types, 3);
    ck_assert_uint_eq(claim_of(r, "amd")->n_types, 2);
    fix_done(f);
}
END_TEST

/* Room in one pool is made by cutting its own claims only. */
START_TEST(test_cuts_stay_in_the_pool)
{
    struct fix *f = fix_new();
    limited(f, "arm", "kubernetes.io/arch In arm64", 8000);
    limited(f, "amd", "kubernetes.io/arch In amd64", 33000);
    place_pod(f, "z-arm", 1800, "kubernetes.io/arch In arm64");
    place_pod(f, "a", 1500,
              "karpenter.k8s.aws/instance-cpu Gt 8; topology.kubernetes.io/zone In zone-a");
    place_pod(f, "b", 1500,
              "karpenter.k8s.aws/instance-cpu Gt 8; topology.kubernetes.io/zone In zone-b");
    const struct sched_result *r = fix_schedule(f, 1000000);
    ck_assert_uint_eq(r->n_claims, 3);
    ck_assert_uint_eq(r->n_refused, 0);
    ck_assert_uint_eq(claim_of(r, "arm")->n_types, 3);
    ck_assert_uint_eq(claim_of(r, "amd")->n_types, 1);
    fix_done(f);
}
END_TEST

/* Every node has four of an extended resource, of which the pool may have eight. */
START_TEST(test_extended_resource)
{
    struct fix *f = fix_new();
    const struct res_ext four = {fix_sym(f, "example.com/fuse"), 4};
    const struct res_ext eight = {fix_sym(f, "example.com/fuse"), 8};
    const sym zone = fix_sym(f, "zone-a");
    const struct catalog_zones zones = {&zone, NULL, 1};
    struct catalog_type types[2];
    for (int i = 0; i < 2; i++) {
        types[i] = (struct catalog_type){.name = fix_sym(f, i ? "x.large" : "x.small"),
                                         .capacity = fix_res(i ? 4000 : 2000, 8192, 58),
                                         .allocatable = fix_res(i ? 4000 : 2000, 8192, 58)};
        types[i].capacity.ext = types[i].allocatable.ext = &four;
        types[i].capacity.n_ext = types[i].allocatable.n_ext = 1;
    }
    struct err err = ERR_INIT;
    struct catalog *c = catalog_new(f->syms, types, 2, &zones, &err);
    ck_assert_msg(c != NULL, "%s", err.msg);
    struct offerings *o = offerings_new(c);
    offerings_set_price(o, 0, 0, CT_ON_DEMAND, PUSD_PER_USD);
    offerings_set_price(o, 1, 0, CT_ON_DEMAND, PUSD_PER_USD);
    struct nodepool *np = limited(f, "main", "", -1);
    np->limits.ext = &eight;
    np->limits.n_ext = 1;
    f->pools[0].catalog = c;
    f->pools[0].offerings = o;
    fix_pods(f, fix_class(f, 3000, 64), 3, "p");
    const struct sched_result *r = fix_schedule(f, 1000000);
    ck_assert_uint_eq(r->n_claims, 2);
    ck_assert_uint_eq(r->n_refused, 1);
    ck_assert_int_eq(r->refused[0].reason.code, REASON_Limit);
    ck_assert_uint_eq(r->refused[0].reason.short_of.ext, eight.name);
    ck_assert_int_eq(r->refused[0].reason.limit, 8);
    catalog_free(c);
    offerings_free(o);
    fix_done(f);
}
END_TEST

UNIT_MAIN("sched_limit", UNIT_TEST(test_pools_have_limits_of_their_own),
          UNIT_TEST(test_cuts_stay_in_the_pool), UNIT_TEST(test_extended_resource))
