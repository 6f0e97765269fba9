/* explain.c - see explain.h. */
#include "explain.h"

#include "common/core/sched/hostport.h"
#include "common/core/sched/sched_int.h"
#include "labels.h"
#include "want.h"

#define NODE_GROUPS_MAX 1000u  /* different reasons of nodes; the rest joins the last */
#define REFUSAL_ONE_MAX 512u   /* bytes of one pool's reason */
#define REFUSAL_NAMES_MAX 200u /* of names of pools that share one, before they are counted */

void sched_trace_note(struct sched *s, enum reason_code code, const uint64_t *types, uint32_t words)
{
    struct sched_trace *t = s->trace;
    if (t != NULL && t->n < ARRAY_LEN(t->steps)) {
        t->steps[t->n].code = code;
        t->steps[t->n++].left = bits_count(types, words);
    }
}

/* ---- what is missing ------------------------------------------------------------------------- */

/* need − have where need is more, by name of extended resources as they come. */
static struct resources lacking(struct arena *a, const struct resources *need,
                                const struct resources *have)
{
    struct resources ret = {0};
    struct res_ext *ext = ARENA_NEW_N(a, struct res_ext, need->n_ext);
    for (int r = 0; r < RES_FIXED; r++) {
        ret.v[r] = need->v[r] > have->v[r] && need->v[r] > 0 ? need->v[r] - have->v[r] : 0;
    }
    for (uint32_t i = 0; i < need->n_ext; i++) {
        int64_t there = resources_get_ext(have, need->ext[i].name);
        if (need->ext[i].amount > there) {
            ext[ret.n_ext++] = (struct res_ext){need->ext[i].name, need->ext[i].amount - there};
        }
    }
    ret.ext = ext;
    return ret;
}

/* Per limited resource what the type has more than is left. */
static struct resources over_limit(struct sched *s, struct sched_pool *p, uint32_t type)
{
    const struct resources *cap = catalog_capacity(p->tm.catalog, type);
    struct resources left = sched_limit_left(s, p), need = {0};
    struct res_ext *ext = ARENA_NEW_N(s->a, struct res_ext, left.n_ext);
    for (int r = 0; r < RES_FIXED; r++) {
        need.v[r] = left.v[r] < 0 ? 0 : cap->v[r];
    }
    for (uint32_t i = 0; i < left.n_ext; i++) {
        int64_t amount = resources_get_ext(cap, left.ext[i].name);
        ext[i] = (struct res_ext){left.ext[i].name, left.ext[i].amount < 0 ? 0 : amount};
    }
    need.ext = ext;
    need.n_ext = left.n_ext;
    return lacking(s->a, &need, &left);
}

/* ---- funnel ---------------------------------------------------------------------------------- */

/* One way of a class at one pool. */
struct way {
    struct sched_ask *ask;
    struct explain_step *steps;
    uint32_t n, cap;
    struct sched_trial t;
    uint64_t asked[CATALOG_WORDS_MAX]; /* types that its labels leave, whatever their size */
};

static void step(struct sched *s, struct way *w, enum reason_code code, sym key, uint32_t left)
{
    ARENA_GROW(s->a, w->steps, w->n, w->cap);
    w->steps[w->n++] = (struct explain_step){code, key, left};
}

static const sym *keys_by_string(struct sched *s, const struct reqset *set)
{
    sym *keys = ARENA_NEW_N(s->a, sym, set->n);
    for (uint32_t i = 0; i < set->n; i++) {
        uint32_t j = i;
        for (; j > 0 && sym_cmp(s->syms, keys[j - 1], set->v[i].key) > 0; j--) {
            keys[j] = keys[j - 1];
        }
        keys[j] = set->v[i].key;
    }
    return keys;
}

