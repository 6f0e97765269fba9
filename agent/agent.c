/* agent.c - wires the agent's parts and turns them; see agent.h. */
#include "agent.h"

#include "agent/claim/consistency.h"
#include "agent/claim/consolidatable.h"
#include "agent/claim/gc.h"
#include "agent/claim/launcher.h"
#include "agent/claim/launchlog.h"
#include "agent/claim/lifecycle.h"
#include "agent/claim/podevents.h"
#include "agent/claim/reghealth.h"
#include "agent/claim/tagging.h"
#include "agent/cloud/cloud.h"
#include "agent/consent/consent.h"
#include "agent/disrupt/churnguard.h"
#include "agent/disrupt/consolidator.h"
#include "agent/disrupt/drifted.h"
#include "agent/disrupt/driftguard.h"
#include "agent/history/history.h"
#include "agent/lead/cluster.h"
#include "agent/lead/lease.h"
#include "agent/lead/standby.h"
#include "agent/leave/command.h"
#include "agent/leave/emptiness.h"
#include "agent/leave/expiration.h"
#include "agent/leave/holds.h"
#include "agent/leave/instancestatus.h"
#include "agent/leave/interruption.h"
#include "agent/leave/repair.h"
#include "agent/leave/replacer.h"
#include "agent/leave/spared.h"
#include "agent/leave/termination.h"
#include "agent/observe/observer.h"
#include "agent/plan/creator.h"
#include "agent/plan/ineffective.h"
#include "agent/plan/nodepools.h"
#include "agent/plan/provisioner.h"
#include "agent/store/intents.h"
#include "agent/store/observed.h"
#include "agent/store/store.h"
#include "agent/work/gate.h"
#include "agent/work/gauges.h"
#include "agent/work/marker.h"
#include "agent/work/metrics.h"
#include "agent/work/throttle.h"
#include "agent/work/walltime.h"
#include "common/aws/client.h"
#include "common/base/alloc.h"
#include "common/base/str.h"
#include "common/kube/decode.h"
#include "common/kube/events.h"
#include "publish.h"
#include "runtime.h"

#define TURN_NS (20 * NS_PER_MS)
#define TURN_TIMERS_MAX 20000 /* a clock that stands still must not make a turn endless */
#define TICK_NS (1 * NS_PER_S)
#define LAG_UNHEALTHY_NS (10 * NS_PER_S)

/* In order of birth and of start; they die in reverse. */
#define CONTROLLERS(X)                                                                             \
    X(cluster)                                                                                     \
    X(standby)                                                                                     \
    X(lease)                                                                                       \
    X(history)                                                                                     \
    X(observer)                                                                                    \
    X(launcher)                                                                                    \
    X(gc)                                                                                          \
    X(lifecycle)                                                                                   \
    X(tagging)                                                                                     \
    X(consistency)                                                                                 \
    X(creator)                                                                                     \
    X(nodepools)                                                                                   \
    X(podevents)                                                                                   \
    X(consolidatable)                                                                              \
    X(termination)                                                                                 \
    X(interruption)                                                                                \
    X(instancestatus)                                                                              \
    X(holds)                                                                                       \
    X(consent)                                                                                     \
    X(commands)                                                                                    \
    X(emptiness)                                                                                   \
    X(expiration)                                                                                  \
    X(repair)                                                                                      \
    X(replacer)                                                                                    \
    X(drifted)                                                                                     \
    X(consolidator)                                                                                \
    X(provisioner)                                                                                 \
    X(publish)                                                                                     \
    X(gauges)

struct agent {
    struct runtime rt;
    struct entropy entropy;
    struct events_env events_env;
    bool started;
    int64_t expected_ns; /* when the last turn wanted the next one */
    int64_t lag_ns;
    struct timer tick;
    struct metric_family *lag_gauge, *synced_gauge, *leader_gauge;
#define X(name) struct name *name;
    CONTROLLERS(X)
#undef X
};

/* ---- life --------------------------------------------------------------------------------------
 */

static void identity(struct runtime *rt)
{
    char suffix[6];
    entropy_suffix(rt->entropy, suffix, sizeof(suffix) - 1);
    const char *pod = rt->opt->pod_name && *rt->opt->pod_name ? rt->opt->pod_name : "agent";
    snprintf(rt->identity, sizeof(rt->identity), LEASE_IDENTITY_PREFIX "%.100s-%s", pod, suffix);
}

static void new_gauges(struct agent *a)
{
    struct metrics *m = a->rt.metrics;
    a->lag_gauge = metrics_family(m, "karp_loop_lag_seconds",
                                  "How late the loop ran its last one-second tick.", METRIC_GAUGE,
                                  NULL, NULL, 0);
    a->synced_gauge =
        metrics_family(m, "karpenter_cluster_state_synced",
                       "1 once every watched kind has been listed.", METRIC_GAUGE, NULL, NULL, 0);
    a->leader_gauge =
        metrics_family(m, "leader_election_master_status", "1 while this process holds the Lease.",
                       METRIC_GAUGE, LABELS("name"), NULL, 0);
    struct metric_family *build =
        metrics_family(m, "karpenter_build_info", "1; the version is in the label.", METRIC_GAUGE,
                       LABELS("version"), NULL, 0);
    metric_set(build, LABELS(KARP_VERSION), 1);
}

