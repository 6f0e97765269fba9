/* observed.c - see observed.h. */
#include "observed.h"

#include "agent/claim/claim.h"
#include "common/base/alloc.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "store.h"

#define CONDITION "CapacityMismatch"
#define SAME_BYTES (INT64_C(1) << 20) /* kubelets round */
#define LESS_PART 100                 /* less by more than one of so many is worth a look */
#define KEY_MAX 512

static const enum resource resources_seen[] = {
#define X(res, name) res,
    OBSERVED(X)
#undef X
};

struct row {
    struct observation o; /* its texts are owned */
    uint64_t version;
};

struct observed {
    struct runtime *rt;
    struct map *rows; /* "class type" → struct row */
    uint64_t version;
    void (*listener)(void *ctx, const char *cls);
    void *ctx;
    char message[320];
};

/* ---- rows --------------------------------------------------------------------------------------
 */

static const char *key_of(const char *cls, const char *type, char dst[KEY_MAX])
{
    snprintf(dst, KEY_MAX, "%.253s %.200s", cls, type);
    return dst;
}

static void row_free(struct row *r)
{
    if (r) {
        free((char *)(uintptr_t)r->o.cls);
        free((char *)(uintptr_t)r->o.hash);
        free((char *)(uintptr_t)r->o.type);
        free(r);
    }
}

static void changed(struct observed *o, struct row *r)
{
    r->version = ++o->version;
    if (o->listener) {
        o->listener(o->ctx, r->o.cls);
    }
}

static bool least(int64_t *have, int64_t v)
{
    if (v < 0 || (*have >= 0 && *have <= v)) {
        return false;
    }
    *have = v;
    return true;
}

/* The least that nodes have, the most that claims were told: what was planned with since the first
 * node is no news. True if anything changed. */
static bool merge(struct observation *into, const struct observation *from)
{
    bool any = false;
    for (size_t i = 0; i < ARRAY_LEN(resources_seen); i++) {
        enum resource res = resources_seen[i];
        any |= least(&into->seen.capacity[res], from->seen.capacity[res]);
        any |= least(&into->seen.allocatable[res], from->seen.allocatable[res]);
        if (from->mismatch && (!into->mismatch || into->promised[res] < from->promised[res])) {
            into->promised[res] = from->promised[res];
            any = true;
        }
    }
    into->mismatch |= from->mismatch;
    return any;
}

static void put(struct observed *o, const struct observation *seen)
{
    char key[KEY_MAX];
    struct row *r = map_get(o->rows, key_of(seen->cls, seen->type, key));
    if (r && str_eq(r->o.hash, seen->hash)) {
        if (merge(&r->o, seen)) {
            changed(o, r);
        }
        return;
    }
    bool full = false;
    row_free(map_del(o->rows, key));
    r = NEW(struct row);
    r->o = *seen;
    r->o.cls = xstrdup(seen->cls);
    r->o.hash = xstrdup(seen->hash);
    r->o.type = xstrdup(seen->type);
    map_put(o->rows, key, r, &full);
    if (full) {
        row_free(r);
        return;
    }
    changed(o, r);
}

/* ---- looking -----------------------------------------------------------------------------------
 */

/* Did the claim know better than the row? 1: yes, something else; -1: less; 0: it is as told. */
static int compare(enum resource res, int64_t told, int64_t have)
{
    int64_t same = res == RES_CPU || res == RES_PODS ? 0 : SAME_BYTES;
    int64_t diff = have > told ? have - told : told - have;
    if (told <= 0 || diff <= same) {
        return 0;
    }
    return res == RES_PODS || told - have > told / LESS_PART ? -1 : 1;
}

static void look(struct observed *o, const struct nodeclass *cls, const struct nodeclaim *nc,
                 const struct node *n)
{
    const char *type = node_label(o->rt, n, L_INSTANCE_TYPE);
    struct observation seen = {.cls = cls->m.name, .hash = cls->hash, .type = type};
    bool any = false;
    for (size_t i = 0; i < ARRAY_LEN(resources_seen); i++) {
        enum resource res = resources_seen[i];
        int64_t told = nc->allocatable.v[res], have = n->allocatable.v[res];
        int differs = compare(res, told, have);
        any |= differs != 0;
        seen.mismatch |= differs < 0;
        seen.promised[res] = told;
        seen.seen.allocatable[res] = have;
        seen.seen.capacity[res] = n->capacity.v[res];
    }
    if (any && *type) {
        put(o, &seen);
    }
}

static void on_claim(void *arg, const char *key UNUSED, const void *before, const void *now)
{
    struct observed *o = arg;
    const struct nodeclaim *was = before, *nc = now;
    if (!nc || nc->problem || !store_ours(&nc->class_ref) || !claim_is(nc, "Initialized") ||
        (was && claim_is(was, "Initialized"))) {
        return;
    }
    const struct nodeclass *cls = store_class(o->rt->store, nc->class_ref.name);
    const struct node *n = store_node_by_provider_id(o->rt->store, nc->provider_id, NULL);
    const char *hash = kvs_get(&nc->m.annotations, ANN_CLASS_HASH);
    bool comparable = str_eq(kvs_get(&nc->m.annotations, ANN_CLASS_HASH_VERSION), HASH_VERSION);
    if (cls && cls->hash && n && comparable && str_eq(hash, cls->hash)) {
        look(o, cls, nc, n);
    }
}

