/*
 * bench_cluster.c - karp-bench generate --nodes: a fleet with pods on it; see bench_generate.h.
 *
 * Nodes come in blocks. A block is of one pool and one type, and runs one set of workloads with a
 * replica of each on every node (more or fewer here and there), as fleets grow in practice.
 *   under   medium nodes, 10-40% used     over    large nodes, 5% used
 *   packed  nodes for computing, 90-98%   mixed   one of these per block
 */
#include "bench_generate.h"

#include "common/base/jsonx.h"
#include "common/base/quantity.h"
#include "common/base/str.h"
#include "common/core/labels.h"
#include "common/core/template.h"

#define BLOCK 50     /* nodes */
#define CHOICES 3    /* of the cheapest types that are large enough */
#define SLOTS 100000 /* workload numbers of a block */

enum shape { UNDER, OVER, PACKED, SHAPES };

static const char *const shapes[] = {"under", "over", "packed", "mixed"};

static const struct {
    int64_t cpu_milli, mem_gib, fill_from, fill_to; /* percent */
} looks[SHAPES] = {{4000, 16, 10, 40}, {16000, 64, 5, 5}, {8000, 16, 90, 98}};

struct block {
    enum shape shape;
    int64_t pool, number;
    uint32_t type, zones[CATALOG_MAX_ZONES], n_zones;
    int64_t cpu_milli, mem_mib; /* of a pod */
};

struct maker {
    struct generate *g;
    const struct bench_world *b;
    struct block *blocks;
    int64_t *counts; /* pods of each node */
};

bool generate_is_cluster(const char *shape)
{
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
        if (str_eq(shapes[i], shape)) {
            return true;
        }
    }
    return false;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static int64_t between(struct generate *g, int64_t from, int64_t to)
{
    return from + (int64_t)entropy_below(&g->chance, (uint64_t)(to - from + 1));
}

static enum shape shape_of(struct generate *g)
{
    for (int i = 0; i < SHAPES; i++) {
        if (str_eq(shapes[i], g->shape)) {
            return (enum shape)i;
        }
    }
    return (enum shape)entropy_below(&g->chance, SHAPES);
}

static const struct nodepool *pool_of(const struct bench_world *b, int64_t i)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "pool-%lld", (long long)i);
    for (size_t k = 0; k < world_n(&b->w, KIND_NODE_POOL); k++) {
        const struct nodepool *np = world_at(&b->w, KIND_NODE_POOL, k);
        if (str_eq(np->m.name, name)) {
            return np;
        }
    }
    BUG("pool %s was not made", name);
}

/* One of the cheapest types that the pool allows, are large enough and can hold the pods. */
static int choose_type(struct maker *m, struct block *blk, int64_t pods, struct err *reterr)
{
    const struct catalog *c = m->b->catalog;
    struct arena a;
    struct template tm;
    uint64_t bits[CATALOG_WORDS_MAX];
    uint32_t ranked[CHOICES];
    arena_init(&a, 0, SIZE_MAX);
    template_build(&a, m->b->w.syms, pool_of(m->b, blk->pool), c, NULL, 0, &tm);
    memcpy(bits, tm.types, catalog_words(c) * sizeof(*bits));
    arena_done(&a);
    /* What a kubelet takes for itself is left out: 10% less will do. */
    struct resources need = {
        .v = {[RES_CPU] = looks[blk->shape].cpu_milli * 9 / 10,
              [RES_MEMORY] = looks[blk->shape].mem_gib * (INT64_C(9) << 30) / 10,
              [RES_PODS] = pods}};
    catalog_narrow_fit(c, &need, bits);
    struct offer_mask mask = {.zones = UINT64_MAX, .cts = 1u << CT_ON_DEMAND};
    offerings_narrow(m->b->offerings, mask, bits);
    uint32_t n = offerings_rank(m->b->offerings, bits, mask, false, ranked, CHOICES);
    if (n == 0) {
        return err_set(reterr, ERR_INVALID,
                       "no type for nodes of shape %s with %lld pods in pool-%lld",
                       shapes[blk->shape], (long long)pods, (long long)blk->pool);
    }
    blk->type = ranked[entropy_below(&m->g->chance, n)];
    for (uint32_t z = 0; z < catalog_n_zones(c); z++) {
        if (offerings_available(m->b->offerings, blk->type, z, CT_ON_DEMAND)) {
            blk->zones[blk->n_zones++] = z;
        }
    }
    return 0;
}

