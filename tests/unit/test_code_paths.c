/*
 * test_code_paths.c - the agent and the plugin come to the same plan (agent/store/store.h,
 * cmd/world.h).
 *
 * Random clusters as JSON, read once as the plugin reads lists and files, and once as the agent
 * does: some of it listed, the rest watched, with pods that come, change and go meanwhile. Each
 * reader has symbols and a catalog of its own. Plans have one digest, and every node that stays
 * does so for the same reason.
 */
#include "fakeagent.h"
#include "fixture.h"
#include "storepaths.h"

#include "agent/store/store.h"
#include "cmd/usage.h"
#include "cmd/world.h"
#include "common/core/disrupt/consolidate.h"

#define WORLDS 500
#define OBJECTS_MAX 1024
#define APPS 6 /* the first one's pods are a DaemonSet's */

enum rule { RULE_NONE, RULE_HOST_ANTI, RULE_ZONE_SPREAD, RULES };

struct app {
    int cpu, mem;
    enum rule rule;
    bool protects; /* under a budget that allows nothing */
};

static const struct shape {
    const char *type;
    int cpu, mem;
} shapes[] = {{"c.large", 1900, 3840},
              {"c.xlarge", 3900, 7680},
              {"c.2xlarge", 7900, 15360},
              {"r.xlarge", 3900, 30720},
              {"c.4xlarge", 15900, 30720}};

static const char *const zones[] = {"zone-a", "zone-b", "zone-c"};

struct cluster {
    struct app apps[APPS];
    uint64_t seed;
    json_t *objects[OBJECTS_MAX];
    uint32_t n, version;
};

/* ---- a cluster ------------------------------------------------------------------------------- */

static uint32_t rnd(struct cluster *c, uint32_t n)
{
    c->seed = c->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(c->seed >> 33) % n;
}

static void add(struct cluster *c, struct buf *text)
{
    json_error_t err;
    json_t *o = json_loads(text->p, 0, &err);
    ck_assert_msg(o != NULL, "%s: %s", err.text, text->p);
    ck_assert_uint_lt(c->n, OBJECTS_MAX);
    c->objects[c->n++] = o;
    buf_done(text);
}

/* "apiVersion", "kind" and all of "metadata" but its end. */
static void head(struct cluster *c, struct buf *b, const char *api, const char *kind,
                 const char *name)
{
    buf_init(b, 1 << 16);
    buf_printf(b,
               "{\"apiVersion\": \"%s\", \"kind\": \"%s\", \"metadata\": {\"name\": \"%s\", "
               "\"uid\": \"u-%s-%s\", \"resourceVersion\": \"%u\", \"creationTimestamp\": "
               "\"2026-01-0%uT08:00:00Z\"",
               api, kind, name, kind, name, ++c->version, 1 + rnd(c, 4));
}

static void add_pool(struct cluster *c, uint32_t i)
{
    static const char *const types[] = {"\"on-demand\"", "\"on-demand\", \"spot\""};
    char name[16];
    struct buf b;
    (void)snprintf(name, sizeof(name), "pool-%u", i);
    head(c, &b, "karpenter.sh/v1", "NodePool", name);
    buf_printf(&b,
               "}, \"spec\": {\"weight\": %u, \"template\": {\"spec\": {\"nodeClassRef\": "
               "{\"group\": \"karpenter.k8s.aws\", \"kind\": \"EC2NodeClass\", \"name\": "
               "\"default\"}, \"requirements\": [{\"key\": \"karpenter.sh/capacity-type\", "
               "\"operator\": \"In\", \"values\": [%s]}]}}, \"disruption\": {\"consolidateAfter\": "
               "\"%us\", \"consolidationPolicy\": \"%s\", \"budgets\": [{\"nodes\": \"%u%%\"}]}}, "
               "\"status\": {\"conditions\": [{\"type\": \"Ready\", \"status\": \"True\"}]}}",
               1 + rnd(c, 3), types[rnd(c, 2)], rnd(c, 2) * 300000,
               rnd(c, 5) ? "WhenEmptyOrUnderutilized" : "WhenEmpty", 20 + rnd(c, 80));
    add(c, &b);
}