/* Label by label, as the obstacle Requirement is found; then what only the volumes ask for. */
static void label_steps(struct sched *s, const struct sched_pool *p, struct way *w)
{
    const struct reqset *want = &w->ask->claim_reqs;
    const struct template *tm = &p->tm;
    uint32_t words = catalog_words(tm->catalog);
    uint64_t left[CATALOG_WORDS_MAX] = {0};
    struct reqset reqs = tm->reqs;
    const sym *keys = keys_by_string(s, want);
    memcpy(left, tm->types, words * sizeof(*left));
    for (uint32_t i = 0; i < 2 * want->n; i++) {
        sym key = keys[i % want->n];
        bool volume = w->ask->volume_reqs && reqset_get(w->ask->volume_reqs, key);
        if (volume != (i >= want->n)) {
            continue;
        }
        reqs = reqset_add(s->a, s->syms, &reqs, reqset_get(want, key));
        template_narrow(tm->catalog, s->syms, reqset_get(&reqs, key), left);
        struct offer_mask m = offerings_mask(tm->catalog, s->syms, &reqs);
        bool place = m.zones != 0 && m.cts != 0;
        step(s, w, volume ? REASON_VolumeZone : REASON_Requirement, key,
             place ? bits_count(left, words) : 0);
    }
    memcpy(w->asked, left, words * sizeof(*left));
}

/* own: the claim that was opened here, which has its room under the limits; or NULL. */
static void room_steps(struct sched *s, struct sched_pool *p, struct way *w,
                       const struct sched_claim *own)
{
    uint32_t left = bits_count(w->t.types, catalog_words(p->tm.catalog));
    for (uint32_t i = 0; i < w->t.reqs.n; i++) {
        if (w->t.reqs.v[i].min_values > 0) {
            step(s, w, REASON_MinValues, SYM_NONE, left);
            break;
        }
    }
    enum sched_room room = own ? ROOM_YES : sched_limit_room(s, p, &w->t, false);
    if (p->in->np->limit_nodes >= 0) {
        step(s, w, REASON_NodeLimit, SYM_NONE, room == ROOM_NODE_LIMIT ? 0 : left);
    }
    if (p->in->np->has_limits && room != ROOM_NODE_LIMIT) {
        left = own ? own->n_types : bits_count(w->t.types, catalog_words(p->tm.catalog));
        step(s, w, REASON_Limit, SYM_NONE, room == ROOM_LIMIT ? 0 : left);
    }
}

static void walk(struct sched *s, struct sched_pool *p, const struct sched_class *k, struct way *w,
                 const struct sched_claim *own)
{
    struct sched_trace trace = {.n = 0};
    struct sched_open blank = sched_blank(p);
    uint32_t all = bits_count(p->tm.types, catalog_words(p->tm.catalog));
    step(s, w, REASON_PoolNotReady, SYM_NONE, all);
    if (w->ask->impossible) {
        return;
    }
    if (p->in->np->taints.n > 0) {
        step(s, w, REASON_Taint, SYM_NONE, all);
    }
    label_steps(s, p, w);
    s->trace = &trace;
    enum sched_step end = sched_claim_try(s, &blank, k, w->ask, &w->t);
    s->trace = NULL;
    for (uint32_t i = 0; i < trace.n; i++) {
        /* Host ports are a step only for those who ask for one. */
        if (trace.steps[i].code != REASON_HostPort || k->cls->n_host_ports > 0) {
            step(s, w, trace.steps[i].code, SYM_NONE, trace.steps[i].left);
        }
    }
    if (end == STEP_TAKEN) {
        room_steps(s, p, w, own);
    }
}

/* Steps up to the obstacle, which leaves nothing. */
static void cut(struct sched *s, struct way *w, const struct reason *r)
{
    uint32_t n = 0;
    if (r->code == REASON_NONE) {
        return;
    }
    while (n < w->n && w->steps[n].code < r->code) {
        n++;
    }
    bool labels = r->code == REASON_Requirement || r->code == REASON_UnknownLabel;
    while (labels && n < w->n && w->steps[n].code == REASON_Requirement &&
           w->steps[n].key != r->key && w->steps[n].left > 0) {
        n++;
    }
    w->n = n;
    step(s, w, r->code, labels ? r->key : SYM_NONE, 0);
}

