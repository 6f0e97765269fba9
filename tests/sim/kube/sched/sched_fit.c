/* sched_fit.c - see sched_fit.h */
#include "sched_fit.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "tests/sim/kube/jsonsel.h"

#define SCORE_MAX 100

static void against(struct sim_whynot *why, const char *fmt, const char *a, const char *b)
{
    if (why->n < SIM_WHYNOT_MAX) {
        snprintf(why->reasons[why->n++], SIM_WHYNOT_TEXT, fmt, a, b);
    }
}

static const json_t *tolerations(const struct sim_sched_pod *p)
{
    return jsonx_at(p->obj, "spec.tolerations");
}

/* ---- filters, in the order of the default profile ----------------------------------------------
 */

static void filter_unschedulable(const struct sim_cycle *cy, struct sim_sched_node *n,
                                 struct sim_whynot *why)
{
    if (!n->unschedulable) {
        return;
    }
    json_t *taint =
        json_pack("{s:s, s:s}", "key", "node.kubernetes.io/unschedulable", "effect", "NoSchedule");
    if (!sim_tolerates(tolerations(cy->p), taint)) {
        against(why, "node(s) were unschedulable%s%s", "", "");
        why->final = true;
    }
    json_decref(taint);
}

static void filter_taints(const struct sim_cycle *cy, struct sim_sched_node *n,
                          struct sim_whynot *why)
{
    if (!n->tainted) {
        return;
    }
    const json_t *taint = sim_untolerated(tolerations(cy->p), jsonx_at(n->obj, "spec.taints"),
                                          "NoSchedule", "NoExecute", NULL);
    if (taint) {
        against(why, "node(s) had untolerated taint {%s: %s}", jsonx_str_or(taint, "key", ""),
                jsonx_str_or(taint, "value", ""));
        why->final = true;
    }
}

static void filter_affinity(const struct sim_cycle *cy, struct sim_sched_node *n,
                            struct sim_whynot *why)
{
    if (cy->p->picky && !sim_node_selected(json_object_get(cy->p->obj, "spec"), n->obj)) {
        against(why, "node(s) didn't match Pod's node affinity/selector%s%s", "", "");
        why->final = true;
    }
}

/* Two ports of one number and protocol exclude each other on one address; 0.0.0.0 is all. */
static bool ports_clash(const json_t *a, const json_t *b)
{
    const char *ip_a = jsonx_str_or(a, "hostIP", ""), *ip_b = jsonx_str_or(b, "hostIP", "");
    bool any = !ip_a[0] || !ip_b[0] || str_eq(ip_a, "0.0.0.0") || str_eq(ip_b, "0.0.0.0");
    return jsonx_int(a, "hostPort", 0) > 0 &&
           jsonx_int(a, "hostPort", 0) == jsonx_int(b, "hostPort", 0) &&
           str_eq(jsonx_str_or(a, "protocol", "TCP"), jsonx_str_or(b, "protocol", "TCP")) &&
           (any || str_eq(ip_a, ip_b));
}

/* The pod's ports as one array; new reference. Of init containers only those that stay count. */
static json_t *ports_of(const struct sim_sched_pod *p)
{
    static const char *const lists[] = {"containers", "initContainers"};
    json_t *out = json_array();
    for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
        size_t i;
        json_t *container;
        json_array_foreach (json_object_get(json_object_get(p->obj, "spec"), lists[l]), i,
                            container) {
            if (l == 0 || str_eq(jsonx_str(container, "restartPolicy"), "Always")) {
                json_array_extend(out, json_object_get(container, "ports"));
            }
        }
    }
    return out;
}

static bool pods_clash(const struct sim_sched_pod *a, const struct sim_sched_pod *b)
{
    json_t *of_a = ports_of(a), *of_b = ports_of(b);
    size_t i, k;
    json_t *x, *y;
    bool clash = false;
    json_array_foreach (of_a, i, x) {
        json_array_foreach (of_b, k, y) {
            clash = clash || ports_clash(x, y);
        }
    }
    json_decref(of_a);
    json_decref(of_b);
    return clash;
}

static void filter_ports(const struct sim_cycle *cy, struct sim_sched_node *n,
                         struct sim_whynot *why)
{
    for (size_t i = 0; cy->p->ports && n->n_port_pods > 0 && i < n->n_pods; i++) {
        if (n->pods[i]->ports && pods_clash(cy->p, n->pods[i])) {
            against(why, "node(s) didn't have free ports for the requested pod ports%s%s", "", "");
            return;
        }
    }
}