struct agent *agent_new(const struct agent_options *o, const struct agent_ports *ports)
{
    struct agent *a = NEW(struct agent);
    struct runtime *rt = &a->rt;
    a->entropy = ports->entropy;
    rt->opt = o;
    walltime_new(rt, ports->clock);
    rt->entropy = &a->entropy;
    rt->log = ports->log;
    timers_init(&rt->timers);
    rt->syms = labels_symtab_new();
    rt->decoder = decoder_new(rt->syms);
    (void)decoder_budget_timezone(rt->decoder, o->budget_timezone, NULL); /* else pools say so */
    rt->metrics = metrics_new();
    rt->gate = gate_new(rt, ports->kube, ports->aws);
    const struct kube_port fenced = gate_kube(rt->gate);
    rt->throttle = throttle_new(rt, &fenced);
    rt->kube = throttle_kube(rt->throttle);
    rt->client = (struct kube_client){.port = &rt->kube, .field_manager = "karp-agent"};
    rt->aws = gate_aws(rt->gate);
    rt->awsc = aws_client_new(&rt->aws, &rt->timers, rt->clock, a->entropy);
    rt->marker = marker_new(rt, ports->marker);
    rt->store = store_new(rt);
    rt->intents = intents_new(rt);
    rt->ineffective = ineffective_new(rt);
    rt->observed = observed_new(rt);
    rt->churnguard = churnguard_new(rt);
    rt->driftguard = driftguard_new(rt);
    rt->reghealth = reghealth_new(rt);
    rt->spared = spared_new(rt);
    rt->launches = launchlog_new(rt);
    identity(rt);
    a->events_env = (struct events_env){.client = &rt->client,
                                        .clock = rt->clock,
                                        .entropy = rt->entropy,
                                        .host = rt->opt->pod_name};
    rt->events = events_new(&a->events_env);
    rt->cloud = cloud_new(rt);
    new_gauges(a);
#define X(name) a->name = name##_new(rt);
    CONTROLLERS(X)
#undef X
    return a;
}

/* From the last to the first. */
static void controllers_free(struct agent *a)
{
    gauges_free(a->gauges);
    publish_free(a->publish);
    provisioner_free(a->provisioner);
    consolidator_free(a->consolidator);
    drifted_free(a->drifted);
    replacer_free(a->replacer);
    repair_free(a->repair);
    expiration_free(a->expiration);
    emptiness_free(a->emptiness);
    commands_free(a->commands);
    consent_free(a->consent);
    holds_free(a->holds);
    instancestatus_free(a->instancestatus);
    interruption_free(a->interruption);
    termination_free(a->termination);
    consolidatable_free(a->consolidatable);
    podevents_free(a->podevents);
    nodepools_free(a->nodepools);
    creator_free(a->creator);
    consistency_free(a->consistency);
    tagging_free(a->tagging);
    lifecycle_free(a->lifecycle);
    gc_free(a->gc);
    launcher_free(a->launcher);
    observer_free(a->observer);
    history_free(a->history);
    lease_free(a->lease);
    standby_free(a->standby);
    cluster_free(a->cluster);
}

void agent_free(struct agent *a)
{
    if (!a) {
        return;
    }
    struct runtime *rt = &a->rt;
    timer_stop(&rt->timers, &a->tick);
    walltime_stop(rt->walltime);
    controllers_free(a);
    cloud_free(rt->cloud);
    events_free(rt->events);
    launchlog_free(rt->launches);
    spared_free(rt->spared);
    reghealth_free(rt->reghealth);
    driftguard_free(rt->driftguard);
    churnguard_free(rt->churnguard);
    observed_free(rt->observed);
    ineffective_free(rt->ineffective);
    intents_free(rt->intents);
    store_free(rt->store);
    marker_free(rt->marker);
    aws_client_free(rt->awsc);
    throttle_free(rt->throttle);
    gate_free(rt->gate);
    metrics_free(rt->metrics);
    decoder_free(rt->decoder);
    symtab_free(rt->syms);
    timers_done(&rt->timers);
    walltime_free(rt->walltime);
    free(a);
}

/* ---- turns -------------------------------------------------------------------------------------
 */

static void tick(void *arg)
{
    struct agent *a = arg;
    struct runtime *rt = &a->rt;
    int64_t now_ns = clock_mono(rt->clock);
    a->lag_ns = now_ns - a->tick.at_ns;
    metric_set(a->lag_gauge, NULL, (double)a->lag_ns / NS_PER_S);
    metric_set(a->synced_gauge, NULL, store_synced(rt->store) ? 1 : 0);
    metric_set(a->leader_gauge, LABELS(rt->opt->lease_name), lease_leading(a->lease) ? 1 : 0);
    events_enable(rt->events, gate_open(rt->gate));
    timer_set(&rt->timers, &a->tick, now_ns + TICK_NS, tick, a);
}

