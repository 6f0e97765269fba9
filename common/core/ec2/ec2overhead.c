/*
 * ec2overhead.c - what a node of an EC2 type has, and what of it is left for pods: see ec2type.h,
 * formulas of Karpenter's AWS provider.
 */
#include "ec2type.h"

#include "common/base/str.h"

#define MIB (INT64_C(1) << 20)
#define GIB (INT64_C(1) << 30)
#define GB INT64_C(1000000000)

#define DEFAULT_ROOT_BYTES (20 * GIB)
#define DEFAULT_OVERHEAD_PERMYRIAD 750
#define ARM_RESERVED_MIB 64 /* firmware of arm64 instances keeps it */
#define WINDOWS_PODS 110
#define KUBE_MEM_PER_POD_MIB 11
#define KUBE_MEM_BASE_MIB 255
#define KUBE_EPHEMERAL_BYTES GIB
#define EVICT_MEM_BYTES (100 * MIB)
#define EVICT_STORAGE_PERMYRIAD 1000
#define PERMYRIAD 10000

void ec2_class_default(struct ec2_class *c)
{
    *c = (struct ec2_class){
        .family = FAMILY_AL2023,
        .vm_overhead_permyriad = DEFAULT_OVERHEAD_PERMYRIAD,
        .max_pods = -1,
        .root_volume_bytes = DEFAULT_ROOT_BYTES,
        .kube_cpu_milli = -1,
        .kube_mem_bytes = -1,
        .kube_ephemeral_bytes = -1,
        .evict_mem_bytes = -1,
        .evict_storage_bytes = -1,
        .evict_mem_permyriad = -1,
        .evict_storage_permyriad = -1,
    };
}

static int64_t at_least_0(int64_t n)
{
    return n > 0 ? n : 0;
}

/* Rounded up; whole is not negative. Two parts, so that no product is too large. */
static int64_t share_of(int64_t whole, int64_t permyriad)
{
    int64_t ret, rest = (whole % PERMYRIAD * permyriad + PERMYRIAD - 1) / PERMYRIAD;
    if (__builtin_mul_overflow(whole / PERMYRIAD, permyriad, &ret) ||
        __builtin_add_overflow(ret, rest, &ret)) {
        return INT64_MAX;
    }
    return ret;
}

/* ---- pods
 * ---------------------------------------------------------------------------------------- */

static int32_t eni_pods(const struct ec2_fact *f, int32_t reserved_enis)
{
    int64_t enis = (int64_t)f->enis - reserved_enis;
    if (enis <= 0 || f->ips_per_eni <= 0) {
        return 0;
    }
    int64_t pods = enis * (f->ips_per_eni - 1) + 2;
    return pods > INT32_MAX ? INT32_MAX : (int32_t)pods;
}

int32_t ec2_max_pods(const struct ec2_fact *f, const struct ec2_class *c)
{
    int64_t pods;
    if (c->max_pods >= 0) {
        pods = c->max_pods;
    } else if (c->family == FAMILY_WINDOWS) {
        pods = WINDOWS_PODS;
    } else {
        pods = eni_pods(f, c->reserved_enis);
    }
    if (c->pods_per_core > 0 && c->family != FAMILY_BOTTLEROCKET) {
        int64_t by_core = (int64_t)c->pods_per_core * f->vcpus;
        pods = by_core < pods ? by_core : pods;
    }
    return (int32_t)pods;
}

/* ---- kubelet
 * --------------------------------------------------------------------------------------- */

/* 6% of the first core, 1% of the second, 0.5% of the next two, 0.25% of the rest; each part is cut
 * to a whole thousandth. */
static int64_t kube_cpu_milli(int32_t vcpus)
{
    static const struct {
        int64_t up_to_milli, permyriad;
    } tiers[] = {{1000, 600}, {2000, 100}, {4000, 50}, {INT64_MAX, 25}};
    int64_t cpu_milli = (int64_t)vcpus * 1000, done_milli = 0, sum = 0;
    for (size_t i = 0; i < ARRAY_LEN(tiers) && done_milli < cpu_milli; i++) {
        int64_t end = cpu_milli < tiers[i].up_to_milli ? cpu_milli : tiers[i].up_to_milli;
        sum += (end - done_milli) * tiers[i].permyriad / PERMYRIAD;
        done_milli = end;
    }
    return sum;
}

/* AL2, AL2023 and Custom count pods by ENIs whatever maxPods and reserved ENIs say; the others what
 * the node will really take. */
static int64_t kube_mem_bytes(const struct ec2_fact *f, const struct ec2_class *c)
{
    bool as_configured = c->family == FAMILY_BOTTLEROCKET || c->family == FAMILY_WINDOWS;
    int64_t pods = as_configured ? ec2_max_pods(f, c) : eni_pods(f, 0);
    return (KUBE_MEM_PER_POD_MIB * pods + KUBE_MEM_BASE_MIB) * MIB;
}

