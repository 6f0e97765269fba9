/* podspec.c - see podspec.h */
#include "podspec.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/quantity.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "jsonsel.h"

#define NONZERO_CPU_MILLI 100
#define NONZERO_MEM_BYTES (INT64_C(200) << 20)

/* ---- amounts ----------------------------------------------------------------------------------
 */

static bool amount(const json_t *v, bool milli, int64_t *ret)
{
    char text[32];
    const char *s = json_string_value(v);
    if (json_is_integer(v)) {
        snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, json_integer_value(v));
        s = text;
    }
    return s && (milli ? quantity_parse_milli(s, ret) : quantity_parse(s, ret));
}

static int64_t *extra_slot(struct sim_res *r, const char *name)
{
    for (size_t i = 0; i < r->n_extra; i++) {
        if (str_eq(r->extra[i].name, name)) {
            return &r->extra[i].amount;
        }
    }
    if (r->n_extra >= SIM_RES_EXTRA_MAX || strlen(name) >= SIM_RES_NAME) {
        return NULL;
    }
    str_copy(r->extra[r->n_extra].name, SIM_RES_NAME, name);
    r->extra[r->n_extra].amount = 0;
    return &r->extra[r->n_extra++].amount;
}

static int64_t *slot(struct sim_res *r, const char *name)
{
    return str_eq(name, "cpu")                 ? &r->cpu_milli
           : str_eq(name, "memory")            ? &r->mem_bytes
           : str_eq(name, "ephemeral-storage") ? &r->disk_bytes
           : str_eq(name, "pods")              ? &r->pods
                                               : extra_slot(r, name);
}

void sim_res_read(const json_t *list, struct sim_res *ret)
{
    *ret = (struct sim_res){0};
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)list, key, value) {
        int64_t *at = slot(ret, key);
        int64_t n;
        if (at && amount(value, str_eq(key, "cpu"), &n)) {
            *at = n;
        }
    }
}

void sim_res_add(struct sim_res *a, const struct sim_res *b, int sign)
{
    a->cpu_milli += sign * b->cpu_milli;
    a->mem_bytes += sign * b->mem_bytes;
    a->disk_bytes += sign * b->disk_bytes;
    a->pods += sign * b->pods;
    for (size_t i = 0; i < b->n_extra; i++) {
        int64_t *at = extra_slot(a, b->extra[i].name);
        if (at) {
            *at += sign * b->extra[i].amount;
        }
    }
}

