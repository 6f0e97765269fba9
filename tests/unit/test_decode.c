#include "decodetest.h"

static json_t *pod_of(const char *spec, const char *status)
{
    AUTO_FREE char *text =
        xasprintf("{metadata: {name: p, namespace: ns, uid: u}, spec: %s, status: %s}", spec,
                  status ? status : "{}");
    return parse(text);
}

/* ---- requests -------------------------------------------------------------------------------- */

#define C(requests) "{name: c, resources: {requests: {" requests "}}}"
#define GI INT64_C(1073741824)
#define MI INT64_C(1048576)

struct requests_row {
    const char *name, *spec, *status;
    bool template_limits;
    int64_t cpu_milli, memory, gpu, ext; /* ext: example.com/x */
};

static const struct requests_row requests_rows[] = {
    {"nothing asked", "{containers: [{name: c}]}", NULL, false, 0, 0, 0, 0},
    {"no containers", "{}", NULL, false, 0, 0, 0, 0},
    {"one", "{containers: [" C("cpu: 1, memory: 1Gi") "]}", NULL, false, 1000, GI, 0, 0},
    {"numbers", "{containers: [" C("cpu: 0.5, memory: 1024") "]}", NULL, false, 500, 1024, 0, 0},
    {"rounded up", "{containers: [" C("cpu: 100u") "]}", NULL, false, 1, 0, 0, 0},
    {"sum", "{containers: [" C("cpu: 100m") ", " C("cpu: 200m, memory: 1Mi") "]}", NULL, false, 300,
     MI, 0, 0},
    {"gpu and other", "{containers: [" C("nvidia.com/gpu: 2, example.com/x: 3") "]}", NULL, false,
     0, 0, 2, 3},
    {"init smaller", "{containers: [" C("cpu: 2") "], initContainers: [" C("cpu: 1") "]}", NULL,
     false, 2000, 0, 0, 0},
    {"init greater",
     "{containers: [" C("cpu: 1") "], initContainers: [" C("cpu: 3") ", " C("cpu: 2") "]}", NULL,
     false, 3000, 0, 0, 0},
    {"init per resource",
     "{containers: [" C("cpu: 1, memory: 4Gi") "], initContainers: [" C("cpu: 3, memory: 1Gi") "]}",
     NULL, false, 3000, 4 * GI, 0, 0},
    {"sidecar adds",
     "{containers: [" C("cpu: 1") "], initContainers: [{name: s, restartPolicy: "
                                  "Always, resources: {requests: {cpu: 500m}}}]}",
     NULL, false, 1500, 0, 0, 0},
    {"init beside the sidecar before it",
     "{containers: [" C(
         "cpu: 1") "], initContainers: [{name: "
                   "s, restartPolicy: Always, resources: {requests: {cpu: 500m}}}, " C(
                       "cpu: 2") "]}",
     NULL, false, 2500, 0, 0, 0},
    {"init before the sidecar",
     "{containers: [" C("cpu: 1") "], initContainers: [" C(
         "cpu: 2") ", {name: s, restartPolicy: Always, resources: {requests: {cpu: 500m}}}]}",
     NULL, false, 2000, 0, 0, 0},
    {"two sidecars and init",
     "{containers: [" C("cpu: 100m") "], initContainers: [{restartPolicy: "
                                     "Always, resources: {requests: {cpu: 1}}}, {restartPolicy: "
                                     "Always, resources: {requests: {cpu: "
                                     "2}}}, " C("cpu: 4") "]}",
     NULL, false, 7000, 0, 0, 0},
    {"overhead on top", "{containers: [" C("cpu: 1") "], overhead: {cpu: 250m, memory: 120Mi}}",
     NULL, false, 1250, 120 * MI, 0, 0},
    {"pod level replaces",
     "{resources: {requests: {cpu: 4}}, containers: [" C("cpu: 1, memory: 1Gi") "]}", NULL, false,
     4000, GI, 0, 0},
    {"pod level and overhead",
     "{resources: {requests: {cpu: 4}}, containers: [" C("cpu: 9") "], overhead: {cpu: 1}}", NULL,
     false, 5000, 0, 0, 0},
    {"limits alone do not count", "{containers: [{resources: {limits: {cpu: 2}}}]}", NULL, false, 0,
     0, 0, 0},
    {"template: limits fill",
     "{containers: [{resources: {limits: {cpu: 2, memory: 1Gi}, requests: "
     "{cpu: 1}}}]}",
     NULL, true, 1000, GI, 0, 0},
    {"template: zero is not missing",
     "{containers: [{resources: {limits: {cpu: 2}, requests: {cpu: "
     "0}}}]}",
     NULL, true, 0, 0, 0, 0},
    {"resize down not done yet", "{containers: [" C("cpu: 1") "]}",
     "{containerStatuses: [{name: c, "
     "allocatedResources: {cpu: 3}}]}",
     false, 3000, 0, 0, 0},
    {"resize up asked", "{containers: [" C("cpu: 4") "]}",
     "{containerStatuses: [{name: c, "
     "allocatedResources: {cpu: 3}, resources: {requests: {cpu: 3}}}]}",
     false, 4000, 0, 0, 0},
    {"resize up impossible", "{containers: [" C("cpu: 4") "]}",
     "{conditions: [{type: "
     "PodResizePending, reason: Infeasible}], containerStatuses: [{name: c, allocatedResources: "
     "{cpu: 3}}]}",
     false, 3000, 0, 0, 0},
    {"status of another container", "{containers: [" C("cpu: 1") "]}",
     "{containerStatuses: [{name: "
     "d, allocatedResources: {cpu: 3}}]}",
     false, 1000, 0, 0, 0},
    {"saturates", "{containers: [" C("memory: 8Ei") ", " C("memory: 8Ei") "]}", NULL, false, 0,
     INT64_MAX, 0, 0},
};

