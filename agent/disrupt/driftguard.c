/* driftguard.c - see driftguard.h. */
#include "driftguard.h"

#include "agent/store/store.h"
#include "common/base/alloc.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"

#define SUSPECT "DriftSuspect"
#define HALTED "DriftHalted"

struct row {
    int64_t pool_generation, class_generation;
    int64_t changed_ns; /* wall; 0 = not seen to change */
    uint32_t drifted, nodes;
    bool counted;      /* since it was seen to change */
    unsigned failures; /* in a row */
    char *failed;      /* the node whose replacement failed last, and why */
};

struct driftguard {
    struct runtime *rt;
    struct map *pools; /* name → struct row */
    void (*listener)(void *ctx, const char *pool);
    void *ctx;
    char message[320];
    char halted[560];
};

static void row_free(struct row *row)
{
    if (row) {
        free(row->failed);
        free(row);
    }
}

/* NULL: there is no room. */
static struct row *row_of(struct driftguard *g, const char *pool)
{
    struct row *row = map_get(g->pools, pool);
    bool full = false;
    if (row) {
        return row;
    }
    row = NEW(struct row);
    map_put(g->pools, pool, row, &full);
    if (full) {
        row_free(row);
        return NULL;
    }
    return row;
}

static void tell(struct driftguard *g, const char *pool)
{
    if (g->listener) {
        g->listener(g->ctx, pool);
    }
}

/* ---- changes -----------------------------------------------------------------------------------
 */

static bool not_seen_yet(const struct meta *m, const struct conditions *have)
{
    const struct condition *ready = condition_find(have, "Ready");
    return ready && ready->observed_generation && ready->observed_generation < m->generation;
}

/* At first sight what the conditions say tells whether it was changed while nobody looked. */
static bool changed(int64_t *seen, const struct meta *m, const struct conditions *have)
{
    bool ret = *seen == 0 ? not_seen_yet(m, have) : *seen != m->generation;
    *seen = m->generation;
    return ret;
}

static void note_generations(struct driftguard *g, struct row *row, const struct nodepool *np)
{
    const struct nodeclass *cls = store_class(g->rt->store, np->class_ref.name);
    bool any = changed(&row->pool_generation, &np->m, &np->conditions);
    any |= cls && changed(&row->class_generation, &cls->m, &cls->conditions);
    if (any) {
        row->changed_ns = clock_wall(g->rt->clock);
        row->failures = 0;
        row->counted = false;
    }
}

void driftguard_counted(struct driftguard *g, const struct nodepool *np, uint32_t drifted,
                        uint32_t nodes)
{
    struct row *row = row_of(g, np->m.name);
    if (!row) {
        return;
    }
    note_generations(g, row, np);
    row->drifted = drifted;
    row->nodes = nodes;
    row->counted = true;
    tell(g, np->m.name);
}

void driftguard_replaced(struct driftguard *g, const char *pool)
{
    struct row *row = map_get(g->pools, pool);
    if (row) {
        row->failures = 0;
    }
}

void driftguard_failed(struct driftguard *g, const char *pool, const char *node, const char *why)
{
    struct row *row = row_of(g, pool);
    if (row) {
        row->failures++;
        free(row->failed);
        row->failed = *why ? xasprintf("%.100s (%.200s)", node, why) : xasprintf("%.100s", node);
        tell(g, pool);
    }
}

/* ---- conditions --------------------------------------------------------------------------------
 */

static bool is_mass(const struct row *row)
{
    return row->drifted > 1 && (uint64_t)row->drifted * DRIFTGUARD_SHARE > row->nodes;
}

static bool changed_since(const struct row *row, int64_t since_ns)
{
    return row->changed_ns != 0 && row->changed_ns >= since_ns;
}

static void say_changed(struct cond_edit *e)
{
    cond_set(e, SUSPECT, STATUS_FALSE, "GenerationChanged",
             "The NodePool or its EC2NodeClass was changed: its drifted nodes are replaced");
}

