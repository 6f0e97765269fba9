/* instancestatus.c - see instancestatus.h. */
#include "instancestatus.h"

#include "agent/claim/claim.h"
#include "agent/cloud/cloud.h"
#include "agent/store/store.h"
#include "agent/work/gate.h"
#include "agent/work/metrics.h"
#include "common/base/alloc.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/kube/events.h"
#include "depart.h"
#include "notice.h"

/* A claim that EC2 finds a fault with. */
struct fault {
    int64_t since_ns; /* monotonic: our first look */
    uint64_t round;   /* the last one that showed it */
    bool counted;
};

struct instancestatus {
    struct runtime *rt;
    struct depart *depart;
    struct map *faults; /* "claim UID category" → struct fault */
    uint64_t round;
    bool forbidden;
    struct timer timer;
    struct metric_family *unhealthy;
};

static void ask(void *arg);

static const struct {
    enum notice_kind kind;
    const char *category;
} faults[] = {
    [FAULT_INSTANCE_STATUS] = {NOTICE_INSTANCE_STATUS, "InstanceStatus"},
    [FAULT_SYSTEM_STATUS] = {NOTICE_SYSTEM_STATUS, "SystemStatus"},
    [FAULT_EVENT] = {NOTICE_EVENT_STATUS, "EventStatus"},
};

static struct fault *fault_of(struct instancestatus *s, const struct nodeclaim *nc,
                              enum cloud_fault kind)
{
    char key[300];
    snprintf(key, sizeof(key), "%.200s %s", nc->m.uid, faults[kind].category);
    struct fault *f = map_get(s->faults, key);
    if (!f) {
        bool full = false;
        f = NEW(struct fault);
        f->since_ns = clock_mono(s->rt->clock);
        map_put(s->faults, key, f, &full);
        if (full) {
            free(f);
            return NULL;
        }
    }
    f->round = s->round;
    return f;
}

static bool long_enough(const struct instancestatus *s, const struct fault *f,
                        const struct cloud_status *c)
{
    int64_t seen_ns = clock_mono(s->rt->clock) - f->since_ns;
    int64_t told_ns =
        c->since_ns && !runtime_clock_skewed(s->rt) ? clock_wall(s->rt->clock) - c->since_ns : 0;
    return c->fault == FAULT_EVENT || seen_ns >= INSTANCESTATUS_BAD_NS ||
           told_ns >= INSTANCESTATUS_BAD_NS;
}

static void act(struct instancestatus *s, const struct nodeclaim *nc, const struct cloud_status *c)
{
    const struct notice_names *names = notice_names(faults[c->fault].kind);
    struct fault *f = fault_of(s, nc, c->fault);
    bool forceful = c->fault != FAULT_EVENT;
    if (!f || !long_enough(s, f, c)) {
        return;
    }
    if (!f->counted) {
        f->counted = true;
        metric_add(s->unhealthy, LABELS(faults[c->fault].category), 1);
    }
    if (nc->m.deleted_ns && !forceful) {
        return;
    }
    struct events_subject about = {KIND_NODE_CLAIM, NULL, nc->m.name, nc->m.uid};
    events_warning(s->rt->events, &about, names->event, "%s", names->message);
    const struct departure why = {
        .metric = names->metric, .mark = names->mark, .interruption = true, .now = forceful};
    depart_order(s->depart, nc, &why);
}

/* Recovered, or gone. */
static void forget(struct instancestatus *s)
{
    for (MAP_EACH(s->faults, e)) {
        struct fault *f = map_value(e);
        if (f->round != s->round) {
            map_del(s->faults, map_key(e));
            free(f);
        }
    }
}

static void again(struct instancestatus *s, int64_t ns)
{
    timer_set(&s->rt->timers, &s->timer, clock_mono(s->rt->clock) + ns, ask, s);
}

static void failed(struct instancestatus *s, const struct err *err)
{
    bool forbidden = err->kind == ERR_FORBIDDEN;
    if (!forbidden || !s->forbidden) {
        log_error(s->rt->log, "cannot ask EC2 for the status of instances", "error", err->msg);
    }
    s->forbidden = forbidden;
    again(s, forbidden ? INSTANCESTATUS_FORBIDDEN_NS : INSTANCESTATUS_PERIOD_NS);
}

/* Answers are few, claims many: one look through the claims for all of them. */
static void on_statuses(void *arg, const struct err *err, const struct cloud_status *list,
                        uint32_t n)
{
    struct instancestatus *s = arg;
    struct map *by_id = map_new(STORE_MAX_OBJECTS);
    if (err->kind != ERR_NONE) {
        map_free(by_id);
        failed(s, err);
        return;
    }
    s->forbidden = false;
    s->round++;
    for (MAP_EACH(store_all(s->rt->store, STORE_CLAIM), e)) {
        const struct nodeclaim *nc = map_value(e);
        const char *id = cloud_instance_id(nc->provider_id);
        if (n > 0 && id && store_ours(&nc->class_ref)) {
            map_put(by_id, id, map_value(e), NULL);
        }
    }
    for (uint32_t i = 0; i < n && gate_open(s->rt->gate); i++) {
        const struct nodeclaim *nc = map_get(by_id, list[i].instance_id);
        if (nc) {
            act(s, nc, &list[i]);
        }
    }
    map_free(by_id);
    forget(s);
    again(s, INSTANCESTATUS_PERIOD_NS);
}

static void ask(void *arg)
{
    struct instancestatus *s = arg;
    const struct runtime *rt = s->rt;
    if (gate_open(rt->gate) && store_synced(rt->store) && cloud_ready(rt->cloud)) {
        cloud_statuses(rt->cloud, on_statuses, s);
    } else {
        again(s, INSTANCESTATUS_PERIOD_NS);
    }
}

struct instancestatus *instancestatus_new(struct runtime *rt)
{
    struct instancestatus *s = NEW(struct instancestatus);
    s->rt = rt;
    s->faults = map_new(STORE_MAX_OBJECTS);
    s->depart = depart_new(rt, "interruption.instancestatus", NULL, NULL);
    s->unhealthy =
        metrics_family(rt->metrics, "karpenter_interruption_instance_status_unhealthy_total",
                       "Instances that EC2 found a fault with, by kind of fault.", METRIC_COUNTER,
                       LABELS("category"), NULL, 0);
    return s;
}

void instancestatus_free(struct instancestatus *s)
{
    if (!s) {
        return;
    }
    timer_stop(&s->rt->timers, &s->timer);
    depart_free(s->depart);
    for (MAP_EACH(s->faults, e)) {
        free(map_value(e));
    }
    map_free(s->faults);
    free(s);
}

void instancestatus_start(struct instancestatus *s)
{
    again(s, INSTANCESTATUS_PERIOD_NS);
}
