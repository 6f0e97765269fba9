/* test_ec2_kube - how the simulated EC2's machines appear in an API server and fall silent. */
#include "common/base/jsonx.h"
#include "tests/sim/ec2_kube.h"
#include "unit.h"

/* An API server with one Node, answering when it is told to. */
struct server {
    struct kube_port port;
    int64_t now_ns;
    struct clock clock;
    struct timers timers;
    json_t *node; /* as stored; NULL = none */
    int version;
    enum err_kind trouble; /* of the next request */
    struct timer reply;
    kube_done_fn done;
    void *arg;
    struct kube_resp resp;
    uint64_t handles;
    char log[2048]; /* "POST PATCH …" */
};

static void on_reply(void *arg)
{
    struct server *s = arg;
    kube_done_fn done = s->done;
    struct kube_resp resp = s->resp;
    s->done = NULL;
    done(s->arg, &resp);
    json_decref(resp.body);
}

static void refuse(struct server *s, enum err_kind kind, int status)
{
    s->resp.status = status;
    err_set(&s->resp.err, kind, "refused");
}

static void write_node(struct server *s, const struct kube_req *req)
{
    const char *version = jsonx_str(req->body, "metadata.resourceVersion");
    char now[16];
    snprintf(now, sizeof(now), "%d", s->version);
    if (version && strcmp(version, now) != 0) {
        refuse(s, ERR_CONFLICT, 409);
        return;
    }
    json_t *next = json_deep_copy(s->node);
    if (!strstr(req->path, "/status")) {
        AUTO_JSON json_t *patch = json_deep_copy(req->body);
        json_object_del(patch, "status");
        jsonx_merge_patch(next, patch);
    } else {
        jsonx_merge_patch(json_object_get(next, "status"), json_object_get(req->body, "status"));
    }
    snprintf(now, sizeof(now), "%d", ++s->version);
    jsonx_set_new(next, "metadata.resourceVersion", json_string(now));
    json_decref(s->node);
    s->node = next;
}

static void serve(struct server *s, const struct kube_req *req)
{
    s->resp = (struct kube_resp){.status = 200};
    if (s->trouble != ERR_NONE) {
        refuse(s, s->trouble, s->trouble == ERR_CONFLICT ? 409 : 500);
        s->trouble = ERR_NONE;
        return;
    }
    if (strcmp(req->method, "POST") == 0) {
        if (s->node) {
            refuse(s, ERR_EXISTS, 409);
            return;
        }
        s->node = json_deep_copy(req->body);
        jsonx_set_new(s->node, "metadata.resourceVersion", json_string("1"));
        s->version = 1;
    } else if (!s->node) {
        refuse(s, ERR_NOT_FOUND, 404);
        return;
    } else if (strcmp(req->method, "PATCH") == 0) {
        write_node(s, req);
    }
    if (s->resp.err.kind == ERR_NONE) {
        s->resp.body = json_incref(s->node);
    }
}

static uint64_t request(void *ctx, const struct kube_req *req, kube_done_fn done, void *arg)
{
    struct server *s = ctx;
    size_t n = strlen(s->log);
    ck_assert(!s->done);
    snprintf(s->log + n, sizeof(s->log) - n, "%s%s%s", n > 0 ? " " : "", req->method,
             strstr(req->path, "/status") ? "-status" : "");
    serve(s, req);
    s->done = done;
    s->arg = arg;
    timer_set(&s->timers, &s->reply, s->now_ns + NS_PER_MS, on_reply, s);
    return ++s->handles;
}

static void cancel(void *ctx, uint64_t handle)
{
    struct server *s = ctx;
    if (s->done && handle == s->handles) {
        s->done = NULL;
        json_decref(s->resp.body);
        timer_stop(&s->timers, &s->reply);
    }
}

static int64_t now(void *ctx)
{
    return ((struct server *)ctx)->now_ns;
}

