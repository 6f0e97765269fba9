/* stage.c - see stage.h */
#include "stage.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/entropy.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/core/labels.h"

#define WHO "differential"
#define SETTLE_NS (20 * NS_PER_S)
#define RUN_NS (120 * NS_PER_S)
#define WAVE_NS (30 * NS_PER_S) /* from one new node to the next */
#define START_WALL_NS (INT64_C(1767607200) * NS_PER_S)

/* ---- nodes to come --------------------------------------------------------------------------- */

static void put_amount(json_t *o, const char *name, enum resource r, int64_t amount)
{
    if (amount > 0) {
        json_object_set_new(o, name,
                            json_sprintf("%lld%s", (long long)amount, r == RES_CPU ? "m" : ""));
    }
}

static json_t *amounts(const struct symtab *t, const struct resources *r)
{
    json_t *o = json_object();
    for (int i = 0; i < RES_FIXED; i++) {
        put_amount(o, resource_name((enum resource)i), (enum resource)i, r->v[i]);
    }
    for (uint32_t i = 0; i < r->n_ext; i++) {
        put_amount(o, sym_str(t, r->ext[i].name), RES_FIXED, r->ext[i].amount);
    }
    return o;
}

static void put_label(json_t *o, const struct symtab *t, sym key, sym value)
{
    if (value != SYM_NONE) {
        json_object_set_new(o, sym_str(t, key), json_string(sym_str(t, value)));
    }
}

static void put_single(json_t *o, const struct symtab *t, const struct reqset *set)
{
    for (uint32_t i = 0; i < set->n; i++) {
        put_label(o, t, set->v[i].key, req_single(&set->v[i]));
    }
}

static json_t *taints_json(const struct symtab *t, const struct taints *taints)
{
    json_t *v = json_array();
    for (uint32_t i = 0; i < taints->n; i++) {
        const struct taint *x = &taints->v[i];
        json_array_append_new(v, json_pack("{s:s, s:s, s:s}", "key", sym_str(t, x->key), "value",
                                           sym_str(t, x->value), "effect",
                                           taint_effect_name(x->effect)));
    }
    return v;
}

static json_t *node_json(const char *name, json_t *labels, json_t *taints, json_t *capacity,
                         json_t *allocatable)
{
    json_object_set_new(labels, "kubernetes.io/hostname", json_string(name));
    return json_pack("{s:s, s:s, s:{s:s, s:o}, s:{s:o, s:o}, s:{s:o, s:o, s:[{s:s, s:s, s:s}]}}",
                     "apiVersion", "v1", "kind", "Node", "metadata", "name", name, "labels", labels,
                     "spec", "providerID", json_sprintf("aws:///us-west-2a/i-%s", name), "taints",
                     taints, "status", "capacity", capacity, "allocatable", allocatable,
                     "conditions", "type", "Ready", "status", "True", "reason", "KubeletReady");
}

json_t *stage_node(const struct stage *s, const struct stage_offer *o, const json_t *more,
                   const char *name)
{
    const struct symtab *t = s->plan->world.syms;
    const struct catalog *c = o->pool->catalog;
    const struct nodepool *np = o->pool->np;
    json_t *labels = json_object();
    struct arena a;
    arena_init(&a, 0, SIZE_MAX);
    struct reqset type = catalog_labels(c, &a, o->type);
    put_single(labels, t, &np->reqs);
    put_single(labels, t, &type);
    arena_done(&a);
    json_object_update(labels, (json_t *)more);
    put_label(labels, t, L_ZONE, catalog_zone(c, o->zone));
    put_label(labels, t, L_ZONE_ID, catalog_zone_id(c, o->zone));
    put_label(labels, t, L_CAPACITY_TYPE, capacity_type_sym(o->ct));
    json_object_set_new(labels, "karpenter.sh/nodepool", json_string(np->m.name));
    json_object_set_new(labels, "karpenter.sh/registered", json_string("true"));
    json_object_set_new(labels, "karpenter.sh/initialized", json_string("true"));
    return node_json(name, labels, taints_json(t, &np->taints),
                     amounts(t, catalog_capacity(c, o->type)),
                     amounts(t, catalog_allocatable(c, o->type)));
}

