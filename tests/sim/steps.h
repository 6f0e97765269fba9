/*
 * steps.h - carrying out the steps of a scenario (all but expect).
 *
 * decide: {decision: Approved|Denied, by, note, notBefore (from now), reason, limit}: what a person
 * answers to the DisruptionRequests that wait (with that reason, at most so many, by name); an
 * error if none does.
 */
#ifndef KARP_SIM_STEPS_H
#define KARP_SIM_STEPS_H

#include "scenario.h"

struct sim_run;

/* ERR_INVALID if the step cannot be carried out in this world (nothing matches a target, …). */
int step_do(struct sim_run *r, const struct scenario_step *s, struct err *reterr);

/* What an `api` step made of the server: consulted by its fault hook. */
struct api_trouble {
    struct api_fault *faults; /* in the order they were set */
    size_t n, cap;
    int64_t latency_ns, latency_until_ns;
};
/* The status to answer a call with, 0 = let it pass. */
int api_trouble_fault(struct sim_run *r, const char *verb, const char *resource, int64_t *extra_ns);
void api_trouble_free(struct api_trouble *t);

#endif
