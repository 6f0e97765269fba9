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

/* ---- filters, in the order of the default profile -----------------------------------------------
 */

static void filter_unschedulable(const struct sim_sched_pod *p, const struct sim_sched_node *n,
                                 struct sim_whynot *why)
{
    if (!n->unschedulable) {
        return;
    }
    json_t *taint =
        json_pack("{s:s, s:s}", "key", "node.kubernetes.io/unschedulable", "effect", "NoSchedule");
    if (!sim_tolerates(tolerations(p), taint)) {
        against(why, "node(s) were unschedulable%s%s", "", "");
    }
    json_decref(taint);
}

static void filter_taints(const struct sim_sched_pod *p, const struct sim_sched_node *n,
                          struct sim_whynot *why)
{
    if (!n->tainted) {
        return;
    }
    const json_t *taint = sim_untolerated(tolerations(p), jsonx_at(n->obj, "spec.taints"),
                                          "NoSchedule", "NoExecute", NULL);
    if (taint) {
        against(why, "node(s) had untolerated taint {%s: %s}", jsonx_str_or(taint, "key", ""),
                jsonx_str_or(taint, "value", ""));
    }
}

static void filter_affinity(const struct sim_sched_pod *p, const struct sim_sched_node *n,
                            struct sim_whynot *why)
{
    if (p->picky && !sim_node_selected(json_object_get(p->obj, "spec"), n->obj)) {
        against(why, "node(s) didn't match Pod's node affinity/selector%s%s", "", "");
    }
}

static void filter_resources(const struct sim_sched_pod *p, const struct sim_sched_node *n,
                             struct sim_whynot *why)
{
    const char *all[SIM_RES_EXTRA_MAX + 4];
    size_t count = 0;
    sim_res_lacks(&n->allocatable, &n->used, &p->req, all, &count);
    for (size_t i = 0; i < count; i++) {
        bool pods = str_eq(all[i], "pods");
        against(why, pods ? "Too many pods%s%s" : "Insufficient %s%s", pods ? "" : all[i], "");
    }
}

static void (*const filters[])(const struct sim_sched_pod *, const struct sim_sched_node *,
                               struct sim_whynot *) = {filter_unschedulable, filter_taints,
                                                       filter_affinity, filter_resources};

bool sim_fit(const struct sim_sched_pod *p, const struct sim_sched_node *n, struct sim_whynot *why)
{
    why->n = 0;
    for (size_t i = 0; i < ARRAY_LEN(filters); i++) {
        filters[i](p, n, why);
        if (why->n > 0) {
            return false;
        }
    }
    return true;
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

static int64_t scaled(int64_t raw, int64_t max, enum scale scale)
{
    if (scale == SCALE_NONE) {
        return raw;
    }
    int64_t part = max > 0 ? raw * SCORE_MAX / max : 0;
    return scale == SCALE_MAX ? part : SCORE_MAX - part;
}

void sim_score(const struct sim_sched_pod *p, struct sim_sched_node *const *nodes, size_t n,
               int64_t *ret)
{
    AUTO_FREE int64_t *raw = NEW_N(int64_t, n ? n : 1);
    memset(ret, 0, n * sizeof(*ret));
    for (size_t s = 0; s < ARRAY_LEN(scores); s++) {
        int64_t max = 0;
        for (size_t i = 0; i < n; i++) {
            raw[i] = scores[s].run(p, nodes[i]);
            max = raw[i] > max ? raw[i] : max;
        }
        for (size_t i = 0; i < n; i++) {
            ret[i] += scores[s].weight * scaled(raw[i], max, scores[s].scale);
        }
    }
}
