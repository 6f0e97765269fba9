/* poolgate.c - see poolgate.h. */
#include "poolgate.h"

#include "agent/claim/reghealth.h"
#include "agent/cloud/cloud.h"
#include "agent/leave/holds.h"
#include "agent/work/marker.h"

static void close_pool(struct snapshot_pool_in *p, enum reason_code code, const char *text)
{
    p->closed = code;
    p->closed_text = text;
}

static void gate(struct runtime *rt, struct arena *a, struct snapshot_pool_in *p)
{
    const struct nodepool *np = p->pool;
    const char *aside = marker_pool_closed(rt->marker, np->m.name);
    const struct condition *ready = condition_find(&np->conditions, "Ready");
    if (np->m.deleted_ns) {
        close_pool(p, REASON_PoolNotReady, "the NodePool is being deleted");
    } else if (np->problem) {
        close_pool(p, REASON_PoolNotReady, np->problem);
    } else if (np->unknown_field) {
        close_pool(p, REASON_UnknownFields, np->unknown_field);
    } else if (aside) {
        close_pool(p, REASON_PoolNotReady, arena_strdup(a, aside));
    } else if (p->closed == REASON_NONE && (!ready || ready->status != STATUS_TRUE)) {
        const char *text = ready && *ready->message
                               ? arena_printf(a, "the NodePool is not ready: %s", ready->message)
                               : "the NodePool is not ready";
        close_pool(p, REASON_PoolNotReady, text);
    }
    const char *held = p->closed == REASON_NONE ? hold_launches(rt, np->m.name) : NULL;
    if (held) {
        close_pool(p, REASON_Held, held);
    }
}

/* -1 = any number. */
static int64_t launches(struct runtime *rt, const struct nodepool *np, int64_t max)
{
    int64_t left = reghealth_launches_left(rt->reghealth, np);
    return left >= 0 && (max < 0 || left < max) ? left : max;
}

void poolgate_pools(struct runtime *rt, struct arena *a, int64_t max_new_nodes,
                    struct snapshot_in *in)
{
    cloud_pools(rt->cloud, a, in);
    struct snapshot_pool_in *pools = ARENA_NEW_N(a, struct snapshot_pool_in, in->n_pools);
    for (uint32_t i = 0; i < in->n_pools; i++) {
        pools[i] = in->pools[i];
        pools[i].max_new_nodes = launches(rt, pools[i].pool, max_new_nodes);
        gate(rt, a, &pools[i]);
    }
    in->pools = pools;
}
