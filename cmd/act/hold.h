/*
 * hold.h - `kubectl karp pause, resume, hold, unhold`, cordon and uncordon of NodePools, and of
 * nodes that are held, too: Holds (core/consent/hold.h) written and deleted.
 *
 *   command            Hold               about               scope
 *   pause [--all]      pause              the cluster         Disruption; --all: All
 *   hold NODE          nodeclaim-NAME     the node's claim    Disruption
 *   hold nodepool/X    nodepool-X         the pool            Disruption
 *   cordon nodepool/X  cordon-X           the pool            All
 *   cordon NODE --hold cordon-node-NODE   the node's claim    Disruption
 *
 * The name is the command's: doing it again changes end, reason and author of what is there. resume
 * deletes every Hold of the cluster, unhold every one of the node or its claim, or of the pool with
 * scope Disruption, uncordon those of the pool with scope All, whoever has written them and
 * whatever they are called. What still holds after that is said. uncordon of a node deletes the one
 * that cordon has written, and no other.
 *
 * To stop disruption nobody is asked. Asked is before launches are stopped, for pods will wait, and
 * before what somebody else has written is changed or deleted. `by` is what the server takes the
 * caller for (SelfSubjectReview; it is left out where the server does not tell).
 */
#ifndef KARP_CMD_HOLD_H
#define KARP_CMD_HOLD_H

#include "cmd/read/connect.h"

/* cordon or uncordon: every word is of the form nodepool/NAME. */
bool hold_is_pool(const char *word);
int hold_cordon_pools(struct cmd *c, bool on, struct err *reterr);
/* Every word is a node. mark (un)cordons them, once nothing is in the way of their Holds. */
typedef int hold_mark_fn(struct cmd *c, struct connection *n, struct err *reterr);
int hold_cordon_nodes(struct cmd *c, bool on, hold_mark_fn *mark, struct err *reterr);

#endif
