/* What can be launched: facts, prices, and pools as a decision sees them. */
#include "cloudrig.h"

#include "common/base/jsonx.h"
#include "common/base/price.h"

static void rig_ready(struct rig *r, const char *cls)
{
    rig_init(r);
    cloud_start(r->cloud);
    rig_put(r, rig_class(cls));
    rig_run(r, 3 * NS_PER_S);
}

/* ---- prices ------------------------------------------------------------------------------------
 */

#define USD(x) ((int64_t)((x)*1e6 + 0.5) * 1000000)

static const struct {
    const char *name, *step;
    bool isolated;
    double on_demand, spot; /* of m5.large in us-west-2a; 0 = not to be had */
} prices[] = {
    {"asked of AWS", "{\"prices\":{\"onDemand\":{\"m5.large\":0.2},\"spot\":{\"m5.large\":0.07}}}",
     false, 0.2, 0.07},
    {"no prices API: those that came along",
     "{\"prices\":{\"onDemand\":{\"m5.large\":0.2},\"spot\":{\"m5.large\":0.07}}}", true, 0.096,
     0.07},
    {"no answer about prices",
     "{\"fail\":{\"action\":\"pricing:GetProducts\",\"code\":\"AccessDeniedException\","
     "\"times\":1000}}",
     false, 0.096, 0.0384},
    {"no answer about spot: a share of on-demand",
     "{\"fail\":{\"action\":\"DescribeSpotPriceHistory\",\"code\":\"UnauthorizedOperation\","
     "\"times\":1000}}",
     false, 0.096, 0.0384},
    {"no answer about offerings: nothing is known",
     "{\"fail\":{\"action\":\"DescribeInstanceTypeOfferings\",\"code\":"
     "\"UnauthorizedOperation\",\"times\":1000}}",
     false, 0, 0},
};

START_TEST(price_is)
{
    struct rig r;
    rig_init(&r);
    rig_step(&r, prices[_i].step);
    r.f->opt.isolated_vpc = prices[_i].isolated;
    cloud_start(r.cloud);
    ck_assert(!cloud_ready(r.cloud));
    rig_run(&r, 60 * NS_PER_S);
    int64_t on_demand = cloud_price(r.cloud, "m5.large", "us-west-2a", CT_ON_DEMAND);
    int64_t spot = cloud_price(r.cloud, "m5.large", "us-west-2a", CT_SPOT);
    bool none = prices[_i].on_demand == 0;
    ck_assert_msg(on_demand == (none ? PRICE_UNKNOWN : USD(prices[_i].on_demand)), "%s: %lld",
                  prices[_i].name, (long long)on_demand);
    ck_assert_msg(spot == (none ? PRICE_UNKNOWN : USD(prices[_i].spot)), "%s: %lld",
                  prices[_i].name, (long long)spot);
    ck_assert(cloud_ready(r.cloud) == !none);
    ck_assert(prices[_i].isolated == (simec2_calls(r.ec2, "pricing", "GetProducts") == 0));
    ck_assert_int_eq(cloud_price(r.cloud, "m5.large", "us-east-1a", CT_SPOT), PRICE_UNKNOWN);
    ck_assert_int_eq(cloud_price(r.cloud, "no.such", "us-west-2a", CT_SPOT), PRICE_UNKNOWN);
    ck_assert_int_eq(cloud_price(r.cloud, "m5.large", "us-west-2a", CT_RESERVED), PRICE_UNKNOWN);
    rig_done(&r);
}
END_TEST

