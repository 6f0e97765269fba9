/* ineffective.c - see ineffective.h. */
#include "ineffective.h"

#include "agent/claim/claim.h"
#include "agent/store/intents.h"
#include "agent/store/store.h"
#include "common/base/alloc.h"
#include "common/base/map.h"
#include "common/base/str.h"

#define ROWS_MAX 4096
#define TRIAL_CLASSES_MAX 32 /* of one launch; what has more kinds of pods helps some of them */

/* A class of pods in a pool. */
struct row {
    char *pool;
    uint64_t cls;
    unsigned bad;     /* launches that are over and have not helped */
    unsigned open;    /* nodes that are there and have not helped: of the last look */
    int64_t retry_ns; /* monotonic; 0 = not held yet */
    bool held;
};

/* A launch whose claim is there. */
struct trial {
    char *pool;
    uint64_t cls[TRIAL_CLASSES_MAX];
    bool helped[TRIAL_CLASSES_MAX];
    uint32_t n;
    int64_t ready_ns; /* monotonic, when it was initialized; 0 = not yet */
};

struct ineffective {
    struct runtime *rt;
    struct map *rows;   /* "pool class" → struct row */
    struct map *trials; /* claim → struct trial */
    struct timer look;
    void (*changed)(void *ctx, const char *pool);
    void *ctx;
};

static int64_t now_of(const struct ineffective *it)
{
    return clock_mono(it->rt->clock);
}

/* ---- rows --------------------------------------------------------------------------------------
 */

static void row_key(const char *pool, uint64_t cls, char dst[320])
{
    snprintf(dst, 320, "%.253s %016llx", pool, (unsigned long long)cls);
}

static struct row *row_get(struct ineffective *it, const char *pool, uint64_t cls)
{
    char key[320];
    row_key(pool, cls, key);
    struct row *r = map_get(it->rows, key);
    if (r) {
        return r;
    }
    bool full = false;
    r = NEW(struct row);
    r->pool = xstrdup(pool);
    r->cls = cls;
    map_put(it->rows, key, r, &full);
    if (full) {
        free(r->pool);
        free(r);
        return NULL;
    }
    return r;
}

static void row_free(struct row *r)
{
    free(r->pool);
    free(r);
}

static void hold(struct ineffective *it, struct row *r, bool held)
{
    if (r->held == held) {
        return;
    }
    bool was = ineffective_in(it, r->pool);
    r->held = held;
    if (was != ineffective_in(it, r->pool)) {
        log_info(it->rt->log, was ? "launches may help again" : "launches help nobody", "NodePool",
                 r->pool);
        if (it->changed) {
            it->changed(it->ctx, r->pool);
        }
    }
}

static bool waits(const struct ineffective *it, uint64_t cls)
{
    for (MAP_EACH(store_provisionable(it->rt->store), e)) {
        const struct pod *p = map_value(e);
        if (order_class(p) == cls) {
            return true;
        }
    }
    return false;
}

/* Its Node was there and is no more: that nobody is bound to it says nothing. */
static bool without_node(const struct ineffective *it, const char *claim)
{
    const struct nodeclaim *nc = store_claim(it->rt->store, claim);
    return nc && nodeclaim_had_node(nc) &&
           !store_node_by_provider_id(it->rt->store, nc->provider_id, NULL);
}

static void count_open(struct ineffective *it)
{
    int64_t since_ns = now_of(it) - intents_window_ns(it->rt);
    for (MAP_EACH(it->rows, e)) {
        struct row *r = map_value(e);
        r->open = 0;
    }
    for (MAP_EACH(it->trials, o)) {
        const struct trial *t = map_value(o);
        bool counts = t->ready_ns && t->ready_ns <= since_ns && !without_node(it, map_key(o));
        for (uint32_t i = 0; counts && i < t->n; i++) {
            struct row *r = t->helped[i] ? NULL : row_get(it, t->pool, t->cls[i]);
            if (r) {
                r->open++;
            }
        }
    }
}

