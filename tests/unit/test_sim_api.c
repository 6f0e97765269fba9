/* The simulated API server behaves as kube-apiserver does; see tests/sim/kube/api.h. */
#include "simrig.h"

#define CLAIM_PATH "/apis/karpenter.sh/v1/nodeclaims"

#define CLAIM_SPEC                                                                                 \
    "'spec':{'requirements':[{'key':'kubernetes.io/arch','operator':'In','values':['amd64']}],"    \
    "'nodeClassRef':{'group':'karpenter.k8s.aws','kind':'EC2NodeClass','name':'default'}}"

static void make_claim(struct sim_world *w, const char *name, const char *more_meta)
{
    AUTO_FREE char *body =
        xasprintf("{'metadata':{'name':'%s'%s}," CLAIM_SPEC "}", name, more_meta);
    rig_expect(w, "POST", CLAIM_PATH, body, 201);
}

/* ---- a table of refusals ------------------------------------------------------------------------
 */

struct refusal_row {
    const char *method, *path, *body;
    int code;
    const char *reason, *part; /* of the message */
};

/* There are a ConfigMap "here" and a NodeClaim "here". */
static const struct refusal_row refusals[] = {
    {"GET", RIG_CONFIGMAPS "/gone", NULL, 404, "NotFound", "configmaps \"gone\" not found"},
    {"GET", CLAIM_PATH "/gone", NULL, 404, "NotFound",
     "nodeclaims.karpenter.sh \"gone\" not found"},
    {"GET", "/api/v1/widgets", NULL, 404, "NotFound", "could not find the requested resource"},
    {"GET", "/apis/karpenter.sh/v1beta1/nodeclaims", NULL, 404, "NotFound", "could not find"},
    {"GET", "/api/v1/configmaps/here", NULL, 404, "NotFound", "could not find"},
    {"POST", RIG_CONFIGMAPS, "{'metadata':{'name':'here'}}", 409, "AlreadyExists",
     "configmaps \"here\" already exists"},
    {"POST", RIG_CONFIGMAPS, "{'metadata':{}}", 422, "Invalid", "name or generateName is required"},
    {"POST", RIG_CONFIGMAPS, "{'metadata':{'name':'Upper'}}", 422, "Invalid", "RFC 1123"},
    {"POST", RIG_CONFIGMAPS, "{'metadata':{'name':'x','namespace':'other'}}", 400, "BadRequest",
     "does not match the namespace"},
    {"POST", RIG_CONFIGMAPS, "{'kind':'Secret','metadata':{'name':'x'}}", 400, "BadRequest",
     "cannot be handled as a ConfigMap"},
    {"POST", RIG_CONFIGMAPS, "{'metadata':{'name':'x','labels':{'a':'no spaces'}}}", 422, "Invalid",
     "metadata.labels"},
    {"POST", "/api/v1/namespaces/nowhere/configmaps", "{'metadata':{'name':'x'}}", 404, "NotFound",
     "namespaces \"nowhere\" not found"},
    {"PATCH", RIG_CONFIGMAPS "/here", "{'metadata':{'resourceVersion':'1'},'data':{'a':'b'}}", 409,
     "Conflict", "the object has been modified; please apply your changes"},
    {"PATCH", RIG_CONFIGMAPS "/here", "{'metadata':{'uid':'nobody'}}", 422, "Invalid",
     "metadata.uid: Invalid value: \"nobody\": field is immutable"},
    {"PUT", RIG_CONFIGMAPS "/here", "{'metadata':{'name':'here','uid':'nobody'}}", 409, "Conflict",
     "UID in precondition"},
    {"PATCH", RIG_CONFIGMAPS "/here", "{'metadata':{'name':'there'}}", 400, "BadRequest",
     "does not match the name on the URL"},
    {"PATCH", RIG_CONFIGMAPS "/here/status", "{'status':{}}", 404, "NotFound", "could not find"},
    {"PATCH", RIG_CONFIGMAPS "/gone", "{'data':{}}", 404, "NotFound",
     "configmaps \"gone\" not found"},
    {"PUT", CLAIM_PATH "/here", "{'metadata':{'name':'here'}," CLAIM_SPEC "}", 422, "Invalid",
     "must be specified for an update"},
    {"PATCH", CLAIM_PATH "/here", "{'spec':{'expireAfter':'1h'}}", 422, "Invalid",
     "spec is immutable"},
    {"POST", CLAIM_PATH, "{'metadata':{'name':'x'},'spec':{}}", 422, "Invalid",
     "spec.requirements: Required value"},
    {"PATCH", CLAIM_PATH "/here/status",
     "{'status':{'conditions':[{'type':'Ready','status':'Yes',"
     "'lastTransitionTime':'2026-01-05T09:00:00Z'}]}}",
     422, "Invalid", "Unsupported value: \"Yes\""},
    {"DELETE", RIG_CONFIGMAPS "/here", "{'preconditions':{'uid':'nobody'}}", 409, "Conflict",
     "the UID in the precondition (nobody) does not match"},
    {"DELETE", RIG_CONFIGMAPS "/gone", NULL, 404, "NotFound", "configmaps \"gone\" not found"},
    {"POST", RIG_CONFIGMAPS "/here", "{}", 405, "MethodNotAllowed", "does not allow this method"},
    {"GET", RIG_CONFIGMAPS "?labelSelector=a%3D%3D%3Db%3D", NULL, 400, "BadRequest", "parse"},
    {"GET", RIG_CONFIGMAPS "?limit=x", NULL, 400, "BadRequest", "limit"},
    {"GET", RIG_CONFIGMAPS "?fieldSelector=data.v%3D1", NULL, 400, "BadRequest",
     "field label not supported: data.v"},
    {"POST", "/api/v1/namespaces/default/pods", "{'metadata':{'name':'p'},'spec':{}}", 422,
     "Invalid", "spec.containers: Required value"},
};

