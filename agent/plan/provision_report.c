/* provision_report.c - see provision_report.h. */
#include "provision_report.h"

#include "agent/work/metrics.h"
#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "common/base/jsonx.h"
#include "common/base/timefmt.h"
#include "common/kube/events.h"

#define LOG_PODS 5
#define LOG_TEXT_MAX 4096
#define WITH_INTENT_NS (INT64_C(2) * 60 * NS_PER_S)

struct provision_report {
    struct runtime *rt;
    struct metric_family *unschedulable, *duration, *depth;
    uint64_t last;  /* digest of the last result that was logged */
    uint32_t begin; /* with more refusals than are told at once: where to go on */
};

static const double duration_buckets[] = {
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7,
    0.8,   0.9,  1,     1.25, 1.5, 1.75, 2,   2.5,  3,   3.5,  4,   4.5,  5,   6,   7,
    8,     9,    10,    15,   20,  25,   30,  40,   50,  60,   120, 150,  300, 450, 600};

struct provision_report *provision_report_new(struct runtime *rt)
{
    struct provision_report *r = NEW(struct provision_report);
    r->rt = rt;
    r->unschedulable =
        metrics_family(rt->metrics, "karpenter_scheduler_unschedulable_pods_count",
                       "Pods that no pool can take.", METRIC_GAUGE, LABELS("controller"), NULL, 0);
    r->duration = metrics_family(
        rt->metrics, "karpenter_scheduler_scheduling_duration_seconds", "How long a decision took.",
        METRIC_HISTOGRAM, LABELS("controller"), duration_buckets, ARRAY_LEN(duration_buckets));
    r->depth =
        metrics_family(rt->metrics, "karpenter_scheduler_queue_depth", "Pods of the last decision.",
                       METRIC_GAUGE, LABELS("controller"), NULL, 0);
    metric_set(r->unschedulable, LABELS("provisioner"), 0);
    return r;
}

void provision_report_free(struct provision_report *r)
{
    free(r);
}

void provision_report_nothing(struct provision_report *r)
{
    metric_set(r->unschedulable, LABELS("provisioner"), 0);
    metric_set(r->depth, LABELS("provisioner"), 0);
}

/* ---- refusals ----------------------------------------------------------------------------------
 */

static void refusal_text(const struct provision_report *r, const struct sched_refusal *f,
                         struct buf *out)
{
    if (f->n_pools == 0) {
        reason_fmt(r->rt->syms, &f->reason, out);
        return;
    }
    for (uint32_t i = 0; i < f->n_pools && !out->over; i++) {
        buf_printf(out, "%sNodePool %s: ", i ? "; " : "", f->pools[i].pool->np->m.name);
        reason_fmt(r->rt->syms, &f->pools[i].reason, out);
    }
}

static void report_refused(struct provision_report *r, const struct sched_refusal *f, bool log)
{
    /* Pods that want no node of ours are nobody's failure. */
    if (f->reason.code == REASON_NotScheduledByUs) {
        return;
    }
    AUTO_BUF struct buf text;
    buf_init(&text, LOG_TEXT_MAX);
    refusal_text(r, f, &text);
    const struct meta *m = &f->pod->m;
    if (log) {
        log_error(r->rt->log, "could not schedule pod", "Pod", m->name, "namespace", m->ns,
                  "reason", reason_name(f->reason.code), "error", text.p);
    }
    struct events_subject about = {KIND_POD, m->ns, m->name, m->uid};
    events_post(r->rt->events, &about, true, "FailedScheduling", m->uid, FAILED_SCHEDULING_NS,
                "Failed to schedule pod, %s", text.p);
}

/* Thousands of texts would take longer than a turn may. */
static void report_refusals(struct provision_report *r, const struct sched_result *s, bool log)
{
    uint32_t n = s->n_refused < PROVISION_REFUSED_MAX ? s->n_refused : PROVISION_REFUSED_MAX;
    r->begin = n < s->n_refused ? r->begin % s->n_refused : 0;
    for (uint32_t i = 0; i < n; i++) {
        report_refused(r, &s->refused[(r->begin + i) % s->n_refused], log);
    }
    r->begin += n < s->n_refused ? n : 0;
}

