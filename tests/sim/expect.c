#include "expect.h"

#include "common/base/alloc.h"
#include "common/base/jsonpath.h"
#include "common/base/jsonx.h"
#include "common/base/quantity.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/core/ec2/catalog.h"
#include "common/core/ec2/ec2type.h"
#include "guest.h"
#include "historylook.h"
#include "run.h"

#include <math.h>

#define VALUE_TEXT 256
#define METRIC_PAIRS_MAX 8

/* What an expectation sees: a text, or nothing at all. */
struct seen {
    bool absent;
    char text[VALUE_TEXT];
};

typedef int (*see_fn)(struct sim_run *r, const json_t *what, struct seen *ret, struct err *reterr);

/* ---- the things
 * ---------------------------------------------------------------------------------- */

static void see_number(struct seen *ret, double v)
{
    snprintf(ret->text, sizeof(ret->text), "%.15g", v);
}

static bool where_holds(const json_t *o, const json_t *where)
{
    const char *path;
    json_t *want;
    json_object_foreach ((json_t *)(uintptr_t)where, path, want) {
        AUTO_JSON json_t *found = jsonpath_find(o, path, NULL);
        const json_t *v = json_array_get(found, 0);
        char *text AUTO_FREE =
            v ? json_is_string(v) ? xstrdup(json_string_value(v)) : jsonx_dump(v) : NULL;
        char *wanted AUTO_FREE =
            json_is_string(want) ? xstrdup(json_string_value(want)) : jsonx_dump(want);
        if (!str_eq(text, wanted) && !(str_eq(wanted, "absent") && !text)) {
            return false;
        }
    }
    return true;
}

static int see_count(struct sim_run *r, const json_t *what, struct seen *ret, struct err *reterr)
{
    const struct sim_kind *kind = sim_kind_find(jsonx_str(what, "count"));
    const char *ns = jsonx_str(what, "namespace"), *phase = jsonx_str(what, "phase");
    struct jsonsel labels = {0}, fields = {0};
    size_t n = 0;
    if (jsonsel_parse_labels(jsonx_str_or(what, "selector", ""), &labels, reterr) < 0 ||
        jsonsel_parse_fields(jsonx_str_or(what, "fieldSelector", ""), &fields, reterr) < 0) {
        jsonsel_done(&labels);
        return -1;
    }
    for (size_t i = 0; i < sim_api_count(r->world->api, kind->id); i++) {
        const json_t *o = sim_api_at(r->world->api, kind->id, i);
        n += (!ns || str_eq(ns, jsonx_str(o, "metadata.namespace"))) &&
             (!phase || str_eq(phase, jsonx_str(o, "status.phase"))) &&
             jsonsel_match_labels(&labels, jsonx_obj(o, "metadata.labels")) &&
             jsonsel_match_fields(&fields, o) && where_holds(o, json_object_get(what, "where"));
    }
    jsonsel_done(&labels);
    jsonsel_done(&fields);
    see_number(ret, (double)n);
    return 0;
}

static int see_value(struct sim_run *r, const json_t *what, struct seen *ret, struct err *reterr)
{
    const json_t *v = json_object_get(what, "value");
    const struct sim_kind *kind = sim_kind_find(jsonx_str(v, "kind"));
    const json_t *o = sim_api_get(r->world->api, kind->id, jsonx_str_or(v, "namespace", "default"),
                                  jsonx_str(v, "name"));
    ret->absent = true;
    if (!o) {
        return 0;
    }
    AUTO_JSON json_t *found = jsonpath_find(o, jsonx_str(v, "path"), reterr);
    if (!found) {
        return -1;
    }
    const json_t *first = json_array_get(found, 0);
    if (first) {
        char *text AUTO_FREE =
            json_is_string(first) ? xstrdup(json_string_value(first)) : jsonx_dump(first);
        str_copy(ret->text, sizeof(ret->text), text);
        ret->absent = false;
    }
    return 0;
}

