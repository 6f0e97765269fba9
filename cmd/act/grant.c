/*
 * grant.c - `kubectl karp grant`: DisruptionGrants, written, listed and taken back.
 *
 *   grant                                  those that there are
 *   grant NAME                             that one, as stored
 *   grant NAME --pool P --reason R …       writes one; asks first
 *   grant NAME --delete                    takes it back; asks only about another's
 *
 * grantedBy is whom the server takes the caller for; where it does not tell, nothing is written.
 * One that is there is never changed: what somebody signed stays what he signed. What it would say
 * is read as the agent reads it (core/consent/dgrant.h) before anybody is asked.
 */
#include "change.h"
#include "cmd/opts_table.h"
#include "cmd/out.h"
#include "cmd/read/gather.h"
#include "cmd/read/objects.h"
#include "cmd/read/requests.h"
#include "cmd/read/targets.h"
#include "cmd/screen.h"
#include "cmd/status/holds.h"
#include "cmd/table.h"
#include "common/base/clock.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"

#define LIST_MAX 100u /* names in one option */

struct granter {
    struct cmd *c;
    const char *name; /* NULL: the list */
    struct world w;
    struct arena a;
    struct facts facts;
    struct objects *keep;
    struct connection n;
    const char *by;
};

static bool creates(const struct granter *g)
{
    const struct cmd_opts *o = g->c->o;
    return o->grant_pools.n > 0 || o->grant_reasons.n > 0 || o->schedule || o->duration_ns ||
           o->time_zone || o->max_nodes_per_hour || o->until || o->for_ns || o->note;
}

/* ---- showing --------------------------------------------------------------------------------- */

static const char *window(struct granter *x, const struct dgrant *g)
{
    return !g->windows ? "always"
                       : arena_printf(&x->a, "%s for %s%s%s", g->schedule_text,
                                      screen_age(&x->a, g->duration_ns), *g->time_zone ? " " : "",
                                      g->time_zone);
}

static void put_table(struct granter *x, bool wide, struct buf *out)
{
    static const struct table_column columns[] = {
        {"NAME", false, false},    {"STATE", false, false},  {"NODEPOOLS", false, false},
        {"REASONS", false, false}, {"WINDOW", false, false}, {"NODES/H", true, false},
        {"EXPIRES", false, false}, {"BY", false, false},     {"NOTE", false, true}};
    struct table t;
    int64_t now_ns = requests_now(&x->w);
    table_init(&t, &x->a, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < world_n(&x->w, KIND_DISRUPTION_GRANT); i++) {
        const struct dgrant *g = world_at(&x->w, KIND_DISRUPTION_GRANT, i);
        if (x->name && !str_eq(x->name, g->m.name)) {
            continue;
        }
        table_cell(&t, g->m.name);
        table_cell(&t, grant_state(&x->a, g, now_ns));
        table_cell(&t, grant_pools(&x->a, g));
        table_cell(&t, grant_reasons(&x->a, g));
        table_cell(&t, window(x, g));
        table_cell(&t, g->max_nodes_per_hour == DGRANT_UNLIMITED
                           ? "-"
                           : arena_printf(&x->a, "%lld", (long long)g->max_nodes_per_hour));
        table_cell(&t, g->expires_ns == DGRANT_WITHOUT_END ? "never"
                       : g->expires_ns <= now_ns           ? "-"
                                                 : screen_age(&x->a, g->expires_ns - now_ns));
        table_cell(&t, g->granted_by);
        table_cell(&t, g->problem ? g->problem : *g->note ? g->note : "-");
    }
    if (world_n(&x->w, KIND_DISRUPTION_GRANT) == 0) {
        buf_puts(out, "There are no grants: what asks for a decision waits for one.\n");
        return;
    }
    table_write(&t, &x->c->term, !x->c->o->no_headers, wide, out);
}

/* Items as stored. */
static json_t *report(struct granter *x)
{
    json_t *items = json_array();
    for (size_t i = 0; i < world_n(&x->w, KIND_DISRUPTION_GRANT); i++) {
        const struct dgrant *g = world_at(&x->w, KIND_DISRUPTION_GRANT, i);
        const struct object *o = objects_find(x->keep, KIND_DISRUPTION_GRANT, "", g->m.name);
        if (o && (!x->name || str_eq(x->name, g->m.name))) {
            (void)json_array_append(items, o->o);
        }
    }
    return json_pack("{s:s, s:s, s:o}", "apiVersion", "karp.dev/v1alpha1", "kind",
                     "DisruptionGrantList", "items", items);
}

