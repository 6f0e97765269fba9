/*
 * ec2_priv.h - what the simulated cloud's own files share. Nobody else includes it.
 *
 * One file per topic:
 *   ec2_cloud.c     birth and death, zones, subnets, group, images
 *   ec2_call.c      ports, open requests, when an answer goes out
 *   ec2_action.c    table of actions with the parameters each one knows; form and JSON in
 *   ec2_param.c     form parsing, filters, paging
 *   ec2_wire.c      XML writing, errors in each service's shape
 *   ec2_market.c    prices, offerings, stock
 *   ec2_fleet.c     CreateFleet      ec2_template.c  launch templates, RunInstances DryRun
 *   ec2_instance.c  life of an instance   ec2_describe.c  calls about instances
 *   ec2_network.c   subnets, groups, images   ec2_types.c  types, offerings, spot prices
 *   ec2_services.c  SSM, EKS, IAM, STS   ec2_pricing.c, ec2_sqs.c, ec2_event.c
 *   ec2_userdata.c  MIME and NodeConfig    ec2_node.c  the Node that a kubelet registers
 *   ec2_step.c      the scenario's hand   ec2_eye.c  the scenario's eye   ec2_fault.c  rules
 */
#ifndef KARP_TESTS_SIM_EC2_PRIV_H
#define KARP_TESTS_SIM_EC2_PRIV_H

#include "common/base/alloc.h"
#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/base/jsonx.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/core/ec2/ec2type.h"
#include "ec2.h"

#define SUBNET_FREE_IPS 4000
#define SIMEC2_GROUP_ID "sg-00000000000000001"
#define SIMEC2_GROUP_NAME "nodes"
#define SIMEC2_EXTRA_ID "sg-00000000000000002" /* is there, and has a tag of its own alone */
#define SIMEC2_EXTRA_NAME "extra"
#define SIMEC2_VPC_ID "vpc-00000000000000001"
#define LISTED_AFTER_DEATH_NS NS_PER_H
#define TOKEN_LIFE_NS (24 * NS_PER_H)
#define MESSAGE_LIFE_NS (5 * NS_PER_MIN) /* as the queue of EC2's documentation */
#define USER_DATA_MAX 16384              /* raw bytes, EC2's limit */
#define BODY_MAX (96u << 20)
#define PAGE_MAX 1000u
#define IMAGES_MAX 1024u
#define XML_EC2 "http://ec2.amazonaws.com/doc/2016-11-15/"

/* ---- a call ------------------------------------------------------------------------------------
 */

struct simec2_param {
    const char *key, *value;
};

struct simec2_params {
    struct simec2_param *v; /* sorted by key */
    size_t n;
};

enum simec2_style { STYLE_EC2, STYLE_QUERY, STYLE_JSON, STYLE_REST };

struct simec2_call;

struct simec2_action {
    const char *service, *name;
    enum simec2_style style;
    void (*run)(struct simec2_call *c);
    const char *params; /* Query services: the names it knows, blank-separated, # = a number */
    const char *launch; /* also simec2_launch_params, behind this prefix; NULL = not */
};
/* What a launch template and RunInstances have in common. */
extern const char simec2_launch_params[];

/* What a ReceiveMessage waits for. */
struct simec2_receive {
    bool on;
    int64_t deadline_ns; /* mono */
    int64_t max, visibility_ns;
};

struct simec2_call {
    struct simec2 *e;
    struct arena mem;
    const struct simec2_action *action;
    const struct simec2_fault *fault;
    struct simec2_params form;
    json_t *json;     /* JSON services */
    const char *path; /* REST services */
    int status;       /* 0 = fine so far */
    char code[96];
    struct buf out;
    int64_t delay_ns; /* from arrival to answer */
    struct simec2_receive receive;
};

/* wire: parameters. Getters answer NULL for what is absent; the format makes the name. */
int simec2_params_parse(struct arena *a, const char *body, size_t n, struct simec2_params *ret,
                        struct err *reterr);
const char *simec2_param(const struct simec2_call *c, const char *fmt, ...) PRINTF(2, 3);
bool simec2_param_any(const struct simec2_call *c, const char *fmt, ...) PRINTF(2, 3);
/* All X.1, X.2, … in the call's arena, NULL-terminated. */
const char *const *simec2_param_list(struct simec2_call *c, size_t *ret_n, const char *fmt, ...)
    PRINTF(3, 4);
