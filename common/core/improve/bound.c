/* bound.c - see bound.h. */
#include "bound.h"
#include "common/base/sort.h"

#include "common/core/sched/sched_int.h"

#define RESOURCES_MAX 12u /* that are weighed against each other */
#define SLOTS_MAX 4u      /* of them rules about hosts, those of the most pods */
#define GROUPS_MAX 1024u  /* rules about hosts that are looked at */
#define PARTS 512u        /* the weights are parts of it */
#define SHARE_BITS 25     /* of a type's room in all that is asked for: rounded up */
#define DEMAND_BITS 40    /* of a class's requests in it: rounded down */
#define PRICE_BITS 30     /* of the highest price */
#define WORK_MAX 20000000u
#define ASKER_WORK 16u /* beside a look at one number of a type */

/* What a class could get: types of one pool with a price each. */
struct option {
    const struct sched_pool *pool;
    struct offer_mask offer;
    uint64_t *bits;
    uint32_t n;
    uint64_t *price;                 /* in units of 2^shift */
    uint32_t (*room)[RESOURCES_MAX]; /* shares */
};

struct asker {
    struct sched_class *k;
    uint32_t pods;
    uint32_t *options;
    uint32_t n_options;
    uint64_t demand[RESOURCES_MAX]; /* of all its pods */
};

struct weighed {
    enum resource r; /* RES_FIXED: see ext or group */
    sym ext;
    const struct topo_group *group;
    int64_t total;
};

struct bound {
    struct sched *s;
    struct asker *askers;
    uint32_t n_askers;
    struct option *options;
    uint32_t n_options, cap_options;
    struct weighed w[RESOURCES_MAX];
    uint32_t n_w;
    unsigned shift;
    uint64_t work;
};

/* ---- who asks -------------------------------------------------------------------------------- */

static int pointer_cmp(const void *x, const void *y)
{
    uintptr_t a = *(const uintptr_t *)x, b = *(const uintptr_t *)y;
    return a < b ? -1 : a > b;
}

/* Pods on claims, per class. Addresses are only looked up, so they order nothing. */
static void count_pods(struct bound *b, uint32_t *count)
{
    const struct sched *s = b->s;
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->result.n_claims; i++) {
        n += s->final[i].n_pods;
    }
    uintptr_t *there = ARENA_NEW_N(s->a, uintptr_t, n);
    n = 0;
    for (uint32_t i = 0; i < s->result.n_claims; i++) {
        for (uint32_t p = 0; p < s->final[i].n_pods; p++) {
            there[n++] = (uintptr_t)s->final[i].pods[p];
        }
    }
    sort_items(there, n, sizeof(*there), pointer_cmp);
    for (uint32_t i = 0; n > 0 && i < s->snap->n_pods; i++) {
        uintptr_t one = (uintptr_t)s->snap->pods[i];
        count[s->class_of[i]] += bsearch(&one, there, n, sizeof(*there), pointer_cmp) != NULL;
    }
}

static uint32_t option_of(struct bound *b, const struct sched_pool *p, const struct sched_trial *t)
{
    uint32_t words = catalog_words(p->tm.catalog);
    for (uint32_t i = 0; i < b->n_options; i++) {
        const struct option *o = &b->options[i];
        if (o->pool == p && o->offer.zones == t->offer.zones && o->offer.cts == t->offer.cts &&
            memcmp(o->bits, t->types, words * sizeof(*o->bits)) == 0) {
            return i;
        }
    }
    ARENA_GROW(b->s->a, b->options, b->n_options, b->cap_options);
    b->options[b->n_options] =
        (struct option){.pool = p,
                        .offer = t->offer,
                        .bits = arena_memdup(b->s->a, t->types, words * sizeof(*t->types)),
                        .n = bits_count(t->types, words)};
    return b->n_options++;
}

/* What the pool has for the class, if anything. */
static void add_option(struct bound *b, struct asker *one, const struct sched_class *bare,
                       const struct sched_ask *ask, struct sched_open blank)
{
    struct sched_trial t;
    enum sched_step step = sched_claim_try(b->s, &blank, bare, ask, &t);
    if (step == STEP_TAKEN || step == STEP_MIN_VALUES) {
        one->options[one->n_options++] = option_of(b, blank.pool, &t);
    }
}

/* What pools have for the class alone, all preferences given up, rules about other pods aside.
 * Reservations count as if they had any number of units. */