/* What the plugin reads of it: every price, and where each type is offered. */
static void same_in_print(struct rig *r, const json_t *list)
{
    for (uint32_t t = 0; t < ec2_facts_n; t++) {
        const char *type = ec2_facts[t].name;
        const json_t *zones = json_object_get(jsonx_obj(list, "zones"), type);
        const json_t *spot = json_object_get(jsonx_obj(list, "spot"), type);
        const char *od = json_string_value(json_object_get(jsonx_obj(list, "onDemand"), type));
        size_t i;
        json_t *zone;
        json_array_foreach (zones, i, zone) {
            const char *z = json_string_value(zone);
            const char *s = json_string_value(json_object_get(spot, z));
            int64_t v = PRICE_UNKNOWN;
            ck_assert(!od || price_parse(od, &v));
            ck_assert_int_eq(v, cloud_price(r->cloud, type, z, CT_ON_DEMAND));
            v = PRICE_UNKNOWN;
            ck_assert(!s || price_parse(s, &v));
            ck_assert_int_eq(v, cloud_price(r->cloud, type, z, CT_SPOT));
        }
        ck_assert(zones || (!od && !spot));
    }
}

START_TEST(prices_in_print)
{
    struct rig r;
    AUTO_BUF struct buf text, small;
    buf_init(&text, 1 << 20);
    buf_init(&small, 1000);
    rig_init(&r);
    rig_step(&r,
             "{\"prices\":{\"onDemand\":{\"m5.large\":0.2},\"spot\":{\"m5.large\":{\"us-west-2a\":"
             "0.07,\"us-west-2b\":0.08}}}}");
    cloud_start(r.cloud);
    rig_run(&r, 60 * NS_PER_S);
    ck_assert(cloud_prices(r.cloud, &text));
    ck_assert(!cloud_prices(r.cloud, &small));
    struct err e = ERR_INIT;
    AUTO_JSON json_t *list = jsonx_parse(text.p, text.n, "prices", &e);
    ck_assert_msg(list != NULL, "%s", e.msg);
    ck_assert_str_eq(jsonx_str(list, "region"), "us-west-2");
    ck_assert_uint_gt(json_object_size(jsonx_obj(list, "zones")), 300);
    same_in_print(&r, list);
    buf_reset(&text);
    r.f->opt.region = "a\"b"; /* whatever a flag says, it is one text */
    ck_assert(cloud_prices(r.cloud, &text));
    AUTO_JSON json_t *odd = jsonx_parse(text.p, text.n, "prices", &e);
    ck_assert_str_eq(jsonx_str_or(odd, "region", ""), "a\"b");
    rig_done(&r);
}
END_TEST

/* No spot price is known: guesses are not printed. */
START_TEST(no_spot_in_print)
{
    struct rig r;
    AUTO_BUF struct buf text;
    buf_init(&text, 1 << 20);
    rig_init(&r);
    rig_step(&r, "{\"fail\":{\"action\":\"DescribeSpotPriceHistory\",\"code\":"
                 "\"UnauthorizedOperation\",\"times\":1000}}");
    cloud_start(r.cloud);
    rig_run(&r, 60 * NS_PER_S);
    ck_assert(cloud_prices(r.cloud, &text));
    ck_assert(str_contains(text.p, "\"onDemand\":{") && !str_contains(text.p, "\"spot\""));
    rig_done(&r);
}
END_TEST

/* Asked again after half a day; what fails then keeps what was known. */
START_TEST(refreshed)
{
    struct rig r;
    rig_ready(&r, NULL);
    rig_step(&r, "{\"prices\":{\"onDemand\":{\"m5.large\":0.2},\"spot\":{\"m5.large\":0.07}}}");
    rig_step(&r, "{\"fail\":{\"action\":\"pricing:GetProducts\",\"code\":\"InternalFailure\","
                 "\"times\":1000}}");
    fake_run(r.f, 12 * NS_PER_H + NS_PER_MIN);
    ck_assert_int_eq(cloud_price(r.cloud, "m5.large", "us-west-2a", CT_SPOT), USD(0.07));
    ck_assert_int_eq(cloud_price(r.cloud, "m5.large", "us-west-2a", CT_ON_DEMAND), USD(0.096));
    rig_done(&r);
}
END_TEST

/* ---- pools -------------------------------------------------------------------------------------
 */

