/* classspec.c - an EC2NodeClass's spec: what of it enters the catalog; see cloud_int.h. */
#include "cloud_int.h"
#include "common/base/jsonx.h"
#include "common/base/quantity.h"
#include "common/base/str.h"
#include "common/kube/decode.h"

#define ANN_CAPACITY "karp.dev/capacity"
#define AL2023_DEVICE "/dev/xvda"
#define PERMYRIAD 10000

enum ami_family spec_family(const json_t *spec)
{
    const char *name = decode_ami_family(spec);
    if (str_eq(name, "AL2023")) {
        return FAMILY_AL2023;
    }
    if (str_eq(name, "AL2")) {
        return FAMILY_AL2;
    }
    if (str_eq(name, "Bottlerocket")) {
        return FAMILY_BOTTLEROCKET;
    }
    return str_starts(name, "Windows") ? FAMILY_WINDOWS : FAMILY_CUSTOM;
}

/* ---- volumes -----------------------------------------------------------------------------------
 */

/* The mapping that carries pods' ephemeral storage. */
static const json_t *ephemeral_mapping(const json_t *list, enum ami_family family)
{
    const json_t *by_device = NULL;
    size_t i;
    json_t *m;
    json_array_foreach ((json_t *)(uintptr_t)list, i, m) {
        if (jsonx_bool(m, "rootVolume", false)) {
            return m;
        }
        if (family == FAMILY_CUSTOM || str_eq(jsonx_str(m, "deviceName"), AL2023_DEVICE)) {
            by_device = m;
        }
    }
    return by_device;
}

static void read_volume(const json_t *spec, struct ec2_class *ret)
{
    const json_t *m = ephemeral_mapping(jsonx_arr(spec, "blockDeviceMappings"), ret->family);
    const char *size = jsonx_str(m, "ebs.volumeSize");
    int64_t bytes;
    if (size && quantity_parse(size, &bytes) && bytes > 0) {
        ret->root_volume_bytes = bytes;
    }
    ret->instance_store_raid0 = str_eq(jsonx_str(spec, "instanceStorePolicy"), "RAID0");
}

/* ---- kubelet -----------------------------------------------------------------------------------
 */

static int64_t amount(const json_t *o, const char *key, bool milli, int64_t absent)
{
    const char *text = json_string_value(json_object_get(o, key));
    int64_t v;
    bool ok = text && (milli ? quantity_parse_milli(text, &v) : quantity_parse(text, &v));
    return ok && v >= 0 ? v : absent;
}

static void read_reserved(const json_t *kubelet, struct ec2_class *ret)
{
    const json_t *kube = jsonx_obj(kubelet, "kubeReserved");
    const json_t *system = jsonx_obj(kubelet, "systemReserved");
    ret->kube_cpu_milli = amount(kube, "cpu", true, -1);
    ret->kube_mem_bytes = amount(kube, "memory", false, -1);
    ret->kube_ephemeral_bytes = amount(kube, "ephemeral-storage", false, -1);
    ret->system_cpu_milli = amount(system, "cpu", true, 0);
    ret->system_mem_bytes = amount(system, "memory", false, 0);
    ret->system_ephemeral_bytes = amount(system, "ephemeral-storage", false, 0);
}

/* "7.5%" is 750. */
static bool permyriad(const char *text, int32_t *ret)
{
    char number[32];
    size_t n = strlen(text);
    int64_t milli;
    if (n < 2 || n > sizeof(number) || text[n - 1] != '%') {
        return false;
    }
    snprintf(number, sizeof(number), "%.*s", (int)(n - 1), text);
    if (!quantity_parse_milli(number, &milli) || milli < 0 || milli > 100 * 1000) {
        return false;
    }
    *ret = (int32_t)(milli / 10);
    return true;
}

/* 100% of capacity means that nothing is held back (as kubelet). */
static void read_threshold(const json_t *hard, const char *key, int64_t *ret_bytes,
                           int32_t *ret_permyriad)
{
    const char *text = json_string_value(json_object_get(hard, key));
    int32_t share;
    if (text && permyriad(text, &share)) {
        if (share == PERMYRIAD) {
            *ret_bytes = 0;
        } else {
            *ret_permyriad = share;
        }
    } else {
        *ret_bytes = amount(hard, key, false, -1);
    }
}

static void read_kubelet(const json_t *kubelet, struct ec2_class *ret)
{
    int64_t max_pods = jsonx_int(kubelet, "maxPods", -1);
    int64_t per_core = jsonx_int(kubelet, "podsPerCore", 0);
    const json_t *hard = jsonx_obj(kubelet, "evictionHard");
    ret->max_pods = max_pods >= 0 && max_pods <= INT32_MAX ? (int32_t)max_pods : -1;
    ret->pods_per_core = per_core > 0 && per_core <= INT32_MAX ? (int32_t)per_core : 0;
    read_reserved(kubelet, ret);
    read_threshold(hard, "memory.available", &ret->evict_mem_bytes, &ret->evict_mem_permyriad);
    read_threshold(hard, "nodefs.available", &ret->evict_storage_bytes,
                   &ret->evict_storage_permyriad);
}

