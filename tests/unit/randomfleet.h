/*
 * randomfleet.h - fleets by chance, as texts that plantest.h reads: two pools, up to twenty nodes
 * of several shapes, pods of six workloads with rules of all kinds, budgets and options.
 */
#ifndef KARP_TESTS_RANDOMFLEET_H
#define KARP_TESTS_RANDOMFLEET_H

#include "plantest.h"

#define APPS 6

enum rule { RULE_NONE, RULE_HOST_ANTI, RULE_ZONE_ANTI, RULE_HOST_SPREAD, RULE_ZONE_SPREAD, RULES };

struct app {
    int cpu, mem;
    enum rule rule;
    const char *zone; /* it selects this one, or NULL */
    bool protects;    /* under a budget that allows nothing */
};

struct draw {
    uint64_t seed;
    struct app apps[APPS];
    struct buf text;
};

static const char *const zones[] = {"zone-a", "zone-b", "zone-c"};

static inline uint32_t rnd(struct draw *d, uint32_t n)
{
    d->seed = d->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(d->seed >> 33) % n;
}

/* ---- making one ------------------------------------------------------------------------------ */

static inline void put_rule(struct draw *d, int app)
{
    static const char *const texts[RULES] = {
        [RULE_HOST_ANTI] = "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuring"
                           "Execution: [{topologyKey: kubernetes.io/hostname, labelSelector: "
                           "{matchLabels: {app: a%d}}}]}}, ",
        [RULE_ZONE_ANTI] = "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuring"
                           "Execution: [{topologyKey: topology.kubernetes.io/zone, labelSelector: "
                           "{matchLabels: {app: a%d}}}]}}, ",
        [RULE_HOST_SPREAD] = "topologySpreadConstraints: [{maxSkew: 2, topologyKey: "
                             "kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, "
                             "labelSelector: {matchLabels: {app: a%d}}}], ",
        [RULE_ZONE_SPREAD] = "topologySpreadConstraints: [{maxSkew: 1, topologyKey: "
                             "topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, "
                             "labelSelector: {matchLabels: {app: a%d}}}], ",
    };
    if (texts[d->apps[app].rule] != NULL) {
        buf_printf(&d->text, texts[d->apps[app].rule], app);
    }
}

static inline void put_pod(struct draw *d, int app, int number, const char *node)
{
    const struct app *a = &d->apps[app];
    buf_printf(&d->text, "- {name: p%d, owner: a%d, cpu: %d, mem: %d, labels: {app: a%d}, ", number,
               app, a->cpu, a->mem, app);
    if (node != NULL) {
        buf_printf(&d->text, "node: %s, ", node);
    }
    buf_puts(&d->text, "spec: {");
    put_rule(d, app);
    if (a->zone != NULL) {
        buf_printf(&d->text, "nodeSelector: {topology.kubernetes.io/zone: %s}", a->zone);
    }
    buf_puts(&d->text, "}}\n");
}

static inline void put_pools(struct draw *d)
{
    static const char *const reqs[] = {F_DEFAULT_REQS, "kubernetes.io/arch In amd64",
                                       "karpenter.sh/capacity-type In spot,on-demand"};
    buf_puts(&d->text, "pools:\n");
    for (int i = 0; i < 2; i++) {
        buf_printf(&d->text, "- {name: pool-%d, weight: %u, policy: %s, reqs: '%s'%s%s}\n", i,
                   rnd(d, 2) * 10, rnd(d, 6) ? "Default" : "Balanced", reqs[rnd(d, 3)],
                   rnd(d, 3) ? "" : ", budgets: [{nodes: '30%'}]",
                   rnd(d, 4) ? "" : ", cpuLimit: 60000");
    }
}

static const struct shape {
    const char *type;
    int cpu, mem;
} shapes[] = {{"c.large", 1900, 3840},
              {"c.xlarge", 3900, 7680},
              {"c.2xlarge", 7900, 15360},
              {"r.xlarge", 3900, 30720},
              {"c.4xlarge", 15900, 30720}};

static inline void put_apps(struct draw *d)
{
    for (int i = 0; i < APPS; i++) {
        d->apps[i] = (struct app){.cpu = 100 * (1 + (int)rnd(d, 18)),
                                  .mem = 128 * (1 + (int)rnd(d, 24)),
                                  .rule = (enum rule)rnd(d, RULES),
                                  .zone = rnd(d, 5) ? NULL : zones[rnd(d, 3)],
                                  .protects = rnd(d, 8) == 0};
    }
}

/* Nodes, and pods as far as they have room. */
static inline void put_fleet(struct draw *d)
{
    struct buf pods;
    buf_init(&pods, 1 << 22);
    int n = 2 + (int)rnd(d, 18), number = 0;
    buf_puts(&d->text, "fleet:\n");
    for (int i = 0; i < n; i++) {
        const struct shape *s = &shapes[rnd(d, ARRAY_LEN(shapes))];
        const char *zone = zones[rnd(d, 3)];
        buf_printf(&d->text,
                   "- {name: node-%02d, pool: pool-%u, type: %s, zone: %s, ct: %s, age: "
                   "%uh, quiet: 1h%s}\n",
                   i, rnd(d, 2), s->type, zone, rnd(d, 3) ? "on-demand" : "spot", 1 + rnd(d, 300),
                   rnd(d, 12) ? "" : ", cordoned: true");
        struct buf keep = d->text;
        d->text = pods;
        int cpu = s->cpu, mem = s->mem;
        char name[32];
        (void)snprintf(name, sizeof(name), "node-%02d", i);
        for (uint32_t k = 0, want = rnd(d, 9); k < want; k++) {
            int app = (int)rnd(d, APPS);
            const struct app *a = &d->apps[app];
            if (a->cpu <= cpu && a->mem <= mem && (!a->zone || str_eq(a->zone, zone))) {
                cpu -= a->cpu;
                mem -= a->mem;
                put_pod(d, app, number++, name);
            }
        }
        pods = d->text;
        d->text = keep;
    }
    buf_puts(&d->text, "pods:\n");
    buf_puts(&d->text, pods.p ? pods.p : "");
    for (uint32_t i = 0, want = rnd(d, 4); i < want; i++) {
        put_pod(d, (int)rnd(d, APPS), number++, NULL);
    }
    buf_done(&pods);
}

static inline void put_rest(struct draw *d)
{
    buf_puts(&d->text, "pdbs:\n");
    for (int i = 0; i < APPS; i++) {
        if (d->apps[i].protects) {
            buf_printf(&d->text, "- {name: b%d, match: {app: a%d}, max: 0}\n", i, i);
        }
    }
    buf_printf(&d->text, "options: {spotToSpot: %s, spotMinTypes: 2, minSaving: '%u%%'}\n",
               rnd(d, 2) ? "true" : "false", rnd(d, 3) * 5);
}

static inline void draw(struct draw *d, uint64_t seed)
{
    *d = (struct draw){.seed = seed * 7919 + 1};
    buf_init(&d->text, 1 << 22);
    put_apps(d);
    put_pools(d);
    put_fleet(d);
    put_rest(d);
}

static inline void draw_done(struct draw *d)
{
    buf_done(&d->text);
}

#endif
