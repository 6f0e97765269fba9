/*
 * lease.h - one agent acts: leader election on a coordination.k8s.io Lease, as client-go does it.
 *
 * Timing is controller-runtime's: 15 s Lease, 10 s to renew, 2 s between tries (jittered while
 * trying to acquire). Somebody else's Lease counts as held until LEASE_DURATION has passed since
 * this process saw it change: clocks are never compared. Writes carry the resource version.
 *
 * The fence (gate.h) opens until 10 s after the start of the last request that renewed the Lease;
 * the Lease itself lasts 5 s longer, for writes that are on their way. Not renewed in time, or
 * found in other hands: the process ends (runtime_end); the next one starts from what the API
 * server says. While the agent stands by (standby.h) no Lease is taken or renewed, and losing it
 * then is no end.
 *
 * A watch can lag, so whoever takes over from a leader that was alive while this process looked on
 * (another agent, or the controller that it stood by for) lists anew what that one may have written
 * last, before anything is decided (store_refresh).
 *
 * In observe mode and with --disable-leader-election nothing is done at all.
 */
#ifndef KARP_AGENT_LEASE_H
#define KARP_AGENT_LEASE_H

#include "agent/runtime.h"

#define LEASE_DURATION_NS (15 * NS_PER_S)
#define LEASE_RENEW_NS (10 * NS_PER_S)
#define LEASE_RETRY_NS (2 * NS_PER_S)
#define LEASE_TIMEOUT_NS (5 * NS_PER_S) /* of one request */
#define LEASE_IDENTITY_PREFIX "karp-agent-"

struct lease;

struct lease *lease_new(struct runtime *rt);
void lease_free(struct lease *l);
void lease_start(struct lease *l);
bool lease_leading(const struct lease *l);
/* Gives the Lease back in good order; done (may be NULL) runs when that is answered, or in the next
 * turn if there is nothing to give back. Nothing is renewed afterwards. */
void lease_release(struct lease *l, void (*done)(void *arg), void *arg);

#endif
