/* lease.c - see lease.h. */
#include "lease.h"

#include "agent/store/store.h"
#include "agent/work/gate.h"
#include "agent/work/walltime.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"

#define JITTER_FACTOR_PERCENT 120  /* client-go: a try waits between one and 2.2 periods */
#define FIRST_NS (100 * NS_PER_MS) /* until standby.c knows, at start */
#define FIRST_TRIES 50

struct lease {
    struct runtime *rt;
    struct kube_client client; /* above the raw port */
    struct timer retry, deadline;
    json_t *seen;       /* the Lease as last read or written */
    int64_t changed_ns; /* when its spec was last seen to change */
    int64_t asked_ns;   /* start of the request that is open */
    int64_t renewed_ns; /* start of the last one that renewed */
    uint64_t open;
    bool leading, released;
    bool looked; /* read once */
    bool others; /* somebody else acted while this process looked on */
    int waited;  /* tries that met a closed fence at start */
    void (*on_released)(void *arg);
    void *released_arg;
};

static void lease_try(void *arg);

static int64_t now_of(const struct lease *l)
{
    return clock_mono(l->rt->clock);
}

static void lease_later(struct lease *l)
{
    int64_t ns = LEASE_RETRY_NS;
    if (!l->leading) {
        ns += (int64_t)entropy_below(l->rt->entropy, LEASE_RETRY_NS * JITTER_FACTOR_PERCENT / 100);
    }
    timer_set(&l->rt->timers, &l->retry, now_of(l) + ns, lease_try, l);
}

static void lease_lost(struct lease *l, const char *why)
{
    l->leading = false;
    gate_set_deadline(l->rt->gate, 0);
    struct err err = ERR_INIT;
    err_set(&err, ERR_CONFLICT, "leader election lost: %s", why);
    runtime_end(l->rt, &err);
}

static void lease_overdue(void *arg)
{
    lease_lost(arg, "the Lease could not be renewed in time");
}

/* Where somebody else acted meanwhile, what that one wrote last is listed before anything is
 * decided. */
static void take_over(struct lease *l)
{
    static const enum store_kind kinds[] = {STORE_CLAIM, STORE_NODE, STORE_DREQ};
    log_info(l->rt->log, "became leader", "lease", l->rt->opt->lease_name, "identity",
             l->rt->identity);
    for (size_t i = 0; l->others && i < ARRAY_LEN(kinds); i++) {
        store_refresh(l->rt->store, kinds[i]);
    }
    l->others = false;
}

static void lease_won(struct lease *l)
{
    if (!l->leading) {
        take_over(l);
    }
    l->leading = true;
    l->renewed_ns = l->asked_ns;
    gate_set_deadline(l->rt->gate, l->renewed_ns + LEASE_RENEW_NS);
    timer_set(&l->rt->timers, &l->deadline, l->renewed_ns + LEASE_RENEW_NS, lease_overdue, l);
}

/* ---- the object --------------------------------------------------------------------------------
 */

static const char *holder(const struct lease *l)
{
    return jsonx_str_or(l->seen, "spec.holderIdentity", "");
}

static void lease_see(struct lease *l, json_t *object)
{
    json_t *before = l->seen ? json_object_get(l->seen, "spec") : NULL;
    if (!before || !json_equal(before, json_object_get(object, "spec"))) {
        l->changed_ns = now_of(l);
        l->others = l->others ||
                    (l->looked &&
                     !str_eq(jsonx_str_or(object, "spec.holderIdentity", ""), l->rt->identity));
    }
    json_incref(object);
    json_decref(l->seen);
    l->seen = object;
    l->looked = true;
}

/* The Lease as we want it, on top of what was seen. */
static json_t *lease_want(const struct lease *l, const char *identity, int64_t seconds)
{
    char now[TIMEFMT_TEXT];
    timefmt_rfc3339_micro(clock_wall(l->rt->clock), now);
    bool ours = l->seen && str_eq(holder(l), l->rt->identity);
    json_t *want = l->seen ? json_copy(l->seen) : json_object();
    json_t *spec = jsonx_obj(l->seen, "spec");
    jsonx_set_new(want, "spec", spec ? json_copy(spec) : json_object());
    if (!l->seen) {
        jsonx_set_new(want, "metadata.name", json_string(l->rt->opt->lease_name));
        jsonx_set_new(want, "metadata.namespace", json_string(l->rt->opt->lease_ns));
    }
    int64_t transitions = jsonx_int(want, "spec.leaseTransitions", 0);
    jsonx_set_new(want, "spec.holderIdentity", json_string(identity));
    jsonx_set_new(want, "spec.leaseDurationSeconds", json_integer(seconds));
    jsonx_set_new(want, "spec.renewTime", json_string(now));
    if (!ours) {
        jsonx_set_new(want, "spec.acquireTime", json_string(now));
        transitions += l->seen ? 1 : 0;
    }
    jsonx_set_new(want, "spec.leaseTransitions", json_integer(transitions));
    return want;
}

static bool held_by_other(const struct lease *l)
{
    int64_t seconds = jsonx_int(l->seen, "spec.leaseDurationSeconds", 0);
    return *holder(l) && !str_eq(holder(l), l->rt->identity) &&
           now_of(l) < l->changed_ns + seconds * NS_PER_S;
}

/* ---- requests ----------------------------------------------------------------------------------
 */

