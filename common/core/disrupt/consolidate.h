/*
 * consolidate.h - what should go: empty, drifted and underutilized nodes, as one ordered plan.
 *
 * A plan is a sequence of steps. A step takes nodes away, moves their pods to nodes that stay and
 * to at most as many new ones, and is worth it by itself; it assumes only the steps before it.
 * Every pod moves at most once in a plan: a node that got pods stays. Each step is found and
 * checked by the very placement that provisioning uses (sched.h), on one picture of the cluster
 * with undo, and the finished plan is replayed from the start; a step that does not hold is left
 * out with all that come after it.
 *
 * Rules, as Karpenter unless marked:
 *  - pending pods and those of nodes that leave already are placed first. Those that find no place
 *    neither help nor block (ours). A node on which one is placed is Nominated.
 *  - pods go to initialized nodes and new claims, never to a node that is still coming up. Soft
 *    rules about other pods are given up rather than opening a node (ours), and listed.
 *  - a replacement is strictly cheaper, by a millionth of a dollar at least (prices are rounded):
 *    every type, zone and capacity type that it may be launched as. Types and zones that are dearer
 *    are taken off, minValues permitting. It is pinned to the capacity type of its cheapest way, so
 *    that a failed spot launch becomes nothing dearer. Several nodes are not merged into one like
 *    one of them. Unknown prices are never guessed: a node without price is deleted or stays.
 *  - spot is replaced by spot only if that is switched on; a single node needs spot_min_types
 *    cheaper types, and the list is cut to the cheapest so many.
 *  - min-saving (ours): of the price of what leaves, or in $/h; for every step but Empty and
 *    Drifted.
 *  - Balanced: the step's share of the pool's price must be at least half its share of the pool's
 *    disruption.
 *  - return-to-weight (ours): a node of a lighter pool whose pods fit a heavier one at no higher
 *    price is replaced there.
 *  - Drifted: any number of replacements at any price; oldest first, empty ones before all.
 *
 * Order: steps are searched by money saved per unit of disruption (candidate.h). First each node by
 * itself (delete, else replace), then sets grown node by node around each seed into common new
 * nodes, of at most a hundred; the better way is taken. Where much is left that could be saved
 * (a lower bound of what the pods cost anywhere tells), other orders of searching are tried and the
 * best plan is taken; in these a set grows to the size that saves the greatest share of what its
 * members could save, not the most. Steps are executed by score as far as they hold in that order.
 * Work units bound it all: one is one pod class tried against one place (sched.h) or one candidate
 * looked at.
 *
 * Budgets do not shorten the plan: steps carry what holds them back now. But no step takes more
 * nodes of a pool than its budgets ever allow at once (at least one).
 *
 * Resumable: begin, step(units) until it says done, result. Slicing and the order of input never
 * change the result. Everything lives in the arena given to begin, but work space that is given
 * back at the end. A step may do a little more than it was given: the largest thing that is not
 * cut is one candidate with its pods.
 */
#ifndef KARP_CORE_CONSOLIDATE_H
#define KARP_CORE_CONSOLIDATE_H

#include "candidate.h"
#include "common/core/sched/sched.h"
#include "drift.h"

/* "10%", "0.02". False if it is neither. */
bool consolidate_parse_saving(const char *text, struct min_saving *ret);

struct consolidate_options {
    struct sched_options sched;  /* min_values, max_types, max_share; preference Respect means as
                                  * told above, Ignore is Ignore */
    unsigned reasons;            /* bits of disruption_reason; Empty and Underutilized */
    bool spot_to_spot;           /* feature gate SpotToSpotConsolidation (off) */
    uint32_t spot_min_types;     /* 15 */
    uint32_t max_new_types;      /* types of a replacement that are told (60) */
    uint32_t balanced_permyriad; /* least score of Balanced (5000) */
    /* Where the pool has no annotation. */
    struct min_saving min_saving;
    int64_t min_node_life_ns;
    bool return_to_weight;
    /* For people who ask "what if". */
    uint32_t max_steps;  /* 0 = all */
    bool any_policy;     /* as though no pool kept its nodes by its policy (candidate.h) */
    bool ignore_budgets; /* steps are not held by Budget, and sets not bounded by it */
    int64_t budgets_ns;  /* the time budgets are read at; 0 = the snapshot's */
    bool upstream;       /* another controller is in charge: drift from conditions only */
    uint64_t max_units;  /* past it the plan is truncated; 0 = no limit */
    /* Nodes that may be in the plan; NULL: all. Others stay and are not told about. */
    bool (*selected)(void *ctx, const struct snapshot_node *n);
    void *selected_ctx;
};
void consolidate_options_default(struct consolidate_options *o);

/* ---- the plan -------------------------------------------------------------------------------- */

enum step_kind { STEP_EMPTY, STEP_DELETE, STEP_REPLACE };
const char *consolidate_kind_name(enum step_kind k); /* "empty", "delete", "replace" */

struct step_out {
    const struct snapshot_node *node;
    int64_t price_pusd_h; /* PRICE_UNKNOWN: not counted in the saving */
    uint32_t pods_moved;
    const char *drift; /* reason of drift, or NULL */
};

