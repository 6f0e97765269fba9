/* kubelet.c - machines that register as nodes; see kubelet.h */
#include "kubelet.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "kubelet_pod.h"

#define WHO "kubelet"
#define SYNC_NS (10 * NS_PER_S) /* nodeStatusUpdateFrequency */

/* ---- the Node object ---------------------------------------------------------------------------
 */

static void label(json_t *labels, const char *key, const char *value)
{
    if (value && value[0]) {
        json_object_set_new(labels, key, json_string(value));
    }
}

static json_t *spec_labels(const struct sim_node_spec *s)
{
    json_t *labels = json_object();
    const char *os = s->os ? s->os : "linux";
    label(labels, "kubernetes.io/hostname", s->name);
    label(labels, "kubernetes.io/arch", s->arch);
    label(labels, "kubernetes.io/os", os);
    label(labels, "beta.kubernetes.io/arch", s->arch);
    label(labels, "beta.kubernetes.io/os", os);
    label(labels, "node.kubernetes.io/instance-type", s->instance_type);
    label(labels, "beta.kubernetes.io/instance-type", s->instance_type);
    label(labels, "topology.kubernetes.io/zone", s->zone);
    label(labels, "topology.kubernetes.io/region", s->region);
    label(labels, "failure-domain.beta.kubernetes.io/zone", s->zone);
    label(labels, "failure-domain.beta.kubernetes.io/region", s->region);
    label(labels, "topology.k8s.aws/zone-id", s->zone_id);
    json_object_update(labels, (json_t *)s->labels);
    return labels;
}

/* "ip-10-0-1-2" is 10.0.1.2; any other name gets 10.255.255.254. */
static void ip_of_name(const char *name, char dst[48])
{
    unsigned a, b, c, d;
    bool ok = sscanf(name, "ip-%u-%u-%u-%u", &a, &b, &c, &d) == 4 && a < 256 && b < 256 &&
              c < 256 && d < 256;
    snprintf(dst, 48, "%u.%u.%u.%u", ok ? a : 10, ok ? b : 255, ok ? c : 255, ok ? d : 254);
}

static json_t *spec_node(const struct sim_node_spec *s)
{
    json_t *copy = json_deep_copy(s->capacity);
    json_t *capacity = copy ? copy : json_object();
    json_t *allocatable = s->allocatable ? json_deep_copy(s->allocatable) : json_incref(capacity);
    json_t *taints = s->taints ? json_deep_copy(s->taints) : json_array();
    return json_pack("{s:s, s:s, s:{s:s, s:o}, s:{s:s, s:o}, s:{s:o, s:o, s:{s:s, s:s, s:s}}}",
                     "kind", "Node", "apiVersion", "v1", "metadata", "name", s->name, "labels",
                     spec_labels(s), "spec", "providerID", s->provider_id, "taints", taints,
                     "status", "capacity", capacity, "allocatable", allocatable, "nodeInfo",
                     "kubeletVersion", s->kubelet_version ? s->kubelet_version : "v1.34.0",
                     "architecture", s->arch ? s->arch : "amd64", "operatingSystem",
                     s->os ? s->os : "linux");
}

static json_t *node_conditions(const struct sim_kubelet *k, bool ready)
{
    static const struct {
        const char *type, *reason, *message;
    } calm[] = {
        {"MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"},
        {"DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"},
        {"PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"},
    };
    int64_t now = vclock_wall(&k->w->clock);
    json_t *list = json_array();
    for (size_t i = 0; i < ARRAY_LEN(calm); i++) {
        json_t *next =
            sim_cond_set(list, calm[i].type, "False", calm[i].reason, calm[i].message, now);
        json_decref(list);
        list = next;
    }
    json_t *all = sim_cond_set(
        list, "Ready", ready ? "True" : "False", ready ? "KubeletReady" : "KubeletNotReady",
        ready ? "kubelet is posting ready status"
              : "container runtime network not ready: NetworkReady=false "
                "reason:NetworkPluginNotReady message:Network plugin returns error: "
                "cni plugin not initialized",
        now);
    json_decref(list);
    return all;
}

/* What a kubelet adds to the Node it was given. */
static json_t *complete(const struct sim_kubelet *k, const json_t *node, const char *ip)
{
    json_t *obj = json_deep_copy(node);
    json_t *status = json_object_get(obj, "status");
    if (!json_is_object(status)) {
        status = json_object();
        json_object_set_new(obj, "status", status);
    }
    json_object_set_new(status, "conditions", node_conditions(k, false));
    if (!json_object_get(status, "addresses")) {
        json_object_set_new(status, "addresses",
                            json_pack("[{s:s, s:s}, {s:s, s:s}]", "type", "InternalIP", "address",
                                      ip, "type", "Hostname", "address",
                                      jsonx_str_or(node, "metadata.name", "")));
    }
    return obj;
}