START_TEST(refuses)
{
    const struct refusal_row *row = &refusals[_i];
    struct sim_world *w = rig_world(1);
    rig_configmap(w, "here", "1");
    make_claim(w, "here", "");
    struct kube_resp r = rig_call(w, row->method, row->path, row->body);
    ck_assert_int_eq(r.status, row->code);
    ck_assert_str_eq(jsonx_str_or(r.body, "kind", ""), "Status");
    ck_assert_str_eq(jsonx_str_or(r.body, "status", ""), "Failure");
    ck_assert_str_eq(jsonx_str_or(r.body, "reason", ""), row->reason);
    ck_assert_int_eq(jsonx_int(r.body, "code", 0), row->code);
    ck_assert_msg(str_contains(jsonx_str_or(r.body, "message", ""), row->part), "message: %s",
                  jsonx_str_or(r.body, "message", ""));
    ck_assert(r.err.kind != ERR_NONE);
    sim_api_resp_done(&r);
    sim_world_free(w);
}
END_TEST

START_TEST(patch_of_a_foreign_type_is_refused)
{
    struct sim_world *w = rig_world(1);
    json_t *body = json_object();
    struct kube_req req = {.method = "PATCH", .path = RIG_CONFIGMAPS "/x", .body = body};
    struct kube_resp r;
    sim_api_call(w->api, "test", &req, &r);
    ck_assert_int_eq(r.status, 415);
    sim_api_resp_done(&r);
    json_decref(body);
    sim_world_free(w);
}
END_TEST

/* ---- writing ------------------------------------------------------------------------------------
 */

START_TEST(create_stamps_and_generates_names)
{
    struct sim_world *w = rig_world(1);
    struct kube_resp a = rig_call(w, "POST", CLAIM_PATH,
                                  "{'metadata':{'generateName':'default-','uid':'mine',"
                                  "'deletionTimestamp':'x'},"
                                  "'status':{'nodeName':'n'}," CLAIM_SPEC "}");
    struct kube_resp b =
        rig_call(w, "POST", CLAIM_PATH, "{'metadata':{'generateName':'default-'}," CLAIM_SPEC "}");
    const char *name = jsonx_str_or(a.body, "metadata.name", "");
    ck_assert(str_starts(name, "default-") && strlen(name) == strlen("default-") + 5);
    ck_assert_str_ne(name, jsonx_str_or(b.body, "metadata.name", ""));
    ck_assert_int_eq((int)strlen(jsonx_str_or(a.body, "metadata.uid", "")), 36);
    ck_assert_str_eq(jsonx_str_or(a.body, "metadata.creationTimestamp", ""),
                     "2026-01-05T09:00:00Z");
    ck_assert_int_eq(jsonx_int(a.body, "metadata.generation", 0), 1);
    ck_assert(!jsonx_at(a.body, "metadata.deletionTimestamp"));
    ck_assert(!jsonx_at(a.body, "status"));
    ck_assert_str_eq(jsonx_str_or(a.body, "spec.expireAfter", ""), "720h");
    ck_assert_str_eq(jsonx_str_or(a.body, "kind", ""), "NodeClaim");
    sim_api_resp_done(&a);
    sim_api_resp_done(&b);
    sim_world_free(w);
}
END_TEST

