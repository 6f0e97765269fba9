/*
 * snapshot.h - the immutable picture that one decision is made from.
 *
 * Whoever drives the core (agent, plugin, files, tests) lists objects in a snapshot_in; building
 * joins nodes with their claims, computes what is free, and leaves out what no decision may see.
 * Everything is borrowed: objects must outlive the snapshot, arrays are in its arena. It costs
 * O(nodes + claims + pending pods): usage of nodes is kept by the driver as pods come and go
 * (node_usage), and pods are already classed.
 *
 * Joining as Karpenter: labels and taints are the claim's until the node
 * is registered, then the node's; startup and ephemeral taints do not count until it is
 * initialized; capacity missing on the node is filled from the claim until then. A claim that was
 * not launched yet, or whose room is not known, counts with exactly what it was planned for
 * (spec.resources.requests), so it carries its own pods and delays nobody (Karpenter waits until
 * all claims are launched); against the pool's limits it counts with the largest capacity among its
 * types. A claim whose Node was there and is gone is no target, whatever it says of itself now.
 *
 * Marked for leaving is: a deletion timestamp (claim's or node's), InstanceTerminating or
 * DisruptionReason on the claim, the taint karpenter.sh/disrupted. Only what is being deleted stops
 * counting against the pool's limits (Karpenter: what is marked), so that limits hold while a node
 * waits for its replacement.
 *
 * Pods to place are the provisionable ones and the reschedulable ones bound to a leaving node;
 * others in the array are left out. A driver that wants pods of a leaving node to stay out
 * (do-not-disrupt, a PDB that never allows it) does not pass them. Symbols of pool names, class
 * names and types must be interned by whoever decodes them.
 *
 * DaemonSets are as their next pod will be: daemonset.h.
 *
 * Order: nodes initialized first, then by name; pools by weight descending, then name descending as
 * Karpenter; pods by priority, then those that the last decision did not get to, then as the
 * scheduler sorts them.
 */
#ifndef KARP_CORE_SNAPSHOT_H
#define KARP_CORE_SNAPSHOT_H

#include "common/core/ec2/catalog.h"
#include "reason.h"

/* What is bound to one node, kept up to date by the driver. Terminal pods do not count. */
struct node_usage {
    const char *node_name;
    struct resources requested;         /* all pods */
    struct resources daemon_requested;  /* those of DaemonSets */
    uint32_t pods;                      /* neither DaemonSet nor static */
    uint32_t reschedulable;             /* pod_reschedulable */
    uint32_t do_not_disrupt;            /* pods with the annotation in force when last seen */
    uint32_t waiting_evict;             /* terminating */
    const struct host_port *host_ports; /* those of all pods */
    uint32_t n_host_ports;
};

struct snapshot_pool_in {
    const struct nodepool *pool;
    const struct nodeclass *cls;   /* NULL: absent */
    const struct catalog *catalog; /* NULL: closed says why */
    const struct offerings *offerings;
    enum reason_code closed; /* REASON_NONE if pods may be planned here */
    const char *closed_text; /* a condition's message, or NULL */
    int64_t max_new_nodes;   /* launches left to this decision, -1 = any number */
};

/* A pod that is on its way to a node or claim (its name), but not bound yet. */
struct snapshot_planned {
    const struct pod *pod;
    const char *target;
};

/* Nothing is to be launched for pods of this class in this pool: it has not helped before. */
struct snapshot_ineffective {
    const struct pod_class *cls;
    const char *pool;
};

struct snapshot_in {
    int64_t now_ns; /* wall clock */
    const struct symtab *syms;
    const struct node *const *nodes;
    const struct node_usage *const *usage; /* parallel to nodes; NULL = empty node */
    uint32_t n_nodes;
    const struct nodeclaim *const *claims;
    uint32_t n_claims;
    const struct snapshot_pool_in *pools;
    uint32_t n_pools;
    const struct daemonset *const *daemonsets;
    uint32_t n_daemonsets;
    const struct pod *const *pods; /* candidates for placing, see below */
    uint32_t n_pods;
    const struct pod *const *bound; /* on a node: what topology and volumes count; any order */
    uint32_t n_bound;
    const struct snapshot_planned *planned;
    uint32_t n_planned;
    const char *const *first; /* UIDs of pods that the last decision did not get to; sorted */
    uint32_t n_first;
    const struct snapshot_ineffective *ineffective;
    uint32_t n_ineffective;
    const struct namespace *const *namespaces;
    uint32_t n_namespaces;
    const struct service *const *services; /* default spread constraints alone ask for them */
    uint32_t n_services;
    const struct pvc *const *pvcs;
    uint32_t n_pvcs;
    const struct pv *const *pvs;
    uint32_t n_pvs;
    const struct storage_class *const *storage_classes;
    uint32_t n_storage_classes;
    const struct csi_node *const *csi_nodes;
    uint32_t n_csi_nodes;
    const struct pdb *const *pdbs;
    uint32_t n_pdbs;
    bool pdbs_unknown; /* they could not be read: no pod may be moved */
    /* Names of claims, sorted, that count as leaving though nothing says so yet: what if they did.
     */
    const char *const *leaving;
    uint32_t n_leaving;
};