static void judge(struct ineffective *it, struct row *r)
{
    bool many = r->bad + r->open >= INEFFECTIVE_MAX && waits(it, r->cls);
    if (!many) {
        r->retry_ns = 0;
    } else if (r->retry_ns == 0) {
        r->retry_ns = now_of(it) + INEFFECTIVE_RETRY_NS;
    }
    hold(it, r, many);
}

/* Rows that nobody waits for any more, and whose launches are over, go. */
static void refresh(struct ineffective *it)
{
    count_open(it);
    for (MAP_EACH(it->rows, e)) {
        struct row *r = map_value(e);
        judge(it, r);
        if (r->open == 0 && !r->held && (r->bad == 0 || !waits(it, r->cls))) {
            map_del(it->rows, map_key(e));
            row_free(r);
        }
    }
}

static void on_look(void *arg)
{
    struct ineffective *it = arg;
    refresh(it);
    if (map_count(it->rows) + map_count(it->trials) > 0) {
        timer_set(&it->rt->timers, &it->look, now_of(it) + INEFFECTIVE_LOOK_NS, on_look, it);
    }
}

/* ---- trials ------------------------------------------------------------------------------------
 */

static void trial_free(struct trial *t)
{
    free(t->pool);
    free(t);
}

static void add_class(struct trial *t, uint64_t cls)
{
    for (uint32_t i = 0; i < t->n; i++) {
        if (t->cls[i] == cls) {
            return;
        }
    }
    if (t->n < TRIAL_CLASSES_MAX) {
        t->cls[t->n++] = cls;
    }
}

static struct row *row_of(const struct ineffective *it, const struct order *o, uint32_t pod)
{
    char key[320];
    row_key(o->pool, o->pods[pod].cls, key);
    return map_get(it->rows, key);
}

const char *ineffective_refuses(const struct ineffective *it, const struct order *o)
{
    uint32_t i = 0;
    for (; i < o->n_pods; i++) {
        const struct row *r = row_of(it, o, i);
        if (!r || !r->held || now_of(it) >= r->retry_ns) {
            break;
        }
    }
    return o->n_pods > 0 && i == o->n_pods ? "launches for these pods help nobody" : NULL;
}

static void try_again_at(struct ineffective *it, const struct order *o, int64_t at_ns)
{
    for (uint32_t i = 0; i < o->n_pods; i++) {
        struct row *r = row_of(it, o, i);
        if (r && r->held) {
            r->retry_ns = at_ns;
        }
    }
}

void ineffective_take(struct ineffective *it, const struct order *o)
{
    try_again_at(it, o, now_of(it) + INEFFECTIVE_RETRY_NS);
}

void ineffective_give_back(struct ineffective *it, const struct order *o)
{
    try_again_at(it, o, now_of(it));
}

void ineffective_launched(struct ineffective *it, const struct order *o, const char *claim)
{
    struct trial *t = NEW(struct trial);
    t->pool = xstrdup(o->pool);
    for (uint32_t i = 0; i < o->n_pods; i++) {
        add_class(t, o->pods[i].cls);
    }
    bool full = false;
    struct trial *old = map_put(it->trials, claim, t, &full);
    if (old || full) {
        trial_free(old ? old : t);
    }
    if (!timer_pending(&it->look)) {
        timer_set(&it->rt->timers, &it->look, now_of(it) + INEFFECTIVE_LOOK_NS, on_look, it);
    }
}

/* Its node is gone, or going. */
static void verdict(struct ineffective *it, const struct trial *t)
{
    for (uint32_t i = 0; t->ready_ns && i < t->n; i++) {
        struct row *r =
            !t->helped[i] && waits(it, t->cls[i]) ? row_get(it, t->pool, t->cls[i]) : NULL;
        if (r) {
            r->bad++;
        }
    }
}

/* It goes because it has lost its Node, not because nobody was bound to that (lifecycle.h). */
static bool set_back(const struct nodeclaim *nc)
{
    return nodeclaim_had_node(nc) && !claim_is(nc, "Registered");
}

