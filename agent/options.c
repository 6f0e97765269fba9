#include "options.h"

#include "common/base/buf.h"
#include "common/base/quantity.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/base/tzone.h"
#include "common/core/consent/approval.h"
#include "common/core/disrupt/consolidate.h"
#include "common/core/ec2/catalog.h"
#include "common/core/labels.h"
#include "common/kube/decode.h"

#include <stddef.h>

#define OPTION_TEXT_MAX 65536

enum option_type {
    OPT_TEXT,
    OPT_BOOL,
    OPT_INT32,
    OPT_INT64,
    OPT_DURATION,
    OPT_PERMYRIAD, /* a fraction such as 0.075, kept in ten-thousandths */
    OPT_QPS,
    OPT_SPECIAL, /* parsed by its own function below */
    OPT_IGNORED  /* one of Karpenter's that means nothing here; help says why */
};

struct option {
    const char *flag;
    const char *env; /* NULL: no variable */
    enum option_type type;
    size_t offset;
    const char *def; /* NULL: "" for texts */
    int64_t min, max;
    const char *help;
    int (*parse)(struct agent_options *o, const char *value, struct err *reterr);
};

#define FIELD(name) offsetof(struct agent_options, name)

static int word_of(const char *const *words, const char *value, int *ret, struct err *reterr)
{
    AUTO_BUF struct buf list;
    buf_init(&list, 256);
    for (int i = 0; words[i]; i++) {
        if (str_eq(words[i], value)) {
            *ret = i;
            return 0;
        }
        buf_printf(&list, "%s%s", i ? ", " : "", words[i]);
    }
    return err_set(reterr, ERR_INVALID, "\"%s\" is none of %s", value, list.p);
}

static int parse_mode(struct agent_options *o, const char *value, struct err *reterr)
{
    static const char *const words[] = {"full", "observe", "provision", NULL};
    int i;
    if (word_of(words, value, &i, reterr) < 0) {
        return -1;
    }
    o->mode = (enum agent_mode)i;
    return 0;
}

static int parse_preference(struct agent_options *o, const char *value, struct err *reterr)
{
    static const char *const words[] = {"Respect", "Ignore", "Reasonable", NULL};
    int i;
    if (word_of(words, value, &i, reterr) < 0) {
        return -1;
    }
    o->preference = (enum preference_policy)i;
    return 0;
}

static int parse_expiration(struct agent_options *o, const char *value, struct err *reterr)
{
    static const char *const words[] = {"Forceful", "Budgeted", NULL};
    int i;
    if (word_of(words, value, &i, reterr) < 0) {
        return -1;
    }
    o->expiration_budgeted = i == 1;
    return 0;
}

static int parse_rebalance(struct agent_options *o, const char *value, struct err *reterr)
{
    static const char *const words[] = {"Ignore", "Replace", NULL};
    int i;
    if (word_of(words, value, &i, reterr) < 0) {
        return -1;
    }
    o->rebalance_replace = i == 1;
    return 0;
}

static int parse_placement(struct agent_options *o, const char *value, struct err *reterr)
{
    static const char *const words[] = {"Compatible", "Cheapest", NULL};
    int i;
    o->placement = PLACEMENT_BASELINE;
    if (*value && word_of(words, value, &i, reterr) < 0) {
        return -1;
    }
    (void)sched_parse_placement(value, &o->placement);
    return 0;
}

static int parse_max_share(struct agent_options *o, const char *value, struct err *reterr)
{
    o->max_share_permyriad = 0;
    if (!*value || sched_parse_share(value, &o->max_share_permyriad)) {
        return 0;
    }
    return err_set(reterr, ERR_INVALID, "not a share from 1%% to 100%%");
}

static int parse_repair_threshold(struct agent_options *o, const char *value, struct err *reterr)
{
    return sched_parse_share(value, &o->repair_threshold_permyriad)
               ? 0
               : err_set(reterr, ERR_INVALID, "not a share from 1%% to 100%%");
}