static void put_labels(struct buf *b, const char *name, uint32_t pool, const char *type,
                       const char *zone, const char *ct)
{
    buf_printf(b,
               ", \"labels\": {\"karpenter.sh/nodepool\": \"pool-%u\", "
               "\"node.kubernetes.io/instance-type\": \"%s\", \"topology.kubernetes.io/zone\": "
               "\"%s\", \"karpenter.sh/capacity-type\": \"%s\", \"kubernetes.io/arch\": \"amd64\", "
               "\"kubernetes.io/os\": \"linux\", \"kubernetes.io/hostname\": \"%s\", "
               "\"karpenter.sh/registered\": \"true\", \"karpenter.sh/initialized\": \"true\"}",
               pool, type, zone, ct, name);
}

/* A claim and its node. */
static void add_node(struct cluster *c, const char *name, const struct shape *s, const char *zone)
{
    struct buf b;
    uint32_t pool = rnd(c, 2), day = 1 + rnd(c, 4);
    const char *ct = rnd(c, 3) ? "on-demand" : "spot";
    bool marked = rnd(c, 12) == 0;
    head(c, &b, "karpenter.sh/v1", "NodeClaim", name);
    put_labels(&b, name, pool, s->type, zone, ct);
    buf_printf(&b,
               "}, \"spec\": {\"nodeClassRef\": {\"group\": \"karpenter.k8s.aws\", \"kind\": "
               "\"EC2NodeClass\", \"name\": \"default\"}, \"requirements\": []}, \"status\": "
               "{\"providerID\": \"aws:///%s\", \"conditions\": [",
               name);
    static const char *const steps[] = {"Launched", "Registered", "Initialized"};
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        buf_printf(&b,
                   "%s{\"type\": \"%s\", \"status\": \"True\", \"lastTransitionTime\": "
                   "\"2026-01-0%uT09:00:00Z\"}",
                   i ? ", " : "", steps[i], day);
    }
    buf_puts(&b, "]}}");
    add(c, &b);
    head(c, &b, "v1", "Node", name);
    put_labels(&b, name, pool, s->type, zone, ct);
    buf_printf(&b,
               "%s}, \"spec\": {\"providerID\": \"aws:///%s\"%s}, \"status\": {\"capacity\": "
               "{\"cpu\": \"%dm\", \"memory\": \"%dMi\", \"pods\": \"58\"}, \"allocatable\": "
               "{\"cpu\": \"%dm\", \"memory\": \"%dMi\", \"pods\": \"58\"}, \"conditions\": "
               "[{\"type\": \"Ready\", \"status\": \"True\"}]}}",
               marked ? ", \"annotations\": {\"karpenter.sh/do-not-disrupt\": \"true\"}" : "", name,
               rnd(c, 10) ? "" : ", \"unschedulable\": true", s->cpu + 100, s->mem + 256, s->cpu,
               s->mem);
    add(c, &b);
}

static void put_affinity(struct cluster *c, struct buf *b, uint32_t app)
{
    if (c->apps[app].rule == RULE_HOST_ANTI) {
        buf_printf(b,
                   ", \"affinity\": {\"podAntiAffinity\": "
                   "{\"requiredDuringSchedulingIgnoredDuringExecution\": [{\"topologyKey\": "
                   "\"kubernetes.io/hostname\", \"labelSelector\": {\"matchLabels\": {\"app\": "
                   "\"a%u\"}}}]}}",
                   app);
    } else if (c->apps[app].rule == RULE_ZONE_SPREAD) {
        buf_printf(b,
                   ", \"topologySpreadConstraints\": [{\"maxSkew\": 1, \"topologyKey\": "
                   "\"topology.kubernetes.io/zone\", \"whenUnsatisfiable\": \"DoNotSchedule\", "
                   "\"labelSelector\": {\"matchLabels\": {\"app\": \"a%u\"}}}]",
                   app);
    }
}

