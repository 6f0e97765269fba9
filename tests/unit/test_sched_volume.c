/* Volumes: where they can be, how many fit, and what is wrong with them. */
#include "placetest.h"

#define ZONE "topology.kubernetes.io/zone"
#define EBS "ebs.csi.aws.com"
#define PVC(name, pv)                                                                              \
    "{kind: PersistentVolumeClaim, metadata: {name: " name ", namespace: default, annotations: "   \
    "{pv.kubernetes.io/bind-completed: 'yes'}}, spec: {volumeName: " pv                            \
    ", storageClassName: gp3}, status: {phase: Bound}}"
#define PVC_OPEN(name, sc, more)                                                                   \
    "{kind: PersistentVolumeClaim, metadata: {name: " name ", namespace: default" more             \
    "}, spec: {storageClassName: " sc "}, status: {phase: Pending}}"
#define EXPR(zones) "{key: " ZONE ", operator: In, values: [" zones "]}"
#define PV(name, terms)                                                                            \
    "{kind: PersistentVolume, metadata: {name: " name "}, spec: {csi: {driver: " EBS               \
    ", volumeHandle: vol-" name "}, nodeAffinity: {required: {nodeSelectorTerms: [" terms "]}}}}"
#define IN(zones) "{matchExpressions: [" EXPR(zones) "]}"
#define SC(name, mode, more)                                                                       \
    "{kind: StorageClass, metadata: {name: " name "}, provisioner: " EBS                           \
    ", volumeBindingMode: " mode more "}"
#define USES(name) "{name: " name ", persistentVolumeClaim: {claimName: " name "}}"
#define POD(volumes) "{cpu: 1000, spec: {volumes: [" volumes "]}}"
#define WORLD(objects, pods) "{objects: [" objects "], pods: [" pods "]}"
#define NODE(name, zone) "{name: " name ", zone: zone-" zone "}"

