/* snapshot.c - see snapshot.h. */
#include "snapshot.h"

#include "common/base/hash.h"
#include "common/base/sort.h"
#include "common/base/str.h"
#include "common/core/sched/daemonset.h"
#include "labels.h"
#include "snapshot_pods.h"
#include "template.h"
#include "want.h"

struct builder {
    struct arena *a;
    const struct snapshot_in *in;
    struct snapshot *out;
    struct snapshot_pool *pools;
    struct snapshot_node *nodes;
    uint32_t n_nodes;
    uint32_t *by_provider; /* slots: 1 + place of the node with that id in the input */
    uint32_t provider_slots;
    bool *joined;                      /* per node of the input: has a claim */
    const struct template **templates; /* per pool, made when first needed */
};

/* ---- orders ---------------------------------------------------------------------------------- */

static int cmp_pool(const void *x, const void *y)
{
    const struct nodepool *a = ((const struct snapshot_pool *)x)->np;
    const struct nodepool *b = ((const struct snapshot_pool *)y)->np;
    if (a->weight != b->weight) {
        return a->weight > b->weight ? -1 : 1;
    }
    return str_cmp(b->m.name, a->m.name);
}

static int cmp_node(const void *x, const void *y)
{
    const struct snapshot_node *a = x, *b = y;
    if (a->initialized != b->initialized) {
        return a->initialized ? -1 : 1;
    }
    int c = str_cmp(a->name, b->name);
    if (c == 0 && (a->node != NULL) != (b->node != NULL)) {
        return a->node != NULL ? -1 : 1;
    }
    return c;
}

static int cmp_claim(const void *x, const void *y)
{
    const struct nodeclaim *a = *(const struct nodeclaim *const *)x;
    const struct nodeclaim *b = *(const struct nodeclaim *const *)y;
    return str_cmp(a->m.name, b->m.name);
}

/* A sorted copy of an array of pointers. */
static void *sorted(struct arena *a, const void *items, uint32_t n,
                    int (*cmp)(const void *, const void *))
{
    void **copy = ARENA_NEW_N(a, void *, n);
    if (n > 0) {
        memcpy(copy, items, n * sizeof(*copy));
        sort_items(copy, n, sizeof(*copy), cmp);
    }
    return copy;
}

/* ---- pools ----------------------------------------------------------------------------------- */

static void build_pools(struct builder *b)
{
    const struct snapshot_in *in = b->in;
    b->pools = ARENA_NEW_N(b->a, struct snapshot_pool, in->n_pools);
    b->templates = ARENA_NEW_N(b->a, const struct template *, in->n_pools);
    for (uint32_t i = 0; i < in->n_pools; i++) {
        const struct snapshot_pool_in *p = &in->pools[i];
        b->pools[i] = (struct snapshot_pool){.np = p->pool,
                                             .cls = p->cls,
                                             .catalog = p->catalog,
                                             .offerings = p->offerings,
                                             .closed = p->closed,
                                             .closed_text = p->closed_text,
                                             .max_new_nodes = p->max_new_nodes};
    }
    sort_items(b->pools, in->n_pools, sizeof(*b->pools), cmp_pool);
}

static struct snapshot_pool *pool_named(struct builder *b, const char *name)
{
    for (uint32_t i = 0; name != NULL && i < b->in->n_pools; i++) {
        if (str_eq(b->pools[i].np->m.name, name)) {
            return &b->pools[i];
        }
    }
    return NULL;
}

static const struct template *pool_template(struct builder *b, const struct snapshot_pool *p)
{
    const struct template **slot = &b->templates[p - b->pools];
    if (*slot == NULL) {
        struct template *tm = ARENA_NEW(b->a, struct template);
        template_build(b->a, b->in->syms, p->np, p->catalog, b->out->daemonsets,
                       b->out->n_daemonsets, tm);
        *slot = tm;
    }
    return *slot;
}

/* ---- one node -------------------------------------------------------------------------------- */

static struct reqset labels_reqs(struct arena *a, const struct labels *l)
{
    struct req *v = ARENA_NEW_N(a, struct req, l->n);
    for (uint32_t i = 0; i < l->n; i++) {
        v[i] = (struct req){.key = l->v[i].key, .n = 1, .values = &l->v[i].value};
    }
    return (struct reqset){v, l->n};
}

