/* StatefulSet, Job, CronJob, adoption and the scale subresource of the simulated world; see
 * tests/sim/kube/ctl/. The world begins at 09:00:00. */
#include "simrig.h"

static struct sim_world *make_world(void)
{
    struct sim_world *w = rig_world(1);
    rig_node(w, "n", RIG_BIG, NULL, NULL);
    rig_run(w, 10 * NS_PER_S);
    return w;
}

static const json_t *pod(const struct sim_world *w, const char *name)
{
    return sim_api_get(w->api, SIM_POD, "default", name);
}

/* Names of the pods of namespace default, in order, with blanks between. */
static void names(const struct sim_world *w, char *dst, size_t size)
{
    size_t at = 0;
    dst[0] = '\0';
    for (size_t i = 0; i < sim_api_count(w->api, SIM_POD); i++) {
        const char *name = jsonx_str_or(sim_api_at(w->api, SIM_POD, i), "metadata.name", "");
        at += (size_t)snprintf(dst + at, size - at, "%s%s", at ? " " : "", name);
    }
}

static void expect_names(const struct sim_world *w, const char *want)
{
    char got[512];
    names(w, got, sizeof(got));
    ck_assert_str_eq(got, want);
}

/* ---- StatefulSet --------------------------------------------------------------------------------
 */

static void make_set(struct sim_world *w, int replicas, const char *more, const char *annotations)
{
    AUTO_FREE char *text = xasprintf(
        "{'apiVersion':'apps/v1','kind':'StatefulSet','metadata':{'name':'db'},'spec':{"
        "'replicas':%d,%s'selector':{'matchLabels':{'app':'db'}},'template':{'metadata':{'labels':"
        "{'app':'db'},'annotations':{%s}},'spec':{'containers':[{'name':'c'}]}}}}",
        replicas, more, annotations);
    rig_apply(w, text);
}

#define SLOW "'sim.karp.dev/ready-after':'10s'"

/* One after the other up, each once the one before is ready; the highest goes first. */
START_TEST(in_order)
{
    struct sim_world *w = make_world();
    make_set(w, 3, "", SLOW);
    rig_run(w, 5 * NS_PER_S);
    expect_names(w, "db-0");
    rig_run(w, 10 * NS_PER_S);
    expect_names(w, "db-0 db-1");
    rig_run(w, 30 * NS_PER_S);
    expect_names(w, "db-0 db-1 db-2");
    const json_t *o = sim_api_get(w->api, SIM_STATEFULSET, "default", "db");
    ck_assert_int_eq(jsonx_int(o, "status.readyReplicas", 0), 3);
    const json_t *labels = jsonx_at(pod(w, "db-1"), "metadata.labels");
    ck_assert_str_eq(json_string_value(json_object_get(labels, "apps.kubernetes.io/pod-index")),
                     "1");
    /* A fourth would come at once, a fifth only when that one has been ready for a while. */
    make_set(w, 5, "'minReadySeconds':20,", "");
    rig_run(w, 25 * NS_PER_S);
    expect_names(w, "db-0 db-1 db-2 db-3");
    rig_run(w, 15 * NS_PER_S);
    expect_names(w, "db-0 db-1 db-2 db-3 db-4");
    make_set(w, 1, "'minReadySeconds':null,", SLOW);
    rig_run(w, 10 * NS_PER_S);
    expect_names(w, "db-0");
    /* A pod that is deleted comes back under its name. */
    AUTO_FREE char *uid = xstrdup(jsonx_str_or(pod(w, "db-0"), "metadata.uid", ""));
    sim_api_delete(w->api, "test", SIM_POD, "default", "db-0", NULL, -1, NULL, NULL);
    rig_run(w, 10 * NS_PER_S);
    ck_assert(pod(w, "db-0") && !str_eq(jsonx_str(pod(w, "db-0"), "metadata.uid"), uid));
    sim_world_free(w);
}
END_TEST

