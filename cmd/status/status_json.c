/* status_json.c - StatusReport. */
#include "status.h"

#include "cmd/read/requests.h"
#include "cmd/report.h"
#include "common/base/quantity.h"
#include "common/core/consent/hold.h"
#include "money.h"

/* ---- small parts ----------------------------------------------------------------------------- */

/* Nothing if no node has a price; what is missing is told beside it. */
static void put_cost(json_t *o, const struct status_view *s, const struct cost *cost)
{
    char text[MONEY_TEXT];
    if (!s->money) {
        return;
    }
    if (cost->priced > 0 || cost->unpriced == 0) {
        report_put(o, "pricePerHour", json_string(money_exact(cost->pusd_h, text)));
    }
    if (cost->unpriced > 0) {
        report_int(o, "nodesWithoutPrice", cost->unpriced);
    }
    if (cost->estimated) {
        report_put(o, "estimated", json_true());
    }
}

static json_t *amounts(enum resource r, int64_t requested, int64_t allocatable)
{
    char text[QUANTITY_TEXT];
    json_t *o = json_object();
    report_put(o, "requested", json_string(report_quantity(r, requested, text)));
    report_put(o, "allocatable", json_string(report_quantity(r, allocatable, text)));
    return o;
}

static json_t *usage(const struct fleet_count *n)
{
    json_t *o = json_object();
    report_put(o, "cpu", amounts(RES_CPU, n->requested_cpu_milli, n->allocatable_cpu_milli));
    report_put(o, "memory", amounts(RES_MEMORY, n->requested_mem_bytes, n->allocatable_mem_bytes));
    return o;
}

/* ---- cluster --------------------------------------------------------------------------------- */

static json_t *cluster(const struct status_view *s)
{
    json_t *o = json_object(), *agent = json_object();
    report_text(o, "name", s->w->live ? s->w->name : NULL);
    report_text(o, "kubernetesVersion", s->w->version);
    report_text(o, "controller", charge_name(s->facts.charge));
    report_text(agent, "version", s->facts.version);
    report_text(agent, "leader", s->facts.leader);
    report_time(agent, "syncedAt", s->facts.synced_ns);
    report_text(agent, "mode", s->facts.mode);
    if (json_object_size(agent) > 0) {
        report_put(o, "agent", agent);
    } else {
        json_decref(agent);
    }
    return o;
}

static json_t *nodes(const struct fleet *f)
{
    json_t *o = json_object();
    report_int(o, "ready", f->all.state[NODE_READY]);
    report_int(o, "launching", f->all.state[NODE_LAUNCHING]);
    report_int(o, "draining", f->all.state[NODE_DRAINING]);
    report_int(o, "notReady", f->all.state[NODE_NOT_READY]);
    report_int(o, "lost", f->all.state[NODE_LOST]);
    report_int(o, "unmanaged", f->unmanaged);
    return o;
}

static json_t *pods(const struct fleet *f)
{
    json_t *o = json_object();
    report_int(o, "bound", f->bound);
    report_int(o, "waiting", (int64_t)f->waiting_bind + f->waiting_launching + f->waiting_new);
    report_int(o, "unschedulable", f->unschedulable);
    report_int(o, "gated", f->gated);
    return o;
}

/* ---- pools ----------------------------------------------------------------------------------- */

static json_t *pool(const struct status_view *s, const struct fleet_pool *p)
{
    const struct nodepool *np = p->pool->np;
    struct budget_row rows[BUDGET_REASONS];
    json_t *o = json_object(), *limited = report_limits(s->w->syms, np);
    report_text(o, "name", np->m.name);
    report_put(o, "ready", json_boolean(p->pool->closed != REASON_PoolNotReady));
    report_int(o, "nodes", p->n.initialized);
    report_int(o, "launching", p->n.state[NODE_LAUNCHING]);
    report_put(o, "resources", report_in_use(s->w->syms, p->pool));
    report_put(o, "usage", usage(&p->n));
    if (json_object_size(limited) > 0) {
        report_put(o, "limits", limited);
    } else {
        json_decref(limited);
    }
    if (np->weight != 0) {
        report_int(o, "weight", np->weight);
    }
    budget_rows(np, p->n.counted, p->n.disrupting, s->w->now_ns, rows);
    report_put(o, "budgets", report_budgets(rows));
    put_cost(o, s, &p->n.cost);
    return o;
}

