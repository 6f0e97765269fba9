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
    int64_t clusters, seed, show, pods;
    const char *dir, *write, *placement;
};

/* What became of planned pods. */
struct outcome {
    uint64_t planned, ran, launched, stranding; /* clusters where a planned pod does not run */
    int64_t price_pusd_h;
};

struct tally {
    uint64_t clusters, faulty, refused, refused_ran;
    struct outcome plan, baseline; /* the latter: with the placement as Karpenter's */
    uint64_t worse;                /* clusters where more do not run than with the baseline */
    bool share;                    /* it is too small */
    bool stranding;                /* in too many clusters */
};

static int usage(const char *what)
{
    fprintf(stderr,
            "karp-sim: %s\n"
            "usage: karp-sim differential [--clusters N] [--seed S] [--pods N] [--placement P] "
            "[--write DIR]\n"
            "       karp-sim differential --show SEED [--pods N] [--placement P] [--dir DIR]\n",
            what);
    return 2;
}

static int parse(struct command *c, int argc, char **argv)
{
    *c = (struct command){.clusters = 200,
                          .seed = 1,
                          .show = -1,
                          .pods = DIFF_PODS,
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
                                                             : NULL;
        if ((!number && !text) || i + 1 == argc) {
            return usage(
                "differential takes --clusters, --seed, --pods, --show, --placement, --dir "
                "and --write");
        }
        if (number && (!str_parse_i64(argv[i + 1], number) || *number < 0)) {
            return usage("what must be a number is none");
        }
        if (text) {
            *text = argv[i + 1];
        }
    }
    enum placement p;
    if (c->pods < 1 || c->pods > DIFF_PODS_MAX) {
        return usage("no, or too many pods");
    }
    if (!str_eq(c->placement, DECIDE_BASELINE) && !sched_parse_placement(c->placement, &p)) {
        return usage("--placement is Baseline, Compatible or Cheapest");
    }
    return c->clusters >= 1 && c->clusters <= CLUSTERS_MAX ? 0 : usage("no, or too many clusters");
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

struct count {
    const struct stage *s;
    struct outcome *o;
    bool tell;
};

static void count_planned(void *ctx, const struct pod *p, const char *node)
{
    struct count *c = ctx;
    const char *why, *where = stage_where(c->s, p, &why);
    c->o->planned++;
    c->o->ran += where[0] != '\0';
    if (c->tell && where[0]) {
        printf("  %s/%s planned on %s, runs on %s\n", p->m.ns, p->m.name, node, where);
    } else if (c->tell) {
        printf("  %s/%s planned on %s, STRANDED: %s\n", p->m.ns, p->m.name, node, why);
    }
}

static uint64_t left_over(const struct outcome *o)
{
    return o->planned - o->ran;
}

static void count_outcome(const struct stage *s, bool tell, struct outcome *o)
{
    const struct sched_result *r = s->plan->result;
    struct count c = {s, o, tell};
    uint64_t before = left_over(o);
    each_planned(r, count_planned, &c);
    o->launched += r->n_claims;
    o->price_pusd_h += r->price_pusd_h;
    o->stranding += left_over(o) > before;
}

static void count(const struct stage *s, bool tell, struct tally *t)
{
    const struct sched_result *r = s->plan->result;
    count_outcome(s, tell, &t->plan);
    t->refused += r->n_refused;
    for (uint32_t i = 0; i < r->n_refused; i++) {
        const struct pod *p = r->refused[i].pod;
        const char *where = stage_where(s, p, NULL);
        t->refused_ran += where[0] != '\0';
        if (tell && where[0]) {
            printf("  %s/%s refused, runs on %s\n", p->m.ns, p->m.name, where);
        }
    }
}

static int write_json(const char *dir, const char *name, const json_t *o, struct err *reterr)
{
    AUTO_FREE char *path = xasprintf("%s/%s", dir, name);
    return json_dump_file(o, path, JSON_INDENT(1))
               ? err_set(reterr, ERR_INVALID, "%s cannot be written", path)
               : 0;
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

/* The same cluster with the plan that Karpenter would make. */
static int play_baseline(const struct diff_cluster *cluster, struct tally *t, struct err *reterr)
{
    struct diff_way way = {.placement = DECIDE_BASELINE, .slice = 1000000};
    struct diff_plan plan;
    struct stage s;
    if (diff_plan_make(cluster, &way, &plan, reterr)) {
        return -1;
    }
    int rc = stage_set(cluster, &plan, &s, reterr);
    if (rc == 0) {
        stage_run(&s);
        count_outcome(&s, false, &t->baseline);
        stage_done(&s);
    }
    diff_plan_done(&plan);
    return rc;
}

/* -1 if it could not be played at all. */
static int play(const struct command *c, const struct diff_cluster *cluster, struct tally *t,
                struct judgement *j, struct err *reterr)
{
    struct diff_way way = {.placement = c->placement, .slice = 1000000};
    struct diff_plan plan;
    struct stage s;
    bool tell = c->show >= 0;
    if (diff_plan_make(cluster, &way, &plan, reterr)) {
        return -1;
    }
    AUTO_FREE char *differs = diff_plan_differs(cluster, &plan);
    if (differs) {
        judge_add(j, "%s", differs);
    }
    if (tell) {
        printf("%s", plan.text);
    }
    int rc = stage_set(cluster, &plan, &s, reterr);
    if (rc == 0) {
        judge(&s, j);
        stage_run(&s);
        rc = c->write ? write_case(&s, c->write, reterr) : 0;
        count(&s, tell, t);
        stage_done(&s);
    }
    diff_plan_done(&plan);
    return rc;
}

static int play_seed(const struct command *c, uint64_t seed, struct tally *t)
{
    struct err e = ERR_INIT;
    struct diff_cluster cluster;
    struct judgement j = {.n = 0};
    diff_cluster_make(seed, (uint32_t)c->pods, &cluster);
    struct {
        uint64_t plan, baseline;
    } before = {left_over(&t->plan), left_over(&t->baseline)};
    t->clusters++;
    if (play(c, &cluster, t, &j, &e) || play_baseline(&cluster, t, &e)) {
        judge_add(&j, "%s", e.msg);
    }
    t->worse += left_over(&t->plan) - before.plan > left_over(&t->baseline) - before.baseline;
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

static void sum_up_outcome(const char *what, const struct outcome *o, uint64_t clusters)
{
    char price[MONEY_TEXT];
    printf("%s: %llu nodes launched for $%s/h, %llu pods planned: %.2f%% run; some do not in %llu "
           "clusters (%.2f%%)\n",
           what, (unsigned long long)o->launched, money_exact(o->price_pusd_h, price),
           (unsigned long long)o->planned, 100 * share(o->ran, o->planned),
           (unsigned long long)o->stranding, 100 * share(o->stranding, clusters));
}

static void sum_up(const struct command *c, struct tally *t)
{
    const struct outcome *o = &t->plan;
    t->share = o->planned >= DIFF_SHARE_PODS && share(o->ran, o->planned) < DIFF_SHARE_MIN;
    t->stranding =
        t->clusters >= DIFF_WORSE_CLUSTERS && share(t->worse, t->clusters) > DIFF_WORSE_MAX;
    sum_up_outcome(c->placement, o, t->clusters);
    sum_up_outcome(DECIDE_BASELINE, &t->baseline, t->clusters);
    printf("more do not run than with the baseline in %llu clusters (%.2f%%)\n",
           (unsigned long long)t->worse, 100 * share(t->worse, t->clusters));
    printf("%llu clusters; %llu pods refused, of which %llu run all the same\n",
           (unsigned long long)t->clusters, (unsigned long long)t->refused,
           (unsigned long long)t->refused_ran);
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
    diff_cluster_make((uint64_t)c->show, (uint32_t)c->pods, &cluster);
    AUTO_JSON json_t *list =
        json_pack("{s:s, s:s, s:O}", "apiVersion", "v1", "kind", "List", "items", cluster.objects);
    int rc = write_json(c->dir, "cluster.json", list, &e);
    play_seed(c, (uint64_t)c->show, &t);
    printf("kubectl-karp simulate --snapshot %s/cluster.json --region %s --preference-policy %s "
           "--types %s --placement %s\n",
           c->dir, DIFF_REGION, cluster.policy, DIFF_TYPES, c->placement);
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
