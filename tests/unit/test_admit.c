/* What the API server makes of templates: rows of objects, a template, and what its pods ask for.
 */
#include "decodetest.h"

#define LIMITS(name, ns, item)                                                                     \
    "{kind: LimitRange, apiVersion: v1, metadata: {name: " name ", namespace: " ns                 \
    "}, spec: {limits: [" item "]}}"
#define BARE "containers: [{name: c}]"

static const struct admit_row {
    const char *name, *objects, *spec;
    int64_t cpu_milli, mem_mib;
    int32_t priority;
} rows[] = {
    {"nothing applies", "", BARE, 0, 0, 0},
    {"limits stand in for requests", "",
     "containers: [{name: c, resources: {limits: {cpu: 200m}}}]", 200, 0, 0},
    {"defaultRequest", LIMITS("a", "kube-system", "{type: Container, defaultRequest: {cpu: 100m}}"),
     BARE, 100, 0, 0},
    {"each container gets it, and the dearest init container",
     LIMITS("a", "kube-system", "{type: Container, defaultRequest: {cpu: 100m}}"),
     "initContainers: [{name: i}], containers: [{name: c}, {name: d}]", 200, 0, 0},
    {"not what is there",
     LIMITS("a", "kube-system", "{type: Container, defaultRequest: {cpu: 100m, memory: 1Gi}}"),
     "containers: [{name: c, resources: {requests: {cpu: 10m}}}]", 10, 1024, 0},
    {"a request of nothing is there",
     LIMITS("a", "kube-system", "{type: Container, defaultRequest: {cpu: 100m}}"),
     "containers: [{name: c, resources: {requests: {cpu: '0'}}}]", 0, 0, 0},
    {"own limits come first",
     LIMITS("a", "kube-system", "{type: Container, defaultRequest: {cpu: 100m}}"),
     "containers: [{name: c, resources: {limits: {cpu: 50m}}}]", 50, 0, 0},
    {"default, max and min where there is no defaultRequest",
     LIMITS("a", "kube-system",
            "{type: Container, default: {cpu: 300m}, max: {cpu: 1, memory: 2Gi}, min: {cpu: 10m}}"),
     BARE, 300, 2048, 0},
    {"the first by name",
     LIMITS("b", "kube-system", "{type: Container, defaultRequest: {cpu: 100m}}") ", " LIMITS(
         "a", "kube-system", "{type: Container, defaultRequest: {cpu: 70m}}"),
     BARE, 70, 0, 0},
    {"another namespace", LIMITS("a", "kube", "{type: Container, defaultRequest: {cpu: 100m}}"),
     BARE, 0, 0, 0},
    {"limits of pods and claims", LIMITS("a", "kube-system", "{type: Pod, max: {cpu: 2}}"), BARE, 0,
     0, 0},
    {"overhead of a RuntimeClass",
     "{kind: RuntimeClass, apiVersion: node.k8s.io/v1, metadata: {name: vm}, overhead: {podFixed: "
     "{cpu: 250m, memory: 120Mi}}}",
     "runtimeClassName: vm, containers: [{name: c, resources: {requests: {cpu: 50m}}}]", 300, 120,
     0},
    {"of another RuntimeClass",
     "{kind: RuntimeClass, apiVersion: node.k8s.io/v1, metadata: {name: vm}, overhead: {podFixed: "
     "{cpu: 250m}}}",
     "runtimeClassName: runc, " BARE, 0, 0, 0},
    {"overhead that is there",
     "{kind: RuntimeClass, apiVersion: node.k8s.io/v1, metadata: {name: vm}, overhead: {podFixed: "
     "{cpu: 250m}}}",
     "runtimeClassName: vm, overhead: {cpu: 5m}, " BARE, 5, 0, 0},
    {"priority by name",
     "{kind: PriorityClass, apiVersion: scheduling.k8s.io/v1, metadata: {name: high}, value: 70}",
     "priorityClassName: high, " BARE, 0, 0, 70},
    {"the default priority",
     "{kind: PriorityClass, apiVersion: scheduling.k8s.io/v1, metadata: {name: high}, value: 70, "
     "globalDefault: true}",
     BARE, 0, 0, 70},
    {"priority of the system", "", "priorityClassName: system-node-critical, " BARE, 0, 0,
     2000001000},
    {"what is malformed is left alone",
     LIMITS("a", "kube-system", "{type: Container, defaultRequest: 5}, 7"), BARE, 0, 0, 0},
};

static void put_all(const json_t *list)
{
    size_t i;
    json_t *o;
    json_array_foreach ((json_t *)(uintptr_t)list, i, o) {
        enum kube_kind k;
        ck_assert(kube_kind_find(jsonx_str(o, "kind"), jsonx_str(o, "apiVersion"), &k));
        admission_put(decoder_admission(decoder), k, o);
    }
}

