/*
 * outcome.h - what becomes of a plan: how many of the planned pods run once its nodes have come.
 *
 * Pods that are alike are one crowd: who of them runs is all the same, even if the plan refuses
 * some. Pods of a crowd that are planned and have no node in the end are stranded. A cause is
 * counted for each, by the strictest rule that keeps the pod from a node, as the scheduler tells.
 */
#ifndef KARP_SIM_DIFF_OUTCOME_H
#define KARP_SIM_DIFF_OUTCOME_H

#include "stage.h"

enum cause {
    CAUSE_DISPLACED, /* a pod that the plan refuses runs instead */
    CAUSE_VOLUME,
    CAUSE_SPREAD,
    CAUSE_AFFINITY, /* between pods */
    CAUSE_PORTS,
    CAUSE_NODE, /* labels and taints: what has room is not for it */
    CAUSE_ROOM, /* every node would do, none has room */
    CAUSES,
};
extern const char *const cause_names[CAUSES];
extern const char *const stage_order_names[STAGE_ORDERS];

/* Of one or many clusters. */
struct outcome {
    uint64_t planned, launched;
    int64_t price_pusd_h;
    uint64_t ran[STAGE_ORDERS], stranding[STAGE_ORDERS]; /* clusters that strand a pod */
    uint64_t lost, causes[CAUSES];                       /* stranded pods, in all orders */
    uint64_t ever;                                       /* clusters that do in any order */
};

typedef void (*pod_fn)(void *ctx, const struct pod *p, const char *node);
/* Planned pods with the node that they are planned on. */
void outcome_each_planned(const struct sched_result *r, pod_fn fn, void *ctx);

/* Plays the plan of a settled cluster in every order, and tells it pod by pod if asked to. */
int outcome_play(const struct diff_plan *plan, const struct diff_cluster *settled, bool tell,
                 struct outcome *ret, struct err *reterr);
void outcome_add(struct outcome *o, const struct outcome *more);

#endif
