/* consent_plan.c - plans and requests: what is asked for, what may be carried out; see consent.h.
 */
#include "agent/claim/claim.h"
#include "agent/disrupt/proposal.h"
#include "agent/store/store.h"
#include "common/base/alloc.h"
#include "common/base/sort.h"
#include "common/base/str.h"
#include "common/core/consent/approval.h"
#include "consent_int.h"
#include "fate.h"
#include "filing.h"

#define NAMES_MAX 1000u

static int64_t now_of(const struct consent *c)
{
    return clock_mono(c->rt->clock);
}

static int64_t wall_of(const struct consent *c)
{
    return clock_wall(c->rt->clock);
}

bool consent_needed(const struct runtime *rt, const struct consolidate_step *s)
{
    for (uint32_t i = 0; i < s->n_out; i++) {
        if (approval_of(s->out[i].node->pool->np, rt->opt->approval) & (unsigned)s->reason) {
            return true;
        }
    }
    return false;
}

/* ---- steps and requests ------------------------------------------------------------------------
 */

static bool overlaps(const struct consolidate_step *s, const struct dreq *r)
{
    for (uint32_t i = 0; i < s->n_out; i++) {
        if (dreq_has_candidate(r, s->out[i].node->claim->m.uid)) {
            return true;
        }
    }
    return false;
}

/* For the same reason the same nodes. */
static bool same(const struct consolidate_step *s, const struct dreq *r)
{
    if (s->reason != r->reason || s->n_out != r->n_candidates) {
        return false;
    }
    for (uint32_t i = 0; i < s->n_out; i++) {
        if (!dreq_has_candidate(r, s->out[i].node->claim->m.uid)) {
            return false;
        }
    }
    return true;
}

/* NULL, or what the step is that the request is not. */
static const char *differs(struct arena *a, const struct snapshot *snap, const struct dreq *r,
                           const struct consolidate_step *s)
{
    struct dreq_risk risk = filing_risk(a, snap, s);
    const char *why = dreq_exceeds(r, &risk);
    return why ? why : str_eq(s->digest, r->plan) ? NULL : "its replacements are others by now";
}

bool consent_covers(const struct consent *c, struct arena *a, const struct snapshot *snap,
                    const char *request, const struct consolidate_step *s)
{
    const struct dreq *r = fate_request(c->rt, request);
    return r && same(s, r) && !differs(a, snap, r, s);
}

static void judge(struct consent *c, const struct dreq *r, const char *why)
{
    struct note *n = consent_note(c, r);
    const struct condition *have = condition_find(&r->conditions, "Valid");
    n->judged = true;
    n->valid = why == NULL;
    n->why = why;
    if (!have || (have->status == STATUS_TRUE) != n->valid) {
        queue_add(c->q, r->m.name);
    }
}

void consent_look(struct consent *c, struct arena *a, const struct snapshot *snap,
                  const struct consolidate_result *res)
{
    for (MAP_EACH(store_all(c->rt->store, STORE_DREQ), e)) {
        const struct dreq *r = map_value(e);
        const char *why = "the plan has no such step now";
        if (!dreq_open(r) || r->phase == DREQ_EXECUTING) {
            continue;
        }
        for (uint32_t i = 0; i < res->n_steps; i++) {
            if (same(&res->steps[i], r)) {
                why = differs(a, snap, r, &res->steps[i]);
                break;
            }
        }
        judge(c, r, why);
    }
}

/* ---- filing ------------------------------------------------------------------------------------
 */

/* A request that is open keeps the step from being asked for. */
static bool in_the_way(const struct consent *c, struct arena *a, const struct snapshot *snap,
                       const struct dreq *r, const struct consolidate_step *s)
{
    const struct condition *valid = condition_find(&r->conditions, "Valid");
    if (r->phase == DREQ_EXECUTING) {
        return true;
    }
    if (same(s, r)) {
        return differs(a, snap, r, s) == NULL;
    }
    return r->phase == DREQ_APPROVED || fate_answer(c->rt, r).what == DREQ_YES || !valid ||
           valid->status != STATUS_FALSE || wall_of(c) - valid->transition_ns < CONSENT_STALE_NS;
}

static bool denied(const struct consent *c, const struct dreq *r, const struct consolidate_step *s)
{
    int64_t at_ns = r->ended_ns ? r->ended_ns : r->m.created_ns;
    return r->decision == DREQ_NO && r->reason == s->reason && str_eq(r->plan, s->digest) &&
           wall_of(c) - at_ns < CONSENT_KEEP_NS;
}

