/* depart.c - see depart.h. */
#include "depart.h"

#include "agent/claim/claim.h"
#include "agent/history/why.h"
#include "agent/store/store.h"
#include "agent/work/cond.h"
#include "agent/work/gate.h"
#include "agent/work/queue.h"
#include "agent/work/work.h"
#include "common/base/alloc.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/kube/events.h"
#include "drain.h"
#include "notice.h"

struct order {
    struct departure why;
    char *uid;
};

struct depart {
    struct runtime *rt;
    struct queue *q;
    struct map *orders; /* claim → struct order */
    depart_fn end;
    void *ctx;
};

static void order_free(struct order *o)
{
    if (o) {
        free(o->uid);
        free(o);
    }
}

static enum queue_verdict end(struct depart *d, const char *claim, bool settled)
{
    order_free(map_del(d->orders, claim));
    if (d->end) {
        d->end(d->ctx, claim, settled);
    }
    return QUEUE_OK;
}

/* ---- steps ------------------------------------------------------------------------------------
 */

static struct work work_of(struct depart *d, const struct nodeclaim *nc, work_then_fn then)
{
    queue_add(d->q, nc->m.name); /* then the next step */
    return (struct work){d->rt, d->q, nc->m.name, then, d};
}

static bool deadline_step(struct depart *d, const struct nodeclaim *nc, const struct order *o,
                          enum queue_verdict *ret)
{
    int64_t now_ns = clock_wall(d->rt->clock), have_ns = drain_deadline_ns(nc);
    if (!o->why.now || (have_ns && have_ns <= now_ns)) {
        return false;
    }
    char at[TIMEFMT_TEXT];
    struct work w = work_of(d, nc, NULL);
    *ret = work_patch(&w, KIND_NODE_CLAIM, NULL, nc->m.name, "",
                      json_pack("{s:{s:{s:s}}}", "metadata", "annotations", ANN_TERMINATION_TIME,
                                timefmt_rfc3339(now_ns, at)),
                      nc->m.resource_version);
    return true;
}

static void say(struct depart *d, const struct nodeclaim *nc, const struct order *o)
{
    struct runtime *rt = d->rt;
    const struct node *n = store_node_by_provider_id(rt->store, nc->provider_id, NULL);
    claim_count_disrupted(rt, nc, o->why.metric);
    log_info(rt->log, "disrupting node(s)", "reason", o->why.metric, "decision", "delete",
             "NodeClaim", nc->m.name, "Node", n ? n->m.name : "", "NodePool", nc->pool);
    if (!o->why.interruption) {
        return;
    }
    struct events_subject claim = {KIND_NODE_CLAIM, NULL, nc->m.name, nc->m.uid};
    events_warning(rt->events, &claim, "TerminatingOnInterruption",
                   "Interruption triggered termination of the NodeClaim");
    if (n) {
        struct events_subject node = {KIND_NODE, NULL, n->m.name, n->m.uid};
        events_warning(rt->events, &node, "TerminatingOnInterruption",
                       "Interruption triggered termination of the Node");
    }
}

static void on_deleted(void *ctx, const char *key, const struct kube_resp *resp)
{
    struct depart *d = ctx;
    const struct order *o = map_get(d->orders, key);
    const struct nodeclaim *nc = store_claim(d->rt->store, key);
    if (resp->err.kind == ERR_NONE && o && nc && str_eq(nc->m.uid, o->uid)) {
        say(d, nc, o);
    }
}

static bool code_step(struct depart *d, const struct nodeclaim *nc, const struct order *o,
                      enum queue_verdict *ret)
{
    const char *code = o->why.code ? o->why.code : o->why.mark;
    struct work w = {d->rt, d->q, nc->m.name, NULL, d};
    if (!code || o->why.urgent || !why_step(&w, nc, code, ret)) {
        return false;
    }
    queue_add(d->q, nc->m.name);
    return true;
}

static bool delete_step(struct depart *d, const struct nodeclaim *nc, enum queue_verdict *ret)
{
    if (nc->m.deleted_ns) {
        return false;
    }
    struct work w = work_of(d, nc, on_deleted);
    *ret = work_delete(&w, KIND_NODE_CLAIM, NULL, nc->m.name, nc->m.uid);
    return true;
}

