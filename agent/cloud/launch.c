/*
 * launch.c - one launch: plan, templates, CreateFleet, and what its answer means.
 *
 * One call of cloud_launch is one attempt with one ClientToken; if EC2 says that a template is gone
 * the same attempt is asked once more, with the same token and the same parameters.
 */
#include "agent/work/metrics.h"
#include "cloud_int.h"
#include "common/base/alloc.h"
#include "common/base/str.h"

struct launch {
    struct job j;
    cloud_launch_fn done;
    void *arg;
    struct market *market; /* held */
    struct launch_ask ask;
    char token[LAUNCH_TOKEN_CHARS + 1];
    bool efa_wanted;
    bool again; /* templates were found missing once */
    /* an outcome that needs no answer */
    enum launch_outcome outcome;
    char reason[64], message[304];
};

static void launch_drop(struct job *j)
{
    struct launch *l = (struct launch *)j;
    if (l->market) {
        market_unref(j->c, l->market);
    }
}

static const char *error_name(const struct launch_result *r)
{
    return r->outcome == LAUNCH_NO_CAPACITY         ? "InsufficientCapacityError"
           : str_eq(r->reason, "NodeClassNotReady") ? "NodeClassNotReadyError"
                                                    : "";
}

static void deliver(struct launch *l, const struct launch_result *r)
{
    calls_note(l->j.c, "Create", l->j.began_ns, r->outcome != LAUNCH_OK, error_name(r));
    l->done(l->arg, r);
    job_end(&l->j);
}

static void deliver_kept(struct job *j)
{
    struct launch *l = (struct launch *)j;
    struct launch_result r = {.outcome = l->outcome};
    str_copy(r.reason, sizeof(r.reason), l->reason);
    str_copy(r.message, sizeof(r.message), l->message);
    deliver(l, &r);
}

/* In a later turn. */
static void end_with(struct launch *l, enum launch_outcome outcome, const char *reason,
                     const char *message)
{
    l->outcome = outcome;
    str_copy(l->reason, sizeof(l->reason), reason);
    str_copy(l->message, sizeof(l->message), message);
    job_later(&l->j, 0, deliver_kept);
}

/* ---- stock --------------------------------------------------------------------------------------
 */

static void count_failure(struct cloud *c, const char *zone, const char *zone_id,
                          enum capacity_type ct, const char *code)
{
    struct metric_family *f =
        metrics_family(c->rt->metrics, "karpenter_cloudprovider_instance_launch_failures_total",
                       "Offerings that EC2 refused to launch, by its error code.", METRIC_COUNTER,
                       LABELS("zone", "zone_id", "capacity_type", "reason"), NULL, 0);
    metric_add(f,
               LABELS(zone ? zone : "", zone_id ? zone_id : "",
                      sym_str(c->rt->syms, capacity_type_sym(ct)), code ? code : ""),
               1);
}

static const char *zone_of_subnet(const struct launch *l, const char *subnet_id)
{
    for (uint32_t i = 0; subnet_id && i < l->market->n_subnets; i++) {
        const struct market_subnet *s = &l->market->subnets[i];
        if (s->zone >= 0 && str_eq(s->id, subnet_id)) {
            sym zone = catalog_zone(l->market->catalog, (uint32_t)s->zone);
            return sym_str(l->j.c->rt->syms, zone);
        }
    }
    return NULL;
}

static const char *zone_of(const struct launch *l, const struct ec2_fleet_choice *o)
{
    return o->zone ? o->zone : zone_of_subnet(l, o->subnet_id);
}

static bool asks_for(const struct ec2_fleet_config *f, const char *type, const char *zone)
{
    for (size_t i = 0; i < f->n_overrides; i++) {
        if (str_eq(f->overrides[i].instance_type, type) && str_eq(f->overrides[i].zone, zone)) {
            return true;
        }
    }
    return false;
}

/* Of a type and zone at most one is asked for (EC2 need not name templates as we do); NULL: none,
 * or EC2 does not say which. */
static const struct reservation *reservation_of(const struct launch *l,
                                                const struct ec2_fleet_choice *o)
{
    const char *zone = zone_of(l, o);
    for (uint32_t i = 0; i < l->ask.n; i++) {
        bool it = l->ask.n == 1 || asks_for(&l->ask.configs[i], o->instance_type, zone);
        if (it && l->ask.reservations[i].id != SYM_NONE) {
            return &l->ask.reservations[i];
        }
    }
    return NULL;
}

