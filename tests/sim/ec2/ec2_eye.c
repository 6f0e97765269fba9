/* ec2_eye.c - what expectations ask. */
#include "ec2_priv.h"

static const char *cluster_uid(const struct simec2_inst *x)
{
    return json_string_value(json_object_get(x->tags, "karp.dev/cluster-uid"));
}

static const char *capacity_type(const struct simec2_inst *x)
{
    return x->pub.spot ? "spot" : "on-demand";
}

static int check_fields(const json_t *match, struct err *reterr)
{
    static const char *const known[] = {"state", "type", "zone", "capacityType", "clusterUID"};
    const char *key;
    json_t *v;
    json_object_foreach ((json_t *)match, key, v) {
        size_t i = 0;
        while (i < ARRAY_LEN(known) && !str_eq(known[i], key)) {
            i++;
        }
        if (i == ARRAY_LEN(known) || !json_is_string(v)) {
            return err_set(reterr, ERR_INVALID, "instances: unknown field \"%s\" or no text", key);
        }
    }
    return 0;
}

static bool field_is(const json_t *match, const char *key, const char *value)
{
    const char *want = jsonx_str(match, key);
    return !want || (value && str_glob(want, value));
}

int simec2_count(const struct simec2 *e, const json_t *match, size_t *ret_n, struct err *reterr)
{
    if (check_fields(match, reterr) < 0) {
        return -1;
    }
    *ret_n = 0;
    for (size_t i = 0; i < e->n_insts; i++) {
        const struct simec2_inst *x = e->insts[i];
        bool state = jsonx_str(match, "state")
                         ? field_is(match, "state", simec2_state_name(x->pub.state))
                         : simec2_inst_alive(x);
        *ret_n += state && field_is(match, "type", x->pub.type) &&
                  field_is(match, "zone", x->pub.zone) &&
                  field_is(match, "capacityType", capacity_type(x)) &&
                  field_is(match, "clusterUID", cluster_uid(x));
    }
    return 0;
}

json_t *simec2_list(const struct simec2 *e)
{
    json_t *list = json_array();
    for (size_t i = 0; i < e->n_insts; i++) {
        const struct simec2_inst *x = e->insts[i];
        char when[TIMEFMT_TEXT], price[40];
        timefmt_rfc3339(x->pub.launched_ns, when);
        simec2_dollars(x->pub.price_pusd_h > 0 ? x->pub.price_pusd_h : 0, 10, price);
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:s?, s:s, s:s, s:s?, s:O}", "id",
                            x->pub.id, "type", x->pub.type, "zone", x->pub.zone, "capacityType",
                            capacity_type(x), "state", simec2_state_name(x->pub.state), "node",
                            x->pub.node_name, "joined", x->pub.joined, "whyNotJoined",
                            x->pub.why_not_joined, "launchTime", when, "price", price, "clusterUID",
                            cluster_uid(x), "tags", x->tags));
    }
    return list;
}

int64_t simec2_cost_pusd_h(const struct simec2 *e)
{
    int64_t sum = 0;
    for (size_t i = 0; i < e->n_insts; i++) {
        const struct simec2_inst *x = e->insts[i];
        if (!simec2_inst_alive(x) || x->foreign) {
            continue;
        }
        int64_t now = simec2_offer_price(e, x->fact, x->zone_no, x->pub.spot);
        sum += now > 0 ? now : x->pub.price_pusd_h;
    }
    return sum;
}

uint64_t simec2_calls(const struct simec2 *e, const char *service, const char *action)
{
    uint64_t sum = 0;
    if (!service && !action) {
        return e->calls;
    }
    for (MAP_EACH(e->counts, m)) {
        const struct simec2_count *n = map_value(m);
        const char *key = map_key(m), *colon = strchr(key, ':');
        bool this_service =
            !service || (strlen(service) == (size_t)(colon - key) && str_starts(key, service));
        if (this_service && (!action || str_eq(action, colon + 1))) {
            sum += n->arrived;
        }
    }
    return sum;
}

json_t *simec2_call_counts(const struct simec2 *e)
{
    size_t n = 0, cap = map_count(e->counts);
    const char **keys = NEW_N(const char *, cap + 1);
    for (MAP_EACH(e->counts, m)) {
        keys[n++] = map_key(m);
    }
    qsort(keys, n, sizeof(*keys), str_qsort_cmp);
    json_t *o = json_object();
    for (size_t i = 0; i < n; i++) {
        const struct simec2_count *c = map_get(e->counts, keys[i]);
        json_object_set_new(o, keys[i], json_integer((json_int_t)c->arrived));
    }
    free(keys);
    return o;
}
