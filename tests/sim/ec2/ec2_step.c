/*
 * ec2_step.c - `ec2` steps of scenarios, and spec.ec2.
 *
 * Every key has one function, called twice: first to look whether its value is right, then, when
 * all are, to do it.
 */
#include "ec2_priv.h"

#include <math.h>

typedef int (*step_fn)(struct simec2 *e, const json_t *v, bool act, struct err *reterr);

struct step {
    const char *key;
    step_fn fn;
};

/* ---- reading values ------------------------------------------------------------------------- */

static int invalid(struct err *reterr, const char *field, const char *what)
{
    return err_set(reterr, ERR_INVALID, "ec2.%s: %s", field, what);
}

/* Unknown members of an object are errors. known is blank-separated. */
static int only(const json_t *v, const char *field, const char *known, struct err *reterr)
{
    const char *key;
    json_t *value;
    if (!json_is_object(v)) {
        return invalid(reterr, field, "must be a map");
    }
    json_object_foreach ((json_t *)v, key, value) {
        const char *p = known;
        size_t n = strcspn(p, " ");
        while (*p && !(n == strlen(key) && memcmp(p, key, n) == 0)) {
            p += n + (p[n] == ' ');
            n = strcspn(p, " ");
        }
        if (!*p) {
            return err_set(reterr, ERR_INVALID, "ec2.%s: unknown field \"%s\"", field, key);
        }
    }
    return 0;
}

/* A duration member; absent gives dflt. */
static int duration(const json_t *v, const char *key, int64_t dflt, int64_t *ret,
                    struct err *reterr)
{
    const json_t *d = json_object_get(v, key);
    *ret = dflt;
    if (d && (!json_is_string(d) || !timefmt_parse_duration_days(json_string_value(d), ret) ||
              *ret < 0)) {
        return invalid(reterr, key, "must be a duration such as 30s");
    }
    return 0;
}

static int count(const json_t *v, const char *key, int64_t dflt, int64_t *ret, struct err *reterr)
{
    const json_t *n = json_object_get(v, key);
    *ret = n ? json_integer_value(n) : dflt;
    return n && (!json_is_integer(n) || *ret < 0)
               ? invalid(reterr, key, "must be a number, 0 or more")
               : 0;
}

/* Dollars per hour; -1 if it is none. */
static int64_t dollars(const json_t *v)
{
    double d = json_is_number(v) ? json_number_value(v) : -1;
    return d > 0 && d < 1e6 ? llround(d * (double)PUSD_PER_USD) : -1;
}

static int64_t until(const struct simec2 *e, int64_t for_ns)
{
    int64_t at;
    return __builtin_add_overflow(simec2_mono(e), for_ns, &at) ? NS_NEVER : at;
}

/* ---- stock ---------------------------------------------------------------------------------- */

static int stockout(struct simec2 *e, const json_t *v, bool act, struct err *reterr)
{
    int64_t for_ns, left;
    if (only(v, "outOfCapacity[]", "capacityType type zone for left", reterr) < 0 ||
        duration(v, "for", NS_NEVER, &for_ns, reterr) < 0 ||
        count(v, "left", 0, &left, reterr) < 0) {
        return -1;
    }
    if (!act) {
        return 0;
    }
    ARRAY_GROW(e->stockouts, e->n_stockouts, e->cap_stockouts);
    e->stockouts[e->n_stockouts++] =
        (struct simec2_stockout){.capacity_type = xstrdup(jsonx_str_or(v, "capacityType", "*")),
                                 .type = xstrdup(jsonx_str_or(v, "type", "*")),
                                 .zone = xstrdup(jsonx_str_or(v, "zone", "*")),
                                 .until_ns = until(e, for_ns),
                                 .left = left};
    return 0;
}

static int each(struct simec2 *e, const json_t *v, bool act, const char *field, size_t room,
                step_fn fn, struct err *reterr)
{
    size_t i;
    json_t *item;
    if (!json_is_array(v)) {
        return invalid(reterr, field, "must be a list");
    }
    if (json_array_size(v) > room) {
        return invalid(reterr, field, "there are too many of them");
    }
    json_array_foreach ((json_t *)v, i, item) {
        if (fn(e, item, act, reterr) < 0) {
            return -1;
        }
    }
    return 0;
}

