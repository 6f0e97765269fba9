/*
 * limits.h - does a pool hold more than its limits? And the small looks at objects that this and
 * invariants.c share.
 *
 * Claims that are not being deleted count, with the capacity in their status; nodes count claims.
 * What is being replaced and its replacement (annotation karp.dev/replaces) count once, the greater
 * of both: until the replacement has joined, and then as long as the old node is tainted for it.
 */
#ifndef KARP_SIM_LIMITS_H
#define KARP_SIM_LIMITS_H

#include "tests/sim/kube/api.h"

#define POOL_LABEL "karpenter.sh/nodepool"

/* The change makes a claim larger, and of this resource its pool then exceeds its limit. NULL: it
 * does not. */
const char *limits_broken(const struct sim_api *api, const struct sim_change *c);

const char *look_text(const json_t *map, const char *key); /* NULL */
const char *look_label(const json_t *o, const char *key);  /* NULL */
bool look_going(const json_t *o);
bool look_stays(const json_t *pod); /* neither gone nor going */
/* The Node has karpenter.sh/disrupted. */
bool look_disrupted(const json_t *node);

#endif
