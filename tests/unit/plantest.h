/*
 * plantest.h - a whole fleet in one text, and the plan for it as one line.
 *
 *   pools: [{name, reqs, weight, policy, after, taints, annotations: {}, cpuLimit: milli, static,
 *            budgets: [{nodes, reason, schedule, duration}]}]      default: one, "main", no
 * budgets; reqs: amd64, on-demand fleet: [{name, count, pool, type, zone, ct, age, quiet, labels:
 * {}, annotations: {}, conditions: [], cordoned, starting, notReady, grace, image}]  default: main,
 * c.xlarge, zone-a, on-demand, 2h old and as long quiet; a count appends -0, -1, … pods:  [{node,
 * each, count, name, ns, owner, cpu: milli, mem: MiB, labels: {}, annotations: {}, priority,
 * notReady, deleted, age, spec: {}}]        each: on every node of that name; neither: pending
 *   pdbs:  [{name, ns, match: {}, min, max, always, allowed, healthy, desired, expected, stale}]
 *   prices: [{type, zone, ct, usd}]                              -1: not to be had
 *   reservations: [{id, type, zone, units}]                      zone-a; at a price of nearly
 * nothing defaults: [spread constraints of pods that declare none] objects: [PersistentVolumeClaim,
 * …] options: {reasons: [], spotToSpot, spotMinTypes, minSaving, minNodeLife, returnToWeight,
 *             ignoreBudgets, maxSteps, policy: Ignore, upstream}
 *   facts: {held, denied, pending, nominated, launchesFailing, clockSkew, pricesAge, churn:
 * seconds}
 *
 * Outcome: "empty n3; delete n1; replace n1+n2 > c.xlarge spot" and "n4 PDB, n5 Waiting", behind
 * it what fewer nodes would cost as much: "; n4+n5 as dear as c.2xlarge". Every
 * world is planned four times, as in placetest.h, which must come to the same plan and verdicts.
 */
#ifndef KARP_TESTS_PLANTEST_H
#define KARP_TESTS_PLANTEST_H

#include "placetest.h"

#include "common/base/timefmt.h"
#include "common/core/disrupt/consolidate.h"

#define F_DEFAULT_REQS "kubernetes.io/arch In amd64; karpenter.sh/capacity-type In on-demand"

struct plan_facts {
    const char *held, *denied, *pending, *nominated;
    bool launches_failing;
    int64_t churn_ns;
};

struct fleet {
    struct world w;
    struct consolidate_options opt;
    struct candidate_facts facts;
    struct plan_facts says;
    const struct pdb *pdbs[256];
    struct node *nodes[FIX_MAX];
    struct nodeclaim *claims[FIX_MAX];
    uint32_t n;
    uint32_t n_pods;
};

static inline int64_t f_ns(const json_t *o, const char *key, int64_t d)
{
    int64_t ns;
    const char *s = jsonx_str(o, key);
    if (s != NULL && !timefmt_parse_duration_days(s, &ns)) {
        BUG("%s is not a duration", s);
    }
    return s != NULL ? ns : d;
}

static inline struct kvs f_kvs(struct fleet *fl, const json_t *o)
{
    struct arena *a = &fl->w.f->a;
    struct kv *v = ARENA_NEW_N(a, struct kv, json_object_size(o));
    const char *key;
    json_t *value;
    uint32_t n = 0;
    json_object_foreach ((json_t *)(uintptr_t)o, key, value) {
        uint32_t at = n++;
        for (; at > 0 && strcmp(v[at - 1].key, key) > 0; at--) {
            v[at] = v[at - 1];
        }
        v[at] = (struct kv){arena_strdup(a, key), arena_strdup(a, json_string_value(value))};
    }
    return (struct kvs){v, n};
}

/* ---- pools ------------------------------------------------------------------------------------
 */

