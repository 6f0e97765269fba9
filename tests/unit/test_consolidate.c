/* test_consolidate.c - what goes, what it is replaced by, and what stays
 * (core/disrupt/consolidate.h). */
#include "plantest.h"

#define AS_THEY_COME "pools: [{name: main, reqs: 'kubernetes.io/arch In amd64'}]\n"
#define ONE_TYPE(t)                                                                                \
    "pools: [{name: main, reqs: 'node.kubernetes.io/instance-type In " t "; "                      \
    "karpenter.sh/capacity-type In on-demand'}]\n"

/* c.large 0.10 (1900m), c.xlarge 0.20 (3900m), c.2xlarge 0.40, c.4xlarge 0.80 per hour; spot 40%
 * of that. */
#define ANY_CT                                                                                     \
    "pools: [{name: main, reqs: 'kubernetes.io/arch In amd64; karpenter.sh/capacity-type In "      \
    "reserved,on-demand'}]\n"
#define OVER_ZONES                                                                                 \
    "defaults: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: "        \
    "DoNotSchedule}]\n"

/* Two zones for everybody, a third for who tolerates it. */
#define ANY_ZONE                                                                                   \
    "pools: [{name: main, reqs: 'karpenter.sh/capacity-type In on-demand; "                        \
    "topology.kubernetes.io/zone In zone-a,zone-b'}, {name: far, taints: 'far:NoSchedule', reqs: " \
    "'karpenter.sh/capacity-type In on-demand; topology.kubernetes.io/zone In zone-c'}]\n"

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
    {"nothing is cheaper", "fleet: [{name: n1, type: c.large}]\npods: [{node: n1, cpu: 1500}]", "",
     "n1 NotCheaper"},
    {"several are replaced by one",
     "prices: [{type: c.4xlarge, usd: 0.55}]\n"
     "fleet: [{name: m, count: 4}]\npods: [{each: m, cpu: 3500}]",
     "replace m-0+m-1+m-2+m-3 > c.4xlarge on-demand", ""},
    {"but not where budgets never let them go together",
     "pools: [{name: main, budgets: [{nodes: '1'}]}]\nprices: [{type: c.2xlarge, usd: 0.3}]\n"
     "fleet: [{name: m, count: 2}]\npods: [{each: m, cpu: 3500}]",
     "", "m-0 NotCheaper, m-1 NotCheaper"},
    {"which do not keep a hint back",
     "pools: [{name: main, budgets: [{nodes: '1'}]}]\nfleet: [{name: m, count: 2}]\n"
     "pods: [{each: m, cpu: 3500}]",
     "", "m-0 NotCheaper, m-1 NotCheaper; m-0+m-1 as dear as c.2xlarge"},
    {"three are replaced by two where one would not do",
     ONE_TYPE("c.2xlarge,r.xlarge") "fleet: [{name: m, count: 3, type: c.2xlarge}]\n"
                                    "pods: [{each: m, count: 2, cpu: 1250, mem: 7500}]",
     "replace m-0+m-1+m-2 > r.xlarge on-demand + r.xlarge on-demand", ""},
    {"of a size that is cheap for what it holds there may be several",
     ONE_TYPE("c.xlarge,c.2xlarge,c.4xlarge") "prices: [{type: c.2xlarge, usd: 0.38}, {type: "
                                              "c.4xlarge, usd: 1.2}]\n"
                                              "fleet: [{name: m, count: 3, type: c.4xlarge}]\n"
                                              "pods: [{each: m, count: 4, cpu: 1200}]",
     "replace m-0+m-1+m-2 > c.2xlarge on-demand + c.2xlarge on-demand", ""},
    {"a new node is filled before the next one grows",
     ONE_TYPE("c.xlarge,c.2xlarge,c.4xlarge") "prices: [{type: c.2xlarge, usd: 0.38}, {type: "
                                              "c.4xlarge, usd: 1.2}]\nfleet: [{name: m, count: 2, "
                                              "type: c.4xlarge}]\n"
                                              "pods: [{each: m, cpu: 1200, labels: {app: db}, "
                                              "spec: {affinity: {podAntiAffinity: "
                                              "{requiredDuringSchedulingIgnoredDuringExecution: "
                                              "[{topologyKey: kubernetes.io/hostname, "
                                              "labelSelector: {matchLabels: {app: db}}}]}}}}, "
                                              "{each: m, count: 3, cpu: 1200}]",
     "replace m-0+m-1 > c.2xlarge on-demand + c.xlarge on-demand", ""},
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
     ONE_TYPE(
         "c.xlarge") "fleet: [{name: n1}, {name: n2}]\n"
                     "pods: [{node: n1, cpu: 900}, {node: n2, count: 2, cpu: 500}, {cpu: 999000}]",
     "delete n1", "n2 NotCheaper"},
    {"a pending pod has its place first, and that node is expected to be needed",
     ONE_TYPE(
         "c.xlarge") "fleet: [{name: n1}, {name: n2}]\n"
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
                          "pods: [{node: n1, cpu: 800, spec: {priority: 100000000}}, {node: n2, "
                          "cpu: 800}]",
     "delete n2", "n1 NotCheaper"},
    {"soft rules are given up rather than keeping a node",
     ONE_TYPE("c.2xlarge") "fleet: [{name: n1, type: c.2xlarge}, {name: n2, type: c.2xlarge}]\n"
                           "pods: [{node: n1, count: 9, cpu: 100, labels: {app: dns}, spec: "
                           "{affinity: {podAntiAffinity: "
                           "{preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, "
                           "podAffinityTerm: "
                           "{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: "
                           "{app: dns}}}}]}}}},\n"
                           "       {node: n2, count: 20, cpu: 100}]",
     "delete n1", "n2 NotCheaper"},
    {"hard ones are not",
     ONE_TYPE("c.xlarge") "fleet: [{name: m, count: 2}]\n"
                          "pods: [{each: m, cpu: 100, labels: {app: db}, spec: {affinity: "
                          "{podAntiAffinity: "
                          "{requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: "
                          "kubernetes.io/hostname, "
                          "labelSelector: {matchLabels: {app: db}}}]}}}}]",
     "", "m-0 NotCheaper, m-1 NotCheaper"},
    {"anti-affine pods each get a small node of their own",
     "fleet: [{name: m, count: 2, type: c.4xlarge}]\n"
     "pods: [{each: m, cpu: 100, labels: {app: db}, spec: {affinity: {podAntiAffinity: "
     "{requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, "
     "labelSelector: {matchLabels: {app: db}}}]}}}}]",
     "replace m-0 > c.large on-demand; replace m-1 > c.large on-demand", ""},
    {"a reservation with units to spare costs next to nothing",
     ANY_CT "reservations: [{id: cr-1, type: c.xlarge, units: 5}]\n"
            "fleet: [{name: n1, type: c.xlarge}]\npods: [{node: n1, cpu: 3500}]",
     "replace n1 > c.xlarge reserved", ""},
    {"no unit of it is given twice",
     ANY_CT "reservations: [{id: cr-1, type: c.xlarge, units: 2}]\n"
            "fleet: [{name: m, count: 4}]\npods: [{each: m, cpu: 3500}]",
     "replace m-0 > c.xlarge reserved; replace m-1 > c.xlarge reserved",
     "m-2 NotCheaper, m-3 NotCheaper"},
    {"nor one that a pending pod gets",
     ANY_CT "reservations: [{id: cr-1, type: c.xlarge, units: 2}]\nfleet: [{name: m, count: 3}]\n"
            "pods: [{each: m, cpu: 3500}, {name: p, cpu: 3500}]",
     "replace m-0 > c.xlarge reserved", "m-1 NotCheaper, m-2 NotCheaper"},
    {"a larger one takes several nodes",
     ANY_CT "reservations: [{id: cr-1, type: c.4xlarge, units: 1}]\n"
            "fleet: [{name: m, count: 4}]\npods: [{each: m, cpu: 3500}]",
     "replace m-0+m-1+m-2+m-3 > c.4xlarge reserved", ""},
    {"each step has a reservation of its own",
     ANY_CT
     "reservations: [{id: cr-1, type: c.xlarge}, {id: cr-2, type: c.2xlarge, zone: zone-b}]\n"
     "fleet: [{name: n1}, {name: n2}, {name: n3, zone: zone-b}]\npods: [{node: n1, cpu: 3500}, "
     "{node: n2, cpu: 3500}, {node: n3, cpu: 3500, spec: {nodeSelector: "
     "{topology.kubernetes.io/zone: zone-b}}}]",
     "replace n1+n3 > c.2xlarge reserved; replace n2 > c.xlarge reserved", ""},
    {"spreads by default hold too",
     OVER_ZONES ONE_TYPE("c.xlarge") "fleet: [{name: a, zone: zone-a}, {name: b, zone: zone-b}, "
                                     "{name: c, zone: zone-c}]\n"
                                     "pods: [{each: a, cpu: 100, owner: w}, {each: b, cpu: 100, "
                                     "owner: w}, {each: c, cpu: 100, owner: w}]",
     "", "a NotCheaper, b NotCheaper, c NotCheaper"},
    {"each is about one workload",
     OVER_ZONES ONE_TYPE("c.xlarge") "fleet: [{name: a, zone: zone-a}, {name: b, zone: zone-b}, "
                                     "{name: c, zone: zone-c}]\n"
                                     "pods: [{each: a, cpu: 100, owner: x}, {each: b, cpu: 100, "
                                     "owner: y}, {each: c, cpu: 100, owner: z}]",
     "delete a; delete b", "c NotCheaper"},
    {"a node that was only thought of in another zone is forgotten",
     ANY_ZONE
     "fleet: [{name: t, pool: far, type: c.4xlarge}, {name: n1, type: c.2xlarge}, {name: n2, type: "
     "c.2xlarge, zone: zone-b}]\n"
     "pods: [{node: t, cpu: 15500, spec: {nodeSelector: {karpenter.sh/nodepool: far}, tolerations: "
     "[{operator: Exists}]}}, {node: n1, count: "
     "2, cpu: 800, labels: {app: w}, spec: &s {topologySpreadConstraints: [{maxSkew: 1, "
     "topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: "
     "{matchLabels: {app: w}}}]}}, {node: n2, count: 2, cpu: 800, labels: {app: w}, spec: *s}]",
     "replace n1 > t.large on-demand; replace n2 > t.large on-demand", "t NotCheaper"},
    {"one that will be there is not",
     "options: {reasons: [Drifted]}\n" ANY_ZONE
     "fleet: [{name: t, pool: far, type: c.4xlarge, age: 9d, conditions: [Drifted]}, {name: n1, "
     "type: c.2xlarge, age: 2d, conditions: [Drifted]}, {name: n2, type: c.2xlarge, zone: "
     "zone-b}]\n"
     "pods: [{node: t, cpu: 15500, spec: {nodeSelector: {karpenter.sh/nodepool: far}, tolerations: "
     "[{operator: Exists}]}}, {node: n1, count: "
     "2, cpu: 800, labels: {app: w}, spec: &s {topologySpreadConstraints: [{maxSkew: 1, "
     "topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: "
     "{matchLabels: {app: w}}}]}}, {node: n2, count: 2, cpu: 800, labels: {app: w}, spec: *s}]",
     "replace t > c.4xlarge on-demand", "n1 PodsDoNotFit, n2 Policy"},
    {"claims of one trial are not those of another one",
     "pools: [{name: main, reqs: 'karpenter.sh/capacity-type In on-demand; "
     "node.kubernetes.io/instance-type In c.xlarge,c.2xlarge; topology.kubernetes.io/zone In "
     "zone-a,zone-b'}, {name: far, taints: 'far:NoSchedule', reqs: 'karpenter.sh/capacity-type In "
     "on-demand; node.kubernetes.io/instance-type In c.2xlarge; topology.kubernetes.io/zone In "
     "zone-c'}]\n"
     "fleet: [{name: t, pool: far, type: c.4xlarge, cordoned: true}, {name: n1}, {name: n2, zone: "
     "zone-b}]\n"
     "pods: [{node: t, count: 7, cpu: 1000, spec: {priority: 100000000, nodeSelector: "
     "{karpenter.sh/nodepool: far}, tolerations: [{operator: Exists}]}}, {node: t, cpu: 1000, "
     "labels: {app: w}, spec: &s {topologySpreadConstraints: [{maxSkew: 1, topologyKey: "
     "topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: "
     "{app: w}}}]}}, {node: n1, count: 2, cpu: 1000, labels: {app: w}, spec: *s}, {node: n2, "
     "count: 2, cpu: 1000, labels: {app: w}, spec: *s}]",
     "", "t PodsDoNotFit, n1 NotCheaper, n2 NotCheaper"},
    {"new nodes of different steps are different hosts",
     "fleet: [{name: m, count: 2, type: c.4xlarge}]\n"
     "pods: [{each: m, count: 2, cpu: 100, labels: {app: w}, spec: {topologySpreadConstraints: "
     "[{maxSkew: 2, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, "
     "labelSelector: {matchLabels: {app: w}}}]}}]",
     "replace m-0 > c.large on-demand; replace m-1 > c.large on-demand", ""},
    {"a spread over zones holds",
     ONE_TYPE("c.xlarge") "fleet: [{name: a, zone: zone-a}, {name: b, zone: zone-b}, "
                          "{name: c, zone: zone-c}]\n"
                          "pods: [{each: a, cpu: 100, labels: {app: w}, spec: &s "
                          "{topologySpreadConstraints: [{maxSkew: "
                          "1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: "
                          "DoNotSchedule, "
                          "labelSelector: {matchLabels: {app: w}}}]}},\n"
                          "  {each: b, cpu: 100, labels: {app: w}, spec: *s}, {each: c, cpu: 100, "
                          "labels: {app: w}, "
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
     "replace n1+n2 > c.large on-demand", ""},
    {"the plan is cut short when asked to be",
     "options: {maxSteps: 2}\nfleet: [{name: m, count: 4}]", "empty m-0; empty m-1",
     "m-2 Consolidatable, m-3 Consolidatable"},
};

