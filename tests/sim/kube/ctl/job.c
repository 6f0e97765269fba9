/*
 * job.c - the Job controller: parallelism pods at a time until completions have succeeded (without
 * completions: until one has, and the others are over too). Failed pods are replaced after a
 * back-off of 10 s doubling to 6 min, until more than backoffLimit have failed;
 * activeDeadlineSeconds ends it as well. podFailurePolicy's rules on pod conditions are followed
 * (Ignore, Count, FailJob); those on exit codes never match, since no container here has one. With
 * it, or with podReplacementPolicy Failed, a pod is replaced once it is over, not before. Pods
 * carry the finalizer batch.kubernetes.io/job-tracking until they are counted. Indexed Jobs give
 * each pod a completion index. A finished Job goes ttlSecondsAfterFinished later. See workloads.h.
 */
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "workloads_part.h"

#define WHO "job-controller"
#define WHO_TTL "ttl-after-finished-controller"
#define TRACKING "batch.kubernetes.io/job-tracking"
#define INDEX "batch.kubernetes.io/job-completion-index"
#define BACKOFF_NS (10 * NS_PER_S)
#define BACKOFF_MAX_NS (6 * NS_PER_MIN)
#define INDEXES_MAX 100000

struct job {
    struct sim_workloads *c;
    json_t *obj, *pods;
    const char *ns, *name;
    int64_t completions; /* -1 = none given */
    int64_t parallelism, limit;
    int64_t active, ready, succeeded, failed;
    int64_t leaving; /* terminating; they stand in the way of new ones if patient */
    bool patient;
    const json_t *ended_by;  /* the rule of podFailurePolicy that fails the Job; NULL = none */
    int64_t last_failure_ns; /* wall; 0 = none */
    json_t *indexes;         /* indexes that are done or taken: "0" -> true; NULL = not Indexed */
    bool over;
};

/* ---- pods -------------------------------------------------------------------------------------
 */

static int64_t wall(const struct job *j)
{
    return vclock_wall(&j->c->w->clock);
}

static int64_t time_at(const json_t *o, const char *path)
{
    int64_t at;
    const char *s = jsonx_str(o, path);
    return s && timefmt_parse_rfc3339(s, &at) ? at : 0;
}

static bool is_tracked(const json_t *pod)
{
    size_t i;
    json_t *f;
    json_array_foreach (jsonx_at(pod, "metadata.finalizers"), i, f) {
        if (str_eq(json_string_value(f), TRACKING)) {
            return true;
        }
    }
    return false;
}

static void untrack(const struct job *j, const json_t *pod)
{
    json_t *left = json_array();
    size_t i;
    json_t *f;
    json_array_foreach (jsonx_at(pod, "metadata.finalizers"), i, f) {
        if (!str_eq(json_string_value(f), TRACKING)) {
            json_array_append(left, f);
        }
    }
    sim_api_patch(j->c->w->api, WHO, SIM_POD, "", j->ns, jsonx_str(pod, "metadata.name"),
                  json_pack("{s:{s:o}}", "metadata", "finalizers", left), NULL, NULL);
}

static const char *index_of(const json_t *pod)
{
    const char *s =
        json_string_value(json_object_get(jsonx_at(pod, "metadata.annotations"), INDEX));
    return s ? s : "";
}

static void drop(const struct job *j, const json_t *pod)
{
    sim_api_delete(j->c->w->api, WHO, SIM_POD, j->ns, jsonx_str(pod, "metadata.name"),
                   jsonx_str(pod, "metadata.uid"), -1, "Background", NULL);
}

/* The first free index; -1 if there is none. */
static int64_t free_index(const struct job *j)
{
    char key[24];
    int64_t n = j->completions < INDEXES_MAX ? j->completions : INDEXES_MAX;
    for (int64_t i = 0; i < n; i++) {
        snprintf(key, sizeof(key), "%lld", (long long)i);
        if (!json_object_get(j->indexes, key)) {
            return i;
        }
    }
    return -1;
}

