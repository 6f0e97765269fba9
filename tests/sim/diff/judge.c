/* judge.c - see judge.h */
#include "judge.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/core/labels.h"
#include "tests/sim/kube/sched/sched_fit.h"

#include <stdarg.h>

#define TRIAL "trial"
#define PLANNED_MAX 256
#define DAEMONS_MAX 8
#define TEAMS 2

void judge_add(struct judgement *j, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (j->n < JUDGE_FOUND_MAX) {
        j->found[j->n++] = xstrdup(text);
    }
}

void judge_done(struct judgement *j)
{
    for (size_t i = 0; i < j->n; i++) {
        free(j->found[i]);
    }
    j->n = 0;
}

/* ---- filters --------------------------------------------------------------------------------- */

static bool fits(const struct stage *s, const struct sim_sched_pod *p, struct sim_sched_node *n,
                 char *why, size_t size)
{
    struct sim_cycle cy;
    struct sim_whynot no = {.n = 0};
    bool ok = sim_cycle_begin(&cy, s->sched, p);
    if (!ok) {
        str_copy(why, size, cy.volumes.refused);
    } else if (!sim_fit(&cy, n, &no)) {
        ok = false;
        str_copy(why, size, no.n ? no.reasons[0] : "?");
    }
    sim_cycle_end(&cy);
    return ok;
}

/* ---- the plan as it would be bound ----------------------------------------------------------- */

struct planned {
    struct sim_sched_pod *pod;
    struct sim_sched_node *node;
    bool bound;
};

struct plan_list {
    struct planned v[PLANNED_MAX];
    size_t n;
};

static void list_add(struct stage *s, struct plan_list *l, const struct pod *p, const char *node)
{
    if (l->n < PLANNED_MAX) {
        l->v[l->n++] = (struct planned){stage_pod(s, p), sim_cluster_node(s->sched, node), false};
    }
}

static void list_all(struct stage *s, struct plan_list *l)
{
    const struct sched_result *r = s->plan->result;
    for (uint32_t i = 0; i < r->n_existing; i++) {
        list_add(s, l, r->existing[i].pod, r->existing[i].node->name);
    }
    for (uint32_t i = 0; i < r->n_claims; i++) {
        char name[STAGE_NAME];
        stage_name_new(i, name);
        for (uint32_t k = 0; k < r->claims[i].n_pods; k++) {
            list_add(s, l, r->claims[i].pods[k], name);
        }
    }
}

/* Whoever fits is bound, again and again; those that never do are bound all the same. */
static void bind_all(struct stage *s, struct plan_list *l, struct judgement *j)
{
    char why[SIM_WHYNOT_TEXT] = "";
    bool moved = true;
    while (moved) {
        moved = false;
        for (size_t i = 0; i < l->n; i++) {
            struct planned *x = &l->v[i];
            if (!x->bound && fits(s, x->pod, x->node, why, sizeof(why))) {
                sim_cluster_place(s->sched, x->pod, x->node);
                x->bound = moved = true;
            }
        }
    }
    for (size_t i = 0; i < l->n; i++) {
        struct planned *x = &l->v[i];
        if (!x->bound) {
            (void)fits(s, x->pod, x->node, why, sizeof(why));
            judge_add(j, "%s/%s is planned on %s, but: %s", x->pod->ns, x->pod->name, x->node->name,
                      why);
        }
    }
    for (size_t i = 0; i < l->n; i++) {
        if (!l->v[i].bound) {
            sim_cluster_place(s->sched, l->v[i].pod, l->v[i].node);
        }
    }
}

/* ---- a node on trial ------------------------------------------------------------------------- */

struct trial {
    struct stage *s;
    struct sim_sched_node *node;
    struct sim_sched_pod *daemons[DAEMONS_MAX];
    size_t n_daemons;
};

static void add_daemon(struct trial *t, const json_t *ds)
{
    const json_t *spec = jsonx_at(ds, "spec.template.spec");
    if (t->n_daemons == DAEMONS_MAX || !sim_node_selected(spec, t->node->obj) ||
        sim_untolerated(json_object_get(spec, "tolerations"), jsonx_at(t->node->obj, "spec.taints"),
                        "NoSchedule", "NoExecute", NULL)) {
        return;
    }
    AUTO_JSON json_t *pod = json_pack("{s:{s:o, s:s, s:O, s:O}, s:O}", "metadata", "uid",
                                      json_sprintf("daemon-%zu", t->n_daemons), "name", "daemon",
                                      "namespace", jsonx_at(ds, "metadata.namespace"), "labels",
                                      jsonx_at(ds, "spec.template.metadata.labels"), "spec", spec);
    struct sim_sched_pod *p = sim_cluster_pod_new(t->s->sched, pod);
    sim_cluster_pod_read(p, pod);
    sim_cluster_place(t->s->sched, p, t->node);
    t->daemons[t->n_daemons++] = p;
}