/* Rows of another hash end here, and with the class. */
static void on_class(void *arg, const char *key, const void *before UNUSED, const void *now)
{
    struct observed *o = arg;
    const struct nodeclass *cls = now;
    for (MAP_EACH(o->rows, e)) {
        struct row *r = map_value(e);
        if (str_eq(r->o.cls, key) && (!cls || (cls->hash && !str_eq(r->o.hash, cls->hash)))) {
            map_del(o->rows, map_key(e));
            changed(o, r);
            row_free(r);
        }
    }
}

/* ---- answers -----------------------------------------------------------------------------------
 */

bool observed_of(const struct observed *o, const struct nodeclass *cls, const char *type,
                 struct ec2_observed *ret)
{
    char key[KEY_MAX];
    const struct row *r = o ? map_get(o->rows, key_of(cls->m.name, type, key)) : NULL;
    if (!r || !str_eq(r->o.hash, cls->hash)) {
        return false;
    }
    *ret = r->o.seen;
    return true;
}

uint64_t observed_version(const struct observed *o, const struct nodeclass *cls)
{
    uint64_t ret = 0;
    if (!o) {
        return 0;
    }
    for (MAP_EACH(o->rows, e)) {
        const struct row *r = map_value(e);
        if (r->version > ret && str_eq(r->o.cls, cls->m.name) && str_eq(r->o.hash, cls->hash)) {
            ret = r->version;
        }
    }
    return ret;
}

static int by_key(const void *a, const void *b)
{
    const struct row *x = *(const struct row *const *)a, *y = *(const struct row *const *)b;
    int c = str_cmp(x->o.cls, y->o.cls);
    return c ? c : str_cmp(x->o.type, y->o.type);
}

/* An array of them, in order; the caller's. */
static const struct row **in_order(const struct observed *o, size_t *ret_n)
{
    const struct row **v = NEW_N(const struct row *, map_count(o->rows));
    size_t n = 0;
    for (MAP_EACH(o->rows, e)) {
        v[n++] = map_value(e);
    }
    if (n > 1) {
        qsort(v, n, sizeof(*v), by_key);
    }
    *ret_n = n;
    return v;
}

json_t *observed_json(const struct observed *o)
{
    json_t *ret = json_array();
    size_t n;
    const struct row **v = in_order(o, &n);
    for (size_t i = 0; i < n; i++) {
        json_array_append_new(ret, observation_json(&v[i]->o));
    }
    free(v);
    return ret;
}

void observed_restore(struct observed *o, const json_t *rows)
{
    struct observation seen;
    for (size_t i = 0; i < json_array_size(rows) && i < OBSERVATION_MAX; i++) {
        if (!observation_read(json_array_get(rows, i), &seen)) {
            continue;
        }
        const struct nodeclass *cls = store_class(o->rt->store, seen.cls);
        if (cls && str_eq(cls->hash, seen.hash)) {
            put(o, &seen);
        }
    }
}

/* ---- the condition -----------------------------------------------------------------------------
 */

static void amount(enum resource res, int64_t v, char dst[32])
{
    if (res == RES_CPU) {
        snprintf(dst, 32, "%lldm", (long long)v);
    } else if (res == RES_PODS) {
        snprintf(dst, 32, "%lld", (long long)v);
    } else {
        snprintf(dst, 32, "%lldMi", (long long)(v >> 20));
    }
}

static const char *say(struct observed *o, const struct row *r, size_t others)
{
    for (size_t i = 0; i < ARRAY_LEN(resources_seen); i++) {
        enum resource res = resources_seen[i];
        char have[32], told[32];
        if (compare(res, r->o.promised[res], r->o.seen.allocatable[res]) >= 0) {
            continue;
        }
        amount(res, r->o.seen.allocatable[res], have);
        amount(res, r->o.promised[res], told);
        char more[64] = "";
        if (others > 0) {
            snprintf(more, sizeof(more), " (and %zu type%s more)", others, others == 1 ? "" : "s");
        }
        snprintf(
            o->message, sizeof(o->message),
            "nodes of type %.60s%s have %s %s, not the %s that was computed: what they have is "
            "planned with",
            r->o.type, more, resource_name(res), have, told);
        return o->message;
    }
    return "";
}

void observed_conditions(struct observed *o, const struct nodepool *np, struct cond_edit *e)
{
    const struct nodeclass *cls = store_class(o->rt->store, np->class_ref.name);
    const struct row *first = NULL;
    size_t n, found = 0;
    if (map_count(o->rows) == 0 && !condition_find(&np->conditions, CONDITION)) {
        return; /* as nearly always */
    }
    const struct row **v = in_order(o, &n);
    for (size_t i = 0; cls && i < n; i++) {
        if (v[i]->o.mismatch && str_eq(v[i]->o.cls, cls->m.name)) {
            first = first ? first : v[i];
            found++;
        }
    }
    if (first) {
        cond_set(e, CONDITION, STATUS_TRUE, CONDITION, say(o, first, found - 1));
    } else {
        cond_clear(e, CONDITION);
    }
    free(v);
}

/* ---- life --------------------------------------------------------------------------------------
 */

void observed_listen(struct observed *o, void (*fn)(void *ctx, const char *cls), void *ctx)
{
    o->listener = fn;
    o->ctx = ctx;
}

struct observed *observed_new(struct runtime *rt)
{
    struct observed *o = NEW(struct observed);
    o->rt = rt;
    o->rows = map_new(OBSERVATION_MAX);
    store_subscribe(rt->store, STORE_CLAIM, on_claim, o);
    store_subscribe(rt->store, STORE_CLASS, on_class, o);
    return o;
}

void observed_free(struct observed *o)
{
    if (!o) {
        return;
    }
    for (MAP_EACH(o->rows, e)) {
        row_free(map_value(e));
    }
    map_free(o->rows);
    free(o);
}
