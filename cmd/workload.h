/*
 * workload.h - pods of a workload, added and taken away among kept objects.
 *
 * A pod belongs to a workload that its controller reference names; to a Deployment also through a
 * ReplicaSet named after it ("api-5d4f8c7b9"); and if it has no controller at all, to the one whose
 * matchLabels it carries. Pods that are over or on their way out do not count.
 *
 * New pods are made of the workload's template and named <workload>-<n>, n from 0 on, names that
 * exist passed over. Requests that only a limit names are that limit, as the API server fills them
 * in. Those of a Deployment are marked with the pod-template-hash of its ReplicaSet. A
 * StatefulSet's claim templates become volumes of the pod's own. Scaling down takes made or
 * numbered pods by falling number, then the others, youngest first.
 */
#ifndef KARP_CMD_WORKLOAD_H
#define KARP_CMD_WORKLOAD_H

#include "common/base/arena.h"
#include "objects.h"

#define WORKLOAD_PODS_MAX 200000

bool workload_is(enum kube_kind k); /* Deployment, StatefulSet, ReplicaSet, Job */
/* How many pods the object itself asks for. */
int64_t workload_wants(enum kube_kind k, const json_t *o);
/* n: 0 to WORKLOAD_PODS_MAX. */
void workload_scale(struct objects *s, struct arena *a, const struct object *w, int64_t n,
                    int64_t now_ns);

#endif
