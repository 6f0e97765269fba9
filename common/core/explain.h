/*
 * explain.h - how far a pod got, out of the pass that decided about it.
 *
 * After a pass with record_reasons its state still stands: what nodes have left, which claims were
 * opened, what the limits leave. A pod is explained against exactly that state, by the same
 * functions that placed and refused: nothing is decided a second time by other rules.
 *
 *  - Per pool: the first true obstacle (REASON_NONE if a node would be opened for one more such
 *    pod), the funnel of instance types, and what came nearest.
 *  - Funnel: instance types left after each step, steps in the order of the reason codes. The first
 *    step is PoolNotReady with all types of the pool; Requirement has one step per label, by
 *    string. The last step of a refused pod is that of the obstacle, with 0 left.
 *  - Existing nodes: in groups by what they have against the pod, furthest along the codes first,
 *    then the larger group. Nodes that take no pods at all come as Deleting or, cordoned, as Taint.
 *    In a group of Resources the nearest is the node that lacks the least, elsewhere the first by
 *    name. Nodes that would take one more such pod are a group as well (FitsExisting, or
 *    WaitingForNode while they are not initialized), unless the pod is refused wherever it asks.
 *
 * Of several required node-affinity terms the one that gets furthest speaks.
 *
 * A pod that has its place is explained against what the pass left as well, itself included: so
 * what later pods took is taken. Its own node counts among those that take it, and its claim's pool
 * opens a node for it, with that claim's types in the end of the funnel.
 */
#ifndef KARP_CORE_EXPLAIN_H
#define KARP_CORE_EXPLAIN_H

#include "common/core/sched/sched.h"

struct explain_step {
    enum reason_code code;
    sym key; /* Requirement: the label */
    uint32_t left;
};

struct explain_pool {
    const struct snapshot_pool *pool;
    struct reason reason;
    const struct explain_step *steps; /* none if the pool's types are not known */
    uint32_t n_steps;
    /* the nearest type, SYM_NONE if no type can be named */
    sym nearest;
    struct resources missing;   /* Resources, Limit: what it lacks, of each resource */
    int64_t price_pusd_h;       /* its cheapest available offering, PRICE_UNKNOWN */
    sym zone;                   /* where, SYM_NONE */
    enum capacity_type captype; /* CT_COUNT */
    /* Limit: the type of which the pool may still have one and that holds most of the pod,
     * SYM_NONE; and the room on it beside DaemonSets */
    sym under_limit;
    struct resources under_limit_room;
};

struct explain_nodes {
    struct reason reason;
    uint32_t count;
    const struct snapshot_node *nearest;
    struct resources missing; /* of nearest, with Resources */
};

struct explanation {
    const struct pod *pod;
    struct reason reason; /* pod level, or the nearest pool's; REASON_NONE if it has a place */
    const struct explain_pool *pools; /* nearest first, then by weight */
    uint32_t n_pools;
    const struct explain_nodes *nodes;
    uint32_t n_nodes;
    uint32_t nodes_seen;
};

/* Pods that ask for the same are one class of the pass: the number of that of a pod, by its place
 * in the snapshot. Pods of one class get equally far. */
uint32_t explain_class(const struct sched *s, uint32_t pod);
/* Where the pass put a pod: one of both, or neither. */
struct explain_home {
    const struct snapshot_node *node;
    const struct sched_claim *claim;
};

/* s: a pass that is over; pod: its place in the snapshot. Everything returned is in the pass's
 * arena. */
void explain_pod(struct sched *s, uint32_t pod, struct explain_home home, struct explanation *ret);

/*
 * A refusal as one text of at most max bytes: every pool with its reason, nearest first, pools with
 * the same reason together; what does not fit is counted ("and 3 more nodepools"). Events and
 * screens say the same.
 */
void explain_refusal_fmt(const struct symtab *t, const struct sched_refusal *r, size_t max,
                         struct buf *out);

#endif
