/*
 * sched_fit.h - the scheduler's plug-ins: which nodes a pod may go to, and which it likes best.
 *
 * A filter answers with the reasons it has against a node, worded as kube-scheduler words them; the
 * first filter that has any ends the node's trial. A score gives a raw number per node, made 0..100
 * over the feasible nodes by its scale. New plug-ins are rows in sched_fit.c.
 */
#ifndef KARP_SIM_SCHED_FIT_H
#define KARP_SIM_SCHED_FIT_H

#include "tests/sim/kube/podspec.h"

#include <stddef.h>

#define SIM_WHYNOT_MAX 12
#define SIM_WHYNOT_TEXT 192

struct sim_sched_node {
    char *name;
    json_t *obj; /* NULL: pods are bound to it, but it does not exist (any more) */
    struct sim_res allocatable, used;
    int64_t used_nonzero_cpu_milli, used_nonzero_mem_bytes;
    bool unschedulable, tainted;
    size_t n_pods;
};

struct sim_sched_pod {
    char *uid, *ns, *name;
    json_t *obj;
    struct sim_res req;
    int64_t nonzero_cpu_milli, nonzero_mem_bytes;
    bool picky; /* has a nodeSelector or node affinity */
    int64_t priority;
    uint64_t class_hash;         /* pods of equal hash fit the same nodes */
    struct sim_sched_node *node; /* where it is, bound or assumed */
    /* queue */
    bool pending, active;
    uint64_t seq, tried_epoch;
    unsigned attempts;
    int64_t next_try_ns;
};

struct sim_whynot {
    char reasons[SIM_WHYNOT_MAX][SIM_WHYNOT_TEXT];
    size_t n;
};

/* True if the pod may go there; else why says why not. */
bool sim_fit(const struct sim_sched_pod *p, const struct sim_sched_node *n, struct sim_whynot *why);

/* Total score of each of the feasible nodes. */
void sim_score(const struct sim_sched_pod *p, struct sim_sched_node *const *nodes, size_t n,
               int64_t *ret);

#endif
