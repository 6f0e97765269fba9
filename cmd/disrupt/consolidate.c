/* consolidate.c - `kubectl karp consolidate --dry-run`: what should leave, what that saves, and why
 * the rest stays. Reads only. */
#include "consolidate.h"

#include "cmd/opts_table.h"
#include "cmd/out.h"
#include "common/base/str.h"

static unsigned reasons_of(const struct cmd_opts *o)
{
    if (!o->reason) {
        return DISRUPT_EMPTY | DISRUPT_UNDERUTILIZED;
    }
    return str_eq(o->reason, "Empty")           ? DISRUPT_EMPTY
           : str_eq(o->reason, "Underutilized") ? DISRUPT_UNDERUTILIZED
           : str_eq(o->reason, "Drifted")       ? DISRUPT_DRIFTED
                                                : DISRUPT_ALL;
}

static int render(const struct consolidate_view *v, const struct out_spec *spec, struct err *reterr)
{
    AUTO_BUF struct buf out;
    buf_init(&out, OUT_MAX);
    if (spec->format == OUT_TABLE || spec->format == OUT_WIDE) {
        consolidate_screen(v, spec->format == OUT_WIDE, &out);
    } else {
        json_t *report = consolidate_report(v);
        int rc = out_report(spec, report, &out, reterr);
        json_decref(report);
        if (rc != 0) {
            return -1;
        }
    }
    return out_flush(v->s->c->out, &out, reterr);
}

static int plan(struct session *s, const struct out_spec *spec, struct err *reterr)
{
    struct disrupt d;
    unsigned reasons = reasons_of(s->c->o);
    if (session_gather(s, session_kinds | disrupt_kinds, reterr) != 0 ||
        session_decide(s, DECIDE_AS_AGENT, reterr) != 0 ||
        disrupt_plan(s, reasons, &d, reterr) != 0) {
        return -1;
    }
    struct consolidate_view v = {s, &d, (reasons & DISRUPT_DRIFTED) != 0};
    if (s->c->o->exit_code && d.plan->n_steps > 0) {
        s->c->code = CMD_FINDINGS;
    }
    return render(&v, spec, reterr);
}

static int run(struct cmd *c, struct err *reterr)
{
    struct out_spec spec;
    struct session s;
    unsigned formats = OUT_TABLE | OUT_WIDE | OUT_JSON | OUT_YAML | OUT_JSONPATH;
    if (c->o->words.n > 0) {
        return err_set(reterr, ERR_INVALID, "consolidate takes no arguments, \"%s\" is one",
                       c->o->words.v[0]);
    }
    if (!c->o->dry_run || str_eq(c->o->dry_run, "none")) {
        (void)fprintf(c->err,
                      "consolidate only shows what could be done: add --dry-run. Nodes are removed "
                      "by the controller in charge, within the NodePools' budgets.\n");
        c->code = CMD_REFUSED;
        return 0;
    }
    if (out_parse(c->o->output, formats, &spec, reterr) != 0) {
        return -1;
    }
    session_init(&s, c, false);
    int rc = plan(&s, &spec, reterr);
    session_done(&s);
    return rc;
}

static const struct opt_group *const groups[] = {
    &opts_consolidate, &opts_output,  &opts_input, &opts_connection,
    &opts_decision,    &opts_general, NULL};

const struct cmd_info cmd_consolidate_info = {
    "consolidate",
    "Which nodes could leave, what that saves, and why the others stay",
    "--dry-run [flags]",
    "Computes the plan that the decision core makes for this cluster: empty nodes, nodes whose "
    "pods\n"
    "fit elsewhere, and nodes that fewer or cheaper ones can replace, each step by itself worth "
    "it.\n"
    "Every managed node is either in an action or has the first reason why it stays. Budgets and\n"
    "Holds do not shorten the plan, they tell which of it could start now. Works on a cluster "
    "that\n"
    "upstream Karpenter runs, and on saved objects (--snapshot). Nothing is written anywhere.\n"
    "\n"
    "Examples:\n"
    "  kubectl karp consolidate --dry-run\n"
    "  kubectl karp consolidate --dry-run --nodepool default --show-moves\n"
    "  kubectl karp consolidate --dry-run --reason Drifted\n"
    "  kubectl karp consolidate --dry-run --at 22:00        # with the budgets of then\n"
    "  kubectl karp consolidate --dry-run --exit-code -o json\n",
    run,
    groups};
