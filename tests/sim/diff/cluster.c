/* cluster.c - see cluster.h */
#include "cluster.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "gen.h"

#define START_NS (INT64_C(1767603600) * 1000000000) /* when the first object was made */
#define DAEMONS_MAX 2
#define ODD_APPS_MAX 4
#define DAEMON_CPU_MILLI 100
#define DAEMON_MEM_MIB 128

/* ---- objects --------------------------------------------------------------------------------- */

json_t *gen_add(struct gen *g, const char *api_version, const char *kind, const char *ns,
                const char *name, json_t *object)
{
    char at[TIMEFMT_TEXT];
    g->now_ns += str_eq(kind, "Pod") && parts_maybe(&g->chance, 60) ? 0 : INT64_C(1000000000);
    timefmt_rfc3339(g->now_ns, at);
    parts_put(object, "apiVersion", json_string(api_version));
    parts_put(object, "kind", json_string(kind));
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
        gen_add(g, "v1", "Namespace", NULL, names[i], n);
    }
}

static void make_priority_class(struct gen *g)
{
    gen_add(g, "scheduling.k8s.io/v1", "PriorityClass", NULL, "high",
            json_pack("{s:i, s:s}", "value", 1000, "preemptionPolicy", "Never"));
}

static void make_storage_class(struct gen *g, const char *name, json_t *topologies)
{
    json_t *c = json_pack("{s:s, s:s, s:s}", "provisioner", DIFF_DRIVER, "reclaimPolicy", "Delete",
                          "volumeBindingMode", "WaitForFirstConsumer");
    if (topologies) {
        parts_put(c, "allowedTopologies",
                  json_pack("[{s:[{s:s, s:o}]}]", "matchLabelExpressions", "key", ZONE, "values",
                            topologies));
    }
    gen_add(g, "storage.k8s.io/v1", "StorageClass", NULL, name, c);
}

void gen_node_class(struct gen *g, const char *name, int max_pods)
{
    json_t *subnets = json_array();
    for (unsigned z = 0; z < ARRAY_LEN(parts_zones); z++) {
        json_array_append_new(subnets,
                              json_pack("{s:o, s:s, s:s}", "id", json_sprintf("subnet-%08x", z),
                                        "zone", parts_zones[z], "zoneID", parts_zone_ids[z]));
    }
    json_t *c =
        json_pack("{s:{s:[{s:s}], s:[{s:{s:s}}], s:[{s:{s:s}}], s:s}, s:{s:o, s:[o]}}", "spec",
                  "amiSelectorTerms", "alias", "al2023@latest", "subnetSelectorTerms", "tags", "a",
                  "b", "securityGroupSelectorTerms", "tags", "a", "b", "instanceProfile", "node",
                  "status", "subnets", subnets, "conditions", condition("Ready", "True", "Ready"));
    if (max_pods > 0) {
        jsonx_set_new(c, "spec.kubelet.maxPods", json_integer(max_pods));
    }
    gen_add(g, "karpenter.k8s.aws/v1", "EC2NodeClass", NULL, name, c);
}

/* ---- pools ----------------------------------------------------------------------------------- */

static json_t *pool_requirements(struct gen *g)
{
    static const char *const categories[] = {"m", "c", "r", "t"};
    json_t *v = json_array();
    if (parts_maybe(&g->chance, 60)) {
        json_array_append_new(v, parts_expr(ARCH, "In", SOME(&g->chance, parts_arches, 60)));
    }
    if (parts_maybe(&g->chance, 70)) {
        json_array_append_new(
            v, parts_expr(CAPACITY, "In", SOME(&g->chance, parts_capacity_types, 60)));
    }
    if (parts_maybe(&g->chance, 30)) {
        const char *op = parts_maybe(&g->chance, 80) ? "In" : "NotIn";
        json_array_append_new(v, parts_expr(ZONE, op, SOME(&g->chance, parts_zones, 50)));
    }
    if (parts_maybe(&g->chance, 25)) {
        const char *op = parts_maybe(&g->chance, 60) ? "In" : "NotIn";
        json_array_append_new(v, parts_expr(CATEGORY, op, SOME(&g->chance, categories, 50)));
    }
    if (parts_maybe(&g->chance, 20)) {
        bool lower = parts_maybe(&g->chance, 60);
        json_array_append_new(
            v, parts_expr(CPU, lower ? "Gt" : "Lt", parts_texts(lower ? "2" : "5", NULL)));
    }
    if (parts_maybe(&g->chance, 20)) {
        json_t *e = parts_expr(TYPE, "In", parts_type_names(&g->chance));
        if (parts_maybe(&g->chance, 30)) {
            parts_put(e, "minValues", json_integer(2));
        }
        json_array_append_new(v, e);
    }
    if (parts_maybe(&g->chance, 30)) {
        bool open = parts_maybe(&g->chance, 30);
        json_array_append_new(v, parts_expr("team", open ? "Exists" : "In",
                                            open ? NULL : SOME(&g->chance, parts_teams, 60)));
    }
    return v;
}

