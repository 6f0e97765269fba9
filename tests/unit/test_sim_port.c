/* The simulated API server through a kube_port: watches, requests, crashes, faults, evictions. */
#include "common/base/buf.h"
#include "simrig.h"

/* ---- the port: watches
 * ---------------------------------------------------------------------------- */

struct listener {
    struct buf seen; /* "+a ~a -a " */
    struct err why;
    int ends;
    char version[24];
    struct sim_world *w;
    struct kube_port *port;
    uint64_t handle;
    bool cancel_on_event;
};

static void on_event(void *arg, enum kube_event_type type, json_t *object)
{
    struct listener *l = arg;
    static const char marks[] = {
        [KUBE_ADDED] = '+', [KUBE_MODIFIED] = '~', [KUBE_DELETED] = '-', [KUBE_BOOKMARK] = '='};
    buf_printf(&l->seen, "%c%s ", marks[type], jsonx_str_or(object, "metadata.name", ""));
    str_copy(l->version, sizeof(l->version), jsonx_str_or(object, "metadata.resourceVersion", ""));
    if (l->cancel_on_event) {
        l->port->cancel(l->port->ctx, l->handle);
    }
}

static void on_end(void *arg, const struct err *why)
{
    struct listener *l = arg;
    l->why = *why;
    l->ends++;
}

static void listen_at(struct listener *l, struct sim_world *w, const char *path)
{
    l->w = w;
    if (!l->port) {
        buf_init(&l->seen, 4096);
        l->port = sim_api_port(w->api, "listener");
    }
    buf_reset(&l->seen);
    l->handle = l->port->watch(l->port->ctx, path, on_event, on_end, l);
}

START_TEST(watch_tells_changes_in_order)
{
    struct sim_world *w = rig_world(1);
    struct listener l = {0};
    rig_configmap(w, "a", "1");
    listen_at(&l, w, RIG_CONFIGMAPS "?watch=true");
    ck_assert_str_eq(l.seen.p, "");
    rig_run(w, NS_PER_S);
    ck_assert_str_eq(l.seen.p, "+a ");
    rig_configmap(w, "b", "1");
    ck_assert_str_eq(l.seen.p, "+a "); /* never before the event queue turns */
    rig_expect(w, "PATCH", RIG_CONFIGMAPS "/a", "{'data':{'v':'2'}}", 200);
    rig_expect(w, "DELETE", RIG_CONFIGMAPS "/a", NULL, 200);
    rig_run(w, NS_PER_S);
    ck_assert_str_eq(l.seen.p, "+a +b ~a -a ");
    /* A deletion has a version of its own. */
    ck_assert_int_eq(atoi(l.version), (int)sim_api_version(w->api));
    /* It resumes where it stopped. */
    l.port->cancel(l.port->ctx, l.handle);
    rig_configmap(w, "c", "1");
    AUTO_FREE char *path = xasprintf(RIG_CONFIGMAPS "?watch=true&resourceVersion=%s", l.version);
    listen_at(&l, w, path);
    rig_run(w, NS_PER_S);
    ck_assert_str_eq(l.seen.p, "+c ");
    ck_assert_int_eq(l.ends, 0);
    buf_done(&l.seen);
    sim_world_free(w);
}
END_TEST

START_TEST(watch_by_selector_sees_comings_and_goings)
{
    struct sim_world *w = rig_world(1);
    struct listener l = {0};
    rig_configmap(w, "a", "1");
    listen_at(&l, w, RIG_CONFIGMAPS "?watch=true&labelSelector=v%3D2");
    rig_run(w, NS_PER_S);
    rig_expect(w, "PATCH", RIG_CONFIGMAPS "/a", "{'metadata':{'labels':{'v':'2'}}}", 200);
    rig_expect(w, "PATCH", RIG_CONFIGMAPS "/a", "{'data':{'v':'2'}}", 200);
    rig_expect(w, "PATCH", RIG_CONFIGMAPS "/a", "{'metadata':{'labels':{'v':'3'}}}", 200);
    rig_expect(w, "DELETE", RIG_CONFIGMAPS "/a", NULL, 200);
    rig_run(w, NS_PER_S);
    ck_assert_str_eq(l.seen.p, "+a ~a -a ");
    buf_done(&l.seen);
    sim_world_free(w);
}
END_TEST

