/*
 * sched_int.h - what the files of the scheduler share; nobody else includes it.
 *
 *   sched.c        the pass: which pod, which place next (resumable)
 *   sched_class.c  classes and the ways a class can be asked for
 *   sched_place.c  does this class fit here, and putting it there
 *   sched_values.c minValues
 *   sched_limit.c  limits of pools, and making room under them
 *   sched_final.c  from an open claim to what is launched
 *   sched_topo.c   rules about other pods: groups and counts
 *   sched_same.c   which pods they cannot tell apart
 *   sched_match.c  which groups select a pod
 *   sched_domain.c rules about other pods: which places they leave
 *   sched_text.c   what is known by a text
 *   sched_volume.c volumes: where they can be and how many fit
 *   sched_reserve.c capacity reservations
 *   sched_refuse.c why not
 *   sched_whatif.c the same asked again and again with other nodes gone (sched_whatif.h)
 *   improve.c      cheaper new capacity (improve.h, improve_int.h)
 *   explain.c      how far a pod got (explain.h)
 *   bound.c        the least that new nodes can cost (bound.h)
 */
#ifndef KARP_CORE_SCHED_INT_H
#define KARP_CORE_SCHED_INT_H

#include "common/core/template.h"
#include "common/core/volume.h"
#include "sched.h"
#include "sched_topo.h"

/* Terms of one class that are tried; a pod that only a later one would let in is refused. */
#define SCHED_MAX_REQUIRED 256
/* Ways to ask for one class, required terms times preferences: of too many preferences the lighter
 * ones are given up from the start. */
#define SCHED_MAX_WAYS 1024
/* Work that costs more than trying a place, in units: explaining a class to one pool, and finishing
 * a claim. So many moves that try nothing (places passed over, ways that are done with) are one. */
#define SCHED_UNITS_REFUSE 20
#define SCHED_UNITS_FINISH 20
#define SCHED_IDLE_PER_UNIT 256
/* Claims with so many pods are evened out. */
#define SCHED_MANY_PODS 16
/* Instance types tried when room is to be made under a limit. */
#define SCHED_MAX_ROOM_TRIES 8
#define SCHED_MAX_ROOM_TYPES 256

/* Pods that are looked at for a unit when a pass begins. */
#define SCHED_PODS_PER_UNIT 16

#define SCHED_NO_CLAIM UINT32_MAX

/* Volumes of one driver on a node or claim. */
struct volume_count {
    const char *driver;
    int64_t n;
};

struct volume_load {
    struct volume_count *drivers;
    uint32_t n, cap;
    struct volume_use *shared; /* those that another pod may bring too */
    uint32_t n_shared, cap_shared;
};

/* What the volumes of a class ask for; those that only one pod has are just counted. */
struct volume_class {
    struct volume_need need;
    struct volume_count *alone;
    uint32_t n_alone;
    struct volume_use *shared;
    uint32_t n_shared;
};

/* A growing set of claim numbers. */
struct claim_set {
    uint64_t *words;
    uint32_t n_words, n;
};

/*
 * One way to ask for a class: its selector with one required term, one alternative of its volumes,
 * and what is left of its preferences. Remembers who refused it: claims only narrow and nodes only
 * fill up, so they always will; what rules about other pods refuse is forgotten when those rules
 * can let in more (state).
 */
struct sched_ask {
    bool impossible;                  /* contradicts itself */
    bool volume_conflict;             /* namely its volumes and the rest */
    const struct reqset *volume_reqs; /* where its volumes are, or NULL */
    bool tolerate_prefer;             /* PreferNoSchedule does not count */
    bool pinned;                      /* asks for a host name that no new node has */
    struct reqset reqs;               /* for nodes that exist */
    struct reqset claim_reqs;         /* for claims: without the host name */
    struct topo_level level;          /* preferences about other pods that are given up */
    uint64_t *never;    /* what-if: nodes that refuse whatever else leaves; NULL before the first */
    uint32_t epoch;     /* what-if: of all that follows but never and pool_refused */
    uint32_t next_node; /* nodes before it have refused */
    struct claim_set nodes_refused; /* for good; kept only where next_node may go back */
    struct claim_set refused;       /* claims, for good */
    struct claim_set refused_now;   /* and until state changes */
    struct claim_set accepted;      /* claims whose requirements lie within claim_reqs */
    bool *pool_refused;             /* per pool: refuses to open a claim */
    bool *pool_refused_now;
    uint64_t state; /* sched_topo_state when the above were current */
};

