#include "run.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/core/ec2/catalog.h"
#include "expect.h"
#include "faults.h"
#include "guest.h"
#include "invariants.h"
#include "steps.h"
#include "tally.h"

#include <stdarg.h>
#include <time.h>

#define RUN_LINE_MAX 2048
/* Open expectations and invariants see every change of objects and calls at once, and what moves
 * by time alone (boots, terminations) at least this often. */
#define LOOK_EVERY_NS (500 * NS_PER_MS)

void run_text_add(struct run_texts *t, const char *fmt, ...)
{
    char text[RUN_LINE_MAX];
    va_list ap;
    if (t->n >= t->max) {
        return;
    }
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    ARRAY_GROW(t->v, t->n, t->cap);
    t->v[t->n++] = xstrdup(text);
}

static void texts_done(struct run_texts *t)
{
    for (size_t i = 0; i < t->n; i++) {
        free(t->v[i]);
    }
    free(t->v);
}

/* ---- joining world and cloud
 * ------------------------------------------------------------------------ */

static void on_boot(void *ctx, const struct simec2_boot *b)
{
    struct sim_run *r = ctx;
    struct err why = ERR_INIT;
    if (sim_node_join(r->world, b->node, r->scenario->ready_ns, &why) < 0) {
        sim_note(r->world, "node %s cannot join: %s", b->inst->node_name, why.msg);
    }
}

static void on_down(void *ctx, const struct simec2_instance *inst)
{
    struct sim_run *r = ctx;
    sim_node_stop(r->world, inst->provider_id);
}

static void on_gone(void *ctx, const struct simec2_instance *inst)
{
    struct sim_run *r = ctx;
    sim_node_gone(r->world, inst->provider_id);
}

static bool on_aws_answered(void *ctx, struct simec2_port *from, const char *service,
                            const char *action, uint64_t n)
{
    struct sim_run *r = ctx;
    (void)n;
    r->agent_ran = true;
    for (int i = 0; i < r->n_guests; i++) {
        if (guest_asks(r->guests[i], from)) {
            watchdog_aws(r->watchdog, r->guests[i], action);
        }
        if (guest_answered_aws(r->guests[i], from, service, action) ||
            (guest_asks(r->guests[i], from) && faults_answered(r->faults, r->guests[i]))) {
            return true;
        }
    }
    sim_trace(r->world, "answered %s:%s", service, action);
    return false;
}

static void on_ec2_note(void *ctx, const char *text)
{
    struct sim_run *r = ctx;
    sim_note(r->world, "ec2 %s", text);
}

static void on_aws_fault(void *ctx, const char *service, const char *action,
                         struct simec2_fault *ret)
{
    struct sim_run *r = ctx;
    (void)action;
    faults_aws(r->faults, service, ret);
}

static const struct simec2_hooks ec2_hooks = {.boot = on_boot,
                                              .down = on_down,
                                              .gone = on_gone,
                                              .answered = on_aws_answered,
                                              .fault = on_aws_fault,
                                              .note = on_ec2_note};

static int on_kube_fault(void *ctx, const struct sim_call *c, int64_t *extra_ns)
{
    struct sim_run *r = ctx;
    int code = api_trouble_fault(r, c->verb, c->resource, extra_ns);
    return code ? code : faults_kube(r->faults, c, extra_ns);
}

static void on_kube_served(void *ctx, const struct sim_call *c)
{
    struct sim_run *r = ctx;
    tally_served(r, c);
    if (c->write) {
        watchdog_write(r->watchdog, c);
        sim_trace(r->world, "%s %s %s %s/%s %d", c->who, c->verb, c->resource, c->ns, c->name,
                  c->status);
    }
}

static void on_kube_told(void *ctx)
{
    struct sim_run *r = ctx;
    r->agent_ran = true;
}

static void on_kube_answered(void *ctx, const struct sim_call *c)
{
    struct sim_run *r = ctx;
    r->agent_ran = true;
    for (int i = 0; i < r->n_guests; i++) {
        if (str_eq(guest_name(r->guests[i]), c->who)) {
            (void)(guest_answered_kube(r->guests[i], c->verb, c->resource) ||
                   faults_answered(r->faults, r->guests[i]));
        }
    }
}

