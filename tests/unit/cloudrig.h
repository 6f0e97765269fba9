/*
 * cloudrig.h - agent/cloud without the rest of the agent: a simulated EC2 behind the fence, and an
 * API server of a few objects that takes merge patches.
 *
 * Objects are put with rig_put and found again by kind and name; what the cloud patches goes into
 * them (with a new resourceVersion) and, as in the agent, into the store before its answer.
 */
#ifndef KARP_TESTS_CLOUDRIG_H
#define KARP_TESTS_CLOUDRIG_H

#include "agent/cloud/cloud_int.h"
#include "agent/work/gate.h"
#include "common/base/jsonx.h"
#include "common/kube/events.h"
#include "unit.h"

#include "fakeagent.h"
#include "tests/sim/ec2/ec2.h"

#define RIG_OBJECTS_MAX 16
#define RIG_ENDPOINT "https://api.example:6443"

struct rig {
    struct fake *f;
    struct runtime *rt;
    struct simec2 *ec2;
    struct simec2_port *port;
    struct simec2_hooks hooks;
    struct events_env events_env;
    struct cloud *cloud;
    json_t *objects[RIG_OBJECTS_MAX];
    size_t n_objects;
    int64_t version;
    size_t answered; /* of the fake's calls */
    size_t patches, deletes;
    unsigned refuse_patches; /* so many are answered with a conflict */
};

/* ---- the API server ----------------------------------------------------------------------------
 */

static inline json_t *rig_object(struct rig *r, const char *name)
{
    for (size_t i = 0; i < r->n_objects; i++) {
        if (str_eq(jsonx_str(r->objects[i], "metadata.name"), name)) {
            return r->objects[i];
        }
    }
    return NULL;
}

static inline void rig_store(struct rig *r, json_t *o)
{
    char text[32];
    snprintf(text, sizeof(text), "%lld", (long long)++r->version);
    jsonx_set_new(o, "metadata.resourceVersion", json_string(text));
    store_observe(r->rt->store, o);
}

/* Takes the reference; replaces one of the same name. */
static inline void rig_put(struct rig *r, json_t *o)
{
    const char *name = jsonx_str(o, "metadata.name");
    for (size_t i = 0; i < r->n_objects; i++) {
        if (str_eq(jsonx_str(r->objects[i], "metadata.name"), name)) {
            json_decref(r->objects[i]);
            r->objects[i] = o;
            rig_store(r, o);
            return;
        }
    }
    ck_assert_uint_lt(r->n_objects, RIG_OBJECTS_MAX);
    r->objects[r->n_objects++] = o;
    rig_store(r, o);
}

/* ".../ec2nodeclasses/NAME[/status]" */
static inline json_t *rig_at(struct rig *r, const char *path)
{
    char name[256];
    static const char *const kinds[] = {"/ec2nodeclasses/", "/nodeclaims/", "/nodes/"};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        const char *at = strstr(path, kinds[i]);
        if (at) {
            at += strlen(kinds[i]);
            snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, "/?"), at);
            return rig_object(r, name);
        }
    }
    return NULL;
}

/* All objects of the kind whose plural the path ends with. */
static inline json_t *rig_list(struct rig *r, const char *path)
{
    char rv[32];
    json_t *items = json_array();
    for (size_t i = 0; i < r->n_objects; i++) {
        enum kube_kind k;
        const char *kind = jsonx_str_or(r->objects[i], "kind", "");
        if (kube_kind_find(kind, NULL, &k) && str_contains(path, kube_kind(k)->plural)) {
            json_array_append_new(items, json_deep_copy(r->objects[i]));
        }
    }
    snprintf(rv, sizeof(rv), "%lld", (long long)r->version + 1);
    return json_pack("{s:{s:s}, s:o}", "metadata", "resourceVersion", rv, "items", items);
}

