/*
 * sched_topo.h - where pods may lie relative to other pods; internal to the scheduler.
 *
 * A group is one rule about one set of pods: a spread constraint, an affinity or anti-affinity
 * term, the inverse of a required anti-affinity term (who owns it counts, whom it selects is kept
 * away), or the share of one workload per node. Equal rules of many pods are one group. A group
 * counts pods per domain; a host (a node, or a claim opened by this pass) is a domain by its
 * number, so that host-level rules are an array access.
 *
 * Counts come from the pods that are bound or on their way (terminating ones do not count, as
 * Karpenter) and grow as pods are placed. A claim that may still come to lie in several domains
 * counts in none for spread and affinity, and in all of them for anti-affinity; where pods of this
 * pass depend on it, it is put into one domain at once.
 *
 * What is refused by anti-affinity, shares and host-level spread stays refused: counts only grow. A
 * spread over domains can let in later what it refused (its minimum rises), and so can affinity;
 * sched_topo_state tells whether one of them has changed.
 *
 * Default spread constraints hold for pods that declare none and that a Service selects or that
 * belong to a ReplicaSet, StatefulSet or ReplicationController. As kube-scheduler they are about
 * pods that all those Services select and the owner's selector; in place of the latter stands the
 * owner itself, which comes to the same.
 *
 * As kube-scheduler: a selector that is absent selects nothing; affinity without any matching pod
 * is met by a pod that matches its own terms, and only then; nodes without the key are no place for
 * a spread, count for none of the pod's spreads, and keep no pod off by anti-affinity. Domains of a
 * spread are those of nodes that its inclusion policies count, claims of this pass among them once
 * they are sure to lie in one, and those that pools could add where this pod could go, within what
 * limits left when the pass began (Karpenter also counts what other pods could open, and pools at
 * their limit). Spread over host names has minimum 0, as Karpenter, which is the stricter rule.
 */
#ifndef KARP_CORE_SCHED_TOPO_H
#define KARP_CORE_SCHED_TOPO_H

#include "common/core/snapshot.h"
#include "sched_same.h"

#define TOPO_MAX_VALUES 1024 /* domains of one key that are looked at for one claim */
#define TOPO_MAX_KEYS 8      /* keys of one class between which domains are chosen */
#define TOPO_COUNT_PER_UNIT 32
#define TOPO_MAX_CHOICES 128 /* combinations of domains tried for one claim */

enum topo_kind { TOPO_AFFINITY, TOPO_ANTI, TOPO_INVERSE, TOPO_SPREAD, TOPO_SHARE };

struct topo_domain {
    sym value;
    uint32_t count;
};

struct topo_group {
    enum topo_kind kind;
    uint32_t at; /* among all */
    sym key;
    bool host;
    int32_t max_skew, min_domains;
    struct selector sel; /* INVERSE: who is kept away */
    bool all_ns;
    const char *const *namespaces; /* sorted */
    uint32_t n_namespaces;
    const struct pod_class *filter; /* SPREAD: nodes that count are those that it could go to */
    bool honor_affinity, honor_taints;
    const sym *keys; /* SPREAD: those of all its kind in the pod; nodes that count have them all */
    uint32_t n_keys;
    const char *owner_uid; /* SHARE, and SPREAD by default: of its pods those that match; or NULL */
    uint32_t replicas;
    struct topo_domain *domains; /* sorted by value id */
    uint32_t n_domains, cap_domains;
    uint32_t *hosts; /* count per host number */
    uint32_t cap_hosts;
    uint64_t total;  /* pods counted in any domain */
    uint64_t opened; /* domains that went from none to one */
    uint64_t stamp;  /* changes with every count */
    uint32_t number; /* among those about hosts that the improver has met, plus 1 */
    uint32_t wanted; /* pods to be placed that have the rule; as a preference only with Respect */
};

enum topo_soft { TOPO_HARD, TOPO_SOFT_AFFINITY, TOPO_SOFT_ANTI, TOPO_SOFT_SPREAD };

/* One rule that a class has to obey. */
struct topo_use {
    struct topo_group *g;
    bool self; /* the pod is one of those that the group counts */
    enum topo_soft soft;
    uint32_t rank; /* in the order in which preferences are given up */
    bool known;    /* the domains below are */
    sym *domains;  /* SPREAD over domains: those that count for the minimum */
    uint32_t n_domains, cap_domains;
    uint32_t claims_seen; /* claims of this pass that were looked at for more of them */
    uint32_t epoch;       /* what-if: of claims_seen */
    uint32_t zones_from;  /* as many domains hold all zones where new nodes can be */
    uint64_t lost;        /* how far the minimum fell as domains were added */
    uint64_t least_stamp; /* of the group when least was computed, plus 1 */
    uint32_t least;
};

/* How many preferences of each kind a way has given up. */
struct topo_level {
    uint32_t affinity, anti, spread;
};

struct topo_class {
    struct topo_use *uses;
    uint32_t n_uses;
    struct topo_group **counted; /* groups that count a pod of the class once it is placed */
    uint32_t n_counted;
};

struct topo {
    struct topo_group **groups;
    uint32_t n_groups, cap_groups;
    bool on;     /* there is anything to look at */
    bool shares; /* some pool limits the share of a workload per node */
    uint32_t at; /* bound pods counted */
    struct topo_table *table;
    uint32_t ruled;          /* pods whose rules are known, then bound ones */
    struct labelsets labels; /* where the snapshot does not know them */
    struct same_pods same;
    uint32_t *pair_of;             /* per pod to be placed */
    const struct groups **matches; /* per number of labels; NULL: not known */
};

