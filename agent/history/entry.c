/* entry.c - see entry.h. */
#include "entry.h"

#include "agent/claim/claim.h"
#include "agent/consent/consent.h"
#include "agent/leave/command.h"
#include "agent/store/store.h"
#include "common/base/price.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/core/consent/approval.h"
#include "common/core/ec2/catalog.h"
#include "why.h"

bool entry_due(const struct nodeclaim *nc)
{
    return *nc->provider_id && store_ours(&nc->class_ref);
}

static void put(json_t *o, const char *key, const char *text)
{
    if (text && *text) {
        json_object_set_new(o, key, json_string(text));
    }
}

static void put_price(json_t *o, const char *key, int64_t pusd_h)
{
    char text[PRICE_TEXT];
    if (pusd_h >= 0 && pusd_h != PRICE_UNKNOWN) {
        put(o, key, price_text(pusd_h, text));
    }
}

/* ---- replacements ------------------------------------------------------------------------------
 */

static int by_name(const void *a, const void *b)
{
    return str_cmp(*(const char *const *)a, *(const char *const *)b);
}

static void put_command(const struct runtime *rt, json_t *o, const char *id)
{
    const char *names[COMMAND_REPLACEMENTS_MAX];
    size_t n = 0;
    int64_t sum = 0;
    bool known = true;
    put(o, "command", id);
    for (MAP_EACH(store_all(rt->store, STORE_CLAIM), e)) {
        const struct nodeclaim *nc = map_value(e);
        if (n == COMMAND_REPLACEMENTS_MAX || !command_replaces(nc, id)) {
            continue;
        }
        int64_t price = claim_price(rt, nc);
        names[n++] = nc->m.name;
        known &= price >= 0 && price != PRICE_UNKNOWN;
        price_add(&sum, price);
    }
    if (n == 0) {
        return;
    }
    qsort(names, n, sizeof(*names), by_name);
    json_t *list = json_array();
    for (size_t i = 0; i < n && i < ENTRY_REPLACEMENTS_MAX; i++) {
        json_array_append_new(list, json_string(names[i]));
    }
    json_object_set_new(o, "replacedBy", list);
    put_price(o, "replacementPricePerHour", known ? sum : PRICE_UNKNOWN);
}

/* ---- the whole ---------------------------------------------------------------------------------
 */

/* Who let it go, where that was asked. */
static void put_request(const struct runtime *rt, json_t *o, const struct nodeclaim *nc,
                        const char *code)
{
    const struct dreq *r = approval_reason_named(code) ? consent_request_of(rt, nc->m.uid) : NULL;
    if (r && approval_reason_named(code) == (unsigned)r->reason) {
        put(o, "request", r->m.name);
        put(o, "grant", r->grant);
        put(o, "approvedBy", r->approved_by);
        put(o, "planDigest", r->plan);
    }
}

json_t *entry_new(struct runtime *rt, const struct nodeclaim *nc)
{
    char at[TIMEFMT_TEXT], code[WHY_CODE], id[COMMAND_ID + 1], plan[COMMAND_PLAN + 1];
    struct why why = why_of(rt, nc, code);
    json_t *o = json_pack("{s:s, s:s}", "time", timefmt_rfc3339(clock_wall(rt->clock), at), "uid",
                          nc->m.uid);
    if (nc->m.deleted_ns) {
        put(o, "orderedAt", timefmt_rfc3339(nc->m.deleted_ns, at));
    }
    put(o, "nodeClaim", nc->m.name);
    put(o, "node", nc->node_name);
    put(o, "nodePool", nc->pool);
    put(o, "instanceType", claim_label(rt, nc, L_INSTANCE_TYPE));
    put(o, "zone", claim_label(rt, nc, L_ZONE));
    put(o, "capacityType", claim_label(rt, nc, L_CAPACITY_TYPE));
    put(o, "reason", why.code);
    put(o, "actor", why.actor);
    put(o, "message", why.message);
    if (why.command && command_id_of(nc, id)) {
        put_command(rt, o, id);
    }
    if (why.command && command_plan_of(nc, plan)) {
        put(o, "planDigest", plan);
    }
    put_request(rt, o, nc, why.code);
    put_price(o, "pricePerHour", claim_price(rt, nc));
    return o;
}
