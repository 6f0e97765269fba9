/*
 * statemetrics.h - metrics of single nodes and pods, under Karpenter's names.
 *
 * Written when a page is asked for, never kept, since they are as many as there are objects:
 *   karpenter_nodes_allocatable, _system_overhead, _total_pod_requests, _total_daemon_requests
 *     {resource_type}, karpenter_nodes_current_lifetime_seconds, each with node_name, managed and
 *     the node's labels; labels that follow from instance_type are left out
 *   karpenter_pods_unbound_time_seconds, karpenter_pods_unstarted_time_seconds {namespace, name}
 * Counted as pods go their way:
 *   karpenter_pods_bound_duration_seconds, karpenter_pods_startup_duration_seconds
 *
 * --disable-cluster-state-observability switches those of the first kind off.
 */
#ifndef KARP_AGENT_STATEMETRICS_H
#define KARP_AGENT_STATEMETRICS_H

#include "agent/runtime.h"

#define STATEMETRICS_NODES_MAX 2000 /* on one page, the first by name */
#define STATEMETRICS_PODS_MAX 5000  /* unbound or unstarted pods on one page */

struct statemetrics;

struct statemetrics *statemetrics_new(struct runtime *rt);
void statemetrics_free(struct statemetrics *s);

#endif
