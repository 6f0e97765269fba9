/* simulate_json.c - ProvisioningPlan. */
#include "simulate.h"

#include "common/base/str.h"
#include "common/core/improve/bound.h"

static json_t *pod_list(struct arena *a, const struct pod *const *pods, uint32_t n)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < n; i++) {
        (void)json_array_append_new(list, json_string(report_pod(a, pods[i])));
    }
    return list;
}

static json_t *summary(const struct simulate_view *v)
{
    const struct plan *p = &v->plan;
    const struct sched_result *r = v->s->d.result;
    json_t *o = json_object();
    report_int(o, "pods",
               (int64_t)p->placed_existing + p->placed_new + p->n_refused + r->n_undecided);
    report_int(o, "placedOnExisting", p->placed_existing);
    report_int(o, "placedOnNew", p->placed_new);
    report_int(o, "unschedulable", p->n_refused);
    report_int(o, "newNodes", p->n_claims);
    if (v->s->money) {
        report_money(o, "pricePerHour", p->price_pusd_h);
        report_money(o, "lowerBoundPerHour", bound_new_capacity_pusd_h(v->s->d.pass));
        if (p->estimated) {
            report_put(o, "estimated", json_true());
        }
    }
    report_int(o, "workUnits", (int64_t)r->work_units);
    report_put(o, "truncated", json_boolean(r->truncated));
    return o;
}

static json_t *existing(const struct simulate_view *v)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < v->plan.n_nodes; i++) {
        const struct plan_node *n = &v->plan.nodes[i];
        json_t *o = json_object();
        report_text(o, "node", report_node(&v->s->a, n->node));
        report_put(o, "pods", pod_list(&v->s->a, n->pods, n->n_pods));
        (void)json_array_append_new(list, o);
    }
    return list;
}

static int name_qsort(const void *x, const void *y)
{
    const struct pod *a = *(const struct pod *const *)x, *b = *(const struct pod *const *)y;
    int c = str_cmp(a->m.ns, b->m.ns);
    return c ? c : str_cmp(a->m.name, b->m.name);
}

static json_t *claim(const struct simulate_view *v, const struct sched_claim *c)
{
    struct arena *a = &v->s->a;
    const struct symtab *t = v->s->w.syms;
    json_t *o = json_object(), *reqs = json_array();
    const struct pod **pods = arena_memdup(a, c->pods, c->n_pods * sizeof(*pods));
    if (c->n_pods > 1) {
        qsort(pods, c->n_pods, sizeof(*pods), name_qsort);
    }
    report_text(o, "nodePool", c->pool->np->m.name);
    report_int(o, "weight", c->pool->np->weight);
    report_reqs(reqs, t, &c->reqs, NULL);
    report_put(o, "requirements", reqs);
    report_claim_lists(o, t, c);
    report_put(o, "requests", report_resources(t, &c->requests));
    report_put(o, "daemonOverhead", report_resources(t, &c->daemon_overhead));
    report_put(o, "pods", pod_list(a, pods, c->n_pods));
    if (v->s->money) {
        report_money(o, "pricePerHour", c->price_pusd_h);
        if (report_claim_estimated(v->s, c)) {
            report_put(o, "estimated", json_true());
        }
    }
    if (c->min_values_relaxed) {
        report_put(o, "minValuesRelaxed", json_true());
    }
    return o;
}

static json_t *claims(const struct simulate_view *v)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < v->plan.n_claims; i++) {
        (void)json_array_append_new(list, claim(v, v->plan.claims[i]));
    }
    return list;
}

/* ---- without a home -------------------------------------------------------------------------- */

static json_t *refusal_pools(const struct simulate_view *v, const struct explanation *e)
{
    json_t *list = json_array();
    for (uint32_t i = 0; e && i < e->n_pools; i++) {
        json_t *o = json_object();
        report_text(o, "name", e->pools[i].pool->np->m.name);
        report_text(o, "code", reason_name(e->pools[i].reason.code));
        report_text(o, "message", report_reason(&v->s->a, v->s, &e->pools[i].reason));
        (void)json_array_append_new(list, o);
    }
    return list;
}

/* The nearest pool's nearest type. */
static json_t *nearest(const struct simulate_view *v, const struct explanation *e)
{
    const struct explain_pool *p = e && e->n_pools ? &e->pools[0] : NULL;
    if (!p) {
        return NULL;
    }
    const struct symtab *t = v->s->w.syms;
    json_t *o = json_object();
    report_text(o, "nodePool", p->pool->np->m.name);
    report_text(o, "instanceType", sym_str(t, p->nearest));
    report_text(o, "code", reason_name(p->reason.code));
    if (!resources_is_zero(&p->missing)) {
        report_put(o, "short", report_resources(t, &p->missing));
    }
    return o;
}

static json_t *refusal(const struct simulate_view *v, const struct plan_refusal *r)
{
    struct arena *a = &v->s->a;
    json_t *o = json_object();
    report_text(o, "pod", report_pod(a, r->refusal->pod));
    report_text(o, "code", reason_name(r->refusal->reason.code));
    report_text(o, "message", report_reason(a, v->s, &r->refusal->reason));
    report_put(o, "nodePools", refusal_pools(v, r->why));
    report_put(o, "existingNodes", r->why ? report_existing_nodes(a, v->s, r->why) : json_array());
    json_t *near = nearest(v, r->why);
    if (near) {
        report_put(o, "nearest", near);
    }
    return o;
}

static json_t *unschedulable(const struct simulate_view *v)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < v->plan.n_refused; i++) {
        (void)json_array_append_new(list, refusal(v, &v->plan.refused[i]));
    }
    return list;
}

static json_t *preferences(const struct simulate_view *v)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < v->plan.n_preferences; i++) {
        json_t *o = json_object();
        report_text(o, "pod", report_pod(&v->s->a, v->plan.preferences[i].pod));
        report_text(o, "rule", v->plan.preferences[i].rule);
        (void)json_array_append_new(list, o);
    }
    return list;
}

json_t *simulate_report(const struct simulate_view *v)
{
    json_t *o = json_object(), *warnings = json_array();
    const struct sched_result *r = v->s->d.result;
    report_text(o, "apiVersion", "karp.dev/v1alpha1");
    report_text(o, "kind", "ProvisioningPlan");
    report_put(o, "summary", summary(v));
    report_put(o, "existing", existing(v));
    report_put(o, "claims", claims(v));
    report_put(o, "unschedulable", unschedulable(v));
    if (r->n_undecided > 0) {
        report_put(o, "undecided", pod_list(&v->s->a, r->undecided, r->n_undecided));
    }
    report_put(o, "preferencesGivenUp", preferences(v));
    plan_warnings(warnings, v->s, &v->plan);
    report_put(o, "warnings", warnings);
    report_put(o, "incomplete", json_boolean(report_incomplete(v->s)));
    return o;
}
