/*
 * proposal.h - steps of a plan that were decided on and have their quiet time, without the picture
 * that they were found on: enough to know them again.
 */
#ifndef KARP_AGENT_PROPOSAL_H
#define KARP_AGENT_PROPOSAL_H

#include "common/core/consent/dreq.h"
#include "common/core/disrupt/consolidate.h"

struct proposal {
    enum disruption_reason reason;
    char **claims, **uids; /* in the step's order */
    uint32_t n;
    bool replaces, return_to_weight;
    uint32_t n_singles;
    int64_t price_in_pusd_h, saving_pusd_h;
    char *request; /* the DisruptionRequest that stands behind it, or NULL */
    bool files;    /* once found again it is asked for, not begun */
    bool asked;    /* the request is to be marked as begun */
    bool waits;    /* found, but held for the moment */
    bool behind;   /* it was found, but behind a step that stays */
    bool found;    /* again */
};

struct proposals {
    struct proposal *v;
    uint32_t n, cap;
};

/* The new one is good until another is added. */
struct proposal *proposals_add(struct proposals *p, const struct consolidate_step *s);
/* What was approved. */
void proposals_add_request(struct proposals *p, const struct dreq *r);
void proposals_clear(struct proposals *p);
/* The one that the step stands for: the same nodes for the same reason, not found yet if there are
 * several. NULL if there is none. */
struct proposal *proposals_of(struct proposals *p, const struct consolidate_step *s);
/* The step is worth what was proposed: replacements no dearer, at least 80% of the saving, no
 * single replica more. Drift and return-to-weight are not about money. */
bool proposal_holds(const struct proposal *p, const struct consolidate_step *s);
/* The claim is in one that was not found again. */
bool proposals_lack(const struct proposals *p, const struct nodeclaim *nc);
bool proposals_all_found(const struct proposals *p);

#endif
