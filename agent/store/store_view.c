/* store_view.c - objects by name, nominations, and the store as a decision sees it; see store.h. */
#include "agent/leave/notice.h"
#include "agent/leave/pace.h"
#include "common/base/alloc.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "store_internal.h"

/* ---- objects -----------------------------------------------------------------------------------
 */

const struct pod *store_pod(const struct store *s, const char *ns, const char *name)
{
    char key[1024];
    int n = snprintf(key, sizeof(key), "%s/%s", ns, name);
    return n > 0 && (size_t)n < sizeof(key) ? map_get(s->kinds[STORE_POD].objects, key) : NULL;
}

const struct node *store_node(const struct store *s, const char *name)
{
    return map_get(s->kinds[STORE_NODE].objects, name);
}

const struct nodeclaim *store_claim(const struct store *s, const char *name)
{
    return map_get(s->kinds[STORE_CLAIM].objects, name);
}

const struct nodepool *store_pool(const struct store *s, const char *name)
{
    return map_get(s->kinds[STORE_POOL].objects, name);
}

const struct nodeclass *store_class(const struct store *s, const char *name)
{
    return map_get(s->kinds[STORE_CLASS].objects, name);
}

const struct map *store_all(const struct store *s, enum store_kind kind)
{
    return s->kinds[kind].objects;
}

/* ---- nominations ------------------------------------------------------------------------------
 */

static void forget_old(struct store *s, int64_t now_ns)
{
    for (MAP_EACH(s->nominations, e)) {
        int64_t *until_ns = map_value(e);
        if (*until_ns <= now_ns) {
            map_del(s->nominations, map_key(e));
            free(until_ns);
        }
    }
}

void store_nominate(struct store *s, const char *name, int64_t until_ns)
{
    int64_t *have = map_get(s->nominations, name);
    if (have) {
        *have = until_ns > *have ? until_ns : *have;
        return;
    }
    if (map_count(s->nominations) == STORE_MAX_OBJECTS) {
        forget_old(s, clock_mono(s->rt->clock));
    }
    have = NEW(int64_t);
    *have = until_ns;
    bool full = false;
    map_put(s->nominations, name, have, &full);
    if (full) {
        free(have);
    }
}

static bool named(const struct store *s, const char *name)
{
    const int64_t *until_ns = name && *name ? map_get(s->nominations, name) : NULL;
    return until_ns && *until_ns > clock_mono(s->rt->clock);
}

bool store_nominated(const struct store *s, const struct node *n, const struct nodeclaim *nc)
{
    return (n && named(s, n->m.name)) || (nc && (named(s, nc->m.name) || named(s, nc->node_name)));
}

/* ---- the snapshot's input ---------------------------------------------------------------------
 */

bool store_ours(const struct class_ref *ref)
{
    return str_eq(ref->group, "karpenter.k8s.aws") && str_eq(ref->kind, "EC2NodeClass");
}

bool store_leaving(const struct store *s, const struct node *n)
{
    const struct nodeclaim *nc = store_claim_by_provider_id(s, n->provider_id);
    if (n->m.deleted_ns != 0 || (nc && nc->m.deleted_ns != 0)) {
        return true;
    }
    for (uint32_t i = 0; i < n->taints.n; i++) {
        if (str_eq(sym_str(s->rt->syms, n->taints.v[i].key), TAINT_DISRUPTED)) {
            return true;
        }
    }
    return false;
}

bool store_ends_soon(const struct store *s, const struct nodeclaim *nc)
{
    const struct condition *c = condition_find(&nc->conditions, "DisruptionReason");
    const char *text = kvs_get(&nc->m.annotations, ANN_TERMINATION_TIME);
    int64_t end_ns;
    if (c && c->status == STATUS_TRUE && notice_mark_ends_soon(c->reason)) {
        return true;
    }
    return text && timefmt_parse_rfc3339(text, &end_ns) &&
           end_ns - clock_wall(s->rt->clock) <= STORE_LEAD_NS;
}

bool store_must_move(const struct store *s, const struct pod *p, const struct node *n)
{
    if (!pod_reschedulable(p) || !store_leaving(s, n)) {
        return false;
    }
    const struct nodeclaim *nc = store_claim_by_provider_id(s, n->provider_id);
    if (nc && pace_waits(s->rt, nc)) {
        return false;
    }
    bool stays = pod_active(p) &&
                 (pod_do_not_disrupt(p, clock_wall(s->rt->clock)) || store_held_for_ever(s, p));
    return !stays || (nc && store_ends_soon(s, nc));
}

