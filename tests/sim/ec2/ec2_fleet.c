/*
 * ec2_fleet.c - CreateFleet of type instant.
 *
 * Every override is a pool (type, zone). Pools are tried in order of price (or priority, when the
 * strategy says so), then type, zone and place in the request; what a pool has no stock for goes to
 * the next, and the refusal to errorSet. A refusal of all pools is an answer without instances, not
 * an error of the call, and is remembered under the ClientToken just as well.
 */
#include "ec2_priv.h"

#define CONFIGS_MAX 50
#define OVERRIDES_MAX 20000u
#define CAPACITY_MAX 1000

struct pool {
    struct simec2_template *tmpl;
    const char *type, *subnet_id, *zone_name, *image_id, *priority; /* as the request has them */
    int fact, zone;
    double rank; /* of a prioritized fleet */
    int64_t price;
    unsigned nth;
    const char *code, *message; /* why nothing comes from here */
    struct simec2_inst **insts;
    size_t n_insts;
};

struct fleet {
    bool spot, by_priority;
    int64_t target;
    struct pool *pools;
    size_t n_pools, cap_pools;
    char id[48];
    json_t *tags;
};

/* ---- reading -------------------------------------------------------------------------------- */

static bool strategy_ok(struct simec2_call *c, struct fleet *f)
{
    static const char *const spot[] = {"price-capacity-optimized", "capacity-optimized",
                                       "capacity-optimized-prioritized", "lowest-price",
                                       "diversified"};
    static const char *const on_demand[] = {"lowest-price", "prioritized"};
    const char *s = simec2_param(c, f->spot ? "SpotOptions.AllocationStrategy"
                                            : "OnDemandOptions.AllocationStrategy");
    const char *const *known = f->spot ? spot : on_demand;
    size_t n = f->spot ? ARRAY_LEN(spot) : ARRAY_LEN(on_demand), i = 0;
    while (s && i < n && !str_eq(known[i], s)) {
        i++;
    }
    if (i == n) {
        simec2_fail(c, "InvalidParameterValue", "Invalid AllocationStrategy '%s'", s);
        return false;
    }
    f->by_priority = s && str_ends(s, "prioritized");
    return true;
}

static bool read_target(struct simec2_call *c, struct fleet *f)
{
    const char *type = simec2_param(c, "Type");
    const char *total = simec2_param(c, "TargetCapacitySpecification.TotalTargetCapacity");
    const char *kind = simec2_param(c, "TargetCapacitySpecification.DefaultTargetCapacityType");
    if (!str_eq(type, "instant")) {
        simec2_fail(c, "UnsupportedOperation", "Here fleets are of type instant, not %s",
                    type ? type : "maintain");
        return false;
    }
    if (!total || !str_parse_i64(total, &f->target) || f->target < 1 || f->target > CAPACITY_MAX) {
        simec2_fail(c, "InvalidTargetCapacitySpecification",
                    "TotalTargetCapacity must lie in 1 to %d", CAPACITY_MAX);
        return false;
    }
    if (kind && !str_eq(kind, "spot") && !str_eq(kind, "on-demand")) {
        simec2_fail(c, "InvalidTargetCapacitySpecification",
                    "Invalid DefaultTargetCapacityType '%s'", kind);
        return false;
    }
    f->spot = str_eq(kind, "spot");
    return strategy_ok(c, f);
}

static void refuse(struct simec2_call *c, struct pool *p, const char *code, const char *message)
{
    p->code = code;
    p->message = arena_strdup(&c->mem, message);
}