START_TEST(status_and_spec_do_not_mix)
{
    struct sim_world *w = rig_world(1);
    make_claim(w, "c", "");
    /* Through the main resource the status stays, through status everything else. */
    rig_expect(w, "PATCH", CLAIM_PATH "/c",
               "{'metadata':{'labels':{'a':'b'}},'status':{'nodeName':'n1'}}", 200);
    rig_expect(w, "PATCH", CLAIM_PATH "/c/status",
               "{'metadata':{'labels':{'a':'c'}},'status':{'nodeName':'n2'},'spec':null}", 200);
    const json_t *o = sim_api_get(w->api, SIM_NODECLAIM, NULL, "c");
    ck_assert_str_eq(jsonx_str_or(o, "status.nodeName", ""), "n2");
    ck_assert_str_eq(jsonx_str_or(o, "metadata.labels.a", ""), "b");
    ck_assert(jsonx_obj(o, "spec") != NULL);
    ck_assert_int_eq(jsonx_int(o, "metadata.generation", 0), 1);
    sim_world_free(w);
}
END_TEST

START_TEST(generation_counts_wishes_only)
{
    struct sim_world *w = rig_world(1);
    rig_expect(
        w, "POST", "/apis/apps/v1/namespaces/default/deployments",
        "{'metadata':{'name':'d'},'spec':{'replicas':0,'selector':{'matchLabels':{'a':'b'}},"
        "'template':{'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{'name':'c'}]}}}}",
        201);
    static const char path[] = "/apis/apps/v1/namespaces/default/deployments/d";
    rig_expect(w, "PATCH", path, "{'metadata':{'labels':{'x':'y'}}}", 200);
    const json_t *o = sim_api_get(w->api, SIM_DEPLOYMENT, "default", "d");
    ck_assert_int_eq(jsonx_int(o, "metadata.generation", 0), 1);
    rig_expect(w, "PATCH", path, "{'spec':{'replicas':1}}", 200);
    rig_expect(w, "PATCH", path, "{'spec':{'strategy':null}}", 200); /* comes back as default */
    o = sim_api_get(w->api, SIM_DEPLOYMENT, "default", "d");
    ck_assert_int_eq(jsonx_int(o, "metadata.generation", 0), 2);
    ck_assert_str_eq(jsonx_str_or(o, "spec.strategy.type", ""), "RollingUpdate");
    sim_world_free(w);
}
END_TEST

START_TEST(optimistic_lock)
{
    struct sim_world *w = rig_world(1);
    rig_configmap(w, "m", "1");
    const json_t *o = sim_api_get(w->api, SIM_CONFIGMAP, "default", "m");
    AUTO_FREE char *version = xstrdup(jsonx_str_or(o, "metadata.resourceVersion", ""));
    AUTO_FREE char *patch =
        xasprintf("{'metadata':{'resourceVersion':'%s'},'data':{'v':'2'}}", version);
    rig_expect(w, "PATCH", RIG_CONFIGMAPS "/m", patch, 200);
    struct kube_resp r = rig_call(w, "PATCH", RIG_CONFIGMAPS "/m", patch);
    ck_assert_int_eq(r.status, 409);
    ck_assert_int_eq(r.err.kind, ERR_CONFLICT);
    sim_api_resp_done(&r);
    sim_world_free(w);
}
END_TEST

