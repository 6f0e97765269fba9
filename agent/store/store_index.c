/* store_index.c - what the store derives from its objects; see store.h and store_internal.h. */
#include "common/base/alloc.h"
#include "common/base/str.h"
#include "common/core/resources.h"
#include "store_internal.h"

/* ---- buckets ----------------------------------------------------------------------------------
 */

static void bucket_add(struct map *m, const char *key, const void *object)
{
    if (!key || !*key) {
        return;
    }
    struct bucket *b = map_get(m, key);
    if (!b) {
        bool full = false;
        b = NEW(struct bucket);
        map_put(m, key, b, &full);
        if (full) {
            free(b);
            return;
        }
    }
    ARRAY_GROW(b->v, b->n, b->cap);
    b->v[b->n++] = object;
}

static void bucket_remove(struct map *m, const char *key, const void *object)
{
    struct bucket *b = key && *key ? map_get(m, key) : NULL;
    for (uint32_t i = 0; b && i < b->n; i++) {
        if (b->v[i] == object) {
            memmove(&b->v[i], &b->v[i + 1], (b->n - i - 1) * sizeof(*b->v));
            b->n--;
            break;
        }
    }
    if (b && b->n == 0) {
        map_del(m, key);
        free(b->v);
        free(b);
    }
}

static void buckets_free(struct map *m)
{
    for (MAP_EACH(m, e)) {
        struct bucket *b = map_value(e);
        free(b->v);
        free(b);
    }
    map_free(m);
}

/* ---- usage ------------------------------------------------------------------------------------
 */

void store_usage_free(struct usage_box *box)
{
    if (box) {
        arena_done(&box->mem);
        free(box);
    }
}

static struct usage_box *usage_new(void)
{
    struct usage_box *box = NEW(struct usage_box);
    arena_init(&box->mem, 256, STORE_USAGE_BYTES);
    box->dirty = true;
    return box;
}

static void usage_count(struct usage_box *box, const struct pod *p, int64_t now_ns)
{
    struct node_usage *u = &box->usage;
    bool daemon = p->owner == POWNER_DAEMONSET;
    u->requested = resources_add(&box->mem, &u->requested, &p->cls->requests, 1);
    if (daemon) {
        u->daemon_requested = resources_add(&box->mem, &u->daemon_requested, &p->cls->requests, 1);
    }
    u->pods += !daemon && p->owner != POWNER_NODE;
    u->reschedulable += pod_reschedulable(p);
    u->do_not_disrupt += pod_active(p) && pod_do_not_disrupt(p, now_ns);
    u->waiting_evict += p->m.deleted_ns != 0;
    u->n_host_ports += p->cls->n_host_ports;
}

static void usage_ports(struct usage_box *box, const struct map *pods)
{
    struct node_usage *u = &box->usage;
    if (u->n_host_ports == 0) {
        return;
    }
    struct host_port *ports = ARENA_NEW_N(&box->mem, struct host_port, u->n_host_ports);
    uint32_t n = 0;
    for (MAP_EACH(pods, e)) {
        const struct pod *p = map_value(e);
        for (uint32_t i = 0; !pod_terminal(p) && i < p->cls->n_host_ports; i++) {
            ports[n] = p->cls->host_ports[i];
            ports[n].ip = arena_strdup(&box->mem, ports[n].ip);
            n++;
        }
    }
    u->host_ports = ports;
}

static void usage_compute(struct usage_box *box, const char *node_name, const struct map *pods,
                          int64_t wall_ns, int64_t mono_ns)
{
    arena_reset(&box->mem);
    box->usage = (struct node_usage){.node_name = arena_strdup(&box->mem, node_name)};
    for (MAP_EACH(pods, e)) {
        const struct pod *p = map_value(e);
        if (!pod_terminal(p)) {
            usage_count(box, p, wall_ns);
        }
    }
    usage_ports(box, pods);
    box->computed_ns = mono_ns;
    box->dirty = false;
}

const struct node_usage *store_usage(const struct store *s, const char *node_name)
{
    struct node_pods *np = map_get(s->pods_by_node, node_name);
    if (!np) {
        return NULL;
    }
    int64_t now_ns = clock_mono(s->rt->clock);
    bool old =
        np->box->usage.do_not_disrupt > 0 && now_ns - np->box->computed_ns > STORE_USAGE_AGE_NS;
    /* What a decision holds must not change under it: then the numbers wait for the thaw, or are
     * new ones if pods came or went (index_unuse). */
    if (np->box->dirty || (old && !s->frozen)) {
        usage_compute(np->box, node_name, np->pods, clock_wall(s->rt->clock), now_ns);
    }
    return &np->box->usage;
}

static void usage_dirty(struct store *s, struct node_pods *np)
{
    if (s->frozen && !np->box->dirty) {
        store_retire(s, STORE_KINDS, np->box);
        np->box = usage_new();
    }
    np->box->dirty = true;
}

/* ---- pods -------------------------------------------------------------------------------------
 */

static void pod_enter(struct store *s, const char *key, const struct pod *p)
{
    if (*p->node_name) {
        struct node_pods *np = map_get(s->pods_by_node, p->node_name);
        if (!np) {
            np = NEW(struct node_pods);
            np->pods = map_new(STORE_MAX_PODS);
            np->box = usage_new();
            map_put(s->pods_by_node, p->node_name, np, NULL);
        }
        s->n_bound += !map_has(np->pods, key);
        map_put(np->pods, key, (void *)(uintptr_t)p, NULL);
        usage_dirty(s, np);
    }
    if (pod_provisionable(p)) {
        map_put(s->provisionable, key, (void *)(uintptr_t)p, NULL);
    }
}

