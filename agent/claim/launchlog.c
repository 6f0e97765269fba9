/* launchlog.c - see launchlog.h. */
#include "launchlog.h"

#include "agent/store/store.h"
#include "claim.h"
#include "common/base/alloc.h"
#include "common/base/map.h"

struct launchlog {
    struct runtime *rt;
    struct map *pools; /* name → struct row */
};

struct row {
    unsigned failures; /* in a row */
    int64_t last_ns;   /* of the newest one, monotonic */
};

static void note(struct launchlog *l, const char *pool, bool good)
{
    struct row *row = *pool ? map_get(l->pools, pool) : NULL;
    if (!*pool) {
        return;
    }
    if (!row) {
        bool full = false;
        row = NEW(struct row);
        map_put(l->pools, pool, row, &full);
        if (full) {
            free(row);
            return;
        }
    }
    row->failures = good ? 0 : row->failures + 1;
    row->last_ns = clock_mono(l->rt->clock);
}

static void on_claim(void *arg, const char *key, const void *before, const void *now)
{
    struct launchlog *l = arg;
    const struct nodeclaim *was = before, *is = now;
    (void)key;
    if (!was) {
        return;
    }
    if (is && claim_is(is, "Registered") && !claim_is(was, "Registered")) {
        note(l, is->pool, true);
    } else if (!is && !nodeclaim_had_node(was)) {
        note(l, was->pool, false);
    }
}

bool launchlog_failing(const struct launchlog *l, const char *pool)
{
    const struct row *row = map_get(l->pools, pool);
    return row && row->failures >= LAUNCHLOG_RING &&
           clock_mono(l->rt->clock) - row->last_ns <= LAUNCHLOG_MEMORY_NS;
}

struct launchlog *launchlog_new(struct runtime *rt)
{
    struct launchlog *l = NEW(struct launchlog);
    l->rt = rt;
    l->pools = map_new(STORE_MAX_OBJECTS);
    store_subscribe(rt->store, STORE_CLAIM, on_claim, l);
    return l;
}

void launchlog_free(struct launchlog *l)
{
    if (!l) {
        return;
    }
    for (MAP_EACH(l->pools, e)) {
        free(map_value(e));
    }
    map_free(l->pools);
    free(l);
}
