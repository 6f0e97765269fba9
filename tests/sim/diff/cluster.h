/*
 * cluster.h - random small clusters with pods that wait, as Kubernetes objects.
 *
 * A cluster is a function of its kind and its seed. Of the odd kind it has anything: NodePools with
 * requirements, taints, limits and weights; nodes with and without NodeClaims, claims that are
 * launched but not registered; DaemonSets; pods that run; pods that wait, of up to four workloads
 * with selectors, affinity, anti-affinity, spreads, tolerations, host ports, volumes and
 * priorities. Of the usual kind it is as users have them: NodePools that leave types open, and many
 * pods of up to twelve workloads that spread over zones or keep apart on hosts. Everything in it is
 * valid for a real API server.
 *
 * Nodes take the same number of volumes, or any number if there are no CSINodes.
 *
 * The instance types of DIFF_TYPES are there or all of the catalog, in DIFF_REGION. Pods of a
 * priority never preempt: whoever replays a plan asks where pods fit, not whom they can push away.
 */
#ifndef KARP_SIM_DIFF_CLUSTER_H
#define KARP_SIM_DIFF_CLUSTER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define DIFF_REGION "us-west-2"
#define DIFF_TYPES                                                                                 \
    "m5.large,m5.xlarge,c5.large,c5.2xlarge,r5.large,t3.medium,m6g.large,c6g.xlarge,m5d.large,"    \
    "g4dn.xlarge"
#define DIFF_DRIVER "ebs.csi.aws.com"

struct diff_cluster {
    uint64_t seed;
    json_t *objects;    /* array, in the order in which they came into being */
    const char *policy; /* --preference-policy: static text */
    const char *types;  /* --types, likewise; NULL: all of the catalog */
};

/* Up to so many pods wait; of `usual` ones 30 at least, if there may be as many. */
#define DIFF_PODS 10u
#define DIFF_PODS_USUAL 300u
#define DIFF_PODS_MAX 500u

struct diff_kind {
    bool usual;     /* as users have them */
    bool all_types; /* of the catalog */
    uint32_t pods;
};
void diff_cluster_make(const struct diff_kind *kind, uint64_t seed, struct diff_cluster *ret);
void diff_cluster_done(struct diff_cluster *c);

#endif
