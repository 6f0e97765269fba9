/* decode_dgrant.c - DisruptionGrants. */
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/base/tzone.h"
#include "common/core/consent/approval.h"
#include "common/core/consent/dgrant.h"
#include "decode_priv.h"

#define CHUNK 512u

static void problem(struct dgrant *g, const char *text)
{
    g->problem = g->problem ? g->problem : text;
}

static bool absent(const json_t *v)
{
    return !v || json_is_null(v);
}

static void read_pools(struct dgrant *g, const json_t *spec)
{
    const json_t *list = json_object_get(spec, "pools");
    size_t n = json_array_size(list);
    if (n == 0 || n > DGRANT_POOLS_MAX) {
        problem(g, "spec.pools: none, or too many");
        return;
    }
    const char **v = ARENA_NEW_N(&g->mem, const char *, n);
    for (size_t i = 0; i < n; i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (!name || !*name) {
            problem(g, "spec.pools: not a name");
        }
        v[i] = arena_strdup(&g->mem, name ? name : "");
    }
    g->pools = v;
    g->n_pools = (uint32_t)n;
}

static void read_reasons(struct dgrant *g, const json_t *spec)
{
    const json_t *list = json_object_get(spec, "reasons");
    for (size_t i = 0; i < json_array_size(list); i++) {
        unsigned bit = approval_reason_named(json_string_value(json_array_get(list, i)));
        if (bit == 0) {
            problem(g, "spec.reasons: none of Underutilized, Drifted and Empty");
        }
        g->reasons |= bit;
    }
    if (g->reasons == 0) {
        problem(g, "spec.reasons: none");
    }
}

static void read_windows(struct dgrant *g, const json_t *spec)
{
    const json_t *schedule = json_object_get(spec, "schedule");
    const json_t *duration = json_object_get(spec, "duration");
    const json_t *zone = json_object_get(spec, "timeZone");
    g->schedule_text = decode_str(&g->mem, spec, "schedule");
    g->time_zone = decode_str(&g->mem, spec, "timeZone");
    g->windows = !absent(schedule) || !absent(duration);
    if (!g->windows) {
        return;
    }
    if (cron_parse(g->schedule_text, &g->schedule, NULL) != 0) {
        problem(g, "spec.schedule is not a schedule");
    }
    if (!json_is_string(duration) ||
        !timefmt_parse_duration(json_string_value(duration), &g->duration_ns) ||
        g->duration_ns <= 0) {
        problem(g, "spec.duration is not a duration");
    }
    if (!absent(zone)) {
        g->tz = tzone_load(&g->mem, TZONE_FOLDER, g->time_zone, NULL);
        if (!g->tz) {
            problem(g, "spec.timeZone is not known here");
        }
    }
}

static void read_bounds(struct dgrant *g, const json_t *spec)
{
    const json_t *max = json_object_get(spec, "maxNodesPerHour");
    const json_t *expires = json_object_get(spec, "expiresAt");
    g->max_nodes_per_hour = DGRANT_UNLIMITED;
    g->expires_ns = DGRANT_WITHOUT_END;
    if (!absent(max)) {
        g->max_nodes_per_hour = json_integer_value(max);
        if (!json_is_integer(max) || g->max_nodes_per_hour < 0) {
            problem(g, "spec.maxNodesPerHour is not a number of nodes");
        }
    }
    if (!absent(expires) &&
        !timefmt_parse_rfc3339(jsonx_str_or(spec, "expiresAt", ""), &g->expires_ns)) {
        problem(g, "spec.expiresAt is not a time");
    }
}

static int read_dgrant(struct decoder *d, struct dgrant *g, const json_t *o, struct err *reterr)
{
    const json_t *spec = json_object_get(o, "spec");
    if (decode_meta(d, &g->mem, o, META_POD_ANNOTATIONS, &g->m, reterr)) {
        return -1;
    }
    read_pools(g, spec);
    read_reasons(g, spec);
    read_windows(g, spec);
    read_bounds(g, spec);
    g->granted_by = decode_str(&g->mem, spec, "grantedBy");
    g->note = decode_str(&g->mem, spec, "note");
    return 0;
}

struct dgrant *decode_dgrant(struct decoder *d, const json_t *o, struct err *reterr)
{
    struct dgrant *g = NEW(struct dgrant);
    arena_init(&g->mem, CHUNK, DECODE_OBJECT_MAX);
    if (read_dgrant(d, g, o, reterr) || decode_check_size(&g->mem, reterr)) {
        decode_dgrant_free(g);
        return NULL;
    }
    return g;
}

void decode_dgrant_free(struct dgrant *g)
{
    if (g) {
        arena_done(&g->mem);
        free(g);
    }
}