static void pass(struct server *s, int64_t dt_ns)
{
    int64_t end_ns = s->now_ns + dt_ns;
    while (timers_next_ns(&s->timers) <= end_ns) {
        s->now_ns = timers_next_ns(&s->timers);
        timers_run_one(&s->timers, s->now_ns);
    }
    s->now_ns = end_ns;
}

/* One machine and its cluster. */
struct world {
    struct server s;
    struct ec2_kube *k;
    struct simec2_instance inst;
    json_t *node;
};

static void init(struct world *w, int64_t ready_ns)
{
    const struct ec2_kube_opts opts = {.ready_ns = ready_ns};
    *w = (struct world){0};
    w->s.port = (struct kube_port){.request = request, .cancel = cancel, .ctx = &w->s};
    w->s.clock = (struct clock){now, now, &w->s};
    timers_init(&w->s.timers);
    w->k = ec2_kube_new(&w->s.port, &w->s.clock, &w->s.timers, &opts);
    w->inst = (struct simec2_instance){.node_name = "ip-10-0-0-16", .provider_id = "aws:///a/i-1"};
    w->node = json_pack("{s:{s:s}, s:{s:s, s:[{s:s, s:s}]}, s:{s:[{s:s, s:s}, {s:s, s:s}]}}",
                        "metadata", "name", "ip-10-0-0-16", "spec", "providerID", "aws:///a/i-1",
                        "taints", "key", "x", "effect", "NoExecute", "status", "conditions", "type",
                        "DiskPressure", "status", "False", "type", "Ready", "status", "False");
}

static void boot(struct world *w)
{
    const struct simec2_boot b = {.inst = &w->inst, .node = w->node};
    ec2_kube_boot(w->k, &b);
}

static void done(struct world *w)
{
    ec2_kube_free(w->k);
    timers_done(&w->s.timers);
    json_decref(w->s.node);
    json_decref(w->node);
}

/* KWOK makes it Ready. */
static void set_ready(struct world *w, const char *status)
{
    json_t *c = json_array_get(jsonx_arr(w->s.node, "status.conditions"), 1);
    json_object_set_new(c, "status", json_string(status));
}

static const char *ready(const struct world *w)
{
    json_t *c = json_array_get(jsonx_arr(w->s.node, "status.conditions"), 1);
    return jsonx_str(c, "status");
}

START_TEST(comes_and_falls_silent)
{
    struct world w;
    init(&w, 8 * NS_PER_S);
    boot(&w);
    pass(&w.s, 8 * NS_PER_S - 1);
    ck_assert_str_eq(w.s.log, "");
    pass(&w.s, NS_PER_S);
    ck_assert_str_eq(w.s.log, "POST");
    json_t *annotations = jsonx_at(w.s.node, "metadata.annotations");
    ck_assert_str_eq(json_string_value(json_object_get(annotations, EC2_KUBE_ANNOTATION)), "fake");
    ck_assert_uint_eq(ec2_kube_busy(w.k), 0);
    set_ready(&w, "True");
    ec2_kube_down(w.k, &w.inst);
    ec2_kube_down(w.k, &w.inst);
    pass(&w.s, NS_PER_S);
    ck_assert_str_eq(w.s.log, "POST GET PATCH PATCH-status");
    annotations = jsonx_at(w.s.node, "metadata.annotations");
    ck_assert(!json_object_get(annotations, EC2_KUBE_ANNOTATION));
    ck_assert_str_eq(ready(&w), "Unknown");
    const json_t *taints = jsonx_arr(w.s.node, "spec.taints");
    ck_assert_uint_eq(json_array_size(taints), 3);
    ck_assert_str_eq(jsonx_str(json_array_get(taints, 0), "key"), "x");
    ck_assert_str_eq(jsonx_str(json_array_get(taints, 2), "key"), "node.kubernetes.io/unreachable");
    /* Looked after once more; then nothing is left to do. */
    pass(&w.s, NS_PER_MIN);
    ck_assert_str_eq(w.s.log, "POST GET PATCH PATCH-status GET");
    ck_assert_uint_eq(ec2_kube_busy(w.k), 0);
    done(&w);
}
END_TEST