START_TEST(requests_row)
{
    const struct requests_row *r = &requests_rows[_i];
    begin();
    AUTO_JSON json_t *pod = pod_of(r->spec, r->status);
    struct arena a;
    arena_init(&a, 0, 1 << 20);
    struct resources got;
    struct err err = ERR_INIT;
    int rc = decode_pod_requests(decoder, &a, pod, r->template_limits, &got, &err);
    ck_assert_msg(rc == 0, "%s: %s", r->name, err.msg);
    ck_assert_msg(got.v[RES_CPU] == r->cpu_milli, "%s: cpu %lld", r->name,
                  (long long)got.v[RES_CPU]);
    ck_assert_msg(got.v[RES_MEMORY] == r->memory, "%s: memory %lld", r->name,
                  (long long)got.v[RES_MEMORY]);
    ck_assert_int_eq(got.v[RES_NVIDIA_GPU], r->gpu);
    ck_assert_int_eq(got.v[RES_PODS], 1);
    ck_assert_int_eq(resources_get_ext(&got, sym_intern(symtab, "example.com/x")), r->ext);
    arena_done(&a);
    end();
}
END_TEST

START_TEST(pod_level_huge_pages)
{
    begin();
    AUTO_JSON json_t *pod = pod_of("{resources: {requests: {hugepages-2Mi: 8Mi}}, containers: [{"
                                   "resources: {requests: {hugepages-2Mi: 2Mi}}}]}",
                                   NULL);
    struct arena a;
    arena_init(&a, 0, 1 << 20);
    struct resources got;
    ck_assert_int_eq(decode_pod_requests(decoder, &a, pod, false, &got, NULL), 0);
    ck_assert_int_eq(resources_get_ext(&got, sym_intern(symtab, "hugepages-2Mi")), 8 * MI);
    arena_done(&a);
    end();
}
END_TEST

/* ---- bad objects: an error that names the place ---------------------------------------------- */

enum what { POD, NODE, DAEMONSET, CLAIM, POOL, CLASS };

struct bad_row {
    enum what what;
    const char *object;
    const char *fault; /* part of the message */
};

#define META "metadata: {name: x}, "

