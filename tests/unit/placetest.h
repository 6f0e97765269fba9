/*
 * placetest.h - a whole placing in one text: nodes, pools, pods and volumes as YAML, pods with the
 * spec that Kubernetes has, and the outcome as one line.
 *
 * The text has any of these:
 * - pools: [{name, reqs: "key In a,b", taints: "k:NoSchedule", weight, share: "25%", limit:
 * nodes}], by default one, "main"
 * - nodes: [{name, zone, labels: {}, taints: "k:NoSchedule", cpu: milli}], nobody's, 4 cpu
 * - bound: [{node, count, ns, labels: {}, owner, spec: {}}]
 * - pods: [{count, name, ns, labels: {}, cpu: milli, owner, spec: {}}], by default of 100m; owner
 * is the name of a ReplicaSet
 * - objects: [Kubernetes objects: Namespace, PersistentVolumeClaim, …]
 * - types: [instance types that the pool may use]
 * - defaults: [spread constraints of pods that declare none]
 *
 * The outcome: pods per zone ("?" where a claim leaves it open), claims, pods on nodes that exist,
 * and refusals by code: "a=2 b=1 | 3 claims | 1 on nodes | TopologySpread 2".
 * Every world is placed four times: in one slice, in slices of one unit, and with everything in
 * another order, which must come to the same.
 */
#ifndef KARP_TESTS_PLACETEST_H
#define KARP_TESTS_PLACETEST_H

#include "fixture.h"
#include "unit.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/yamlx.h"
#include "common/kube/decode.h"

struct world {
    struct fix *f;
    struct decoder *d;
    struct pod *decoded[4096];
    size_t n_decoded;
    const struct pod *bound[1024];
    void *objects[6][256];
    uint32_t n_objects[6];
    uint32_t n_names;
};

static inline json_t *w_parse(const char *text)
{
    struct err err = ERR_INIT;
    AUTO_JSON json_t *docs = yamlx_parse_all(text, strlen(text), "row", NULL, &err);
    ck_assert_msg(docs != NULL, "%s in: %s", err.msg, text);
    return json_incref(json_array_get(docs, 0));
}

static inline struct pod *w_pod(struct world *w, const json_t *o, const char *node, uint32_t i,
                                uint32_t n)
{
    struct err err = ERR_INIT;
    json_t *spec = json_deep_copy(json_object_get(o, "spec"));
    spec = spec ? spec : json_object();
    const char *base = jsonx_str_or(o, "name", node ? "b" : "p");
    const char *name =
        n > 1 ? arena_printf(&w->f->a, "%s-%u", base, (unsigned)i) : arena_strdup(&w->f->a, base);
    if (node) {
        json_object_set_new(spec, "nodeName", json_string(node));
        name = arena_printf(&w->f->a, "%s-%u", name, (unsigned)w->n_names++);
    }
    if (!json_object_get(spec, "containers")) {
        json_object_set_new(
            spec, "containers",
            json_pack("[{s:s,s:{s:{s:s}}}]", "name", "c", "resources", "requests", "cpu",
                      arena_printf(&w->f->a, "%dm", (int)jsonx_int(o, "cpu", 100))));
    }
    json_t *meta =
        json_pack("{s:s,s:s,s:s}", "name", name, "namespace", jsonx_str_or(o, "ns", "default"),
                  "uid", arena_printf(&w->f->a, "uid-%s-%05u", base, (unsigned)i));
    if (json_object_get(o, "labels")) {
        json_object_set(meta, "labels", json_object_get(o, "labels"));
    }
    if (jsonx_str(o, "owner")) {
        json_object_set_new(meta, "ownerReferences",
                            json_pack("[{s:s,s:s,s:s,s:s,s:b}]", "apiVersion", "apps/v1", "kind",
                                      "ReplicaSet", "name", jsonx_str(o, "owner"), "uid",
                                      jsonx_str(o, "owner"), "controller", 1));
    }
    AUTO_JSON json_t *pod = json_pack("{s:o,s:o,s:{s:s}}", "metadata", meta, "spec", spec, "status",
                                      "phase", node ? "Running" : "Pending");
    struct pod *p = decode_pod(w->d, pod, &err);
    ck_assert_msg(p != NULL, "%s", err.msg);
    p->unschedulable = node == NULL;
    w->decoded[w->n_decoded++] = p;
    return p;
}

