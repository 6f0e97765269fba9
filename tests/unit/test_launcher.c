/* One instance per claim, whatever fails; and garbage collection with its brakes. */
#include "agent/claim/gc.h"
#include "agent/claim/launcher.h"
#include "cloudrig.h"

/* A rig with a ready class; claims put before `begin` are there before the process. */
static void rig_open(struct rig *r)
{
    rig_init(r);
    rig_put(r, rig_class(NULL));
}

static void rig_begin(struct rig *r)
{
    launcher_start(launcher_new(r->rt));
    cloud_start(r->cloud);
    rig_run(r, 3 * NS_PER_S);
}

/* As the creator does: a claim of this process. */
static void rig_create(struct rig *r, json_t *claim)
{
    uint64_t creation = launcher_creating(r->rt->launcher);
    rig_put(r, claim);
    launcher_created(r->rt->launcher, creation, "claim", store_claim(r->rt->store, "claim")->m.uid);
}

static void rig_close(struct rig *r)
{
    launcher_free(r->rt->launcher);
    rig_done(r);
}

static const char *claim_str(struct rig *r, const char *path)
{
    return jsonx_str_or(rig_object(r, "claim"), path, "");
}

static const char *attempt(struct rig *r)
{
    const json_t *a = jsonx_obj(rig_object(r, "claim"), "metadata.annotations");
    const char *s = json_string_value(json_object_get(a, ANN_LAUNCH_ATTEMPT));
    return s ? s : "";
}

static size_t instances(struct rig *r)
{
    size_t n = 0;
    struct err err = ERR_INIT;
    AUTO_JSON json_t *match = json_object();
    ck_assert_int_eq(simec2_count(r->ec2, match, &n, &err), 0);
    return n;
}

static uint64_t calls(struct rig *r, const char *action)
{
    return simec2_calls(r->ec2, "ec2", action);
}

static bool settled(struct rig *r)
{
    return launcher_settled(r->rt, store_claim(r->rt->store, "claim"));
}

static void ignore(void *arg, const struct launch_result *r)
{
    (void)arg;
    (void)r;
}

/* ---- launching ------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    bool before; /* the claim was there before the process */
    const char *step, *step2;
    unsigned conflicts;
    int wait_s;
    const char *attempt, *launched; /* the condition */
    size_t instances, fleets;
} rows[] = {
    {.name = "new claim",
     .wait_s = 5,
     .attempt = "1",
     .launched = "True",
     .instances = 1,
     .fleets = 1},
    {.name = "claim from before",
     .before = true,
     .wait_s = 10,
     .attempt = "1",
     .launched = "True",
     .instances = 1,
     .fleets = 1},
    {.name = "writes are refused for a while",
     .conflicts = 5,
     .wait_s = 30,
     .attempt = "1",
     .launched = "True",
     .instances = 1,
     .fleets = 1},
    {.name = "the answer is lost, the instance is seen late",
     .step = "{\"fail\":{\"action\":\"CreateFleet\",\"code\":\"LostAnswer\",\"times\":3}}",
     .step2 = "{\"hide\":{\"for\":\"30s\"}}",
     .wait_s = 60,
     .attempt = "1",
     .launched = "True",
     .instances = 1,
     .fleets = 3},
    {.name = "the answer cannot be read",
     .step = "{\"cut\":{\"action\":\"CreateFleet\",\"times\":1}}",
     .wait_s = 15,
     .attempt = "1",
     .launched = "True",
     .instances = 1,
     .fleets = 1},
    {.name = "other parameters: nothing there for a minute, then another attempt",
     .step = "{\"fail\":{\"action\":\"CreateFleet\",\"code\":\"IdempotentParameterMismatch\","
             "\"times\":1}}",
     .wait_s = 80,
     .attempt = "2",
     .launched = "True",
     .instances = 1,
     .fleets = 2},
    {.name = "other parameters: not before the minute",
     .step = "{\"fail\":{\"action\":\"CreateFleet\",\"code\":\"IdempotentParameterMismatch\","
             "\"times\":1}}",
     .wait_s = 55,
     .attempt = "1",
     .launched = "absent",
     .instances = 0,
     .fleets = 1},
    {.name = "refused for a while",
     .step = "{\"fail\":{\"action\":\"CreateFleet\",\"code\":\"UnauthorizedOperation\","
             "\"times\":2}}",
     .wait_s = 15,
     .attempt = "3",
     .launched = "True",
     .instances = 1,
     .fleets = 3},
    {.name = "refused: it says why",
     .step = "{\"fail\":{\"action\":\"CreateFleet\",\"code\":\"UnauthorizedOperation\","
             "\"times\":100}}",
     .wait_s = 2,
     .attempt = "3",
     .launched = "Unknown Unauthorized",
     .instances = 0,
     .fleets = 2},
    {.name = "refused at a restart: what was there before is not known",
     .before = true,
     .step = "{\"fail\":{\"action\":\"CreateFleet\",\"code\":\"UnauthorizedOperation\","
             "\"times\":1}}",
     .wait_s = 90,
     .attempt = "2",
     .launched = "True",
     .instances = 1,
     .fleets = 2},
};

