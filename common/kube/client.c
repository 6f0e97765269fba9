#include "client.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"

#include <ctype.h>

/* ---- kinds ----------------------------------------------------------------------------------- */

static const struct kube_kind_info kinds[KIND_COUNT] = {
    [KIND_POD] = {"Pod", "v1", "pods", true},
    [KIND_NODE] = {"Node", "v1", "nodes", false},
    [KIND_NAMESPACE] = {"Namespace", "v1", "namespaces", false},
    [KIND_SERVICE] = {"Service", "v1", "services", true},
    [KIND_CONFIG_MAP] = {"ConfigMap", "v1", "configmaps", true},
    [KIND_EVENT] = {"Event", "v1", "events", true},
    [KIND_PERSISTENT_VOLUME] = {"PersistentVolume", "v1", "persistentvolumes", false},
    [KIND_PERSISTENT_VOLUME_CLAIM] = {"PersistentVolumeClaim", "v1", "persistentvolumeclaims",
                                      true},
    [KIND_STORAGE_CLASS] = {"StorageClass", "storage.k8s.io/v1", "storageclasses", false},
    [KIND_CSI_NODE] = {"CSINode", "storage.k8s.io/v1", "csinodes", false},
    [KIND_VOLUME_ATTACHMENT] = {"VolumeAttachment", "storage.k8s.io/v1", "volumeattachments",
                                false},
    [KIND_LEASE] = {"Lease", "coordination.k8s.io/v1", "leases", true},
    [KIND_DAEMON_SET] = {"DaemonSet", "apps/v1", "daemonsets", true},
    [KIND_DEPLOYMENT] = {"Deployment", "apps/v1", "deployments", true},
    [KIND_REPLICA_SET] = {"ReplicaSet", "apps/v1", "replicasets", true},
    [KIND_STATEFUL_SET] = {"StatefulSet", "apps/v1", "statefulsets", true},
    [KIND_JOB] = {"Job", "batch/v1", "jobs", true},
    [KIND_POD_DISRUPTION_BUDGET] = {"PodDisruptionBudget", "policy/v1", "poddisruptionbudgets",
                                    true},
    [KIND_LIMIT_RANGE] = {"LimitRange", "v1", "limitranges", true},
    [KIND_RESOURCE_QUOTA] = {"ResourceQuota", "v1", "resourcequotas", true},
    [KIND_RUNTIME_CLASS] = {"RuntimeClass", "node.k8s.io/v1", "runtimeclasses", false},
    [KIND_PRIORITY_CLASS] = {"PriorityClass", "scheduling.k8s.io/v1", "priorityclasses", false},
    [KIND_NODE_POOL] = {"NodePool", "karpenter.sh/v1", "nodepools", false},
    [KIND_NODE_CLAIM] = {"NodeClaim", "karpenter.sh/v1", "nodeclaims", false},
    [KIND_EC2_NODE_CLASS] = {"EC2NodeClass", "karpenter.k8s.aws/v1", "ec2nodeclasses", false},
    [KIND_DISRUPTION_REQUEST] = {"DisruptionRequest", "karp.dev/v1alpha1", "disruptionrequests",
                                 false},
    [KIND_DISRUPTION_GRANT] = {"DisruptionGrant", "karp.dev/v1alpha1", "disruptiongrants", false},
    [KIND_HOLD] = {"Hold", "karp.dev/v1alpha1", "holds", false},
    [KIND_CUSTOM_RESOURCE_DEFINITION] = {"CustomResourceDefinition", "apiextensions.k8s.io/v1",
                                         "customresourcedefinitions", false},
};

const struct kube_kind_info *kube_kind(enum kube_kind k)
{
    return &kinds[k];
}

