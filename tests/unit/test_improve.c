/* The improver against a naive reading of what it must keep, on random pods with rules about hosts.
 */
#include "fixture.h"
#include "unit.h"

#define WORLDS 120
#define APPS 6
#define PODS 60

enum rule { RULE_NONE, RULE_SPREAD, RULE_AGAINST };

struct app {
    enum rule rule;
    int about, max_skew;
    struct kvs labels;
};

struct world {
    struct fix *f;
    uint64_t seed;
    struct app apps[APPS];
};

static uint32_t rnd(struct world *w, uint32_t n)
{
    w->seed = w->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(w->seed >> 33) % n;
}

static const char *number(struct world *w, int n)
{
    return arena_printf(&w->f->a, "%d", n);
}

static void make_app(struct world *w, int i)
{
    struct kv *kv = ARENA_NEW(&w->f->a, struct kv);
    *kv = (struct kv){"app", number(w, i)};
    w->apps[i] = (struct app){.rule = (enum rule)rnd(w, 3),
                              .about = rnd(w, 2) ? i : (int)rnd(w, APPS),
                              .max_skew = 1 + (int)rnd(w, 2),
                              .labels = {kv, 1}};
}

static void make_pod(struct world *w, uint32_t n)
{
    static const int64_t mib[] = {100, 256, 512, 1024, 2048, 4096};
    static const int64_t cpu[] = {100, 250, 500, 1000, 1500};
    const struct app *a = &w->apps[rnd(w, APPS)];
    struct pod_class *c = fix_class(w->f, cpu[rnd(w, 5)], mib[rnd(w, 6)]);
    struct selector_expr *e = ARENA_NEW(&w->f->a, struct selector_expr);
    const char **v = ARENA_NEW(&w->f->a, const char *);
    struct spread *sp = ARENA_NEW(&w->f->a, struct spread);
    struct pod_term *t = ARENA_NEW(&w->f->a, struct pod_term);
    *v = number(w, a->about);
    *e = (struct selector_expr){"app", SELECTOR_IN, v, 1};
    *sp = (struct spread){.key = L_HOSTNAME,
                          .max_skew = a->max_skew,
                          .honor_affinity = true,
                          .sel = {.v = e, .n = 1}};
    *t = (struct pod_term){.key = L_HOSTNAME, .sel = {.v = e, .n = 1}};
    c->spreads = sp;
    c->n_spreads = a->rule == RULE_SPREAD;
    c->anti_affinity = (struct pod_terms){t, a->rule == RULE_AGAINST};
    fix_pod(w->f, c, arena_printf(&w->f->a, "pod-%02u", n))->labels = a->labels;
}

static void make_world(struct world *w, uint64_t seed)
{
    struct fix_type types[16];
    memset(w, 0, sizeof(*w));
    w->seed = seed * 7919 + 1;
    w->f = fix_new();
    for (int i = 0; i < 16; i++) {
        types[i] = (struct fix_type){.name = arena_printf(&w->f->a, "x.%02d", i + 1),
                                     .arch = "amd64",
                                     .vcpus = i + 1,
                                     .gib = 2 * (i + 1)};
    }
    fix_use_types(w->f, types, 16);
    struct nodepool *np = fix_pool(w->f, "main", "kubernetes.io/arch In amd64");
    np->has_limits = seed % 2 == 0;
    np->limits.v[RES_CPU] = 300000;
    for (int i = 0; i < APPS; i++) {
        make_app(w, i);
    }
    for (uint32_t n = 20 + rnd(w, PODS - 20); n > 0; n--) {
        make_pod(w, n);
    }
}

static int app_of(const struct pod *p)
{
    return atoi(p->labels.v[0].value);
}

static uint32_t turn(const struct snapshot *s, const struct pod *p)
{
    uint32_t i = 0;
    while (s->pods[i] != p) {
        i++;
    }
    return i;
}

/* Each pod obeys its rule and nobody's anti-affinity when its turn comes. */
static void judge_claim(const struct world *w, const struct snapshot *s,
                        const struct sched_claim *c, uint64_t seed)
{
    for (uint32_t i = 0; i < c->n_pods; i++) {
        const struct app *a = &w->apps[app_of(c->pods[i])];
        int n = 0;
        for (uint32_t k = 0; k < i; k++) {
            int other = app_of(c->pods[k]);
            n += other == a->about;
            ck_assert_uint_lt(turn(s, c->pods[k]), turn(s, c->pods[i]));
            ck_assert_msg(w->apps[other].rule != RULE_AGAINST ||
                              w->apps[other].about != app_of(c->pods[i]),
                          "seed %d: %s is kept away", (int)seed, c->pods[i]->m.name);
        }
        int self = a->about == app_of(c->pods[i]);
        ck_assert_msg((a->rule != RULE_AGAINST || n == 0) &&
                          (a->rule != RULE_SPREAD || n + self <= a->max_skew),
                      "seed %d: %s is beside %d", (int)seed, c->pods[i]->m.name, n);
    }
    for (uint32_t t = 0; t < c->n_types; t++) {
        ck_assert(
            resources_fit(&c->requests, catalog_allocatable(w->f->catalog, c->types[t]), NULL));
    }
}

