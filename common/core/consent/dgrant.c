/* dgrant.c - see dgrant.h. */
#include "dgrant.h"

#include "common/base/str.h"

bool dgrant_in_force(const struct dgrant *g, int64_t now_ns)
{
    return !g->problem && g->m.deleted_ns == 0 && g->expires_ns > now_ns;
}

bool dgrant_open(const struct dgrant *g, int64_t now_ns)
{
    return dgrant_in_force(g, now_ns) &&
           (!g->windows || cron_active(&g->schedule, g->tz, g->duration_ns, now_ns));
}

bool dgrant_names(const struct dgrant *g, const char *pool, enum disruption_reason reason)
{
    if (g->problem || !(g->reasons & (unsigned)reason)) {
        return false;
    }
    for (uint32_t i = 0; i < g->n_pools; i++) {
        if (str_eq(g->pools[i], pool) || str_eq(g->pools[i], DGRANT_ALL_POOLS)) {
            return true;
        }
    }
    return false;
}