static const struct bad_row bad_rows[] = {
    {POD, "{}", "metadata.name: missing"},
    {POD, "[]", "metadata.name: missing"},
    {POD, "5", "metadata.name: missing"},
    {POD, "{metadata: 5}", "metadata.name: missing"},
    {POD, "{metadata: {name: 5}}", "metadata.name: missing"},
    {POD, "{metadata: {name: x, labels: []}}", "metadata.labels: not an object"},
    {POD, "{metadata: {name: x, labels: {a: 1}}}", "metadata.labels.a: not a string"},
    {POD, "{metadata: {name: x, annotations: {a: {}}}}", "metadata.annotations.a: not a string"},
    {POD, "{metadata: {name: x, finalizers: {}}}", "metadata.finalizers: not a list"},
    {POD, "{metadata: {name: x, ownerReferences: x}}", "metadata.ownerReferences: not a list"},
    {POD, "{" META "spec: 5}", "spec: not an object"},
    {POD, "{" META "spec: {containers: {}}}", "spec.containers: not a list"},
    {POD, "{" META "spec: {containers: [{}, {resources: {requests: {cpu: 4x}}}]}}",
     "spec.containers[1].resources.requests.cpu: \"4x\" is not a quantity"},
    {POD, "{" META "spec: {containers: [{resources: {requests: {cpu: []}}}]}}",
     "spec.containers[0].resources.requests.cpu: \"\" is not a quantity"},
    {POD, "{" META "spec: {containers: [{resources: {requests: {memory: -1}}}]}}",
     "memory: \"-1\" is negative"},
    {POD, "{" META "spec: {containers: [{resources: []}]}}",
     "spec.containers[0].resources: not an object"},
    {POD, "{" META "spec: {initContainers: [{resources: {requests: {a/b: z}}}]}}",
     "spec.initContainers[0].resources.requests.a/b"},
    {POD, "{" META "spec: {overhead: {cpu: x}}}", "spec.overhead.cpu"},
    {POD, "{" META "spec: {nodeSelector: {a: 1}}}", "spec.nodeSelector.a: not a string"},
    {POD, "{" META "spec: {affinity: []}}", "spec.affinity: not an object"},
    {POD,
     "{" META "spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuring"
     "Execution: {nodeSelectorTerms: {}}}}}}",
     "spec.nodeSelectorTerms: not a list"},
    {NODE, "{}", "metadata.name: missing"},
    {NODE, "{" META "status: {capacity: {cpu: z}}}", "status.capacity.cpu"},
    {NODE, "{" META "spec: {taints: [{key: a, effect: Never}]}}",
     "spec.taints[0].effect: \"Never\" is not NoSchedule"},
    {NODE, "{" META "spec: {taints: [{effect: NoSchedule}]}}", "spec.taints[0].key: missing"},
    {NODE, "{" META "spec: {taints: x}}", "spec.taints: not a list"},
    {DAEMONSET,
     "{" META "spec: {template: {spec: {containers: [{resources: {limits: {cpu: z}}}]}}}}",
     "spec.template.spec.containers[0].resources.limits.cpu"},
    {CLAIM, "{}", "metadata.name: missing"},
    {POOL, "{metadata: {name: ''}}", "metadata.name: missing"},
    {CLASS, "[1]", "metadata.name: missing"},
};

static bool decode_any(enum what what, const json_t *o, struct err *err)
{
    struct pod *pod;
    struct node *node;
    struct daemonset *ds;
    struct nodeclaim *claim;
    struct nodepool *pool;
    struct nodeclass *class;
    switch (what) {
    case POD:
        pod = decode_pod(decoder, o, err);
        decode_pod_free(decoder, pod);
        return pod;
    case NODE:
        node = decode_node(decoder, o, err);
        decode_node_free(node);
        return node;
    case DAEMONSET:
        ds = decode_daemonset(decoder, o, err);
        decode_daemonset_free(decoder, ds);
        return ds;
    case CLAIM:
        claim = decode_nodeclaim(decoder, o, err);
        decode_nodeclaim_free(claim);
        return claim;
    case POOL:
        pool = decode_nodepool(decoder, o, err);
        decode_nodepool_free(pool);
        return pool;
    case CLASS:
        class = decode_nodeclass(decoder, o, err);
        decode_nodeclass_free(class);
        return class;
    }
    return false;
}

START_TEST(bad_row)
{
    const struct bad_row *r = &bad_rows[_i];
    begin();
    AUTO_JSON json_t *o = parse(r->object);
    struct err err = ERR_INIT;
    ck_assert_msg(!decode_any(r->what, o, &err), "taken: %s", r->object);
    ck_assert_msg(str_contains(err.msg, r->fault), "%s: %s", r->object, err.msg);
    ck_assert_int_eq(err.kind, ERR_INVALID);
    ck_assert(!decode_any(r->what, o, NULL)); /* nobody needs to ask why */
    end();
}
END_TEST

/* ---- pods and their classes ------------------------------------------------------------------ */

#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"
#define NODE_AFFINITY(x) "{affinity: {nodeAffinity: {" x "}}}"
#define REQUIRED_TERMS(x) NODE_AFFINITY(REQUIRED ": {nodeSelectorTerms: [" x "]}")
#define ODD_TERM(op) REQUIRED_TERMS("{matchExpressions: [{key: a, operator: " op "}]}")

