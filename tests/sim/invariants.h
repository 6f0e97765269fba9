/*
 * invariants.h - what must never be, looked at after every event.
 *
 *   TwoInstances     two living instances carry the UID of one claim
 *   Orphan           an instance of this cluster lives without a claim for longer than
 *                    INVARIANT_ORPHAN_NS
 *   NotEmpty         an agent deletes a claim by its own decision while a pod runs on its node that
 *                    is neither a DaemonSet's nor static nor on its way out
 *   Limit            the capacity of a pool's launched claims exceeds its limits
 *
 * A violation is noted once per object and kind.
 */
#ifndef KARP_SIM_INVARIANTS_H
#define KARP_SIM_INVARIANTS_H

#include "common/base/clock.h"

#define INVARIANT_ORPHAN_NS (INT64_C(5) * 60 * NS_PER_S)

struct sim_run;
struct sim_watchdog;

struct sim_watchdog *watchdog_new(struct sim_run *r);
void watchdog_free(struct sim_watchdog *w);
void watchdog_look(struct sim_watchdog *w);

#endif
