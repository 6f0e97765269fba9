/*
 * labels.h - the label keys and values the core knows by name.
 *
 * They are the fixed head of every symtab (labels_symtab_new), so each has a constant symbol:
 * L_ZONE is the sym of "topology.kubernetes.io/zone". Names are Kubernetes', Karpenter's and
 * Karpenter's AWS provider's.
 */
#ifndef KARP_CORE_LABELS_H
#define KARP_CORE_LABELS_H

#include "common/base/sym.h"

#define LABELS_KEYS(X)                                                                             \
    X(L_NODEPOOL, "karpenter.sh/nodepool")                                                         \
    X(L_CAPACITY_TYPE, "karpenter.sh/capacity-type")                                               \
    X(L_REGISTERED, "karpenter.sh/registered")                                                     \
    X(L_INITIALIZED, "karpenter.sh/initialized")                                                   \
    X(L_DO_NOT_SYNC_TAINTS, "karpenter.sh/do-not-sync-taints")                                     \
    X(L_ZONE, "topology.kubernetes.io/zone")                                                       \
    X(L_REGION, "topology.kubernetes.io/region")                                                   \
    X(L_ZONE_ID, "topology.k8s.aws/zone-id")                                                       \
    X(L_INSTANCE_TYPE, "node.kubernetes.io/instance-type")                                         \
    X(L_ARCH, "kubernetes.io/arch")                                                                \
    X(L_OS, "kubernetes.io/os")                                                                    \
    X(L_HOSTNAME, "kubernetes.io/hostname")                                                        \
    X(L_WINDOWS_BUILD, "node.kubernetes.io/windows-build")                                         \
    X(L_EC2NODECLASS, "karpenter.k8s.aws/ec2nodeclass")                                            \
    X(L_CATEGORY, "karpenter.k8s.aws/instance-category")                                           \
    X(L_GENERATION, "karpenter.k8s.aws/instance-generation")                                       \
    X(L_FAMILY, "karpenter.k8s.aws/instance-family")                                               \
    X(L_SIZE, "karpenter.k8s.aws/instance-size")                                                   \
    X(L_FLEX, "karpenter.k8s.aws/instance-capability-flex")                                        \
    X(L_CPU, "karpenter.k8s.aws/instance-cpu")                                                     \
    X(L_CPU_MANUFACTURER, "karpenter.k8s.aws/instance-cpu-manufacturer")                           \
    X(L_CPU_CLOCK_MHZ, "karpenter.k8s.aws/instance-cpu-sustained-clock-speed-mhz")                 \
    X(L_MEMORY, "karpenter.k8s.aws/instance-memory")                                               \
    X(L_EBS_BANDWIDTH, "karpenter.k8s.aws/instance-ebs-bandwidth")                                 \
    X(L_NETWORK_BANDWIDTH, "karpenter.k8s.aws/instance-network-bandwidth")                         \
    X(L_LOCAL_NVME, "karpenter.k8s.aws/instance-local-nvme")                                       \
    X(L_HYPERVISOR, "karpenter.k8s.aws/instance-hypervisor")                                       \
    X(L_ENCRYPTION_IN_TRANSIT, "karpenter.k8s.aws/instance-encryption-in-transit-supported")       \
    X(L_NITRO_SANDBOX, "karpenter.k8s.aws/nitro-sandbox")                                          \
    X(L_GPU_NAME, "karpenter.k8s.aws/instance-gpu-name")                                           \
    X(L_GPU_MANUFACTURER, "karpenter.k8s.aws/instance-gpu-manufacturer")                           \
    X(L_GPU_COUNT, "karpenter.k8s.aws/instance-gpu-count")                                         \
    X(L_GPU_MEMORY, "karpenter.k8s.aws/instance-gpu-memory")                                       \
    X(L_ACCELERATOR_NAME, "karpenter.k8s.aws/instance-accelerator-name")                           \
    X(L_ACCELERATOR_MANUFACTURER, "karpenter.k8s.aws/instance-accelerator-manufacturer")           \
    X(L_ACCELERATOR_COUNT, "karpenter.k8s.aws/instance-accelerator-count")                         \
    X(L_TENANCY, "karpenter.k8s.aws/instance-tenancy")                                             \
    X(L_RESERVATION_ID, "karpenter.k8s.aws/capacity-reservation-id")                               \
    X(L_RESERVATION_TYPE, "karpenter.k8s.aws/capacity-reservation-type")                           \
    X(L_RESERVATION_INTERRUPTIBLE, "karpenter.k8s.aws/capacity-reservation-interruptible")         \
    X(L_PLACEMENT_GROUP_ID, "karpenter.k8s.aws/placement-group-id")                                \
    X(L_PLACEMENT_GROUP_PARTITION, "karpenter.k8s.aws/placement-group-partition")

#define LABELS_VALUES(X)                                                                           \
    X(V_SPOT, "spot")                                                                              \
    X(V_ON_DEMAND, "on-demand")                                                                    \
    X(V_RESERVED, "reserved")                                                                      \
    X(V_AMD64, "amd64")                                                                            \
    X(V_ARM64, "arm64")                                                                            \
    X(V_LINUX, "linux")                                                                            \
    X(V_WINDOWS, "windows")                                                                        \
    X(V_TRUE, "true")                                                                              \
    X(V_FALSE, "false")                                                                            \
    X(V_DEFAULT, "default")                                                                        \
    X(V_DEDICATED, "dedicated")                                                                    \
    X(V_EMPTY, "")

enum label_sym {
    L_NONE = 0,
#define X(id, text) id,
    LABELS_KEYS(X) LABELS_VALUES(X)
#undef X
        LABELS_END
};

/* A symtab that begins with all of the above. */
struct symtab *labels_symtab_new(void);

/* Old spellings to today's (beta.kubernetes.io/arch → kubernetes.io/arch, failure-domain…/zone,
 * topology.ebs.csi.aws.com/zone); other names come back unchanged. */
const char *labels_normalize(const char *key);

/* Keys a NodePool need not define for pods to ask for them: Karpenter's well-known labels and the
 * AWS provider's. kubernetes.io/hostname is not among them. */
bool labels_well_known(sym key);

/* Keys that users may not set in NodePools: the karpenter.sh domain except capacity-type, the
 * karpenter.k8s.aws domain except its well-known keys, kubernetes.io/hostname. */
bool labels_restricted(const struct symtab *t, sym key);

#endif
