/*
 * snapshot_pods.h - the pods of a snapshot, once its nodes are there; for snapshot.c alone.
 */
#ifndef KARP_CORE_SNAPSHOT_PODS_H
#define KARP_CORE_SNAPSHOT_PODS_H

#include "snapshot.h"

struct snapshot_work *snapshot_pods_begin(struct arena *a, const struct snapshot_in *in,
                                          struct snapshot *out);

#endif
