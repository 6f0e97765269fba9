#include "steps.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "guest.h"
#include "run.h"

#define STEP_WHO "scenario"

/* ---- targets
 * -------------------------------------------------------------------------------------- */

/* Node names that a TARGET means, in name order. Nothing matching is an error of the file. */
static json_t *target_nodes(struct sim_run *r, const json_t *target, const char *what,
                            struct err *reterr)
{
    static const char *const keys[] = {"node", "selector", "limit", NULL};
    if (scenario_keys(target, what, keys, reterr) < 0) {
        return NULL;
    }
    const char *node = jsonx_str(target, "node");
    int64_t limit = jsonx_int(target, "limit", INT64_MAX);
    struct jsonsel sel = {0};
    if (jsonsel_parse_labels(jsonx_str_or(target, "selector", ""), &sel, reterr) < 0) {
        return NULL;
    }
    json_t *names = json_array();
    for (size_t i = 0; i < sim_api_count(r->world->api, SIM_NODE); i++) {
        const json_t *o = sim_api_at(r->world->api, SIM_NODE, i);
        const char *name = jsonx_str(o, "metadata.name");
        bool hit =
            node ? str_eq(node, name) : jsonsel_match_labels(&sel, jsonx_obj(o, "metadata.labels"));
        if (hit && (int64_t)json_array_size(names) < limit) {
            json_array_append_new(names, json_string(name));
        }
    }
    jsonsel_done(&sel);
    if (json_array_size(names) == 0) {
        err_set(reterr, ERR_INVALID, "%s: no node matches", what);
        json_decref(names);
        return NULL;
    }
    return names;
}

/* The same as instance ids. */
static json_t *target_instances(struct sim_run *r, const json_t *target, const char *what,
                                struct err *reterr)
{
    AUTO_JSON json_t *names = target_nodes(r, target, what, reterr);
    size_t i;
    json_t *name;
    if (!names) {
        return NULL;
    }
    json_t *ids = json_array();
    json_array_foreach (names, i, name) {
        const struct simec2_instance *inst = simec2_find_node(r->ec2, json_string_value(name));
        if (inst) {
            json_array_append_new(ids, json_string(inst->id));
        }
    }
    return ids;
}

/* ---- objects
 * -------------------------------------------------------------------------------------- */

static int do_apply(struct sim_run *r, const json_t *list, struct err *reterr)
{
    size_t i;
    json_t *o;
    json_array_foreach ((json_t *)(uintptr_t)list, i, o) {
        struct err why = ERR_INIT;
        if (sim_api_apply(r->world->api, STEP_WHO, o, NULL, &why) < 0) {
            return err_set(reterr, ERR_INVALID, "apply[%zu]: %s", i, why.msg);
        }
        sim_note(r->world, "apply %s %s", jsonx_str_or(o, "kind", ""),
                 jsonx_str_or(o, "metadata.name", ""));
    }
    return 0;
}

static int delete_one(struct sim_run *r, enum sim_kind_id kind, const char *ns, const char *name,
                      struct err *reterr)
{
    sim_note(r->world, "delete %s %s", sim_kind(kind)->kind, name);
    return sim_api_delete(r->world->api, STEP_WHO, kind, ns, name, NULL, -1, NULL, reterr);
}

static int delete_selected(struct sim_run *r, enum sim_kind_id kind, const char *ns,
                           const char *selector, struct err *reterr)
{
    struct jsonsel sel = {0};
    AUTO_JSON json_t *hits = json_array();
    if (jsonsel_parse_labels(selector, &sel, reterr) < 0) {
        return -1;
    }
    for (size_t i = 0; i < sim_api_count(r->world->api, kind); i++) {
        const json_t *o = sim_api_at(r->world->api, kind, i);
        if ((!ns || str_eq(ns, jsonx_str(o, "metadata.namespace"))) &&
            jsonsel_match_labels(&sel, jsonx_obj(o, "metadata.labels"))) {
            json_array_append(hits, (json_t *)(uintptr_t)o);
        }
    }
    jsonsel_done(&sel);
    size_t i;
    json_t *o;
    json_array_foreach (hits, i, o) {
        if (delete_one(r, kind, jsonx_str_or(o, "metadata.namespace", ""),
                       jsonx_str(o, "metadata.name"), reterr) < 0) {
            return -1;
        }
    }
    return json_array_size(hits) ? 0 : err_set(reterr, ERR_INVALID, "nothing matches");
}

