/* gc.c - garbage collection; see gc.h. */
#include "gc.h"

#include "agent/cloud/cloud.h"
#include "agent/history/why.h"
#include "agent/store/store.h"
#include "agent/work/gate.h"
#include "claim.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/map.h"
#include "common/base/price.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/core/ec2/catalog.h"
#include "common/kube/list.h"

#define CLAIMS_MAX STORE_MAX_OBJECTS
#define INSTANCES_MAX 200000
#define HALTED "GarbageCollectionHalted"

/* An instance as the cloud listed it. */
struct listed {
    struct listed *same; /* the next one of the same claim */
    char *id, *claim_uid, *provider_id;
    int64_t launched_ns, price_pusd_h;
    bool going;   /* shutting down already */
    bool claimed; /* a claim has it, or may be about to */
    bool twin;    /* its claim has another instance */
};

/* A claim that seems to have lost its instance, from the first answer that says so. */
struct lost {
    struct gc *g;
    char *claim, *uid, *instance_id;
    int64_t first_ns; /* of the first by-id answer, 0 = none yet */
    bool asking;      /* EC2, or the API server to delete it */
};

struct gc {
    struct runtime *rt;
    struct timer timer;
    unsigned rounds;
    char *halted; /* why; NULL: it is not */
    struct kube_lister *lister;
    struct listed *v;
    uint32_t n;
    struct map *by_id, *by_claim;
    struct map *lost; /* by claim name */
};

static void round_begin(void *arg);

/* ---- rounds -------------------------------------------------------------------------------------
 */

static void forget_list(struct gc *g)
{
    for (uint32_t i = 0; i < g->n; i++) {
        free(g->v[i].id);
        free(g->v[i].claim_uid);
        free(g->v[i].provider_id);
    }
    free(g->v);
    g->v = NULL;
    g->n = 0;
    map_clear(g->by_id);
    map_clear(g->by_claim);
}

static void round_end(struct gc *g)
{
    kube_lister_free(g->lister);
    g->lister = NULL;
    forget_list(g);
    g->rounds++;
    int64_t pause_ns = g->rounds < GC_FAST_ROUNDS ? GC_FAST_NS : GC_SLOW_NS;
    timer_set(&g->rt->timers, &g->timer, clock_mono(g->rt->clock) + pause_ns, round_begin, g);
}

/* ---- orphans --------------------------------------------------------------------------------- */

static const struct node *node_of(const struct gc *g, const char *provider_id)
{
    return store_node_by_provider_id(g->rt->store, provider_id, NULL);
}

static bool is_orphan(const struct gc *g, const struct listed *i)
{
    int64_t age_ns = clock_wall(g->rt->clock) - i->launched_ns;
    const struct node *n = node_of(g, i->provider_id);
    if (i->claimed || i->going || age_ns <= (i->twin ? GC_TWIN_NS : GC_YOUNG_NS)) {
        return false;
    }
    return !(n && n->ready == STATUS_TRUE);
}

static void on_node_deleted(void *arg, const struct kube_resp *resp)
{
    struct gc *g = arg;
    if (resp->err.kind != ERR_NONE && resp->err.kind != ERR_NOT_FOUND) {
        log_error(g->rt->log, "cannot delete the node of an orphan", "error", resp->err.msg);
    }
}

static void on_terminated(void *arg, const struct err *err)
{
    struct gc *g = arg;
    if (err->kind != ERR_NONE && err->kind != ERR_NOT_FOUND) {
        log_error(g->rt->log, "cannot terminate an orphan", "error", err->msg);
    }
}

static void end_orphan(struct gc *g, const struct listed *i)
{
    const struct node *n = node_of(g, i->provider_id);
    log_info(g->rt->log, "garbage collecting an instance without NodeClaim", "instance", i->id);
    cloud_terminate(g->rt->cloud, i->id, on_terminated, g);
    if (n) {
        const struct kube_delete_opts o = {.uid = n->m.uid, .grace_s = -1};
        kube_delete(&g->rt->client, KIND_NODE, NULL, n->m.name, &o, on_node_deleted, g);
    }
}