static json_t *pools(const struct status_view *s)
{
    json_t *list = json_array();
    for (size_t i = 0; i < s->fleet.n_pools; i++) {
        (void)json_array_append_new(list, pool(s, &s->fleet.pools[i]));
    }
    return list;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static json_t *stockouts(const struct status_view *s)
{
    json_t *list = json_array();
    for (size_t i = 0; i < s->facts.n_stockouts; i++) {
        const struct facts_stockout *f = &s->facts.stockouts[i];
        json_t *o = json_object();
        report_text(o, "capacityType", f->capacity_type);
        report_text(o, "instanceType", f->type);
        report_text(o, "zone", f->zone);
        report_time(o, "until", f->until_ns);
        report_text(o, "code", f->code);
        (void)json_array_append_new(list, o);
    }
    return list;
}

static json_t *holds(const struct status_view *s)
{
    json_t *list = json_array();
    for (size_t i = 0; i < world_n(s->w, KIND_HOLD); i++) {
        const struct hold *h = world_at(s->w, KIND_HOLD, i);
        if (!hold_in_force(h, s->w->now_ns)) {
            continue;
        }
        json_t *o = json_object(), *target = json_object();
        report_text(o, "name", h->m.name);
        report_text(target, "kind", hold_target_name(h->target));
        report_text(target, "name", h->name);
        report_put(o, "target", target);
        report_text(o, "scope", h->all ? "All" : "Disruption");
        report_time(o, "until", h->until_ns == HOLD_WITHOUT_END ? 0 : h->until_ns);
        report_text(o, "reason", h->reason);
        report_text(o, "by", h->by);
        (void)json_array_append_new(list, o);
    }
    return list;
}

static json_t *requests(const struct status_view *s)
{
    json_t *o = json_object();
    struct requests_count waiting = requests_waiting(s->w);
    report_int(o, "pending", (int64_t)waiting.n);
    report_time(o, "oldest", waiting.oldest_ns);
    return o;
}

/* Those that have not run out. */
static json_t *grants(const struct status_view *s)
{
    int64_t now_ns = requests_now(s->w);
    json_t *list = json_array();
    for (size_t i = 0; i < world_n(s->w, KIND_DISRUPTION_GRANT); i++) {
        const struct dgrant *g = world_at(s->w, KIND_DISRUPTION_GRANT, i);
        if (!dgrant_in_force(g, now_ns)) {
            continue;
        }
        json_t *o = json_object(), *pools = json_array();
        for (uint32_t p = 0; p < g->n_pools; p++) {
            (void)json_array_append_new(pools, json_string(g->pools[p]));
        }
        report_text(o, "name", g->m.name);
        report_put(o, "pools", pools);
        report_put(o, "reasons", request_reasons_json(g->reasons));
        report_put(o, "open", json_boolean(dgrant_open(g, now_ns)));
        report_time(o, "expiresAt", g->expires_ns == DGRANT_WITHOUT_END ? 0 : g->expires_ns);
        report_text(o, "grantedBy", g->granted_by);
        (void)json_array_append_new(list, o);
    }
    return list;
}

static json_t *attention(const struct status_view *s)
{
    json_t *list = json_array();
    for (size_t i = 0; i < s->attention.n; i++) {
        const struct attention *x = &s->attention.v[i];
        json_t *o = json_object();
        report_text(o, "code", x->code);
        report_text(o, "object",
                    *x->name ? arena_printf(s->a, "%s/%s", x->kind, x->name) : x->kind);
        report_text(o, "message", x->message);
        report_text(o, "fix", x->fix);
        (void)json_array_append_new(list, o);
    }
    return list;
}

static json_t *prices(const struct status_view *s)
{
    json_t *o = json_object();
    report_time(o, "onDemandAsOf", prices_on_demand_as_of(s->prices));
    report_time(o, "spotAsOf", prices_spot_as_of(s->prices));
    report_put(o, "estimated", json_boolean(s->fleet.all.cost.estimated));
    return o;
}

static void put_held_back(json_t *o, const struct disrupt *d)
{
    static const char *const names[HOLDERS] = {"budgets", "holds", "decisions"};
    struct disrupt_held held = disrupt_held_back(d);
    json_t *by = json_object();
    for (int i = 0; i < HOLDERS; i++) {
        if (held.by_pusd_h[i] != 0) {
            report_money(by, names[i], held.by_pusd_h[i]);
        }
    }
    report_money(o, "heldBackPerHour", held.all_pusd_h);
    report_put(o, "heldBackPerHourBy", by);
}

json_t *status_report(const struct status_view *s)
{
    json_t *o = json_object();
    report_text(o, "apiVersion", "karp.dev/v1alpha1");
    report_text(o, "kind", "StatusReport");
    report_put(o, "cluster", cluster(s));
    const bool *hidden = s->w->hidden;
    if (!hidden[KIND_NODE]) {
        report_put(o, "nodes", nodes(&s->fleet));
    }
    if (!hidden[KIND_POD]) {
        report_put(o, "pods", pods(&s->fleet));
    }
    if (!hidden[KIND_NODE] && !hidden[KIND_POD]) {
        report_put(o, "usage", usage(&s->fleet.all));
    }
    if (!hidden[KIND_NODE]) {
        put_cost(o, s, &s->fleet.all.cost);
    }
    if (s->disrupt && s->money) {
        report_money(o, "potentialSavingsPerHour", s->disrupt->plan->saving_pusd_h);
        put_held_back(o, s->disrupt);
        if (s->kept_by_policy_pusd_h > 0) {
            report_money(o, "keptByPolicyPerHour", s->kept_by_policy_pusd_h);
        }
    }
    if (!hidden[KIND_NODE_POOL]) {
        report_put(o, "nodePools", pools(s));
    }
    report_put(o, "unavailableOfferings", stockouts(s));
    report_put(o, "holds", holds(s));
    if (!hidden[KIND_DISRUPTION_REQUEST]) {
        report_put(o, "requests", requests(s));
    }
    if (!hidden[KIND_DISRUPTION_GRANT]) {
        report_put(o, "grants", grants(s));
    }
    report_put(o, "attention", attention(s));
    if (s->money) {
        report_put(o, "prices", prices(s));
    }
    report_put(o, "incomplete", json_boolean(s->w->n_notes > 0 || s->w->n_malformed > 0));
    return o;
}
