/* approve_fresh.c - does the plan of a request still hold? See approve_int.h. */
#include "approve_int.h"
#include "cmd/report.h"
#include "cmd/screen.h"
#include "cmd/status/money.h"
#include "common/base/str.h"
#include "common/core/ec2/catalog.h"

#define WITHOUT_DRIFT (DISRUPT_EMPTY | DISRUPT_UNDERUTILIZED)

static int plan_of(const struct dreq *r)
{
    return r->reason == DISRUPT_DRIFTED;
}

void approve_plan(struct approver *x)
{
    struct err e = ERR_INIT;
    x->unplanned = disrupt_hidden(x->w, x->a);
    if (!x->unplanned && session_decide(&x->s, DECIDE_AS_AGENT, &e) != 0) {
        x->unplanned = arena_strdup(x->a, e.msg);
    }
    for (size_t i = 0; i < x->n_picked && !x->unplanned; i++) {
        int k = plan_of(x->picked[i]);
        if (x->planned[k]) {
            continue;
        }
        if (disrupt_plan(&x->s, k ? DISRUPT_DRIFTED : WITHOUT_DRIFT, &x->plans[k], &e) != 0) {
            x->unplanned = arena_strdup(x->a, e.msg);
        }
        x->planned[k] = true;
    }
}

/* ---- against the plan ------------------------------------------------------------------------ */

static const struct consolidate_step *same_step(const struct disrupt *d, const struct dreq *r)
{
    for (uint32_t i = 0; i < d->plan->n_steps; i++) {
        if (str_eq(d->plan->steps[i].digest, r->plan)) {
            return &d->plan->steps[i];
        }
    }
    return NULL;
}

/* The first of its nodes that the plan says something else about. */
static const char *first_other(struct approver *x, const struct disrupt *d, const struct dreq *r)
{
    const struct node_verdict *goes = NULL;
    for (uint32_t i = 0; i < d->plan->n_nodes; i++) {
        const struct node_verdict *v = &d->plan->nodes[i];
        if (!v->node->claim || !dreq_has_candidate(r, v->node->claim->m.uid)) {
            continue;
        }
        if (v->step < 0) {
            return arena_printf(x->a, "%s would stay now: %s", report_node(x->a, v->node),
                                disrupt_reason(d, &v->reason));
        }
        goes = goes ? goes : v;
    }
    return goes ? arena_printf(x->a,
                               "the plan would be another now: action %u of kubectl karp "
                               "consolidate --dry-run%s",
                               d->plan->steps[goes->step].id, plan_of(r) ? " --reason Drifted" : "")
                : "its nodes are not managed, as far as is known";
}

/* ", saves $0.300/h ($219/mo)" */
static const char *saves(struct approver *x, int64_t v)
{
    char month[MONEY_TEXT];
    bool more = v < 0;
    v = more ? -v : v;
    return x->c->o->no_prices || v == 0
               ? ""
               : arena_printf(x->a, ", %s %s ($%s/mo)%s", more ? "costs" : "saves",
                              screen_hour(x->a, v, false, ""), money_month(v, month),
                              more ? " more" : "");
}

/* Less than what was filed, by so much that the agent drops it. */
static bool too_little(const struct dreq *r, const struct consolidate_step *step)
{
    return r->reason != DISRUPT_DRIFTED && !step->return_to_weight &&
           step->saving_pusd_h < r->saving_pusd_h / 100 * DREQ_WORTH_PERCENT;
}

const char *approve_fresh(struct approver *x, const struct dreq *r, bool *ret_other)
{
    const struct disrupt *d = &x->plans[plan_of(r)];
    *ret_other = false;
    if (x->unplanned) {
        return arena_printf(x->a, "its nodes are there; the plan cannot be made again: %s",
                            x->unplanned);
    }
    const struct consolidate_step *step = same_step(d, r);
    *ret_other = !step || too_little(r, step);
    return !step        ? first_other(x, d, r)
           : *ret_other ? arena_printf(x->a, "it is worth less than when it was filed%s",
                                       saves(x, step->saving_pusd_h))
                        : arena_printf(x->a, "still valid%s", saves(x, step->saving_pusd_h));
}
