/* candidate.c - see candidate.h. */
#include "candidate.h"

#include "budget.h"
#include "common/base/str.h"
#include "labels.h"

#define NEVER INT64_MAX /* clock.h's NS_NEVER */

int64_t candidate_consolidatable_at(const struct nodepool *np, const struct nodeclaim *nc)
{
    const struct condition *init = condition_find(&nc->conditions, "Initialized");
    if (init == NULL || init->status != STATUS_TRUE) {
        return 0;
    }
    if (np->consolidate_after_ns == DURATION_NEVER) {
        return NEVER;
    }
    int64_t from = nc->last_pod_event_ns != 0 ? nc->last_pod_event_ns : init->transition_ns;
    int64_t after = np->consolidate_after_ns > 0 ? np->consolidate_after_ns : 0, ret;
    return __builtin_add_overflow(from, after, &ret) ? NEVER : ret;
}

/* ---- gates ----------------------------------------------------------------------------------- */

static struct reason refusal(enum reason_code code)
{
    return (struct reason){.code = code, .short_of = {.res = RES_FIXED}};
}

static bool in_command(const struct candidate_in *in, const struct snapshot_node *n)
{
    return in->in_command != NULL && in->in_command(in->ctx, n);
}

/* "false" is the only value that allows; what cannot be read forbids. */
static bool forbids(const struct meta *m)
{
    const char *v = kvs_get(&m->annotations, ANN_DO_NOT_DISRUPT);
    return v != NULL && !str_eq(v, "false");
}

/* Whose node it is and in what state. */
static struct reason gate_state(const struct candidate_in *in, const struct snapshot_node *n)
{
    if (n->claim == NULL || n->pool == NULL) {
        return refusal(REASON_NotManaged);
    }
    if (n->node == NULL || !n->initialized ||
        !condition_true(&n->claim->conditions, "Initialized")) {
        return refusal(REASON_NotInitialized);
    }
    if (n->leaving || in_command(in, n)) {
        return refusal(REASON_Deleting);
    }
    if (in->nominated != NULL && in->nominated(in->ctx, n)) {
        return refusal(REASON_Nominated);
    }
    return refusal(REASON_NONE);
}

/* Who forbids it. */
static struct reason gate_marks(const struct snapshot_node *n)
{
    struct reason ret = refusal(REASON_NONE);
    if (forbids(&n->node->m) || forbids(&n->claim->m)) {
        ret.code = REASON_DoNotDisruptNode;
    } else if (n->usage != NULL && n->usage->do_not_disrupt > 0) {
        ret.code = REASON_DoNotDisruptPod;
        ret.count = n->usage->do_not_disrupt;
    }
    return ret;
}

/* What the pool says. This version removes empty nodes only, so every policy is WhenEmpty. */
static struct reason gate_policy(const struct snapshot_node *n)
{
    const struct nodepool *np = n->pool->np;
    struct reason ret = refusal(REASON_NONE);
    uint32_t pods = n->usage ? n->usage->pods + n->usage->waiting_evict : 0;
    if (np->is_static) {
        ret.code = REASON_Policy;
        ret.text = "the pool is static";
    } else if (np->consolidate_after_ns == DURATION_NEVER) {
        ret.code = REASON_Policy;
        ret.text = "consolidateAfter is Never";
    } else if (pods > 0) {
        ret.code = REASON_Policy;
        ret.count = pods;
        ret.text = "it carries pods, and only empty nodes are removed";
    }
    return ret;
}

static struct reason gate_fields(const struct snapshot_node *n)
{
    const struct nodepool *np = n->pool->np;
    const struct nodeclass *cls = n->pool->cls;
    struct reason ret = refusal(REASON_NONE);
    const char *texts[] = {np->unknown_field, np->problem, n->claim->problem,
                           cls ? cls->unknown_field : NULL, cls ? cls->problem : NULL};
    for (size_t i = 0; i < ARRAY_LEN(texts) && ret.code == REASON_NONE; i++) {
        if (texts[i] != NULL) {
            ret.code = REASON_UnknownFields;
            ret.text = texts[i];
        }
    }
    return ret;
}

