/*
 * gauges.h - gauges that are counted from the store every 10 s:
 * cluster_state_node_count, cluster_state_unsynced_time_seconds, cluster_utilization_percent,
 * nodepools_allowed_disruptions, nodepools_nodes_consuming_budgets, nodepools_cost_total. Those of
 * single nodes and pods are in statemetrics.h.
 *
 * Event DisruptionBlocked (Normal, on the NodePool, once a minute): its budgets let no empty node
 * go.
 */
#ifndef KARP_AGENT_GAUGES_H
#define KARP_AGENT_GAUGES_H

#include "agent/runtime.h"

#define GAUGES_PERIOD_NS (10 * NS_PER_S)

struct gauges;

struct gauges *gauges_new(struct runtime *rt);
void gauges_free(struct gauges *g);
void gauges_start(struct gauges *g);

#endif
