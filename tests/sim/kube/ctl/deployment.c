/*
 * deployment.c - the Deployment controller: one ReplicaSet per pod template, rolled over as
 * upstream's does. RollingUpdate: new pods up to maxSurge above the wish, old ones down as long as
 * maxUnavailable allows, those that are not available first. Recreate: all old ones go first.
 * ReplicaSets without pods are kept up to revisionHistoryLimit. See workloads.h.
 */
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "workloads_part.h"

#define WHO "deployment-controller"
#define HASH_LABEL "pod-template-hash"
#define REVISION "deployment.kubernetes.io/revision"

struct rollout {
    struct sim_workloads *c;
    json_t *deployment;
    json_t *sets;  /* array; the one of the present template is fresh, too */
    json_t *fresh; /* borrowed from sets; NULL until it is made */
    int64_t want, surge, unavailable;
};

static int64_t wish(const json_t *set)
{
    return jsonx_int(set, "spec.replicas", 0);
}

static int64_t available(const json_t *set)
{
    return jsonx_int(set, "status.availableReplicas", 0);
}

static int64_t ready(const json_t *set)
{
    return jsonx_int(set, "status.readyReplicas", 0);
}

static int64_t revision(const json_t *set)
{
    int64_t n;
    const char *s =
        json_string_value(json_object_get(jsonx_at(set, "metadata.annotations"), REVISION));
    return s && str_parse_i64(s, &n) ? n : 0;
}

static int64_t sum(const struct rollout *r, int64_t (*of)(const json_t *), bool old_only)
{
    int64_t total = 0;
    size_t i;
    json_t *set;
    json_array_foreach (r->sets, i, set) {
        total += old_only && set == r->fresh ? 0 : of(set);
    }
    return total;
}

static int64_t pods_now(const json_t *set)
{
    return jsonx_int(set, "status.replicas", 0);
}

/* Sets one number of a ReplicaSet's spec and puts the changed object in its place. */
static void set_number(struct rollout *r, json_t *set, const char *field, int64_t n)
{
    json_t *now = NULL;
    if (sim_api_patch(r->c->w->api, WHO, SIM_REPLICASET, "", jsonx_str(set, "metadata.namespace"),
                      jsonx_str(set, "metadata.name"),
                      json_pack("{s:{s:I}}", "spec", field, (json_int_t)n), &now, NULL)) {
        return;
    }
    for (size_t i = 0; i < json_array_size(r->sets); i++) {
        if (json_array_get(r->sets, i) == set) {
            r->fresh = r->fresh == set ? now : r->fresh;
            json_array_set_new(r->sets, i, now);
            return;
        }
    }
    json_decref(now);
}

static void scale(struct rollout *r, json_t *set, int64_t replicas)
{
    if (wish(set) != replicas) {
        set_number(r, set, "replicas", replicas);
    }
}

/* As upstream: only the newest ReplicaSet hears of a new minReadySeconds. */
static void follow_min_ready(struct rollout *r)
{
    int64_t want = jsonx_int(r->deployment, "spec.minReadySeconds", 0);
    if (jsonx_int(r->fresh, "spec.minReadySeconds", 0) != want) {
        set_number(r, r->fresh, "minReadySeconds", want);
    }
}

/* ---- the ReplicaSet of the present template
 * ------------------------------------------------------ */

static json_t *with_hash(const json_t *object, const char *path, const char *hash)
{
    json_t *copy = json_deep_copy(object);
    jsonx_set_new(copy, path, json_string(hash));
    return copy;
}

