/* test_preference.c - what a plan gives up of what pods would like: rows of worlds. */
#include "common/core/preference.h"

#include "placetest.h"

#define ZONE "topology.kubernetes.io/zone"
#define HOST "kubernetes.io/hostname"
#define WEB "labels: {app: web}"
#define TERM(key)                                                                                  \
    "podAffinityTerm: {topologyKey: " key ", labelSelector: {matchLabels: {app: web}}}"
#define NEAR(key)                                                                                  \
    "spec: {affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: "  \
    "7, " TERM(key) "}]}}}"
#define APART(key)                                                                                 \
    "spec: {affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: "        \
    "[{weight: 7, " TERM(key) "}]}}}"
#define SOFT(key, more)                                                                            \
    "spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: " key                            \
    ", whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}" more "}]}"
#define LIKES(key, value)                                                                          \
    "spec: {affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: " \
    "5, preference: {matchExpressions: [{key: " key ", operator: In, values: [" value "]}]}}]}}}"
#define ONE_ZONE "pools: [{name: main, reqs: '" ZONE " In zone-a'}]"
#define NODES "nodes: [{name: n1, zone: zone-a}, {name: n2, zone: zone-b}]"

static const struct row {
    const char *name, *world;
    const char *lost; /* "pod: rule; …" */
    enum preference_policy policy;
} rows[] = {
    {"none", "{pods: [{count: 2}]}", "", 0},
    {"node affinity met", "{pods: [{" LIKES(ZONE, "zone-b") "}]}", "", 0},
    {"node affinity that no pool meets", "{" ONE_ZONE ", pods: [{" LIKES(ZONE, "zone-b") "}]}",
     "p: preferred node affinity of weight 5: " ZONE " In [zone-b]", 0},
    {"node affinity not looked at", "{pods: [{" LIKES(ZONE, "zone-b") "}]}",
     "p: preferred node affinity of weight 5: " ZONE " In [zone-b]", PREFERENCE_IGNORE},
    {"near others", "{" NODES ", bound: [{node: n2, " WEB "}], pods: [{" NEAR(ZONE) "}]}", "", 0},
    {"near others, not looked at",
     "{" NODES ", bound: [{node: n2, " WEB "}], pods: [{" NEAR(ZONE) "}]}",
     "p: preferred pod affinity of weight 7 over " ZONE ": app In [web]", PREFERENCE_IGNORE},
    {"near others that are nowhere", "{pods: [{" NEAR(ZONE) "}]}",
     "p: preferred pod affinity of weight 7 over " ZONE ": app In [web]", 0},
    {"the first of its kind", "{pods: [{" WEB ", " NEAR(ZONE) "}]}", "", 0},
    {"pods of other namespaces are others",
     "{" NODES ", bound: [{node: n2, ns: other, " WEB "}], pods: [{" NEAR(ZONE) "}]}",
     "p: preferred pod affinity of weight 7 over " ZONE ": app In [web]", 0},
    {"apart", "{pods: [{count: 3, " WEB ", " APART(HOST) "}]}", "", 0},
    {"apart in one zone", "{" ONE_ZONE ", pods: [{count: 2, " WEB ", " APART(ZONE) "}]}",
     "p-0: preferred pod anti-affinity of weight 7 over " ZONE ": app In [web]; "
     "p-1: preferred pod anti-affinity of weight 7 over " ZONE ": app In [web]",
     0},
    {"alone is apart", "{" ONE_ZONE ", pods: [{" WEB ", " APART(ZONE) "}]}", "", 0},
    {"apart from what is bound",
     "{nodes: [{name: n1, zone: zone-a}], bound: [{node: n1, " WEB "}], pods: [{" APART(HOST) "}]}",
     "p: preferred pod anti-affinity of weight 7 over " HOST ": app In [web]", PREFERENCE_IGNORE},
    {"apart where the zone is open",
     "{nodes: [{name: n1, zone: zone-a, cpu: 100}], bound: [{node: n1, cpu: 10, " WEB
     "}], pods: [{cpu: 1900, " APART(ZONE) "}]}",
     "p: preferred pod anti-affinity of weight 7 over " ZONE ": app In [web]", PREFERENCE_IGNORE},
    {"apart, all zones but one are open",
     "{nodes: [{name: n1, zone: zone-a, cpu: 100}], bound: [{node: n1, cpu: 10, " WEB
     "}], pods: [{cpu: 1900, " APART(ZONE) "}]}",
     "", 0},
    {"soft spread met", "{pods: [{count: 3, " WEB ", " SOFT(ZONE, "") "}]}", "", 0},
    {"soft spread among the nodes that there are",
     "{" ONE_ZONE ", pods: [{count: 3, " WEB ", " SOFT(ZONE, "") "}]}", "", 0},
    {"soft spread not met",
     "{" ONE_ZONE ", nodes: [{name: n1, zone: zone-b, cpu: 10}], pods: [{count: 2, " WEB
     ", " SOFT(ZONE, "") "}]}",
     "p-0: spread over " ZONE ", maxSkew 1, ScheduleAnyway: app In [web]; "
     "p-1: spread over " ZONE ", maxSkew 1, ScheduleAnyway: app In [web]",
     0},
    {"a tainted node is no domain with Honor",
     "{" ONE_ZONE
     ", nodes: [{name: n1, zone: zone-b, taints: 'x:NoSchedule'}], pods: [{count: 2, " WEB
     ", " SOFT(ZONE, ", nodeTaintsPolicy: Honor") "}]}",
     "", 0},
    {"soft spread over hosts", "{" NODES ", pods: [{count: 2, " WEB ", " SOFT(HOST, "") "}]}", "",
     0},
    {"a taint", "{pools: [{name: main, taints: 'x=y:PreferNoSchedule'}], pods: [{}]}",
     "p: does not tolerate taint x=y:PreferNoSchedule", 0},
    {"a taint that is tolerated",
     "{pools: [{name: main, taints: 'x=y:PreferNoSchedule'}], pods: [{spec: {tolerations: [{key: "
     "x, operator: Exists}]}}]}",
     "", 0},
    {"a taint that could be avoided",
     "{pools: [{name: a, taints: 'x=y:PreferNoSchedule'}, {name: b}], pods: [{}]}", "", 0},
};

static const char *text_of(struct world *w, const struct preference_lost *v, uint32_t n)
{
    struct buf out;
    buf_init(&out, 1 << 16);
    for (uint32_t i = 0; i < n; i++) {
        buf_printf(&out, "%s%s: ", i ? "; " : "", v[i].pod->m.name);
        preference_fmt(w->f->syms, &v[i], &out);
    }
    const char *ret = arena_strdup(&w->f->a, out.p);
    buf_done(&out);
    return ret;
}

START_TEST(test_rows)
{
    const struct row *row = &rows[_i];
    static struct world w;
    const struct preference_lost *v;
    w_build(&w, row->world);
    w.f->opt.preference = row->policy;
    const struct snapshot *snap = fix_snapshot(w.f);
    struct sched *pass = sched_begin(&w.f->a, snap, &w.f->opt);
    while (!sched_step(pass, 1000000)) {
    }
    const struct sched_result *r = sched_result(pass);
    uint32_t n = preference_lost(&w.f->a, snap, r, &v);
    const char *got = text_of(&w, v, n);
    ck_assert_msg(str_eq(got, row->lost), "%s: %s\n%s", row->name, got, w_detail(&w, r));
    w_done(&w);
}
END_TEST

UNIT_MAIN("preference", UNIT_CASES(test_rows, rows))
