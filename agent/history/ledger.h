/*
 * ledger.h - the text of ConfigMap karp-history: why nodes left, and how much of it is kept.
 *
 * Pure. A ledger is a JSON array of entries, the oldest first (entry.h), one for each NodeClaim:
 * the `uid` of an entry tells whether it is there. Kept are the newest LEDGER_ENTRIES_MAX of the
 * last LEDGER_AGE_NS, and of these no more than fit LEDGER_BYTES_MAX. Text that cannot be read is
 * an empty ledger.
 */
#ifndef KARP_AGENT_LEDGER_H
#define KARP_AGENT_LEDGER_H

#include "common/base/clock.h"
#include "common/base/err.h"

#include <jansson.h>
#include <stdbool.h>

#define LEDGER_ENTRIES_MAX 2000u
#define LEDGER_AGE_NS (7 * 24 * NS_PER_H)
#define LEDGER_BYTES_MAX (900u << 10)

/* New reference, never NULL. NULL text: empty. *reterr says what was wrong with the text. */
json_t *ledger_read(const char *text, struct err *reterr);
bool ledger_has(const json_t *ledger, const char *uid);
/* Takes the reference; an entry whose uid is there already is dropped. */
void ledger_add(json_t *ledger, json_t *entry);
/* Drops what is not kept and gives the text, heap. */
char *ledger_text(json_t *ledger, int64_t now_ns) MUST_CHECK;

#endif
