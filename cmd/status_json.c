/* status_json.c - StatusReport. */
#include "status.h"

#include "budgetview.h"
#include "common/base/quantity.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "money.h"

/* "1500m", "20Gi", as the API server prints them. */
static char *status_quantity(enum resource r, int64_t v, char *dst)
{
    if (r == RES_CPU) {
        return quantity_fmt_milli(v, dst);
    }
    bool bytes = r == RES_MEMORY || r == RES_EPHEMERAL_STORAGE;
    return bytes ? quantity_fmt_bytes(v, dst) : quantity_fmt_count(v, dst);
}

/* ---- small parts ----------------------------------------------------------------------------- */

static void put(json_t *o, const char *key, json_t *v)
{
    if (json_object_set_new(o, key, v) != 0) {
        BUG("the report refuses %s", key);
    }
}

/* Absent means unknown; so does what is no UTF-8. */
static void put_text(json_t *o, const char *key, const char *s)
{
    json_t *v = s && *s ? json_string(s) : NULL;
    if (v) {
        put(o, key, v);
    }
}

static void put_int(json_t *o, const char *key, int64_t n)
{
    put(o, key, json_integer(n));
}

static void put_time(json_t *o, const char *key, int64_t ns)
{
    char text[TIMEFMT_TEXT];
    if (ns != 0) {
        put(o, key, json_string(timefmt_rfc3339(ns, text)));
    }
}

/* Nothing if no node has a price; what is missing is told beside it. */
static void put_cost(json_t *o, const struct status_view *s, const struct cost *cost)
{
    char text[MONEY_TEXT];
    if (!s->money) {
        return;
    }
    if (cost->priced > 0 || cost->unpriced == 0) {
        put(o, "pricePerHour", json_string(money_exact(cost->pusd_h, text)));
    }
    if (cost->unpriced > 0) {
        put_int(o, "nodesWithoutPrice", cost->unpriced);
    }
    if (cost->estimated) {
        put(o, "estimated", json_true());
    }
}

static json_t *amounts(enum resource r, int64_t requested, int64_t allocatable)
{
    char text[QUANTITY_TEXT];
    json_t *o = json_object();
    put(o, "requested", json_string(status_quantity(r, requested, text)));
    put(o, "allocatable", json_string(status_quantity(r, allocatable, text)));
    return o;
}

static json_t *usage(const struct fleet_count *n)
{
    json_t *o = json_object();
    put(o, "cpu", amounts(RES_CPU, n->requested_cpu_milli, n->allocatable_cpu_milli));
    put(o, "memory", amounts(RES_MEMORY, n->requested_mem_bytes, n->allocatable_mem_bytes));
    return o;
}

/* ---- cluster --------------------------------------------------------------------------------- */

static json_t *cluster(const struct status_view *s)
{
    json_t *o = json_object(), *agent = json_object();
    put_text(o, "name", s->w->live ? s->w->name : NULL);
    put_text(o, "kubernetesVersion", s->w->version);
    put_text(o, "controller", charge_name(s->facts.charge));
    put_text(agent, "version", s->facts.version);
    put_text(agent, "leader", s->facts.leader);
    put_time(agent, "syncedAt", s->facts.synced_ns);
    put_text(agent, "mode", s->facts.mode);
    if (json_object_size(agent) > 0) {
        put(o, "agent", agent);
    } else {
        json_decref(agent);
    }
    return o;
}

static json_t *nodes(const struct fleet *f)
{
    json_t *o = json_object();
    put_int(o, "ready", f->all.state[NODE_READY]);
    put_int(o, "launching", f->all.state[NODE_LAUNCHING]);
    put_int(o, "draining", f->all.state[NODE_DRAINING]);
    put_int(o, "notReady", f->all.state[NODE_NOT_READY]);
    put_int(o, "unmanaged", f->unmanaged);
    return o;
}

static json_t *pods(const struct fleet *f)
{
    json_t *o = json_object();
    put_int(o, "bound", f->bound);
    put_int(o, "waiting", (int64_t)f->waiting_bind + f->waiting_launching + f->waiting_new);
    put_int(o, "unschedulable", f->unschedulable);
    put_int(o, "gated", f->gated);
    return o;
}

