/* approve.c - see approve_int.h. */
#include "approve_int.h"
#include "cmd/opts_table.h"
#include "cmd/out.h"
#include "cmd/read/gather.h"
#include "cmd/read/objects.h"
#include "cmd/read/targets.h"
#include "cmd/screen.h"
#include "cmd/status/holds.h"
#include "cmd/table.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/core/ec2/catalog.h"

static const uint64_t kinds = GATHER(KIND_NODE_CLAIM) | GATHER(KIND_LEASE) |
                              GATHER(KIND_CONFIG_MAP) | GATHER(KIND_DISRUPTION_REQUEST);

static const char *verb(const struct approver *x)
{
    return x->deny ? "deny" : "approve";
}

static bool listing(const struct approver *x)
{
    return x->c->o->words.n == 0 && !x->c->o->all;
}

/* ---- which ----------------------------------------------------------------------------------- */

static int known(const struct approver *x, struct err *reterr)
{
    if (x->w->hidden[KIND_DISRUPTION_REQUEST]) {
        return err_set(reterr, ERR_FORBIDDEN,
                       "not allowed to list DisruptionRequests (see ClusterRole karp-approver)");
    }
    if (x->w->absent[KIND_DISRUPTION_REQUEST]) {
        return err_set(reterr, ERR_NOT_FOUND,
                       "the cluster does not know DisruptionRequests: the CRD "
                       "disruptionrequests.karp.dev is not installed");
    }
    return 0;
}

/* ID, dreq/ID, disruptionrequest/ID. */
static const char *id_of(struct approver *x, const char *word)
{
    enum kube_kind kind;
    const char *slash = strchr(word, '/');
    const char *before = slash ? arena_strndup(x->a, word, (size_t)(slash - word)) : NULL;
    return slash && objects_kind(before, &kind) && kind == KIND_DISRUPTION_REQUEST ? slash + 1
                                                                                   : word;
}

static void pick(struct approver *x, const struct dreq *r)
{
    for (size_t i = 0; i < x->n_picked; i++) {
        if (x->picked[i] == r) {
            return;
        }
    }
    x->picked[x->n_picked++] = r;
}

static int pick_all(struct approver *x, struct err *reterr)
{
    int64_t nodes = 0, max = x->c->o->max_nodes;
    if (x->c->o->words.n > 0) {
        return err_set(reterr, ERR_INVALID, "say either --all or which");
    }
    for (size_t i = 0; i < world_n(x->w, KIND_DISRUPTION_REQUEST); i++) {
        const struct dreq *r = world_at(x->w, KIND_DISRUPTION_REQUEST, i);
        if (!request_waits(r, requests_now(x->w))) {
            continue;
        }
        if (max > 0 && nodes + r->n_candidates > max) {
            (void)fprintf(x->c->out, "%s skipped: more than %lld nodes (--max-nodes)\n",
                          text_safe(x->a, r->m.name), (long long)max);
            continue;
        }
        nodes += r->n_candidates;
        pick(x, r);
    }
    return 0;
}

static int pick_words(struct approver *x, struct err *reterr)
{
    for (size_t i = 0; i < x->c->o->words.n; i++) {
        const char *name = id_of(x, x->c->o->words.v[i]);
        const struct dreq *r = requests_find(x->w, name);
        if (!r) {
            return target_missing(x->w, KIND_DISRUPTION_REQUEST, name, reterr);
        }
        pick(x, r);
    }
    return 0;
}

/* ---- showing --------------------------------------------------------------------------------- */

static bool is_picked(const struct approver *x, const char *name)
{
    for (size_t i = 0; i < x->n_picked; i++) {
        if (str_eq(x->picked[i]->m.name, name)) {
            return true;
        }
    }
    return false;
}

/* Items as stored: those named, else those that wait. */
static json_t *report(const struct approver *x)
{
    json_t *items = json_array();
    for (size_t i = 0; i < world_n(x->w, KIND_DISRUPTION_REQUEST); i++) {
        const struct dreq *r = world_at(x->w, KIND_DISRUPTION_REQUEST, i);
        const struct object *o = objects_find(x->s.keep, KIND_DISRUPTION_REQUEST, "", r->m.name);
        bool wanted = listing(x) ? request_waits(r, requests_now(x->w)) : is_picked(x, r->m.name);
        if (o && wanted) {
            (void)json_array_append(items, o->o);
        }
    }
    return json_pack("{s:s, s:s, s:o}", "apiVersion", "karp.dev/v1alpha1", "kind",
                     "DisruptionRequestList", "items", items);
}