static void trial_begin(struct trial *t, json_t *node)
{
    struct sim_api *api = t->s->world->api;
    t->node = sim_cluster_node(t->s->sched, TRIAL);
    t->n_daemons = 0;
    sim_cluster_set_node(t->s->sched, t->node, node);
    for (size_t i = 0; i < sim_api_count(api, SIM_DAEMONSET); i++) {
        add_daemon(t, sim_api_at(api, SIM_DAEMONSET, i));
    }
}

static void trial_end(struct trial *t)
{
    for (size_t i = 0; i < t->n_daemons; i++) {
        sim_cluster_unplace(t->s->sched, t->daemons[i]);
        map_del(t->s->sched->pods, t->daemons[i]->uid);
        sim_cluster_pod_free(t->s->sched, t->daemons[i]);
    }
    sim_cluster_set_node(t->s->sched, t->node, NULL);
}

/* ---- what a pool leaves ---------------------------------------------------------------------- */

static const json_t *object_of(const struct stage *s, const char *kind, const char *name)
{
    size_t i;
    json_t *o;
    json_array_foreach (s->cluster->objects, i, o) {
        if (str_eq(jsonx_str(o, "kind"), kind) && str_eq(jsonx_str(o, "metadata.name"), name)) {
            return o;
        }
    }
    return NULL;
}

/* The pool's requirements read as a pod's would be. */
static bool pool_allows(const struct stage *s, const struct snapshot_pool *pool, const json_t *node)
{
    const json_t *reqs =
        jsonx_at(object_of(s, "NodePool", pool->np->m.name), "spec.template.spec.requirements");
    if (json_array_size(reqs) == 0) {
        return true;
    }
    AUTO_JSON json_t *spec = json_pack("{s:{s:{s:{s:[{s:O}]}}}}", "affinity", "nodeAffinity",
                                       "requiredDuringSchedulingIgnoredDuringExecution",
                                       "nodeSelectorTerms", "matchExpressions", reqs);
    return sim_node_selected(spec, node);
}

static int64_t largest(const struct sched_claim *c, int r)
{
    int64_t ret = 0;
    for (uint32_t i = 0; i < c->n_types; i++) {
        int64_t n = catalog_capacity(c->pool->catalog, c->types[i])->v[r];
        ret = n > ret ? n : ret;
    }
    return ret;
}

/* One more node of the type stays within the pool's limits. */
static bool within_limits(const struct stage *s, const struct snapshot_pool *pool, uint32_t type)
{
    const struct sched_result *r = s->plan->result;
    const struct nodepool *np = pool->np;
    int64_t nodes = pool->nodes_in_use;
    for (uint32_t i = 0; i < r->n_claims; i++) {
        nodes += r->claims[i].pool == pool;
    }
    if (np->limit_nodes >= 0 && nodes + 1 > np->limit_nodes) {
        return false;
    }
    for (int k = 0; np->has_limits && k < RES_FIXED; k++) {
        int64_t used = pool->in_use.v[k] + catalog_capacity(pool->catalog, type)->v[k];
        for (uint32_t i = 0; i < r->n_claims; i++) {
            used += r->claims[i].pool == pool ? largest(&r->claims[i], k) : 0;
        }
        if (np->limits.v[k] >= 0 && used > np->limits.v[k]) {
            return false;
        }
    }
    return true;
}

static bool enough_types(const struct snapshot_pool *pool, uint32_t fitting)
{
    for (uint32_t i = 0; i < pool->np->reqs.n; i++) {
        if (pool->np->reqs.v[i].min_values > fitting) {
            return false;
        }
    }
    return true;
}

/* ---- pods that were refused ------------------------------------------------------------------ */

/* With the stricter rule about host names, see judge.h. */
static json_t *strict_pod(const json_t *pod)
{
    json_t *copy = json_deep_copy(pod), *c;
    size_t i;
    json_array_foreach (jsonx_at(copy, "spec.topologySpreadConstraints"), i, c) {
        if (str_eq(jsonx_str(c, "topologyKey"), "kubernetes.io/hostname")) {
            json_object_set_new(c, "minDomains", json_integer(1000000));
        }
    }
    return copy;
}

