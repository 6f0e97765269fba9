/*
 * admit_pod.h - what admission plug-ins make of a pod that is being created:
 * DefaultTolerationSeconds, Priority, LimitRanger (defaults only) and RuntimeClass (overhead only).
 */
#ifndef KARP_SIM_ADMIT_POD_H
#define KARP_SIM_ADMIT_POD_H

#include "tests/sim/kube/api_store.h"

void sim_admit_pod(const struct sim_api *a, const char *ns, json_t *spec);

#endif
