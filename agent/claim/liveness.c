/* liveness.c - claims that come to nothing go; see lifecycle.h. */
#include "agent/cloud/cloud.h"
#include "agent/history/why.h"
#include "agent/store/store.h"
#include "agent/work/gate.h"
#include "agent/work/work.h"
#include "claim.h"
#include "common/base/timefmt.h"
#include "lifecycle.h"
#include "reghealth.h"

#define CLOSED_NS (2 * NS_PER_S)
#define SKEW_AGAIN_NS (30 * NS_PER_S) /* until the clock is looked at again */

static void on_console(void *arg, const char *claim, const char *text)
{
    struct runtime *rt = arg;
    reghealth_console(rt->reghealth, claim, text);
}

/* The last thing that can be known of it: EC2 keeps that for a while. */
static void ask_console(struct runtime *rt, const struct nodeclaim *nc)
{
    const char *id = cloud_instance_id(nc->provider_id);
    if (id && claim_is(nc, "Launched")) {
        cloud_console(rt->cloud, id, nc->m.name, on_console, rt);
    }
}

static void on_deleted(void *ctx, const char *key, const struct kube_resp *resp)
{
    struct runtime *rt = ctx;
    const struct nodeclaim *nc = store_claim(rt->store, key);
    if (resp->err.kind == ERR_NONE && nc) {
        reghealth_failed(rt->reghealth, nc);
        ask_console(rt, nc);
        claim_count_disrupted(rt, nc,
                              claim_is(nc, "Launched") ? DISRUPTED_REGISTRATION_TIMEOUT
                                                       : DISRUPTED_LAUNCH_TIMEOUT);
    }
}

static bool expire(const struct claim_look *look, const char *condition, int64_t timeout_ns,
                   enum queue_verdict *ret)
{
    const struct nodeclaim *nc = look->nc;
    int64_t since_ns = cond_since(&nc->conditions, condition, nc->m.created_ns);
    int64_t left_ns = since_ns + timeout_ns - look->now_ns;
    if (runtime_clock_skewed(look->rt)) {
        left_ns = left_ns > SKEW_AGAIN_NS ? left_ns : SKEW_AGAIN_NS;
    }
    if (left_ns <= 0 && !gate_open(look->rt->gate)) {
        left_ns = CLOSED_NS; /* the other replica does it */
    }
    if (left_ns > 0) {
        queue_add_after(look->q, nc->m.name, left_ns);
        return false;
    }
    struct work said = {look->rt, look->q, nc->m.name, NULL, NULL};
    if (*nc->provider_id && why_step(&said, nc, WHY_REGISTRATION, ret)) {
        queue_add(look->q, nc->m.name);
        return true;
    }
    char took[TIMEFMT_TEXT];
    log_info(look->rt->log, "deleting nodeclaim that came to nothing", "NodeClaim", nc->m.name,
             "missing", condition, "after", timefmt_duration(timeout_ns, took));
    struct work w = {look->rt, look->q, nc->m.name, on_deleted, look->rt};
    *ret = work_delete(&w, KIND_NODE_CLAIM, NULL, nc->m.name, nc->m.uid);
    return true;
}

bool liveness_launch_step(const struct claim_look *look, enum queue_verdict *ret)
{
    return expire(look, "Launched", LAUNCH_TIMEOUT_NS, ret);
}

bool liveness_registration_step(const struct claim_look *look, enum queue_verdict *ret)
{
    const struct nodepool *np = store_pool(look->rt->store, look->nc->pool);
    return expire(look, "Registered", reghealth_timeout_ns(look->rt->opt, np), ret);
}
