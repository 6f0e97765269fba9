/* picture.c - see picture.h. */
#include "picture.h"

#include "agent/leave/command.h"
#include "agent/store/intents.h"
#include "agent/store/store.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/kube/decode.h"
#include "ineffective.h"
#include "poolgate.h"

/* Pods of the claims that are assumed to leave. Among their equals they come first: they run, and
 * where a limit is short the room is theirs. */
static void add_leaving(struct runtime *rt, struct arena *a, const struct picture_in *in,
                        struct snapshot_in *si)
{
    const struct pod **pods = NULL;
    const char **first = NULL;
    uint32_t n = 0, cap = 0, n_first = 0, cap_first = 0;
    for (uint32_t i = 0; i < si->n_pods; i++) {
        ARENA_GROW(a, pods, n, cap);
        pods[n++] = si->pods[i];
    }
    for (uint32_t i = 0; i < in->n_leaving; i++) {
        const struct nodeclaim *nc = store_claim(rt->store, in->leaving[i]);
        const struct node *node =
            nc ? store_node_by_provider_id(rt->store, nc->provider_id, NULL) : NULL;
        const struct map *on =
            node && !store_leaving(rt->store, node) ? store_pods_on(rt->store, node->m.name) : NULL;
        for (const struct map_entry *e = on ? map_first(on) : NULL; e; e = map_next(e)) {
            const struct pod *p = map_value(e);
            ARENA_GROW(a, pods, n, cap);
            pods[n++] = p;
            ARENA_GROW(a, first, n_first, cap_first);
            first[n_first++] = p->m.uid;
        }
    }
    if (n_first > 1) {
        qsort(first, n_first, sizeof(*first), str_qsort_cmp);
    }
    si->first = first;
    si->n_first = n_first;
    si->pods = pods;
    si->n_pods = n;
    si->leaving = in->leaving;
    si->n_leaving = in->n_leaving;
}

/* only: NULL, or the workload whose pods stay. */
static void leave_out_planned(struct runtime *rt, struct arena *a, const char *only,
                              struct snapshot_in *si)
{
    const struct pod **pods = ARENA_NEW_N(a, const struct pod *, si->n_pods);
    uint32_t n = 0;
    for (uint32_t i = 0; i < si->n_pods; i++) {
        const struct pod *p = si->pods[i];
        if (!intents_planned(rt->intents, p) && !command_holds_pods(rt->commands, p->node_name) &&
            (!only || str_eq(only, picture_workload(p)))) {
            pods[n++] = p;
        }
    }
    si->pods = pods;
    si->n_pods = n;
}

const char *picture_workload(const struct pod *p)
{
    return p->owner_uid && *p->owner_uid ? p->owner_uid : p->m.uid;
}

const struct pod *picture_next(struct runtime *rt, struct arena *a, const char *after)
{
    struct snapshot_in si;
    const struct pod *ret = NULL;
    store_snapshot_in(rt->store, a, &si);
    leave_out_planned(rt, a, NULL, &si);
    for (uint32_t i = 0; i < si.n_pods; i++) {
        const char *w = picture_workload(si.pods[i]);
        if (str_cmp(w, after) > 0 && (!ret || str_cmp(w, picture_workload(ret)) < 0)) {
            ret = si.pods[i];
        }
    }
    return ret;
}

static const char *target_name(const struct snapshot_node *n)
{
    return n->claim ? n->claim->m.name : n->name;
}

/* The snapshot is ours and not shown to anybody yet: rooms may still be narrowed. */
static void take_planned_room(struct runtime *rt, struct arena *a, struct snapshot *s)
{
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        struct snapshot_node *n = (struct snapshot_node *)(uintptr_t)&s->nodes[i];
        struct resources planned = intents_requests(rt->intents, target_name(n), a);
        if (!resources_is_zero(&planned)) {
            n->free = resources_add(a, &n->free, &planned, -1);
        }
    }
}

static const struct resources *capacity(void *ctx, const char *claim)
{
    const struct snapshot_node *n = snapshot_find(ctx, claim);
    return n ? &n->capacity : NULL;
}

/* What is replaced and what replaces it count once against limits. */
static void give_back_overlap(struct runtime *rt, struct arena *a, struct snapshot *s)
{
    for (uint32_t i = 0; i < s->n_pools; i++) {
        struct snapshot_pool *p = (struct snapshot_pool *)(uintptr_t)&s->pools[i];
        struct command_overlap twice =
            commands_overlap(rt->commands, p->np->m.name, NULL, capacity, s, a);
        p->in_use = resources_add(a, &p->in_use, &twice.capacity, -1);
        p->nodes_in_use -= twice.nodes;
    }
}

struct snapshot_work *picture_begin(struct runtime *rt, struct arena *a,
                                    const struct picture_in *in, struct snapshot *ret)
{
    struct snapshot_in si;
    store_snapshot_in(rt->store, a, &si);
    si.first = in->first;
    si.n_first = in->n_first;
    if (in->n_leaving > 0) {
        add_leaving(rt, a, in, &si);
    }
    leave_out_planned(rt, a, in->only, &si);
    si.planned = intents_all(rt->intents, a, &si.n_planned);
    ineffective_put(rt->ineffective, a, &si);
    poolgate_pools(rt, a, in->launches_left, &si);
    struct snapshot_work *w = snapshot_begin(a, &si, ret);
    take_planned_room(rt, a, ret);
    give_back_overlap(rt, a, ret);
    return w;
}

void picture_build(struct runtime *rt, struct arena *a, const struct picture_in *in,
                   struct snapshot *ret)
{
    struct snapshot_work *w = picture_begin(rt, a, in, ret);
    while (!snapshot_step(w)) {
    }
}

void picture_options(struct runtime *rt, struct arena *a, struct sched_options *ret)
{
    const struct agent_options *o = rt->opt;
    sched_options_default(ret);
    ret->placement = o->placement;
    ret->preference = o->preference;
    ret->min_values = o->min_values;
    ret->max_share_permyriad = o->max_share_permyriad;
    /* It was read once already, when the flags were. */
    (void)decode_scheduler_config(rt->decoder, a, o->scheduler_config, &ret->default_spreads,
                                  &ret->n_default_spreads, NULL);
}
