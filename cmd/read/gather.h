/*
 * gather.h - fills a world: from snapshots (--snapshot), without any network, or from the cluster,
 * where every kind is listed once and all of them at the same time.
 *
 * Snapshots: files and folders, JSON or YAML, plain or gzip, Lists and several documents. A path
 * that holds no object of a kind we know is an error, as is a document that is no object.
 *
 * Cluster: a kind that we may not list is noted (world.notes, world.hidden) and left empty; one
 * that the server does not know is `absent`. Everything else that goes wrong ends the command: half
 * an answer would be a wrong one.
 *
 * now is --at if given: RFC 3339, or "HH:MM", the next such time in UTC. Leases of a cluster are
 * compared with the clock; those of a snapshot with --at where that is a full time, else with the
 * latest time stamp in the snapshot, which was taken after it.
 */
#ifndef KARP_CMD_GATHER_H
#define KARP_CMD_GATHER_H

#include "cmd/cmd.h"
#include "cmd/world.h"

#define GATHER(kind) (UINT64_C(1) << (kind))
#define GATHER_HISTORY GATHER(KIND_COUNT)      /* ConfigMap karp-history */
#define GATHER_OBSERVED GATHER(KIND_COUNT + 1) /* ConfigMap karp-observed */

/* kinds: GATHER bits. On failure the world holds what was read so far; the caller has it released
 * in any case. */
int gather(struct cmd *c, uint64_t kinds, struct world *w, struct err *reterr);

/* The two halves, for tests. */
int gather_snapshot(struct world *w, const char *path, struct err *reterr);
int gather_live(struct cmd *c, uint64_t kinds, struct world *w, struct err *reterr);
/* An option's time as a wall time; *ret_full tells a full time from HH:MM. */
int gather_time(const char *flag, const char *at, int64_t now_ns, int64_t *ret_ns, bool *ret_full,
                struct err *reterr);

#endif