struct sched;
struct sched_node;
struct sched_open;
struct sched_pool;
struct sched_trial;

/* ---- sched_topo.c: groups and classes ---------------------------------------------------------
 */

void sched_topo_begin(struct sched *s);
/* Makes the groups that a few more pods to be placed have or are subject to; true at the end. */
bool sched_topo_rules(struct sched *s, uint32_t some);
/* Counts a few more of what is bound, after every class has been asked for; true at the end. */
bool sched_topo_count(struct sched *s);
/* What concerns the pod, which may be among the bound ones too; equal pods get the same pointer.
 * NULL if nothing does. */
const struct topo_class *sched_topo_class(struct sched *s, uint32_t pod, bool bound);
/* The class of one that is the same in everything, or SCHED_NO_CLAIM; sched_topo_found says which
 * it is. */
uint32_t sched_topo_known(struct sched *s, uint32_t pod);
void sched_topo_found(struct sched *s, uint32_t pod, uint32_t class_at);
/* Pods of the class are to be placed (times 1), or are no more (-1). */
void sched_topo_want(const struct sched *s, const struct topo_class *k, int times);
bool sched_topo_in_force(const struct topo_use *u, const struct topo_level *l);
/* A node with these labels has the keys of all spreads beside that of the group. */
bool sched_topo_has_keys(const struct topo_group *g, const struct reqset *labels);

/* ---- sched_count.c: counts ------------------------------------------------------------------- */

/* Changes the count of a domain, or of a host number where the group is about hosts. */
void sched_topo_shift(struct sched *s, struct topo_group *g, uint32_t at, int delta);
/* Pods counted in the domain. */
uint32_t sched_topo_count_in(const struct topo_group *g, sym value);
void sched_topo_add_domain(struct sched *s, struct topo_group *g, sym value);
void sched_topo_bump(struct sched *s, struct topo_group *g, sym value);
void sched_topo_bump_host(struct sched *s, struct topo_group *g, uint32_t host);
/* A pod that was counted on one host is on the other. */
void sched_topo_move_host(struct sched *s, struct topo_group *g, uint32_t from, uint32_t to);
/* Counts one more pod on the node; host SCHED_NO_CLAIM if it takes no more. */
void sched_topo_count_on(struct sched *s, struct topo_group *g, const struct snapshot_node *n,
                         uint32_t host);
/* A node that the group counts: has its keys, and its inclusion policies let it in. */
bool sched_topo_includes(struct sched *s, const struct topo_group *g,
                         const struct snapshot_node *n);
/* A pod of the class leaves the node. */
void sched_topo_off_node(struct sched *s, const struct topo_class *k,
                         const struct snapshot_node *n);

/* ---- sched_domain.c: rules against places ------------------------------------------------------
 */

/* The first rule in force that this node breaks, or NULL. *ret_for_good: it always will. */
const struct topo_use *sched_topo_node(struct sched *s, const struct topo_class *k,
                                       const struct topo_level *l, const struct sched_node *n,
                                       bool *ret_for_good);
/* Likewise for a host number and rules about hosts alone; a host that is not there yet counts 0. */
const struct topo_use *sched_topo_host(struct sched *s, const struct topo_class *k,
                                       const struct topo_level *l, uint32_t host,
                                       const struct sched_pool *p);
/* One of these rules. */
bool sched_topo_host_ok(struct sched *s, const struct topo_class *k, const struct topo_use *u,
                        uint32_t host, const struct sched_pool *p);
/* Values of the key that a node of the claim may come to have, by string; only what is in stock. */
uint32_t sched_topo_values(struct sched *s, const struct sched_pool *p, const struct reqset *reqs,
                           const uint64_t *types, struct offer_mask offer, sym key, sym *ret);
/* Keys between whose domains a claim has to choose for the class. */
uint32_t sched_topo_keys(const struct topo_class *k, const struct topo_level *l, sym *ret);
/*
 * Leaves of the values those that the rules allow and tells whether one of them has to be chosen;
 * then they are in the order of preference. If none is left, *ret_use is the rule to blame.
 */
uint32_t sched_topo_allow(struct sched *s, const struct topo_class *k, const struct topo_level *l,
                          sym key, sym *values, uint32_t n, bool *ret_choose,
                          const struct topo_use **ret_use);
/* Counts a pod of the class that was placed. */
void sched_topo_on_node(struct sched *s, const struct topo_class *k, const struct sched_node *n);
void sched_topo_on_claim(struct sched *s, const struct topo_class *k, const struct sched_open *c);
/* Grows when something that a rule in any level refused could now be let in. */
uint64_t sched_topo_state(struct sched *s, const struct topo_class *k);
/* The rules of the class can let in later what they refuse now. */
bool sched_topo_changes(const struct topo_class *k);
/* Fills operands and text of a refusal by the rule. */
void sched_topo_reason(struct sched *s, const struct topo_use *u, struct reason *r);
/* Finds out which domains the spreads of the class have, and which ones claims opened since have
 * brought; cls is any that has the rules. */
void sched_topo_learn(struct sched *s, const struct pod_class *cls, const struct topo_class *k);

#endif
