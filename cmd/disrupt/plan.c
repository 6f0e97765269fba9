/* plan.c - see plan.h. */
#include "plan.h"

#include "common/base/map.h"
#include "common/base/str.h"
#include "common/core/preference.h"

#define RULE_MAX 512u

static int pod_cmp(const struct pod *a, const struct pod *b)
{
    int c = str_cmp(a->m.ns, b->m.ns);
    return c ? c : str_cmp(a->m.name, b->m.name);
}

static int pod_qsort(const void *x, const void *y)
{
    return pod_cmp(*(const struct pod *const *)x, *(const struct pod *const *)y);
}

/* ---- places that are there ------------------------------------------------------------------- */

static int node_qsort(const void *x, const void *y)
{
    return str_cmp(((const struct plan_node *)x)->node->name,
                   ((const struct plan_node *)y)->node->name);
}

static void build_nodes(struct session *s, struct plan *p)
{
    const struct sched_result *r = s->d.result;
    struct map *by_name = map_new(r->n_existing + 1u);
    for (uint32_t i = 0; i < r->n_existing; i++) {
        const struct snapshot_node *n = r->existing[i].node;
        size_t at = (size_t)(uintptr_t)map_get(by_name, n->name);
        if (at == 0) {
            ARENA_GROW(&s->a, p->nodes, p->n_nodes, p->cap_nodes);
            p->nodes[p->n_nodes++] = (struct plan_node){.node = n};
            at = p->n_nodes;
            (void)map_put(by_name, n->name, (void *)(uintptr_t)at, NULL);
        }
        struct plan_node *one = &p->nodes[at - 1];
        ARENA_GROW(&s->a, one->pods, one->n_pods, one->cap);
        one->pods[one->n_pods++] = r->existing[i].pod;
    }
    map_free(by_name);
    if (p->n_nodes > 1) {
        qsort(p->nodes, p->n_nodes, sizeof(*p->nodes), node_qsort);
    }
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        qsort(p->nodes[i].pods, p->nodes[i].n_pods, sizeof(*p->nodes[i].pods), pod_qsort);
    }
    p->placed_existing = r->n_existing;
}

/* ---- claims ---------------------------------------------------------------------------------- */

static int claim_qsort(const void *x, const void *y)
{
    const struct sched_claim *a = *(const struct sched_claim *const *)x;
    const struct sched_claim *b = *(const struct sched_claim *const *)y;
    int c = str_cmp(a->pool->np->m.name, b->pool->np->m.name);
    return c ? c : (a < b ? -1 : a > b); /* one array: as they were opened */
}

static void build_claims(struct session *s, struct plan *p)
{
    const struct sched_result *r = s->d.result;
    p->claims = ARENA_NEW_N(&s->a, const struct sched_claim *, r->n_claims);
    p->n_claims = r->n_claims;
    for (uint32_t i = 0; i < r->n_claims; i++) {
        const struct sched_claim *c = &r->claims[i];
        p->claims[i] = c;
        p->placed_new += c->n_pods;
        p->price_pusd_h += c->price_pusd_h == PRICE_UNKNOWN ? 0 : c->price_pusd_h;
        p->estimated = p->estimated || report_claim_estimated(s, c);
    }
    if (p->n_claims > 1) {
        qsort(p->claims, p->n_claims, sizeof(*p->claims), claim_qsort);
    }
}

/* ---- refusals -------------------------------------------------------------------------------- */

/* Pods that wait for something else than a node are not in the plan. */
static bool not_placed_at_all(enum reason_code c)
{
    return c == REASON_Gated || c == REASON_Preempting || c == REASON_DaemonSetPod ||
           c == REASON_StaticPod;
}

static int refusal_qsort(const void *x, const void *y)
{
    return pod_cmp(((const struct plan_refusal *)x)->refusal->pod,
                   ((const struct plan_refusal *)y)->refusal->pod);
}

static void build_refused(struct session *s, struct plan *p)
{
    const struct sched_result *r = s->d.result;
    p->refused = ARENA_NEW_N(&s->a, struct plan_refusal, r->n_refused);
    for (uint32_t i = 0; i < r->n_refused; i++) {
        const struct sched_refusal *one = &r->refused[i];
        if (not_placed_at_all(one->reason.code)) {
            continue;
        }
        bool pod_level = one->reason.code == REASON_NotScheduledByUs;
        p->refused[p->n_refused++] =
            (struct plan_refusal){one, pod_level ? NULL : session_explain(s, one->pod)};
    }
    if (p->n_refused > 1) {
        qsort(p->refused, p->n_refused, sizeof(*p->refused), refusal_qsort);
    }
}

/* ---- preferences ----------------------------------------------------------------------------- */

static void build_preferences(struct session *s, struct plan *p)
{
    const struct preference_lost *lost;
    p->n_preferences = preference_lost(&s->a, &s->d.snap, s->d.result, &lost);
    p->preferences = ARENA_NEW_N(&s->a, struct plan_preference, p->n_preferences);
    for (uint32_t i = 0; i < p->n_preferences; i++) {
        AUTO_BUF struct buf rule;
        buf_init(&rule, RULE_MAX);
        preference_fmt(s->w.syms, &lost[i], &rule);
        p->preferences[i] = (struct plan_preference){lost[i].pod, arena_strdup(&s->a, rule.p)};
    }
}

void plan_build(struct session *s, struct plan *ret)
{
    memset(ret, 0, sizeof(*ret));
    build_nodes(s, ret);
    build_claims(s, ret);
    build_refused(s, ret);
    build_preferences(s, ret);
}
