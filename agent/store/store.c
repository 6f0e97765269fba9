/* store.c - the agent's picture of the cluster; see store.h. */
#include "store.h"

#include "agent/work/gate.h"
#include "agent/work/marker.h"
#include "agent/work/metrics.h"
#include "bare.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/core/consent/dgrant.h"
#include "common/core/consent/dreq.h"
#include "common/kube/decode.h"
#include "store_internal.h"

#define DOUBT_NS (10 * NS_PER_S)   /* an own write that a list does not show may live so long */
#define TROUBLE_NS (60 * NS_PER_S) /* silence after which a failing watch is worth a word */

/* Every model struct begins so; store.c deals with them by it. */
struct head {
    struct arena mem;
    struct meta m;
};
/* clang-format off */
#define OBJECTS(X)                                                                                 \
    X(pod) X(node) X(nodeclaim) X(nodepool) X(nodeclass) X(daemonset) X(namespace) X(pvc) X(pv)     \
    X(storage_class) X(csi_node) X(service) X(pdb) X(hold) X(dreq) X(dgrant)
/* clang-format on */
#define X(type)                                                                                    \
    _Static_assert(offsetof(struct type, m) == offsetof(struct head, m), "model: meta is second");
OBJECTS(X)
#undef X

static const struct kind_row {
    const char *name;
    enum kube_kind kube;
    bool namespaced;
    size_t max;
    bool spare; /* decisions are worse without, but not wrong */
} kind_rows[STORE_KINDS] = {
    [STORE_POD] = {"Pod", KIND_POD, true, STORE_MAX_PODS},
    [STORE_NODE] = {"Node", KIND_NODE, false, STORE_MAX_OBJECTS},
    [STORE_CLAIM] = {"NodeClaim", KIND_NODE_CLAIM, false, STORE_MAX_OBJECTS},
    [STORE_POOL] = {"NodePool", KIND_NODE_POOL, false, STORE_MAX_OBJECTS},
    [STORE_CLASS] = {"EC2NodeClass", KIND_EC2_NODE_CLASS, false, STORE_MAX_OBJECTS},
    [STORE_DAEMONSET] = {"DaemonSet", KIND_DAEMON_SET, true, STORE_MAX_OBJECTS},
    [STORE_NAMESPACE] = {"Namespace", KIND_NAMESPACE, false, STORE_MAX_OBJECTS},
    [STORE_PVC] = {"PersistentVolumeClaim", KIND_PERSISTENT_VOLUME_CLAIM, true, STORE_MAX_PODS},
    [STORE_PV] = {"PersistentVolume", KIND_PERSISTENT_VOLUME, false, STORE_MAX_PODS},
    [STORE_STORAGE_CLASS] = {"StorageClass", KIND_STORAGE_CLASS, false, STORE_MAX_OBJECTS},
    [STORE_CSI_NODE] = {"CSINode", KIND_CSI_NODE, false, STORE_MAX_OBJECTS},
    [STORE_LIMIT_RANGE] = {"LimitRange", KIND_LIMIT_RANGE, true, STORE_MAX_OBJECTS, .spare = true},
    [STORE_RUNTIME_CLASS] = {"RuntimeClass", KIND_RUNTIME_CLASS, false, STORE_MAX_OBJECTS,
                             .spare = true},
    [STORE_PDB] = {"PodDisruptionBudget", KIND_POD_DISRUPTION_BUDGET, true, STORE_MAX_OBJECTS},
    [STORE_SERVICE] = {"Service", KIND_SERVICE, true, STORE_MAX_OBJECTS, .spare = true},
    [STORE_HOLD] = {"Hold", KIND_HOLD, false, STORE_MAX_HOLDS, .spare = true},
    [STORE_DREQ] = {"DisruptionRequest", KIND_DISRUPTION_REQUEST, false, STORE_MAX_CONSENT,
                    .spare = true},
    [STORE_DGRANT] = {"DisruptionGrant", KIND_DISRUPTION_GRANT, false, STORE_MAX_CONSENT,
                      .spare = true},
};

