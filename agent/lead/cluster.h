/*
 * cluster.h - which cluster this is: rt->cluster_uid, the UID of namespace kube-system.
 *
 * Asked for until it is known, backing off from 1 s to 30 s; then it never changes. Whoever needs
 * it (tags, looking for instances) waits for it to be there.
 */
#ifndef KARP_AGENT_CLUSTER_H
#define KARP_AGENT_CLUSTER_H

#include "agent/runtime.h"

struct cluster;

struct cluster *cluster_new(struct runtime *rt);
void cluster_free(struct cluster *c);
void cluster_start(struct cluster *c);

#endif
