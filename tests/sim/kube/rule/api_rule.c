/*
 * api_rule.c - what the server fills in and what it refuses, kind by kind; see api_store.h.
 *
 * Defaults of pods and workloads are those of kube-apiserver that anything here can notice, with
 * its admission plug-ins (admit_pod.h); those of Karpenter's kinds are their CRDs' (schema.h). Each
 * rule is a function in the table at the end.
 */
#include "admit_pod.h"
#include "common/base/alloc.h"
#include "common/base/cron.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "schema.h"
#include "tests/sim/kube/api_store.h"
#include "tests/sim/kube/podspec.h"

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

/* No tag, or the tag latest; a digest is a version. */
static bool is_latest(const char *image)
{
    const char *slash = strrchr(image, '/');
    const char *tag = strchr(slash ? slash : image, ':');
    return !strchr(image, '@') && (!tag || str_eq(tag, ":latest"));
}

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
    set_missing(c, "terminationMessagePolicy", json_string("File"));
    set_missing(c, "imagePullPolicy",
                json_string(is_latest(jsonx_str_or(c, "image", "")) ? "Always" : "IfNotPresent"));
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

/* Best effort without any request or limit, guaranteed with limits of both that are the requests.
 */
static const char *qos_class(const json_t *spec)
{
    static const char *const names[] = {"cpu", "memory"};
    bool any = false, all = true;
    size_t i;
    json_t *c;
    json_array_foreach (json_object_get(spec, "containers"), i, c) {
        const json_t *limits = jsonx_at(c, "resources.limits");
        const json_t *requests = jsonx_at(c, "resources.requests");
        for (size_t k = 0; k < ARRAY_LEN(names); k++) {
            const json_t *limit = json_object_get(limits, names[k]);
            const json_t *request = json_object_get(requests, names[k]);
            any = any || limit || request;
            all = all && limit && json_equal(limit, request);
        }
    }
    return !any ? "BestEffort" : all ? "Guaranteed" : "Burstable";
}

static void default_pod(struct sim_op *op, json_t *obj, const json_t *old)
{
    json_t *spec = object_at(obj, "spec");
    if (!spec) {
        return;
    }
    default_pod_spec(spec);
    if (old) {
        return;
    }
    set_missing(spec, "serviceAccountName", json_string("default"));
    set_missing(spec, "enableServiceLinks", json_true());
    sim_admit_pod(op->a, sim_meta(obj, "namespace"), spec);
    json_object_set_new(obj, "status",
                        json_pack("{s:s, s:s}", "phase", "Pending", "qosClass", qos_class(spec)));
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
    if (op->kind->id == SIM_STATEFULSET) {
        set_missing(spec, "podManagementPolicy", json_string("OrderedReady"));
        set_missing(
            spec, "updateStrategy",
            json_pack("{s:s, s:{s:i}}", "type", "RollingUpdate", "rollingUpdate", "partition", 0));
        set_missing(spec, "revisionHistoryLimit", json_integer(10));
    }
    if (op->kind->id == SIM_DAEMONSET) {
        set_missing(spec, "updateStrategy",
                    json_pack("{s:s, s:{s:i, s:i}}", "type", "RollingUpdate", "rollingUpdate",
                              "maxSurge", 0, "maxUnavailable", 1));
    }
}

/* The labels and the selector that tie a Job and its pods together. */
static void default_job_selector(json_t *obj, json_t *spec)
{
    const char *uid = sim_meta(obj, "uid"), *name = sim_meta(obj, "name");
    json_t *template = json_object_get(spec, "template");
    json_t *meta = json_is_object(template) ? object_at(template, "metadata") : NULL;
    json_t *labels = meta ? object_at(meta, "labels") : NULL;
    if (labels && !jsonx_bool(spec, "manualSelector", false)) {
        json_object_set_new(labels, "batch.kubernetes.io/controller-uid", json_string(uid));
        json_object_set_new(labels, "batch.kubernetes.io/job-name", json_string(name));
        json_object_set_new(labels, "controller-uid", json_string(uid));
        json_object_set_new(labels, "job-name", json_string(name));
        set_missing(
            spec, "selector",
            json_pack("{s:{s:s}}", "matchLabels", "batch.kubernetes.io/controller-uid", uid));
    }
}