static json_t *set_new(const struct rollout *r, const char *hash, int64_t replicas)
{
    const json_t *d = r->deployment;
    const char *name = jsonx_str_or(d, "metadata.name", "");
    char text[24];
    int64_t newest = 0;
    size_t i;
    json_t *set;
    json_array_foreach (r->sets, i, set) {
        newest = revision(set) > newest ? revision(set) : newest;
    }
    snprintf(text, sizeof(text), "%lld", (long long)newest + 1);
    AUTO_FREE char *full = xasprintf("%s-%s", name, hash);
    json_t *template = with_hash(jsonx_at(d, "spec.template"), "metadata.labels." HASH_LABEL, hash);
    json_t *selector = with_hash(jsonx_at(d, "spec.selector"), "matchLabels." HASH_LABEL, hash);
    json_t *labels = json_deep_copy(jsonx_at(template, "metadata.labels"));
    json_t *min_ready = jsonx_at(d, "spec.minReadySeconds");
    return json_pack("{s:{s:s, s:s, s:o, s:{s:s}, s:[o]}, s:{s:I, s:O*, s:o, s:o}}", "metadata",
                     "name", full, "namespace", jsonx_str_or(d, "metadata.namespace", ""), "labels",
                     labels, "annotations", REVISION, text, "ownerReferences", sim_owner_ref(d),
                     "spec", "replicas", (json_int_t)replicas, "minReadySeconds", min_ready,
                     "selector", selector, "template", template);
}

static json_t *find_fresh(const struct rollout *r, const char *hash)
{
    size_t i;
    json_t *set;
    json_array_foreach (r->sets, i, set) {
        const json_t *label = json_object_get(jsonx_at(set, "metadata.labels"), HASH_LABEL);
        if (str_eq(json_string_value(label), hash)) {
            return set;
        }
    }
    return NULL;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* How many of the wish a ReplicaSet that is new may have at once. */
static int64_t first_share(const struct rollout *r, bool recreate)
{
    int64_t have = sum(r, wish, false);
    if (recreate) {
        return sum(r, pods_now, false) > 0 ? 0 : r->want;
    }
    int64_t room = r->want + r->surge - have;
    return room > 0 ? smaller(room, r->want) : 0;
}

static void ensure_fresh(struct rollout *r, bool recreate)
{
    char hash[16];
    sim_template_hash(jsonx_at(r->deployment, "spec.template"), hash);
    r->fresh = find_fresh(r, hash);
    if (r->fresh) {
        follow_min_ready(r);
        return;
    }
    json_t *made = NULL;
    if (sim_api_create(r->c->w->api, WHO, SIM_REPLICASET,
                       set_new(r, hash, first_share(r, recreate)), &made, NULL) == 0) {
        json_array_append_new(r->sets, made);
        r->fresh = made;
    }
}

/* ---- rolling over
 * -------------------------------------------------------------------------------- */

static void scale_up_fresh(struct rollout *r)
{
    int64_t have = wish(r->fresh);
    if (have > r->want) {
        scale(r, r->fresh, r->want);
        return;
    }
    int64_t room = r->want + r->surge - sum(r, wish, false);
    if (room > 0 && have < r->want) {
        scale(r, r->fresh, have + smaller(room, r->want - have));
    }
}

/* Takes up to n from the old ReplicaSets, oldest first; unhealthy_only: only what is not available.
 */
static int64_t scale_down_old(struct rollout *r, int64_t n, bool unhealthy_only)
{
    for (size_t i = 0; i < json_array_size(r->sets) && n > 0; i++) {
        json_t *set = json_array_get(r->sets, i);
        int64_t bad = wish(set) - available(set);
        int64_t take = smaller(n, unhealthy_only ? (bad > 0 ? bad : 0) : wish(set));
        if (set != r->fresh && take > 0) {
            scale(r, set, wish(set) - take);
            n -= take;
        }
    }
    return n;
}

static void roll(struct rollout *r)
{
    scale_up_fresh(r);
    if (sum(r, wish, true) == 0) {
        return;
    }
    int64_t least = r->want - r->unavailable;
    int64_t fresh_missing = wish(r->fresh) - available(r->fresh);
    int64_t may_go = sum(r, wish, false) - least - (fresh_missing > 0 ? fresh_missing : 0);
    if (may_go <= 0) {
        return;
    }
    scale_down_old(r, may_go, true);
    int64_t spare = sum(r, available, false) - least;
    scale_down_old(r, spare, false);
}

static void recreate(struct rollout *r)
{
    scale_down_old(r, INT64_MAX, false);
    if (sum(r, pods_now, true) == 0) {
        scale(r, r->fresh, r->want);
    }
}

static void drop_history(struct rollout *r)
{
    int64_t keep = jsonx_int(r->deployment, "spec.revisionHistoryLimit", 10), idle = 0;
    for (size_t i = json_array_size(r->sets); i-- > 0;) {
        const json_t *set = json_array_get(r->sets, i);
        if (set == r->fresh || wish(set) > 0 || pods_now(set) > 0) {
            continue;
        }
        if (++idle > keep) {
            sim_api_delete(r->c->w->api, WHO, SIM_REPLICASET, jsonx_str(set, "metadata.namespace"),
                           jsonx_str(set, "metadata.name"), NULL, -1, "Background", NULL);
        }
    }
}

static void update_status(struct rollout *r)
{
    const json_t *d =
        sim_api_get(r->c->w->api, SIM_DEPLOYMENT, jsonx_str(r->deployment, "metadata.namespace"),
                    jsonx_str(r->deployment, "metadata.name"));
    int64_t have = sum(r, pods_now, false), ok = sum(r, available, false);
    bool enough = ok >= r->want - r->unavailable;
    if (!d) {
        return;
    }
    json_t *conditions =
        sim_cond_set(jsonx_at(d, "status.conditions"), "Available", enough ? "True" : "False",
                     enough ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable", NULL,
                     vclock_wall(&r->c->w->clock));
    sim_status_update(r->c, WHO, d,
                      json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "replicas", (json_int_t)have,
                                "updatedReplicas", (json_int_t)(r->fresh ? pods_now(r->fresh) : 0),
                                "readyReplicas", (json_int_t)sum(r, ready, false),
                                "availableReplicas", (json_int_t)ok, "unavailableReplicas",
                                (json_int_t)(r->want > ok ? r->want - ok : 0), "observedGeneration",
                                (json_int_t)jsonx_int(d, "metadata.generation", 0), "conditions",
                                conditions));
}

