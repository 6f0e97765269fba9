/* test_workload.c - pods made and taken away (cmd/read/workload.h), and kept objects
 * (cmd/read/objects.h). */
#include "cmd/read/objects.h"
#include "cmd/read/workload.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/core/labels.h"
#include "unit.h"

#define TEMPLATE                                                                                   \
    "\"selector\":{\"matchLabels\":{\"app\":\"api\"}},\"template\":{\"metadata\":{\"labels\":{"    \
    "\"app\":\"api\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":{"      \
    "\"cpu\":\"2\",\"memory\":\"1Gi\"},\"requests\":{\"cpu\":\"1\"}}}]}}"
#define META(name) "\"metadata\":{\"name\":\"" name "\",\"namespace\":\"shop\""
#define POD(name, rest) "{\"kind\":\"Pod\",\"apiVersion\":\"v1\"," META(name) rest
#define OWNER(kind, name)                                                                          \
    ",\"ownerReferences\":[{\"kind\":\"" kind "\",\"name\":\"" name                                \
    "\",\"uid\":\"u\",\"controller\":true}]"
#define MADE(at) ",\"creationTimestamp\":\"2026-11-30T10:0" at ":00Z\""

/* Pods of a workload "api" in namespace shop, how many there shall be, and the names there are
 * then, in their order. */
static const struct {
    enum kube_kind kind;
    const char *pods[6];
    int64_t n;
    const char *names;
} rows[] = {
    {KIND_DEPLOYMENT, {NULL}, 3, "api-0 api-1 api-2"},
    {KIND_DEPLOYMENT, {NULL}, 0, ""},
    /* names that exist are passed over, whoever's they are */
    {KIND_DEPLOYMENT, {POD("api-1", "}}")}, 2, "api-0 api-1 api-2"},
    /* by selector, by owner, through a ReplicaSet */
    {KIND_DEPLOYMENT, {POD("x", ",\"labels\":{\"app\":\"api\"}}}")}, 2, "api-0 x"},
    {KIND_DEPLOYMENT, {POD("x", OWNER("ReplicaSet", "api-5d4f8") "}}")}, 2, "api-0 x"},
    {KIND_DEPLOYMENT, {POD("x", OWNER("ReplicaSet", "api-web-5d4f8") "}}")}, 1, "api-0 x"},
    {KIND_STATEFUL_SET, {POD("x", OWNER("StatefulSet", "api") "}}")}, 1, "x"},
    {KIND_STATEFUL_SET, {POD("x", OWNER("StatefulSet", "apis") "}}")}, 1, "api-0 x"},
    /* another's pod stays another's, even with the labels */
    {KIND_DEPLOYMENT,
     {POD("x", OWNER("Job", "j") ",\"labels\":{\"app\":\"api\"}}}")},
     1,
     "api-0 x"},
    /* over or going: not counted, not removed */
    {KIND_STATEFUL_SET,
     {POD("x", OWNER("StatefulSet", "api") "},\"status\":{\"phase\":\"Succeeded\"}}")},
     0,
     "x"},
    {KIND_STATEFUL_SET,
     {POD("x", OWNER("StatefulSet", "api") ",\"deletionTimestamp\":\"2026-11-30T10:00:00Z\"}}")},
     1,
     "api-0 x"},
    /* fewer: the highest number first, then the youngest */
    {KIND_STATEFUL_SET,
     {POD("api-0", OWNER("StatefulSet", "api") "}}"),
      POD("api-2", OWNER("StatefulSet", "api") "}}"),
      POD("api-10", OWNER("StatefulSet", "api") "}}")},
     2,
     "api-0 api-2"},
    {KIND_DEPLOYMENT,
     {POD("api-rs-a", OWNER("ReplicaSet", "api-1") MADE("1") "}}"),
      POD("api-rs-b", OWNER("ReplicaSet", "api-1") MADE("3") "}}"),
      POD("api-rs-c", OWNER("ReplicaSet", "api-1") MADE("2") "}}"),
      POD("api-0", OWNER("ReplicaSet", "api-1") MADE("0") "}}")},
     2,
     "api-rs-a api-rs-c"},
    /* another namespace */
    {KIND_DEPLOYMENT,
     {"{\"kind\":\"Pod\",\"metadata\":{\"name\":\"api-0\",\"namespace\":\"other\",\"labels\":{"
      "\"app\":\"api\"}}}"},
     1,
     "api-0 api-0"},
};

static void put(struct objects *s, enum kube_kind k, const char *text)
{
    json_error_t e;
    json_t *o = json_loads(text, 0, &e);
    ck_assert_msg(o != NULL, "%s: %s", e.text, text);
    objects_put(s, k, o);
    json_decref(o);
}

static void names(struct objects *s, char *dst, size_t size)
{
    dst[0] = '\0';
    objects_sort(s);
    for (size_t i = 0; i < objects_n(s); i++) {
        const struct object *o = objects_at(s, i);
        size_t n = strlen(dst);
        if (o->kind == KIND_POD) {
            snprintf(dst + n, size - n, "%s%s", n ? " " : "", o->name);
        }
    }
}

struct rig {
    struct arena a;
    struct objects *s;
    struct symtab *t;
    struct decoder *d;
};

static struct rig rig_new(void)
{
    struct rig r = {.s = objects_new(), .t = labels_symtab_new()};
    r.d = decoder_new(r.t);
    arena_init(&r.a, 0, SIZE_MAX);
    return r;
}

static void rig_free(struct rig *r)
{
    decoder_free(r->d);
    symtab_free(r->t);
    objects_free(r->s);
    arena_done(&r->a);
}

START_TEST(test_scale)
{
    char got[512];
    struct rig r = rig_new();
    struct objects *s = r.s;
    put(s, rows[_i].kind, "{" META("api") "},\"spec\":{" TEMPLATE "}}");
    for (size_t i = 0; rows[_i].pods[i]; i++) {
        put(s, KIND_POD, rows[_i].pods[i]);
    }
    const struct object *w = objects_find(s, rows[_i].kind, "shop", "api");
    struct held held;
    ck_assert(workload_scale(s, &r.a, r.d, w, rows[_i].n, 0, &held));
    names(s, got, sizeof(got));
    ck_assert_str_eq(got, rows[_i].names);
    rig_free(&r);
}
END_TEST

/* What a limit alone asks for is a request; what is there already keeps its owner. */
START_TEST(test_made_pod)
{
    struct rig r = rig_new();
    struct objects *s = r.s;
    put(s, KIND_DEPLOYMENT, "{" META("api") "},\"spec\":{" TEMPLATE "}}");
    put(s, KIND_POD, POD("x", OWNER("ReplicaSet", "api-5d4f8") "}}"));
    struct held held;
    ck_assert(
        workload_scale(s, &r.a, r.d, objects_find(s, KIND_DEPLOYMENT, "shop", "api"), 2, 0, &held));
    const json_t *pod = objects_find(s, KIND_POD, "shop", "api-0")->o;
    const json_t *c = json_array_get(jsonx_arr(pod, "spec.containers"), 0);
    ck_assert_str_eq(jsonx_str(c, "resources.requests.cpu"), "1");
    ck_assert_str_eq(jsonx_str(c, "resources.requests.memory"), "1Gi");
    ck_assert_str_eq(jsonx_str(pod, "metadata.labels.app"), "api");
    ck_assert_str_eq(jsonx_str(pod, "status.phase"), "Pending");
    const json_t *owner = json_array_get(jsonx_arr(pod, "metadata.ownerReferences"), 0);
    ck_assert_str_eq(jsonx_str(owner, "uid"), "u");
    rig_free(&r);
}
END_TEST

/* Pods of 1 cpu and 1Gi beside one of 1 cpu that is there and one that is over: how many of five a
 * quota lets in. */
static const struct {
    const char *quota;
    int64_t n;
    const char *why;
} quotas[] = {
    {"\"hard\":{}", 5, NULL},
    {"\"hard\":{\"pods\":\"4\"}", 3, "resourcequota q: pods 4"},
    {"\"hard\":{\"pods\":6}", 5, NULL},
    {"\"hard\":{\"count/pods\":4}", 2, "resourcequota q: count/pods 4"},
    {"\"hard\":{\"pods\":\"-1\"}", 0, "resourcequota q: pods -1"},
    {"\"hard\":{\"requests.cpu\":\"2500m\"}", 1, "resourcequota q: requests.cpu 2500m"},
    {"\"hard\":{\"cpu\":\"3\"}", 2, "resourcequota q: cpu 3"},
    {"\"hard\":{\"requests.memory\":\"2Gi\",\"pods\":\"5\"}", 2,
     "resourcequota q: requests.memory 2Gi"},
    {"\"hard\":{\"requests.nvidia.com/gpu\":\"0\",\"requests.storage\":\"0\"}", 5, NULL},
    {"\"hard\":{\"limits.cpu\":\"5\"}", 2, "resourcequota q: limits.cpu 5"},
    {"\"hard\":{\"limits.memory\":\"0\"}", 0, "resourcequota q: limits.memory 0"},
    {"\"hard\":{\"limits.ephemeral-storage\":\"1\"}", 5, NULL},
    {"\"hard\":{\"pods\":\"0\"},\"scopes\":[\"BestEffort\"]", 5, NULL},
    {"\"hard\":{\"pods\":\"3\"},\"scopes\":[\"NotBestEffort\"]", 2, "resourcequota q: pods 3"},
    {"\"hard\":{\"pods\":\"3\"},\"scopes\":[\"NotTerminating\", \"NotBestEffort\"]", 2,
     "resourcequota q: pods 3"},
    {"\"hard\":{\"pods\":\"3\"},\"scopes\":[\"NotBestEffort\", \"Terminating\"]", 5, NULL},
    {"\"hard\":{\"pods\":\"3\"},\"scopes\":[\"CrossNamespacePodAffinity\"]", 5, NULL},
    {"\"hard\":{\"pods\":\"0\"},\"scopes\":[\"Unheard\"]", 5, NULL},
    {"\"hard\":{\"pods\":\"1\"},\"scopeSelector\":{\"matchExpressions\":[{\"scopeName\":"
     "\"PriorityClass\",\"operator\":\"In\",\"values\":[\"high\"]}]}",
     5, NULL},
    {"\"hard\":{\"pods\":\"1\"},\"scopeSelector\":{\"matchExpressions\":[{\"scopeName\":"
     "\"PriorityClass\",\"operator\":\"DoesNotExist\"}]}",
     0, "resourcequota q: pods 1"},
    {"\"hard\":{\"pods\":\"1\"},\"scopeSelector\":{\"matchExpressions\":[{\"scopeName\":"
     "\"NotTerminating\",\"operator\":\"Exists\"},{\"scopeName\":\"PriorityClass\",\"operator\":"
     "\"NotIn\",\"values\":[\"high\"]}]}",
     0, "resourcequota q: pods 1"},
};

START_TEST(test_quota)
{
    struct rig r = rig_new();
    struct objects *s = r.s;
    AUTO_FREE char *quota = xasprintf("{" META("q") "},\"spec\":{%s}}", quotas[_i].quota);
    put(s, KIND_DEPLOYMENT, "{" META("api") "},\"spec\":{" TEMPLATE "}}");
    put(s, KIND_POD,
        POD("x", "},\"spec\":{\"containers\":[{\"resources\":{\"requests\":{\"cpu\":1}}}]}}"));
    put(s, KIND_POD,
        POD("y", "},\"spec\":{\"containers\":[{\"resources\":{\"requests\":{\"cpu\":9}}}]},"
                 "\"status\":{\"phase\":\"Failed\"}}"));
    put(s, KIND_RESOURCE_QUOTA, quota);
    struct held held;
    bool all =
        workload_scale(s, &r.a, r.d, objects_find(s, KIND_DEPLOYMENT, "shop", "api"), 5, 0, &held);
    const char *why = all ? NULL : held.why;
    ck_assert_msg(str_eq(why, quotas[_i].why), "%s: %s", quotas[_i].quota, why ? why : "-");
    ck_assert_int_eq((int64_t)objects_n(s), 4 + quotas[_i].n);
    ck_assert(all || (held.made == quotas[_i].n && held.missing == 5 - quotas[_i].n &&
                      str_eq(held.code, "ResourceQuota") && str_eq(held.kind, "deployment")));
    rig_free(&r);
}
END_TEST

/* Which pods a quota of no pods at all is about; what is not said is not asked for. */
static const struct {
    const char *scope, *spec;
    bool held;
} scopes[] = {
    {"BestEffort", "\"containers\":[{\"name\":\"c\"}]", true},
    {"BestEffort", "\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"0\"}}}]", true},
    {"BestEffort", "\"containers\":[{\"resources\":{\"requests\":{\"x/y\":\"1\"}}}]", true},
    {"BestEffort", "\"containers\":[{\"resources\":{\"limits\":{\"memory\":\"1\"}}}]", false},
    {"BestEffort",
     "\"initContainers\":[{\"resources\":{\"requests\":{\"cpu\":1}}}],\"containers\":[{}]", false},
    {"BestEffort", "\"resources\":{\"requests\":{\"cpu\":\"1\"}},\"containers\":[{}]", false},
    {"Terminating", "\"activeDeadlineSeconds\":0", true},
    {"Terminating", "\"containers\":[]", false},
    {"NotTerminating", "\"activeDeadlineSeconds\":60", false},
    {"PriorityClass", "\"priorityClassName\":\"high\"", true},
    {"PriorityClass", "\"containers\":[]", false},
    {"CrossNamespacePodAffinity",
     "\"affinity\":{\"podAntiAffinity\":{\"preferredDuringSchedulingIgnoredDuringExecution\":[{"
     "\"podAffinityTerm\":{\"namespaceSelector\":{}}}]}}",
     true},
    {"CrossNamespacePodAffinity",
     "\"affinity\":{\"podAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":[{"
     "\"namespaces\":[\"a\"]}]}}",
     true},
    {"CrossNamespacePodAffinity",
     "\"affinity\":{\"podAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":[{"
     "\"topologyKey\":\"x\"}]}}",
     false},
};

static bool scale_two(struct rig *r, const char *spec, struct held *ret)
{
    AUTO_FREE char *w =
        xasprintf("{" META("api") "},\"spec\":{\"template\":{\"spec\":{%s}}}}", spec);
    put(r->s, KIND_DEPLOYMENT, w);
    return !workload_scale(r->s, &r->a, r->d, objects_find(r->s, KIND_DEPLOYMENT, "shop", "api"), 2,
                           0, ret);
}

START_TEST(test_scopes)
{
    struct rig r = rig_new();
    struct held held;
    AUTO_FREE char *quota = xasprintf("{" META("q") "},\"spec\":{\"hard\":{\"pods\":\"0\"},"
                                                    "\"scopes\":[\"%s\"]}}",
                                      scopes[_i].scope);
    put(r.s, KIND_RESOURCE_QUOTA, quota);
    ck_assert_msg(scale_two(&r, scopes[_i].spec, &held) == scopes[_i].held, "%s", scopes[_i].spec);
    rig_free(&r);
}
END_TEST

/* Objects beside the workload, and why none of its pods is made; NULL: all are. */
static const struct {
    enum kube_kind kind;
    const char *object, *spec, *code, *why;
} refusals[] = {
    {KIND_RESOURCE_QUOTA, "\"hard\":{\"requests.cpu\":\"9\"}",
     "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":1}}},{\"name\":\"d\"}]",
     "ResourceQuota", "resourcequota q: container d must say requests.cpu"},
    {KIND_RESOURCE_QUOTA, "\"hard\":{\"limits.memory\":\"9\"}",
     "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"memory\":1}}}]",
     "ResourceQuota", "resourcequota q: container c must say limits.memory"},
    {KIND_RESOURCE_QUOTA, "\"hard\":{\"requests.nvidia.com/gpu\":\"1\"}",
     "\"containers\":[{\"name\":\"c\"}]", NULL, NULL},
    {KIND_LIMIT_RANGE, "\"limits\":[{\"type\":\"Container\",\"max\":{\"cpu\":\"1\"}}]",
     "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":2}}}]", "LimitRange",
     "limitrange q: cpu request of container c is over the maximum 1"},
    {KIND_LIMIT_RANGE, "\"limits\":[{\"type\":\"Container\",\"max\":{\"cpu\":\"2\"}}]",
     "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":2}}}]", NULL, NULL},
};

