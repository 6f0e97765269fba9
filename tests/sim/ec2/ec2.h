/*
 * ec2.h - a simulated AWS account: EC2 with SSM, EKS, IAM, STS, SQS and Pricing, in memory.
 *
 * It knows no sockets and no Kubernetes. Time comes from the clock and the timers it is given; what
 * a booting instance does is up to the `boot` hook. It is asked through `struct aws_port` (the
 * agent's) in the services' own wire texts, form or JSON in, XML or JSON out; karp-ec2 puts the
 * same port behind HTTP.
 *
 * The world at the start: per zone of the region one subnet with 4,000 free
 * addresses, one security group `nodes`, one image per architecture, everything tagged
 * karpenter.sh/discovery=CLUSTER and matched by any other tag too unless a step's `tags` says
 * otherwise; on-demand prices of the built-in us-east-1 table, spot 40% of them in every zone. A
 * type without a price is not offered.
 *
 * What happens when:
 *  - A call takes effect when it arrives (also if the asker dies meanwhile) and is answered in a
 *    later turn of the timers: CreateFleet after opts.fleet_ns, everything else at once.
 *    SQS ReceiveMessage waits as long as it is told to.
 *  - An instance is pending; `boot_ns` after the fleet was answered it is running, reads its user
 *    data, and if that is right `boot` is called. If not, it never joins: `why_not_joined` says
 *    why.
 *  - Terminated, it is shutting-down (`down` is called), after terminate_ns terminated, and listed
 *    as such for an hour.
 *  - Describes miss instances younger than hide_ns.
 *  - EventBridge's rules of EC2's documentation exist: every change of an instance's state puts a
 *    message into the queue, a spot interruption two minutes before the end. Messages live 5
 *    minutes.
 *
 * Spot is placed price-capacity-optimized as "the cheapest pool that has stock", on-demand lowest
 * price; ties by type, then zone: there is no chance in here at all, so a replay is exact.
 *
 * Ids and node names come from a counter: i-%017x; ip-10-ZONE-X-Y in launch order.
 *
 * Ownership: strings and objects handed out are borrowed and good until the next call into the
 * cloud. Sizes are capped (SIMEC2_MAX_*); beyond them calls answer RequestLimitExceeded-like
 * errors, as the real service does for quotas.
 */
#ifndef KARP_TESTS_SIM_EC2_H
#define KARP_TESTS_SIM_EC2_H

#include "common/aws/port.h"
#include "common/base/clock.h"
#include "common/base/timer.h"

#include <jansson.h>
#include <stdbool.h>

#define SIMEC2_MAX_INSTANCES 200000u /* alive and remembered */
#define SIMEC2_MAX_TEMPLATES 10000u
#define SIMEC2_MAX_TOKENS 200000u
#define SIMEC2_MAX_MESSAGES 120000u /* in flight or visible */
#define SIMEC2_MAX_RULES 4096u      /* outOfCapacity, fail, throttle */

struct simec2;
struct simec2_port;

struct simec2_opts {
    const char *region;       /* us-west-2 */
    const char *account;      /* 111122223333 */
    const char *cluster;      /* sim; EKS's cluster and the discovery tag's value */
    const char *queue;        /* sim; "" = there is no queue */
    const char *endpoint;     /* the API server's URL: told by EKS, demanded of user data */
    const char *ca_b64;       /* likewise */
    const char *k8s_version;  /* 1.34 */
    const char *service_cidr; /* 10.96.0.0/16; also demanded */
    const char *const *types; /* globs, NULL-terminated; NULL = all */
    int64_t fleet_ns;         /* 2 s */
    int64_t boot_ns;          /* 30 s */
    int64_t terminate_ns;     /* 5 s */
    int64_t hide_ns;          /* 0 */
    uint32_t first_host;      /* 16: the x*256+y of the first node's name in each zone, < 65536 */
};
void simec2_opts_default(struct simec2_opts *o);

enum simec2_state {
    SIMEC2_PENDING,
    SIMEC2_RUNNING,
    SIMEC2_SHUTTING_DOWN,
    SIMEC2_TERMINATED,
    SIMEC2_STOPPING,
    SIMEC2_STOPPED
};

