/*
 * ec2type.h - EC2's instance types turned into a catalog.
 *
 * The facts are a table generated at build time from data/ (DescribeInstanceTypes, offerings per
 * region, on-demand prices); ec2type_catalog applies what the node class and the options say to
 * them: memory overhead, ENI-limited pods, kubelet reservations, storage. Every label, capacity and
 * overhead formula is here and nowhere else; the golden table of Karpenter's own
 * published values holds it in place (tests/unit/test_golden_catalog).
 */
#ifndef KARP_CORE_EC2TYPE_H
#define KARP_CORE_EC2TYPE_H

#include "catalog.h"

/* One type as EC2 describes it. Absent numbers are -1, absent texts NULL. */
struct ec2_fact {
    const char *name, *arch; /* amd64, arm64 */
    const char *cpu_manufacturer, *hypervisor;
    const char *gpu_name, *gpu_manufacturer;
    const char *accelerator_name, *accelerator_manufacturer;
    int32_t vcpus;
    int64_t mem_mib;
    int32_t clock_mhz, ebs_mbps, network_mbps;
    int64_t nvme_gb;
    int32_t enis;        /* of the default network card */
    int32_t ips_per_eni; /* IPv4 */
    int32_t cards, efa_max;
    int32_t branch_enis;
    int32_t gpu_count;   /* of the single GPU entry, -1 otherwise */
    int64_t gpu_mem_mib; /* per GPU */
    int32_t accelerator_count;
    int32_t nvidia_gpus, amd_gpus, gaudis, neurons, neuroncores;
    bool bare_metal, encryption_in_transit, nitro_enclaves, spot, on_demand, ena;
};

/* The generated table, sorted by name. */
extern const struct ec2_fact ec2_facts[];
extern const uint32_t ec2_facts_n;
/* Day of the built-in prices, wall clock. */
extern const int64_t ec2_prices_as_of_ns;

/* On-demand Linux price in us-east-1, PRICE_UNKNOWN if the table has none. */
int64_t ec2_builtin_price(const char *type);
/* Zones of a region with built-in offerings in string order, NULL-terminated; NULL if unknown. */
const char *const *ec2_builtin_zones(const char *region);
/* Whether the built-in table offers the type there (bit per index of ec2_builtin_zones). */
uint64_t ec2_builtin_offered(const char *region, const char *type);
int ec2_find_fact(const char *type); /* index or -1 */

enum ami_family { FAMILY_AL2023, FAMILY_AL2, FAMILY_BOTTLEROCKET, FAMILY_WINDOWS, FAMILY_CUSTOM };

/* What of the options and of EC2NodeClass.spec.kubelet etc. enters the numbers. */
struct ec2_class {
    enum ami_family family;
    const char *windows_build;     /* "10.0.20348" for FAMILY_WINDOWS, else NULL */
    int32_t vm_overhead_permyriad; /* --vm-memory-overhead-percent 0.075 = 750 */
    int32_t reserved_enis;
    int32_t max_pods;          /* -1 = by ENIs */
    int32_t pods_per_core;     /* 0 = off */
    int64_t root_volume_bytes; /* of the volume that carries ephemeral storage */
    bool instance_store_raid0;
    /* kubeReserved by hand, -1 = by formula; systemReserved, 0 = none */
    int64_t kube_cpu_milli, kube_mem_bytes, kube_ephemeral_bytes;
    int64_t system_cpu_milli, system_mem_bytes, system_ephemeral_bytes;
    /* evictionHard: absolute bytes, or permyriad of capacity when ≥ 0; both -1 = default */
    int64_t evict_mem_bytes, evict_storage_bytes;
    int32_t evict_mem_permyriad, evict_storage_permyriad;
    struct resources extra; /* karp.dev/capacity: resources of every node; hugepages-* among them
                             * are taken from memory */
};
/* The numbers of an EC2NodeClass that says nothing: family AL2023, 20Gi, overhead 7.5%. */
void ec2_class_default(struct ec2_class *c);

/* What nodes of a type really reported, the least of each; OBSERVED_NONE = nothing known. It is
 * taken instead of what the formulas say: memory that the firmware keeps, pods and reservations
 * that user data sets behind our back. */
#define OBSERVED(X)                                                                                \
    X(RES_CPU, "cpu")                                                                              \
    X(RES_MEMORY, "memory")                                                                        \
    X(RES_EPHEMERAL_STORAGE, "ephemeral-storage")                                                  \
    X(RES_PODS, "pods")
#define OBSERVED_NONE INT64_C(-1)
struct ec2_observed {
    int64_t capacity[RES_PODS + 1], allocatable[RES_PODS + 1]; /* those of OBSERVED */
};
/* False: no node of the type was seen. */
typedef bool (*ec2_observed_fn)(void *ctx, const char *type, struct ec2_observed *ret);

struct ec2_catalog_in {
    struct symtab *syms; /* labels are interned here: the core interns only in this call's caller */
    const char *region;
    const struct ec2_class *cls;
    struct catalog_zones zones;
    const struct ec2_fact *facts; /* NULL = the generated table */
    uint32_t n_facts;
    bool (*type_wanted)(void *ctx, const char *name); /* NULL = all */
    ec2_observed_fn observed;                         /* NULL = nothing known */
    void *ctx;
};

/* False for types that cannot run what the class asks for: they stay in the
 * catalog, because nodes of them may exist, but must get no offerings. AL2023 does not run on a1.
 */
bool ec2_compatible(const struct ec2_fact *f, const struct ec2_class *c);

/* As Karpenter's AWS provider computes them. ext arrays are the class's own. */
struct resources ec2_capacity(const struct ec2_fact *f, const struct ec2_class *c);
struct resources ec2_allocatable(const struct symtab *t, const struct ec2_fact *f,
                                 const struct ec2_class *c, const struct resources *capacity);

/* The catalog of all wanted types, with every label that Karpenter's AWS provider
 * gives a type, but the offering's.
 * A well-known key that a type has no value for is there as DoesNotExist, as in Karpenter, so that
 * asking for it leaves the type out. a is scratch: it is as before when the call returns. */
struct catalog *ec2_catalog(struct arena *a, const struct ec2_catalog_in *in, struct err *reterr);

/* Max pods as written into user data: ENI formula, podsPerCore, or the class's number. */
int32_t ec2_max_pods(const struct ec2_fact *f, const struct ec2_class *c);
/* The parts kubelet is told: kube reserved as resources (cpu, memory, ephemeral-storage). */
struct resources ec2_kube_reserved(const struct ec2_fact *f, const struct ec2_class *c);

#endif