static const struct place_row rows[] = {
    {"in the zone of its volume",
     WORLD(PVC("d1", "v1") ", " PV("v1", IN("zone-b")), POD(USES("d1"))), "b=1 | 1 claims", NULL,
     0},
    {"terms of a volume are alternatives",
     "{pools: [{name: main, reqs: '" ZONE " In zone-c'}], objects: [" PVC("d1", "v1") ", " PV(
         "v1", IN("zone-b") ", " IN("zone-c")) "], pods: [" POD(USES("d1")) "]}",
     "c=1 | 1 claims", NULL, 0},
    {"two volumes, one zone in common",
     WORLD(PVC("d1", "v1") ", " PV("v1", IN("zone-a, zone-b")) ", " PVC("d2", "v2") ", " PV(
               "v2", IN("zone-b, zone-c")),
           POD(USES("d1") ", " USES("d2"))),
     "b=1 | 1 claims", NULL, 0},
    {"two volumes, nothing in common",
     WORLD(PVC("d1", "v1") ", " PV("v1", IN("zone-a")) ", " PVC("d2", "v2") ", " PV("v2",
                                                                                    IN("zone-b")),
           POD(USES("d1") ", " USES("d2"))),
     "0 claims | VolumeZone 1",
     "its volume lies in another zone: its volumes cannot be had at once: d1 "
     "(topology.kubernetes.io/zone In [zone-a]) and d2 (topology.kubernetes.io/zone In "
     "[zone-b])",
     0},
    {"a zone that the pool does not have",
     WORLD(PVC("d1", "v1") ", " PV("v1", IN("zone-z")), POD(USES("d1"))), "0 claims | VolumeZone 1",
     "its volume lies in another zone: topology.kubernetes.io/zone In [zone-z], where EC2NodeClass "
     "default has no subnet",
     0},
    {"a zone that the pool leaves out",
     "{pools: [{name: main, reqs: '" ZONE " In zone-a'}], objects: [" PVC("d1", "v1") ", " PV(
         "v1", IN("zone-b")) "], pods: [" POD(USES("d1")) "]}",
     "0 claims | VolumeZone 1",
     "its volume lies in another zone: topology.kubernetes.io/zone In [zone-b]", 0},
    {"the pod asks for another zone",
     WORLD(PVC("d1", "v1") ", " PV("v1", IN("zone-a")),
           "{spec: {nodeSelector: {" ZONE ": zone-b}, volumes: [" USES("d1") "]}}"),
     "0 claims | VolumeZone 1",
     "its volume lies in another zone: it asks for other places than its volumes are in", 0},
    {"another pod follows it there",
     WORLD(PVC("d1", "v1") ", " PV("v1", IN("zone-c")),
           "{cpu: 1000, labels: {app: db}, spec: {volumes: [" USES(
               "d1") "]}}, {name: q, cpu: 2000, spec: "
                     "{affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
                     "[{topologyKey: " ZONE ", labelSelector: {matchLabels: {app: db}}}]}}}}"),
     "c=2 | 1 claims", NULL, 0},
    {"host names of local volumes are left out",
     WORLD(PVC("d1",
               "v1") ", {kind: PersistentVolume, metadata: {name: v1}, spec: {local: {path: /x}, "
                     "nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: "
                     "kubernetes.io/hostname, operator: In, values: [gone]}]}]}}}}",
           POD(USES("d1"))),
     "?=1 | 1 claims", NULL, 0},
    {"waits for its first consumer",
     WORLD(PVC_OPEN("d1", "gp3", "") ", " SC("gp3", "WaitForFirstConsumer", ""), POD(USES("d1"))),
     "?=1 | 1 claims", NULL, 0},
    {"where its class allows it",
     WORLD(PVC_OPEN("d1", "gp3", "") ", " SC("gp3", "WaitForFirstConsumer",
                                             ", allowedTopologies: [{matchLabelExpressions: [{key: "
                                             "topology.ebs.csi.aws.com/zone, values: [zone-b]}]}]"),
           POD(USES("d1"))),
     "b=1 | 1 claims", NULL, 0},
    {"the default class",
     WORLD("{kind: PersistentVolumeClaim, metadata: {name: d1, namespace: default}, spec: {}}, "
           "{kind: StorageClass, metadata: {name: std, annotations: "
           "{storageclass.kubernetes.io/is-default-class: 'true'}}, provisioner: " EBS
           ", volumeBindingMode: WaitForFirstConsumer}",
           POD(USES("d1"))),
     "?=1 | 1 claims", NULL, 0},
    {"an ephemeral volume",
     WORLD(PVC_OPEN("p-tmp", "gp3", "") ", " SC("gp3", "WaitForFirstConsumer", ""),
           "{spec: {volumes: [{name: tmp, ephemeral: {}}]}}"),
     "?=1 | 1 claims", NULL, 0},
    {"no claim", WORLD("", POD(USES("d1"))), "0 claims | Volume 1",
     "has a volume that cannot be used: PersistentVolumeClaim d1 does not exist", 0},
    {"the claim is being deleted",
     WORLD(PVC_OPEN("d1", "gp3", ", deletionTimestamp: '2026-01-01T00:00:00Z'") ", " SC(
               "gp3", "WaitForFirstConsumer", ""),
           POD(USES("d1"))),
     "0 claims | Volume 1",
     "has a volume that cannot be used: PersistentVolumeClaim d1 is being deleted", 0},
    {"the claim is lost",
     WORLD("{kind: PersistentVolumeClaim, metadata: {name: d1, namespace: default}, spec: "
           "{volumeName: v1}, status: "
           "{phase: Lost}}",
           POD(USES("d1"))),
     "0 claims | Volume 1",
     "has a volume that cannot be used: PersistentVolumeClaim d1 has lost its volume", 0},
    {"the volume is gone", WORLD(PVC("d1", "v1"), POD(USES("d1"))), "0 claims | Volume 1",
     "has a volume that cannot be used: PersistentVolumeClaim d1 is bound to PersistentVolume "
     "v1, "
     "which does not exist",
     0},
    {"the volume is being deleted",
     WORLD(PVC("d1", "v1") ", {kind: PersistentVolume, metadata: {name: v1, deletionTimestamp: "
                           "'2026-01-01T00:00:00Z'}, spec: {}}",
           POD(USES("d1"))),
     "0 claims | Volume 1",
     "has a volume that cannot be used: PersistentVolumeClaim d1 is bound to PersistentVolume "
     "v1, "
     "which is being deleted",
     0},
    {"the claim is being bound",
     WORLD("{kind: PersistentVolumeClaim, metadata: {name: d1, namespace: default}, spec: "
           "{volumeName: v1}}",
           POD(USES("d1"))),
     "0 claims | Volume 1",
     "has a volume that cannot be used: PersistentVolumeClaim d1 is being bound", 0},
    {"no class, made by hand", WORLD(PVC_OPEN("d1", "''", ""), POD(USES("d1"))),
     "0 claims | Volume 1",
     "has a volume that cannot be used: PersistentVolumeClaim d1 waits for a volume that "
     "somebody "
     "has to make by hand",
     0},
    {"no such class", WORLD(PVC_OPEN("d1", "gp9", ""), POD(USES("d1"))), "0 claims | Volume 1",
     "has a volume that cannot be used: PersistentVolumeClaim d1 names StorageClass gp9, which "
     "does "
     "not exist",
     0},
    {"an immediate class",
     WORLD(PVC_OPEN("d1", "gp3", "") ", " SC("gp3", "Immediate", ""), POD(USES("d1"))),
     "0 claims | Volume 1",
     "has a volume that cannot be used: PersistentVolumeClaim d1 is not bound yet, and "
     "StorageClass "
     "gp3 binds immediately",
     0},
    {"no pod waits behind it", WORLD("", POD(USES("d1")) ", {name: q, count: 2}"),
     "?=2 | 1 claims | Volume 1", NULL, 0},
    {"the limit of a node",
     "{nodes: [" NODE("n1", "a") "], objects: [" SC(
         "gp3", "WaitForFirstConsumer",
         "") ", " PVC_OPEN("d1", "gp3",
                           "") ", " PVC_OPEN("d2", "gp3",
                                             "") ", " PVC_OPEN("d3", "gp3",
                                                               "") ", {kind: CSINode, "
                                                                   "metadata: {name: n1}, "
                                                                   "spec: {drivers: "
                                                                   "[{name: " EBS
                                                                   ", allocatable: {count: "
                                                                   "2}}]}}],"
                                                                   " bound: [{node: n1, spec: "
                                                                   "{volumes: [" USES(
                                                                       "d1") "]}}],"
                                                                             " pods: [{name: "
                                                                             "p1, spec: "
                                                                             "{volumes: [" USES(
                                                                                 "d2") "]}}, "
                                                                                       "{name: "
                                                                                       "p2, "
                                                                                       "spec: "
                                                                                       "{volume"
                                                                                       "s: "
                                                                                       "[" USES(
                                                                                           "d3") "]"
                                                                                                 "}"
                                                                                                 "}"
                                                                                                 "]"
                                                                                                 "}",
     "?=1 a=1 | 1 claims | 1 on nodes", NULL, 0},
    {"what pods share counts once",
     "{nodes: [" NODE("n1", "a") "], objects: [" SC(
         "gp3", "WaitForFirstConsumer",
         "") ", " PVC_OPEN("d1", "gp3",
                           "") ", {kind: CSINode, metadata: {name: n1}, spec: {drivers: "
                               "[{name: " EBS ", allocatable: {count: 1}}]}}],"
                               " bound: [{node: n1, spec: {volumes: [" USES(
                                   "d1") "]}}],"
                                         " pods: [{count: 3, spec: {volumes: [" USES("d1") "]}}]}",
     "a=3 | 0 claims | 3 on nodes", NULL, 0},
    {"the limit of nodes that do not exist",
     "{nodes: [" NODE("n1", "a") "], objects: [" SC(
         "gp3", "WaitForFirstConsumer",
         "") ", " PVC_OPEN("d1", "gp3",
                           "") ", " PVC_OPEN("d2", "gp3",
                                             "") ", " PVC_OPEN("d3", "gp3",
                                                               "") ", {kind: CSINode, "
                                                                   "metadata: {name: n1}, "
                                                                   "spec: {drivers: "
                                                                   "[{name: " EBS
                                                                   ", allocatable: {count: "
                                                                   "1}}]}}],"
                                                                   " pods: [{name: p1, cpu: "
                                                                   "4100, spec: {volumes: "
                                                                   "[" USES(
                                                                       "d1") "]}}, {name: "
                                                                             "p2, cpu: "
                                                                             "4100, spec: "
                                                                             "{volumes: "
                                                                             "[" USES(
                                                                                 "d2") "]}"
                                                                                       "},"
                                                                                       " {"
                                                                                       "na"
                                                                                       "me"
                                                                                       ": "
                                                                                       "p3"
                                                                                       ", "
                                                                                       "cp"
                                                                                       "u:"
                                                                                       " 1"
                                                                                       "00"
                                                                                       ", "
                                                                                       "sp"
                                                                                       "ec"
                                                                                       ": "
                                                                                       "{v"
                                                                                       "ol"
                                                                                       "um"
                                                                                       "es"
                                                                                       ": "
                                                                                       "[" USES(
                                                                                           "d3") "]"
                                                                                                 "}"
                                                                                                 "}"
                                                                                                 "]"
                                                                                                 "}",
     "?=2 a=1 | 2 claims | 1 on nodes", NULL, 0},
    {"more than any node attaches",
     "{nodes: [" NODE("n1", "a") "], objects: [" SC(
         "gp3", "WaitForFirstConsumer",
         "") ", " PVC_OPEN("d1", "gp3",
                           "") ", " PVC_OPEN("d2", "gp3",
                                             "") ", {kind: CSINode, metadata: {name: n1}, "
                                                 "spec: {drivers: [{name: " EBS
                                                 ", allocatable: {count: 1}}]}}],"
                                                 " pods: [{spec: {volumes: [" USES("d1") ", " USES(
                                                     "d2") "]}}]}",
     "0 claims | VolumeLimit 1",
     "no more volumes can be attached: no instance type attaches that many volumes of "
     "ebs.csi.aws.com",
     0},
    {"minValues beside the zone of a volume",
     "{pools: [{name: main, reqs: '" ZONE " In zone-b,zone-c min 2'}], objects: [" PVC(
         "d1", "v1") ", " PV("v1", IN("zone-b")) "], pods: [" POD(USES("d1")) "]}",
     "0 claims | MinValues 1",
     "minValues 2 for topology.kubernetes.io/zone, 1 left after volume topology.kubernetes.io/zone "
     "In [zone-b]",
     0},
};

