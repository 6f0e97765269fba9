/* empty_group.c - see empty_group.h. */
#include "empty_group.h"

#include "agent/claim/claim.h"
#include "agent/store/intents.h"
#include "agent/store/store.h"
#include "agent/work/cond.h"
#include "agent/work/metrics.h"
#include "agent/work/render.h"
#include "common/base/alloc.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/kube/decode.h"
#include "common/kube/events.h"
#include "common/kube/list.h"

enum member_stage { MEMBER_OPEN, MEMBER_MARKED, MEMBER_OUT, MEMBER_DELETING };

struct member {
    struct group *g;
    enum member_stage stage;
    bool occupied, doubtful;
    char *node, *node_uid, *claim, *claim_uid, *pool;
    int64_t pool_generation;
};

struct group {
    struct empty_groups *all;
    struct group *next, **prev;
    struct member *members;
    uint32_t n, open; /* open: answers still to come */
    uint32_t listing; /* member whose pods are being listed, when one by one */
    struct kube_lister *lister;
};

struct empty_groups {
    struct runtime *rt;
    empty_let_go_fn let_go;
    void *ctx;
    struct map *claims; /* → struct member */
    struct group *first;
    struct metric_family *decisions;
};

bool empty_expected(struct runtime *rt, const struct node *n, const struct nodeclaim *nc)
{
    return store_nominated(rt->store, n, nc) || (n && intents_expected(rt->intents, n->m.name)) ||
           (nc && intents_expected(rt->intents, nc->m.name));
}

/* ---- end ---------------------------------------------------------------------------------------
 */

static void member_free(struct member *m)
{
    free(m->node);
    free(m->node_uid);
    free(m->claim);
    free(m->claim_uid);
    free(m->pool);
}

static void group_free(struct group *g)
{
    kube_lister_free(g->lister);
    for (uint32_t i = 0; i < g->n; i++) {
        member_free(&g->members[i]);
    }
    free(g->members);
    *g->prev = g->next;
    if (g->next) {
        g->next->prev = g->prev;
    }
    free(g);
}

static void group_end(struct group *g)
{
    struct empty_groups *all = g->all;
    for (uint32_t i = 0; i < g->n; i++) {
        map_del(all->claims, g->members[i].claim);
    }
    for (uint32_t i = 0; i < g->n; i++) {
        const struct member *m = &g->members[i];
        if (m->stage == MEMBER_OUT) {
            all->let_go(all->ctx, m->node, m->claim, m->doubtful);
        }
    }
    group_free(g);
}

static void member_out(struct member *m, const char *why)
{
    m->stage = MEMBER_OUT;
    log_info(m->g->all->rt->log, "not removing node", "Node", m->node, "NodeClaim", m->claim,
             "reason", why);
}

/* ---- delete ------------------------------------------------------------------------------------
 */

static void say_deleted(struct member *m)
{
    struct empty_groups *all = m->g->all;
    struct runtime *rt = all->rt;
    const struct nodeclaim *nc = store_claim(rt->store, m->claim);
    struct events_subject node = {KIND_NODE, NULL, m->node, m->node_uid};
    struct events_subject claim = {KIND_NODE_CLAIM, NULL, m->claim, m->claim_uid};
    if (nc) {
        claim_count_disrupted(rt, nc, DISRUPTED_EMPTY);
    }
    events_normal(rt->events, &node, "DisruptionTerminating", "Disrupting Node: Empty");
    events_normal(rt->events, &claim, "DisruptionTerminating", "Disrupting NodeClaim: Empty");
    log_info(rt->log, "disrupting node(s)", "reason", "empty", "decision", "delete", "Node",
             m->node, "NodeClaim", m->claim, "NodePool", m->pool);
}

static void on_deleted(void *arg, const struct kube_resp *resp)
{
    struct member *m = arg;
    struct group *g = m->g;
    if (resp->err.kind == ERR_NONE) {
        say_deleted(m);
    } else {
        m->doubtful = err_transient(&resp->err);
        member_out(m, resp->err.msg);
    }
    if (--g->open == 0) {
        group_end(g);
    }
}

