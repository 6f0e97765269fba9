/* bench_input.c - see bench.h. */
#include "bench.h"

#include "cmd/read/input.h"
#include "cmd/read/prices.h"
#include "cmd/usage.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"

/* Decisions are made so long after the latest time stamp of the input. */
#define NOW_AFTER_NS (INT64_C(3600) * 1000000000)

bool bench_policy(const char *text, enum preference_policy *ret)
{
    static const char *const words[] = {"Respect", "Ignore", "Reasonable"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (str_eq(words[i], text)) {
            *ret = (enum preference_policy)i;
            return true;
        }
    }
    return false;
}

/* ---- objects --------------------------------------------------------------------------------- */

static size_t add_items(struct world *w, const json_t *items, const char *kind, const char *version)
{
    size_t i, n = 0;
    json_t *o;
    json_array_foreach ((json_t *)(uintptr_t)items, i, o) {
        n += world_add(w, o, kind, version);
    }
    return n;
}

static int read_objects(struct world *w, const char *path, const char *kind, const char *version,
                        struct err *reterr)
{
    AUTO_JSON json_t *doc = input_json(path, reterr);
    if (!doc) {
        return -1;
    }
    const json_t *items = jsonx_arr(doc, "items");
    size_t n = items ? add_items(w, items, kind, version) : world_add(w, doc, kind, version);
    return n > 0 ? 0 : err_set(reterr, ERR_INVALID, "%s: no %s", path, kind);
}

static int read_cluster(struct world *w, const char *path, struct err *reterr)
{
    AUTO_JSON json_t *doc = input_json(path, reterr);
    if (!doc) {
        return -1;
    }
    const json_t *pool = json_object_get(doc, "nodePool");
    size_t n = pool ? world_add(w, pool, "NodePool", "karpenter.sh/v1") : 0;
    n += add_items(w, jsonx_arr(doc, "nodePools"), "NodePool", "karpenter.sh/v1");
    size_t nodes = add_items(w, jsonx_arr(doc, "nodes"), "Node", "v1");
    (void)add_items(w, jsonx_arr(doc, "nodeClaims"), "NodeClaim", "karpenter.sh/v1");
    (void)add_items(w, jsonx_arr(doc, "pods"), "Pod", "v1");
    return n > 0 && nodes > 0 ? 0 : err_set(reterr, ERR_INVALID, "%s: no pool or no node", path);
}

static int read_all(const struct bench_input *in, struct world *w, struct err *reterr)
{
    if (in->cluster && read_cluster(w, in->cluster, reterr)) {
        return -1;
    }
    for (size_t i = 0; i < in->n_pools; i++) {
        if (read_objects(w, in->pools[i], "NodePool", "karpenter.sh/v1", reterr)) {
            return -1;
        }
    }
    for (size_t i = 0; i < in->n_pods; i++) {
        if (read_objects(w, in->pods[i], "Pod", "v1", reterr)) {
            return -1;
        }
    }
    world_finish(w);
    if (w->n_malformed > 0) {
        const struct world_malformed *m = &w->malformed[0];
        return err_set(reterr, ERR_INVALID, "%s %s: %s", m->kind, m->name, m->message);
    }
    for (size_t i = 0; i < world_n(w, KIND_NODE_POOL); i++) {
        const struct nodepool *np = world_at(w, KIND_NODE_POOL, i);
        (void)sym_intern(w->syms, np->m.name);
        (void)sym_intern(w->syms, np->class_ref.name);
    }
    return 0;
}

/* ---- types ----------------------------------------------------------------------------------- */

static void offer_type(struct bench_world *b, const struct prices *p, const struct ec2_fact *f,
                       uint32_t type, uint64_t zones)
{
    for (uint32_t z = 0; z < catalog_n_zones(b->catalog); z++) {
        const char *zone = sym_str(b->w.syms, catalog_zone(b->catalog, z));
        if (!(zones >> z & 1)) {
            continue;
        }
        if (f->on_demand) {
            offerings_set_price(b->offerings, type, z, CT_ON_DEMAND,
                                prices_of(p, f->name, zone, CT_ON_DEMAND, NULL));
        }
        if (f->spot) {
            offerings_set_price(b->offerings, type, z, CT_SPOT,
                                prices_of(p, f->name, zone, CT_SPOT, NULL));
        }
    }
}

