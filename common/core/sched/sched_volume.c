/*
 * sched_volume.c - volumes in the pass: equal needs are one class, and limits of CSI drivers hold.
 *
 * The limit of a node is what its CSINode says. A node that does not exist yet, or is so young that
 * it has no CSINode, has that of a node of its type in the cluster, else the least that the driver
 * reports anywhere, else, for EBS, what the in-tree scheduler assumed (25 on Nitro, 39 on Xen); a
 * driver that nobody has heard of has none. (Karpenter does not look at limits of nodes that do not
 * exist.)
 */
#include "common/base/sort.h"
#include "common/base/str.h"
#include "common/core/labels.h"
#include "sched_int.h"

#define EBS_DRIVER "ebs.csi.aws.com"
#define EBS_NITRO 25
#define EBS_XEN 39
#define NO_LIMIT INT64_MAX

/* Limits of one driver on nodes that do not exist, per type of one pool. */
struct type_limits {
    const struct sched_pool *pool;
    const char *driver;
    int64_t *limit;
    struct type_limits *next;
};

struct volume_state {
    const char **refs; /* "ns/claim" of every pod that counts, sorted */
    uint32_t n_refs;
    struct volume_class **classes;
    const char **texts; /* parallel */
    uint32_t n, cap;
    uint32_t texts_cap;
    struct type_limits *limits;
};

/* ---- begin
 * --------------------------------------------------------------------------------------- */

static const char *ref_of(struct sched *s, const struct pod *p, uint32_t i)
{
    return arena_printf(s->a, "%s/%s", p->m.ns, p->volumes[i].claim);
}

static void add_refs(struct sched *s, const struct pod *p, uint32_t *cap)
{
    struct volume_state *v = s->volume;
    for (uint32_t i = 0; i < p->n_volumes; i++) {
        ARENA_GROW(s->a, v->refs, v->n_refs, *cap);
        v->refs[v->n_refs++] = ref_of(s, p, i);
    }
}

