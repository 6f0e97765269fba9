/*
 * render.h - the core's model back as JSON, for the objects and patches that the agent writes.
 *
 * All functions return new references. Lists come in string order, so that the same thing is always
 * written the same way.
 */
#ifndef KARP_AGENT_RENDER_H
#define KARP_AGENT_RENDER_H

#include "common/core/model.h"

#include <jansson.h>

/* {"cpu": "1500m", …}; zero amounts are left out. */
json_t *render_resources(const struct symtab *t, const struct resources *r);
json_t *render_taint(const struct symtab *t, const struct taint *taint);
/* spec.requirements: one entry per key, bounds as Gte and Lte beside it. Keys in skip (NULL-
 * terminated syms) are left out. */
json_t *render_requirements(const struct symtab *t, const struct reqset *s, const sym *skip);
json_t *render_owner(const char *api_version, const char *kind, const char *name, const char *uid);
/* metadata.finalizers with one more, or without one. */
json_t *render_finalizers(const struct meta *m, const char *add, const char *remove);
json_t *render_owners(const struct meta *m);
json_t *render_time(int64_t wall_ns);

#endif