struct same_row {
    const char *name, *a, *b;
    bool same;
};

static const struct same_row same_rows[] = {
    {"nothing", "{}", "{}", true},
    {"containers that add up", "{containers: [" C("cpu: 1") "]}",
     "{containers: [" C("cpu: 500m") ", " C("cpu: 0.5") "]}", true},
    {"other requests", "{containers: [" C("cpu: 1") "]}", "{containers: [" C("cpu: 2") "]}", false},
    {"image and command", "{containers: [{image: a}]}", "{containers: [{image: b, command: [x]}]}",
     true},
    {"selector order", "{nodeSelector: {a: x, b: z}}", "{nodeSelector: {b: z, a: x}}", true},
    {"selector value", "{nodeSelector: {a: x}}", "{nodeSelector: {a: z}}", false},
    {"selector and affinity", "{nodeSelector: {a: x}}",
     REQUIRED_TERMS("{matchExpressions: [{key: a, operator: In, values: [x]}]}"), false},
    {"value order", REQUIRED_TERMS("{matchExpressions: [{key: a, operator: In, values: [x, z]}]}"),
     REQUIRED_TERMS("{matchExpressions: [{key: a, operator: In, values: [z, x]}]}"), true},
    {"a blank in a value is no separator",
     REQUIRED_TERMS("{matchExpressions: [{key: a, operator: In, values: [x, z]}]}"),
     REQUIRED_TERMS("{matchExpressions: [{key: a, operator: In, values: ['x z']}]}"), false},
    {"operator", REQUIRED_TERMS("{matchExpressions: [{key: a, operator: In, values: [x]}]}"),
     REQUIRED_TERMS("{matchExpressions: [{key: a, operator: NotIn, values: [x]}]}"), false},
    {"any but one, which must be there",
     REQUIRED_TERMS("{matchExpressions: [{key: a, operator: Exists}, "
                    "{key: a, operator: NotIn, values: [x]}]}"),
     REQUIRED_TERMS("{matchExpressions: [{key: a, operator: NotIn, values: [x]}]}"), false},
    {"a contradiction is not absence",
     REQUIRED_TERMS("{matchExpressions: [{key: a, operator: In, values: [x]}, "
                    "{key: a, operator: In, values: [y]}]}"),
     REQUIRED_TERMS("{matchExpressions: [{key: a, operator: DoesNotExist}]}"), false},
    {"bounds", REQUIRED_TERMS("{matchExpressions: [{key: a, operator: Gt, values: ['3']}]}"),
     REQUIRED_TERMS("{matchExpressions: [{key: a, operator: Gt, values: ['4']}]}"), false},
    {"term order matters",
     REQUIRED_TERMS("{matchExpressions: [{key: a, operator: Exists}]}, "
                    "{matchExpressions: [{key: b, operator: Exists}]}"),
     REQUIRED_TERMS("{matchExpressions: [{key: b, operator: Exists}]}, "
                    "{matchExpressions: [{key: a, operator: Exists}]}"),
     false},
    {"toleration order", "{tolerations: [{key: a, operator: Exists}, {key: b, value: c}]}",
     "{tolerations: [{key: b, operator: Equal, value: c}, {key: a, operator: Exists}]}", true},
    {"toleration effect", "{tolerations: [{key: a, operator: Exists, effect: NoSchedule}]}",
     "{tolerations: [{key: a, operator: Exists}]}", false},
    {"toleration seconds", "{tolerations: [{key: a, operator: Exists, tolerationSeconds: 1}]}",
     "{tolerations: [{key: a, operator: Exists, tolerationSeconds: 2}]}", false},
    {"tolerations that cannot be read do not count",
     "{tolerations: [{key: a, operator: Lt}, {value: "
     "x}, {key: a, effect: Odd}]}",
     "{}", true},
    {"priority", "{priority: 5}", "{priority: 6}", false},
    {"what is wrong with a term", ODD_TERM("Near"), ODD_TERM("Far"), false},
    {"the same wrong with a term", ODD_TERM("Near"), ODD_TERM("Near"), true},
    {"another scheduler's", "{schedulerName: other}", "{}", true},
    {"ephemeral storage", "{containers: [{resources: {requests: {ephemeral-storage: 5Gi}}}]}",
     "{containers: [{}]}", false},
    {"host port", "{containers: [{ports: [{hostPort: 80}]}]}", "{containers: [{}]}", false},
    {"host port of a plain init container", "{initContainers: [{ports: [{hostPort: 80}]}]}", "{}",
     true},
    {"host port of a sidecar",
     "{initContainers: [{restartPolicy: Always, ports: [{hostPort: 80}]}]}", "{}", false},
    {"host ip", "{containers: [{ports: [{hostPort: 80, hostIP: 0.0.0.0}]}]}",
     "{containers: [{ports: [{hostPort: 80, protocol: TCP}]}]}", true},
    {"container port", "{containers: [{ports: [{containerPort: 80}]}]}", "{}", true},
    {"volumes", "{volumes: [{persistentVolumeClaim: {claimName: a}}]}",
     "{volumes: [{emptyDir: {}}]}", false},
    {"old label name", "{nodeSelector: {beta.kubernetes.io/arch: arm64}}",
     "{nodeSelector: {kubernetes.io/arch: arm64}}", true},
    {"extended resources", "{containers: [" C("a/b: 1, c/d: 2") "]}",
     "{containers: [" C("c/d: 2, a/b: 1") "]}", true},
};