START_TEST(volumes)
{
    place_row(&rows[_i]);
}
END_TEST

/* BestEffort launches where the volume is, and says so. */
START_TEST(min_values_relaxed_by_a_volume)
{
    static struct world w;
    w_build(&w, "{pools: [{name: main, reqs: '" ZONE " In zone-b,zone-c min 2'}], objects: [" PVC(
                    "d1", "v1") ", " PV("v1", IN("zone-b")) "], pods: [" POD(USES("d1")) "]}");
    w.f->opt.min_values = MIN_VALUES_BEST_EFFORT;
    const struct sched_result *r = w_place(&w);
    ck_assert_str_eq(w_outcome(&w, r), "b=1 | 1 claims");
    ck_assert(r->claims[0].min_values_relaxed);
    ck_assert_uint_eq(reqset_get(&r->claims[0].reqs, L_ZONE)->min_values, 1);
    w_done(&w);
}
END_TEST

/* A node that is on its way takes as many as others of its type. */
START_TEST(claims_in_flight)
{
    static struct world w;
    w_build(&w,
            "{nodes: [{name: n1, zone: zone-a, cpu: 0}], objects: [" SC(
                "gp3", "WaitForFirstConsumer",
                "") ", " PVC_OPEN("d1", "gp3",
                                  "") ", " PVC_OPEN("d2", "gp3",
                                                    "") ", "
                                                        "{kind: CSINode, metadata: {name: n1}, "
                                                        "spec: {drivers: [{name: " EBS
                                                        ", allocatable: {count: 1}}]}}], pods: "
                                                        "[{name: p1, spec: {volumes: [" USES(
                                                            "d1") "]}}, {name: p2, spec: {volumes: "
                                                                  "[" USES("d2") "]}}]}");
    struct nodeclaim *nc = fix_claim(w.f, "c1", "main");
    nc->m.labels = fix_labels(w.f, "karpenter.sh/nodepool=main, " ZONE
                                   "=zone-a, node.kubernetes.io/instance-type=c.xlarge");
    nc->provider_id = "aws:///zone-a/i-1";
    nc->capacity.v[RES_CPU] = nc->allocatable.v[RES_CPU] = 4000;
    nc->capacity.v[RES_PODS] = nc->allocatable.v[RES_PODS] = 20;
    fix_condition(w.f, &nc->conditions, "Launched");
    ck_assert_str_eq(w_outcome(&w, w_place(&w)), "?=1 a=1 | 1 claims | 1 on nodes");
    w_done(&w);
}
END_TEST

UNIT_MAIN("sched_volume", UNIT_CASES(volumes, rows), UNIT_TEST(min_values_relaxed_by_a_volume),
          UNIT_TEST(claims_in_flight))
