/* bench_generate.c - see bench_generate.h: options, files, pools and pending pods. */
#include "bench_generate.h"

#include "common/base/str.h"

#include <errno.h>
#include <sys/stat.h>
#include <zlib.h>

static const char *const rules[] = {"generic",       "spread-zone", "spread-host",
                                    "affinity-zone", "anti-host",   "preference"};

bool generate_is_rule(const char *shape)
{
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        if (str_eq(rules[i], shape)) {
            return true;
        }
    }
    return str_eq(shape, "diverse");
}

/* ---- files ----------------------------------------------------------------------------------- */

int generate_open(struct generate *g, const char *name, struct err *reterr)
{
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s/%s", g->out, name);
    g->file = gzopen(path, str_ends(name, ".gz") ? "wb6" : "wbT");
    g->failed = false;
    g->first = true;
    return g->file ? 0 : err_set(reterr, ERR_INVALID, "%s: %s", path, strerror(errno));
}

int generate_close(struct generate *g, const char *name, struct err *reterr)
{
    bool ok = gzclose(g->file) == Z_OK && !g->failed && !g->text.over;
    return ok ? 0 : err_set(reterr, ERR_INVALID, "%s/%s: cannot be written", g->out, name);
}

void generate_text(struct generate *g, const char *text)
{
    int n = (int)strlen(text);
    g->failed |= n > 0 && gzwrite(g->file, text, (unsigned)n) != n;
}

void generate_next(struct generate *g)
{
    generate_text(g, g->first ? "\n" : ",\n");
    g->first = false;
    buf_reset(&g->text);
}

void generate_flush(struct generate *g)
{
    generate_text(g, g->text.p);
}

/* ---- pools ----------------------------------------------------------------------------------- */

/* Every third pool is on-demand only, every third of one architecture; all run Linux. */
static void pool_requirements(struct generate *g, int64_t i)
{
    buf_puts(&g->text, "{\"key\":\"kubernetes.io/os\",\"operator\":\"In\",\"values\":[\"linux\"]}");
    if (i % 3 == 1) {
        buf_puts(&g->text, ",{\"key\":\"karpenter.sh/capacity-type\",\"operator\":\"In\","
                           "\"values\":[\"on-demand\"]}");
    }
    if (i % 3 == 2) {
        buf_puts(&g->text,
                 ",{\"key\":\"kubernetes.io/arch\",\"operator\":\"In\",\"values\":[\"amd64\"]}");
    }
}

void generate_conditions(struct buf *b, const char *const *types, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        buf_printf(b,
                   "%s{\"type\":\"%s\",\"status\":\"True\",\"reason\":\"%s\",\"message\":\"\","
                   "\"lastTransitionTime\":\"" GENERATE_TIME "\"}",
                   i ? "," : "", types[i], types[i]);
    }
}

void generate_pool_json(struct generate *g, int64_t i, bool changing)
{
    static const char *const conditions[] = {"ValidationSucceeded", "NodeClassReady",
                                             "NodeRegistrationHealthy", "Ready"};
    buf_printf(&g->text,
               "{\"apiVersion\":\"karpenter.sh/v1\",\"kind\":\"NodePool\",\"metadata\":{\"name\":"
               "\"pool-%lld\",\"uid\":\"pool-%lld\",\"creationTimestamp\":\"" GENERATE_TIME
               "\"},\"spec\":{\"weight\":%lld,\"template\":{\"metadata\":{\"labels\":{\"team\":"
               "\"team-%lld\"}},\"spec\":{\"nodeClassRef\":" GENERATE_CLASS
               ",\"expireAfter\":\"Never\",\"requirements\":[",
               (long long)i, (long long)i, (long long)(GENERATE_POOLS_MAX - i), (long long)i);
    pool_requirements(g, i);
    buf_printf(&g->text,
               "]}},\"disruption\":{\"consolidateAfter\":\"%s\",\"consolidationPolicy\":"
               "\"WhenEmptyOrUnderutilized\",\"budgets\":[{\"nodes\":\"100%%\"}]}},"
               "\"status\":{\"conditions\":[",
               changing ? "0s" : "Never");
    generate_conditions(&g->text, conditions, ARRAY_LEN(conditions));
    buf_puts(&g->text, "]}}");
}

int generate_pools(struct generate *g, struct err *reterr)
{
    if (generate_open(g, "nodepools.json", reterr)) {
        return -1;
    }
    generate_text(g, "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[");
    for (int64_t i = 0; i < g->pools; i++) {
        generate_next(g);
        generate_pool_json(g, i, false);
        generate_flush(g);
    }
    generate_text(g, "\n]}\n");
    return generate_close(g, "nodepools.json", reterr);
}

