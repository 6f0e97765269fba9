/*
 * throttle.h - no more requests to the API server than --kube-client-qps and --kube-client-burst
 * allow.
 *
 * A port that stands before the fence (gate.h), so that what had to wait is fenced when it goes,
 * not when it was wished for. A token bucket, full at start, counts everything but watches; the
 * Lease goes past it (gate_raw_kube). What finds no token waits, in three classes: everything else
 * before evictions before Events; in a class in order. At most THROTTLE_HELD_MAX wait: further ones
 * are not held back, for losing them would be worse. A rate of 0 is no limit.
 */
#ifndef KARP_AGENT_THROTTLE_H
#define KARP_AGENT_THROTTLE_H

#include "common/kube/port.h"

#define THROTTLE_HELD_MAX 200000u

struct runtime;
struct throttle;

/* below is borrowed. */
struct throttle *throttle_new(struct runtime *rt, const struct kube_port *below);
void throttle_free(struct throttle *t);
struct kube_port throttle_kube(struct throttle *t);

#endif
