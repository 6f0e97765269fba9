/* reghealth.c - see reghealth.h. */
#include "reghealth.h"

#include "agent/cloud/cloud.h"
#include "agent/store/store.h"
#include "claim.h"
#include "common/base/alloc.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"

#define HEALTHY "NodeRegistrationHealthy"
#define FAILING "RegistrationFailing"

struct reghealth {
    struct runtime *rt;
    struct map *pools; /* name → struct row */
    void (*listener)(void *ctx, const char *pool);
    void *ctx;
};

struct row {
    char *uid;
    int64_t generation, class_generation;
    bool failed[REGHEALTH_RING]; /* oldest first */
    unsigned n;
    unsigned in_a_row;     /* launched and not registered */
    int64_t tried_ns;      /* monotonic: when a claim of the pool was last created; 0 = long ago */
    char *reason, *text;   /* of the newest failure */
    char *newest;          /* its claim, if that had a machine and no Node */
    char *failing_message; /* of the condition, while in_a_row is enough */
};

/* ---- rows --------------------------------------------------------------------------------------
 */

static void row_empty(struct row *row)
{
    row->n = row->in_a_row = 0;
    free(row->reason);
    free(row->text);
    free(row->newest);
    free(row->failing_message);
    row->reason = row->text = row->newest = row->failing_message = NULL;
}

static void row_free(struct row *row)
{
    if (row) {
        row_empty(row);
        free(row->uid);
        free(row);
    }
}

static int64_t class_generation(const struct reghealth *h, const struct nodepool *np)
{
    const struct nodeclass *c = store_class(h->rt->store, np->class_ref.name);
    return c ? c->m.generation : 0;
}

static void push(struct row *row, bool failed)
{
    if (row->n == REGHEALTH_RING) {
        memmove(row->failed, row->failed + 1, sizeof(row->failed) - sizeof(row->failed[0]));
        row->n--;
    }
    row->failed[row->n++] = failed;
}

static void set_text(char **dst, const char *text)
{
    char *copy = xstrdup(text);
    free(*dst);
    *dst = copy;
}

/* A condition of this generation of the pool, or NULL. */
static const struct condition *said(const struct nodepool *np, const char *type)
{
    const struct condition *c = condition_find(&np->conditions, type);
    return c && c->observed_generation == np->m.generation ? c : NULL;
}

/* What a process before us knew. Two failures are what makes a ring unhealthy. */
static void recall(struct reghealth *h, struct row *row, const struct nodepool *np)
{
    const struct condition *healthy = said(np, HEALTHY), *failing = said(np, FAILING);
    if (!healthy || healthy->status == STATUS_UNKNOWN) {
        return;
    }
    push(row, healthy->status == STATUS_FALSE);
    if (healthy->status == STATUS_FALSE) {
        push(row, true);
        set_text(&row->reason, healthy->reason);
        set_text(&row->text, healthy->message);
    }
    if (failing && failing->status == STATUS_TRUE) {
        int64_t ago_ns = clock_wall(h->rt->clock) - failing->transition_ns;
        row->in_a_row = REGHEALTH_FAILING;
        row->tried_ns = clock_mono(h->rt->clock) - (ago_ns > 0 ? ago_ns : 0);
        set_text(&row->failing_message, failing->message);
    }
}

static struct row *row_of(struct reghealth *h, const struct nodepool *np)
{
    struct row *row = map_get(h->pools, np->m.name);
    int64_t generation = class_generation(h, np);
    if (row && !str_eq(row->uid, np->m.uid)) {
        row_free(map_del(h->pools, np->m.name));
        row = NULL;
    }
    if (!row) {
        bool full = false;
        row = NEW(struct row);
        row->uid = xstrdup(np->m.uid);
        row->generation = np->m.generation;
        row->class_generation = np->class_observed_generation;
        recall(h, row, np);
        map_put(h->pools, np->m.name, row, &full);
        if (full) {
            row_free(row);
            return NULL;
        }
    }
    if (row->generation != np->m.generation ||
        (row->class_generation && generation && row->class_generation != generation)) {
        row_empty(row); /* somebody has changed something: it may work now */
    }
    row->generation = np->m.generation;
    row->class_generation = generation ? generation : row->class_generation;
    return row;
}