static int parse_approval(struct agent_options *o, const char *value, struct err *reterr)
{
    o->approval_text = arena_strdup(&o->mem, value);
    return approval_parse(value, &o->approval)
               ? 0
               : err_set(reterr, ERR_INVALID,
                         "\"%s\" is neither Off, Required nor some of Underutilized,Drifted,Empty",
                         value);
}

static int parse_min_saving(struct agent_options *o, const char *value, struct err *reterr)
{
    o->min_saving = (struct min_saving){0, 0};
    o->min_saving_text = arena_strdup(&o->mem, value);
    return !*value || consolidate_parse_saving(value, &o->min_saving)
               ? 0
               : err_set(reterr, ERR_INVALID, "\"%s\" is neither a share such as 10%% nor $/h",
                         value);
}

static int parse_min_values(struct agent_options *o, const char *value, struct err *reterr)
{
    static const char *const words[] = {"Strict", "BestEffort", NULL};
    int i;
    if (word_of(words, value, &i, reterr) < 0) {
        return -1;
    }
    o->min_values = (enum min_values_policy)i;
    return 0;
}

static int parse_scheduler_config(struct agent_options *o, const char *value, struct err *reterr)
{
    struct symtab *t = labels_symtab_new();
    struct decoder *d = decoder_new(t);
    const struct spread *v;
    uint32_t n;
    int rc = decode_scheduler_config(d, &o->mem, value, &v, &n, reterr);
    decoder_free(d);
    symtab_free(t);
    o->scheduler_config = n > 0 ? arena_strdup(&o->mem, value) : "";
    return rc;
}

/* SQS's own rule; a URL is what people try first. */
static int parse_queue(struct agent_options *o, const char *value, struct err *reterr)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    if (value[strspn(value, letters)] != '\0' || strlen(value) > 80) {
        return err_set(reterr, ERR_INVALID, "\"%.100s\" is no name of a standard SQS queue", value);
    }
    o->interruption_queue = arena_strdup(&o->mem, value);
    return 0;
}

static int parse_budget_timezone(struct agent_options *o, const char *value, struct err *reterr)
{
    struct arena a;
    arena_init(&a, 0, SIZE_MAX);
    int rc = tzone_load(&a, TZONE_FOLDER, value, reterr) != NULL ? 0 : -1;
    arena_done(&a);
    o->budget_timezone = arena_strdup(&o->mem, value);
    return rc;
}

static int parse_log_level(struct agent_options *o, const char *value, struct err *reterr)
{
    if (!log_level_parse(value, &o->log_level)) {
        return err_set(reterr, ERR_INVALID, "\"%s\" is none of debug, info, error", value);
    }
    return 0;
}

static int parse_cost(struct agent_options *o, const char *value, struct err *reterr)
{
    double usd;
    if (!*value) {
        o->max_cost_pusd_h = PRICE_UNKNOWN;
        return 0;
    }
    if (!str_parse_f64(value, &usd) || usd < 0 || usd > 1e6) {
        return err_set(reterr, ERR_INVALID, "\"%s\" is no amount of $/h between 0 and 1000000",
                       value);
    }
    o->max_cost_pusd_h = (int64_t)(usd * (double)PUSD_PER_USD);
    return 0;
}

static void set_gate(struct agent_options *o, const char *name, bool on)
{
    if (str_eq(name, "SpotToSpotConsolidation")) {
        o->gate_spot_to_spot = on;
    } else if (str_eq(name, "NodeRepair")) {
        o->gate_node_repair = on;
    } else if (str_eq(name, "ReservedCapacity")) {
        o->gate_reserved_capacity = on;
    }
    /* Unknown gates are ignored, as Karpenter does: manifests move between versions. */
}

/* "A=true,B=false" */
static int parse_gates(struct agent_options *o, const char *value, struct err *reterr)
{
    char *text = arena_strdup(&o->mem, value);
    char *rest = text;
    for (char *item; (item = strsep(&rest, ",")) != NULL;) {
        char *eq = strchr(item, '=');
        bool on;
        if (!*item) {
            continue;
        }
        if (!eq || !str_parse_bool(eq + 1, &on)) {
            return err_set(reterr, ERR_INVALID, "\"%s\" is not NAME=true or NAME=false", item);
        }
        *eq = '\0';
        set_gate(o, item, on);
    }
    return 0;
}