struct sched_class {
    const struct pod_class *cls;
    const struct topo_class *topo;     /* NULL: no rules about other pods concern it */
    const struct volume_class *volume; /* NULL: no volumes */
    bool learned;                      /* limits of volumes have been found out */
    bool changes;                      /* its rules can let in later what they refuse now */
    struct sched_ask **asks;           /* made when first needed */
    uint32_t n_asks;
    uint32_t n_required;  /* required terms times alternatives of volumes, at least 1 */
    uint32_t n_volume;    /* alternatives of volumes, at least 1 */
    uint32_t n_preferred; /* preferred node-affinity terms that are looked at */
    uint32_t n_soft[3];   /* preferred pod affinity, anti-affinity, soft spread */
    uint32_t epoch;       /* what-if: of `refused` */
    bool refused;         /* no place in this pass, unless state has changed since */
    uint64_t refused_state;
    struct sched_pool_refusal *pools; /* per pool, the first `explained` of them filled */
    uint32_t explained;
    const struct sched_refusal *refusal; /* NULL until all are */
};

/* A pod that was placed: its number, and the way that it was asked for. */
struct sched_taken {
    uint32_t pod, way;
};

struct sched_node {
    const struct snapshot_node *in;
    struct resources free;
    struct host_port *ports; /* taken; grows */
    uint32_t n_ports, ports_cap;
    uint32_t host;           /* its number among hosts */
    struct sched_pool *pool; /* NULL: none that opens claims */
    struct volume_load volumes;
    uint32_t trial,
        saved; /* what-if: the trial that changed it, the mark that knows it as it was */
};

/* One capacity reservation in all pools: units, and how many of them open claims hold. */
struct sched_reservation {
    sym id;
    uint32_t left, held;
};

struct pool_reservation {
    const struct reservation *in; /* of the pool's offerings */
    uint32_t at;                  /* in sched.reservations */
};

struct sched_pool {
    const struct snapshot_pool *in;
    uint32_t max_share_permyriad; /* 0 = any */
    enum placement placement;
    sym xen;     /* the hypervisor's name, SYM_NONE if no type has it */
    bool usable; /* may open claims at all */
    struct template tm;
    struct pool_reservation *reservations; /* cheapest first */
    uint32_t n_reservations;
    struct resources in_use; /* as in->in_use and in->nodes_in_use; moves on in what-ifs */
    int64_t nodes_in_use;
    uint32_t opened;
    int64_t reserved[RES_FIXED]; /* by claims of this pass, as of when they were last asked */
    struct sched_open *stale;    /* claims that have changed since; none without limits */
    bool room_failed;            /* no room could be made for failed_need */
    int64_t failed_need[RES_FIXED];
};

/* A claim as it stands: what every type left can carry. */
struct sched_open {
    struct sched_pool *pool;
    uint32_t index;       /* SCHED_NO_CLAIM: an empty one, to be opened */
    unsigned cts;         /* capacity types that it may come to have: reserved only, or others */
    uint32_t reservation; /* whose unit it holds; SCHED_NO_CLAIM: none */
    struct reqset reqs;
    uint64_t *types;
    struct offer_mask offer;
    struct resources requests; /* pods only */
    const struct pod **pods;
    struct sched_taken *taken; /* parallel */
    uint32_t n_pods, pods_cap, taken_cap;
    struct host_port *ports;
    uint32_t n_ports, ports_cap;
    struct volume_load volumes;
    struct resources reserve; /* largest capacity among types; valid unless stale */
    int64_t least[RES_FIXED]; /* smallest; valid unless stale */
    bool reserve_stale, least_stale, stale_listed;
    struct sched_open *next_stale;
    int64_t max_price; /* what-if: its cheapest type may not become dearer; 0 = any */
};

/* What follows from pool, types and offerings of a claim; of those without minValues many have the
 * same (sched_final.c). */
struct sched_like {
    struct sched_like *next;
    const struct sched_pool *pool;
    struct offer_mask offer_from, offer;
    const uint64_t *from;
    uint64_t *left; /* at most max_types */
    const uint32_t *ranked;
    uint32_t n;
    struct req capacity_types, types;
    struct resources least; /* overhead */
    const struct reservation *reservation;
    int64_t price_pusd_h;
};
#define SCHED_LIKE_SLOTS 256u

