/* statemetrics.c - see statemetrics.h. */
#include "statemetrics.h"

#include "agent/claim/claim.h"
#include "agent/store/store.h"
#include "common/base/alloc.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "metrics.h"

#define LABEL_BYTES 4096

struct statemetrics {
    struct runtime *rt;
    struct map *starting; /* "ns/name" of pods that were not ready yet */
    struct metric_family *bound, *startup;
};

/* One node as the page shows it. */
struct shown {
    const struct node *n;
    const struct node_usage *u;
    struct buf labels; /* node_name="…",… */
};

static int by_name(const void *a, const void *b)
{
    return str_cmp(((const struct shown *)a)->n->m.name, ((const struct shown *)b)->n->m.name);
}

/* ---- nodes -------------------------------------------------------------------------------------
 */

static void put_labels(const struct statemetrics *s, struct shown *sh)
{
    static const struct {
        sym key;
        const char *name;
    } shown[] = {
        {L_ARCH, "arch"},
        {L_CAPACITY_TYPE, "capacity_type"},
        {L_INSTANCE_TYPE, "instance_type"},
        {L_NODEPOOL, "nodepool"},
        {L_OS, "os"},
        {L_REGION, "region"},
        {L_ZONE, "zone"},
        {L_ZONE_ID, "zone_id"},
        {L_WINDOWS_BUILD, "windows_build"},
    };
    const struct runtime *rt = s->rt;
    const struct nodeclaim *nc = store_claim_by_provider_id(rt->store, sh->n->provider_id);
    buf_init(&sh->labels, LABEL_BYTES);
    buf_putc(&sh->labels, '{');
    metrics_put_label(&sh->labels, "node_name", sh->n->m.name);
    metrics_put_label(&sh->labels, "managed", nc ? "true" : "false");
    metrics_put_label(&sh->labels, "phase", "");
    for (size_t i = 0; i < ARRAY_LEN(shown); i++) {
        metrics_put_label(&sh->labels, shown[i].name, node_label(rt, sh->n, shown[i].key));
    }
}

enum amount { ALLOCATABLE, OVERHEAD, POD_REQUESTS, DAEMON_REQUESTS };

static int64_t amount_of(const struct shown *sh, enum amount what, int r)
{
    static const struct node_usage none;
    const struct node_usage *u = sh->u ? sh->u : &none;
    switch (what) {
    case ALLOCATABLE:
        return sh->n->allocatable.v[r];
    case OVERHEAD:
        return sh->n->capacity.v[r] - sh->n->allocatable.v[r];
    case POD_REQUESTS:
        return u->requested.v[r] - u->daemon_requested.v[r];
    case DAEMON_REQUESTS:
        return u->daemon_requested.v[r];
    }
    return 0;
}

static void put_amounts(const struct shown *v, size_t n, const char *name, const char *help,
                        enum amount what, struct buf *out)
{
    metrics_put_head(out, name, help, METRIC_GAUGE);
    for (size_t i = 0; i < n && !out->over; i++) {
        for (int r = 0; r < RES_FIXED; r++) {
            int64_t amount = amount_of(&v[i], what, r);
            if (amount != 0) {
                buf_printf(out, "%s%s,resource_type=\"%s\"} %.15g\n", name, v[i].labels.p,
                           resource_name((enum resource)r),
                           (double)amount / (r == RES_CPU ? 1000 : 1));
            }
        }
    }
}

static void put_lifetimes(const struct statemetrics *s, const struct shown *v, size_t n,
                          struct buf *out)
{
    static const char name[] = "karpenter_nodes_current_lifetime_seconds";
    int64_t now_ns = clock_wall(s->rt->clock);
    metrics_put_head(out, name, "Age of the node.", METRIC_GAUGE);
    for (size_t i = 0; i < n && !out->over; i++) {
        buf_printf(out, "%s%s} %.15g\n", name, v[i].labels.p,
                   (double)(now_ns - v[i].n->m.created_ns) / NS_PER_S);
    }
}

static void put_nodes(const struct statemetrics *s, struct buf *out)
{
    const struct map *nodes = store_all(s->rt->store, STORE_NODE);
    struct shown *v = NEW_N(struct shown, map_count(nodes) + 1);
    size_t n = 0;
    for (MAP_EACH(nodes, e)) {
        v[n++] = (struct shown){.n = map_value(e), .u = store_usage(s->rt->store, map_key(e))};
    }
    qsort(v, n, sizeof(*v), by_name);
    n = n < STATEMETRICS_NODES_MAX ? n : STATEMETRICS_NODES_MAX;
    for (size_t i = 0; i < n; i++) {
        put_labels(s, &v[i]);
    }
    if (n > 0) {
        put_amounts(v, n, "karpenter_nodes_allocatable", "What pods may ask for on the node.",
                    ALLOCATABLE, out);
        put_lifetimes(s, v, n, out);
        put_amounts(v, n, "karpenter_nodes_system_overhead",
                    "What the node keeps of its capacity for itself.", OVERHEAD, out);
        put_amounts(v, n, "karpenter_nodes_total_daemon_requests",
                    "What DaemonSet pods on the node ask for.", DAEMON_REQUESTS, out);
        put_amounts(v, n, "karpenter_nodes_total_pod_requests",
                    "What other pods on the node ask for.", POD_REQUESTS, out);
    }
    for (size_t i = 0; i < n; i++) {
        buf_done(&v[i].labels);
    }
    free(v);
}

