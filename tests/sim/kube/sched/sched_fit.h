/*
 * sched_fit.h - one scheduling cycle of one pod: which nodes it may go to, and which it likes best.
 *
 * A cycle begins with what can be found out about the pod once (volumes, counts per topology
 * domain); it holds until anything is placed or taken away. A filter answers with the reasons it
 * has against a node, worded as kube-scheduler words them; the first filter that has any ends the
 * node's trial. A score gives a raw number per node, made 0..100 over the feasible nodes by its
 * scale; the plug-ins about topology scale themselves. New plug-ins are rows in sched_fit.c.
 */
#ifndef KARP_SIM_SCHED_FIT_H
#define KARP_SIM_SCHED_FIT_H

#include "sched_affinity.h"
#include "sched_cache.h"
#include "sched_spread.h"
#include "sched_volume.h"

#define SIM_WHYNOT_MAX 12
#define SIM_WHYNOT_TEXT 192

struct sim_whynot {
    char reasons[SIM_WHYNOT_MAX][SIM_WHYNOT_TEXT];
    size_t n;
    bool final; /* it would not fit either if other pods went */
};

struct sim_cycle {
    struct sim_cluster *c;
    const struct sim_sched_pod *p;
    struct sim_pod_volumes volumes;
    struct sim_spread spread;
    struct sim_affinity affinity;
};

/* False, with cy->volumes.refused set, if the pod can go nowhere. sim_cycle_end in any case. */
bool sim_cycle_begin(struct sim_cycle *cy, struct sim_cluster *c, const struct sim_sched_pod *p);
void sim_cycle_end(struct sim_cycle *cy);

/* True if the pod may go there as things are; else why says why not. */
bool sim_fit(const struct sim_cycle *cy, struct sim_sched_node *n, struct sim_whynot *why);
/* The same, also if the pods that are nominated for the node, with at least the same priority, were
 * there already. */
bool sim_fit_nominated(const struct sim_cycle *cy, struct sim_sched_node *n,
                       struct sim_whynot *why);

/* Total score of each of the feasible nodes. */
void sim_score(const struct sim_cycle *cy, struct sim_sched_node *const *nodes, size_t n,
               int64_t *ret);

#endif