/* EC2 refused: what one has left is not known until EC2 tells again. */
static void mark_reserved(struct launch *l, const struct reservation *r)
{
    struct cloud *c = l->j.c;
    for (uint32_t i = 0; i < l->ask.n; i++) {
        const struct reservation *one = &l->ask.reservations[i];
        if (one->id != SYM_NONE && (!r || r->id == one->id)) {
            reserve_empty(c, sym_str(c->rt->syms, one->id));
        }
    }
}

/* EC2 did not say which: all that was asked for. */
static void mark_all(struct launch *l, const char *code)
{
    if (l->ask.ct == CT_RESERVED) {
        mark_reserved(l, NULL);
        return;
    }
    for (uint32_t i = 0; i < l->ask.n; i++) {
        for (size_t k = 0; k < l->ask.configs[i].n_overrides; k++) {
            const struct ec2_override *o = &l->ask.configs[i].overrides[k];
            stock_mark(l->j.c, l->ask.ct, o->instance_type, o->zone, code);
        }
    }
}

static void subnet_is_full(struct launch *l, const char *subnet_id)
{
    struct class_entry *e = class_entry(l->j.c, l->ask.cls);
    for (uint32_t i = 0; e && i < e->res.n_subnets; i++) {
        if (str_eq(e->res.subnets[i].id, subnet_id)) {
            e->res.subnets[i].free_ips = 0;
        }
    }
    stock_mark_subnet(l->j.c, subnet_id);
}

static void mark(struct launch *l, const struct ec2_fleet_error *e)
{
    struct cloud *c = l->j.c;
    const char *zone = zone_of(l, &e->choice);
    count_failure(c, zone, e->choice.zone_id, l->ask.ct, e->code);
    if (!launch_unfulfillable(e->code, e->message)) {
        return;
    }
    if (l->ask.ct == CT_RESERVED && !str_eq(e->code, CODE_SUBNET_FULL)) {
        mark_reserved(l, reservation_of(l, &e->choice));
    } else if (str_eq(e->code, CODE_SPOT_ROLE)) {
        stock_mark(c, CT_SPOT, "*", "*", e->code);
    } else if (str_eq(e->code, CODE_SUBNET_FULL) && e->choice.subnet_id) {
        subnet_is_full(l, e->choice.subnet_id);
    } else if (stock_is_quota(e->code) && ec2_find_fact(e->choice.instance_type) >= 0) {
        stock_mark_quota(c, l->ask.ct, &ec2_facts[ec2_find_fact(e->choice.instance_type)], e->code);
    } else if (e->choice.instance_type && zone) {
        stock_mark(c, l->ask.ct, e->choice.instance_type, zone, e->code);
    } else {
        mark_all(l, e->code);
    }
}

/* ---- the answer ------------------------------------------------------------------------------ */

/* The catalog's view of a type, in the shape of a result. */
static void describe_type(const struct cloud *c, const struct market *m, const char *type,
                          bool efa_wanted, struct launch_result *r)
{
    int t = catalog_find_type(m->catalog, sym_find(c->rt->syms, type));
    if (t < 0) {
        return;
    }
    r->capacity = *catalog_capacity(m->catalog, (uint32_t)t);
    r->allocatable = *catalog_allocatable(m->catalog, (uint32_t)t);
    r->catalog = m->catalog;
    r->type = (uint32_t)t;
    if (!efa_wanted) {
        r->capacity.v[RES_EFA] = r->allocatable.v[RES_EFA] = 0;
    }
}

/* Until EC2 counts anew: what pods will take of the subnet. */
static void take_addresses(struct launch *l, const char *subnet_id, int64_t pods)
{
    struct class_entry *e = class_entry(l->j.c, l->ask.cls);
    for (uint32_t i = 0; e && i < e->res.n_subnets; i++) {
        struct res_subnet *s = &e->res.subnets[i];
        if (str_eq(s->id, subnet_id)) {
            s->free_ips = s->free_ips > pods ? s->free_ips - pods : 0;
        }
    }
}