/* The first parameter that no pattern of the action covers, or NULL. */
const char *simec2_param_unknown(const struct simec2_call *c);
/* "true"/"false"; absent is false. */
bool simec2_param_bool(const struct simec2_call *c, const char *name);

/* wire: answers. fail replaces what was written so far. */
void simec2_fail(struct simec2_call *c, const char *code, const char *fmt, ...) PRINTF(3, 4);
int simec2_status_of(const char *code);
void simec2_xml_begin(struct simec2_call *c); /* <ActionResponse …><requestId> */
void simec2_xml_end(struct simec2_call *c);
void simec2_query_begin(struct simec2_call *c, const char *ns);
void simec2_query_end(struct simec2_call *c);
void simec2_json(struct simec2_call *c, json_t *steal);
void put_open(struct buf *b, const char *tag);
void put_close(struct buf *b, const char *tag);
void put_str(struct buf *b, const char *tag, const char *value); /* NULL writes nothing */
void put_i64(struct buf *b, const char *tag, int64_t value);
void put_bool(struct buf *b, const char *tag, bool value);
void put_time(struct buf *b, const char *tag, int64_t wall_ns);
void put_tags(struct buf *b, const json_t *tags); /* tagSet */
/* Pico-dollars as decimal dollars with n digits behind the point (cut). Returns dst[40]. */
char *simec2_dollars(int64_t pusd, int digits, char dst[40]);

/* wire: filters. */
struct simec2_filter {
    const char *name;
    const char *const *values; /* globs, NULL-terminated */
};

struct simec2_filters {
    const struct simec2_filter *v;
    size_t n;
};

/* The i-th value of an object's attribute; NULL when there is no more. */
typedef const char *(*simec2_attr_fn)(const void *obj, const char *name, size_t i);

/* names: blank-separated; tag:K and tag-key are always known. False: the call has failed. */
bool simec2_filters(struct simec2_call *c, const char *names, struct simec2_filters *ret);
/* tags NULL: any tag matches. */
bool simec2_filter_match(const struct simec2_filters *f, const json_t *tags, simec2_attr_fn attr,
                         const void *obj);

/* wire: paging by a number that grows along the list. False: the call has failed. */
struct simec2_page {
    uint64_t from;
    size_t limit;
};
bool simec2_page(struct simec2_call *c, size_t min, size_t max, struct simec2_page *ret);
bool simec2_page_json(struct simec2_call *c, size_t dflt, size_t max, struct simec2_page *ret);
char *simec2_page_token(struct simec2_call *c, uint64_t from);

/* ---- templates ----------------------------------------------------------------------------------
 */

struct simec2_template {
    struct arena mem;
    unsigned refs; /* the table's one, and one per instance */
    const char *id, *name;
    int64_t created_ns;
    json_t *tags; /* of the template itself */
    const char *image_id, *instance_type, *user_data, *profile;
    const char *const *groups; /* ids */
    const char *const *interface_types;
    size_t n_groups, n_interfaces;
    json_t *instance_tags; /* TagSpecification instance, spot-instances-request ignored */
    const char *reservation_preference, *reservation_id, *tenancy;
    const char *group_id; /* of a placement group; NULL = none */
    int64_t root_gib;     /* of /dev/xvda or the first mapping; 0 = none said */
    /* user data, parsed at the first boot */
    bool parsed, good;
    struct simec2_userdata ud;
    char why[400];
};

void simec2_template_unref(struct simec2_template *t);
struct simec2_template *simec2_template_find(struct simec2 *e, const char *name, const char *id);
/* NULL: the call has failed. prefix: before LaunchTemplateName, LaunchTemplateId, Version. */
struct simec2_template *simec2_template_named(struct simec2_call *c, const char *prefix);
/* Tags for a resource type of PREFIXTagSpecification.N into dst. */
void simec2_tag_specs(const struct simec2_call *c, const char *prefix, const char *resource_type,
                      json_t *dst);

/* ---- places and images ---------------------------------------------------------------------- */

struct simec2_subnet {
    char id[32];
    const char *zone;
    char zone_id[24];
    int64_t free_ips;
    uint32_t next_host; /* of the addresses 10.ZONE.x.y */
    json_t *tags;       /* NULL = matches any */
};

