/*
 * api.h - the simulated API server: objects, versions, watches, in memory and in virtual time.
 *
 * It behaves as kube-apiserver does wherever a client can notice: one growing resourceVersion,
 * optimistic locking (409), status subresources, generation, generateName, finalizers, graceful
 * deletion of pods, paged LIST, WATCH with history, bookmarks and 410, the eviction and binding
 * subresources, refusals as Status objects.
 *
 * Objects. A stored json_t is immutable from the moment it is stored: every write stores a new one.
 * Readers get shared references and must not change them; json_incref keeps one for as long as
 * wanted. A write that changes nothing stores nothing, as etcd's.
 *
 * Three ways in:
 *  1. sim_api_port(): a struct kube_port for an agent. Answers come through the event queue after
 *     latency_ns; the request takes effect half-way. A request that is on its way when its port is
 *     closed still takes effect (a crash does not take back what is on the wire); only its answer
 *     is dropped.
 *  2. sim_api_call(): the same request, served at once. For steps of scenarios and for tests.
 *  3. sim_api_get/create/patch/…: typed, at once, for the world's own controllers, which add
 *     their own delays and act on sim_api_subscribe(): called for every stored change, in order,
 *     before the write returns. A subscriber must not write from within; it notes what is due and
 *     sets a timer.
 *
 * Every call of every kind of way enters the log (see "the log of calls") under the caller's name:
 * verbs are get list watch create update patch delete deletecollection, a resource is its plural
 * with "/subresource" where there is one ("patch nodeclaims/status", "create pods/eviction").
 *
 * Errors. Port and sim_api_call answer with a Status body and resp->err set from it. The typed
 * calls fill struct err in the same way.
 *
 * The server belongs to the world and is freed after the controllers and ports that use it.
 */
#ifndef KARP_SIM_API_H
#define KARP_SIM_API_H

#include "common/kube/port.h"
#include "jsonsel.h"
#include "vclock.h"

#define SIM_API_OBJECTS_MAX 200000u /* of one kind */
#define SIM_API_HISTORY_MAX 5000u   /* watch events kept per kind */
#define SIM_API_LATENCY_NS (2 * NS_PER_MS)
#define SIM_API_WATCH_LATENCY_NS (2 * NS_PER_MS)
#define SIM_API_BOOKMARK_NS (60 * NS_PER_S)
#define SIM_API_WATCH_TIMEOUT_NS (30 * NS_PER_MIN) /* when the client names none */
#define SIM_API_SUBSCRIBERS_MAX 32

struct sim_api;

/* ---- kinds ---------------------------------------------------------------------------------- */

/* What the server knows about a kind: a row of the table in api_kind.c. */
enum sim_kind_id {
    SIM_POD,
    SIM_NODE,
    SIM_NAMESPACE,
    SIM_SERVICE,
    SIM_CONFIGMAP,
    SIM_SECRET,
    SIM_SERVICEACCOUNT,
    SIM_EVENT,
    SIM_PV,
    SIM_PVC,
    SIM_DEPLOYMENT,
    SIM_REPLICASET,
    SIM_DAEMONSET,
    SIM_STATEFULSET,
    SIM_JOB,
    SIM_CRONJOB,
    SIM_PDB,
    SIM_LEASE,
    SIM_STORAGECLASS,
    SIM_VOLUMEATTACHMENT,
    SIM_CSINODE,
    SIM_PRIORITYCLASS,
    SIM_LIMITRANGE,
    SIM_RUNTIMECLASS,
    SIM_CRD,
    SIM_NODEPOOL,
    SIM_NODECLAIM,
    SIM_NODEOVERLAY,
    SIM_EC2NODECLASS,
    SIM_DISRUPTIONREQUEST,
    SIM_DISRUPTIONGRANT,
    SIM_HOLD,
    SIM_KINDS
};

struct sim_kind {
    enum sim_kind_id id;
    const char *group;       /* "" = core */
    const char *api_version; /* "apps/v1", "v1" */
    const char *kind;        /* "NodeClaim" */
    const char *plural;      /* "nodeclaims" */
    unsigned flags;          /* SIM_KIND_* */
};