static void launched(struct launch *l, const struct ec2_fleet_instances *f)
{
    struct cloud *c = l->j.c;
    struct launch_result r = {.outcome = LAUNCH_OK, .answered = true};
    const char *zone = zone_of(l, &f->choice);
    const char *type = f->instance_type ? f->instance_type : f->choice.instance_type;
    int z = catalog_find_zone(l->market->catalog, sym_find(c->rt->syms, zone));
    sym zone_id = z >= 0 ? catalog_zone_id(l->market->catalog, (uint32_t)z) : SYM_NONE;
    r.instance = (struct instance){.id = f->ids.v[0],
                                   .type = type ? type : "",
                                   .zone = zone ? zone : "",
                                   .zone_id = sym_str(c->rt->syms, zone_id),
                                   .image_id = f->choice.image_id ? f->choice.image_id : "",
                                   .subnet_id = f->choice.subnet_id ? f->choice.subnet_id : "",
                                   .state = "pending",
                                   .ct = l->ask.ct,
                                   .launched_ns = cloud_wall(c)};
    const struct reservation *in = reservation_of(l, &f->choice);
    if (in) {
        r.instance.reservation_id = sym_str(c->rt->syms, in->id);
        r.instance.reservation_kind = sym_str(c->rt->syms, in->kind);
        r.instance.interruptible = in->interruptible;
        reserve_take(c, r.instance.reservation_id);
    }
    describe_type(c, l->market, r.instance.type, l->efa_wanted, &r);
    take_addresses(l, r.instance.subnet_id, r.capacity.v[RES_PODS]);
    instance_launched(c, r.instance.id);
    deliver(l, &r);
}

/* Each different error once, until the room is full. */
static void put_errors(const struct ec2_fleet *fleet, char *dst, size_t size)
{
    size_t at = 0;
    dst[0] = '\0';
    for (size_t i = 0; i < fleet->n_errors; i++) {
        const struct ec2_fleet_error *e = &fleet->errors[i];
        char one[304];
        snprintf(one, sizeof(one), "%s: %.200s", e->code ? e->code : "error",
                 e->message ? e->message : "");
        if (str_contains(dst, one) || at + strlen(one) + 3 > size) {
            continue;
        }
        int n = snprintf(dst + at, size - at, "%s%s", at ? "; " : "", one);
        at += n > 0 ? (size_t)n : 0;
    }
}

/* The error that is no shortage, by which the whole is named; NULL if all are shortages. */
static const struct ec2_fleet_error *refusal(const struct ec2_fleet *fleet)
{
    for (size_t i = 0; i < fleet->n_errors; i++) {
        const struct ec2_fleet_error *e = &fleet->errors[i];
        if (!launch_unfulfillable(e->code, e->message)) {
            return e;
        }
    }
    return NULL;
}

