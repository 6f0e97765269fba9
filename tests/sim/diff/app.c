/* app.c - see app.h */
#include "app.h"

#include "common/base/jsonx.h"

/* ---- where on nodes --------------------------------------------------------------- */

static json_t *node_expr(struct entropy *dice)
{
    const char *op = parts_maybe(dice, 60) ? "In" : "NotIn";
    switch (parts_below(dice, 9)) {
    case 0:
    case 1:
        return parts_expr(ZONE, op, SOME(dice, parts_zones, 40));
    case 2:
        return parts_expr(ARCH, "In", SOME(dice, parts_arches, 40));
    case 3:
        return parts_expr(CAPACITY, op, SOME(dice, parts_capacity_types, 30));
    case 4:
        return parts_expr(CPU, parts_maybe(dice, 50) ? "Gt" : "Lt", parts_texts("3", NULL));
    case 5:
        return parts_expr(TYPE, op, parts_type_names(dice));
    case 6:
        return parts_expr("team", op, SOME(dice, parts_teams, 40));
    case 7:
        return parts_expr("team", parts_maybe(dice, 50) ? "Exists" : "DoesNotExist", NULL);
    default:
        return parts_expr("tier", op, parts_texts("web", NULL));
    }
}

static json_t *node_term(struct entropy *dice)
{
    json_t *v = json_pack("[o]", node_expr(dice));
    if (parts_maybe(dice, 25)) {
        json_array_append_new(v, node_expr(dice));
    }
    return json_pack("{s:o}", "matchExpressions", v);
}

static json_t *node_affinity(struct entropy *dice)
{
    json_t *a = json_object();
    if (parts_maybe(dice, 60)) {
        json_t *terms = json_pack("[o]", node_term(dice));
        if (parts_maybe(dice, 30)) {
            json_array_append_new(terms, node_term(dice));
        }
        parts_put(a, REQUIRED, json_pack("{s:o}", "nodeSelectorTerms", terms));
    }
    if (parts_maybe(dice, 50)) {
        int weight = 1 + (int)parts_below(dice, 100);
        parts_put(a, PREFERRED,
                  json_pack("[{s:i, s:o}]", "weight", weight, "preference", node_term(dice)));
    }
    return a;
}

static json_t *node_selector(struct entropy *dice)
{
    switch (parts_below(dice, 5)) {
    case 0:
        return json_pack("{s:s}", ZONE, PICK(dice, parts_zones));
    case 1:
        return json_pack("{s:s}", ARCH, PICK(dice, parts_arches));
    case 2:
        return json_pack("{s:s}", CAPACITY, PICK(dice, parts_capacity_types));
    case 3:
        return json_pack("{s:s}", "team", PICK(dice, parts_teams));
    default:
        return json_pack("{s:s}", "tier", "web");
    }
}

/* ---- where relative to others ----------------------------------------------------- */

static const char *topology_key(struct entropy *dice)
{
    unsigned n = parts_below(dice, 100);
    return n < 50 ? ZONE : n < 90 ? HOST : CAPACITY;
}

/* Mostly about the workload's own pods. */
static json_t *label_selector(struct entropy *dice, const char *own)
{
    const char *app = parts_maybe(dice, 60) ? own : PICK(dice, parts_app_names);
    if (parts_maybe(dice, 80)) {
        return json_pack("{s:{s:s}}", "matchLabels", APP_LABEL, app);
    }
    return json_pack("{s:[o]}", "matchExpressions",
                     parts_expr(APP_LABEL, "In", parts_texts(app, PICK(dice, parts_app_names))));
}

static json_t *pod_term(struct entropy *dice, const char *own)
{
    const char *key = topology_key(dice);
    json_t *t =
        json_pack("{s:s, s:o}", "topologyKey", key, "labelSelector", label_selector(dice, own));
    if (parts_maybe(dice, 10)) {
        parts_put(t, "namespaces", parts_texts("other", NULL));
    } else if (parts_maybe(dice, 10)) {
        parts_put(t, "namespaceSelector", json_object());
    }
    return t;
}

