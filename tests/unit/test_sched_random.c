/*
 * Random small worlds, judged by a second, naive reading of the rules: counts are taken anew from
 * all pods for every question. Each plan must break no rule, must not leave out a pod that some
 * place would take in the end, and must be the same whatever the slices and the order of the input.
 */
#include "fixture.h"
#include "unit.h"

#define WORLDS 2000
#define APPS 5
#define PLACES_MAX 256
#define LIES_MAX 512

enum rule { RULE_NONE, RULE_SPREAD, RULE_WITH, RULE_AGAINST };

/* One workload: its pods carry app=I; the rule is about pods of the app `about`. */
struct app {
    struct pod_class *cls;
    enum rule rule;
    bool host; /* the key: host name or zone */
    int about, max_skew;
    const char *zone; /* it selects this one, or NULL */
    bool tolerates;
    struct kvs labels;
};

/* A node or a claim; zones as bits, more than one where a claim leaves it open. */
struct place {
    const struct snapshot_node *node;
    const struct sched_claim *claim;
    unsigned zones;
    bool tainted;
    int64_t free_cpu;
};

struct lies {
    int app, place;
};

struct world {
    struct fix *f;
    uint64_t seed;
    struct app apps[APPS];
    const struct pod *bound[64];
    struct node_usage *usage[64]; /* per node */
    struct place places[PLACES_MAX];
    int n_places;
    struct lies lies[LIES_MAX];
    int n_lies;
};

static const char *const zones[] = {"zone-a", "zone-b", "zone-c"};

static uint32_t rnd(struct world *w, uint32_t n)
{
    w->seed = w->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(w->seed >> 33) % n;
}

/* ---- making one ------------------------------------------------------------------------------ */

static struct selector about(struct world *w, int app)
{
    struct selector_expr *e = ARENA_NEW(&w->f->a, struct selector_expr);
    const char **v = ARENA_NEW(&w->f->a, const char *);
    *v = arena_printf(&w->f->a, "%d", app);
    *e = (struct selector_expr){"app", SELECTOR_IN, v, 1};
    return (struct selector){.v = e, .n = 1};
}

static void make_rule(struct world *w, struct app *a)
{
    struct spread *sp = ARENA_NEW(&w->f->a, struct spread);
    struct pod_term *t = ARENA_NEW(&w->f->a, struct pod_term);
    sym key = a->host ? L_HOSTNAME : L_ZONE;
    *sp = (struct spread){
        .key = key, .max_skew = a->max_skew, .honor_affinity = true, .sel = about(w, a->about)};
    *t = (struct pod_term){.key = key, .sel = about(w, a->about)};
    a->cls->spreads = sp;
    a->cls->n_spreads = a->rule == RULE_SPREAD;
    a->cls->affinity = (struct pod_terms){t, a->rule == RULE_WITH};
    a->cls->anti_affinity = (struct pod_terms){t, a->rule == RULE_AGAINST};
}

static void make_app(struct world *w, int i)
{
    struct app *a = &w->apps[i];
    struct kv *kv = ARENA_NEW(&w->f->a, struct kv);
    *kv = (struct kv){"app", arena_printf(&w->f->a, "%d", i)};
    a->labels = (struct kvs){kv, 1};
    a->cls = fix_class(w->f, 100 * (1 + (int64_t)rnd(w, 15)), 64);
    a->rule = (enum rule)rnd(w, 4);
    a->host = rnd(w, 2) == 0;
    a->about = rnd(w, 3) ? i : (int)rnd(w, APPS);
    a->max_skew = 1 + (int)rnd(w, 2);
    a->zone = rnd(w, 5) ? NULL : zones[rnd(w, 3)];
    a->tolerates = rnd(w, 3) == 0;
    if (a->zone != NULL) {
        a->cls->selector =
            fix_reqs(w->f, arena_printf(&w->f->a, "topology.kubernetes.io/zone In %s", a->zone));
    }
    if (a->tolerates) {
        a->cls->tolerations = fix_tolerations(w->f, "*");
    }
    make_rule(w, a);
}

static struct pod *make_pod(struct world *w, int app, const char *name)
{
    struct pod *p = fix_pod(w->f, w->apps[app].cls, name);
    p->labels = w->apps[app].labels;
    return p;
}

