/*
 * simrig.h - what tests of the simulated world share: a world, objects from short texts.
 *
 * Texts are JSON with ' for ". Everything fails the test at hand when it does not work.
 */
#ifndef KARP_TESTS_SIMRIG_H
#define KARP_TESTS_SIMRIG_H

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "tests/sim/kube/podspec.h"
#include "tests/sim/kube/world.h"
#include "unit.h"

#define RIG_START_NS (INT64_C(1767603600) * NS_PER_S) /* 2026-01-05T09:00:00Z */

static inline struct sim_world *rig_world(uint64_t seed)
{
    struct sim_world_options o = {.start_wall_ns = RIG_START_NS, .seed = seed};
    return sim_world_new(&o);
}

static inline json_t *rig_json(const char *text)
{
    char *copy = xstrdup(text);
    json_error_t e;
    for (char *p = copy; *p; p++) {
        *p = *p == '\'' ? '"' : *p;
    }
    json_t *v = json_loads(copy, 0, &e);
    ck_assert_msg(v != NULL, "%s in %s", e.text, copy);
    free(copy);
    return v;
}

static inline void rig_apply(struct sim_world *w, const char *text)
{
    struct err e = ERR_INIT;
    json_t *o = rig_json(text);
    ck_assert_msg(sim_api_apply(w->api, "test", o, NULL, &e) == 0, "%s", e.msg);
    json_decref(o);
}

static inline void rig_patch(struct sim_world *w, enum sim_kind_id kind, const char *name,
                             const char *text)
{
    struct err e = ERR_INIT;
    ck_assert_msg(
        sim_api_patch(w->api, "test", kind, "", "default", name, rig_json(text), NULL, &e) == 0,
        "%s", e.msg);
}

/* A machine in us-west-2a that is ready after 1 s; more_taints and more_labels may be NULL. */
static inline void rig_node(struct sim_world *w, const char *name, const char *capacity,
                            const char *labels, const char *taints)
{
    struct err e = ERR_INIT;
    char id[80];
    snprintf(id, sizeof(id), "aws:///us-west-2a/i-%s", name);
    json_t *cap = rig_json(capacity);
    json_t *l = labels ? rig_json(labels) : NULL, *t = taints ? rig_json(taints) : NULL;
    struct sim_node_spec s = {.name = name,
                              .provider_id = id,
                              .arch = "amd64",
                              .zone = "us-west-2a",
                              .region = "us-west-2",
                              .capacity = cap,
                              .labels = l,
                              .taints = t,
                              .ready_ns = NS_PER_S};
    ck_assert_msg(sim_node_register(w, &s, &e) == 0, "%s", e.msg);
    json_decref(cap);
    json_decref(l);
    json_decref(t);
}

static inline void rig_run(struct sim_world *w, int64_t ns)
{
    vclock_run_to(&w->clock, vclock_now(&w->clock) + ns);
}

/* Pods of namespace default on the node ("" = on none), of a phase (NULL = any). */
static inline size_t rig_pods(const struct sim_world *w, const char *node, const char *phase)
{
    size_t n = 0;
    for (size_t i = 0; i < sim_api_count(w->api, SIM_POD); i++) {
        const json_t *p = sim_api_at(w->api, SIM_POD, i);
        n += str_eq(sim_pod_node(p), node) &&
             (!phase || str_eq(jsonx_str(p, "status.phase"), phase));
    }
    return n;
}

#define RIG_BIG "{'cpu':'16','memory':'64Gi','pods':'110'}"

/* A Deployment with one container. */
static inline void rig_deployment(struct sim_world *w, const char *name, int replicas,
                                  const char *cpu)
{
    char *text = xasprintf(
        "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'%s'},'spec':{"
        "'replicas':%d,'selector':{'matchLabels':{'app':'%s'}},'template':{'metadata':{"
        "'labels':{'app':'%s'}},'spec':{'containers':[{'name':'c','resources':{'requests':{"
        "'cpu':'%s'}}}]}}}}",
        name, replicas, name, name, cpu);
    rig_apply(w, text);
    free(text);
}

/* ---- requests ---------------------------------------------------------------------------------
 */

/* One request, body as text or NULL; the answer must be released. */
static inline struct kube_resp rig_call(struct sim_world *w, const char *method, const char *path,
                                        const char *body)
{
    json_t *json = body ? rig_json(body) : NULL;
    struct kube_req req = {.method = method, .path = path, .body = json};
    if (str_eq(method, "PATCH")) {
        req.content_type = KUBE_MERGE_PATCH;
    }
    struct kube_resp r;
    sim_api_call(w->api, "test", &req, &r);
    json_decref(json);
    return r;
}

/* The same when only the outcome counts. */
static inline void rig_expect(struct sim_world *w, const char *method, const char *path,
                              const char *body, int code)
{
    struct kube_resp r = rig_call(w, method, path, body);
    ck_assert_msg(r.status == code, "%s %s: %d, not %d: %s", method, path, r.status, code,
                  r.err.msg);
    sim_api_resp_done(&r);
}

#define RIG_CONFIGMAPS "/api/v1/namespaces/default/configmaps"
#define RIG_PODS "/api/v1/namespaces/default/pods"

/* A ConfigMap with label v and data v. */
static inline void rig_configmap(struct sim_world *w, const char *name, const char *value)
{
    char *body = xasprintf("{'metadata':{'name':'%s','labels':{'v':'%s'}},'data':{'v':'%s'}}", name,
                           value, value);
    rig_expect(w, "POST", RIG_CONFIGMAPS, body, 201);
    free(body);
}

/* A pod that no scheduler takes up, labelled app=a. */
static inline void rig_placed_pod(struct sim_world *w, const char *name, const char *node)
{
    char *body = xasprintf("{'metadata':{'name':'%s','labels':{'app':'a'}},'spec':{'nodeName':'%s',"
                           "'schedulerName':'none','containers':[{'name':'c'}]}}",
                           name, node);
    rig_expect(w, "POST", RIG_PODS, body, 201);
    free(body);
}

#endif
