/*
 * karp_ec2.c - build/karp-ec2: the simulated AWS as a server on loopback, in real time.
 *
 * With --kubeconfig its instances boot into that API server (ec2_kube.h). Prints its port on
 * standard output, one line; what happens in the cloud on standard error.
 */
#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/kube/config.h"
#include "common/kube/http_port.h"
#include "common/net/loop.h"
#include "ec2_http.h"
#include "ec2_kube.h"

#include <getopt.h>
#include <signal.h>

#define TYPES_MAX 64

struct flags {
    struct simec2_opts cloud;
    const char *listen, *port_file, *kubeconfig;
    struct sigv4_key keys[EC2_HTTP_KEYS_MAX];
    size_t n_keys;
    const char *types[TYPES_MAX + 1];
    size_t n_types;
    int64_t ready_ns;
    bool quiet;
};

struct server {
    struct flags flags;
    struct loop *loop;
    struct kube_config config;
    bool has_config;
    char *ca_b64;
    struct kube_http *kube_http;
    struct ec2_kube *kube;
    struct simec2 *cloud;
    struct ec2_http *http;
};

static const char usage[] =
    "Usage: karp-ec2 --access-key ID --secret-key SECRET [flags]\n"
    "A simulated AWS (EC2, SSM, EKS, IAM, STS, SQS, Pricing) on loopback.\n\n"
    "  --listen 127.0.0.1:PORT     0 = any free port, printed on standard output (default)\n"
    "  --port-file FILE            the port goes there too\n"
    "  --access-key ID             may be repeated, each followed by its --secret-key\n"
    "  --secret-key SECRET\n"
    "  --session-token TOKEN       of the key before it\n"
    "  --region NAME               us-west-2\n"
    "  --cluster-name NAME         sim; also the queue's name\n"
    "  --cluster-endpoint URL      without --kubeconfig\n"
    "  --cluster-ca BASE64         without --kubeconfig\n"
    "  --service-cidr CIDR         10.96.0.0/16\n"
    "  --kubernetes-version V      1.34\n"
    "  --types GLOB                only these types, may be repeated\n"
    "  --kubeconfig FILE           boot nodes into this API server\n"
    "  --create-fleet-delay D      2s\n"
    "  --boot D                    30s, fleet answered to instance running\n"
    "  --ready D                   8s, running to node registered and Ready\n"
    "  --terminate-delay D         5s\n"
    "  --hide D                    0s, describes miss instances younger than this\n"
    "  --quiet                     say nothing on standard error\n";

/* ---- flags ---------------------------------------------------------------------------------- */

enum flag {
    F_HELP = 1,
    F_LISTEN,
    F_PORT_FILE,
    F_ACCESS,
    F_SECRET,
    F_TOKEN,
    F_REGION,
    F_CLUSTER,
    F_ENDPOINT,
    F_CA,
    F_CIDR,
    F_VERSION,
    F_TYPES,
    F_KUBECONFIG,
    F_FLEET,
    F_BOOT,
    F_READY,
    F_TERMINATE,
    F_HIDE,
    F_QUIET
};

static const struct option options[] = {
    {"help", no_argument, NULL, F_HELP},
    {"listen", required_argument, NULL, F_LISTEN},
    {"port-file", required_argument, NULL, F_PORT_FILE},
    {"access-key", required_argument, NULL, F_ACCESS},
    {"secret-key", required_argument, NULL, F_SECRET},
    {"session-token", required_argument, NULL, F_TOKEN},
    {"region", required_argument, NULL, F_REGION},
    {"cluster-name", required_argument, NULL, F_CLUSTER},
    {"cluster-endpoint", required_argument, NULL, F_ENDPOINT},
    {"cluster-ca", required_argument, NULL, F_CA},
    {"service-cidr", required_argument, NULL, F_CIDR},
    {"kubernetes-version", required_argument, NULL, F_VERSION},
    {"types", required_argument, NULL, F_TYPES},
    {"kubeconfig", required_argument, NULL, F_KUBECONFIG},
    {"create-fleet-delay", required_argument, NULL, F_FLEET},
    {"boot", required_argument, NULL, F_BOOT},
    {"ready", required_argument, NULL, F_READY},
    {"terminate-delay", required_argument, NULL, F_TERMINATE},
    {"hide", required_argument, NULL, F_HIDE},
    {"quiet", no_argument, NULL, F_QUIET},
    {NULL, 0, NULL, 0},
};

