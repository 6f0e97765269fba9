#include "tally.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/core/ec2/catalog.h"
#include "guest.h"
#include "run.h"

#include <math.h>

#define TALLY_PODS_MAX 1000000u

static bool is_guest(const struct sim_run *r, const char *who)
{
    for (int i = 0; i < r->n_guests; i++) {
        if (str_eq(guest_name(r->guests[i]), who)) {
            return true;
        }
    }
    return false;
}

static bool became(const struct sim_change *c, const char *path, const char *value)
{
    return str_eq(jsonx_str(c->after, path), value) &&
           (!c->before || !str_eq(jsonx_str(c->before, path), value));
}

static bool condition_is_true(const json_t *o, const char *type)
{
    size_t i;
    json_t *c;
    json_array_foreach (jsonx_arr(o, "status.conditions"), i, c) {
        if (str_eq(jsonx_str(c, "type"), type)) {
            return str_eq(jsonx_str(c, "status"), "True");
        }
    }
    return false;
}

static const char *label(const json_t *o, const char *key)
{
    const char *v = json_string_value(json_object_get(jsonx_obj(o, "metadata.labels"), key));
    return v ? v : "?";
}

/* Lines for people: when the last pod that was asked for runs, and when none is left. */
static void count_pods(struct sim_run *r, const struct sim_change *c)
{
    bool ran = c->before && str_eq(jsonx_str(c->before, "status.phase"), "Running");
    bool runs = c->type != KUBE_DELETED && str_eq(jsonx_str(c->after, "status.phase"), "Running");
    r->pods += c->type == KUBE_ADDED;
    r->pods -= c->type == KUBE_DELETED;
    r->pods_running += (runs && !ran) - (ran && !runs);
    if (runs && !ran && r->pods_running == r->pods) {
        sim_note(r->world, "all %lld pods run", (long long)r->pods);
    } else if (c->type == KUBE_DELETED && r->pods == 0) {
        sim_note(r->world, "no pod is left");
    }
}

static void pod_change(struct sim_run *r, const struct sim_change *c)
{
    count_pods(r, c);
    bool goes = jsonx_str(c->after, "metadata.deletionTimestamp") || c->type == KUBE_DELETED;
    bool went = c->before && jsonx_str(c->before, "metadata.deletionTimestamp");
    if (goes && !went && is_guest(r, c->who)) {
        json_decref(r->removing);
        json_t *labels = jsonx_obj(c->before ? c->before : c->after, "metadata.labels");
        r->removing = labels ? json_incref(labels) : json_object();
    }
    int64_t created;
    if (c->type != KUBE_DELETED && became(c, "status.phase", "Running") &&
        r->n_pending < TALLY_PODS_MAX &&
        timefmt_parse_rfc3339(jsonx_str_or(c->after, "metadata.creationTimestamp", ""), &created)) {
        ARRAY_GROW(r->pending_s, r->n_pending, r->cap_pending);
        r->pending_s[r->n_pending++] =
            (double)(vclock_wall(&r->world->clock) - created) / (double)NS_PER_S;
    }
}

static void node_change(struct sim_run *r, const struct sim_change *c)
{
    const char *name = jsonx_str_or(c->after, "metadata.name", "");
    if (c->type == KUBE_ADDED) {
        r->nodes_launched += json_object_get(jsonx_obj(c->after, "metadata.labels"),
                                             "karpenter.sh/nodepool") != NULL;
        sim_note(r->world, "node %s joins (%s %s)", name,
                 label(c->after, "node.kubernetes.io/instance-type"),
                 label(c->after, "topology.kubernetes.io/zone"));
    } else if (c->type == KUBE_DELETED) {
        r->nodes_removed += json_object_get(jsonx_obj(c->after, "metadata.labels"),
                                            "karpenter.sh/nodepool") != NULL;
        sim_note(r->world, "node %s is gone", name);
    }
}

static void claim_change(struct sim_run *r, const struct sim_change *c)
{
    const char *name = jsonx_str_or(c->after, "metadata.name", "");
    if (c->type == KUBE_ADDED) {
        const json_t *req = jsonx_obj(c->after, "spec.resources.requests");
        sim_note(r->world, "claim %s is created for cpu %s, memory %s", name,
                 jsonx_str_or(req, "cpu", "0"), jsonx_str_or(req, "memory", "0"));
        return;
    }
    if (c->type == KUBE_DELETED) {
        return;
    }
    if (jsonx_str(c->after, "metadata.deletionTimestamp") &&
        !jsonx_str(c->before, "metadata.deletionTimestamp")) {
        sim_note(r->world, "claim %s is being deleted", name);
    }
    if (condition_is_true(c->after, "Initialized") &&
        !condition_is_true(c->before, "Initialized")) {
        sim_note(r->world, "claim %s is initialized", name);
    }
}

void tally_change(void *ctx, const struct sim_change *c)
{
    struct sim_run *r = ctx;
    if (c->kind == SIM_POD) {
        pod_change(r, c);
    } else if (c->kind == SIM_NODE) {
        node_change(r, c);
    } else if (c->kind == SIM_NODECLAIM) {
        claim_change(r, c);
    }
}

static void tally_rate(struct sim_run *r, const struct sim_call *c)
{
    int64_t second = vclock_now(&r->world->clock) / NS_PER_S;
    if (str_eq(c->verb, "watch") || !str_starts(c->who, "karp-agent-")) {
        return;
    }
    r->second_calls = second == r->second ? r->second_calls + 1 : 1;
    r->second = second;
    r->most_a_second = r->second_calls > r->most_a_second ? r->second_calls : r->most_a_second;
}

void tally_served(struct sim_run *r, const struct sim_call *c)
{
    tally_rate(r, c);
    if (!r->removing) {
        return;
    }
    bool evicted = str_eq(c->resource, "pods/eviction");
    if (r->n_removed < TALLY_PODS_MAX) {
        ARRAY_GROW(r->removed, r->n_removed, r->cap_removed);
        r->removed[r->n_removed++] = (struct run_removed){r->removing, evicted};
    } else {
        json_decref(r->removing);
    }
    r->removing = NULL;
    r->evictions += evicted;
}

void tally_cost(struct sim_run *r)
{
    int64_t now = vclock_now(&r->world->clock);
    r->dollars += (double)r->cost_pusd_h / (double)PUSD_PER_USD *
                  ((double)(now - r->cost_since_ns) / (double)NS_PER_H);
    r->cost_since_ns = now;
    r->cost_pusd_h = simec2_cost_pusd_h(r->ec2);
}

static int double_cmp(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

double tally_pending_s(const struct sim_run *r, double q)
{
    if (r->n_pending == 0) {
        return 0;
    }
    qsort(r->pending_s, r->n_pending, sizeof(*r->pending_s), double_cmp);
    size_t i = (size_t)ceil(q * (double)r->n_pending);
    return r->pending_s[i ? i - 1 : 0];
}

void tally_done(struct sim_run *r)
{
    for (size_t i = 0; i < r->n_removed; i++) {
        json_decref(r->removed[i].labels);
    }
    free(r->removed);
    free(r->pending_s);
    json_decref(r->removing);
}