static int out_of_capacity(struct simec2 *e, const json_t *v, bool act, struct err *reterr)
{
    return each(e, v, act, "outOfCapacity", act ? SIZE_MAX : SIMEC2_MAX_RULES - e->n_stockouts,
                stockout, reterr);
}

static int restock(struct simec2 *e, const json_t *v, bool act, struct err *reterr)
{
    if (!json_is_true(v)) {
        return invalid(reterr, "restock", "must be true");
    }
    while (act && e->n_stockouts > 0) {
        simec2_stockout_done(&e->stockouts[--e->n_stockouts]);
    }
    return 0;
}

/* ---- faults --------------------------------------------------------------------------------- */

static void add_rule(struct simec2 *e, const char *action, const struct simec2_fault *f,
                     int64_t times, int64_t for_ns)
{
    const char *any = strchr(action, ':') ? "" : "*:";
    ARRAY_GROW(e->rules, e->n_rules, e->cap_rules);
    e->rules[e->n_rules++] = (struct simec2_rule){.action = xasprintf("%s%s", any, action),
                                                  .fault = *f,
                                                  .times = times,
                                                  .until_ns = until(e, for_ns)};
}

static int room_for_rule(const struct simec2 *e, const char *field, struct err *reterr)
{
    return e->n_rules < SIMEC2_MAX_RULES ? 0 : invalid(reterr, field, "there are too many rules");
}

static int throttle(struct simec2 *e, const json_t *v, bool act, struct err *reterr)
{
    int64_t for_ns;
    if (only(v, "throttle", "action for", reterr) < 0 ||
        duration(v, "for", NS_NEVER, &for_ns, reterr) < 0 ||
        room_for_rule(e, "throttle", reterr) < 0) {
        return -1;
    }
    if (act) {
        struct simec2_fault f = {.kind = SIMEC2_ERROR};
        add_rule(e, jsonx_str_or(v, "action", "*"), &f, -1, for_ns);
    }
    return 0;
}

static enum simec2_fault_kind fault_kind(const char *code)
{
    return str_eq(code, "ConnectionRefused") ? SIMEC2_REFUSED
           : str_eq(code, "LostAnswer")      ? SIMEC2_LOST_ANSWER
           : str_eq(code, "LateAnswer")      ? SIMEC2_LATE_ANSWER
           : str_eq(code, "CutAnswer")       ? SIMEC2_CUT_ANSWER
                                             : SIMEC2_ERROR;
}

/* times is 1 unless `for` alone says how long. */
static int fail_one(struct simec2 *e, const json_t *v, bool act, const char *code,
                    struct err *reterr)
{
    int64_t for_ns, times;
    struct simec2_fault f = {.kind = fault_kind(code)};
    if (duration(v, "for", NS_NEVER, &for_ns, reterr) < 0 ||
        duration(v, "delay", 0, &f.delay_ns, reterr) < 0 ||
        count(v, "times", for_ns == NS_NEVER ? 1 : -1, &times, reterr) < 0 ||
        room_for_rule(e, "fail", reterr) < 0) {
        return -1;
    }
    if (strlen(code) >= sizeof(f.code) || !*code) {
        return invalid(reterr, "fail.code", "must be an error code");
    }
    if (act && times != 0) {
        str_copy(f.code, sizeof(f.code), code);
        add_rule(e, jsonx_str_or(v, "action", "*"), &f, times, for_ns);
    }
    return 0;
}

static int fail_item(struct simec2 *e, const json_t *v, bool act, struct err *reterr)
{
    if (only(v, "fail", "action code times for delay", reterr) < 0) {
        return -1;
    }
    return fail_one(e, v, act, jsonx_str_or(v, "code", "InternalError"), reterr);
}