/* Read-only to everybody outside. */
struct simec2_instance {
    const char *id, *type, *zone, *zone_id;
    const char *arch; /* amd64, arm64 */
    bool spot;
    enum simec2_state state;
    const char *subnet_id, *image_id, *private_ip, *private_dns;
    const char *node_name;   /* what its kubelet registers as */
    const char *provider_id; /* aws:///ZONE/ID */
    const char *template_name, *fleet_id;
    int64_t launched_ns; /* wall */
    int64_t price_pusd_h;
    const json_t *tags;         /* {key: value} */
    bool joined;                /* boot was called */
    const char *why_not_joined; /* NULL; text once it is known that it never joins */
    bool notice_read;           /* somebody received its interruption warning */
};

/* ---- user data ---------------------------------------------------------------------------------
 */

/* An AL2023 instance's user data, as nodeadm would read it: all application/node.eks.aws parts of
 * the MIME message merged in order. Objects are never NULL. */
struct simec2_userdata {
    json_t *config;      /* the merged NodeConfig's spec */
    const char *cluster; /* these four inside config */
    const char *endpoint, *ca_b64, *cidr;
    json_t *kubelet;  /* spec.kubelet.config, {} if absent */
    json_t *labels;   /* of --node-labels, {key: value} */
    json_t *taints;   /* registerWithTaints and --register-with-taints: [{key, value, effect}] */
    int64_t max_pods; /* -1 if the text has none */
    bool raid0;
};

/* b64 is what the launch template carries. ERR_INVALID with a reason for people: not base64, no
 * MIME, no NodeConfig part, unknown fields, a label kubelet refuses, a malformed taint, … */
int simec2_userdata_parse(const char *b64, struct simec2_userdata *ret, struct err *reterr);
void simec2_userdata_done(struct simec2_userdata *u); /* also for zeroed ones */

/* What a booting instance brings along. */
struct simec2_boot {
    const struct simec2_instance *inst;
    const struct simec2_userdata *userdata;
    /* The Node its kubelet and the cloud controller register: name, labels (those of the user data,
     * instance type, arch, os, hostname, zone, zone id, region), spec.providerID, spec.taints (the
     * user data's, and node.kubernetes.io/not-ready:NoSchedule), status.capacity, allocatable,
     * addresses, nodeInfo; condition Ready=False. No annotation, no uid. */
    const json_t *node;
};

/* ---- hooks -------------------------------------------------------------------------------------
 */

/* What a call meets instead of its usual answer. */
enum simec2_fault_kind {
    SIMEC2_NO_FAULT,
    SIMEC2_ERROR,       /* nothing happens; the error `code` is answered */
    SIMEC2_REFUSED,     /* nothing happens; the connection breaks */
    SIMEC2_LOST_ANSWER, /* it happens; the connection breaks */
    SIMEC2_LATE_ANSWER, /* it happens; answered delay_ns later than usual */
    SIMEC2_CUT_ANSWER   /* it happens; the body ends after half of its bytes */
};

struct simec2_fault {
    enum simec2_fault_kind kind;
    char code[64];
    int64_t delay_ns;
};

/* Each may be NULL. None may free the cloud. */
struct simec2_hooks {
    void *ctx;
    /* An instance joins. Called from a timer. */
    void (*boot)(void *ctx, const struct simec2_boot *b);
    /* A joined instance goes down: its kubelet is dead from now on. From a timer or a call. */
    void (*down)(void *ctx, const struct simec2_instance *inst);
    /* A joined instance is terminated: what asks EC2 about it hears so. From a timer. */
    void (*gone)(void *ctx, const struct simec2_instance *inst);
    /* The call is about to be answered; n counts answers to service:action from 1. True = the asker
     * just died, do not answer (the port may have been closed or freed in here). */
    bool (*answered)(void *ctx, struct simec2_port *from, const char *service, const char *action,
                     uint64_t n);
    /* Chance of the world: fill *ret to trouble this call. Asked before `fail` and `throttle`
     * rules. */
    void (*fault)(void *ctx, const char *service, const char *action, struct simec2_fault *ret);
    /* One line of the world's timeline ("launched i-… c5.4xlarge spot us-west-2a"). */
    void (*note)(void *ctx, const char *text);
};

/* ---- life --------------------------------------------------------------------------------------
 */

/* clock, timers and hooks are borrowed for the cloud's life; opts is copied. ERR_INVALID for a
 * region without offerings. */
struct simec2 *simec2_new(const struct simec2_opts *opts, const struct clock *clock,
                          struct timers *timers, const struct simec2_hooks *hooks,
                          struct err *reterr);
/* Closes all ports first; their askers hear nothing more. */
void simec2_free(struct simec2 *e);

