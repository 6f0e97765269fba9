/*
 * usage.h - what is bound to each node, computed once from all pods.
 */
#ifndef KARP_CMD_USAGE_H
#define KARP_CMD_USAGE_H

#include "common/core/snapshot.h"
#include "world.h"

/* An array parallel to the world's nodes; NULL entries have no pods. In a. */
const struct node_usage *const *usage_build(const struct world *w, struct arena *a);

#endif
