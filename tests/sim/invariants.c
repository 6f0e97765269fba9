#include "invariants.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/map.h"
#include "common/base/quantity.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "guest.h"
#include "run.h"

#define WATCHDOG_MAX 200000u
#define TAG_CLAIM_UID "karp.dev/nodeclaim-uid"
#define TAG_CLUSTER_UID "karp.dev/cluster-uid"

struct sim_watchdog {
    struct sim_run *run;
    struct map *said;    /* "Kind object" once noted */
    struct map *orphans; /* instance id → since (int64_t *) */
    char *cluster_uid;
};

static void violation(struct sim_watchdog *w, const char *kind, const char *object,
                      const char *text)
{
    char key[300], at[TIMEFMT_TEXT];
    snprintf(key, sizeof(key), "%.40s %.200s", kind, object);
    if (map_has(w->said, key)) {
        return;
    }
    map_put(w->said, key, w, NULL);
    run_text_add(&w->run->violations, "%s at %s: %s: %s", kind,
                 timefmt_duration(vclock_now(&w->run->world->clock), at), object, text);
    sim_note(w->run->world, "INVARIANT %s: %s: %s", kind, object, text);
}

/* ---- at a write
 * ------------------------------------------------------------------------------------- */

static bool is_guest(const struct sim_watchdog *w, const char *who)
{
    for (int i = 0; i < w->run->n_guests; i++) {
        if (str_eq(guest_name(w->run->guests[i]), who)) {
            return true;
        }
    }
    return false;
}

static bool keeps_node(const json_t *pod, const char *node)
{
    const char *phase = jsonx_str_or(pod, "status.phase", "");
    const json_t *owner = json_array_get(jsonx_arr(pod, "metadata.ownerReferences"), 0);
    const char *kind = jsonx_str_or(owner, "kind", "");
    return str_eq(jsonx_str(pod, "spec.nodeName"), node) && !str_eq(phase, "Succeeded") &&
           !str_eq(phase, "Failed") && !jsonx_str(pod, "metadata.deletionTimestamp") &&
           !str_eq(kind, "DaemonSet") && !str_eq(kind, "Node");
}

/* An agent's own decision to remove a node shows in the reason it wrote on the claim first. */
static bool voluntary(const json_t *claim)
{
    size_t i;
    json_t *c;
    json_array_foreach (jsonx_arr(claim, "status.conditions"), i, c) {
        if (str_eq(jsonx_str(c, "type"), "DisruptionReason") &&
            str_eq(jsonx_str(c, "status"), "True")) {
            return true;
        }
    }
    return false;
}

static void check_removal(struct sim_watchdog *w, const json_t *claim)
{
    const char *node = jsonx_str(claim, "status.nodeName");
    if (!node || !voluntary(claim)) {
        return;
    }
    for (size_t i = 0; i < sim_api_count(w->run->world->api, SIM_POD); i++) {
        const json_t *pod = sim_api_at(w->run->world->api, SIM_POD, i);
        if (keeps_node(pod, node)) {
            violation(w, "NotEmpty", jsonx_str(claim, "metadata.name"),
                      jsonx_str(pod, "metadata.name"));
        }
    }
}

static void on_change(void *ctx, const struct sim_change *c)
{
    struct sim_watchdog *w = ctx;
    bool deletion = c->after && jsonx_str(c->after, "metadata.deletionTimestamp") &&
                    !jsonx_str(c->before, "metadata.deletionTimestamp");
    if (c->kind == SIM_NODECLAIM && deletion && is_guest(w, c->who)) {
        check_removal(w, c->before);
    }
}

/* ---- at any time
 * ------------------------------------------------------------------------------------ */

static bool claim_exists(const struct sim_watchdog *w, const char *uid)
{
    enum sim_kind_id kind;
    return sim_api_get_uid(w->run->world->api, uid, &kind) && kind == SIM_NODECLAIM;
}