static inline void w_pods(struct world *w, const json_t *list, bool bound)
{
    size_t i;
    json_t *o;
    json_array_foreach ((json_t *)(uintptr_t)list, i, o) {
        uint32_t n = (uint32_t)jsonx_int(o, "count", 1);
        for (uint32_t k = 0; k < n; k++) {
            struct pod *p = w_pod(w, o, bound ? jsonx_str_or(o, "node", "") : NULL, k, n);
            if (bound) {
                w->bound[w->f->in.n_bound++] = p;
            } else {
                w->f->pods[w->f->in.n_pods++] = p;
            }
        }
    }
}

static inline void w_nodes(struct world *w, const json_t *list)
{
    size_t i;
    json_t *o;
    json_array_foreach ((json_t *)(uintptr_t)list, i, o) {
        struct buf b;
        buf_init(&b, 4096);
        if (jsonx_str(o, "zone")) {
            buf_printf(&b, "topology.kubernetes.io/zone=%s", jsonx_str(o, "zone"));
        }
        const char *key;
        json_t *v;
        json_object_foreach (json_object_get(o, "labels"), key, v) {
            buf_printf(&b, "%s%s=%s", b.n ? ", " : "", key, json_string_value(v));
        }
        struct node *n = fix_node(w->f, jsonx_str(o, "name"), "", b.p);
        n->taints = fix_taints(w->f, jsonx_str_or(o, "taints", ""));
        n->capacity.v[RES_CPU] = n->allocatable.v[RES_CPU] = jsonx_int(o, "cpu", 4000);
        buf_done(&b);
    }
}

static inline void w_pools(struct world *w, const json_t *list)
{
    size_t i;
    json_t *o;
    json_array_foreach ((json_t *)(uintptr_t)list, i, o) {
        struct nodepool *np = fix_pool(w->f, jsonx_str(o, "name"), jsonx_str_or(o, "reqs", ""));
        np->taints = fix_taints(w->f, jsonx_str_or(o, "taints", ""));
        np->weight = (int32_t)jsonx_int(o, "weight", 0);
        np->limit_nodes = jsonx_int(o, "limit", -1);
        np->has_limits = np->limit_nodes >= 0;
        for (int r = 0; r < RES_FIXED; r++) {
            np->limits.v[r] = -1;
        }
        if (jsonx_str(o, "share")) {
            struct kv *kv = ARENA_NEW(&w->f->a, struct kv);
            *kv = (struct kv){ANN_MAX_SHARE, arena_strdup(&w->f->a, jsonx_str(o, "share"))};
            np->m.annotations = (struct kvs){kv, 1};
        }
    }
    if (json_array_size(list) == 0) {
        fix_pool(w->f, "main", "");
    }
}

static const struct {
    const char *kind;
    void *(*decode)(struct decoder *d, const json_t *o, struct err *reterr);
} w_kinds[] = {
    {"Namespace", (void *(*)(struct decoder *, const json_t *, struct err *))decode_namespace},
    {"PersistentVolumeClaim",
     (void *(*)(struct decoder *, const json_t *, struct err *))decode_pvc},
    {"PersistentVolume", (void *(*)(struct decoder *, const json_t *, struct err *))decode_pv},
    {"StorageClass",
     (void *(*)(struct decoder *, const json_t *, struct err *))decode_storage_class},
    {"CSINode", (void *(*)(struct decoder *, const json_t *, struct err *))decode_csi_node},
    {"Service", (void *(*)(struct decoder *, const json_t *, struct err *))decode_service},
};

static inline void w_objects(struct world *w, const json_t *list)
{
    size_t i;
    json_t *o;
    json_array_foreach ((json_t *)(uintptr_t)list, i, o) {
        bool found = false;
        for (size_t k = 0; k < ARRAY_LEN(w_kinds); k++) {
            if (str_eq(w_kinds[k].kind, jsonx_str(o, "kind"))) {
                struct err err = ERR_INIT;
                void *v = w_kinds[k].decode(w->d, o, &err);
                ck_assert_msg(v != NULL, "%s", err.msg);
                w->objects[k][w->n_objects[k]++] = v;
                found = true;
            }
        }
        ck_assert(found);
    }
}

