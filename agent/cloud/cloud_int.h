/*
 * cloud_int.h - what the files of cloud/ share; nobody else includes it.
 *
 *   job.c        work that waits for answers; ends with the cloud
 *   home.c       which account, cluster, version
 *   facts.c      what EC2 offers where (refresh.c asks), stock-outs (stock.c)
 *   classspec.c  EC2NodeClass.spec read, and what of it enters the catalog (kubeletcheck.c: rules)
 *   resolve.c    subnets, groups, images, profile, capacity reservations of a class (images.c)
 *   reserve.c    what is left in capacity reservations
 *   class.c      the EC2NodeClass controller; classstatus.c its conditions
 *   market.c     catalogs and offerings per class, cloud_pools
 *   userdata.c   the text a node boots from
 *   template.c   launch templates: ensured, and deleted when unused
 *   plan.c       which types and zones a launch asks for; launchask.c puts it in EC2's words;
 *                launch.c asks; outcome.c knows EC2's answers
 *   calls.c      metrics of what is asked of the cloud
 *   network.c    subnets and security groups that instances are in
 *   instance.c   list, tag; byid.c: describe, find and terminate, many in one call
 */
#ifndef KARP_AGENT_CLOUD_INT_H
#define KARP_AGENT_CLOUD_INT_H

#include "agent/claim/claim.h"
#include "agent/runtime.h"
#include "agent/store/store.h"
#include "agent/work/queue.h"
#include "cloud.h"
#include "common/aws/ec2.h"
#include "common/base/map.h"
#include "common/core/ec2/ec2type.h"
#include "job.h"

#include <jansson.h>

#define ZONES_MAX CATALOG_MAX_ZONES
#define CLASSES_MAX STORE_MAX_OBJECTS
#define RETRY_MIN_NS (1 * NS_PER_S)

/* ---- home.c ------------------------------------------------------------------------------------
 */

#define HOME_REFRESH_NS (5 * NS_PER_MIN)
#define HOME_RETRY_MAX_NS (30 * NS_PER_S)

/* Strings are heap, NULL while unknown. */
struct home {
    char *account;
    char *endpoint, *ca_b64, *cidr;
    char *version; /* "1.34" */
    char *dns_ip;  /* of kube-system/kube-dns; NULL also if there is none */
    bool asked;    /* EKS, version and kube-dns have been asked once */
    char *trouble; /* why EKS did not answer, for people; NULL if it did */
};

void home_start(struct cloud *c);
void home_done(struct cloud *c);

/* ---- facts.c, refresh.c, stock.c ------------------------------------------------------------- */

#define FACTS_REFRESH_NS (12 * NS_PER_H)
#define FACTS_RETRY_MAX_NS (10 * NS_PER_MIN)
#define FACTS_PATIENCE_NS (30 * NS_PER_S) /* prices that do not come do not hold up the start */
#define SPOT_GUESS_PERCENT 40             /* of on-demand, where there is no history */

#define STOCKOUT_NS (3 * NS_PER_MIN)
#define STOCKOUT_MAX_NS (30 * NS_PER_MIN)
#define STOCKOUT_MEMORY_NS (15 * NS_PER_MIN) /* sold out again within it: twice as long */
#define STOCKOUTS_MAX 100000

struct stock {
    enum capacity_type ct;
    char *type, *zone, *code; /* type "*": the whole capacity type, any zone */
    int64_t until_ns;         /* monotonic */
    int64_t until_wall_ns;
    unsigned times;
    /* Of a vCPU quota: types of that group with so many vCPUs or more, everywhere; 0 = of no quota.
     */
    int32_t quota_vcpus;
    const char *quota_group; /* static */
};

/* Prices by number of ec2_facts; those of spot at facts_place, for n_zones zones. */
struct facts {
    char *zones[ZONES_MAX]; /* in string order */
    uint32_t n_zones;
    uint64_t *offered; /* per type, bit per zone */
    int64_t *on_demand;
    int64_t *told,
        *suspect; /* on-demand: as AWS told it; told, but not believed yet. 0 = neither */
    int64_t *spot;
    uint64_t *spot_seen; /* per type, zones with a price history */
    bool offerings_known, spot_tried, prices_tried;
    uint64_t version; /* of everything above and the stock-outs */
    struct map *stock, *full_subnets;
    int64_t next_expiry_ns;
    int64_t started_ns;
};

