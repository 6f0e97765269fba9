/*
 * model.h - Kubernetes and Karpenter objects as the core sees them.
 *
 * Every object is immutable once built and owned by whoever decoded it (the agent's store, the
 * plugin's gatherer, a test): all its strings and arrays live in the arena `mem` inside it, so it
 * goes with one call. Watch events replace an object whole. The core only borrows.
 *
 * Times are wall-clock nanoseconds, 0 = absent. Durations are nanoseconds, DURATION_NEVER for
 * "Never", -1 for absent. Label values that requirements can ask for are symbols; pod labels are
 * raw strings, because pod-template-hashes would fill the symtab for ever.
 */
#ifndef KARP_CORE_MODEL_H
#define KARP_CORE_MODEL_H

#include "req.h"
#include "resources.h"
#include "selector.h"
#include "taint.h"

#define DURATION_NEVER INT64_MAX
#define DURATION_ABSENT INT64_C(-1)

/* Keys the agent and the plugin write or read; all but karp.dev are Karpenter's. */
#define ANN_DO_NOT_DISRUPT "karpenter.sh/do-not-disrupt"
#define ANN_POOL_HASH "karpenter.sh/nodepool-hash"
#define ANN_POOL_HASH_VERSION "karpenter.sh/nodepool-hash-version"
#define ANN_CLASS_HASH "karpenter.k8s.aws/ec2nodeclass-hash"
#define ANN_CLASS_HASH_VERSION "karpenter.k8s.aws/ec2nodeclass-hash-version"
#define ANN_TERMINATION_TIME "karpenter.sh/nodeclaim-termination-timestamp"
#define ANN_MIN_VALUES_RELAXED "karpenter.sh/nodeclaim-min-values-relaxed"
#define ANN_LAUNCH_ATTEMPT "karp.dev/launch-attempt"
#define ANN_MAX_SHARE "karp.dev/max-share"
#define ANN_PLACEMENT "karp.dev/placement"
#define ANN_MIN_SAVING "karp.dev/min-saving"
#define ANN_MIN_NODE_LIFE "karp.dev/min-node-life"
#define ANN_IGNORE_SHORT_PODS "karp.dev/ignore-short-pods"
#define ANN_RETURN_TO_WEIGHT "karp.dev/return-to-weight"
#define ANN_REPLACE "karp.dev/replace"
#define ANN_BUDGET_TIMEZONE "karp.dev/budget-timezone"
#define FINALIZER_TERMINATION "karpenter.sh/termination"
#define FINALIZER_CLASS "karpenter.k8s.aws/termination"
#define TAINT_UNREGISTERED "karpenter.sh/unregistered"
#define TAINT_DISRUPTED "karpenter.sh/disrupted"
#define HASH_VERSION "karp1"

struct label {
    sym key, value;
};

struct labels {
    const struct label *v; /* sorted by key id */
    uint32_t n;
};

struct owner_ref {
    const char *api_version, *kind, *name, *uid;
    bool controller;
};

struct meta {
    const char *name, *ns; /* ns "" for cluster-scoped */
    const char *uid, *resource_version;
    int64_t generation;
    int64_t created_ns, deleted_ns;
    struct labels labels; /* empty for pods, see struct pod */
    struct kvs annotations;
    const char *const *finalizers;
    uint32_t n_finalizers;
    const struct owner_ref *owners;
    uint32_t n_owners;
};

enum status { STATUS_UNKNOWN, STATUS_TRUE, STATUS_FALSE, STATUS_ABSENT };

struct condition {
    const char *type, *reason, *message;
    enum status status;
    int64_t transition_ns;
    int64_t observed_generation;
};

struct conditions {
    const struct condition *v; /* as the object lists them */
    uint32_t n;
};

/* ---- pods ---------------------------------------------------------------------------------- */

/* A term of node affinity; weight 0 for required ones. */
struct affinity_term {
    int32_t weight;
    struct reqset reqs;
    bool invalid;    /* matchFields or an operator that the core does not take */
    const char *why; /* what is wrong with an invalid one, or NULL */
};

struct host_port {
    uint16_t port;
    uint8_t protocol; /* 0 TCP, 1 UDP, 2 SCTP */
    const char *ip;   /* "" = every address */
};

