/*
 * reserve.c - how many instances can still be launched in each capacity reservation.
 *
 * EC2 tells with every look at a class (resolve.c); a launch of ours takes one at once, and a
 * refusal takes all, so that nothing is asked for twice before EC2 tells again. An answer that was
 * asked for before, or within RESERVE_SETTLE_NS after that, may only lower the count: EC2 shows
 * launches late.
 */
#include "cloud_int.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"

struct count {
    int64_t left;
    int64_t taken_ns; /* monotonic; NS_NEVER: nothing was taken */
};

void reserve_init(struct cloud *c)
{
    c->reserved = map_new(RESERVE_MAX);
}

void reserve_done(struct cloud *c)
{
    for (MAP_EACH(c->reserved, e)) {
        free(map_value(e));
    }
    map_free(c->reserved);
}

static void set(struct cloud *c, struct count *r, int64_t left)
{
    left = left > 0 ? left : 0;
    if (r->left != left) {
        r->left = left;
        c->facts.version++; /* offerings are made anew */
    }
}

void reserve_told(struct cloud *c, const char *id, int64_t available, int64_t asked_ns)
{
    struct count *r = map_get(c->reserved, id);
    if (!r) {
        bool full = false;
        r = NEW(struct count);
        r->taken_ns = NS_NEVER;
        map_put(c->reserved, id, r, &full);
        if (full) {
            free(r);
            return;
        }
    }
    bool early = r->taken_ns != NS_NEVER && asked_ns < r->taken_ns + RESERVE_SETTLE_NS;
    set(c, r, early && r->left < available ? r->left : available);
}

int64_t reserve_left(const struct cloud *c, const char *id)
{
    const struct count *r = map_get(c->reserved, id);
    return r ? r->left : 0;
}

static void take(struct cloud *c, const char *id, bool all)
{
    struct count *r = map_get(c->reserved, id);
    if (r) {
        r->taken_ns = cloud_mono(c);
        set(c, r, all ? 0 : r->left - 1);
    }
}

void reserve_take(struct cloud *c, const char *id)
{
    take(c, id, false);
}

void reserve_empty(struct cloud *c, const char *id)
{
    take(c, id, true);
}

bool reserve_selected(const struct cloud *c, const json_t *spec)
{
    return c->rt->opt->gate_reserved_capacity &&
           json_array_size(jsonx_arr(spec, "capacityReservationSelectorTerms")) > 0;
}

void cloud_reservation_empty(struct cloud *c, const char *id)
{
    reserve_empty(c, id);
}

uint32_t cloud_reservations(struct cloud *c, struct arena *a, const struct cloud_reservation **ret)
{
    struct cloud_reservation *v = ARENA_NEW_N(a, struct cloud_reservation, map_count(c->reserved));
    uint32_t n = 0;
    for (MAP_EACH(c->reserved, e)) {
        const struct count *r = map_value(e);
        v[n++] = (struct cloud_reservation){arena_strdup(a, map_key(e)), r->left};
    }
    *ret = v;
    return n;
}
