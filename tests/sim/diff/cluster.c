/* cluster.c - see cluster.h */
#include "cluster.h"

#include "common/base/alloc.h"
#include "common/base/entropy.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"

#define ZONE "topology.kubernetes.io/zone"
#define HOST "kubernetes.io/hostname"
#define CAPACITY "karpenter.sh/capacity-type"
#define ARCH "kubernetes.io/arch"
#define TYPE "node.kubernetes.io/instance-type"
#define CPU "karpenter.k8s.aws/instance-cpu"
#define CATEGORY "karpenter.k8s.aws/instance-category"
#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

#define START_NS (INT64_C(1767603600) * 1000000000) /* when the first object was made */
#define POOLS_MAX 3
#define NODES_MAX 5
#define APPS_MAX 4
#define DAEMONS_MAX 2
#define DAEMON_CPU_MILLI 100
#define DAEMON_MEM_MIB 128

struct type {
    const char *name, *arch, *category;
    int cpu, mem_gib, gpus;
};
static const struct type types[] = {
    {"m5.large", "amd64", "m", 2, 8, 0},  {"m5.xlarge", "amd64", "m", 4, 16, 0},
    {"c5.large", "amd64", "c", 2, 4, 0},  {"c5.2xlarge", "amd64", "c", 8, 16, 0},
    {"r5.large", "amd64", "r", 2, 16, 0}, {"t3.medium", "amd64", "t", 2, 4, 0},
    {"m6g.large", "arm64", "m", 2, 8, 0}, {"c6g.xlarge", "arm64", "c", 4, 8, 0},
    {"m5d.large", "amd64", "m", 2, 8, 0}, {"g4dn.xlarge", "amd64", "g", 4, 16, 1},
};
static const char *const zones[] = {"us-west-2a", "us-west-2b", "us-west-2c"};
static const char *const zone_ids[] = {"usw2-az1", "usw2-az2", "usw2-az3"};
static const char *const capacity_types[] = {"spot", "on-demand"};
static const char *const arches[] = {"amd64", "arm64"};
static const char *const teams[] = {"red", "blue"};
static const char *const app_names[] = {"a", "b", "c", "d"};

/* What of a pod enters the room that generated nodes have. */
struct app {
    json_t *spec, *labels;
    const char *ns;
    int cpu_milli, mem_mib, gpus;
    bool ports, volumes;
};

struct room {
    char name[32];
    int cpu_milli, mem_mib, gpus, pods;
    bool ports;
};

struct gen {
    uint64_t state;
    struct entropy chance;
    json_t *objects;
    int64_t now_ns;
    json_t *pools[POOLS_MAX];
    unsigned n_pools, n_daemons, n_apps, n_nodes, n_pods, n_claims;
    struct app apps[APPS_MAX];
    struct room rooms[NODES_MAX];
    int volumes_max;  /* that a CSINode offers; 0 = there are none */
    bool daemons_run; /* their pods are there already */
};

/* ---- chance ---------------------------------------------------------------------------------- */

static unsigned below(struct gen *g, unsigned n)
{
    return (unsigned)entropy_below(&g->chance, n);
}

static bool maybe(struct gen *g, unsigned percent)
{
    return below(g, 100) < percent;
}

#define PICK(g, list) ((list)[below((g), ARRAY_LEN(list))])

/* Some of the texts, at least one. */
static json_t *some(struct gen *g, const char *const *v, unsigned n, unsigned percent)
{
    json_t *out = json_array();
    for (unsigned i = 0; i < n; i++) {
        if (maybe(g, percent)) {
            json_array_append_new(out, json_string(v[i]));
        }
    }
    if (json_array_size(out) == 0) {
        json_array_append_new(out, json_string(v[below(g, n)]));
    }
    return out;
}
#define SOME(g, list, percent) some((g), (list), ARRAY_LEN(list), (percent))

/* ---- objects --------------------------------------------------------------------------------- */

static void put(json_t *o, const char *key, json_t *value)
{
    json_object_set_new(o, key, value);
}

static json_t *texts(const char *a, const char *b)
{
    return b ? json_pack("[s, s]", a, b) : json_pack("[s]", a);
}

/* Adds the object, a second younger than the one before it; pods come several in one second, which
 * is as exactly as Kubernetes tells time. Borrowed. */