static int offer_builtin(struct bench_world *b, const char *region, const struct ec2_class *cls,
                         struct err *reterr)
{
    struct prices_in in = {.syms = b->w.syms, .region = region};
    struct prices *p = prices_new(&in, reterr);
    if (!p) {
        return -1;
    }
    b->offerings = offerings_new(b->catalog);
    for (uint32_t i = 0; i < catalog_n_types(b->catalog); i++) {
        const char *name = sym_str(b->w.syms, catalog_type_name(b->catalog, i));
        const struct ec2_fact *f = &ec2_facts[ec2_find_fact(name)];
        if (ec2_compatible(f, cls)) {
            offer_type(b, p, f, i, ec2_builtin_offered(region, name));
        }
    }
    prices_free(p);
    return 0;
}

/* The region's whole catalog at the built-in prices, for a class that says nothing. */
static int read_builtin(struct bench_world *b, const char *region, struct err *reterr)
{
    const char *const *zones = ec2_builtin_zones(region);
    sym names[CATALOG_MAX_ZONES], ids[CATALOG_MAX_ZONES] = {SYM_NONE};
    struct ec2_class cls;
    uint32_t n = 0;
    if (!zones) {
        return err_set(reterr, ERR_INVALID, "%s: the built-in catalog has no such region", region);
    }
    for (; zones[n] && n < CATALOG_MAX_ZONES; n++) {
        names[n] = sym_intern(b->w.syms, zones[n]);
    }
    ec2_class_default(&cls);
    struct ec2_catalog_in in = {
        .syms = b->w.syms, .region = region, .cls = &cls, .zones = {names, ids, n}};
    b->catalog = ec2_catalog(&b->mem, &in, reterr);
    return b->catalog ? offer_builtin(b, region, &cls, reterr) : -1;
}

static int read_types(struct bench_world *b, const char *path, struct err *reterr)
{
    static const struct opt_texts all;
    if (types_load(b->w.syms, path, &all, &b->types, reterr)) {
        return -1;
    }
    if (!b->types.catalog) {
        return err_set(reterr, ERR_INVALID, "%s: types must be described in full, with prices",
                       path);
    }
    b->catalog = b->types.catalog;
    b->offerings = b->types.offerings;
    return 0;
}

int bench_read(const struct bench_input *in, struct bench_world *ret, struct err *reterr)
{
    memset(ret, 0, sizeof(*ret));
    world_init(&ret->w, "kube-system");
    arena_init(&ret->mem, 64u << 10, SIZE_MAX);
    bool builtin = str_eq(in->types, "builtin");
    int rc = read_all(in, &ret->w, reterr);
    if (rc == 0) {
        rc = builtin ? read_builtin(ret, in->region, reterr) : read_types(ret, in->types, reterr);
    }
    ret->w.now_ns = ret->w.latest_ns + NOW_AFTER_NS;
    if (rc != 0) {
        bench_world_done(ret);
    }
    return rc;
}

void bench_world_done(struct bench_world *b)
{
    if (b->catalog != b->types.catalog) {
        catalog_free(b->catalog);
        offerings_free(b->offerings);
    }
    types_done(&b->types);
    arena_done(&b->mem);
    world_done(&b->w);
}

/* ---- snapshot -------------------------------------------------------------------------------- */

void bench_snapshot(struct arena *a, const struct bench_world *b, struct snapshot *ret)
{
    const struct world *w = &b->w;
    uint32_t n = (uint32_t)world_n(w, KIND_NODE_POOL);
    struct snapshot_pool_in *pools = ARENA_NEW_N(a, struct snapshot_pool_in, n);
    for (uint32_t i = 0; i < n; i++) {
        pools[i] = (struct snapshot_pool_in){.pool = world_at(w, KIND_NODE_POOL, i),
                                             .catalog = b->catalog,
                                             .offerings = b->offerings,
                                             .max_new_nodes = -1};
    }
    struct snapshot_in in = {.now_ns = w->now_ns,
                             .syms = w->syms,
                             .nodes = (const struct node *const *)w->lists[KIND_NODE].v,
                             .usage = usage_build(w, a),
                             .n_nodes = (uint32_t)world_n(w, KIND_NODE),
                             .claims = (const struct nodeclaim *const *)w->lists[KIND_NODE_CLAIM].v,
                             .n_claims = (uint32_t)world_n(w, KIND_NODE_CLAIM),
                             .pools = pools,
                             .n_pools = n,
                             .pods = (const struct pod *const *)w->lists[KIND_POD].v,
                             .n_pods = (uint32_t)world_n(w, KIND_POD),
                             .bound = (const struct pod *const *)w->lists[KIND_POD].v,
                             .n_bound = (uint32_t)world_n(w, KIND_POD)};
    snapshot_build(a, &in, ret);
}