START_TEST(watch_too_old_is_gone)
{
    struct sim_world *w = rig_world(1);
    struct listener l = {0};
    rig_configmap(w, "a", "1");
    sim_api_compact(w->api);
    listen_at(&l, w, RIG_CONFIGMAPS "?watch=true&resourceVersion=1");
    rig_run(w, NS_PER_S);
    ck_assert_int_eq(l.ends, 1);
    ck_assert_int_eq(l.why.kind, ERR_GONE);
    ck_assert_str_eq(l.why.code, "Expired");
    /* One that is open falls behind. */
    listen_at(&l, w, RIG_CONFIGMAPS "?watch=true");
    rig_run(w, NS_PER_S);
    rig_expect(w, "PATCH", RIG_CONFIGMAPS "/a", "{'data':{'v':'2'}}", 200);
    sim_api_compact(w->api);
    rig_run(w, NS_PER_S);
    ck_assert_int_eq(l.ends, 2);
    ck_assert_int_eq(l.why.kind, ERR_GONE);
    buf_done(&l.seen);
    sim_world_free(w);
}
END_TEST

START_TEST(watch_ends)
{
    struct sim_world *w = rig_world(1);
    struct listener l = {0};
    listen_at(&l, w, RIG_CONFIGMAPS "?watch=true&timeoutSeconds=150&allowWatchBookmarks=true");
    rig_run(w, 140 * NS_PER_S);
    ck_assert_str_eq(l.seen.p, "= = ");
    ck_assert_int_eq(atoi(l.version), (int)sim_api_version(w->api));
    rig_run(w, 20 * NS_PER_S);
    ck_assert_int_eq(l.ends, 1);
    ck_assert_int_eq(l.why.kind, ERR_NONE);
    listen_at(&l, w, RIG_CONFIGMAPS "?watch=true");
    rig_run(w, NS_PER_S);
    sim_api_break_watches(w->api);
    ck_assert_int_eq(l.ends, 2);
    ck_assert_int_eq(l.why.kind, ERR_UNAVAILABLE);
    listen_at(&l, w, "/api/v1/widgets?watch=true");
    rig_run(w, NS_PER_S);
    ck_assert_int_eq(l.ends, 3);
    ck_assert_int_eq(l.why.kind, ERR_NOT_FOUND);
    /* Cancelled from within its own event: silence. */
    l.cancel_on_event = true;
    rig_configmap(w, "a", "1");
    rig_configmap(w, "b", "1");
    listen_at(&l, w, RIG_CONFIGMAPS "?watch=true");
    rig_run(w, NS_PER_S);
    ck_assert_str_eq(l.seen.p, "+a ");
    ck_assert_int_eq(l.ends, 3);
    ck_assert_uint_eq(sim_api_port_open(l.port), 0);
    buf_done(&l.seen);
    sim_world_free(w);
}
END_TEST

/* ---- the port: requests
 * ----------------------------------------------------------------------------- */

struct asker {
    int done, status;
    enum err_kind kind;
    struct kube_port *port;
    char *at_answer; /* what the hook saw */
    bool crash;
    int fault;
    int64_t delay_ns;
};

static void on_done(void *arg, const struct kube_resp *resp)
{
    struct asker *a = arg;
    a->done++;
    a->status = resp->status;
    a->kind = resp->err.kind;
}

static void hook_answered(void *ctx, const struct sim_call *c)
{
    struct asker *a = ctx;
    free(a->at_answer);
    a->at_answer = xasprintf("%s %s %d", c->verb, c->resource, c->status);
    if (a->crash) {
        a->port->close(a->port->ctx);
    }
}

static int hook_fault(void *ctx, const struct sim_call *c UNUSED, int64_t *extra_ns)
{
    struct asker *a = ctx;
    *extra_ns = a->delay_ns;
    return a->fault;
}

