/* test_observed.c - what nodes of a type have beside what their claims were told, and what the pool
 * says of it (store/observed.h) */
#include "unit.h"

#include "agent/store/observed.h"
#include "agent/store/store.h"
#include "common/base/jsonx.h"
#include "fakeagent.h"

struct rig {
    struct fake *f;
    struct store *s;
    struct observed *o;
    int n;
};

static void put(struct rig *r, json_t *o, const char *name)
{
    char rv[16];
    snprintf(rv, sizeof(rv), "%d", ++r->n);
    jsonx_set_new(o, "metadata.name", json_string(name));
    jsonx_set_new(o, "metadata.uid", json_string(name));
    jsonx_set_new(o, "metadata.resourceVersion", json_string(rv));
    store_observe(r->s, o);
    json_decref(o);
}

static void begin(struct rig *r)
{
    *r = (struct rig){.f = fake_new()};
    r->s = r->f->rt.store = store_new(&r->f->rt);
    r->o = r->f->rt.observed = observed_new(&r->f->rt);
    put(r, fake_json("{\"kind\":\"EC2NodeClass\",\"spec\":{}}"), "d");
    put(r,
        fake_json("{\"kind\":\"NodePool\",\"spec\":{\"template\":{\"spec\":{\"nodeClassRef\":"
                  "{\"group\":\"karpenter.k8s.aws\",\"kind\":\"EC2NodeClass\",\"name\":\"d\"},"
                  "\"requirements\":[]}}}}"),
        "p");
}

static void end(struct rig *r)
{
    observed_free(r->o);
    store_free(r->s);
    fake_free(r->f);
}

/* "CPU MEMORY PODS" */
static json_t *amounts(const char *text)
{
    char cpu[32], memory[32], pods[32];
    ck_assert_int_eq(sscanf(text, "%31s %31s %31s", cpu, memory, pods), 3);
    return json_pack("{s:s, s:s, s:s}", "cpu", cpu, "memory", memory, "pods", pods);
}

/* A claim that was told this and is initialized with a node that has that. */
static void joins(struct rig *r, int i, const char *told, const char *has)
{
    char name[16], id[48];
    snprintf(name, sizeof(name), "c%d", i);
    snprintf(id, sizeof(id), "aws:///us-west-2a/i-%d", i);
    json_t *node = fake_json("{\"kind\":\"Node\",\"metadata\":{\"labels\":{"
                             "\"node.kubernetes.io/instance-type\":\"m5.large\"}},\"spec\":{}}");
    jsonx_set_new(node, "spec.providerID", json_string(id));
    jsonx_set_new(node, "status.capacity", amounts(has));
    jsonx_set_new(node, "status.allocatable", amounts(has));
    put(r, node, name);
    json_t *claim =
        fake_json("{\"kind\":\"NodeClaim\",\"metadata\":{},\"spec\":{\"nodeClassRef\":{\"group\":"
                  "\"karpenter.k8s.aws\",\"kind\":\"EC2NodeClass\",\"name\":\"d\"},"
                  "\"requirements\":[]},\"status\":{\"conditions\":[{\"type\":\"Initialized\","
                  "\"status\":\"True\"}]}}");
    json_t *notes = json_pack("{s:s, s:s}", ANN_CLASS_HASH, store_class(r->s, "d")->hash,
                              ANN_CLASS_HASH_VERSION, HASH_VERSION);
    json_object_set_new(json_object_get(claim, "metadata"), "annotations", notes);
    jsonx_set_new(claim, "status.providerID", json_string(id));
    jsonx_set_new(claim, "status.allocatable", amounts(told));
    put(r, claim, name);
}

#define SAYS(what)                                                                                 \
    "nodes of type m5.large have " what " that was computed: what they have is planned with"

/* What claims were told, and nodes have: "CPU MEMORY PODS", one after the other. */
static const struct {
    const char *told[3], *has[3];
    const char *seen; /* "CPU MEMORY PODS" that are planned with, NULL: what is computed */
    const char *says; /* the condition's message, NULL: it is not there */
} rows[] = {
    {{"2 8000Mi 29"}, {"2 8000Mi 29"}, NULL, NULL},
    {{"2 8000Mi 29"}, {"2 8001Mi 29"}, NULL, NULL}, /* kubelets round */
    {{"2 8000Mi 29"}, {"2 8100Mi 29"}, "2000 8100 29", NULL},
    {{"2 8000Mi 29"}, {"2 7920Mi 29"}, "2000 7920 29", NULL}, /* a hundredth */
    {{"2 8000Mi 29"}, {"2 7919Mi 29"}, "2000 7919 29", SAYS("memory 7919Mi, not the 8000Mi")},
    {{"1930m 8000Mi 29"}, {"1911m 8000Mi 29"}, "1911 8000 29", NULL},
    {{"1930m 8000Mi 29"}, {"1910m 8000Mi 29"}, "1910 8000 29", SAYS("cpu 1910m, not the 1930m")},
    {{"940m 8000Mi 29"}, {"900m 8000Mi 29"}, "900 8000 29", SAYS("cpu 900m, not the 940m")},
    {{"2 8000Mi 29"}, {"2 8000Mi 110"}, "2000 8000 110", SAYS("pods 110, not the 29")},
    /* The least of all; what was told since then is no reason. */
    {{"2 8000Mi 29", "2 7000Mi 29"},
     {"2 7000Mi 29", "2 6990Mi 29"},
     "2000 6990 29",
     SAYS("memory 6990Mi, not the 8000Mi")},
    {{"2 8000Mi 29", "2 8000Mi 110"},
     {"2 8000Mi 110", "2 8000Mi 29"},
     "2000 8000 29",
     SAYS("pods 29, not the 110")},
};

static void holds(struct rig *r, size_t i)
{
    struct cond_edit e;
    const struct nodepool *np = store_pool(r->s, "p");
    struct ec2_observed seen;
    char text[96] = "";
    if (observed_of(r->o, store_class(r->s, "d"), "m5.large", &seen)) {
        snprintf(text, sizeof(text), "%lld %lld %lld", (long long)seen.allocatable[RES_CPU],
                 (long long)seen.allocatable[RES_MEMORY] >> 20,
                 (long long)seen.allocatable[RES_PODS]);
    }
    ck_assert_str_eq(text, rows[i].seen ? rows[i].seen : "");
    cond_begin(&e, &np->conditions, &np->m, 0);
    observed_conditions(r->o, np, &e);
    ck_assert_uint_eq(e.n, rows[i].says != NULL);
    if (rows[i].says) {
        ck_assert_str_eq(e.v[0].message, rows[i].says);
    }
}

START_TEST(nodes_show_what_they_have)
{
    struct rig r;
    begin(&r);
    for (int k = 0; k < 3 && rows[_i].told[k]; k++) {
        joins(&r, k, rows[_i].told[k], rows[_i].has[k]);
    }
    holds(&r, (size_t)_i);
    /* Another process reads what this one had published. */
    json_t *published = observed_json(r.o);
    observed_free(r.o);
    r.o = r.f->rt.observed = observed_new(&r.f->rt);
    observed_restore(r.o, published);
    holds(&r, (size_t)_i);
    json_decref(published);
    end(&r);
}
END_TEST

UNIT_MAIN("observed", UNIT_CASES(nodes_show_what_they_have, rows))
