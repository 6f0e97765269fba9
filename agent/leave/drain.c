/* drain.c - see drain.h. */
#include "drain.h"

#include "agent/claim/claim.h"
#include "agent/store/store.h"
#include "agent/work/metrics.h"
#include "agent/work/queue.h"
#include "agent/work/work.h"
#include "common/base/alloc.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/kube/events.h"

#define BACKOFF_NS (100 * NS_PER_MS)
#define BACKOFF_MAX_NS (10 * NS_PER_S)
#define GROUPS 4
#define UNSETTLED_MAX 10000 /* budgets */

struct drain {
    struct runtime *rt;
    struct queue *q;
    struct taint disrupted;
    struct metric_family *requests, *drained;
    struct map *unsettled; /* "ns/name" of a PodDisruptionBudget: int64_t, until when, mono */
};

/* An eviction or delete that is on its way. */
struct eviction {
    struct drain *d;
    bool forced;
    int64_t deadline_ns, grace_ns, own_grace_ns; /* forced: how it is deleted */
    const char *node, *uid;                      /* behind the key */
    char key[];
};

int64_t drain_deadline_ns(const struct nodeclaim *nc)
{
    const char *text = nc ? kvs_get(&nc->m.annotations, ANN_TERMINATION_TIME) : NULL;
    int64_t ns;
    return text && timefmt_parse_rfc3339(text, &ns) ? ns : 0;
}

int64_t drain_now_ns(const struct drain *d)
{
    return runtime_clock_skewed(d->rt) ? 0 : clock_wall(d->rt->clock);
}

/* ---- which -------------------------------------------------------------------------------------
 */

static bool waited_for(const struct drain *d, const struct pod *p, int64_t now_ns)
{
    bool stuck = p->m.deleted_ns && now_ns > p->m.deleted_ns + DRAIN_STUCK_NS;
    return !pod_terminal(p) && p->owner != POWNER_NODE && !stuck &&
           !taint_tolerated(&d->disrupted, &p->cls->tolerations);
}

/* By the class, as Karpenter, or by a priority that only those classes may have (ours): what a
 * webhook or an older object calls by another name. */
static int group_of(const struct pod *p)
{
    bool critical = str_eq(p->priority_class, "system-cluster-critical") ||
                    str_eq(p->priority_class, "system-node-critical") ||
                    p->cls->priority >= DRAIN_CRITICAL_PRIORITY;
    return (critical ? 2 : 0) + (p->owner == POWNER_DAEMONSET ? 1 : 0);
}

/* What a pod that is deleted outright still gets. */
static int64_t forced_grace_ns(int64_t deadline_ns, int64_t now_ns)
{
    int64_t left_ns = (deadline_ns - now_ns) / NS_PER_S * NS_PER_S;
    return left_ns > NS_PER_S ? left_ns : NS_PER_S;
}

/* Only its own grace period is left of the node's time. A pod that terminates already is forced
 * only if it would outlast the deadline and can be hurried. */
static bool must_be_forced(const struct pod *p, int64_t deadline_ns, int64_t now_ns)
{
    if (deadline_ns == 0 || now_ns == 0) {
        return false;
    }
    if (p->m.deleted_ns) {
        return p->m.deleted_ns > deadline_ns &&
               p->deletion_grace_ns > forced_grace_ns(deadline_ns, now_ns);
    }
    return now_ns >= deadline_ns - p->grace_ns;
}

static int64_t deadline_of(const struct drain *d, const struct node *n)
{
    return drain_deadline_ns(store_claim_by_provider_id(d->rt->store, n->provider_id));
}

uint32_t drain_round(struct drain *d, const struct node *n, int64_t deadline_ns)
{
    const struct map *pods = store_pods_on(d->rt->store, n->m.name);
    int64_t now_ns = drain_now_ns(d);
    uint32_t waiting[GROUPS] = {0}, total = 0;
    if (!pods) {
        return 0;
    }
    for (MAP_EACH(pods, e)) {
        const struct pod *p = map_value(e);
        if (waited_for(d, p, now_ns)) {
            waiting[group_of(p)]++;
            total++;
        }
    }
    int turn = 0;
    while (turn < GROUPS && waiting[turn] == 0) {
        turn++;
    }
    for (MAP_EACH(pods, o)) {
        const struct pod *p = map_value(o);
        bool forced = must_be_forced(p, deadline_ns, now_ns);
        bool due = group_of(p) == turn && pod_active(p) && !pod_do_not_disrupt(p, now_ns);
        /* One that is backing off is left to it, unless its time has come. */
        if (waited_for(d, p, now_ns) && (forced || (due && !queue_has(d->q, map_key(o))))) {
            queue_add(d->q, map_key(o));
        }
    }
    return total;
}