bool kube_kind_find(const char *kind, const char *api_version, enum kube_kind *ret)
{
    for (int k = 0; k < KIND_COUNT; k++) {
        if (str_eq(kinds[k].kind, kind) &&
            (!api_version || str_eq(kinds[k].api_version, api_version))) {
            *ret = (enum kube_kind)k;
            return true;
        }
    }
    return false;
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* Everything but unreserved characters as %XX. */
static void escape(struct buf *out, const char *s)
{
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c < 0x80 && (isalnum(c) || strchr("-._~", c))) {
            buf_putc(out, *s);
        } else {
            buf_printf(out, "%%%02X", c);
        }
    }
}

void kube_path(struct buf *out, enum kube_kind k, const char *ns, const char *name, const char *sub)
{
    const struct kube_kind_info *info = &kinds[k];
    buf_printf(out, "%s/%s", strchr(info->api_version, '/') ? "/apis" : "/api", info->api_version);
    if (info->namespaced && ns && *ns) {
        buf_puts(out, "/namespaces/");
        escape(out, ns);
    }
    buf_printf(out, "/%s", info->plural);
    if (name) {
        buf_putc(out, '/');
        escape(out, name);
    }
    if (sub) {
        buf_printf(out, "/%s", sub);
    }
}

void kube_path_query(struct buf *out, const char *key, const char *value)
{
    if (!value) {
        return;
    }
    buf_putc(out, memchr(out->p, '?', out->n) ? '&' : '?');
    buf_puts(out, key);
    buf_putc(out, '=');
    escape(out, value);
}

/* ---- sending --------------------------------------------------------------------------------- */

static uint64_t send(const struct kube_client *c, const char *method, const struct buf *path,
                     const json_t *body, const char *content_type, kube_done_fn done, void *arg)
{
    struct kube_req req = {
        .method = method,
        .path = path->p,
        .body = body,
        .content_type = content_type,
        .timeout_ns = c->timeout_ns,
    };
    return c->port->request(c->port->ctx, &req, done, arg);
}

static void write_query(const struct kube_client *c, struct buf *path, bool manager)
{
    kube_path_query(path, "fieldManager", manager ? c->field_manager : NULL);
    kube_path_query(path, "dryRun", c->dry_run ? "All" : NULL);
}

uint64_t kube_get(const struct kube_client *c, enum kube_kind k, const char *ns, const char *name,
                  kube_done_fn done, void *arg)
{
    AUTO_BUF struct buf path;
    buf_init(&path, KUBE_PATH_MAX);
    kube_path(&path, k, ns, name, NULL);
    return send(c, "GET", &path, NULL, NULL, done, arg);
}

uint64_t kube_get_raw(const struct kube_client *c, const char *path, kube_done_fn done, void *arg)
{
    struct kube_req req = {.method = "GET", .path = path, .timeout_ns = c->timeout_ns};
    return c->port->request(c->port->ctx, &req, done, arg);
}

uint64_t kube_list(const struct kube_client *c, enum kube_kind k, const struct kube_list_opts *o,
                   kube_done_fn done, void *arg)
{
    AUTO_BUF struct buf path;
    buf_init(&path, KUBE_PATH_MAX);
    kube_path(&path, k, o->ns, NULL, NULL);
    char limit[16];
    (void)snprintf(limit, sizeof(limit), "%u", o->limit);
    kube_path_query(&path, "labelSelector", o->label_selector);
    kube_path_query(&path, "fieldSelector", o->field_selector);
    kube_path_query(&path, "limit", o->limit ? limit : NULL);
    kube_path_query(&path, "resourceVersion", o->resource_version);
    kube_path_query(&path, "continue", o->continue_token);
    return send(c, "GET", &path, NULL, NULL, done, arg);
}

/* The object with apiVersion and kind. New reference; only the top level is copied. */
static json_t *with_type(enum kube_kind k, const json_t *object)
{
    json_t *copy = json_object();
    json_object_set_new(copy, "apiVersion", json_string(kinds[k].api_version));
    json_object_set_new(copy, "kind", json_string(kinds[k].kind));
    json_object_update(copy, (json_t *)(uintptr_t)object);
    return copy;
}

