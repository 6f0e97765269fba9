/*
 * sched_refuse.c - why not: every refused class is tried once more with each pool, against the
 * state in which the pass ended, and the first true obstacle in the order of the codes is written
 * down.
 */
#include "common/core/labels.h"
#include "common/core/want.h"
#include "hostport.h"
#include "sched_int.h"

/* One attempt: a class in one of its last ways at a pool. */
struct attempt {
    struct sched *s;
    struct sched_pool *p;
    struct sched_class *k;
    struct sched_ask *ask;
    struct sched_trial t;
};

static struct reason *code(struct reason *r, enum reason_code c)
{
    *r = (struct reason){.code = c, .short_of = {.res = RES_FIXED}};
    return r;
}

/* ---- labels ---------------------------------------------------------------------------------- */

/* Does the class ask for the label only because of its volumes? */
static bool by_volume(const struct attempt *at, sym key)
{
    const struct pod_class *cls = at->k->cls;
    if (at->ask->volume_reqs == NULL || reqset_get(at->ask->volume_reqs, key) == NULL) {
        return false;
    }
    bool own = reqset_get(&cls->selector, key) != NULL;
    for (uint32_t i = 0; i < cls->n_required && !own; i++) {
        own = reqset_get(&cls->required[i].reqs, key) != NULL;
    }
    return !own;
}

/* Does the pool itself leave the class a value of the key, so that it is the node class or the
 * catalog that has none? */
static bool pool_allows(const struct attempt *at, sym key)
{
    const struct req *have = reqset_get(&at->p->tm.reqs, key);
    return have == NULL || req_intersects(at->s->syms, have, reqset_get(&at->ask->claim_reqs, key));
}

static void requirement(struct attempt *at, const struct reqset *have, sym key, bool unknown,
                        struct reason *r)
{
    if (by_volume(at, key)) {
        struct buf b;
        buf_init(&b, 1024);
        req_fmt(at->s->syms, reqset_get(at->ask->volume_reqs, key), 5, &b);
        if ((key == L_ZONE || key == L_ZONE_ID) && pool_allows(at, key)) {
            buf_printf(&b, ", where EC2NodeClass %s has no subnet", at->p->in->np->class_ref.name);
        }
        code(r, REASON_VolumeZone)->text = arena_strdup(at->s->a, b.p);
        buf_done(&b);
        r->key = key;
        return;
    }
    code(r, unknown ? REASON_UnknownLabel : REASON_Requirement);
    r->key = key;
    r->have = reqset_get(have, key);
    r->want = reqset_get(&at->ask->reqs, key);
}

static void labels(struct attempt *at, struct reason *r)
{
    sym key = L_HOSTNAME;
    bool unknown = false;
    if (!at->ask->pinned) {
        reqset_compatible(at->s->syms, &at->p->tm.reqs, &at->ask->claim_reqs, true, &key, &unknown);
    }
    requirement(at, &at->p->tm.reqs, key, unknown, r);
}

/* The want's keys by string. */
static const sym *keys_by_string(struct attempt *at)
{
    const struct reqset *want = &at->ask->claim_reqs;
    sym *keys = ARENA_NEW_N(at->s->a, sym, want->n);
    for (uint32_t i = 0; i < want->n; i++) {
        uint32_t j = i;
        for (; j > 0 && sym_cmp(at->s->syms, keys[j - 1], want->v[i].key) > 0; j--) {
            keys[j] = keys[j - 1];
        }
        keys[j] = want->v[i].key;
    }
    return keys;
}

/* The first key by string with which no type or place is left. */
static void types(struct attempt *at, struct reason *r)
{
    struct sched *s = at->s;
    const struct template *tm = &at->p->tm;
    const struct reqset *want = &at->ask->claim_reqs;
    const sym *keys = keys_by_string(at);
    uint32_t words = catalog_words(tm->catalog);
    uint64_t left[CATALOG_WORDS_MAX] = {0};
    struct reqset reqs = tm->reqs;
    memcpy(left, tm->types, words * sizeof(*left));
    for (uint32_t i = 0; i < want->n; i++) {
        reqs = reqset_add(s->a, s->syms, &reqs, reqset_get(want, keys[i]));
        template_narrow(tm->catalog, s->syms, reqset_get(&reqs, keys[i]), left);
        struct offer_mask m = offerings_mask(tm->catalog, s->syms, &reqs);
        bool reservation = sched_reserve_key(keys[i]) && !req_negative(reqset_get(&reqs, keys[i]));
        if (reservation || !bits_any(left, words) || m.zones == 0 || m.cts == 0) {
            requirement(at, &tm->reqs, keys[i], false, r);
            return;
        }
    }
    /* The pool by itself has no type or place. */
    code(r, REASON_Offering);
}