static uint64_t ask(struct asker *a, struct sim_world *w, const char *name)
{
    struct sim_api_hooks hooks = {.fault = hook_fault, .answered = hook_answered, .ctx = a};
    sim_api_set_hooks(w->api, &hooks);
    if (!a->port) {
        a->port = sim_api_port(w->api, "asker");
    }
    json_t *body = json_pack("{s:{s:s}}", "metadata", "name", name);
    struct kube_req req = {.method = "POST", .path = RIG_CONFIGMAPS, .body = body};
    uint64_t handle = a->port->request(a->port->ctx, &req, on_done, a);
    json_decref(body);
    return handle;
}

START_TEST(requests_are_answered_later_and_once)
{
    struct sim_world *w = rig_world(1);
    struct asker a = {0};
    ask(&a, w, "x");
    ck_assert_int_eq(a.done, 0);
    ck_assert(!sim_api_get(w->api, SIM_CONFIGMAP, "default", "x"));
    rig_run(w, SIM_API_LATENCY_NS);
    ck_assert_int_eq(a.done, 1);
    ck_assert_int_eq(a.status, 201);
    ck_assert_str_eq(a.at_answer, "create configmaps 201");
    ck_assert_uint_eq(sim_api_calls(w->api, "asker", "create configmaps"), 1);
    ck_assert_uint_eq(sim_api_calls(w->api, NULL, "create configmaps"), 1);
    ck_assert_uint_eq(sim_api_calls(w->api, "other", "create configmaps"), 0);
    ck_assert_uint_eq(sim_api_writes(w->api, "asker"), 1);
    free(a.at_answer);
    sim_world_free(w);
}
END_TEST

START_TEST(a_crash_does_not_take_back_what_was_sent)
{
    struct sim_world *w = rig_world(1);
    struct asker a = {0};
    /* Right before its answer is used; by closing; by cancelling. */
    a.crash = true;
    ask(&a, w, "one");
    rig_run(w, NS_PER_S);
    a.crash = false;
    ask(&a, w, "two");
    a.port->close(a.port->ctx);
    rig_run(w, NS_PER_S);
    uint64_t handle = ask(&a, w, "three");
    rig_run(w, SIM_API_LATENCY_NS / 2);
    a.port->cancel(a.port->ctx, handle);
    a.port->cancel(a.port->ctx, handle);
    rig_run(w, NS_PER_S);
    ck_assert_int_eq(a.done, 0);
    ck_assert(sim_api_get(w->api, SIM_CONFIGMAP, "default", "one"));
    ck_assert(sim_api_get(w->api, SIM_CONFIGMAP, "default", "two"));
    ck_assert(sim_api_get(w->api, SIM_CONFIGMAP, "default", "three"));
    ck_assert_uint_eq(sim_api_port_open(a.port), 0);
    free(a.at_answer);
    sim_world_free(w);
}
END_TEST

START_TEST(faults_can_be_injected)
{
    struct sim_world *w = rig_world(1);
    struct asker a = {.fault = 500};
    ask(&a, w, "x");
    rig_run(w, NS_PER_S);
    ck_assert_int_eq(a.status, 500);
    ck_assert_int_eq(a.kind, ERR_UNAVAILABLE);
    ck_assert(!sim_api_get(w->api, SIM_CONFIGMAP, "default", "x"));
    /* Too late: it happened, and nobody was told. */
    a.fault = 0;
    a.delay_ns = 40 * NS_PER_S;
    ask(&a, w, "y");
    rig_run(w, 29 * NS_PER_S);
    ck_assert_int_eq(a.done, 1);
    rig_run(w, 2 * NS_PER_S);
    ck_assert_int_eq(a.done, 2);
    ck_assert_int_eq(a.kind, ERR_TIMEOUT);
    ck_assert(sim_api_get(w->api, SIM_CONFIGMAP, "default", "y"));
    free(a.at_answer);
    sim_world_free(w);
}
END_TEST

/* ---- eviction
 * --------------------------------------------------------------------------------------- */

struct evict_row {
    const char *what;
    int pdbs;        /* budgets that select the pod */
    int64_t min;     /* minAvailable of each */
    bool running;    /* the pod runs and is ready */
    const char *uid; /* precondition */
    int code;
    const char *part;
};

