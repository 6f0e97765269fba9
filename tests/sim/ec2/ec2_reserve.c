/*
 * ec2_reserve.c - what an account has set aside or is limited to: capacity reservations, placement
 * groups, vCPU quotas. All three by steps; there are none at the start.
 *
 * On-demand launches use reservations as the launch template says: with a target that one and
 * nothing else, with preference `none` none, with `capacity-reservations-only` an open one, else an
 * open one if it has room. What runs in one needs no stock. A spread group takes 7 instances per
 * zone, a cluster group stays in the zone of its first one. Quotas count pending and running
 * instances, foreign ones too.
 */
#include "ec2_priv.h"

#define RESERVATIONS_MAX 1000u
#define GROUPS_MAX 1000u
#define SPREAD_MAX 7u

/* ---- looking -------------------------------------------------------------------------------- */

static struct simec2_reservation *reservation_find(const struct simec2 *e, const char *id)
{
    for (size_t i = 0; i < e->n_reservations; i++) {
        if (str_eq(e->reservations[i].id, id)) {
            return &e->reservations[i];
        }
    }
    return NULL;
}

static struct simec2_pgroup *pgroup_find(const struct simec2 *e, const char *id_or_name)
{
    for (size_t i = 0; i < e->n_pgroups; i++) {
        if (str_eq(e->pgroups[i].id, id_or_name) || str_eq(e->pgroups[i].name, id_or_name)) {
            return &e->pgroups[i];
        }
    }
    return NULL;
}

static bool is_active(const struct simec2 *e, const struct simec2_reservation *r)
{
    return r->end_ns == 0 || simec2_wall(e) < r->end_ns;
}

static int64_t room_in(const struct simec2 *e, const struct simec2_reservation *r)
{
    int64_t used = 0;
    for (size_t i = 0; i < e->n_insts; i++) {
        used += simec2_inst_alive(e->insts[i]) && str_eq(e->insts[i]->reservation_id, r->id);
    }
    return r->total > used ? r->total - used : 0;
}

static bool fits(const struct simec2_reservation *r, int fact, uint32_t zone)
{
    return r->fact == fact && r->zone_no == zone;
}

/* The first open one of the type and zone with room. */
static const struct simec2_reservation *open_one(const struct simec2 *e, int fact, uint32_t zone)
{
    for (size_t i = 0; i < e->n_reservations; i++) {
        const struct simec2_reservation *r = &e->reservations[i];
        if (r->open && fits(r, fact, zone) && is_active(e, r) && room_in(e, r) > 0) {
            return r;
        }
    }
    return NULL;
}

/* ---- launching ------------------------------------------------------------------------------ */

bool simec2_over_quota(const struct simec2 *e, int fact, bool spot)
{
    int64_t used = 0;
    for (size_t i = 0; i < e->n_insts; i++) {
        const struct simec2_inst *x = e->insts[i];
        used += simec2_inst_alive(x) && x->pub.spot == spot ? ec2_facts[x->fact].vcpus : 0;
    }
    return e->quota[spot] && used + ec2_facts[fact].vcpus > e->quota[spot];
}

static const char *group_refuses(const struct simec2 *e, const struct simec2_template *t,
                                 uint32_t zone, const char **ret_why)
{
    const struct simec2_pgroup *g = pgroup_find(e, t->group_id);
    size_t here = 0, elsewhere = 0;
    for (size_t i = 0; i < e->n_insts; i++) {
        const struct simec2_inst *x = e->insts[i];
        bool of_it = simec2_inst_alive(x) && x->tmpl && str_eq(x->tmpl->group_id, t->group_id);
        here += of_it && x->zone_no == zone;
        elsewhere += of_it && x->zone_no != zone;
    }
    if (!g) {
        *ret_why = "The placement group is unknown.";
        return "InvalidPlacementGroup.Unknown";
    }
    if (str_eq(g->strategy, "spread") && here >= SPREAD_MAX) {
        *ret_why = "The limit of instances in this spread placement group is reached in this "
                   "Availability Zone.";
        return "InsufficientInstanceCapacity";
    }
    if (str_eq(g->strategy, "cluster") && elsewhere > 0) {
        *ret_why = "The placement group has instances in another Availability Zone.";
        return "InvalidFleetConfiguration";
    }
    return NULL;
}