static void invalid(struct attempt *at, struct reason *r)
{
    if (at->ask->volume_conflict) {
        code(r, REASON_VolumeZone)->text = "it asks for other places than its volumes are in";
        return;
    }
    code(r, REASON_Requirement);
    const struct affinity_term *term = NULL;
    for (uint32_t i = 0; i < at->k->cls->n_required && term == NULL; i++) {
        term = at->k->cls->required[i].invalid ? &at->k->cls->required[i] : NULL;
    }
    r->text =
        term ? arena_printf(at->s->a, "its node affinity has a term that karp does not take%s%s",
                            term->why ? ": " : "", term->why ? term->why : "")
             : "its node selector and affinity contradict each other";
}

static void volumes(struct attempt *at, struct reason *r)
{
    const char *driver = "";
    uint64_t types[CATALOG_WORDS_MAX] = {0};
    struct sched_open blank = sched_blank(at->p);
    memcpy(types, at->t.types, catalog_words(at->p->tm.catalog) * sizeof(*types));
    sched_volume_narrow(at->s, &blank, at->k->volume, types, &driver);
    code(r, REASON_VolumeLimit)->text =
        arena_printf(at->s->a, "no instance type attaches that many volumes of %s", driver);
}

/* ---- ports and resources ----------------------------------------------------------------------
 */

static void ports(struct attempt *at, struct reason *r)
{
    const struct daemonset *ds;
    const struct host_port *port;
    code(r, REASON_HostPort);
    for (uint32_t g = 0; g < at->p->tm.n_groups; g++) {
        if (sched_group_clash(&at->p->tm.groups[g], at->k->cls, &ds, &port)) {
            r->text = arena_printf(at->s->a, "%s is taken by DaemonSet %s/%s",
                                   hostport_text(at->s->a, port), ds->m.ns, ds->m.name);
            return;
        }
    }
}

/* Has any of the pool's types any of it? */
static bool provided(const struct template *tm, enum resource res, sym ext)
{
    uint32_t words = catalog_words(tm->catalog);
    bool ret = false;
    for (int i = bits_next(tm->types, words, 0); i >= 0 && !ret;
         i = bits_next(tm->types, words, (uint32_t)i + 1)) {
        const struct resources *have = catalog_allocatable(tm->catalog, (uint32_t)i);
        ret = (res < RES_FIXED ? have->v[res] : resources_get_ext(have, ext)) > 0;
    }
    return ret;
}

static bool unknown_resource(struct attempt *at, struct reason *r)
{
    const struct resources *need = &at->k->cls->requests;
    const struct template *tm = &at->p->tm;
    for (int i = 0; i < RES_FIXED; i++) {
        if (need->v[i] > 0 && !provided(tm, (enum resource)i, SYM_NONE)) {
            code(r, REASON_ResourceUnknown)->short_of =
                (struct res_short){(enum resource)i, SYM_NONE, need->v[i], 0};
            return true;
        }
    }
    sym first = SYM_NONE;
    int64_t amount = 0;
    for (uint32_t i = 0; i < need->n_ext; i++) {
        const struct res_ext *e = &need->ext[i];
        if (e->amount > 0 && !provided(tm, RES_FIXED, e->name) &&
            (first == SYM_NONE || sym_cmp(at->s->syms, e->name, first) < 0)) {
            first = e->name;
            amount = e->amount;
        }
    }
    if (first == SYM_NONE) {
        return false;
    }
    code(r, REASON_ResourceUnknown)->short_of = (struct res_short){RES_FIXED, first, amount, 0};
    return true;
}

/* Is x a smaller part of its need missing than of y's? */
static bool less_short(const struct res_short *x, const struct res_short *y)
{
    __int128 of_x = (__int128)x->need - x->have, of_y = (__int128)y->need - y->have;
    return of_x * y->need < of_y * x->need;
}