static json_t *add(struct gen *g, const char *api_version, const char *kind, const char *ns,
                   const char *name, json_t *object)
{
    char at[TIMEFMT_TEXT];
    g->now_ns += str_eq(kind, "Pod") && maybe(g, 60) ? 0 : INT64_C(1000000000);
    timefmt_rfc3339(g->now_ns, at);
    put(object, "apiVersion", json_string(api_version));
    put(object, "kind", json_string(kind));
    jsonx_set_new(object, "metadata.name", json_string(name));
    if (ns) {
        jsonx_set_new(object, "metadata.namespace", json_string(ns));
    }
    jsonx_set_new(object, "metadata.creationTimestamp", json_string(at));
    jsonx_set_new(object, "metadata.uid",
                  json_sprintf("%08llx-0000-4000-8000-%012zx",
                               (unsigned long long)entropy_below(&g->chance, UINT32_MAX),
                               json_array_size(g->objects)));
    json_array_append_new(g->objects, object);
    return object;
}

static json_t *condition(const char *type, const char *status, const char *reason)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s}", "type", type, "status", status, "reason", reason,
                     "message", "", "lastTransitionTime", "2026-01-05T09:00:00Z");
}

static json_t *expr(const char *key, const char *op, json_t *values)
{
    json_t *e = json_pack("{s:s, s:s}", "key", key, "operator", op);
    if (values) {
        put(e, "values", values);
    }
    return e;
}

static json_t *resources(int cpu_milli, int mem_mib, int pods)
{
    json_t *r = json_pack("{s:o, s:o}", "cpu", json_sprintf("%dm", cpu_milli), "memory",
                          json_sprintf("%dMi", mem_mib));
    if (pods > 0) {
        put(r, "pods", json_sprintf("%d", pods));
    }
    return r;
}

/* ---- namespaces, classes --------------------------------------------------------------------- */

static void make_namespaces(struct gen *g)
{
    static const char *const names[] = {"default", "kube-system", "other"};
    for (unsigned i = 0; i < ARRAY_LEN(names); i++) {
        json_t *n = json_pack("{s:{s:{s:s}}}", "metadata", "labels", "kubernetes.io/metadata.name",
                              names[i]);
        if (str_eq(names[i], "other")) {
            jsonx_set_new(n, "metadata.labels.team", json_string("red"));
        }
        add(g, "v1", "Namespace", NULL, names[i], n);
    }
}

static void make_priority_class(struct gen *g)
{
    add(g, "scheduling.k8s.io/v1", "PriorityClass", NULL, "high",
        json_pack("{s:i, s:s}", "value", 1000, "preemptionPolicy", "Never"));
}

static void make_storage_class(struct gen *g, const char *name, json_t *topologies)
{
    json_t *c = json_pack("{s:s, s:s, s:s}", "provisioner", DIFF_DRIVER, "reclaimPolicy", "Delete",
                          "volumeBindingMode", "WaitForFirstConsumer");
    if (topologies) {
        put(c, "allowedTopologies",
            json_pack("[{s:[{s:s, s:o}]}]", "matchLabelExpressions", "key", ZONE, "values",
                      topologies));
    }
    add(g, "storage.k8s.io/v1", "StorageClass", NULL, name, c);
}

static void make_node_class(struct gen *g, const char *name, int max_pods)
{
    json_t *subnets = json_array();
    for (unsigned z = 0; z < ARRAY_LEN(zones); z++) {
        json_array_append_new(subnets,
                              json_pack("{s:o, s:s, s:s}", "id", json_sprintf("subnet-%08x", z),
                                        "zone", zones[z], "zoneID", zone_ids[z]));
    }
    json_t *c =
        json_pack("{s:{s:[{s:s}], s:[{s:{s:s}}], s:[{s:{s:s}}], s:s}, s:{s:o, s:[o]}}", "spec",
                  "amiSelectorTerms", "alias", "al2023@latest", "subnetSelectorTerms", "tags", "a",
                  "b", "securityGroupSelectorTerms", "tags", "a", "b", "instanceProfile", "node",
                  "status", "subnets", subnets, "conditions", condition("Ready", "True", "Ready"));
    if (max_pods > 0) {
        jsonx_set_new(c, "spec.kubelet.maxPods", json_integer(max_pods));
    }
    add(g, "karpenter.k8s.aws/v1", "EC2NodeClass", NULL, name, c);
}

/* ---- pools ----------------------------------------------------------------------------------- */

static json_t *type_names(struct gen *g)
{
    json_t *out = json_array();
    for (unsigned n = 2 + below(g, 3), i = below(g, ARRAY_LEN(types)); n > 0; n--, i++) {
        json_array_append_new(out, json_string(types[i % ARRAY_LEN(types)].name));
    }
    return out;
}

