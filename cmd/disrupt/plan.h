/*
 * plan.h - a decision as `simulate` and others tell it: who goes where, in the order of names.
 */
#ifndef KARP_CMD_PLAN_H
#define KARP_CMD_PLAN_H

#include "cmd/report.h"

/* Pods planned onto one node that is there or on its way. */
struct plan_node {
    const struct snapshot_node *node;
    const struct pod **pods; /* by name */
    uint32_t n_pods, cap;
};

struct plan_refusal {
    const struct sched_refusal *refusal;
    const struct explanation *why; /* shared by pods of one class; NULL at pod level */
};

struct plan_preference {
    const struct pod *pod;
    const char *rule;
};

struct plan {
    struct plan_node *nodes; /* by name */
    uint32_t n_nodes, cap_nodes;
    const struct sched_claim **claims; /* by pool, then as they were opened */
    uint32_t n_claims;
    struct plan_refusal *refused; /* by pod; those that are karp's business */
    uint32_t n_refused;
    struct plan_preference *preferences; /* given up, by pod */
    uint32_t n_preferences;
    uint32_t placed_existing, placed_new;
    int64_t price_pusd_h; /* sum over claims with a price */
    bool estimated;
};

/* In s->a; s has been decided. */
void plan_build(struct session *s, struct plan *ret);

/*
 * report_warnings, and what this plan should be taken with care for: WorkloadShare, where more than
 * half of a workload's pods (of three or more) would lie on one node; NakedPod, pods that nobody
 * makes anew when their node goes. Appends.
 */
void plan_warnings(json_t *list, struct session *s, const struct plan *p);

#endif