START_TEST(all_at_once)
{
    struct sim_world *w = make_world();
    make_set(w, 3, "'podManagementPolicy':'Parallel',", SLOW);
    rig_run(w, NS_PER_S);
    expect_names(w, "db-0 db-1 db-2");
    rig_run(w, 20 * NS_PER_S);
    make_set(w, 0, "'podManagementPolicy':'Parallel',", SLOW);
    rig_run(w, 5 * NS_PER_S);
    expect_names(w, "");
    sim_world_free(w);
}
END_TEST

/* From the highest down to the partition, one at a time. */
START_TEST(rolls_down_to_the_partition)
{
    struct sim_world *w = make_world();
    make_set(w, 3, "", "'v':'1'");
    rig_run(w, 60 * NS_PER_S);
    make_set(w, 3, "'updateStrategy':{'rollingUpdate':{'partition':1}},", "'v':'2'");
    rig_run(w, 60 * NS_PER_S);
    static const char *const want[] = {"1", "2", "2"};
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        char name[8];
        snprintf(name, sizeof(name), "db-%zu", i);
        ck_assert_str_eq(jsonx_str_or(pod(w, name), "metadata.annotations.v", ""), want[i]);
    }
    const json_t *o = sim_api_get(w->api, SIM_STATEFULSET, "default", "db");
    ck_assert_int_eq(jsonx_int(o, "status.updatedReplicas", 0), 2);
    sim_world_free(w);
}
END_TEST

/* Claims by template, one per pod; they outlive pods and are taken up again. */
START_TEST(keeps_its_claims)
{
    struct sim_world *w = make_world();
    static const char claims[] =
        "'volumeClaimTemplates':[{'metadata':{'name':'data'},'spec':{'accessModes':["
        "'ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}}}}],";
    make_set(w, 2, claims, "");
    rig_run(w, 60 * NS_PER_S);
    ck_assert_str_eq(jsonx_str_or(pod(w, "db-1"), "status.phase", ""), "Running");
    const json_t *claim = sim_api_get(w->api, SIM_PVC, "default", "data-db-1");
    AUTO_FREE char *volume = xstrdup(jsonx_str_or(claim, "spec.volumeName", ""));
    ck_assert_uint_eq(sim_api_count(w->api, SIM_PV), 2);
    ck_assert_uint_eq(sim_api_count(w->api, SIM_VOLUMEATTACHMENT), 2);
    make_set(w, 1, claims, "");
    rig_run(w, 60 * NS_PER_S);
    ck_assert_uint_eq(sim_api_count(w->api, SIM_PVC), 2);
    ck_assert_uint_eq(sim_api_count(w->api, SIM_VOLUMEATTACHMENT), 1);
    make_set(w, 2, claims, "");
    rig_run(w, 60 * NS_PER_S);
    claim = sim_api_get(w->api, SIM_PVC, "default", "data-db-1");
    ck_assert_str_eq(jsonx_str_or(claim, "spec.volumeName", ""), volume);
    ck_assert_str_eq(jsonx_str_or(pod(w, "db-1"), "status.phase", ""), "Running");
    sim_world_free(w);
}
END_TEST

/* ---- Job ----------------------------------------------------------------------------------------
 */

struct job_row {
    const char *what, *spec, *annotations;
    int after_s;
    int active, succeeded, failed;
    const char *end; /* condition, NULL = it goes on */
    const char *reason;
};

#define RUN(s) "'sim.karp.dev/run-for':'" #s "s'"
#define BAD(s) RUN(s) ",'sim.karp.dev/exit-code':'1'"