void facts_init(struct cloud *c);
void facts_done(struct cloud *c);
void facts_start(struct cloud *c); /* refresh.c */
bool facts_ready(const struct cloud *c);
int facts_zone(const struct facts *f, const char *zone); /* -1 */
/* Zone by zone: there may be many, and hardly any region has more than a few. */
static inline size_t facts_place(uint32_t type, uint32_t zone)
{
    return (size_t)zone * ec2_facts_n + type;
}
int64_t facts_price(const struct facts *f, int type, int zone, enum capacity_type ct);
/* The zones (sorted) in which types are offered; offered is per type and taken over. */
void facts_set_offered(struct facts *f, char **zones, uint32_t n_zones, uint64_t *offered);

void stock_init(struct facts *f);
void stock_done(struct facts *f);
void stock_mark(struct cloud *c, enum capacity_type ct, const char *type, const char *zone,
                const char *code);
/* EC2's code for a vCPU quota that is used up; what it says of a type it says of its like. */
bool stock_is_quota(const char *code);
void stock_mark_quota(struct cloud *c, enum capacity_type ct, const struct ec2_fact *f,
                      const char *code);
bool stock_quota_covers(const struct stock *s, const struct ec2_fact *f);
void stock_mark_subnet(struct cloud *c, const char *subnet_id);
bool stock_subnet_full(const struct cloud *c, const char *subnet_id);
/* In force now. */
bool stock_holds(const struct cloud *c, const struct stock *s);
/* Counts up the version when a stock-out has ended. */
void stock_expire(struct cloud *c);

/* ---- classspec.c ----------------------------------------------------------------------------- */

/* The numbers that enter the catalog, as kube/ec2class.h reads them for the plugin too, and the
 * agent's options. Extra resources live in a. */
void spec_ec2_class(struct runtime *rt, struct arena *a, const struct nodeclass *cls,
                    const json_t *spec, struct ec2_class *ret);
/* Annotation karp.dev/capacity: ERR_INVALID says what is wrong with it. */
int spec_check_extra(const struct nodeclass *cls, struct err *reterr);
/* Why this version cannot run the spec at all; false if it can. */
bool spec_unsupported(const json_t *spec, struct buf *why);
/* Rules of EC2's documentation that the kubelet part breaks, joined by "; "; false if none. */
bool spec_kubelet_errors(const json_t *kubelet, struct buf *why);
/* A tag that users must not set; NULL if there is none. */
const char *spec_restricted_tag(const json_t *spec);
/* Types that cannot run the class at all: they get no offerings. */
bool spec_type_fits(const json_t *spec, const struct ec2_class *ec, const struct ec2_fact *f);

/* ---- resolve.c, images.c --------------------------------------------------------------------- */

#define RESOLVE_MAX 2000 /* subnets, groups or images of one class */

enum resolve_part {
    PART_SUBNETS,
    PART_GROUPS,
    PART_IMAGES,
    PART_PROFILE,
    PART_RESERVATIONS,
    PART_COUNT
};

struct res_subnet {
    char *id, *zone, *zone_id;
    int64_t free_ips;
};

/* What EC2 answered for one class; heap, replaced part by part. */
struct resolved {
    struct res_subnet *subnets; /* most free addresses first, then by id */
    uint32_t n_subnets;
    json_t *groups, *images, *reservations; /* as in status */
    char *profile;                          /* NULL: not to be had */
    char *profile_why;                      /* then why, for people */
    bool have[PART_COUNT];
    struct err err[PART_COUNT]; /* of the last try */
    int64_t due_ns[PART_COUNT]; /* next try, monotonic */
    unsigned failures[PART_COUNT];
};

typedef void (*resolve_done_fn)(struct cloud *c, const char *cls);

/* Asks for the parts whose time has come, puts the answers into *into (which must outlive the job
 * or end it), then calls done. */
struct job *resolve_start(struct cloud *c, const char *cls, const json_t *spec, unsigned parts,
                          struct resolved *into, resolve_done_fn done);
void resolved_clear(struct resolved *r);