/* What a pod asks for beyond what a class below expresses. */
enum pod_hard {
    HARD_RESOURCE_CLAIM = 1 << 0, /* refused with that reason, never placed as if it had none */
    HARD_VOLUME = 1 << 1 /* a PersistentVolumeClaim or generic ephemeral volume, see struct pod */
};

/* One topologySpreadConstraint. match_keys are matchLabelKeys: each adds "key In [own value]" to
 * the selector where the pod has the label. */
struct spread {
    sym key;
    int32_t max_skew, min_domains; /* min_domains 0 = unset */
    bool soft;                     /* ScheduleAnyway */
    bool honor_affinity;           /* nodeAffinityPolicy, Honor unless said otherwise */
    bool honor_taints;             /* nodeTaintsPolicy, Ignore unless said otherwise */
    struct selector sel;
    const char *const *match_keys;
    uint32_t n_match_keys;
};

/* One term of pod affinity or anti-affinity; weight 0 for required ones. Without namespaces and
 * namespaceSelector it is about the pod's own namespace. */
struct pod_term {
    int32_t weight;
    sym key;
    struct selector sel;
    const char *const *namespaces; /* sorted */
    uint32_t n_namespaces;
    bool has_ns_sel;
    struct selector ns_sel;
    const char *const *match_keys, *const *mismatch_keys;
    uint32_t n_match_keys, n_mismatch_keys;
};

struct pod_terms {
    const struct pod_term *v; /* preferred ones heaviest first */
    uint32_t n;
};

/*
 * Pods that ask for the same are one class; work is done per class. A class is shared and
 * reference-counted by the decoder's class table (kube/decode.h), and found again by the canonical
 * text of what it holds.
 */
struct pod_class {
    struct arena mem;
    uint32_t refs;
    uint64_t serial;                      /* order of first appearance */
    const char *key;                      /* canonical text */
    uint64_t key_hash;                    /* the same for equal keys in all processes */
    struct reqset selector;               /* nodeSelector */
    const struct affinity_term *required; /* ORed */
    uint32_t n_required;
    const struct affinity_term *preferred; /* heaviest first */
    uint32_t n_preferred;
    struct tolerations tolerations;
    struct resources requests; /* effective: sidecars, init, pod level, overhead; pods = 1 */
    const struct host_port *host_ports;
    uint32_t n_host_ports;
    const struct spread *spreads; /* as the pod lists them */
    uint32_t n_spreads;
    struct pod_terms affinity, anti_affinity;         /* required */
    struct pod_terms prefer_affinity, avoid_affinity; /* preferred, for and against */
    int32_t priority;
    unsigned hard;  /* enum pod_hard bits */
    bool not_by_us; /* requires karpenter.sh/nodepool DoesNotExist */
};

enum pod_phase { POD_PENDING, POD_RUNNING, POD_SUCCEEDED, POD_FAILED, POD_UNKNOWN };
enum pod_owner {
    POWNER_NONE,
    POWNER_DAEMONSET,
    POWNER_NODE,
    POWNER_STATEFULSET,
    POWNER_REPLICASET,
    POWNER_JOB,
    POWNER_OTHER
};

/* A volume that a PersistentVolumeClaim stands for; that of a generic ephemeral volume is named
 * after pod and volume and belongs to the pod. */
struct pod_volume {
    const char *claim;
    bool ephemeral;
};

struct pod {
    struct arena mem;
    struct meta m;
    const struct pod_class *cls;
    struct kvs labels;
    const struct pod_volume *volumes;
    uint32_t n_volumes;
    const char *node_name;      /* "" while not bound */
    const char *nominated_node; /* "" unless preempting */
    const char *owner_uid;      /* controller's */
    const char *priority_class;
    enum pod_phase phase;
    enum pod_owner owner;
    bool unschedulable; /* PodScheduled=False, reason Unschedulable */
    bool gated;
    bool ready;
    bool displaced; /* DisruptionTarget for another reason than an eviction: preempted, lost, … */
    int64_t unschedulable_since_ns;
    int64_t start_ns;
    int64_t grace_ns; /* spec.terminationGracePeriodSeconds */
    int64_t deletion_grace_ns;
    int32_t deletion_cost; /* controller.kubernetes.io/pod-deletion-cost */
};

