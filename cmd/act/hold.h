/*
 * hold.h - `kubectl karp pause, resume, hold, unhold`, and cordon and uncordon of NodePools: Holds
 * (core/consent/hold.h) written and deleted.
 *
 *   command            Hold               about               scope
 *   pause [--all]      pause              the cluster         Disruption; --all: All
 *   hold NODE          nodeclaim-NAME     the node's claim    Disruption
 *   hold nodepool/X    nodepool-X         the pool            Disruption
 *   cordon nodepool/X  cordon-X           the pool            All
 *
 * The name is the command's: doing it again changes end, reason and author of what is there. resume
 * deletes every Hold of the cluster, unhold every one of the node or its claim, or of the pool with
 * scope Disruption, uncordon those of the pool with scope All, whoever has written them and
 * whatever they are called. What still holds after that is said.
 *
 * To stop disruption nobody is asked. Asked is before launches are stopped, for pods will wait, and
 * before what somebody else has written is changed or deleted. `by` is what the server takes the
 * caller for (SelfSubjectReview; it is left out where the server does not tell).
 */
#ifndef KARP_CMD_HOLD_H
#define KARP_CMD_HOLD_H

#include "cmd/cmd.h"

/* cordon or uncordon: every word is of the form nodepool/NAME. */
bool hold_is_pool(const char *word);
int hold_cordon_pools(struct cmd *c, bool on, struct err *reterr);

#endif
