/*
 * What the simulated API server accepts and refuses of our custom kinds: tests/e2e/crd-cases.yaml,
 * the table that the end-to-end tests play against the real server (see there for its format), and
 * what it drops.
 */
#include "common/base/yamlx.h"
#include "simrig.h"

#define CASES "tests/e2e/crd-cases.yaml"
#define NAME "crd-case"
#define CASES_BYTES (1u << 20)

/* ---- the table --------------------------------------------------------------------------------
 */

static json_t *load_table(void)
{
    struct err e = ERR_INIT;
    FILE *f = fopen(CASES, "rb");
    ck_assert_msg(f != NULL, "%s cannot be read", CASES);
    AUTO_FREE char *text = xmalloc(CASES_BYTES);
    size_t n = fread(text, 1, CASES_BYTES, f);
    fclose(f);
    AUTO_JSON json_t *docs = yamlx_parse_all(text, n, CASES, NULL, &e);
    ck_assert_msg(json_array_size(docs) == 1, "%s", e.msg);
    return json_incref(json_array_get(docs, 0));
}

static json_t *expand(const json_t *v);

static json_t *expand_object(const json_t *v)
{
    const char *key;
    json_t *one, *out = json_object();
    const json_t *keys = json_object_get(v, "keys");
    if (json_object_size(v) == 1 && json_is_integer(keys)) {
        for (json_int_t i = 0; i < json_integer_value(keys); i++) {
            char name[24];
            snprintf(name, sizeof(name), "key%lld", (long long)i);
            json_object_set_new(out, name, json_string("v"));
        }
        return out;
    }
    json_object_foreach ((json_t *)v, key, one) {
        json_object_set_new(out, key, expand(one));
    }
    return out;
}

static json_t *expand_list(const json_t *v)
{
    json_t *out = json_array();
    for (json_int_t i = 0; i < json_integer_value(json_object_get(v, "times")); i++) {
        json_array_append_new(out, expand(json_object_get(v, "of")));
    }
    return out;
}

/* The short forms of long values. */
static json_t *expand(const json_t *v)
{
    size_t i;
    json_t *one, *out;
    if (json_is_array(v)) {
        out = json_array();
        json_array_foreach ((json_t *)v, i, one) {
            json_array_append_new(out, expand(one));
        }
        return out;
    }
    if (json_is_object(v) && json_object_get(v, "times") && json_object_get(v, "of")) {
        return expand_list(v);
    }
    if (json_is_object(v) && json_object_size(v) == 1 && json_object_get(v, "long")) {
        size_t n = (size_t)json_integer_value(json_object_get(v, "long"));
        AUTO_FREE char *text = xmalloc(n + 1);
        memset(text, 'a', n);
        text[n] = '\0';
        return json_string(text);
    }
    return json_is_object(v) ? expand_object(v) : json_deep_copy(v);
}

/* ---- playing it -------------------------------------------------------------------------------
 */

static const char *path_of(const char *kind)
{
    return str_eq(kind, "NodePool")            ? "/apis/karpenter.sh/v1/nodepools"
           : str_eq(kind, "NodeClaim")         ? "/apis/karpenter.sh/v1/nodeclaims"
           : str_eq(kind, "Hold")              ? "/apis/karp.dev/v1alpha1/holds"
           : str_eq(kind, "DisruptionRequest") ? "/apis/karp.dev/v1alpha1/disruptionrequests"
           : str_eq(kind, "DisruptionGrant")   ? "/apis/karp.dev/v1alpha1/disruptiongrants"
                                               : "/apis/karpenter.k8s.aws/v1/ec2nodeclasses";
}

struct play {
    struct sim_world *w;
    const json_t *row;
    json_t *base;
    const char *kind;
    size_t n;
};

static struct kube_resp send(const struct play *p, const char *method, const json_t *obj, bool dry)
{
    AUTO_FREE char *path =
        xasprintf("%s%s%s", path_of(p->kind), str_eq(method, "PUT") ? "/" NAME : "",
                  dry ? "?dryRun=All" : "");
    struct kube_req req = {.method = method, .path = path, .body = (json_t *)obj};
    struct kube_resp r;
    sim_api_call(p->w->api, "test", &req, &r);
    return r;
}