/* ---- pools ----------------------------------------------------------------------------------- */

/* Extended resources in the order of their names. */
static void put_extended(json_t *o, const struct status_view *s, const struct resources *r)
{
    const char **names = ARENA_NEW_N(s->a, const char *, r->n_ext);
    char text[QUANTITY_TEXT];
    for (uint32_t i = 0; i < r->n_ext; i++) {
        names[i] = sym_str(s->w->syms, r->ext[i].name);
    }
    if (r->n_ext > 1) {
        qsort(names, r->n_ext, sizeof(*names), str_qsort_cmp);
    }
    for (uint32_t i = 0; i < r->n_ext; i++) {
        int64_t v = resources_get_ext(r, sym_find(s->w->syms, names[i]));
        if (v >= 0) {
            put(o, names[i], json_string(quantity_fmt_count(v, text)));
        }
    }
}

/* What counts against limits: the capacity of nodes and claims. */
static json_t *in_use(const struct status_view *s, const struct snapshot_pool *p)
{
    json_t *o = json_object();
    char text[QUANTITY_TEXT];
    for (int r = 0; r < RES_FIXED; r++) {
        if (r <= RES_PODS || p->in_use.v[r] > 0) {
            put(o, resource_name((enum resource)r),
                json_string(status_quantity((enum resource)r, p->in_use.v[r], text)));
        }
    }
    put_extended(o, s, &p->in_use);
    put(o, "nodes", json_string(quantity_fmt_count(p->nodes_in_use, text)));
    return o;
}

static json_t *limits(const struct status_view *s, const struct nodepool *np)
{
    json_t *o = json_object();
    char text[QUANTITY_TEXT];
    for (int r = 0; np->has_limits && r < RES_FIXED; r++) {
        if (np->limits.v[r] >= 0) {
            put(o, resource_name((enum resource)r),
                json_string(status_quantity((enum resource)r, np->limits.v[r], text)));
        }
    }
    if (np->has_limits) {
        put_extended(o, s, &np->limits);
    }
    if (np->limit_nodes >= 0) {
        put(o, "nodes", json_string(quantity_fmt_count(np->limit_nodes, text)));
    }
    return o;
}

static json_t *budgets(const struct status_view *s, const struct fleet_pool *p)
{
    struct budget_row rows[BUDGET_REASONS];
    json_t *list = json_array();
    budget_rows(p->pool->np, (int64_t)p->n.initialized - p->n.terminating, p->n.disrupting,
                s->w->now_ns, rows);
    for (int i = 0; i < BUDGET_REASONS; i++) {
        json_t *o = json_object();
        put_text(o, "reason", budget_reason_name(rows[i].reason));
        put_int(o, "nodes", rows[i].nodes);
        put_int(o, "allowed", rows[i].allowed);
        put_int(o, "disrupting", rows[i].disrupting);
        put_int(o, "remaining", rows[i].remaining);
        put_time(o, "opensAt", rows[i].opens_ns);
        put_time(o, "closesAt", rows[i].closes_ns);
        (void)json_array_append_new(list, o);
    }
    return list;
}

static json_t *pool(const struct status_view *s, const struct fleet_pool *p)
{
    const struct nodepool *np = p->pool->np;
    json_t *o = json_object(), *limited = limits(s, np);
    put_text(o, "name", np->m.name);
    put(o, "ready", json_boolean(p->pool->closed != REASON_PoolNotReady));
    put_int(o, "nodes", p->n.initialized);
    put_int(o, "launching", p->n.state[NODE_LAUNCHING]);
    put(o, "resources", in_use(s, p->pool));
    put(o, "usage", usage(&p->n));
    if (json_object_size(limited) > 0) {
        put(o, "limits", limited);
    } else {
        json_decref(limited);
    }
    if (np->weight != 0) {
        put_int(o, "weight", np->weight);
    }
    put(o, "budgets", budgets(s, p));
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
        put_text(o, "capacityType", f->capacity_type);
        put_text(o, "instanceType", f->type);
        put_text(o, "zone", f->zone);
        put_time(o, "until", f->until_ns);
        put_text(o, "code", f->code);
        (void)json_array_append_new(list, o);
    }
    return list;
}

