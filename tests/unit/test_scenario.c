/* Scenario files: every step does what the format says, and what is written wrong is named. */
#include "common/base/alloc.h"
#include "common/base/str.h"
#include "tests/sim/run.h"
#include "unit.h"

#include <unistd.h>

#define HEAD                                                                                       \
    "apiVersion: karp.dev/v1alpha1\nkind: Scenario\nmetadata: {name: t}\nspec:\n  ec2: {types: "   \
    "[\"m5.*\"]}\n"

/* A pool and a Deployment `inflate` without pods. */
#define TAIL                                                                                       \
    "---\napiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: default}\nspec:\n"         \
    "  template:\n    spec:\n"                                                                     \
    "      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}\n"          \
    "      requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]\n" \
    "  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: Never}\n"                    \
    "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: inflate, namespace: default}\n"  \
    "spec:\n  replicas: 0\n  selector: {matchLabels: {app: inflate}}\n"                            \
    "  template:\n    metadata: {labels: {app: inflate}}\n    spec:\n"                             \
    "      containers: [{name: c, image: p, resources: {requests: {cpu: \"1\"}}}]\n"

#define SCALE(n) "{kind: Deployment, namespace: default, name: inflate, replicas: " #n "}"
#define MAP "kind: ConfigMap, apiVersion: v1, metadata: {name: c, namespace: default}"
#define CLAIMS "{calls: {service: kube, action: create nodeclaims}, eq: "
#define RUNNING(n) "{count: pods, phase: Running, eq: " #n ", within: 5m}"

/* ---- reading and playing a text
 * ------------------------------------------------------------------- */

static char *file_of(const char *text)
{
    char *path = xcalloc(1, 64);
    unit_path(path, 64, "scenario");
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    return path;
}

static int read_text(const char *text, struct scenario *ret, struct err *reterr)
{
    char *path AUTO_FREE = file_of(text);
    int rc = scenario_read(path, ret, reterr);
    unlink(path);
    return rc;
}

/* ---- what is wrong is named
 * ----------------------------------------------------------------------- */

