/* intents.c - see intents.h. */
#include "intents.h"

#include "agent/claim/claim.h"
#include "common/base/alloc.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "store.h"

#define ROOM_ARENA_MAX 65536

struct target {
    struct map *pods; /* key → struct intent */
};

struct intent {
    char *uid, *target;
    int64_t until_ns; /* monotonic; 0 = the target was not initialized when last asked */
};

struct intents {
    struct runtime *rt;
    struct map *targets, *pods;
};

int64_t intents_window_ns(const struct runtime *rt)
{
    int64_t ns = 2 * rt->opt->batch_max_ns;
    return ns > 10 * NS_PER_S ? ns : 10 * NS_PER_S;
}

/* ---- taking in and dropping --------------------------------------------------------------------
 */

static void target_drop(struct intents *it, const char *name)
{
    struct target *t = map_del(it->targets, name);
    if (!t) {
        return;
    }
    for (MAP_EACH(t->pods, e)) {
        struct intent *in = map_value(e);
        map_del(it->pods, map_key(e));
        free(in->uid);
        free(in->target);
        free(in);
    }
    map_free(t->pods);
    free(t);
}

static void intent_drop(struct intents *it, const char *pod_key)
{
    struct intent *in = map_del(it->pods, pod_key);
    if (!in) {
        return;
    }
    struct target *t = map_get(it->targets, in->target);
    map_del(t->pods, pod_key);
    if (map_count(t->pods) == 0) {
        target_drop(it, in->target);
    }
    free(in->uid);
    free(in->target);
    free(in);
}

static struct target *target_get(struct intents *it, const char *name)
{
    struct target *t = map_get(it->targets, name);
    if (t) {
        return t;
    }
    t = NEW(struct target);
    t->pods = map_new(INTENTS_MAX);
    bool full = false;
    map_put(it->targets, name, t, &full);
    if (full) {
        map_free(t->pods);
        free(t);
        return NULL;
    }
    return t;
}

void intents_put(struct intents *it, const char *target, const char *pod_key, const char *pod_uid)
{
    intent_drop(it, pod_key);
    struct target *t = target_get(it, target);
    if (!t) {
        return;
    }
    struct intent *in = NEW(struct intent);
    in->uid = xstrdup(pod_uid);
    in->target = xstrdup(target);
    bool full = false;
    map_put(it->pods, pod_key, in, &full);
    if (full) {
        free(in->uid);
        free(in->target);
        free(in);
        return;
    }
    map_put(t->pods, pod_key, in, NULL);
}

/* ---- life of a target --------------------------------------------------------------------------
 */

/* Pods may still be bound to it; *ret_ready tells whether they could be by now. */
static bool target_there(const struct intents *it, const char *name, bool *ret_ready,
                         const struct node **ret_node)
{
    const struct nodeclaim *nc = store_claim(it->rt->store, name);
    const struct node *n = nc ? store_node_by_provider_id(it->rt->store, nc->provider_id, NULL)
                              : store_node(it->rt->store, name);
    *ret_ready = nc ? claim_is(nc, "Initialized") : true;
    *ret_node = n;
    if (!n && (!nc || nodeclaim_had_node(nc))) {
        return false;
    }
    return !(nc && nc->m.deleted_ns) && !(n && store_leaving(it->rt->store, n));
}

static const struct pod *pod_by_key(const struct intents *it, const char *key)
{
    return map_get(store_all(it->rt->store, STORE_POD), key);
}

/* What is bound leaves room for the pod. kube-scheduler knows no plans: pods that came later may
 * have taken what this one was meant to have, and waiting for it would be in vain. */
static bool has_room(const struct intents *it, const struct node *n, const struct pod *p)
{
    const struct node_usage *u = store_usage(it->rt->store, n->m.name);
    struct arena mem;
    if (!u || str_eq(p->node_name, n->m.name)) {
        return true;
    }
    arena_init(&mem, 512, ROOM_ARENA_MAX);
    struct resources rest = resources_add(&mem, &n->allocatable, &u->requested, -1);
    bool fits = resources_fit(&p->cls->requests, &rest, NULL);
    arena_done(&mem);
    return fits;
}

/* Each pod has its own window: others that are planned for the same target later must not make it
 * wait for ever. */
static bool over(const struct intents *it, const char *pod_key, struct intent *in, bool ready,
                 const struct node *n)
{
    int64_t now_ns = clock_mono(it->rt->clock);
    const struct pod *p = pod_by_key(it, pod_key);
    if (ready && n && p && !has_room(it, n, p)) {
        return true;
    }
    if (ready && in->until_ns == 0) {
        in->until_ns = now_ns + intents_window_ns(it->rt);
    }
    return in->until_ns != 0 && in->until_ns <= now_ns;
}

