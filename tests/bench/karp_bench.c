/*
 * karp_bench.c - the decision core by itself, timed on inputs from files.
 *
 *   karp-bench schedule --types FILE --nodepool FILE... --pods FILE... [--baseline]
 *                       [--preference-policy P] [--repeat N] [--plan FILE] -o json
 *
 * Files are JSON or YAML, gzip too: types as kubectl karp --catalog takes them, NodePools, pods (a
 * List, whose items need no kind). The clock starts with decoded pods and runs to the end of the
 * decision; the median of all runs is told. peakRssBytes is how far the resident size rose during
 * the runs, above what decoded input needs.
 *
 * --baseline times the placement that is compatible with Karpenter's; without it that is made
 * cheaper too (improve.h), and --plan writes the safe plan.
 */
#include "cmd/gather.h"
#include "cmd/input.h"
#include "cmd/money.h"
#include "cmd/types.h"
#include "cmd/world.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/core/labels.h"
#include "common/core/sched.h"

#include <malloc.h>
#include <stdio.h>
#include <time.h>

#define REPEAT_MAX 1000
#define FILES_MAX 64

struct args {
    const char *types, *plan, *policy;
    const char *pools[FILES_MAX], *pods[FILES_MAX];
    size_t n_pools, n_pods;
    uint32_t repeat;
    bool baseline, json;
};

/* What the runs came to; the plan is the same in each. */
struct report {
    double ms[REPEAT_MAX];
    int64_t peak_rss;
    uint32_t claims, refused, existing;
    uint64_t work_units;
    int64_t baseline_pusd_h, tight_pusd_h, safe_pusd_h;
    uint32_t stranded;
};

/* ---- arguments ------------------------------------------------------------------------------- */

static int usage(const char *what)
{
    fprintf(
        stderr,
        "karp-bench: %s\n"
        "usage: karp-bench schedule --types FILE --nodepool FILE... --pods FILE... [--baseline]\n"
        "       [--preference-policy Respect|Ignore|Reasonable] [--repeat N] [--plan FILE] "
        "-o json\n",
        what);
    return 2;
}

/* Files up to the next option. */
static int read_files(int argc, char **argv, int i, const char **ret, size_t *ret_n)
{
    for (; i < argc && argv[i][0] != '-' && *ret_n < FILES_MAX; i++) {
        ret[(*ret_n)++] = argv[i];
    }
    return i;
}

static bool read_repeat(const char *text, uint32_t *ret)
{
    int64_t n;
    if (!text || !str_parse_i64(text, &n) || n < 1 || n > REPEAT_MAX) {
        return false;
    }
    *ret = (uint32_t)n;
    return true;
}

static bool read_args(int argc, char **argv, struct args *a)
{
    *a = (struct args){.repeat = 1, .policy = "Respect"};
    for (int i = 2; i < argc;) {
        const char *name = argv[i++], *value = i < argc ? argv[i] : NULL;
        if (str_eq(name, "--nodepool")) {
            i = read_files(argc, argv, i, a->pools, &a->n_pools);
        } else if (str_eq(name, "--pods")) {
            i = read_files(argc, argv, i, a->pods, &a->n_pods);
        } else if (str_eq(name, "--baseline")) {
            a->baseline = true;
        } else if (!value) {
            return false;
        } else if (str_eq(name, "--types")) {
            a->types = argv[i++];
        } else if (str_eq(name, "--plan")) {
            a->plan = argv[i++];
        } else if (str_eq(name, "--preference-policy")) {
            a->policy = argv[i++];
        } else if (str_eq(name, "-o")) {
            a->json = str_eq(argv[i++], "json");
        } else if (!str_eq(name, "--repeat") || !read_repeat(argv[i++], &a->repeat)) {
            return false;
        }
    }
    return a->types && a->n_pools > 0 && a->n_pods > 0 && a->json;
}

static bool read_policy(const char *text, enum preference_policy *ret)
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

/* ---- input ----------------------------------------------------------------------------------- */

static int read_objects(struct world *w, const char *path, const char *kind, const char *version,
                        struct err *reterr)
{
    AUTO_JSON json_t *doc = input_json(path, reterr);
    if (!doc) {
        return -1;
    }
    const json_t *items = jsonx_arr(doc, "items");
    size_t i, n = 0;
    json_t *o;
    json_array_foreach ((json_t *)(uintptr_t)items, i, o) {
        n += world_add(w, o, kind, version);
    }
    n += items ? 0 : world_add(w, doc, kind, version);
    return n > 0 ? 0 : err_set(reterr, ERR_INVALID, "%s: no %s", path, kind);
}