/* As Karpenter: terminal is Failed or Succeeded; provisionable is unschedulable, neither bound nor
 * preempting, and not a DaemonSet's or static; reschedulable is active (or a terminating one of a
 * StatefulSet), and likewise. */
bool pod_terminal(const struct pod *p);
bool pod_active(const struct pod *p); /* neither terminal nor terminating */
bool pod_provisionable(const struct pod *p);
bool pod_reschedulable(const struct pod *p);
/* karpenter.sh/do-not-disrupt is in force at now: "true", or a positive Go duration since the pod
 * started (also before it started). Any other value protects nothing, as Karpenter. */
bool pod_do_not_disrupt(const struct pod *p, int64_t now_ns);
/* Such a value that is not "false": what was meant? */
bool pod_do_not_disrupt_unreadable(const struct pod *p);

struct daemonset {
    struct arena mem;
    struct meta m;
    const struct pod_class *cls; /* of a pod that the API server would make of the template now */
    const char
        *generation;    /* of the template: LABEL_TEMPLATE_GENERATION of its pods; "" = unsaid */
    const char *source; /* the object as compact JSON, to be decoded again (kube/decode.h) */
};

#define LABEL_TEMPLATE_GENERATION "pod-template-generation"

/* ---- disruption budgets of workloads -----------------------------------------------------------
 */

/* Which pods of its namespace a Service selects; nothing without a selector. */
struct service {
    struct arena mem;
    struct meta m;
    struct selector sel; /* labels that must all be there */
};

/* minAvailable or maxUnavailable: a count, or a percentage. */
struct pdb_amount {
    bool set, percent;
    int32_t value;
};

/* A PodDisruptionBudget of policy/v1. Counts are as its controller last wrote them. */
struct pdb {
    struct arena mem;
    struct meta m;
    struct selector sel; /* no expressions: every pod of the namespace */
    struct pdb_amount min_available, max_unavailable;
    bool always_allow;   /* unhealthyPodEvictionPolicy AlwaysAllow */
    bool has_status;     /* observedGeneration was written */
    const char *problem; /* NULL, or what could not be read: then nothing is allowed */
    int64_t observed_generation;
    int32_t allowed, healthy, desired, expected;
};

/* ---- Holds (hold.h) -------------------------------------------------------------------------- */

#define HOLD_WITHOUT_END INT64_MAX

enum hold_target { HOLD_CLUSTER, HOLD_POOL, HOLD_NODE, HOLD_CLAIM };

struct hold {
    struct arena mem;
    struct meta m;
    enum hold_target target;
    const char *name; /* of the target; "" for the cluster */
    bool all;         /* scope All: launches too */
    int64_t until_ns; /* wall clock; HOLD_WITHOUT_END */
    const char *reason, *by, *text;
    const char *problem; /* NULL, or what could not be read: then it stops more than it may say */
};

/* ---- volumes and namespaces ------------------------------------------------------------------ */

enum pvc_phase { PVC_PENDING, PVC_BOUND, PVC_LOST };

struct pvc {
    struct arena mem;
    struct meta m;
    const char *volume_name;   /* "" while it has none */
    const char *storage_class; /* NULL: not said; "": explicitly none */
    enum pvc_phase phase;
    bool bind_completed; /* annotation pv.kubernetes.io/bind-completed */
};

struct pv {
    struct arena mem;
    struct meta m;
    const char *driver;                /* CSI driver, in-tree AWS EBS as its successor; "" = none */
    const char *handle;                /* names the volume among those of the driver */
    const struct affinity_term *terms; /* nodeAffinity.required, ORed; none = anywhere */
    uint32_t n_terms;
    bool local; /* local or hostPath */
};

struct storage_class {
    struct arena mem;
    struct meta m;
    const char *provisioner; /* in-tree AWS EBS as its successor */
    bool wait_for_first;     /* volumeBindingMode WaitForFirstConsumer */
    bool is_default;
    const struct affinity_term *allowed; /* allowedTopologies, ORed; none = anywhere */
    uint32_t n_allowed;
};

struct csi_limit {
    const char *driver;
    int32_t count; /* volumes that fit; -1 = not said */
};

struct csi_node {
    struct arena mem;
    struct meta m;
    const struct csi_limit *drivers;
    uint32_t n_drivers;
};

struct namespace
{
    struct arena mem;
    struct meta m;
    struct kvs labels;
};

/* ---- nodes and claims ------------------------------------------------------------------------ */

