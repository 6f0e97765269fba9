/*
 * cloud.h - EC2 as the agent's controllers see it.
 *
 * The cloud owns what is known of EC2: per EC2NodeClass a catalog and its offerings (prices,
 * stock-outs), launch templates, instances. It decides nothing about nodes: controllers ask, it
 * answers in a later turn. Files: class.c (resolution of EC2NodeClass and its conditions),
 * facts.c (offerings, prices, stock-outs), pricelist.c (those in print), reserve.c (capacity
 * reservations), template.c and userdata.c (launch templates), launch.c
 * (CreateFleet), instance.c (list, tag), network.c (where they are), byid.c (describe, terminate),
 * status.c (DescribeInstanceStatus).
 *
 * Callbacks run exactly once, never before the call returns, never after cloud_free.
 */
#ifndef KARP_AGENT_CLOUD_CLOUD_H
#define KARP_AGENT_CLOUD_CLOUD_H

#include "common/core/disrupt/drift.h"
#include "common/core/snapshot.h"

#define TAG_CLAIM_UID "karp.dev/nodeclaim-uid"
#define TAG_CLUSTER_UID "karp.dev/cluster-uid"
#define TAG_CLUSTER "eks:eks-cluster-name"
#define TAG_POOL "karpenter.sh/nodepool"
#define TAG_CLAIM "karpenter.sh/nodeclaim"
#define TAG_CLASS "karpenter.k8s.aws/ec2nodeclass"

struct buf;
struct cloud;
struct runtime;

struct cloud *cloud_new(struct runtime *rt);
void cloud_free(struct cloud *c);
/* Verifies the account (STS) and region, reads the cluster (EKS), offerings and prices; watches
 * node classes. */
void cloud_start(struct cloud *c);
/* Facts needed for a first decision are there. */
bool cloud_ready(const struct cloud *c);

/* ---- what can be launched ---------------------------------------------------------------------
 */

/* One snapshot_pool_in per pool of the store that is ours and not static, in any order: its class,
 * catalog and offerings, or why it is closed. Borrowed until the store's thaw. */
void cloud_pools(struct cloud *c, struct arena *a, struct snapshot_in *ret);
/* Price of a running offering; PRICE_UNKNOWN. */
int64_t cloud_price(struct cloud *c, const char *type, const char *zone, enum capacity_type ct);

/* What is offered and what it costs, to out, in the form of the plugin's price files:
 * {"region", "onDemand": {TYPE: PRICE}, "spot": {TYPE: {ZONE: PRICE}}, "zones": {TYPE: [ZONE]}};
 * without "spot" where EC2 has told no spot price at all. False: out was too small. */
bool cloud_prices(const struct cloud *c, struct buf *out);
/* Another number wherever cloud_prices may be another text. */
uint64_t cloud_prices_version(const struct cloud *c);

/* Stock-outs now in force, for status and metrics. until_ns is wall clock. */
struct stockout {
    enum capacity_type ct;
    const char *type, *zone; /* type "*": the whole capacity type */
    const char *code;        /* EC2's */
    int64_t until_ns;
};
uint32_t cloud_stockouts(struct cloud *c, struct arena *a, const struct stockout **ret);
/* EC2 takes back or is about to take back what runs of it: avoided like a stock-out, with that
 * code.
 */
void cloud_stockout_mark(struct cloud *c, enum capacity_type ct, const char *type, const char *zone,
                         const char *code);
/* One that a process before us had published: in force until its time, if that is not over. */
void cloud_stockout_restore(struct cloud *c, const struct stockout *s);

/* What is left in capacity reservations, for status; in no order. */
struct cloud_reservation {
    const char *id;
    int64_t left;
};
uint32_t cloud_reservations(struct cloud *c, struct arena *a, const struct cloud_reservation **ret);
/* EC2 takes an instance out of it: nothing more is to be had until EC2 says otherwise. */
void cloud_reservation_empty(struct cloud *c, const char *id);

/* ---- launching: one call is one attempt (see launcher.h for "exactly once") -------------------
 */

enum launch_outcome {
    LAUNCH_OK,
    LAUNCH_NO_CAPACITY, /* definitive: no instance; offerings are marked */
    LAUNCH_NOT_READY,   /* the class is not ready: nothing was asked */
    LAUNCH_REFUSED,     /* definitive: EC2 said no (reason, message), no instance */
    LAUNCH_UNKNOWN      /* no answer, or the token was used with other parameters: look by tag */
};

