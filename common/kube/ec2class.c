#include "ec2class.h"

#include "common/base/jsonx.h"
#include "common/base/quantity.h"
#include "common/base/str.h"
#include "decode.h"

#define PERMYRIAD 10000

enum ami_family ec2class_family(const json_t *spec)
{
    static const struct {
        const char *name;
        enum ami_family family;
    } rows[] = {
        {"AL2023", FAMILY_AL2023},
        {"AL2", FAMILY_AL2},
        {"Bottlerocket", FAMILY_BOTTLEROCKET},
        {"Windows2019", FAMILY_WINDOWS},
        {"Windows2022", FAMILY_WINDOWS},
        {"Windows2025", FAMILY_WINDOWS},
    };
    const char *name = decode_ami_family(spec);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (str_eq(rows[i].name, name)) {
            return rows[i].family;
        }
    }
    return FAMILY_CUSTOM;
}

static const char *windows_build(const json_t *spec)
{
    const char *name = decode_ami_family(spec);
    if (str_eq(name, "Windows2019")) {
        return "10.0.17763";
    }
    if (str_eq(name, "Windows2022")) {
        return "10.0.20348";
    }
    return str_eq(name, "Windows2025") ? "10.0.26100" : NULL;
}

/* ---- amounts --------------------------------------------------------------------------------- */

static int64_t amount(const json_t *o, const char *key, int64_t absent)
{
    const char *s = json_string_value(json_object_get(o, key));
    int64_t v;
    bool ok = s && (str_eq(key, "cpu") ? quantity_parse_milli(s, &v) : quantity_parse(s, &v));
    return ok && v >= 0 ? v : absent;
}

/* "7.5%" gives 750. */
static bool share(const char *s, int32_t *ret_permyriad)
{
    char number[QUANTITY_TEXT];
    size_t n = strlen(s);
    int64_t milli;
    if (n < 2 || s[n - 1] != '%' || n > sizeof(number)) {
        return false;
    }
    memcpy(number, s, n - 1);
    number[n - 1] = '\0';
    if (!quantity_parse_milli(number, &milli) || milli < 0 || milli > PERMYRIAD * 10) {
        return false;
    }
    *ret_permyriad = (int32_t)(milli / 10);
    return true;
}

/* All of the capacity as a threshold means none, as kubelet has it. */
static void threshold(const json_t *hard, const char *key, int64_t *ret_bytes,
                      int32_t *ret_permyriad)
{
    const char *s = json_string_value(json_object_get(hard, key));
    int32_t part;
    if (!s || !share(s, &part)) {
        *ret_bytes = amount(hard, key, -1);
    } else if (part == PERMYRIAD) {
        *ret_bytes = 0;
    } else {
        *ret_permyriad = part;
    }
}

static int32_t small(const json_t *o, const char *key, int32_t absent)
{
    int64_t n = jsonx_int(o, key, -1);
    return n >= 0 && n <= INT32_MAX ? (int32_t)n : absent;
}

static void read_kubelet(const json_t *kubelet, struct ec2_class *ret)
{
    const json_t *kube = jsonx_obj(kubelet, "kubeReserved");
    const json_t *sys = jsonx_obj(kubelet, "systemReserved");
    const json_t *hard = jsonx_obj(kubelet, "evictionHard");
    ret->max_pods = small(kubelet, "maxPods", -1);
    ret->pods_per_core = small(kubelet, "podsPerCore", 0);
    ret->kube_cpu_milli = amount(kube, "cpu", -1);
    ret->kube_mem_bytes = amount(kube, "memory", -1);
    ret->kube_ephemeral_bytes = amount(kube, "ephemeral-storage", -1);
    ret->system_cpu_milli = amount(sys, "cpu", 0);
    ret->system_mem_bytes = amount(sys, "memory", 0);
    ret->system_ephemeral_bytes = amount(sys, "ephemeral-storage", 0);
    threshold(hard, "memory.available", &ret->evict_mem_bytes, &ret->evict_mem_permyriad);
    threshold(hard, "nodefs.available", &ret->evict_storage_bytes, &ret->evict_storage_permyriad);
}

/* ---- volumes --------------------------------------------------------------------------------- */

static const char *ephemeral_device(enum ami_family family)
{
    switch (family) {
    case FAMILY_BOTTLEROCKET:
        return "/dev/xvdb";
    case FAMILY_WINDOWS:
        return "/dev/sda1";
    default:
        return "/dev/xvda";
    }
}

/* The mapping that pods' ephemeral storage lies on. */
static const json_t *ephemeral_mapping(const json_t *spec, enum ami_family family)
{
    const json_t *list = jsonx_arr(spec, "blockDeviceMappings"), *ret = NULL;
    size_t i;
    json_t *m;
    json_array_foreach ((json_t *)(uintptr_t)list, i, m) {
        if (jsonx_bool(m, "rootVolume", false)) {
            return m;
        }
        if (family == FAMILY_CUSTOM ||
            str_eq(jsonx_str(m, "deviceName"), ephemeral_device(family))) {
            ret = m;
        }
    }
    return ret;
}

static void read_volume(const json_t *spec, struct ec2_class *ret)
{
    const json_t *ebs = jsonx_obj(ephemeral_mapping(spec, ret->family), "ebs");
    int64_t bytes = amount(ebs, "volumeSize", 0);
    if (bytes > 0) {
        ret->root_volume_bytes = bytes;
    } else if (ret->family == FAMILY_WINDOWS) {
        ret->root_volume_bytes = INT64_C(50) << 30;
    }
    ret->instance_store_raid0 = str_eq(jsonx_str(spec, "instanceStorePolicy"), "RAID0");
}

/* ---- extra resources ------------------------------------------------------------------------- */

static int ext_cmp(const void *x, const void *y)
{
    const struct res_ext *a = x, *b = y;
    return a->name < b->name ? -1 : a->name > b->name;
}

static void read_extra(struct symtab *t, struct arena *a, const json_t *o, struct resources *ret)
{
    struct res_ext *ext = ARENA_NEW_N(a, struct res_ext, RES_EXT_MAX);
    const char *name;
    json_t *v;
    json_object_foreach ((json_t *)(uintptr_t)o, name, v) {
        enum resource fixed;
        int64_t n = amount(o, name, -1);
        if (n < 0) {
            continue;
        }
        if (resource_parse(name, &fixed)) {
            ret->v[fixed] = n;
        } else if (ret->n_ext < RES_EXT_MAX) {
            ext[ret->n_ext++] = (struct res_ext){sym_intern(t, name), n};
        }
    }
    if (ret->n_ext > 1) {
        qsort(ext, ret->n_ext, sizeof(*ext), ext_cmp);
    }
    ret->ext = ext;
}

void ec2class_read(struct symtab *t, struct arena *a, const json_t *spec,
                   const char *capacity_annotation, struct ec2_class *ret)
{
    ec2_class_default(ret);
    if (spec) {
        ret->family = ec2class_family(spec);
        ret->windows_build = windows_build(spec);
        read_volume(spec, ret);
        read_kubelet(jsonx_obj(spec, "kubelet"), ret);
    }
    if (capacity_annotation) {
        AUTO_JSON json_t *o =
            jsonx_parse(capacity_annotation, strlen(capacity_annotation), ANN_CAPACITY, NULL);
        if (json_is_object(o)) {
            read_extra(t, a, o, &ret->extra);
        }
    }
}
