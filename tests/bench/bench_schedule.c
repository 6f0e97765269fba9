/* bench_schedule.c - karp-bench schedule: pending pods to new nodes; see bench.h. */
#include "bench.h"

#include "cmd/money.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"

#include <math.h>

/* ---- one run ----------------------------------------------------------------------------------
 */

static const struct sched_result *decide(struct arena *a, const struct bench_world *b,
                                         enum preference_policy policy, struct snapshot *snap)
{
    struct sched_options o;
    sched_options_default(&o);
    o.preference = policy;
    bench_snapshot(a, b, snap);
    struct sched *s = sched_begin(a, snap, &o);
    while (!sched_step(s, UINT64_MAX)) {
    }
    return sched_result(s);
}

static int64_t price_of(const struct sched_result *res)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < res->n_claims; i++) {
        sum += res->claims[i].price_pusd_h;
    }
    return sum;
}

static int64_t bound_of(struct arena *a, const struct snapshot *snap,
                        const struct sched_result *res)
{
    uint32_t n = 0, max = 0;
    for (uint32_t i = 0; i < res->n_claims; i++) {
        max += res->claims[i].n_pods;
    }
    const struct pod **pods = ARENA_NEW_N(a, const struct pod *, max);
    for (uint32_t i = 0; i < res->n_claims; i++) {
        for (uint32_t k = 0; k < res->claims[i].n_pods; k++) {
            pods[n++] = res->claims[i].pods[k];
        }
    }
    return bench_bound(snap, pods, n);
}

/* ---- the plan, for checkers -------------------------------------------------------------------
 */

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

/* ---- an input ---------------------------------------------------------------------------------
 */

static json_t *report_of(const struct bench_input *in, const struct bench_world *b,
                         const struct sched_result *res, double ms, int64_t peak, int64_t bound)
{
    size_t pods = world_n(&b->w, KIND_POD);
    json_t *o = json_object();
    json_object_set_new(o, "kind", json_string("BenchReport"));
    json_object_set_new(o, "input", json_string(in->name));
    json_object_set_new(o, "preferencePolicy", json_string(in->policy));
    json_object_set_new(o, "pods", json_integer((json_int_t)pods));
    json_object_set_new(o, "nodes", json_integer((json_int_t)world_n(&b->w, KIND_NODE)));
    json_object_set_new(o, "milliseconds", json_real(ms));
    json_object_set_new(o, "podsPerSecond", json_real(ms > 0 ? (double)pods * 1e3 / ms : 0));
    json_object_set_new(o, "peakRssBytes", json_integer(peak));
    json_object_set_new(o, "claims", json_integer(res->n_claims));
    json_object_set_new(o, "unschedulable", json_integer(res->n_refused));
    json_object_set_new(o, "workUnits", json_integer((json_int_t)res->work_units));
    json_object_set_new(o, "baselinePricePerHour", bench_price(price_of(res)));
    json_object_set_new(o, "lowerBoundPerHour", bench_price(bound));
    return o;
}

static json_t *runs(const struct bench_input *in, struct bench_world *b, struct err *reterr)
{
    static double ms[BENCH_REPEAT_MAX];
    enum preference_policy policy;
    json_t *report = NULL;
    if (!bench_policy(in->policy, &policy)) {
        err_set(reterr, ERR_INVALID, "preference policy \"%s\": no such one", in->policy);
        return NULL;
    }
    int64_t before = bench_rss_begin();
    for (uint32_t i = 0; i < in->repeat; i++) {
        struct arena mem;
        struct snapshot snap;
        arena_init(&mem, 1 << 20, SIZE_MAX);
        double start = bench_now_ms();
        const struct sched_result *res = decide(&mem, b, policy, &snap);
        ms[i] = bench_now_ms() - start;
        bool last = i + 1 == in->repeat;
        if (last && (!in->plan || write_plan(in->plan, &b->w, res, reterr) == 0)) {
            int64_t peak = bench_rss_peak() - before;
            report = report_of(in, b, res, bench_median(ms, in->repeat), peak,
                               bound_of(&mem, &snap, res));
        }
        arena_done(&mem);
    }
    return report;
}

