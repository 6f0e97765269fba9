/* api_delete.c - deletion: preconditions, grace, finalizers, propagation; see api_store.h */
#include "api_store.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"

#define GRACE_DEFAULT_S 30

/* ---- one entry --------------------------------------------------------------------------------
 */

static bool pod_is_over(const json_t *pod)
{
    const char *phase = jsonx_str_or(pod, "status.phase", "");
    return str_eq(phase, "Succeeded") || str_eq(phase, "Failed");
}

/* Seconds the object may take; only pods that run somewhere may take any. */
static int64_t effective_grace(const struct sim_entry *e, int64_t grace_s)
{
    if (e->kind != SIM_POD || pod_is_over(e->obj) ||
        jsonx_str_or(e->obj, "spec.nodeName", "")[0] == '\0') {
        return 0;
    }
    return grace_s >= 0 ? grace_s
                        : jsonx_int(e->obj, "spec.terminationGracePeriodSeconds", GRACE_DEFAULT_S);
}

static void add_finalizer(json_t *meta, const char *name)
{
    json_t *old = json_object_get(meta, "finalizers");
    json_t *list = old ? json_copy(old) : json_array();
    json_array_append_new(list, json_string(name));
    json_object_set_new(meta, "finalizers", list);
}

/* Orphan and Foreground are finalizers that the garbage collector answers to. */
static void add_propagation(json_t *obj, const char *propagation)
{
    json_t *meta = json_object_get(obj, "metadata");
    if (str_eq(propagation, "Foreground")) {
        add_finalizer(meta, "foregroundDeletion");
    } else if (str_eq(propagation, "Orphan")) {
        add_finalizer(meta, "orphan");
    }
}

static void mark_deleting(const struct sim_op *op, json_t *obj, int64_t grace)
{
    char text[TIMEFMT_TEXT];
    json_t *meta = json_object_get(obj, "metadata");
    timefmt_rfc3339(vclock_wall(op->a->clock) + grace * NS_PER_S, text);
    json_object_set_new(meta, "deletionTimestamp", json_string(text));
    json_object_set_new(meta, "deletionGracePeriodSeconds", json_integer(grace));
}

static int removed(struct sim_op *op, struct sim_entry *e, json_t *obj)
{
    op->out =
        op->kind->flags & SIM_KIND_RETURNS ? json_incref(obj) : sim_status_success(op, e->uid);
    sim_store_remove(op, e, obj);
    return op->status = 200;
}

static int stored(struct sim_op *op, struct sim_entry *e, json_t *obj)
{
    op->out = json_incref(obj);
    sim_store_put(op, e, obj);
    return op->status = 200;
}

/* Already being deleted: only a shorter grace period changes anything. */
static int delete_again(struct sim_op *op, struct sim_entry *e, int64_t grace)
{
    int64_t was = jsonx_int(e->obj, "metadata.deletionGracePeriodSeconds", 0);
    if (grace >= was && was > 0) {
        op->out = json_incref(e->obj);
        return op->status = 200;
    }
    if (sim_has_finalizer(e->obj) && was == 0) {
        op->out = json_incref(e->obj);
        return op->status = 200;
    }
    json_t *obj = sim_own(e->obj);
    mark_deleting(op, obj, grace);
    if (grace == 0 && !sim_has_finalizer(obj)) {
        return removed(op, e, obj);
    }
    return stored(op, e, obj);
}

int sim_delete_entry(struct sim_op *op, struct sim_entry *e, int64_t grace_s,
                     const char *propagation)
{
    int64_t grace = effective_grace(e, grace_s);
    if (op->dry_run) {
        op->out = json_incref(e->obj);
        return op->status = 200;
    }
    if (sim_meta(e->obj, "deletionTimestamp")[0]) {
        return delete_again(op, e, grace);
    }
    json_t *obj = sim_own(e->obj);
    add_propagation(obj, propagation);
    if (grace == 0 && !sim_has_finalizer(obj)) {
        return removed(op, e, obj);
    }
    mark_deleting(op, obj, grace);
    int64_t generation = jsonx_int(obj, "metadata.generation", 0);
    if (generation > 0) {
        json_object_set_new(json_object_get(obj, "metadata"), "generation",
                            json_integer(generation + 1));
    }
    return stored(op, e, obj);
}

/* ---- requests ---------------------------------------------------------------------------------
 */

static int check_preconditions(struct sim_op *op, const struct sim_entry *e, const json_t *options)
{
    const char *uid = jsonx_str_or(options, "preconditions.uid", "");
    const char *version = jsonx_str_or(options, "preconditions.resourceVersion", "");
    char why[320];
    if (uid[0] && !str_eq(uid, e->uid)) {
        snprintf(why, sizeof(why),
                 "the UID in the precondition (%s) does not match the UID in record (%s). The "
                 "object might have been deleted and then recreated",
                 uid, e->uid);
        return sim_fail_conflict(op, why);
    }
    const char *have = sim_meta(e->obj, "resourceVersion");
    if (version[0] && !str_eq(version, have)) {
        snprintf(why, sizeof(why),
                 "the ResourceVersion in the precondition (%s) does not match the ResourceVersion "
                 "in record (%s). The object might have been modified",
                 version, have);
        return sim_fail_conflict(op, why);
    }
    return 0;
}

static bool dry(const json_t *options)
{
    return str_eq(json_string_value(json_array_get(json_object_get(options, "dryRun"), 0)), "All");
}

int sim_op_delete(struct sim_op *op)
{
    struct sim_entry *e = sim_store_find(op->a, op->kind->id, op->ns, op->name);
    if (!e) {
        return sim_fail_not_found(op);
    }
    if (check_preconditions(op, e, op->body)) {
        return op->status;
    }
    int64_t grace = jsonx_int(op->body, "gracePeriodSeconds", op->path ? op->path->grace_s : -1);
    const char *propagation =
        jsonx_str_or(op->body, "propagationPolicy", op->path ? op->path->propagation : NULL);
    op->dry_run = op->dry_run || dry(op->body);
    return sim_delete_entry(op, e, grace, propagation);
}

int sim_op_delete_collection(struct sim_op *op)
{
    if (sim_op_list(op) != 200) {
        return op->status;
    }
    json_t *list = op->out;
    op->out = NULL;
    size_t i;
    json_t *o;
    json_array_foreach (json_object_get(list, "items"), i, o) {
        struct sim_entry *e =
            sim_store_find(op->a, op->kind->id, sim_meta(o, "namespace"), sim_meta(o, "name"));
        if (e) {
            sim_delete_entry(op, e, jsonx_int(op->body, "gracePeriodSeconds", -1),
                             jsonx_str(op->body, "propagationPolicy"));
            json_decref(op->out);
            op->out = NULL;
        }
    }
    op->out = list;
    return op->status = 200;
}
