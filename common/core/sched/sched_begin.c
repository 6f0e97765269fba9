/* sched_begin.c - what a pass begins with: options, pools, nodes, queue; see sched.h. */
#include "common/base/str.h"
#include "sched_int.h"

void sched_options_default(struct sched_options *o)
{
    *o = (struct sched_options){.placement = PLACEMENT_COMPATIBLE,
                                .preference = PREFERENCE_RESPECT,
                                .min_values = MIN_VALUES_STRICT,
                                .max_types = 600,
                                .record_reasons = true};
}

static bool has_prefer_taint(const struct taints *t)
{
    for (uint32_t i = 0; i < t->n; i++) {
        if (t->v[i].effect == EFFECT_PREFER_NO_SCHEDULE) {
            return true;
        }
    }
    return false;
}

static void begin_nodes(struct sched *s)
{
    s->nodes = ARENA_NEW_N(s->a, struct sched_node, s->snap->n_nodes);
    s->host_of = ARENA_NEW_N(s->a, uint32_t, s->snap->n_nodes);
    for (uint32_t i = 0; i < s->snap->n_nodes; i++) {
        const struct snapshot_node *n = &s->snap->nodes[i];
        s->host_of[i] = n->target ? s->n_nodes : SCHED_NO_CLAIM;
        if (!n->target) {
            continue;
        }
        struct host_port *ports = arena_memdup(s->a, n->ports, n->n_ports * sizeof(*ports));
        s->nodes[s->n_nodes++] = (struct sched_node){.in = n,
                                                     .host = s->host_of[i],
                                                     .free = n->free,
                                                     .ports = ports,
                                                     .n_ports = n->n_ports,
                                                     .ports_cap = n->n_ports};
        s->any_prefer_taint = s->any_prefer_taint || has_prefer_taint(&n->taints);
    }
}

/* "25%" as parts of ten thousand; the option where the pool does not say, or says nonsense. */
static uint32_t max_share(const struct sched *s, const struct nodepool *np)
{
    uint32_t share;
    const char *text = kvs_get(&np->m.annotations, ANN_MAX_SHARE);
    return text != NULL && sched_parse_share(text, &share) ? share : s->opt.max_share_permyriad;
}

bool sched_parse_placement(const char *text, enum placement *ret)
{
    if (str_eq(text, "Compatible") || str_eq(text, "Cheapest")) {
        *ret = str_eq(text, "Cheapest") ? PLACEMENT_CHEAPEST : PLACEMENT_COMPATIBLE;
        return true;
    }
    return false;
}

const char *sched_placement_name(enum placement p)
{
    static const char *const names[] = {"Baseline", "Compatible", "Cheapest"};
    return names[p];
}

/* What the pool says; where that is nonsense it at least opens no more nodes for it. */
static enum placement placement_of(const struct sched *s, const struct nodepool *np)
{
    enum placement ret = s->opt.placement;
    const char *text = kvs_get(&np->m.annotations, ANN_PLACEMENT);
    if (text != NULL && !sched_parse_placement(text, &ret) && ret == PLACEMENT_CHEAPEST) {
        ret = PLACEMENT_COMPATIBLE;
    }
    return ret;
}

bool sched_parse_share(const char *text, uint32_t *ret_permyriad)
{
    uint64_t n = 0;
    const char *c = text;
    for (; *c >= '0' && *c <= '9' && n <= 100; c++) {
        n = n * 10 + (uint64_t)(*c - '0');
    }
    if (c == text || n < 1 || n > 100 || c[0] != '%' || c[1] != '\0') {
        return false;
    }
    *ret_permyriad = (uint32_t)n * 100;
    return true;
}

/* Where new nodes of the pools can come to be, if they have one catalog. */
static void begin_zones(struct sched *s)
{
    bool one = true;
    for (uint32_t i = 0; i < s->n_pools; i++) {
        const struct snapshot_pool *p = s->pools[i].in;
        if (p->catalog == NULL || p->offerings == NULL) {
            continue;
        }
        one = one && (s->catalog == NULL || s->catalog == p->catalog);
        s->catalog = p->catalog;
        for (uint32_t z = 0; z < catalog_n_zones(p->catalog); z++) {
            struct offer_mask mask = {UINT64_C(1) << z, (1u << CT_COUNT) - 1};
            bool offered = offerings_any(p->offerings, mask, s->pools[i].tm.types);
            s->zones |= (uint64_t)offered << z;
        }
    }
    s->catalog = one ? s->catalog : NULL;
}