struct simec2_image {
    char id[32];
    char name[128];
    const char *arch;    /* x86_64, arm64 */
    const char *family;  /* al2023, bottlerocket */
    const char *variant; /* standard, nvidia, neuron */
    char release[40];
    int64_t created_ns, deprecated_ns; /* wall, 0 = not deprecated */
    json_t *tags;                      /* NULL = matches any, if it is the newest standard one */
};

/* ---- market -------------------------------------------------------------------------------------
 */

struct simec2_offer {
    bool wanted;
    uint64_t zones;
    int64_t on_demand; /* pico-dollars per hour, PRICE_UNKNOWN = none */
    char *product;     /* as the price list has it: JSON in a JSON string; of this price: */
    int64_t product_of, product_since_ns;
    int64_t *spot; /* per zone */
};

struct simec2_stockout {
    char *capacity_type, *type, *zone; /* globs */
    int64_t until_ns;                  /* mono */
    int64_t left;                      /* instances still to be had */
};

/* ---- what is set aside (ec2_reserve.c)
 * -----------------------------------------------------------
 */

#define SIMEC2_ID_MAX 64

struct simec2_reservation {
    char id[SIMEC2_ID_MAX], owner[24];
    int fact;
    uint32_t zone_no;
    const char *zone;
    int64_t total;
    bool open, block;
    int64_t end_ns; /* wall, 0 = never */
    json_t *tags;
};

struct simec2_pgroup {
    char id[SIMEC2_ID_MAX], name[SIMEC2_ID_MAX], strategy[16];
    int64_t partitions;
};

/* Why the account cannot have one more of these; NULL: it can, in the reservation if there is one
 * (borrowed). */
const char *simec2_account_refuses(const struct simec2 *e, const struct simec2_template *t,
                                   int fact, uint32_t zone, bool spot, const char **ret_reservation,
                                   const char **ret_why);
bool simec2_over_quota(const struct simec2 *e, int fact, bool spot); /* one more of these */
int simec2_step_reservation(struct simec2 *e, const json_t *v, bool act, struct err *reterr);
int simec2_step_pgroup(struct simec2 *e, const json_t *v, bool act, struct err *reterr);
int simec2_step_messages(struct simec2 *e, const json_t *v, bool act, struct err *reterr);
int simec2_step_quota(struct simec2 *e, const json_t *v, bool act, struct err *reterr);
void simec2_reserve_done(struct simec2 *e);

/* ---- faults -------------------------------------------------------------------------------------
 */

struct simec2_rule {
    char *action;              /* glob over SERVICE:ACTION */
    struct simec2_fault fault; /* an empty code: the service's word for throttling */
    int64_t times;             /* left; -1 = unlimited */
    int64_t until_ns;          /* mono */
};

/* ---- instances ----------------------------------------------------------------------------------
 */

struct simec2_inst {
    struct simec2_instance pub; /* first */
    struct simec2 *e;
    struct arena mem;
    uint64_t seq;
    struct timer timer;   /* boot, death, oblivion: whichever is next */
    struct timer reclaim; /* two minutes after a spot interruption warning */
    int64_t launched_mono_ns;
    struct simec2_template *tmpl; /* NULL for foreign ones */
    json_t *tags;
    const char *const *groups;
    const char *spot_request_id, *state_reason_code, *state_reason;
    const char *reservation_id; /* it runs in; NULL = none */
    int fact;
    uint32_t zone_no;
    bool foreign;
    /* DescribeInstanceStatus */
    int64_t instance_bad_until_ns, system_bad_until_ns, bad_since_ns;
    char event_code[40];
};

struct simec2_launch {
    int fact;
    uint32_t zone_no;
    bool spot;
    struct simec2_template *tmpl;
    const char *image_id; /* NULL = the template's */
    const char *fleet_id;
    const char *reservation_id; /* NULL = none */
    const json_t *tags;         /* merged over the template's */
    int64_t boot_in_ns;
};

/* NULL if the account is full. */
struct simec2_inst *simec2_launch(struct simec2 *e, const struct simec2_launch *l);
void simec2_terminate(struct simec2_inst *x, const char *reason_code, const char *reason);
/* Somebody stops it: it is there, and nothing runs on it. */
void simec2_stop(struct simec2_inst *x);
bool simec2_inst_alive(const struct simec2_inst *x); /* pending or running */
void simec2_inst_free(struct simec2_inst *x);
struct simec2_inst *simec2_inst_find(const struct simec2 *e, const char *id);