static int new_cloud(struct sim_run *r, struct simec2_hooks *hooks, struct err *reterr)
{
    struct simec2_opts o;
    simec2_opts_default(&o);
    o.region = r->scenario->region;
    *hooks = ec2_hooks;
    hooks->ctx = r;
    struct clock clock = vclock_port(&r->world->clock);
    r->clock = clock;
    r->ec2 = simec2_new(&o, &r->clock, &r->world->clock.timers, hooks, reterr);
    if (!r->ec2) {
        return err_wrap(reterr, "spec.region");
    }
    if (r->scenario->ec2 && simec2_configure(r->ec2, r->scenario->ec2, reterr) < 0) {
        return err_wrap(reterr, "spec.ec2");
    }
    return 0;
}

/* ---- the objects of time 0
 * --------------------------------------------------------------------------- */

static json_t *default_class(void)
{
    return json_pack("{s:s, s:s, s:{s:s}, s:{s:[{s:s}], s:s, s:[{s:{s:s}}], s:[{s:{s:s}}]}}",
                     "apiVersion", "karpenter.k8s.aws/v1", "kind", "EC2NodeClass", "metadata",
                     "name", "default", "spec", "amiSelectorTerms", "alias", "al2023@latest",
                     "instanceProfile", "sim", "subnetSelectorTerms", "tags",
                     "karpenter.sh/discovery", "sim", "securityGroupSelectorTerms", "tags",
                     "karpenter.sh/discovery", "sim");
}

static int add_object(struct sim_run *r, const json_t *o, struct err *reterr)
{
    const struct sim_kind *kind = sim_kind_of(o);
    if (kind->id == SIM_NODE) {
        return sim_node_join(r->world, o, 0, reterr);
    }
    if ((kind->flags & SIM_KIND_NAMESPACED) && !jsonx_str(o, "metadata.namespace")) {
        AUTO_JSON json_t *copy = json_deep_copy(o);
        jsonx_set_new(copy, "metadata.namespace", json_string("default"));
        return sim_api_apply(r->world->api, "scenario", copy, NULL, reterr);
    }
    return sim_api_apply(r->world->api, "scenario", o, NULL, reterr);
}

/* Where the agent lives: an object of the file may take its place. */
static int add_namespace(struct sim_run *r, struct err *reterr)
{
    AUTO_JSON json_t *ns = json_pack("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "Namespace",
                                     "metadata", "name", "karp");
    return sim_api_apply(r->world->api, "scenario", ns, NULL, reterr);
}

static int add_objects(struct sim_run *r, struct err *reterr)
{
    const struct scenario *s = r->scenario;
    bool class_seen = false;
    if (add_namespace(r, reterr) < 0) {
        return -1;
    }
    for (size_t i = s->first_object; i < json_array_size(s->docs); i++) {
        const json_t *o = json_array_get(s->docs, i);
        class_seen = class_seen || sim_kind_of(o)->id == SIM_EC2NODECLASS;
        if (add_object(r, o, reterr) < 0) {
            return err_wrap(reterr, "%s %s", jsonx_str_or(o, "kind", ""),
                            jsonx_str_or(o, "metadata.name", ""));
        }
    }
    if (class_seen) {
        return 0;
    }
    AUTO_JSON json_t *cls = default_class();
    return sim_api_apply(r->world->api, "scenario", cls, NULL, reterr);
}

static void trace_out(void *ctx, const char *line)
{
    struct sim_run *r = ctx;
    r->opt.trace(r->opt.trace_ctx, line);
}

static bool instance_exists(void *ctx, const char *provider_id)
{
    struct sim_run *r = ctx;
    const char *id = strrchr(provider_id, '/');
    const struct simec2_instance *inst = id ? simec2_find(r->ec2, id + 1) : NULL;
    /* Nodes of others are on machines that this cloud does not show. */
    return !inst || inst->state != SIMEC2_TERMINATED;
}

static int new_guests(struct sim_run *r, struct err *reterr)
{
    const char *observing[SCENARIO_FLAGS_MAX + 2] = {"--mode=observe"};
    int replicas = faults_replicas(r->faults, r->scenario->replicas);
    memcpy(observing + 1, r->scenario->flags, sizeof(r->scenario->flags));
    for (int i = 0; i < replicas + r->scenario->observers && i < SCENARIO_REPLICAS_MAX; i++) {
        const char *const *flags = i < replicas ? r->scenario->flags : observing;
        r->guests[i] = guest_new(r, i, flags, reterr);
        if (!r->guests[i]) {
            return -1;
        }
        r->n_guests++;
    }
    return 0;
}

