/* simulate.c - `kubectl karp simulate`: what would happen to pods that wait, now or with other
 * objects. Reads only. */
#include "simulate.h"

#include "cmd/opts_table.h"
#include "cmd/out.h"
#include "cmd/whatif.h"

static int render(struct simulate_view *v, const struct out_spec *spec, struct err *reterr)
{
    AUTO_BUF struct buf out;
    buf_init(&out, OUT_MAX);
    if (spec->format == OUT_TABLE || spec->format == OUT_WIDE) {
        simulate_screen(v, spec->format == OUT_WIDE, &out);
    } else {
        json_t *report = simulate_report(v);
        int rc = out_report(spec, report, &out, reterr);
        json_decref(report);
        if (rc != 0) {
            return -1;
        }
    }
    return out_flush(v->s->c->out, &out, reterr);
}

static bool is_screen(const struct out_spec *spec)
{
    return spec->format == OUT_TABLE || spec->format == OUT_WIDE;
}

/* What the same run without --set would leave: one sentence. */
static const char *tell_without(struct session *s)
{
    struct plan p;
    plan_build(s, &p);
    if (p.n_refused == 0) {
        return "Without --set no pod would be without a home either.";
    }
    const struct plan_refusal *first = &p.refused[0];
    const char *pool =
        first->why && first->why->n_pools ? first->why->pools[0].pool->np->m.name : NULL;
    return arena_printf(&s->a, "Without --set: %u pod%s without a home (%s%s%s).", p.n_refused,
                        p.n_refused == 1 ? "" : "s", pool ? pool : "", pool ? ": " : "",
                        report_reason(&s->a, s, &first->refusal->reason));
}

/* The run without --set, on a copy of the objects. */
static int decide_without(struct session *s, const char **ret, struct err *reterr)
{
    struct objects *all = s->keep;
    s->keep = s->w.keep = objects_clone(all);
    int rc = whatif_apply(s, false, reterr);
    rc = rc ? rc : session_decide(s, DECIDE_UNBOUND, reterr);
    if (rc == 0) {
        *ret = tell_without(s);
    }
    decide_done(&s->d); /* it borrows from the world, which is about to be made anew */
    objects_free(s->keep);
    s->keep = s->w.keep = all;
    return rc;
}

static int simulate(struct simulate_view *v, const struct out_spec *spec, struct err *reterr)
{
    struct session *s = v->s;
    const struct cmd_opts *o = s->c->o;
    if (session_gather(s, session_kinds | whatif_kinds(o), reterr) != 0) {
        return -1;
    }
    /* Standard input can be read once only. */
    bool twice = o->sets.n > 0 && is_screen(spec) && !whatif_reads_stdin(o);
    if (twice && decide_without(s, &v->without_sets, reterr) != 0) {
        return -1;
    }
    if (whatif_any(o) && whatif_apply(s, true, reterr) != 0) {
        return -1;
    }
    if (session_decide(s, DECIDE_UNBOUND, reterr) != 0) {
        return -1;
    }
    plan_build(s, &v->plan);
    return render(v, spec, reterr);
}

static int run(struct cmd *c, struct err *reterr)
{
    struct out_spec spec;
    struct session s;
    unsigned formats = OUT_TABLE | OUT_WIDE | OUT_JSON | OUT_YAML | OUT_JSONPATH;
    if (c->o->words.n > 0) {
        return err_set(reterr, ERR_INVALID, "simulate takes no arguments, \"%s\" is one",
                       c->o->words.v[0]);
    }
    if (out_parse(c->o->output, formats, &spec, reterr) != 0) {
        return -1;
    }
    session_init(&s, c, whatif_any(c->o));
    struct simulate_view v = {.s = &s};
    int rc = simulate(&v, &spec, reterr);
    session_done(&s);
    return rc;
}

static const struct opt_group *const groups[] = {
    &opts_what_if,  &opts_output,  &opts_input, &opts_connection,
    &opts_decision, &opts_general, NULL};

const struct cmd_info cmd_simulate_info = {
    "simulate",
    "Where pending pods would go, now or with other objects; changes nothing",
    "[-f FILE] [--scale NS/NAME=N] [--set KIND/NAME.PATH=VALUE] [flags]",
    "Shows on which nodes the pods that wait would run, which nodes would be launched for them "
    "and\n"
    "what these cost, and which pods would find no home and why. Objects come from the cluster or\n"
    "from saved ones (--snapshot); -f adds some or puts them in place of those of the same name,\n"
    "--scale gives a Deployment or StatefulSet so many pods, --set changes one field. Nothing is\n"
    "written anywhere.\n"
    "\n"
    "Examples:\n"
    "  kubectl karp simulate\n"
    "  kubectl karp simulate -f black-friday.yaml --scale shop/api=60\n"
    "  kubectl karp simulate --scale shop/statefulset/db=5 -o json\n"
    "  kubectl karp simulate --snapshot cluster.yaml --set nodepool/default.spec.limits.cpu=160\n"
    "  kubectl karp simulate --set 'node/ip-10-0-1-5.metadata.labels[\"example.com/disk\"]=ssd'\n",
    run,
    groups};
