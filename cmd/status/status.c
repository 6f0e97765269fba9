/* status.c - `kubectl karp status`: what there is, what it costs, what needs somebody. */
#include "status.h"

#include "cmd/opts_table.h"
#include "cmd/out.h"
#include "cmd/session.h"
#include "follow.h"
#include "observed.h"

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

/* With everything at hand: count, show. */
static int show(struct session *s, const struct out_spec *spec, struct err *reterr)
{
    struct status_view v = {
        .c = s->c, .a = &s->a, .w = &s->w, .d = &s->d, .prices = s->prices, .money = s->money};
    fleet_count(&s->w, &s->d, s->prices, &s->a, &v.fleet);
    facts_read(&s->w, &s->a, &v.facts);
    struct attention_in in = {.world = &s->w,
                              .decision = &s->d,
                              .fleet = &v.fleet,
                              .facts = &v.facts,
                              .prices = s->money ? s->prices : NULL,
                              .registration_timeout_ns = s->c->o->registration_timeout_ns};
    attention_collect(&in, &s->a, &v.attention);
    struct disrupt d;
    if (!disrupt_hidden(&s->w, &s->a)) {
        if (disrupt_plan(s, DISRUPT_EMPTY | DISRUPT_UNDERUTILIZED, &d, reterr) != 0) {
            return -1;
        }
        v.disrupt = &d;
    }
    if (v.disrupt && v.money && disrupt_kept_by_policy(s)) {
        struct disrupt freely;
        if (disrupt_plan_any_policy(s, DISRUPT_EMPTY | DISRUPT_UNDERUTILIZED, &freely, reterr) !=
            0) {
            return -1;
        }
        int64_t more = freely.plan->saving_pusd_h - d.plan->saving_pusd_h;
        v.kept_by_policy_pusd_h = more > 0 ? more : 0;
    }
    return render(&v, spec, reterr);
}

static int once(struct cmd *c, struct err *reterr)
{
    struct out_spec spec;
    struct session s;
    unsigned formats = c->o->observed
                           ? OUT_TABLE | OUT_WIDE | OUT_JSON | OUT_YAML | OUT_JSONPATH
                           : OUT_TABLE | OUT_WIDE | OUT_JSON | OUT_YAML | OUT_NAME | OUT_JSONPATH;
    if (c->o->words.n > 0) {
        return err_set(reterr, ERR_INVALID, "status takes no arguments, \"%s\" is one",
                       c->o->words.v[0]);
    }
    if (out_parse(c->o->output, formats, &spec, reterr) != 0) {
        return -1;
    }
    if (c->o->observed) {
        return observed_show(c, &spec, reterr);
    }
    session_init(&s, c, false);
    int rc = session_gather(&s, session_kinds | disrupt_kinds | held_kinds, reterr);
    rc = rc ? rc : session_decide(&s, DECIDE_AS_AGENT, reterr);
    rc = rc ? rc : show(&s, &spec, reterr);
    session_done(&s);
    return rc;
}

static int run(struct cmd *c, struct err *reterr)
{
    return c->o->watch ? follow_run(c, once, 0, FOLLOW_INTERVAL_MS, reterr) : once(c, reterr);
}

static const struct opt_group *const groups[] = {
    &opts_status,     &opts_output,   &opts_watch,   &opts_input,
    &opts_connection, &opts_decision, &opts_general, NULL};

const struct cmd_info cmd_status_info = {
    "status",
    "Nodes, pods, pools and money at a glance, and what needs attention",
    "[flags]",
    "Shows the nodes of every NodePool, what they carry and cost, whether pods wait and why, who "
    "is\n"
    "in charge (karp or upstream Karpenter), and what somebody should look at. Works on a cluster\n"
    "that upstream Karpenter runs, and without any cluster on saved objects (--snapshot).\n"
    "\n"
    "With --observed it shows what a karp-agent that runs with --mode=observe beside another\n"
    "controller would have launched, removed and saved, next to what was launched and removed:\n"
    "by day, with -o wide also by hour, and the newest entries.\n"
    "\n"
    "Examples:\n"
    "  kubectl karp status\n"
    "  kubectl karp status -w\n"
    "  kubectl karp status --observed\n"
    "  kubectl karp status -o json\n"
    "  kubectl get nodes,pods,nodepools,nodeclaims,ec2nodeclasses -A -o yaml > cluster.yaml\n"
    "  kubectl karp status --snapshot cluster.yaml\n",
    run,
    groups};
