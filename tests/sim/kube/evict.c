/*
 * evict.c - the eviction subresource, as kube-apiserver's registry/core/pod/rest does it: a pod
 * that is over, not yet placed, or already going is deleted without asking; else the one
 * PodDisruptionBudget that selects it must have a disruption left, which is taken from its status
 * right here; more than one is an error (500). A budget that the disruption controller has not seen
 * yet in its present form refuses (429 with 10 s to wait).
 */
#include "api_store.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "podspec.h"

static bool condition_true(const json_t *obj, const char *type)
{
    size_t i;
    json_t *c;
    json_array_foreach (jsonx_at(obj, "status.conditions"), i, c) {
        if (str_eq(jsonx_str(c, "type"), type)) {
            return str_eq(jsonx_str(c, "status"), "True");
        }
    }
    return false;
}

static bool needs_no_budget(const json_t *pod)
{
    const char *phase = jsonx_str_or(pod, "status.phase", "Pending");
    return sim_meta(pod, "deletionTimestamp")[0] || str_eq(phase, "Succeeded") ||
           str_eq(phase, "Failed") || str_eq(phase, "Pending");
}

/* How many budgets select the pod; *ret is the first. */
static size_t budgets_of(const struct sim_api *a, const json_t *pod, struct sim_entry **ret)
{
    const struct sim_table *t = &a->tables[SIM_PDB];
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++) {
        const json_t *pdb = t->items[i]->obj;
        if (str_eq(sim_meta(pdb, "namespace"), sim_meta(pod, "namespace")) &&
            jsonsel_match_selector(jsonx_at(pdb, "spec.selector"),
                                   jsonx_at(pod, "metadata.labels"))) {
            *ret = n++ == 0 ? t->items[i] : *ret;
        }
    }
    return n;
}

static int refuse(struct sim_op *op, const char *reason, const char *message, int retry_s)
{
    sim_fail(op, 429, "TooManyRequests",
             "Cannot evict pod as it would violate the pod's disruption budget.");
    json_t *d = json_object_get(op->out, "details");
    json_object_set_new(d, "causes",
                        json_pack("[{s:s, s:s}]", "reason", reason, "message", message));
    if (retry_s > 0) {
        json_object_set_new(d, "retryAfterSeconds", json_integer(retry_s));
    }
    return op->status;
}

/* A pod that is not ready may go without taking from the budget, if the policy lets it. */
static bool unhealthy_may_go(const json_t *pdb, const json_t *pod)
{
    if (condition_true(pod, "Ready")) {
        return false;
    }
    if (str_eq(jsonx_str(pdb, "spec.unhealthyPodEvictionPolicy"), "AlwaysAllow")) {
        return true;
    }
    int64_t desired = jsonx_int(pdb, "status.desiredHealthy", 0);
    return jsonx_int(pdb, "status.currentHealthy", 0) >= desired && desired > 0;
}

static void take_one(struct sim_op *op, struct sim_entry *pdb, const char *pod)
{
    char now[TIMEFMT_TEXT];
    timefmt_rfc3339(vclock_wall(op->a->clock), now);
    json_t *obj = sim_own(pdb->obj);
    json_t *status = json_copy(json_object_get(pdb->obj, "status"));
    json_t *old = json_object_get(status, "disruptedPods");
    json_t *disrupted = old ? json_copy(old) : json_object();
    json_object_set_new(disrupted, pod, json_string(now));
    json_object_set_new(status, "disruptedPods", disrupted);
    json_object_set_new(status, "disruptionsAllowed",
                        json_integer(jsonx_int(pdb->obj, "status.disruptionsAllowed", 0) - 1));
    json_object_set_new(obj, "status", status);
    const struct sim_kind *kind = op->kind;
    op->kind = sim_kind(SIM_PDB);
    sim_store_put(op, pdb, obj);
    op->kind = kind;
}

/* 0 if the budget lets the pod go. */
static int ask_budget(struct sim_op *op, const json_t *pod)
{
    struct sim_entry *pdb = NULL;
    size_t n = budgets_of(op->a, pod, &pdb);
    if (n == 0) {
        return 0;
    }
    if (n > 1) {
        return sim_fail(op, 500, "",
                        "This pod has more than one PodDisruptionBudget, which the eviction "
                        "subresource does not support.");
    }
    const json_t *o = pdb->obj;
    if (unhealthy_may_go(o, pod)) {
        return 0;
    }
    char why[512];
    if (jsonx_int(o, "status.observedGeneration", 0) < jsonx_int(o, "metadata.generation", 0)) {
        snprintf(why, sizeof(why),
                 "The disruption budget %s is still being processed by the server.", pdb->name);
        return refuse(op, "DisruptionBudget", why, 10);
    }
    if (jsonx_int(o, "status.disruptionsAllowed", 0) <= 0) {
        snprintf(why, sizeof(why),
                 "The disruption budget %s needs %lld healthy pods and has %lld currently",
                 pdb->name, (long long)jsonx_int(o, "status.desiredHealthy", 0),
                 (long long)jsonx_int(o, "status.currentHealthy", 0));
        return refuse(op, "DisruptionBudget", why, 0);
    }
    if (!op->dry_run) {
        take_one(op, pdb, op->name);
    }
    return 0;
}

/* DisruptionTarget, as the eviction API sets it right before the deletion. */
static void mark_evicted(struct sim_op *op, struct sim_entry *e)
{
    json_t *conditions =
        sim_cond_set(jsonx_at(e->obj, "status.conditions"), "DisruptionTarget", "True",
                     "EvictionByEvictionAPI", "Eviction API: evicting", vclock_wall(op->a->clock));
    json_t *obj = sim_own(e->obj);
    json_t *old = json_object_get(e->obj, "status");
    json_t *status = old ? json_copy(old) : json_object();
    json_object_set_new(status, "conditions", conditions);
    json_object_set_new(obj, "status", status);
    sim_store_put(op, e, obj);
}

static int wrong_uid(struct sim_op *op, const struct sim_entry *e, const char *uid)
{
    char why[320];
    snprintf(why, sizeof(why),
             "the UID in the precondition (%s) does not match the UID in record (%s). The object "
             "might have been deleted and then recreated",
             uid, e->uid);
    return sim_fail_conflict(op, why);
}

int sim_op_evict(struct sim_op *op)
{
    struct sim_entry *e = sim_store_find(op->a, SIM_POD, op->ns, op->name);
    const char *name = sim_meta(op->body, "name");
    if (name[0] && !str_eq(name, op->name)) {
        return sim_fail(op, 400, "BadRequest",
                        "name in URL does not match name in Eviction object");
    }
    if (!e) {
        return sim_fail_not_found(op);
    }
    const json_t *options = json_object_get(op->body, "deleteOptions");
    const char *uid = jsonx_str_or(options, "preconditions.uid", "");
    /* The budget is asked, and taken from, before the precondition is looked at. */
    if (!needs_no_budget(e->obj) && ask_budget(op, e->obj)) {
        return op->status;
    }
    if (uid[0] && !str_eq(uid, e->uid)) {
        return wrong_uid(op, e, uid);
    }
    if (!op->dry_run && !sim_meta(e->obj, "deletionTimestamp")[0]) {
        mark_evicted(op, e);
    }
    sim_delete_entry(op, e, jsonx_int(options, "gracePeriodSeconds", -1), NULL);
    json_decref(op->out);
    op->out = json_pack("{s:s, s:s, s:{}, s:s, s:i}", "kind", "Status", "apiVersion", "v1",
                        "metadata", "status", "Success", "code", 201);
    return op->status = 201;
}