static const struct job_row jobs[] = {
    {"one pod", "", RUN(5), 20, 0, 1, 0, "Complete", "CompletionsReached"},
    {"two at a time", "'completions':4,'parallelism':2,", RUN(60), 30, 2, 0, 0, NULL, NULL},
    {"two at a time, later", "'completions':4,'parallelism':2,", RUN(60), 90, 2, 2, 0, NULL, NULL},
    {"two at a time, done", "'completions':4,'parallelism':2,", RUN(60), 150, 0, 4, 0, "Complete",
     "CompletionsReached"},
    {"no more than are missing", "'completions':3,'parallelism':2,", RUN(60), 90, 1, 2, 0, NULL,
     NULL},
    {"a queue: done when one has succeeded and all are over", "'parallelism':3,", RUN(5), 30, 0, 3,
     0, "Complete", "CompletionsReached"},
    {"suspended", "'suspend':true,", RUN(5), 30, 0, 0, 0, NULL, NULL},
    {"indexed", "'completions':3,'parallelism':3,'completionMode':'Indexed',", RUN(5), 30, 0, 3, 0,
     "Complete", "CompletionsReached"},
    {"fails and waits", "'backoffLimit':3,", BAD(1), 8, 0, 0, 1, NULL, NULL},
    {"fails again after 10 s", "'backoffLimit':3,", BAD(1), 20, 0, 0, 2, NULL, NULL},
    {"fails once too often", "'backoffLimit':1,", BAD(1), 60, 0, 0, 2, "Failed",
     "BackoffLimitExceeded"},
    {"too slow", "'activeDeadlineSeconds':10,", RUN(60), 20, 0, 0, 0, "Failed", "DeadlineExceeded"},
};

static void make_job(struct sim_world *w, const char *spec, const char *annotations)
{
    AUTO_FREE char *text = xasprintf(
        "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'j'},'spec':{%s'template':{"
        "'metadata':{'annotations':{%s}},'spec':{'restartPolicy':'Never','containers':[{'name':'c'"
        "}]}}}}",
        spec, annotations);
    rig_apply(w, text);
}

/* An evicted pod of a Job: counted as failed or not, waited for or not, or the end of it all. */
static const struct {
    const char *what, *spec;
    int64_t active_at_once, active, failed;
    const char *end;
} policies[] = {
    {"by itself", "", 1, 1, 1, ""},
    {"waited for", "'podReplacementPolicy':'Failed',", 0, 1, 1, ""},
    {"ignored",
     "'podFailurePolicy':{'rules':[{'action':'Ignore','onPodConditions':[{"
     "'type':'DisruptionTarget'}]}]},",
     0, 1, 0, ""},
    {"of another condition",
     "'podFailurePolicy':{'rules':[{'action':'Ignore','onPodConditions':[{'type':'X'}]}]},", 0, 1,
     1, ""},
    {"the end",
     "'podFailurePolicy':{'rules':[{'action':'FailJob','onPodConditions':[{"
     "'type':'DisruptionTarget'}]}]},",
     0, 0, 1, "PodFailurePolicy"},
};

START_TEST(follows_policies)
{
    struct sim_world *w = make_world();
    make_job(w, policies[_i].spec, RUN(300));
    rig_run(w, 5 * NS_PER_S);
    const char *name = jsonx_str_or(sim_api_at(w->api, SIM_POD, 0), "metadata.name", "");
    AUTO_FREE char *path = xasprintf(RIG_PODS "/%s/eviction", name);
    rig_patch(w, SIM_POD, name,
              "{'metadata':{'annotations':{'sim.karp.dev/ignore-sigterm':'true'}}}");
    rig_expect(w, "POST", path, "{'apiVersion':'policy/v1','kind':'Eviction'}", 201);
    rig_run(w, 12 * NS_PER_S);
    const json_t *o = sim_api_get(w->api, SIM_JOB, "default", "j");
    ck_assert_msg(jsonx_int(o, "status.active", -1) == policies[_i].active_at_once, "%s: %lld",
                  policies[_i].what, (long long)jsonx_int(o, "status.active", -1));
    rig_run(w, 60 * NS_PER_S);
    o = sim_api_get(w->api, SIM_JOB, "default", "j");
    ck_assert_msg(jsonx_int(o, "status.active", -1) == policies[_i].active &&
                      jsonx_int(o, "status.failed", -1) == policies[_i].failed,
                  "%s: %lld active, %lld failed", policies[_i].what,
                  (long long)jsonx_int(o, "status.active", -1),
                  (long long)jsonx_int(o, "status.failed", -1));
    ck_assert_str_eq(jsonx_str_or(sim_cond(o, "Failed"), "reason", ""), policies[_i].end);
    sim_world_free(w);
}
END_TEST

