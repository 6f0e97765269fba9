/* disruptlook.c - see disruptlook.h. */
#include "disruptlook.h"

#include "common/base/jsonx.h"
#include "common/base/str.h"

static const char *under(const json_t *o, const char *path, const char *key)
{
    return json_string_value(json_object_get(jsonx_obj(o, path), key));
}

static const char *label(const json_t *claim, const char *key)
{
    return under(claim, "metadata.labels", key);
}

bool disruptlook_asks(const struct sim_api *api, const json_t *claim, const char *reason)
{
    const char *pool = label(claim, "karpenter.sh/nodepool");
    const json_t *o = pool ? sim_api_get(api, SIM_NODEPOOL, NULL, pool) : NULL;
    const char *asks = under(o, "metadata.annotations", "karp.dev/disruption-approval");
    if (!asks || str_eq(asks, "Off")) {
        return false;
    }
    return str_eq(asks, "Required") ? !str_eq(reason, "Empty") : str_contains(asks, reason);
}

/* -1: not known. */
static int64_t price_of(const struct simec2 *ec2, const json_t *claim)
{
    const char *type = label(claim, "node.kubernetes.io/instance-type");
    const char *zone = label(claim, "topology.kubernetes.io/zone");
    const char *ct = label(claim, "karpenter.sh/capacity-type");
    if (!type || !zone || !ct || str_eq(ct, "reserved")) {
        return -1;
    }
    int64_t price = simec2_price(ec2, type, zone, str_eq(ct, "spot"));
    return price > 0 ? price : -1;
}

static int64_t sum(int64_t a, int64_t b)
{
    return a < 0 || b < 0 ? -1 : a + b;
}

static int64_t price_of_names(const struct sim_api *api, const struct simec2 *ec2,
                              const json_t *names)
{
    int64_t ret = 0;
    size_t i;
    json_t *name;
    json_array_foreach (names, i, name) {
        const json_t *o = sim_api_get(api, SIM_NODECLAIM, NULL, json_string_value(name));
        ret = sum(ret, o ? price_of(ec2, o) : -1);
    }
    return ret;
}

bool disruptlook_dearer(const struct sim_api *api, const struct simec2 *ec2, const char *command,
                        int64_t *ret_in, int64_t *ret_out)
{
    *ret_in = *ret_out = 0;
    for (size_t i = 0; i < sim_api_count(api, SIM_NODECLAIM); i++) {
        const json_t *c = sim_api_at(api, SIM_NODECLAIM, i);
        const char *text = under(c, "metadata.annotations", "karp.dev/replaces");
        AUTO_JSON json_t *o = text ? jsonx_parse(text, strlen(text), "replaces", NULL) : NULL;
        if (o && str_eq(jsonx_str(o, "command"), command)) {
            *ret_out = price_of_names(api, ec2, jsonx_arr(o, "claims"));
            *ret_in = sum(*ret_in, price_of(ec2, c));
        }
    }
    return simec2_prices_age_ns(ec2) > DISRUPTLOOK_PRICES_NS && *ret_in > 0 && *ret_out >= 0 &&
           *ret_in > *ret_out;
}