static void default_job(struct sim_op *op UNUSED, json_t *obj, const json_t *old)
{
    json_t *spec = object_at(obj, "spec");
    if (!spec) {
        return;
    }
    default_template(spec);
    if (!json_object_get(spec, "completions") && !json_object_get(spec, "parallelism")) {
        json_object_set_new(spec, "completions", json_integer(1));
    }
    set_missing(spec, "parallelism", json_integer(1));
    set_missing(spec, "backoffLimit", json_integer(6));
    set_missing(spec, "completionMode", json_string("NonIndexed"));
    set_missing(spec, "suspend", json_false());
    if (!old) {
        default_job_selector(obj, spec);
    }
}

static void default_cronjob(struct sim_op *op UNUSED, json_t *obj, const json_t *old UNUSED)
{
    json_t *spec = object_at(obj, "spec");
    if (spec) {
        set_missing(spec, "concurrencyPolicy", json_string("Allow"));
        set_missing(spec, "suspend", json_false());
        set_missing(spec, "successfulJobsHistoryLimit", json_integer(3));
        set_missing(spec, "failedJobsHistoryLimit", json_integer(1));
    }
}

/* ---- custom kinds: their schemas ----------------------------------------------------------------
 */

static const struct sim_schema *schema_of(const struct sim_kind *k)
{
    static const struct sim_schema *const schemas[SIM_KINDS] = {
        [SIM_NODEPOOL] = sim_schema_nodepool,
        [SIM_NODECLAIM] = sim_schema_nodeclaim,
        [SIM_EC2NODECLASS] = sim_schema_ec2nodeclass,
        [SIM_DISRUPTIONREQUEST] = sim_schema_disruptionrequest,
        [SIM_DISRUPTIONGRANT] = sim_schema_disruptiongrant,
        [SIM_HOLD] = sim_schema_hold,
    };
    return schemas[k->id];
}

/* As if a newer CRD with more fields were installed. */
static bool keeps_unknown(const json_t *obj)
{
    const json_t *mark =
        json_object_get(jsonx_at(obj, "metadata.annotations"), "sim.karp.dev/newer-schema");
    return str_eq(json_string_value(mark), "true");
}

/* obj is owned down to its spec. */
static void default_custom(struct sim_op *op, json_t *obj, const json_t *old UNUSED)
{
    const struct sim_schema *spec = schema_of(op->kind);
    json_t *v = json_object_get(obj, spec->key);
    if (json_is_object(v)) {
        if (!keeps_unknown(obj)) {
            sim_schema_prune(spec, v);
        }
        sim_schema_fill(spec, v);
    }
}

void sim_rule_status(const struct sim_kind *k, json_t *obj)
{
    const struct sim_schema *spec = schema_of(k);
    json_t *v = spec ? json_object_get(obj, "status") : NULL;
    bool missing = k->id == SIM_NODEPOOL && !json_object_get(v, "nodes");
    if (spec && !spec[1].key) {
        json_object_del(obj, "status");
        return;
    }
    if (!v || (!missing && !sim_schema_has_unknown(&spec[1], v) && k->id != SIM_EC2NODECLASS)) {
        return;
    }
    v = json_deep_copy(v);
    json_object_set_new(obj, "status", v);
    sim_schema_prune(&spec[1], v);
    sim_schema_fill(&spec[1], v);
}

/* What shares its value with the stored object was checked when that was stored. */
static void check_custom(json_t *causes, const struct sim_op *op, const json_t *obj,
                         const json_t *old)
{
    const struct sim_schema *top = schema_of(op->kind);
    for (const struct sim_schema *s = top; s->key; s++) {
        const json_t *v = json_object_get(obj, s->key), *was = json_object_get(old, s->key);
        if (!v && s->flags & SIM_REQUIRED) {
            sim_cause(causes, "FieldValueRequired", s->key, "Required value");
        } else if (v && v != was) {
            sim_schema_check(s, v, was, s->key, causes);
        }
    }
    if (sim_schema_blocked(causes)) {
        return;
    }
    for (const struct sim_schema *s = top; s->key; s++) {
        const json_t *v = json_object_get(obj, s->key), *was = json_object_get(old, s->key);
        if (v && v != was) {
            sim_schema_rules(s, v, was, s->key, causes);
        }
    }
}

