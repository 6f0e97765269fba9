/* lifecycle.c - see lifecycle.h. */
#include "lifecycle.h"

#include "agent/store/store.h"
#include "agent/work/render.h"
#include "agent/work/work.h"
#include "claim.h"
#include "common/base/alloc.h"
#include "common/base/str.h"

#define BACKOFF_NS (1 * NS_PER_S)
#define BACKOFF_MAX_NS (60 * NS_PER_S)

struct lifecycle {
    struct runtime *rt;
    struct queue *q;
};

bool lifecycle_write(const struct claim_look *look, struct cond_edit *e, const char *node_name,
                     lifecycle_then_fn then, enum queue_verdict *ret)
{
    static const char *const dependents[] = {"Launched", "Registered", "Initialized", NULL};
    char message[COND_ROOT_MESSAGE];
    const struct nodeclaim *nc = look->nc;
    cond_root(e, dependents, nc->m.created_ns, message);
    if (!e->changed) {
        return false;
    }
    json_t *patch = json_pack("{s:{s:o}}", "status", "conditions", cond_json(e));
    if (node_name && !str_eq(node_name, nc->node_name)) {
        json_object_set_new(json_object_get(patch, "status"), "nodeName", json_string(node_name));
    }
    struct work w = {look->rt, look->q, nc->m.name, then, look->rt};
    *ret =
        work_patch(&w, KIND_NODE_CLAIM, NULL, nc->m.name, "status", patch, nc->m.resource_version);
    return true;
}

static bool finalizer_step(const struct claim_look *look, enum queue_verdict *ret)
{
    const struct nodeclaim *nc = look->nc;
    if (meta_has_finalizer(&nc->m, FINALIZER_TERMINATION)) {
        return false;
    }
    json_t *patch = json_pack("{s:{s:o}}", "metadata", "finalizers",
                              render_finalizers(&nc->m, FINALIZER_TERMINATION, NULL));
    struct work w = {look->rt, look->q, nc->m.name, NULL, NULL};
    *ret = work_patch(&w, KIND_NODE_CLAIM, NULL, nc->m.name, "", patch, nc->m.resource_version);
    return true;
}

/* A registered claim whose Node is no more and does not come back (an etcd restore, a finalizer
 * taken off by hand): nothing can run there, and pods must not wait for it. It counts as not
 * registered again, so that liveness ends it. */
static bool node_lost_step(const struct claim_look *look, enum queue_verdict *ret)
{
    int64_t since_ns = cond_since(&look->nc->conditions, "Registered", look->nc->m.created_ns);
    int64_t left_ns = since_ns + NODE_LOST_NS - look->now_ns;
    if (left_ns > 0 || !store_synced(look->rt->store)) {
        queue_add_after(look->q, look->nc->m.name, left_ns > NS_PER_S ? left_ns : NS_PER_S);
        return false;
    }
    return registration_step(look, ret);
}

/* The Node of a registered claim looks like that of one that is not: it came anew, or its claim was
 * counted as registered by what a watch still showed of it before an etcd restore. Nobody else
 * would put that right. */
static bool node_unregistered(const struct runtime *rt, const struct node *n)
{
    return node_has_taint(rt, n, TAINT_UNREGISTERED) ||
           labels_get(&n->m.labels, L_REGISTERED) != V_TRUE;
}

static bool node_set_back(const struct claim_look *look)
{
    return look->n_nodes == 1 && !look->node->m.deleted_ns &&
           node_unregistered(look->rt, look->node);
}

static enum queue_verdict claim_handle(void *ctx, const char *key)
{
    struct lifecycle *l = ctx;
    struct runtime *rt = l->rt;
    struct claim_look look = {.rt = rt, .q = l->q, .nc = store_claim(rt->store, key)};
    enum queue_verdict ret = QUEUE_OK;
    if (!look.nc || look.nc->m.deleted_ns || !store_ours(&look.nc->class_ref) ||
        rt->opt->mode == MODE_OBSERVE) {
        return QUEUE_OK;
    }
    look.now_ns = clock_wall(rt->clock);
    look.node = store_node_by_provider_id(rt->store, look.nc->provider_id, &look.n_nodes);
    if (finalizer_step(&look, &ret)) {
        return ret;
    }
    if (!claim_is(look.nc, "Launched")) {
        liveness_launch_step(&look, &ret);
        return ret;
    }
    if (!claim_is(look.nc, "Registered")) {
        if (!registration_step(&look, &ret)) {
            liveness_registration_step(&look, &ret);
        }
        return ret;
    }
    if (look.n_nodes == 0 && node_lost_step(&look, &ret)) {
        return ret;
    }
    if (node_set_back(&look) && registration_step(&look, &ret)) {
        return ret;
    }
    if (!claim_is(look.nc, "Initialized")) {
        initialization_step(&look, &ret);
    } else {
        initialization_again_step(&look, &ret);
    }
    return ret;
}

static void on_claim(void *arg, const char *key, const void *before, const void *now)
{
    struct lifecycle *l = arg;
    (void)before;
    if (now) {
        queue_add(l->q, key);
    }
}

static void wake(struct lifecycle *l, const struct node *n)
{
    const struct nodeclaim *nc =
        n ? store_claim_by_provider_id(l->rt->store, n->provider_id) : NULL;
    if (nc && (!claim_is(nc, "Initialized") || !store_node(l->rt->store, n->m.name) ||
               labels_get(&n->m.labels, L_INITIALIZED) != V_TRUE || node_unregistered(l->rt, n))) {
        queue_add(l->q, nc->m.name);
    }
}

static void on_node(void *arg, const char *key, const void *before, const void *now)
{
    (void)key;
    wake(arg, before);
    wake(arg, now);
}

struct lifecycle *lifecycle_new(struct runtime *rt)
{
    struct lifecycle *l = NEW(struct lifecycle);
    l->rt = rt;
    l->q = queue_new(rt, "nodeclaim.lifecycle", STORE_CLAIM, BACKOFF_NS, BACKOFF_MAX_NS,
                     claim_handle, l);
    store_subscribe(rt->store, STORE_CLAIM, on_claim, l);
    store_subscribe(rt->store, STORE_NODE, on_node, l);
    return l;
}

void lifecycle_free(struct lifecycle *l)
{
    if (l) {
        queue_free(l->q);
        free(l);
    }
}

void lifecycle_start(struct lifecycle *l)
{
    (void)l;
}
