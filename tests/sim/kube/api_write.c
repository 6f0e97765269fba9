/* api_write.c - create, update, patch, bind; see api_store.h */
#include "api_store.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"

#include <ctype.h>

#define NAME_MAX_BYTES 253
#define GENERATED_MAX 58 /* + 5 of suffix = 63 */

/* ---- the body ---------------------------------------------------------------------------------
 */

static int check_type(struct sim_op *op, const json_t *body)
{
    if (!json_is_object(body)) {
        return sim_fail(op, 400, "BadRequest", "the body is no object");
    }
    const char *kind = jsonx_str(body, "kind");
    const char *api_version = jsonx_str(body, "apiVersion");
    if ((kind && !str_eq(kind, op->kind->kind)) ||
        (api_version && !str_eq(api_version, op->kind->api_version))) {
        return sim_fail(op, 400, "BadRequest",
                        "%s in version \"%s\" cannot be handled as a %s in version \"%s\"",
                        kind ? kind : "", api_version ? api_version : "", op->kind->kind,
                        op->kind->api_version);
    }
    const json_t *meta = json_object_get(body, "metadata");
    if (meta && !json_is_object(meta)) {
        return sim_fail(op, 400, "BadRequest", "metadata is no object");
    }
    return 0;
}

/* RFC 1123 subdomain. */
static bool name_ok(const char *s)
{
    size_t n = strlen(s);
    if (n == 0 || n > NAME_MAX_BYTES) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        bool alnum = islower((unsigned char)s[i]) || isdigit((unsigned char)s[i]);
        bool edge = i == 0 || i == n - 1 || s[i - 1] == '.' || s[i + 1] == '.';
        if (!alnum && (edge || (s[i] != '-' && s[i] != '.'))) {
            return false;
        }
    }
    return true;
}

static void generate_name(struct sim_op *op, json_t *meta)
{
    const char *base = jsonx_str_or(meta, "generateName", "");
    char name[GENERATED_MAX + 8], suffix[8];
    do {
        entropy_suffix(&op->a->chance, suffix, 5);
        snprintf(name, sizeof(name), "%.*s%s", GENERATED_MAX, base, suffix);
    } while (sim_store_find(op->a, op->kind->id, op->ns, name));
    json_object_set_new(meta, "name", json_string(name));
}

/* ---- create -----------------------------------------------------------------------------------
 */

static int place_in_namespace(struct sim_op *op, json_t *meta)
{
    if (!(op->kind->flags & SIM_KIND_NAMESPACED)) {
        json_object_del(meta, "namespace");
        return 0;
    }
    const char *ns = json_string_value(json_object_get(meta, "namespace"));
    if (op->ns[0] == '\0' || (ns && ns[0] && !str_eq(ns, op->ns))) {
        return sim_fail(op, 400, "BadRequest",
                        "the namespace of the provided object does not match the namespace sent "
                        "on the request");
    }
    json_object_set_new(meta, "namespace", json_string(op->ns));
    if (!sim_store_find(op->a, SIM_NAMESPACE, NULL, op->ns)) {
        return sim_fail(op, 404, "NotFound", "namespaces \"%s\" not found", op->ns);
    }
    return 0;
}

static int give_name(struct sim_op *op, json_t *meta)
{
    const char *name = jsonx_str_or(meta, "name", "");
    if (name[0] == '\0' && jsonx_str_or(meta, "generateName", "")[0] != '\0') {
        generate_name(op, meta);
        name = jsonx_str_or(meta, "name", "");
    }
    op->name = name;
    if (name[0] == '\0') {
        json_t *causes = json_array();
        sim_cause(causes, "FieldValueRequired", "metadata.name",
                  "Required value: name or generateName is required");
        return sim_fail_invalid(op, causes);
    }
    if (!name_ok(name)) {
        json_t *causes = json_array();
        sim_cause(causes, "FieldValueInvalid", "metadata.name",
                  "Invalid value: \"%s\": a lowercase RFC 1123 subdomain must consist of lower "
                  "case alphanumeric characters, '-' or '.'",
                  name);
        return sim_fail_invalid(op, causes);
    }
    return 0;
}

