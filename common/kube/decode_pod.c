#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "decode_priv.h"

#define POD_CHUNK 768u
#define DAEMONSET_CHUNK 1024u
#define ANN_TEMPLATE_GENERATION "deprecated.daemonset.template.generation"
#define GRACE_DEFAULT_S 30 /* of the API */

static enum pod_phase phase_of(const json_t *status)
{
    static const struct {
        const char *name;
        enum pod_phase phase;
    } rows[] = {
        {"Pending", POD_PENDING}, {"Running", POD_RUNNING}, {"Succeeded", POD_SUCCEEDED},
        {"Failed", POD_FAILED},   {"", POD_PENDING},
    };
    const char *name = jsonx_str_or(status, "phase", "");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (str_eq(rows[i].name, name)) {
            return rows[i].phase;
        }
    }
    return POD_UNKNOWN;
}

static enum pod_owner owner_kind(const struct owner_ref *o)
{
    static const struct {
        const char *group, *kind;
        enum pod_owner owner;
    } rows[] = {
        {"apps/", "DaemonSet", POWNER_DAEMONSET},
        {"v1", "Node", POWNER_NODE},
        {"apps/", "StatefulSet", POWNER_STATEFULSET},
        {"apps/", "ReplicaSet", POWNER_REPLICASET},
        {"batch/", "Job", POWNER_JOB},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (str_eq(rows[i].kind, o->kind) && str_starts(o->api_version, rows[i].group)) {
            return rows[i].owner;
        }
    }
    return POWNER_OTHER;
}

/* The controller decides; a daemon or mirror pod is one by any of its owners (as Karpenter). */
static void set_owner(struct pod *p)
{
    p->owner = POWNER_NONE;
    p->owner_uid = "";
    for (uint32_t i = 0; i < p->m.n_owners; i++) {
        const struct owner_ref *o = &p->m.owners[i];
        enum pod_owner kind = owner_kind(o);
        if (o->controller || kind == POWNER_DAEMONSET || kind == POWNER_NODE) {
            p->owner = kind;
            p->owner_uid = o->uid;
        }
        if (kind == POWNER_DAEMONSET || kind == POWNER_NODE) {
            return;
        }
    }
}

static void set_conditions(struct pod *p, const json_t *status)
{
    size_t i;
    json_t *v;
    json_array_foreach (json_object_get(status, "conditions"), i, v) {
        const char *type = jsonx_str_or(v, "type", "");
        const char *value = jsonx_str_or(v, "status", "");
        const char *reason = jsonx_str_or(v, "reason", "");
        if (str_eq(type, "Ready")) {
            p->ready = str_eq(value, "True");
        } else if (str_eq(type, "DisruptionTarget")) {
            p->displaced = str_eq(value, "True") && !str_eq(reason, "EvictionByEvictionAPI");
        } else if (str_eq(type, "PodScheduled") && str_eq(value, "False")) {
            p->gated |= str_eq(reason, "SchedulingGated");
            if (str_eq(reason, "Unschedulable")) {
                p->unschedulable = true;
                p->unschedulable_since_ns = decode_time(v, "lastTransitionTime");
            }
        }
    }
}

static int64_t seconds_ns(const json_t *o, const char *path, int64_t d_s)
{
    int64_t s = jsonx_int(o, path, d_s);
    s = s < 0 ? 0 : s;
    return s > INT64_MAX / NS_PER_S ? INT64_MAX : s * NS_PER_S;
}

static int32_t deletion_cost(const struct pod *p)
{
    const char *s = kvs_get(&p->m.annotations, "controller.kubernetes.io/pod-deletion-cost");
    int64_t cost;
    return s && str_parse_i64(s, &cost) && cost >= INT32_MIN && cost <= INT32_MAX ? (int32_t)cost
                                                                                  : 0;
}