static void put_names(const struct approver *x, const json_t *list, struct buf *out)
{
    size_t i;
    json_t *o;
    json_array_foreach (jsonx_arr(list, "items"), i, o) {
        buf_printf(out, "disruptionrequest.karp.dev/%s\n", jsonx_str_or(o, "metadata.name", ""));
    }
    (void)x;
}

static void put_screen(struct approver *x, bool wide, struct buf *out)
{
    if (listing(x)) {
        approve_list(x, wide, out);
    }
    for (size_t i = 0; i < x->n_picked; i++) {
        buf_puts(out, i ? "\n" : "");
        approve_show(x, x->picked[i], out);
    }
}

static int show(struct approver *x, const struct out_spec *spec, struct err *reterr)
{
    AUTO_BUF struct buf out;
    buf_init(&out, OUT_MAX);
    if (spec->format == OUT_TABLE || spec->format == OUT_WIDE) {
        put_screen(x, spec->format == OUT_WIDE, &out);
    } else {
        AUTO_JSON json_t *list = report(x);
        if (spec->format == OUT_NAME) {
            put_names(x, list, &out);
        } else if (out_report(spec, list, &out, reterr) != 0) {
            return -1;
        }
    }
    return out_flush(x->c->out, &out, reterr);
}

/* ---- guards ---------------------------------------------------------------------------------- */

static bool somebody_files(struct approver *x)
{
    if (!holds_obeyed(&x->facts)) {
        change_refuse(x->c,
                      "%s is in charge of this cluster: upstream Karpenter knows no approvals",
                      text_safe(x->a, x->facts.leader));
        return false;
    }
    if (x->facts.charge == CHARGE_NONE) {
        cmd_warn(x->c, "no agent is in charge of this cluster now; a decision counts when there "
                       "is one, if it has not expired by then");
    }
    return true;
}

/* Only to be waited for: what was wished for has been decided. */
static bool is_decided(const struct approver *x, const struct dreq *r)
{
    int64_t now_ns = requests_now(x->w);
    return x->c->o->wait && !x->deny && request_goes(r, now_ns);
}

/* Approved by a grant or by what it inherits: a no of its own stops it. */
static bool may_object(const struct approver *x, const struct dreq *r)
{
    return x->deny && r->phase == DREQ_APPROVED && r->decision == DREQ_UNDECIDED &&
           !*r->superseded_by && request_goes(r, requests_now(x->w));
}

static const char *refusal(struct approver *x, const struct dreq *r)
{
    const char *why = may_object(x, r) ? NULL : request_closed(x->w, x->a, r);
    if (!why && !x->deny) {
        why = request_stale(x->w, x->a, r);
    }
    if (!why && x->not_before_ns && x->not_before_ns >= r->expires_ns) {
        why = arena_printf(x->a, "it expires before that (--not-before), at %s UTC",
                           screen_clock(x->a, r->expires_ns, requests_now(x->w)));
    }
    return why;
}

/* Leaves what can be decided, or waited for. */
static void sieve(struct approver *x)
{
    size_t kept = 0;
    for (size_t i = 0; i < x->n_picked; i++) {
        const struct dreq *r = x->picked[i];
        const char *why = is_decided(x, r) ? NULL : refusal(x, r);
        if (!why) {
            x->picked[kept++] = r;
        } else if (x->c->o->all) {
            (void)fprintf(x->c->out, "%s skipped: %s\n", text_safe(x->a, r->m.name),
                          text_safe(x->a, why));
        } else {
            change_refuse(x->c, "%s: %s", text_safe(x->a, r->m.name), text_safe(x->a, why));
        }
    }
    x->n_picked = kept;
}

/* Of those that nobody is shown. */
static void warn_others(struct approver *x)
{
    for (size_t i = 0; i < x->n_picked && (x->c->o->yes || !x->c->in); i++) {
        const struct dreq *r = x->picked[i];
        bool other = false;
        const char *text = is_decided(x, r) || x->deny ? "" : approve_fresh(x, r, &other);
        if (other) {
            cmd_warn(x->c, "%s: %s", text_safe(x->a, r->m.name), text_safe(x->a, text));
        }
    }
}

static bool agreed(struct approver *x)
{
    AUTO_BUF struct buf out;
    size_t n = 0;
    buf_init(&out, OUT_MAX);
    for (size_t i = 0; i < x->n_picked; i++) {
        n += !is_decided(x, x->picked[i]);
    }
    if (n == 0) {
        return true;
    }
    if (!x->c->o->yes && x->c->in) {
        put_screen(x, false, &out);
        (void)fwrite(out.p, 1, out.n, x->c->err);
    }
    warn_others(x);
    const char *what = n == 1 ? "" : arena_printf(x->a, " %zu requests", n);
    return change_agreed(x->c, arena_printf(x->a, "%s%s as %s?", x->deny ? "Deny" : "Approve", what,
                                            text_safe(x->a, x->by)));
}

