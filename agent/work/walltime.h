/*
 * walltime.h - what time it is: the wall clock that the agent's decisions use.
 *
 * The machine's wall clock may be wrong or jump (nothing may be done because of an age
 * that is not one), and nearly every age is measured against timestamps of the API server. So the
 * agent's wall clock is the monotonic one plus an offset. At start the offset is the machine's;
 * later jumps of the machine's clock change nothing. The Date header of an answer to GET /version,
 * at start and then every WALLTIME_PERIOD_NS (sooner while that fails), tells the API server's time
 * (whole seconds, between request and answer); an offset that is off by more than WALLTIME_SLACK_NS
 * is moved to the server's. Both clocks agreeing again, the offset goes back to the machine's.
 *
 * While the machine's clock is more than RUNTIME_SKEW_NS (runtime.h) off, walltime_skewed() says so
 * and voluntary removals wait. Before the first answer the Lease is not taken (lease.c); a server
 * that answers without a date WALLTIME_TRIES times does not keep the agent from working.
 */
#ifndef KARP_AGENT_WALLTIME_H
#define KARP_AGENT_WALLTIME_H

#include "agent/runtime.h"

#define WALLTIME_PERIOD_NS (1 * NS_PER_MIN)
#define WALLTIME_RETRY_NS (2 * NS_PER_S)
#define WALLTIME_SLACK_NS (5 * NS_PER_S)
#define WALLTIME_TRIES 5

struct walltime;

/* Puts its clock into rt->clock; machine is borrowed. Comes first, goes last. */
struct walltime *walltime_new(struct runtime *rt, const struct clock *machine);
void walltime_free(struct walltime *w);
void walltime_start(struct walltime *w);
/* Takes back what it asked; its clock goes on until walltime_free. */
void walltime_stop(struct walltime *w);

/* Both also of NULL, a runtime that was wired by hand: its clock is right.
 * The server's time is known, or known not to be told. */
bool walltime_known(const struct walltime *w);
/* The machine's clock is not to be trusted. */
bool walltime_skewed(const struct walltime *w);

#endif