static int read_pod(struct decoder *d, struct pod *p, const json_t *o, struct err *reterr)
{
    struct arena *a = &p->mem;
    const json_t *spec = json_object_get(o, "spec");
    const json_t *status = json_object_get(o, "status");
    if (decode_meta(d, a, o, META_POD_ANNOTATIONS, &p->m, reterr)) {
        return -1;
    }
    if (decode_kvs(a, json_object_get(o, "metadata"), "labels", NULL, &p->labels, reterr)) {
        return decode_in(reterr, "metadata.");
    }
    p->node_name = decode_str(a, spec, "nodeName");
    p->nominated_node = decode_str(a, status, "nominatedNodeName");
    p->priority_class = decode_str(a, spec, "priorityClassName");
    p->phase = phase_of(status);
    p->gated = json_array_size(json_object_get(spec, "schedulingGates")) > 0;
    set_owner(p);
    set_conditions(p, status);
    p->start_ns = decode_time(status, "startTime");
    p->grace_ns = seconds_ns(spec, "terminationGracePeriodSeconds", GRACE_DEFAULT_S);
    p->deletion_grace_ns =
        seconds_ns(json_object_get(o, "metadata"), "deletionGracePeriodSeconds", 0);
    p->deletion_cost = deletion_cost(p);
    decode_pod_volumes(p, spec);
    p->cls = decode_class(d, o, false, reterr);
    return p->cls ? decode_check_size(a, reterr) : -1;
}

struct pod *decode_pod(struct decoder *d, const json_t *o, struct err *reterr)
{
    struct pod *p = NEW(struct pod);
    arena_init(&p->mem, POD_CHUNK, DECODE_OBJECT_MAX);
    if (read_pod(d, p, o, reterr)) {
        decode_pod_free(d, p);
        return NULL;
    }
    return p;
}

/* Classes are const for everybody but the decoder, which made them. */
static void drop_class(struct decoder *d, const struct pod_class *c)
{
    decode_class_unref(d, (struct pod_class *)(uintptr_t)c);
}

void decode_pod_free(struct decoder *d, struct pod *p)
{
    if (!p) {
        return;
    }
    drop_class(d, p->cls);
    arena_done(&p->mem);
    free(p);
}

/* ---- daemonsets ------------------------------------------------------------------------------ */

/* What decode_daemonset reads, and no more. */
static char *daemonset_source(const json_t *o, const json_t *template)
{
    AUTO_JSON json_t *all = json_pack("{s:O?, s:{s:O?}}", "metadata",
                                      json_object_get(o, "metadata"), "spec", "template", template);
    if (all) {
        json_t *meta = json_copy(json_object_get(all, "metadata"));
        (void)json_object_del(meta, "managedFields");
        (void)json_object_set_new(all, "metadata", meta);
    }
    return all ? jsonx_dump(all) : xstrdup("{}");
}

static struct pod_class *template_class(struct decoder *d, const char *ns, const json_t *template,
                                        struct err *reterr)
{
    AUTO_JSON json_t *pod = json_deep_copy(template);
    admission_apply(d->admission, ns, json_object_get(pod, "spec"));
    struct pod_class *ret = decode_class(d, pod, true, reterr);
    if (!ret) {
        decode_in(reterr, "spec.template.");
    }
    return ret;
}

static int read_daemonset(struct decoder *d, struct daemonset *ds, const json_t *o,
                          struct err *reterr)
{
    const json_t *template = jsonx_at(o, "spec.template");
    const json_t *annotations = jsonx_obj(o, "metadata.annotations");
    if (decode_meta(d, &ds->mem, o, 0, &ds->m, reterr)) {
        return -1;
    }
    AUTO_FREE char *source = daemonset_source(o, template);
    ds->source = arena_strdup(&ds->mem, source);
    ds->generation = decode_str(&ds->mem, annotations, ANN_TEMPLATE_GENERATION);
    ds->cls = template_class(d, ds->m.ns, template, reterr);
    return ds->cls ? decode_check_size(&ds->mem, reterr) : -1;
}

struct daemonset *decode_daemonset_again(struct decoder *d, const struct daemonset *ds)
{
    AUTO_JSON json_t *o = jsonx_parse(ds->source, strlen(ds->source), "DaemonSet", NULL);
    struct daemonset *ret = o ? decode_daemonset(d, o, NULL) : NULL;
    if (ret && ret->cls == ds->cls) {
        decode_daemonset_free(d, ret);
        ret = NULL;
    }
    return ret;
}

struct daemonset *decode_daemonset(struct decoder *d, const json_t *o, struct err *reterr)
{
    struct daemonset *ds = NEW(struct daemonset);
    arena_init(&ds->mem, DAEMONSET_CHUNK, DECODE_OBJECT_MAX);
    int rc = read_daemonset(d, ds, o, reterr);
    if (rc) {
        decode_daemonset_free(d, ds);
        return NULL;
    }
    return ds;
}

void decode_daemonset_free(struct decoder *d, struct daemonset *ds)
{
    if (!ds) {
        return;
    }
    drop_class(d, ds->cls);
    arena_done(&ds->mem);
    free(ds);
}
