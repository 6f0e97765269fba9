/*
 * api_rule.c - what the server fills in and what it refuses, kind by kind; see api_store.h.
 *
 * Defaults of pods and workloads are those of kube-apiserver that anything here can notice, with
 * the admission plug-ins Priority and DefaultTolerationSeconds; those of Karpenter's kinds are
 * their CRDs'. Each rule is a function in the table at the end.
 */
#include "api_store.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"

#include <ctype.h>

#define CONFIGMAP_BYTES_MAX (1u << 20)

static void set_missing(json_t *o, const char *key, json_t *value)
{
    if (json_object_get(o, key)) {
        json_decref(value);
    } else {
        json_object_set_new(o, key, value);
    }
}

static json_t *object_at(json_t *o, const char *key)
{
    set_missing(o, key, json_object());
    json_t *v = json_object_get(o, key);
    return json_is_object(v) ? v : NULL;
}

/* ---- defaults: pods ---------------------------------------------------------------------------
 */

/* Limits without a request are the request. */
static void default_container(json_t *c)
{
    json_t *resources = object_at(c, "resources");
    json_t *limits = json_object_get(resources, "limits");
    const char *key;
    json_t *value;
    json_object_foreach (limits, key, value) {
        json_t *requests = object_at(resources, "requests");
        if (requests) {
            set_missing(requests, key, json_incref(value));
        }
    }
    set_missing(c, "terminationMessagePath", json_string("/dev/termination-log"));
    set_missing(c, "imagePullPolicy", json_string("IfNotPresent"));
}

static void default_pod_spec(json_t *spec)
{
    static const char *const lists[] = {"containers", "initContainers"};
    for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
        size_t i;
        json_t *c;
        json_array_foreach (json_object_get(spec, lists[l]), i, c) {
            if (json_is_object(c)) {
                default_container(c);
            }
        }
    }
    set_missing(spec, "restartPolicy", json_string("Always"));
    set_missing(spec, "terminationGracePeriodSeconds", json_integer(30));
    set_missing(spec, "dnsPolicy", json_string("ClusterFirst"));
    set_missing(spec, "schedulerName", json_string("default-scheduler"));
    set_missing(spec, "securityContext", json_object());
}

static bool tolerates_key(const json_t *tolerations, const char *key)
{
    size_t i;
    json_t *t;
    json_array_foreach ((json_t *)tolerations, i, t) {
        const char *k = jsonx_str_or(t, "key", "");
        const char *effect = jsonx_str_or(t, "effect", "");
        if ((k[0] == '\0' || str_eq(k, key)) &&
            (effect[0] == '\0' || str_eq(effect, "NoExecute"))) {
            return true;
        }
    }
    return false;
}

/* Admission plug-in DefaultTolerationSeconds. */
static void default_tolerations(json_t *spec)
{
    static const char *const keys[] = {"node.kubernetes.io/not-ready",
                                       "node.kubernetes.io/unreachable"};
    set_missing(spec, "tolerations", json_array());
    json_t *list = json_object_get(spec, "tolerations");
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (!tolerates_key(list, keys[i])) {
            json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:i}", "key", keys[i],
                                                  "operator", "Exists", "effect", "NoExecute",
                                                  "tolerationSeconds", 300));
        }
    }
}

/* Admission plug-in Priority. */
static void default_priority(const struct sim_api *a, json_t *spec)
{
    const char *class = jsonx_str_or(spec, "priorityClassName", "");
    const json_t *pc = class[0] ? sim_api_get(a, SIM_PRIORITYCLASS, NULL, class) : NULL;
    for (size_t i = 0; !class[0] && i < sim_api_count(a, SIM_PRIORITYCLASS); i++) {
        const json_t *one = sim_api_at(a, SIM_PRIORITYCLASS, i);
        if (jsonx_bool(one, "globalDefault", false)) {
            pc = one;
            json_object_set_new(spec, "priorityClassName", json_string(sim_meta(one, "name")));
        }
    }
    json_object_set_new(spec, "priority", json_integer(jsonx_int(pc, "value", 0)));
    set_missing(spec, "preemptionPolicy",
                json_string(jsonx_str_or(pc, "preemptionPolicy", "PreemptLowerPriority")));
}