static json_t *pool(const char *patch)
{
    json_t *o = fake_json(
        "{\"apiVersion\":\"karpenter.sh/v1\",\"kind\":\"NodePool\",\"metadata\":{\"name\":\"pool\","
        "\"uid\":\"pool-1\",\"generation\":1},\"spec\":{\"template\":{\"spec\":{\"requirements\":"
        "[],\"nodeClassRef\":{\"group\":\"karpenter.k8s.aws\",\"kind\":\"EC2NodeClass\","
        "\"name\":\"default\"}}}}}");
    if (patch) {
        AUTO_JSON json_t *p = fake_json(patch);
        jsonx_merge_patch(o, p);
    }
    return o;
}

static const struct {
    const char *name, *cls, *pool;
    int n;
    enum reason_code closed;
    const char *text; /* part of it */
} pools[] = {
    {"open", NULL, NULL, 1, REASON_NONE, NULL},
    {"no class", NULL,
     "{\"spec\":{\"template\":{\"spec\":{\"nodeClassRef\":{\"name\":\"other\"}}}}}", 1,
     REASON_PoolNotReady, "EC2NodeClass other not found"},
    {"class not ready", "{\"spec\":{\"subnetSelectorTerms\":[{\"id\":\"subnet-0ff\"}]}}", NULL, 1,
     REASON_PoolNotReady, "SubnetsReady=False"},
    {"class that goes",
     "{\"metadata\":{\"deletionTimestamp\":\"2026-01-05T09:00:00Z\",\"finalizers\":["
     "\"example.com/stays\"]}}",
     NULL, 1, REASON_PoolNotReady, "is being deleted"},
    {"class with a field of a newer version", "{\"spec\":{\"newField\":1}}", NULL, 1,
     REASON_UnknownFields, "newField"},
    {"pool with a field of a newer version", NULL, "{\"spec\":{\"newField\":1}}", 1,
     REASON_UnknownFields, "newField"},
    {"another provider's", NULL,
     "{\"spec\":{\"template\":{\"spec\":{\"nodeClassRef\":{\"kind\":\"KWOKNodeClass\"}}}}}", 0,
     REASON_NONE, NULL},
    {"a static one", NULL, "{\"spec\":{\"replicas\":2}}", 0, REASON_NONE, NULL},
};

START_TEST(pool_is)
{
    struct rig r;
    struct arena a;
    struct snapshot_in in = {.n_pools = 0};
    rig_ready(&r, pools[_i].cls);
    rig_put(&r, pool(pools[_i].pool));
    arena_init(&a, 0, 1u << 20);
    cloud_pools(r.cloud, &a, &in);
    ck_assert_int_eq((int)in.n_pools, pools[_i].n);
    if (pools[_i].n > 0) {
        const struct snapshot_pool_in *p = &in.pools[0];
        ck_assert_msg(p->closed == pools[_i].closed, "%s: %s", pools[_i].name,
                      reason_name(p->closed));
        const char *part = pools[_i].text;
        ck_assert_msg(!part || str_contains(p->closed_text, part), "%s", p->closed_text);
        ck_assert(p->closed != REASON_NONE || (p->catalog && p->offerings));
    }
    arena_done(&a);
    rig_done(&r);
}
END_TEST

static const struct snapshot_pool_in *look(struct rig *r, struct arena *a)
{
    struct snapshot_in in = {.n_pools = 0};
    cloud_pools(r->cloud, a, &in);
    ck_assert_uint_eq(in.n_pools, 1);
    return &in.pools[0];
}

/* The same facts give the same objects; a stock-out makes new offerings, kept ones stay good until
 * the thaw; what enters the catalog makes a new one. */
