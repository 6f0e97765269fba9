/* creator.c - see creator.h. */
#include "creator.h"

#include "agent/claim/launcher.h"
#include "agent/store/intents.h"
#include "agent/store/store.h"
#include "agent/work/metrics.h"
#include "brake.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "ineffective.h"

struct job {
    struct creator *c;
    struct job *next;
    struct order *order;
    const char *reason;
    creator_fn done;
    void *arg;
    uint64_t creation; /* the launcher's number */
};

struct creator {
    struct runtime *rt;
    struct brake *brake;
    struct job *first, **end;           /* not sent yet, in order */
    struct job *open[CREATOR_OPEN_MAX]; /* on their way */
    size_t n, n_open;
    struct timer pump;
    struct metric_family *created;
};

static void pump(void *arg);

static void pump_soon(struct creator *c)
{
    if (!timer_pending(&c->pump)) {
        timer_set(&c->rt->timers, &c->pump, clock_mono(c->rt->clock), pump, c);
    }
}

static void job_free(struct job *j)
{
    if (j) {
        order_free(j->order);
        free(j);
    }
}

static void job_end(struct job *j, const char *claim, const char *why)
{
    j->c->n--;
    j->done(j->arg, j->order, claim, why);
    job_free(j);
}

static void remember(struct creator *c, const struct job *j, const char *claim)
{
    const struct order *o = j->order;
    brake_created(c->brake, claim, o);
    ineffective_launched(c->rt->ineffective, o, claim);
    store_nominate(c->rt->store, claim, clock_mono(c->rt->clock) + intents_window_ns(c->rt));
    for (uint32_t i = 0; i < o->n_pods; i++) {
        intents_put(c->rt->intents, claim, o->pods[i].key, o->pods[i].uid);
    }
    metric_add(c->created, LABELS(j->reason, o->pool, o->min_values_relaxed ? "true" : "false"), 1);
}

/* Without an answer the claim may be there all the same, and its watch may lag: nothing else is
 * decided before a list has told. */
static bool maybe_created(const struct err *e)
{
    return e->kind == ERR_TIMEOUT || e->kind == ERR_UNAVAILABLE;
}

static void on_created(void *arg, const struct kube_resp *resp)
{
    struct job *j = arg;
    struct creator *c = j->c;
    const char *name = resp->body ? jsonx_str(resp->body, "metadata.name") : NULL;
    const char *uid = resp->body ? jsonx_str(resp->body, "metadata.uid") : NULL;
    for (size_t i = 0; i < CREATOR_OPEN_MAX; i++) {
        c->open[i] = c->open[i] == j ? NULL : c->open[i];
    }
    c->n_open--;
    pump_soon(c);
    bool created = resp->err.kind == ERR_NONE && name;
    if (c->rt->launcher) {
        launcher_created(c->rt->launcher, j->creation, created ? name : NULL, uid);
    }
    if (created) {
        remember(c, j, name);
        job_end(j, name, NULL);
    } else {
        brake_give_back(c->brake);
        ineffective_give_back(c->rt->ineffective, j->order);
        log_error(c->rt->log, "cannot create NodeClaim", "NodePool", j->order->pool, "error",
                  resp->err.msg);
        if (maybe_created(&resp->err)) {
            store_refresh(c->rt->store, STORE_CLAIM);
        }
        job_end(j, NULL, resp->err.msg);
    }
}

static void send(struct creator *c, struct job *j)
{
    const char *why = ineffective_refuses(c->rt->ineffective, j->order);
    why = why ? why : brake_refuses(c->brake, j->order);
    size_t slot = 0;
    if (why) {
        log_info(c->rt->log, "not launching", "NodePool", j->order->pool, "reason", why);
        job_end(j, NULL, why);
        return;
    }
    while (c->open[slot]) {
        slot++;
    }
    c->open[slot] = j;
    c->n_open++;
    brake_take(c->brake);
    ineffective_take(c->rt->ineffective, j->order);
    j->creation = c->rt->launcher ? launcher_creating(c->rt->launcher) : 0;
    kube_create(&c->rt->client, KIND_NODE_CLAIM, NULL, j->order->body, on_created, j);
}

static void pump(void *arg)
{
    struct creator *c = arg;
    while (c->first && c->n_open < CREATOR_OPEN_MAX) {
        struct job *j = c->first;
        c->first = j->next;
        if (!c->first) {
            c->end = &c->first;
        }
        send(c, j);
    }
}

void creator_send(struct creator *c, struct order *o, const char *reason, creator_fn done,
                  void *arg)
{
    if (c->n >= CREATOR_ORDERS_MAX) {
        BUG("more than %d orders are open", CREATOR_ORDERS_MAX);
    }
    struct job *j = NEW(struct job);
    *j = (struct job){.c = c, .order = o, .reason = reason, .done = done, .arg = arg};
    *c->end = j;
    c->end = &j->next;
    c->n++;
    pump_soon(c);
}

int64_t creator_launches_left(struct creator *c)
{
    return brake_launches_left(c->brake);
}

bool creator_over_limits(struct creator *c, const char *pool)
{
    return brake_over_limits(c->brake, pool);
}

struct creator *creator_new(struct runtime *rt)
{
    struct creator *c = NEW(struct creator);
    c->rt = rt;
    c->end = &c->first;
    c->brake = brake_new(rt);
    c->created =
        metrics_family(rt->metrics, "karpenter_nodeclaims_created_total", "NodeClaims created.",
                       METRIC_COUNTER, LABELS("reason", "nodepool", "min_values_relaxed"), NULL, 0);
    rt->creator = c;
    return c;
}

void creator_free(struct creator *c)
{
    if (!c) {
        return;
    }
    timer_stop(&c->rt->timers, &c->pump);
    for (size_t i = 0; i < CREATOR_OPEN_MAX; i++) {
        job_free(c->open[i]);
    }
    while (c->first) {
        struct job *j = c->first;
        c->first = j->next;
        job_free(j);
    }
    brake_free(c->brake);
    c->rt->creator = NULL;
    free(c);
}

void creator_start(struct creator *c)
{
    (void)c;
}
