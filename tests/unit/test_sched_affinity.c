/* Pod affinity and anti-affinity, and the order in which preferences are given up. */
#include "placetest.h"

#define ZONE "topology.kubernetes.io/zone"
#define HOST "kubernetes.io/hostname"
#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"
#define WEB "labels: {app: web}"
#define DB "labels: {app: db}"
#define TERM(key, app, more)                                                                       \
    "{topologyKey: " key ", labelSelector: {matchLabels: {app: " app "}}" more "}"
#define WITH(key, app) "affinity: {podAffinity: {" REQUIRED ": [" TERM(key, app, "") "]}}"
#define WITHOUT(key, app) "affinity: {podAntiAffinity: {" REQUIRED ": [" TERM(key, app, "") "]}}"
#define NEAR(key, app)                                                                             \
    "affinity: {podAffinity: {" PREFERRED                                                          \
    ": [{weight: 10, podAffinityTerm: " TERM(key, app, "") "}]}}"
#define AWAY(key, app)                                                                             \
    "affinity: {podAntiAffinity: {" PREFERRED                                                      \
    ": [{weight: 10, podAffinityTerm: " TERM(key, app, "") "}]}}"
#define NODE(name, zone) "{name: " name ", zone: zone-" zone "}"

#define APART(expression)                                                                          \
    "{pods: [{count: 2, " WEB ", spec: {affinity: {podAntiAffinity: {" REQUIRED                    \
    ": [{topologyKey: " HOST ", labelSelector: {matchExpressions: [" expression "]}}]}}}}]}"