START_TEST(a_late_heartbeat_is_undone)
{
    struct world w;
    init(&w, 0);
    boot(&w);
    pass(&w.s, NS_PER_S);
    ec2_kube_down(w.k, &w.inst);
    pass(&w.s, NS_PER_S);
    set_ready(&w, "True");
    pass(&w.s, NS_PER_MIN);
    ck_assert_str_eq(ready(&w), "Unknown");
    done(&w);
}
END_TEST

static const struct trouble_row {
    const char *name;
    enum err_kind kind;
    int64_t at_ns; /* before which moment the next request fails */
    const char *log;
} trouble_rows[] = {
    {"the server is away at boot", ERR_UNAVAILABLE, 0, "POST POST GET PATCH PATCH-status GET"},
    {"a conflict", ERR_CONFLICT, NS_PER_MIN, "POST GET GET PATCH PATCH-status GET"},
    {"the server is away at the end", ERR_UNAVAILABLE, NS_PER_MIN,
     "POST GET GET PATCH PATCH-status GET"},
};

START_TEST(troubles)
{
    const struct trouble_row *row = &trouble_rows[_i];
    struct world w;
    init(&w, 0);
    w.s.trouble = row->at_ns == 0 ? row->kind : ERR_NONE;
    boot(&w);
    pass(&w.s, NS_PER_MIN);
    w.s.trouble = row->at_ns > 0 ? row->kind : ERR_NONE;
    ec2_kube_down(w.k, &w.inst);
    pass(&w.s, NS_PER_MIN);
    ck_assert_msg(strcmp(w.s.log, row->log) == 0, "%s: %s", row->name, w.s.log);
    ck_assert_str_eq(ready(&w), "Unknown");
    done(&w);
}
END_TEST

START_TEST(name_is_taken)
{
    struct world w;
    init(&w, 0);
    w.s.node = json_pack("{s:{s:s}, s:{s:s}}", "metadata", "name", "ip-10-0-0-16", "spec",
                         "providerID", "aws:///a/i-other");
    boot(&w);
    pass(&w.s, NS_PER_S);
    ck_assert_str_eq(w.s.log, "POST GET");
    ec2_kube_down(w.k, &w.inst);
    pass(&w.s, NS_PER_S);
    ck_assert_str_eq(w.s.log, "POST GET");
    ck_assert_str_eq(jsonx_str(w.s.node, "spec.providerID"), "aws:///a/i-other");
    done(&w);
}
END_TEST

START_TEST(down_before_it_registered)
{
    struct world w;
    init(&w, NS_PER_MIN);
    boot(&w);
    pass(&w.s, NS_PER_S);
    ec2_kube_down(w.k, &w.inst);
    pass(&w.s, 2 * NS_PER_MIN);
    ck_assert_str_eq(w.s.log, "GET");
    ck_assert(w.s.node == NULL);
    ck_assert_uint_eq(ec2_kube_busy(w.k), 0);
    done(&w);
}
END_TEST

START_TEST(freed_with_a_request_open)
{
    struct world w;
    init(&w, 0);
    boot(&w);
    pass(&w.s, 0);
    ck_assert_str_eq(w.s.log, "POST");
    ck_assert_uint_eq(ec2_kube_busy(w.k), 1);
    done(&w);
}
END_TEST

UNIT_MAIN("ec2_kube", UNIT_TEST(comes_and_falls_silent), UNIT_TEST(a_late_heartbeat_is_undone),
          UNIT_CASES(troubles, trouble_rows), UNIT_TEST(name_is_taken),
          UNIT_TEST(down_before_it_registered), UNIT_TEST(freed_with_a_request_open))