static void default_pod(struct sim_op *op, json_t *obj, const json_t *old)
{
    json_t *spec = object_at(obj, "spec");
    if (old || !spec) {
        return;
    }
    default_pod_spec(spec);
    set_missing(spec, "serviceAccountName", json_string("default"));
    set_missing(spec, "enableServiceLinks", json_true());
    default_tolerations(spec);
    default_priority(op->a, spec);
    json_object_set_new(obj, "status", json_pack("{s:s}", "phase", "Pending"));
}

/* ---- defaults: the rest -----------------------------------------------------------------------
 */

static void default_template(json_t *spec)
{
    json_t *template = json_object_get(spec, "template");
    json_t *pod = json_is_object(template) ? object_at(template, "spec") : NULL;
    if (pod) {
        default_pod_spec(pod);
    }
}

static void default_workload(struct sim_op *op, json_t *obj, const json_t *old UNUSED)
{
    json_t *spec = object_at(obj, "spec");
    if (!spec) {
        return;
    }
    default_template(spec);
    if (op->kind->id != SIM_DAEMONSET) {
        set_missing(spec, "replicas", json_integer(1));
    }
    if (op->kind->id == SIM_DEPLOYMENT) {
        set_missing(spec, "strategy",
                    json_pack("{s:s, s:{s:s, s:s}}", "type", "RollingUpdate", "rollingUpdate",
                              "maxSurge", "25%", "maxUnavailable", "25%"));
        set_missing(spec, "revisionHistoryLimit", json_integer(10));
        set_missing(spec, "progressDeadlineSeconds", json_integer(600));
    }
    if (op->kind->id == SIM_DAEMONSET) {
        set_missing(spec, "updateStrategy",
                    json_pack("{s:s, s:{s:i, s:i}}", "type", "RollingUpdate", "rollingUpdate",
                              "maxSurge", 0, "maxUnavailable", 1));
    }
}

static void default_job(struct sim_op *op UNUSED, json_t *obj, const json_t *old UNUSED)
{
    json_t *spec = object_at(obj, "spec");
    if (spec) {
        default_template(spec);
        set_missing(spec, "backoffLimit", json_integer(6));
        set_missing(spec, "parallelism", json_integer(1));
    }
}

static void default_nodepool(struct sim_op *op UNUSED, json_t *obj, const json_t *old UNUSED)
{
    json_t *spec = object_at(obj, "spec");
    json_t *disruption = spec ? object_at(spec, "disruption") : NULL;
    if (!disruption) {
        return;
    }
    set_missing(disruption, "consolidateAfter", json_string("0s"));
    set_missing(disruption, "consolidationPolicy", json_string("WhenEmptyOrUnderutilized"));
    set_missing(disruption, "budgets", json_pack("[{s:s}]", "nodes", "10%"));
    json_t *template = json_object_get(spec, "template");
    json_t *inner = json_is_object(template) ? json_object_get(template, "spec") : NULL;
    if (json_is_object(inner)) {
        set_missing(inner, "expireAfter", json_string("720h"));
    }
}

static void default_nodeclaim(struct sim_op *op UNUSED, json_t *obj, const json_t *old UNUSED)
{
    json_t *spec = object_at(obj, "spec");
    if (spec) {
        set_missing(spec, "expireAfter", json_string("720h"));
    }
}

static void default_nodeclass(struct sim_op *op UNUSED, json_t *obj, const json_t *old UNUSED)
{
    json_t *spec = object_at(obj, "spec");
    json_t *options = spec ? object_at(spec, "metadataOptions") : NULL;
    if (options) {
        set_missing(options, "httpEndpoint", json_string("enabled"));
        set_missing(options, "httpProtocolIPv6", json_string("disabled"));
        set_missing(options, "httpPutResponseHopLimit", json_integer(1));
        set_missing(options, "httpTokens", json_string("required"));
    }
}

static void default_namespace(struct sim_op *op, json_t *obj, const json_t *old)
{
    json_t *meta = json_object_get(obj, "metadata");
    json_t *labels = object_at(meta, "labels");
    if (!old && labels) {
        json_object_set_new(labels, "kubernetes.io/metadata.name", json_string(op->name));
        json_object_set_new(obj, "status", json_pack("{s:s}", "phase", "Active"));
    }
}