START_TEST(runs_jobs)
{
    const struct job_row *row = &jobs[_i];
    struct sim_world *w = make_world();
    make_job(w, row->spec, row->annotations);
    rig_run(w, row->after_s * NS_PER_S);
    const json_t *o = sim_api_get(w->api, SIM_JOB, "default", "j");
    ck_assert_msg(jsonx_int(o, "status.active", -1) == row->active &&
                      jsonx_int(o, "status.succeeded", -1) == row->succeeded &&
                      jsonx_int(o, "status.failed", -1) == row->failed,
                  "%s: %lld active, %lld succeeded, %lld failed", row->what,
                  (long long)jsonx_int(o, "status.active", -1),
                  (long long)jsonx_int(o, "status.succeeded", -1),
                  (long long)jsonx_int(o, "status.failed", -1));
    static const char *const ends[] = {"Complete", "Failed"};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        const json_t *c = sim_cond(o, ends[i]);
        ck_assert_msg((c != NULL) == str_eq(row->end, ends[i]), "%s: %s", row->what, ends[i]);
        ck_assert(!c || str_eq(jsonx_str(c, "reason"), row->reason));
    }
    /* Nothing that is over waits for being counted. */
    for (size_t i = 0; i < sim_api_count(w->api, SIM_POD); i++) {
        const json_t *p = sim_api_at(w->api, SIM_POD, i);
        ck_assert_msg(!sim_pod_over(p) || json_array_size(jsonx_at(p, "metadata.finalizers")) == 0,
                      "%s", row->what);
    }
    /* And all goes with the Job. */
    sim_api_delete(w->api, "test", SIM_JOB, "default", "j", NULL, -1, "Background", NULL);
    rig_run(w, 60 * NS_PER_S);
    ck_assert_uint_eq(sim_api_count(w->api, SIM_POD), 0);
    sim_world_free(w);
}
END_TEST

/* A pod that is evicted counts as failed and is replaced; a finished Job goes when its time is up.
 */
START_TEST(replaces_and_expires)
{
    struct sim_world *w = make_world();
    make_job(w, "'ttlSecondsAfterFinished':30,", RUN(20));
    rig_run(w, 5 * NS_PER_S);
    AUTO_FREE char *first =
        xstrdup(jsonx_str_or(sim_api_at(w->api, SIM_POD, 0), "metadata.name", ""));
    AUTO_FREE char *path = xasprintf(RIG_PODS "/%s/eviction", first);
    rig_expect(w, "POST", path, "{'apiVersion':'policy/v1','kind':'Eviction'}", 201);
    rig_run(w, 15 * NS_PER_S);
    ck_assert(!pod(w, first));
    const json_t *o = sim_api_get(w->api, SIM_JOB, "default", "j");
    ck_assert_int_eq(jsonx_int(o, "status.failed", 0), 1);
    ck_assert_int_eq(jsonx_int(o, "status.active", 0), 1);
    rig_run(w, 25 * NS_PER_S);
    o = sim_api_get(w->api, SIM_JOB, "default", "j");
    ck_assert_int_eq(jsonx_int(o, "status.succeeded", 0), 1);
    rig_run(w, 60 * NS_PER_S);
    ck_assert(!sim_api_get(w->api, SIM_JOB, "default", "j"));
    sim_world_free(w);
}
END_TEST

/* ---- CronJob ------------------------------------------------------------------------------------
 */

struct cron_row {
    const char *what, *spec, *run_for;
    int after_s;
    size_t jobs;    /* there */
    size_t running; /* of them */
};

