/* churnguard.c - see churnguard.h. */
#include "churnguard.h"

#include "agent/claim/claim.h"
#include "agent/store/store.h"
#include "common/base/alloc.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/core/disrupt/candidate.h"

#define CONDITION "ChurnGuard"
#define KEEP 8 /* moves of one side that are remembered; CHURNGUARD_MOVES need no more */
#define DESCHEDULER "descheduler"

/* A pod that was taken from its node. */
struct move {
    int64_t at_ns; /* monotonic: when it was marked, or was gone; 0 = none */
    bool answered; /* another one came for it */
    char *pool, *revision;
};

enum side { OURS, OTHERS, SIDES };

struct owner {
    struct move moves[SIDES][KEEP]; /* a ring each, by age */
    unsigned next[SIDES];
};

struct guarded {
    int64_t since_ns; /* wall */
    char *message;
};

struct churnguard {
    struct runtime *rt;
    struct map *owners; /* UID → struct owner */
    struct map *pools;  /* name → struct guarded */
    struct timer look;
    void (*listener)(void *ctx, const char *pool);
    void *ctx;
};

static void on_look(void *arg);

static int64_t now_of(const struct churnguard *g)
{
    return clock_mono(g->rt->clock);
}

/* ---- moves -------------------------------------------------------------------------------------
 */

static void move_clear(struct move *m)
{
    free(m->pool);
    free(m->revision);
    *m = (struct move){.at_ns = 0};
}

static void owner_clear(struct owner *o)
{
    for (int s = 0; s < SIDES; s++) {
        for (unsigned i = 0; i < KEEP; i++) {
            move_clear(&o->moves[s][i]);
        }
    }
}

static void owner_free(struct owner *o)
{
    if (o) {
        owner_clear(o);
        free(o);
    }
}

static struct owner *owner_of(struct churnguard *g, const char *uid)
{
    struct owner *o = map_get(g->owners, uid);
    bool full = false;
    if (o) {
        return o;
    }
    o = NEW(struct owner);
    map_put(g->owners, uid, o, &full);
    if (full) {
        owner_free(o);
        return NULL;
    }
    return o;
}

static bool counts(const struct move *m, int64_t now_ns)
{
    return m->at_ns && m->answered && now_ns - m->at_ns < CANDIDATE_CHURN_NS;
}

static unsigned moves_of(const struct owner *o, enum side s, int64_t now_ns)
{
    unsigned n = 0;
    for (unsigned i = 0; i < KEEP; i++) {
        n += counts(&o->moves[s][i], now_ns);
    }
    return n;
}

/* What tells a roll-out from a move: the owner's pods of before and after differ in it. */
static const char *revision_of(const struct pod *p)
{
    const char *v = kvs_get(&p->labels, "controller-revision-hash");
    return v ? v : "";
}

/* ---- who did it --------------------------------------------------------------------------------
 */

/* Whose the move is; SIDES: nobody's that is counted here. */
static enum side side_of(const struct churnguard *g, const struct pod *p, const struct node *n)
{
    const struct nodeclaim *nc = store_claim_by_provider_id(g->rt->store, n->provider_id);
    if (store_leaving(g->rt->store, n)) {
        return nc && condition_true(&nc->conditions, "DisruptionReason") ? OURS : SIDES;
    }
    bool person = n->unschedulable, lost = n->ready != STATUS_TRUE;
    return nc && !person && !lost && !p->displaced ? OTHERS : SIDES;
}

static bool is_descheduler(const struct pod *p)
{
    return str_eq(kvs_get(&p->labels, "app.kubernetes.io/name"), DESCHEDULER) ||
           strstr(p->m.name, DESCHEDULER);
}

/* A Descheduler that runs here; "" if none is seen. */
static void suspect(const struct churnguard *g, char *dst, size_t size)
{
    const char *found = NULL;
    for (MAP_EACH(store_all(g->rt->store, STORE_POD), e)) {
        const char *key = map_key(e);
        if (is_descheduler(map_value(e)) && (!found || str_cmp(key, found) < 0)) {
            found = key;
        }
    }
    snprintf(dst, size, found ? " (a Descheduler runs here: %.160s)" : "%s", found ? found : "");
}

/* ---- the guard ---------------------------------------------------------------------------------
 */

static void guarded_free(struct guarded *w)
{
    if (w) {
        free(w->message);
        free(w);
    }
}

