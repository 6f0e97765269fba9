/* disrupt.c - see disrupt.h. */
#include "disrupt.h"

#include "cmd/read/fleet.h"
#include "cmd/read/labelsel.h"
#include "cmd/read/requests.h"
#include "cmd/report.h"
#include "cmd/screen.h"
#include "cmd/status/holds.h"
#include "common/base/clock.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/core/consent/approval.h"

#define STEP_UNITS UINT64_C(50000000)

const uint64_t disrupt_kinds = GATHER(KIND_POD_DISRUPTION_BUDGET) |
                               GATHER(KIND_DISRUPTION_REQUEST) | GATHER(KIND_DISRUPTION_GRANT);

/* ---- Holds ----------------------------------------------------------------------------------- */

static const char *held(void *ctx, const struct snapshot_node *n)
{
    struct disrupt *d = ctx;
    const struct world *w = &d->s->w;
    const char *pool = n->pool ? n->pool->np->m.name : NULL;
    const char *claim = n->claim ? n->claim->m.name : NULL;
    const char *node = n->node ? n->node->m.name : NULL;
    return holds_node(w, &d->s->a, pool, claim, node);
}

/* ---- approval -------------------------------------------------------------------------------- */

static bool asks_about(const struct dreq *r, const struct snapshot_node *n)
{
    return n->claim && dreq_has_candidate(r, n->claim->m.uid);
}

static const char *denied(void *ctx, const struct snapshot_node *n)
{
    struct disrupt *d = ctx;
    const struct world *w = &d->s->w;
    for (size_t i = 0; i < world_n(w, KIND_DISRUPTION_REQUEST); i++) {
        const struct dreq *r = world_at(w, KIND_DISRUPTION_REQUEST, i);
        if (r->decision == DREQ_NO && r->expires_ns > requests_now(w) && asks_about(r, n)) {
            return arena_printf(&d->s->a, "request %s was denied by %s", r->m.name, r->decided_by);
        }
    }
    return NULL;
}

/* What asks for a decision about the node here. Whether it would leave because it drifted is not
 * known. */
static unsigned asked(const struct disrupt *d, const struct snapshot_node *n)
{
    bool empty = !n->usage || n->usage->pods == 0;
    return approval_of(n->pool ? n->pool->np : NULL, d->approval) &
           (unsigned)(empty ? DISRUPT_EMPTY : DISRUPT_UNDERUTILIZED | DISRUPT_DRIFTED);
}

static const char *approval_pending(void *ctx, const struct snapshot_node *n)
{
    struct disrupt *d = ctx;
    const struct world *w = &d->s->w;
    int64_t now_ns = requests_now(w);
    for (size_t i = 0; i < world_n(w, KIND_DISRUPTION_REQUEST); i++) {
        const struct dreq *r = world_at(w, KIND_DISRUPTION_REQUEST, i);
        if (asks_about(r, n) && request_goes(r, now_ns)) {
            return r->not_before_ns > now_ns
                       ? arena_printf(&d->s->a, "request %s is approved, not before %s UTC",
                                      r->m.name, screen_clock(&d->s->a, r->not_before_ns, now_ns))
                       : NULL;
        }
        if (asks_about(r, n) && request_waits(r, now_ns)) {
            return arena_printf(&d->s->a, "request %s waits for a decision, expires in %s",
                                r->m.name, screen_age(&d->s->a, r->expires_ns - now_ns));
        }
    }
    return asked(d, n) && !disrupt_grant(d, n)
               ? "needs a decision, and no request for it is filed yet"
               : NULL;
}

const struct dgrant *disrupt_grant(const struct disrupt *d, const struct snapshot_node *n)
{
    unsigned reasons = asked(d, n);
    return reasons && n->pool && holds_obeyed(&d->facts)
               ? grants_cover(&d->s->w, n->pool->np->m.name, reasons)
               : NULL;
}

/* ---- trouble --------------------------------------------------------------------------------- */

static bool pool_has(const struct snapshot_pool *p, const char *condition)
{
    return p && condition_true(&p->np->conditions, condition);
}

static bool published(const struct disrupt *d, const char *code)
{
    for (size_t i = 0; i < d->facts.n_attention; i++) {
        if (str_eq(d->facts.attention[i].code, code)) {
            return true;
        }
    }
    return false;
}

static bool launches_failing(void *ctx, const struct snapshot_pool *p)
{
    const struct disrupt *d = ctx;
    return facts_launches_fail(&d->facts, p->np->m.name) || pool_has(p, "LaunchIneffective") ||
           pool_has(p, "RegistrationFailing");
}

static int64_t churn_until(UNUSED void *ctx, const struct snapshot_node *n)
{
    return n->pool ? candidate_churn_until(n->pool->np) : 0;
}

static int64_t let_go_until(void *ctx, const struct snapshot_node *n, enum disruption_reason reason)
{
    const struct disrupt *d = ctx;
    return n->claim ? facts_spared_until(&d->facts, n->claim, reason) : 0;
}