static void not_launched(struct launch *l, const struct ec2_fleet *fleet)
{
    struct launch_result r = {
        .outcome = LAUNCH_NO_CAPACITY, .answered = true, .reason = "InsufficientCapacityError"};
    const struct ec2_fleet_error *e = refusal(fleet);
    put_errors(fleet, r.message, sizeof(r.message));
    if (e) {
        struct err err = ERR_INIT;
        char text[512];
        snprintf(text, sizeof(text), "%s: %s", e->code ? e->code : "",
                 e->message ? e->message : "");
        err_set(&err, aws_code_kind(e->code, 0), "%s", text);
        instance_note_call(l->j.c, true, &err);
        r.outcome = LAUNCH_REFUSED;
        str_copy(r.reason, sizeof(r.reason), launch_reason(text));
    }
    if (fleet->n_errors == 0) {
        mark_all(l, "UnfulfillableCapacity");
        str_copy(r.message, sizeof(r.message), "EC2 launched nothing and did not say why");
    }
    deliver(l, &r);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static void ask_templates(struct launch *l);

static void call_failed(struct launch *l, const struct aws_result *res, const struct err *err)
{
    struct launch_result r = {.outcome = LAUNCH_REFUSED};
    char text[600];
    snprintf(text, sizeof(text), "%s %s", err->code, err->msg);
    if (err->kind != ERR_CANCELLED) { /* not only CreateFleet: without templates nothing launches */
        instance_note_call(l->j.c, true, err);
    }
    if (err->kind == ERR_NOT_FOUND && str_starts(err->code, "InvalidLaunchTemplate") && !l->again) {
        l->again = true;
        for (uint32_t i = 0; i < l->ask.n; i++) {
            templates_forget(l->j.c, l->ask.templates[i].name);
        }
        ask_templates(l);
        return;
    }
    /* First: an attempt before the one that this error is of may have made an instance. */
    if (res->unknown || str_eq(err->code, "IdempotentParameterMismatch")) {
        r.outcome = LAUNCH_UNKNOWN;
        str_copy(r.reason, sizeof(r.reason), "LaunchUnknown");
    } else if (err->kind == ERR_CANCELLED) {
        r.outcome = LAUNCH_NOT_READY;
        str_copy(r.reason, sizeof(r.reason), "NotLeader");
    } else if (launch_unfulfillable(err->code, err->msg)) {
        r.outcome = LAUNCH_NO_CAPACITY;
        str_copy(r.reason, sizeof(r.reason), "InsufficientCapacityError");
        mark_all(l, err->code);
    } else {
        str_copy(r.reason, sizeof(r.reason), launch_reason(text));
    }
    str_copy(r.message, sizeof(r.message), err->msg);
    deliver(l, &r);
}

static void on_fleet(struct job *j, void *ctx UNUSED, const struct aws_result *res)
{
    struct launch *l = (struct launch *)j;
    struct ec2_fleet fleet;
    struct aws_result copy = *res;
    if (copy.err.kind != ERR_CANCELLED) {
        instance_note_call(j->c, true, &copy.err);
    }
    if (copy.err.kind == ERR_NONE &&
        ec2_parse_create_fleet(&j->mem, res->body, res->body_n, &fleet, &copy.err) < 0) {
        copy.unknown = true; /* it happened, but what? */
    }
    if (copy.err.kind != ERR_NONE) {
        call_failed(l, &copy, &copy.err);
        return;
    }
    for (uint32_t i = 0; i < l->ask.n; i++) {
        templates_used(j->c, l->ask.templates[i].name);
    }
    for (size_t i = 0; i < fleet.n_errors; i++) {
        mark(l, &fleet.errors[i]);
    }
    for (size_t i = 0; i < fleet.n_instances; i++) {
        if (fleet.instances[i].ids.n > 0) {
            launched(l, &fleet.instances[i]);
            return;
        }
    }
    not_launched(l, &fleet);
}

/* What the launch is of, in CreateFleet's words; all reservations of one launch are of one kind. */
static const char *target_type(const struct launch *l)
{
    const struct reservation *r = &l->ask.reservations[0];
    if (l->ask.ct != CT_RESERVED) {
        return l->ask.ct == CT_SPOT ? "spot" : "on-demand";
    }
    return r->interruptible                                               ? "reserved-capacity"
           : str_eq(sym_str(l->j.c->rt->syms, r->kind), "capacity-block") ? "capacity-block"
                                                                          : "on-demand";
}

static void ask_fleet(struct launch *l)
{
    AUTO_FORM struct form f = {0};
    static const char *const interruptible[] = {"interruptible-capacity-reservation"};
    const char *target = target_type(l);
    bool spot = l->ask.ct == CT_SPOT, on_demand = str_eq(target, "on-demand");
    const struct ec2_tag_spec specs[] = {
        {"instance", l->ask.instance_tags}, {"volume", l->ask.tags}, {"fleet", l->ask.tags}};
    const struct ec2_create_fleet req = {
        .client_token = l->token,
        .context = l->ask.context,
        .target_type = target,
        .target_capacity = 1,
        .spot_strategy = spot ? "price-capacity-optimized" : NULL,
        .on_demand_strategy = on_demand ? "lowest-price" : NULL,
        .reservation_types = {interruptible, str_eq(target, "reserved-capacity") ? 1 : 0},
        .configs = l->ask.configs,
        .n_configs = l->ask.n,
        .tags = {specs, ARRAY_LEN(specs)},
    };
    ec2_encode_create_fleet(&f, &req);
    job_aws_form(&l->j, "ec2", &f, true, on_fleet, NULL);
}

static void on_templates(struct job *j, const struct err *err)
{
    struct launch *l = (struct launch *)j;
    if (err->kind == ERR_NONE) {
        ask_fleet(l);
        return;
    }
    /* Nothing was launched, whatever became of the templates. */
    char text[600];
    snprintf(text, sizeof(text), "%s %s", err->code, err->msg);
    if (err->kind == ERR_CANCELLED) {
        end_with(l, LAUNCH_NOT_READY, "NotLeader", err->msg);
    } else {
        end_with(l, LAUNCH_REFUSED, launch_reason(text), err->msg);
    }
}

static void ask_templates_again(struct job *j)
{
    ask_templates((struct launch *)j);
}

/* A hundred claims of one pool make sure of the same templates: one asks, the others wait. */
static void ask_templates(struct launch *l)
{
    if (templates_asked(l->j.c, l->ask.templates, l->ask.n)) {
        job_later(&l->j, TEMPLATE_WAIT_NS, ask_templates_again);
        return;
    }
    templates_ensure(&l->j, l->ask.templates, l->ask.n, on_templates);
}

/* ---- the question ---------------------------------------------------------------------------- */

/* The class if it can be used now; else the launch has ended. */
static const struct nodeclass *usable_class(struct launch *l, const struct nodeclaim *nc)
{
    struct cloud *c = l->j.c;
    const struct nodeclass *cls = store_class(c->rt->store, nc->class_ref.name);
    const char *why;
    bool unknown;
    char text[304];
    if (!cls || cls->m.deleted_ns) {
        snprintf(text, sizeof(text), "EC2NodeClass %s %s", nc->class_ref.name,
                 cls ? "is being deleted" : "does not exist");
        end_with(l, LAUNCH_NO_CAPACITY, "InsufficientCapacityError", text);
    } else if (!class_usable(cls, &why, &unknown)) {
        end_with(l, LAUNCH_NOT_READY, unknown ? "NodeClassReadinessUnknown" : "NodeClassNotReady",
                 why);
    } else if (cls->unknown_field) {
        end_with(l, LAUNCH_NOT_READY, "NodeClassNotReady", cls->unknown_field);
    } else if (!cloud_ready(c) || !c->rt->cluster_uid || !class_entry(c, cls->m.name)) {
        end_with(l, LAUNCH_NOT_READY, "CloudNotReady", "EC2's facts are not there yet");
    } else {
        return cls;
    }
    return NULL;
}

static void prepare(struct launch *l, const struct nodeclaim *nc, const struct nodeclass *cls)
{
    struct cloud *c = l->j.c;
    struct err err = ERR_INIT;
    struct market *m = market_of(c, cls, &err);
    if (!m) {
        end_with(l, LAUNCH_NOT_READY, "CloudNotReady", err.msg);
        return;
    }
    l->market = market_ref(m);
    const struct plan_in in = {.syms = c->rt->syms,
                               .catalog = m->catalog,
                               .offerings = m->offerings,
                               .reqs = &nc->reqs,
                               .requests = &nc->requests,
                               .max_types = PLAN_TYPES_MAX};
    struct plan plan;
    plan_make(&l->j.mem, &in, &plan);
    if (plan.n_types > 0 && launch_ask_build(c, &l->j.mem, nc, cls, m, &plan, &l->ask, &err) < 0) {
        end_with(l, LAUNCH_REFUSED, launch_reason(err.msg), err.msg);
        return;
    }
    if (plan.n_types == 0 || l->ask.n == 0) {
        end_with(l, LAUNCH_NO_CAPACITY, "InsufficientCapacityError",
                 "all requested instance types were unavailable during launch");
        return;
    }
    if (plan.ct == CT_ON_DEMAND && plan.spot_allowed && plan.n_types < PLAN_MIN_FLEXIBLE) {
        log_info(c->rt->log, "few instance types are left for falling back to on-demand",
                 "NodeClaim", nc->m.name, "types", log_n(plan.n_types));
    }
    l->efa_wanted = nc->requests.v[RES_EFA] > 0;
    ask_templates(l);
}

void cloud_launch(struct cloud *c, const struct nodeclaim *nc, int64_t attempt,
                  cloud_launch_fn done, void *arg)
{
    struct launch *l = job_new(c, sizeof(*l), launch_drop);
    l->done = done;
    l->arg = arg;
    launch_token(nc->m.uid, attempt, l->token);
    const struct nodeclass *cls = usable_class(l, nc);
    if (cls) {
        prepare(l, nc, cls);
    }
}

/* ---- an instance found by tag ---------------------------------------------------------------- */

void cloud_describe_launch(struct cloud *c, const struct nodeclaim *nc, const struct instance *i,
                           struct launch_result *ret)
{
    struct err err = ERR_INIT;
    const struct nodeclass *cls = store_class(c->rt->store, nc->class_ref.name);
    struct market *m = cls ? market_of(c, cls, &err) : NULL;
    *ret = (struct launch_result){.outcome = LAUNCH_OK, .answered = true, .instance = *i};
    int fact = ec2_find_fact(i->type);
    if (m) {
        describe_type(c, m, i->type, nc->requests.v[RES_EFA] > 0, ret);
    } else if (fact >= 0) {
        struct ec2_class ec;
        ec2_class_default(&ec);
        ret->capacity = ec2_capacity(&ec2_facts[fact], &ec);
        ret->allocatable = ec2_allocatable(c->rt->syms, &ec2_facts[fact], &ec, &ret->capacity);
    }
}