START_TEST(test_refused)
{
    struct rig r = rig_new();
    struct held held;
    AUTO_FREE char *o = xasprintf("{" META("q") "},\"spec\":{%s}}", refusals[_i].object);
    put(r.s, refusals[_i].kind, o);
    bool refused = scale_two(&r, refusals[_i].spec, &held);
    ck_assert_msg(refused == (refusals[_i].why != NULL), "%s", refusals[_i].spec);
    if (refused) {
        ck_assert_str_eq(held.why, refusals[_i].why);
        ck_assert_str_eq(held.code, refusals[_i].code);
        ck_assert_int_eq(held.missing, 2);
    }
    rig_free(&r);
}
END_TEST

/* Templates that no API server would take: pods are made all the same, and nothing breaks. */
static const char *const odd_templates[] = {
    "null",
    "{}",
    "{\"metadata\":[],\"spec\":[]}",
    "{\"metadata\":{\"labels\":[],\"annotations\":5},\"spec\":{\"containers\":{\"a\":1}}}",
    "{\"metadata\":{\"labels\":\"x\"},\"spec\":{\"containers\":[5,{\"resources\":[]}]}}",
};

START_TEST(test_odd_template)
{
    struct rig r = rig_new();
    AUTO_FREE char *w =
        xasprintf("{" META("api") "},\"spec\":{\"template\":%s}}", odd_templates[_i]);
    put(r.s, KIND_DEPLOYMENT, w);
    struct held held;
    ck_assert(workload_scale(r.s, &r.a, r.d, objects_find(r.s, KIND_DEPLOYMENT, "shop", "api"), 2,
                             0, &held));
    ck_assert_ptr_nonnull(objects_find(r.s, KIND_POD, "shop", "api-1"));
    rig_free(&r);
}
END_TEST

