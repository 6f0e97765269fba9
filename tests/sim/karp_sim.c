/*
 * karp_sim.c - karp-sim: plays scenario files in virtual time.
 *
 *   karp-sim run FILE... [--seed N] [--faults none|mild|harsh] [--trace] [-o table|json]
 *   karp-sim campaign FILE... --seeds A-B [--faults none|mild|harsh] [-j N]
 *   karp-sim compare FILE               see compare.h
 *   karp-sim differential ...           see diff/differential.h
 *
 * Both take --turn-limit-ms N: work then takes (processor) time for the agents, as it does in life,
 * and a turn above N is a violation. Such a run depends on the machine: its seed does not replay
 * it.
 *
 * Exit status: 0 all expectations held and no invariant was violated; 1 one failed; 2 wrong usage
 * or a wrong file.
 */
#include "campaign.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "compare.h"
#include "run.h"
#include "tests/sim/diff/differential.h"

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#define FILES_MAX 1000
#define TURN_LIMIT_MAX_MS 3600000
#define KEEP_BYTES (1 << 30)
#define KEEP_STEP_BYTES (16 << 20)

struct command {
    const char *files[FILES_MAX];
    int n_files;
    int64_t seed, last_seed, workers, turn_limit_ms;
    enum faults_level faults;
    bool trace, json, campaign;
};

static const char usages[] =
    "usage: karp-sim run FILE... [--seed N] [--faults none|mild|harsh] [--trace] [-o table|json]\n"
    "       karp-sim campaign FILE... --seeds A-B [--faults none|mild|harsh] [-j N]\n"
    "       both: [--turn-limit-ms N]\n"
    "       karp-sim differential [--clusters N] [--seed S] [--pods N] [--placement P] "
    "[--write DIR]\n"
    "       karp-sim differential --show SEED [--pods N] [--placement P] [--dir DIR]\n"
    "       karp-sim compare FILE\n";

static int usage(const char *why, const char *what)
{
    fprintf(stderr, "karp-sim: %s%s\n%s", why, what, usages);
    return 2;
}

static bool wants_help(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (str_eq(argv[i], "--help") || str_eq(argv[i], "-h")) {
            return true;
        }
    }
    return false;
}

/* The value of "--name V" or "--name=V" at argv[*i], or NULL if it is another argument. */
static const char *value_of(int argc, char **argv, int *i, const char *name)
{
    size_t n = strlen(name);
    if (strncmp(argv[*i], name, n) != 0) {
        return NULL;
    }
    if (argv[*i][n] == '=') {
        return argv[*i] + n + 1;
    }
    return argv[*i][n] == '\0' && *i + 1 < argc ? argv[++*i] : NULL;
}

static bool parse_seeds(const char *s, struct command *c)
{
    char first[32];
    const char *dash = strchr(s, '-');
    if (!dash || (size_t)(dash - s) >= sizeof(first)) {
        return false;
    }
    memcpy(first, s, (size_t)(dash - s));
    first[dash - s] = '\0';
    return str_parse_i64(first, &c->seed) && str_parse_i64(dash + 1, &c->last_seed) &&
           c->seed <= c->last_seed;
}

static int parse_arg(struct command *c, int argc, char **argv, int *i)
{
    const char *v;
    if (str_eq(argv[*i], "--trace")) {
        c->trace = true;
    } else if ((v = value_of(argc, argv, i, "--seeds")) != NULL) {
        if (!parse_seeds(v, c)) {
            return usage("--seeds takes A-B, not ", v);
        }
    } else if ((v = value_of(argc, argv, i, "--seed")) != NULL) {
        if (!str_parse_i64(v, &c->seed) || c->seed < 0) {
            return usage("--seed takes a number, not ", v);
        }
        c->last_seed = c->seed;
    } else if ((v = value_of(argc, argv, i, "--faults")) != NULL) {
        if (!faults_parse(v, &c->faults)) {
            return usage("--faults takes none, mild or harsh, not ", v);
        }
    } else if ((v = value_of(argc, argv, i, "--turn-limit-ms")) != NULL) {
        if (!str_parse_i64(v, &c->turn_limit_ms) || c->turn_limit_ms < 1 ||
            c->turn_limit_ms > TURN_LIMIT_MAX_MS) {
            return usage("--turn-limit-ms takes milliseconds, not ", v);
        }
    } else if ((v = value_of(argc, argv, i, "-j")) != NULL) {
        if (!str_parse_i64(v, &c->workers) || c->workers < 1 || c->workers > CAMPAIGN_WORKERS_MAX) {
            return usage("-j takes a number of workers, not ", v);
        }
    } else if ((v = value_of(argc, argv, i, "-o")) != NULL) {
        c->json = str_eq(v, "json");
        if (!c->json && !str_eq(v, "table")) {
            return usage("-o takes table or json, not ", v);
        }
    } else if (argv[*i][0] == '-') {
        return usage("unknown flag ", argv[*i]);
    } else if (c->n_files == FILES_MAX) {
        return usage("too many files", "");
    } else {
        c->files[c->n_files++] = argv[*i];
    }
    return 0;
}

