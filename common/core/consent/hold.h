/*
 * hold.h - Holds: a person stops what karp does of its own accord to a node, a pool or the cluster.
 *
 * A Hold is in force from its creation until it is deleted or `until` has passed. It stops
 * consolidation, drift, expiry and repair of every node it is about; with scope All, on a pool or
 * the cluster, also new nodes there. It never stops interruption handling, nor what others delete.
 * One on a pool is about all its nodes, also those to come.
 *
 * What cannot be read counts as the safe side: without a readable target it is about everything,
 * with an unreadable `until` it has no end; an unreadable scope is Disruption, for pods that wait
 * are no safe side. `problem` says so.
 */
#ifndef KARP_CORE_HOLD_H
#define KARP_CORE_HOLD_H

#include "common/core/model.h"

/* "Cluster", "NodePool", "Node", "NodeClaim" */
const char *hold_target_name(enum hold_target t);
bool hold_in_force(const struct hold *h, int64_t now_ns);
/* It is about that node: its pool's, its claim's and its own name, NULL where there is none. */
bool hold_is_about(const struct hold *h, const char *pool, const char *claim, const char *node);
/* With scope All: the pool gets no new nodes. */
bool hold_is_about_launches(const struct hold *h, const char *pool);
/* "hold night by alice until …: reason", for people; in a. when = what to say of until_ns, NULL =
 * RFC 3339. */
const char *hold_describe(struct arena *a, const struct hold *h, const char *when);

#endif