static void find_options(struct bound *b, struct asker *one)
{
    struct sched *s = b->s;
    struct sched_class bare = *one->k;
    one->options = ARENA_NEW_N(s->a, uint32_t, (size_t)bare.n_required * s->n_pools * 2);
    bare.topo = NULL;
    for (uint32_t i = bare.n_asks - bare.n_required; i < bare.n_asks; i++) {
        const struct sched_ask *ask = sched_ask(s, one->k, i);
        for (uint32_t p = 0; p < s->n_pools && !ask->impossible; p++) {
            struct sched_open blank = sched_blank(&s->pools[p]);
            if (!s->pools[p].usable) {
                continue;
            }
            add_option(b, one, &bare, ask, blank);
            if (s->pools[p].n_reservations > 0) {
                blank.cts = SCHED_RESERVED;
                add_option(b, one, &bare, ask, blank);
            }
        }
    }
}

/* Ways of asking are the pass's own and stay. */
static void find_askers(struct bound *b)
{
    struct sched *s = b->s;
    uint32_t *count = ARENA_NEW_N(s->a, uint32_t, s->n_classes);
    count_pods(b, count);
    b->askers = ARENA_NEW_N(s->a, struct asker, s->n_classes);
    for (uint32_t i = 0; i < s->n_classes; i++) {
        struct sched_class *k = &s->classes[i];
        if (count[i] == 0) {
            continue;
        }
        b->askers[b->n_askers++] = (struct asker){.k = k, .pods = count[i]};
        for (uint32_t w = k->n_asks - k->n_required; w < k->n_asks; w++) {
            (void)sched_ask(s, k, w);
        }
    }
}

static void find_all_options(struct bound *b)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->n_askers; i++) {
        find_options(b, &b->askers[i]);
        if (b->askers[i].n_options > 0) {
            b->askers[n++] = b->askers[i];
        }
    }
    b->n_askers = n;
}

/* ---- for what -------------------------------------------------------------------------------- */

/* Pods of the group that one host takes at most. */
static int64_t slots_of(const struct topo_group *g)
{
    return g->kind == TOPO_ANTI ? 1 : g->max_skew;
}

static bool is_slot(const struct topo_use *u)
{
    return u->g->host && u->self && u->soft == TOPO_HARD &&
           (u->g->kind == TOPO_ANTI || u->g->kind == TOPO_SPREAD);
}

static bool takes_slot(const struct sched_class *k, const struct topo_group *g)
{
    for (uint32_t i = 0; k->topo != NULL && i < k->topo->n_uses; i++) {
        if (k->topo->uses[i].g == g && is_slot(&k->topo->uses[i])) {
            return true;
        }
    }
    return false;
}

/* Of one pod. */
static int64_t asks_for(const struct sched_class *k, const struct weighed *w)
{
    int64_t n = w->group != NULL   ? takes_slot(k, w->group)
                : w->r < RES_FIXED ? k->cls->requests.v[w->r]
                                   : resources_get_ext(&k->cls->requests, w->ext);
    return n > 0 ? n : 0;
}

static int64_t add_up(int64_t x, int64_t y, uint32_t times)
{
    int64_t ret;
    return __builtin_mul_overflow(y, (int64_t)times, &ret) || __builtin_add_overflow(x, ret, &ret)
               ? INT64_MAX
               : ret;
}

static void weigh(struct bound *b, struct weighed w)
{
    for (uint32_t i = 0; i < b->n_askers; i++) {
        w.total = add_up(w.total, asks_for(b->askers[i].k, &w), b->askers[i].pods);
    }
    if (w.total > 0 && b->n_w < RESOURCES_MAX) {
        b->w[b->n_w++] = w;
    }
}

static void weigh_extended(struct bound *b, const struct resources *r)
{
    for (uint32_t i = 0; i < r->n_ext; i++) {
        bool known = false;
        for (uint32_t k = 0; k < b->n_w; k++) {
            known = known || (b->w[k].r == RES_FIXED && b->w[k].ext == r->ext[i].name);
        }
        if (!known) {
            weigh(b, (struct weighed){.r = RES_FIXED, .ext = r->ext[i].name});
        }
    }
}