static int fail(struct simec2 *e, const json_t *v, bool act, struct err *reterr)
{
    if (json_is_array(v)) {
        return each(e, v, act, "fail", act ? SIZE_MAX : SIMEC2_MAX_RULES - e->n_rules, fail_item,
                    reterr);
    }
    return fail_item(e, v, act, reterr);
}

static int cut(struct simec2 *e, const json_t *v, bool act, struct err *reterr)
{
    if (only(v, "cut", "action times for", reterr) < 0) {
        return -1;
    }
    return fail_one(e, v, act, "CutAnswer", reterr);
}

static int no_boot(struct simec2 *e, const json_t *v, bool act, struct err *reterr)
{
    int64_t times;
    if (only(v, "noBoot", "times", reterr) < 0 || count(v, "times", 1, &times, reterr) < 0) {
        return -1;
    }
    if (act) {
        e->no_boot = times;
    }
    return 0;
}

static int reuse_address(struct simec2 *e, const json_t *v, bool act, struct err *reterr)
{
    int64_t times;
    if (only(v, "reuseAddress", "times", reterr) < 0 || count(v, "times", 1, &times, reterr) < 0) {
        return -1;
    }
    if (act) {
        e->reuse = times;
    }
    return 0;
}

static int hide(struct simec2 *e, const json_t *v, bool act, struct err *reterr)
{
    int64_t for_ns;
    if (only(v, "hide", "for", reterr) < 0 || duration(v, "for", 0, &for_ns, reterr) < 0) {
        return -1;
    }
    if (act) {
        e->hide_ns = for_ns;
    }
    return 0;
}

/* ---- prices --------------------------------------------------------------------------------- */

static bool glob_known(const char *glob)
{
    for (uint32_t i = 0; i < ec2_facts_n; i++) {
        if (str_glob(glob, ec2_facts[i].name)) {
            return true;
        }
    }
    return false;
}

static void set_on_demand(struct simec2 *e, const char *glob, int64_t price, bool with_spot)
{
    for (uint32_t i = 0; i < ec2_facts_n; i++) {
        if (!str_glob(glob, ec2_facts[i].name)) {
            continue;
        }
        e->offers[i].on_demand = price;
        for (uint32_t z = 0; with_spot && ec2_facts[i].spot && z < e->n_zones; z++) {
            e->offers[i].spot[z] = price * 4 / 10;
        }
    }
}

static void set_spot(struct simec2 *e, const char *glob, const char *zone, int64_t price)
{
    for (uint32_t i = 0; i < ec2_facts_n; i++) {
        for (uint32_t z = 0; str_glob(glob, ec2_facts[i].name) && z < e->n_zones; z++) {
            if (str_glob(zone, e->zones[z])) {
                e->offers[i].spot[z] = price;
            }
        }
    }
}

static int on_demand(struct simec2 *e, const json_t *v, bool act, bool with_spot,
                     struct err *reterr)
{
    const char *type;
    json_t *price;
    if (!json_is_object(v)) {
        return invalid(reterr, "onDemand", "must be a map");
    }
    json_object_foreach ((json_t *)v, type, price) {
        if (dollars(price) < 0 || !glob_known(type)) {
            return err_set(reterr, ERR_INVALID, "ec2.onDemand.%s: no known type or no price", type);
        }
        if (act) {
            set_on_demand(e, type, dollars(price), with_spot);
        }
    }
    return 0;
}

static int spot_of_zones(struct simec2 *e, const char *type, const json_t *v, bool act,
                         struct err *reterr)
{
    const char *zone;
    json_t *price;
    json_object_foreach ((json_t *)v, zone, price) {
        if (dollars(price) < 0 || simec2_zone_no(e, zone) < 0) {
            return err_set(reterr, ERR_INVALID, "ec2.spot.%s.%s: no known zone or no price", type,
                           zone);
        }
        if (act) {
            set_spot(e, type, zone, dollars(price));
        }
    }
    return 0;
}

