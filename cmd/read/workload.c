/* workload.c - see workload.h. */
#include "workload.h"

#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "quota.h"

#define WHY_MAX 1024u

bool workload_is(enum kube_kind k)
{
    return k == KIND_DEPLOYMENT || k == KIND_STATEFUL_SET || k == KIND_REPLICA_SET || k == KIND_JOB;
}

int64_t workload_wants(enum kube_kind k, const json_t *o)
{
    int64_t n;
    if (k == KIND_JOB) {
        int64_t done = jsonx_int(o, "spec.completions", INT64_MAX);
        n = jsonx_int(o, "spec.parallelism", 1);
        n = done < n ? done : n;
    } else {
        n = jsonx_int(o, "spec.replicas", 1);
    }
    return n < 0 ? 0 : n > WORKLOAD_PODS_MAX ? WORKLOAD_PODS_MAX : n;
}

/* ---- whose pod ------------------------------------------------------------------------------- */

static const json_t *controller(const json_t *pod)
{
    size_t i;
    json_t *ref;
    json_array_foreach (jsonx_arr(pod, "metadata.ownerReferences"), i, ref) {
        if (json_is_true(json_object_get(ref, "controller"))) {
            return ref;
        }
    }
    return NULL;
}

/* "api-5d4f8c7b9" of "api". */
static bool is_replica_set_of(const char *name, const char *deployment)
{
    size_t n = strlen(deployment);
    return str_starts(name, deployment) && name[n] == '-' && name[n + 1] &&
           !strchr(name + n + 1, '-');
}

static bool selects(const json_t *workload, const json_t *pod)
{
    const json_t *want = jsonx_obj(workload, "spec.selector.matchLabels");
    const json_t *have = jsonx_obj(pod, "metadata.labels");
    const char *key;
    json_t *v;
    json_object_foreach ((json_t *)(uintptr_t)want, key, v) {
        if (!json_equal(v, json_object_get(have, key))) {
            return false;
        }
    }
    return json_object_size(want) > 0;
}

static bool belongs(const struct object *w, const struct object *pod)
{
    const json_t *ref = controller(pod->o);
    if (!str_eq(w->ns, pod->ns)) {
        return false;
    }
    if (!ref) {
        return selects(w->o, pod->o);
    }
    const char *kind = jsonx_str_or(ref, "kind", ""), *name = jsonx_str_or(ref, "name", "");
    if (str_eq(kind, kube_kind(w->kind)->kind)) {
        return str_eq(name, w->name);
    }
    return w->kind == KIND_DEPLOYMENT && str_eq(kind, "ReplicaSet") &&
           is_replica_set_of(name, w->name);
}

static bool counts(const json_t *pod)
{
    const char *phase = jsonx_str_or(pod, "status.phase", "");
    return !jsonx_str(pod, "metadata.deletionTimestamp") && !str_eq(phase, "Succeeded") &&
           !str_eq(phase, "Failed");
}

/* ---- fewer ----------------------------------------------------------------------------------- */

struct member {
    const char *ns, *name;
    int64_t number; /* of <workload>-<n>, -1 if it is named otherwise */
    int64_t created_ns;
};

static int64_t number_of(const char *pod, const char *workload)
{
    size_t n = strlen(workload);
    int64_t ret;
    bool named = str_starts(pod, workload) && pod[n] == '-' && str_parse_i64(pod + n + 1, &ret);
    return named && ret >= 0 ? ret : -1;
}

/* Those that stay longest come first. */
static int member_cmp(const void *x, const void *y)
{
    const struct member *a = x, *b = y;
    if ((a->number < 0) != (b->number < 0)) {
        return a->number < 0 ? -1 : 1;
    }
    if (a->number != b->number) {
        return a->number < b->number ? -1 : 1;
    }
    if (a->created_ns != b->created_ns) {
        return a->created_ns < b->created_ns ? -1 : 1;
    }
    return str_cmp(a->name, b->name);
}

