/* spared.c - see spared.h. */
#include "spared.h"

#include "agent/store/store.h"
#include "common/base/alloc.h"
#include "common/base/map.h"
#include "common/base/str.h"

struct spared {
    struct runtime *rt;
    struct map *claims; /* name → struct row */
};

struct row {
    char *uid;
    int64_t until_ns; /* monotonic */
    unsigned times;
};

void spared_drop(struct spared *s, const char *claim)
{
    struct row *row = map_del(s->claims, claim);
    if (row) {
        free(row->uid);
        free(row);
    }
}

static struct row *row_of(struct spared *s, const struct nodeclaim *nc)
{
    struct row *row = map_get(s->claims, nc->m.name);
    bool full = false;
    if (row && str_eq(row->uid, nc->m.uid)) {
        return row;
    }
    spared_drop(s, nc->m.name);
    row = NEW(struct row);
    row->uid = xstrdup(nc->m.uid);
    map_put(s->claims, nc->m.name, row, &full);
    if (full) {
        free(row->uid);
        free(row);
        return NULL;
    }
    return row;
}

void spared_put(struct spared *s, const struct nodeclaim *nc)
{
    struct row *row = row_of(s, nc);
    int64_t ns = SPARED_NS;
    if (!row) {
        return;
    }
    for (unsigned i = 0; i < row->times && ns < SPARED_MAX_NS; i++) {
        ns *= 2;
    }
    row->times++;
    row->until_ns = clock_mono(s->rt->clock) + (ns < SPARED_MAX_NS ? ns : SPARED_MAX_NS);
}

void spared_put_briefly(struct spared *s, const struct nodeclaim *nc)
{
    struct row *row = row_of(s, nc);
    if (row) {
        row->until_ns = clock_mono(s->rt->clock) + SPARED_NS;
    }
}

bool spared_has(const struct spared *s, const struct nodeclaim *nc)
{
    const struct row *row = map_get(s->claims, nc->m.name);
    return row && str_eq(row->uid, nc->m.uid) && row->until_ns > clock_mono(s->rt->clock);
}

static void on_claim(void *arg, const char *key, const void *before, const void *now)
{
    (void)before;
    if (!now) {
        spared_drop(arg, key);
    }
}

struct spared *spared_new(struct runtime *rt)
{
    struct spared *s = NEW(struct spared);
    s->rt = rt;
    s->claims = map_new(STORE_MAX_OBJECTS);
    store_subscribe(rt->store, STORE_CLAIM, on_claim, s);
    return s;
}

void spared_free(struct spared *s)
{
    if (!s) {
        return;
    }
    for (MAP_EACH(s->claims, e)) {
        spared_drop(s, map_key(e));
    }
    map_free(s->claims);
    free(s);
}