int64_t sim_res_extra(const struct sim_res *r, const char *name)
{
    for (size_t i = 0; i < r->n_extra; i++) {
        if (str_eq(r->extra[i].name, name)) {
            return r->extra[i].amount;
        }
    }
    return 0;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void raise_to(struct sim_res *a, const struct sim_res *b)
{
    a->cpu_milli = larger(a->cpu_milli, b->cpu_milli);
    a->mem_bytes = larger(a->mem_bytes, b->mem_bytes);
    a->disk_bytes = larger(a->disk_bytes, b->disk_bytes);
    for (size_t i = 0; i < b->n_extra; i++) {
        int64_t *at = extra_slot(a, b->extra[i].name);
        if (at) {
            *at = larger(*at, b->extra[i].amount);
        }
    }
}

static bool restartable(const json_t *container)
{
    return str_eq(jsonx_str(container, "restartPolicy"), "Always");
}

void sim_res_pod(const json_t *pod_spec, struct sim_res *ret)
{
    struct sim_res one, sidecars = {0}, peak = {0};
    size_t i;
    json_t *c;
    *ret = (struct sim_res){0};
    json_array_foreach (json_object_get(pod_spec, "initContainers"), i, c) {
        sim_res_read(jsonx_at(c, "resources.requests"), &one);
        if (restartable(c)) {
            sim_res_add(&sidecars, &one, 1);
            raise_to(&peak, &sidecars);
        } else {
            sim_res_add(&one, &sidecars, 1);
            raise_to(&peak, &one);
        }
    }
    json_array_foreach (json_object_get(pod_spec, "containers"), i, c) {
        sim_res_read(jsonx_at(c, "resources.requests"), &one);
        sim_res_add(ret, &one, 1);
    }
    sim_res_add(ret, &sidecars, 1);
    raise_to(ret, &peak);
    sim_res_read(json_object_get(pod_spec, "overhead"), &one);
    sim_res_add(ret, &one, 1);
    ret->pods = 1;
}

void sim_res_pod_nonzero(const json_t *pod_spec, int64_t *ret_cpu_milli, int64_t *ret_mem_bytes)
{
    size_t i;
    json_t *c;
    *ret_cpu_milli = *ret_mem_bytes = 0;
    json_array_foreach (json_object_get(pod_spec, "containers"), i, c) {
        struct sim_res one;
        const json_t *requests = jsonx_at(c, "resources.requests");
        sim_res_read(requests, &one);
        *ret_cpu_milli += json_object_get(requests, "cpu") ? one.cpu_milli : NONZERO_CPU_MILLI;
        *ret_mem_bytes += json_object_get(requests, "memory") ? one.mem_bytes : NONZERO_MEM_BYTES;
    }
}

const char *sim_res_lacks(const struct sim_res *allocatable, const struct sim_res *used,
                          const struct sim_res *want, const char **ret_all, size_t *ret_n)
{
    const struct sim_res *a = allocatable;
    const char *all[SIM_RES_EXTRA_MAX + 4];
    size_t n = 0;
    if (want->cpu_milli > 0 && want->cpu_milli > a->cpu_milli - used->cpu_milli) {
        all[n++] = "cpu";
    }
    if (want->mem_bytes > 0 && want->mem_bytes > a->mem_bytes - used->mem_bytes) {
        all[n++] = "memory";
    }
    if (want->disk_bytes > 0 && want->disk_bytes > a->disk_bytes - used->disk_bytes) {
        all[n++] = "ephemeral-storage";
    }
    if (want->pods > a->pods - used->pods) {
        all[n++] = "pods";
    }
    for (size_t i = 0; i < want->n_extra; i++) {
        const char *name = want->extra[i].name;
        if (want->extra[i].amount > 0 &&
            want->extra[i].amount > sim_res_extra(a, name) - sim_res_extra(used, name)) {
            all[n++] = name;
        }
    }
    if (ret_all) {
        memcpy(ret_all, all, n * sizeof(*all));
        *ret_n = n;
    }
    return n ? all[0] : NULL;
}

/* ---- taints and affinity ----------------------------------------------------------------------
 */

static bool tolerates_one(const json_t *t, const json_t *taint)
{
    const char *effect = jsonx_str_or(t, "effect", "");
    const char *key = jsonx_str_or(t, "key", "");
    if (effect[0] && !str_eq(effect, jsonx_str_or(taint, "effect", ""))) {
        return false;
    }
    if (key[0] && !str_eq(key, jsonx_str_or(taint, "key", ""))) {
        return false;
    }
    const char *op = jsonx_str_or(t, "operator", "");
    if (str_eq(op, "Exists")) {
        return true;
    }
    return key[0] && str_eq(jsonx_str_or(t, "value", ""), jsonx_str_or(taint, "value", ""));
}

bool sim_tolerates(const json_t *tolerations, const json_t *taint)
{
    size_t i;
    json_t *t;
    json_array_foreach ((json_t *)tolerations, i, t) {
        if (tolerates_one(t, taint)) {
            return true;
        }
    }
    return false;
}

const json_t *sim_untolerated(const json_t *tolerations, const json_t *taints, const char *a,
                              const char *b, size_t *ret_n)
{
    const json_t *first = NULL;
    size_t i, n = 0;
    json_t *taint;
    json_array_foreach ((json_t *)taints, i, taint) {
        const char *effect = jsonx_str(taint, "effect");
        bool meant = effect && (str_eq(effect, a) || str_eq(effect, b));
        if (meant && !sim_tolerates(tolerations, taint)) {
            first = n++ == 0 ? taint : first;
        }
    }
    if (ret_n) {
        *ret_n = n;
    }
    return first;
}

bool sim_node_selected(const json_t *pod_spec, const json_t *node)
{
    const json_t *labels = jsonx_at(node, "metadata.labels");
    if (!jsonsel_match_map(json_object_get(pod_spec, "nodeSelector"), labels)) {
        return false;
    }
    const json_t *terms =
        jsonx_at(pod_spec, "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
                           "nodeSelectorTerms");
    if (!terms) {
        return true;
    }
    size_t i;
    json_t *term;
    json_array_foreach ((json_t *)terms, i, term) {
        if (jsonsel_match_node_term(term, node)) {
            return true;
        }
    }
    return false;
}

/* ---- conditions and states --------------------------------------------------------------------
 */

static const json_t *cond_in(const json_t *conditions, const char *type)
{
    size_t i;
    json_t *c;
    json_array_foreach ((json_t *)conditions, i, c) {
        if (str_eq(jsonx_str(c, "type"), type)) {
            return c;
        }
    }
    return NULL;
}

const json_t *sim_cond(const json_t *obj, const char *type)
{
    return cond_in(jsonx_at(obj, "status.conditions"), type);
}

const char *sim_cond_status(const json_t *obj, const char *type)
{
    return jsonx_str_or(sim_cond(obj, type), "status", "");
}

json_t *sim_cond_set(const json_t *conditions, const char *type, const char *status,
                     const char *reason, const char *message, int64_t now_wall_ns)
{
    char now[TIMEFMT_TEXT];
    timefmt_rfc3339(now_wall_ns, now);
    const json_t *old = cond_in(conditions, type);
    bool same = old && str_eq(jsonx_str(old, "status"), status);
    json_t *c = json_pack("{s:s, s:s, s:s}", "type", type, "status", status, "lastTransitionTime",
                          same ? jsonx_str_or(old, "lastTransitionTime", now) : now);
    if (reason) {
        json_object_set_new(c, "reason", json_string(reason));
    }
    if (message) {
        json_object_set_new(c, "message", json_string(message));
    }
    json_t *out = conditions ? json_copy((json_t *)conditions) : json_array();
    for (size_t i = 0; i < json_array_size(out); i++) {
        if (json_array_get(out, i) == old && old) {
            json_array_set_new(out, i, c);
            return out;
        }
    }
    json_array_append_new(out, c);
    return out;
}

bool sim_json_same(const json_t *a, const json_t *b)
{
    return a == b || json_equal(a, b);
}

bool sim_pod_over(const json_t *pod)
{
    const char *phase = jsonx_str_or(pod, "status.phase", "");
    return str_eq(phase, "Succeeded") || str_eq(phase, "Failed");
}

bool sim_pod_terminating(const json_t *pod)
{
    return jsonx_str(pod, "metadata.deletionTimestamp") != NULL;
}

const char *sim_pod_node(const json_t *pod)
{
    return jsonx_str_or(pod, "spec.nodeName", "");
}

const json_t *sim_controller(const json_t *obj)
{
    size_t i;
    json_t *ref;
    json_array_foreach (jsonx_at(obj, "metadata.ownerReferences"), i, ref) {
        if (jsonx_bool(ref, "controller", false)) {
            return ref;
        }
    }
    return NULL;
}