static const struct option options[] = {
    /* ours */
    {"mode", "KARP_MODE", OPT_SPECIAL, 0, "full", 0, 0,
     "full; observe: decides everything and changes nothing; provision: removes nothing by its own "
     "decision",
     parse_mode},
    {"namespace", "POD_NAMESPACE", OPT_TEXT, FIELD(ns), "karp", 0, 0,
     "namespace the agent lives in", NULL},
    {"registration-timeout", NULL, OPT_DURATION, FIELD(registration_timeout_ns), "15m",
     60 * NS_PER_S, 24 * NS_PER_H, "a launched node that has not joined by then is given up", NULL},
    {"max-launches-per-minute", NULL, OPT_INT64, FIELD(max_launches_per_min), "60", 1, 100000,
     "brake on launches", NULL},
    {"max-cost-per-hour", NULL, OPT_SPECIAL, 0, "", 0, 0,
     "no launch lifts the managed fleet's price above this many $/h (empty: no brake)", parse_cost},
    {"max-share", NULL, OPT_SPECIAL, 0, "", 0, 0,
     "no node gets more than this share of one workload's replicas, as 25% (empty: any)",
     parse_max_share},
    {"placement", NULL, OPT_SPECIAL, 0, "Compatible", 0, 0,
     "how new nodes are made cheaper where the pool does not say: Compatible (with no more nodes "
     "than Karpenter), Cheapest (also with more, where each is worth it); empty: they are not",
     parse_placement},
    {"expiration", NULL, OPT_SPECIAL, 0, "Forceful", 0, 0,
     "what expireAfter does where the pool does not say: Forceful, or Budgeted (replacement first, "
     "within budgets)",
     parse_expiration},
    {"expiration-max-delay", NULL, OPT_DURATION, FIELD(expiration_max_delay_ns), "72h", 0,
     8760 * NS_PER_H, "how long after expireAfter Budgeted turns forceful", NULL},
    {"rebalance", NULL, OPT_SPECIAL, 0, "Ignore", 0, 0,
     "on a rebalance recommendation where the pool does not say: Ignore, or Replace",
     parse_rebalance},
    {"repair-threshold", NULL, OPT_SPECIAL, 0, "20%", 0, 0,
     "with the gate NodeRepair: a pool of which more than this share is unhealthy keeps its nodes",
     parse_repair_threshold},
    {"approval", NULL, OPT_SPECIAL, 0, "Off", 0, 0,
     "which disruptions wait for a decision where the pool does not say: Off, Required, or some of "
     "Underutilized,Drifted,Empty",
     parse_approval},
    {"approval-ttl", NULL, OPT_DURATION, FIELD(approval_ttl_ns), "24h", NS_PER_MIN, 720 * NS_PER_H,
     "how long a DisruptionRequest waits for its decision and its execution", NULL},
    {"min-saving", NULL, OPT_SPECIAL, 0, "", 0, 0,
     "what a consolidation has to save where the pool does not say: 10% of the price of what "
     "leaves, or $/h (empty: anything)",
     parse_min_saving},
    {"min-node-life", NULL, OPT_DURATION, FIELD(min_node_life_ns), "0s", 0, 8760 * NS_PER_H,
     "a node younger than this is not consolidated where the pool does not say", NULL},
    {"ignore-short-pods", NULL, OPT_DURATION, FIELD(ignore_short_pods_ns), "0s", 0, 8760 * NS_PER_H,
     "pods of Jobs that run shorter than this do not reset consolidateAfter where the pool does "
     "not "
     "say",
     NULL},
    {"return-to-weight", NULL, OPT_BOOL, FIELD(return_to_weight), "false", 0, 0,
     "nodes of a lighter pool are replaced in a heavier one at no higher price where the pool does "
     "not say",
     NULL},
    {"spot-min-types", NULL, OPT_INT32, FIELD(spot_min_types), "15", 1, 10000,
     "cheaper types that one spot node needs to be replaced by spot", NULL},
    {"budget-timezone", NULL, OPT_SPECIAL, 0, "UTC", 0, 0,
     "IANA name of the time zone that schedules of disruption budgets are in",
     parse_budget_timezone},
    {"region", "AWS_REGION", OPT_TEXT, FIELD(region), "", 0, 0, "AWS region", NULL},
    {"kubeconfig", NULL, OPT_TEXT, FIELD(kubeconfig), "", 0, 0,
     "kubeconfig file (empty: KUBECONFIG, else the pod's service account)", NULL},
    {"listen-address", NULL, OPT_TEXT, FIELD(listen), "", 0, 0,
     "address of the metrics and health ports (empty: all)", NULL},
    {"marker-dir", NULL, OPT_TEXT, FIELD(marker_dir), "/var/lib/karp", 0, 0,
     "folder that outlives the process, as an emptyDir: an object over which the process ends "
     "twice "
     "is set aside (no such folder, or empty: off)",
     NULL},
    {"pod-name", "POD_NAME", OPT_TEXT, FIELD(pod_name), "", 0, 0,
     "part of the identity in the Lease", NULL},
    /* Karpenter's, AWS */
    {"cluster-name", "CLUSTER_NAME", OPT_TEXT, FIELD(cluster_name), "", 0, 0,
     "name of the cluster (required)", NULL},
    {"cluster-endpoint", "CLUSTER_ENDPOINT", OPT_TEXT, FIELD(cluster_endpoint), "", 0, 0,
     "API server address for nodes (empty: from EKS)", NULL},
    {"cluster-ca-bundle", "CLUSTER_CA_BUNDLE", OPT_TEXT, FIELD(cluster_ca_bundle), "", 0, 0,
     "base64 CA for nodes (empty: from EKS)", NULL},
    {"isolated-vpc", "ISOLATED_VPC", OPT_BOOL, FIELD(isolated_vpc), "false", 0, 0,
     "no pricing API, no IAM API", NULL},
    {"eks-control-plane", "EKS_CONTROL_PLANE", OPT_BOOL, FIELD(eks_control_plane), "false", 0, 0,
     "Kubernetes version from EKS instead of /version", NULL},
    {"vm-memory-overhead-percent", "VM_MEMORY_OVERHEAD_PERCENT", OPT_PERMYRIAD,
     FIELD(vm_overhead_permyriad), "0.075", 0, 10000, "memory the hypervisor keeps, as a fraction",
     NULL},
    {"interruption-queue", "INTERRUPTION_QUEUE", OPT_SPECIAL, 0, "", 0, 0,
     "name of the SQS queue of interruption notices (empty: off)", parse_queue},
    {"reserved-enis", "RESERVED_ENIS", OPT_INT32, FIELD(reserved_enis), "0", 0, 100,
     "network interfaces that pods cannot use", NULL},
    {"disable-dry-run", "DISABLE_DRY_RUN", OPT_BOOL, FIELD(disable_dry_run), "false", 0, 0,
     "no permission probes", NULL},
    {"enable-zonal-shift", "ENABLE_ZONAL_SHIFT", OPT_IGNORED, 0, NULL, 0, 0,
     "accepted; zonal shift is not followed", NULL},
    {"ami-refresh-interval", "AMI_REFRESH_INTERVAL", OPT_IGNORED, 0, NULL, 0, 0,
     "accepted; images are looked up with the class, every 5 minutes", NULL},
    {"subnet-refresh-interval", "SUBNET_REFRESH_INTERVAL", OPT_IGNORED, 0, NULL, 0, 0,
     "accepted; subnets are looked up with the class, every minute", NULL},
    {"aws-feature-gates", "AWS_FEATURE_GATES", OPT_IGNORED, 0, NULL, 0, 0,
     "accepted; there are none", NULL},
    /* Karpenter's, core */
    {"batch-idle-duration", "BATCH_IDLE_DURATION", OPT_DURATION, FIELD(batch_idle_ns), "1s", 0,
     NS_PER_H, "a batch of pods ends after this long without a new one", NULL},
    {"batch-max-duration", "BATCH_MAX_DURATION", OPT_DURATION, FIELD(batch_max_ns), "10s", 0,
     NS_PER_H, "and after this long in any case", NULL},
    {"preference-policy", "PREFERENCE_POLICY", OPT_SPECIAL, 0, "Respect", 0, 0,
     "Respect, Ignore or Reasonable", parse_preference},
    {"min-values-policy", "MIN_VALUES_POLICY", OPT_SPECIAL, 0, "Strict", 0, 0,
     "Strict or BestEffort", parse_min_values},
    {"feature-gates", "FEATURE_GATES", OPT_SPECIAL, 0, "ReservedCapacity=true", 0, 0,
     "NAME=true,NAME=false", parse_gates},
    {"metrics-port", "METRICS_PORT", OPT_INT32, FIELD(metrics_port), "8080", 0, 65535,
     "port of /metrics, 0 = off", NULL},
    {"health-probe-port", "HEALTH_PROBE_PORT", OPT_INT32, FIELD(health_port), "8081", 0, 65535,
     "port of /healthz and /readyz, 0 = off", NULL},
    {"log-level", "LOG_LEVEL", OPT_SPECIAL, 0, "info", 0, 0, "debug, info or error",
     parse_log_level},
    {"disable-leader-election", "DISABLE_LEADER_ELECTION", OPT_BOOL, FIELD(leader_election),
     "false", 0, 0, "act without holding the Lease", NULL},
    {"leader-election-name", "LEADER_ELECTION_NAME", OPT_TEXT, FIELD(lease_name),
     "karpenter-leader-election", 0, 0, "name of the Lease", NULL},
    {"leader-election-namespace", "LEADER_ELECTION_NAMESPACE", OPT_TEXT, FIELD(lease_ns),
     "kube-system", 0, 0, "namespace of the Lease", NULL},
    {"kube-client-qps", "KUBE_CLIENT_QPS", OPT_QPS, FIELD(kube_qps), "200", 1, 100000,
     "requests per second to the API server", NULL},
    {"kube-client-burst", "KUBE_CLIENT_BURST", OPT_INT32, FIELD(kube_burst), "300", 1, 100000,
     "and at once", NULL},
    {"karpenter-service", "KARPENTER_SERVICE", OPT_IGNORED, 0, NULL, 0, 0, "accepted; legacy",
     NULL},
    {"enable-profiling", "ENABLE_PROFILING", OPT_IGNORED, 0, NULL, 0, 0,
     "accepted; there is no Go profiler", NULL},
    {"disable-controller-warmup", "DISABLE_CONTROLLER_WARMUP", OPT_IGNORED, 0, NULL, 0, 0,
     "accepted; the store is always warm", NULL},
    {"disable-cluster-state-observability", "DISABLE_CLUSTER_STATE_OBSERVABILITY", OPT_BOOL,
     FIELD(disable_state_metrics), "false", 0, 0, "no metrics of single nodes and pods", NULL},
    {"memory-limit", "MEMORY_LIMIT", OPT_IGNORED, 0, NULL, 0, 0,
     "accepted; there is no garbage collector to steer", NULL},
    {"cpu-requests", "CPU_REQUESTS", OPT_IGNORED, 0, NULL, 0, 0, "accepted; there is one thread",
     NULL},
    {"log-output-paths", "LOG_OUTPUT_PATHS", OPT_IGNORED, 0, NULL, 0, 0,
     "accepted; the log goes to standard output", NULL},
    {"log-error-output-paths", "LOG_ERROR_OUTPUT_PATHS", OPT_IGNORED, 0, NULL, 0, 0,
     "accepted; the log goes to standard output", NULL},
    {"ignore-dra-requests", "IGNORE_DRA_REQUESTS", OPT_IGNORED, 0, NULL, 0, 0,
     "accepted; pods with resource claims are refused with that reason", NULL},
    {"scheduler-config", "SCHEDULER_CONFIG", OPT_SPECIAL, 0, "", 0, 0,
     "YAML or JSON {podTopologySpread: {defaultConstraints: [...]}}: spread constraints of pods "
     "that declare none",
     parse_scheduler_config},
};