struct instance {
    const char *id, *type, *zone, *zone_id, *image_id, *subnet_id, *state;
    const char *claim_uid, *cluster_uid, *cluster, *pool, *cls, *claim; /* tags, "" if absent */
    const char *name_tag;
    const char *const *groups; /* ids of security groups */
    uint32_t n_groups;
    enum capacity_type ct;
    const char *reservation_id, *reservation_kind; /* of reserved capacity, else NULL */
    bool interruptible;                            /* likewise */
    int64_t launched_ns;
};

struct launch_result {
    enum launch_outcome outcome;
    struct instance instance;               /* LAUNCH_OK; borrowed for the call */
    struct resources capacity, allocatable; /* the catalog's view of its type */
    const struct catalog *catalog;          /* which has its labels; NULL: it is not there */
    uint32_t type;                          /* its number there */
    bool answered;                          /* EC2 answered this attempt: it is certain for the
                                             * attempt, not only for this call, what it made */
    char reason[64];                        /* condition reason: Karpenter's names */
    char message[304];                      /* ≤ 300 characters */
};

typedef void (*cloud_launch_fn)(void *arg, const struct launch_result *r);
void cloud_launch(struct cloud *c, const struct nodeclaim *nc, int64_t attempt,
                  cloud_launch_fn done, void *arg);
/* Describes an instance found by tag in the shape of a launch result. */
void cloud_describe_launch(struct cloud *c, const struct nodeclaim *nc, const struct instance *i,
                           struct launch_result *ret);

/* ---- instances ---------------------------------------------------------------------------------
 */

/* err.kind ERR_NONE and the instances (strings good for the call), or what failed. Only instances
 * of this cluster UID and cluster name; states pending … shutting-down. */
typedef void (*cloud_list_fn)(void *arg, const struct err *err, const struct instance *list,
                              uint32_t n);
void cloud_list(struct cloud *c, cloud_list_fn done, void *arg);
/* Instances tagged with the claim's UID, in any state but terminated. */
void cloud_find(struct cloud *c, const char *claim_uid, cloud_list_fn done, void *arg);
/* By id; n is 0 if EC2 does not know it or it is terminated. */
void cloud_get(struct cloud *c, const char *instance_id, cloud_list_fn done, void *arg);

typedef void (*cloud_done_fn)(void *arg, const struct err *err);
/* ERR_NONE: EC2 took the order (or it was shutting down); ERR_NOT_FOUND: it is gone. */
/* The last lines of its serial console, for people; tag comes back. Not called where there are
 * none, or we may not ask. */
#define CLOUD_CONSOLE_MAX 360
typedef void (*cloud_console_fn)(void *arg, const char *tag, const char *text);
void cloud_console(struct cloud *c, const char *instance_id, const char *tag, cloud_console_fn done,
                   void *arg);
/* Of a whole output; in a. */
const char *cloud_console_tail(struct arena *a, const char *text);

void cloud_terminate(struct cloud *c, const char *instance_id, cloud_done_fn done, void *arg);
void cloud_tag(struct cloud *c, const char *instance_id, const struct kv *tags, uint32_t n,
               cloud_done_fn done, void *arg);

/* Does the claim's instance lie in subnets and security groups of its class? As Karpenter:
 * SecurityGroupDrift before SubnetDrift. Unknown: not listed yet (the last cloud_list tells), or
 * the class is being looked at. Texts in a. */
enum network_state { NETWORK_UNKNOWN, NETWORK_KNOWN };
enum network_state cloud_network(struct cloud *c, struct arena *a, const struct nodeclaim *nc,
                                 struct drift *ret);

/* What EC2 finds fault with, in the whole account. since_ns: wall, 0 = not told. */
enum cloud_fault { FAULT_INSTANCE_STATUS, FAULT_SYSTEM_STATUS, FAULT_EVENT };
struct cloud_status {
    const char *instance_id;
    enum cloud_fault fault;
    int64_t since_ns;
};
typedef void (*cloud_statuses_fn)(void *arg, const struct err *err, const struct cloud_status *list,
                                  uint32_t n);
void cloud_statuses(struct cloud *c, cloud_statuses_fn done, void *arg);

/* "aws:///us-west-2a/i-0123" → "i-0123" (inside the argument); NULL if it is none. */
const char *cloud_instance_id(const char *provider_id);

/* Static stability: launches or terminations fail as such (5xx, throttling, time-out, permission)
 * right now, or the last describe did, so nothing is removed voluntarily. A stock-out does not
 * count. */
bool cloud_failing(const struct cloud *c);
/* How far our clock is ahead of AWS's, by the Date of its answers, or has been set since the last
 * one. Beyond 30 s age-based actions are frozen. */
int64_t cloud_clock_skew_ns(const struct cloud *c);

#endif
