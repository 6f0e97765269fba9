/* poolview_json.c - NodePoolExplanation. */
#include "poolview.h"

#include "cmd/status/money.h"

static json_t *conditions(const struct poolview *v)
{
    static const char *const names[] = {
        [STATUS_UNKNOWN] = "Unknown", [STATUS_TRUE] = "True", [STATUS_FALSE] = "False"};
    const struct conditions *c = &v->p->np->conditions;
    json_t *list = json_array();
    for (uint32_t i = 0; i < c->n; i++) {
        json_t *o = json_object();
        report_text(o, "type", c->v[i].type);
        report_text(o, "status", c->v[i].status == STATUS_ABSENT ? NULL : names[c->v[i].status]);
        report_text(o, "reason", c->v[i].reason);
        report_text(o, "message", c->v[i].message);
        report_time(o, "since", c->v[i].transition_ns);
        (void)json_array_append_new(list, o);
    }
    return list;
}

static json_t *types(const struct poolview *v)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < v->n_steps; i++) {
        json_t *o = json_object();
        enum reason_code code = v->steps[i].code;
        report_text(o, "step", reason_name(code == REASON_NONE ? REASON_PoolNotReady : code));
        report_text(o, "key", v->steps[i].key);
        report_int(o, "left", v->steps[i].left);
        (void)json_array_append_new(list, o);
    }
    return list;
}

/* Those of types that the pool could launch. */
static json_t *stockouts(const struct poolview *v)
{
    json_t *list = json_array();
    struct facts f;
    facts_read(&v->s->w, &v->s->a, &f);
    for (size_t i = 0; i < f.n_stockouts; i++) {
        const struct facts_stockout *one = &f.stockouts[i];
        if (!poolview_sells(v, one)) {
            continue;
        }
        json_t *o = json_object();
        report_text(o, "capacityType", one->capacity_type);
        report_text(o, "instanceType", one->type);
        report_text(o, "zone", one->zone);
        report_time(o, "until", one->until_ns);
        report_text(o, "code", one->code);
        (void)json_array_append_new(list, o);
    }
    return list;
}

static json_t *launches(const struct poolview *v)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < v->n_launches; i++) {
        const struct poolview_launch *l = &v->launches[i];
        json_t *o = json_object();
        report_text(o, "nodeClaim", l->nc->m.name);
        report_text(o, "step", l->step);
        report_put(o, "failing", json_boolean(l->failing));
        report_text(o, "code", l->code);
        report_text(o, "message", l->message);
        report_time(o, "createdAt", l->nc->m.created_ns);
        (void)json_array_append_new(list, o);
    }
    return list;
}

static void put_money(json_t *o, const struct poolview *v)
{
    const struct cost *c = &v->n.cost;
    if (!v->s->money) {
        return;
    }
    if (c->priced > 0 || c->unpriced == 0) {
        report_money(o, "pricePerHour", c->pusd_h);
    }
    if (c->unpriced > 0) {
        report_int(o, "nodesWithoutPrice", c->unpriced);
    }
    if (c->estimated) {
        report_put(o, "estimated", json_true());
    }
}

json_t *poolview_json(const struct poolview *v)
{
    const struct nodepool *np = v->p->np;
    json_t *o = json_object(), *verdict = json_object();
    report_text(o, "name", np->m.name);
    report_put(o, "ready", json_boolean(v->p->closed != REASON_PoolNotReady));
    report_text(verdict, "code", v->code);
    report_text(verdict, "message", v->message);
    report_put(o, "verdict", verdict);
    report_text(o, "nodeClass", np->class_ref.name);
    if (np->weight != 0) {
        report_int(o, "weight", np->weight);
    }
    report_int(o, "nodes", v->n.initialized);
    put_money(o, v);
    report_put(o, "conditions", conditions(v));
    report_put(o, "types", types(v));
    report_put(o, "resources", report_in_use(v->s->w.syms, v->p));
    report_put(o, "limits", report_limits(v->s->w.syms, np));
    report_put(o, "budgets", report_budgets(v->budgets));
    report_put(o, "unavailableOfferings", stockouts(v));
    report_put(o, "launches", launches(v));
    report_put(o, "controllerSays", said_json(&v->said));
    return o;
}
