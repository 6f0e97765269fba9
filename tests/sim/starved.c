#include "starved.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/quantity.h"
#include "common/base/str.h"
#include "common/core/ec2/ec2table.h"
#include "run.h"
#include "tests/sim/kube/podspec.h"

#define POOL "karpenter.sh/nodepool"
#define MIB (INT64_C(1) << 20)
#define DISK_BYTES (INT64_C(8) << 30) /* less than any root volume leaves */
#define PODS 4                        /* every type takes that many beside its DaemonSets */

/* One question: the pod, and what every node must bear. */
struct question {
    struct sim_run *r;
    const json_t *spec;
    struct sim_res want; /* the pod and all DaemonSets */
};

/* ---- the pod
 * --------------------------------------------------------------------------------------- */

bool starved_waits(const json_t *pod)
{
    const json_t *c = sim_cond(pod, "PodScheduled");
    return !*sim_pod_node(pod) && !sim_pod_terminating(pod) && !sim_pod_over(pod) &&
           !jsonx_str(pod, "status.nominatedNodeName") && str_eq(jsonx_str(c, "status"), "False") &&
           str_eq(jsonx_str(c, "reason"), "Unschedulable");
}

static bool spread_is_soft(const json_t *spec)
{
    size_t i;
    json_t *c;
    json_array_foreach (jsonx_arr(spec, "topologySpreadConstraints"), i, c) {
        if (!str_eq(jsonx_str(c, "whenUnsatisfiable"), "ScheduleAnyway")) {
            return false;
        }
    }
    return true;
}

static bool has_claims(const json_t *spec)
{
    size_t i;
    json_t *v;
    json_array_foreach (jsonx_arr(spec, "volumes"), i, v) {
        if (json_object_get(v, "persistentVolumeClaim") || json_object_get(v, "ephemeral")) {
            return true;
        }
    }
    return false;
}

static bool has_host_ports(const json_t *spec)
{
    size_t i, k;
    json_t *c, *p;
    json_array_foreach (jsonx_arr(spec, "containers"), i, c) {
        json_array_foreach (jsonx_arr(c, "ports"), k, p) {
            if (jsonx_int(p, "hostPort", 0)) {
                return true;
            }
        }
    }
    return false;
}

static bool is_plain_pod(const json_t *spec)
{
    return str_eq(jsonx_str_or(spec, "schedulerName", "default-scheduler"), "default-scheduler") &&
           !jsonx_at(spec, "affinity.podAffinity") && !jsonx_at(spec, "affinity.podAntiAffinity") &&
           !jsonx_arr(spec, "schedulingGates") && !jsonx_arr(spec, "resourceClaims") &&
           spread_is_soft(spec) && !has_claims(spec) && !has_host_ports(spec);
}

static void add_daemons(struct question *q)
{
    for (size_t i = 0; i < sim_api_count(q->r->world->api, SIM_DAEMONSET); i++) {
        const json_t *ds = sim_api_at(q->r->world->api, SIM_DAEMONSET, i);
        struct sim_res res;
        sim_res_pod(jsonx_at(ds, "spec.template.spec"), &res);
        sim_res_add(&q->want, &res, 1);
    }
}

/* ---- the pool
 * -------------------------------------------------------------------------------------- */

/* The labels of a node of that type and offering, as far as they are known here. */
static json_t *labels_of(const json_t *pool, const struct ec2_fact *f, const char *zone, bool spot)
{
    const json_t *own = jsonx_obj(pool, "spec.template.metadata.labels");
    json_t *labels = own ? json_deep_copy(own) : json_object();
    char cpu[24];
    snprintf(cpu, sizeof(cpu), "%lld", (long long)f->vcpus);
    const char *const known[] = {POOL,
                                 jsonx_str_or(pool, "metadata.name", ""),
                                 "node.kubernetes.io/instance-type",
                                 f->name,
                                 "kubernetes.io/arch",
                                 f->arch,
                                 "kubernetes.io/os",
                                 "linux",
                                 "topology.kubernetes.io/zone",
                                 zone,
                                 "karpenter.sh/capacity-type",
                                 spot ? "spot" : "on-demand",
                                 "karpenter.k8s.aws/instance-cpu",
                                 cpu};
    for (size_t i = 0; i < ARRAY_LEN(known); i += 2) {
        json_object_set_new(labels, known[i], json_string(known[i + 1]));
    }
    return labels;
}

/* The pool's requirements as a pod's node affinity. */
static json_t *as_affinity(const json_t *pool)
{
    json_t *all = json_array();
    size_t i;
    json_t *req;
    json_array_foreach (jsonx_arr(pool, "spec.template.spec.requirements"), i, req) {
        json_array_append(all, req);
    }
    json_t *terms = json_array_size(all) ? json_pack("[{s:o}]", "matchExpressions", all)
                                         : (json_decref(all), NULL);
    return terms ? json_pack("{s:{s:{s:{s:o}}}}", "affinity", "nodeAffinity",
                             "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms",
                             terms)
                 : json_object();
}

/* A requirement is judged by labels: one that wants a label away must speak of a known one. */
static bool can_be_judged(const json_t *pool, const json_t *known)
{
    size_t i;
    json_t *req;
    json_array_foreach (jsonx_arr(pool, "spec.template.spec.requirements"), i, req) {
        if (json_object_get(req, "minValues") ||
            !json_object_get(known, jsonx_str_or(req, "key", ""))) {
            return false;
        }
    }
    return true;
}

