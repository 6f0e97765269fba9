/* proposal.c - see proposal.h. */
#include "proposal.h"

#include "common/base/alloc.h"
#include "common/base/str.h"

#define WORTH_PERCENT 80

static struct proposal *add(struct proposals *p)
{
    size_t n = p->n, cap = p->cap;
    ARRAY_GROW(p->v, n, cap);
    p->cap = (uint32_t)cap;
    return &p->v[p->n++];
}

struct proposal *proposals_add(struct proposals *p, const struct consolidate_step *s)
{
    struct proposal *q = add(p);
    *q = (struct proposal){.reason = s->reason,
                           .claims = NEW_N(char *, s->n_out),
                           .uids = NEW_N(char *, s->n_out),
                           .n = s->n_out,
                           .replaces = s->n_in > 0,
                           .return_to_weight = s->return_to_weight,
                           .n_singles = s->n_singles,
                           .price_in_pusd_h = s->price_in_pusd_h,
                           .saving_pusd_h = s->saving_pusd_h};
    for (uint32_t i = 0; i < s->n_out; i++) {
        q->claims[i] = xstrdup(s->out[i].node->claim->m.name);
        q->uids[i] = xstrdup(s->out[i].node->claim->m.uid);
    }
    return q;
}

void proposals_add_request(struct proposals *p, const struct dreq *r)
{
    struct proposal *q = add(p);
    *q = (struct proposal){.reason = r->reason,
                           .claims = NEW_N(char *, r->n_candidates),
                           .uids = NEW_N(char *, r->n_candidates),
                           .n = r->n_candidates,
                           .request = xstrdup(r->m.name)};
    for (uint32_t i = 0; i < r->n_candidates; i++) {
        q->claims[i] = xstrdup(r->candidates[i].claim);
        q->uids[i] = xstrdup(r->candidates[i].uid);
    }
}

void proposals_clear(struct proposals *p)
{
    for (uint32_t i = 0; i < p->n; i++) {
        for (uint32_t k = 0; k < p->v[i].n; k++) {
            free(p->v[i].claims[k]);
            free(p->v[i].uids[k]);
        }
        free(p->v[i].claims);
        free(p->v[i].uids);
        free(p->v[i].request);
    }
    free(p->v);
    *p = (struct proposals){NULL, 0, 0};
}

static bool same(const struct proposal *p, const struct consolidate_step *s)
{
    if (p->reason != s->reason || p->n != s->n_out) {
        return false;
    }
    for (uint32_t i = 0; i < p->n; i++) {
        if (!str_eq(p->uids[i], s->out[i].node->claim->m.uid)) {
            return false;
        }
    }
    return true;
}

struct proposal *proposals_of(struct proposals *p, const struct consolidate_step *s)
{
    struct proposal *ret = NULL;
    for (uint32_t i = 0; i < p->n && !(ret && !ret->found); i++) {
        ret = same(&p->v[i], s) ? &p->v[i] : ret;
    }
    return ret;
}

bool proposal_holds(const struct proposal *p, const struct consolidate_step *s)
{
    bool money = s->reason == DISRUPT_UNDERUTILIZED && !s->return_to_weight;
    if (s->n_singles > p->n_singles || p->return_to_weight != s->return_to_weight) {
        return false;
    }
    return !money || (s->price_in_pusd_h <= p->price_in_pusd_h &&
                      s->saving_pusd_h / WORTH_PERCENT >= p->saving_pusd_h / 100);
}

bool proposals_lack(const struct proposals *p, const struct nodeclaim *nc)
{
    for (uint32_t i = 0; i < p->n; i++) {
        for (uint32_t k = 0; !p->v[i].found && k < p->v[i].n; k++) {
            if (str_eq(p->v[i].uids[k], nc->m.uid)) {
                return true;
            }
        }
    }
    return false;
}

bool proposals_all_found(const struct proposals *p)
{
    for (uint32_t i = 0; i < p->n; i++) {
        if (!p->v[i].found) {
            return false;
        }
    }
    return true;
}
