/*
 * dreq.h - DisruptionRequests: one immutable plan that waits for a person's decision.
 *
 *     Pending → Approved → Executing → Succeeded, Failed
 *        └────────┴── Denied, Expired, Superseded
 *
 * The agent writes the plan once (spec), a person the decision once (spec.decision, decidedBy,
 * onBehalfOf, note, notBefore), the agent what became of it (status). Open are the first three
 * phases; the others are ends.
 *
 * Shapes: prices are decimal strings in $/h, times RFC 3339, `warnings` one sentence each; those
 * that begin with DREQ_SINGLE or DREQ_NAKED name one pod, "ns/name", and are read back. `status` =
 * {phase, conditions: Approved, Valid, Executing, Complete, observedGeneration, decidedAt,
 * startedAt, endedAt, supersededBy, grant, approvedBy}.
 *
 * `supersedes` names the request whose decision this one inherits. It never names one that
 * inherited itself, so that a decision is always one look away, in words of the person who made it.
 *
 * What cannot be read counts as the safe side: with a `problem` nothing is approved. So does a
 * decision that is neither Approved nor Denied, and one that was there when the object was created
 * (metadata.generation says so): who may create requests may not decide them.
 */
#ifndef KARP_CORE_DREQ_H
#define KARP_CORE_DREQ_H

#include "common/core/model.h"

#define DREQ_CANDIDATES_MAX 200u
#define DREQ_POOLS_MAX 50u
#define DREQ_REPLACEMENTS_MAX 200u
#define DREQ_TYPES_MAX 60u
#define DREQ_WARNINGS_MAX 500u
#define DREQ_WARNING_TEXT 1024u
#define DREQ_OPEN_MAX 50u
#define DREQ_SINGLE "single replica: "
#define DREQ_NAKED "no controller: "
#define DREQ_WORTH_PERCENT 80 /* of the saving that was approved */

enum dreq_phase {
    DREQ_PENDING,
    DREQ_APPROVED,
    DREQ_EXECUTING,
    DREQ_SUCCEEDED,
    DREQ_FAILED,
    DREQ_DENIED,
    DREQ_EXPIRED,
    DREQ_SUPERSEDED
};

enum dreq_decision { DREQ_UNDECIDED, DREQ_YES, DREQ_NO };

struct dreq_candidate {
    const char *claim, *uid, *node, *type, *zone, *capacity_type; /* "" = not said */
    int64_t price_pusd_h;                                         /* PRICE_UNKNOWN */
};

struct dreq_replacement {
    const char *pool;
    const char *const *capacity_types, *const *types;
    uint32_t n_capacity_types, n_types;
    int64_t price_pusd_h;
};

struct dreq {
    struct arena mem;
    struct meta m;
    enum disruption_reason reason; /* 0: it cannot be read */
    const char *const *pools;
    uint32_t n_pools;
    const struct dreq_candidate *candidates; /* as written */
    uint32_t n_candidates;
    const struct dreq_replacement *replacements;
    uint32_t n_replacements;
    int64_t pod_count;
    const char *const *warnings;
    uint32_t n_warnings;
    int64_t saving_pusd_h; /* may be negative */
    const char *plan;      /* planDigest */
    int64_t expires_ns;    /* wall clock */
    const char *supersedes;
    /* the decision */
    enum dreq_decision decision;
    const char *decided_by, *on_behalf_of, *note;
    int64_t not_before_ns; /* 0 = at once */
    /* status */
    enum dreq_phase phase;
    const char *superseded_by, *grant, *approved_by;
    int64_t decided_ns, started_ns, ended_ns;
    int64_t observed_generation;
    struct conditions conditions;
    const char *problem; /* NULL, or what could not be read: then nothing is approved */
};

const char *dreq_phase_name(enum dreq_phase p);
/* "" and NULL are Pending. False if it is none. */
bool dreq_phase_named(const char *name, enum dreq_phase *ret);
/* Neither ended nor being deleted. */
bool dreq_open(const struct dreq *r);
/* Its time has passed. One that is being carried out does not run out. */
bool dreq_expired(const struct dreq *r, int64_t now_ns);
bool dreq_has_candidate(const struct dreq *r, const char *uid);
/* Of the candidates, or of the replacements; unknown prices count as nothing. */
int64_t dreq_price_out(const struct dreq *r);
int64_t dreq_price_in(const struct dreq *r);

/* What a plan may do that stands beside an approved one. */
struct dreq_risk {
    enum disruption_reason reason;
    const char *const *uids; /* of what leaves */
    uint32_t n_uids;
    const struct dreq_replacement *in;
    uint32_t n_in;
    int64_t price_out_pusd_h, price_in_pusd_h, saving_pusd_h;
    const char *const *singles; /* "ns/name" */
    uint32_t n_singles;
    bool for_weight; /* worth it for a heavier pool's sake, not for money */
};

/*
 * NULL if what was approved covers it, else what is more than approved: the same reason, no
 * candidate that was not named, no more replacements, each in a pool and of capacity types that
 * were named for one, no dearer in sum, at least DREQ_WORTH_PERCENT of the saving (of fewer
 * candidates: of their share by price), no single replica that was not named. Money does not count
 * for Drifted and for a heavier pool's sake, save that the replacements are no dearer.
 */
const char *dreq_exceeds(const struct dreq *approved, const struct dreq_risk *risk);

#endif
