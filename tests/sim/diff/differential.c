/* differential.c - see differential.h */
#include "differential.h"

#include "cmd/status/money.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "judge.h"

#define CLUSTERS_MAX 1000000

const struct diff_limits diff_limits[2] = {{6, 0.5, {2.5, 2.5}}, {55, 2.5, {3, 7}}};

struct command {
    int64_t clusters, seed, show, pods;
    const char *dir, *write, *placement, *kind, *types, *list;
    struct diff_kind make;
};

enum side { SIDE_PLAN, SIDE_BASELINE, SIDES }; /* the latter: with the placement as Karpenter's */

struct tally {
    uint64_t clusters, faulty, refused;
    uint64_t planning; /* clusters where a plan has new nodes */
    struct outcome sides[SIDES];
    uint64_t cheaper, dearer; /* clusters where the plan is that, against the baseline */
    uint64_t worse;           /* clusters that strand more pods than with the baseline */
    uint64_t better;          /* clusters where a plan of another placement would strand less */
    unsigned over;            /* limits that are not kept */
};

static int usage(const char *what)
{
    fprintf(stderr,
            "karp-sim: %s\n"
            "usage: karp-sim differential [--kind odd|usual] [--types few|all] [--pods N]\n"
            "           [--placement P] [--clusters N] [--seed S] [--list yes] [--write DIR]\n"
            "       karp-sim differential --show SEED [--kind ...] [--types ...] [--pods N]\n"
            "           [--placement P] [--dir DIR]\n",
            what);
    return 2;
}

/* What the options mean together. */
static int parsed(struct command *c)
{
    enum placement p;
    bool usual = str_eq(c->kind, "usual");
    c->types = c->types ? c->types : usual ? "all" : "few";
    c->pods = c->pods >= 0 ? c->pods : usual ? DIFF_PODS_USUAL : DIFF_PODS;
    c->make = (struct diff_kind){usual, str_eq(c->types, "all"), (uint32_t)c->pods};
    if (c->pods < 1 || c->pods > DIFF_PODS_MAX) {
        return usage("no, or too many pods");
    }
    if (!usual && !str_eq(c->kind, "odd")) {
        return usage("--kind is odd or usual");
    }
    if (!c->make.all_types && !str_eq(c->types, "few")) {
        return usage("--types is few or all");
    }
    if (!str_eq(c->placement, DECIDE_BASELINE) && !sched_parse_placement(c->placement, &p)) {
        return usage("--placement is Baseline, Compatible or Cheapest");
    }
    return c->clusters >= 1 && c->clusters <= CLUSTERS_MAX ? 0 : usage("no, or too many clusters");
}

static int parse(struct command *c, int argc, char **argv)
{
    *c = (struct command){.clusters = 200,
                          .seed = 1,
                          .show = -1,
                          .pods = -1,
                          .kind = "odd",
                          .dir = ".",
                          .placement = "Compatible"};
    for (int i = 0; i < argc; i += 2) {
        int64_t *number = str_eq(argv[i], "--clusters") ? &c->clusters
                          : str_eq(argv[i], "--seed")   ? &c->seed
                          : str_eq(argv[i], "--show")   ? &c->show
                          : str_eq(argv[i], "--pods")   ? &c->pods
                                                        : NULL;
        const char **text = str_eq(argv[i], "--dir")         ? &c->dir
                            : str_eq(argv[i], "--write")     ? &c->write
                            : str_eq(argv[i], "--placement") ? &c->placement
                            : str_eq(argv[i], "--kind")      ? &c->kind
                            : str_eq(argv[i], "--list")      ? &c->list
                            : str_eq(argv[i], "--types")     ? &c->types
                                                             : NULL;
        if ((!number && !text) || i + 1 == argc) {
            return usage("differential takes no such option, or something is missing");
        }
        if (number && (!str_parse_i64(argv[i + 1], number) || *number < 0)) {
            return usage("what must be a number is none");
        }
        if (text) {
            *text = argv[i + 1];
        }
    }
    return parsed(c);
}

/* ---- one cluster ----------------------------------------------------------------------------- */

static int write_json(const char *dir, const char *name, const json_t *o, struct err *reterr)
{
    AUTO_FREE char *path = xasprintf("%s/%s", dir, name);
    return json_dump_file(o, path, JSON_INDENT(1))
               ? err_set(reterr, ERR_INVALID, "%s cannot be written", path)
               : 0;
}

