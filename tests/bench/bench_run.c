/* bench_run.c - see bench.h. */
#include "bench.h"

#include "cmd/status/money.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- processes ------------------------------------------------------------------------------- */

/* Never returns. The report, or {"error": ...}, goes to fd. */
static void child(int fd, bench_fn fn, const struct bench_input *in) NORETURN;
static void child(int fd, bench_fn fn, const struct bench_input *in)
{
    struct err err = ERR_INIT;
    json_t *report = fn(in, &err);
    if (!report) {
        report = json_pack("{s:s}", "error", err.msg);
    }
    _exit(json_dumpfd(report, fd, JSON_REAL_PRECISION(9)) ? 1 : 0);
}

/* What the child wrote to fd, which is closed; NULL unless it ended well. */
static json_t *harvest(pid_t pid, int fd, const char *what, struct err *reterr)
{
    int status = 0;
    json_error_t je;
    json_t *o = json_loadfd(fd, JSON_DISABLE_EOF_CHECK, &je);
    (void)close(fd);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    const char *error = jsonx_str(o, "error");
    if (status == 0 && o && !error) {
        return o;
    }
    if (error) {
        err_set(reterr, ERR_INVALID, "%s", error);
    } else if (WIFSIGNALED(status)) {
        err_set(reterr, ERR_UNAVAILABLE, "%s: %s", what, strsignal(WTERMSIG(status)));
    } else {
        err_set(reterr, ERR_UNAVAILABLE, "%s: no report (exit status %d)", what,
                WEXITSTATUS(status));
    }
    json_decref(o);
    return NULL;
}

static pid_t fork_with_pipe(int *ret_read, int *ret_write, struct err *reterr)
{
    int fds[2];
    if (pipe(fds)) {
        err_set(reterr, ERR_UNAVAILABLE, "pipe: %s", strerror(errno));
        return -1;
    }
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid < 0) {
        err_set(reterr, ERR_UNAVAILABLE, "fork: %s", strerror(errno));
        (void)close(fds[0]);
        (void)close(fds[1]);
        return -1;
    }
    (void)close(fds[pid == 0 ? 0 : 1]);
    *ret_read = fds[0];
    *ret_write = fds[1];
    return pid;
}

json_t *bench_apart(bench_fn fn, const struct bench_input *in, struct err *reterr)
{
    int from, to;
    pid_t pid = fork_with_pipe(&from, &to, reterr);
    if (pid < 0) {
        return NULL;
    }
    if (pid == 0) {
        child(to, fn, in);
    }
    return harvest(pid, from, in->name, reterr);
}

json_t *bench_program(const char *const *argv, struct err *reterr)
{
    int from, to;
    pid_t pid = fork_with_pipe(&from, &to, reterr);
    if (pid < 0) {
        return NULL;
    }
    if (pid == 0) {
        if (dup2(to, STDOUT_FILENO) >= 0) {
            (void)execvp(argv[0], (char *const *)(uintptr_t)argv);
        }
        fprintf(stderr, "karp-bench: %s: %s\n", argv[0], strerror(errno));
        _exit(127);
    }
    return harvest(pid, from, argv[0], reterr);
}

/* ---- clock and memory ------------------------------------------------------------------------ */

static double clock_ms(clockid_t id)
{
    struct timespec t;
    (void)clock_gettime(id, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double now_ms(void)
{
    return clock_ms(CLOCK_MONOTONIC);
}

double bench_cpu_ms(void)
{
    return clock_ms(CLOCK_PROCESS_CPUTIME_ID);
}

static int cmp_ms(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}

static double median(double *ms, uint32_t n)
{
    qsort(ms, n, sizeof(*ms), cmp_ms);
    return ms[n / 2];
}

static int64_t status_bytes(const char *field)
{
    char line[256];
    int64_t kib = 0;
    FILE *f = fopen("/proc/self/status", "re");
    while (f && fgets(line, sizeof(line), f)) {
        if (str_starts(line, field)) {
            kib = strtoll(line + strlen(field), NULL, 10);
        }
    }
    if (f) {
        (void)fclose(f);
    }
    return kib * 1024;
}

static int64_t rss_begin(void)
{
    (void)malloc_trim(0);
    FILE *f = fopen("/proc/self/clear_refs", "we");
    if (f) {
        (void)fputs("5\n", f);
        (void)fclose(f);
    }
    return status_bytes("VmRSS:");
}

static int64_t rss_peak(void)
{
    return status_bytes("VmHWM:");
}

/* ---- reports --------------------------------------------------------------------------------- */

json_t *bench_price(int64_t pusd_h)
{
    char text[MONEY_TEXT];
    return json_string(money_exact(pusd_h, text));
}

void bench_put_int(json_t *o, const char *key, int64_t n)
{
    json_object_set_new(o, key, json_integer(n));
}

int bench_write_plan(const char *path, json_t *plan, struct err *reterr)
{
    AUTO_JSON json_t *own = plan;
    if (json_dump_file(own, path, JSON_INDENT(1))) {
        return err_set(reterr, ERR_INVALID, "%s: cannot be written", path);
    }
    return 0;
}

/* ---- runs ------------------------------------------------------------------------------------ */

struct took {
    double ms[BENCH_REPEAT_MAX], cpu[BENCH_REPEAT_MAX];
    int64_t rss;
};

static json_t *report_of(const struct bench_input *in, const struct bench_world *b, struct took *t)
{
    json_t *o = json_object();
    json_object_set_new(o, "kind", json_string("BenchReport"));
    json_object_set_new(o, "input", json_string(in->name));
    bench_put_int(o, "pods", (int64_t)world_n(&b->w, KIND_POD));
    bench_put_int(o, "nodes", (int64_t)world_n(&b->w, KIND_NODE));
    json_object_set_new(o, "milliseconds", json_real(median(t->ms, in->repeat)));
    json_object_set_new(o, "cpuMilliseconds", json_real(median(t->cpu, in->repeat)));
    bench_put_int(o, "peakRssBytes", t->rss);
    return o;
}

static json_t *run(const struct bench_input *in, const struct bench_world *b,
                   const struct bench_decision *d, uint32_t i, struct took *t, struct err *reterr)
{
    struct arena mem;
    struct snapshot snap;
    json_t *o = NULL;
    if (i == 0) {
        t->rss = rss_begin();
    }
    arena_init(&mem, 1 << 20, SIZE_MAX);
    double start = now_ms(), cpu = bench_cpu_ms();
    void *decided = d->decide(&mem, in, b, &snap);
    t->ms[i] = now_ms() - start;
    t->cpu[i] = bench_cpu_ms() - cpu;
    if (i + 1 == in->repeat) {
        t->rss = rss_peak() - t->rss;
        o = report_of(in, b, t);
        if (d->report(&mem, in, b, &snap, decided, o, reterr)) {
            json_decref(o);
            o = NULL;
        }
    }
    arena_done(&mem);
    return o;
}

json_t *bench_measure(const struct bench_input *in, const struct bench_decision *d,
                      struct err *reterr)
{
    static struct took t;
    struct bench_world b;
    json_t *ret = NULL;
    if (bench_read(in, &b, reterr)) {
        return NULL;
    }
    for (uint32_t i = 0; i < in->repeat; i++) {
        ret = run(in, &b, d, i, &t, reterr);
    }
    bench_world_done(&b);
    return ret;
}