/* How far a class got with a claim; in the order of the reason codes. */
enum sched_step {
    STEP_TAKEN,
    STEP_TAINT,
    STEP_LABELS, /* requirements against requirements */
    STEP_TYPES,  /* requirements against types and zones */
    STEP_VOLUMES,
    STEP_PORTS,
    STEP_AFFINITY,
    STEP_ANTI_AFFINITY,
    STEP_SPREAD,
    STEP_SHARE,
    STEP_FIT,
    STEP_OFFERING,
    STEP_MIN_VALUES
};

/* A claim as it would be with one more pod. After a refusal: the state before the failing step. */
struct sched_trial {
    struct reqset reqs;
    struct offer_mask offer;
    struct resources requests;
    uint64_t types[CATALOG_WORDS_MAX];
    const struct topo_use *broken; /* the rule, after a step of AFFINITY to SHARE */
    bool for_now;                  /* the refusal may not last */
};

/* How many types each step of a trial leaves, while somebody asks (explain.c). */
struct sched_trace {
    struct {
        enum reason_code code;
        uint32_t left;
    } steps[16];
    uint32_t n;
};

enum sched_stage {
    STAGE_RULES,
    STAGE_CLASSES,
    STAGE_COUNT,
    STAGE_PLACE,
    STAGE_REFUSE,
    STAGE_IMPROVE,
    STAGE_FINISH,
    STAGE_DONE
};

struct whatif;

struct sched {
    struct arena *a;
    struct arena *keep; /* for what outlives a what-if; else a */
    const struct snapshot *snap;
    const struct pod *const *pods; /* to be placed: the snapshot's, then those that may move */
    uint32_t n_pods;
    struct whatif *whatif; /* NULL in an ordinary pass, and while it places pending pods */
    struct whatif *space;  /* the same, but from the start */
    const struct symtab *syms;
    struct sched_options opt;
    struct sched_class *classes;
    uint32_t n_classes, cap_classes;
    uint32_t *class_of;            /* per pod */
    uint32_t *by_key;              /* slots: class plus 1 */
    uint32_t class_slots, classed; /* pods that have their class */
    struct topo topo;
    struct volume_state *volume; /* NULL: no pod to be placed has any */
    uint32_t *host_of; /* per node of the snapshot: its number, SCHED_NO_CLAIM for no target */
    /* pods of the round at hand, and those to be tried again in the next */
    uint32_t *queue, *again;
    uint32_t n_queue, n_again;
    bool progress; /* something was placed in this round */
    struct sched_node *nodes;
    uint32_t n_nodes;
    struct sched_pool *pools; /* not static ones */
    uint32_t n_pools;
    struct sched_reservation *reservations;
    uint32_t n_reservations, reservations_cap;
    struct sched_open **claims;
    uint32_t n_claims, claims_cap;
    uint32_t n_closed; /* claims of before, whose host numbers are taken */
    uint32_t *order;   /* claim numbers, fewest pods first, see claim_before */
    uint32_t order_cap;
    bool any_prefer_taint;
    const struct catalog *catalog; /* of all pools; NULL: they differ */
    uint64_t zones;                /* of it those where some pool has an offer */
    struct sched_trace *trace;     /* NULL: nobody asks */
    /* where the pass is */
    enum sched_stage stage;
    uint32_t at;       /* place in the queue */
    uint32_t pod;      /* its number */
    uint32_t leg, pos; /* which stretch of the pod's way, and where on it */
    uint32_t done;     /* finished claims, or refused pods looked at */
    uint64_t idle;     /* moves that tried nothing and are not paid for yet */
    /* the result as it grows */
    struct sched_placement *existing;
    struct sched_taken *existing_taken; /* parallel */
    struct sched_refusal *refused;
    uint32_t *refused_class; /* parallel */
    uint32_t cap_refused, cap_refused_class;
    struct improve *improve; /* NULL: not begun */
    struct sched_claim *final;
    struct sched_like *likes[SCHED_LIKE_SLOTS];
    struct sched_result result;
};

/* ---- sched_begin.c --------------------------------------------------------------------------- */

/* Rules and classes of a few more pods; moves on to the next stage. */
void sched_begin_step(struct sched *s);

/* ---- sched.c --------------------------------------------------------------------------------- */

/* What sched_begin does, with more pods that may move, and all at once. */
struct sched *sched_begin_moving(struct arena *a, const struct snapshot *snap,
                                 const struct sched_options *o, const struct pod *const *moving,
                                 uint32_t n_moving);
