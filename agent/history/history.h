/*
 * history.h - why nodes left and by whom: ConfigMap karp-history in the agent's namespace.
 *
 *     claim is going → its entry (entry.h) → written → the claim may be finalized
 *
 * Every NodeClaim of ours that had an instance has one entry, whatever crashes: it is made from the
 * objects themselves, stands in the ConfigMap before the claim's finalizer is removed, and is told
 * by the claim's UID, so that the next process finds it there or writes it. An entry is made as
 * soon as the instance is ordered to end, so that hardly ever anything waits for it.
 *
 * A claim is not kept for its entry alone: after HISTORY_PATIENCE_NS, or at once where the
 * ConfigMap is refused for good (no permission), it goes; its entry is written when that succeeds,
 * if this process lives until then. One that went without us (its finalizer was taken off by hand)
 * is written down afterwards, likewise.
 *
 * HISTORY_NOTES_MAX entries are in hand at once; beyond that claims wait for room, which every write
 * makes. They, too, are not kept longer than HISTORY_PATIENCE_NS without one: what then goes without
 * an entry is said in the log.
 *
 * Writes are one patch of the whole text (ledger.h bounds it) under the version that was read, at
 * most one every HISTORY_PAUSE_NS, with all that has come together; on a conflict it is read again,
 * so two agents lose nothing of each other. An observing agent writes none: it removes nothing
 * (observe/observer.h has its record).
 */
#ifndef KARP_AGENT_HISTORY_H
#define KARP_AGENT_HISTORY_H

#include "agent/runtime.h"
#include "agent/work/queue.h"
#include "common/core/model.h"

#define HISTORY_CONFIG_MAP "karp-history"
#define HISTORY_KEY "history.json"
#define HISTORY_PAUSE_NS (1 * NS_PER_S)
#define HISTORY_BACKOFF_NS (5 * NS_PER_S)
#define HISTORY_REFUSED_NS (60 * NS_PER_S)
#define HISTORY_NOTES_MAX 1000u
#define HISTORY_PATIENCE_NS (60 * NS_PER_S)

struct history;

struct history *history_new(struct runtime *rt);
void history_free(struct history *h);
void history_start(struct history *h);

/* Nothing about the claim is left to be written: it may go. Else key is added to q when that may
 * have changed. */
bool history_kept(struct history *h, const struct nodeclaim *nc, struct queue *q, const char *key);

#endif