static const char *reserve(const struct simec2 *e, const struct simec2_template *t, int fact,
                           uint32_t zone, const char **ret_id, const char **ret_why)
{
    const struct simec2_reservation *r = NULL;
    const char *preference = t->reservation_preference ? t->reservation_preference : "open";
    if (t->reservation_id) {
        r = reservation_find(e, t->reservation_id);
        if (!r || !is_active(e, r) || !fits(r, fact, zone)) {
            *ret_why = "The capacity reservation does not exist for this instance type and "
                       "Availability Zone.";
            return "InvalidCapacityReservationId.NotFound";
        }
        r = room_in(e, r) > 0 ? r : NULL;
    } else if (!str_eq(preference, "none")) {
        r = open_one(e, fact, zone);
    }
    if (!r && (t->reservation_id || str_eq(preference, "capacity-reservations-only"))) {
        *ret_why = "The capacity reservation has no capacity left.";
        return "ReservationCapacityExceeded";
    }
    *ret_id = r ? r->id : NULL;
    return NULL;
}

const char *simec2_account_refuses(const struct simec2 *e, const struct simec2_template *t,
                                   int fact, uint32_t zone, bool spot, const char **ret_reservation,
                                   const char **ret_why)
{
    *ret_reservation = NULL;
    if (simec2_over_quota(e, fact, spot)) {
        *ret_why = "You have requested more vCPU capacity than your current vCPU limit allows";
        return spot ? "MaxSpotInstanceCountExceeded" : "VcpuLimitExceeded";
    }
    const char *code = t->group_id ? group_refuses(e, t, zone, ret_why) : NULL;
    if (code || spot) {
        return code;
    }
    return reserve(e, t, fact, zone, ret_reservation, ret_why);
}

/* ---- describing ----------------------------------------------------------------------------- */

static const char *reservation_attr(const void *obj, const char *name, size_t i)
{
    const struct simec2_reservation *r = obj;
    if (i > 0) {
        return NULL;
    }
    return str_eq(name, "state")                     ? "active"
           : str_eq(name, "owner-id")                ? r->owner
           : str_eq(name, "instance-match-criteria") ? (r->open ? "open" : "targeted")
           : str_eq(name, "instance-type")           ? ec2_facts[r->fact].name
           : str_eq(name, "availability-zone")       ? r->zone
                                                     : NULL;
}

static void write_one(struct simec2_call *c, const struct simec2_reservation *r)
{
    struct buf *b = &c->out;
    put_open(b, "item");
    put_str(b, "capacityReservationId", r->id);
    put_str(b, "ownerId", r->owner);
    put_str(b, "instanceType", ec2_facts[r->fact].name);
    put_str(b, "availabilityZone", r->zone);
    put_i64(b, "totalInstanceCount", r->total);
    put_i64(b, "availableInstanceCount", room_in(c->e, r));
    put_str(b, "instanceMatchCriteria", r->open ? "open" : "targeted");
    put_str(b, "reservationType", r->block ? "capacity-block" : "default");
    put_str(b, "state", "active");
    if (r->end_ns) {
        put_time(b, "endDate", r->end_ns);
    }
    put_tags(b, r->tags);
    put_close(b, "item");
}

static bool wanted(const char *const *ids, size_t n, const char *id)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(ids[i], id)) {
            return true;
        }
    }
    return n == 0;
}