/* How far a way gets: how many steps, then what the last one leaves. */
static bool further(const struct way *x, const struct way *y)
{
    return x->n != y->n ? x->n > y->n
                        : x->n > 0 && x->steps[x->n - 1].left > y->steps[y->n - 1].left;
}

/* How much of the pod's cpu and memory there is room for, in thousandths. */
static int64_t share_of(const struct resources *need, const struct resources *room)
{
    static const enum resource which[] = {RES_CPU, RES_MEMORY};
    int64_t ret = 1000;
    for (size_t i = 0; i < ARRAY_LEN(which); i++) {
        int64_t of = need->v[which[i]], there = room->v[which[i]];
        if (of > 0 && there < of) {
            int64_t one = there <= 0 ? 0 : (int64_t)((__int128)there * 1000 / of);
            ret = one < ret ? one : ret;
        }
    }
    return ret;
}

/* Of the types that fit under what is left of the limits the one that holds most of the pod; of as
 * many the cheapest, then the first by name. */
static void under_limit(struct sched *s, struct sched_pool *p, const struct sched_class *k,
                        const struct way *w, struct explain_pool *e)
{
    const struct catalog *c = p->tm.catalog;
    uint32_t words = catalog_words(c);
    uint64_t bits[CATALOG_WORDS_MAX] = {0};
    struct resources left = sched_limit_left(s, p);
    int64_t most = 0, price = PRICE_UNKNOWN;
    memcpy(bits, w->asked, words * sizeof(*bits));
    catalog_narrow_limit(c, &left, bits);
    offerings_narrow(p->in->offerings, w->t.offer, bits);
    for (int i = bits_next(bits, words, 0); i >= 0; i = bits_next(bits, words, (uint32_t)i + 1)) {
        uint32_t t = (uint32_t)i;
        struct resources room =
            resources_add(s->a, catalog_allocatable(c, t), &template_group(&p->tm, t)->sum, -1);
        int64_t share = share_of(&k->cls->requests, &room);
        int64_t one = offerings_cheapest(p->in->offerings, t, w->t.offer, NULL, NULL);
        if (share > most || (share == most && most > 0 && one < price)) {
            most = share;
            price = one;
            e->under_limit = catalog_type_name(c, t);
            e->under_limit_room = room;
        }
    }
}

static void nearest(struct sched *s, struct sched_pool *p, const struct sched_class *k,
                    struct way *w, struct explain_pool *e)
{
    const struct catalog *c = p->tm.catalog;
    uint32_t zone, type;
    bool by_price = e->reason.code >= REASON_MinValues || e->reason.code == REASON_NONE;
    e->nearest = e->reason.nearest_type;
    if (e->nearest == SYM_NONE && by_price &&
        offerings_rank(p->in->offerings, w->t.types, w->t.offer, false, &type, 1) == 1) {
        e->nearest = catalog_type_name(c, type);
    }
    int at = e->nearest == SYM_NONE ? -1 : catalog_find_type(c, e->nearest);
    if (at < 0) {
        return;
    }
    e->price_pusd_h =
        offerings_cheapest(p->in->offerings, (uint32_t)at, w->t.offer, &zone, &e->captype);
    if (e->price_pusd_h == PRICE_UNKNOWN) {
        e->captype = CT_COUNT;
    } else {
        e->zone = catalog_zone(c, zone);
    }
    if (e->reason.code == REASON_Resources) {
        struct resources need =
            resources_add(s->a, &k->cls->requests, &template_group(&p->tm, (uint32_t)at)->sum, 1);
        e->missing = lacking(s->a, &need, catalog_allocatable(c, (uint32_t)at));
    } else if (e->reason.code == REASON_Limit) {
        e->missing = over_limit(s, p, (uint32_t)at);
        under_limit(s, p, k, w, e);
    }
}

