/* test_dgrant.c - DisruptionGrants: what is read of them (kube/decode.h) and what they cover, when
 * (core/consent/dgrant.h). */
#include "common/core/consent/dgrant.h"

#include "common/base/timefmt.h"
#include "decodetest.h"

#define GRANT(rest) "{metadata: {name: g}, spec: {" rest "}}"
#define ALL "pools: ['*'], reasons: [Underutilized, Drifted]"

/* Pool and reason asked for, at a time; what is wrong with it. */
static const struct {
    const char *object, *pool;
    enum disruption_reason reason;
    const char *at;
    bool names, open;
    const char *problem;
} rows[] = {
    {GRANT("pools: [p], reasons: [Drifted]"), "p", DISRUPT_DRIFTED, "2026-01-05T09:00:00Z", true,
     true, NULL},
    {GRANT("pools: [p], reasons: [Drifted]"), "p", DISRUPT_EMPTY, "2026-01-05T09:00:00Z", false,
     true, NULL},
    {GRANT("pools: [q, p], reasons: [Drifted]"), "r", DISRUPT_DRIFTED, "2026-01-05T09:00:00Z",
     false, true, NULL},
    {GRANT(ALL), "r", DISRUPT_UNDERUTILIZED, "2026-01-05T09:00:00Z", true, true, NULL},
    {GRANT(ALL ", expiresAt: '2026-01-05T09:00:01Z'"), "r", DISRUPT_UNDERUTILIZED,
     "2026-01-05T09:00:00Z", true, true, NULL},
    {GRANT(ALL ", expiresAt: '2026-01-05T09:00:00Z'"), "r", DISRUPT_UNDERUTILIZED,
     "2026-01-05T09:00:00Z", true, false, NULL},
    {GRANT(ALL ", schedule: '0 22 * * *', duration: 8h"), "r", DISRUPT_UNDERUTILIZED,
     "2026-01-05T22:00:00Z", true, true, NULL},
    {GRANT(ALL ", schedule: '0 22 * * *', duration: 8h"), "r", DISRUPT_UNDERUTILIZED,
     "2026-01-05T21:59:59Z", true, false, NULL},
    {GRANT(ALL ", schedule: '0 22 * * *', duration: 8h, timeZone: Europe/Berlin"), "r",
     DISRUPT_UNDERUTILIZED, "2026-01-05T21:00:00Z", true, true, NULL},
    /* What cannot be read covers nothing. */
    {GRANT(ALL ", schedule: '0 22 * * *'"), "r", DISRUPT_DRIFTED, "2026-01-05T22:00:00Z", false,
     false, "spec.duration is not a duration"},
    {GRANT(ALL ", duration: 8h"), "r", DISRUPT_DRIFTED, "2026-01-05T22:00:00Z", false, false,
     "spec.schedule is not a schedule"},
    {GRANT(ALL ", schedule: nightly, duration: 8h"), "r", DISRUPT_DRIFTED, "2026-01-05T22:00:00Z",
     false, false, "spec.schedule is not a schedule"},
    {GRANT(ALL ", schedule: '0 22 * * *', duration: 8h, timeZone: Mars/Olympus"), "r",
     DISRUPT_DRIFTED, "2026-01-05T22:00:00Z", false, false, "spec.timeZone is not known here"},
    {GRANT(ALL ", expiresAt: soon"), "r", DISRUPT_DRIFTED, "2026-01-05T22:00:00Z", false, false,
     "spec.expiresAt is not a time"},
    {GRANT(ALL ", maxNodesPerHour: '3'"), "r", DISRUPT_DRIFTED, "2026-01-05T22:00:00Z", false,
     false, "spec.maxNodesPerHour is not a number of nodes"},
    {GRANT(ALL ", maxNodesPerHour: -1"), "r", DISRUPT_DRIFTED, "2026-01-05T22:00:00Z", false, false,
     "spec.maxNodesPerHour is not a number of nodes"},
    {GRANT("reasons: [Drifted]"), "r", DISRUPT_DRIFTED, "2026-01-05T22:00:00Z", false, false,
     "spec.pools: none, or too many"},
    {GRANT("pools: [7], reasons: [Drifted]"), "r", DISRUPT_DRIFTED, "2026-01-05T22:00:00Z", false,
     false, "spec.pools: not a name"},
    {GRANT("pools: [r]"), "r", DISRUPT_DRIFTED, "2026-01-05T22:00:00Z", false, false,
     "spec.reasons: none"},
    {GRANT("pools: [r], reasons: [Drifted, Expired]"), "r", DISRUPT_DRIFTED, "2026-01-05T22:00:00Z",
     false, false, "spec.reasons: none of Underutilized, Drifted and Empty"},
    {"{metadata: {name: g}}", "r", DISRUPT_DRIFTED, "2026-01-05T22:00:00Z", false, false,
     "spec.pools: none, or too many"},
};

START_TEST(read)
{
    struct err err = ERR_INIT;
    int64_t at_ns;
    begin();
    AUTO_JSON json_t *o = parse(rows[_i].object);
    struct dgrant *g = decode_dgrant(decoder, o, &err);
    ck_assert_msg(g != NULL, "%s", err.msg);
    ck_assert(timefmt_parse_rfc3339(rows[_i].at, &at_ns));
    ck_assert_msg(str_eq(g->problem ? g->problem : "", rows[_i].problem ? rows[_i].problem : ""),
                  "%s", g->problem ? g->problem : "no problem");
    ck_assert_int_eq(dgrant_names(g, rows[_i].pool, rows[_i].reason), rows[_i].names);
    ck_assert_int_eq(dgrant_open(g, at_ns), rows[_i].open);
    decode_dgrant_free(g);
    end();
}
END_TEST

START_TEST(bounds)
{
    begin();
    AUTO_JSON json_t *o = parse(GRANT(ALL ", maxNodesPerHour: 0, grantedBy: alice"));
    AUTO_JSON json_t *bare = parse(GRANT(ALL));
    struct dgrant *g = decode_dgrant(decoder, o, NULL), *b = decode_dgrant(decoder, bare, NULL);
    ck_assert_int_eq(g->max_nodes_per_hour, 0);
    ck_assert_str_eq(g->granted_by, "alice");
    ck_assert(b->max_nodes_per_hour == DGRANT_UNLIMITED && b->expires_ns == DGRANT_WITHOUT_END);
    g->m.deleted_ns = 1;
    ck_assert(!dgrant_in_force(g, 0));
    decode_dgrant_free(g);
    decode_dgrant_free(b);
    end();
}
END_TEST

UNIT_MAIN("dgrant", UNIT_CASES(read, rows), UNIT_TEST(bounds))