/* The type that lacks the least, and what of. */
static void resources(struct attempt *at, struct reason *r)
{
    const struct template *tm = &at->p->tm;
    uint32_t words = catalog_words(tm->catalog);
    if (unknown_resource(at, r)) {
        return;
    }
    code(r, REASON_Resources);
    for (int i = bits_next(at->t.types, words, 0); i >= 0;
         i = bits_next(at->t.types, words, (uint32_t)i + 1)) {
        struct arena_mark mark = arena_mark(at->s->a);
        struct resources need =
            resources_add(at->s->a, &at->t.requests, &template_group(tm, (uint32_t)i)->sum, 1);
        struct res_short sh;
        bool lacks = resources_shortage(at->s->syms, &need,
                                        catalog_allocatable(tm->catalog, (uint32_t)i), &sh);
        arena_rewind(at->s->a, mark);
        if (lacks && (r->nearest_type == SYM_NONE || less_short(&sh, &r->short_of))) {
            r->nearest_type = catalog_type_name(tm->catalog, (uint32_t)i);
            r->short_of = sh;
        }
    }
    r->pod_need = r->short_of.res < RES_FIXED ? at->t.requests.v[r->short_of.res]
                                              : resources_get_ext(&at->t.requests, r->short_of.ext);
}

/* ---- offerings, minValues, limits ------------------------------------------------------------ */

static int64_t sold_out_price(const struct attempt *at, uint32_t type)
{
    int64_t best = PRICE_UNKNOWN;
    for (uint32_t z = 0; z < catalog_n_zones(at->p->tm.catalog); z++) {
        for (unsigned ct = 0; ct < CT_COUNT; ct++) {
            if (!(at->t.offer.zones >> z & 1) || !(at->t.offer.cts >> ct & 1)) {
                continue;
            }
            int64_t price = offerings_price(at->p->in->offerings, type, z, (enum capacity_type)ct);
            if (price != PRICE_UNKNOWN && (best == PRICE_UNKNOWN || price < best)) {
                best = price;
            }
        }
    }
    return best;
}

/* None of the types that are left has an image: what kind of them there is. */
static bool no_image(struct attempt *at, struct reason *r)
{
    const struct catalog *c = at->p->tm.catalog;
    uint32_t words = catalog_words(c);
    int first = bits_next(at->t.types, words, 0);
    bool gpus = first >= 0;
    for (int i = first; i >= 0; i = bits_next(at->t.types, words, (uint32_t)i + 1)) {
        const struct req *gpu = catalog_label(c, (uint32_t)i, L_GPU_NAME);
        const struct req *accelerator = catalog_label(c, (uint32_t)i, L_ACCELERATOR_NAME);
        if (!offerings_no_image(at->p->in->offerings, (uint32_t)i)) {
            return false;
        }
        gpus = gpus && ((gpu != NULL && gpu->n > 0) || (accelerator != NULL && accelerator->n > 0));
    }
    if (first < 0) {
        return false;
    }
    const struct req *arch = catalog_label(c, (uint32_t)first, L_ARCH);
    code(r, REASON_NoImage)->text =
        arena_printf(at->s->a, "EC2NodeClass %s has none for %s%s", at->p->in->np->class_ref.name,
                     arch != NULL && arch->n > 0 ? sym_str(at->s->syms, arch->values[0]) : "them",
                     gpus ? " with accelerators" : "");
    r->nearest_type = catalog_type_name(c, (uint32_t)first);
    return true;
}

/* The cheapest type that would do if there were any in stock; else one that is not offered. */
static void offering(struct attempt *at, struct reason *r)
{
    const struct catalog *c = at->p->tm.catalog;
    uint32_t words = catalog_words(c);
    int64_t best = PRICE_UNKNOWN;
    if (no_image(at, r)) {
        return;
    }
    code(r, REASON_Offering);
    if (at->t.offer.cts == 0) {
        r->text = "no capacity reservation has an instance left";
    }
    r->count = bits_count(at->t.types, words);
    for (int i = bits_next(at->t.types, words, 0); i >= 0;
         i = bits_next(at->t.types, words, (uint32_t)i + 1)) {
        int64_t price = sold_out_price(at, (uint32_t)i);
        bool better = price != PRICE_UNKNOWN && (best == PRICE_UNKNOWN || price < best);
        if (r->nearest_type == SYM_NONE || better) {
            r->nearest_type = catalog_type_name(c, (uint32_t)i);
            best = price;
        }
    }
}

