/*
 * consolidate_int.h - what the files of consolidation share; nobody else includes it.
 *
 *   consolidate.c          begin and step: who may go, then one search after the other
 *   consolidate_search.c   nodes by themselves, and sets grown around a seed
 *   consolidate_price.c    is it worth it: prices, spot, min-saving, Balanced
 *   consolidate_keep.c     from a trial to a step of the plan
 *   consolidate_same.c     sets that cost as much on fewer nodes
 *   consolidate_replay.c   the finished plan from the start
 *   consolidate_verdict.c  why the rest stays, budgets, all gates of one node
 */
#ifndef KARP_CORE_CONSOLIDATE_INT_H
#define KARP_CORE_CONSOLIDATE_INT_H

#include "common/core/sched/sched_whatif.h"
#include "consolidate.h"

/* New claims of one set, and sets around one seed that fail before the next seed is taken. */
#define CONSOLIDATE_MAX_NEW 4
/* Nodes of one set: a step that moves more at once is no step. (Karpenter stops at 101.) */
#define CONSOLIDATE_MAX_SET 100
#define CONSOLIDATE_MAX_MISSES 64
/* Nodes that a set grows beyond its best share. */
#define CONSOLIDATE_MAX_BEYOND 12
/* Work units after which no other order of searching is begun: seconds, in very large fleets. */
#define CONSOLIDATE_MAX_AGAIN 4000000
/* Proportions of cpu and memory for which a lower bound of prices is known. */
#define CONSOLIDATE_MIXES 8
/* Less is no saving but the rounding of prices. */
#define CONSOLIDATE_LEAST_PUSD_H INT64_C(1000000)

#define NO_STEP (-1)

/* A managed node that is told about. */
struct cand {
    const struct snapshot_node *node;
    enum disruption_reason reason;
    bool candidate; /* passes the gates that one node decides */
    struct drift drift;
    int64_t price;           /* PRICE_UNKNOWN */
    int type;                /* in its pool's catalog, -1 */
    struct reason price_why; /* REASON_NONE: the price can be compared */
    int64_t disruption, raw; /* millionths; as Karpenter counts it */
    const uint32_t *pods;    /* numbers of those that move, in the order of placing */
    uint32_t n_pods;
    uint32_t kind;                      /* equal for nodes whose pods are of the same classes */
    int64_t potential;                  /* more than any set can save with it; of unknown price 0 */
    int64_t price_rank, potential_rank; /* these by disruption */
    uint32_t in_set;                    /* of the growth with this serial */
    bool received;                      /* pods were moved to it: it stays */
    const uint32_t *got;                /* their numbers, own ones first; for PHASE_STAYS */
    uint32_t n_got;
    bool hinted; /* in a same_price */
    bool sure;   /* to be replaced by itself for at least: */
    int64_t alone;
    int32_t step;
    struct reason why; /* it stays */
};

/* A step as it was found. */
struct found {
    struct consolidate_step out;
    struct cand **members; /* in the order in which they joined */
    uint32_t n_members;
    /* By number of the pod: to an existing node (node not NULL), or to the claim of that number. */
    struct found_move {
        uint32_t pod, way, claim;
        const struct snapshot_node *node;
    } * moves;
    uint32_t n_moves;
    struct resources *reserve; /* per claim */
};

struct workload {
    const char *uid;
    uint32_t pods;
};

/* A pool's prices in order: which type is the cheapest of a bitset, quickly. */
struct price_order {
    const struct snapshot_pool *pool;
    struct offer_mask offer;
    uint32_t *types;
    int64_t *prices;
    uint32_t n;
    struct price_order *next;
};

struct pool_rules {
    const struct snapshot_pool *pool;
    struct min_saving min_saving;
    bool min_saving_unreadable, return_to_weight;
    int64_t cost, raw;      /* of all its nodes */
    int64_t ever;           /* nodes that budgets ever allow at once */
    const uint64_t *exotic; /* catalog.h; NULL: no catalog */
    struct plan_budget budgets[3];
};

enum phase {
    PHASE_SETTLE,
    PHASE_EMPTY,
    PHASE_DRIFT,
    PHASE_HIDE, /* candidates take no pods until they are shown */
    PHASE_SHOW,
    PHASE_DELETE,
    PHASE_ALONE,
    PHASE_SEED,
    PHASE_GROW, /* from a seed only */
    PHASE_REPLACE,
    PHASE_STAYS, /* why nodes that got pods stay */
    PHASE_END,
    PHASE_REPLAY,
    PHASE_DONE
};

/* A whole search, to be compared with another one. */
struct attempt {
    struct found *found;
    uint32_t n_found;
    struct cand *cands; /* as they were at its end; NULL: they still are */
    int64_t saving;
    struct same_set *same; /* the last one first */
};

/* A set that fewer nodes could carry at the same price. */
struct same_set {
    struct same_set *next;
    struct cand **members;
    uint32_t n;
    struct same_price_in in[CONSOLIDATE_MAX_NEW];
    uint32_t n_in;
    int64_t price;
};

/* One more node of a set, and how to go back before it. */
struct grown {
    struct cand *cand;
    struct whatif_mark before;
};

/* The first n nodes of a set. */
struct best {
    uint32_t n;
    int64_t saving, potential;
};

