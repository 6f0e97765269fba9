/* Topology spread: rows of worlds and what becomes of them. */
#include "placetest.h"

#define ZONE "topology.kubernetes.io/zone"
#define HOST "kubernetes.io/hostname"
#define WEB "labels: {app: web}"
#define SEL "labelSelector: {matchLabels: {app: web}}"
#define SPREAD(key, more)                                                                          \
    "topologySpreadConstraints: [{maxSkew: 1, topologyKey: " key                                   \
    ", whenUnsatisfiable: DoNotSchedule, " SEL more "}]"
#define SOFT(key)                                                                                  \
    "topologySpreadConstraints: [{maxSkew: 1, topologyKey: " key                                   \
    ", whenUnsatisfiable: ScheduleAnyway, " SEL "}]"
#define NODE(name, zone) "{name: " name ", zone: zone-" zone "}"

/* Default constraints over zones, and over hosts. */
#define DEFAULT(key, when)                                                                         \
    "defaults: [{maxSkew: 1, topologyKey: " key ", whenUnsatisfiable: " when "}]"
#define DEFAULTS DEFAULT(ZONE, "DoNotSchedule")

#define SERVICE(name, ns, selector)                                                                \
    "objects: [{kind: Service, metadata: {name: " name ", namespace: " ns                          \
    "}, spec: {selector: " selector "}}]"