static void stamp_new(struct sim_op *op, json_t *obj)
{
    char uid[37], now[TIMEFMT_TEXT];
    json_t *meta = json_object_get(obj, "metadata");
    static const char *const not_yours[] = {"deletionTimestamp", "deletionGracePeriodSeconds",
                                            "selfLink",          "resourceVersion",
                                            "generation",        "managedFields"};
    for (size_t i = 0; i < ARRAY_LEN(not_yours); i++) {
        json_object_del(meta, not_yours[i]);
    }
    entropy_uuid(&op->a->chance, uid);
    timefmt_rfc3339(vclock_wall(op->a->clock), now);
    json_object_set_new(meta, "uid", json_string(uid));
    json_object_set_new(meta, "creationTimestamp", json_string(now));
    if (op->kind->flags & SIM_KIND_GENERATION) {
        json_object_set_new(meta, "generation", json_integer(1));
    }
    if (op->kind->flags & SIM_KIND_STATUS && !(op->kind->flags & SIM_KIND_KEEP_STATUS)) {
        json_object_del(obj, "status");
    }
}

/* Fills obj, the request's own copy, up to what would be stored. */
static int prepare_new(struct sim_op *op, json_t *obj)
{
    json_t *meta = json_object_get(obj, "metadata");
    if (!meta) {
        meta = json_object();
        json_object_set_new(obj, "metadata", meta);
    }
    json_object_set_new(obj, "apiVersion", json_string(op->kind->api_version));
    json_object_set_new(obj, "kind", json_string(op->kind->kind));
    if (place_in_namespace(op, meta) || give_name(op, meta)) {
        return op->status;
    }
    if (jsonx_str_or(meta, "resourceVersion", "")[0]) {
        return sim_fail(op, 500, "InternalError",
                        "resourceVersion should not be set on objects to be created");
    }
    stamp_new(op, obj);
    sim_rule_default(op, obj, NULL);
    json_t *causes = sim_rule_check(op, obj, NULL);
    if (json_array_size(causes) > 0) {
        return sim_fail_invalid(op, causes);
    }
    json_decref(causes);
    return 0;
}

static int store_new(struct sim_op *op, json_t *obj)
{
    if (sim_store_find(op->a, op->kind->id, op->ns, op->name)) {
        sim_fail(op, 409, "AlreadyExists", "%s%s%s \"%s\" already exists", op->kind->plural,
                 op->kind->group[0] ? "." : "", op->kind->group, op->name);
        op->name = "";
        json_decref(obj);
        return op->status;
    }
    if (op->a->tables[op->kind->id].n >= SIM_API_OBJECTS_MAX) {
        op->name = "";
        json_decref(obj);
        return sim_fail(op, 500, "InternalError", "etcdserver: mvcc: database space exceeded");
    }
    op->out = op->dry_run ? obj : json_incref(sim_store_add(op, obj)->obj);
    return op->status = 201;
}

int sim_op_create(struct sim_op *op)
{
    if (check_type(op, op->body)) {
        return op->status;
    }
    json_t *obj = json_deep_copy(op->body);
    if (prepare_new(op, obj) || sim_rule_admit(op, obj)) {
        /* The name that the answer tells was obj's. */
        op->name = "";
        json_decref(obj);
        return op->status;
    }
    return store_new(op, obj);
}

/* ---- update -----------------------------------------------------------------------------------
 */

static int check_locks(struct sim_op *op, const struct sim_entry *e, const json_t *next)
{
    const char *name = sim_meta(next, "name"), *ns = sim_meta(next, "namespace");
    if ((name[0] && !str_eq(name, op->name)) || (ns[0] && !str_eq(ns, op->ns))) {
        return sim_fail(op, 400, "BadRequest",
                        "the name of the object (%s) does not match the name on the URL (%s)", name,
                        op->name);
    }
    const char *uid = sim_meta(next, "uid");
    if (uid[0] && !str_eq(uid, e->uid) && str_eq(op->verb, "patch")) {
        json_t *causes = json_array();
        sim_cause(causes, "FieldValueInvalid", "metadata.uid",
                  "Invalid value: \"%s\": field is immutable", uid);
        return sim_fail_invalid(op, causes);
    }
    if (uid[0] && !str_eq(uid, e->uid)) {
        char why[256];
        snprintf(why, sizeof(why),
                 "StorageError: invalid object, Precondition failed: UID in precondition: %s, UID "
                 "in object meta: %s",
                 uid, e->uid);
        return sim_fail_conflict(op, why);
    }
    const char *version = sim_meta(next, "resourceVersion");
    if (version[0] && !str_eq(version, sim_meta(e->obj, "resourceVersion"))) {
        return sim_fail_conflict(op, "the object has been modified; please apply your changes to "
                                     "the latest version and try again");
    }
    return 0;
}