static int show(struct granter *x, const struct out_spec *spec, struct err *reterr)
{
    AUTO_BUF struct buf out;
    buf_init(&out, OUT_MAX);
    if (spec->format == OUT_TABLE || spec->format == OUT_WIDE) {
        put_table(x, spec->format == OUT_WIDE, &out);
    } else {
        AUTO_JSON json_t *list = report(x);
        size_t i;
        json_t *o;
        if (spec->format != OUT_NAME && out_report(spec, list, &out, reterr) != 0) {
            return -1;
        }
        json_array_foreach (jsonx_arr(list, "items"), i, o) {
            if (spec->format == OUT_NAME) {
                buf_printf(&out, "disruptiongrant.karp.dev/%s\n",
                           jsonx_str_or(o, "metadata.name", ""));
            }
        }
    }
    return out_flush(x->c->out, &out, reterr);
}

/* ---- what it would say ----------------------------------------------------------------------- */

/* "a,b" and "c" as ["a", "b", "c"], each once. */
static json_t *names(struct granter *x, const struct opt_texts *said)
{
    json_t *list = json_array();
    for (size_t i = 0; i < said->n; i++) {
        for (const char *p = said->v[i]; *p && json_array_size(list) < LIST_MAX;) {
            size_t n = strcspn(p, ","), at;
            const char *name = arena_strndup(&x->a, p, n);
            json_t *one;
            bool there = n == 0;
            json_array_foreach (list, at, one) {
                there = there || str_eq(json_string_value(one), name);
            }
            if (!there) {
                (void)json_array_append_new(list, json_string(name));
            }
            p += n + (p[n] == ',');
        }
    }
    return list;
}

static void put_text(json_t *spec, const char *key, const char *text)
{
    if (text && *text) {
        json_object_set_new(spec, key, json_string(text));
    }
}

/* Windows are of whole minutes, as the schema has it: "8h30m". */
static int put_duration(struct granter *x, json_t *spec, struct err *reterr)
{
    int64_t ns = x->c->o->duration_ns, minutes = ns / NS_PER_MIN;
    if (ns % NS_PER_MIN != 0) {
        return err_set(reterr, ERR_INVALID, "--duration is not of whole minutes");
    }
    if (minutes > 0) {
        put_text(spec, "duration",
                 minutes % 60 == 0 ? arena_printf(&x->a, "%lldh", (long long)(minutes / 60))
                 : minutes < 60    ? arena_printf(&x->a, "%lldm", (long long)minutes)
                                   : arena_printf(&x->a, "%lldh%lldm", (long long)(minutes / 60),
                                                  (long long)(minutes % 60)));
    }
    return 0;
}

static int put_end(struct granter *x, json_t *spec, struct err *reterr)
{
    const struct cmd_opts *o = x->c->o;
    int64_t now_ns = requests_now(&x->w), end_ns = now_ns;
    char at[TIMEFMT_TEXT];
    bool full;
    if (!o->until && !o->for_ns) {
        return 0;
    }
    if (o->until && o->for_ns) {
        return err_set(reterr, ERR_INVALID, "say either --expires or --for");
    }
    if (o->until && gather_time("expires", o->until, now_ns, &end_ns, &full, reterr) != 0) {
        return -1;
    }
    if (o->for_ns && __builtin_add_overflow(now_ns, o->for_ns, &end_ns)) {
        return err_set(reterr, ERR_INVALID, "--for is too long");
    }
    if (end_ns <= now_ns) {
        return err_set(reterr, ERR_INVALID, "--expires %s is over", o->until);
    }
    put_text(spec, "expiresAt", timefmt_rfc3339(end_ns, at));
    return 0;
}

/* A new reference, or NULL. */
static json_t *body(struct granter *x, struct err *reterr)
{
    const struct cmd_opts *o = x->c->o;
    json_t *spec = json_pack("{s:o, s:o}", "pools", names(x, &o->grant_pools), "reasons",
                             names(x, &o->grant_reasons));
    json_t *ret = json_pack("{s:s, s:s, s:{s:s}, s:o}", "apiVersion", "karp.dev/v1alpha1", "kind",
                            "DisruptionGrant", "metadata", "name", x->name, "spec", spec);
    put_text(spec, "schedule", o->schedule);
    put_text(spec, "timeZone", o->time_zone);
    put_text(spec, "note", o->note);
    put_text(spec, "grantedBy", x->by);
    if (o->max_nodes_per_hour > 0) {
        json_object_set_new(spec, "maxNodesPerHour", json_integer(o->max_nodes_per_hour));
    }
    if (put_duration(x, spec, reterr) != 0 || put_end(x, spec, reterr) != 0) {
        json_decref(ret);
        return NULL;
    }
    return ret;
}

