/* judge.c - see judge.h */
#include "judge.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/core/labels.h"
#include "tests/sim/kube/sched/sched_fit.h"

#include <stdarg.h>

#define GHOSTS_MAX 64
#define PLANNED_MAX 256
#define DAEMONS_MAX 8

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
    uint32_t turn;
    bool bound;
};

struct plan_list {
    struct planned v[PLANNED_MAX];
    size_t n;
};

/* Where the pod's turn was. */
static uint32_t turn(const struct stage *s, const struct pod *p)
{
    const struct snapshot *snap = &s->plan->decision.snap;
    uint32_t i = 0;
    while (i < snap->n_pods && snap->pods[i] != p) {
        i++;
    }
    return i;
}

static void list_add(struct stage *s, struct plan_list *l, const struct pod *p, const char *node)
{
    if (l->n < PLANNED_MAX) {
        struct planned x = {stage_pod(s, p), sim_cluster_node(s->sched, node), turn(s, p), false};
        size_t i = l->n++;
        for (; i > 0 && l->v[i - 1].turn > x.turn; i--) {
            l->v[i] = l->v[i - 1];
        }
        l->v[i] = x;
    }
}

/* In the order in which the core placed them. */
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

static bool leaves_open(const struct sched_claim *c)
{
    return (c->offer.zones & (c->offer.zones - 1)) != 0 || (c->offer.cts & (c->offer.cts - 1)) != 0;
}

/* The node that the claim became; NULL if it is settled, or that very one. */
static struct sim_sched_node *open_node(const struct stage *s, uint32_t claim,
                                        const struct sim_sched_node *but)
{
    char name[STAGE_NAME];
    stage_name_new(claim, name);
    struct sim_sched_node *n = sim_cluster_node(s->sched, name);
    return n != but && leaves_open(&s->plan->result->claims[claim]) ? n : NULL;
}

/* It fits if the nodes of claims that are left open do not count. They stay where they are, pods
 * and all; only their objects are out of sight for a moment. */