static void put_at(json_t *obj, const char *path, const json_t *value)
{
    if (!json_is_null(value)) {
        jsonx_set_new(obj, path, expand(value));
        return;
    }
    const char *dot = strrchr(path, '.');
    AUTO_FREE char *above = xstrndup(path, (size_t)(dot - path));
    json_object_del(jsonx_at(obj, above), dot + 1);
}

static void judge(struct play *p, const json_t *value, const struct kube_resp *r, bool accepted)
{
    AUTO_FREE char *text = json_dumps(value, JSON_ENCODE_ANY);
    const char *message = jsonx_str_or(r->body, "message", "");
    const char *at = jsonx_str_or(p->row, "at", "");
    p->n++;
    if (accepted) {
        ck_assert_msg(r->status < 300, "%s %s = %.120s is refused: %s", p->kind, at, text, message);
        return;
    }
    ck_assert_msg(r->status == 422, "%s %s = %.120s: %d", p->kind, at, text, r->status);
    ck_assert_msg(strstr(message, jsonx_str_or(p->row, "why", "?")) != NULL,
                  "%s %s = %.120s, without \"%s\": %s", p->kind, at, text,
                  jsonx_str_or(p->row, "why", "?"), message);
}

static void play_values(struct play *p, const json_t *on, const char *method)
{
    static const char *const lists[] = {"accepted", "refused"};
    for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
        size_t i;
        json_t *value;
        json_array_foreach (json_object_get(p->row, lists[l]), i, value) {
            AUTO_JSON json_t *obj = json_deep_copy(on);
            put_at(obj, jsonx_str_or(p->row, "at", ""), value);
            struct kube_resp r = send(p, method, obj, true);
            judge(p, value, &r, l == 0);
            sim_api_resp_done(&r);
        }
    }
}

static void play_updates(struct play *p)
{
    jsonx_merge_patch(p->base, json_object_get(p->row, "was"));
    struct kube_resp r = send(p, "POST", p->base, false);
    ck_assert_msg(r.status == 201, "%s: %s", p->kind, jsonx_str_or(r.body, "message", ""));
    play_values(p, r.body, "PUT");
    sim_api_resp_done(&r);
    sim_api_delete(p->w->api, "test", sim_kind_find(p->kind)->id, NULL, NAME, NULL, -1, NULL, NULL);
}

static void play_defaults(struct play *p)
{
    const char *path;
    json_t *want;
    struct kube_resp r = send(p, "POST", p->base, true);
    json_object_foreach (json_object_get(p->row, "defaults"), path, want) {
        AUTO_FREE char *text = json_dumps(want, JSON_ENCODE_ANY);
        p->n++;
        ck_assert_msg(json_equal(jsonx_at(r.body, path), want), "%s: %s is not %s", p->kind, path,
                      text);
    }
    sim_api_resp_done(&r);
}

static void play_row(struct play *p, const json_t *table)
{
    p->kind = jsonx_str_or(p->row, "kind", "");
    p->base = json_deep_copy(json_object_get(json_object_get(table, "bases"), p->kind));
    jsonx_set_new(p->base, "metadata.name", json_string(NAME));
    jsonx_set_new(p->base, "kind", json_string(p->kind));
    if (json_object_get(p->row, "set")) {
        jsonx_merge_patch(p->base, json_object_get(p->row, "set"));
    }
    if (json_object_get(p->row, "defaults")) {
        play_defaults(p);
    } else if (json_object_get(p->row, "was")) {
        play_updates(p);
    } else {
        play_values(p, p->base, "POST");
    }
    json_decref(p->base);
}

START_TEST(plays_the_table)
{
    AUTO_JSON json_t *table = load_table();
    struct play p = {.w = rig_world(1)};
    size_t i;
    json_t *row;
    json_array_foreach (json_object_get(table, "cases"), i, row) {
        p.row = row;
        play_row(&p, table);
    }
    ck_assert_uint_gt(p.n, 300);
    sim_world_free(p.w);
}
END_TEST

/* ---- what else the server does with them ------------------------------------------------------
 */