START_TEST(a_write_that_changes_nothing_is_none)
{
    struct sim_world *w = rig_world(1);
    rig_configmap(w, "m", "1");
    int64_t before = sim_api_version(w->api);
    rig_expect(w, "PATCH", RIG_CONFIGMAPS "/m", "{'data':{'v':'1'}}", 200);
    ck_assert_int_eq(sim_api_version(w->api), before);
    rig_expect(w, "PATCH", RIG_CONFIGMAPS "/m", "{'data':{'v':'2'}}", 200);
    ck_assert_int_eq(sim_api_version(w->api), before + 1);
    rig_expect(w, "PATCH", RIG_CONFIGMAPS "/m?dryRun=All", "{'data':{'v':'3'}}", 200);
    rig_expect(w, "POST", RIG_CONFIGMAPS "?dryRun=All", "{'metadata':{'name':'n'}}", 201);
    ck_assert_int_eq(sim_api_version(w->api), before + 1);
    sim_world_free(w);
}
END_TEST

/* ---- deleting
 * ------------------------------------------------------------------------------------ */

START_TEST(finalizers_hold_an_object)
{
    struct sim_world *w = rig_world(1);
    make_claim(w, "c", ",'finalizers':['karpenter.sh/termination']");
    struct kube_resp r = rig_call(w, "DELETE", CLAIM_PATH "/c", NULL);
    ck_assert_int_eq(r.status, 200);
    ck_assert_str_eq(jsonx_str_or(r.body, "kind", ""), "NodeClaim");
    ck_assert_str_eq(jsonx_str_or(r.body, "metadata.deletionTimestamp", ""),
                     "2026-01-05T09:00:00Z");
    sim_api_resp_done(&r);
    rig_expect(w, "DELETE", CLAIM_PATH "/c", NULL, 200);
    rig_expect(w, "PATCH", CLAIM_PATH "/c",
               "{'metadata':{'finalizers':['karpenter.sh/termination','x/y']}}", 422);
    rig_expect(w, "PATCH", CLAIM_PATH "/c", "{'metadata':{'deletionTimestamp':null}}", 200);
    rig_expect(w, "PATCH", CLAIM_PATH "/c", "{'metadata':{'labels':{'a':'b'}}}", 200);
    ck_assert(jsonx_at(sim_api_get(w->api, SIM_NODECLAIM, NULL, "c"),
                       "metadata.deletionTimestamp") != NULL);
    rig_expect(w, "PATCH", CLAIM_PATH "/c", "{'metadata':{'finalizers':null}}", 200);
    ck_assert(!sim_api_get(w->api, SIM_NODECLAIM, NULL, "c"));
    rig_expect(w, "GET", CLAIM_PATH "/c", NULL, 404);
    make_claim(w, "d", "");
    r = rig_call(w, "DELETE", CLAIM_PATH "/d", NULL);
    ck_assert_str_eq(jsonx_str_or(r.body, "status", ""), "Success");
    sim_api_resp_done(&r);
    sim_world_free(w);
}
END_TEST

START_TEST(pods_are_deleted_with_grace)
{
    struct sim_world *w = rig_world(1);
    rig_placed_pod(w, "placed", "elsewhere");
    rig_placed_pod(w, "unplaced", "");
    rig_expect(w, "DELETE", RIG_PODS "/unplaced", NULL, 200);
    ck_assert(!sim_api_get(w->api, SIM_POD, "default", "unplaced"));
    rig_expect(w, "DELETE", RIG_PODS "/placed", NULL, 200);
    const json_t *o = sim_api_get(w->api, SIM_POD, "default", "placed");
    ck_assert_str_eq(jsonx_str_or(o, "metadata.deletionTimestamp", ""), "2026-01-05T09:00:30Z");
    ck_assert_int_eq(jsonx_int(o, "metadata.deletionGracePeriodSeconds", 0), 30);
    /* Shorter is taken, longer is not. */
    rig_expect(w, "DELETE", RIG_PODS "/placed", "{'gracePeriodSeconds':60}", 200);
    o = sim_api_get(w->api, SIM_POD, "default", "placed");
    ck_assert_int_eq(jsonx_int(o, "metadata.deletionGracePeriodSeconds", 0), 30);
    rig_expect(w, "DELETE", RIG_PODS "/placed?gracePeriodSeconds=5", NULL, 200);
    o = sim_api_get(w->api, SIM_POD, "default", "placed");
    ck_assert_int_eq(jsonx_int(o, "metadata.deletionGracePeriodSeconds", 0), 5);
    rig_expect(w, "DELETE", RIG_PODS "/placed", "{'gracePeriodSeconds':0}", 200);
    ck_assert(!sim_api_get(w->api, SIM_POD, "default", "placed"));
    sim_world_free(w);
}
END_TEST