static int make_block(struct maker *m, int64_t i, struct block *ret, struct err *reterr)
{
    struct generate *g = m->g;
    int64_t most = 1;
    for (int64_t n = i * BLOCK; n < g->nodes && n < (i + 1) * BLOCK; n++) {
        most = m->counts[n] > most ? m->counts[n] : most;
    }
    *ret = (struct block){.shape = shape_of(g), .pool = i % g->pools, .number = i};
    if (choose_type(m, ret, most, reterr)) {
        return -1;
    }
    const struct resources *r = catalog_allocatable(m->b->catalog, ret->type);
    int64_t fill = between(g, looks[ret->shape].fill_from, looks[ret->shape].fill_to);
    ret->cpu_milli = r->v[RES_CPU] * fill / 100 / most / 10 * 10;
    ret->mem_mib = (r->v[RES_MEMORY] >> 20) * fill / 100 / most / 16 * 16;
    ret->cpu_milli = ret->cpu_milli < 10 ? 10 : ret->cpu_milli;
    ret->mem_mib = ret->mem_mib < 16 ? 16 : ret->mem_mib;
    return 0;
}

/* As many pods in all as were asked for; neighbours differ. */
static void count_pods(struct maker *m)
{
    struct generate *g = m->g;
    for (int64_t i = 0; i < g->nodes; i++) {
        m->counts[i] = (i + 1) * g->pods / g->nodes - i * g->pods / g->nodes;
    }
    for (int64_t i = 0; i + 1 < g->nodes; i += 2) {
        int64_t most = m->counts[i] < m->counts[i + 1] ? m->counts[i] : m->counts[i + 1];
        int64_t shift = between(g, 0, most / 4);
        m->counts[i] -= shift;
        m->counts[i + 1] += shift;
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void resources_json(struct buf *b, const char *key, const struct resources *r)
{
    char cpu[QUANTITY_TEXT], mem[QUANTITY_TEXT], disk[QUANTITY_TEXT];
    buf_printf(b,
               "\"%s\":{\"cpu\":\"%s\",\"memory\":\"%s\",\"ephemeral-storage\":\"%s\","
               "\"pods\":\"%lld\"}",
               key, quantity_fmt_milli(r->v[RES_CPU], cpu),
               quantity_fmt_bytes(r->v[RES_MEMORY], mem),
               quantity_fmt_bytes(r->v[RES_EPHEMERAL_STORAGE], disk), (long long)r->v[RES_PODS]);
}

static void labels_json(const struct maker *m, const struct block *blk, int64_t node)
{
    const struct symtab *t = m->b->w.syms;
    struct arena a;
    arena_init(&a, 0, SIZE_MAX);
    struct reqset labels = catalog_labels(m->b->catalog, &a, blk->type);
    struct buf *b = &m->g->text;
    buf_printf(b,
               "\"labels\":{\"kubernetes.io/hostname\":\"node-%lld\",\"karpenter.sh/nodepool\":"
               "\"pool-%lld\",\"team\":\"team-%lld\",\"karpenter.sh/registered\":\"true\","
               "\"karpenter.sh/initialized\":\"true\",\"karpenter.sh/capacity-type\":\"on-demand\","
               "\"topology.kubernetes.io/zone\":\"%s\"",
               (long long)node, (long long)blk->pool, (long long)blk->pool,
               sym_str(t, catalog_zone(m->b->catalog, blk->zones[node % blk->n_zones])));
    for (uint32_t i = 0; i < labels.n; i++) {
        sym only = req_single(&labels.v[i]);
        const char *value = labels.v[i].key == L_OS ? "linux" : sym_str(t, only);
        if (only != SYM_NONE || labels.v[i].key == L_OS) {
            buf_printf(b, ",\"%s\":\"%s\"", sym_str(t, labels.v[i].key), value);
        }
    }
    arena_done(&a);
    buf_puts(b, "}");
}

/* An object of the node up to the end of its metadata. */
static void begin_json(struct maker *m, const struct block *blk, const char *what, int64_t node)
{
    generate_next(m->g);
    buf_printf(&m->g->text,
               "{\"metadata\":{\"name\":\"%s-%lld\",\"uid\":\"%s-%lld\","
               "\"creationTimestamp\":\"" GENERATE_TIME "\",",
               what, (long long)node, what, (long long)node);
    labels_json(m, blk, node);
    buf_puts(&m->g->text, "},");
}

static void room_json(struct maker *m, const struct block *blk)
{
    struct buf *b = &m->g->text;
    resources_json(b, "capacity", catalog_capacity(m->b->catalog, blk->type));
    buf_puts(b, ",");
    resources_json(b, "allocatable", catalog_allocatable(m->b->catalog, blk->type));
}

static void node_json(struct maker *m, const struct block *blk, int64_t node)
{
    struct buf *b = &m->g->text;
    begin_json(m, blk, "node", node);
    buf_printf(b, "\"spec\":{\"providerID\":\"bench:///node-%lld\"},\"status\":{", (long long)node);
    room_json(m, blk);
    buf_puts(b, ",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}");
    generate_flush(m->g);
}

static void claim_json(struct maker *m, const struct block *blk, int64_t node)
{
    static const char *const conditions[] = {"Launched", "Registered", "Initialized",
                                             "Consolidatable", "Ready"};
    struct buf *b = &m->g->text;
    begin_json(m, blk, "claim", node);
    buf_printf(b,
               "\"spec\":{\"requirements\":[],\"resources\":{},\"nodeClassRef\":" GENERATE_CLASS
               ",\"expireAfter\":\"Never\"},\"status\":{\"nodeName\":\"node-%lld\","
               "\"providerID\":\"bench:///node-%lld\",",
               (long long)node, (long long)node);
    room_json(m, blk);
    buf_puts(b, ",\"conditions\":[");
    generate_conditions(b, conditions, ARRAY_LEN(conditions));
    buf_puts(b, "]}}");
    generate_flush(m->g);
}

/* A workload's rule and wish are its number's, whichever node is at hand. */
static void pods_json(struct maker *m, const struct block *blk, int64_t node, int64_t *number)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "node-%lld", (long long)node);
    for (int64_t k = 0; k < m->counts[node]; k++) {
        int64_t pick = (blk->number * 7 + k) % 10;
        struct generate_pod p = {.number = (*number)++,
                                 .workload = blk->number * SLOTS + k,
                                 .cpu_milli = blk->cpu_milli,
                                 .mem_mib = blk->mem_mib,
                                 .rule = pick == 0   ? RULE_ANTI_HOST
                                         : pick == 1 ? RULE_SPREAD_HOST
                                                     : RULE_NONE,
                                 .team = m->g->pools > 1 && pick == 2 ? blk->pool : -1,
                                 .node = name};
        generate_next(m->g);
        generate_pod_json(m->g, &p);
        generate_flush(m->g);
    }
}

