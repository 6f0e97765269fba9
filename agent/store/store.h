/*
 * store.h - the agent's picture of the cluster: projected objects, kept by reflectors.
 *
 * One reflector per kind (Pod, Node, NodeClaim, NodePool, EC2NodeClass, DaemonSet; and what
 * placing looks at beside them: Namespace, PersistentVolumeClaim, PersistentVolume, StorageClass,
 * CSINode; LimitRange and RuntimeClass, which complete the templates of DaemonSets; and
 * PodDisruptionBudget and Hold, without which nothing is disrupted, but everything else goes on;
 * a server that does not know Holds has none; DisruptionRequest and DisruptionGrant, without which
 * nothing is approved; Service, only with default spread constraints, which
 * alone ask for them). Objects are core/model.h
 * structs, decoded once, replaced whole, owned here; parsed JSON is never kept. The answer to an
 * own write enters before the writer's done (gate observer); a watch event older than what the
 * store has is dropped (resourceVersions compare as integers), also one about an object that an own
 * write has ended. A list counts as it is: where it shows an older version than the store has, and
 * we have not written since, the server was restored from a backup.
 *
 * While a decision is open (store_freeze) replaced objects go to a limbo list and are freed at the
 * thaw: pointers taken after the freeze stay good.
 *
 * Indexes: pods by node, usage per node (kept as pods come and go), claims and nodes by providerID,
 * provisionable pods. An object that cannot be decoded is kept by name with its problem (pools,
 * classes, claims), by its identity alone (pods; store/bare.h) or skipped and counted (nodes); it
 * never holds up others. One over which the process ended twice is kept by its identity alone, too
 * (agent/work/marker.h).
 */
#ifndef KARP_AGENT_STORE_H
#define KARP_AGENT_STORE_H

#include "common/base/map.h"
#include "common/core/snapshot.h"

#include <jansson.h>

#define STORE_MAX_PODS 500000
#define STORE_MAX_OBJECTS 50000 /* of each other kind */
#define STORE_MAX_HOLDS 10000   /* every decision looks at all of them */
#define STORE_MAX_CONSENT 2000  /* requests, grants: likewise */

struct runtime;
struct store;

enum store_kind {
    STORE_POD,
    STORE_NODE,
    STORE_CLAIM,
    STORE_POOL,
    STORE_CLASS,
    STORE_DAEMONSET,
    STORE_NAMESPACE,
    STORE_PVC,
    STORE_PV,
    STORE_STORAGE_CLASS,
    STORE_CSI_NODE,
    STORE_LIMIT_RANGE,
    STORE_RUNTIME_CLASS,
    STORE_SERVICE,
    STORE_HOLD,
    STORE_DREQ,
    STORE_DGRANT,
    STORE_PDB,
    STORE_KINDS
};

struct store *store_new(struct runtime *rt);
void store_free(struct store *s);
/* Starts listing and watching. */
void store_start(struct store *s);
/* Every kind but PodDisruptionBudgets listed completely at least once. LimitRanges, RuntimeClasses,
 * Services and the kinds of karp.dev may be withheld (403, 404): DaemonSets without a pod then
 * count with their bare templates, default spread constraints know owners alone, and store_trouble
 * says so (but not that the server does not know a kind of karp.dev). */
bool store_synced(const struct store *s);
/* Lists the kind anew: somebody else may have written what its watch has not told yet. Until then
 * it is not synced; what is known stays. Does nothing before store_start. */
void store_refresh(struct store *s, enum store_kind kind);
/* This one was. */
bool store_listed(const struct store *s, enum store_kind kind);
/* PodDisruptionBudgets were listed and are heard of: else no pod may be moved by our own decision.
 */
bool store_pdbs_known(const struct store *s);
/* Likewise Holds, all of them; or the server has said for long enough that it knows no such kind.
 */
bool store_holds_known(const struct store *s);
/* DisruptionRequests, DisruptionGrants were listed, all of them, and are heard of: else nothing is
 * approved by them. Where more exist than are kept, they are listed anew soon after one has gone.
 */