static inline void f_budgets(struct fleet *fl, struct nodepool *np, const json_t *list)
{
    struct arena *a = &fl->w.f->a;
    struct budget *v = ARENA_NEW_N(a, struct budget, json_array_size(list));
    size_t i;
    json_t *o;
    json_array_foreach ((json_t *)(uintptr_t)list, i, o) {
        const char *reason = jsonx_str_or(o, "reason", "");
        v[i] = (struct budget){.nodes = arena_strdup(a, jsonx_str(o, "nodes")),
                               .reasons = str_eq(reason, "Underutilized") ? DISRUPT_UNDERUTILIZED
                                          : str_eq(reason, "Empty")       ? DISRUPT_EMPTY
                                          : str_eq(reason, "Drifted")     ? DISRUPT_DRIFTED
                                                                          : 0,
                               .schedule = arena_strdup(a, jsonx_str(o, "schedule")),
                               .duration_ns = f_ns(o, "duration", DURATION_ABSENT)};
    }
    np->budgets = v;
    np->n_budgets = (uint32_t)json_array_size(list);
}

static inline void f_pools(struct fleet *fl, const json_t *list)
{
    struct fix *f = fl->w.f;
    size_t i;
    json_t *o;
    json_array_foreach ((json_t *)(uintptr_t)list, i, o) {
        struct nodepool *np =
            fix_pool(f, jsonx_str(o, "name"), jsonx_str_or(o, "reqs", F_DEFAULT_REQS));
        const char *policy = jsonx_str_or(o, "policy", "");
        np->m.name = arena_strdup(&f->a, np->m.name);
        np->taints = fix_taints(f, jsonx_str_or(o, "taints", ""));
        np->weight = (int32_t)jsonx_int(o, "weight", 0);
        np->policy = str_eq(policy, "WhenEmpty")  ? POLICY_EMPTY
                     : str_eq(policy, "Balanced") ? POLICY_BALANCED
                                                  : POLICY_EMPTY_OR_UNDERUTILIZED;
        np->consolidate_after_ns =
            str_eq(jsonx_str(o, "after"), "Never") ? DURATION_NEVER : f_ns(o, "after", 0);
        np->m.annotations = f_kvs(fl, json_object_get(o, "annotations"));
        np->is_static = jsonx_bool(o, "static", false);
        np->has_limits = json_object_get(o, "cpuLimit") != NULL;
        np->limits.v[RES_CPU] = jsonx_int(o, "cpuLimit", -1);
        f_budgets(fl, np, json_object_get(o, "budgets"));
    }
    if (json_array_size(list) == 0) {
        fix_pool(f, "main", F_DEFAULT_REQS);
    }
}

/* ---- nodes ------------------------------------------------------------------------------------
 */

static inline void f_conditions(struct fleet *fl, struct nodeclaim *nc, const json_t *list)
{
    size_t i;
    json_t *o;
    json_array_foreach ((json_t *)(uintptr_t)list, i, o) {
        fix_condition(fl->w.f, &nc->conditions, arena_strdup(&fl->w.f->a, json_string_value(o)));
    }
}

static inline const char *f_labels(struct fleet *fl, const json_t *o, const char *type)
{
    struct fix *f = fl->w.f;
    int at = catalog_find_type(f->catalog, fix_sym(f, type));
    ck_assert_msg(at >= 0 || str_eq(type, "unknown.type"), "no type %s", type);
    const struct req *arch = at >= 0 ? catalog_label(f->catalog, (uint32_t)at, L_ARCH) : NULL;
    struct buf b;
    buf_init(&b, 4096);
    buf_printf(&b,
               "node.kubernetes.io/instance-type=%s, topology.kubernetes.io/zone=%s, "
               "karpenter.sh/capacity-type=%s, kubernetes.io/arch=%s, kubernetes.io/os=linux",
               type, jsonx_str_or(o, "zone", "zone-a"), jsonx_str_or(o, "ct", "on-demand"),
               arch ? sym_str(f->syms, arch->values[0]) : "amd64");
    const char *key;
    json_t *v;
    json_object_foreach (json_object_get(o, "labels"), key, v) {
        buf_printf(&b, ", %s=%s", key, json_string_value(v));
    }
    const char *ret = arena_strdup(&f->a, b.p);
    buf_done(&b);
    return ret;
}

static inline struct labels f_without(struct fix *f, const struct labels *l, sym key)
{
    struct label *v = ARENA_NEW_N(&f->a, struct label, l->n);
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        if (l->v[i].key != key) {
            v[n++] = l->v[i];
        }
    }
    return (struct labels){v, n};
}