static int see_instances(struct sim_run *r, const json_t *what, struct seen *ret,
                         struct err *reterr)
{
    size_t n;
    if (simec2_count(r->ec2, json_object_get(what, "instances"), &n, reterr) < 0) {
        return -1;
    }
    see_number(ret, (double)n);
    return 0;
}

static int see_calls(struct sim_run *r, const json_t *what, struct seen *ret, struct err *reterr)
{
    const json_t *c = json_object_get(what, "calls");
    const char *service = jsonx_str(c, "service"), *action = jsonx_str(c, "action");
    uint64_t n = 0;
    (void)reterr;
    if (!str_eq(service, "kube")) {
        n = simec2_calls(r->ec2, service, action);
    } else {
        for (int i = 0; i < r->n_guests; i++) {
            n += sim_api_calls(r->world->api, guest_name(r->guests[i]), action);
        }
    }
    see_number(ret, (double)n);
    return 0;
}

static int see_queue(struct sim_run *r, const json_t *what, struct seen *ret, struct err *reterr)
{
    (void)what;
    (void)reterr;
    see_number(ret, (double)simec2_queue_len(r->ec2));
    return 0;
}

static int see_removed(struct sim_run *r, const json_t *sel, bool evicted, struct seen *ret,
                       struct err *reterr)
{
    struct jsonsel labels = {0};
    size_t n = 0;
    if (jsonsel_parse_labels(jsonx_str_or(sel, "selector", ""), &labels, reterr) < 0) {
        return -1;
    }
    for (size_t i = 0; i < r->n_removed; i++) {
        n +=
            r->removed[i].evicted == evicted && jsonsel_match_labels(&labels, r->removed[i].labels);
    }
    jsonsel_done(&labels);
    see_number(ret, (double)n);
    return 0;
}

static int see_evictions(struct sim_run *r, const json_t *what, struct seen *ret,
                         struct err *reterr)
{
    return see_removed(r, json_object_get(what, "evictions"), true, ret, reterr);
}

static int see_deletions(struct sim_run *r, const json_t *what, struct seen *ret,
                         struct err *reterr)
{
    return see_removed(r, json_object_get(what, "deletions"), false, ret, reterr);
}

static int see_cost(struct sim_run *r, const json_t *what, struct seen *ret, struct err *reterr)
{
    (void)what;
    (void)reterr;
    see_number(ret, (double)simec2_cost_pusd_h(r->ec2) / (double)PUSD_PER_USD);
    return 0;
}

static int see_metric(struct sim_run *r, const json_t *what, struct seen *ret, struct err *reterr)
{
    const json_t *m = json_object_get(what, "metric");
    const char *pairs[2 * METRIC_PAIRS_MAX + 1] = {NULL};
    const char *key;
    json_t *v;
    size_t n = 0;
    double sum = 0;
    json_object_foreach (json_object_get(m, "labels"), key, v) {
        if (n == METRIC_PAIRS_MAX || !json_is_string(v)) {
            return err_set(reterr, ERR_INVALID, "metric.labels: at most %d texts",
                           METRIC_PAIRS_MAX);
        }
        pairs[2 * n] = key;
        pairs[2 * n + 1] = json_string_value(v);
        n++;
    }
    for (int i = 0; i < r->n_guests; i++) {
        sum += guest_metric(r->guests[i], jsonx_str(m, "name"), pairs);
    }
    see_number(ret, sum);
    return 0;
}

static int see_alive(struct sim_run *r, const json_t *what, struct seen *ret, struct err *reterr)
{
    bool up = false;
    (void)what;
    (void)reterr;
    for (int i = 0; i < r->n_guests; i++) {
        up = up || guest_up(r->guests[i]);
    }
    str_copy(ret->text, sizeof(ret->text), up ? "true" : "false");
    return 0;
}

static int see_invariants(struct sim_run *r, const json_t *what, struct seen *ret,
                          struct err *reterr)
{
    (void)what;
    (void)reterr;
    see_number(ret, (double)r->violations.n);
    return 0;
}

