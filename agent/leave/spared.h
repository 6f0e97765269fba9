/*
 * spared.h - claims that are left in peace for a while, because what was begun with them came to
 * nothing: each time twice as long, from SPARED_NS to SPARED_MAX_NS; SPARED_NS where it waits for
 * something else and did no harm. By name and UID; what is gone
 * is forgotten, and so is all of it with the process.
 *
 * Apart for what was begun: a node that is not to be consolidated for an hour may become empty, or
 * somebody may ask for its replacement. Published in facts.json (publish.h), so that the plugin
 * plans without it, too:
 *
 *     {nodeClaim, uid, until (RFC 3339), reasons: ["Underutilized", "Drifted"]}
 */
#ifndef KARP_AGENT_SPARED_H
#define KARP_AGENT_SPARED_H

#include "agent/runtime.h"
#include "common/core/model.h"

#include <jansson.h>

#define SPARED_NS (1 * NS_PER_MIN)
#define SPARED_MAX_NS NS_PER_H
#define SPARED_PUBLISHED_MAX 1000u

enum spared_as {
    SPARED_EMPTY,
    SPARED_PLANNED, /* underutilized or drifted */
    SPARED_ASKED,   /* its replacement was asked for, or its time is over */
    SPARED_KINDS
};

struct spared;

struct spared *spared_new(struct runtime *rt); /* subscribes to claims */
void spared_free(struct spared *s);
void spared_put(struct spared *s, enum spared_as as, const struct nodeclaim *nc);
void spared_put_briefly(struct spared *s, enum spared_as as, const struct nodeclaim *nc);
bool spared_has(const struct spared *s, enum spared_as as, const struct nodeclaim *nc);
/* Until when it is not disrupted for that reason, as something that was begun or asked for: wall
 * clock, 0 = it is not left in peace. */
int64_t spared_until(const struct spared *s, const struct nodeclaim *nc,
                     enum disruption_reason reason);
/* It went well. */
void spared_drop(struct spared *s, enum spared_as as, const char *claim);
/* What is published, at most SPARED_PUBLISHED_MAX rows; a new reference. */
json_t *spared_json(const struct spared *s);

#endif