static inline void f_node(struct fleet *fl, const json_t *o, const char *name)
{
    struct fix *f = fl->w.f;
    const char *pool = arena_strdup(&f->a, jsonx_str_or(o, "pool", "main"));
    const char *type = jsonx_str_or(o, "type", "c.xlarge");
    struct node *n = fix_node(f, name, pool, f_labels(fl, o, type));
    struct nodeclaim *nc = fix_claim_of(f, n, pool);
    int at = catalog_find_type(f->catalog, fix_sym(f, type));
    if (at >= 0) {
        n->capacity = nc->capacity = *catalog_capacity(f->catalog, (uint32_t)at);
        n->allocatable = nc->allocatable = *catalog_allocatable(f->catalog, (uint32_t)at);
    }
    nc->m.labels = n->m.labels;
    if (jsonx_bool(o, "starting", false)) {
        n->m.labels = f_without(f, &n->m.labels, L_INITIALIZED);
        nc->conditions.n--; /* the last one */
    }
    nc->m.created_ns = n->m.created_ns = FIX_NOW - f_ns(o, "age", 7200 * FIX_S);
    nc->last_pod_event_ns = FIX_NOW - f_ns(o, "quiet", 7200 * FIX_S);
    nc->m.annotations = f_kvs(fl, json_object_get(o, "annotations"));
    nc->termination_grace_ns = f_ns(o, "grace", DURATION_ABSENT);
    nc->image_id = arena_strdup(&f->a, jsonx_str_or(o, "image", ""));
    n->unschedulable = jsonx_bool(o, "cordoned", false);
    n->ready = jsonx_bool(o, "notReady", false) ? STATUS_FALSE : STATUS_TRUE;
    f_conditions(fl, nc, json_object_get(o, "conditions"));
    fl->nodes[fl->n] = n;
    fl->claims[fl->n++] = nc;
}

static inline void f_nodes(struct fleet *fl, const json_t *list)
{
    size_t i;
    json_t *o;
    json_array_foreach ((json_t *)(uintptr_t)list, i, o) {
        int64_t n = jsonx_int(o, "count", 0);
        const char *name = arena_strdup(&fl->w.f->a, jsonx_str(o, "name"));
        for (int64_t k = 0; k < n; k++) {
            f_node(fl, o, arena_printf(&fl->w.f->a, "%s-%d", name, (int)k));
        }
        if (n == 0) {
            f_node(fl, o, name);
        }
    }
}

/* ---- pods -------------------------------------------------------------------------------------
 */

static inline void f_pod(struct fleet *fl, const json_t *o, const char *node)
{
    struct world *w = &fl->w;
    struct arena *a = &w->f->a;
    AUTO_JSON json_t *copy = json_deep_copy(o);
    if (json_object_get(o, "mem")) {
        json_t *spec = json_object_get(copy, "spec");
        spec = spec ? spec : json_object();
        json_object_set_new(
            spec, "containers",
            json_pack("[{s:s,s:{s:{s:s,s:s}}}]", "name", "c", "resources", "requests", "cpu",
                      arena_printf(a, "%dm", (int)jsonx_int(o, "cpu", 100)), "memory",
                      arena_printf(a, "%dMi", (int)jsonx_int(o, "mem", 0))));
        if (!json_object_get(copy, "spec")) {
            json_object_set_new(copy, "spec", spec);
        }
    }
    const char *base = jsonx_str_or(o, "name", node ? "b" : "p");
    bool one = jsonx_int(o, "count", 1) == 1 && !jsonx_str(o, "each");
    const char *name = one ? base : arena_printf(a, "%s-%u", base, (unsigned)fl->n_pods);
    json_object_set_new(copy, "name", json_string(name));
    struct pod *p = w_pod(w, copy, node, fl->n_pods++, 1);
    p->m.name = arena_strdup(a, name);
    p->m.uid = arena_printf(a, "uid-%s", name);
    p->ready = node && !jsonx_bool(o, "notReady", false);
    p->start_ns = FIX_NOW - f_ns(o, "age", 3600 * FIX_S);
    p->m.annotations = f_kvs(fl, json_object_get(o, "annotations"));
    if (jsonx_str(o, "deleted")) {
        p->m.deleted_ns = FIX_NOW + f_ns(o, "deleted", 0);
    }
    if (str_eq(jsonx_str(o, "kind"), "DaemonSet")) {
        p->owner = POWNER_DAEMONSET;
    }
    if (node) {
        w->bound[w->f->in.n_bound++] = p;
    } else {
        w->f->pods[w->f->in.n_pods++] = p;
    }
}

