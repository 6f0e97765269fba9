/* facts.c - see facts.h. */
#include "facts.h"

#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/core/consent/approval.h"

#define KARP_IDENTITY "karp-agent-"

const char *charge_name(enum charge c)
{
    static const char *const names[] = {NULL, "none", "karp", "karpenter"};
    return names[c];
}

/* ---- Leases ---------------------------------------------------------------------------------- */

static bool fresh(const struct world *w, const struct world_lease *l)
{
    return *l->holder && l->renew_ns != 0 && w->lease_now_ns - l->renew_ns <= l->duration_ns;
}

static void read_charge(const struct world *w, struct facts *ret)
{
    const struct world_lease *best = NULL;
    ret->charge = w->hidden[KIND_LEASE] ? CHARGE_UNKNOWN : CHARGE_NONE;
    for (size_t i = 0; i < world_n(w, KIND_LEASE); i++) {
        const struct world_lease *l = world_at(w, KIND_LEASE, i);
        enum charge c = str_starts(l->holder, KARP_IDENTITY) ? CHARGE_KARP : CHARGE_KARPENTER;
        if (!fresh(w, l) || c < ret->charge ||
            (c == ret->charge && best && best->renew_ns >= l->renew_ns)) {
            continue;
        }
        ret->charge = c;
        best = l;
    }
    ret->leader = best ? best->holder : NULL;
}

/* The version of the image that the leader's pod runs. */
static void read_version(const struct world *w, struct facts *ret)
{
    for (size_t i = 0; ret->leader && i < w->n_controllers; i++) {
        const struct world_controller *c = &w->controllers[i];
        if (*c->version && *c->pod && str_contains(ret->leader, c->pod)) {
            ret->version = c->version;
        }
    }
}

/* ---- facts.json ------------------------------------------------------------------------------ */

static int64_t time_of(const json_t *o, const char *key)
{
    const char *s = jsonx_str(o, key);
    int64_t ns;
    return s && timefmt_parse_rfc3339(s, &ns) ? ns : 0;
}

int64_t facts_written_ns(const struct world *w)
{
    return time_of(w->facts, "writtenAt");
}

static int stockout_cmp(const void *x, const void *y)
{
    const struct facts_stockout *a = x, *b = y;
    int c = str_cmp(a->type, b->type);
    c = c ? c : str_cmp(a->zone, b->zone);
    c = c ? c : str_cmp(a->capacity_type, b->capacity_type);
    return c ? c : str_cmp(a->code, b->code);
}

static size_t list_size(const json_t *list)
{
    size_t n = json_array_size(list);
    return n > FACTS_LIST_MAX ? FACTS_LIST_MAX : n;
}

static void read_stockouts(const struct world *w, struct arena *a, struct facts *ret)
{
    const json_t *list = jsonx_arr(w->facts, "unavailableOfferings");
    size_t max = list_size(list);
    struct facts_stockout *v = ARENA_NEW_N(a, struct facts_stockout, max);
    for (size_t i = 0; i < max; i++) {
        const json_t *o = json_array_get(list, i);
        struct facts_stockout s = {jsonx_str_or(o, "capacityType", ""),
                                   jsonx_str_or(o, "instanceType", ""), jsonx_str_or(o, "zone", ""),
                                   jsonx_str_or(o, "code", ""), time_of(o, "until")};
        if (*s.type && (s.until_ns == 0 || s.until_ns > w->now_ns)) {
            v[ret->n_stockouts++] = s;
        }
    }
    if (ret->n_stockouts > 1) {
        qsort(v, ret->n_stockouts, sizeof(*v), stockout_cmp);
    }
    ret->stockouts = v;
}

static void read_attention(const struct world *w, struct arena *a, struct facts *ret)
{
    const json_t *list = jsonx_arr(w->facts, "attention");
    size_t max = list_size(list);
    struct facts_attention *v = ARENA_NEW_N(a, struct facts_attention, max);
    for (size_t i = 0; i < max; i++) {
        const json_t *o = json_array_get(list, i);
        if (jsonx_str(o, "code")) {
            v[ret->n_attention++] =
                (struct facts_attention){jsonx_str(o, "code"), jsonx_str_or(o, "object", "cluster"),
                                         jsonx_str_or(o, "message", "")};
        }
    }
    ret->attention = v;
}

