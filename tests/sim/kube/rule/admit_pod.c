/* admit_pod.c - see admit_pod.h. */
#include "admit_pod.h"

#include "common/base/jsonx.h"
#include "common/base/str.h"

static void set_missing(json_t *o, const char *key, json_t *value)
{
    if (json_object_get(o, key)) {
        json_decref(value);
    } else {
        json_object_set_new(o, key, value);
    }
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

/* Limits and requests of one container that a LimitRange's item gives where there are none. */
static void limit_container(json_t *c, const json_t *item)
{
    static const struct {
        const char *from, *to;
    } rows[] = {{"default", "limits"}, {"defaultRequest", "requests"}};
    set_missing(c, "resources", json_object());
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *name;
        json_t *v;
        json_t *resources = json_object_get(c, "resources");
        set_missing(resources, rows[i].to, json_object());
        json_object_foreach (json_object_get(item, rows[i].from), name, v) {
            set_missing(json_object_get(resources, rows[i].to), name, json_incref(v));
        }
    }
}

/* Admission plug-in LimitRanger. */
static void default_limits(const struct sim_api *a, const char *ns, json_t *spec)
{
    static const char *const lists[] = {"containers", "initContainers"};
    for (size_t i = 0; i < sim_api_count(a, SIM_LIMITRANGE); i++) {
        const json_t *range = sim_api_at(a, SIM_LIMITRANGE, i);
        size_t k, n;
        json_t *item, *c;
        json_array_foreach (jsonx_at(range, "spec.limits"), k, item) {
            bool fits = str_eq(sim_meta(range, "namespace"), ns) &&
                        str_eq(jsonx_str(item, "type"), "Container");
            for (size_t l = 0; fits && l < ARRAY_LEN(lists); l++) {
                json_array_foreach (json_object_get(spec, lists[l]), n, c) {
                    limit_container(c, item);
                }
            }
        }
    }
}

/* Admission plug-in RuntimeClass. */
static void default_overhead(const struct sim_api *a, json_t *spec)
{
    const char *class = jsonx_str(spec, "runtimeClassName");
    const json_t *rc = class ? sim_api_get(a, SIM_RUNTIMECLASS, NULL, class) : NULL;
    json_t *overhead = jsonx_at(rc, "overhead.podFixed");
    if (overhead) {
        json_object_set_new(spec, "overhead", json_deep_copy(overhead));
    }
}

void sim_admit_pod(const struct sim_api *a, const char *ns, json_t *spec)
{
    default_tolerations(spec);
    default_priority(a, spec);
    default_limits(a, ns, spec);
    default_overhead(a, spec);
}
