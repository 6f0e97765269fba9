/*
 * options.h - what the agent is told: Karpenter's flags and environment variables by their own
 * names, and ours (mode, brakes, …). A flag wins over its variable. Booleans are
 * exactly true or false; an unknown flag, a value that cannot be read or one out of range is an
 * error that names the flag and the value. Flags of Karpenter that have no meaning here are
 * accepted and ignored, each in the table with the reason.
 */
#ifndef KARP_AGENT_OPTIONS_H
#define KARP_AGENT_OPTIONS_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/base/log.h"
#include "common/core/disrupt/candidate.h"
#include "common/core/sched/sched.h"

enum agent_mode { MODE_FULL, MODE_OBSERVE, MODE_PROVISION };

struct agent_options {
    struct arena mem; /* owns the strings */

    /* ours */
    enum agent_mode mode;
    const char *ns; /* --namespace: where the agent lives (karp) */
    int64_t registration_timeout_ns;
    int64_t max_launches_per_min; /* --max-launches-per-minute (60) */
    uint32_t max_share_permyriad; /* --max-share, 0 = unset */
    enum placement placement;     /* --placement (Compatible), Baseline = empty */
    int64_t max_cost_pusd_h;      /* --max-cost-per-hour, PRICE_UNKNOWN = unset */
    bool expiration_budgeted;     /* --expiration=Budgeted (Forceful) */
    int64_t expiration_max_delay_ns;
    bool rebalance_replace;              /* --rebalance=Replace (Ignore) */
    uint32_t repair_threshold_permyriad; /* --repair-threshold (20%) */
    unsigned approval;                   /* --approval (Off): bits of disruption_reason */
    int64_t approval_ttl_ns;             /* --approval-ttl (24h) */
    struct min_saving min_saving;        /* --min-saving (0) */
    int64_t min_node_life_ns;            /* --min-node-life (0s) */
    int64_t ignore_short_pods_ns;        /* --ignore-short-pods (0s) */
    bool return_to_weight;
    int32_t spot_min_types;                      /* --spot-min-types (15) */
    const char *approval_text, *min_saving_text; /* as given */
    const char *budget_timezone; /* as given, known to be one (decoder_budget_timezone) */

    /* Karpenter's */
    const char *cluster_name, *cluster_endpoint, *cluster_ca_bundle;
    const char *interruption_queue;
    const char *lease_name, *lease_ns; /* --leader-election-name, --leader-election-namespace */
    bool leader_election;
    bool isolated_vpc, eks_control_plane, disable_dry_run, disable_state_metrics;
    int32_t vm_overhead_permyriad, reserved_enis;
    int64_t batch_idle_ns, batch_max_ns;
    enum preference_policy preference;
    enum min_values_policy min_values;
    const char *scheduler_config; /* readable (decode_scheduler_config); "" without constraints */
    bool gate_spot_to_spot, gate_node_repair, gate_reserved_capacity;
    int metrics_port, health_port; /* 0 = off */
    double kube_qps;
    int kube_burst;
    enum log_level log_level;

    /* where */
    const char *region;     /* AWS_REGION; required: IMDS is not asked */
    const char *kubeconfig; /* "" = as KUBECONFIG says, else in cluster */
    const char *pod_name;   /* POD_NAME, HOSTNAME: part of the Lease identity */
    const char *marker_dir; /* --marker-dir: of agent/work/marker.h's file ("" = none) */
    const char *listen;     /* address of both HTTP ports ("" = all) */
    bool help, version;
};

/* getenv by name: a port, so that tests and the simulator give their own. */
typedef const char *(*options_env_fn)(void *ctx, const char *name);

/* argv without the program's name. Fills every field, defaults included. */
int options_parse(struct agent_options *o, int argc, const char *const *argv, options_env_fn env,
                  void *ctx, struct err *reterr);
void options_done(struct agent_options *o);
/* The text of --help. */
void options_help(struct buf *out);

#endif