static void guard_pool(struct churnguard *g, const char *pool, const char *message)
{
    const struct nodepool *np = store_pool(g->rt->store, pool);
    bool full = false;
    if (!np || map_has(g->pools, pool)) {
        return;
    }
    struct guarded *w = NEW(struct guarded);
    *w = (struct guarded){clock_wall(g->rt->clock), xstrdup(message)};
    map_put(g->pools, pool, w, &full);
    if (full) {
        guarded_free(w);
        return;
    }
    log_info(g->rt->log, "consolidation stops: pods are moved to and fro", "NodePool", pool, "why",
             message);
    if (g->listener) {
        g->listener(g->ctx, pool);
    }
}

/* After a move was answered: is it one too many? */
static void judge(struct churnguard *g, struct owner *o, const struct pod *p)
{
    int64_t now_ns = now_of(g);
    unsigned ours = moves_of(o, OURS, now_ns), others = moves_of(o, OTHERS, now_ns);
    char message[512], who[200], until[TIMEFMT_TEXT];
    if (ours == 0 || others < CHURNGUARD_OTHERS || ours + others < CHURNGUARD_MOVES) {
        return;
    }
    suspect(g, who, sizeof(who));
    snprintf(message, sizeof(message),
             "pods like %.60s/%.100s were moved by karp (%u%s) and by something else (%u%s)%s "
             "within an hour: nothing is consolidated until %s",
             p->m.ns, p->m.name, ours, ours == KEEP ? " or more" : "", others,
             others == KEEP ? " or more" : "", who,
             timefmt_rfc3339(clock_wall(g->rt->clock) + CANDIDATE_CHURN_NS, until));
    for (int s = 0; s < SIDES; s++) {
        for (unsigned i = 0; i < KEEP; i++) {
            if (counts(&o->moves[s][i], now_ns)) {
                guard_pool(g, o->moves[s][i].pool, message);
            }
        }
    }
    owner_clear(o);
}

void churnguard_conditions(struct churnguard *g, const struct nodepool *np, struct cond_edit *e)
{
    const struct condition *have = condition_find(&np->conditions, CONDITION);
    const struct guarded *w = map_get(g->pools, np->m.name);
    if (w && e->now_ns - w->since_ns < CANDIDATE_CHURN_NS) {
        cond_set(e, CONDITION, STATUS_TRUE, "MovedByOthers", w->message);
    } else if (have && e->now_ns - have->transition_ns >= CANDIDATE_CHURN_NS) {
        cond_clear(e, CONDITION);
    }
}

/* ---- pods --------------------------------------------------------------------------------------
 */

static bool moves_about(const struct pod *p)
{
    return *p->owner_uid && p->owner != POWNER_DAEMONSET && p->owner != POWNER_NODE;
}

static void taken(struct churnguard *g, const struct pod *p)
{
    const struct node *n = store_node(g->rt->store, p->node_name);
    enum side s = n ? side_of(g, p, n) : SIDES;
    const char *pool = n ? node_label(g->rt, n, L_NODEPOOL) : "";
    struct owner *o = s != SIDES && *pool ? owner_of(g, p->owner_uid) : NULL;
    if (!o) {
        return;
    }
    struct move *m = &o->moves[s][o->next[s]++ % KEEP];
    move_clear(m);
    *m = (struct move){now_of(g), false, xstrdup(pool), xstrdup(revision_of(p))};
    if (!timer_pending(&g->look)) {
        timer_set(&g->rt->timers, &g->look, now_of(g) + CHURNGUARD_LOOK_NS, on_look, g);
    }
}

/* A StatefulSet makes the next one only now. */
static void ended(struct churnguard *g, const struct pod *p)
{
    struct owner *o = p->owner == POWNER_STATEFULSET ? map_get(g->owners, p->owner_uid) : NULL;
    for (int s = 0; o && s < SIDES; s++) {
        for (unsigned i = 0; i < KEEP; i++) {
            struct move *m = &o->moves[s][i];
            if (m->at_ns && !m->answered && str_eq(m->revision, revision_of(p))) {
                m->at_ns = now_of(g);
            }
        }
    }
}