/* ---- defaults: namespaces, claims, nodes
 * --------------------------------------------------------- */

static void default_namespace(struct sim_op *op, json_t *obj, const json_t *old)
{
    json_t *meta = json_object_get(obj, "metadata");
    json_t *labels = object_at(meta, "labels");
    if (!old && labels) {
        json_object_set_new(labels, "kubernetes.io/metadata.name", json_string(op->name));
        json_object_set_new(obj, "status", json_pack("{s:s}", "phase", "Active"));
    }
}

static const char *default_class(const struct sim_api *a)
{
    for (size_t i = 0; i < sim_api_count(a, SIM_STORAGECLASS); i++) {
        const json_t *c = sim_api_at(a, SIM_STORAGECLASS, i);
        const json_t *mark = json_object_get(jsonx_at(c, "metadata.annotations"),
                                             "storageclass.kubernetes.io/is-default-class");
        if (str_eq(json_string_value(mark), "true")) {
            return sim_meta(c, "name");
        }
    }
    return NULL;
}

/* The admission plug-ins DefaultStorageClass and StorageObjectInUseProtection. */
static void default_pvc(struct sim_op *op, json_t *obj, const json_t *old)
{
    json_t *spec = object_at(obj, "spec");
    const char *class = default_class(op->a);
    if (old || !spec) {
        return;
    }
    if (class) {
        set_missing(spec, "storageClassName", json_string(class));
    }
    set_missing(spec, "volumeMode", json_string("Filesystem"));
    json_t *meta = json_object_get(obj, "metadata");
    set_missing(meta, "finalizers", json_array());
    json_array_append_new(json_object_get(meta, "finalizers"),
                          json_string("kubernetes.io/pvc-protection"));
    json_object_set_new(obj, "status", json_pack("{s:s}", "phase", "Pending"));
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

/* Conditions of the custom kinds that have no schema here. */
static void check_conditions(json_t *causes, const json_t *obj)
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
        if (jsonx_str_or(c, "reason", "")[0] == '\0') {
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
                                             "schedulingGates"};
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

/* Of a StatefulSet only these may change. */
static void check_statefulset(json_t *causes, const struct sim_op *op, const json_t *obj,
                              const json_t *old)
{
    static const char *const may_change[] = {"replicas",
                                             "ordinals",
                                             "template",
                                             "updateStrategy",
                                             "revisionHistoryLimit",
                                             "persistentVolumeClaimRetentionPolicy",
                                             "minReadySeconds"};
    check_workload(causes, op, obj, NULL);
    if (!old || json_equal(json_object_get(obj, "spec"), json_object_get(old, "spec"))) {
        return;
    }
    json_t *a = json_copy(json_object_get(obj, "spec"));
    json_t *b = json_copy(json_object_get(old, "spec"));
    for (size_t i = 0; i < ARRAY_LEN(may_change); i++) {
        json_object_del(a, may_change[i]);
        json_object_del(b, may_change[i]);
    }
    if (!json_equal(a, b)) {
        sim_cause(causes, "FieldValueForbidden", "spec",
                  "Forbidden: updates to statefulset spec for fields other than 'replicas', "
                  "'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', "
                  "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden");
    }
    json_decref(a);
    json_decref(b);
}

static void check_job(json_t *causes, const struct sim_op *op UNUSED, const json_t *obj,
                      const json_t *old)
{
    static const char *const fixed[] = {"completions", "completionMode", "selector", "template"};
    const char *policy = jsonx_str_or(obj, "spec.template.spec.restartPolicy", "");
    if (!str_eq(policy, "Never") && !str_eq(policy, "OnFailure")) {
        sim_cause(causes, "FieldValueRequired", "spec.template.spec.restartPolicy",
                  "Required value: valid values: \"OnFailure\", \"Never\"");
    }
    if (json_array_size(jsonx_at(obj, "spec.template.spec.containers")) == 0) {
        sim_cause(causes, "FieldValueRequired", "spec.template.spec.containers", "Required value");
    }
    for (size_t i = 0; old && i < ARRAY_LEN(fixed); i++) {
        const json_t *is = json_object_get(json_object_get(obj, "spec"), fixed[i]);
        const json_t *was = json_object_get(json_object_get(old, "spec"), fixed[i]);
        if (is != was && !json_equal(is, was)) {
            char field[64];
            snprintf(field, sizeof(field), "spec.%s", fixed[i]);
            sim_cause(causes, "FieldValueInvalid", field, "Invalid value: field is immutable");
        }
    }
}

static void check_cronjob(json_t *causes, const struct sim_op *op UNUSED, const json_t *obj,
                          const json_t *old UNUSED)
{
    struct cron cron;
    struct err e = ERR_INIT;
    const char *schedule = jsonx_str_or(obj, "spec.schedule", "");
    const char *policy = jsonx_str_or(obj, "spec.concurrencyPolicy", "");
    if (schedule[0] == '\0') {
        sim_cause(causes, "FieldValueRequired", "spec.schedule", "Required value");
    } else if (cron_parse(schedule, &cron, &e)) {
        sim_cause(causes, "FieldValueInvalid", "spec.schedule", "Invalid value: \"%s\": %s",
                  schedule, e.msg);
    }
    if (!str_eq(policy, "Allow") && !str_eq(policy, "Forbid") && !str_eq(policy, "Replace")) {
        sim_cause(causes, "FieldValueNotSupported", "spec.concurrencyPolicy",
                  "Unsupported value: \"%s\": supported values: \"Allow\", \"Forbid\", \"Replace\"",
                  policy);
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
    [SIM_PVC] = {default_pvc, NULL},
    [SIM_CONFIGMAP] = {NULL, check_configmap},
    [SIM_EVENT] = {NULL, check_event},
    [SIM_DEPLOYMENT] = {default_workload, check_workload},
    [SIM_REPLICASET] = {default_workload, check_workload},
    [SIM_DAEMONSET] = {default_workload, check_workload},
    [SIM_STATEFULSET] = {default_workload, check_statefulset},
    [SIM_JOB] = {default_job, check_job},
    [SIM_CRONJOB] = {default_cronjob, check_cronjob},
    [SIM_PDB] = {NULL, check_pdb},
    [SIM_LEASE] = {NULL, check_lease},
    [SIM_NODEPOOL] = {default_custom, check_custom},
    [SIM_NODECLAIM] = {default_custom, check_custom},
    [SIM_EC2NODECLASS] = {default_custom, check_custom},
    [SIM_DISRUPTIONREQUEST] = {default_custom, check_custom},
    [SIM_DISRUPTIONGRANT] = {default_custom, check_custom},
    [SIM_HOLD] = {default_custom, check_custom},
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
    if (op->kind->flags & SIM_KIND_CUSTOM && !schema_of(op->kind)) {
        check_conditions(causes, obj);
    }
    return causes;
}

int sim_rule_admit(struct sim_op *op, const json_t *obj)
{
    const char *class = jsonx_str_or(obj, "spec.priorityClassName", "");
    if (op->kind->id == SIM_POD && class[0] &&
        !sim_api_get(op->a, SIM_PRIORITYCLASS, NULL, class)) {
        return sim_fail(op, 403, "Forbidden",
                        "pods \"%s\" is forbidden: no PriorityClass with name %s was found",
                        op->name, class);
    }
    return 0;
}

bool sim_rule_desired_changed(const struct sim_kind *k, const json_t *obj, const json_t *old)
{
    if (k->id == SIM_DEPLOYMENT && !sim_json_same(jsonx_at(obj, "metadata.annotations"),
                                                  jsonx_at(old, "metadata.annotations"))) {
        return true;
    }
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
