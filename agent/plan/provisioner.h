/*
 * provisioner.h - pending pods become NodeClaims.
 *
 *     pods → batch → decision (sliced, over a frozen store) → orders → creator.h → idle
 *
 * A pod triggers when it becomes provisionable, and again every 10 s while it is and is not planned
 * for. One decision at a time; what is triggered meanwhile is decided after it. A decision begins
 * only when the store is synced, the cloud is ready, writing is allowed and no other decision is
 * open; else it waits a second.
 *
 * Pods that are planned already are left out and their room is taken off their targets (intents.h).
 * Nothing that is decided here is kept but as such a plan: claims live in the API server.
 *
 * Where the process ended twice over all pods at once (marker.h), each workload is decided on alone
 * for an hour, after one decision for no pods; plans are dearer then, but all pods get their place
 * but those over which it ends.
 *
 * In observe mode everything is decided, told observer.h and logged, and nothing is written or
 * remembered. Batches close in half the time there, ahead of whoever is observed.
 */
#ifndef KARP_AGENT_PROVISIONER_H
#define KARP_AGENT_PROVISIONER_H

#include "agent/runtime.h"

#define PROVISION_RETRIGGER_NS (10 * NS_PER_S)
#define PROVISION_WAIT_NS (1 * NS_PER_S)
#define PROVISION_SLICE_NS (15 * NS_PER_MS)
#define PROVISION_SLICE_UNITS 500
#define PROVISION_TYPES_MAX 600
#define PROVISION_ARENA_MAX ((size_t)512 << 20)

struct provisioner;

struct provisioner *provisioner_new(struct runtime *rt);
void provisioner_free(struct provisioner *p);
void provisioner_start(struct provisioner *p);

#endif