static int see_history(struct sim_run *r, const json_t *what, struct seen *ret, struct err *reterr)
{
    (void)reterr;
    see_number(ret, (double)historylook_count(r->world->api, json_object_get(what, "history")));
    return 0;
}

static int see_observed(struct sim_run *r, const json_t *what, struct seen *ret, struct err *reterr)
{
    (void)reterr;
    see_number(ret, (double)historylook_observed(r->world->api, json_object_get(what, "observed")));
    return 0;
}

static int see_attention(struct sim_run *r, const json_t *what, struct seen *ret,
                         struct err *reterr)
{
    (void)reterr;
    see_number(ret,
               (double)historylook_attention(r->world->api, json_object_get(what, "attention")));
    return 0;
}

static int see_observed_sum(struct sim_run *r, const json_t *what, struct seen *ret,
                            struct err *reterr)
{
    const char *path = json_string_value(json_object_get(what, "observedSum"));
    (void)reterr;
    see_number(ret, historylook_sum(r->world->api, path ? path : ""));
    return 0;
}

/* The first running instance whose type is not among `in` or outside `vcpu`; absent = all are. */
static int see_types(struct sim_run *r, const json_t *what, struct seen *ret, struct err *reterr)
{
    const json_t *in = json_object_get(what, "in"), *vcpu = json_object_get(what, "vcpu");
    int64_t ge = jsonx_int(vcpu, "ge", 0), le = jsonx_int(vcpu, "le", INT32_MAX);
    (void)reterr;
    ret->absent = true;
    for (size_t i = 0; i < simec2_n_instances(r->ec2); i++) {
        const struct simec2_instance *inst = simec2_instance_at(r->ec2, i);
        if (inst->state != SIMEC2_RUNNING && inst->state != SIMEC2_PENDING) {
            continue;
        }
        bool fits = true;
        if (in) {
            size_t k = 0;
            while (k < json_array_size(in) &&
                   !str_eq(json_string_value(json_array_get(in, k)), inst->type)) {
                k++;
            }
            fits = k < json_array_size(in);
        }
        int fact = ec2_find_fact(inst->type);
        fits = fits && fact >= 0 && ec2_facts[fact].vcpus >= ge && ec2_facts[fact].vcpus <= le;
        if (!fits) {
            str_copy(ret->text, sizeof(ret->text), inst->type);
            ret->absent = false;
            return 0;
        }
    }
    return 0;
}

/* ---- the table
 * ------------------------------------------------------------------------------------ */

struct thing {
    const char *key;
    see_fn see;
    const char *fields; /* further fields beside the comparison, blank-separated */
    const char *inner;  /* fields the thing's own map must have */
    bool kind;          /* the thing or its map names a kind */
};

static const struct thing things[] = {
    {"count", see_count, "namespace selector fieldSelector phase where", NULL, true},
    {"value", see_value, "", "kind name path", true},
    {"instances", see_instances, "", "", false},
    {"instanceTypes", see_types, "in vcpu", NULL, false},
    {"calls", see_calls, "", "service action", false},
    {"queue", see_queue, "", NULL, false},
    {"evictions", see_evictions, "", "", false},
    {"deletions", see_deletions, "", "", false},
    {"cost", see_cost, "", NULL, false},
    {"metric", see_metric, "", "name", false},
    {"history", see_history, "", "", false},
    {"observed", see_observed, "", "", false},
    {"attention", see_attention, "", "", false},
    {"observedSum", see_observed_sum, "", NULL, false},
    {"agentAlive", see_alive, "", NULL, false},
    {"invariants", see_invariants, "", NULL, false},
};

static const char *const comparisons[] = {"eq", "ne", "lt", "le", "gt", "ge"};

static const struct thing *thing_of(const json_t *what)
{
    for (size_t i = 0; i < ARRAY_LEN(things); i++) {
        if (json_object_get(what, things[i].key)) {
            return &things[i];
        }
    }
    return NULL;
}

static const char *comparison_of(const json_t *what)
{
    const char *found = NULL;
    for (size_t i = 0; i < ARRAY_LEN(comparisons); i++) {
        if (json_object_get(what, comparisons[i])) {
            found = comparisons[i];
        }
    }
    return found;
}

