/* test_held.c - pods that cannot be made (cmd/read/held.h): objects as a snapshot has them, and
 * findings.
 */
#include "cmd/read/held.h"
#include "cmd/world.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/yamlx.h"
#include "unit.h"

#define WORKLOAD(kind, spec, status)                                                               \
    "{apiVersion: apps/v1, kind: " kind                                                            \
    ", metadata: {name: api, namespace: shop, generation: 2}, "                                    \
    "spec: {" spec                                                                                 \
    " template: {spec: {containers: [{name: c, resources: {requests: {cpu: 2}}}]}}},"              \
    " status: {" status "}}"
#define JOB(spec, status)                                                                          \
    "{apiVersion: batch/v1, kind: Job, metadata: {name: api, namespace: shop}, spec: {" spec       \
    " template: {spec: {containers: [{name: c, resources: {requests: {cpu: 2}}}]}}}, status: "     \
    "{" status "}}"
#define QUOTA(used)                                                                                \
    ", {apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: shop}, spec: {hard: "  \
    "{requests.cpu: 10}}, status: {used: {" used "}}}"
#define LIMIT(ns)                                                                                  \
    ", {apiVersion: v1, kind: LimitRange, metadata: {name: l, namespace: " ns                      \
    "}, spec: {limits: [{type: Pod, maxLimitRequestRatio: {cpu: 2}}]}}"
#define FULL QUOTA("requests.cpu: 9")
#define FAILED                                                                                     \
    "conditions: [{type: ReplicaFailure, status: 'True', reason: FailedCreate, message: 'denied "  \
    "by webhook'}]"

static const struct {
    const char *objects, *held; /* "kind ns/name missing code why", "" = none */
} rows[] = {
    {WORKLOAD("Deployment", "replicas: 5,", "replicas: 2, observedGeneration: 2") FULL,
     "deployment shop/api 3 ResourceQuota resourcequota q: requests.cpu 10"},
    {WORKLOAD("Deployment", "replicas: 5,", "replicas: 5, observedGeneration: 2") FULL, ""},
    /* Not looked at yet, no status, room. */
    {WORKLOAD("Deployment", "replicas: 5,", "replicas: 2, observedGeneration: 1") FULL, ""},
    {"{apiVersion: apps/v1, kind: Deployment, metadata: {name: api, namespace: shop}, spec: "
     "{replicas: 5}}" FULL,
     ""},
    {WORKLOAD("Deployment", "replicas: 5,", "replicas: 2") QUOTA("requests.cpu: 8"), ""},
    /* What a quota does not tell is not guessed. */
    {WORKLOAD("Deployment", "replicas: 5,", "replicas: 2") QUOTA(""), ""},
    {WORKLOAD("Deployment", "replicas: 5,", "replicas: 2") LIMIT("shop") FULL,
     "deployment shop/api 3 LimitRange limitrange l: the pod needs a cpu request and a limit, "
     "which "
     "may be 2 times as much"},
    {WORKLOAD("Deployment", "replicas: 5,", "replicas: 2") LIMIT("other"), ""},
    {WORKLOAD("Deployment", "replicas: 5,", "replicas: 2, " FAILED),
     "deployment shop/api 3 NotCreated denied by webhook"},
    {WORKLOAD("StatefulSet", "replicas: 3,", "replicas: 1") FULL,
     "statefulset shop/api 2 ResourceQuota resourcequota q: requests.cpu 10"},
    {WORKLOAD("ReplicaSet", "replicas: 3,", "replicas: 1") FULL,
     "replicaset shop/api 2 ResourceQuota resourcequota q: requests.cpu 10"},
    {"{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: api-1, namespace: shop, "
     "ownerReferences: [{kind: Deployment, name: api}]}, spec: {replicas: 3}, status: {replicas: "
     "1, " FAILED "}}",
     ""},
    {WORKLOAD("DaemonSet", "", "desiredNumberScheduled: 4, currentNumberScheduled: 3") FULL,
     "daemonset shop/api 1 ResourceQuota resourcequota q: requests.cpu 10"},
    {JOB("parallelism: 4, completions: 9,", "active: 1, succeeded: 7") FULL,
     "job shop/api 1 ResourceQuota resourcequota q: requests.cpu 10"},
    {JOB("parallelism: 4, completions: 9,", "active: 1, succeeded: 8") FULL, ""},
    {JOB("parallelism: 4, suspend: true,", "active: 0") FULL, ""},
    {JOB("parallelism: 4,", "conditions: [{type: Failed, status: 'True'}]") FULL, ""},
    {JOB("parallelism: 2,", "active: 5") FULL, ""},
};

static void fill(struct world *w, const char *objects)
{
    struct err err = ERR_INIT;
    AUTO_FREE char *text = xasprintf("[%s]", objects);
    AUTO_JSON json_t *docs = yamlx_parse_all(text, strlen(text), "row", NULL, &err);
    ck_assert_msg(docs != NULL, "%s in %s", err.msg, text);
    size_t i;
    json_t *o;
    json_array_foreach (json_array_get(docs, 0), i, o) {
        ck_assert_uint_eq(world_add(w, o, NULL, NULL), 1);
    }
    world_finish(w);
}

static const char *found(struct world *w, const char *ns)
{
    struct held_list l = {NULL, 0, 0};
    held_find(w, &w->mem, ns, &l);
    ck_assert_uint_le(l.n, 1);
    const struct held *h = l.v;
    return l.n ? arena_printf(&w->mem, "%s %s/%s %lld %s %s", h->kind, h->ns, h->name,
                              (long long)h->missing, h->code, h->why)
               : "";
}

START_TEST(test_held)
{
    struct world w;
    world_init(&w, "karp");
    fill(&w, rows[_i].objects);
    ck_assert_str_eq(found(&w, NULL), rows[_i].held);
    ck_assert_str_eq(found(&w, "shop"), rows[_i].held);
    ck_assert_str_eq(found(&w, "other"), "");
    world_done(&w);
}
END_TEST

/* The later of two objects counts: one that has its pods by now is held no more. */
START_TEST(test_replaced)
{
    struct world w;
    world_init(&w, "karp");
    fill(&w, WORKLOAD("Deployment", "replicas: 5,", "replicas: 2") FULL);
    fill(&w, WORKLOAD("Deployment", "replicas: 5,", "replicas: 5"));
    ck_assert_str_eq(found(&w, NULL), "");
    fill(&w, WORKLOAD("Deployment", "replicas: 5,", "replicas: 2"));
    ck_assert_str_ne(found(&w, NULL), "");
    world_forget(&w, KIND_RESOURCE_QUOTA);
    ck_assert_str_eq(found(&w, NULL), "");
    world_done(&w);
}
END_TEST

UNIT_MAIN("held", UNIT_CASES(test_held, rows), UNIT_TEST(test_replaced))