/* On the node, or pending. */
static void add_pod(struct cluster *c, uint32_t number, uint32_t app, const char *node)
{
    const struct app *a = &c->apps[app];
    char name[16];
    struct buf b;
    (void)snprintf(name, sizeof(name), "p%u", number);
    head(c, &b, "v1", "Pod", name);
    buf_printf(&b,
               ", \"namespace\": \"default\", \"labels\": {\"app\": \"a%u\"}, \"ownerReferences\": "
               "[{\"apiVersion\": \"apps/v1\", \"kind\": \"%s\", \"name\": \"a%u\", \"uid\": "
               "\"u-a%u\", \"controller\": true}]}, \"spec\": {\"containers\": [{\"name\": \"c\", "
               "\"resources\": {\"requests\": {\"cpu\": \"%dm\", \"memory\": \"%dMi\"}}}]",
               app, app == 0 ? "DaemonSet" : "ReplicaSet", app, app, a->cpu, a->mem);
    put_affinity(c, &b, app);
    if (node != NULL) {
        buf_printf(&b,
                   ", \"nodeName\": \"%s\"}, \"status\": {\"phase\": \"%s\", \"startTime\": "
                   "\"2026-01-05T08:00:00Z\", \"conditions\": [{\"type\": \"PodScheduled\", "
                   "\"status\": \"True\"}, {\"type\": \"Ready\", \"status\": \"True\"}]}}",
                   node, rnd(c, 15) ? "Running" : "Succeeded");
    } else {
        buf_puts(&b, "}, \"status\": {\"phase\": \"Pending\", \"conditions\": [{\"type\": "
                     "\"PodScheduled\", \"status\": \"False\", \"reason\": \"Unschedulable\"}]}}");
    }
    add(c, &b);
}

static void add_pdb(struct cluster *c, uint32_t app)
{
    char name[16];
    struct buf b;
    (void)snprintf(name, sizeof(name), "b%u", app);
    head(c, &b, "policy/v1", "PodDisruptionBudget", name);
    buf_printf(
        &b,
        ", \"namespace\": \"default\", \"generation\": 1}, \"spec\": {\"maxUnavailable\": 0, "
        "\"selector\": {\"matchLabels\": {\"app\": \"a%u\"}}}, \"status\": "
        "{\"observedGeneration\": 1, \"disruptionsAllowed\": 0, \"currentHealthy\": 1, "
        "\"desiredHealthy\": 1, \"expectedPods\": 1}}",
        app);
    add(c, &b);
}

static void cluster_draw(struct cluster *c, uint64_t seed)
{
    uint32_t n, pods = 0;
    *c = (struct cluster){.seed = seed * 104729 + 3};
    for (uint32_t i = 0; i < APPS; i++) {
        c->apps[i] = (struct app){.cpu = 100 * (1 + (int)rnd(c, 18)),
                                  .mem = 128 * (1 + (int)rnd(c, 24)),
                                  .rule = (enum rule)rnd(c, RULES),
                                  .protects = rnd(c, 8) == 0};
    }
    add_pool(c, 0);
    add_pool(c, 1);
    n = 2 + rnd(c, 14);
    for (uint32_t i = 0; i < n; i++) {
        const struct shape *s = &shapes[rnd(c, ARRAY_LEN(shapes))];
        char name[16];
        int cpu = s->cpu, mem = s->mem;
        (void)snprintf(name, sizeof(name), "node-%02u", i);
        add_node(c, name, s, zones[rnd(c, 3)]);
        for (uint32_t k = 0, want = rnd(c, 9); k < want; k++) {
            uint32_t app = rnd(c, APPS);
            if (c->apps[app].cpu <= cpu && c->apps[app].mem <= mem) {
                cpu -= c->apps[app].cpu;
                mem -= c->apps[app].mem;
                add_pod(c, pods++, app, name);
            }
        }
    }
    for (uint32_t i = 0, want = rnd(c, 3); i < want; i++) {
        add_pod(c, pods++, 1 + rnd(c, APPS - 1), NULL);
    }
    for (uint32_t i = 0; i < APPS; i++) {
        if (c->apps[i].protects) {
            add_pdb(c, i);
        }
    }
}

static void cluster_done(struct cluster *c)
{
    for (uint32_t i = 0; i < c->n; i++) {
        json_decref(c->objects[i]);
    }
}

