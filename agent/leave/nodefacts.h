/*
 * nodefacts.h - what the core asks about nodes and only the agent knows: the part that is the same
 * for all who decide that nodes leave (emptiness.h, replacer.h, disrupt/consolidator.h).
 *
 * ctx is the runtime. Whoever has more to say about a question asks these and adds to them.
 */
#ifndef KARP_AGENT_NODEFACTS_H
#define KARP_AGENT_NODEFACTS_H

#include "agent/runtime.h"
#include "common/core/disrupt/candidate.h"

bool nodefacts_nominated(void *rt, const struct snapshot_node *n, const char **ret_pod);
bool nodefacts_in_command(void *rt, const struct snapshot_node *n);
bool nodefacts_launches_failing(void *rt, const struct snapshot_pool *p);
const char *nodefacts_held(void *rt, const struct snapshot_node *n);
int64_t nodefacts_let_go_until(void *rt, const struct snapshot_node *n,
                               enum disruption_reason reason);

#endif