/* Drops what is over; NULL if nothing is left. */
static struct target *target_alive(struct intents *it, const char *name)
{
    struct target *t = map_get(it->targets, name);
    const struct node *n = NULL;
    bool ready = false;
    if (!t) {
        return NULL;
    }
    if (!target_there(it, name, &ready, &n)) {
        target_drop(it, name);
        return NULL;
    }
    for (MAP_EACH(t->pods, e)) {
        if (!over(it, map_key(e), map_value(e), ready, n)) {
            continue;
        }
        bool last = map_count(t->pods) == 1;
        intent_drop(it, map_key(e));
        if (last) {
            return NULL; /* the target went with it */
        }
    }
    return t;
}

static bool waits(const struct intents *it, const struct pod *p)
{
    if (pod_provisionable(p)) {
        return true;
    }
    const struct node *n = *p->node_name ? store_node(it->rt->store, p->node_name) : NULL;
    return n && store_must_move(it->rt->store, p, n);
}

bool intents_planned(struct intents *it, const struct pod *p)
{
    char key[1024]; /* asked of every pod of every decision: no format is parsed here */
    size_t n_ns = strlen(p->m.ns), n_name = strlen(p->m.name);
    if (n_ns + n_name + 2 > sizeof(key)) {
        return false;
    }
    memcpy(key, p->m.ns, n_ns);
    key[n_ns] = '/';
    memcpy(key + n_ns + 1, p->m.name, n_name + 1);
    struct intent *in = map_get(it->pods, key);
    if (!in || !str_eq(in->uid, p->m.uid)) {
        return false;
    }
    AUTO_FREE char *target = xstrdup(in->target);
    const struct node *n = NULL;
    bool ready = false;
    if (!target_there(it, target, &ready, &n)) {
        target_drop(it, target);
        return false;
    }
    if (over(it, key, in, ready, n)) {
        intent_drop(it, key);
        return false;
    }
    return true;
}

enum intents_place intents_place(struct intents *it, const struct pod *p)
{
    char key[1024];
    snprintf(key, sizeof(key), "%s/%s", p->m.ns, p->m.name);
    const struct intent *in = intents_planned(it, p) ? map_get(it->pods, key) : NULL;
    const struct node *n;
    bool ready = false;
    if (!in || !target_there(it, in->target, &ready, &n)) {
        return INTENTS_NOWHERE;
    }
    return ready ? INTENTS_READY : INTENTS_COMING;
}

uint32_t intents_expected(struct intents *it, const char *target)
{
    struct target *t = target_alive(it, target);
    uint32_t n = 0;
    if (!t) {
        return 0;
    }
    for (MAP_EACH(t->pods, e)) {
        const struct pod *p = pod_by_key(it, map_key(e));
        n += p && waits(it, p);
    }
    return n;
}

struct resources intents_requests(struct intents *it, const char *target, struct arena *a)
{
    struct resources sum = {.n_ext = 0};
    struct target *t = target_alive(it, target);
    if (!t) {
        return sum;
    }
    for (MAP_EACH(t->pods, e)) {
        const struct pod *p = pod_by_key(it, map_key(e));
        if (p && waits(it, p)) {
            sum = resources_add(a, &sum, &p->cls->requests, 1);
        }
    }
    return sum;
}

const struct snapshot_planned *intents_all(struct intents *it, struct arena *a, uint32_t *ret_n)
{
    struct snapshot_planned *v = ARENA_NEW_N(a, struct snapshot_planned, map_count(it->pods));
    uint32_t n = 0;
    for (MAP_EACH(it->targets, e)) {
        const char *name = arena_strdup(a, map_key(e));
        struct target *t = target_alive(it, name);
        for (const struct map_entry *p = t ? map_first(t->pods) : NULL; p; p = map_next(p)) {
            const struct pod *pod = pod_by_key(it, map_key(p));
            if (pod && waits(it, pod)) {
                v[n++] = (struct snapshot_planned){pod, name};
            }
        }
    }
    *ret_n = n;
    return v;
}

/* ---- what the store tells ----------------------------------------------------------------------
 */

static void on_pod(void *arg, const char *key, const void *before, const void *now)
{
    struct intents *it = arg;
    (void)before;
    const struct intent *in = map_get(it->pods, key);
    if (in && (!now || !str_eq(in->uid, ((const struct pod *)now)->m.uid) || !waits(it, now))) {
        intent_drop(it, key);
    }
}

static void on_claim(void *arg, const char *key, const void *before, const void *now)
{
    struct intents *it = arg;
    (void)before;
    if (!now || ((const struct nodeclaim *)now)->m.deleted_ns) {
        target_drop(it, key);
    }
}

struct intents *intents_new(struct runtime *rt)
{
    struct intents *it = NEW(struct intents);
    it->rt = rt;
    it->targets = map_new(STORE_MAX_OBJECTS);
    it->pods = map_new(INTENTS_MAX);
    store_subscribe(rt->store, STORE_POD, on_pod, it);
    store_subscribe(rt->store, STORE_CLAIM, on_claim, it);
    return it;
}

void intents_free(struct intents *it)
{
    if (!it) {
        return;
    }
    for (MAP_EACH(it->targets, e)) {
        target_drop(it, map_key(e));
    }
    map_free(it->targets);
    map_free(it->pods);
    free(it);
}