static void lease_failed(struct lease *l, const struct err *e)
{
    if (e->kind == ERR_CONFLICT || e->kind == ERR_EXISTS || e->kind == ERR_NOT_FOUND) {
        json_decref(l->seen); /* read it anew; what is ours stays known by the deadline */
        l->seen = NULL;
    } else {
        log_error(l->rt->log, "cannot take the Lease", "error", e->msg);
    }
    lease_later(l);
}

static void on_written(void *arg, const struct kube_resp *resp)
{
    struct lease *l = arg;
    l->open = 0;
    if (resp->err.kind != ERR_NONE || !resp->body) {
        lease_failed(l, &resp->err);
        return;
    }
    lease_see(l, resp->body);
    lease_won(l);
    lease_later(l);
}

static void lease_write(struct lease *l)
{
    AUTO_JSON json_t *want = lease_want(l, l->rt->identity, LEASE_DURATION_NS / NS_PER_S);
    const struct agent_options *o = l->rt->opt;
    l->asked_ns = now_of(l);
    l->open = l->seen ? kube_update(&l->client, KIND_LEASE, o->lease_ns, o->lease_name, want,
                                    on_written, l)
                      : kube_create(&l->client, KIND_LEASE, o->lease_ns, want, on_written, l);
}

static void on_read(void *arg, const struct kube_resp *resp)
{
    struct lease *l = arg;
    l->open = 0;
    if (gate_standby(l->rt->gate)) {
        lease_later(l);
        return;
    }
    if (resp->err.kind == ERR_NOT_FOUND) {
        json_decref(l->seen);
        l->seen = NULL;
        if (walltime_known(l->rt->walltime)) {
            lease_write(l);
        } else {
            lease_later(l);
        }
        return;
    }
    if (resp->err.kind != ERR_NONE || !resp->body) {
        lease_failed(l, &resp->err);
        return;
    }
    lease_see(l, resp->body);
    if (!walltime_known(l->rt->walltime)) {
        lease_later(l);
    } else if (!held_by_other(l)) {
        lease_write(l);
    } else if (l->leading) {
        lease_lost(l, "another process holds the Lease");
    } else {
        lease_later(l);
    }
}

static void lease_try(void *arg)
{
    struct lease *l = arg;
    if (l->open || l->released) {
        return;
    }
    if (gate_standby(l->rt->gate)) {
        l->others = true;
        if (l->leading) {
            l->leading = false;
            gate_set_deadline(l->rt->gate, 0);
            timer_stop(&l->rt->timers, &l->deadline);
        }
        if (l->waited++ < FIRST_TRIES) {
            timer_set(&l->rt->timers, &l->retry, now_of(l) + FIRST_NS, lease_try, l);
        } else {
            lease_later(l);
        }
        return;
    }
    if (l->leading && l->seen) {
        lease_write(l);
        return;
    }
    const struct agent_options *o = l->rt->opt;
    l->open = kube_get(&l->client, KIND_LEASE, o->lease_ns, o->lease_name, on_read, l);
}

/* ---- life --------------------------------------------------------------------------------------
 */

static bool lease_used(const struct lease *l)
{
    return l->rt->opt->leader_election && l->rt->opt->mode != MODE_OBSERVE;
}

struct lease *lease_new(struct runtime *rt)
{
    struct lease *l = NEW(struct lease);
    l->rt = rt;
    l->client = rt->client;
    l->client.port = gate_raw_kube(rt->gate);
    l->client.timeout_ns = LEASE_TIMEOUT_NS;
    return l;
}

void lease_free(struct lease *l)
{
    if (!l) {
        return;
    }
    timer_stop(&l->rt->timers, &l->retry);
    timer_stop(&l->rt->timers, &l->deadline);
    if (l->open) {
        kube_cancel(&l->client, l->open);
    }
    json_decref(l->seen);
    free(l);
}

void lease_start(struct lease *l)
{
    if (lease_used(l)) {
        timer_set(&l->rt->timers, &l->retry, now_of(l), lease_try, l);
    }
}

bool lease_leading(const struct lease *l)
{
    return l->leading;
}

static void released_now(void *arg)
{
    struct lease *l = arg;
    if (l->on_released) {
        l->on_released(l->released_arg);
    }
}

static void on_given_back(void *arg, const struct kube_resp *resp)
{
    struct lease *l = arg;
    l->open = 0;
    if (resp->err.kind != ERR_NONE) {
        log_error(l->rt->log, "cannot give the Lease back", "error", resp->err.msg);
    }
    released_now(l);
}

void lease_release(struct lease *l, void (*done)(void *arg), void *arg)
{
    l->on_released = done;
    l->released_arg = arg;
    l->released = true;
    gate_set_deadline(l->rt->gate, 0);
    timer_stop(&l->rt->timers, &l->deadline);
    timer_stop(&l->rt->timers, &l->retry);
    if (l->open) {
        kube_cancel(&l->client, l->open);
        l->open = 0;
    }
    if (!l->leading || !l->seen || gate_standby(l->rt->gate)) {
        timer_set(&l->rt->timers, &l->retry, now_of(l), released_now, l);
        return;
    }
    l->leading = false;
    /* As client-go: no holder, one second. */
    AUTO_JSON json_t *want = lease_want(l, "", 1);
    const struct agent_options *o = l->rt->opt;
    l->open =
        kube_update(&l->client, KIND_LEASE, o->lease_ns, o->lease_name, want, on_given_back, l);
}