/* Is it still what was decided on? */
static const char *changed(const struct member *m)
{
    struct runtime *rt = m->g->all->rt;
    const struct nodeclaim *nc = store_claim(rt->store, m->claim);
    const struct node *n = store_node(rt->store, m->node);
    const struct nodepool *np = store_pool(rt->store, m->pool);
    if (!nc || !str_eq(nc->m.uid, m->claim_uid) || nc->m.deleted_ns) {
        return "the NodeClaim changed";
    }
    if (!n || !str_eq(n->m.uid, m->node_uid) || n->m.deleted_ns) {
        return "the Node changed";
    }
    if (!np || np->m.deleted_ns || np->m.generation != m->pool_generation) {
        return "the NodePool changed";
    }
    const char *keep[] = {kvs_get(&n->m.annotations, ANN_DO_NOT_DISRUPT),
                          kvs_get(&nc->m.annotations, ANN_DO_NOT_DISRUPT)};
    for (size_t i = 0; i < ARRAY_LEN(keep); i++) {
        if (keep[i] && !str_eq(keep[i], "false")) {
            return "it must not be disrupted any more";
        }
    }
    if (empty_expected(rt, n, nc)) {
        return "pods are planned for it";
    }
    return m->occupied ? "it carries a pod" : NULL;
}

static void group_delete(struct group *g)
{
    struct runtime *rt = g->all->rt;
    g->open = 1; /* held, so that nothing ends under the loop */
    for (uint32_t i = 0; i < g->n; i++) {
        struct member *m = &g->members[i];
        if (m->stage != MEMBER_MARKED) {
            continue;
        }
        const char *why = changed(m);
        if (why) {
            member_out(m, why);
            continue;
        }
        struct kube_delete_opts o = {.uid = m->claim_uid, .grace_s = -1};
        m->stage = MEMBER_DELETING;
        g->open++;
        metric_add(g->all->decisions, LABELS("delete", "empty", "empty"), 1);
        kube_delete(&rt->client, KIND_NODE_CLAIM, NULL, m->claim, &o, on_deleted, m);
    }
    if (--g->open == 0) {
        group_end(g);
    }
}

/* ---- look --------------------------------------------------------------------------------------
 */

static void list_next(struct group *g);

static bool counts(const struct pod *p)
{
    return p->owner != POWNER_DAEMONSET && p->owner != POWNER_NODE && !pod_terminal(p);
}

static void on_pod(void *arg, json_t *object)
{
    struct group *g = arg;
    struct runtime *rt = g->all->rt;
    struct pod *p = decode_pod(rt->decoder, object, NULL);
    const char *on =
        p ? p->node_name
          : json_string_value(json_object_get(json_object_get(object, "spec"), "nodeName"));
    for (uint32_t i = 0; on && i < g->n; i++) {
        if (str_eq(g->members[i].node, on) && (!p || counts(p))) {
            g->members[i].occupied = true;
        }
    }
    decode_pod_free(rt->decoder, p);
}

static void on_listed(void *arg, const struct err *why, const char *resource_version)
{
    struct group *g = arg;
    (void)resource_version;
    kube_lister_free(g->lister);
    g->lister = NULL;
    if (why->kind != ERR_NONE) {
        for (uint32_t i = 0; i < g->n; i++) {
            if (g->members[i].stage == MEMBER_MARKED) {
                member_out(&g->members[i], why->msg);
            }
        }
    }
    list_next(g);
}

/* One LIST of the whole cluster, or one for each of a few members. */
static void list_next(struct group *g)
{
    static const struct kube_list_cb cb = {NULL, on_pod, on_listed};
    bool few = g->n <= EMPTY_GROUP_SELECT_MAX;
    while (g->listing < g->n && g->members[g->listing].stage != MEMBER_MARKED) {
        g->listing++;
    }
    if (g->listing >= g->n) {
        group_delete(g);
        return;
    }
    char field[512];
    snprintf(field, sizeof(field), "spec.nodeName=%s", g->members[g->listing].node);
    struct kube_list_opts o = {.field_selector = few ? field : NULL};
    g->listing = few ? g->listing + 1 : g->n;
    g->lister = kube_lister_new(&g->all->rt->client, KIND_POD, &o, &cb, g);
}

/* ---- taint and mark ----------------------------------------------------------------------------
 */

static void member_answered(struct member *m)
{
    struct group *g = m->g;
    if (--g->open == 0) {
        list_next(g);
    }
}

static void on_marked(void *arg, const struct kube_resp *resp)
{
    struct member *m = arg;
    if (resp->err.kind == ERR_NONE) {
        m->stage = MEMBER_MARKED;
    } else {
        member_out(m, resp->err.msg);
    }
    member_answered(m);
}