static int read_input(const struct args *a, struct world *w, struct types *ty, struct err *reterr)
{
    static const struct opt_texts all;
    for (size_t i = 0; i < a->n_pools; i++) {
        if (read_objects(w, a->pools[i], "NodePool", "karpenter.sh/v1", reterr)) {
            return -1;
        }
    }
    for (size_t i = 0; i < a->n_pods; i++) {
        if (read_objects(w, a->pods[i], "Pod", "v1", reterr)) {
            return -1;
        }
    }
    world_finish(w);
    if (types_load(w->syms, a->types, &all, ty, reterr)) {
        return -1;
    }
    if (!ty->catalog) {
        return err_set(reterr, ERR_INVALID, "%s: types must be described in full, with prices",
                       a->types);
    }
    for (size_t i = 0; i < world_n(w, KIND_NODE_POOL); i++) {
        const struct nodepool *np = world_at(w, KIND_NODE_POOL, i);
        (void)sym_intern(w->syms, np->m.name);
        (void)sym_intern(w->syms, np->class_ref.name);
    }
    return 0;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int64_t status_bytes(const char *field)
{
    char line[256];
    int64_t kib = 0;
    FILE *f = fopen("/proc/self/status", "re");
    while (f && fgets(line, sizeof(line), f)) {
        if (str_starts(line, field)) {
            kib = strtoll(line + strlen(field), NULL, 10);
        }
    }
    if (f) {
        (void)fclose(f);
    }
    return kib * 1024;
}

/* The kernel forgets the peak so far. */
static void reset_peak(void)
{
    (void)malloc_trim(0);
    FILE *f = fopen("/proc/self/clear_refs", "we");
    if (f) {
        (void)fputs("5\n", f);
        (void)fclose(f);
    }
}

/* ---- runs ------------------------------------------------------------------------------------ */

static double now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void snapshot_of(struct arena *a, struct world *w, const struct types *ty,
                        struct snapshot *ret)
{
    uint32_t n = (uint32_t)world_n(w, KIND_NODE_POOL);
    struct snapshot_pool_in *pools = ARENA_NEW_N(a, struct snapshot_pool_in, n);
    for (uint32_t i = 0; i < n; i++) {
        pools[i] = (struct snapshot_pool_in){.pool = world_at(w, KIND_NODE_POOL, i),
                                             .catalog = ty->catalog,
                                             .offerings = ty->offerings,
                                             .max_new_nodes = -1};
    }
    struct snapshot_in in = {.now_ns = w->now_ns,
                             .syms = w->syms,
                             .pools = pools,
                             .n_pools = n,
                             .pods = (const struct pod *const *)w->lists[KIND_POD].v,
                             .n_pods = (uint32_t)world_n(w, KIND_POD)};
    snapshot_build(a, &in, ret);
}

static const struct sched_result *run(struct arena *a, struct world *w, const struct types *ty,
                                      enum preference_policy policy, bool baseline)
{
    struct snapshot snap;
    struct sched_options o;
    sched_options_default(&o);
    o.preference = policy;
    o.placement = baseline ? PLACEMENT_BASELINE : PLACEMENT_COMPATIBLE;
    snapshot_of(a, w, ty, &snap);
    struct sched *s = sched_begin(a, &snap, &o);
    while (!sched_step(s, UINT64_MAX)) {
    }
    return sched_result(s);
}

static void note(struct report *r, const struct sched_result *res)
{
    r->claims = res->n_claims;
    r->refused = res->n_refused;
    r->existing = res->n_existing;
    r->work_units = res->work_units;
    r->baseline_pusd_h = res->baseline_pusd_h;
    r->tight_pusd_h = res->tight_pusd_h;
    r->safe_pusd_h = res->price_pusd_h;
    r->stranded = res->n_stranded;
}

static json_t *claim_json(const struct world *w, const struct sched_claim *c)
{
    json_t *pods = json_array(), *reqs = json_array();
    char price[MONEY_TEXT];
    for (uint32_t i = 0; i < c->n_pods; i++) {
        json_array_append_new(pods, json_sprintf("%s/%s", c->pods[i]->m.ns, c->pods[i]->m.name));
    }
    for (uint32_t i = 0; i < c->reqs.n; i++) {
        AUTO_BUF struct buf b;
        buf_init(&b, 1 << 20);
        req_fmt(w->syms, &c->reqs.v[i], 0, &b);
        json_array_append_new(reqs, json_string(b.p));
    }
    const char *type = sym_str(w->syms, catalog_type_name(c->pool->catalog, c->types[0]));
    return json_pack("{s:s,s:s,s:s,s:i,s:o,s:o}", "nodePool", c->pool->np->m.name, "instanceType",
                     type, "pricePerHour", money_exact(c->price_pusd_h, price), "instanceTypes",
                     (int)c->n_types, "requirements", reqs, "pods", pods);
}

static int write_plan(const char *path, const struct world *w, const struct sched_result *res,
                      struct err *reterr)
{
    AUTO_JSON json_t *plan = json_object();
    json_t *claims = json_array(), *refused = json_array();
    for (uint32_t i = 0; i < res->n_claims; i++) {
        json_array_append_new(claims, claim_json(w, &res->claims[i]));
    }
    for (uint32_t i = 0; i < res->n_refused; i++) {
        const struct sched_refusal *r = &res->refused[i];
        AUTO_BUF struct buf b;
        buf_init(&b, 1 << 16);
        reason_fmt(w->syms, &r->reason, &b);
        json_array_append_new(refused,
                              json_pack("{s:o,s:s,s:s}", "pod",
                                        json_sprintf("%s/%s", r->pod->m.ns, r->pod->m.name), "code",
                                        reason_name(r->reason.code), "message", b.p));
    }
    json_object_set_new(plan, "claims", claims);
    json_object_set_new(plan, "unschedulable", refused);
    if (json_dump_file(plan, path, JSON_INDENT(1))) {
        return err_set(reterr, ERR_INVALID, "%s: cannot be written", path);
    }
    return 0;
}

static int runs(const struct args *a, struct world *w, const struct types *ty,
                enum preference_policy policy, struct report *r, struct err *reterr)
{
    int rc = 0;
    reset_peak();
    int64_t before = status_bytes("VmRSS:");
    for (uint32_t i = 0; i < a->repeat; i++) {
        struct arena mem;
        arena_init(&mem, 1 << 20, SIZE_MAX);
        double start = now_ms();
        const struct sched_result *res = run(&mem, w, ty, policy, a->baseline);
        r->ms[i] = now_ms() - start;
        note(r, res);
        if (i == 0 && a->plan) {
            rc = write_plan(a->plan, w, res, reterr);
        }
        arena_done(&mem);
    }
    r->peak_rss = status_bytes("VmHWM:") - before;
    return rc;
}

/* ---- report ---------------------------------------------------------------------------------- */

static int cmp_ms(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}

static json_t *price_json(int64_t pusd_h)
{
    char text[MONEY_TEXT];
    return json_string(money_exact(pusd_h, text));
}

static void print(const struct args *a, const struct world *w, struct report *r)
{
    qsort(r->ms, a->repeat, sizeof(r->ms[0]), cmp_ms);
    double ms = r->ms[a->repeat / 2];
    size_t pods = world_n(w, KIND_POD);
    AUTO_JSON json_t *o = json_object();
    json_object_set_new(o, "kind", json_string("BenchReport"));
    json_object_set_new(o, "input", json_string(a->pods[0]));
    json_object_set_new(o, "pods", json_integer((json_int_t)pods));
    json_object_set_new(o, "nodes", json_integer(0));
    json_object_set_new(o, "milliseconds", json_real(ms));
    json_object_set_new(o, "podsPerSecond", json_real(ms > 0 ? (double)pods * 1e3 / ms : 0));
    json_object_set_new(o, "peakRssBytes", json_integer(r->peak_rss));
    json_object_set_new(o, "claims", json_integer(r->claims));
    json_object_set_new(o, "unschedulable", json_integer(r->refused));
    json_object_set_new(o, "workUnits", json_integer((json_int_t)r->work_units));
    json_object_set_new(o, "baselinePricePerHour", price_json(r->baseline_pusd_h));
    json_object_set_new(o, "pricePerHour", price_json(r->tight_pusd_h));
    json_object_set_new(o, "safePricePerHour", price_json(r->safe_pusd_h));
    json_object_set_new(o, "strandedPods", json_integer(r->stranded));
    (void)json_dumpf(o, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
    (void)putchar('\n');
}

int main(int argc, char **argv)
{
    static struct report report;
    struct args a;
    enum preference_policy policy;
    struct err err = ERR_INIT;
    struct world w;
    struct types ty = {.facts = NULL};
    if (argc < 2 || !str_eq(argv[1], "schedule")) {
        return usage("what is to be timed? schedule");
    }
    if (!read_args(argc, argv, &a) || !read_policy(a.policy, &policy)) {
        return usage("options are missing or wrong");
    }
    world_init(&w, "kube-system");
    int rc = read_input(&a, &w, &ty, &err) || runs(&a, &w, &ty, policy, &report, &err) ? 1 : 0;
    if (rc == 0) {
        print(&a, &w, &report);
    } else {
        fprintf(stderr, "karp-bench: %s\n", err.msg);
    }
    types_done(&ty);
    world_done(&w);
    return rc;
}