struct snapshot_pool {
    const struct nodepool *np;
    const struct nodeclass *cls;
    const struct catalog *catalog;
    const struct offerings *offerings;
    enum reason_code closed;
    const char *closed_text;
    int64_t max_new_nodes;
    struct resources in_use; /* capacity of the pool's nodes and claims that are not being deleted
                              * (or assumed to leave) */
    int64_t nodes_in_use;
};

struct snapshot_node {
    const char *name;                 /* the node's, else the claim's */
    const struct node *node;          /* NULL: not registered */
    const struct nodeclaim *claim;    /* NULL: not ours */
    const struct snapshot_pool *pool; /* NULL: none */
    const struct node_usage *usage;   /* NULL: nothing bound */
    struct reqset labels; /* one value each; before registration what the claim leaves */
    struct taints taints; /* those that count now */
    struct resources capacity, allocatable;
    struct resources free;         /* allocatable − requested − daemon overhead still to come */
    const struct host_port *ports; /* taken: pods' and those of DaemonSets that belong here */
    uint32_t n_ports;
    bool initialized, launched;
    bool leaving; /* being deleted or marked for it: no target, but its pods are still there */
    bool target;  /* pods may be planned onto it: not leaving, not cordoned, not lost */
};

/* A pod that counts on its node; terminal ones and those to be placed are left out. */
struct snapshot_bound {
    const struct pod *pod;
    const struct snapshot_node *node;
};

struct snapshot {
    int64_t now_ns;
    const struct symtab *syms;
    const struct snapshot_pool *pools;
    uint32_t n_pools;
    const struct snapshot_node *nodes;
    uint32_t n_nodes;
    uint32_t n_initialized; /* the first so many nodes */
    uint32_t *by_name;      /* slots, a power of two: 1 + place of the first node of that name */
    uint32_t name_slots;
    const struct daemonset *const *daemonsets;
    uint32_t n_daemonsets;
    const struct pod *const *pods;
    uint32_t n_pods;
    /* Parallel, so that pods need not be looked up: they lie anywhere. */
    const uint8_t *gates; /* sched_pod_gate (sched/sched.h) */
    const struct pod_class *const *classes;
    const uint32_t *labels; /* numbers (labelset.h); NULL if nobody has rules about other pods */
    uint32_t n_labels;
    bool rules, volumes; /* some of them have rules about other pods; volumes */
    const struct snapshot_bound *bound;
    uint32_t n_bound;
    bool bound_rules;                               /* some of them have required anti-affinity */
    const struct snapshot_ineffective *ineffective; /* borrowed */
    uint32_t n_ineffective;
    /* each by name (what has a namespace by that first) */
    const struct namespace *const *namespaces;
    uint32_t n_namespaces;
    const struct service *const *services;
    uint32_t n_services;
    const struct pvc *const *pvcs;
    uint32_t n_pvcs;
    const struct pv *const *pvs;
    uint32_t n_pvs;
    const struct storage_class *const *storage_classes;
    uint32_t n_storage_classes;
    const struct csi_node *const *csi_nodes;
    uint32_t n_csi_nodes;
    const struct pdb *const *pdbs;
    uint32_t n_pdbs;
    bool pdbs_unknown;
};

void snapshot_build(struct arena *a, const struct snapshot_in *in, struct snapshot *ret);

/* The same in parts. After the first, pools and nodes are there and may be changed by whoever
 * drives it; pods are when a step, which looks at some thousands of them, has said true. In between
 * the arena is for the steps alone. */
struct snapshot_work;
struct snapshot_work *snapshot_begin(struct arena *a, const struct snapshot_in *in,
                                     struct snapshot *ret);
bool snapshot_step(struct snapshot_work *w);

/* The order in which pods are placed: by priority, then size, age and name. */
int snapshot_pod_cmp(const struct pod *a, const struct pod *b);
/* The node of that name, or NULL; the node or claim. */
const struct snapshot_node *snapshot_named(const struct snapshot *s, const char *name);
const struct snapshot_node *snapshot_find(const struct snapshot *s, const char *name);
/* NULL if it is not there. */
const struct pvc *snapshot_pvc(const struct snapshot *s, const char *ns, const char *name);
const struct pv *snapshot_pv(const struct snapshot *s, const char *name);
const struct storage_class *snapshot_storage_class(const struct snapshot *s, const char *name);
const struct csi_node *snapshot_csi_node(const struct snapshot *s, const char *name);
const struct snapshot_pool *snapshot_pool_find(const struct snapshot *s, const char *name);

#endif