static inline void f_pods(struct fleet *fl, const json_t *list)
{
    size_t i;
    json_t *o;
    json_array_foreach ((json_t *)(uintptr_t)list, i, o) {
        const char *each = jsonx_str(o, "each");
        for (int64_t k = 0; k < jsonx_int(o, "count", 1); k++) {
            if (!each) {
                f_pod(fl, o, jsonx_str(o, "node"));
            }
            for (uint32_t n = 0; each && n < fl->n; n++) {
                if (str_starts(fl->nodes[n]->m.name, each)) {
                    f_pod(fl, o, fl->nodes[n]->m.name);
                }
            }
        }
    }
}

static inline struct pdb_amount f_amount(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    struct pdb_amount ret = {.set = v != NULL};
    if (json_is_string(v)) {
        ret.percent = true;
        ret.value = atoi(json_string_value(v));
    } else if (v) {
        ret.value = (int32_t)json_integer_value(v);
    }
    return ret;
}

static inline void f_pdbs(struct fleet *fl, const json_t *list)
{
    struct arena *a = &fl->w.f->a;
    size_t i;
    json_t *o;
    json_array_foreach ((json_t *)(uintptr_t)list, i, o) {
        struct pdb *b = ARENA_NEW(a, struct pdb);
        struct kvs match = f_kvs(fl, json_object_get(o, "match"));
        struct selector_expr *e = ARENA_NEW_N(a, struct selector_expr, match.n);
        for (uint32_t k = 0; k < match.n; k++) {
            const char **one = ARENA_NEW(a, const char *);
            *one = match.v[k].value;
            e[k] = (struct selector_expr){match.v[k].key, SELECTOR_IN, one, 1};
        }
        b->m = fix_meta(fl->w.f, jsonx_str(o, "name"));
        b->m.ns = arena_strdup(a, jsonx_str_or(o, "ns", "default"));
        b->m.generation = 2;
        b->sel = (struct selector){.v = e, .n = match.n};
        b->min_available = f_amount(o, "min");
        b->max_unavailable = f_amount(o, "max");
        b->always_allow = jsonx_bool(o, "always", false);
        b->has_status = true;
        b->observed_generation = jsonx_bool(o, "stale", false) ? 1 : 2;
        b->allowed = (int32_t)jsonx_int(o, "allowed", 1000);
        b->healthy = (int32_t)jsonx_int(o, "healthy", 1000);
        b->desired = (int32_t)jsonx_int(o, "desired", 1);
        b->expected = (int32_t)jsonx_int(o, "expected", 0);
        fl->pdbs[fl->w.f->in.n_pdbs++] = b;
    }
    fl->w.f->in.pdbs = fl->pdbs;
}

/* What is bound, as the driver keeps it. */
static inline void f_usage(struct fleet *fl)
{
    struct fix *f = fl->w.f;
    for (uint32_t i = 0; i < fl->n; i++) {
        struct node_usage *u = fix_usage(f, i);
        for (uint32_t k = 0; k < f->in.n_bound; k++) {
            const struct pod *p = fl->w.bound[k];
            bool daemon = p->owner == POWNER_DAEMONSET;
            if (!str_eq(p->node_name, f->nodes[i]->m.name) || pod_terminal(p)) {
                continue;
            }
            u->requested = resources_add(&f->a, &u->requested, &p->cls->requests, 1);
            if (daemon) {
                u->daemon_requested =
                    resources_add(&f->a, &u->daemon_requested, &p->cls->requests, 1);
            }
            u->pods += !daemon && p->owner != POWNER_NODE;
            u->reschedulable += pod_reschedulable(p);
            u->waiting_evict += p->m.deleted_ns != 0;
        }
    }
}

/* ---- facts and options --------------------------------------------------------------------------
 */

static inline const char *f_about(const char *who, const struct snapshot_node *n)
{
    return str_eq(who, n->name) ? "somebody" : NULL;
}