#define SIM_KIND_NAMESPACED 1u
#define SIM_KIND_STATUS 2u     /* has the status subresource */
#define SIM_KIND_GENERATION 4u /* metadata.generation counts changes of what is desired */
#define SIM_KIND_CUSTOM 8u     /* a CRD: status update cannot touch metadata, PUT needs a version */
#define SIM_KIND_KEEP_STATUS 16u /* create keeps the status given (nodes) */
#define SIM_KIND_RETURNS 32u     /* delete answers with the object, not with a Status (pods) */

const struct sim_kind *sim_kind(enum sim_kind_id id);
/* By Kind, plural or singular in any case, "nodeclaims.karpenter.sh" too; NULL if not served. */
const struct sim_kind *sim_kind_find(const char *name);
/* Whether objects of the kind can be selected by the field ("spec.nodeName"). */
bool sim_kind_selectable(const struct sim_kind *k, const char *field);
/* By the object's own apiVersion and kind; NULL if not served. */
const struct sim_kind *sim_kind_of(const json_t *object);

/* ---- life ----------------------------------------------------------------------------------- */

/* clock is borrowed and outlives the server. Namespaces default, kube-system, kube-public and
 * kube-node-lease exist from the start. */
struct sim_api *sim_api_new(struct vclock *clock);
void sim_api_free(struct sim_api *a);
int64_t sim_api_version(const struct sim_api *a); /* resourceVersion of the last write */

/* ---- typed calls ---------------------------------------------------------------------------- */
/* ns is ignored for cluster-scoped kinds. who is the caller's name in the log. */

/* Borrowed, valid until the next write; NULL if absent. Not logged: it is the world looking. */
const json_t *sim_api_get(const struct sim_api *a, enum sim_kind_id kind, const char *ns,
                          const char *name);
/* By metadata.uid, over all kinds; ret_kind may be NULL. */
const json_t *sim_api_get_uid(const struct sim_api *a, const char *uid, enum sim_kind_id *ret_kind);
/* All of a kind in order of namespace, then name: i < sim_api_count. Borrowed as above. */
size_t sim_api_count(const struct sim_api *a, enum sim_kind_id kind);
const json_t *sim_api_at(const struct sim_api *a, enum sim_kind_id kind, size_t i);

/* Stores obj (reference stolen, also on failure). ret (may be NULL) gets a new reference to what
 * was stored. */
int sim_api_create(struct sim_api *a, const char *who, enum sim_kind_id kind, json_t *obj,
                   json_t **ret, struct err *reterr);
/* Merge patch; sub is "" or "status". patch's reference is stolen, also on failure. */
int sim_api_patch(struct sim_api *a, const char *who, enum sim_kind_id kind, const char *sub,
                  const char *ns, const char *name, json_t *patch, json_t **ret,
                  struct err *reterr);
/* grace_s < 0: the object's own. uid (may be NULL) is a precondition. propagation: NULL,
 * "Background", "Foreground", "Orphan". */
int sim_api_delete(struct sim_api *a, const char *who, enum sim_kind_id kind, const char *ns,
                   const char *name, const char *uid, int64_t grace_s, const char *propagation,
                   struct err *reterr);
/* The binding subresource: sets spec.nodeName and PodScheduled=True. */
int sim_api_bind(struct sim_api *a, const char *who, const char *ns, const char *pod,
                 const char *node, struct err *reterr);
/* Creates the object or merge-patches the one that exists, found by its own kind and name:
 * kubectl apply, nearly. obj is borrowed. */
int sim_api_apply(struct sim_api *a, const char *who, const json_t *obj, json_t **ret,
                  struct err *reterr);

/* ---- requests ------------------------------------------------------------------------------- */

/* Serves req at once. *ret must be released with sim_api_resp_done. */
void sim_api_call(struct sim_api *a, const char *who, const struct kube_req *req,
                  struct kube_resp *ret);
void sim_api_resp_done(struct kube_resp *r);

/* A port that is known as `who`. close() leaves it usable, as if by another process of that name.
 * It lives until sim_api_port_free, which closes it, or until the server goes. */