static void shuffle(struct cluster *c)
{
    for (uint32_t i = c->n; i > 1; i--) {
        uint32_t k = rnd(c, i);
        json_t *o = c->objects[k];
        c->objects[k] = c->objects[i - 1];
        c->objects[i - 1] = o;
    }
}

static const char *kind_of(const json_t *o)
{
    return json_string_value(json_object_get(o, "kind"));
}

/* ---- the plan -------------------------------------------------------------------------------- */

/* The fixture's types in a reader's symbols. */
static struct fix *catalog_in(struct symtab *syms, struct symtab **ret_own)
{
    struct fix *f = fix_new();
    *ret_own = f->syms;
    f->syms = syms;
    fix_use_types(f, fix_types, ARRAY_LEN(fix_types));
    return f;
}

static void catalog_out(struct fix *f, struct symtab *own)
{
    f->syms = own;
    fix_done(f);
}

/* Pools are parallel to si->pools. */
static char *plan(struct arena *a, struct fix *f, struct snapshot_in *si,
                  const struct nodepool *const *pools, uint32_t n)
{
    struct snapshot_pool_in *in = ARENA_NEW_N(a, struct snapshot_pool_in, n);
    for (uint32_t i = 0; i < n; i++) {
        in[i] = (struct snapshot_pool_in){.pool = pools[i],
                                          .catalog = f->catalog,
                                          .offerings = f->offerings,
                                          .max_new_nodes = -1};
    }
    si->pools = in;
    si->n_pools = n;
    struct snapshot snap;
    struct consolidate_options o;
    struct candidate_facts facts = {.prices_ns = si->now_ns};
    consolidate_options_default(&o);
    snapshot_build(a, si, &snap);
    struct consolidate *c = consolidate_begin(a, &snap, &facts, &o);
    while (!consolidate_step(c, UINT64_MAX)) {
    }
    const struct consolidate_result *r = consolidate_result(c);
    struct buf b;
    buf_init(&b, 1 << 20);
    buf_printf(&b, "%s %u steps", r->digest, r->n_steps);
    for (uint32_t i = 0; i < r->n_nodes; i++) {
        buf_printf(&b, ", %s %s", r->nodes[i].node->name, reason_name(r->nodes[i].reason.code));
    }
    char *ret = xstrdup(b.p);
    buf_done(&b);
    return ret;
}

/* ---- as the plugin --------------------------------------------------------------------------- */

static char *as_plugin(const struct cluster *c)
{
    struct world w;
    struct arena a;
    struct symtab *own;
    world_init(&w, "kube-system");
    arena_init(&a, 0, SIZE_MAX);
    for (uint32_t i = 0; i < c->n; i++) {
        (void)world_add(&w, c->objects[i], NULL, NULL);
    }
    world_finish(&w);
    w.now_ns = FAKE_WALL_NS;
    struct fix *f = catalog_in(w.syms, &own);
    uint32_t n_pods = (uint32_t)world_n(&w, KIND_POD);
    const struct pod *const *pods = (const struct pod *const *)w.lists[KIND_POD].v;
    struct snapshot_in si = {.now_ns = w.now_ns,
                             .syms = w.syms,
                             .nodes = (const struct node *const *)w.lists[KIND_NODE].v,
                             .usage = usage_build(&w, &a),
                             .n_nodes = (uint32_t)world_n(&w, KIND_NODE),
                             .claims = (const struct nodeclaim *const *)w.lists[KIND_NODE_CLAIM].v,
                             .n_claims = (uint32_t)world_n(&w, KIND_NODE_CLAIM),
                             .pods = pods,
                             .n_pods = n_pods,
                             .bound = pods,
                             .n_bound = n_pods,
                             .pdbs =
                                 (const struct pdb *const *)w.lists[KIND_POD_DISRUPTION_BUDGET].v,
                             .n_pdbs = (uint32_t)world_n(&w, KIND_POD_DISRUPTION_BUDGET)};
    char *ret = plan(&a, f, &si, (const struct nodepool *const *)w.lists[KIND_NODE_POOL].v,
                     (uint32_t)world_n(&w, KIND_NODE_POOL));
    catalog_out(f, own);
    arena_done(&a);
    world_done(&w);
    return ret;
}

/* ---- as the agent ---------------------------------------------------------------------------- */

