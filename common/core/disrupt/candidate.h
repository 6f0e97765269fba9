/*
 * candidate.h - may this node be disrupted, and if not, what is in the way.
 *
 * Gates are asked in the order of enum candidate_gate_id, which is that of the machine output; the
 * first that fails is the answer. This module has those that one node decides by itself; Budget and
 * what comes after it need the whole plan (consolidate.h).
 *
 * By reason (as Karpenter, but what is marked):
 *  - Empty: no bound pod but those of DaemonSets and static ones. A node whose pods all have
 *    negative disruption cost is not empty (ours). Every policy but consolidateAfter Never;
 * Waiting.
 *  - Underutilized: also the policy must not be WhenEmpty, and the type must be known.
 *  - Drifted: neither Policy nor consolidateAfter. A pod that is protected or under a
 * PodDisruptionBudget does not keep a node whose claim has a terminationGracePeriod. Static pools
 * are left alone. min-node-life holds for Underutilized (ours, off by default), and so does
 * ChurnGuard (ours): pods that two move to and fro are not moved for money. Waiting are also,
 * whatever the reason, nodes that are left in peace (ours): what was begun with them came to
 * nothing.
 *
 * A pod in the way is one with do-not-disrupt in force that is active (of DaemonSets and static
 * ones too), or that is being terminated within its grace (ours); or an evictable one that a
 * PodDisruptionBudget does not let go (pdb.h). Evictable: active, not static, not tolerating the
 * disrupted taint. A pod without a controller is not in the way; it is shown (consolidate.h).
 *
 * Price gates do not fail here: without a price a node can still be deleted. Whoever looks for a
 * replacement asks candidate_price_gate.
 */
#ifndef KARP_CORE_CANDIDATE_H
#define KARP_CORE_CANDIDATE_H

#include "common/core/snapshot.h"
#include "pdb.h"

/* clang-format off */
#define CANDIDATE_GATES(X)                                                                         \
    X(NotManaged) X(NotInitialized) X(Deleting) X(Held) X(Nominated) X(DoNotDisruptNode)           \
    X(DoNotDisruptPod) X(MultiplePDB) X(PDBPermanent) X(PDB) X(Policy) X(UnknownFields)            \
    X(LaunchesFailing) X(ClockSkew) X(ChurnGuard) X(Waiting) X(UnknownType) X(UnknownPrice)        \
    X(PriceStale) X(PriceSuspect) X(DriftSuspect) X(HeadroomNode) X(Budget) X(PodsDoNotFit)        \
    X(SpotToSpot) X(NotCheaper) X(TooSmallSaving) X(NotBalanced) X(Denied) X(ApprovalPending)
/* clang-format on */

enum candidate_gate_id {
#define X(name) GATE_##name,
    CANDIDATE_GATES(X)
#undef X
        GATE_COUNT
};
enum reason_code candidate_gate_code(enum candidate_gate_id id);

/* Where a gate stands. Reason: code is that of the refusal; operands are there as far as they are
 * known even where it passes (Waiting: since_ns, until_ns; PDB: the tightest; Budget: count of
 * limit). */
struct candidate_gate {
    bool pass;
    bool asked; /* false: an earlier gate failed and this one would have needed more work */
    struct reason reason;
};

/*
 * What the driver knows that is in no object; every function may be NULL (never). Texts end up in
 * reason.text and must live as long as the decision.
 */
struct candidate_facts {
    void *ctx;
    /* Pods are expected on it; *ret_pod (never NULL) may be set to "ns/name" of one. */
    bool (*nominated)(void *ctx, const struct snapshot_node *n, const char **ret_pod);
    bool (*in_command)(void *ctx, const struct snapshot_node *n); /* being removed already */
    bool (*launches_failing)(void *ctx, const struct snapshot_pool *p);
    const char *(*held)(void *ctx, const struct snapshot_node *n);    /* by whom, or NULL */
    int64_t (*churn_until)(void *ctx, const struct snapshot_node *n); /* 0: no guard */
    /* What was begun with it came to nothing, and it is left in peace; 0: it is not. */
    int64_t (*let_go_until)(void *ctx, const struct snapshot_node *n,
                            enum disruption_reason reason);
    bool (*price_suspect)(void *ctx, const struct snapshot_pool *p);
    bool (*drift_suspect)(void *ctx, const struct snapshot_pool *p);
    const char *(*denied)(void *ctx, const struct snapshot_node *n); /* request that was denied */
    const char *(*approval_pending)(void *ctx, const struct snapshot_node *n); /* the request */
    bool clock_skew;
    int64_t prices_ns; /* when prices were read, 0 = unknown; see CANDIDATE_PRICE_MAX_AGE_NS */
};

/* "10%" of the price of what leaves (permyriad), or an amount. The greater is asked for. */
struct min_saving {
    uint32_t permyriad;
    int64_t pusd_h;
};

/* How long pods that two move to and fro keep their pool's nodes from being consolidated: until
 * when the pool's condition ChurnGuard says so; 0 = it does not. */
