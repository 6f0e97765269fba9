/* nodeview.c - see nodeview.h. */
#include "nodeview.h"

#include "common/base/str.h"
#include "common/core/labels.h"
#include "fleet.h"

/* ---- finding --------------------------------------------------------------------------------- */

const struct snapshot_node *nodeview_find(const struct session *s, enum kube_kind kind,
                                          const char *name)
{
    const struct snapshot *snap = &s->d.snap;
    for (uint32_t i = 0; i < snap->n_nodes; i++) {
        const struct snapshot_node *n = &snap->nodes[i];
        bool found = kind == KIND_NODE ? n->node && str_eq(n->node->m.name, name)
                                       : n->claim && str_eq(n->claim->m.name, name);
        if (found) {
            return n;
        }
    }
    return NULL;
}

/* ---- how it came ----------------------------------------------------------------------------- */

static struct nodeview_step step_of(const struct snapshot_node *n, const char *type, bool there)
{
    const struct condition *c = n->claim ? condition_find(&n->claim->conditions, type) : NULL;
    bool done = c ? c->status == STATUS_TRUE : there;
    struct nodeview_step ret = {.step = type, .done = done, .code = type};
    if (c) {
        ret.code = *c->reason ? c->reason : type;
        ret.message = c->message;
        ret.since_ns = c->transition_ns;
    } else if (!done) {
        ret.code = "Pending";
        ret.message = "nothing is said about it";
    }
    return ret;
}

static void read_steps(struct nodeview *v)
{
    const struct snapshot_node *n = v->n;
    bool registered = n->node && labels_get(&n->node->m.labels, L_REGISTERED) == V_TRUE;
    v->steps[0] = step_of(n, "Launched", n->launched);
    v->steps[1] = step_of(n, "Registered", registered || n->initialized);
    v->steps[2] = step_of(n, "Initialized", n->initialized);
}

/* ---- what is on it --------------------------------------------------------------------------- */

static void read_pods(struct nodeview *v)
{
    const struct world *w = &v->s->w;
    for (size_t i = 0; v->n->node && i < world_n(w, KIND_POD); i++) {
        const struct pod *p = world_at(w, KIND_POD, i);
        if (!str_eq(p->node_name, v->n->node->m.name) || pod_terminal(p)) {
            continue;
        }
        ARENA_GROW(&v->s->a, v->pods, v->n_pods, v->cap_pods);
        v->pods[v->n_pods++] = p;
        v->daemons += p->owner == POWNER_DAEMONSET;
        v->statics += p->owner == POWNER_NODE;
    }
}

/* ---- what controllers say -------------------------------------------------------------------- */

/* Conditions of the claim that tell of trouble. */
static void read_conditions(struct nodeview *v)
{
    for (unsigned i = 0; v->n->claim && i < NODEVIEW_STEPS; i++) {
        const struct nodeview_step *step = &v->steps[i];
        if (!step->done && step->message && *step->message) {
            said_add(&v->said, arena_printf(&v->s->a, "nodeclaim/%s", v->n->claim->m.name),
                     step->code, step->message, step->since_ns);
        }
    }
}

static void read_said(struct nodeview *v)
{
    const struct world *w = &v->s->w;
    read_conditions(v);
    if (v->n->claim) {
        said_events(&v->said, w, KIND_NODE_CLAIM, "", v->n->claim->m.name);
    }
    if (v->n->node) {
        said_events(&v->said, w, KIND_NODE, "", v->n->node->m.name);
    }
}

void nodeview_build(struct session *s, const struct snapshot_node *n, struct nodeview *ret)
{
    memset(ret, 0, sizeof(*ret));
    ret->s = s;
    ret->n = n;
    ret->price_pusd_h = fleet_price(&s->d.snap, n, s->prices, &ret->estimated);
    read_steps(ret);
    read_pods(ret);
    read_said(ret);
}