/* EventBridge's events about an instance, into the queue. */
void simec2_event_state(const struct simec2_inst *x);
void simec2_event_rebalance(const struct simec2_inst *x);
/* The warning now, the end in two minutes. */
void simec2_interrupt(struct simec2_inst *x);

/* The Node; NULL and a reason if kubelet would not come up. New reference. */
json_t *simec2_node(const struct simec2_inst *x, const struct simec2_userdata *u,
                    struct err *reterr);

/* ---- queue --------------------------------------------------------------------------------------
 */

struct simec2_message {
    char *body;
    uint64_t seq;
    char warns[32]; /* id of the instance that it is the interruption warning of, or "" */
    int64_t sent_mono_ns, sent_wall_ns, visible_ns;
    uint32_t receives;
};

/* ---- the cloud ------------------------------------------------------------------------------ */

struct simec2_token {
    char *key; /* ACTION:TOKEN */
    uint64_t params_hash;
    char *body;
    size_t body_n;
    int64_t made_ns; /* mono */
};

struct simec2_count {
    uint64_t arrived, answered;
};

struct simec2_open {
    struct simec2_open *next, *prev; /* of its port, in order of arrival */
    struct simec2_port *port;
    uint64_t handle;
    struct timer timer;
    aws_done_fn done;
    void *arg;
    char service[16], action[64];
    struct simec2_receive receive;
    struct err err; /* of the connection */
    int status;
    char *body;
    size_t body_n;
};

struct simec2_port {
    struct simec2 *e; /* NULL once the cloud is gone */
    struct simec2_port *next, *prev;
    struct aws_port aws;
    struct simec2_open *first, *last;
    uint64_t orphans; /* handles given out after the cloud's end */
    int64_t frozen_until_ns;
};

struct simec2 {
    struct arena mem; /* what lives as long as the cloud */
    struct simec2_opts opts;
    const struct clock *clock;
    struct timers *timers;
    struct simec2_hooks hooks;
    struct simec2_port *ports;
    uint64_t ids;     /* the counter all ids come from */
    uint64_t handles; /* of all ports: none is ever given twice */

    const char *const *zones;
    uint32_t n_zones;
    struct simec2_subnet *subnets; /* per zone */
    json_t *group_tags;            /* NULL = any */
    struct simec2_image **images;  /* oldest first; they never move */
    size_t n_images, cap_images;
    json_t *parameters;          /* of SSM, by `images` steps */
    struct simec2_offer *offers; /* per fact */
    int64_t prices_since_ns;     /* wall */
    bool prices_stepped;         /* that was a step */
    struct simec2_stockout *stockouts;
    size_t n_stockouts, cap_stockouts;
    struct simec2_rule *rules;
    size_t n_rules, cap_rules;
    struct simec2_reservation *reservations;
    size_t n_reservations, cap_reservations;
    struct simec2_pgroup *pgroups;
    size_t n_pgroups, cap_pgroups;
    int64_t quota[2]; /* vCPUs: on-demand, spot; 0 = no limit */
    int64_t no_boot;  /* instances still to lose */
    int64_t reuse;    /* launches that still get the address of one that goes */
    int64_t hide_ns;  /* describes miss what is younger */

    struct simec2_inst **insts; /* launch order */
    size_t n_insts, cap_insts;
    uint64_t inst_seq;
    struct map *by_id, *by_node;
    struct map *templates; /* by name */
    struct map *profiles;  /* by name: json_t */
    struct map *tokens;
    struct simec2_token **token_fifo; /* oldest first */
    size_t n_tokens, cap_tokens;
    struct map *counts;
    uint64_t calls;                  /* that arrived, of all services */
    struct simec2_message *messages; /* oldest first */
    size_t n_messages, cap_messages;
};

int64_t simec2_mono(const struct simec2 *e);
int64_t simec2_wall(const struct simec2 *e);
/* "i-0123…" from the counter. dst[32] */
void simec2_id(struct simec2 *e, const char *prefix, char dst[32]);
void simec2_note(struct simec2 *e, const char *fmt, ...) PRINTF(2, 3);
int simec2_zone_no(const struct simec2 *e, const char *zone);               /* -1 */
struct simec2_subnet *simec2_subnet_find(struct simec2 *e, const char *id); /* NULL */
bool simec2_is_group(const char *id);
struct simec2_image *simec2_image_find(const struct simec2 *e, const char *id);
/* The newest release of that family; variant and arch as in the names. NULL. */
struct simec2_image *simec2_image_newest(const struct simec2 *e, const char *family,
                                         const char *arch, const char *variant);