struct resources ec2_kube_reserved(const struct ec2_fact *f, const struct ec2_class *c)
{
    struct resources r = {.n_ext = 0};
    r.v[RES_CPU] = c->kube_cpu_milli >= 0 ? c->kube_cpu_milli : kube_cpu_milli(f->vcpus);
    r.v[RES_MEMORY] = c->kube_mem_bytes >= 0 ? c->kube_mem_bytes : kube_mem_bytes(f, c);
    r.v[RES_EPHEMERAL_STORAGE] =
        c->kube_ephemeral_bytes >= 0 ? c->kube_ephemeral_bytes : KUBE_EPHEMERAL_BYTES;
    return r;
}

/* "100%" switches the signal off, as kubelet reads it. */
static int64_t evicted(int64_t bytes, int32_t permyriad, int64_t capacity, int64_t otherwise)
{
    if (permyriad >= PERMYRIAD) {
        return 0;
    }
    if (permyriad >= 0) {
        return share_of(capacity, permyriad);
    }
    return bytes >= 0 ? bytes : otherwise;
}

/* ---- the node
 * ----------------------------------------------------------------------------------------- */

static int64_t memory_bytes(const struct ec2_fact *f, const struct ec2_class *c)
{
    int64_t mib = f->mem_mib;
    if (str_eq(f->arch, "arm64")) {
        mib -= ARM_RESERVED_MIB;
    }
    mib = at_least_0(mib);
    return at_least_0(mib - share_of(mib, c->vm_overhead_permyriad)) * MIB;
}

static int64_t storage_bytes(const struct ec2_fact *f, const struct ec2_class *c)
{
    if (c->instance_store_raid0 && f->nvme_gb > 0) {
        return f->nvme_gb * GB;
    }
    return c->root_volume_bytes;
}

struct resources ec2_capacity(const struct ec2_fact *f, const struct ec2_class *c)
{
    struct resources r = {.ext = c->extra.ext, .n_ext = c->extra.n_ext};
    r.v[RES_CPU] = (int64_t)f->vcpus * 1000;
    r.v[RES_MEMORY] = memory_bytes(f, c);
    r.v[RES_EPHEMERAL_STORAGE] = storage_bytes(f, c);
    r.v[RES_PODS] = ec2_max_pods(f, c);
    r.v[RES_POD_ENI] = at_least_0(f->branch_enis);
    r.v[RES_PRIVATE_IPV4] = c->family == FAMILY_WINDOWS ? at_least_0(f->ips_per_eni - 1) : 0;
    r.v[RES_EFA] = at_least_0(f->efa_max);
    r.v[RES_NVIDIA_GPU] = at_least_0(f->nvidia_gpus);
    r.v[RES_AMD_GPU] = at_least_0(f->amd_gpus);
    r.v[RES_GAUDI] = at_least_0(f->gaudis);
    r.v[RES_NEURON] = at_least_0(f->neurons);
    r.v[RES_NEURONCORE] = at_least_0(f->neuroncores);
    for (size_t i = 0; i < RES_FIXED; i++) {
        if (__builtin_add_overflow(r.v[i], c->extra.v[i], &r.v[i])) {
            r.v[i] = INT64_MAX;
        }
    }
    return r;
}

/* Pages set aside are no memory for anything else; what they leave is not below 0. */
static int64_t without_hugepages(const struct symtab *t, const struct resources *capacity,
                                 int64_t mem_bytes)
{
    for (uint32_t i = 0; i < capacity->n_ext && mem_bytes > 0; i++) {
        if (str_starts(sym_str(t, capacity->ext[i].name), "hugepages-")) {
            mem_bytes = at_least_0(mem_bytes - at_least_0(capacity->ext[i].amount));
        }
    }
    return mem_bytes;
}

struct resources ec2_allocatable(const struct symtab *t, const struct ec2_fact *f,
                                 const struct ec2_class *c, const struct resources *capacity)
{
    struct resources kube = ec2_kube_reserved(f, c);
    struct resources r = *capacity;
    int64_t mem = capacity->v[RES_MEMORY], storage = capacity->v[RES_EPHEMERAL_STORAGE];
    int64_t keep_mem = evicted(c->evict_mem_bytes, c->evict_mem_permyriad, mem, EVICT_MEM_BYTES);
    int64_t keep_storage = evicted(c->evict_storage_bytes, c->evict_storage_permyriad, storage,
                                   share_of(storage, EVICT_STORAGE_PERMYRIAD));
    struct resources held = {.n_ext = 0};
    held.v[RES_CPU] = c->system_cpu_milli;
    held.v[RES_MEMORY] = c->system_mem_bytes;
    held.v[RES_EPHEMERAL_STORAGE] = c->system_ephemeral_bytes;
    const int64_t evict[RES_FIXED] = {
        [RES_MEMORY] = keep_mem, [RES_EPHEMERAL_STORAGE] = keep_storage};
    for (size_t i = 0; i <= RES_EPHEMERAL_STORAGE; i++) {
        __int128 left = (__int128)r.v[i] - kube.v[i] - held.v[i] - evict[i];
        r.v[i] = left < INT64_MIN ? INT64_MIN : (int64_t)left;
    }
    r.v[RES_MEMORY] = without_hugepages(t, capacity, r.v[RES_MEMORY]);
    return r;
}

bool ec2_compatible(const struct ec2_fact *f, const struct ec2_class *c)
{
    return !(c->family == FAMILY_AL2023 && str_starts(f->name, "a1."));
}