static int set_number(struct agent_options *o, const struct option *opt, const char *value,
                      struct err *reterr)
{
    int64_t n;
    if (!str_parse_i64(value, &n) || n < opt->min || n > opt->max) {
        return err_set(reterr, ERR_INVALID, "\"%s\" is no whole number from %lld to %lld", value,
                       (long long)opt->min, (long long)opt->max);
    }
    if (opt->type == OPT_INT32) {
        *(int32_t *)((char *)o + opt->offset) = (int32_t)n;
    } else {
        *(int64_t *)((char *)o + opt->offset) = n;
    }
    return 0;
}

static int set_duration(struct agent_options *o, const struct option *opt, const char *value,
                        struct err *reterr)
{
    int64_t ns;
    if (!timefmt_parse_duration(value, &ns) || ns < opt->min || ns > opt->max) {
        char lo[TIMEFMT_TEXT], hi[TIMEFMT_TEXT];
        return err_set(reterr, ERR_INVALID, "\"%s\" is no duration from %s to %s", value,
                       timefmt_duration(opt->min, lo), timefmt_duration(opt->max, hi));
    }
    *(int64_t *)((char *)o + opt->offset) = ns;
    return 0;
}

static int set_fraction(struct agent_options *o, const struct option *opt, const char *value,
                        struct err *reterr)
{
    double d;
    if (!str_parse_f64(value, &d) || d < 0 || d > 1e6) {
        return err_set(reterr, ERR_INVALID, "\"%s\" is no number of at least 0", value);
    }
    if (opt->type == OPT_QPS) {
        *(double *)((char *)o + opt->offset) = d;
        return 0;
    }
    if (d > 1) {
        return err_set(reterr, ERR_INVALID, "\"%s\" is more than the whole (0.075 means 7.5%%)",
                       value);
    }
    *(int32_t *)((char *)o + opt->offset) = (int32_t)(d * 10000 + 0.5);
    return 0;
}

