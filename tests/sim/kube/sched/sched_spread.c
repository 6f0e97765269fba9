/* sched_spread.c - see sched_spread.h */
#include "sched_spread.h"

#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "tests/sim/kube/jsonsel.h"

#include <math.h>

#define HOSTNAME "kubernetes.io/hostname"
#define ZONE "topology.kubernetes.io/zone"
#define SCORE_MAX 100

/* ---- rules ------------------------------------------------------------------------------------
 */

static bool selector_is_empty(const struct sim_spread_rule *r)
{
    return !json_object_size(json_object_get(r->selector, "matchLabels")) &&
           !json_array_size(json_object_get(r->selector, "matchExpressions")) &&
           !json_object_size(r->more);
}

static bool selects(const struct sim_spread_rule *r, const json_t *labels)
{
    return r->selector && jsonsel_match_selector(r->selector, labels) &&
           jsonsel_match_map(r->more, labels);
}

/* The pod's own values of matchLabelKeys; NULL if there are none. */
static json_t *own_values(const json_t *keys, const json_t *labels)
{
    json_t *out = NULL;
    size_t i;
    json_t *key;
    json_array_foreach ((json_t *)keys, i, key) {
        const char *k = json_string_value(key);
        json_t *v = k ? json_object_get(labels, k) : NULL;
        if (v) {
            out = out ? out : json_object();
            json_object_set(out, k, v);
        }
    }
    return out;
}

static struct sim_spread_rule *rule_add(struct sim_cluster *c, struct sim_spread *s,
                                        const char *key, int64_t max_skew)
{
    int number = sim_cluster_key(c, key);
    if (s->n >= SIM_SPREAD_MAX || number < 0) {
        return NULL;
    }
    struct sim_spread_rule *r = &s->rules[s->n++];
    *r = (struct sim_spread_rule){.key = number,
                                  .max_skew = max_skew,
                                  .min_domains = 1,
                                  .honor_affinity = true,
                                  .hostname = str_eq(key, HOSTNAME)};
    return r;
}

/* Constraints of the pod itself, or with `owned` those of the profile. */
static void read_rules(struct sim_cluster *c, const struct sim_sched_pod *p, json_t *list,
                       const char *action, struct sim_spread *s)
{
    const json_t *labels = jsonx_at(p->obj, "metadata.labels");
    size_t i;
    json_t *one;
    s->all_keys = true;
    json_array_foreach (list, i, one) {
        struct sim_spread_rule *r =
            str_eq(jsonx_str(one, "whenUnsatisfiable"), action)
                ? rule_add(c, s, jsonx_str_or(one, "topologyKey", ""), jsonx_int(one, "maxSkew", 1))
                : NULL;
        if (!r) {
            continue;
        }
        r->min_domains = jsonx_int(one, "minDomains", 1);
        r->honor_affinity = !str_eq(jsonx_str(one, "nodeAffinityPolicy"), "Ignore");
        r->honor_taints = str_eq(jsonx_str(one, "nodeTaintsPolicy"), "Honor");
        r->selector = s->owned ? s->owned : json_object_get(one, "labelSelector");
        r->more = s->owned ? NULL : own_values(json_object_get(one, "matchLabelKeys"), labels);
        r->self = selects(r, labels);
    }
}

/* The selector that Services and a ReplicaSet or StatefulSet give the pod; NULL if none does. */
static json_t *default_selector(const struct sim_cluster *c, const struct sim_sched_pod *p)
{
    const json_t *ref = sim_controller(p->obj);
    const char *kind = jsonx_str_or(ref, "kind", "");
    enum sim_kind_id id = str_eq(kind, "ReplicaSet") ? SIM_REPLICASET : SIM_STATEFULSET;
    const json_t *owner = str_eq(kind, "ReplicaSet") || str_eq(kind, "StatefulSet")
                              ? sim_api_get(c->api, id, p->ns, jsonx_str_or(ref, "name", ""))
                              : NULL;
    json_t *selector = json_deep_copy(jsonx_at(owner, "spec.selector"));
    for (size_t i = 0; i < sim_api_count(c->api, SIM_SERVICE); i++) {
        const json_t *s = sim_api_at(c->api, SIM_SERVICE, i);
        json_t *map = jsonx_at(s, "spec.selector");
        if (json_object_size(map) && str_eq(jsonx_str(s, "metadata.namespace"), p->ns) &&
            jsonsel_match_map(map, jsonx_at(p->obj, "metadata.labels"))) {
            selector = selector ? selector : json_object();
            json_t *labels = json_object_get(selector, "matchLabels");
            if (labels) {
                json_object_update(labels, map);
            } else {
                json_object_set_new(selector, "matchLabels", json_deep_copy(map));
            }
        }
    }
    return selector;
}