/* The objects of a map as an array. */
static const void **array_of(struct arena *a, const struct map *m, uint32_t *ret_n)
{
    const void **v = ARENA_NEW_N(a, const void *, map_count(m));
    uint32_t n = 0;
    for (MAP_EACH(m, e)) {
        v[n++] = map_value(e);
    }
    *ret_n = n;
    return v;
}

static void add_nodes(const struct store *s, struct arena *a, struct snapshot_in *ret)
{
    const struct map *m = s->kinds[STORE_NODE].objects;
    const struct node **nodes = ARENA_NEW_N(a, const struct node *, map_count(m));
    const struct node_usage **usage = ARENA_NEW_N(a, const struct node_usage *, map_count(m));
    for (MAP_EACH(m, e)) {
        nodes[ret->n_nodes] = map_value(e);
        usage[ret->n_nodes] = store_usage(s, map_key(e));
        ret->n_nodes++;
    }
    ret->nodes = nodes;
    ret->usage = usage;
}

static void add_claims(const struct store *s, struct arena *a, struct snapshot_in *ret)
{
    const struct map *m = s->kinds[STORE_CLAIM].objects;
    const struct nodeclaim **claims = ARENA_NEW_N(a, const struct nodeclaim *, map_count(m));
    for (MAP_EACH(m, e)) {
        const struct nodeclaim *nc = map_value(e);
        if (store_ours(&nc->class_ref)) {
            claims[ret->n_claims++] = nc;
        }
    }
    ret->claims = claims;
}

static void add_pods(const struct store *s, struct arena *a, struct snapshot_in *ret)
{
    uint32_t cap = (uint32_t)map_count(s->provisionable);
    const struct pod **pods = ARENA_NEW_N(a, const struct pod *, cap);
    for (MAP_EACH(s->provisionable, e)) {
        pods[ret->n_pods++] = map_value(e);
    }
    for (uint32_t i = 0; i < ret->n_nodes; i++) {
        const struct map *on = store_pods_on(s, ret->nodes[i]->m.name);
        if (!on || !store_leaving(s, ret->nodes[i])) {
            continue;
        }
        for (MAP_EACH(on, p)) {
            if (store_must_move(s, map_value(p), ret->nodes[i])) {
                ARENA_GROW(a, pods, ret->n_pods, cap);
                pods[ret->n_pods++] = map_value(p);
            }
        }
    }
    ret->pods = pods;
}

/* What topology and volumes count: every pod on a node. */
static void add_bound(const struct store *s, struct arena *a, struct snapshot_in *ret)
{
    const struct pod **bound = ARENA_NEW_N(a, const struct pod *, s->n_bound);
    for (MAP_EACH(s->pods_by_node, e)) {
        const struct node_pods *np = map_value(e);
        for (MAP_EACH(np->pods, p)) {
            bound[ret->n_bound++] = map_value(p);
        }
    }
    ret->bound = bound;
}

#define ALL(kind, T, n) (const struct T *const *)array_of(a, s->kinds[kind].objects, n)

static void add_volumes(const struct store *s, struct arena *a, struct snapshot_in *ret)
{
    ret->namespaces = ALL(STORE_NAMESPACE, namespace, &ret->n_namespaces);
    ret->services = ALL(STORE_SERVICE, service, &ret->n_services);
    ret->pvcs = ALL(STORE_PVC, pvc, &ret->n_pvcs);
    ret->pvs = ALL(STORE_PV, pv, &ret->n_pvs);
    ret->storage_classes = ALL(STORE_STORAGE_CLASS, storage_class, &ret->n_storage_classes);
    ret->csi_nodes = ALL(STORE_CSI_NODE, csi_node, &ret->n_csi_nodes);
    ret->pdbs = ALL(STORE_PDB, pdb, &ret->n_pdbs);
    ret->pdbs_unknown = !store_pdbs_known(s);
}

void store_snapshot_in(const struct store *s, struct arena *a, struct snapshot_in *ret)
{
    *ret = (struct snapshot_in){.now_ns = clock_wall(s->rt->clock), .syms = s->rt->syms};
    add_nodes(s, a, ret);
    add_claims(s, a, ret);
    add_pods(s, a, ret);
    ret->daemonsets = ALL(STORE_DAEMONSET, daemonset, &ret->n_daemonsets);
    add_bound(s, a, ret);
    add_volumes(s, a, ret);
}