static struct reason gate_time(const struct candidate_in *in, const struct snapshot_node *n)
{
    struct reason ret = refusal(REASON_NONE);
    int64_t at = candidate_consolidatable_at(n->pool->np, n->claim);
    if (in->launches_failing != NULL && in->launches_failing(in->ctx, n->pool)) {
        ret.code = REASON_LaunchesFailing;
    } else if (at > in->snap->now_ns) {
        ret.code = REASON_Waiting;
        ret.until_ns = at;
    }
    return ret;
}

/* Every gate but the budget's. */
static struct reason gates(const struct candidate_in *in, const struct snapshot_node *n)
{
    struct reason r = gate_state(in, n);
    if (r.code == REASON_NONE) {
        r = gate_marks(n);
    }
    if (r.code == REASON_NONE) {
        r = gate_policy(n);
    }
    if (r.code == REASON_NONE) {
        r = gate_fields(n);
    }
    if (r.code == REASON_NONE) {
        r = gate_time(in, n);
    }
    return r;
}

/* ---- budgets --------------------------------------------------------------------------------- */

struct room {
    int64_t allowed, disrupting;
};

/* Counted are the pool's initialized nodes whose instance is not terminating; those that are not
 * ready or on their way out use the budget up. */
static struct room budget_room(const struct candidate_in *in, const struct snapshot_pool *p)
{
    struct room ret = {0, 0};
    int64_t nodes = 0;
    for (uint32_t i = 0; i < in->snap->n_nodes; i++) {
        const struct snapshot_node *n = &in->snap->nodes[i];
        if (n->pool != p || n->claim == NULL || n->node == NULL || !n->initialized ||
            condition_true(&n->claim->conditions, "InstanceTerminating")) {
            continue;
        }
        nodes++;
        ret.disrupting += n->leaving || n->node->ready != STATUS_TRUE || in_command(in, n);
    }
    ret.allowed = budget_allowed(p->np, DISRUPT_EMPTY, nodes, in->snap->now_ns);
    return ret;
}

struct reason candidate_empty(const struct candidate_in *in, const struct snapshot_node *n)
{
    struct reason r = gates(in, n);
    if (r.code != REASON_NONE) {
        return r;
    }
    struct room room = budget_room(in, n->pool);
    r.code = room.disrupting < room.allowed ? REASON_Empty : REASON_Budget;
    if (r.code == REASON_Budget) {
        r.count = room.disrupting;
        r.limit = room.allowed;
    }
    return r;
}

/* ---- the plan -------------------------------------------------------------------------------- */

static int cmp_node(const void *x, const void *y)
{
    const struct snapshot_node *a = *(const struct snapshot_node *const *)x;
    const struct snapshot_node *b = *(const struct snapshot_node *const *)y;
    int c = str_cmp(a->pool->np->m.name, b->pool->np->m.name);
    return c != 0 ? c : str_cmp(a->name, b->name);
}

struct empty_plan candidate_empty_plan(struct arena *a, const struct candidate_in *in)
{
    const struct snapshot_node **v =
        ARENA_NEW_N(a, const struct snapshot_node *, in->snap->n_nodes);
    uint32_t found = 0, kept = 0;
    for (uint32_t i = 0; i < in->snap->n_nodes; i++) {
        if (gates(in, &in->snap->nodes[i]).code == REASON_NONE) {
            v[found++] = &in->snap->nodes[i];
        }
    }
    if (found > 0) {
        qsort(v, found, sizeof(*v), cmp_node);
    }
    const struct snapshot_pool *pool = NULL;
    int64_t left = 0;
    for (uint32_t i = 0; i < found; i++) {
        if (v[i]->pool != pool) {
            pool = v[i]->pool;
            struct room room = budget_room(in, pool);
            left = room.allowed - room.disrupting;
        }
        if (left > 0) {
            left--;
            v[kept++] = v[i];
        }
    }
    return (struct empty_plan){v, kept};
}