START_TEST(launching)
{
    struct rig r;
    char got[256];
    rig_open(&r);
    json_t *claim =
        rig_claim("{\"metadata\":{\"annotations\":{\"karp.dev/launch-attempt\":\"1\"}}}");
    if (rows[_i].step) {
        rig_step(&r, rows[_i].step);
    }
    if (rows[_i].step2) {
        rig_step(&r, rows[_i].step2);
    }
    if (rows[_i].before) {
        rig_put(&r, claim);
        rig_begin(&r);
        rig_run(&r, rows[_i].wait_s * NS_PER_S);
    } else {
        rig_begin(&r);
        rig_create(&r, claim);
        r.refuse_patches = rows[_i].conflicts;
        rig_run(&r, rows[_i].wait_s * NS_PER_S);
        ck_assert(rows[_i].step || calls(&r, "DescribeInstances") == 0);
    }
    const char *name = rows[_i].name;
    ck_assert_msg(str_eq(rig_condition(&r, "claim", "Launched", got), rows[_i].launched), "%s: %s",
                  name, got);
    ck_assert_msg(str_eq(attempt(&r), rows[_i].attempt), "%s: attempt %s", name, attempt(&r));
    ck_assert_msg(instances(&r) == rows[_i].instances, "%s: %zu instances", name, instances(&r));
    ck_assert_msg(calls(&r, "CreateFleet") == rows[_i].fleets, "%s: %u fleets", name,
                  (unsigned)calls(&r, "CreateFleet"));
    ck_assert_int_eq(*claim_str(&r, "status.providerID") != 0, str_eq(rows[_i].launched, "True"));
    rig_close(&r);
}
END_TEST

START_TEST(what_is_written)
{
    struct rig r;
    rig_open(&r);
    rig_begin(&r);
    rig_put(&r,
            rig_claim("{\"metadata\":{\"labels\":{\"karpenter.k8s.aws/instance-cpu\":\"own\"}}}"));
    rig_run(&r, 5 * NS_PER_S);
    const struct simec2_instance *i = simec2_instance_at(r.ec2, 0);
    ck_assert_str_eq(claim_str(&r, "status.providerID"), i->provider_id);
    ck_assert_str_eq(claim_str(&r, "status.imageID"), i->image_id);
    ck_assert(*claim_str(&r, "status.capacity.cpu") && *claim_str(&r, "status.allocatable.memory"));
    const json_t *l = jsonx_obj(rig_object(&r, "claim"), "metadata.labels");
    const char *const want[][2] = {{"node.kubernetes.io/instance-type", i->type},
                                   {"topology.kubernetes.io/zone", i->zone},
                                   {"topology.k8s.aws/zone-id", i->zone_id},
                                   {"topology.kubernetes.io/region", "us-west-2"},
                                   {"karpenter.sh/capacity-type", "spot"},
                                   {"karpenter.k8s.aws/instance-tenancy", "default"},
                                   {"kubernetes.io/arch", "amd64"},
                                   {"kubernetes.io/os", "linux"},
                                   {"karpenter.k8s.aws/instance-cpu", "own"},
                                   {"karpenter.sh/nodepool", "pool"}};
    for (size_t k = 0; k < ARRAY_LEN(want); k++) {
        const char *got = json_string_value(json_object_get(l, want[k][0]));
        ck_assert_msg(str_eq(got, want[k][1]), "%s: %s", want[k][0], got);
    }
    rig_close(&r);
}
END_TEST

/* The last leader's claim, shown as new by a watch that lags: neither is it new, nor is its attempt
 * the one that was asked last. */