json_t *gen_taint(const char *effect)
{
    return json_pack("[{s:s, s:s, s:s}]", "key", "dedicated", "value", "x", "effect", effect);
}

static json_t *pool_limits(struct gen *g)
{
    json_t *limits = json_object();
    if (parts_maybe(&g->chance, 50)) {
        parts_put(limits, "cpu", json_sprintf("%u", 2 + 2 * parts_below(&g->chance, 8)));
    }
    if (parts_maybe(&g->chance, 30)) {
        parts_put(limits, "memory", json_sprintf("%uGi", 8 + 8 * parts_below(&g->chance, 6)));
    }
    if (parts_maybe(&g->chance, 40)) {
        parts_put(limits, "nodes", json_sprintf("%u", parts_below(&g->chance, 4)));
    }
    return limits;
}

static void make_pool(struct gen *g, unsigned i)
{
    char name[16];
    snprintf(name, sizeof(name), "pool-%u", i);
    const char *class = parts_maybe(&g->chance, 80) ? "default" : "dense";
    json_t *spec = json_pack("{s:{s:s, s:s, s:s}, s:o, s:s}", "nodeClassRef", "group",
                             "karpenter.k8s.aws", "kind", "EC2NodeClass", "name", class,
                             "requirements", pool_requirements(g), "expireAfter", "Never");
    json_t *template = json_pack("{s:o}", "spec", spec);
    if (parts_maybe(&g->chance, 30)) {
        parts_put(spec, "taints",
                  gen_taint(parts_maybe(&g->chance, 70) ? "NoSchedule" : "PreferNoSchedule"));
    }
    if (parts_maybe(&g->chance, 10)) {
        parts_put(spec, "startupTaints",
                  json_pack("[{s:s, s:s}]", "key", "example.com/starting", "effect", "NoSchedule"));
    }
    if (parts_maybe(&g->chance, 30)) {
        jsonx_set_new(template, "metadata.labels.tier",
                      json_string(parts_maybe(&g->chance, 50) ? "web" : "db"));
    }
    json_t *pool = json_pack("{s:{s:o}}", "spec", "template", template);
    if (parts_maybe(&g->chance, 35)) {
        jsonx_set_new(pool, "spec.limits", pool_limits(g));
    }
    if (parts_maybe(&g->chance, 50)) {
        jsonx_set_new(pool, "spec.weight", json_integer(1 + parts_below(&g->chance, 100)));
    }
    g->pools[g->n_pools++] = gen_add(g, "karpenter.sh/v1", "NodePool", NULL, name, pool);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static json_t *node_labels(struct gen *g, const struct parts_type *t, const char *zone,
                           const json_t *pool)
{
    json_t *l =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:o}", ZONE, zone, ARCH, t->arch,
                  "kubernetes.io/os", "linux", TYPE, t->name, "topology.kubernetes.io/region",
                  DIFF_REGION, CATEGORY, t->category, CPU, json_sprintf("%d", t->cpu));
    if (pool) {
        parts_put(l, "karpenter.sh/nodepool", json_string(jsonx_str(pool, "metadata.name")));
        parts_put(l, CAPACITY, json_string(PICK(&g->chance, parts_capacity_types)));
        const char *tier = jsonx_str(pool, "spec.template.metadata.labels.tier");
        if (tier) {
            parts_put(l, "tier", json_string(tier));
        }
    }
    if (parts_maybe(&g->chance, 30)) {
        parts_put(l, "team", json_string(PICK(&g->chance, parts_teams)));
    }
    return l;
}

