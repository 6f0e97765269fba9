/*
 * targets.h - which nodes, NodeClaims and NodePools a command's words name.
 *
 * NAME is a node's; KIND/NAME; KIND NAME.... Kinds as kubectl spells them.
 */
#ifndef KARP_CMD_TARGETS_H
#define KARP_CMD_TARGETS_H

#include "cmd/cmd.h"
#include "cmd/world.h"

/* Of each word in turn: KIND_NODE, KIND_NODE_CLAIM or KIND_NODE_POOL. name lives as long as a. */
typedef int (*target_fn)(void *ctx, enum kube_kind kind, const char *name, struct err *reterr);
/* Ends with the first failure. verb is for messages. */
int targets_read(const struct cmd *c, struct arena *a, const char *verb, target_fn fn, void *ctx,
                 struct err *reterr);

const struct node *target_node(const struct world *w, const char *name);
const struct nodeclaim *target_claim(const struct world *w, const char *name);
const struct nodeclaim *target_claim_of(const struct world *w, const struct node *n); /* or NULL */
const struct nodepool *target_pool(const struct world *w, const char *name);
/* Why there is nothing of that name. Always -1. */
int target_missing(const struct world *w, enum kube_kind kind, const char *name,
                   struct err *reterr);
/* "node X has no NodeClaim". Always -1. */
int target_unmanaged(const char *node, struct err *reterr);

#endif
