/* taint_sweep.c - see taint_sweep.h. */
#include "taint_sweep.h"

#include "agent/claim/claim.h"
#include "agent/store/store.h"
#include "agent/work/cond.h"
#include "agent/work/queue.h"
#include "agent/work/render.h"
#include "agent/work/work.h"
#include "common/base/alloc.h"
#include "common/base/map.h"
#include "common/base/str.h"

#define BACKOFF_NS (1 * NS_PER_S)
#define BACKOFF_MAX_NS (30 * NS_PER_S)
#define CONDITION "DisruptionReason"

struct taint_sweep {
    struct runtime *rt;
    bool (*in_command)(void *ctx, const char *claim);
    void *ctx;
    struct queue *q;
};

static bool is_stale(const struct taint_sweep *s, const struct node *n, const struct nodeclaim *nc)
{
    return n && nc && !n->m.deleted_ns && !nc->m.deleted_ns && store_ours(&nc->class_ref) &&
           !s->in_command(s->ctx, nc->m.name) &&
           (node_has_taint(s->rt, n, TAINT_DISRUPTED) ||
            condition_status(&nc->conditions, CONDITION) != STATUS_ABSENT);
}

static enum queue_verdict untaint(struct taint_sweep *s, const struct node *n)
{
    json_t *taints = json_array();
    for (uint32_t i = 0; i < n->taints.n; i++) {
        if (!str_eq(sym_str(s->rt->syms, n->taints.v[i].key), TAINT_DISRUPTED)) {
            json_array_append_new(taints, render_taint(s->rt->syms, &n->taints.v[i]));
        }
    }
    log_info(s->rt->log, "untainting node", "Node", n->m.name, "taint.Key", TAINT_DISRUPTED);
    queue_add(s->q, n->m.name); /* then the claim */
    struct work w = {s->rt, s->q, n->m.name, NULL, NULL};
    return work_patch(&w, KIND_NODE, NULL, n->m.name, "",
                      json_pack("{s:{s:o}}", "spec", "taints", taints), n->m.resource_version);
}

static enum queue_verdict handle(void *ctx, const char *key)
{
    struct taint_sweep *s = ctx;
    struct runtime *rt = s->rt;
    const struct node *n = store_node(rt->store, key);
    const struct nodeclaim *nc = n ? store_claim_by_provider_id(rt->store, n->provider_id) : NULL;
    if (!is_stale(s, n, nc) || rt->opt->mode == MODE_OBSERVE) {
        return QUEUE_OK;
    }
    if (node_has_taint(rt, n, TAINT_DISRUPTED)) {
        return untaint(s, n);
    }
    struct cond_edit e;
    cond_begin(&e, &nc->conditions, &nc->m, clock_wall(rt->clock));
    cond_clear(&e, CONDITION);
    struct work w = {rt, s->q, key, NULL, NULL};
    return work_patch(&w, KIND_NODE_CLAIM, NULL, nc->m.name, "status",
                      json_pack("{s:{s:o}}", "status", "conditions", cond_json(&e)),
                      nc->m.resource_version);
}

void taint_sweep_node(struct taint_sweep *s, const char *node)
{
    queue_add(s->q, node);
}

void taint_sweep_all(struct taint_sweep *s)
{
    for (MAP_EACH(store_all(s->rt->store, STORE_NODE), e)) {
        const struct node *n = map_value(e);
        if (is_stale(s, n, store_claim_by_provider_id(s->rt->store, n->provider_id))) {
            queue_add(s->q, map_key(e));
        }
    }
}

struct taint_sweep *taint_sweep_new(struct runtime *rt,
                                    bool (*in_command)(void *ctx, const char *claim), void *ctx)
{
    struct taint_sweep *s = NEW(struct taint_sweep);
    s->rt = rt;
    s->in_command = in_command;
    s->ctx = ctx;
    s->q = queue_new(rt, "disruption.sweep", STORE_NODE, BACKOFF_NS, BACKOFF_MAX_NS, handle, s);
    return s;
}

void taint_sweep_free(struct taint_sweep *s)
{
    if (s) {
        queue_free(s->q);
        free(s);
    }
}
