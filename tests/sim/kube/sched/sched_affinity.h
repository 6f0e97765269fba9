/*
 * sched_affinity.h - the plug-in InterPodAffinity: required terms of the pod, required
 * anti-affinity of the pods that are placed already (the inverse), and the preferences of both
 * sides as score (required affinity of placed pods counts as a preference of weight 1).
 *
 * A term speaks of the pods that its labelSelector selects (with matchLabelKeys and
 * mismatchLabelKeys), in its namespaces, in those that its namespaceSelector selects, or, with
 * neither, in the namespace of the pod that has the term.
 */
#ifndef KARP_SIM_SCHED_AFFINITY_H
#define KARP_SIM_SCHED_AFFINITY_H

#include "sched_cache.h"
#include "sched_count.h"

struct sim_affinity {
    const json_t *must, *must_not; /* terms of the pod; NULL = none */
    bool self;                     /* the pod matches all terms of must itself */
    struct sim_count with;         /* pods that match all of must, by domain of each term */
    struct sim_count without;      /* pods that match a term of must_not */
    struct sim_count refused;      /* placed pods whose anti-affinity speaks of this one */
    uint64_t refused_keys;         /* bit: number of the key */
};

void sim_affinity_read(struct sim_cluster *c, const struct sim_sched_pod *p,
                       struct sim_affinity *ret);
/* NULL if the pod may go there, else why not; *ret_final: no other pods' going would help. */
const char *sim_affinity_fit(struct sim_cluster *c, const struct sim_affinity *a,
                             struct sim_sched_node *n, bool *ret_final);
/* Adds weight * score (0..100) of each of the feasible nodes. */
void sim_affinity_score(struct sim_cluster *c, const struct sim_sched_pod *p,
                        struct sim_sched_node *const *nodes, size_t n, int64_t weight,
                        int64_t *ret);
void sim_affinity_done(struct sim_affinity *a);

#endif