struct node {
    struct arena mem;
    struct meta m;
    const char *provider_id;
    struct taints taints;
    struct resources capacity, allocatable;
    bool unschedulable;
    struct conditions conditions;
    enum status ready; /* of them */
    int64_t ready_since_ns;
};

struct class_ref {
    const char *group, *kind, *name;
};

struct nodeclaim {
    struct arena mem;
    struct meta m;
    const char *pool; /* label karpenter.sh/nodepool, "" if standalone */
    struct reqset reqs;
    struct resources requests;
    struct taints taints, startup_taints;
    struct class_ref class_ref;
    int64_t expire_after_ns, termination_grace_ns;
    /* status */
    const char *node_name, *provider_id, *image_id;
    struct resources capacity, allocatable;
    int64_t last_pod_event_ns;
    struct conditions conditions;
    const char *problem; /* NULL, or why the object could not be read in full */
};

/* ---- pools and classes ------------------------------------------------------------------------
 */

enum consolidation_policy { POLICY_EMPTY, POLICY_EMPTY_OR_UNDERUTILIZED, POLICY_BALANCED };

enum disruption_reason { DISRUPT_UNDERUTILIZED = 1, DISRUPT_EMPTY = 2, DISRUPT_DRIFTED = 4 };

struct budget {
    const char *nodes;    /* "10%", "5" */
    unsigned reasons;     /* bits of disruption_reason; 0 = all */
    const char *schedule; /* NULL = always */
    int64_t duration_ns;
};

struct nodepool {
    struct arena mem;
    struct meta m;
    struct reqset reqs; /* requirements ∩ template labels */
    struct labels template_labels;
    struct kvs template_annotations;
    struct taints taints, startup_taints;
    struct class_ref class_ref;
    int64_t expire_after_ns, termination_grace_ns;
    int64_t consolidate_after_ns;
    enum consolidation_policy policy;
    const struct budget *budgets;
    uint32_t n_budgets;
    const struct tzone *budget_tz; /* NULL: UTC */
    const char *budget_tz_problem; /* NULL, or why the zone is not known: schedules allow nothing */
    bool has_limits;
    struct resources limits; /* -1 = not limited */
    int64_t limit_nodes;     /* -1 = not limited */
    int32_t weight;
    bool is_static; /* spec.replicas is set: left alone */
    struct conditions conditions;
    int64_t status_nodes;
    int64_t class_observed_generation; /* of its class when last looked at, 0 = never */
    const char *hash;                  /* of spec.template as Karpenter hashes it, HASH_VERSION */
    const char *spec_template;         /* compact JSON, for building claims */
    const char *unknown_field;         /* NULL, or the path of a field this version does not know */
    const char *problem;               /* NULL, or why the spec cannot be used: path and reason */
};

struct class_subnet {
    const char *id;
    sym zone, zone_id;
};

struct class_ami {
    const char *id, *name;
    bool deprecated;
    struct reqset reqs;
};

struct class_sg {
    const char *id, *name;
};

struct class_reservation {
    const char *id, *owner, *match;
    sym id_sym, type, zone, kind; /* kind: "default", "capacity-block" */
    bool interruptible, expiring;
    int64_t end_ns; /* 0 = without end */
};

struct nodeclass {
    struct arena mem;
    struct meta m;
    const char *spec; /* compact JSON: what templates and selectors are made of */
    const char *hash;
    const char *unknown_field, *problem;
    /* status */
    const struct class_subnet *subnets;
    uint32_t n_subnets;
    const struct class_ami *amis; /* newest first */
    uint32_t n_amis;
    const struct class_sg *sgs;
    uint32_t n_sgs;
    const struct class_reservation *reservations; /* by id */
    uint32_t n_reservations;
    const char *instance_profile;
    struct conditions conditions;
};

const struct condition *condition_find(const struct conditions *c, const char *type);
enum status condition_status(const struct conditions *c, const char *type); /* STATUS_ABSENT */
bool condition_true(const struct conditions *c, const char *type);
sym labels_get(const struct labels *l, sym key); /* SYM_NONE */
bool meta_has_finalizer(const struct meta *m, const char *finalizer);
/* A Node of it has joined once, whatever its condition says now. */
bool nodeclaim_had_node(const struct nodeclaim *nc);

#endif