void simec2_describe_reservations(struct simec2_call *c)
{
    size_t n_ids, shown = 0;
    struct simec2_filters f;
    struct simec2_page page;
    const char *const *ids = simec2_param_list(c, &n_ids, "CapacityReservationId");
    if (!simec2_filters(c, "state owner-id instance-match-criteria instance-type availability-zone",
                        &f) ||
        !simec2_page(c, 1, 1000, &page)) {
        return;
    }
    for (size_t i = 0; i < n_ids; i++) {
        if (!reservation_find(c->e, ids[i])) {
            simec2_fail(c, "InvalidCapacityReservationId.NotFound",
                        "The capacity reservation '%s' does not exist", ids[i]);
            return;
        }
    }
    simec2_xml_begin(c);
    put_open(&c->out, "capacityReservationSet");
    uint64_t i = page.from;
    for (; i < c->e->n_reservations && shown < page.limit; i++) {
        const struct simec2_reservation *r = &c->e->reservations[i];
        if (is_active(c->e, r) && wanted(ids, n_ids, r->id) &&
            simec2_filter_match(&f, r->tags, reservation_attr, r)) {
            write_one(c, r);
            shown++;
        }
    }
    put_close(&c->out, "capacityReservationSet");
    put_str(&c->out, "nextToken", i < c->e->n_reservations ? simec2_page_token(c, i) : NULL);
    simec2_xml_end(c);
}

static const char *pgroup_attr(const void *obj, const char *name, size_t i)
{
    const struct simec2_pgroup *g = obj;
    if (i > 0) {
        return NULL;
    }
    return str_eq(name, "state")        ? "available"
           : str_eq(name, "strategy")   ? g->strategy
           : str_eq(name, "group-name") ? g->name
                                        : NULL;
}

static bool groups_known(struct simec2_call *c, const char *const *list)
{
    for (size_t i = 0; list[i]; i++) {
        if (!pgroup_find(c->e, list[i])) {
            simec2_fail(c, "InvalidPlacementGroup.Unknown", "The Placement Group '%s' is unknown.",
                        list[i]);
            return false;
        }
    }
    return true;
}

void simec2_describe_placement_groups(struct simec2_call *c)
{
    size_t n_ids, n_names;
    const char *const *ids = simec2_param_list(c, &n_ids, "GroupId");
    const char *const *names = simec2_param_list(c, &n_names, "GroupName");
    struct simec2_filters f;
    if (!simec2_filters(c, "state strategy group-name", &f) || !groups_known(c, ids) ||
        !groups_known(c, names)) {
        return;
    }
    struct buf *b = &c->out;
    simec2_xml_begin(c);
    put_open(b, "placementGroupSet");
    for (size_t i = 0; i < c->e->n_pgroups; i++) {
        const struct simec2_pgroup *g = &c->e->pgroups[i];
        if (!wanted(ids, n_ids, g->id) || !wanted(names, n_names, g->name) ||
            !simec2_filter_match(&f, NULL, pgroup_attr, g)) {
            continue;
        }
        put_open(b, "item");
        put_str(b, "groupId", g->id);
        put_str(b, "groupName", g->name);
        put_str(b, "strategy", g->strategy);
        put_str(b, "state", "available");
        if (g->partitions) {
            put_i64(b, "partitionCount", g->partitions);
        }
        if (str_eq(g->strategy, "spread")) {
            put_str(b, "spreadLevel", "rack");
        }
        put_close(b, "item");
    }
    put_close(b, "placementGroupSet");
    simec2_xml_end(c);
}

/* ---- steps ---------------------------------------------------------------------------------- */

static bool id_ok(const char *id, const char *prefix, size_t max)
{
    return id && str_starts(id, prefix) && strlen(id) < max;
}

/* One of the id, or a new one. */
static struct simec2_reservation *reservation_at(struct simec2 *e, const char *id)
{
    struct simec2_reservation *r = reservation_find(e, id);
    if (r) {
        json_decref(r->tags);
    } else {
        ARRAY_GROW(e->reservations, e->n_reservations, e->cap_reservations);
        r = &e->reservations[e->n_reservations++];
    }
    *r = (struct simec2_reservation){.end_ns = 0};
    str_copy(r->id, sizeof(r->id), id);
    return r;
}

