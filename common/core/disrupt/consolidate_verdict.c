/* consolidate_verdict.c - why the rest stays, what holds steps back, and all gates of a node. */
#include "budget.h"
#include "common/base/price.h"
#include "common/base/sort.h"
#include "common/core/labels.h"
#include "common/core/plan.h"
#include "consolidate_int.h"

int verdict_gate_of(enum reason_code code)
{
    for (int id = 0; id < GATE_COUNT; id++) {
        if (candidate_gate_code((enum candidate_gate_id)id) == code) {
            return id;
        }
    }
    return -1;
}

/* ---- budgets -----------------------------------------------------------------------------------
 */

static const enum disruption_reason reasons[] = {DISRUPT_UNDERUTILIZED, DISRUPT_EMPTY,
                                                 DISRUPT_DRIFTED};

static int reason_place(enum disruption_reason r)
{
    return r == DISRUPT_UNDERUTILIZED ? 0 : r == DISRUPT_EMPTY ? 1 : 2;
}

static int64_t at_most(int64_t v, int64_t max)
{
    return v < max ? v : max;
}

static void pool_budgets(struct consolidate *c, struct pool_rules *r)
{
    int64_t at = c->opt.budgets_ns != 0 ? c->opt.budgets_ns : c->snap->now_ns;
    const struct budget_room room = candidate_room(&c->in, r->pool, at);
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        struct plan_budget *b = &r->budgets[i];
        int64_t allowed = budget_allowed(r->pool->np, reasons[i], room.nodes, at);
        int64_t left = allowed - room.disrupting;
        *b = (struct plan_budget){.pool = r->pool,
                                  .reason = reasons[i],
                                  .nodes = room.nodes,
                                  .allowed = at_most(allowed, room.nodes),
                                  .disrupting = room.disrupting};
        b->remaining = left > 0 ? at_most(left, room.nodes) : 0;
        budget_change(r->pool->np, reasons[i], room.nodes, at, &b->opens_ns, &b->closes_ns);
    }
    r->ever = c->opt.ignore_budgets ? INT64_MAX
                                    : budget_ever(r->pool->np, DISRUPT_UNDERUTILIZED, room.nodes);
    r->ever = r->ever < 1 ? 1 : r->ever;
}

static int cmp_pool(const void *x, const void *y)
{
    const struct pool_rules *a = *(const struct pool_rules *const *)x;
    const struct pool_rules *b = *(const struct pool_rules *const *)y;
    return strcmp(a->pool->np->m.name, b->pool->np->m.name);
}

void verdict_budgets(struct consolidate *c)
{
    uint32_t n = c->snap->n_pools;
    const struct pool_rules **order = ARENA_NEW_N(c->a, const struct pool_rules *, n);
    struct plan_budget *v = ARENA_NEW_N(c->a, struct plan_budget, n * ARRAY_LEN(reasons));
    for (uint32_t i = 0; i < n; i++) {
        pool_budgets(c, &c->pools[i]);
        order[i] = &c->pools[i];
    }
    for (uint32_t i = 0; i < c->snap->n_nodes; i++) {
        const struct snapshot_node *node = &c->snap->nodes[i];
        if (node->pool != NULL && node->claim != NULL) {
            struct pool_rules *r = &c->pools[node->pool - c->snap->pools];
            const struct cand *x = c->of_node[i];
            int64_t price = x != NULL ? x->price : candidate_price(node, NULL);
            price_add(&r->cost, price);
            r->raw += 1000000 + c->index.nodes[i].cost_micro;
        }
    }
    sort_items(order, n, sizeof(*order), cmp_pool);
    for (uint32_t i = 0; i < n; i++) {
        for (size_t k = 0; k < ARRAY_LEN(reasons); k++) {
            v[c->result.n_budgets++] = order[i]->budgets[k];
        }
    }
    c->result.budgets = v;
}

/* ---- what holds steps back ---------------------------------------------------------------------
 */

static struct reason reason_of(enum reason_code code)
{
    return (struct reason){.code = code, .short_of = {.res = RES_FIXED}};
}

/* The first member that an outside fact speaks about. */
static bool said(const struct consolidate *c, const struct consolidate_step *st,
                 const char *(*fact)(void *, const struct snapshot_node *), enum reason_code code,
                 struct reason *ret)
{
    for (uint32_t i = 0; fact != NULL && i < st->n_out; i++) {
        const char *text = fact(c->in.facts.ctx, st->out[i].node);
        if (text != NULL) {
            *ret = reason_of(code);
            ret->text = text;
            ret->object = st->out[i].node->name;
            return true;
        }
    }
    return false;
}

/* The step's nodes in a pool are more than its budget has left. */
static bool over_budget(struct consolidate *c, const struct consolidate_step *st, int64_t *used,
                        struct reason *ret)
{
    bool over = false;
    int which = reason_place(st->reason);
    for (uint32_t i = 0; i < st->n_out; i++) {
        const struct snapshot_pool *p = st->out[i].node->pool;
        bool first = i == 0 || st->out[i - 1].node->pool != p;
        uint32_t n = 0;
        for (uint32_t k = i; first && k < st->n_out && st->out[k].node->pool == p; k++) {
            n++;
        }
        uint32_t at = (uint32_t)(p - c->snap->pools);
        const struct plan_budget *b = &c->pools[at].budgets[which];
        if (first && !over && b->remaining - used[at] < n) {
            over = true;
            *ret = reason_of(REASON_Budget);
            ret->count = b->disrupting + used[at];
            ret->limit = b->allowed;
            ret->until_ns = b->opens_ns;
            ret->text = p->np->m.name;
        }
        used[at] += n;
    }
    return over && !c->opt.ignore_budgets;
}

