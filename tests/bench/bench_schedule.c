/* bench_schedule.c - karp-bench schedule: pending pods to new nodes; see bench.h. */
#include "bench.h"

#include "cmd/status/money.h"
#include "common/base/jsonx.h"

/* ---- one run --------------------------------------------------------------------------------- */

#define SLICE_UNITS 500 /* as the agent's (agent/plan/provisioner.h) */

static struct sched_options options_of(const struct bench_input *in)
{
    struct sched_options o;
    sched_options_default(&o);
    (void)bench_policy(in->policy, &o.preference); /* it was asked before */
    o.placement = in->placement;
    return o;
}

static void *decide(struct arena *a, const struct bench_input *in, const struct bench_world *b,
                    struct snapshot *snap)
{
    struct sched_options o = options_of(in);
    bench_snapshot(a, b, snap);
    struct sched *s = sched_begin(a, snap, &o);
    while (!sched_step(s, UINT64_MAX)) {
    }
    return (void *)(uintptr_t)sched_result(s);
}

/* The longest that the agent's loop waits for a step of the decision, by processor time. */
static double longest_slice_ms(const struct bench_world *b, const struct sched_options *o)
{
    struct arena mem;
    struct snapshot snap;
    double longest = 0;
    bool done = false;
    arena_init(&mem, 1 << 20, SIZE_MAX);
    bench_snapshot(&mem, b, &snap);
    struct sched *s = sched_begin(&mem, &snap, o);
    while (!done) {
        double start = bench_cpu_ms();
        done = sched_step(s, SLICE_UNITS);
        double took = bench_cpu_ms() - start;
        longest = took > longest ? took : longest;
    }
    arena_done(&mem);
    return longest;
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

/* ---- the plan, for checkers ------------------------------------------------------------------ */

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
    json_t *plan = json_object();
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
    return bench_write_plan(path, plan, reterr);
}

/* ---- an input -------------------------------------------------------------------------------- */

static int report(struct arena *a, const struct bench_input *in, const struct bench_world *b,
                  const struct snapshot *snap, void *decided, json_t *o, struct err *reterr)
{
    const struct sched_result *res = decided;
    double ms = bench_number(o, "milliseconds"), pods = bench_number(o, "pods");
    struct sched_options options = options_of(in);
    json_object_set_new(o, "preferencePolicy", json_string(in->policy));
    json_object_set_new(o, "podsPerSecond", json_real(ms > 0 ? pods * 1e3 / ms : 0));
    bench_put_int(o, "claims", res->n_claims);
    bench_put_int(o, "unschedulable", res->n_refused);
    bench_put_int(o, "workUnits", (int64_t)res->work_units);
    json_object_set_new(o, "placement", json_string(sched_placement_name(in->placement)));
    json_object_set_new(o, "baselinePricePerHour", bench_price(res->baseline_pusd_h));
    json_object_set_new(o, "pricePerHour", bench_price(res->price_pusd_h));
    json_object_set_new(o, "lowerBoundPerHour", bench_price(bound_of(a, snap, res)));
    if (in->placement != PLACEMENT_BASELINE) {
        json_object_set_new(o, "tightPricePerHour", bench_price(res->tight_pusd_h));
        bench_put_int(o, "strandedPods", res->n_stranded);
    }
    json_object_set_new(o, "longestSliceMilliseconds", json_real(longest_slice_ms(b, &options)));
    return in->plan ? write_plan(in->plan, &b->w, res, reterr) : 0;
}

static json_t *measure(const struct bench_input *in, struct err *reterr)
{
    static const struct bench_decision decision = {decide, report};
    enum preference_policy policy;
    if (!bench_policy(in->policy, &policy)) {
        err_set(reterr, ERR_INVALID, "preference policy \"%s\": no such one", in->policy);
        return NULL;
    }
    return bench_measure(in, &decision, reterr);
}

/* ---- the table ------------------------------------------------------------------------------- */

static void cell_above(const json_t *o, char *dst, size_t size)
{
    double over = bench_number(o, "pricePerHour") / bench_number(o, "lowerBoundPerHour") - 1;
    bench_put(dst, size, "%.1f%%", over * 100);
}