/* ---- machines -----------------------------------------------------------------------------------
 */

static void machine_free(struct sim_machine *m)
{
    timer_stop(&m->k->w->clock.timers, &m->timer);
    free(m->name);
    free(m->provider_id);
    free(m->ip);
    free(m);
}

void sim_machine_release(struct sim_machine *m)
{
    struct sim_kubelet *k = m->k;
    if (!m->off || !m->unregistered || m->n_pods > 0) {
        return;
    }
    if (map_get(k->by_name, m->name) == m) {
        map_del(k->by_name, m->name);
    }
    map_del(k->by_provider, m->provider_id);
    machine_free(m);
}

static void report_ready(struct sim_machine *m, bool ready)
{
    json_t *status = json_pack("{s:{s:o}}", "status", "conditions", node_conditions(m->k, ready));
    sim_api_patch(m->k->w->api, WHO, SIM_NODE, "status", NULL, m->name, status, NULL, NULL);
}

static void on_ready(void *arg)
{
    struct sim_machine *m = arg;
    if (m->off) {
        return;
    }
    m->ready = true;
    if (!m->silent) {
        report_ready(m, true);
        sim_note(m->k->w, "node %s ready", m->name);
    }
}

static struct sim_machine *machine_new(struct sim_kubelet *k, const json_t *node, int64_t ready_ns)
{
    char ip[48];
    struct sim_machine *m = NEW(struct sim_machine);
    m->k = k;
    m->name = xstrdup(jsonx_str_or(node, "metadata.name", ""));
    m->provider_id = xstrdup(jsonx_str_or(node, "spec.providerID", m->name));
    ip_of_name(m->name, ip);
    m->ip =
        xstrdup(jsonx_str_or(json_array_get(jsonx_at(node, "status.addresses"), 0), "address", ip));
    m->ready_ns = ready_ns;
    const json_t *allocatable = jsonx_at(node, "status.allocatable");
    sim_res_read(allocatable ? allocatable : jsonx_at(node, "status.capacity"), &m->allocatable);
    return m;
}

static int register_node(struct sim_kubelet *k, struct sim_machine *m, const json_t *node,
                         struct err *reterr)
{
    struct err e = ERR_INIT;
    json_t *obj = complete(k, node, m->ip);
    json_incref(obj);
    int got = sim_api_create(k->w->api, WHO, SIM_NODE, obj, NULL, &e);
    if (got && e.kind == ERR_EXISTS) {
        /* A machine that comes up again: its labels and status are reconciled. */
        json_t *labels = json_object_get(json_object_get(obj, "metadata"), "labels");
        got = sim_api_patch(k->w->api, WHO, SIM_NODE, "", NULL, m->name,
                            json_pack("{s:{s:O?}}", "metadata", "labels", labels), NULL, &e) ||
              sim_api_patch(k->w->api, WHO, SIM_NODE, "status", NULL, m->name,
                            json_pack("{s:O}", "status", json_object_get(obj, "status")), NULL, &e);
    }
    json_decref(obj);
    if (got && reterr) {
        *reterr = e;
    }
    return got ? -1 : 0;
}

int sim_node_join(struct sim_world *w, const json_t *node, int64_t ready_ns, struct err *reterr)
{
    struct sim_kubelet *k = w->kubelet;
    struct sim_machine *m = machine_new(k, node, ready_ns);
    const struct sim_machine *other = map_get(k->by_name, m->name);
    if ((other && !other->off) || map_has(k->by_provider, m->provider_id) ||
        map_count(k->by_provider) >= SIM_NODES_MAX) {
        err_set(reterr, ERR_EXISTS, "a kubelet named %s runs already, or there are %u", m->name,
                SIM_NODES_MAX);
        machine_free(m);
        return -1;
    }
    map_put(k->by_provider, m->provider_id, m, NULL);
    map_put(k->by_name, m->name, m, NULL);
    if (register_node(k, m, node, reterr)) {
        map_del(k->by_provider, m->provider_id);
        map_del(k->by_name, m->name);
        machine_free(m);
        return -1;
    }
    if (ready_ns >= 0) {
        vclock_set(&w->clock, &m->timer, ready_ns, on_ready, m);
    }
    return 0;
}

int sim_node_register(struct sim_world *w, const struct sim_node_spec *spec, struct err *reterr)
{
    json_t *node = spec_node(spec);
    if (spec->internal_ip) {
        json_object_set_new(json_object_get(node, "status"), "addresses",
                            json_pack("[{s:s, s:s}, {s:s, s:s}]", "type", "InternalIP", "address",
                                      spec->internal_ip, "type", "Hostname", "address",
                                      spec->name));
    }
    int got = sim_node_join(w, node, spec->ready_ns, reterr);
    json_decref(node);
    return got;
}

