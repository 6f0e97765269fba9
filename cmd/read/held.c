/* held.c - see held.h. */
#include "held.h"

#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "gather.h"
#include "objects.h"
#include "workload.h"

#define WHY_MAX 1024u

const uint64_t held_kinds = GATHER(KIND_DEPLOYMENT) | GATHER(KIND_STATEFUL_SET) | GATHER(KIND_JOB) |
                            GATHER(KIND_DAEMON_SET) | GATHER(KIND_RESOURCE_QUOTA) |
                            GATHER(KIND_LIMIT_RANGE) | GATHER(KIND_RUNTIME_CLASS);

/* ---- which workloads ------------------------------------------------------------------------- */

/* Its controller has seen the spec as it is. */
static bool observed(const json_t *o)
{
    return jsonx_obj(o, "status") && jsonx_int(o, "status.observedGeneration", INT64_MAX) >=
                                         jsonx_int(o, "metadata.generation", 0);
}

static bool is_over(const json_t *job)
{
    size_t i;
    json_t *c;
    json_array_foreach (jsonx_arr(job, "status.conditions"), i, c) {
        const char *type = jsonx_str(c, "type");
        if ((str_eq(type, "Complete") || str_eq(type, "Failed")) &&
            str_eq(jsonx_str(c, "status"), "True")) {
            return true;
        }
    }
    return jsonx_bool(job, "spec.suspend", false);
}

static bool of_deployment(const json_t *o)
{
    size_t i;
    json_t *ref;
    json_array_foreach (jsonx_arr(o, "metadata.ownerReferences"), i, ref) {
        if (str_eq(jsonx_str(ref, "kind"), "Deployment")) {
            return true;
        }
    }
    return false;
}

static int64_t missing_pods(enum kube_kind k, const json_t *o)
{
    switch (k) {
    case KIND_DEPLOYMENT:
    case KIND_STATEFUL_SET:
        return workload_wants(k, o) - jsonx_int(o, "status.replicas", 0);
    case KIND_REPLICA_SET:
        return of_deployment(o) ? 0 : workload_wants(k, o) - jsonx_int(o, "status.replicas", 0);
    case KIND_JOB: {
        int64_t to_do =
            jsonx_int(o, "spec.completions", INT64_MAX) - jsonx_int(o, "status.succeeded", 0);
        int64_t wants = workload_wants(k, o);
        return is_over(o) ? 0 : (to_do < wants ? to_do : wants) - jsonx_int(o, "status.active", 0);
    }
    case KIND_DAEMON_SET:
        return jsonx_int(o, "status.desiredNumberScheduled", 0) -
               jsonx_int(o, "status.currentNumberScheduled", 0);
    default:
        return 0;
    }
}

bool held_looked_at(enum kube_kind k, const json_t *o)
{
    return k == KIND_RESOURCE_QUOTA || (observed(o) && missing_pods(k, o) > 0);
}

/* ---- why ------------------------------------------------------------------------------------- */

static const char *failure(const json_t *o)
{
    size_t i;
    json_t *c;
    json_array_foreach (jsonx_arr(o, "status.conditions"), i, c) {
        if (str_eq(jsonx_str(c, "type"), "ReplicaFailure") &&
            str_eq(jsonx_str(c, "status"), "True")) {
            return jsonx_str_or(c, "message", jsonx_str_or(c, "reason", "no reason is given"));
        }
    }
    return NULL;
}

static const char *limited(const struct world *w, struct arena *a, const char *ns, json_t *pod)
{
    AUTO_BUF struct buf why;
    buf_init(&why, WHY_MAX);
    const struct admission *all = decoder_admission(w->decoder);
    json_t *spec = jsonx_obj(pod, "spec");
    admission_apply(all, ns, spec);
    return admission_refuses(all, ns, spec, &why) ? arena_strdup(a, why.p) : NULL;
}

static bool explain(const struct world *w, struct arena *a, const struct object *o, struct held *h)
{
    AUTO_JSON json_t *pod = workload_template(o, w->now_ns);
    h->code = "LimitRange";
    h->why = limited(w, a, o->ns, pod);
    if (!h->why) {
        h->code = "ResourceQuota";
        h->why = quota_take(quota_new(a, w->decoder, w->wanting, o->ns, QUOTA_TOLD), pod);
    }
    if (!h->why) {
        h->code = "NotCreated";
        h->why = arena_strdup(a, failure(o->o));
    }
    return h->why != NULL;
}

/* ---- all ------------------------------------------------------------------------------------- */

void held_add(struct held_list *l, struct arena *a, const struct held *h)
{
    if (l->n < HELD_MAX) {
        ARENA_GROW(a, l->v, l->n, l->cap);
        l->v[l->n++] = *h;
    }
}

static int held_cmp(const void *x, const void *y)
{
    const struct held *a = x, *b = y;
    int c = str_cmp(a->kind, b->kind);
    c = c ? c : str_cmp(a->ns, b->ns);
    return c ? c : str_cmp(a->name, b->name);
}

void held_find(const struct world *w, struct arena *a, const char *ns, struct held_list *ret)
{
    for (size_t i = 0; i < objects_n(w->wanting); i++) {
        const struct object *o = objects_at(w->wanting, i);
        if (o->kind == KIND_RESOURCE_QUOTA || (ns && *ns && !str_eq(o->ns, ns))) {
            continue;
        }
        struct held h = {.kind = workload_word(a, o->kind),
                         .ns = arena_strdup(a, o->ns),
                         .name = arena_strdup(a, o->name),
                         .missing = missing_pods(o->kind, o->o)};
        if (explain(w, a, o, &h)) {
            held_add(ret, a, &h);
        }
    }
    if (ret->n > 1) {
        qsort(ret->v, ret->n, sizeof(*ret->v), held_cmp);
    }
}