static void filter_resources(const struct sim_cycle *cy, struct sim_sched_node *n,
                             struct sim_whynot *why)
{
    static const struct sim_res nothing = {0};
    const char *all[SIM_RES_EXTRA_MAX + 4];
    size_t count = 0;
    sim_res_lacks(&n->allocatable, &n->used, &cy->p->req, all, &count);
    for (size_t i = 0; i < count; i++) {
        bool pods = str_eq(all[i], "pods");
        against(why, pods ? "Too many pods%s%s" : "Insufficient %s%s", pods ? "" : all[i], "");
    }
    if (count > 0) {
        struct sim_res alone = cy->p->req;
        alone.pods = 0;
        why->final = sim_res_lacks(&n->allocatable, &nothing, &alone, NULL, NULL) != NULL;
    }
}

static void filter_volumes(const struct sim_cycle *cy, struct sim_sched_node *n,
                           struct sim_whynot *why)
{
    bool final;
    const char *no = sim_volumes_fit(cy->c, cy->p, &cy->volumes, n, &final);
    if (no) {
        against(why, "%s%s", no, "");
        why->final = final;
    }
}

static void filter_spread(const struct sim_cycle *cy, struct sim_sched_node *n,
                          struct sim_whynot *why)
{
    bool final;
    const char *no = cy->spread.n > 0 ? sim_spread_fit(cy->c, &cy->spread, n, &final) : NULL;
    if (no) {
        against(why, "%s%s", no, "");
        why->final = final;
    }
}

static void filter_pod_affinity(const struct sim_cycle *cy, struct sim_sched_node *n,
                                struct sim_whynot *why)
{
    bool final;
    const char *no = sim_affinity_fit(cy->c, &cy->affinity, n, &final);
    if (no) {
        against(why, "%s%s", no, "");
        why->final = final;
    }
}

static void (*const filters[])(const struct sim_cycle *, struct sim_sched_node *,
                               struct sim_whynot *) = {
    filter_unschedulable, filter_taints,  filter_affinity, filter_ports,
    filter_resources,     filter_volumes, filter_spread,   filter_pod_affinity};

bool sim_cycle_begin(struct sim_cycle *cy, struct sim_cluster *c, const struct sim_sched_pod *p)
{
    cy->c = c;
    cy->p = p;
    sim_volumes_read(c, p, &cy->volumes);
    sim_spread_hard(c, p, &cy->spread);
    sim_affinity_read(c, p, &cy->affinity);
    return cy->volumes.refused[0] == '\0';
}

void sim_cycle_end(struct sim_cycle *cy)
{
    sim_spread_done(&cy->spread);
    sim_affinity_done(&cy->affinity);
}

bool sim_fit(const struct sim_cycle *cy, struct sim_sched_node *n, struct sim_whynot *why)
{
    why->n = 0;
    why->final = false;
    for (size_t i = 0; i < ARRAY_LEN(filters); i++) {
        filters[i](cy, n, why);
        if (why->n > 0) {
            return false;
        }
    }
    return true;
}

/* ---- nominated pods -----------------------------------------------------------------------------
 */

static bool counts_as_there(const struct sim_sched_pod *nominee, const struct sim_sched_pod *p,
                            const struct sim_sched_node *n)
{
    return nominee != p && !nominee->node && nominee->nominated &&
           str_eq(nominee->nominated, n->name) && nominee->priority >= p->priority;
}

/* Places the nominees of n; returns how many. */
static size_t place_nominees(const struct sim_cycle *cy, struct sim_sched_node *n)
{
    size_t placed = 0;
    for (MAP_EACH(cy->c->pods, e)) {
        struct sim_sched_pod *other = map_value(e);
        if (counts_as_there(other, cy->p, n)) {
            sim_cluster_place(cy->c, other, n);
            placed++;
        }
    }
    return placed;
}

bool sim_fit_nominated(const struct sim_cycle *cy, struct sim_sched_node *n, struct sim_whynot *why)
{
    if (!sim_fit(cy, n, why) || cy->c->n_nominated == 0) {
        return why->n == 0;
    }
    size_t placed = place_nominees(cy, n);
    if (placed == 0) {
        return true;
    }
    struct sim_cycle with;
    sim_cycle_begin(&with, cy->c, cy->p);
    bool fits = sim_fit(&with, n, why);
    sim_cycle_end(&with);
    while (placed-- > 0) {
        sim_cluster_unplace(cy->c, n->pods[n->n_pods - 1]);
    }
    return fits;
}

