/*
 * held.h - pods that a controller wants and cannot make, because the API server refuses them.
 *
 * Why is computed from the workload's template as the API server would fill it in: a LimitRange of
 * the namespace (kube/admit.h), else a ResourceQuota that has no room for one more (quota.h). In a
 * running cluster used is what the quotas' status says; a Deployment or ReplicaSet that is refused
 * for another reason (a webhook, say) has the words of its condition ReplicaFailure. A workload
 * that is merely about to make its pods is not held.
 */
#ifndef KARP_CMD_HELD_H
#define KARP_CMD_HELD_H

#include "cmd/world.h"
#include "quota.h"

#define HELD_MAX 10000u

struct held {
    const char *kind, *ns, *name; /* "deployment", "shop", "api" */
    const char *code;             /* LimitRange, ResourceQuota, NotCreated */
    const char *why;              /* "resourcequota compute: requests.cpu 20" */
    int64_t missing, made;        /* pods; made: of a what-if, beside the missing ones */
};

struct held_list {
    struct held *v;
    size_t n, cap;
};

/* Kinds to gather. ReplicaSets of Deployments are not needed. */
extern const uint64_t held_kinds;

/* The workload asks for more pods than there are, as far as its status says, or it is a
 * ResourceQuota: what the world keeps for this. */
bool held_looked_at(enum kube_kind k, const json_t *o);
/* By kind, namespace and name. ns: of that namespace only; NULL = all. */
void held_find(const struct world *w, struct arena *a, const char *ns, struct held_list *ret);
/* code and why from what workload_admit or quota_take said. */
void held_add(struct held_list *l, struct arena *a, const struct held *h);

#endif