static const struct cron_row crons[] = {
    {"every minute, none yet", "'schedule':'* * * * *'", "5s", 45, 0, 0},
    {"every minute", "'schedule':'* * * * *'", "5s", 130, 2, 0},
    {"three of the past are kept", "'schedule':'* * * * *'", "5s", 590, 3, 0},
    {"one of the past is kept", "'schedule':'* * * * *','successfulJobsHistoryLimit':1", "5s", 590,
     1, 0},
    {"slow ones pile up", "'schedule':'* * * * *'", "1h", 290, 4, 4},
    {"slow ones are waited for", "'schedule':'* * * * *','concurrencyPolicy':'Forbid'", "1h", 290,
     1, 1},
    {"slow ones are replaced", "'schedule':'* * * * *','concurrencyPolicy':'Replace'", "1h", 290, 1,
     1},
    {"every five minutes", "'schedule':'*/5 * * * *'", "5s", 890, 2, 0},
    {"suspended", "'schedule':'* * * * *','suspend':true", "5s", 290, 0, 0},
};

START_TEST(runs_cronjobs)
{
    const struct cron_row *row = &crons[_i];
    struct sim_world *w = make_world();
    AUTO_FREE char *text = xasprintf(
        "{'apiVersion':'batch/v1','kind':'CronJob','metadata':{'name':'k'},'spec':{%s,"
        "'jobTemplate':{'spec':{'template':{'metadata':{'annotations':{'sim.karp.dev/run-for':'%s'}"
        "},'spec':{'restartPolicy':'OnFailure','containers':[{'name':'c'}]}}}}}}",
        row->spec, row->run_for);
    rig_apply(w, text);
    rig_run(w, row->after_s * NS_PER_S);
    size_t running = 0;
    for (size_t i = 0; i < sim_api_count(w->api, SIM_JOB); i++) {
        running += jsonx_int(sim_api_at(w->api, SIM_JOB, i), "status.active", 0) > 0;
    }
    ck_assert_msg(sim_api_count(w->api, SIM_JOB) == row->jobs && running == row->running,
                  "%s: %zu jobs, %zu running", row->what, sim_api_count(w->api, SIM_JOB), running);
    sim_api_delete(w->api, "test", SIM_CRONJOB, "default", "k", NULL, -1, "Background", NULL);
    rig_run(w, 120 * NS_PER_S);
    ck_assert_uint_eq(sim_api_count(w->api, SIM_JOB), 0);
    ck_assert_uint_eq(sim_api_count(w->api, SIM_POD), 0);
    sim_world_free(w);
}
END_TEST

/* While the controllers stand still hits are missed; one is made up for. */
START_TEST(missed_hits)
{
    struct sim_world *w = make_world();
    rig_apply(w, "{'apiVersion':'batch/v1','kind':'CronJob','metadata':{'name':'k'},'spec':{"
                 "'schedule':'* * * * *','jobTemplate':{'spec':{'template':{'spec':{"
                 "'restartPolicy':'Never','containers':[{'name':'c'}]}}}}}}");
    rig_run(w, NS_PER_S);
    sim_workloads_stop(w->workloads);
    rig_run(w, 10 * NS_PER_MIN);
    sim_workloads_start(w->workloads);
    rig_run(w, 10 * NS_PER_S);
    ck_assert_uint_eq(sim_api_count(w->api, SIM_JOB), 1);
    sim_world_free(w);
}
END_TEST

/* ---- adoption -----------------------------------------------------------------------------------
 */

static const char *owner_of(const struct sim_world *w, const char *name)
{
    return jsonx_str_or(sim_controller(pod(w, name)), "name", "");
}

START_TEST(orphans_are_adopted_and_strays_released)
{
    struct sim_world *w = make_world();
    rig_apply(w, "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'orphan','labels':{'app':'x'}}"
                 ",'spec':{'containers':[{'name':'c'}]}}");
    rig_run(w, 5 * NS_PER_S);
    rig_apply(w, "{'apiVersion':'apps/v1','kind':'ReplicaSet','metadata':{'name':'r'},'spec':{"
                 "'replicas':2,'selector':{'matchLabels':{'app':'x'}},'template':{'metadata':{"
                 "'labels':{'app':'x'}},'spec':{'containers':[{'name':'c'}]}}}}");
    rig_run(w, 5 * NS_PER_S);
    ck_assert_str_eq(owner_of(w, "orphan"), "r");
    ck_assert_uint_eq(sim_api_count(w->api, SIM_POD), 2);
    /* One that does not fit any more is let go, and replaced. */
    rig_patch(w, SIM_POD, "orphan", "{'metadata':{'labels':{'app':'y'}}}");
    rig_run(w, 5 * NS_PER_S);
    ck_assert_str_eq(owner_of(w, "orphan"), "");
    ck_assert_uint_eq(sim_api_count(w->api, SIM_POD), 3);
    /* And it may come back: then there is one too many. */
    rig_patch(w, SIM_POD, "orphan", "{'metadata':{'labels':{'app':'x'}}}");
    rig_run(w, 40 * NS_PER_S);
    ck_assert_uint_eq(sim_api_count(w->api, SIM_POD), 2);
    sim_world_free(w);
}
END_TEST