/* ---- writing --------------------------------------------------------------------------------- */

static void put_text(json_t *spec, const char *key, const char *text)
{
    if (text && *text) {
        json_object_set_new(spec, key, json_string(text));
    }
}

static int write_decision(struct approver *x, const struct dreq *r, struct err *reterr)
{
    char at[TIMEFMT_TEXT];
    json_t *spec =
        json_pack("{s:s, s:s}", "decision", x->deny ? "Denied" : "Approved", "decidedBy", x->by);
    put_text(spec, "onBehalfOf", x->c->o->on_behalf_of);
    put_text(spec, "note", x->c->o->note);
    if (x->not_before_ns) {
        put_text(spec, "notBefore", timefmt_rfc3339(x->not_before_ns, at));
    }
    AUTO_JSON json_t *patch =
        json_pack("{s:{s:s}, s:o}", "metadata", "uid", r->m.uid, "spec", spec);
    return change_patch(x->c, &x->n, KIND_DISRUPTION_REQUEST, r->m.name, patch, reterr);
}

static void put_done(struct approver *x, const struct dreq *r)
{
    int64_t now_ns = requests_now(x->w);
    const char *more =
        x->deny || change_mode(x->c) != CHANGE_REAL ? ""
        : x->not_before_ns
            ? arena_printf(x->a, " (not before %s UTC, expires %s UTC)",
                           screen_clock(x->a, x->not_before_ns, now_ns),
                           screen_clock(x->a, r->expires_ns, now_ns))
            : arena_printf(x->a, " (expires %s UTC, agent starts within its budgets)",
                           screen_clock(x->a, r->expires_ns, now_ns));
    (void)fprintf(x->c->out, "disruptionrequest.karp.dev/%s %s%s%s\n", text_safe(x->a, r->m.name),
                  x->deny ? "denied" : "approved", change_suffix(x->c), more);
    (void)fflush(x->c->out);
}

static int write_all(struct approver *x, struct err *reterr)
{
    for (size_t i = 0; i < x->n_picked; i++) {
        const struct dreq *r = x->picked[i];
        if (is_decided(x, r)) {
            continue;
        }
        if (write_decision(x, r, reterr) != 0) {
            return -1;
        }
        put_done(x, r);
    }
    bool wait = x->c->o->wait && change_mode(x->c) == CHANGE_REAL;
    int rc = 0;
    for (size_t i = 0; i < x->n_picked && wait; i++) {
        struct err *e = rc ? NULL : reterr; /* the first that did not come to a good end */
        rc = approve_wait(x, x->picked[i]->m.name, APPROVE_INTERVAL_MS, e) ? -1 : rc;
    }
    return rc;
}

static int sign(struct approver *x, struct err *reterr)
{
    x->by = change_mode(x->c) == CHANGE_CLIENT ? "you" : connect_whoami(&x->n, x->a);
    return *x->by ? 0
                  : err_set(reterr, ERR_UNAVAILABLE,
                            "the API server does not tell who you are (SelfSubjectReview of "
                            "authentication.k8s.io/v1, Kubernetes 1.28): decidedBy must be said, "
                            "with kubectl patch");
}

static int decide_all(struct approver *x, struct err *reterr)
{
    if (!somebody_files(x)) {
        return 0;
    }
    sieve(x);
    if (x->n_picked == 0) {
        (void)fputs(x->c->o->all ? "nothing to decide\n" : "", x->c->err);
        return 0;
    }
    if (change_open(x->c, &x->n, reterr) != 0 || sign(x, reterr) != 0) {
        return -1;
    }
    return agreed(x) ? write_all(x, reterr) : 0;
}

/* ---- the commands ---------------------------------------------------------------------------- */

static int check_options(struct approver *x, const struct out_spec *spec, struct err *reterr)
{
    const struct cmd_opts *o = x->c->o;
    bool decides = !listing(x) && !o->show;
    if (o->words.n > APPROVE_MAX) {
        return err_set(reterr, ERR_INVALID, "more than %u requests at once", APPROVE_MAX);
    }
    if (decides && o->snapshots.n > 0) {
        return err_set(reterr, ERR_INVALID, "nothing of a snapshot can be decided: add --show");
    }
    if (decides && spec->format != OUT_TABLE) {
        return err_set(reterr, ERR_INVALID, "-o goes with the list and with --show");
    }
    if (o->show && listing(x)) {
        return err_set(reterr, ERR_INVALID, "say which: %s ID --show", verb(x));
    }
    return 0;
}