static int write_objects(const char *dir, const char *name, const struct diff_cluster *c,
                         struct err *reterr)
{
    AUTO_JSON json_t *list =
        json_pack("{s:s, s:s, s:O}", "apiVersion", "v1", "kind", "List", "items", c->objects);
    return write_json(dir, name, list, reterr);
}

struct note {
    const struct stage *s;
    json_t *planned;
};

static void note_planned(void *ctx, const struct pod *p, const char *node)
{
    struct note *n = ctx;
    AUTO_FREE char *key = xasprintf("%s/%s", p->m.ns, p->m.name);
    (void)node;
    json_object_set_new(n->planned, key, json_string(stage_where(n->s, p, NULL)));
}

/* For the player on a real control plane. */
static int write_case(const struct stage *s, const char *dir, struct err *reterr)
{
    char name[64];
    snprintf(name, sizeof(name), "%llu.json", (unsigned long long)s->cluster->seed);
    struct note n = {s, json_object()};
    outcome_each_planned(s->plan->result, note_planned, &n);
    AUTO_JSON json_t *o =
        json_pack("{s:I, s:O, s:O, s:o}", "seed", (json_int_t)s->cluster->seed, "objects",
                  s->cluster->objects, "nodes", s->launched, "planned", n.planned);
    return write_json(dir, name, o, reterr);
}

/* The plan for the cluster as it is; -1 if it could not be judged at all. */
static int judge_plan(const struct command *c, const struct diff_cluster *cluster, struct tally *t,
                      struct judgement *j, struct err *reterr)
{
    struct diff_way way = {.placement = c->placement, .slice = 1000000};
    struct diff_plan plan;
    struct stage s;
    if (diff_plan_make(cluster, &way, &plan, reterr)) {
        return -1;
    }
    AUTO_FREE char *differs = diff_plan_differs(cluster, &plan);
    if (differs) {
        judge_add(j, "%s", differs);
    }
    if (c->show >= 0) {
        printf("%s", plan.text);
    }
    t->refused += plan.result->n_refused;
    int rc = stage_set(cluster, &plan, &s, reterr);
    if (rc == 0) {
        judge(&s, j);
        if (c->write) {
            stage_run(&s);
            rc = write_case(&s, c->write, reterr);
        }
        stage_done(&s);
    }
    diff_plan_done(&plan);
    return rc;
}

static int make_plan(const struct diff_cluster *settled, const char *placement,
                     struct diff_plan *ret, struct err *reterr)
{
    struct diff_way way = {.placement = placement, .slice = 1000000};
    return diff_plan_make(settled, &way, ret, reterr);
}

/* A plan of another placement, no dearer than the baseline and with no more nodes, strands less. */
static int find_better(const struct command *c, const struct diff_cluster *settled,
                       const struct outcome *o, struct tally *t, struct err *reterr)
{
    static const char *const others[] = {DECIDE_BASELINE, "Compatible", "Cheapest"};
    bool better = false;
    for (size_t i = 0; i < ARRAY_LEN(others) && !better; i++) {
        struct diff_plan plan;
        struct outcome other;
        if (str_eq(others[i], c->placement)) {
            continue;
        }
        if (make_plan(settled, others[i], &plan, reterr)) {
            return -1;
        }
        int rc = outcome_play(&plan, settled, false, &other, reterr);
        diff_plan_done(&plan);
        if (rc) {
            return -1;
        }
        better = other.lost < o[SIDE_PLAN].lost &&
                 other.price_pusd_h <= o[SIDE_BASELINE].price_pusd_h &&
                 other.launched <= o[SIDE_BASELINE].launched;
    }
    t->better += better;
    return 0;
}

static void list(const struct diff_cluster *settled, const struct outcome *o)
{
    char price[SIDES][MONEY_TEXT];
    for (int i = 0; i < SIDES; i++) {
        money_exact(o[i].price_pusd_h, price[i]);
    }
    printf("cluster %llu: %llu pods planned, stranded %llu for $%s/h, with the baseline %llu for "
           "$%s/h\n",
           (unsigned long long)settled->seed, (unsigned long long)o[SIDE_PLAN].planned,
           (unsigned long long)o[SIDE_PLAN].lost, price[SIDE_PLAN],
           (unsigned long long)o[SIDE_BASELINE].lost, price[SIDE_BASELINE]);
}