static inline void rig_delete(struct rig *r, const char *name)
{
    for (size_t i = 0; i < r->n_objects; i++) {
        json_t *o = r->objects[i];
        if (!str_eq(jsonx_str(o, "metadata.name"), name)) {
            continue;
        }
        jsonx_set_new(o, "metadata.deletionTimestamp", json_string("2026-01-05T09:30:00Z"));
        rig_store(r, o);
        if (json_array_size(jsonx_arr(o, "metadata.finalizers")) == 0) {
            r->objects[i] = r->objects[--r->n_objects];
            json_decref(o);
        }
        return;
    }
}

static inline void rig_answer(struct rig *r, struct fake_call *c)
{
    json_t *o = rig_at(r, c->path);
    if (str_eq(c->method, "PATCH") && r->refuse_patches > 0) {
        r->refuse_patches--;
        fake_answer(c, 409, ERR_CONFLICT, NULL);
        return;
    }
    if (str_eq(c->method, "DELETE") && o) {
        json_t *body = json_deep_copy(o);
        r->deletes++;
        rig_delete(r, jsonx_str(body, "metadata.name"));
        fake_answer(c, 200, ERR_NONE, body);
        return;
    }
    if (str_eq(c->method, "PATCH") && o) {
        r->patches++;
        jsonx_merge_patch(o, c->body);
        rig_store(r, o);
        fake_answer(c, 200, ERR_NONE, json_deep_copy(o));
    } else if (str_eq(c->method, "GET") && str_contains(c->path, "limit=")) {
        fake_answer(c, 200, ERR_NONE, rig_list(r, c->path));
    } else if (str_eq(c->method, "POST")) {
        fake_answer(c, 201, ERR_NONE, json_object()); /* events */
    } else {
        fake_answer(c, 404, ERR_NOT_FOUND, NULL);
    }
}

/* Moves time in small steps and answers what is asked of the API server. */
static inline void rig_run(struct rig *r, int64_t ns)
{
    int64_t until_ns = r->f->now_ns + ns;
    while (r->f->now_ns < until_ns) {
        fake_run(r->f, 100 * NS_PER_MS);
        for (; r->answered < r->f->n; r->answered++) {
            struct fake_call *c = &r->f->calls[r->answered];
            if (c->open && !c->watch) {
                rig_answer(r, c);
            }
        }
    }
}

/* ---- life --------------------------------------------------------------------------------------
 */

/* The cloud is to be started by the test. */
static inline void rig_init(struct rig *r)
{
    struct simec2_opts o;
    struct err err = ERR_INIT;
    *r = (struct rig){.f = fake_new()};
    struct runtime *rt = r->rt = &r->f->rt;
    simec2_opts_default(&o);
    o.endpoint = RIG_ENDPOINT;
    o.ca_b64 = "Q0E=";
    r->f->opt.cluster_name = o.cluster;
    r->f->opt.region = o.region;
    r->f->opt.leader_election = false;
    r->f->opt.vm_overhead_permyriad = 750;
    r->f->opt.gate_reserved_capacity = true;
    r->ec2 = simec2_new(&o, &r->f->clock, &rt->timers, &r->hooks, &err);
    ck_assert_msg(r->ec2 != NULL, "%s", err.msg);
    r->port = simec2_port_new(r->ec2);
    rt->gate = gate_new(rt, &r->f->kube, simec2_port_aws(r->port));
    gate_set_standby(rt->gate, false);
    rt->kube = gate_kube(rt->gate);
    rt->client = (struct kube_client){.port = &rt->kube, .field_manager = "karp-agent"};
    rt->aws = gate_aws(rt->gate);
    rt->awsc = aws_client_new(&rt->aws, &rt->timers, rt->clock, *rt->entropy);
    rt->store = store_new(rt);
    r->events_env = (struct events_env){
        .client = &rt->client, .clock = rt->clock, .entropy = rt->entropy, .host = "pod-0"};
    rt->events = events_new(&r->events_env);
    rt->cluster_uid = "cluster-1";
    rt->cloud = r->cloud = cloud_new(rt);
    store_start(rt->store);
}