static bool is_marked(const struct nodeclaim *nc)
{
    return condition_true(&nc->conditions, "DisruptionReason");
}

/* That a machine ends soon says more than any other reason, and stays. */
static bool marked(const struct nodeclaim *nc, const char *mark)
{
    const struct condition *c = condition_find(&nc->conditions, "DisruptionReason");
    return c && c->status == STATUS_TRUE &&
           (str_eq(c->reason, mark) ||
            (notice_mark_ends_soon(c->reason) && !notice_mark_ends_soon(mark)));
}

static bool mark_step(struct depart *d, const struct nodeclaim *nc, const struct order *o,
                      enum queue_verdict *ret)
{
    if (!o->why.mark || marked(nc, o->why.mark)) {
        return false;
    }
    struct cond_edit e;
    cond_begin(&e, &nc->conditions, &nc->m, clock_wall(d->rt->clock));
    cond_set(&e, "DisruptionReason", STATUS_TRUE, o->why.mark, NULL);
    struct work w = work_of(d, nc, NULL);
    *ret = work_patch(&w, KIND_NODE_CLAIM, NULL, nc->m.name, "status",
                      json_pack("{s:{s:o}}", "status", "conditions", cond_json(&e)),
                      nc->m.resource_version);
    return true;
}

static bool stopped(const struct depart *d, const struct nodeclaim *nc, const struct order *o)
{
    const char *why = o->why.stops && !nc->m.deleted_ns ? o->why.stops(d->rt, nc) : NULL;
    if (why) {
        log_info(d->rt->log, "not removing node", "NodeClaim", nc->m.name, "reason", why);
    }
    return why != NULL;
}

static enum queue_verdict handle(void *ctx, const char *key)
{
    struct depart *d = ctx;
    const struct order *o = map_get(d->orders, key);
    const struct nodeclaim *nc = store_claim(d->rt->store, key);
    enum queue_verdict ret = QUEUE_OK;
    if (!o) {
        return QUEUE_OK;
    }
    if (!nc || !str_eq(nc->m.uid, o->uid)) {
        return end(d, key, true);
    }
    if (stopped(d, nc, o) || !gate_open(d->rt->gate)) {
        return end(d, key, false);
    }
    if ((is_marked(nc) && mark_step(d, nc, o, &ret)) || code_step(d, nc, o, &ret) ||
        delete_step(d, nc, &ret) || deadline_step(d, nc, o, &ret) || mark_step(d, nc, o, &ret)) {
        return ret;
    }
    return end(d, key, true);
}

/* ---- orders -----------------------------------------------------------------------------------
 */

void depart_order(struct depart *d, const struct nodeclaim *nc, const struct departure *why)
{
    struct order *have = map_get(d->orders, nc->m.name);
    bool same = have && str_eq(have->uid, nc->m.uid);
    if (same) {
        bool more = notice_mark_ends_soon(why->mark) && !notice_mark_ends_soon(have->why.mark);
        bool now = have->why.now || why->now;
        have->why = more ? *why : have->why;
        have->why.now = now;
    } else {
        struct order *o = NEW(struct order);
        bool full = false;
        o->why = *why;
        o->uid = xstrdup(nc->m.uid);
        order_free(map_put(d->orders, nc->m.name, o, &full));
        if (full) {
            order_free(o);
            return;
        }
    }
    queue_add(d->q, nc->m.name);
}

bool depart_has(const struct depart *d, const char *claim)
{
    return map_has(d->orders, claim);
}

struct depart *depart_new(struct runtime *rt, const char *name, depart_fn end_fn, void *ctx)
{
    struct depart *d = NEW(struct depart);
    d->rt = rt;
    d->end = end_fn;
    d->ctx = ctx;
    d->orders = map_new(STORE_MAX_OBJECTS);
    d->q = queue_new(rt, name, STORE_CLAIM, DEPART_BACKOFF_NS, DEPART_BACKOFF_MAX_NS, handle, d);
    return d;
}

void depart_free(struct depart *d)
{
    if (!d) {
        return;
    }
    queue_free(d->q);
    for (MAP_EACH(d->orders, e)) {
        order_free(map_value(e));
    }
    map_free(d->orders);
    free(d);
}
