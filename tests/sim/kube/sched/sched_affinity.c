/* sched_affinity.c - see sched_affinity.h */
#include "sched_affinity.h"

#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "tests/sim/kube/jsonsel.h"

#define SCORE_MAX 100
#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

/* ---- terms ------------------------------------------------------------------------------------
 */

static bool listed(const json_t *array, const char *s)
{
    size_t i;
    json_t *v;
    json_array_foreach ((json_t *)array, i, v) {
        if (str_eq(json_string_value(v), s)) {
            return true;
        }
    }
    return false;
}

static bool speaks_of_namespace(const struct sim_cluster *c, const json_t *term, const char *own_ns,
                                const char *ns)
{
    const json_t *names = json_object_get(term, "namespaces");
    const json_t *selector = json_object_get(term, "namespaceSelector");
    if (json_array_size(names) == 0 && !selector) {
        return str_eq(own_ns, ns);
    }
    if (listed(names, ns)) {
        return true;
    }
    const json_t *o = selector ? sim_api_get(c->api, SIM_NAMESPACE, NULL, ns) : NULL;
    return o && jsonsel_match_selector(selector, jsonx_at(o, "metadata.labels"));
}

/* keys: label keys whose value in `own` the other pod must have (same) or must not have. */
static bool keys_hold(const json_t *keys, const json_t *own, const json_t *labels, bool same)
{
    size_t i;
    json_t *key;
    json_array_foreach ((json_t *)keys, i, key) {
        const char *k = json_string_value(key);
        const char *mine = k ? json_string_value(json_object_get(own, k)) : NULL;
        const char *theirs = k ? json_string_value(json_object_get(labels, k)) : NULL;
        if (mine && (theirs && str_eq(mine, theirs)) != same) {
            return false;
        }
    }
    return true;
}

/* Who has the term, and of whom it is asked. */
struct who {
    const char *ns;
    const json_t *labels;
};

static bool term_speaks_of(const struct sim_cluster *c, const json_t *term, struct who owner,
                           struct who other)
{
    return jsonsel_match_selector(json_object_get(term, "labelSelector"), other.labels) &&
           keys_hold(json_object_get(term, "matchLabelKeys"), owner.labels, other.labels, true) &&
           keys_hold(json_object_get(term, "mismatchLabelKeys"), owner.labels, other.labels,
                     false) &&
           speaks_of_namespace(c, term, owner.ns, other.ns);
}

static bool all_speak_of(const struct sim_cluster *c, const json_t *terms, struct who owner,
                         struct who other)
{
    size_t i;
    json_t *term;
    json_array_foreach ((json_t *)terms, i, term) {
        if (!term_speaks_of(c, term, owner, other)) {
            return false;
        }
    }
    return json_array_size(terms) > 0;
}

static int term_key(struct sim_cluster *c, const json_t *term)
{
    return sim_cluster_key(c, jsonx_str_or(term, "topologyKey", ""));
}

static const json_t *terms_of(const json_t *affinity, const char *side, const char *when)
{
    const json_t *list = json_object_get(json_object_get(affinity, side), when);
    return json_array_size(list) > 0 ? list : NULL;
}

static struct who who_is(const struct sim_sched_pod *p)
{
    return (struct who){p->ns, jsonx_at(p->obj, "metadata.labels")};
}

static struct who who_are(const struct sim_pod_group *g)
{
    return (struct who){g->ns, g->labels};
}

/* ---- filter -----------------------------------------------------------------------------------
 */

static void add_places(struct sim_cluster *c, const struct sim_pod_group *g, int key,
                       int64_t factor, struct sim_count *ret)
{
    for (size_t i = 0; key >= 0 && i < g->n_places; i++) {
        struct sim_sched_node *n = g->places[i].node;
        if (n->obj) {
            sim_count_add(ret, sim_cluster_domain(c, n, key), factor * g->places[i].n);
        }
    }
}

