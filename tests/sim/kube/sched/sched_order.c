/* sched_order.c - see sched_order.h */
#include "sched_order.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"

#define ZONE_KEY "topology.kubernetes.io/zone"
#define FIRST_PERCENT 50u
#define LEAST_PERCENT 5u
#define NODES_PER_PERCENT 125u

size_t sim_sample_size(size_t nodes)
{
    size_t less = nodes / NODES_PER_PERCENT;
    size_t percent =
        less + LEAST_PERCENT < FIRST_PERCENT ? FIRST_PERCENT - less : (size_t)LEAST_PERCENT;
    size_t n = nodes * percent / 100;
    return nodes <= SIM_SAMPLE_ALL ? nodes : n < SIM_SAMPLE_ALL ? SIM_SAMPLE_ALL : n;
}

static const char *zone_of(const struct sim_sched_node *n)
{
    const char *zone =
        json_string_value(json_object_get(jsonx_obj(n->obj, "metadata.labels"), ZONE_KEY));
    return zone ? zone : "";
}

/* A node's turn: how many of its zone came before it. */
static void take_turns(struct sim_node_order *o)
{
    struct map *seen = map_new(SIM_API_OBJECTS_MAX);
    for (size_t i = 0; i < o->n; i++) {
        uintptr_t turn = (uintptr_t)map_get(seen, zone_of(o->v[i]));
        o->v[i]->turn = turn;
        map_put(seen, zone_of(o->v[i]), (void *)(turn + 1), NULL);
    }
    map_free(seen);
}

/* Within a turn nodes stay in the order in which they came. */
static void sort_by_turn(struct sim_node_order *o)
{
    size_t max = 0;
    for (size_t i = 0; i < o->n; i++) {
        max = o->v[i]->turn > max ? o->v[i]->turn : max;
    }
    AUTO_FREE size_t *at = NEW_N(size_t, max + 2);
    AUTO_FREE struct sim_sched_node **from = NEW_N(struct sim_sched_node *, o->n + 1);
    for (size_t i = 0; i < o->n; i++) {
        at[o->v[i]->turn + 1]++;
        from[i] = o->v[i];
    }
    for (size_t i = 1; i <= max; i++) {
        at[i] += at[i - 1];
    }
    for (size_t i = 0; i < o->n; i++) {
        o->v[at[from[i]->turn]++] = from[i];
    }
}

void sim_node_order_refresh(struct sim_node_order *o, struct sim_cluster *c)
{
    if (!c->nodes_changed) {
        return;
    }
    c->nodes_changed = false;
    o->n = 0;
    for (MAP_EACH(c->nodes, e)) {
        struct sim_sched_node *n = map_value(e);
        if (n->obj) {
            ARRAY_GROW(o->v, o->n, o->cap);
            o->v[o->n++] = n;
        }
    }
    if (o->n > SIM_SAMPLE_ALL) {
        take_turns(o);
        sort_by_turn(o);
    }
}

void sim_node_order_done(struct sim_node_order *o)
{
    free(o->v);
}
