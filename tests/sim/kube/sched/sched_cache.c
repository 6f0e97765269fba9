/* sched_cache.c - see sched_cache.h */
#include "sched_cache.h"

#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"

#define OBJECTS_MAX (SIM_API_OBJECTS_MAX * 2)

/* ---- nodes ------------------------------------------------------------------------------------
 */

struct sim_sched_node *sim_cluster_node(struct sim_cluster *c, const char *name)
{
    struct sim_sched_node *n = map_get(c->nodes, name);
    if (!n) {
        n = NEW(struct sim_sched_node);
        n->name = xstrdup(name);
        map_put(c->nodes, name, n, NULL);
    }
    return n;
}

static void node_free(struct sim_sched_node *n)
{
    json_decref(n->obj);
    map_free(n->attached);
    free(n->pods);
    free(n->name);
    free(n);
}

void sim_cluster_drop_idle(struct sim_cluster *c, struct sim_sched_node *n)
{
    if (!n->obj && n->n_pods == 0 && !n->attached) {
        map_del(c->nodes, n->name);
        node_free(n);
    }
}

static bool has_effect(const json_t *taints)
{
    size_t i;
    json_t *t;
    json_array_foreach ((json_t *)taints, i, t) {
        if (!str_eq(jsonx_str(t, "effect"), "PreferNoSchedule")) {
            return true;
        }
    }
    return false;
}

void sim_cluster_set_node(struct sim_cluster *c, struct sim_sched_node *n, json_t *obj)
{
    json_decref(n->obj);
    n->obj = json_incref(obj);
    c->nodes_changed = true;
    n->n_domains = 0;
    if (!obj) {
        sim_cluster_drop_idle(c, n);
        return;
    }
    n->unschedulable = jsonx_bool(obj, "spec.unschedulable", false);
    n->tainted = has_effect(jsonx_at(obj, "spec.taints"));
    sim_res_read(jsonx_at(obj, "status.allocatable"), &n->allocatable);
}

void sim_cluster_attach(struct sim_cluster *c, const char *node, const char *volume, bool there)
{
    struct sim_sched_node *n = sim_cluster_node(c, node);
    if (!n->attached) {
        n->attached = map_new(SIM_API_OBJECTS_MAX);
    }
    if (there) {
        map_put(n->attached, volume, n, NULL);
    } else {
        map_del(n->attached, volume);
    }
    if (map_count(n->attached) == 0) {
        map_free(n->attached);
        n->attached = NULL;
        sim_cluster_drop_idle(c, n);
    }
}

/* ---- domains ----------------------------------------------------------------------------------
 */

int sim_cluster_key(struct sim_cluster *c, const char *key)
{
    for (size_t i = 0; i < c->n_keys; i++) {
        if (str_eq(c->keys[i], key)) {
            return (int)i;
        }
    }
    if (c->n_keys >= SIM_TOPOLOGY_KEYS_MAX) {
        return -1;
    }
    c->keys[c->n_keys] = xstrdup(key);
    return (int)c->n_keys++;
}

static int read_domain(struct sim_cluster *c, const struct sim_sched_node *n, const char *key)
{
    const char *value =
        json_string_value(json_object_get(jsonx_at(n->obj, "metadata.labels"), key));
    if (!value) {
        return -1;
    }
    AUTO_FREE char *text = xasprintf("%s\n%s", key, value);
    uintptr_t known = (uintptr_t)map_get(c->values, text);
    if (!known) {
        known = map_count(c->values) + 1;
        map_put(c->values, text, (void *)known, NULL);
    }
    return (int)known - 1;
}

int sim_cluster_domain(struct sim_cluster *c, struct sim_sched_node *n, int key)
{
    while (n->n_domains <= (size_t)key) {
        n->domains[n->n_domains] = read_domain(c, n, c->keys[n->n_domains]);
        n->n_domains++;
    }
    return n->domains[key];
}

/* ---- pods -------------------------------------------------------------------------------------
 */

const char *sim_claim_of(const json_t *pod, const json_t *volume, char *dst, size_t size)
{
    const char *name = jsonx_str(volume, "persistentVolumeClaim.claimName");
    if (!name && json_object_get(volume, "ephemeral")) {
        snprintf(dst, size, "%s-%s", jsonx_str_or(pod, "metadata.name", ""),
                 jsonx_str_or(volume, "name", ""));
        name = dst;
    }
    return name;
}

static bool has_claims(const json_t *pod)
{
    char text[512];
    size_t i;
    json_t *v;
    json_array_foreach (jsonx_at(pod, "spec.volumes"), i, v) {
        if (sim_claim_of(pod, v, text, sizeof(text))) {
            return true;
        }
    }
    return false;
}

static bool has_ports(const json_t *spec)
{
    static const char *const lists[] = {"containers", "initContainers"};
    for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
        size_t i, k;
        json_t *container, *port;
        json_array_foreach (json_object_get(spec, lists[l]), i, container) {
            json_array_foreach (json_object_get(container, "ports"), k, port) {
                if (jsonx_int(port, "hostPort", 0) > 0) {
                    return true;
                }
            }
        }
    }
    return false;
}

