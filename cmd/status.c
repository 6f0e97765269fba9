/* status.c - `kubectl karp status`: what there is, what it costs, what needs somebody. */
#include "status.h"

#include "follow.h"
#include "gather.h"
#include "opts_table.h"
#include "out.h"

#define KINDS                                                                                      \
    (GATHER(KIND_NODE) | GATHER(KIND_POD) | GATHER(KIND_DAEMON_SET) | GATHER(KIND_NODE_POOL) |     \
     GATHER(KIND_NODE_CLAIM) | GATHER(KIND_EC2_NODE_CLASS) | GATHER(KIND_LEASE) |                  \
     GATHER(KIND_CONFIG_MAP) | GATHER(KIND_DISRUPTION_REQUEST) | GATHER(KIND_HOLD) |               \
     GATHER(KIND_NAMESPACE) | GATHER(KIND_PERSISTENT_VOLUME_CLAIM) |                               \
     GATHER(KIND_PERSISTENT_VOLUME) | GATHER(KIND_STORAGE_CLASS) | GATHER(KIND_CSI_NODE) |         \
     GATHER(KIND_LIMIT_RANGE) | GATHER(KIND_RUNTIME_CLASS))

static void put_names(const struct status_view *s, struct buf *out)
{
    for (size_t i = 0; i < s->fleet.n_pools; i++) {
        buf_printf(out, "nodepool.karpenter.sh/%s\n", s->fleet.pools[i].pool->np->m.name);
    }
}

static int render(const struct status_view *s, const struct out_spec *spec, struct err *reterr)
{
    AUTO_BUF struct buf out;
    buf_init(&out, OUT_MAX);
    if (spec->format == OUT_TABLE || spec->format == OUT_WIDE) {
        status_screen(s, spec->format == OUT_WIDE, &out);
    } else if (spec->format == OUT_NAME) {
        put_names(s, &out);
    } else {
        json_t *report = status_report(s);
        int rc = out_report(spec, report, &out, reterr);
        json_decref(report);
        if (rc != 0) {
            return -1;
        }
    }
    return out_flush(s->c->out, &out, reterr);
}

/* With everything at hand: decide, count, show. */
static int show(struct status_view *s, struct world *w, const struct types *types,
                const struct out_spec *spec, struct err *reterr)
{
    CLEANUP(decide_done) struct decision d;
    memset(&d, 0, sizeof(d));
    if (decide(s->c, w, s->prices, types, &d, reterr) != 0) {
        return -1;
    }
    s->d = &d;
    fleet_count(w, &d, s->prices, s->a, &s->fleet);
    facts_read(w, s->a, &s->facts);
    struct attention_in in = {.world = w,
                              .decision = &d,
                              .fleet = &s->fleet,
                              .facts = &s->facts,
                              .prices = s->money ? s->prices : NULL,
                              .registration_timeout_ns = s->c->o->registration_timeout_ns};
    attention_collect(&in, s->a, &s->attention);
    return render(s, spec, reterr);
}

static void free_prices(struct prices **p)
{
    prices_free(*p);
}

static int with_world(struct cmd *c, struct world *w, struct arena *a, const struct out_spec *spec,
                      struct err *reterr)
{
    CLEANUP(types_done) struct types types;
    memset(&types, 0, sizeof(types));
    if (c->o->catalog && types_load(w->syms, c->o->catalog, &c->o->types, &types, reterr) != 0) {
        return -1;
    }
    if (gather(c, KINDS, w, reterr) != 0) {
        return -1;
    }
    struct prices_in in = {.syms = w->syms,
                           .file = c->o->prices,
                           .region = c->o->region,
                           .types = c->o->catalog ? &types : NULL};
    decide_regions(w, a, &in.node_regions, &in.n_node_regions);
    CLEANUP(free_prices) struct prices *prices = prices_new(&in, reterr);
    if (!prices) {
        return -1;
    }
    struct status_view s = {.c = c, .a = a, .w = w, .prices = prices, .money = !c->o->no_prices};
    return show(&s, w, in.types, spec, reterr);
}

static int once(struct cmd *c, struct err *reterr)
{
    struct out_spec spec;
    struct world w;
    struct arena a;
    unsigned formats = OUT_TABLE | OUT_WIDE | OUT_JSON | OUT_YAML | OUT_NAME | OUT_JSONPATH;
    if (c->o->words.n > 0) {
        return err_set(reterr, ERR_INVALID, "status takes no arguments, \"%s\" is one",
                       c->o->words.v[0]);
    }
    if (out_parse(c->o->output, formats, &spec, reterr) != 0) {
        return -1;
    }
    world_init(&w, c->o->agent_namespace);
    arena_init(&a, 0, SIZE_MAX);
    int rc = with_world(c, &w, &a, &spec, reterr);
    arena_done(&a);
    world_done(&w);
    return rc;
}

static int run(struct cmd *c, struct err *reterr)
{
    return c->o->watch ? follow_run(c, once, 0, FOLLOW_INTERVAL_MS, reterr) : once(c, reterr);
}

static const struct opt_group *const groups[] = {
    &opts_output, &opts_watch, &opts_input, &opts_connection, &opts_decision, &opts_general, NULL};

const struct cmd_info cmd_status_info = {
    "status",
    "Nodes, pods, pools and money at a glance, and what needs attention",
    "[flags]",
    "Shows the nodes of every NodePool, what they carry and cost, whether pods wait and why, who "
    "is\n"
    "in charge (karp or upstream Karpenter), and what somebody should look at. Works on a cluster\n"
    "that upstream Karpenter runs, and without any cluster on saved objects (--snapshot).\n"
    "\n"
    "Examples:\n"
    "  kubectl karp status\n"
    "  kubectl karp status -w\n"
    "  kubectl karp status -o json\n"
    "  kubectl get nodes,pods,nodepools,nodeclaims,ec2nodeclasses -A -o yaml > cluster.yaml\n"
    "  kubectl karp status --snapshot cluster.yaml\n",
    run,
    groups};