void stage_name_new(uint32_t claim, char dst[STAGE_NAME])
{
    snprintf(dst, STAGE_NAME, "new-%u", claim);
}

/* The cheapest of what the claim allows; chance among equals. */
static bool cheapest(const struct sched_claim *c, struct entropy *chance, struct stage_offer *ret)
{
    int64_t least = INT64_MAX;
    uint64_t equals = 0;
    for (uint32_t i = 0; i < c->n_types; i++) {
        for (uint32_t z = 0; z < catalog_n_zones(c->pool->catalog); z++) {
            for (int ct = 0; ct < CT_COUNT; ct++) {
                struct stage_offer o = {c->pool, c->types[i], z, (enum capacity_type)ct};
                bool allowed = (c->offer.zones >> z & 1) && (c->offer.cts >> ct & 1) &&
                               offerings_available(c->pool->offerings, o.type, z, o.ct);
                int64_t price =
                    allowed ? offerings_price(c->pool->offerings, o.type, z, o.ct) : INT64_MAX;
                if (!allowed || price > least) {
                    continue;
                }
                equals = price < least ? 1 : equals + 1;
                least = price;
                if (entropy_below(chance, equals) == 0) {
                    *ret = o;
                }
            }
        }
    }
    return equals > 0;
}

/* ---- objects --------------------------------------------------------------------------------- */

static bool waits(const json_t *o)
{
    return str_eq(jsonx_str(o, "kind"), "Pod") && !jsonx_str(o, "spec.nodeName");
}

/* The server gave a DaemonSet a UID of its own: its pods are to point at that one. */
static void point_at_owner(const struct sim_world *w, json_t *o)
{
    size_t i;
    json_t *ref;
    json_array_foreach (jsonx_at(o, "metadata.ownerReferences"), i, ref) {
        const json_t *owner =
            sim_api_get(w->api, SIM_DAEMONSET, jsonx_str_or(o, "metadata.namespace", ""),
                        jsonx_str_or(ref, "name", ""));
        json_object_set_new(ref, "uid", json_string(jsonx_str_or(owner, "metadata.uid", "")));
    }
}

/* Admission added the not-ready taint. */
static void ready(const struct sim_world *w, const json_t *node)
{
    sim_api_patch(w->api, WHO, SIM_NODE, "", NULL, jsonx_str(node, "metadata.name"),
                  json_pack("{s:{s:O}}", "spec", "taints", jsonx_at(node, "spec.taints")), NULL,
                  NULL);
}

/* As it is in a cluster that has been there for a while; what exists already is left alone. */
static int create(struct sim_world *w, const json_t *object, struct err *reterr)
{
    struct err e = ERR_INIT;
    const struct sim_kind *kind = sim_kind_of(object);
    if (!kind) {
        return 0;
    }
    json_t *copy = json_deep_copy(object);
    point_at_owner(w, copy);
    if (sim_api_create(w->api, WHO, kind->id, copy, NULL, &e)) {
        return e.kind == ERR_EXISTS ? 0 : err_set(reterr, e.kind, "%s", e.msg);
    }
    const char *name = jsonx_str(object, "metadata.name");
    const json_t *status = json_object_get(object, "status");
    if (kind->id == SIM_NODE) {
        ready(w, object);
    } else if (status && (kind->id == SIM_PV || kind->id == SIM_PVC)) {
        sim_api_patch(w->api, WHO, kind->id, "status", jsonx_str(object, "metadata.namespace"),
                      name, json_pack("{s:O}", "status", status), NULL, NULL);
    }
    return 0;
}

/* The node that a NodeClaim on its way becomes. */
static json_t *registered(const json_t *claim)
{
    const json_t *status = json_object_get(claim, "status");
    return node_json(jsonx_str(claim, "metadata.name"),
                     json_deep_copy(jsonx_at(claim, "metadata.labels")),
                     json_deep_copy(jsonx_at(claim, "spec.taints")),
                     json_deep_copy(json_object_get(status, "capacity")),
                     json_deep_copy(json_object_get(status, "allocatable")));
}

