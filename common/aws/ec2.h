/*
 * ec2.h - the EC2 calls of the agent as plain structs and pure functions.
 *
 * For every action X: a request struct, ec2_encode_x(form, request), and ec2_parse_x(arena, body,
 * n, &ret, reterr) that reads the answer to success (aws_result without error). No I/O, no state:
 *
 *     AUTO_FORM struct form f = {0};
 *     ec2_encode_create_fleet(&f, &req);
 *     handle = aws_call_form(client, "ec2", &f, true, done, arg);
 *     …
 *     ec2_parse_create_fleet(arena, res->body, res->body_n, &fleet, &err)
 *
 * Encoders initialize the form. Strings in requests are borrowed for the call, NULL or empty arrays
 * are left out, numbers have their "absent" value next to them. Results live in the arena, arrays
 * in EC2's order; absent texts are NULL. Where AWS pages, the request has next_token and
 * max_results (0 = not sent) and the result next_token (NULL = last page; EC2's empty token counts
 * as none). Elements that this header does not name are skipped, so new fields do no harm; an
 * answer without what makes it an answer (its root element, its list, an instance's id) is
 * ERR_INVALID: a list that is not there is not an empty list.
 *
 * Wire names: the public API model; note LaunchTemplateConfigs.N.Overrides.M with
 * plurals, TagSpecification.N.Tag.M, NetworkInterface.N.SecurityGroupId.M.
 */
#ifndef KARP_AWS_EC2_H
#define KARP_AWS_EC2_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/base/price.h"
#include "form.h"

#define EC2_VERSION "2016-11-15"
#define EC2_USER_DATA_MAX 16384 /* before base64 */
#define EC2_TOKEN_MAX 64        /* characters of a ClientToken */
/* Page sizes as Karpenter's. */
#define EC2_PAGE_INSTANCES                                                                         \
    250 /* EC2 takes up to 1000; they would take too long to read in one go */
#define EC2_PAGE_STATUSES 1000
#define EC2_PAGE_SUBNETS 500
#define EC2_PAGE_GROUPS 500
#define EC2_PAGE_IMAGES 1000
#define EC2_PAGE_OFFERINGS 1000
#define EC2_PAGE_SPOT_PRICES 2000
#define EC2_PAGE_TEMPLATES 200
#define EC2_PAGE_RESERVATIONS 1000

struct ec2_tag {
    const char *key, *value;
};

struct ec2_tags {
    const struct ec2_tag *v;
    size_t n;
};

/* The value of a key; NULL if it is not there. */
const char *ec2_tag(const struct ec2_tags *tags, const char *key);

struct ec2_strings {
    const char *const *v;
    size_t n;
};

/* "tag:karpenter.sh/discovery" = any of values; "tag-key" = the key is there. */
struct ec2_filter {
    const char *name;
    struct ec2_strings values;
};

struct ec2_filters {
    const struct ec2_filter *v;
    size_t n;
};

/* Tags for one type of resource: "instance", "volume", "fleet", "launch-template", … */
struct ec2_tag_spec {
    const char *resource_type;
    struct ec2_tags tags;
};

struct ec2_tag_specs {
    const struct ec2_tag_spec *v;
    size_t n;
};

/* ---- CreateFleet ----------------------------------------------------------------------------- */

struct ec2_override {
    const char *instance_type, *subnet_id, *zone, *image_id;
    int64_t priority_pusd_h; /* offering price, sent as dollars; -1 = none */
};

struct ec2_fleet_config {
    const char *template_name, *template_id; /* one of them */
    const char *template_version;            /* NULL = "$Latest" */
    const struct ec2_override *overrides;
    size_t n_overrides;
};

