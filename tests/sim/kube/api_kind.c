/* api_kind.c - the table of kinds the simulated API server knows; see api.h */
#include "api.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"

#include <strings.h>

#define NS SIM_KIND_NAMESPACED
#define ST SIM_KIND_STATUS
#define GEN SIM_KIND_GENERATION
#define CR (SIM_KIND_CUSTOM | SIM_KIND_GENERATION)
#define WORKLOAD (NS | ST | GEN)

static const struct sim_kind kinds[SIM_KINDS] = {
    {SIM_POD, "", "v1", "Pod", "pods", NS | ST | GEN | SIM_KIND_RETURNS},
    {SIM_NODE, "", "v1", "Node", "nodes", ST | SIM_KIND_KEEP_STATUS},
    {SIM_NAMESPACE, "", "v1", "Namespace", "namespaces", ST},
    {SIM_SERVICE, "", "v1", "Service", "services", NS | ST},
    {SIM_CONFIGMAP, "", "v1", "ConfigMap", "configmaps", NS},
    {SIM_SECRET, "", "v1", "Secret", "secrets", NS},
    {SIM_SERVICEACCOUNT, "", "v1", "ServiceAccount", "serviceaccounts", NS | SIM_KIND_RETURNS},
    {SIM_EVENT, "", "v1", "Event", "events", NS},
    {SIM_PV, "", "v1", "PersistentVolume", "persistentvolumes", ST | SIM_KIND_RETURNS},
    {SIM_PVC, "", "v1", "PersistentVolumeClaim", "persistentvolumeclaims",
     NS | ST | SIM_KIND_RETURNS},
    {SIM_DEPLOYMENT, "apps", "apps/v1", "Deployment", "deployments", WORKLOAD},
    {SIM_REPLICASET, "apps", "apps/v1", "ReplicaSet", "replicasets", WORKLOAD},
    {SIM_DAEMONSET, "apps", "apps/v1", "DaemonSet", "daemonsets", WORKLOAD},
    {SIM_STATEFULSET, "apps", "apps/v1", "StatefulSet", "statefulsets", WORKLOAD},
    {SIM_JOB, "batch", "batch/v1", "Job", "jobs", WORKLOAD},
    {SIM_CRONJOB, "batch", "batch/v1", "CronJob", "cronjobs", WORKLOAD},
    {SIM_PDB, "policy", "policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", WORKLOAD},
    {SIM_LEASE, "coordination.k8s.io", "coordination.k8s.io/v1", "Lease", "leases", NS},
    {SIM_STORAGECLASS, "storage.k8s.io", "storage.k8s.io/v1", "StorageClass", "storageclasses", 0},
    {SIM_VOLUMEATTACHMENT, "storage.k8s.io", "storage.k8s.io/v1", "VolumeAttachment",
     "volumeattachments", ST},
    {SIM_CSINODE, "storage.k8s.io", "storage.k8s.io/v1", "CSINode", "csinodes", 0},
    {SIM_PRIORITYCLASS, "scheduling.k8s.io", "scheduling.k8s.io/v1", "PriorityClass",
     "priorityclasses", GEN},
    {SIM_LIMITRANGE, "", "v1", "LimitRange", "limitranges", NS},
    {SIM_RUNTIMECLASS, "node.k8s.io", "node.k8s.io/v1", "RuntimeClass", "runtimeclasses", 0},
    {SIM_CRD, "apiextensions.k8s.io", "apiextensions.k8s.io/v1", "CustomResourceDefinition",
     "customresourcedefinitions", ST | GEN},
    {SIM_NODEPOOL, "karpenter.sh", "karpenter.sh/v1", "NodePool", "nodepools", CR | ST},
    {SIM_NODECLAIM, "karpenter.sh", "karpenter.sh/v1", "NodeClaim", "nodeclaims", CR | ST},
    {SIM_NODEOVERLAY, "karpenter.sh", "karpenter.sh/v1alpha1", "NodeOverlay", "nodeoverlays",
     CR | ST},
    {SIM_EC2NODECLASS, "karpenter.k8s.aws", "karpenter.k8s.aws/v1", "EC2NodeClass",
     "ec2nodeclasses", CR | ST},
    {SIM_DISRUPTIONREQUEST, "karp.dev", "karp.dev/v1alpha1", "DisruptionRequest",
     "disruptionrequests", CR | ST},
    {SIM_DISRUPTIONGRANT, "karp.dev", "karp.dev/v1alpha1", "DisruptionGrant", "disruptiongrants",
     CR},
    {SIM_HOLD, "karp.dev", "karp.dev/v1alpha1", "Hold", "holds", CR},
};

const struct sim_kind *sim_kind(enum sim_kind_id id)
{
    return &kinds[id];
}

/* name is "plural", "Kind", or either with ".group" behind it. */
static bool named(const struct sim_kind *k, const char *name)
{
    size_t n = strcspn(name, ".");
    bool plural = strlen(k->plural) == n && strncasecmp(name, k->plural, n) == 0;
    bool kind = strlen(k->kind) == n && strncasecmp(name, k->kind, n) == 0;
    return (plural || kind) && (name[n] == '\0' || str_eq(name + n + 1, k->group));
}

const struct sim_kind *sim_kind_find(const char *name)
{
    for (size_t i = 0; name && i < SIM_KINDS; i++) {
        if (named(&kinds[i], name)) {
            return &kinds[i];
        }
    }
    return NULL;
}

const struct sim_kind *sim_kind_of(const json_t *object)
{
    const char *api_version = jsonx_str(object, "apiVersion");
    const char *kind = jsonx_str(object, "kind");
    for (size_t i = 0; i < SIM_KINDS; i++) {
        if (str_eq(kind, kinds[i].kind) && str_eq(api_version, kinds[i].api_version)) {
            return &kinds[i];
        }
    }
    return NULL;
}

/* Beside metadata.name and metadata.namespace; custom kinds have no more. */
static const struct {
    enum sim_kind_id kind;
    const char *field;
} fields[] = {
    {SIM_POD, "spec.nodeName"},
    {SIM_POD, "spec.restartPolicy"},
    {SIM_POD, "spec.schedulerName"},
    {SIM_POD, "spec.serviceAccountName"},
    {SIM_POD, "status.phase"},
    {SIM_POD, "status.podIP"},
    {SIM_POD, "status.nominatedNodeName"},
    {SIM_NODE, "spec.unschedulable"},
    {SIM_NAMESPACE, "status.phase"},
    {SIM_SECRET, "type"},
    {SIM_REPLICASET, "status.replicas"},
    {SIM_JOB, "status.successful"},
    {SIM_EVENT, "involvedObject.kind"},
    {SIM_EVENT, "involvedObject.namespace"},
    {SIM_EVENT, "involvedObject.name"},
    {SIM_EVENT, "involvedObject.uid"},
    {SIM_EVENT, "reason"},
    {SIM_EVENT, "type"},
};

bool sim_kind_selectable(const struct sim_kind *k, const char *field)
{
    bool always = str_eq(field, "metadata.name") ||
                  (str_eq(field, "metadata.namespace") && k->flags & SIM_KIND_NAMESPACED);
    for (size_t i = 0; !always && i < ARRAY_LEN(fields); i++) {
        always = fields[i].kind == k->id && str_eq(fields[i].field, field);
    }
    return always;
}