static bool has_pod_affinity(const json_t *spec)
{
    const json_t *a = json_object_get(spec, "affinity");
    return json_object_get(a, "podAffinity") || json_object_get(a, "podAntiAffinity");
}

static char *dump_or_empty(const json_t *v)
{
    return v ? jsonx_dump(v) : xstrdup("");
}

static char *group_key(const json_t *pod)
{
    const json_t *spec = json_object_get(pod, "spec");
    AUTO_FREE char *labels = dump_or_empty(jsonx_at(pod, "metadata.labels"));
    AUTO_FREE char *affinity =
        dump_or_empty(has_pod_affinity(spec) ? json_object_get(spec, "affinity") : NULL);
    return xasprintf("%s\n%s\n%s", jsonx_str_or(pod, "metadata.namespace", ""), labels, affinity);
}

/* Nothing in a spec but this and the group depends on the pod's own name or owner. */
static uint64_t class_of(const json_t *pod, const char *group)
{
    AUTO_FREE char *spec = jsonx_dump(json_object_get(pod, "spec"));
    AUTO_FREE char *all = xasprintf("%s\n%s", group, spec);
    return hash_fnv1a(all, strlen(all));
}

struct sim_sched_pod *sim_cluster_pod_new(struct sim_cluster *c, const json_t *pod)
{
    struct sim_sched_pod *p = NEW(struct sim_sched_pod);
    p->uid = xstrdup(jsonx_str_or(pod, "metadata.uid", ""));
    p->ns = xstrdup(jsonx_str_or(pod, "metadata.namespace", ""));
    p->name = xstrdup(jsonx_str_or(pod, "metadata.name", ""));
    map_put(c->pods, p->uid, p, NULL);
    return p;
}

void sim_cluster_pod_read(struct sim_sched_pod *p, json_t *pod)
{
    const json_t *spec = json_object_get(pod, "spec");
    json_decref(p->obj);
    p->obj = json_incref(pod);
    sim_res_pod(spec, &p->req);
    sim_res_pod_nonzero(spec, &p->nonzero_cpu_milli, &p->nonzero_mem_bytes);
    p->picky = json_object_get(spec, "nodeSelector") || jsonx_at(spec, "affinity.nodeAffinity");
    p->topological = has_pod_affinity(spec) || json_object_get(spec, "topologySpreadConstraints");
    p->ports = has_ports(spec);
    p->claims = has_claims(pod);
    p->terminating = sim_pod_terminating(pod);
    p->priority = jsonx_int(spec, "priority", 0);
    free(p->group_key);
    p->group_key = group_key(pod);
    p->class_hash = sim_pod_node(pod)[0] ? 0 : class_of(pod, p->group_key);
}

void sim_cluster_pod_free(struct sim_cluster *c, struct sim_sched_pod *p)
{
    sim_cluster_nominate(c, p, NULL);
    json_decref(p->obj);
    free(p->group_key);
    free(p->uid);
    free(p->ns);
    free(p->name);
    free(p);
}

void sim_cluster_nominate(struct sim_cluster *c, struct sim_sched_pod *p, const char *node)
{
    c->n_nominated -= p->nominated != NULL;
    free(p->nominated);
    p->nominated = node && node[0] ? xstrdup(node) : NULL;
    c->n_nominated += p->nominated != NULL;
}

/* ---- groups -----------------------------------------------------------------------------------
 */

static struct sim_pod_group *group_of(struct sim_cluster *c, const struct sim_sched_pod *p)
{
    struct sim_pod_group *g = map_get(c->groups, p->group_key);
    if (!g) {
        const json_t *spec = json_object_get(p->obj, "spec");
        g = NEW(struct sim_pod_group);
        g->ns = xstrdup(p->ns);
        g->labels = json_incref(jsonx_at(p->obj, "metadata.labels"));
        g->affinity =
            has_pod_affinity(spec) ? json_incref(json_object_get(spec, "affinity")) : NULL;
        map_put(c->groups, p->group_key, g, NULL);
    }
    return g;
}

static void group_free(struct sim_pod_group *g)
{
    json_decref(g->labels);
    json_decref(g->affinity);
    free(g->places);
    free(g->ns);
    free(g);
}

static struct sim_place *place_of(struct sim_pod_group *g, struct sim_sched_node *n)
{
    for (size_t i = g->n_places; i-- > 0;) {
        if (g->places[i].node == n) {
            return &g->places[i];
        }
    }
    ARRAY_GROW(g->places, g->n_places, g->cap_places);
    g->places[g->n_places] = (struct sim_place){.node = n};
    return &g->places[g->n_places++];
}

static void group_add(struct sim_cluster *c, struct sim_sched_pod *p, struct sim_sched_node *n)
{
    p->group = group_of(c, p);
    struct sim_place *at = place_of(p->group, n);
    at->n++;
    at->live += !p->terminating;
}