void spec_ec2_class(const struct agent_options *o, const json_t *spec, struct ec2_class *ret)
{
    ec2_class_default(ret);
    ret->family = spec_family(spec);
    ret->vm_overhead_permyriad = o->vm_overhead_permyriad;
    ret->reserved_enis = o->reserved_enis;
    read_volume(spec, ret);
    read_kubelet(jsonx_obj(spec, "kubelet"), ret);
}

/* ---- karp.dev/capacity --------------------------------------------------------------------------
 */

static int ext_cmp(const void *x, const void *y)
{
    const struct res_ext *a = x, *b = y;
    return (a->name > b->name) - (a->name < b->name);
}

static int read_extra(struct symtab *t, const json_t *o, struct resources *ret,
                      struct res_ext ext[RES_EXT_MAX], struct err *reterr)
{
    const char *key;
    json_t *v;
    json_object_foreach ((json_t *)(uintptr_t)o, key, v) {
        enum resource fixed;
        const char *text = json_string_value(v);
        int64_t n;
        bool milli = str_eq(key, "cpu");
        if (!text || !(milli ? quantity_parse_milli(text, &n) : quantity_parse(text, &n)) ||
            n < 0) {
            return err_set(reterr, ERR_INVALID, ANN_CAPACITY ": %s is no quantity", key);
        }
        if (resource_parse(key, &fixed)) {
            ret->v[fixed] = n;
        } else if (ret->n_ext == RES_EXT_MAX) {
            return err_set(reterr, ERR_LIMIT, ANN_CAPACITY ": more than %d resources", RES_EXT_MAX);
        } else {
            ext[ret->n_ext++] = (struct res_ext){sym_intern(t, key), n};
        }
    }
    return 0;
}

int spec_extra(struct symtab *t, struct arena *a, const struct nodeclass *cls,
               struct resources *ret, struct err *reterr)
{
    const char *text = kvs_get(&cls->m.annotations, ANN_CAPACITY);
    struct res_ext ext[RES_EXT_MAX];
    struct resources r = {.n_ext = 0};
    *ret = r;
    if (!text) {
        return 0;
    }
    AUTO_JSON json_t *o = jsonx_parse(text, strlen(text), ANN_CAPACITY, reterr);
    if (!o) {
        return -1;
    }
    if (!json_is_object(o)) {
        return err_set(reterr, ERR_INVALID, ANN_CAPACITY ": not an object");
    }
    if (read_extra(t, o, &r, ext, reterr) < 0) {
        return -1;
    }
    qsort(ext, r.n_ext, sizeof(*ext), ext_cmp);
    r.ext = arena_memdup(a, ext, r.n_ext * sizeof(*ext));
    *ret = r;
    return 0;
}

/* ---- what this version does not do ----------------------------------------------------------- */

bool spec_unsupported(const json_t *spec, struct buf *why)
{
    enum ami_family family = spec_family(spec);
    if (family != FAMILY_AL2023 && family != FAMILY_CUSTOM) {
        buf_printf(why,
                   "amiFamily %s is not supported by this version of karp; AL2023 and Custom "
                   "are",
                   decode_ami_family(spec));
        return true;
    }
    static const char *const fields[] = {"placementGroupSelector", "networkInterfaces",
                                         "capacityReservationSelectorTerms"};
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const json_t *v = json_object_get(spec, fields[i]);
        if (json_array_size(v) > 0 || json_object_size(v) > 0) {
            buf_printf(why, "spec.%s is not supported by this version of karp", fields[i]);
            return true;
        }
    }
    if (str_eq(jsonx_str(spec, "cpuOptions.nestedVirtualization"), "enabled")) {
        buf_puts(why, "spec.cpuOptions.nestedVirtualization is not supported by this version of "
                      "karp");
        return true;
    }
    return false;
}

const char *spec_restricted_tag(const json_t *spec)
{
    static const char *const restricted[] = {TAG_CLUSTER, TAG_POOL, TAG_CLAIM, TAG_CLASS};
    const char *key;
    json_t *v;
    json_object_foreach (jsonx_obj(spec, "tags"), key, v) {
        if (str_starts(key, "kubernetes.io/cluster") || str_starts(key, "karp.dev/")) {
            return key;
        }
        for (size_t i = 0; i < ARRAY_LEN(restricted); i++) {
            if (str_eq(key, restricted[i])) {
                return key;
            }
        }
    }
    return NULL;
}

bool spec_type_fits(const json_t *spec, const struct ec2_class *ec, const struct ec2_fact *f)
{
    if (!ec2_compatible(f, ec)) {
        return false;
    }
    /* Connection tracking is a thing of Nitro. */
    return !jsonx_obj(spec, "connectionTracking") || str_eq(f->hypervisor, "nitro");
}