/* A new node's CSINode, like the one of any other; does nothing if there is none. */
static int create_csi_node(const struct stage *s, const char *node, struct err *reterr)
{
    if (sim_api_count(s->world->api, SIM_CSINODE) == 0) {
        return 0;
    }
    json_t *o = json_deep_copy(sim_api_at(s->world->api, SIM_CSINODE, 0));
    json_object_set_new(o, "metadata", json_pack("{s:s}", "name", node));
    json_array_append_new(s->launched, o);
    return create(s->world, o, reterr);
}

static int create_new(const struct stage *s, json_t *node, struct err *reterr)
{
    json_array_append(s->launched, node);
    return create(s->world, node, reterr) ||
                   create_csi_node(s, jsonx_str(node, "metadata.name"), reterr)
               ? -1
               : 0;
}

static bool on_its_way(const json_t *o)
{
    return str_eq(jsonx_str(o, "kind"), "NodeClaim") && !jsonx_str(o, "status.nodeName");
}

static int create_there(const struct stage *s, struct err *reterr)
{
    size_t i;
    json_t *o;
    json_array_foreach (s->cluster->objects, i, o) {
        if (!waits(o) && create(s->world, o, reterr)) {
            return err_wrap(reterr, "%s", jsonx_str(o, "metadata.name"));
        }
    }
    return 0;
}

static void add_on_their_way(const struct stage *s, json_t *nodes)
{
    size_t i;
    json_t *o;
    json_array_foreach (s->cluster->objects, i, o) {
        if (on_its_way(o)) {
            json_array_append_new(nodes, registered(o));
        }
    }
}

static int add_planned(const struct stage *s, json_t *nodes, struct err *reterr)
{
    const struct symtab *t = s->plan->world.syms;
    uint64_t state = s->cluster->seed;
    struct entropy chance = entropy_seeded(&state);
    for (uint32_t i = 0; i < s->plan->result->n_claims; i++) {
        const struct sched_claim *c = &s->plan->result->claims[i];
        struct stage_offer offer;
        char name[STAGE_NAME];
        stage_name_new(i, name);
        if (!cheapest(c, &chance, &offer)) {
            return err_set(reterr, ERR_INVALID, "claim %u: nothing that it allows is offered", i);
        }
        AUTO_JSON json_t *labels = json_object();
        put_single(labels, t, &c->reqs);
        json_object_del(labels, sym_str(t, L_INSTANCE_TYPE));
        json_array_append_new(nodes, stage_node(s, &offer, labels, name));
    }
    return 0;
}

/* Nodes that are not there yet. */
static int add_nodes(const struct stage *s, json_t *nodes, struct err *reterr)
{
    add_on_their_way(s, nodes);
    return add_planned(s, nodes, reterr);
}

static int create_nodes(const struct stage *s, const json_t *nodes, struct err *reterr)
{
    size_t i;
    json_t *node;
    json_array_foreach (nodes, i, node) {
        if (create_new(s, node, reterr)) {
            return err_wrap(reterr, "%s", jsonx_str(node, "metadata.name"));
        }
    }
    return 0;
}

static int create_waiting(const struct stage *s, struct err *reterr)
{
    size_t i;
    json_t *o;
    json_array_foreach (s->cluster->objects, i, o) {
        if (waits(o) && create(s->world, o, reterr)) {
            return err_wrap(reterr, "%s", jsonx_str(o, "metadata.name"));
        }
    }
    return 0;
}

/* ---- life ------------------------------------------------------------------------------------ */

static void begin(const struct diff_cluster *c, const struct diff_plan *p, struct stage *ret)
{
    struct sim_world_options o = {.start_wall_ns = START_WALL_NS, .seed = c->seed};
    *ret = (struct stage){
        .cluster = c, .plan = p, .world = sim_world_new(&o), .launched = json_array()};
    ret->sched = &ret->world->sched->cluster;
}

