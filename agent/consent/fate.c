/* fate.c - see fate.h. */
#include "fate.h"

#include "agent/store/store.h"
#include "common/base/str.h"
#include "common/core/consent/approval.h"
#include "common/core/ec2/catalog.h"
#include "consent.h"

static int64_t now_of(const struct runtime *rt)
{
    return clock_wall(rt->clock);
}

const struct dreq *fate_request(const struct runtime *rt, const char *name)
{
    return map_get(store_all(rt->store, STORE_DREQ), name);
}

const struct nodeclaim *fate_claim(const struct runtime *rt, const struct dreq_candidate *c)
{
    const struct nodeclaim *nc = store_claim(rt->store, c->claim);
    return nc && str_eq(nc->m.uid, c->uid) && !nc->m.deleted_ns ? nc : NULL;
}

static bool overlap(const struct dreq *a, const struct dreq *b)
{
    for (uint32_t i = 0; i < a->n_candidates; i++) {
        if (dreq_has_candidate(b, a->candidates[i].uid)) {
            return true;
        }
    }
    return false;
}

/* ---- inherited ---------------------------------------------------------------------------------
 */

/* What is asked about an approved one, from the request that would inherit. In a. */
static struct dreq_risk risk_of(struct arena *a, const struct dreq *r)
{
    const char **uids = ARENA_NEW_N(a, const char *, r->n_candidates);
    const char **singles = ARENA_NEW_N(a, const char *, r->n_warnings);
    struct dreq_risk ret = {.reason = r->reason,
                            .uids = uids,
                            .n_uids = r->n_candidates,
                            .in = r->replacements,
                            .n_in = r->n_replacements,
                            .price_out_pusd_h = dreq_price_out(r),
                            .price_in_pusd_h = dreq_price_in(r),
                            .saving_pusd_h = r->saving_pusd_h,
                            .singles = singles};
    for (uint32_t i = 0; i < r->n_candidates; i++) {
        uids[i] = r->candidates[i].uid;
    }
    for (uint32_t i = 0; i < r->n_warnings; i++) {
        if (str_starts(r->warnings[i], DREQ_SINGLE)) {
            singles[ret.n_singles++] = r->warnings[i] + strlen(DREQ_SINGLE);
        }
    }
    return ret;
}

static bool exceeds(const struct dreq *approved, const struct dreq *r)
{
    struct arena a;
    arena_init(&a, 4096, 1 << 20);
    struct dreq_risk risk = risk_of(&a, r);
    bool ret = dreq_exceeds(approved, &risk) != NULL;
    arena_done(&a);
    return ret;
}

/* Somebody said no to another that inherited from it and is about the same nodes. */
static bool taken_back(const struct runtime *rt, const struct dreq *parent, const struct dreq *r)
{
    for (MAP_EACH(store_all(rt->store, STORE_DREQ), e)) {
        const struct dreq *other = map_value(e);
        if (other->decision == DREQ_NO && str_eq(other->supersedes, parent->m.name) &&
            overlap(other, r)) {
            return true;
        }
    }
    return false;
}

/* The one whose decision it inherits, or NULL. */
static const struct dreq *parent_of(struct runtime *rt, const struct dreq *r)
{
    const struct dreq *p = *r->supersedes ? fate_request(rt, r->supersedes) : NULL;
    return p && p->decision == DREQ_YES && p->phase == DREQ_SUPERSEDED && !p->problem &&
                   p->m.deleted_ns == 0 && p->expires_ns > now_of(rt) && !exceeds(p, r) &&
                   !taken_back(rt, p, r)
               ? p
               : NULL;
}

/* ---- granted -----------------------------------------------------------------------------------
 */

static bool names_pools(const struct dgrant *g, const struct dreq *r)
{
    for (uint32_t i = 0; i < r->n_pools; i++) {
        if (!dgrant_names(g, r->pools[i], r->reason)) {
            return false;
        }
    }
    return r->n_pools > 0;
}