static json_t *pool_requirements(struct gen *g)
{
    static const char *const categories[] = {"m", "c", "r", "t"};
    json_t *v = json_array();
    if (maybe(g, 60)) {
        json_array_append_new(v, expr(ARCH, "In", SOME(g, arches, 60)));
    }
    if (maybe(g, 70)) {
        json_array_append_new(v, expr(CAPACITY, "In", SOME(g, capacity_types, 60)));
    }
    if (maybe(g, 30)) {
        const char *op = maybe(g, 80) ? "In" : "NotIn";
        json_array_append_new(v, expr(ZONE, op, SOME(g, zones, 50)));
    }
    if (maybe(g, 25)) {
        const char *op = maybe(g, 60) ? "In" : "NotIn";
        json_array_append_new(v, expr(CATEGORY, op, SOME(g, categories, 50)));
    }
    if (maybe(g, 20)) {
        bool lower = maybe(g, 60);
        json_array_append_new(v, expr(CPU, lower ? "Gt" : "Lt", texts(lower ? "2" : "5", NULL)));
    }
    if (maybe(g, 20)) {
        json_t *e = expr(TYPE, "In", type_names(g));
        if (maybe(g, 30)) {
            put(e, "minValues", json_integer(2));
        }
        json_array_append_new(v, e);
    }
    if (maybe(g, 30)) {
        bool open = maybe(g, 30);
        json_array_append_new(
            v, expr("team", open ? "Exists" : "In", open ? NULL : SOME(g, teams, 60)));
    }
    return v;
}

static json_t *taint(const char *effect)
{
    return json_pack("[{s:s, s:s, s:s}]", "key", "dedicated", "value", "x", "effect", effect);
}

static json_t *pool_limits(struct gen *g)
{
    json_t *limits = json_object();
    if (maybe(g, 50)) {
        put(limits, "cpu", json_sprintf("%u", 2 + 2 * below(g, 8)));
    }
    if (maybe(g, 30)) {
        put(limits, "memory", json_sprintf("%uGi", 8 + 8 * below(g, 6)));
    }
    if (maybe(g, 40)) {
        put(limits, "nodes", json_sprintf("%u", below(g, 4)));
    }
    return limits;
}

static void make_pool(struct gen *g, unsigned i)
{
    char name[16];
    snprintf(name, sizeof(name), "pool-%u", i);
    const char *class = maybe(g, 80) ? "default" : "dense";
    json_t *spec = json_pack("{s:{s:s, s:s, s:s}, s:o, s:s}", "nodeClassRef", "group",
                             "karpenter.k8s.aws", "kind", "EC2NodeClass", "name", class,
                             "requirements", pool_requirements(g), "expireAfter", "Never");
    json_t *template = json_pack("{s:o}", "spec", spec);
    if (maybe(g, 30)) {
        put(spec, "taints", taint(maybe(g, 70) ? "NoSchedule" : "PreferNoSchedule"));
    }
    if (maybe(g, 10)) {
        put(spec, "startupTaints",
            json_pack("[{s:s, s:s}]", "key", "example.com/starting", "effect", "NoSchedule"));
    }
    if (maybe(g, 30)) {
        jsonx_set_new(template, "metadata.labels.tier", json_string(maybe(g, 50) ? "web" : "db"));
    }
    json_t *pool = json_pack("{s:{s:o}}", "spec", "template", template);
    if (maybe(g, 35)) {
        jsonx_set_new(pool, "spec.limits", pool_limits(g));
    }
    if (maybe(g, 50)) {
        jsonx_set_new(pool, "spec.weight", json_integer(1 + below(g, 100)));
    }
    g->pools[g->n_pools++] = add(g, "karpenter.sh/v1", "NodePool", NULL, name, pool);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static json_t *node_labels(struct gen *g, const struct type *t, const char *zone,
                           const json_t *pool)
{
    json_t *l =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:o}", ZONE, zone, ARCH, t->arch,
                  "kubernetes.io/os", "linux", TYPE, t->name, "topology.kubernetes.io/region",
                  DIFF_REGION, CATEGORY, t->category, CPU, json_sprintf("%d", t->cpu));
    if (pool) {
        put(l, "karpenter.sh/nodepool", json_string(jsonx_str(pool, "metadata.name")));
        put(l, CAPACITY, json_string(PICK(g, capacity_types)));
        const char *tier = jsonx_str(pool, "spec.template.metadata.labels.tier");
        if (tier) {
            put(l, "tier", json_string(tier));
        }
    }
    if (maybe(g, 30)) {
        put(l, "team", json_string(PICK(g, teams)));
    }
    return l;
}

