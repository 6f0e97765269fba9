/* decode_schedconfig.c - the text of --scheduler-config; see decode.h. */
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/yamlx.h"
#include "decode_priv.h"

static int only_fields(const json_t *o, const char *const *known, struct err *reterr)
{
    const char *key;
    json_t *v;
    json_object_foreach ((json_t *)(uintptr_t)o, key, v) {
        size_t i = 0;
        while (known[i] && !str_eq(known[i], key)) {
            i++;
        }
        if (!known[i]) {
            return err_set(reterr, ERR_INVALID, "%s: unknown field", key);
        }
    }
    return 0;
}

static int check_policy(const json_t *o, const char *key, struct err *reterr)
{
    const json_t *v = json_object_get(o, key);
    const char *text = json_string_value(v);
    return !v || str_eq(text, "Honor") || str_eq(text, "Ignore")
               ? 0
               : err_set(reterr, ERR_INVALID, "%s: neither Honor nor Ignore", key);
}

/* What may be left out. */
static int check_rest(const json_t *o, const char *when, struct err *reterr)
{
    if (check_policy(o, "nodeTaintsPolicy", reterr) ||
        check_policy(o, "nodeAffinityPolicy", reterr)) {
        return -1;
    }
    if (json_object_get(o, "minDomains") &&
        (jsonx_int(o, "minDomains", 0) < 1 || !str_eq(when, "DoNotSchedule"))) {
        return err_set(reterr, ERR_INVALID,
                       "minDomains: not a number above 0 beside DoNotSchedule");
    }
    return 0;
}

static int check_constraint(const json_t *o, struct err *reterr)
{
    static const char *const known[] = {"maxSkew",    "topologyKey",      "whenUnsatisfiable",
                                        "minDomains", "nodeTaintsPolicy", "nodeAffinityPolicy",
                                        NULL};
    const char *when = jsonx_str_or(o, "whenUnsatisfiable", "");
    if (!json_is_object(o)) {
        return err_set(reterr, ERR_INVALID, "not an object");
    }
    if (json_object_get(o, "labelSelector") || json_object_get(o, "matchLabelKeys")) {
        return err_set(reterr, ERR_INVALID,
                       "labelSelector and matchLabelKeys are derived from the pod's owner");
    }
    if (only_fields(o, known, reterr)) {
        return -1;
    }
    if (jsonx_int(o, "maxSkew", 0) < 1) {
        return err_set(reterr, ERR_INVALID, "maxSkew: not a number above 0");
    }
    if (!*jsonx_str_or(o, "topologyKey", "")) {
        return err_set(reterr, ERR_INVALID, "topologyKey: missing");
    }
    if (!str_eq(when, "DoNotSchedule") && !str_eq(when, "ScheduleAnyway")) {
        return err_set(reterr, ERR_INVALID,
                       "whenUnsatisfiable: neither DoNotSchedule nor ScheduleAnyway");
    }
    return check_rest(o, when, reterr);
}

static int check_twice(const struct spread *v, uint32_t n, struct err *reterr)
{
    for (uint32_t i = 0; i + 1 < n; i++) {
        if (v[i].key == v[n - 1].key && v[i].soft == v[n - 1].soft) {
            return err_set(reterr, ERR_INVALID,
                           "topologyKey and whenUnsatisfiable stand there twice");
        }
    }
    return 0;
}

static int read_list(struct decoder *d, struct arena *a, const json_t *list,
                     const struct spread **ret, uint32_t *ret_n, struct err *reterr)
{
    struct spread *v = ARENA_NEW_N(a, struct spread, json_array_size(list));
    size_t i;
    json_t *o;
    json_array_foreach ((json_t *)(uintptr_t)list, i, o) {
        if (check_constraint(o, reterr)) {
            return decode_in(reterr, "podTopologySpread.defaultConstraints[%zu]: ", i);
        }
        v[i] = decode_spread(d, a, o);
        if (check_twice(v, (uint32_t)i + 1, reterr)) {
            return decode_in(reterr, "podTopologySpread.defaultConstraints[%zu]: ", i);
        }
    }
    *ret = v;
    *ret_n = (uint32_t)json_array_size(list);
    return 0;
}

static int read_config(struct decoder *d, struct arena *a, const json_t *o,
                       const struct spread **ret, uint32_t *ret_n, struct err *reterr)
{
    static const char *const top[] = {"podTopologySpread", NULL};
    static const char *const in[] = {"defaultConstraints", NULL};
    const json_t *spread, *list;
    if (!json_is_object(o)) {
        return err_set(reterr, ERR_INVALID, "not an object");
    }
    if (only_fields(o, top, reterr) || decode_obj(o, "podTopologySpread", &spread, reterr)) {
        return -1;
    }
    if (only_fields(spread, in, reterr) ||
        decode_arr(spread, "defaultConstraints", &list, reterr)) {
        return decode_in(reterr, "podTopologySpread.");
    }
    if (json_array_size(list) > DECODE_DEFAULT_SPREADS_MAX) {
        return err_set(reterr, ERR_LIMIT, "podTopologySpread.defaultConstraints: more than %u",
                       DECODE_DEFAULT_SPREADS_MAX);
    }
    return read_list(d, a, list, ret, ret_n, reterr);
}

int decode_scheduler_config(struct decoder *d, struct arena *a, const char *text,
                            const struct spread **ret, uint32_t *ret_n, struct err *reterr)
{
    *ret = NULL;
    *ret_n = 0;
    if (!text || !*text) {
        return 0;
    }
    AUTO_JSON json_t *docs = yamlx_parse_all(text, strlen(text), "scheduler-config", NULL, reterr);
    if (!docs) {
        return -1;
    }
    if (json_array_size(docs) > 1) {
        return err_set(reterr, ERR_INVALID, "more than one document");
    }
    return json_array_size(docs) == 0
               ? 0
               : read_config(d, a, json_array_get(docs, 0), ret, ret_n, reterr);
}
