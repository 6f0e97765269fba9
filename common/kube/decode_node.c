#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/core/labels.h"
#include "decode_priv.h"

#define NODE_CHUNK 2048u
#define CLAIM_CHUNK 2048u

/* ---- nodes ----------------------------------------------------------------------------------- */

static int read_node(struct decoder *d, struct node *n, const json_t *o, struct err *reterr)
{
    struct arena *a = &n->mem;
    const json_t *spec = json_object_get(o, "spec");
    const json_t *status = json_object_get(o, "status");
    if (decode_meta(d, a, o, META_LABELS, &n->m, reterr)) {
        return -1;
    }
    n->provider_id = decode_str(a, spec, "providerID");
    n->unschedulable = jsonx_bool(spec, "unschedulable", false);
    if (decode_taints(d, a, spec, "taints", &n->taints, reterr)) {
        return decode_in(reterr, "spec.");
    }
    if (decode_resources(d, a, status, "capacity", &n->capacity, reterr) ||
        decode_resources(d, a, status, "allocatable", &n->allocatable, reterr)) {
        return decode_in(reterr, "status.");
    }
    decode_conditions(a, status, &n->conditions);
    const struct condition *ready = condition_find(&n->conditions, "Ready");
    n->ready = ready ? ready->status : STATUS_ABSENT;
    n->ready_since_ns = ready ? ready->transition_ns : 0;
    return decode_check_size(a, reterr);
}

struct node *decode_node(struct decoder *d, const json_t *o, struct err *reterr)
{
    struct node *n = NEW(struct node);
    arena_init(&n->mem, NODE_CHUNK, DECODE_OBJECT_MAX);
    if (read_node(d, n, o, reterr)) {
        decode_node_free(n);
        return NULL;
    }
    return n;
}

void decode_node_free(struct node *n)
{
    if (n) {
        arena_done(&n->mem);
        free(n);
    }
}

/* ---- claims ---------------------------------------------------------------------------------- */

static void read_claim_spec(struct decoder *d, struct nodeclaim *c, const json_t *spec)
{
    struct arena *a = &c->mem;
    const char **problem = &c->problem;
    struct err e = ERR_INIT;
    decode_note(a, problem, "spec.", decode_requirements(d, a, spec, "requirements", &c->reqs, &e),
                &e);
    decode_note(
        a, problem, "spec.resources.",
        decode_resources(d, a, json_object_get(spec, "resources"), "requests", &c->requests, &e),
        &e);
    decode_note(a, problem, "spec.", decode_taints(d, a, spec, "taints", &c->taints, &e), &e);
    decode_note(a, problem, "spec.",
                decode_taints(d, a, spec, "startupTaints", &c->startup_taints, &e), &e);
    decode_note(a, problem, "spec.", decode_class_ref_of(a, spec, &c->class_ref, &e), &e);
    decode_note(a, problem, "spec.",
                decode_duration(spec, "expireAfter", true, DECODE_EXPIRE_DEFAULT_NS,
                                &c->expire_after_ns, &e),
                &e);
    decode_note(a, problem, "spec.",
                decode_duration(spec, "terminationGracePeriod", false, DURATION_ABSENT,
                                &c->termination_grace_ns, &e),
                &e);
}

static void read_claim_status(struct decoder *d, struct nodeclaim *c, const json_t *status)
{
    struct arena *a = &c->mem;
    struct err e = ERR_INIT;
    c->node_name = decode_str(a, status, "nodeName");
    c->provider_id = decode_str(a, status, "providerID");
    c->image_id = decode_str(a, status, "imageID");
    c->last_pod_event_ns = decode_time(status, "lastPodEventTime");
    decode_note(a, &c->problem, "status.",
                decode_resources(d, a, status, "capacity", &c->capacity, &e), &e);
    decode_note(a, &c->problem, "status.",
                decode_resources(d, a, status, "allocatable", &c->allocatable, &e), &e);
    decode_conditions(a, status, &c->conditions);
}

struct nodeclaim *decode_nodeclaim(struct decoder *d, const json_t *o, struct err *reterr)
{
    struct nodeclaim *c = NEW(struct nodeclaim);
    arena_init(&c->mem, CLAIM_CHUNK, DECODE_OBJECT_MAX);
    if (decode_meta(d, &c->mem, o, META_LABELS, &c->m, reterr)) {
        decode_nodeclaim_free(c);
        return NULL;
    }
    c->pool = sym_str(d->t, labels_get(&c->m.labels, L_NODEPOOL));
    read_claim_spec(d, c, json_object_get(o, "spec"));
    read_claim_status(d, c, json_object_get(o, "status"));
    if (decode_check_size(&c->mem, reterr)) {
        decode_nodeclaim_free(c);
        return NULL;
    }
    return c;
}

void decode_nodeclaim_free(struct nodeclaim *c)
{
    if (c) {
        arena_done(&c->mem);
        free(c);
    }
}
