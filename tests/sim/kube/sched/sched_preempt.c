/* sched_preempt.c - see sched_preempt.h */
#include "sched_preempt.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "tests/sim/kube/jsonsel.h"

/* ---- importance -------------------------------------------------------------------------------
 */

static int64_t start_ns(const struct sim_sched_pod *p)
{
    int64_t at;
    const char *s = jsonx_str(p->obj, "status.startTime");
    s = s ? s : jsonx_str_or(p->obj, "metadata.creationTimestamp", "");
    return timefmt_parse_rfc3339(s, &at) ? at : INT64_MAX;
}

/* The more important first: higher priority, longer running; then the name, for a total order. */
static int importance(const void *pa, const void *pb)
{
    const struct sim_sched_pod *a = *(struct sim_sched_pod *const *)pa;
    const struct sim_sched_pod *b = *(struct sim_sched_pod *const *)pb;
    if (a->priority != b->priority) {
        return a->priority > b->priority ? -1 : 1;
    }
    int64_t sa = start_ns(a), sb = start_ns(b);
    if (sa != sb) {
        return sa < sb ? -1 : 1;
    }
    int ns = strcmp(a->ns, b->ns);
    return ns ? ns : strcmp(a->name, b->name);
}

/* ---- budgets ----------------------------------------------------------------------------------
 */

static bool budget_speaks_of(const json_t *pdb, const struct sim_sched_pod *p)
{
    const json_t *selector = jsonx_at(pdb, "spec.selector");
    bool empty = !json_object_size(json_object_get(selector, "matchLabels")) &&
                 !json_array_size(json_object_get(selector, "matchExpressions"));
    const json_t *labels = jsonx_at(p->obj, "metadata.labels");
    return !empty && json_object_size(labels) > 0 &&
           str_eq(jsonx_str(pdb, "metadata.namespace"), p->ns) &&
           jsonsel_match_selector(selector, labels) &&
           !json_object_get(jsonx_at(pdb, "status.disruptedPods"), p->name);
}

/* Takes the pod from every budget that speaks of it; true if one had nothing left. */
static bool violates(const struct sim_cluster *c, int64_t *left, const struct sim_sched_pod *p)
{
    bool violated = false;
    for (size_t i = 0; i < sim_api_count(c->api, SIM_PDB); i++) {
        if (budget_speaks_of(sim_api_at(c->api, SIM_PDB, i), p)) {
            violated = --left[i] < 0 || violated;
        }
    }
    return violated;
}

/* Moves those that violate a budget to the front, both parts in order; returns how many. */
static size_t violating_first(const struct sim_cluster *c, struct sim_sched_pod **pods, size_t n)
{
    size_t budgets = sim_api_count(c->api, SIM_PDB), front = 0, back = 0;
    AUTO_FREE int64_t *left = NEW_N(int64_t, budgets + 1);
    AUTO_FREE struct sim_sched_pod **rest = NEW_N(struct sim_sched_pod *, n + 1);
    for (size_t i = 0; i < budgets; i++) {
        left[i] = jsonx_int(sim_api_at(c->api, SIM_PDB, i), "status.disruptionsAllowed", 0);
    }
    for (size_t i = 0; i < n; i++) {
        if (violates(c, left, pods[i])) {
            pods[front++] = pods[i];
        } else {
            rest[back++] = pods[i];
        }
    }
    memcpy(pods + front, rest, back * sizeof(*rest));
    return front;
}

/* ---- one node ---------------------------------------------------------------------------------
 */

static bool fits_now(struct sim_cluster *c, const struct sim_sched_pod *p, struct sim_sched_node *n,
                     struct sim_whynot *why)
{
    struct sim_cycle cy;
    bool fits = sim_cycle_begin(&cy, c, p) && sim_fit_nominated(&cy, n, why);
    sim_cycle_end(&cy);
    return fits;
}

static size_t take_lower(struct sim_cluster *c, const struct sim_sched_pod *p,
                         struct sim_sched_node *n, struct sim_sched_pod **taken)
{
    size_t count = 0;
    for (size_t i = 0; i < n->n_pods; i++) {
        if (n->pods[i]->priority < p->priority) {
            taken[count++] = n->pods[i];
        }
    }
    for (size_t i = 0; i < count; i++) {
        sim_cluster_unplace(c, taken[i]);
    }
    qsort(taken, count, sizeof(*taken), importance);
    return count;
}

