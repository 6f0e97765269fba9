/*
 * fixture.h - a small world for tests of the core, written in short texts.
 *
 * Requirements:  "kubernetes.io/arch In amd64,arm64; team Exists; size Gt 3"   min: "zone In a,b
 * min 2" Taints:        "team=a:NoSchedule, spot:PreferNoSchedule" Tolerations: "team=a:NoSchedule,
 * spot, *"      (without value: Exists; * = everything) Everything lives in the fixture's arena and
 * symtab; fix_done drops it.
 */
#ifndef KARP_TESTS_FIXTURE_H
#define KARP_TESTS_FIXTURE_H

#include "common/base/err.h"
#include "common/base/str.h"
#include "common/core/labels.h"
#include "common/core/reason.h"
#include "common/core/sched/sched.h"
#include "common/core/snapshot.h"

#define FIX_MAX 16384
#define FIX_NOW INT64_C(1700000000000000000)
#define FIX_S INT64_C(1000000000)
#define FIX_GIB (INT64_C(1) << 30)
#define FIX_MIB (INT64_C(1) << 20)

struct fix {
    struct arena a;
    struct symtab *syms;
    struct catalog *catalog;
    struct offerings *offerings;
    struct snapshot_in in;
    const struct node *nodes[FIX_MAX];
    const struct node_usage *usage[FIX_MAX];
    const struct nodeclaim *claims[FIX_MAX];
    const struct daemonset *daemonsets[64];
    const struct pod *pods[FIX_MAX];
    struct snapshot_pool_in pools[64];
    struct sched_options opt;
};

/* One type: 0.05 $/h per vCPU and 40% of it on spot unless a price is given (thousandths of $). */
struct fix_type {
    const char *name, *arch;
    int vcpus, gib, gpus, milli_usd;
};

static const struct fix_type fix_types[] = {
    {"c.large", "amd64", 2, 4, 0, 0},     {"c.xlarge", "amd64", 4, 8, 0, 0},
    {"c.2xlarge", "amd64", 8, 16, 0, 0},  {"c.4xlarge", "amd64", 16, 32, 0, 0},
    {"c.8xlarge", "amd64", 32, 64, 0, 0}, {"g.xlarge", "amd64", 4, 16, 1, 900},
    {"r.xlarge", "amd64", 4, 32, 0, 260}, {"t.large", "arm64", 2, 8, 0, 80},
    {"t.xlarge", "arm64", 4, 16, 0, 160}, {"t.2xlarge", "arm64", 8, 32, 0, 320},
};

/* ---- texts ----------------------------------------------------------------------------------- */

static inline char *fix_trim(char *s)
{
    while (*s == ' ') {
        s++;
    }
    size_t n = strlen(s);
    while (n > 0 && s[n - 1] == ' ') {
        s[--n] = '\0';
    }
    return s;
}

/* Cuts the next part off *rest; NULL at the end. */
static inline char *fix_part(char **rest, char sep)
{
    char *s = *rest;
    if (s == NULL || *fix_trim(s) == '\0') {
        return NULL;
    }
    char *end = strchr(s, sep);
    *rest = end ? end + 1 : NULL;
    if (end != NULL) {
        *end = '\0';
    }
    return fix_trim(s);
}

static inline sym fix_sym(struct fix *f, const char *s)
{
    return sym_intern(f->syms, s);
}

static inline struct req fix_req(struct fix *f, char *text)
{
    sym values[64];
    uint32_t n = 0;
    char *key = fix_part(&text, ' '), *op_name = fix_part(&text, ' ');
    char *list = fix_part(&text, ' '), *min = fix_part(&text, ' ');
    uint16_t min_values = 0;
    if (list != NULL && str_eq(list, "min")) {
        min_values = (uint16_t)atoi(min);
        list = NULL;
    } else if (min != NULL) {
        min_values = (uint16_t)atoi(fix_part(&text, ' '));
    }
    for (char *v; list != NULL && (v = fix_part(&list, ',')) != NULL && n < 64;) {
        values[n++] = fix_sym(f, v);
    }
    enum req_op op = REQ_IN;
    struct req ret;
    struct err err = ERR_INIT;
    if (!req_op_parse(op_name, &op) ||
        req_make(&f->a, f->syms, fix_sym(f, key), op, values, n, min_values, &ret, &err) != 0) {
        BUG("fixture: %s %s: %s", key, op_name, err.msg);
    }
    return ret;
}

static inline struct reqset fix_reqs(struct fix *f, const char *text)
{
    char *rest = arena_strdup(&f->a, text ? text : "");
    struct reqset set = {NULL, 0};
    for (char *one; (one = fix_part(&rest, ';')) != NULL;) {
        struct req r = fix_req(f, one);
        set = reqset_add(&f->a, f->syms, &set, &r);
    }
    return set;
}

