/* candidate_empty.c - empty nodes and how many of them may leave now; see candidate.h. */
#include "budget.h"
#include "candidate.h"
#include "common/base/sort.h"
#include "common/base/str.h"

bool candidate_counted(const struct snapshot_node *n)
{
    const struct nodeclaim *nc = n->claim;
    if (nc == NULL || condition_true(&nc->conditions, "InstanceTerminating")) {
        return false;
    }
    return n->node != NULL
               ? n->initialized
               : nodeclaim_had_node(nc) && condition_true(&nc->conditions, "Initialized");
}

struct budget_room candidate_room(const struct candidate_in *in, const struct snapshot_pool *p,
                                  int64_t now_ns)
{
    struct budget_room ret = {0, 0, 0};
    const struct candidate_facts *f = &in->facts;
    for (uint32_t i = 0; i < in->snap->n_nodes; i++) {
        const struct snapshot_node *n = &in->snap->nodes[i];
        if (n->pool != p || !candidate_counted(n)) {
            continue;
        }
        ret.nodes++;
        ret.disrupting += n->leaving || n->node == NULL || n->node->ready != STATUS_TRUE ||
                          (f->in_command != NULL && f->in_command(f->ctx, n));
    }
    ret.allowed = budget_allowed(p->np, in->reason, ret.nodes, now_ns);
    return ret;
}

struct reason candidate_empty(const struct candidate_in *in, const struct snapshot_node *n)
{
    struct reason r = candidate_check(in, n);
    if (r.code != REASON_NONE) {
        return r;
    }
    struct budget_room room = candidate_room(in, n->pool, in->snap->now_ns);
    r.code = room.disrupting < room.allowed ? REASON_Empty : REASON_Budget;
    if (r.code == REASON_Budget) {
        r.count = room.disrupting;
        r.limit = room.allowed;
    }
    return r;
}

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
        if (candidate_check(in, &in->snap->nodes[i]).code == REASON_NONE) {
            v[found++] = &in->snap->nodes[i];
        }
    }
    sort_items(v, found, sizeof(*v), cmp_node);
    const struct snapshot_pool *pool = NULL;
    int64_t left = 0;
    for (uint32_t i = 0; i < found; i++) {
        if (v[i]->pool != pool) {
            pool = v[i]->pool;
            struct budget_room room = candidate_room(in, pool, in->snap->now_ns);
            left = room.allowed - room.disrupting;
        }
        if (left > 0) {
            left--;
            v[kept++] = v[i];
        }
    }
    return (struct empty_plan){v, kept};
}