/* ---- results -----------------------------------------------------------------------------------
 */

static uint64_t mix(uint64_t h, const void *p, size_t n)
{
    return (h ^ hash_fnv1a(p, n)) * UINT64_C(0x9E3779B97F4A7C15);
}

static uint64_t digest(const struct snapshot *snap, const struct sched_result *s)
{
    uint64_t h = mix(s->n_claims, &s->n_refused, sizeof(s->n_refused));
    for (uint32_t i = 0; i < snap->n_pods; i++) {
        h = mix(h, snap->pods[i]->m.uid, strlen(snap->pods[i]->m.uid));
    }
    return h;
}

static void log_result(struct provision_report *r, const struct snapshot *snap,
                       const struct sched_result *s, int64_t took_ns)
{
    AUTO_BUF struct buf pods;
    char took[TIMEFMT_TEXT];
    buf_init(&pods, LOG_TEXT_MAX);
    for (uint32_t i = 0; i < snap->n_pods && i < LOG_PODS; i++) {
        const struct meta *m = &snap->pods[i]->m;
        buf_printf(&pods, "%s%s/%s", i ? ", " : "", m->ns, m->name);
    }
    if (snap->n_pods > LOG_PODS) {
        buf_printf(&pods, " and %u other(s)", snap->n_pods - LOG_PODS);
    }
    log_info(r->rt->log, "found provisionable pod(s)", "Pods", pods.p, "duration",
             timefmt_duration(took_ns, took));
    uint32_t planned = 0;
    for (uint32_t i = 0; i < s->n_claims; i++) {
        planned += s->claims[i].n_pods;
    }
    if (s->n_claims) {
        log_info(r->rt->log,
                 r->rt->opt->mode == MODE_OBSERVE ? "would create nodeclaim(s) to fit pod(s)"
                                                  : "computed new nodeclaim(s) to fit pod(s)",
                 "nodeclaims", log_n(s->n_claims), "pods", log_n(planned));
    }
}

void provision_report_result(struct provision_report *r, const struct snapshot *snap,
                             const struct sched_result *s, int64_t took_ns)
{
    uint64_t d = digest(snap, s);
    bool log = d != r->last;
    r->last = d;
    if (log) {
        log_result(r, snap, s, took_ns);
    }
    uint32_t refused = 0;
    for (uint32_t i = 0; i < s->n_refused; i++) {
        refused += s->refused[i].reason.code != REASON_NotScheduledByUs;
    }
    report_refusals(r, s, log);
    metric_set(r->unschedulable, LABELS("provisioner"), refused);
    metric_set(r->depth, LABELS("provisioner"), snap->n_pods);
    metric_observe(r->duration, LABELS("provisioner"), (double)took_ns / NS_PER_S);
}

void provision_report_nominated(struct provision_report *r, const struct pod *p,
                                const struct snapshot_node *n)
{
    struct events_subject about = {KIND_POD, p->m.ns, p->m.name, p->m.uid};
    const char *claim = n->claim ? n->claim->m.name : NULL;
    const char *node = n->node ? n->node->m.name : NULL;
    events_post(r->rt->events, &about, false, "Nominated", p->m.uid, WITH_INTENT_NS,
                "Pod should schedule on: %s%s%s%s%s", claim ? "nodeclaim/" : "", claim ? claim : "",
                claim && node ? ", " : "", node ? "node/" : "", node ? node : "");
}

void provision_report_ordered(struct provision_report *r, const struct order_pod *p,
                              const char *claim)
{
    struct events_subject about = {KIND_POD, p->ns, p->name, p->uid};
    events_post(r->rt->events, &about, false, "Nominated", p->uid, WITH_INTENT_NS,
                "Pod should schedule on: nodeclaim/%s", claim);
}

void provision_report_created(struct provision_report *r, const struct order *o, const char *claim)
{
    AUTO_FREE char *requests = jsonx_dump(jsonx_at(o->body, "spec.resources.requests"));
    log_info(r->rt->log, "created nodeclaim", "NodePool", o->pool, "NodeClaim", claim, "requests",
             requests, "instance-types", o->types);
}