static void group_take(struct sim_cluster *c, struct sim_sched_pod *p)
{
    struct sim_pod_group *g = p->group;
    struct sim_place *at = place_of(g, p->node);
    at->n--;
    at->live -= !p->terminating;
    if (at->n == 0) {
        *at = g->places[--g->n_places];
    }
    if (g->n_places == 0) {
        map_del(c->groups, p->group_key);
        group_free(g);
    }
    p->group = NULL;
}

/* ---- placing ----------------------------------------------------------------------------------
 */

static void count_claims(struct sim_cluster *c, const struct sim_sched_pod *p, int sign)
{
    char text[512];
    size_t i;
    json_t *v;
    json_array_foreach (jsonx_at(p->obj, "spec.volumes"), i, v) {
        const char *name = sim_claim_of(p->obj, v, text, sizeof(text));
        if (!name) {
            continue;
        }
        AUTO_FREE char *key = xasprintf("%s/%s", p->ns, name);
        uintptr_t n = (uintptr_t)map_get(c->claims, key) + (uintptr_t)sign;
        if (n == 0) {
            map_del(c->claims, key);
        } else {
            map_put(c->claims, key, (void *)n, NULL);
        }
    }
}

static void count_priority(struct sim_cluster *c, int64_t priority, int sign)
{
    size_t i = 0;
    while (i < c->n_priorities && c->priorities[i].priority != priority) {
        i++;
    }
    if (i == c->n_priorities) {
        ARRAY_GROW(c->priorities, c->n_priorities, c->cap_priorities);
        c->priorities[c->n_priorities++] = (struct sim_priority_count){priority, 0};
    }
    c->priorities[i].n += (size_t)sign;
    if (c->priorities[i].n == 0) {
        c->priorities[i] = c->priorities[--c->n_priorities];
    }
}

bool sim_cluster_has_lower(const struct sim_cluster *c, int64_t priority)
{
    for (size_t i = 0; i < c->n_priorities; i++) {
        if (c->priorities[i].priority < priority) {
            return true;
        }
    }
    return false;
}

static void account(struct sim_cluster *c, const struct sim_sched_pod *p, struct sim_sched_node *n,
                    int sign)
{
    sim_res_add(&n->used, &p->req, sign);
    n->used_nonzero_cpu_milli += sign * p->nonzero_cpu_milli;
    n->used_nonzero_mem_bytes += sign * p->nonzero_mem_bytes;
    n->n_port_pods += p->ports ? (size_t)sign : 0;
    n->n_claim_pods += p->claims ? (size_t)sign : 0;
    count_priority(c, p->priority, sign);
    if (p->claims) {
        count_claims(c, p, sign);
    }
}

void sim_cluster_place(struct sim_cluster *c, struct sim_sched_pod *p, struct sim_sched_node *n)
{
    account(c, p, n, 1);
    ARRAY_GROW(n->pods, n->n_pods, n->cap_pods);
    n->pods[n->n_pods++] = p;
    group_add(c, p, n);
    p->node = n;
}

void sim_cluster_unplace(struct sim_cluster *c, struct sim_sched_pod *p)
{
    struct sim_sched_node *n = p->node;
    account(c, p, n, -1);
    size_t i = 0;
    while (n->pods[i] != p) {
        i++;
    }
    memmove(n->pods + i, n->pods + i + 1, (n->n_pods - i - 1) * sizeof(struct sim_sched_pod *));
    n->n_pods--;
    group_take(c, p);
    p->node = NULL;
}

void sim_cluster_pod_refresh(struct sim_cluster *c, struct sim_sched_pod *p, json_t *pod)
{
    bool terminating = sim_pod_terminating(pod);
    bool same = terminating == p->terminating &&
                json_equal(jsonx_at(p->obj, "metadata.labels"), jsonx_at(pod, "metadata.labels"));
    struct sim_sched_node *n = p->node;
    if (!same) {
        group_take(c, p);
    }
    json_decref(p->obj);
    p->obj = json_incref(pod);
    if (!same) {
        p->terminating = terminating;
        free(p->group_key);
        p->group_key = group_key(pod);
        group_add(c, p, n);
    }
}

/* ---- life -------------------------------------------------------------------------------------
 */

void sim_cluster_init(struct sim_cluster *c, struct sim_api *api)
{
    *c = (struct sim_cluster){.api = api,
                              .nodes = map_new(OBJECTS_MAX),
                              .pods = map_new(OBJECTS_MAX),
                              .groups = map_new(OBJECTS_MAX),
                              .claims = map_new(OBJECTS_MAX),
                              .values = map_new((size_t)OBJECTS_MAX * 2)};
}

void sim_cluster_done(struct sim_cluster *c)
{
    for (MAP_EACH(c->pods, p)) {
        sim_cluster_pod_free(c, map_value(p));
    }
    for (MAP_EACH(c->nodes, n)) {
        node_free(map_value(n));
    }
    for (MAP_EACH(c->groups, g)) {
        group_free(map_value(g));
    }
    map_free(c->pods);
    map_free(c->nodes);
    map_free(c->groups);
    map_free(c->claims);
    map_free(c->values);
    json_decref(c->default_spreads);
    for (size_t i = 0; i < c->n_keys; i++) {
        free(c->keys[i]);
    }
    free(c->priorities);
}
