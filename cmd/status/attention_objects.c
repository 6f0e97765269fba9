/* attention_objects.c - pools, classes, claims and nodes that are not well: see attention.h. */
#include "attention_int.h"

#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/core/labels.h"

/* The command that shows more, where there is a cluster to ask. */
static const char *describe(struct attention_ctx *x, const char *kind, const char *name)
{
    return x->in->world->live ? arena_printf(x->a, "kubectl describe %s %s", kind, name) : NULL;
}

static const char *said(const struct condition *c)
{
    return *c->message ? c->message : c->reason;
}

/* ---- pools and classes ----------------------------------------------------------------------- */

/* Conditions of karp's own that are True in trouble. */
static const char *const trouble[] = {
    "LaunchIneffective", "BudgetTimezoneUnknown", "DriftSuspect",       "DriftHalted",
    "ChurnGuard",        "CapacityMismatch",      "RegistrationFailing"};

static void about_conditions(struct attention_ctx *x, const struct nodepool *np)
{
    for (size_t i = 0; i < ARRAY_LEN(trouble); i++) {
        const struct condition *c = condition_find(&np->conditions, trouble[i]);
        if (c && c->status == STATUS_TRUE) {
            attention_add(x, TOPIC_POOL, trouble[i], "nodepool", np->m.name, said(c),
                          describe(x, "nodepool", np->m.name));
        }
    }
}

/* Why the class cannot be used, NULL if it can. */
static const char *class_trouble(const struct nodeclass *cls)
{
    const struct condition *ready = condition_find(&cls->conditions, "Ready");
    if (cls->problem) {
        return cls->problem;
    }
    return ready && ready->status == STATUS_FALSE ? said(ready) : NULL;
}

/* The class's own words say more than the pool's about it. */
static const char *unready(struct attention_ctx *x, const struct snapshot_pool *p)
{
    const char *of_class = p->cls ? class_trouble(p->cls) : NULL;
    if (!of_class || p->np->problem || p->np->m.deleted_ns) {
        return arena_printf(x->a, "not ready: %s", p->closed_text);
    }
    return arena_printf(x->a, "not ready: EC2NodeClass %s: %s", p->cls->m.name, of_class);
}

static void about_pool(struct attention_ctx *x, const struct snapshot_pool *p)
{
    const struct nodepool *np = p->np;
    const char *fix = describe(x, "nodepool", np->m.name);
    if (p->closed == REASON_PoolNotReady) {
        attention_add(x, TOPIC_POOL, reason_name(p->closed), "nodepool", np->m.name, unready(x, p),
                      fix);
    }
    if (np->unknown_field) {
        attention_add(x, TOPIC_POOL, reason_name(REASON_UnknownFields), "nodepool", np->m.name,
                      arena_printf(x->a, "has a field that this version does not know: %s",
                                   np->unknown_field),
                      fix);
    }
    about_conditions(x, np);
    const struct condition *told = condition_find(&np->conditions, "BudgetTimezoneUnknown");
    if (np->budget_tz_problem && !(told && told->status == STATUS_TRUE)) {
        attention_add(x, TOPIC_POOL, "BudgetTimezoneUnknown", "nodepool", np->m.name,
                      np->budget_tz_problem, fix);
    }
}

/* A pool has told of it already. */
static bool class_told(struct attention_ctx *x, const struct nodeclass *cls)
{
    for (size_t i = 0; i < x->in->fleet->n_pools; i++) {
        const struct snapshot_pool *p = x->in->fleet->pools[i].pool;
        if (p->cls == cls && p->closed == REASON_PoolNotReady) {
            return true;
        }
    }
    return false;
}

static void about_class(struct attention_ctx *x, const struct nodeclass *cls)
{
    const char *name = cls->m.name, *fix = describe(x, "ec2nodeclass", name);
    const char *why = class_trouble(cls);
    if (why && !class_told(x, cls)) {
        attention_add(x, TOPIC_CLASS, "ClassNotReady", "nodeclass", name,
                      arena_printf(x->a, "not ready: %s", why), fix);
    }
    if (cls->unknown_field) {
        attention_add(x, TOPIC_CLASS, reason_name(REASON_UnknownFields), "nodeclass", name,
                      arena_printf(x->a, "has a field that this version does not know: %s",
                                   cls->unknown_field),
                      fix);
    }
}

void attention_pools(struct attention_ctx *x)
{
    const struct world *w = x->in->world;
    for (size_t i = 0; i < x->in->fleet->n_pools; i++) {
        about_pool(x, x->in->fleet->pools[i].pool);
    }
    for (size_t i = 0; i < world_n(w, KIND_EC2_NODE_CLASS); i++) {
        about_class(x, world_at(w, KIND_EC2_NODE_CLASS, i));
    }
}

/* ---- claims and nodes ------------------------------------------------------------------------ */

/* Reasons that say no more than "not yet". */
static bool only_waiting(const struct condition *c)
{
    return !*c->reason || str_eq(c->reason, "AwaitingReconciliation") ||
           str_eq(c->reason, "ReconcilingDependents");
}

static const char *ago(struct attention_ctx *x, int64_t since_ns)
{
    char age[TIMEFMT_TEXT];
    return arena_strdup(x->a, timefmt_age(x->in->world->now_ns - since_ns, age));
}