/* Amounts at the end of the range do not wrap around. */
START_TEST(test_quota_huge)
{
    struct rig r = rig_new();
    struct objects *s = r.s;
    put(s, KIND_DEPLOYMENT, "{" META("api") "},\"spec\":{" TEMPLATE "}}");
    for (int i = 0; i < 2; i++) { /* whose sum is below 0 */
        AUTO_FREE char *pod =
            xasprintf("{" META("x%d") "},\"spec\":{\"containers\":[{\"resources\":{\"requests\":"
                                      "{\"memory\":\"9223372036854775807\"}}}]}}",
                      i);
        put(s, KIND_POD, pod);
    }
    put(s, KIND_RESOURCE_QUOTA,
        "{" META("q") "},\"spec\":{\"hard\":{\"requests.memory\":\"9223372036854775807\"}}}");
    struct held held;
    ck_assert(!workload_scale(s, &r.a, r.d, objects_find(s, KIND_DEPLOYMENT, "shop", "api"), 5, 0,
                              &held));
    ck_assert_int_eq(held.missing, 5);
    rig_free(&r);
}
END_TEST

static const struct {
    enum kube_kind kind;
    const char *object;
    int64_t wants;
} wants[] = {
    {KIND_DEPLOYMENT, "{\"spec\":{\"replicas\":7}}", 7},
    {KIND_DEPLOYMENT, "{\"spec\":{}}", 1},
    {KIND_DEPLOYMENT, "{\"spec\":{\"replicas\":-7}}", 0},
    {KIND_DEPLOYMENT, "{\"spec\":{\"replicas\":99999999999}}", WORKLOAD_PODS_MAX},
    {KIND_JOB, "{\"spec\":{\"parallelism\":5}}", 5},
    {KIND_JOB, "{\"spec\":{\"parallelism\":5,\"completions\":3}}", 3},
    {KIND_JOB, "{}", 1},
};