/* Prices: which replacement is allowed, and as what it may be launched. */
static const struct plan_row price_rows[] = {
    {"spot dearer than on-demand in one zone: the cheap zone or nothing",
     "pools: [{name: main, reqs: 'node.kubernetes.io/instance-type In c.xlarge'}]\n"
     "prices: [{type: c.xlarge, ct: spot, zone: zone-a, usd: 0.22}, "
     "{type: c.xlarge, ct: spot, zone: zone-b, usd: 0.08}, "
     "{type: c.xlarge, ct: spot, zone: zone-c, usd: -1}]\n"
     "fleet: [{name: n1}]\npods: [{node: n1, cpu: 3000}]",
     "replace n1 > c.xlarge spot", ""},
    {"accelerators replace nothing where something plain will do",
     ONE_TYPE("c.4xlarge,g.xlarge") "prices: [{type: g.xlarge, usd: 0.1}]\n"
                                    "fleet: [{name: n1, type: c.4xlarge}]\n"
                                    "pods: [{node: n1, cpu: 1500}]",
     "", "n1 NotCheaper"},
    {"no zone is cheap",
     "pools: [{name: main, reqs: 'node.kubernetes.io/instance-type In c.xlarge'}]\n"
     "prices: [{type: c.xlarge, ct: spot, usd: 0.21}]\n"
     "fleet: [{name: n1}]\npods: [{node: n1, cpu: 3000}]",
     "", "n1 NotCheaper"},
    {"a node of unknown price is not replaced",
     "prices: [{type: c.4xlarge, zone: zone-a, usd: -1}]\n"
     "fleet: [{name: n1, type: c.4xlarge}]\npods: [{node: n1, cpu: 900}]",
     "", "n1 UnknownPrice"},
    {"but deleted it is",
     "prices: [{type: c.4xlarge, zone: zone-a, usd: -1}]\n"
     "fleet: [{name: n1, type: c.4xlarge}, {name: n2, type: c.large}]\n"
     "pods: [{node: n1, cpu: 900}, {node: n2, cpu: 900}]",
     "delete n2", "n1 UnknownPrice"},
    {"an unknown type neither",
     "fleet: [{name: n1, type: unknown.type}, {name: n2}]\npods: [{node: n1, cpu: 900}]",
     "empty n2", "n1 UnknownType"},
    {"old prices replace nothing",
     "facts: {pricesAge: 8d}\nfleet: [{name: n1, type: c.4xlarge}]\npods: [{node: n1, cpu: 900}]",
     "", "n1 PriceStale"},
    {"younger ones do",
     "facts: {pricesAge: 6d}\nfleet: [{name: n1, type: c.4xlarge}]\npods: [{node: n1, cpu: 900}]",
     "replace n1 > c.large on-demand", ""},
    {"old prices delete",
     ONE_TYPE("c.xlarge") "facts: {pricesAge: 8d}\nfleet: [{name: m, count: 2}]\n"
                          "pods: [{each: m, cpu: 900}]",
     "delete m-0", "m-1 PriceStale"},
    {"spot is not replaced by spot unless that is switched on",
     AS_THEY_COME "fleet: [{name: n1, type: c.4xlarge, ct: spot}]\npods: [{node: n1, cpu: 900}]",
     "", "n1 SpotToSpot"},
    {"nor with too few cheaper types",
     AS_THEY_COME "options: {spotToSpot: true, spotMinTypes: 5}\n"
                  "fleet: [{name: n1, type: c.4xlarge, ct: spot}]\npods: [{node: n1, cpu: 900}]",
     "", "n1 SpotToSpot"},
    {"with enough of them it is",
     AS_THEY_COME "options: {spotToSpot: true, spotMinTypes: 4}\n"
                  "fleet: [{name: n1, type: c.4xlarge, ct: spot}]\npods: [{node: n1, cpu: 900}]",
     "replace n1 > c.large spot", ""},
    {"several spot nodes need no number of types",
     AS_THEY_COME "options: {spotToSpot: true}\nprices: [{type: c.2xlarge, ct: spot, usd: 0.1}]\n"
                  "fleet: [{name: m, count: 2, ct: spot}]\npods: [{each: m, cpu: 3500}]",
     "replace m-0+m-1 > c.2xlarge spot", ""},
    {"spot can be deleted always",
     AS_THEY_COME "fleet: [{name: m, count: 2, ct: spot}]\npods: [{each: m, cpu: 900}]",
     "delete m-0", "m-1 SpotToSpot"},
    {"savings smaller than the trouble",
     ONE_TYPE("c.xlarge,r.xlarge") "options: {minSaving: '10%'}\n"
                                   "prices: [{type: c.xlarge, usd: 0.189}, {type: r.xlarge, usd: "
                                   "0.192}]\n"
                                   "fleet: [{name: n1, type: r.xlarge}]\npods: [{node: n1, count: "
                                   "20, cpu: 100}]",
     "", "n1 TooSmallSaving"},
    {"without the option they are taken",
     ONE_TYPE("c.xlarge,r.xlarge") "prices: [{type: c.xlarge, usd: 0.189}, {type: r.xlarge, usd: "
                                   "0.192}]\n"
                                   "fleet: [{name: n1, type: r.xlarge}]\npods: [{node: n1, count: "
                                   "20, cpu: 100}]",
     "replace n1 > c.xlarge on-demand", ""},
    {"the same price for one node fewer is no saving",
     ONE_TYPE("c.2xlarge,c.4xlarge") "fleet: [{name: m, count: 2, type: c.2xlarge}]\n"
                                     "pods: [{each: m, cpu: 7000}]",
     "", "m-0 NotCheaper, m-1 NotCheaper; m-0+m-1 as dear as c.4xlarge"},
    {"an amount is asked for",
     "options: {minSaving: '0.15'}\nfleet: [{name: n1}]\npods: [{node: n1, cpu: 900}]", "",
     "n1 TooSmallSaving"},
    {"the pool's wish counts",
     "pools: [{name: main, reqs: 'kubernetes.io/arch In amd64', annotations: "
     "{karp.dev/min-saving: '0.15'}}]\n"
     "fleet: [{name: n1}]\npods: [{node: n1, cpu: 900}]",
     "replace n1 > c.large spot", ""},
    {"a wish that cannot be read asks for too much",
     "pools: [{name: main, annotations: {karp.dev/min-saving: a lot}}]\n"
     "fleet: [{name: n1, type: c.4xlarge}, {name: n2}]\npods: [{node: n1, cpu: 900}]",
     "empty n2", "n1 TooSmallSaving"},
    {"Balanced: a small part of the cost for much disruption is not worth it",
     "pools: [{name: main, policy: Balanced}]\n"
     "fleet: [{name: n1}, {name: big, type: c.8xlarge}]\n"
     "pods: [{node: n1, count: 9, cpu: 100}, {node: big, cpu: 31000}]",
     "", "big NotCheaper, n1 NotBalanced"},
    {"Balanced: little disruption for a good part is",
     "pools: [{name: main, policy: Balanced}]\n"
     "fleet: [{name: n1, type: c.4xlarge}, {name: n2, type: c.4xlarge}]\n"
     "pods: [{node: n1, cpu: 900}, {node: n2, cpu: 15500}]",
     "replace n1 > c.large on-demand", "n2 NotCheaper"},
    {"back to the heavier pool at the same price",
     "pools: [{name: heavy, weight: 100, reqs: 'kubernetes.io/arch In amd64; "
     "karpenter.sh/capacity-type In on-demand'}, {name: light, weight: 10}]\n"
     "options: {returnToWeight: true}\n"
     "fleet: [{name: n1, pool: light}]\npods: [{node: n1, cpu: 3000}]",
     "replace n1 > heavy/c.xlarge on-demand", ""},
    {"not without being asked",
     "pools: [{name: heavy, weight: 100}, {name: light, weight: 10}]\n"
     "fleet: [{name: n1, pool: light}]\npods: [{node: n1, cpu: 3000}]",
     "", "n1 NotCheaper"},
    {"nor at a higher price",
     "pools: [{name: heavy, weight: 100, reqs: 'node.kubernetes.io/instance-type In c.2xlarge; "
     "karpenter.sh/capacity-type In on-demand'}, {name: light, weight: 10}]\n"
     "options: {returnToWeight: true}\n"
     "fleet: [{name: n1, pool: light}]\npods: [{node: n1, cpu: 3000}]",
     "", "n1 NotCheaper"},
};