static const struct place_row rows[] = {
    {"apart: in", APART("{key: app, operator: In, values: [db, web]}"), "?=2 | 2 claims", NULL, 0},
    {"apart: not in those", APART("{key: app, operator: In, values: [db, x]}"), "?=2 | 1 claims",
     NULL, 0},
    {"apart: not in", APART("{key: app, operator: NotIn, values: [db]}"), "?=2 | 2 claims", NULL,
     0},
    {"apart: it is in", APART("{key: app, operator: NotIn, values: [web]}"), "?=2 | 1 claims", NULL,
     0},
    {"apart: has it", APART("{key: app, operator: Exists}"), "?=2 | 2 claims", NULL, 0},
    {"apart: has it not", APART("{key: tier, operator: Exists}"), "?=2 | 1 claims", NULL, 0},
    {"apart: must not have it", APART("{key: tier, operator: DoesNotExist}"), "?=2 | 2 claims",
     NULL, 0},
    {"apart: in, and must not have it",
     APART("{key: app, operator: In, values: [web]}, {key: app, operator: DoesNotExist}"),
     "?=2 | 1 claims", NULL, 0},
    {"with itself in one zone",
     "{pods: [{count: 5, cpu: 3000, " WEB ", spec: {" WITH(ZONE, "web") "}}]}", "a=5 | 1 claims",
     NULL, 0},
    {"with itself on one host", "{pods: [{count: 3, " WEB ", spec: {" WITH(HOST, "web") "}}]}",
     "?=3 | 1 claims", NULL, 0},
    {"with itself on one host that is too small for all",
     "{pods: [{count: 3, cpu: 16000, " WEB ", spec: {" WITH(HOST, "web") "}}]}",
     "?=1 | 1 claims | PodAffinity 2",
     "pod affinity cannot be met: no node with a pod of app In [web] within reach", 0},
    {"with nobody", "{pods: [{count: 1, " DB ", spec: {" WITH(ZONE, "web") "}}]}",
     "0 claims | PodAffinity 1",
     "pod affinity cannot be met: no topology.kubernetes.io/zone with a pod of app In [web] within "
     "reach",
     0},
    {"with one that is bound",
     "{nodes: [" NODE("n1", "b") "], bound: [{node: n1, " WEB "}],"
                                 " pods: [{count: 2, cpu: 3950, " DB
                                 ", spec: {" WITH(ZONE, "web") "}}]}",
     "b=2 | 1 claims | 1 on nodes", NULL, 0},
    {"with a smaller one of this pass, which comes later",
     "{pods: [{name: big, cpu: 3000, " DB
     ", spec: {" WITH(ZONE, "web") "}},"
                                   " {name: small, cpu: 100, " WEB ", spec: {nodeSelector: {" ZONE
                                   ": zone-c}}}]}",
     "c=2 | 1 claims", NULL, 0},
    {"a chain of three",
     "{pods: [{name: first, cpu: 3000, labels: {app: a}, spec: {" WITH(
         ZONE,
         "b") "}},"
              " {name: second, cpu: 2000, labels: {app: b}, spec: {" WITH(
                  ZONE,
                  "c") "}},"
                       " {name: third, cpu: 1000, labels: {app: c}, spec: {nodeSelector: {" ZONE
                       ": zone-b}}}]}",
     "b=3 | 1 claims", NULL, 0},
    {"not beside what is there although it is one itself",
     "{nodes: [{name: n1, zone: zone-a, cpu: 100}], bound: [{node: n1, " WEB "}],"
     " pods: [{count: 2, " WEB ", spec: {nodeSelector: {" ZONE
     ": zone-b}, " WITH(ZONE, "web") "}}]}",
     "0 claims | PodAffinity 2", NULL, 0},
    {"two terms, both",
     "{nodes: [" NODE(
         "n1",
         "b") "], bound: [{node: n1, " WEB "}, {node: n1, " DB "}],"
              " pods: [{labels: {app: x1}, cpu: 3950, spec: {affinity: {podAffinity: {" REQUIRED
              ": [" TERM(ZONE, "web", "") ", " TERM(HOST, "db", "") "]}}}}]}",
     "b=1 | 0 claims | 1 on nodes", NULL, 0},
    {"another namespace does not count",
     "{nodes: [" NODE("n1", "b") "], bound: [{node: n1, ns: other, " WEB "}],"
                                 " pods: [{" DB ", spec: {" WITH(ZONE, "web") "}}]}",
     "0 claims | PodAffinity 1", NULL, 0},
    {"unless it is named",
     "{nodes: [" NODE("n1", "b") "], bound: [{node: n1, ns: other, " WEB "}],"
                                 " pods: [{cpu: 3950, " DB
                                 ", spec: {affinity: {podAffinity: {" REQUIRED
                                 ": [" TERM(ZONE, "web", ", namespaces: [other]") "]}}}}]}",
     "b=1 | 0 claims | 1 on nodes", NULL, 0},
    {"or its labels are asked for",
     "{nodes: [" NODE(
         "n1", "b") "], bound: [{node: n1, ns: other, " WEB "}],"
                    " objects: [{kind: Namespace, metadata: {name: other, labels: {team: blue}}},"
                    " {kind: Namespace, metadata: {name: default}}],"
                    " pods: [{cpu: 3950, " DB ", spec: {affinity: {podAffinity: {" REQUIRED
                    ": [" TERM(ZONE, "web",
                               ", namespaceSelector: {matchLabels: {team: blue}}") "]}}}}]}",
     "b=1 | 0 claims | 1 on nodes", NULL, 0},
    {"an empty namespaceSelector is every namespace",
     "{nodes: [" NODE("n1", "b") "], bound: [{node: n1, ns: other, " WEB "}],"
                                 " pods: [{cpu: 3950, " DB
                                 ", spec: {affinity: {podAffinity: {" REQUIRED
                                 ": [" TERM(ZONE, "web", ", namespaceSelector: {}") "]}}}}]}",
     "b=1 | 0 claims | 1 on nodes", NULL, 0},
    {"no selector: with nobody",
     "{pods: [{" WEB ", spec: {affinity: {podAffinity: {" REQUIRED ": [{topologyKey: " ZONE
     "}]}}}}]}",
     "0 claims | PodAffinity 1", NULL, 0},
    /* anti-affinity */
    {"each on a host of its own", "{pods: [{count: 4, " WEB ", spec: {" WITHOUT(HOST, "web") "}}]}",
     "?=4 | 4 claims", NULL, 0},
    {"each in a zone of its own", "{pods: [{count: 4, " WEB ", spec: {" WITHOUT(ZONE, "web") "}}]}",
     "a=1 b=1 c=1 | 3 claims | PodAntiAffinity 1",
     "pod anti-affinity cannot be met: every topology.kubernetes.io/zone within reach has a pod of "
     "app In [web]",
     0},
    {"one alone keeps its zone open",
     "{pods: [{count: 1, " WEB ", spec: {" WITHOUT(ZONE, "web") "}}]}", "?=1 | 1 claims", NULL, 0},
    {"not beside what is bound",
     "{nodes: [" NODE("n1", "a") ", " NODE("n2", "b") "], bound: [{node: n1, " WEB "}],"
                                                      " pods: [{count: 1, " DB
                                                      ", spec: {" WITHOUT(HOST, "web") "}}]}",
     "b=1 | 0 claims | 1 on nodes", NULL, 0},
    {"inverse: what is bound keeps others away",
     "{nodes: [" NODE("n1", "a") "], bound: [{node: n1, " DB
                                 ", spec: {" WITHOUT(HOST, "web") "}}],"
                                                                  " pods: [{count: 1, " WEB "}]}",
     "?=1 | 1 claims", NULL, 0},
    {"inverse: from a zone",
     "{nodes: [" NODE("n1", "a") "], bound: [{node: n1, " DB ", spec: {" WITHOUT(
         ZONE, "web") "}}],"
                      " pods: [{count: 1, " WEB ", spec: {nodeSelector: {" ZONE ": zone-a}}}]}",
     "0 claims | PodAntiAffinity 1",
     "pod anti-affinity cannot be met: pods in every topology.kubernetes.io/zone within reach keep "
     "pods of app In [web] away",
     0},
    {"inverse: of this pass",
     "{pods: [{name: big, cpu: 1000, " DB ", spec: {" WITHOUT(HOST, "web") "}}, {name: small, " WEB
                                                                           "}]}",
     "?=2 | 2 claims", NULL, 0},
    {"inverse: only in the namespaces that it names",
     "{nodes: [" NODE("n1", "a") "], bound: [{node: n1, ns: other, " DB ", spec: {" WITHOUT(
         HOST, "web") "}}], pods: [{count: 1, " WEB "}]}",
     "a=1 | 0 claims | 1 on nodes", NULL, 0},
    {"a node without the key keeps nobody off",
     "{nodes: [{name: n1}], bound: [{node: n1, " WEB "}],"
     " pods: [{count: 1, " DB ", spec: {" WITHOUT(ZONE, "web") "}}]}",
     "?=1 | 0 claims | 1 on nodes", NULL, 0},
    {"inverse of a preference does not count",
     "{nodes: [" NODE("n1", "a") "], bound: [{node: n1, " DB
                                 ", spec: {" AWAY(HOST, "web") "}}],"
                                                               " pods: [{count: 1, " WEB "}]}",
     "a=1 | 0 claims | 1 on nodes", NULL, 0},
    {"affinity and anti-affinity: a pair per host",
     "{pods: [{name: db, count: 2, cpu: 500, " DB ", spec: {" WITHOUT(
         HOST, "db") "}},"
                     " {name: web, count: 2, " WEB ", spec: {affinity: {podAffinity: {" REQUIRED
                     ": [" TERM(HOST, "db", "") "]}, podAntiAffinity: {" REQUIRED
                                                ": [" TERM(HOST, "web", "") "]}}}}]}",
     "?=4 | 2 claims", NULL, 0},
    /* preferences */
    {"preferred away, respected", "{pods: [{count: 3, " WEB ", spec: {" AWAY(HOST, "web") "}}]}",
     "?=3 | 3 claims", NULL, PREFERENCE_RESPECT},
    {"preferred away, ignored", "{pods: [{count: 3, " WEB ", spec: {" AWAY(HOST, "web") "}}]}",
     "?=3 | 1 claims", NULL, PREFERENCE_IGNORE},
    {"preferred away, reasonable", "{pods: [{count: 3, " WEB ", spec: {" AWAY(HOST, "web") "}}]}",
     "?=3 | 1 claims", NULL, PREFERENCE_REASONABLE},
    {"preferred away from a zone: as long as there are some",
     "{pods: [{count: 4, " WEB ", spec: {nodeSelector: {" ZONE
     ": zone-a}, " AWAY(ZONE, "web") "}}]}",
     "a=4 | 1 claims", NULL, PREFERENCE_RESPECT},
    {"preferred near, met",
     "{nodes: [" NODE("n1", "c") "], bound: [{node: n1, cpu: 4000, " WEB "}],"
                                 " pods: [{count: 1, cpu: 4000, " DB
                                 ", spec: {" NEAR(ZONE, "web") "}}]}",
     "c=1 | 0 claims | 1 on nodes", NULL, PREFERENCE_RESPECT},
    {"preferred near, given up", "{pods: [{count: 1, " DB ", spec: {" NEAR(ZONE, "web") "}}]}",
     "?=1 | 1 claims", NULL, PREFERENCE_RESPECT},
    {"affinity goes before anti-affinity, that before node affinity, that before soft spread",
     "{nodes: [" NODE("n1", "a") "], bound: [{node: n1, " WEB "}, {node: n1, " DB "}],"
                                 " pools: [{name: main, reqs: '" ZONE " In zone-a,zone-b'}],"
                                 " pods: [{count: 1, " DB ", cpu: 4100, spec: {affinity: {"
                                 "podAffinity: {" PREFERRED ": [{weight: 1, podAffinityTerm: " TERM(
                                     ZONE, "web", "") "}]},"
                                                      " podAntiAffinity: {" PREFERRED
                                                      ": [{weight: 1, podAffinityTerm: " TERM(
                                                          ZONE, "db", "") "}]}}}}]}",
     "b=1 | 1 claims", NULL, PREFERENCE_RESPECT},
    {"anti-affinity goes before node affinity",
     "{nodes: [" NODE(
         "n1", "a") "], bound: [{node: n1, " DB "}],"
                    " pods: [{count: 1, " DB ", cpu: 4100, spec: {affinity: {"
                    "podAntiAffinity: {" PREFERRED ": [{weight: 1, podAffinityTerm: " TERM(
                        ZONE, "db", "") "}]},"
                                        " nodeAffinity: {" PREFERRED
                                        ": [{weight: 1, preference: {matchExpressions: [{key: " ZONE
                                        ", operator: In, values: [zone-a]}]}}]}}}}]}",
     "a=1 | 1 claims", NULL, PREFERENCE_RESPECT},
    {"node affinity goes before a soft spread",
     "{nodes: [" NODE(
         "n1", "a") "], bound: [{node: n1, " DB "}],"
                    " pools: [{name: main, reqs: '" ZONE " In zone-a,zone-b'}],"
                    " pods: [{count: 1, " DB
                    ", cpu: 4100, spec: {topologySpreadConstraints: [{maxSkew: 1, "
                    "topologyKey: " ZONE
                    ", whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: "
                    "db}}}], affinity: {nodeAffinity: {" PREFERRED
                    ": [{weight: 1, preference: {matchExpressions: "
                    "[{key: " ZONE ", operator: In, values: [zone-a]}]}}]}}}}]}",
     "b=1 | 1 claims", NULL, PREFERENCE_RESPECT},
    {"required terms are not given up for preferences",
     "{pods: [{count: 2, " WEB ", spec: {affinity: {podAntiAffinity: {" REQUIRED
     ": [" TERM(HOST, "web", "") "], " PREFERRED ": [{weight: 1, podAffinityTerm: " TERM(
         ZONE, "web", "") "}]}}}}]}",
     "a=1 b=1 | 2 claims", NULL, PREFERENCE_RESPECT},
    {"mismatchLabelKeys: not with other revisions",
     "{nodes: [" NODE("n1", "a") "], bound: [{node: n1, labels: {app: web, rev: one}}],"
                                 " pods: [{count: 2, cpu: 1000, labels: {app: web, rev: two}, "
                                 "spec: {affinity: {podAntiAffinity: {" REQUIRED
                                 ": [" TERM(HOST, "web", ", mismatchLabelKeys: [rev]") "]}}}}]}",
     "?=2 | 1 claims", NULL, 0},
};

START_TEST(affinity)
{
    place_row(&rows[_i]);
}
END_TEST

UNIT_MAIN("sched_affinity", UNIT_CASES(affinity, rows))
