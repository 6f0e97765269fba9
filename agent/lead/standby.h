/*
 * standby.h - two controllers on one cluster: whoever was first goes on, we stand by.
 *
 * At start and every 30 s all Leases named karpenter-leader-election, in every namespace, are
 * listed. A fresh one whose holder is not a karp-agent- means that upstream Karpenter is in charge:
 * the fence closes (no write to the cluster or EC2, no Event, no Lease) until it is stale or gone;
 * then it is looked at every 5 s. Until the first list has been read the fence is closed too.
 *
 * Fresh: renewed within its duration by our clock. If clocks differ so much that this says nothing
 * (renewed in the future, or long ago and yet changing from list to list), changing counts.
 *
 * Metric karp_standby, one log line at each change. In observe mode nothing is done.
 */
#ifndef KARP_AGENT_STANDBY_H
#define KARP_AGENT_STANDBY_H

#include "agent/runtime.h"

#define STANDBY_LEASE "karpenter-leader-election"
#define STANDBY_PERIOD_NS (30 * NS_PER_S)
#define STANDBY_AGAIN_NS (5 * NS_PER_S) /* while standing by, or after a failed list */
#define STANDBY_LEASES_MAX 64           /* remembered renew times */

struct standby;

struct standby *standby_new(struct runtime *rt);
void standby_free(struct standby *s);
void standby_start(struct standby *s);

#endif