int simec2_step_reservation(struct simec2 *e, const json_t *v, bool act, struct err *reterr)
{
    const char *id = jsonx_str(v, "id"), *type = jsonx_str(v, "type"), *zone = jsonx_str(v, "zone");
    int fact = type ? ec2_find_fact(type) : -1, z = simec2_zone_no(e, zone);
    int64_t count = jsonx_int(v, "count", -1), for_ns = 0;
    const char *span = jsonx_str(v, "for");
    const json_t *tags = json_object_get(v, "tags");
    if (!id_ok(id, "cr-", SIMEC2_ID_MAX) || fact < 0 || z < 0 || count < 0 ||
        (span && !timefmt_parse_duration_days(span, &for_ns)) || (tags && !json_is_object(tags))) {
        return err_set(
            reterr, ERR_INVALID,
            "ec2.capacityReservations[]: needs id (cr-…), type, zone and count; may have "
            "open, block, owner, for, tags");
    }
    if (e->n_reservations >= RESERVATIONS_MAX) {
        return err_set(reterr, ERR_INVALID, "ec2.capacityReservations: there are too many");
    }
    if (!act) {
        return 0;
    }
    struct simec2_reservation *r = reservation_at(e, id);
    str_copy(r->owner, sizeof(r->owner), jsonx_str_or(v, "owner", e->opts.account));
    r->fact = fact;
    r->zone_no = (uint32_t)z;
    r->zone = e->zones[z];
    r->total = count;
    r->open = jsonx_bool(v, "open", false);
    r->block = jsonx_bool(v, "block", false);
    r->end_ns = span ? simec2_wall(e) + for_ns : 0;
    r->tags = tags ? json_deep_copy(tags) : json_object();
    return 0;
}

int simec2_step_pgroup(struct simec2 *e, const json_t *v, bool act, struct err *reterr)
{
    static const char *const strategies[] = {"cluster", "spread", "partition"};
    const char *id = jsonx_str(v, "id"), *name = jsonx_str(v, "name");
    const char *strategy = jsonx_str_or(v, "strategy", "cluster");
    bool known = false;
    for (size_t i = 0; i < ARRAY_LEN(strategies); i++) {
        known = known || str_eq(strategies[i], strategy);
    }
    if (!id_ok(id, "pg-", SIMEC2_ID_MAX) || !id_ok(name, "", SIMEC2_ID_MAX) || !known) {
        return err_set(reterr, ERR_INVALID,
                       "ec2.placementGroups[]: needs id (pg-…) and name; strategy is cluster, "
                       "spread or partition, with partitions");
    }
    if (pgroup_find(e, id) || pgroup_find(e, name) || e->n_pgroups >= GROUPS_MAX) {
        return act ? 0
                   : err_set(reterr, ERR_INVALID,
                             "ec2.placementGroups[]: it is there already, or there are too many");
    }
    if (act) {
        ARRAY_GROW(e->pgroups, e->n_pgroups, e->cap_pgroups);
        struct simec2_pgroup *g = &e->pgroups[e->n_pgroups++];
        *g = (struct simec2_pgroup){.partitions = jsonx_int(v, "partitions", 0)};
        str_copy(g->id, sizeof(g->id), id);
        str_copy(g->name, sizeof(g->name), name);
        str_copy(g->strategy, sizeof(g->strategy), strategy);
    }
    return 0;
}

int simec2_step_quota(struct simec2 *e, const json_t *v, bool act, struct err *reterr)
{
    static const char *const keys[] = {"onDemandVcpu", "spotVcpu"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const json_t *n = json_object_get(v, keys[i]);
        if (n && (!json_is_integer(n) || json_integer_value(n) < 0)) {
            return err_set(reterr, ERR_INVALID, "ec2.quota.%s: must be a number, 0 = none",
                           keys[i]);
        }
        if (n && act) {
            e->quota[i] = json_integer_value(n);
        }
    }
    return json_object_size(v) ? 0 : err_set(reterr, ERR_INVALID, "ec2.quota: says nothing");
}

void simec2_reserve_done(struct simec2 *e)
{
    for (size_t i = 0; i < e->n_reservations; i++) {
        json_decref(e->reservations[i].tags);
    }
    free(e->reservations);
    free(e->pgroups);
}