static void min_values(struct attempt *at, struct reason *r)
{
    const struct req *q = sched_values_short(at->s, at->p, &at->t.reqs, at->t.types, at->t.offer);
    code(r, REASON_MinValues);
    if (q != NULL) {
        r->key = q->key;
        r->limit = q->min_values;
        r->count = sched_values_count(at->s, at->p, q, at->t.types, at->t.offer, q->min_values);
        if (by_volume(at, q->key)) {
            struct buf b;
            buf_init(&b, 1024);
            req_fmt(at->s->syms, reqset_get(at->ask->volume_reqs, q->key), 5, &b);
            r->text = arena_printf(at->s->a, "volume %s", b.p);
            buf_done(&b);
        }
    }
}

/* The cheapest type, and the limit that it exceeds most. */
static void limit(struct attempt *at, struct reason *r)
{
    const struct catalog *c = at->p->tm.catalog;
    const struct resources *limits = &at->p->in->np->limits;
    uint32_t type;
    code(r, REASON_Limit);
    if (offerings_rank(at->p->in->offerings, at->t.types, at->t.offer, false, &type, 1) == 0) {
        return;
    }
    const struct resources *cap = catalog_capacity(c, type);
    struct resources left = sched_limit_left(at->s, at->p);
    struct resources need = {0};
    struct res_ext *ext = ARENA_NEW_N(at->s->a, struct res_ext, limits->n_ext);
    for (int i = 0; i < RES_FIXED; i++) {
        need.v[i] = limits->v[i] < 0 ? 0 : cap->v[i];
    }
    for (uint32_t i = 0; i < limits->n_ext; i++) {
        sym name = limits->ext[i].name;
        ext[i] =
            (struct res_ext){name, limits->ext[i].amount < 0 ? 0 : resources_get_ext(cap, name)};
    }
    need.n_ext = limits->n_ext;
    need.ext = ext;
    for (int i = 0; i < RES_FIXED; i++) {
        left.v[i] = left.v[i] < 0 ? 0 : left.v[i];
    }
    r->nearest_type = catalog_type_name(c, type);
    if (resources_shortage(at->s->syms, &need, &left, &r->short_of)) {
        r->limit = r->short_of.res == RES_FIXED ? resources_get_ext(limits, r->short_of.ext)
                                                : limits->v[r->short_of.res];
    }
}

static void room(struct attempt *at, struct reason *r)
{
    switch (sched_limit_room(at->s, at->p, &at->t, false)) {
    case ROOM_NODE_LIMIT:
        code(r, REASON_NodeLimit);
        r->count = at->p->in->nodes_in_use + at->p->opened;
        r->limit = at->p->in->np->limit_nodes;
        return;
    case ROOM_BRAKE:
        code(r, REASON_LaunchBrake);
        r->count = at->p->opened;
        r->limit = at->p->in->max_new_nodes;
        return;
    case ROOM_LIMIT:
        limit(at, r);
        return;
    case ROOM_YES:
        code(r, REASON_NONE);
    }
}

/* ---- one pool -------------------------------------------------------------------------------- */

static void attempt(struct attempt *at, struct reason *r)
{
    struct sched_open blank = sched_blank(at->p);
    if (at->ask->impossible) {
        invalid(at, r);
        return;
    }
    switch (sched_claim_try(at->s, &blank, at->k, at->ask, &at->t)) {
    case STEP_TAINT:
        code(r, REASON_Taint)->taint = taints_refuse(
            &at->p->in->np->taints, &at->k->cls->tolerations, !at->ask->tolerate_prefer);
        return;
    case STEP_LABELS:
        labels(at, r);
        return;
    case STEP_TYPES:
        types(at, r);
        return;
    case STEP_VOLUMES:
        volumes(at, r);
        return;
    case STEP_PORTS:
        ports(at, r);
        return;
    case STEP_AFFINITY:
    case STEP_ANTI_AFFINITY:
    case STEP_SPREAD:
    case STEP_SHARE:
        sched_topo_reason(at->s, at->t.broken, r);
        return;
    case STEP_FIT:
        resources(at, r);
        return;
    case STEP_OFFERING:
        offering(at, r);
        return;
    case STEP_MIN_VALUES:
        min_values(at, r);
        return;
    case STEP_TAKEN:
        room(at, r);
    }
}