/* The oldest that waits for it. */
static void came(struct churnguard *g, const struct pod *p)
{
    struct owner *o = map_get(g->owners, p->owner_uid);
    struct move *first = NULL;
    for (int s = 0; o && s < SIDES; s++) {
        for (unsigned i = 0; i < KEEP; i++) {
            struct move *m = &o->moves[s][i];
            if (m->at_ns && !m->answered && now_of(g) - m->at_ns <= CHURNGUARD_ANSWER_NS &&
                str_eq(m->revision, revision_of(p)) && (!first || m->at_ns < first->at_ns)) {
                first = m;
            }
        }
    }
    if (first) {
        first->answered = true;
        judge(g, o, p);
    }
}

static void on_pod(void *arg, const char *key UNUSED, const void *before, const void *now)
{
    struct churnguard *g = arg;
    const struct pod *was = before, *is = now, *p = is ? is : was;
    if (g->rt->opt->mode != MODE_FULL || !moves_about(p)) {
        return;
    }
    if (was && *was->node_name && pod_active(was) && !(is && pod_active(is)) &&
        !(is && pod_terminal(is))) {
        taken(g, p);
    }
    if (!is) {
        ended(g, p);
    } else if (!was && pod_active(is)) {
        came(g, is);
    }
}

/* ---- life --------------------------------------------------------------------------------------
 */

static void on_pool(void *arg, const char *key, const void *before UNUSED, const void *now)
{
    struct churnguard *g = arg;
    if (!now) {
        guarded_free(map_del(g->pools, key));
    } else if (condition_true(&((const struct nodepool *)now)->conditions, CONDITION) &&
               !timer_pending(&g->look)) {
        timer_set(&g->rt->timers, &g->look, now_of(g) + CHURNGUARD_LOOK_NS, on_look, g);
    }
}

static bool forgotten(const struct owner *o, int64_t now_ns)
{
    for (int s = 0; s < SIDES; s++) {
        for (unsigned i = 0; i < KEEP; i++) {
            const struct move *m = &o->moves[s][i];
            int64_t keep_ns = m->answered ? CANDIDATE_CHURN_NS : CHURNGUARD_ANSWER_NS;
            if (m->at_ns && now_ns - m->at_ns <= keep_ns) {
                return false;
            }
        }
    }
    return true;
}

/* Forgets what is too old to count, and lets pools go whose time is over. */
static bool sweep(struct churnguard *g)
{
    bool any = false;
    for (MAP_EACH(g->owners, e)) {
        if (forgotten(map_value(e), now_of(g))) {
            owner_free(map_del(g->owners, map_key(e)));
        }
    }
    for (MAP_EACH(g->pools, e)) {
        const struct guarded *w = map_value(e);
        if (clock_wall(g->rt->clock) - w->since_ns >= CANDIDATE_CHURN_NS) {
            guarded_free(map_del(g->pools, map_key(e)));
        }
    }
    for (MAP_EACH(store_all(g->rt->store, STORE_POOL), e)) {
        const struct nodepool *np = map_value(e);
        if (condition_find(&np->conditions, CONDITION)) {
            any = true;
            if (g->listener) {
                g->listener(g->ctx, np->m.name);
            }
        }
    }
    return any || map_count(g->owners) + map_count(g->pools) > 0;
}

static void on_look(void *arg)
{
    struct churnguard *g = arg;
    if (sweep(g)) {
        timer_set(&g->rt->timers, &g->look, now_of(g) + CHURNGUARD_LOOK_NS, on_look, g);
    }
}

void churnguard_listen(struct churnguard *g, void (*fn)(void *ctx, const char *pool), void *ctx)
{
    g->listener = fn;
    g->ctx = ctx;
}

struct churnguard *churnguard_new(struct runtime *rt)
{
    struct churnguard *g = NEW(struct churnguard);
    g->rt = rt;
    g->owners = map_new(CHURNGUARD_OWNERS);
    g->pools = map_new(STORE_MAX_OBJECTS);
    store_subscribe(rt->store, STORE_POD, on_pod, g);
    store_subscribe(rt->store, STORE_POOL, on_pool, g);
    return g;
}

void churnguard_free(struct churnguard *g)
{
    if (!g) {
        return;
    }
    timer_stop(&g->rt->timers, &g->look);
    for (MAP_EACH(g->owners, e)) {
        owner_free(map_value(e));
    }
    for (MAP_EACH(g->pools, e)) {
        guarded_free(map_value(e));
    }
    map_free(g->owners);
    map_free(g->pools);
    free(g);
}