static int compare_sides(const struct command *c, const struct diff_cluster *settled,
                         const struct outcome *o, struct tally *t, struct err *reterr)
{
    const struct outcome *plan = &o[SIDE_PLAN], *base = &o[SIDE_BASELINE];
    for (int i = 0; i < SIDES; i++) {
        outcome_add(&t->sides[i], &o[i]);
    }
    t->planning += base->launched > 0;
    t->cheaper += plan->price_pusd_h < base->price_pusd_h;
    t->dearer += plan->price_pusd_h > base->price_pusd_h;
    t->worse += plan->lost > base->lost;
    if (c->list && plan->lost + base->lost > 0) {
        list(settled, o);
    }
    return plan->lost > 0 ? find_better(c, settled, o, t, reterr) : 0;
}

/* The same cluster with our plan and with the one that Karpenter would make. */
static int play_sides(const struct command *c, const struct diff_cluster *settled, struct tally *t,
                      struct err *reterr)
{
    const char *const placements[SIDES] = {c->placement, DECIDE_BASELINE};
    struct outcome o[SIDES];
    struct diff_plan plans[SIDES];
    int n = 0, rc = 0;
    for (; n < SIDES && rc == 0; n += rc == 0) {
        rc = make_plan(settled, placements[n], &plans[n], reterr);
    }
    for (int i = 0; i < n && rc == 0; i++) {
        if (c->show >= 0) {
            printf("%s, of what waits when the cluster has settled:\n%s", placements[i],
                   plans[i].text);
        }
        if (i > 0 && c->show < 0 && str_eq(plans[0].text, plans[i].text)) {
            o[i] = o[0];
        } else {
            rc = outcome_play(&plans[i], settled, c->show >= 0, &o[i], reterr);
        }
    }
    for (int i = 0; i < n; i++) {
        diff_plan_done(&plans[i]);
    }
    return rc ? rc : compare_sides(c, settled, o, t, reterr);
}

static int settle_and_play(const struct command *c, const struct diff_cluster *cluster,
                           struct tally *t, struct err *reterr)
{
    struct diff_cluster settled;
    if (stage_settle(cluster, &settled, reterr)) {
        return -1;
    }
    int rc = c->show >= 0 ? write_objects(c->dir, "settled.json", &settled, reterr) : 0;
    rc = rc ? rc : play_sides(c, &settled, t, reterr);
    diff_cluster_done(&settled);
    return rc;
}

static int play_seed(const struct command *c, uint64_t seed, struct tally *t)
{
    struct err e = ERR_INIT;
    struct diff_cluster cluster;
    struct judgement j = {.n = 0};
    diff_cluster_make(&c->make, seed, &cluster);
    t->clusters++;
    if (judge_plan(c, &cluster, t, &j, &e) || settle_and_play(c, &cluster, t, &e)) {
        judge_add(&j, "%s", e.msg);
    }
    t->faulty += j.n > 0;
    for (size_t i = 0; i < j.n; i++) {
        printf("cluster %llu: %s\n", (unsigned long long)seed, j.found[i]);
    }
    if (j.n > 0 && c->show < 0) {
        printf("  again: karp-sim differential --kind %s --types %s --pods %lld --show %llu\n",
               c->kind, c->types, (long long)c->pods, (unsigned long long)seed);
    }
    judge_done(&j);
    diff_cluster_done(&cluster);
    return 0;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100 * (double)part / (double)whole : 0;
}

static void sum_up_outcome(const char *what, const struct outcome *o, const struct tally *t)
{
    char price[MONEY_TEXT];
    printf("%-10s %llu nodes for $%s/h, %llu pods planned; stranded in any order in %llu clusters "
           "(%.2f%%)",
           what, (unsigned long long)o->launched, money_exact(o->price_pusd_h, price),
           (unsigned long long)o->planned, (unsigned long long)o->ever,
           percent(o->ever, t->clusters));
    for (int i = 0; i < STAGE_ORDERS; i++) {
        printf(", %s in %llu (%.2f%%; %.2f%% of the pods)", stage_order_names[i],
               (unsigned long long)o->stranding[i], percent(o->stranding[i], t->clusters),
               percent(o->planned - o->ran[i], o->planned));
    }
    printf("\n          ");
    for (int i = 0; i < CAUSES; i++) {
        printf("%s %s %llu", i > 0 ? "," : "", cause_names[i], (unsigned long long)o->causes[i]);
    }
    printf("\n");
}

