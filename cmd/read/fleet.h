/*
 * fleet.h - a decision's snapshot counted: nodes, pods, use, money; per pool and in all.
 *
 * A node is managed if a NodeClaim has its providerID or it carries karpenter.sh/nodepool. Its
 * state is the first of: draining (marked for leaving), lost (a claim that had its Node and has it
 * no more), launching (a claim whose node is not initialized), ready, not ready. Use is requests of
 * bound pods against allocatable, of managed nodes.
 */
#ifndef KARP_CMD_FLEET_H
#define KARP_CMD_FLEET_H

#include "cmd/disrupt/decide.h"

struct cost {
    int64_t pusd_h; /* sum of what has a price */
    uint32_t priced;
    uint32_t unpriced; /* running nodes without one: then the sum is a lower bound */
    bool estimated;
};

enum node_state { NODE_DRAINING, NODE_LOST, NODE_LAUNCHING, NODE_READY, NODE_NOT_READY };

struct fleet_count {
    uint32_t state[NODE_NOT_READY + 1];
    uint32_t initialized; /* nodes, draining ones among them */
    uint32_t counted;     /* by budgets */
    uint32_t disrupting;  /* of those: leaving, not ready or without their Node */
    uint32_t spot;        /* of the initialized ones */
    int64_t requested_cpu_milli, allocatable_cpu_milli;
    int64_t requested_mem_bytes, allocatable_mem_bytes;
    struct cost cost;
};

struct fleet_pool {
    const struct snapshot_pool *pool;
    struct fleet_count n;
};

struct fleet {
    struct fleet_pool *pools; /* by name */
    size_t n_pools;
    struct fleet_count all;
    uint32_t unmanaged;
    uint32_t bound;             /* pods */
    uint32_t waiting_bind;      /* have their place on a node that is there */
    uint32_t waiting_launching; /* on one that is on its way */
    uint32_t waiting_new;       /* a node would be launched for them */
    uint32_t unschedulable, gated;
};

void fleet_count(const struct world *w, const struct decision *d, const struct prices *p,
                 struct arena *a, struct fleet *ret);

bool fleet_managed(const struct snapshot_node *n);
enum node_state fleet_state(const struct snapshot_node *n);
/* The single value of a label of the node, NULL if it has none. */
const char *fleet_label(const struct snapshot *s, const struct snapshot_node *n, sym key);
/* The price of a node that runs. */
int64_t fleet_price(const struct snapshot *s, const struct snapshot_node *n, const struct prices *p,
                    bool *ret_estimated);

#endif
