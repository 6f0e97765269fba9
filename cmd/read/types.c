/* types.c - see types.h; the form of DescribeInstanceTypes. */
#include "types.h"

#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "input.h"

#include <math.h>

#define NUMBER_MAX 1000000000 /* of anything that EC2 counts */

bool types_wanted(const struct opt_texts *globs, const char *name)
{
    if (globs->n == 0) {
        return true;
    }
    for (size_t i = 0; i < globs->n; i++) {
        for (const char *g = globs->v[i]; *g;) {
            size_t n = strcspn(g, ",");
            char glob[128];
            (void)snprintf(glob, sizeof(glob), "%.*s", (int)n, g);
            if (n > 0 && str_glob(glob, name)) {
                return true;
            }
            g += n + (g[n] == ',');
        }
    }
    return false;
}

/* ---- fields ---------------------------------------------------------------------------------- */

/* -1 if it is absent or no count. */
static int64_t count_at(const json_t *o, const char *path)
{
    int64_t n = jsonx_int(o, path, -1);
    return n >= 0 && n <= NUMBER_MAX ? n : -1;
}

static int32_t int_at(const json_t *o, const char *path)
{
    return (int32_t)count_at(o, path);
}

static bool is_at(const json_t *o, const char *path, const char *value)
{
    return str_eq(jsonx_str(o, path), value);
}

static bool lists(const json_t *list, const char *value)
{
    size_t i;
    json_t *v;
    json_array_foreach ((json_t *)(uintptr_t)list, i, v) {
        if (str_eq(json_string_value(v), value)) {
            return true;
        }
    }
    return false;
}

/* Lower case with '-' for blanks, as Karpenter writes label values. NULL for NULL. */
static const char *kebab(struct arena *a, const char *s)
{
    char *copy = arena_strdup(a, s);
    for (char *c = copy; c && *c; c++) {
        if (*c >= 'A' && *c <= 'Z') {
            *c = (char)(*c - 'A' + 'a');
        } else if (*c == ' ') {
            *c = '-';
        }
    }
    return copy;
}

static int64_t milli_at(const json_t *o, const char *path)
{
    const json_t *v = jsonx_at(o, path);
    double n = json_is_number(v) ? json_number_value(v) : -1;
    return n >= 0 && n < NUMBER_MAX ? llround(n * 1000) : -1;
}

static int32_t sum_counts(const json_t *list, const char *manufacturer)
{
    int64_t sum = 0;
    size_t i;
    json_t *v;
    json_array_foreach ((json_t *)(uintptr_t)list, i, v) {
        if (!manufacturer || is_at(v, "Manufacturer", manufacturer)) {
            int64_t n = count_at(v, "Count");
            sum += n > 0 ? n : 0;
        }
    }
    return sum > NUMBER_MAX ? NUMBER_MAX : (int32_t)sum;
}

/* ---- one type -------------------------------------------------------------------------------- */

static void read_network(const json_t *o, struct ec2_fact *f)
{
    const json_t *card = NULL;
    int64_t want = jsonx_int(o, "NetworkInfo.DefaultNetworkCardIndex", 0), mbps = 0;
    size_t i;
    json_t *v;
    json_array_foreach (jsonx_arr(o, "NetworkInfo.NetworkCards"), i, v) {
        int64_t m = milli_at(v, "BaselineBandwidthInGbps");
        mbps += m > 0 ? m : 0;
        if (!card && jsonx_int(v, "NetworkCardIndex", 0) == want) {
            card = v;
        }
    }
    f->enis = int_at(card, "MaximumNetworkInterfaces");
    if (f->enis < 0) {
        f->enis = int_at(o, "NetworkInfo.MaximumNetworkInterfaces");
    }
    f->network_mbps = mbps > 0 && mbps <= NUMBER_MAX ? (int32_t)mbps : -1;
    f->ips_per_eni = int_at(o, "NetworkInfo.Ipv4AddressesPerInterface");
    f->cards = int_at(o, "NetworkInfo.MaximumNetworkCards");
    f->efa_max = int_at(o, "NetworkInfo.EfaInfo.MaximumEfaInterfaces");
    f->branch_enis = int_at(o, "BranchInterfaces");
    f->encryption_in_transit = jsonx_bool(o, "NetworkInfo.EncryptionInTransitSupported", false);
    f->ena = !is_at(o, "NetworkInfo.EnaSupport", "unsupported");
}

