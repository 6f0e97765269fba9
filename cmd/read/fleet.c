/* fleet.c - see fleet.h. */
#include "fleet.h"

#include "common/base/price.h"
#include "common/base/str.h"
#include "common/core/disrupt/candidate.h"
#include "common/core/labels.h"

bool fleet_managed(const struct snapshot_node *n)
{
    return n->claim || reqset_get(&n->labels, L_NODEPOOL);
}

enum node_state fleet_state(const struct snapshot_node *n)
{
    if (n->leaving) {
        return NODE_DRAINING;
    }
    if (!n->node && nodeclaim_had_node(n->claim)) {
        return NODE_LOST;
    }
    if (!n->node || !n->initialized) {
        return NODE_LAUNCHING;
    }
    bool ready = n->node->ready == STATUS_TRUE || n->node->ready == STATUS_ABSENT;
    return ready ? NODE_READY : NODE_NOT_READY;
}

const char *fleet_label(const struct snapshot *s, const struct snapshot_node *n, sym key)
{
    const struct req *r = reqset_get(&n->labels, key);
    sym value = r ? req_single(r) : SYM_NONE;
    return value == SYM_NONE ? NULL : sym_str(s->syms, value);
}

int64_t fleet_price(const struct snapshot *s, const struct snapshot_node *n, const struct prices *p,
                    bool *ret_estimated)
{
    const struct req *ct = reqset_get(&n->labels, L_CAPACITY_TYPE);
    return prices_of(p, fleet_label(s, n, L_INSTANCE_TYPE), fleet_label(s, n, L_ZONE),
                     ct ? capacity_type_of(req_single(ct)) : CT_COUNT, ret_estimated);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void count_cost(const struct snapshot *s, const struct snapshot_node *n,
                       const struct prices *p, struct cost *ret)
{
    if (!n->launched) {
        return;
    }
    int64_t price = fleet_price(s, n, p, &ret->estimated);
    if (price == PRICE_UNKNOWN) {
        ret->unpriced++;
        return;
    }
    ret->priced++;
    price_add(&ret->pusd_h, price);
}

static void count_node(const struct snapshot *s, const struct snapshot_node *n,
                       const struct prices *p, struct fleet_count *ret)
{
    enum node_state state = fleet_state(n);
    ret->state[state]++;
    count_cost(s, n, p, &ret->cost);
    if (candidate_counted(n)) {
        ret->counted++;
        ret->disrupting += state != NODE_READY;
    }
    if (!n->node || !n->initialized) {
        return;
    }
    const struct req *ct = reqset_get(&n->labels, L_CAPACITY_TYPE);
    ret->initialized++;
    ret->spot += ct && req_single(ct) == V_SPOT;
    ret->allocatable_cpu_milli += n->allocatable.v[RES_CPU];
    ret->allocatable_mem_bytes += n->allocatable.v[RES_MEMORY];
    if (n->usage) {
        ret->requested_cpu_milli += n->usage->requested.v[RES_CPU];
        ret->requested_mem_bytes += n->usage->requested.v[RES_MEMORY];
    }
}

static int pool_cmp(const void *x, const void *y)
{
    const struct fleet_pool *a = x, *b = y;
    return str_cmp(a->pool->np->m.name, b->pool->np->m.name);
}

static struct fleet_pool *pool_row(struct fleet *f, const struct snapshot_pool *p)
{
    for (size_t i = 0; p && i < f->n_pools; i++) {
        if (f->pools[i].pool == p) {
            return &f->pools[i];
        }
    }
    return NULL;
}

static void count_nodes(const struct snapshot *s, const struct prices *p, struct fleet *f)
{
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const struct snapshot_node *n = &s->nodes[i];
        struct fleet_pool *row = pool_row(f, n->pool);
        if (!fleet_managed(n)) {
            f->unmanaged++;
            continue;
        }
        count_node(s, n, p, &f->all);
        if (row) {
            count_node(s, n, p, &row->n);
        }
    }
}

/* ---- pods ------------------------------------------------------------------------------------ */

/* Pending, and ours to place. */
static bool is_pending(const struct pod *p)
{
    return p->node_name[0] == '\0' && pod_active(p) && p->owner != POWNER_DAEMONSET &&
           p->owner != POWNER_NODE;
}

static void count_pods(const struct world *w, const struct sched_result *r, struct fleet *f)
{
    for (size_t i = 0; i < world_n(w, KIND_POD); i++) {
        const struct pod *p = world_at(w, KIND_POD, i);
        f->bound += p->node_name[0] != '\0' && !pod_terminal(p);
        if (!is_pending(p)) {
            continue;
        }
        f->gated += p->gated;
        /* Preempting, or not looked at again yet: kube-scheduler has it in hand. */
        f->waiting_bind += !p->gated && !pod_provisionable(p);
    }
    for (uint32_t i = 0; i < r->n_existing; i++) {
        bool pending = is_pending(r->existing[i].pod), there = r->existing[i].node->initialized;
        f->waiting_bind += pending && there;
        f->waiting_launching += pending && !there;
    }
    for (uint32_t i = 0; i < r->n_claims; i++) {
        for (uint32_t k = 0; k < r->claims[i].n_pods; k++) {
            f->waiting_new += is_pending(r->claims[i].pods[k]);
        }
    }
    for (uint32_t i = 0; i < r->n_refused; i++) {
        const struct pod *p = r->refused[i].pod;
        f->unschedulable += is_pending(p) && !p->gated;
    }
    for (uint32_t i = 0; i < r->n_undecided; i++) {
        f->waiting_new += is_pending(r->undecided[i]);
    }
}

void fleet_count(const struct world *w, const struct decision *d, const struct prices *p,
                 struct arena *a, struct fleet *ret)
{
    memset(ret, 0, sizeof(*ret));
    ret->n_pools = d->snap.n_pools;
    ret->pools = ARENA_NEW_N(a, struct fleet_pool, ret->n_pools);
    for (size_t i = 0; i < ret->n_pools; i++) {
        ret->pools[i].pool = &d->snap.pools[i];
    }
    if (ret->n_pools > 1) {
        qsort(ret->pools, ret->n_pools, sizeof(*ret->pools), pool_cmp);
    }
    count_nodes(&d->snap, p, ret);
    count_pods(w, d->result, ret);
}
