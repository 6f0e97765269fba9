/*
 * launchwrite.h - an instance that was launched or found, as what its NodeClaim is to say of it.
 *
 * It owns all it has, since the claim may be replaced many times before it is written.
 */
#ifndef KARP_AGENT_LAUNCHWRITE_H
#define KARP_AGENT_LAUNCHWRITE_H

#include "agent/cloud/cloud.h"
#include "agent/runtime.h"

#include <jansson.h>

struct launch_found;

/* Conditions that Ready of a NodeClaim depends on, NULL-terminated. */
extern const char *const launch_dependents[];

struct launch_found *launch_found_new(const struct runtime *rt, const struct nodeclaim *nc,
                                      const struct launch_result *r);
void launch_found_free(struct launch_found *f);
/* Labels that the claim lacks (its own win), as a merge patch; NULL if it has them all. */
json_t *launch_found_labels(const struct launch_found *f, const struct nodeclaim *nc,
                            const struct symtab *t);
/* providerID, imageID, capacity, allocatable, Launched=True. */
json_t *launch_found_status(const struct launch_found *f, const struct nodeclaim *nc,
                            int64_t now_ns);

#endif