static void agent_start(struct agent *a)
{
    a->started = true;
    log_info(a->rt.log, "agent starts", "identity", a->rt.identity, "mode",
             a->rt.opt->mode == MODE_FULL      ? "full"
             : a->rt.opt->mode == MODE_OBSERVE ? "observe"
                                               : "provision");
    events_enable(a->rt.events, false);
    timer_set(&a->rt.timers, &a->tick, clock_mono(a->rt.clock), tick, a);
    walltime_start(a->rt.walltime);
    marker_start(a->rt.marker);
#define X(name) name##_start(a->name);
    CONTROLLERS(X)
#undef X
    cloud_start(a->rt.cloud);
    store_start(a->rt.store);
}

/* A process that slept past its Lease must not go on as if nothing had happened: what it knows is
 * old, and somebody else may be acting. */
static bool slept(struct agent *a, int64_t now_ns)
{
    if (!lease_leading(a->lease) || now_ns - a->expected_ns <= LEASE_DURATION_NS) {
        return false;
    }
    struct err err = ERR_INIT;
    err_set(&err, ERR_TIMEOUT, "the loop stood still for %lld s, longer than the Lease lasts",
            (long long)((now_ns - a->expected_ns) / NS_PER_S));
    runtime_end(&a->rt, &err);
    return true;
}

void agent_turn(struct agent *a)
{
    struct runtime *rt = &a->rt;
    int64_t begin_ns = clock_mono(rt->clock), now_ns = begin_ns;
    if (!a->started) {
        agent_start(a);
    } else if (rt->ended || slept(a, begin_ns)) {
        return;
    }
    for (int n = 0; n < TURN_TIMERS_MAX && now_ns - begin_ns < TURN_NS; n++) {
        if (rt->ended || !timers_run_one(&rt->timers, now_ns)) {
            break;
        }
        now_ns = clock_mono(rt->clock);
    }
    int64_t next_ns = timers_next_ns(&rt->timers);
    a->expected_ns = next_ns < now_ns ? now_ns : next_ns;
}

int64_t agent_next_ns(const struct agent *a)
{
    if (a->rt.ended) {
        return NS_NEVER;
    }
    return a->started ? timers_next_ns(&a->rt.timers) : clock_mono(a->rt.clock);
}

bool agent_ended(const struct agent *a, struct err *ret_why)
{
    if (a->rt.ended && ret_why) {
        *ret_why = a->rt.ended_why;
    }
    return a->rt.ended;
}

const struct store *agent_store(const struct agent *a)
{
    return a->rt.store;
}

static void on_released(void *arg)
{
    struct agent *a = arg;
    a->rt.ended = true;
    err_set(&a->rt.ended_why, ERR_CANCELLED, "stopped");
}

void agent_stop(struct agent *a)
{
    if (!a->rt.ended) {
        lease_release(a->lease, on_released, a);
    }
}

/* ---- questions from outside ---------------------------------------------------------------------
 */

static int healthz(struct agent *a, struct buf *out)
{
    if (a->rt.ended) {
        buf_printf(out, "ended: %s\n", a->rt.ended_why.msg);
        return 500;
    }
    int64_t late_ns = a->started ? clock_mono(a->rt.clock) - a->tick.at_ns : 0;
    int64_t lag_ns = late_ns > a->lag_ns ? late_ns : a->lag_ns;
    bool ok = lag_ns <= LAG_UNHEALTHY_NS;
    buf_printf(out, "%s: loop lag %lld ms\n", ok ? "ok" : "late", (long long)(lag_ns / NS_PER_MS));
    return ok ? 200 : 500;
}

static int readyz(struct agent *a, struct buf *out)
{
    struct err why = ERR_INIT;
    const char *kind = store_trouble(a->rt.store, &why);
    if (kind && !store_synced(a->rt.store)) {
        buf_printf(out, "waiting for %s: %s\n", kind, why.msg);
        return 503;
    }
    if (gate_standby(a->rt.gate)) {
        buf_puts(out, "ok: standing by\n");
        return 200;
    }
    if (!cloud_ready(a->rt.cloud)) {
        buf_puts(out, "waiting for EC2's facts\n");
        return 503;
    }
    if (kind) {
        buf_printf(out, "ok, but %s: %s\n", kind, why.msg);
    } else {
        buf_puts(out, "ok\n");
    }
    return 200;
}

int agent_http(struct agent *a, const char *path, struct buf *out)
{
    if (str_eq(path, "/metrics")) {
        metrics_render(a->rt.metrics, out);
        return 200;
    }
    if (str_eq(path, "/healthz")) {
        return healthz(a, out);
    }
    if (str_eq(path, "/readyz")) {
        return readyz(a, out);
    }
    buf_puts(out, "not found\n");
    return 404;
}