START_TEST(generations)
{
    struct rig r;
    struct arena a;
    rig_ready(&r, NULL);
    rig_put(&r, pool(NULL));
    arena_init(&a, 0, 1u << 20);
    store_freeze(r.rt->store);
    const struct snapshot_pool_in *one = look(&r, &a), *two = look(&r, &a);
    ck_assert_ptr_eq(one->offerings, two->offerings);
    int t = catalog_find_type(one->catalog, sym_find(r.rt->syms, "m5.large"));
    int z = catalog_find_zone(one->catalog, sym_find(r.rt->syms, "us-west-2a"));
    ck_assert(t >= 0 && z >= 0);
    stock_mark(r.cloud, CT_SPOT, "m5.large", "us-west-2a", "InsufficientInstanceCapacity");
    two = look(&r, &a);
    ck_assert_ptr_ne(one->offerings, two->offerings);
    ck_assert_ptr_eq(one->catalog, two->catalog);
    ck_assert(offerings_generation(one->offerings) < offerings_generation(two->offerings));
    ck_assert(offerings_available(one->offerings, (uint32_t)t, (uint32_t)z, CT_SPOT));
    ck_assert(!offerings_available(two->offerings, (uint32_t)t, (uint32_t)z, CT_SPOT));
    ck_assert(offerings_available(two->offerings, (uint32_t)t, (uint32_t)z, CT_ON_DEMAND));
    json_t *cls = rig_object(&r, "default");
    jsonx_set_new(cls, "spec.kubelet", json_pack("{s:i}", "maxPods", 20));
    jsonx_set_new(cls, "metadata.generation", json_integer(2));
    rig_store(&r, cls);
    rig_run(&r, 3 * NS_PER_S);
    const struct snapshot_pool_in *three = look(&r, &a);
    ck_assert_ptr_ne(three->catalog, two->catalog);
    ck_assert_int_eq(catalog_capacity(three->catalog, (uint32_t)t)->v[RES_PODS], 20);
    ck_assert_int_eq(catalog_capacity(one->catalog, (uint32_t)t)->v[RES_PODS], 29);
    store_thaw(r.rt->store);
    look(&r, &a);
    ck_assert_uint_eq(r.cloud->n_limbo, 0);
    arena_done(&a);
    rig_done(&r);
}
END_TEST

/* Types that no image is for, or that the class cannot run on, are known but not offered. */
static const struct {
    const char *type, *cls;
    bool offered;
} offers[] = {
    {"m5.large", NULL, true},
    {"m6g.large", NULL, true},
    {"a1.large", NULL, false}, /* AL2023 does not run on it */
    {"m4.large", "{\"spec\":{\"connectionTracking\":{\"udpTimeout\":45}}}", false}, /* Xen */
    {"m5.large", "{\"spec\":{\"connectionTracking\":{\"udpTimeout\":45}}}", true},
};

START_TEST(offered)
{
    struct rig r;
    struct arena a;
    rig_ready(&r, offers[_i].cls);
    rig_put(&r, pool(NULL));
    arena_init(&a, 0, 1u << 20);
    const struct snapshot_pool_in *p = look(&r, &a);
    int t = catalog_find_type(p->catalog, sym_find(r.rt->syms, offers[_i].type));
    ck_assert_int_ge(t, 0);
    struct reqset any = {NULL, 0};
    struct offer_mask m = offerings_mask(p->catalog, r.rt->syms, &any);
    int64_t price = offerings_cheapest(p->offerings, (uint32_t)t, m, NULL, NULL);
    ck_assert_msg((price != PRICE_UNKNOWN) == offers[_i].offered, "%s", offers[_i].type);
    arena_done(&a);
    rig_done(&r);
}
END_TEST

/* Another account than at the start: the agent ends. */
START_TEST(account_changes)
{
    struct rig r;
    rig_ready(&r, NULL);
    ck_assert(!r.rt->ended);
    free(r.cloud->home.account);
    r.cloud->home.account = xstrdup("999999999999");
    fake_run(r.f, 6 * NS_PER_MIN);
    ck_assert(r.rt->ended);
    ck_assert(str_contains(r.rt->ended_why.msg, "account changed"));
    rig_done(&r);
}
END_TEST

UNIT_MAIN("market", UNIT_CASES(price_is, prices), UNIT_TEST(prices_in_print),
          UNIT_TEST(no_spot_in_print), UNIT_TEST(refreshed), UNIT_CASES(pool_is, pools),
          UNIT_TEST(generations), UNIT_CASES(offered, offers), UNIT_TEST(account_changes))
