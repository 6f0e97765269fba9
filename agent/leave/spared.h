/*
 * spared.h - claims that are left in peace for a while, because what was begun with them came to
 * nothing: each time twice as long, from SPARED_NS to SPARED_MAX_NS; SPARED_NS where it waits for
 * something else and did no harm. By name and UID; what is gone
 * is forgotten, and so is all of it with the process.
 */
#ifndef KARP_AGENT_SPARED_H
#define KARP_AGENT_SPARED_H

#include "agent/runtime.h"
#include "common/core/model.h"

#define SPARED_NS (1 * NS_PER_MIN)
#define SPARED_MAX_NS NS_PER_H

struct spared;

struct spared *spared_new(struct runtime *rt); /* subscribes to claims */
void spared_free(struct spared *s);
void spared_put(struct spared *s, const struct nodeclaim *nc);
void spared_put_briefly(struct spared *s, const struct nodeclaim *nc);
bool spared_has(const struct spared *s, const struct nodeclaim *nc);
/* It went well. */
void spared_drop(struct spared *s, const char *claim);

#endif