static json_t *pool_taints(const json_t *pool)
{
    const json_t *t = jsonx_arr(pool, "spec.template.spec.taints");
    return t ? json_deep_copy(t) : json_array();
}

/* Of a node of that type; less is left of it than EC2 gave. */
static json_t *node_status(const struct type *t, int pods)
{
    json_t *allocatable = resources(t->cpu * 1000 - 80, t->mem_gib * 900, pods);
    json_t *capacity = resources(t->cpu * 1000, t->mem_gib * 960, pods);
    if (t->gpus > 0) {
        put(allocatable, "nvidia.com/gpu", json_string("1"));
        put(capacity, "nvidia.com/gpu", json_string("1"));
    }
    return json_pack("{s:o, s:o}", "capacity", capacity, "allocatable", allocatable);
}

static void make_claim(struct gen *g, const char *name, const json_t *pool, const json_t *labels,
                       json_t *status, const char *node)
{
    json_t *conditions = json_pack("[o]", condition("Launched", "True", "Launched"));
    if (node) {
        json_array_append_new(conditions, condition("Registered", "True", "Registered"));
        json_array_append_new(conditions, condition("Initialized", "True", "Initialized"));
        put(status, "nodeName", json_string(node));
    }
    put(status, "conditions", conditions);
    put(status, "providerID", json_sprintf("aws:///us-west-2a/i-%s", name));
    json_t *claim = json_pack(
        "{s:{s:O}, s:{s:O, s:[{s:s, s:s, s:[s]}], s:o}, s:o}", "metadata", "labels", labels, "spec",
        "nodeClassRef", jsonx_at(pool, "spec.template.spec.nodeClassRef"), "requirements", "key",
        TYPE, "operator", "In", "values", json_string_value(json_object_get(labels, TYPE)),
        "taints", pool_taints(pool), "status", status);
    add(g, "karpenter.sh/v1", "NodeClaim", NULL, name, claim);
}

static void make_csi_node(struct gen *g, const char *node)
{
    add(g, "storage.k8s.io/v1", "CSINode", NULL, node,
        json_pack("{s:{s:[{s:s, s:s, s:n, s:{s:i}}]}}", "spec", "drivers", "name", DIFF_DRIVER,
                  "nodeID", node, "topologyKeys", "allocatable", "count", g->volumes_max));
}

static json_t *node_taints(struct gen *g, const json_t *pool, bool cordoned)
{
    json_t *taints = pool_taints(pool);
    if (!pool && maybe(g, 20)) {
        json_array_extend(taints, taint(maybe(g, 60) ? "NoSchedule" : "PreferNoSchedule"));
    }
    if (cordoned) {
        json_array_append_new(taints,
                              json_pack("{s:s, s:s}", "key", "node.kubernetes.io/unschedulable",
                                        "effect", "NoSchedule"));
    }
    return taints;
}

static void make_node(struct gen *g)
{
    struct room *r = &g->rooms[g->n_nodes];
    const struct type *t = &PICK(g, types);
    const json_t *pool = maybe(g, 55) ? g->pools[below(g, g->n_pools)] : NULL;
    bool cordoned = maybe(g, 8);
    int pods = maybe(g, 80) ? 29 : 4;
    snprintf(r->name, sizeof(r->name), "node-%u", g->n_nodes++);
    r->cpu_milli = t->cpu * 1000 - 80 - DAEMONS_MAX * DAEMON_CPU_MILLI;
    r->mem_mib = t->mem_gib * 900 - DAEMONS_MAX * DAEMON_MEM_MIB;
    r->gpus = t->gpus;
    r->pods = pods - DAEMONS_MAX;
    json_t *labels = node_labels(g, t, PICK(g, zones), pool);
    put(labels, HOST, json_string(r->name));
    if (pool) {
        put(labels, "karpenter.sh/registered", json_string("true"));
        put(labels, "karpenter.sh/initialized", json_string("true"));
        make_claim(g, r->name, pool, labels, node_status(t, pods), r->name);
    }
    json_t *status = node_status(t, pods);
    put(status, "conditions", json_pack("[o]", condition("Ready", "True", "KubeletReady")));
    json_t *spec =
        json_pack("{s:o, s:o}", "providerID", json_sprintf("aws:///us-west-2a/i-%s", r->name),
                  "taints", node_taints(g, pool, cordoned));
    if (cordoned) {
        put(spec, "unschedulable", json_true());
    }
    add(g, "v1", "Node", NULL, r->name,
        json_pack("{s:{s:o}, s:o, s:o}", "metadata", "labels", labels, "spec", spec, "status",
                  status));
    if (g->volumes_max > 0) {
        make_csi_node(g, r->name);
    }
}