static void list(struct generate *g, const char *head)
{
    generate_text(g, head);
    g->first = true;
}

static void write_cluster(struct maker *m)
{
    struct generate *g = m->g;
    int64_t number = 0;
    list(g, "{\"nodePools\":[");
    for (int64_t i = 0; i < g->pools; i++) {
        generate_next(g);
        generate_pool_json(g, i, true);
        generate_flush(g);
    }
    list(g, "],\n\"nodeClaims\":[");
    for (int64_t i = 0; i < g->nodes; i++) {
        claim_json(m, &m->blocks[i / BLOCK], i);
    }
    list(g, "],\n\"nodes\":[");
    for (int64_t i = 0; i < g->nodes; i++) {
        node_json(m, &m->blocks[i / BLOCK], i);
    }
    list(g, "],\n\"pods\":[");
    for (int64_t i = 0; i < g->nodes; i++) {
        pods_json(m, &m->blocks[i / BLOCK], i, &number);
    }
    generate_text(g, "]}\n");
}

/* The pools, decoded, so that types are chosen as they allow. */
static int decode_pools(struct generate *g, struct bench_world *b, struct err *reterr)
{
    for (int64_t i = 0; i < g->pools; i++) {
        buf_reset(&g->text);
        generate_pool_json(g, i, true);
        AUTO_JSON json_t *o = jsonx_parse(g->text.p, g->text.n, "pool", reterr);
        if (!o || world_add(&b->w, o, NULL, NULL) != 1) {
            return o ? err_set(reterr, ERR_BUG, "a pool that was made cannot be read") : -1;
        }
    }
    world_finish(&b->w);
    return 0;
}

int generate_cluster(struct generate *g, struct bench_world *b, struct err *reterr)
{
    struct arena a;
    if (decode_pools(g, b, reterr)) {
        return -1;
    }
    arena_init(&a, 0, SIZE_MAX);
    int64_t n_blocks = (g->nodes + BLOCK - 1) / BLOCK;
    struct maker m = {.g = g,
                      .b = b,
                      .blocks = ARENA_NEW_N(&a, struct block, (size_t)n_blocks),
                      .counts = ARENA_NEW_N(&a, int64_t, (size_t)g->nodes)};
    int rc = 0;
    count_pods(&m);
    for (int64_t i = 0; i < n_blocks && rc == 0; i++) {
        rc = make_block(&m, i, &m.blocks[i], reterr);
    }
    if (rc == 0 && (rc = generate_open(g, "cluster.json.gz", reterr)) == 0) {
        write_cluster(&m);
        rc = generate_close(g, "cluster.json.gz", reterr);
    }
    arena_done(&a);
    return rc;
}