struct step_in {
    const struct snapshot_pool *pool;
    struct sched_claim claim; /* types: cheapest first, all allowed; offer: zones, capacity types */
    int64_t price_pusd_h;     /* cheapest offering of the first type */
    int64_t worst_pusd_h;     /* dearest that may be launched */
};

struct step_move {
    const struct pod *pod;
    const struct snapshot_node *from, *to; /* to NULL: to_new */
    uint32_t to_new;                       /* number in the step's `in` */
};

struct step_preference {
    const struct pod *pod;
    const char *rule; /* as `simulate` names it */
};

struct consolidate_step {
    uint32_t id; /* from 1 */
    enum step_kind kind;
    enum disruption_reason reason;
    const struct step_out *out; /* by pool, then name */
    uint32_t n_out;
    const struct step_in *in; /* by pool, then as opened */
    uint32_t n_in;
    const struct step_move *moves; /* by namespace and name of the pod */
    uint32_t n_moves;
    int64_t price_out_pusd_h, price_in_pusd_h, saving_pusd_h;
    int64_t disruption_micro; /* candidate_disruption, summed up */
    int64_t score;         /* saving in millionths of a dollar per hour, per unit of disruption */
    bool return_to_weight; /* worth it for the heavier pool's sake */
    const struct pod *const *singles; /* the only replica of their workload, by name */
    uint32_t n_singles;
    const struct pod *const *naked; /* without a controller: nobody makes them again */
    uint32_t n_naked;
    const struct step_preference *given_up; /* by pod */
    uint32_t n_given_up;
    /* Held, Budget, Denied, ApprovalPending, in this order; none: could start now. */
    const struct reason *held_by;
    uint32_t n_held_by;
    char digest[65]; /* planDigest, see plan.h */
};

/* Every managed, selected node is in exactly one step or has a verdict why it stays. */
struct node_verdict {
    const struct snapshot_node *node;
    int64_t price_pusd_h;
    int32_t step; /* its step's place in `steps`, or -1 */
    /* In a step: Empty, Consolidatable or Drifted. Else the first failing gate that is none of
     * Held, Budget, Denied, ApprovalPending. */
    struct reason reason;
};

struct plan_budget {
    const struct snapshot_pool *pool;
    enum disruption_reason reason;
    /* nodes of the pool that count; allowed and remaining are never more */
    int64_t nodes, allowed, disrupting, remaining;
    int64_t opens_ns;  /* allowed is 0 now and more from then on; 0 = not within the horizon */
    int64_t closes_ns; /* allowed is more than 0 now and 0 from then on */
};

/* Nodes whose pods would fit on fewer new ones at the same price (ours): no step, but worth a word,
 * because each carries its DaemonSets. They all stay in this plan. */
struct same_price {
    const struct snapshot_node *const *out; /* by pool, then name; at least two */
    uint32_t n_out;
    const struct same_price_in *in; /* fewer */
    uint32_t n_in;
    int64_t price_pusd_h; /* of all that leave, and of all that come */
};
struct same_price_in {
    const struct snapshot_pool *pool;
    sym type;
};

struct consolidate_result {
    const struct consolidate_step *steps; /* in the order of execution */
    uint32_t n_steps;
    const struct node_verdict *nodes; /* by pool, then name */
    uint32_t n_nodes;
    const struct same_price *same; /* as they were found */
    uint32_t n_same;
    const struct plan_budget *budgets; /* pools by name; Underutilized, Empty, Drifted */
    uint32_t n_budgets;
    int64_t price_pusd_h; /* of the nodes told about, those of unknown price left out */
    int64_t saving_pusd_h;
    uint32_t nodes_out, nodes_in, pods_moved;
    uint64_t work_units;
    size_t peak_bytes; /* of work space beside the arena, which is given back */
    bool truncated;    /* work units ran out: what was found is good, there may be more */
    bool cut_short;    /* max_steps */
    char digest[65];   /* see plan.h */
};

struct consolidate;

struct consolidate *consolidate_begin(struct arena *a, const struct snapshot *s,
                                      const struct candidate_facts *facts,
                                      const struct consolidate_options *o);
/* Works for at most about `units` more; true when there is nothing left to do. */
bool consolidate_step(struct consolidate *c, uint64_t units);
/* Only after consolidate_step said true. Borrowed from the arena. The first call makes the digests,
 * which takes longer than finding the plan as a rule. */
const struct consolidate_result *consolidate_result(struct consolidate *c);

/* Gives work space back that is not in the arena. Only needed if it is given up before
 * consolidate_step said true; the result stays. NULL is fine. */
void consolidate_end(struct consolidate *c);

/* All gates of one managed node for the reason that it is in the plan for, or would be. Only after
 * consolidate_step said true. */
void consolidate_gates(struct consolidate *c, const struct snapshot_node *n,
                       struct candidate_gate ret[GATE_COUNT]);
/* For rows of `explain node`: candidate_pod as this decision sees it. */
struct reason consolidate_pod(struct consolidate *c, const struct pod *p);

#endif