static bool make_pod(const struct job *j)
{
    char key[24];
    int64_t index = j->indexes ? free_index(j) : -1;
    if (j->indexes && index < 0) {
        return false;
    }
    snprintf(key, sizeof(key), "%lld", (long long)index);
    AUTO_FREE char *prefix =
        j->indexes ? xasprintf("%s-%s-", j->name, key) : xasprintf("%s-", j->name);
    json_t *pod = sim_pod_from(jsonx_at(j->obj, "spec.template"), j->obj, prefix);
    json_t *meta = json_object_get(pod, "metadata");
    json_object_set_new(meta, "finalizers", json_pack("[s]", TRACKING));
    if (j->indexes) {
        json_t *notes = json_object_get(meta, "annotations");
        notes = notes ? json_incref(notes) : json_object();
        json_object_set_new(notes, INDEX, json_string(key));
        json_object_set_new(meta, "annotations", notes);
        json_object_set_new(j->indexes, key, json_true());
    }
    return sim_api_create(j->c->w->api, WHO, SIM_POD, pod, NULL, NULL) == 0;
}

/* ---- counting ---------------------------------------------------------------------------------
 */

static void note_failure(struct job *j, const json_t *pod)
{
    int64_t at = time_at(sim_cond(pod, "Ready"), "lastTransitionTime");
    at = at ? at : wall(j);
    j->failed++;
    j->last_failure_ns = at > j->last_failure_ns ? at : j->last_failure_ns;
}

static bool has_condition(const json_t *pod, const json_t *patterns)
{
    size_t i;
    json_t *p;
    json_array_foreach ((json_t *)patterns, i, p) {
        const char *want = jsonx_str_or(p, "status", "True");
        if (str_eq(sim_cond_status(pod, jsonx_str_or(p, "type", "")), want)) {
            return true;
        }
    }
    return false;
}

/* The first rule of podFailurePolicy that speaks of the pod; NULL if none does. */
static const json_t *rule_for(const struct job *j, const json_t *pod)
{
    size_t i;
    json_t *rule;
    json_array_foreach (jsonx_arr(j->obj, "spec.podFailurePolicy.rules"), i, rule) {
        if (has_condition(pod, jsonx_arr(rule, "onPodConditions"))) {
            return rule;
        }
    }
    return NULL;
}

/* A failed pod, by the policy: it ends the Job, counts, or does not. */
static void judge_failure(struct job *j, const json_t *pod)
{
    const json_t *rule = rule_for(j, pod);
    const char *action = jsonx_str_or(rule, "action", "Count");
    if (str_eq(action, "FailJob") && !j->ended_by) {
        j->ended_by = rule;
    }
    if (!str_eq(action, "Ignore")) {
        note_failure(j, pod);
    }
}

/* A tracked pod that is over, or is being deleted without having succeeded, is counted once. */
static void count_pod(struct job *j, const json_t *pod)
{
    bool good = str_eq(jsonx_str(pod, "status.phase"), "Succeeded");
    bool bad = str_eq(jsonx_str(pod, "status.phase"), "Failed");
    bool leaving = sim_pod_terminating(pod);
    if (!good && !bad && !leaving) {
        j->active++;
        j->ready += sim_pod_ready(pod);
        if (j->indexes) {
            json_object_set_new(j->indexes, index_of(pod), json_true());
        }
        return;
    }
    if (!is_tracked(pod)) {
        return;
    }
    j->leaving += !good && !bad;
    /* The kubelet reports the end of a pod that is deleted; what never ran is gone at once. */
    bool ended = good || bad || sim_pod_node(pod)[0] == '\0' ||
                 jsonx_int(pod, "metadata.deletionGracePeriodSeconds", 0) == 0;
    if (!ended) {
        return;
    }
    if (good) {
        j->succeeded++;
        if (j->indexes) {
            json_object_set_new(j->indexes, index_of(pod), json_true());
        }
    } else if (!j->over) {
        judge_failure(j, pod);
    }
    untrack(j, pod);
}

/* "0-2,5" -> set of indexes. */
static void read_done(struct job *j)
{
    const char *p = jsonx_str_or(j->obj, "status.completedIndexes", "");
    while (*p) {
        char *end;
        long from = strtol(p, &end, 10), to = from;
        if (*end == '-') {
            to = strtol(end + 1, &end, 10);
        }
        for (long i = from; i <= to && i < INDEXES_MAX; i++) {
            char key[24];
            snprintf(key, sizeof(key), "%ld", i);
            json_object_set_new(j->indexes, key, json_integer(1));
        }
        p = *end == ',' ? end + 1 : end + strlen(end);
    }
}