/* ---- scores -------------------------------------------------------------------------------------
 */

static int64_t least(int64_t requested, int64_t capacity)
{
    return capacity <= 0 || requested > capacity ? 0
                                                 : (capacity - requested) * SCORE_MAX / capacity;
}

/* NodeResourcesFit with LeastAllocated over cpu and memory. */
static int64_t score_least(const struct sim_sched_pod *p, const struct sim_sched_node *n)
{
    int64_t cpu = least(n->used_nonzero_cpu_milli + p->nonzero_cpu_milli, n->allocatable.cpu_milli);
    int64_t mem = least(n->used_nonzero_mem_bytes + p->nonzero_mem_bytes, n->allocatable.mem_bytes);
    return (cpu + mem) / 2;
}

/* In ten thousandths, at most 10000. */
static int64_t fraction(int64_t requested, int64_t capacity)
{
    if (capacity <= 0 || requested >= capacity) {
        return 10000;
    }
    return requested * 10000 / capacity;
}

/* NodeResourcesBalancedAllocation: 1 - standard deviation of the two fractions. */
static int64_t score_balanced(const struct sim_sched_pod *p, const struct sim_sched_node *n)
{
    int64_t cpu = fraction(n->used.cpu_milli + p->req.cpu_milli, n->allocatable.cpu_milli);
    int64_t mem = fraction(n->used.mem_bytes + p->req.mem_bytes, n->allocatable.mem_bytes);
    int64_t deviation = (cpu > mem ? cpu - mem : mem - cpu) / 2;
    return (10000 - deviation) / 100;
}

/* TaintToleration: PreferNoSchedule taints that are not tolerated; fewer is better. */
static int64_t score_taints(const struct sim_sched_pod *p, const struct sim_sched_node *n)
{
    size_t count = 0;
    sim_untolerated(tolerations(p), jsonx_at(n->obj, "spec.taints"), "PreferNoSchedule", NULL,
                    &count);
    return (int64_t)count;
}

/* NodeAffinity: weights of the preferred terms that match. */
static int64_t score_affinity(const struct sim_sched_pod *p, const struct sim_sched_node *n)
{
    int64_t sum = 0;
    size_t i;
    json_t *term;
    if (!p->picky) {
        return 0;
    }
    json_array_foreach (
        jsonx_at(p->obj,
                 "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution"),
        i, term) {
        if (jsonsel_match_node_term(json_object_get(term, "preference"), n->obj)) {
            sum += jsonx_int(term, "weight", 0);
        }
    }
    return sum;
}

enum scale { SCALE_NONE, SCALE_MAX, SCALE_MAX_REVERSED };

struct score {
    int64_t (*run)(const struct sim_sched_pod *p, const struct sim_sched_node *n);
    int64_t weight;
    enum scale scale;
};

/* Weights of the default profile. */
static const struct score scores[] = {
    {score_least, 1, SCALE_NONE},
    {score_balanced, 1, SCALE_NONE},
    {score_taints, 3, SCALE_MAX_REVERSED},
    {score_affinity, 2, SCALE_MAX},
};
#define WEIGHT_SPREAD 2
#define WEIGHT_POD_AFFINITY 2

static int64_t scaled(int64_t raw, int64_t max, enum scale scale)
{
    if (scale == SCALE_NONE) {
        return raw;
    }
    int64_t part = max > 0 ? raw * SCORE_MAX / max : 0;
    return scale == SCALE_MAX ? part : SCORE_MAX - part;
}

void sim_score(const struct sim_cycle *cy, struct sim_sched_node *const *nodes, size_t n,
               int64_t *ret)
{
    AUTO_FREE int64_t *raw = NEW_N(int64_t, n ? n : 1);
    memset(ret, 0, n * sizeof(*ret));
    for (size_t s = 0; s < ARRAY_LEN(scores); s++) {
        int64_t max = 0;
        for (size_t i = 0; i < n; i++) {
            raw[i] = scores[s].run(cy->p, nodes[i]);
            max = raw[i] > max ? raw[i] : max;
        }
        for (size_t i = 0; i < n; i++) {
            ret[i] += scores[s].weight * scaled(raw[i], max, scores[s].scale);
        }
    }
    sim_spread_score(cy->c, cy->p, nodes, n, WEIGHT_SPREAD, ret);
    sim_affinity_score(cy->c, cy->p, nodes, n, WEIGHT_POD_AFFINITY, ret);
}