static int set_option(struct agent_options *o, const struct option *opt, const char *value,
                      struct err *reterr)
{
    bool b;
    if (strlen(value) > OPTION_TEXT_MAX) {
        return err_set(reterr, ERR_INVALID, "longer than %d bytes", OPTION_TEXT_MAX);
    }
    switch (opt->type) {
    case OPT_TEXT:
        *(const char **)((char *)o + opt->offset) = arena_strdup(&o->mem, value);
        return 0;
    case OPT_BOOL:
        if (!str_parse_bool(value, &b)) {
            return err_set(reterr, ERR_INVALID, "\"%s\" is neither true nor false", value);
        }
        *(bool *)((char *)o + opt->offset) = b;
        return 0;
    case OPT_INT32:
    case OPT_INT64:
        return set_number(o, opt, value, reterr);
    case OPT_DURATION:
        return set_duration(o, opt, value, reterr);
    case OPT_PERMYRIAD:
    case OPT_QPS:
        return set_fraction(o, opt, value, reterr);
    case OPT_SPECIAL:
        return opt->parse(o, value, reterr);
    case OPT_IGNORED:
        return 0;
    }
    return 0;
}

static const struct option *find_option(const char *name, size_t n)
{
    for (size_t i = 0; i < ARRAY_LEN(options); i++) {
        if (strlen(options[i].flag) == n && strncmp(options[i].flag, name, n) == 0) {
            return &options[i];
        }
    }
    return NULL;
}