static inline const char *f_held(void *ctx, const struct snapshot_node *n)
{
    return f_about(((struct plan_facts *)ctx)->held, n);
}

static inline const char *f_denied(void *ctx, const struct snapshot_node *n)
{
    return f_about(((struct plan_facts *)ctx)->denied, n);
}

static inline const char *f_pending(void *ctx, const struct snapshot_node *n)
{
    return f_about(((struct plan_facts *)ctx)->pending, n);
}

static inline bool f_nominated(void *ctx, const struct snapshot_node *n, const char **ret UNUSED)
{
    return f_about(((struct plan_facts *)ctx)->nominated, n) != NULL;
}

static inline bool f_failing(void *ctx, const struct snapshot_pool *p UNUSED)
{
    return ((struct plan_facts *)ctx)->launches_failing;
}

static inline int64_t f_churn(void *ctx, const struct snapshot_node *n UNUSED)
{
    return ((struct plan_facts *)ctx)->churn_ns;
}

static inline void f_facts(struct fleet *fl, const json_t *o)
{
    struct arena *a = &fl->w.f->a;
    fl->says = (struct plan_facts){.held = arena_strdup(a, jsonx_str(o, "held")),
                                   .denied = arena_strdup(a, jsonx_str(o, "denied")),
                                   .pending = arena_strdup(a, jsonx_str(o, "pending")),
                                   .nominated = arena_strdup(a, jsonx_str(o, "nominated")),
                                   .launches_failing = jsonx_bool(o, "launchesFailing", false)};
    int64_t churn = jsonx_int(o, "churn", 0);
    fl->says.churn_ns = churn ? FIX_NOW + churn * FIX_S : 0;
    fl->facts = (struct candidate_facts){.ctx = &fl->says,
                                         .nominated = f_nominated,
                                         .launches_failing = f_failing,
                                         .held = f_held,
                                         .churn_until = f_churn,
                                         .denied = f_denied,
                                         .approval_pending = f_pending,
                                         .clock_skew = jsonx_bool(o, "clockSkew", false)};
    fl->facts.prices_ns = jsonx_str(o, "pricesAge") ? FIX_NOW - f_ns(o, "pricesAge", 0) : 0;
}

static inline void f_options(struct fleet *fl, const json_t *o)
{
    struct consolidate_options *opt = &fl->opt;
    consolidate_options_default(opt);
    opt->sched.default_spreads = fl->w.f->opt.default_spreads;
    opt->sched.n_default_spreads = fl->w.f->opt.n_default_spreads;
    size_t i;
    json_t *r;
    opt->reasons = json_object_get(o, "reasons") ? 0 : opt->reasons;
    json_array_foreach (json_object_get(o, "reasons"), i, r) {
        opt->reasons |= str_eq(json_string_value(r), "Empty")     ? DISRUPT_EMPTY
                        : str_eq(json_string_value(r), "Drifted") ? DISRUPT_DRIFTED
                                                                  : DISRUPT_UNDERUTILIZED;
    }
    opt->spot_to_spot = jsonx_bool(o, "spotToSpot", false);
    opt->spot_min_types = (uint32_t)jsonx_int(o, "spotMinTypes", opt->spot_min_types);
    opt->return_to_weight = jsonx_bool(o, "returnToWeight", false);
    opt->ignore_budgets = jsonx_bool(o, "ignoreBudgets", false);
    opt->upstream = jsonx_bool(o, "upstream", false);
    opt->max_steps = (uint32_t)jsonx_int(o, "maxSteps", 0);
    opt->max_units = (uint64_t)jsonx_int(o, "maxUnits", 0);
    opt->min_node_life_ns = f_ns(o, "minNodeLife", 0);
    if (jsonx_str(o, "minSaving")) {
        ck_assert(consolidate_parse_saving(jsonx_str(o, "minSaving"), &opt->min_saving));
    }
    if (str_eq(jsonx_str(o, "policy"), "Ignore")) {
        opt->sched.preference = PREFERENCE_IGNORE;
    }
}