static void read_storage(const json_t *o, struct ec2_fact *f)
{
    bool optimized = is_at(o, "EbsInfo.EbsOptimizedSupport", "default");
    bool nvme = jsonx_at(o, "InstanceStorageInfo") &&
                !is_at(o, "InstanceStorageInfo.NvmeSupport", "unsupported");
    f->ebs_mbps = optimized ? int_at(o, "EbsInfo.EbsOptimizedInfo.MaximumBandwidthInMbps") : -1;
    f->nvme_gb = nvme ? count_at(o, "InstanceStorageInfo.TotalSizeInGB") : -1;
}

static void read_gpus(struct arena *a, const json_t *o, struct ec2_fact *f)
{
    const json_t *gpus = jsonx_arr(o, "GpuInfo.Gpus");
    const json_t *only = json_array_size(gpus) == 1 ? json_array_get(gpus, 0) : NULL;
    f->gpu_name = kebab(a, jsonx_str(only, "Name"));
    f->gpu_manufacturer = kebab(a, jsonx_str(only, "Manufacturer"));
    f->gpu_count = int_at(only, "Count");
    f->gpu_mem_mib = count_at(only, "MemoryInfo.SizeInMiB");
    f->nvidia_gpus = sum_counts(gpus, "NVIDIA");
    f->amd_gpus = sum_counts(gpus, "AMD");
    f->gaudis = sum_counts(gpus, "Habana");
}

static void read_accelerators(struct arena *a, const json_t *o, struct ec2_fact *f)
{
    const json_t *neurons = jsonx_arr(o, "NeuronInfo.NeuronDevices");
    const json_t *others = jsonx_arr(o, "InferenceAcceleratorInfo.Accelerators");
    const json_t *only = json_array_get(neurons, 0);
    if (only) {
        int64_t n = count_at(only, "Count"), cores = count_at(only, "CoreInfo.Count");
        int64_t all = n > 0 && cores > 0 ? n * cores : 0;
        f->neuroncores = all > NUMBER_MAX ? NUMBER_MAX : (int32_t)all;
        f->accelerator_manufacturer = "aws";
    } else if (json_array_size(others) == 1) {
        only = json_array_get(others, 0);
        f->accelerator_manufacturer = kebab(a, jsonx_str(only, "Manufacturer"));
    }
    f->accelerator_name = kebab(a, jsonx_str(only, "Name"));
    f->accelerator_count = int_at(only, "Count");
    f->neurons = sum_counts(neurons, NULL);
}

static const char *arch_of(const json_t *o)
{
    const json_t *archs = jsonx_arr(o, "ProcessorInfo.SupportedArchitectures");
    size_t i;
    json_t *v;
    json_array_foreach ((json_t *)(uintptr_t)archs, i, v) {
        const char *s = json_string_value(v);
        if (str_eq(s, "x86_64") || str_eq(s, "arm64")) {
            return str_eq(s, "arm64") ? "arm64" : "amd64";
        }
    }
    return NULL;
}

