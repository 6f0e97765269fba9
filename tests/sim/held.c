/* held.c - see held.h. */
#include "held.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"

#define HELD_MAX 100000u

struct sim_held {
    const struct sim_world *world;
    struct map *since; /* name → when it came to say what it says (int64_t *) */
};

static void says(struct sim_held *h, const json_t *hold)
{
    int64_t *at = NEW(int64_t);
    *at = vclock_wall(&h->world->clock);
    free(map_put(h->since, jsonx_str_or(hold, "metadata.name", ""), at, NULL));
}

struct sim_held *held_new(const struct sim_world *w)
{
    struct sim_held *h = NEW(struct sim_held);
    h->world = w;
    h->since = map_new(HELD_MAX);
    for (size_t i = 0; i < sim_api_count(w->api, SIM_HOLD); i++) {
        says(h, sim_api_at(w->api, SIM_HOLD, i));
    }
    return h;
}

void held_free(struct sim_held *h)
{
    if (h) {
        for (MAP_EACH(h->since, e)) {
            free(map_value(e));
        }
        map_free(h->since);
        free(h);
    }
}

void held_change(struct sim_held *h, const struct sim_change *c)
{
    if (c->type == KUBE_DELETED) {
        free(map_del(h->since, jsonx_str_or(c->before, "metadata.name", "")));
    } else if (!c->before ||
               !json_equal(json_object_get(c->before, "spec"), json_object_get(c->after, "spec"))) {
        says(h, c->after);
    }
}

static bool in_force(const struct sim_held *h, const json_t *hold, int64_t now_ns)
{
    const int64_t *since = map_get(h->since, jsonx_str_or(hold, "metadata.name", ""));
    const char *until = jsonx_str(hold, "spec.until");
    int64_t end_ns = INT64_MAX;
    bool ends = until && timefmt_parse_rfc3339(until, &end_ns);
    return since && now_ns - *since > HELD_GRACE_NS &&
           !jsonx_str(hold, "metadata.deletionTimestamp") &&
           !(ends && end_ns <= now_ns + HELD_GRACE_NS);
}

static bool named(const json_t *hold, const char *kind, const char *name)
{
    return str_eq(jsonx_str(hold, "spec.target.kind"), kind) &&
           (!name || str_eq(jsonx_str(hold, "spec.target.name"), name));
}

static const char *pool_of(const json_t *claim)
{
    const json_t *labels = jsonx_obj(claim, "metadata.labels");
    const char *pool = json_string_value(json_object_get(labels, "karpenter.sh/nodepool"));
    return pool ? pool : "";
}

static bool about_node(const json_t *hold, const json_t *claim)
{
    return named(hold, "Cluster", NULL) || named(hold, "NodePool", pool_of(claim)) ||
           named(hold, "NodeClaim", jsonx_str_or(claim, "metadata.name", "")) ||
           named(hold, "Node", jsonx_str_or(claim, "status.nodeName", ""));
}

static bool about_launches(const json_t *hold, const json_t *claim)
{
    return str_eq(jsonx_str(hold, "spec.scope"), "All") &&
           (named(hold, "Cluster", NULL) || named(hold, "NodePool", pool_of(claim)));
}

static const char *find(const struct sim_held *h, const json_t *claim, int64_t at_ns,
                        bool (*about)(const json_t *hold, const json_t *claim))
{
    for (size_t i = 0; i < sim_api_count(h->world->api, SIM_HOLD); i++) {
        const json_t *hold = sim_api_at(h->world->api, SIM_HOLD, i);
        if (in_force(h, hold, at_ns) && about(hold, claim)) {
            return jsonx_str_or(hold, "metadata.name", "");
        }
    }
    return NULL;
}

static bool is_forced(const json_t *claim)
{
    size_t i;
    json_t *c;
    json_array_foreach (jsonx_arr(claim, "status.conditions"), i, c) {
        if (str_eq(jsonx_str(c, "type"), "DisruptionReason") &&
            (str_eq(jsonx_str(c, "reason"), "Expired") ||
             str_eq(jsonx_str(c, "reason"), "Unhealthy"))) {
            return true;
        }
    }
    return false;
}

/* Forceful expiry and repair mark what they have ordered already. */
static const char *against_force(const struct sim_held *h, const struct sim_change *c)
{
    int64_t at_ns;
    const char *at = jsonx_str(c->after, "metadata.deletionTimestamp");
    bool now = at && is_forced(c->after) && !is_forced(c->before);
    return now && timefmt_parse_rfc3339(at, &at_ns) ? find(h, c->after, at_ns, about_node) : NULL;
}

const char *held_against(const struct sim_held *h, const struct sim_change *c, bool removal)
{
    int64_t now_ns = vclock_wall(&h->world->clock);
    if (removal) {
        return find(h, c->before, now_ns, about_node);
    }
    if (c->type == KUBE_DELETED) {
        return NULL;
    }
    return c->before ? against_force(h, c) : find(h, c->after, now_ns, about_launches);
}

bool held_launches(const struct sim_held *h)
{
    int64_t now_ns = vclock_wall(&h->world->clock);
    for (size_t i = 0; i < sim_api_count(h->world->api, SIM_HOLD); i++) {
        const json_t *hold = sim_api_at(h->world->api, SIM_HOLD, i);
        if (in_force(h, hold, now_ns) && str_eq(jsonx_str(hold, "spec.scope"), "All")) {
            return true;
        }
    }
    return false;
}