struct kube_port *sim_api_port(struct sim_api *a, const char *who);
void sim_api_port_free(struct sim_api *a, struct kube_port *p);
/* The process behind the port stands still until then (mono): answers, events and ends wait for it;
 * what it asked for takes effect all the same. */
void sim_api_port_freeze(struct kube_port *p, int64_t until_ns);
/* Requests and watches open on the port: 0 after close. */
size_t sim_api_port_open(const struct kube_port *p);

/* ---- changes -------------------------------------------------------------------------------- */

/* before is NULL for ADDED, after is the last state for DELETED (before too). */
struct sim_change {
    enum sim_kind_id kind;
    enum kube_event_type type;
    int64_t version;
    json_t *before, *after;
    const char *who; /* whose write it was */
};

typedef void (*sim_change_fn)(void *ctx, const struct sim_change *c);
void sim_api_subscribe(struct sim_api *a, sim_change_fn fn, void *ctx);
void sim_api_unsubscribe(struct sim_api *a, const void *ctx);

/* Forgets the watch history up to now: watches that resume from before get 410. */
void sim_api_compact(struct sim_api *a);
/* Ends every open watch as a broken connection does (ERR_UNAVAILABLE). */
void sim_api_break_watches(struct sim_api *a);
/* For for_ns from now, watches of the kind hear of changes by_ns later than usual; then they catch
 * up. The world's own controllers are not slowed. */
void sim_api_lag_watches(struct sim_api *a, enum sim_kind_id kind, int64_t by_ns, int64_t for_ns);
/*
 * An etcd restore: every object is again what it was ago_ns ago, with the version and UID it had
 * then; what was created since is gone, what was deleted since is back. The store's own version
 * goes on growing (a restore with --bump-revision), the watch history is forgotten and every watch
 * breaks. A kind whose history does not reach back that far is restored to its oldest known state;
 * nothing goes back further than time 0. Subscribers hear of every difference. Returns how many
 * objects changed.
 */
size_t sim_api_restore(struct sim_api *a, int64_t ago_ns);

/* ---- the log of calls ----------------------------------------------------------------------- */

struct sim_call {
    const char *who;
    const char *verb;      /* "patch" */
    const char *resource;  /* "nodeclaims/status" */
    const char *ns, *name; /* "" where there is none; generated names once known */
    int status;            /* HTTP status; 0 before it was served */
    bool write;
};

/* Calls so far whose "verb resource" equals what; who NULL = everybody. */
uint64_t sim_api_calls(const struct sim_api *a, const char *who, const char *what);
/* Writes so far. */
uint64_t sim_api_writes(const struct sim_api *a, const char *who);

#define SIM_FAULT_REFUSED (-1) /* nothing happens, the connection breaks */
#define SIM_FAULT_LOST (-2)    /* it takes effect, then the connection breaks */

/* Hooks, each may be NULL. Fields of the call are borrowed for the hook.
 *  fault     before a port's request takes effect: 0 lets it pass, else it is answered with that
 *            HTTP status and has no effect, or meets one of SIM_FAULT_* (a watch is refused).
 * *extra_ns may be raised to delay the answer. served    every call, right after it took effect (or
 * was refused). answered  a port's request, right before its `done`, or watch, right before its
 * first event: closing the port here is the crash "after that call is answered, before its answer
 * is used". */
struct sim_api_hooks {
    int (*fault)(void *ctx, const struct sim_call *c, int64_t *extra_ns);
    void (*served)(void *ctx, const struct sim_call *c);
    void (*answered)(void *ctx, const struct sim_call *c);
    /* A watch tells its asker something. */
    void (*told)(void *ctx);
    void *ctx;
};
void sim_api_set_hooks(struct sim_api *a, const struct sim_api_hooks *hooks);

/* Delays; settable at any time, for what is sent from then on. */
struct sim_api_delays {
    int64_t latency_ns;       /* request to answer */
    int64_t watch_latency_ns; /* stored to delivered */
};
struct sim_api_delays *sim_api_delays(struct sim_api *a);

#endif
