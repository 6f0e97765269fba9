#include "step_check.h"

#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "expect.h"
#include "tests/sim/kube/api.h"

#define PLACE_MAX 200

/* ---- kinds of values
 * ------------------------------------------------------------------------------ */

static int wrong(struct err *reterr, const char *where, const char *key, const char *must)
{
    return err_set(reterr, ERR_INVALID, "%s.%s: must be %s", where, key, must);
}

static int check_kind(const json_t *o, const char *where, struct err *reterr)
{
    const char *kind = jsonx_str(o, "kind");
    if (!kind || !sim_kind_find(kind)) {
        return err_set(reterr, ERR_INVALID, "%s.kind: %s%s%s", where, kind ? "\"" : "is missing",
                       kind ? kind : "", kind ? "\" is not served here" : "");
    }
    return 0;
}

/* Absent is fine. */
static int check_text(const json_t *o, const char *key, const char *where, struct err *reterr)
{
    const json_t *v = json_object_get(o, key);
    return !v || json_is_string(v) ? 0 : wrong(reterr, where, key, "a text");
}

static int check_number(const json_t *o, const char *key, int64_t least, const char *where,
                        struct err *reterr)
{
    const json_t *v = json_object_get(o, key);
    if (v && (!json_is_integer(v) || json_integer_value(v) < least)) {
        char must[48];
        snprintf(must, sizeof(must), "a number of at least %lld", (long long)least);
        return wrong(reterr, where, key, must);
    }
    return 0;
}

/* Where it stands it must be true: "crash: false" would say nothing. */
static int check_true(const json_t *o, const char *key, const char *where, struct err *reterr)
{
    const json_t *v = json_object_get(o, key);
    return !v || json_is_true(v) ? 0 : wrong(reterr, where, key, "true");
}

static int check_duration(const json_t *o, const char *key, const char *where, struct err *reterr)
{
    int64_t ns = 0;
    return scenario_duration(o, key, where, &ns, reterr);
}

static int need(const json_t *o, const char *key, const char *where, struct err *reterr)
{
    return json_object_get(o, key) ? 0
                                   : err_set(reterr, ERR_INVALID, "%s.%s: is missing", where, key);
}

static int need_duration(const json_t *o, const char *key, const char *where, struct err *reterr)
{
    return need(o, key, where, reterr) < 0 ? -1 : check_duration(o, key, where, reterr);
}

static int check_target(const json_t *t, const char *where, struct err *reterr)
{
    static const char *const keys[] = {"node", "selector", "limit", NULL};
    if (scenario_keys(t, where, keys, reterr) < 0 || check_text(t, "node", where, reterr) < 0 ||
        check_text(t, "selector", where, reterr) < 0 ||
        check_number(t, "limit", 1, where, reterr) < 0) {
        return -1;
    }
    struct jsonsel sel = {0};
    struct err why = ERR_INIT;
    if (jsonsel_parse_labels(jsonx_str_or(t, "selector", ""), &sel, &why) < 0) {
        return err_set(reterr, ERR_INVALID, "%s.selector: %s", where, why.msg);
    }
    jsonsel_done(&sel);
    bool one = !json_object_get(t, "node") != !json_object_get(t, "selector");
    return one ? 0 : err_set(reterr, ERR_INVALID, "%s: needs node or selector", where);
}

typedef int (*item_fn)(const json_t *o, const char *where, struct err *reterr);

