/* drift.c - see drift.h. */
#include "drift.h"

#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/core/labels.h"

#define TYPE_GRACE_NS (INT64_C(3600) * 1000000000)

static struct drift none(void)
{
    return (struct drift){NULL, NULL, 0};
}

/* ---- hashes ------------------------------------------------------------------------------------
 */

/* The hash that the object was made from, if it is one of ours. */
static const char *own_hash(const struct meta *m, const char *version, const char *hash)
{
    return str_eq(kvs_get(&m->annotations, version), HASH_VERSION) ? kvs_get(&m->annotations, hash)
                                                                   : NULL;
}

static struct drift hashes(struct arena *a, const struct snapshot_node *n)
{
    const char *pool = own_hash(&n->claim->m, ANN_POOL_HASH_VERSION, ANN_POOL_HASH);
    const char *cls = own_hash(&n->claim->m, ANN_CLASS_HASH_VERSION, ANN_CLASS_HASH);
    const struct nodeclass *nc = n->pool->cls;
    if (pool != NULL && n->pool->np->hash != NULL && !str_eq(pool, n->pool->np->hash)) {
        return (struct drift){
            "NodePoolDrifted",
            arena_printf(a, "the template of NodePool %s has changed", n->pool->np->m.name), 0};
    }
    if (cls != NULL && nc != NULL && nc->hash != NULL && !str_eq(cls, nc->hash)) {
        return (struct drift){"NodeClassDrift",
                              arena_printf(a, "EC2NodeClass %s has changed", nc->m.name), 0};
    }
    return none();
}

/* ---- requirements ------------------------------------------------------------------------------
 */

/* The claim's type in the pool's catalog, or -1. */
static int type_of(const struct snapshot_node *n)
{
    sym name = labels_get(&n->claim->m.labels, L_INSTANCE_TYPE);
    const struct catalog *c = n->pool->catalog;
    return c != NULL && name != SYM_NONE ? catalog_find_type(c, name) : -1;
}

/* The label of the claim; where it has none what its type says. */
static const struct req *has(struct arena *a, const struct snapshot_node *n, sym key, int type)
{
    sym v = labels_get(&n->claim->m.labels, key);
    if (v == SYM_NONE) {
        return type >= 0 ? catalog_label(n->pool->catalog, (uint32_t)type, key) : NULL;
    }
    struct req *r = ARENA_NEW(a, struct req);
    *r = (struct req){.key = key, .n = 1, .values = arena_memdup(a, &v, sizeof(v))};
    return r;
}

static bool meets(const struct symtab *t, const struct req *want, const struct req *have)
{
    if (have == NULL) {
        return req_negative(want);
    }
    for (uint32_t i = 0; i < have->n; i++) {
        if (!req_has(t, want, have->values[i])) {
            return false;
        }
    }
    return true;
}

/* Labels that say who the node is, not what it has to be. */
static bool identity(sym key)
{
    return key == L_NODEPOOL || key == L_EC2NODECLASS || key == L_REGISTERED ||
           key == L_INITIALIZED || key == L_HOSTNAME;
}

static struct drift requirements(struct arena *a, const struct snapshot *s,
                                 const struct snapshot_node *n)
{
    int type = type_of(n);
    for (uint32_t i = 0; i < n->pool->np->reqs.n; i++) {
        const struct req *want = &n->pool->np->reqs.v[i];
        if (identity(want->key) || meets(s->syms, want, has(a, n, want->key, type))) {
            continue;
        }
        struct buf b;
        buf_init(&b, 1 << 16);
        buf_puts(&b, "the pool asks for ");
        req_fmt(s->syms, want, 5, &b);
        struct drift ret = {"RequirementsDrifted", arena_strdup(a, b.p), 0};
        buf_done(&b);
        return ret;
    }
    return none();
}

/* ---- types and images --------------------------------------------------------------------------
 */

static struct drift types(struct arena *a, const struct snapshot *s, const struct snapshot_node *n)
{
    sym name = labels_get(&n->claim->m.labels, L_INSTANCE_TYPE);
    bool old = s->now_ns - n->claim->m.created_ns > TYPE_GRACE_NS;
    if (n->pool->catalog == NULL || name == SYM_NONE || !old ||
        catalog_find_type(n->pool->catalog, name) >= 0) {
        return none();
    }
    return (struct drift){
        "InstanceTypeNotFound",
        arena_printf(a, "instance type %s is not among those there are", sym_str(s->syms, name)),
        0};
}

static bool image_goes(struct arena *a, const struct symtab *t, const struct snapshot_node *n,
                       const struct class_ami *ami, int type)
{
    for (uint32_t i = 0; i < ami->reqs.n; i++) {
        const struct req *have = has(a, n, ami->reqs.v[i].key, type);
        if (have != NULL && !meets(t, &ami->reqs.v[i], have)) {
            return false;
        }
    }
    return true;
}

static struct drift images(struct arena *a, const struct snapshot *s, const struct snapshot_node *n)
{
    const struct nodeclass *cls = n->pool->cls;
    const char *id = n->claim->image_id;
    int type = type_of(n);
    if (cls == NULL || cls->n_amis == 0 || id == NULL || id[0] == '\0') {
        return none();
    }
    for (uint32_t i = 0; i < cls->n_amis; i++) {
        if (str_eq(cls->amis[i].id, id) && image_goes(a, s->syms, n, &cls->amis[i], type)) {
            return none();
        }
    }
    return (struct drift){
        "AMIDrift",
        arena_printf(a, "image %s is not among those of EC2NodeClass %s", id, cls->m.name), 0};
}

/* ---- the whole ---------------------------------------------------------------------------------
 */

/* Claims made before the time that a person has set are to be replaced. */
static struct drift asked_for(struct arena *a, const struct snapshot_node *n)
{
    const struct meta *said[] = {&n->claim->m, &n->pool->np->m};
    for (size_t i = 0; i < ARRAY_LEN(said); i++) {
        const char *text = kvs_get(&said[i]->annotations, ANN_REPLACE);
        int64_t at;
        if (text != NULL && timefmt_parse_rfc3339(text, &at) && n->claim->m.created_ns < at) {
            return (struct drift){"Replace", arena_printf(a, "%s %s", ANN_REPLACE, text), 0};
        }
    }
    return none();
}

static struct drift by_condition(const struct snapshot_node *n)
{
    const struct condition *c = condition_find(&n->claim->conditions, "Drifted");
    if (c == NULL || c->status != STATUS_TRUE) {
        return none();
    }
    return (struct drift){c->reason != NULL && c->reason[0] != '\0' ? c->reason : "Drifted",
                          c->message, c->transition_ns};
}

static bool gone(const struct snapshot_pool *p)
{
    return p->np->m.deleted_ns != 0 || (p->cls != NULL && p->cls->m.deleted_ns != 0);
}

struct drift drift_of(struct arena *a, const struct snapshot *s, const struct snapshot_node *n,
                      enum drift_source source)
{
    if (n->claim == NULL || n->pool == NULL) {
        return none();
    }
    struct drift ret = source == DRIFT_AFRESH ? none() : by_condition(n);
    if (ret.reason != NULL || source == DRIFT_CONDITION || n->pool->np->is_static ||
        gone(n->pool) || !condition_true(&n->claim->conditions, "Initialized")) {
        return ret;
    }
    ret = asked_for(a, n);
    ret = ret.reason == NULL ? hashes(a, n) : ret;
    ret = ret.reason == NULL ? requirements(a, s, n) : ret;
    ret = ret.reason == NULL ? types(a, s, n) : ret;
    return ret.reason == NULL ? images(a, s, n) : ret;
}
