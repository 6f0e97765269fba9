/*
 * cron.h - standard cron as robfig/cron's ParseStandard reads it.
 *
 * Five fields (minute hour day-of-month month day-of-week), names, ranges, steps, lists, and
 * @yearly @annually @monthly @weekly @daily @midnight @hourly. When day-of-month and day-of-week
 * are both restricted either one matches (robfig's rule). In UTC, or in the local time of a zone
 * (ours): a time that comes twice is two hits, as there; one that the clock is put forward over
 * hits when that happens (there it is left out, and with it the window that it opens). A field of
 * commas only parses, as there, and never hits. TZ= and @every are refused: Karpenter's schema does
 * not let them in.
 */
#ifndef KARP_BASE_CRON_H
#define KARP_BASE_CRON_H

#include "err.h"

#include <stdbool.h>

#define CRON_TEXT_MAX 1024

struct cron {
    uint64_t minute, hour, dom, month, dow; /* bit n = value n is allowed */
    bool dom_star, dow_star;
};

int cron_parse(const char *s, struct cron *ret, struct err *reterr);
struct tzone;

/* First hit strictly after wall_ns; NS_NEVER if there is none within five years. tz NULL: UTC. */
int64_t cron_next(const struct cron *c, const struct tzone *tz, int64_t wall_ns);
/* True if a hit lies in (now - duration, now]: the window that a hit opens contains now. */
bool cron_active(const struct cron *c, const struct tzone *tz, int64_t duration_ns,
                 int64_t now_wall_ns);

#endif
