/*
 * pdb.c - the disruption controller: keeps every PodDisruptionBudget's status by the arithmetic of
 * upstream's pkg/controller/disruption. With minAvailable as a number, what is expected is the pods
 * that match; else the sum of the replicas wished by their controllers. A pod whose eviction was
 * granted (status.disruptedPods) counts as gone until it is, at most two minutes. See workloads.h.
 */
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "tests/sim/kube/jsonsel.h"
#include "workloads_part.h"

#define WHO "disruption-controller"
#define DISRUPTED_NS (2 * NS_PER_MIN)

static json_t *matching_pods(const struct sim_workloads *c, const json_t *pdb)
{
    json_t *out = json_array();
    const char *ns = jsonx_str(pdb, "metadata.namespace");
    for (size_t i = 0; i < sim_api_count(c->w->api, SIM_POD); i++) {
        const json_t *pod = sim_api_at(c->w->api, SIM_POD, i);
        if (str_eq(jsonx_str(pod, "metadata.namespace"), ns) &&
            jsonsel_match_selector(jsonx_at(pdb, "spec.selector"),
                                   jsonx_at(pod, "metadata.labels"))) {
            json_array_append(out, (json_t *)pod);
        }
    }
    return out;
}

/* The scalable above a pod: its controller, or the Deployment above its ReplicaSet. */
static const json_t *scalable(const struct sim_workloads *c, const json_t *pod)
{
    const json_t *ref = sim_controller(pod);
    const json_t *owner =
        ref ? sim_api_get_uid(c->w->api, jsonx_str_or(ref, "uid", ""), NULL) : NULL;
    const json_t *above = owner ? sim_controller(owner) : NULL;
    const json_t *top =
        above ? sim_api_get_uid(c->w->api, jsonx_str_or(above, "uid", ""), NULL) : NULL;
    return top ? top : owner;
}

/* False if a pod has no controller that can be scaled: then nothing may be disrupted. */
static bool expected_of_controllers(const struct sim_workloads *c, const json_t *pods, int64_t *ret)
{
    json_t *seen = json_object();
    size_t i;
    json_t *pod;
    bool ok = true;
    *ret = 0;
    json_array_foreach ((json_t *)pods, i, pod) {
        const json_t *top = scalable(c, pod);
        const json_t *replicas = jsonx_at(top, "spec.replicas");
        const char *uid = jsonx_str_or(top, "metadata.uid", "");
        ok = ok && json_is_integer(replicas);
        if (json_is_integer(replicas) && !json_object_get(seen, uid)) {
            json_object_set_new(seen, uid, json_true());
            *ret += json_integer_value(replicas);
        }
    }
    json_decref(seen);
    return ok;
}

struct budget {
    int64_t expected, desired, healthy, allowed;
    json_t *disrupted; /* what is left of it */
};

static bool read_wish(const struct sim_workloads *c, const json_t *pdb, const json_t *pods,
                      struct budget *b)
{
    const json_t *min = jsonx_at(pdb, "spec.minAvailable");
    const json_t *max = jsonx_at(pdb, "spec.maxUnavailable");
    if (json_is_integer(min)) {
        b->expected = (int64_t)json_array_size(pods);
        b->desired = json_integer_value(min);
        return true;
    }
    bool ok = expected_of_controllers(c, pods, &b->expected);
    if (max) {
        b->desired = b->expected - sim_int_or_percent(max, b->expected, true, 0);
        b->desired = b->desired < 0 ? 0 : b->desired;
    } else {
        b->desired = sim_int_or_percent(min, b->expected, true, b->expected);
    }
    return ok;
}

/* Whether the eviction that was granted to the pod still counts. */
static bool still_disrupted(const struct sim_workloads *c, const json_t *pdb, const json_t *pod)
{
    int64_t at;
    const char *s = json_string_value(json_object_get(jsonx_at(pdb, "status.disruptedPods"),
                                                      jsonx_str_or(pod, "metadata.name", "")));
    return s && timefmt_parse_rfc3339(s, &at) && vclock_wall(&c->w->clock) < at + DISRUPTED_NS;
}

static void count_healthy(const struct sim_workloads *c, const json_t *pdb, const json_t *pods,
                          struct budget *b)
{
    size_t i;
    json_t *pod;
    json_array_foreach ((json_t *)pods, i, pod) {
        if (sim_pod_terminating(pod)) {
            continue;
        }
        const char *name = jsonx_str_or(pod, "metadata.name", "");
        if (still_disrupted(c, pdb, pod)) {
            json_object_set(b->disrupted, name,
                            json_object_get(jsonx_at(pdb, "status.disruptedPods"), name));
        } else {
            b->healthy += sim_pod_ready(pod);
        }
    }
}

static json_t *status_of(const struct sim_workloads *c, const json_t *pdb, const struct budget *b)
{
    bool allowed = b->allowed > 0;
    json_t *conditions = sim_cond_set(
        jsonx_at(pdb, "status.conditions"), "DisruptionAllowed", allowed ? "True" : "False",
        allowed ? "SufficientPods" : "InsufficientPods", "", vclock_wall(&c->w->clock));
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:o, s:O}", "currentHealthy",
                     (json_int_t)b->healthy, "desiredHealthy", (json_int_t)b->desired,
                     "disruptionsAllowed", (json_int_t)b->allowed, "expectedPods",
                     (json_int_t)b->expected, "observedGeneration",
                     (json_int_t)jsonx_int(pdb, "metadata.generation", 0), "conditions", conditions,
                     "disruptedPods", b->disrupted);
}

/* A merge patch keeps keys it does not name: those of pods that are gone are nulled. */
static void null_missing(json_t *status, const json_t *pdb)
{
    const char *key;
    json_t *value;
    json_t *now = json_object_get(status, "disruptedPods");
    json_object_foreach (jsonx_at(pdb, "status.disruptedPods"), key, value) {
        if (!json_object_get(now, key)) {
            json_object_set_new(now, key, json_null());
        }
    }
}

void sim_pdb_reconcile(struct sim_workloads *c, const char *ns, const char *name)
{
    const json_t *stored = sim_api_get(c->w->api, SIM_PDB, ns, name);
    if (!stored || jsonx_str(stored, "metadata.deletionTimestamp")) {
        return;
    }
    json_t *pdb = json_incref((json_t *)stored);
    json_t *pods = matching_pods(c, pdb);
    struct budget b = {.disrupted = json_object()};
    bool known = read_wish(c, pdb, pods, &b);
    count_healthy(c, pdb, pods, &b);
    b.allowed = known && b.expected > 0 && b.healthy > b.desired ? b.healthy - b.desired : 0;
    json_t *status = status_of(c, pdb, &b);
    json_decref(b.disrupted);
    null_missing(status, pdb);
    sim_status_update(c, WHO, pdb, status);
    json_decref(pods);
    json_decref(pdb);
}
