/* ec2_kube.c - see ec2_kube.h. One small state machine per node; one request in flight each. */
#include "ec2_kube.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"

#include <stdarg.h>

#define RETRY_NS NS_PER_S
#define CHECK_NS (3 * NS_PER_S) /* after it is down: did anybody make it Ready again? */
#define UNREACHABLE "node.kubernetes.io/unreachable"

enum phase {
    CREATING,  /* POST, again and again */
    LOOKING,   /* the name is taken: GET, is it by ourselves? */
    UP,        /* KWOK's */
    READING,   /* down: GET */
    TAINTING,  /* PATCH annotation and taints */
    SILENCING, /* PATCH status */
    DOWN       /* looked after once more, then let go */
};

struct node {
    struct ec2_kube *k;
    char *name, *provider_id;
    json_t *object; /* to be created; later as last read */
    enum phase phase;
    bool going, checked;
    struct timer timer;
    uint64_t request; /* 0 = none in flight */
};

struct ec2_kube {
    const struct kube_port *port;
    const struct clock *clock;
    struct timers *timers;
    struct ec2_kube_opts opts;
    struct map *nodes; /* by name */
};

static void turn(void *arg);

static void note(struct ec2_kube *k, const char *fmt, ...) PRINTF(2, 3);
static void note(struct ec2_kube *k, const char *fmt, ...)
{
    char text[640];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (k->opts.note) {
        k->opts.note(k->opts.ctx, text);
    }
}

static void node_free(struct node *n)
{
    timer_stop(n->k->timers, &n->timer);
    if (n->request) {
        n->k->port->cancel(n->k->port->ctx, n->request);
    }
    json_decref(n->object);
    free(n->name);
    free(n->provider_id);
    free(n);
}

static void let_go(struct node *n)
{
    map_del(n->k->nodes, n->name);
    node_free(n);
}

/* The next turn after dt, in that phase. */
static void next(struct node *n, enum phase phase, int64_t dt_ns)
{
    n->phase = phase;
    timer_set(n->k->timers, &n->timer, clock_mono(n->k->clock) + dt_ns, turn, n);
}

/* ---- what is sent --------------------------------------------------------------------------- */

static json_t *annotation_patch(json_t *value)
{
    return json_pack("{s:{s:{s:o}}}", "metadata", "annotations", EC2_KUBE_ANNOTATION, value);
}

static json_t *unreachable(const char *effect, const char *now)
{
    return json_pack("{s:s, s:s, s:s}", "key", UNREACHABLE, "effect", effect, "timeAdded", now);
}

/* Without the annotation, with the taints, against the version that was read. */
static json_t *taint_patch(const struct node *n, const char *now)
{
    json_t *taints = json_array(), *t;
    const json_t *old = jsonx_arr(n->object, "spec.taints");
    size_t i;
    json_array_foreach ((json_t *)old, i, t) {
        if (!str_eq(jsonx_str(t, "key"), UNREACHABLE)) {
            json_array_append(taints, t);
        }
    }
    json_array_append_new(taints, unreachable("NoSchedule", now));
    json_array_append_new(taints, unreachable("NoExecute", now));
    json_t *patch = annotation_patch(json_null());
    jsonx_set_new(patch, "metadata.resourceVersion",
                  json_string(jsonx_str_or(n->object, "metadata.resourceVersion", "")));
    jsonx_set_new(patch, "spec.taints", taints);
    return patch;
}

static json_t *status_patch(const struct node *n, const char *now)
{
    json_t *conditions = json_array(), *c;
    const json_t *old = jsonx_arr(n->object, "status.conditions");
    size_t i;
    json_array_foreach ((json_t *)old, i, c) {
        if (!str_eq(jsonx_str(c, "type"), "Ready")) {
            json_array_append(conditions, c);
        }
    }
    json_array_append_new(conditions,
                          json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "type", "Ready", "status",
                                    "Unknown", "reason", "NodeStatusUnknown", "message",
                                    "Kubelet stopped posting node status.", "lastHeartbeatTime",
                                    now, "lastTransitionTime", now));
    return json_pack("{s:{s:s}, s:{s:o}}", "metadata", "resourceVersion",
                     jsonx_str_or(n->object, "metadata.resourceVersion", ""), "status",
                     "conditions", conditions);
}

/* The taints are not looked at: the node lifecycle controller takes NoExecute away again while a
 * whole zone is down. */
static bool silent(const json_t *node)
{
    const json_t *conditions = jsonx_arr(node, "status.conditions");
    size_t i;
    json_t *c;
    bool unknown = false;
    json_array_foreach ((json_t *)conditions, i, c) {
        unknown = unknown || (str_eq(jsonx_str(c, "type"), "Ready") &&
                              str_eq(jsonx_str(c, "status"), "Unknown"));
    }
    const json_t *annotations = jsonx_at(node, "metadata.annotations");
    return unknown && !json_object_get(annotations, EC2_KUBE_ANNOTATION);
}

/* ---- what comes back ------------------------------------------------------------------------ */