/* Adds up the pods that take a slot, per group; groups as they are met. */
static uint32_t count_slots(const struct bound *b, struct weighed *v, uint32_t max)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->n_askers; i++) {
        const struct topo_class *k = b->askers[i].k->topo;
        for (uint32_t u = 0; k != NULL && u < k->n_uses; u++) {
            if (!is_slot(&k->uses[u])) {
                continue;
            }
            uint32_t at = 0;
            while (at < n && v[at].group != k->uses[u].g) {
                at++;
            }
            if (at == n && n < max) {
                v[n++] = (struct weighed){.r = RES_FIXED, .group = k->uses[u].g};
            }
            if (at < n) {
                v[at].total += b->askers[i].pods;
            }
        }
    }
    return n;
}

/* The rules about hosts of the most pods; of as many the one that was met first. */
static void weigh_hosts(struct bound *b)
{
    struct weighed *v = ARENA_NEW_N(b->s->a, struct weighed, GROUPS_MAX);
    uint32_t n = count_slots(b, v, GROUPS_MAX);
    for (uint32_t taken = 0; taken < SLOTS_MAX && b->n_w < RESOURCES_MAX; taken++) {
        uint32_t best = 0;
        for (uint32_t i = 1; i < n; i++) {
            best = v[i].total > v[best].total ? i : best;
        }
        if (n == 0 || v[best].total < 2) {
            return;
        }
        b->w[b->n_w++] = v[best];
        v[best].total = 0;
    }
}

static void find_weighed(struct bound *b)
{
    for (int r = 0; r < RES_FIXED; r++) {
        weigh(b, (struct weighed){.r = (enum resource)r});
    }
    for (uint32_t i = 0; i < b->n_askers; i++) {
        weigh_extended(b, &b->askers[i].k->cls->requests);
    }
    weigh_hosts(b);
    for (uint32_t i = 0; i < b->n_askers; i++) {
        struct asker *one = &b->askers[i];
        for (uint32_t w = 0; w < b->n_w; w++) {
            __int128 all = (__int128)asks_for(one->k, &b->w[w]) * one->pods;
            one->demand[w] = (uint64_t)((all << DEMAND_BITS) / b->w[w].total);
        }
    }
}

/* ---- at what price --------------------------------------------------------------------------- */

/* Of what is asked for; nobody needs more room than that. */
static uint32_t room_share(const struct weighed *w, const struct option *o, uint32_t type)
{
    const struct resources *all = catalog_allocatable(o->pool->tm.catalog, type);
    const struct resources *used = &template_group(&o->pool->tm, type)->sum;
    int64_t room = w->group != NULL ? slots_of(w->group)
                   : w->r < RES_FIXED
                       ? all->v[w->r] - used->v[w->r]
                       : resources_get_ext(all, w->ext) - resources_get_ext(used, w->ext);
    room = room < 0 ? 0 : room > w->total ? w->total : room;
    return (uint32_t)((((__int128)room << SHARE_BITS) + w->total - 1) / w->total);
}

static void price_option(struct bound *b, struct option *o)
{
    uint32_t words = catalog_words(o->pool->tm.catalog), at = 0;
    o->price = ARENA_NEW_N(b->s->a, uint64_t, o->n);
    o->room = arena_alloc_n(b->s->a, o->n, sizeof(*o->room));
    for (int i = bits_next(o->bits, words, 0); i >= 0;
         i = bits_next(o->bits, words, (uint32_t)i + 1)) {
        o->price[at] =
            (uint64_t)offerings_cheapest(o->pool->in->offerings, (uint32_t)i, o->offer, NULL, NULL);
        for (uint32_t w = 0; w < b->n_w; w++) {
            o->room[at][w] = room_share(&b->w[w], o, (uint32_t)i);
        }
        at++;
    }
}

static void find_prices(struct bound *b)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < b->n_options; i++) {
        price_option(b, &b->options[i]);
        for (uint32_t t = 0; t < b->options[i].n; t++) {
            most = b->options[i].price[t] > most ? b->options[i].price[t] : most;
        }
    }
    while (most >> b->shift >> PRICE_BITS != 0) {
        b->shift++;
    }
    for (uint32_t i = 0; b->shift > 0 && i < b->n_options; i++) {
        for (uint32_t t = 0; t < b->options[i].n; t++) {
            b->options[i].price[t] >>= b->shift;
        }
    }
}

/* ---- the bound ------------------------------------------------------------------------------- */

/* The least price per weighted room, as a fraction. A product of both fits 64 bits. */
struct rate {
    uint64_t price, room;
};