static inline void f_prices(struct fleet *fl, const json_t *list)
{
    struct fix *f = fl->w.f;
    size_t i;
    json_t *o;
    json_array_foreach ((json_t *)(uintptr_t)list, i, o) {
        int type = catalog_find_type(f->catalog, fix_sym(f, jsonx_str(o, "type")));
        enum capacity_type ct = capacity_type_of(fix_sym(f, jsonx_str_or(o, "ct", "on-demand")));
        double usd = json_number_value(json_object_get(o, "usd"));
        for (uint32_t z = 0; z < 3; z++) {
            const char *zone = sym_str(f->syms, catalog_zone(f->catalog, z));
            if (str_eq(jsonx_str_or(o, "zone", zone), zone)) {
                offerings_set_price(f->offerings, (uint32_t)type, z, ct,
                                    usd < 0 ? PRICE_UNKNOWN : (int64_t)(usd * 1e6) * 1000000);
            }
        }
    }
}

static inline void f_reservations(struct fleet *fl, const json_t *list)
{
    struct fix *f = fl->w.f;
    size_t i;
    json_t *o;
    json_array_foreach ((json_t *)(uintptr_t)list, i, o) {
        int type = catalog_find_type(f->catalog, fix_sym(f, jsonx_str(o, "type")));
        int zone = catalog_find_zone(f->catalog, fix_sym(f, jsonx_str_or(o, "zone", "zone-a")));
        struct reservation r = {
            .id = fix_sym(f, jsonx_str(o, "id")),
            .kind = fix_sym(f, "default"),
            .type = (uint32_t)type,
            .zone = (uint32_t)zone,
            .count = (uint32_t)jsonx_int(o, "units", 1),
            .price_pusd_h =
                offerings_price(f->offerings, (uint32_t)type, (uint32_t)zone, CT_ON_DEMAND) /
                10000000,
        };
        ck_assert(offerings_add_reservation(f->offerings, &r));
    }
}

static inline void f_build(struct fleet *fl, const char *text)
{
    memset(fl, 0, sizeof(*fl));
    AUTO_JSON json_t *o = w_parse(text);
    struct world *w = &fl->w;
    w->f = fix_new();
    w->d = decoder_new(w->f->syms);
    f_prices(fl, json_object_get(o, "prices"));
    f_reservations(fl, json_object_get(o, "reservations"));
    w_defaults(w, json_object_get(o, "defaults"));
    f_pools(fl, json_object_get(o, "pools"));
    f_nodes(fl, json_object_get(o, "fleet"));
    f_pods(fl, json_object_get(o, "pods"));
    f_pdbs(fl, json_object_get(o, "pdbs"));
    w_objects(w, json_object_get(o, "objects"));
    w_lists(w);
    f_facts(fl, json_object_get(o, "facts"));
    f_options(fl, json_object_get(o, "options"));
    f_usage(fl);
}

static inline void f_done(struct fleet *fl)
{
    w_done(&fl->w);
}

/* ---- outcomes -----------------------------------------------------------------------------------
 */

static inline void f_put_in(struct fleet *fl, const struct consolidate_step *st,
                            const struct step_in *in, struct buf *out)
{
    const struct fix *f = fl->w.f;
    if (in->pool != st->out[0].node->pool) {
        buf_printf(out, "%s/", in->pool->np->m.name);
    }
    buf_puts(out, fix_type_name(f, &in->claim, 0));
    for (unsigned ct = 0; ct < CT_COUNT; ct++) {
        if (in->claim.offer.cts >> ct & 1) {
            buf_printf(out, " %s", sym_str(f->syms, capacity_type_sym((enum capacity_type)ct)));
        }
    }
}

static inline const char *f_steps(struct fleet *fl, const struct consolidate_result *r)
{
    struct buf out;
    buf_init(&out, 1 << 22);
    for (uint32_t i = 0; i < r->n_steps; i++) {
        const struct consolidate_step *st = &r->steps[i];
        buf_printf(&out, "%s%s ", i ? "; " : "", consolidate_kind_name(st->kind));
        for (uint32_t k = 0; k < st->n_out; k++) {
            buf_printf(&out, "%s%s", k ? "+" : "", st->out[k].node->name);
        }
        for (uint32_t k = 0; k < st->n_in; k++) {
            buf_puts(&out, k ? " + " : " > ");
            f_put_in(fl, st, &st->in[k], &out);
        }
        for (uint32_t k = 0; k < st->n_held_by; k++) {
            buf_printf(&out, "%s%s", k ? "," : " held ", reason_name(st->held_by[k].code));
        }
    }
    const char *ret = arena_strdup(&fl->w.f->a, out.p ? out.p : "");
    buf_done(&out);
    return ret;
}

