/* test_consolidate.c - what goes, what it is replaced by, and what stays (core/consolidate.h). */
#include "plantest.h"

#define AS_THEY_COME "pools: [{name: main, reqs: 'kubernetes.io/arch In amd64'}]\n"
#define ONE_TYPE(t)                                                                                \
    "pools: [{name: main, reqs: 'node.kubernetes.io/instance-type In " t "; "                      \
    "karpenter.sh/capacity-type In on-demand'}]\n"

/* c.large 0.10 (1900m), c.xlarge 0.20 (3900m), c.2xlarge 0.40, c.4xlarge 0.80 per hour; spot 40%
 * of that. */
static const struct plan_row rows[] = {
    {"nothing", "{}", "", ""},
    {"an empty node goes", "fleet: [{name: n1}]", "empty n1", ""},
    {"daemons do not keep a node", "fleet: [{name: n1}]\npods: [{node: n1, kind: DaemonSet}]",
     "empty n1", ""},
    {"WhenEmpty removes empty nodes only",
     "pools: [{name: main, policy: WhenEmpty}]\nfleet: [{name: n1}, {name: n2}, {name: n3}]\n"
     "pods: [{node: n1, cpu: 500}, {node: n2, cpu: 500}]",
     "empty n3", "n1 Policy, n2 Policy"},
    {"two half-empty nodes become one: the one with fewer pods goes",
     ONE_TYPE("c.xlarge") "fleet: [{name: n1}, {name: n2}]\n"
     "pods: [{node: n1, count: 3, cpu: 500}, {node: n2, cpu: 500}]",
     "delete n2", "n1 NotCheaper"},
    {"a node too large for its pods is replaced",
     "fleet: [{name: n1, type: c.4xlarge}]\npods: [{node: n1, cpu: 1500}]",
     "replace n1 > c.large on-demand", ""},
    {"on-demand is replaced by spot of its own size",
     AS_THEY_COME "fleet: [{name: n1, type: c.large}]\npods: [{node: n1, cpu: 1500}]",
     "replace n1 > c.large spot", ""},
    {"nothing is cheaper",
     "fleet: [{name: n1, type: c.large}]\npods: [{node: n1, cpu: 1500}]", "", "n1 NotCheaper"},
    {"several are replaced by one",
     "prices: [{type: c.4xlarge, usd: 0.55}]\n"
     "fleet: [{name: m, count: 4}]\npods: [{each: m, cpu: 3500}]",
     "replace m-0+m-1+m-2+m-3 > c.4xlarge on-demand", ""},
    {"three are replaced by two where one would not do",
     ONE_TYPE("c.2xlarge,r.xlarge")
     "fleet: [{name: m, count: 3, type: c.2xlarge}]\n"
     "pods: [{each: m, count: 2, cpu: 1250, mem: 7500}]",
     "replace m-0+m-1+m-2 > r.xlarge on-demand + r.xlarge on-demand", ""},
    {"on-demand nodes are not filled up where spot would hold all",
     AS_THEY_COME "fleet: [{name: m, count: 4}]\npods: [{each: m, cpu: 900}]",
     "replace m-0+m-1+m-2+m-3 > c.xlarge spot", ""},
    {"no more nodes than leave: one for one, not two small ones for one",
     "prices: [{type: c.2xlarge, usd: 0.9}, {type: c.xlarge, usd: 0.2}]\n"
     "fleet: [{name: n1, type: c.2xlarge}]\npods: [{node: n1, count: 2, cpu: 3500}]",
     "replace n1 > c.4xlarge on-demand", ""},
    {"two cordoned nodes are not merged into one of their type",
     ONE_TYPE("c.xlarge") "fleet: [{name: m, count: 2, cordoned: true}]\n"
     "pods: [{each: m, cpu: 900}]",
     "", "m-0 NotCheaper, m-1 NotCheaper"},
    {"a pending pod nobody can place freezes nothing",
     ONE_TYPE("c.xlarge") "fleet: [{name: n1}, {name: n2}]\n"
     "pods: [{node: n1, cpu: 900}, {node: n2, count: 2, cpu: 500}, {cpu: 999000}]",
     "delete n1", "n2 NotCheaper"},
    {"a pending pod has its place first, and that node is expected to be needed",
     ONE_TYPE("c.xlarge") "fleet: [{name: n1}, {name: n2}]\n"
     "pods: [{node: n1, cpu: 2000}, {node: n2, cpu: 2000}, {name: new, cpu: 1800}]",
     "", "n1 Nominated, n2 NotCheaper"},
    {"pods are not moved to nodes that still come up",
     ONE_TYPE("c.xlarge") "fleet: [{name: n1}, {name: n2, starting: true}]\n"
     "pods: [{node: n1, cpu: 900}]",
     "", "n1 NotCheaper, n2 NotInitialized"},
    {"nor to cordoned ones",
     ONE_TYPE("c.xlarge") "fleet: [{name: n1}, {name: n2, cordoned: true}]\n"
     "pods: [{node: n1, cpu: 900}, {node: n2, cpu: 900}]",
     "delete n2", "n1 NotCheaper"},
    {"every pod moves once: a node that got pods stays",
     ONE_TYPE("c.xlarge") "fleet: [{name: m, count: 6}]\npods: [{each: m, cpu: 1200}]",
     "delete m-0; delete m-1; delete m-2; delete m-3", "m-4 NotCheaper, m-5 NotCheaper"},
    {"the young, nearly empty node goes, not the old, busy one",
     ONE_TYPE("c.xlarge") "fleet: [{name: n1, age: 9d}, {name: n2, age: 10m}]\n"
     "pods: [{node: n1, count: 20, cpu: 80}, {node: n2, count: 2, cpu: 100}]",
     "delete n2", "n1 NotCheaper"},
    {"of two nodes alike the younger goes",
     ONE_TYPE("c.xlarge") "fleet: [{name: n1, age: 9d}, {name: n2, age: 10m}]\n"
     "pods: [{node: n1, cpu: 800}, {node: n2, cpu: 800}]",
     "delete n2", "n1 NotCheaper"},
    {"pods of high priority are dear to move",
     ONE_TYPE("c.xlarge") "fleet: [{name: n1}, {name: n2}]\n"
     "pods: [{node: n1, cpu: 800, spec: {priority: 100000000}}, {node: n2, cpu: 800}]",
     "delete n2", "n1 NotCheaper"},
    {"soft rules are given up rather than keeping a node",
     ONE_TYPE("c.2xlarge") "fleet: [{name: n1, type: c.2xlarge}, {name: n2, type: c.2xlarge}]\n"
     "pods: [{node: n1, count: 9, cpu: 100, labels: {app: dns}, spec: {affinity: {podAntiAffinity: "
     "{preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, podAffinityTerm: "
     "{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: dns}}}}]}}}},\n"
     "       {node: n2, count: 20, cpu: 100}]",
     "delete n1", "n2 NotCheaper"},
    {"hard ones are not",
     ONE_TYPE("c.xlarge") "fleet: [{name: m, count: 2}]\n"
     "pods: [{each: m, cpu: 100, labels: {app: db}, spec: {affinity: {podAntiAffinity: "
     "{requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, "
     "labelSelector: {matchLabels: {app: db}}}]}}}}]",
     "", "m-0 NotCheaper, m-1 NotCheaper"},
    {"anti-affine pods each get a small node of their own",
     "fleet: [{name: m, count: 2, type: c.4xlarge}]\n"
     "pods: [{each: m, cpu: 100, labels: {app: db}, spec: {affinity: {podAntiAffinity: "
     "{requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, "
     "labelSelector: {matchLabels: {app: db}}}]}}}}]",
     "replace m-0 > c.large on-demand; replace m-1 > c.large on-demand", ""},
    {"a spread over zones holds",
     ONE_TYPE("c.xlarge") "fleet: [{name: a, zone: zone-a}, {name: b, zone: zone-b}, "
     "{name: c, zone: zone-c}]\n"
     "pods: [{each: a, cpu: 100, labels: {app: w}, spec: &s {topologySpreadConstraints: [{maxSkew: "
     "1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, "
     "labelSelector: {matchLabels: {app: w}}}]}},\n"
     "  {each: b, cpu: 100, labels: {app: w}, spec: *s}, {each: c, cpu: 100, labels: {app: w}, "
     "spec: *s}]",
     "", "a NotCheaper, b NotCheaper, c NotCheaper"},
    {"a volume keeps its pod in the zone",
     "fleet: [{name: n1, zone: zone-a, type: c.2xlarge}, {name: n2, zone: zone-b, type: c.large}]\n"
     "pods: [{node: n1, cpu: 500, spec: {volumes: [{name: v, persistentVolumeClaim: {claimName: "
     "data}}]}}, {node: n2, cpu: 500}]\n"
     "objects: [{kind: PersistentVolumeClaim, metadata: {name: data, namespace: default, "
     "annotations: {pv.kubernetes.io/bind-completed: 'yes'}}, spec: {volumeName: v}, status: "
     "{phase: Bound}},\n {kind: PersistentVolume, metadata: {name: v}, spec: {csi: {driver: "
     "ebs.csi.aws.com, volumeHandle: vol-1}, nodeAffinity: {required: {nodeSelectorTerms: "
     "[{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: "
     "[zone-a]}]}]}}}}]",
     "delete n2", "n1 PodsDoNotFit"},
    {"the plan is cut short when asked to be",
     "options: {maxSteps: 2}\nfleet: [{name: m, count: 4}]", "empty m-0; empty m-1",
     "m-2 Consolidatable, m-3 Consolidatable"},
};

START_TEST(test_plans)
{
    plan_row(&rows[_i]);
}
END_TEST

UNIT_MAIN("consolidate", UNIT_CASES(test_plans, rows))
