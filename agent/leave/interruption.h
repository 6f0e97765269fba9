/*
 * interruption.h - EC2 takes a machine away: its node leaves at once.
 *
 *     mailbox.h → notice.h → whose instance? → Event, offering avoided → depart.h → message deleted
 *
 * A notice is looked up by instance id among the claims; strangers' messages and those that cannot
 * be read are deleted at once. For one of ours the claim is deleted, which drains its node, and in
 * the same moment its pods are planned elsewhere: replacements are launched while the drain goes
 * on. A spot notice also keeps the offering (capacity type, type, zone) out of the plans for three
 * minutes, as a stock-out. The message is deleted only when all that was accepted: until then it
 * comes again, also to the next process after a crash. Messages that come twice, or about a claim
 * that is leaving anyway, change nothing.
 *
 * A rebalance recommendation is an Event and no more, as Karpenter. Where the pool has
 * karp.dev/rebalance: Replace (or --rebalance says so; ours) the claim also gets karp.dev/replace,
 * (and karp.dev/rebalance with the same time, which tells it from a person's wish) so that
 * replacer.h replaces it ahead of the interruption, and its offering is avoided as above; once per
 * claim, and not one younger than INTERRUPTION_REBALANCE_AGE_NS, else machines would chase each
 * other through unsteady offerings. If the interruption comes meanwhile, its drain takes over what
 * the replacement has begun.
 *
 * What the queue did not tell (this process starts; the queue could not be read or its messages are
 * older than INTERRUPTION_OLD_NS; messages live five minutes only) is asked of EC2: claims whose
 * instance is stopping, stopped or shutting down leave. Those that EC2 does not know at all are
 * garbage collection's (gc.h), with proof.
 *
 * Off without --interruption-queue. Metrics under Karpenter's names: interruption_received_,
 * _deleted_messages_total, _message_queue_duration_seconds.
 */
#ifndef KARP_AGENT_INTERRUPTION_H
#define KARP_AGENT_INTERRUPTION_H

#include "agent/runtime.h"

#define INTERRUPTION_OLD_NS (60 * NS_PER_S)
#define INTERRUPTION_RECONCILE_NS (60 * NS_PER_S) /* at least between two */
#define INTERRUPTION_LETTERS_MAX 20000            /* messages that are kept */
#define INTERRUPTION_REBALANCE_AGE_NS (10 * NS_PER_MIN)
#define ANN_REBALANCE "karp.dev/rebalance"

struct interruption;

struct interruption *interruption_new(struct runtime *rt);
void interruption_free(struct interruption *i);
void interruption_start(struct interruption *i);

#endif