START_TEST(same_row)
{
    const struct same_row *r = &same_rows[_i];
    begin();
    AUTO_JSON json_t *x = pod_of(r->a, NULL);
    AUTO_JSON json_t *y = pod_of(r->b, NULL);
    struct err err = ERR_INIT;
    struct pod *a = decode_pod(decoder, x, &err);
    struct pod *b = decode_pod(decoder, y, &err);
    ck_assert_msg(a && b, "%s: %s", r->name, err.msg);
    ck_assert_msg((a->cls == b->cls) == r->same, "%s:\n%s\n%s", r->name, a->cls->key, b->cls->key);
    ck_assert_uint_eq(decoder_class_count(decoder), r->same ? 1 : 2);
    ck_assert_uint_eq(a->cls->refs, r->same ? 2 : 1);
    decode_pod_free(decoder, a);
    ck_assert_uint_eq(b->cls->refs, 1);
    decode_pod_free(decoder, b);
    end();
}
END_TEST

struct hard_row {
    const char *name, *spec;
    unsigned hard;
    bool not_by_us;
    unsigned n_required, n_preferred, n_invalid;
};

#define POOL_ABSENT "{key: karpenter.sh/nodepool, operator: DoesNotExist}"

static const struct hard_row hard_rows[] = {
    {"plain", "{}", 0, false, 0, 0, 0},
    {"claims", "{resourceClaims: [{name: g}]}", HARD_RESOURCE_CLAIM, false, 0, 0, 0},
    {"pvc", "{volumes: [{persistentVolumeClaim: {}}]}", HARD_VOLUME, false, 0, 0, 0},
    {"ephemeral", "{volumes: [{emptyDir: {}}, {ephemeral: {}}]}", HARD_VOLUME, false, 0, 0, 0},
    {"affinity alone", "{affinity: {podAffinity: {" REQUIRED ": [{}]}}}", 0, false, 0, 0, 0},
    {"keeps off", REQUIRED_TERMS("{matchExpressions: [" POOL_ABSENT "]}"), 0, true, 1, 0, 0},
    {"keeps off one way only",
     REQUIRED_TERMS("{matchExpressions: [" POOL_ABSENT "]}, "
                    "{matchExpressions: [{key: a, operator: Exists}]}"),
     0, false, 2, 0, 0},
    {"match fields",
     REQUIRED_TERMS("{matchFields: [{key: metadata.name, operator: In, values: [n]}]}"), 0, false,
     1, 0, 1},
    {"empty term", REQUIRED_TERMS("{}"), 0, false, 1, 0, 1},
    {"unknown operator", REQUIRED_TERMS("{matchExpressions: [{key: a, operator: Like}]}"), 0, false,
     1, 0, 1},
    {"bad bound", REQUIRED_TERMS("{matchExpressions: [{key: a, operator: Gt, values: [x]}]}"), 0,
     false, 1, 0, 1},
    {"preferred",
     NODE_AFFINITY(
         PREFERRED
         ": [{weight: 1, preference: {matchExpressions: [{key: a, "
         "operator: Exists}]}}, {weight: 50, preference: {matchExpressions: [{key: b, operator: "
         "Exists}]}}, {weight: 0, preference: {}}, {weight: 9, preference: {}}]"),
     0, false, 0, 2, 0},
};

