/*
 * workloads_part.h - inside the controller manager: indexes, and one function per controller.
 *
 * Every controller is reconcile(c, ns, name): it reads the store, makes what is missing, and writes
 * its object's status. Writes are seen at once (indexes follow every change), so no controller
 * needs to remember what it has just done.
 */
#ifndef KARP_SIM_WORKLOADS_PART_H
#define KARP_SIM_WORKLOADS_PART_H

#include "common/base/map.h"
#include "crowd.h"
#include "tests/sim/kube/podspec.h"
#include "tests/sim/kube/world.h"
#include "volumes.h"

#define SIM_DIRTY_MAX 400000u

/* An object in an index, with what is asked of pods again and again. */
struct sim_ref {
    json_t *obj;
    bool active, ready;
};

/* key -> (uid -> struct sim_ref *), both in order of first appearance. */
struct sim_index {
    struct map *sets;
    struct map *counts; /* key → struct sim_count *, so that nobody counts ten thousand pods */
};

struct sim_gc;
struct sim_nodelife;

struct sim_dirty {
    enum sim_kind_id kind;
    char *ns, *name;
};

struct sim_workloads {
    struct sim_world *w;
    bool stopped;
    struct sim_index pods_of;  /* controller uid -> pods */
    struct sim_index pods_on;  /* node name -> pods */
    struct sim_index sets_of;  /* Deployment uid -> ReplicaSets */
    struct sim_index jobs_of;  /* CronJob uid -> Jobs */
    struct sim_index job_pods; /* "ns/name" of a Job -> pods, of its namesakes too */
    struct sim_index orphans;  /* namespace -> labelled pods without controller */
    struct sim_index strays;   /* controller uid -> pods whose labels have changed */
    struct sim_crowds crowds;
    struct map *later; /* "kind/ns/name" -> struct sim_later */
    struct sim_dirty *dirty;
    size_t n_dirty, cap_dirty;
    struct map *is_dirty; /* "kind/ns/name" */
    struct timer timer;
    struct sim_gc *gc;
    struct sim_nodelife *life;
    struct sim_claims *claims;
    struct sim_attach *attach;
};

/* The set under key, or NULL if it is empty. Any write may change it: collect first, then write. */
const struct map *sim_index_set(const struct sim_index *i, const char *key);
/* The set's objects as a new array, only the active ones if told so; never NULL. */
json_t *sim_index_collect(const struct sim_index *i, const char *key, bool only_active);
/* How many of the set are active, and how many of those ready. */
void sim_index_count(const struct sim_index *i, const char *key, int64_t *ret_active,
                     int64_t *ret_ready);

/* Reconciles it when the time has passed, or earlier; the earliest of several counts. */
void sim_workloads_mark_later(struct sim_workloads *c, enum sim_kind_id kind, const char *ns,
                              const char *name, int64_t delay_ns);
void sim_workloads_mark(struct sim_workloads *c, enum sim_kind_id kind, const char *ns,
                        const char *name);

void sim_replicaset_reconcile(struct sim_workloads *c, const char *ns, const char *name);
void sim_deployment_reconcile(struct sim_workloads *c, const char *ns, const char *name);
void sim_daemonset_reconcile(struct sim_workloads *c, const char *ns, const char *name);
void sim_statefulset_reconcile(struct sim_workloads *c, const char *ns, const char *name);
void sim_job_reconcile(struct sim_workloads *c, const char *ns, const char *name);
void sim_cronjob_reconcile(struct sim_workloads *c, const char *ns, const char *name);
void sim_pdb_reconcile(struct sim_workloads *c, const char *ns, const char *name);
void sim_nodelife_reconcile(struct sim_workloads *c, const char *ns, const char *name);

/* Releases the pods that owner's selector does not fit any more, adopts those it fits. */
void sim_adopt(struct sim_workloads *c, const char *who, const json_t *owner);
/* A pod without controller: whoever could adopt it is marked. */
void sim_adopt_mark(struct sim_workloads *c, const json_t *pod);

/* An owner reference with controller and blockOwnerDeletion. New reference. */
json_t *sim_owner_ref(const json_t *owner);
/* A pod made of a template: labels, annotations, spec; owned by owner. New reference. */
json_t *sim_pod_from(const json_t *template, const json_t *owner, const char *generate_name);
/* Ten characters that stand for a pod template, as pod-template-hash. */
void sim_template_hash(const json_t *template, char dst[16]);
/* Patches the status if it differs in any of the fields given; reference stolen. */
void sim_status_update(struct sim_workloads *c, const char *who, const json_t *obj, json_t *status);
bool sim_pod_active(const json_t *pod); /* neither over nor terminating */
bool sim_pod_ready(const json_t *pod);
/* Ready for owner's spec.minReadySeconds; if that is still to come owner is reconciled then. */
bool sim_pod_available(struct sim_workloads *c, enum sim_kind_id kind, const json_t *owner,
                       const json_t *pod);
/* "25%" of total (rounded up or down) or a plain number, given as an integer or a string. */
int64_t sim_int_or_percent(const json_t *v, int64_t total, bool up, int64_t absent);

struct sim_gc *sim_gc_new(struct sim_world *w);
void sim_gc_free(struct sim_gc *g);
void sim_gc_change(struct sim_gc *g, const struct sim_change *c);
void sim_gc_run(struct sim_gc *g, bool on);

struct sim_nodelife *sim_nodelife_new(struct sim_workloads *c);
void sim_nodelife_free(struct sim_nodelife *l);
void sim_nodelife_change(struct sim_nodelife *l, const struct sim_change *c);
void sim_nodelife_watch(struct sim_nodelife *l); /* a kubelet fell silent */

#endif