static int parse(struct command *c, int argc, char **argv)
{
    if (argc < 2) {
        return usage("what to do?", "");
    }
    c->campaign = str_eq(argv[1], "campaign");
    if (!c->campaign && !str_eq(argv[1], "run")) {
        return usage("unknown command ", argv[1]);
    }
    c->seed = c->last_seed = 1;
    c->workers = sysconf(_SC_NPROCESSORS_ONLN);
    if (c->workers < 1 || c->workers > CAMPAIGN_WORKERS_MAX) {
        c->workers = 1;
    }
    for (int i = 2; i < argc; i++) {
        int rc = parse_arg(c, argc, argv, &i);
        if (rc) {
            return rc;
        }
    }
    return c->n_files ? 0 : usage("no scenario file", "");
}

/* ---- output -------------------------------------------------------------------------------------
 */

static void print_trace(void *ctx, const char *line)
{
    fprintf(ctx, "%s\n", line);
}

static void print_list(const char *title, const struct run_texts *t)
{
    for (size_t i = 0; i < t->n; i++) {
        printf("  %s  %s\n", title, t->v[i]);
    }
}

static void print_summary(const struct sim_run *r, const json_t *report)
{
    const json_t *s = json_object_get(report, "summary");
    printf(
        "  nodes %lld launched, %lld removed   evictions %lld   $%.4f   pods waited %.0f s (p50), "
        "%.0f s (p99)\n  EC2 calls %lld   API writes %lld   %.0f virtual seconds in %lld ms\n",
        (long long)jsonx_int(s, "nodesLaunched", 0), (long long)jsonx_int(s, "nodesRemoved", 0),
        (long long)jsonx_int(s, "evictions", 0), json_real_value(json_object_get(s, "dollars")),
        json_real_value(json_object_get(s, "podsPendingSecondsP50")),
        json_real_value(json_object_get(s, "podsPendingSecondsP99")),
        (long long)jsonx_int(s, "ec2Calls", 0), (long long)jsonx_int(s, "kubeWrites", 0),
        json_real_value(json_object_get(report, "virtualSeconds")),
        (long long)jsonx_int(report, "wallMilliseconds", 0));
    if (r->opt.turn_limit_ns) {
        struct rusage used;
        getrusage(RUSAGE_SELF, &used);
        printf("  agents %lld ms of CPU, longest turn %.1f ms, at most %lld API calls a second; "
               "with the world %ld MiB\n",
               (long long)(r->agents_cpu_ns / NS_PER_MS),
               (double)r->longest_turn_ns / (double)NS_PER_MS,
               (long long)jsonx_int(s, "kubeCallsPerSecondMost", 0), used.ru_maxrss / 1024);
    }
    printf("%s  %s (seed %llu)\n", sim_run_passed(r) ? "PASSED" : "FAILED", r->scenario->name,
           (unsigned long long)r->opt.seed);
}

static void print_table(const struct sim_run *r, const json_t *report)
{
    char at[TIMEFMT_TEXT];
    printf("SCENARIO %s\n", r->scenario->name);
    for (size_t i = 0; i < r->world->n_notes; i++) {
        int64_t ms = r->world->notes[i].at_ns / NS_PER_MS;
        timefmt_duration(ms / 100 * 100 * NS_PER_MS, at);
        printf("  %9s  %s\n", at, r->world->notes[i].what);
    }
    print_list("failed", &r->failures);
    print_list("violated", &r->violations);
    print_summary(r, report);
}