static const struct {
    const char *step, *error;
} wrong[] = {
    {"at: 5s", "spec.steps[0]: has no verb"},
    {"scale: " SCALE(1), "spec.steps[0].at: is missing"},
    {"at: soon\n      scale: " SCALE(1), "spec.steps[0].at: not a duration"},
    {"at: 5s\n      scale: " SCALE(1) "\n      sqs: {send: []}", "has two verbs"},
    {"at: 5s\n      scales: {}", "spec.steps[0].scales: no such step"},
    {"at: 5s\n      apply: {}", "spec.steps[0].apply: must be a list of objects"},
    {"at: 5s\n      apply: [{kind: Nope}]", "apply[0].kind: \"Nope\" is not served here"},
    {"at: 5s\n      apply: [{kind: Pod, apiVersion: v2}]",
     "apply[0].apiVersion: \"v2\" has no Pod"},
    {"at: 5s\n      apply: [{kind: Pod, apiVersion: v1}]", "apply[0].metadata.name: is missing"},
    {"at: 5s\n      delete: [{kind: Pod}]", "delete[0]: needs name or selector"},
    {"at: 5s\n      delete: [{kind: Pod, name: a, names: b}]", "delete[0].names: no such field"},
    {"at: 5s\n      scale: {kind: Deployment, replicas: 1}", "scale.name: is missing"},
    {"at: 5s\n      scale: {kind: Deployment, name: a}", "scale.replicas: is missing"},
    {"at: 5s\n      scale: {kind: Deployment, name: a, replicas: -1}", "scale.replicas: must be"},
    {"at: 5s\n      patch: {kind: Node, name: a}", "patch.merge: is missing"},
    {"at: 5s\n      patch: {kind: Node, name: a, merge: 1}", "patch.merge: must be a map"},
    {"at: 5s\n      patch: {kind: Node, merge: {}}", "patch: needs name or selector"},
    {"at: 5s\n      patch: {kind: Node, name: a, selector: a, merge: {}}",
     "patch: needs name or selector"},
    {"at: 5s\n      agent: {poison: {kind: Node}}", "agent.poison.name: is missing"},
    {"at: 5s\n      agent: {poison: {kind: Node, name: a, bare: 1}}",
     "agent.poison.bare: must be true"},
    {"at: 5s\n      agent: {poison: {kind: Node, name: a, alone: 1}}",
     "agent.poison.alone: must be true"},
    {"at: 5s\n      agent: {poison: {decision: a, name: b}}", "agent.poison.name: no such field"},
    {"at: 5s\n      ec2: {outOfStock: 1}", "ec2.outOfStock: no such field"},
    {"at: 5s\n      ec2: {}", "spec.steps[0].ec2: says nothing"},
    {"at: 5s\n      ec2: {terminate: {}}", "ec2.terminate: needs node or selector"},
    {"at: 5s\n      ec2: {terminate: {node: a, limit: 0}}", "terminate.limit: must be a number"},
    {"at: 5s\n      sqs: {}", "sqs.send: is missing"},
    {"at: 5s\n      sqs: {send: [1]}", "sqs.send[0]: must be a text or a map"},
    {"at: 5s\n      api: {fail: {code: 200}}", "api.fail.code: must be a number of at least 400"},
    {"at: 5s\n      api: {fail: {code: 700}}", "api.fail.code: must be 400 to 599"},
    {"at: 5s\n      api: {latency: {for: 1m}}", "api.latency.of: is missing"},
    {"at: 5s\n      api: {breakWatches: false}", "api.breakWatches: must be true"},
    {"at: 5s\n      api: {lagWatches: {by: 1m}}", "api.lagWatches.resource: is missing"},
    {"at: 5s\n      api: {lagWatches: {resource: cats, by: 1m}}", "lagWatches.resource: must be"},
    {"at: 5s\n      api: {lagWatches: {resource: pods}}", "api.lagWatches.by: is missing"},
    {"at: 5s\n      api: {restore: {from: 1m}}", "api.restore.from: no such field"},
    {"at: 5s\n      api: {restore: {}}", "api.restore.to: is missing"},
    {"at: 5s\n      agent: {}", "agent: needs one of crash, stop, start, freeze, poison"},
    {"at: 5s\n      agent: {stop: true, start: true}", "agent: needs one of"},
    {"at: 5s\n      agent: {freeze: yes}", "agent.freeze: not a duration"},
    {"at: 5s\n      agent: {stop: true, restartAfter: 1s}", "agent.restartAfter: goes with crash"},
    {"at: 5s\n      agent: {stop: true, flags: []}", "agent.flags: a list, and goes with start"},
    {"at: 5s\n      agent: {start: true, flags: a}", "agent.flags: a list, and goes with start"},
    {"at: 5s\n      agent: {start: true, flags: [a, 1]}", "agent.flags[1]: must be a string"},
    {"at: 5s\n      agent: {crash: {after: CreateFleet}}", "agent.crash.after: must be SERVICE"},
    {"at: 5s\n      agent: {crash: {after: \"kube:list\"}}", "crash.after: must be kube:VERB"},
    {"at: 5s\n      agent: {crash: {after: \"a:b\", nth: 0}}", "agent.crash.nth: must be a number"},
    {"at: 5s\n      world: {stop: [kubelet]}", "world.stop[0]: must be scheduler or"},
    {"at: 5s\n      world: {clockJump: 0s}", "world.clockJump: must be a duration"},
    {"at: 5s\n      world: {kubelet: {stop: {limit: 1}}}", "kubelet.stop: needs node or selector"},
    {"at: 5s\n      expect: [{count: pods}]", "expect[0]: needs one of eq ne lt le gt ge"},
    {"at: 5s\n      expect: [{cats: 1, eq: 1}]", "expect[0]: names nothing"},
};

START_TEST(wrong_files_are_named)
{
    struct scenario s;
    struct err e = ERR_INIT;
    char *text AUTO_FREE = xasprintf("%s  steps:\n    - %s\n%s", HEAD, wrong[_i].step, TAIL);
    ck_assert_msg(read_text(text, &s, &e) < 0, "accepted: %s", wrong[_i].step);
    ck_assert_int_eq(e.kind, ERR_INVALID);
    ck_assert_msg(strstr(e.msg, wrong[_i].error) != NULL, "\"%s\" is not in: %s", wrong[_i].error,
                  e.msg);
    ck_assert_msg(strstr(e.msg, "document at line 1") != NULL, "no line in: %s", e.msg);
    scenario_done(&s);
}
END_TEST

static const struct {
    const char *scheduler, *error;
} schedulers[] = {
    {"{profiles: []}", "spec.scheduler.profiles: no such field"},
    {"{defaultConstraints: 5}", "spec.scheduler: podTopologySpread.defaultConstraints"},
    {"{defaultConstraints: [{maxSkew: 0}]}", "[0]: maxSkew"},
};

START_TEST(wrong_schedulers_are_named)
{
    struct scenario s;
    struct err e = ERR_INIT;
    char *text AUTO_FREE =
        xasprintf("%s  scheduler: %s\n  steps: []\n%s", HEAD, schedulers[_i].scheduler, TAIL);
    ck_assert(read_text(text, &s, &e) < 0);
    ck_assert_msg(strstr(e.msg, schedulers[_i].error) != NULL, "%s", e.msg);
}
END_TEST