static int do_delete(struct sim_run *r, const json_t *list, struct err *reterr)
{
    size_t i;
    json_t *o;
    json_array_foreach ((json_t *)(uintptr_t)list, i, o) {
        enum sim_kind_id kind = sim_kind_find(jsonx_str(o, "kind"))->id;
        const char *name = jsonx_str(o, "name"), *selector = jsonx_str(o, "selector");
        const char *ns = jsonx_str(o, "namespace");
        int rc = name ? delete_one(r, kind, ns ? ns : "default", name, reterr)
                      : delete_selected(r, kind, ns, selector ? selector : "", reterr);
        if (rc < 0) {
            return err_wrap(reterr, "delete[%zu]", i);
        }
    }
    return 0;
}

static int do_scale(struct sim_run *r, const json_t *arg, struct err *reterr)
{
    enum sim_kind_id kind = sim_kind_find(jsonx_str(arg, "kind"))->id;
    const char *name = jsonx_str(arg, "name");
    int64_t replicas = jsonx_int(arg, "replicas", 0);
    sim_note(r->world, "scale %s %s to %lld", sim_kind(kind)->kind, name, (long long)replicas);
    return sim_api_patch(
        r->world->api, STEP_WHO, kind, "", jsonx_str_or(arg, "namespace", "default"), name,
        json_pack("{s:{s:I}}", "spec", "replicas", (json_int_t)replicas), NULL, reterr);
}

static int do_patch(struct sim_run *r, const json_t *arg, struct err *reterr)
{
    enum sim_kind_id kind = sim_kind_find(jsonx_str(arg, "kind"))->id;
    const char *name = jsonx_str(arg, "name");
    sim_note(r->world, "patch %s %s", sim_kind(kind)->kind, name);
    return sim_api_patch(r->world->api, STEP_WHO, kind, "",
                         jsonx_str_or(arg, "namespace", "default"), name,
                         json_deep_copy(jsonx_obj(arg, "merge")), NULL, reterr);
}

/* ---- the cloud
 * ------------------------------------------------------------------------------------- */

static int do_ec2(struct sim_run *r, const json_t *arg, struct err *reterr)
{
    static const char *const targets[] = {"spotInterruption", "rebalance", "terminate"};
    static const char *const nested[] = {"status", "scheduledEvent"};
    AUTO_JSON json_t *step = json_deep_copy(arg);
    for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
        const json_t *t = json_object_get(arg, targets[i]);
        json_t *ids = t ? target_instances(r, t, targets[i], reterr) : NULL;
        if (t && !ids) {
            return -1;
        }
        if (t) {
            json_object_set_new(step, targets[i], ids);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(nested); i++) {
        const json_t *t = jsonx_at(json_object_get(arg, nested[i]), "target");
        json_t *ids = t ? target_instances(r, t, nested[i], reterr) : NULL;
        if (t && !ids) {
            return -1;
        }
        if (t) {
            json_object_set_new(json_object_get(step, nested[i]), "target", ids);
        }
    }
    char *text AUTO_FREE = jsonx_dump(arg);
    sim_note(r->world, "ec2 %.200s", text);
    return simec2_step(r->ec2, step, reterr) < 0 ? err_wrap(reterr, "ec2") : 0;
}

static int do_sqs(struct sim_run *r, const json_t *arg, struct err *reterr)
{
    size_t i;
    json_t *m;
    json_array_foreach (json_object_get(arg, "send"), i, m) {
        char *text AUTO_FREE = json_is_string(m) ? xstrdup(json_string_value(m)) : jsonx_dump(m);
        if (strstr(text, "$INSTANCE(")) {
            return err_set(reterr, ERR_INVALID,
                           "sqs.send[%zu]: $INSTANCE is not known to this version", i);
        }
        if (!simec2_queue_send(r->ec2, text)) {
            return err_set(reterr, ERR_INVALID, "sqs.send[%zu]: the queue takes no more", i);
        }
    }
    return 0;
}

