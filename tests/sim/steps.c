#include "steps.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "guest.h"
#include "run.h"

#define STEP_WHO "scenario"
#define MESSAGE_MAX (512u << 10)

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

/* Nobody who writes a file knows UIDs: an owner without one is the object of that name. */
static void own(const struct sim_run *r, json_t *o)
{
    size_t i;
    json_t *ref;
    json_array_foreach (jsonx_arr(o, "metadata.ownerReferences"), i, ref) {
        const struct sim_kind *kind = sim_kind_find(jsonx_str_or(ref, "kind", ""));
        const json_t *owner =
            kind && !jsonx_str(ref, "uid")
                ? sim_api_get(r->world->api, kind->id, jsonx_str_or(o, "metadata.namespace", ""),
                              jsonx_str_or(ref, "name", ""))
                : NULL;
        if (owner) {
            json_object_set(ref, "uid", jsonx_at(owner, "metadata.uid"));
        }
    }
}

static int do_apply(struct sim_run *r, const json_t *list, struct err *reterr)
{
    size_t i;
    json_t *item;
    json_array_foreach ((json_t *)(uintptr_t)list, i, item) {
        struct err why = ERR_INIT;
        AUTO_JSON json_t *o = json_deep_copy(item);
        own(r, o);
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

/* The objects that match; nothing matching is an error. ns NULL: all namespaces. New reference. */
static json_t *select_objects(struct sim_run *r, enum sim_kind_id kind, const char *ns,
                              const char *selector, struct err *reterr)
{
    struct jsonsel sel = {0};
    if (jsonsel_parse_labels(selector, &sel, reterr) < 0) {
        return NULL;
    }
    json_t *hits = json_array();
    for (size_t i = 0; i < sim_api_count(r->world->api, kind); i++) {
        const json_t *o = sim_api_at(r->world->api, kind, i);
        if ((!ns || str_eq(ns, jsonx_str(o, "metadata.namespace"))) &&
            jsonsel_match_labels(&sel, jsonx_obj(o, "metadata.labels"))) {
            json_array_append(hits, (json_t *)(uintptr_t)o);
        }
    }
    jsonsel_done(&sel);
    if (json_array_size(hits) == 0) {
        json_decref(hits);
        err_set(reterr, ERR_INVALID, "nothing matches");
        return NULL;
    }
    return hits;
}

static int delete_selected(struct sim_run *r, enum sim_kind_id kind, const char *ns,
                           const char *selector, struct err *reterr)
{
    AUTO_JSON json_t *hits = select_objects(r, kind, ns, selector, reterr);
    size_t i;
    json_t *o;
    json_array_foreach (hits, i, o) {
        if (delete_one(r, kind, jsonx_str_or(o, "metadata.namespace", ""),
                       jsonx_str(o, "metadata.name"), reterr) < 0) {
            return -1;
        }
    }
    return hits ? 0 : -1;
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

static int patch_one(struct sim_run *r, enum sim_kind_id kind, const char *ns, const char *name,
                     const json_t *merge, struct err *reterr)
{
    sim_note(r->world, "patch %s %s", sim_kind(kind)->kind, name);
    return sim_api_patch(r->world->api, STEP_WHO, kind, "", ns, name, json_deep_copy(merge), NULL,
                         reterr);
}

static int do_patch(struct sim_run *r, const json_t *arg, struct err *reterr)
{
    enum sim_kind_id kind = sim_kind_find(jsonx_str(arg, "kind"))->id;
    const char *name = jsonx_str(arg, "name"), *ns = jsonx_str(arg, "namespace");
    const json_t *merge = jsonx_obj(arg, "merge");
    if (name) {
        return patch_one(r, kind, ns ? ns : "default", name, merge, reterr);
    }
    AUTO_JSON json_t *hits = select_objects(r, kind, ns, jsonx_str_or(arg, "selector", ""), reterr);
    size_t i;
    json_t *o;
    json_array_foreach (hits, i, o) {
        if (patch_one(r, kind, jsonx_str_or(o, "metadata.namespace", ""),
                      jsonx_str(o, "metadata.name"), merge, reterr) < 0) {
            return -1;
        }
    }
    return hits ? 0 : -1;
}

/* ---- decisions on DisruptionRequests
 * ------------------------------------------------------------------------------------- */

static bool waits(const json_t *o, const char *reason)
{
    return str_eq(jsonx_str_or(o, "status.phase", "Pending"), "Pending") &&
           !jsonx_str(o, "spec.decision") &&
           (!reason || str_eq(reason, jsonx_str(o, "spec.reason")));
}

static json_t *decision_of(const struct sim_run *r, const json_t *arg)
{
    char at[TIMEFMT_TEXT];
    int64_t after_ns = 0;
    json_t *spec = json_pack("{s:s, s:s}", "decision", jsonx_str(arg, "decision"), "decidedBy",
                             jsonx_str_or(arg, "by", STEP_WHO));
    if (jsonx_str(arg, "note")) {
        json_object_set_new(spec, "note", json_string(jsonx_str(arg, "note")));
    }
    if (jsonx_str(arg, "notBefore")) {
        (void)timefmt_parse_duration_days(jsonx_str(arg, "notBefore"), &after_ns);
        json_object_set_new(
            spec, "notBefore",
            json_string(timefmt_rfc3339(vclock_wall(&r->world->clock) + after_ns, at)));
    }
    return json_pack("{s:o}", "spec", spec);
}

/* On those that wait, in the order of their names. */
static int do_decide(struct sim_run *r, const json_t *arg, struct err *reterr)
{
    const char *who = jsonx_str_or(arg, "by", STEP_WHO);
    int64_t left = jsonx_int(arg, "limit", INT64_MAX);
    json_t *names = json_array();
    AUTO_JSON json_t *owned = names;
    size_t i;
    json_t *name;
    for (size_t k = 0; k < sim_api_count(r->world->api, SIM_DISRUPTIONREQUEST); k++) {
        const json_t *o = sim_api_at(r->world->api, SIM_DISRUPTIONREQUEST, k);
        if (left > 0 && waits(o, jsonx_str(arg, "reason"))) {
            json_array_append_new(names, json_string(jsonx_str(o, "metadata.name")));
            left--;
        }
    }
    json_array_foreach (names, i, name) {
        sim_note(r->world, "%s by %s: %s", jsonx_str(arg, "decision"), who,
                 json_string_value(name));
        if (sim_api_patch(r->world->api, who, SIM_DISRUPTIONREQUEST, "", "",
                          json_string_value(name), decision_of(r, arg), NULL, reterr) < 0) {
            return -1;
        }
    }
    return json_array_size(names) > 0
               ? 0
               : err_set(reterr, ERR_INVALID, "no DisruptionRequest waits for a decision");
}

/* ---- the cloud
 * ------------------------------------------------------------------------------------- */

static int do_ec2(struct sim_run *r, const json_t *arg, struct err *reterr)
{
    static const char *const targets[] = {"spotInterruption", "rebalance", "terminate", "stop"};
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

/* The instance of the first node, or claim, by name that matches; NULL if there is none. */
static const char *instance_of(struct sim_run *r, const char *labels, struct err *reterr)
{
    static const char claim[] = "claim ";
    bool is_claim = str_starts(labels, claim);
    enum sim_kind_id kind = is_claim ? SIM_NODECLAIM : SIM_NODE;
    const char *path = is_claim ? "status.providerID" : "spec.providerID", *id = NULL;
    struct jsonsel sel = {0};
    if (jsonsel_parse_labels(labels + (is_claim ? sizeof(claim) - 1 : 0), &sel, reterr) < 0) {
        return NULL;
    }
    for (size_t i = 0; !id && i < sim_api_count(r->world->api, kind); i++) {
        const json_t *o = sim_api_at(r->world->api, kind, i);
        const char *provider = jsonx_str_or(o, path, ""), *slash = strrchr(provider, '/');
        if (slash && jsonsel_match_labels(&sel, jsonx_obj(o, "metadata.labels"))) {
            id = slash + 1;
        }
    }
    jsonsel_done(&sel);
    if (!id) {
        err_set(reterr, ERR_INVALID, "nothing matches $INSTANCE(%s)", labels);
    }
    return id;
}

/* text with every $INSTANCE(LABELS) replaced. */
static int fill_in(struct sim_run *r, const char *text, struct buf *out, struct err *reterr)
{
    static const char mark[] = "$INSTANCE(";
    for (const char *at; (at = strstr(text, mark)) != NULL;) {
        const char *labels = at + sizeof(mark) - 1, *end = strchr(labels, ')');
        if (!end) {
            return err_set(reterr, ERR_INVALID, "$INSTANCE( without )");
        }
        char *inside AUTO_FREE = xstrndup(labels, (size_t)(end - labels));
        const char *id = instance_of(r, inside, reterr);
        if (!id) {
            return -1;
        }
        buf_put(out, text, (size_t)(at - text));
        buf_puts(out, id);
        text = end + 1;
    }
    buf_puts(out, text);
    return 0;
}

static int do_sqs(struct sim_run *r, const json_t *arg, struct err *reterr)
{
    size_t i;
    json_t *m;
    json_array_foreach (json_object_get(arg, "send"), i, m) {
        char *text AUTO_FREE = json_is_string(m) ? xstrdup(json_string_value(m)) : jsonx_dump(m);
        AUTO_BUF struct buf filled;
        buf_init(&filled, MESSAGE_MAX);
        if (fill_in(r, text, &filled, reterr) < 0) {
            return err_wrap(reterr, "sqs.send[%zu]", i);
        }
        bool taken = !filled.over;
        for (int64_t k = 0; taken && k < jsonx_int(arg, "times", 1); k++) {
            taken = simec2_queue_send(r->ec2, filled.p);
        }
        if (!taken) {
            return err_set(reterr, ERR_INVALID, "sqs.send[%zu]: the queue does not take it", i);
        }
        sim_note(r->world, "a message is sent: %.100s", filled.p);
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

static void add_fault(struct sim_run *r, const json_t *fail)
{
    struct api_trouble *t = r->trouble;
    ARRAY_GROW(t->faults, t->n, t->cap);
    struct api_fault *f = &t->faults[t->n++];
    str_copy(f->verb, sizeof(f->verb), jsonx_str_or(fail, "verb", "*"));
    str_copy(f->resource, sizeof(f->resource), jsonx_str_or(fail, "resource", "*"));
    f->code = (int)jsonx_int(fail, "code", 500);
    f->times = jsonx_int(fail, "times", 1);
}

/* The duration under key, for ever if absent. */
static int64_t span_of(const json_t *o, const char *key)
{
    int64_t ns = NS_NEVER / 2;
    scenario_duration(o, key, "api", &ns, NULL);
    return ns;
}

static int do_api(struct sim_run *r, const json_t *arg, struct err *reterr)
{
    struct sim_api *api = r->world->api;
    const json_t *fail = json_object_get(arg, "fail"), *latency = json_object_get(arg, "latency");
    const json_t *lag = json_object_get(arg, "lagWatches");
    const json_t *restore = json_object_get(arg, "restore");
    char *text AUTO_FREE = jsonx_dump(arg);
    (void)reterr;
    sim_note(r->world, "the API server is troubled: %.200s", text);
    if (fail) {
        add_fault(r, fail);
    }
    if (latency) {
        r->trouble->latency_ns = span_of(latency, "of");
        r->trouble->latency_until_ns = vclock_now(&r->world->clock) + span_of(latency, "for");
    }
    if (lag) {
        sim_api_lag_watches(api, sim_kind_find(jsonx_str(lag, "resource"))->id, span_of(lag, "by"),
                            span_of(lag, "for"));
    }
    if (restore) {
        size_t n = sim_api_restore(api, span_of(restore, "to"));
        sim_note(r->world, "%zu objects are as they were", n);
    }
    if (json_object_get(arg, "breakWatches")) {
        sim_api_break_watches(api);
    }
    return 0;
}

/* ---- agents and the rest
 * ------------------------------------------------------------------------------ */

/* The first one that leads, else that is up, else the first. */
static struct sim_guest *leader(struct sim_run *r)
{
    struct sim_guest *up = NULL;
    for (int i = 0; i < r->n_guests; i++) {
        if (guest_leads(r->guests[i])) {
            return r->guests[i];
        }
        up = !up && guest_up(r->guests[i]) ? r->guests[i] : up;
    }
    return up ? up : r->guests[0];
}

/* From now on every agent dies of that object, or in that decision. */
static void poison(struct sim_run *r, const json_t *o)
{
    char key[512];
    const char *ns = jsonx_str(o, "namespace"), *decision = jsonx_str(o, "decision");
    const char *name = decision ? decision : jsonx_str(o, "name");
    snprintf(key, sizeof(key), "%.250s%s%.250s", ns ? ns : "", ns ? "/" : "", name);
    for (int i = 0; i < r->n_guests; i++) {
        guest_poison(r->guests[i], decision ? "Decision" : jsonx_str(o, "kind"), key,
                     jsonx_bool(o, "bare", false), jsonx_bool(o, "alone", false));
    }
}

static int start_agent(struct sim_guest *g, const json_t *flags, struct err *reterr)
{
    const char *v[SCENARIO_FLAGS_MAX + 1] = {NULL};
    for (size_t i = 0; i < json_array_size(flags); i++) {
        v[i] = json_string_value(json_array_get(flags, i));
    }
    if (flags && guest_flags(g, v, reterr) < 0) {
        return -1;
    }
    guest_start(g);
    return 0;
}

static int do_agent(struct sim_run *r, const json_t *arg, struct err *reterr)
{
    const json_t *crash = json_object_get(arg, "crash");
    int64_t restart_ns = GUEST_RESTART_NS;
    if (r->n_guests == 0) {
        return err_set(reterr, ERR_INVALID, "agent: there is none");
    }
    scenario_duration(arg, "restartAfter", "agent", &restart_ns, NULL);
    if (json_object_get(arg, "freeze")) {
        guest_freeze(leader(r), span_of(arg, "freeze"));
        return 0;
    }
    if (json_object_get(arg, "poison")) {
        poison(r, json_object_get(arg, "poison"));
        return 0;
    }
    if (json_is_object(crash)) {
        scenario_duration(crash, "restartAfter", "agent.crash", &restart_ns, NULL);
        for (int i = 0; i < r->n_guests; i++) {
            guest_arm(r->guests[i], jsonx_str(crash, "after"), (uint64_t)jsonx_int(crash, "nth", 1),
                      restart_ns);
        }
        return 0;
    }
    bool observers = json_is_true(json_object_get(arg, "observers"));
    for (int i = 0; i < r->n_guests; i++) {
        if (observers != (i >= r->n_guests - r->scenario->observers)) {
            continue;
        }
        if (json_is_true(crash)) {
            sim_note(r->world, "%s is killed", guest_name(r->guests[i]));
            guest_crash(r->guests[i], restart_ns);
            break; /* one process at a time, the first */
        }
        if (json_is_true(json_object_get(arg, "stop"))) {
            sim_note(r->world, "%s is stopped", guest_name(r->guests[i]));
            guest_crash(r->guests[i], -1);
        } else if (json_is_true(json_object_get(arg, "start")) &&
                   start_agent(r->guests[i], json_object_get(arg, "flags"), reterr) < 0) {
            return -1;
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
        world_part(r, json_object_get(arg, "start"), false, reterr) < 0) {
        return -1;
    }
    const char *jump = jsonx_str(arg, "clockJump");
    if (jump && timefmt_parse_duration_days(jump, &jump_ns)) {
        sim_note(r->world, "the agents' clocks jump by %s", jump);
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
    case STEP_DECIDE:
        return do_decide(r, s->arg, reterr);
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