/* The claim's labels, and where it has none what its requirements leave. */
static struct reqset claim_labels(struct arena *a, const struct symtab *t,
                                  const struct nodeclaim *nc)
{
    struct reqset set = labels_reqs(a, &nc->m.labels);
    for (uint32_t i = 0; i < nc->reqs.n; i++) {
        if (reqset_get(&set, nc->reqs.v[i].key) == NULL) {
            set = reqset_add(a, t, &set, &nc->reqs.v[i]);
        }
    }
    return set;
}

static bool startup_taint(const struct nodeclaim *nc, const struct taint *t)
{
    for (uint32_t i = 0; nc != NULL && i < nc->startup_taints.n; i++) {
        if (taint_matches(&nc->startup_taints.v[i], t)) {
            return true;
        }
    }
    return false;
}

static struct taints starting_taints(struct builder *b, const struct snapshot_node *n)
{
    struct taint *v = ARENA_NEW_N(b->a, struct taint, n->node->taints.n);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n->node->taints.n; i++) {
        const struct taint *t = &n->node->taints.v[i];
        if (!taint_ephemeral(b->in->syms, t) && !startup_taint(n->claim, t)) {
            v[kept++] = *t;
        }
    }
    return (struct taints){v, kept};
}

/* own, and where it is silent what `from` says. */
static struct resources filled(struct builder *b, const struct resources *own,
                               const struct resources *from)
{
    struct resources ret = resources_max(b->a, own, from);
    struct res_ext *ext = arena_memdup(b->a, ret.ext, ret.n_ext * sizeof(*ext));
    for (int i = 0; i < RES_FIXED; i++) {
        ret.v[i] = own->v[i] != 0 ? own->v[i] : from->v[i];
    }
    for (uint32_t i = 0; i < ret.n_ext; i++) {
        int64_t mine = resources_get_ext(own, ext[i].name);
        ext[i].amount = mine != 0 ? mine : resources_get_ext(from, ext[i].name);
    }
    ret.ext = ext;
    return ret;
}

static bool disrupted_taint(const struct symtab *t, const struct node *node)
{
    sym key = sym_find(t, TAINT_DISRUPTED);
    for (uint32_t i = 0; key != SYM_NONE && i < node->taints.n; i++) {
        if (node->taints.v[i].key == key) {
            return true;
        }
    }
    return false;
}

static bool is_going(const struct node *node, const struct nodeclaim *nc)
{
    return (node != NULL && node->m.deleted_ns != 0) ||
           (nc != NULL &&
            (nc->m.deleted_ns != 0 || condition_true(&nc->conditions, "InstanceTerminating")));
}

static bool is_assumed(const struct snapshot_in *in, const struct nodeclaim *nc)
{
    return nc != NULL && in->n_leaving > 0 &&
           bsearch(&nc->m.name, in->leaving, in->n_leaving, sizeof(*in->leaving), str_qsort_cmp);
}

static bool is_leaving(const struct snapshot_in *in, const struct node *node,
                       const struct nodeclaim *nc)
{
    return is_going(node, nc) || is_assumed(in, nc) ||
           (node != NULL && disrupted_taint(in->syms, node)) ||
           (nc != NULL && condition_true(&nc->conditions, "DisruptionReason"));
}

/* A claim that was not launched: room for its own pods, and the largest type against limits. */
static void planned(struct builder *b, struct snapshot_node *n)
{
    const struct snapshot_pool *p = n->pool;
    const struct resources *requests = &n->claim->requests;
    n->allocatable = n->free = *requests;
    n->capacity = resources_max(b->a, &n->capacity, requests);
    if (p == NULL || p->catalog == NULL) {
        return;
    }
    const struct req *r = reqset_get(&n->claim->reqs, L_INSTANCE_TYPE);
    uint64_t types[CATALOG_WORDS_MAX] = {0};
    for (uint32_t i = 0; r != NULL && !r->complement && i < r->n; i++) {
        int type = catalog_find_type(p->catalog, r->values[i]);
        if (type >= 0) {
            bits_set(types, (uint32_t)type);
            n->capacity =
                resources_max(b->a, &n->capacity, catalog_capacity(p->catalog, (uint32_t)type));
        }
    }
    struct resources over = template_least_overhead(b->a, pool_template(b, p), types);
    n->free = resources_add(b->a, requests, &over, -1);
    /* DaemonSets may have come since: what they take does not make other resources unusable. */
    static const struct resources none;
    n->free = resources_max(b->a, &n->free, &none);
}