/* Drivers tell what they know (conditions); what an object itself says is looked at here. */
enum reason_code sched_pool_closed(const struct snapshot_pool *p, const char **ret_text)
{
    const char *class_problem = p->cls ? p->cls->problem : NULL;
    const char *class_field = p->cls ? p->cls->unknown_field : NULL;
    const char *text = NULL;
    enum reason_code ret = REASON_NONE;
    if (p->np->m.deleted_ns != 0) {
        ret = REASON_PoolNotReady;
        text = "it is being deleted";
    } else if (p->np->problem != NULL || class_problem != NULL) {
        ret = REASON_PoolNotReady;
        text = p->np->problem ? p->np->problem : class_problem;
    } else if (p->closed != REASON_NONE) {
        ret = p->closed;
        text = p->closed_text;
    } else if (p->np->unknown_field != NULL || class_field != NULL) {
        ret = REASON_UnknownFields;
        text = p->np->unknown_field ? p->np->unknown_field : class_field;
    } else if (p->catalog == NULL || p->offerings == NULL) {
        ret = REASON_PoolNotReady;
        text = "its instance types are not known";
    }
    if (ret_text != NULL) {
        *ret_text = text;
    }
    return ret;
}

/* What is wrong with the pod itself, in whatever pool. */
static void hard(const struct sched_class *k, struct reason *r)
{
    code(r, REASON_NONE);
    if (k->cls->hard & HARD_RESOURCE_CLAIM) {
        code(r, REASON_ResourceClaim)->text = "this version does not place pods that ask for it";
    } else if (k->volume != NULL && k->volume->need.problem != REASON_NONE) {
        code(r, k->volume->need.problem)->text = k->volume->need.text;
    }
}

/* The earlier of two obstacles stays. */
static void earlier(struct reason *r, const struct reason *other)
{
    if (other->code != REASON_NONE && (r->code == REASON_NONE || other->code < r->code)) {
        *r = *other;
    }
}

/* Of several required terms the one that got furthest speaks for the class. */
void sched_obstacle(struct sched *s, struct sched_pool *p, struct sched_class *k, struct reason *r)
{
    struct reason own, pods, launches;
    code(&own, REASON_NONE)->code = sched_pool_closed(p->in, &own.text);
    code(&launches, sched_ineffective(s, k->cls, p) ? REASON_LaunchIneffective : REASON_NONE);
    hard(k, &pods);
    code(r, REASON_NONE);
    bool types_known = p->in->catalog != NULL && p->in->offerings != NULL;
    for (uint32_t i = k->n_asks - k->n_required; types_known && i < k->n_asks; i++) {
        struct attempt at = {.s = s, .p = p, .k = k, .ask = sched_ask(s, k, i)};
        struct reason one;
        attempt(&at, &one);
        if (i == k->n_asks - k->n_required || one.code > r->code || one.code == REASON_NONE) {
            *r = one;
        }
        if (one.code == REASON_NONE) {
            break;
        }
    }
    earlier(r, &own);
    earlier(r, &launches);
    earlier(r, &pods);
}

static void pool_reason(struct sched *s, struct sched_pool *p, struct sched_class *k,
                        struct reason *r)
{
    sched_obstacle(s, p, k, r);
    if (r->code == REASON_NONE) {
        /* Room has come up since under a limit that was the obstacle. */
        code(r, REASON_Limit);
    }
}

static void sort_nearest(struct sched_pool_refusal *v, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        struct sched_pool_refusal one = v[i];
        uint32_t j = i;
        for (; j > 0 && v[j - 1].reason.code < one.reason.code; j--) {
            v[j] = v[j - 1];
        }
        v[j] = one;
    }
}

void sched_refuse(struct sched *s, struct sched_class *k)
{
    if (k->pools == NULL) {
        k->pools = ARENA_NEW_N(s->a, struct sched_pool_refusal, s->n_pools);
    }
    if (k->explained < s->n_pools) {
        struct sched_pool_refusal *one = &k->pools[k->explained];
        one->pool = s->pools[k->explained].in;
        pool_reason(s, &s->pools[k->explained++], k, &one->reason);
    }
    if (k->explained < s->n_pools) {
        return;
    }
    struct sched_refusal *r = ARENA_NEW(s->a, struct sched_refusal);
    sort_nearest(k->pools, s->n_pools);
    r->pools = k->pools;
    r->n_pools = s->n_pools;
    if (s->n_pools > 0) {
        r->reason = k->pools[0].reason;
    } else {
        hard(k, &r->reason);
        r->reason.code = r->reason.code != REASON_NONE ? r->reason.code : REASON_NoPool;
    }
    k->refusal = r;
}