bool store_requests_known(const struct store *s);
bool store_grants_known(const struct store *s);
/* The first kind that is not synced or whose watch has failed for long, with its last error; NULL
 * if all is well. */
const char *store_trouble(const struct store *s, struct err *ret);

/* Called after an object was added, replaced or removed (then now == NULL). key is the name, for
 * pods "ns/name". before and now are good for the call. Subscribers run in order of subscription
 * and must not change the store. */
typedef void (*store_change_fn)(void *arg, const char *key, const void *before, const void *now);
void store_subscribe(struct store *s, enum store_kind kind, store_change_fn fn, void *arg);

const struct pod *store_pod(const struct store *s, const char *ns, const char *name);
const struct node *store_node(const struct store *s, const char *name);
const struct nodeclaim *store_claim(const struct store *s, const char *name);
const struct nodepool *store_pool(const struct store *s, const char *name);
const struct nodeclass *store_class(const struct store *s, const char *name);
const struct nodeclaim *store_claim_by_provider_id(const struct store *s, const char *id);
const struct nodeclaim *store_claim_by_uid(const struct store *s, const char *uid);
/* The only node with that providerID; *ret_n (may be NULL) is how many there are. */
const struct node *store_node_by_provider_id(const struct store *s, const char *id,
                                             uint32_t *ret_n);

/* All objects of a kind; values are model structs. Insertion order: sort before showing. */
const struct map *store_all(const struct store *s, enum store_kind kind);
const struct meta *store_meta(const struct store *s, enum store_kind kind, const char *key);
const char *store_kind_name(enum store_kind kind); /* "NodeClaim" */
/* Pods bound to the node (terminal ones included), keyed "ns/name"; NULL if none. */
const struct map *store_pods_on(const struct store *s, const char *node_name);
const struct node_usage *store_usage(const struct store *s, const char *node_name); /* or NULL */
/* Pods for which pod_provisionable holds, keyed "ns/name". */
const struct map *store_provisionable(const struct store *s);

void store_freeze(struct store *s);
void store_thaw(struct store *s);
/* A decision is open: another one must wait for its end. */
bool store_frozen(const struct store *s);
/* Resource version of the object as a number; 0 if it has none. */
int64_t store_version(const struct meta *m);

/* An object as the API server returned it for an own write: enters as a watch event would. */
void store_observe(struct store *s, json_t *object);

/* Nominations: pods are planned for this node or claim until then (monotonic). Names of claims
 * carry over to their node. At most STORE_MAX_OBJECTS are remembered. */
void store_nominate(struct store *s, const char *name, int64_t until_ns);
bool store_nominated(const struct store *s, const struct node *n, const struct nodeclaim *nc);

/* The claim, the node's or the pool's class is EC2NodeClass: other providers' are left alone. */
bool store_ours(const struct class_ref *ref);
/* The node or its claim is on its way out: being deleted, or tainted for it. */
bool store_leaving(const struct store *s, const struct node *n);
/* The claim's machine goes within minutes, whatever its pods do: it is taken away (notice.h), or
 * its termination deadline is at most STORE_LEAD_NS off. */
#define STORE_LEAD_NS (10 * NS_PER_MIN)
bool store_ends_soon(const struct store *s, const struct nodeclaim *nc);

/* The pod is to be planned elsewhere because its node leaves: it is evicted and comes back. One
 * that must not be disrupted, or whose PodDisruptionBudgets never let it go, stays where it is
 * until it may, so it gets no place before (Karpenter also leaves out those that a budget holds for
 * the moment: their places would come and go), unless the machine ends soon. Nor has one whose
 * node waits for its turn to be drained (pace.h). */
bool store_must_move(const struct store *s, const struct pod *p, const struct node *n);

/* Fills a snapshot_in with arrays in a (nodes, usage, claims of ours, daemonsets, pods: those that
 * are provisionable and those to be moved from nodes that leave, what is bound, volumes and
 * namespaces); the caller adds pools
 * (cloud_pools) and freezes the store around its use. */
void store_snapshot_in(const struct store *s, struct arena *a, struct snapshot_in *ret);

#endif