static bool has_word(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = words; (p = strstr(p, word)) != NULL; p += n) {
        if ((p == words || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0')) {
            return true;
        }
    }
    return false;
}

static int check_fields(const json_t *what, const struct thing *t, const char *where,
                        struct err *reterr)
{
    const char *key;
    json_t *v;
    int n_comparisons = 0;
    json_object_foreach ((json_t *)(uintptr_t)what, key, v) {
        bool comparison = has_word("eq ne lt le gt ge", key);
        n_comparisons += comparison;
        if (!comparison && !str_eq(key, t->key) && !has_word(t->fields, key) &&
            !has_word("within for", key)) {
            return err_set(reterr, ERR_INVALID, "%s.%s: no such field of %s", where, key, t->key);
        }
    }
    if (t->see == see_types) {
        return n_comparisons == 0
                   ? 0
                   : err_set(reterr, ERR_INVALID, "%s: instanceTypes takes in or vcpu", where);
    }
    return n_comparisons == 1
               ? 0
               : err_set(reterr, ERR_INVALID, "%s: needs one of eq ne lt le gt ge", where);
}

static int check_inner(const json_t *what, const struct thing *t, const char *where,
                       struct err *reterr)
{
    static const char *const known[] = {"kind", "name", "path", "service", "action"};
    const json_t *inner = json_object_get(what, t->key);
    if (t->inner && !json_is_object(inner)) {
        return err_set(reterr, ERR_INVALID, "%s.%s: must be a map", where, t->key);
    }
    for (size_t i = 0; t->inner && i < ARRAY_LEN(known); i++) {
        bool optional = str_eq(known[i], "action") && !str_eq(jsonx_str(inner, "service"), "kube");
        if (has_word(t->inner, known[i]) && !optional && !jsonx_str(inner, known[i])) {
            return err_set(reterr, ERR_INVALID, "%s.%s.%s: is missing", where, t->key, known[i]);
        }
    }
    if (t->kind) {
        const char *kind = t->inner ? jsonx_str(inner, "kind") : json_string_value(inner);
        if (!kind || !sim_kind_find(kind)) {
            return err_set(reterr, ERR_INVALID, "%s.%s: \"%s\" is not served here", where, t->key,
                           kind ? kind : "");
        }
    }
    return 0;
}

int expect_check(const json_t *what, const char *where, struct err *reterr)
{
    int64_t ns = 0;
    if (!json_is_object(what)) {
        return err_set(reterr, ERR_INVALID, "%s: must be a map", where);
    }
    const struct thing *t = thing_of(what);
    if (!t) {
        return err_set(reterr, ERR_INVALID, "%s: names nothing that can be expected", where);
    }
    if (check_fields(what, t, where, reterr) < 0 || check_inner(what, t, where, reterr) < 0 ||
        scenario_duration(what, "within", where, &ns, reterr) < 0) {
        return -1;
    }
    return scenario_duration(what, "for", where, &ns, reterr);
}

/* ---- comparing
 * ------------------------------------------------------------------------------------ */

static char *wanted_text(const json_t *v)
{
    return json_is_string(v) ? xstrdup(json_string_value(v)) : jsonx_dump(v);
}

/* Quantities where both sides are, else texts; order needs numbers. */
static bool holds(const char *op, const struct seen *seen, const char *wanted)
{
    int c;
    if (str_eq(wanted, "absent")) {
        return str_eq(op, "eq") ? seen->absent : str_eq(op, "ne") && !seen->absent;
    }
    if (seen->absent) {
        return str_eq(op, "ne");
    }
    if (!quantity_cmp(seen->text, wanted, &c)) {
        double a, b;
        if (str_parse_f64(seen->text, &a) && str_parse_f64(wanted, &b)) {
            c = a < b ? -1 : a > b;
        } else if (str_eq(op, "eq") || str_eq(op, "ne")) {
            c = str_cmp(seen->text, wanted);
        } else {
            return false;
        }
    }
    switch (op[0]) {
    case 'e':
        return c == 0;
    case 'n':
        return c != 0;
    case 'l':
        return op[1] == 't' ? c < 0 : c <= 0;
    default:
        return op[1] == 't' ? c > 0 : c >= 0;
    }
}