/* Of apps that have no rule of their own, so that what is bound breaks none. */
static void make_bound(struct world *w)
{
    uint32_t n = rnd(w, 10), nodes = w->f->in.n_nodes;
    for (uint32_t i = 0; nodes > 0 && i < n; i++) {
        int app = (int)rnd(w, APPS);
        if (w->apps[app].rule != RULE_NONE) {
            continue;
        }
        uint32_t at = rnd(w, nodes);
        struct node_usage *u = w->usage[at] ? w->usage[at] : fix_usage(w->f, at);
        w->usage[at] = u;
        if (u->requested.v[RES_CPU] + w->apps[app].cls->requests.v[RES_CPU] > 4000) {
            continue;
        }
        u->requested = resources_add(&w->f->a, &u->requested, &w->apps[app].cls->requests, 1);
        struct pod *p = make_pod(w, app, arena_printf(&w->f->a, "bound-%u", i));
        p->node_name = w->f->nodes[at]->m.name;
        p->phase = POD_RUNNING;
        w->bound[w->f->in.n_bound++] = p;
        w->f->in.n_pods--;
    }
    w->f->in.bound = w->bound;
}

static void make_world(struct world *w, uint64_t seed)
{
    memset(w, 0, sizeof(*w));
    w->seed = seed * 2654435761u + 1;
    w->f = fix_new();
    fix_pool(w->f, "main", "kubernetes.io/arch In amd64");
    for (uint32_t i = rnd(w, 6); i > 0; i--) {
        const char *name = arena_printf(&w->f->a, "n%u", i);
        const char *zone = zones[rnd(w, 3)];
        struct node *n = fix_node(w->f, name, "",
                                  arena_printf(&w->f->a, "topology.kubernetes.io/zone=%s", zone));
        n->taints = fix_taints(w->f, rnd(w, 5) ? "" : "x:NoSchedule");
    }
    for (int i = 0; i < APPS; i++) {
        make_app(w, i);
    }
    make_bound(w);
    for (int i = 0; i < APPS; i++) {
        for (uint32_t k = rnd(w, 7); k > 0; k--) {
            make_pod(w, i, arena_printf(&w->f->a, "app%d-%u", i, k));
        }
    }
}

/* ---- what became of it ----------------------------------------------------------------------- */

static int app_of(const struct pod *p)
{
    return atoi(p->labels.v[0].value);
}

static unsigned zone_bits(const struct world *w, const struct reqset *set)
{
    const struct req *r = reqset_get(set, L_ZONE);
    unsigned bits = 0;
    for (unsigned z = 0; z < ARRAY_LEN(zones); z++) {
        sym s = sym_find(w->f->syms, zones[z]);
        bits |= r == NULL || req_has(w->f->syms, r, s) ? 1u << z : 0;
    }
    return bits;
}

static void put(struct world *w, const struct pod *p, int place)
{
    w->lies[w->n_lies++] = (struct lies){app_of(p), place};
    w->places[place].free_cpu -= p->cls->requests.v[RES_CPU];
}

static int place_of(const struct world *w, const char *node)
{
    for (int i = 0; i < w->n_places; i++) {
        if (w->places[i].node != NULL && str_eq(w->places[i].node->name, node)) {
            return i;
        }
    }
    BUG("no node %s", node);
}

static void look(struct world *w, const struct snapshot *s, const struct sched_result *r)
{
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const struct snapshot_node *n = &s->nodes[i];
        w->places[w->n_places++] = (struct place){n, NULL, zone_bits(w, &n->labels),
                                                  n->taints.n > 0, n->allocatable.v[RES_CPU]};
    }
    for (uint32_t i = 0; i < s->n_bound; i++) {
        put(w, s->bound[i].pod, place_of(w, s->bound[i].node->name));
    }
    for (uint32_t i = 0; i < r->n_existing; i++) {
        put(w, r->existing[i].pod, place_of(w, r->existing[i].node->name));
    }
    for (uint32_t i = 0; i < r->n_claims; i++) {
        const struct sched_claim *c = &r->claims[i];
        w->places[w->n_places] =
            (struct place){NULL, c, zone_bits(w, &c->reqs), false, INT64_MAX / 2};
        for (uint32_t p = 0; p < c->n_pods; p++) {
            put(w, c->pods[p], w->n_places);
        }
        w->n_places++;
    }
}