static json_t *pool_taints(const json_t *pool)
{
    const json_t *t = jsonx_arr(pool, "spec.template.spec.taints");
    return t ? json_deep_copy(t) : json_array();
}

/* Of a node of that type; less is left of it than EC2 gave. */
static json_t *node_status(const struct parts_type *t, int pods)
{
    json_t *allocatable = parts_amounts(t->cpu * 1000 - 80, t->mem_gib * 900, pods);
    json_t *capacity = parts_amounts(t->cpu * 1000, t->mem_gib * 960, pods);
    if (t->gpus > 0) {
        parts_put(allocatable, "nvidia.com/gpu", json_string("1"));
        parts_put(capacity, "nvidia.com/gpu", json_string("1"));
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
        parts_put(status, "nodeName", json_string(node));
    }
    parts_put(status, "conditions", conditions);
    parts_put(status, "providerID", json_sprintf("aws:///us-west-2a/i-%s", name));
    json_t *claim = json_pack(
        "{s:{s:O}, s:{s:O, s:[{s:s, s:s, s:[s]}], s:o}, s:o}", "metadata", "labels", labels, "spec",
        "nodeClassRef", jsonx_at(pool, "spec.template.spec.nodeClassRef"), "requirements", "key",
        TYPE, "operator", "In", "values", json_string_value(json_object_get(labels, TYPE)),
        "taints", pool_taints(pool), "status", status);
    gen_add(g, "karpenter.sh/v1", "NodeClaim", NULL, name, claim);
}

static void make_csi_node(struct gen *g, const char *node)
{
    gen_add(g, "storage.k8s.io/v1", "CSINode", NULL, node,
            json_pack("{s:{s:[{s:s, s:s, s:n, s:{s:i}}]}}", "spec", "drivers", "name", DIFF_DRIVER,
                      "nodeID", node, "topologyKeys", "allocatable", "count", g->volumes_max));
}

static json_t *node_taints(struct gen *g, const json_t *pool, bool cordoned)
{
    json_t *taints = pool_taints(pool);
    if (!pool && parts_maybe(&g->chance, 20)) {
        json_decref(taints);
        taints = gen_taint(parts_maybe(&g->chance, 60) ? "NoSchedule" : "PreferNoSchedule");
    }
    if (cordoned) {
        json_array_append_new(taints,
                              json_pack("{s:s, s:s}", "key", "node.kubernetes.io/unschedulable",
                                        "effect", "NoSchedule"));
    }
    return taints;
}

void gen_node(struct gen *g)
{
    struct room *r = &g->rooms[g->n_nodes];
    const struct parts_type *t = &PICK(&g->chance, parts_types);
    const json_t *pool =
        parts_maybe(&g->chance, 55) ? g->pools[parts_below(&g->chance, g->n_pools)] : NULL;
    bool cordoned = parts_maybe(&g->chance, 8);
    int pods = parts_maybe(&g->chance, 80) ? 29 : 4;
    snprintf(r->name, sizeof(r->name), "node-%u", g->n_nodes++);
    r->cpu_milli = t->cpu * 1000 - 80 - DAEMONS_MAX * DAEMON_CPU_MILLI;
    r->mem_mib = t->mem_gib * 900 - DAEMONS_MAX * DAEMON_MEM_MIB;
    r->gpus = t->gpus;
    r->pods = pods - DAEMONS_MAX;
    json_t *labels = node_labels(g, t, PICK(&g->chance, parts_zones), pool);
    parts_put(labels, HOST, json_string(r->name));
    if (pool) {
        parts_put(labels, "karpenter.sh/registered", json_string("true"));
        parts_put(labels, "karpenter.sh/initialized", json_string("true"));
        make_claim(g, r->name, pool, labels, node_status(t, pods), r->name);
    }
    json_t *status = node_status(t, pods);
    parts_put(status, "conditions", json_pack("[o]", condition("Ready", "True", "KubeletReady")));
    json_t *spec =
        json_pack("{s:o, s:o}", "providerID", json_sprintf("aws:///us-west-2a/i-%s", r->name),
                  "taints", node_taints(g, pool, cordoned));
    if (cordoned) {
        parts_put(spec, "unschedulable", json_true());
    }
    gen_add(g, "v1", "Node", NULL, r->name,
            json_pack("{s:{s:o}, s:o, s:o}", "metadata", "labels", labels, "spec", spec, "status",
                      status));
    if (g->volumes_max > 0) {
        make_csi_node(g, r->name);
    }
}