/* ---- the API server
 * --------------------------------------------------------------------------------- */

struct api_fault {
    char verb[24], resource[64];
    int code;
    int64_t times;
};

int api_trouble_fault(struct sim_run *r, const char *verb, const char *resource, int64_t *extra_ns)
{
    struct api_trouble *t = r->trouble;
    if (vclock_now(&r->world->clock) < t->latency_until_ns) {
        *extra_ns += t->latency_ns;
    }
    for (size_t i = 0; i < t->n; i++) {
        struct api_fault *f = &t->faults[i];
        if (f->times > 0 && str_glob(f->verb, verb) && str_glob(f->resource, resource)) {
            f->times--;
            return f->code;
        }
    }
    return 0;
}

void api_trouble_free(struct api_trouble *t)
{
    if (t) {
        free(t->faults);
        free(t);
    }
}

static int do_api(struct sim_run *r, const json_t *arg, struct err *reterr)
{
    struct api_trouble *t = r->trouble;
    const json_t *fail = json_object_get(arg, "fail"), *latency = json_object_get(arg, "latency");
    if (fail) {
        int64_t code = jsonx_int(fail, "code", 500);
        if (code < 400 || code > 599) {
            return err_set(reterr, ERR_INVALID, "api.fail.code: %lld is no failure",
                           (long long)code);
        }
        ARRAY_GROW(t->faults, t->n, t->cap);
        struct api_fault *f = &t->faults[t->n++];
        str_copy(f->verb, sizeof(f->verb), jsonx_str_or(fail, "verb", "*"));
        str_copy(f->resource, sizeof(f->resource), jsonx_str_or(fail, "resource", "*"));
        f->code = (int)code;
        f->times = jsonx_int(fail, "times", 1);
    }
    if (latency) {
        int64_t of_ns = 0, for_ns = NS_NEVER / 2;
        if (scenario_duration(latency, "of", "api.latency", &of_ns, reterr) < 0 ||
            scenario_duration(latency, "for", "api.latency", &for_ns, reterr) < 0) {
            return -1;
        }
        t->latency_ns = of_ns;
        t->latency_until_ns = vclock_now(&r->world->clock) + for_ns;
    }
    if (json_is_true(json_object_get(arg, "breakWatches"))) {
        sim_api_break_watches(r->world->api);
    }
    sim_note(r->world, "the API server is troubled");
    return 0;
}

/* ---- agents and the rest
 * ------------------------------------------------------------------------------ */

static int do_agent(struct sim_run *r, const json_t *arg, struct err *reterr)
{
    const json_t *crash = json_object_get(arg, "crash");
    int64_t restart_ns = GUEST_RESTART_NS;
    if (r->n_guests == 0) {
        return err_set(reterr, ERR_INVALID, "agent: there is none");
    }
    scenario_duration(arg, "restartAfter", "agent", &restart_ns, NULL);
    if (json_is_object(crash)) {
        scenario_duration(crash, "restartAfter", "agent.crash", &restart_ns, NULL);
        for (int i = 0; i < r->n_guests; i++) {
            guest_arm(r->guests[i], jsonx_str(crash, "after"), (uint64_t)jsonx_int(crash, "nth", 1),
                      restart_ns);
        }
        return 0;
    }
    for (int i = 0; i < r->n_guests; i++) {
        if (json_is_true(crash)) {
            sim_note(r->world, "%s is killed", guest_name(r->guests[i]));
            guest_crash(r->guests[i], restart_ns);
            break; /* one process at a time, the first */
        }
        if (json_is_true(json_object_get(arg, "stop"))) {
            sim_note(r->world, "%s is stopped", guest_name(r->guests[i]));
            guest_crash(r->guests[i], -1);
        } else if (json_is_true(json_object_get(arg, "start"))) {
            guest_start(r->guests[i]);
        }
    }
    return 0;
}