static int spot(struct simec2 *e, const json_t *v, bool act, struct err *reterr)
{
    const char *type;
    json_t *price;
    if (!json_is_object(v)) {
        return invalid(reterr, "spot", "must be a map");
    }
    json_object_foreach ((json_t *)v, type, price) {
        if (!glob_known(type) || (!json_is_object(price) && dollars(price) < 0)) {
            return err_set(reterr, ERR_INVALID, "ec2.spot.%s: no known type or no price", type);
        }
        if (json_is_object(price)) {
            if (spot_of_zones(e, type, price, act, reterr) < 0) {
                return -1;
            }
        } else if (act) {
            set_spot(e, type, "*", dollars(price));
        }
    }
    return 0;
}

static int prices(struct simec2 *e, const json_t *v, bool act, struct err *reterr)
{
    const json_t *od = json_object_get(v, "onDemand"), *s = json_object_get(v, "spot");
    if (only(v, "prices", "onDemand spot", reterr) < 0 ||
        (od && on_demand(e, od, act, false, reterr) < 0) || (s && spot(e, s, act, reterr) < 0)) {
        return -1;
    }
    if (act) {
        e->prices_since_ns = simec2_wall(e);
        e->prices_stepped = true;
    }
    return 0;
}

static int64_t scaled(int64_t price, double factor)
{
    double p = price > 0 ? (double)price * factor : -1;
    return p > 0 && p < 9e18 ? llround(p) : price;
}

static int prices_times(struct simec2 *e, const json_t *v, bool act, struct err *reterr)
{
    double factor = json_is_number(v) ? json_number_value(v) : 0;
    if (!(factor > 0 && factor <= 1e6)) {
        return invalid(reterr, "pricesTimes", "must be a number above 0");
    }
    for (uint32_t i = 0; act && i < ec2_facts_n; i++) {
        e->offers[i].on_demand = scaled(e->offers[i].on_demand, factor);
        for (uint32_t z = 0; z < e->n_zones; z++) {
            e->offers[i].spot[z] = scaled(e->offers[i].spot[z], factor);
        }
    }
    if (act) {
        e->prices_since_ns = simec2_wall(e);
        e->prices_stepped = true;
    }
    return 0;
}

/* ---- images, tags --------------------------------------------------------------------------- */

static bool strings_only(const json_t *v)
{
    const char *key;
    json_t *s;
    json_object_foreach ((json_t *)v, key, s) {
        if (!json_is_string(s)) {
            return false;
        }
    }
    return json_is_object(v);
}

static void deprecate_old(struct simec2 *e)
{
    const char *newest = e->images[e->n_images - 1]->release;
    for (size_t i = 0; i < e->n_images; i++) {
        if (!str_eq(e->images[i]->release, newest) && !e->images[i]->deprecated_ns) {
            e->images[i]->deprecated_ns = simec2_wall(e);
        }
    }
}

/* {release, x86_64: ID, arm64: ID}: a newer image of every kind; deprecate: true ages the older
 * ones; parameters: {NAME: VALUE} in SSM. */
static int images(struct simec2 *e, const json_t *v, bool act, struct err *reterr)
{
    const char *release = jsonx_str(v, "release");
    const json_t *parameters = json_object_get(v, "parameters");
    if (only(v, "images", "release x86_64 arm64 deprecate parameters", reterr) < 0) {
        return -1;
    }
    if (parameters && !strings_only(parameters)) {
        return invalid(reterr, "images.parameters", "must be a map of strings");
    }
    if (!release && (json_object_get(v, "x86_64") || json_object_get(v, "arm64"))) {
        return invalid(reterr, "images.release", "must name the release of the new images");
    }
    if (simec2_image_find(e, jsonx_str_or(v, "x86_64", "")) ||
        simec2_image_find(e, jsonx_str_or(v, "arm64", ""))) {
        return invalid(reterr, "images", "that image id exists already");
    }
    if (!act) {
        return 0;
    }
    if (release && simec2_images_release(e, release, jsonx_str(v, "x86_64"), jsonx_str(v, "arm64"),
                                         reterr) < 0) {
        return -1;
    }
    if (jsonx_bool(v, "deprecate", false)) {
        deprecate_old(e);
    }
    if (parameters) {
        json_object_update(e->parameters, (json_t *)parameters);
    }
    return 0;
}