START_TEST(test_wants)
{
    json_t *o = json_loads(wants[_i].object, 0, NULL);
    ck_assert_int_eq(workload_wants(wants[_i].kind, o), wants[_i].wants);
    json_decref(o);
}
END_TEST

/* Kept objects: the later of two wins, an edit leaves the given one alone, a clone is another. */
START_TEST(test_objects)
{
    struct objects *s = objects_new();
    json_t *o = json_loads(POD("a", "},\"spec\":{\"x\":1}}"), 0, NULL);
    objects_put(s, KIND_POD, o);
    put(s, KIND_POD, POD("b", "}}"));
    put(s, KIND_POD, POD("b", "},\"spec\":{\"x\":2}}"));
    ck_assert_uint_eq(objects_n(s), 2);
    struct objects *clone = objects_clone(s);
    jsonx_set_new(objects_edit(s, objects_find(s, KIND_POD, "shop", "a")), "spec.x",
                  json_integer(7));
    ck_assert_int_eq(jsonx_int(o, "spec.x", 0), 1);
    ck_assert_int_eq(jsonx_int(objects_find(s, KIND_POD, "shop", "a")->o, "spec.x", 0), 7);
    ck_assert_int_eq(jsonx_int(objects_find(clone, KIND_POD, "shop", "a")->o, "spec.x", 0), 1);
    objects_del(s, KIND_POD, "shop", "a");
    objects_del(s, KIND_POD, "shop", "a");
    ck_assert_ptr_null(objects_find(s, KIND_POD, "shop", "a"));
    ck_assert_int_eq(jsonx_int(objects_find(s, KIND_POD, "shop", "b")->o, "spec.x", 0), 2);
    objects_forget(s, KIND_POD);
    ck_assert_uint_eq(objects_n(s), 0);
    ck_assert_uint_eq(objects_n(clone), 2);
    objects_free(s);
    objects_free(clone);
    json_decref(o);
}
END_TEST

static const struct {
    const char *word;
    int kind; /* -1 = none */
} words[] = {{"Pod", KIND_POD},
             {"po", KIND_POD},
             {"PODS", KIND_POD},
             {"deploy", KIND_DEPLOYMENT},
             {"sts", KIND_STATEFUL_SET},
             {"nodeclaims", KIND_NODE_CLAIM},
             {"secret", -1},
             {"", -1}};

START_TEST(test_kinds)
{
    enum kube_kind k = KIND_COUNT;
    ck_assert_int_eq(objects_kind(words[_i].word, &k), words[_i].kind >= 0);
    ck_assert_int_eq(k, words[_i].kind >= 0 ? words[_i].kind : (int)KIND_COUNT);
}
END_TEST

UNIT_MAIN("workload", UNIT_CASES(test_scale, rows), UNIT_CASES(test_quota, quotas),
          UNIT_CASES(test_scopes, scopes), UNIT_CASES(test_refused, refusals),
          UNIT_TEST(test_quota_huge), UNIT_CASES(test_odd_template, odd_templates),
          UNIT_TEST(test_made_pod), UNIT_CASES(test_wants, wants), UNIT_TEST(test_objects),
          UNIT_CASES(test_kinds, words))