static void *decode(struct decoder *d, enum store_kind kind, const json_t *o, struct err *reterr)
{
    switch (kind) {
    case STORE_POD:
        return decode_pod(d, o, reterr);
    case STORE_NODE:
        return decode_node(d, o, reterr);
    case STORE_CLAIM:
        return decode_nodeclaim(d, o, reterr);
    case STORE_POOL:
        return decode_nodepool(d, o, reterr);
    case STORE_CLASS:
        return decode_nodeclass(d, o, reterr);
    case STORE_DAEMONSET:
        return decode_daemonset(d, o, reterr);
    case STORE_NAMESPACE:
        return decode_namespace(d, o, reterr);
    case STORE_PVC:
        return decode_pvc(d, o, reterr);
    case STORE_PV:
        return decode_pv(d, o, reterr);
    case STORE_STORAGE_CLASS:
        return decode_storage_class(d, o, reterr);
    case STORE_CSI_NODE:
        return decode_csi_node(d, o, reterr);
    case STORE_LIMIT_RANGE: /* the decoder's admission has the rest, see put */
    case STORE_RUNTIME_CLASS:
        return decode_namespace(d, o, reterr);
    case STORE_PDB:
        return decode_pdb(d, o, reterr);
    case STORE_SERVICE:
        return decode_service(d, o, reterr);
    case STORE_HOLD:
        return decode_hold(d, o, reterr);
    case STORE_DREQ:
        return decode_dreq(d, o, reterr);
    case STORE_DGRANT:
        return decode_dgrant(d, o, reterr);
    case STORE_KINDS:
        break;
    }
    BUG("store: kind %d", (int)kind);
}

static void object_free(struct decoder *d, enum store_kind kind, void *object)
{
    switch (kind) {
    case STORE_POD:
        decode_pod_free(d, object);
        break;
    case STORE_NODE:
        decode_node_free(object);
        break;
    case STORE_CLAIM:
        decode_nodeclaim_free(object);
        break;
    case STORE_POOL:
        decode_nodepool_free(object);
        break;
    case STORE_CLASS:
        decode_nodeclass_free(object);
        break;
    case STORE_DAEMONSET:
        decode_daemonset_free(d, object);
        break;
    case STORE_NAMESPACE:
    case STORE_LIMIT_RANGE:
    case STORE_RUNTIME_CLASS:
        decode_namespace_free(object);
        break;
    case STORE_PVC:
        decode_pvc_free(object);
        break;
    case STORE_PV:
        decode_pv_free(object);
        break;
    case STORE_STORAGE_CLASS:
        decode_storage_class_free(object);
        break;
    case STORE_CSI_NODE:
        decode_csi_node_free(object);
        break;
    case STORE_PDB:
        decode_pdb_free(object);
        break;
    case STORE_SERVICE:
        decode_service_free(object);
        break;
    case STORE_HOLD:
        decode_hold_free(object);
        break;
    case STORE_DREQ:
        decode_dreq_free(object);
        break;
    case STORE_DGRANT:
        decode_dgrant_free(object);
        break;
    case STORE_KINDS:
        store_usage_free(object);
        break;
    }
}

/* ---- changing ---------------------------------------------------------------------------------
 */

int64_t store_version(const struct meta *m)
{
    int64_t rv;
    return m->resource_version && str_parse_i64(m->resource_version, &rv) ? rv : 0;
}

static int64_t version_of(const void *object)
{
    return object ? store_version(&((const struct head *)object)->m) : 0;
}

void store_retire(struct store *s, enum store_kind kind, void *object)
{
    if (!object) {
        return;
    }
    if (!s->frozen) {
        object_free(s->rt->decoder, kind, object);
        return;
    }
    ARRAY_GROW(s->limbo, s->n_limbo, s->cap_limbo);
    s->limbo[s->n_limbo++] = (struct limbo){kind, object};
}

static void change(struct kind_store *k, const char *key, void *before, void *now)
{
    store_index(k->s, k->kind, key, before, now);
    for (size_t i = 0; i < k->n_subs; i++) {
        k->subs[i].fn(k->subs[i].arg, key, before, now);
    }
    store_retire(k->s, k->kind, before);
}

/* "name" or "ns/name" in buf; NULL if the object has no usable name. */
static const char *key_of(const struct kind_store *k, const json_t *object, char *buf, size_t size)
{
    const char *name = jsonx_str(object, "metadata.name");
    if (!name || !*name) {
        return NULL;
    }
    int n = kind_rows[k->kind].namespaced
                ? snprintf(buf, size, "%s/%s", jsonx_str_or(object, "metadata.namespace", ""), name)
                : snprintf(buf, size, "%s", name);
    return n > 0 && (size_t)n < size ? buf : NULL;
}