/* null: back to "any tag matches". */
static void set_tags(json_t **tags, const json_t *v)
{
    json_decref(*tags);
    *tags = json_is_null(v) ? NULL : json_deep_copy(v);
}

static void tag_all(struct simec2 *e, const char *what, const json_t *v)
{
    for (uint32_t z = 0; z < e->n_zones; z++) {
        if (str_eq(what, "subnet") || str_eq(what, e->subnets[z].id)) {
            set_tags(&e->subnets[z].tags, v);
        }
    }
    if (str_eq(what, "sg") || simec2_is_group(what)) {
        set_tags(&e->group_tags, v);
    }
    for (size_t i = 0; i < e->n_images; i++) {
        struct simec2_image *m = e->images[i];
        bool newest = m == simec2_image_newest(e, "al2023", m->arch, "standard");
        if (str_eq(what, m->id) || (str_eq(what, "image") && newest)) {
            set_tags(&m->tags, v);
        }
    }
}

static int tags(struct simec2 *e, const json_t *v, bool act, struct err *reterr)
{
    const char *what;
    json_t *map;
    if (!json_is_object(v)) {
        return invalid(reterr, "tags", "must be a map");
    }
    json_object_foreach ((json_t *)v, what, map) {
        bool known = str_eq(what, "subnet") || str_eq(what, "sg") || str_eq(what, "image") ||
                     simec2_subnet_find(e, what) || simec2_is_group(what) ||
                     simec2_image_find(e, what);
        if (!known || (!strings_only(map) && !json_is_null(map))) {
            return err_set(reterr, ERR_INVALID, "ec2.tags.%s: must be tags of subnet, sg or image",
                           what);
        }
        if (act) {
            tag_all(e, what, map);
        }
    }
    return 0;
}

/* ---- instances ------------------------------------------------------------------------------ */

/* Calls fn for each id of the list. */
static int each_id(struct simec2 *e, const json_t *ids, const char *field, bool act,
                   void (*fn)(struct simec2_inst *x), struct err *reterr)
{
    size_t i;
    json_t *id;
    if (!json_is_array(ids)) {
        return invalid(reterr, field, "must be a list of instance ids");
    }
    json_array_foreach ((json_t *)ids, i, id) {
        struct simec2_inst *x = simec2_inst_find(e, json_string_value(id));
        if (!x) {
            return err_set(reterr, ERR_INVALID, "ec2.%s: there is no instance %s", field,
                           json_is_string(id) ? json_string_value(id) : "(no text)");
        }
        if (act && simec2_inst_alive(x)) {
            fn(x);
        }
    }
    return 0;
}

static void kill_one(struct simec2_inst *x)
{
    simec2_kill(x->e, x->pub.id);
}

static void rebalance_one(struct simec2_inst *x)
{
    simec2_event_rebalance(x);
}

static int spot_interruption(struct simec2 *e, const json_t *v, bool act, struct err *reterr)
{
    return each_id(e, v, "spotInterruption", act, simec2_interrupt, reterr);
}

static int rebalance(struct simec2 *e, const json_t *v, bool act, struct err *reterr)
{
    return each_id(e, v, "rebalance", act, rebalance_one, reterr);
}

static int terminate(struct simec2 *e, const json_t *v, bool act, struct err *reterr)
{
    return each_id(e, v, "terminate", act, kill_one, reterr);
}

static int stop(struct simec2 *e, const json_t *v, bool act, struct err *reterr)
{
    return each_id(e, v, "stop", act, simec2_stop, reterr);
}

static void nothing(struct simec2_inst *x UNUSED)
{
}

