/*
 * cronjob.c - the CronJob controller: a Job at every hit of the schedule (UTC), named after the
 * minute it was due. concurrencyPolicy Forbid lets a hit pass while one runs, Replace ends what
 * runs. A hit that is later than startingDeadlineSeconds is missed; after a pause only the newest
 * missed hit is made up for. Finished Jobs are kept up to the history limits. See workloads.h.
 */
#include "common/base/alloc.h"
#include "common/base/cron.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "workloads_part.h"

#define WHO "cronjob-controller"
#define LATE_MAX 100 /* hits that are looked at after a pause */

struct cronjob {
    struct sim_workloads *c;
    json_t *obj, *jobs;
    const char *ns, *name;
    struct cron cron;
    int64_t now_ns;
};

static int64_t time_at(const json_t *o, const char *path)
{
    int64_t at;
    const char *s = jsonx_str(o, path);
    return s && timefmt_parse_rfc3339(s, &at) ? at : 0;
}

static bool job_is(const json_t *job, const char *type)
{
    return str_eq(sim_cond_status(job, type), "True");
}

static bool job_runs(const json_t *job)
{
    return !job_is(job, "Complete") && !job_is(job, "Failed") &&
           !jsonx_str(job, "metadata.deletionTimestamp");
}

static void drop_job(const struct cronjob *k, const json_t *job)
{
    sim_api_delete(k->c->w->api, WHO, SIM_JOB, k->ns, jsonx_str(job, "metadata.name"), NULL, -1,
                   "Background", NULL);
}

/* The oldest finished ones beyond the limit go; jobs are in the order they were made. */
static void keep_history(const struct cronjob *k, const char *type, int64_t limit)
{
    int64_t n = 0;
    for (size_t i = json_array_size(k->jobs); i-- > 0;) {
        const json_t *job = json_array_get(k->jobs, i);
        if (job_is(job, type) && ++n > limit) {
            drop_job(k, job);
        }
    }
}

static json_t *new_job(const struct cronjob *k, int64_t due_ns)
{
    char text[TIMEFMT_TEXT];
    json_t *template = jsonx_at(k->obj, "spec.jobTemplate");
    AUTO_FREE char *name = xasprintf("%.52s-%lld", k->name, (long long)(due_ns / NS_PER_MIN));
    json_t *meta = json_object_get(template, "metadata");
    json_t *copy = meta ? json_deep_copy(meta) : json_object();
    timefmt_rfc3339(due_ns, text);
    json_object_set_new(copy, "name", json_string(name));
    json_object_set_new(copy, "namespace", json_string(k->ns));
    json_object_set_new(copy, "ownerReferences", json_pack("[o]", sim_owner_ref(k->obj)));
    if (!json_object_get(copy, "annotations")) {
        json_object_set_new(copy, "annotations", json_object());
    }
    json_object_set_new(json_object_get(copy, "annotations"),
                        "batch.kubernetes.io/cronjob-scheduled-timestamp", json_string(text));
    return json_pack("{s:o, s:o?}", "metadata", copy, "spec",
                     json_deep_copy(json_object_get(template, "spec")));
}

/* The newest hit since the last one that was made, -1 if there is none that still counts. */
static int64_t due_hit(const struct cronjob *k)
{
    int64_t deadline = jsonx_int(k->obj, "spec.startingDeadlineSeconds", -1);
    int64_t last = time_at(k->obj, "status.lastScheduleTime");
    int64_t from = last ? last : time_at(k->obj, "metadata.creationTimestamp");
    int64_t due = -1;
    if (deadline >= 0 && from < k->now_ns - deadline * NS_PER_S) {
        from = k->now_ns - deadline * NS_PER_S;
    }
    for (int i = 0; i < LATE_MAX; i++) {
        int64_t next = cron_next(&k->cron, NULL, from);
        if (next == NS_NEVER || next > k->now_ns) {
            return due;
        }
        due = from = next;
    }
    /* So many were missed that upstream gives up counting and takes the last one. */
    return due;
}

static size_t running(const struct cronjob *k)
{
    size_t n = 0, i;
    json_t *job;
    json_array_foreach (k->jobs, i, job) {
        n += job_runs(job);
    }
    return n;
}

static json_t *active_refs(const struct cronjob *k)
{
    json_t *out = json_array();
    AUTO_JSON json_t *jobs =
        sim_index_collect(&k->c->jobs_of, jsonx_str_or(k->obj, "metadata.uid", ""), false);
    size_t i;
    json_t *job;
    json_array_foreach (jobs, i, job) {
        if (job_runs(job)) {
            json_array_append_new(
                out, json_pack("{s:s, s:s, s:s, s:s, s:s}", "apiVersion", "batch/v1", "kind", "Job",
                               "name", jsonx_str_or(job, "metadata.name", ""), "namespace", k->ns,
                               "uid", jsonx_str_or(job, "metadata.uid", "")));
        }
    }
    return out;
}

static void start(const struct cronjob *k, int64_t due_ns)
{
    char text[TIMEFMT_TEXT];
    const char *policy = jsonx_str_or(k->obj, "spec.concurrencyPolicy", "Allow");
    size_t i;
    json_t *job;
    if (str_eq(policy, "Forbid") && running(k) > 0) {
        return;
    }
    json_array_foreach (k->jobs, i, job) {
        if (str_eq(policy, "Replace") && job_runs(job)) {
            drop_job(k, job);
        }
    }
    sim_api_create(k->c->w->api, WHO, SIM_JOB, new_job(k, due_ns), NULL, NULL);
    timefmt_rfc3339(due_ns, text);
    sim_status_update(k->c, WHO, k->obj,
                      json_pack("{s:s, s:o}", "lastScheduleTime", text, "active", active_refs(k)));
}

static void run(const struct cronjob *k)
{
    int64_t due = jsonx_bool(k->obj, "spec.suspend", false) ? -1 : due_hit(k);
    if (due >= 0) {
        start(k, due);
    } else {
        sim_status_update(k->c, WHO, k->obj, json_pack("{s:o}", "active", active_refs(k)));
    }
    int64_t next = cron_next(&k->cron, NULL, k->now_ns);
    if (next != NS_NEVER) {
        sim_workloads_mark_later(k->c, SIM_CRONJOB, k->ns, k->name, next - k->now_ns);
    }
}

void sim_cronjob_reconcile(struct sim_workloads *c, const char *ns, const char *name)
{
    const json_t *stored = sim_api_get(c->w->api, SIM_CRONJOB, ns, name);
    if (!stored || jsonx_str(stored, "metadata.deletionTimestamp")) {
        return;
    }
    struct cronjob k = {.c = c,
                        .obj = json_incref((json_t *)stored),
                        .ns = ns,
                        .name = name,
                        .now_ns = vclock_wall(&c->w->clock)};
    k.jobs = sim_index_collect(&c->jobs_of, jsonx_str_or(k.obj, "metadata.uid", ""), false);
    if (cron_parse(jsonx_str_or(k.obj, "spec.schedule", ""), &k.cron, NULL) == 0) {
        keep_history(&k, "Complete", jsonx_int(k.obj, "spec.successfulJobsHistoryLimit", 3));
        keep_history(&k, "Failed", jsonx_int(k.obj, "spec.failedJobsHistoryLimit", 1));
        run(&k);
    }
    json_decref(k.jobs);
    json_decref(k.obj);
}
