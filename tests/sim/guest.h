/*
 * guest.h - an agent living in the world: born, killed and born again.
 *
 * A guest is a place for one agent process: while it is up there is a struct agent with ports of
 * its own; a crash is agent_free at that instant, and after a while a new agent with the same flags
 * comes up, as the kubelet restarts a container. An agent that ends by itself is restarted too.
 */
#ifndef KARP_SIM_GUEST_H
#define KARP_SIM_GUEST_H

#include "common/base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define GUEST_RESTART_NS (INT64_C(10) * 1000000000)

struct sim_run;
struct sim_guest;
struct simec2_port;
struct store;

/* number from 0; flags NULL-terminated. ERR_INVALID if the agent refuses its flags. */
struct sim_guest *guest_new(struct sim_run *r, int number, const char *const *flags,
                            struct err *reterr);
void guest_free(struct sim_guest *g);

void guest_start(struct sim_guest *g); /* no-op if it is up */
/* While it is down: the flags that it has from its next start on, instead of those it had. */
int guest_flags(struct sim_guest *g, const char *const *flags, struct err *reterr);
/* Dies now; up again after restart_ns, never if < 0. */
void guest_crash(struct sim_guest *g, int64_t restart_ns);
/* Stands still for so long, as a process that gets no processor: it takes no turn and hears no
 * answer, then everything at once. A later call can only make it longer. No-op while it is down. */
void guest_freeze(struct sim_guest *g, int64_t for_ns);
bool guest_up(const struct sim_guest *g);
const struct store *guest_store(const struct sim_guest *g); /* only while it is up */
bool guest_leads(struct sim_guest *g);                      /* by its own account */
/* Requests and watches open at the API server. */
size_t guest_open(const struct sim_guest *g);
const char *guest_name(const struct sim_guest *g); /* who it is in the API's log of calls */

/* Arms a crash: dies right after the nth answer from now to "SERVICE:ACTION" ("kube:VERB
 * RESOURCE"). */
void guest_arm(struct sim_guest *g, const char *call, uint64_t nth, int64_t restart_ns);
bool guest_observes(const struct sim_guest *g); /* its mode is observe */
bool guest_asks(const struct sim_guest *g, const struct simec2_port *port); /* it is this one's */
/* A call of this guest was answered: true if it died of that. */
bool guest_answered_kube(struct sim_guest *g, const char *verb, const char *resource);
bool guest_answered_aws(struct sim_guest *g, const struct simec2_port *from, const char *service,
                        const char *action);

/* From now on the process dies when it works on that object, as of a bug that the object triggers;
 * bare: even where it keeps its identity alone. key is "name" or "ns/name", a last "*" matches any
 * rest. At most GUEST_POISON_MAX. */
#define GUEST_POISON_MAX 8
void guest_poison(struct sim_guest *g, const char *kind, const char *key, bool bare, bool alone);

/* The agent's wall clock jumps (its own only), forth or back. */
void guest_clock_jump(struct sim_guest *g, int64_t by_ns);
/* Sum of the matching series of its /metrics; pairs are name, value, …, NULL. */
double guest_metric(struct sim_guest *g, const char *name, const char *const *pairs);
/* The most that it may ask of the API server in one second, by its flags. */
uint64_t guest_rate(const struct sim_guest *g);

#endif