/* Type is always "instant". */
struct ec2_create_fleet {
    const char *client_token; /* needed: without it a lost answer launches twice */
    const char *context;      /* NULL = none */
    const char *target_type;  /* "spot", "on-demand", "capacity-block", "reserved-capacity" */
    int64_t target_capacity;
    const char *spot_strategy;            /* NULL = none */
    const char *on_demand_strategy;       /* NULL = none */
    struct ec2_strings reservation_types; /* ReservedCapacityOptions */
    const struct ec2_fleet_config *configs;
    size_t n_configs;
    struct ec2_tag_specs tags;
    bool dry_run;
};

/* launchTemplateAndOverrides */
struct ec2_fleet_choice {
    const char *template_name, *template_id, *template_version;
    const char *instance_type, *subnet_id, *zone, *zone_id, *image_id;
};

struct ec2_fleet_instances {
    struct ec2_fleet_choice choice;
    const char *lifecycle; /* "spot", "on-demand", … */
    const char *instance_type;
    struct ec2_strings ids;
};

struct ec2_fleet_error {
    struct ec2_fleet_choice choice;
    const char *lifecycle;
    const char *code, *message; /* aws_code_kind(code, 0) classifies */
};

/* Instances and errors may both be there. */
struct ec2_fleet {
    const char *fleet_id;
    const struct ec2_fleet_instances *instances;
    size_t n_instances;
    const struct ec2_fleet_error *errors;
    size_t n_errors;
};

void ec2_encode_create_fleet(struct form *f, const struct ec2_create_fleet *req);
int ec2_parse_create_fleet(struct arena *a, const char *body, size_t n, struct ec2_fleet *ret,
                           struct err *reterr);

/* ---- launch templates ------------------------------------------------------------------------ */

struct ec2_block_device {
    const char *device_name;
    const char *volume_type, *kms_key_id, *snapshot_id; /* NULL = not sent */
    int64_t size_gib, iops, throughput, init_rate;      /* 0 = not sent */
    int8_t encrypted, delete_on_termination;            /* 1, 0, or -1 = not sent */
};

struct ec2_interface {
    int64_t card_index, device_index;
    const char *type; /* "interface", "efa", "efa-only"; NULL = not sent */
    struct ec2_strings group_ids;
    int8_t associate_public_ip; /* 1, 0, or -1 = not sent */
    int8_t primary_ipv6;        /* 1, 0, or -1 = not sent */
    bool send_card_index;
    int64_t ipv4_prefixes, ipv6_prefixes, ipv6_addresses; /* -1 = not sent */
    /* connection tracking, seconds, 0 = not sent */
    int64_t tcp_established_s, udp_stream_s, udp_s;
};

struct ec2_metadata_options {
    const char *http_endpoint, *http_tokens, *http_protocol_ipv6, *instance_metadata_tags;
    int64_t hop_limit; /* 0 = not sent */
};

struct ec2_create_template {
    const char *client_token;
    const char *name;
    struct ec2_tag_specs tags; /* of the template itself: "launch-template" */
    bool dry_run;

    /* LaunchTemplateData */
    const char *image_id;
    const char *user_data_b64;
    const char *instance_profile; /* IamInstanceProfile.Name */
    int8_t monitoring;            /* 1, 0, or -1 = not sent */
    const struct ec2_block_device *devices;
    size_t n_devices;
    struct ec2_metadata_options metadata;
    const struct ec2_interface *interfaces;
    size_t n_interfaces;
    const char *tenancy, *placement_group_id;
    int64_t partition;                  /* 0 = not sent */
    const char *reservation_preference; /* "none", "capacity-reservations-only" */
    const char *reservation_id;
    const char *market_type; /* NULL = not sent; never "spot": the fleet decides */
    const char *nested_virtualization;
    bool enclave;
    struct ec2_tag_specs data_tags; /* "network-interface", "spot-instances-request" */
};

struct ec2_template {
    const char *id, *name;
    int64_t created_wall_ns; /* 0 = unknown */
    struct ec2_tags tags;
};

struct ec2_templates {
    const struct ec2_template *v;
    size_t n;
    const char *next_token;
};

