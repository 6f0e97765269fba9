/* test_bound.c - what new capacity costs at least: rows with the optimum worked out by hand. */
#include "common/core/improve/bound.h"

#include "placetest.h"

#define ANTI                                                                                       \
    "labels: {app: w}, spec: {affinity: {podAntiAffinity: "                                        \
    "{requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, "     \
    "labelSelector: {matchLabels: {app: w}}}]}}}"
#define SPREAD_HOST                                                                                \
    "labels: {app: w}, spec: {topologySpreadConstraints: [{maxSkew: 2, topologyKey: "              \
    "kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: "      \
    "{app: w}}}]}"
#define LARGE "{name: main, reqs: 'node.kubernetes.io/instance-type In c.large'}"

/* Prices are spot: $0.02 per vCPU of c, $0.016 of t, $0.104 for r.xlarge. A type has 100m less than
 * its vCPUs, and 15/16 of its memory. */
static const struct row {
    const char *name, *world;
    int64_t at_least, at_most; /* millionths of a dollar; at_most is what the best plan costs */
} rows[] = {
    {"nothing to launch", "{}", 0, 0},
    {"one pod costs a whole node", "{pods: [{cpu: 1900}]}", 32000, 32000},
    {"of one type", "{pools: [" LARGE "], pods: [{cpu: 100}]}", 40000, 40000},
    {"full nodes of one type", "{pools: [" LARGE "], pods: [{cpu: 950, count: 20}]}", 399999,
     400000},
    {"no use of the rest of a node", "{pools: [" LARGE "], pods: [{cpu: 1000, count: 19}]}", 399999,
     760000},
    {"on different hosts", "{pools: [" LARGE "], pods: [{cpu: 100, count: 10, " ANTI "}]}", 399999,
     400000},
    {"two on a host", "{pools: [" LARGE "], pods: [{cpu: 100, count: 10, " SPREAD_HOST "}]}",
     199999, 200000},
    {"hosts and cpu together",
     "{pools: [" LARGE "], pods: [{cpu: 100, count: 10, " ANTI
     "}, {cpu: 1800, count: 10, name: o}]}",
     399000, 400000},
    {"only what is bound to other hosts counts as such",
     "{pools: [" LARGE "], pods: [{cpu: 100, count: 5, " ANTI "}, {cpu: 100, count: 5, name: o}]}",
     199999, 200000},
    {"the dearest pod",
     "{pods: [{cpu: 100}, {cpu: 100, name: g, spec: {nodeSelector: "
     "{node.kubernetes.io/instance-type: g.xlarge}}}]}",
     360000, 360000},
    {"two kinds that cannot share",
     "{pods: [{cpu: 1900, count: 9, spec: {nodeSelector: {kubernetes.io/arch: arm64}}}, "
     "{cpu: 1900, count: 9, name: o, spec: {nodeSelector: {kubernetes.io/arch: amd64}}}]}",
     600000, 648000},
    {"what fits on nodes that exist costs nothing",
     "{nodes: [{name: n1, zone: zone-a}], pods: [{cpu: 3900, count: 1}]}", 0, 0},
    {"a preference makes nothing dearer",
     "{pods: [{cpu: 1900, spec: {affinity: {nodeAffinity: "
     "{preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: "
     "{matchExpressions: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]}}]}}}}]}",
     32000, 32000},
};

START_TEST(test_rows)
{
    const struct row *row = &rows[_i];
    static struct world w;
    w_build(&w, row->world);
    int64_t bound = bound_new_capacity_pusd_h(fix_pass(w.f, 1000000));
    ck_assert_msg(bound >= row->at_least * 1000000 && bound <= row->at_most * 1000000,
                  "%s: %lld is not in [%lld, %lld]", row->name, (long long)(bound / 1000000),
                  (long long)row->at_least, (long long)row->at_most);
    w_done(&w);
}
END_TEST

UNIT_MAIN("bound", UNIT_CASES(test_rows, rows))