/* Launched, but its node has not come yet. */
static void make_claim_on_its_way(struct gen *g)
{
    const json_t *pool = g->pools[below(g, g->n_pools)];
    const struct type *t = &PICK(g, types);
    json_t *labels = node_labels(g, t, PICK(g, zones), pool);
    make_claim(g, "on-its-way", pool, labels, node_status(t, 29), NULL);
    json_decref(labels);
}

/* ---- daemons --------------------------------------------------------------------------------- */

static json_t *container(int cpu_milli, int mem_mib)
{
    return json_pack("{s:s, s:s, s:{s:o}}", "name", "c", "image", "x:1", "resources", "requests",
                     resources(cpu_milli, mem_mib, 0));
}

static void make_daemon_pods(struct gen *g, const json_t *ds)
{
    for (unsigned i = 0; i < g->n_nodes; i++) {
        char name[64];
        snprintf(name, sizeof(name), "%s-%u", jsonx_str(ds, "metadata.name"), i);
        json_t *pod = json_pack(
            "{s:{s:O, s:[{s:s, s:s, s:O, s:O, s:b}]}, s:o, s:{s:s}}", "metadata", "labels",
            jsonx_at(ds, "spec.template.metadata.labels"), "ownerReferences", "apiVersion",
            "apps/v1", "kind", "DaemonSet", "name", jsonx_at(ds, "metadata.name"), "uid",
            jsonx_at(ds, "metadata.uid"), "controller", 1, "spec",
            json_deep_copy(jsonx_at(ds, "spec.template.spec")), "status", "phase", "Running");
        jsonx_set_new(pod, "spec.nodeName", json_string(g->rooms[i].name));
        add(g, "v1", "Pod", "kube-system", name, pod);
    }
}

static void make_daemon(struct gen *g)
{
    char name[16];
    snprintf(name, sizeof(name), "daemon-%u", g->n_daemons++);
    json_t *box = container(DAEMON_CPU_MILLI, DAEMON_MEM_MIB);
    json_t *spec = json_pack("{s:[O]}", "containers", box);
    if (g->daemons_run || maybe(g, 60)) {
        put(spec, "tolerations", json_pack("[{s:s}]", "operator", "Exists"));
    }
    if (!g->daemons_run && maybe(g, 40)) {
        bool arch = maybe(g, 50);
        put(spec, "nodeSelector",
            json_pack("{s:s}", arch ? ARCH : CAPACITY, arch ? "amd64" : "spot"));
    }
    if (maybe(g, 25)) {
        put(box, "ports",
            json_pack("[{s:i, s:i}]", "containerPort", 80, "hostPort", maybe(g, 50) ? 8080 : 9100));
        for (unsigned i = 0; i < g->n_nodes; i++) {
            g->rooms[i].ports = true;
        }
    }
    json_decref(box);
    json_t *ds = json_pack("{s:{s:{s:{s:s}}, s:{s:s}, s:{s:{s:{s:s}}, s:o}}}", "spec", "selector",
                           "matchLabels", "daemon", name, "updateStrategy", "type", "OnDelete",
                           "template", "metadata", "labels", "daemon", name, "spec", spec);
    add(g, "apps/v1", "DaemonSet", "kube-system", name, ds);
    if (g->daemons_run) {
        make_daemon_pods(g, ds);
    }
}

/* ---- workloads: where on nodes --------------------------------------------------------------- */

static json_t *node_expr(struct gen *g)
{
    const char *op = maybe(g, 60) ? "In" : "NotIn";
    switch (below(g, 9)) {
    case 0:
    case 1:
        return expr(ZONE, op, SOME(g, zones, 40));
    case 2:
        return expr(ARCH, "In", SOME(g, arches, 40));
    case 3:
        return expr(CAPACITY, op, SOME(g, capacity_types, 30));
    case 4:
        return expr(CPU, maybe(g, 50) ? "Gt" : "Lt", texts("3", NULL));
    case 5:
        return expr(TYPE, op, type_names(g));
    case 6:
        return expr("team", op, SOME(g, teams, 40));
    case 7:
        return expr("team", maybe(g, 50) ? "Exists" : "DoesNotExist", NULL);
    default:
        return expr("tier", op, texts("web", NULL));
    }
}