/* Spread constraints of pods that declare none. */
static inline void w_defaults(struct world *w, json_t *list)
{
    AUTO_JSON json_t *config =
        json_pack("{s:{s:O*}}", "podTopologySpread", "defaultConstraints", list);
    AUTO_FREE char *text = jsonx_dump(config);
    struct err err = ERR_INIT;
    ck_assert_msg(decode_scheduler_config(w->d, &w->f->a, text, &w->f->opt.default_spreads,
                                          &w->f->opt.n_default_spreads, &err) == 0,
                  "%s", err.msg);
}

#define W_OBJECTS(k, T) (const struct T *const *)w->objects[k]

static inline void w_lists(struct world *w)
{
    struct snapshot_in *in = &w->f->in;
    in->bound = w->bound;
    in->namespaces = W_OBJECTS(0, namespace);
    in->n_namespaces = w->n_objects[0];
    in->pvcs = W_OBJECTS(1, pvc);
    in->n_pvcs = w->n_objects[1];
    in->pvs = W_OBJECTS(2, pv);
    in->n_pvs = w->n_objects[2];
    in->storage_classes = W_OBJECTS(3, storage_class);
    in->n_storage_classes = w->n_objects[3];
    in->csi_nodes = W_OBJECTS(4, csi_node);
    in->n_csi_nodes = w->n_objects[4];
    in->services = W_OBJECTS(5, service);
    in->n_services = w->n_objects[5];
}

static inline void w_build(struct world *w, const char *text)
{
    memset(w, 0, sizeof(*w));
    AUTO_JSON json_t *o = w_parse(text);
    w->f = fix_new();
    w->d = decoder_new(w->f->syms);
    w_defaults(w, json_object_get(o, "defaults"));
    w_pools(w, json_object_get(o, "pools"));
    w_nodes(w, json_object_get(o, "nodes"));
    w_pods(w, json_object_get(o, "bound"), true);
    w_pods(w, json_object_get(o, "pods"), false);
    w_objects(w, json_object_get(o, "objects"));
    w_lists(w);
}

static inline void w_done(struct world *w)
{
    for (size_t i = 0; i < w->n_decoded; i++) {
        decode_pod_free(w->d, w->decoded[i]);
    }
    for (uint32_t i = 0; i < w->n_objects[0]; i++) {
        decode_namespace_free(w->objects[0][i]);
    }
    for (uint32_t i = 0; i < w->n_objects[1]; i++) {
        decode_pvc_free(w->objects[1][i]);
    }
    for (uint32_t i = 0; i < w->n_objects[2]; i++) {
        decode_pv_free(w->objects[2][i]);
    }
    for (uint32_t i = 0; i < w->n_objects[3]; i++) {
        decode_storage_class_free(w->objects[3][i]);
    }
    for (uint32_t i = 0; i < w->n_objects[4]; i++) {
        decode_csi_node_free(w->objects[4][i]);
    }
    for (uint32_t i = 0; i < w->n_objects[5]; i++) {
        decode_service_free(w->objects[5][i]);
    }
    decoder_free(w->d);
    fix_done(w->f);
}

/* ---- outcomes -------------------------------------------------------------------------------- */

struct w_tally {
    const char *name[64];
    uint32_t count[64];
    uint32_t n;
};

static inline void w_tally(struct w_tally *t, const char *name, uint32_t count)
{
    uint32_t i = 0;
    while (i < t->n && strcmp(t->name[i], name) < 0) {
        i++;
    }
    if (i == t->n || !str_eq(t->name[i], name)) {
        memmove(&t->name[i + 1], &t->name[i], (t->n - i) * sizeof(t->name[0]));
        memmove(&t->count[i + 1], &t->count[i], (t->n - i) * sizeof(t->count[0]));
        t->name[i] = name;
        t->count[i] = 0;
        t->n++;
    }
    t->count[i] += count;
}

static inline const char *w_zone(const struct world *w, const struct reqset *set)
{
    const struct req *r = reqset_get(set, L_ZONE);
    sym zone = r ? req_single(r) : SYM_NONE;
    const char *text = sym_str(w->f->syms, zone);
    return zone == SYM_NONE ? "?" : str_starts(text, "zone-") ? text + 5 : text;
}

static inline void w_print(struct w_tally *t, const char *sep, struct buf *out)
{
    for (uint32_t i = 0; i < t->n; i++) {
        buf_printf(out, "%s%s%s%u", i ? " " : "", t->name[i], sep, (unsigned)t->count[i]);
    }
}