static bool is_held(const struct consolidate_step *s)
{
    for (uint32_t i = 0; i < s->n_held_by; i++) {
        if (s->held_by[i].code == REASON_Held) {
            return true;
        }
    }
    return false;
}

bool consent_wants(struct consent *c, struct arena *a, const struct snapshot *snap,
                   const struct consolidate_step *s)
{
    uint32_t open = c->filing;
    if (c->rt->opt->mode != MODE_FULL || !store_requests_known(c->rt->store) || is_held(s) ||
        now_of(c) < c->refused_ns || filing_too_large(s)) {
        return false;
    }
    for (MAP_EACH(store_all(c->rt->store, STORE_DREQ), e)) {
        const struct dreq *r = map_value(e);
        open += dreq_open(r);
        if ((dreq_open(r) && overlaps(s, r) && in_the_way(c, a, snap, r, s)) || denied(c, r, s)) {
            return false;
        }
    }
    return open < DREQ_OPEN_MAX;
}

/* The decision that the step may inherit: of the newest that was approved and is, or is about to
 * be, superseded. */
static const struct dreq *ancestor(const struct consent *c, struct arena *a,
                                   const struct snapshot *snap, const struct consolidate_step *s)
{
    struct dreq_risk risk = filing_risk(a, snap, s);
    const struct dreq *ret = NULL;
    for (MAP_EACH(store_all(c->rt->store, STORE_DREQ), e)) {
        const struct dreq *r = map_value(e);
        bool gives_way = r->phase == DREQ_SUPERSEDED || (dreq_open(r) && overlaps(s, r));
        if (gives_way && r->m.deleted_ns == 0 && r->decision == DREQ_YES &&
            r->expires_ns > wall_of(c) && !dreq_exceeds(r, &risk) &&
            (!ret || r->m.created_ns > ret->m.created_ns ||
             (r->m.created_ns == ret->m.created_ns && str_cmp(r->m.name, ret->m.name) > 0))) {
            ret = r;
        }
    }
    return ret;
}

static void on_filed(void *arg, const struct kube_resp *resp)
{
    struct consent *c = arg;
    c->filing--;
    if (resp->err.kind != ERR_NONE && resp->err.kind != ERR_CONFLICT) {
        log_error(c->rt->log, "cannot file a DisruptionRequest", "error", resp->err.msg);
        c->refused_ns = now_of(c) + CONSENT_REST_NS;
    }
    consent_soon(c);
}

void consent_file(struct consent *c, struct arena *a, const struct snapshot *snap,
                  const struct consolidate_step *s)
{
    char name[FILING_NAME] = "";
    const struct dreq *from = ancestor(c, a, snap, s);
    for (uint32_t i = 0; i < NAMES_MAX; i++) {
        filing_name(s->digest, i, name);
        if (!fate_request(c->rt, name)) {
            break;
        }
    }
    json_t *body = filing_body(a, snap, s, name,
                               from ? from->expires_ns : wall_of(c) + c->rt->opt->approval_ttl_ns,
                               from ? from->m.name : NULL);
    log_info(c->rt->log, "asks for a decision", "DisruptionRequest", name, "reason",
             approval_reason_name(s->reason), "Node", s->out[0].node->name, "nodes",
             log_n(s->n_out), "replacements", log_n(s->n_in));
    c->filing++;
    kube_create(&c->rt->client, KIND_DISRUPTION_REQUEST, NULL, body, on_filed, c);
    json_decref(body);
}

/* ---- carrying out ------------------------------------------------------------------------------
 */

static bool may_run(struct consent *c, const struct dreq *r)
{
    const struct note *n = consent_note(c, r);
    struct answer answer = fate_answer(c->rt, r);
    if (!dreq_open(r) || r->phase != DREQ_APPROVED || n->asked || n->rest_ns > now_of(c) ||
        answer.what != DREQ_YES || answer.from_ns > wall_of(c) || r->expires_ns <= wall_of(c)) {
        return false;
    }
    for (uint32_t i = 0; i < r->n_candidates; i++) {
        if (!fate_claim(c->rt, &r->candidates[i]) ||
            commands_has(c->rt->commands, r->candidates[i].claim)) {
            return false;
        }
    }
    return true;
}

