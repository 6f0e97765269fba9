/*
 * approval.h - which disruptions of a pool wait for a decision: karp.dev/disruption-approval, and
 * the flag --approval where the pool does not say.
 *
 * "Off"; "Required", which is Underutilized and Drifted; or reasons by name, "Underutilized,Empty".
 * Empty waits only where it is named. A value of a pool that cannot be read asks for all.
 */
#ifndef KARP_CORE_APPROVAL_H
#define KARP_CORE_APPROVAL_H

#include "common/core/model.h"

#define ANN_APPROVAL "karp.dev/disruption-approval"

const char *approval_reason_name(enum disruption_reason r); /* "Underutilized", … */
/* A bit of disruption_reason, 0 if it is none. */
unsigned approval_reason_named(const char *name);
/* Bits of disruption_reason. False if it is none of these. */
bool approval_parse(const char *text, unsigned *ret);
/* What asks for a decision in this pool (NULL: as where it does not say). */
unsigned approval_of(const struct nodepool *np, unsigned otherwise);

#endif