/* The admission plug-in TaintNodesByCondition. */
static void default_node(struct sim_op *op UNUSED, json_t *obj, const json_t *old)
{
    static const char key[] = "node.kubernetes.io/not-ready";
    json_t *spec = object_at(obj, "spec");
    if (old || !spec) {
        return;
    }
    set_missing(spec, "taints", json_array());
    json_t *taints = json_object_get(spec, "taints");
    size_t i;
    json_t *t;
    json_array_foreach (taints, i, t) {
        if (str_eq(jsonx_str(t, "key"), key) && str_eq(jsonx_str(t, "effect"), "NoSchedule")) {
            return;
        }
    }
    json_array_append_new(taints, json_pack("{s:s, s:s}", "key", key, "effect", "NoSchedule"));
}

/* ---- checks: common ---------------------------------------------------------------------------
 */

static void require(json_t *causes, const json_t *obj, const char *path)
{
    if (!jsonx_at(obj, path)) {
        sim_cause(causes, "FieldValueRequired", path, "Required value");
    }
}

static bool label_value_ok(const char *s)
{
    size_t n = strlen(s);
    for (size_t i = 0; i < n; i++) {
        bool edge = i == 0 || i == n - 1;
        if (!isalnum((unsigned char)s[i]) && (edge || !strchr("-_.", s[i]))) {
            return false;
        }
    }
    return n <= 63;
}

static bool label_key_ok(const char *s)
{
    const char *slash = strchr(s, '/');
    const char *name = slash ? slash + 1 : s;
    return name[0] && label_value_ok(name) && (!slash || (slash > s && !strchr(name, '/')));
}

static void check_labels(json_t *causes, const json_t *obj)
{
    const char *key;
    json_t *value;
    json_object_foreach (jsonx_at(obj, "metadata.labels"), key, value) {
        const char *v = json_string_value(value);
        if (!v || !label_value_ok(v) || !label_key_ok(key)) {
            sim_cause(causes, "FieldValueInvalid", "metadata.labels",
                      "Invalid value: \"%s=%s\": a valid label must be an empty string or consist "
                      "of alphanumeric characters, '-', '_' or '.'",
                      key, v ? v : "");
        }
    }
    json_object_foreach (jsonx_at(obj, "metadata.annotations"), key, value) {
        if (!json_is_string(value)) {
            sim_cause(causes, "FieldValueInvalid", "metadata.annotations",
                      "Invalid value: annotation \"%s\" must be a string", key);
        }
    }
}

/* Conditions of our custom kinds: their schema. reason may be empty on a NodeClaim only. */
static void check_conditions(json_t *causes, const struct sim_op *op, const json_t *obj)
{
    size_t i;
    json_t *c;
    json_array_foreach (jsonx_at(obj, "status.conditions"), i, c) {
        char field[64];
        int64_t at;
        const char *status = jsonx_str_or(c, "status", "");
        snprintf(field, sizeof(field), "status.conditions[%zu]", i);
        if (jsonx_str_or(c, "type", "")[0] == '\0') {
            sim_cause(causes, "FieldValueRequired", field, "Required value: type");
        }
        if (!str_eq(status, "True") && !str_eq(status, "False") && !str_eq(status, "Unknown")) {
            sim_cause(causes, "FieldValueNotSupported", field, "Unsupported value: \"%s\"", status);
        }
        if (!timefmt_parse_rfc3339(jsonx_str_or(c, "lastTransitionTime", ""), &at)) {
            sim_cause(causes, "FieldValueRequired", field, "Required value: lastTransitionTime");
        }
        if (op->kind->id != SIM_NODECLAIM && jsonx_str_or(c, "reason", "")[0] == '\0') {
            sim_cause(causes, "FieldValueRequired", field, "Required value: reason");
        }
    }
}

/* ---- checks: built-in kinds -------------------------------------------------------------------
 */