START_TEST(a_watch_that_lags)
{
    struct rig r;
    rig_open(&r);
    rig_step(&r, "{\"hide\":{\"for\":\"20s\"}}");
    rig_begin(&r);
    r.refuse_patches = 1000000; /* 409: it has been written since */
    rig_put(&r, rig_claim(NULL));
    rig_run(&r, 10 * NS_PER_S);
    ck_assert_uint_gt(calls(&r, "DescribeInstances"), 0);
    ck_assert_uint_eq(calls(&r, "CreateFleet"), 0);
    rig_put(&r, rig_claim("{\"metadata\":{\"annotations\":{\"karp.dev/launch-attempt\":\"2\"}}}"));
    cloud_launch(r.cloud, store_claim(r.rt->store, "claim"), 2, ignore, NULL);
    rig_run(&r, 3 * NS_PER_S);
    r.refuse_patches = 0;
    rig_run(&r, 60 * NS_PER_S);
    ck_assert_uint_eq(instances(&r), 1);
    ck_assert_str_eq(attempt(&r), "2");
    ck_assert_str_eq(claim_str(&r, "status.providerID"), simec2_instance_at(r.ec2, 0)->provider_id);
    rig_close(&r);
}
END_TEST

START_TEST(no_capacity_ends_the_claim)
{
    struct rig r;
    rig_open(&r);
    rig_step(&r, "{\"outOfCapacity\":[{\"capacityType\":\"*\",\"type\":\"*\",\"zone\":\"*\"}]}");
    rig_begin(&r);
    rig_put(&r, rig_claim(NULL));
    rig_run(&r, 5 * NS_PER_S);
    ck_assert_uint_eq(r.deletes, 1);
    ck_assert(settled(&r));
    ck_assert_int_eq(
        (int)metrics_sum(r.rt->metrics, "karpenter_nodeclaims_disrupted_total",
                         (const char *const[]){"reason", "insufficient_capacity", NULL}),
        1);
    rig_run(&r, 30 * NS_PER_S);
    ck_assert_uint_eq(calls(&r, "CreateFleet"), 1);
    rig_close(&r);
}
END_TEST

/* ---- claims that the watch tells of before the answer to a creation is there --------------------
 */

#define LATE_S 10

static const struct {
    const char *name;
    bool before;         /* it was seen before the creation began */
    bool other, refused; /* the answer is about another claim; nothing was created */
    bool later;          /* another creation has begun since, and is not answered */
    bool standby;        /* meanwhile somebody else was in charge */
    bool ours;
} lates[] = {
    {.name = "it is ours", .ours = true},
    {.name = "it was there before we created any", .before = true},
    {.name = "ours has another name", .other = true},
    {.name = "ours was refused", .refused = true},
    {.name = "it cannot be the one that began later", .refused = true, .later = true},
    {.name = "somebody else may have launched it meanwhile", .standby = true},
};

/* One that is not ours is looked for first, and a refusal says nothing of what was there before. */
START_TEST(late_answers)
{
    struct rig r;
    rig_open(&r);
    rig_begin(&r);
    rig_step(&r, "{\"fail\":{\"action\":\"CreateFleet\",\"code\":\"UnauthorizedOperation\","
                 "\"times\":1}}");
    if (lates[_i].before) {
        rig_put(&r, rig_claim(NULL));
        rig_run(&r, 100 * NS_PER_MS);
    }
    uint64_t creation = launcher_creating(r.rt->launcher);
    if (!lates[_i].before) {
        rig_put(&r, rig_claim(NULL));
    }
    gate_set_standby(r.rt->gate, lates[_i].standby);
    rig_run(&r, LATE_S * NS_PER_S);
    gate_set_standby(r.rt->gate, false);
    if (lates[_i].later) {
        (void)launcher_creating(r.rt->launcher);
    }
    const char *name = lates[_i].name;
    bool waited = calls(&r, "DescribeInstances") == 0 && calls(&r, "CreateFleet") == 0;
    ck_assert_msg(waited == !lates[_i].before, "%s", name);
    launcher_created(r.rt->launcher, creation,
                     lates[_i].refused ? NULL
                     : lates[_i].other ? "other"
                                       : "claim",
                     store_claim(r.rt->store, "claim")->m.uid);
    rig_run(&r, 30 * NS_PER_S);
    ck_assert_msg(instances(&r) == lates[_i].ours, "%s: %zu instances", name, instances(&r));
    ck_assert_msg((calls(&r, "DescribeInstances") == 0) == lates[_i].ours, "%s", name);
    rig_run(&r, 60 * NS_PER_S);
    ck_assert_msg(instances(&r) == 1, "%s: %zu instances", name, instances(&r));
    ck_assert_str_eq(attempt(&r), "2");
    rig_close(&r);
}
END_TEST

