/*
 * agent.h - karp-agent as an object: everything it does, and its four ports to the outside.
 *
 * The agent has no globals: two may live in one process. It never blocks and never asks for time,
 * chance, the API server or AWS except through the ports. It acts only inside agent_turn and inside
 * the ports' callbacks; both come from the driver (production: net/loop, tests: the simulator).
 * agent_free may be called at any instant between them and is what a crash looks like: nothing is
 * finished, nothing is written. Whatever must survive lies in the API server or in EC2.
 *
 * Driving:  a = agent_new(); for (;;) { wait until agent_next_ns(a) or a port has news;
 *           agent_turn(a); if (agent_ended(a)) break; }  agent_free(a);
 */
#ifndef KARP_AGENT_AGENT_H
#define KARP_AGENT_AGENT_H

#include "common/aws/port.h"
#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/entropy.h"
#include "common/base/log.h"
#include "common/kube/port.h"
#include "options.h"

struct agent;
struct marker_port;

struct agent_ports {
    const struct kube_port *kube;
    const struct aws_port *aws;
    const struct clock *clock;
    struct entropy entropy;
    const struct log *log;
    const struct marker_port *marker; /* agent/work/marker.h; may be NULL */
};

/* Borrows options and ports for its life. Starts nothing before the first turn. */
struct agent *agent_new(const struct agent_options *o, const struct agent_ports *ports);
/* Closes both ports, then frees everything. NULL is fine. */
void agent_free(struct agent *a);

/* Runs everything that is due. A turn does at most about 20 ms of work, then returns; what is left
 * is due at once. */
void agent_turn(struct agent *a);
/* Monotonic time of the next thing to do; NS_NEVER if it only waits for a port. */
int64_t agent_next_ns(const struct agent *a);

/* True once the agent must not go on (Lease lost, loop stalled longer than the Lease, account or
 * region changed): the process is to exit and be started anew. */
bool agent_ended(const struct agent *a, struct err *ret_why);

/* The orderly end: nothing is written from now on, the Lease is given back. agent_ended turns true
 * (ERR_CANCELLED) when that is answered; a caller that will not wait may free the agent at once. */
void agent_stop(struct agent *a);

/* "/metrics", "/healthz", "/readyz": HTTP status; the body goes to out. */
int agent_http(struct agent *a, const char *path, struct buf *out);

#endif