static bool drift_suspect(UNUSED void *ctx, const struct snapshot_pool *p)
{
    return pool_has(p, "DriftSuspect") || pool_has(p, "DriftHalted");
}

static bool price_suspect(void *ctx, UNUSED const struct snapshot_pool *p)
{
    return published(ctx, "PriceSuspect");
}

/* ---- options --------------------------------------------------------------------------------- */

/* "A=true,B=false" */
static int read_gates(const char *text, struct consolidate_options *o, struct err *reterr)
{
    static const char name[] = "SpotToSpotConsolidation";
    for (const char *at = text; at && *at;) {
        size_t n = strcspn(at, ","), key = strcspn(at, "=,");
        bool yes = n == key + 5 && strncmp(at + key, "=true", 5) == 0;
        bool no = n == key + 6 && strncmp(at + key, "=false", 6) == 0;
        if (!yes && !no) {
            return err_set(reterr, ERR_INVALID,
                           "invalid argument \"%s\" for \"--feature-gates\" flag: must be "
                           "NAME=true or NAME=false, separated by commas",
                           text);
        }
        if (key == strlen(name) && strncmp(at, name, key) == 0) {
            o->spot_to_spot = yes;
        }
        at += n + (at[n] == ',');
    }
    return 0;
}

static int bad_option(const char *value, const char *flag, const char *want, struct err *reterr)
{
    return err_set(reterr, ERR_INVALID, "invalid argument \"%s\" for \"--%s\" flag: must be %s",
                   value, flag, want);
}

static bool selected(void *ctx, const struct snapshot_node *n)
{
    struct disrupt *d = ctx;
    const struct cmd_opts *o = d->s->c->o;
    bool pool = o->nodepools.n == 0;
    for (size_t i = 0; i < o->nodepools.n && n->pool; i++) {
        pool = pool || str_eq(o->nodepools.v[i], n->pool->np->m.name);
    }
    if (!pool || !o->selector) {
        return pool;
    }
    const struct meta *m = n->node ? &n->node->m : n->claim ? &n->claim->m : NULL;
    return m && labelsel_matches(&d->s->a, d->s->w.syms, &d->selector, &m->labels);
}

static int check_pools(const struct session *s, struct err *reterr)
{
    const struct opt_texts *l = &s->c->o->nodepools;
    for (size_t i = 0; i < l->n; i++) {
        if (!snapshot_pool_find(&s->d.snap, l->v[i])) {
            return err_set(reterr, ERR_NOT_FOUND, "nodepools \"%s\" not found", l->v[i]);
        }
    }
    return 0;
}

/* The option, else what the agent has published. */
static const char *told(const struct disrupt *d, const char *option, const char *path)
{
    return option ? option : jsonx_str(d->s->w.facts, path);
}

static int read_options(struct disrupt *d, unsigned reasons, struct consolidate_options *ret,
                        struct err *reterr)
{
    const struct cmd_opts *o = d->s->c->o;
    consolidate_options_default(ret);
    ret->reasons = reasons;
    ret->upstream = d->facts.charge == CHARGE_KARPENTER;
    const char *life = jsonx_str(d->s->w.facts, "options.minNodeLife");
    int64_t spot = o->spot_min_types > 0 ? o->spot_min_types
                                         : jsonx_int(d->s->w.facts, "options.spotMinTypes", 0);
    ret->min_node_life_ns = o->min_node_life_ns;
    if (o->min_node_life_ns == 0 && life) {
        (void)timefmt_parse_duration(life, &ret->min_node_life_ns);
    }
    ret->return_to_weight =
        o->return_to_weight || json_is_true(jsonx_at(d->s->w.facts, "options.returnToWeight"));
    ret->ignore_budgets = o->ignore_budgets;
    if (spot > 0 && spot <= CATALOG_MAX_TYPES) {
        ret->spot_min_types = (uint32_t)spot;
    }
    ret->max_steps = o->max_actions > UINT32_MAX ? UINT32_MAX : (uint32_t)o->max_actions;
    if (o->selector && labelsel_parse(&d->s->a, o->selector, &d->selector, reterr) != 0) {
        return -1;
    }
    if (o->selector || o->nodepools.n > 0) {
        ret->selected = selected;
        ret->selected_ctx = d;
    }
    const char *saving = told(d, o->min_saving, "options.minSaving");
    const char *approval = told(d, o->approval, "options.approval");
    if (saving && !consolidate_parse_saving(saving, &ret->min_saving)) {
        return bad_option(saving, "min-saving", "a share such as 10% or $/h", reterr);
    }
    if (approval && !approval_parse(approval, &d->approval)) {
        return bad_option(approval, "approval",
                          "Off, Required or some of Underutilized,Drifted,Empty", reterr);
    }
    if (decide_options(d->s->c, &d->s->w, &d->s->a, &ret->sched, reterr) != 0 ||
        check_pools(d->s, reterr) != 0) {
        return -1;
    }
    return read_gates(told(d, o->feature_gates, "options.featureGates"), ret, reterr);
}

/* ---- what is hidden -------------------------------------------------------------------------- */