static bool fits_among_settled(struct stage *s, const struct planned *x)
{
    uint32_t n_claims = s->plan->result->n_claims;
    AUTO_FREE json_t **hidden = NEW_N(json_t *, (size_t)n_claims + 1);
    char why[SIM_WHYNOT_TEXT];
    for (uint32_t i = 0; i < n_claims; i++) {
        struct sim_sched_node *n = open_node(s, i, x->node);
        if (n) {
            hidden[i] = n->obj;
            n->obj = NULL;
        }
    }
    bool ok = fits(s, x->pod, x->node, why, sizeof(why));
    for (uint32_t i = 0; i < n_claims; i++) {
        if (hidden[i]) {
            open_node(s, i, x->node)->obj = hidden[i];
        }
    }
    return ok;
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
            if (!x->bound &&
                (fits(s, x->pod, x->node, why, sizeof(why)) || fits_among_settled(s, x))) {
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

/* The template, as if it ran with every capacity type. */
static json_t *daemon_spec(const json_t *ds)
{
    json_t *spec = json_deep_copy(jsonx_at(ds, "spec.template.spec"));
    json_object_del(json_object_get(spec, "nodeSelector"), "karpenter.sh/capacity-type");
    return spec;
}

static void add_daemon(struct trial *t, const json_t *ds)
{
    AUTO_JSON json_t *spec = daemon_spec(ds);
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
    t->node = sim_cluster_node(t->s->sched, STAGE_TRIAL);
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

/* One more node of the type stays within the pool's limits, as the first of the plan or as the
 * next. */
static bool within_limits(const struct stage *s, const struct snapshot_pool *pool, uint32_t type,
                          bool first)
{
    static const struct sched_result none;
    const struct sched_result *r = first ? &none : s->plan->result;
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

/* Nodes without room: they only make their domains known. */
struct ghosts {
    struct sim_sched_node *v[GHOSTS_MAX];
    size_t n;
};

static bool could_go(const struct sim_sched_pod *p, const json_t *node)
{
    const json_t *spec = json_object_get(p->obj, "spec");
    return sim_node_selected(spec, node) &&
           !sim_untolerated(json_object_get(spec, "tolerations"), jsonx_at(node, "spec.taints"),
                            "NoSchedule", "NoExecute", NULL);
}

static void ghost_add(struct stage *s, struct ghosts *g, json_t *node)
{
    char name[STAGE_NAME];
    snprintf(name, sizeof(name), "ghost-%zu", g->n);
    json_object_set_new(jsonx_at(node, "metadata.labels"), "kubernetes.io/hostname",
                        json_string(name));
    jsonx_set_new(node, "status.allocatable", json_object());
    g->v[g->n] = sim_cluster_node(s->sched, name);
    sim_cluster_set_node(s->sched, g->v[g->n++], node);
}

/* ---- new nodes ------------------------------------------------------------------------------- */

/* A new node that pool and limits leave, NULL if they do not. team: the value of the one label that
 * pools of cluster.h leave open, NULL = it is none of theirs. */
static json_t *new_node(const struct stage *s, const struct stage_offer *o, const char *team)
{
    if (!offerings_available(o->pool->offerings, o->type, o->zone, o->ct)) {
        return NULL;
    }
    AUTO_JSON json_t *labels = team ? json_pack("{s:s}", "team", team) : json_object();
    AUTO_JSON json_t *node = stage_node(s, o, labels, STAGE_TRIAL);
    return pool_allows(s, o->pool, node) ? json_incref(node) : NULL;
}

/* Asked of every new node until it says true, then of none of its type any more. */
typedef bool (*node_fn)(void *ctx, const struct stage_offer *o, json_t *node);

static void each_of_type(const struct stage *s, const struct snapshot_pool *pool, uint32_t type,
                         const char *team, node_fn fn, void *ctx)
{
    uint32_t n = catalog_n_zones(pool->catalog) * CT_COUNT;
    for (uint32_t i = 0; i < n; i++) {
        struct stage_offer o = {pool, type, i / CT_COUNT, (enum capacity_type)(i % CT_COUNT)};
        AUTO_JSON json_t *node = new_node(s, &o, team);
        if (node && fn(ctx, &o, node)) {
            return;
        }
    }
}

static void each_new(const struct stage *s, const struct snapshot_pool *pool, bool first,
                     node_fn fn, void *ctx)
{
    static const char *const teams[] = {NULL, "red", "blue"};
    sym key = sym_find(s->plan->world.syms, "team");
    bool open = key != SYM_NONE && reqset_get(&pool->np->reqs, key) != NULL;
    for (uint32_t type = 0; type < catalog_n_types(pool->catalog); type++) {
        for (size_t k = 0; k < ARRAY_LEN(teams) && within_limits(s, pool, type, first); k++) {
            if (open == (teams[k] != NULL)) {
                each_of_type(s, pool, type, teams[k], fn, ctx);
            }
        }
    }
}

struct haunt {
    struct stage *s;
    const struct sim_sched_pod *p;
    struct ghosts *g;
    uint64_t seen; /* bit: zone and capacity type */
};

static bool haunt_one(void *ctx, const struct stage_offer *o, json_t *node)
{
    struct haunt *h = ctx;
    uint64_t bit = UINT64_C(1) << (o->zone * CT_COUNT + (unsigned)o->ct);
    if (!(h->seen & bit) && h->g->n < GHOSTS_MAX && could_go(h->p, node)) {
        h->seen |= bit;
        ghost_add(h->s, h->g, node);
    }
    return false;
}

static void ghosts_come(struct stage *s, const struct sim_sched_pod *p, struct ghosts *g)
{
    g->n = 0;
    for (uint32_t i = 0; i < s->plan->decision.snap.n_pools; i++) {
        struct haunt h = {s, p, g, 0};
        each_new(s, &s->plan->decision.snap.pools[i], true, haunt_one, &h);
    }
}

static void ghosts_go(struct stage *s, struct ghosts *g)
{
    for (size_t i = 0; i < g->n; i++) {
        sim_cluster_set_node(s->sched, g->v[i], NULL);
    }
}

struct search {
    struct stage *s;
    const struct sim_sched_pod *p;
    struct stage_offer where;
    uint32_t last, fitting; /* types; last: 1 + the one that fitted last */
};

static bool search_one(void *ctx, const struct stage_offer *o, json_t *node)
{
    struct search *x = ctx;
    struct trial trial = {.s = x->s};
    char why[SIM_WHYNOT_TEXT];
    trial_begin(&trial, node);
    bool ok = fits(x->s, x->p, trial.node, why, sizeof(why));
    trial_end(&trial);
    if (ok) {
        x->where = *o;
        x->fitting += x->last != o->type + 1;
        x->last = o->type + 1;
    }
    return ok;
}

static void try_new(struct stage *s, const struct sim_sched_pod *p, const char *why,
                    struct judgement *j)
{
    const struct symtab *t = s->plan->world.syms;
    for (uint32_t i = 0; i < s->plan->decision.snap.n_pools; i++) {
        const struct snapshot_pool *pool = &s->plan->decision.snap.pools[i];
        struct search x = {.s = s, .p = p};
        each_new(s, pool, false, search_one, &x);
        if (x.fitting > 0 && enough_types(pool, x.fitting)) {
            judge_add(j, "%s/%s is refused (%s), but a new %s of %s in %s (%s) takes it", p->ns,
                      p->name, why, sym_str(t, catalog_type_name(pool->catalog, x.where.type)),
                      pool->np->m.name, sym_str(t, catalog_zone(pool->catalog, x.where.zone)),
                      sym_str(t, capacity_type_sym(x.where.ct)));
            return;
        }
    }
}

static const struct sched_claim *claim_of(const struct stage *s, const char *node)
{
    const struct sched_result *r = s->plan->result;
    for (uint32_t i = 0; i < r->n_claims; i++) {
        char name[STAGE_NAME];
        stage_name_new(i, name);
        if (str_eq(name, node)) {
            return &r->claims[i];
        }
    }
    return NULL;
}

/* A new node of that kind could have DaemonSets that this one does not. */
static bool ports_are_daemons(struct stage *s, const struct sim_sched_pod *p,
                              const struct sim_sched_node *n)
{
    struct trial trial = {.s = s};
    char why[SIM_WHYNOT_TEXT];
    AUTO_JSON json_t *node = json_incref(n->obj);
    trial_begin(&trial, node);
    bool ok = fits(s, p, trial.node, why, sizeof(why));
    trial_end(&trial);
    return !ok;
}

/* A place that the pod fits, but a planned claim cannot be narrowed to: see judge.h. */
static bool only_here(struct stage *s, const struct sim_sched_pod *p,
                      const struct sim_sched_node *n)
{
    const struct sched_claim *c = claim_of(s, n->name);
    return c && (!enough_types(c->pool, 1) || (p->ports && ports_are_daemons(s, p, n)));
}

static bool try_there(struct stage *s, const struct sim_sched_pod *p, const char *why,
                      struct judgement *j)
{
    char no[SIM_WHYNOT_TEXT];
    for (MAP_EACH(s->sched->nodes, e)) {
        struct sim_sched_node *n = map_value(e);
        if (n->obj && !n->unschedulable && fits(s, p, n, no, sizeof(no)) && !only_here(s, p, n)) {
            judge_add(j, "%s/%s is refused (%s), but %s takes it", p->ns, p->name, why, n->name);
            return true;
        }
    }
    return false;
}

static void judge_refusal(struct stage *s, const struct sched_refusal *r, struct judgement *j)
{
    AUTO_BUF struct buf why;
    struct ghosts ghosts;
    struct sim_sched_pod *p = stage_pod(s, r->pod);
    AUTO_JSON json_t *was = json_incref(p->obj);
    AUTO_JSON json_t *strict = strict_pod(p->obj);
    buf_init(&why, 4096);
    reason_fmt(s->plan->world.syms, &r->reason, &why);
    sim_cluster_pod_read(p, strict);
    ghosts_come(s, p, &ghosts);
    if (!try_there(s, p, why.p, j)) {
        try_new(s, p, why.p, j);
    }
    ghosts_go(s, &ghosts);
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
