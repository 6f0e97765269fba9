/*
 * tzone.h - time zones: how far local time is ahead of UTC, from the system's zone files.
 *
 * Reads TZif (RFC 8536) with the rule for years to come at its end (POSIX TZ); leap seconds are
 * not looked at, as everywhere. A zone is immutable and lies in the arena it was read into.
 */
#ifndef KARP_BASE_TZONE_H
#define KARP_BASE_TZONE_H

#include "arena.h"
#include "err.h"

#define TZONE_FOLDER "/usr/share/zoneinfo"
#define TZONE_MAX_BYTES (256u << 10)
#define TZONE_MAX_NAME 64

struct tzone;

/* The zone of an IANA name ("Europe/Berlin") from the folder; NULL with ERR_INVALID: no such name,
 * no such file, or not one of a zone. "UTC" is always known. */
const struct tzone *tzone_load(struct arena *a, const char *folder, const char *name,
                               struct err *reterr);
/* The same from the bytes of a file. */
const struct tzone *tzone_parse(struct arena *a, const uint8_t *data, size_t n, struct err *reterr);

/* Nanoseconds that local time is ahead of UTC at that moment. NULL is UTC. */
int64_t tzone_offset_ns(const struct tzone *tz, int64_t wall_ns);
/* The first moment strictly after that at which local time may jump; NS_NEVER if it does no more.
 */
int64_t tzone_next_change(const struct tzone *tz, int64_t wall_ns);

#endif