static char *print_done(const struct job *j)
{
    char *text = xstrdup("");
    int64_t from = -1;
    for (int64_t i = 0; i <= j->completions; i++) {
        char key[24];
        snprintf(key, sizeof(key), "%lld", (long long)i);
        bool done = i < j->completions && json_is_integer(json_object_get(j->indexes, key));
        if (done && from < 0) {
            from = i;
        } else if (!done && from >= 0) {
            char *longer = i - 1 > from
                               ? xasprintf("%s%s%lld-%lld", text, *text ? "," : "", (long long)from,
                                           (long long)(i - 1))
                               : xasprintf("%s%s%lld", text, *text ? "," : "", (long long)from);
            free(text);
            text = longer;
            from = -1;
        }
    }
    return text;
}

/* ---- the end ----------------------------------------------------------------------------------
 */

static json_t *finished(const struct job *j, const char *type, const char *reason,
                        const char *message)
{
    json_t *first = sim_cond_set(jsonx_at(j->obj, "status.conditions"),
                                 str_eq(type, "Complete") ? "SuccessCriteriaMet" : "FailureTarget",
                                 "True", reason, message, wall(j));
    json_t *both = sim_cond_set(first, type, "True", reason, message, wall(j));
    json_decref(first);
    return both;
}

static bool is_complete(const struct job *j)
{
    return j->completions >= 0 ? j->succeeded >= j->completions
                               : j->succeeded > 0 && j->active == 0;
}

static bool deadline_over(const struct job *j)
{
    int64_t s = jsonx_int(j->obj, "spec.activeDeadlineSeconds", -1);
    int64_t began = time_at(j->obj, "status.startTime");
    if (s < 0 || began == 0) {
        return false;
    }
    if (wall(j) < began + s * NS_PER_S) {
        sim_workloads_mark_later(j->c, SIM_JOB, j->ns, j->name, began + s * NS_PER_S - wall(j));
        return false;
    }
    return true;
}

static void drop_active(const struct job *j, int64_t n)
{
    size_t i;
    json_t *pod;
    json_array_foreach (j->pods, i, pod) {
        if (n > 0 && sim_pod_active(pod)) {
            drop(j, pod);
            n--;
        }
    }
}

/* The conditions of the end, NULL if it goes on. */
static json_t *judge(const struct job *j)
{
    if (j->ended_by) {
        return finished(j, "Failed", "PodFailurePolicy",
                        "A pod failed as a rule of podFailurePolicy describes");
    }
    if (j->failed > j->limit) {
        return finished(j, "Failed", "BackoffLimitExceeded",
                        "Job has reached the specified backoff limit");
    }
    if (deadline_over(j)) {
        return finished(j, "Failed", "DeadlineExceeded",
                        "Job was active longer than specified deadline");
    }
    if (is_complete(j)) {
        return finished(j, "Complete", "CompletionsReached",
                        "Reached expected number of succeeded pods");
    }
    return NULL;
}

/* ---- going on ---------------------------------------------------------------------------------
 */

/* How long until pods may be made again after a failure. */
static int64_t backoff_left(const struct job *j)
{
    int64_t ns = BACKOFF_NS;
    if (j->failed == 0 || j->last_failure_ns == 0) {
        return 0;
    }
    for (int64_t i = 1; i < j->failed && ns < BACKOFF_MAX_NS; i++) {
        ns *= 2;
    }
    ns = ns < BACKOFF_MAX_NS ? ns : BACKOFF_MAX_NS;
    int64_t left = j->last_failure_ns + ns - wall(j);
    return left > 0 ? left : 0;
}

static void manage(struct job *j)
{
    int64_t want = j->parallelism;
    if (jsonx_bool(j->obj, "spec.suspend", false)) {
        want = 0;
    } else if (j->completions >= 0) {
        int64_t left = j->completions - j->succeeded;
        want = left < want ? left : want;
    } else if (j->succeeded > 0) {
        want = j->active; /* no new ones once one has succeeded */
    }
    if (j->active > want) {
        drop_active(j, j->active - want);
        return;
    }
    want -= j->patient ? j->leaving : 0;
    int64_t wait = j->active < want ? backoff_left(j) : 0;
    if (wait > 0) {
        sim_workloads_mark_later(j->c, SIM_JOB, j->ns, j->name, wait);
        return;
    }
    while (j->active < want && make_pod(j)) {
        j->active++;
    }
}