static void tell(struct reghealth *h, const char *pool)
{
    if (h->listener) {
        h->listener(h->ctx, pool);
    }
}

/* ---- what happened -----------------------------------------------------------------------------
 */

int64_t reghealth_timeout_ns(const struct agent_options *o, const struct nodepool *np)
{
    const char *own = np ? kvs_get(&np->m.annotations, ANN_REGISTRATION_TIMEOUT) : NULL;
    int64_t ns;
    return own && timefmt_parse_duration(own, &ns) && ns > 0 ? ns : o->registration_timeout_ns;
}

static void note_unlaunched(struct row *row, const struct nodeclaim *nc)
{
    const struct condition *c = condition_find(&nc->conditions, "Launched");
    AUTO_FREE char *text = xasprintf("nodeclaim %s was not launched: %s", nc->m.name,
                                     c && *c->message ? c->message : "");
    set_text(&row->newest, "");
    set_text(&row->reason, c && *c->reason ? c->reason : "LaunchFailed");
    set_text(&row->text, text);
}

static void set_failing(struct row *row, const char *timeout)
{
    if (row->in_a_row >= REGHEALTH_FAILING) {
        free(row->failing_message);
        row->failing_message =
            xasprintf("the last %u launches never registered, so at most one is tried per %s: %s",
                      row->in_a_row, timeout, row->text);
    }
}

static void note_unregistered(struct reghealth *h, struct row *row, const struct nodepool *np,
                              const struct nodeclaim *nc)
{
    const struct condition *c = condition_find(&nc->conditions, "Registered");
    const char *id = cloud_instance_id(nc->provider_id);
    char took[TIMEFMT_TEXT];
    timefmt_duration(reghealth_timeout_ns(h->rt->opt, np), took);
    bool came = c && !str_eq(c->reason, "NodeNotFound") && *c->message;
    AUTO_FREE char *text =
        came ? xasprintf("nodeclaim %s (%s) did not register within %s: %s", nc->m.name,
                         id ? id : "?", took, c->message)
             : xasprintf("nodeclaim %s (%s) ran for %s and no Node joined: its role may have no "
                         "access entry, its subnet no route to the API server, or its image or "
                         "user data start no kubelet in that time (%s)",
                         nc->m.name, id ? id : "?", took, ANN_REGISTRATION_TIMEOUT);
    set_text(&row->reason, "RegistrationFailed");
    set_text(&row->text, text);
    set_text(&row->newest, came ? "" : nc->m.name);
    row->in_a_row++;
    set_failing(row, took);
}

void reghealth_failed(struct reghealth *h, const struct nodeclaim *nc)
{
    const struct nodepool *np = store_pool(h->rt->store, nc->pool);
    struct row *row = np && !nodeclaim_had_node(nc) ? row_of(h, np) : NULL;
    if (!row) {
        return;
    }
    push(row, true);
    if (claim_is(nc, "Launched")) {
        note_unregistered(h, row, np, nc);
    } else {
        note_unlaunched(row, nc);
    }
    tell(h, np->m.name);
}

void reghealth_console(struct reghealth *h, const char *claim, const char *text)
{
    char took[TIMEFMT_TEXT];
    for (MAP_EACH(h->pools, e)) {
        struct row *row = map_value(e);
        const struct nodepool *np = store_pool(h->rt->store, map_key(e));
        if (np && str_eq(row->newest, claim)) {
            AUTO_FREE char *more = xasprintf("%s; its console ended with: %s", row->text, text);
            set_text(&row->text, more);
            set_text(&row->newest, "");
            set_failing(row, timefmt_duration(reghealth_timeout_ns(h->rt->opt, np), took));
            tell(h, np->m.name);
        }
    }
}