static int set_text(struct flags *f, enum flag which, const char *arg)
{
    const struct {
        enum flag flag;
        const char **dst;
    } table[] = {
        {F_LISTEN, &f->listen},           {F_PORT_FILE, &f->port_file},
        {F_REGION, &f->cloud.region},     {F_CLUSTER, &f->cloud.cluster},
        {F_ENDPOINT, &f->cloud.endpoint}, {F_CA, &f->cloud.ca_b64},
        {F_CIDR, &f->cloud.service_cidr}, {F_VERSION, &f->cloud.k8s_version},
        {F_KUBECONFIG, &f->kubeconfig},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        if (table[i].flag == which) {
            *table[i].dst = arg;
            return 1;
        }
    }
    return 0;
}

static int set_duration(struct flags *f, enum flag which, const char *arg, struct err *reterr)
{
    int64_t *dst = which == F_FLEET       ? &f->cloud.fleet_ns
                   : which == F_BOOT      ? &f->cloud.boot_ns
                   : which == F_READY     ? &f->ready_ns
                   : which == F_TERMINATE ? &f->cloud.terminate_ns
                                          : &f->cloud.hide_ns;
    if (!timefmt_parse_duration(arg, dst) || *dst < 0) {
        return err_set(reterr, ERR_INVALID, "\"%s\" is no duration such as 30s", arg);
    }
    return 0;
}

static int set_key(struct flags *f, enum flag which, const char *arg, struct err *reterr)
{
    if (which == F_ACCESS) {
        if (f->n_keys == EC2_HTTP_KEYS_MAX) {
            return err_set(reterr, ERR_INVALID, "more than %u --access-key", EC2_HTTP_KEYS_MAX);
        }
        f->keys[f->n_keys++] = (struct sigv4_key){.access = arg, .secret = ""};
        return 0;
    }
    if (f->n_keys == 0) {
        return err_set(reterr, ERR_INVALID, "--access-key must come first");
    }
    *(which == F_SECRET ? &f->keys[f->n_keys - 1].secret : &f->keys[f->n_keys - 1].token) = arg;
    return 0;
}

static int set_flag(struct flags *f, enum flag which, const char *arg, struct err *reterr)
{
    switch (which) {
    case F_ACCESS:
    case F_SECRET:
    case F_TOKEN:
        return set_key(f, which, arg, reterr);
    case F_FLEET:
    case F_BOOT:
    case F_READY:
    case F_TERMINATE:
    case F_HIDE:
        return set_duration(f, which, arg, reterr);
    case F_TYPES:
        if (f->n_types == TYPES_MAX) {
            return err_set(reterr, ERR_INVALID, "more than %d --types", TYPES_MAX);
        }
        f->types[f->n_types++] = arg;
        return 0;
    case F_QUIET:
        f->quiet = true;
        return 0;
    default:
        return set_text(f, which, arg) ? 0 : err_set(reterr, ERR_INVALID, "unknown flag");
    }
}

/* 0 go on, 1 help was asked for, -1. */
static int read_flags(struct flags *f, int argc, char **argv, struct err *reterr)
{
    simec2_opts_default(&f->cloud);
    f->listen = "127.0.0.1:0";
    f->ready_ns = 8 * NS_PER_S;
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (c == F_HELP) {
            return 1;
        }
        if (c == '?') {
            return err_set(reterr, ERR_INVALID, "see karp-ec2 --help");
        }
        if (set_flag(f, (enum flag)c, optarg, reterr) < 0) {
            return -1;
        }
    }
    if (optind < argc || f->n_keys == 0 || !*f->keys[f->n_keys - 1].secret) {
        return err_set(reterr, ERR_INVALID,
                       "--access-key and --secret-key are needed, and no "
                       "arguments beside flags");
    }
    f->cloud.queue = f->cloud.cluster;
    /* Names that an earlier run of the same day did not give: leases of those may still be about.
     */
    f->cloud.first_host = (uint32_t)(clock_wall(&clock_real) / NS_PER_S % 4096 * 16);
    f->cloud.types = f->n_types > 0 ? f->types : NULL;
    return 0;
}

/* ---- hooks ---------------------------------------------------------------------------------- */

static void note(void *ctx, const char *text)
{
    const struct server *s = ctx;
    char now[TIMEFMT_TEXT];
    if (!s->flags.quiet) {
        fprintf(stderr, "%s %s\n", timefmt_rfc3339_micro(clock_wall(&clock_real), now), text);
    }
}