/* ---- one run
 * ------------------------------------------------------------------------------------- */

/* NULL if the file turned out to be wrong, which was told. */
static struct sim_run *play(const struct command *c, const struct scenario *s, uint64_t seed)
{
    struct err err = ERR_INIT;
    struct run_options o = {
        .seed = seed, .faults = c->faults, .turn_limit_ns = c->turn_limit_ms * NS_PER_MS};
    if (c->trace) {
        o.trace = print_trace;
        o.trace_ctx = stdout;
    }
    struct sim_run *r = sim_run_new(s, &o, &err);
    if (!r || sim_run_play(r, &err) < 0) {
        fprintf(stderr, "karp-sim: %s\n", err.msg);
        sim_run_free(r);
        return NULL;
    }
    return r;
}

/* 0 passed, 1 failed, 2 wrong file. */
static int run_one(const struct command *c, const struct scenario *s)
{
    int64_t started = clock_mono(&clock_real);
    struct sim_run *r = play(c, s, (uint64_t)c->seed);
    if (!r) {
        return 2;
    }
    int rc = sim_run_passed(r) ? 0 : 1;
    AUTO_JSON json_t *report = sim_run_report(r, (clock_mono(&clock_real) - started) / NS_PER_MS);
    if (c->json) {
        char *text AUTO_FREE = json_dumps(report, JSON_INDENT(2));
        printf("%s\n", text);
    } else if (!c->trace) {
        print_table(r, report);
    }
    sim_run_free(r);
    return rc;
}

static int play_job(void *ctx, const struct scenario *s, int64_t seed, struct campaign_result *ret)
{
    struct sim_run *r = play(ctx, s, (uint64_t)seed);
    if (!r) {
        return 2;
    }
    ret->passed = sim_run_passed(r);
    ret->virtual_s = (double)vclock_now(&r->world->clock) / (double)NS_PER_S;
    if (!ret->passed) {
        str_copy(ret->why, sizeof(ret->why),
                 r->violations.n ? r->violations.v[0] : r->failures.v[0]);
    }
    sim_run_free(r);
    return 0;
}

static int run_campaign(struct command *c, const struct scenario *files)
{
    char flags[64] = "";
    if (c->faults != FAULTS_NONE) {
        snprintf(flags, sizeof(flags), " --faults %s", faults_name(c->faults));
    }
    c->trace = c->json = false;
    struct campaign k = {.files = files,
                         .n_files = c->n_files,
                         .first_seed = c->seed,
                         .last_seed = c->last_seed,
                         .workers = (int)c->workers,
                         .replay_flags = flags,
                         .play = play_job,
                         .ctx = c};
    return campaign_run(&k);
}

static int run_all(struct command *c)
{
    struct scenario *files = NEW_N(struct scenario, (size_t)c->n_files);
    struct err err = ERR_INIT;
    int worst = 0, n = 0;
    while (n < c->n_files && scenario_read(c->files[n], &files[n], &err) == 0) {
        n++;
    }
    if (n < c->n_files) {
        fprintf(stderr, "karp-sim: %s\n", err.msg);
        worst = 2;
    } else if (c->campaign) {
        worst = run_campaign(c, files);
    }
    for (int i = 0; i < n && !c->campaign && worst < 2; i++) {
        int rc = run_one(c, &files[i]);
        worst = rc > worst ? rc : worst;
    }
    for (int i = 0; i < n; i++) {
        scenario_done(&files[i]);
    }
    free(files);
    return worst;
}

/* Runs take and return the same megabytes again and again: the kernel need not hear of it. */
static void keep_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, KEEP_BYTES);
    mallopt(M_TRIM_THRESHOLD, KEEP_BYTES);
    mallopt(M_TOP_PAD, KEEP_STEP_BYTES);
}

int main(int argc, char **argv)
{
    struct command c = {.n_files = 0};
    keep_memory();
    if (wants_help(argc, argv)) {
        fputs(usages, stdout);
        return 0;
    }
    if (argc == 3 && str_eq(argv[1], "compare")) {
        return compare_main(argv[2]);
    }
    if (argc >= 2 && str_eq(argv[1], "differential")) {
        return differential_main(argc - 2, argv + 2);
    }
    int rc = parse(&c, argc, argv);
    return rc ? rc : run_all(&c);
}