static inline const char *f_stays(struct fleet *fl, const struct consolidate_result *r)
{
    struct buf out;
    buf_init(&out, 1 << 22);
    for (uint32_t i = 0; i < r->n_nodes; i++) {
        if (r->nodes[i].step < 0) {
            buf_printf(&out, "%s%s %s", out.n ? ", " : "", r->nodes[i].node->name,
                       reason_name(r->nodes[i].reason.code));
        }
    }
    for (uint32_t i = 0; i < r->n_same; i++) {
        const struct same_price *same = &r->same[i];
        for (uint32_t k = 0; k < same->n_out; k++) {
            buf_printf(&out, "%s%s", k > 0 ? "+" : "; ", same->out[k]->name);
        }
        for (uint32_t k = 0; k < same->n_in; k++) {
            buf_printf(&out, "%s%s", k > 0 ? "+" : " as dear as ",
                       sym_str(fl->w.f->syms, same->in[k].type));
        }
    }
    const char *ret = arena_strdup(&fl->w.f->a, out.p ? out.p : "");
    buf_done(&out);
    return ret;
}

static inline struct consolidate *f_run(struct fleet *fl, uint64_t units)
{
    struct fix *f = fl->w.f;
    struct consolidate *c = consolidate_begin(&f->a, fix_snapshot(f), &fl->facts, &fl->opt);
    while (!consolidate_step(c, units)) {
    }
    return c;
}

/* The plan's digest, steps and verdicts. */
static inline const char *f_text(struct fleet *fl, const struct consolidate_result *r)
{
    return arena_printf(&fl->w.f->a, "%s\n%s\n%s", r->digest, f_steps(fl, r), f_stays(fl, r));
}

static inline void f_shuffle(struct fleet *fl, int i)
{
    struct world *w = &fl->w;
    struct fix *f = w->f;
    /* Usage lies parallel to nodes. */
    w_reverse(f->nodes, f->in.n_nodes, sizeof(f->nodes[0]));
    w_reverse(f->usage, f->in.n_nodes, sizeof(f->usage[0]));
    w_reverse(f->claims + i % 2, f->in.n_claims - (uint32_t)(i % 2 && f->in.n_claims),
              sizeof(f->claims[0]));
    w_reverse(w->bound + i % 2, f->in.n_bound - (uint32_t)(i % 2 && f->in.n_bound),
              sizeof(w->bound[0]));
    w_reverse(f->pods, f->in.n_pods, sizeof(f->pods[0]));
    w_reverse(f->pools, f->in.n_pools, sizeof(f->pools[0]));
    w_reverse(fl->pdbs, f->in.n_pdbs, sizeof(fl->pdbs[0]));
}

static inline struct consolidate *f_plan(struct fleet *fl)
{
    struct consolidate *c = f_run(fl, UINT64_MAX);
    const char *once = f_text(fl, consolidate_result(c));
    ck_assert_str_eq(f_text(fl, consolidate_result(f_run(fl, 1))), once);
    for (int i = 0; i < 2; i++) {
        f_shuffle(fl, i);
        ck_assert_str_eq(f_text(fl, consolidate_result(f_run(fl, 7))), once);
    }
    return c;
}

struct plan_row {
    const char *name, *world, *steps;
    const char *stays; /* NULL: not looked at */
};

static inline void plan_row(const struct plan_row *row)
{
    static struct fleet fl;
    f_build(&fl, row->world);
    const struct consolidate_result *r = consolidate_result(f_plan(&fl));
    const char *steps = f_steps(&fl, r), *stays = f_stays(&fl, r);
    ck_assert_msg(str_eq(steps, row->steps), "%s: %s, not %s (stays: %s)", row->name, steps,
                  row->steps, stays);
    ck_assert_msg(!row->stays || str_eq(stays, row->stays), "%s: stays %s, not %s", row->name,
                  stays, row->stays);
    f_done(&fl);
}

#endif