static void sum_up_comparison(const struct tally *t)
{
    printf("cheaper than the baseline in %llu clusters (%.2f%%), dearer in %llu; strands more in "
           "%llu (%.2f%%)\n",
           (unsigned long long)t->cheaper, percent(t->cheaper, t->clusters),
           (unsigned long long)t->dearer, (unsigned long long)t->worse,
           percent(t->worse, t->clusters));
    printf("no known plan for that price and number of nodes strands less in %llu of the %llu\n",
           (unsigned long long)(t->sides[SIDE_PLAN].ever - t->better),
           (unsigned long long)t->sides[SIDE_PLAN].ever);
}

static void hold(struct tally *t, const char *what, double is, double limit)
{
    if (is > limit) {
        printf("%s: %.2f%%, no more than %.2f%% are allowed\n", what, is, limit);
        t->over++;
    }
}

#define CHECKS (3 + STAGE_ORDERS)

static void check_limits(const struct command *c, struct tally *t)
{
    const struct outcome *o = &t->sides[SIDE_PLAN];
    bool usual = c->make.usual;
    bool many = t->clusters >= (usual ? DIFF_CLUSTERS_MANY_USUAL : DIFF_CLUSTERS_MANY) &&
                c->pods == (usual ? DIFF_PODS_USUAL : DIFF_PODS);
    const struct diff_limits loose = {
        100,
        usual || t->clusters < DIFF_CLUSTERS_SOME ? 100 : DIFF_WORSE_MAX,
        {DIFF_STRANDED_MAX, usual ? 100 : DIFF_STRANDED_MAX},
    };
    const struct diff_limits *most = many ? &diff_limits[usual] : &loose;
    hold(t, "dearer than the baseline", percent(t->dearer, t->clusters), 0);
    hold(t, "clusters that strand pods", percent(o->ever, t->clusters), most->stranding);
    hold(t, "clusters that strand more than with the baseline", percent(t->worse, t->clusters),
         most->worse);
    for (int i = 0; i < STAGE_ORDERS && o->planned >= DIFF_CLUSTERS_SOME; i++) {
        hold(t, "stranded pods", percent(o->planned - o->ran[i], o->planned), most->stranded[i]);
    }
}

static void sum_up(const struct command *c, struct tally *t)
{
    printf("%llu clusters, of which %llu need new nodes; %llu pods refused\n",
           (unsigned long long)t->clusters, (unsigned long long)t->planning,
           (unsigned long long)t->refused);
    sum_up_outcome(c->placement, &t->sides[SIDE_PLAN], t);
    sum_up_outcome(DECIDE_BASELINE, &t->sides[SIDE_BASELINE], t);
    sum_up_comparison(t);
    check_limits(c, t);
    printf("%llu passed, %llu failed\n",
           (unsigned long long)(t->clusters - t->faulty + CHECKS - t->over),
           (unsigned long long)(t->faulty + t->over));
}

static int show(const struct command *c)
{
    struct err e = ERR_INIT;
    struct tally t = {0};
    struct diff_cluster cluster;
    diff_cluster_make(&c->make, (uint64_t)c->show, &cluster);
    int rc = write_objects(c->dir, "cluster.json", &cluster, &e);
    play_seed(c, (uint64_t)c->show, &t);
    printf("kubectl-karp simulate --snapshot %s/cluster.json --region %s --preference-policy %s "
           "%s%s --placement %s\n",
           c->dir, DIFF_REGION, cluster.policy, cluster.types ? "--types " : "",
           cluster.types ? cluster.types : "", c->placement);
    diff_cluster_done(&cluster);
    if (rc) {
        fprintf(stderr, "karp-sim: %s\n", e.msg);
    }
    return rc || t.faulty ? 1 : 0;
}

int differential_main(int argc, char **argv)
{
    struct command c;
    struct tally t = {0};
    int rc = parse(&c, argc, argv);
    if (rc) {
        return rc;
    }
    if (c.show >= 0) {
        return show(&c);
    }
    for (int64_t i = 0; i < c.clusters; i++) {
        play_seed(&c, (uint64_t)(c.seed + i), &t);
    }
    sum_up(&c, &t);
    return t.faulty || t.over ? 1 : 0;
}