static void update_status(struct job *j, json_t *conditions)
{
    char now[TIMEFMT_TEXT], failed_at[TIMEFMT_TEXT];
    timefmt_rfc3339(wall(j), now);
    json_t *status = json_pack(
        "{s:I, s:I, s:I, s:I, s:s}", "active", (json_int_t)(conditions ? 0 : j->active), "ready",
        (json_int_t)j->ready, "succeeded", (json_int_t)j->succeeded, "failed",
        (json_int_t)j->failed, "startTime", jsonx_str_or(j->obj, "status.startTime", now));
    if (j->indexes) {
        AUTO_FREE char *done = print_done(j);
        json_object_set_new(status, "completedIndexes", json_string(done));
    }
    if (j->last_failure_ns > 0) {
        timefmt_rfc3339(j->last_failure_ns, failed_at);
        json_object_set_new(status, "lastFailureTime", json_string(failed_at));
    }
    if (conditions) {
        json_object_set_new(status, "conditions", conditions);
        if (is_complete(j)) {
            json_object_set_new(status, "completionTime", json_string(now));
        }
    }
    sim_status_update(j->c, WHO, j->obj, status);
}

static void expire(const struct job *j)
{
    int64_t ttl = jsonx_int(j->obj, "spec.ttlSecondsAfterFinished", -1);
    const json_t *c = sim_cond(j->obj, "Complete");
    int64_t at = time_at(c ? c : sim_cond(j->obj, "Failed"), "lastTransitionTime");
    int64_t left = at + ttl * NS_PER_S - wall(j);
    if (ttl < 0) {
        return;
    }
    if (left > 0) {
        sim_workloads_mark_later(j->c, SIM_JOB, j->ns, j->name, left);
    } else {
        sim_api_delete(j->c->w->api, WHO_TTL, SIM_JOB, j->ns, j->name, NULL, -1, "Background",
                       NULL);
    }
}

static void read_job(struct job *j)
{
    j->completions = jsonx_int(j->obj, "spec.completions", -1);
    j->parallelism = jsonx_int(j->obj, "spec.parallelism", 1);
    j->limit = jsonx_int(j->obj, "spec.backoffLimit", 6);
    j->patient = jsonx_at(j->obj, "spec.podFailurePolicy") ||
                 str_eq(jsonx_str(j->obj, "spec.podReplacementPolicy"), "Failed");
    j->succeeded = jsonx_int(j->obj, "status.succeeded", 0);
    j->failed = jsonx_int(j->obj, "status.failed", 0);
    j->last_failure_ns = time_at(j->obj, "status.lastFailureTime");
    j->over = str_eq(sim_cond_status(j->obj, "Complete"), "True") ||
              str_eq(sim_cond_status(j->obj, "Failed"), "True");
    if (str_eq(jsonx_str(j->obj, "spec.completionMode"), "Indexed")) {
        j->indexes = json_object();
        read_done(j);
    }
}

static void run(struct job *j)
{
    size_t i;
    json_t *pod;
    json_array_foreach (j->pods, i, pod) {
        count_pod(j, pod);
    }
    if (j->over) {
        expire(j);
        return;
    }
    json_t *end = judge(j);
    if (end) {
        drop_active(j, INT64_MAX);
    } else {
        manage(j);
    }
    update_status(j, end);
}

/* Pods of a Job that is gone, or of a namesake, are counted by nobody: they are let go. */
static void untrack_strangers(struct sim_workloads *c, const char *ns, const char *name,
                              const char *uid)
{
    AUTO_FREE char *key = xasprintf("%s/%s", ns, name);
    AUTO_JSON json_t *pods = sim_index_collect(&c->job_pods, key, false);
    struct job j = {.c = c, .ns = ns, .name = name};
    size_t i;
    json_t *pod;
    json_array_foreach (pods, i, pod) {
        if (is_tracked(pod) && !str_eq(jsonx_str(sim_controller(pod), "uid"), uid)) {
            untrack(&j, pod);
        }
    }
}

void sim_job_reconcile(struct sim_workloads *c, const char *ns, const char *name)
{
    const json_t *stored = sim_api_get(c->w->api, SIM_JOB, ns, name);
    AUTO_FREE char *uid = xstrdup(jsonx_str_or(stored, "metadata.uid", ""));
    untrack_strangers(c, ns, name, uid);
    if (!stored) {
        return;
    }
    struct job j = {.c = c, .obj = json_incref((json_t *)stored), .ns = ns, .name = name};
    j.pods = sim_index_collect(&c->pods_of, jsonx_str_or(j.obj, "metadata.uid", ""), false);
    read_job(&j);
    if (jsonx_str(j.obj, "metadata.deletionTimestamp")) {
        j.over = true;
    }
    run(&j);
    json_decref(j.indexes);
    json_decref(j.pods);
    json_decref(j.obj);
}