static json_t *node_term(struct gen *g)
{
    json_t *v = json_pack("[o]", node_expr(g));
    if (maybe(g, 25)) {
        json_array_append_new(v, node_expr(g));
    }
    return json_pack("{s:o}", "matchExpressions", v);
}

static json_t *node_affinity(struct gen *g)
{
    json_t *a = json_object();
    if (maybe(g, 60)) {
        json_t *terms = json_pack("[o]", node_term(g));
        if (maybe(g, 30)) {
            json_array_append_new(terms, node_term(g));
        }
        put(a, REQUIRED, json_pack("{s:o}", "nodeSelectorTerms", terms));
    }
    if (maybe(g, 50)) {
        int weight = 1 + (int)below(g, 100);
        put(a, PREFERRED, json_pack("[{s:i, s:o}]", "weight", weight, "preference", node_term(g)));
    }
    return a;
}

static json_t *node_selector(struct gen *g)
{
    switch (below(g, 5)) {
    case 0:
        return json_pack("{s:s}", ZONE, PICK(g, zones));
    case 1:
        return json_pack("{s:s}", ARCH, PICK(g, arches));
    case 2:
        return json_pack("{s:s}", CAPACITY, PICK(g, capacity_types));
    case 3:
        return json_pack("{s:s}", "team", PICK(g, teams));
    default:
        return json_pack("{s:s}", "tier", "web");
    }
}

/* ---- workloads: where relative to others ----------------------------------------------------- */

static const char *topology_key(struct gen *g)
{
    unsigned n = below(g, 100);
    return n < 50 ? ZONE : n < 90 ? HOST : CAPACITY;
}

/* Mostly about the workload's own pods. */
static json_t *label_selector(struct gen *g, const char *own)
{
    const char *app = maybe(g, 60) ? own : PICK(g, app_names);
    if (maybe(g, 80)) {
        return json_pack("{s:{s:s}}", "matchLabels", DIFF_APP_LABEL, app);
    }
    return json_pack("{s:[o]}", "matchExpressions",
                     expr(DIFF_APP_LABEL, "In", texts(app, PICK(g, app_names))));
}

static json_t *pod_term(struct gen *g, const char *own)
{
    const char *key = topology_key(g);
    json_t *t =
        json_pack("{s:s, s:o}", "topologyKey", key, "labelSelector", label_selector(g, own));
    if (maybe(g, 10)) {
        put(t, "namespaces", texts("other", NULL));
    } else if (maybe(g, 10)) {
        put(t, "namespaceSelector", json_object());
    }
    return t;
}

static json_t *pod_affinity(struct gen *g, const char *own, unsigned hard_percent)
{
    if (maybe(g, hard_percent)) {
        return json_pack("{s:[o]}", REQUIRED, pod_term(g, own));
    }
    int weight = 1 + (int)below(g, 100);
    return json_pack("{s:[{s:i, s:o}]}", PREFERRED, "weight", weight, "podAffinityTerm",
                     pod_term(g, own));
}

static json_t *spread(struct gen *g, const char *key, const char *own)
{
    bool hard = maybe(g, 65);
    int skew = 1 + (int)below(g, 2);
    json_t *s = json_pack("{s:s, s:i, s:s, s:o}", "topologyKey", key, "maxSkew", skew,
                          "whenUnsatisfiable", hard ? "DoNotSchedule" : "ScheduleAnyway",
                          "labelSelector", label_selector(g, own));
    if (hard && maybe(g, 20)) {
        put(s, "minDomains", json_integer(2 + below(g, 2)));
    }
    if (maybe(g, 20)) {
        put(s, "nodeTaintsPolicy", json_string("Honor"));
    }
    if (maybe(g, 20)) {
        put(s, "nodeAffinityPolicy", json_string("Ignore"));
    }
    return s;
}

static json_t *spreads(struct gen *g, const char *own)
{
    static const char *const keys[] = {ZONE, HOST, CAPACITY};
    static const unsigned percent[] = {65, 35, 10};
    json_t *v = json_array();
    for (unsigned i = 0; i < ARRAY_LEN(keys); i++) {
        if (maybe(g, percent[i])) {
            json_array_append_new(v, spread(g, keys[i], own));
        }
    }
    return v;
}

/* ---- workloads ------------------------------------------------------------------------------- */