static void pod_leave(struct store *s, const char *key, const struct pod *p)
{
    map_del(s->provisionable, key);
    struct node_pods *np = *p->node_name ? map_get(s->pods_by_node, p->node_name) : NULL;
    if (!np) {
        return;
    }
    s->n_bound -= map_del(np->pods, key) != NULL;
    usage_dirty(s, np);
    if (map_count(np->pods) == 0) {
        map_del(s->pods_by_node, p->node_name);
        map_free(np->pods);
        store_retire(s, STORE_KINDS, np->box);
        free(np);
    }
}

const struct map *store_pods_on(const struct store *s, const char *node_name)
{
    const struct node_pods *np = map_get(s->pods_by_node, node_name);
    return np ? np->pods : NULL;
}

const struct map *store_provisionable(const struct store *s)
{
    return s->provisionable;
}

/* ---- all --------------------------------------------------------------------------------------
 */

void store_index(struct store *s, enum store_kind kind, const char *key, const void *before,
                 const void *now)
{
    const struct nodeclaim *nc;
    if (kind == STORE_POD) {
        if (before) {
            pod_leave(s, key, before);
        }
        if (now) {
            pod_enter(s, key, now);
        }
    } else if (kind == STORE_NODE) {
        if (before) {
            bucket_remove(s->nodes_by_pid, ((const struct node *)before)->provider_id, before);
        }
        if (now) {
            bucket_add(s->nodes_by_pid, ((const struct node *)now)->provider_id, now);
        }
    } else if (kind == STORE_CLAIM) {
        if ((nc = before)) {
            bucket_remove(s->claims_by_pid, nc->provider_id, nc);
            bucket_remove(s->claims_by_uid, nc->m.uid, nc);
        }
        if ((nc = now)) {
            bucket_add(s->claims_by_pid, nc->provider_id, nc);
            bucket_add(s->claims_by_uid, nc->m.uid, nc);
        }
    } else if (kind == STORE_PDB) {
        if (before) {
            bucket_remove(s->pdbs_by_ns, ((const struct pdb *)before)->m.ns, before);
        }
        if (now) {
            bucket_add(s->pdbs_by_ns, ((const struct pdb *)now)->m.ns, now);
        }
    }
}

/* Nothing may go even when all are healthy. */
static bool never_allows(const struct pdb *b, const struct pod *p)
{
    bool current = !b->problem && b->has_status && b->observed_generation >= b->m.generation;
    return current && b->expected > 0 && b->desired >= b->expected &&
           !(b->always_allow && !p->ready);
}

bool store_held_for_ever(const struct store *s, const struct pod *p)
{
    const struct bucket *b = map_get(s->pdbs_by_ns, p->m.ns);
    uint32_t n = 0;
    bool never = false;
    for (uint32_t i = 0; b && i < b->n; i++) {
        const struct pdb *pdb = b->v[i];
        if (selector_matches(&pdb->sel, &p->labels)) {
            n++;
            never |= never_allows(pdb, p);
        }
    }
    return p->phase != POD_PENDING && (never || n > 1); /* the API refuses a pod under two */
}

static const void *bucket_first(const struct map *m, const char *key, uint32_t *ret_n)
{
    const struct bucket *b = key && *key ? map_get(m, key) : NULL;
    if (ret_n) {
        *ret_n = b ? b->n : 0;
    }
    return b ? b->v[0] : NULL;
}

const struct nodeclaim *store_claim_by_provider_id(const struct store *s, const char *id)
{
    return bucket_first(s->claims_by_pid, id, NULL);
}

const struct nodeclaim *store_claim_by_uid(const struct store *s, const char *uid)
{
    return bucket_first(s->claims_by_uid, uid, NULL);
}

const struct node *store_node_by_provider_id(const struct store *s, const char *id, uint32_t *ret_n)
{
    uint32_t n = 0;
    const struct node *node = bucket_first(s->nodes_by_pid, id, &n);
    if (ret_n) {
        *ret_n = n;
    }
    return n == 1 ? node : NULL;
}

void store_index_init(struct store *s)
{
    s->pods_by_node = map_new(STORE_MAX_PODS);
    s->provisionable = map_new(STORE_MAX_PODS);
    s->claims_by_pid = map_new(STORE_MAX_OBJECTS);
    s->claims_by_uid = map_new(STORE_MAX_OBJECTS);
    s->nodes_by_pid = map_new(STORE_MAX_OBJECTS);
    s->pdbs_by_ns = map_new(STORE_MAX_OBJECTS);
}

void store_index_done(struct store *s)
{
    for (MAP_EACH(s->pods_by_node, e)) {
        struct node_pods *np = map_value(e);
        map_free(np->pods);
        store_usage_free(np->box);
        free(np);
    }
    map_free(s->pods_by_node);
    map_free(s->provisionable);
    buckets_free(s->claims_by_pid);
    buckets_free(s->claims_by_uid);
    buckets_free(s->nodes_by_pid);
    buckets_free(s->pdbs_by_ns);
}