static int read_not_before(struct approver *x, struct err *reterr)
{
    bool full;
    const char *at = x->c->o->not_before;
    if (!at) {
        return 0;
    }
    if (x->deny) {
        return err_set(reterr, ERR_INVALID, "--not-before is for approve");
    }
    return gather_time("not-before", at, requests_now(x->w), &x->not_before_ns, &full, reterr);
}

static int run_all(struct approver *x, const struct out_spec *spec, struct err *reterr)
{
    uint64_t all = listing(x) || x->deny ? kinds : kinds | session_kinds | disrupt_kinds;
    if (check_options(x, spec, reterr) != 0 || session_gather(&x->s, all, reterr) != 0 ||
        known(x, reterr) != 0 || read_not_before(x, reterr) != 0) {
        return -1;
    }
    facts_read(x->w, x->a, &x->facts);
    x->picked = ARENA_NEW_N(x->a, const struct dreq *,
                            x->c->o->words.n + world_n(x->w, KIND_DISRUPTION_REQUEST) + 1);
    if ((x->c->o->all ? pick_all(x, reterr) : pick_words(x, reterr)) != 0) {
        return -1;
    }
    if (!listing(x) && !x->deny) {
        approve_plan(x);
    }
    return listing(x) || x->c->o->show ? show(x, spec, reterr) : decide_all(x, reterr);
}

static int run(struct cmd *c, bool deny, struct err *reterr)
{
    struct out_spec spec;
    struct approver x = {.c = c, .deny = deny};
    unsigned formats = OUT_TABLE | OUT_WIDE | OUT_JSON | OUT_YAML | OUT_NAME | OUT_JSONPATH;
    if (out_parse(c->o->output, formats, &spec, reterr) != 0) {
        return -1;
    }
    bool stored = spec.format != OUT_TABLE && spec.format != OUT_WIDE;
    session_init(&x.s, c, stored);
    x.w = &x.s.w;
    x.a = &x.s.a;
    int rc = run_all(&x, &spec, reterr);
    connect_close(&x.n);
    session_done(&x.s);
    return rc;
}

static int cmd_approve(struct cmd *c, struct err *reterr)
{
    return run(c, false, reterr);
}

static int cmd_deny(struct cmd *c, struct err *reterr)
{
    return run(c, true, reterr);
}

static const struct opt_group *const approve_groups[] = {
    &opts_decide, &opts_later,      &opts_write,   &opts_output,
    &opts_input,  &opts_connection, &opts_general, NULL};
static const struct opt_group *const deny_groups[] = {
    &opts_decide, &opts_write, &opts_output, &opts_input, &opts_connection, &opts_general, NULL};

const struct cmd_info cmd_approve_info = {
    "approve",
    "Lists plans that wait for a decision, and says yes to them",
    "[ID...] [flags]",
    "Without ID the DisruptionRequests that wait: what would leave, what would come, what it saves "
    "and\n"
    "risks. With ID each is shown, checked against the cluster, and approved once you agree. An\n"
    "approval permits, it never overrides: the agent looks again, keeps to budgets and\n"
    "PodDisruptionBudgets, and drops a plan that no longer holds. It is written once, with the "
    "name\n"
    "that the API server knows you by, and cannot be taken back; a Hold (`pause`, `hold`) stops "
    "what "
    "it\n"
    "permits. Exit code 3: something named was not approved.\n"
    "\n"
    "Examples:\n"
    "  kubectl karp approve\n"
    "  kubectl karp approve dr-7f3a --show\n"
    "  kubectl karp approve dr-7f3a --wait\n"
    "  kubectl karp approve dr-7f3a dr-9c01 --not-before 22:00 --note \"after the release\"\n"
    "  kubectl karp approve --all --max-nodes 3 --yes\n",
    cmd_approve,
    approve_groups};

const struct cmd_info cmd_deny_info = {
    "deny",
    "Says no to plans that wait for a decision",
    "[ID...] [flags]",
    "The same plan is not filed again for 24 hours; another one for the same nodes may be. What a\n"
    "grant covers, or has inherited an approval, can be denied by its ID until it begins. The\n"
    "note is for those who ask why. Exit code 3: something named was not denied.\n"
    "\n"
    "Examples:\n"
    "  kubectl karp deny dr-9c01 --note \"reports run until Friday\"\n"
    "  kubectl karp deny --all --yes\n",
    cmd_deny,
    deny_groups};