/* Launched, but its node has not come yet. */
static void make_claim_on_its_way(struct gen *g)
{
    const json_t *pool = g->pools[parts_below(&g->chance, g->n_pools)];
    const struct parts_type *t = &PICK(&g->chance, parts_types);
    json_t *labels = node_labels(g, t, PICK(&g->chance, parts_zones), pool);
    make_claim(g, "on-its-way", pool, labels, node_status(t, 29), NULL);
    json_decref(labels);
}

/* ---- daemons --------------------------------------------------------------------------------- */

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
        gen_add(g, "v1", "Pod", "kube-system", name, pod);
    }
}

void gen_daemon(struct gen *g)
{
    char name[16];
    snprintf(name, sizeof(name), "daemon-%u", g->n_daemons++);
    json_t *box = parts_container(DAEMON_CPU_MILLI, DAEMON_MEM_MIB);
    json_t *spec = json_pack("{s:[O]}", "containers", box);
    if (g->daemons_run || parts_maybe(&g->chance, 60)) {
        parts_put(spec, "tolerations", json_pack("[{s:s}]", "operator", "Exists"));
    }
    if (!g->daemons_run && parts_maybe(&g->chance, 40)) {
        bool arch = parts_maybe(&g->chance, 50);
        parts_put(spec, "nodeSelector",
                  json_pack("{s:s}", arch ? ARCH : CAPACITY, arch ? "amd64" : "spot"));
    }
    if (parts_maybe(&g->chance, 25)) {
        parts_put(box, "ports",
                  json_pack("[{s:i, s:i}]", "containerPort", 80, "hostPort",
                            g->n_daemons == 1 ? 8080 : 9100));
        for (unsigned i = 0; i < g->n_nodes; i++) {
            g->rooms[i].ports = true;
        }
    }
    json_decref(box);
    json_t *ds = json_pack("{s:{s:{s:{s:s}}, s:{s:s}, s:{s:{s:{s:s}}, s:o}}}", "spec", "selector",
                           "matchLabels", "daemon", name, "updateStrategy", "type", "OnDelete",
                           "template", "metadata", "labels", "daemon", name, "spec", spec);
    gen_add(g, "apps/v1", "DaemonSet", "kube-system", name, ds);
    if (g->daemons_run) {
        make_daemon_pods(g, ds);
    }
}

/* ---- pods ------------------------------------------------------------------------------------ */

static void make_volume(struct gen *g, const char *ns, const char *claim)
{
    bool bound = parts_maybe(&g->chance, 50);
    const char *class = !bound && parts_maybe(&g->chance, 50) ? "zonal" : "gp3";
    json_t *pvc = json_pack("{s:{s:s, s:[s], s:{s:{s:s}}}, s:{s:s}}", "spec", "storageClassName",
                            class, "accessModes", "ReadWriteOnce", "resources", "requests",
                            "storage", "1Gi", "status", "phase", bound ? "Bound" : "Pending");
    if (bound) {
        json_t *here =
            json_pack("[{s:[o]}]", "matchExpressions",
                      parts_expr(ZONE, "In", parts_texts(PICK(&g->chance, parts_zones), NULL)));
        gen_add(g, "v1", "PersistentVolume", NULL, claim,
                json_pack("{s:{s:{s:s}, s:[s], s:s, s:s, s:{s:s, s:s}, s:{s:s, s:s, s:s, s:s}, "
                          "s:{s:{s:o}}}, s:{s:s}}",
                          "spec", "capacity", "storage", "1Gi", "accessModes", "ReadWriteOnce",
                          "storageClassName", class, "persistentVolumeReclaimPolicy", "Retain",
                          "csi", "driver", DIFF_DRIVER, "volumeHandle", claim, "claimRef",
                          "apiVersion", "v1", "kind", "PersistentVolumeClaim", "namespace", ns,
                          "name", claim, "nodeAffinity", "required", "nodeSelectorTerms", here,
                          "status", "phase", "Bound"));
        jsonx_set_new(pvc, "spec.volumeName", json_string(claim));
        jsonx_set_new(pvc, "metadata.annotations",
                      json_pack("{s:s}", "pv.kubernetes.io/bind-completed", "yes"));
    }
    gen_add(g, "v1", "PersistentVolumeClaim", ns, claim, pvc);
}

