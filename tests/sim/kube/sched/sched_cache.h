/*
 * sched_cache.h - what kube-scheduler remembers of the cluster: nodes, the pods placed on them, and
 * indexes that make topology rules cheap.
 *
 * Pods that are alike for everybody else's rules (namespace, labels, pod affinity) form a group;
 * a selector is asked once per group, and a group knows how many of it are on which node. The value
 * of a node label is a domain, a small number that is unique over keys and values, so that counts
 * per domain are arrays.
 *
 * A cluster owns nodes, pods and groups. A placed pod stands in its node's list and in its group; a
 * node without object stays as long as pods are placed on it. sim_cluster_place and _unplace are
 * each other's inverse, which is how what-if questions (preemption) are asked.
 */
#ifndef KARP_SIM_SCHED_CACHE_H
#define KARP_SIM_SCHED_CACHE_H

#include "common/base/map.h"
#include "tests/sim/kube/podspec.h"
#include "tests/sim/kube/world.h"

#define SIM_TOPOLOGY_KEYS_MAX 64

struct sim_sched_pod;
struct sim_pod_group;

struct sim_sched_node {
    char *name;
    json_t *obj; /* NULL: pods are bound to it, but it does not exist (any more) */
    struct sim_res allocatable, used;
    int64_t used_nonzero_cpu_milli, used_nonzero_mem_bytes;
    bool unschedulable, tainted;
    struct sim_sched_pod **pods; /* placed here */
    size_t n_pods, cap_pods;
    size_t n_port_pods, n_claim_pods;   /* of these, with host ports, with claims */
    int domains[SIM_TOPOLOGY_KEYS_MAX]; /* by number of the key; see sim_cluster_domain */
    size_t n_domains;                   /* how many of them have been read */
    struct map *attached; /* volumes of VolumeAttachments to it -> self; NULL = none */
    uint32_t eligible;    /* scratch of sched_spread.c: bit per constraint */
    int64_t scratch;      /* scratch of whoever asks about all nodes */
    size_t turn;          /* scratch of sched_order.c */
};

struct sim_sched_pod {
    char *uid, *ns, *name;
    json_t *obj;
    struct sim_res req;
    int64_t nonzero_cpu_milli, nonzero_mem_bytes;
    bool picky;       /* has a nodeSelector or node affinity */
    bool topological; /* has pod affinity or spread constraints */
    bool ports, claims;
    bool terminating;
    int64_t priority;
    uint64_t class_hash;         /* pods of equal hash fit the same nodes */
    char *group_key;             /* of its group; NULL until read */
    struct sim_pod_group *group; /* while it is placed */
    struct sim_sched_node *node; /* where it is, bound or assumed */
    char *nominated;             /* node that preemption makes room on; NULL = none */
    /* queue */
    bool pending, active, binding;
    struct sim_sched *sched; /* whose queue it is in */
    uint64_t seq;
    size_t asleep; /* place among those + 1, 0 = not */
    struct timer backoff;
    unsigned attempts;
    int64_t next_try_ns, bind_until_ns;
};

struct sim_pod_group {
    char *ns;
    json_t *labels;   /* may be NULL */
    json_t *affinity; /* spec.affinity of its pods; NULL = no pod affinity at all */
    struct sim_place {
        struct sim_sched_node *node;
        int64_t n, live; /* pods; those not terminating */
    } * places;
    size_t n_places, cap_places;
};

struct sim_priority_count {
    int64_t priority;
    size_t n;
};

struct sim_cluster {
    struct sim_api *api;
    struct map *nodes;  /* name -> sim_sched_node */
    struct map *pods;   /* uid -> sim_sched_pod: pending or placed */
    struct map *groups; /* key -> sim_pod_group */
    struct map *claims; /* "ns/name" -> size_t *, placed pods that use it */
    char *keys[SIM_TOPOLOGY_KEYS_MAX];
    size_t n_keys;
    struct map *values;                    /* "key\nvalue" -> domain + 1 */
    struct sim_priority_count *priorities; /* of placed pods */
    size_t n_priorities, cap_priorities;
    size_t n_nominated;
    json_t *default_spreads; /* of pods that have none; NULL: the built-in ones */
    bool nodes_changed;      /* set with every change of a Node, taken back by sched_order.c */
};

void sim_cluster_init(struct sim_cluster *c, struct sim_api *api);
void sim_cluster_done(struct sim_cluster *c);

/* The node of that name, made if there is none. */
struct sim_sched_node *sim_cluster_node(struct sim_cluster *c, const char *name);
/* obj NULL: the Node was deleted, and is dropped unless pods are placed on it. */
void sim_cluster_set_node(struct sim_cluster *c, struct sim_sched_node *n, json_t *obj);
/* A VolumeAttachment of a volume came or went. */
void sim_cluster_attach(struct sim_cluster *c, const char *node, const char *volume, bool there);

struct sim_sched_pod *sim_cluster_pod_new(struct sim_cluster *c, const json_t *pod);
/* Reads the pod; it must not be placed. */
void sim_cluster_pod_read(struct sim_sched_pod *p, json_t *pod);
/* The same for a placed pod: only labels and being deleted can have changed. */
void sim_cluster_pod_refresh(struct sim_cluster *c, struct sim_sched_pod *p, json_t *pod);
void sim_cluster_pod_free(struct sim_cluster *c, struct sim_sched_pod *p);

void sim_cluster_place(struct sim_cluster *c, struct sim_sched_pod *p, struct sim_sched_node *n);
/* Frees nothing: a node without object is dropped by sim_cluster_drop_idle. */
void sim_cluster_unplace(struct sim_cluster *c, struct sim_sched_pod *p);
void sim_cluster_drop_idle(struct sim_cluster *c, struct sim_sched_node *n);

void sim_cluster_nominate(struct sim_cluster *c, struct sim_sched_pod *p, const char *node);
/* True if a placed pod has a lower priority. */
bool sim_cluster_has_lower(const struct sim_cluster *c, int64_t priority);

/* The number of a topology key; -1 if there are too many. */
int sim_cluster_key(struct sim_cluster *c, const char *key);
/* The node's domain of that key; -1 if it has no such label. */
int sim_cluster_domain(struct sim_cluster *c, struct sim_sched_node *n, int key);

/* Claim name of a pod volume; NULL if it is none. dst holds the made-up names of ephemeral ones. */
const char *sim_claim_of(const json_t *pod, const json_t *volume, char *dst, size_t size);

#endif