START_TEST(hard_row)
{
    const struct hard_row *r = &hard_rows[_i];
    begin();
    AUTO_JSON json_t *x = pod_of(r->spec, NULL);
    struct err err = ERR_INIT;
    struct pod *p = decode_pod(decoder, x, &err);
    ck_assert_msg(p != NULL, "%s: %s", r->name, err.msg);
    const struct pod_class *c = p->cls;
    ck_assert_msg(c->hard == r->hard, "%s: hard %u", r->name, c->hard);
    ck_assert_msg(c->not_by_us == r->not_by_us, "%s: not_by_us", r->name);
    ck_assert_uint_eq(c->n_required, r->n_required);
    ck_assert_uint_eq(c->n_preferred, r->n_preferred);
    unsigned invalid = 0;
    for (uint32_t i = 0; i < c->n_required; i++) {
        invalid += c->required[i].invalid ? 1 : 0;
    }
    ck_assert_uint_eq(invalid, r->n_invalid);
    for (uint32_t i = 1; i < c->n_preferred; i++) {
        ck_assert_int_ge(c->preferred[i - 1].weight, c->preferred[i].weight);
    }
    decode_pod_free(decoder, p);
    end();
}
END_TEST

static const char full_pod[] =
    "{metadata: {name: p, namespace: ns, uid: u1, resourceVersion: '7', generation: 2, "
    "creationTimestamp: '2026-01-05T09:00:00Z', deletionTimestamp: '2026-01-05T10:00:00Z', "
    "deletionGracePeriodSeconds: 45, labels: {app: b, aaa: c}, finalizers: [f], "
    "annotations: {karpenter.sh/do-not-disrupt: 'true', other: x, "
    "controller.kubernetes.io/pod-deletion-cost: '-5'}, ownerReferences: [{apiVersion: v1, kind: "
    "Thing, name: t, uid: t1}, {apiVersion: apps/v1, kind: ReplicaSet, name: r, uid: r1, "
    "controller: true}]}, spec: {nodeName: node1, priority: 100, priorityClassName: high, "
    "terminationGracePeriodSeconds: 60, tolerations: [{operator: Exists}]}, status: {phase: "
    "Running, startTime: '2026-01-05T09:00:10Z', conditions: [{type: Ready, status: 'True'}, "
    "{type: "
    "PodScheduled, status: 'True'}]}}";

START_TEST(pod_fields)
{
    begin();
    AUTO_JSON json_t *o = parse(full_pod);
    struct pod *p = decode_pod(decoder, o, NULL);
    ck_assert_ptr_nonnull(p);
    ck_assert_str_eq(p->m.name, "p");
    ck_assert_str_eq(p->m.ns, "ns");
    ck_assert_str_eq(p->m.uid, "u1");
    ck_assert_str_eq(p->m.resource_version, "7");
    ck_assert_int_eq(p->m.generation, 2);
    ck_assert_int_eq(p->m.deleted_ns - p->m.created_ns, NS_PER_H);
    ck_assert_uint_eq(p->labels.n, 2);
    ck_assert_str_eq(p->labels.v[0].key, "aaa");
    ck_assert_uint_eq(p->m.annotations.n, 2); /* "other" is nobody's business */
    ck_assert_uint_eq(p->m.n_finalizers, 1);
    ck_assert_int_eq(p->owner, POWNER_REPLICASET);
    ck_assert_str_eq(p->owner_uid, "r1");
    ck_assert_str_eq(p->node_name, "node1");
    ck_assert_str_eq(p->nominated_node, "");
    ck_assert_str_eq(p->priority_class, "high");
    ck_assert_int_eq(p->cls->priority, 100);
    ck_assert_int_eq(p->phase, POD_RUNNING);
    ck_assert(p->ready && !p->unschedulable && !p->gated);
    ck_assert_int_eq(p->start_ns - p->m.created_ns, 10 * NS_PER_S);
    ck_assert_int_eq(p->grace_ns, 60 * NS_PER_S);
    ck_assert_int_eq(p->deletion_grace_ns, 45 * NS_PER_S);
    ck_assert_int_eq(p->deletion_cost, -5);
    ck_assert_uint_eq(p->cls->tolerations.n, 1);
    ck_assert_uint_eq(p->cls->tolerations.v[0].key, SYM_NONE);
    decode_pod_free(decoder, p);
    end();
}
END_TEST

struct state_row {
    const char *object; /* beside metadata.name */
    enum pod_owner owner;
    bool unschedulable, gated, displaced;
};

#define OWNED(api, kind, extra)                                                                    \
    "{metadata: {name: p, ownerReferences: [{apiVersion: " api ", kind: " kind ", uid: u" extra    \
    "}]}}"