/* Of a pod's spec only these may change after creation. */
static json_t *fixed_part(const json_t *spec)
{
    static const char *const may_change[] = {"tolerations", "activeDeadlineSeconds",
                                             "terminationGracePeriodSeconds", "schedulingGates"};
    json_t *copy = json_deep_copy(spec);
    for (size_t i = 0; i < ARRAY_LEN(may_change); i++) {
        json_object_del(copy, may_change[i]);
    }
    static const char *const lists[] = {"containers", "initContainers"};
    for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
        size_t i;
        json_t *c;
        json_array_foreach (json_object_get(copy, lists[l]), i, c) {
            json_object_del(c, "image");
        }
    }
    return copy;
}

static void check_pod(json_t *causes, const struct sim_op *op UNUSED, const json_t *obj,
                      const json_t *old)
{
    if (!old) {
        if (json_array_size(jsonx_at(obj, "spec.containers")) == 0) {
            sim_cause(causes, "FieldValueRequired", "spec.containers", "Required value");
        }
        return;
    }
    const json_t *was = json_object_get(old, "spec"), *is = json_object_get(obj, "spec");
    if (was == is || json_equal(was, is)) {
        return;
    }
    json_t *a = fixed_part(was), *b = fixed_part(is);
    if (!json_equal(a, b)) {
        sim_cause(causes, "FieldValueForbidden", "spec",
                  "Forbidden: pod updates may not change fields other than "
                  "`spec.containers[*].image`,`spec.initContainers[*].image`,"
                  "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
                  "tolerations),`spec.terminationGracePeriodSeconds`");
    }
    json_decref(a);
    json_decref(b);
}

static void check_workload(json_t *causes, const struct sim_op *op UNUSED, const json_t *obj,
                           const json_t *old)
{
    require(causes, obj, "spec.selector");
    require(causes, obj, "spec.template");
    if (!jsonsel_match_selector(jsonx_at(obj, "spec.selector"),
                                jsonx_at(obj, "spec.template.metadata.labels"))) {
        sim_cause(causes, "FieldValueInvalid", "spec.template.metadata.labels",
                  "Invalid value: `selector` does not match template `labels`");
    }
    if (json_array_size(jsonx_at(obj, "spec.template.spec.containers")) == 0) {
        sim_cause(causes, "FieldValueRequired", "spec.template.spec.containers", "Required value");
    }
    if (jsonx_int(obj, "spec.replicas", 0) < 0) {
        sim_cause(causes, "FieldValueInvalid", "spec.replicas",
                  "Invalid value: must be greater than or equal to 0");
    }
    if (old && !json_equal(jsonx_at(obj, "spec.selector"), jsonx_at(old, "spec.selector"))) {
        sim_cause(causes, "FieldValueInvalid", "spec.selector",
                  "Invalid value: field is immutable");
    }
}

static void check_configmap(json_t *causes, const struct sim_op *op UNUSED, const json_t *obj,
                            const json_t *old UNUSED)
{
    static const char *const parts[] = {"data", "binaryData"};
    size_t bytes = 0;
    for (size_t p = 0; p < ARRAY_LEN(parts); p++) {
        const char *key;
        json_t *value;
        json_object_foreach (json_object_get(obj, parts[p]), key, value) {
            if (!json_is_string(value)) {
                sim_cause(causes, "FieldValueInvalid", parts[p], "Invalid value: \"%s\"", key);
            }
            bytes += json_string_length(value);
        }
    }
    if (bytes > CONFIGMAP_BYTES_MAX) {
        sim_cause(causes, "FieldValueTooLong", "", "Too long: may not be more than %u bytes",
                  CONFIGMAP_BYTES_MAX);
    }
}

static void check_event(json_t *causes, const struct sim_op *op UNUSED, const json_t *obj,
                        const json_t *old UNUSED)
{
    const char *involved = jsonx_str_or(obj, "involvedObject.namespace", "");
    const char *ns = sim_meta(obj, "namespace");
    if (!str_eq(involved[0] ? involved : "default", ns)) {
        sim_cause(causes, "FieldValueInvalid", "involvedObject.namespace",
                  "Invalid value: \"%s\": does not match event.namespace", involved);
    }
}

