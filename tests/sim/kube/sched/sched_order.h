/*
 * sched_order.h - which nodes one cycle looks at, as kube-scheduler samples large clusters.
 *
 * Up to SIM_SAMPLE_ALL nodes: all. Above: it stops as soon as enough are found that fit (half of
 * them at first, 1 percentage point less per 125 nodes, 5% and SIM_SAMPLE_ALL at least), and the
 * next cycle begins where this one stopped. Zones take turns in the order.
 */
#ifndef KARP_SIM_SCHED_ORDER_H
#define KARP_SIM_SCHED_ORDER_H

#include "sched_cache.h"

#define SIM_SAMPLE_ALL 100u

struct sim_node_order {
    struct sim_sched_node **v; /* nodes that exist; borrowed from the cluster */
    size_t n, cap, start;
};

/* Brings v up to date with the cluster's nodes. */
void sim_node_order_refresh(struct sim_node_order *o, struct sim_cluster *c);
void sim_node_order_done(struct sim_node_order *o);
/* How many feasible nodes are enough. */
size_t sim_sample_size(size_t nodes);

#endif