/* Everything that makes a pool impossible, stock aside. */
static void check_pool(struct simec2_call *c, const struct fleet *f, struct pool *p)
{
    struct simec2 *e = c->e;
    const struct simec2_subnet *s = p->subnet_id ? simec2_subnet_find(e, p->subnet_id) : NULL;
    const char *image_id = p->image_id ? p->image_id : p->tmpl->image_id;
    const struct simec2_image *image = image_id ? simec2_image_find(e, image_id) : NULL;
    const char *zone = s ? s->zone : p->zone_name;
    p->fact = p->type ? ec2_find_fact(p->type) : -1;
    p->zone = zone ? simec2_zone_no(e, zone) : -1;
    if (p->subnet_id && !s) {
        refuse(c, p, "InvalidSubnetID.NotFound",
               arena_printf(&c->mem, "The subnet ID '%s' does not exist", p->subnet_id));
    } else if (p->zone < 0 || (s && p->zone_name && !str_eq(s->zone, p->zone_name))) {
        refuse(c, p, "InvalidFleetConfiguration",
               "The subnet and the Availability Zone do not belong together");
    } else if (p->fact < 0 || !simec2_offered(e, p->fact, (uint32_t)p->zone, f->spot)) {
        refuse(c, p, "InvalidFleetConfiguration",
               arena_printf(&c->mem,
                            "Your requested instance type (%s) is not supported in your requested "
                            "Availability Zone (%s).",
                            p->type ? p->type : "none", zone));
    } else if (!image) {
        refuse(
            c, p, "InvalidAMIID.NotFound",
            arena_printf(&c->mem, "The image id '[%s]' does not exist", image_id ? image_id : ""));
    } else if (str_eq(image->arch, "arm64") != str_eq(ec2_facts[p->fact].arch, "arm64")) {
        refuse(c, p, "InvalidParameterValue",
               "The architecture of the specified instance type does not match the architecture "
               "of the specified AMI.");
    } else {
        p->price = simec2_offer_price(e, p->fact, (uint32_t)p->zone, f->spot);
    }
}

static bool read_override(struct simec2_call *c, struct fleet *f, struct simec2_template *t,
                          const char *prefix)
{
    if (f->n_pools >= OVERRIDES_MAX) {
        simec2_fail(c, "InvalidParameterValue", "There are more than %u overrides", OVERRIDES_MAX);
        return false;
    }
    struct pool p = {.tmpl = t, .nth = (unsigned)f->n_pools};
    p.type = simec2_param(c, "%sInstanceType", prefix);
    p.type = p.type ? p.type : t->instance_type;
    p.subnet_id = simec2_param(c, "%sSubnetId", prefix);
    p.zone_name = simec2_param(c, "%sAvailabilityZone", prefix);
    p.image_id = simec2_param(c, "%sImageId", prefix);
    p.priority = simec2_param(c, "%sPriority", prefix);
    if (p.priority && (!str_parse_f64(p.priority, &p.rank) || p.rank < 0)) {
        simec2_fail(c, "InvalidParameterValue", "Invalid Priority '%s'", p.priority);
        return false;
    }
    check_pool(c, f, &p);
    ARENA_GROW(&c->mem, f->pools, f->n_pools, f->cap_pools);
    f->pools[f->n_pools++] = p;
    return true;
}

static bool read_config(struct simec2_call *c, struct fleet *f, int n)
{
    char prefix[96];
    snprintf(prefix, sizeof(prefix), "LaunchTemplateConfigs.%d.LaunchTemplateSpecification.", n);
    struct simec2_template *t = simec2_template_named(c, prefix);
    if (!t) {
        return false;
    }
    for (int k = 1;; k++) {
        snprintf(prefix, sizeof(prefix), "LaunchTemplateConfigs.%d.Overrides.%d.", n, k);
        if (!simec2_param_any(c, "%s", prefix)) {
            break;
        }
        if (!read_override(c, f, t, prefix)) {
            return false;
        }
    }
    return true;
}

static bool read_fleet(struct simec2_call *c, struct fleet *f)
{
    if (!read_target(c, f)) {
        return false;
    }
    int n = 1;
    for (; simec2_param_any(c, "LaunchTemplateConfigs.%d.", n); n++) {
        if (n > CONFIGS_MAX) {
            simec2_fail(c, "InvalidParameterValue", "There are more than %d LaunchTemplateConfigs",
                        CONFIGS_MAX);
            return false;
        }
        if (!read_config(c, f, n)) {
            return false;
        }
    }
    if (f->n_pools == 0) {
        simec2_fail(c, "MissingParameter",
                    "The request must contain the parameter LaunchTemplateConfigs.1.Overrides");
        return false;
    }
    simec2_tag_specs(c, "", "instance", f->tags);
    return true;
}