/* The built-in ones. */
static void system_rules(struct sim_cluster *c, struct sim_spread *s)
{
    struct sim_spread_rule *r = rule_add(c, s, HOSTNAME, 3);
    if (r) {
        r->selector = s->owned;
    }
    r = rule_add(c, s, ZONE, 5);
    if (r) {
        r->selector = s->owned;
    }
}

static void read_all(struct sim_cluster *c, const struct sim_sched_pod *p, bool hard,
                     struct sim_spread *s)
{
    json_t *own = jsonx_at(p->obj, "spec.topologySpreadConstraints");
    const char *action = hard ? "DoNotSchedule" : "ScheduleAnyway";
    if (json_array_size(own) > 0) {
        read_rules(c, p, own, action, s);
        return;
    }
    if (hard && !c->default_spreads) {
        return;
    }
    s->owned = default_selector(c, p);
    if (s->owned && c->default_spreads) {
        read_rules(c, p, c->default_spreads, action, s);
    } else if (s->owned) {
        system_rules(c, s);
    }
}

void sim_spread_done(struct sim_spread *s)
{
    for (size_t i = 0; i < s->n; i++) {
        json_decref(s->rules[i].more);
        sim_count_done(&s->rules[i].seen);
        sim_count_done(&s->rules[i].match);
    }
    json_decref(s->owned);
}

/* ---- counting ---------------------------------------------------------------------------------
 */

static bool has_all_keys(struct sim_cluster *c, const struct sim_spread *s,
                         struct sim_sched_node *n)
{
    for (size_t i = 0; i < s->n; i++) {
        if (sim_cluster_domain(c, n, s->rules[i].key) < 0) {
            return false;
        }
    }
    return true;
}

/* Bit i: the node counts for rule i. */
static uint32_t eligible(struct sim_cluster *c, const struct sim_sched_pod *p,
                         const struct sim_spread *s, struct sim_sched_node *n)
{
    uint32_t bits = 0;
    if (!n->obj || (s->all_keys && !has_all_keys(c, s, n))) {
        return 0;
    }
    const json_t *spec = json_object_get(p->obj, "spec");
    bool selected = !p->picky || sim_node_selected(spec, n->obj);
    for (size_t i = 0; i < s->n; i++) {
        const struct sim_spread_rule *r = &s->rules[i];
        bool tolerated =
            !r->honor_taints || !n->tainted ||
            !sim_untolerated(json_object_get(spec, "tolerations"), jsonx_at(n->obj, "spec.taints"),
                             "NoSchedule", "NoExecute", NULL);
        bits |= (selected || !r->honor_affinity) && tolerated ? UINT32_C(1) << i : 0;
    }
    return bits;
}

static void mark_nodes(struct sim_cluster *c, const struct sim_sched_pod *p,
                       const struct sim_spread *s)
{
    for (MAP_EACH(c->nodes, e)) {
        struct sim_sched_node *n = map_value(e);
        n->eligible = eligible(c, p, s, n);
    }
}

static void count_matches(struct sim_cluster *c, const struct sim_sched_pod *p,
                          struct sim_spread *s)
{
    for (MAP_EACH(c->groups, e)) {
        const struct sim_pod_group *g = map_value(e);
        for (size_t i = 0; i < s->n && str_eq(g->ns, p->ns); i++) {
            struct sim_spread_rule *r = &s->rules[i];
            if (selector_is_empty(r) || !selects(r, g->labels)) {
                continue;
            }
            for (size_t k = 0; k < g->n_places; k++) {
                struct sim_sched_node *n = g->places[k].node;
                if (n->eligible >> i & 1) {
                    sim_count_add(&r->match, sim_cluster_domain(c, n, r->key), g->places[k].live);
                }
            }
        }
    }
}

/* ---- filter -----------------------------------------------------------------------------------
 */

static void count_domains(struct sim_cluster *c, struct sim_spread *s)
{
    for (MAP_EACH(c->nodes, e)) {
        struct sim_sched_node *n = map_value(e);
        for (size_t i = 0; i < s->n; i++) {
            int d = n->eligible >> i & 1 ? sim_cluster_domain(c, n, s->rules[i].key) : -1;
            if (d >= 0 && sim_count_get(&s->rules[i].seen, d) == 0) {
                sim_count_add(&s->rules[i].seen, d, 1);
                s->rules[i].domains++;
            }
        }
    }
}