static struct member *members(const struct objects *s, struct arena *a, const struct object *w,
                              size_t *ret_n)
{
    struct member *v = NULL;
    size_t n = 0, cap = 0;
    for (size_t i = 0; i < objects_n(s); i++) {
        const struct object *o = objects_at(s, i);
        if (o->kind != KIND_POD || !belongs(w, o) || !counts(o->o)) {
            continue;
        }
        int64_t created = 0;
        const char *at = jsonx_str(o->o, "metadata.creationTimestamp");
        (void)(at && timefmt_parse_rfc3339(at, &created));
        ARENA_GROW(a, v, n, cap);
        v[n++] = (struct member){arena_strdup(a, o->ns), arena_strdup(a, o->name),
                                 number_of(o->name, w->name), created};
    }
    if (n > 1) {
        qsort(v, n, sizeof(*v), member_cmp);
    }
    *ret_n = n;
    return v;
}

/* ---- more ------------------------------------------------------------------------------------ */

static void set(json_t *o, const char *key, json_t *v)
{
    if (json_object_set_new(o, key, v) != 0) {
        BUG("a pod refuses %s", key);
    }
}

static void fill_requests(json_t *containers)
{
    size_t i;
    json_t *c, *v;
    const char *name;
    json_array_foreach (containers, i, c) {
        json_t *limits = jsonx_obj(c, "resources.limits");
        json_object_foreach (limits, name, v) {
            json_t *requests = jsonx_obj(c, "resources.requests");
            if (!requests) {
                jsonx_set_new(c, "resources.requests", json_object());
                requests = jsonx_obj(c, "resources.requests");
            }
            if (!json_object_get(requests, name)) {
                (void)json_object_set(requests, name, v);
            }
        }
    }
}

/* Claim templates as volumes that live and die with the pod: what they ask of a node is the same.
 */
static void add_volumes(json_t *spec, const json_t *templates)
{
    size_t i;
    json_t *t;
    json_array_foreach ((json_t *)(uintptr_t)templates, i, t) {
        if (!jsonx_arr(spec, "volumes")) {
            set(spec, "volumes", json_array());
        }
        json_t *claim = json_object_get(t, "spec");
        claim = claim ? json_incref(claim) : json_object();
        (void)json_array_append_new(json_object_get(spec, "volumes"),
                                    json_pack("{s:s, s:{s:{s:o}}}", "name",
                                              jsonx_str_or(t, "metadata.name", "data"), "ephemeral",
                                              "volumeClaimTemplate", "spec", claim));
    }
}

static json_t *owner_of(const struct object *w)
{
    bool deployment = w->kind == KIND_DEPLOYMENT;
    const struct kube_kind_info *info = kube_kind(deployment ? KIND_REPLICA_SET : w->kind);
    const char *uid = jsonx_str(w->o, "metadata.uid");
    return json_pack(
        "[{s:s, s:s, s:o, s:o, s:b}]", "apiVersion", info->api_version, "kind", info->kind, "name",
        json_sprintf("%s%s", w->name, deployment ? "-simulated" : ""), "uid",
        uid ? json_string(uid) : json_sprintf("simulated-%s-%s-%s", info->kind, w->ns, w->name),
        "controller", 1);
}

/* As the Deployment controller marks pods: rules with matchLabelKeys count by it. */
static void mark_hash(json_t *meta, const struct object *w, const json_t *owners)
{
    const char *owner = jsonx_str(json_array_get(owners, 0), "name");
    size_t n = strlen(w->name);
    if (w->kind != KIND_DEPLOYMENT || !owner || !str_starts(owner, w->name) || owner[n] != '-') {
        return;
    }
    if (!json_object_get(meta, "labels")) {
        set(meta, "labels", json_object());
    }
    /* Labels that are no object stay as they are: whoever reads the pod says so. */
    (void)json_object_set_new(json_object_get(meta, "labels"), "pod-template-hash",
                              json_string(owner + n + 1));
}

/* What all new pods have in common; the name is still missing. */
static json_t *pod_template(const struct object *w, json_t *owners, int64_t now_ns)
{
    char created[TIMEFMT_TEXT];
    const json_t *from = jsonx_obj(w->o, "spec.template");
    json_t *spec = json_deep_copy(jsonx_obj(from, "spec"));
    json_t *meta = json_pack("{s:s, s:s, s:o}", "namespace", w->ns, "creationTimestamp",
                             timefmt_rfc3339(now_ns, created), "ownerReferences", owners);
    static const char *const kept[] = {"labels", "annotations"};
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        json_t *v = json_object_get(jsonx_obj(from, "metadata"), kept[i]);
        if (v) {
            set(meta, kept[i], json_deep_copy(v));
        }
    }
    mark_hash(meta, w, owners);
    spec = spec ? spec : json_object();
    fill_requests(jsonx_arr(spec, "containers"));
    fill_requests(jsonx_arr(spec, "initContainers"));
    add_volumes(spec, jsonx_arr(w->o, "spec.volumeClaimTemplates"));
    return json_pack("{s:s, s:s, s:o, s:o, s:{s:s}}", "apiVersion", "v1", "kind", "Pod", "metadata",
                     meta, "spec", spec, "status", "phase", "Pending");
}

