/*
 * holds.h - Holds in force (core/consent/hold.h), as commands tell of them. Upstream Karpenter
 * knows nothing of them: where it is in charge they stop nothing.
 */
#ifndef KARP_CMD_HOLDS_H
#define KARP_CMD_HOLDS_H

#include "cmd/read/facts.h"
#include "cmd/term.h"
#include "common/core/consent/hold.h"

/* Whoever is in charge obeys them. */
bool holds_obeyed(const struct facts *f);
/* "hold night by alice until 18:04: reason" of the first by name that is about the node, or with
 * scope All about the pool; NULL if there is none. Names may be NULL. */
const char *holds_node(const struct world *w, struct arena *a, const char *pool, const char *claim,
                       const char *node);
const char *holds_launches(const struct world *w, struct arena *a, const char *pool);
/* The command that takes that back; NULL if there is none. */
const char *holds_undo(const struct world *w, struct arena *a, const char *pool);
/* The banner: a line per Hold in force, those of the cluster first; nothing if there is none, or
 * nobody obeys them. */
#define HOLDS_LINES 5u
void holds_banner(const struct world *w, const struct facts *f, const struct term *t,
                  struct arena *a, struct buf *out);

#endif
