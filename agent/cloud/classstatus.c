/* classstatus.c - status and conditions of an EC2NodeClass. */
#include "agent/work/cond.h"
#include "agent/work/render.h"
#include "cloud_int.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/kube/ec2class.h"

#define WHY_MAX 4096

static const struct part_row {
    const char *condition, *none_reason, *none_message;
} part_rows[PART_COUNT] = {
    [PART_SUBNETS] = {"SubnetsReady", "SubnetsNotFound",
                      "SubnetSelector did not match any Subnets"},
    [PART_GROUPS] = {"SecurityGroupsReady", "SecurityGroupsNotFound",
                     "SecurityGroupSelector did not match any SecurityGroups"},
    [PART_IMAGES] = {"AMIsReady", "AMINotFound", "AMISelector did not match any AMIs"},
    [PART_PROFILE] = {"InstanceProfileReady", "InstanceProfileNotFound", NULL},
    [PART_RESERVATIONS] = {"CapacityReservationsReady", NULL, NULL}, /* none are fine, too */
};

/* Without the last where the feature gate ReservedCapacity is off, as Karpenter. */
static const char *const all_dependents[] = {"AMIsReady",
                                             "SubnetsReady",
                                             "SecurityGroupsReady",
                                             "InstanceProfileReady",
                                             "ValidationSucceeded",
                                             "CapacityReservationsReady",
                                             NULL};
static const char *const plain_dependents[] = {"AMIsReady",           "SubnetsReady",
                                               "SecurityGroupsReady", "InstanceProfileReady",
                                               "ValidationSucceeded", NULL};

static const char *const *dependents_of(const struct cloud *c)
{
    return c->rt->opt->gate_reserved_capacity ? all_dependents : plain_dependents;
}

/* ---- lists -------------------------------------------------------------------------------------
 */

/* The order of subnets is by free addresses, which change all the time: not worth a write. */
static bool same_subnets(const struct nodeclass *cls, const struct resolved *r,
                         const struct symtab *t)
{
    if (cls->n_subnets != r->n_subnets) {
        return false;
    }
    for (uint32_t i = 0; i < r->n_subnets; i++) {
        const struct res_subnet *want = &r->subnets[i];
        uint32_t k = 0;
        while (k < cls->n_subnets && !str_eq(cls->subnets[k].id, want->id)) {
            k++;
        }
        if (k == cls->n_subnets || !str_eq(sym_str(t, cls->subnets[k].zone), want->zone) ||
            !str_eq(sym_str(t, cls->subnets[k].zone_id), want->zone_id ? want->zone_id : "")) {
            return false;
        }
    }
    return true;
}

static json_t *subnets_json(const struct resolved *r)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < r->n_subnets; i++) {
        json_t *s = json_pack("{s:s, s:s}", "id", r->subnets[i].id, "zone", r->subnets[i].zone);
        if (r->subnets[i].zone_id) {
            json_object_set_new(s, "zoneID", json_string(r->subnets[i].zone_id));
        }
        json_array_append_new(list, s);
    }
    return list;
}

static bool same_groups(const struct nodeclass *cls, const json_t *groups)
{
    if (json_array_size(groups) != cls->n_sgs) {
        return false;
    }
    for (uint32_t i = 0; i < cls->n_sgs; i++) {
        const json_t *g = json_array_get(groups, i);
        if (!str_eq(jsonx_str(g, "id"), cls->sgs[i].id) ||
            !str_eq(jsonx_str(g, "name"), cls->sgs[i].name)) {
            return false;
        }
    }
    return true;
}

static bool same_reservation(const struct class_reservation *have, const json_t *want,
                             const struct symtab *t)
{
    const char *end = jsonx_str(want, "endTime");
    int64_t end_ns = 0;
    return str_eq(jsonx_str(want, "id"), have->id) &&
           str_eq(jsonx_str(want, "ownerID"), have->owner) &&
           str_eq(jsonx_str(want, "instanceMatchCriteria"), have->match) &&
           str_eq(jsonx_str(want, "instanceType"), sym_str(t, have->type)) &&
           str_eq(jsonx_str(want, "availabilityZone"), sym_str(t, have->zone)) &&
           str_eq(jsonx_str(want, "reservationType"), sym_str(t, have->kind)) &&
           jsonx_bool(want, "interruptible", false) == have->interruptible &&
           str_eq(jsonx_str(want, "state"), "expiring") == have->expiring &&
           (!end || timefmt_parse_rfc3339(end, &end_ns)) && end_ns == have->end_ns;
}

static bool same_reservations(const struct nodeclass *cls, const json_t *list,
                              const struct symtab *t)
{
    if (json_array_size(list) != cls->n_reservations) {
        return false;
    }
    for (uint32_t i = 0; i < cls->n_reservations; i++) {
        if (!same_reservation(&cls->reservations[i], json_array_get(list, i), t)) {
            return false;
        }
    }
    return true;
}