static void put_names(const char **ids, uint32_t n, struct buf *out)
{
    qsort(ids, n, sizeof(*ids), str_qsort_cmp);
    for (uint32_t i = 0; i < n && i < GC_ORPHANS_NAMED; i++) {
        buf_printf(out, "%s%s", i ? ", " : "", ids[i]);
    }
    buf_puts(out, n > GC_ORPHANS_NAMED ? " and more" : "");
}

/* The same text as long as it is the same ones. */
static char *describe_orphans(const struct gc *g, uint32_t orphans)
{
    AUTO_BUF struct buf names;
    int64_t since_ns = NS_NEVER, sum = 0;
    char at[TIMEFMT_TEXT], usd[PRICE_TEXT];
    const char **ids = NEW_N(const char *, orphans);
    uint32_t n = 0;
    buf_init(&names, 1024);
    for (uint32_t i = 0; i < g->n && n < orphans; i++) {
        const struct listed *x = &g->v[i];
        if (is_orphan(g, x)) {
            since_ns = x->launched_ns < since_ns ? x->launched_ns : since_ns;
            price_add(&sum, x->price_pusd_h);
            ids[n++] = x->id;
        }
    }
    put_names(ids, n, &names);
    free(ids);
    return xasprintf(
        "%u of %u instances have no NodeClaim, the oldest since %s, $%s/h together: too "
        "many to be leftovers, so none is ended (%s)",
        n, g->n, timefmt_rfc3339(since_ns, at), price_text(sum, usd), names.p);
}

/* So many at once are no leftovers: more likely somebody's list is wrong. */
static bool too_many(struct gc *g, uint32_t orphans)
{
    uint32_t most = g->n * GC_ORPHANS_PERCENT / 100;
    bool halt = orphans > (most > 1 ? most : 1);
    if (halt && !g->halted) {
        log_error(g->rt->log, "garbage collection stops: too many instances without NodeClaim",
                  "orphans", log_n(orphans), "instances", log_n(g->n));
    }
    free(g->halted);
    g->halted = halt ? describe_orphans(g, orphans) : NULL;
    attention_set(g->rt, HALTED, halt);
    return halt;
}

static void collect_orphans(struct gc *g)
{
    uint32_t n = 0;
    if (runtime_clock_skewed(g->rt)) {
        return; /* ages mean nothing */
    }
    for (uint32_t i = 0; i < g->n; i++) {
        n += is_orphan(g, &g->v[i]);
    }
    if (too_many(g, n)) {
        return;
    }
    for (uint32_t i = 0; i < g->n; i++) {
        if (is_orphan(g, &g->v[i])) {
            end_orphan(g, &g->v[i]);
        }
    }
}

/* ---- claims without instance ----------------------------------------------------------------- */

static void lost_free(struct lost *x)
{
    free(x->claim);
    free(x->uid);
    free(x->instance_id);
    free(x);
}

static void lost_drop(struct lost *x)
{
    map_del(x->g->lost, x->claim);
    lost_free(x);
}

static bool node_ready(const struct gc *g, const struct nodeclaim *nc)
{
    const struct node *n = node_of(g, nc->provider_id);
    return n && n->ready == STATUS_TRUE;
}

static void on_claim_deleted(void *arg, const struct kube_resp *resp)
{
    struct lost *x = arg;
    const struct runtime *rt = x->g->rt;
    const struct nodeclaim *nc = store_claim(rt->store, x->claim);
    if (resp->err.kind == ERR_NONE && nc) {
        claim_count_disrupted(x->g->rt, nc, "garbage_collected");
    } else if (resp->err.kind != ERR_NONE && resp->err.kind != ERR_NOT_FOUND) {
        log_error(rt->log, "cannot delete a NodeClaim without instance", "NodeClaim", x->claim,
                  "error", resp->err.msg);
    }
    lost_drop(x);
}

/* Whatever the answer was: its end does not wait for what is said of it. */
static void on_said(void *arg, const struct kube_resp *resp)
{
    struct lost *x = arg;
    const struct kube_delete_opts o = {.uid = x->uid, .grace_s = -1};
    (void)resp;
    kube_delete(&x->g->rt->client, KIND_NODE_CLAIM, NULL, x->claim, &o, on_claim_deleted, x);
}