/* ---- one pod -----------------------------------------------------------------------------------
 */

/* Why the node goes: what disrupts its claim, else somebody's delete. */
static const char *reason_of(const struct runtime *rt, const char *node)
{
    const struct node *n = store_node(rt->store, node);
    const struct nodeclaim *nc = n ? store_claim_by_provider_id(rt->store, n->provider_id) : NULL;
    const struct condition *c = nc ? condition_find(&nc->conditions, "DisruptionReason") : NULL;
    return c && c->status == STATUS_TRUE && *c->reason ? c->reason : "Forceful Termination";
}

static void say(struct eviction *ev, const char *ns, const char *name)
{
    struct runtime *rt = ev->d->rt;
    struct events_subject about = {KIND_POD, ns, name, ev->uid};
    const char *reason = reason_of(rt, ev->node);
    metric_add(ev->d->drained, LABELS(reason), 1);
    if (!ev->forced) {
        events_normal(rt->events, &about, "Evicted", "Evicted pod: %s", reason);
        return;
    }
    char at[TIMEFMT_TEXT];
    events_normal(rt->events, &about, "Disrupted",
                  "Deleted pod past its PodDisruptionBudget and do-not-disrupt: the node ends at "
                  "%s, which leaves it %lld s of its %lld s of grace",
                  timefmt_rfc3339(ev->deadline_ns, at), (long long)(ev->grace_ns / NS_PER_S),
                  (long long)(ev->own_grace_ns / NS_PER_S));
}

static void blocked(struct eviction *ev, const struct err *e)
{
    struct runtime *rt = ev->d->rt;
    const struct node *n = store_node(rt->store, ev->node);
    struct events_subject about = {KIND_NODE, NULL, ev->node, n ? n->m.uid : ""};
    events_warning(rt->events, &about, "FailedDraining", "Failed to drain node, %s: %s", ev->key,
                   e->msg);
}

static void on_answer(void *arg, const struct kube_resp *resp)
{
    struct eviction *ev = arg;
    struct drain *d = ev->d;
    const struct err *e = &resp->err;
    char code[16];
    snprintf(code, sizeof(code), "%d", resp->status);
    if (!ev->forced) {
        metric_add(d->requests, LABELS(code), 1);
    }
    char *slash = strchr(ev->key, '/');
    if (e->kind == ERR_NONE && slash) {
        AUTO_FREE char *ns = xstrndup(ev->key, (size_t)(slash - ev->key));
        say(ev, ns, slash + 1);
    }
    bool gone = e->kind == ERR_NONE || e->kind == ERR_NOT_FOUND || e->kind == ERR_CONFLICT;
    if (!gone && e->kind != ERR_CANCELLED) {
        blocked(ev, e);
    }
    bool slow = e->kind == ERR_CANCELLED || e->kind == ERR_FORBIDDEN;
    queue_done(d->q, ev->key, gone ? QUEUE_OK : QUEUE_FAIL, slow ? work_retry_ns(e) : 0);
}

static bool selects(const struct pdb *pdb, const struct pod *p)
{
    return str_eq(pdb->m.ns, p->m.ns) && selector_matches(&pdb->sel, &p->labels);
}

/* Deleted outright: the status of its budgets does not know it yet. */
static void unsettle(struct drain *d, const struct pod *p)
{
    for (MAP_EACH(store_all(d->rt->store, STORE_PDB), e)) {
        if (!selects(map_value(e), p)) {
            continue;
        }
        int64_t *until_ns = map_get(d->unsettled, map_key(e));
        if (!until_ns && map_count(d->unsettled) < UNSETTLED_MAX) {
            until_ns = NEW(int64_t);
            (void)map_put(d->unsettled, map_key(e), until_ns, NULL);
        }
        if (until_ns) {
            *until_ns = clock_mono(d->rt->clock) + DRAIN_SETTLE_NS;
        }
    }
}