static void begin_pools(struct sched *s)
{
    s->pools = ARENA_NEW_N(s->a, struct sched_pool, s->snap->n_pools);
    for (uint32_t i = 0; i < s->snap->n_pools; i++) {
        const struct snapshot_pool *in = &s->snap->pools[i];
        if (in->np->is_static) {
            continue;
        }
        struct sched_pool *p = &s->pools[s->n_pools++];
        p->in = in;
        p->in_use = in->in_use;
        p->nodes_in_use = in->nodes_in_use;
        p->xen = sym_find(s->syms, "xen");
        p->max_share_permyriad = max_share(s, in->np);
        p->placement = placement_of(s, in->np);
        p->usable = sched_pool_closed(in, NULL) == REASON_NONE;
        if (in->catalog != NULL) {
            template_build(s->a, s->syms, in->np, in->catalog, s->snap->daemonsets,
                           s->snap->n_daemonsets, &p->tm);
        }
        s->any_prefer_taint = s->any_prefer_taint || has_prefer_taint(&in->np->taints);
    }
}

/* Which of our pools a node belongs to. */
static void begin_homes(struct sched *s)
{
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        for (uint32_t p = 0; p < s->n_pools && s->nodes[i].in->pool != NULL; p++) {
            if (s->pools[p].in == s->nodes[i].in->pool) {
                s->nodes[i].pool = &s->pools[p];
            }
        }
    }
}

static void begin_queue(struct sched *s)
{
    uint32_t n = s->snap->n_pods;
    s->queue = ARENA_NEW_N(s->a, uint32_t, s->n_pods);
    s->again = ARENA_NEW_N(s->a, uint32_t, s->n_pods);
    for (uint32_t i = 0; i < n; i++) {
        s->queue[i] = i;
    }
    s->n_queue = n;
    s->pod = n > 0 ? s->queue[0] : 0;
}

static void begin_pods(struct sched *s, const struct pod *const *moving, uint32_t n)
{
    s->pods = s->snap->pods;
    s->n_pods = s->snap->n_pods + n;
    if (n > 0) {
        const struct pod **v = ARENA_NEW_N(s->a, const struct pod *, s->n_pods);
        if (s->snap->n_pods > 0) {
            memcpy(v, s->snap->pods, s->snap->n_pods * sizeof(*v));
        }
        memcpy(v + s->snap->n_pods, moving, n * sizeof(*v));
        s->pods = v;
    }
}

static struct sched *begin(struct arena *a, const struct snapshot *snap,
                           const struct sched_options *o, const struct pod *const *moving,
                           uint32_t n_moving)
{
    struct sched *s = ARENA_NEW(a, struct sched);
    s->a = s->keep = a;
    s->snap = snap;
    s->syms = snap->syms;
    s->opt = *o;
    begin_pods(s, moving, n_moving);
    begin_nodes(s);
    begin_pools(s);
    begin_zones(s);
    begin_homes(s);
    sched_reserve_begin(s);
    sched_topo_begin(s);
    sched_volume_begin(s);
    sched_classes_begin(s);
    begin_queue(s);
    s->existing = ARENA_NEW_N(a, struct sched_placement, s->n_pods);
    s->existing_taken = ARENA_NEW_N(a, struct sched_taken, s->n_pods);
    return s;
}

void sched_begin_step(struct sched *s)
{
    bool done = s->stage == STAGE_RULES ? sched_topo_rules(s, SCHED_PODS_PER_UNIT)
                                        : sched_classes_step(s, SCHED_PODS_PER_UNIT);
    if (done) {
        s->stage++;
    }
}

struct sched *sched_begin(struct arena *a, const struct snapshot *snap,
                          const struct sched_options *o)
{
    return begin(a, snap, o, NULL, 0);
}

struct sched *sched_begin_moving(struct arena *a, const struct snapshot *snap,
                                 const struct sched_options *o, const struct pod *const *moving,
                                 uint32_t n_moving)
{
    struct sched *s = begin(a, snap, o, moving, n_moving);
    while (s->stage == STAGE_RULES || s->stage == STAGE_CLASSES) {
        sched_begin_step(s);
    }
    return s;
}