static json_t *app_containers(struct gen *g, struct app *a)
{
    static const int cpus[] = {100, 250, 500, 900, 1500, 3000};
    static const int mems[] = {64, 256, 1024, 2048, 5000};
    a->cpu_milli = PICK(g, cpus);
    a->mem_mib = PICK(g, mems);
    json_t *box = container(a->cpu_milli, a->mem_mib);
    if (maybe(g, 4)) {
        jsonx_set_new(box, "resources",
                      json_pack("{s:{s:s, s:s}, s:{s:s}}", "requests", "cpu", "100m",
                                "nvidia.com/gpu", "1", "limits", "nvidia.com/gpu", "1"));
        a->cpu_milli = 100;
        a->mem_mib = 0;
        a->gpus = 1;
    }
    a->ports = maybe(g, 8);
    if (a->ports) {
        put(box, "ports", json_pack("[{s:i, s:i}]", "containerPort", 80, "hostPort", 8080));
    }
    return json_pack("[o]", box);
}

static json_t *app_affinity(struct gen *g, const char *own)
{
    json_t *a = json_object();
    if (maybe(g, 35)) {
        put(a, "nodeAffinity", node_affinity(g));
    }
    if (maybe(g, 20)) {
        put(a, "podAffinity", pod_affinity(g, own, 60));
    }
    if (maybe(g, 35)) {
        put(a, "podAntiAffinity", pod_affinity(g, own, 60));
    }
    return a;
}

static void app_priority(json_t *spec)
{
    put(spec, "priorityClassName", json_string("high"));
    put(spec, "priority", json_integer(1000));
    put(spec, "preemptionPolicy", json_string("Never"));
}

static void make_app(struct gen *g)
{
    const char *own = app_names[g->n_apps];
    struct app *a = &g->apps[g->n_apps++];
    a->ns = maybe(g, 85) ? "default" : "other";
    a->labels = json_pack("{s:s}", DIFF_APP_LABEL, own);
    a->spec = json_pack("{s:o}", "containers", app_containers(g, a));
    if (maybe(g, 30)) {
        put(a->spec, "nodeSelector", node_selector(g));
    }
    if (maybe(g, 60)) {
        put(a->spec, "affinity", app_affinity(g, own));
    }
    if (maybe(g, 45)) {
        put(a->spec, "topologySpreadConstraints", spreads(g, own));
    }
    if (maybe(g, 40)) {
        put(a->spec, "tolerations",
            maybe(g, 60) ? json_pack("[{s:s, s:s, s:s}]", "key", "dedicated", "operator", "Equal",
                                     "value", "x")
                         : json_pack("[{s:s}]", "operator", "Exists"));
    }
    if (maybe(g, 15)) {
        app_priority(a->spec);
    }
    if (maybe(g, 10)) {
        put(a->spec, "initContainers",
            json_pack("[{s:s, s:s, s:s, s:{s:o}}]", "name", "i", "image", "x:1", "restartPolicy",
                      "Always", "resources", "requests", resources(200, 100, 0)));
        a->cpu_milli += 200;
        a->mem_mib += 100;
    }
    a->volumes = maybe(g, 15);
}

/* ---- pods ------------------------------------------------------------------------------------ */

static void make_volume(struct gen *g, const char *ns, const char *claim)
{
    bool bound = maybe(g, 50);
    const char *class = !bound && maybe(g, 50) ? "zonal" : "gp3";
    json_t *pvc = json_pack("{s:{s:s, s:[s], s:{s:{s:s}}}, s:{s:s}}", "spec", "storageClassName",
                            class, "accessModes", "ReadWriteOnce", "resources", "requests",
                            "storage", "1Gi", "status", "phase", bound ? "Bound" : "Pending");
    if (bound) {
        json_t *here = json_pack("[{s:[o]}]", "matchExpressions",
                                 expr(ZONE, "In", texts(PICK(g, zones), NULL)));
        add(g, "v1", "PersistentVolume", NULL, claim,
            json_pack("{s:{s:{s:s}, s:[s], s:s, s:s, s:{s:s, s:s}, s:{s:s, s:s, s:s, s:s}, "
                      "s:{s:{s:o}}}, s:{s:s}}",
                      "spec", "capacity", "storage", "1Gi", "accessModes", "ReadWriteOnce",
                      "storageClassName", class, "persistentVolumeReclaimPolicy", "Retain", "csi",
                      "driver", DIFF_DRIVER, "volumeHandle", claim, "claimRef", "apiVersion", "v1",
                      "kind", "PersistentVolumeClaim", "namespace", ns, "name", claim,
                      "nodeAffinity", "required", "nodeSelectorTerms", here, "status", "phase",
                      "Bound"));
        jsonx_set_new(pvc, "spec.volumeName", json_string(claim));
        jsonx_set_new(pvc, "metadata.annotations",
                      json_pack("{s:s}", "pv.kubernetes.io/bind-completed", "yes"));
    }
    add(g, "v1", "PersistentVolumeClaim", ns, claim, pvc);
}

