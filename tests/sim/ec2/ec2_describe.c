/* ec2_describe.c - calls about instances. */
#include "ec2_priv.h"

#include "common/base/hash.h"

#define IDS_MAX 1000u

static int state_code(enum simec2_state s)
{
    static const int codes[] = {0, 16, 32, 48, 64, 80};
    return codes[s];
}

static bool visible(const struct simec2_inst *x)
{
    return simec2_mono(x->e) >= x->launched_mono_ns + x->e->hide_ns;
}

/* All instances named by InstanceId.N; false: the call has failed. */
static bool find_all(struct simec2_call *c, const char *const *ids, size_t n, bool only_visible)
{
    if (n > IDS_MAX) {
        simec2_fail(c, "InvalidParameterValue", "There are more than %u instance IDs", IDS_MAX);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        const struct simec2_inst *x = simec2_inst_find(c->e, ids[i]);
        if (!str_starts(ids[i], "i-")) {
            simec2_fail(c, "InvalidInstanceID.Malformed", "Invalid id: \"%s\"", ids[i]);
            return false;
        }
        if (!x || (only_visible && !visible(x))) {
            simec2_fail(c, "InvalidInstanceID.NotFound", "The instance ID '%s' does not exist",
                        ids[i]);
            return false;
        }
    }
    return true;
}

static const char *inst_attr(const void *obj, const char *name, size_t i)
{
    const struct simec2_inst *x = obj;
    if (str_eq(name, "instance.group-id")) {
        size_t n = 0;
        while (x->groups && x->groups[n] && n < i) {
            n++;
        }
        return x->groups ? x->groups[n] : NULL;
    }
    if (i > 0) {
        return NULL;
    }
    const struct {
        const char *name, *value;
    } attrs[] = {
        {"instance-id", x->pub.id},
        {"instance-state-name", simec2_state_name(x->pub.state)},
        {"instance-type", x->pub.type},
        {"availability-zone", x->pub.zone},
        {"subnet-id", x->pub.subnet_id},
        {"image-id", x->pub.image_id},
        {"vpc-id", SIMEC2_VPC_ID},
        {"private-dns-name", x->pub.private_dns},
        {"private-ip-address", x->pub.private_ip},
        {"instance-lifecycle", x->pub.spot ? "spot" : NULL},
    };
    for (size_t k = 0; k < ARRAY_LEN(attrs); k++) {
        if (str_eq(attrs[k].name, name)) {
            return attrs[k].value;
        }
    }
    return NULL;
}

#define INSTANCE_FILTERS                                                                           \
    "instance-id instance-state-name instance-type availability-zone subnet-id image-id vpc-id "   \
    "private-dns-name private-ip-address instance-lifecycle instance.group-id"

static void write_state(struct buf *b, const char *tag, enum simec2_state s)
{
    put_open(b, tag);
    put_i64(b, "code", state_code(s));
    put_str(b, "name", simec2_state_name(s));
    put_close(b, tag);
}

static void write_groups(struct buf *b, const struct simec2_inst *x)
{
    put_open(b, "groupSet");
    for (size_t i = 0; x->groups && x->groups[i]; i++) {
        put_open(b, "item");
        put_str(b, "groupId", x->groups[i]);
        put_str(b, "groupName",
                str_eq(x->groups[i], SIMEC2_GROUP_ID) ? SIMEC2_GROUP_NAME : SIMEC2_EXTRA_NAME);
        put_close(b, "item");
    }
    put_close(b, "groupSet");
}

static void write_placement(struct buf *b, const struct simec2_inst *x)
{
    const char *tenancy = x->tmpl && x->tmpl->tenancy ? x->tmpl->tenancy : "default";
    put_open(b, "placement");
    put_str(b, "availabilityZone", x->pub.zone);
    put_str(b, "availabilityZoneId", x->pub.zone_id);
    put_str(b, "groupName", "");
    put_str(b, "groupId", x->tmpl ? x->tmpl->group_id : NULL);
    put_str(b, "tenancy", tenancy);
    put_close(b, "placement");
}

static void write_reason(struct buf *b, const struct simec2_inst *x)
{
    if (x->state_reason) {
        put_open(b, "stateReason");
        put_str(b, "code", x->state_reason_code);
        put_str(b, "message", x->state_reason);
        put_close(b, "stateReason");
    }
}

