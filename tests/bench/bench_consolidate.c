/* bench_consolidate.c - karp-bench consolidate: what should go, in one plan; see bench.h. */
#include "bench.h"

#include "common/base/jsonx.h"
#include "common/base/str.h"

#include <math.h>

/* ---- one run --------------------------------------------------------------------------------- */

/* The plan stands when this returns; its digests are made when the result is asked for, which is
 * off the clock. */
static void *decide(struct arena *a, const struct bench_input *in UNUSED,
                    const struct bench_world *b, struct snapshot *snap)
{
    struct consolidate_options o;
    consolidate_options_default(&o);
    bench_snapshot(a, b, snap);
    struct candidate_facts *facts = ARENA_NEW(a, struct candidate_facts);
    facts->prices_ns = snap->now_ns;
    struct consolidate *c = consolidate_begin(a, snap, facts, &o);
    while (!consolidate_step(c, UINT64_MAX)) {
    }
    return c;
}

static int64_t bound_of(struct arena *a, const struct snapshot *snap)
{
    const struct pod **pods = ARENA_NEW_N(a, const struct pod *, snap->n_bound);
    for (uint32_t i = 0; i < snap->n_bound; i++) {
        pods[i] = snap->bound[i].pod;
    }
    return bench_bound(snap, pods, snap->n_bound);
}

/* ---- the plan, for checkers ------------------------------------------------------------------ */

static json_t *names_out(const struct consolidate_step *s)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < s->n_out; i++) {
        json_array_append_new(list, json_string(s->out[i].node->name));
    }
    return list;
}

static json_t *types_in(const struct world *w, const struct consolidate_step *s)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < s->n_in; i++) {
        const struct sched_claim *c = &s->in[i].claim;
        sym type = catalog_type_name(s->in[i].pool->catalog, c->types[0]);
        json_array_append_new(list,
                              json_pack("{s:s,s:s,s:o}", "nodePool", s->in[i].pool->np->m.name,
                                        "instanceType", sym_str(w->syms, type), "pricePerHour",
                                        bench_price(s->in[i].price_pusd_h)));
    }
    return list;
}

static json_t *moves_of(const struct consolidate_step *s)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < s->n_moves; i++) {
        const struct step_move *m = &s->moves[i];
        json_t *pod = json_sprintf("%s/%s", m->pod->m.ns, m->pod->m.name);
        json_array_append_new(list, m->to ? json_pack("{s:o,s:s,s:s}", "pod", pod, "from",
                                                      m->from->name, "to", m->to->name)
                                          : json_pack("{s:o,s:s,s:i}", "pod", pod, "from",
                                                      m->from->name, "toNew", (int)m->to_new));
    }
    return list;
}

static json_t *stay_messages(const struct world *w, const struct consolidate_result *res)
{
    json_t *o = json_object();
    for (uint32_t i = 0; i < res->n_nodes; i++) {
        const struct node_verdict *v = &res->nodes[i];
        AUTO_BUF struct buf b;
        buf_init(&b, 1 << 16);
        reason_fmt(w->syms, &v->reason, &b);
        if (v->step < 0) {
            json_object_set_new(o, v->node->name,
                                json_sprintf("%s: %s", reason_name(v->reason.code), b.p));
        }
    }
    return o;
}

static int write_plan(const char *path, const struct world *w, const struct consolidate_result *res,
                      struct err *reterr)
{
    json_t *plan = json_object();
    json_t *steps = json_array();
    for (uint32_t i = 0; i < res->n_steps; i++) {
        const struct consolidate_step *s = &res->steps[i];
        json_array_append_new(
            steps, json_pack("{s:s,s:o,s:o,s:o,s:o}", "kind", consolidate_kind_name(s->kind), "out",
                             names_out(s), "in", types_in(w, s), "savingsPerHour",
                             bench_price(s->saving_pusd_h), "moves", moves_of(s)));
    }
    json_object_set_new(plan, "digest", json_string(res->digest));
    json_object_set_new(plan, "steps", steps);
    json_object_set_new(plan, "stays", stay_messages(w, res));
    return bench_write_plan(path, plan, reterr);
}

/* ---- an input -------------------------------------------------------------------------------- */

/* Why nodes stay: how many by the gate that fails. */
static json_t *stays_of(const struct consolidate_result *res)
{
    json_t *o = json_object();
    for (uint32_t i = 0; i < res->n_nodes; i++) {
        const char *code = reason_name(res->nodes[i].reason.code);
        if (res->nodes[i].step < 0) {
            json_object_set_new(o, code, json_integer(jsonx_int(o, code, 0) + 1));
        }
    }
    return o;
}