/* Goes on until the pods of the snapshot have their places; true when they do. */
bool sched_step_placing(struct sched *s, uint64_t units);
/* Places the pods of these numbers one after the other; false at the first that finds no place,
 * which is s->refused[s->result.n_refused - 1]. */
bool sched_place_all(struct sched *s, const uint32_t *pods, uint32_t n);

/* Another claim like that one, without pods; only once all pods have been placed. */
struct sched_open *sched_open_beside(struct sched *s, const struct sched_open *like);
/* Puts the pod onto a claim of the pool, asked for in this way: the one of that number, UINT32_MAX
 * for a new one, which is for a unit of that reservation (NULL: for none). */
bool sched_put(struct sched *s, const struct snapshot_pool *pool, uint32_t pod, uint32_t way,
               const struct reservation *reservation, uint32_t *claim);
/* Before the class is asked for anywhere, and again when claims have been opened since. */
void sched_learn(struct sched *s, struct sched_class *k);

/* ---- sched_whatif.c -------------------------------------------------------------------------- */

/* The next node at or after ask->next_node that may take the way; UINT32_MAX. */
uint32_t whatif_next_node(struct sched *s, struct sched_ask *ask);
/* The node has refused, and will whatever else leaves. */
void whatif_node_refused(struct sched *s, struct sched_ask *ask, uint32_t node);
/* Before something changes. */
void whatif_save_node(struct sched *s, struct sched_node *n);
void whatif_note_count(struct sched *s, struct topo_group *g, uint32_t at, int delta);
void whatif_save_domains(struct sched *s, struct topo_use *u);
/* True once for each what-if. */
bool whatif_refresh_use(const struct sched *s, struct topo_use *u);
/* The claim does not become dearer than it may. */
bool whatif_accepts(const struct sched *s, const struct sched_open *c, const struct sched_trial *t);
/* May one more claim be opened? */
bool whatif_may_open(const struct sched *s);
/* Forgets what was remembered about other what-ifs. */
void whatif_refresh_ask(struct sched *s, struct sched_ask *ask);
void whatif_refresh_class(struct sched *s, struct sched_class *k);

/* ---- sched_class.c --------------------------------------------------------------------------- */

void sched_classes_begin(struct sched *s);
/* Classes of a few more pods; true at the end. */
bool sched_classes_step(struct sched *s, uint32_t some);
/* Nothing is to be launched for the class in that pool (snapshot.h). */
bool sched_ineffective(const struct sched *s, const struct pod_class *cls,
                       const struct sched_pool *p);
/* What pools have refused to the way in this pass, but not what they refuse from the start. */
void sched_ask_forget_pools(const struct sched *s, const struct pod_class *cls,
                            struct sched_ask *ask);
/* The i-th way of the class, i < n_asks. */
struct sched_ask *sched_ask(struct sched *s, struct sched_class *k, uint32_t i);
bool claim_set_has(const struct claim_set *set, uint32_t claim);
void claim_set_add(struct arena *a, struct claim_set *set, uint32_t claim);
/* Forgets what rules about other pods refused if that may have changed. */
void sched_ask_refresh(struct sched *s, const struct sched_class *k, struct sched_ask *ask);

/* ---- sched_place.c --------------------------------------------------------------------------- */

/* *ret_for_good: a refusal that nothing in this pass will lift. */
bool sched_node_takes(struct sched *s, const struct sched_node *n, const struct sched_class *k,
                      const struct sched_ask *ask, bool *ret_for_good);
void sched_node_add(struct sched *s, struct sched_node *n, const struct sched_class *k);
/* An empty claim of the pool. */
struct sched_open sched_blank(struct sched_pool *p);
enum sched_step sched_claim_try(struct sched *s, const struct sched_open *c,
                                const struct sched_class *k, const struct sched_ask *ask,
                                struct sched_trial *t);
/* A step of a trial is done: what it left. */
void sched_trace_note(struct sched *s, enum reason_code code, const uint64_t *types,
                      uint32_t words);
void sched_claim_add(struct sched *s, struct sched_open *c, const struct sched_class *k,
                     const struct sched_trial *t, struct sched_taken taken);
/* Types that hold the pods and the DaemonSets of their group. */
void sched_fit_types(struct sched *s, const struct template *tm, const struct resources *requests,
                     uint64_t *types);
/* The DaemonSet and port of a group that clash with the class; false if none does. */
bool sched_group_clash(const struct overhead_group *g, const struct pod_class *cls,
                       const struct daemonset **ret_ds, const struct host_port **ret_port);