static int key_cmp(const void *a, const void *b)
{
    return str_cmp(jsonx_str(*(json_t *const *)a, "key"), jsonx_str(*(json_t *const *)b, "key"));
}

/* In the order of render_requirements. */
static json_t *sorted_requirements(const json_t *list)
{
    size_t n = json_array_size(list);
    AUTO_FREE json_t **v = NEW_N(json_t *, n + 1);
    for (size_t i = 0; i < n; i++) {
        v[i] = json_array_get(list, i);
    }
    qsort(v, n, sizeof(*v), key_cmp);
    json_t *ret = json_array();
    for (size_t i = 0; i < n; i++) {
        json_array_append(ret, v[i]);
    }
    return ret;
}

static bool same_image(const struct class_ami *have, const json_t *want, const struct symtab *t)
{
    if (!str_eq(jsonx_str(want, "id"), have->id) || !str_eq(jsonx_str(want, "name"), have->name) ||
        jsonx_bool(want, "deprecated", false) != have->deprecated) {
        return false;
    }
    AUTO_JSON json_t *is = render_requirements(t, &have->reqs, NULL);
    AUTO_JSON json_t *shall = sorted_requirements(jsonx_arr(want, "requirements"));
    return json_equal(is, shall);
}

static bool same_images(const struct nodeclass *cls, const json_t *images, const struct symtab *t)
{
    if (json_array_size(images) != cls->n_amis) {
        return false;
    }
    for (uint32_t i = 0; i < cls->n_amis; i++) {
        if (!same_image(&cls->amis[i], json_array_get(images, i), t)) {
            return false;
        }
    }
    return true;
}

static void put_lists(struct cloud *c, const struct nodeclass *cls, const struct resolved *r,
                      json_t *status)
{
    const struct symtab *t = c->rt->syms;
    const char *profile = r->profile ? r->profile : "";
    if (r->have[PART_SUBNETS] && !same_subnets(cls, r, t)) {
        json_object_set_new(status, "subnets", subnets_json(r));
    }
    if (r->have[PART_GROUPS] && !same_groups(cls, r->groups)) {
        json_object_set(status, "securityGroups", r->groups);
    }
    if (r->have[PART_IMAGES] && !same_images(cls, r->images, t)) {
        json_object_set(status, "amis", r->images);
    }
    if (r->have[PART_RESERVATIONS] && !same_reservations(cls, r->reservations, t)) {
        json_object_set(status, "capacityReservations", r->reservations);
    }
    if (r->have[PART_PROFILE] && !str_eq(cls->instance_profile, profile)) {
        json_object_set_new(status, "instanceProfile", json_string(profile));
    }
}

/* ---- conditions of parts --------------------------------------------------------------------- */

static bool found(const struct resolved *r, enum resolve_part part)
{
    switch (part) {
    case PART_SUBNETS:
        return r->n_subnets > 0;
    case PART_GROUPS:
        return json_array_size(r->groups) > 0;
    case PART_IMAGES:
        return json_array_size(r->images) > 0;
    case PART_RESERVATIONS:
        return true;
    default:
        return r->profile != NULL;
    }
}

/* True for the present spec, by whoever wrote it. */
static bool holds(const struct nodeclass *cls, const char *type)
{
    const struct condition *c = condition_find(&cls->conditions, type);
    return c && c->status == STATUS_TRUE && c->observed_generation == cls->m.generation;
}

/* What cannot be asked right now does not undo what was found before. */
static void set_part(struct cond_edit *e, const struct nodeclass *cls, const struct resolved *r,
                     enum resolve_part part)
{
    const struct part_row *row = &part_rows[part];
    if (r->have[part] && found(r, part)) {
        cond_set(e, row->condition, STATUS_TRUE, NULL, NULL);
    } else if (r->have[part]) {
        cond_set(e, row->condition, STATUS_FALSE, row->none_reason,
                 row->none_message ? row->none_message : r->profile_why);
    } else if (r->err[part].kind != ERR_NONE && !holds(cls, row->condition)) {
        cond_set(e, row->condition, STATUS_UNKNOWN, "ResolutionFailed", r->err[part].msg);
    }
}

/* ---- validation ------------------------------------------------------------------------------ */

struct verdict {
    enum status status;
    const char *reason, *message;
};

static struct verdict refuse(const char *reason, const char *message)
{
    return (struct verdict){STATUS_FALSE, reason, message};
}

static enum status status_now(const struct cond_edit *e, const char *type)
{
    for (uint32_t i = 0; i < e->n; i++) {
        if (str_eq(e->v[i].type, type)) {
            return e->v[i].status;
        }
    }
    return STATUS_UNKNOWN;
}

static bool check_dependents(const struct cond_edit *e, const char *const *dependents,
                             struct buf *why, struct verdict *ret)
{
    bool any_false = false;
    for (size_t i = 0; dependents[i]; i++) {
        enum status s = status_now(e, dependents[i]);
        if (str_eq(dependents[i], "ValidationSucceeded") || s == STATUS_TRUE) {
            continue;
        }
        any_false |= s == STATUS_FALSE;
        buf_printf(why, "%s%s", why->n ? ", " : "Awaiting ", dependents[i]);
    }
    *ret =
        (struct verdict){any_false ? STATUS_FALSE : STATUS_UNKNOWN, "DependenciesNotReady", why->p};
    return why->n == 0;
}