/* A budget of the pod is not settled. Forgets those that are. */
static bool must_wait(struct drain *d, const struct pod *p)
{
    const struct map *pdbs = store_all(d->rt->store, STORE_PDB);
    bool waits = false;
    for (MAP_EACH(d->unsettled, e)) {
        const struct pdb *pdb = map_get(pdbs, map_key(e));
        const int64_t *until_ns = map_value(e);
        if (!pdb || clock_mono(d->rt->clock) >= *until_ns) {
            free(map_del(d->unsettled, map_key(e)));
        } else {
            waits |= selects(pdb, p);
        }
    }
    return waits;
}

static void send(struct drain *d, const char *key, const struct pod *p, int64_t deadline_ns,
                 bool forced)
{
    size_t k = strlen(key) + 1, n = strlen(p->node_name) + 1, u = strlen(p->m.uid) + 1;
    struct eviction *ev = xcalloc(1, sizeof(*ev) + k + n + u);
    ev->d = d;
    ev->forced = forced;
    memcpy(ev->key, key, k);
    ev->node = memcpy(ev->key + k, p->node_name, n);
    ev->uid = memcpy(ev->key + k + n, p->m.uid, u);
    queue_attach(d->q, key, ev);
    if (!forced) {
        kube_evict(&d->rt->client, p->m.ns, p->m.name, p->m.uid, -1, on_answer, ev);
        return;
    }
    unsettle(d, p);
    ev->deadline_ns = deadline_ns;
    ev->grace_ns = forced_grace_ns(deadline_ns, drain_now_ns(d));
    ev->own_grace_ns = p->grace_ns;
    struct kube_delete_opts o = {.uid = p->m.uid, .grace_s = ev->grace_ns / NS_PER_S};
    kube_delete(&d->rt->client, KIND_POD, p->m.ns, p->m.name, &o, on_answer, ev);
}

static enum queue_verdict handle(void *ctx, const char *key)
{
    struct drain *d = ctx;
    const struct pod *p = map_get(store_all(d->rt->store, STORE_POD), key);
    const struct node *n = p && *p->node_name ? store_node(d->rt->store, p->node_name) : NULL;
    int64_t now_ns = drain_now_ns(d);
    if (!n || !n->m.deleted_ns || !waited_for(d, p, now_ns)) {
        return QUEUE_OK;
    }
    int64_t deadline_ns = deadline_of(d, n);
    bool forced = must_be_forced(p, deadline_ns, now_ns);
    if (!forced && !pod_active(p)) {
        return QUEUE_OK;
    }
    if (!forced && pod_do_not_disrupt(p, now_ns)) {
        return QUEUE_FAIL;
    }
    if (!forced && must_wait(d, p)) {
        return QUEUE_FAIL;
    }
    send(d, key, p, deadline_ns, forced);
    return QUEUE_BUSY;
}

struct drain *drain_new(struct runtime *rt)
{
    struct drain *d = NEW(struct drain);
    d->rt = rt;
    d->unsettled = map_new(UNSETTLED_MAX);
    d->disrupted = (struct taint){.key = sym_intern(rt->syms, TAINT_DISRUPTED),
                                  .value = V_EMPTY,
                                  .effect = EFFECT_NO_SCHEDULE};
    d->q = queue_new(rt, "eviction", STORE_POD, BACKOFF_NS, BACKOFF_MAX_NS, handle, d);
    d->requests = metrics_family(rt->metrics, "karpenter_pods_eviction_requests_total",
                                 "Eviction requests by HTTP status code.", METRIC_COUNTER,
                                 LABELS("code"), NULL, 0);
    d->drained =
        metrics_family(rt->metrics, "karpenter_pods_drained_total",
                       "Pods that were evicted or deleted because their node goes, by reason.",
                       METRIC_COUNTER, LABELS("reason"), NULL, 0);
    return d;
}

void drain_free(struct drain *d)
{
    if (d) {
        queue_free(d->q);
        for (MAP_EACH(d->unsettled, e)) {
            free(map_value(e));
        }
        map_free(d->unsettled);
        free(d);
    }
}