static void check_lease(json_t *causes, const struct sim_op *op UNUSED, const json_t *obj,
                        const json_t *old UNUSED)
{
    static const char *const times[] = {"spec.acquireTime", "spec.renewTime"};
    if (jsonx_int(obj, "spec.leaseDurationSeconds", 1) <= 0) {
        sim_cause(causes, "FieldValueInvalid", "spec.leaseDurationSeconds",
                  "Invalid value: must be greater than 0");
    }
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        int64_t at;
        const char *s = jsonx_str(obj, times[i]);
        if (s && !timefmt_parse_rfc3339(s, &at)) {
            sim_cause(causes, "FieldValueInvalid", times[i], "Invalid value: \"%s\"", s);
        }
    }
}

static void check_pdb(json_t *causes, const struct sim_op *op UNUSED, const json_t *obj,
                      const json_t *old UNUSED)
{
    if (jsonx_at(obj, "spec.minAvailable") && jsonx_at(obj, "spec.maxUnavailable")) {
        sim_cause(causes, "FieldValueInvalid", "spec",
                  "Invalid value: minAvailable and maxUnavailable cannot be both set");
    }
}

/* ---- checks: Karpenter's kinds ----------------------------------------------------------------
 */

static bool known_operator(const char *op)
{
    static const char *const ops[] = {"In", "NotIn", "Exists", "DoesNotExist",
                                      "Gt", "Lt",    "Gte",    "Lte"};
    for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
        if (str_eq(op, ops[i])) {
            return true;
        }
    }
    return false;
}

static void check_requirements(json_t *causes, const json_t *list, const char *path)
{
    size_t i;
    json_t *r;
    if (!json_is_array(list)) {
        sim_cause(causes, "FieldValueRequired", path, "Required value");
    }
    if (json_array_size(list) > 100) {
        sim_cause(causes, "FieldValueTooMany", path, "Too many: must have at most 100 items");
    }
    json_array_foreach ((json_t *)list, i, r) {
        const char *op = jsonx_str_or(r, "operator", "");
        size_t n = json_array_size(json_object_get(r, "values"));
        char field[96];
        snprintf(field, sizeof(field), "%s[%zu]", path, i);
        if (!label_key_ok(jsonx_str_or(r, "key", ""))) {
            sim_cause(causes, "FieldValueInvalid", field, "Invalid value: key");
        }
        if (!known_operator(op)) {
            sim_cause(causes, "FieldValueNotSupported", field, "Unsupported value: \"%s\"", op);
        }
        if (str_eq(op, "In") && n == 0) {
            sim_cause(causes, "FieldValueInvalid", field,
                      "Invalid value: requirements with operator 'In' must have a value defined");
        }
        if ((op[0] == 'G' || op[0] == 'L') && n != 1) {
            sim_cause(causes, "FieldValueInvalid", field,
                      "Invalid value: requirements operator 'Gt' or 'Lt' must have a single "
                      "positive integer value");
        }
    }
}

static void check_class_ref(json_t *causes, const json_t *spec, const char *at)
{
    static const char *const keys[] = {"group", "kind", "name"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const json_t *ref = json_object_get(spec, "nodeClassRef");
        const char *v = json_string_value(json_object_get(ref, keys[i]));
        if (!v || v[0] == '\0') {
            char field[96];
            snprintf(field, sizeof(field), "%s.nodeClassRef.%s", at, keys[i]);
            sim_cause(causes, "FieldValueRequired", field, "Required value");
        }
    }
}

static void check_budgets(json_t *causes, const json_t *obj)
{
    size_t i;
    json_t *b;
    json_array_foreach (jsonx_at(obj, "spec.disruption.budgets"), i, b) {
        if (!json_object_get(b, "schedule") != !json_object_get(b, "duration")) {
            sim_cause(causes, "FieldValueInvalid", "spec.disruption.budgets",
                      "Invalid value: 'schedule' must be set with 'duration'");
        }
    }
}

static void check_nodepool(json_t *causes, const struct sim_op *op UNUSED, const json_t *obj,
                           const json_t *old UNUSED)
{
    const json_t *spec = jsonx_at(obj, "spec.template.spec");
    check_requirements(causes, json_object_get(spec, "requirements"),
                       "spec.template.spec.requirements");
    check_class_ref(causes, spec, "spec.template.spec");
    check_budgets(causes, obj);
    int64_t weight = jsonx_int(obj, "spec.weight", 1);
    if (weight < 1 || weight > 100) {
        sim_cause(causes, "FieldValueInvalid", "spec.weight",
                  "Invalid value: %lld: should be within 1 and 100", (long long)weight);
    }
}

