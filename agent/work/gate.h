/*
 * gate.h - the fence around every write.
 *
 * Two ports that stand before the real ones. Reads pass. A write (any kube method but GET; any AWS
 * action that does not begin with Describe, Get, List, and no DryRun; so ReceiveMessage is one, for
 * it hides messages from everybody else) passes only if the agent may act right now:
 *   - mode is not observe,
 *   - it holds the Lease and its deadline (monotonic) lies ahead, or leader election is off,
 *   - nobody else's controller holds a fresh Lease (gate_standby).
 * A refused write answers like a failed request, with ERR_CANCELLED, in a later turn. The answer to
 * an own successful write is shown to `observe` before the asker's done runs, so that the store is
 * never behind what the agent itself did.
 *
 * What the API server creates for us tells its clock: gate_clock_skew_ns.
 *
 * The gate also keeps the trace of calls for metrics and counts what it refused.
 */
#ifndef KARP_AGENT_GATE_H
#define KARP_AGENT_GATE_H

#include "common/aws/port.h"
#include "common/kube/port.h"

#include <stdbool.h>

struct gate;
struct runtime;

struct gate *gate_new(struct runtime *rt, const struct kube_port *kube, const struct aws_port *aws);
void gate_free(struct gate *g); /* closes both real ports */
struct kube_port gate_kube(struct gate *g);
struct aws_port gate_aws(struct gate *g);
/* The real API server port, for the Lease itself and for an observing agent's own ConfigMaps. */
const struct kube_port *gate_raw_kube(const struct gate *g);

/* Set by lease.c. deadline_ns: monotonic time until which writing is safe; 0 = not leader. */
void gate_set_deadline(struct gate *g, int64_t deadline_ns);
void gate_set_standby(struct gate *g, bool standby);
bool gate_standby(const struct gate *g);
/* May a write go out right now? Controllers ask only to save themselves work. */
bool gate_open(const struct gate *g);

/* How far this machine's clock is ahead of the API server's, as far as is known: by the creation
 * times of what we created, and by jumps of our own clock against the monotonic one. A jump that
 * nothing has confirmed for GATE_JUMP_NS is taken for a correction. 0 while within a second. */
#define GATE_JUMP_NS (INT64_C(600) * 1000000000)
int64_t gate_clock_skew_ns(struct gate *g);
/* Our clock has just been set by the API server's (walltime.h): it is right. */
void gate_clock_told(struct gate *g);

void gate_set_observer(struct gate *g, void (*observe)(void *ctx, json_t *object), void *ctx);

#endif
