/*
 * judge.h - a plan before kube-scheduler's filters, as the simulator has them.
 *
 * Asked is
 *  - whether there is an order in which the planned pods could be bound as planned;
 *  - whether, once all are, a pod that the plan refuses would fit somewhere: on a node that is
 *    there, on one that is planned, or on a new one of any pool, instance type, zone and capacity
 *    type that pool and limits leave. All of them are tried, each by itself: as the scheduler binds
 *    one pod after the other, pods that could only come together could not come at all.
 *
 * The rules that the core takes more strictly on purpose are not held against it. Over host names
 * the least count of a spread is 0, and a domain that a pool could add is one for every pod that
 * could go there, with or without a node in it, within what limits left at first (sched_topo.h). A
 * cordoned node is no place, though a pod may tolerate that (snapshot.h). A DaemonSet that only
 * runs in some of the zones or with some of the capacity types of a pool counts on all new nodes
 * (template.h). A planned claim that leaves zone or capacity type open counts in none of them for a
 * spread, wherever its node comes up.
 *
 * Against limits planned claims count with the largest capacity that their types have. A pool with
 * minValues gets a new node only if that many of its types would do; the one type that a planned
 * claim became here says nothing of that, so its nodes take nobody else.
 */
#ifndef KARP_SIM_DIFF_JUDGE_H
#define KARP_SIM_DIFF_JUDGE_H

#include "stage.h"

#define JUDGE_FOUND_MAX 16

struct judgement {
    char *found[JUDGE_FOUND_MAX]; /* one sentence each, heap */
    size_t n;
};

/* The stage is as before when it returns. */
void judge(struct stage *s, struct judgement *ret);
void judge_add(struct judgement *j, const char *fmt, ...) PRINTF(2, 3);
void judge_done(struct judgement *j);

#endif