static void check_nodeclaim(json_t *causes, const struct sim_op *op UNUSED, const json_t *obj,
                            const json_t *old)
{
    const json_t *spec = json_object_get(obj, "spec");
    check_requirements(causes, json_object_get(spec, "requirements"), "spec.requirements");
    check_class_ref(causes, spec, "spec");
    if (old && !json_equal(spec, json_object_get(old, "spec"))) {
        sim_cause(causes, "FieldValueInvalid", "spec",
                  "Invalid value: \"object\": spec is immutable");
    }
}

static void check_nodeclass(json_t *causes, const struct sim_op *op UNUSED, const json_t *obj,
                            const json_t *old UNUSED)
{
    require(causes, obj, "spec.amiSelectorTerms");
    require(causes, obj, "spec.securityGroupSelectorTerms");
    require(causes, obj, "spec.subnetSelectorTerms");
    if (!jsonx_at(obj, "spec.role") == !jsonx_at(obj, "spec.instanceProfile")) {
        sim_cause(causes, "FieldValueInvalid", "spec",
                  "Invalid value: must specify exactly one of ['role', 'instanceProfile']");
    }
}

/* ---- the tables -------------------------------------------------------------------------------
 */

struct rule {
    void (*fill)(struct sim_op *op, json_t *obj, const json_t *old);
    void (*check)(json_t *causes, const struct sim_op *op, const json_t *obj, const json_t *old);
};

static const struct rule rules[SIM_KINDS] = {
    [SIM_POD] = {default_pod, check_pod},
    [SIM_NODE] = {default_node, NULL},
    [SIM_NAMESPACE] = {default_namespace, NULL},
    [SIM_CONFIGMAP] = {NULL, check_configmap},
    [SIM_EVENT] = {NULL, check_event},
    [SIM_DEPLOYMENT] = {default_workload, check_workload},
    [SIM_REPLICASET] = {default_workload, check_workload},
    [SIM_DAEMONSET] = {default_workload, check_workload},
    [SIM_STATEFULSET] = {default_workload, check_workload},
    [SIM_JOB] = {default_job, NULL},
    [SIM_PDB] = {NULL, check_pdb},
    [SIM_LEASE] = {NULL, check_lease},
    [SIM_NODEPOOL] = {default_nodepool, check_nodepool},
    [SIM_NODECLAIM] = {default_nodeclaim, check_nodeclaim},
    [SIM_EC2NODECLASS] = {default_nodeclass, check_nodeclass},
};

void sim_rule_default(struct sim_op *op, json_t *obj, const json_t *old)
{
    if (rules[op->kind->id].fill) {
        rules[op->kind->id].fill(op, obj, old);
    }
}

json_t *sim_rule_check(const struct sim_op *op, const json_t *obj, const json_t *old)
{
    json_t *causes = json_array();
    check_labels(causes, obj);
    if (rules[op->kind->id].check) {
        rules[op->kind->id].check(causes, op, obj, old);
    }
    if (op->kind->flags & SIM_KIND_CUSTOM) {
        check_conditions(causes, op, obj);
    }
    return causes;
}

bool sim_rule_desired_changed(const struct sim_kind *k, const json_t *obj, const json_t *old)
{
    if (!(k->flags & SIM_KIND_CUSTOM)) {
        return !json_equal(json_object_get(obj, "spec"), json_object_get(old, "spec")) &&
               (json_object_get(obj, "spec") || json_object_get(old, "spec"));
    }
    json_t *a = json_copy((json_t *)obj), *b = json_copy((json_t *)old);
    static const char *const not_desired[] = {"metadata", "status"};
    for (size_t i = 0; i < ARRAY_LEN(not_desired); i++) {
        json_object_del(a, not_desired[i]);
        json_object_del(b, not_desired[i]);
    }
    bool changed = !json_equal(a, b);
    json_decref(a);
    json_decref(b);
    return changed;
}