static void on_claim(void *arg, const char *key, const void *before, const void *now)
{
    struct ineffective *it = arg;
    const struct nodeclaim *is = now, *last = now ? now : before;
    struct trial *t = map_get(it->trials, key);
    if (!t) {
        return;
    }
    if (!is || is->m.deleted_ns) {
        map_del(it->trials, key);
        if (!(last && set_back(last))) {
            verdict(it, t);
        }
        trial_free(t);
    } else if (t->ready_ns == 0 && claim_is(is, "Initialized")) {
        t->ready_ns = now_of(it);
    }
}

/* One of the class is bound: to a launch of ours, or elsewhere. */
static void helped(struct ineffective *it, const struct pod *p)
{
    uint64_t cls = order_class(p);
    const struct node *n = store_node(it->rt->store, p->node_name);
    const struct nodeclaim *nc =
        n ? store_claim_by_provider_id(it->rt->store, n->provider_id) : NULL;
    struct trial *t = nc ? map_get(it->trials, nc->m.name) : NULL;
    for (uint32_t i = 0; t && i < t->n; i++) {
        t->helped[i] = t->helped[i] || t->cls[i] == cls;
    }
    for (MAP_EACH(it->rows, e)) {
        struct row *r = map_value(e);
        if (r->cls == cls) {
            r->bad = 0;
            judge(it, r);
        }
    }
}

static void on_pod(void *arg, const char *key, const void *before, const void *now)
{
    struct ineffective *it = arg;
    const struct pod *was = before, *is = now;
    (void)key;
    if (map_count(it->trials) + map_count(it->rows) > 0 && is && *is->node_name &&
        !(was && *was->node_name)) {
        helped(it, is);
    }
}

/* ---- answers -----------------------------------------------------------------------------------
 */

bool ineffective_in(const struct ineffective *it, const char *pool)
{
    for (MAP_EACH(it->rows, e)) {
        const struct row *r = map_value(e);
        if (r->held && str_eq(r->pool, pool)) {
            return true;
        }
    }
    return false;
}

void ineffective_listen(struct ineffective *it, void (*fn)(void *ctx, const char *pool), void *ctx)
{
    it->changed = fn;
    it->ctx = ctx;
}

static bool there(const struct snapshot_in *in, const struct pod_class *cls, const char *pool)
{
    for (uint32_t i = 0; i < in->n_ineffective; i++) {
        if (in->ineffective[i].cls == cls && str_eq(in->ineffective[i].pool, pool)) {
            return true;
        }
    }
    return false;
}

void ineffective_put(struct ineffective *it, struct arena *a, struct snapshot_in *in)
{
    struct snapshot_ineffective *v = NULL;
    uint32_t cap = 0;
    refresh(it);
    for (MAP_EACH(it->rows, e)) {
        const struct row *r = map_value(e);
        for (uint32_t i = 0; r->held && now_of(it) < r->retry_ns && i < in->n_pods; i++) {
            const struct pod *p = in->pods[i];
            if (order_class(p) == r->cls && !there(in, p->cls, r->pool)) {
                ARENA_GROW(a, v, in->n_ineffective, cap);
                v[in->n_ineffective++] =
                    (struct snapshot_ineffective){p->cls, arena_strdup(a, r->pool)};
                in->ineffective = v;
            }
        }
    }
}

/* ---- life --------------------------------------------------------------------------------------
 */

struct ineffective *ineffective_new(struct runtime *rt)
{
    struct ineffective *it = NEW(struct ineffective);
    it->rt = rt;
    it->rows = map_new(ROWS_MAX);
    it->trials = map_new(STORE_MAX_OBJECTS);
    store_subscribe(rt->store, STORE_CLAIM, on_claim, it);
    store_subscribe(rt->store, STORE_POD, on_pod, it);
    return it;
}

void ineffective_free(struct ineffective *it)
{
    if (!it) {
        return;
    }
    timer_stop(&it->rt->timers, &it->look);
    for (MAP_EACH(it->rows, e)) {
        row_free(map_value(e));
    }
    for (MAP_EACH(it->trials, o)) {
        trial_free(map_value(o));
    }
    map_free(it->rows);
    map_free(it->trials);
    free(it);
}