/* The class without its rules about other pods, which it would now have with itself. */
static struct sched_class alone(const struct sched_class *k)
{
    struct sched_class ret = *k;
    ret.topo = NULL;
    return ret;
}

/* What the claim that was opened here leaves to choose from. */
static void own_types(const struct sched_claim *own, struct way *w)
{
    memset(w->t.types, 0, sizeof(w->t.types));
    for (uint32_t i = 0; i < own->n_types; i++) {
        bits_set(w->t.types, own->types[i]);
    }
    w->t.offer = own->offer;
}

static void pool_explain(struct sched *s, struct sched_pool *p, struct sched_class *k,
                         const struct sched_claim *claim, struct explain_pool *e)
{
    const struct sched_claim *own = claim && claim->pool == p->in ? claim : NULL;
    const struct sched_class bare = alone(k);
    *e = (struct explain_pool){.pool = p->in,
                               .price_pusd_h = PRICE_UNKNOWN,
                               .captype = CT_COUNT,
                               .nearest = SYM_NONE,
                               .under_limit = SYM_NONE};
    e->reason = (struct reason){.code = REASON_NONE, .short_of = {.res = RES_FIXED}};
    if (own == NULL) {
        sched_obstacle(s, p, k, &e->reason);
    }
    if (p->in->catalog == NULL || p->in->offerings == NULL) {
        return;
    }
    struct way best = {.n = 0};
    for (uint32_t i = k->n_asks - k->n_required; i < k->n_asks; i++) {
        struct way w = {.ask = sched_ask(s, k, i)};
        walk(s, p, own ? &bare : k, &w, own);
        if (best.n == 0 || further(&w, &best)) {
            best = w;
        }
    }
    cut(s, &best, &e->reason);
    if (own != NULL) {
        own_types(own, &best);
    }
    e->steps = best.steps;
    e->n_steps = best.n;
    nearest(s, p, k, &best, e);
}

/* ---- nodes that exist ------------------------------------------------------------------------ */

static struct reason plain(enum reason_code code)
{
    return (struct reason){.code = code, .short_of = {.res = RES_FIXED}};
}

static struct reason node_label(struct sched *s, const struct snapshot_node *n,
                                const struct sched_ask *ask)
{
    struct reason r = plain(REASON_Requirement);
    const sym *keys = keys_by_string(s, &ask->reqs);
    for (uint32_t i = 0; i < ask->reqs.n; i++) {
        const struct req *want = reqset_get(&ask->reqs, keys[i]);
        struct reqset one = {want, 1};
        if (!want_met(s->a, s->syms, &n->labels, &one)) {
            /* A place that only the volumes ask for. */
            bool volume = ask->volume_reqs && reqset_get(ask->volume_reqs, keys[i]);
            r.code = volume ? REASON_VolumeZone : REASON_Requirement;
            r.key = keys[i];
            r.want = want;
            r.have = reqset_get(&n->labels, keys[i]);
            break;
        }
    }
    return r;
}

/* In the order of the codes. What is left over when all of these agree is a constraint between pods
 * or of volumes, which the pools' reasons name. */