/* One image as DescribeImages gave it, and which variant it was asked as. */
struct image_in {
    const char *id, *name, *arch; /* EC2's: x86_64, arm64 */
    const char *variant;          /* "standard", "nvidia", "neuron", NULL = only the architecture */
    int64_t created_ns, deprecated_ns;
};
/* The class's images as status.amis: newest first, one per set of requirements. */
json_t *images_status(const struct image_in *v, size_t n, int64_t now_ns);
/* SSM paths of an al2023 alias; variants[i] belongs to paths[i]. Returns how many (at most 8). */
size_t images_al2023_paths(struct arena *a, const char *version, const char *minor,
                           const char *paths[8], const char *variants[8]);

/* ---- reserve.c ------------------------------------------------------------------------------- */

#define RESERVE_MAX 10000                 /* capacity reservations that are known */
#define RESERVE_SETTLE_NS (10 * NS_PER_S) /* EC2 counts a launch by then */
#define RESERVE_EXPIRING_NS                                                                        \
    (40 * NS_PER_MIN) /* a capacity block that ends sooner takes nothing                           \
                       */

void reserve_init(struct cloud *c);
void reserve_done(struct cloud *c);
/* What EC2 answered to a question of then (monotonic). */
void reserve_told(struct cloud *c, const char *id, int64_t available, int64_t asked_ns);
int64_t reserve_left(const struct cloud *c, const char *id); /* 0: also not known */
void reserve_take(struct cloud *c, const char *id);          /* one was launched in it */
void reserve_empty(struct cloud *c, const char *id);         /* EC2 has refused one */
/* The class selects some and the feature gate is on. */
bool reserve_selected(const struct cloud *c, const json_t *spec);

/* ---- class.c, classstatus.c ------------------------------------------------------------------ */

struct class_entry {
    char *name, *uid;
    int64_t generation;
    json_t *spec;
    struct resolved res;
    struct job *job; /* resolving */
    struct market *market;
};

struct classes {
    struct map *entries;
    struct queue *queue;
    struct map *removing; /* deleted classes: to &busy (their templates are going) or &done */
    char busy, done;
};

void classes_init(struct cloud *c);
void classes_start(struct cloud *c);
void classes_done(struct cloud *c);
void classes_wake(struct cloud *c); /* something they all depend on has changed */
struct class_entry *class_entry(const struct cloud *c, const char *name); /* NULL */
/* The merge patch for status; NULL if nothing is to change. */
json_t *class_status_patch(struct cloud *c, const struct nodeclass *cls,
                           const struct class_entry *e);
/* Usable for launches: Ready for this generation. Else *ret_why (borrowed from cls or a literal)
 * and whether it is only unknown yet. */
bool class_usable(const struct nodeclass *cls, const char **ret_why, bool *ret_unknown);

/* ---- market.c -------------------------------------------------------------------------------- */

struct market_subnet {
    const char *id;
    int zone; /* of the catalog */
};

struct market_reservation {
    const char *id;
    struct reservation r; /* price and count are those of now when it becomes an offering */
    bool expiring;
};

/* A catalog with the offerings of now; shared by classes that give the same, by reference count. */
struct market {
    unsigned refs;
    char *key; /* everything that entered it, as text */
    struct catalog *catalog;
    struct offerings *offerings;
    uint64_t facts_version; /* of the offerings */
    struct arena mem;       /* of what follows */
    struct ec2_class ec;
    const int *facts;          /* per type of the catalog: its number in ec2_facts */
    const bool *fits;          /* per type: the class's other fields allow it */
    const char *const *images; /* per type: id of its image; NULL: there is none, or the class
                                * cannot run on it */
    const struct market_subnet *subnets;
    uint32_t n_subnets;
    const struct market_reservation *reservations;
    uint32_t n_reservations;
};

void market_init(struct cloud *c);
void market_done(struct cloud *c);
/* The class's, brought up to date; NULL with *reterr. Borrowed until the store's thaw unless taken
 * by market_ref. */
struct market *market_of(struct cloud *c, const struct nodeclass *cls, struct err *reterr);
struct market *market_ref(struct market *m);
void market_unref(struct cloud *c, struct market *m);

/* ---- userdata.c ------------------------------------------------------------------------------ */

struct userdata_in {
    const struct symtab *syms;
    const char *cluster, *endpoint, *ca_b64, *cidr, *dns_ip; /* dns_ip may be NULL */
    const char *user;                                        /* spec.userData or NULL */
    const json_t *kubelet;                                   /* spec.kubelet or NULL */
    bool custom, raid0; /* family Custom: the user's text as it stands */
    int32_t max_pods;
    const struct taints *taints, *startup_taints;
    const struct label *labels; /* of the node */
    uint32_t n_labels;
};