static void write_interfaces(struct buf *b, const struct simec2_inst *x)
{
    put_open(b, "networkInterfaceSet");
    for (size_t i = 0; x->tmpl && i < x->tmpl->n_interfaces; i++) {
        put_open(b, "item");
        put_str(b, "interfaceType", x->tmpl->interface_types[i]);
        put_str(b, "subnetId", x->pub.subnet_id);
        write_groups(b, x);
        put_close(b, "item");
    }
    put_close(b, "networkInterfaceSet");
}

static void write_from_template(struct simec2_call *c, const struct simec2_inst *x)
{
    struct buf *b = &c->out;
    if (x->tmpl && x->tmpl->profile) {
        put_open(b, "iamInstanceProfile");
        buf_printf(b, "<arn>arn:aws:iam::%s:instance-profile/%s</arn>", c->e->opts.account,
                   x->tmpl->profile);
        put_close(b, "iamInstanceProfile");
    }
    put_str(b, "capacityReservationId", x->reservation_id);
    if (x->tmpl && x->tmpl->reservation_preference) {
        put_open(b, "capacityReservationSpecification");
        put_str(b, "capacityReservationPreference", x->tmpl->reservation_preference);
        put_close(b, "capacityReservationSpecification");
    }
}

static void write_instance(struct simec2_call *c, const struct simec2_inst *x)
{
    struct buf *b = &c->out;
    bool there = x->pub.state != SIMEC2_TERMINATED; /* network is gone afterwards */
    put_str(b, "instanceId", x->pub.id);
    put_str(b, "imageId", x->pub.image_id);
    write_state(b, "instanceState", x->pub.state);
    put_str(b, "privateDnsName", there ? x->pub.private_dns : "");
    put_str(b, "dnsName", "");
    put_str(b, "instanceType", x->pub.type);
    put_time(b, "launchTime", x->pub.launched_ns);
    write_placement(b, x);
    put_str(b, "subnetId", there ? x->pub.subnet_id : NULL);
    put_str(b, "vpcId", there ? SIMEC2_VPC_ID : NULL);
    put_str(b, "privateIpAddress", there ? x->pub.private_ip : NULL);
    if (there) {
        write_groups(b, x);
        write_interfaces(b, x);
    }
    write_reason(b, x);
    put_str(b, "architecture", str_eq(x->pub.arch, "arm64") ? "arm64" : "x86_64");
    put_str(b, "instanceLifecycle", x->pub.spot ? "spot" : NULL);
    put_str(b, "spotInstanceRequestId", x->spot_request_id);
    write_from_template(c, x);
    put_tags(b, x->tags);
}

static void write_reservation(struct simec2_call *c, const struct simec2_inst *x)
{
    struct buf *b = &c->out;
    put_open(b, "item");
    buf_printf(b, "<reservationId>r-%017llx</reservationId>", (unsigned long long)x->seq);
    put_str(b, "ownerId", c->e->opts.account);
    put_open(b, "groupSet");
    put_close(b, "groupSet");
    put_open(b, "instancesSet");
    put_open(b, "item");
    write_instance(c, x);
    put_close(b, "item");
    put_close(b, "instancesSet");
    put_close(b, "item");
}

static bool among(const char *const *ids, size_t n, const char *id)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(ids[i], id)) {
            return true;
        }
    }
    return n == 0;
}

/* The page of visible instances that match; NULL-terminated. *ret_next is 0 on the last page. */
static struct simec2_inst **select_page(struct simec2_call *c, const char *const *ids, size_t n_ids,
                                        const struct simec2_filters *f,
                                        const struct simec2_page *page, uint64_t *ret_next)
{
    struct simec2 *e = c->e;
    struct simec2_inst **v = ARENA_NEW_N(&c->mem, struct simec2_inst *, page->limit + 1);
    size_t n = 0;
    *ret_next = 0;
    for (size_t i = 0; i < e->n_insts; i++) {
        struct simec2_inst *x = e->insts[i];
        if (x->seq < page->from || !visible(x) || !among(ids, n_ids, x->pub.id) ||
            !simec2_filter_match(f, x->tags, inst_attr, x)) {
            continue;
        }
        if (n == page->limit) {
            *ret_next = x->seq;
            break;
        }
        v[n++] = x;
    }
    return v;
}

