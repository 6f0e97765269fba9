/* consistency.c - see consistency.h. */
#include "consistency.h"

#include "agent/store/store.h"
#include "agent/work/cond.h"
#include "agent/work/gate.h"
#include "agent/work/queue.h"
#include "agent/work/work.h"
#include "claim.h"
#include "common/base/alloc.h"
#include "common/base/str.h"
#include "common/kube/events.h"

#define BACKOFF_NS (1 * NS_PER_S)
#define BACKOFF_MAX_NS (60 * NS_PER_S)
#define CONDITION "ConsistentStateFound"

struct consistency {
    struct runtime *rt;
    struct queue *q;
    struct timer period;
};

static bool enough(const char *name, int64_t asked, int64_t expected, int64_t have,
                   char text[CONSISTENCY_TEXT])
{
    bool large = expected > INT64_MAX / 100 || have > INT64_MAX / 100;
    int64_t e = large ? expected / 100 : expected, h = large ? have / 100 : have;
    if (asked == 0 || e <= 0 || h * 100 >= e * CONSISTENCY_PERCENT) {
        return true;
    }
    snprintf(text, CONSISTENCY_TEXT, "of resource %.150s %lld%% of what was expected were found",
             name, (long long)(h * 100 / e));
    return false;
}

bool consistency_holds(const struct symtab *t, const struct nodeclaim *nc, const struct node *n,
                       char text[CONSISTENCY_TEXT])
{
    const struct resources *asked = &nc->requests;
    for (int i = 0; i < RES_FIXED; i++) {
        if (!enough(resource_name((enum resource)i), asked->v[i], nc->capacity.v[i],
                    n->capacity.v[i], text)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < asked->n_ext; i++) {
        sym name = asked->ext[i].name;
        if (!enough(sym_str(t, name), asked->ext[i].amount, resources_get_ext(&nc->capacity, name),
                    resources_get_ext(&n->capacity, name), text)) {
            return false;
        }
    }
    return true;
}

static enum queue_verdict handle(void *ctx, const char *key)
{
    struct consistency *c = ctx;
    struct runtime *rt = c->rt;
    const struct nodeclaim *nc = store_claim(rt->store, key);
    const struct node *n = nc ? store_node_by_provider_id(rt->store, nc->provider_id, NULL) : NULL;
    char text[CONSISTENCY_TEXT] = "";
    struct cond_edit e;
    if (!nc || nc->m.deleted_ns || !store_ours(&nc->class_ref) || !claim_is(nc, "Initialized") ||
        rt->opt->mode == MODE_OBSERVE) {
        return QUEUE_OK;
    }
    if (!n || n->m.deleted_ns || !gate_open(rt->gate)) {
        return QUEUE_OK;
    }
    cond_begin(&e, &nc->conditions, &nc->m, clock_wall(rt->clock));
    if (consistency_holds(rt->syms, nc, n, text)) {
        cond_set(&e, CONDITION, STATUS_TRUE, NULL, NULL);
    } else {
        struct events_subject about = {KIND_NODE_CLAIM, NULL, nc->m.name, nc->m.uid};
        events_warning(rt->events, &about, "FailedConsistencyCheck", "%s", text);
        cond_set(&e, CONDITION, STATUS_FALSE, "ConsistencyCheckFailed", text);
    }
    if (!e.changed) {
        return QUEUE_OK;
    }
    struct work w = {rt, c->q, key, NULL, NULL};
    return work_patch(&w, KIND_NODE_CLAIM, NULL, key, "status",
                      json_pack("{s:{s:o}}", "status", "conditions", cond_json(&e)),
                      nc->m.resource_version);
}

static void on_period(void *arg)
{
    struct consistency *c = arg;
    struct runtime *rt = c->rt;
    timer_set(&rt->timers, &c->period, clock_mono(rt->clock) + CONSISTENCY_PERIOD_NS, on_period, c);
    for (MAP_EACH(store_all(rt->store, STORE_CLAIM), e)) {
        if (claim_is(map_value(e), "Initialized")) {
            queue_add(c->q, map_key(e));
        }
    }
}

struct consistency *consistency_new(struct runtime *rt)
{
    struct consistency *c = NEW(struct consistency);
    c->rt = rt;
    c->q =
        queue_new(rt, "nodeclaim.consistency", STORE_CLAIM, BACKOFF_NS, BACKOFF_MAX_NS, handle, c);
    return c;
}

void consistency_free(struct consistency *c)
{
    if (c) {
        timer_stop(&c->rt->timers, &c->period);
        queue_free(c->q);
        free(c);
    }
}

void consistency_start(struct consistency *c)
{
    struct runtime *rt = c->rt;
    timer_set(&rt->timers, &c->period, clock_mono(rt->clock) + CONSISTENCY_PERIOD_NS, on_period, c);
}