const char *disrupt_hidden(const struct world *w, struct arena *a)
{
    static const enum kube_kind needed[] = {KIND_NODE, KIND_POD, KIND_NODE_CLAIM, KIND_NODE_POOL};
    const char *ret = NULL;
    for (size_t i = 0; i < ARRAY_LEN(needed); i++) {
        const char *name = kube_kind(needed[i])->plural;
        if (w->hidden[needed[i]]) {
            ret = ret ? arena_printf(a, "%s, %s", ret, name)
                      : arena_printf(a, "not allowed to list %s", name);
        }
    }
    return ret;
}

static bool no_node(UNUSED void *ctx, UNUSED const struct snapshot_node *n)
{
    return false;
}

/* ---- the plan -------------------------------------------------------------------------------- */

static int plan(struct session *s, unsigned reasons, bool any_policy, struct disrupt *ret,
                struct err *reterr)
{
    struct consolidate_options options;
    memset(ret, 0, sizeof(*ret));
    ret->s = s;
    facts_read(&s->w, &s->a, &ret->facts);
    if (read_options(ret, reasons, &options, reterr) != 0) {
        return -1;
    }
    options.any_policy = any_policy;
    if (disrupt_hidden(&s->w, &s->a)) {
        options.selected = no_node;
    }
    bool ours = holds_obeyed(&ret->facts);
    struct candidate_facts facts = {.ctx = ret,
                                    .launches_failing = launches_failing,
                                    .held = ours ? held : NULL,
                                    .churn_until = churn_until,
                                    .let_go_until = let_go_until,
                                    .price_suspect = price_suspect,
                                    .drift_suspect = drift_suspect,
                                    .denied = ours ? denied : NULL,
                                    .approval_pending = ours ? approval_pending : NULL,
                                    .clock_skew = published(ret, "ClockSkew"),
                                    .prices_ns = prices_made_ns(s->prices)};
    ret->pass = consolidate_begin(&s->a, &s->d.snap, &facts, &options);
    while (!consolidate_step(ret->pass, STEP_UNITS)) {
    }
    ret->plan = consolidate_result(ret->pass);
    return 0;
}

int disrupt_plan(struct session *s, unsigned reasons, struct disrupt *ret, struct err *reterr)
{
    return plan(s, reasons, false, ret, reterr);
}

int disrupt_plan_any_policy(struct session *s, unsigned reasons, struct disrupt *ret,
                            struct err *reterr)
{
    return plan(s, reasons, true, ret, reterr);
}

bool disrupt_kept_by_policy(const struct session *s)
{
    for (uint32_t i = 0; i < s->d.snap.n_pools; i++) {
        const struct nodepool *np = s->d.snap.pools[i].np;
        if (np->policy == POLICY_EMPTY || np->consolidate_after_ns == DURATION_NEVER) {
            return true;
        }
    }
    return false;
}

const struct node_verdict *disrupt_verdict(const struct disrupt *d, const struct snapshot_node *n)
{
    for (uint32_t i = 0; i < d->plan->n_nodes; i++) {
        if (d->plan->nodes[i].node == n) {
            return &d->plan->nodes[i];
        }
    }
    return NULL;
}

const struct consolidate_step *disrupt_step_of(const struct disrupt *d,
                                               const struct snapshot_node *n)
{
    const struct node_verdict *v = disrupt_verdict(d, n);
    return v && v->step >= 0 ? &d->plan->steps[v->step] : NULL;
}

static enum disrupt_holder holder(enum reason_code code)
{
    return code == REASON_Budget ? HOLDER_BUDGET
           : code == REASON_Held ? HOLDER_HOLD
                                 : HOLDER_DECISION;
}

struct disrupt_held disrupt_held_back(const struct disrupt *d)
{
    struct disrupt_held ret = {.all_pusd_h = 0};
    for (uint32_t i = 0; i < d->plan->n_steps; i++) {
        const struct consolidate_step *s = &d->plan->steps[i];
        if (s->n_held_by > 0) {
            ret.all_pusd_h += s->saving_pusd_h;
            ret.by_pusd_h[holder(s->held_by[0].code)] += s->saving_pusd_h;
        }
    }
    return ret;
}

/* ---- estimates ------------------------------------------------------------------------------- */

bool disrupt_out_estimated(const struct disrupt *d, const struct step_out *o)
{
    bool ret = false;
    (void)fleet_price(&d->s->d.snap, o->node, d->s->prices, &ret);
    return ret;
}

bool disrupt_in_estimated(const struct disrupt *d, const struct step_in *i)
{
    return report_claim_estimated(d->s, &i->claim);
}

bool disrupt_step_estimated(const struct disrupt *d, const struct consolidate_step *step)
{
    for (uint32_t i = 0; i < step->n_out; i++) {
        if (disrupt_out_estimated(d, &step->out[i])) {
            return true;
        }
    }
    for (uint32_t i = 0; i < step->n_in; i++) {
        if (disrupt_in_estimated(d, &step->in[i])) {
            return true;
        }
    }
    return false;
}
