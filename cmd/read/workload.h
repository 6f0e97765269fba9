/*
 * workload.h - pods of a workload, added and taken away among kept objects.
 *
 * A pod belongs to a workload that its controller reference names; to a Deployment also through a
 * ReplicaSet named after it ("api-5d4f8c7b9"); and if it has no controller at all, to the one whose
 * matchLabels it carries. Pods that are over or on their way out do not count.
 *
 * New pods are made of the workload's template and named <workload>-<n>, n from 0 on, names that
 * exist passed over. What the API server fills in (limits that stand for requests, kube/admit.h) is
 * filled in, and no more pods are made than ResourceQuotas let in (quota.h). Those of a Deployment
 * are marked with the pod-template-hash of its ReplicaSet. A StatefulSet's claim templates become
 * volumes of the pod's own. Scaling down takes made or numbered pods by falling number, then the
 * others, youngest first.
 */
#ifndef KARP_CMD_WORKLOAD_H
#define KARP_CMD_WORKLOAD_H

#include "common/base/arena.h"
#include "common/kube/decode.h"
#include "held.h"
#include "objects.h"

#define WORKLOAD_PODS_MAX 200000

bool workload_is(enum kube_kind k); /* Deployment, StatefulSet, ReplicaSet, Job */
/* How many pods the object itself asks for. */
int64_t workload_wants(enum kube_kind k, const json_t *o);
/* "deployment" (arena). */
const char *workload_word(struct arena *a, enum kube_kind k);
/* A pod as its template has it, before admission; also of a DaemonSet. New reference. */
json_t *workload_template(const struct object *w, int64_t now_ns);
/* n: 0 to WORKLOAD_PODS_MAX. False if there are fewer, because a LimitRange or a ResourceQuota does
 * not let them in: ret says which and how many. */
bool workload_scale(struct objects *s, struct arena *a, struct decoder *d, const struct object *w,
                    int64_t n, int64_t now_ns, struct held *ret);

#endif