/* Is the claim that of one pod only? */
static bool alone(const struct volume_state *v, const char *ref)
{
    uint32_t lo = 0, hi = v->n_refs;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (str_cmp(v->refs[mid], ref) < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return !(lo + 1 < v->n_refs && str_eq(v->refs[lo + 1], ref));
}

static struct volume_class *class_of(struct sched *s, const struct pod *p)
{
    struct volume_class *k = ARENA_NEW(s->a, struct volume_class);
    uint32_t cap = 0, shared_cap = 0;
    volume_need(s->a, s->snap, p, &k->need);
    for (uint32_t i = 0; i < k->need.n_uses; i++) {
        const struct volume_use *u = &k->need.uses[i];
        if (!alone(s->volume, u->claim)) {
            ARENA_GROW(s->a, k->shared, k->n_shared, shared_cap);
            k->shared[k->n_shared++] = *u;
            continue;
        }
        uint32_t d = 0;
        while (d < k->n_alone && !str_eq(k->alone[d].driver, u->driver)) {
            d++;
        }
        if (d == k->n_alone) {
            ARENA_GROW(s->a, k->alone, k->n_alone, cap);
            k->alone[k->n_alone++] = (struct volume_count){u->driver, 0};
        }
        k->alone[d].n++;
    }
    return k;
}

static void load_nodes(struct sched *s)
{
    for (uint32_t i = 0; i < s->snap->n_bound; i++) {
        const struct snapshot_bound *b = &s->snap->bound[i];
        uint32_t host = s->host_of[b->node - s->snap->nodes];
        if (b->pod->n_volumes > 0 && host != SCHED_NO_CLAIM) {
            sched_volume_add(s, &s->nodes[host].volumes, class_of(s, b->pod));
        }
    }
}

void sched_volume_begin(struct sched *s)
{
    bool any = s->snap->volumes;
    uint32_t cap = 0;
    for (uint32_t i = s->snap->n_pods; i < s->n_pods && !any; i++) {
        any = s->pods[i]->n_volumes > 0;
    }
    if (!any) {
        return;
    }
    s->volume = ARENA_NEW(s->a, struct volume_state);
    for (uint32_t i = 0; i < s->snap->n_pods; i++) {
        add_refs(s, s->snap->pods[i], &cap);
    }
    for (uint32_t i = 0; i < s->snap->n_bound; i++) {
        add_refs(s, s->snap->bound[i].pod, &cap);
    }
    sort_items(s->volume->refs, s->volume->n_refs, sizeof(*s->volume->refs), str_qsort_cmp);
    load_nodes(s);
}

/* ---- classes
 * ------------------------------------------------------------------------------------- */

static const char *class_text(struct sched *s, const struct volume_class *k)
{
    struct buf b;
    buf_init(&b, 1 << 20);
    buf_printf(&b, "%d %s|", (int)k->need.problem, k->need.text ? k->need.text : "");
    for (uint32_t i = 0; i < k->need.n_alternatives; i++) {
        for (uint32_t r = 0; r < k->need.alternatives[i].n; r++) {
            req_fmt(s->syms, &k->need.alternatives[i].v[r], 0, &b);
            buf_putc(&b, ',');
        }
        buf_putc(&b, '|');
    }
    for (uint32_t i = 0; i < k->n_alone; i++) {
        buf_printf(&b, "%s %lld,", k->alone[i].driver, (long long)k->alone[i].n);
    }
    for (uint32_t i = 0; i < k->n_shared; i++) {
        buf_printf(&b, "%s=%s,", k->shared[i].driver, k->shared[i].id);
    }
    const char *ret = arena_strdup(s->a, b.p);
    buf_done(&b);
    return ret;
}

const struct volume_class *sched_volume_class(struct sched *s, const struct pod *p)
{
    struct volume_state *v = s->volume;
    if (v == NULL || p->n_volumes == 0) {
        return NULL;
    }
    struct volume_class *k = class_of(s, p);
    const char *text = class_text(s, k);
    for (uint32_t i = 0; i < v->n; i++) {
        if (str_eq(v->texts[i], text)) {
            return v->classes[i];
        }
    }
    ARENA_GROW(s->a, v->texts, v->n, v->texts_cap);
    ARENA_GROW(s->a, v->classes, v->n, v->cap);
    v->texts[v->n] = text;
    v->classes[v->n++] = k;
    return k;
}

/* ---- loads
 * --------------------------------------------------------------------------------------- */

static int64_t *load_at(struct sched *s, struct volume_load *l, const char *driver)
{
    for (uint32_t i = 0; i < l->n; i++) {
        if (str_eq(l->drivers[i].driver, driver)) {
            return &l->drivers[i].n;
        }
    }
    ARENA_GROW(s->a, l->drivers, l->n, l->cap);
    l->drivers[l->n] = (struct volume_count){driver, 0};
    return &l->drivers[l->n++].n;
}

static bool holds(const struct volume_load *l, const struct volume_use *u)
{
    for (uint32_t i = 0; i < l->n_shared; i++) {
        if (str_eq(l->shared[i].id, u->id) && str_eq(l->shared[i].driver, u->driver)) {
            return true;
        }
    }
    return false;
}

void sched_volume_add(struct sched *s, struct volume_load *load, const struct volume_class *v)
{
    for (uint32_t i = 0; v != NULL && i < v->n_alone; i++) {
        *load_at(s, load, v->alone[i].driver) += v->alone[i].n;
    }
    for (uint32_t i = 0; v != NULL && i < v->n_shared; i++) {
        if (!holds(load, &v->shared[i])) {
            ARENA_GROW(s->a, load->shared, load->n_shared, load->cap_shared);
            load->shared[load->n_shared++] = v->shared[i];
            ++*load_at(s, load, v->shared[i].driver);
        }
    }
}

/* How many volumes of the driver there would be with the class. */
static int64_t load_with(const struct volume_load *l, const struct volume_class *v,
                         const char *driver)
{
    int64_t n = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        n += str_eq(l->drivers[i].driver, driver) ? l->drivers[i].n : 0;
    }
    for (uint32_t i = 0; i < v->n_alone; i++) {
        n += str_eq(v->alone[i].driver, driver) ? v->alone[i].n : 0;
    }
    for (uint32_t i = 0; i < v->n_shared; i++) {
        n += str_eq(v->shared[i].driver, driver) && !holds(l, &v->shared[i]);
    }
    return n;
}

/* The i-th driver of the class; some may come twice. */
static const char *driver_of(const struct volume_class *v, uint32_t i)
{
    return i < v->n_alone                 ? v->alone[i].driver
           : i < v->n_alone + v->n_shared ? v->shared[i - v->n_alone].driver
                                          : NULL;
}

/* ---- limits
 * -------------------------------------------------------------------------------------- */

static int64_t csi_limit(const struct csi_node *n, const char *driver)
{
    for (uint32_t i = 0; n != NULL && i < n->n_drivers; i++) {
        if (str_eq(n->drivers[i].driver, driver)) {
            return n->drivers[i].count < 0 ? NO_LIMIT : n->drivers[i].count;
        }
    }
    return NO_LIMIT;
}

static int64_t default_limit(const struct sched_pool *p, const char *driver, uint32_t type)
{
    if (!str_eq(driver, EBS_DRIVER)) {
        return NO_LIMIT;
    }
    const struct req *r = catalog_label(p->tm.catalog, type, L_HYPERVISOR);
    bool xen = r != NULL && r->n == 1 && r->values[0] == p->xen;
    return xen ? EBS_XEN : EBS_NITRO;
}