START_TEST(test_prices)
{
    plan_row(&price_rows[_i]);
}
END_TEST

/* Gates, budgets and what holds steps back. */
static const struct plan_row gate_rows[] = {
    {"six nodes, one code each",
     "pools: [{name: main, reqs: 'node.kubernetes.io/instance-type In c.xlarge; "
     "karpenter.sh/capacity-type In on-demand', after: 1h}, {name: slow, policy: "
     "WhenEmpty, "
     "reqs: 'node.kubernetes.io/instance-type In c.xlarge; "
     "karpenter.sh/capacity-type In "
     "on-demand'}]\n"
     "facts: {nominated: e-nominated}\n"
     "fleet: [{name: a-pdb}, {name: b-protected}, {name: c-slow, pool: slow}, "
     "{name: d-young, "
     "quiet: 48m}, {name: e-nominated}, {name: f-dear}]\n"
     "pods: [{node: a-pdb, count: 2, cpu: 1500, labels: {app: db}}, {node: "
     "b-protected, cpu: "
     "3000, "
     "annotations: {karpenter.sh/do-not-disrupt: 'true'}}, {node: c-slow, cpu: "
     "3000}, {node: "
     "d-young, cpu: 3000}, {node: e-nominated, cpu: 3000}, {node: f-dear, cpu: "
     "3000}]\n"
     "pdbs: [{name: db, match: {app: db}, min: 1, allowed: 0}]",
     "",
     "a-pdb PDB, b-protected DoNotDisruptPod, d-young Waiting, e-nominated Nominated, "
     "f-dear NotCheaper, c-slow Policy"},
    {"a hold keeps no node out of the plan, but the step back",
     "facts: {held: n1}\nfleet: [{name: n1}, {name: n2}]", "empty n1 held Held; empty n2", ""},
    {"a denial and an open request likewise",
     "facts: {denied: n1, pending: n2}\nfleet: [{name: n1}, {name: n2}]",
     "empty n1 held Denied; empty n2 held ApprovalPending", ""},
    {"budgets are used up in the order of steps",
     "pools: [{name: main, budgets: [{nodes: '2'}]}]\nfleet: [{name: m, count: 4}]",
     "empty m-0; empty m-1; empty m-2 held Budget; empty m-3 held Budget", ""},
    {"what leaves already uses them up",
     "pools: [{name: main, budgets: [{nodes: '2'}]}]\n"
     "fleet: [{name: m, count: 3}, {name: z, notReady: true}]",
     "empty m-0; empty m-1 held Budget; empty m-2 held Budget; empty z held Budget", ""},
    {"budgets can be left aside",
     "options: {ignoreBudgets: true}\npools: [{name: main, budgets: [{nodes: '0'}]}]\n"
     "fleet: [{name: n1}]",
     "empty n1", ""},
    {"a budget of another reason does not matter",
     "pools: [{name: main, budgets: [{nodes: '0', reason: Drifted}]}]\nfleet: [{name: n1}]",
     "empty n1", ""},
    {"no set is larger than budgets ever allow",
     "pools: [{name: main, budgets: [{nodes: '50%'}]}]\nprices: [{type: c.2xlarge, usd: 0.3}, "
     "{type: c.4xlarge, usd: 0.55}]\n"
     "fleet: [{name: m, count: 4}]\npods: [{each: m, cpu: 3500}]",
     "replace m-0+m-1 > c.2xlarge on-demand; replace m-2+m-3 > c.2xlarge on-demand held Budget",
     ""},
    {"the youngest nodes stay for a while",
     "options: {minNodeLife: 15m}\n"
     "fleet: [{name: n1, age: 10m}, {name: n2, age: 1h}]\n"
     "pods: [{node: n1, cpu: 300}, {node: n2, cpu: 900}]",
     "delete n2", "n1 ChurnGuard"},
    {"unless they are empty", "options: {minNodeLife: 15m}\nfleet: [{name: n1, age: 10m}]",
     "empty n1", ""},
    {"pods that were moved a while ago are left alone",
     "facts: {churn: 60}\nfleet: [{name: n1, type: c.4xlarge}]\npods: [{node: n1, cpu: 900}]", "",
     "n1 ChurnGuard"},
    {"nothing goes while launches fail", "facts: {launchesFailing: true}\nfleet: [{name: n1}]", "",
     "n1 LaunchesFailing"},
    {"nor while clocks differ", "facts: {clockSkew: true}\nfleet: [{name: n1}]", "",
     "n1 ClockSkew"},
    {"a static pool is left alone", "pools: [{name: main, static: true}]\nfleet: [{name: n1}]", "",
     "n1 Policy"},
    {"reasons that were not asked for",
     "options: {reasons: [Empty]}\nfleet: [{name: n1, type: c.4xlarge}, {name: n2}]\n"
     "pods: [{node: n1, cpu: 900}]",
     "empty n2", "n1 Policy"},
    {"limits count old and new node for a while",
     "pools: [{name: main, cpuLimit: 17000}]\nfleet: [{name: n1, type: c.4xlarge}]\n"
     "pods: [{node: n1, cpu: 1000}]",
     "", "n1 PodsDoNotFit"},
    {"with a little room it goes",
     "pools: [{name: main, cpuLimit: 18000}]\nfleet: [{name: n1, type: c.4xlarge}]\n"
     "pods: [{node: n1, cpu: 1000}]",
     "replace n1 > c.large on-demand", ""},
};

