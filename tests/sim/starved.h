/*
 * starved.h - would a node help this pod? The world's own answer, for the invariant Starved.
 *
 * It speaks only where the matter is plain, so that a yes is beyond doubt: a pod without inter-pod
 * affinity, hard spread, claims, host ports or gates; a Ready pool that is neither going nor
 * static, whose requirements use keys that are known here, whose class sets nothing of the kubelet
 * and has no user data of its own; a type on offer and in stock, with a tenth of its cpu and a
 * quarter of its memory left aside for what the node itself needs, and all DaemonSets on it; the
 * pool's limits allow that type beside all claims.
 */
#ifndef KARP_SIM_STARVED_H
#define KARP_SIM_STARVED_H

#include <jansson.h>
#include <stdbool.h>

struct sim_run;

/* kube-scheduler has found no node for it. */
bool starved_waits(const json_t *pod);
/* A waiting pod that a new node would take. */
bool starved_could_run(struct sim_run *r, const json_t *pod);

#endif
