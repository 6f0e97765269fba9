/*
 * tally.h - what a run counts while it plays: nodes, evictions, waiting times, money; and the
 * lines of the timeline that come from changes of objects.
 */
#ifndef KARP_SIM_TALLY_H
#define KARP_SIM_TALLY_H

#include "tests/sim/kube/api.h"

struct sim_run;

/* A subscriber of the API server; ctx is the run. */
void tally_change(void *ctx, const struct sim_change *c);
/* A call was served: tells evictions by agents from deletions by agents. */
void tally_served(struct sim_run *r, const struct sim_call *c);
/* Adds up dollars until now; called before and after everything that changes the fleet. */
void tally_cost(struct sim_run *r);
/* The q-quantile (0..1) of seconds that pods waited; 0 if none ran. */
double tally_pending_s(const struct sim_run *r, double q);
void tally_done(struct sim_run *r);

#endif