/* The text before base64. ERR_LIMIT beyond EC2_USER_DATA_MAX. */
int userdata_build(const struct userdata_in *in, struct buf *out, struct err *reterr);
/* Labels of these domains are not kubelet's to set: they are synced later. */
bool userdata_label_allowed(const char *key);

/* ---- template.c ------------------------------------------------------------------------------ */

#define TEMPLATE_PREFIX "karpenter.k8s.aws/"
#define TEMPLATE_UNUSED_NS (10 * NS_PER_MIN)
#define TEMPLATE_SWEEP_NS (1 * NS_PER_MIN)
#define TEMPLATE_LIST_NS (10 * NS_PER_MIN) /* also finds those of a process before us */
#define TEMPLATE_WAIT_NS (100 * NS_PER_MS) /* for another one that is making sure of the same */
#define TEMPLATES_MAX 5000

struct templates {
    struct map *known;  /* name → int64_t *, last use (monotonic) */
    struct map *asking; /* names that somebody is making sure of */
    int64_t next_list_ns;
};

void templates_init(struct cloud *c);
void templates_start(struct cloud *c);
void templates_done(struct cloud *c);
/* Names the content: sets req->name (in a). */
void template_name(struct arena *a, struct ec2_create_template *req);
/* Makes sure that all of these exist (they live as long as j), then calls done, perhaps at once. */
typedef void (*templates_fn)(struct job *j, const struct err *err);
void templates_ensure(struct job *j, const struct ec2_create_template *v, size_t n,
                      templates_fn done);
/* Somebody else is making sure of one of these: not worth a call of one's own. */
bool templates_asked(const struct cloud *c, const struct ec2_create_template *v, size_t n);
void templates_used(struct cloud *c, const char *name);
void templates_forget(struct cloud *c, const char *name);
/* Deletes all of a class; done in a later turn. */
typedef void (*templates_gone_fn)(struct cloud *c, const char *cls, const struct err *err);
void templates_delete_of(struct cloud *c, const char *cls, templates_gone_fn done);

/* ---- plan.c
 * -----------------------------------------------------------------------------------------------
 */

#define PLAN_TYPES_MAX 60   /* as Karpenter */
#define PLAN_MIN_FLEXIBLE 5 /* on-demand although spot is allowed: fewer types deserve a word */

struct plan_in {
    const struct symtab *syms;
    const struct catalog *catalog;
    const struct offerings *offerings;
    const struct reqset *reqs;
    const struct resources *requests;
    uint32_t max_types;
};

struct plan_type {
    uint32_t type;
    uint64_t zones; /* with an offering to be asked for */
    int64_t price_pusd_h;
    struct reservation reservation; /* id SYM_NONE: none; else it is about that one's zone */
};

struct plan {
    enum capacity_type ct;
    bool spot_allowed;
    const struct plan_type *types; /* cheapest first; a type once per reservation */
    uint32_t n_types;              /* 0: nothing is to be had */
};

void plan_make(struct arena *a, const struct plan_in *in, struct plan *ret);

/* ---- outcome.c ------------------------------------------------------------------------------- */

#define LAUNCH_TOKEN_CHARS 32

/* First 32 hex digits of SHA-256(UID, attempt). */
void launch_token(const char *uid, int64_t attempt, char dst[LAUNCH_TOKEN_CHARS + 1]);
/* Karpenter's reason for an error text. */
const char *launch_reason(const char *code_and_message);
/* One of EC2's documentation unfulfillable codes, or the spot service role's; ours: also a type
 * that is not supported in the zone, and a capacity reservation that has ended. */
bool launch_unfulfillable(const char *code, const char *message);
#define CODE_SPOT_ROLE "AuthFailure.ServiceLinkedRoleCreationNotPermitted"
#define CODE_SUBNET_FULL "InsufficientFreeAddressesInSubnet"
#define CODE_NO_RESERVATION "InvalidCapacityReservationId.NotFound"

/* What one launch is about; in its job's arena. */
struct launch_ask {
    enum capacity_type ct;
    const char *cls; /* name of the class */
    const char *context;
    struct ec2_create_template *templates;
    struct ec2_fleet_config
        *configs; /* parallel to templates, names filled in when they are known */
    struct reservation *reservations; /* likewise; id SYM_NONE: none */
    uint32_t n;
    struct ec2_tags tags, instance_tags;
};