/* ---- sched_volume.c -------------------------------------------------------------------------- */

void sched_volume_begin(struct sched *s);
/* What concerns the pod; equal pods get the same pointer. NULL without volumes. */
const struct volume_class *sched_volume_class(struct sched *s, const struct pod *p);
/* Finds out the limits that the class may meet: before a mark that may be rewound. */
void sched_volume_learn(struct sched *s, const struct volume_class *v);
/* The driver that would have too many on the node, with the numbers; NULL if none. */
const char *sched_volume_over_node(const struct sched *s, const struct sched_node *n,
                                   const struct volume_class *v, int64_t *ret_n,
                                   int64_t *ret_limit);
/* Types that carry the volumes of the claim and the class; *ret_driver (may be NULL) names the
 * driver that left the last of them. */
void sched_volume_narrow(struct sched *s, const struct sched_open *c, const struct volume_class *v,
                         uint64_t *types, const char **ret_driver);
void sched_volume_add(struct sched *s, struct volume_load *load, const struct volume_class *v);

/* ---- sched_reserve.c ------------------------------------------------------------------------- */

#define SCHED_RESERVED (1u << CT_RESERVED)

void sched_reserve_begin(struct sched *s);
/* Labels that a node gets from its reservation. */
bool sched_reserve_key(sym key);
/* Is there a unit for the claim as the trial leaves it? Other claims may be moved for it. For a
 * claim that is open sched_reserve_take must follow. */
bool sched_reserve_find(struct sched *s, struct sched_open *c, const struct sched_trial *t,
                        uint32_t *ret);
void sched_reserve_take(struct sched *s, struct sched_open *c, uint32_t at);
/* The claim comes to lie in this one and no other; false if it does not suit or has no unit left.
 */
bool sched_reserve_pin(struct sched *s, struct sched_open *c, const struct reservation *want);
const struct reservation *sched_reserve_of(const struct sched_open *c); /* NULL: none */

/* ---- sched_values.c -------------------------------------------------------------------------- */

/* Different values of r's key among the types, at most `enough` are counted. */
uint32_t sched_values_count(const struct sched *s, const struct sched_pool *p, const struct req *r,
                            const uint64_t *types, struct offer_mask offer, uint32_t enough);
/* The first requirement by key string whose minValues the types do not reach, or NULL. */
const struct req *sched_values_short(const struct sched *s, const struct sched_pool *p,
                                     const struct reqset *reqs, const uint64_t *types,
                                     struct offer_mask offer);
/* As above under the policy in force: never short with BestEffort. */
bool sched_values_ok(const struct sched *s, const struct sched_pool *p, const struct reqset *reqs,
                     const uint64_t *types, struct offer_mask offer);

/* ---- sched_limit.c --------------------------------------------------------------------------- */

enum sched_room { ROOM_YES, ROOM_NODE_LIMIT, ROOM_LIMIT, ROOM_BRAKE };

/* May the pool open a claim with (some of) these types? On ROOM_YES trial->types are those. With
 * `make`, types of open claims are cut if that helps. */
enum sched_room sched_limit_room(struct sched *s, struct sched_pool *p, struct sched_trial *t,
                                 bool make);
/* Reservations are kept in the arena: call this before a mark that may be rewound. */
void sched_limit_refresh(struct sched *s, struct sched_pool *p);
/* The claim's types have changed. */
void sched_limit_touch(struct sched_open *c);
/* types &= those that the limits left when the pass began. */
void sched_limit_at_first(struct sched *s, const struct sched_pool *p, uint64_t *types);
/* What is left of the pool's limits, -1 where there is none. */
struct resources sched_limit_left(struct sched *s, struct sched_pool *p);

/* ---- sched_final.c, sched_refuse.c ----------------------------------------------------------- */

void sched_final(struct sched *s, struct sched_open *c, struct sched_claim *ret);
/* What a pool has against every pod, REASON_NONE if nothing; *ret_text may be NULL. */
enum reason_code sched_pool_closed(const struct snapshot_pool *p, const char **ret_text);
/* What the pool has against one more pod of the class, as things stand; REASON_NONE if nothing. */
void sched_obstacle(struct sched *s, struct sched_pool *p, struct sched_class *k,
                    struct reason *ret);
/* Explains the class to one more pool; after the last it has its refusal (without the pod). */
void sched_refuse(struct sched *s, struct sched_class *k);

#endif