struct ec2_describe_templates {
    struct ec2_strings names, ids;
    struct ec2_filters filters;
    int64_t max_results;
    const char *next_token;
};

void ec2_encode_create_template(struct form *f, const struct ec2_create_template *req);
void ec2_encode_describe_templates(struct form *f, const struct ec2_describe_templates *req);
int ec2_parse_describe_templates(struct arena *a, const char *body, size_t n,
                                 struct ec2_templates *ret, struct err *reterr);
/* By name or, if name is NULL, by id. */
void ec2_encode_delete_template(struct form *f, const char *name, const char *id);

/* ---- instances ------------------------------------------------------------------------------- */

struct ec2_instance {
    const char *id, *image_id, *type;
    const char *state;           /* "pending", "running", "shutting-down", "terminated", … */
    const char *lifecycle;       /* NULL for on-demand */
    const char *spot_request_id; /* its presence means spot (as Karpenter) */
    const char *subnet_id, *vpc_id, *zone, *zone_id, *tenancy, *placement_group_id;
    const char *private_dns_name, *private_ip, *iam_profile_arn;
    const char *reservation_id, *reservation_preference;
    const char *client_token;
    const char *state_reason_code, *state_reason;
    int64_t partition;      /* 0 = none */
    int64_t launch_wall_ns; /* 0 = unknown */
    struct ec2_strings group_ids;
    struct ec2_strings interface_types; /* of its network interfaces */
    struct ec2_tags tags;
};

struct ec2_instances {
    const struct ec2_instance *v;
    size_t n;
    const char *next_token;
};

struct ec2_describe_instances {
    struct ec2_strings ids;
    struct ec2_filters filters;
    int64_t max_results; /* EC2 refuses it together with ids */
    const char *next_token;
};

void ec2_encode_describe_instances(struct form *f, const struct ec2_describe_instances *req);
int ec2_parse_describe_instances(struct arena *a, const char *body, size_t n,
                                 struct ec2_instances *ret, struct err *reterr);

/* One that EC2 finds fault with, or that an event is scheduled for. */
struct ec2_instance_status {
    const char *id;
    bool instance_bad, system_bad;              /* "impaired" */
    int64_t instance_since_ns, system_since_ns; /* wall, 0 = not told */
    struct ec2_strings events;                  /* codes of those that are still to come */
};

struct ec2_instance_statuses {
    const struct ec2_instance_status *v;
    size_t n;
    const char *next_token;
};

struct ec2_describe_status {
    struct ec2_filters filters;
    int64_t max_results;
    const char *next_token;
};

void ec2_encode_describe_status(struct form *f, const struct ec2_describe_status *req);
/* Events that are over are listed for days, their description begins with [Completed] or
 * [Canceled]: they are left out. */
int ec2_parse_describe_status(struct arena *a, const char *body, size_t n,
                              struct ec2_instance_statuses *ret, struct err *reterr);

void ec2_encode_terminate_instances(struct form *f, const struct ec2_strings *ids);

/* What the instance's serial console has shown, as EC2 keeps it for an hour after its end: text in
 * the arena, "" if there is nothing yet. */
void ec2_encode_console(struct form *f, const char *instance_id);
int ec2_parse_console(struct arena *a, const char *body, size_t n, const char **ret,
                      struct err *reterr);

void ec2_encode_create_tags(struct form *f, const struct ec2_strings *ids,
                            const struct ec2_tags *tags);
/* ERR_INVALID if EC2 said anything but true; without a word the status has said it. */
int ec2_parse_create_tags(struct arena *a, const char *body, size_t n, struct err *reterr);

/* ---- what a node class selects --------------------------------------------------------------- */

/* For DescribeSubnets, DescribeSecurityGroups, DescribeImages and DescribeCapacityReservations
 * alike.
 */
struct ec2_describe {
    struct ec2_strings ids, names; /* names: security groups only */
    struct ec2_strings owners;     /* images only */
    struct ec2_filters filters;
    int64_t max_results; /* EC2 refuses it together with ids */
    const char *next_token;
    bool include_deprecated; /* images only */
};

