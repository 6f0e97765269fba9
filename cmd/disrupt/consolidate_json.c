/* consolidate_json.c - ConsolidationPlan. */
#include "consolidate.h"

#include "cmd/report.h"

static bool estimated(const struct consolidate_view *v)
{
    for (uint32_t i = 0; i < v->d->plan->n_steps; i++) {
        if (disrupt_step_estimated(v->d, &v->d->plan->steps[i])) {
            return true;
        }
    }
    return false;
}

static json_t *summary(const struct consolidate_view *v)
{
    const struct consolidate_result *p = v->d->plan;
    json_t *o = json_object();
    report_int(o, "nodes", p->n_nodes);
    if (v->s->money) {
        report_money(o, "pricePerHour", p->price_pusd_h);
        report_money(o, "savingsPerHour", p->saving_pusd_h);
        if (estimated(v)) {
            report_put(o, "estimated", json_true());
        }
    }
    report_int(o, "actions", p->n_steps);
    report_int(o, "nodesOut", p->nodes_out);
    report_int(o, "nodesIn", p->nodes_in);
    report_int(o, "podsMoved", p->pods_moved);
    report_int(o, "workUnits", (int64_t)p->work_units);
    report_put(o, "truncated", json_boolean(p->truncated));
    if (p->cut_short) {
        report_put(o, "cutShort", json_true());
    }
    return o;
}

static json_t *actions(const struct consolidate_view *v)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < v->d->plan->n_steps; i++) {
        (void)json_array_append_new(list, disrupt_action_json(v->d, &v->d->plan->steps[i]));
    }
    return list;
}

static json_t *blocked(const struct consolidate_view *v)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < v->d->plan->n_nodes; i++) {
        const struct node_verdict *n = &v->d->plan->nodes[i];
        if (n->step >= 0) {
            continue;
        }
        json_t *o = json_object();
        report_text(o, "node", report_node(&v->s->a, n->node));
        report_text(o, "nodePool", n->node->pool ? n->node->pool->np->m.name : NULL);
        if (v->s->money) {
            report_money(o, "pricePerHour", n->price_pusd_h);
        }
        report_text(o, "code", reason_name(n->reason.code));
        report_text(o, "message", disrupt_reason(v->d, &n->reason));
        report_put(o, "operands", disrupt_operands(v->d, &n->reason));
        (void)json_array_append_new(list, o);
    }
    return list;
}

static json_t *budgets(const struct consolidate_view *v)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < v->d->plan->n_budgets; i++) {
        const struct plan_budget *b = &v->d->plan->budgets[i];
        json_t *o = json_object();
        report_text(o, "nodePool", b->pool->np->m.name);
        report_text(o, "reason", budget_reason_name(b->reason));
        report_int(o, "nodes", b->nodes);
        report_int(o, "allowed", b->allowed);
        report_int(o, "disrupting", b->disrupting);
        report_int(o, "remaining", b->remaining);
        report_time(o, "opensAt", b->opens_ns);
        report_time(o, "closesAt", b->closes_ns);
        (void)json_array_append_new(list, o);
    }
    return list;
}

/* Why nodes that leave for drift do. */
static json_t *drifted(const struct consolidate_view *v)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < v->d->plan->n_steps; i++) {
        const struct consolidate_step *s = &v->d->plan->steps[i];
        for (uint32_t k = 0; k < s->n_out; k++) {
            if (s->out[k].drift) {
                json_t *o = json_object();
                report_text(o, "node", report_node(&v->s->a, s->out[k].node));
                report_text(o, "code", s->out[k].drift);
                (void)json_array_append_new(list, o);
            }
        }
    }
    return list;
}

json_t *consolidate_report(const struct consolidate_view *v)
{
    json_t *o = json_object(), *preferences = json_array(), *warnings = json_array();
    report_text(o, "apiVersion", "karp.dev/v1alpha1");
    report_text(o, "kind", "ConsolidationPlan");
    report_put(o, "summary", summary(v));
    report_text(o, "digest", v->d->plan->digest);
    report_put(o, "actions", actions(v));
    report_put(o, "blocked", blocked(v));
    if (v->with_drift) {
        report_put(o, "drifted", drifted(v));
    }
    for (uint32_t i = 0; i < v->d->plan->n_steps; i++) {
        disrupt_preferences(v->d, &v->d->plan->steps[i], preferences);
        disrupt_warnings(v->d, &v->d->plan->steps[i], warnings);
    }
    report_put(o, "preferencesGivenUp", preferences);
    for (uint32_t i = 0; i < v->d->plan->n_same; i++) {
        const struct same_price *same = &v->d->plan->same[i];
        report_warn(warnings, "SamePriceFewerNodes",
                    arena_printf(&v->s->a, "nodepool/%s", same->in[0].pool->np->m.name),
                    disrupt_same(v->d, same));
    }
    report_warnings(warnings, &v->s->a, v->s);
    report_put(o, "warnings", warnings);
    report_put(o, "budgets", budgets(v));
    report_put(o, "incomplete", json_boolean(report_incomplete(v->s)));
    return o;
}