static void suspect(struct driftguard *g, const struct row *row, const struct nodepool *np,
                    struct cond_edit *e)
{
    const struct condition *have = condition_find(&np->conditions, SUSPECT);
    char until[TIMEFMT_TEXT];
    if (!is_mass(row)) {
        cond_clear(e, SUSPECT);
    } else if (have && have->status != STATUS_TRUE) {
        return; /* this mass has waited, or was asked for */
    } else if (changed_since(row, have ? have->transition_ns : e->now_ns - DRIFTGUARD_CHANGE_NS)) {
        say_changed(e);
    } else if (have && e->now_ns - have->transition_ns >= DRIFTGUARD_WAIT_NS) {
        cond_set(e, SUSPECT, STATUS_FALSE, "Waited",
                 "Nobody objected: the drifted nodes are replaced");
    } else if (!have) {
        snprintf(g->message, sizeof(g->message),
                 "%u of %u nodes drift though neither the NodePool nor its EC2NodeClass was "
                 "changed: they stay until %s, or until one of the two is changed",
                 row->drifted, row->nodes, timefmt_rfc3339(e->now_ns + DRIFTGUARD_WAIT_NS, until));
        cond_set(e, SUSPECT, STATUS_TRUE, SUSPECT, g->message);
    }
}

static void halted(struct driftguard *g, struct row *row, const struct nodepool *np,
                   struct cond_edit *e)
{
    const struct condition *have = condition_find(&np->conditions, HALTED);
    if (have && have->status == STATUS_TRUE) {
        bool over = e->now_ns - have->transition_ns >= DRIFTGUARD_HALT_NS;
        bool changed = changed_since(row, have->transition_ns) ||
                       (have->observed_generation && have->observed_generation != np->m.generation);
        if (over || changed) {
            row->failures = over ? DRIFTGUARD_FAILURES - 1 : 0;
            cond_clear(e, HALTED);
        }
    } else if (row->failures >= DRIFTGUARD_FAILURES) {
        snprintf(g->halted, sizeof(g->halted),
                 "%u replacements of drifted nodes in a row came to nothing, last that of node "
                 "%s: drifted nodes stay until the NodePool or its EC2NodeClass is changed",
                 row->failures, row->failed);
        cond_set(e, HALTED, STATUS_TRUE, "ReplacementsFailed", g->halted);
    } else {
        cond_clear(e, HALTED);
    }
}

void driftguard_conditions(struct driftguard *g, const struct nodepool *np, struct cond_edit *e)
{
    struct row *row = map_get(g->pools, np->m.name);
    if (row && !row->counted && changed_since(row, e->now_ns - DRIFTGUARD_CHANGE_NS)) {
        say_changed(e); /* before the generation is written as seen: a process after us knows */
    }
    if (!row || !row->counted) {
        return; /* what a process before us said goes on */
    }
    suspect(g, row, np, e);
    halted(g, row, np, e);
}

/* ---- life --------------------------------------------------------------------------------------
 */

/* Before anybody writes that the new generation was seen. */
static void on_pool(void *arg, const char *key, const void *before UNUSED, const void *now)
{
    struct driftguard *g = arg;
    struct row *row = now ? row_of(g, key) : NULL;
    if (row) {
        note_generations(g, row, now);
    } else if (!now) {
        row_free(map_del(g->pools, key));
    }
}

static void on_class(void *arg, const char *key, const void *before UNUSED, const void *now)
{
    struct driftguard *g = arg;
    for (MAP_EACH(store_all(g->rt->store, STORE_POOL), e)) {
        const struct nodepool *np = map_value(e);
        struct row *row = now && str_eq(np->class_ref.name, key) ? row_of(g, np->m.name) : NULL;
        if (row) {
            note_generations(g, row, np);
        }
    }
}

void driftguard_listen(struct driftguard *g, void (*fn)(void *ctx, const char *pool), void *ctx)
{
    g->listener = fn;
    g->ctx = ctx;
}

struct driftguard *driftguard_new(struct runtime *rt)
{
    struct driftguard *g = NEW(struct driftguard);
    g->rt = rt;
    g->pools = map_new(STORE_MAX_OBJECTS);
    store_subscribe(rt->store, STORE_POOL, on_pool, g);
    store_subscribe(rt->store, STORE_CLASS, on_class, g);
    return g;
}

void driftguard_free(struct driftguard *g)
{
    if (!g) {
        return;
    }
    for (MAP_EACH(g->pools, e)) {
        row_free(map_value(e));
    }
    map_free(g->pools);
    free(g);
}
