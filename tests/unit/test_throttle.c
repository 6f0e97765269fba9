/* test_throttle.c - requests to the API server per second (work/throttle.h) */
#include "agent/work/throttle.h"
#include "fakeagent.h"

#define QPS 10
#define BURST 3

struct rig {
    struct fake *f;
    struct throttle *t;
    struct kube_port port;
    int done;
};

static void on_done(void *arg, const struct kube_resp *resp)
{
    (void)resp;
    ++*(int *)arg;
}

static uint64_t ask(struct rig *r, const char *method, const char *path)
{
    const struct kube_req req = {.method = method, .path = path};
    return r->port.request(r->port.ctx, &req, on_done, &r->done);
}

static struct rig rig(double qps)
{
    struct rig r = {.f = fake_new()};
    r.f->opt.kube_qps = qps;
    r.f->opt.kube_burst = BURST;
    r.t = throttle_new(&r.f->rt, &r.f->kube);
    r.port = throttle_kube(r.t);
    return r;
}

static void rig_done(struct rig *r)
{
    throttle_free(r->t);
    fake_free(r->f);
}

/* A burst at once, then one every tenth of a second. */
START_TEST(rate)
{
    struct rig r = rig(QPS);
    for (int i = 0; i < 10; i++) {
        ask(&r, "GET", "/api/v1/nodes");
    }
    ck_assert_uint_eq(r.f->n, BURST);
    fake_run(r.f, 100 * NS_PER_MS);
    ck_assert_uint_eq(r.f->n, BURST + 1);
    fake_run(r.f, 300 * NS_PER_MS);
    ck_assert_uint_eq(r.f->n, BURST + 4);
    fake_run(r.f, NS_PER_S);
    ck_assert_uint_eq(r.f->n, 10);
    /* Rest fills the bucket, and no more than that. */
    fake_run(r.f, NS_PER_MIN);
    for (int i = 0; i < 10; i++) {
        ask(&r, "GET", "/api/v1/nodes");
    }
    ck_assert_uint_eq(r.f->n, 10 + BURST);
    rig_done(&r);
}
END_TEST

START_TEST(unlimited)
{
    struct rig r = rig(0);
    for (int i = 0; i < 100; i++) {
        ask(&r, "GET", "/api/v1/nodes");
    }
    ck_assert_uint_eq(r.f->n, 100);
    rig_done(&r);
}
END_TEST

static const struct {
    const char *method, *path;
} asked[] = {
    {"POST", "/api/v1/namespaces/default/events"},
    {"PATCH", "/api/v1/namespaces/default/events/x"},
    {"POST", "/api/v1/namespaces/default/pods/a/eviction?dryRun="},
    {"POST", "/api/v1/namespaces/default/pods/b/eviction"},
    {"PATCH", "/apis/karpenter.sh/v1/nodeclaims/c"},
    {"DELETE", "/apis/karpenter.sh/v1/nodeclaims/events"}, /* only a name */
    {"GET", "/api/v1/events"},
};
static const int order[] = {4, 5, 6, 2, 3, 0, 1};

/* What waits goes by class, in a class in order; a body is sent as it was given. */
START_TEST(classes)
{
    struct rig r = rig(QPS);
    for (int i = 0; i < BURST; i++) {
        ask(&r, "GET", "/api/v1/nodes");
    }
    for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
        json_t *body = json_pack("{s:I}", "n", (json_int_t)i);
        const struct kube_req req = {asked[i].method, asked[i].path, body, KUBE_MERGE_PATCH, 0};
        r.port.request(r.port.ctx, &req, on_done, &r.done);
        json_object_clear(body);
        json_decref(body);
    }
    fake_run(r.f, NS_PER_S);
    ck_assert_uint_eq(r.f->n, BURST + ARRAY_LEN(asked));
    for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
        const struct fake_call *c = &r.f->calls[BURST + i];
        ck_assert_str_eq(c->path, asked[order[i]].path);
        ck_assert_str_eq(c->method, asked[order[i]].method);
        ck_assert_int_eq(json_integer_value(json_object_get(c->body, "n")), order[i]);
    }
    rig_done(&r);
}
END_TEST

/* An answer comes to whoever asked, once; what was cancelled never goes, or is cancelled below. */
START_TEST(answers)
{
    struct rig r = rig(QPS);
    const struct kube_resp resp = {.status = 200};
    for (int i = 0; i < BURST; i++) {
        ask(&r, "GET", "/a");
    }
    uint64_t first = ask(&r, "GET", "/first"), second = ask(&r, "GET", "/second");
    uint64_t third = ask(&r, "GET", "/third");
    r.port.cancel(r.port.ctx, second);
    fake_run(r.f, NS_PER_S);
    ck_assert_uint_eq(r.f->n, BURST + 2);
    ck_assert_str_eq(r.f->calls[BURST + 1].path, "/third");
    r.f->calls[BURST].done(r.f->calls[BURST].arg, &resp);
    ck_assert_int_eq(r.done, 1);
    r.port.cancel(r.port.ctx, first); /* over already */
    r.port.cancel(r.port.ctx, third);
    ck_assert(!r.f->calls[BURST + 1].open);
    rig_done(&r);
}
END_TEST

UNIT_MAIN("throttle", UNIT_TEST(rate), UNIT_TEST(unlimited), UNIT_TEST(classes), UNIT_TEST(answers))