/* Defaults, then the environment. */
static int set_ground(struct agent_options *o, options_env_fn env, void *ctx, struct err *reterr)
{
    for (size_t i = 0; i < ARRAY_LEN(options); i++) {
        const struct option *opt = &options[i];
        const char *value = opt->env && env ? env(ctx, opt->env) : NULL;
        bool given = value && *value;
        if (!given) {
            value = opt->def ? opt->def : "";
        }
        if (set_option(o, opt, value, reterr) < 0) {
            return given ? err_wrap(reterr, "environment variable %s", opt->env)
                         : err_wrap(reterr, "default of --%s", opt->flag);
        }
    }
    return 0;
}

/* One argument, "--name=value", "--name value" or "--bool"; *i moves over what was used. */
static int set_flag(struct agent_options *o, int argc, const char *const *argv, int *i,
                    struct err *reterr)
{
    const char *arg = argv[*i];
    if (str_eq(arg, "-h") || str_eq(arg, "--help")) {
        o->help = true;
        return 0;
    }
    if (str_eq(arg, "--version")) {
        o->version = true;
        return 0;
    }
    const char *name = str_starts(arg, "--") ? arg + 2 : str_starts(arg, "-") ? arg + 1 : NULL;
    if (!name) {
        return err_set(reterr, ERR_INVALID, "unexpected argument \"%s\"", arg);
    }
    const char *eq = strchr(name, '=');
    const struct option *opt = find_option(name, eq ? (size_t)(eq - name) : strlen(name));
    if (!opt) {
        return err_set(reterr, ERR_INVALID, "unknown flag %s; --help lists them", arg);
    }
    const char *value = eq ? eq + 1 : NULL;
    bool is_switch = opt->type == OPT_BOOL || opt->type == OPT_IGNORED;
    if (!value && is_switch) {
        value = "true";
    } else if (!value) {
        if (*i + 1 >= argc) {
            return err_set(reterr, ERR_INVALID, "flag --%s needs a value", opt->flag);
        }
        value = argv[++*i];
    }
    return set_option(o, opt, value, reterr) < 0 ? err_wrap(reterr, "--%s", opt->flag) : 0;
}