static bool fenced(struct rig *r)
{
    return metrics_sum(r->rt->metrics, "karp_gate_refused_total",
                       (const char *const[]){"call", "ec2:CreateFleet", NULL}) > 0;
}

/* ---- claims that go before they are launched ------------------------------------------------- */

START_TEST(gone_before_it_was_launched)
{
    struct rig r;
    rig_open(&r);
    rig_begin(&r);
    rig_create(&r, rig_claim(NULL));
    rig_delete(&r, "claim");
    ck_assert(settled(&r));
    rig_run(&r, 10 * NS_PER_S);
    ck_assert_uint_eq(calls(&r, "CreateFleet"), 0);
    rig_close(&r);
}
END_TEST

/* Somebody else may have launched it before we heard of it. */
START_TEST(gone_when_first_seen)
{
    struct rig r;
    rig_open(&r);
    rig_begin(&r);
    rig_put(&r, rig_claim("{\"metadata\":{\"deletionTimestamp\":\"2026-01-05T09:00:00Z\"}}"));
    ck_assert(!settled(&r));
    rig_run(&r, 70 * NS_PER_S);
    ck_assert(settled(&r));
    ck_assert_uint_eq(calls(&r, "CreateFleet"), 0);
    rig_close(&r);
}
END_TEST

/* A claim that could be deleted under our hands gets no instance. */
START_TEST(not_without_finalizer)
{
    struct rig r;
    rig_open(&r);
    rig_begin(&r);
    rig_put(&r, rig_claim("{\"metadata\":{\"finalizers\":null}}"));
    rig_run(&r, 10 * NS_PER_S);
    ck_assert_uint_eq(calls(&r, "CreateFleet"), 0);
    jsonx_set_new(rig_object(&r, "claim"), "metadata.finalizers",
                  json_pack("[s]", "karpenter.sh/termination"));
    rig_store(&r, rig_object(&r, "claim"));
    rig_run(&r, 10 * NS_PER_S);
    ck_assert_uint_eq(instances(&r), 1);
    rig_close(&r);
}
END_TEST

/* Not asked for again and again while it waits for its class; one that is not ready ends it. */
START_TEST(class_is_not_ready)
{
    struct rig r;
    rig_open(&r);
    rig_put(&r, rig_claim(NULL));
    rig_begin(&r);
    rig_close(&r);
    rig_init(&r);
    rig_put(&r, rig_class("{\"spec\":{\"amiSelectorTerms\":[{\"alias\":\"al2@latest\"}]}}"));
    rig_put(&r, rig_claim(NULL));
    rig_begin(&r);
    rig_run(&r, 10 * NS_PER_S);
    ck_assert_uint_eq(r.deletes, 1);
    ck_assert_uint_eq(calls(&r, "CreateFleet"), 0);
    ck_assert_uint_le(calls(&r, "DescribeInstances"), 5); /* every 3 s now that it goes */
    ck_assert(!settled(&r));
    rig_run(&r, 70 * NS_PER_S);
    ck_assert(settled(&r));
    rig_close(&r);
}
END_TEST

/* An attempt without an answer, then one that is not sent since the fence has closed. */
START_TEST(lost_then_fenced)
{
    struct rig r;
    rig_open(&r);
    rig_begin(&r);
    rig_step(&r, "{\"hide\":{\"for\":\"20s\"}}");
    rig_step(&r, "{\"fail\":{\"action\":\"CreateFleet\",\"code\":\"LostAnswer\",\"times\":1}}");
    rig_put(&r, rig_claim(NULL));
    for (int i = 0; i < 100 && instances(&r) == 0; i++) {
        rig_run(&r, 100 * NS_PER_MS);
    }
    ck_assert_uint_eq(instances(&r), 1);
    gate_set_standby(r.rt->gate, true);
    for (int i = 0; i < 2000 && !fenced(&r); i++) {
        rig_run(&r, 100 * NS_PER_MS);
    }
    ck_assert(fenced(&r));
    gate_set_standby(r.rt->gate, false);
    rig_delete(&r, "claim");
    ck_assert(!settled(&r)); /* there is one: it must be found first */
    rig_run(&r, 60 * NS_PER_S);
    ck_assert(settled(&r));
    ck_assert_str_eq(claim_str(&r, "status.providerID"), simec2_instance_at(r.ec2, 0)->provider_id);
    rig_close(&r);
}
END_TEST