static int report(struct arena *a, const struct bench_input *in, const struct bench_world *b,
                  const struct snapshot *snap, void *decided, json_t *o, struct err *reterr)
{
    const struct consolidate_result *res = consolidate_result(decided);
    bench_put_int(o, "workUnits", (int64_t)res->work_units);
    bench_put_int(o, "actions", res->n_steps);
    bench_put_int(o, "nodesOut", res->nodes_out);
    bench_put_int(o, "nodesIn", res->nodes_in);
    bench_put_int(o, "podsMoved", res->pods_moved);
    bench_put_int(o, "leastPodsMoved", bench_least_moves(snap, res));
    json_object_set_new(o, "savingsPerHour", bench_price(res->saving_pusd_h));
    json_object_set_new(o, "fleetPricePerHour", bench_price(res->price_pusd_h));
    json_object_set_new(o, "lowerBoundPerHour", bench_price(bound_of(a, snap)));
    json_object_set_new(o, "stays", stays_of(res));
    json_object_set_new(o, "truncated", json_boolean(res->truncated));
    json_object_set_new(o, "planDigest", json_string(res->digest));
    return in->plan ? write_plan(in->plan, &b->w, res, reterr) : 0;
}

static json_t *measure(const struct bench_input *in, struct err *reterr)
{
    static const struct bench_decision decision = {decide, report};
    return bench_measure(in, &decision, reterr);
}

/* ---- the table ------------------------------------------------------------------------------- */

static double most(const json_t *o)
{
    double told = bench_number(o, "mostSavingsPerHour");
    return isnan(told) ? bench_number(o, "fleetPricePerHour") - bench_number(o, "lowerBoundPerHour")
                       : told;
}

/* Of the pass that found the first command, or of both if there is none. */
static double first(const json_t *o)
{
    double multi = bench_number(o, "upstream.multi.savingsPerHour");
    return multi > 0 || !jsonx_at(o, "upstream.single")
               ? multi
               : bench_number(o, "upstream.single.savingsPerHour");
}

static void cell_most(const json_t *o, char *dst, size_t size)
{
    bench_put(dst, size, "%.3f", most(o));
}

static void cell_reached(const json_t *o, char *dst, size_t size)
{
    bench_put(dst, size, "%.1f%%", bench_number(o, "savingsPerHour") / most(o) * 100);
}

static void cell_first(const json_t *o, char *dst, size_t size)
{
    bench_put(dst, size, "%.3f", first(o));
}

static const struct bench_column columns[] = {
    {.head = "INPUT", .cell = bench_cell_name, .left = true},
    {.head = "NODES", .fmt = "%.0f", .path = "nodes"},
    {.head = "PODS", .fmt = "%.0f", .path = "pods"},
    {.head = "MS", .fmt = "%.2f", .path = "milliseconds"},
    {.head = "UPSTREAM", .fmt = "%.0f", .path = "upstream.milliseconds"},
    {.head = "FASTER", .cell = bench_cell_faster},
    {.head = "BY-CPU", .cell = bench_cell_by_cpu},
    {.head = "STEPS", .fmt = "%.0f", .path = "actions"},
    {.head = "OUT", .fmt = "%.0f", .path = "nodesOut"},
    {.head = "IN", .fmt = "%.0f", .path = "nodesIn"},
    {.head = "MOVED", .fmt = "%.0f", .path = "podsMoved"},
    {.head = "LEAST", .fmt = "%.0f", .path = "leastPodsMoved"},
    {.head = "SAVES $/H", .fmt = "%.3f", .path = "savingsPerHour"},
    {.head = "UPSTREAM-FIRST", .cell = cell_first},
    {.head = "AT-REST", .fmt = "%.3f", .path = "upstream.rest.savingsPerHour"},
    {.head = "MOST", .cell = cell_most},
    {.head = "REACHED", .cell = cell_reached},
    {.head = "MIB", .cell = bench_cell_mib},
    {.head = "UPSTREAM", .cell = bench_cell_their_mib},
};

/* ---- the command ----------------------------------------------------------------------------- */

static void peer_args(const struct bench_input *in, const char **argv)
{
    const char *const args[] = {"consolidate", "--types",   in->types,
                                "--cluster",   in->cluster, in->rest ? "--rest" : NULL};
    memcpy(argv, args, sizeof(args));
    argv[ARRAY_LEN(args)] = NULL;
}

int bench_consolidate(int argc, char **argv)
{
    struct bench_suite s = {.list = "consolidate",
                            .fn = measure,
                            .columns = columns,
                            .n_columns = ARRAY_LEN(columns),
                            .peer_args = peer_args};
    const struct bench_arg args[] = {
        {.name = "--input", .kind = ARG_TEXT, .to = &s.how.cluster},
    };
    int rc = bench_options(&s, argc, argv, args, ARRAY_LEN(args));
    if (rc != 0) {
        return rc;
    }
    return s.how.cluster ? bench_alone(&s, s.how.cluster) : bench_suite(&s);
}