static int64_t version_of_json(const json_t *object)
{
    const char *text = jsonx_str(object, "metadata.resourceVersion");
    int64_t rv;
    return text && str_parse_i64(text, &rv) ? rv : 0;
}

static void skip(struct kind_store *k, const char *key, const struct err *why)
{
    k->skipped++;
    log_error(k->s->rt->log, "cannot read object", "kind", kind_rows[k->kind].name, "name",
              key ? key : "", "error", why->msg);
}

/* A LimitRange is about its namespace, a RuntimeClass about those that name it. */
static bool concerns(const struct kind_store *changed, const char *key, const struct map_entry *e)
{
    const struct daemonset *ds = map_value(e);
    return changed->kind == STORE_LIMIT_RANGE ? strncmp(map_key(e), key, strcspn(key, "/") + 1) == 0
                                              : strstr(ds->source, key) != NULL;
}

/* Templates of DaemonSets are completed with what has changed under key. */
static void readmit(struct kind_store *changed, const char *key)
{
    struct kind_store *k = &changed->s->kinds[STORE_DAEMONSET];
    for (MAP_EACH(k->objects, e)) {
        struct daemonset *now = concerns(changed, key, e)
                                    ? decode_daemonset_again(k->s->rt->decoder, map_value(e))
                                    : NULL;
        if (now) {
            change(k, map_key(e), map_put(k->objects, map_key(e), now, NULL), now);
        }
    }
}

static bool admits(const struct kind_store *k)
{
    return k->kind == STORE_LIMIT_RANGE || k->kind == STORE_RUNTIME_CLASS;
}

static void enter(struct kind_store *k, const char *key, void *now)
{
    bool full = false;
    void *before = map_put(k->objects, key, now, &full);
    if (!full) {
        change(k, key, before, now);
        return;
    }
    object_free(k->s->rt->decoder, k->kind, now);
    if (!k->full) {
        struct err err = ERR_INIT;
        err_set(&err, ERR_LIMIT, "more than %zu objects", kind_rows[k->kind].max);
        skip(k, key, &err);
    }
    k->full = true;
    k->left_out++;
}

/* One that is set aside, or a pod that cannot be read. */
static void put_bare(struct kind_store *k, const char *key, const json_t *object)
{
    struct err err = ERR_INIT;
    AUTO_JSON json_t *bare = bare_object(object);
    void *now = decode(k->s->rt->decoder, k->kind, bare, &err);
    if (!now) {
        skip(k, key, &err);
        return;
    }
    bare_say(k->kind, now);
    enter(k, key, now);
}

static void put_whole(struct kind_store *k, const char *key, const json_t *object)
{
    struct err err = ERR_INIT;
    void *now = decode(k->s->rt->decoder, k->kind, object, &err);
    if (!now) {
        skip(k, key, &err);
        if (k->kind == STORE_POD) {
            put_bare(k, key, object);
        }
        return;
    }
    enter(k, key, now);
    if (admits(k)) {
        admission_put(decoder_admission(k->s->rt->decoder), kind_rows[k->kind].kube, object);
        readmit(k, key);
    }
}

static void put(struct kind_store *k, const char *key, const json_t *object)
{
    enum marker_how how = marker_object(k->s->rt->marker, k->kind, key, object);
    if (how == MARKER_LEAVE_OUT) {
        return;
    }
    (how == MARKER_WHOLE ? put_whole : put_bare)(k, key, object);
    marker_done(k->s->rt->marker);
}

static void remember_gone(struct kind_store *k, const char *key, int64_t rv)
{
    int64_t *version = NEW(int64_t);
    bool full = false;
    *version = rv;
    free(map_put(k->gone, key, version, &full));
    if (full) {
        free(version);
    }
}

/* Old news about an object that our own write has ended. */
static bool was_ended(const struct kind_store *k, const char *key, int64_t rv)
{
    const int64_t *version = map_get(k->gone, key);
    return version && rv <= *version;
}

static void on_doubt(void *arg);

static void doubt(struct kind_store *k)
{
    timer_set(&k->s->rt->timers, &k->doubt, clock_mono(k->s->rt->clock) + DOUBT_NS, on_doubt, k);
}

static bool of_karp(const struct kind_store *k)
{
    return k->kind == STORE_HOLD || k->kind == STORE_DREQ || k->kind == STORE_DGRANT;
}

/* name may be the key of one of our maps. Of the small kinds all must be known: where some were
 * left out, they are listed anew. */
