/* brake.c - see brake.h. */
#include "brake.h"

#include "agent/claim/claim.h"
#include "agent/claim/reghealth.h"
#include "agent/cloud/cloud.h"
#include "agent/leave/command.h"
#include "agent/leave/holds.h"
#include "agent/store/store.h"
#include "common/base/alloc.h"
#include "common/base/map.h"
#include "common/base/str.h"

#define SCRATCH_MAX ((size_t)16 << 20)

/* A claim that this process created and that is not launched yet. */
struct planned {
    struct resources capacity;
    int64_t price_pusd_h;
};

struct brake {
    struct runtime *rt;
    int64_t credit_ns, cost_ns; /* a launch takes cost_ns; a minute's worth is the most */
    int64_t filled_ns;
    struct map *planned;
};

static void on_claim(void *arg, const char *key, const void *before, const void *now)
{
    struct brake *b = arg;
    (void)before;
    const struct nodeclaim *nc = now;
    if (!nc || *nc->provider_id) {
        free(map_del(b->planned, key));
    }
}

struct brake *brake_new(struct runtime *rt)
{
    struct brake *b = NEW(struct brake);
    b->rt = rt;
    b->credit_ns = NS_PER_MIN;
    int64_t per_min = rt->opt->max_launches_per_min;
    b->cost_ns = per_min > 0 ? NS_PER_MIN / per_min : 0;
    b->planned = map_new(STORE_MAX_OBJECTS);
    store_subscribe(rt->store, STORE_CLAIM, on_claim, b);
    return b;
}

void brake_free(struct brake *b)
{
    if (!b) {
        return;
    }
    for (MAP_EACH(b->planned, e)) {
        free(map_value(e));
    }
    map_free(b->planned);
    free(b);
}

int64_t brake_launches_left(struct brake *b)
{
    if (b->cost_ns == 0) {
        return -1;
    }
    int64_t now_ns = clock_mono(b->rt->clock);
    int64_t gained_ns = b->filled_ns ? now_ns - b->filled_ns : 0;
    b->filled_ns = now_ns;
    b->credit_ns += gained_ns < NS_PER_MIN ? gained_ns : NS_PER_MIN;
    b->credit_ns = b->credit_ns < NS_PER_MIN ? b->credit_ns : NS_PER_MIN;
    return b->credit_ns / b->cost_ns;
}

void brake_take(struct brake *b)
{
    b->credit_ns -= b->cost_ns;
}

void brake_give_back(struct brake *b)
{
    b->credit_ns += b->cost_ns;
}

void brake_created(struct brake *b, const char *claim, const struct order *o)
{
    const struct nodeclaim *nc = store_claim(b->rt->store, claim);
    if (!nc || *nc->provider_id) {
        return;
    }
    struct planned *p = NEW(struct planned);
    p->capacity = o->capacity;
    p->price_pusd_h = o->price_pusd_h;
    free(map_put(b->planned, claim, p, NULL));
}

/* ---- price -------------------------------------------------------------------------------------
 */

static int64_t price_of(const struct brake *b, const char *name, const struct nodeclaim *nc)
{
    const struct planned *p = map_get(b->planned, name);
    int64_t price = p ? p->price_pusd_h : claim_price(b->rt, nc);
    return price > 0 ? price : 0;
}

static bool too_dear(const struct brake *b, const struct order *o)
{
    int64_t max = b->rt->opt->max_cost_pusd_h;
    if (max == PRICE_UNKNOWN) {
        return false;
    }
    int64_t left = max;
    for (MAP_EACH(store_all(b->rt->store, STORE_CLAIM), e)) {
        const struct nodeclaim *nc = map_value(e);
        if (store_ours(&nc->class_ref) &&
            __builtin_sub_overflow(left, price_of(b, map_key(e), nc), &left)) {
            return true;
        }
    }
    return o->price_pusd_h > left;
}

/* ---- limits ------------------------------------------------------------------------------------
 */

static const struct resources *capacity(void *ctx, const char *name)
{
    const struct brake *b = ctx;
    const struct planned *p = map_get(b->planned, name);
    const struct nodeclaim *nc = store_claim(b->rt->store, name);
    const struct node *n =
        nc ? store_node_by_provider_id(b->rt->store, nc->provider_id, NULL) : NULL;
    if (p || !nc) {
        return p ? &p->capacity : NULL;
    }
    return n && claim_is(nc, "Initialized") ? &n->capacity : &nc->capacity;
}

static bool exceeds(const struct nodepool *np, const struct resources *sum, int64_t nodes)
{
    for (int r = 0; r < RES_FIXED; r++) {
        if (np->limits.v[r] >= 0 && sum->v[r] > np->limits.v[r]) {
            return true;
        }
    }
    for (uint32_t i = 0; i < np->limits.n_ext; i++) {
        const struct res_ext *limit = &np->limits.ext[i];
        if (resources_get_ext(sum, limit->name) > limit->amount) {
            return true;
        }
    }
    return np->limit_nodes >= 0 && nodes > np->limit_nodes;
}

/* Extended resources only where the pool limits one. */
static void add(struct arena *a, const struct nodepool *np, const struct resources *c, int times,
                struct resources *sum)
{
    struct resources some = *c;
    some.n_ext = np->limits.n_ext > 0 ? c->n_ext : 0;
    *sum = resources_add(a, sum, &some, times);
}

/* With o, unless it is NULL. */
static bool over_limits(struct brake *b, const struct nodepool *np, const struct order *o)
{
    struct resources sum = {.n_ext = 0};
    int64_t nodes = 0;
    struct arena a;
    if (!np->has_limits) {
        return false;
    }
    arena_init(&a, 0, SCRATCH_MAX);
    for (MAP_EACH(store_all(b->rt->store, STORE_CLAIM), e)) {
        const struct nodeclaim *nc = map_value(e);
        const struct resources *c = capacity(b, map_key(e));
        if (!c || !str_eq(nc->pool, np->m.name) || nc->m.deleted_ns) {
            continue;
        }
        nodes++;
        add(&a, np, c, 1, &sum);
    }
    struct command_overlap twice =
        commands_overlap(b->rt->commands, np->m.name, o, capacity, b, &a);
    if (o) {
        add(&a, np, &o->capacity, 1, &sum);
    }
    add(&a, np, &twice.capacity, -1, &sum);
    bool over = exceeds(np, &sum, nodes + (o != NULL) - twice.nodes);
    arena_done(&a);
    return over;
}

bool brake_over_limits(struct brake *b, const char *pool)
{
    const struct nodepool *np = store_pool(b->rt->store, pool);
    return np && over_limits(b, np, NULL);
}

const char *brake_refuses(struct brake *b, const struct order *o)
{
    const struct nodepool *np = store_pool(b->rt->store, o->pool);
    if (!np || np->m.deleted_ns || np->problem || np->unknown_field) {
        return "the NodePool changed since the decision";
    }
    if (over_limits(b, np, o)) {
        return "the NodePool's limits leave no room any more";
    }
    if (reghealth_launches_left(b->rt->reghealth, np) == 0) {
        return "the NodePool's launches do not register, so the next one waits";
    }
    const char *by = hold_launches(b->rt, o->pool);
    if (by) {
        return by;
    }
    const char *held = NULL;
    if (brake_launches_left(b) == 0) {
        held = "--max-launches-per-minute is reached";
    } else if (too_dear(b, o)) {
        held = "--max-cost-per-hour would be exceeded";
    }
    attention_set(b->rt, "LaunchBrake", held != NULL);
    return held;
}