static void end_claim(struct lost *x, const struct nodeclaim *nc)
{
    struct gc *g = x->g;
    log_info(g->rt->log, "garbage collecting a NodeClaim whose instance is gone", "NodeClaim",
             nc->m.name, "provider-id", nc->provider_id);
    x->asking = true;
    AUTO_JSON json_t *patch = why_patch(g->rt, WHY_INSTANCE_GONE);
    kube_patch(&g->rt->client, KIND_NODE_CLAIM, NULL, nc->m.name, NULL, patch, NULL, on_said, x);
}

/* The claim that the proof is about, if it still is as it was. */
static const struct nodeclaim *still_lost(const struct lost *x)
{
    const struct nodeclaim *nc = store_claim(x->g->rt->store, x->claim);
    bool same = nc && str_eq(nc->m.uid, x->uid) && !nc->m.deleted_ns &&
                str_eq(cloud_instance_id(nc->provider_id), x->instance_id);
    return same && !node_ready(x->g, nc) ? nc : NULL;
}

static void on_looked(void *arg, const struct err *err, const struct instance *list, uint32_t n)
{
    struct lost *x = arg;
    struct gc *g = x->g;
    (void)list;
    x->asking = false;
    if (err->kind != ERR_NONE) {
        return; /* no answer, no proof: the next round asks again */
    }
    const struct nodeclaim *nc = still_lost(x);
    int64_t now_ns = clock_mono(g->rt->clock);
    if (n > 0 || !nc) {
        lost_drop(x);
    } else if (!x->first_ns) {
        x->first_ns = now_ns;
    } else if (now_ns - x->first_ns >= GC_PROOF_NS) {
        end_claim(x, nc);
    }
}

/* An instance in another region cannot be in the list. */
static bool of_this_region(const struct gc *g, const struct nodeclaim *nc)
{
    static const char scheme[] = "aws:///";
    return str_starts(nc->provider_id, scheme) &&
           str_starts(nc->provider_id + sizeof(scheme) - 1, g->rt->opt->region);
}

static bool seems_lost(const struct gc *g, const struct nodeclaim *nc)
{
    const char *id = cloud_instance_id(nc->provider_id);
    return id && store_ours(&nc->class_ref) && !nc->m.deleted_ns && claim_is(nc, "Registered") &&
           !map_has(g->by_id, id) && of_this_region(g, nc) && !node_ready(g, nc);
}

static struct lost *lost_of(struct gc *g, const struct nodeclaim *nc)
{
    struct lost *x = map_get(g->lost, nc->m.name);
    if (x) {
        return x;
    }
    x = NEW(struct lost);
    x->g = g;
    x->claim = xstrdup(nc->m.name);
    x->uid = xstrdup(nc->m.uid);
    x->instance_id = xstrdup(cloud_instance_id(nc->provider_id));
    bool full = false;
    map_put(g->lost, x->claim, x, &full);
    if (full) {
        lost_free(x);
        return NULL;
    }
    return x;
}

static void collect_claims(struct gc *g)
{
    for (MAP_EACH(g->lost, e)) {
        struct lost *x = map_value(e);
        if (!x->asking && (!still_lost(x) || map_has(g->by_id, x->instance_id))) {
            lost_drop(x);
        }
    }
    for (MAP_EACH(store_all(g->rt->store, STORE_CLAIM), e)) {
        const struct nodeclaim *nc = map_value(e);
        struct lost *x = seems_lost(g, nc) ? lost_of(g, nc) : NULL;
        if (x && !x->asking) {
            x->asking = true;
            cloud_get(g->rt->cloud, x->instance_id, on_looked, x);
        }
    }
}

/* ---- one round ------------------------------------------------------------------------------- */

static void list_begins(void *arg)
{
    struct gc *g = arg;
    for (uint32_t i = 0; i < g->n; i++) {
        g->v[i].claimed = g->v[i].twin = false;
    }
}