/* Ids, filters and page of a Describe call; false: it has failed. */
static bool read_describe(struct simec2_call *c, const char *filter_names, size_t *ret_n,
                          const char *const **ret_ids, struct simec2_filters *f,
                          struct simec2_page *page)
{
    *ret_ids = simec2_param_list(c, ret_n, "InstanceId");
    if (*ret_n > 0 && simec2_param(c, "MaxResults")) {
        simec2_fail(c, "InvalidParameterCombination",
                    "The parameter instancesSet cannot be used with the parameter maxResults");
        return false;
    }
    return simec2_filters(c, filter_names, f) && simec2_page(c, 5, 1000, page) &&
           find_all(c, *ret_ids, *ret_n, true);
}

void simec2_describe_instances(struct simec2_call *c)
{
    size_t n_ids;
    const char *const *ids;
    struct simec2_filters f;
    struct simec2_page page;
    if (!read_describe(c, INSTANCE_FILTERS, &n_ids, &ids, &f, &page)) {
        return;
    }
    uint64_t next;
    struct simec2_inst **v = select_page(c, ids, n_ids, &f, &page, &next);
    simec2_xml_begin(c);
    put_open(&c->out, "reservationSet");
    for (size_t i = 0; v[i]; i++) {
        write_reservation(c, v[i]);
    }
    put_close(&c->out, "reservationSet");
    put_str(&c->out, "nextToken", next ? simec2_page_token(c, next) : NULL);
    simec2_xml_end(c);
}

/* ---- terminate, tag ------------------------------------------------------------------------- */

/* What a machine says that boots, and why it does not join. */
void simec2_console(struct simec2_call *c)
{
    const char *id = simec2_param(c, "InstanceId");
    if (!id) {
        simec2_fail(c, "MissingParameter", "The request must contain the parameter InstanceId");
        return;
    }
    if (!find_all(c, &id, 1, false)) {
        return;
    }
    const struct simec2_inst *x = simec2_inst_find(c->e, id);
    AUTO_FREE char *said = xasprintf(
        "[    0.000000] Linux version 6.12\r\n\033[0;32m[  OK  ]\033[0m Started cloud-init\r\n"
        "nodeadm: %s\r\n\r\nlogin: ",
        x->pub.why_not_joined ? x->pub.why_not_joined : "kubelet is running");
    char *text AUTO_FREE = base64_encode(said, strlen(said));
    simec2_xml_begin(c);
    put_str(&c->out, "instanceId", id);
    put_str(&c->out, "output", x->pub.state == SIMEC2_PENDING ? NULL : text);
    simec2_xml_end(c);
}

void simec2_terminate_instances(struct simec2_call *c)
{
    size_t n;
    const char *const *ids = simec2_param_list(c, &n, "InstanceId");
    if (n == 0) {
        simec2_fail(c, "MissingParameter", "The request must contain the parameter InstanceId");
        return;
    }
    if (!find_all(c, ids, n, false)) {
        return;
    }
    if (simec2_param_bool(c, "DryRun")) {
        simec2_fail(c, "DryRunOperation", "Request would have succeeded, but DryRun flag is set.");
        return;
    }
    simec2_xml_begin(c);
    put_open(&c->out, "instancesSet");
    for (size_t i = 0; i < n; i++) {
        struct simec2_inst *x = simec2_inst_find(c->e, ids[i]);
        enum simec2_state before = x->pub.state;
        simec2_terminate(x, "Client.UserInitiatedShutdown",
                         "Client.UserInitiatedShutdown: User initiated shutdown");
        put_open(&c->out, "item");
        put_str(&c->out, "instanceId", x->pub.id);
        write_state(&c->out, "currentState", x->pub.state);
        write_state(&c->out, "previousState", before);
        put_close(&c->out, "item");
    }
    put_close(&c->out, "instancesSet");
    simec2_xml_end(c);
}

static json_t *tags_of(struct simec2_call *c, const char *id)
{
    struct simec2_inst *x = simec2_inst_find(c->e, id);
    struct simec2_template *t = x ? NULL : simec2_template_find(c->e, NULL, id);
    return x ? x->tags : t ? t->tags : NULL;
}

static bool may_tag(struct simec2_call *c, const char *const *ids, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!tags_of(c, ids[i])) {
            simec2_fail(c, "InvalidInstanceID.NotFound", "The instance ID '%s' does not exist",
                        ids[i]);
            return false;
        }
    }
    size_t k = 1;
    for (const char *key; (key = simec2_param(c, "Tag.%zu.Key", k)); k++) {
        if (str_starts(key, "aws:") || !*key) {
            simec2_fail(c, "InvalidParameterValue",
                        "Tag keys starting with 'aws:' are reserved for internal use");
            return false;
        }
    }
    if (n == 0 || k == 1) {
        simec2_fail(c, "MissingParameter", "The request must contain the parameter %s",
                    n == 0 ? "ResourceId" : "Tag");
        return false;
    }
    return true;
}