/* What a client cannot change. result's metadata is its own. */
static void keep_system_fields(const struct sim_entry *e, json_t *result)
{
    static const char *const kept[] = {
        "name",       "namespace",         "uid",
        "generation", "creationTimestamp", "deletionTimestamp",
        "selfLink",   "resourceVersion",   "deletionGracePeriodSeconds"};
    const json_t *old = json_object_get(e->obj, "metadata");
    json_t *meta = json_object_get(result, "metadata");
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        json_t *v = json_object_get(old, kept[i]);
        sim_set(meta, kept[i], json_incref(v));
    }
    json_object_set(result, "apiVersion", json_object_get(e->obj, "apiVersion"));
    json_object_set(result, "kind", json_object_get(e->obj, "kind"));
}

/* The stored object with next's status; of built-in kinds also its labels and annotations. */
static json_t *with_status(const struct sim_op *op, const struct sim_entry *e, const json_t *next)
{
    json_t *result = sim_own(e->obj);
    sim_set(result, "status", json_incref(json_object_get(next, "status")));
    if (!(op->kind->flags & SIM_KIND_CUSTOM)) {
        json_t *meta = json_object_get(result, "metadata");
        const json_t *from = json_object_get(next, "metadata");
        sim_set(meta, "labels", json_incref(json_object_get(from, "labels")));
        sim_set(meta, "annotations", json_incref(json_object_get(from, "annotations")));
    }
    return result;
}

static json_t *without_status(const struct sim_op *op, const struct sim_entry *e, json_t *next)
{
    json_t *result = sim_own(next);
    if (op->kind->flags & SIM_KIND_STATUS) {
        sim_set(result, "status", json_incref(json_object_get(e->obj, "status")));
    }
    return result;
}

static bool in_array(const json_t *array, const json_t *value)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        if (json_equal(json_array_get(array, i), value)) {
            return true;
        }
    }
    return false;
}

static void check_finalizers(const struct sim_entry *e, const json_t *result, json_t *causes)
{
    if (sim_meta(e->obj, "deletionTimestamp")[0] == '\0') {
        return;
    }
    const json_t *old = jsonx_at(e->obj, "metadata.finalizers");
    size_t i;
    json_t *f;
    json_array_foreach (jsonx_at(result, "metadata.finalizers"), i, f) {
        if (!in_array(old, f)) {
            sim_cause(causes, "FieldValueForbidden", "metadata.finalizers",
                      "Forbidden: no new finalizers can be added if the object is being deleted, "
                      "found new finalizers []string{\"%s\"}",
                      json_is_string(f) ? json_string_value(f) : "");
        }
    }
}

/* Defaults, validation, generation; 0 or the refusal's status. */
static int prepare_update(struct sim_op *op, const struct sim_entry *e, json_t *result)
{
    bool desired = sim_rule_desired_changed(op->kind, result, e->obj);
    if (desired && !op->sub[0]) {
        json_t *spec = json_object_get(result, "spec");
        sim_set(result, "spec", spec ? json_deep_copy(spec) : NULL);
        sim_rule_default(op, result, e->obj);
        desired = sim_rule_desired_changed(op->kind, result, e->obj);
    }
    if (str_eq(op->sub, "status")) {
        sim_rule_status(op->kind, result);
    }
    json_t *causes = sim_rule_check(op, result, e->obj);
    check_finalizers(e, result, causes);
    if (json_array_size(causes) > 0) {
        return sim_fail_invalid(op, causes);
    }
    json_decref(causes);
    if (desired && op->kind->flags & SIM_KIND_GENERATION) {
        json_object_set_new(json_object_get(result, "metadata"), "generation",
                            json_integer(jsonx_int(e->obj, "metadata.generation", 0) + 1));
    }
    return 0;
}

static int store_update(struct sim_op *op, struct sim_entry *e, json_t *result)
{
    bool deleting = sim_meta(result, "deletionTimestamp")[0] != '\0';
    int64_t grace = jsonx_int(result, "metadata.deletionGracePeriodSeconds", 0);
    op->status = 200;
    if (json_equal(result, e->obj) || op->dry_run) {
        op->out = op->dry_run ? result : json_incref(e->obj);
        if (!op->dry_run) {
            json_decref(result);
        }
    } else if (deleting && grace == 0 && !sim_has_finalizer(result)) {
        op->out = json_incref(result);
        sim_store_remove(op, e, result);
    } else {
        op->out = json_incref(result);
        sim_store_put(op, e, result);
    }
    return 200;
}