/* ---- silence ------------------------------------------------------------------------------------
 */

static void fall_silent(struct sim_machine *m)
{
    if (!m->silent) {
        m->silent = true;
        m->silent_since_ns = vclock_now(&m->k->w->clock);
    }
    sim_workloads_node_silent(m->k->w->workloads);
}

void sim_node_stop(struct sim_world *w, const char *provider_id)
{
    struct sim_machine *m = map_get(w->kubelet->by_provider, provider_id);
    if (m && !m->off) {
        m->off = true;
        timer_stop(&w->clock.timers, &m->timer);
        fall_silent(m);
        sim_machine_release(m);
    }
}

void sim_node_gone(struct sim_world *w, const char *provider_id)
{
    struct sim_machine *m = map_get(w->kubelet->by_provider, provider_id);
    if (m) {
        m->gone = true;
        sim_node_stop(w, provider_id);
    }
}

void sim_kubelet_stop(struct sim_kubelet *k, const char *node)
{
    struct sim_machine *m = map_get(k->by_name, node);
    if (m) {
        fall_silent(m);
    }
}

void sim_kubelet_start(struct sim_kubelet *k, const char *node)
{
    struct sim_machine *m = map_get(k->by_name, node);
    if (!m || m->off || !m->silent) {
        return;
    }
    m->silent = false;
    report_ready(m, m->ready);
    sim_kpod_resume(k, m);
}

static bool instance_gone(const struct sim_machine *m)
{
    const struct sim_cloud *c = &m->k->w->cloud;
    return m->gone || (c->exists && !c->exists(c->ctx, m->provider_id));
}

enum sim_node_state sim_kubelet_state(const struct sim_kubelet *k, const char *node,
                                      int64_t *ret_silent_since_ns)
{
    const struct sim_machine *m = map_get(k->by_name, node);
    if (!m) {
        return SIM_NODE_UNKNOWN;
    }
    *ret_silent_since_ns = m->silent_since_ns;
    return m->silent && instance_gone(m) ? SIM_NODE_GONE
           : m->silent                   ? SIM_NODE_SILENT
           : m->ready                    ? SIM_NODE_READY
                                         : SIM_NODE_STARTING;
}

/* ---- life ---------------------------------------------------------------------------------------
 */

static bool says_ready(const json_t *node)
{
    size_t i;
    json_t *c;
    json_array_foreach (jsonx_at(node, "status.conditions"), i, c) {
        if (str_eq(jsonx_str_or(c, "type", ""), "Ready")) {
            return str_eq(jsonx_str_or(c, "status", ""), "True");
        }
    }
    return false;
}

/* A kubelet compares the Node with what it knows every SYNC_NS: one that has become older (an etcd
 * restore) does not stay so. */
static void on_node(struct sim_kubelet *k, const struct sim_change *c)
{
    struct sim_machine *m = map_get(k->by_name, jsonx_str_or(c->after, "metadata.name", ""));
    if (m && c->type == KUBE_DELETED) {
        m->unregistered = true;
        sim_machine_release(m);
    } else if (m && m->ready && !m->off && !m->silent && !timer_pending(&m->timer) &&
               !says_ready(c->after)) {
        vclock_set(&k->w->clock, &m->timer, SYNC_NS, on_ready, m);
    }
}

static void on_change(void *ctx, const struct sim_change *c)
{
    if (c->kind == SIM_POD) {
        sim_kpod_change(ctx, c);
    } else if (c->kind == SIM_NODE) {
        on_node(ctx, c);
    } else if (c->kind == SIM_VOLUMEATTACHMENT && jsonx_bool(c->after, "status.attached", false)) {
        sim_kpod_attached(ctx, jsonx_str_or(c->after, "spec.nodeName", ""));
    }
}

struct sim_kubelet *sim_kubelet_new(struct sim_world *w)
{
    struct sim_kubelet *k = NEW(struct sim_kubelet);
    k->w = w;
    k->by_provider = map_new(SIM_NODES_MAX * 2);
    k->by_name = map_new(SIM_NODES_MAX * 2);
    k->pods = map_new(SIM_API_OBJECTS_MAX);
    sim_api_subscribe(w->api, on_change, k);
    return k;
}

void sim_kubelet_free(struct sim_kubelet *k)
{
    if (!k) {
        return;
    }
    sim_api_unsubscribe(k->w->api, k);
    sim_kpod_free_all(k);
    for (MAP_EACH(k->by_provider, e)) {
        machine_free(map_value(e));
    }
    map_free(k->by_provider);
    map_free(k->by_name);
    free(k);
}