static bool dearer(struct rate x, struct rate y)
{
    return x.price * y.room > y.price * x.room;
}

static struct rate rate_of(struct bound *b, const struct option *o, const unsigned *parts)
{
    struct rate best = {1, 0}; /* for ever */
    for (uint32_t t = 0; t < o->n; t++) {
        struct rate one = {o->price[t], 0};
        for (uint32_t w = 0; w < b->n_w; w++) {
            one.room += (uint64_t)parts[w] * o->room[t][w];
        }
        best = dearer(best, one) ? one : best;
    }
    b->work += (uint64_t)o->n * b->n_w;
    return best;
}

static int64_t value_of(struct bound *b, const unsigned *parts, struct rate *rates)
{
    __int128 sum = 0;
    b->work += (uint64_t)b->n_askers * ASKER_WORK;
    for (uint32_t i = 0; i < b->n_options; i++) {
        rates[i] = rate_of(b, &b->options[i], parts);
    }
    for (uint32_t i = 0; i < b->n_askers; i++) {
        const struct asker *one = &b->askers[i];
        struct rate best = rates[one->options[0]];
        uint64_t demand = 0;
        for (uint32_t o = 1; o < one->n_options; o++) {
            best = dearer(best, rates[one->options[o]]) ? rates[one->options[o]] : best;
        }
        for (uint32_t w = 0; w < b->n_w; w++) {
            demand += parts[w] * one->demand[w];
        }
        if (best.room > 0) {
            sum += (((__int128)best.price << b->shift) * demand / best.room) >>
                   (DEMAND_BITS - SHARE_BITS);
        }
    }
    return sum > INT64_MAX ? INT64_MAX : (int64_t)sum;
}

/* Moves parts between two weights while that raises the bound. */
static int64_t climb(struct bound *b, unsigned *parts, struct rate *rates, int64_t value)
{
    for (unsigned step = PARTS / 2; step > 0; step /= 2) {
        bool better = true;
        while (better && b->work < WORK_MAX) {
            better = false;
            for (uint32_t x = 0; x < b->n_w * b->n_w && b->work < WORK_MAX; x++) {
                uint32_t from = x / b->n_w, to = x % b->n_w;
                if (from == to || parts[from] < step) {
                    continue;
                }
                parts[from] -= step;
                parts[to] += step;
                int64_t now = value_of(b, parts, rates);
                if (now > value) {
                    value = now;
                    better = true;
                } else {
                    parts[from] += step;
                    parts[to] -= step;
                }
            }
        }
    }
    return value;
}

static int64_t best_weights(struct bound *b)
{
    unsigned best[RESOURCES_MAX] = {0};
    struct rate *rates = ARENA_NEW_N(b->s->a, struct rate, b->n_options);
    int64_t value = -1;
    for (uint32_t w = 0; w < b->n_w; w++) {
        unsigned parts[RESOURCES_MAX] = {0};
        parts[w] = PARTS;
        int64_t now = value_of(b, parts, rates);
        if (now > value) {
            value = now;
            memcpy(best, parts, sizeof(best));
        }
    }
    return b->n_w == 0 ? 0 : climb(b, best, rates, value);
}

/* The dearest of the pods, each alone on the cheapest node that can carry it. */
static int64_t dearest_pod(const struct bound *b)
{
    uint64_t ret = 0;
    for (uint32_t i = 0; i < b->n_askers; i++) {
        uint64_t least = UINT64_MAX;
        for (uint32_t o = 0; o < b->askers[i].n_options; o++) {
            const struct option *one = &b->options[b->askers[i].options[o]];
            for (uint32_t t = 0; t < one->n; t++) {
                least = one->price[t] < least ? one->price[t] : least;
            }
        }
        ret = least > ret ? least : ret;
    }
    return (int64_t)(ret << b->shift);
}

int64_t bound_new_capacity_pusd_h(struct sched *s)
{
    struct bound b = {.s = s};
    if (sched_result(s)->n_claims == 0) {
        return 0;
    }
    find_askers(&b);
    struct arena_mark mark = arena_mark(s->a);
    find_all_options(&b);
    int64_t ret = 0;
    if (b.n_askers > 0) {
        find_weighed(&b);
        find_prices(&b);
        int64_t sum = best_weights(&b), one = dearest_pod(&b);
        ret = sum > one ? sum : one;
    }
    arena_rewind(s->a, mark);
    return ret;
}