static unsigned reasons_of(const json_t *list)
{
    unsigned ret = 0;
    for (size_t i = 0; i < list_size(list); i++) {
        ret |= approval_reason_named(json_string_value(json_array_get(list, i)));
    }
    return ret;
}

static void read_spared(const struct world *w, struct arena *a, struct facts *ret)
{
    const json_t *list = jsonx_arr(w->facts, "spared");
    size_t max = list_size(list);
    struct facts_spared *v = ARENA_NEW_N(a, struct facts_spared, max);
    for (size_t i = 0; i < max; i++) {
        const json_t *o = json_array_get(list, i);
        struct facts_spared one = {jsonx_str_or(o, "nodeClaim", ""), jsonx_str_or(o, "uid", ""),
                                   reasons_of(jsonx_arr(o, "reasons")), time_of(o, "until")};
        if (one.until_ns > w->now_ns) {
            v[ret->n_spared++] = one;
        }
    }
    ret->spared = v;
}

static void read_failing(const struct world *w, struct arena *a, struct facts *ret)
{
    const json_t *list = jsonx_arr(w->facts, "launchesFailing");
    size_t max = list_size(list);
    const char **v = ARENA_NEW_N(a, const char *, max);
    for (size_t i = 0; i < max; i++) {
        const char *pool = json_string_value(json_array_get(list, i));
        v[ret->n_failing] = pool;
        ret->n_failing += pool != NULL;
    }
    ret->failing = v;
}

static void read_observations(const struct world *w, struct arena *a, struct facts *ret)
{
    const json_t *list = jsonx_arr(w->facts, OBSERVATION_KEY);
    size_t max = list_size(list);
    struct observation *v = ARENA_NEW_N(a, struct observation, max);
    for (size_t i = 0; i < max; i++) {
        ret->n_observations += observation_read(json_array_get(list, i), &v[ret->n_observations]);
    }
    ret->observations = v;
}

bool facts_observed(const struct facts *f, const struct nodeclass *cls, const char *type,
                    struct ec2_observed *ret)
{
    const char *hash = kvs_get(&cls->m.annotations, ANN_CLASS_HASH);
    for (size_t i = 0; i < f->n_observations; i++) {
        const struct observation *o = &f->observations[i];
        if (str_eq(o->type, type) && str_eq(o->cls, cls->m.name) && str_eq(o->hash, hash)) {
            *ret = o->seen;
            return true;
        }
    }
    return false;
}

int64_t facts_spared_until(const struct facts *f, const struct nodeclaim *nc,
                           enum disruption_reason reason)
{
    int64_t ret = 0;
    for (size_t i = 0; i < f->n_spared; i++) {
        const struct facts_spared *one = &f->spared[i];
        if ((one->reasons & (unsigned)reason) && one->until_ns > ret &&
            str_eq(one->claim, nc->m.name) && str_eq(one->uid, nc->m.uid)) {
            ret = one->until_ns;
        }
    }
    return ret;
}

bool facts_launches_fail(const struct facts *f, const char *pool)
{
    for (size_t i = 0; i < f->n_failing; i++) {
        if (str_eq(f->failing[i], pool)) {
            return true;
        }
    }
    return false;
}

uint32_t facts_reservation_left(const struct world *w, const char *id)
{
    const json_t *v = json_object_get(jsonx_obj(w->facts, "capacityReservations"), id);
    int64_t n = json_integer_value(v);
    return !json_is_integer(v) || n > UINT32_MAX ? UINT32_MAX : n < 0 ? 0 : (uint32_t)n;
}

void facts_read(const struct world *w, struct arena *a, struct facts *ret)
{
    memset(ret, 0, sizeof(*ret));
    read_charge(w, ret);
    read_version(w, ret);
    read_stockouts(w, a, ret);
    read_attention(w, a, ret);
    read_observations(w, a, ret);
    if (!w->facts || ret->charge == CHARGE_KARPENTER) {
        return; /* what is published is about another controller */
    }
    read_spared(w, a, ret);
    read_failing(w, a, ret);
    ret->version = jsonx_str_or(w->facts, "version", ret->version);
    ret->mode = jsonx_str(w->facts, "options.mode");
    ret->synced_ns = facts_written_ns(w);
}
