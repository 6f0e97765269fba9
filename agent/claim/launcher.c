/* launcher.c - one instance per NodeClaim; see launcher.h. */
#include "launcher.h"

#include "agent/cloud/cloud.h"
#include "agent/leave/holds.h"
#include "agent/store/store.h"
#include "agent/work/cond.h"
#include "agent/work/gate.h"
#include "agent/work/work.h"
#include "claim.h"
#include "common/base/alloc.h"
#include "common/base/str.h"
#include "common/kube/events.h"
#include "launchwrite.h"

#define FLIGHTS_MAX STORE_MAX_OBJECTS
#define ATTEMPTS_MAX INT64_C(1000000000) /* beyond it somebody else has written the annotation */

/* One claim on its way to an instance. */
struct flight {
    struct launcher *l;
    char *name, *uid;
    bool busy;      /* the cloud has been asked and will answer */
    bool clean;     /* it is certain that there is no instance */
    bool uncertain; /* an attempt has had no clear answer */
    bool looked;    /* looked for by tag, found nothing: the same attempt may be asked again */
    bool current;   /* its attempt is the API server's, not just that of a watch that lags */
    bool unclear;   /* may be a creation of ours that is not answered yet, one up to this: */
    uint64_t creation;
    bool was_clean; /* before the attempt that is under way */
    bool advance;   /* the attempt is to be counted up before the next one */
    bool give_up;   /* the claim is to be deleted */
    bool say;       /* reason and message are to be written */
    int64_t attempt;
    int64_t absent_since_ns; /* 0 = not looked yet */
    int64_t not_before_ns;
    unsigned refusals;
    const char *disrupted; /* with give_up: reason for the counter */
    char reason[64], message[304];
    struct launch_found *found; /* the instance, until the claim says so */
};

struct launcher {
    struct runtime *rt;
    struct queue *queue;
    struct map *flights;
    uint64_t last; /* creation */
    uint64_t *open;
    size_t n_open, cap_open;
};

static int64_t mono(const struct launcher *l)
{
    return clock_mono(l->rt->clock);
}

/* ---- flights -----------------------------------------------------------------------------------
 */

static void flight_free(struct flight *f)
{
    launch_found_free(f->found);
    free(f->name);
    free(f->uid);
    free(f);
}

static void flight_drop(struct launcher *l, const char *name)
{
    struct flight *f = map_get(l->flights, name);
    if (f && !f->busy) {
        map_del(l->flights, name);
        flight_free(f);
    }
}

static struct flight *flight_new(struct launcher *l, const char *name, const char *uid, bool own)
{
    struct flight *f = NEW(struct flight);
    bool full = false;
    f->l = l;
    f->name = xstrdup(name);
    f->uid = xstrdup(uid);
    f->clean = f->current = own;
    f->unclear = !own;
    f->creation = l->last;
    map_put(l->flights, f->name, f, &full);
    if (full) {
        flight_free(f);
        return NULL;
    }
    return f;
}

/* The claim's; NULL while one of the same name but another UID is still being waited for. */
static struct flight *flight_of(struct launcher *l, const struct nodeclaim *nc)
{
    struct flight *f = map_get(l->flights, nc->m.name);
    if (f && !str_eq(f->uid, nc->m.uid)) {
        flight_drop(l, nc->m.name);
        f = map_get(l->flights, nc->m.name) ? f : NULL;
        if (f) {
            return NULL;
        }
    }
    return f ? f : flight_new(l, nc->m.name, nc->m.uid, false);
}

static int64_t attempt_of(const struct nodeclaim *nc)
{
    const char *text = kvs_get(&nc->m.annotations, ANN_LAUNCH_ATTEMPT);
    int64_t n;
    return text && str_parse_i64(text, &n) && n > 0 && n < ATTEMPTS_MAX ? n : 1;
}

/* ---- looking by tag ----------------------------------------------------------------------------
 */

/* The first launched; of the same time the first by id. */
static const struct instance *first_of(const struct instance *list, uint32_t n)
{
    const struct instance *best = NULL;
    for (uint32_t i = 0; i < n; i++) {
        if (str_eq(list[i].state, "shutting-down")) {
            continue;
        }
        if (!best || list[i].launched_ns < best->launched_ns ||
            (list[i].launched_ns == best->launched_ns && str_cmp(list[i].id, best->id) < 0)) {
            best = &list[i];
        }
    }
    return best ? best : n > 0 ? &list[0] : NULL;
}