/* next: what the client wants the object to be; borrowed. */
static int update_to(struct sim_op *op, struct sim_entry *e, json_t *next)
{
    bool status = str_eq(op->sub, "status");
    if (check_type(op, next) || check_locks(op, e, next)) {
        return op->status;
    }
    json_t *result = status ? with_status(op, e, next) : without_status(op, e, next);
    keep_system_fields(e, result);
    if (prepare_update(op, e, result)) {
        json_decref(result);
        return op->status;
    }
    return store_update(op, e, result);
}

/* The entry a write is for; NULL with the refusal set. */
static struct sim_entry *target(struct sim_op *op)
{
    bool sub_ok =
        op->sub[0] == '\0' || (str_eq(op->sub, "status") && op->kind->flags & SIM_KIND_STATUS);
    if (!sub_ok) {
        sim_fail(op, 404, "NotFound", "the server could not find the requested resource");
        return NULL;
    }
    struct sim_entry *e = sim_store_find(op->a, op->kind->id, op->ns, op->name);
    if (!e) {
        sim_fail_not_found(op);
    }
    return e;
}

int sim_op_update_to(struct sim_op *op, json_t *next)
{
    return update_to(op, target(op), next);
}

int sim_op_update(struct sim_op *op)
{
    if (str_eq(op->sub, "scale")) {
        return sim_op_scale(op);
    }
    struct sim_entry *e = target(op);
    if (!e || check_type(op, op->body)) {
        return op->status;
    }
    bool must_lock = op->kind->flags & SIM_KIND_CUSTOM || op->kind->id == SIM_LEASE;
    if (must_lock && sim_meta(op->body, "resourceVersion")[0] == '\0') {
        json_t *causes = json_array();
        sim_cause(causes, "FieldValueInvalid", "metadata.resourceVersion",
                  "Invalid value: 0: must be specified for an update");
        return sim_fail_invalid(op, causes);
    }
    return update_to(op, e, op->body);
}

int sim_op_patch(struct sim_op *op)
{
    if (str_eq(op->sub, "scale")) {
        return sim_op_scale(op);
    }
    struct sim_entry *e = target(op);
    if (!e) {
        return op->status;
    }
    if (!json_is_object(op->body)) {
        return sim_fail(op, 400, "BadRequest", "a merge patch is an object");
    }
    json_t *next = sim_merge(e->obj, op->body);
    int code = update_to(op, e, next);
    json_decref(next);
    return code;
}

/* ---- binding ----------------------------------------------------------------------------------
 */

static json_t *bound_conditions(const struct sim_op *op, const json_t *pod)
{
    char now[TIMEFMT_TEXT];
    timefmt_rfc3339(vclock_wall(op->a->clock), now);
    json_t *out = json_array();
    size_t i;
    json_t *c;
    json_array_foreach (jsonx_at(pod, "status.conditions"), i, c) {
        if (!str_eq(jsonx_str(c, "type"), "PodScheduled")) {
            json_array_append(out, c);
        }
    }
    json_array_append_new(out, json_pack("{s:s, s:s, s:n, s:s}", "type", "PodScheduled", "status",
                                         "True", "lastProbeTime", "lastTransitionTime", now));
    return out;
}

int sim_op_bind(struct sim_op *op)
{
    struct sim_entry *e = sim_store_find(op->a, SIM_POD, op->ns, op->name);
    if (!e) {
        return sim_fail_not_found(op);
    }
    const char *node = jsonx_str_or(op->body, "target.name", "");
    const char *bound = jsonx_str_or(e->obj, "spec.nodeName", "");
    if (node[0] == '\0') {
        return sim_fail(op, 400, "BadRequest", "target.name is missing");
    }
    if (bound[0]) {
        char why[320];
        snprintf(why, sizeof(why), "pod %s is already assigned to node \"%s\"", op->name, bound);
        return sim_fail_conflict(op, why);
    }
    if (sim_meta(e->obj, "deletionTimestamp")[0]) {
        char why[320];
        snprintf(why, sizeof(why), "pod %s is being deleted, cannot be assigned to a host",
                 op->name);
        return sim_fail_conflict(op, why);
    }
    json_t *obj = sim_own(e->obj);
    json_t *spec = json_copy(json_object_get(e->obj, "spec"));
    json_object_set_new(spec, "nodeName", json_string(node));
    json_object_set_new(obj, "spec", spec);
    json_t *old_status = json_object_get(e->obj, "status");
    json_t *status = old_status ? json_copy(old_status) : json_object();
    json_object_set_new(status, "conditions", bound_conditions(op, e->obj));
    json_object_set_new(obj, "status", status);
    sim_store_put(op, e, obj);
    op->out = sim_status_success(op, "");
    return op->status = 201;
}
