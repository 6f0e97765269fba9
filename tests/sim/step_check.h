/*
 * step_check.h - whether a step of a scenario file is written as it must be.
 *
 * Every field of every step is known here, with its type; what cannot be told from the file alone
 * (does anything match this target?) is told when the step runs. One place is looser: values inside
 * an `ec2` step are the simulated cloud's own (ec2/ec2_step.c), only the names are checked here.
 */
#ifndef KARP_SIM_STEP_CHECK_H
#define KARP_SIM_STEP_CHECK_H

#include "scenario.h"

/* where names the place: "spec.steps[3].scale". ERR_INVALID names the field. */
int step_check(enum step_verb verb, const json_t *arg, const char *where, struct err *reterr);

#endif