static void hold(struct consolidate *c, struct consolidate_step *st, int64_t *used)
{
    struct reason *v = ARENA_NEW_N(c->a, struct reason, 4);
    const struct candidate_facts *f = &c->in.facts;
    uint32_t n = 0;
    n += said(c, st, f->held, REASON_Held, &v[n]);
    n += over_budget(c, st, used, &v[n]);
    n += said(c, st, f->denied, REASON_Denied, &v[n]);
    n += said(c, st, f->approval_pending, REASON_ApprovalPending, &v[n]);
    st->held_by = v;
    st->n_held_by = n;
}

/* ---- the result --------------------------------------------------------------------------------
 */

static struct reason verdict_of(const struct consolidate *c, const struct cand *x)
{
    if (x->step != NO_STEP) {
        enum disruption_reason r = c->result.steps[x->step].reason;
        return reason_of(r == DISRUPT_EMPTY     ? REASON_Empty
                         : r == DISRUPT_DRIFTED ? REASON_Drifted
                                                : REASON_Consolidatable);
    }
    if (x->received && x->why.code == REASON_NONE) {
        return reason_of(REASON_PodsDoNotFit);
    }
    return x->why;
}

static void put_nodes(struct consolidate *c)
{
    struct node_verdict *v = ARENA_NEW_N(c->a, struct node_verdict, c->n_cands);
    for (uint32_t i = 0; i < c->n_cands; i++) {
        const struct cand *x = &c->cands[i];
        v[i] = (struct node_verdict){x->node, x->price, x->step, verdict_of(c, x)};
        price_add(&c->result.price_pusd_h, x->price);
    }
    c->result.nodes = v;
    c->result.n_nodes = c->n_cands;
}

void verdict_all(struct consolidate *c)
{
    struct consolidate_result *r = &c->result;
    struct consolidate_step *steps = (struct consolidate_step *)(uintptr_t)r->steps;
    int64_t *used = ARENA_NEW_N(c->a, int64_t, c->snap->n_pools);
    for (uint32_t i = 0; i < r->n_steps; i++) {
        hold(c, &steps[i], used);
        r->saving_pusd_h += steps[i].saving_pusd_h;
        r->nodes_out += steps[i].n_out;
        r->nodes_in += steps[i].n_in;
        r->pods_moved += steps[i].n_moves;
    }
    put_nodes(c);
}

void verdict_digests(struct consolidate *c)
{
    struct consolidate_result *r = &c->result;
    struct consolidate_step *steps = (struct consolidate_step *)(uintptr_t)r->steps;
    for (uint32_t i = 0; i < r->n_steps; i++) {
        plan_step_digest(c->a, c->snap, &steps[i], steps[i].digest);
    }
    plan_digest(c->snap, steps, r->n_steps, r->digest);
}

/* ---- all gates of one node ----------------------------------------------------------------------
 */

static void budget_gate(const struct consolidate *c, const struct cand *x, struct candidate_gate *g)
{
    const struct pool_rules *r = &c->pools[x->node->pool - c->snap->pools];
    const struct plan_budget *b = &r->budgets[reason_place(x->reason)];
    g->asked = true;
    g->pass = b->remaining > 0 || c->opt.ignore_budgets;
    g->reason.count = b->disrupting;
    g->reason.limit = b->allowed;
    g->reason.until_ns = b->opens_ns;
    for (uint32_t i = 0; x->step != NO_STEP && i < c->result.steps[x->step].n_held_by; i++) {
        const struct reason *held = &c->result.steps[x->step].held_by[i];
        if (held->code == REASON_Budget) {
            g->pass = false;
            g->reason = *held;
        }
    }
}

static void fact_gate(const struct consolidate *c, const struct cand *x,
                      const char *(*fact)(void *, const struct snapshot_node *),
                      struct candidate_gate *g)
{
    g->asked = true;
    g->reason.text = fact != NULL ? fact(c->in.facts.ctx, x->node) : NULL;
    g->pass = g->reason.text == NULL;
}

void consolidate_gates(struct consolidate *c, const struct snapshot_node *n,
                       struct candidate_gate ret[GATE_COUNT])
{
    struct cand *x = c->of_node[n - c->snap->nodes];
    c->in.reason = x != NULL ? x->reason : DISRUPT_UNDERUTILIZED;
    candidate_gates(&c->in, n, ret);
    if (x == NULL) {
        return;
    }
    bool searched = x->candidate || x->why.code == REASON_Nominated;
    int failed = x->step == NO_STEP ? verdict_gate_of(x->why.code) : -1;
    budget_gate(c, x, &ret[GATE_Budget]);
    fact_gate(c, x, c->in.facts.denied, &ret[GATE_Denied]);
    fact_gate(c, x, c->in.facts.approval_pending, &ret[GATE_ApprovalPending]);
    for (int id = GATE_PodsDoNotFit; id <= GATE_NotBalanced; id++) {
        ret[id].asked = searched && (failed < 0 || id <= failed);
    }
    if (failed == GATE_Nominated || failed >= (int)GATE_PodsDoNotFit || failed == GATE_Policy) {
        ret[failed].asked = true;
        ret[failed].pass = false;
        ret[failed].reason = x->why;
    }
}

struct reason consolidate_pod(struct consolidate *c, const struct pod *p)
{
    return candidate_pod(&c->in, p);
}