static void check_orphan(struct sim_watchdog *w, const struct simec2_instance *inst, bool orphan)
{
    int64_t now = vclock_now(&w->run->world->clock);
    int64_t *since = map_get(w->orphans, inst->id);
    if (since && (faults_storm(w->run->faults) || *since < faults_calm_since_ns(w->run->faults))) {
        *since = now; /* nobody can collect while nothing works */
    }
    if (!orphan) {
        free(map_del(w->orphans, inst->id));
        return;
    }
    if (!since) {
        since = xmalloc(sizeof(*since));
        *since = now;
        map_put(w->orphans, inst->id, since, NULL);
    }
    if (now - *since > INVARIANT_ORPHAN_NS) {
        violation(w, "Orphan", inst->id, "lives without a claim");
    }
}

static void check_instances(struct sim_watchdog *w)
{
    struct map *by_claim = map_new(WATCHDOG_MAX);
    for (size_t i = 0; i < simec2_n_instances(w->run->ec2); i++) {
        const struct simec2_instance *inst = simec2_instance_at(w->run->ec2, i);
        const char *uid = json_string_value(json_object_get(inst->tags, TAG_CLAIM_UID));
        const char *cluster = json_string_value(json_object_get(inst->tags, TAG_CLUSTER_UID));
        bool alive = inst->state == SIMEC2_PENDING || inst->state == SIMEC2_RUNNING;
        bool ours = str_eq(cluster, w->cluster_uid);
        check_orphan(w, inst, alive && ours && !(uid && claim_exists(w, uid)));
        if (!alive || !ours || !uid) {
            continue;
        }
        const struct simec2_instance *other = map_put(by_claim, uid, (void *)(uintptr_t)inst, NULL);
        if (other) {
            violation(w, "TwoInstances", uid, inst->id);
        }
    }
    map_free(by_claim);
}

static void check_limits_of(struct sim_watchdog *w, const json_t *pool)
{
    const char *name = jsonx_str(pool, "metadata.name"), *res;
    json_t *limit;
    json_object_foreach (jsonx_obj(pool, "spec.limits"), res, limit) {
        int64_t max, sum = 0, v;
        bool nodes = str_eq(res, "nodes");
        char *text AUTO_FREE =
            json_is_string(limit) ? xstrdup(json_string_value(limit)) : jsonx_dump(limit);
        for (size_t i = 0; i < sim_api_count(w->run->world->api, SIM_NODECLAIM); i++) {
            const json_t *c = sim_api_at(w->run->world->api, SIM_NODECLAIM, i);
            const json_t *labels = jsonx_obj(c, "metadata.labels");
            const char *have =
                json_string_value(json_object_get(jsonx_obj(c, "status.capacity"), res));
            if (!str_eq(json_string_value(json_object_get(labels, "karpenter.sh/nodepool")),
                        name) ||
                jsonx_str(c, "metadata.deletionTimestamp")) {
                continue;
            }
            if (nodes) {
                sum += 1000;
            } else if (have && quantity_parse_milli(have, &v)) {
                sum += v;
            }
        }
        if (quantity_parse_milli(text, &max) && sum > max) {
            violation(w, "Limit", name, res);
        }
    }
}

void watchdog_look(struct sim_watchdog *w)
{
    check_instances(w);
    for (size_t i = 0; i < sim_api_count(w->run->world->api, SIM_NODEPOOL); i++) {
        check_limits_of(w, sim_api_at(w->run->world->api, SIM_NODEPOOL, i));
    }
}

/* ---- life
 * ------------------------------------------------------------------------------------------- */

struct sim_watchdog *watchdog_new(struct sim_run *r)
{
    struct sim_watchdog *w = NEW(struct sim_watchdog);
    w->run = r;
    w->said = map_new(WATCHDOG_MAX);
    w->orphans = map_new(WATCHDOG_MAX);
    const json_t *ns = sim_api_get(r->world->api, SIM_NAMESPACE, "", "kube-system");
    w->cluster_uid = xstrdup(jsonx_str_or(ns, "metadata.uid", ""));
    sim_api_subscribe(r->world->api, on_change, w);
    return w;
}

void watchdog_free(struct sim_watchdog *w)
{
    if (!w) {
        return;
    }
    sim_api_unsubscribe(w->run->world->api, w);
    for (MAP_EACH(w->orphans, e)) {
        free(map_value(e));
    }
    map_free(w->orphans);
    map_free(w->said);
    free(w->cluster_uid);
    free(w);
}
