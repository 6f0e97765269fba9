/* podevents.c - see podevents.h. */
#include "podevents.h"

#include "agent/store/store.h"
#include "agent/work/queue.h"
#include "agent/work/render.h"
#include "agent/work/work.h"
#include "claim.h"
#include "common/base/alloc.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"

#define BACKOFF_NS (1 * NS_PER_S)
#define BACKOFF_MAX_NS (30 * NS_PER_S)

/* Not written yet, or the last one that was. What the wall clock said then is not kept: before the
 * API server has told the time it may have been any, and a time in the future, once written, keeps
 * an empty node until then. */
struct event {
    int64_t at_ns; /* monotonic */
    bool pending;
};

struct podevents {
    struct runtime *rt;
    struct queue *q;
    struct map *events; /* claim → struct event */
};

static void on_written(void *ctx, const char *key, const struct kube_resp *resp)
{
    struct podevents *p = ctx;
    struct event *ev = map_get(p->events, key);
    if (ev && resp->err.kind != ERR_NONE && resp->err.kind != ERR_NOT_FOUND) {
        ev->pending = true;
    }
}

static enum queue_verdict handle(void *ctx, const char *key)
{
    struct podevents *p = ctx;
    struct event *ev = map_get(p->events, key);
    const struct nodeclaim *nc = store_claim(p->rt->store, key);
    if (!ev || !nc || nc->m.deleted_ns) {
        free(map_del(p->events, key));
        return QUEUE_OK;
    }
    int64_t now_ns = clock_wall(p->rt->clock), since_ns = now_ns - nc->last_pod_event_ns;
    int64_t at_ns = now_ns - (clock_mono(p->rt->clock) - ev->at_ns);
    if (!ev->pending || at_ns <= nc->last_pod_event_ns) {
        return QUEUE_OK;
    }
    if (since_ns >= 0 && since_ns < PODEVENTS_DEDUPE_NS) {
        queue_add_after(p->q, key, PODEVENTS_DEDUPE_NS - since_ns);
        return QUEUE_OK;
    }
    ev->pending = false;
    json_t *patch = json_pack("{s:{s:o}}", "status", "lastPodEventTime", render_time(at_ns));
    struct work w = {p->rt, p->q, key, on_written, p};
    return work_patch(&w, KIND_NODE_CLAIM, NULL, key, "status", patch, NULL);
}

static void note(struct podevents *p, const char *node_name)
{
    const struct node *n = store_node(p->rt->store, node_name);
    const struct nodeclaim *nc =
        n ? store_claim_by_provider_id(p->rt->store, n->provider_id) : NULL;
    if (!nc || nc->m.deleted_ns || !store_ours(&nc->class_ref) ||
        p->rt->opt->mode == MODE_OBSERVE) {
        return;
    }
    struct event *ev = map_get(p->events, nc->m.name);
    if (!ev) {
        bool full = false;
        ev = NEW(struct event);
        map_put(p->events, nc->m.name, ev, &full);
        if (full) {
            free(ev);
            return;
        }
    }
    ev->at_ns = clock_mono(p->rt->clock);
    ev->pending = true;
    queue_add(p->q, nc->m.name);
}

/* Jobs' pods that run shorter do not count; 0 = they all do. */
static int64_t short_ns(const struct podevents *p, const struct pod *is)
{
    const struct node *n = store_node(p->rt->store, is->node_name);
    const struct nodepool *np =
        n ? store_pool(p->rt->store, node_label(p->rt, n, L_NODEPOOL)) : NULL;
    const char *text = np ? kvs_get(&np->m.annotations, ANN_IGNORE_SHORT_PODS) : NULL;
    int64_t ns = p->rt->opt->ignore_short_pods_ns;
    return !text ? ns : timefmt_parse_duration_days(text, &ns) && ns > 0 ? ns : 0;
}

static bool ends(const struct pod *was, const struct pod *is)
{
    return (pod_terminal(is) && !pod_terminal(was)) || (is->m.deleted_ns && !was->m.deleted_ns);
}

/* Whether a Job's pod was a short one is only known at its end. */
static bool long_job_ends(const struct podevents *p, const struct pod *was, const struct pod *is,
                          int64_t least_ns)
{
    return was && ends(was, is) && is->start_ns &&
           clock_wall(p->rt->clock) - is->start_ns >= least_ns;
}

static bool is_event(const struct podevents *p, const struct pod *was, const struct pod *is)
{
    if (is->owner == POWNER_DAEMONSET || is->owner == POWNER_NODE || !*is->node_name) {
        return false;
    }
    int64_t least_ns = is->owner == POWNER_JOB ? short_ns(p, is) : 0;
    if (least_ns > 0) {
        return long_job_ends(p, was, is, least_ns);
    }
    if (!was) {
        return store_synced(p->rt->store) &&
               clock_wall(p->rt->clock) - is->m.created_ns < PODEVENTS_NEW_NS;
    }
    return !*was->node_name || ends(was, is);
}

static void on_pod(void *arg, const char *key, const void *before, const void *now)
{
    struct podevents *p = arg;
    (void)key;
    if (now && is_event(p, before, now)) {
        note(p, ((const struct pod *)now)->node_name);
    }
}

static void on_claim(void *arg, const char *key, const void *before, const void *now)
{
    struct podevents *p = arg;
    (void)before;
    if (!now) {
        free(map_del(p->events, key));
    }
}

struct podevents *podevents_new(struct runtime *rt)
{
    struct podevents *p = NEW(struct podevents);
    p->rt = rt;
    p->q = queue_new(rt, "nodeclaim.podevents", STORE_CLAIM, BACKOFF_NS, BACKOFF_MAX_NS, handle, p);
    p->events = map_new(STORE_MAX_OBJECTS);
    store_subscribe(rt->store, STORE_POD, on_pod, p);
    store_subscribe(rt->store, STORE_CLAIM, on_claim, p);
    return p;
}

void podevents_free(struct podevents *p)
{
    if (!p) {
        return;
    }
    queue_free(p->q);
    for (MAP_EACH(p->events, e)) {
        free(map_value(e));
    }
    map_free(p->events);
    free(p);
}

void podevents_start(struct podevents *p)
{
    (void)p;
}