/* What only the running world can tell. */
static const struct {
    const char *step, *error;
} late[] = {
    {"ec2: {terminate: {node: nobody}}", "terminate: no node matches"},
    {"ec2: {throttle: {actions: x}}", "ec2.throttle"},
    {"sqs: {send: [\"$INSTANCE(a=b)\"]}", "sqs.send[0]: nothing matches $INSTANCE(a=b)"},
    {"sqs: {send: [\"$INSTANCE(claim a=b)\"]}", "nothing matches $INSTANCE(claim a=b)"},
    {"sqs: {send: [\"$INSTANCE(a=b\"]}", "$INSTANCE( without )"},
    {"scale: {kind: Deployment, name: nobody, replicas: 1}", "not found"},
    {"delete: [{kind: Pod, selector: \"a=b\"}]", "delete[0]: nothing matches"},
};

START_TEST(late_errors_are_named)
{
    struct scenario s;
    struct err e = ERR_INIT;
    struct run_options o = {.seed = 1};
    char *text AUTO_FREE =
        xasprintf("%s  steps:\n    - at: 5s\n      %s\n%s", HEAD, late[_i].step, TAIL);
    ck_assert_msg(read_text(text, &s, &e) == 0, "%s", e.msg);
    struct sim_run *r = sim_run_new(&s, &o, &e);
    ck_assert_ptr_nonnull(r);
    ck_assert_int_lt(sim_run_play(r, &e), 0);
    ck_assert_int_eq(e.kind, ERR_INVALID);
    ck_assert_msg(strstr(e.msg, late[_i].error) != NULL, "\"%s\" is not in: %s", late[_i].error,
                  e.msg);
    ck_assert_msg(strstr(e.msg, "spec.steps[0]") != NULL, "no field in: %s", e.msg);
    sim_run_free(r);
    scenario_done(&s);
}
END_TEST

/* ---- what the steps do
 * ---------------------------------------------------------------------------- */

static const struct {
    const char *what, *steps;
} played[] = {
    {"a lagging watch of pods holds provisioning up",
     "    - at: 60s\n      api: {lagWatches: {resource: pods, by: 5m, for: 3m}}\n"
     "    - at: 61s\n      scale: " SCALE(3) "\n"
                                             "    - at: 230s\n      expect: [" CLAIMS
                                             "0}, " RUNNING(3) "]\n"},
    {"a lagging watch is only late",
     "    - at: 60s\n      api: {lagWatches: {resource: pods, by: 20s, for: 3m}}\n"
     "    - at: 61s\n      scale: " SCALE(3) "\n"
                                             "    - at: 78s\n      expect: [" CLAIMS "0}]\n"
                                             "    - at: 90s\n      expect: [" CLAIMS
                                             "1}, " RUNNING(3) "]\n"},
    {"a restore takes back what was created since",
     "    - at: 1m\n      apply: [{" MAP "}]\n"
     "    - at: 3m\n      api: {restore: {to: 150s}}\n"
     "    - at: 3m\n      expect: [{count: configmaps, fieldSelector: \"metadata.name=c\", eq: "
     "0}]\n"},
    {"a restore brings back what was deleted since, with its old version",
     "    - at: 1m\n      apply: [{" MAP ", data: {a: \"1\"}}]\n"
     "    - at: 2m\n      patch: {kind: ConfigMap, name: c, merge: {data: {a: \"2\"}}}\n"
     "    - at: 3m\n      delete: [{kind: ConfigMap, name: c}]\n"
     "    - at: 4m\n      api: {restore: {to: 150s}}\n"
     "    - at: 4m\n      expect: [{value: {kind: ConfigMap, name: c, path: data.a}, eq: \"1\"}]\n"
     "    - at: 5m\n      scale: " SCALE(2) "\n"
                                            "    - at: 5m\n      expect: [" RUNNING(2) "]\n"},
    {"a short freeze holds the agent up, no more",
     "    - at: 60s\n      agent: {freeze: 7s}\n"
     "    - at: 60s\n      scale: " SCALE(1) "\n"
                                             "    - at: 66s\n      expect: [" CLAIMS "0}]\n"
                                             "    - at: 75s\n      expect: [{metric: {name: "
                                             "leader_election_master_status}, eq: 1}, " RUNNING(
                                                 1) "]\n"},
    {"a freeze longer than the Lease ends the process",
     "    - at: 60s\n      agent: {freeze: 60s}\n"
     "    - at: 100s\n      expect: [{agentAlive: true, eq: true}]\n"
     "    - at: 121s\n      expect: [{agentAlive: true, eq: false}]\n"
     "    - at: 131s\n      scale: " SCALE(
         1) "\n"
            "    - at: 131s\n      expect: [{agentAlive: true, eq: true}, " RUNNING(1) "]\n"},
    {"a crash after a read",
     "    - at: 60s\n      agent: {crash: {after: \"kube:get leases\", restartAfter: 20s}}\n"
     "    - at: 60s\n      agent: {crash: {after: \"kube:update leases\", restartAfter: 5s}}\n"
     "    - at: 63s\n      expect: [{agentAlive: true, eq: false}]\n"
     "    - at: 72s\n      expect: [{agentAlive: true, eq: false, within: 20s}]\n"},
    {"a crash after the list of pods at start",
     "    - at: 60s\n      agent: {crash: {after: \"kube:list pods\", restartAfter: 30s}}\n"
     "    - at: 61s\n      agent: {crash: true, restartAfter: 1s}\n"
     "    - at: 70s\n      expect: [{agentAlive: true, eq: false}]\n"
     "    - at: 70s\n      scale: " SCALE(1) "\n"
                                             "    - at: 70s\n      expect: [" RUNNING(1) "]\n"},
    {"messages name instances by node and by claim",
     "    - at: 60s\n      scale: " SCALE(
         1) "\n"
            "    - at: 60s\n      expect: [" RUNNING(
                1) "]\n"
                   "    - at: 20m\n      sqs: {send: [{id: "
                   "$INSTANCE(karpenter.sh/nodepool=default)}, "
                   "\"$INSTANCE(claim karpenter.sh/nodepool=default)\"]}\n"
                   "    - at: 20m\n      expect: [{queue: true, eq: 2}]\n"},
    {"clocks jump forth and back",
     "    - at: 60s\n      world: {clockJump: 40d}\n"
     "    - at: 90s\n      world: {clockJump: -40d}\n"
     "    - at: 91s\n      scale: " SCALE(1) "\n"
                                             "    - at: 91s\n      expect: [" RUNNING(1) "]\n"},
};