/* 1: read, 0: not for Kubernetes, -1: broken. */
static int read_type(struct arena *a, const json_t *o, struct ec2_fact *f, struct err *reterr)
{
    const char *name = jsonx_str(o, "InstanceType"), *arch = arch_of(o);
    const json_t *usage = jsonx_arr(o, "SupportedUsageClasses");
    const json_t *virt = jsonx_arr(o, "SupportedVirtualizationTypes");
    if (!name || !*name) {
        return err_set(reterr, ERR_INVALID, "InstanceType: missing");
    }
    if (!arch || (virt && !lists(virt, "hvm"))) {
        return 0;
    }
    *f = (struct ec2_fact){.name = arena_strdup(a, name), .arch = arch};
    f->vcpus = int_at(o, "VCpuInfo.DefaultVCpus");
    f->mem_mib = count_at(o, "MemoryInfo.SizeInMiB");
    if (f->vcpus <= 0 || f->mem_mib <= 0) {
        return err_set(reterr, ERR_INVALID, "%s: vCPUs or memory are missing", name);
    }
    f->cpu_manufacturer = kebab(a, jsonx_str(o, "ProcessorInfo.Manufacturer"));
    f->hypervisor = kebab(a, jsonx_str(o, "Hypervisor"));
    f->clock_mhz = (int32_t)milli_at(o, "ProcessorInfo.SustainedClockSpeedInGhz");
    read_network(o, f);
    read_storage(o, f);
    read_gpus(a, o, f);
    read_accelerators(a, o, f);
    f->bare_metal = jsonx_bool(o, "BareMetal", false);
    f->nitro_enclaves = is_at(o, "NitroEnclavesSupport", "supported");
    f->spot = !usage || lists(usage, "spot");
    f->on_demand = !usage || lists(usage, "on-demand");
    return 1;
}

static int fact_cmp(const void *x, const void *y)
{
    return str_cmp(((const struct ec2_fact *)x)->name, ((const struct ec2_fact *)y)->name);
}

static int read_ec2(const json_t *list, const char *path, const struct opt_texts *globs,
                    struct types *ret, struct err *reterr)
{
    struct ec2_fact *v = ARENA_NEW_N(&ret->mem, struct ec2_fact, json_array_size(list));
    uint32_t n = 0;
    size_t i;
    json_t *o;
    json_array_foreach ((json_t *)(uintptr_t)list, i, o) {
        int rc = read_type(&ret->mem, o, &v[n], reterr);
        if (rc < 0) {
            return err_wrap(reterr, "%s: type %zu", path, i + 1);
        }
        n += rc > 0 && types_wanted(globs, v[n].name);
    }
    if (n > 1) {
        qsort(v, n, sizeof(*v), fact_cmp);
    }
    for (uint32_t k = 1; k < n; k++) {
        if (str_eq(v[k].name, v[k - 1].name)) {
            return err_set(reterr, ERR_INVALID, "%s: %s is listed twice", path, v[k].name);
        }
    }
    if (n == 0) {
        return err_set(reterr, ERR_INVALID, "%s: no instance type is left", path);
    }
    ret->facts = v;
    ret->n_facts = n;
    return 0;
}

/* ---- the file -------------------------------------------------------------------------------- */

int types_load(struct symtab *t, const char *path, const struct opt_texts *globs, struct types *ret,
               struct err *reterr)
{
    memset(ret, 0, sizeof(*ret));
    AUTO_JSON json_t *root = input_json(path, reterr);
    if (!root) {
        return -1;
    }
    const json_t *list = json_is_array(root) ? root : jsonx_arr(root, "InstanceTypes");
    if (json_array_size(list) == 0 || json_array_size(list) > CATALOG_MAX_TYPES) {
        return err_set(reterr, ERR_INVALID,
                       "%s: neither a list of instance types nor the answer "
                       "to DescribeInstanceTypes (at most %d types)",
                       path, CATALOG_MAX_TYPES);
    }
    arena_init(&ret->mem, 64u << 10, SIZE_MAX);
    bool full = jsonx_str(json_array_get(list, 0), "name") != NULL;
    int rc = full ? types_read_full(t, list, path, globs, ret, reterr)
                  : read_ec2(list, path, globs, ret, reterr);
    if (rc != 0) {
        types_done(ret);
    }
    return rc;
}

void types_done(struct types *ty)
{
    catalog_free(ty->catalog);
    offerings_free(ty->offerings);
    arena_done(&ty->mem);
    memset(ty, 0, sizeof(*ty));
}
