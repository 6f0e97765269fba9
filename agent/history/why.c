/* why.c - see why.h. */
#include "why.h"

#include "agent/claim/claim.h"
#include "agent/leave/expiration.h"
#include "agent/leave/interruption.h"
#include "agent/leave/notice.h"
#include "agent/store/store.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"

static const struct why table[] = {
    {"Empty", "emptiness", "nothing ran on it", false},
    {"Underutilized", "consolidation", "its pods fit elsewhere, for less", true},
    {"Drifted", "drift", "it was no longer as its NodePool and EC2NodeClass want nodes", true},
    {"Replaced", "user", "its replacement was asked for", true},
    {"Rebalance", "spot", "replaced ahead of an interruption that EC2 called likely", true},
    {WHY_EXPIRED, "expiration", "it reached its expireAfter", true},
    {"SpotInterrupted", "spot", "EC2 took the spot instance back", false},
    {"CapacityReservationInstanceInterrupted", "reservation",
     "the capacity reservation took the instance back", false},
    {"ScheduledChange", "maintenance", "AWS had scheduled a change of the instance", false},
    {"InstanceStopping", "instance", "the instance was stopped from outside", false},
    {"InstanceTerminating", "instance", "the instance was terminated from outside", false},
    {"InstanceUnhealthy", "repair", "the instance failed EC2's status checks", false},
    {WHY_OVER_LIMIT, "limits", "it was to replace a node that stays, and its NodePool is full",
     false},
    {"Unhealthy", "repair", "the Node was unhealthy for too long", false},
    {WHY_REGISTRATION, "liveness", "its Node did not join the cluster in time", false},
    {WHY_INSTANCE_GONE, "garbage-collection", "the instance was gone", false},
    {WHY_NODE_DELETED, "user", "its Node was deleted by somebody else than karp", false},
    {WHY_NODE_LOST, "unknown",
     "its Node was deleted while not Ready, by a person or because the instance was gone", false},
    {"NodePoolDeleted", "user", "its NodePool was deleted, and with it its nodes", false},
    {"NodeClaimDeleted", "user", "its NodeClaim was deleted by somebody else than karp", false},
};

struct why why_named(const char *code)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        if (str_eq(table[i].code, code)) {
            return table[i];
        }
    }
    return (struct why){code, "karp", "", false};
}

/* ---- said --------------------------------------------------------------------------------------
 */

struct said {
    char code[WHY_CODE];
    int64_t at_ns;
};

static bool said(const struct nodeclaim *nc, struct said *ret)
{
    const char *text = kvs_get(&nc->m.annotations, ANN_LEAVING);
    const char *blank = text ? strchr(text, ' ') : NULL;
    size_t n = blank ? (size_t)(blank - text) : 0;
    if (n == 0 || n >= WHY_CODE || !timefmt_parse_rfc3339(blank + 1, &ret->at_ns)) {
        return false;
    }
    memcpy(ret->code, text, n);
    ret->code[n] = '\0';
    return true;
}

static bool within(int64_t a_ns, int64_t b_ns, int64_t max_ns)
{
    int64_t apart;
    return !__builtin_sub_overflow(a_ns, b_ns, &apart) && apart <= max_ns && apart >= -max_ns;
}

json_t *why_patch(const struct runtime *rt, const char *code)
{
    char at[TIMEFMT_TEXT], text[WHY_CODE + TIMEFMT_TEXT];
    snprintf(text, sizeof(text), "%.*s %s", WHY_CODE - 1, code,
             timefmt_rfc3339(clock_wall(rt->clock), at));
    return json_pack("{s:{s:{s:s}}}", "metadata", "annotations", ANN_LEAVING, text);
}

bool why_step(const struct work *w, const struct nodeclaim *nc, const char *code,
              enum queue_verdict *ret)
{
    int64_t now_ns = clock_wall(w->rt->clock);
    struct said have;
    if (nc->m.deleted_ns || (said(nc, &have) && str_eq(have.code, code) &&
                             within(now_ns, have.at_ns, WHY_FRESH_NS / 2))) {
        return false;
    }
    *ret = work_patch(w, KIND_NODE_CLAIM, NULL, nc->m.name, "", why_patch(w->rt, code), NULL);
    return true;
}

/* ---- told apart afterwards ---------------------------------------------------------------------
 */

static bool asked_for(const struct kvs *annotations, const struct nodeclaim *nc)
{
    const char *text = kvs_get(annotations, ANN_REPLACE);
    int64_t at_ns;
    return text && timefmt_parse_rfc3339(text, &at_ns) && nc->m.created_ns < at_ns;
}

/* What counts as drift may be one of several things (replacer.h), in the order they are looked at
 * there. */
static const char *drift_of(const struct runtime *rt, const struct nodeclaim *nc,
                            const struct nodepool *np)
{
    int64_t gone_ns = nc->m.deleted_ns ? nc->m.deleted_ns : clock_wall(rt->clock);
    if (kvs_get(&nc->m.annotations, ANN_REBALANCE)) {
        return "Rebalance";
    }
    if (asked_for(&nc->m.annotations, nc) || (np && asked_for(&np->m.annotations, nc))) {
        return "Replaced";
    }
    return np && expiration_of(rt->opt, np, nc).replace_ns <= gone_ns ? WHY_EXPIRED : "Drifted";
}

static const char *code_of(struct runtime *rt, const struct nodeclaim *nc, struct said *have)
{
    const struct nodepool *np = store_pool(rt->store, nc->pool);
    const struct condition *mark = condition_find(&nc->conditions, "DisruptionReason");
    const char *reason = mark && mark->status == STATUS_TRUE ? mark->reason : "";
    if (nc->m.deleted_ns && said(nc, have) && within(nc->m.deleted_ns, have->at_ns, WHY_FRESH_NS)) {
        return str_eq(have->code, "Drifted") ? drift_of(rt, nc, np) : have->code;
    }
    if (notice_mark_ends_soon(reason) || str_eq(reason, "Empty")) {
        return reason;
    }
    return *nc->pool && store_listed(rt->store, STORE_POOL) && (!np || np->m.deleted_ns)
               ? "NodePoolDeleted"
               : "NodeClaimDeleted";
}

struct why why_of(struct runtime *rt, const struct nodeclaim *nc, char *code)
{
    struct said have;
    str_copy(code, WHY_CODE, code_of(rt, nc, &have));
    return why_named(code);
}