START_TEST(steps_do_what_they_say)
{
    struct scenario s;
    struct err e = ERR_INIT;
    struct run_options o = {.seed = 1};
    char *text AUTO_FREE = xasprintf("%s  steps:\n%s%s", HEAD, played[_i].steps, TAIL);
    ck_assert_msg(read_text(text, &s, &e) == 0, "%s: %s", played[_i].what, e.msg);
    struct sim_run *r = sim_run_new(&s, &o, &e);
    ck_assert_msg(r != NULL, "%s", e.msg);
    ck_assert_msg(sim_run_play(r, &e) == 0, "%s: %s", played[_i].what, e.msg);
    ck_assert_msg(sim_run_passed(r), "%s: %s", played[_i].what,
                  r->failures.n ? r->failures.v[0] : r->violations.v[0]);
    sim_run_free(r);
    scenario_done(&s);
}
END_TEST

/* Of the two rules that end such a process (the Lease is not renewed either) the first one does,
 * before anything else that is due. */
static void find_gap(void *ctx, const char *line)
{
    bool *found = ctx;
    *found = *found || strstr(line, "ends itself: the loop stood still for 59 s") != NULL;
}

START_TEST(a_gap_in_the_loop_is_seen_first)
{
    struct scenario s;
    struct err e = ERR_INIT;
    bool found = false;
    struct run_options o = {.seed = 1, .trace = find_gap, .trace_ctx = &found};
    char *text AUTO_FREE = xasprintf("%s  steps:\n%s%s", HEAD,
                                     "    - at: 60s\n      agent: {freeze: 60s}\n"
                                     "    - at: 125s\n      expect: [{agentAlive: true, eq: "
                                     "false}]\n",
                                     TAIL);
    ck_assert_msg(read_text(text, &s, &e) == 0, "%s", e.msg);
    struct sim_run *r = sim_run_new(&s, &o, &e);
    ck_assert_msg(r != NULL, "%s", e.msg);
    ck_assert_msg(sim_run_play(r, &e) == 0, "%s", e.msg);
    ck_assert(found && sim_run_passed(r));
    sim_run_free(r);
    scenario_done(&s);
}
END_TEST

UNIT_MAIN("scenario", UNIT_TEST(a_gap_in_the_loop_is_seen_first),
          UNIT_CASES(wrong_files_are_named, wrong),
          UNIT_CASES(wrong_schedulers_are_named, schedulers),
          UNIT_CASES(late_errors_are_named, late), UNIT_CASES(steps_do_what_they_say, played))