static void run_for(const struct stage *s, int64_t ns)
{
    vclock_run_to(&s->world->clock, s->world->clock.now_ns + ns);
}

static int set(struct stage *s, struct err *reterr)
{
    AUTO_JSON json_t *nodes = json_array();
    if (create_there(s, reterr) || add_nodes(s, nodes, reterr) || create_nodes(s, nodes, reterr)) {
        return -1;
    }
    size_t n = json_array_size(s->launched);
    if (create_csi_node(s, STAGE_TRIAL, reterr)) {
        return -1;
    }
    json_array_remove(s->launched, n); /* that one is for trials only */
    run_for(s, SETTLE_NS);
    sim_sched_stop(s->world->sched);
    return create_waiting(s, reterr);
}

int stage_set(const struct diff_cluster *c, const struct diff_plan *p, struct stage *ret,
              struct err *reterr)
{
    begin(c, p, ret);
    if (set(ret, reterr)) {
        stage_done(ret);
        return -1;
    }
    return 0;
}

void stage_done(struct stage *s)
{
    sim_world_free(s->world);
    json_decref(s->launched);
    *s = (struct stage){.world = NULL};
}

void stage_run(struct stage *s)
{
    sim_sched_start(s->world->sched);
    run_for(s, RUN_NS);
    sim_sched_stop(s->world->sched);
}

/* ---- as time goes by ------------------------------------------------------------------------- */

/* What is there, and pods that have waited for a while. */
static int wait_in_vain(struct stage *s, struct err *reterr)
{
    if (create_there(s, reterr)) {
        return -1;
    }
    run_for(s, SETTLE_NS);
    sim_sched_stop(s->world->sched); /* so that pods come by age, not by name */
    if (create_waiting(s, reterr)) {
        return -1;
    }
    stage_run(s);
    sim_sched_start(s->world->sched);
    return 0;
}

/* Nobody but DaemonSets uses a node that is not ready. */
static int come(struct stage *s, const json_t *nodes, size_t from, size_t to, struct err *reterr)
{
    for (size_t i = from; i < to; i++) {
        json_t *node = json_array_get(nodes, i);
        json_array_append(s->launched, node);
        if (create_csi_node(s, jsonx_str(node, "metadata.name"), reterr) ||
            sim_api_create(s->world->api, WHO, SIM_NODE, json_deep_copy(node), NULL, reterr)) {
            return err_wrap(reterr, "%s", jsonx_str(node, "metadata.name"));
        }
    }
    run_for(s, SETTLE_NS);
    sim_sched_stop(s->world->sched);
    for (size_t i = from; i < to; i++) {
        ready(s->world, json_array_get(nodes, i));
    }
    sim_sched_start(s->world->sched);
    run_for(s, WAVE_NS);
    return 0;
}

static int play(struct stage *s, enum stage_order order, struct err *reterr)
{
    AUTO_JSON json_t *nodes = json_array();
    uint64_t state = s->cluster->seed * STAGE_ORDERS + (uint64_t)order;
    struct entropy chance = entropy_seeded(&state);
    if (wait_in_vain(s, reterr) || add_nodes(s, nodes, reterr)) {
        return -1;
    }
    size_t n = json_array_size(nodes), wave = order == STAGE_AT_ONCE || n == 0 ? n : 1;
    for (size_t i = n; i > 1 && order != STAGE_AT_ONCE; i--) {
        size_t k = entropy_below(&chance, i);
        json_t *x = json_incref(json_array_get(nodes, k));
        json_array_set(nodes, k, json_array_get(nodes, i - 1));
        json_array_set_new(nodes, i - 1, x);
    }
    for (size_t i = 0; i < n; i += wave) {
        if (come(s, nodes, i, i + wave, reterr)) {
            return -1;
        }
    }
    run_for(s, RUN_NS);
    sim_sched_stop(s->world->sched);
    return 0;
}

int stage_play(const struct diff_cluster *c, const struct diff_plan *p, enum stage_order order,
               struct stage *ret, struct err *reterr)
{
    begin(c, p, ret);
    if (play(ret, order, reterr)) {
        stage_done(ret);
        return -1;
    }
    return 0;
}