static int status(struct simec2 *e, const json_t *v, bool act, struct err *reterr)
{
    const json_t *ids = json_object_get(v, "target");
    const char *check = jsonx_str_or(v, "check", "instance");
    int64_t for_ns;
    if (only(v, "status", "target check for", reterr) < 0 ||
        duration(v, "for", NS_NEVER, &for_ns, reterr) < 0 ||
        each_id(e, ids, "status.target", act, nothing, reterr) < 0) {
        return -1;
    }
    bool system = str_eq(check, "system");
    if (!system && !str_eq(check, "instance")) {
        return invalid(reterr, "status.check", "must be instance or system");
    }
    for (size_t i = 0; act && i < json_array_size(ids); i++) {
        struct simec2_inst *x = simec2_inst_find(e, json_string_value(json_array_get(ids, i)));
        *(system ? &x->system_bad_until_ns : &x->instance_bad_until_ns) = until(e, for_ns);
        x->bad_since_ns = simec2_wall(e);
    }
    return 0;
}

static int scheduled_event(struct simec2 *e, const json_t *v, bool act, struct err *reterr)
{
    const json_t *ids = json_object_get(v, "target");
    const char *code = jsonx_str_or(v, "code", "instance-retirement");
    if (only(v, "scheduledEvent", "target code", reterr) < 0 ||
        each_id(e, ids, "scheduledEvent.target", act, nothing, reterr) < 0) {
        return -1;
    }
    for (size_t i = 0; act && i < json_array_size(ids); i++) {
        struct simec2_inst *x = simec2_inst_find(e, json_string_value(json_array_get(ids, i)));
        str_copy(x->event_code, sizeof(x->event_code), code);
    }
    return 0;
}

/* An instance of another cluster with the same name. */
static int foreign_one(struct simec2 *e, const json_t *v, bool act, struct err *reterr)
{
    const char *type = jsonx_str(v, "type"), *uid = jsonx_str_or(v, "clusterUID", "foreign");
    const char *zone = jsonx_str_or(v, "zone", e->zones[0]);
    int fact = type ? ec2_find_fact(type) : -1, z = simec2_zone_no(e, zone);
    if (only(v, "foreign[]", "type zone clusterUID capacityType", reterr) < 0) {
        return -1;
    }
    if (fact < 0 || z < 0) {
        return invalid(reterr, "foreign[]", "no known type or zone");
    }
    if (!act) {
        return 0;
    }
    AUTO_FREE char *owned = xasprintf("kubernetes.io/cluster/%s", e->opts.cluster);
    AUTO_JSON json_t *t = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s}", owned, "owned", "eks:eks-cluster-name", e->opts.cluster,
        "karpenter.sh/nodepool", "default", "karpenter.k8s.aws/ec2nodeclass", "default",
        "karp.dev/cluster-uid", uid, "karp.dev/nodeclaim-uid", "00000000-0000-0000-0000-foreign");
    const struct simec2_launch l = {.fact = fact,
                                    .zone_no = (uint32_t)z,
                                    .spot = str_eq(jsonx_str(v, "capacityType"), "spot"),
                                    .tags = t};
    return simec2_launch(e, &l) ? 0 : invalid(reterr, "foreign[]", "the account is full");
}

static int foreign(struct simec2 *e, const json_t *v, bool act, struct err *reterr)
{
    return each(e, v, act, "foreign", SIMEC2_MAX_RULES, foreign_one, reterr);
}

static int reservations(struct simec2 *e, const json_t *v, bool act, struct err *reterr)
{
    return each(e, v, act, "capacityReservations", SIMEC2_MAX_RULES, simec2_step_reservation,
                reterr);
}

static int placement_groups(struct simec2 *e, const json_t *v, bool act, struct err *reterr)
{
    return each(e, v, act, "placementGroups", SIMEC2_MAX_RULES, simec2_step_pgroup, reterr);
}

static int quota(struct simec2 *e, const json_t *v, bool act, struct err *reterr)
{
    return only(v, "quota", "onDemandVcpu spotVcpu", reterr) < 0
               ? -1
               : simec2_step_quota(e, v, act, reterr);
}

/* ---- the table ------------------------------------------------------------------------------ */

