/*
 * sums.h - the text of ConfigMap karp-observed: what an observing agent would have done, and what
 * was done meanwhile by whoever is in charge.
 *
 *   {schema, since, writtenAt, hours: [PERIOD], days: [PERIOD], entries: [ENTRY]}
 *   PERIOD  {at, would: {launched, pods, launchedPricePerHour, removed, removedPricePerHour,
 *            replacements, replacementPricePerHour, saved},
 *            did: {launched, launchedPricePerHour, removed, removedPricePerHour}}
 *           nodes, pods, $/h (decimal texts, of those whose price was known); `at` is its beginning
 *           in UTC; `saved` are dollars: what nodes that would have gone have cost since
 *   ENTRY   {time, by: "karp" | "others", action: "launch" | "remove", …} (observer.h)
 *
 * Pure. Kept are the newest SUMS_HOURS_MAX hours and SUMS_DAYS_MAX days in which something was
 * added, and the newest SUMS_ENTRIES_MAX entries, of these no more than fit SUMS_BYTES_MAX. Sums
 * never overflow: they stop at the largest number. A time before the newest period counts in that.
 * What of a text cannot be read is left out; one that cannot be read at all has nothing in it.
 */
#ifndef KARP_AGENT_SUMS_H
#define KARP_AGENT_SUMS_H

#include "common/base/clock.h"
#include "common/base/err.h"

#include <jansson.h>
#include <stdbool.h>

#define SUMS_HOURS_MAX 48u
#define SUMS_DAYS_MAX 31u
#define SUMS_ENTRIES_MAX 500u
#define SUMS_BYTES_MAX (300u << 10)

enum sum {
    WOULD_LAUNCH,
    WOULD_LAUNCH_PODS,
    WOULD_LAUNCH_PUSD_H,
    WOULD_REMOVE,
    WOULD_REMOVE_PUSD_H,
    WOULD_REPLACE, /* nodes launched for those that are removed; not in WOULD_LAUNCH */
    WOULD_REPLACE_PUSD_H,
    WOULD_SAVE_PUSD,
    DID_LAUNCH,
    DID_LAUNCH_PUSD_H,
    DID_REMOVE,
    DID_REMOVE_PUSD_H,
    SUM_COUNT
};

struct sums;

struct sums *sums_new(int64_t now_ns);
/* NULL text: as sums_new. *reterr says what was wrong with the text. Never NULL. */
struct sums *sums_read(const char *text, int64_t now_ns, struct err *reterr);
void sums_free(struct sums *s);

void sums_add(struct sums *s, int64_t now_ns, enum sum which, int64_t n); /* n >= 0 */
void sums_note(struct sums *s, json_t *entry);                            /* takes it */
/* The newest such entry, or NULL. */
const json_t *sums_entry(const struct sums *s, const char *by, const char *action, const char *uid);
/* When the text that was read had been written; 0: there was none. */
int64_t sums_written_ns(const struct sums *s);

/* Of whole what falls to from..to of total, so that neighbours sum up to it; total > 0. */
int64_t sums_share(int64_t whole, int64_t from, int64_t to, int64_t total);

/* Drops what is not kept and gives the text, heap. */
char *sums_text(struct sums *s, int64_t now_ns) MUST_CHECK;

#endif