static struct reason node_reason(struct sched *s, const struct sched_node *n,
                                 const struct sched_class *k, const struct sched_ask *ask,
                                 const struct reason *other)
{
    const struct pod_class *cls = k->cls;
    if (ask->impossible) {
        return plain(ask->volume_conflict ? REASON_VolumeZone : REASON_Requirement);
    }
    bool for_good;
    if (sched_node_takes(s, n, k, ask, &for_good)) {
        return plain(REASON_NONE);
    }
    struct reason r = plain(REASON_Taint);
    r.taint = taints_refuse(&n->in->taints, &cls->tolerations, !ask->tolerate_prefer);
    if (r.taint != NULL) {
        return r;
    }
    if (!want_met(s->a, s->syms, &n->in->labels, &ask->reqs)) {
        return node_label(s, n->in, ask);
    }
    int64_t volumes, most;
    const char *driver = sched_volume_over_node(s, n, k->volume, &volumes, &most);
    if (driver != NULL) {
        r = plain(REASON_VolumeLimit);
        r.text = arena_printf(s->a, "%lld volumes of %s, the most is %lld", (long long)volumes,
                              driver, (long long)most);
        return r;
    }
    const struct host_port *port =
        hostports_clash(cls->host_ports, cls->n_host_ports, n->ports, n->n_ports);
    if (port != NULL) {
        r = plain(REASON_HostPort);
        r.text = hostport_text(s->a, port);
        return r;
    }
    const struct topo_use *rule = sched_topo_node(s, k->topo, &ask->level, n, &for_good);
    if (rule != NULL) {
        r = plain(REASON_NONE);
        sched_topo_reason(s, rule, &r);
        return r;
    }
    r = plain(REASON_Resources);
    if (resources_shortage(s->syms, &cls->requests, &n->free, &r.short_of)) {
        return r;
    }
    return *other;
}

static struct reason shut_reason(const struct snapshot_node *n)
{
    struct reason r = plain(n->leaving ? REASON_Deleting : REASON_Taint);
    if (!n->leaving && n->node != NULL && n->node->unschedulable) {
        r.text = "is cordoned";
    } else if (!n->leaving) {
        r = plain(REASON_Deleting);
        r.text = "its Node is gone";
    }
    return r;
}

static bool less_short(const struct res_short *x, const struct res_short *y)
{
    __int128 of_x = (__int128)x->need - x->have, of_y = (__int128)y->need - y->have;
    return of_x * y->need < of_y * x->need;
}

struct groups {
    struct explain_nodes *v;
    uint32_t n, cap;
};

static bool same_group(const struct reason *x, const struct reason *y)
{
    bool taint = x->taint == y->taint ||
                 (x->taint != NULL && y->taint != NULL && taint_equal(x->taint, y->taint));
    return x->code == y->code && x->key == y->key && taint &&
           (x->text == NULL) == (y->text == NULL);
}

static void group_add(struct sched *s, struct groups *g, const struct snapshot_node *n,
                      const struct reason *r, const struct resources *missing)
{
    for (uint32_t i = 0; i < g->n; i++) {
        struct explain_nodes *one = &g->v[i];
        if (!same_group(&one->reason, r) && !(i + 1 == NODE_GROUPS_MAX)) {
            continue;
        }
        one->count++;
        bool by_room = r->code == REASON_Resources && one->reason.code == REASON_Resources;
        bool nearer = by_room && less_short(&r->short_of, &one->reason.short_of);
        bool tie = by_room && !nearer && !less_short(&one->reason.short_of, &r->short_of);
        if (nearer || ((tie || !by_room) && strcmp(n->name, one->nearest->name) < 0)) {
            one->nearest = n;
            one->missing = *missing;
            one->reason = same_group(&one->reason, r) ? *r : one->reason;
        }
        return;
    }
    ARENA_GROW(s->a, g->v, g->n, g->cap);
    g->v[g->n++] = (struct explain_nodes){*r, 1, n, *missing};
}

/* Of the last ways the one that gets furthest at this node. */
static void node_explain(struct sched *s, const struct sched_node *n, struct sched_class *k,
                         const struct reason *other, bool home, struct groups *g)
{
    struct reason best = plain(REASON_NONE);
    const struct reason taken =
        plain(n->in->initialized ? REASON_FitsExisting : REASON_WaitingForNode);
    struct resources missing = {0};
    if (home) {
        group_add(s, g, n->in, &taken, &missing);
        return;
    }
    for (uint32_t i = k->n_asks - k->n_required; i < k->n_asks; i++) {
        struct reason one = node_reason(s, n, k, sched_ask(s, k, i), other);
        if (one.code == REASON_NONE) {
            one = *other; /* room, but the pod is refused wherever it asks */
        }
        if (one.code == REASON_NONE) {
            group_add(s, g, n->in, &taken, &missing);
            return;
        }
        best = best.code == REASON_NONE || one.code > best.code ? one : best;
    }
    if (best.code == REASON_Resources) {
        missing = lacking(s->a, &k->cls->requests, &n->free);
    }
    group_add(s, g, n->in, &best, &missing);
}