static void adopt(struct flight *f, const struct nodeclaim *nc, const struct instance *i)
{
    struct launch_result r;
    cloud_describe_launch(f->l->rt->cloud, nc, i, &r);
    f->found = launch_found_new(f->l->rt, nc, &r);
    log_info(f->l->rt->log, "found the instance of a NodeClaim", "NodeClaim", f->name, "instance",
             i->id);
}

/* EC2 shows nothing. For a claim that may have been launched a moment ago, or that is to go, this
 * must be so for a while. */
static void absent(struct flight *f, const struct nodeclaim *nc)
{
    int64_t now_ns = mono(f->l);
    if (!f->uncertain && !nc->m.deleted_ns) {
        f->looked = true;
        return;
    }
    if (!f->absent_since_ns) {
        f->absent_since_ns = now_ns;
    }
    if (now_ns - f->absent_since_ns < LAUNCHER_ABSENT_NS) {
        f->not_before_ns = now_ns + LAUNCHER_LOOK_NS;
        return;
    }
    f->clean = true;
    f->advance = f->uncertain;
    f->uncertain = false;
}

static void on_found(void *arg, const struct err *err, const struct instance *list, uint32_t n)
{
    struct flight *f = arg;
    struct launcher *l = f->l;
    const struct nodeclaim *nc = store_claim(l->rt->store, f->name);
    f->busy = false;
    if (!nc || !str_eq(nc->m.uid, f->uid)) {
        queue_add(l->queue, f->name);
        return;
    }
    if (err->kind != ERR_NONE) {
        log_error(l->rt->log, "cannot look for an instance", "NodeClaim", f->name, "error",
                  err->msg);
        f->not_before_ns = mono(l) + LAUNCHER_LOOK_NS;
    } else if (n > 0) {
        adopt(f, nc, first_of(list, n));
    } else {
        absent(f, nc);
    }
    queue_add(l->queue, f->name);
}

static void look_for(struct flight *f)
{
    f->busy = true;
    cloud_find(f->l->rt->cloud, f->uid, on_found, f);
}

/* ---- launching ----------------------------------------------------------------------------------
 */

static void say(struct flight *f, const struct launch_result *r)
{
    str_copy(f->reason, sizeof(f->reason), *r->reason ? r->reason : "LaunchFailed");
    str_copy(f->message, sizeof(f->message), r->message);
    f->say = true;
}

static int64_t refused_pause(struct flight *f)
{
    int64_t ns = LAUNCHER_BACKOFF_NS;
    for (unsigned i = 0; i < f->refusals && ns < LAUNCHER_BACKOFF_MAX_NS; i++) {
        ns *= 2;
    }
    f->refusals++;
    ns = ns < LAUNCHER_BACKOFF_MAX_NS ? ns : LAUNCHER_BACKOFF_MAX_NS;
    return entropy_jitter(f->l->rt->entropy, ns, 20);
}

/* That this call made nothing says nothing of one before it with the same token. */
static void settle(struct flight *f, const struct launch_result *r)
{
    f->clean = r->answered || f->was_clean;
}

static void refused(struct flight *f, const struct launch_result *r)
{
    settle(f, r);
    f->advance = f->clean;
    f->uncertain = !f->clean;
    f->absent_since_ns = 0;
    f->not_before_ns = mono(f->l) + refused_pause(f);
    say(f, r);
    log_error(f->l->rt->log, "launch refused", "NodeClaim", f->name, "reason", f->reason, "error",
              f->message);
}

static void no_capacity(struct flight *f, const struct launch_result *r)
{
    const struct events_subject about = {KIND_NODE_CLAIM, NULL, f->name, f->uid};
    settle(f, r);
    f->give_up = true;
    f->disrupted = "insufficient_capacity";
    str_copy(f->message, sizeof(f->message), r->message);
    events_warning(f->l->rt->events, &about, "InsufficientCapacityError", "NodeClaim %s event: %s",
                   f->name, f->message);
    log_info(f->l->rt->log, "no capacity for a NodeClaim", "NodeClaim", f->name, "error",
             f->message);
}

