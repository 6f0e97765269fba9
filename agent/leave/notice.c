/* notice.c - see notice.h. */
#include "notice.h"

#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"

#include <strings.h>

static const struct notice_names names[NOTICE_KINDS] = {
    [NOTICE_NONE] = {"no_op", "", "", "", false, false},
    [NOTICE_SPOT] = {"spot_interrupted", "SpotInterrupted", "SpotInterrupted",
                     "EC2 takes the spot instance back within two minutes", true, true},
    [NOTICE_REBALANCE] = {"rebalance_recommendation", "SpotRebalanceRecommendation", "Rebalance",
                          "The spot instance is at an elevated risk of interruption", false, false},
    [NOTICE_SCHEDULED] = {"scheduled_change", "InstanceUnhealthy", "ScheduledChange",
                          "AWS has scheduled a change of the instance", true, false},
    [NOTICE_STOPPED] = {"instance_stopped", "InstanceStopping", "InstanceStopping",
                        "The instance is being stopped", true, true},
    [NOTICE_TERMINATED] = {"instance_terminated", "InstanceTerminating", "InstanceTerminating",
                           "The instance is being terminated", true, true},
    [NOTICE_RESERVATION] = {"capacity_reservation_interrupted",
                            "CapacityReservationInstanceInterrupted",
                            "CapacityReservationInstanceInterrupted",
                            "The instance's capacity reservation takes it back", true, true},
    [NOTICE_INSTANCE_STATUS] = {"instance_status", "InstanceUnhealthy", "InstanceUnhealthy",
                                "The instance fails EC2's instance status check", true, true},
    [NOTICE_SYSTEM_STATUS] = {"system_status", "InstanceUnhealthy", "InstanceUnhealthy",
                              "The instance fails EC2's system status check", true, true},
    [NOTICE_EVENT_STATUS] = {"event_status", "InstanceUnhealthy", "ScheduledChange",
                             "EC2 has scheduled an event for the instance", true, false},
};

const struct notice_names *notice_names(enum notice_kind kind)
{
    return &names[kind];
}

bool notice_mark_ends_soon(const char *mark)
{
    for (int i = 0; i < NOTICE_KINDS; i++) {
        if (names[i].ends_soon && str_eq(names[i].mark, mark)) {
            return true;
        }
    }
    return false;
}

/* ---- reading -----------------------------------------------------------------------------------
 */

static enum notice_kind state_kind(const json_t *detail)
{
    static const struct {
        const char *state;
        enum notice_kind kind;
    } rows[] = {
        {"stopping", NOTICE_STOPPED},
        {"stopped", NOTICE_STOPPED},
        {"shutting-down", NOTICE_TERMINATED},
        {"terminated", NOTICE_TERMINATED},
    };
    const char *state = jsonx_str_or(detail, "state", "");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (strcasecmp(rows[i].state, state) == 0) {
            return rows[i].kind;
        }
    }
    return NOTICE_NONE;
}

static enum notice_kind health_kind(const json_t *detail)
{
    return str_eq(jsonx_str(detail, "service"), "EC2") &&
                   str_eq(jsonx_str(detail, "eventTypeCategory"), "scheduledChange")
               ? NOTICE_SCHEDULED
               : NOTICE_NONE;
}

static enum notice_kind kind_of(const json_t *o)
{
    static const struct {
        const char *source, *type;
        enum notice_kind kind;
        enum notice_kind (*of)(const json_t *detail);
    } rows[] = {
        {"aws.ec2", "EC2 Spot Instance Interruption Warning", NOTICE_SPOT, NULL},
        {"aws.ec2", "EC2 Instance Rebalance Recommendation", NOTICE_REBALANCE, NULL},
        {"aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning", NOTICE_RESERVATION,
         NULL},
        {"aws.ec2", "EC2 Instance State-change Notification", NOTICE_NONE, state_kind},
        {"aws.health", "AWS Health Event", NOTICE_NONE, health_kind},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows) && str_eq(jsonx_str(o, "version"), "0"); i++) {
        if (str_eq(jsonx_str(o, "source"), rows[i].source) &&
            str_eq(jsonx_str(o, "detail-type"), rows[i].type)) {
            return rows[i].of ? rows[i].of(jsonx_obj(o, "detail")) : rows[i].kind;
        }
    }
    return NOTICE_NONE;
}

static void add(struct arena *a, struct notice *n, const char **v, const char *id)
{
    if (id && str_starts(id, "i-") && n->n_instances < NOTICE_INSTANCES_MAX) {
        v[n->n_instances++] = arena_strdup(a, id);
    }
}

static void instances_of(struct arena *a, const json_t *detail, struct notice *n)
{
    const json_t *entities = jsonx_arr(detail, "affectedEntities");
    bool many = n->kind == NOTICE_SCHEDULED;
    size_t most = many ? json_array_size(entities) : 1, i;
    const char **v =
        ARENA_NEW_N(a, const char *, most < NOTICE_INSTANCES_MAX ? most : NOTICE_INSTANCES_MAX);
    json_t *entity;
    n->instances = v;
    if (!many) {
        add(a, n, v, jsonx_str(detail, "instance-id"));
        return;
    }
    json_array_foreach (entities, i, entity) {
        add(a, n, v, jsonx_str(entity, "entityValue"));
    }
}

int notice_parse(struct arena *a, const char *body, size_t n, struct notice *ret,
                 struct err *reterr)
{
    *ret = (struct notice){.kind = NOTICE_NONE};
    AUTO_JSON json_t *o = jsonx_parse(body, n, "message", reterr);
    if (!json_is_object(o)) {
        return o ? err_set(reterr, ERR_INVALID, "the message is no JSON object") : -1;
    }
    ret->kind = kind_of(o);
    if (!timefmt_parse_rfc3339(jsonx_str_or(o, "time", ""), &ret->time_ns)) {
        ret->time_ns = 0;
    }
    if (ret->kind == NOTICE_NONE) {
        return 0;
    }
    instances_of(a, jsonx_obj(o, "detail"), ret);
    if (ret->n_instances == 0) {
        ret->kind = NOTICE_NONE;
        return err_set(reterr, ERR_INVALID, "the %s names no instance",
                       jsonx_str_or(o, "detail-type", ""));
    }
    return 0;
}
