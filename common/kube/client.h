/*
 * client.h - requests to an API server by kind, over any kube_port.
 *
 * A struct kube_client is a value: port and identity, no state. All functions send one request and
 * return the port's handle; done gets its answer (port.h has the rules). Objects given are only
 * read during the call. Writes carry fieldManager and, if set, dryRun.
 *
 * Writing is always by patch, never by PUT, so that fields a newer server knows survive; except
 * kube_update, for Leases and ConfigMaps that are ours whole.
 */
#ifndef KARP_KUBE_CLIENT_H
#define KARP_KUBE_CLIENT_H

#include "common/base/buf.h"
#include "port.h"

#include <stdbool.h>

#define KUBE_PATH_MAX 16384u

enum kube_kind {
    KIND_POD,
    KIND_NODE,
    KIND_NAMESPACE,
    KIND_SERVICE,
    KIND_CONFIG_MAP,
    KIND_EVENT,
    KIND_PERSISTENT_VOLUME,
    KIND_PERSISTENT_VOLUME_CLAIM,
    KIND_STORAGE_CLASS,
    KIND_CSI_NODE,
    KIND_VOLUME_ATTACHMENT,
    KIND_LEASE,
    KIND_DAEMON_SET,
    KIND_DEPLOYMENT,
    KIND_REPLICA_SET,
    KIND_STATEFUL_SET,
    KIND_JOB,
    KIND_POD_DISRUPTION_BUDGET,
    KIND_LIMIT_RANGE,
    KIND_RESOURCE_QUOTA,
    KIND_RUNTIME_CLASS,
    KIND_PRIORITY_CLASS,
    KIND_NODE_POOL,
    KIND_NODE_CLAIM,
    KIND_EC2_NODE_CLASS,
    KIND_DISRUPTION_REQUEST,
    KIND_DISRUPTION_GRANT,
    KIND_HOLD,
    KIND_CUSTOM_RESOURCE_DEFINITION,
    KIND_COUNT
};

struct kube_kind_info {
    const char *kind;        /* "Pod" */
    const char *api_version; /* "v1", "apps/v1" */
    const char *plural;      /* "pods" */
    bool namespaced;
};

const struct kube_kind_info *kube_kind(enum kube_kind k);
/* By "Pod" and apiVersion; apiVersion NULL matches every one. False if it is none of ours. */
bool kube_kind_find(const char *kind, const char *api_version, enum kube_kind *ret);

/*
 * Appends "/apis/apps/v1/namespaces/NS/daemonsets/NAME/SUB", escaped. ns NULL or "": all namespaces
 * (without name) or cluster-scoped; name and sub may be NULL.
 */
void kube_path(struct buf *out, enum kube_kind k, const char *ns, const char *name,
               const char *sub);
/* Appends "?key=value" or "&key=value", the value percent-escaped. NULL value: nothing. */
void kube_path_query(struct buf *out, const char *key, const char *value);

struct kube_client {
    const struct kube_port *port;
    const char *field_manager; /* NULL = none */
    bool dry_run;              /* server-side dry run of all writes */
    int64_t timeout_ns;        /* 0 = KUBE_TIMEOUT_NS */
};

struct kube_list_opts {
    const char *ns; /* NULL = all */
    const char *label_selector, *field_selector;
    unsigned limit;               /* 0 = none */
    const char *continue_token;   /* NULL = first page */
    const char *resource_version; /* NULL = most recent (quorum) */
};

struct kube_delete_opts {
    const char *uid, *resource_version; /* preconditions, NULL = none */
    const char *propagation;            /* "Background", "Foreground", "Orphan"; NULL = default */
    int64_t grace_s;                    /* -1 = the object's own */
};

uint64_t kube_get(const struct kube_client *c, enum kube_kind k, const char *ns, const char *name,
                  kube_done_fn done, void *arg);
/* One page; see list.h for all. */
uint64_t kube_list(const struct kube_client *c, enum kube_kind k, const struct kube_list_opts *o,
                   kube_done_fn done, void *arg);
/* ns NULL for cluster-scoped. apiVersion and kind are filled in if the object has none. */
uint64_t kube_create(const struct kube_client *c, enum kube_kind k, const char *ns,
                     const json_t *object, kube_done_fn done, void *arg);
/*
 * JSON merge patch. sub NULL or "status", …. With resource_version the patch holds
 * metadata.resourceVersion: the server answers ERR_CONFLICT if the object has moved on.
 */
uint64_t kube_patch(const struct kube_client *c, enum kube_kind k, const char *ns, const char *name,
                    const char *sub, const json_t *patch, const char *resource_version,
                    kube_done_fn done, void *arg);
/* PUT of a whole object, whose metadata.resourceVersion is the lock. */
uint64_t kube_update(const struct kube_client *c, enum kube_kind k, const char *ns,
                     const char *name, const json_t *object, kube_done_fn done, void *arg);
/* o NULL = no preconditions, defaults. */
uint64_t kube_delete(const struct kube_client *c, enum kube_kind k, const char *ns,
                     const char *name, const struct kube_delete_opts *o, kube_done_fn done,
                     void *arg);
/* policy/v1 Eviction. uid (may be NULL) is a precondition. 429: a PDB refuses. */
uint64_t kube_evict(const struct kube_client *c, const char *ns, const char *name, const char *uid,
                    int64_t grace_s, kube_done_fn done, void *arg);
/* GET of any path ("/version", "/apis"). */
uint64_t kube_get_raw(const struct kube_client *c, const char *path, kube_done_fn done, void *arg);
void kube_cancel(const struct kube_client *c, uint64_t handle);

#endif
