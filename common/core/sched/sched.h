/*
 * sched.h - where pending pods go: the Karpenter-compatible placement.
 *
 * For each pod, by priority, then cpu, memory, age, UID (Karpenter does not look at priority):
 *   1. existing nodes and launching claims, initialized first, then by name: first that takes it;
 *   2. claims opened by this decision, fewest pods first, then by age (of those with many
 *      pods, least cpu first);
 *   3. a new claim from the pools by weight.
 * A pod that fits nowhere is relaxed step by step, as Karpenter: required node-affinity terms are
 * ORed; then preferred pod affinity, preferred anti-affinity and preferred node affinity are given
 * up, each from the heaviest, then soft spreads in their order, then PreferNoSchedule is tolerated.
 * In the end it is refused with a reason for every pool. No pod waits behind one that cannot be
 * placed; one that a pod placed later makes room for (affinity, a spread) has another turn.
 * With Ignore preferences are not looked at; with Reasonable a preference chooses among places and
 * shapes claims that must be opened anyway, but opens none by itself. Static pools are left out.
 *
 * Rules about other pods (spread, affinity and its inverse, shares): sched_topo.h. Volumes:
 * volume.h, sched_volume.c. A new claim is for reserved capacity where a reservation (catalog.h)
 * has a unit for it, and is then for that reservation alone; no more claims than it has units.
 *
 * Limits: a new claim takes the largest capacity among its types from the pool's limit; if that
 * would make another pod of this pass unplaceable, types are cut: those that hold the reservation
 * up, which are the dearest as a rule (never below minValues). `nodes` counts claims.
 *
 * Resumable: begin, step(units) until it says done, result. A unit is one class tried against one
 * place, or as much other work: passing over places that have refused, explaining refusals and
 * finishing claims count too, but max_units ends only the placing. A step may do a little more than
 * it was given. Slicing never changes the result. Everything lives in the arena given to begin.
 */
#ifndef KARP_CORE_SCHED_H
#define KARP_CORE_SCHED_H

#include "common/core/snapshot.h"

enum preference_policy { PREFERENCE_RESPECT, PREFERENCE_IGNORE, PREFERENCE_REASONABLE };
enum min_values_policy { MIN_VALUES_STRICT, MIN_VALUES_BEST_EFFORT };

/* Baseline: the compatible placement as it is; the others: then made cheaper (improve.h), with no
 * more new nodes, or with more where they are worth it. The option is for pools that do not say
 * which of the two (karp.dev/placement). */
enum placement { PLACEMENT_BASELINE, PLACEMENT_COMPATIBLE, PLACEMENT_CHEAPEST };

struct sched_options {
    enum placement placement;
    bool tight; /* leave the cheaper plan as it is, though kube-scheduler may not fill it so */
    enum preference_policy preference;
    enum min_values_policy min_values;
    uint64_t max_units; /* past it the result is truncated; 0 = no limit */
    uint32_t max_types; /* instance types kept per claim in the NodeClaim (600) */
    /* Share of one workload's replicas per node where the pool does not say; 0 = any. */
    uint32_t max_share_permyriad;
    /* For pods without spread constraints of their own (--scheduler-config); selectors are not set.
     */
    const struct spread *default_spreads;
    uint32_t n_default_spreads;
    bool record_reasons; /* fill sched_refusal; without, only pod-level codes are there */
};
void sched_options_default(struct sched_options *o);

struct sched_claim {
    const struct snapshot_pool *pool;
    struct reqset reqs;    /* final: instance types and capacity types are In lists */
    const uint32_t *types; /* catalog numbers, cheapest first */
    uint32_t n_types;
    struct offer_mask offer;
    const struct reservation *reservation; /* NULL: not reserved capacity */
    struct resources requests;             /* of its pods plus the least daemon overhead */
    struct resources daemon_overhead;      /* of the first type */
    const struct pod *const *pods;
    uint32_t n_pods;
    int64_t price_pusd_h; /* cheapest offering of the first type */
    bool min_values_relaxed;
};

struct sched_pool_refusal {
    const struct snapshot_pool *pool;
    struct reason reason;
};

struct sched_refusal {
    const struct pod *pod;
    struct reason reason;                   /* pod level, or the nearest pool's */
    const struct sched_pool_refusal *pools; /* nearest first */
    uint32_t n_pools;
};

struct sched_placement {
    const struct pod *pod;
    const struct snapshot_node *node;
};

struct sched_result {
    const struct sched_placement *existing;
    uint32_t n_existing;
    const struct sched_claim *claims;
    uint32_t n_claims;
    const struct sched_refusal *refused;
    uint32_t n_refused;
    const struct pod *const *undecided; /* truncated before their turn */
    uint32_t n_undecided;
    /* Of the new capacity before it was made cheaper, at its cheapest, and as it is now. */
    int64_t baseline_pusd_h, tight_pusd_h, price_pusd_h;
    uint32_t n_stranded; /* pods that kube-scheduler would leave over with the tight plan */
    uint64_t work_units;
    bool truncated;
};

/*
 * The value to write into the label of a custom key that the claim's requirements leave open
 * ("Exists", bounds, several values): always the same one. The first by string of a list; else
 * "true", or a number where bounds ask for one. NULL if no value meets r. In a claim of a result
 * every custom key without minValues whose value has a symbol is already In [value].
 */
const char *sched_label_value(struct arena *a, const struct symtab *t, const struct req *r);

/* Why the pod is not the scheduler's business, REASON_NONE if it is: Gated, Preempting,
 * DaemonSetPod, StaticPod, NotScheduledByUs. */
enum reason_code sched_pod_gate(const struct pod *p);

/* "Compatible" or "Cheapest". */
bool sched_parse_placement(const char *text, enum placement *ret);
const char *sched_placement_name(enum placement p);
/* "25%": from 1% to 100%. */
bool sched_parse_share(const char *text, uint32_t *ret_permyriad);

struct sched;

struct sched *sched_begin(struct arena *a, const struct snapshot *s, const struct sched_options *o);
/* Works for at most `units` more; true when there is nothing left to do. */
bool sched_step(struct sched *s, uint64_t units);
/* Only after sched_step said true. Borrowed from the arena. */
const struct sched_result *sched_result(struct sched *s);

#endif
