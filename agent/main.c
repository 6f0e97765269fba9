/*
 * main.c - karp-agent as a process: flags, signals, sockets around the agent object.
 *
 * Exit status: 0 after SIGTERM or SIGINT, 1 when it cannot start or must not go on (Lease lost, …:
 * the kubelet starts it anew), 2 for wrong flags.
 */
#include "agent.h"
#include "agent/work/marker.h"
#include "common/aws/creds.h"
#include "common/aws/http_port.h"
#include "common/base/alloc.h"
#include "common/base/keepfile.h"
#include "common/kube/config.h"
#include "common/kube/http_port.h"
#include "common/net/http.h"
#include "common/net/loop.h"
#include "httpd.h"

#include <malloc.h>
#include <signal.h>

#define USER_AGENT "karp-agent/" KARP_VERSION
#define STDOUT_BUFFER 65536
#define STOP_NS (2 * NS_PER_S)
#define MMAP_BYTES (128 << 10)
#define TRIM_BYTES (128 << 10)

struct process {
    struct agent_options opt;
    struct log log;
    struct loop *loop;
    struct http *http;
    struct kube_config kube_cfg;
    struct kube_http *kube;
    struct creds_provider creds;
    struct aws_http *aws;
    struct keepfile kept;
    struct marker_port marker;
    struct agent *agent;
    struct httpd *metrics, *health;
    bool stopping;
    int exit_status;
};

static const char *env_of(void *ctx, const char *name)
{
    (void)ctx;
    return getenv(name);
}

static void on_signal(void *arg, int signo)
{
    struct process *p = arg;
    log_info(&p->log, "stopping", "signal", log_n(signo));
    p->stopping = true;
}

static int start_kube(struct process *p, struct err *reterr)
{
    struct kube_flags flags = {.kubeconfig = *p->opt.kubeconfig ? p->opt.kubeconfig : NULL};
    struct kube_env env = kube_env_system();
    if (kube_config_load(&flags, &env, &p->kube_cfg, reterr) < 0) {
        return -1;
    }
    p->kube = kube_http_new(p->loop, &p->kube_cfg, USER_AGENT, reterr);
    return p->kube ? 0 : -1;
}

static int start_aws(struct process *p, struct err *reterr)
{
    struct aws_http_config cfg = {.region = p->opt.region, .env = creds_process_env};
    creds_env_new(creds_process_env, NULL, &p->creds);
    p->aws = aws_http_new(p->http, loop_timers(p->loop), &clock_real, &cfg, &p->creds, reterr);
    return p->aws ? 0 : -1;
}

static int start_httpd(struct process *p, struct err *reterr)
{
    if (p->opt.metrics_port) {
        p->metrics = httpd_new(p->loop, p->opt.listen, p->opt.metrics_port, &p->agent, reterr);
        if (!p->metrics) {
            return err_wrap(reterr, "metrics");
        }
    }
    if (p->opt.health_port) {
        p->health = httpd_new(p->loop, p->opt.listen, p->opt.health_port, &p->agent, reterr);
        if (!p->health) {
            return err_wrap(reterr, "health probes");
        }
    }
    return 0;
}

/* Without it everything works, but for setting aside what the process dies of. */
static void start_marker(struct process *p)
{
    struct err why = ERR_INIT;
    if (*p->opt.marker_dir && keepfile_open(&p->kept, p->opt.marker_dir, MARKER_FILE,
                                            sizeof(struct marker_page), &why) < 0) {
        log_info(&p->log, "no marker survives this process", "error", why.msg);
    }
    p->marker = (struct marker_port){.page = p->kept.mem, .where = p->kept.path};
}

