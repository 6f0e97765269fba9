/* nodeview.c - see nodeview.h. */
#include "nodeview.h"

#include "cmd/read/fleet.h"
#include "cmd/read/requests.h"
#include "cmd/screen.h"
#include "common/base/str.h"
#include "common/core/labels.h"

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

bool nodeview_managed(const struct nodeview *v)
{
    return fleet_managed(v->n);
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

static const char *planned(const struct nodeview *v, const struct pod *p)
{
    for (uint32_t i = 0; v->step && i < v->step->n_moves; i++) {
        if (v->step->moves[i].pod == p) {
            return disrupt_to(v->d, &v->step->moves[i]);
        }
    }
    return NULL;
}

/* A leaving node's pods have their next place in the decision about pods. */
static const char *next_place(const struct nodeview *v, const struct pod *p)
{
    const struct sched_result *r = v->s->d.result;
    for (uint32_t i = 0; i < r->n_existing; i++) {
        if (r->existing[i].pod == p) {
            return report_node(&v->s->a, r->existing[i].node);
        }
    }
    for (uint32_t i = 0; i < r->n_claims; i++) {
        for (uint32_t k = 0; k < r->claims[i].n_pods; k++) {
            if (r->claims[i].pods[k] == p) {
                return arena_printf(&v->s->a, "new-%u", i);
            }
        }
    }
    return NULL;
}

/* As the world has them: a decision knows those of a leaving node as pods to be placed. */
static void read_pods(struct nodeview *v)
{
    const struct world *w = &v->s->w;
    struct nodeview_pod *pods = NULL;
    size_t cap = 0;
    for (size_t i = 0; v->n->node && i < world_n(w, KIND_POD); i++) {
        const struct pod *p = world_at(w, KIND_POD, i);
        if (!str_eq(p->node_name, v->n->node->m.name) || pod_terminal(p)) {
            continue;
        }
        ARENA_GROW(&v->s->a, pods, v->n_pods, cap);
        pods[v->n_pods++] = (struct nodeview_pod){p, consolidate_pod(v->d->pass, p),
                                                  v->n->leaving ? next_place(v, p) : planned(v, p)};
        v->daemons += p->owner == POWNER_DAEMONSET;
        v->statics += p->owner == POWNER_NODE;
    }
    v->pods = pods;
}

/* ---- what becomes of it ---------------------------------------------------------------------- */

static const char *new_node(const struct nodeview *v)
{
    const struct consolidate_step *s = v->step;
    if (s->n_in == 1) {
        const char *others = disrupt_in_others(v->d, &s->in[0]);
        return arena_printf(&v->s->a, "%s%s%s", disrupt_in_text(v->d, &s->in[0]), others ? " " : "",
                            others ? others : "");
    }
    return screen_count(&v->s->a, s->n_in, "new node");
}

static const char *drift_of_node(const struct nodeview *v)
{
    for (uint32_t i = 0; i < v->step->n_out; i++) {
        if (v->step->out[i].node == v->n && v->step->out[i].drift) {
            return v->step->out[i].drift;
        }
    }
    return reason_name(REASON_Drifted);
}

static const char *removal(const struct nodeview *v)
{
    struct arena *a = &v->s->a;
    const struct consolidate_step *s = v->step;
    const char *with =
        s->n_out > 1 ? arena_printf(a, ", together with %s", screen_count(a, s->n_out - 1, "other"))
                     : "";
    if (s->kind == STEP_EMPTY) {
        return "carries no pods and can be removed";
    }
    if (s->reason == DISRUPT_DRIFTED) {
        const char *why = drift_of_node(v);
        return arena_printf(a, "differs from what its pool asks for (%s)%s%s%s", why,
                            s->n_in ? "; in its place: " : "", s->n_in ? new_node(v) : "", with);
    }
    if (s->kind == STEP_DELETE) {
        return arena_printf(a, "its pods fit on other nodes%s", with);
    }
    return arena_printf(a, "%s can hold its pods for less%s", new_node(v), with);
}

static void read_verdict(struct nodeview *v)
{
    const struct reason *r = v->verdict ? &v->verdict->reason : NULL;
    const char *hidden = disrupt_hidden(&v->s->w, &v->s->a);
    if (hidden) {
        v->code = "Hidden";
        v->message = arena_printf(&v->s->a, "what becomes of it cannot be told: %s", hidden);
        return;
    }
    if (!r) {
        v->code = reason_name(REASON_NotManaged);
        v->message = "no NodePool manages it";
        return;
    }
    if (!v->step) {
        v->code = reason_name(r->code);
        v->message = disrupt_reason(v->d, r);
        return;
    }
    const char *goes = removal(v);
    v->code = reason_name(v->step->n_held_by ? v->step->held_by[0].code : r->code);
    v->message = v->step->n_held_by ? arena_printf(&v->s->a, "%s; held: %s", goes,
                                                   disrupt_reason(v->d, &v->step->held_by[0]))
                                    : goes;
}

/* ---- gates ----------------------------------------------------------------------------------- */

/* By how much a gate is passed, where that is known. */
static const char *margin(const struct nodeview *v, const struct reason *r)
{
    struct arena *a = &v->s->a;
    switch (r->code) {
    case REASON_PDB:
        return r->object2 ? arena_printf(a, "tightest: PodDisruptionBudget %s, %lld allowed",
                                         r->object2, (long long)r->limit)
                          : "";
    case REASON_Waiting:
        return r->since_ns && r->until_ns
                   ? arena_printf(a, "quiet for %s, needs %s",
                                  screen_age(a, v->s->w.now_ns - r->since_ns),
                                  screen_age(a, r->until_ns - r->since_ns))
                   : "";
    case REASON_Budget:
        return arena_printf(a, "%lld may go at once, %lld taken", (long long)r->limit,
                            (long long)r->count);
    default:
        return "";
    }
}

/* A node with other reasons to stay may have passed these without their saying how. */
static const char *cheaper(const struct nodeview *v)
{
    const struct consolidate_step *s = v->step;
    if (!s || s->kind != STEP_REPLACE) {
        return "";
    }
    return v->s->money ? arena_printf(&v->s->a, "%s, %s", new_node(v),
                                      screen_hour(&v->s->a, s->price_in_pusd_h,
                                                  disrupt_step_estimated(v->d, s), ""))
                       : new_node(v);
}

/* Whose consent it has, where that is asked for. */
static const char *consent(const struct nodeview *v)
{
    const struct world *w = &v->s->w;
    const struct dgrant *g = disrupt_grant(v->d, v->n);
    for (size_t i = 0; i < world_n(w, KIND_DISRUPTION_REQUEST) && v->n->claim; i++) {
        const struct dreq *r = world_at(w, KIND_DISRUPTION_REQUEST, i);
        if (dreq_has_candidate(r, v->n->claim->m.uid) && request_goes(r, requests_now(w))) {
            return arena_printf(&v->s->a, "request %s is approved", r->m.name);
        }
    }
    return g ? arena_printf(&v->s->a, "grant %s by %s covers it", g->m.name, g->granted_by) : "";
}

const char *nodeview_gate_text(const struct nodeview *v, enum candidate_gate_id id)
{
    const struct candidate_gate *g = &v->gates[id];
    if (!g->asked) {
        return "";
    }
    if (!g->pass) {
        return disrupt_reason(v->d, &g->reason);
    }
    return id == GATE_NotCheaper        ? cheaper(v)
           : id == GATE_ApprovalPending ? consent(v)
                                        : margin(v, &g->reason);
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

void nodeview_build(const struct disrupt *d, const struct snapshot_node *n, struct nodeview *ret)
{
    memset(ret, 0, sizeof(*ret));
    ret->s = d->s;
    ret->d = d;
    ret->n = n;
    ret->price_pusd_h = fleet_price(&d->s->d.snap, n, d->s->prices, &ret->estimated);
    ret->verdict = disrupt_verdict(d, n);
    ret->step = disrupt_step_of(d, n);
    if (ret->verdict) {
        consolidate_gates(d->pass, n, ret->gates);
    }
    read_steps(ret);
    read_pods(ret);
    read_verdict(ret);
    read_said(ret);
}
