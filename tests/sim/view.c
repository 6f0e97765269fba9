#include "view.h"

#include "agent/store/store.h"
#include "common/base/jsonx.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "tests/sim/kube/api.h"

struct view {
    const struct sim_api *api;
    const struct store *s;
    enum store_kind kind;
    enum sim_kind_id in_world;
    char *dst;
    size_t size;
};

static const char *key_of(const json_t *o, char dst[600])
{
    const char *ns = jsonx_str_or(o, "metadata.namespace", "");
    snprintf(dst, 600, "%.250s%s%.300s", ns, *ns ? "/" : "", jsonx_str_or(o, "metadata.name", ""));
    return dst;
}

static bool lacks(const struct view *v, int64_t known_version)
{
    for (size_t i = 0; i < sim_api_count(v->api, v->in_world); i++) {
        const json_t *o = sim_api_at(v->api, v->in_world, i);
        char key[600];
        const struct meta *have = store_meta(v->s, v->kind, key_of(o, key));
        int64_t is = 0, knows = have ? store_version(have) : 0;
        str_parse_i64(jsonx_str_or(o, "metadata.resourceVersion", ""), &is);
        if (is <= known_version && knows != is) {
            snprintf(v->dst, v->size, "knows version %lld of %s %.200s, which is at %lld",
                     (long long)knows, store_kind_name(v->kind), key, (long long)is);
            return true;
        }
    }
    return false;
}

static bool has_what_is_gone(const struct view *v)
{
    for (MAP_EACH(store_all(v->s, v->kind), e)) {
        char ns[300] = "";
        const char *slash = strchr(map_key(e), '/');
        if (slash) {
            snprintf(ns, sizeof(ns), "%.*s", (int)(slash - map_key(e)), map_key(e));
        }
        if (!sim_api_get(v->api, v->in_world, ns, slash ? slash + 1 : map_key(e))) {
            snprintf(v->dst, v->size, "knows %s %.200s, which is gone", store_kind_name(v->kind),
                     map_key(e));
            return true;
        }
    }
    return false;
}

bool view_differs(const struct sim_api *api, const struct store *s, int64_t known_version,
                  bool with_gone, char *dst, size_t size)
{
    for (int k = 0; k < STORE_KINDS; k++) {
        const struct sim_kind *kind = sim_kind_find(store_kind_name((enum store_kind)k));
        struct view v = {.api = api, .s = s, .kind = (enum store_kind)k, .dst = dst, .size = size};
        if (!kind || !store_listed(s, v.kind)) {
            continue;
        }
        v.in_world = kind->id;
        if (lacks(&v, known_version) || (with_gone && has_what_is_gone(&v))) {
            return true;
        }
    }
    return false;
}
