#include "pdblook.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "limits.h"
#include "tests/sim/kube/podspec.h"

/* minAvailable or maxUnavailable of n pods, percents rounded up as the disruption controller does;
 * -1 if absent. */
static int64_t scaled(const json_t *pdb, const char *key, int64_t n)
{
    const json_t *v = json_object_get(json_object_get(pdb, "spec"), key);
    const char *text = json_string_value(v);
    int64_t percent;
    if (!v) {
        return -1;
    }
    if (!text) {
        return json_integer_value(v);
    }
    char *digits AUTO_FREE = xstrndup(text, strcspn(text, "%"));
    return str_parse_i64(digits, &percent) ? (n * percent + 99) / 100 : -1;
}

static bool is_ready(const json_t *pod)
{
    return str_eq(sim_cond_status(pod, "Ready"), "True");
}

bool pdb_broken(const struct sim_api *api, const json_t *pdb, const json_t *pod, char *dst,
                size_t size)
{
    const json_t *sel = jsonx_obj(pdb, "spec.selector");
    int64_t healthy = 0, n = 0;
    const char *ns = jsonx_str_or(pod, "metadata.namespace", "");
    bool covered = str_eq(jsonx_str(pdb, "metadata.namespace"), ns) && is_ready(pod) &&
                   jsonsel_match_selector(sel, jsonx_obj(pod, "metadata.labels"));
    for (size_t i = 0; covered && i < sim_api_count(api, SIM_POD); i++) {
        const json_t *p = sim_api_at(api, SIM_POD, i);
        bool same = str_eq(jsonx_str(p, "metadata.uid"), jsonx_str(pod, "metadata.uid"));
        if (str_eq(jsonx_str(p, "metadata.namespace"), ns) &&
            jsonsel_match_selector(sel, jsonx_obj(p, "metadata.labels"))) {
            n++;
            healthy += same || (is_ready(p) && look_stays(p));
        }
    }
    int64_t expected = jsonx_int(pdb, "status.expectedPods", n);
    int64_t min = scaled(pdb, "minAvailable", expected);
    int64_t max = scaled(pdb, "maxUnavailable", expected);
    int64_t wanted = min >= 0 ? min : max >= 0 ? expected - max : 0;
    if (!covered || healthy - 1 >= wanted) {
        return false;
    }
    snprintf(dst, size, "%.80s wants %lld, %lld are left", jsonx_str_or(pdb, "metadata.name", ""),
             (long long)wanted, (long long)(healthy - 1));
    return true;
}