START_TEST(gone_but_perhaps_launched)
{
    struct rig r;
    rig_open(&r);
    rig_put(&r, rig_claim("{\"metadata\":{\"deletionTimestamp\":\"2026-01-05T09:00:00Z\"}}"));
    rig_begin(&r);
    ck_assert(!settled(&r));
    rig_run(&r, 50 * NS_PER_S);
    ck_assert(!settled(&r));
    rig_run(&r, 20 * NS_PER_S);
    ck_assert(settled(&r));
    ck_assert_uint_eq(calls(&r, "CreateFleet"), 0);
    rig_close(&r);
}
END_TEST

/* The process before us launched it and died: found by its tag, late, and told to the claim. */
START_TEST(gone_and_launched)
{
    struct rig r;
    rig_open(&r);
    rig_step(&r, "{\"hide\":{\"for\":\"20s\"}}");
    cloud_start(r.cloud);
    rig_run(&r, 3 * NS_PER_S);
    rig_put(&r, rig_claim(NULL));
    cloud_launch(r.cloud, store_claim(r.rt->store, "claim"), 1, ignore, NULL);
    rig_run(&r, 3 * NS_PER_S);
    launcher_start(launcher_new(r.rt));
    rig_delete(&r, "claim");
    ck_assert(!settled(&r));
    rig_run(&r, 40 * NS_PER_S);
    ck_assert(settled(&r));
    ck_assert_str_eq(claim_str(&r, "status.providerID"), simec2_instance_at(r.ec2, 0)->provider_id);
    ck_assert_uint_eq(calls(&r, "CreateFleet"), 1);
    rig_close(&r);
}
END_TEST

/* ---- garbage collection ---------------------------------------------------------------------- */

/* Launches n instances for claims that nobody knows of. */
static void orphans(struct rig *r, int n)
{
    for (int i = 0; i < n; i++) {
        char patch[128];
        snprintf(patch, sizeof(patch), "{\"metadata\":{\"uid\":\"lost-%d\"}}", i);
        rig_put(r, rig_claim(patch));
        cloud_launch(r->cloud, store_claim(r->rt->store, "claim"), 1, ignore, NULL);
        rig_run(r, 3 * NS_PER_S);
    }
    json_array_clear(jsonx_arr(rig_object(r, "claim"), "metadata.finalizers"));
    rig_delete(r, "claim");
}

static void rig_gc(struct rig *r, struct gc **ret)
{
    rig_open(r);
    *ret = gc_new(r->rt);
    cloud_start(r->cloud);
    rig_run(r, 3 * NS_PER_S);
}

static double attention(struct rig *r)
{
    return metrics_sum(r->rt->metrics, "karp_attention",
                       (const char *const[]){"code", "GarbageCollectionHalted", NULL});
}

static const struct {
    const char *name;
    int orphans;
    const char *node; /* of the first instance */
    bool foreign;
    int wait_s;
    size_t left;
    int halted;
    int jump_s; /* of our clock */
} collections[] = {
    {"an orphan goes", 1, NULL, false, 60, 0, 0, 0},
    {"but not a young one", 1, NULL, false, 22, 1, 0, 0},
    {"nor one whose node is Ready", 1, "True", false, 60, 1, 0, 0},
    {"though one whose node is not", 1, "False", false, 60, 0, 0, 0},
    {"nor another cluster's", 0, NULL, true, 60, 1, 0, 0},
    {"nor many at once", 2, NULL, false, 60, 2, 1, 0},
    {"nor any while the clock is off", 1, NULL, false, 60, 1, 0, 40},
};

static json_t *node_of(struct rig *r, const char *ready)
{
    json_t *o = fake_json("{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n\","
                          "\"uid\":\"n\"},\"spec\":{}}");
    jsonx_set_new(o, "spec.providerID", json_string(simec2_instance_at(r->ec2, 0)->provider_id));
    jsonx_set_new(o, "status.conditions",
                  json_pack("[{s:s, s:s}]", "type", "Ready", "status", ready));
    return o;
}

