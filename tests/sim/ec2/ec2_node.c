/*
 * ec2_node.c - the Node that an instance's kubelet registers, from its type's facts and its user
 * data.
 *
 * Memory is what the planning formula expects (the hypervisor keeps 7.5%, arm64 64 MiB more), but
 * for the types whose real allocatable memory the field reports measured: there
 * the node has 3.6 to 5.2% more than planned, as real nodes do.
 */
#include "common/base/quantity.h"
#include "ec2_priv.h"

#define MIB (INT64_C(1) << 20)
#define GIB (INT64_C(1) << 30)
#define VM_OVERHEAD_PERMYRIAD 750
#define ARM_MIB 64
#define ROOT_GIB 20

/* Of one resource: all there is, and what pods may have. */
struct amount {
    int64_t capacity, allocatable;
};

struct kubelet {
    const struct ec2_fact *fact;
    const json_t *config;
    int64_t max_pods;
    int64_t root_bytes;
};

/* What the field reports measured, in thousandths of a GiB allocatable; 0 = not among them. */
static int64_t measured_mgib(const char *type)
{
    static const struct {
        const char *type;
        int64_t mgib;
    } table[] = {
        {"c5.4xlarge", 27696},  {"m5d.2xlarge", 29916}, {"m5zn.6xlarge", 89337},
        {"c5a.8xlarge", 59253}, {"c5a.xlarge", 6681},   {"c5a.4xlarge", 28131},
        {"c5a.2xlarge", 14461},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        if (str_eq(table[i].type, type)) {
            return table[i].mgib;
        }
    }
    return 0;
}

/* map.name as thousandths (cpu) or whole units; -1 = not there. */
static int64_t told(const struct kubelet *k, const char *map, const char *name, bool milli)
{
    const char *text = json_string_value(json_object_get(json_object_get(k->config, map), name));
    int64_t n;
    bool ok = text && (milli ? quantity_parse_milli(text, &n) : quantity_parse(text, &n));
    return ok ? n : -1;
}

static int64_t or_default(int64_t n, int64_t otherwise)
{
    return n >= 0 ? n : otherwise;
}

/* nodeadm's reservation where the user data has none: 6% of the first core, 1% of the second, 0.5%
 * of the next two, 0.25% of the others. */
static int64_t default_cpu_milli(int64_t vcpus)
{
    int64_t milli = 0;
    for (int64_t i = 0; i < vcpus; i++) {
        milli += i == 0 ? 6000 : i == 1 ? 1000 : i < 4 ? 500 : 250;
    }
    return milli / 100;
}

/* evictionHard[signal]: bytes, or a percentage of the capacity rounded up. */
static int64_t eviction(const struct kubelet *k, const char *signal, int64_t capacity,
                        int64_t otherwise)
{
    const char *text =
        json_string_value(json_object_get(json_object_get(k->config, "evictionHard"), signal));
    char number[32];
    int64_t n;
    if (!text) {
        return otherwise;
    }
    if (!str_ends(text, "%")) {
        return quantity_parse(text, &n) ? n : otherwise;
    }
    snprintf(number, sizeof(number), "%.*s", (int)(strlen(text) - 1), text);
    if (!quantity_parse_milli(number, &n) || n >= 100000) {
        return 0; /* 100% switches the signal off */
    }
    return capacity / 100000 * n + (capacity % 100000 * n + 99999) / 100000;
}

static struct amount cpu(const struct kubelet *k)
{
    int64_t all = k->fact->vcpus * INT64_C(1000);
    int64_t kube =
        or_default(told(k, "kubeReserved", "cpu", true), default_cpu_milli(k->fact->vcpus));
    int64_t sys = or_default(told(k, "systemReserved", "cpu", true), 0);
    return (struct amount){all, all - kube - sys};
}