static const struct bench_column columns[] = {
    {.head = "INPUT", .cell = bench_cell_name, .left = true},
    {.head = "PODS", .fmt = "%.0f", .path = "pods"},
    {.head = "MS", .fmt = "%.2f", .path = "milliseconds"},
    {.head = "UPSTREAM", .fmt = "%.0f", .path = "upstream.milliseconds"},
    {.head = "FASTER", .cell = bench_cell_faster},
    {.head = "BY-CPU", .cell = bench_cell_by_cpu},
    {.head = "SLICE", .fmt = "%.1f", .path = "longestSliceMilliseconds"},
    {.head = "CLAIMS", .fmt = "%.0f", .path = "claims"},
    {.head = "UPSTREAM", .fmt = "%.0f", .path = "upstream.claims"},
    {.head = "TIGHT-$/H", .fmt = "%.2f", .path = "tightPricePerHour"},
    {.head = "STRANDED", .fmt = "%.0f", .path = "strandedPods"},
    {.head = "$/H", .fmt = "%.2f", .path = "pricePerHour"},
    {.head = "BASELINE", .fmt = "%.2f", .path = "baselinePricePerHour"},
    {.head = "UPSTREAM", .fmt = "%.2f", .path = "upstream.pricePerHour"},
    {.head = "BOUND", .fmt = "%.2f", .path = "lowerBoundPerHour"},
    {.head = "ABOVE", .cell = cell_above},
    {.head = "MIB", .cell = bench_cell_mib},
    {.head = "UPSTREAM", .cell = bench_cell_their_mib},
    {.head = "LEFT-OVER", .fmt = "%.0f", .path = "unschedulable"},
    {.head = "UPSTREAM", .fmt = "%.0f", .path = "upstream.unschedulable"},
};

/* ---- the command ----------------------------------------------------------------------------- */

/* Of several files the peer takes the first. */
static void peer_args(const struct bench_input *in, const char **argv)
{
    const char *const args[] = {"schedule",   "--types", in->types,   "--nodepool",
                                in->pools[0], "--pods",  in->pods[0], "--preference-policy",
                                in->policy,   NULL};
    memcpy(argv, args, sizeof(args));
}

int bench_schedule(int argc, char **argv)
{
    enum preference_policy policy;
    struct bench_suite s = {.list = "schedule",
                            .fn = measure,
                            .columns = columns,
                            .n_columns = ARRAY_LEN(columns),
                            .peer_args = peer_args};
    struct bench_input *in = &s.how;
    bool baseline = false;
    const char *placement = sched_placement_name(PLACEMENT_COMPATIBLE);
    const struct bench_arg args[] = {
        {.name = "--nodepool", .kind = ARG_FILES, .to = in->pools, .n = &in->n_pools},
        {.name = "--pods", .kind = ARG_FILES, .to = in->pods, .n = &in->n_pods},
        {.name = "--preference-policy", .kind = ARG_TEXT, .to = &in->policy},
        {.name = "--baseline", .kind = ARG_FLAG, .to = &baseline},
        {.name = "--placement", .kind = ARG_TEXT, .to = &placement},
    };
    int rc = bench_options(&s, argc, argv, args, ARRAY_LEN(args));
    if (rc != 0) {
        return rc;
    }
    if (!sched_parse_placement(placement, &in->placement)) {
        fprintf(stderr, "karp-bench: --placement is Compatible or Cheapest\n");
        return 2;
    }
    in->placement = baseline ? PLACEMENT_BASELINE : in->placement;
    if (!bench_policy(in->policy, &policy) || (in->n_pods > 0) != (in->n_pools > 0) ||
        (s.peer && (in->n_pods > 1 || in->n_pools > 1))) {
        fprintf(stderr, "karp-bench: schedule wants a policy there is, pools with pods, and for a "
                        "peer one file of each (karp-bench --help)\n");
        return 2;
    }
    return in->n_pods > 0 ? bench_alone(&s, in->pods[0]) : bench_suite(&s);
}