/* DaemonSets that belong on the node: their requests in sum, their ports appended to it. */
static struct resources daemonsets_here(struct builder *b, struct snapshot_node *n)
{
    struct resources sum = {0};
    uint32_t cap = n->n_ports;
    struct host_port *ports = arena_memdup(b->a, n->ports, n->n_ports * sizeof(*ports));
    for (uint32_t i = 0; i < b->out->n_daemonsets; i++) {
        const struct pod_class *cls = b->out->daemonsets[i]->cls;
        bool here = false;
        for (uint32_t r = 0; !here && r < (cls->n_required ? cls->n_required : 1); r++) {
            struct arena_mark mark = arena_mark(b->a);
            struct reqset want;
            here = want_build(b->a, b->in->syms, cls, cls->n_required ? &cls->required[r] : NULL,
                              NULL, &want) &&
                   want_met(b->a, b->in->syms, &n->labels, &want);
            arena_rewind(b->a, mark);
        }
        if (!here || taints_refuse(&n->taints, &cls->tolerations, false) != NULL) {
            continue;
        }
        sum = resources_add(b->a, &sum, &cls->requests, 1);
        for (uint32_t p = 0; p < cls->n_host_ports; p++) {
            ARENA_GROW(b->a, ports, n->n_ports, cap);
            ports[n->n_ports++] = cls->host_ports[p];
        }
    }
    n->ports = ports;
    return sum;
}

static void room(struct builder *b, struct snapshot_node *n)
{
    static const struct resources none;
    const struct resources *requested = n->usage ? &n->usage->requested : &none;
    const struct resources *daemons = n->usage ? &n->usage->daemon_requested : &none;
    if (n->usage != NULL) {
        n->ports = n->usage->host_ports;
        n->n_ports = n->usage->n_host_ports;
    }
    struct resources expected = daemonsets_here(b, n);
    if (n->node == NULL && (!n->launched || resources_is_zero(&n->allocatable))) {
        planned(b, n);
        return;
    }
    struct resources to_come = resources_add(b->a, &expected, daemons, -1);
    to_come = resources_max(b->a, &to_come, &none);
    n->free = resources_add(b->a, &n->allocatable, requested, -1);
    n->free = resources_add(b->a, &n->free, &to_come, -1);
}

/* Until it registers, the claim speaks for the node; until it initializes, where the node is
 * silent. A node that is not ours speaks for itself at once. */
static void join(struct builder *b, struct snapshot_node *n)
{
    const struct node *node = n->node;
    const struct nodeclaim *nc = n->claim;
    sym reg = node ? labels_get(&node->m.labels, L_REGISTERED) : SYM_NONE;
    sym init = node ? labels_get(&node->m.labels, L_INITIALIZED) : SYM_NONE;
    bool ours = nc != NULL || n->pool != NULL;
    bool registered = node != NULL && (nc == NULL || reg == V_TRUE);
    n->initialized = node != NULL && (!ours || init == V_TRUE);
    n->launched = node != NULL || (nc->provider_id != NULL && nc->provider_id[0] != '\0') ||
                  condition_true(&nc->conditions, "Launched");
    n->labels =
        registered ? labels_reqs(b->a, &node->m.labels) : claim_labels(b->a, b->in->syms, nc);
    if (!registered) {
        n->taints = nc->taints;
    } else {
        n->taints = n->initialized ? node->taints : starting_taints(b, n);
    }
    if (node != NULL) {
        n->capacity = node->capacity;
        n->allocatable = node->allocatable;
    }
    if (nc != NULL && !n->initialized) {
        n->capacity = filled(b, &n->capacity, &nc->capacity);
        n->allocatable = filled(b, &n->allocatable, &nc->allocatable);
    }
    bool lost = node == NULL && nodeclaim_had_node(nc);
    n->leaving = is_leaving(b->in, node, nc);
    n->target = !n->leaving && !lost && !(node != NULL && node->unschedulable);
    room(b, n);
}

static void count_in_pool(struct builder *b, const struct snapshot_node *n)
{
    if (n->pool == NULL ||
        (n->leaving && (is_going(n->node, n->claim) || is_assumed(b->in, n->claim)))) {
        return;
    }
    struct snapshot_pool *p = &b->pools[n->pool - b->pools];
    p->in_use = resources_add(b->a, &p->in_use, &n->capacity, 1);
    p->nodes_in_use++;
}

/* ---- all nodes ------------------------------------------------------------------------------- */

/* The slot of a text in a table of 1 + places; of items, what text they go by. */
typedef const char *text_fn(const void *items, uint32_t i);

static uint32_t *slot_of(uint32_t *slots, uint32_t n_slots, text_fn *text, const void *items,
                         const char *key)
{
    uint32_t i = (uint32_t)hash_fnv1a(key, strlen(key)) & (n_slots - 1);
    while (slots[i] != 0 && !str_eq(text(items, slots[i] - 1), key)) {
        i = (i + 1) & (n_slots - 1);
    }
    return &slots[i];
}