static struct amount memory(const struct kubelet *k)
{
    int64_t mib = k->fact->mem_mib - (str_eq(k->fact->arch, "arm64") ? ARM_MIB : 0);
    int64_t all = (mib - (mib * VM_OVERHEAD_PERMYRIAD + 9999) / 10000) * MIB;
    int64_t kube =
        or_default(told(k, "kubeReserved", "memory", false), (11 * k->max_pods + 255) * MIB);
    int64_t sys = or_default(told(k, "systemReserved", "memory", false), 0);
    int64_t measured = measured_mgib(k->fact->name) * GIB / 1000 / 1024 * 1024;
    if (measured > 0) {
        int64_t evict = eviction(k, "memory.available", measured + kube + sys, 100 * MIB);
        return (struct amount){measured + kube + sys + evict, measured};
    }
    return (struct amount){all, all - kube - sys - eviction(k, "memory.available", all, 100 * MIB)};
}

static struct amount storage(const struct kubelet *k)
{
    int64_t all = k->root_bytes;
    int64_t kube = or_default(told(k, "kubeReserved", "ephemeral-storage", false), GIB);
    int64_t sys = or_default(told(k, "systemReserved", "ephemeral-storage", false), 0);
    int64_t evict = eviction(k, "nodefs.available", all, (all + 9) / 10);
    return (struct amount){all, all - kube - sys - evict};
}

static void put_bytes(json_t *status, const char *name, struct amount a)
{
    json_object_set_new(json_object_get(status, "capacity"), name,
                        json_sprintf("%lldKi", (long long)(a.capacity / 1024)));
    json_object_set_new(json_object_get(status, "allocatable"), name,
                        json_sprintf("%lldKi", (long long)(a.allocatable / 1024)));
}

static void put_count(json_t *status, const char *name, int64_t n)
{
    if (n > 0) {
        json_object_set_new(json_object_get(status, "capacity"), name,
                            json_sprintf("%lld", (long long)n));
        json_object_set_new(json_object_get(status, "allocatable"), name,
                            json_sprintf("%lld", (long long)n));
    }
}

static void put_cpu(json_t *status, struct amount a)
{
    json_object_set_new(json_object_get(status, "capacity"), "cpu",
                        json_sprintf("%lld", (long long)(a.capacity / 1000)));
    json_object_set_new(json_object_get(status, "allocatable"), "cpu",
                        json_sprintf("%lldm", (long long)a.allocatable));
}

/* What device plugins would announce. */
static void put_devices(json_t *status, const struct simec2_inst *x)
{
    const struct ec2_fact *f = &ec2_facts[x->fact];
    int64_t efa = 0;
    for (size_t i = 0; x->tmpl && i < x->tmpl->n_interfaces; i++) {
        efa += str_starts(x->tmpl->interface_types[i], "efa");
    }
    put_count(status, "nvidia.com/gpu", f->nvidia_gpus);
    put_count(status, "amd.com/gpu", f->amd_gpus);
    put_count(status, "habana.ai/gaudi", f->gaudis);
    put_count(status, "aws.amazon.com/neuron", f->neurons);
    put_count(status, "aws.amazon.com/neuroncore", f->neuroncores);
    put_count(status, "vpc.amazonaws.com/efa", efa);
}

static json_t *condition(const char *type, const char *reason, const char *message, const char *now)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "type", type, "status", "False", "reason",
                     reason, "message", message, "lastHeartbeatTime", now, "lastTransitionTime",
                     now);
}

static json_t *conditions(const struct simec2_inst *x)
{
    char now[TIMEFMT_TEXT];
    timefmt_rfc3339(simec2_wall(x->e), now);
    return json_pack(
        "[o, o, o, o]",
        condition("MemoryPressure", "KubeletHasSufficientMemory",
                  "kubelet has sufficient memory available", now),
        condition("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure", now),
        condition("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available",
                  now),
        condition("Ready", "KubeletNotReady",
                  "container runtime network not ready: cni plugin not initialized", now));
}