/* As the agent would read it. NULL: nothing would come of it. */
static struct dgrant *understood(struct granter *x, const json_t *o, struct err *reterr)
{
    struct dgrant *g = decode_dgrant(x->w.decoder, o, reterr);
    if (g && g->problem) {
        (void)err_set(reterr, ERR_INVALID, "such a grant would cover nothing: %s", g->problem);
        decode_dgrant_free(g);
        return NULL;
    }
    if (g && !g->windows && x->c->o->time_zone) {
        (void)err_set(reterr, ERR_INVALID, "--time-zone is about a --schedule");
        decode_dgrant_free(g);
        return NULL;
    }
    return g;
}

static void warn_pools(struct granter *x, const struct dgrant *g)
{
    for (uint32_t i = 0; i < g->n_pools && !x->w.hidden[KIND_NODE_POOL]; i++) {
        if (!str_eq(g->pools[i], DGRANT_ALL_POOLS) && !target_pool(&x->w, g->pools[i])) {
            cmd_warn(x->c, "there is no NodePool %s now", text_safe(&x->a, g->pools[i]));
        }
    }
}

static const char *question(struct granter *x, const struct dgrant *g)
{
    bool ends = g->expires_ns != DGRANT_WITHOUT_END;
    const char *most =
        g->max_nodes_per_hour == DGRANT_UNLIMITED
            ? ""
            : arena_printf(&x->a, ", %lld nodes an hour at most", (long long)g->max_nodes_per_hour);
    return arena_printf(&x->a, "%s of %s will need no decision (%s%s), %s%s. Grant it as %s?",
                        grant_reasons(&x->a, g), text_safe(&x->a, grant_pools(&x->a, g)),
                        text_safe(&x->a, window(x, g)), most, ends ? "until " : "without end",
                        ends ? screen_clock(&x->a, g->expires_ns, requests_now(&x->w)) : "",
                        text_safe(&x->a, x->by));
}

/* ---- writing --------------------------------------------------------------------------------- */

static int sign(struct granter *x, struct err *reterr)
{
    x->by = change_mode(x->c) == CHANGE_CLIENT ? "you" : connect_whoami(&x->n, &x->a);
    return *x->by ? 0
                  : err_set(reterr, ERR_UNAVAILABLE,
                            "the API server does not tell who you are (SelfSubjectReview of "
                            "authentication.k8s.io/v1, Kubernetes 1.28): write the grant with "
                            "kubectl");
}

static int create(struct granter *x, struct err *reterr)
{
    if (x->c->o->grant_pools.n == 0 || x->c->o->grant_reasons.n == 0) {
        return err_set(reterr, ERR_INVALID, "a grant needs --pool and --reason");
    }
    if (grants_find(&x->w, x->name)) {
        return err_set(reterr, ERR_INVALID,
                       "grant %s is there; what somebody signed is not changed, but deleted: "
                       "grant %s --delete",
                       x->name, x->name);
    }
    if (change_open(x->c, &x->n, reterr) != 0 || sign(x, reterr) != 0) {
        return -1;
    }
    AUTO_JSON json_t *o = body(x, reterr);
    struct dgrant *g = o ? understood(x, o, reterr) : NULL;
    if (!g) {
        return -1;
    }
    warn_pools(x, g);
    bool go = change_agreed(x->c, question(x, g));
    decode_dgrant_free(g);
    if (!go) {
        return 0;
    }
    if (change_create(x->c, &x->n, KIND_DISRUPTION_GRANT, o, reterr) != 0) {
        return -1;
    }
    (void)fprintf(x->c->out, "disruptiongrant.karp.dev/%s created%s\n", text_safe(&x->a, x->name),
                  change_suffix(x->c));
    if (change_mode(x->c) == CHANGE_REAL) {
        (void)fprintf(x->c->err, "Take it back:  kubectl karp grant %s --delete\n",
                      text_safe(&x->a, x->name));
    }
    return 0;
}