static json_t *measure(const struct bench_input *in, struct err *reterr)
{
    struct bench_world b;
    if (bench_read(in, &b, reterr)) {
        return NULL;
    }
    json_t *report = runs(in, &b, reterr);
    bench_world_done(&b);
    return report;
}

/* ---- the table --------------------------------------------------------------------------------
 */

static void put(char *dst, size_t size, const char *fmt, double v)
{
    if (!isnan(v)) {
        (void)snprintf(dst, size, fmt, v);
    }
}

static void cell_name(const json_t *o, char *dst, size_t size)
{
    bool failed = json_object_get(o, "error") != NULL;
    (void)snprintf(dst, size, "%s%s", jsonx_str_or(o, "input", ""), failed ? " (failed)" : "");
}

static void cell_pods(const json_t *o, char *dst, size_t size)
{
    put(dst, size, "%.0f", bench_number(o, "pods"));
}

static void cell_ms(const json_t *o, char *dst, size_t size)
{
    put(dst, size, "%.2f", bench_number(o, "milliseconds"));
}

static void cell_their_ms(const json_t *o, char *dst, size_t size)
{
    put(dst, size, "%.0f", bench_number(o, "upstream.milliseconds"));
}

static void cell_ratio(const json_t *o, char *dst, size_t size)
{
    put(dst, size, "%.0fx",
        bench_number(o, "upstream.milliseconds") / bench_number(o, "milliseconds"));
}

static void cell_claims(const json_t *o, char *dst, size_t size)
{
    put(dst, size, "%.0f", bench_number(o, "claims"));
}

static void cell_their_claims(const json_t *o, char *dst, size_t size)
{
    put(dst, size, "%.0f", bench_number(o, "upstream.claims"));
}

static void cell_price(const json_t *o, char *dst, size_t size)
{
    put(dst, size, "%.2f", bench_number(o, "baselinePricePerHour"));
}

static void cell_their_price(const json_t *o, char *dst, size_t size)
{
    put(dst, size, "%.2f", bench_number(o, "upstream.pricePerHour"));
}

static void cell_bound(const json_t *o, char *dst, size_t size)
{
    put(dst, size, "%.2f", bench_number(o, "lowerBoundPerHour"));
}

static void cell_above(const json_t *o, char *dst, size_t size)
{
    double over =
        bench_number(o, "baselinePricePerHour") / bench_number(o, "lowerBoundPerHour") - 1;
    put(dst, size, "%.1f%%", over * 100);
}

static void cell_peak(const json_t *o, char *dst, size_t size)
{
    put(dst, size, "%.1f", bench_number(o, "peakRssBytes") / (1 << 20));
}

static void cell_their_peak(const json_t *o, char *dst, size_t size)
{
    put(dst, size, "%.0f", bench_number(o, "upstream.peakRssBytes") / (1 << 20));
}

static void cell_left(const json_t *o, char *dst, size_t size)
{
    put(dst, size, "%.0f", bench_number(o, "unschedulable"));
}

static void cell_their_left(const json_t *o, char *dst, size_t size)
{
    put(dst, size, "%.0f", bench_number(o, "upstream.unschedulable"));
}

static const struct bench_column columns[] = {
    {"INPUT", cell_name, true},
    {"PODS", cell_pods, false},
    {"MS", cell_ms, false},
    {"UPSTREAM", cell_their_ms, false},
    {"FASTER", cell_ratio, false},
    {"CLAIMS", cell_claims, false},
    {"UPSTREAM", cell_their_claims, false},
    {"$/H", cell_price, false},
    {"UPSTREAM", cell_their_price, false},
    {"BOUND", cell_bound, false},
    {"ABOVE", cell_above, false},
    {"MIB", cell_peak, false},
    {"UPSTREAM", cell_their_peak, false},
    {"LEFT-OVER", cell_left, false},
    {"UPSTREAM", cell_their_left, false},
};

/* ---- the command ------------------------------------------------------------------------------
 */

