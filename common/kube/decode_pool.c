#include "common/base/alloc.h"
#include "common/base/cron.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/base/tzone.h"
#include "common/core/labels.h"
#include "common/core/want.h"
#include "decode_priv.h"

#include <ctype.h>

#define POOL_CHUNK 4096u
#define BUDGETS_MAX 50u
#define TAINTS_MAX 1000u /* compared pair by pair */

/* ---- the template ---------------------------------------------------------------------------- */

static int check_key(const struct decoder *d, sym key, struct err *reterr)
{
    if (labels_restricted(d->t, key)) {
        return err_set(reterr, ERR_INVALID, "label %s is restricted", sym_str(d->t, key));
    }
    return 0;
}

/* A capacity type that does not exist is a slip only if nothing else is left. */
static int check_capacity_type(const struct decoder *d, const struct req *r, struct err *reterr)
{
    static const sym known[] = {V_SPOT, V_ON_DEMAND, V_RESERVED};
    if (r->complement || r->n == 0) {
        return 0;
    }
    unsigned n = 0;
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        n += req_has(d->t, r, known[i]) ? 1 : 0;
    }
    if (n == 0 || n < r->min_values) {
        return err_set(reterr, ERR_INVALID,
                       "%s: fewer than %u of its values are spot, on-demand or reserved",
                       sym_str(d->t, r->key), r->min_values > 1 ? r->min_values : 1U);
    }
    return 0;
}

static int read_pool_requirements(struct decoder *d, struct nodepool *p, const json_t *spec,
                                  struct err *reterr)
{
    if (decode_requirements(d, &p->mem, spec, "requirements", &p->reqs, reterr)) {
        return -1;
    }
    for (uint32_t i = 0; i < p->reqs.n; i++) {
        const struct req *r = &p->reqs.v[i];
        if (check_key(d, r->key, reterr) ||
            (r->key == L_CAPACITY_TYPE && check_capacity_type(d, r, reterr))) {
            return decode_in(reterr, "requirements: ");
        }
    }
    return 0;
}

/* A label of the template is a requirement with one value. */
static int merge_labels(struct decoder *d, struct nodepool *p, struct err *reterr)
{
    for (uint32_t i = 0; i < p->template_labels.n; i++) {
        const struct label *l = &p->template_labels.v[i];
        struct req r;
        if (check_key(d, l->key, reterr) ||
            req_make(&p->mem, d->t, l->key, REQ_IN, &l->value, 1, 0, &r, reterr)) {
            return decode_in(reterr, "labels: ");
        }
        p->reqs = reqset_add(&p->mem, d->t, &p->reqs, &r);
    }
    return 0;
}

static int check_taints(const struct decoder *d, const struct nodepool *p, struct err *reterr)
{
    const struct taints *lists[] = {&p->taints, &p->startup_taints};
    uint32_t n = p->taints.n + p->startup_taints.n;
    if (n > TAINTS_MAX) {
        return err_set(reterr, ERR_LIMIT, "taints: more than %u", TAINTS_MAX);
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct taint *x = i < p->taints.n ? &lists[0]->v[i] : &lists[1]->v[i - p->taints.n];
        for (uint32_t k = 0; k < i; k++) {
            const struct taint *y =
                k < p->taints.n ? &lists[0]->v[k] : &lists[1]->v[k - p->taints.n];
            if (taint_matches(x, y)) {
                return err_set(reterr, ERR_INVALID, "taints: %s:%s stands there twice",
                               sym_str(d->t, x->key), taint_effect_name(x->effect));
            }
        }
    }
    return 0;
}

/* Requirements and labels that leave a label no value can launch nothing: that is no pool without
 * room but a slip. */
static int check_possible(const struct decoder *d, const struct nodepool *p, struct err *reterr)
{
    const struct req *none = want_impossible(d->t, &p->reqs);
    return none == NULL ? 0
                        : err_set(reterr, ERR_INVALID,
                                  "requirements: no value of %s meets them all, or the label of "
                                  "the template",
                                  sym_str(d->t, none->key));
}

#define NOTE(prefix, call) decode_note(a, &p->problem, (prefix), (call), &e)

static void read_template(struct decoder *d, struct nodepool *p, const json_t *spec)
{
    struct arena *a = &p->mem;
    struct err e = ERR_INIT;
    const json_t *template, *meta = NULL, *in = NULL;
    NOTE("spec.", decode_obj(spec, "template", &template, &e));
    NOTE("spec.template.", decode_obj(template, "metadata", &meta, &e));
    NOTE("spec.template.", decode_obj(template, "spec", &in, &e));
    NOTE("spec.template.metadata.", decode_labels(d, a, meta, "labels", &p->template_labels, &e));
    NOTE("spec.template.metadata.",
         decode_kvs(a, meta, "annotations", NULL, &p->template_annotations, &e));
    NOTE("spec.template.spec.", read_pool_requirements(d, p, in, &e));
    NOTE("spec.template.metadata.", merge_labels(d, p, &e));
    NOTE("spec.template.spec.", check_possible(d, p, &e));
    NOTE("spec.template.spec.", decode_taints(d, a, in, "taints", &p->taints, &e));
    NOTE("spec.template.spec.", decode_taints(d, a, in, "startupTaints", &p->startup_taints, &e));
    NOTE("spec.template.spec.", check_taints(d, p, &e));
    NOTE("spec.template.spec.", decode_class_ref_of(a, in, &p->class_ref, &e));
    NOTE("spec.template.spec.", decode_duration(in, "expireAfter", true, DECODE_EXPIRE_DEFAULT_NS,
                                                &p->expire_after_ns, &e));
    NOTE("spec.template.spec.", decode_duration(in, "terminationGracePeriod", false,
                                                DURATION_ABSENT, &p->termination_grace_ns, &e));
    AUTO_FREE char *text = template ? jsonx_dump(template) : xstrdup("{}");
    p->spec_template = arena_strdup(a, text);
}