static void about_launch(struct attention_ctx *x, const struct nodeclaim *nc)
{
    const struct condition *launched = condition_find(&nc->conditions, "Launched");
    const char *fix = describe(x, "nodeclaim", nc->m.name);
    bool is_launched = launched && launched->status == STATUS_TRUE;
    if (launched && !is_launched && !only_waiting(launched)) {
        attention_add(x, TOPIC_CLAIM, "LaunchFailed", "nodeclaim", nc->m.name,
                      arena_printf(x->a, "not launched for %s: %s%s%s", ago(x, nc->m.created_ns),
                                   launched->reason, *launched->message ? ": " : "",
                                   launched->message),
                      fix);
    }
    int64_t since = launched ? launched->transition_ns : 0;
    if (is_launched && !nodeclaim_had_node(nc) && since &&
        x->in->world->now_ns - since > x->in->registration_timeout_ns) {
        attention_add(x, TOPIC_CLAIM, "NotRegistered", "nodeclaim", nc->m.name,
                      arena_printf(x->a, "launched %s ago, but its node never came", ago(x, since)),
                      fix);
    }
}

static void about_claim(struct attention_ctx *x, const struct nodeclaim *nc)
{
    const char *fix = describe(x, "nodeclaim", nc->m.name);
    if (nc->problem) {
        attention_add(x, TOPIC_CLAIM, "Malformed", "nodeclaim", nc->m.name, nc->problem, fix);
    }
    if (!nc->m.deleted_ns) {
        about_launch(x, nc);
    } else if (x->in->world->now_ns - nc->m.deleted_ns > ATTENTION_SLOW_DRAIN_NS) {
        attention_add(x, TOPIC_CLAIM, "SlowDrain", "nodeclaim", nc->m.name,
                      arena_printf(x->a, "leaving for %s already", ago(x, nc->m.deleted_ns)), fix);
    }
}

static void about_lost(struct attention_ctx *x, const struct nodeclaim *nc)
{
    const char *node =
        nc->node_name && *nc->node_name ? arena_printf(x->a, " %s", nc->node_name) : "";
    attention_add(x, TOPIC_CLAIM, "NotRegistered", "nodeclaim", nc->m.name,
                  arena_printf(x->a, "its node%s is gone, its instance not yet", node),
                  describe(x, "nodeclaim", nc->m.name));
}

static void about_node(struct attention_ctx *x, const struct snapshot_node *n)
{
    const struct node *node = n->node;
    if (fleet_state(n) == NODE_LOST && !x->in->world->hidden[KIND_NODE]) {
        about_lost(x, n->claim);
    }
    if (!node || !fleet_managed(n) || fleet_state(n) != NODE_NOT_READY ||
        (node->ready_since_ns &&
         x->in->world->now_ns - node->ready_since_ns < ATTENTION_NOT_READY_NS)) {
        return;
    }
    const char *since =
        node->ready_since_ns ? arena_printf(x->a, " for %s", ago(x, node->ready_since_ns)) : "";
    attention_add(x, TOPIC_NODE, "NodeNotReady", "node", node->m.name,
                  arena_printf(x->a, "not ready%s", since), describe(x, "node", node->m.name));
}

struct gone_pool {
    const char *name;
    uint32_t nodes;
};

static int gone_cmp(const void *x, const void *y)
{
    return str_cmp(((const struct gone_pool *)x)->name, ((const struct gone_pool *)y)->name);
}

/* Nodes whose pool is not there any more: nothing will ever replace them. */
static void about_gone_pools(struct attention_ctx *x)
{
    const struct snapshot *s = &x->in->decision->snap;
    struct gone_pool *v = NULL;
    size_t n = 0, cap = 0;
    for (uint32_t i = 0; i < s->n_nodes && !x->in->world->hidden[KIND_NODE_POOL]; i++) {
        const char *pool = fleet_label(s, &s->nodes[i], L_NODEPOOL);
        size_t at = 0;
        if (!pool || s->nodes[i].pool) {
            continue;
        }
        while (at < n && !str_eq(v[at].name, pool)) {
            at++;
        }
        if (at == n) {
            ARENA_GROW(x->a, v, n, cap);
            v[n++] = (struct gone_pool){pool, 0};
        }
        v[at].nodes++;
    }
    if (n > 1) {
        qsort(v, n, sizeof(*v), gone_cmp);
    }
    for (size_t i = 0; i < n; i++) {
        attention_add(x, TOPIC_POOL, "PoolGone", "nodepool", v[i].name,
                      arena_printf(x->a, "does not exist, but %u node%s it", v[i].nodes,
                                   v[i].nodes == 1 ? " names" : "s name"),
                      NULL);
    }
}

void attention_claims(struct attention_ctx *x)
{
    const struct world *w = x->in->world;
    const struct snapshot *s = &x->in->decision->snap;
    for (size_t i = 0; i < world_n(w, KIND_NODE_CLAIM); i++) {
        about_claim(x, world_at(w, KIND_NODE_CLAIM, i));
    }
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        about_node(x, &s->nodes[i]);
    }
    about_gone_pools(x);
}