#define POOL                                                                                       \
    "{'apiVersion':'karpenter.sh/"                                                                 \
    "v1','kind':'NodePool','metadata':{'name':'p'%s},'spec':{'template'"                           \
    ":{'spec':{'requirements':[],'newThing':1,'nodeClassRef':{'group':'karpenter.k8s.aws','kind':" \
    "'EC2NodeClass','name':'default'}}}}}"

struct unknown_row {
    const char *annotations;
    bool kept;
};

static const struct unknown_row unknowns[] = {
    {"", false}, {",'annotations':{'sim.karp.dev/newer-schema':'true'}", true}};

START_TEST(unknown_fields)
{
    const struct unknown_row *row = &unknowns[_i];
    struct sim_world *w = rig_world(1);
    AUTO_FREE char *text = xasprintf(POOL, row->annotations);
    rig_apply(w, text);
    const json_t *pool = sim_api_get(w->api, SIM_NODEPOOL, NULL, "p");
    ck_assert(!jsonx_at(pool, "spec.template.spec.newThing") == !row->kept);
    rig_expect(w, "PATCH", "/apis/karpenter.sh/v1/nodepools/p/status",
               "{'status':{'resources':{'cpu':'1'},'odd':1}}", 200);
    pool = sim_api_get(w->api, SIM_NODEPOOL, NULL, "p");
    ck_assert(!jsonx_at(pool, "status.odd"));
    ck_assert(json_is_integer(jsonx_at(pool, "status.nodes")));
    ck_assert_str_eq(jsonx_str_or(pool, "status.resources.cpu", ""), "1");
    sim_world_free(w);
}
END_TEST

struct message_row {
    const char *path, *body, *message;
};

#define CLAIM_REF                                                                                  \
    "'nodeClassRef':{'group':'karpenter.k8s.aws','kind':'EC2NodeClass','name':'default'}"

/* Word for word, as the real server says it. */
static const struct message_row messages[] = {
    {"/apis/karpenter.sh/v1/nodeclaims", "{'metadata':{'name':'x'},'spec':{" CLAIM_REF "}}",
     "NodeClaim.karpenter.sh \"x\" is invalid: [spec.requirements: Required value, <nil>: Invalid "
     "value: null: some validation rules were not checked because the object was invalid; correct "
     "the existing errors to complete validation]"},
    {"/apis/karpenter.sh/v1/nodeclaims",
     "{'metadata':{'name':'x'},'spec':{" CLAIM_REF
     ",'requirements':[{'key':'a','operator':'In'}]}}",
     "NodeClaim.karpenter.sh \"x\" is invalid: spec.requirements: Invalid value: \"array\": "
     "operator "
     "In needs at least one value"},
    {"/apis/karpenter.sh/v1/nodeclaims",
     "{'metadata':{'name':'x'},'spec':{" CLAIM_REF ",'requirements':[],'expireAfter':'1d'}}",
     "NodeClaim.karpenter.sh \"x\" is invalid: spec.expireAfter: Invalid value: \"1d\": "
     "spec.expireAfter in body should match '^(([0-9]+(s|m|h))+|Never)$'"},
    {"/apis/karpenter.sh/v1/nodeclaims", "{'metadata':{'name':'x'}}",
     "NodeClaim.karpenter.sh \"x\" is invalid: [spec: Required value, <nil>: Invalid value: null: "
     "some validation rules were not checked because the object was invalid; correct the existing "
     "errors to complete validation]"},
};

START_TEST(says_it_as_the_real_one)
{
    const struct message_row *row = &messages[_i];
    struct sim_world *w = rig_world(1);
    struct kube_resp r = rig_call(w, "POST", row->path, row->body);
    ck_assert_int_eq(r.status, 422);
    ck_assert_str_eq(jsonx_str_or(r.body, "message", ""), row->message);
    sim_api_resp_done(&r);
    sim_world_free(w);
}
END_TEST

UNIT_MAIN("sim_crd", UNIT_TEST(plays_the_table), UNIT_CASES(unknown_fields, unknowns),
          UNIT_CASES(says_it_as_the_real_one, messages))