/* ---- disruption ------------------------------------------------------------------------------ */

/* "0%" to "100%", or a number. */
static bool budget_nodes_ok(const char *s)
{
    size_t n = strspn(s, "0123456789");
    if (n == 0 || n > 9) {
        return false;
    }
    if (s[n] == '\0') {
        return true;
    }
    return str_eq(s + n, "%") && atoi(s) <= 100;
}

static int read_reasons(const json_t *o, unsigned *ret, struct err *reterr)
{
    static const struct {
        const char *name;
        unsigned bit;
    } rows[] = {{"Underutilized", DISRUPT_UNDERUTILIZED},
                {"Empty", DISRUPT_EMPTY},
                {"Drifted", DISRUPT_DRIFTED}};
    const json_t *list;
    if (decode_arr(o, "reasons", &list, reterr)) {
        return -1;
    }
    size_t i;
    json_t *v;
    json_array_foreach (list, i, v) {
        unsigned bit = 0;
        for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
            bit |= str_eq(json_string_value(v), rows[k].name) ? rows[k].bit : 0;
        }
        if (!bit) {
            return err_set(reterr, ERR_INVALID,
                           "reasons[%zu]: not one of Underutilized, Empty, Drifted", i);
        }
        *ret |= bit;
    }
    return 0;
}

static int read_budget(struct arena *a, const json_t *o, struct budget *ret, struct err *reterr)
{
    const char *nodes = jsonx_str_or(o, "nodes", "10%");
    if (!budget_nodes_ok(nodes)) {
        return err_set(reterr, ERR_INVALID, "nodes: \"%s\" is neither a number nor a percentage",
                       nodes);
    }
    ret->nodes = arena_strdup(a, nodes);
    const char *schedule = jsonx_str(o, "schedule");
    if (read_reasons(o, &ret->reasons, reterr) ||
        decode_duration(o, "duration", false, DURATION_ABSENT, &ret->duration_ns, reterr)) {
        return -1;
    }
    if (!schedule != (ret->duration_ns == DURATION_ABSENT)) {
        return err_set(reterr, ERR_INVALID, "schedule: goes with duration and duration with it");
    }
    struct cron cron;
    if (schedule && cron_parse(schedule, &cron, reterr)) {
        return decode_in(reterr, "schedule: ");
    }
    ret->schedule = arena_strdup(a, schedule);
    return 0;
}

static int read_budgets(struct nodepool *p, const json_t *disruption, struct err *reterr)
{
    static const struct budget by_default = {.nodes = "10%", .duration_ns = DURATION_ABSENT};
    const json_t *list;
    if (decode_arr(disruption, "budgets", &list, reterr)) {
        p->n_budgets = 0;
        return -1;
    }
    size_t n = json_array_size(list);
    if (!list) {
        p->budgets = &by_default; /* the CRD's */
        p->n_budgets = 1;
        return 0;
    }
    if (n > BUDGETS_MAX) {
        return err_set(reterr, ERR_INVALID, "budgets: more than %u", BUDGETS_MAX);
    }
    struct budget *v = ARENA_NEW_N(&p->mem, struct budget, n);
    for (size_t i = 0; i < n; i++) {
        if (read_budget(&p->mem, json_array_get(list, i), &v[i], reterr)) {
            return decode_in(reterr, "budgets[%zu].", i);
        }
    }
    p->budgets = v;
    p->n_budgets = (uint32_t)n;
    return 0;
}

static int read_policy(const json_t *disruption, enum consolidation_policy *ret, struct err *reterr)
{
    static const struct {
        const char *name;
        enum consolidation_policy policy;
    } rows[] = {{"WhenEmpty", POLICY_EMPTY},
                {"WhenEmptyOrUnderutilized", POLICY_EMPTY_OR_UNDERUTILIZED},
                {"Balanced", POLICY_BALANCED}};
    const char *name = jsonx_str_or(disruption, "consolidationPolicy", "WhenEmptyOrUnderutilized");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (str_eq(rows[i].name, name)) {
            *ret = rows[i].policy;
            return 0;
        }
    }
    *ret = POLICY_EMPTY; /* the one that disturbs least */
    return err_set(reterr, ERR_INVALID, "consolidationPolicy: \"%s\" is unknown", name);
}

