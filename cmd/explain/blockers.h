/*
 * blockers.h - why a pod that runs is not moved: the gates that its node does not pass, as far as
 * they are asked (disrupt.h), and what holds the action that would move it.
 */
#ifndef KARP_CMD_BLOCKERS_H
#define KARP_CMD_BLOCKERS_H

#include "cmd/disrupt/disrupt.h"

/* [{code, message}] in the order of the gates, or that such pods never are; empty if its node could
 * go now, or is not managed by anybody who would take it away. */
json_t *blockers_json(const struct disrupt *d, const struct pod *p);
/* The same for people, as a block with a title. */
void blockers_screen(const struct disrupt *d, const struct pod *p, struct buf *out);

#endif