static uint32_t *slots_for(struct arena *a, uint32_t n, uint32_t *ret_slots)
{
    *ret_slots = 16;
    while (*ret_slots < 2 * n) {
        *ret_slots *= 2;
    }
    return ARENA_NEW_N(a, uint32_t, *ret_slots);
}

static const char *provider_text(const void *nodes, uint32_t i)
{
    return ((const struct node *const *)nodes)[i]->provider_id;
}

static uint32_t *provider_slot(const struct builder *b, const char *id)
{
    return slot_of(b->by_provider, b->provider_slots, provider_text, b->in->nodes, id);
}

/* Of several with one id it is the first by name. */
static void index_nodes(struct builder *b)
{
    const struct node *const *v = b->in->nodes;
    b->by_provider = slots_for(b->a, b->in->n_nodes, &b->provider_slots);
    for (uint32_t i = 0; i < b->in->n_nodes; i++) {
        if (v[i]->provider_id != NULL && v[i]->provider_id[0] != '\0') {
            uint32_t *slot = provider_slot(b, v[i]->provider_id);
            bool first = *slot == 0 || str_cmp(v[i]->m.name, v[*slot - 1]->m.name) < 0;
            *slot = first ? i + 1 : *slot;
        }
    }
}

static void add_claims(struct builder *b)
{
    const struct snapshot_in *in = b->in;
    const struct nodeclaim **claims = sorted(b->a, in->claims, in->n_claims, cmp_claim);
    for (uint32_t i = 0; i < in->n_claims; i++) {
        const struct nodeclaim *nc = claims[i];
        struct snapshot_node *n = &b->nodes[b->n_nodes++];
        *n = (struct snapshot_node){.name = nc->m.name, .claim = nc};
        n->pool = pool_named(b, nc->pool);
        bool launched = nc->provider_id != NULL && nc->provider_id[0] != '\0';
        uint32_t at = launched ? *provider_slot(b, nc->provider_id) : 0;
        if (at > 0 && !b->joined[at - 1]) {
            b->joined[at - 1] = true;
            n->node = in->nodes[at - 1];
            n->name = n->node->m.name;
            n->usage = in->usage ? in->usage[at - 1] : NULL;
        }
    }
}

static void add_unclaimed(struct builder *b)
{
    const struct snapshot_in *in = b->in;
    for (uint32_t i = 0; i < in->n_nodes; i++) {
        if (b->joined[i]) {
            continue;
        }
        const struct node *node = in->nodes[i];
        sym pool = labels_get(&node->m.labels, L_NODEPOOL);
        struct snapshot_node *n = &b->nodes[b->n_nodes++];
        *n = (struct snapshot_node){.name = node->m.name,
                                    .node = node,
                                    .pool = pool ? pool_named(b, sym_str(in->syms, pool)) : NULL,
                                    .usage = in->usage ? in->usage[i] : NULL};
    }
}

static const char *name_text(const void *nodes, uint32_t i)
{
    return ((const struct snapshot_node *)nodes)[i].name;
}

static uint32_t *name_slot(const struct snapshot *s, const char *name)
{
    return slot_of(s->by_name, s->name_slots, name_text, s->nodes, name);
}

static void index_names(struct arena *a, struct snapshot *s)
{
    s->by_name = slots_for(a, s->n_nodes, &s->name_slots);
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        uint32_t *slot = name_slot(s, s->nodes[i].name);
        *slot = *slot != 0 ? *slot : i + 1;
    }
}

static void build_nodes(struct builder *b)
{
    uint32_t max = b->in->n_nodes + b->in->n_claims;
    b->nodes = ARENA_NEW_N(b->a, struct snapshot_node, max);
    b->joined = ARENA_NEW_N(b->a, bool, b->in->n_nodes);
    index_nodes(b);
    add_claims(b);
    add_unclaimed(b);
    for (uint32_t i = 0; i < b->n_nodes; i++) {
        join(b, &b->nodes[i]);
        count_in_pool(b, &b->nodes[i]);
        b->out->n_initialized += b->nodes[i].initialized;
    }
    sort_items(b->nodes, b->n_nodes, sizeof(*b->nodes), cmp_node);
    b->out->nodes = b->nodes;
    b->out->n_nodes = b->n_nodes;
    index_names(b->a, b->out);
}