/* By the request's own list, and by what it is about: a list may leave out a pool. */
static bool names_all(const struct runtime *rt, const struct dgrant *g, const struct dreq *r)
{
    for (uint32_t i = 0; i < r->n_candidates; i++) {
        const struct nodeclaim *nc = fate_claim(rt, &r->candidates[i]);
        if (nc && !dgrant_names(g, nc->pool, r->reason)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < r->n_replacements; i++) {
        if (!dgrant_names(g, r->replacements[i].pool, r->reason)) {
            return false;
        }
    }
    return names_pools(g, r);
}

/* Nodes that began to leave by it within the hour, beside r's. */
static int64_t used(const struct runtime *rt, const struct dgrant *g, const struct dreq *r)
{
    int64_t n = 0;
    for (MAP_EACH(store_all(rt->store, STORE_DREQ), e)) {
        const struct dreq *other = map_value(e);
        if (other != r && str_eq(other->grant, g->m.name) &&
            other->started_ns > now_of(rt) - FATE_RATE_NS) {
            n += other->n_candidates;
        }
    }
    return n;
}

static const struct dgrant *grant_of(struct runtime *rt, const struct dreq *r)
{
    const struct dgrant *first = NULL;
    if (!store_grants_known(rt->store)) {
        return NULL;
    }
    for (MAP_EACH(store_all(rt->store, STORE_DGRANT), e)) {
        const struct dgrant *g = map_value(e);
        if ((!first || str_cmp(g->m.name, first->m.name) < 0) && dgrant_open(g, now_of(rt)) &&
            names_all(rt, g, r) &&
            (g->max_nodes_per_hour == DGRANT_UNLIMITED ||
             used(rt, g, r) + r->n_candidates <= g->max_nodes_per_hour)) {
            first = g;
        }
    }
    return first;
}

/* ---- the answer --------------------------------------------------------------------------------
 */

static struct answer decided(const struct dreq *r, const char *reason, const char *inherits)
{
    return (struct answer){.what = r->decision,
                           .from_ns = r->not_before_ns,
                           .by = r->decided_by,
                           .reason = reason,
                           .inherits = inherits};
}

struct answer fate_answer(struct runtime *rt, const struct dreq *r)
{
    if (r->problem) {
        return (struct answer){.what = DREQ_UNDECIDED, .by = "", .reason = "Invalid"};
    }
    if (r->decision != DREQ_UNDECIDED) {
        return decided(r, "Decision", NULL);
    }
    const struct dreq *parent = parent_of(rt, r);
    if (parent) {
        return decided(parent, "Inherited", parent->m.name);
    }
    const struct dgrant *g = grant_of(rt, r);
    if (g) {
        return (struct answer){
            .what = DREQ_YES, .by = g->granted_by, .reason = "Grant", .grant = g->m.name};
    }
    return (struct answer){.what = DREQ_UNDECIDED, .by = "", .reason = "Waiting"};
}

bool fate_stands(struct runtime *rt, const struct dreq *r)
{
    if (r->problem || r->m.deleted_ns || r->phase != DREQ_EXECUTING) {
        return false;
    }
    if (*r->grant) { /* its window and its rate were asked when it began */
        const struct dgrant *g = map_get(store_all(rt->store, STORE_DGRANT), r->grant);
        return r->decision != DREQ_NO && g && store_grants_known(rt->store) &&
               dgrant_in_force(g, now_of(rt)) && names_all(rt, g, r);
    }
    return r->decision == DREQ_YES || (r->decision == DREQ_UNDECIDED && parent_of(rt, r));
}

/* ---- what becomes of it ------------------------------------------------------------------------
 */

static bool asked_for(const struct runtime *rt, const struct dreq *r)
{
    for (uint32_t i = 0; i < r->n_candidates; i++) {
        const struct nodeclaim *nc = fate_claim(rt, &r->candidates[i]);
        const struct nodepool *np = nc ? store_pool(rt->store, nc->pool) : NULL;
        if (np && approval_of(np, rt->opt->approval) & (unsigned)r->reason) {
            return true;
        }
    }
    return false;
}

static uint32_t left_of(const struct runtime *rt, const struct dreq *r, const char **ret_gone)
{
    uint32_t n = 0;
    *ret_gone = NULL;
    for (uint32_t i = 0; i < r->n_candidates; i++) {
        if (fate_claim(rt, &r->candidates[i])) {
            n++;
        } else {
            *ret_gone = r->candidates[i].claim;
        }
    }
    return n;
}

static bool newer(const struct dreq *a, const struct dreq *b)
{
    return a->m.created_ns != b->m.created_ns ? a->m.created_ns > b->m.created_ns
                                              : str_cmp(a->m.name, b->m.name) > 0;
}

/* A later open one for a node of it: the last by that order. */
static const struct dreq *successor(const struct runtime *rt, const struct dreq *r)
{
    const struct dreq *ret = NULL;
    for (MAP_EACH(store_all(rt->store, STORE_DREQ), e)) {
        const struct dreq *other = map_value(e);
        if (other != r && dreq_open(other) && newer(other, ret ? ret : r) && overlap(r, other)) {
            ret = other;
        }
    }
    return ret;
}

static bool invalid_for_long(const struct runtime *rt, const struct dreq *r)
{
    const struct condition *valid = condition_find(&r->conditions, "Valid");
    return valid && valid->status == STATUS_FALSE &&
           now_of(rt) - valid->transition_ns >= CONSENT_INVALID_NS;
}

static void executing(struct runtime *rt, const struct dreq *r, bool abandoned, struct fate *f)
{
    const char *gone;
    uint32_t left = left_of(rt, r, &gone);
    if (left == 0) {
        f->phase = DREQ_SUCCEEDED;
        snprintf(f->why, sizeof(f->why), "%u node%s left", r->n_candidates,
                 r->n_candidates == 1 ? "" : "s");
    } else if (!abandoned) {
        f->phase = DREQ_EXECUTING;
    } else if (left < r->n_candidates) {
        f->phase = DREQ_FAILED;
        snprintf(f->why, sizeof(f->why), "%u of %u nodes left, the rest stays",
                 r->n_candidates - left, r->n_candidates);
    } else {
        f->phase = DREQ_APPROVED; /* it may be begun again */
    }
}

static bool superseded(struct runtime *rt, const struct dreq *r, struct fate *f)
{
    const char *gone;
    const struct dreq *next = successor(rt, r);
    uint32_t left = left_of(rt, r, &gone);
    if (next) {
        f->superseded_by = next->m.name;
        snprintf(f->why, sizeof(f->why), "another plan for its nodes was filed: %.100s",
                 next->m.name);
    } else if (left < r->n_candidates) {
        snprintf(f->why, sizeof(f->why), "NodeClaim %.200s is gone or going", gone);
    } else if (!asked_for(rt, r)) {
        snprintf(f->why, sizeof(f->why), "its pools ask for no decision any more");
    } else if (invalid_for_long(rt, r)) {
        snprintf(f->why, sizeof(f->why), "the plan has not held for 10 minutes");
    } else {
        return false;
    }
    f->phase = DREQ_SUPERSEDED;
    return true;
}

struct fate fate_of(struct runtime *rt, const struct dreq *r, bool abandoned)
{
    struct fate f = {.phase = r->phase, .answer = fate_answer(rt, r)};
    if (!dreq_open(r)) {
        return f;
    }
    if (r->phase == DREQ_EXECUTING) {
        executing(rt, r, abandoned, &f);
        if (f.phase != DREQ_APPROVED) {
            return f;
        }
    }
    if (r->expires_ns <= now_of(rt)) {
        f.phase = DREQ_EXPIRED;
        snprintf(f.why, sizeof(f.why), "its time passed %s",
                 f.answer.what == DREQ_YES ? "before it could be carried out"
                                           : "without a decision");
    } else if (r->decision == DREQ_NO && !r->problem) {
        f.phase = DREQ_DENIED;
        snprintf(f.why, sizeof(f.why), "%.200s", r->note);
    } else if (!superseded(rt, r, &f)) {
        f.phase = f.answer.what == DREQ_YES ? DREQ_APPROVED : DREQ_PENDING;
    }
    return f;
}