static void find_least(struct sim_spread_rule *r)
{
    r->least = r->domains > 0 ? INT64_MAX : 0;
    for (size_t d = 0; d < r->seen.n; d++) {
        int64_t n = sim_count_get(&r->match, (int)d);
        r->least = r->seen.v[d] && n < r->least ? n : r->least;
    }
    r->least = r->domains < r->min_domains ? 0 : r->least;
}

void sim_spread_hard(struct sim_cluster *c, const struct sim_sched_pod *p, struct sim_spread *ret)
{
    *ret = (struct sim_spread){0};
    read_all(c, p, true, ret);
    if (ret->n == 0) {
        return;
    }
    mark_nodes(c, p, ret);
    count_domains(c, ret);
    count_matches(c, p, ret);
    for (size_t i = 0; i < ret->n; i++) {
        find_least(&ret->rules[i]);
    }
}

const char *sim_spread_fit(struct sim_cluster *c, const struct sim_spread *s,
                           struct sim_sched_node *n, bool *ret_final)
{
    *ret_final = false;
    for (size_t i = 0; i < s->n; i++) {
        const struct sim_spread_rule *r = &s->rules[i];
        int d = sim_cluster_domain(c, n, r->key);
        if (d < 0) {
            *ret_final = true;
            return "node(s) didn't match pod topology spread constraints (missing required label)";
        }
        if (sim_count_get(&r->match, d) + r->self - r->least > r->max_skew) {
            return "node(s) didn't match pod topology spread constraints";
        }
    }
    return NULL;
}

/* ---- score ------------------------------------------------------------------------------------
 */

/* Of the feasible nodes: which are scored, and how many domains of each key they have. */
static void weigh(struct sim_cluster *c, struct sim_spread *s, struct sim_sched_node *const *nodes,
                  size_t n, bool *left_out)
{
    size_t scored = 0;
    for (size_t k = 0; k < n; k++) {
        left_out[k] = s->all_keys && !has_all_keys(c, s, nodes[k]);
        scored += !left_out[k];
        for (size_t i = 0; i < s->n && !left_out[k]; i++) {
            struct sim_spread_rule *r = &s->rules[i];
            int d = sim_cluster_domain(c, nodes[k], r->key);
            if (d >= 0 && sim_count_get(&r->seen, d) == 0) {
                sim_count_add(&r->seen, d, 1);
                r->domains++;
            }
        }
    }
    for (size_t i = 0; i < s->n; i++) {
        int64_t size = s->rules[i].hostname ? (int64_t)scored : s->rules[i].domains;
        s->rules[i].weight = log((double)size + 2);
    }
}

static int64_t raw_score(struct sim_cluster *c, const struct sim_spread *s,
                         struct sim_sched_node *n)
{
    double sum = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct sim_spread_rule *r = &s->rules[i];
        int d = sim_cluster_domain(c, n, r->key);
        if (d >= 0) {
            sum += (double)sim_count_get(&r->match, d) * r->weight + (double)(r->max_skew - 1);
        }
    }
    return (int64_t)round(sum);
}

static void normalize(const int64_t *raw, const bool *left_out, size_t n, int64_t weight,
                      int64_t *ret)
{
    int64_t min = INT64_MAX, max = 0;
    for (size_t k = 0; k < n; k++) {
        min = !left_out[k] && raw[k] < min ? raw[k] : min;
        max = !left_out[k] && raw[k] > max ? raw[k] : max;
    }
    for (size_t k = 0; k < n; k++) {
        int64_t score = max == 0 ? SCORE_MAX : SCORE_MAX * (max + min - raw[k]) / max;
        ret[k] += left_out[k] ? 0 : weight * score;
    }
}

void sim_spread_score(struct sim_cluster *c, const struct sim_sched_pod *p,
                      struct sim_sched_node *const *nodes, size_t n, int64_t weight, int64_t *ret)
{
    struct sim_spread s = {0};
    read_all(c, p, false, &s);
    if (s.n > 0) {
        AUTO_FREE bool *left_out = NEW_N(bool, n + 1);
        AUTO_FREE int64_t *raw = NEW_N(int64_t, n + 1);
        weigh(c, &s, nodes, n, left_out);
        mark_nodes(c, p, &s);
        count_matches(c, p, &s);
        for (size_t k = 0; k < n; k++) {
            raw[k] = left_out[k] ? 0 : raw_score(c, &s, nodes[k]);
        }
        normalize(raw, left_out, n, weight, ret);
    }
    sim_spread_done(&s);
}