static void add_pod(struct objects *s, const json_t *like, const char *ns, const char *name)
{
    json_t *pod = json_copy((json_t *)(uintptr_t)like);
    json_t *meta = json_copy(json_object_get(like, "metadata"));
    set(meta, "name", json_string(name));
    set(meta, "uid", json_sprintf("simulated-%s-%s", ns, name));
    set(pod, "metadata", meta);
    objects_put(s, KIND_POD, pod);
    json_decref(pod);
}

/* Owners as the pods have that are there, so that old and new ones count as one workload. */
static json_t *owners_like(const struct objects *s, const struct object *w, const struct member *m,
                           size_t n)
{
    const struct object *o = n ? objects_find(s, KIND_POD, m->ns, m->name) : NULL;
    json_t *refs = o && controller(o->o) ? jsonx_arr(o->o, "metadata.ownerReferences") : NULL;
    return refs ? json_deep_copy(refs) : owner_of(w);
}

/* Completes the pod's spec as the API server would with the objects that there are. NULL, or which
 * LimitRange refuses it (arena). */
static const char *admit(struct arena *a, const struct objects *s, const char *ns, json_t *pod)
{
    AUTO_BUF struct buf why;
    struct admission *all = admission_new();
    buf_init(&why, WHY_MAX);
    for (size_t i = 0; i < objects_n(s); i++) {
        admission_put(all, objects_at(s, i)->kind, objects_at(s, i)->o);
    }
    admission_apply(all, ns, json_object_get(pod, "spec"));
    bool refused = admission_refuses(all, ns, json_object_get(pod, "spec"), &why);
    admission_free(all);
    return refused ? arena_strdup(a, why.p) : NULL;
}

/* Returns how many of so many could be made. */
static int64_t add_pods(struct objects *s, struct quota *q, const json_t *like, const char *ns,
                        const char *base, int64_t missing, const char **ret_why)
{
    int64_t made = 0;
    *ret_why = NULL;
    for (int64_t k = 0; made < missing; k++) {
        char name[512];
        (void)snprintf(name, sizeof(name), "%s-%lld", base, (long long)k);
        if (objects_find(s, KIND_POD, ns, name)) {
            continue;
        }
        *ret_why = quota_take(q, like);
        if (*ret_why) {
            break;
        }
        add_pod(s, like, ns, name);
        made++;
    }
    return made;
}

const char *workload_word(struct arena *a, enum kube_kind k)
{
    char *word = arena_strdup(a, kube_kind(k)->kind);
    for (char *c = word; *c; c++) {
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
    }
    return word;
}

json_t *workload_template(const struct object *w, int64_t now_ns)
{
    return pod_template(w, owner_of(w), now_ns);
}

bool workload_scale(struct objects *s, struct arena *a, struct decoder *d, const struct object *w,
                    int64_t n, int64_t now_ns, struct held *ret)
{
    size_t have;
    const struct member *m = members(s, a, w, &have);
    for (size_t i = have; i > 0 && (int64_t)i > n; i--) {
        objects_del(s, KIND_POD, m[i - 1].ns, m[i - 1].name);
    }
    if ((int64_t)have >= n) {
        return true;
    }
    /* w itself may move while pods are added. */
    const char *ns = arena_strdup(a, w->ns), *base = arena_strdup(a, w->name);
    *ret = (struct held){.kind = workload_word(a, w->kind), .ns = ns, .name = base};
    json_t *like = pod_template(w, owners_like(s, w, m, have), now_ns);
    int64_t missing = n - (int64_t)have;
    ret->code = "LimitRange";
    ret->why = admit(a, s, ns, like);
    if (!ret->why) {
        ret->code = "ResourceQuota";
        ret->made =
            add_pods(s, quota_new(a, d, s, ns, QUOTA_COUNTED), like, ns, base, missing, &ret->why);
    }
    ret->missing = missing - ret->made;
    json_decref(like);
    return ret->why == NULL;
}
