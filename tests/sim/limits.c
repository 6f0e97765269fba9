/* limits.c - see limits.h. */
#include "limits.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/map.h"
#include "common/base/quantity.h"
#include "common/base/str.h"
#include "tests/sim/kube/podspec.h"

#define CLAIMS_MAX 200000u
#define DISRUPTED "karpenter.sh/disrupted"
#define REPLACES "karp.dev/replaces"

const char *look_text(const json_t *map, const char *key)
{
    return json_string_value(json_object_get(map, key));
}

const char *look_label(const json_t *o, const char *key)
{
    return look_text(jsonx_obj(o, "metadata.labels"), key);
}

bool look_going(const json_t *o)
{
    return jsonx_str(o, "metadata.deletionTimestamp") != NULL;
}

bool look_stays(const json_t *pod)
{
    const char *phase = jsonx_str_or(pod, "status.phase", "");
    return !str_eq(phase, "Succeeded") && !str_eq(phase, "Failed") && !look_going(pod);
}

bool look_disrupted(const json_t *node)
{
    size_t i;
    json_t *t;
    json_array_foreach (jsonx_arr(node, "spec.taints"), i, t) {
        if (str_eq(jsonx_str(t, "key"), DISRUPTED)) {
            return true;
        }
    }
    return false;
}

static int64_t capacity_milli(const json_t *claim, const char *res)
{
    const char *have = look_text(jsonx_obj(claim, "status.capacity"), res);
    int64_t v;
    return str_eq(res, "nodes") ? 1000 : have && quantity_parse_milli(have, &v) ? v : 0;
}

/* The command that a claim replaces for, from its annotation: "" if none. *ret: the annotation, a
 * new reference. */
static const char *replaces(const json_t *claim, json_t **ret)
{
    const char *text = look_text(jsonx_obj(claim, "metadata.annotations"), REPLACES);
    *ret = text ? jsonx_parse(text, strlen(text), "replaces", NULL) : NULL;
    return *ret ? jsonx_str_or(*ret, "command", "") : "";
}

/* What leaves for a command: its claims that still count and whose node is tainted for it, or all
 * of them until the replacement has joined. */
static int64_t replaced_milli(const struct sim_api *api, const json_t *annotation, const char *pool,
                              const char *res, bool joined)
{
    int64_t sum = 0;
    size_t i;
    json_t *name;
    json_array_foreach (jsonx_arr(annotation, "claims"), i, name) {
        const json_t *c = sim_api_get(api, SIM_NODECLAIM, NULL, json_string_value(name));
        const char *node = c ? jsonx_str(c, "status.nodeName") : NULL;
        const json_t *n = node ? sim_api_get(api, SIM_NODE, NULL, node) : NULL;
        if (c && !look_going(c) && str_eq(look_label(c, POOL_LABEL), pool) &&
            (!joined || look_disrupted(n))) {
            sum += capacity_milli(c, res);
        }
    }
    return sum;
}

/* What a pool's claims hold twice while some of them replace others: per command the lesser of
 * both. */
static int64_t held_twice(const struct sim_api *api, const char *pool, const char *res)
{
    struct map *seen = map_new(CLAIMS_MAX);
    int64_t ret = 0;
    for (size_t i = 0; i < sim_api_count(api, SIM_NODECLAIM); i++) {
        const json_t *first = sim_api_at(api, SIM_NODECLAIM, i);
        AUTO_JSON json_t *annotation = NULL;
        const char *id = replaces(first, &annotation);
        int64_t in = 0;
        bool joined = true;
        if (!*id || map_has(seen, id)) {
            continue;
        }
        map_put(seen, id, seen, NULL);
        for (size_t k = i; k < sim_api_count(api, SIM_NODECLAIM); k++) {
            const json_t *c = sim_api_at(api, SIM_NODECLAIM, k);
            AUTO_JSON json_t *other = NULL;
            if (str_eq(replaces(c, &other), id) && !look_going(c) &&
                str_eq(look_label(c, POOL_LABEL), pool)) {
                in += capacity_milli(c, res);
                joined = joined && str_eq(sim_cond_status(c, "Registered"), "True");
            }
        }
        int64_t out = replaced_milli(api, annotation, pool, res, joined);
        ret += in < out ? in : out;
    }
    map_free(seen);
    return ret;
}

const char *limits_broken(const struct sim_api *api, const struct sim_change *c)
{
    const char *pool = look_label(c->after, POOL_LABEL), *res;
    const json_t *np = pool ? sim_api_get(api, SIM_NODEPOOL, NULL, pool) : NULL;
    json_t *limit;
    json_object_foreach (jsonx_obj(np, "spec.limits"), res, limit) {
        int64_t max, sum = 0;
        int64_t was = c->before ? capacity_milli(c->before, res) : 0;
        if (capacity_milli(c->after, res) <= was) {
            continue;
        }
        for (size_t i = 0; i < sim_api_count(api, SIM_NODECLAIM); i++) {
            const json_t *claim = sim_api_at(api, SIM_NODECLAIM, i);
            sum += str_eq(look_label(claim, POOL_LABEL), pool) && !look_going(claim)
                       ? capacity_milli(claim, res)
                       : 0;
        }
        char *text AUTO_FREE =
            json_is_string(limit) ? xstrdup(json_string_value(limit)) : jsonx_dump(limit);
        if (quantity_parse_milli(text, &max) && sum > max &&
            sum - held_twice(api, pool, res) > max) {
            return res;
        }
    }
    return NULL;
}