static json_t *daemonset_of(const char *spec)
{
    AUTO_FREE char *text = xasprintf(
        "{metadata: {name: ds, namespace: kube-system, uid: u, annotations: "
        "{deprecated.daemonset.template.generation: '3'}}, spec: {template: {spec: {%s}}}}",
        spec);
    return parse(text);
}

static void check(const struct admit_row *r, const struct daemonset *ds)
{
    ck_assert_msg(ds->cls->requests.v[RES_CPU] == r->cpu_milli, "%s: cpu %lld", r->name,
                  (long long)ds->cls->requests.v[RES_CPU]);
    ck_assert_msg(ds->cls->requests.v[RES_MEMORY] == r->mem_mib << 20, "%s: memory %lld", r->name,
                  (long long)ds->cls->requests.v[RES_MEMORY]);
    ck_assert_msg(ds->cls->priority == r->priority, "%s: priority %d", r->name, ds->cls->priority);
}

/* The objects before the template, and after it: then it is decoded again. */
START_TEST(admit_row)
{
    const struct admit_row *r = &rows[_i];
    begin();
    AUTO_FREE char *text = xasprintf("[%s]", r->objects);
    AUTO_JSON json_t *objects = parse(text);
    AUTO_JSON json_t *o = daemonset_of(r->spec);
    struct daemonset *before = decode_daemonset(decoder, o, NULL);
    ck_assert_str_eq(before->generation, "3");
    ck_assert_ptr_null(decode_daemonset_again(decoder, before));
    put_all(objects);
    struct daemonset *after = decode_daemonset(decoder, o, NULL);
    check(r, after);
    struct daemonset *again = decode_daemonset_again(decoder, before);
    ck_assert((again != NULL) == (before->cls != after->cls));
    if (again) {
        check(r, again);
        ck_assert_str_eq(again->m.uid, "u");
        ck_assert_str_eq(again->generation, "3");
        decode_daemonset_free(decoder, again);
    }
    decode_daemonset_free(decoder, before);
    decode_daemonset_free(decoder, after);
    end();
}
END_TEST

/* What is asked for, limited, and why no such pod is made; NULL: it is. */
static const struct {
    const char *objects, *spec, *why;
} refusals[] = {
    {"", BARE, NULL},
    {LIMITS("a", "kube-system", "{type: Container, max: {cpu: 2}}"),
     "containers: [{name: c, resources: {requests: {cpu: 1}, limits: {cpu: 2}}}]", NULL},
    {LIMITS("a", "kube-system", "{type: Container, max: {cpu: 2}}"),
     "containers: [{name: c, resources: {limits: {cpu: 2001m}}}]",
     "limitrange a: cpu limit of container c is over the maximum 2"},
    /* The limit is filled in, the request is higher. */
    {LIMITS("a", "kube-system", "{type: Container, max: {cpu: 2}}"),
     "containers: [{name: c, resources: {requests: {cpu: 3}}}]",
     "limitrange a: cpu request of container c is over the maximum 2"},
    {LIMITS("a", "kube-system", "{type: Container, min: {memory: 1Gi}}"),
     "containers: [{name: c, resources: {requests: {memory: 1023Mi}}}]",
     "limitrange a: memory request of container c is under the minimum 1Gi"},
    {LIMITS("a", "kube-system", "{type: Container, min: {memory: 1Gi}}"), BARE, NULL},
    {LIMITS("a", "kube-system", "{type: Container, min: {cpu: 1}}"),
     "containers: [{name: c, resources: {requests: {cpu: 1}, limits: {cpu: 500m}}}]",
     "limitrange a: cpu limit of container c is under the minimum 1"},
    {LIMITS("a", "kube-system", "{type: Container, maxLimitRequestRatio: {cpu: 2500m}}"),
     "containers: [{name: c, resources: {requests: {cpu: 1}, limits: {cpu: 2500m}}}]", NULL},
    {LIMITS("a", "kube-system", "{type: Container, maxLimitRequestRatio: {cpu: 2}}"),
     "containers: [{name: c, resources: {requests: {cpu: 1}, limits: {cpu: 2500m}}}]",
     "limitrange a: cpu limit of container c is more than 2 times the request"},
    {LIMITS("a", "kube-system", "{type: Container, maxLimitRequestRatio: {cpu: 2}}"),
     "containers: [{name: c, resources: {requests: {cpu: 1}}}]",
     "limitrange a: container c needs a cpu request and a limit, which may be 2 times as much"},
    {LIMITS("a", "kube-system", "{type: Container, max: {nvidia.com/gpu: 1}}"),
     "initContainers: [{name: i, resources: {limits: {nvidia.com/gpu: '2'}}}], " BARE,
     "limitrange a: nvidia.com/gpu limit of container i is over the maximum 1"},
    /* Of pods nothing is filled in. */
    {LIMITS("a", "kube-system", "{type: Pod, max: {cpu: 2}}"), BARE,
     "limitrange a: the pod has no cpu limit, the maximum is 2"},
    {LIMITS("a", "kube-system", "{type: Pod, min: {cpu: 100m}}"), BARE,
     "limitrange a: the pod has no cpu request, the minimum is 100m"},
    {LIMITS("a", "kube-system", "{type: Pod, max: {cpu: 2}}"),
     "containers: [{name: c, resources: {limits: {cpu: 1}}}, {name: d, resources: {limits: {cpu: "
     "1500m}}}]",
     "limitrange a: cpu limit of the pod is over the maximum 2"},
    {LIMITS("a", "kube-system", "{type: Pod, max: {cpu: 2}}"),
     "initContainers: [{name: i, resources: {limits: {cpu: 2}}}], containers: [{name: c, "
     "resources: "
     "{limits: {cpu: 1}}}]",
     NULL},
    {LIMITS("a", "kube-system", "{type: Pod, max: {cpu: 2}}"),
     "initContainers: [{name: i, restartPolicy: Always, resources: {limits: {cpu: 1500m}}}], "
     "containers: [{name: c, resources: {limits: {cpu: 1}}}]",
     "limitrange a: cpu limit of the pod is over the maximum 2"},
    {LIMITS("b", "kube-system", "{type: Container, max: {cpu: 1}}") ", " LIMITS(
         "a", "kube-system", "{type: Pod, max: {cpu: 1}}"),
     "containers: [{name: c, resources: {limits: {cpu: 2}}}]",
     "limitrange a: cpu limit of the pod is over the maximum 1"},
    {LIMITS("a", "kube", "{type: Pod, max: {cpu: 2}}"), BARE, NULL},
    {LIMITS("a", "kube-system", "{type: PersistentVolumeClaim, max: {storage: 1Gi}}"), BARE, NULL},
    {LIMITS("a", "kube-system", "{type: Container, max: {cpu: x}, min: 5}, 7"),
     "containers: [{name: c}, 5]", NULL},
};