START_TEST(test_gates)
{
    plan_row(&gate_rows[_i]);
}
END_TEST

/* Drifted nodes: any number of replacements at any price; see drift.h for what drifts. */
static const struct plan_row drift_rows[] = {
    {"only when asked for",
     "fleet: [{name: n1, type: c.large, conditions: [Drifted]}]\npods: [{node: n1, cpu: 1500}]", "",
     "n1 NotCheaper"},
    {"replaced at the same price",
     "options: {reasons: [Drifted]}\nfleet: [{name: n1, type: c.large, conditions: [Drifted]}]\n"
     "pods: [{node: n1, cpu: 1500}]",
     "replace n1 > c.large on-demand", ""},
    {"the rest is not asked about",
     "options: {reasons: [Drifted]}\nfleet: [{name: n1, type: c.4xlarge}]\n"
     "pods: [{node: n1, cpu: 1500}]",
     "", "n1 Policy"},
    {"empty ones first, and with consolidation off",
     "options: {reasons: [Drifted]}\npools: [{name: main, after: Never}]\n"
     "fleet: [{name: a, type: c.large, conditions: [Drifted]}, {name: b, conditions: [Drifted]}]\n"
     "pods: [{node: a, cpu: 1500}]",
     "delete b; replace a > c.large on-demand", ""},
    {"one for two if that is what it takes",
     ONE_TYPE("c.large") "options: {reasons: [Drifted]}\n"
                         "fleet: [{name: n1, conditions: [Drifted]}]\npods: [{node: n1, count: 2, "
                         "cpu: 1500}]",
     "replace n1 > c.large on-demand + c.large on-demand", ""},
    {"a protected pod keeps it",
     "options: {reasons: [Drifted]}\nfleet: [{name: n1, conditions: [Drifted]}]\n"
     "pods: [{node: n1, annotations: {karpenter.sh/do-not-disrupt: 'true'}}]",
     "", "n1 DoNotDisruptPod"},
    {"unless its end has a deadline",
     "options: {reasons: [Drifted]}\nfleet: [{name: n1, grace: 1h, conditions: [Drifted]}]\n"
     "pods: [{node: n1, cpu: 500, annotations: {karpenter.sh/do-not-disrupt: 'true'}}]",
     "replace n1 > c.large on-demand", ""},
    {"asked for by a person",
     "options: {reasons: [Drifted]}\n"
     "fleet: [{name: n1, annotations: {karp.dev/replace: '2100-01-01T00:00:00Z'}}]\n"
     "pods: [{node: n1, cpu: 500}]",
     "replace n1 > c.large on-demand", ""},
    {"our own findings do not count where another controller is in charge",
     "options: {reasons: [Drifted], upstream: true}\n"
     "fleet: [{name: n1, annotations: {karp.dev/replace: '2100-01-01T00:00:00Z'}}]\n"
     "pods: [{node: n1, cpu: 500}]",
     "", "n1 Policy"},
};

START_TEST(test_drift)
{
    plan_row(&drift_rows[_i]);
}
END_TEST

START_TEST(test_plans)
{
    plan_row(&rows[_i]);
}
END_TEST

UNIT_MAIN("consolidate", UNIT_CASES(test_plans, rows), UNIT_CASES(test_prices, price_rows),
          UNIT_CASES(test_gates, gate_rows), UNIT_CASES(test_drift, drift_rows))
