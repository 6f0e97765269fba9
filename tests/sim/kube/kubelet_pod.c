/* kubelet_pod.c - pods on simulated machines; see kubelet.h, kubelet_pod.h */
#include "kubelet_pod.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "tests/sim/kube/ctl/volumes.h"

#define WHO "kubelet"
#define NOTICE_NS (2 * NS_PER_MS) /* change to kubelet */

static void on_timer(void *arg);

/* ---- what the object says ---------------------------------------------------------------------
 */

static const char *annotation(const json_t *pod, const char *key)
{
    return json_string_value(json_object_get(jsonx_at(pod, "metadata.annotations"), key));
}

/* -1 if absent or unreadable. */
static int64_t annotation_ns(const json_t *pod, const char *key)
{
    int64_t ns;
    const char *s = annotation(pod, key);
    return s && timefmt_parse_duration_days(s, &ns) && ns >= 0 ? ns : -1;
}

/* "sleep N" anywhere in an exec command, whether as words or inside a shell text. */
static int64_t exec_sleep_s(const json_t *command)
{
    int64_t s = 0;
    size_t i;
    json_t *word;
    json_array_foreach ((json_t *)command, i, word) {
        const char *text = json_string_value(word);
        const char *at = text ? strstr(text, "sleep") : NULL;
        if (!at) {
            continue;
        }
        const char *number = at + strlen("sleep");
        const char *next = json_string_value(json_array_get(command, i + 1));
        number += strspn(number, " ");
        s += strtol(*number ? number : next ? next : "0", NULL, 10);
    }
    return s > 0 ? s : 0;
}

/* How long the longest preStop hook takes. */
static int64_t pre_stop_ns(const json_t *pod)
{
    int64_t longest = 0;
    size_t i;
    json_t *c;
    json_array_foreach (jsonx_at(pod, "spec.containers"), i, c) {
        int64_t s = jsonx_int(c, "lifecycle.preStop.sleep.seconds", 0);
        int64_t exec = exec_sleep_s(jsonx_at(c, "lifecycle.preStop.exec.command"));
        s = exec > s ? exec : s;
        longest = s > longest ? s : longest;
    }
    return longest * NS_PER_S;
}

/* When the processes are gone, from stopping_ns on. */
static int64_t stop_ns(const struct sim_kpod *p)
{
    int64_t grace = jsonx_int(p->obj, "metadata.deletionGracePeriodSeconds", 0) * NS_PER_S;
    int64_t hook = pre_stop_ns(p->obj);
    bool stubborn = str_eq(annotation(p->obj, "sim.karp.dev/ignore-sigterm"), "true");
    return p->stopping_ns + (stubborn || hook > grace ? grace : hook);
}

/* ---- reporting --------------------------------------------------------------------------------
 */

static json_t *conditions(const struct sim_kpod *p, bool ready, const char *reason)
{
    static const char *const types[] = {"PodReadyToStartContainers", "Initialized",
                                        "ContainersReady", "Ready"};
    int64_t now = vclock_wall(&p->m->k->w->clock);
    json_t *list = json_incref(jsonx_at(p->obj, "status.conditions"));
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        bool yes = i < 2 || ready;
        json_t *next =
            sim_cond_set(list, types[i], yes ? "True" : "False", yes ? NULL : reason, NULL, now);
        json_decref(list);
        list = next;
    }
    return list;
}

/* status is stolen. */
static void report(struct sim_kpod *p, json_t *status)
{
    sim_api_patch(p->m->k->w->api, WHO, SIM_POD, "status", p->ns, p->name,
                  json_pack("{s:o}", "status", status), NULL, NULL);
}

static void leave_machine(struct sim_kpod *p)
{
    if (p->admitted && !p->over) {
        sim_res_add(&p->m->used, &p->req, -1);
    }
    p->over = true;
}

static void report_over(struct sim_kpod *p, const char *phase, const char *reason,
                        const char *message)
{
    json_t *status =
        json_pack("{s:s, s:o}", "phase", phase, "conditions",
                  conditions(p, false, str_eq(phase, "Succeeded") ? "PodCompleted" : "PodFailed"));
    if (reason) {
        json_object_set_new(status, "reason", json_string(reason));
        json_object_set_new(status, "message", json_string(message));
    }
    leave_machine(p);
    report(p, status);
}

static void report_running(struct sim_kpod *p)
{
    char started[TIMEFMT_TEXT];
    const struct vclock *v = &p->m->k->w->clock;
    timefmt_rfc3339(v->start_wall_ns + p->seen_ns, started);
    report(p, json_pack("{s:s, s:s, s:s, s:o}", "phase", "Running", "startTime", started, "hostIP",
                        p->m->ip, "conditions", conditions(p, p->ready, "ContainersNotReady")));
}