static const struct tzone *load_zone(struct arena *a, const char *name, const char **ret_problem,
                                     struct err *reterr)
{
    struct err err = ERR_INIT;
    const struct tzone *tz = tzone_load(a, TZONE_FOLDER, name, &err);
    *ret_problem =
        tz == NULL ? arena_printf(a, "%s: budgets with a schedule allow nothing", err.msg) : NULL;
    if (tz == NULL) {
        (void)err_set(reterr, err.kind, "%s", err.msg);
    }
    return tz;
}

int decoder_budget_timezone(struct decoder *d, const char *name, struct err *reterr)
{
    d->budget_tz = load_zone(&d->mem, name, &d->budget_tz_problem, reterr);
    return d->budget_tz != NULL ? 0 : -1;
}

void decode_budget_timezone(const struct decoder *d, struct nodepool *p)
{
    const char *name = kvs_get(&p->m.annotations, ANN_BUDGET_TIMEZONE);
    if (name != NULL) {
        p->budget_tz = load_zone(&p->mem, name, &p->budget_tz_problem, NULL);
    } else {
        p->budget_tz = d->budget_tz;
        p->budget_tz_problem = d->budget_tz_problem;
    }
}

static void read_disruption(const struct decoder *d, struct nodepool *p, const json_t *spec)
{
    struct arena *a = &p->mem;
    struct err e = ERR_INIT;
    const json_t *disruption;
    NOTE("spec.", decode_obj(spec, "disruption", &disruption, &e));
    NOTE("spec.disruption.",
         decode_duration(disruption, "consolidateAfter", true, 0, &p->consolidate_after_ns, &e));
    NOTE("spec.disruption.", read_policy(disruption, &p->policy, &e));
    NOTE("spec.disruption.", read_budgets(p, disruption, &e));
    decode_budget_timezone(d, p);
}

/* ---- limits, weight, replicas ---------------------------------------------------------------- */

static int read_limits(struct decoder *d, struct nodepool *p, const json_t *spec,
                       struct err *reterr)
{
    const json_t *obj;
    struct res_build b = {.n = 0};
    for (size_t i = 0; i < RES_FIXED; i++) {
        b.r.v[i] = p->limits.v[i] = -1;
    }
    p->limit_nodes = -1;
    if (decode_obj(spec, "limits", &obj, reterr)) {
        return -1;
    }
    const char *name;
    json_t *v;
    json_object_foreach ((json_t *)(uintptr_t)obj, name, v) {
        int64_t *slot =
            str_eq(name, "nodes") ? &p->limit_nodes : res_build_slot(d, &b, name, reterr);
        if (!slot || decode_quantity(name, v, slot, reterr)) {
            return decode_in(reterr, "limits.");
        }
        p->has_limits = true;
    }
    p->limits = res_build_done(&p->mem, &b);
    return 0;
}

static int read_weight(struct nodepool *p, const json_t *spec, struct err *reterr)
{
    const json_t *weight = json_object_get(spec, "weight");
    const json_t *replicas = json_object_get(spec, "replicas");
    p->is_static = replicas && !json_is_null(replicas);
    if (!weight || json_is_null(weight)) {
        return 0;
    }
    int64_t w = json_integer_value(weight);
    if (!json_is_integer(weight) || w < 1 || w > 100) {
        return err_set(reterr, ERR_INVALID, "weight: not an integer from 1 to 100");
    }
    p->weight = (int32_t)w;
    return 0;
}

/* ---- the object ------------------------------------------------------------------------------ */

static void read_pool(struct decoder *d, struct nodepool *p, const json_t *o)
{
    struct arena *a = &p->mem;
    struct err e = ERR_INIT;
    const json_t *spec;
    NOTE("", decode_obj(o, "spec", &spec, &e));
    read_template(d, p, spec);
    read_disruption(d, p, spec);
    NOTE("spec.", read_limits(d, p, spec, &e));
    NOTE("spec.", read_weight(p, spec, &e));
    p->unknown_field = decode_unknown_nodepool(a, spec);
    char hash[DECODE_HASH_TEXT];
    decode_nodepool_hash(spec, hash);
    p->hash = arena_strdup(a, hash);
    const json_t *status = json_object_get(o, "status");
    decode_conditions(a, status, &p->conditions);
    p->status_nodes = jsonx_int(status, "nodes", 0);
    p->class_observed_generation = jsonx_int(status, "nodeClassObservedGeneration", 0);
}

struct nodepool *decode_nodepool(struct decoder *d, const json_t *o, struct err *reterr)
{
    struct nodepool *p = NEW(struct nodepool);
    arena_init(&p->mem, POOL_CHUNK, DECODE_OBJECT_MAX);
    if (decode_meta(d, &p->mem, o, META_LABELS, &p->m, reterr)) {
        decode_nodepool_free(p);
        return NULL;
    }
    read_pool(d, p, o);
    if (decode_check_size(&p->mem, reterr)) {
        decode_nodepool_free(p);
        return NULL;
    }
    return p;
}

void decode_nodepool_free(struct nodepool *p)
{
    if (p) {
        arena_done(&p->mem);
        free(p);
    }
}
