/* podview.c - see podview.h. */
#include "podview.h"

#include "cmd/screen.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/core/labels.h"

#define HASH_LABEL "pod-template-hash"
#define CRONJOB_DIGITS 8u
#define CRONJOB_MINUTES_MAX (INT64_C(7) * 24 * 60)

/* A CronJob names its Jobs after itself and the minute they were due; so the number must be a
 * minute of the week before the pod came. */
static const char *cronjob_of(struct arena *a, const struct pod *p, const char *job)
{
    const char *dash = strrchr(job, '-');
    int64_t minute = 0, came = p->m.created_ns / (60 * NS_PER_S);
    if (!dash || dash == job || strlen(dash + 1) != CRONJOB_DIGITS ||
        strspn(dash + 1, "0123456789") != CRONJOB_DIGITS) {
        return NULL;
    }
    for (const char *s = dash + 1; *s; s++) {
        minute = minute * 10 + (*s - '0');
    }
    bool due = minute <= came && came - minute < CRONJOB_MINUTES_MAX;
    return due ? arena_printf(a, "CronJob/%.*s", (int)(dash - job), job) : NULL;
}

const char *podview_owner(struct arena *a, const struct pod *p)
{
    const char *hash = kvs_get(&p->labels, HASH_LABEL);
    for (uint32_t i = 0; i < p->m.n_owners; i++) {
        const struct owner_ref *o = &p->m.owners[i];
        if (!o->controller) {
            continue;
        }
        size_t n = strlen(o->name), h = hash ? strlen(hash) : 0;
        if (str_eq(o->kind, "ReplicaSet") && h > 0 && n > h + 1 && str_ends(o->name, hash) &&
            o->name[n - h - 1] == '-') {
            return arena_printf(a, "Deployment/%.*s", (int)(n - h - 1), o->name);
        }
        const char *cron = str_eq(o->kind, "Job") ? cronjob_of(a, p, o->name) : NULL;
        return cron ? cron : arena_printf(a, "%s/%s", o->kind, o->name);
    }
    return "";
}

int64_t podview_since(const struct pod *p)
{
    if (p->node_name[0] != '\0' && p->start_ns) {
        return p->start_ns;
    }
    return p->unschedulable_since_ns ? p->unschedulable_since_ns : p->m.created_ns;
}

/* ---- the verdict ----------------------------------------------------------------------------- */

static void verdict(struct podview *v, const char *code, const char *message)
{
    v->code = code;
    v->message = message;
}

static const struct sched_placement *placement_of(const struct podview *v)
{
    const struct sched_result *r = v->s->d.result;
    for (uint32_t i = 0; i < r->n_existing; i++) {
        if (r->existing[i].pod == v->pod) {
            return &r->existing[i];
        }
    }
    return NULL;
}

static const struct sched_claim *claim_of(const struct podview *v)
{
    const struct sched_result *r = v->s->d.result;
    for (uint32_t i = 0; i < r->n_claims; i++) {
        for (uint32_t k = 0; k < r->claims[i].n_pods; k++) {
            if (r->claims[i].pods[k] == v->pod) {
                return &r->claims[i];
            }
        }
    }
    return NULL;
}

static const struct sched_refusal *refusal_of(const struct podview *v)
{
    const struct sched_result *r = v->s->d.result;
    for (uint32_t i = 0; i < r->n_refused; i++) {
        if (r->refused[i].pod == v->pod) {
            return &r->refused[i];
        }
    }
    return NULL;
}

static bool undecided(const struct podview *v)
{
    const struct sched_result *r = v->s->d.result;
    for (uint32_t i = 0; i < r->n_undecided; i++) {
        if (r->undecided[i] == v->pod) {
            return true;
        }
    }
    return false;
}

static void verdict_existing(struct podview *v, const struct snapshot_node *n)
{
    struct arena *a = &v->s->a;
    v->node = n;
    if (n->initialized) {
        verdict(v, reason_name(REASON_FitsExisting),
                arena_printf(a, "fits on %s, which is there", report_node(a, n)));
    } else {
        verdict(v, reason_name(REASON_WaitingForNode),
                arena_printf(a, "waits for %s, which is on its way", report_node(a, n)));
    }
}

static void verdict_claim(struct podview *v, const struct sched_claim *c)
{
    struct arena *a = &v->s->a;
    const struct catalog *cat = c->pool->catalog;
    const char *first =
        c->n_types ? sym_str(v->s->w.syms, catalog_type_name(cat, c->types[0])) : "?";
    uint32_t others = c->n_types > REPORT_TYPES_MAX ? REPORT_TYPES_MAX : c->n_types;
    v->claim = c;
    verdict(v, reason_name(REASON_Schedulable),
            arena_printf(a, "a node of nodepool %s would be launched: %s%s", c->pool->np->m.name,
                         first,
                         others > 2    ? arena_printf(a, " or one of %u other types", others - 1)
                         : others == 2 ? " or 1 other type"
                                       : ""));
}