static struct resources sum_of(struct fix *f, const struct sched_claim *c)
{
    struct resources sum = {.n_ext = 0};
    for (uint32_t i = 0; i < c->n_pods; i++) {
        sum = resources_add(&f->a, &sum, &c->pods[i]->cls->requests, 1);
    }
    return sum;
}

static int64_t reserved(const struct fix *f, const struct sched_result *r)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < r->n_claims; i++) {
        int64_t most = 0;
        for (uint32_t t = 0; t < r->claims[i].n_types; t++) {
            int64_t v = catalog_capacity(f->catalog, r->claims[i].types[t])->v[RES_CPU];
            most = v > most ? v : most;
        }
        sum += most;
    }
    return sum;
}

static uint32_t placed(const struct sched_result *r)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n_claims; i++) {
        n += r->claims[i].n_pods;
    }
    return n;
}

static const char *text_of(struct fix *f, const struct sched_result *r)
{
    struct buf b;
    buf_init(&b, 1 << 20);
    for (uint32_t i = 0; i < r->n_claims; i++) {
        buf_printf(&b, "[%s", fix_type_name(f, &r->claims[i], 0));
        for (uint32_t p = 0; p < r->claims[i].n_pods; p++) {
            buf_printf(&b, " %s", r->claims[i].pods[p]->m.name);
        }
        buf_puts(&b, "]");
    }
    const char *ret = arena_strdup(&f->a, b.p);
    buf_done(&b);
    return ret;
}

static void judge(struct world *w, const struct snapshot *s, const struct sched_result *r,
                  const struct sched_result *base, uint64_t seed)
{
    ck_assert(w->f->opt.placement == PLACEMENT_CHEAPEST || r->n_claims <= base->n_claims);
    ck_assert_uint_eq(placed(r), placed(base));
    ck_assert_uint_eq(r->n_refused, base->n_refused);
    ck_assert_int_le(r->price_pusd_h, base->price_pusd_h);
    ck_assert_int_eq(r->baseline_pusd_h, base->price_pusd_h);
    ck_assert_int_le(r->tight_pusd_h, r->price_pusd_h);
    ck_assert(seed % 2 != 0 || reserved(w->f, r) <= reserved(w->f, base));
    for (uint32_t i = 0; i < r->n_claims; i++) {
        struct resources sum = sum_of(w->f, &r->claims[i]);
        ck_assert(resources_equal(&sum, &r->claims[i].requests));
        judge_claim(w, s, &r->claims[i], seed);
    }
}

START_TEST(random_worlds)
{
    int64_t before = 0, safe = 0, tight = 0, cheapest = 0;
    for (uint64_t seed = 0; seed < WORLDS; seed++) {
        struct world w;
        make_world(&w, seed);
        struct fix *f = w.f;
        f->opt.placement = PLACEMENT_BASELINE;
        const struct sched_result *base = fix_schedule(f, 1000000);
        f->opt.placement = PLACEMENT_COMPATIBLE;
        for (int k = 0; k < 3; k++) {
            f->opt.placement = k == 2 ? PLACEMENT_CHEAPEST : PLACEMENT_COMPATIBLE;
            f->opt.tight = k == 0;
            const struct snapshot *s = fix_snapshot(f);
            struct sched *d = sched_begin(&f->a, s, &f->opt);
            while (!sched_step(d, 1000000)) {
            }
            const struct sched_result *r = sched_result(d);
            judge(&w, s, r, base, seed);
            *(k == 0 ? &tight : k == 1 ? &safe : &cheapest) += r->price_pusd_h;
            const char *text = text_of(f, r);
            for (uint32_t i = 0; i + 1 < f->in.n_pods - i; i++) {
                const struct pod *p = f->pods[i];
                f->pods[i] = f->pods[f->in.n_pods - 1 - i];
                f->pods[f->in.n_pods - 1 - i] = p;
            }
            ck_assert_str_eq(text_of(f, fix_schedule(f, 1 + seed % 5)), text);
        }
        before += base->price_pusd_h;
        fix_done(f);
    }
    /* It is worth it. */
    ck_assert_int_lt(tight, before / 100 * 92);
    ck_assert_int_lt(tight, safe);
    ck_assert_int_lt(safe, before);
    ck_assert_int_lt(cheapest, before);
}
END_TEST