/* ---- pods --------------------------------------------------------------------------------------
 */

static bool unbound(const struct pod *p)
{
    return !*p->node_name && !pod_terminal(p);
}

static bool unstarted(const struct pod *p)
{
    return p->phase == POD_PENDING;
}

static int pod_cmp(const void *a, const void *b)
{
    const struct meta *x = &(*(const struct pod *const *)a)->m;
    const struct meta *y = &(*(const struct pod *const *)b)->m;
    int c = str_cmp(x->ns, y->ns);
    return c != 0 ? c : str_cmp(x->name, y->name);
}

static void put_waiting(const struct statemetrics *s, const char *name, const char *help,
                        bool (*is)(const struct pod *p), struct buf *out)
{
    const struct pod **v = NEW_N(const struct pod *, STATEMETRICS_PODS_MAX);
    size_t n = 0;
    int64_t now_ns = clock_wall(s->rt->clock);
    for (MAP_EACH(store_all(s->rt->store, STORE_POD), e)) {
        if (n < STATEMETRICS_PODS_MAX && is(map_value(e))) {
            v[n++] = map_value(e);
        }
    }
    qsort(v, n, sizeof(*v), pod_cmp);
    if (n > 0) {
        metrics_put_head(out, name, help, METRIC_GAUGE);
    }
    for (size_t i = 0; i < n; i++) {
        buf_printf(out, "%s{", name);
        metrics_put_label(out, "name", v[i]->m.name);
        metrics_put_label(out, "namespace", v[i]->m.ns);
        buf_printf(out, "} %.15g\n", (double)(now_ns - v[i]->m.created_ns) / NS_PER_S);
    }
    free(v);
}

static void page(void *ctx, struct buf *out)
{
    const struct statemetrics *s = ctx;
    if (!store_synced(s->rt->store)) {
        return;
    }
    put_nodes(s, out);
    put_waiting(s, "karpenter_pods_unbound_time_seconds", "Since when the pod has no node.",
                unbound, out);
    put_waiting(s, "karpenter_pods_unstarted_time_seconds", "Since when the pod does not run.",
                unstarted, out);
}

/* A pod that was ready once has started, whatever becomes of it. */
static bool has_started(struct statemetrics *s, const char *key, const struct pod *is)
{
    if (!is->ready && !pod_terminal(is)) {
        return false;
    }
    return map_del(s->starting, key) != NULL && is->ready;
}

static void on_pod(void *arg, const char *key, const void *before, const void *now)
{
    struct statemetrics *s = arg;
    const struct pod *was = before, *is = now;
    if (!is || !was || !str_eq(was->m.uid, is->m.uid)) {
        map_del(s->starting, key);
        if (is && !is->ready && !pod_terminal(is)) {
            map_put(s->starting, key, s, NULL);
        }
        return;
    }
    if (is->m.created_ns == 0) {
        return;
    }
    double age_s = (double)(clock_wall(s->rt->clock) - is->m.created_ns) / NS_PER_S;
    if (!*was->node_name && *is->node_name) {
        metric_observe(s->bound, NULL, age_s);
    }
    if (has_started(s, key, is)) {
        metric_observe(s->startup, NULL, age_s);
    }
}

static const double bound_buckets[] = {
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7,
    0.8,   0.9,  1,     1.25, 1.5, 1.75, 2,   2.5,  3,   3.5,  4,   4.5,  5,   6,   7,
    8,     9,    10,    15,   20,  25,   30,  40,   50,  60,   120, 150,  300, 450, 600};

struct statemetrics *statemetrics_new(struct runtime *rt)
{
    struct statemetrics *s = NEW(struct statemetrics);
    s->rt = rt;
    s->starting = map_new(STORE_MAX_PODS);
    s->bound = metrics_family(rt->metrics, "karpenter_pods_bound_duration_seconds",
                              "From a pod's creation to its node.", METRIC_HISTOGRAM, NULL,
                              bound_buckets, ARRAY_LEN(bound_buckets));
    s->startup =
        metrics_family(rt->metrics, "karpenter_pods_startup_duration_seconds",
                       "From a pod's creation until it was ready.", METRIC_SUMMARY, NULL, NULL, 0);
    store_subscribe(rt->store, STORE_POD, on_pod, s);
    if (!rt->opt->disable_state_metrics) {
        metrics_page(rt->metrics, page, s);
    }
    return s;
}

void statemetrics_free(struct statemetrics *s)
{
    if (s) {
        map_free(s->starting);
        free(s);
    }
}
