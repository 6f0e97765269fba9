/*
 * api_scale.c - the scale subresource of Deployments, ReplicaSets, StatefulSets and static
 * NodePools: an autoscaling/v1 Scale is read and written in place of the object. See api_store.h.
 */
#include "api_store.h"
#include "common/base/buf.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"

#define SELECTOR_MAX 4096

/* Where a kind keeps what it has; NULL if it cannot be scaled. */
static const char *status_path(const struct sim_kind *k)
{
    return k->id == SIM_DEPLOYMENT || k->id == SIM_REPLICASET || k->id == SIM_STATEFULSET
               ? "status.replicas"
           : k->id == SIM_NODEPOOL ? "status.nodes"
                                   : NULL;
}

/* "a=b,c in (d,e)" of a LabelSelector; heap. */
static char *selector_text(const json_t *selector)
{
    AUTO_BUF struct buf b = {0};
    const char *key;
    json_t *value;
    size_t i, k;
    buf_init(&b, SELECTOR_MAX);
    json_object_foreach (json_object_get(selector, "matchLabels"), key, value) {
        buf_printf(&b, "%s%s=%s", b.n ? "," : "", key, json_string_value(value));
    }
    json_array_foreach (json_object_get(selector, "matchExpressions"), i, value) {
        const char *op = jsonx_str_or(value, "operator", "");
        key = jsonx_str_or(value, "key", "");
        buf_printf(&b, "%s%s%s", b.n ? "," : "", str_eq(op, "DoesNotExist") ? "!" : "", key);
        if (str_eq(op, "In") || str_eq(op, "NotIn")) {
            json_t *one;
            buf_puts(&b, str_eq(op, "In") ? " in (" : " notin (");
            json_array_foreach (json_object_get(value, "values"), k, one) {
                buf_printf(&b, "%s%s", k ? "," : "", json_string_value(one));
            }
            buf_puts(&b, ")");
        }
    }
    return buf_take(&b);
}

static json_t *scale_of(const struct sim_kind *k, const json_t *obj)
{
    static const char *const copied[] = {"name", "namespace", "uid", "resourceVersion",
                                         "creationTimestamp"};
    json_t *meta = json_object();
    for (size_t i = 0; i < ARRAY_LEN(copied); i++) {
        json_t *v = json_object_get(json_object_get(obj, "metadata"), copied[i]);
        if (v) {
            json_object_set(meta, copied[i], v);
        }
    }
    json_t *scale = json_pack("{s:s, s:s, s:o, s:{}, s:{s:I}}", "kind", "Scale", "apiVersion",
                              "autoscaling/v1", "metadata", meta, "spec", "status", "replicas",
                              (json_int_t)jsonx_int(obj, status_path(k), 0));
    json_t *replicas = jsonx_at(obj, "spec.replicas");
    if (replicas) {
        jsonx_set_new(scale, "spec.replicas", json_incref(replicas));
    }
    const json_t *selector = jsonx_at(obj, "spec.selector");
    if (selector) {
        char *text = selector_text(selector);
        jsonx_set_new(scale, "status.selector", json_string(text));
        free(text);
    }
    return scale;
}

/* Writes through the object; scale is what the client wants it to be. */
static int write_scale(struct sim_op *op, const json_t *stored, const json_t *scale)
{
    const json_t *replicas = jsonx_at(scale, "spec.replicas");
    if (!str_eq(jsonx_str_or(scale, "kind", "Scale"), "Scale")) {
        return sim_fail(op, 400, "BadRequest", "cannot be handled as a Scale");
    }
    json_t *patch =
        json_pack("{s:{s:I}}", "spec", "replicas",
                  (json_int_t)(json_is_integer(replicas) ? json_integer_value(replicas) : 0));
    const char *version = sim_meta(scale, "resourceVersion"), *uid = sim_meta(scale, "uid");
    json_t *meta = json_object();
    if (version[0]) {
        json_object_set_new(meta, "resourceVersion", json_string(version));
    }
    if (uid[0]) {
        json_object_set_new(meta, "uid", json_string(uid));
    }
    json_object_set_new(patch, "metadata", meta);
    json_t *next = sim_merge((json_t *)stored, patch);
    json_decref(patch);
    const char *sub = op->sub;
    op->sub = "";
    sim_op_update_to(op, next);
    op->sub = sub;
    json_decref(next);
    return op->status;
}

int sim_op_scale(struct sim_op *op)
{
    if (!status_path(op->kind)) {
        return sim_fail(op, 404, "NotFound", "the server could not find the requested resource");
    }
    struct sim_entry *e = sim_store_find(op->a, op->kind->id, op->ns, op->name);
    if (!e) {
        return sim_fail_not_found(op);
    }
    if (str_eq(op->verb, "get")) {
        op->out = scale_of(op->kind, e->obj);
        return op->status = 200;
    }
    if (!json_is_object(op->body)) {
        return sim_fail(op, 400, "BadRequest", "the body is no object");
    }
    json_t *stored = json_incref(e->obj);
    json_t *was = scale_of(op->kind, stored);
    json_t *wanted = str_eq(op->verb, "patch") ? sim_merge(was, op->body) : json_incref(op->body);
    if (write_scale(op, stored, wanted) == 200) {
        json_t *now = op->out;
        op->out = scale_of(op->kind, now);
        json_decref(now);
    }
    json_decref(wanted);
    json_decref(was);
    json_decref(stored);
    return op->status;
}