/* ---- steps: each does what is due and tells when to look again; NS_NEVER = when it changes ------
 */

static void refuse(struct sim_kpod *p, const char *lacks)
{
    char reason[96], message[256];
    if (lacks) {
        const struct sim_res *have = &p->m->allocatable, *used = &p->m->used;
        bool cpu = str_eq(lacks, "cpu"), mem = str_eq(lacks, "memory");
        snprintf(reason, sizeof(reason), "OutOf%s", lacks);
        snprintf(message, sizeof(message),
                 "Pod was rejected: Node didn't have enough resource: %s, requested: %lld, used: "
                 "%lld, capacity: %lld",
                 lacks,
                 (long long)(cpu   ? p->req.cpu_milli
                             : mem ? p->req.mem_bytes
                                   : 1),
                 (long long)(cpu   ? used->cpu_milli
                             : mem ? used->mem_bytes
                                   : used->pods),
                 (long long)(cpu   ? have->cpu_milli
                             : mem ? have->mem_bytes
                                   : have->pods));
    } else {
        snprintf(reason, sizeof(reason), "NodeAffinity");
        snprintf(message, sizeof(message), "Pod was rejected: Predicate NodeAffinity failed");
    }
    report_over(p, "Failed", reason, message);
}

static bool admit(struct sim_kpod *p)
{
    const json_t *node = sim_api_get(p->m->k->w->api, SIM_NODE, NULL, p->m->name);
    const char *lacks = sim_res_lacks(&p->m->allocatable, &p->m->used, &p->req, NULL, NULL);
    if (lacks || !node || !sim_node_selected(json_object_get(p->obj, "spec"), node)) {
        refuse(p, lacks);
        return false;
    }
    p->admitted = true;
    p->seen_ns = vclock_now(&p->m->k->w->clock);
    sim_res_add(&p->m->used, &p->req, 1);
    return true;
}

static int64_t step_running(struct sim_kpod *p, int64_t now)
{
    int64_t run_for = annotation_ns(p->obj, "sim.karp.dev/run-for");
    int64_t ready_after = annotation_ns(p->obj, "sim.karp.dev/ready-after");
    if (run_for >= 0 && now >= p->started_ns + run_for) {
        const char *code = annotation(p->obj, "sim.karp.dev/exit-code");
        report_over(p, !code || str_eq(code, "0") ? "Succeeded" : "Failed", NULL, NULL);
        return NS_NEVER;
    }
    int64_t next = run_for >= 0 ? p->started_ns + run_for : NS_NEVER;
    if (!p->ready) {
        int64_t at = p->started_ns + (ready_after > 0 ? ready_after : 0);
        if (now < at) {
            return at < next ? at : next;
        }
        p->ready = true;
        report_running(p);
    }
    return next;
}

static int64_t step_starting(struct sim_kpod *p, int64_t now)
{
    if (!p->admitted && !admit(p)) {
        return NS_NEVER;
    }
    if (!sim_volumes_attached(p->m->k->w->api, p->obj)) {
        p->seen_ns = now; /* containers start once the last volume is there */
        return NS_NEVER;  /* the attachment's change leads here again */
    }
    if (now < p->seen_ns + SIM_POD_START_NS) {
        return p->seen_ns + SIM_POD_START_NS;
    }
    p->running = true;
    p->started_ns = now;
    if (annotation_ns(p->obj, "sim.karp.dev/ready-after") > 0) {
        report_running(p);
    }
    return step_running(p, now);
}

/* The pod may be freed: its deletion is confirmed in here. */
static int64_t step_stopping(struct sim_kpod *p, int64_t now)
{
    if (p->stopping_ns < 0) {
        p->stopping_ns = now;
    }
    if (p->running && !p->over) {
        int64_t at = stop_ns(p);
        if (now < at) {
            return at;
        }
        /* Servers end well at SIGTERM; what has work to finish is cut short. */
        bool killed = str_eq(annotation(p->obj, "sim.karp.dev/ignore-sigterm"), "true") ||
                      !str_eq(jsonx_str_or(p->obj, "spec.restartPolicy", "Always"), "Always");
        report_over(p, killed ? "Failed" : "Succeeded", NULL, NULL);
    }
    leave_machine(p);
    AUTO_FREE char *ns = xstrdup(p->ns);
    AUTO_FREE char *name = xstrdup(p->name);
    AUTO_FREE char *uid = xstrdup(p->uid);
    sim_api_delete(p->m->k->w->api, WHO, SIM_POD, ns, name, uid, 0, NULL, NULL);
    return NS_NEVER;
}