static void learn_limits(struct sched *s, struct type_limits *l)
{
    const struct catalog *c = l->pool->tm.catalog;
    int64_t least = NO_LIMIT;
    for (uint32_t i = 0; i < catalog_n_types(c); i++) {
        l->limit[i] = NO_LIMIT;
    }
    for (uint32_t i = 0; i < s->snap->n_nodes; i++) {
        const struct snapshot_node *n = &s->snap->nodes[i];
        const struct csi_node *csi = n->node ? snapshot_csi_node(s->snap, n->node->m.name) : NULL;
        int64_t limit = csi_limit(csi, l->driver);
        const struct req *r = reqset_get(&n->labels, L_INSTANCE_TYPE);
        int type = r != NULL && r->n == 1 ? catalog_find_type(c, r->values[0]) : -1;
        least = limit < least ? limit : least;
        if (type >= 0 && limit < l->limit[type]) {
            l->limit[type] = limit;
        }
    }
    for (uint32_t i = 0; i < catalog_n_types(c); i++) {
        if (l->limit[i] == NO_LIMIT) {
            l->limit[i] = least != NO_LIMIT ? least : default_limit(l->pool, l->driver, i);
        }
    }
}

static const int64_t *known_limits(const struct sched *s, const struct sched_pool *p,
                                   const char *driver)
{
    for (struct type_limits *l = s->volume->limits; l != NULL; l = l->next) {
        if (l->pool == p && str_eq(l->driver, driver)) {
            return l->limit;
        }
    }
    return NULL;
}

static const int64_t *limits_of(struct sched *s, const struct sched_pool *p, const char *driver)
{
    const int64_t *known = known_limits(s, p, driver);
    if (known != NULL) {
        return known;
    }
    struct type_limits *l = ARENA_NEW(s->keep, struct type_limits);
    *l = (struct type_limits){p, driver, NULL, s->volume->limits};
    l->limit = ARENA_NEW_N(s->keep, int64_t, catalog_n_types(p->tm.catalog));
    learn_limits(s, l);
    s->volume->limits = l;
    return l->limit;
}

void sched_volume_learn(struct sched *s, const struct volume_class *v)
{
    const char *driver;
    for (uint32_t p = 0; v != NULL && p < s->n_pools; p++) {
        for (uint32_t i = 0; s->pools[p].in->catalog && (driver = driver_of(v, i)); i++) {
            (void)limits_of(s, &s->pools[p], driver);
        }
    }
}

/* The least among the types that it may be. */
static int64_t young_limit(const struct sched *s, const struct sched_node *n, const char *driver)
{
    const int64_t *limits = n->pool ? known_limits(s, n->pool, driver) : NULL;
    const struct req *r = reqset_get(&n->in->labels, L_INSTANCE_TYPE);
    int64_t least = NO_LIMIT;
    for (uint32_t i = 0; limits != NULL && r != NULL && !r->complement && i < r->n; i++) {
        int type = catalog_find_type(n->pool->tm.catalog, r->values[i]);
        least = type >= 0 && limits[type] < least ? limits[type] : least;
    }
    return least;
}

const char *sched_volume_over_node(const struct sched *s, const struct sched_node *n,
                                   const struct volume_class *v, int64_t *ret_n, int64_t *ret_limit)
{
    const struct csi_node *csi =
        v != NULL && n->in->node ? snapshot_csi_node(s->snap, n->in->node->m.name) : NULL;
    const char *driver;
    bool young = csi == NULL && !n->in->initialized;
    for (uint32_t i = 0; v != NULL && (driver = driver_of(v, i)) != NULL; i++) {
        *ret_limit = young ? young_limit(s, n, driver) : csi_limit(csi, driver);
        *ret_n = load_with(&n->volumes, v, driver);
        if (*ret_n > *ret_limit) {
            return driver;
        }
    }
    return NULL;
}

void sched_volume_narrow(struct sched *s, const struct sched_open *c, const struct volume_class *v,
                         uint64_t *types, const char **ret_driver)
{
    const char *driver;
    uint32_t words = catalog_words(c->pool->tm.catalog);
    for (uint32_t i = 0; v != NULL && (driver = driver_of(v, i)) != NULL; i++) {
        const int64_t *limit = limits_of(s, c->pool, driver);
        int64_t n = load_with(&c->volumes, v, driver);
        for (int t = bits_next(types, words, 0); t >= 0;
             t = bits_next(types, words, (uint32_t)t + 1)) {
            if (n > limit[t]) {
                bits_clear(types, (uint32_t)t);
            }
        }
        if (!bits_any(types, words)) {
            if (ret_driver != NULL) {
                *ret_driver = driver;
            }
            return;
        }
    }
}