static void drop(struct kind_store *k, const char *name)
{
    AUTO_FREE char *key = xstrdup(name);
    map_del(k->own, key);
    marker_gone(k->s->rt->marker, k->kind, key);
    void *before = map_del(k->objects, key);
    if (before) {
        change(k, key, before, NULL);
    }
    if (before && k->full && of_karp(k) && !k->relist) {
        k->relist = true;
        doubt(k);
    }
    if (before && admits(k)) {
        admission_drop(decoder_admission(k->s->rt->decoder), kind_rows[k->kind].kube, key);
        readmit(k, key);
    }
}

static void list_anew(struct kind_store *k);

/* ---- reflector --------------------------------------------------------------------------------
 */

static void on_list_begin(void *arg)
{
    struct kind_store *k = arg;
    map_free(k->listed);
    k->listed = map_new(kind_rows[k->kind].max);
    k->left_out = 0;
    k->seen_rv = 0; /* a server that was restored counts from an earlier version on */
}

/* A list shows an older version than we know. Either it was made before a write of ours was
 * answered: then the watch will tell, and until it has, ours stays, in doubt. Or the server has
 * gone back in time (an etcd restore): then the list is the truth. */
static bool went_back(struct kind_store *k, const char *key)
{
    if (!k->listed) {
        return false;
    }
    if (!map_has(k->own, key)) {
        return true;
    }
    map_put(k->own, key, &k->doubt, NULL);
    k->relist = true;
    doubt(k);
    return false;
}

static void on_object(void *arg, json_t *object)
{
    struct kind_store *k = arg;
    char buf[1024];
    const char *key = key_of(k, object, buf, sizeof(buf));
    if (!key) {
        struct err err = ERR_INIT;
        err_set(&err, ERR_INVALID, "it has no usable metadata.name");
        skip(k, NULL, &err);
        return;
    }
    int64_t rv = version_of_json(object);
    if (rv > k->seen_rv) {
        k->seen_rv = rv;
    }
    if (k->listed) {
        map_put(k->listed, key, k, NULL);
    }
    const void *have = map_get(k->objects, key);
    int64_t have_rv = version_of(have);
    if (have_rv <= rv) {
        map_del(k->own, key);
    }
    if (have ? rv == 0 || have_rv < rv || (have_rv > rv && went_back(k, key))
             : !was_ended(k, key, rv)) {
        free(map_del(k->gone, key));
        put(k, key, object);
    }
}

static void on_removed(void *arg, json_t *object)
{
    struct kind_store *k = arg;
    char buf[1024];
    const char *key = key_of(k, object, buf, sizeof(buf));
    if (!key) {
        return;
    }
    int64_t rv = version_of_json(object);
    if (rv > k->seen_rv) {
        k->seen_rv = rv;
    }
    free(map_del(k->gone, key));
    /* One of the same name that we have made since stays. */
    if (rv == 0 || version_of(map_get(k->objects, key)) <= rv) {
        drop(k, key);
    }
}

/* Own writes that a list did not show: newer than the list, and then the watch has told by now. */
static void on_doubt(void *arg)
{
    struct kind_store *k = arg;
    bool any = false;
    for (MAP_EACH(k->own, o)) {
        any = any || map_value(o) == &k->doubt;
    }
    if (k->relist && (any || k->full)) {
        k->relist = false;
        map_clear(k->own); /* the next list is believed */
        list_anew(k);
        return;
    }
    k->relist = false;
    for (MAP_EACH(k->own, e)) {
        if (map_value(e) == &k->doubt) {
            drop(k, map_key(e));
        }
    }
}

static void on_list_end(void *arg)
{
    struct kind_store *k = arg;
    struct map *listed = k->listed;
    k->listed = NULL;
    k->full = k->left_out > 0;
    bool doubtful = false;
    for (MAP_EACH(k->objects, e)) {
        if (map_has(listed, map_key(e))) {
            continue;
        }
        if (map_has(k->own, map_key(e))) {
            map_put(k->own, map_key(e), &k->doubt, NULL);
            doubtful = true;
            continue;
        }
        drop(k, map_key(e));
    }
    for (MAP_EACH(k->gone, g)) {
        if (!map_has(listed, map_key(g))) {
            free(map_del(k->gone, map_key(g)));
        }
    }
    map_free(listed);
    if (doubtful) {
        doubt(k);
    }
}