static inline struct taints fix_taints(struct fix *f, const char *text)
{
    char *rest = arena_strdup(&f->a, text ? text : "");
    struct taint *v = ARENA_NEW_N(&f->a, struct taint, 16);
    uint32_t n = 0;
    for (char *one; (one = fix_part(&rest, ',')) != NULL; n++) {
        char *kv = fix_part(&one, ':');
        char *key = fix_part(&kv, '='), *value = fix_part(&kv, '=');
        v[n] = (struct taint){fix_sym(f, key), value ? fix_sym(f, value) : V_EMPTY, EFFECT_ANY};
        if (one == NULL || !taint_effect_parse(one, &v[n].effect)) {
            BUG("fixture: taint %s", key);
        }
    }
    return (struct taints){v, n};
}

static inline struct tolerations fix_tolerations(struct fix *f, const char *text)
{
    char *rest = arena_strdup(&f->a, text ? text : "");
    struct toleration *v = ARENA_NEW_N(&f->a, struct toleration, 16);
    uint32_t n = 0;
    for (char *one; (one = fix_part(&rest, ',')) != NULL; n++) {
        char *kv = fix_part(&one, ':');
        char *key = fix_part(&kv, '='), *value = fix_part(&kv, '=');
        v[n] = (struct toleration){.key = str_eq(key, "*") ? SYM_NONE : fix_sym(f, key),
                                   .value = value ? fix_sym(f, value) : SYM_NONE,
                                   .exists = value == NULL,
                                   .seconds = -1};
        if (one != NULL) {
            (void)taint_effect_parse(one, &v[n].effect);
        }
    }
    return (struct tolerations){v, n};
}

static inline int fix_cmp_label(const void *x, const void *y)
{
    sym a = ((const struct label *)x)->key, b = ((const struct label *)y)->key;
    return a < b ? -1 : a > b;
}

/* "key=value, key=value" */
static inline struct labels fix_labels(struct fix *f, const char *text)
{
    char *rest = arena_strdup(&f->a, text ? text : "");
    struct label *v = ARENA_NEW_N(&f->a, struct label, 32);
    uint32_t n = 0;
    for (char *one; (one = fix_part(&rest, ',')) != NULL; n++) {
        char *key = fix_part(&one, '='), *value = fix_part(&one, '=');
        v[n] = (struct label){fix_sym(f, key), fix_sym(f, value ? value : "")};
    }
    qsort(v, n, sizeof(*v), fix_cmp_label);
    return (struct labels){v, n};
}

static inline struct resources fix_res(int64_t cpu_milli, int64_t mem_mib, int64_t pods)
{
    struct resources r = {.n_ext = 0};
    r.v[RES_CPU] = cpu_milli;
    r.v[RES_MEMORY] = mem_mib * FIX_MIB;
    r.v[RES_PODS] = pods;
    return r;
}

/* ---- the world ------------------------------------------------------------------------------- */

static inline struct req fix_label(struct fix *f, sym key, const char *value)
{
    sym *v = ARENA_NEW(&f->a, sym);
    *v = fix_sym(f, value);
    return (struct req){.key = key, .n = 1, .values = v};
}