static void summarize(struct sim_preemption *k, int64_t violations)
{
    int64_t sum = 0, start = INT64_MAX;
    qsort(k->victims, k->n, sizeof(*k->victims), importance);
    int64_t highest = k->n ? k->victims[0]->priority : INT64_MIN;
    for (size_t i = 0; i < k->n; i++) {
        int64_t at = start_ns(k->victims[i]);
        sum += k->victims[i]->priority + INT64_C(2147483648);
        start = k->victims[i]->priority == highest && at < start ? at : start;
    }
    const int64_t rank[] = {violations, highest, sum, (int64_t)k->n, -start};
    memcpy(k->rank, rank, sizeof(rank));
}

/* Gives back what can stay; the rest are the victims. */
static void reprieve(struct sim_cluster *c, const struct sim_sched_pod *p, struct sim_preemption *k,
                     struct sim_sched_pod **taken, size_t n)
{
    struct sim_whynot why;
    int64_t violations = 0;
    size_t violating = violating_first(c, taken, n);
    for (size_t i = 0; i < n; i++) {
        sim_cluster_place(c, taken[i], k->node);
        if (!fits_now(c, p, k->node, &why)) {
            sim_cluster_unplace(c, taken[i]);
            k->victims[k->n++] = taken[i];
            violations += i < violating;
        }
    }
    for (size_t i = 0; i < k->n; i++) {
        sim_cluster_place(c, k->victims[i], k->node);
    }
    summarize(k, violations);
}

/* 1: it would help; 0: nobody to take away; -1: it does not fit even so, see why. */
static int try_node(struct sim_cluster *c, const struct sim_sched_pod *p, struct sim_sched_node *n,
                    struct sim_preemption *k, struct sim_whynot *why)
{
    AUTO_FREE struct sim_sched_pod **taken = NEW_N(struct sim_sched_pod *, n->n_pods + 1);
    size_t count = take_lower(c, p, n, taken);
    if (count == 0) {
        return 0;
    }
    *k = (struct sim_preemption){.node = n, .victims = NEW_N(struct sim_sched_pod *, count)};
    if (fits_now(c, p, n, why)) {
        reprieve(c, p, k, taken, count);
        return 1;
    }
    for (size_t i = 0; i < count; i++) {
        sim_cluster_place(c, taken[i], n);
    }
    free(k->victims);
    return -1;
}

int sim_preemption_order(const struct sim_preemption *a, const struct sim_preemption *b)
{
    for (size_t i = 0; i < SIM_PREEMPTION_RANKS; i++) {
        if (a->rank[i] != b->rank[i]) {
            return a->rank[i] < b->rank[i] ? -1 : 1;
        }
    }
    return 0;
}

/* ---- all nodes --------------------------------------------------------------------------------
 */

void sim_preempt(struct sim_cluster *c, struct sim_sched_pod *p,
                 struct sim_sched_node *const *nodes, size_t n, sim_preempt_fn no, void *ctx,
                 struct sim_preemption *ret)
{
    *ret = (struct sim_preemption){0};
    for (size_t i = 0; i < n; i++) {
        struct sim_preemption k = {0};
        struct sim_whynot why = {.n = 0};
        int got = try_node(c, p, nodes[i], &k, &why);
        int by = got > 0 && ret->node ? sim_preemption_order(&k, ret) : -1;
        k.no_victims = ret->no_victims + (got == 0);
        k.no_fit = ret->no_fit + (got < 0);
        if (got < 0) {
            no(ctx, &why);
        }
        if (got > 0 && (by < 0 || (by == 0 && strcmp(k.node->name, ret->node->name) < 0))) {
            free(ret->victims);
            *ret = k;
        } else {
            free(got > 0 ? k.victims : NULL);
            ret->no_victims = k.no_victims;
            ret->no_fit = k.no_fit;
        }
    }
}

void sim_preemption_done(struct sim_preemption *r)
{
    free(r->victims);
}

static bool leaves_for_another(const struct sim_sched_pod *p)
{
    const json_t *c = sim_cond(p->obj, "DisruptionTarget");
    return p->terminating && str_eq(jsonx_str(c, "status"), "True") &&
           str_eq(jsonx_str(c, "reason"), "PreemptionByScheduler");
}

bool sim_preempt_waits(const struct sim_cluster *c, const struct sim_sched_pod *p)
{
    const struct sim_sched_node *n = p->nominated ? map_get(c->nodes, p->nominated) : NULL;
    for (size_t i = 0; n && i < n->n_pods; i++) {
        if (n->pods[i]->priority < p->priority && leaves_for_another(n->pods[i])) {
            return true;
        }
    }
    return false;
}