START_TEST(other_peoples_pods_are_left_alone)
{
    struct sim_world *w = make_world();
    rig_deployment(w, "d", 2, "1");
    rig_run(w, 5 * NS_PER_S);
    rig_apply(w, "{'apiVersion':'apps/v1','kind':'ReplicaSet','metadata':{'name':'r'},'spec':{"
                 "'replicas':1,'selector':{'matchLabels':{'app':'d'}},'template':{'metadata':{"
                 "'labels':{'app':'d'}},'spec':{'containers':[{'name':'c'}]}}}}");
    rig_run(w, 5 * NS_PER_S);
    ck_assert_uint_eq(sim_api_count(w->api, SIM_POD), 3);
    sim_world_free(w);
}
END_TEST

/* ---- scale --------------------------------------------------------------------------------------
 */

#define SCALE "/apis/apps/v1/namespaces/default/deployments/d/scale"

START_TEST(scales_through_the_subresource)
{
    struct sim_world *w = make_world();
    rig_deployment(w, "d", 2, "1");
    rig_run(w, 5 * NS_PER_S);
    struct kube_resp r = rig_call(w, "GET", SCALE, NULL);
    ck_assert_int_eq(r.status, 200);
    ck_assert_str_eq(jsonx_str_or(r.body, "kind", ""), "Scale");
    ck_assert_str_eq(jsonx_str_or(r.body, "status.selector", ""), "app=d");
    ck_assert_int_eq(jsonx_int(r.body, "spec.replicas", 0), 2);
    ck_assert_int_eq(jsonx_int(r.body, "status.replicas", 0), 2);
    json_t *stale = json_deep_copy(r.body);
    sim_api_resp_done(&r);
    rig_expect(w, "PATCH", SCALE, "{'spec':{'replicas':3}}", 200);
    rig_run(w, 5 * NS_PER_S);
    ck_assert_uint_eq(sim_api_count(w->api, SIM_POD), 3);
    jsonx_set_new(stale, "spec.replicas", json_integer(5));
    struct kube_req put = {.method = "PUT", .path = SCALE, .body = stale};
    sim_api_call(w->api, "test", &put, &r);
    ck_assert_int_eq(r.status, 409);
    sim_api_resp_done(&r);
    json_decref(stale);
    rig_expect(w, "PATCH", SCALE, "{'spec':{'replicas':-1}}", 422);
    rig_expect(w, "GET", "/apis/apps/v1/namespaces/default/daemonsets/d/scale", NULL, 404);
    rig_expect(w, "GET", "/apis/apps/v1/namespaces/default/deployments/gone/scale", NULL, 404);
    sim_world_free(w);
}
END_TEST

UNIT_MAIN("sim_controllers", UNIT_TEST(in_order), UNIT_TEST(all_at_once),
          UNIT_TEST(rolls_down_to_the_partition), UNIT_TEST(keeps_its_claims),
          UNIT_CASES(runs_jobs, jobs), UNIT_CASES(follows_policies, policies),
          UNIT_TEST(replaces_and_expires), UNIT_CASES(runs_cronjobs, crons), UNIT_TEST(missed_hits),
          UNIT_TEST(orphans_are_adopted_and_strays_released),
          UNIT_TEST(other_peoples_pods_are_left_alone), UNIT_TEST(scales_through_the_subresource))
