/*
 * workloads.h - kube-controller-manager: what turns workloads into pods, and what cleans up.
 *
 * Deployment -> ReplicaSet -> pods with rolling updates, DaemonSet, the garbage collector (gc.h),
 * the node lifecycle controller, taint eviction, pod GC and the cloud controller's node deletion
 * (ctl/nodelife.c). Controllers are level-triggered: a change marks an object's key dirty; one
 * timer later all dirty keys are reconciled in the order they were marked.
 *
 * Which pods a ReplicaSet gives up first is upstream's ActivePodsWithRanks, see
 * sim_replicaset_rank.
 */
#ifndef KARP_SIM_WORKLOADS_H
#define KARP_SIM_WORKLOADS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define SIM_WORKLOADS_DELAY_NS (5 * NS_PER_MS) /* change to reconcile */

struct sim_world;
struct sim_workloads;

struct sim_workloads *sim_workloads_new(struct sim_world *w);
void sim_workloads_free(struct sim_workloads *c);
void sim_workloads_stop(struct sim_workloads *c);
void sim_workloads_start(struct sim_workloads *c);
/* A kubelet fell silent (kubelet.c tells): the node lifecycle controller has something to watch. */
void sim_workloads_node_silent(struct sim_workloads *c);
/* Volumes attached to the node are not detached any more (or are again), see ctl/volumes.h. */
void sim_workloads_hold_volumes(struct sim_workloads *c, const char *node, bool hold);

/*
 * One pod as the ranking sees it; the order of deletion is: not assigned before assigned, Pending
 * before Unknown before Running, not ready before ready, lower
 * controller.kubernetes.io/pod-deletion-cost, more active pods of related ReplicaSets on its node
 * (rank), ready for a shorter time, more restarts, younger. Times are compared on a logarithmic
 * scale (base 2, nanoseconds); within one step of it the UID decides.
 */
struct sim_victim {
    const json_t *pod;
    const char *uid;
    bool assigned, ready;
    int phase; /* 0 Pending, 1 Unknown, 2 Running */
    int64_t cost;
    int rank;
    int64_t ready_wall_ns; /* 0 = not known */
    int64_t restarts;
    int64_t created_wall_ns;
};

/* Fills all but rank. */
void sim_victim_read(const json_t *pod, struct sim_victim *ret);
/* < 0 if a goes before b; 0 if upstream leaves it open. */
int sim_victim_order(const struct sim_victim *a, const struct sim_victim *b, int64_t now_wall_ns);
/* Sorts those to go first to the front. */
void sim_victim_sort(struct sim_victim *v, size_t n, int64_t now_wall_ns);

#endif