static void on_boot(void *ctx, const struct simec2_boot *b)
{
    struct server *s = ctx;
    if (s->kube) {
        ec2_kube_boot(s->kube, b);
    }
}

static void on_down(void *ctx, const struct simec2_instance *inst)
{
    struct server *s = ctx;
    if (s->kube) {
        ec2_kube_down(s->kube, inst);
    }
}

static void on_signal(void *arg, int signo UNUSED)
{
    loop_stop(arg);
}

/* ---- start ---------------------------------------------------------------------------------- */

/* The cluster is the kubeconfig's: what user data must lead to. */
static int connect_cluster(struct server *s, struct err *reterr)
{
    if (!s->flags.kubeconfig) {
        return 0;
    }
    const struct kube_flags flags = {.kubeconfig = s->flags.kubeconfig};
    const struct kube_env env = kube_env_system();
    if (kube_config_load(&flags, &env, &s->config, reterr) < 0) {
        return -1;
    }
    s->has_config = true;
    s->flags.cloud.endpoint = s->config.server;
    if (s->config.ca_pem) {
        s->ca_b64 = base64_encode(s->config.ca_pem, s->config.ca_n);
        s->flags.cloud.ca_b64 = s->ca_b64;
    }
    s->kube_http = kube_http_new(s->loop, &s->config, "karp-ec2/" KARP_VERSION, reterr);
    if (!s->kube_http) {
        return -1;
    }
    const struct ec2_kube_opts opts = {.ready_ns = s->flags.ready_ns, .note = note, .ctx = s};
    s->kube = ec2_kube_new(kube_http_port(s->kube_http), loop_clock(s->loop), loop_timers(s->loop),
                           &opts);
    return 0;
}

static int tell_port(const struct server *s, struct err *reterr)
{
    unsigned port = ec2_http_tcp_port(s->http);
    printf("%u\n", port);
    fflush(stdout);
    if (!s->flags.port_file) {
        return 0;
    }
    /* Whoever waits for the file must not see half of it. */
    AUTO_FREE char *tmp = xasprintf("%s.tmp", s->flags.port_file);
    FILE *f = fopen(tmp, "w");
    bool ok = f && fprintf(f, "%u\n", port) > 0;
    ok = f && fclose(f) == 0 && ok && rename(tmp, s->flags.port_file) == 0;
    return ok ? 0 : err_set(reterr, ERR_INVALID, "%s cannot be written", s->flags.port_file);
}

static int start(struct server *s, struct err *reterr)
{
    static const int signals[] = {SIGTERM, SIGINT};
    s->loop = loop_new(&clock_real, reterr);
    if (!s->loop ||
        loop_signals(s->loop, signals, ARRAY_LEN(signals), on_signal, s->loop, reterr) < 0 ||
        connect_cluster(s, reterr) < 0) {
        return -1;
    }
    const struct simec2_hooks hooks = {.ctx = s, .boot = on_boot, .down = on_down, .note = note};
    s->cloud =
        simec2_new(&s->flags.cloud, loop_clock(s->loop), loop_timers(s->loop), &hooks, reterr);
    if (!s->cloud) {
        return -1;
    }
    const struct ec2_http_opts http = {.listen = s->flags.listen,
                                       .region = s->flags.cloud.region,
                                       .keys = s->flags.keys,
                                       .n_keys = s->flags.n_keys};
    s->http = ec2_http_new(s->loop, s->cloud, &http, reterr);
    return s->http ? tell_port(s, reterr) : -1;
}

static void stop(struct server *s)
{
    ec2_http_free(s->http);
    simec2_free(s->cloud);
    ec2_kube_free(s->kube);
    kube_http_free(s->kube_http);
    if (s->has_config) {
        kube_config_done(&s->config);
    }
    free(s->ca_b64);
    loop_free(s->loop);
}

int main(int argc, char **argv)
{
    struct server s = {.loop = NULL};
    struct err err = ERR_INIT;
    int rc = read_flags(&s.flags, argc, argv, &err);
    if (rc == 1) {
        fputs(usage, stdout);
        return 0;
    }
    if (rc == 0) {
        rc = start(&s, &err);
    }
    if (rc == 0) {
        rc = loop_run(s.loop, &err);
    }
    if (rc < 0) {
        fprintf(stderr, "karp-ec2: %s\n", err.msg);
    }
    stop(&s);
    return rc < 0 ? 2 : 0;
}