static void peer_args(const struct bench_input *in, const char **argv)
{
    size_t n = 0;
    argv[n++] = "schedule";
    argv[n++] = "--types";
    argv[n++] = in->types;
    argv[n++] = "--nodepool";
    argv[n++] = in->pools[0];
    argv[n++] = "--pods";
    argv[n++] = in->pods[0];
    argv[n++] = "--preference-policy";
    argv[n++] = in->policy;
    argv[n] = NULL;
}

static int refuse(const char *why)
{
    fprintf(stderr, "karp-bench: %s (karp-bench --help)\n", why);
    return 2;
}

/* The input that the options name. */
static int alone(struct bench_suite *s)
{
    struct err err = ERR_INIT;
    struct bench_input *in = &s->how;
    AUTO_JSON json_t *reports = json_array();
    in->name = in->pods[0];
    if (!in->types || in->n_pools == 0) {
        return refuse("--pods wants --types and --nodepool too");
    }
    json_t *theirs = NULL, *report;
    if (s->peer) {
        const char *argv[16] = {s->peer};
        peer_args(in, argv + 1);
        theirs = bench_program(argv, &err);
    }
    report = s->peer && !theirs ? NULL : bench_apart(measure, in, &err);
    if (!report) {
        fprintf(stderr, "karp-bench: %s\n", err.msg);
        json_decref(theirs);
        return 1;
    }
    if (theirs) {
        json_object_set_new(report, "upstream", theirs);
    }
    json_array_append_new(reports, report);
    return bench_print(s, reports);
}

int bench_schedule(int argc, char **argv)
{
    bool baseline = false;
    int64_t repeat = 3;
    enum preference_policy policy;
    struct bench_suite s = {.list = "schedule",
                            .folder = BENCH_DATA,
                            .output = "table",
                            .how = {.region = BENCH_REGION, .policy = "Respect"},
                            .fn = measure,
                            .columns = columns,
                            .n_columns = ARRAY_LEN(columns),
                            .peer_args = peer_args};
    struct bench_input *in = &s.how;
    const struct bench_arg args[] = {
        {.name = "--types", .kind = ARG_TEXT, .to = &in->types},
        {.name = "--region", .kind = ARG_TEXT, .to = &in->region},
        {.name = "--nodepool", .kind = ARG_FILES, .to = in->pools, .n = &in->n_pools},
        {.name = "--pods", .kind = ARG_FILES, .to = in->pods, .n = &in->n_pods},
        {.name = "--preference-policy", .kind = ARG_TEXT, .to = &in->policy},
        {.name = "--repeat",
         .kind = ARG_COUNT,
         .to = &repeat,
         .least = 1,
         .most = BENCH_REPEAT_MAX},
        {.name = "--plan", .kind = ARG_TEXT, .to = &in->plan},
        {.name = "--data", .kind = ARG_TEXT, .to = &s.folder},
        {.name = "--only", .kind = ARG_TEXT, .to = &s.only},
        {.name = "--peer", .kind = ARG_TEXT, .to = &s.peer},
        {.name = "--record", .kind = ARG_FLAG, .to = &s.record},
        {.name = "--baseline", .kind = ARG_FLAG, .to = &baseline},
        {.name = "-o", .kind = ARG_TEXT, .to = &s.output},
    };
    if (!bench_args(argc, argv, args, ARRAY_LEN(args))) {
        return 2;
    }
    in->repeat = (uint32_t)repeat;
    if (!baseline) {
        return refuse("what is to be timed? --baseline is all there is");
    }
    if (!bench_policy(in->policy, &policy) ||
        (!str_eq(s.output, "json") && !str_eq(s.output, "table"))) {
        return refuse("--preference-policy or -o: no such choice");
    }
    if (s.peer && in->types && str_eq(in->types, "builtin")) {
        return refuse("--peer wants types of a file (karp-bench types writes one)");
    }
    if (in->n_pods > 0) {
        return alone(&s);
    }
    if (in->plan || in->n_pools > 0) {
        return refuse("--nodepool and --plan are for an input of one's own (--pods)");
    }
    if (s.record && !s.peer) {
        return refuse("--record writes what --peer says");
    }
    return bench_suite(&s);
}