static void note_good(struct reghealth *h, const struct nodepool *np)
{
    struct row *row = row_of(h, np);
    if (row) {
        push(row, false);
        row->in_a_row = 0;
        tell(h, np->m.name);
    }
}

static void on_claim(void *arg, const char *key, const void *before, const void *now)
{
    struct reghealth *h = arg;
    const struct nodeclaim *was = before, *is = now;
    const struct nodepool *np = is ? store_pool(h->rt->store, is->pool) : NULL;
    (void)key;
    if (!np || !store_ours(&is->class_ref)) {
        return;
    }
    if (was && claim_is(is, "Registered") && !claim_is(was, "Registered")) {
        note_good(h, np);
    } else if (!was && !claim_is(is, "Registered")) {
        struct row *row = row_of(h, np);
        if (row) {
            row->tried_ns = clock_mono(h->rt->clock);
        }
    }
}

static void on_pool(void *arg, const char *key, const void *before, const void *now)
{
    struct reghealth *h = arg;
    (void)before;
    if (!now) {
        row_free(map_del(h->pools, key));
    }
}

/* ---- what follows ------------------------------------------------------------------------------
 */

static bool any_on_its_way(const struct reghealth *h, const struct nodepool *np)
{
    for (MAP_EACH(store_all(h->rt->store, STORE_CLAIM), e)) {
        const struct nodeclaim *nc = map_value(e);
        if (str_eq(nc->pool, np->m.name) && !nc->m.deleted_ns && !nodeclaim_had_node(nc)) {
            return true;
        }
    }
    return false;
}

int64_t reghealth_launches_left(struct reghealth *h, const struct nodepool *np)
{
    const struct row *row = row_of(h, np);
    if (!row || row->in_a_row < REGHEALTH_FAILING) {
        return -1;
    }
    int64_t since_ns = clock_mono(h->rt->clock) - row->tried_ns;
    return since_ns < reghealth_timeout_ns(h->rt->opt, np) || any_on_its_way(h, np) ? 0 : 1;
}

void reghealth_conditions(struct reghealth *h, const struct nodepool *np, struct cond_edit *e)
{
    const struct row *row = row_of(h, np);
    unsigned failed = 0;
    for (unsigned i = 0; row && i < row->n; i++) {
        failed += row->failed[i];
    }
    if (row && failed * 2 >= REGHEALTH_RING) {
        cond_set(e, HEALTHY, STATUS_FALSE, row->reason, row->text);
    } else if (!row || row->n == failed) {
        cond_set(e, HEALTHY, STATUS_UNKNOWN, "AwaitingReconciliation",
                 "object is awaiting reconciliation");
    } else {
        cond_set(e, HEALTHY, STATUS_TRUE, NULL, NULL);
    }
    if (row && row->in_a_row >= REGHEALTH_FAILING) {
        cond_set(e, FAILING, STATUS_TRUE, "RegistrationFailed", row->failing_message);
    } else {
        cond_clear(e, FAILING);
    }
}

void reghealth_listen(struct reghealth *h, void (*fn)(void *ctx, const char *pool), void *ctx)
{
    h->listener = fn;
    h->ctx = ctx;
}

struct reghealth *reghealth_new(struct runtime *rt)
{
    struct reghealth *h = NEW(struct reghealth);
    h->rt = rt;
    h->pools = map_new(STORE_MAX_OBJECTS);
    store_subscribe(rt->store, STORE_CLAIM, on_claim, h);
    store_subscribe(rt->store, STORE_POOL, on_pool, h);
    return h;
}

void reghealth_free(struct reghealth *h)
{
    if (!h) {
        return;
    }
    for (MAP_EACH(h->pools, e)) {
        row_free(map_value(e));
    }
    map_free(h->pools);
    free(h);
}