static int by_age(const void *a, const void *b)
{
    const struct dreq *x = *(const struct dreq *const *)a, *y = *(const struct dreq *const *)b;
    return x->m.created_ns != y->m.created_ns ? (x->m.created_ns < y->m.created_ns ? -1 : 1)
                                              : str_cmp(x->m.name, y->m.name);
}

void consent_propose(struct consent *c, struct proposals *p)
{
    const struct dreq *v[DREQ_OPEN_MAX];
    uint32_t n = 0;
    if (c->rt->opt->mode != MODE_FULL || !store_requests_known(c->rt->store)) {
        return;
    }
    for (MAP_EACH(store_all(c->rt->store, STORE_DREQ), e)) {
        const struct dreq *r = map_value(e);
        if (n < DREQ_OPEN_MAX && may_run(c, r)) {
            v[n++] = r;
        }
    }
    sort_items(v, n, sizeof(*v), by_age);
    for (uint32_t i = 0; i < n; i++) {
        proposals_add_request(p, v[i]);
    }
}

void consent_begin(struct consent *c, const char *request)
{
    const struct dreq *r = fate_request(c->rt, request);
    struct note *n = r ? consent_note(c, r) : NULL;
    if (n) {
        n->asked = true;
        n->asked_ns = now_of(c);
        queue_add(c->q, request);
    }
}

bool consent_busy(const struct consent *c)
{
    for (MAP_EACH(c->notes, e)) {
        const struct note *n = map_value(e);
        if (n->asked && now_of(c) - n->asked_ns < CONSENT_ASKED_NS) {
            return true;
        }
    }
    return false;
}

bool consent_begun(const struct consent *c, const char *request)
{
    const struct dreq *r = fate_request(c->rt, request);
    const struct note *n = r ? map_get(c->notes, request) : NULL;
    return n && n->begun_ns && fate_stands(c->rt, r) && now_of(c) - n->begun_ns < CONSENT_START_NS;
}

void consent_rest(struct consent *c, const char *request, bool missing)
{
    const struct dreq *r = fate_request(c->rt, request);
    if (r) {
        consent_note(c, r)->rest_ns = now_of(c) + CONSENT_REST_NS;
        if (missing) {
            judge(c, r, "the plan has no such step now");
        }
    }
}

void consent_ended(struct consent *c, const char *claim, enum command_end how)
{
    for (MAP_EACH(store_all(c->rt->store, STORE_DREQ), e)) {
        const struct dreq *r = map_value(e);
        for (uint32_t i = 0; r->phase == DREQ_EXECUTING && i < r->n_candidates; i++) {
            if (str_eq(r->candidates[i].claim, claim)) {
                struct note *n = consent_note(c, r);
                n->failed |= how == COMMAND_IN_VAIN;
                n->rest_ns = now_of(c) + CONSENT_REST_NS;
            }
        }
    }
    consent_soon(c);
}

/* ---- everybody's -------------------------------------------------------------------------------
 */

const char *consent_stops(struct runtime *rt, const struct nodeclaim *nc,
                          enum disruption_reason reason)
{
    const struct nodepool *np = store_pool(rt->store, nc->pool);
    if (!(approval_of(np, rt->opt->approval) & (unsigned)reason)) {
        return NULL;
    }
    if (!store_requests_known(rt->store)) {
        return "DisruptionRequests cannot be read";
    }
    for (MAP_EACH(store_all(rt->store, STORE_DREQ), e)) {
        const struct dreq *r = map_value(e);
        if (r->reason == reason && dreq_has_candidate(r, nc->m.uid) && fate_stands(rt, r)) {
            return NULL;
        }
    }
    return "no approved DisruptionRequest stands behind it";
}

const struct dreq *consent_request_of(const struct runtime *rt, const char *claim_uid)
{
    const struct dreq *ret = NULL;
    for (MAP_EACH(store_all(rt->store, STORE_DREQ), e)) {
        const struct dreq *r = map_value(e);
        if (r->started_ns && r->phase >= DREQ_EXECUTING && dreq_has_candidate(r, claim_uid) &&
            (!ret || r->m.created_ns > ret->m.created_ns ||
             (r->m.created_ns == ret->m.created_ns && str_cmp(r->m.name, ret->m.name) > 0))) {
            ret = r;
        }
    }
    return ret;
}