uint64_t kube_create(const struct kube_client *c, enum kube_kind k, const char *ns,
                     const json_t *object, kube_done_fn done, void *arg)
{
    AUTO_BUF struct buf path;
    buf_init(&path, KUBE_PATH_MAX);
    kube_path(&path, k, ns, NULL, NULL);
    write_query(c, &path, true);
    AUTO_JSON json_t *body = with_type(k, object);
    return send(c, "POST", &path, body, NULL, done, arg);
}

uint64_t kube_patch(const struct kube_client *c, enum kube_kind k, const char *ns, const char *name,
                    const char *sub, const json_t *patch, const char *resource_version,
                    kube_done_fn done, void *arg)
{
    AUTO_BUF struct buf path;
    buf_init(&path, KUBE_PATH_MAX);
    kube_path(&path, k, ns, name, sub);
    write_query(c, &path, true);
    AUTO_JSON json_t *locked = NULL;
    if (resource_version) {
        /* The patch is the caller's: copy both levels that change. */
        locked = json_copy((json_t *)(uintptr_t)patch);
        json_t *meta = json_object_get(locked, "metadata");
        meta = meta ? json_copy(meta) : json_object();
        json_object_set_new(meta, "resourceVersion", json_string(resource_version));
        json_object_set_new(locked, "metadata", meta);
    }
    return send(c, "PATCH", &path, locked ? locked : patch, KUBE_MERGE_PATCH, done, arg);
}

uint64_t kube_update(const struct kube_client *c, enum kube_kind k, const char *ns,
                     const char *name, const json_t *object, kube_done_fn done, void *arg)
{
    AUTO_BUF struct buf path;
    buf_init(&path, KUBE_PATH_MAX);
    kube_path(&path, k, ns, name, NULL);
    write_query(c, &path, true);
    AUTO_JSON json_t *body = with_type(k, object);
    return send(c, "PUT", &path, body, NULL, done, arg);
}

/* DeleteOptions of the meta API. New reference. */
static json_t *delete_options(const struct kube_delete_opts *o)
{
    json_t *body = json_pack("{s:s, s:s}", "apiVersion", "v1", "kind", "DeleteOptions");
    if (!o) {
        return body;
    }
    if (o->uid) {
        jsonx_set_new(body, "preconditions.uid", json_string(o->uid));
    }
    if (o->resource_version) {
        jsonx_set_new(body, "preconditions.resourceVersion", json_string(o->resource_version));
    }
    if (o->propagation) {
        jsonx_set_new(body, "propagationPolicy", json_string(o->propagation));
    }
    if (o->grace_s >= 0) {
        jsonx_set_new(body, "gracePeriodSeconds", json_integer(o->grace_s));
    }
    return body;
}

uint64_t kube_delete(const struct kube_client *c, enum kube_kind k, const char *ns,
                     const char *name, const struct kube_delete_opts *o, kube_done_fn done,
                     void *arg)
{
    AUTO_BUF struct buf path;
    buf_init(&path, KUBE_PATH_MAX);
    kube_path(&path, k, ns, name, NULL);
    write_query(c, &path, false);
    AUTO_JSON json_t *body = delete_options(o);
    return send(c, "DELETE", &path, body, NULL, done, arg);
}

uint64_t kube_evict(const struct kube_client *c, const char *ns, const char *name, const char *uid,
                    int64_t grace_s, kube_done_fn done, void *arg)
{
    AUTO_BUF struct buf path;
    buf_init(&path, KUBE_PATH_MAX);
    kube_path(&path, KIND_POD, ns, name, "eviction");
    write_query(c, &path, false);
    struct kube_delete_opts o = {.uid = uid, .grace_s = grace_s};
    AUTO_JSON json_t *body =
        json_pack("{s:s, s:s, s:{s:s, s:s}, s:o}", "apiVersion", "policy/v1", "kind", "Eviction",
                  "metadata", "name", name, "namespace", ns, "deleteOptions", delete_options(&o));
    return send(c, "POST", &path, body, NULL, done, arg);
}

void kube_cancel(const struct kube_client *c, uint64_t handle)
{
    if (handle) {
        c->port->cancel(c->port->ctx, handle);
    }
}
