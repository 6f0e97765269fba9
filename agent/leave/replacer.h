/*
 * replacer.h - nodes that are to be replaced by a new one of the same kind, one after the other.
 *
 * To be replaced is a node whose claim was created before the time in karp.dev/replace on the claim
 * itself or on its NodePool (a person asked for it, or a rebalance recommendation did), or whose
 * time has come under budgeted expiration (expiration.h). All count as Drifted in budgets and gates
 * (candidate.h).
 *
 *     every 10 s, or when something flips → candidates → placement with the node gone → command.h
 *
 * One candidate at a time, asked-for ones first, then by age; a node without pods that move needs
 * no placement. All its pods must find a place on initialized nodes or new ones: then the new ones
 * are launched and waited for before the drain. Pending pods are placed in the same decision, so
 * that nobody counts on room that they will take. A node whose pods find no place, or whose command
 * was undone, is left in peace for a while (spared.h).
 *
 * Nothing is decided while another decision is open, a command is being opened, writing is not
 * allowed, EC2 is failing or the clocks differ; a pool whose last launches failed keeps its nodes
 * for a while (launchlog.h).
 */
#ifndef KARP_AGENT_REPLACER_H
#define KARP_AGENT_REPLACER_H

#include "agent/runtime.h"
#include "common/core/model.h"

#define REPLACER_PERIOD_NS (10 * NS_PER_S)
#define REPLACER_SOON_NS (1 * NS_PER_S)
#define REPLACER_ARENA_MAX ((size_t)512 << 20)
#define REPLACER_SLICE_NS (15 * NS_PER_MS)
#define REPLACER_SLICE_UNITS 500
#define REPLACER_TYPES_MAX 600

struct replacer;

struct replacer *replacer_new(struct runtime *rt);
void replacer_free(struct replacer *r);
void replacer_start(struct replacer *r);

#endif
