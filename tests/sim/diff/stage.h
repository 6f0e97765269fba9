/*
 * stage.h - a plan set up in the simulated cluster: its objects, a node for each claim that is on
 * its way or planned, the pods of DaemonSets on all of them, and the pods that wait.
 *
 * A planned claim becomes a node of its cheapest type at its cheapest place (by chance among equal
 * ones), as a launch by price would have it, with the labels and taints of pool and type, and the
 * allocatable that the catalog promises. It is called "new-N" for the plan's claim N; a NodeClaim
 * on its way becomes a node of its own name. Startup taints are off already. Where nodes have
 * CSINodes the new ones get one that says the same.
 *
 * The scheduler is stopped once the pods of DaemonSets are where they belong, so that questions can
 * be asked of its filters; stage_run lets it place what waits.
 */
#ifndef KARP_SIM_DIFF_STAGE_H
#define KARP_SIM_DIFF_STAGE_H

#include "plan.h"
#include "tests/sim/kube/sched/sched_part.h"

#define STAGE_NAME 64
#define STAGE_TRIAL "trial" /* no node, but there is a CSINode of that name */

struct stage {
    const struct diff_cluster *cluster;
    const struct diff_plan *plan;
    struct sim_world *world;
    struct sim_cluster *sched; /* what the scheduler knows */
    json_t *launched;          /* array: Nodes that claims became, on their way or planned, and
                                * their CSINodes */
};

/* A place where an instance could be launched. */
struct stage_offer {
    const struct snapshot_pool *pool;
    uint32_t type, zone;
    enum capacity_type ct;
};

int stage_set(const struct diff_cluster *c, const struct diff_plan *p, struct stage *ret,
              struct err *reterr);
void stage_done(struct stage *s);

/* The node that would come up there; labels (borrowed) are what pool and type leave open. New
 * reference. */
json_t *stage_node(const struct stage *s, const struct stage_offer *o, const json_t *labels,
                   const char *name);
/* Name of the node that a placement of the plan means. */
void stage_name_new(uint32_t claim, char dst[STAGE_NAME]);
/* What the scheduler knows of a pod of the plan. */
struct sim_sched_pod *stage_pod(const struct stage *s, const struct pod *p);

/*
 * Life beside: the scheduler has long tried what is there when somebody looks for new nodes. First
 * the cluster settles: what waits goes where it can, with the nodes that are there and ready; the
 * result is a cluster like any other, in which the rest still waits. A plan for that is played: the
 * nodes on their way and the new ones come, at first for DaemonSets only, and the scheduler, which
 * never stands still, binds pods. `launched` is in the order in which they come.
 */
enum stage_order {
    STAGE_AT_ONCE,
    STAGE_ONE_BY_ONE, /* in an order of chance */
    STAGE_ORDERS,
};
int stage_settle(const struct diff_cluster *c, struct diff_cluster *ret, struct err *reterr);
/* The stage at the end. */
int stage_play(const struct diff_cluster *settled, const struct diff_plan *p,
               enum stage_order order, struct stage *ret, struct err *reterr);

/* Two minutes of the scheduler. */
void stage_run(struct stage *s);
/* The node that the pod is bound to now, "" = it waits; *ret_why (may be NULL) is what the
 * scheduler says then, borrowed until the next write. */
const char *stage_where(const struct stage *s, const struct pod *p, const char **ret_why);

#endif