/* ---- pods ------------------------------------------------------------------------------------ */

int64_t generate_cpu(struct generate *g)
{
    static const int64_t milli[] = {50, 100, 100, 200, 250, 250, 500, 500, 1000, 1000, 2000, 4000};
    return milli[entropy_below(&g->chance, ARRAY_LEN(milli))];
}

int64_t generate_mem(struct generate *g)
{
    static const int64_t mib[] = {64, 128, 128, 256, 256, 512, 512, 1024, 1024, 2048, 4096, 8192};
    return mib[entropy_below(&g->chance, ARRAY_LEN(mib))];
}

static void anti_affinity(struct buf *b, int64_t workload)
{
    buf_printf(
        b,
        ",\"affinity\":{\"podAntiAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution"
        "\":[{\"topologyKey\":\"kubernetes.io/hostname\",\"labelSelector\":{\"matchLabels\":"
        "{\"app\":\"app-%lld\"}}}]}}",
        (long long)workload);
}

static void affinity(struct buf *b, int64_t workload)
{
    buf_printf(
        b,
        ",\"affinity\":{\"podAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":"
        "[{\"topologyKey\":\"topology.kubernetes.io/zone\",\"labelSelector\":{\"matchLabels\":"
        "{\"app\":\"app-%lld\"}}}]}}",
        (long long)workload);
}

static void spread(struct buf *b, int64_t workload, const char *key)
{
    buf_printf(
        b,
        ",\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"%s\","
        "\"whenUnsatisfiable\":\"DoNotSchedule\",\"labelSelector\":{\"matchLabels\":{\"app\":"
        "\"app-%lld\"}}}]",
        key, (long long)workload);
}

/* To keep apart if it can be: zones, which soon run out, before hosts. */
static void preference(struct buf *b, int64_t workload)
{
    static const char *const keys[] = {"topology.kubernetes.io/zone", "kubernetes.io/hostname"};
    buf_puts(b, ",\"affinity\":{\"podAntiAffinity\":{"
                "\"preferredDuringSchedulingIgnoredDuringExecution\":[");
    for (int i = 0; i < 2; i++) {
        buf_printf(b,
                   "%s{\"weight\":%d,\"podAffinityTerm\":{\"topologyKey\":\"%s\",\"labelSelector\":"
                   "{\"matchLabels\":{\"app\":\"app-%lld\"}}}}",
                   i ? "," : "", i ? 1 : 10, keys[i], (long long)workload);
    }
    buf_puts(b, "]}}");
}

static void rule_json(struct buf *b, enum generate_rule rule, int64_t workload)
{
    switch (rule) {
    case RULE_NONE:
        break;
    case RULE_SPREAD_ZONE:
        spread(b, workload, "topology.kubernetes.io/zone");
        break;
    case RULE_SPREAD_HOST:
        spread(b, workload, "kubernetes.io/hostname");
        break;
    case RULE_AFFINITY_ZONE:
        affinity(b, workload);
        break;
    case RULE_ANTI_HOST:
        anti_affinity(b, workload);
        break;
    case RULE_PREFERENCE:
        preference(b, workload);
        break;
    }
}

void generate_pod_json(struct generate *g, const struct generate_pod *p)
{
    struct buf *b = &g->text;
    buf_printf(
        b,
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"app-%lld-%lld\","
        "\"namespace\":\"default\",\"uid\":\"pod-%08lld\",\"creationTimestamp\":\"" GENERATE_TIME
        "\",\"labels\":{\"app\":\"app-%lld\"},\"ownerReferences\":[{\"apiVersion\":\"apps/v1\","
        "\"kind\":\"ReplicaSet\",\"name\":\"app-%lld\",\"uid\":\"app-%lld\",\"controller\":true}"
        "]},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"c\",\"resources\":{"
        "\"requests\":{\"cpu\":\"%lldm\",\"memory\":\"%lldMi\"}}}]",
        (long long)p->workload, (long long)p->number, (long long)p->number, (long long)p->workload,
        (long long)p->workload, (long long)p->workload, (long long)p->cpu_milli,
        (long long)p->mem_mib);
    rule_json(b, p->rule, p->workload);
    if (p->team >= 0) {
        buf_printf(b, ",\"nodeSelector\":{\"team\":\"team-%lld\"}", (long long)p->team);
    }
    if (p->node) {
        buf_printf(b,
                   ",\"nodeName\":\"%s\"},\"status\":{\"phase\":\"Running\",\"startTime\":"
                   "\"" GENERATE_TIME "\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":"
                   "\"True\"},{\"type\":\"Ready\",\"status\":\"True\"}]}}",
                   p->node);
    } else {
        buf_puts(b,
                 "},\"status\":{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\","
                 "\"status\":\"False\",\"reason\":\"Unschedulable\"}]}}");
    }
}