static json_t *pod_affinity(struct entropy *dice, const char *own, unsigned hard_percent)
{
    if (parts_maybe(dice, hard_percent)) {
        return json_pack("{s:[o]}", REQUIRED, pod_term(dice, own));
    }
    int weight = 1 + (int)parts_below(dice, 100);
    return json_pack("{s:[{s:i, s:o}]}", PREFERRED, "weight", weight, "podAffinityTerm",
                     pod_term(dice, own));
}

static json_t *spread(struct entropy *dice, const char *key, const char *own)
{
    bool hard = parts_maybe(dice, 65);
    int skew = 1 + (int)parts_below(dice, 2);
    json_t *s = json_pack("{s:s, s:i, s:s, s:o}", "topologyKey", key, "maxSkew", skew,
                          "whenUnsatisfiable", hard ? "DoNotSchedule" : "ScheduleAnyway",
                          "labelSelector", label_selector(dice, own));
    if (hard && parts_maybe(dice, 20)) {
        parts_put(s, "minDomains", json_integer(2 + parts_below(dice, 2)));
    }
    if (parts_maybe(dice, 20)) {
        parts_put(s, "nodeTaintsPolicy", json_string("Honor"));
    }
    if (parts_maybe(dice, 20)) {
        parts_put(s, "nodeAffinityPolicy", json_string("Ignore"));
    }
    return s;
}

