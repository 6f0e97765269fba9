/* spared.c - see spared.h. */
#include "spared.h"

#include "agent/store/store.h"
#include "common/base/alloc.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/core/consent/approval.h"

struct peace {
    int64_t until_ns; /* monotonic, 0 = none */
    int64_t until_wall_ns;
    unsigned times;
};

struct row {
    char *uid;
    struct peace of[SPARED_KINDS];
};

struct spared {
    struct runtime *rt;
    struct map *claims; /* name → struct row */
};

static const unsigned reasons_of[SPARED_KINDS] = {
    [SPARED_EMPTY] = DISRUPT_EMPTY,
    [SPARED_PLANNED] = DISRUPT_UNDERUTILIZED | DISRUPT_DRIFTED,
    [SPARED_ASKED] = DISRUPT_DRIFTED,
};

static void row_free(struct row *row)
{
    if (row) {
        free(row->uid);
        free(row);
    }
}

void spared_drop(struct spared *s, enum spared_as as, const char *claim)
{
    struct row *row = map_get(s->claims, claim);
    if (row) {
        row->of[as] = (struct peace){.until_ns = 0};
    }
}

static struct row *row_of(struct spared *s, const struct nodeclaim *nc)
{
    struct row *row = map_get(s->claims, nc->m.name);
    bool full = false;
    if (row && str_eq(row->uid, nc->m.uid)) {
        return row;
    }
    row = NEW(struct row);
    row->uid = xstrdup(nc->m.uid);
    row_free(map_put(s->claims, nc->m.name, row, &full));
    if (full) {
        row_free(row);
        return NULL;
    }
    return row;
}

static void leave(struct spared *s, struct peace *p, int64_t ns)
{
    p->until_ns = clock_mono(s->rt->clock) + ns;
    p->until_wall_ns = clock_wall(s->rt->clock) + ns;
}

void spared_put(struct spared *s, enum spared_as as, const struct nodeclaim *nc)
{
    struct row *row = row_of(s, nc);
    int64_t ns = SPARED_NS;
    if (!row) {
        return;
    }
    for (unsigned i = 0; i < row->of[as].times && ns < SPARED_MAX_NS; i++) {
        ns *= 2;
    }
    row->of[as].times++;
    leave(s, &row->of[as], ns < SPARED_MAX_NS ? ns : SPARED_MAX_NS);
}

void spared_put_briefly(struct spared *s, enum spared_as as, const struct nodeclaim *nc)
{
    struct row *row = row_of(s, nc);
    if (row) {
        leave(s, &row->of[as], SPARED_NS);
    }
}

static bool lasts(const struct spared *s, const struct row *row, int as)
{
    return row->of[as].until_ns > clock_mono(s->rt->clock);
}

static const struct row *row_find(const struct spared *s, const struct nodeclaim *nc)
{
    const struct row *row = map_get(s->claims, nc->m.name);
    return row && str_eq(row->uid, nc->m.uid) ? row : NULL;
}

bool spared_has(const struct spared *s, enum spared_as as, const struct nodeclaim *nc)
{
    const struct row *row = row_find(s, nc);
    return row && lasts(s, row, (int)as);
}

int64_t spared_until(const struct spared *s, const struct nodeclaim *nc,
                     enum disruption_reason reason)
{
    const struct row *row = row_find(s, nc);
    int64_t ret = 0;
    for (int as = 0; row && as < SPARED_KINDS; as++) {
        bool counts = (reasons_of[as] & (unsigned)reason) && lasts(s, row, as);
        ret = counts && row->of[as].until_wall_ns > ret ? row->of[as].until_wall_ns : ret;
    }
    return ret;
}

/* ---- what is published -------------------------------------------------------------------------
 */

static json_t *reasons_json(int as)
{
    json_t *ret = json_array();
    for (unsigned bit = 1; bit <= reasons_of[as]; bit <<= 1) {
        if (reasons_of[as] & bit) {
            json_array_append_new(ret,
                                  json_string(approval_reason_name((enum disruption_reason)bit)));
        }
    }
    return ret;
}

json_t *spared_json(const struct spared *s)
{
    json_t *ret = json_array();
    for (MAP_EACH(s->claims, e)) {
        const struct row *row = map_value(e);
        for (int as = 0; as < SPARED_KINDS; as++) {
            char until[TIMEFMT_TEXT];
            if (lasts(s, row, as) && json_array_size(ret) < SPARED_PUBLISHED_MAX) {
                json_array_append_new(
                    ret, json_pack("{s:s, s:s, s:s, s:o}", "nodeClaim", map_key(e), "uid", row->uid,
                                   "until", timefmt_rfc3339_micro(row->of[as].until_wall_ns, until),
                                   "reasons", reasons_json(as)));
            }
        }
    }
    return ret;
}

/* ---- life ------------------------------------------------------------------------------------ */

static void on_claim(void *arg, const char *key, const void *before, const void *now)
{
    struct spared *s = arg;
    (void)before;
    if (!now) {
        row_free(map_del(s->claims, key));
    }
}

struct spared *spared_new(struct runtime *rt)
{
    struct spared *s = NEW(struct spared);
    s->rt = rt;
    s->claims = map_new(STORE_MAX_OBJECTS);
    store_subscribe(rt->store, STORE_CLAIM, on_claim, s);
    return s;
}

void spared_free(struct spared *s)
{
    if (!s) {
        return;
    }
    for (MAP_EACH(s->claims, e)) {
        row_free(map_del(s->claims, map_key(e)));
    }
    map_free(s->claims);
    free(s);
}