/* ---- reconcile
 * ------------------------------------------------------------------------------------ */

static void read_strategy(struct rollout *r)
{
    const json_t *rolling = jsonx_at(r->deployment, "spec.strategy.rollingUpdate");
    r->want = jsonx_int(r->deployment, "spec.replicas", 1);
    r->surge = sim_int_or_percent(json_object_get(rolling, "maxSurge"), r->want, true, 0);
    r->unavailable =
        sim_int_or_percent(json_object_get(rolling, "maxUnavailable"), r->want, false, 0);
    if (r->surge == 0 && r->unavailable == 0) {
        r->unavailable = 1;
    }
    r->unavailable = smaller(r->unavailable, r->want);
}

void sim_deployment_reconcile(struct sim_workloads *c, const char *ns, const char *name)
{
    const json_t *d = sim_api_get(c->w->api, SIM_DEPLOYMENT, ns, name);
    if (!d || jsonx_str(d, "metadata.deletionTimestamp") || jsonx_bool(d, "spec.paused", false)) {
        return;
    }
    struct rollout r = {.c = c, .deployment = json_incref((json_t *)d)};
    bool all_first = str_eq(jsonx_str(d, "spec.strategy.type"), "Recreate");
    r.sets = sim_index_collect(&c->sets_of, jsonx_str_or(d, "metadata.uid", ""), false);
    read_strategy(&r);
    ensure_fresh(&r, all_first);
    if (r.fresh && all_first) {
        recreate(&r);
    } else if (r.fresh) {
        roll(&r);
    }
    if (r.fresh) {
        drop_history(&r);
    }
    update_status(&r);
    json_decref(r.sets);
    json_decref(r.deployment);
}