static void count_wanted(struct sim_cluster *c, const struct sim_sched_pod *p,
                         const struct sim_pod_group *g, struct sim_affinity *a)
{
    size_t i;
    json_t *term;
    if (all_speak_of(c, a->must, who_is(p), who_are(g))) {
        json_array_foreach ((json_t *)a->must, i, term) {
            add_places(c, g, term_key(c, term), 1, &a->with);
        }
    }
    json_array_foreach ((json_t *)a->must_not, i, term) {
        if (term_speaks_of(c, term, who_is(p), who_are(g))) {
            add_places(c, g, term_key(c, term), 1, &a->without);
        }
    }
}

static void count_refused(struct sim_cluster *c, const struct sim_sched_pod *p,
                          const struct sim_pod_group *g, struct sim_affinity *a)
{
    size_t i;
    json_t *term;
    json_array_foreach ((json_t *)terms_of(g->affinity, "podAntiAffinity", REQUIRED), i, term) {
        int key = term_key(c, term);
        if (key >= 0 && term_speaks_of(c, term, who_are(g), who_is(p))) {
            add_places(c, g, key, 1, &a->refused);
            a->refused_keys |= UINT64_C(1) << key;
        }
    }
}

void sim_affinity_read(struct sim_cluster *c, const struct sim_sched_pod *p,
                       struct sim_affinity *ret)
{
    const json_t *own = jsonx_at(p->obj, "spec.affinity");
    *ret = (struct sim_affinity){.must = terms_of(own, "podAffinity", REQUIRED),
                                 .must_not = terms_of(own, "podAntiAffinity", REQUIRED)};
    ret->self = all_speak_of(c, ret->must, who_is(p), who_is(p));
    for (MAP_EACH(c->groups, e)) {
        const struct sim_pod_group *g = map_value(e);
        if (ret->must || ret->must_not) {
            count_wanted(c, p, g, ret);
        }
        if (g->affinity) {
            count_refused(c, p, g, ret);
        }
    }
}

void sim_affinity_done(struct sim_affinity *a)
{
    sim_count_done(&a->with);
    sim_count_done(&a->without);
    sim_count_done(&a->refused);
}

static bool has_company(struct sim_cluster *c, const struct sim_affinity *a,
                        struct sim_sched_node *n)
{
    size_t i;
    json_t *term;
    bool all = true;
    json_array_foreach ((json_t *)a->must, i, term) {
        int key = term_key(c, term);
        int d = key >= 0 ? sim_cluster_domain(c, n, key) : -1;
        if (d < 0) {
            return false;
        }
        all = all && sim_count_get(&a->with, d) > 0;
    }
    /* The first of a series of pods that want each other may go anywhere. */
    return all || (!a->with.any && a->self);
}

static bool meets_unwanted(struct sim_cluster *c, const struct sim_affinity *a,
                           struct sim_sched_node *n)
{
    size_t i;
    json_t *term;
    json_array_foreach ((json_t *)a->must_not, i, term) {
        int key = term_key(c, term);
        if (key >= 0 && sim_count_get(&a->without, sim_cluster_domain(c, n, key)) > 0) {
            return true;
        }
    }
    return false;
}

static bool is_refused(struct sim_cluster *c, const struct sim_affinity *a,
                       struct sim_sched_node *n)
{
    for (int key = 0; key < SIM_TOPOLOGY_KEYS_MAX; key++) {
        if (a->refused_keys >> key & 1 &&
            sim_count_get(&a->refused, sim_cluster_domain(c, n, key)) > 0) {
            return true;
        }
    }
    return false;
}

const char *sim_affinity_fit(struct sim_cluster *c, const struct sim_affinity *a,
                             struct sim_sched_node *n, bool *ret_final)
{
    *ret_final = false;
    if (a->must && !has_company(c, a, n)) {
        *ret_final = true;
        return "node(s) didn't match pod affinity rules";
    }
    if (a->must_not && meets_unwanted(c, a, n)) {
        return "node(s) didn't match pod anti-affinity rules";
    }
    if (a->refused_keys && is_refused(c, a, n)) {
        return "node(s) didn't satisfy existing pods anti-affinity rules";
    }
    return NULL;
}