static int check_whole(const struct agent_options *o, struct err *reterr)
{
    if (!*o->cluster_name) {
        return err_set(reterr, ERR_INVALID,
                       "the cluster's name is missing: --cluster-name or CLUSTER_NAME");
    }
    if (!*o->region) {
        return err_set(reterr, ERR_INVALID, "the region is missing: --region or AWS_REGION");
    }
    if (*o->cluster_endpoint && !str_starts(o->cluster_endpoint, "https://")) {
        return err_set(reterr, ERR_INVALID, "--cluster-endpoint: \"%s\" is no https URL",
                       o->cluster_endpoint);
    }
    if (o->batch_idle_ns > o->batch_max_ns) {
        return err_set(reterr, ERR_INVALID,
                       "--batch-idle-duration is longer than --batch-max-duration");
    }
    return 0;
}

int options_parse(struct agent_options *o, int argc, const char *const *argv, options_env_fn env,
                  void *ctx, struct err *reterr)
{
    memset(o, 0, sizeof(*o));
    arena_init(&o->mem, 1024, 1u << 20);
    if (set_ground(o, env, ctx, reterr) < 0) {
        goto fail;
    }
    for (int i = 0; i < argc; i++) {
        if (set_flag(o, argc, argv, &i, reterr) < 0) {
            goto fail;
        }
    }
    /* The table holds --disable-leader-election; everybody else asks the other way round. */
    o->leader_election = !o->leader_election;
    if (o->help || o->version) {
        return 0;
    }
    if (check_whole(o, reterr) == 0) {
        return 0;
    }
fail:
    options_done(o);
    return -1;
}

void options_done(struct agent_options *o)
{
    arena_done(&o->mem);
}

void options_help(struct buf *out)
{
    buf_puts(out,
             "karp-agent launches, drains and removes nodes of a Kubernetes cluster on EC2.\n\n"
             "Usage: karp-agent [flags]\n\n"
             "A flag wins over its environment variable.\n\n");
    for (size_t i = 0; i < ARRAY_LEN(options); i++) {
        const struct option *opt = &options[i];
        buf_printf(out, "  --%s", opt->flag);
        if (opt->env) {
            buf_printf(out, " (%s)", opt->env);
        }
        buf_printf(out, "\n        %s", opt->help);
        if (opt->def && *opt->def) {
            buf_printf(out, "; default %s", opt->def);
        }
        buf_putc(out, '\n');
    }
    buf_puts(out, "  -h, --help\n  --version\n");
}