const struct snapshot_node *snapshot_named(const struct snapshot *s, const char *name)
{
    uint32_t at = *name_slot(s, name);
    return at != 0 ? &s->nodes[at - 1] : NULL;
}

/* ---- volumes and namespaces ------------------------------------------------------------------ */

/* Every object begins with its arena and its meta. */
struct named {
    struct arena mem;
    struct meta m;
};

static int cmp_named(const void *x, const void *y)
{
    const struct named *a = *(const struct named *const *)x, *b = *(const struct named *const *)y;
    int c = str_cmp(a->m.ns, b->m.ns);
    return c != 0 ? c : str_cmp(a->m.name, b->m.name);
}

static const void *named(const void *items, uint32_t n, const char *ns, const char *name)
{
    const struct named *const *v = items;
    uint32_t lo = 0, hi = n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        int c = str_cmp(v[mid]->m.ns, ns);
        c = c != 0 ? c : str_cmp(v[mid]->m.name, name);
        if (c == 0) {
            return v[mid];
        }
        if (c < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return NULL;
}

static void build_volumes(struct builder *b)
{
    const struct snapshot_in *in = b->in;
    struct snapshot *out = b->out;
    out->namespaces = sorted(b->a, in->namespaces, in->n_namespaces, cmp_named);
    out->n_namespaces = in->n_namespaces;
    out->services = sorted(b->a, in->services, in->n_services, cmp_named);
    out->n_services = in->n_services;
    out->pvcs = sorted(b->a, in->pvcs, in->n_pvcs, cmp_named);
    out->n_pvcs = in->n_pvcs;
    out->pvs = sorted(b->a, in->pvs, in->n_pvs, cmp_named);
    out->n_pvs = in->n_pvs;
    out->storage_classes = sorted(b->a, in->storage_classes, in->n_storage_classes, cmp_named);
    out->n_storage_classes = in->n_storage_classes;
    out->csi_nodes = sorted(b->a, in->csi_nodes, in->n_csi_nodes, cmp_named);
    out->n_csi_nodes = in->n_csi_nodes;
    out->pdbs = sorted(b->a, in->pdbs, in->n_pdbs, cmp_named);
    out->n_pdbs = in->n_pdbs;
    out->pdbs_unknown = in->pdbs_unknown;
}

const struct pvc *snapshot_pvc(const struct snapshot *s, const char *ns, const char *name)
{
    return named(s->pvcs, s->n_pvcs, ns, name);
}

const struct pv *snapshot_pv(const struct snapshot *s, const char *name)
{
    return named(s->pvs, s->n_pvs, "", name);
}

const struct storage_class *snapshot_storage_class(const struct snapshot *s, const char *name)
{
    return named(s->storage_classes, s->n_storage_classes, "", name);
}

const struct csi_node *snapshot_csi_node(const struct snapshot *s, const char *name)
{
    return named(s->csi_nodes, s->n_csi_nodes, "", name);
}

/* ---- the whole ------------------------------------------------------------------------------- */

struct snapshot_work *snapshot_begin(struct arena *a, const struct snapshot_in *in,
                                     struct snapshot *ret)
{
    struct builder b = {.a = a, .in = in, .out = ret};
    *ret = (struct snapshot){.now_ns = in->now_ns,
                             .syms = in->syms,
                             .ineffective = in->ineffective,
                             .n_ineffective = in->n_ineffective};
    ret->daemonsets = daemonset_live(a, in);
    ret->n_daemonsets = in->n_daemonsets;
    build_pools(&b);
    ret->pools = b.pools;
    ret->n_pools = in->n_pools;
    build_nodes(&b);
    build_volumes(&b);
    return snapshot_pods_begin(a, in, ret);
}

void snapshot_build(struct arena *a, const struct snapshot_in *in, struct snapshot *ret)
{
    struct snapshot_work *w = snapshot_begin(a, in, ret);
    while (!snapshot_step(w)) {
    }
}

const struct snapshot_node *snapshot_find(const struct snapshot *s, const char *name)
{
    const struct snapshot_node *n = snapshot_named(s, name);
    for (uint32_t i = 0; n == NULL && i < s->n_nodes; i++) {
        if (s->nodes[i].claim != NULL && str_eq(s->nodes[i].claim->m.name, name)) {
            n = &s->nodes[i];
        }
    }
    return n;
}

const struct snapshot_pool *snapshot_pool_find(const struct snapshot *s, const char *name)
{
    for (uint32_t i = 0; i < s->n_pools; i++) {
        if (str_eq(s->pools[i].np->m.name, name)) {
            return &s->pools[i];
        }
    }
    return NULL;
}