static json_t *make_pod(struct gen *g, const struct app *a)
{
    char name[32];
    snprintf(name, sizeof(name), "%s-%u", json_string_value(json_object_get(a->labels, APP_LABEL)),
             g->n_pods++);
    json_t *pod = json_pack("{s:{s:o}, s:o}", "metadata", "labels", json_deep_copy(a->labels),
                            "spec", json_deep_copy(a->spec));
    return gen_add(g, "v1", "Pod", a->ns, name, pod);
}

void gen_bound_pod(struct gen *g)
{
    const struct app *a = &g->apps[parts_below(&g->chance, g->n_apps)];
    struct room *r = &g->rooms[parts_below(&g->chance, g->n_nodes)];
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
    parts_put(pod, "status", json_pack("{s:s}", "phase", "Running"));
}

void gen_waiting_pod(struct gen *g, const struct app *a)
{
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
    parts_put(pod, "status",
              json_pack("{s:s, s:[o]}", "phase", "Pending", "conditions",
                        condition("PodScheduled", "False", "Unschedulable")));
}

/* ---- the cluster ----------------------------------------------------------------------------- */

static void make_capacity(struct gen *g)
{
    gen_node_class(g, "default", 0);
    gen_node_class(g, "dense", 4);
    for (unsigned n = 1 + parts_below(&g->chance, POOLS_MAX), i = 0; i < n; i++) {
        make_pool(g, i);
    }
    g->volumes_max = parts_maybe(&g->chance, 30) ? 1 + (int)parts_below(&g->chance, 3) : 0;
    for (unsigned n = parts_below(&g->chance, NODES_MAX + 1); n > 0; n--) {
        gen_node(g);
    }
    if (parts_maybe(&g->chance, 25)) {
        make_claim_on_its_way(g);
    }
    g->daemons_run = parts_maybe(&g->chance, 40);
    for (unsigned n = parts_below(&g->chance, DAEMONS_MAX + 1); n > 0; n--) {
        gen_daemon(g);
    }
}

static void make_odd(struct gen *g, uint32_t pods)
{
    make_capacity(g);
    for (unsigned n = 1 + parts_below(&g->chance, ODD_APPS_MAX); n > 0; n--) {
        app_make(&g->chance, g->n_apps, &g->apps[g->n_apps]);
        g->n_apps++;
    }
    for (unsigned n = g->n_nodes > 0 ? parts_below(&g->chance, 8) : 0; n > 0; n--) {
        gen_bound_pod(g);
    }
    for (unsigned n = 1 + parts_below(&g->chance, pods); n > 0; n--) {
        gen_waiting_pod(g, &g->apps[parts_below(&g->chance, g->n_apps)]);
    }
}

void diff_cluster_make(const struct diff_kind *kind, uint64_t seed, struct diff_cluster *ret)
{
    static const char *const policies[] = {"Respect", "Respect", "Ignore", "Reasonable"};
    struct gen g = {.state = seed, .objects = json_array(), .now_ns = START_NS};
    g.chance = entropy_seeded(&g.state);
    ret->seed = seed;
    ret->types = kind->all_types ? NULL : DIFF_TYPES;
    ret->policy = PICK(&g.chance, policies);
    make_namespaces(&g);
    make_priority_class(&g);
    make_storage_class(&g, "gp3", NULL);
    make_storage_class(&g, "zonal", SOME(&g.chance, parts_zones, 50));
    if (kind->usual) {
        gen_usual(&g, kind->pods);
    } else {
        make_odd(&g, kind->pods);
    }
    for (unsigned i = 0; i < g.n_apps; i++) {
        app_done(&g.apps[i]);
    }
    ret->objects = g.objects;
}

void diff_cluster_done(struct diff_cluster *c)
{
    json_decref(c->objects);
    c->objects = NULL;
}
