/* differential.c - see differential.h */
#include "differential.h"

#include "cmd/status/money.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "judge.h"

#define CLUSTERS_MAX 1000000

struct command {
    int64_t clusters, seed, show, pods, list;
    const char *dir, *write, *placement, *kind, *types;
    struct diff_kind make;
};

/* What became of planned pods of settled clusters. */
struct outcome {
    uint64_t planned, launched;
    int64_t price_pusd_h;
    uint64_t ran[STAGE_ORDERS], stranding[STAGE_ORDERS]; /* clusters: a planned pod does not run */
    uint64_t lost; /* pods that do not run, in all orders */
    uint64_t ever; /* clusters where a planned pod does not run, in any order */
};

enum side { SIDE_PLAN, SIDE_BASELINE, SIDES }; /* the latter: with the placement as Karpenter's */

struct tally {
    uint64_t clusters, faulty, refused;
    uint64_t planning; /* clusters where a plan has new nodes */
    struct outcome sides[SIDES];
    uint64_t worse; /* clusters where more do not run than with the baseline */
    uint64_t cheaper;
    bool share;     /* it is too small */
    bool stranding; /* in too many clusters */
};

static int usage(const char *what)
{
    fprintf(stderr,
            "karp-sim: %s\n"
            "usage: karp-sim differential [--kind odd|usual] [--types few|all] [--pods N]\n"
            "           [--placement P] [--clusters N] [--seed S] [--write DIR]\n"
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
                          : str_eq(argv[i], "--list")   ? &c->list
                                                        : NULL;
        const char **text = str_eq(argv[i], "--dir")         ? &c->dir
                            : str_eq(argv[i], "--write")     ? &c->write
                            : str_eq(argv[i], "--placement") ? &c->placement
                            : str_eq(argv[i], "--kind")      ? &c->kind
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

typedef void (*pod_fn)(void *ctx, const struct pod *p, const char *node);

/* Planned pods with the node that they are planned on. */
static void each_planned(const struct sched_result *r, pod_fn fn, void *ctx)
{
    for (uint32_t i = 0; i < r->n_existing; i++) {
        fn(ctx, r->existing[i].pod, r->existing[i].node->name);
    }
    for (uint32_t i = 0; i < r->n_claims; i++) {
        char name[STAGE_NAME];
        stage_name_new(i, name);
        for (uint32_t k = 0; k < r->claims[i].n_pods; k++) {
            fn(ctx, r->claims[i].pods[k], name);
        }
    }
}

/* Pods that are alike: who of them runs is all the same. */
struct crowd {
    uint64_t class_hash;
    uint32_t planned, run;
};

struct count {
    const struct stage *s;
    struct crowd *crowds;
    uint32_t n;
    bool tell;
};

static struct crowd *crowd_of(struct count *c, const struct pod *p)
{
    uint64_t hash = stage_pod(c->s, p)->class_hash;
    uint32_t i = 0;
    while (i < c->n && c->crowds[i].class_hash != hash) {
        i++;
    }
    if (i == c->n) {
        c->crowds[c->n++] = (struct crowd){.class_hash = hash};
    }
    return &c->crowds[i];
}

static void count_pod(struct count *c, const struct pod *p, const char *node)
{
    const char *why, *where = stage_where(c->s, p, &why);
    struct crowd *crowd = crowd_of(c, p);
    crowd->planned += node != NULL;
    crowd->run += where[0] != '\0';
    if (c->tell && where[0]) {
        printf("  %s/%s %s%s, runs on %s\n", p->m.ns, p->m.name,
               node ? "planned on " : "refused", node ? node : "", where);
    } else if (c->tell && node) {
        printf("  %s/%s planned on %s, waits: %s\n", p->m.ns, p->m.name, node, why);
    }
}

static void count_planned(void *ctx, const struct pod *p, const char *node)
{
    count_pod(ctx, p, node);
}

/* Adds what became of the planned pods. */
static void count_stage(const struct stage *s, enum stage_order order, bool tell,
                        struct outcome *o)
{
    const struct sched_result *r = s->plan->result;
    AUTO_FREE struct crowd *crowds = NEW_N(struct crowd, s->plan->decision.snap.n_pods + 1);
    struct count c = {.s = s, .crowds = crowds, .tell = tell};
    uint64_t planned = 0, lost = 0;
    each_planned(r, count_planned, &c);
    for (uint32_t i = 0; i < r->n_refused; i++) {
        count_pod(&c, r->refused[i].pod, NULL);
    }
    for (uint32_t i = 0; i < c.n; i++) {
        planned += crowds[i].planned;
        lost += crowds[i].planned > crowds[i].run ? crowds[i].planned - crowds[i].run : 0;
    }
    o->planned += order == 0 ? planned : 0;
    o->ran[order] += planned - lost;
    o->stranding[order] += lost > 0;
    o->lost += lost;
    if (tell) {
        printf("  STRANDED: %llu\n", (unsigned long long)lost);
    }
}

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
    each_planned(s->plan->result, note_planned, &n);
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

/* One plan of a settled cluster, in every order. */
static int play(const struct diff_plan *plan, const struct diff_cluster *settled, bool tell,
                struct outcome *o, struct err *reterr)
{
    static const char *const orders[] = {"all at once", "one by one"};
    const struct sched_result *r = plan->result;
    uint64_t lost = o->lost;
    o->launched += r->n_claims;
    o->price_pusd_h += r->price_pusd_h;
    for (int i = 0; i < STAGE_ORDERS && r->n_claims + r->n_existing > 0; i++) {
        struct stage s;
        if (stage_play(settled, plan, (enum stage_order)i, &s, reterr)) {
            return -1;
        }
        if (tell) {
            printf(" new nodes %s:\n", orders[i]);
        }
        count_stage(&s, (enum stage_order)i, tell, o);
        stage_done(&s);
    }
    o->ever += o->lost > lost;
    return 0;
}

static void add_outcome(struct outcome *o, const struct outcome *more)
{
    o->planned += more->planned;
    o->launched += more->launched;
    o->price_pusd_h += more->price_pusd_h;
    for (int i = 0; i < STAGE_ORDERS; i++) {
        o->ran[i] += more->ran[i];
        o->stranding[i] += more->stranding[i];
    }
    o->lost += more->lost;
    o->ever += more->ever;
}

/* The same cluster with our plan and with the one that Karpenter would make. */
static int play_sides(const struct command *c, const struct diff_cluster *settled, struct tally *t,
                      struct err *reterr)
{
    struct outcome o[SIDES] = {{0}};
    struct diff_plan plans[SIDES];
    int n = 0, rc = 0;
    for (; n < SIDES && rc == 0; n += rc == 0) {
        struct diff_way way = {.placement = n == SIDE_PLAN ? c->placement : DECIDE_BASELINE,
                               .slice = 1000000};
        rc = diff_plan_make(settled, &way, &plans[n], reterr);
    }
    for (int i = 0; i < n && rc == 0; i++) {
        if (c->show >= 0) {
            printf("%s, of what waits when the cluster has settled:\n%s",
                   i == SIDE_PLAN ? c->placement : DECIDE_BASELINE, plans[i].text);
        }
        if (i > 0 && c->show < 0 && str_eq(plans[0].text, plans[i].text)) {
            o[i] = o[0];
        } else {
            rc = play(&plans[i], settled, c->show >= 0, &o[i], reterr);
        }
    }
    for (int i = 0; i < n; i++) {
        add_outcome(&t->sides[i], &o[i]);
        diff_plan_done(&plans[i]);
    }
    if (c->list && o[SIDE_PLAN].lost + o[SIDE_BASELINE].lost > 0) {
        printf("cluster %llu strands %llu of %llu pods, %llu with the baseline\n", (unsigned long long)settled->seed,
               (unsigned long long)o[SIDE_PLAN].lost, (unsigned long long)o[SIDE_PLAN].planned * STAGE_ORDERS, (unsigned long long)o[SIDE_BASELINE].lost);
    }
    t->planning += o[SIDE_BASELINE].launched > 0;
    t->worse += o[SIDE_PLAN].lost > o[SIDE_BASELINE].lost;
    t->cheaper += o[SIDE_PLAN].price_pusd_h < o[SIDE_BASELINE].price_pusd_h;
    return rc;
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
        printf("  again: karp-sim differential --show %llu\n", (unsigned long long)seed);
    }
    judge_done(&j);
    diff_cluster_done(&cluster);
    return 0;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 1;
}

static void sum_up_outcome(const char *what, const struct outcome *o, const struct tally *t)
{
    char price[MONEY_TEXT];
    printf("%-10s %6llu nodes, $%s/h, %llu pods planned; do not run: all at once %.2f%% (%llu "
           "clusters), one by one %.2f%% (%llu); some in %llu clusters (%.2f%%)\n",
           what, (unsigned long long)o->launched, money_exact(o->price_pusd_h, price),
           (unsigned long long)o->planned,
           100 - 100 * share(o->ran[STAGE_AT_ONCE], o->planned),
           (unsigned long long)o->stranding[STAGE_AT_ONCE],
           100 - 100 * share(o->ran[STAGE_ONE_BY_ONE], o->planned),
           (unsigned long long)o->stranding[STAGE_ONE_BY_ONE], (unsigned long long)o->ever,
           100 * share(o->ever, t->clusters));
}

static void sum_up(const struct command *c, struct tally *t)
{
    const struct outcome *o = &t->sides[SIDE_PLAN];
    for (int i = 0; i < STAGE_ORDERS; i++) {
        t->share = t->share || (o->planned >= DIFF_SHARE_PODS &&
                                share(o->ran[i], o->planned) < DIFF_SHARE_MIN);
    }
    t->stranding =
        t->clusters >= DIFF_WORSE_CLUSTERS && share(t->worse, t->clusters) > DIFF_WORSE_MAX;
    printf("%llu clusters, of which %llu need new nodes; %llu pods refused\n",
           (unsigned long long)t->clusters, (unsigned long long)t->planning,
           (unsigned long long)t->refused);
    sum_up_outcome(c->placement, o, t);
    sum_up_outcome(DECIDE_BASELINE, &t->sides[SIDE_BASELINE], t);
    printf("cheaper than the baseline in %llu clusters (%.2f%%); more do not run than with it in "
           "%llu (%.2f%%)\n",
           (unsigned long long)t->cheaper, 100 * share(t->cheaper, t->clusters),
           (unsigned long long)t->worse, 100 * share(t->worse, t->clusters));
    if (t->share) {
        printf("less than %.0f%% of the planned pods run\n", 100 * DIFF_SHARE_MIN);
    }
    if (t->stranding) {
        printf("that is more than %.0f%% of the clusters\n", 100 * DIFF_WORSE_MAX);
    }
    printf("%llu passed, %llu failed\n",
           (unsigned long long)(t->clusters - t->faulty + !t->share + !t->stranding),
           (unsigned long long)(t->faulty + t->share + t->stranding));
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
    return t.faulty || t.share || t.stranding ? 1 : 0;
}
