/* podview_json.c - PodExplanation and PodExplanationList. */
#include "podview.h"

#include "blockers.h"
#include "common/base/str.h"

static const char *phase_name(enum pod_phase p)
{
    static const char *const names[] = {[POD_PENDING] = "Pending",
                                        [POD_RUNNING] = "Running",
                                        [POD_SUCCEEDED] = "Succeeded",
                                        [POD_FAILED] = "Failed",
                                        [POD_UNKNOWN] = "Unknown"};
    return names[p];
}

static json_t *requirements(const struct podview *v)
{
    size_t n;
    const struct podview_ask *asks = podview_asks(v, &n);
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        report_reqs(list, v->s->w.syms, asks[i].set, asks[i].source);
    }
    return list;
}

static json_t *pool(const struct podview *v, const struct explain_pool *p)
{
    const struct symtab *t = v->s->w.syms;
    json_t *o = json_object(), *funnel = json_array();
    report_text(o, "name", p->pool->np->m.name);
    report_text(o, "code",
                reason_name(p->reason.code == REASON_NONE ? REASON_Schedulable : p->reason.code));
    report_text(o, "message", podview_pool_text(v, p));
    for (uint32_t i = 0; i < p->n_steps; i++) {
        json_t *step = json_object();
        report_text(step, "step", reason_name(p->steps[i].code));
        report_text(step, "key", sym_str(t, p->steps[i].key));
        report_int(step, "left", p->steps[i].left);
        (void)json_array_append_new(funnel, step);
    }
    report_put(o, "funnel", funnel);
    if (p->nearest != SYM_NONE) {
        json_t *near = json_object();
        report_text(near, "instanceType", sym_str(t, p->nearest));
        if (!resources_is_zero(&p->missing)) {
            report_put(near, "short", report_resources(t, &p->missing));
        }
        report_text(near, "zone", sym_str(t, p->zone));
        report_text(near, "capacityType",
                    p->captype == CT_COUNT ? NULL : sym_str(t, capacity_type_sym(p->captype)));
        if (v->s->money) {
            report_money(near, "pricePerHour", p->price_pusd_h);
        }
        if (v->s->money && p->captype != CT_COUNT &&
            report_estimated(v->s, p->pool,
                             (uint32_t)catalog_find_type(p->pool->catalog, p->nearest), p->zone,
                             p->captype)) {
            report_put(near, "estimated", json_true());
        }
        report_put(o, "nearest", near);
    }
    return o;
}

static json_t *plan(const struct podview *v)
{
    json_t *o = json_object();
    report_text(o, "nodePool", v->claim->pool->np->m.name);
    report_claim_lists(o, v->s->w.syms, v->claim);
    if (v->s->money) {
        report_money(o, "pricePerHour", v->claim->price_pusd_h);
        if (report_claim_estimated(v->s, v->claim)) {
            report_put(o, "estimated", json_true());
        }
    }
    return o;
}

static json_t *said(const struct podview *v)
{
    json_t *list = json_array();
    for (size_t i = 0; i < v->n_said; i++) {
        json_t *o = json_object();
        report_text(o, "source", v->said[i].source);
        report_text(o, "reason", v->said[i].reason);
        report_time(o, "time", v->said[i].time_ns);
        report_text(o, "message", v->said[i].message);
        (void)json_array_append_new(list, o);
    }
    return list;
}

static json_t *body(const struct podview *v, json_t *o)
{
    struct arena *a = &v->s->a;
    json_t *verdict = json_object();
    report_text(o, "pod", report_pod(a, v->pod));
    report_text(o, "phase", phase_name(v->pod->phase));
    report_text(o, "node", v->bound ? v->pod->node_name : v->node ? report_node(a, v->node) : NULL);
    report_text(verdict, "code", v->code);
    report_text(verdict, "message", v->message);
    report_put(o, "verdict", verdict);
    report_put(o, "effectiveRequests", report_resources(v->s->w.syms, &v->pod->cls->requests));
    report_put(o, "requirements", requirements(v));
    if (v->e) {
        json_t *pools = json_array();
        for (uint32_t i = 0; i < v->e->n_pools; i++) {
            (void)json_array_append_new(pools, pool(v, &v->e->pools[i]));
        }
        report_put(o, "nodePools", pools);
        report_put(o, "existingNodes", report_existing_nodes(a, v->s, v->e));
    }
    if (v->claim) {
        report_put(o, "plan", plan(v));
    }
    if (v->bound && v->s->disrupt) {
        report_put(o, "blockers", blockers_json(v->s->disrupt, v->pod));
    }
    report_put(o, "controllerSays", said(v));
    json_t *advice = json_array();
    for (size_t i = 0; i < v->n_advice; i++) {
        (void)json_array_append_new(advice, json_string(v->advice[i]));
    }
    report_put(o, "advice", advice);
    return o;
}

json_t *podview_json(const struct podview *v)
{
    json_t *o = json_object(), *warnings = json_array();
    report_text(o, "apiVersion", "karp.dev/v1alpha1");
    report_text(o, "kind", "PodExplanation");
    body(v, o);
    struct podview *one = (struct podview *)(uintptr_t)v;
    podview_warnings(warnings, v->s, &one, 1);
    report_put(o, "warnings", warnings);
    report_put(o, "incomplete", json_boolean(report_incomplete(v->s)));
    return o;
}

json_t *podlist_json(struct session *s, struct podview *const *v, size_t n)
{
    size_t n_groups;
    const struct podgroup *g = podgroups(s, v, n, &n_groups);
    json_t *o = json_object(), *groups = json_array(), *items = json_array();
    json_t *warnings = json_array();
    for (size_t i = 0; i < n_groups; i++) {
        json_t *one = json_object(), *pods = json_array();
        report_text(one, "code", g[i].code);
        report_text(one, "nodePool", g[i].pool);
        for (size_t k = 0; k < g[i].n; k++) {
            (void)json_array_append_new(pods, json_string(report_pod(&s->a, g[i].v[k]->pod)));
        }
        report_put(one, "pods", pods);
        report_text(one, "message", g[i].message);
        (void)json_array_append_new(groups, one);
    }
    for (size_t i = 0; i < n; i++) {
        (void)json_array_append_new(items, body(v[i], json_object()));
    }
    report_text(o, "apiVersion", "karp.dev/v1alpha1");
    report_text(o, "kind", "PodExplanationList");
    report_put(o, "groups", groups);
    report_put(o, "items", items);
    if (s->c->o->pending) {
        report_put(o, "notCreated", podlist_held(s));
    }
    podview_warnings(warnings, s, v, n);
    report_put(o, "warnings", warnings);
    report_put(o, "incomplete", json_boolean(report_incomplete(s)));
    return o;
}