struct sim_run *sim_run_new(const struct scenario *s, const struct run_options *o,
                            struct err *reterr)
{
    struct sim_run *r = NEW(struct sim_run);
    r->scenario = s;
    r->opt = *o;
    r->failures.max = RUN_FAILURES_MAX;
    r->violations.max = RUN_VIOLATIONS_MAX;
    r->trouble = NEW(struct api_trouble);
    r->world = sim_world_new(
        &(struct sim_world_options){.start_wall_ns = s->start_wall_ns, .seed = o->seed});
    sim_sched_default_spreads(r->world->sched, s->default_spreads);
    r->world->cloud.exists = instance_exists;
    r->world->cloud.ctx = r;
    if (o->trace) {
        r->world->trace = trace_out;
        r->world->trace_ctx = r;
    }
    r->faults = faults_new(r, o->faults);
    r->api_hooks = (struct sim_api_hooks){.fault = on_kube_fault,
                                          .served = on_kube_served,
                                          .answered = on_kube_answered,
                                          .told = on_kube_told,
                                          .ctx = r};
    if (new_cloud(r, &r->ec2_hooks, reterr) < 0) {
        goto fail;
    }
    sim_api_subscribe(r->world->api, tally_change, r);
    if (add_objects(r, reterr) < 0 || new_guests(r, reterr) < 0) {
        goto fail;
    }
    sim_api_set_hooks(r->world->api, &r->api_hooks);
    r->watchdog = watchdog_new(r);
    return r;
fail:
    err_wrap(reterr, "%s", s->path);
    sim_run_free(r);
    return NULL;
}

void sim_run_free(struct sim_run *r)
{
    if (!r) {
        return;
    }
    for (int i = 0; i < r->n_guests; i++) {
        guest_free(r->guests[i]);
    }
    watchdog_free(r->watchdog);
    faults_free(r->faults);
    sim_api_unsubscribe(r->world->api, r);
    simec2_free(r->ec2);
    sim_world_free(r->world);
    api_trouble_free(r->trouble);
    tally_done(r);
    texts_done(&r->failures);
    texts_done(&r->violations);
    free(r->expecting);
    free(r);
}

/* ---- playing
 * ------------------------------------------------------------------------------------------ */

/* Something that an expectation or an invariant could see has changed. */
static bool changed(struct sim_run *r)
{
    int64_t version = sim_api_version(r->world->api), now = vclock_now(&r->world->clock);
    uint64_t calls = simec2_calls(r->ec2, NULL, NULL);
    if (version == r->seen_version && calls == r->seen_calls &&
        now - r->seen_at_ns < LOOK_EVERY_NS) {
        return false;
    }
    r->seen_version = version;
    r->seen_calls = calls;
    r->seen_at_ns = now;
    return true;
}

static void look(struct sim_run *r)
{
    tally_cost(r);
    watchdog_look(r->watchdog);
    expect_look(r);
}

static int64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

int64_t sim_run_spent_ns(const struct sim_run *r)
{
    return r->opt.turn_limit_ns ? cpu_ns() - r->step_cpu_ns : 0;
}

/* One event; false if none is due by then. */
static bool step(struct sim_run *r, int64_t limit_ns)
{
    if (!r->opt.turn_limit_ns) {
        return vclock_step(&r->world->clock, limit_ns);
    }
    r->agent_ran = false;
    r->step_cpu_ns = cpu_ns();
    bool stepped = vclock_step(&r->world->clock, limit_ns);
    int64_t spent_ns = sim_run_spent_ns(r);
    if (r->agent_ran) {
        watchdog_turn(r->watchdog, spent_ns);
        r->longest_turn_ns = spent_ns > r->longest_turn_ns ? spent_ns : r->longest_turn_ns;
        r->agents_cpu_ns += spent_ns;
    }
    return stepped;
}

/* Everything due up to and including the time. Open expectations are judged at their deadlines. */
static void play_to(struct sim_run *r, int64_t at_ns)
{
    for (;;) {
        int64_t deadline_ns = expect_deadline_ns(r);
        int64_t limit_ns = deadline_ns < at_ns ? deadline_ns : at_ns;
        while (step(r, limit_ns)) {
            if (changed(r)) {
                look(r);
            }
        }
        vclock_run_to(&r->world->clock, limit_ns);
        look(r);
        if (limit_ns == at_ns) {
            return;
        }
    }
}

static void open_expectations(struct sim_run *r, const json_t *list)
{
    size_t i;
    json_t *what;
    json_array_foreach ((json_t *)(uintptr_t)list, i, what) {
        expect_open(r, what);
    }
}

/* What it deletes is called by name: a manifest that was taken out. Nodes by a selector are a deed,
 * done once. */