struct simec2_image *simec2_image_release(const struct simec2 *e, const char *family,
                                          const char *arch, const char *variant,
                                          const char *release);
/* A new release of every image; the ids of the standard ones may be given (or NULL). */
int simec2_images_release(struct simec2 *e, const char *release, const char *x86_id,
                          const char *arm_id, struct err *reterr);

void simec2_market_init(struct simec2 *e);
/* In that zone at a price. */
bool simec2_offered(const struct simec2 *e, int fact, uint32_t zone, bool spot);
int64_t simec2_offer_price(const struct simec2 *e, int fact, uint32_t zone, bool spot);
bool simec2_in_stock(const struct simec2 *e, int fact, uint32_t zone, bool spot);
void simec2_stock_take(struct simec2 *e, int fact, uint32_t zone, bool spot);
void simec2_stockout_done(struct simec2_stockout *s);

/* What troubles this call, if anything; uses up a rule. */
struct simec2_fault simec2_fault_for(struct simec2 *e, const char *service, const char *action);

/* Whether the token was seen. 1: replayed, the answer is written; -1: mismatch, the call failed. */
int simec2_token_check(struct simec2_call *c, const char *token);
void simec2_token_keep(struct simec2_call *c, const char *token);
void simec2_token_free(struct simec2_token *t);

const struct simec2_action *simec2_action_find(const char *service, const char *name);
/* Runs one call; c has e, mem, out and fault. Fills status (0 = 200), out, delay_ns, receive. */
void simec2_run(struct simec2_call *c, const struct aws_req *req);
/* A fault for CreateFleet that comes as items of errorSet, not as an error of the call. */
bool simec2_is_item_code(const char *code);
const struct simec2_fault *simec2_item_fault(const struct simec2_call *c);

void simec2_port_detach(struct simec2_port *p);

/* Queue. */
void simec2_queue_wake(struct simec2 *e);
/* Writes the answer of a ReceiveMessage if it is due; false: not yet, *ret_again_ns says when. */
bool simec2_receive(struct simec2 *e, const struct simec2_receive *r, struct buf *out,
                    int64_t *ret_again_ns);
void simec2_message_done(struct simec2_message *m);

/* Actions, by file. */
void simec2_create_fleet(struct simec2_call *c);
void simec2_create_template(struct simec2_call *c);
void simec2_describe_templates(struct simec2_call *c);
void simec2_delete_template(struct simec2_call *c);
void simec2_run_instances(struct simec2_call *c);
void simec2_describe_instances(struct simec2_call *c);
void simec2_terminate_instances(struct simec2_call *c);
void simec2_console(struct simec2_call *c);
void simec2_create_tags(struct simec2_call *c);
void simec2_describe_status(struct simec2_call *c);
void simec2_describe_subnets(struct simec2_call *c);
void simec2_describe_groups(struct simec2_call *c);
void simec2_describe_images(struct simec2_call *c);
void simec2_describe_reservations(struct simec2_call *c);
void simec2_describe_placement_groups(struct simec2_call *c);
void simec2_describe_types(struct simec2_call *c);
void simec2_describe_offerings(struct simec2_call *c);
void simec2_describe_spot_prices(struct simec2_call *c);
void simec2_get_parameter(struct simec2_call *c);
void simec2_describe_cluster(struct simec2_call *c);
void simec2_get_products(struct simec2_call *c);
void simec2_get_queue_url(struct simec2_call *c);
void simec2_receive_message(struct simec2_call *c);
void simec2_delete_message(struct simec2_call *c);
void simec2_delete_messages(struct simec2_call *c);
void simec2_send_message(struct simec2_call *c);
void simec2_get_profile(struct simec2_call *c);
void simec2_create_profile(struct simec2_call *c);
void simec2_delete_profile(struct simec2_call *c);
void simec2_list_profiles(struct simec2_call *c);
void simec2_add_role(struct simec2_call *c);
void simec2_remove_role(struct simec2_call *c);
void simec2_get_role(struct simec2_call *c);
void simec2_get_caller_identity(struct simec2_call *c);

#endif
