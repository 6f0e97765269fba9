/*
 * crowd.h - pods that are alike for a PodDisruptionBudget: same namespace, labels and controller.
 * A crowd counts its members, so that a budget asks its selector once per crowd and not per pod.
 */
#ifndef KARP_SIM_CROWD_H
#define KARP_SIM_CROWD_H

#include "common/base/map.h"
#include "tests/sim/kube/api.h"

struct sim_crowd {
    char *key, *ns;
    json_t *labels;     /* may be NULL */
    json_t *controller; /* owner reference; NULL = none */
    int64_t n;          /* pods, also those that are over */
    int64_t healthy;    /* ready and not being deleted */
};

struct sim_crowds {
    struct map *all;     /* key -> struct sim_crowd */
    struct map *members; /* pod uid -> its place in one */
};

void sim_crowds_init(struct sim_crowds *c);
void sim_crowds_done(struct sim_crowds *c);
/* Follows a change of a pod. */
void sim_crowds_change(struct sim_crowds *c, const struct sim_change *ch);

#endif
