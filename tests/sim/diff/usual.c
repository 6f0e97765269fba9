/* usual.c - clusters as users have them; see gen.h and cluster.h. */
#include "common/base/jsonx.h"
#include "gen.h"

#define PODS_MIN 30u
#define ROLLOUT_MAX 40u /* pods of one workload that come together */

static json_t *pool_requirements(struct gen *g)
{
    static const char *const categories[] = {"c", "m", "r"};
    json_t *v = json_array(), *all = json_array();
    bool amd64 = parts_maybe(&g->chance, 70);
    json_array_append_new(v, parts_expr(ARCH, "In", parts_texts("amd64", amd64 ? NULL : "arm64")));
    unsigned market = parts_below(&g->chance, 100);
    json_array_append_new(v, parts_expr(CAPACITY, "In",
                                        parts_texts(market < 60 ? "on-demand" : "spot",
                                                    market < 80 ? NULL : "on-demand")));
    for (unsigned i = 0; i < ARRAY_LEN(categories); i++) {
        json_array_append_new(all, json_string(categories[i]));
    }
    json_array_append_new(v, parts_expr(CATEGORY, "In", all));
    if (parts_maybe(&g->chance, 70)) {
        json_array_append_new(
            v, parts_expr("karpenter.k8s.aws/instance-generation", "Gt", parts_texts("4", NULL)));
    }
    return v;
}

/* The first is for everybody. */
static void make_pool(struct gen *g, unsigned i)
{
    char name[16];
    snprintf(name, sizeof(name), "pool-%u", i);
    json_t *spec = json_pack("{s:{s:s, s:s, s:s}, s:o, s:s}", "nodeClassRef", "group",
                             "karpenter.k8s.aws", "kind", "EC2NodeClass", "name", "default",
                             "requirements", pool_requirements(g), "expireAfter", "Never");
    if (i > 0 && parts_maybe(&g->chance, 50)) {
        parts_put(spec, "taints", gen_taint("NoSchedule"));
    }
    json_t *pool = json_pack("{s:{s:{s:o}}}", "spec", "template", "spec", spec);
    if (parts_maybe(&g->chance, 20)) {
        jsonx_set_new(pool, "spec.limits", json_pack("{s:s}", "cpu", "1000"));
    }
    if (i > 0) {
        jsonx_set_new(pool, "spec.weight", json_integer(1 + parts_below(&g->chance, 100)));
    }
    g->pools[g->n_pools++] = gen_add(g, "karpenter.sh/v1", "NodePool", NULL, name, pool);
}

void gen_usual(struct gen *g, uint32_t pods)
{
    gen_node_class(g, "default", 0);
    for (unsigned n = 1 + parts_below(&g->chance, POOLS_MAX), i = 0; i < n; i++) {
        make_pool(g, i);
    }
    for (unsigned n = parts_below(&g->chance, NODES_MAX + 1); n > 0; n--) {
        gen_node(g);
    }
    g->daemons_run = true;
    for (unsigned n = parts_below(&g->chance, 3); n > 0; n--) {
        gen_daemon(g);
    }
    for (unsigned n = 2 + parts_below(&g->chance, APPS_MAX - 1); n > 0; n--) {
        app_make_usual(&g->chance, g->n_apps, &g->apps[g->n_apps]);
        g->n_apps++;
    }
    unsigned left = pods <= PODS_MIN ? pods : PODS_MIN + parts_below(&g->chance, pods - PODS_MIN);
    while (left > 0) {
        const struct app *a = &g->apps[parts_below(&g->chance, g->n_apps)];
        unsigned some = 1 + parts_below(&g->chance, ROLLOUT_MAX);
        for (some = some < left ? some : left; some > 0; some--, left--) {
            gen_waiting_pod(g, a);
        }
    }
}