/* One pool, with one value of the label that pools may leave open. */
static void try_pool(struct stage *s, const struct sim_sched_pod *p,
                     const struct snapshot_pool *pool, const char *team, struct stage_offer *where,
                     uint32_t *ret_fitting)
{
    AUTO_JSON json_t *labels = team ? json_pack("{s:s}", "team", team) : json_object();
    char why[SIM_WHYNOT_TEXT];
    for (uint32_t t = 0; t < catalog_n_types(pool->catalog); t++) {
        bool found = !within_limits(s, pool, t);
        uint32_t n = catalog_n_zones(pool->catalog) * CT_COUNT;
        for (uint32_t i = 0; i < n && !found; i++) {
            struct stage_offer o = {pool, t, i / CT_COUNT, (enum capacity_type)(i % CT_COUNT)};
            if (!offerings_available(pool->offerings, t, o.zone, o.ct)) {
                continue;
            }
            AUTO_JSON json_t *node = stage_node(s, &o, labels, TRIAL);
            struct trial trial = {.s = s};
            trial_begin(&trial, node);
            found = pool_allows(s, pool, node) && fits(s, p, trial.node, why, sizeof(why));
            trial_end(&trial);
            if (found) {
                *where = o;
                ++*ret_fitting;
            }
        }
    }
}

static void try_new(struct stage *s, const struct sim_sched_pod *p, const char *why,
                    struct judgement *j)
{
    static const char *const teams[] = {NULL, "red", "blue"};
    const struct symtab *t = s->plan->world.syms;
    for (uint32_t i = 0; i < s->plan->decision.snap.n_pools; i++) {
        const struct snapshot_pool *pool = &s->plan->decision.snap.pools[i];
        for (size_t k = 0; k < ARRAY_LEN(teams); k++) {
            struct stage_offer o;
            uint32_t fitting = 0;
            bool open = reqset_get(&pool->np->reqs, sym_find(t, "team")) != NULL;
            if (open != (teams[k] != NULL)) {
                continue;
            }
            try_pool(s, p, pool, teams[k], &o, &fitting);
            if (fitting > 0 && enough_types(pool, fitting)) {
                judge_add(j, "%s/%s is refused (%s), but a new %s of %s in %s (%s) takes it", p->ns,
                          p->name, why, sym_str(t, catalog_type_name(pool->catalog, o.type)),
                          pool->np->m.name, sym_str(t, catalog_zone(pool->catalog, o.zone)),
                          sym_str(t, capacity_type_sym(o.ct)));
                return;
            }
        }
    }
}

static bool try_there(struct stage *s, const struct sim_sched_pod *p, const char *why,
                      struct judgement *j)
{
    char no[SIM_WHYNOT_TEXT];
    for (MAP_EACH(s->sched->nodes, e)) {
        struct sim_sched_node *n = map_value(e);
        if (n->obj && fits(s, p, n, no, sizeof(no))) {
            judge_add(j, "%s/%s is refused (%s), but %s takes it", p->ns, p->name, why, n->name);
            return true;
        }
    }
    return false;
}

static void judge_refusal(struct stage *s, const struct sched_refusal *r, struct judgement *j)
{
    AUTO_BUF struct buf why;
    struct sim_sched_pod *p = stage_pod(s, r->pod);
    AUTO_JSON json_t *was = json_incref(p->obj);
    AUTO_JSON json_t *strict = strict_pod(p->obj);
    buf_init(&why, 4096);
    reason_fmt(s->plan->world.syms, &r->reason, &why);
    sim_cluster_pod_read(p, strict);
    if (!try_there(s, p, why.p, j)) {
        try_new(s, p, why.p, j);
    }
    sim_cluster_pod_read(p, was);
}

void judge(struct stage *s, struct judgement *ret)
{
    AUTO_FREE struct plan_list *l = NEW(struct plan_list);
    list_all(s, l);
    bind_all(s, l, ret);
    for (uint32_t i = 0; i < s->plan->result->n_refused; i++) {
        judge_refusal(s, &s->plan->result->refused[i], ret);
    }
    for (size_t i = l->n; i > 0; i--) {
        sim_cluster_unplace(s->sched, l->v[i - 1].pod);
    }
}
