/* consolidatable.c - see consolidatable.h. */
#include "consolidatable.h"

#include "agent/store/store.h"
#include "agent/work/cond.h"
#include "agent/work/queue.h"
#include "agent/work/work.h"
#include "claim.h"
#include "common/base/alloc.h"
#include "common/base/str.h"
#include "common/core/disrupt/candidate.h"

#define BACKOFF_NS (1 * NS_PER_S)
#define BACKOFF_MAX_NS (30 * NS_PER_S)
#define CONDITION "Consolidatable"

struct consolidatable {
    struct runtime *rt;
    struct queue *q;
};

/* Wall time from which the condition holds, NS_NEVER if it does not. */
static int64_t holds_from(const struct consolidatable *c, const struct nodeclaim *nc)
{
    const struct nodepool *np = *nc->pool ? store_pool(c->rt->store, nc->pool) : NULL;
    if (!np || np->is_static || !claim_is(nc, "Initialized")) {
        return NS_NEVER;
    }
    return candidate_consolidatable_at(np, nc);
}

static enum queue_verdict handle(void *ctx, const char *key)
{
    struct consolidatable *c = ctx;
    const struct nodeclaim *nc = store_claim(c->rt->store, key);
    if (!nc || nc->m.deleted_ns || !store_ours(&nc->class_ref) ||
        c->rt->opt->mode == MODE_OBSERVE) {
        return QUEUE_OK;
    }
    int64_t now_ns = clock_wall(c->rt->clock), at_ns = holds_from(c, nc);
    struct cond_edit e;
    cond_begin(&e, &nc->conditions, &nc->m, now_ns);
    if (at_ns <= now_ns) {
        cond_set(&e, CONDITION, STATUS_TRUE, NULL, NULL);
    } else {
        cond_clear(&e, CONDITION);
        if (at_ns != NS_NEVER) {
            queue_add_after(c->q, key, at_ns - now_ns);
        }
    }
    if (!e.changed) {
        return QUEUE_OK;
    }
    json_t *patch = json_pack("{s:{s:o}}", "status", "conditions", cond_json(&e));
    struct work w = {c->rt, c->q, key, NULL, NULL};
    return work_patch(&w, KIND_NODE_CLAIM, NULL, key, "status", patch, nc->m.resource_version);
}

static void on_claim(void *arg, const char *key, const void *before, const void *now)
{
    struct consolidatable *c = arg;
    (void)before;
    if (now) {
        queue_add(c->q, key);
    }
}

static void on_pool(void *arg, const char *key, const void *before, const void *now)
{
    struct consolidatable *c = arg;
    const struct nodepool *was = before, *is = now;
    if (was && is && was->m.generation == is->m.generation) {
        return; /* only its status changed */
    }
    for (MAP_EACH(store_all(c->rt->store, STORE_CLAIM), e)) {
        const struct nodeclaim *nc = map_value(e);
        if (str_eq(nc->pool, key)) {
            queue_add(c->q, map_key(e));
        }
    }
}

struct consolidatable *consolidatable_new(struct runtime *rt)
{
    struct consolidatable *c = NEW(struct consolidatable);
    c->rt = rt;
    c->q = queue_new(rt, "nodeclaim.consolidatable", STORE_CLAIM, BACKOFF_NS, BACKOFF_MAX_NS,
                     handle, c);
    store_subscribe(rt->store, STORE_CLAIM, on_claim, c);
    store_subscribe(rt->store, STORE_POOL, on_pool, c);
    return c;
}

void consolidatable_free(struct consolidatable *c)
{
    if (c) {
        queue_free(c->q);
        free(c);
    }
}

void consolidatable_start(struct consolidatable *c)
{
    (void)c;
}
