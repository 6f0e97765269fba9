/* nodeview_json.c - NodeExplanation. */
#include "nodeview.h"

#include "cmd/read/fleet.h"
#include "common/base/timefmt.h"
#include "common/core/labels.h"

static json_t *lifecycle(const struct nodeview *v)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < NODEVIEW_STEPS; i++) {
        const struct nodeview_step *s = &v->steps[i];
        json_t *o = json_object();
        report_text(o, "step", s->step);
        report_put(o, "done", json_boolean(s->done));
        report_text(o, "code", s->code);
        report_text(o, "message", s->message);
        report_time(o, "since", s->since_ns);
        (void)json_array_append_new(list, o);
    }
    return list;
}

static json_t *gates(const struct nodeview *v)
{
    json_t *list = json_array();
    for (int i = 0; v->verdict && i < GATE_COUNT; i++) {
        const struct candidate_gate *g = &v->gates[i];
        const char *name = reason_name(candidate_gate_code((enum candidate_gate_id)i));
        json_t *o = json_object();
        report_text(o, "gate", name);
        if (g->asked) {
            report_put(o, "pass", json_boolean(g->pass));
        }
        report_text(o, "code", name);
        report_text(o, "message", nodeview_gate_text(v, (enum candidate_gate_id)i));
        if (g->asked) {
            report_put(o, "operands", disrupt_operands(v->d, &g->reason));
        }
        (void)json_array_append_new(list, o);
    }
    return list;
}

static json_t *pods(const struct nodeview *v)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < v->n_pods; i++) {
        const struct nodeview_pod *p = &v->pods[i];
        json_t *o = json_object();
        bool free = p->held.code == REASON_NONE;
        report_text(o, "pod", report_pod(&v->s->a, p->pod));
        report_put(o, "evictable", json_boolean(free));
        report_text(o, "code", free ? NULL : reason_name(p->held.code));
        report_text(o, "message", free ? NULL : disrupt_reason(v->d, &p->held));
        report_text(o, "wouldGoTo", p->goes);
        (void)json_array_append_new(list, o);
    }
    return list;
}

static void put_identity(const struct nodeview *v, json_t *o)
{
    const struct snapshot *snap = &v->s->d.snap;
    const struct snapshot_node *n = v->n;
    char age[TIMEFMT_TEXT];
    int64_t since = n->claim ? n->claim->m.created_ns : n->node ? n->node->m.created_ns : 0;
    report_text(o, "node", n->node ? n->node->m.name : NULL);
    report_text(o, "nodeClaim", n->claim ? n->claim->m.name : NULL);
    report_text(o, "nodePool", fleet_label(snap, n, L_NODEPOOL));
    report_text(o, "instanceType", fleet_label(snap, n, L_INSTANCE_TYPE));
    report_text(o, "zone", fleet_label(snap, n, L_ZONE));
    report_text(o, "capacityType", fleet_label(snap, n, L_CAPACITY_TYPE));
    if (v->s->money && nodeview_managed(v)) {
        report_money(o, "pricePerHour", v->price_pusd_h);
        if (v->estimated) {
            report_put(o, "estimated", json_true());
        }
    }
    report_text(o, "age", since ? timefmt_duration(v->s->w.now_ns - since, age) : NULL);
}

static void put_amounts(const struct nodeview *v, json_t *o)
{
    static const struct resources none = {.n_ext = 0};
    const struct symtab *t = v->s->w.syms;
    const struct node_usage *u = v->n->usage;
    report_put(o, "allocatable", report_resources(t, &v->n->allocatable));
    report_put(o, "requested", report_resources(t, u ? &u->requested : &none));
    report_put(o, "daemonRequests", report_resources(t, u ? &u->daemon_requested : &none));
    if (v->n->claim) {
        report_put(o, "launchedFor", report_resources(t, &v->n->claim->requests));
    }
}

json_t *nodeview_json(const struct nodeview *v)
{
    json_t *o = json_object(), *verdict = json_object();
    put_identity(v, o);
    put_amounts(v, o);
    if (nodeview_managed(v)) {
        report_put(o, "lifecycle", lifecycle(v));
    }
    report_text(verdict, "code", v->code);
    report_text(verdict, "message", v->message);
    report_put(o, "verdict", verdict);
    report_put(o, "gates", gates(v));
    report_put(o, "pods", pods(v));
    if (v->step) {
        report_put(o, "action", disrupt_action_json(v->d, v->step));
    }
    report_put(o, "controllerSays", said_json(&v->said));
    return o;
}