/* Five pods of 0.9 cpu fill a node of 8 badly; with one more, nodes of 4 and 2 do. */
static const struct {
    enum placement option;
    const char *pool; /* its annotation */
    bool limits, owned, spot;
    uint32_t claims;
} splits[] = {
    {PLACEMENT_BASELINE, NULL, false, false, false, 1},
    {PLACEMENT_BASELINE, "Cheapest", false, false, false, 2},
    {PLACEMENT_COMPATIBLE, NULL, false, false, false, 1},
    {PLACEMENT_CHEAPEST, NULL, false, false, false, 2},
    {PLACEMENT_CHEAPEST, "Compatible", false, false, false, 1},
    {PLACEMENT_COMPATIBLE, "Cheapest", false, false, false, 2},
    {PLACEMENT_CHEAPEST, "cheapest", false, false, false, 1},
    {PLACEMENT_CHEAPEST, NULL, true, false, false, 1},
    {PLACEMENT_CHEAPEST, NULL, false, true, true, 2},
};

START_TEST(one_node_more)
{
    static const struct fix_type types[] = {
        {.name = "x.2", .arch = "amd64", .vcpus = 2, .gib = 8},
        {.name = "x.4", .arch = "amd64", .vcpus = 4, .gib = 16},
        {.name = "x.8", .arch = "amd64", .vcpus = 8, .gib = 32}};
    struct fix *f = fix_new();
    fix_use_types(f, types, 3);
    struct nodepool *np = fix_pool(f, "main",
                                   splits[_i].spot ? "karpenter.sh/capacity-type In spot"
                                                   : "karpenter.sh/capacity-type In on-demand");
    struct kv placement = {ANN_PLACEMENT, splits[_i].pool};
    np->m.annotations = (struct kvs){&placement, splits[_i].pool != NULL};
    np->has_limits = splits[_i].limits;
    np->limits.v[RES_CPU] = 100000;
    for (int i = 0; i < 5; i++) {
        struct pod *p = fix_pod(f, fix_class(f, 900, 256), arena_printf(&f->a, "pod-%d", i));
        p->owner_uid = splits[_i].owned ? "one" : "";
    }
    f->opt.placement = splits[_i].option;
    const struct sched_result *r = fix_schedule(f, 3);
    ck_assert_uint_eq(r->n_claims, splits[_i].claims);
    ck_assert_uint_eq(placed(r), 5);
    ck_assert(r->n_claims == 1 || r->price_pusd_h * 10 <= r->baseline_pusd_h * 9);
    fix_done(f);
}
END_TEST

/* Three nodes with five pods each, which a rule keeps apart so: each by itself would be split. On
 * spot the third is not, as then more pods of the workload would be on nodes of 4 than on those of
 * 8 before. */
static const struct {
    bool owned, spot;
    uint32_t claims;
} crowds[] = {{false, true, 6}, {true, false, 6}, {true, true, 5}};

START_TEST(spot_stays_spread)
{
    static const struct fix_type types[] = {
        {.name = "x.2", .arch = "amd64", .vcpus = 2, .gib = 8},
        {.name = "x.4", .arch = "amd64", .vcpus = 4, .gib = 16},
        {.name = "x.8", .arch = "amd64", .vcpus = 8, .gib = 32}};
    struct fix *f = fix_new();
    struct spread spread = {.key = L_HOSTNAME, .max_skew = 5, .sel = {.n = 0}};
    fix_use_types(f, types, 3);
    fix_pool(f, "main",
             crowds[_i].spot ? "karpenter.sh/capacity-type In spot"
                             : "karpenter.sh/capacity-type In on-demand");
    for (int i = 0; i < 15; i++) {
        struct pod_class *c = fix_class(f, 900, 256);
        c->spreads = &spread;
        c->n_spreads = 1;
        struct pod *p = fix_pod(f, c, arena_printf(&f->a, "pod-%02d", i));
        p->owner_uid = crowds[_i].owned ? "one" : "";
    }
    f->opt.placement = PLACEMENT_CHEAPEST;
    const struct sched_result *r = fix_schedule(f, 3);
    ck_assert_uint_eq(placed(r), 15);
    ck_assert_uint_eq(r->n_claims, crowds[_i].claims);
    fix_done(f);
}
END_TEST

UNIT_MAIN("improve", UNIT_TEST(random_worlds), UNIT_CASES(one_node_more, splits),
          UNIT_CASES(spot_stays_spread, crowds))