/* A claim without instance yet may be about to get the one that was tagged for it. */
static void list_claim(void *arg, json_t *object)
{
    struct gc *g = arg;
    const char *uid = jsonx_str_or(object, "metadata.uid", "");
    const char *id = cloud_instance_id(jsonx_str(object, "status.providerID"));
    struct listed *own = id ? map_get(g->by_id, id) : NULL;
    if (own) {
        own->claimed = true;
    }
    for (struct listed *i = *uid ? map_get(g->by_claim, uid) : NULL; i; i = i->same) {
        if (i != own) {
            i->twin = id != NULL;
            i->claimed = id == NULL;
        }
    }
}

static void list_ends(void *arg, const struct err *why, const char *resource_version)
{
    struct gc *g = arg;
    (void)resource_version;
    if (why->kind != ERR_NONE) {
        log_error(g->rt->log, "garbage collection cannot list NodeClaims", "error", why->msg);
    } else if (gate_open(g->rt->gate) && store_synced(g->rt->store)) {
        collect_orphans(g);
        collect_claims(g);
    }
    round_end(g);
}

static void on_instances(void *arg, const struct err *err, const struct instance *list, uint32_t n)
{
    struct gc *g = arg;
    if (err->kind != ERR_NONE) {
        log_error(g->rt->log, "garbage collection cannot list instances", "error", err->msg);
        round_end(g);
        return;
    }
    g->v = NEW_N(struct listed, n);
    for (uint32_t i = 0; i < n; i++) {
        g->v[i] = (struct listed){
            .id = xstrdup(list[i].id),
            .claim_uid = xstrdup(list[i].claim_uid),
            .provider_id = xasprintf("aws:///%s/%s", list[i].zone, list[i].id),
            .launched_ns = list[i].launched_ns,
            .price_pusd_h = cloud_price(g->rt->cloud, list[i].type, list[i].zone, list[i].ct),
            .going = str_eq(list[i].state, "shutting-down")};
    }
    g->n = n;
    for (uint32_t i = 0; i < n; i++) {
        map_put(g->by_id, g->v[i].id, &g->v[i], NULL);
        g->v[i].same = map_put(g->by_claim, g->v[i].claim_uid, &g->v[i], NULL);
    }
    static const struct kube_list_cb cb = {list_begins, list_claim, list_ends};
    const struct kube_list_opts all = {.ns = NULL};
    g->lister = kube_lister_new(&g->rt->client, KIND_NODE_CLAIM, &all, &cb, g);
}

static void round_begin(void *arg)
{
    struct gc *g = arg;
    struct runtime *rt = g->rt;
    if (!gate_open(rt->gate) || !rt->cluster_uid || !cloud_ready(rt->cloud) ||
        !store_synced(rt->store)) {
        timer_set(&rt->timers, &g->timer, clock_mono(rt->clock) + GC_FAST_NS, round_begin, g);
        return;
    }
    cloud_list(rt->cloud, on_instances, g);
}

/* ---- life ------------------------------------------------------------------------------------ */

struct gc *gc_new(struct runtime *rt)
{
    struct gc *g = NEW(struct gc);
    g->rt = rt;
    g->by_id = map_new(INSTANCES_MAX);
    g->by_claim = map_new(INSTANCES_MAX);
    g->lost = map_new(CLAIMS_MAX);
    rt->gc = g;
    return g;
}

void gc_free(struct gc *g)
{
    if (!g) {
        return;
    }
    timer_stop(&g->rt->timers, &g->timer);
    kube_lister_free(g->lister);
    forget_list(g);
    map_free(g->by_id);
    map_free(g->by_claim);
    for (MAP_EACH(g->lost, e)) {
        lost_free(map_value(e));
    }
    map_free(g->lost);
    free(g->halted);
    g->rt->gc = NULL;
    free(g);
}

void gc_start(struct gc *g)
{
    timer_set(&g->rt->timers, &g->timer, clock_mono(g->rt->clock) + GC_FAST_NS, round_begin, g);
}

const char *gc_halted(const struct gc *g)
{
    return g ? g->halted : NULL;
}