static void verdict_refused(struct podview *v, const struct sched_refusal *r)
{
    struct arena *a = &v->s->a;
    const char *why = report_reason(a, v->s, &r->reason);
    /* Pods that wait for something else, or for others' nodes, miss no home of ours. */
    v->homeless =
        r->n_pools > 0 || r->reason.code == REASON_NoPool || r->reason.code == REASON_ResourceClaim;
    if (r->n_pools > 0) {
        why = arena_printf(a, "no nodepool fits; nearest is %s: %s", r->pools[0].pool->np->m.name,
                           why);
    }
    verdict(v, reason_name(r->reason.code), why);
}

static void verdict_pending(struct podview *v)
{
    enum reason_code gate = sched_pod_gate(v->pod);
    const struct sched_placement *p = placement_of(v);
    const struct sched_claim *c = p ? NULL : claim_of(v);
    const struct sched_refusal *r = p || c ? NULL : refusal_of(v);
    if (p) {
        verdict_existing(v, p->node);
    } else if (c) {
        verdict_claim(v, c);
    } else if (r) {
        verdict_refused(v, r);
    } else if (undecided(v)) {
        verdict(v, "Undecided", "the decision was cut short before it came to this pod");
    } else if (gate != REASON_NONE) {
        struct reason one = {.code = gate, .short_of = {.res = RES_FIXED}};
        verdict(v, reason_name(gate), report_reason(&v->s->a, v->s, &one));
    } else {
        verdict(v, "NotUnschedulable", "kube-scheduler has not called it unschedulable");
    }
}

static void verdict_bound(struct podview *v)
{
    struct arena *a = &v->s->a;
    v->bound = true;
    v->node = snapshot_find(&v->s->d.snap, v->pod->node_name);
    if (v->over) {
        verdict(v, "Over", "it has run to its end and asks for nothing any more");
        return;
    }
    if (!v->node || !v->node->leaving) {
        verdict(v, reason_name(REASON_FitsExisting),
                arena_printf(a, "runs on %s", v->pod->node_name));
        return;
    }
    v->leaving = v->node;
    verdict_pending(v);
    v->homeless = false;
    v->message = arena_printf(a, "its node %s is leaving; %s", v->pod->node_name,
                              str_eq(v->code, "NotUnschedulable") ? "it goes with it" : v->message);
}

/* ---- what controllers say -------------------------------------------------------------------- */

static void say(struct podview *v, const char *source, const char *reason, const char *message,
                int64_t time_ns)
{
    for (size_t i = 0; i < v->n_said; i++) {
        if (str_eq(v->said[i].source, source) && str_eq(v->said[i].message, message)) {
            return;
        }
    }
    if (v->n_said < PODVIEW_EVENTS_MAX) {
        v->said[v->n_said++] = (struct podview_said){source, reason, message, time_ns};
    }
}

/* Of karp and Karpenter; kube-scheduler says what it says in kubectl describe. */
static void read_events(struct podview *v)
{
    const struct world *w = &v->s->w;
    for (size_t i = 0; i < world_n(w, KIND_EVENT); i++) {
        const struct world_event *e = world_at(w, KIND_EVENT, i);
        if (e->about == KIND_POD && str_eq(e->ns, v->pod->m.ns) &&
            str_eq(e->name, v->pod->m.name) && str_starts(e->source, "karp")) {
            say(v, e->source, e->reason, e->message, e->time_ns);
        }
    }
}

/* What the claim that it waits for, or is on, has to say. */
static void read_conditions(struct podview *v)
{
    const struct snapshot_node *n = v->node;
    if (!n || !n->claim || n->initialized) {
        return;
    }
    for (uint32_t i = 0; i < n->claim->conditions.n; i++) {
        const struct condition *c = &n->claim->conditions.v[i];
        bool step = str_eq(c->type, "Launched") || str_eq(c->type, "Registered") ||
                    str_eq(c->type, "Initialized");
        if (step && c->status != STATUS_TRUE && *c->message) {
            say(v, arena_printf(&v->s->a, "nodeclaim/%s", n->claim->m.name), c->type,
                arena_printf(&v->s->a, "%s: %s", *c->reason ? c->reason : c->type, c->message),
                c->transition_ns);
        }
    }
}

static void explain(struct podview *v)
{
    bool stays = v->bound && !v->leaving;
    struct explain_home home = {stays ? NULL : v->node, v->claim};
    if (v->over) {
        return;
    }
    v->e = stays                     ? session_explain_bound(v->s, v->pod)
           : home.node || home.claim ? session_explain_placed(v->s, v->pod, home)
                                     : session_explain(v->s, v->pod);
}

void podview_build(struct session *s, const struct pod *pod, struct podview *ret)
{
    memset(ret, 0, sizeof(*ret));
    ret->s = s;
    ret->pod = pod;
    ret->over = pod_terminal(pod);
    if (pod->node_name[0] != '\0' || ret->over) {
        verdict_bound(ret);
    } else {
        verdict_pending(ret);
    }
    explain(ret);
    read_events(ret);
    read_conditions(ret);
    podview_advise(ret);
}

void podview_warnings(json_t *list, struct session *s, struct podview *const *v, size_t n)
{
    const struct pod *first = NULL;
    uint32_t naked = 0;
    for (size_t i = 0; i < n; i++) {
        if (v[i]->pod->owner == POWNER_NONE && !v[i]->over) {
            first = first ? first : v[i]->pod;
            naked++;
        }
    }
    report_warnings(list, &s->a, s);
    if (naked > 0) {
        report_naked(list, &s->a, first, naked);
    }
}