static bool group_before(const struct explain_nodes *x, const struct explain_nodes *y)
{
    /* Deleting stands behind all codes of pods and yet is nearest to nothing. */
    int cx = x->reason.code == REASON_Deleting ? 0 : (int)x->reason.code;
    int cy = y->reason.code == REASON_Deleting ? 0 : (int)y->reason.code;
    if (cx != cy) {
        return cx > cy;
    }
    return x->count != y->count ? x->count > y->count
                                : strcmp(x->nearest->name, y->nearest->name) < 0;
}

static void nodes_explain(struct sched *s, struct sched_class *k, const struct reason *other,
                          const struct snapshot_node *home, struct explanation *ret)
{
    struct groups g = {NULL, 0, 0};
    const struct resources none = {0};
    uint32_t at = 0; /* targets stand in the same order in the pass */
    for (uint32_t i = 0; i < s->snap->n_nodes; i++) {
        const struct snapshot_node *n = &s->snap->nodes[i];
        if (at < s->n_nodes && s->nodes[at].in == n) {
            node_explain(s, &s->nodes[at++], k, other, n == home, &g);
        } else {
            struct reason r = shut_reason(n);
            group_add(s, &g, n, &r, &none);
        }
    }
    for (uint32_t i = 1; i < g.n; i++) {
        struct explain_nodes one = g.v[i];
        uint32_t j = i;
        for (; j > 0 && group_before(&one, &g.v[j - 1]); j--) {
            g.v[j] = g.v[j - 1];
        }
        g.v[j] = one;
    }
    ret->nodes = g.v;
    ret->n_nodes = g.n;
    ret->nodes_seen = s->snap->n_nodes;
}

/* ---- a pod ----------------------------------------------------------------------------------- */

/* The refusal of the pass, if it refused this very pod. */
static const struct sched_refusal *refusal_of(const struct sched *s, const struct pod *pod)
{
    for (uint32_t i = 0; i < s->result.n_refused; i++) {
        if (s->refused[i].pod == pod) {
            return &s->refused[i];
        }
    }
    return NULL;
}

static void pools_explain(struct sched *s, struct sched_class *k, const struct sched_refusal *r,
                          const struct sched_claim *claim, struct explanation *ret)
{
    struct explain_pool *v = ARENA_NEW_N(s->a, struct explain_pool, s->n_pools);
    for (uint32_t i = 0; i < s->n_pools; i++) {
        struct explain_pool one;
        pool_explain(s, &s->pools[i], k, claim, &one);
        if (one.reason.code == REASON_NONE && r != NULL) {
            /* As the pass has it: it refused under the limits that it met. */
            for (uint32_t j = 0; j < r->n_pools; j++) {
                one.reason = r->pools[j].pool == one.pool ? r->pools[j].reason : one.reason;
            }
        }
        uint32_t j = i;
        int code = one.reason.code == REASON_NONE ? REASON_END : (int)one.reason.code;
        for (; j > 0; j--) {
            int before =
                v[j - 1].reason.code == REASON_NONE ? REASON_END : (int)v[j - 1].reason.code;
            if (before >= code) {
                break;
            }
            v[j] = v[j - 1];
        }
        v[j] = one;
    }
    ret->pools = v;
    ret->n_pools = s->n_pools;
}

