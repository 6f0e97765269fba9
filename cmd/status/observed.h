/*
 * observed.h - `kubectl karp status --observed`: what an agent in mode observe would have done,
 * beside what was done meanwhile (ConfigMap karp-observed, agent/observe).
 *
 * The record is read without trust: what is missing or odd counts as nothing, an entry without time
 * is none. Sums are those of the days that the record keeps.
 */
#ifndef KARP_CMD_OBSERVED_H
#define KARP_CMD_OBSERVED_H

#include "cmd/cmd.h"
#include "cmd/out.h"

#define OBSERVED_PERIODS_MAX 200u
#define OBSERVED_ENTRIES_MAX 5000u
#define OBSERVED_DAYS_SHOWN 7u
#define OBSERVED_HOURS_SHOWN 24u
#define OBSERVED_ENTRIES_SHOWN 10u
#define OBSERVED_STALE_NS (5 * NS_PER_MIN) /* nobody observes any more */

/* Gathers and shows. */
int observed_show(struct cmd *c, const struct out_spec *spec, struct err *reterr);

#endif