static const struct place_row rows[] = {
    {"default constraints", "{" DEFAULTS ", pods: [{count: 6, owner: rs}]}",
     "a=2 b=2 c=2 | 3 claims", NULL, 0},
    {"default constraints: each owner by itself",
     "{" DEFAULTS ", pods: [{count: 3, owner: rs}, {name: q, count: 3, owner: rs2}]}",
     "a=2 b=2 c=2 | 3 claims", NULL, 0},
    {"default constraints: what is bound of the owner counts, of others not",
     "{" DEFAULTS ", nodes: [" NODE("n1", "a") "],"
                                               " bound: [{node: n1, owner: rs}, {node: n1, owner: "
                                               "rs2, count: 5}, {node: n1, count: 5}],"
                                               " pods: [{count: 2, owner: rs, cpu: 3950}]}",
     "b=1 c=1 | 2 claims", NULL, 0},
    {"default constraints: not for pods of nobody", "{" DEFAULTS ", pods: [{count: 6}]}",
     "?=6 | 1 claims", NULL, 0},
    {"default constraints: for pods of nobody that a Service selects",
     "{" DEFAULTS ", " SERVICE("web", "default", "{app: web}") ", pods: [{count: 6, " WEB "}]}",
     "a=2 b=2 c=2 | 3 claims", NULL, 0},
    {"default constraints: a Service of another namespace selects nobody",
     "{" DEFAULTS ", " SERVICE("web", "other", "{app: web}") ", pods: [{count: 6, " WEB "}]}",
     "?=6 | 1 claims", NULL, 0},
    {"default constraints: nor does one without a selector",
     "{" DEFAULTS
     ", objects: [{kind: Service, metadata: {name: web, namespace: default}, spec: {}},"
     " {kind: Service, metadata: {name: all, namespace: default}, spec: {selector: {}}}],"
     " pods: [{count: 6, " WEB "}]}",
     "?=6 | 1 claims", NULL, 0},
    {"default constraints: nor does one that asks for more than the pod has",
     "{" DEFAULTS
     ", " SERVICE("web", "default", "{app: web, tier: front}") ", pods: [{count: 6, " WEB "}]}",
     "?=6 | 1 claims", NULL, 0},
    {"default constraints: what a Service selects counts, whoever owns it",
     "{" DEFAULTS ", " SERVICE("web", "default", "{app: web}") ", nodes: [" NODE(
         "n1", "a") "],"
                    " bound: [{node: n1, owner: rs, count: 2, " WEB "}], pods: [{count: 2, " WEB
                    ", cpu: 3950}]}",
     "b=1 c=1 | 2 claims", NULL, 0},
    {"default constraints: of several Services all selectors count",
     "{" DEFAULTS ", objects: [{kind: Service, metadata: {name: web, namespace: default},"
     " spec: {selector: {app: web}}}, {kind: Service, metadata: {name: v2, namespace: default},"
     " spec: {selector: {v: '2', app: web}}}, {kind: Service, metadata: {name: v1, namespace:"
     " default}, spec: {selector: {v: '1'}}}], nodes: [" NODE("n1", "a") ", " NODE(
         "n2",
         "b") "],"
              " bound: [{node: n1, count: 2, labels: {app: web, v: '2'}}, {node: n2, count: 5, " WEB
              "}],"
              " pods: [{count: 2, labels: {app: web, v: '2'}, cpu: 3950}]}",
     "b=1 c=1 | 1 claims | 1 on nodes", NULL, 0},
    {"default constraints: of an owner's pods those that the Service selects",
     "{" DEFAULTS ", " SERVICE("web", "default", "{app: web}") ", nodes: [" NODE(
         "n1", "a") "],"
                    " bound: [{node: n1, owner: rs, count: 4, labels: {app: old}}],"
                    " pods: [{count: 3, owner: rs, " WEB "}]}",
     "a=1 b=1 c=1 | 2 claims | 1 on nodes", NULL, 0},
    {"default constraints: of what a Service selects those of the owner",
     "{" DEFAULTS ", " SERVICE("web", "default", "{app: web}") ", nodes: [" NODE(
         "n1", "a") "],"
                    " bound: [{node: n1, owner: rs2, count: 4, " WEB "}, {node: n1, owner: rs, " WEB
                    "}],"
                    " pods: [{count: 2, owner: rs, " WEB ", cpu: 3950}]}",
     "b=1 c=1 | 2 claims", NULL, 0},
    {"default constraints: not for pods with constraints of their own",
     "{" DEFAULTS ", pods: [{count: 6, owner: rs, " WEB ", spec: {" SOFT(HOST) "}}]}",
     "?=6 | 6 claims", NULL, 0},
    {"default constraints that cannot be met",
     "{" DEFAULTS ", pools: [{name: main, reqs: '" ZONE " In zone-a'}],"
     " nodes: [{name: n1, zone: zone-b, taints: 'x:NoSchedule'}], pods: [{count: 2, owner: rs}]}",
     "a=1 | 1 claims | TopologySpread 1",
     "topology spread cannot be met: over topology.kubernetes.io/zone, maxSkew 1, the emptiest of "
     "2 has 0 of its workload",
     0},
    {"soft default constraints are given up",
     "{" DEFAULT(ZONE, "ScheduleAnyway") ", pools: [{name: main, reqs: '" ZONE " In zone-a'}],"
                                         " nodes: [{name: n1, zone: zone-b, taints: "
                                         "'x:NoSchedule'}], pods: [{count: 2, owner: rs}]}",
     "a=2 | 1 claims", NULL, 0},
    {"soft default constraints are met where they can be",
     "{" DEFAULT(ZONE, "ScheduleAnyway") ", pods: [{count: 3, owner: rs}]}",
     "a=1 b=1 c=1 | 3 claims", NULL, 0},
    {"soft default constraints are left out with Ignore",
     "{" DEFAULT(HOST, "ScheduleAnyway") ", pods: [{count: 3, owner: rs}]}", "?=3 | 1 claims", NULL,
     PREFERENCE_IGNORE},
    {"default constraints over hosts",
     "{" DEFAULT(HOST, "DoNotSchedule") ", pods: [{count: 3, owner: rs}]}", "?=3 | 3 claims", NULL,
     0},
    {"zones in balance", "{pods: [{count: 6, " WEB ", spec: {" SPREAD(ZONE, "") "}}]}",
     "a=2 b=2 c=2 | 3 claims", NULL, 0},
    {"maxSkew 1 and 4 pods", "{pods: [{count: 4, " WEB ", spec: {" SPREAD(ZONE, "") "}}]}",
     "a=2 b=1 c=1 | 3 claims", NULL, 0},
    {"what is bound counts",
     "{nodes: [" NODE("n1", "a") "], bound: [{node: n1, count: 2, " WEB "}],"
                                 " pods: [{count: 2, " WEB
                                 ", cpu: 3950, spec: {" SPREAD(ZONE, "") "}}]}",
     "b=1 c=1 | 2 claims", NULL, 0},
    {"terminal pods and other namespaces do not count",
     "{nodes: [" NODE("n1", "a") "], bound: [{node: n1, count: 2, ns: other, " WEB "}],"
                                 " pods: [{count: 1, " WEB ", spec: {" SPREAD(ZONE, "") "}}]}",
     "a=1 | 0 claims | 1 on nodes", NULL, 0},
    {"an existing node in the wrong zone is not taken",
     "{nodes: [" NODE("n1", "a") "], bound: [{node: n1, count: 1, " WEB "}],"
                                 " pods: [{count: 1, " WEB ", spec: {" SPREAD(ZONE, "") "}}]}",
     "b=1 | 1 claims", NULL, 0},
    {"zones of the pool only",
     "{pools: [{name: main, reqs: '" ZONE " In zone-a,zone-b'}],"
     " pods: [{count: 4, " WEB ", spec: {" SPREAD(ZONE, "") "}}]}",
     "a=2 b=2 | 2 claims", NULL, 0},
    {"zones that the pod asks for",
     "{pods: [{count: 4, " WEB ", spec: {nodeSelector: {" ZONE
     ": zone-b}, " SPREAD(ZONE, "") "}}]}",
     "b=4 | 1 claims", NULL, 0},
    {"a zone with nodes of others that the pod cannot take is a domain",
     "{pools: [{name: main, reqs: '" ZONE " In zone-a'}],"
     " nodes: [{name: n1, zone: zone-b, taints: 'x:NoSchedule'}],"
     " pods: [{count: 2, " WEB ", spec: {" SPREAD(ZONE, "") "}}]}",
     "a=1 | 1 claims | TopologySpread 1",
     "topology spread cannot be met: over topology.kubernetes.io/zone, maxSkew 1, the emptiest of "
     "2 has 0 of app In [web]",
     0},
    {"but not with nodeTaintsPolicy Honor",
     "{pools: [{name: main, reqs: '" ZONE " In zone-a'}],"
     " nodes: [{name: n1, zone: zone-b, taints: 'x:NoSchedule'}],"
     " pods: [{count: 2, " WEB ", spec: {" SPREAD(ZONE, ", nodeTaintsPolicy: Honor") "}}]}",
     "a=2 | 1 claims", NULL, 0},
    {"nodes that the selector leaves out are no domain",
     "{pools: [{name: main, reqs: '" ZONE " In zone-a; team In x'}],"
     " nodes: [" NODE("n1", "b") "],"
                                 " pods: [{count: 2, " WEB
                                 ", spec: {nodeSelector: {team: x}, " SPREAD(ZONE, "") "}}]}",
     "a=2 | 1 claims", NULL, 0},
    {"unless nodeAffinityPolicy says Ignore",
     "{pools: [{name: main, reqs: '" ZONE " In zone-a; team In x'}],"
     " nodes: [" NODE("n1", "b") "],"
                                 " pods: [{count: 2, " WEB
                                 ", spec: {nodeSelector: {team: x}, " SPREAD(
                                     ZONE, ", nodeAffinityPolicy: Ignore") "}}]}",
     "a=1 | 1 claims | TopologySpread 1", NULL, 0},
    {"a key of pools: only those that the pod tolerates and selects",
     "{pools: [{name: a, reqs: 'team In a; capacity-spread In 1', taints: 'a:NoSchedule'},"
     " {name: b, reqs: 'capacity-spread In 2,3,4,5,6,7,8,9,10'}],"
     " pods: [{count: 4, " WEB
     ", spec: {nodeSelector: {team: a}, tolerations: [{operator: Exists}], " SPREAD(
         "capacity-spread", ", nodeTaintsPolicy: Honor, nodeAffinityPolicy: Honor") "}}]}",
     "?=4 | 1 claims", NULL, 0},
    {"a pool that may add no nodes adds no domain",
     "{pools: [{name: main, reqs: '" ZONE " In zone-a'},"
     " {name: full, reqs: '" ZONE " In zone-b', limit: 0}],"
     " pods: [{count: 2, " WEB ", spec: {" SPREAD(ZONE, "") "}}]}",
     "a=2 | 1 claims", NULL, 0},
    {"a zone that another pod's node brings is a domain",
     "{pools: [{name: main, reqs: '" ZONE " In zone-a'},"
     " {name: other, reqs: '" ZONE " In zone-b', taints: 'x:NoSchedule'}],"
     " pods: [{name: big, cpu: 3000, spec: {nodeSelector: {" ZONE
     ": zone-b}, tolerations: [{operator: Exists}]}},"
     " {count: 3, " WEB ", spec: {" SPREAD(ZONE, "") "}}]}",
     "a=1 b=1 | 2 claims | TopologySpread 2", NULL, 0},
    {"but not with nodeTaintsPolicy Honor, when it comes in this pass",
     "{pools: [{name: main, reqs: '" ZONE " In zone-a'},"
     " {name: other, reqs: '" ZONE " In zone-b', taints: 'x:NoSchedule'}],"
     " pods: [{name: big, cpu: 3000, spec: {nodeSelector: {" ZONE
     ": zone-b}, tolerations: [{operator: Exists}]}},"
     " {count: 3, " WEB ", spec: {" SPREAD(ZONE, ", nodeTaintsPolicy: Honor") "}}]}",
     "a=3 b=1 | 2 claims", NULL, 0},
    {"nodes without the key of another spread of the pod do not count",
     "{nodes: [" NODE("n1", "a") "], bound: [{node: n1, count: 3, " WEB "}],"
                                 " pods: [{count: 3, cpu: 3000, " WEB
                                 ", spec: {topologySpreadConstraints: ["
                                 "{maxSkew: 1, topologyKey: " ZONE
                                 ", whenUnsatisfiable: DoNotSchedule, " SEL "},"
                                 "{maxSkew: 3, topologyKey: karpenter.sh/capacity-type, "
                                 "whenUnsatisfiable: DoNotSchedule, " SEL "}]}}]}",
     "a=1 b=1 c=1 | 3 claims", NULL, 0},
    {"nor pools that do not give it",
     "{pools: [{name: main, reqs: '" ZONE " In zone-a; rack In r1'},"
     " {name: other, reqs: '" ZONE " In zone-b'}],"
     " pods: [{count: 3, " WEB ", spec: {topologySpreadConstraints: ["
     "{maxSkew: 1, topologyKey: " ZONE ", whenUnsatisfiable: DoNotSchedule, " SEL "},"
     "{maxSkew: 1, topologyKey: rack, whenUnsatisfiable: DoNotSchedule, " SEL "}]}}]}",
     "a=3 | 1 claims", NULL, 0},
    {"minDomains that there are not",
     "{pods: [{count: 5, " WEB ", spec: {" SPREAD(ZONE, ", minDomains: 4") "}}]}",
     "a=1 b=1 c=1 | 3 claims | TopologySpread 2", NULL, 0},
    {"minDomains that there are",
     "{pods: [{count: 5, " WEB ", spec: {" SPREAD(ZONE, ", minDomains: 3") "}}]}",
     "a=2 b=2 c=1 | 3 claims", NULL, 0},
    {"host names: one each", "{pods: [{count: 3, " WEB ", spec: {" SPREAD(HOST, "") "}}]}",
     "?=3 | 3 claims", NULL, 0},
    {"host names: nodes that exist first",
     "{nodes: [" NODE("n1", "a") ", " NODE("n2", "b") "], bound: [{node: n1, " WEB "}],"
                                                      " pods: [{count: 2, " WEB
                                                      ", spec: {" SPREAD(HOST, "") "}}]}",
     "?=1 b=1 | 1 claims | 1 on nodes", NULL, 0},
    {"capacity types",
     "{pods: [{count: 4, " WEB ", spec: {" SPREAD("karpenter.sh/capacity-type", "") "}}]}",
     "?=4 | 2 claims", NULL, 0},
    {"architectures", "{pods: [{count: 4, " WEB ", spec: {" SPREAD("kubernetes.io/arch", "") "}}]}",
     "?=4 | 2 claims", NULL, 0},
    {"zone and host",
     "{pods: [{count: 3, " WEB ", spec: {topologySpreadConstraints: ["
     "{maxSkew: 1, topologyKey: " ZONE ", whenUnsatisfiable: DoNotSchedule, " SEL "},"
     "{maxSkew: 1, topologyKey: " HOST ", whenUnsatisfiable: DoNotSchedule, " SEL "}]}}]}",
     "a=1 b=1 c=1 | 3 claims", NULL, 0},
    {"zone and capacity type",
     "{pods: [{count: 6, " WEB ", spec: {topologySpreadConstraints: ["
     "{maxSkew: 1, topologyKey: " ZONE ", whenUnsatisfiable: DoNotSchedule, " SEL "},"
     "{maxSkew: 1, topologyKey: karpenter.sh/capacity-type, whenUnsatisfiable: DoNotSchedule, " SEL
     "}]}}]}",
     "a=2 b=2 c=2 | 4 claims", NULL, 0},
    {"a key that nothing has", "{pods: [{count: 1, " WEB ", spec: {" SPREAD("rack", "") "}}]}",
     "0 claims | TopologySpread 1", NULL, 0},
    {"a rule that cannot be met comes before a size that does not exist",
     "{pods: [{count: 1, cpu: 99000, " WEB ", spec: {" SPREAD("rack", "") "}}]}",
     "0 claims | TopologySpread 1", NULL, 0},
    {"no selector selects nothing",
     "{pods: [{count: 3, " WEB
     ", spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: " ZONE
     ", whenUnsatisfiable: DoNotSchedule}]}}]}",
     "a=3 | 1 claims", NULL, 0},
    {"a selector that cannot be read selects nothing",
     "{pods: [{count: 3, " WEB
     ", spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: " ZONE
     ", whenUnsatisfiable: DoNotSchedule, labelSelector: {matchExpressions: [{key: app, operator: "
     "Like, values: [web]}]}}]}}]}",
     "a=3 | 1 claims", NULL, 0},
    {"an empty selector selects all of the namespace",
     "{nodes: [" NODE("n1", "a") "], bound: [{node: n1, count: 1, labels: {x: v}}],"
                                 " pods: [{count: 2, cpu: 3950, " WEB
                                 ", spec: {topologySpreadConstraints: [{maxSkew: 1, "
                                 "topologyKey: " ZONE
                                 ", whenUnsatisfiable: DoNotSchedule, labelSelector: {}}]}}]}",
     "b=1 c=1 | 2 claims", NULL, 0},
    {"matchLabelKeys: revisions by themselves",
     "{nodes: [" NODE(
         "n1", "a") "], bound: [{node: n1, count: 5, labels: {app: web, rev: '1'}}],"
                    " pods: [{count: 3, labels: {app: web, rev: '2'}, cpu: 3000, spec: {" SPREAD(
                        ZONE, ", matchLabelKeys: [rev]") "}}]}",
     "a=1 b=1 c=1 | 2 claims | 1 on nodes", NULL, 0},
    {"pods that do not match their own selector",
     "{nodes: [" NODE(
         "n1", "a") "], bound: [{node: n1, count: 2, " WEB "}],"
                    " pods: [{count: 4, labels: {app: other}, cpu: 3950, spec: {" SPREAD(ZONE,
                                                                                         "") "}}]}",
     "b=4 | 1 claims", NULL, 0},
    {"pods of others count where they come to lie",
     "{pods: [{count: 2, name: big, " WEB ", cpu: 3000}, {count: 4, name: small, " WEB
     ", cpu: 500, spec: {" SPREAD(ZONE, "") "}}]}",
     "a=2 b=2 c=2 | 3 claims", NULL, 0},
    {"soft, respected", "{pods: [{count: 3, " WEB ", spec: {" SOFT(HOST) "}}]}", "?=3 | 3 claims",
     NULL, PREFERENCE_RESPECT},
    {"soft, given up where it cannot be met",
     "{pods: [{count: 1, " WEB ", spec: {" SOFT("rack") "}}]}", "?=1 | 1 claims", NULL,
     PREFERENCE_RESPECT},
    {"soft, ignored", "{pods: [{count: 3, " WEB ", spec: {" SOFT(HOST) "}}]}", "?=3 | 1 claims",
     NULL, PREFERENCE_IGNORE},
    {"soft, reasonable", "{pods: [{count: 3, " WEB ", spec: {" SOFT(HOST) "}}]}", "?=3 | 1 claims",
     NULL, PREFERENCE_REASONABLE},
    {"soft, reasonable: kept among nodes that there are",
     "{nodes: [" NODE("n1", "a") ", " NODE("n2", "b") "], pods: [{count: 2, " WEB
                                                      ", spec: {" SOFT(HOST) "}}]}",
     "a=1 b=1 | 0 claims | 2 on nodes", NULL, PREFERENCE_REASONABLE},
    {"hundred pods do not need a hundred nodes",
     "{pods: [{count: 100, " WEB ", spec: {affinity: {podAntiAffinity: "
     "{preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, podAffinityTerm: "
     "{topologyKey: " HOST ", " SEL "}}]}}}}]}",
     "?=100 | 2 claims", NULL, PREFERENCE_REASONABLE},
    {"share of a workload per node",
     "{pools: [{name: main, share: 25%}], pods: [{count: 8, owner: rs}]}", "?=8 | 4 claims", NULL,
     0},
    {"share, at least one", "{pools: [{name: main, share: 1%}], pods: [{count: 3, owner: rs}]}",
     "?=3 | 3 claims", NULL, 0},
    {"share of a pool: nodes that are nobody's have none",
     "{pools: [{name: main, share: 50%}], nodes: [" NODE(
         "n1", "a") "],"
                    " bound: [{node: n1, count: 1, owner: rs}], pods: [{count: 4, owner: rs}]}",
     "a=4 | 0 claims | 4 on nodes", NULL, 0},
    {"share, each workload by itself",
     "{pools: [{name: main, share: 50%}], pods: [{count: 2, name: u, owner: u}, {count: 2, name: "
     "v, owner: v}]}",
     "?=4 | 2 claims", NULL, 0},
};

START_TEST(spread)
{
    place_row(&rows[_i]);
}
END_TEST

/* The option holds where the pool does not say, on nodes that are nobody's too. */
START_TEST(share_option)
{
    static struct world w;
    w_build(&w, "{pools: [{name: main, share: 100%}, {name: other, weight: 5}],"
                " nodes: [" NODE("n1", "a") "], bound: [{node: n1, count: 1, owner: rs}],"
                                            " pods: [{count: 4, owner: rs}]}");
    w.f->opt.max_share_permyriad = 3000; /* 2 of 5 */
    ck_assert_str_eq(w_outcome(&w, w_place(&w)), "?=3 a=1 | 2 claims | 1 on nodes");
    w_done(&w);
}
END_TEST

UNIT_MAIN("sched_topology", UNIT_CASES(spread, rows), UNIT_TEST(share_option))