/* ---- what becomes of a cluster without new nodes --------------------------------------------- */

/* The object as the scheduler and its helpers have left it. New reference. */
static json_t *settled(const struct sim_world *w, const json_t *o)
{
    const struct sim_kind *kind = sim_kind_of(o);
    const char *ns = jsonx_str_or(o, "metadata.namespace", "");
    json_t *copy = json_deep_copy(o);
    const json_t *now = kind && (kind->id == SIM_POD || kind->id == SIM_PVC)
                            ? sim_api_get(w->api, kind->id, ns, jsonx_str(o, "metadata.name"))
                            : NULL;
    if (now && kind->id == SIM_POD && waits(o) && sim_pod_node(now)[0]) {
        jsonx_set_new(copy, "spec.nodeName", json_string(sim_pod_node(now)));
        json_object_set_new(copy, "status", json_pack("{s:s}", "phase", "Running"));
    } else if (now && kind->id == SIM_PVC && jsonx_str(now, "spec.volumeName")) {
        json_object_set(copy, "spec", json_object_get(now, "spec"));
        json_object_set(copy, "status", json_object_get(now, "status"));
        jsonx_set_new(copy, "metadata.annotations",
                      json_deep_copy(jsonx_at(now, "metadata.annotations")));
    }
    return copy;
}

/* Volumes and pods of DaemonSets that came into being. */
static void add_made(const struct sim_world *w, enum sim_kind_id kind, json_t *objects)
{
    AUTO_JSON json_t *known = json_object();
    size_t i;
    json_t *o;
    json_array_foreach (objects, i, o) {
        const struct sim_kind *k = sim_kind_of(o);
        if (k && k->id == kind) {
            AUTO_FREE char *key = xasprintf("%s/%s", jsonx_str_or(o, "metadata.namespace", ""),
                                            jsonx_str(o, "metadata.name"));
            json_object_set_new(known, key, json_true());
        }
    }
    for (i = 0; i < sim_api_count(w->api, kind); i++) {
        const json_t *made = sim_api_at(w->api, kind, i);
        AUTO_FREE char *key = xasprintf("%s/%s", jsonx_str_or(made, "metadata.namespace", ""),
                                        jsonx_str(made, "metadata.name"));
        if (!json_object_get(known, key)) {
            json_t *copy = json_deep_copy(made);
            json_object_del(json_object_get(copy, "metadata"), "resourceVersion");
            json_array_append_new(objects, copy);
        }
    }
}

int stage_settle(const struct diff_cluster *c, struct diff_cluster *ret, struct err *reterr)
{
    struct stage s;
    size_t i;
    json_t *o;
    begin(c, NULL, &s);
    if (wait_in_vain(&s, reterr)) {
        stage_done(&s);
        return -1;
    }
    *ret = *c;
    ret->objects = json_array();
    json_array_foreach (c->objects, i, o) {
        json_array_append_new(ret->objects, settled(s.world, o));
    }
    add_made(s.world, SIM_PV, ret->objects);
    add_made(s.world, SIM_POD, ret->objects);
    stage_done(&s);
    return 0;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static const json_t *pod_json(const struct stage *s, const struct pod *p)
{
    return sim_api_get(s->world->api, SIM_POD, p->m.ns, p->m.name);
}

struct sim_sched_pod *stage_pod(const struct stage *s, const struct pod *p)
{
    const char *uid = jsonx_str_or(pod_json(s, p), "metadata.uid", "");
    struct sim_sched_pod *ret = map_get(s->sched->pods, uid);
    if (!ret) {
        BUG("no pod %s/%s waits", p->m.ns, p->m.name);
    }
    return ret;
}

const char *stage_where(const struct stage *s, const struct pod *p, const char **ret_why)
{
    const json_t *pod = pod_json(s, p);
    if (ret_why) {
        *ret_why = jsonx_str_or(sim_cond(pod, "PodScheduled"), "message", "");
    }
    return sim_pod_node(pod);
}
