/*
 * quota.h - how many new pods a namespace's ResourceQuotas let in.
 *
 * As kube-apiserver: a pod is created only if every quota of its namespace that is about such pods
 * (scopes, scopeSelector) holds it beside the pods that are there (those that are over count for
 * count/pods only), and only if each container says how much it asks for of what a quota counts of
 * cpu and memory. Looked at are pods, count/pods, and requests and limits of cpu, memory, ephemeral
 * storage and extended resources.
 */
#ifndef KARP_CMD_QUOTA_H
#define KARP_CMD_QUOTA_H

#include "common/base/arena.h"
#include "common/kube/decode.h"
#include "objects.h"

struct quota;

/* What counts as used: the pods among the objects, or what the quotas' status tells (what that does
 * not tell is not looked at). */
enum quota_use { QUOTA_COUNTED, QUOTA_TOLD };

/* The quotas of the namespace; everything lies in the arena. */
struct quota *quota_new(struct arena *a, struct decoder *d, const struct objects *s, const char *ns,
                        enum quota_use use);
/* Takes room for one such pod, whose spec has been filled in as the API server does; NULL if there
 * was some, else what is used up or missing: "resourcequota compute: requests.cpu 20" (arena). */
const char *quota_take(struct quota *q, const json_t *pod);

#endif
