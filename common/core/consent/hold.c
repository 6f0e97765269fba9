/* hold.c - see hold.h. */
#include "hold.h"

#include "common/base/str.h"
#include "common/base/timefmt.h"

const char *hold_target_name(enum hold_target t)
{
    static const char *const names[] = {[HOLD_CLUSTER] = "Cluster",
                                        [HOLD_POOL] = "NodePool",
                                        [HOLD_NODE] = "Node",
                                        [HOLD_CLAIM] = "NodeClaim"};
    return names[t];
}

bool hold_in_force(const struct hold *h, int64_t now_ns)
{
    return h->m.deleted_ns == 0 && h->until_ns > now_ns;
}

bool hold_is_about(const struct hold *h, const char *pool, const char *claim, const char *node)
{
    switch (h->target) {
    case HOLD_CLUSTER:
        return true;
    case HOLD_POOL:
        return pool && str_eq(pool, h->name);
    case HOLD_NODE:
        return node && str_eq(node, h->name);
    case HOLD_CLAIM:
        return claim && str_eq(claim, h->name);
    }
    return true;
}

bool hold_is_about_launches(const struct hold *h, const char *pool)
{
    return h->all && hold_is_about(h, pool, NULL, NULL);
}

const char *hold_describe(struct arena *a, const struct hold *h, const char *when)
{
    char at[TIMEFMT_TEXT];
    bool ends = h->until_ns != HOLD_WITHOUT_END;
    when = ends && !when ? timefmt_rfc3339(h->until_ns, at) : when;
    return arena_printf(a, "hold %s%s%s%s%s%s%s", h->m.name, *h->by ? " by " : "", h->by,
                        ends ? " until " : "", ends ? when : "", *h->reason ? ": " : "", h->reason);
}