static const struct state_row state_rows[] = {
    {"{metadata: {name: p}}", POWNER_NONE, false, false, false},
    {OWNED("apps/v1", "DaemonSet", ""), POWNER_DAEMONSET, false, false, false},
    {OWNED("v1", "Node", ", controller: true"), POWNER_NODE, false, false, false},
    {OWNED("apps/v1", "StatefulSet", ", controller: true"), POWNER_STATEFULSET, false, false,
     false},
    {OWNED("batch/v1", "Job", ", controller: true"), POWNER_JOB, false, false, false},
    {OWNED("example.com/v1", "DaemonSet", ", controller: true"), POWNER_OTHER, false, false, false},
    {OWNED("apps/v1", "ReplicaSet", ""), POWNER_NONE, false, false, false},
    {"{metadata: {name: p}, status: {conditions: [{type: PodScheduled, status: 'False', reason: "
     "Unschedulable}]}}",
     POWNER_NONE, true, false, false},
    {"{metadata: {name: p}, status: {conditions: [{type: PodScheduled, status: 'False', reason: "
     "SchedulingGated}]}}",
     POWNER_NONE, false, true, false},
    {"{metadata: {name: p}, spec: {schedulingGates: [{name: g}]}}", POWNER_NONE, false, true,
     false},
    {"{metadata: {name: p}, status: {conditions: [{type: PodScheduled, status: 'False', reason: "
     "SchedulerError}, 5, {}]}}",
     POWNER_NONE, false, false, false},
    {"{metadata: {name: p}, status: {conditions: [{type: DisruptionTarget, status: 'True', reason: "
     "PreemptionByScheduler}]}}",
     POWNER_NONE, false, false, true},
    {"{metadata: {name: p}, status: {conditions: [{type: DisruptionTarget, status: 'True', reason: "
     "EvictionByEvictionAPI}]}}",
     POWNER_NONE, false, false, false},
};

START_TEST(state_row)
{
    const struct state_row *r = &state_rows[_i];
    begin();
    AUTO_JSON json_t *o = parse(r->object);
    struct pod *p = decode_pod(decoder, o, NULL);
    ck_assert_ptr_nonnull(p);
    ck_assert_int_eq(p->owner, r->owner);
    ck_assert_int_eq(p->unschedulable, r->unschedulable);
    ck_assert_int_eq(p->gated, r->gated);
    ck_assert_int_eq(p->displaced, r->displaced);
    decode_pod_free(decoder, p);
    end();
}
END_TEST

/* A pod somebody made to hurt: more keys than one set may have. */
START_TEST(huge_affinity)
{
    begin();
    json_t *list = json_array();
    for (int i = 0; i < 5000; i++) {
        char key[16];
        (void)snprintf(key, sizeof(key), "k%d", i);
        json_array_append_new(list, json_pack("{s:s, s:s}", "key", key, "operator", "Exists"));
    }
    AUTO_JSON json_t *o = parse("{metadata: {name: p}}");
    json_t *terms = json_pack("[{s:o}]", "matchExpressions", list);
    jsonx_set_new(o, "spec.affinity.nodeAffinity." REQUIRED ".nodeSelectorTerms", terms);
    struct pod *p = decode_pod(decoder, o, NULL);
    ck_assert_ptr_nonnull(p);
    ck_assert(p->cls->required[0].invalid);
    decode_pod_free(decoder, p);
    end();
}
END_TEST

START_TEST(class_of_template)
{
    begin();
    AUTO_JSON json_t *o = parse("{metadata: {name: d}, spec: {template: {spec: {containers: [{"
                                "resources: {limits: {cpu: 2}}}]}}}}");
    struct daemonset *ds = decode_daemonset(decoder, o, NULL);
    ck_assert_ptr_nonnull(ds);
    ck_assert_int_eq(ds->cls->requests.v[RES_CPU], 2000);
    AUTO_JSON json_t *pod = pod_of("{containers: [" C("cpu: 2") "]}", NULL);
    struct pod_class *c = decode_class(decoder, pod, false, NULL);
    ck_assert_ptr_eq(c, ds->cls);
    decode_daemonset_free(decoder, ds);
    ck_assert_uint_eq(decoder_class_count(decoder), 1);
    decode_class_unref(decoder, c);
    end();
}
END_TEST

/* ---- nodes and claims ------------------------------------------------------------------------ */