struct ec2_subnet {
    const char *id, *zone, *zone_id, *vpc_id;
    int64_t free_ips;
    bool map_public_ip;
    struct ec2_tags tags;
};

struct ec2_subnets {
    const struct ec2_subnet *v;
    size_t n;
    const char *next_token;
};

struct ec2_group {
    const char *id, *name, *vpc_id;
    struct ec2_tags tags;
};

struct ec2_groups {
    const struct ec2_group *v;
    size_t n;
    const char *next_token;
};

struct ec2_image {
    const char *id, *name, *owner_id, *architecture, *state;
    int64_t created_wall_ns;    /* 0 = unknown */
    int64_t deprecated_wall_ns; /* 0 = not deprecated */
    struct ec2_tags tags;
};

struct ec2_images {
    const struct ec2_image *v;
    size_t n;
    const char *next_token;
};

void ec2_encode_describe_subnets(struct form *f, const struct ec2_describe *req);
int ec2_parse_describe_subnets(struct arena *a, const char *body, size_t n, struct ec2_subnets *ret,
                               struct err *reterr);
void ec2_encode_describe_groups(struct form *f, const struct ec2_describe *req);
int ec2_parse_describe_groups(struct arena *a, const char *body, size_t n, struct ec2_groups *ret,
                              struct err *reterr);
void ec2_encode_describe_images(struct form *f, const struct ec2_describe *req);
int ec2_parse_describe_images(struct arena *a, const char *body, size_t n, struct ec2_images *ret,
                              struct err *reterr);

/* ---- capacity reservations ------------------------------------------------------------------- */

struct ec2_reservation {
    const char *id, *instance_type, *zone, *owner_id;
    const char *match;   /* "open", "targeted" */
    const char *kind;    /* "default", "capacity-block"; NULL = not said */
    int64_t available;   /* instances that can still be launched in it */
    int64_t end_wall_ns; /* 0 = without end */
    bool interruptible;
};

struct ec2_reservations {
    const struct ec2_reservation *v;
    size_t n;
    const char *next_token;
};

void ec2_encode_describe_reservations(struct form *f, const struct ec2_describe *req);
int ec2_parse_describe_reservations(struct arena *a, const char *body, size_t n,
                                    struct ec2_reservations *ret, struct err *reterr);

/* ---- where types are offered, and what spot costs -------------------------------------------- */

struct ec2_offering {
    const char *instance_type, *location;
};

struct ec2_offerings {
    const struct ec2_offering *v;
    size_t n;
    const char *next_token;
};

/* LocationType=availability-zone. filters may be NULL. */
void ec2_encode_describe_offerings(struct form *f, const struct ec2_filters *filters,
                                   int64_t max_results, const char *next_token);
int ec2_parse_describe_offerings(struct arena *a, const char *body, size_t n,
                                 struct ec2_offerings *ret, struct err *reterr);

struct ec2_describe_spot_prices {
    int64_t start_wall_ns;       /* the current prices: now */
    struct ec2_strings products; /* empty = the two names of Linux, as Karpenter */
    struct ec2_strings instance_types;
    struct ec2_filters filters;
    int64_t max_results;
    const char *next_token;
};

struct ec2_spot_price {
    const char *instance_type, *zone;
    int64_t price_pusd_h; /* exact */
    int64_t wall_ns;      /* since when */
};

struct ec2_spot_prices {
    const struct ec2_spot_price *v; /* rows without a readable, positive price are left out */
    size_t n;
    size_t n_skipped;
    const char *next_token;
};

void ec2_encode_describe_spot_prices(struct form *f, const struct ec2_describe_spot_prices *req);
int ec2_parse_describe_spot_prices(struct arena *a, const char *body, size_t n,
                                   struct ec2_spot_prices *ret, struct err *reterr);

#endif