START_TEST(collecting)
{
    struct rig r;
    struct gc *g;
    rig_gc(&r, &g);
    orphans(&r, collections[_i].orphans);
    if (collections[_i].foreign) {
        rig_step(&r, "{\"foreign\":[{\"type\":\"m5.large\",\"zone\":\"us-west-2a\","
                     "\"clusterUID\":\"other\"}]}");
    }
    if (collections[_i].node) {
        rig_put(&r, node_of(&r, collections[_i].node));
    }
    gc_start(g);
    r.f->wall_shift_ns += collections[_i].jump_s * NS_PER_S;
    rig_run(&r, collections[_i].wait_s * NS_PER_S);
    ck_assert_msg(instances(&r) == collections[_i].left, "%s: %zu left", collections[_i].name,
                  instances(&r));
    ck_assert_int_eq((int)attention(&r), collections[_i].halted);
    bool went = collections[_i].node && collections[_i].left == 0;
    ck_assert(!went || !rig_object(&r, "n")); /* its node goes, too */
    gc_free(g);
    rig_done(&r);
}
END_TEST

static const struct {
    const char *name, *conditions, *node;
    bool alive;
    bool deleted;
} losses[] = {
    {"its instance is gone", "[{\"type\":\"Registered\",\"status\":\"True\"}]", NULL, false, true},
    {"its node is not Ready", "[{\"type\":\"Registered\",\"status\":\"True\"}]", "Unknown", false,
     true},
    {"its node is Ready", "[{\"type\":\"Registered\",\"status\":\"True\"}]", "True", false, false},
    {"it is not registered", "[]", NULL, false, false},
    {"it was launched a moment ago",
     "[{\"type\":\"Registered\",\"status\":\"True\"},{\"type\":\"Launched\",\"status\":\"True\","
     "\"lastTransitionTime\":\"2026-01-05T09:16:40Z\"}]",
     NULL, false, false},
    {"its instance lives", "[{\"type\":\"Registered\",\"status\":\"True\"}]", "Unknown", true,
     false},
};

START_TEST(losing)
{
    struct rig r;
    struct gc *g;
    rig_gc(&r, &g);
    json_t *claim = rig_claim(NULL);
    rig_put(&r, claim);
    cloud_launch(r.cloud, store_claim(r.rt->store, "claim"), 1, ignore, NULL);
    rig_run(&r, 5 * NS_PER_S);
    const struct simec2_instance *i = simec2_instance_at(r.ec2, 0);
    jsonx_set_new(claim, "status.providerID", json_string(i->provider_id));
    jsonx_set_new(claim, "status.conditions", fake_json(losses[_i].conditions));
    if (!losses[_i].alive) {
        /* of a process before us, so that nobody here remembers launching it */
        jsonx_set_new(claim, "status.providerID", json_string("aws:///us-west-2a/i-0dead"));
        simec2_kill(r.ec2, i->id);
    }
    rig_store(&r, claim);
    if (losses[_i].node) {
        json_t *n = node_of(&r, losses[_i].node);
        jsonx_set_new(n, "spec.providerID", json_string(claim_str(&r, "status.providerID")));
        rig_put(&r, n);
    }
    gc_start(g);
    rig_run(&r, 15 * NS_PER_S);
    ck_assert_uint_eq(r.deletes, 0); /* one answer is no proof */
    rig_run(&r, 20 * NS_PER_S);
    ck_assert_msg(r.deletes == losses[_i].deleted, "%s", losses[_i].name);
    gc_free(g);
    rig_done(&r);
}
END_TEST

UNIT_MAIN("launcher", UNIT_CASES(launching, rows), UNIT_TEST(what_is_written),
          UNIT_TEST(a_watch_that_lags), UNIT_CASES(late_answers, lates),
          UNIT_TEST(no_capacity_ends_the_claim), UNIT_TEST(gone_before_it_was_launched),
          UNIT_TEST(gone_when_first_seen), UNIT_TEST(not_without_finalizer),
          UNIT_TEST(class_is_not_ready), UNIT_TEST(lost_then_fenced),
          UNIT_TEST(gone_but_perhaps_launched), UNIT_TEST(gone_and_launched),
          UNIT_CASES(collecting, collections), UNIT_CASES(losing, losses))