/* ---- allocation ----------------------------------------------------------------------------- */

static int cmp_i64(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int pool_cmp(const void *a, const void *b)
{
    const struct pool *x = a, *y = b;
    int by_rank = (x->rank > y->rank) - (x->rank < y->rank);
    int r = by_rank ? by_rank : cmp_i64(x->price, y->price);
    r = r ? r : str_cmp(x->type, y->type);
    r = r ? r : x->zone - y->zone;
    return r ? r : (int)x->nth - (int)y->nth;
}

static void sold_out(struct simec2_call *c, const struct fleet *f, struct pool *p)
{
    if (f->spot) {
        refuse(c, p, "UnfulfillableCapacity",
               "Unable to fulfill capacity due to your request configuration. Please adjust your "
               "request and try again.");
        return;
    }
    refuse(c, p, "InsufficientInstanceCapacity",
           arena_printf(&c->mem,
                        "We currently do not have sufficient %s capacity in the Availability Zone "
                        "you requested (%s).",
                        p->type, c->e->zones[p->zone]));
}

static struct simec2_inst *launch_one(struct simec2_call *c, struct fleet *f, struct pool *p)
{
    struct simec2 *e = c->e;
    struct simec2_subnet *subnet = &e->subnets[p->zone];
    const char *reservation, *why = "";
    const char *code =
        simec2_account_refuses(e, p->tmpl, p->fact, (uint32_t)p->zone, f->spot, &reservation, &why);
    if (code) {
        refuse(c, p, code, why);
        return NULL;
    }
    if (!reservation && !simec2_in_stock(e, p->fact, (uint32_t)p->zone, f->spot)) {
        sold_out(c, f, p);
        return NULL;
    }
    if (subnet->free_ips <= 0) {
        refuse(c, p, "InsufficientFreeAddressesInSubnet",
               arena_printf(&c->mem, "There are not enough free addresses in subnet '%s'",
                            subnet->id));
        return NULL;
    }
    const struct simec2_launch l = {.fact = p->fact,
                                    .zone_no = (uint32_t)p->zone,
                                    .spot = f->spot,
                                    .tmpl = p->tmpl,
                                    .image_id = p->image_id,
                                    .fleet_id = f->id,
                                    .reservation_id = reservation,
                                    .tags = f->tags,
                                    .boot_in_ns = e->opts.fleet_ns + e->opts.boot_ns};
    struct simec2_inst *x = simec2_launch(e, &l);
    if (!x) {
        refuse(c, p, f->spot ? "MaxSpotInstanceCountExceeded" : "VcpuLimitExceeded",
               "This account cannot hold more instances");
        return NULL;
    }
    if (!reservation) {
        simec2_stock_take(e, p->fact, (uint32_t)p->zone, f->spot);
    }
    return x;
}

/* Fills the target pool by pool. With a fault every pool refuses. */
static void allocate(struct simec2_call *c, struct fleet *f)
{
    const struct simec2_fault *fault = simec2_item_fault(c);
    int64_t left = f->target;
    qsort(f->pools, f->n_pools, sizeof(*f->pools), pool_cmp);
    for (size_t i = 0; i < f->n_pools && left > 0; i++) {
        struct pool *p = &f->pools[i];
        size_t cap = 0;
        if (!p->code && fault) {
            refuse(c, p, fault->code, "Injected");
        }
        while (!p->code && left > 0) {
            struct simec2_inst *x = launch_one(c, f, p);
            if (x) {
                ARENA_GROW(&c->mem, p->insts, p->n_insts, cap);
                p->insts[p->n_insts++] = x;
                left--;
            }
        }
    }
}

/* ---- answer --------------------------------------------------------------------------------- */

static void write_pool(struct simec2_call *c, const struct fleet *f, const struct pool *p)
{
    struct buf *b = &c->out;
    put_open(b, "launchTemplateAndOverrides");
    put_open(b, "launchTemplateSpecification");
    put_str(b, "launchTemplateId", p->tmpl->id);
    put_str(b, "version", "1");
    put_close(b, "launchTemplateSpecification");
    put_open(b, "overrides");
    put_str(b, "instanceType", p->type);
    put_str(b, "subnetId", p->subnet_id);
    put_str(b, "availabilityZone",
            p->zone_name || p->zone < 0 ? p->zone_name : c->e->zones[p->zone]);
    put_str(b, "priority", p->priority);
    put_str(b, "imageId", p->image_id);
    put_close(b, "overrides");
    put_close(b, "launchTemplateAndOverrides");
    put_str(b, "lifecycle", f->spot ? "spot" : "on-demand");
}

static void write_error(struct simec2_call *c, const struct fleet *f, const struct pool *p)
{
    put_open(&c->out, "item");
    write_pool(c, f, p);
    put_str(&c->out, "errorCode", p->code);
    put_str(&c->out, "errorMessage", p->message);
    put_close(&c->out, "item");
}

static void write_instances(struct simec2_call *c, const struct fleet *f, const struct pool *p)
{
    put_open(&c->out, "item");
    write_pool(c, f, p);
    put_open(&c->out, "instanceIds");
    for (size_t i = 0; i < p->n_insts; i++) {
        put_str(&c->out, "item", p->insts[i]->pub.id);
    }
    put_close(&c->out, "instanceIds");
    put_str(&c->out, "instanceType", p->type);
    put_close(&c->out, "item");
}

static void write_fleet(struct simec2_call *c, const struct fleet *f)
{
    simec2_xml_begin(c);
    put_str(&c->out, "fleetId", f->id);
    put_open(&c->out, "errorSet");
    for (size_t i = 0; i < f->n_pools; i++) {
        if (f->pools[i].code) {
            write_error(c, f, &f->pools[i]);
        }
    }
    put_close(&c->out, "errorSet");
    put_open(&c->out, "fleetInstanceSet");
    for (size_t i = 0; i < f->n_pools; i++) {
        if (f->pools[i].n_insts > 0) {
            write_instances(c, f, &f->pools[i]);
        }
    }
    put_close(&c->out, "fleetInstanceSet");
    simec2_xml_end(c);
}

void simec2_create_fleet(struct simec2_call *c)
{
    const char *token = simec2_param(c, "ClientToken");
    c->delay_ns = c->e->opts.fleet_ns;
    if (simec2_token_check(c, token) != 0) {
        return;
    }
    struct fleet f = {.tags = json_object()};
    if (read_fleet(c, &f)) {
        if (simec2_param_bool(c, "DryRun")) {
            simec2_fail(c, "DryRunOperation",
                        "Request would have succeeded, but DryRun flag is set.");
        } else {
            char id[32];
            simec2_id(c->e, "fleet", id);
            str_copy(f.id, sizeof(f.id), id);
            allocate(c, &f);
            write_fleet(c, &f);
            simec2_token_keep(c, token);
        }
    }
    json_decref(f.tags);
    if (c->status != 0) {
        c->delay_ns = 0; /* refusals come at once */
    }
}

/* ---- faults --------------------------------------------------------------------------------- */

bool simec2_is_item_code(const char *code)
{
    static const char *const codes[] = {
        "InsufficientInstanceCapacity",
        "UnfulfillableCapacity",
        "MaxSpotInstanceCountExceeded",
        "VcpuLimitExceeded",
        "Unsupported",
        "InsufficientFreeAddressesInSubnet",
        "MaxFleetCountExceeded",
        "ReservationCapacityExceeded",
        "AuthFailure.ServiceLinkedRoleCreationNotPermitted",
        "InvalidFleetConfiguration",
    };
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        if (str_eq(codes[i], code)) {
            return true;
        }
    }
    return false;
}

const struct simec2_fault *simec2_item_fault(const struct simec2_call *c)
{
    bool item = c->fault->kind == SIMEC2_ERROR && str_eq(c->action->name, "CreateFleet") &&
                simec2_is_item_code(c->fault->code);
    return item ? c->fault : NULL;
}