static int world_part(struct sim_run *r, const json_t *list, bool stop, struct err *reterr)
{
    size_t i;
    json_t *part;
    json_array_foreach ((json_t *)(uintptr_t)list, i, part) {
        const char *name = json_string_value(part);
        sim_note(r->world, "%s %s", name ? name : "", stop ? "stops" : "starts");
        if (str_eq(name, "scheduler")) {
            (stop ? sim_sched_stop : sim_sched_start)(r->world->sched);
        } else if (str_eq(name, "controller-manager")) {
            (stop ? sim_workloads_stop : sim_workloads_start)(r->world->workloads);
        } else {
            return err_set(reterr, ERR_INVALID, "world.%s[%zu]: no such part",
                           stop ? "stop" : "start", i);
        }
    }
    return 0;
}

static int do_kubelet(struct sim_run *r, const json_t *arg, struct err *reterr)
{
    static const char *const verbs[] = {"stop", "start"};
    for (size_t v = 0; v < ARRAY_LEN(verbs); v++) {
        const json_t *target = json_object_get(arg, verbs[v]);
        if (!target) {
            continue;
        }
        AUTO_JSON json_t *names = target_nodes(r, target, "world.kubelet", reterr);
        size_t i;
        json_t *name;
        if (!names) {
            return -1;
        }
        json_array_foreach (names, i, name) {
            sim_note(r->world, "kubelet of %s %ss", json_string_value(name), verbs[v]);
            (v == 0 ? sim_kubelet_stop : sim_kubelet_start)(r->world->kubelet,
                                                            json_string_value(name));
        }
    }
    return 0;
}

static int do_hold_volumes(struct sim_run *r, const json_t *target, struct err *reterr)
{
    AUTO_JSON json_t *names = target_nodes(r, target, "world.holdVolumes", reterr);
    size_t i;
    json_t *name;
    if (!names) {
        return -1;
    }
    json_array_foreach (names, i, name) {
        sim_note(r->world, "volumes of %s are held", json_string_value(name));
        sim_workloads_hold_volumes(r->world->workloads, json_string_value(name), true);
    }
    return 0;
}

static int do_world(struct sim_run *r, const json_t *arg, struct err *reterr)
{
    int64_t jump_ns = 0;
    if (world_part(r, json_object_get(arg, "stop"), true, reterr) < 0 ||
        world_part(r, json_object_get(arg, "start"), false, reterr) < 0 ||
        scenario_duration(arg, "clockJump", "world", &jump_ns, reterr) < 0) {
        return -1;
    }
    for (int i = 0; jump_ns && i < r->n_guests; i++) {
        guest_clock_jump(r->guests[i], jump_ns);
    }
    const json_t *kubelet = json_object_get(arg, "kubelet");
    const json_t *hold = json_object_get(arg, "holdVolumes");
    if (hold && do_hold_volumes(r, hold, reterr) < 0) {
        return -1;
    }
    return kubelet ? do_kubelet(r, kubelet, reterr) : 0;
}

int step_do(struct sim_run *r, const struct scenario_step *s, struct err *reterr)
{
    switch (s->verb) {
    case STEP_APPLY:
        return do_apply(r, s->arg, reterr);
    case STEP_DELETE:
        return do_delete(r, s->arg, reterr);
    case STEP_SCALE:
        return do_scale(r, s->arg, reterr);
    case STEP_PATCH:
        return do_patch(r, s->arg, reterr);
    case STEP_EC2:
        return do_ec2(r, s->arg, reterr);
    case STEP_SQS:
        return do_sqs(r, s->arg, reterr);
    case STEP_API:
        return do_api(r, s->arg, reterr);
    case STEP_AGENT:
        return do_agent(r, s->arg, reterr);
    case STEP_WORLD:
        return do_world(r, s->arg, reterr);
    case STEP_EXPECT:
    case STEP_VERBS:
        break;
    }
    BUG("step verb %d", (int)s->verb);
}
