/* launchlog.c - see launchlog.h. */
#include "launchlog.h"

#include "agent/store/store.h"
#include "claim.h"
#include "common/base/alloc.h"
#include "common/base/map.h"

struct launchlog {
    struct runtime *rt;
    struct map *pools; /* name → number of failures in a row, as a count on the heap */
};

static void note(struct launchlog *l, const char *pool, bool good)
{
    unsigned *row = *pool ? map_get(l->pools, pool) : NULL;
    if (!*pool) {
        return;
    }
    if (!row) {
        bool full = false;
        row = NEW(unsigned);
        map_put(l->pools, pool, row, &full);
        if (full) {
            free(row);
            return;
        }
    }
    *row = good ? 0 : *row + 1;
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
    } else if (!is && !claim_is(was, "Registered")) {
        note(l, was->pool, false);
    }
}

bool launchlog_failing(const struct launchlog *l, const char *pool)
{
    const unsigned *row = map_get(l->pools, pool);
    return row && *row >= LAUNCHLOG_RING;
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