static void mark(struct member *m)
{
    struct runtime *rt = m->g->all->rt;
    const struct nodeclaim *nc = store_claim(rt->store, m->claim);
    if (!nc || !str_eq(nc->m.uid, m->claim_uid) || nc->m.deleted_ns) {
        member_out(m, "the NodeClaim changed");
        member_answered(m);
        return;
    }
    struct cond_edit e;
    cond_begin(&e, &nc->conditions, &nc->m, clock_wall(rt->clock));
    cond_set(&e, "DisruptionReason", STATUS_TRUE, "Empty", NULL);
    json_t *patch = json_pack("{s:{s:o}}", "status", "conditions", cond_json(&e));
    kube_patch(&rt->client, KIND_NODE_CLAIM, NULL, m->claim, "status", patch,
               nc->m.resource_version, on_marked, m);
    json_decref(patch);
}

static void on_tainted(void *arg, const struct kube_resp *resp)
{
    struct member *m = arg;
    if (resp->err.kind != ERR_NONE) {
        member_out(m, resp->err.msg);
        member_answered(m);
        return;
    }
    log_info(m->g->all->rt->log, "tainted node", "Node", m->node, "taint.Key", TAINT_DISRUPTED,
             "taint.Effect", "NoSchedule");
    mark(m);
}

static void taint(struct member *m, const struct node *n)
{
    struct runtime *rt = m->g->all->rt;
    json_t *taints = json_array();
    for (uint32_t i = 0; i < n->taints.n; i++) {
        if (!str_eq(sym_str(rt->syms, n->taints.v[i].key), TAINT_DISRUPTED)) {
            json_array_append_new(taints, render_taint(rt->syms, &n->taints.v[i]));
        }
    }
    json_array_append_new(taints,
                          json_pack("{s:s, s:s}", "key", TAINT_DISRUPTED, "effect", "NoSchedule"));
    json_t *patch = json_pack("{s:{s:o}}", "spec", "taints", taints);
    kube_patch(&rt->client, KIND_NODE, NULL, m->node, NULL, patch, n->m.resource_version,
               on_tainted, m);
    json_decref(patch);
}

/* ---- begin -------------------------------------------------------------------------------------
 */

void empty_groups_start(struct empty_groups *all, const struct snapshot_node *const *nodes,
                        uint32_t n)
{
    struct group *g = NEW(struct group);
    g->all = all;
    g->n = g->open = n < EMPTY_GROUP_MAX ? n : EMPTY_GROUP_MAX;
    g->members = NEW_N(struct member, g->n);
    g->next = all->first;
    g->prev = &all->first;
    if (g->next) {
        g->next->prev = &g->next;
    }
    all->first = g;
    for (uint32_t i = 0; i < g->n; i++) {
        struct member *m = &g->members[i];
        *m = (struct member){.g = g,
                             .node = xstrdup(nodes[i]->node->m.name),
                             .node_uid = xstrdup(nodes[i]->node->m.uid),
                             .claim = xstrdup(nodes[i]->claim->m.name),
                             .claim_uid = xstrdup(nodes[i]->claim->m.uid),
                             .pool = xstrdup(nodes[i]->pool->np->m.name),
                             .pool_generation = nodes[i]->pool->np->m.generation};
        map_put(all->claims, m->claim, m, NULL);
        taint(m, nodes[i]->node);
    }
}

bool empty_groups_has(const struct empty_groups *g, const char *claim)
{
    return map_has(g->claims, claim);
}

struct empty_groups *empty_groups_new(struct runtime *rt, empty_let_go_fn let_go, void *ctx)
{
    struct empty_groups *g = NEW(struct empty_groups);
    g->rt = rt;
    g->let_go = let_go;
    g->ctx = ctx;
    g->claims = map_new(STORE_MAX_OBJECTS);
    g->decisions = metrics_family(rt->metrics, "karpenter_voluntary_disruption_decisions_total",
                                  "Voluntary disruptions that were begun.", METRIC_COUNTER,
                                  LABELS("decision", "reason", "consolidation_type"), NULL, 0);
    return g;
}

void empty_groups_free(struct empty_groups *g)
{
    if (!g) {
        return;
    }
    while (g->first) {
        group_free(g->first);
    }
    map_free(g->claims);
    free(g);
}