static inline void fix_use_types(struct fix *f, const struct fix_type *types, uint32_t n)
{
    struct catalog_type *v = ARENA_NEW_N(&f->a, struct catalog_type, n);
    const sym zones[] = {fix_sym(f, "zone-a"), fix_sym(f, "zone-b"), fix_sym(f, "zone-c")};
    const sym ids[] = {fix_sym(f, "id-1"), fix_sym(f, "id-2"), fix_sym(f, "id-3")};
    struct catalog_zones z = {zones, ids, 3};
    for (uint32_t i = 0; i < n; i++) {
        const struct fix_type *t = &types[i];
        struct req *l = ARENA_NEW_N(&f->a, struct req, 8);
        char *family = arena_strdup(&f->a, t->name);
        *strchr(family, '.') = '\0';
        l[0] = fix_label(f, L_INSTANCE_TYPE, t->name);
        l[1] = fix_label(f, L_ARCH, t->arch);
        l[2] = fix_label(f, L_OS, "linux");
        l[3] = fix_label(f, L_CPU, arena_printf(&f->a, "%d", t->vcpus));
        l[4] = fix_label(f, L_FAMILY, family);
        l[5] = fix_label(f, L_GPU_NAME, "t9");
        v[i] =
            (struct catalog_type){.name = fix_sym(f, t->name),
                                  .labels = l,
                                  .n_labels = t->gpus > 0 ? 6 : 5,
                                  .capacity = fix_res(t->vcpus * 1000, t->gib * 1024, 58),
                                  .allocatable = fix_res(t->vcpus * 1000 - 100, t->gib * 960, 58)};
        v[i].capacity.v[RES_NVIDIA_GPU] = v[i].allocatable.v[RES_NVIDIA_GPU] = t->gpus;
    }
    catalog_free(f->catalog);
    offerings_free(f->offerings);
    struct err err = ERR_INIT;
    f->catalog = catalog_new(f->syms, v, n, &z, &err);
    if (f->catalog == NULL) {
        BUG("fixture: %s", err.msg);
    }
    f->offerings = offerings_new(f->catalog);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = (uint32_t)catalog_find_type(f->catalog, fix_sym(f, types[i].name));
        int64_t usd = types[i].milli_usd ? types[i].milli_usd : types[i].vcpus * 50;
        for (uint32_t zone = 0; zone < 3; zone++) {
            offerings_set_price(f->offerings, at, zone, CT_ON_DEMAND, usd * PUSD_PER_USD / 1000);
            offerings_set_price(f->offerings, at, zone, CT_SPOT, usd * PUSD_PER_USD / 2500);
        }
    }
}

/* On the heap: it is large. */
static inline struct fix *fix_new(void)
{
    struct fix *f = calloc(1, sizeof(*f));
    if (f == NULL) {
        BUG("out of memory");
    }
    arena_init(&f->a, 0, SIZE_MAX);
    f->syms = labels_symtab_new();
    f->in = (struct snapshot_in){.now_ns = FIX_NOW,
                                 .syms = f->syms,
                                 .nodes = f->nodes,
                                 .usage = f->usage,
                                 .claims = f->claims,
                                 .pools = f->pools,
                                 .daemonsets = f->daemonsets,
                                 .pods = f->pods};
    sched_options_default(&f->opt);
    fix_use_types(f, fix_types, ARRAY_LEN(fix_types));
    return f;
}

static inline void fix_done(struct fix *f)
{
    catalog_free(f->catalog);
    offerings_free(f->offerings);
    arena_done(&f->a);
    symtab_free(f->syms);
    free(f);
}

static inline struct meta fix_meta(struct fix *f, const char *name)
{
    return (struct meta){.name = arena_strdup(&f->a, name),
                         .ns = "",
                         .uid = arena_printf(&f->a, "uid-%s", name),
                         .resource_version = "1",
                         .created_ns = FIX_NOW - 3600 * FIX_S};
}

static inline struct pod_class *fix_class(struct fix *f, int64_t cpu_milli, int64_t mem_mib)
{
    struct pod_class *c = ARENA_NEW(&f->a, struct pod_class);
    c->requests = fix_res(cpu_milli, mem_mib, 1);
    c->key = "";
    return c;
}

static inline struct pod *fix_pod(struct fix *f, const struct pod_class *cls, const char *name)
{
    struct pod *p = ARENA_NEW(&f->a, struct pod);
    p->m = fix_meta(f, name);
    p->m.ns = "default";
    p->cls = cls;
    p->node_name = p->nominated_node = p->owner_uid = p->priority_class = "";
    p->owner = POWNER_REPLICASET;
    p->unschedulable = true;
    f->pods[f->in.n_pods++] = p;
    return p;
}

static inline void fix_pods(struct fix *f, const struct pod_class *cls, uint32_t n,
                            const char *prefix)
{
    for (uint32_t i = 0; i < n; i++) {
        fix_pod(f, cls, arena_printf(&f->a, "%s-%05u", prefix, i));
    }
}

static inline struct nodepool *fix_pool(struct fix *f, const char *name, const char *reqs)
{
    struct nodepool *np = ARENA_NEW(&f->a, struct nodepool);
    np->m = fix_meta(f, name);
    np->reqs = fix_reqs(f, reqs);
    np->class_ref = (struct class_ref){"karpenter.k8s.aws", "EC2NodeClass", "default"};
    np->expire_after_ns = DURATION_NEVER;
    np->termination_grace_ns = DURATION_ABSENT;
    np->policy = POLICY_EMPTY_OR_UNDERUTILIZED;
    np->limit_nodes = -1;
    for (int i = 0; i < RES_FIXED; i++) {
        np->limits.v[i] = -1;
    }
    fix_sym(f, name);
    f->pools[f->in.n_pools++] = (struct snapshot_pool_in){
        .pool = np, .catalog = f->catalog, .offerings = f->offerings, .max_new_nodes = -1};
    return np;
}