static void failed(struct node *n, const struct err *err)
{
    if (err->kind == ERR_NOT_FOUND && n->phase != CREATING) {
        note(n->k, "node %s is gone", n->name);
        let_go(n);
        return;
    }
    if (err->kind == ERR_EXISTS && n->phase == CREATING) {
        next(n, LOOKING, 0);
        return;
    }
    if (err->kind != ERR_CONFLICT) {
        note(n->k, "node %s: %s; again in a second", n->name, err->msg);
    }
    bool down = n->phase >= READING;
    next(n, down ? READING : n->phase, err->kind == ERR_CONFLICT ? NS_PER_S / 10 : RETRY_NS);
}

static void succeeded(struct node *n)
{
    switch (n->phase) {
    case LOOKING:
        if (!str_eq(jsonx_str(n->object, "spec.providerID"), n->provider_id)) {
            note(n->k, "node %s exists already: this kubelet never registers", n->name);
            let_go(n);
            return;
        }
        n->phase = UP;
        break;
    case CREATING:
        note(n->k, "node %s registered", n->name);
        n->phase = UP;
        break;
    case READING:
        if (!silent(n->object)) {
            n->checked = false;
            next(n, TAINTING, 0);
        } else if (n->checked) {
            let_go(n);
            return;
        } else {
            next(n, DOWN, CHECK_NS);
        }
        break;
    case TAINTING:
        next(n, SILENCING, 0);
        break;
    case SILENCING:
        note(n->k, "node %s is silent", n->name);
        next(n, DOWN, CHECK_NS);
        break;
    default:
        break;
    }
}

static void on_done(void *arg, const struct kube_resp *resp)
{
    struct node *n = arg;
    n->request = 0;
    if (resp->err.kind != ERR_NONE) {
        failed(n, &resp->err);
        return;
    }
    if (resp->body) {
        json_decref(n->object);
        n->object = json_incref(resp->body);
    }
    if (n->going && n->phase < READING) {
        next(n, READING, 0);
        return;
    }
    succeeded(n);
}

static void ask(struct node *n, const char *method, const char *path, json_t *steal)
{
    const struct kube_req req = {.method = method,
                                 .path = path,
                                 .body = steal,
                                 .content_type = str_eq(method, "PATCH") ? KUBE_MERGE_PATCH : NULL};
    n->request = n->k->port->request(n->k->port->ctx, &req, on_done, n);
    json_decref(steal);
}

/* ---- the machine ---------------------------------------------------------------------------- */

static void turn(void *arg)
{
    struct node *n = arg;
    char path[160], status[176], now[TIMEFMT_TEXT];
    snprintf(path, sizeof(path), "/api/v1/nodes/%s", n->name);
    snprintf(status, sizeof(status), "%s/status", path);
    timefmt_rfc3339(clock_wall(n->k->clock), now);
    if (n->going && n->phase < READING) {
        n->phase = READING;
    }
    switch (n->phase) {
    case CREATING:
        ask(n, "POST", "/api/v1/nodes", json_incref(n->object));
        break;
    case UP:
        break;
    case DOWN:
        n->checked = true;
        n->phase = READING;
        ask(n, "GET", path, NULL);
        break;
    case LOOKING:
    case READING:
        ask(n, "GET", path, NULL);
        break;
    case TAINTING:
        ask(n, "PATCH", path, taint_patch(n, now));
        break;
    case SILENCING:
        ask(n, "PATCH", status, status_patch(n, now));
        break;
    }
}

void ec2_kube_boot(struct ec2_kube *k, const struct simec2_boot *b)
{
    struct node *n = NEW(struct node);
    bool full = false;
    n->k = k;
    n->name = xstrdup(b->inst->node_name);
    n->provider_id = xstrdup(b->inst->provider_id);
    n->object = json_deep_copy(b->node);
    AUTO_JSON json_t *patch = annotation_patch(json_string("fake"));
    jsonx_merge_patch(n->object, patch);
    struct node *before = map_put(k->nodes, n->name, n, &full);
    if (before) {
        node_free(before);
    }
    if (full) {
        note(k, "node %s: there are too many", n->name);
        node_free(n);
        return;
    }
    next(n, CREATING, k->opts.ready_ns);
}

void ec2_kube_down(struct ec2_kube *k, const struct simec2_instance *inst)
{
    struct node *n = map_get(k->nodes, inst->node_name);
    if (!n || n->going) {
        return;
    }
    n->going = true;
    if (!n->request) {
        next(n, READING, 0);
    }
}

struct ec2_kube *ec2_kube_new(const struct kube_port *port, const struct clock *clock,
                              struct timers *timers, const struct ec2_kube_opts *opts)
{
    struct ec2_kube *k = NEW(struct ec2_kube);
    *k = (struct ec2_kube){port, clock, timers, *opts, map_new(EC2_KUBE_NODES_MAX)};
    return k;
}

void ec2_kube_free(struct ec2_kube *k)
{
    if (!k) {
        return;
    }
    for (MAP_EACH(k->nodes, m)) {
        node_free(map_value(m));
    }
    map_free(k->nodes);
    free(k);
}

size_t ec2_kube_busy(const struct ec2_kube *k)
{
    size_t n = 0;
    for (MAP_EACH(k->nodes, m)) {
        n += ((const struct node *)map_value(m))->phase != UP;
    }
    return n;
}