/* Of "diverse" half have no rule. */
static enum generate_rule rule_of(struct generate *g)
{
    static const enum generate_rule mixed[] = {
        RULE_NONE,        RULE_NONE,        RULE_NONE,          RULE_NONE,      RULE_NONE,
        RULE_SPREAD_ZONE, RULE_SPREAD_HOST, RULE_AFFINITY_ZONE, RULE_ANTI_HOST, RULE_PREFERENCE};
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        if (str_eq(rules[i], g->shape)) {
            return (enum generate_rule)i;
        }
    }
    return mixed[entropy_below(&g->chance, ARRAY_LEN(mixed))];
}

/* 1, 2, 4, ... 64 and up to as many again. */
static int64_t replicas(struct generate *g)
{
    uint64_t base = UINT64_C(1) << entropy_below(&g->chance, 7);
    return (int64_t)(base + entropy_below(&g->chance, base));
}

int generate_pods(struct generate *g, struct err *reterr)
{
    if (generate_open(g, "pods.json.gz", reterr)) {
        return -1;
    }
    generate_text(g, "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[");
    for (int64_t i = 0, workload = 0; i < g->pods; workload++) {
        struct generate_pod p = {.workload = workload,
                                 .cpu_milli = generate_cpu(g),
                                 .mem_mib = generate_mem(g),
                                 .rule = rule_of(g),
                                 .team = -1};
        /* One workload in ten insists on a pool. */
        if (g->pools > 1 && entropy_below(&g->chance, 10) == 0) {
            p.team = (int64_t)entropy_below(&g->chance, (uint64_t)g->pools);
        }
        int64_t end = i + replicas(g);
        for (end = end < g->pods ? end : g->pods; i < end; i++) {
            p.number = i;
            generate_next(g);
            generate_pod_json(g, &p);
            generate_flush(g);
        }
    }
    generate_text(g, "\n]}\n");
    return generate_close(g, "pods.json.gz", reterr);
}

/* ---- the command ----------------------------------------------------------------------------- */

static int generate_all(struct generate *g, const struct bench_input *in, struct err *reterr)
{
    struct bench_world b;
    g->state = (uint64_t)g->seed;
    g->chance = entropy_seeded(&g->state);
    if (g->nodes == 0) {
        return generate_pods(g, reterr) || generate_pools(g, reterr) ? -1 : 0;
    }
    if (bench_read(in, &b, reterr)) {
        return -1;
    }
    int rc = generate_cluster(g, &b, reterr);
    bench_world_done(&b);
    return rc;
}

int bench_generate(int argc, char **argv)
{
    struct err err = ERR_INIT;
    struct bench_input in = {.name = "types", .types = "builtin", .region = BENCH_REGION};
    struct generate g = {.pools = 1, .seed = 1};
    const struct bench_arg args[] = {
        {.name = "--pods", .kind = ARG_COUNT, .to = &g.pods, .least = 1, .most = GENERATE_PODS_MAX},
        {.name = "--nodes", .kind = ARG_COUNT, .to = &g.nodes, .most = GENERATE_NODES_MAX},
        {.name = "--pools",
         .kind = ARG_COUNT,
         .to = &g.pools,
         .least = 1,
         .most = GENERATE_POOLS_MAX},
        {.name = "--seed", .kind = ARG_COUNT, .to = &g.seed, .most = INT64_MAX},
        {.name = "--shape", .kind = ARG_TEXT, .to = &g.shape},
        {.name = "--types", .kind = ARG_TEXT, .to = &in.types},
        {.name = "--region", .kind = ARG_TEXT, .to = &in.region},
        {.name = "--out", .kind = ARG_TEXT, .to = &g.out},
    };
    if (!bench_args(argc, argv, args, ARRAY_LEN(args))) {
        return 2;
    }
    if (!g.shape) {
        g.shape = g.nodes > 0 ? "mixed" : "diverse";
    }
    if (!g.out || g.pods == 0 ||
        !(g.nodes > 0 ? generate_is_cluster(g.shape) : generate_is_rule(g.shape))) {
        fprintf(stderr, "karp-bench: --pods and --out, and a shape there is (karp-bench --help)\n");
        return 2;
    }
    (void)mkdir(g.out, 0777);
    buf_init(&g.text, 1 << 20);
    int rc = generate_all(&g, &in, &err);
    if (rc) {
        fprintf(stderr, "karp-bench: %s\n", err.msg);
    }
    buf_done(&g.text);
    return rc ? 1 : 0;
}