START_TEST(node_fields)
{
    begin();
    AUTO_JSON json_t *o = parse(
        "{metadata: {name: n1, labels: {topology.kubernetes.io/zone: a, "
        "failure-domain.beta.kubernetes.io/zone: old, beta.kubernetes.io/arch: arm64}}, spec: {"
        "providerID: 'aws:///a/i-1', unschedulable: true, taints: [{key: t, value: v, effect: "
        "NoExecute}]}, status: {capacity: {cpu: 4, pods: 58}, allocatable: {cpu: 3920m, "
        "example.com/x: 2}, conditions: [{type: Ready, status: 'False', lastTransitionTime: "
        "'1970-01-01T00:00:07Z'}]}}");
    struct node *n = decode_node(decoder, o, NULL);
    ck_assert_ptr_nonnull(n);
    ck_assert_str_eq(n->provider_id, "aws:///a/i-1");
    ck_assert(n->unschedulable);
    ck_assert_uint_eq(n->m.labels.n, 2); /* aliases folded, today's name wins */
    ck_assert_str_eq(sym_str(symtab, labels_get(&n->m.labels, L_ZONE)), "a");
    ck_assert_uint_eq(labels_get(&n->m.labels, L_ARCH), V_ARM64);
    ck_assert_uint_eq(n->taints.n, 1);
    ck_assert_int_eq(n->taints.v[0].effect, EFFECT_NO_EXECUTE);
    ck_assert_int_eq(n->capacity.v[RES_CPU], 4000);
    ck_assert_int_eq(n->capacity.v[RES_PODS], 58);
    ck_assert_int_eq(n->allocatable.v[RES_CPU], 3920);
    ck_assert_int_eq(resources_get_ext(&n->allocatable, sym_find(symtab, "example.com/x")), 2);
    ck_assert_int_eq(n->ready, STATUS_FALSE);
    ck_assert_int_eq(n->ready_since_ns, 7 * NS_PER_S);
    decode_node_free(n);
    end();
}
END_TEST

START_TEST(claim_fields)
{
    begin();
    AUTO_JSON json_t *o = parse(
        "{metadata: {name: c1, labels: {karpenter.sh/nodepool: default}}, spec: {" REF
        ", requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [spot]}, {key: "
        "x, operator: Exists, minValues: 2}], resources: {requests: {cpu: 1}}, expireAfter: Never, "
        "terminationGracePeriod: 30m}, status: {providerID: p, nodeName: n, imageID: ami-1, "
        "lastPodEventTime: '1970-01-01T00:00:09Z', capacity: {cpu: 2}, conditions: [{type: "
        "Launched, status: 'True', reason: Launched, observedGeneration: 1}]}}");
    struct nodeclaim *c = decode_nodeclaim(decoder, o, NULL);
    ck_assert_ptr_nonnull(c);
    ck_assert_ptr_null(c->problem);
    ck_assert_str_eq(c->pool, "default");
    ck_assert_uint_eq(c->reqs.n, 2);
    ck_assert_uint_eq(req_single(reqset_get(&c->reqs, L_CAPACITY_TYPE)), V_SPOT);
    ck_assert_uint_eq(reqset_get(&c->reqs, sym_find(symtab, "x"))->min_values, 2);
    ck_assert_int_eq(c->requests.v[RES_CPU], 1000);
    ck_assert_int_eq(c->expire_after_ns, DURATION_NEVER);
    ck_assert_int_eq(c->termination_grace_ns, 30 * NS_PER_MIN);
    ck_assert_str_eq(c->class_ref.name, "default");
    ck_assert_str_eq(c->image_id, "ami-1");
    ck_assert_int_eq(c->last_pod_event_ns, 9 * NS_PER_S);
    ck_assert_int_eq(c->capacity.v[RES_CPU], 2000);
    ck_assert(condition_true(&c->conditions, "Launched"));
    ck_assert_int_eq(condition_status(&c->conditions, "Registered"), STATUS_ABSENT);
    decode_nodeclaim_free(c);
    end();
}
END_TEST

UNIT_MAIN("decode", UNIT_CASES(requests_row, requests_rows), UNIT_TEST(pod_level_huge_pages),
          UNIT_CASES(bad_row, bad_rows), UNIT_CASES(same_row, same_rows),
          UNIT_CASES(hard_row, hard_rows), UNIT_TEST(pod_fields), UNIT_CASES(state_row, state_rows),
          UNIT_TEST(huge_affinity), UNIT_TEST(class_of_template), UNIT_TEST(node_fields),
          UNIT_TEST(claim_fields))