struct growth {
    struct cand *seed;
    struct grown *nodes;
    uint32_t n, at; /* at: the next candidate to be tried */
    uint32_t misses, max_new, serial;
    int64_t out, potential; /* of all of them */
    /* So far; the best of all; and, with the number of nodes, as of the last new claim allowed. */
    struct best now, best, from;
    uint32_t from_n;
    struct whatif_mark start;
    struct same_set same; /* n 0: none so far */
    uint8_t *refused;     /* per kind: at this number of claims */
    int64_t *failed;      /* per kind: seeds of this price and less come to nothing */
};

struct consolidate {
    struct arena *a;
    const struct snapshot *snap;
    struct consolidate_options opt;
    struct candidate_in in; /* reason is set as needed */
    struct candidate_index index;
    struct pool_rules *pools;                                    /* parallel to the snapshot's */
    int64_t rates[RES_FIXED + CONSOLIDATE_MIXES - 1][RES_FIXED]; /* consolidate_price.c */
    struct cand *cands;                                          /* by pool, then name */
    uint32_t n_cands;
    struct cand **of_node; /* per node of the snapshot, NULL: not told about */
    struct cand **of_pod;  /* per moving pod */
    struct cand **ratio;   /* Underutilized ones, dearest per disruption first */
    struct cand **sets;    /* likewise by what a set could save */
    struct cand **drifted;
    uint32_t n_ratio, n_sets, n_drifted, n_kinds;
    struct workload *workloads; /* open addressing by owner's UID */
    uint32_t n_workloads;       /* slots, a power of two */
    const struct pod **moving;
    uint32_t n_moving;
    uint32_t *ranks;
    struct sched *s;
    struct price_order *orders;
    uint32_t try, step; /* which order of phases, and where in it */
    enum phase phase;
    uint32_t at;
    struct cand *fresh; /* candidates as they were before the first search */
    struct attempt best;
    struct growth g;
    struct same_set *same; /* the last one first */
    struct found *found;
    uint32_t n_found, cap_found;
    struct {
        const struct found **order;
        uint32_t ok; /* so many of them hold */
        bool as_found;
    } replay;
    size_t peak_bytes;
    uint64_t units; /* beside those of s */
    struct consolidate_result result;
};

/* ---- consolidate_price.c --------------------------------------------------------------------- */

struct worth {
    bool ok;
    struct reason why;
    int64_t out, in, saving;
    bool return_to_weight;
    uint32_t cut_types; /* 0: as many as there are */
};

/* The cheapest offering of any of the types; PRICE_UNKNOWN. */
int64_t price_cheapest(struct consolidate *c, const struct snapshot_pool *p, const uint64_t *types,
                       struct offer_mask offer);
/* Its name; SYM_NONE. */
sym price_cheapest_type(struct consolidate *c, const struct snapshot_pool *p, const uint64_t *types,
                        struct offer_mask offer);
/* Cheapest prices of the trial's claims; PRICE_UNKNOWN if one has none. */
int64_t price_of_claims(struct consolidate *c);
/* Is the trial at hand worth it? With `final` every rule is asked, and claims lose the types and
 * zones that are not. */
struct worth price_worth(struct consolidate *c, struct cand *const *members, uint32_t n,
                         bool final);
void price_pools(struct consolidate *c);
void price_rates(struct consolidate *c);
/* What a set could save at most with the node. */
int64_t price_potential(const struct consolidate *c, const struct cand *x);
/* And what all candidates could save together. */
int64_t price_most(const struct consolidate *c);

/* ---- consolidate_keep.c ---------------------------------------------------------------------- */

/* The trial at hand becomes a step. */
void keep_step(struct consolidate *c, struct cand **members, uint32_t n, enum step_kind kind,
               enum disruption_reason reason, const struct worth *w);

/* How many pods of the same workload there are, this one among them. */
uint32_t keep_replicas(const struct consolidate *c, const struct pod *p);

/* ---- consolidate_search.c -------------------------------------------------------------------- */

/* Each does one thing and returns false when its phase is over. */
bool search_empty(struct consolidate *c);
bool search_stays(struct consolidate *c);
bool search_drift(struct consolidate *c);
bool search_delete(struct consolidate *c);
bool search_alone(struct consolidate *c);
bool search_seed(struct consolidate *c);
bool search_grow(struct consolidate *c);
bool search_replace(struct consolidate *c);

/* ---- consolidate_same.c ---------------------------------------------------------------------- */

/* The growing set, whose new nodes cost that. */
void same_note(struct consolidate *c, int64_t in);
/* No step came of it. */
void same_keep(struct consolidate *c);
/* Those of the best search whose nodes stay are told. */
void same_take(struct consolidate *c);

/* ---- consolidate_replay.c -------------------------------------------------------------------- */

/* Puts the steps into the order of execution. */
void replay_begin(struct consolidate *c);
/* Plays the next step on a picture that was just started; false when all were played. */
bool replay_step(struct consolidate *c);
/* The first step did not hold in the order that is wanted: once more as they were found. */
bool replay_again(struct consolidate *c);
/* The steps that hold are the plan. */
void replay_take(struct consolidate *c);

/* ---- consolidate_verdict.c ------------------------------------------------------------------- */

void verdict_budgets(struct consolidate *c);
void verdict_all(struct consolidate *c);
void verdict_digests(struct consolidate *c);
int verdict_gate_of(enum reason_code code);

#endif