/* Nothing was asked. A class that is not ready ends the claim, as in Karpenter (if a process before
 * us may have launched it, its end looks for the instance); everything else is waited for. */
static void not_ready(struct flight *f, const struct launch_result *r)
{
    f->clean = f->was_clean;
    f->looked = !f->clean; /* what was looked for before the call need not be again */
    f->not_before_ns = mono(f->l) + LAUNCHER_POLL_NS;
    if (str_eq(r->reason, "NodeClassNotReady")) {
        f->give_up = true;
        f->disrupted = "nodeclass_not_ready";
        log_info(f->l->rt->log, "the class of a NodeClaim is not ready", "NodeClaim", f->name,
                 "error", r->message);
    } else if (str_eq(r->reason, "NodeClassReadinessUnknown")) {
        say(f, r);
    }
}

static void on_launch(void *arg, const struct launch_result *r)
{
    struct flight *f = arg;
    struct launcher *l = f->l;
    const struct nodeclaim *nc = store_claim(l->rt->store, f->name);
    bool same = nc && str_eq(nc->m.uid, f->uid);
    f->busy = false;
    switch (r->outcome) {
    case LAUNCH_OK:
        if (same) {
            f->found = launch_found_new(l->rt, nc, r);
        }
        log_info(l->rt->log, "launched nodeclaim", "NodeClaim", f->name, "instance", r->instance.id,
                 "instance-type", r->instance.type, "zone", r->instance.zone, "capacity-type",
                 sym_str(l->rt->syms, capacity_type_sym(r->instance.ct)));
        break;
    case LAUNCH_NO_CAPACITY:
        no_capacity(f, r);
        break;
    case LAUNCH_NOT_READY:
        not_ready(f, r);
        break;
    case LAUNCH_REFUSED:
        refused(f, r);
        break;
    case LAUNCH_UNKNOWN:
        f->uncertain = true;
        f->absent_since_ns = 0;
        log_error(l->rt->log, "launch without a clear answer, looking for the instance",
                  "NodeClaim", f->name, "error", r->message);
        break;
    }
    queue_add(l->queue, f->name);
}

static void launch(struct flight *f, const struct nodeclaim *nc)
{
    f->busy = true;
    f->was_clean = f->clean;
    f->clean = false;
    f->looked = false;
    f->attempt = attempt_of(nc);
    cloud_launch(f->l->rt->cloud, nc, f->attempt, on_launch, f);
}

/* ---- writing --------------------------------------------------------------------------------- */

static struct work work_on(struct launcher *l, const char *key)
{
    return (struct work){.rt = l->rt, .q = l->queue, .key = key, .ctx = l};
}

static enum queue_verdict write_attempt(struct launcher *l, const struct nodeclaim *nc,
                                        int64_t attempt, work_then_fn then)
{
    char text[24];
    struct work w = work_on(l, nc->m.name);
    w.then = then;
    snprintf(text, sizeof(text), "%lld", (long long)attempt);
    return work_patch(
        &w, KIND_NODE_CLAIM, NULL, nc->m.name, "",
        json_pack("{s:{s:{s:s}}}", "metadata", "annotations", ANN_LAUNCH_ATTEMPT, text),
        nc->m.resource_version);
}

static void on_current(void *ctx, const char *key, const struct kube_resp *resp)
{
    struct launcher *l = ctx;
    struct flight *f = map_get(l->flights, key);
    if (f && resp->err.kind == ERR_NONE) {
        f->current = true;
    }
    queue_add(l->queue, key);
}

static enum queue_verdict write_found(struct launcher *l, const struct nodeclaim *nc,
                                      const struct flight *f)
{
    struct work w = work_on(l, nc->m.name);
    json_t *patch = launch_found_labels(f->found, nc, l->rt->syms);
    if (patch) {
        queue_add(l->queue, nc->m.name);
        return work_patch(&w, KIND_NODE_CLAIM, NULL, nc->m.name, "", patch, NULL);
    }
    patch = launch_found_status(f->found, nc, clock_wall(l->rt->clock));
    return work_patch(&w, KIND_NODE_CLAIM, NULL, nc->m.name, "status", patch,
                      nc->m.resource_version);
}

