/* command_limit.c - commands and the limits of pools; see command.h. */
#include "agent/claim/claim.h"
#include "agent/history/why.h"
#include "agent/plan/creator.h"
#include "agent/store/store.h"
#include "command_int.h"
#include "common/base/str.h"
#include "depart.h"

struct side {
    struct resources sum;
    int64_t nodes;
};

struct count {
    const struct commands *all;
    const char *pool;
    command_capacity_fn capacity;
    void *ctx;
    struct arena *a;
};

static void add(const struct count *k, struct side *s, const struct resources *r)
{
    s->sum = resources_add(k->a, &s->sum, r, 1);
    s->nodes++;
}

static void add_claim(const struct count *k, struct side *s, const char *name)
{
    const struct nodeclaim *nc = name ? store_claim(k->all->rt->store, name) : NULL;
    const struct resources *r =
        nc && !nc->m.deleted_ns && str_eq(nc->pool, k->pool) ? k->capacity(k->ctx, name) : NULL;
    if (r) {
        add(k, s, r);
    }
}

/* Per resource the lesser of both. */
static struct side lesser(const struct count *k, const struct side *x, const struct side *y)
{
    struct side ret = {.nodes = x->nodes < y->nodes ? x->nodes : y->nodes};
    struct res_ext *ext = ARENA_NEW_N(k->a, struct res_ext, x->sum.n_ext);
    for (int r = 0; r < RES_FIXED; r++) {
        ret.sum.v[r] = x->sum.v[r] < y->sum.v[r] ? x->sum.v[r] : y->sum.v[r];
    }
    for (uint32_t i = 0; i < x->sum.n_ext; i++) {
        int64_t other = resources_get_ext(&y->sum, x->sum.ext[i].name);
        ext[i] = x->sum.ext[i];
        ext[i].amount = ext[i].amount < other ? ext[i].amount : other;
    }
    ret.sum.ext = ext;
    ret.sum.n_ext = x->sum.n_ext;
    return ret;
}

static struct side overlap_of(const struct count *k, const struct command *c,
                              const struct order *coming)
{
    struct side out = {.nodes = 0}, in = {.nodes = 0};
    for (uint32_t i = 0; i < c->n; i++) {
        add_claim(k, &out, c->members[i].claim);
    }
    for (uint32_t i = 0; i < c->n_in; i++) {
        add_claim(k, &in, c->in[i].claim);
    }
    if (coming && str_eq(coming->command, c->id) && str_eq(coming->pool, k->pool)) {
        add(k, &in, &coming->capacity);
    }
    return lesser(k, &out, &in);
}

struct command_overlap commands_overlap(const struct commands *all, const char *pool,
                                        const struct order *coming, command_capacity_fn capacity,
                                        void *ctx, struct arena *a)
{
    const struct count k = {all, pool, capacity, ctx, a};
    struct command_overlap ret = {.nodes = 0};
    for (const struct command *c = all->first; c; c = c->next) {
        if (c->n_in > 0 && c->stage >= COMMAND_LAUNCHING && !c->undone) {
            struct side s = overlap_of(&k, c, coming);
            ret.capacity = resources_add(a, &ret.capacity, &s.sum, 1);
            ret.nodes += s.nodes;
        }
    }
    return ret;
}

/* ---- afterwards --------------------------------------------------------------------------------
 */

/* A replacement that its command does not wait for any more, and on which nothing can run yet. */
static bool left_over(const struct commands *all, const struct nodeclaim *nc)
{
    const struct replacement *r = map_get(all->incoming, nc->m.name);
    return kvs_get(&nc->m.annotations, ANN_REPLACES) && !nc->m.deleted_ns &&
           !claim_is(nc, "Registered") && store_ours(&nc->class_ref) && (!r || r->c->undone);
}

void commands_keep_limits(struct commands *all)
{
    static const struct departure why = {.metric = "over_limit", .code = WHY_OVER_LIMIT};
    for (MAP_EACH(store_all(all->rt->store, STORE_CLAIM), e)) {
        const struct nodeclaim *nc = map_value(e);
        if (left_over(all, nc) && !depart_has(all->depart, nc->m.name) &&
            creator_over_limits(all->rt->creator, nc->pool)) {
            log_info(all->rt->log, "a replacement that is not waited for exceeds its pool's limits",
                     "NodeClaim", nc->m.name, "NodePool", nc->pool);
            depart_order(all->depart, nc, &why);
        }
    }
}