/* AL2023 nodes must be told the service network. */
static bool check_cidr(const struct cloud *c, const json_t *spec, struct verdict *ret)
{
    if (ec2class_family(spec) != FAMILY_AL2023 || c->home.cidr) {
        return true;
    }
    *ret = c->home.trouble ? refuse("ClusterCIDRResolutionFailed", c->home.trouble)
                           : (struct verdict){STATUS_UNKNOWN, "ClusterCIDRResolutionFailed",
                                              "the cluster's service network is not known yet"};
    return false;
}

static bool check_small(const struct nodeclass *cls, const json_t *spec, struct buf *why,
                        struct verdict *ret)
{
    const char *tag = spec_restricted_tag(spec);
    const char *user = jsonx_str_or(spec, "userData", "");
    struct err err = ERR_INIT;
    if (tag) {
        buf_printf(why, "spec.tags: \"%s\" is not the user's to set", tag);
        *ret = refuse("TagValidationFailed", why->p);
        return false;
    }
    if (strlen(user) > EC2_USER_DATA_MAX) {
        *ret = refuse("UserDataSizeLimitExceeded", "User data is limited to 16384 bytes");
        return false;
    }
    int r = spec_check_extra(cls, &err);
    if (r < 0) {
        buf_puts(why, err.msg);
        *ret = refuse("InvalidCapacityAnnotation", why->p);
    }
    return r == 0;
}

/* In Karpenter's order; why backs the message. */
static struct verdict validate(struct cloud *c, const struct nodeclass *cls, const json_t *spec,
                               const struct cond_edit *e, struct buf *why)
{
    struct verdict v = {STATUS_TRUE, NULL, NULL};
    if (cls->problem) {
        return refuse("InvalidSpec", cls->problem);
    }
    if (spec_unsupported(spec, why)) {
        return refuse("UnsupportedConfiguration", why->p);
    }
    if (!check_cidr(c, spec, &v)) {
        return v;
    }
    if (spec_kubelet_errors(jsonx_obj(spec, "kubelet"), why)) {
        return refuse("InvalidKubeletConfiguration", why->p);
    }
    if (check_dependents(e, dependents_of(c), why, &v) && check_small(cls, spec, why, &v)) {
        return (struct verdict){STATUS_TRUE, NULL, NULL};
    }
    return v;
}

static void set_unknown_fields(struct cond_edit *e, const struct nodeclass *cls)
{
    if (cls->unknown_field) {
        cond_set(e, "UnknownFields", STATUS_TRUE, NULL, cls->unknown_field);
    } else {
        cond_clear(e, "UnknownFields");
    }
}

json_t *class_status_patch(struct cloud *c, const struct nodeclass *cls,
                           const struct class_entry *entry)
{
    struct cond_edit e;
    char root[COND_ROOT_MESSAGE];
    AUTO_BUF struct buf why;
    buf_init(&why, WHY_MAX);
    cond_begin(&e, &cls->conditions, &cls->m, cloud_wall(c));
    for (int part = 0; part < PART_COUNT; part++) {
        if (part == PART_RESERVATIONS && !c->rt->opt->gate_reserved_capacity) {
            cond_clear(&e, part_rows[part].condition);
        } else {
            set_part(&e, cls, &entry->res, (enum resolve_part)part);
        }
    }
    struct verdict v = validate(c, cls, entry->spec, &e, &why);
    cond_set(&e, "ValidationSucceeded", v.status, v.reason, v.message);
    set_unknown_fields(&e, cls);
    cond_root(&e, dependents_of(c), cls->m.created_ns, root);
    json_t *status = json_object();
    put_lists(c, cls, &entry->res, status);
    if (e.changed) {
        json_object_set_new(status, "conditions", cond_json(&e));
    }
    if (json_object_size(status) == 0) {
        json_decref(status);
        return NULL;
    }
    return json_pack("{s:o}", "status", status);
}

bool class_usable(const struct nodeclass *cls, const char **ret_why, bool *ret_unknown)
{
    const struct condition *ready = condition_find(&cls->conditions, "Ready");
    *ret_unknown = false;
    if (cls->problem) {
        *ret_why = cls->problem;
        return false;
    }
    if (!ready || ready->status == STATUS_UNKNOWN) {
        *ret_unknown = true;
        *ret_why = ready && *ready->message ? ready->message : "EC2NodeClass is not resolved yet";
        return false;
    }
    if (ready->status != STATUS_TRUE) {
        *ret_why = *ready->message ? ready->message : "EC2NodeClass is not ready";
        return false;
    }
    if (ready->observed_generation != cls->m.generation) {
        *ret_why = "EC2NodeClass has changed and is not resolved again yet";
        return false;
    }
    return true;
}