static inline const char *w_outcome(struct world *w, const struct sched_result *r)
{
    struct w_tally zones = {.n = 0}, codes = {.n = 0};
    struct buf out;
    for (uint32_t i = 0; i < r->n_claims; i++) {
        w_tally(&zones, w_zone(w, &r->claims[i].reqs), r->claims[i].n_pods);
    }
    for (uint32_t i = 0; i < r->n_existing; i++) {
        w_tally(&zones, w_zone(w, &r->existing[i].node->labels), 1);
    }
    for (uint32_t i = 0; i < r->n_refused; i++) {
        w_tally(&codes, reason_name(r->refused[i].reason.code), 1);
    }
    buf_init(&out, 4096);
    w_print(&zones, "=", &out);
    buf_printf(&out, "%s%u claims", out.n ? " | " : "", (unsigned)r->n_claims);
    if (r->n_existing > 0) {
        buf_printf(&out, " | %u on nodes", (unsigned)r->n_existing);
    }
    if (codes.n > 0) {
        buf_puts(&out, " | ");
        w_print(&codes, " ", &out);
    }
    const char *ret = arena_strdup(&w->f->a, out.p);
    buf_done(&out);
    return ret;
}

/* Which pod lies where, in full. */
static inline const char *w_detail(struct world *w, const struct sched_result *r)
{
    struct buf out;
    buf_init(&out, 1 << 20);
    for (uint32_t i = 0; i < r->n_existing; i++) {
        buf_printf(&out, "%s>%s\n", r->existing[i].pod->m.name, r->existing[i].node->name);
    }
    for (uint32_t i = 0; i < r->n_claims; i++) {
        const struct sched_claim *c = &r->claims[i];
        buf_printf(&out, "%s %s %u types:", c->pool->np->m.name, w_zone(w, &c->reqs), c->n_types);
        for (uint32_t p = 0; p < c->n_pods; p++) {
            buf_printf(&out, " %s", c->pods[p]->m.name);
        }
        buf_putc(&out, '\n');
    }
    for (uint32_t i = 0; i < r->n_refused; i++) {
        buf_printf(&out, "no %s: ", r->refused[i].pod->m.name);
        reason_fmt(w->f->syms, &r->refused[i].reason, &out);
        buf_putc(&out, '\n');
    }
    const char *ret = arena_strdup(&w->f->a, out.p);
    buf_done(&out);
    return ret;
}

static inline void w_reverse(void *items, uint32_t n, size_t size)
{
    char *v = items, tmp[64];
    for (uint32_t i = 0; i + 1 < n - i; i++) {
        memcpy(tmp, v + i * size, size);
        memcpy(v + i * size, v + (n - 1 - i) * size, size);
        memcpy(v + (n - 1 - i) * size, tmp, size);
    }
}

static inline const struct sched_result *w_place(struct world *w)
{
    struct fix *f = w->f;
    const struct sched_result *r = fix_schedule(f, 1000000);
    const char *once = w_detail(w, r);
    ck_assert_str_eq(w_detail(w, fix_schedule(f, 1)), once);
    for (int i = 0; i < 2; i++) {
        w_reverse(f->pods + i, f->in.n_pods - (uint32_t)i % (f->in.n_pods + 1), sizeof(f->pods[0]));
        w_reverse(w->bound, f->in.n_bound, sizeof(w->bound[0]));
        w_reverse(f->nodes, f->in.n_nodes, sizeof(f->nodes[0]));
        w_reverse(f->pools, f->in.n_pools, sizeof(f->pools[0]));
        ck_assert_str_eq(w_detail(w, fix_schedule(f, 1000000)), once);
    }
    return r;
}

struct place_row {
    const char *name, *world, *outcome;
    const char *reason; /* of the first refused pod, or NULL */
    enum preference_policy policy;
};

static inline void place_row(const struct place_row *row)
{
    static struct world w;
    w_build(&w, row->world);
    w.f->opt.preference = row->policy;
    const struct sched_result *r = w_place(&w);
    const char *got = w_outcome(&w, r);
    ck_assert_msg(str_eq(got, row->outcome), "%s: %s, not %s\n%s", row->name, got, row->outcome,
                  w_detail(&w, r));
    if (row->reason) {
        struct buf out;
        buf_init(&out, 4096);
        reason_fmt(w.f->syms, &r->refused[0].reason, &out);
        ck_assert_msg(str_eq(out.p, row->reason), "%s: %s", row->name, out.p);
        buf_done(&out);
    }
    w_done(&w);
}

#endif