static bool silent(const struct kind_store *k)
{
    int64_t heard_ns = k->watch ? watch_heard_ns(k->watch) : 0;
    return clock_mono(k->s->rt->clock) - heard_ns > TROUBLE_NS;
}

/* The server does not know the kind, and need not: our CRD is not installed. */
static bool unserved(const struct kind_store *k)
{
    const struct err *why = k->watch ? watch_error(k->watch) : NULL;
    return of_karp(k) && why && why->kind == ERR_NOT_FOUND;
}

static void drop_all(struct kind_store *k)
{
    for (MAP_EACH(k->objects, e)) {
        drop(k, map_key(e));
    }
}

static void on_failed(void *arg, const struct err *why)
{
    struct kind_store *k = arg;
    if (unserved(k)) {
        if (silent(k)) {
            drop_all(k); /* the kind was taken away, and its objects with it */
        }
        return;
    }
    log_error(k->s->rt->log, "watch failed, trying again", "kind", kind_rows[k->kind].name, "error",
              why->msg);
}

static struct kind_store *kind_of(struct store *s, const json_t *object)
{
    const char *kind = jsonx_str(object, "kind");
    for (int i = 0; kind && i < STORE_KINDS; i++) {
        if (str_eq(kind_rows[i].name, kind)) {
            return &s->kinds[i];
        }
    }
    return NULL;
}

void store_observe(struct store *s, json_t *object)
{
    struct kind_store *k = kind_of(s, object);
    char buf[1024];
    const char *key = k ? key_of(k, object, buf, sizeof(buf)) : NULL;
    int64_t rv = key ? version_of_json(object) : 0;
    const void *have = key ? map_get(k->objects, key) : NULL;
    /* Absent though the watch is past this version: removed in the meantime. */
    if (!key || (have ? version_of(have) >= rv : rv <= k->seen_rv)) {
        return;
    }
    const json_t *meta = json_object_get(object, "metadata");
    if (k->kind != STORE_POD && json_object_get(meta, "deletionTimestamp") &&
        json_array_size(json_object_get(meta, "finalizers")) == 0) {
        drop(k, key);
        remember_gone(k, key, rv);
        return;
    }
    put(k, key, object);
    map_put(k->own, key, k, NULL);
}

static void observe(void *ctx, json_t *object)
{
    store_observe(ctx, object);
}

/* ---- life -------------------------------------------------------------------------------------
 */

struct store *store_new(struct runtime *rt)
{
    struct store *s = NEW(struct store);
    s->rt = rt;
    s->env = (struct watch_env){
        .client = &rt->client, .timers = &rt->timers, .clock = rt->clock, .entropy = rt->entropy};
    for (int i = 0; i < STORE_KINDS; i++) {
        struct kind_store *k = &s->kinds[i];
        k->s = s;
        k->kind = (enum store_kind)i;
        k->objects = map_new(kind_rows[i].max);
        k->own = map_new(kind_rows[i].max);
        k->gone = map_new(kind_rows[i].max);
    }
    s->nominations = map_new(STORE_MAX_OBJECTS);
    store_index_init(s);
    if (rt->gate) {
        gate_set_observer(rt->gate, observe, s);
    }
    return s;
}

static void kind_done(struct kind_store *k)
{
    watch_free(k->watch);
    timer_stop(&k->s->rt->timers, &k->doubt);
    for (MAP_EACH(k->objects, e)) {
        object_free(k->s->rt->decoder, k->kind, map_value(e));
    }
    map_free(k->objects);
    for (MAP_EACH(k->gone, g)) {
        free(map_value(g));
    }
    map_free(k->gone);
    map_free(k->own);
    map_free(k->listed);
}

void store_free(struct store *s)
{
    if (!s) {
        return;
    }
    if (s->rt->gate) {
        gate_set_observer(s->rt->gate, NULL, NULL);
    }
    while (s->frozen) {
        store_thaw(s);
    }
    store_index_done(s);
    for (int i = 0; i < STORE_KINDS; i++) {
        kind_done(&s->kinds[i]);
    }
    for (MAP_EACH(s->nominations, e)) {
        free(map_value(e));
    }
    map_free(s->nominations);
    free(s->limbo);
    free(s);
}

static void kind_watch(struct kind_store *k)
{
    static const struct watch_cb cb = {.list_begin = on_list_begin,
                                       .object = on_object,
                                       .removed = on_removed,
                                       .list_end = on_list_end,
                                       .failed = on_failed};
    static const struct kube_list_opts all;
    k->watch = watch_new(&k->s->env, kind_rows[k->kind].kube, &all, &cb, k);
}