void simec2_create_tags(struct simec2_call *c)
{
    size_t n;
    const char *const *ids = simec2_param_list(c, &n, "ResourceId");
    if (!may_tag(c, ids, n)) {
        return;
    }
    if (simec2_param_bool(c, "DryRun")) {
        simec2_fail(c, "DryRunOperation", "Request would have succeeded, but DryRun flag is set.");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        json_t *tags = tags_of(c, ids[i]);
        size_t k = 1;
        for (const char *key; (key = simec2_param(c, "Tag.%zu.Key", k)); k++) {
            const char *value = simec2_param(c, "Tag.%zu.Value", k);
            json_object_set_new(tags, key, json_string(value ? value : ""));
        }
    }
    simec2_xml_begin(c);
    put_bool(&c->out, "return", true);
    simec2_xml_end(c);
}

/* ---- status --------------------------------------------------------------------------------- */

static const char *status_attr(const void *obj, const char *name, size_t i)
{
    const struct simec2_inst *x = obj;
    int64_t now_ns = simec2_mono(x->e);
    if (i > 0) {
        return NULL;
    }
    if (str_eq(name, "instance-status.status")) {
        return now_ns < x->instance_bad_until_ns ? "impaired" : "ok";
    }
    if (str_eq(name, "system-status.status")) {
        return now_ns < x->system_bad_until_ns ? "impaired" : "ok";
    }
    if (str_eq(name, "event.code")) {
        return x->event_code[0] ? x->event_code : NULL;
    }
    return inst_attr(obj, name, i);
}

static void write_check(struct buf *b, const struct simec2_inst *x, const char *tag, bool bad)
{
    put_open(b, tag);
    put_str(b, "status", bad ? "impaired" : "ok");
    put_open(b, "details");
    put_open(b, "item");
    put_str(b, "name", "reachability");
    put_str(b, "status", bad ? "failed" : "passed");
    if (bad) {
        put_time(b, "impairedSince", x->bad_since_ns);
    }
    put_close(b, "item");
    put_close(b, "details");
    put_close(b, tag);
}

static void write_status(struct simec2_call *c, const struct simec2_inst *x)
{
    struct buf *b = &c->out;
    int64_t now_ns = simec2_mono(c->e);
    put_open(b, "item");
    put_str(b, "instanceId", x->pub.id);
    put_str(b, "availabilityZone", x->pub.zone);
    if (x->event_code[0]) {
        put_open(b, "eventsSet");
        put_open(b, "item");
        put_str(b, "code", x->event_code);
        put_str(b, "description", "scheduled");
        put_close(b, "item");
        put_close(b, "eventsSet");
    }
    write_state(b, "instanceState", x->pub.state);
    write_check(b, x, "systemStatus", now_ns < x->system_bad_until_ns);
    write_check(b, x, "instanceStatus", now_ns < x->instance_bad_until_ns);
    put_close(b, "item");
}

void simec2_describe_status(struct simec2_call *c)
{
    size_t n_ids;
    const char *const *ids;
    struct simec2_filters f;
    struct simec2_page page;
    if (!read_describe(c,
                       "instance-status.status system-status.status event.code "
                       "availability-zone instance-state-name",
                       &n_ids, &ids, &f, &page)) {
        return;
    }
    uint64_t next;
    struct simec2_inst **v = select_page(c, ids, n_ids, &(struct simec2_filters){0}, &page, &next);
    bool all = simec2_param_bool(c, "IncludeAllInstances");
    simec2_xml_begin(c);
    put_open(&c->out, "instanceStatusSet");
    for (size_t i = 0; v[i]; i++) {
        if ((all || v[i]->pub.state == SIMEC2_RUNNING) &&
            simec2_filter_match(&f, v[i]->tags, status_attr, v[i])) {
            write_status(c, v[i]);
        }
    }
    put_close(&c->out, "instanceStatusSet");
    put_str(&c->out, "nextToken", next ? simec2_page_token(c, next) : NULL);
    simec2_xml_end(c);
}