static const struct step steps[] = {
    {"outOfCapacity", out_of_capacity},
    {"restock", restock},
    {"throttle", throttle},
    {"fail", fail},
    {"cut", cut},
    {"noBoot", no_boot},
    {"reuseAddress", reuse_address},
    {"hide", hide},
    {"prices", prices},
    {"pricesTimes", prices_times},
    {"images", images},
    {"tags", tags},
    {"spotInterruption", spot_interruption},
    {"rebalance", rebalance},
    {"terminate", terminate},
    {"stop", stop},
    {"messages", simec2_step_messages},
    {"status", status},
    {"scheduledEvent", scheduled_event},
    {"foreign", foreign},
    {"capacityReservations", reservations},
    {"placementGroups", placement_groups},
    {"quota", quota},
};

static int run_steps(struct simec2 *e, const struct step *table, size_t n, const json_t *v,
                     bool act, struct err *reterr)
{
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)v, key, value) {
        size_t i = 0;
        while (i < n && !str_eq(table[i].key, key)) {
            i++;
        }
        if (i == n) {
            return err_set(reterr, ERR_INVALID, "ec2: unknown field \"%s\"", key);
        }
        if (table[i].fn(e, value, act, reterr) < 0) {
            return -1;
        }
    }
    return 0;
}

int simec2_step(struct simec2 *e, const json_t *step, struct err *reterr)
{
    if (!json_is_object(step)) {
        return err_set(reterr, ERR_INVALID, "ec2: must be a map");
    }
    return run_steps(e, steps, ARRAY_LEN(steps), step, false, reterr) < 0
               ? -1
               : run_steps(e, steps, ARRAY_LEN(steps), step, true, reterr);
}

/* ---- spec.ec2 ------------------------------------------------------------------------------- */

static int types(struct simec2 *e, const json_t *v, bool act, struct err *reterr)
{
    size_t i;
    json_t *glob;
    for (uint32_t k = 0; act && k < ec2_facts_n; k++) {
        e->offers[k].wanted = false;
    }
    if (!json_is_array(v)) {
        return invalid(reterr, "types", "must be a list of globs");
    }
    json_array_foreach ((json_t *)v, i, glob) {
        const char *text = json_string_value(glob);
        if (!text || !glob_known(text)) {
            return err_set(reterr, ERR_INVALID, "ec2.types[%zu]: matches no instance type", i);
        }
        for (uint32_t k = 0; act && k < ec2_facts_n; k++) {
            e->offers[k].wanted = e->offers[k].wanted || str_glob(text, ec2_facts[k].name);
        }
    }
    return 0;
}

static int boot(struct simec2 *e, const json_t *v, bool act, struct err *reterr)
{
    int64_t ns;
    if (!json_is_string(v) || !timefmt_parse_duration_days(json_string_value(v), &ns) || ns < 0) {
        return invalid(reterr, "boot", "must be a duration such as 30s");
    }
    if (act) {
        e->opts.boot_ns = ns;
    }
    return 0;
}

/* The kubelet's; only looked at here. */
static int ready(struct simec2 *e UNUSED, const json_t *v, bool act UNUSED, struct err *reterr)
{
    int64_t ns;
    return json_is_string(v) && timefmt_parse_duration_days(json_string_value(v), &ns)
               ? 0
               : invalid(reterr, "ready", "must be a duration such as 8s");
}

static int first_on_demand(struct simec2 *e, const json_t *v, bool act, struct err *reterr)
{
    return on_demand(e, v, act, true, reterr);
}

int simec2_configure(struct simec2 *e, const json_t *spec, struct err *reterr)
{
    static const struct step fields[] = {
        {"types", types}, {"boot", boot},
        {"ready", ready}, {"onDemand", first_on_demand},
        {"spot", spot},   {"outOfCapacity", out_of_capacity},
    };
    if (!json_is_object(spec)) {
        return err_set(reterr, ERR_INVALID, "ec2: must be a map");
    }
    if (run_steps(e, fields, ARRAY_LEN(fields), spec, false, reterr) < 0) {
        return -1;
    }
    /* In the table's order: spot prices win over the share of on-demand ones. */
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const json_t *v = json_object_get(spec, fields[i].key);
        if (v && fields[i].fn(e, v, true, reterr) < 0) {
            return -1;
        }
    }
    return 0;
}
