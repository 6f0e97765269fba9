/* api_status.c - refusals as Kubernetes words them; see api_store.h */
#include "api_store.h"
#include "common/base/alloc.h"

#include <stdarg.h>

json_t *sim_status_new(int code, const char *reason, const char *message)
{
    return json_pack("{s:s, s:s, s:{}, s:s, s:s, s:s, s:i}", "kind", "Status", "apiVersion", "v1",
                     "metadata", "status", "Failure", "message", message, "reason", reason, "code",
                     code);
}

static json_t *details(const struct sim_op *op)
{
    json_t *d = json_object();
    if (op->name[0]) {
        json_object_set_new(d, "name", json_string(op->name));
    }
    if (op->kind->group[0]) {
        json_object_set_new(d, "group", json_string(op->kind->group));
    }
    json_object_set_new(d, "kind", json_string(op->kind->plural));
    return d;
}

static int answer(struct sim_op *op, int code, json_t *status)
{
    if (op->kind) {
        json_t *d = json_object_get(status, "details");
        json_t *common = details(op);
        if (d) {
            json_object_update_missing(d, common);
            json_decref(common);
        } else {
            json_object_set_new(status, "details", common);
        }
    }
    json_decref(op->out);
    op->out = status;
    op->status = code;
    return code;
}

int sim_fail(struct sim_op *op, int code, const char *reason, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return answer(op, code, sim_status_new(code, reason, text));
}

/* "nodeclaims.karpenter.sh", "pods" */
static char *qualified(const struct sim_kind *k)
{
    return k->group[0] ? xasprintf("%s.%s", k->plural, k->group) : xstrdup(k->plural);
}

int sim_fail_not_found(struct sim_op *op)
{
    AUTO_FREE char *what = qualified(op->kind);
    return sim_fail(op, 404, "NotFound", "%s \"%s\" not found", what, op->name);
}

int sim_fail_conflict(struct sim_op *op, const char *why)
{
    AUTO_FREE char *what = qualified(op->kind);
    return sim_fail(op, 409, "Conflict", "Operation cannot be fulfilled on %s \"%s\": %s", what,
                    op->name, why);
}

int sim_fail_version(struct sim_op *op, int64_t wanted)
{
    return sim_fail(op, 410, "Expired", "too old resource version: %lld (%lld)", (long long)wanted,
                    (long long)op->a->version);
}

void sim_cause(json_t *causes, const char *reason, const char *field, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    json_array_append_new(
        causes, json_pack("{s:s, s:s, s:s}", "reason", reason, "message", text, "field", field));
}

/* "field: message", or "[a: x, b: y]" when there are several. */
static void join_causes(const json_t *causes, char *dst, size_t size)
{
    size_t n = json_array_size(causes), at = 0;
    for (size_t i = 0; i < n && at < size; i++) {
        const json_t *c = json_array_get(causes, i);
        const char *field = json_string_value(json_object_get(c, "field"));
        const char *message = json_string_value(json_object_get(c, "message"));
        int got = snprintf(dst + at, size - at, "%s%s: %s%s",
                           i       ? ", "
                           : n > 1 ? "["
                                   : "",
                           field, message, n > 1 && i == n - 1 ? "]" : "");
        at += got > 0 ? (size_t)got : 0;
    }
}

int sim_fail_invalid(struct sim_op *op, json_t *causes)
{
    char text[768] = "", message[1024];
    join_causes(causes, text, sizeof(text));
    const struct sim_kind *k = op->kind;
    snprintf(message, sizeof(message), "%s%s%s \"%s\" is invalid: %s", k->kind,
             k->group[0] ? "." : "", k->group, op->name, text);
    json_t *status = sim_status_new(422, "Invalid", message);
    json_t *d = json_object();
    json_object_set_new(d, "name", json_string(op->name));
    json_object_set_new(d, "kind", json_string(k->kind));
    json_object_set_new(d, "causes", causes);
    json_object_set_new(status, "details", d);
    return answer(op, 422, status);
}

json_t *sim_status_success(const struct sim_op *op, const char *uid)
{
    json_t *d = details(op);
    if (uid && uid[0]) {
        json_object_set_new(d, "uid", json_string(uid));
    }
    return json_pack("{s:s, s:s, s:{}, s:s, s:o}", "kind", "Status", "apiVersion", "v1", "metadata",
                     "status", "Success", "details", d);
}