/* Some decision may ask for it. */
static bool wanted(const struct kind_store *k)
{
    const char *config = k->s->rt->opt ? k->s->rt->opt->scheduler_config : NULL;
    return k->kind != STORE_SERVICE || (config && *config);
}

void store_start(struct store *s)
{
    for (int i = 0; i < STORE_KINDS; i++) {
        struct kind_store *k = &s->kinds[i];
        if (!wanted(k)) {
            continue;
        }
        k->started_ns = clock_mono(s->rt->clock);
        kind_watch(k);
    }
}

static void list_anew(struct kind_store *k)
{
    watch_free(k->watch);
    kind_watch(k);
}

void store_refresh(struct store *s, enum store_kind kind)
{
    if (s->kinds[kind].watch) {
        list_anew(&s->kinds[kind]);
    }
}

bool store_listed(const struct store *s, enum store_kind kind)
{
    const struct watch *w = s->kinds[kind].watch;
    return w && watch_synced(w);
}

/* The server says that it will not be listed: no right to it, or it does not serve it. */
static bool withheld(const struct kind_store *k)
{
    const struct err *why = k->watch ? watch_error(k->watch) : NULL;
    return why && (why->kind == ERR_FORBIDDEN || why->kind == ERR_NOT_FOUND);
}

bool store_synced(const struct store *s)
{
    for (int i = 0; i < STORE_KINDS; i++) {
        const struct kind_store *k = &s->kinds[i];
        if (i != STORE_PDB && wanted(k) && !store_listed(s, k->kind) &&
            !(kind_rows[i].spare && withheld(k))) {
            return false;
        }
    }
    return true;
}

static bool fresh(const struct store *s, enum store_kind kind)
{
    const struct kind_store *k = &s->kinds[kind];
    return store_listed(s, kind) && !(watch_error(k->watch) && silent(k));
}

bool store_pdbs_known(const struct store *s)
{
    return fresh(s, STORE_PDB);
}

bool store_holds_known(const struct store *s)
{
    const struct kind_store *k = &s->kinds[STORE_HOLD];
    return (fresh(s, STORE_HOLD) || unserved(k)) && !k->full;
}

bool store_requests_known(const struct store *s)
{
    return fresh(s, STORE_DREQ) && !s->kinds[STORE_DREQ].full;
}

bool store_grants_known(const struct store *s)
{
    return fresh(s, STORE_DGRANT) && !s->kinds[STORE_DGRANT].full;
}

const char *store_trouble(const struct store *s, struct err *ret)
{
    for (int i = 0; i < STORE_KINDS; i++) {
        const struct kind_store *k = &s->kinds[i];
        const struct err *why = k->watch ? watch_error(k->watch) : NULL;
        bool synced = k->watch && watch_synced(k->watch);
        if (!wanted(k) || unserved(k) || (synced && !(why && silent(k)))) {
            continue;
        }
        if (ret && why) {
            *ret = *why;
        } else if (ret) {
            err_set(ret, ERR_UNAVAILABLE, "not listed yet");
        }
        return kind_rows[i].name;
    }
    return NULL;
}

void store_subscribe(struct store *s, enum store_kind kind, store_change_fn fn, void *arg)
{
    struct kind_store *k = &s->kinds[kind];
    if (k->n_subs == STORE_MAX_SUBSCRIBERS) {
        BUG("store: more than %d subscribers of %s", STORE_MAX_SUBSCRIBERS, kind_rows[kind].name);
    }
    k->subs[k->n_subs++] = (struct subscriber){fn, arg};
}

void store_freeze(struct store *s)
{
    s->frozen++;
}

void store_thaw(struct store *s)
{
    if (--s->frozen > 0) {
        return;
    }
    for (size_t i = 0; i < s->n_limbo; i++) {
        object_free(s->rt->decoder, s->limbo[i].kind, s->limbo[i].object);
    }
    s->n_limbo = 0;
}

bool store_frozen(const struct store *s)
{
    return s->frozen > 0;
}

/* ---- reading ----------------------------------------------------------------------------------
 */

const struct meta *store_meta(const struct store *s, enum store_kind kind, const char *key)
{
    const struct head *o = map_get(s->kinds[kind].objects, key);
    return o ? &o->m : NULL;
}

const char *store_kind_name(enum store_kind kind)
{
    return kind_rows[kind].name;
}