static bool is_true(struct sim_run *r, const json_t *what, struct seen *seen, struct err *reterr)
{
    const struct thing *t = thing_of(what);
    const char *op = comparison_of(what);
    memset(seen, 0, sizeof(*seen));
    if (t->see(r, what, seen, reterr) < 0) {
        return false;
    }
    if (t->see == see_types) {
        return seen->absent;
    }
    char *wanted AUTO_FREE = wanted_text(json_object_get(what, op));
    return holds(op, seen, wanted);
}

/* ---- over time
 * ------------------------------------------------------------------------------------ */

static void fail(struct sim_run *r, struct expecting *x, const struct seen *seen,
                 const struct err *why, const char *when)
{
    char at[TIMEFMT_TEXT];
    char *text AUTO_FREE = jsonx_dump(x->what);
    run_text_add(&r->failures, "step at %s: %s: %s, seen %s%s%s (seed %llu)",
                 timefmt_duration(x->at_ns, at), text, when, seen->absent ? "nothing" : seen->text,
                 why->kind ? ": " : "", why->kind ? why->msg : "", (unsigned long long)r->opt.seed);
    x->closed = true;
}

static void look_at(struct sim_run *r, struct expecting *x)
{
    int64_t now = vclock_now(&r->world->clock), until;
    struct seen seen;
    struct err why = ERR_INIT;
    bool yes = is_true(r, x->what, &seen, &why);
    if (why.kind) {
        fail(r, x, &seen, &why, "cannot be judged");
        return;
    }
    if (yes && x->since_ns < 0) {
        x->since_ns = now;
    }
    if (x->since_ns < 0) { /* not true yet */
        until = x->at_ns + (x->within_ns > 0 ? x->within_ns : 0);
        if (now >= until) {
            fail(r, x, &seen, &why, x->within_ns >= 0 ? "not in time" : "not so");
        }
        return;
    }
    if (x->for_ns < 0) {
        x->closed = true;
        return;
    }
    if (!yes) {
        fail(r, x, &seen, &why, "did not stay so");
        return;
    }
    x->closed = now >= x->since_ns + x->for_ns;
}

void expect_open(struct sim_run *r, const json_t *what)
{
    struct expecting x = {.what = what,
                          .at_ns = vclock_now(&r->world->clock),
                          .within_ns = -1,
                          .for_ns = -1,
                          .since_ns = -1};
    scenario_duration(what, "within", "expect", &x.within_ns, NULL);
    scenario_duration(what, "for", "expect", &x.for_ns, NULL);
    if (r->opt.faults != FAULTS_NONE && !json_object_get(what, "invariants")) {
        if (x.within_ns < 0) {
            return; /* faults.h */
        }
        x.within_ns = 2 * x.within_ns + FAULTS_GRACE_NS;
        x.for_ns = -1;
    }
    look_at(r, &x);
    if (!x.closed) {
        ARRAY_GROW(r->expecting, r->n_expecting, r->cap_expecting);
        r->expecting[r->n_expecting++] = x;
    }
}

void expect_look(struct sim_run *r)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->n_expecting; i++) {
        look_at(r, &r->expecting[i]);
        if (!r->expecting[i].closed) {
            r->expecting[kept++] = r->expecting[i];
        }
    }
    r->n_expecting = kept;
}

int64_t expect_deadline_ns(const struct sim_run *r)
{
    int64_t next = NS_NEVER;
    for (size_t i = 0; i < r->n_expecting; i++) {
        const struct expecting *x = &r->expecting[i];
        int64_t until = x->since_ns >= 0 ? x->since_ns + x->for_ns : x->at_ns + x->within_ns;
        next = until < next ? until : next;
    }
    return next;
}