static void on_said(void *ctx, const char *key, const struct kube_resp *resp)
{
    struct launcher *l = ctx;
    struct flight *f = map_get(l->flights, key);
    if (f && resp->err.kind == ERR_NONE) {
        f->say = false;
    }
}

/* NULL: it says so already. */
static json_t *say_patch(const struct flight *f, const struct nodeclaim *nc, int64_t now_ns)
{
    struct cond_edit e;
    char root[COND_ROOT_MESSAGE];
    cond_begin(&e, &nc->conditions, &nc->m, now_ns);
    cond_set(&e, "Launched", STATUS_UNKNOWN, f->reason, f->message);
    cond_root(&e, launch_dependents, nc->m.created_ns, root);
    return e.changed ? json_pack("{s:{s:o}}", "status", "conditions", cond_json(&e)) : NULL;
}

static void on_deleted(void *ctx, const char *key, const struct kube_resp *resp)
{
    struct launcher *l = ctx;
    struct flight *f = map_get(l->flights, key);
    const struct nodeclaim *nc = store_claim(l->rt->store, key);
    if (f && nc && resp->err.kind == ERR_NONE) {
        claim_count_disrupted(l->rt, nc, f->disrupted);
    }
}

static enum queue_verdict delete_claim(struct launcher *l, const struct nodeclaim *nc)
{
    struct work w = work_on(l, nc->m.name);
    w.then = on_deleted;
    return work_delete(&w, KIND_NODE_CLAIM, NULL, nc->m.name, nc->m.uid);
}

/* ---- one look -------------------------------------------------------------------------------- */

static bool may_act(const struct launcher *l)
{
    return gate_open(l->rt->gate) && l->rt->cluster_uid && cloud_ready(l->rt->cloud) &&
           store_synced(l->rt->store);
}

static enum queue_verdict wait_for(struct launcher *l, const char *key, int64_t ns)
{
    queue_add_after(l->queue, key, ns);
    return QUEUE_OK;
}

/* What is to be written before anything is asked; QUEUE_OK: nothing. */
static enum queue_verdict writes(struct launcher *l, const struct nodeclaim *nc, struct flight *f)
{
    if (f->found) {
        return write_found(l, nc, f);
    }
    if (nc->m.deleted_ns) {
        return QUEUE_OK;
    }
    if (f->give_up) {
        return delete_claim(l, nc);
    }
    if (f->advance && attempt_of(nc) == f->attempt) {
        return write_attempt(l, nc, attempt_of(nc) + 1, NULL);
    }
    f->advance = false;
    json_t *patch = f->say ? say_patch(f, nc, clock_wall(l->rt->clock)) : NULL;
    if (!patch) {
        f->say = false;
        return QUEUE_OK;
    }
    struct work w = work_on(l, nc->m.name);
    w.then = on_said;
    return work_patch(&w, KIND_NODE_CLAIM, NULL, nc->m.name, "status", patch,
                      nc->m.resource_version);
}

/* One that cannot be read in full is not launched: it may ask for something else. */
static void say_problem(struct flight *f, const struct nodeclaim *nc)
{
    str_copy(f->reason, sizeof(f->reason), "InvalidNodeClaim");
    str_copy(f->message, sizeof(f->message), nc->problem);
    f->say = true;
}

static enum queue_verdict act(struct launcher *l, const struct nodeclaim *nc, struct flight *f)
{
    int64_t now_ns = mono(l);
    if (!may_act(l)) {
        /* Somebody else may act meanwhile. */
        f->clean = f->clean && gate_open(l->rt->gate);
        f->looked = false;
        return wait_for(l, f->name, LAUNCHER_POLL_NS);
    }
    if (nc->problem && !f->found) {
        say_problem(f, nc);
    }
    enum queue_verdict v = writes(l, nc, f);
    if (v != QUEUE_OK) {
        return v;
    }
    if (f->not_before_ns > now_ns) {
        return wait_for(l, f->name, f->not_before_ns - now_ns);
    }
    if (nc->m.deleted_ns ? f->clean : nc->problem != NULL) {
        return QUEUE_OK;
    }
    if (!nc->m.deleted_ns && !meta_has_finalizer(&nc->m, FINALIZER_TERMINATION)) {
        return QUEUE_OK; /* without it a delete would leave the instance behind: lifecycle's turn */
    }
    if (!f->clean && (!f->looked || f->uncertain || nc->m.deleted_ns)) {
        look_for(f);
    } else if (hold_launches(l->rt, nc->pool)) {
        return wait_for(l, f->name, LAUNCHER_POLL_NS);
    } else if (!f->current) {
        return write_attempt(l, nc, attempt_of(nc), on_current);
    } else {
        launch(f, nc);
    }
    return QUEUE_OK;
}

