/* consentlook.c - see consentlook.h. */
#include "consentlook.h"

#include "common/base/clock.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"

static int64_t time_of(const json_t *o, const char *path, int64_t otherwise_ns)
{
    int64_t ret = otherwise_ns;
    const char *text = jsonx_str(o, path);
    return text && timefmt_parse_rfc3339(text, &ret) ? ret : otherwise_ns;
}

static bool lists(const json_t *list, const char *text)
{
    size_t i;
    json_t *v;
    json_array_foreach ((json_t *)(uintptr_t)list, i, v) {
        if (str_eq(json_string_value(v), text) || str_eq(json_string_value(v), "*")) {
            return true;
        }
    }
    return false;
}

static bool names_claim(const json_t *request, const char *uid)
{
    size_t i;
    json_t *c;
    json_array_foreach (jsonx_arr(request, "spec.candidates"), i, c) {
        if (str_eq(jsonx_str(c, "uid"), uid)) {
            return true;
        }
    }
    return false;
}

/* ---- agreed to ---------------------------------------------------------------------------------
 */

static bool approved(const json_t *o, int64_t begun_ns)
{
    return str_eq(jsonx_str(o, "spec.decision"), "Approved") &&
           time_of(o, "spec.notBefore", 0) <= begun_ns &&
           begun_ns < time_of(o, "spec.expiresAt", 0);
}

static double price_in(const json_t *o)
{
    double sum = 0;
    size_t i;
    json_t *in;
    json_array_foreach (jsonx_arr(o, "spec.replacements"), i, in) {
        sum += strtod(jsonx_str_or(in, "pricePerHour", "0"), NULL);
    }
    return sum;
}

static bool inherited(const struct sim_api *api, const json_t *o, int64_t begun_ns)
{
    const char *name = jsonx_str(o, "spec.supersedes");
    const json_t *from = name ? sim_api_get(api, SIM_DISRUPTIONREQUEST, NULL, name) : NULL;
    size_t i;
    json_t *c;
    if (!from || !approved(from, begun_ns) || price_in(o) > price_in(from) + 1e-9) {
        return false;
    }
    json_array_foreach (jsonx_arr(o, "spec.candidates"), i, c) {
        if (!names_claim(from, jsonx_str_or(c, "uid", ""))) {
            return false;
        }
    }
    return true;
}

/* Nodes that began to leave by the grant in the hour that ends then. */
static int64_t let_go(const struct sim_api *api, const char *grant, int64_t end_ns)
{
    int64_t n = 0;
    for (size_t i = 0; i < sim_api_count(api, SIM_DISRUPTIONREQUEST); i++) {
        const json_t *o = sim_api_at(api, SIM_DISRUPTIONREQUEST, i);
        int64_t at_ns = time_of(o, "status.startedAt", 0);
        if (str_eq(jsonx_str(o, "status.grant"), grant) && at_ns > end_ns - NS_PER_H &&
            at_ns <= end_ns) {
            n += (int64_t)json_array_size(jsonx_arr(o, "spec.candidates"));
        }
    }
    return n;
}

static bool granted(const struct sim_api *api, const json_t *o, int64_t begun_ns)
{
    const char *name = jsonx_str(o, "status.grant");
    const json_t *g = name ? sim_api_get(api, SIM_DISRUPTIONGRANT, NULL, name) : NULL;
    size_t i;
    json_t *pool;
    if (!g || !lists(jsonx_arr(g, "spec.reasons"), jsonx_str_or(o, "spec.reason", "")) ||
        begun_ns >= time_of(g, "spec.expiresAt", INT64_MAX) ||
        let_go(api, name, begun_ns) > jsonx_int(g, "spec.maxNodesPerHour", INT64_MAX)) {
        return false;
    }
    json_array_foreach (jsonx_arr(o, "spec.nodePools"), i, pool) {
        if (!lists(jsonx_arr(g, "spec.pools"), json_string_value(pool))) {
            return false;
        }
    }
    return true;
}

const char *consentlook_lacks(const struct sim_api *api, const json_t *claim, const char *reason)
{
    const char *why = "nobody was asked";
    for (size_t i = 0; i < sim_api_count(api, SIM_DISRUPTIONREQUEST); i++) {
        const json_t *o = sim_api_at(api, SIM_DISRUPTIONREQUEST, i);
        int64_t begun_ns = time_of(o, "status.startedAt", 0);
        if (!names_claim(o, jsonx_str_or(claim, "metadata.uid", "")) ||
            !str_eq(jsonx_str(o, "spec.reason"), reason)) {
            continue;
        }
        if (str_eq(jsonx_str(o, "status.phase"), "Executing") &&
            (approved(o, begun_ns) || inherited(api, o, begun_ns) || granted(api, o, begun_ns))) {
            return NULL;
        }
        why = "nobody agreed to it";
    }
    return why;
}