static const struct evict_row evictions[] = {
    {"no budget", 0, 0, true, NULL, 201, ""},
    {"room in the budget", 1, 0, true, NULL, 201, ""},
    {"no room", 1, 1, true, NULL, 429, "Cannot evict pod as it would violate"},
    {"two budgets", 2, 0, true, NULL, 500, "more than one PodDisruptionBudget"},
    {"pending pods need no budget", 1, 1, false, NULL, 201, ""},
    {"another pod of that name", 0, 0, true, "nobody", 409, "UID in the precondition"},
};

START_TEST(evicts)
{
    const struct evict_row *row = &evictions[_i];
    struct sim_world *w = rig_world(1);
    rig_placed_pod(w, "p", "elsewhere");
    for (int i = 0; i < row->pdbs; i++) {
        AUTO_FREE char *pdb = xasprintf("{'metadata':{'name':'b%d'},'spec':{'minAvailable':%d,"
                                        "'selector':{'matchLabels':{'app':'a'}}}}",
                                        i, (int)row->min);
        rig_expect(w, "POST", "/apis/policy/v1/namespaces/default/poddisruptionbudgets", pdb, 201);
    }
    if (row->running) {
        rig_expect(w, "PATCH", RIG_PODS "/p/status",
                   "{'status':{'phase':'Running','conditions':[{'type':'Ready','status':'True'}]}}",
                   200);
    }
    rig_run(w, NS_PER_S);
    AUTO_FREE char *body =
        row->uid ? xasprintf("{'metadata':{'name':'p'},'deleteOptions':{'preconditions':"
                             "{'uid':'%s'}}}",
                             row->uid)
                 : xstrdup("{'metadata':{'name':'p'}}");
    struct kube_resp r = rig_call(w, "POST", RIG_PODS "/p/eviction", body);
    ck_assert_msg(r.status == row->code, "%s: %d %s", row->what, r.status, r.err.msg);
    ck_assert(str_contains(jsonx_str_or(r.body, "message", ""), row->part));
    sim_api_resp_done(&r);
    const json_t *pod = sim_api_get(w->api, SIM_POD, "default", "p");
    ck_assert((jsonx_at(pod, "metadata.deletionTimestamp") != NULL) == (row->code == 201));
    ck_assert_uint_eq(sim_api_calls(w->api, "test", "create pods/eviction"), 1);
    sim_world_free(w);
}
END_TEST

START_TEST(a_budget_is_spent_at_once)
{
    struct sim_world *w = rig_world(1);
    static const char *const names[] = {"p", "q"};
    rig_expect(w, "POST", "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
               "{'metadata':{'name':'b'},'spec':{'minAvailable':1,"
               "'selector':{'matchLabels':{'app':'a'}}}}",
               201);
    rig_expect(w, "POST", RIG_PODS "/p/eviction", "{}", 404);
    for (size_t i = 0; i < 2; i++) {
        AUTO_FREE char *path = xasprintf(RIG_PODS "/%s/status", names[i]);
        rig_placed_pod(w, names[i], "elsewhere");
        rig_expect(w, "PATCH", path,
                   "{'status':{'phase':'Running','conditions':[{'type':'Ready','status':'True'}]}}",
                   200);
    }
    /* The disruption controller has not counted them yet. */
    rig_expect(w, "POST", RIG_PODS "/p/eviction", "{}", 429);
    rig_run(w, NS_PER_S);
    rig_expect(w, "POST", RIG_PODS "/p/eviction", "{}", 201);
    rig_expect(w, "POST", RIG_PODS "/q/eviction", "{}", 429);
    rig_run(w, NS_PER_S);
    rig_expect(w, "POST", RIG_PODS "/q/eviction", "{}", 429);
    rig_expect(w, "POST", RIG_PODS "/p/eviction", "{}", 201); /* it is going anyway */
    sim_world_free(w);
}
END_TEST

UNIT_MAIN("sim_port", UNIT_TEST(watch_tells_changes_in_order),
          UNIT_TEST(watch_by_selector_sees_comings_and_goings), UNIT_TEST(watch_too_old_is_gone),
          UNIT_TEST(watch_ends), UNIT_TEST(requests_are_answered_later_and_once),
          UNIT_TEST(a_crash_does_not_take_back_what_was_sent), UNIT_TEST(faults_can_be_injected),
          UNIT_CASES(evicts, evictions), UNIT_TEST(a_budget_is_spent_at_once))