static int check_list(const json_t *list, const char *where, const char *must, item_fn item,
                      struct err *reterr)
{
    size_t i;
    json_t *o;
    if (!json_is_array(list)) {
        return err_set(reterr, ERR_INVALID, "%s: must be a list of %s", where, must);
    }
    json_array_foreach ((json_t *)(uintptr_t)list, i, o) {
        char place[PLACE_MAX];
        snprintf(place, sizeof(place), "%.150s[%zu]", where, i);
        if (item(o, place, reterr) < 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- objects
 * -------------------------------------------------------------------------------------- */

static int check_object(const json_t *o, const char *where, struct err *reterr)
{
    if (check_kind(o, where, reterr) < 0) {
        return -1;
    }
    if (!sim_kind_of(o)) {
        return err_set(reterr, ERR_INVALID, "%s.apiVersion: \"%s\" has no %s", where,
                       jsonx_str_or(o, "apiVersion", ""), jsonx_str(o, "kind"));
    }
    return jsonx_str(o, "metadata.name")
               ? 0
               : err_set(reterr, ERR_INVALID, "%s.metadata.name: is missing", where);
}

static int check_chosen(const json_t *o, const char *where, const char *const *keys,
                        struct err *reterr)
{
    if (scenario_keys(o, where, keys, reterr) < 0 || check_kind(o, where, reterr) < 0 ||
        check_text(o, "namespace", where, reterr) < 0 || check_text(o, "name", where, reterr) < 0 ||
        check_text(o, "selector", where, reterr) < 0) {
        return -1;
    }
    bool one = !json_object_get(o, "name") != !json_object_get(o, "selector");
    return one ? 0 : err_set(reterr, ERR_INVALID, "%s: needs name or selector", where);
}

static int check_deletion(const json_t *o, const char *where, struct err *reterr)
{
    static const char *const keys[] = {"kind", "namespace", "name", "selector", NULL};
    return check_chosen(o, where, keys, reterr);
}

static int check_named(const json_t *arg, const char *where, const char *const *keys,
                       struct err *reterr)
{
    if (scenario_keys(arg, where, keys, reterr) < 0 || check_kind(arg, where, reterr) < 0 ||
        need(arg, "name", where, reterr) < 0 || check_text(arg, "name", where, reterr) < 0) {
        return -1;
    }
    return check_text(arg, "namespace", where, reterr);
}

static int check_scale(const json_t *arg, const char *where, struct err *reterr)
{
    static const char *const keys[] = {"kind", "namespace", "name", "replicas", NULL};
    if (check_named(arg, where, keys, reterr) < 0 || need(arg, "replicas", where, reterr) < 0) {
        return -1;
    }
    return check_number(arg, "replicas", 0, where, reterr);
}

static int check_patch(const json_t *arg, const char *where, struct err *reterr)
{
    static const char *const keys[] = {"kind", "namespace", "name", "selector", "merge", NULL};
    if (check_chosen(arg, where, keys, reterr) < 0 || need(arg, "merge", where, reterr) < 0) {
        return -1;
    }
    return jsonx_obj(arg, "merge") ? 0 : wrong(reterr, where, "merge", "a map");
}

static int check_decide(const json_t *arg, const char *where, struct err *reterr)
{
    static const char *const keys[] = {"decision", "by",    "note", "notBefore",
                                       "reason",   "limit", NULL};
    const char *decision = jsonx_str_or(arg, "decision", "");
    if (scenario_keys(arg, where, keys, reterr) < 0 || check_text(arg, "by", where, reterr) < 0 ||
        check_text(arg, "note", where, reterr) < 0 ||
        check_text(arg, "reason", where, reterr) < 0 ||
        check_duration(arg, "notBefore", where, reterr) < 0 ||
        check_number(arg, "limit", 1, where, reterr) < 0) {
        return -1;
    }
    return str_eq(decision, "Approved") || str_eq(decision, "Denied")
               ? 0
               : wrong(reterr, where, "decision", "Approved or Denied");
}

/* ---- the cloud
 * ------------------------------------------------------------------------------------ */

static int check_ec2(const json_t *arg, const char *where, struct err *reterr)
{
    static const char *const keys[] = {"outOfCapacity",
                                       "restock",
                                       "spotInterruption",
                                       "rebalance",
                                       "terminate",
                                       "stop",
                                       "throttle",
                                       "fail",
                                       "prices",
                                       "pricesTimes",
                                       "noBoot",
                                       "reuseAddress",
                                       "hide",
                                       "images",
                                       "tags",
                                       "status",
                                       "scheduledEvent",
                                       "foreign",
                                       "cut",
                                       "capacityReservations",
                                       "placementGroups",
                                       "quota",
                                       NULL};
    static const char *const targets[] = {"spotInterruption", "rebalance", "terminate", "stop",
                                          NULL};
    if (scenario_keys(arg, where, keys, reterr) < 0) {
        return -1;
    }
    for (size_t i = 0; targets[i]; i++) {
        const json_t *t = json_object_get(arg, targets[i]);
        char place[PLACE_MAX];
        snprintf(place, sizeof(place), "%.120s.%s", where, targets[i]);
        if (t && check_target(t, place, reterr) < 0) {
            return -1;
        }
    }
    return json_object_size(arg) ? 0 : err_set(reterr, ERR_INVALID, "%s: says nothing", where);
}

static int check_message(const json_t *o, const char *where, struct err *reterr)
{
    return json_is_string(o) || json_is_object(o)
               ? 0
               : err_set(reterr, ERR_INVALID, "%s: must be a text or a map", where);
}

static int check_sqs(const json_t *arg, const char *where, struct err *reterr)
{
    static const char *const keys[] = {"send", "times", NULL};
    char place[PLACE_MAX];
    snprintf(place, sizeof(place), "%.120s.send", where);
    if (scenario_keys(arg, where, keys, reterr) < 0 || need(arg, "send", where, reterr) < 0 ||
        check_number(arg, "times", 1, where, reterr) < 0) {
        return -1;
    }
    return check_list(json_object_get(arg, "send"), place, "messages", check_message, reterr);
}

/* ---- the API server
 * -------------------------------------------------------------------------------- */

static int check_api_fail(const json_t *o, const char *where, struct err *reterr)
{
    static const char *const keys[] = {"verb", "resource", "code", "times", NULL};
    if (scenario_keys(o, where, keys, reterr) < 0 || check_text(o, "verb", where, reterr) < 0 ||
        check_text(o, "resource", where, reterr) < 0 ||
        check_number(o, "code", 400, where, reterr) < 0 ||
        check_number(o, "times", 1, where, reterr) < 0) {
        return -1;
    }
    return jsonx_int(o, "code", 500) <= 599 ? 0 : wrong(reterr, where, "code", "400 to 599");
}

static int check_api_latency(const json_t *o, const char *where, struct err *reterr)
{
    static const char *const keys[] = {"of", "for", NULL};
    if (scenario_keys(o, where, keys, reterr) < 0 || need_duration(o, "of", where, reterr) < 0) {
        return -1;
    }
    return check_duration(o, "for", where, reterr);
}

static int check_api_lag(const json_t *o, const char *where, struct err *reterr)
{
    static const char *const keys[] = {"resource", "by", "for", NULL};
    const char *resource = jsonx_str(o, "resource");
    if (scenario_keys(o, where, keys, reterr) < 0 || need(o, "resource", where, reterr) < 0) {
        return -1;
    }
    if (!resource || !sim_kind_find(resource)) {
        return wrong(reterr, where, "resource", "a resource that is served here");
    }
    if (need_duration(o, "by", where, reterr) < 0) {
        return -1;
    }
    return check_duration(o, "for", where, reterr);
}

static int check_api_restore(const json_t *o, const char *where, struct err *reterr)
{
    static const char *const keys[] = {"to", NULL};
    return scenario_keys(o, where, keys, reterr) < 0 ? -1 : need_duration(o, "to", where, reterr);
}

static int check_api(const json_t *arg, const char *where, struct err *reterr)
{
    static const char *const keys[] = {"fail",       "latency", "breakWatches",
                                       "lagWatches", "restore", NULL};
    static const struct {
        const char *key;
        item_fn check;
    } parts[] = {{"fail", check_api_fail},
                 {"latency", check_api_latency},
                 {"lagWatches", check_api_lag},
                 {"restore", check_api_restore}};
    if (scenario_keys(arg, where, keys, reterr) < 0 ||
        check_true(arg, "breakWatches", where, reterr) < 0) {
        return -1;
    }
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        const json_t *v = json_object_get(arg, parts[i].key);
        char place[PLACE_MAX];
        snprintf(place, sizeof(place), "%.120s.%s", where, parts[i].key);
        if (v && parts[i].check(v, place, reterr) < 0) {
            return -1;
        }
    }
    return json_object_size(arg) ? 0 : err_set(reterr, ERR_INVALID, "%s: says nothing", where);
}

/* ---- agents and the rest
 * ------------------------------------------------------------------------------ */

static int check_crash(const json_t *crash, const char *where, struct err *reterr)
{
    static const char *const keys[] = {"after", "nth", "restartAfter", NULL};
    if (scenario_keys(crash, where, keys, reterr) < 0 ||
        check_duration(crash, "restartAfter", where, reterr) < 0 ||
        check_number(crash, "nth", 1, where, reterr) < 0) {
        return -1;
    }
    const char *after = jsonx_str(crash, "after"), *colon = after ? strchr(after, ':') : NULL;
    if (!colon || colon == after || !colon[1]) {
        return wrong(reterr, where, "after", "SERVICE:ACTION, or kube:VERB RESOURCE");
    }
    return strncmp(after, "kube:", 5) != 0 || strchr(after, ' ')
               ? 0
               : wrong(reterr, where, "after", "kube:VERB RESOURCE");
}

static int check_poison(const json_t *o, const char *where, struct err *reterr)
{
    static const char *const keys[] = {"kind", "namespace", "name", "bare", "alone", NULL};
    static const char *const decision[] = {"decision", NULL};
    if (json_object_get(o, "decision")) {
        return scenario_keys(o, where, decision, reterr) < 0
                   ? -1
                   : check_text(o, "decision", where, reterr);
    }
    return check_named(o, where, keys, reterr) < 0 || check_true(o, "bare", where, reterr) < 0
               ? -1
               : check_true(o, "alone", where, reterr);
}

static int check_flags(const json_t *flags, const json_t *start, const char *where,
                       struct err *reterr)
{
    size_t i;
    json_t *flag;
    if (!start || !json_is_array(flags) || json_array_size(flags) > SCENARIO_FLAGS_MAX) {
        return err_set(reterr, ERR_INVALID, "%s.flags: a list, and goes with start only", where);
    }
    json_array_foreach ((json_t *)(uintptr_t)flags, i, flag) {
        if (!json_is_string(flag)) {
            return err_set(reterr, ERR_INVALID, "%s.flags[%zu]: must be a string", where, i);
        }
    }
    return 0;
}

static int check_agent(const json_t *arg, const char *where, struct err *reterr)
{
    static const char *const keys[] = {"crash",  "restartAfter", "stop",      "start", "freeze",
                                       "poison", "flags",        "observers", NULL};
    static const char *const verbs[] = {"crash", "stop", "start", "freeze", "poison"};
    const json_t *crash = json_object_get(arg, "crash");
    char place[PLACE_MAX];
    int n = 0;
    if (scenario_keys(arg, where, keys, reterr) < 0 ||
        check_duration(arg, "restartAfter", where, reterr) < 0 ||
        check_duration(arg, "freeze", where, reterr) < 0 ||
        check_true(arg, "stop", where, reterr) < 0 || check_true(arg, "start", where, reterr) < 0 ||
        check_true(arg, "observers", where, reterr) < 0) {
        return -1;
    }
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
        n += json_object_get(arg, verbs[i]) != NULL;
    }
    if (n != 1) {
        return err_set(reterr, ERR_INVALID, "%s: needs one of crash, stop, start, freeze, poison",
                       where);
    }
    if (json_object_get(arg, "restartAfter") && !crash) {
        return err_set(reterr, ERR_INVALID, "%s.restartAfter: goes with crash only", where);
    }
    const json_t *flags = json_object_get(arg, "flags");
    if (flags && check_flags(flags, json_object_get(arg, "start"), where, reterr) < 0) {
        return -1;
    }
    const json_t *poison = json_object_get(arg, "poison");
    snprintf(place, sizeof(place), "%.120s.poison", where);
    if (poison && check_poison(poison, place, reterr) < 0) {
        return -1;
    }
    snprintf(place, sizeof(place), "%.120s.crash", where);
    return !crash || json_is_true(crash) ? 0 : check_crash(crash, place, reterr);
}

static int check_part(const json_t *o, const char *where, struct err *reterr)
{
    const char *name = json_string_value(o);
    return str_eq(name, "scheduler") || str_eq(name, "controller-manager")
               ? 0
               : err_set(reterr, ERR_INVALID, "%s: must be scheduler or controller-manager", where);
}

static int check_kubelet(const json_t *o, const char *where, struct err *reterr)
{
    static const char *const keys[] = {"stop", "start", NULL};
    if (scenario_keys(o, where, keys, reterr) < 0) {
        return -1;
    }
    for (size_t i = 0; keys[i]; i++) {
        const json_t *t = json_object_get(o, keys[i]);
        char place[PLACE_MAX];
        snprintf(place, sizeof(place), "%.120s.%s", where, keys[i]);
        if (t && check_target(t, place, reterr) < 0) {
            return -1;
        }
    }
    return json_object_size(o) ? 0 : err_set(reterr, ERR_INVALID, "%s: says nothing", where);
}

static int check_jump(const json_t *arg, const char *where, struct err *reterr)
{
    const json_t *jump = json_object_get(arg, "clockJump");
    int64_t ns;
    return !jump || (json_is_string(jump) &&
                     timefmt_parse_duration_days(json_string_value(jump), &ns) && ns != 0)
               ? 0
               : wrong(reterr, where, "clockJump", "a duration such as 40d or -5m");
}

static int check_world(const json_t *arg, const char *where, struct err *reterr)
{
    static const char *const keys[] = {"stop",    "start",       "clockJump",
                                       "kubelet", "holdVolumes", NULL};
    const json_t *kubelet = json_object_get(arg, "kubelet");
    const json_t *hold = json_object_get(arg, "holdVolumes");
    char place[PLACE_MAX];
    if (scenario_keys(arg, where, keys, reterr) < 0 || check_jump(arg, where, reterr) < 0) {
        return -1;
    }
    for (size_t i = 0; i < 2; i++) {
        const json_t *list = json_object_get(arg, keys[i]);
        snprintf(place, sizeof(place), "%.120s.%s", where, keys[i]);
        if (list && check_list(list, place, "parts", check_part, reterr) < 0) {
            return -1;
        }
    }
    snprintf(place, sizeof(place), "%.120s.kubelet", where);
    if (kubelet && check_kubelet(kubelet, place, reterr) < 0) {
        return -1;
    }
    snprintf(place, sizeof(place), "%.120s.holdVolumes", where);
    if (hold && check_target(hold, place, reterr) < 0) {
        return -1;
    }
    return json_object_size(arg) ? 0 : err_set(reterr, ERR_INVALID, "%s: says nothing", where);
}

/* ---- the table
 * ------------------------------------------------------------------------------------ */

int step_check(enum step_verb verb, const json_t *arg, const char *where, struct err *reterr)
{
    switch (verb) {
    case STEP_APPLY:
        return check_list(arg, where, "objects", check_object, reterr);
    case STEP_DELETE:
        return check_list(arg, where, "objects", check_deletion, reterr);
    case STEP_SCALE:
        return check_scale(arg, where, reterr);
    case STEP_PATCH:
        return check_patch(arg, where, reterr);
    case STEP_DECIDE:
        return check_decide(arg, where, reterr);
    case STEP_EC2:
        return check_ec2(arg, where, reterr);
    case STEP_SQS:
        return check_sqs(arg, where, reterr);
    case STEP_API:
        return check_api(arg, where, reterr);
    case STEP_AGENT:
        return check_agent(arg, where, reterr);
    case STEP_WORLD:
        return check_world(arg, where, reterr);
    case STEP_EXPECT:
        return check_list(arg, where, "expectations", expect_check, reterr);
    case STEP_VERBS:
        break;
    }
    BUG("step verb %d", (int)verb);
}