#define CANDIDATE_CHURN_NS (INT64_C(3600) * 1000000000)
int64_t candidate_churn_until(const struct nodepool *np);
/* Prices older than this replace nothing. */
#define CANDIDATE_PRICE_MAX_AGE_NS (INT64_C(7) * 24 * 3600 * 1000000000)

/* ---- who is where ---------------------------------------------------------------------------- */

/* The pods of one node, by namespace and name. */
struct candidate_pods {
    const struct pod *const *pods; /* all that are not terminal */
    const struct pdb_hit *pdbs;    /* parallel; NULL: nobody is held */
    uint32_t n;
    uint32_t n_moving;  /* reschedulable ones */
    int64_t cost_micro; /* sum of candidate_pod_cost over those, negative ones left out */
};

/* Index of a snapshot's bound pods by node. */
struct candidate_index {
    const struct candidate_pods *nodes; /* parallel to the snapshot's */
    struct pdb_index pdbs;
};

void candidate_index_build(struct arena *a, const struct snapshot *s, struct candidate_index *ret);

/* ---- one node -------------------------------------------------------------------------------- */

struct candidate_in {
    const struct snapshot *snap;
    const struct candidate_index *index; /* NULL: pods are known by node_usage alone (Empty only) */
    enum disruption_reason reason;
    struct candidate_facts facts;
    int64_t min_node_life_ns; /* where the pool does not say */
    bool any_policy;          /* what if: as though every policy were WhenEmptyOrUnderutilized */
    struct arena *a;          /* texts and names; may be NULL with index NULL */
};

/* The first gate that fails, REASON_NONE if none up to HeadroomNode does. */
struct reason candidate_check(const struct candidate_in *in, const struct snapshot_node *n);
/* The same but for Held, which keeps no node out of a plan. */
struct reason candidate_check_but_held(const struct candidate_in *in,
                                       const struct snapshot_node *n);
/* All gates; those from Budget on are left not asked. Price gates are as candidate_price_gate. */
void candidate_gates(const struct candidate_in *in, const struct snapshot_node *n,
                     struct candidate_gate ret[GATE_COUNT]);

/* May this pod be evicted now? REASON_NONE, or DoNotDisruptPod, MultiplePDB, PDBPermanent, PDB,
 * DaemonSetPod and StaticPod (never moved). For rows of `explain node`. */
struct reason candidate_pod(const struct candidate_in *in, const struct pod *p);

/* UnknownType, UnknownPrice, PriceStale or PriceSuspect if the node's price cannot be compared. */
struct reason candidate_price_gate(const struct candidate_in *in, const struct snapshot_node *n);

/* No pods but DaemonSets' and static ones. */
bool candidate_is_empty(const struct candidate_in *in, const struct snapshot_node *n);

/* What the node costs: the price of its type in its zone and capacity type whether it is in stock
 * or not; PRICE_UNKNOWN. *ret_type (may be NULL) is its number in the pool's catalog, or -1. */
int64_t candidate_price(const struct snapshot_node *n, int *ret_type);

/* As Karpenter: 1 + podDeletionCost/2^27 + priority/2^25 within [-10, 10], in millionths. */
int64_t candidate_pod_cost(const struct pod *p);

/*
 * What it costs to disrupt the node, in millionths of a pod: 1 plus the positive costs of the pods
 * that move (as Karpenter), weighted up to half as much again by age (seven days or more) and up to
 * half by how full the node is (ours), so that of two nodes equal otherwise the young, empty one
 * goes.
 */
int64_t candidate_disruption(const struct candidate_in *in, const struct snapshot_node *n);

/* When consolidateAfter has passed for the claim: wall clock, NS_NEVER if never, 0 if the claim is
 * not initialized. Reference: lastPodEventTime, else the Initialized transition. */
int64_t candidate_consolidatable_at(const struct nodepool *np, const struct nodeclaim *nc);

/* Budgets count initialized nodes whose instance is not terminating; those that are not ready or on
 * their way out use the budget up. So does a claim whose Node is gone (to Karpenter it is no node
 * any more): its pods have just gone down, and what it took while it was not ready must not come
 * free by its Node being deleted. */
bool candidate_counted(const struct snapshot_node *n);

/* How many of the pool's nodes may leave for in->reason at that time, and how many do. */
struct budget_room {
    int64_t nodes, allowed, disrupting;
};
struct budget_room candidate_room(const struct candidate_in *in, const struct snapshot_pool *p,
                                  int64_t now_ns);

/* ---- empty nodes ----------------------------------------------------------------------------- */

/* REASON_Empty, or the code of the gate that fails (with operands), the budget's among them. */
struct reason candidate_empty(const struct candidate_in *in, const struct snapshot_node *n);

struct empty_plan {
    const struct snapshot_node **nodes; /* pool, then name */
    uint32_t n;
};

/* All empty nodes that budgets allow to leave now, in order pool, then name. */
struct empty_plan candidate_empty_plan(struct arena *a, const struct candidate_in *in);

#endif