/* ---- score ------------------------------------------------------------------------------------
 */

struct wishes {
    struct sim_cluster *c;
    struct sim_count points;
    uint64_t keys;
};

/* Terms of owner about other; the points go to where the group is. */
static void wish(struct wishes *w, const json_t *terms, int64_t factor, struct who owner,
                 struct who other, const struct sim_pod_group *g)
{
    size_t i;
    json_t *t;
    json_array_foreach ((json_t *)terms, i, t) {
        const json_t *inner = json_object_get(t, "podAffinityTerm");
        const json_t *term = inner ? inner : t;
        int64_t weight = inner ? jsonx_int(t, "weight", 0) : 1;
        int key = term_key(w->c, term);
        if (key >= 0 && term_speaks_of(w->c, term, owner, other)) {
            add_places(w->c, g, key, factor * weight, &w->points);
            w->keys |= UINT64_C(1) << key;
        }
    }
}

static void wishes_of(struct wishes *w, const struct sim_sched_pod *p,
                      const struct sim_pod_group *g)
{
    const json_t *own = jsonx_at(p->obj, "spec.affinity");
    struct who me = who_is(p), them = who_are(g);
    wish(w, terms_of(own, "podAffinity", PREFERRED), 1, me, them, g);
    wish(w, terms_of(own, "podAntiAffinity", PREFERRED), -1, me, them, g);
    if (g->affinity) {
        wish(w, terms_of(g->affinity, "podAffinity", REQUIRED), 1, them, me, g);
        wish(w, terms_of(g->affinity, "podAffinity", PREFERRED), 1, them, me, g);
        wish(w, terms_of(g->affinity, "podAntiAffinity", PREFERRED), -1, them, me, g);
    }
}

static int64_t points_of(const struct wishes *w, struct sim_sched_node *n)
{
    int64_t sum = 0;
    for (int key = 0; key < SIM_TOPOLOGY_KEYS_MAX; key++) {
        if (w->keys >> key & 1) {
            sum += sim_count_get(&w->points, sim_cluster_domain(w->c, n, key));
        }
    }
    return sum;
}

static void normalize(const int64_t *raw, size_t n, int64_t weight, int64_t *ret)
{
    int64_t min = INT64_MAX, max = INT64_MIN;
    for (size_t k = 0; k < n; k++) {
        min = raw[k] < min ? raw[k] : min;
        max = raw[k] > max ? raw[k] : max;
    }
    for (size_t k = 0; k < n && max > min; k++) {
        /* In floating point and cut off, as upstream does it. */
        double part = (double)SCORE_MAX * ((double)(raw[k] - min) / (double)(max - min));
        ret[k] += weight * (int64_t)part;
    }
}

void sim_affinity_score(struct sim_cluster *c, const struct sim_sched_pod *p,
                        struct sim_sched_node *const *nodes, size_t n, int64_t weight, int64_t *ret)
{
    struct wishes w = {.c = c};
    const json_t *own = jsonx_at(p->obj, "spec.affinity");
    bool wants =
        terms_of(own, "podAffinity", PREFERRED) || terms_of(own, "podAntiAffinity", PREFERRED);
    for (MAP_EACH(c->groups, e)) {
        const struct sim_pod_group *g = map_value(e);
        if (wants || g->affinity) {
            wishes_of(&w, p, g);
        }
    }
    if (w.points.any) {
        AUTO_FREE int64_t *raw = NEW_N(int64_t, n + 1);
        for (size_t k = 0; k < n; k++) {
            raw[k] = points_of(&w, nodes[k]);
        }
        normalize(raw, n, weight, ret);
    }
    sim_count_done(&w.points);
}