/* ---- the naive reading ----------------------------------------------------------------------- */

/* Do both lie in one domain of the key, or might they? */
static bool together(const struct world *w, int x, int y, bool host)
{
    return host ? x == y : (w->places[x].zones & w->places[y].zones) != 0;
}

static bool one_zone(const struct place *p)
{
    return (p->zones & (p->zones - 1)) == 0;
}

/* Pods of the app for sure in the domain of that place (an open zone is in none). */
static int count(const struct world *w, int app, int place, bool host)
{
    int n = 0;
    for (int i = 0; i < w->n_lies; i++) {
        const struct lies *l = &w->lies[i];
        bool here = host ? l->place == place
                         : one_zone(&w->places[l->place]) &&
                               w->places[l->place].zones == w->places[place].zones;
        n += l->app == app && here;
    }
    return n;
}

static int count_zone(const struct world *w, int app, unsigned zone)
{
    int n = 0;
    for (int i = 0; i < w->n_lies; i++) {
        n += w->lies[i].app == app && w->places[w->lies[i].place].zones == zone;
    }
    return n;
}

/* Pods of the app in the emptiest zone that the class could go to. */
static int least(const struct world *w, const struct app *a)
{
    int ret = INT32_MAX;
    for (unsigned z = 0; z < ARRAY_LEN(zones); z++) {
        if (a->zone == NULL || str_eq(a->zone, zones[z])) {
            int n = count_zone(w, a->about, 1u << z);
            ret = n < ret ? n : ret;
        }
    }
    return ret;
}

static bool rule_allows(const struct world *w, int app, int place)
{
    const struct app *a = &w->apps[app];
    int self = a->about == app, total = 0, here = 0;
    for (int i = 0; i < w->n_lies; i++) {
        bool match = w->lies[i].app == a->about;
        total += match;
        here += match && together(w, w->lies[i].place, place, a->host);
    }
    switch (a->rule) {
    case RULE_SPREAD:
        return count(w, a->about, place, a->host) + self - (a->host ? 0 : least(w, a)) <=
               a->max_skew;
    case RULE_WITH:
        return count(w, a->about, place, a->host) > 0 || (self && total == 0);
    case RULE_AGAINST:
        return here == 0;
    case RULE_NONE:
        break;
    }
    return true;
}

/* Nobody there (or maybe there) keeps the app away. */
static bool tolerated(const struct world *w, int app, int place)
{
    for (int i = 0; i < w->n_lies; i++) {
        const struct app *o = &w->apps[w->lies[i].app];
        if (o->rule == RULE_AGAINST && o->about == app &&
            together(w, w->lies[i].place, place, o->host)) {
            return false;
        }
    }
    return true;
}

static bool takes(const struct world *w, int app, int place)
{
    const struct app *a = &w->apps[app];
    const struct place *p = &w->places[place];
    bool zone = a->zone == NULL || (one_zone(p) && str_eq(zones[__builtin_ctz(p->zones)], a->zone));
    return zone && p->free_cpu >= a->cls->requests.v[RES_CPU] && (!p->tainted || a->tolerates) &&
           rule_allows(w, app, place) && tolerated(w, app, place);
}

/* ---- judging --------------------------------------------------------------------------------- */

/* In the end: no two that keep each other away, hosts within their skew. */
static void judge_rules(const struct world *w, uint64_t seed)
{
    for (int i = 0; i < w->n_lies; i++) {
        const struct lies *x = &w->lies[i];
        const struct app *a = &w->apps[x->app];
        ck_assert_msg(w->places[x->place].free_cpu >= 0, "seed %llu: too full",
                      (unsigned long long)seed);
        for (int k = 0; a->rule == RULE_AGAINST && k < w->n_lies; k++) {
            ck_assert_msg(k == i || w->lies[k].app != a->about ||
                              !together(w, x->place, w->lies[k].place, a->host),
                          "seed %llu: app %d beside %d", (unsigned long long)seed, x->app,
                          w->lies[k].app);
        }
        if (a->rule == RULE_SPREAD && a->about == x->app) {
            int n = count(w, x->app, x->place, a->host);
            ck_assert_msg(n - (a->host ? 0 : least(w, a)) <= a->max_skew, "seed %llu: app %d: %d",
                          (unsigned long long)seed, x->app, n);
        }
        if (a->rule == RULE_WITH && a->about == x->app) {
            for (int k = 0; k < w->n_lies; k++) {
                ck_assert_msg(w->lies[k].app != x->app ||
                                  together(w, x->place, w->lies[k].place, a->host),
                              "seed %llu: app %d apart", (unsigned long long)seed, x->app);
            }
        }
    }
}