static inline struct pod_class *fix_daemonset(struct fix *f, const char *name, int64_t cpu_milli,
                                              int64_t mem_mib)
{
    struct daemonset *ds = ARENA_NEW(&f->a, struct daemonset);
    struct pod_class *cls = fix_class(f, cpu_milli, mem_mib);
    ds->m = fix_meta(f, name);
    ds->m.ns = "kube-system";
    ds->cls = cls;
    f->daemonsets[f->in.n_daemonsets++] = ds;
    return cls;
}

/* An initialized node of the pool ("" = nobody's), 4 vCPU and 16 GiB, with these labels too. */
static inline struct node *fix_node(struct fix *f, const char *name, const char *pool,
                                    const char *labels)
{
    struct node *n = ARENA_NEW(&f->a, struct node);
    n->m = fix_meta(f, name);
    const char *own = pool[0] == '\0'
                          ? ""
                          : arena_printf(&f->a,
                                         "karpenter.sh/nodepool=%s, karpenter.sh/registered=true, "
                                         "karpenter.sh/initialized=true, ",
                                         pool);
    n->m.labels = fix_labels(
        f, arena_printf(&f->a, "%skubernetes.io/hostname=%s, %s", own, name, labels ? labels : ""));
    n->provider_id = arena_printf(&f->a, "aws:///zone-a/%s", name);
    n->capacity = fix_res(4000, 16 * 1024, 58);
    n->allocatable = n->capacity;
    n->ready = STATUS_TRUE;
    f->usage[f->in.n_nodes] = NULL;
    f->nodes[f->in.n_nodes++] = n;
    return n;
}

static inline struct node_usage *fix_usage(struct fix *f, uint32_t node)
{
    struct node_usage *u = ARENA_NEW(&f->a, struct node_usage);
    u->node_name = f->nodes[node]->m.name;
    f->usage[node] = u;
    return u;
}

static inline void fix_condition(struct fix *f, struct conditions *c, const char *type)
{
    struct condition *v = ARENA_NEW_N(&f->a, struct condition, c->n + 1);
    if (c->n > 0) {
        memcpy(v, c->v, c->n * sizeof(*v));
    }
    v[c->n] = (struct condition){.type = type,
                                 .reason = type,
                                 .message = "",
                                 .status = STATUS_TRUE,
                                 .transition_ns = FIX_NOW - 3600 * FIX_S};
    *c = (struct conditions){v, c->n + 1};
}

/* A claim that was not launched yet. */
static inline struct nodeclaim *fix_claim(struct fix *f, const char *name, const char *pool)
{
    struct nodeclaim *nc = ARENA_NEW(&f->a, struct nodeclaim);
    nc->m = fix_meta(f, name);
    nc->pool = pool;
    nc->m.labels = fix_labels(f, arena_printf(&f->a, "karpenter.sh/nodepool=%s", pool));
    nc->node_name = nc->provider_id = nc->image_id = "";
    nc->expire_after_ns = DURATION_NEVER;
    nc->termination_grace_ns = DURATION_ABSENT;
    f->claims[f->in.n_claims++] = nc;
    return nc;
}

/* The claim of a node that fix_node made, initialized. */
static inline struct nodeclaim *fix_claim_of(struct fix *f, const struct node *n, const char *pool)
{
    struct nodeclaim *nc = fix_claim(f, arena_printf(&f->a, "claim-%s", n->m.name), pool);
    nc->provider_id = n->provider_id;
    nc->node_name = n->m.name;
    nc->capacity = n->capacity;
    nc->allocatable = n->allocatable;
    fix_condition(f, &nc->conditions, "Launched");
    fix_condition(f, &nc->conditions, "Registered");
    fix_condition(f, &nc->conditions, "Initialized");
    return nc;
}

static inline const struct snapshot *fix_snapshot(struct fix *f)
{
    struct snapshot *s = ARENA_NEW(&f->a, struct snapshot);
    snapshot_build(&f->a, &f->in, s);
    return s;
}

/* Runs the pass in slices of so many units. */
static inline struct sched *fix_pass(struct fix *f, uint64_t units)
{
    struct sched *s = sched_begin(&f->a, fix_snapshot(f), &f->opt);
    while (!sched_step(s, units)) {
    }
    return s;
}

static inline const struct sched_result *fix_schedule(struct fix *f, uint64_t units)
{
    return sched_result(fix_pass(f, units));
}

static inline const char *fix_type_name(const struct fix *f, const struct sched_claim *c,
                                        uint32_t i)
{
    return sym_str(f->syms, catalog_type_name(c->pool->catalog, c->types[i]));
}

#endif