static json_t *spreads(struct entropy *dice, const char *own)
{
    static const char *const keys[] = {ZONE, HOST, CAPACITY};
    static const unsigned percent[] = {65, 35, 10};
    json_t *v = json_array();
    for (unsigned i = 0; i < ARRAY_LEN(keys); i++) {
        if (parts_maybe(dice, percent[i])) {
            json_array_append_new(v, spread(dice, keys[i], own));
        }
    }
    return v;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static json_t *app_containers(struct entropy *dice, struct app *a)
{
    static const int cpus[] = {100, 250, 500, 900, 1500, 3000};
    static const int mems[] = {64, 256, 1024, 2048, 5000};
    a->cpu_milli = PICK(dice, cpus);
    a->mem_mib = PICK(dice, mems);
    json_t *box = parts_container(a->cpu_milli, a->mem_mib);
    if (parts_maybe(dice, 4)) {
        jsonx_set_new(box, "resources",
                      json_pack("{s:{s:s, s:s}, s:{s:s}}", "requests", "cpu", "100m",
                                "nvidia.com/gpu", "1", "limits", "nvidia.com/gpu", "1"));
        a->cpu_milli = 100;
        a->mem_mib = 0;
        a->gpus = 1;
    }
    a->ports = parts_maybe(dice, 8);
    if (a->ports) {
        parts_put(box, "ports", json_pack("[{s:i, s:i}]", "containerPort", 80, "hostPort", 8080));
    }
    return json_pack("[o]", box);
}

static json_t *app_affinity(struct entropy *dice, const char *own)
{
    json_t *a = json_object();
    if (parts_maybe(dice, 35)) {
        parts_put(a, "nodeAffinity", node_affinity(dice));
    }
    if (parts_maybe(dice, 20)) {
        parts_put(a, "podAffinity", pod_affinity(dice, own, 60));
    }
    if (parts_maybe(dice, 35)) {
        parts_put(a, "podAntiAffinity", pod_affinity(dice, own, 60));
    }
    return a;
}

static void app_priority(json_t *spec)
{
    parts_put(spec, "priorityClassName", json_string("high"));
    parts_put(spec, "priority", json_integer(1000));
    parts_put(spec, "preemptionPolicy", json_string("Never"));
}

void app_make(struct entropy *dice, unsigned number, struct app *a)
{
    const char *own = parts_app_names[number];
    *a = (struct app){.ns = "default"};
    a->ns = parts_maybe(dice, 85) ? "default" : "other";
    a->labels = json_pack("{s:s}", APP_LABEL, own);
    a->spec = json_pack("{s:o}", "containers", app_containers(dice, a));
    if (parts_maybe(dice, 30)) {
        parts_put(a->spec, "nodeSelector", node_selector(dice));
    }
    if (parts_maybe(dice, 60)) {
        parts_put(a->spec, "affinity", app_affinity(dice, own));
    }
    if (parts_maybe(dice, 45)) {
        parts_put(a->spec, "topologySpreadConstraints", spreads(dice, own));
    }
    if (parts_maybe(dice, 40)) {
        parts_put(a->spec, "tolerations",
                  parts_maybe(dice, 60) ? json_pack("[{s:s, s:s, s:s}]", "key", "dedicated",
                                                    "operator", "Equal", "value", "x")
                                        : json_pack("[{s:s}]", "operator", "Exists"));
    }
    if (parts_maybe(dice, 15)) {
        app_priority(a->spec);
    }
    if (parts_maybe(dice, 10)) {
        parts_put(a->spec, "initContainers",
                  json_pack("[{s:s, s:s, s:s, s:{s:o}}]", "name", "i", "image", "x:1",
                            "restartPolicy", "Always", "resources", "requests",
                            parts_amounts(200, 100, 0)));
        a->cpu_milli += 200;
        a->mem_mib += 100;
    }
    a->volumes = parts_maybe(dice, 15);
}

/* ---- as users have them -----------------------------------------------------------------------
 */

static json_t *own_selector(const char *own)
{
    return json_pack("{s:{s:s}}", "matchLabels", APP_LABEL, own);
}

static json_t *usual_spread(const char *key, const char *own, bool hard)
{
    return json_pack("{s:s, s:i, s:s, s:o}", "topologyKey", key, "maxSkew", 1, "whenUnsatisfiable",
                     hard ? "DoNotSchedule" : "ScheduleAnyway", "labelSelector", own_selector(own));
}

static void usual_topology(struct entropy *dice, const char *own, json_t *spec)
{
    json_t *v = json_array();
    if (parts_maybe(dice, 40)) {
        json_array_append_new(v, usual_spread(ZONE, own, parts_maybe(dice, 35)));
    }
    if (parts_maybe(dice, 20)) {
        json_array_append_new(v, usual_spread(HOST, own, parts_maybe(dice, 25)));
    }
    parts_put(spec, "topologySpreadConstraints", v);
    if (!parts_maybe(dice, 25)) {
        return;
    }
    json_t *term = json_pack("{s:s, s:o}", "topologyKey", HOST, "labelSelector", own_selector(own));
    json_t *anti = parts_maybe(dice, 30) ? json_pack("{s:[o]}", REQUIRED, term)
                                         : json_pack("{s:[{s:i, s:o}]}", PREFERRED, "weight", 100,
                                                     "podAffinityTerm", term);
    parts_put(spec, "affinity", json_pack("{s:o}", "podAntiAffinity", anti));
}

void app_make_usual(struct entropy *dice, unsigned number, struct app *a)
{
    static const int cpus[] = {50, 100, 100, 250, 250, 500, 500, 1000, 1000, 2000, 3500};
    static const int mems[] = {128, 256, 512, 512, 1024, 1024, 2048, 4096, 8192};
    char own[16];
    snprintf(own, sizeof(own), "service-%u", number);
    *a = (struct app){.ns = parts_maybe(dice, 85) ? "default" : "other"};
    a->labels = json_pack("{s:s}", APP_LABEL, own);
    a->cpu_milli = PICK(dice, cpus);
    a->mem_mib = PICK(dice, mems);
    a->spec = json_pack("{s:[o]}", "containers", parts_container(a->cpu_milli, a->mem_mib));
    usual_topology(dice, own, a->spec);
    if (parts_maybe(dice, 15)) {
        const char *zone = PICK(dice, parts_zones);
        bool zonal = parts_maybe(dice, 50);
        parts_put(a->spec, "nodeSelector",
                  json_pack("{s:s}", zonal ? ZONE : CAPACITY, zonal ? zone : "on-demand"));
    }
    if (parts_maybe(dice, 20)) {
        parts_put(
            a->spec, "tolerations",
            json_pack("[{s:s, s:s, s:s}]", "key", "dedicated", "operator", "Equal", "value", "x"));
    }
    if (parts_maybe(dice, 10)) {
        app_priority(a->spec);
    }
    a->volumes = parts_maybe(dice, 5);
}

void app_done(struct app *a)
{
    json_decref(a->spec);
    json_decref(a->labels);
}
