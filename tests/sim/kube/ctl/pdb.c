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

static bool speaks_of(const json_t *pdb, const char *ns, const json_t *labels)
{
    return str_eq(jsonx_str(pdb, "metadata.namespace"), ns) &&
           jsonsel_match_selector(jsonx_at(pdb, "spec.selector"), labels);
}

/* The scalable above a crowd: its controller, or the Deployment above its ReplicaSet. */
static const json_t *scalable(const struct sim_workloads *c, const struct sim_crowd *crowd)
{
    const json_t *owner =
        sim_api_get_uid(c->w->api, jsonx_str_or(crowd->controller, "uid", ""), NULL);
    const json_t *above = owner ? sim_controller(owner) : NULL;
    const json_t *top =
        above ? sim_api_get_uid(c->w->api, jsonx_str_or(above, "uid", ""), NULL) : NULL;
    return top ? top : owner;
}

struct budget {
    int64_t expected, desired, healthy, allowed;
    int64_t matched;   /* pods */
    int64_t replicas;  /* wished by their controllers */
    bool scalables;    /* all have one that can be scaled */
    json_t *seen;      /* uids of these */
    json_t *disrupted; /* what is left of it */
};

static void count_crowd(const struct sim_workloads *c, const struct sim_crowd *crowd,
                        struct budget *b)
{
    const json_t *top = scalable(c, crowd);
    const json_t *replicas = jsonx_at(top, "spec.replicas");
    const char *uid = jsonx_str_or(top, "metadata.uid", "");
    b->matched += crowd->n;
    b->healthy += crowd->healthy;
    b->scalables = b->scalables && json_is_integer(replicas);
    if (json_is_integer(replicas) && !json_object_get(b->seen, uid)) {
        json_object_set_new(b->seen, uid, json_true());
        b->replicas += json_integer_value(replicas);
    }
}

static void count_crowds(const struct sim_workloads *c, const json_t *pdb, struct budget *b)
{
    b->scalables = true;
    for (MAP_EACH(c->crowds.all, e)) {
        const struct sim_crowd *crowd = map_value(e);
        if (speaks_of(pdb, crowd->ns, crowd->labels)) {
            count_crowd(c, crowd, b);
        }
    }
}

/* False if a pod has no controller that can be scaled: then nothing may be disrupted. */
static bool read_wish(const json_t *pdb, struct budget *b)
{
    const json_t *min = jsonx_at(pdb, "spec.minAvailable");
    const json_t *max = jsonx_at(pdb, "spec.maxUnavailable");
    if (json_is_integer(min)) {
        b->expected = b->matched;
        b->desired = json_integer_value(min);
        return true;
    }
    b->expected = b->replicas;
    if (max) {
        b->desired = b->expected - sim_int_or_percent(max, b->expected, true, 0);
        b->desired = b->desired < 0 ? 0 : b->desired;
    } else {
        b->desired = sim_int_or_percent(min, b->expected, true, b->expected);
    }
    return b->scalables;
}

/* Pods whose eviction was granted count as gone until they are, at most for a while. */
static void take_disrupted(const struct sim_workloads *c, const json_t *pdb, struct budget *b)
{
    const char *name;
    json_t *value;
    const char *ns = jsonx_str_or(pdb, "metadata.namespace", "");
    json_object_foreach (jsonx_at(pdb, "status.disruptedPods"), name, value) {
        int64_t at;
        const char *s = json_string_value(value);
        const json_t *pod = sim_api_get(c->w->api, SIM_POD, ns, name);
        bool counts = pod && !sim_pod_terminating(pod) &&
                      speaks_of(pdb, ns, jsonx_at(pod, "metadata.labels")) && s &&
                      timefmt_parse_rfc3339(s, &at) &&
                      vclock_wall(&c->w->clock) < at + DISRUPTED_NS;
        if (counts) {
            json_object_set(b->disrupted, name, value);
            b->healthy -= sim_pod_ready(pod);
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
    struct budget b = {.disrupted = json_object(), .seen = json_object()};
    count_crowds(c, pdb, &b);
    bool known = read_wish(pdb, &b);
    take_disrupted(c, pdb, &b);
    b.allowed = known && b.expected > 0 && b.healthy > b.desired ? b.healthy - b.desired : 0;
    json_t *status = status_of(c, pdb, &b);
    json_decref(b.disrupted);
    json_decref(b.seen);
    null_missing(status, pdb);
    sim_status_update(c, WHO, pdb, status);
    json_decref(pdb);
}