static json_t *status(const struct simec2_inst *x, const struct kubelet *k)
{
    json_t *s =
        json_pack("{s:{}, s:{}, s:o}", "capacity", "allocatable", "conditions", conditions(x));
    put_cpu(s, cpu(k));
    put_bytes(s, "ephemeral-storage", storage(k));
    put_bytes(s, "memory", memory(k));
    put_count(s, "pods", k->max_pods);
    put_devices(s, x);
    json_object_set_new(s, "addresses",
                        json_pack("[{s:s, s:s}, {s:s, s:s}, {s:s, s:s}]", "type", "InternalIP",
                                  "address", x->pub.private_ip, "type", "InternalDNS", "address",
                                  x->pub.private_dns, "type", "Hostname", "address",
                                  x->pub.private_dns));
    AUTO_FREE char *version = xasprintf("v%s.0", x->e->opts.k8s_version);
    json_object_set_new(s, "nodeInfo",
                        json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}",
                                  "architecture", x->pub.arch, "operatingSystem", "linux",
                                  "kubeletVersion", version, "kubeProxyVersion", "", "osImage",
                                  "Amazon Linux 2023", "kernelVersion", "6.12.40-64.114.amzn2023",
                                  "containerRuntimeVersion", "containerd://2.1.0", "machineID",
                                  x->pub.id, "systemUUID", x->pub.id, "bootID", x->pub.id));
    return s;
}

static json_t *labels(const struct simec2_inst *x, const struct simec2_userdata *u)
{
    json_t *l = json_deep_copy(u->labels);
    json_t *own = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "beta.kubernetes.io/arch",
        x->pub.arch, "beta.kubernetes.io/instance-type", x->pub.type, "beta.kubernetes.io/os",
        "linux", "kubernetes.io/arch", x->pub.arch, "kubernetes.io/hostname", x->pub.node_name,
        "kubernetes.io/os", "linux", "node.kubernetes.io/instance-type", x->pub.type,
        "topology.k8s.aws/zone-id", x->pub.zone_id, "topology.kubernetes.io/region",
        x->e->opts.region, "topology.kubernetes.io/zone", x->pub.zone,
        "failure-domain.beta.kubernetes.io/region", x->e->opts.region,
        "failure-domain.beta.kubernetes.io/zone", x->pub.zone);
    json_object_update(l, own);
    json_decref(own);
    return l;
}

static json_t *taints(const struct simec2_userdata *u)
{
    json_t *t = json_deep_copy(u->taints);
    json_array_append_new(
        t, json_pack("{s:s, s:s}", "key", "node.kubernetes.io/not-ready", "effect", "NoSchedule"));
    return t;
}

static int64_t eni_pods(const struct ec2_fact *f)
{
    int64_t n = (int64_t)f->enis * (f->ips_per_eni - 1) + 2;
    return f->enis > 0 && f->ips_per_eni > 0 ? n : 0;
}

json_t *simec2_node(const struct simec2_inst *x, const struct simec2_userdata *u,
                    struct err *reterr)
{
    const struct ec2_fact *f = &ec2_facts[x->fact];
    int64_t gib = x->tmpl && x->tmpl->root_gib > 0 ? x->tmpl->root_gib : ROOT_GIB;
    const struct kubelet k = {
        .fact = f,
        .config = u->kubelet,
        .max_pods = u->max_pods >= 0 ? u->max_pods : eni_pods(f),
        .root_bytes = u->raid0 && f->nvme_gb > 0 ? f->nvme_gb * INT64_C(1000000000) : gib * GIB,
    };
    if (cpu(&k).allocatable < 0 || memory(&k).allocatable < 0 || storage(&k).allocatable < 0) {
        err_set(reterr, ERR_INVALID, "kubelet refuses to start: more is reserved than there is");
        return NULL;
    }
    return json_pack("{s:s, s:s, s:{s:s, s:o}, s:{s:s, s:o}, s:o}", "apiVersion", "v1", "kind",
                     "Node", "metadata", "name", x->pub.node_name, "labels", labels(x, u), "spec",
                     "providerID", x->pub.provider_id, "taints", taints(u), "status",
                     status(x, &k));
}