/* No place would take a pod that was refused: neither one that is there nor a new one. */
static void judge_refused(struct world *w, const struct sched_result *r, uint64_t seed)
{
    for (uint32_t i = 0; i < r->n_refused; i++) {
        int app = app_of(r->refused[i].pod), there = w->n_places;
        for (int p = 0; p < there; p++) {
            ck_assert_msg(w->places[p].claim != NULL || !takes(w, app, p),
                          "seed %llu: %s is refused, but %s takes it", (unsigned long long)seed,
                          r->refused[i].pod->m.name, w->places[p].node->name);
        }
        for (unsigned z = 0; z < ARRAY_LEN(zones); z++) {
            w->places[there] = (struct place){.zones = 1u << z, .free_cpu = 31900};
            ck_assert_msg(!takes(w, app, there),
                          "seed %llu: %s is refused, but a new node in %s "
                          "takes it",
                          (unsigned long long)seed, r->refused[i].pod->m.name, zones[z]);
        }
    }
}

static const char *plan_text(struct world *w, const struct sched_result *r)
{
    struct buf b;
    buf_init(&b, 1 << 20);
    for (uint32_t i = 0; i < r->n_existing; i++) {
        buf_printf(&b, "%s>%s ", r->existing[i].pod->m.name, r->existing[i].node->name);
    }
    for (uint32_t i = 0; i < r->n_claims; i++) {
        buf_printf(&b, "[%u:", zone_bits(w, &r->claims[i].reqs));
        for (uint32_t p = 0; p < r->claims[i].n_pods; p++) {
            buf_printf(&b, " %s", r->claims[i].pods[p]->m.name);
        }
        buf_puts(&b, "]");
    }
    for (uint32_t i = 0; i < r->n_refused; i++) {
        buf_printf(&b, " -%s ", r->refused[i].pod->m.name);
        reason_fmt(w->f->syms, &r->refused[i].reason, &b);
    }
    const char *ret = arena_strdup(&w->f->a, b.p);
    buf_done(&b);
    return ret;
}

static void swap_all(const void **v, uint32_t n)
{
    for (uint32_t i = 0; i + 1 < n - i; i++) {
        const void *x = v[i];
        v[i] = v[n - 1 - i];
        v[n - 1 - i] = x;
    }
}

START_TEST(random_worlds)
{
    static struct world w;
    uint32_t refused = 0, placed = 0;
    for (uint64_t seed = (uint64_t)_i * WORLDS / 8; seed < (uint64_t)(_i + 1) * WORLDS / 8;
         seed++) {
        make_world(&w, seed);
        struct fix *f = w.f;
        const struct snapshot *s = fix_snapshot(f);
        struct sched *d = sched_begin(&f->a, s, &f->opt);
        while (!sched_step(d, 1000000)) {
        }
        const struct sched_result *r = sched_result(d);
        const char *text = plan_text(&w, r);
        look(&w, s, r);
        judge_rules(&w, seed);
        judge_refused(&w, r, seed);
        refused += r->n_refused;
        placed += (uint32_t)w.n_lies;
        swap_all((const void **)f->pods, f->in.n_pods);
        swap_all((const void **)w.bound, f->in.n_bound);
        swap_all((const void **)f->nodes, f->in.n_nodes);
        swap_all((const void **)f->usage, f->in.n_nodes);
        ck_assert_str_eq(plan_text(&w, fix_schedule(f, 1 + seed % 5)), text);
        fix_done(f);
    }
    /* The worlds are neither all easy nor all hopeless. */
    ck_assert_uint_gt(placed, refused);
    ck_assert_uint_gt(refused, 100);
}
END_TEST

static const char parts[8];

UNIT_MAIN("sched_random", UNIT_CASES(random_worlds, parts))