/* Creations that were on their way when the claim was first seen still are. While we may not write
 * somebody else may launch it, so then there is nothing to wait for. */
static bool unclear(struct launcher *l, struct flight *f)
{
    bool open = false;
    for (size_t i = 0; f->unclear && i < l->n_open; i++) {
        open = open || l->open[i] <= f->creation;
    }
    f->unclear = open && gate_open(l->rt->gate);
    return f->unclear;
}

static enum queue_verdict look(void *ctx, const char *key)
{
    struct launcher *l = ctx;
    const struct nodeclaim *nc = store_claim(l->rt->store, key);
    if (!nc || *nc->provider_id || claim_is(nc, "Launched") || !store_ours(&nc->class_ref)) {
        flight_drop(l, key);
        return QUEUE_OK;
    }
    struct flight *f = flight_of(l, nc);
    if (!f || unclear(l, f)) {
        return wait_for(l, key, LAUNCHER_POLL_NS);
    }
    return f->busy ? QUEUE_OK : act(l, nc, f);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void on_claim(void *arg, const char *key, const void *before UNUSED, const void *now UNUSED)
{
    struct launcher *l = arg;
    queue_add(l->queue, key);
}

struct launcher *launcher_new(struct runtime *rt)
{
    struct launcher *l = NEW(struct launcher);
    l->rt = rt;
    l->flights = map_new(FLIGHTS_MAX);
    l->queue = queue_new(rt, "launcher", STORE_CLAIM, LAUNCHER_BACKOFF_NS, LAUNCHER_BACKOFF_MAX_NS,
                         look, l);
    store_subscribe(rt->store, STORE_CLAIM, on_claim, l);
    rt->launcher = l;
    return l;
}

void launcher_free(struct launcher *l)
{
    if (!l) {
        return;
    }
    l->rt->launcher = NULL;
    queue_free(l->queue);
    for (MAP_EACH(l->flights, e)) {
        flight_free(map_value(e));
    }
    map_free(l->flights);
    free(l->open);
    free(l);
}

void launcher_start(struct launcher *l)
{
    for (MAP_EACH(store_all(l->rt->store, STORE_CLAIM), e)) {
        queue_add(l->queue, map_key(e));
    }
}

uint64_t launcher_creating(struct launcher *l)
{
    ARRAY_GROW(l->open, l->n_open, l->cap_open);
    l->open[l->n_open++] = ++l->last;
    return l->last;
}

static void ours(struct launcher *l, const char *name, const char *uid)
{
    struct flight *f = map_get(l->flights, name);
    if (!gate_open(l->rt->gate)) {
        return;
    }
    if (!f) {
        flight_new(l, name, uid, true);
    } else if (f->unclear && str_eq(f->uid, uid)) {
        f->clean = f->current = true;
        f->unclear = false;
    }
}

void launcher_created(struct launcher *l, uint64_t creation, const char *name, const char *uid)
{
    for (size_t i = 0; i < l->n_open; i++) {
        if (l->open[i] == creation) {
            l->open[i] = l->open[--l->n_open];
            break;
        }
    }
    if (name && uid) {
        ours(l, name, uid);
        queue_add(l->queue, name);
    }
}

bool launcher_settled(const struct runtime *rt, const struct nodeclaim *nc)
{
    struct launcher *l = rt->launcher;
    if (*nc->provider_id || !store_ours(&nc->class_ref)) {
        return true;
    }
    const struct flight *f = map_get(l->flights, nc->m.name);
    if (f && str_eq(f->uid, nc->m.uid) && !f->busy && f->clean && !f->found) {
        return true;
    }
    queue_add(l->queue, nc->m.name);
    return false;
}