static void on_timer(void *arg)
{
    struct sim_kpod *p = arg;
    struct sim_kubelet *k = p->m->k;
    int64_t now = vclock_now(&k->w->clock);
    if (p->m->off || p->m->silent) {
        return;
    }
    if (sim_pod_terminating(p->obj)) {
        AUTO_FREE char *uid = xstrdup(p->uid);
        int64_t next = step_stopping(p, now);
        if (next != NS_NEVER && map_get(k->pods, uid) == p) {
            timer_set(&k->w->clock.timers, &p->timer, next, on_timer, p);
        }
        return;
    }
    int64_t next = p->over ? NS_NEVER : p->running ? step_running(p, now) : step_starting(p, now);
    if (next != NS_NEVER) {
        timer_set(&k->w->clock.timers, &p->timer, next, on_timer, p);
    }
}

/* ---- changes ----------------------------------------------------------------------------------
 */

static void kpod_free(struct sim_kpod *p)
{
    timer_stop(&p->m->k->w->clock.timers, &p->timer);
    json_decref(p->obj);
    free(p->uid);
    free(p->ns);
    free(p->name);
    free(p);
}

static void kpod_gone(struct sim_kubelet *k, struct sim_kpod *p)
{
    struct sim_machine *m = p->m;
    leave_machine(p);
    map_del(k->pods, p->uid);
    kpod_free(p);
    m->n_pods--;
    sim_machine_release(m);
}

static struct sim_kpod *kpod_new(struct sim_kubelet *k, struct sim_machine *m, const json_t *pod)
{
    struct sim_kpod *p = NEW(struct sim_kpod);
    p->uid = xstrdup(jsonx_str_or(pod, "metadata.uid", ""));
    p->ns = xstrdup(jsonx_str_or(pod, "metadata.namespace", ""));
    p->name = xstrdup(jsonx_str_or(pod, "metadata.name", ""));
    p->m = m;
    p->stopping_ns = -1;
    p->over = sim_pod_over(pod);
    sim_res_pod(json_object_get(pod, "spec"), &p->req);
    map_put(k->pods, p->uid, p, NULL);
    m->n_pods++;
    return p;
}

/* Whether the kubelet has to look: it was just bound, is to go, or may go sooner. */
static bool needs_look(const struct sim_kpod *p, const json_t *now)
{
    return !p->obj ||
           !json_equal(jsonx_at(p->obj, "metadata.deletionTimestamp"),
                       jsonx_at(now, "metadata.deletionTimestamp")) ||
           !json_equal(jsonx_at(p->obj, "metadata.annotations"),
                       jsonx_at(now, "metadata.annotations"));
}

/* The object knows less than was reported of it; nobody else would ever say so again. */
static bool set_back(const struct sim_kpod *p, const json_t *now)
{
    if (sim_pod_terminating(now) || sim_pod_over(now)) {
        return false;
    }
    return p->over || (p->running && str_eq(jsonx_str_or(now, "status.phase", ""), "Pending"));
}

void sim_kpod_change(struct sim_kubelet *k, const struct sim_change *c)
{
    struct sim_kpod *p = map_get(k->pods, jsonx_str_or(c->after, "metadata.uid", ""));
    if (c->type == KUBE_DELETED) {
        if (p) {
            kpod_gone(k, p);
        }
        return;
    }
    if (p && (!str_eq(p->m->name, sim_pod_node(c->after)) || set_back(p, c->after))) {
        kpod_gone(k, p); /* a restore took it off the node, or took back what was reported */
        p = NULL;
    }
    if (!p) {
        struct sim_machine *m = map_get(k->by_name, sim_pod_node(c->after));
        if (!m || sim_pod_node(c->after)[0] == '\0') {
            return;
        }
        p = kpod_new(k, m, c->after);
    }
    bool look = needs_look(p, c->after);
    json_decref(p->obj);
    p->obj = json_incref(c->after);
    if (look) {
        p->stopping_ns = sim_pod_terminating(c->after) ? p->stopping_ns : -1;
        vclock_set(&k->w->clock, &p->timer, NOTICE_NS, on_timer, p);
    }
}

void sim_kpod_attached(struct sim_kubelet *k, const char *node)
{
    for (MAP_EACH(k->pods, e)) {
        struct sim_kpod *p = map_value(e);
        if (!p->running && str_eq(p->m->name, node)) {
            vclock_set(&k->w->clock, &p->timer, NOTICE_NS, on_timer, p);
        }
    }
}

void sim_kpod_resume(struct sim_kubelet *k, const struct sim_machine *m)
{
    for (MAP_EACH(k->pods, e)) {
        struct sim_kpod *p = map_value(e);
        if (p->m == m) {
            vclock_set(&k->w->clock, &p->timer, NOTICE_NS, on_timer, p);
        }
    }
}

void sim_kpod_free_all(struct sim_kubelet *k)
{
    for (MAP_EACH(k->pods, e)) {
        kpod_free(map_value(e));
    }
    map_free(k->pods);
    k->pods = NULL;
}