START_TEST(refuses)
{
    begin();
    AUTO_FREE char *text = xasprintf("[%s]", refusals[_i].objects);
    AUTO_FREE char *spec_text = xasprintf("{%s}", refusals[_i].spec);
    AUTO_JSON json_t *objects = parse(text);
    AUTO_JSON json_t *spec = parse(spec_text);
    AUTO_BUF struct buf why;
    buf_init(&why, 1000);
    put_all(objects);
    admission_apply(decoder_admission(decoder), "kube-system", spec);
    bool refused = admission_refuses(decoder_admission(decoder), "kube-system", spec, &why);
    ck_assert_msg(refused == (refusals[_i].why != NULL), "%s: %s", refusals[_i].spec, why.p);
    ck_assert_str_eq(why.p, refusals[_i].why ? refusals[_i].why : "");
    end();
}
END_TEST

START_TEST(what_is_gone_does_not_apply)
{
    begin();
    struct admission *a = decoder_admission(decoder);
    AUTO_JSON json_t *list =
        parse("[" LIMITS("a", "kube-system", "{type: Container, defaultRequest: {cpu: 100m}}") "]");
    put_all(list);
    put_all(list);
    ck_assert(admission_any(a, "kube-system"));
    ck_assert(!admission_any(a, "kube"));
    admission_drop(a, KIND_LIMIT_RANGE, "kube-system/b");
    ck_assert(admission_any(a, "kube-system"));
    admission_drop(a, KIND_LIMIT_RANGE, "kube-system/a");
    ck_assert(!admission_any(a, "kube-system"));
    put_all(list);
    admission_forget(a, KIND_LIMIT_RANGE);
    ck_assert(!admission_any(a, "kube-system"));
    end();
}
END_TEST

/* A RuntimeClass also says where its pods can run. */
START_TEST(runtime_class_places_pods)
{
    begin();
    AUTO_JSON json_t *list =
        parse("[{kind: RuntimeClass, apiVersion: node.k8s.io/v1, metadata: {name: vm}, scheduling: "
              "{nodeSelector: {vm: 'yes'}, tolerations: [{key: vm, operator: Exists}]}}]");
    put_all(list);
    AUTO_JSON json_t *o = daemonset_of("runtimeClassName: vm, nodeSelector: {a: b}, " BARE);
    struct daemonset *ds = decode_daemonset(decoder, o, NULL);
    ck_assert_uint_eq(ds->cls->selector.n, 2);
    ck_assert_uint_eq(ds->cls->tolerations.n, 1);
    decode_daemonset_free(decoder, ds);
    end();
}
END_TEST

UNIT_MAIN("admit", UNIT_CASES(admit_row, rows), UNIT_CASES(refuses, refusals),
          UNIT_TEST(what_is_gone_does_not_apply), UNIT_TEST(runtime_class_places_pods))