static int take_back(struct granter *x, struct err *reterr)
{
    const struct dgrant *g = grants_find(&x->w, x->name);
    if (creates(x)) {
        return err_set(reterr, ERR_INVALID, "--delete goes with a name alone");
    }
    if (!g) {
        return target_missing(&x->w, KIND_DISRUPTION_GRANT, x->name, reterr);
    }
    if (change_open(x->c, &x->n, reterr) != 0) {
        return -1;
    }
    x->by = change_mode(x->c) == CHANGE_CLIENT ? "" : connect_whoami(&x->n, &x->a);
    if (!str_eq(x->by, g->granted_by) &&
        !change_agreed(x->c, arena_printf(&x->a, "Somebody else's: %s by %s. Delete it?",
                                          text_safe(&x->a, g->m.name),
                                          text_safe(&x->a, g->granted_by)))) {
        return 0;
    }
    if (change_delete(x->c, &x->n, KIND_DISRUPTION_GRANT, g->m.name, g->m.uid, reterr) != 0) {
        return -1;
    }
    (void)fprintf(x->c->out, "disruptiongrant.karp.dev/%s deleted%s\n", text_safe(&x->a, x->name),
                  change_suffix(x->c));
    return 0;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int known(const struct granter *x, struct err *reterr)
{
    if (x->w.hidden[KIND_DISRUPTION_GRANT]) {
        return err_set(reterr, ERR_FORBIDDEN,
                       "not allowed to list DisruptionGrants (see ClusterRole karp-approver)");
    }
    if (x->w.absent[KIND_DISRUPTION_GRANT]) {
        return err_set(reterr, ERR_NOT_FOUND,
                       "the cluster does not know DisruptionGrants: the CRD "
                       "disruptiongrants.karp.dev is not installed");
    }
    return 0;
}

static int write(struct granter *x, const struct out_spec *spec, struct err *reterr)
{
    const struct cmd_opts *o = x->c->o;
    if (!x->name) {
        return err_set(reterr, ERR_INVALID, "say its name: grant NAME ...");
    }
    if (o->snapshots.n > 0 || spec->format != OUT_TABLE) {
        return err_set(reterr, ERR_INVALID, "--snapshot and -o go with the list");
    }
    if (o->delete) {
        return take_back(x, reterr);
    }
    if (!holds_obeyed(&x->facts)) {
        change_refuse(x->c, "%s is in charge of this cluster: upstream Karpenter knows no grants",
                      text_safe(&x->a, x->facts.leader));
        return 0;
    }
    return create(x, reterr);
}

static int run_all(struct granter *x, const struct out_spec *spec, struct err *reterr)
{
    static const uint64_t kinds = GATHER(KIND_NODE_POOL) | GATHER(KIND_LEASE) |
                                  GATHER(KIND_CONFIG_MAP) | GATHER(KIND_DISRUPTION_GRANT);
    if (gather(x->c, kinds, &x->w, reterr) != 0 || known(x, reterr) != 0) {
        return -1;
    }
    facts_read(&x->w, &x->a, &x->facts);
    if (creates(x) || x->c->o->delete) {
        return write(x, spec, reterr);
    }
    if (x->name && !grants_find(&x->w, x->name)) {
        return target_missing(&x->w, KIND_DISRUPTION_GRANT, x->name, reterr);
    }
    return show(x, spec, reterr);
}

static int run(struct cmd *c, struct err *reterr)
{
    struct out_spec spec;
    struct granter x = {.c = c, .by = ""};
    unsigned formats = OUT_TABLE | OUT_WIDE | OUT_JSON | OUT_YAML | OUT_NAME | OUT_JSONPATH;
    if (c->o->words.n > 1) {
        return err_set(reterr, ERR_INVALID, "one grant at a time");
    }
    if (out_parse(c->o->output, formats, &spec, reterr) != 0) {
        return -1;
    }
    x.name = c->o->words.n ? c->o->words.v[0] : NULL;
    arena_init(&x.a, 0, SIZE_MAX);
    world_init(&x.w, c->o->agent_namespace);
    x.keep = x.w.keep = objects_new();
    int rc = run_all(&x, &spec, reterr);
    connect_close(&x.n);
    world_done(&x.w);
    objects_free(x.keep);
    arena_done(&x.a);
    return rc;
}

static const struct opt_group *const groups[] = {
    &opts_grant, &opts_write, &opts_output, &opts_input, &opts_connection, &opts_general, NULL};

const struct cmd_info cmd_grant_info = {
    "grant",
    "Lists standing approvals, writes one, takes one back",
    "[NAME] [flags]",
    "A DisruptionGrant approves ahead of time: what it names (NodePools and reasons) needs no "
    "decision\n"
    "while it is open. It covers a plan if every pool that loses or gets a node by it is named. "
    "It\n"
    "permits, it never overrides: budgets, PodDisruptionBudgets and Holds count as ever. GitOps "
    "can\n"
    "write one as well, signed with its own account (grantedBy).\n"
    "\n"
    "Examples:\n"
    "  kubectl karp grant\n"
    "  kubectl karp grant nightly --pool default --reason Drifted --schedule \"0 22 * * *\" "
    "--duration 8h \\\n"
    "      --time-zone Europe/Berlin --max-nodes-per-hour 4 --for 30d\n"
    "  kubectl karp grant sandbox --pool sandbox --reason Underutilized,Empty --expires "
    "2027-01-01T00:00:00Z\n"
    "  kubectl karp grant nightly --delete\n",
    run,
    groups};