static json_t *holds(const struct status_view *s)
{
    json_t *list = json_array();
    for (size_t i = 0; i < world_n(s->w, KIND_HOLD); i++) {
        const struct world_hold *h = world_at(s->w, KIND_HOLD, i);
        json_t *o = json_object(), *target = json_object();
        if (h->until_ns && h->until_ns <= s->w->now_ns) {
            json_decref(o);
            json_decref(target);
            continue;
        }
        put_text(o, "name", h->name);
        put_text(target, "kind", h->target_kind);
        put_text(target, "name", h->target_name);
        put(o, "target", target);
        put_text(o, "scope", h->scope);
        put_time(o, "until", h->until_ns);
        put_text(o, "reason", h->reason);
        put_text(o, "by", h->by);
        (void)json_array_append_new(list, o);
    }
    return list;
}

static json_t *requests(const struct status_view *s)
{
    json_t *o = json_object();
    int64_t n = 0, oldest = 0;
    for (size_t i = 0; i < world_n(s->w, KIND_DISRUPTION_REQUEST); i++) {
        const struct world_request *r = world_at(s->w, KIND_DISRUPTION_REQUEST, i);
        if (!r->pending || (r->expires_ns && r->expires_ns <= s->w->now_ns)) {
            continue;
        }
        n++;
        if (r->created_ns && (!oldest || r->created_ns < oldest)) {
            oldest = r->created_ns;
        }
    }
    put_int(o, "pending", n);
    put_time(o, "oldest", oldest);
    return o;
}

static json_t *attention(const struct status_view *s)
{
    json_t *list = json_array();
    for (size_t i = 0; i < s->attention.n; i++) {
        const struct attention *x = &s->attention.v[i];
        json_t *o = json_object();
        put_text(o, "code", x->code);
        put_text(o, "object", *x->name ? arena_printf(s->a, "%s/%s", x->kind, x->name) : x->kind);
        put_text(o, "message", x->message);
        put_text(o, "fix", x->fix);
        (void)json_array_append_new(list, o);
    }
    return list;
}

static json_t *prices(const struct status_view *s)
{
    json_t *o = json_object();
    put_time(o, "onDemandAsOf", prices_on_demand_as_of(s->prices));
    put_time(o, "spotAsOf", prices_spot_as_of(s->prices));
    put(o, "estimated", json_boolean(s->fleet.all.cost.estimated));
    return o;
}

json_t *status_report(const struct status_view *s)
{
    json_t *o = json_object();
    put_text(o, "apiVersion", "karp.dev/v1alpha1");
    put_text(o, "kind", "StatusReport");
    put(o, "cluster", cluster(s));
    const bool *hidden = s->w->hidden;
    if (!hidden[KIND_NODE]) {
        put(o, "nodes", nodes(&s->fleet));
    }
    if (!hidden[KIND_POD]) {
        put(o, "pods", pods(&s->fleet));
    }
    if (!hidden[KIND_NODE] && !hidden[KIND_POD]) {
        put(o, "usage", usage(&s->fleet.all));
    }
    if (!hidden[KIND_NODE]) {
        put_cost(o, s, &s->fleet.all.cost);
    }
    if (!hidden[KIND_NODE_POOL]) {
        put(o, "nodePools", pools(s));
    }
    put(o, "unavailableOfferings", stockouts(s));
    put(o, "holds", holds(s));
    if (!hidden[KIND_DISRUPTION_REQUEST]) {
        put(o, "requests", requests(s));
    }
    put(o, "attention", attention(s));
    if (s->money) {
        put(o, "prices", prices(s));
    }
    put(o, "incomplete", json_boolean(s->w->n_notes > 0 || s->w->n_malformed > 0));
    return o;
}