START_TEST(owners_take_their_dependents_along)
{
    struct sim_world *w = rig_world(1);
    rig_configmap(w, "one", "1");
    rig_configmap(w, "two", "1");
    AUTO_FREE char *one = xstrdup(
        jsonx_str_or(sim_api_get(w->api, SIM_CONFIGMAP, "default", "one"), "metadata.uid", ""));
    AUTO_FREE char *two = xstrdup(
        jsonx_str_or(sim_api_get(w->api, SIM_CONFIGMAP, "default", "two"), "metadata.uid", ""));
    AUTO_FREE char *body =
        xasprintf("{'metadata':{'name':'child','ownerReferences':["
                  "{'apiVersion':'v1','kind':'ConfigMap','name':'one','uid':'%s'},"
                  "{'apiVersion':'v1','kind':'ConfigMap','name':'two','uid':'%s'}]}}",
                  one, two);
    rig_expect(w, "POST", RIG_CONFIGMAPS, body, 201);
    rig_expect(w, "DELETE", RIG_CONFIGMAPS "/one", NULL, 200);
    vclock_run_to(&w->clock, NS_PER_S);
    const json_t *child = sim_api_get(w->api, SIM_CONFIGMAP, "default", "child");
    ck_assert(child != NULL);
    ck_assert_int_eq((int)json_array_size(jsonx_at(child, "metadata.ownerReferences")), 1);
    rig_expect(w, "DELETE", RIG_CONFIGMAPS "/two", NULL, 200);
    vclock_run_to(&w->clock, 2 * NS_PER_S);
    ck_assert(!sim_api_get(w->api, SIM_CONFIGMAP, "default", "child"));
    /* One that is born after its owner died. */
    rig_expect(w, "POST", RIG_CONFIGMAPS, body, 201);
    vclock_run_to(&w->clock, 3 * NS_PER_S);
    ck_assert(!sim_api_get(w->api, SIM_CONFIGMAP, "default", "child"));
    sim_world_free(w);
}
END_TEST

struct propagation_row {
    const char *policy;
    bool child_stays;
};

static const struct propagation_row propagations[] = {
    {"Background", false}, {"Foreground", false}, {"Orphan", true}};

START_TEST(propagation)
{
    const struct propagation_row *row = &propagations[_i];
    struct sim_world *w = rig_world(1);
    rig_configmap(w, "owner", "1");
    const json_t *o = sim_api_get(w->api, SIM_CONFIGMAP, "default", "owner");
    AUTO_FREE char *body = xasprintf(
        "{'metadata':{'name':'child','ownerReferences':[{'apiVersion':'v1','kind':'ConfigMap',"
        "'name':'owner','uid':'%s','blockOwnerDeletion':true}]}}",
        jsonx_str_or(o, "metadata.uid", ""));
    rig_expect(w, "POST", RIG_CONFIGMAPS, body, 201);
    AUTO_FREE char *options = xasprintf("{'propagationPolicy':'%s'}", row->policy);
    rig_expect(w, "DELETE", RIG_CONFIGMAPS "/owner", options, 200);
    ck_assert((sim_api_get(w->api, SIM_CONFIGMAP, "default", "owner") == NULL) ==
              str_eq(row->policy, "Background"));
    vclock_run_to(&w->clock, NS_PER_S);
    ck_assert(!sim_api_get(w->api, SIM_CONFIGMAP, "default", "owner"));
    ck_assert((sim_api_get(w->api, SIM_CONFIGMAP, "default", "child") != NULL) == row->child_stays);
    sim_world_free(w);
}
END_TEST

/* ---- listing
 * ------------------------------------------------------------------------------------- */