static inline void rig_done(struct rig *r)
{
    struct runtime *rt = r->rt;
    cloud_free(r->cloud);
    events_free(rt->events);
    store_free(rt->store);
    aws_client_free(rt->awsc);
    gate_free(rt->gate);
    simec2_port_free(r->port);
    simec2_free(r->ec2);
    for (size_t i = 0; i < r->n_objects; i++) {
        json_decref(r->objects[i]);
    }
    fake_free(r->f);
}

static inline void rig_step(struct rig *r, const char *json)
{
    struct err err = ERR_INIT;
    AUTO_JSON json_t *o = fake_json(json);
    ck_assert_msg(simec2_step(r->ec2, o, &err) == 0, "%s", err.msg);
}

/* ---- objects -----------------------------------------------------------------------------------
 */

/* patch (may be NULL) is merged into an ordinary spec. */
static inline json_t *rig_class(const char *patch)
{
    json_t *o = fake_json(
        "{\"apiVersion\":\"karpenter.k8s.aws/v1\",\"kind\":\"EC2NodeClass\",\"metadata\":"
        "{\"name\":\"default\",\"uid\":\"class-1\",\"generation\":1,\"creationTimestamp\":"
        "\"2026-01-05T08:00:00Z\"},\"spec\":{\"amiSelectorTerms\":[{\"alias\":"
        "\"al2023@latest\"}],\"subnetSelectorTerms\":[{\"tags\":{\"karpenter.sh/discovery\":"
        "\"sim\"}}],\"securityGroupSelectorTerms\":[{\"tags\":{\"karpenter.sh/discovery\":"
        "\"sim\"}}],\"instanceProfile\":\"nodes\"}}");
    if (patch) {
        AUTO_JSON json_t *p = fake_json(patch);
        jsonx_merge_patch(o, p);
    }
    return o;
}

static inline json_t *rig_claim(const char *patch)
{
    json_t *o = fake_json(
        "{\"apiVersion\":\"karpenter.sh/v1\",\"kind\":\"NodeClaim\",\"metadata\":{\"name\":"
        "\"claim\",\"uid\":\"claim-1\",\"generation\":1,\"creationTimestamp\":"
        "\"2026-01-05T09:00:00Z\",\"labels\":{\"karpenter.sh/nodepool\":\"pool\",\"intent\":"
        "\"apps\"},\"annotations\":{\"karpenter.k8s.aws/ec2nodeclass-hash-version\":\"karp1\"},"
        "\"finalizers\":[\"karpenter.sh/termination\"]},\"spec\":{\"nodeClassRef\":{\"group\":"
        "\"karpenter.k8s.aws\",\"kind\":\"EC2NodeClass\",\"name\":\"default\"},"
        "\"requirements\":[{\"key\":\"karpenter.sh/capacity-type\",\"operator\":\"In\","
        "\"values\":[\"spot\",\"on-demand\"]},{\"key\":\"kubernetes.io/arch\",\"operator\":"
        "\"In\",\"values\":[\"amd64\"]}],\"resources\":{\"requests\":{\"cpu\":\"3\","
        "\"memory\":\"4Gi\",\"pods\":\"3\"}}}}");
    if (patch) {
        AUTO_JSON json_t *p = fake_json(patch);
        jsonx_merge_patch(o, p);
    }
    return o;
}

/* "True", "False AMINotFound", "absent" of an object's condition. */
static inline const char *rig_condition(struct rig *r, const char *name, const char *type,
                                        char dst[256])
{
    const json_t *list = jsonx_arr(rig_object(r, name), "status.conditions");
    size_t i;
    json_t *c;
    json_array_foreach ((json_t *)(uintptr_t)list, i, c) {
        if (str_eq(jsonx_str(c, "type"), type)) {
            const char *status = jsonx_str_or(c, "status", "");
            snprintf(dst, 256, "%s%s%s", status, str_eq(status, "True") ? "" : " ",
                     str_eq(status, "True") ? "" : jsonx_str_or(c, "reason", ""));
            return dst;
        }
    }
    snprintf(dst, 256, "absent");
    return dst;
}

#endif