/* One asker's way in: one per agent. The port's close() cancels what is open and leaves it usable;
 * simec2_port_free closes and frees. Works also when the cloud has been freed before. */
struct simec2_port *simec2_port_new(struct simec2 *e);
struct aws_port *simec2_port_aws(struct simec2_port *p);
/* The process behind the port stands still until then (mono): answers wait for it. */
void simec2_port_freeze(struct simec2_port *p, int64_t until_ns);
void simec2_port_free(struct simec2_port *p);

/* ---- the scenario's hand -----------------------------------------------------------------------
 */

/* spec.ec2 of a Scenario: types, boot, onDemand, spot, outOfCapacity (`ready` is the kubelet's and
 * skipped here). Before the first call. ERR_INVALID names the field. */
int simec2_configure(struct simec2 *e, const json_t *spec, struct err *reterr);

/*
 * An `ec2` step: outOfCapacity, restock, throttle, fail, prices, pricesTimes, noBoot, hide, images,
 * tags, foreign, capacityReservations, placementGroups, quota, messages: [{body, times}] (into the
 * queue); and, with the TARGET replaced by an array of instance ids: spotInterruption, rebalance,
 * terminate, stop, status, scheduledEvent. Several keys may stand together. ERR_INVALID names the
 * field; nothing is changed then.
 *
 * capacityReservations: [{id, type, zone, count, open, block, owner, for, tags}] (set anew by id),
 * placementGroups: [{id, name, strategy, partitions}], quota: {onDemandVcpu, spotVcpu}:
 * ec2_reserve.c.
 *
 * fail: {action, code, times}: action "CreateFleet" or "ec2:CreateFleet", globs allowed. Codes
 * beside the services' own: ConnectionRefused, LostAnswer, CutAnswer, LateAnswer (with `delay`).
 * cut: {action, times} is short for code CutAnswer.
 */
int simec2_step(struct simec2 *e, const json_t *step, struct err *reterr);

/* One instance dies without anybody asking for it. False if there is none alive with that id. */
bool simec2_kill(struct simec2 *e, const char *id);
/* Puts a text into the queue. False if there is no queue or it is full. */
bool simec2_queue_send(struct simec2 *e, const char *text);

/* ---- the scenario's eye ------------------------------------------------------------------------
 */

/* In launch order, terminated ones as long as they are remembered. */
size_t simec2_n_instances(const struct simec2 *e);
const struct simec2_instance *simec2_instance_at(const struct simec2 *e, size_t i);
const struct simec2_instance *simec2_find(const struct simec2 *e, const char *id);
const struct simec2_instance *simec2_find_node(const struct simec2 *e, const char *node_name);
const char *simec2_state_name(enum simec2_state s); /* "running", "shutting-down", … */

/* The expectation `instances`: absent fields match all; clusterUID compares the tag
 * karp.dev/cluster-uid; without `state`, pending and running ones. -1 and ERR_INVALID for an
 * unknown field. */
int simec2_count(const struct simec2 *e, const json_t *match, size_t *ret_n, struct err *reterr);
/* Array of {id, type, zone, capacityType, state, node, joined, whyNotJoined, launchTime, price,
 * clusterUID, tags}, in launch order. New reference. */
json_t *simec2_list(const struct simec2 *e);
/* $/h of pending and running instances of this cluster's tag (foreign ones not), pico-dollars. */
int64_t simec2_cost_pusd_h(const struct simec2 *e);
/* Calls that arrived so far; action NULL = all of the service, both NULL = all. */
uint64_t simec2_calls(const struct simec2 *e, const char *service, const char *action);
/* {"ec2:CreateFleet": 3, …} sorted. New reference. */
json_t *simec2_call_counts(const struct simec2 *e);
/* Messages in the queue, in flight included. */
size_t simec2_queue_len(const struct simec2 *e);
/* Launch templates that exist. */
size_t simec2_n_templates(const struct simec2 *e);
/* Since a step changed prices; NS_NEVER if none did. */
int64_t simec2_prices_age_ns(const struct simec2 *e);
/* Pico-dollars per hour, PRICE_UNKNOWN (-1) if not offered there. */
int64_t simec2_price(const struct simec2 *e, const char *type, const char *zone, bool spot);
/* It is offered there, in stock and within the quota, and no rule of a step troubles launches now.
 */
bool simec2_can_launch(const struct simec2 *e, const char *type, const char *zone, bool spot);
/* Zones in string order, NULL-terminated. */
const char *const *simec2_zones(const struct simec2 *e);

#endif