START_TEST(pages_show_one_moment)
{
    struct sim_world *w = rig_world(1);
    static const char *const names[] = {"e", "a", "d", "b", "c"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        rig_configmap(w, names[i], "1");
    }
    struct kube_resp a = rig_call(w, "GET", RIG_CONFIGMAPS "?limit=2", NULL);
    ck_assert_int_eq(jsonx_int(a.body, "metadata.remainingItemCount", 0), 3);
    rig_expect(w, "DELETE", RIG_CONFIGMAPS "/c", NULL, 200);
    AUTO_FREE char *path = xasprintf(RIG_CONFIGMAPS "?limit=9&continue=%s",
                                     jsonx_str_or(a.body, "metadata.continue", ""));
    struct kube_resp b = rig_call(w, "GET", path, NULL);
    ck_assert_str_eq(jsonx_str_or(a.body, "metadata.resourceVersion", "-"),
                     jsonx_str_or(b.body, "metadata.resourceVersion", ""));
    ck_assert_str_eq(jsonx_str_or(a.body, "kind", ""), "ConfigMapList");
    ck_assert_int_eq((int)json_array_size(jsonx_at(b.body, "items")), 3);
    ck_assert_str_eq(
        jsonx_str_or(json_array_get(jsonx_at(b.body, "items"), 0), "metadata.name", ""), "c");
    ck_assert(!jsonx_at(b.body, "metadata.continue"));
    sim_api_compact(w->api);
    struct kube_resp c = rig_call(w, "GET", path, NULL);
    ck_assert_int_eq(c.status, 410);
    ck_assert_int_eq(c.err.kind, ERR_GONE);
    sim_api_resp_done(&a);
    sim_api_resp_done(&b);
    sim_api_resp_done(&c);
    sim_world_free(w);
}
END_TEST

struct selector_row {
    const char *query;
    size_t n;
};

/* ConfigMaps a (v=1), b (v=2), c (v=3). */
static const struct selector_row selectors[] = {
    {"labelSelector=v%3D1", 1},
    {"labelSelector=v!%3D1", 2},
    {"labelSelector=v+in+(1,3)", 2},
    {"labelSelector=v+notin+(1)", 2},
    {"labelSelector=v", 3},
    {"labelSelector=!v", 0},
    {"labelSelector=v,v%3D%3D2", 1},
    {"fieldSelector=metadata.name%3Da", 1},
    {"fieldSelector=metadata.name!%3Da,metadata.name!%3Db", 1},
    {"fieldSelector=metadata.namespace%3Dkube-system", 0},
};

START_TEST(selects)
{
    struct sim_world *w = rig_world(1);
    rig_configmap(w, "a", "1");
    rig_configmap(w, "b", "2");
    rig_configmap(w, "c", "3");
    AUTO_FREE char *path = xasprintf("/api/v1/configmaps?%s", selectors[_i].query);
    struct kube_resp r = rig_call(w, "GET", path, NULL);
    ck_assert_int_eq(r.status, 200);
    ck_assert_uint_eq(json_array_size(jsonx_at(r.body, "items")), selectors[_i].n);
    sim_api_resp_done(&r);
    sim_world_free(w);
}
END_TEST

START_TEST(serves_discovery)
{
    struct sim_world *w = rig_world(1);
    struct kube_resp r = rig_call(w, "GET", "/apis/karpenter.sh/v1", NULL);
    ck_assert_int_eq((int)json_array_size(jsonx_at(r.body, "resources")), 2);
    sim_api_resp_done(&r);
    r = rig_call(w, "GET", "/version", NULL);
    ck_assert_str_eq(jsonx_str_or(r.body, "minor", ""), "34");
    sim_api_resp_done(&r);
    rig_expect(w, "GET", "/apis", NULL, 200);
    rig_expect(w, "GET", "/apis/nothing.dev/v1", NULL, 404);
    sim_world_free(w);
}
END_TEST

UNIT_MAIN("sim_api", UNIT_CASES(refuses, refusals), UNIT_TEST(patch_of_a_foreign_type_is_refused),
          UNIT_TEST(create_stamps_and_generates_names), UNIT_TEST(status_and_spec_do_not_mix),
          UNIT_TEST(generation_counts_wishes_only), UNIT_TEST(optimistic_lock),
          UNIT_TEST(a_write_that_changes_nothing_is_none), UNIT_TEST(finalizers_hold_an_object),
          UNIT_TEST(pods_are_deleted_with_grace), UNIT_TEST(owners_take_their_dependents_along),
          UNIT_CASES(propagation, propagations), UNIT_TEST(pages_show_one_moment),
          UNIT_CASES(selects, selectors), UNIT_TEST(serves_discovery))
