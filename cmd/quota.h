/*
 * quota.h - how many new pods a namespace's ResourceQuotas let in.
 *
 * As kube-apiserver: a pod is created only if every quota of its namespace holds it beside the pods
 * that are there (those that are over count for count/pods only). Looked at are pods, count/pods
 * and requests of cpu, memory, ephemeral storage and extended resources; quotas with scopes and
 * limits.* are not.
 */
#ifndef KARP_CMD_QUOTA_H
#define KARP_CMD_QUOTA_H

#include "common/base/arena.h"
#include "common/kube/decode.h"
#include "objects.h"

struct quota;

/* The quotas of the namespace with what its pods use; everything lies in the arena. */
struct quota *quota_new(struct arena *a, struct decoder *d, const struct objects *s,
                        const char *ns);
/* Takes room for one such pod; NULL if there was some, else what is used up: "resourcequota
 * compute: requests.cpu 20" (arena). */
const char *quota_take(struct quota *q, const json_t *pod);

#endif
