/*
 * sched_spread.h - the plug-in PodTopologySpread: the pod's own constraints, hard ones as filter
 * and ScheduleAnyway ones as score, and for pods without any the profile's defaults over the
 * Services and the controller that select the pod: a list, or else the built-in ones (hostname with
 * maxSkew 3, zone with 5, as score).
 *
 * As upstream: only nodes that have the keys of all constraints count, and of these the ones that
 * nodeAffinityPolicy (default Honor) and nodeTaintsPolicy (default Ignore) let in; with fewer
 * domains than minDomains the least count is 0; terminating pods do not count; matchLabelKeys add
 * the pod's own values to the selector.
 */
#ifndef KARP_SIM_SCHED_SPREAD_H
#define KARP_SIM_SCHED_SPREAD_H

#include "sched_cache.h"
#include "sched_count.h"

#define SIM_SPREAD_MAX 16

struct sim_spread_rule {
    int key;
    int64_t max_skew, min_domains;
    const json_t *selector; /* NULL: matches nothing */
    json_t *more;           /* labels that must match too; owned, may be NULL */
    bool self;              /* the pod matches it */
    bool honor_affinity, honor_taints, hostname;
    struct sim_count seen;  /* domain -> 1 if there is such a domain among the nodes that count */
    struct sim_count match; /* pods */
    int64_t least, domains;
    double weight; /* of a score */
};

struct sim_spread {
    struct sim_spread_rule rules[SIM_SPREAD_MAX];
    size_t n;
    bool all_keys; /* nodes without any of the keys are left out */
    json_t *owned; /* a selector made here; NULL = none */
};

/* The DoNotSchedule constraints; ret->n is 0 if there are none. */
void sim_spread_hard(struct sim_cluster *c, const struct sim_sched_pod *p, struct sim_spread *ret);
/* NULL if the pod may go there, else why not; *ret_final: no other pods' going would help. */
const char *sim_spread_fit(struct sim_cluster *c, const struct sim_spread *s,
                           struct sim_sched_node *n, bool *ret_final);
/* Adds weight * score (0..100) of each of the feasible nodes. */
void sim_spread_score(struct sim_cluster *c, const struct sim_sched_pod *p,
                      struct sim_sched_node *const *nodes, size_t n, int64_t weight, int64_t *ret);
void sim_spread_done(struct sim_spread *s);

#endif