static int start(struct process *p, struct err *reterr)
{
    static const int signals[] = {SIGTERM, SIGINT};
    p->loop = loop_new(&clock_real, reterr);
    if (!p->loop || loop_signals(p->loop, signals, ARRAY_LEN(signals), on_signal, p, reterr) < 0) {
        return -1;
    }
    p->http = http_new(p->loop, USER_AGENT, reterr);
    if (!p->http || start_kube(p, reterr) < 0 || start_aws(p, reterr) < 0) {
        return -1;
    }
    start_marker(p);
    struct agent_ports ports = {.kube = kube_http_port(p->kube),
                                .aws = aws_http_port(p->aws),
                                .clock = &clock_real,
                                .entropy = entropy_system(),
                                .log = &p->log,
                                .marker = &p->marker};
    p->agent = agent_new(&p->opt, &ports);
    return start_httpd(p, reterr);
}

/* One wait and one turn. */
static int turn(struct process *p, struct err *reterr)
{
    int64_t next_ns = agent_next_ns(p->agent), now_ns = clock_mono(&clock_real);
    int64_t wait_ns = next_ns <= now_ns ? 0 : next_ns - now_ns;
    if (wait_ns > LOOP_WAIT_MAX_NS) {
        wait_ns = LOOP_WAIT_MAX_NS;
    }
    if (loop_turn(p->loop, wait_ns, reterr) < 0) {
        return -1;
    }
    agent_turn(p->agent);
    return 0;
}

/* Sockets, then the agent, until a signal or the agent itself ends it. */
static int run(struct process *p, struct err *reterr)
{
    while (!p->stopping) {
        if (turn(p, reterr) < 0 || agent_ended(p->agent, reterr)) {
            return -1;
        }
    }
    /* The Lease is given back, so that the next one need not wait for its end. */
    int64_t until_ns = clock_mono(&clock_real) + STOP_NS;
    agent_stop(p->agent);
    while (!agent_ended(p->agent, NULL) && clock_mono(&clock_real) < until_ns) {
        if (turn(p, reterr) < 0) {
            return -1;
        }
    }
    return 0;
}

static void stop(struct process *p)
{
    httpd_free(p->metrics);
    httpd_free(p->health);
    agent_free(p->agent);
    keepfile_close(&p->kept);
    aws_http_free(p->aws);
    creds_done(&p->creds);
    kube_http_free(p->kube);
    kube_config_done(&p->kube_cfg);
    http_free(p->http);
    loop_free(p->loop);
}

static int print_and_done(struct process *p)
{
    AUTO_BUF struct buf out;
    buf_init(&out, 1u << 16);
    if (p->opt.help) {
        options_help(&out);
    } else {
        buf_puts(&out, "karp-agent " KARP_VERSION "\n");
    }
    fputs(out.p, stdout);
    options_done(&p->opt);
    return 0;
}

/*
 * What a refresh or a decision needed goes back to the system when it is over. By itself glibc
 * takes the largest piece that was ever freed for a size that will be wanted again, and keeps as
 * much.
 */
static void keep_small(void)
{
    mallopt(M_MMAP_THRESHOLD, MMAP_BYTES);
    mallopt(M_TRIM_THRESHOLD, TRIM_BYTES);
}

int main(int argc, char **argv)
{
    struct process p = {.exit_status = 0};
    struct err err = ERR_INIT;
    const char *const *args = (const char *const *)argv;
    if (options_parse(&p.opt, argc - 1, args + 1, env_of, NULL, &err) < 0) {
        fprintf(stderr, "karp-agent: %s\n", err.msg);
        return 2;
    }
    if (p.opt.help || p.opt.version) {
        return print_and_done(&p);
    }
    keep_small();
    signal(SIGPIPE, SIG_IGN);
    setvbuf(stdout, NULL, _IOLBF, STDOUT_BUFFER);
    p.log = (struct log){.level = p.opt.log_level,
                         .name = "karp",
                         .clock = &clock_real,
                         .write = log_write_file,
                         .ctx = stdout};
    log_info(&p.log, "starting", "version", KARP_VERSION, "cluster", p.opt.cluster_name, "region",
             p.opt.region);
    if (start(&p, &err) < 0 || run(&p, &err) < 0) {
        log_error(&p.log, "cannot run", "error", err.msg);
        p.exit_status = 1;
    }
    stop(&p);
    options_done(&p.opt);
    return p.exit_status;
}