/* A constraint of the pod itself or between pods, as the pools' reasons name it. */
static struct reason other_reason(const struct explanation *e, const struct sched_refusal *r)
{
    if (r != NULL && (r->reason.code == REASON_ResourceClaim || r->reason.code == REASON_Volume)) {
        return r->reason;
    }
    for (uint32_t i = 0; r != NULL && i < e->n_pools; i++) {
        enum reason_code c = e->pools[i].reason.code;
        if (c == REASON_ResourceClaim || (c >= REASON_Volume && c <= REASON_MaxShare)) {
            return e->pools[i].reason;
        }
    }
    return plain(REASON_NONE);
}

uint32_t explain_class(const struct sched *s, uint32_t pod)
{
    return s->class_of[pod];
}

void explain_pod(struct sched *s, uint32_t pod, struct explain_home home, struct explanation *ret)
{
    if (s->stage != STAGE_DONE || pod >= s->snap->n_pods) {
        BUG("nothing to explain");
    }
    struct sched_class *k = &s->classes[s->class_of[pod]];
    const struct sched_refusal *r = refusal_of(s, s->snap->pods[pod]);
    *ret = (struct explanation){.pod = s->snap->pods[pod]};
    sched_topo_learn(s, k->cls, k->topo); /* the pass may have had no need to */
    pools_explain(s, k, r, home.claim, ret);
    struct reason other = other_reason(ret, r);
    nodes_explain(s, k, &other, home.node, ret);
    if (r != NULL) {
        ret->reason = r->reason;
    }
}

/* ---- one text -------------------------------------------------------------------------------- */

static const char *one_reason(struct arena *a, const struct symtab *t, const struct reason *r)
{
    AUTO_BUF struct buf text;
    buf_init(&text, REFUSAL_ONE_MAX);
    reason_fmt(t, r, &text);
    return arena_strdup(a, text.p);
}

/* "nodepools default, spare: needs …"; pools of the same reason that follow are marked as told. */
static const char *one_group(struct arena *a, const struct sched_refusal *r, uint32_t at,
                             const char **texts, uint32_t *ret_n)
{
    AUTO_BUF struct buf names;
    uint32_t left_out = 0;
    buf_init(&names, REFUSAL_ONE_MAX);
    *ret_n = 0;
    for (uint32_t i = at; i < r->n_pools; i++) {
        if (texts[i] == NULL || (i != at && strcmp(texts[i], texts[at]) != 0)) {
            continue;
        }
        if (names.n < REFUSAL_NAMES_MAX) {
            buf_printf(&names, "%s%s", *ret_n ? ", " : "", r->pools[i].pool->np->m.name);
        } else {
            left_out++;
        }
        ++*ret_n;
        texts[i] = i == at ? texts[i] : NULL;
    }
    if (left_out > 0) {
        buf_printf(&names, " and %u more", left_out);
    }
    return arena_printf(a, "nodepool%s %s: %s", *ret_n == 1 ? "" : "s", names.p, texts[at]);
}

void explain_refusal_fmt(const struct symtab *t, const struct sched_refusal *r, size_t max,
                         struct buf *out)
{
    struct arena a;
    char more[48] = "";
    size_t from = out->n;
    if (r->n_pools == 0) {
        reason_fmt(t, &r->reason, out);
        return;
    }
    arena_init(&a, 0, SIZE_MAX);
    const char **texts = ARENA_NEW_N(&a, const char *, r->n_pools);
    for (uint32_t i = 0; i < r->n_pools; i++) {
        texts[i] = one_reason(&a, t, &r->pools[i].reason);
    }
    uint32_t told = 0, n;
    for (uint32_t i = 0; i < r->n_pools; i++) {
        if (texts[i] == NULL) {
            continue;
        }
        const char *one = one_group(&a, r, i, texts, &n);
        if (out->n - from + strlen(one) + sizeof(more) > max && told > 0) {
            (void)snprintf(more, sizeof(more), "; and %u more nodepools", r->n_pools - told);
            break;
        }
        buf_printf(out, "%s%s", told ? "; " : "", one);
        told += n;
    }
    buf_puts(out, more);
    arena_done(&a);
}
