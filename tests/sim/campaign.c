#include "campaign.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Shared by all processes of a campaign. A record on the pipe is smaller than PIPE_BUF. */
struct board {
    atomic_llong next;                     /* the job that nobody has taken yet */
    atomic_bool wrong;                     /* a file is wrong */
    atomic_llong at[CAMPAIGN_WORKERS_MAX]; /* the job a worker is at, -1 none */
};

struct record {
    int64_t job;
    struct campaign_result result;
};

struct crew {
    const struct campaign *c;
    struct board *board;
    int pipe[2];
    pid_t pid[CAMPAIGN_WORKERS_MAX];
    int alive;
    int64_t jobs, passed, failed;
    double virtual_s;
};

static int64_t seeds_of(const struct campaign *c)
{
    return c->last_seed - c->first_seed + 1;
}

static const struct scenario *file_of(const struct campaign *c, int64_t job)
{
    return &c->files[job / seeds_of(c)];
}

static int64_t seed_of(const struct campaign *c, int64_t job)
{
    return c->first_seed + job % seeds_of(c);
}

/* ---- a worker
 * ------------------------------------------------------------------------------------- */

static void work(struct crew *w, int number)
{
    const struct campaign *c = w->c;
    struct board *b = w->board;
    for (;;) {
        int64_t job = atomic_fetch_add(&b->next, 1);
        if (job >= w->jobs || atomic_load(&b->wrong)) {
            return;
        }
        struct record rec;
        memset(&rec, 0, sizeof(rec));
        rec.job = job;
        atomic_store(&b->at[number], job);
        alarm(CAMPAIGN_HANG_S);
        int rc = c->play(c->ctx, file_of(c, job), seed_of(c, job), &rec.result);
        alarm(0);
        if (rc == 2) {
            atomic_store(&b->wrong, true);
            return;
        }
        if (write(w->pipe[1], &rec, sizeof(rec)) != (ssize_t)sizeof(rec)) {
            return;
        }
        atomic_store(&b->at[number], -1);
    }
}

static bool hire(struct crew *w, int number)
{
    fflush(NULL);
    atomic_store(&w->board->at[number], -1);
    pid_t pid = fork();
    if (pid < 0) {
        return false;
    }
    if (pid == 0) {
        close(w->pipe[0]);
        work(w, number);
        fflush(NULL);
        _exit(0);
    }
    w->pid[number] = pid;
    w->alive++;
    return true;
}

/* ---- the parent
 * ----------------------------------------------------------------------------------- */

static void count(struct crew *w, const struct record *rec)
{
    const struct campaign *c = w->c;
    w->virtual_s += rec->result.virtual_s;
    if (rec->result.passed) {
        w->passed++;
        return;
    }
    w->failed++;
    const struct scenario *s = file_of(c, rec->job);
    long long seed = (long long)seed_of(c, rec->job);
    printf("FAILED  %s seed %lld: %s\n        replay: karp-sim run %s --seed %lld%s\n", s->name,
           seed, rec->result.why, s->path, seed, c->replay_flags);
    fflush(stdout);
}

static void collect(struct crew *w)
{
    struct record rec;
    while (read(w->pipe[0], &rec, sizeof(rec)) == (ssize_t)sizeof(rec)) {
        count(w, &rec);
    }
}

/* A worker has ended: well, or of its job. */
static void bury(struct crew *w, int number, int status)
{
    int64_t job = atomic_load(&w->board->at[number]);
    bool well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    w->pid[number] = 0;
    w->alive--;
    if (well || job < 0) {
        return;
    }
    struct record rec;
    memset(&rec, 0, sizeof(rec));
    rec.job = job;
    snprintf(rec.result.why, sizeof(rec.result.why), "%s %d",
             WIFSIGNALED(status) ? WTERMSIG(status) == SIGALRM ? "hangs, signal" : "dies of signal"
                                 : "exits with status",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    count(w, &rec);
    hire(w, number);
}

static void await(struct crew *w)
{
    while (w->alive > 0) {
        int status;
        collect(w);
        pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid <= 0) {
            usleep(20000);
            continue;
        }
        collect(w);
        for (int i = 0; i < w->c->workers; i++) {
            if (w->pid[i] == pid) {
                bury(w, i, status);
                break;
            }
        }
    }
    collect(w);
}

static bool crew_new(struct crew *w, const struct campaign *c)
{
    *w = (struct crew){.c = c, .jobs = seeds_of(c) * c->n_files};
    w->board =
        mmap(NULL, sizeof(*w->board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (w->board == MAP_FAILED || pipe(w->pipe) < 0) {
        return false;
    }
    fcntl(w->pipe[0], F_SETFL, O_NONBLOCK);
    return true;
}

int campaign_run(const struct campaign *c)
{
    struct crew w;
    int64_t started_ns = clock_mono(&clock_real);
    if (!crew_new(&w, c)) {
        fprintf(stderr, "karp-sim: cannot start workers: %s\n", strerror(errno));
        return 2;
    }
    for (int i = 0; i < c->workers; i++) {
        hire(&w, i);
    }
    await(&w);
    bool wrong = atomic_load(&w.board->wrong);
    munmap(w.board, sizeof(*w.board));
    close(w.pipe[0]);
    close(w.pipe[1]);
    if (wrong) {
        return 2;
    }
    double wall_s = (double)(clock_mono(&clock_real) - started_ns) / (double)NS_PER_S;
    double hours = w.virtual_s / 3600;
    printf("%.1f simulated hours in %.1f s of wall time: %.0f per minute\n", hours, wall_s,
           wall_s > 0 ? hours * 60 / wall_s : 0);
    printf("%lld passed, %lld failed\n", (long long)w.passed, (long long)w.failed);
    return w.failed || w.alive ? 1 : 0;
}
