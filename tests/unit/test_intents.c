/* test_intents.c - planned pods: until when they count, and what ends an intent. */
#include "unit.h"

#include "agent/store/intents.h"
#include "agent/store/store.h"
#include "common/base/jsonx.h"
#include "fakeagent.h"

struct rig {
    struct fake *f;
    struct store *s;
    struct intents *it;
    int rv;
};

static void put(struct rig *r, json_t *o)
{
    char rv[16];
    snprintf(rv, sizeof(rv), "%d", ++r->rv);
    jsonx_set_new(o, "metadata.resourceVersion", json_string(rv));
    store_observe(r->s, o);
    json_decref(o);
}

static json_t *claim(bool initialized, bool deleting)
{
    json_t *o = fake_json(
        "{\"kind\":\"NodeClaim\",\"metadata\":{\"name\":\"c\",\"uid\":\"c\",\"finalizers\":[\"x\"]}"
        ","
        "\"spec\":{\"nodeClassRef\":{\"group\":\"karpenter.k8s.aws\",\"kind\":\"EC2NodeClass\","
        "\"name\":\"d\"},\"requirements\":[]},\"status\":{\"providerID\":\"aws:///a/i-1\"}}");
    if (initialized) {
        jsonx_set_new(o, "status.conditions",
                      json_pack("[{s:s, s:s}]", "type", "Initialized", "status", "True"));
    }
    if (deleting) {
        jsonx_set_new(o, "metadata.deletionTimestamp", json_string("2026-01-05T09:00:00Z"));
    }
    return o;
}

static json_t *claim_with_node(void)
{
    json_t *o = claim(false, false);
    jsonx_set_new(o, "status.nodeName", json_string("n"));
    return o;
}

static json_t *pod(const char *uid, const char *on)
{
    json_t *o = fake_json(
        "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"namespace\":\"default\"},\"spec\":"
        "{\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"2\"}}}]},"
        "\"status\":{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\","
        "\"status\":\"False\",\"reason\":\"Unschedulable\"}]}}");
    jsonx_set_new(o, "metadata.uid", json_string(uid));
    if (*on) {
        jsonx_set_new(o, "spec.nodeName", json_string(on));
        jsonx_set_new(o, "status.conditions", json_array());
    }
    return o;
}

static json_t *node(bool tainted)
{
    json_t *o = fake_json("{\"kind\":\"Node\",\"metadata\":{\"name\":\"n\",\"uid\":\"n\"},"
                          "\"spec\":{\"providerID\":\"aws:///a/i-1\"},"
                          "\"status\":{\"allocatable\":{\"cpu\":\"3\",\"pods\":\"9\"}}}");
    if (tainted) {
        jsonx_set_new(
            o, "spec.taints",
            json_pack("[{s:s, s:s}]", "key", "karpenter.sh/disrupted", "effect", "NoSchedule"));
    }
    return o;
}

/* Somebody else's pod of the same size, bound to node n. */
static json_t *other(void)
{
    json_t *o = pod("q1", "n");
    jsonx_set_new(o, "metadata.name", json_string("q"));
    return o;
}

/* Pod p is planned for claim c; then the script, and whether it still counts as planned:
 *   i claim initialized   d claim deleting   b pod bound   m pod made anew   t node tainted
 *   n node there          o another pod takes 2 of its 3 cpu          l the claim had a node
 *   1..9 that many ten seconds pass */
static const struct {
    const char *script;
    bool planned;
} rows[] = {
    {"", true},     {"9", true},  /* a claim on its way is waited for */
    {"i", true},    {"i1", true}, /* the window of 20 s begins with the first question */
    {"i12", false},               /* it should be bound by now: plan anew */
    {"d", false},   {"b", false}, {"m", false},   {"n", true}, {"nt", false},
    {"9i", true},   {"no", true}, {"ino", false}, /* its place has been taken: no need to wait */
    {"l", false},   {"nl", true},                 /* nothing joins a second time */
};

START_TEST(ends)
{
    struct rig r = {.f = fake_new()};
    r.s = r.f->rt.store = store_new(&r.f->rt);
    r.it = r.f->rt.intents = intents_new(&r.f->rt);
    put(&r, claim(false, false));
    put(&r, pod("p1", ""));
    intents_put(r.it, "c", "default/p", "p1");
    for (const char *c = rows[_i].script; *c; c++) {
        if (*c >= '1' && *c <= '9') {
            fake_run(r.f, (*c - '0') * 10 * NS_PER_S);
            continue;
        }
        put(&r, *c == 'i'   ? claim(true, false)
                : *c == 'd' ? claim(false, true)
                : *c == 'b' ? pod("p1", "n")
                : *c == 'm' ? pod("p2", "")
                : *c == 'o' ? other()
                : *c == 'l' ? claim_with_node()
                            : node(*c == 't'));
        const struct pod *p = store_pod(r.s, "default", "p");
        intents_planned(r.it, p);
    }
    const struct pod *p = store_pod(r.s, "default", "p");
    bool planned = rows[_i].planned;
    struct arena a;
    arena_init(&a, 0, 1 << 16);
    ck_assert(intents_planned(r.it, p) == planned);
    ck_assert_uint_eq(intents_expected(r.it, "c"), planned);
    ck_assert_int_eq(intents_requests(r.it, "c", &a).v[RES_CPU], planned ? 2000 : 0);
    ck_assert_uint_eq(intents_expected(r.it, "other"), 0);
    arena_done(&a);
    intents_free(r.it);
    store_free(r.s);
    fake_free(r.f);
}
END_TEST

/* Others that are planned for the same target later do not prolong a pod's window. */
START_TEST(each_its_own)
{
    struct rig r = {.f = fake_new()};
    r.s = r.f->rt.store = store_new(&r.f->rt);
    r.it = r.f->rt.intents = intents_new(&r.f->rt);
    put(&r, claim(true, false));
    put(&r, pod("p1", ""));
    const struct pod *p = store_pod(r.s, "default", "p");
    intents_put(r.it, "c", "default/p", "p1");
    for (int i = 0; i < 3; i++) {
        ck_assert(intents_planned(r.it, p) == (i < 2));
        intents_put(r.it, "c", "default/other", "p9");
        intents_expected(r.it, "c");
        fake_run(r.f, 10 * NS_PER_S);
    }
    ck_assert_uint_eq(intents_expected(r.it, "c"), 0); /* the other pod is not there */
    intents_free(r.it);
    store_free(r.s);
    fake_free(r.f);
}
END_TEST

UNIT_MAIN("intents", UNIT_CASES(ends, rows), UNIT_TEST(each_its_own))
