/*
 * reason.h - why something is not possible, as data.
 *
 * A reason is a code and its operands: which key, taint, resource, pool or type, and how far it
 * missed. Text is made elsewhere (reason_fmt here gives the one-line form shared by events and
 * screens). Codes and their order are part of the machine output, a code never changes meaning: a
 * pod in a pool is refused by the first that applies, and pools are listed by how far along this
 * order they got.
 */
#ifndef KARP_CORE_REASON_H
#define KARP_CORE_REASON_H

#include "req.h"
#include "resources.h"
#include "taint.h"

/* clang-format off */
#define REASONS_POD(X)                                                                             \
    X(Gated) X(Preempting) X(DaemonSetPod) X(StaticPod) X(NotScheduledByUs) X(ResourceClaim)       \
    X(PoolNotReady) X(UnknownFields) X(LaunchIneffective) X(CloudError) X(Taint) X(UnknownLabel)   \
    X(Requirement) X(Volume) X(VolumeZone) X(VolumeLimit) X(HostPort) X(PodAffinity)               \
    X(PodAntiAffinity) X(TopologySpread) X(MaxShare) X(ResourceUnknown) X(Resources) X(NoImage)    \
    X(NoSubnet) X(NoAddresses) X(Offering) X(MinValues) X(NodeLimit) X(Limit) X(LaunchBrake)       \
    X(NoPool)

#define REASONS_NODE(X)                                                                            \
    X(NotManaged) X(NotInitialized) X(Deleting) X(Held) X(Nominated) X(DoNotDisruptNode)           \
    X(DoNotDisruptPod) X(MultiplePDB) X(PDBPermanent) X(PDB) X(Policy) X(LaunchesFailing)          \
    X(ClockSkew) X(ChurnGuard) X(Waiting) X(UnknownType) X(UnknownPrice) X(PriceStale)             \
    X(PriceSuspect) X(DriftSuspect) X(HeadroomNode) X(Budget) X(PodsDoNotFit) X(SpotToSpot)        \
    X(NotCheaper) X(TooSmallSaving) X(NotBalanced) X(Denied) X(ApprovalPending)

#define REASONS_OUTCOME(X)                                                                         \
    X(FitsExisting) X(WaitingForNode) X(Schedulable) X(Empty) X(Consolidatable) X(Drifted)         \
    X(Expiring)
/* clang-format on */

enum reason_code {
    REASON_NONE = 0,
#define X(name) REASON_##name,
    REASONS_POD(X) REASONS_NODE(X) REASONS_OUTCOME(X)
#undef X
        REASON_END
};

struct reason {
    enum reason_code code;
    sym key;                   /* label key, or SYM_NONE */
    const struct req *have;    /* Requirement: what the pool, type or node offers */
    const struct req *want;    /* and what the pod asks for */
    const struct taint *taint; /* Taint */
    struct res_short short_of; /* Resources, Limit, ResourceUnknown */
    int64_t pod_need;          /* Resources: what of short_of.need is the pod's own, 0 = unknown */
    sym nearest_type;          /* instance type that came nearest, or SYM_NONE */
    /* NodeLimit, Budget, MinValues: what there is, what is asked; SpotToSpot: cheaper types, least
     * number; NotCheaper: best price of a replacement (PRICE_UNKNOWN: none), of what would leave;
     * TooSmallSaving: saving, least saving; NotBalanced: score, least score in permyriad */
    int64_t count, limit;
    int64_t until_ns;    /* when it ends by itself, 0 = unknown */
    int64_t since_ns;    /* how long it has been so, 0 = unknown */
    const char *object;  /* what is in the way: "ns/name" of a pod, or NULL */
    const char *object2; /* with it: "ns/name" of its PodDisruptionBudget, or NULL */
    const char *text;    /* what the object itself says (a condition's message), or NULL */
};

const char *reason_name(enum reason_code code);
/* One line without a period, for people: "needs cpu 30, 18 left of limit 96". */
void reason_fmt(const struct symtab *t, const struct reason *r, struct buf *out);

#endif
