/*
 * view.h - does an agent know what is so? Its store against the API server's objects, for the
 * invariant View.
 */
#ifndef KARP_SIM_VIEW_H
#define KARP_SIM_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_api;
struct store;

/* True if the store lacks an object whose version is known_version or before, has another version
 * of it, or (with_gone) has one that is no longer there; dst says which. Kinds that the agent could
 * not list are passed over. */
bool view_differs(const struct sim_api *api, const struct store *s, int64_t known_version,
                  bool with_gone, char *dst, size_t size);

#endif