static json_t *make_pod(struct gen *g, const struct app *a)
{
    char name[32];
    snprintf(name, sizeof(name), "%s-%u", json_string_value(json_object_get(a->labels, "app")),
             g->n_pods++);
    json_t *pod = json_pack("{s:{s:o}, s:o}", "metadata", "labels", json_deep_copy(a->labels),
                            "spec", json_deep_copy(a->spec));
    return add(g, "v1", "Pod", a->ns, name, pod);
}

static void make_bound_pod(struct gen *g)
{
    const struct app *a = &g->apps[below(g, g->n_apps)];
    struct room *r = &g->rooms[below(g, g->n_nodes)];
    if (r->cpu_milli < a->cpu_milli || r->mem_mib < a->mem_mib || r->gpus < a->gpus ||
        r->pods < 1 || (a->ports && r->ports)) {
        return;
    }
    r->cpu_milli -= a->cpu_milli;
    r->mem_mib -= a->mem_mib;
    r->gpus -= a->gpus;
    r->pods--;
    r->ports = r->ports || a->ports;
    json_t *pod = make_pod(g, a);
    jsonx_set_new(pod, "spec.nodeName", json_string(r->name));
    put(pod, "status", json_pack("{s:s}", "phase", "Running"));
}

static void make_waiting_pod(struct gen *g)
{
    const struct app *a = &g->apps[below(g, g->n_apps)];
    char claim[32];
    if (a->volumes) {
        snprintf(claim, sizeof(claim), "claim-%u", g->n_claims++);
        make_volume(g, a->ns, claim);
    }
    json_t *pod = make_pod(g, a);
    if (a->volumes) {
        jsonx_set_new(pod, "spec.volumes",
                      json_pack("[{s:s, s:{s:s}}]", "name", "v", "persistentVolumeClaim",
                                "claimName", claim));
    }
    put(pod, "status",
        json_pack("{s:s, s:[o]}", "phase", "Pending", "conditions",
                  condition("PodScheduled", "False", "Unschedulable")));
}

/* ---- the cluster ----------------------------------------------------------------------------- */

static void make_capacity(struct gen *g)
{
    make_node_class(g, "default", 0);
    make_node_class(g, "dense", 4);
    for (unsigned n = 1 + below(g, POOLS_MAX), i = 0; i < n; i++) {
        make_pool(g, i);
    }
    g->volumes_max = maybe(g, 30) ? 1 + (int)below(g, 3) : 0;
    for (unsigned n = below(g, NODES_MAX + 1); n > 0; n--) {
        make_node(g);
    }
    if (maybe(g, 25)) {
        make_claim_on_its_way(g);
    }
    g->daemons_run = maybe(g, 40);
    for (unsigned n = below(g, DAEMONS_MAX + 1); n > 0; n--) {
        make_daemon(g);
    }
}

void diff_cluster_make(uint64_t seed, struct diff_cluster *ret)
{
    static const char *const policies[] = {"Respect", "Respect", "Ignore", "Reasonable"};
    struct gen g = {.state = seed, .objects = json_array(), .now_ns = START_NS};
    g.chance = entropy_seeded(&g.state);
    ret->seed = seed;
    ret->policy = PICK(&g, policies);
    make_namespaces(&g);
    make_priority_class(&g);
    make_storage_class(&g, "gp3", NULL);
    make_storage_class(&g, "zonal", SOME(&g, zones, 50));
    make_capacity(&g);
    for (unsigned n = 1 + below(&g, APPS_MAX); n > 0; n--) {
        make_app(&g);
    }
    for (unsigned n = g.n_nodes > 0 ? below(&g, 8) : 0; n > 0; n--) {
        make_bound_pod(&g);
    }
    for (unsigned n = 1 + below(&g, 10); n > 0; n--) {
        make_waiting_pod(&g);
    }
    for (unsigned i = 0; i < g.n_apps; i++) {
        json_decref(g.apps[i].spec);
        json_decref(g.apps[i].labels);
    }
    ret->objects = g.objects;
}

void diff_cluster_done(struct diff_cluster *c)
{
    json_decref(c->objects);
    c->objects = NULL;
}