static bool is_plain_pool(const struct question *q, const json_t *pool)
{
    const json_t *ref = jsonx_obj(pool, "spec.template.spec.nodeClassRef");
    const json_t *cls =
        sim_api_get(q->r->world->api, SIM_EC2NODECLASS, NULL, jsonx_str_or(ref, "name", ""));
    return !jsonx_str(pool, "metadata.deletionTimestamp") && !jsonx_at(pool, "spec.replicas") &&
           str_eq(sim_cond_status(pool, "Ready"), "True") &&
           !json_array_size(jsonx_arr(pool, "spec.template.spec.startupTaints")) && cls &&
           !jsonx_at(cls, "spec.kubelet") && !jsonx_at(cls, "spec.userData") &&
           !sim_untolerated(jsonx_arr(q->spec, "tolerations"),
                            jsonx_arr(pool, "spec.template.spec.taints"), "NoSchedule", "NoExecute",
                            NULL);
}

static bool in_class(const struct question *q, const json_t *pool, const char *zone)
{
    const json_t *ref = jsonx_obj(pool, "spec.template.spec.nodeClassRef");
    const json_t *cls =
        sim_api_get(q->r->world->api, SIM_EC2NODECLASS, NULL, jsonx_str_or(ref, "name", ""));
    size_t i;
    json_t *subnet;
    json_array_foreach (jsonx_arr(cls, "status.subnets"), i, subnet) {
        if (str_eq(jsonx_str(subnet, "zone"), zone)) {
            return true;
        }
    }
    return false;
}

/* Beside all claims that the pool has, leaving ones too. */
static bool within_limits(const struct question *q, const json_t *pool, const struct ec2_fact *f)
{
    const char *res, *name = jsonx_str_or(pool, "metadata.name", "");
    json_t *limit;
    json_object_foreach (jsonx_obj(pool, "spec.limits"), res, limit) {
        int64_t sum = str_eq(res, "cpu")      ? f->vcpus * INT64_C(1000)
                      : str_eq(res, "memory") ? f->mem_mib * MIB * 1000
                      : str_eq(res, "nodes")  ? 1000
                                              : INT64_MAX;
        int64_t max, n;
        char *text AUTO_FREE =
            json_is_string(limit) ? xstrdup(json_string_value(limit)) : jsonx_dump(limit);
        if (sum == INT64_MAX || !quantity_parse_milli(text, &max)) {
            return false;
        }
        for (size_t i = 0; i < sim_api_count(q->r->world->api, SIM_NODECLAIM); i++) {
            const json_t *c = sim_api_at(q->r->world->api, SIM_NODECLAIM, i);
            const char *have =
                json_string_value(json_object_get(jsonx_obj(c, "status.capacity"), res));
            bool ours = str_eq(
                json_string_value(json_object_get(jsonx_obj(c, "metadata.labels"), POOL)), name);
            /* One that is not launched yet may become anything. */
            if (ours && !have && !str_eq(res, "nodes")) {
                return false;
            }
            sum += !ours ? 0 : str_eq(res, "nodes") ? 1000 : quantity_parse_milli(have, &n) ? n : 0;
        }
        if (sum > max) {
            return false;
        }
    }
    return true;
}

/* ---- the node
 * -------------------------------------------------------------------------------------- */

static bool holds(const struct question *q, const struct ec2_fact *f)
{
    struct sim_res all = {.cpu_milli = f->vcpus * INT64_C(900),
                          .mem_bytes = f->mem_mib * MIB / 4 * 3,
                          .disk_bytes = DISK_BYTES,
                          .pods = PODS + q->want.pods};
    struct sim_res none = {.cpu_milli = 0};
    return !sim_res_lacks(&all, &none, &q->want, NULL, NULL);
}

static bool offering_helps(const struct question *q, const json_t *pool, const struct ec2_fact *f,
                           const char *zone, bool spot)
{
    if (!simec2_can_launch(q->r->ec2, f->name, zone, spot) || !in_class(q, pool, zone)) {
        return false;
    }
    AUTO_JSON json_t *node = json_pack("{s:{s:s, s:o}}", "metadata", "name", "new", "labels",
                                       labels_of(pool, f, zone, spot));
    AUTO_JSON json_t *wanted = as_affinity(pool);
    return can_be_judged(pool, jsonx_obj(node, "metadata.labels")) &&
           sim_node_selected(wanted, node) && sim_node_selected(q->spec, node);
}

static bool pool_helps(const struct question *q, const json_t *pool)
{
    const char *const *zones = simec2_zones(q->r->ec2);
    bool plain = is_plain_pool(q, pool);
    for (uint32_t i = 0; plain && i < ec2_facts_n; i++) {
        const struct ec2_fact *f = &ec2_facts[i];
        for (size_t z = 0; zones[z] && holds(q, f); z++) {
            if ((offering_helps(q, pool, f, zones[z], false) ||
                 offering_helps(q, pool, f, zones[z], true)) &&
                within_limits(q, pool, f)) {
                return true;
            }
        }
    }
    return false;
}

bool starved_could_run(struct sim_run *r, const json_t *pod)
{
    struct question q = {.r = r, .spec = jsonx_obj(pod, "spec")};
    if (!is_plain_pod(q.spec)) {
        return false;
    }
    sim_res_pod(q.spec, &q.want);
    add_daemons(&q);
    for (size_t i = 0; i < sim_api_count(r->world->api, SIM_NODEPOOL); i++) {
        if (pool_helps(&q, sim_api_at(r->world->api, SIM_NODEPOOL, i))) {
            return true;
        }
    }
    return false;
}