/* Every third object is watched only. */
static bool late(const json_t *o, uint32_t i)
{
    return i % 3 == 0 && !str_eq(kind_of(o), "NodePool");
}

static void list_all(struct fake *f, const struct cluster *c)
{
    for (int kind = 0; kind < STORE_KINDS; kind++) {
        struct fake_call *call = fake_find(f, "GET", store_paths[kind]);
        json_t *items = json_array();
        for (uint32_t i = 0; i < c->n; i++) {
            if (str_eq(kind_of(c->objects[i]), store_kind_name((enum store_kind)kind)) &&
                !late(c->objects[i], i)) {
                (void)json_array_append(items, c->objects[i]);
            }
        }
        if (call == NULL) { /* not asked for */
            json_decref(items);
            continue;
        }
        fake_answer(
            call, 200, ERR_NONE,
            json_pack("{s:{s:s}, s:o}", "metadata", "resourceVersion", "5000", "items", items));
        fake_run(f, 0);
    }
}

static void watched(struct fake *f, enum kube_event_type type, const json_t *o, uint32_t version)
{
    char text[16];
    json_t *copy = json_deep_copy(o);
    (void)snprintf(text, sizeof(text), "%u", version);
    (void)json_object_set_new(json_object_get(copy, "metadata"), "resourceVersion",
                              json_string(text));
    for (int kind = 0; kind < STORE_KINDS; kind++) {
        if (str_eq(kind_of(o), store_kind_name((enum store_kind)kind))) {
            struct fake_call *call = fake_find(f, "WATCH", store_paths[kind]);
            ck_assert_ptr_nonnull(call);
            call->event(call->arg, type, copy);
        }
    }
    json_decref(copy);
}

/* The rest comes; some of it goes once more in between. */
static void watch_rest(struct fake *f, const struct cluster *c)
{
    uint32_t version = 5000;
    for (uint32_t i = 0; i < c->n; i++) {
        const json_t *o = c->objects[i];
        bool pod = str_eq(kind_of(o), "Pod");
        if (late(o, i)) {
            watched(f, KUBE_ADDED, o, ++version);
        } else if (pod && i % 5 == 1) {
            watched(f, KUBE_DELETED, o, ++version);
            watched(f, KUBE_ADDED, o, ++version);
        } else if (pod && i % 5 == 2) {
            watched(f, KUBE_MODIFIED, o, ++version);
        }
    }
}

static char *as_agent(const struct cluster *c)
{
    struct fake *f = fake_new();
    struct arena a;
    struct symtab *own;
    struct snapshot_in si;
    const struct nodepool *pools[2];
    uint32_t n = 0;
    struct store *s = store_new(&f->rt);
    f->rt.store = s;
    store_start(s);
    fake_run(f, 0);
    list_all(f, c);
    ck_assert(store_synced(s) && store_pdbs_known(s));
    f->wall_shift_ns = -f->now_ns;
    arena_init(&a, 0, SIZE_MAX);
    store_snapshot_in(s, &a, &si); /* a decision before, which leaves sums behind */
    watch_rest(f, c);
    struct fix *cat = catalog_in(f->rt.syms, &own);
    store_freeze(s);
    store_snapshot_in(s, &a, &si);
    for (MAP_EACH(store_all(s, STORE_POOL), e)) {
        ck_assert_uint_lt(n, ARRAY_LEN(pools));
        pools[n++] = map_value(e);
    }
    char *ret = plan(&a, cat, &si, pools, n);
    store_thaw(s);
    catalog_out(cat, own);
    arena_done(&a);
    store_free(s);
    fake_free(f);
    return ret;
}

/* ---- both ------------------------------------------------------------------------------------ */

START_TEST(test_same_plan)
{
    static struct cluster c;
    cluster_draw(&c, (uint64_t)_i);
    AUTO_FREE char *plugin = as_plugin(&c);
    shuffle(&c);
    AUTO_FREE char *agent = as_agent(&c);
    ck_assert_str_eq(agent, plugin);
    cluster_done(&c);
}
END_TEST

static const int worlds[WORLDS];

UNIT_MAIN("code_paths", UNIT_CASES(test_same_plan, worlds))