static bool takes_out(const struct scenario_step *s)
{
    size_t i;
    json_t *o;
    json_array_foreach ((json_t *)(uintptr_t)s->arg, i, o) {
        if (!jsonx_str(o, "name")) {
            return false;
        }
    }
    return s->verb == STEP_DELETE;
}

void sim_run_redo(struct sim_run *r)
{
    for (size_t i = 0; i < r->n_done; i++) {
        const struct scenario_step *s = &r->scenario->steps[i];
        struct err why = ERR_INIT;
        if (s->verb == STEP_APPLY || s->verb == STEP_SCALE || s->verb == STEP_PATCH ||
            takes_out(s)) {
            (void)step_do(r, s, &why);
        }
    }
}

int sim_run_play(struct sim_run *r, struct err *reterr)
{
    for (int i = 0; i < r->n_guests; i++) {
        guest_start(r->guests[i]);
    }
    for (size_t i = 0; i < r->scenario->n_steps; i++) {
        const struct scenario_step *s = &r->scenario->steps[i];
        play_to(r, s->at_ns);
        if (s->verb == STEP_EXPECT) {
            open_expectations(r, s->arg);
            continue;
        }
        faults_step(r->faults);
        r->n_done = i + 1;
        if (step_do(r, s, reterr) == 0) {
            continue;
        }
        if (r->opt.faults != FAULTS_NONE) { /* a fault took what the step was to act on */
            sim_note(r->world, "passed over: %s", reterr->msg);
            *reterr = (struct err)ERR_INIT;
            continue;
        }
        reterr->kind = ERR_INVALID; /* whatever the world called it, the file is wrong */
        return err_wrap(reterr, "%s: document at line %d: spec.steps[%zu]", r->scenario->path,
                        r->scenario->line, i);
    }
    while (r->n_expecting > 0) {
        play_to(r, expect_deadline_ns(r));
    }
    tally_cost(r);
    watchdog_end(r->watchdog);
    return 0;
}

bool sim_run_passed(const struct sim_run *r)
{
    return r->failures.n == 0 && r->violations.n == 0;
}

/* ---- the report
 * ---------------------------------------------------------------------------------------- */

static json_t *texts_json(const struct run_texts *t)
{
    json_t *a = json_array();
    for (size_t i = 0; i < t->n; i++) {
        json_array_append_new(a, json_string(t->v[i]));
    }
    return a;
}

static json_t *timeline_json(const struct sim_run *r)
{
    json_t *a = json_array();
    for (size_t i = 0; i < r->world->n_notes; i++) {
        json_array_append_new(a, json_pack("{s:f, s:s}", "t",
                                           (double)r->world->notes[i].at_ns / (double)NS_PER_S,
                                           "what", r->world->notes[i].what));
    }
    return a;
}

json_t *sim_run_report(const struct sim_run *r, int64_t wall_ms)
{
    uint64_t writes = 0;
    for (int i = 0; i < r->n_guests; i++) {
        writes += sim_api_writes(r->world->api, guest_name(r->guests[i]));
    }
    json_t *summary = json_pack(
        "{s:I, s:I, s:I, s:f, s:f, s:f, s:I, s:I, s:I}", "nodesLaunched",
        (json_int_t)r->nodes_launched, "nodesRemoved", (json_int_t)r->nodes_removed, "evictions",
        (json_int_t)r->evictions, "dollars", r->dollars, "podsPendingSecondsP50",
        tally_pending_s(r, 0.5), "podsPendingSecondsP99", tally_pending_s(r, 0.99), "ec2Calls",
        (json_int_t)simec2_calls(r->ec2, "ec2", NULL), "kubeWrites", (json_int_t)writes,
        "kubeCallsPerSecondMost", (json_int_t)r->most_a_second);
    if (r->opt.turn_limit_ns) {
        json_object_set_new(summary, "longestTurnMilliseconds",
                            json_real((double)r->longest_turn_ns / (double)NS_PER_MS));
        json_object_set_new(summary, "agentsCpuMilliseconds",
                            json_integer(r->agents_cpu_ns / NS_PER_MS));
    }
    return json_pack("{s:s, s:I, s:b, s:f, s:I, s:o, s:o, s:o, s:o}", "name", r->scenario->name,
                     "seed", (json_int_t)r->opt.seed, "passed", sim_run_passed(r), "virtualSeconds",
                     (double)vclock_now(&r->world->clock) / (double)NS_PER_S, "wallMilliseconds",
                     (json_int_t)wall_ms, "failures", texts_json(&r->failures),
                     "invariantViolations", texts_json(&r->violations), "summary", summary,
                     "timeline", timeline_json(r));
}
