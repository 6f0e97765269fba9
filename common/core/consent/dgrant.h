/*
 * dgrant.h - DisruptionGrants: a standing approval. A request that one covers needs no decision.
 *
 * spec: pools[] (names, "*" = all) and reasons[] (Underutilized, Drifted, Empty), both required;
 * schedule (cron, cron.h) with duration: only in those windows, in `timeZone` (IANA name, UTC);
 * maxNodesPerHour: no more nodes begin to leave by it within any hour; expiresAt; grantedBy and
 * note, for people.
 *
 * It covers a disruption if every pool that loses or gets a node by it is named. What cannot be
 * read of a grant covers nothing: with a `problem` it counts as if it were not there.
 */
#ifndef KARP_CORE_DGRANT_H
#define KARP_CORE_DGRANT_H

#include "common/base/cron.h"
#include "common/core/model.h"

#define DGRANT_WITHOUT_END INT64_MAX
#define DGRANT_UNLIMITED INT64_MAX
#define DGRANT_POOLS_MAX 1000u
#define DGRANT_ALL_POOLS "*"

struct dgrant {
    struct arena mem;
    struct meta m;
    const char *const *pools;
    uint32_t n_pools;
    unsigned reasons; /* bits of disruption_reason */
    bool windows;     /* only while one of these is open: */
    struct cron schedule;
    int64_t duration_ns;
    const struct tzone *tz; /* NULL: UTC */
    const char *schedule_text, *time_zone;
    int64_t max_nodes_per_hour; /* DGRANT_UNLIMITED */
    int64_t expires_ns;         /* wall clock; DGRANT_WITHOUT_END */
    const char *granted_by, *note;
    const char *problem; /* NULL, or what could not be read: then it covers nothing */
};

/* Neither run out nor being deleted, and readable. */
bool dgrant_in_force(const struct dgrant *g, int64_t now_ns);
/* In force, and one of its windows is open. */
bool dgrant_open(const struct dgrant *g, int64_t now_ns);
bool dgrant_names(const struct dgrant *g, const char *pool, enum disruption_reason reason);

#endif