/* launchask.c: templates and overrides for a plan. ERR_LIMIT or ERR_INVALID: the user data is no
 * good. */
int launch_ask_build(struct cloud *c, struct arena *a, const struct nodeclaim *nc,
                     const struct nodeclass *cls, const struct market *m, const struct plan *plan,
                     struct launch_ask *ret, struct err *reterr);

/* ---- instance.c ------------------------------------------------------------------------------ */

#define INSTANCE_YOUNG_NS (2 * NS_PER_MIN) /* EC2 may not show it yet */
#define INSTANCE_YOUNG_MAX 20000
#define FAILING_NS (5 * NS_PER_MIN)

/* cloud_get, cloud_find and cloud_terminate wait so long for others; as Karpenter. */
enum by_kind { BY_ID, BY_CLAIM, BY_END, BY_KINDS };
#define BATCH_IDLE_NS (100 * NS_PER_MS)
#define BATCH_GET_IDS 200 /* values of one filter */
#define BATCH_END_IDS 500

struct by_id; /* one question */

struct by_ids {
    struct by_id **v; /* waiting for the next call, in order */
    size_t n, cap;
    bool due; /* the call is appointed */
};

struct instances {
    struct by_ids waiting[BY_KINDS];
    struct map *young; /* id → int64_t *, when EC2 answered (monotonic) */
    int64_t launch_failed_ns, terminate_failed_ns; /* monotonic, 0 = the last one did not fail */
    bool reads_fail;                               /* the last describe failed as such */
    int64_t skew_ns;                               /* when EC2 last told its time: ours minus its */
    int64_t skew_offset_ns; /* and our wall clock minus our monotonic one then */
};

void instances_init(struct cloud *c);
void instances_done(struct cloud *c);
void instance_launched(struct cloud *c, const char *id);
bool instance_is_young(struct cloud *c, const char *id);
void instance_not_visible(struct err *err, const char *id);
/* AWS's clock (0: it did not say), when it answered a call that began took_ns ago. */
void instance_note_date(struct cloud *c, int64_t date_ns, int64_t took_ns);
struct instance instance_of(const struct ec2_instance *i);
/* Of this very cluster, and not terminated. */
bool instance_is_ours(const struct cloud *c, const struct instance *i);
/* Any state but terminated. */
struct ec2_filter instance_alive(void);
/* Remembers whether the call failed as such. */
void instance_note_call(struct cloud *c, bool launch, const struct err *err);

/* ---- calls.c --------------------------------------------------------------------------------- */

/* karpenter_cloudprovider_duration_seconds and _errors_total; method as Karpenter's. */
void calls_note(struct cloud *c, const char *method, int64_t began_ns, bool failed,
                const char *error);

/* ---- the cloud ------------------------------------------------------------------------------- */

/* ---- network.c ------------------------------------------------------------------------------- */

struct network {
    struct map *places;   /* by its text → struct place */
    struct map *of_claim; /* UID → struct place */
};
void network_init(struct cloud *c);
void network_done(struct cloud *c);
/* All instances there are; scratch in a. */
void network_listed(struct cloud *c, struct arena *a, const struct instance *v, uint32_t n);

struct cloud {
    struct runtime *rt;
    struct jobs jobs;
    struct home home;
    struct facts facts;
    struct classes classes;
    struct templates templates;
    struct instances instances;
    struct network network;
    struct map *reserved;    /* by id of a reservation, reserve.c */
    struct market **markets; /* alive */
    size_t n_markets, cap_markets;
    struct market_limbo {
        struct market *market;
        struct offerings *offerings;
    } * limbo; /* to be freed at the thaw */
    size_t n_limbo, cap_limbo;
    uint64_t generation;
    bool started;
};

static inline int64_t cloud_mono(const struct cloud *c)
{
    return clock_mono(c->rt->clock);
}

static inline int64_t cloud_wall(const struct cloud *c)
{
    return clock_wall(c->rt->clock);
}

/* RETRY_MIN_NS doubled per failure, up to max_ns, jittered. */
int64_t cloud_backoff(struct cloud *c, unsigned failures, int64_t max_ns);

#endif
